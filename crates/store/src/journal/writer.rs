//! Writing: runs begin, records are appended, commands are answered.
//!
//! Invariant: a record, its row and the answers to the commands that it settles are written together
//! or not at all, and only by the process that holds the run's lock and knows its epoch, seq and
//! head.

use rusqlite::{Params, Transaction, params};

use super::commands::{CommandId, answer};
use super::connection::{Store, expect_one_row, integer};
use super::error::{JournalFault, StoreError};
use super::hash_chain::{GENESIS, JournalRecord, RecordNumbers};
use super::lock::RunLock;
use super::newest::NewestRecord;
use super::projection::last_projected;
use super::reader::{JournalRow, find_row, refuse_shorter};
use super::schema::{totals, totals_mark};

/// The right to append to a run: it holds the run's lock, and knows the run's last record. If the
/// database names another one, another process has written.
#[derive(Debug)]
pub struct Writer {
    lock: RunLock,
    epoch: u64,
    seq: u64,
    at: u64,
    head: String,
}

impl Writer {
    /// Returns the right to append after the last record that `row` names.
    pub(super) fn new(lock: RunLock, row: &JournalRow) -> Writer {
        let JournalRow { epoch, seq, at, head, .. } = row;
        Writer { lock, epoch: *epoch, seq: *seq, at: *at, head: head.clone() }
    }

    /// Moves on to the last record that `row` names.
    pub(super) fn advance(&mut self, row: &JournalRow) {
        (self.seq, self.at) = (row.seq, row.at);
        self.head.clone_from(&row.head);
    }

    /// Returns the run that this writer appends to.
    pub fn run(&self) -> &str {
        self.lock.run()
    }

    /// Returns the number of the last record.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the time of the last record. The next one may not be earlier.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Counts the processes that drove the run, from 1.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the sum of the last record.
    pub fn head(&self) -> &str {
        &self.head
    }
}

impl Store {
    /// Begins a run with its first record.
    pub fn begin_run(
        &mut self,
        lock: RunLock,
        at: u64,
        body: &str,
        row: &str,
    ) -> Result<Writer, StoreError> {
        self.begin_run_with(lock, &[(at, body.to_owned())], row)
    }

    /// Begins a run with its first records, all of them or none: each with its time and its body.
    pub fn begin_run_with(
        &mut self,
        lock: RunLock,
        first: &[(u64, String)],
        row: &str,
    ) -> Result<Writer, StoreError> {
        assert_eq!(lock.dir(), self.dir(), "a run is locked where its journal is");
        let run = lock.run().to_owned();
        let mut records: Vec<JournalRecord> = Vec::with_capacity(first.len());
        for ((at, body), seq) in first.iter().zip(1..) {
            assert_one_line(body);
            let head = records.last().map_or(GENESIS, |record| record.sum.as_str());
            let numbers = RecordNumbers { seq, at: *at, epoch: 1 };
            records.push(JournalRecord::new(head, &run, numbers, body));
        }
        let last = records.last().expect("a run begins with a record");
        let row = JournalRow::after(&run, last, row);
        self.check_structure(&run)?;
        self.write(Some(&run), |transaction| {
            if find_row(transaction, &run)?.is_some() {
                return Err(StoreError::RunExists { run: run.clone() }.into());
            }
            insert_run(transaction, &records, &row)
        })?;
        NewestRecord { run, seq: row.seq }.note(self.dir());
        Ok(Writer::new(lock, &row))
    }

    /// Inserts a run with records that were written before, as they were.
    pub(super) fn insert_again(
        &mut self,
        run: &str,
        records: &[JournalRecord],
        row: &str,
    ) -> Result<(), StoreError> {
        let last = records.last().expect("a run has a record");
        let row = JournalRow::after(run, last, row);
        self.write(Some(run), |transaction| insert_run(transaction, records, &row))
    }

    /// Takes a run over: from here on every earlier writer is refused. The records are not read here;
    /// reading checks them.
    pub fn take_over(&mut self, lock: RunLock) -> Result<Writer, StoreError> {
        assert_eq!(lock.dir(), self.dir(), "a run is locked where its journal is");
        let run = lock.run().to_owned();
        let projected = last_projected(self.dir(), &run).unwrap_or(0);
        self.check_structure(&run)?;
        let row = self.write(Some(&run), |transaction| {
            let Some(mut row) = find_row(transaction, &run)? else {
                return Err(StoreError::NoSuchRun { run: run.clone(), nearest: None }.into());
            };
            refuse_shorter(&row, projected)?;
            row.epoch += 1;
            update(transaction, &row)?;
            Ok(row)
        })?;
        Ok(Writer::new(lock, &row))
    }

    /// Appends one record, the row that `status` shows after it, and the answers to the commands
    /// that it settles: all of it or nothing. When this returns it is on the disk.
    pub fn append(
        &mut self,
        writer: &mut Writer,
        at: u64,
        body: &str,
        row: &str,
        settled: &[(CommandId, String)],
    ) -> Result<u64, StoreError> {
        assert!(at >= writer.at, "the driver never lets a run's time go back");
        assert_one_line(body);
        let numbers = RecordNumbers { seq: writer.seq + 1, at, epoch: writer.epoch };
        let record = JournalRecord::new(&writer.head, writer.run(), numbers, body);
        let run = writer.lock.run();
        let row = JournalRow::after(run, &record, row);
        self.write(Some(run), |transaction| {
            still_current(transaction, writer)?;
            insert(transaction, run, &record)?;
            update(transaction, &row)?;
            settled.iter().try_for_each(|(id, outcome)| answer(transaction, run, *id, outcome))
        })?;
        NewestRecord { run: row.run.clone(), seq: row.seq }.note(self.dir());
        writer.advance(&row);
        Ok(record.seq)
    }

