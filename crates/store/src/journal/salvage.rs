//! Exports every record of a damaged journal that can still be read, and changes nothing of it.
//!
//! Two sources are put together: what `SQLite` reads from a copy, and the projections
//! `runs/<run>/events.jsonl`. The chain tells which of those records are true: from the first on, the
//! next is the one that fits. So nothing wrong is ever exported, and a record is lost only if neither
//! source has it whole. After a lost record a run ends: later ones may be there, but what they mean
//! depends on the lost one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::connection::unsigned;
use super::damage::ScratchFolder;
use super::error::{JournalFault, StoreError};
use super::hash_chain::{GENESIS, JournalRecord};
use super::lock::is_run_id;
use super::newest::NewestRecord;
use super::paths::database;
use super::projection::{projected_records, projected_runs};
use super::reader::JournalRow;
use super::schema::{address, connect};
use crate::disk::{Disk as _, RealDisk, SyncPoint};

/// The source of a salvaged record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SalvageSource {
    /// Read by `SQLite`.
    Database,
    /// In `events.jsonl`.
    Projection,
}

/// The completeness of an exported run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// All records, as the run's row confirms.
    Whole,
    /// Not all: there were more.
    Short,
    /// A chain from the first record on, without a row to tell whether there were more.
    Unknown,
}

/// The result for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredRun {
    pub run: String,
    /// The number of records in `<run>.jsonl`.
    pub records: u64,
    pub completeness: Completeness,
    /// The first record that neither source has whole.
    pub first_damaged: Option<u64>,
    pub sources: BTreeSet<SalvageSource>,
}

/// The export of [`salvage`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvageReport {
    /// The folder with one file of records for each run.
    pub folder: PathBuf,
    /// In order of their ids.
    pub runs: Vec<RecoveredRun>,
    /// Parts that could not be read, in sentences.
    pub notes: Vec<String>,
}

/// The records of one run by number, with the source of each.
type Candidates = BTreeMap<u64, Vec<(SalvageSource, JournalRecord)>>;

/// A run with its records.
pub(super) type RecoveredRecords = (RecoveredRun, Vec<JournalRecord>);

/// Everything that was found, true or not.
#[derive(Default)]
struct SalvageFindings {
    records: BTreeMap<String, Candidates>,
    /// Rows that fit their marks.
    rows: BTreeMap<String, JournalRow>,
    notes: Vec<String>,
}

/// Writes `<to>/<run>.jsonl` for every run of the journal in `dir`, whatever state that is in.
pub fn salvage(dir: &Path, to: &Path) -> Result<SalvageReport, StoreError> {
    let refused = |source| StoreError::refused(to, source);
    fs::create_dir_all(to).map_err(refused)?;
    let (found, notes) = recover(dir, to)?;
    let mut runs = Vec::new();
    for (run, chain) in found {
        write_lines(&to.join(format!("{}.jsonl", run.run)), &chain).map_err(refused)?;
        runs.push(run);
    }
    Ok(SalvageReport { folder: to.to_owned(), runs, notes })
}

/// Finds every run of the journal in `dir` with the records that can still be read, and says what cannot. Copies go
/// into the folder `to`, and leave nothing there.
pub(super) fn recover(
    dir: &Path,
    to: &Path,
) -> Result<(Vec<RecoveredRecords>, Vec<String>), StoreError> {
    let refused = |source| StoreError::refused(to, source);
    let newest = NewestRecord::read(dir);
    let mut findings = SalvageFindings::default();
    let original = database(dir);
    if original.exists() {
        let scratch = ScratchFolder::new(to).map_err(refused)?;
        let copy = scratch.copy_database(&original).map_err(refused)?;
        findings.read_database(&copy);
    } else {
        findings.notes.push(format!("{} is gone", original.display()));
    }
    for run in projected_runs(dir) {
        for record in projected_records(dir, &run) {
            findings.add(SalvageSource::Projection, run.clone(), record);
        }
    }
    let SalvageFindings { records, rows, mut notes } = findings;
    let mut runs = Vec::new();
    let ids: BTreeSet<&String> = records.keys().chain(rows.keys()).collect();
    for run in ids.into_iter().filter(|run| is_run_id(run)) {
        let nothing = BTreeMap::new();
        let found = records.get(run).unwrap_or(&nothing);
        let (chain, sources) = longest_chain(run, found);
        // A name without a true record or row came from a wrong byte.
        if chain.is_empty() && !rows.contains_key(run) {
            continue;
        }
        runs.push((assess(run, &chain, sources, found, rows.get(run)), chain));
    }
    if let Some(NewestRecord { run, seq }) = newest {
        let n =
            runs.iter().find(|(found, _)| found.run == run).map_or(0, |(found, _)| found.records);
        if n < seq {
            notes.push(format!("run {run} had {seq} entries; those after {n} are lost"));
        }
    }
    Ok((runs, notes))
}

