//! What each phase of a run used: attempts, calls, time, tokens, money. And every call, for those
//! who look for a fault.
//!
//! A call is one of an agent, as in `forge stats`. What Forge does itself takes time, and is no call.
//!
//! Invariant: the rows add up to the run's ledger, by each kind of cost and of token.

use super::types::{CallView, PhaseRow};

use crate::{
    flow::Stage,
    id::CallId,
    run::{COHERENCE, CallEnding, CallKind, EndedCall, Run},
    view::stats::{CallEnd, StatsRow, is_by_agent},
};

/// Sums the use of each phase, and of all.
pub(super) fn phases(run: &Run) -> (Vec<PhaseRow>, StatsRow) {
    let mut total = StatsRow { key: "total".to_owned(), ..StatsRow::default() };
    if !run.is_started() {
        return (Vec::new(), total);
    }
    let flow = &run.definition().flow;
    let mut rows = vec![empty(COHERENCE.to_owned(), None)];
    empty_rows(&flow.stages, "", &mut rows);
    let mut has_begun = vec![false; rows.len()];
    for call in run.history().calls.iter() {
        let position = match call.ending {
            CallEnding::Triage(_) => Some(0),
            CallEnding::Work(_) | CallEnding::Look(_) | CallEnding::Overtaken => {
                let key = row_name(run, &call.call);
                (1..rows.len()).find(|position| rows[*position].stage == key)
            }
        };
        let Some(position) = position else { continue };
        let row = &mut rows[position];
        row.attempts += u32::from(position > 0 && call.call.gate().is_none());
        for sum in [&mut row.used, &mut total] {
            let is_call = is_by_agent(Some(flow), call);
            sum.add(is_call, call.spent.tokens, call.spent.cost, call.took_ms);
        }
        has_begun[position] = true;
    }
    let begun = rows.into_iter().zip(has_begun).filter(|(_, has_begun)| *has_begun);
    (begun.map(|(row, _)| row).collect(), total)
}

fn empty(stage: String, phase: Option<String>) -> PhaseRow {
    let key = phase.clone().unwrap_or_else(|| stage.clone());
    PhaseRow { stage, phase, attempts: 0, used: StatsRow { key, ..StatsRow::default() } }
}

/// Adds a row for each stage, and for each gate with a label of its own, in the flow's order.
fn empty_rows(stages: &[Stage], outer: &str, rows: &mut Vec<PhaseRow>) {
    for stage in stages {
        let name = format!("{outer}{}", stage.name);
        rows.push(empty(name.clone(), stage.phase.clone()));
        for gate in stage.gates.iter().filter(|gate| gate.phase.is_some()) {
            rows.push(empty(format!("{name}: {}", gate.name), gate.phase.clone()));
        }
        empty_rows(stage.inner(), &format!("{name}/"), rows);
    }
}

/// Returns the row that a call belongs to: that of the last labelled gate so far, or of its stage.
fn row_name(run: &Run, call: &CallId) -> String {
    let place = call.unit().place();
    let stage = run.definition().flow.stage(call.unit());
    match stage.and_then(|stage| stage.labelled_gate(call.gate())) {
        Some(gate) => format!("{place}: {}", gate.name),
        None => place,
    }
}

/// Returns every call, in the order of their ends.
pub(super) fn calls(run: &Run) -> Vec<CallView> {
    run.history().calls.iter().map(|call| view(run, call)).collect()
}

fn view(run: &Run, call: &EndedCall) -> CallView {
    let flow = &run.definition().flow;
    let role = match call.ending {
        CallEnding::Triage(_) => flow.coherence.clone(),
        CallEnding::Work(_) | CallEnding::Look(_) | CallEnding::Overtaken => {
            CallKind::from_flow(flow, &call.call).map(|kind| kind.label().to_owned())
        }
    };
    let used = call.used.as_ref();
    let models = used.map(|used| used.model_names()).unwrap_or_default();
    CallView {
        ordinal: call.ordinal,
        call: call.call.to_string(),
        role: role.unwrap_or_default(),
        agent: used.map(|used| used.agent.clone()).unwrap_or_default(),
        models: models.into_iter().map(str::to_owned).collect(),
        route: call.route,
        end: CallEnd::from_ending(&call.ending),
        session: call.session.clone(),
        took_ms: call.took_ms,
        tokens: call.spent.tokens.total(),
        cost: call.spent.cost,
    }
}
