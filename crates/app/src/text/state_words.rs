//! The symbols and words of states, on all screens: of a run, and of its stages and tasks.
//!
//! The words of `--json` and of the journal are others (`Standing::as_str`, `UnitState`); they stay.
//!
//! Invariant: a state is always a symbol and a word; its colour says nothing more.

use std::collections::BTreeSet;

use forge_api::{follow::RunSnapshot, forge::Forge};
use forge_core::{
    event::{End, Event, Outcome, Ruling},
    verdict::Verdict,
    view::{Course, ProofState, RunRow, Standing, UnitState, UnitView},
};

use crate::palette::Hue;

/// A state on a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateMark {
    pub(crate) symbol: &'static str,
    /// The colour of the symbol.
    pub(crate) hue: Option<Hue>,
    pub(crate) word: String,
}

/// The process that drives a run, as seen from this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrivenBy {
    ThisProcess,
    AnotherProcess,
    Nothing,
}

impl DrivenBy {
    /// Returns it for a run that this process does not drive, by whether its lock is held.
    pub(crate) const fn from_lock(is_held: bool) -> Self {
        if is_held { Self::AnotherProcess } else { Self::Nothing }
    }

    /// Returns true if a run could continue but has no driver.
    pub(crate) fn is_missing(self, snapshot: &RunSnapshot) -> bool {
        self == Self::Nothing && snapshot.view.row.standing.course() == Course::Driven
    }
}

/// Whether the branch that is checked out has the result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeState {
    Open,
    Merged,
    /// It was taken back.
    Undone,
}

impl MergeState {
    pub(crate) fn new(forge: &Forge, row: &RunRow, head: Option<&str>) -> Self {
        match head.filter(|_| row.standing == Standing::Done) {
            Some(head) if forge.is_merged(head) => Self::Merged,
            Some(_) if forge.is_undone(&row.run, row.branch.as_deref()) => Self::Undone,
            Some(_) | None => Self::Open,
        }
    }
}

/// Results that are no longer to be merged: they are already, or were taken back.
#[derive(Default)]
pub(crate) struct TakenResults {
    /// Branches that are part of the user's.
    merged: BTreeSet<String>,
    /// Runs that were undone.
    undone: BTreeSet<String>,
}

impl TakenResults {
    pub(crate) fn new(forge: &Forge, rows: &[RunRow]) -> Self {
        let mut done = rows.iter().filter(|row| has_result(row)).peekable();
        if done.peek().is_none() {
            return Self::default();
        }
        let undone = done.filter(|row| forge.is_undone(&row.run, row.branch.as_deref()));
        Self {
            undone: undone.map(|row| row.run.clone()).collect(),
            merged: forge.merged_branches(),
        }
    }
}

/// Tells whether work that was begun is really under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitActivity {
    UnderWay,
    /// The run stands still for this reason.
    Halted(Standing),
    /// No process drives the run.
    NotDriven,
}

impl UnitActivity {
    pub(crate) fn new(unit: &UnitView, snapshot: &RunSnapshot, driven_by: DrivenBy) -> Self {
        let standing = snapshot.view.row.standing;
        // What was under way when a run was paused may end.
        let inside = format!("{}.", unit.unit);
        let mut calls = snapshot.working.keys();
        let has_call = calls.any(|name| *name == unit.unit || name.starts_with(&inside));
        match standing.course() {
            _ if driven_by.is_missing(snapshot) => Self::NotDriven,
            Course::Driven | Course::Asking => Self::UnderWay,
            Course::Held | Course::Failed | Course::Over
                if has_call && driven_by != DrivenBy::Nothing =>
            {
                Self::UnderWay
            }
            Course::Held | Course::Failed | Course::Over => Self::Halted(standing),
        }
    }
}

/// Returns true if a person paused or stopped the run.
pub(crate) fn is_halted(standing: Standing) -> bool {
    standing == Standing::Paused || standing.is_stopped()
}

/// Returns the symbol of a run's state, and its colour.
pub(crate) const fn standing_symbol(standing: Standing) -> (&'static str, Hue) {
    match standing {
        Standing::Going => ("●", Hue::Blue),
        Standing::Waiting => ("?", Hue::Yellow),
        Standing::Limited => ("◌", Hue::Yellow),
        Standing::Paused
        | Standing::Interrupted
        | Standing::Stopped
        | Standing::Parked
        | Standing::Abandoned => ("■", Hue::Yellow),
        Standing::Done => ("✓", Hue::Green),
        Standing::Failed | Standing::Blocked | Standing::Escalated => ("✗", Hue::Red),
    }
}

