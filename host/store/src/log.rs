//! Sessions and their events.

use raddle_core::session::{Event, EventData};
use raddle_core::store::{Entry, SessionHeader, SessionSummary, StoreError, Unreadable};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::failure::Failure;

/// An event as it is kept.
pub(crate) struct EncodedEvent {
    seq: u64,
    time: String,
    run: u32,
    step: u32,
    kind: String,
    data: String,
    display: bool,
}

/// `type` and `data` of an event, the data left as it stands.
#[derive(Serialize, Deserialize)]
struct Parts<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    data: &'a RawValue,
}

const HEADER: &str = "id, created, parent, directory, variant, deployment, owner";

pub(crate) fn create(connection: &Connection, header: &SessionHeader) -> Result<(), Failure> {
    let created = connection
        .prepare_cached(&format!(
            "INSERT INTO session ({HEADER}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING"
        ))?
        .execute((
            &header.id,
            &header.created,
            &header.parent,
            &header.directory,
            &header.variant,
            &header.deployment,
            &header.owner,
        ))?;
    match created {
        1 => Ok(()),
        _ => Err(StoreError::Exists(header.id.clone()).into()),
    }
}

pub(crate) fn set_variant(
    connection: &Connection,
    session: &str,
    variant: &str,
) -> Result<(), Failure> {
    let changed = connection
        .prepare_cached(
            "UPDATE session SET variant = ?2 WHERE id = ?1
             AND NOT EXISTS (SELECT 1 FROM event WHERE event.session = session.number)",
        )?
        .execute((session, variant))?;
    match changed {
        1 => Ok(()),
        _ => Err(StoreError::Missing(session.to_owned()).into()),
    }
}

pub(crate) fn header(
    connection: &Connection,
    session: &str,
) -> Result<Option<SessionHeader>, Failure> {
    let header = connection
        .prepare_cached(&format!("SELECT {HEADER} FROM session WHERE id = ?1"))?
        .query_row([session], decode_header)
        .optional()?;
    Ok(header)
}

/// All sessions, the one created last first. A session whose events cannot be read is listed
/// with its header alone: the list is how one finds it.
pub(crate) fn sessions(connection: &Connection) -> Result<Vec<SessionSummary>, Failure> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {HEADER}, number FROM session ORDER BY created DESC, number DESC"
    ))?;
    let mut rows = select.query([])?;
    let mut summaries = Vec::new();
    while let Some(row) = rows.next()? {
        let number = row.get("number")?;
        let header = match decode_header(row) {
            Ok(header) => header,
            Err(error) => {
                tracing::warn!(number, %error, "a session's header cannot be read");
                continue;
            }
        };
        let (events, last, title) = activity(connection, number).unwrap_or_else(|error| {
            tracing::warn!(session = header.id, %error, "a session's events cannot be read");
            (0, None, None)
        });
        summaries.push(SessionSummary {
            header,
            events,
            last,
            title,
        });
    }
    Ok(summaries)
}

/// Turns events into rows. The trait allows only logged ones, each of this session.
pub(crate) fn encode(session: &str, events: &[Event]) -> Result<Vec<EncodedEvent>, Failure> {
    let encode = |event: &Event| {
        let damaged = |message: String| StoreError::Damaged {
            session: session.to_owned(),
            seq: event.seq,
            message,
        };
        if event.session != session {
            let message = format!("belongs to session `{}`", event.session);
            return Err(damaged(message).into());
        }
        let mut json =
            serde_json::to_string(&event.data).map_err(|error| damaged(error.to_string()))?;
        let parts: Parts<'_> =
            serde_json::from_str(&json).map_err(|error| damaged(error.to_string()))?;
        let kind = parts.kind.to_owned();
        // The data stands last, before the closing brace: an answer can be large, and is not copied.
        let end = json.len().saturating_sub(1);
        let start = end.saturating_sub(parts.data.get().len());
        json.truncate(end);
        json.drain(..start);
        Ok(EncodedEvent {
            seq: event.seq,
            time: event.time.clone(),
            run: event.run,
            step: event.step,
            kind,
            data: json,
            display: event.display,
        })
    };
    events.iter().map(encode).collect()
}

pub(crate) fn append(
    connection: &Connection,
    session: &str,
    events: &[EncodedEvent],
) -> Result<(), Failure> {
    let number = number(connection, session)?;
    let last = last_seq(connection, number)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO event (session, seq, time, run, step, type, data, display)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (event, expected) in events.iter().zip(last + 1..) {
        if event.seq != expected {
            let session = session.to_owned();
            return Err(StoreError::Conflict { session, expected }.into());
        }
        insert.execute((
            number,
            // SQLite's integers are signed; a log never comes near.
            expected.cast_signed(),
            &event.time,
            event.run,
            event.step,
            &event.kind,
            &event.data,
            event.display,
        ))?;
    }
    Ok(())
}

