//! `forge status`: shows all runs as a list, or one run as a tree.

use std::{fmt::Write as _, path::Path, process::ExitCode};

use clap::Args;
use forge_api::{Error, clock::now, forge::RUNS_MAX};
use forge_core::{
    Time,
    view::{RunRow, RunView, Standing, short_commit},
};

use super::common::{open_forge, print_json};
use crate::{
    format, terminal_info, terminal_output,
    text::{
        question_text::{QuestionLayout, question_text},
        status_text::{Activity, next_command, standing_text, unit_line},
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
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let Some(prefix) = &self.run else {
            if self.json {
                print_json(&forge.rows(RUNS_MAX)?.0);
            } else {
                let (mut rows, all) = forge.rows(RUNS_MAX)?;
                let lacks_driver =
                    |row: &RunRow| row.standing == Standing::Going && !forge.is_driven(&row.run);
                // Runs that wait for a person come first, then those that nothing drives.
                rows.sort_by_cached_key(|row| {
                    let needs_more = row.questions > 0 || lacks_driver(row);
                    (row.standing != Standing::Waiting, !needs_more)
                });
                rows.truncate(LINES_MAX);
                terminal_output::print(&list_text(
                    &rows,
                    all,
                    &lacks_driver,
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
            let driver = if forge.is_driven(&run) { HasDriver::Yes } else { HasDriver::No };
            terminal_output::print(&tree_text(
                &view,
                &forge.home.run(&run),
                driver,
                now(),
                terminal_info::terminal_width(),
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The presence of a driver, by the lock of the run.
#[derive(Clone, Copy)]
enum HasDriver {
    Yes,
    No,
}

fn list_text(
    rows: &[RunRow],
    all: u64,
    lacks_driver: &dyn Fn(&RunRow) -> bool,
    now: Time,
    width: usize,
) -> String {
    if rows.is_empty() {
        return "no runs yet; start one with `forge run \"what you want\"`".to_owned();
    }
    let mut text = format!("{:<11} {:>7} {:>9}  RUN", "STATE", "CHANGED", "SPENT");
    for row in rows {
        let line = format!(
            "{:<11} {:>7} {:>9}  {}",
            // A run that could continue but has no driver.
            if lacks_driver(row) { "no driver" } else { row.standing.as_str() },
            format::age(row.changed_at, now),
            row.amount().to_short_text(),
            text_width::cut_middle(&row.run, width.saturating_sub(31))
        );
        let _ = write!(text, "\n{}", format::cut_end(&line, width));
    }
    if rows.iter().any(lacks_driver) {
        let _ = write!(text, "\nno driver: nobody drives it; go on with: forge resume RUN");
    }
    let more = all.saturating_sub(rows.len() as u64);
    if more > 0 {
        let _ = write!(text, "\nand {more} more runs (--json shows all)");
    }
    text
}

fn tree_text(view: &RunView, folder: &Path, driver: HasDriver, now: Time, width: usize) -> String {
    let row = &view.row;
    let stands = match driver {
        HasDriver::No if row.standing == Standing::Going => {
            format!("nobody drives it; forge resume {}", row.run)
        }
        HasDriver::Yes | HasDriver::No => standing_text(row, now),
    };
    let mut text = format!("{}  {stands}", row.run);
    if !row.why.is_empty() {
        let _ = write!(text, "\n{}", format::hanging_indent("  ", &row.why, width));
    }
    let _ =
        write!(text, "\n  request  {}", format::one_line(&view.request, width.saturating_sub(11)));
    let _ =
        write!(text, "\n  flow     {}, started {} ago", row.flow, format::age(row.started_at, now));
    let budget = view.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let tokens = format::tokens(view.tokens).map(|tokens| format!(", {tokens}"));
    let tokens = tokens.unwrap_or_default();
    let _ = write!(text, "\n  spent    {}{budget}{tokens}", row.amount().to_text());
    if let Some(branch) = &view.branch {
        let _ = match &view.head {
            Some(head) => {
                write!(text, "\n  result   {} on {branch}", short_commit(head))
            }
            None => write!(text, "\n  result   nothing has landed on {branch} yet"),
        };
    }
    let _ = write!(text, "\n  folder   {}", folder.display());
    let _ = match (driver, row.working) {
        (HasDriver::Yes, n) => {
            write!(text, "\n  driver   at work, {} under way", format::count(n, "call"))
        }
        (HasDriver::No, 0) => write!(text, "\n  driver   none"),
        (HasDriver::No, n) => {
            write!(text, "\n  driver   none; {} due or still at work", format::count(n, "call"))
        }
    };
    text.push('\n');
    // Without a driver no call is known to be running, so no durations are shown.
    let activity = match driver {
        HasDriver::No => Activity::Idle,
        HasDriver::Yes => Activity::Running,
    };
    for unit in &view.units {
        let _ = write!(text, "\n{}", unit_line(unit, activity, now, width));
    }
    for question in &view.asked {
        let _ = write!(
            text,
            "\n\n{}",
            question_text(&row.run, question, QuestionLayout::Printed, width)
        );
    }
    if let (Some(next), HasDriver::No) = (next_command(view), driver) {
        let _ = write!(text, "\n\nnext: {next}");
    }
    text
}