/// Returns the symbol of a run, its colour and its word: a result that cannot be trusted has no check mark.
pub(crate) fn row_mark(row: &RunRow, driven_by: DrivenBy) -> (&'static str, Hue, &'static str) {
    let (symbol, hue) = standing_symbol(row.standing);
    match row.doubt {
        _ if is_ending_calls(row, driven_by) => {
            let word = if row.standing == Standing::Paused { "pausing" } else { "stopping" };
            (symbol, hue, word)
        }
        Some(ProofState::Red) => ("!", Hue::Yellow, "check failed"),
        Some(ProofState::Unverified) => ("!", Hue::Yellow, "unverified"),
        _ if row.unfinished > 0 => ("!", Hue::Yellow, "tasks left"),
        _ if row.serious_findings > 0 => ("!", Hue::Yellow, "finding open"),
        _ if row.standing == Standing::Done && !has_result(row) => (symbol, hue, "done, no change"),
        Some(ProofState::Verified | ProofState::NothingLanded) | None => {
            (symbol, hue, row.standing.label())
        }
    }
}

/// Returns true if a person paused or stopped a run, and agents that worked before have not ended.
pub(crate) fn is_ending_calls(row: &RunRow, driven_by: DrivenBy) -> bool {
    is_halted(row.standing) && row.working > 0 && driven_by != DrivenBy::Nothing
}

/// Returns the same for a list, by who drives the run, and by what became of its result.
pub(crate) fn listed_mark(
    row: &RunRow,
    driven_by: DrivenBy,
    taken: &TakenResults,
) -> (&'static str, Hue, &'static str) {
    if driven_by == DrivenBy::Nothing && row.standing.course() == Course::Driven {
        return ("■", Hue::Yellow, "not running");
    }
    if taken.undone.contains(&row.run) {
        return ("■", Hue::Yellow, "undone");
    }
    let (symbol, hue, word) = row_mark(row, driven_by);
    let is_merged = row.branch.as_ref().is_some_and(|branch| taken.merged.contains(branch));
    (symbol, hue, if is_merged && has_result(row) { "merged" } else { word })
}

/// Returns true if a run is done and changed something.
pub(crate) fn has_result(row: &RunRow) -> bool {
    row.standing == Standing::Done && row.why.is_empty()
}

/// Returns the state of a unit: its tasks, or a word with its revision or attempt.
pub(crate) fn unit_mark(unit: &UnitView, activity: UnitActivity) -> StateMark {
    let is_begun =
        matches!(unit.state, UnitState::Working | UnitState::Judging | UnitState::Limited);
    let is_halted = match activity {
        UnitActivity::Halted(standing) => is_begun || halted_word(unit, standing).is_some(),
        UnitActivity::NotDriven => is_begun,
        UnitActivity::UnderWay => false,
    };
    let (symbol, hue) = match (is_halted, unit.overridden) {
        (true, _) => ("■", Some(Hue::Yellow)),
        (false, true) => ("!", Some(Hue::Yellow)),
        (false, false) => unit_symbol(unit.state),
    };
    StateMark { symbol, hue, word: unit_word(unit, activity) }
}

/// Returns the symbol of a unit's state, and its colour.
pub(crate) const fn unit_symbol(state: UnitState) -> (&'static str, Option<Hue>) {
    match state {
        UnitState::Waiting => ("·", None),
        UnitState::Limited => ("◌", Some(Hue::Yellow)),
        UnitState::Working | UnitState::Judging => ("●", Some(Hue::Blue)),
        UnitState::Asking => ("?", Some(Hue::Yellow)),
        UnitState::Accepted => ("✓", Some(Hue::Green)),
        UnitState::Skipped => ("-", None),
        UnitState::Failed | UnitState::Blocked => ("✗", Some(Hue::Red)),
    }
}

