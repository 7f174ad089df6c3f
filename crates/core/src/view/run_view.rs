//! All of one run: its units, and the questions that a person has to answer.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Command, Input, Time, decide,
    event::{Answer, Choice, Event, FailureKind, Question, QuestionReason, Record},
    flow::{Check, Gate, Stage, Work},
    id::{CallId, Scope, UnitId, gate_does},
    item::Item,
    money::Money,
    run::{PathsState, Phase, ReviewTally, Run, State, Table, TableOpened, TableStatus, Unit},
    verdict::{Finding, Shown, VerdictWord},
};

use super::{
    diff::ChangeKind,
    format::Amount,
    question_words::{question_text_in, serious_counts},
    run_row::{RunRow, is_limited, is_zero},
    standing::Standing,
};

/// The most items of a list that a question shows.
const LISTED_MAX: usize = 12;

/// The full status of one run: `forge status RUN`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunView {
    /// The line of the list.
    #[serde(flatten)]
    pub row: RunRow,
    /// The full request.
    pub request: String,
    /// In micro-dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Money>,
    /// The largest possible cost of calls of unknown price, if a part of the budget is reserved for them.
    pub unknown_at_most: Money,
    /// Tokens, all together.
    pub tokens: u64,
    /// The commit that it started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The tip of the run's branch, once something was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Open questions.
    pub asked: Vec<QuestionView>,
    /// The stages in order; those of items follow their `each`.
    pub units: Vec<UnitView>,
}

/// One stage in one scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitView {
    pub unit: String,
    /// The id of the phase, such as `phase-3b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The depth in the tree: 0 for the stages of the flow.
    pub depth: u32,
    /// One line about its item.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    pub state: UnitState,
    /// The gate that is running or that a question is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// The number of its latest attempt; 0 before the first.
    pub attempt: u32,
    /// How often it was sent back automatically.
    pub round: u32,
    /// A person overrode its checks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overridden: bool,
    /// Since when it has this state.
    pub since: Time,
    /// When it continues, if it is rate-limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// The reason why it waits, such as a limit or another unit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The items that its own item waits for, if that has not begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// What it cost, or may have cost, in micro-dollars.
    pub spent: Money,
    /// The part of it that is estimated.
    #[serde(default, skip_serializing_if = "Money::is_zero")]
    pub estimated: Money,
    /// The part of it that is the largest possible cost of calls of unknown price.
    #[serde(default, skip_serializing_if = "Money::is_zero")]
    pub unknown_at_most: Money,
    /// The number of calls of unknown price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_costs: u32,
    /// Tokens, all together.
    pub tokens: u64,
    /// The agent's summary of the latest accepted attempt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Findings that are open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The commit that was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<String>,
    /// The number of finished items and of all items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<(u32, u32)>,
}

/// The state of a unit, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnitState {
    /// Not started.
    Waiting,
    /// Waits for the end of a rate limit.
    Limited,
    /// An agent or a command works on it.
    Working,
    /// A gate runs.
    Judging,
    /// Needs an answer.
    Asking,
    /// Done.
    Accepted,
    /// Skipped, because it does not apply.
    Skipped,
    /// Failed.
    Failed,
    /// Blocked.
    Blocked,
}

impl UnitState {
    /// Returns true if nothing of interest happens to it: it has not started, is good, or does not apply.
    pub const fn is_quiet(self) -> bool {
        matches!(self, Self::Waiting | Self::Accepted | Self::Skipped)
    }
}

