//! What Forge itself does at the end of a run, without any agent: the plans of deliveries.
//!
//! - `deliver/offer.rs`: the result is offered, as a record beside the run's live folder.
//! - `deliver/proof.rs`: whether the code that is offered is proved, or waived by name.
//! - `deliver/words.rs`: the words of the offer.
//! - `deliver/record.rs`: the last commit, which holds artifacts, summary and state of the run.
//!
//! Not here: hosts. A pull request that is opened, and a comment that is posted, come later.
//!
//! Invariant: a delivery can be interrupted anywhere and be done again; nothing is made twice.
//! Invariant: only a code tree with green evidence, or one whose `verify` a person waived by its
//! name, is offered.

mod evidence;
pub mod offer;
mod pull_request_text;
mod record_commit;

use std::collections::BTreeMap;

use forge_core::{
    Report,
    event::{Blob, Outcome, Receipt},
    flow::Delivery,
    id::{AttemptId, CallId},
    money::Spent,
};

use crate::{
    Trouble,
    plan::{Halt, Plan},
    summary_file,
};

pub use offer::Offer;

/// Brings a delivery on as far as it goes.
pub fn plan(plan: &Plan<'_>, what: Delivery) -> Result<Report, Halt> {
    match what {
        Delivery::PullRequest => offer::plan(plan),
        Delivery::Summary => summed_up(plan),
        Delivery::Comment => unreachable!("a flow that would post is refused at the start"),
        Delivery::Commit => record_commit::plan(plan),
    }
}

/// What the run has come to, as the artifacts of the unit.
fn summed_up(plan: &Plan<'_>) -> Result<Report, Halt> {
    let Plan { shop, run, call, .. } = *plan;
    let text = summary_file::text(shop.id, run, run.now());
    let mut artifacts = BTreeMap::new();
    for name in &run.stage(call.unit()).writes {
        artifacts.insert(name.clone(), put(plan, text.as_bytes())?);
    }
    Ok(done(plan, Receipt { artifacts, ..Receipt::of(Spent::NOTHING) }))
}

/// Keeps bytes that a fact or an order is about to name.
fn put(plan: &Plan<'_>, bytes: &[u8]) -> Result<Blob, Trouble> {
    let blob = plan.shop.blobs.add(bytes);
    let blob = blob.map_err(|error| Trouble::file(&plan.shop.home.dir.join("blobs"), &error))?;
    Ok(Blob(blob.as_str().to_owned()))
}

/// It is delivered.
fn done(plan: &Plan<'_>, receipt: Receipt) -> Report {
    let (attempt, lists) = (attempt(plan).clone(), Vec::new());
    Report::Worked { attempt, outcome: Outcome::Done, lists, receipt }
}

/// There is nothing to deliver, and this is why.
fn nothing(plan: &Plan<'_>, why: &str) -> Report {
    done(plan, Receipt { notes: vec![why.to_owned()], ..Receipt::of(Spent::NOTHING) })
}

fn attempt<'a>(plan: &Plan<'a>) -> &'a AttemptId {
    match plan.call {
        CallId::Attempt(attempt) => attempt,
        CallId::Judgement(_) => unreachable!("gates deliver nothing"),
    }
}
