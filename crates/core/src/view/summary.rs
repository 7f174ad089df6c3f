//! What a run came to: `summary.md`, also for a run that failed, was given up, or is not over.
//! Made from facts alone, without an agent.
//!
//! - `summary.rs`: what it says.
//! - `summary/advice.rs`: what would make the next run better.
//! - `summary/usage.rs`: what each phase used, and every call for those who look for a fault.
//! - `summary/markdown.rs`: all of it as text.
//!
//! Invariant: the same facts give the same bytes, and every list has an end.

mod advice;
mod markdown;
mod types;
mod usage;

use std::collections::BTreeMap;

use super::{
    Course, ProofState, RunRow, WaivedView, format::Amount, open_findings::open_findings,
    remarks::remarks, run_row::NOTHING_CHANGED, sentence::settings_changed,
};
use crate::{
    Time,
    event::{Approval, Choice, Colour, Detail, Edit, End, QuestionReason, ResultChange},
    flow::{Check, Delivery, Gate, Work},
    id::{Scope, UnitId},
    item::Item,
    run::{Phase, Run, State, WaivedGate},
};

pub use markdown::markdown;
pub use types::{
    ApprovalView, CallView, CheckView, DeliveryState, DeliveryView, EditView, Improvement,
    ParamView, PhaseRow, ProofView, RemainingWork, SummaryView, TaskRow, TaskStanding,
};

/// The most tasks that a summary lists.
pub const TASKS_MAX: usize = 100;
/// The most findings that a summary lists.
pub const FINDINGS_MAX: usize = 50;
/// The most remarks that a summary lists.
pub const REMARKS_MAX: usize = 100;
/// The most calls that a summary lists.
pub const CALLS_MAX: usize = 1_000;

/// Summarizes a run at a moment.
pub fn summarize(id: &str, run: &Run, at: Time) -> SummaryView {
    let row = RunRow::new(id, run);
    let start = run.is_started().then(|| &run.definition().start);
    let (phases, total) = usage::phases(run);
    let (tasks, more_tasks) = cut(tasks(run), TASKS_MAX);
    let (findings, more_findings) = cut(open_findings(run), FINDINGS_MAX);
    let (remarks, more_remarks) = cut(remarks(run.history()), REMARKS_MAX);
    let wants_calls = start.is_some_and(|start| start.detail == Detail::Debug);
    let (calls, more_calls) =
        cut(if wants_calls { usage::calls(run) } else { Vec::new() }, CALLS_MAX);
    let params = start.iter().flat_map(|start| {
        let known = &run.definition().flow.params;
        let is_default =
            |name: &str, value: &str| known.get(name).is_some_and(|param| param.default == value);
        let said = start.params.iter().filter(move |(name, value)| {
            start.chosen.contains_key(*name) || !is_default(name, value)
        });
        said.map(|(name, value)| ParamView {
            name: name.clone(),
            value: value.clone(),
            chosen: start.chosen.get(name).cloned().unwrap_or_default(),
        })
    });
    SummaryView {
        run: id.to_owned(),
        flow: row.flow.clone(),
        title: title(run),
        request: start.map(|start| start.request.clone()).unwrap_or_default(),
        source: start.and_then(|start| start.source.clone()),
        standing: row.standing,
        why: why(run, &row),
        rest: rest(run),
        started_at: row.started_at,
        waited_ms: row.waited_ms,
        held_ms: row.held_ms,
        at,
        params: params.collect(),
        base: start.and_then(|start| start.base.clone()),
        branch: run.branch().map(str::to_owned),
        head: run.has_landed().then(|| run.head().map(str::to_owned)).flatten(),
        proof: proof(run),
        deliveries: deliveries(run),
        tasks,
        more_tasks,
        findings,
        more_findings,
        remarks,
        more_remarks,
        approvals: approvals(run),
        edits: edits(run),
        settings: settings(run),
        improvements: advice::improvements(run),
        phases,
        total,
        calls,
        more_calls,
    }
}

/// Returns what the design calls the change, or the first line of the request.
fn title(run: &Run) -> String {
    if !run.is_started() {
        return String::new();
    }
    let request = run.definition().start.request.trim();
    run.title().unwrap_or_else(|| request.lines().next().unwrap_or_default()).to_owned()
}

/// Returns the beginning of a list, and how much was left out.
fn cut<T>(mut list: Vec<T>, most: usize) -> (Vec<T>, u32) {
    let more = list.len().saturating_sub(most);
    list.truncate(most);
    (list, u32::try_from(more).unwrap_or(u32::MAX))
}

