//! Reading: records, rows, and which run somebody means.
//!
//! Must stay true: every record that leaves here was followed through the chain up to the head that
//! the run's row names, inside one snapshot; every row fits its mark; and a run is called missing
//! only after all rows were looked through and counted, because a wrong byte in a key looks just the same.

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::error::{Fault, StoreError};
use super::hash_chain::{GENESIS, Record, seal};
use super::schema::totals;
use super::writer::{Store, number};

/// Where a run stands, and what `status` shows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The id of the run.
    pub run: String,
    /// How often it was taken over, plus one.
    pub epoch: u64,
    /// The number of its last record.
    pub seq: u64,
    /// The sum of its last record.
    pub head: String,
    /// The time of its last record.
    pub at: u64,
    /// JSON that means nothing here.
    pub row: String,
}

/// What [`Store::check`] looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// Runs, each with its row and its chain.
    pub runs: u64,
    /// Records in all chains together.
    pub records: u64,
}

impl RunRow {
    /// The row after a record.
    pub(super) fn after(run: &str, record: &Record, row: &str) -> RunRow {
        let Record { seq, at, epoch, body: _, sum } = record;
        let (run, head, row) = (run.to_owned(), sum.clone(), row.to_owned());
        RunRow { run, epoch: *epoch, seq: *seq, head, at: *at, row }
    }

    /// The seal over all columns, so that a flipped byte is noticed.
    pub(super) fn mark(&self) -> String {
        let RunRow { run, epoch, seq, head, at, row } = self;
        seal(&[run, &epoch.to_string(), &seq.to_string(), head, &at.to_string(), row])
    }
}

impl Store {
    /// The records of a run from `from_seq` on (the first is 1), each followed through the chain.
    pub fn read(&self, run: &str, from_seq: u64) -> Result<Vec<Record>, StoreError> {
        self.look(Some(run), |snapshot| {
            let Some(row) = find_row(snapshot, run)? else { return Err(missing(snapshot, run)) };
            records(snapshot, &row, from_seq.max(1))
        })
    }

    /// The row of one run, checked.
    pub fn row(&self, run: &str) -> Result<RunRow, StoreError> {
        self.look(Some(run), |snapshot| {
            find_row(snapshot, run)?.ok_or_else(|| missing(snapshot, run))
        })
    }

    /// The rows of all runs, the one with the latest record first, all checked.
    pub fn rows(&self) -> Result<Vec<RunRow>, StoreError> {
        let mut rows = self.look(None, all_rows)?;
        rows.sort_by(|one, other| (other.at, &other.run).cmp(&(one.at, &one.run)));
        Ok(rows)
    }

    /// The rows of the runs with the latest records, at most this many, and how many runs there are.
    pub fn latest(&self, most: usize) -> Result<(Vec<RunRow>, u64), StoreError> {
        self.look(None, |snapshot| {
            let mut statement =
                snapshot.prepare(&format!("{ROW} ORDER BY at DESC, run DESC LIMIT ?1"))?;
            let found = statement.query_map([number(most as u64)], marked_row)?;
            let rows = found.map(|row| checked_row(row?)).collect::<Result<_, Fault>>()?;
            let (_, runs) = totals(snapshot)?;
            Ok((rows, runs.unsigned_abs()))
        })
    }

    /// The rows that say this somewhere.
    pub fn rows_with(&self, text: &str) -> Result<Vec<RunRow>, StoreError> {
        self.look(None, |snapshot| {
            let mut statement = snapshot.prepare(&format!("{ROW} WHERE instr(row, ?1) > 0"))?;
            let found = statement.query_map([text], marked_row)?;
            found.map(|row| checked_row(row?)).collect::<Result<_, Fault>>()
        })
    }

    /// Looks at everything: structure, rows, and every chain. For `doctor`.
    pub fn check(&self) -> Result<Checked, StoreError> {
        self.look(None, |snapshot| {
            integrity(snapshot)?;
            let mut checked = Checked { runs: 0, records: 0 };
            for row in all_rows(snapshot)? {
                checked.runs += 1;
                checked.records += records(snapshot, &row, 1)?.len() as u64;
            }
            let all: i64 =
                snapshot.query_row("SELECT count(*) FROM records", [], |row| row.get(0))?;
            if number(checked.records) == all {
                return Ok(checked);
            }
            let what = format!("it has {all} records, its runs only {}", checked.records);
            Err(Fault::Damage { run: None, seq: None, what })
        })
    }

