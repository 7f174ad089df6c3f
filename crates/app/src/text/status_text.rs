//! Formats the standing of a run and its units, for `status` and for the end of `run` and `resume`.

use std::{fmt::Write as _, path::Path};

use forge_core::{
    Time,
    view::{Amount, Course, RunRow, RunView, Standing, UnitState, UnitView, short_commit},
};

use super::{
    question_text::{QuestionLayout, question_text},
    result_text::done_but,
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
            format!("{} until {}", row.standing.as_str(), format::future_time(until, now))
        }
        None => row.standing.as_str().to_owned(),
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

/// Formats how a run ended or stopped, for the end of `run` and `resume`.
pub(crate) fn outcome_text(view: &RunView, folder: &Path, width: usize) -> String {
    let row = &view.row;
    let took = format::age(row.started_at, row.changed_at);
    let mut text = format!(
        "{}  {}{} after {took}, spent {}",
        row.run,
        standing_text(row, row.changed_at),
        done_but(row),
        row.amount().to_text()
    );
    if !row.why.is_empty() && row.standing != Standing::Done {
        let _ = write!(text, "\n{}", format::wrap(&row.why, 0, width));
    }
    if let (Some(head), Some(branch)) = (&view.head, &view.branch) {
        let _ = write!(text, "\nresult {} on {branch}", short_commit(head));
    }
    let _ = write!(text, "\nfolder {}", folder.display());
    for question in &view.asked {
        let _ = write!(
            text,
            "\n\n{}",
            question_text(&row.run, question, QuestionLayout::Printed, width)
        );
    }
    if row.standing == Standing::Waiting {
        let _ = write!(text, "\n\nafter your answer: forge resume {}", row.run);
    }
    if let Some(next) = next_command(view) {
        let _ = write!(text, "\nnext: {next}");
    }
    text
}

/// Returns the next command for a run that has stopped.
pub(crate) fn next_command(view: &RunView) -> Option<String> {
    let run = &view.row.run;
    let standing = view.row.standing;
    match standing.course() {
        Course::Held if standing == Standing::Parked && view.budget.is_some() => {
            Some(format!("forge resume {run} --budget AMOUNT"))
        }
        Course::Held if standing == Standing::Escalated => {
            Some(format!("forge log {run} (what failed), mend the cause, then forge resume {run}"))
        }
        Course::Driven | Course::Held => Some(format!("forge resume {run}")),
        Course::Failed => {
            Some(format!("forge log {run}; then, if it can be mended, forge resume {run}"))
        }
        // A waiting run is continued by answers, which are shown with its questions.
        Course::Asking | Course::Over => None,
    }
}
