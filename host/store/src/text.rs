//! Texts, kept once each under their digests.

use raddle_core::digest::Digest;
use rusqlite::{Connection, OptionalExtension};

use crate::failure::Failure;

pub(crate) fn put(connection: &Connection, digest: Digest, text: &str) -> Result<Digest, Failure> {
    connection
        .prepare_cached("INSERT INTO text (digest, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute((digest.as_bytes(), text))?;
    Ok(digest)
}

pub(crate) fn get(connection: &Connection, digest: Digest) -> Result<Option<String>, Failure> {
    let text: Option<String> = connection
        .prepare_cached("SELECT body FROM text WHERE digest = ?1")?
        .query_row([digest.as_bytes()], |row| row.get(0))
        .optional()?;
    match text {
        Some(text) if Digest::of(&text) != digest => Err(Failure::Other(format!(
            "the text kept under {digest} is damaged"
        ))),
        text => Ok(text),
    }
}
