//! A connection to the journal: the type, its transactions and snapshots, and what happens on damage.
//!
//! Not here: what is read or written. Those are methods of [`Store`] in `reader`, `commands` and
//! `writer`; `open` makes one. Invariant: once any process has noticed damage, no process writes,
//! not even the checkpoint of a connection that closes.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};

use super::command_lock::CommandLock;
use super::damage::{ScratchFolder, mark_if_damaged, mark_path, refuse_marked};
use super::error::{JournalFault, StoreError};
use super::paths::database;
use super::projection::last_projected;

/// One connection to the journal of a repository.
#[derive(Debug)]
pub struct Store {
    pub(super) connection: Connection,
    dir: PathBuf,
    file: PathBuf,
    /// A warning about the file system, for `doctor`.
    caution: Option<String>,
    /// Whether this connection has noticed damage.
    is_suspect: Cell<bool>,
    /// Whether this connection has checked the structure of the whole database.
    is_checked: Cell<bool>,
    /// The copy that is read instead of the original. Dropped after the connection.
    copy: Option<ScratchFolder>,
    /// The locks of the commands that were inserted here.
    pub(super) sent: Vec<CommandLock>,
}

impl Store {
    pub(super) fn new(
        connection: Connection,
        dir: &Path,
        caution: Option<String>,
        copy: Option<ScratchFolder>,
    ) -> Store {
        Store {
            connection,
            dir: dir.to_owned(),
            file: database(dir),
            caution,
            is_suspect: Cell::new(false),
            is_checked: Cell::new(false),
            copy,
            sent: Vec::new(),
        }
    }

    /// Returns the folder of the journal.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns a warning about the file system of this journal, for `doctor` and the start of a run.
    pub fn caution(&self) -> Option<&str> {
        self.caution.as_deref()
    }

    /// Returns a number that changes when another connection has written. Compare it only with an earlier
    /// one of the same store.
    pub fn data_version(&self) -> Result<u64, StoreError> {
        let version = self
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut query| query.query_row([], |row| row.get::<_, i64>(0)));
        self.name_fault(None, version.map(i64::unsigned_abs).map_err(JournalFault::Sql))
    }

    /// Checks the structure of the whole database, once, before a driver writes for the first time:
    /// with a wrong free-page pointer `SQLite` would overwrite good records.
    pub(super) fn check_structure(&self, run: &str) -> Result<(), StoreError> {
        if !self.is_checked.get() {
            self.snapshot(Some(run), |snapshot| {
                let result = snapshot.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
                expect_ok(result)
            })?;
            self.is_checked.set(true);
        }
        Ok(())
    }

    /// Reads in one snapshot, which writers of other connections do not change.
    pub(super) fn snapshot<T>(
        &self,
        run: Option<&str>,
        read: impl FnOnce(&Connection) -> Result<T, JournalFault>,
    ) -> Result<T, StoreError> {
        let result = (|| {
            let snapshot = self.connection.unchecked_transaction()?;
            read(&snapshot)
        })();
        self.name_fault(run, result)
    }

    /// Reads in one snapshot what belongs to a run. `read` is given the number of the last record
    /// that the run's projection holds; the journal must hold it, too.
    pub(super) fn snapshot_of_run<T>(
        &self,
        run: &str,
        read: impl FnOnce(&Connection, u64) -> Result<T, JournalFault>,
    ) -> Result<T, StoreError> {
        let projected = last_projected(&self.dir, run).unwrap_or(0);
        self.snapshot(Some(run), |snapshot| read(snapshot, projected))
    }

    /// Makes one transaction. It waits for its turn before it reads anything.
    pub(super) fn write<T>(
        &mut self,
        run: Option<&str>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, JournalFault>,
    ) -> Result<T, StoreError> {
        refuse_marked(&self.dir)?;
        if self.copy.is_some() {
            return Err(StoreError::ReadOnly { file: self.file.clone() });
        }
        let result = (|| {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })();
        self.name_fault(run, result)
    }

    /// Adds the file to a fault, and leaves the mark if it is damage.
    fn name_fault<T>(
        &self,
        run: Option<&str>,
        result: Result<T, JournalFault>,
    ) -> Result<T, StoreError> {
        result.map_err(|fault| {
            let error = fault.at(&self.file, run);
            if matches!(error, StoreError::Damaged(_)) {
                self.is_suspect.set(true);
                mark_if_damaged(&self.dir, &error);
            }
            error
        })
    }
}

impl Drop for Store {
    /// Lets the last connection fold the log into the database when it closes, unless it is
    /// read-only or damage was noticed.
    fn drop(&mut self) {
        let writes = self.copy.is_none() && self.connection.is_readonly("main") == Ok(false);
        if writes && !self.is_suspect.get() && !mark_path(&self.dir).exists() {
            let flag = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            let _ = self.connection.set_db_config(flag, false);
        }
    }
}

/// Converts a count or a time to the integer of a column.
pub(crate) fn integer(value: u64) -> i64 {
    i64::try_from(value).expect("counts and milliseconds are below 2^63")
}

/// Reads a column that was never negative when it was written.
pub(crate) fn unsigned(row: &Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    let value: i64 = row.get(column)?;
    let wrong = |_| rusqlite::Error::IntegralValueOutOfRange(column, value);
    u64::try_from(value).map_err(wrong)
}

/// Refuses a statement that did not change exactly the one row that the transaction read before.
pub(crate) fn expect_one_row(changed: usize) -> Result<(), JournalFault> {
    if changed == 1 {
        return Ok(());
    }
    let what = format!("one row was to be changed, and {changed} were");
    Err(JournalFault::Damage { run: None, seq: None, what })
}

/// Refuses a result of `SQLite`'s own checks that is not `ok`.
pub(crate) fn expect_ok(result: String) -> Result<(), JournalFault> {
    if result == "ok" {
        return Ok(());
    }
    Err(JournalFault::Damage { run: None, seq: None, what: result })
}
