//! Formats the standing of a run and its units for `status`.

use forge_core::{
    Time,
    view::{Amount, Course, RunRow, RunView, Standing, UnitState, UnitView},
};

use crate::{format, text_width};

/// The activity of a run: running calls, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Running,
    Idle,
}

/// Formats the standing of a run with the time until which it lasts.
pub(crate) fn standing_text(row: &RunRow, now: Time) -> String {
    match row.until {
        Some(until) => {
            format!("{} until {}", row.standing.label(), format::future_time(until, now))
        }
        None => row.standing.label().to_owned(),
    }
}

pub(crate) fn unit_line(unit: &UnitView, activity: Activity, now: Time, width: usize) -> String {
    let indent = "  ".repeat(usize::try_from(unit.depth).unwrap_or_default() + 1);
    let name =
        if unit.depth == 0 { unit.unit.as_str() } else { format::short_unit_name(&unit.unit) };
    let gate = unit.gate.as_deref().map(|gate| format!(" {gate}")).unwrap_or_default();
    let mut facts = Vec::new();
    if unit.attempt > 0 {
        facts.push(format!("#{}", unit.attempt));
    }
    if unit.round > 0 {
        facts.push(format!("round {}", unit.round));
    }
    if let Some((closed, all)) = unit.items.filter(|(_, all)| *all > 0) {
        facts.push(format!("{closed}/{all} items"));
    }
    if unit.amount() != Amount::default() {
        facts.push(unit.amount().to_short_text());
    }
    let is_running = activity == Activity::Running;
    if unit.state == UnitState::Asking
        || (is_running && matches!(unit.state, UnitState::Working | UnitState::Judging))
    {
        facts.push(format::age(unit.since, now));
    } else if unit.state == UnitState::Limited {
        facts.extend(unit.until.map(|until| format!("until {}", format::future_time(until, now))));
        facts.push(unit.why.clone());
    } else if unit.state == UnitState::Accepted && !unit.summary.is_empty() {
        facts.push(unit.summary.clone());
    }
    let state = format!("{}{gate}", state_text(unit.state, activity));
    // The state is shown however long the name is.
    let head = format::cut_end(&format!("{indent}{name}"), width.saturating_sub(40).max(26));
    let head = text_width::pad(&head, 26);
    format::cut_end(&format!("{head} {state:<20} {}", facts.join("  ")), width)
}

const fn state_text(state: UnitState, activity: Activity) -> &'static str {
    match state {
        UnitState::Waiting => "-",
        UnitState::Limited => "limited",
        UnitState::Working => match activity {
            Activity::Running => "working",
            Activity::Idle => "begun",
        },
        UnitState::Judging => match activity {
            Activity::Running => "in",
            Activity::Idle => "before",
        },
        UnitState::Asking => "asks you",
        UnitState::Accepted => "good",
        UnitState::Skipped => "skipped",
        UnitState::Failed => "FAILED",
        UnitState::Blocked => "BLOCKED",
    }
}

/// Returns the next command for a run that has stopped.
pub(crate) fn next_command(view: &RunView) -> Option<String> {
    let run = format::short_id(&view.row.run);
    let standing = view.row.standing;
    match standing.course() {
        Course::Held if standing == Standing::Parked && view.budget.is_some() => {
            Some(format!("forge resume {run} --budget AMOUNT"))
        }
        Course::Held if standing == Standing::Escalated => {
            Some(format!("forge log {run} (what failed); fix it, then forge resume {run}"))
        }
        Course::Driven | Course::Held => Some(format!("forge resume {run}")),
        Course::Failed => Some(format!("forge log {run} (what failed); forge resume {run}")),
        // A waiting run is continued by answers, which are shown with its questions.
        Course::Asking | Course::Over => None,
    }
}
