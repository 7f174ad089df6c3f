//! What happened in the phases of a run: one typed record for each, composed from the journal alone. A phase is one call of an
//! agent: the work of a stage, or a review of it.
//!
//! Agents give a summary, a verdict and friction; ids, names, times, tokens and costs are what Forge saw. A call that ended has one
//! record with all of it, whatever came of it; one under way has `start`. Checks of Forge's own are here only where they fail.
//!
//! Not here: how it looks (`app/cli/log`), and what is added up of money alone (`stats.rs`).
//!
//! Invariant: no two calls have the same record, so no iteration overwrites another. Tokens and costs of all records are those of the
//! run's ledger.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Amount,
    format::{first_line, shorten_start, span},
    sentence::question_text,
    stats::{StatsRow, is_by_agent},
};
use crate::{
    Time,
    event::{
        Event, FailureKind, Hold, Outcome, PlannedTaskIds, Question, QuestionReason, Ruling, Start,
        TriageOutcome,
    },
    flow::{Flow, Work},
    friction::Friction,
    id::{CallId, Scope, UnitId},
    money::{Cost, ModelUse, Tokens},
    result::ResultError,
    routing::Route,
    run::{COHERENCE, CallEnding, CallKind, EndedCall},
    task_origin::TaskOrigin,
    verdict::{PhaseVerdict, Verdict},
    work::WorkKind,
};

/// The name of the phase in which the request itself is checked.
pub const REQUEST_CHECK: &str = "request check";
/// The note of a call that a person or Forge stopped.
pub const STOPPED: &str = "Forge stopped it";
/// The most characters of a note.
const NOTE_CHARS_MAX: usize = 300;

/// One thing that happened to a phase or to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseEvent {
    pub action: PhaseAction,
    /// When it happened, in milliseconds since 1970.
    pub at: Time,
    /// The run. For what a rewound run shares with another, that other one.
    pub run: String,
    /// The record of work that the run is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The sprint, if the run is about one or a task of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sprint: Option<String>,
    /// The task, by the id of its record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The stage, or the check of it.
    pub phase: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// For work, the number of the attempt. For a review, how many attempts it has looked at. Both from 1; 0 where nothing is repeated.
    #[serde(default)]
    pub iteration: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// The name of the agent in the settings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The service behind the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// The model; several are separated by commas.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The tier, effort and thinking that the agent was asked for, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// How long the agent worked, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// Missing if no program reported any: unknown is never zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    #[serde(default)]
    pub token_source: TokenSource,
    /// The price, as reported or computed from the tokens. Nobody types it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<PhaseVerdict>,
    /// The summary in its result.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Why it ended as it did, and what Forge noted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What hindered the agent, as it says itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub friction: Vec<Friction>,
}

/// The thing that happened.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PhaseAction {
    /// An agent was called.
    Start,
    /// An agent has left a result.
    Complete,
    /// A check without an agent failed.
    GateFailed,
    /// An agent left no result, and is called again.
    SubagentRetry,
    /// An agent left no result or cannot go on, and a person is asked.
    SubagentEscalated,
    /// The result of a review cannot be read, so there is no verdict.
    VerdictMalformed,
    /// A person is needed, or the work failed.
    Escalated,
    /// A task was left unfinished by its sprint.
    TaskSkipped,
}

/// The origin of tokens. Forge never guesses them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// The agent's program reported them.
    Reported,
    /// Nobody reported any.
    #[default]
    Unknown,
}

/// The use of several phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseTotal {
    /// Calls that have ended.
    pub calls: u32,
    pub took_ms: u64,
    pub tokens: u64,
    pub cost: Amount,
}

impl PhaseAction {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Complete => "complete",
            Self::GateFailed => "gate_failed",
            Self::SubagentRetry => "subagent_retry",
            Self::SubagentEscalated => "subagent_escalated",
            Self::VerdictMalformed => "verdict_malformed",
            Self::Escalated => "escalated",
            Self::TaskSkipped => "task_skipped",
        }
    }
}

impl PhaseEvent {
    /// Returns true if it is the record of a call that has ended.
    pub const fn is_call(&self) -> bool {
        self.ended_at.is_some()
    }
}

