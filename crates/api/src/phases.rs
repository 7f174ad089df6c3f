//! What happened in the phases of runs, and what hindered their agents, read from the journal.
//!
//! Not here: how a record of a phase is composed (`forge_core::view`), and how it looks.

use forge_core::view::{FrictionView, PhaseEvent, friction};
use forge_driver::{Error, work_pages::run_phases};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    forge::{Forge, RUNS_MAX},
    spending::Unreadable,
};

/// What hindered agents, of one run or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FrictionSummary {
    #[serde(flatten)]
    pub friction: FrictionView,
    /// Runs that could not be read. They are not counted.
    pub unreadable: Vec<Unreadable>,
}

impl Forge {
    /// Returns what happened in the phases of a run.
    pub fn phases(&self, run: &str) -> Result<Vec<PhaseEvent>, Error> {
        let Some(store) = self.find_store()? else { return Ok(Vec::new()) };
        run_phases(&store, run)
    }

    /// Returns what hindered the agents of a run, or of all runs.
    pub fn friction(&self, run: Option<&str>) -> Result<FrictionSummary, Error> {
        let run = run.map(|run| self.resolve(run)).transpose()?;
        let Some(store) = self.find_store()? else { return Ok(FrictionSummary::default()) };
        let runs = if let Some(run) = run {
            vec![run]
        } else {
            let (rows, _) = store.latest(RUNS_MAX)?;
            // The oldest first, so that what was reported last is the newest.
            rows.into_iter().rev().map(|row| row.run).collect()
        };
        let (mut events, mut unreadable) = (Vec::new(), Vec::new());
        for run in runs {
            match run_phases(&store, &run) {
                Ok(own) => events.extend(own),
                Err(error) => unreadable.push(Unreadable { run, why: error.to_string() }),
            }
        }
        Ok(FrictionSummary { friction: friction(&events), unreadable })
    }
}
