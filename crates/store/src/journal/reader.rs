//! Reading: records, rows, and the run that a prefix names.
//!
//! Invariant: every record that is returned was followed through the chain up to the head that the
//! run's row names, inside one snapshot; a run that ends before its projection is damaged; every row
//! fits its mark; and a run is called missing only after all rows were read and counted, because a
//! wrong byte in a key looks the same.

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::connection::{Store, expect_ok, integer, unsigned};
use super::error::{JournalFault, StoreError};
use super::hash_chain::{GENESIS, JournalRecord, RecordNumbers, RecordText, seal};
use super::projection::all_projected;
use super::schema::totals;

/// A row of `runs`: the last record of a run, and what `status` shows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRow {
    pub run: String,
    /// Counts the processes that drove the run, from 1.
    pub epoch: u64,
    /// The number of its last record.
    pub seq: u64,
    /// The sum of its last record.
    pub head: String,
    /// The time of its last record.
    pub at: u64,
    /// JSON that the journal does not interpret.
    pub row: String,
}

/// What a record says, once it was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordBody {
    pub seq: u64,
    pub at: u64,
    /// One line of JSON.
    pub body: String,
}

/// The extent of a [`Store::check`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckReport {
    pub runs: u64,
    /// Those of all runs together.
    pub records: u64,
}

impl JournalRow {
    /// Returns the row of a run that ends with `record`.
    pub(super) fn after(run: &str, record: &JournalRecord, row: &str) -> JournalRow {
        let JournalRecord { seq, at, epoch, body: _, sum } = record;
        let (run, head, row) = (run.to_owned(), sum.clone(), row.to_owned());
        JournalRow { run, epoch: *epoch, seq: *seq, head, at: *at, row }
    }

    /// Returns the seal over all columns, which shows a flipped byte.
    pub(super) fn mark(&self) -> String {
        let JournalRow { run, epoch, seq, head, at, row } = self;
        seal(&[run, &epoch.to_string(), &seq.to_string(), head, &at.to_string(), row])
    }
}

impl Store {
    /// Reads the records of a run from `from_seq` on; the first is 1.
    pub fn read(&self, run: &str, from_seq: u64) -> Result<Vec<JournalRecord>, StoreError> {
        let mut found = Vec::new();
        self.read_each(run, from_seq, &mut |record| found.push(record.to_record()))?;
        Ok(found)
    }

    /// Reads the times and bodies of all records of a run, and passes them on in batches. What was passed on counts only if all could be
    /// read. Returns the number of the last one.
    pub(super) fn read_in_batches(
        &self,
        run: &str,
        take: &mut dyn FnMut(Vec<RecordBody>),
    ) -> Result<u64, StoreError> {
        let (mut batch, mut last) = (Vec::with_capacity(BATCH_RECORDS), 0);
        self.read_each(run, 1, &mut |record| {
            let RecordNumbers { seq, at, epoch: _ } = record.numbers;
            last = seq;
            batch.push(RecordBody { seq, at, body: record.body.to_owned() });
            if batch.len() == BATCH_RECORDS {
                take(std::mem::replace(&mut batch, Vec::with_capacity(BATCH_RECORDS)));
            }
        })?;
        if !batch.is_empty() {
            take(batch);
        }
        Ok(last)
    }

