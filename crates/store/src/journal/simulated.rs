//! A journal on a [`Disk`], for simulated runs: one line of JSON per transaction in `journal.log`.
//!
//! It promises what `Store` promises, with the same errors, and keeps it by appending a line and
//! syncing the file before it returns; a line that could not be written and synced is cut off again.
//! Every handle reads the log again when its length has changed, so that several handles on one disk
//! see each other as processes do.
//!
//! Not here: file locks (a simulation has one driver per run), damage, versions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::command_lock::CommandSender;
use super::commands::{CommandId, CommandRow, PendingCommand};
use super::connection::integer;
use super::error::StoreError;
use super::hash_chain::{GENESIS, JournalRecord, RecordNumbers};
use super::interface::Journal;
use super::lock::{ClaimsLock, RunLock};
use super::reader::JournalRow;
use super::writer::Writer;
use crate::disk::{Disk, SyncPoint};

/// One handle on a simulated journal.
#[derive(Debug)]
pub struct SimulatedJournal {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    file: PathBuf,
    state: RefCell<LogState>,
}

/// One transaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum LogEntry {
    Began { run: String, at: u64, body: String, row: String },
    TakenOver { run: String },
    Appended { run: String, at: u64, body: String, row: String, settled: Vec<(i64, String)> },
    Settled { id: i64, outcome: String },
    Asked { run: String, at: u64, interface: String, person: String, body: String },
}

/// The simulated content of the log.
#[derive(Debug, Default)]
struct LogState {
    /// The length of the lines that were read.
    length: u64,
    /// How often another handle had written.
    version: u64,
    runs: BTreeMap<String, (JournalRow, Vec<JournalRecord>)>,
    commands: Vec<(PendingCommand, Option<String>)>,
}

impl SimulatedJournal {
    /// The interface of a command that no process stands behind.
    pub const BY_HAND: &str = "by hand";

    /// Opens the journal of a folder, and makes it if it is missing.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path) -> Result<SimulatedJournal, StoreError> {
        let (dir, file) = (dir.to_owned(), dir.join("journal.log"));
        let journal = SimulatedJournal { disk, dir, file, state: RefCell::default() };
        let refused = |source| StoreError::refused(&journal.file, source);
        if journal.disk.length(&journal.file).is_ok() {
            return Ok(journal);
        }
        journal.disk.create_folder(&journal.dir).map_err(refused)?;
        journal.disk.append(&journal.file, b"").map_err(refused)?;
        journal.disk.sync(&journal.file, SyncPoint::Database).map_err(refused)?;
        journal.disk.sync(&journal.dir, SyncPoint::Database).map_err(refused)?;
        let above = journal.dir.parent().unwrap_or(&journal.dir);
        journal.disk.sync(above, SyncPoint::Database).map_err(refused)?;
        Ok(journal)
    }

    /// Inserts a command for the driver of a run.
    pub fn insert_command(
        &mut self,
        run: &str,
        at: u64,
        interface: &str,
        person: &str,
        body: &str,
    ) -> Result<CommandId, StoreError> {
        self.row(run)?;
        let [run, interface, person, body] = [run, interface, person, body].map(str::to_owned);
        self.commit(&LogEntry::Asked { run, at, interface, person, body })?;
        Ok(CommandId(integer(self.state.borrow().commands.len() as u64)))
    }

    /// Reads the outcome of a command; `None` while it is not answered.
    pub fn command_outcome(&self, id: CommandId) -> Result<Option<String>, StoreError> {
        self.refresh()?;
        let state = self.state.borrow();
        Ok(state.commands.iter().find(|(command, _)| command.id == id).and_then(|(_, o)| o.clone()))
    }

    fn row(&self, run: &str) -> Result<JournalRow, StoreError> {
        self.refresh()?;
        let found = self.state.borrow().runs.get(run).map(|(row, _)| row.clone());
        found.ok_or_else(|| StoreError::NoSuchRun { run: run.to_owned(), nearest: None })
    }

    /// Reads what other handles have written.
    fn refresh(&self) -> Result<(), StoreError> {
        let refused = |source| StoreError::refused(&self.file, source);
        let mut state = self.state.borrow_mut();
        if self.disk.length(&self.file).map_err(refused)? == state.length {
            return Ok(());
        }
        let bytes = self.disk.read(&self.file).map_err(refused)?;
        *state = LogState { version: state.version + 1, ..LogState::default() };
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            // A torn last line was never acknowledged.
            let Ok(entry) = serde_json::from_slice(line) else { break };
            if !line.ends_with(b"\n") {
                break;
            }
            state.apply(&entry);
            state.length += line.len() as u64;
        }
        Ok(())
    }

    /// Writes one transaction, whole or not at all.
    fn commit(&mut self, entry: &LogEntry) -> Result<(), StoreError> {
        let length = self.state.get_mut().length;
        let line = serde_json::to_string(entry).expect("a transaction can be written") + "\n";
        let written = self.cut(length).and_then(|()| {
            self.disk.append(&self.file, line.as_bytes())?;
            self.disk.sync(&self.file, SyncPoint::Record)
        });
        if let Err(source) = written {
            let _ = self.cut(length);
            return Err(StoreError::refused(&self.file, source));
        }
        let state = self.state.get_mut();
        state.apply(entry);
        state.length += line.len() as u64;
        Ok(())
    }

    /// Cuts off what follows the lines that were read.
    fn cut(&self, length: u64) -> io::Result<()> {
        if self.disk.length(&self.file)? > length {
            self.disk.truncate(&self.file, length)?;
        }
        Ok(())
    }

    fn refuse_overtaken(&self, writer: &Writer) -> Result<(), StoreError> {
        let row = self.row(writer.run())?;
        if (row.epoch, row.seq, row.head.as_str()) == (writer.epoch(), writer.seq(), writer.head())
        {
            return Ok(());
        }
        Err(StoreError::Overtaken { run: writer.run().to_owned() })
    }

    fn refuse_settled(&self, run: &str, id: CommandId) -> Result<(), StoreError> {
        let is_open = |(command, outcome): &(PendingCommand, Option<String>)| {
            command.id == id && command.run == run && outcome.is_none()
        };
        if self.state.borrow().commands.iter().any(is_open) {
            return Ok(());
        }
        Err(StoreError::NoOpenCommand { run: run.to_owned(), id: id.0 })
    }
}

