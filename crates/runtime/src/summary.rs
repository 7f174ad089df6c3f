//! What a run came to, as one text for people: `summary.md`.
//!
//! The facts are put together by `core::view::summary`; here is only when and how doors get it.

use forge_core::{
    Run, Time,
    flow::{Delivery, Stage, Work},
    run::Phase,
    view::summary,
};

use crate::{Trouble, doors::Doors};

/// Its name, in the live folder and in the last commit.
pub(crate) const SUMMARY: &str = "summary.md";

/// The summary of a run at a moment.
pub(crate) fn text(id: &str, run: &Run, at: Time) -> String {
    summary::markdown(&summary::of(id, run, at))
}

impl Doors {
    /// What a run has come to so far, for people.
    pub fn summary(&self, id: &str) -> Result<String, Trouble> {
        let (run, _) = self.fold(id)?;
        Ok(text(id, &run, run.now()))
    }

    /// What a door shows by itself at the end: the summary of a run that is over, if its flow makes one.
    pub fn last_words(&self, id: &str) -> Result<Option<String>, Trouble> {
        let (run, _) = self.fold(id)?;
        let sums_up = |stage: &Stage| stage.work == (Work::Deliver { what: Delivery::Summary });
        let is_shown =
            matches!(run.phase(), Phase::Over(_)) && run.law().flow.stages.iter().any(sums_up);
        Ok(is_shown.then(|| text(id, &run, run.now())))
    }
}
