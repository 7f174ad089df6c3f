//! The documented fields of `state.json`: where a run stands, in the phases of its flow.
//!
//! Phases are the labels that stages and gates of a flow carry, in the order of its table. The
//! engine never looks at them, and a flow without labels has none here. The run's branch is not here,
//! because the view beside this one has it under the same name.
//!
//! Invariant: no phase is both completed and skipped.

mod tasks;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{format::stamp, question_words::question_text_in, stats::is_by_agent};
use crate::{
    event::{Answer, Approvals, Detail, End, Hold, Question},
    flow::{Condition, Stage, When, Work},
    id::{Scope, UnitId},
    run::{COHERENCE, CallEnding, EndedCall, Phase, Run, State, Unit},
};

pub use tasks::{ExecutionMode, ImplStatus, ReviewStatus, TaskState};

/// The most rows of the log. Older ones are left out.
pub const PHASE_LOG_ROWS_MAX: usize = 500;

/// The phase of a run that is done.
const COMPLETED: &str = "completed";
/// The phases whose revisions are counted, and the checkpoints that can send back.
const DESIGN: &str = "phase-3";
const TASKS: &str = "phase-4";
const CHECKPOINT_A: &str = "checkpoint-a";
const CHECKPOINT_B: &str = "checkpoint-b";

/// The state of a run, in the phases of its flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the documented fields are what they are")]
pub struct PhasesView {
    /// The run's name without its date.
    pub spec_name: String,
    /// The effort, if the flow has that parameter.
    pub effort: Option<String>,
    /// The name of that effort.
    pub flow_template: Option<FlowTemplate>,
    /// Whether checkpoints may pass automatically.
    pub auto_approve: bool,
    /// Whether no pull request is prepared at the end.
    pub skip_pr: bool,
    /// Whether the user's own branch is moved to the result.
    pub use_current_branch: bool,
    /// True if the summary lists every call.
    pub debug: bool,
    /// Skipped phases, in the order of the flow.
    pub skipped_phases: Vec<String>,
    /// Finished phases, in the order of the flow.
    pub completed_phases: Vec<String>,
    /// The phase of the open question; else the first phase that is neither finished nor skipped, or `completed`.
    pub current_phase: Option<String>,
    /// The status of the current phase.
    pub current_phase_status: PhaseStatus,
    /// The first open question.
    pub question: Option<PhaseQuestion>,
    /// The use of each agent call, in order. Only the last entries of a long log are kept.
    pub phase_log: Vec<PhaseLogRow>,
    /// The items of the flow, by id.
    pub tasks: BTreeMap<String, TaskState>,
    /// How often design and tasks were sent back automatically.
    pub revisions: Revisions,
    /// Checkpoints for which a person requested changes and has not seen the new version.
    pub checkpoint_revision_pending: BTreeMap<String, bool>,
    /// The reason why the run stopped early.
    pub error: Option<PhaseError>,
    /// When the run started, and when it last changed.
    pub timestamps: Timestamps,
}

/// The name of an effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowTemplate {
    /// S.
    Light,
    /// M.
    Standard,
    /// L.
    Full,
}

/// The status of the current phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    /// The phase has not started.
    Pending,
    /// The phase is running.
    InProgress,
    /// A person is asked. Independent work continues.
    AwaitingHuman,
    /// The run is done.
    Completed,
    /// The run failed, is blocked, or stopped because the same failure repeats.
    Failed,
    /// The run was abandoned.
    Abandoned,
}

/// Use of one call of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseLogRow {
    /// The phase, or `coherence` for the check of the request.
    pub phase: String,
    /// Tokens, all together.
    pub tokens: u64,
    pub duration_ms: u64,
    /// The models, or `unknown`.
    pub model: String,
    pub timestamp: String,
}

/// The number of automatic revisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revisions {
    /// The design.
    pub design_revisions: u32,
    /// The tasks.
    pub task_revisions: u32,
}

