//! Reports of deliveries.

use forge_core::{
    Report,
    event::{Blob, Outcome, Receipt},
    id::{AttemptId, CallId},
    money::Spent,
};

use crate::{Error, plan::Plan};

impl<'a> Plan<'a> {
    /// Keeps bytes that a fact or an order is about to name.
    pub(super) fn keep(&self, bytes: &[u8]) -> Result<Blob, Error> {
        let blob = self.context.blobs.add(bytes);
        let blob =
            blob.map_err(|error| Error::file(&self.context.home.dir.join("blobs"), &error))?;
        Ok(Blob(blob.as_str().to_owned()))
    }

    /// Reports that it is delivered.
    pub(super) fn delivered(&self, receipt: Receipt) -> Report {
        let (attempt, lists) = (self.attempt().clone(), Vec::new());
        Report::Worked { attempt, outcome: Outcome::Done, lists, receipt }
    }

    /// Reports that there is nothing to deliver, and why.
    pub(super) fn nothing_delivered(&self, why: &str) -> Report {
        let notes = vec![why.to_owned()];
        self.delivered(Receipt { notes, ..Receipt::from_spent(Spent::NOTHING) })
    }

    pub(super) fn attempt(&self) -> &'a AttemptId {
        match self.call {
            CallId::Attempt(attempt) => attempt,
            CallId::Judgement(_) => unreachable!("gates deliver nothing"),
        }
    }
}
