//! The items of a flow as `state.json` shows them: how far each is built and reviewed.
//!
//! An item is built by the first stage of its table that has work to do, and reviewed by the
//! reviews of that table. What landed and what it cost is not here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    event::SentBack,
    flow::{Check, Stage, Work},
    id::{Scope, UnitId},
    item::Item,
    run::{Run, State, Table, Unit},
    verdict::Says,
};

/// The progress of one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskState {
    /// One line about it.
    pub title: String,
    /// Whether it may run in parallel with others.
    pub execution_mode: ExecutionMode,
    /// Items that must be finished first.
    pub depends_on: Vec<String>,
    /// Paths that it declares to write.
    pub files: Vec<String>,
    /// How far it is built.
    pub impl_status: ImplStatus,
    pub review_status: ReviewStatus,
    /// Attempts at building it after the first.
    pub impl_retries: u32,
    /// How often a review sent it back.
    pub review_retries: u32,
}

/// The concurrency of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// The item runs alone.
    Sequential,
    /// The item runs in parallel with items that write other paths.
    Parallel,
}

/// The build status of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImplStatus {
    /// The item has not started.
    Pending,
    /// The item is running or needs an answer.
    InProgress,
    /// The work on the item is done; checks or reviews may follow.
    Completed,
    /// It failed.
    Failed,
}

/// The combined verdict of an item's reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// No review has ended yet.
    Pending,
    /// Accepted.
    CompletedPass,
    /// Accepted with notes.
    CompletedPassWithNotes,
    /// Changes requested.
    CompletedFail,
}

/// Returns the items of the flow's own table. Where two lists have the same id, the first one is meant.
pub(super) fn task_states(run: &Run) -> BTreeMap<String, TaskState> {
    let mut returns: BTreeMap<&UnitId, u32> = BTreeMap::new();
    for back in run.history().sent_back.iter() {
        if is_by_review(run, &back.by) {
            *returns.entry(&back.unit).or_default() += 1;
        }
    }
    let mut tasks = BTreeMap::new();
    let (stages, root) = run.table(&Scope::root());
    for (stage, unit) in stages.iter().zip(&root.units) {
        let Work::Each { list, at_once, .. } = &stage.work else { continue };
        let id = Scope::root().unit(&stage.name);
        for (item, table) in unit.inner.members() {
            let scope = id.item(&item.id);
            let own = task(item, stage.inner(), table, *at_once, &scope, &returns);
            tasks.entry(item.id.clone()).or_insert(own);
        }
        // Before the stage is reached, there is only the list.
        for item in run.items(&id, list).unwrap_or_default() {
            tasks.entry(item.id.clone()).or_insert_with(|| listed(item, *at_once));
        }
    }
    tasks
}

fn is_by_review(run: &Run, by: &SentBack) -> bool {
    let SentBack::Gate { unit, gate } = by else { return false };
    let gate = run.definition().flow.gate(unit, gate);
    gate.is_some_and(|gate| matches!(gate.check, Check::Review { .. }))
}

fn listed(item: &Item, at_once: usize) -> TaskState {
    let is_beside = at_once > 1 && !item.writes.is_empty();
    TaskState {
        title: item.title.clone(),
        execution_mode: if is_beside { ExecutionMode::Parallel } else { ExecutionMode::Sequential },
        depends_on: item.after.clone(),
        files: item.writes.clone(),
        impl_status: ImplStatus::Pending,
        review_status: ReviewStatus::Pending,
        impl_retries: 0,
        review_retries: 0,
    }
}

fn task(
    item: &Item,
    stages: &[Stage],
    table: &Table,
    at_once: usize,
    scope: &Scope,
    returns: &BTreeMap<&UnitId, u32>,
) -> TaskState {
    let rows = || stages.iter().zip(&table.units);
    let builder = rows().find(|(stage, _)| stage.is_called());
    let own = |stage: &Stage| returns.get(&scope.unit(&stage.name)).copied().unwrap_or_default();
    TaskState {
        impl_status: builder.map_or(ImplStatus::Pending, |(_, unit)| built(unit)),
        review_status: reviewed(rows().map(|(_, unit)| unit)),
        impl_retries: builder.map_or(0, |(_, unit)| unit.attempt.saturating_sub(1)),
        review_retries: stages.iter().map(own).sum(),
        ..listed(item, at_once)
    }
}

fn built(unit: &Unit) -> ImplStatus {
    match unit.state {
        State::Waiting if unit.attempt == 0 => ImplStatus::Pending,
        State::Waiting | State::Working => ImplStatus::InProgress,
        State::Asking { .. } if unit.receipt.is_none() => ImplStatus::InProgress,
        State::Asking { .. } | State::Judging { .. } | State::Accepted => ImplStatus::Completed,
        State::Skipped => ImplStatus::Pending,
        State::Failed { .. } => ImplStatus::Failed,
    }
}

fn reviewed<'a>(units: impl Iterator<Item = &'a Unit>) -> ReviewStatus {
    let worst = units.flat_map(|unit| &unit.review_tallies).map(|opinion| opinion.says).max();
    match worst {
        None => ReviewStatus::Pending,
        Some(Says::Pass) => ReviewStatus::CompletedPass,
        Some(Says::PassWithNotes) => ReviewStatus::CompletedPassWithNotes,
        Some(Says::Revise | Says::Block) => ReviewStatus::CompletedFail,
    }
}
