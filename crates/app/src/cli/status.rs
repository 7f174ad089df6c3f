//! `forge status`: all runs as a list, or one run as a tree.

use std::{fmt::Write as _, path::Path, process::ExitCode};

use clap::Args;
use forge_core::{
    Time,
    view::{Amount, RunRow, RunView, Standing, UnitState, UnitView, short_commit},
};
use forge_runtime::{Trouble, doors::RUNS_MAX, home::now};

use super::{doors, resume::next_step, say_json};
use crate::{
    format,
    text::question_text::{Ways, asked},
    text_width,
};

/// Show all runs, or one: what it is doing, why, and what it cost
#[derive(Args)]
pub(crate) struct Status {
    /// The run; all runs if none is named
    run: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lines of `forge status` without `--json`, before it says how many more there are.
const LINES_MAX: usize = 50;

impl Status {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let Some(prefix) = &self.run else {
            if self.json {
                say_json(&doors.rows(RUNS_MAX)?.0);
            } else {
                let (mut rows, all) = doors.rows(RUNS_MAX)?;
                // Who waits for a person comes first.
                rows.sort_by_key(|row| (row.standing != Standing::Waiting, row.questions == 0));
                rows.truncate(LINES_MAX);
                let goes_alone =
                    |row: &RunRow| row.standing == Standing::Going && !doors.is_driven(&row.run);
                format::say(&list(&rows, all, &goes_alone, now(), format::width()));
            }
            return Ok(ExitCode::SUCCESS);
        };
        let run = doors.resolve(prefix)?;
        let view = doors.view(&run)?;
        if self.json {
            say_json(&view);
        } else {
            let driver = if doors.is_driven(&run) { Driven::Yes } else { Driven::No };
            format::say(&tree(&view, &doors.home.run(&run), driver, now(), format::width()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether a driver holds the run now.
#[derive(Clone, Copy)]
enum Driven {
    Yes,
    No,
}

fn list(
    rows: &[RunRow],
    all: u64,
    goes_alone: &dyn Fn(&RunRow) -> bool,
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
            // It would go on, and nobody drives it: `forge resume`.
            if goes_alone(row) { "no driver" } else { row.standing.word() },
            format::ago(row.changed_at, now),
            row.amount().in_short(),
            format::cut_middle(&row.run, width.saturating_sub(31))
        );
        let _ = write!(text, "\n{}", format::cut_end(&line, width));
    }
    if rows.iter().any(goes_alone) {
        let _ = write!(text, "\nno driver: nobody drives it; go on with: forge resume RUN");
    }
    let more = all.saturating_sub(rows.len() as u64);
    if more > 0 {
        let _ = write!(text, "\nand {more} more runs (--json shows all)");
    }
    text
}

fn tree(view: &RunView, folder: &Path, driver: Driven, now: Time, width: usize) -> String {
    let row = &view.row;
    let stands = match driver {
        Driven::No if row.standing == Standing::Going => {
            format!("nobody drives it; forge resume {}", row.run)
        }
        Driven::Yes | Driven::No => standing(row, now),
    };
    let mut text = format!("{}  {stands}", row.run);
    if !row.why.is_empty() {
        let _ = write!(text, "\n{}", format::block("  ", &row.why, width));
    }
    let _ = write!(text, "\n  request  {}", format::cut(&view.request, width.saturating_sub(11)));
    let _ =
        write!(text, "\n  flow     {}, started {} ago", row.flow, format::ago(row.started_at, now));
    let budget = view.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let _ =
        write!(text, "\n  spent    {}{budget}, {} tokens", row.amount().in_words(), view.tokens);
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
        (Driven::Yes, n) => {
            write!(text, "\n  driver   at work, {} under way", format::count(n, "call"))
        }
        (Driven::No, 0) => write!(text, "\n  driver   none"),
        (Driven::No, n) => {
            write!(text, "\n  driver   none; {} due or still at work", format::count(n, "call"))
        }
    };
    text.push('\n');
    // Where nobody drives, nobody knows of work that goes on, and no time is told of it.
    let pace = match driver {
        Driven::No => Pace::Still,
        Driven::Yes => Pace::Goes,
    };
    for unit in &view.units {
        let _ = write!(text, "\n{}", line(unit, pace, now, width));
    }
    for question in &view.asked {
        let _ = write!(text, "\n\n{}", asked(&row.run, question, Ways::Commands, width));
    }
    if let (Some(next), Driven::No) = (next_step(view), driver) {
        let _ = write!(text, "\n\nnext: {next}");
    }
    text
}

/// Where a run stands, and until when.
fn standing(row: &RunRow, now: Time) -> String {
    match row.until {
        Some(until) => format!("{} until {}", row.standing.word(), format::then(until, now)),
        None => row.standing.word().to_owned(),
    }
}

/// Whether anything is worked on.
#[derive(Clone, Copy)]
enum Pace {
    Goes,
    Still,
}

fn line(unit: &UnitView, pace: Pace, now: Time, width: usize) -> String {
    let indent = "  ".repeat(usize::try_from(unit.depth).unwrap_or_default() + 1);
    let name = if unit.depth == 0 { unit.unit.as_str() } else { short(&unit.unit) };
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
        facts.push(unit.amount().in_short());
    }
    match (unit.state, pace) {
        (UnitState::Working | UnitState::Judging, Pace::Goes) | (UnitState::Asking, _) => {
            facts.push(format::ago(unit.since, now));
        }
        (UnitState::Limited, _) => {
            facts.extend(unit.until.map(|until| format!("until {}", format::then(until, now))));
            facts.push(unit.why.clone());
        }
        (UnitState::Accepted, _) if !unit.summary.is_empty() => facts.push(unit.summary.clone()),
        (UnitState::Working | UnitState::Judging, Pace::Still)
        | (
            UnitState::Waiting
            | UnitState::Accepted
            | UnitState::Skipped
            | UnitState::Failed
            | UnitState::Blocked,
            Pace::Goes | Pace::Still,
        ) => {}
    }
    let state = format!("{}{gate}", word(unit.state, pace));
    // However long its name is, the state of a unit is seen.
    let head = format::cut_end(&format!("{indent}{name}"), width.saturating_sub(40).max(26));
    let head = text_width::fill(&head, 26);
    format::cut_end(&format!("{head} {state:<20} {}", facts.join("  ")), width)
}

/// The last item and stage of a unit, which lies below its `each` anyway.
fn short(unit: &str) -> &str {
    match unit.rmatch_indices('.').next() {
        Some((dot, _)) => &unit[dot + 1..],
        None => unit,
    }
}

const fn word(state: UnitState, pace: Pace) -> &'static str {
    match state {
        UnitState::Waiting => "-",
        UnitState::Limited => "limited",
        UnitState::Working => match pace {
            Pace::Goes => "working",
            Pace::Still => "begun",
        },
        UnitState::Judging => match pace {
            Pace::Goes => "in",
            Pace::Still => "before",
        },
        UnitState::Asking => "asks you",
        UnitState::Accepted => "good",
        UnitState::Skipped => "skipped",
        UnitState::Failed => "FAILED",
        UnitState::Blocked => "BLOCKED",
    }
}

/// How a run was left, for the end of `run` and `resume`.
pub(crate) fn end(view: &RunView, folder: &Path, width: usize) -> String {
    let row = &view.row;
    let took = format::ago(row.started_at, row.changed_at);
    let mut text = format!(
        "{}  {} after {took}, spent {}",
        row.run,
        standing(row, row.changed_at),
        row.amount().in_words()
    );
    if !row.why.is_empty() {
        let _ = write!(text, "\n{}", format::wrap(&row.why, 0, width));
    }
    if let (Some(head), Some(branch)) = (&view.head, &view.branch) {
        let _ = write!(text, "\nresult {} on {branch}", short_commit(head));
    }
    let _ = write!(text, "\nfolder {}", folder.display());
    for question in &view.asked {
        let _ = write!(text, "\n\n{}", asked(&row.run, question, Ways::Commands, width));
    }
    if row.standing == Standing::Waiting {
        let _ = write!(text, "\n\nafter your answer: forge resume {}", row.run);
    }
    if let Some(next) = next_step(view) {
        let _ = write!(text, "\nnext: {next}");
    }
    text
}