    /// Answers a command from which no fact followed.
    pub fn settle_command(
        &mut self,
        writer: &Writer,
        id: CommandId,
        outcome: &str,
    ) -> Result<(), StoreError> {
        self.write(Some(writer.run()), |transaction| {
            still_current(transaction, writer)?;
            answer(transaction, writer.run(), id, outcome)
        })
    }

    /// Replaces the row that `status` shows of a run, for `doctor --rebuild`. Records are not changed.
    pub fn replace_row(&mut self, lock: &RunLock, row: &str) -> Result<(), StoreError> {
        let run = lock.run();
        self.write(Some(run), |transaction| {
            let Some(found) = find_row(transaction, run)? else {
                return Err(StoreError::NoSuchRun { run: run.to_owned(), nearest: None }.into());
            };
            update(transaction, &JournalRow { row: row.to_owned(), ..found })
        })
    }
}

fn assert_one_line(body: &str) {
    assert!(!body.contains(['\n', '\r']), "a body is one line of JSON");
}

fn still_current(transaction: &Transaction<'_>, writer: &Writer) -> Result<(), JournalFault> {
    let found = find_row(transaction, writer.run())?;
    let current = found.is_some_and(|row| {
        (row.epoch, row.seq, &row.head) == (writer.epoch, writer.seq, &writer.head)
    });
    if current { Ok(()) } else { Err(StoreError::Overtaken { run: writer.run().into() }.into()) }
}

/// Inserts a new run: its records, its row, and one more in `totals`.
fn insert_run(
    transaction: &Transaction<'_>,
    records: &[JournalRecord],
    row: &JournalRow,
) -> Result<(), JournalFault> {
    for record in records {
        insert(transaction, &row.run, record)?;
    }
    transaction.execute(
        "INSERT INTO runs (run, epoch, seq, head, at, row, mark)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        columns(row),
    )?;
    let (version, runs) = totals(transaction)?;
    let mark = totals_mark(version, runs + 1);
    let sql = "UPDATE totals SET runs = ?1, mark = ?2 WHERE id = 1";
    expect_one_row(transaction.execute(sql, params![runs + 1, mark])?)
}

fn insert(
    transaction: &Transaction<'_>,
    run: &str,
    record: &JournalRecord,
) -> Result<(), JournalFault> {
    let JournalRecord { seq, at, epoch, body, sum } = record;
    let mut statement = transaction.prepare_cached(
        "INSERT INTO records (run, seq, at, epoch, body, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let values = params![run, integer(*seq), integer(*at), integer(*epoch), body, sum];
    expect_one_row(statement.execute(values)?)
}

fn update(transaction: &Transaction<'_>, row: &JournalRow) -> Result<(), JournalFault> {
    let mut statement = transaction.prepare_cached(
        "UPDATE runs SET epoch = ?2, seq = ?3, head = ?4, at = ?5, row = ?6, mark = ?7
         WHERE run = ?1",
    )?;
    expect_one_row(statement.execute(columns(row))?)
}

/// Returns the columns of a row of `runs`, with their mark, in the order of the statements above.
fn columns(row: &JournalRow) -> impl Params {
    let JournalRow { run, epoch, seq, head, at, row: text } = row;
    (run, integer(*epoch), integer(*seq), head, integer(*at), text, row.mark())
}

#[cfg(test)]
mod tests {
    use super::super::damage::mark_path;
    use super::*;

    #[test]
    fn when_the_database_may_not_grow_nothing_of_the_record_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        let lock = RunLock::acquire(dir.path(), "r").unwrap();
        let mut writer = store.begin_run(lock, 1, "{}", "{\"row\":1}").unwrap();
        let command = store.insert_command("r", 1, "cli", "ann", "{}").unwrap();
        let pages: i64 = store.connection.query_row("PRAGMA page_count", [], |r| r.get(0)).unwrap();
        let grow = |store: &Store, pages: i64| {
            let sql = format!("PRAGMA max_page_count = {pages}");
            store.connection.query_row(&sql, [], |_| Ok(())).unwrap();
        };
        grow(&store, pages + 1);
        let big = format!("{:?}", "x".repeat(20_000));
        let settled = [(command, "accepted".to_owned())];
        let refused = store.append(&mut writer, 2, &big, "{\"row\":2}", &settled).unwrap_err();
        assert!(matches!(&refused, StoreError::Full { .. }), "{refused}");
        assert_eq!(refused.next_step(), "free some space, then forge resume r");
        assert_eq!(store.read("r", 1).unwrap().len(), 1);
        assert_eq!(store.row("r").unwrap().row, "{\"row\":1}");
        assert_eq!(store.command_outcome(command).unwrap(), None);
        grow(&store, 1_000_000);
        assert_eq!(store.append(&mut writer, 2, &big, "{\"row\":2}", &settled).unwrap(), 2);
        assert_eq!(store.command_outcome(command).unwrap().as_deref(), Some("accepted"));
        assert!(!mark_path(dir.path()).exists());
    }
}
