//! What a run came to, as one text for people: `summary.md`.
//!
//! The facts are put together by `core::view::summary`; here is only when and how user interfaces get it.

use forge_core::{
    flow::{Delivery, Stage, Work},
    run::Phase,
};
use forge_driver::{Error, summary_file::text};

use crate::forge::Forge;

impl Forge {
    /// Returns what a run has come to so far, for people.
    pub fn summary(&self, id: &str) -> Result<String, Error> {
        let (run, _) = self.fold(id)?;
        Ok(text(id, &run, run.now()))
    }

    /// Returns what is shown unasked at the end: the summary of a run that is over, if its flow makes one.
    pub fn last_words(&self, id: &str) -> Result<Option<String>, Error> {
        let (run, _) = self.fold(id)?;
        let sums_up = |stage: &Stage| stage.work == (Work::Deliver { what: Delivery::Summary });
        let is_shown = matches!(run.phase(), Phase::Over(_))
            && run.definition().flow.stages.iter().any(sums_up);
        Ok(is_shown.then(|| text(id, &run, run.now())))
    }
}
