//! The file and its schema.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::failure::Failure;

/// Each brings a file from the version of its index to the next. Released ones never change.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
];

/// Marks a file as ours: `RDLE`.
const APPLICATION_ID: i32 = 0x5244_4c45;

/// How long a write waits for another process's.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Opens or creates the file at `path`.
pub(crate) fn open(path: &Path) -> Result<Connection, Failure> {
    // Absolute, so that no name (`:memory:`, `file:…`) means something special to SQLite.
    let path = std::path::absolute(path).map_err(|error| Failure::Other(error.to_string()))?;
    create_private(&path).map_err(|error| Failure::Other(error.to_string()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags)?;
    match prepare(&mut connection) {
        Ok(()) => Ok(connection),
        Err(Failure::Sqlite(error)) if is(&error, ErrorCode::NotADatabase) => Err(foreign()),
        Err(failure) => Err(failure),
    }
}

/// Opens a store that lives as long as its connection.
pub(crate) fn open_in_memory() -> Result<Connection, Failure> {
    let mut connection = Connection::open_in_memory()?;
    prepare(&mut connection)?;
    Ok(connection)
}

/// Creates a missing file, readable by its owner only: what SQLite puts beside it takes the same
/// mode.
fn create_private(path: &Path) -> std::io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let mut directory = std::fs::DirBuilder::new();
    directory.recursive(true);
    let mut file = std::fs::OpenOptions::new();
    file.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        directory.mode(0o700);
        file.mode(0o600);
    }
    if let Some(parent) = path.parent() {
        directory.create(parent)?;
    }
    file.open(path).map(drop)
}

fn prepare(connection: &mut Connection) -> Result<(), Failure> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let version = version(connection)?;
    keep_write_ahead_log(connection)?;
    if version != MIGRATIONS.len() {
        migrate(connection)?;
    }
    Ok(())
}

/// Several processes may switch a new file at the same moment: SQLite refuses all but one at once,
/// however long they would wait.
fn keep_write_ahead_log(connection: &Connection) -> Result<(), Failure> {
    let start = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is(&error, ErrorCode::DatabaseBusy) && start.elapsed() < BUSY_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(2));
            }
            done => return Ok(done?),
        }
    }
}

/// Brings the file to the newest version, once, whoever else opens it at the same moment.
fn migrate(connection: &mut Connection) -> Result<(), Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = version(&transaction)?;
    for (version, statements) in (1_i64..).zip(MIGRATIONS).skip(done) {
        transaction.execute_batch(statements)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.commit()?;
    Ok(())
}

/// The file's schema version: 0 for an empty file.
fn version(connection: &Connection) -> Result<usize, Failure> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let version = pragma("user_version")?;
    if pragma("application_id")? != i64::from(APPLICATION_ID) {
        let has_tables = connection
            .prepare("SELECT 1 FROM sqlite_schema")?
            .exists([])?;
        return match has_tables || version != 0 {
            true => Err(foreign()),
            false => Ok(0),
        };
    }
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        _ => Err(Failure::Other(format!(
            "written by a newer release (schema {version}, this one knows {}): use that release, \
             or set another `[store] path`",
            MIGRATIONS.len()
        ))),
    }
}

fn is(error: &rusqlite::Error, code: ErrorCode) -> bool {
    error.sqlite_error_code() == Some(code)
}

fn foreign() -> Failure {
    Failure::Other("not a Raddle session store: set another `[store] path`".to_owned())
}