pub(crate) fn entries(
    connection: &Connection,
    session: &str,
    after: u64,
) -> Result<Vec<Entry>, Failure> {
    let number = number(connection, session)?;
    let after = after.min(i64::MAX.cast_unsigned());
    let mut select = connection.prepare_cached(
        "SELECT seq, time, run, step, type, data, display FROM event
         WHERE session = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let mut rows = select.query((number, after.cast_signed()))?;
    let mut entries = Vec::new();
    let mut expected = after + 1;
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => break,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                let reason = format!("{error}; nothing after it can be found");
                entries.push(Err(Unreadable::damaged(expected, reason)));
                break;
            }
            Err(error) => return Err(error.into()),
        };
        let seq = row.get::<_, i64>("seq")?.cast_unsigned();
        if seq > expected {
            let reason = match seq - 1 {
                last if last == expected => "missing".to_owned(),
                last => format!("missing, as are all up to event {last}"),
            };
            entries.push(Err(Unreadable::damaged(expected, reason)));
        }
        entries.push(decode(row, session, seq));
        expected = seq + 1;
    }
    Ok(entries)
}

/// The number that stands for a session in the other tables.
pub(crate) fn number(connection: &Connection, session: &str) -> Result<i64, Failure> {
    connection
        .prepare_cached("SELECT number FROM session WHERE id = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::Missing(session.to_owned()).into())
}

/// Number of events, time of the last, and the first user message.
fn activity(
    connection: &Connection,
    session: i64,
) -> rusqlite::Result<(u64, Option<String>, Option<String>)> {
    #[derive(Deserialize)]
    struct UserMessage {
        text: String,
    }
    let count = last_seq(connection, session)?;
    let last = connection
        .prepare_cached("SELECT time FROM event WHERE session = ?1 AND seq = ?2")?
        .query_row((session, count.cast_signed()), |row| row.get(0))
        .optional()?;
    let title = connection
        .prepare_cached(
            "SELECT data FROM event WHERE session = ?1 AND type = 'message.user'
             ORDER BY seq LIMIT 1",
        )?
        .query_row([session], |row| {
            // A damaged message costs the title alone; `events` names the damage.
            let message: Option<UserMessage> = match row.get_ref(0)? {
                ValueRef::Text(json) => serde_json::from_slice(json).ok(),
                _ => None,
            };
            Ok(message.map(|message| message.text))
        })
        .optional()?;
    Ok((count, last, title.flatten()))
}

/// The sequence number of the last event, 0 before the first.
fn last_seq(connection: &Connection, session: i64) -> rusqlite::Result<u64> {
    let last: Option<i64> = connection
        .prepare_cached("SELECT max(seq) FROM event WHERE session = ?1")?
        .query_row([session], |row| row.get(0))?;
    Ok(last.unwrap_or(0).cast_unsigned())
}

fn decode_header(row: &Row<'_>) -> rusqlite::Result<SessionHeader> {
    Ok(SessionHeader {
        id: row.get("id")?,
        created: row.get("created")?,
        parent: row.get("parent")?,
        directory: row.get("directory")?,
        variant: row.get("variant")?,
        deployment: row.get("deployment")?,
        owner: row.get("owner")?,
    })
}

fn decode(row: &Row<'_>, session: &str, seq: u64) -> Entry {
    // The place in a row's JSON says nothing to who reads the session.
    let broken = |error: Box<dyn std::error::Error>| {
        let message = error.to_string();
        Unreadable::damaged(seq, without_place(&message).to_owned())
    };
    let stored = Stored::of(row).map_err(broken)?;
    if !EventData::TYPES.contains(&stored.parts.kind) {
        return Err(stored.newer(session, seq));
    }
    let data = stored.data().map_err(broken)?;
    Ok(Event {
        seq,
        time: stored.time,
        session: session.to_owned(),
        run: stored.run,
        step: stored.step,
        data,
        display: stored.display,
    })
}

/// `message` without the place at its end: ` at line 1 column 2`.
fn without_place(message: &str) -> &str {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match message.rsplit_once(" at line ") {
        Some((reason, place))
            if place
                .split_once(" column ")
                .is_some_and(|(line, column)| is_number(line) && is_number(column)) =>
        {
            reason
        }
        _ => message,
    }
}

/// A row whose columns are what they should be.
struct Stored<'a> {
    time: String,
    run: u32,
    step: u32,
    parts: Parts<'a>,
    display: bool,
}

impl<'a> Stored<'a> {
    fn of(row: &'a Row<'_>) -> Result<Self, Box<dyn std::error::Error>> {
        Ok(Self {
            time: row.get("time")?,
            run: row.get("run")?,
            step: row.get("step")?,
            parts: Parts {
                kind: row.get_ref("type")?.as_str()?,
                data: serde_json::from_str(row.get_ref("data")?.as_str()?)?,
            },
            display: row.get("display")?,
        })
    }

    fn data(&self) -> Result<EventData, Box<dyn std::error::Error>> {
        let json = serde_json::to_string(&self.parts)?;
        Ok(serde_json::from_str(&json)?)
    }

    /// The event of a newer release, as that one would export it.
    fn newer(&self, session: &str, seq: u64) -> Unreadable {
        let Parts { kind, data } = self.parts;
        Unreadable {
            seq,
            reason: format!(
                "its type `{kind}` is not known here: use the newer release that wrote it"
            ),
            newer: Some(json!({
                "seq": seq,
                "time": self.time,
                "session": session,
                "run": self.run,
                "step": self.step,
                "type": kind,
                "data": data,
                "display": self.display,
            })),
        }
    }
}
