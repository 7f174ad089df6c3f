//! `forge status`: shows all runs as a list, or one run as a tree.

use std::{collections::BTreeSet, fmt::Write as _, process::ExitCode};

use clap::Args;
use forge_api::{Error, clock::now, follow::RunSnapshot, forge::RUNS_MAX};
use forge_core::{
    Time,
    view::{Course, RunRow, Standing, sanitize, short_commit},
};

use super::common::{open_forge, print_json};
use crate::{
    format,
    live::{TerminalFeatures, tree_text},
    terminal_info,
    terminal_output::{self, coloured_symbol},
    text::{
        answer_text::OpenQuestions,
        question_text::{QuestionLayout, question_text},
        state_words::{DrivenBy, has_result, listed_mark},
        status_text::next_command,
    },
    text_width,
};

/// List all runs, or show one: its stages, questions and cost
#[derive(Args)]
pub(crate) struct StatusArgs {
    /// Name the run; all runs by default
    pub(crate) run: Option<String>,
    /// Show one run live, as `forge attach` does
    #[arg(long, conflicts_with = "json")]
    pub(crate) watch: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The most lines of the list; `--json` shows all runs.
const LINES_MAX: usize = 50;

impl StatusArgs {
    /// Returns the arguments that list all runs.
    pub(crate) const fn all() -> Self {
        Self { run: None, watch: false, json: false }
    }

    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let Some(prefix) = &self.run else {
            if self.json {
                print_json(&forge.rows(RUNS_MAX)?.0);
            } else {
                let (mut rows, all) = forge.rows_to_list()?;
                let lacks_driver =
                    |row: &RunRow| row.standing == Standing::Going && !forge.is_driven(&row.run);
                // First what needs a person, then what runs, and last what is over.
                rows.sort_by_cached_key(|row| {
                    let needs_more = row.questions > 0 || lacks_driver(row);
                    let is_over = match row.standing.course() {
                        Course::Driven | Course::Asking | Course::Held => false,
                        Course::Failed | Course::Over => true,
                    };
                    (row.standing != Standing::Waiting, !needs_more, is_over)
                });
                rows.truncate(LINES_MAX);
                let merged = if rows.iter().any(has_result) {
                    forge.merged_branches()
                } else {
                    BTreeSet::new()
                };
                terminal_output::print_raw(&list_text(
                    &rows,
                    all,
                    &lacks_driver,
                    &merged,
                    now(),
                    terminal_info::terminal_width(),
                ));
            }
            return Ok(ExitCode::SUCCESS);
        };
        let run = forge.resolve(prefix)?;
        let view = forge.view(&run)?;
        if self.json {
            print_json(&view);
        } else {
            let snapshot = RunSnapshot { view, ..forge.follow(&run)?.look()? };
            let driven_by = DrivenBy::from_lock(forge.is_driven(&run));
            let width = terminal_info::terminal_width();
            let text = run_text(&snapshot, driven_by, width, TerminalFeatures::detect());
            terminal_output::print_raw(&text);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The columns of the list whose widths do not depend on the terminal.
const STATE_WIDTH: usize = 15;
const STAGE_WIDTH: usize = 12;
const COST_WIDTH: usize = 9;
const AGE_WIDTH: usize = 9;
/// From this width on, the list has a column for questions and branches.
const WIDE: usize = 120;

/// Formats the list; it is sanitized.
fn list_text(
    rows: &[RunRow],
    all: u64,
    lacks_driver: &dyn Fn(&RunRow) -> bool,
    merged: &BTreeSet<String>,
    now: Time,
    width: usize,
) -> String {
    if rows.is_empty() {
        return "No runs yet. Start one: forge \"what you want\"".to_owned();
    }
    let last_width = if width >= WIDE { width * 3 / 10 } else { 0 };
    let fixed = 2 + 6 + STATE_WIDTH + STAGE_WIDTH + COST_WIDTH + 2 + AGE_WIDTH;
    let title_width = width.saturating_sub(fixed + last_width + 2).max(10);
    let mut lines = Vec::new();
    for row in rows {
        let (symbol, hue, state) = {
            let driven_by = DrivenBy::from_lock(!lacks_driver(row));
            listed_mark(row, driven_by, merged)
        };
        let id = format::short_id(&row.run);
        let branch = row.branch.as_deref().filter(|_| has_result(row));
        let last = row.asks.as_deref().or(branch).unwrap_or_default();
        let line = format!(
            "{symbol} {id:<6}{}{}{}{:>COST_WIDTH$}  {:>AGE_WIDTH$}{}",
            text_width::pad(state, STATE_WIDTH),
            text_width::pad(
                &format::one_line(row.stage.as_deref().unwrap_or_default(), STAGE_WIDTH - 1),
                STAGE_WIDTH
            ),
            text_width::pad(&format::one_line(&row.title, title_width), title_width),
            row.amount().to_short_text(),
            format!("{} ago", format::age(row.changed_at, now)),
            if last_width > 0 { format!("  {last}") } else { String::new() },
        );
        let line = sanitize(&format::cut_end(&line, width));
        lines.push(coloured_symbol(&line, symbol, Some(hue)));
        if let (Some(asks), 0) = (&row.asks, last_width) {
            lines.push(sanitize(&format::cut_end(&format!("         {asks}"), width)));
        }
    }
    let more = all.saturating_sub(rows.len() as u64);
    if more > 0 {
        lines.push(format!("and {more} more runs (--json shows all)"));
    }
    if let Some(row) = rows.iter().find(|row| row.asks.is_some()) {
        lines.push(format!("\nAnswer: forge attach {}", format::short_id(&row.run)));
    } else if let Some(row) = rows.iter().find(|row| lacks_driver(row)) {
        lines.push(format!("\nResume: forge resume {}", format::short_id(&row.run)));
    }
    lines.join("\n")
}

/// Formats one run: the tree of the live screen, where its result is, and its questions.
fn run_text(
    snapshot: &RunSnapshot,
    driven_by: DrivenBy,
    width: usize,
    features: TerminalFeatures,
) -> String {
    let view = &snapshot.view;
    let mut text = tree_text(snapshot, driven_by, width, features);
    if let (Some(branch), Some(head)) = (&view.row.branch, &view.head) {
        let _ = write!(text, "\n\n Branch  {branch} at {}", short_commit(head));
    }
    let layout = QuestionLayout::Printed { open: OpenQuestions::new(&view.asked) };
    for question in &view.asked {
        let question = question_text(&view.row.run, question, layout, width);
        let _ = write!(text, "\n\n{}", sanitize(&question));
    }
    if let (Some(next), DrivenBy::Nothing) = (next_command(view), driven_by) {
        let _ = write!(text, "\n\nNext: {next}");
    }
    text
}
