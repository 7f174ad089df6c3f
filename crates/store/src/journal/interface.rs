//! What a driver needs of a journal, as a trait: [`Store`] in the product, a journal on a simulated
//! disk in simulated runs.
//!
//! Not here: what only user interfaces need (listing, finding, checking, rebuilding).

use std::fmt::Debug;

use super::command_lock::CommandSender;
use super::commands::{CommandId, CommandRow, PendingCommand};
use super::connection::Store;
use super::error::StoreError;
use super::hash_chain::JournalRecord;
use super::lock::{ClaimsLock, RunLock};
use super::reader::{JournalRow, RecordBody};
use super::writer::Writer;

/// The journal of a repository as a driver uses it. The methods promise what those of [`Store`] do:
/// when one that writes returns, everything is on the disk; when it fails, nothing is.
pub trait Journal: Debug {
    /// Takes the lock of a run to drive it.
    fn lock(&self, run: &str) -> Result<RunLock, StoreError>;

    /// Takes the lock under which paths are looked for and claimed. None if somebody holds it for long.
    fn lock_claims(&self) -> Result<Option<ClaimsLock>, StoreError>;

    /// Begins a run with its first record.
    fn begin_run(
        &mut self,
        lock: RunLock,
        at: u64,
        body: &str,
        row: &str,
    ) -> Result<Writer, StoreError>;

    /// Takes a run over: from here on every earlier writer is refused.
    fn take_over(&mut self, lock: RunLock) -> Result<Writer, StoreError>;

    /// Appends one record, the row after it, and the answers to the commands that it settles.
    fn append(
        &mut self,
        writer: &mut Writer,
        at: u64,
        body: &str,
        row: &str,
        settled: &[(CommandId, String)],
    ) -> Result<u64, StoreError>;

    /// Answers a command from which no fact followed.
    fn settle_command(
        &mut self,
        writer: &Writer,
        id: CommandId,
        outcome: &str,
    ) -> Result<(), StoreError>;

    /// Reads the records of a run from `from_seq` on; the first is 1.
    fn read(&self, run: &str, from_seq: u64) -> Result<Vec<JournalRecord>, StoreError>;

    /// Reads what all records of a run say, and passes it on in batches. What was passed on counts only if all could be read. Returns the
    /// number of the last one.
    fn read_in_batches(
        &self,
        run: &str,
        take: &mut dyn FnMut(Vec<RecordBody>),
    ) -> Result<u64, StoreError> {
        let records = self.read(run, 1)?;
        let last = records.last().map_or(0, |record| record.seq);
        let said = |record: JournalRecord| {
            let JournalRecord { seq, at, body, .. } = record;
            RecordBody { seq, at, body }
        };
        take(records.into_iter().map(said).collect());
        Ok(last)
    }

    /// Reads the rows whose JSON contains `text`.
    fn rows_with(&self, text: &str) -> Result<Vec<JournalRow>, StoreError>;

    /// Reads the commands of a run that are not answered, in order of arrival.
    fn open_commands(&self, run: &str) -> Result<Vec<CommandRow>, StoreError>;

    /// Finds the process that stands behind a command of another one.
    fn command_sender(&self, command: &PendingCommand) -> Result<CommandSender, StoreError>;

    /// Returns a number that changes when another handle has written.
    fn data_version(&self) -> Result<u64, StoreError>;
}

impl Journal for Store {
    fn lock(&self, run: &str) -> Result<RunLock, StoreError> {
        RunLock::acquire(self.dir(), run)
    }

    fn lock_claims(&self) -> Result<Option<ClaimsLock>, StoreError> {
        ClaimsLock::acquire(self.dir())
    }

    fn begin_run(
        &mut self,
        lock: RunLock,
        at: u64,
        body: &str,
        row: &str,
    ) -> Result<Writer, StoreError> {
        Store::begin_run(self, lock, at, body, row)
    }

    fn take_over(&mut self, lock: RunLock) -> Result<Writer, StoreError> {
        Store::take_over(self, lock)
    }

    fn append(
        &mut self,
        writer: &mut Writer,
        at: u64,
        body: &str,
        row: &str,
        settled: &[(CommandId, String)],
    ) -> Result<u64, StoreError> {
        Store::append(self, writer, at, body, row, settled)
    }

    fn settle_command(
        &mut self,
        writer: &Writer,
        id: CommandId,
        outcome: &str,
    ) -> Result<(), StoreError> {
        Store::settle_command(self, writer, id, outcome)
    }

    fn read(&self, run: &str, from_seq: u64) -> Result<Vec<JournalRecord>, StoreError> {
        Store::read(self, run, from_seq)
    }

    fn read_in_batches(
        &self,
        run: &str,
        take: &mut dyn FnMut(Vec<RecordBody>),
    ) -> Result<u64, StoreError> {
        Store::read_in_batches(self, run, take)
    }

    fn rows_with(&self, text: &str) -> Result<Vec<JournalRow>, StoreError> {
        Store::rows_with(self, text)
    }

    fn open_commands(&self, run: &str) -> Result<Vec<CommandRow>, StoreError> {
        Store::open_commands(self, run)
    }

    fn command_sender(&self, command: &PendingCommand) -> Result<CommandSender, StoreError> {
        Store::command_sender(self, command)
    }

    fn data_version(&self) -> Result<u64, StoreError> {
        Store::data_version(self)
    }
}
