//! Reading records and the log, and checking that they are what was written.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use forge_core::{
    Time,
    work::{WorkEntry, WorkId, WorkRecord},
};

use super::error::WorkError;
use super::tables::{Totals, WorkStore, damage};
use crate::journal::GENESIS;
use crate::journal::connection::{expect_ok, integer, unsigned};
use crate::journal::error::JournalFault;
use crate::journal::hash_chain::seal;

/// A record and the time of its last fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkRow {
    pub record: WorkRecord,
    pub at: Time,
}

/// One fact of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedFact {
    pub seq: u64,
    pub at: Time,
    pub id: WorkId,
    pub rev: u64,
    pub entry: WorkEntry,
    /// The record after it.
    pub after: WorkRecord,
    pub(super) sum: String,
}

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkCounts {
    pub records: u64,
    pub facts: u64,
}

const ROW: &str = "SELECT id, kind, rev, at, body, mark FROM rows";
const LOG: &str = "SELECT seq, at, id, rev, fact, after, sum,
    (SELECT sum FROM log AS before WHERE before.seq = log.seq - 1) FROM log";

impl WorkStore {
    /// Returns a record.
    pub fn get(&self, id: &WorkId) -> Result<Option<WorkRow>, WorkError> {
        self.snapshot(|snapshot| find(snapshot, id))
    }

    /// Returns all records, by id.
    pub fn all(&self) -> Result<Vec<WorkRow>, WorkError> {
        self.snapshot(|snapshot| {
            let mut statement = snapshot.prepare_cached(&format!("{ROW} ORDER BY id"))?;
            let found = statement.query_map([], stored_row)?;
            let rows: Vec<WorkRow> =
                found.map(|row| row?.checked()).collect::<Result<_, JournalFault>>()?;
            expect_count(rows.len(), &Totals::read(snapshot)?)?;
            Ok(rows)
        })
    }

    /// Returns the facts of a record, in order.
    pub fn history(&self, id: &WorkId) -> Result<Vec<LoggedFact>, WorkError> {
        self.snapshot(|snapshot| {
            let mut statement =
                snapshot.prepare_cached(&format!("{LOG} WHERE id = ?1 ORDER BY rev"))?;
            let found = statement.query_map([id.as_str()], stored_fact)?;
            let facts: Vec<LoggedFact> =
                found.map(|fact| fact?.checked()).collect::<Result<_, JournalFault>>()?;
            // Where the index is damaged, facts are not found: then what follows does not come out of what was before.
            let mut record = None;
            let is_whole = facts.iter().all(|fact| {
                record = Some(WorkRecord::apply(record.take(), &fact.id, &fact.entry.fact));
                record.as_ref() == Some(&fact.after)
            });
            if !is_whole || record != find(snapshot, id)?.map(|row| row.record) {
                return Err(damage(format!("the facts of {id} are not those of its row")));
            }
            Ok(facts)
        })
    }

    /// Returns a record as it was at a revision, or at the last one before it that is known here.
    pub fn at_revision(&self, id: &WorkId, rev: u64) -> Result<Option<WorkRecord>, WorkError> {
        let known = self.history(id)?.into_iter().take_while(|fact| fact.rev <= rev).last();
        Ok(known.map(|fact| fact.after))
    }

    /// Tells whether a file with this sum was ever written for a record, in any checkout.
    pub fn has_written(&self, id: &WorkId, sum: &str) -> Result<bool, WorkError> {
        self.exists("SELECT 1 FROM written WHERE id = ?1 AND sum = ?2", id, sum)
    }

    /// Tells whether a file of a record was ever written in a checkout.
    pub fn has_written_in(&self, id: &WorkId, place: &str) -> Result<bool, WorkError> {
        self.exists("SELECT 1 FROM written WHERE id = ?1 AND place = ?2", id, place)
    }

    fn exists(&self, sql: &str, id: &WorkId, value: &str) -> Result<bool, WorkError> {
        self.snapshot(|snapshot| {
            Ok(snapshot.prepare_cached(sql)?.exists(params![id.as_str(), value])?)
        })
    }

    /// Reads everything and checks it: the structure of the file, the chain, and that each row is the fold of its facts.
    pub fn verify(&self) -> Result<WorkCounts, WorkError> {
        self.snapshot(|snapshot| {
            let result = snapshot.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            expect_ok(result)?;
            let totals = Totals::read(snapshot)?;
            let mut statement = snapshot.prepare(&format!("{LOG} ORDER BY seq"))?;
            let (mut seq, mut head) = (0, GENESIS.to_owned());
            for fact in statement.query_map([], stored_fact)? {
                let fact = fact?.checked()?;
                let before = revision(snapshot, &fact.id, fact.rev - 1)?;
                let after = WorkRecord::apply(before, &fact.id, &fact.entry.fact);
                if fact.seq != seq + 1 || after != fact.after {
                    return Err(damage(format!("fact {} does not follow from the last", fact.seq)));
                }
                (seq, head) = (fact.seq, fact.sum);
            }
            if (seq, &head) != (totals.seq, &totals.head) {
                return Err(damage(format!("the log has {seq} facts, not {}", totals.seq)));
            }
            let mut records = 0;
            for row in snapshot.prepare(ROW)?.query_map([], stored_row)? {
                let record = row?.checked()?.record;
                let last = revision(snapshot, &record.id, u64::from(u32::MAX))?;
                if last.as_ref() != Some(&record) {
                    return Err(damage(format!("the row of {} is not its last fact", record.id)));
                }
                records += 1;
            }
            expect_count(records, &totals)?;
            Ok(WorkCounts { records: totals.records, facts: seq })
        })
    }
}

