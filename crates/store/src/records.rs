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

use crate::journal::{Journal, JournalRecord, RecordBody, StoreError};

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

/// Reads a run, and the number of its last record. The records of a long run are read from the journal, parsed and folded at the same time.
pub fn read_run(journal: &dyn Journal, id: &str) -> Result<(Run, u64), StoreError> {
    thread::scope(|scope| {
        let (mut first, mut folding) = (None, None);
        let last = journal.read_in_batches(id, &mut |batch| {
            if first.is_none() && folding.is_none() {
                first = Some(batch);
                return;
            }
            let (sender, _) = folding.get_or_insert_with(|| begin_folding(scope));
            // A thread that has stopped says why at the end.
            for batch in first.take().into_iter().chain([batch]) {
                let _stopped = sender.send(batch);
            }
        })?;
        let run = match folding {
            None => {
                let mut run = Run::new();
                for record in parse(first.unwrap_or_default())? {
                    run.apply_record(&record);
                }
                run
            }
            Some((sender, folder)) => {
                drop(sender);
                folder.join().expect("facts that could be read can be folded")?
            }
        };
        Ok((run, last))
    })
}

/// Begins to fold the batches that are sent, of which one is parsed while the one before is folded.
fn begin_folding<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
) -> (SyncSender<Vec<RecordBody>>, ScopedJoinHandle<'scope, Result<Run, StoreError>>) {
    let (sender, batches) = mpsc::sync_channel::<Vec<RecordBody>>(BATCHES_MAX);
    let (parsed, parsed_batches) = mpsc::sync_channel(BATCHES_MAX);
    scope.spawn(move || {
        for batch in batches {
            if parsed.send(parse(batch)).is_err() {
                return;
            }
        }
    });
    let folder = scope.spawn(move || {
        let mut run = Run::new();
        for facts in parsed_batches {
            for record in facts? {
                run.apply_record(&record);
            }
        }
        Ok(run)
    });
    (sender, folder)
}

fn parse(batch: Vec<RecordBody>) -> Result<Vec<event::Record>, StoreError> {
    let record = |RecordBody { seq, at, body }: RecordBody| {
        Ok(event::Record { at, facts: facts_of(seq, &body)? })
    };
    batch.into_iter().map(record).collect()
}

fn read(record: &JournalRecord) -> Result<event::Record, StoreError> {
    Ok(event::Record { at: record.at, facts: facts(record)? })
}

/// Reads the facts of a record.
pub fn facts(record: &JournalRecord) -> Result<Vec<Event>, StoreError> {
    facts_of(record.seq, &record.body)
}

fn facts_of(seq: u64, body: &str) -> Result<Vec<Event>, StoreError> {
    serde_json::from_str(body)
        .map_err(|error| StoreError::NewerRecord { seq, what: error.to_string() })
}

/// Writes facts as the body of a record.
pub fn body(record: &event::Record) -> String {
    serde_json::to_string(&record.facts).expect("facts can be written")
}

/// Writes what `status` shows of a run.
pub fn row(id: &str, run: &Run) -> String {
    serde_json::to_string(&RunRow::new(id, run)).expect("a row can be written")
}
