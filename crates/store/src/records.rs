//! The facts of a run as journal records, and the run that follows from them.
//!
//! The journal keeps bodies as opaque lines of JSON; this is the only place that writes and reads
//! what is in them.

use std::{sync::mpsc, thread};

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

/// How many records are read at once before they are folded.
const BATCH_RECORDS: usize = 1_000;
/// How many batches may wait to be folded.
const BATCHES_MAX: usize = 16;

/// Folds journal records into the run that they tell of. Those of a long run are read by another thread meanwhile.
pub fn fold(records: &[JournalRecord]) -> Result<Run, StoreError> {
    let read = |record: &JournalRecord| -> Result<event::Record, StoreError> {
        Ok(event::Record { at: record.at, facts: facts(record)? })
    };
    let mut run = Run::new();
    if records.len() <= BATCH_RECORDS {
        for record in records {
            run.apply_record(&read(record)?);
        }
        return Ok(run);
    }
    let (sender, batches) = mpsc::sync_channel(BATCHES_MAX);
    thread::scope(|scope| {
        scope.spawn(move || {
            for batch in records.chunks(BATCH_RECORDS) {
                let batch: Result<Vec<event::Record>, StoreError> =
                    batch.iter().map(read).collect();
                if sender.send(batch).is_err() {
                    return;
                }
            }
        });
        for batch in batches {
            for record in &batch? {
                run.apply_record(record);
            }
        }
        Ok(run)
    })
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