/// Returns the symbol of what happened in a run, and its colour.
pub(crate) fn fact_symbol(fact: &Event) -> (&'static str, Option<Hue>) {
    let (good, bad, needs_you) = (Some(Hue::Green), Some(Hue::Red), Some(Hue::Yellow));
    match fact {
        Event::RunStarted(_) | Event::RunResumed { .. } => ("●", Some(Hue::Blue)),
        Event::UnitAccepted { .. }
        | Event::Landed { .. }
        | Event::GatePassed { .. }
        | Event::Judged { ruling: Ruling::Verdict(Verdict::Pass { .. }), .. }
        | Event::RunEnded { end: End::Done, .. } => ("✓", good),
        Event::AttemptEnded { outcome: Outcome::Limited { .. }, .. }
        | Event::Judged { ruling: Ruling::Limited { .. }, .. } => ("◌", needs_you),
        Event::UnitFailed { .. }
        | Event::AttemptEnded {
            outcome: Outcome::Fault { .. } | Outcome::Blocked { .. }, ..
        }
        | Event::Judged {
            ruling:
                Ruling::Verdict(_)
                | Ruling::Fault { .. }
                | Ruling::Unverified { .. }
                | Ruling::Blocked { .. },
            ..
        }
        | Event::RunEnded { .. } => ("✗", bad),
        Event::QuestionAsked(_) => ("?", needs_you),
        Event::RunHeld { .. } => ("■", needs_you),
        Event::Noticed { .. } | Event::ItemsLeft { .. } | Event::GateWaived { .. } => {
            ("!", needs_you)
        }
        Event::AttemptEnded { .. }
        | Event::Judged { ruling: Ruling::Lost | Ruling::Interrupted, .. }
        | Event::BudgetRaised { .. }
        | Event::SettingsChanged { .. }
        | Event::ItemsListed { .. }
        | Event::Answered { .. }
        | Event::UnitReopened { .. }
        | Event::Edited { .. }
        | Event::RunRewound { .. }
        | Event::AttemptStarted { .. }
        | Event::CallAssigned { .. }
        | Event::WorkPassedOn { .. }
        | Event::JudgementStarted { .. }
        | Event::UnitSkipped { .. }
        | Event::GateSkipped { .. }
        | Event::NeedsAsked { .. }
        | Event::NeedsMet { .. }
        | Event::PathsWanted { .. }
        | Event::PathsTaken { .. }
        | Event::PathsClaimed { .. }
        | Event::CallSettled { .. }
        | Event::EndingKeyAdded { .. }
        | Event::EffectIntended { .. }
        | Event::EffectDone { .. } => ("·", None),
    }
}

/// Returns the word for a unit that waits: a run that failed or is over will not start it.
pub(crate) const fn waiting_word(course: Course) -> &'static str {
    match course {
        Course::Driven | Course::Asking | Course::Held => "pending",
        Course::Failed | Course::Over => "not started",
    }
}

/// Returns the word of a run that stands still for a unit of it that was begun, is not finished, and is asked about by
/// nobody any more.
fn halted_word(unit: &UnitView, standing: Standing) -> Option<&'static str> {
    let is_halted = match (unit.state, standing.course()) {
        (UnitState::Waiting, Course::Held | Course::Over) => unit.attempt > 0,
        (UnitState::Asking, Course::Over) => true,
        (_, _) => false,
    };
    is_halted.then(|| standing.label())
}

fn unit_word(unit: &UnitView, activity: UnitActivity) -> String {
    if let Some((closed, all)) = unit.items.filter(|(_, all)| *all > 0)
        && !matches!(unit.state, UnitState::Asking | UnitState::Skipped)
    {
        return format!("{closed} of {all} tasks");
    }
    let word = match (unit.state, activity) {
        (
            UnitState::Working | UnitState::Judging | UnitState::Limited,
            UnitActivity::Halted(standing),
        ) => {
            return standing.label().to_owned();
        }
        (UnitState::Working | UnitState::Judging | UnitState::Limited, UnitActivity::NotDriven) => {
            return "not running".to_owned();
        }
        (UnitState::Judging, UnitActivity::UnderWay) => match unit.gate.as_deref() {
            Some("land") => "merging".to_owned(),
            Some("verify" | "form" | "changes" | "guarded") => "in checks".to_owned(),
            Some(gate) => format!("in {gate}"),
            None => "in review".to_owned(),
        },
        (UnitState::Working, UnitActivity::UnderWay) => "running".to_owned(),
        (UnitState::Waiting | UnitState::Asking, UnitActivity::Halted(standing))
            if halted_word(unit, standing).is_some() =>
        {
            return standing.label().to_owned();
        }
        (UnitState::Waiting, UnitActivity::Halted(standing))
            if standing.course() == Course::Failed && unit.attempt > 0 =>
        {
            "not finished".to_owned()
        }
        (UnitState::Waiting, UnitActivity::Halted(standing)) => {
            waiting_word(standing.course()).to_owned()
        }
        (UnitState::Waiting, _) if !unit.waits_for.is_empty() => {
            format!("waits for {}", unit.waits_for.join(", "))
        }
        (UnitState::Waiting, _) => "pending".to_owned(),
        (UnitState::Limited, _) => "rate-limited".to_owned(),
        (UnitState::Asking, _) => return "needs you".to_owned(),
        (UnitState::Accepted, _) if unit.overridden => "done, overridden".to_owned(),
        (UnitState::Accepted, _) => "done".to_owned(),
        (UnitState::Skipped, _) => return "skipped".to_owned(),
        (UnitState::Failed, _) => "failed".to_owned(),
        (UnitState::Blocked, _) => "blocked".to_owned(),
    };
    match (unit.round, unit.attempt, unit.state) {
        (0, 2.., UnitState::Working) | (1.., 2.., _) => format!("{word}, attempt {}", unit.attempt),
        (_, _, _) => word,
    }
}