    fn read_each(
        &self,
        run: &str,
        from_seq: u64,
        take: &mut dyn FnMut(RecordText<'_>),
    ) -> Result<(), StoreError> {
        self.snapshot_of_run(run, |snapshot, projected| {
            let Some(row) = find_row(snapshot, run)? else {
                return Err(missing_run(snapshot, run));
            };
            refuse_shorter(&row, projected)?;
            records(snapshot, &row, from_seq.max(1), take)
        })
    }

    /// Reads the row of one run.
    pub fn row(&self, run: &str) -> Result<JournalRow, StoreError> {
        self.snapshot_of_run(run, |snapshot, projected| {
            let row = find_row(snapshot, run)?.ok_or_else(|| missing_run(snapshot, run))?;
            refuse_shorter(&row, projected)?;
            Ok(row)
        })
    }

    /// Reads the rows of all runs, the one with the latest record first.
    pub fn rows(&self) -> Result<Vec<JournalRow>, StoreError> {
        let mut rows = self.snapshot(None, all_rows)?;
        rows.sort_by(|one, other| (other.at, &other.run).cmp(&(one.at, &one.run)));
        Ok(rows)
    }

    /// Reads at most `most` rows, those with the latest records, and counts all runs.
    pub fn latest(&self, most: usize) -> Result<(Vec<JournalRow>, u64), StoreError> {
        self.snapshot(None, |snapshot| {
            let mut statement =
                snapshot.prepare(&format!("{ROW} ORDER BY at DESC, run DESC LIMIT ?1"))?;
            let found = statement.query_map([integer(most as u64)], marked_row)?;
            let rows = found.map(|row| checked_row(row?)).collect::<Result<_, JournalFault>>()?;
            let (_, runs) = totals(snapshot)?;
            Ok((rows, runs.unsigned_abs()))
        })
    }

    /// Reads the rows whose JSON contains none of these texts, the one with the latest record first.
    pub fn rows_without(&self, texts: &[&str]) -> Result<Vec<JournalRow>, StoreError> {
        let sql = format!("{ROW} WHERE 1{}", " AND instr(row, ?) = 0".repeat(texts.len()));
        let mut rows: Vec<JournalRow> = self.snapshot(None, |snapshot| {
            let mut statement = snapshot.prepare(&sql)?;
            let found = statement.query_map(rusqlite::params_from_iter(texts), marked_row)?;
            found.map(|row| checked_row(row?)).collect::<Result<_, JournalFault>>()
        })?;
        rows.sort_by(|one, other| (other.at, &other.run).cmp(&(one.at, &one.run)));
        Ok(rows)
    }

    /// Reads the rows whose JSON contains `text`.
    pub fn rows_with(&self, text: &str) -> Result<Vec<JournalRow>, StoreError> {
        self.snapshot(None, |snapshot| {
            let mut statement = snapshot.prepare(&format!("{ROW} WHERE instr(row, ?1) > 0"))?;
            let found = statement.query_map([text], marked_row)?;
            found.map(|row| checked_row(row?)).collect::<Result<_, JournalFault>>()
        })
    }

    /// Checks everything: structure, rows, every chain, and every projection. For `doctor`.
    pub fn check(&self) -> Result<CheckReport, StoreError> {
        let mut projected = all_projected(self.dir());
        self.snapshot(None, |snapshot| {
            expect_ok(snapshot.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?)?;
            let mut checked = CheckReport { runs: 0, records: 0 };
            for row in all_rows(snapshot)? {
                refuse_shorter(&row, projected.remove(&row.run).unwrap_or(0))?;
                checked.runs += 1;
                records(snapshot, &row, 1, &mut |_| checked.records += 1)?;
            }
            if let Some((run, seq)) = projected.pop_first() {
                let what = format!("the run is gone, events.jsonl shows {seq} entries");
                return Err(JournalFault::damage(&run, Some(1), what));
            }
            let all: i64 =
                snapshot.query_row("SELECT count(*) FROM records", [], |row| row.get(0))?;
            if integer(checked.records) == all {
                return Ok(checked);
            }
            let what = format!("it has {all} entries, its runs only {}", checked.records);
            Err(JournalFault::Damage { run: None, seq: None, what })
        })
    }

    /// Finds the one run whose id begins, or ends, with `prefix`.
    pub fn resolve(&self, prefix: &str) -> Result<String, StoreError> {
        let wanted = prefix.to_lowercase();
        let find = |sql: &str| -> Result<Vec<String>, StoreError> {
            self.snapshot(None, |snapshot| {
                let mut statement = snapshot.prepare(sql)?;
                let found = statement.query_map([&wanted], |row| row.get(0))?;
                found.collect::<Result<_, _>>().map_err(JournalFault::Sql)
            })
        };
        let mut runs = find(
            "SELECT run FROM runs WHERE run >= ?1 AND substr(run, 1, length(?1)) = ?1
             ORDER BY run LIMIT 11",
        )?;
        // Ids of one day begin with the same date; their random ends differ.
        if runs.is_empty() && wanted.len() >= ENDING_MIN {
            runs = find(
                "SELECT run FROM runs WHERE substr(run, -length(?1)) = ?1 ORDER BY run LIMIT 11",
            )?;
        }
        if runs.is_empty() && wanted.len() + 1 >= ENDING_MIN {
            runs = find(
                "SELECT run FROM runs WHERE substr(run, -4, length(?1)) = ?1 ORDER BY run LIMIT 11",
            )?;
        }
        match runs.as_slice() {
            [] => {
                let nearest = nearest(&wanted, &self.rows()?);
                Err(StoreError::NoSuchRun { run: prefix.to_owned(), nearest })
            }
            [only] => Ok(only.clone()),
            // A whole id is meant even if it is the prefix of another.
            [first, ..] if *first == wanted => Ok(first.clone()),
            [..] => Err(StoreError::Ambiguous { prefix: prefix.to_owned(), runs }),
        }
    }
}

/// Follows the chain of a run from `from_seq` to the head that its row names, and passes on what was followed.
fn records(
    snapshot: &Connection,
    row: &JournalRow,
    from_seq: u64,
    take: &mut dyn FnMut(RecordText<'_>),
) -> Result<(), JournalFault> {
    let run = row.run.as_str();
    let mut statement = snapshot.prepare(
        "SELECT seq, at, epoch, body, sum FROM records WHERE run = ?1 AND seq >= ?2 ORDER BY seq",
    )?;
    // One record earlier, for the sum that the first one follows.
    let first = from_seq.saturating_sub(1).max(1);
    let mut found = statement.query((run, integer(first)))?;
    let mut chain = Chain { run, seq: first - 1, sum: None, text: String::new() };
    loop {
        let wrong = |error| broken(error, run, chain.seq + 1);
        let Some(next) = found.next().map_err(wrong)? else { break };
        let record = record(next).map_err(|error| broken(error, run, chain.seq + 1))?;
        chain.follow(&record)?;
        if record.numbers.seq >= from_seq {
            take(record);
        }
    }
    let Chain { seq, sum, .. } = chain;
    if first <= row.seq && seq != row.seq {
        let what = format!("its row says {} entries, and {seq} are here", row.seq);
        return Err(JournalFault::damage(run, Some(seq.min(row.seq) + 1), what));
    }
    if first <= row.seq && sum.is_none_or(|last| last != row.head) {
        let what = format!("entry {seq} is not the one that its row names");
        return Err(JournalFault::damage(run, Some(seq), what));
    }
    Ok(())
}

/// The records of a run as far as they were followed.
struct Chain<'a> {
    run: &'a str,
    /// The number of the last of them.
    seq: u64,
    /// Its sum.
    sum: Option<String>,
    /// Room for what is summed.
    text: String,
}

impl Chain<'_> {
    /// Checks that a record follows without a gap. A first one in the middle of a run is taken as it is.
    fn follow(&mut self, record: &RecordText<'_>) -> Result<(), JournalFault> {
        let Self { run, seq: before, sum, text } = self;
        let seq = *before + 1;
        if record.numbers.seq != seq {
            let what = format!("entry {seq} is missing");
            return Err(JournalFault::damage(run, Some(seq), what));
        }
        let previous = sum.as_deref().or((seq == 1).then_some(GENESIS));
        if previous.is_some_and(|previous| !record.follows(previous, run, text)) {
            let what = format!("the checksum of entry {seq} does not match");
            return Err(JournalFault::damage(run, Some(seq), what));
        }
        let last = sum.get_or_insert_default();
        last.clear();
        last.push_str(record.sum);
        *before = seq;
        Ok(())
    }
}