/// Returns why a run stands where it stands. For one that failed, in the words of what failed.
fn why(run: &Run, row: &RunRow) -> String {
    match row.standing.course() {
        Course::Failed => {
            let units = run.history().failed.iter().filter(|failed| run.has(&failed.unit));
            let mut reasons: BTreeMap<String, String> = BTreeMap::new();
            for failed in units {
                let unit = run.unit(&failed.unit);
                if matches!(unit.state, State::Failed { .. }) && unit.inner.is_empty() {
                    reasons.insert(failed.unit.label(), failed.reason.clone());
                }
            }
            let reasons = reasons.into_iter().map(|(unit, reason)| format!("{unit}: {reason}"));
            let (reasons, more) = cut(reasons.collect(), 5);
            match more {
                0 => reasons.join("; "),
                more => format!("{}; and {more} more", reasons.join("; ")),
            }
        }
        Course::Asking => {
            let asked: Vec<String> = run
                .questions()
                .map(|asked| format!("{} about {}", asked.id, asked.unit.label()))
                .collect();
            format!("it waits for an answer: {}", asked.join(", "))
        }
        Course::Driven if rest(run) == RemainingWork::ToBeWrittenDown && run.changed_nothing() => {
            NOTHING_CHANGED.to_owned()
        }
        Course::Driven | Course::Held | Course::Over => row.why.clone(),
    }
}

fn proof(run: &Run) -> ProofView {
    let tree = run.tree().map(str::to_owned);
    let checks: Vec<CheckView> = tree
        .iter()
        .flat_map(|tree| run.proofs(tree))
        .map(|(command, colour)| CheckView { command: command.to_owned(), colour })
        .collect();
    let colours: Vec<Colour> = checks.iter().map(|check| check.colour).collect();
    let state = ProofState::from_colours(tree.as_deref(), &colours);
    let is_proof = |waived: &WaivedGate| {
        let gate = run.definition().flow.gate(&waived.unit, &waived.gate);
        gate.is_some_and(Gate::is_proof)
    };
    let waived = run.history().waived_by_persons().filter(|(waived, _)| is_proof(waived));
    let waived = waived.map(|(waived, said)| WaivedView::new(waived, said)).collect();
    ProofView { state, tree, checks, waived }
}

/// Finds the remaining work.
fn rest(run: &Run) -> RemainingWork {
    if matches!(run.phase(), Phase::Over(_)) {
        return RemainingWork::Nothing;
    }
    let writes = |work: &Work| {
        let is_delivery = matches!(work, Work::Deliver { .. });
        is_delivery && *work != Work::Deliver { what: Delivery::PullRequest }
    };
    let units = run.units();
    let mut open = units.iter().filter(|(_, _, unit)| !unit.state.is_closed());
    if run.is_started() && open.all(|(_, stage, _)| writes(&stage.work)) {
        RemainingWork::ToBeWrittenDown
    } else {
        RemainingWork::Work
    }
}

/// Returns what is offered and posted outside. Summary and last commit are the run's own record.
fn deliveries(run: &Run) -> Vec<DeliveryView> {
    let mut views = Vec::new();
    for (id, stage, unit) in run.units() {
        let Work::Deliver { what } = stage.work else { continue };
        match what {
            Delivery::Summary | Delivery::Commit | Delivery::Pages => continue,
            Delivery::Comment if unit.state == State::Skipped => continue,
            // Of a run as it will stand when this comment is there.
            Delivery::Comment
                if *run.phase() == Phase::Over(End::Done) && !unit.state.is_closed() =>
            {
                continue;
            }
            Delivery::PullRequest | Delivery::Comment => {}
        }
        let done = run.history().done.iter().rev().find(|done| done.attempt.unit == id);
        let (state, why) = match unit.state {
            // Nothing was done outside, and the receipt says why.
            State::Accepted if done.is_none() && !unit.receipt_notes().is_empty() => {
                (DeliveryState::NotDelivered, unit.receipt_notes())
            }
            State::Accepted => (DeliveryState::Delivered, String::new()),
            State::Skipped => {
                (DeliveryState::NotWanted, "the run was started without it".to_owned())
            }
            State::Failed { .. } => (DeliveryState::NotDelivered, "it failed".to_owned()),
            State::Waiting if unit.attempt == 0 => {
                (DeliveryState::NotDelivered, "the run ended before this step".to_owned())
            }
            State::Waiting | State::Working | State::Judging { .. } => {
                (DeliveryState::NotDelivered, "it is not over yet".to_owned())
            }
            State::Asking { .. } => {
                (DeliveryState::NotDelivered, "it waits for your answer".to_owned())
            }
        };
        views.push(DeliveryView {
            unit: id.to_string(),
            what: what.as_str().to_owned(),
            state,
            reference: done.map(|done| done.reference.clone()).unwrap_or_default(),
            why,
        });
    }
    views
}

