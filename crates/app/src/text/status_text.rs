//! Formats the state of a run, and the command that continues it.

use forge_core::{
    Time,
    money::Money,
    view::{Course, RunRow, RunView, Standing},
};

use super::state_words::{DrivenBy, MergeState, row_mark};
use crate::format;

/// Formats the standing of a run with the time until which it lasts.
pub(crate) fn standing_text(row: &RunRow, now: Time) -> String {
    match row.until {
        Some(until) => {
            format!("{} until {}", row.standing.label(), format::future_time(until, now))
        }
        None => row_mark(row, DrivenBy::Nothing).2.to_owned(),
    }
}

/// Returns the commands that make use of a result.
pub(crate) fn result_commands(id: &str, merge: MergeState) -> String {
    match merge {
        MergeState::Open => {
            format!("forge diff {id} · forge merge {id} · forge pr {id} · forge show {id}")
        }
        MergeState::Merged => format!("forge show {id} · forge clean"),
        // Once more it says how the result is brought back.
        MergeState::Undone => format!("forge show {id} · forge undo {id}"),
    }
}

/// Returns a budget that lets a run continue.
fn next_budget(view: &RunView) -> Money {
    let mut used = view.row.spent;
    used += view.row.estimated;
    used += view.unknown_at_most;
    used.max(view.budget.unwrap_or_default()).next_budget()
}

/// Returns the next command for a run that has stopped.
pub(crate) fn next_command(view: &RunView) -> Option<String> {
    let run = format::short_id(&view.row.run);
    let standing = view.row.standing;
    match standing.course() {
        Course::Held if standing == Standing::Parked && view.budget.is_some() => {
            Some(format!("forge resume {run} --budget {}", next_budget(view).to_short_decimal()))
        }
        Course::Held if standing == Standing::Escalated => {
            Some(format!("forge log {run} · forge resume {run}"))
        }
        Course::Driven | Course::Held => Some(format!("forge resume {run}")),
        Course::Failed => {
            Some(format!("forge log {run} · forge resume {run} · forge abandon {run}"))
        }
        // A waiting run is continued by answers, which are shown with its questions.
        Course::Asking | Course::Over => None,
    }
}
