//! `forge` without a command, at a terminal: what needs you, what runs, and what ended lately, with keys to open it.
//!
//! Not here: the live screen, and the whole list (`status.rs`).
//!
//! Invariant: nothing is changed here; each key calls a command that can be typed.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use forge_api::clock::now;
use forge_core::view::{Course, RunRow};

use super::{choose_run::run_line, common::open_forge, prompt::can_ask};
use crate::{
    picker::{self, PickedLine, pick},
    terminal_info, terminal_output,
    text::state_words::has_result,
};

/// The most runs that have ended and are listed.
const ENDED_MAX: usize = 8;
/// A command for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HomeAction {
    Attach(String),
    Show(String),
    Diff(String),
    Leave,
    /// The list of all runs: there is nothing to pick, or no terminal.
    List,
    /// This is not in a repository.
    Help,
}

/// Lets the person pick a run and what to do with it.
pub(crate) fn choose() -> HomeAction {
    let Ok(forge) = open_forge() else { return HomeAction::Help };
    let Ok((rows, _)) = forge.rows_to_list() else { return HomeAction::List };
    let rows = listed(rows, |run| forge.is_driven(run));
    if rows.is_empty() || !can_ask() || !io::stdout().is_terminal() {
        return HomeAction::List;
    }
    let now = now();
    let width = terminal_info::terminal_width().saturating_sub(picker::MARK_WIDTH);
    let merged =
        if rows.iter().any(has_result) { forge.merged_branches() } else { BTreeSet::new() };
    let lines: Vec<String> =
        rows.iter().map(|row| run_line(&forge, row, &merged, now, width)).collect();
    let picked = pick("Your runs", &lines, &[('a', "answer"), ('d', "diff")]);
    let Some(PickedLine { line, key }) = picked else { return HomeAction::Leave };
    let row = &rows[line];
    let run = row.run.clone();
    match (key, row.standing.course()) {
        (Some('d'), _) => HomeAction::Diff(run),
        (_, Course::Over) => HomeAction::Show(run),
        (_, Course::Driven | Course::Asking | Course::Held | Course::Failed) => {
            HomeAction::Attach(run)
        }
    }
}

/// Puts what needs a person first, then what runs, then what ended lately.
fn listed(rows: Vec<RunRow>, is_driven: impl Fn(&str) -> bool) -> Vec<RunRow> {
    let order = |row: &RunRow| match row.standing.course() {
        _ if row.questions > 0 => 0,
        Course::Driven if is_driven(&row.run) => 1,
        Course::Driven | Course::Asking | Course::Held => 2,
        Course::Failed | Course::Over => 3,
    };
    let mut rows = rows;
    rows.sort_by_cached_key(order);
    let open = rows.iter().filter(|row| order(row) < 3).count();
    rows.truncate(open + ENDED_MAX);
    rows
}

/// Prints the short help, for a `forge` without a command where there is nothing to list.
pub(crate) fn print_help(help: &str) -> ExitCode {
    terminal_output::print_stderr(help.trim_end());
    terminal_output::print_stderr("\nThis is not in a git repository. Try: forge demo");
    ExitCode::from(2)
}