/// An open question with its context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionView {
    pub question: String,
    pub unit: String,
    /// The gate that the question is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// The question itself.
    pub text: String,
    /// The possible answers and their effects.
    pub options: Vec<OptionView>,
    /// The agent's summary of the latest accepted attempt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The summary for the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// The findings of the latest attempt that nobody has accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The numbers of findings of the latest attempt that were accepted with answers to earlier questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<AcceptedFindings>,
    /// The reviews of the latest attempt, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<VerdictView>,
    /// The items that the unit listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<ListView>,
    /// The artifacts that the unit wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// Paths that the latest accepted attempt changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// What `forge show RUN --diff UNIT` shows.
    #[serde(default, skip_serializing_if = "ChangeKind::is_nothing")]
    pub change: ChangeKind,
    /// The difference of texts that replaced earlier versions. Only `forge status` fills it in; a long one is cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
}

/// How many findings a person accepted with the answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedFindings {
    pub question: String,
    pub count: u32,
}

/// The verdict of one review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictView {
    pub gate: String,
    pub verdict: VerdictWord,
    pub critical: u32,
    /// The number of major findings.
    pub major: u32,
    /// The number of minor findings.
    pub minor: u32,
}

/// Items that a unit listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListView {
    pub list: String,
    /// The number of items.
    pub count: u32,
    /// The first items.
    pub items: Vec<ListedView>,
}

/// One item of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedView {
    pub id: String,
    /// One line about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
}

/// One way to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OptionView {
    /// The answer to give.
    pub answer: String,
    /// The effect of choosing it.
    pub does: String,
    #[serde(default, skip_serializing_if = "AnswerWords::are_none")]
    pub words: AnswerWords,
}

/// Whether an answer takes the person's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Words")]
pub enum AnswerWords {
    /// Words are not used.
    #[default]
    None,
    /// Words are optional; they are given to the next agent.
    Possible,
    /// Words are required.
    Needed,
}

impl AnswerWords {
    /// Returns true if the option takes no words.
    pub fn are_none(&self) -> bool {
        *self == Self::None
    }

    fn for_choice(run: &Run, question: &Question, choice: Choice) -> Self {
        match choice {
            Choice::Revise | Choice::Waive => Self::Needed,
            Choice::Approve => Self::Possible,
            Choice::GiveUp => Self::None,
            // Only agents read what a person says.
            Choice::Retry => {
                let stage = run.stage(&question.unit);
                let gate = question.gate.as_deref().and_then(|gate| stage.gate(gate));
                let is_agent = match gate {
                    Some(gate) => matches!(stage.gates[gate].check, Check::Review { .. }),
                    None => matches!(stage.work, Work::Agent { .. }),
                };
                if is_agent { Self::Possible } else { Self::None }
            }
        }
    }
}

/// One record of `forge log --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    pub seq: u64,
    #[serde(flatten)]
    pub record: Record,
}

/// One line of `forge run --json` and `forge resume --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RunLine {
    /// A record, printed as soon as it is stored.
    Record(Record),
    /// The last line: the state of the run.
    Left {
        run: String,
        standing: Standing,
        /// Open questions.
        asked: Vec<QuestionView>,
    },
}

impl UnitView {
    /// Returns the cost with its unknown parts.
    pub fn amount(&self) -> Amount {
        let known = self.spent.minus(self.estimated).minus(self.unknown_at_most);
        Amount { known, estimated: self.estimated, unknown_calls: self.unknown_costs }
    }
}