/// Follows the chain for as long as either source has the next record.
fn longest_chain(run: &str, found: &Candidates) -> (Vec<JournalRecord>, BTreeSet<SalvageSource>) {
    let mut chain: Vec<JournalRecord> = Vec::new();
    let mut sources = BTreeSet::new();
    loop {
        let head = chain.last().map_or(GENESIS, |last| last.sum.as_str());
        let candidates = found.get(&(chain.len() as u64 + 1)).into_iter().flatten();
        let mut fitting = candidates.filter(|(_, record)| record.follows(head, run));
        let Some((source, record)) = fitting.next() else { return (chain, sources) };
        sources.insert(*source);
        chain.push(record.clone());
    }
}

fn assess(
    run: &str,
    chain: &[JournalRecord],
    sources: BTreeSet<SalvageSource>,
    found: &Candidates,
    row: Option<&JournalRow>,
) -> RecoveredRun {
    let records = chain.len() as u64;
    let head = chain.last().map_or(GENESIS, |last| last.sum.as_str());
    let is_confirmed = row.is_some_and(|row| row.seq == records && row.head == head);
    // A number alone may be a wrong byte. A record that follows another one was written.
    let known = row.map_or(0, |row| row.seq).max(last_linked(run, found));
    let completeness = match known {
        known if known > records => Completeness::Short,
        _ if is_confirmed => Completeness::Whole,
        _ => Completeness::Unknown,
    };
    let first_damaged = (completeness == Completeness::Short).then_some(records + 1);
    RecoveredRun { run: run.to_owned(), records, completeness, first_damaged, sources }
}

/// Returns the last record that follows any other one that was found.
fn last_linked(run: &str, found: &Candidates) -> u64 {
    let all = |seq: u64| found.get(&seq).into_iter().flatten().map(|(_, record)| record);
    let is_linked = |seq: &&u64| {
        let before = seq.saturating_sub(1);
        all(**seq).any(|record| all(before).any(|earlier| record.follows(&earlier.sum, run)))
    };
    found.keys().rev().find(is_linked).copied().unwrap_or(0)
}

impl SalvageFindings {
    fn add(&mut self, source: SalvageSource, run: String, record: JournalRecord) {
        let here = self.records.entry(run).or_default().entry(record.seq).or_default();
        if here.iter().all(|(_, known)| *known != record) {
            here.push((source, record));
        }
    }

    /// Reads the tables of the copy from both ends, each up to the first page that is damaged.
    fn read_database(&mut self, copy: &Path) {
        let result = (|| {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
            let connection = connect(&address(copy, "?mode=rw")?, flags)?;
            let tables = ["", " DESC"].map(|order| {
                let records = self.read_records(&connection, order);
                let rows = self.read_rows(&connection, order);
                records.and(rows)
            });
            tables.into_iter().collect::<Result<(), JournalFault>>()
        })();
        if let Err(fault) = result {
            self.notes.push(format!("SQLite: {}", fault.at(copy, None)));
        }
    }

    fn read_records(&mut self, connection: &Connection, order: &str) -> Result<(), JournalFault> {
        let mut statement = connection.prepare(&format!(
            "SELECT run, seq, at, epoch, body, sum FROM records ORDER BY run{order}, seq{order}"
        ))?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let (seq, at, epoch) = (unsigned(row, 1), unsigned(row, 2), unsigned(row, 3));
            let texts = (row.get(0), row.get(4), row.get(5));
            let (Ok(seq), Ok(at), Ok(epoch)) = (seq, at, epoch) else { continue };
            let (Ok(run), Ok(body), Ok(sum)) = texts else { continue };
            let record = JournalRecord { seq, at, epoch, body, sum };
            self.add(SalvageSource::Database, run, record);
        }
        Ok(())
    }

    fn read_rows(&mut self, connection: &Connection, order: &str) -> Result<(), JournalFault> {
        let mut statement = connection.prepare(&format!(
            "SELECT run, epoch, seq, head, at, row, mark FROM runs ORDER BY run{order}"
        ))?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let (epoch, seq, at) = (unsigned(row, 1), unsigned(row, 2), unsigned(row, 4));
            let texts = (row.get(0), row.get(3), row.get(5), row.get::<_, String>(6));
            let (Ok(epoch), Ok(seq), Ok(at)) = (epoch, seq, at) else { continue };
            let (Ok(run), Ok(head), Ok(text), Ok(mark)) = texts else { continue };
            let row = JournalRow { run, epoch, seq, head, at, row: text };
            if row.mark() == mark {
                self.rows.insert(row.run.clone(), row);
            }
        }
        Ok(())
    }
}

fn write_lines(path: &Path, chain: &[JournalRecord]) -> io::Result<()> {
    let lines: String = chain.iter().map(|record| record.to_line() + "\n").collect();
    RealDisk.write(path, lines.as_bytes())?;
    RealDisk.sync(path, SyncPoint::Salvaged)
}
