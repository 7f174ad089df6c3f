//! One line about a run, as lists of runs show it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Effect, Time,
    event::{End, Hold},
    flow::{Delivery, Stage, Work},
    id::{Scope, UnitId},
    money::Money,
    path_claims::{PathClaim, claims},
    run::{LookState, Phase, Run, State, TableStatus, Unit},
    wanted,
};

use super::{
    format::{Amount, first_line},
    open_findings::open_findings,
    proof::ProofState,
    question_words::question_text_in,
    sentence::held_because,
    standing::Standing,
};

impl Standing {
    /// Returns where a run stands.
    pub fn from_run(run: &Run) -> Self {
        match run.phase() {
            Phase::Fresh => Self::Going,
            Phase::Going => Self::going(run),
            Phase::Held(Hold::Paused { .. }) => Self::Paused,
            Phase::Held(Hold::Interrupted { .. }) => Self::Interrupted,
            Phase::Held(Hold::Stopped { .. }) => Self::Stopped,
            Phase::Held(Hold::OutOfBudget { .. } | Hold::Unfinished { .. }) => Self::Parked,
            Phase::Held(Hold::Escalated { .. }) => Self::Escalated,
            Phase::Over(End::Done) => Self::Done,
            Phase::Over(End::Failed) => Self::Failed,
            Phase::Over(End::Blocked) => Self::Blocked,
            Phase::Over(End::Abandoned) => Self::Abandoned,
        }
    }

    fn going(run: &Run) -> Self {
        let (mut asks, mut wakes) = (0, 0);
        for effect in wanted(run) {
            match effect {
                Effect::Work { .. }
                | Effect::Judge { .. }
                | Effect::Claim { .. }
                | Effect::Need { .. } => {
                    return Self::Going;
                }
                Effect::Ask { .. } => asks += 1,
                Effect::Wake { .. } => wakes += 1,
            }
        }
        match (wakes, asks) {
            (0, 0) => Self::Going,
            (0, _) => Self::Waiting,
            (_, _) => Self::Limited,
        }
    }
}

/// Why a run that is done has no result.
pub(super) const NOTHING_CHANGED: &str = "nothing was changed";

/// The most characters of a request that a list shows.
const TITLE_CHARS_MAX: usize = 80;

/// The most characters of a question that a list shows, on lines of its own.
const ASKS_CHARS_MAX: usize = 240;

/// One line of `forge status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunRow {
    pub run: String,
    pub flow: String,
    /// The beginning of the request.
    pub title: String,
    /// Where the request comes from: the address of an issue, or the folder of an older run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub standing: Standing,
    /// The reason of the state, where one is needed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Why the result of a run that is done is not verified: `unverified` (no checks), or `red` (a check failed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<ProofState>,
    /// The first stage that is not finished, while the run is not over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The branch of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The address of the pull request that the run opened itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<String>,
    /// The first open question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// When the run continues, if it is rate-limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Open questions.
    pub questions: u32,
    /// The number of running calls.
    pub working: u32,
    /// Reported spending, in micro-dollars.
    pub spent: Money,
    /// Estimated spending that was not reported, in micro-dollars. It is added to `spent`.
    #[serde(default, skip_serializing_if = "Money::is_zero")]
    pub estimated: Money,
    /// The number of calls of unknown price.
    pub unknown_costs: u32,
    pub started_at: Time,
    /// The time of the last change.
    pub changed_at: Time,
    /// How long the run waited for a person with nothing running, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
    /// The part of it in which it was paused, stopped, out of budget or over, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_ms: u64,
    /// Critical and major findings that are left in the result of a run that is done.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub serious_findings: u32,
    /// Tasks that are not in the result of a run that is done.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished: u32,
    /// Paths that its open work may write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<PathClaim>,
}

pub(super) fn is_zero<T: Default + PartialEq>(n: &T) -> bool {
    *n == T::default()
}

fn n_serious(run: &Run) -> u32 {
    let left = open_findings(run);
    let serious = left.iter().filter(|left| left.finding.is_serious());
    u32::try_from(serious.count()).unwrap_or(u32::MAX)
}

/// Counts the items that a stage was accepted without, and those that were left out when the run began.
fn n_unfinished(run: &Run) -> u32 {
    let about = run.definition().start.about.as_ref();
    let left_out = about.map_or(0, |about| about.left_out.len());
    let accepted = run.units().into_iter().filter(|(_, _, unit)| unit.state == State::Accepted);
    let left = accepted.flat_map(|(_, _, unit)| unit.inner.standings());
    let left = left.filter(|standing| *standing != TableStatus::Closed);
    u32::try_from(left_out + left.count()).unwrap_or(u32::MAX)
}

impl RunRow {
    /// Returns the line of a run.
    pub fn new(id: &str, run: &Run) -> Self {
        let (flow, title, started_at) = if run.is_started() {
            let start = &run.definition().start;
            (start.flow.clone(), title(&start.request), run.started_at())
        } else {
            (String::new(), String::new(), run.now())
        };
        let standing = Standing::from_run(run);
        let limit = if standing == Standing::Limited { soonest(run) } else { None };
        Self {
            run: id.to_owned(),
            flow,
            title,
            source: run.is_started().then(|| run.definition().start.source.clone()).flatten(),
            standing,
            doubt: doubt(run).filter(|_| standing == Standing::Done),
            stage: stage(run),
            branch: run.branch().map(str::to_owned),
            pull_request: pull_request(run),
            asks: asks(run),
            until: limit.as_ref().map(|(until, _)| *until),
            why: limit.map_or_else(|| why(run), |(_, what)| what),
            questions: match run.phase() {
                // Nobody has to answer any more.
                Phase::Over(_) => 0,
                Phase::Fresh | Phase::Going | Phase::Held(_) => {
                    u32::try_from(run.questions().count()).unwrap_or(u32::MAX)
                }
            },
            working: u32::try_from(run.calls().len()).unwrap_or(u32::MAX),
            spent: run.ledger().known,
            estimated: run.ledger().estimated,
            unknown_costs: run.ledger().n_unknown,
            started_at,
            changed_at: run.now(),
            waited_ms: run.waited_ms(),
            held_ms: run.held_ms(),
            serious_findings: if standing == Standing::Done { n_serious(run) } else { 0 },
            unfinished: if standing == Standing::Done { n_unfinished(run) } else { 0 },
            claims: claims(run),
        }
    }

