//! Brings every record that is still whole out of a damaged journal, and touches nothing of it.
//!
//! Three sources are put together: what `SQLite` can still reach in a copy, what lies in the raw
//! pages of file and log, and the projections `runs/<run>/events.jsonl`. The chain says which of all
//! those records are true: beginning at the first, the next is the one that fits. So a record is
//! lost only if no source has it whole, and nothing wrong is ever brought out. Behind a lost record
//! a run ends: what followed may well be there, but nobody could say what it means.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::damage::Scratch;
use super::error::{Fault, StoreError};
use super::hash_chain::{GENESIS, Record};
use super::lock::is_run_id;
use super::page_scan::{self, Column};
use super::reader::{RunRow, positive};
use super::schema::{address, connect};
use super::{beside, database, projection};

/// Where a record was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// `SQLite` could still reach it.
    Database,
    /// In `events.jsonl`.
    Projection,
    /// In the raw pages of the database or its log.
    Pages,
}

/// Whether a run came out whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Its row confirms that these are all.
    Whole,
    /// There were more.
    Short,
    /// These fit together from the first on; whether there were more, nobody can say any more.
    Unknown,
}

/// What became of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvagedRun {
    /// The id of the run.
    pub run: String,
    /// Its records, in `<run>.jsonl`.
    pub records: u64,
    /// Whether they are all.
    pub completeness: Completeness,
    /// The first record that no source has whole.
    pub first_damaged: Option<u64>,
    /// Where the records came from.
    pub sources: BTreeSet<Source>,
}

/// What [`salvage`] brought out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvageReport {
    /// The folder with one file of records for each run.
    pub folder: PathBuf,
    /// In order of their ids.
    pub runs: Vec<SalvagedRun>,
    /// What could not be read, in words.
    pub notes: Vec<String>,
}

/// Everything that was found, to be believed or not.
#[derive(Default)]
struct Finds {
    records: BTreeMap<String, BTreeMap<u64, BTreeMap<Source, Vec<Record>>>>,
    /// Rows that fit their marks, the latest of each run.
    rows: BTreeMap<String, RunRow>,
    notes: Vec<String>,
}

/// Writes `<to>/<run>.jsonl` for every run of the journal in `dir`, whatever state that is in.
pub fn salvage(dir: &Path, to: &Path) -> Result<SalvageReport, StoreError> {
    let refused = |source| StoreError::refused(to, source);
    fs::create_dir_all(to).map_err(refused)?;
    let mut finds = Finds::default();
    let original = database(dir);
    if original.exists() {
        let scratch = Scratch::inside(to).map_err(refused)?;
        let copy = scratch.copy(&original).map_err(refused)?;
        finds.scan_pages(&copy).map_err(refused)?;
        finds.ask_sqlite(&copy);
    } else {
        finds.notes.push(format!("{} is gone", original.display()));
    }
    finds.read_projections(dir);
    let Finds { records, rows, notes } = finds;
    let mut runs = Vec::new();
    let ids: BTreeSet<&String> = records.keys().chain(rows.keys()).collect();
    for run in ids.into_iter().filter(|run| is_run_id(run)) {
        let nothing = BTreeMap::new();
        let found = records.get(run).unwrap_or(&nothing);
        let (chain, sources) = follow(run, found);
        // A name that nothing true goes by came from a wrong byte.
        if chain.is_empty() && !rows.contains_key(run) {
            continue;
        }
        write_lines(&to.join(format!("{run}.jsonl")), &chain).map_err(refused)?;
        runs.push(judge(run, &chain, sources, found, rows.get(run)));
    }
    Ok(SalvageReport { folder: to.to_owned(), runs, notes })
}

/// Goes along the chain for as long as any source has the next record.
fn follow(
    run: &str,
    found: &BTreeMap<u64, BTreeMap<Source, Vec<Record>>>,
) -> (Vec<Record>, BTreeSet<Source>) {
    let mut chain: Vec<Record> = Vec::new();
    let mut sources = BTreeSet::new();
    loop {
        let head = chain.last().map_or(GENESIS, |last| last.sum.as_str());
        let here = found.get(&(chain.len() as u64 + 1)).into_iter().flatten();
        let fits = here
            .flat_map(|(source, records)| records.iter().map(move |record| (*source, record)))
            .find(|(_, record)| record.follows(head, run));
        let Some((source, record)) = fits else { return (chain, sources) };
        sources.insert(source);
        chain.push(record.clone());
    }
}

fn judge(
    run: &str,
    chain: &[Record],
    sources: BTreeSet<Source>,
    found: &BTreeMap<u64, BTreeMap<Source, Vec<Record>>>,
    row: Option<&RunRow>,
) -> SalvagedRun {
    let records = chain.len() as u64;
    let head = chain.last().map_or(GENESIS, |last| last.sum.as_str());
    let confirmed = row.is_some_and(|row| row.seq == records && row.head == head);
    // A wrong byte in a number is no sign of a record; one that a neighbour continues is.
    let known = row.map_or(0, |row| row.seq).max(last_linked(run, found));
    let completeness = match known {
        known if known > records => Completeness::Short,
        _ if confirmed => Completeness::Whole,
        _ => Completeness::Unknown,
    };
    let first_damaged = (completeness == Completeness::Short).then_some(records + 1);
    SalvagedRun { run: run.to_owned(), records, completeness, first_damaged, sources }
}

