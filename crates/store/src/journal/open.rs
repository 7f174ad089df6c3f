//! Opening a journal: to write, which may make one, and to read, which never changes anything.
//!
//! Must stay true: nothing is made or changed in a place that is refused; a database under
//! suspicion is only read, and only as a copy; a reader never shows an older state because the log
//! could not be opened.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::damage::{Scratch, leave_mark, mark_path, refuse_marked};
use super::error::{Damage, Fault, StoreError};
use super::filesystem::{Ground, ground};
use super::precheck::{inspect, lost};
use super::schema::{self, VERSION, address, connect};
use super::writer::Store;
use super::{beside, database};

impl Store {
    /// Opens the journal of a folder to read and write, and makes folder and journal if they are
    /// missing. Refuses network file systems, later versions, and a database known to be damaged.
    pub fn open(dir: &Path) -> Result<Store, StoreError> {
        let file = database(dir);
        fs::create_dir_all(dir).map_err(|source| StoreError::refused(dir, source))?;
        let caution = match ground(dir) {
            Ground::Local => None,
            Ground::Shared { kind } => {
                Some(format!("{} is on {kind}: use it from one machine at a time", dir.display()))
            }
            Ground::Network { kind } => {
                return Err(StoreError::NetworkFileSystem { dir: dir.to_owned(), kind });
            }
        };
        refuse_marked(dir)?;
        let opened = if file.exists() {
            Ok(())
        } else if let Some(error) = lost(dir) {
            Err(error)
        } else {
            schema::create(&file)
        };
        let opened = opened.and_then(|()| inspect(&file)).and_then(|()| {
            let connection = attempt(&file, "?mode=rw", OpenFlags::SQLITE_OPEN_READ_WRITE);
            connection.map_err(|fault| {
                let error = fault.at(&file, None);
                // All that `SQLite` says of a folder in which it cannot make its log is "no".
                if matches!(error, StoreError::Other { .. }) && !is_writable(dir) {
                    return StoreError::ReadOnly { file: file.clone() };
                }
                error
            })
        });
        let connection = opened.inspect_err(|error| remember(dir, error))?;
        Ok(Store::over(connection, dir, caution, None))
    }

    /// Opens the journal of a folder to look at it. Makes and changes nothing; works on a disk that
    /// cannot be written; reads a database that is known to be damaged from a copy.
    pub fn open_to_read(dir: &Path) -> Result<Store, StoreError> {
        let file = database(dir);
        if !file.exists() {
            return Err(match lost(dir) {
                Some(error) => error,
                None => StoreError::Missing { dir: dir.to_owned() },
            });
        }
        if mark_path(dir).exists() {
            return open_copy(dir, &file);
        }
        inspect(&file).inspect_err(|error| remember(dir, error))?;
        let attempted = attempt(&file, "?mode=ro", OpenFlags::SQLITE_OPEN_READ_ONLY);
        let connection = match attempted.map_err(|fault| fault.at(&file, None)) {
            Ok(connection) => connection,
            Err(StoreError::Io { .. } | StoreError::Other { .. } | StoreError::ReadOnly { .. }) => {
                return open_unwritable(dir, &file);
            }
            // No room for the shared memory. Others may come and write as soon as there is some.
            Err(StoreError::Full { .. }) => return open_copy(dir, &file),
            Err(error) => {
                remember(dir, &error);
                return Err(error);
            }
        };
        Ok(Store::over(connection, dir, None, None))
    }
}

/// Where neither log nor shared memory can be made. Without a log the file is all there is, and
/// nobody changes it; with one, only a copy shows what the log holds.
fn open_unwritable(dir: &Path, file: &Path) -> Result<Store, StoreError> {
    if fs::metadata(beside(file, "-wal")).is_ok_and(|log| log.len() > 0) {
        return open_copy(dir, file);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = attempt(file, "?mode=ro&immutable=1", flags)
        .map_err(|fault| fault.at(file, None))
        .inspect_err(|error| remember(dir, error))?;
    Ok(Store::over(connection, dir, None, None))
}

fn open_copy(dir: &Path, file: &Path) -> Result<Store, StoreError> {
    let scratch = Scratch::inside(&std::env::temp_dir())
        .map_err(|source| StoreError::refused(dir, source))?;
    let copy: PathBuf = scratch.copy(file).map_err(|source| StoreError::refused(file, source))?;
    inspect(&copy).map_err(|error| named(error, file))?;
    let connection = attempt(&copy, "?mode=rw", OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(|fault| fault.at(file, None))?;
    connection
        .pragma_update(None, "query_only", true)
        .map_err(|error| Fault::Sql(error).at(file, None))?;
    Ok(Store::over(connection, dir, None, Some(scratch)))
}

/// Connects, and looks whether it is a journal that we can read.
fn attempt(file: &Path, options: &str, flags: OpenFlags) -> Result<Connection, Fault> {
    let connection = connect(&address(file, options)?, flags)?;
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found == VERSION {
        return Ok(connection);
    }
    // The sealed copy says whether a later Forge was here, or only a wrong byte.
    let (version, _) = schema::totals(&connection)?;
    if found != version || version < VERSION {
        let what = format!("its header says version {found}, its tables say {version}");
        return Err(Fault::Damage { run: None, seq: None, what });
    }
    Err(StoreError::NewerSchema { file: file.to_owned(), found, known: VERSION }.into())
}

fn is_writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Leaves the mark if the error is damage.
pub(super) fn remember(dir: &Path, error: &StoreError) {
    if let StoreError::Damaged(damage) = error {
        leave_mark(dir, damage);
    }
}

/// Names the original where a copy was looked at.
fn named(error: StoreError, file: &Path) -> StoreError {
    if let StoreError::Damaged(damage) = error {
        StoreError::Damaged(Damage { file: file.to_owned(), ..damage })
    } else {
        error
    }
}