/// The reason why a run stopped early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseError {
    /// The phase in which it stopped, if the flow has phases.
    pub phase: Option<String>,
    pub message: String,
    pub timestamp: String,
}

/// A question that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseQuestion {
    /// Its name, such as `Q1`.
    pub id: String,
    pub unit: String,
    pub text: String,
}

/// The times of a run's beginning and last change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timestamps {
    /// The first record.
    pub created: String,
    /// The last one.
    pub last_updated: String,
}

/// A stage or a gate that carries a label.
struct Carrier<'a> {
    label: &'a str,
    /// The stages on the way to it, from the top: what is inside an `each` has more than one.
    way: Vec<&'a Stage>,
    /// The position of the gate, if it is one.
    gate: Option<usize>,
}

/// The progress of a phase.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Skipped,
    Completed,
    Begun,
    Pending,
}

impl PhasesView {
    /// Returns where a run stands, in the phases of its flow.
    pub fn new(id: &str, run: &Run) -> Self {
        let timestamps =
            Timestamps { created: stamp(run.started_at()), last_updated: stamp(run.now()) };
        let spec_name = id.split_once('-').map_or(id, |(_, rest)| rest).to_owned();
        if !run.is_started() {
            return Self::nothing(spec_name, timestamps);
        }
        let start = &run.definition().start;
        let effort = start.params.get("effort").cloned();
        let phases = progress(run);
        let labels = |wanted: Progress| -> Vec<String> {
            let fits = phases.iter().filter(|(_, progress)| *progress == wanted);
            fits.map(|(label, _)| label.clone()).collect()
        };
        let open = phases.iter().find(|(_, progress)| !progress.is_over());
        let asked = open_question(run);
        let asked_in = asked.and_then(|asked| label_of(run, &asked.unit, asked.gate.as_deref()));
        let current_phase = match (run.phase(), open) {
            (Phase::Over(End::Done), _) => Some(COMPLETED.to_owned()),
            (_, Some(_)) if asked_in.is_some() => asked_in,
            (_, Some((label, _))) => Some(label.clone()),
            // What is left of the flow has no label.
            (_, None) => phases.last().map(|(label, _)| label.clone()),
        };
        Self {
            spec_name,
            flow_template: effort.as_deref().and_then(FlowTemplate::from_effort),
            effort,
            auto_approve: start.approvals == Approvals::Automatic,
            skip_pr: start.params.get("pr").is_some_and(|pr| pr == "no"),
            use_current_branch: start.onto.is_some(),
            debug: start.detail == Detail::Debug,
            skipped_phases: labels(Progress::Skipped),
            completed_phases: labels(Progress::Completed),
            error: error(run, current_phase.as_ref()),
            current_phase,
            current_phase_status: status(run, open.map(|(_, progress)| *progress)),
            question: asked.map(|asked| PhaseQuestion {
                id: asked.id.to_string(),
                unit: asked.unit.to_string(),
                text: question_text_in(run, asked),
            }),
            phase_log: log(run),
            tasks: tasks::task_states(run),
            revisions: Revisions {
                design_revisions: rounds(run, DESIGN),
                task_revisions: rounds(run, TASKS),
            },
            checkpoint_revision_pending: [CHECKPOINT_A, CHECKPOINT_B]
                .into_iter()
                .map(|label| (label.to_owned(), revision_pending(run, label, &phases)))
                .collect(),
            timestamps,
        }
    }

    fn nothing(spec_name: String, timestamps: Timestamps) -> Self {
        Self {
            spec_name,
            effort: None,
            flow_template: None,
            auto_approve: false,
            skip_pr: false,
            use_current_branch: false,
            debug: false,
            skipped_phases: Vec::new(),
            completed_phases: Vec::new(),
            current_phase: None,
            current_phase_status: PhaseStatus::Pending,
            question: None,
            phase_log: Vec::new(),
            tasks: BTreeMap::new(),
            revisions: Revisions::default(),
            checkpoint_revision_pending: BTreeMap::new(),
            error: None,
            timestamps,
        }
    }
}