impl RunView {
    /// Returns all of one run.
    pub fn new(id: &str, run: &Run) -> Self {
        let waiting = Unit::default();
        let mut all = Vec::new();
        if run.is_started() {
            collect(&Scope::root(), run.table(&Scope::root()), &waiting, &mut all);
        }
        let units = all.into_iter().map(|ShownUnit { id, stage, unit, waits }| {
            let gate = if let State::Judging { gate, .. } = unit.state {
                stage.gates.get(gate).map(|gate| gate.name.clone())
            } else if let State::Asking { question } = unit.state {
                run.question(question).and_then(|question| question.gate.clone())
            } else {
                None
            };
            UnitView {
                unit: id.to_string(),
                phase: stage.phase.clone(),
                depth: u32::try_from(id.scope.steps().count()).unwrap_or(u32::MAX),
                title: match &waits {
                    Some((item, _)) => item.title.clone(),
                    None => title(run, &id.scope),
                },
                state: unit_state(run, unit),
                gate,
                attempt: unit.attempt,
                round: unit.round,
                overridden: is_overridden(stage, unit),
                since: unit.since,
                until: is_limited(run, unit).then_some(unit.not_before),
                why: match &unit.paths {
                    PathsState::Taken { what } => what.clone(),
                    _ if is_limited(run, unit) => unit.waits_for.clone(),
                    PathsState::Unclaimed | PathsState::Wanted | PathsState::Claimed => {
                        String::new()
                    }
                },
                waits_for: waits
                    .map(|(_, before)| before.into_iter().map(str::to_owned).collect())
                    .unwrap_or_default(),
                spent: unit.spent,
                estimated: unit.estimated,
                unknown_at_most: unit.unknown_at_most,
                unknown_costs: unit.n_unknown,
                tokens: unit.tokens.total(),
                summary: summary(unit),
                findings: unit.findings.clone(),
                landed: unit.landed.clone(),
                items: matches!(stage.work, Work::Each { .. }).then(|| {
                    let standings = unit.inner.standings();
                    let closed = standings.filter(|standing| *standing == TableStatus::Closed);
                    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
                    (count(closed.count()), count(unit.inner.len()))
                }),
            }
        });
        let units = units.collect();
        let start = run.is_started().then(|| &run.definition().start);
        Self {
            row: RunRow::new(id, run),
            request: start.map(|start| start.request.clone()).unwrap_or_default(),
            budget: run.budget(),
            unknown_at_most: run.ledger().unknown_at_most,
            tokens: run.ledger().tokens.total(),
            base: start.and_then(|start| start.base.clone()),
            head: run.has_landed().then(|| run.head().map(str::to_owned)).flatten(),
            asked: match run.phase() {
                Phase::Over(_) => Vec::new(),
                Phase::Fresh | Phase::Going | Phase::Held(_) => {
                    run.questions().map(|question| QuestionView::new(run, question)).collect()
                }
            },
            units,
        }
    }
}

/// The most items of a list of which those are named that have not begun.
const WAITING_MAX: usize = 20;

/// A unit of the view, with its item if that has not begun.
struct ShownUnit<'a> {
    id: UnitId,
    stage: &'a Stage,
    unit: &'a Unit,
    /// The items before it that are not closed, if it has not begun.
    waits: Option<(&'a Item, Vec<&'a str>)>,
}

/// Collects the units of a table, and for each item that has not begun its first one. Of long lists the count is enough.
fn collect<'a>(
    scope: &Scope,
    (stages, table): (&'a [Stage], &'a Table),
    waiting: &'a Unit,
    all: &mut Vec<ShownUnit<'a>>,
) {
    for (stage, unit) in stages.iter().zip(&table.units) {
        let id = scope.unit(&stage.name);
        let is_each = matches!(stage.work, Work::Each { .. });
        let names_waiting = is_each && unit.inner.len() <= WAITING_MAX;
        all.push(ShownUnit { id: id.clone(), stage, unit, waits: None });
        let standings = unit.inner.members().zip(unit.inner.standings());
        let open: BTreeSet<&str> = standings
            .filter(|(_, standing)| *standing != TableStatus::Closed)
            .map(|((item, _), _)| item.id.as_str())
            .collect();
        for (item, inner) in unit.inner.members() {
            let scope = id.item(&item.id);
            match (inner.opened, stage.inner().first()) {
                (TableOpened::Yes, _) => collect(&scope, (stage.inner(), inner), waiting, all),
                (TableOpened::NotYet, Some(first)) if names_waiting => {
                    let id = scope.unit(&first.name);
                    let before = item.after.iter().map(String::as_str);
                    let waits = Some((item, before.filter(|id| open.contains(id)).collect()));
                    all.push(ShownUnit { id, stage: first, unit: waiting, waits });
                }
                (TableOpened::NotYet, _) => {}
            }
        }
    }
}

