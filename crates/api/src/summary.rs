//! What a run came to, as one text for people: `summary.md`.
//!
//! The facts are put together by `core::view::summary`; here is only when and how user interfaces get it.

use forge_core::{
    event::{End, Event, Record},
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

    /// Returns the same as it will stand when a run is done of which only deliveries are left.
    pub(crate) fn summary_as_done(&self, id: &str) -> Result<String, Error> {
        let (mut run, _) = self.fold(id)?;
        let is_delivery = |stage: &Stage| matches!(stage.work, Work::Deliver { .. });
        let units = run.units();
        let is_all_but_done =
            units.iter().all(|(_, stage, unit)| unit.state.is_closed() || is_delivery(stage));
        if is_all_but_done && !matches!(run.phase(), Phase::Over(_)) {
            let facts = vec![Event::RunEnded { end: End::Done }];
            run.apply_record(&Record { at: run.now(), facts });
        }
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