impl FlowTemplate {
    /// Returns how an effort is called.
    pub fn from_effort(effort: &str) -> Option<Self> {
        match effort {
            "S" => Some(Self::Light),
            "M" => Some(Self::Standard),
            "L" => Some(Self::Full),
            _ => None,
        }
    }
}

impl Progress {
    fn is_over(self) -> bool {
        match self {
            Self::Skipped | Self::Completed => true,
            Self::Begun | Self::Pending => false,
        }
    }

    /// Returns how far several are that carry the same label.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Skipped, other) => other,
            (one, Self::Skipped) => one,
            (Self::Completed, Self::Completed) => Self::Completed,
            (Self::Pending, Self::Pending) => Self::Pending,
            (Self::Begun, _)
            | (_, Self::Begun)
            | (Self::Completed, Self::Pending)
            | (Self::Pending, Self::Completed) => Self::Begun,
        }
    }
}

/// Returns all labels of the run's flow, in the order of its table, and how far each is.
fn progress(run: &Run) -> Vec<(String, Progress)> {
    let mut carriers = Vec::new();
    carry(&run.definition().flow.stages, &[], &mut carriers);
    let mut phases: Vec<(String, Progress)> = Vec::new();
    for carrier in &carriers {
        let own = carrier.progress(run);
        match phases.iter_mut().find(|(label, _)| label == carrier.label) {
            Some((_, progress)) => *progress = progress.with(own),
            None => phases.push((carrier.label.to_owned(), own)),
        }
    }
    phases
}

fn carry<'a>(stages: &'a [Stage], outer: &[&'a Stage], carriers: &mut Vec<Carrier<'a>>) {
    for stage in stages {
        let way: Vec<&Stage> = outer.iter().copied().chain([stage]).collect();
        if let Some(label) = &stage.phase {
            carriers.push(Carrier { label, way: way.clone(), gate: None });
        }
        for (position, gate) in stage.gates.iter().enumerate() {
            if let Some(label) = &gate.phase {
                carriers.push(Carrier { label, way: way.clone(), gate: Some(position) });
            }
        }
        carry(stage.inner(), &way, carriers);
    }
}

