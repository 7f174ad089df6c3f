//! Writing: beginning a run, taking it over, appending to it.
//!
//! Every write is one transaction that first compares what it believes with what is there. Must
//! stay true: a record, its row and the answers to the commands it settles come together or not at
//! all; and once damage was noticed by anybody, nothing is written by anybody. Before a driver
//! writes for the first time the whole structure is looked over: a wrong free-page pointer would
//! make `SQLite` write over good records.

use std::cell::Cell;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Params, Transaction, TransactionBehavior, params};

use super::commands::{CommandId, answer};
use super::damage::{Scratch, mark_path, refuse_marked};
use super::error::{Fault, StoreError};
use super::hash_chain::{GENESIS, Numbers, Record};
use super::lock::RunLock;
use super::open::remember;
use super::reader::{RunRow, find_row, soundness};
use super::schema::{totals, totals_mark};
use super::{database, projection};

/// One connection to the journal of a repository.
#[derive(Debug)]
pub struct Store {
    pub(super) connection: Connection,
    pub(super) dir: PathBuf,
    pub(super) file: PathBuf,
    /// Why one should be careful with this place.
    caution: Option<String>,
    /// Whether this connection has noticed damage.
    suspect: Cell<bool>,
    /// Whether this connection has looked the whole structure over.
    looked_over: Cell<bool>,
    /// The copy that is read instead of the original. Goes after the connection.
    copy: Option<Scratch>,
}

/// The right to append to a run. It holds the run's lock for life, and knows where the run stands;
/// if that is not where the database says it stands, somebody else has written.
#[derive(Debug)]
pub struct Writer {
    lock: RunLock,
    epoch: u64,
    seq: u64,
    at: u64,
    head: String,
}

impl Writer {
    /// The run that this writer may write.
    pub fn run(&self) -> &str {
        self.lock.run()
    }

    /// The number of the last record.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The time of the last record. The next one may not be earlier.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Which take-over this is.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The sum of the last record.
    pub fn head(&self) -> &str {
        &self.head
    }
}

impl Store {
    pub(super) fn over(
        connection: Connection,
        dir: &Path,
        caution: Option<String>,
        copy: Option<Scratch>,
    ) -> Store {
        let (dir, file) = (dir.to_owned(), database(dir));
        Store {
            connection,
            dir,
            file,
            caution,
            suspect: Cell::new(false),
            looked_over: Cell::new(false),
            copy,
        }
    }

    /// Why one should be careful with this place, if so: for `doctor` and the start of a run.
    pub fn caution(&self) -> Option<&str> {
        self.caution.as_deref()
    }

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
        assert_eq!(lock.dir(), self.dir, "a run is locked where its journal is");
        let run = lock.run().to_owned();
        let mut records: Vec<Record> = Vec::with_capacity(first.len());
        for ((at, body), seq) in first.iter().zip(1..) {
            assert_one_line(body);
            let head = records.last().map_or(GENESIS, |record| record.sum.as_str());
            let numbers = Numbers { seq, at: *at, epoch: 1 };
            records.push(Record::follow(head, &run, numbers, body));
        }
        let last = records.last().expect("a run begins with a record").clone();
        self.look_over(&run)?;
        self.write(Some(&run), |transaction| {
            if find_row(transaction, &run)?.is_some() {
                return Err(StoreError::RunExists { run: run.clone() }.into());
            }
            for record in &records {
                insert(transaction, &run, record)?;
            }
            let row = RunRow::after(&run, &last, row);
            transaction.execute(
                "INSERT INTO runs (run, epoch, seq, head, at, row, mark)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                columns(&row),
            )?;
            let (version, runs) = totals(transaction)?;
            let mark = totals_mark(version, runs + 1);
            let sql = "UPDATE totals SET runs = ?1, mark = ?2 WHERE id = 1";
            exactly_one(transaction.execute(sql, params![runs + 1, mark])?)
        })?;
        Ok(Writer { lock, epoch: 1, seq: last.seq, at: last.at, head: last.sum })
    }

    /// Takes a run over: from here on nobody else's writer counts. The records are still to be
    /// read, and are checked then.
    pub fn take_over(&mut self, lock: RunLock) -> Result<Writer, StoreError> {
        assert_eq!(lock.dir(), self.dir, "a run is locked where its journal is");
        let run = lock.run().to_owned();
        let shown = shown_seq(&projection(&self.dir, &run));
        self.look_over(&run)?;
        let row = self.write(Some(&run), |transaction| {
            let Some(mut row) = find_row(transaction, &run)? else {
                return Err(StoreError::NoSuchRun { run: run.clone(), nearest: None }.into());
            };
            if let Some(shown) = shown.filter(|shown| *shown > row.seq) {
                let what = format!("it ends at record {}, events.jsonl shows {shown}", row.seq);
                return Err(Fault::damage(&run, Some(row.seq + 1), what));
            }
            row.epoch += 1;
            update(transaction, &row)?;
            Ok(row)
        })?;
        Ok(Writer { lock, epoch: row.epoch, seq: row.seq, at: row.at, head: row.head })
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
        let numbers = Numbers { seq: writer.seq + 1, at, epoch: writer.epoch };
        let record = Record::follow(&writer.head, writer.run(), numbers, body);
        let run = writer.lock.run();
        self.write(Some(run), |transaction| {
            still_current(transaction, writer)?;
            insert(transaction, run, &record)?;
            update(transaction, &RunRow::after(run, &record, row))?;
            settled.iter().try_for_each(|(id, outcome)| answer(transaction, run, *id, outcome))
        })?;
        writer.seq = record.seq;
        writer.at = at;
        writer.head = record.sum;
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

    /// Replaces what `status` shows of a run, for `doctor --rebuild`. The records stay as they are.
    pub fn replace_row(&mut self, lock: &RunLock, row: &str) -> Result<(), StoreError> {
        let run = lock.run();
        self.write(Some(run), |transaction| {
            let Some(found) = find_row(transaction, run)? else {
                return Err(StoreError::NoSuchRun { run: run.to_owned(), nearest: None }.into());
            };
            update(transaction, &RunRow { row: row.to_owned(), ..found })
        })
    }

    /// A number that changes when another connection has written. Compare it only with what the
    /// same store said before.
    pub fn data_version(&self) -> Result<u64, StoreError> {
        let asked = self
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut asked| asked.query_row([], |row| row.get::<_, i64>(0)));
        self.noted(None, asked.map(i64::unsigned_abs).map_err(Fault::Sql))
    }

    /// Looks the whole structure over, once, before the first thing that a driver writes.
    fn look_over(&self, run: &str) -> Result<(), StoreError> {
        if !self.looked_over.get() {
            self.look(Some(run), soundness)?;
            self.looked_over.set(true);
        }
        Ok(())
    }

    /// Does one transaction, which waits for its turn before it looks at anything.
    pub(super) fn write<T>(
        &mut self,
        run: Option<&str>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        refuse_marked(&self.dir)?;
        if self.copy.is_some() {
            return Err(StoreError::ReadOnly { file: self.file.clone() });
        }
        let done = (|| {
            let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
            let transaction = begun?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })();
        self.noted(run, done)
    }

    /// Names the file, and leaves the mark if this is damage.
    pub(super) fn noted<T>(
        &self,
        run: Option<&str>,
        result: Result<T, Fault>,
    ) -> Result<T, StoreError> {
        result.map_err(|fault| {
            let error = fault.at(&self.file, run);
            if matches!(error, StoreError::Damaged(_)) {
                self.suspect.set(true);
                remember(&self.dir, &error);
            }
            error
        })
    }
}