fn summary(unit: &Unit) -> String {
    unit.receipt.as_ref().map(|receipt| receipt.summary.clone()).unwrap_or_default()
}

fn unit_state(run: &Run, unit: &Unit) -> UnitState {
    if is_limited(run, unit) {
        return UnitState::Limited;
    }
    match unit.state {
        State::Waiting => UnitState::Waiting,
        State::Working => UnitState::Working,
        State::Judging { .. } => UnitState::Judging,
        State::Asking { .. } => UnitState::Asking,
        State::Accepted => UnitState::Accepted,
        State::Skipped => UnitState::Skipped,
        State::Failed { kind: FailureKind::Failed } => UnitState::Failed,
        State::Failed { kind: FailureKind::Blocked } => UnitState::Blocked,
    }
}

impl QuestionView {
    /// Returns a question, with all that helps to choose.
    pub fn new(run: &Run, question: &Question) -> Self {
        let unit = run.unit(&question.unit);
        let option = |choice: &Choice| OptionView {
            answer: match (choice, &question.gate) {
                (Choice::Waive, Some(gate)) => format!("waive {gate}"),
                (choice, _) => choice.as_str().to_owned(),
            },
            does: what_it_does(run, question, *choice),
            words: AnswerWords::for_choice(run, question, *choice),
        };
        Self {
            question: question.id.to_string(),
            unit: question.unit.to_string(),
            gate: question.gate.clone(),
            text: question_text_in(run, question),
            options: question.options.iter().map(option).collect(),
            summary: summary(unit),
            shown: unit.receipt.as_ref().and_then(|receipt| receipt.shown.clone()),
            findings: unit.found.iter().skip(n_accepted(unit)).cloned().collect(),
            accepted: accepted(unit),
            verdicts: verdicts(run, &question.unit),
            listed: listed(run, &question.unit),
            artifacts: unit.artifacts.keys().cloned().collect(),
            changed: unit.changed.clone(),
            change: ChangeKind::from_run(run, &question.unit),
            diff: String::new(),
        }
    }
}

/// Returns how many of the findings of a unit, from the first on, a person has accepted.
fn n_accepted(unit: &Unit) -> usize {
    unit.accepted.last().map_or(0, |(_, n)| *n)
}

fn accepted(unit: &Unit) -> Vec<AcceptedFindings> {
    let before = std::iter::once(0).chain(unit.accepted.iter().map(|(_, n)| *n));
    let counts = unit.accepted.iter().zip(before).map(|((question, n), before)| AcceptedFindings {
        question: question.to_string(),
        count: u32::try_from(n - before).unwrap_or(u32::MAX),
    });
    counts.filter(|accepted| accepted.count > 0).collect()
}

fn verdicts(run: &Run, unit: &UnitId) -> Vec<VerdictView> {
    let subject = run.subject(unit);
    let view = |opinion: &ReviewTally| VerdictView {
        gate: opinion.gate.clone(),
        verdict: opinion.says.to_word(subject),
        critical: opinion.critical,
        major: opinion.major,
        minor: opinion.minor,
    };
    run.unit(unit).review_tallies.iter().map(view).collect()
}

fn listed(run: &Run, unit: &UnitId) -> Option<ListView> {
    let list = run.stage(unit).list.clone()?;
    let items = run.items(unit, &list)?;
    let first = items.iter().take(LISTED_MAX);
    let first = first.map(|item| ListedView { id: item.id.clone(), title: item.title.clone() });
    let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
    Some(ListView { items: first.collect(), list, count })
}

