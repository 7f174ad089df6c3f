//! What Forge itself does at the end of a run, without any agent: the plans of deliveries.
//!
//! - `deliver/offer.rs`: the result is offered, as a record beside the run's live folder.
//! - `deliver/evidence.rs`: whether the code that is offered is proved, or waived by name.
//! - `deliver/pull_request_text.rs`: the words of the offer.
//! - `deliver/outside.rs`: what others see, by settings: the push, the pull request, a comment.
//! - `deliver/inert_text.rs`: words of others in it, which call nobody and close nothing.
//! - `deliver/pages.rs`: the pages of records of work, as a commit.
//! - `deliver/record_commit.rs`: the last commit, which holds artifacts, summary and state of the run.
//!
//! Not here: hosts, and the words that they get (`api`).
//!
//! Invariant: a delivery can be interrupted anywhere and be done again; nothing is made twice.
//! Invariant: only a code tree with green evidence, or one whose `verify` a person waived by its
//! name, is offered.

mod evidence;
pub mod inert_text;
pub mod offer;
mod outside;
mod pages;
mod pull_request_text;
mod record_commit;
mod reports;
mod types;

use std::collections::BTreeMap;

use forge_core::{Report, event::Receipt, flow::Delivery, money::Spent};
use forge_project::settings::DeliveryTime;

use crate::{
    plan::{Pending, Plan, step::OutsideEffect},
    summary_file,
};

pub use types::Offer;

/// Brings a delivery on as far as it goes.
pub fn plan(plan: &Plan<'_>, what: Delivery) -> Result<Report, Pending> {
    match what {
        Delivery::PullRequest => offer::plan(plan),
        Delivery::Summary => summed_up(plan),
        Delivery::Comment => commented(plan),
        Delivery::Commit => record_commit::plan(plan),
        Delivery::Pages => pages::plan(plan),
    }
}

/// The summary as a comment at the issue of the run.
fn commented(plan: &Plan<'_>) -> Result<Report, Pending> {
    match plan.context.frozen.comments {
        DeliveryTime::OnRequest => {
            return Ok(plan.nothing_delivered("no comment: pull_request.comment is \"on-request\""));
        }
        DeliveryTime::AtEnd => {}
    }
    // The name of a saved issue has no address.
    let source = plan.run.definition().start.source.as_ref();
    if !source.is_some_and(|source| source.contains("://")) {
        return Ok(plan.nothing_delivered("no comment: the run did not come from an issue"));
    }
    let of = format!("{}@{}", plan.call, plan.run.head().unwrap_or_default());
    plan.outside(&of, OutsideEffect::Comment)?;
    Ok(plan.delivered(Receipt::from_spent(Spent::NOTHING)))
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