    /// Returns the cost with its unknown parts.
    pub fn amount(&self) -> Amount {
        let (known, estimated) = (self.spent, self.estimated);
        Amount { known, estimated, unknown_calls: self.unknown_costs }
    }
}

/// Returns the address of the pull request that a run opened. Its text is a file, which has none.
fn pull_request(run: &Run) -> Option<String> {
    let mut done = run.history().done.iter().rev();
    let opened = done.find(|done| {
        let unit = &done.attempt.unit;
        let work = run.has(unit).then(|| &run.stage(unit).work);
        work == Some(&Work::Deliver { what: Delivery::PullRequest })
            && done.reference.contains("://")
    });
    opened.map(|opened| opened.reference.clone())
}

/// Returns the first stage that is not finished.
fn stage(run: &Run) -> Option<String> {
    if matches!(run.phase(), Phase::Over(_)) || !run.is_started() {
        return None;
    }
    let (stages, table) = run.table(&Scope::root());
    let is_open = |(_, unit): &(&Stage, &Unit)| match unit.state {
        State::Waiting | State::Working | State::Judging { .. } | State::Asking { .. } => true,
        State::Accepted | State::Skipped | State::Failed { .. } => false,
    };
    let mut units = stages.iter().zip(&table.units);
    units.find(is_open).map(|(stage, _)| stage.name.clone())
}

/// Returns the first open question, while somebody has to answer it.
fn asks(run: &Run) -> Option<String> {
    match run.phase() {
        Phase::Over(_) => None,
        Phase::Fresh | Phase::Going | Phase::Held(_) => {
            let first = run.questions().next();
            first.map(|question| first_line(&question_text_in(run, question), ASKS_CHARS_MAX))
        }
    }
}

/// Returns when the first limit is over, and which one it is.
fn soonest(run: &Run) -> Option<(Time, String)> {
    let wake = |effect| match effect {
        Effect::Wake { at } => Some(at),
        Effect::Work { .. }
        | Effect::Judge { .. }
        | Effect::Ask { .. }
        | Effect::Claim { .. }
        | Effect::Need { .. } => None,
    };
    let until = wanted(run).into_iter().find_map(wake)?;
    let units = run.units();
    let waits = |unit: &Unit| is_limited(run, unit) && unit.not_before == until;
    let unit = units.iter().map(|(_, _, unit)| unit).find(|unit| waits(unit));
    Some((until, unit.map(|unit| unit.waits_for.clone()).unwrap_or_default()))
}

/// Returns the first line of a request, cut.
fn title(request: &str) -> String {
    let line = request.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    if line.chars().count() <= TITLE_CHARS_MAX {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE_CHARS_MAX - 1).collect();
    format!("{}…", cut.trim_end())
}

fn why(run: &Run) -> String {
    match run.phase() {
        Phase::Held(hold) => held_because(hold),
        Phase::Over(End::Failed | End::Blocked) => {
            let units = run.units();
            let failed = units.iter().filter(|(_, _, unit)| {
                matches!(unit.state, State::Failed { .. }) && unit.inner.is_empty()
            });
            let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
            for (id, _, _) in failed {
                let reason = failure_reason(run, id);
                match reasons.iter_mut().find(|(other, _)| *other == reason) {
                    Some((_, units)) => units.push(id.label()),
                    None => reasons.push((reason, vec![id.label()])),
                }
            }
            let words = reasons.into_iter().map(|(reason, units)| match reason.as_str() {
                "" => units.join(", "),
                reason => format!("{}: {reason}", units.join(", ")),
            });
            words.collect::<Vec<String>>().join("; ")
        }
        Phase::Over(End::Done) if run.changed_nothing() => NOTHING_CHANGED.to_owned(),
        Phase::Fresh | Phase::Going | Phase::Over(End::Done | End::Abandoned) => String::new(),
    }
}

/// Returns what is known of the result, if that is not that its checks succeeded.
fn doubt(run: &Run) -> Option<ProofState> {
    let proof = ProofState::from_colours(run.tree(), &run.colours_on_result());
    match proof {
        ProofState::Verified | ProofState::NothingLanded => None,
        ProofState::Unverified | ProofState::Red => Some(proof),
    }
}

/// Returns the last reason why a unit failed.
fn failure_reason(run: &Run, unit: &UnitId) -> String {
    let mut reasons = run.history().failed.iter().filter(|failed| failed.unit == *unit);
    let last = reasons.next_back();
    last.map(|failed| first_line(&failed.reason, TITLE_CHARS_MAX)).unwrap_or_default()
}

/// Returns true if a unit could go on, but for a limit.
pub(super) fn is_limited(run: &Run, unit: &Unit) -> bool {
    let waits =
        matches!(unit.state, State::Waiting | State::Judging { look: LookState::Pending, .. });
    waits && unit.not_before > run.now()
}