/// Returns what happened in the phases of a run, from its facts with their times, in their order.
pub fn phase_events<'a>(
    run: &str,
    facts: impl IntoIterator<Item = (Time, &'a Event)>,
) -> Vec<PhaseEvent> {
    let mut reader = EventReader { run, ..EventReader::default() };
    for (at, fact) in facts {
        reader.read(at, fact);
    }
    reader.events
}

/// Adds up what calls used. What two runs share counts once.
pub fn phase_total<'a>(events: impl IntoIterator<Item = &'a PhaseEvent>) -> PhaseTotal {
    let mut seen = BTreeSet::new();
    let mut row = StatsRow::default();
    for event in events.into_iter().filter(|event| event.is_call()) {
        if seen.insert((&event.run, &event.call)) {
            let cost = event.cost.unwrap_or(Cost::Unknown);
            row.add(
                true,
                event.tokens.unwrap_or_default(),
                cost,
                event.took_ms.unwrap_or_default(),
            );
        }
    }
    let (calls, took_ms, cost) = (row.calls, row.took_ms, row.amount());
    PhaseTotal { calls, took_ms, tokens: row.tokens.total(), cost }
}

/// The facts of a run that were read so far, as far as later ones need them.
#[derive(Default)]
struct EventReader<'a> {
    run: &'a str,
    flow: Option<Flow>,
    about: Option<(WorkKind, String)>,
    /// The sprint of the task that the run is about.
    sprint: Option<String>,
    /// The lists that were known when the run began.
    given: BTreeSet<String>,
    /// The tasks that were left out when the run began.
    left_out: Vec<String>,
    /// Why.
    reasons: BTreeMap<String, String>,
    task_ids: PlannedTaskIds,
    started: BTreeMap<CallId, Time>,
    /// The attempts that a gate has looked at.
    looked_at: BTreeMap<(UnitId, String), BTreeSet<u32>>,
    events: Vec<PhaseEvent>,
}

