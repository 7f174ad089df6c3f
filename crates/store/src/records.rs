//! The facts of a run as journal records, and the run that follows from them.
//!
//! The journal keeps bodies as opaque lines of JSON; this is the only place that writes and reads
//! what is in them.

use std::{
    sync::mpsc::{self, SyncSender},
    thread::{self, ScopedJoinHandle},
};

use forge_core::{
    Run,
    event::{self, Event},
    view::RunRow,
};

use crate::journal::{Journal, JournalRecord, StoreError};

/// Folds facts that were read before.
pub fn fold_facts(records: &[event::Record]) -> Run {
    let mut run = Run::new();
    for record in records {
        run.apply_record(record);
    }
    run
}

/// How many batches may wait for the next step.
const BATCHES_MAX: usize = 16;

/// Folds journal records into the run that they tell of.
pub fn fold(records: &[JournalRecord]) -> Result<Run, StoreError> {
    let mut run = Run::new();
    for record in records {
        run.apply_record(&read(record)?);
    }
    Ok(run)
}

/// Reads a run with its records. Those of a long run are read from the journal, parsed and folded at the same time.
pub fn read_run(journal: &dyn Journal, id: &str) -> Result<(Run, Vec<JournalRecord>), StoreError> {
    thread::scope(|scope| {
        let (mut first, mut folding) = (Vec::new(), None);
        journal.read_in_batches(id, 1, &mut |batch| {
            if first.is_empty() && folding.is_none() {
                first = batch;
                return;
            }
            let (sender, _) = folding.get_or_insert_with(|| begin_folding(scope));
            // A thread that has stopped says why at the end.
            for batch in [std::mem::take(&mut first), batch] {
                let _stopped = sender.send(batch);
            }
        })?;
        let Some((sender, folder)) = folding else { return Ok((fold(&first)?, first)) };
        drop(sender);
        folder.join().expect("facts that could be read can be folded")
    })
}

type FoldedRun = Result<(Run, Vec<JournalRecord>), StoreError>;

/// Begins to fold the batches that are sent, of which one is parsed while the one before is folded.
fn begin_folding<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
) -> (SyncSender<Vec<JournalRecord>>, ScopedJoinHandle<'scope, FoldedRun>) {
    let (sender, batches) = mpsc::sync_channel::<Vec<JournalRecord>>(BATCHES_MAX);
    let (parsed, parsed_batches) = mpsc::sync_channel(BATCHES_MAX);
    scope.spawn(move || {
        for batch in batches {
            let facts: Result<Vec<event::Record>, StoreError> = batch.iter().map(read).collect();
            if parsed.send(facts.map(|facts| (facts, batch))).is_err() {
                return;
            }
        }
    });
    let folder = scope.spawn(move || {
        let (mut run, mut all) = (Run::new(), Vec::new());
        for parsed in parsed_batches {
            let (facts, batch) = parsed?;
            for record in &facts {
                run.apply_record(record);
            }
            all.extend(batch);
        }
        Ok((run, all))
    });
    (sender, folder)
}

fn read(record: &JournalRecord) -> Result<event::Record, StoreError> {
    Ok(event::Record { at: record.at, facts: facts(record)? })
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