    /// The one run whose id begins with `prefix`.
    pub fn resolve(&self, prefix: &str) -> Result<String, StoreError> {
        let wanted = prefix.to_lowercase();
        let find = |sql: &str| -> Result<Vec<String>, StoreError> {
            self.look(None, |snapshot| {
                let mut statement = snapshot.prepare(sql)?;
                let found = statement.query_map([&wanted], |row| row.get(0))?;
                found.collect::<Result<_, _>>().map_err(Fault::Sql)
            })
        };
        let mut runs = find(
            "SELECT run FROM runs WHERE run >= ?1 AND substr(run, 1, length(?1)) = ?1
             ORDER BY run LIMIT 11",
        )?;
        // Runs of one day begin alike; their ends, which chance made, do not end alike.
        if runs.is_empty() && wanted.len() >= ENDING_MIN {
            runs = find(
                "SELECT run FROM runs WHERE substr(run, -length(?1)) = ?1 ORDER BY run LIMIT 11",
            )?;
        }
        match runs.as_slice() {
            [] => {
                let nearest = nearest(&wanted, &self.rows()?);
                Err(StoreError::NoSuchRun { run: prefix.to_owned(), nearest })
            }
            [only] => Ok(only.clone()),
            // A whole id is meant even if another one goes on from it.
            [first, ..] if *first == wanted => Ok(first.clone()),
            [..] => Err(StoreError::Ambiguous { prefix: prefix.to_owned(), runs }),
        }
    }

    /// Does all its reading in one snapshot: a writer next door changes nothing under our eyes.
    pub(super) fn look<T>(
        &self,
        run: Option<&str>,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let done = (|| {
            let snapshot = self.connection.unchecked_transaction()?;
            work(&snapshot)
        })();
        self.noted(run, done)
    }
}

/// Follows the chain of a run from `from_seq` to the head that its row names.
fn records(snapshot: &Connection, row: &RunRow, from_seq: u64) -> Result<Vec<Record>, Fault> {
    let run = row.run.as_str();
    let mut statement = snapshot.prepare(
        "SELECT seq, at, epoch, body, sum FROM records WHERE run = ?1 AND seq >= ?2 ORDER BY seq",
    )?;
    // One record earlier, for the sum that the first one follows.
    let first = from_seq.saturating_sub(1).max(1);
    let mut found = statement.query((run, number(first)))?;
    let mut records: Vec<Record> = Vec::new();
    let (mut seq, mut head) = (first - 1, GENESIS.to_owned());
    loop {
        let next = found.next().and_then(|next| next.map(record).transpose());
        let next = next.map_err(|error| broken(error, run, seq + 1))?;
        let Some(next) = next else { break };
        seq += 1;
        let unchecked = seq == first && first > 1;
        if next.seq != seq {
            return Err(Fault::damage(run, Some(seq), format!("record {seq} is missing")));
        }
        if !unchecked && !next.follows(&head, run) {
            let what = format!("record {seq} does not fit its sum");
            return Err(Fault::damage(run, Some(seq), what));
        }
        head.clone_from(&next.sum);
        if seq >= from_seq {
            records.push(next);
        }
    }
    if first > row.seq {
        return Ok(records);
    }
    if seq != row.seq {
        let what = format!("its row says {} records, and {seq} are here", row.seq);
        return Err(Fault::damage(run, Some(seq.min(row.seq) + 1), what));
    }
    if head != row.head {
        let what = format!("record {seq} is not the one that its row names");
        return Err(Fault::damage(run, Some(seq), what));
    }
    Ok(records)
}

fn record(row: &Row<'_>) -> Result<Record, rusqlite::Error> {
    let (seq, at, epoch) = (positive(row, 0)?, positive(row, 1)?, positive(row, 2)?);
    Ok(Record { seq, at, epoch, body: row.get(3)?, sum: row.get(4)? })
}

/// A number that was never negative when we wrote it.
pub(super) fn positive(row: &Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    let value: i64 = row.get(column)?;
    let wrong = |_| rusqlite::Error::IntegralValueOutOfRange(column, value);
    u64::try_from(value).map_err(wrong)
}

