//! What is left for whoever runs a session.

use raddle_core::session::injection::Injection;
use raddle_core::store::Letter;
use rusqlite::Connection;

use crate::failure::Failure;
use crate::log::number;

pub(crate) fn post(connection: &Connection, session: &str, body: &str) -> Result<(), Failure> {
    let session = number(connection, session)?;
    connection
        .prepare_cached("INSERT INTO mail (session, body) VALUES (?1, ?2)")?
        .execute((session, body))?;
    Ok(())
}

pub(crate) fn read(connection: &Connection, session: &str) -> Result<Vec<Letter>, Failure> {
    let session = number(connection, session)?;
    let mut select = connection
        .prepare_cached("SELECT number, body FROM mail WHERE session = ?1 ORDER BY number")?;
    let mut rows = select.query([session])?;
    let mut letters = Vec::new();
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        match serde_json::from_str::<Injection>(row.get_ref(1)?.as_str().unwrap_or_default()) {
            Ok(injection) => letters.push(Letter { number, injection }),
            Err(error) => tracing::warn!(number, %error, "what was left cannot be read"),
        }
    }
    Ok(letters)
}

pub(crate) fn discard(connection: &Connection, session: &str, upto: i64) -> Result<(), Failure> {
    let session = number(connection, session)?;
    connection
        .prepare_cached("DELETE FROM mail WHERE session = ?1 AND number <= ?2")?
        .execute((session, upto))?;
    Ok(())
}
