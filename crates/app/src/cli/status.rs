//! `forge status`: shows all runs as a list, or one run as a tree.

use std::{fmt::Write as _, io::IsTerminal as _, process::ExitCode};

use clap::Args;
use forge_api::{
    Error,
    clock::now,
    follow::RunSnapshot,
    forge::{Forge, RUNS_MAX},
};
use forge_core::{
    Time,
    view::{Course, ResultView, RunRow, Standing, sanitize, short_commit},
};

use super::common::{open_forge, print_json};
use crate::{
    format,
    live::{TerminalFeatures, tree_text},
    terminal_info,
    terminal_output::{self, coloured_symbol},
    text::{
        answer_text::OpenQuestions,
        end_card::checks_text,
        question_text::{PROOF_LINES, QuestionLayout, question_text},
        run_list::{line_below, list_headings, list_line},
        state_words::{DrivenBy, MergeState, TakenResults, listed_mark},
        status_text::{next_command, result_commands},
    },
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
                let taken = TakenResults::new(&forge, &rows);
                let width = terminal_info::terminal_width();
                let mut text = list_text(&rows, all, &lacks_driver, &taken, now(), width);
                if !rows.is_empty() && std::io::stdout().is_terminal() {
                    text = format!("{}\n{text}", list_headings(width));
                }
                if let Some(next) = next_of_list(&forge, &rows, &lacks_driver)? {
                    let _ = write!(text, "\n\nNext: {next}");
                }
                terminal_output::print_formatted(&text);
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
            let row = &snapshot.view.row;
            let merge = MergeState::new(&forge, row, snapshot.view.head.as_deref());
            let result = forge.result(&run)?;
            let features = TerminalFeatures::detect();
            let text = run_text(&snapshot, &result, driven_by, merge, width, features);
            terminal_output::print_formatted(&text);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Formats the list; it is sanitized.
fn list_text(
    rows: &[RunRow],
    all: u64,
    lacks_driver: &dyn Fn(&RunRow) -> bool,
    taken: &TakenResults,
    now: Time,
    width: usize,
) -> String {
    if rows.is_empty() {
        return "No runs yet. Start one: forge \"what you want\"\nOr watch one first: forge demo · All commands: forge help".to_owned();
    }
    let mut lines = Vec::new();
    for row in rows {
        let mark = listed_mark(row, DrivenBy::from_lock(!lacks_driver(row)), taken);
        let line = list_line(row, mark, now, width);
        lines.push(coloured_symbol(&line, mark.0, Some(mark.1)));
        lines.extend(line_below(row, now, width));
    }
    let more = all.saturating_sub(rows.len() as u64);
    if more > 0 {
        lines.push(format!("and {more} more runs (--json shows all)"));
    }
    lines.join("\n")
}

/// Returns the next command for the first run of a list that needs one.
fn next_of_list(
    forge: &Forge,
    rows: &[RunRow],
    lacks_driver: &dyn Fn(&RunRow) -> bool,
) -> Result<Option<String>, Error> {
    if let Some(row) = rows.iter().find(|row| row.asks.is_some()) {
        return Ok(Some(format!("forge attach {}", format::short_id(&row.run))));
    }
    let is_held = |row: &&RunRow| lacks_driver(row) || row.standing.course() == Course::Held;
    // What failed is of interest while nothing came after it.
    let has_failed = |row: &&RunRow| row.standing.course() == Course::Failed;
    let row = rows.iter().find(is_held).or_else(|| rows.first().filter(has_failed));
    match row {
        Some(row) => Ok(next_command(&forge.view(&row.run)?)),
        None => Ok(None),
    }
}

/// Formats one run: the tree of the live screen, where its result is and what checked it, and its questions.
fn run_text(
    snapshot: &RunSnapshot,
    result: &ResultView,
    driven_by: DrivenBy,
    merge: MergeState,
    width: usize,
    features: TerminalFeatures,
) -> String {
    let view = &snapshot.view;
    let mut text = tree_text(snapshot, driven_by, width, features);
    if let (Some(branch), Some(head)) = (&view.row.branch, &view.head) {
        let _ = write!(text, "\n\n Branch  {branch} at {}", short_commit(head));
        if view.row.standing == Standing::Done {
            let checks = checks_text(result);
            let _ =
                write!(text, "\n{}", sanitize(&format::hanging_parts(" Checks  ", &checks, width)));
        }
    }
    // In a pipe there is room for all.
    let lines = if std::io::stdout().is_terminal() { PROOF_LINES } else { usize::MAX };
    let layout = QuestionLayout::Printed { open: OpenQuestions::new(&view.asked), lines };
    for question in &view.asked {
        let question = question_text(&view.row.run, question, layout, width);
        let _ = write!(text, "\n\n{}", sanitize(&question));
    }
    let next = match (view.row.standing, &view.head) {
        (Standing::Done, Some(_)) => Some(result_commands(format::short_id(&view.row.run), merge)),
        (_, _) => next_command(view),
    };
    if let (Some(next), DrivenBy::Nothing) = (next, driven_by) {
        let _ = write!(text, "\n\n{}", format::hanging_parts("Next: ", &next, width));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = 1_794_751_530_000;

    fn row(id: &str, standing: &str, title: &str) -> RunRow {
        serde_json::from_value(serde_json::json!({
            "run": format!("20261115-x-{id}"), "flow": "quick", "title": title,
            "standing": standing, "stage": "implement", "questions": 0, "working": 0,
            "spent": 1_600_000, "unknown_costs": 1, "started_at": NOW - 200_000,
            "changed_at": NOW - 120_000,
        }))
        .expect("it is a row")
    }

    #[test]
    fn the_request_has_most_of_the_room_and_nothing_else_is_cut() {
        let mut asks = row("ckqv", "waiting", "Add a file named a");
        asks.asks =
            Some("The review ended twice without a verdict, and said nothing. What now?".into());
        let rows = [row("hkpi", "parked", "Make the sum better: costly"), asks];
        let list = |width| list_text(&rows, 2, &|_| false, &TakenResults::default(), NOW, width);
        assert_eq!(
            list(80),
            "\
■ hkpi  out of budget   Make the sum better: costly                $1.60+?    2m
? ckqv  needs you       Add a file named a                         $1.60+?    2m
        The review ended twice without a verdict, and said nothing. What now?"
        );
        assert_eq!(
            list(60),
            "\
■ hkpi  out of budget   Make the sum better:…  $1.60+?    2m
? ckqv  needs you       Add a file named a     $1.60+?    2m
        The review ended twice without a verdict, and said
        nothing. What now?"
        );
        assert_eq!(
            list(40).lines().next(),
            Some("■ hkpi  out of budget   Make the sum be…"),
            "cost and age give way to the request"
        );
        assert!(list(140).contains("implement"), "{}", list(140));
        assert_eq!(
            list_headings(80),
            "  RUN   STATE           REQUEST                                       COST   AGE"
        );
        assert!(list_headings(140).ends_with("QUESTION OR BRANCH"), "{}", list_headings(140));
    }
}