/// Adds to `SQLite`'s complaint which record could not be read, if it is a complaint about bytes.
fn broken(error: rusqlite::Error, run: &str, seq: u64) -> Fault {
    let what = error.to_string();
    if Fault::is_about_bytes(&error) {
        Fault::damage(run, Some(seq), what)
    } else {
        Fault::Sql(error)
    }
}

/// So much of the end of an id is enough to mean it.
const ENDING_MIN: usize = 4;

const ROW: &str = "SELECT run, epoch, seq, head, at, row, mark FROM runs";

/// The row of a run, checked against its mark.
pub(super) fn find_row(snapshot: &Connection, run: &str) -> Result<Option<RunRow>, Fault> {
    let mut statement = snapshot.prepare_cached(&format!("{ROW} WHERE run = ?1"))?;
    let found = statement.query_row([run], marked_row).optional()?;
    found.map(checked_row).transpose()
}

/// All rows in order of their ids, checked, and as many as `totals` says.
fn all_rows(snapshot: &Connection) -> Result<Vec<RunRow>, Fault> {
    let mut statement = snapshot.prepare(&format!("{ROW} ORDER BY run"))?;
    let mut rows: Vec<RunRow> = Vec::new();
    for found in statement.query_map([], marked_row)? {
        let row = checked_row(found?)?;
        if rows.last().is_some_and(|last| last.run >= row.run) {
            return Err(Fault::damage(&row.run, None, "its row is not in its place"));
        }
        rows.push(row);
    }
    let (_, runs) = totals(snapshot)?;
    if number(rows.len() as u64) == runs {
        return Ok(rows);
    }
    let what = format!("it had {runs} runs, and {} are here", rows.len());
    Err(Fault::Damage { run: None, seq: None, what })
}

fn marked_row(row: &Row<'_>) -> Result<(RunRow, String), rusqlite::Error> {
    let (epoch, seq, at) = (positive(row, 1)?, positive(row, 2)?, positive(row, 4)?);
    let (run, head, text) = (row.get(0)?, row.get(3)?, row.get(5)?);
    Ok((RunRow { run, epoch, seq, head, at, row: text }, row.get(6)?))
}

fn checked_row((row, mark): (RunRow, String)) -> Result<RunRow, Fault> {
    if row.mark() == mark {
        return Ok(row);
    }
    Err(Fault::damage(&row.run, None, "its row does not fit its mark"))
}

/// What to say of a run that has no row: that there is none, after making sure.
fn missing(snapshot: &Connection, run: &str) -> Fault {
    let orphan = "SELECT 1 FROM records WHERE run = ?1 LIMIT 1";
    let sure = (|| {
        if all_rows(snapshot)?.iter().any(|row| row.run == run) {
            return Err(Fault::damage(run, None, "its row is not where it is looked for"));
        }
        if snapshot.query_row(orphan, [run], |_| Ok(())).optional()?.is_some() {
            return Err(Fault::damage(run, None, "it has records, but no row"));
        }
        Ok(())
    })();
    match sure {
        Err(fault) => fault,
        Ok(()) => StoreError::NoSuchRun { run: run.to_owned(), nearest: None }.into(),
    }
}

fn integrity(snapshot: &Connection) -> Result<(), Fault> {
    is_ok(snapshot.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?)
}

/// Looks over the structure of the whole database, but not over each text.
pub(super) fn soundness(snapshot: &Connection) -> Result<(), Fault> {
    is_ok(snapshot.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?)
}

fn is_ok(said: String) -> Result<(), Fault> {
    if said == "ok" { Ok(()) } else { Err(Fault::Damage { run: None, seq: None, what: said }) }
}

/// The run that was probably meant: one that contains the words, or begins most alike.
fn nearest(wanted: &str, rows: &[RunRow]) -> Option<String> {
    const LOOKED_AT_MAX: usize = 1000;
    let rows = &rows[..rows.len().min(LOOKED_AT_MAX)];
    let containing = rows.iter().find(|row| !wanted.is_empty() && row.run.contains(wanted));
    let close = || {
        let length = wanted.chars().count();
        let edits = |row: &RunRow| {
            let head: String = row.run.chars().take(length).collect();
            strsim::levenshtein(wanted, &head)
        };
        let best = rows.iter().map(|row| (edits(row), row)).min_by_key(|(edits, _)| *edits);
        best.filter(|(edits, _)| *edits <= length / 3 + 1).map(|(_, row)| row)
    };
    containing.or_else(close).map(|row| row.run.clone())
}