impl EventReader<'_> {
    fn read(&mut self, at: Time, fact: &Event) {
        if let Event::RunStarted(start) = fact {
            self.begin(start);
        } else if let Event::RunRewound { from, .. } = fact {
            let own = self.events.iter_mut().filter(|event| event.run == self.run);
            own.for_each(|event| event.run.clone_from(from));
        } else if let Event::QuestionAsked(question) = fact {
            self.asked(at, question);
        } else if let Event::UnitFailed { unit, kind, reason } = fact {
            let word = match kind {
                FailureKind::Failed => "failed",
                FailureKind::Blocked => "blocked",
            };
            let notes = vec![format!("{word}: {reason}")];
            let event = self.about_unit(PhaseAction::Escalated, at, unit);
            let (iteration, role) = self.last_call(unit, &unit.stage);
            let call = self.last_name(unit, &unit.stage);
            self.events.push(PhaseEvent { call, iteration, role, notes, ..event });
        } else if let Event::RunHeld { hold: Hold::Escalated { what } } = fact {
            let event = self.event(PhaseAction::Escalated, at, &Scope::root(), "run");
            self.events.push(PhaseEvent { notes: vec![what.clone()], ..event });
        } else if let Event::ItemsLeft { unit, items } = fact {
            for item in items {
                let event = self.event(PhaseAction::TaskSkipped, at, &unit.item(item), &unit.stage);
                let note = match self.reasons.get(item) {
                    Some(reason) => {
                        format!("`{item}` was left out when the sprint began: it {reason}")
                    }
                    None if self.left_out.contains(item) => {
                        format!("`{item}` was left out when the sprint began")
                    }
                    None => format!("`{item}` was not finished"),
                };
                let notes = vec![note];
                self.events.push(PhaseEvent { notes, ..event });
            }
        }
        if let Some((call, _)) = fact.call_started() {
            self.call_started(at, call);
        }
        if let Some(ended) = EndedCall::from_event(fact, at, 0) {
            self.call_ended(&ended, fact);
        }
    }

    fn begin(&mut self, start: &Start) {
        self.flow = Flow::read_frozen(&start.flow, &start.texts, &start.params).ok();
        self.given = start.lists.keys().cloned().collect();
        let Some(about) = &start.about else { return };
        self.about = Some((about.kind, about.item.id.clone()));
        self.sprint.clone_from(&about.sprint);
        self.task_ids = about.task_ids;
        self.left_out.clone_from(&about.left_out);
        self.reasons.clone_from(&about.reasons);
    }

    fn event(&self, action: PhaseAction, at: Time, scope: &Scope, phase: &str) -> PhaseEvent {
        let id_of = |wanted: WorkKind| {
            let about = self.about.as_ref().filter(|(kind, _)| *kind == wanted);
            about.map(|(_, id)| id.clone())
        };
        PhaseEvent {
            action,
            at,
            run: self.run.to_owned(),
            record: self.about.as_ref().map(|(_, id)| id.clone()),
            sprint: id_of(WorkKind::Sprint).or_else(|| self.sprint.clone()),
            task: id_of(WorkKind::Task).or_else(|| self.task_of(scope)),
            phase: phase.to_owned(),
            call: None,
            iteration: 0,
            role: String::new(),
            agent: String::new(),
            provider: String::new(),
            model: String::new(),
            route: None,
            started_at: None,
            ended_at: None,
            took_ms: None,
            tokens: None,
            token_source: TokenSource::Unknown,
            cost: None,
            verdict: None,
            summary: String::new(),
            notes: Vec::new(),
            friction: Vec::new(),
        }
    }

    fn about_unit(&self, action: PhaseAction, at: Time, unit: &UnitId) -> PhaseEvent {
        self.event(action, at, &unit.scope, &unit.stage)
    }

    /// Returns the task of a sprint that a scope belongs to, by the id of its record.
    fn task_of(&self, scope: &Scope) -> Option<String> {
        let (WorkKind::Sprint, sprint) = self.about.as_ref()? else { return None };
        let (group, item) = scope.steps().next()?;
        let stage = self.flow.as_ref()?.stage(&Scope::root().unit(group))?;
        let Work::Each { list, .. } = &stage.work else { return None };
        let is_given = self.given.contains(list);
        let origin = if is_given { TaskOrigin::Given } else { TaskOrigin::Planned(self.task_ids) };
        Some(origin.record_id(sprint, item))
    }

    fn asked(&mut self, at: Time, question: &Question) {
        if matches!(question.why, QuestionReason::Checkpoint { .. }) {
            return;
        }
        let unit = &question.unit;
        // What was to be tried again is not.
        let is_same = |event: &&mut PhaseEvent| {
            event.action == PhaseAction::SubagentRetry && is_call_of(event, unit)
        };
        let last = self.events.iter_mut().rev().find(|event| is_call_of(event, unit));
        if let Some(event) = last.filter(is_same) {
            event.action = PhaseAction::SubagentEscalated;
        }
        let phase = question.gate.as_deref().unwrap_or(&unit.stage);
        if let QuestionReason::NotReady { unmet } = &question.why {
            let failed = self.event(PhaseAction::GateFailed, at, &unit.scope, phase);
            let notes = unmet.iter().map(ToString::to_string).collect();
            self.events.push(PhaseEvent { notes, ..failed });
        }
        let event = self.event(PhaseAction::Escalated, at, &unit.scope, phase);
        let notes = vec![format!("{}: {}", question.id, question_text(question))];
        let (iteration, role) = self.last_call(unit, phase);
        let call = self.last_name(unit, phase);
        self.events.push(PhaseEvent { call, iteration, role, notes, ..event });
    }

    /// Returns iteration and role of the last call in a phase of a unit.
    fn last_call(&self, unit: &UnitId, phase: &str) -> (u32, String) {
        let mut events = self.events.iter().rev();
        let last = events.find(|event| is_call_of(event, unit) && event.phase == phase);
        last.map(|event| (event.iteration, event.role.clone())).unwrap_or_default()
    }

    /// Returns the name of the last call in a phase of a unit, by an agent or not.
    fn last_name(&self, unit: &UnitId, phase: &str) -> Option<String> {
        let is_of = |call: &CallId| call.unit() == unit;
        let mut events = self.events.iter().rev().filter(|event| event.phase == phase);
        let is_own = |event: &&PhaseEvent| {
            event.call.as_ref().is_some_and(|call| call.parse().is_ok_and(|call| is_of(&call)))
        };
        events.find(is_own)?.call.clone()
    }

    fn role(&self, call: &CallId) -> Option<String> {
        CallKind::from_flow(self.flow.as_ref()?, call)?.role().map(str::to_owned)
    }

    fn call_started(&mut self, at: Time, call: CallId) {
        if let Some(role) = self.role(&call) {
            let event = self.about_unit(PhaseAction::Start, at, call.unit());
            let (phase, iteration) = (phase(&call), self.iteration(&call));
            let name = Some(call.to_string());
            let started_at = Some(at);
            self.events.push(PhaseEvent {
                phase,
                call: name,
                iteration,
                role,
                started_at,
                ..event
            });
        }
        self.started.insert(call, at);
    }

    fn iteration(&mut self, call: &CallId) -> u32 {
        let CallId::Judgement(judgement) = call else { return call.attempt().number };
        let key = (judgement.attempt.unit.clone(), judgement.gate.clone());
        let looked_at = self.looked_at.entry(key).or_default();
        looked_at.insert(judgement.attempt.number);
        u32::try_from(looked_at.len()).unwrap_or(u32::MAX)
    }

    fn call_ended(&mut self, ended: &EndedCall, fact: &Event) {
        let call = &ended.call;
        if !is_by_agent(self.flow.as_ref(), ended) {
            self.gate_failed(ended);
            return;
        }
        let is_triage = matches!(ended.ending, CallEnding::Triage(_));
        let role = if is_triage {
            self.flow.as_ref().and_then(|flow| flow.coherence.clone())
        } else {
            self.role(call)
        };
        let iteration = if is_triage { 1 } else { self.iteration(call) };
        let (action, verdict, note) = came_to(&ended.ending);
        let receipt = fact.receipt();
        let mut notes: Vec<String> = note.map(|note| readable(&note)).into_iter().collect();
        notes.extend(receipt.iter().flat_map(|receipt| &receipt.notes).map(|note| shorten(note)));
        let mut used = ended.used.clone().unwrap_or_default();
        if used.models.is_empty() && used.asked_for.is_some() {
            used.models.push(ModelUse::unknown());
        }
        let names = |name: &dyn Fn(usize) -> String| {
            let names: BTreeSet<String> = (0..used.models.len()).map(name).collect();
            let names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
            names.join(", ")
        };
        let has_tokens = ended.spent.tokens.total() > 0;
        let summary = match (fact, receipt) {
            (Event::RunStarted(start), _) => {
                start.coherence.as_ref().map(|triage| triage.summary.clone())
            }
            (_, receipt) => receipt.map(|receipt| receipt.summary.clone()),
        };
        let started = self.started.remove(call);
        let event = PhaseEvent {
            phase: phase(call),
            call: Some(call.to_string()),
            iteration,
            role: role.unwrap_or_default(),
            agent: used.agent.clone(),
            provider: names(&|n| used.models[n].provider.clone()),
            model: names(&|n| {
                // What the program does not tell was asked for, if anything was.
                let told = Some(&used.models[n].model).filter(|model| !model.is_empty());
                told.or(used.asked_for.as_ref()).cloned().unwrap_or_default()
            }),
            route: ended.route,
            started_at: Some(started.unwrap_or_else(|| ended.at.saturating_sub(ended.took_ms))),
            ended_at: Some(ended.at),
            took_ms: Some(ended.took_ms),
            tokens: has_tokens.then_some(ended.spent.tokens),
            token_source: if has_tokens { TokenSource::Reported } else { TokenSource::Unknown },
            cost: Some(ended.spent.cost),
            verdict,
            summary: summary.unwrap_or_default(),
            notes,
            friction: receipt.map(|receipt| receipt.friction.clone()).unwrap_or_default(),
            ..self.about_unit(action, ended.at, call.unit())
        };
        // Of a call there is one record: that it began is in the one of its end.
        let name = event.call.clone();
        let began = |other: &PhaseEvent| other.action == PhaseAction::Start && other.call == name;
        self.events.retain(|other| !began(other));
        self.events.push(event);
    }

    /// Adds what a check of Forge's own, or a command, found.
    fn gate_failed(&mut self, ended: &EndedCall) {
        let CallEnding::Look(ruling) = &ended.ending else { return };
        let note = match ruling {
            Ruling::Verdict(Verdict::Pass { .. })
            | Ruling::Limited { .. }
            | Ruling::Lost
            | Ruling::Interrupted => return,
            Ruling::Verdict(Verdict::Revise { findings } | Verdict::Block { findings, .. }) => {
                findings.first().map(|finding| finding.what.clone()).unwrap_or_default()
            }
            Ruling::Fault { what, .. }
            | Ruling::Unverified { what, .. }
            | Ruling::Blocked { what, .. } => what.clone(),
        };
        let (phase, call) = (phase(&ended.call), Some(ended.call.to_string()));
        let iteration = self.iteration(&ended.call);
        let event = self.about_unit(PhaseAction::GateFailed, ended.at, ended.call.unit());
        let (notes, verdict) = (vec![shorten(&note)], Some(PhaseVerdict::Revision));
        self.events.push(PhaseEvent { phase, call, iteration, verdict, notes, ..event });
    }
}

