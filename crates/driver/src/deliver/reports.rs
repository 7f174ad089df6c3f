//! Reports of deliveries.

use forge_core::{
    Report,
    event::{Blob, Outcome, Receipt},
    id::{AttemptId, CallId},
    money::Spent,
};

use crate::{Error, plan::Plan};

/// Keeps bytes that a fact or an order is about to name.
pub(super) fn put(plan: &Plan<'_>, bytes: &[u8]) -> Result<Blob, Error> {
    let blob = plan.context.blobs.add(bytes);
    let blob = blob.map_err(|error| Error::file(&plan.context.home.dir.join("blobs"), &error))?;
    Ok(Blob(blob.as_str().to_owned()))
}

/// It is delivered.
pub(super) fn done(plan: &Plan<'_>, receipt: Receipt) -> Report {
    let (attempt, lists) = (attempt(plan).clone(), Vec::new());
    Report::Worked { attempt, outcome: Outcome::Done, lists, receipt }
}

/// There is nothing to deliver, and this is why.
pub(super) fn nothing(plan: &Plan<'_>, why: &str) -> Report {
    done(plan, Receipt { notes: vec![why.to_owned()], ..Receipt::from_spent(Spent::NOTHING) })
}

pub(super) fn attempt<'a>(plan: &Plan<'a>) -> &'a AttemptId {
    match plan.call {
        CallId::Attempt(attempt) => attempt,
        CallId::Judgement(_) => unreachable!("gates deliver nothing"),
    }
}
