//! What each phase of a run used: attempts, calls, time, tokens, money. And every call, for those
//! who look for a fault.
//!
//! A call is one of an agent, as in `forge stats`. What Forge does itself takes time, and is no call.
//!
//! Invariant: the rows add up to the run's ledger, by each kind of cost and of token.

use std::collections::BTreeSet;

use super::types::{CallView, PhaseRow};

use crate::{
    flow::Stage,
    id::CallId,
    money::{Cost, Spent},
    run::{CallKind, EndedCall, Run},
    view::stats::{COHERENCE, CallEnd, StatsRow, Worker, worker_of},
};

/// Sums the use of each phase, and of all.
pub(super) fn phases(run: &Run) -> (Vec<PhaseRow>, StatsRow) {
    let mut rows: Vec<PhaseRow> = Vec::new();
    let mut total = StatsRow { key: "total".to_owned(), ..StatsRow::default() };
    if !run.is_started() {
        return (rows, total);
    }
    if let Some(coherence) = &run.definition().start.coherence {
        let mut row = empty(COHERENCE.to_owned(), None);
        add(&mut row.used, Worker::Agent, &coherence.spent, coherence.took_ms);
        add(&mut total, Worker::Agent, &coherence.spent, coherence.took_ms);
        rows.push(row);
    }
    let first = rows.len();
    let mut keys: Vec<(String, Option<String>)> = Vec::new();
    places(&run.definition().flow.stages, "", &mut keys);
    rows.extend(keys.iter().map(|(stage, phase)| empty(stage.clone(), phase.clone())));
    let mut begun: BTreeSet<usize> = (0..first).collect();
    for call in run.history().calls.iter() {
        let key = place(run, &call.call);
        let Some(position) = keys.iter().position(|(stage, _)| *stage == key) else { continue };
        let row = &mut rows[first + position];
        row.attempts += u32::from(matches!(call.call, CallId::Attempt(_)));
        let worker = worker_of(run, call);
        add(&mut row.used, worker, &call.spent, call.took_ms);
        add(&mut total, worker, &call.spent, call.took_ms);
        begun.insert(first + position);
    }
    let begun_rows = (0..).zip(rows).filter(|(row, _)| begun.contains(row)).map(|(_, row)| row);
    (begun_rows.collect(), total)
}

fn empty(stage: String, phase: Option<String>) -> PhaseRow {
    let key = phase.clone().unwrap_or_else(|| stage.clone());
    PhaseRow { stage, phase, attempts: 0, used: StatsRow { key, ..StatsRow::default() } }
}

fn add(row: &mut StatsRow, worker: Worker, spent: &Spent, took_ms: u64) {
    row.calls += match worker {
        Worker::Agent => 1,
        Worker::Forge => 0,
    };
    row.tokens += spent.tokens;
    row.took_ms = row.took_ms.saturating_add(took_ms);
    match spent.cost {
        Cost::Known(cost) => row.known += cost,
        Cost::Estimated(cost) => row.estimated += cost,
        Cost::Unknown => row.unknown_calls += 1,
    }
}

/// Collects a row for each stage, and for each gate with a label of its own, in the flow's order.
fn places(stages: &[Stage], outer: &str, keys: &mut Vec<(String, Option<String>)>) {
    for stage in stages {
        let name = format!("{outer}{}", stage.name);
        keys.push((name.clone(), stage.phase.clone()));
        for gate in stage.gates.iter().filter(|gate| gate.phase.is_some()) {
            keys.push((format!("{name}: {}", gate.name), gate.phase.clone()));
        }
        places(stage.inner(), &format!("{name}/"), keys);
    }
}

/// Returns the row that a call belongs to: that of the last labelled gate so far, or of its stage.
fn place(run: &Run, call: &CallId) -> String {
    let unit = call.unit();
    let mut name = String::new();
    for (group, _) in unit.scope.steps() {
        name.push_str(group);
        name.push('/');
    }
    name.push_str(&unit.stage);
    let stages = run.definition().flow.table(&unit.scope);
    let stage = stages.iter().find(|stage| stage.name == unit.stage);
    let upto = match call {
        CallId::Attempt(_) => None,
        CallId::Judgement(judgement) => stage.and_then(|stage| stage.gate(&judgement.gate)),
    };
    let labelled = upto.zip(stage).and_then(|(upto, stage)| {
        stage.gates[..=upto].iter().rev().find(|gate| gate.phase.is_some())
    });
    match labelled {
        Some(gate) => format!("{name}: {}", gate.name),
        None => name,
    }
}

/// Returns every call, in the order of their ends.
pub(super) fn calls(run: &Run) -> Vec<CallView> {
    let start = &run.definition().start;
    let coherence = start.coherence.iter().map(|coherence| CallView {
        ordinal: 0,
        call: format!("{COHERENCE}#1"),
        role: run.definition().flow.coherence.clone().unwrap_or_default(),
        agent: coherence.used.as_ref().map(|used| used.agent.clone()).unwrap_or_default(),
        models: models(coherence.used.as_ref()),
        end: CallEnd::from_triage(coherence.came_to),
        session: None,
        took_ms: coherence.took_ms,
        tokens: coherence.spent.tokens.total(),
        cost: coherence.spent.cost,
    });
    coherence.chain(run.history().calls.iter().map(|call| view(run, call))).collect()
}

fn models(used: Option<&crate::money::Used>) -> Vec<String> {
    let models = used.iter().flat_map(|used| &used.models).map(|used| used.model.clone());
    models.filter(|model| !model.is_empty()).collect()
}

fn view(run: &Run, call: &EndedCall) -> CallView {
    CallView {
        ordinal: call.ordinal,
        call: call.call.to_string(),
        role: CallKind::from_flow(&run.definition().flow, &call.call)
            .map(|kind| kind.label().to_owned())
            .unwrap_or_default(),
        agent: call.used.as_ref().map(|used| used.agent.clone()).unwrap_or_default(),
        models: models(call.used.as_ref()),
        end: CallEnd::from_ending(&call.ending),
        session: call.session.clone(),
        took_ms: call.took_ms,
        tokens: call.spent.tokens.total(),
        cost: call.spent.cost,
    }
}