impl LogState {
    fn apply(&mut self, entry: &LogEntry) {
        match entry {
            LogEntry::Began { run, at, body, row } => {
                let numbers = RecordNumbers { seq: 1, at: *at, epoch: 1 };
                let record = JournalRecord::new(GENESIS, run, numbers, body);
                let row = JournalRow::after(run, &record, row);
                self.runs.insert(run.clone(), (row, vec![record]));
            }
            LogEntry::TakenOver { run } => {
                if let Some((row, _)) = self.runs.get_mut(run) {
                    row.epoch += 1;
                }
            }
            LogEntry::Appended { run, at, body, row: text, settled } => {
                if let Some((row, records)) = self.runs.get_mut(run) {
                    let numbers = RecordNumbers { seq: row.seq + 1, at: *at, epoch: row.epoch };
                    let record = JournalRecord::new(&row.head, run, numbers, body);
                    *row = JournalRow::after(run, &record, text);
                    records.push(record);
                }
                for (id, outcome) in settled {
                    self.settle(*id, outcome);
                }
            }
            LogEntry::Settled { id, outcome } => self.settle(*id, outcome),
            LogEntry::Asked { run, at, interface, person, body } => {
                let id = CommandId(integer(self.commands.len() as u64 + 1));
                let [run, interface, person, body] =
                    [run, interface, person, body].map(Clone::clone);
                let command = PendingCommand { id, run, at: *at, interface, person, body };
                self.commands.push((command, None));
            }
        }
    }

    fn settle(&mut self, id: i64, outcome: &str) {
        for (_, settled) in self.commands.iter_mut().filter(|(command, _)| command.id.0 == id) {
            *settled = Some(outcome.to_owned());
        }
    }
}

impl Journal for SimulatedJournal {
    fn lock_claims(&self) -> Result<Option<ClaimsLock>, StoreError> {
        Ok(Some(ClaimsLock::SIMULATED))
    }

    fn lock(&self, run: &str) -> Result<RunLock, StoreError> {
        Ok(RunLock::simulated(&self.dir, run))
    }

    fn begin_run(
        &mut self,
        lock: RunLock,
        at: u64,
        body: &str,
        row: &str,
    ) -> Result<Writer, StoreError> {
        let run = lock.run().to_owned();
        if self.row(&run).is_ok() {
            return Err(StoreError::RunExists { run });
        }
        let (body, text) = (body.to_owned(), row.to_owned());
        self.commit(&LogEntry::Began { run: run.clone(), at, body, row: text })?;
        Ok(Writer::new(lock, &self.row(&run)?))
    }

    fn take_over(&mut self, lock: RunLock) -> Result<Writer, StoreError> {
        let run = lock.run().to_owned();
        self.row(&run)?;
        self.commit(&LogEntry::TakenOver { run: run.clone() })?;
        Ok(Writer::new(lock, &self.row(&run)?))
    }

    fn append(
        &mut self,
        writer: &mut Writer,
        at: u64,
        body: &str,
        row: &str,
        settled: &[(CommandId, String)],
    ) -> Result<u64, StoreError> {
        self.refuse_overtaken(writer)?;
        for (id, _) in settled {
            self.refuse_settled(writer.run(), *id)?;
        }
        let run = writer.run().to_owned();
        let settled = settled.iter().map(|(id, outcome)| (id.0, outcome.clone())).collect();
        let (body, row) = (body.to_owned(), row.to_owned());
        self.commit(&LogEntry::Appended { run: run.clone(), at, body, row, settled })?;
        writer.advance(&self.row(&run)?);
        Ok(writer.seq())
    }