/// Returns the first stage of the same table that waits for this one and applies.
fn next_stage<'a>(run: &'a Run, unit: &UnitId) -> Option<&'a str> {
    let (stages, _) = run.table(&unit.scope);
    let mut awaited: Vec<usize> =
        stages.iter().position(|stage| stage.name == unit.stage).into_iter().collect();
    for (position, stage) in stages.iter().enumerate() {
        if stage.after.iter().any(|before| awaited.contains(before)) {
            if run.holds(&unit.scope, &stage.when) {
                return Some(&stage.name);
            }
            awaited.push(position);
        }
    }
    None
}

fn what_it_does(run: &Run, question: &Question, choice: Choice) -> String {
    let stage = run.stage(&question.unit);
    let label = question.unit.label();
    let position = question.gate.as_deref().and_then(|gate| stage.gate(gate));
    let skipped = &run.unit(&question.unit).skipped;
    let applies =
        |gate: &&Gate| !skipped.contains(&gate.name) && run.holds(&question.unit.scope, &gate.when);
    let next = position.and_then(|position| stage.gates[position + 1..].iter().find(applies));
    let then = match next {
        Some(Gate { check: Check::Human { .. }, .. }) => "the question comes next".to_owned(),
        Some(gate) => format!("{} next", gate_does(&gate.name, "runs", "run")),
        None => match next_stage(run, &question.unit) {
            Some(stage) => format!("{stage} starts next"),
            None if is_last(run, &question.unit) => "the run is done".to_owned(),
            None => format!("{label} is done"),
        },
    };
    let gate = question.gate.as_deref().unwrap_or_default();
    match choice {
        Choice::Approve | Choice::Waive if question.why == QuestionReason::NothingChanged => {
            format!("{label} counts as done, without a change, and {then}")
        }
        Choice::Approve => {
            if let QuestionReason::Checkpoint { .. } | QuestionReason::Guarded = question.why {
                format!("{label} is accepted, and {then}")
            } else if let QuestionReason::Unverified { .. } = question.why {
                format!(
                    "Forge may run these commands in this run, and {} again",
                    gate_does(gate, "runs", "run")
                )
            } else if question.takes_work(&Answer::Approve) {
                format!("{label} is accepted as it is, and its checks run next")
            } else {
                match serious_counts(run.unit(&question.unit).found.iter()) {
                    Some(counts) => format!("{label} is accepted with {counts} open, and {then}"),
                    None => format!("{label} is accepted without this review, and {then}"),
                }
            }
        }
        Choice::Waive => {
            let is = |check: Check| position.is_some_and(|at| stage.gates[at].check == check);
            let (is_land, is_verify) = (is(Check::Land), is(Check::Verify));
            if is_land {
                format!("its change is left out of the result, in your name, and {then}")
            } else if let (true, QuestionReason::Unverified { found, .. }) =
                (is_verify, &question.why)
            {
                let how_long =
                    if found.is_empty() { "" } else { ", as long as its checks stay the same" };
                let is = gate_does(gate, "is", "are");
                let open: Vec<String> = run
                    .questions()
                    .filter(|other| other.id != question.id && other.gate == question.gate)
                    .map(|other| format!("{} ({})", other.id, other.unit.label()))
                    .collect();
                let what = match open.as_slice() {
                    [] => "for all of this run".to_owned(),
                    [one] => format!("for what comes next ({one} stays open)"),
                    several => format!("for what comes next ({} stay open)", several.join(", ")),
                };
                format!("{is} overridden in your name {what}{how_long}, and {then}")
            } else {
                let how_long = if is_verify {
                    ", for the whole run while they fail in the same way"
                } else {
                    ""
                };
                let is = gate_does(gate, "is", "are");
                format!("{is} overridden in your name{how_long}, and {then}")
            }
        }
        Choice::Revise => {
            let redo = position.and_then(|position| stage.gates[position].redo.as_deref());
            let target = run.sent_back_to(&question.unit, redo).label();
            format!("{target} runs again, with your words in its brief")
        }
        Choice::Retry => {
            let is_capped = matches!(question.why, QuestionReason::CapReached { cap: Some(_) });
            let with = if is_capped { ", with the same budget" } else { "" };
            match question.gate {
                Some(_) => format!("{} again{with}", gate_does(gate, "runs", "run")),
                None => format!("{label} is tried again{with}"),
            }
        }
        Choice::GiveUp if ends_the_run(run, question) => {
            format!("{label} fails, and the run with it")
        }
        Choice::GiveUp => {
            format!("{label} fails; work that does not depend on it continues")
        }
    }
}

