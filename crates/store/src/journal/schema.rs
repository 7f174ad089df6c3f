//! The tables, the settings of a connection, and how a new database is made.
//!
//! A database is made under another name and linked to its own when it is whole, so that an empty
//! or half-made `forge.db` can only be a damaged one. `totals` keeps its form in every later version.

use std::fs;
use std::io;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};

use super::error::{Damage, JournalFault, StoreError};
use super::hash_chain::seal;
use super::paths::{beside, scratch_name};
use crate::disk::{Disk, RealDisk, SyncPoint};

/// The version of the tables below, in `user_version` and, sealed, in `totals`.
pub(super) const VERSION: i64 = 1;
/// `FRGE`, in `application_id`.
pub(super) const APPLICATION: u32 = 0x4652_4745;
/// The size of a page, and so of the smallest database.
const PAGE_BYTES: u32 = 4096;

const TABLES: &str = "
CREATE TABLE records (
    run TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, epoch INTEGER NOT NULL,
    body TEXT NOT NULL, sum TEXT NOT NULL, PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
    run TEXT NOT NULL PRIMARY KEY, epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
    head TEXT NOT NULL, at INTEGER NOT NULL, row TEXT NOT NULL, mark TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE totals (
    id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, runs INTEGER NOT NULL,
    mark TEXT NOT NULL
) STRICT;
CREATE TABLE commands (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, at INTEGER NOT NULL,
    door TEXT NOT NULL, who TEXT NOT NULL, body TEXT NOT NULL, mark TEXT NOT NULL, outcome TEXT
) STRICT;
CREATE INDEX runs_by_time ON runs (at);
CREATE INDEX open_commands ON commands (run, id) WHERE outcome IS NULL;
";

/// Opens a connection with our settings. It makes no checkpoint when it closes, unless the store
/// that is dropped decides otherwise.
pub(crate) fn connect(uri: &str, flags: OpenFlags) -> Result<Connection, rusqlite::Error> {
    let flags = flags | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.execute_batch(
        "PRAGMA busy_timeout = 5000; PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON;",
    )?;
    Ok(connection)
}

/// Writes a path as the `file:` address that `SQLite` reads, with its options.
pub(crate) fn address(path: &Path, options: &str) -> Result<String, StoreError> {
    let text = path.to_str().ok_or_else(|| StoreError::Other {
        file: path.to_owned(),
        what: "a journal's path must be UTF-8".into(),
    })?;
    let mut uri = String::from("file:");
    for character in text.chars() {
        match character {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            plain => uri.push(plain),
        }
    }
    Ok(uri + options)
}

/// Makes the journal if there is none.
pub(super) fn create(file: &Path) -> Result<(), StoreError> {
    create_database(file, APPLICATION, VERSION, &|connection| {
        connection.execute_batch(TABLES)?;
        connection.execute(
            "INSERT INTO totals (id, version, runs, mark) VALUES (1, ?1, 0, ?2)",
            params![VERSION, totals_mark(VERSION, 0)],
        )?;
        Ok(())
    })
}

/// Makes a database if there is none, with its tables. Of two processes that try at once one wins, and both use
/// its database.
pub(crate) fn create_database(
    file: &Path,
    application: u32,
    version: i64,
    tables: &dyn Fn(&Connection) -> Result<(), JournalFault>,
) -> Result<(), StoreError> {
    let refused = |source| StoreError::refused(file, source);
    let scratch = beside(file, &format!(".new-{}", scratch_name()));
    let made = fill(&scratch, application, version, tables)
        .map_err(|fault| fault.at(file, None))
        .and_then(|()| publish(&RealDisk, &scratch, file).map_err(refused));
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(beside(&scratch, suffix));
    }
    made
}

fn fill(
    scratch: &Path,
    application: u32,
    version: i64,
    tables: &dyn Fn(&Connection) -> Result<(), JournalFault>,
) -> Result<(), JournalFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = connect(&address(scratch, "")?, flags)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "auto_vacuum", 0)?;
    let _mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    connection.pragma_update(None, "application_id", application)?;
    connection.pragma_update(None, "user_version", version)?;
    tables(&connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    // Closing does not report a log that did not fit into the file, as on a full disk.
    let _busy: i64 =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    connection.close().map_err(|(_, error)| JournalFault::Sql(error))
}

/// Gives a whole database its name, durably.
fn publish(disk: &dyn Disk, scratch: &Path, file: &Path) -> io::Result<()> {
    disk.sync(scratch, SyncPoint::Database)?;
    match fs::hard_link(scratch, file) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        // A file system without hard links.
        Err(_) if !file.exists() => disk.rename(scratch, file)?,
        Err(error) => return Err(error),
    }
    let folder = file.parent().expect("the database is in a folder");
    disk.sync(folder, SyncPoint::Database)
}

/// Refuses a file that is shorter than the smallest database. `SQLite` would take an empty one for
/// new and delete its log.
pub(crate) fn refuse_cut(file: &Path) -> Result<(), StoreError> {
    let length = fs::metadata(file).map_err(|source| StoreError::refused(file, source))?.len();
    if length >= u64::from(PAGE_BYTES) {
        return Ok(());
    }
    let what = format!("it has only {length} bytes");
    Err(StoreError::Damaged(Damage { file: file.to_owned(), run: None, seq: None, what }))
}

/// Returns the mark of the row of `totals`.
pub(super) fn totals_mark(version: i64, runs: i64) -> String {
    seal(&["totals", &version.to_string(), &runs.to_string()])
}

/// Reads version and number of runs from the marked row of `totals`.
pub(super) fn totals(connection: &Connection) -> Result<(i64, i64), JournalFault> {
    let sql = "SELECT version, runs, mark FROM totals WHERE id = 1";
    let (version, runs, mark): (i64, i64, String) =
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if mark == totals_mark(version, runs) {
        Ok((version, runs))
    } else {
        let what = "the checksum of `totals` does not match".into();
        Err(JournalFault::Damage { run: None, seq: None, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::noting::NotingDisk;

    #[test]
    fn a_new_database_is_synced_before_it_has_its_name_and_so_is_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let (scratch, file) = (folder.join("forge.db.new-1"), folder.join("forge.db"));
        fs::write(&scratch, "x").unwrap();
        let disk = NotingDisk::default();
        publish(&disk, &scratch, &file).unwrap();
        assert_eq!(disk.taken(), ["sync scratch", "sync folder"]);
        assert!(file.exists());
    }

    #[test]
    fn every_commit_waits_for_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("forge.db");
        create(&file).unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let connection = connect(&address(&file, "?mode=rw").unwrap(), flags).unwrap();
        let pragma = |name: &str| -> rusqlite::types::Value {
            connection.pragma_query_value(None, name, |row| row.get(0)).unwrap()
        };
        // 2 is FULL: in WAL mode the log is synced with each transaction.
        assert_eq!(pragma("synchronous"), 2.into());
        assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
    }
}
