//! Changing a record: one command, one transaction.
//!
//! Invariant: facts, row, sum of the file and end of the log are written together or not at all.

use std::collections::BTreeSet;

use rusqlite::{Connection, Transaction, params};

use forge_core::{
    Time,
    work::{
        WorkAuthor, WorkCommand, WorkEntry, WorkFact, WorkId, WorkKind, WorkRecord, WorkRows,
        decide, references, waits_for,
    },
};

use super::error::WorkError;
use super::record_file::{file_bytes, file_sum};
use super::rows::{RowColumns, WorkRow, fact_sum, find, ids};
use super::tables::{Totals, WorkStore, damage};
use crate::journal::connection::{expect_one_row, integer, unsigned};
use crate::journal::error::JournalFault;

/// The circumstances of a change.
#[derive(Debug, Clone)]
pub struct WorkMoment<'a> {
    pub at: Time,
    /// The same time, as files have it.
    pub now: &'a str,
    pub by: &'a WorkAuthor,
    /// The checkout in which the file of the record will be written.
    pub place: Option<&'a str>,
}

impl WorkStore {
    /// Does what a command says, or nothing. Returns the record as it is then, and whether it was changed.
    pub fn change(
        &mut self,
        moment: &WorkMoment<'_>,
        command: &WorkCommand,
    ) -> Result<(WorkRow, bool), WorkError> {
        self.write(|transaction| {
            let rows = gather(transaction, command)?;
            let (id, facts) = match decide(&rows, command, moment.now) {
                Ok(decided) => decided,
                Err(refusal) => return Ok(Err(refusal.into())),
            };
            let before = rows.records.get(&id).cloned();
            if facts.is_empty() {
                let row = find(transaction, &id)?;
                return Ok(Ok((row.ok_or_else(|| damage(format!("{id} has no row")))?, false)));
            }
            let row = append(transaction, moment, &id, before, &facts)?;
            Ok(Ok((row, true)))
        })
    }

    /// Notes that the file of a record will be written in a checkout.
    pub fn note_written(&mut self, record: &WorkRecord, place: &str) -> Result<(), WorkError> {
        if self.has_written_in(&record.id, place)?
            && self.has_written(&record.id, &file_sum(&file_bytes(record)))?
        {
            return Ok(());
        }
        self.write(|transaction| note(transaction, record, place).map(Ok))
    }
}

/// Collects the records that a command touches.
fn gather(connection: &Connection, command: &WorkCommand) -> Result<WorkRows, JournalFault> {
    let mut rows = WorkRows::default();
    if command.id().is_none() {
        rows.ids = ids(connection)?;
    }
    let mut named = references(command.kind(), &command.fields());
    if let Some(id) = command.id()
        && let Some(row) = find(connection, id)?
    {
        named.extend(references(row.record.kind, &row.record.fields));
        rows.records.insert(row.record.id.clone(), row.record);
    }
    let mut seen = BTreeSet::new();
    while let Some(id) = named.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        if let Some(row) = find(connection, &id)? {
            if row.record.kind == WorkKind::Task {
                named.extend(waits_for(&row.record.fields));
            }
            rows.records.insert(row.record.id.clone(), row.record);
        }
    }
    Ok(rows)
}

fn append(
    transaction: &Transaction<'_>,
    moment: &WorkMoment<'_>,
    id: &WorkId,
    before: Option<WorkRecord>,
    facts: &[WorkFact],
) -> Result<WorkRow, JournalFault> {
    let mut totals = Totals::read(transaction)?;
    let last: (u64, u64, String) = if totals.seq == 0 {
        (0, 0, totals.head.clone())
    } else {
        let sql = "SELECT seq, at, sum FROM log ORDER BY seq DESC LIMIT 1";
        let mut statement = transaction.prepare_cached(sql)?;
        statement.query_row([], |row| Ok((unsigned(row, 0)?, unsigned(row, 1)?, row.get(2)?)))?
    };
    if (last.0, &last.2) != (totals.seq, &totals.head) {
        return Err(damage("the log does not end where it should"));
    }
    // A clock that went back must not make the log go back.
    let at = moment.at.max(last.1);
    let is_new = before.is_none();
    let mut record = before;
    for fact in facts {
        let after = WorkRecord::apply(record.take(), id, fact);
        let entry = WorkEntry { by: moment.by.clone(), fact: fact.clone() };
        let entry = serde_json::to_string(&entry).expect("a fact can be written");
        let body = serde_json::to_string(&after).expect("a record can be written");
        let seq = totals.seq + 1;
        let sum = fact_sum(&totals.head, seq, at, id.as_str(), after.rev, &entry, &body);
        let mut statement =
            transaction.prepare_cached("INSERT INTO log VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
        let (rev, text) = (integer(after.rev), id.as_str());
        let values = params![integer(seq), integer(at), text, rev, entry, body, sum];
        expect_one_row(statement.execute(values)?)?;
        (totals.seq, totals.head) = (seq, sum);
        record = Some(after);
    }
    let record = record.expect("a change has a fact");
    totals.records += u64::from(is_new);
    let columns = RowColumns::new(&record, at);
    let mark = columns.mark();
    let RowColumns { id, kind, rev, at: _, body } = columns;
    let mut statement = transaction
        .prepare_cached("INSERT OR REPLACE INTO rows VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    let values = params![id, kind, integer(rev), integer(at), body, mark];
    expect_one_row(statement.execute(values)?)?;
    let sql = "UPDATE totals SET seq = ?1, head = ?2, records = ?3, mark = ?4 WHERE id = 1";
    let (seq, records) = (integer(totals.seq), integer(totals.records));
    let mut statement = transaction.prepare_cached(sql)?;
    expect_one_row(statement.execute(params![seq, totals.head, records, totals.mark()])?)?;
    if let Some(place) = moment.place {
        note(transaction, &record, place)?;
    }
    Ok(WorkRow { record, at })
}

fn note(
    transaction: &Transaction<'_>,
    record: &WorkRecord,
    place: &str,
) -> Result<(), JournalFault> {
    let sum = file_sum(&file_bytes(record));
    let sql = "INSERT OR IGNORE INTO written (id, sum, place, rev) VALUES (?1, ?2, ?3, ?4)";
    let values = params![record.id.as_str(), sum, place, integer(record.rev)];
    transaction.prepare_cached(sql)?.execute(values)?;
    Ok(())
}