impl Drop for Store {
    /// The last one out folds the log into the database, unless it only came to read or anybody
    /// has noticed damage.
    fn drop(&mut self) {
        let writes = self.copy.is_none() && self.connection.is_readonly("main") == Ok(false);
        if writes && !self.suspect.get() && !mark_path(&self.dir).exists() {
            let flag = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            let _ = self.connection.set_db_config(flag, false);
        }
    }
}

fn assert_one_line(body: &str) {
    assert!(!body.contains(['\n', '\r']), "a body is one line of JSON");
}

fn still_current(transaction: &Transaction<'_>, writer: &Writer) -> Result<(), Fault> {
    let found = find_row(transaction, writer.run())?;
    let current = found.is_some_and(|row| {
        (row.epoch, row.seq, &row.head) == (writer.epoch, writer.seq, &writer.head)
    });
    if current { Ok(()) } else { Err(StoreError::Overtaken { run: writer.run().into() }.into()) }
}

fn insert(transaction: &Transaction<'_>, run: &str, record: &Record) -> Result<(), Fault> {
    let Record { seq, at, epoch, body, sum } = record;
    let mut statement = transaction.prepare_cached(
        "INSERT INTO records (run, seq, at, epoch, body, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let values = params![run, number(*seq), number(*at), number(*epoch), body, sum];
    exactly_one(statement.execute(values)?)
}

fn update(transaction: &Transaction<'_>, row: &RunRow) -> Result<(), Fault> {
    let mut statement = transaction.prepare_cached(
        "UPDATE runs SET epoch = ?2, seq = ?3, head = ?4, at = ?5, row = ?6, mark = ?7
         WHERE run = ?1",
    )?;
    exactly_one(statement.execute(columns(row))?)
}

/// A row that was there a moment ago, in the same transaction, is still there.
pub(super) fn exactly_one(changed: usize) -> Result<(), Fault> {
    if changed == 1 {
        return Ok(());
    }
    let what = format!("one row was to be changed, and {changed} were");
    Err(Fault::Damage { run: None, seq: None, what })
}

pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).expect("counts and milliseconds are below 2^63")
}

/// The number of the last whole line of a projection. It is written after the record, so it may be
/// behind, and is never ahead of a journal that has lost nothing.
fn shown_seq(path: &Path) -> Option<u64> {
    const TAIL_BYTES_MAX: u64 = 4 << 20;
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES_MAX))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut whole = text.split_inclusive('\n').rev().filter(|line| line.ends_with('\n'));
    whole.find_map(|line| Record::from_line(line.trim_end())).map(|record| record.seq)
}

/// The columns of a row of `runs`, with their seal, as the statements above take them.
fn columns(row: &RunRow) -> impl Params {
    let RunRow { run, epoch, seq, head, at, row: text } = row;
    (run, number(*epoch), number(*seq), head, number(*at), text, row.mark())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_the_database_may_not_grow_nothing_of_the_record_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        let lock = RunLock::take(dir.path(), "r").unwrap();
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
