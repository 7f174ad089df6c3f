//! What should be going on outside, given where the run stands.
//!
//! This is a level, not an edge: it says what must be under way, not what to start. After a
//! crash, the driver folds the journal, asks again, and gets the same answer. A call that is
//! under way and no longer wanted is to be stopped; [`stop`] says how.

use crate::{
    Time,
    event::{Call, Hold},
    flow::Stage,
    id::{AttemptId, CallId, JudgementId, QuestionId, Scope, UnitId},
    run::{LookState, NeedsState, PathsState, Phase, Run, State, Table, Unit},
};

/// An effect that should be running.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// An agent session or a program.
    Work {
        /// For which attempt.
        attempt: AttemptId,
        /// The number of its folder.
        ordinal: u32,
    },
    /// A gate.
    Judge {
        judgement: JudgementId,
        /// The number of its folder.
        ordinal: u32,
    },
    /// A question on a person's screen.
    Ask { question: QuestionId },
    /// A look whether other work has the paths of this unit.
    Claim { unit: UnitId },
    /// A look whether what must hold before a unit, or a gate of it, begins does hold.
    Need { unit: UnitId, gate: Option<String> },
    /// A tick at this moment.
    Wake { at: Time },
}

/// The manner of stopping an unwanted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopManner {
    /// Ask it to end, and kill it if it does not.
    Gently,
    /// Kill it.
    AtOnce,
}

/// Returns how calls that are no longer wanted are stopped now.
pub fn stop(run: &Run) -> StopManner {
    let at_once = matches!(run.phase(), Phase::Held(Hold::Stopped { .. }) | Phase::Over(_));
    if at_once { StopManner::AtOnce } else { StopManner::Gently }
}

/// Returns true if running calls may continue.
fn calls_may_go_on(phase: &Phase) -> bool {
    match phase {
        Phase::Going => true,
        Phase::Held(hold) => !matches!(hold, Hold::Interrupted { .. } | Hold::Stopped { .. }),
        Phase::Fresh | Phase::Over(_) => false,
    }
}

/// Returns all that should be under way, in a stable order.
pub fn wanted(run: &Run) -> Vec<Effect> {
    match run.phase() {
        Phase::Fresh | Phase::Over(_) => return Vec::new(),
        Phase::Going | Phase::Held(_) => {}
    }
    let mut effects = Vec::new();
    let mut wake = None;
    let (stages, root) = run.table(&Scope::root());
    collect(run, &Scope::root(), stages, root, &mut effects, &mut wake);
    effects.extend(wake.map(|at| Effect::Wake { at }));
    effects
}

fn collect(
    run: &Run,
    scope: &Scope,
    stages: &[Stage],
    table: &Table,
    effects: &mut Vec<Effect>,
    wake: &mut Option<Time>,
) {
    for (stage, unit) in stages.iter().zip(&table.units) {
        match unit.state {
            State::Working if stage.is_called() => {
                let attempt = scope.unit(&stage.name).attempt(unit.attempt);
                let call = CallId::Attempt(attempt.clone());
                if let Some(Call { ordinal, .. }) = under_way(run, &call) {
                    effects.push(Effect::Work { attempt, ordinal });
                }
            }
            State::Working => {
                let id = scope.unit(&stage.name);
                for (item, inside) in unit.inner.open_members() {
                    let scope = id.item(&item.id);
                    collect(run, &scope, stage.inner(), inside, effects, wake);
                }
            }
            State::Judging { gate, look: LookState::UnderWay(number) } => {
                let attempt = scope.unit(&stage.name).attempt(unit.attempt);
                let judgement = attempt.judgement(&stage.gates[gate].name, number);
                let call = CallId::Judgement(judgement.clone());
                if let Some(Call { ordinal, .. }) = under_way(run, &call) {
                    effects.push(Effect::Judge { judgement, ordinal });
                }
            }
            State::Asking { question } => effects.push(Effect::Ask { question }),
            State::Waiting | State::Judging { look: LookState::Pending, .. } => {
                if let (
                    State::Waiting,
                    PathsState::Wanted | PathsState::Taken { .. },
                    Phase::Going,
                ) = (unit.state, &unit.paths, run.phase())
                {
                    effects.push(Effect::Claim { unit: scope.unit(&stage.name) });
                }
                if unit.needs == NeedsState::Asked && *run.phase() == Phase::Going {
                    let gate = match unit.state {
                        State::Judging { gate, .. } => stage.gates.get(gate),
                        State::Waiting
                        | State::Working
                        | State::Asking { .. }
                        | State::Accepted
                        | State::Skipped
                        | State::Failed { .. } => None,
                    };
                    let gate = gate.map(|gate| gate.name.clone());
                    effects.push(Effect::Need { unit: scope.unit(&stage.name), gate });
                }
                wake_later(run, unit, wake);
            }
            State::Accepted | State::Skipped | State::Failed { .. } => {}
        }
    }
}

/// Returns a call, if it may go on.
fn under_way(run: &Run, call: &CallId) -> Option<Call> {
    run.calls().get(call).filter(|_| calls_may_go_on(run.phase())).cloned()
}

fn wake_later(run: &Run, unit: &Unit, wake: &mut Option<Time>) {
    if *run.phase() == Phase::Going && unit.not_before > run.now() {
        *wake = Some(wake.map_or(unit.not_before, |at| at.min(unit.not_before)));
    }
}
