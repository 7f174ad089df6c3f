//! The facts of a run as journal records, and the run that follows from them.
//!
//! The journal keeps bodies as opaque lines of JSON; this is the only place that writes and reads
//! what is in them.

use forge_core::{
    Run,
    event::{self, Event},
    view::RunRow,
};

use crate::journal::{JournalRecord, StoreError};

/// Folds facts that were read before.
pub fn fold_facts(records: &[event::Record]) -> Run {
    let mut run = Run::new();
    for record in records {
        run.apply_record(record);
    }
    run
}

/// Folds journal records into the run that they tell of.
pub fn fold(records: &[JournalRecord]) -> Result<Run, StoreError> {
    let mut run = Run::new();
    for record in records {
        run.apply_record(&event::Record { at: record.at, facts: facts(record)? });
    }
    Ok(run)
}

/// Reads the facts of a record.
pub fn facts(record: &JournalRecord) -> Result<Vec<Event>, StoreError> {
    serde_json::from_str(&record.body)
        .map_err(|error| StoreError::NewerRecord { seq: record.seq, what: error.to_string() })
}

/// Writes facts as the body of a record.
pub fn body(record: &event::Record) -> String {
    serde_json::to_string(&record.facts).expect("facts can be written")
}

/// Writes what `status` shows of a run.
pub fn row(id: &str, run: &Run) -> String {
    serde_json::to_string(&RunRow::new(id, run)).expect("a row can be written")
}
