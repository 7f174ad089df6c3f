//! `forge` without a command, at a terminal: what needs you, what runs, and what ended lately, with keys to open it.
//!
//! Not here: the live screen, and the whole list (`status.rs`).
//!
//! Invariant: nothing is changed here; each key calls a command that can be typed.

use std::io::{self, IsTerminal as _};

use forge_api::clock::now;
use forge_core::view::Course;

use super::{
    choose_run::{need_order, run_line},
    common::open_forge,
    prompt::can_ask,
};
use crate::{
    format,
    picker::{self, PickedLine, pick_from},
    terminal_info,
    text::{
        run_list::list_headings,
        state_words::{TakenResults, has_result},
    },
};

/// A command for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HomeAction {
    Attach(String),
    Show(String),
    Diff(String),
    Merge(String),
    Leave,
    /// The list of all runs: there is nothing to pick, or no terminal.
    List,
    NoRepository,
}

/// Lets the person pick a run and what to do with it.
pub(crate) fn choose() -> HomeAction {
    let Ok(forge) = open_forge() else { return HomeAction::NoRepository };
    let Ok((rows, _)) = forge.rows_to_list() else { return HomeAction::List };
    let mut rows = rows;
    rows.sort_by_cached_key(|row| need_order(&forge, row));
    if rows.is_empty() || !can_ask() || !io::stdout().is_terminal() {
        return HomeAction::List;
    }
    let now = now();
    let width = terminal_info::terminal_width().saturating_sub(picker::MARK_WIDTH);
    let taken = TakenResults::new(&forge, &rows);
    let lines: Vec<String> =
        rows.iter().map(|row| run_line(&forge, row, &taken, now, width)).collect();
    let indent = " ".repeat(picker::MARK_WIDTH);
    let headings = format!("{indent}{}", list_headings(width));
    let keys = [('a', "answer"), ('d', "diff"), ('m', "merge")];
    let (mut title, mut marked) = ("Your runs".to_owned(), 0);
    loop {
        let picked = pick_from(&format!("{title}\n{headings}"), &lines, &keys, marked);
        let Some(PickedLine { line, key }) = picked else { return HomeAction::Leave };
        let row = &rows[line];
        let run = row.run.clone();
        match (key, row.standing.course()) {
            (Some('d'), _) if forge.changed_files(&run).is_ok_and(|files| files.is_empty()) => {
                let id = format::short_id(&run);
                (title, marked) = (format!("Your runs ({id} has no changes to show)"), line);
            }
            (Some('d'), _) => return HomeAction::Diff(run),
            (Some('m'), _) if has_result(row) => return HomeAction::Merge(run),
            (Some('m'), _) => {
                let id = format::short_id(&run);
                (title, marked) = (format!("Your runs ({id} has no result to merge)"), line);
            }
            (_, Course::Over) => return HomeAction::Show(run),
            (_, Course::Driven | Course::Asking | Course::Held | Course::Failed) => {
                return HomeAction::Attach(run);
            }
        }
    }
}