impl Carrier<'_> {
    fn progress(&self, run: &Run) -> Progress {
        let never = |when: &When| {
            when.0.iter().any(|condition| match condition {
                Condition::Param { .. } => {
                    !run.holds(&Scope::root(), &When(vec![condition.clone()]))
                }
                Condition::Item { .. } => false,
            })
        };
        let own_gate = self.gate.map(|gate| &self.stage().gates[gate]);
        if self.way.iter().any(|stage| never(&stage.when))
            || own_gate.is_some_and(|gate| never(&gate.when))
        {
            return Progress::Skipped;
        }
        let [outer, inner @ ..] = self.way.as_slice() else { return Progress::Skipped };
        let unit = run.unit(&Scope::root().unit(&outer.name));
        if inner.is_empty() {
            return self.unit_progress(run, unit);
        }
        if unit.state == State::Accepted {
            return Progress::Completed;
        }
        let mut found = Vec::new();
        self.inside(run, unit, inner, &mut found);
        let all = found.into_iter().reduce(Progress::with).unwrap_or(Progress::Pending);
        match all {
            // Only when all items are closed well, what is inside is over.
            Progress::Completed | Progress::Skipped => Progress::Begun,
            Progress::Begun | Progress::Pending => all,
        }
    }

    fn stage(&self) -> &Stage {
        self.way.last().expect("a carrier is a stage, or lies in one")
    }

    fn inside(&self, run: &Run, unit: &Unit, way: &[&Stage], found: &mut Vec<Progress>) {
        let [next, rest @ ..] = way else { return found.push(self.unit_progress(run, unit)) };
        for (_, table) in unit.inner.members() {
            let stages = table.units.iter();
            // The rows of a table and the units in it have the same order.
            let Some(row) = self.row(way.len(), &next.name) else { continue };
            if let Some(unit) = stages.clone().nth(row) {
                self.inside(run, unit, rest, found);
            }
        }
    }

    /// Returns the position of a stage in its table, which is the table inside the stage before it.
    fn row(&self, left: usize, name: &str) -> Option<usize> {
        let outer = self.way[self.way.len() - left - 1];
        outer.inner().iter().position(|stage| stage.name == name)
    }

    /// Returns how far one unit is with what this carrier stands for: its work and the gates before the
    /// first one with a label of its own, or one gate and those after it that have none.
    fn unit_progress(&self, run: &Run, unit: &Unit) -> Progress {
        let gates = &self.stage().gates;
        let next = |from: usize| {
            let labelled = (from..gates.len()).find(|gate| gates[*gate].phase.is_some());
            labelled.unwrap_or(gates.len())
        };
        let (first, end) = match self.gate {
            None => (None, next(0)),
            Some(gate) => (Some(gate), next(gate + 1)),
        };
        let at = |gate: usize, here: Progress| {
            if gate >= end && end < gates.len() {
                Progress::Completed
            } else if first.is_some_and(|first| gate < first) {
                Progress::Pending
            } else {
                here
            }
        };
        if self.gate.is_some_and(|gate| unit.skipped.contains(&gates[gate].name)) {
            return Progress::Skipped;
        }
        match unit.state {
            State::Skipped => Progress::Skipped,
            // A delivery that had nothing to deliver is over, but nothing was completed.
            State::Accepted
                if matches!(self.stage().work, Work::Deliver { .. })
                    && !unit.receipt_notes().is_empty() =>
            {
                Progress::Skipped
            }
            State::Accepted => Progress::Completed,
            State::Waiting if unit.attempt == 0 => Progress::Pending,
            State::Waiting | State::Working | State::Failed { .. } => match first {
                Some(_) => Progress::Pending,
                None => Progress::Begun,
            },
            State::Judging { gate, .. } => at(gate, Progress::Begun),
            State::Asking { question } => {
                let question = run.question(question);
                let gate = question.and_then(|question| question.gate.as_deref());
                let gate = gate.and_then(|gate| self.stage().gate(gate));
                match (gate, first) {
                    (Some(gate), _) => at(gate, Progress::Begun),
                    (None, None) => Progress::Begun,
                    (None, Some(_)) => Progress::Pending,
                }
            }
        }
    }
}

fn status(run: &Run, open: Option<Progress>) -> PhaseStatus {
    if let Phase::Held(Hold::Escalated { .. }) = run.phase() {
        return PhaseStatus::Failed;
    }
    match run.phase() {
        Phase::Over(End::Done) => PhaseStatus::Completed,
        Phase::Over(End::Abandoned) => PhaseStatus::Abandoned,
        Phase::Over(End::Failed | End::Blocked) => PhaseStatus::Failed,
        Phase::Fresh | Phase::Going | Phase::Held(_) => match open {
            _ if open_question(run).is_some() => PhaseStatus::AwaitingHuman,
            Some(Progress::Pending) => PhaseStatus::Pending,
            Some(Progress::Begun | Progress::Skipped | Progress::Completed) | None => {
                PhaseStatus::InProgress
            }
        },
    }
}

/// Returns the question that is open. In a run that is over, none is.
fn open_question(run: &Run) -> Option<&Question> {
    run.questions().next().filter(|_| !matches!(run.phase(), Phase::Over(_)))
}