/// The last record that follows some other one that was found, true or not from the beginning.
fn last_linked(run: &str, found: &BTreeMap<u64, BTreeMap<Source, Vec<Record>>>) -> u64 {
    let all = |seq: u64| found.get(&seq).into_iter().flat_map(BTreeMap::values).flatten();
    let linked = |seq: &&u64| {
        let before = seq.saturating_sub(1);
        all(**seq).any(|record| all(before).any(|earlier| record.follows(&earlier.sum, run)))
    };
    found.keys().rev().find(linked).copied().unwrap_or(0)
}

impl Finds {
    fn add(&mut self, source: Source, run: String, record: Record) {
        let here = self.records.entry(run).or_default().entry(record.seq).or_default();
        let here = here.entry(source).or_default();
        if !here.contains(&record) {
            here.push(record);
        }
    }

    fn add_row(&mut self, row: RunRow, mark: &str) {
        let later = self.rows.get(&row.run).is_none_or(|known| known.seq <= row.seq);
        if later && row.mark() == mark {
            self.rows.insert(row.run.clone(), row);
        }
    }

    fn add_raw(&mut self, columns: Vec<Column>) {
        use Column::{Number, Text};
        let columns = match <[Column; 6]>::try_from(columns) {
            Ok([Text(run), Number(seq), Number(at), Number(epoch), Text(body), Text(sum)]) => {
                return self.add(Source::Pages, run, Record { seq, at, epoch, body, sum });
            }
            Ok(_) => return,
            Err(columns) => columns,
        };
        let Ok(columns) = <[Column; 7]>::try_from(columns) else { return };
        let [Text(run), Number(epoch), Number(seq), Text(head), Number(at), Text(row), Text(mark)] =
            columns
        else {
            return;
        };
        self.add_row(RunRow { run, epoch, seq, head, at, row }, &mark);
    }

    fn scan_pages(&mut self, copy: &Path) -> io::Result<()> {
        let file = fs::read(copy)?;
        let log = fs::read(beside(copy, "-wal")).unwrap_or_default();
        page_scan::scan(&file, &log, |columns| self.add_raw(columns));
        Ok(())
    }

    /// Reads the tables of the copy from both ends, each as far as it goes.
    fn ask_sqlite(&mut self, copy: &Path) {
        let asked = (|| {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
            let connection = connect(&address(copy, "?mode=rw")?, flags)?;
            let records = "SELECT run, seq, at, epoch, body, sum FROM records ORDER BY run";
            let rows = "SELECT run, epoch, seq, head, at, row, mark FROM runs ORDER BY run";
            let forward = self.ask(&connection, &format!("{records}, seq"), rows);
            let backward = self.ask(
                &connection,
                &format!("{records} DESC, seq DESC"),
                &format!("{rows} DESC"),
            );
            forward.and(backward)
        })();
        if let Err(fault) = asked {
            self.notes.push(format!("SQLite: {}", fault.at(copy, None)));
        }
    }

    fn ask(&mut self, connection: &Connection, records: &str, rows: &str) -> Result<(), Fault> {
        let read_records = (|| {
            let mut statement = connection.prepare(records)?;
            let mut found = statement.query([])?;
            while let Some(row) = found.next()? {
                let (seq, at, epoch) = (positive(row, 1), positive(row, 2), positive(row, 3));
                let texts = (row.get(0), row.get(4), row.get(5));
                let (Ok(seq), Ok(at), Ok(epoch)) = (seq, at, epoch) else { continue };
                let (Ok(run), Ok(body), Ok(sum)) = texts else { continue };
                self.add(Source::Database, run, Record { seq, at, epoch, body, sum });
            }
            Ok(())
        })();
        let mut statement = connection.prepare(rows)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let (epoch, seq, at) = (positive(row, 1), positive(row, 2), positive(row, 4));
            let texts = (row.get(0), row.get(3), row.get(5), row.get::<_, String>(6));
            let (Ok(epoch), Ok(seq), Ok(at)) = (epoch, seq, at) else { continue };
            let (Ok(run), Ok(head), Ok(text), Ok(mark)) = texts else { continue };
            self.add_row(RunRow { run, epoch, seq, head, at, row: text }, &mark);
        }
        read_records
    }

    fn read_projections(&mut self, dir: &Path) {
        let Ok(folders) = fs::read_dir(dir.join("runs")) else { return };
        for folder in folders.flatten() {
            let Ok(run) = folder.file_name().into_string() else { continue };
            let Ok(bytes) = fs::read(projection(dir, &run)) else { continue };
            for line in bytes.split(|byte| *byte == b'\n') {
                let record = std::str::from_utf8(line).ok().and_then(Record::from_line);
                if let Some(record) = record {
                    self.add(Source::Projection, run.clone(), record);
                }
            }
        }
    }
}

fn write_lines(path: &Path, chain: &[Record]) -> io::Result<()> {
    let mut file = io::BufWriter::new(File::create(path)?);
    for record in chain {
        writeln!(file, "{}", record.to_line())?;
    }
    file.into_inner()?.sync_all()
}
