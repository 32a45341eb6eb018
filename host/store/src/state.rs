//! What plugins keep in a session, and who runs it.

use rusqlite::{Connection, OptionalExtension};

use crate::failure::Failure;
use crate::log::number;

pub(crate) fn get(
    connection: &Connection,
    session: &str,
    plugin: &str,
    key: &str,
) -> Result<Option<String>, Failure> {
    let session = number(connection, session)?;
    let value = connection
        .prepare_cached("SELECT value FROM state WHERE session = ?1 AND plugin = ?2 AND key = ?3")?
        .query_row((session, plugin, key), |row| row.get(0))
        .optional()?;
    Ok(value)
}

pub(crate) fn set(
    connection: &Connection,
    session: &str,
    plugin: &str,
    key: &str,
    value: Option<&str>,
) -> Result<(), Failure> {
    let session = number(connection, session)?;
    match value {
        Some(value) => connection
            .prepare_cached(
                "INSERT INTO state (session, plugin, key, value) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET value = excluded.value",
            )?
            .execute((session, plugin, key, value))?,
        None => connection
            .prepare_cached("DELETE FROM state WHERE session = ?1 AND plugin = ?2 AND key = ?3")?
            .execute((session, plugin, key))?,
    };
    Ok(())
}

pub(crate) fn swap(
    connection: &Connection,
    session: &str,
    plugin: &str,
    key: &str,
    expected: Option<&str>,
    value: &str,
) -> Result<bool, Failure> {
    let holds = get(connection, session, plugin, key)?.as_deref() == expected;
    if holds {
        set(connection, session, plugin, key, Some(value))?;
    }
    Ok(holds)
}

pub(crate) fn list(
    connection: &Connection,
    session: &str,
    plugin: &str,
    prefix: &str,
) -> Result<Vec<String>, Failure> {
    let session = number(connection, session)?;
    let keys = connection
        .prepare_cached(
            "SELECT key FROM state
             WHERE session = ?1 AND plugin = ?2 AND substr(key, 1, length(?3)) = ?3 ORDER BY key",
        )?
        .query_map((session, plugin, prefix), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(keys)
}

/// Times are compared as instants, so that any form of RFC 3339 will do.
pub(crate) fn lease(
    connection: &Connection,
    session: &str,
    owner: &str,
    now: &str,
    until: &str,
) -> Result<bool, Failure> {
    let session = number(connection, session)?;
    let taken = connection
        .prepare_cached(
            "INSERT INTO lease (session, owner, until) VALUES (?1, ?2, ?4)
             ON CONFLICT DO UPDATE SET owner = excluded.owner, until = excluded.until
             WHERE owner = excluded.owner
                OR unixepoch(until, 'subsec') <= unixepoch(?3, 'subsec')",
        )?
        .execute((session, owner, now, until))?;
    Ok(taken == 1)
}

pub(crate) fn release(connection: &Connection, session: &str, owner: &str) -> Result<(), Failure> {
    let session = number(connection, session)?;
    connection
        .prepare_cached("DELETE FROM lease WHERE session = ?1 AND owner = ?2")?
        .execute((session, owner))?;
    Ok(())
}
