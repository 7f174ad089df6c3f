//! The tables of the work store, and opening it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use super::error::WorkError;
use crate::journal::connection::unsigned;
use crate::journal::error::JournalFault;
use crate::journal::filesystem::check_file_system;
use crate::journal::hash_chain::seal;
use crate::journal::schema::{address, connect, create_database, refuse_cut};
use crate::journal::{GENESIS, StoreError};

/// The version of the tables below, in `user_version` and, sealed, in `totals`.
const VERSION: i64 = 1;
/// `FRGW`, in `application_id`.
const APPLICATION: u32 = 0x4652_4757;

const TABLES: &str = "
CREATE TABLE log (
    seq INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL, id TEXT NOT NULL COLLATE NOCASE,
    rev INTEGER NOT NULL, fact TEXT NOT NULL, after TEXT NOT NULL, sum TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX log_by_record ON log (id, rev);
CREATE TABLE rows (
    id TEXT NOT NULL COLLATE NOCASE PRIMARY KEY, kind TEXT NOT NULL, rev INTEGER NOT NULL,
    at INTEGER NOT NULL, body TEXT NOT NULL, mark TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE written (
    id TEXT NOT NULL COLLATE NOCASE, sum TEXT NOT NULL, place TEXT NOT NULL,
    rev INTEGER NOT NULL, PRIMARY KEY (id, sum, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE totals (
    id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, seq INTEGER NOT NULL,
    head TEXT NOT NULL, records INTEGER NOT NULL, mark TEXT NOT NULL
) STRICT;
";

/// One connection to the work store of a repository.
#[derive(Debug)]
pub struct WorkStore {
    connection: Connection,
    file: PathBuf,
}

/// Returns the database of the work store.
pub fn work_database(dir: &Path) -> PathBuf {
    dir.join("work.db")
}

impl WorkStore {
    /// Opens the work store of a folder to read and write, and makes it if it is missing.
    pub fn open(dir: &Path) -> Result<Self, WorkError> {
        let file = work_database(dir);
        fs::create_dir_all(dir).map_err(|source| StoreError::refused(dir, source))?;
        check_file_system(dir)?;
        if !file.exists() {
            create_database(&file, APPLICATION, VERSION, &|connection| {
                connection.execute_batch(TABLES)?;
                let first =
                    Totals { version: VERSION, seq: 0, head: GENESIS.to_owned(), records: 0 };
                let sql = "INSERT INTO totals VALUES (1, ?1, 0, ?2, 0, ?3)";
                connection.execute(sql, params![VERSION, first.head, first.mark()])?;
                Ok(())
            })?;
        }
        Self::connect(file, "?mode=rw", OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens the work store to look at it; nothing if there is none.
    pub fn open_to_read(dir: &Path) -> Result<Option<Self>, WorkError> {
        let file = work_database(dir);
        if !file.exists() {
            return Ok(None);
        }
        Self::connect(file, "?mode=ro", OpenFlags::SQLITE_OPEN_READ_ONLY).map(Some)
    }

    fn connect(file: PathBuf, options: &str, flags: OpenFlags) -> Result<Self, WorkError> {
        refuse_cut(&file)?;
        let opened = (|| {
            let mut connection = connect(&address(&file, options)?, flags)?;
            let pragma =
                |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            let (application, found) = (pragma("application_id")?, pragma("user_version")?);
            let version = Totals::read(&connection)?.version;
            if application != i64::from(APPLICATION) || found != version {
                return Err(damage("its header is not what was written"));
            }
            if version != VERSION {
                let file = file.clone();
                return Err(StoreError::NewerSchema { file, found, known: VERSION }.into());
            }
            if flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE) {
                let flag = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
                connection.set_db_config(flag, false)?;
                connection.busy_handler(Some(waits))?;
            }
            Ok(connection)
        })();
        match opened {
            Ok(connection) => Ok(Self { connection, file }),
            Err(fault) => Err(fault.at(&file, None).into()),
        }
    }

    /// Reads in one snapshot, which writers of other connections do not change.
    pub(super) fn snapshot<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, JournalFault>,
    ) -> Result<T, WorkError> {
        let result = (|| {
            let snapshot = self.connection.unchecked_transaction()?;
            read(&snapshot)
        })();
        result.map_err(|fault: JournalFault| fault.at(&self.file, None).into())
    }

    /// Makes one transaction. It waits for its turn before it reads anything; what is refused leaves nothing.
    pub(super) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<Result<T, WorkError>, JournalFault>,
    ) -> Result<T, WorkError> {
        let result = (|| {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            if result.is_ok() {
                transaction.commit()?;
            }
            Ok(result)
        })();
        result.map_err(|fault: JournalFault| WorkError::from(fault.at(&self.file, None)))?
    }
}

/// Waits a moment for other writers, for half a minute in all. Longer pauses would let those who write without a pause go first for ever.
fn waits(n_pauses: i32) -> bool {
    const PAUSE: Duration = Duration::from_millis(2);
    thread::sleep(PAUSE);
    n_pauses < 15_000
}

/// The end of the log, and how many records there are. It keeps its form in every later version.
#[derive(Debug, Clone)]
pub(super) struct Totals {
    version: i64,
    pub(super) seq: u64,
    pub(super) head: String,
    pub(super) records: u64,
}

impl Totals {
    pub(super) fn read(connection: &Connection) -> Result<Self, JournalFault> {
        let sql = "SELECT version, seq, head, records, mark FROM totals WHERE id = 1";
        let mut statement = connection.prepare_cached(sql)?;
        let (totals, mark): (Self, String) = statement.query_row([], |row| {
            let (version, head) = (row.get(0)?, row.get(2)?);
            let totals = Self { version, seq: unsigned(row, 1)?, head, records: unsigned(row, 3)? };
            Ok((totals, row.get(4)?))
        })?;
        if mark != totals.mark() {
            return Err(damage("the checksum of `totals` does not match"));
        }
        Ok(totals)
    }

    pub(super) fn mark(&self) -> String {
        let (version, seq) = (self.version.to_string(), self.seq.to_string());
        seal(&["totals", &version, &seq, &self.head, &self.records.to_string()])
    }
}

/// Builds the fault for bytes that are not what was written.
pub(super) fn damage(what: impl Into<String>) -> JournalFault {
    JournalFault::Damage { run: None, seq: None, what: what.into() }
}
