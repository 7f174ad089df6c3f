//! `forge status`: shows all runs as a list, or one run as a tree.

use std::{fmt::Write as _, path::Path, process::ExitCode};

use clap::Args;
use forge_api::{Error, clock::now, forge::RUNS_MAX};
use forge_core::{
    Time,
    view::{Course, RunRow, RunView, Standing, short_commit},
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

/// The columns of the list whose widths do not depend on the terminal.
const STATE_WIDTH: usize = 15;
const STAGE_WIDTH: usize = 12;
const COST_WIDTH: usize = 9;
const AGE_WIDTH: usize = 5;
/// From this width on, the list has a column for questions and branches.
const WIDE: usize = 120;

fn list_text(
    rows: &[RunRow],
    all: u64,
    lacks_driver: &dyn Fn(&RunRow) -> bool,
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
        let (symbol, state) = if lacks_driver(row) {
            ("!", "not running")
        } else {
            (symbol(row.standing), row.standing.label())
        };
        let id = format::short_id(&row.run);
        let last = row.asks.as_deref().or(row.branch.as_deref()).unwrap_or_default();
        let line = format!(
            "{symbol} {id:<6}{}{}{}{:>COST_WIDTH$}  {:>AGE_WIDTH$}{}",
            text_width::pad(state, STATE_WIDTH),
            text_width::pad(
                &format::one_line(row.stage.as_deref().unwrap_or_default(), STAGE_WIDTH - 1),
                STAGE_WIDTH
            ),
            text_width::pad(&format::one_line(&row.title, title_width), title_width),
            row.amount().to_short_text(),
            format::age(row.changed_at, now),
            if last_width > 0 { format!("  {last}") } else { String::new() },
        );
        lines.push(format::cut_end(&line, width));
        if let (Some(asks), 0) = (&row.asks, last_width) {
            lines.push(format::cut_end(&format!("         {asks}"), width));
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

/// Returns the symbol that repeats a standing.
const fn symbol(standing: Standing) -> &'static str {
    match standing {
        Standing::Going => "●",
        Standing::Waiting => "?",
        Standing::Done => "✓",
        Standing::Failed | Standing::Blocked => "✗",
        Standing::Abandoned => "-",
        Standing::Limited
        | Standing::Paused
        | Standing::Interrupted
        | Standing::Stopped
        | Standing::Parked
        | Standing::Escalated => "!",
    }
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