/// Returns true if its work passed only because a person overrode the checks.
fn is_overridden(stage: &Stage, unit: &Unit) -> bool {
    let is_checks = |name: &String| {
        let gate = stage.gate(name).map(|position| &stage.gates[position]);
        gate.is_some_and(|gate| gate.check == Check::Verify)
    };
    unit.state.is_closed() && unit.waived.iter().any(is_checks)
}

/// Returns true if all other stages of the flow are over.
fn is_last(run: &Run, unit: &UnitId) -> bool {
    let (stages, table) = run.table(&Scope::root());
    let mut others = stages.iter().zip(&table.units).filter(|(stage, _)| stage.name != unit.stage);
    unit.scope.is_root() && others.all(|(_, other)| other.state.is_closed())
}

/// Returns true if nothing is there that could continue after a unit was given up.
fn ends_the_run(run: &Run, question: &Question) -> bool {
    if run.questions().nth(1).is_some() || !run.calls().is_empty() {
        return false;
    }
    let by = run.definition().start.by.clone();
    // A person who paused it will continue it.
    let mut run = run.clone();
    if let Phase::Held(_) = run.phase() {
        let resumed = Input::Command(Command::Resume { by: by.clone(), budget: None });
        let Ok(record) = decide(&run, run.now(), &resumed) else { return false };
        run.apply_record(&record);
    }
    let (question, answer, words) = (question.id, Answer::GiveUp, String::new());
    let given_up = Input::Command(Command::Answer { question, answer, words, by });
    let Ok(record) = decide(&run, run.now(), &given_up) else { return false };
    record.facts.iter().any(|fact| matches!(fact, Event::RunEnded { .. }))
}

/// Describes the work of a call in a few words, for lists of running calls.
pub fn describe_call(run: &Run, call: &CallId) -> String {
    let stage = run.stage(call.unit());
    match call {
        CallId::Attempt(_) => match &stage.work {
            Work::Agent { role } => agent_at_work(run, call, role),
            Work::Command { run } => format!("running {run}"),
            Work::Deliver { what } => format!("delivering the {}", what.as_str().replace('-', " ")),
            Work::Each { .. } | Work::Flow { .. } | Work::Nothing => "tasks".to_owned(),
        },
        CallId::Judgement(judgement) => {
            let gate = stage.gate(&judgement.gate).map(|position| &stage.gates[position].check);
            match gate {
                Some(Check::Review { role }) => agent_at_work(run, call, role),
                Some(Check::Command { run }) => format!("running {run}"),
                Some(Check::Artifact { name }) => format!("checking that {name} exists"),
                Some(Check::Outputs { .. }) => "checking what was written".to_owned(),
                Some(Check::BuiltIn { check }) => format!("checking that {}", check.description()),
                Some(Check::Verify) => "running checks".to_owned(),
                Some(Check::Land) => "merging into the run's branch".to_owned(),
                Some(Check::Human { .. }) | None => "waiting for an answer".to_owned(),
            }
        }
    }
}

fn agent_at_work(run: &Run, call: &CallId, role: &str) -> String {
    let simplified = if run.is_simplified(call) { ", with a simplified brief" } else { "" };
    format!("{role} at work{simplified}")
}

/// Returns the title of the item that a unit is in. That of the record which the run is about stands above all of them.
fn title(run: &Run, scope: &Scope) -> String {
    let item = run.definition().flow.item_scope(scope).and_then(|scope| run.item(&scope));
    item.map(|item| item.title.clone()).unwrap_or_default()
}