/// Returns a record as it was after its last fact up to a revision.
fn revision(
    connection: &Connection,
    id: &WorkId,
    rev: u64,
) -> Result<Option<WorkRecord>, JournalFault> {
    let sql = "SELECT after FROM log WHERE id = ?1 AND rev <= ?2 ORDER BY rev DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![id.as_str(), integer(rev)];
    let body: Option<String> = statement.query_row(values, |row| row.get(0)).optional()?;
    body.map(|body| parse(&body)).transpose()
}

/// Returns a record of the database that is being read. One that is not found where it should be is looked for everywhere.
pub(super) fn find(connection: &Connection, id: &WorkId) -> Result<Option<WorkRow>, JournalFault> {
    let mut statement = connection.prepare_cached(&format!("{ROW} WHERE id = ?1"))?;
    let found = statement.query_row([id.as_str()], stored_row).optional()?;
    if found.is_none() && ids(connection)?.contains(id) {
        return Err(damage(format!("the row of {id} is not in its place")));
    }
    found.map(StoredRow::checked).transpose()
}

/// Returns the ids of all records.
pub(super) fn ids(connection: &Connection) -> Result<Vec<WorkId>, JournalFault> {
    let mut statement = connection.prepare_cached("SELECT id FROM rows")?;
    let mut all = Vec::new();
    for id in statement.query_map([], |row| row.get::<_, String>(0))? {
        all.push(id?.parse().map_err(|_| damage("a row has no id"))?);
    }
    expect_count(all.len(), &Totals::read(connection)?)?;
    Ok(all)
}

fn expect_count(found: usize, totals: &Totals) -> Result<(), JournalFault> {
    if found as u64 == totals.records {
        return Ok(());
    }
    Err(damage(format!("{found} records are here, not {}", totals.records)))
}

/// A row as it is in the database.
struct StoredRow {
    columns: RowColumns,
    mark: String,
}

/// The columns of a row that its mark covers.
pub(super) struct RowColumns {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) rev: u64,
    pub(super) at: u64,
    pub(super) body: String,
}

impl RowColumns {
    pub(super) fn new(record: &WorkRecord, at: Time) -> Self {
        Self {
            id: record.id.as_str().to_owned(),
            kind: record.kind.as_str().to_owned(),
            rev: record.rev,
            at,
            body: serde_json::to_string(record).expect("a record can be written"),
        }
    }

    pub(super) fn mark(&self) -> String {
        let Self { id, kind, rev, at, body } = self;
        seal(&[id, kind, &rev.to_string(), &at.to_string(), body])
    }
}

fn stored_row(row: &Row<'_>) -> Result<StoredRow, rusqlite::Error> {
    let columns = RowColumns {
        id: row.get(0)?,
        kind: row.get(1)?,
        rev: unsigned(row, 2)?,
        at: unsigned(row, 3)?,
        body: row.get(4)?,
    };
    Ok(StoredRow { columns, mark: row.get(5)? })
}

impl StoredRow {
    fn checked(self) -> Result<WorkRow, JournalFault> {
        if self.columns.mark() != self.mark {
            let id = &self.columns.id;
            return Err(damage(format!("the checksum of the row of {id} does not match")));
        }
        Ok(WorkRow { record: parse(&self.columns.body)?, at: self.columns.at })
    }
}

/// A fact as it is in the database.
struct StoredFact {
    seq: u64,
    at: u64,
    id: String,
    rev: u64,
    fact: String,
    after: String,
    sum: String,
    before: Option<String>,
}

fn stored_fact(row: &Row<'_>) -> Result<StoredFact, rusqlite::Error> {
    Ok(StoredFact {
        seq: unsigned(row, 0)?,
        at: unsigned(row, 1)?,
        id: row.get(2)?,
        rev: unsigned(row, 3)?,
        fact: row.get(4)?,
        after: row.get(5)?,
        sum: row.get(6)?,
        before: row.get(7)?,
    })
}

impl StoredFact {
    fn checked(self) -> Result<LoggedFact, JournalFault> {
        let Self { seq, at, id, rev, fact, after, sum, before } = self;
        let before = before.as_deref().unwrap_or(GENESIS);
        if sum != fact_sum(before, seq, at, &id, rev, &fact, &after) {
            return Err(damage(format!("the checksum of fact {seq} does not match")));
        }
        let id = id.parse().map_err(|_| damage(format!("fact {seq} is of no record")))?;
        Ok(LoggedFact { seq, at, id, rev, entry: parse(&fact)?, after: parse(&after)?, sum })
    }
}

/// Returns the sum of a fact, which covers the one before.
pub(super) fn fact_sum(
    before: &str,
    seq: u64,
    at: u64,
    id: &str,
    rev: u64,
    fact: &str,
    after: &str,
) -> String {
    seal(&[before, &seq.to_string(), &at.to_string(), id, &rev.to_string(), fact, after])
}

/// Reads what we wrote and sealed. What cannot be read is of a later Forge.
fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, JournalFault> {
    use crate::journal::StoreError;
    serde_json::from_str(text).map_err(|error| {
        JournalFault::Store(StoreError::NewerRecord { seq: 0, what: error.to_string() })
    })
}