/// Returns what failed: a unit, the run as a whole, or what a person is asked about.
fn error(run: &Run, phase: Option<&String>) -> Option<PhaseError> {
    if let Phase::Held(Hold::Escalated { what }) = run.phase() {
        let (at, _) = run.history().held.newest()?;
        let (phase, message, timestamp) = (phase.cloned(), what.clone(), stamp(*at));
        return Some(PhaseError { phase, message, timestamp });
    }
    if matches!(run.phase(), Phase::Over(End::Done | End::Abandoned)) {
        return None;
    }
    let is_failed =
        |unit: &UnitId| run.has(unit) && matches!(run.unit(unit).state, State::Failed { .. });
    if let Some(failed) = run.history().failed.iter().rev().find(|failed| is_failed(&failed.unit)) {
        let phase = label_of(run, &failed.unit, None).or_else(|| phase.cloned());
        let message = format!("{}: {}", failed.unit, failed.reason);
        return Some(PhaseError { phase, message, timestamp: stamp(failed.at) });
    }
    let asked = run.questions().find(|asked| asked.why.is_failure())?;
    let phase = label_of(run, &asked.unit, asked.gate.as_deref()).or_else(|| phase.cloned());
    let message = format!("{}: {}", asked.unit, question_text_in(run, asked));
    let at = run.history().question(asked.id).map_or(run.now(), |asked| asked.at);
    Some(PhaseError { phase, message, timestamp: stamp(at) })
}

/// Returns the label under which a call, or the work of a unit, is counted.
pub(super) fn label_of(run: &Run, unit: &UnitId, gate: Option<&str>) -> Option<String> {
    let stage = run.definition().flow.stage(unit)?;
    stage.labelled_gate(gate).map_or(&stage.phase, |gate| &gate.phase).clone()
}

fn log(run: &Run) -> Vec<PhaseLogRow> {
    let ended = run.history().calls.iter().rev().filter_map(|call| log_row(run, call));
    let mut rows: Vec<PhaseLogRow> = ended.take(PHASE_LOG_ROWS_MAX).collect();
    rows.reverse();
    rows
}

/// Builds the row of an agent's call. Nothing for other calls, and for calls without a phase.
fn log_row(run: &Run, call: &EndedCall) -> Option<PhaseLogRow> {
    if !is_by_agent(Some(&run.definition().flow), call) {
        return None;
    }
    let phase = match call.ending {
        CallEnding::Triage(_) => COHERENCE.to_owned(),
        CallEnding::Work(_) | CallEnding::Look(_) | CallEnding::Overtaken => {
            label_of(run, call.call.unit(), call.call.gate())?
        }
    };
    let models = call.used.as_ref().map(|used| used.model_names()).unwrap_or_default();
    Some(PhaseLogRow {
        phase,
        tokens: call.spent.tokens.total(),
        duration_ms: call.took_ms,
        model: if models.is_empty() { "unknown".to_owned() } else { models.join(", ") },
        timestamp: stamp(call.at),
    })
}

fn rounds(run: &Run, label: &str) -> u32 {
    let stages = run.definition().flow.stages.iter();
    let own = stages.filter(|stage| stage.phase.as_deref() == Some(label));
    let own = own.filter(|stage| !matches!(stage.work, Work::Each { .. }));
    own.map(|stage| run.unit(&Scope::root().unit(&stage.name)).round).sum()
}

/// Returns true if a person sent work back at a checkpoint, and has not been asked again.
fn revision_pending(run: &Run, label: &str, phases: &[(String, Progress)]) -> bool {
    let is_over = phases.iter().any(|(known, progress)| known == label && progress.is_over());
    let is_here = |gate: &str, unit: &UnitId| {
        let gate = run.definition().flow.gate(unit, gate);
        gate.is_some_and(|gate| gate.phase.as_deref() == Some(label))
    };
    let asked = run.history().asked.iter().rev().find(|asked| {
        asked.question.gate.as_deref().is_some_and(|gate| is_here(gate, &asked.question.unit))
    });
    let answer = asked.and_then(|asked| asked.answer.as_ref()).map(|said| &said.answer);
    !is_over && answer == Some(&Answer::Revise)
}