/// Returns a record where it lies.
fn record<'a>(row: &'a Row<'_>) -> Result<RecordText<'a>, rusqlite::Error> {
    let (seq, at, epoch) = (unsigned(row, 0)?, unsigned(row, 1)?, unsigned(row, 2)?);
    let text = |column: usize| {
        let value = row.get_ref(column)?;
        let wrong = |error| {
            rusqlite::Error::FromSqlConversionFailure(column, value.data_type(), Box::new(error))
        };
        value.as_str().map_err(wrong)
    };
    let numbers = RecordNumbers { seq, at, epoch };
    Ok(RecordText { numbers, body: text(3)?, sum: text(4)? })
}

/// Adds the record that could not be read to an error of `SQLite` about wrong bytes.
fn broken(error: rusqlite::Error, run: &str, seq: u64) -> JournalFault {
    let what = error.to_string();
    if JournalFault::is_about_bytes(&error) {
        JournalFault::damage(run, Some(seq), what)
    } else {
        JournalFault::Sql(error)
    }
}

/// How many records are passed on together.
const BATCH_RECORDS: usize = 1_000;

/// How much of the end of an id is enough to name it.
const ENDING_MIN: usize = 4;

const ROW: &str = "SELECT run, epoch, seq, head, at, row, mark FROM runs";

