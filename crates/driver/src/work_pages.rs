//! The facts that pages of records of work are made of: the records, and what the journal says of the runs about them.
//!
//! The pages themselves are `core::view::pages`. A run writes them in its delivery `pages` (`deliver/pages.rs`), a person by a
//! command of `forge work`; both begin here, so that they come to the same bytes.
//!
//! Invariant: a run that cannot be read is named, and keeps nobody from reading the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use forge_core::{
    Run, Time,
    event::{Blob, Event, Record},
    view::{
        PhaseEvent,
        pages::{PageFacts, plans},
        phase_events,
    },
    work::{WorkFact, WorkId},
};
use forge_store::{
    journal::Journal,
    records::facts,
    work::{WorkError, WorkStore},
};

use crate::Error;

/// The facts for pages, and the runs that are missing in them.
#[derive(Debug, Default)]
pub struct PageSources {
    pub facts: PageFacts,
    /// Runs that could not be read, each with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Reads what the phases of a run came to so far.
pub fn run_phases(journal: &dyn Journal, run: &str) -> Result<Vec<PhaseEvent>, Error> {
    let mut all: Vec<(Time, Event)> = Vec::new();
    for record in journal.read(run, 1)? {
        all.extend(facts(&record)?.into_iter().map(|fact| (record.at, fact)));
    }
    Ok(phase_events(run, all.iter().map(|(at, fact)| (*at, fact))))
}

/// Reads all records, and the runs that took them on if there is a journal. `text` reads an artifact.
pub fn page_sources(
    dir: &Path,
    journal: Option<&dyn Journal>,
    text: &dyn Fn(&Blob) -> Result<Vec<u8>, Error>,
) -> Result<PageSources, Error> {
    let mut sources = PageSources::default();
    let work = |error: WorkError| Error::surroundings(error.to_string(), "forge work check");
    let Some(store) = WorkStore::open_to_read(dir).map_err(work)? else { return Ok(sources) };
    // Ids of runs begin with their day: the newest plan comes last.
    let mut runs = BTreeSet::new();
    for row in store.all().map_err(work)? {
        for logged in store.history(&row.record.id).map_err(work)? {
            if let WorkFact::Taken { run } = logged.entry.fact {
                runs.insert(run);
            }
        }
        sources.facts.records.push(row.record);
    }
    let mut newest: BTreeMap<WorkId, (Time, Blob)> = BTreeMap::new();
    for (id, journal) in runs.into_iter().filter_map(|id| Some((id, journal?))) {
        match read_run(journal, &id) {
            Ok((run, events)) => {
                let began = if run.is_started() { run.started_at() } else { 0 };
                for (record, plan) in plans(&run) {
                    let is_newer = newest.get(&record).is_none_or(|(before, _)| began >= *before);
                    if is_newer {
                        newest.insert(record, (began, plan));
                    }
                }
                sources.facts.events.extend(events);
            }
            Err(error) => sources.unreadable.push((id, error.to_string())),
        }
    }
    for (record, (_, plan)) in newest {
        let plan = String::from_utf8_lossy(&text(&plan)?).into_owned();
        sources.facts.plans.insert(record, plan);
    }
    Ok(sources)
}

fn read_run(journal: &dyn Journal, id: &str) -> Result<(Run, Vec<PhaseEvent>), Error> {
    let mut run = Run::new();
    let mut all: Vec<(Time, Event)> = Vec::new();
    for record in journal.read(id, 1)? {
        let facts = facts(&record)?;
        all.extend(facts.iter().cloned().map(|fact| (record.at, fact)));
        run.apply_record(&Record { at: record.at, facts });
    }
    Ok((run, phase_events(id, all.iter().map(|(at, fact)| (*at, fact)))))
}
