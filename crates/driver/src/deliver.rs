//! What Forge itself does at the end of a run, without any agent: the plans of deliveries.
//!
//! - `deliver/offer.rs`: the result is offered, as a record beside the run's live folder.
//! - `deliver/evidence.rs`: whether the code that is offered is proved, or waived by name.
//! - `deliver/pull_request_text.rs`: the words of the offer.
//! - `deliver/inert_text.rs`: words of others in it, which call nobody and close nothing.
//! - `deliver/pages.rs`: the pages of records of work, as a commit.
//! - `deliver/record_commit.rs`: the last commit, which holds artifacts, summary and state of the run.
//!
//! Not here: hosts. A pull request that is opened, and a comment that is posted, come later.
//!
//! Invariant: a delivery can be interrupted anywhere and be done again; nothing is made twice.
//! Invariant: only a code tree with green evidence, or one whose `verify` a person waived by its
//! name, is offered.

mod evidence;
pub mod inert_text;
pub mod offer;
mod pages;
mod pull_request_text;
mod record_commit;
mod reports;
mod types;

use std::collections::BTreeMap;

use forge_core::{Report, event::Receipt, flow::Delivery, money::Spent};

use crate::{
    plan::{Pending, Plan},
    summary_file,
};

pub use types::Offer;

/// Brings a delivery on as far as it goes.
pub fn plan(plan: &Plan<'_>, what: Delivery) -> Result<Report, Pending> {
    match what {
        Delivery::PullRequest => offer::plan(plan),
        Delivery::Summary => summed_up(plan),
        Delivery::Comment => unreachable!("a flow that would post is refused at the start"),
        Delivery::Commit => record_commit::plan(plan),
        Delivery::Pages => pages::plan(plan),
    }
}

/// What the run has come to, as the artifacts of the unit.
fn summed_up(plan: &Plan<'_>) -> Result<Report, Pending> {
    let Plan { context, run, call, .. } = *plan;
    let text = summary_file::text(context.id, run, run.now());
    let mut artifacts = BTreeMap::new();
    for name in &run.stage(call.unit()).writes {
        artifacts.insert(name.clone(), plan.keep(text.as_bytes())?);
    }
    Ok(plan.delivered(Receipt { artifacts, ..Receipt::from_spent(Spent::NOTHING) }))
}
