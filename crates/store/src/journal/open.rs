//! Opening a journal: to write, which may make one, and to read, which never changes anything.
//!
//! Invariant: nothing is made or changed in a place that is refused; a database that is known to be
//! damaged is only read, and only as a copy; a database is never taken for a new one because its
//! file is missing, empty or cut.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::connection::Store;
use super::damage::{ScratchFolder, mark_if_damaged, mark_path, refuse_marked};
use super::error::{Damage, JournalFault, StoreError};
use super::filesystem::check_file_system;
use super::newest::NewestRecord;
use super::paths::{beside, database};
use super::schema::{self, APPLICATION, VERSION, address, connect, refuse_cut};

impl Store {
    /// Opens the journal of a folder to read and write, and makes folder and journal if they are
    /// missing. Refuses network file systems, later versions, and a database known to be damaged.
    pub fn open(dir: &Path) -> Result<Store, StoreError> {
        let file = database(dir);
        fs::create_dir_all(dir).map_err(|source| StoreError::refused(dir, source))?;
        let caution = check_file_system(dir)?;
        refuse_marked(dir)?;
        let opened = if file.exists() {
            Ok(())
        } else if let Some(error) = lost_database(dir) {
            Err(error)
        } else {
            schema::create(&file)
        };
        let opened = opened.and_then(|()| refuse_cut(&file)).and_then(|()| {
            let connection = attempt(dir, &file, "?mode=rw", OpenFlags::SQLITE_OPEN_READ_WRITE);
            connection.map_err(|fault| {
                let error = fault.at(&file, None);
                // All that `SQLite` says of a folder in which it cannot make its log is "no".
                if matches!(error, StoreError::Other { .. }) && !is_writable(dir) {
                    return StoreError::ReadOnly { file: file.clone() };
                }
                error
            })
        });
        let connection = opened.inspect_err(|error| mark_if_damaged(dir, error))?;
        Ok(Store::new(connection, dir, caution, None))
    }

    /// Opens the journal of a folder to look at it. Makes and changes nothing; works on a disk that
    /// cannot be written; reads a database that is known to be damaged from a copy.
    pub fn open_to_read(dir: &Path) -> Result<Store, StoreError> {
        let file = database(dir);
        if !file.exists() {
            return Err(match lost_database(dir) {
                Some(error) => error,
                None => StoreError::Missing { dir: dir.to_owned() },
            });
        }
        if mark_path(dir).exists() {
            return open_copy(dir, &file);
        }
        refuse_cut(&file).inspect_err(|error| mark_if_damaged(dir, error))?;
        let attempted = attempt(dir, &file, "?mode=ro", OpenFlags::SQLITE_OPEN_READ_ONLY);
        let connection = match attempted.map_err(|fault| fault.at(&file, None)) {
            Ok(connection) => connection,
            Err(StoreError::Io { .. } | StoreError::Other { .. } | StoreError::ReadOnly { .. }) => {
                return open_unwritable(dir, &file);
            }
            // No room for the shared memory. Others may come and write as soon as there is some.
            Err(StoreError::Full { .. }) => return open_copy(dir, &file),
            Err(error) => {
                mark_if_damaged(dir, &error);
                return Err(error);
            }
        };
        Ok(Store::new(connection, dir, None, None))
    }
}

/// Opens a journal where neither log nor shared memory can be made. Without a log the file is all
/// there is, and it cannot change; with one, only a copy shows what the log holds.
fn open_unwritable(dir: &Path, file: &Path) -> Result<Store, StoreError> {
    if fs::metadata(beside(file, "-wal")).is_ok_and(|log| log.len() > 0) {
        return open_copy(dir, file);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = attempt(dir, file, "?mode=ro&immutable=1", flags)
        .map_err(|fault| fault.at(file, None))
        .inspect_err(|error| mark_if_damaged(dir, error))?;
    Ok(Store::new(connection, dir, None, None))
}

fn open_copy(dir: &Path, file: &Path) -> Result<Store, StoreError> {
    let scratch = ScratchFolder::new(&std::env::temp_dir())
        .map_err(|source| StoreError::refused(dir, source))?;
    let copy: PathBuf =
        scratch.copy_database(file).map_err(|source| StoreError::refused(file, source))?;
    refuse_cut(&copy).map_err(|error| with_file(error, file))?;
    let connection = attempt(dir, &copy, "?mode=rw", OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(|fault| fault.at(file, None))?;
    connection
        .pragma_update(None, "query_only", true)
        .map_err(|error| JournalFault::Sql(error).at(file, None))?;
    Ok(Store::new(connection, dir, None, Some(scratch)))
}

/// Connects, and checks that the file is a journal that this version can read, with the newest record that was written.
fn attempt(
    dir: &Path,
    file: &Path,
    options: &str,
    flags: OpenFlags,
) -> Result<Connection, JournalFault> {
    let newest = NewestRecord::read(dir);
    let connection = connect(&address(file, options)?, flags)?;
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let found = pragma("user_version")?;
    for (name, written) in [("application_id", APPLICATION), ("auto_vacuum", 0)] {
        if pragma(name)? != i64::from(written) {
            let what = format!("the {name} in its header is not what was written");
            return Err(JournalFault::Damage { run: None, seq: None, what });
        }
    }
    if found == VERSION {
        newest.map_or(Ok(()), |newest| newest.refuse_lost(&connection))?;
        return Ok(connection);
    }
    // The marked copy tells a later Forge from a wrong byte.
    let (version, _) = schema::totals(&connection)?;
    if found != version || version < VERSION {
        let what = format!("its header says version {found}, its tables say {version}");
        return Err(JournalFault::Damage { run: None, seq: None, what });
    }
    Err(StoreError::NewerSchema { file: file.to_owned(), found, known: VERSION }.into())
}

/// Returns why a missing database was lost. `None` if there never was one.
fn lost_database(dir: &Path) -> Option<StoreError> {
    let file = database(dir);
    let log = fs::metadata(beside(&file, "-wal")).is_ok_and(|log| log.len() > 0);
    let what = if log {
        "it is gone, but its log is here".to_owned()
    } else {
        let run = fs::read_dir(dir.join("runs")).ok()?.flatten().find(|run| {
            fs::metadata(run.path().join("events.jsonl")).is_ok_and(|events| events.len() > 0)
        })?;
        format!("it is gone, but the folder of run {} is here", run.file_name().display())
    };
    Some(StoreError::Damaged(Damage { file, run: None, seq: None, what }))
}

fn is_writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Names the original in an error about its copy.
fn with_file(error: StoreError, file: &Path) -> StoreError {
    if let StoreError::Damaged(damage) = error {
        StoreError::Damaged(Damage { file: file.to_owned(), ..damage })
    } else {
        error
    }
}