/// Reads the row of a run.
pub(super) fn find_row(
    snapshot: &Connection,
    run: &str,
) -> Result<Option<JournalRow>, JournalFault> {
    let mut statement = snapshot.prepare_cached(&format!("{ROW} WHERE run = ?1"))?;
    let found = statement.query_row([run], marked_row).optional()?;
    found.map(checked_row).transpose()
}

/// Reads all rows in order of their ids, as many as `totals` says.
fn all_rows(snapshot: &Connection) -> Result<Vec<JournalRow>, JournalFault> {
    let mut statement = snapshot.prepare(&format!("{ROW} ORDER BY run"))?;
    let mut rows: Vec<JournalRow> = Vec::new();
    for found in statement.query_map([], marked_row)? {
        let row = checked_row(found?)?;
        if rows.last().is_some_and(|last| last.run >= row.run) {
            return Err(JournalFault::damage(&row.run, None, "its row is not in its place"));
        }
        rows.push(row);
    }
    let (_, runs) = totals(snapshot)?;
    if integer(rows.len() as u64) == runs {
        return Ok(rows);
    }
    let what = format!("it had {runs} runs, and {} are here", rows.len());
    Err(JournalFault::Damage { run: None, seq: None, what })
}

fn marked_row(row: &Row<'_>) -> Result<(JournalRow, String), rusqlite::Error> {
    let (epoch, seq, at) = (unsigned(row, 1)?, unsigned(row, 2)?, unsigned(row, 4)?);
    let (run, head, text) = (row.get(0)?, row.get(3)?, row.get(5)?);
    Ok((JournalRow { run, epoch, seq, head, at, row: text }, row.get(6)?))
}

fn checked_row((row, mark): (JournalRow, String)) -> Result<JournalRow, JournalFault> {
    if row.mark() == mark {
        return Ok(row);
    }
    Err(JournalFault::damage(&row.run, None, "the checksum of its row does not match"))
}

/// Refuses a run that ends before its projection: `SQLite` has dropped the end of its log.
pub(super) fn refuse_shorter(row: &JournalRow, projected: u64) -> Result<(), JournalFault> {
    if projected <= row.seq {
        return Ok(());
    }
    let what = format!("it ends at entry {}, events.jsonl shows {projected}", row.seq);
    Err(JournalFault::damage(&row.run, Some(row.seq + 1), what))
}

/// Returns why a run has no row: that there is no such run, after making sure.
fn missing_run(snapshot: &Connection, run: &str) -> JournalFault {
    let orphan = "SELECT 1 FROM records WHERE run = ?1 LIMIT 1";
    let sure = (|| {
        if all_rows(snapshot)?.iter().any(|row| row.run == run) {
            return Err(JournalFault::damage(run, None, "its row is not where it is looked for"));
        }
        if snapshot.query_row(orphan, [run], |_| Ok(())).optional()?.is_some() {
            return Err(JournalFault::damage(run, None, "it has entries, but no row"));
        }
        Ok(())
    })();
    match sure {
        Err(fault) => fault,
        Ok(()) => StoreError::NoSuchRun { run: run.to_owned(), nearest: None }.into(),
    }
}

/// Returns the run that was probably meant: one that contains `wanted`, or whose beginning differs least.
fn nearest(wanted: &str, rows: &[JournalRow]) -> Option<String> {
    const COMPARED_MAX: usize = 1000;
    // Less than this is near to everything.
    const CHARS_MIN: usize = 3;
    if wanted.chars().count() < CHARS_MIN {
        return None;
    }
    let rows = &rows[..rows.len().min(COMPARED_MAX)];
    let containing = rows.iter().find(|row| !wanted.is_empty() && row.run.contains(wanted));
    let close = || {
        let length = wanted.chars().count();
        let edits = |row: &JournalRow| {
            let head: String = row.run.chars().take(length).collect();
            strsim::levenshtein(wanted, &head)
        };
        let best = rows.iter().map(|row| (edits(row), row)).min_by_key(|(edits, _)| *edits);
        best.filter(|(edits, _)| *edits <= length / 3 + 1).map(|(_, row)| row)
    };
    containing.or_else(close).map(|row| row.run.clone())
}