/// Returns true for the record of a call of an agent for this unit, or for a look at it.
fn is_call_of(event: &PhaseEvent, unit: &UnitId) -> bool {
    let call: Option<CallId> = event.call.as_ref().and_then(|call| call.parse().ok());
    event.is_call() && call.is_some_and(|call| call.unit() == unit)
}

fn phase(call: &CallId) -> String {
    match call.gate() {
        Some(gate) => gate.to_owned(),
        None if call.unit().stage == COHERENCE => REQUEST_CHECK.to_owned(),
        None => call.unit().stage.clone(),
    }
}

/// Returns what an ending of an agent's call is, its verdict, and what there is to say of it.
fn came_to(ending: &CallEnding) -> (PhaseAction, Option<PhaseVerdict>, Option<String>) {
    use PhaseAction::{Complete, SubagentEscalated, SubagentRetry, VerdictMalformed};
    let note = |text: &str| Some(text.to_owned());
    let unknown = Some(PhaseVerdict::Unknown);
    match ending {
        CallEnding::Work(outcome) => match outcome {
            Outcome::Done => (Complete, Some(PhaseVerdict::NotApplicable), None),
            Outcome::Partial { note: left } => {
                (Complete, unknown, Some(format!("partly done: {left}")))
            }
            Outcome::Blocked { what, .. } => {
                (SubagentEscalated, unknown, Some(format!("blocked: {what}")))
            }
            Outcome::Fault { what, .. } | Outcome::Deferred { what, .. } => {
                (SubagentRetry, unknown, note(what))
            }
            Outcome::Limited { what, .. } => {
                (SubagentRetry, unknown, Some(format!("a limit was reached: {what}")))
            }
            Outcome::Lost => (SubagentRetry, unknown, note("its process ended without an ending")),
            Outcome::Interrupted => (SubagentRetry, unknown, note(STOPPED)),
        },
        CallEnding::Look(ruling) => match ruling {
            Ruling::Verdict(Verdict::Pass { .. }) => (Complete, Some(PhaseVerdict::Approved), None),
            Ruling::Verdict(Verdict::Revise { .. }) => {
                (Complete, Some(PhaseVerdict::Revision), None)
            }
            Ruling::Verdict(Verdict::Block { reason, .. }) => {
                (Complete, Some(PhaseVerdict::Revision), note(reason))
            }
            Ruling::Fault { class, what }
                if class.is_about_form() && *what != ResultError::Missing.to_string() =>
            {
                (VerdictMalformed, unknown, note(what))
            }
            Ruling::Fault { what, .. } | Ruling::Unverified { what, .. } => {
                (SubagentRetry, unknown, note(what))
            }
            Ruling::Blocked { what, .. } => {
                (SubagentEscalated, unknown, Some(format!("blocked: {what}")))
            }
            Ruling::Limited { what, .. } => {
                (SubagentRetry, unknown, Some(format!("a limit was reached: {what}")))
            }
            Ruling::Lost => (SubagentRetry, unknown, note("its process ended without an ending")),
            Ruling::Interrupted => (SubagentRetry, unknown, note("Forge stopped it")),
        },
        CallEnding::Triage(TriageOutcome::Pass) => (Complete, Some(PhaseVerdict::Approved), None),
        CallEnding::Triage(TriageOutcome::Block) => (Complete, Some(PhaseVerdict::Revision), None),
        CallEnding::Triage(TriageOutcome::Nothing) => (VerdictMalformed, unknown, None),
        CallEnding::Overtaken => (Complete, unknown, note("it was outdated when it ended")),
    }
}