/// Returns all items, those of tables inside after the ones that they belong to.
fn tasks(run: &Run) -> Vec<TaskRow> {
    fn collect(run: &Run, scope: &Scope, rows: &mut Vec<TaskRow>) {
        let (stages, table) = run.table(scope);
        for (stage, unit) in stages.iter().zip(&table.units) {
            let is_each = matches!(stage.work, Work::Each { .. });
            let id = scope.unit(&stage.name);
            for (item, table) in unit.inner.members() {
                let inner = id.item(&item.id);
                if is_each {
                    let name = match scope.item() {
                        Some(outer) => format!("{outer}/{}", item.id),
                        None => item.id.clone(),
                    };
                    rows.push(task(run, name, item, &inner, table));
                }
                collect(run, &inner, rows);
            }
        }
    }
    let mut rows = Vec::new();
    if run.is_started() {
        collect(run, &Scope::root(), &mut rows);
    }
    rows
}

/// Adds up what the units of a table cost, and those of the flows inside of it.
fn pay(table: &crate::run::Table, amount: &mut Amount) {
    for unit in &table.units {
        amount.known += unit.spent.minus(unit.estimated).minus(unit.unknown_at_most);
        amount.estimated += unit.estimated;
        amount.unknown_calls += unit.n_unknown;
        for (_, inside) in unit.inner.members() {
            pay(inside, amount);
        }
    }
}

fn task(run: &Run, id: String, item: &Item, scope: &Scope, table: &crate::run::Table) -> TaskRow {
    let brought =
        run.history().landed.iter().any(|landing| {
            landing.brings == ResultChange::Changed && landing.unit.scope.within(scope)
        });
    let is_taken_empty = run.history().asked.iter().any(|asked| {
        asked.question.why == QuestionReason::NothingChanged
            && asked.question.unit.scope.within(scope)
            && asked
                .answer
                .as_ref()
                .is_some_and(|said| matches!(said.answer.choice(), Choice::Approve | Choice::Waive))
    });
    let units = || table.units.iter();
    let is_asked = units().any(|unit| matches!(unit.state, State::Asking { .. }));
    let mut amount = Amount::default();
    pay(table, &mut amount);
    TaskRow {
        id,
        title: item.title.clone(),
        state: match table.standing() {
            crate::run::TableStatus::Waiting => TaskStanding::Waiting,
            crate::run::TableStatus::Open if is_asked => TaskStanding::Asking,
            crate::run::TableStatus::Open => TaskStanding::Open,
            crate::run::TableStatus::Closed if brought => TaskStanding::Landed,
            crate::run::TableStatus::Closed if table.has_landed() || is_taken_empty => {
                TaskStanding::Unchanged
            }
            crate::run::TableStatus::Closed => TaskStanding::Done,
            crate::run::TableStatus::Failed => TaskStanding::Failed,
        },
        attempts: units().map(|unit| unit.attempt).sum(),
        rounds: units().map(|unit| unit.round).sum(),
        known: amount.known,
        estimated: amount.estimated,
        unknown_calls: amount.unknown_calls,
    }
}

fn edits(run: &Run) -> Vec<EditView> {
    let view = run.history().edited.iter().map(|edited| EditView {
        unit: edited.unit.to_string(),
        artifact: match &edited.edit {
            Edit::Artifact { name, .. } => Some(name.clone()),
            Edit::Code { .. } => None,
        },
        who: edited.by.who.clone(),
        why: edited.why.clone(),
    });
    cut(view.collect(), TASKS_MAX).0
}

fn settings(run: &Run) -> Vec<String> {
    let changes = run.history().settings.iter();
    let view = changes.map(|(change, by)| settings_changed(change, by)).collect();
    cut(view, TASKS_MAX).0
}

fn approvals(run: &Run) -> Vec<ApprovalView> {
    let is_human = |unit: &UnitId, name: &str| {
        run.definition()
            .flow
            .gate(unit, name)
            .is_some_and(|gate| matches!(gate.check, Check::Human { .. }))
    };
    let own = run.history().passed.iter().filter(|passed| is_human(&passed.unit, &passed.gate));
    let view = own.map(|passed| {
        let said = match passed.by {
            Approval::Person { question } => {
                run.history().question(question).and_then(|asked| asked.answer.as_ref())
            }
            Approval::Automatic => None,
        };
        ApprovalView {
            unit: passed.unit.to_string(),
            gate: passed.gate.clone(),
            who: said.map(|said| said.by.who.clone()).unwrap_or_default(),
            words: said.map(|said| said.words.clone()).unwrap_or_default(),
        }
    });
    cut(view.collect(), TASKS_MAX).0
}