    fn settle_command(
        &mut self,
        writer: &Writer,
        id: CommandId,
        outcome: &str,
    ) -> Result<(), StoreError> {
        self.refuse_overtaken(writer)?;
        self.refuse_settled(writer.run(), id)?;
        self.commit(&LogEntry::Settled { id: id.0, outcome: outcome.to_owned() })
    }

    fn read(&self, run: &str, from_seq: u64) -> Result<Vec<JournalRecord>, StoreError> {
        self.row(run)?;
        let state = self.state.borrow();
        let records = state.runs.get(run).map(|(_, records)| records.as_slice());
        let from = records.unwrap_or_default().iter().filter(|record| record.seq >= from_seq);
        Ok(from.cloned().collect())
    }

    fn rows_with(&self, text: &str) -> Result<Vec<JournalRow>, StoreError> {
        self.refresh()?;
        let state = self.state.borrow();
        let rows = state.runs.values().map(|(row, _)| row);
        Ok(rows.filter(|row| row.row.contains(text)).cloned().collect())
    }

    fn open_commands(&self, run: &str) -> Result<Vec<CommandRow>, StoreError> {
        self.refresh()?;
        let state = self.state.borrow();
        let open = state
            .commands
            .iter()
            .filter(|(command, outcome)| command.run == run && outcome.is_none());
        Ok(open.map(|(command, _)| CommandRow::Whole(command.clone())).collect())
    }

    fn command_sender(&self, command: &PendingCommand) -> Result<CommandSender, StoreError> {
        let is_by_hand = command.interface == SimulatedJournal::BY_HAND;
        Ok(if is_by_hand {
            CommandSender::Nobody
        } else {
            CommandSender::Process(std::process::id().cast_signed())
        })
    }

    fn data_version(&self) -> Result<u64, StoreError> {
        self.refresh()?;
        Ok(self.state.borrow().version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use crate::journal::Store;

    /// Returns what a driver and another process do to a run, as text.
    fn story(
        journal: &mut dyn Journal,
        ask: &mut dyn FnMut(&str, &str) -> Result<CommandId, StoreError>,
    ) -> String {
        let lock = journal.lock("r").unwrap();
        let mut first = journal.begin_run(lock, 5, "[1]", r#"{"row":1}"#).unwrap();
        let command = ask("r", r#"{"pause":1}"#).unwrap();
        let open = journal.open_commands("r").unwrap();
        let settled = [(command, "accepted".to_owned())];
        journal.append(&mut first, 6, "[2]", r#"{"row":2}"#, &settled).unwrap();
        let again = journal.append(&mut first, 7, "[3]", "{}", &settled).unwrap_err();
        let (seq, head) = (first.seq(), first.head().to_owned());
        drop(first);
        let mut second = journal.take_over(journal.lock("r").unwrap()).unwrap();
        journal.append(&mut second, 8, "[4]", r#"{"row":4}"#, &[]).unwrap();
        let lost = journal.settle_command(&second, command, "twice").unwrap_err();
        let rows = (journal.rows_with("row").unwrap(), journal.rows_with("other").unwrap());
        let records = (journal.read("r", 1).unwrap(), journal.read("r", 3).unwrap());
        let missing = (ask("s", "{}").unwrap_err(), journal.read("s", 1).unwrap_err());
        format!("{open:?} {again} {seq} {head} {lost} {rows:?} {records:?} {missing:?}")
    }

    #[test]
    fn the_simulated_journal_does_what_the_real_one_does() {
        let (store_dir, simulated) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut store = Store::open(store_dir.path()).unwrap();
        let mut other = Store::open(store_dir.path()).unwrap();
        let real =
            story(&mut store, &mut |run, body| other.insert_command(run, 1, "cli", "ann", body));
        let open = || SimulatedJournal::open(Arc::new(RealDisk), simulated.path()).unwrap();
        let (mut journal, mut other) = (open(), open());
        let same =
            story(&mut journal, &mut |run, body| other.insert_command(run, 1, "cli", "ann", body));
        assert_eq!(real, same);
        assert_eq!(open().read("r", 1).unwrap(), journal.read("r", 1).unwrap());
    }

    #[test]
    fn a_torn_line_never_happened() {
        let dir = tempfile::tempdir().unwrap();
        let open = || SimulatedJournal::open(Arc::new(RealDisk), dir.path()).unwrap();
        let mut journal = open();
        let lock = journal.lock("r").unwrap();
        let mut writer = journal.begin_run(lock, 5, "[1]", "{}").unwrap();
        journal.append(&mut writer, 6, "[2]", "{}", &[]).unwrap();
        let file = dir.path().join("journal.log");
        let length = RealDisk.length(&file).unwrap();
        RealDisk.truncate(&file, length - 3).unwrap();
        let mut next = open();
        assert_eq!(next.read("r", 1).unwrap().len(), 1);
        let mut writer = next.take_over(next.lock("r").unwrap()).unwrap();
        next.append(&mut writer, 7, "[3]", "{}", &[]).unwrap();
        assert_eq!(open().read("r", 1).unwrap().len(), 2);
    }
}