fn shorten(text: &str) -> String {
    super::shorten(text.trim(), NOTE_CHARS_MAX)
}

/// Returns what a program said last, without the lines of its protocol. How it ended is at the end, and is kept.
fn readable(text: &str) -> String {
    let is_protocol = |line: &&str| line.starts_with('{') && line.ends_with('}');
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_protocol(line));
    shorten_start(&lines.collect::<Vec<&str>>().join("\n"), NOTE_CHARS_MAX)
}

/// Formats what the phases of a run came to, as a text for an agent that looks back.
pub fn statistics_markdown(events: &[PhaseEvent]) -> String {
    let mut rows: BTreeMap<(&str, &str), Vec<&PhaseEvent>> = BTreeMap::new();
    for event in events {
        rows.entry((event.task.as_deref().unwrap_or_default(), &event.phase))
            .or_default()
            .push(event);
    }
    let total = phase_total(events);
    let mut text = format!(
        "# Statistics\n\nForge has counted this from the journal of the run. {} calls of agents, {}, {}.\n\n\
         | Task | Phase | Calls | Revisions asked | Without a result | Failed checks | Time | Tokens | Cost |\n\
         |---|---|---|---|---|---|---|---|---|\n",
        total.calls,
        span(total.took_ms),
        total.cost.to_text()
    );
    for ((task, phase), events) in rows {
        let count =
            |is: &dyn Fn(&PhaseEvent) -> bool| events.iter().filter(|event| is(event)).count();
        let revisions = count(&|event| {
            event.action == PhaseAction::Complete && event.verdict == Some(PhaseVerdict::Revision)
        });
        let without = count(&|event| match event.action {
            PhaseAction::SubagentRetry
            | PhaseAction::SubagentEscalated
            | PhaseAction::VerdictMalformed => true,
            PhaseAction::Start
            | PhaseAction::Complete
            | PhaseAction::GateFailed
            | PhaseAction::Escalated
            | PhaseAction::TaskSkipped => false,
        });
        let failed = count(&|event| event.action == PhaseAction::GateFailed);
        let used = phase_total(events.iter().copied());
        let tokens = if used.tokens == 0 { "unknown".to_owned() } else { used.tokens.to_string() };
        let (time, tokens, cost) = match used.calls {
            0 => (String::new(), String::new(), String::new()),
            _ => (span(used.took_ms), tokens, used.cost.to_short_text()),
        };
        let _ = writeln!(
            text,
            "| {task} | {phase} | {} | {revisions} | {without} | {failed} | {time} | {tokens} | {cost} |",
            used.calls
        );
    }
    let needs_person: Vec<&PhaseEvent> = events
        .iter()
        .filter(|event| matches!(event.action, PhaseAction::Escalated | PhaseAction::TaskSkipped))
        .collect();
    if !needs_person.is_empty() {
        text.push_str("\n## Where a person was needed\n\n");
        for event in needs_person {
            let task = event.task.as_ref().map(|task| format!("{task} ")).unwrap_or_default();
            let note = event.notes.first().map(|note| first_line(note, NOTE_CHARS_MAX));
            let _ = writeln!(text, "- {task}{}: {}", event.phase, note.unwrap_or_default());
        }
    }
    text
}
