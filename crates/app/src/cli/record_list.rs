//! Lists of records: `forge task list` and its kind.
//!
//! Not here: the other commands about records (`record.rs`).
//!
//! Invariant: what a pipe reads has the same three columns at any time; on a terminal, columns give way to the title.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use forge_api::{Error, clock::now, work::WorkLine};
use forge_core::{
    Time,
    work::{WorkKind, WorkState},
};

use super::{
    common::{open_forge, print_json, print_notes},
    usage_errors::nearest,
};
use crate::{format, palette::Hue, terminal_info, terminal_output};

/// The records that are wanted.
pub(super) struct ListFilter<'a> {
    pub(super) state: Option<&'a str>,
    pub(super) sprint: Option<&'a str>,
}

/// Lists the records of a kind.
pub(super) fn list(kind: WorkKind, filter: &ListFilter<'_>, json: bool) -> Result<ExitCode, Error> {
    let ListFilter { state, sprint } = *filter;
    if let Some(wrong) = state.filter(|wanted| kind.states().all(|known| known.as_str() != *wanted))
    {
        return Err(unknown_state(kind, wrong));
    }
    if let (Some(sprint), false) = (sprint, kind == WorkKind::Task) {
        let what = format!("only tasks are in a sprint; `--sprint` does not fit a {kind}");
        return Err(Error::usage(what, format!("forge task list --sprint {sprint}")));
    }
    let forge = open_forge()?;
    let (mut lines, mut tasks) = (Vec::new(), Vec::new());
    let mut sprint = sprint.map(str::to_owned);
    if let Some(mut records) = forge.work_to_read()? {
        if let Some(typed) = sprint {
            sprint = Some(records.show(WorkKind::Sprint, &typed)?.line.id.to_string());
        }
        lines = records.list(kind)?;
        if kind == WorkKind::Sprint {
            tasks = records.list(WorkKind::Task)?;
        }
        print_notes(&records.notes);
    }
    let n_all = lines.len();
    lines.retain(|line| state.is_none_or(|state| line.status.as_str() == state));
    lines.retain(|line| sprint.is_none() || line.sprint == sprint);
    if json {
        print_json(&lines);
        return Ok(ExitCode::SUCCESS);
    }
    if lines.is_empty() {
        let folder = kind.folder();
        let is = state.map(|state| format!(" that is {state}")).unwrap_or_default();
        let of = sprint.map(|sprint| format!(" of {sprint}")).unwrap_or_default();
        terminal_output::print_hint(&match n_all {
            0 => format!("No {folder} yet. Create one: forge help {kind} new"),
            _ => format!("No {kind}{of}{is}. All {folder}: forge {kind} list"),
        });
    }
    let table = table(kind, &lines, &tasks, now());
    if io::stdout().is_terminal() {
        let marks: Vec<(&str, Option<Hue>)> =
            lines.iter().map(|line| state_mark(line.status)).collect();
        let text = list_lines(&table, Some(terminal_info::terminal_width().saturating_sub(2)));
        let heading = text.len().saturating_sub(marks.len());
        for line in &text[..heading] {
            terminal_output::print(&format!("  {line}"));
        }
        for (line, (symbol, hue)) in text[heading..].iter().zip(marks) {
            let line = format!("{symbol} {}", forge_core::view::sanitize(line));
            terminal_output::print_formatted(&terminal_output::coloured_symbol(&line, symbol, hue));
        }
    } else {
        for line in list_lines(&table, None) {
            terminal_output::print(&line);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats the tasks of a sprint, a line for each: its id within the sprint, its state and its title.
pub(super) fn task_lines(lines: &[&WorkLine]) -> Vec<String> {
    let short = |line: &WorkLine| {
        let own = line.sprint.as_deref().and_then(|sprint| line.id.as_str().strip_prefix(sprint));
        let own = own.and_then(|rest| rest.strip_prefix('-'));
        own.unwrap_or(line.id.as_str()).to_owned()
    };
    let width = |cell: &dyn Fn(&WorkLine) -> String| {
        lines.iter().map(|line| cell(line).chars().count()).max().unwrap_or_default()
    };
    let state = |line: &WorkLine| line.status.to_string();
    let (id_width, state_width) = (width(&short), width(&state));
    let line = |line: &WorkLine| {
        let after = after_text(line);
        let after = if after.is_empty() { after } else { format!(" (after {after})") };
        format!("{:<id_width$}  {:<state_width$}  {}{after}", short(line), state(line), line.title)
    };
    lines.iter().map(|one| line(one)).collect()
}

fn unknown_state(kind: WorkKind, wrong: &str) -> Error {
    let known: Vec<&str> = kind.states().map(WorkState::as_str).collect();
    let what = format!("a {kind} has no state `{wrong}`");
    match nearest(wrong, known.iter().copied()) {
        Some(near) => Error::usage(
            format!("{what}; did you mean `{near}`?"),
            format!("forge {kind} list --state {near}"),
        ),
        None => Error::usage(
            format!("{what}; states: {}", known.join(", ")),
            format!("forge {kind} list"),
        ),
    }
}

/// Returns the symbol of a record's state, and its colour: those of runs.
const fn state_mark(state: WorkState) -> (&'static str, Option<Hue>) {
    match state {
        WorkState::Draft | WorkState::Planned | WorkState::Planning | WorkState::Reported => {
            ("·", None)
        }
        WorkState::PlanApproved
        | WorkState::Implementing
        | WorkState::Implemented
        | WorkState::ReviewApproved
        | WorkState::Approved
        | WorkState::PlanRevisionRequired
        | WorkState::CodeRevisionRequired
        | WorkState::Active
        | WorkState::Triaged
        | WorkState::InProgress => ("●", Some(Hue::Blue)),
        WorkState::Committed
        | WorkState::Completed
        | WorkState::RetrospectiveDone
        | WorkState::Fixed
        | WorkState::Shipped => ("✓", Some(Hue::Green)),
        WorkState::PartiallyCompleted => ("!", Some(Hue::Yellow)),
        WorkState::Escalated => ("?", Some(Hue::Yellow)),
        WorkState::Blocked => ("✗", Some(Hue::Red)),
        WorkState::Abandoned | WorkState::Retired => ("■", Some(Hue::Yellow)),
    }
}

/// A column of a list: its heading, and a text for each record.
type Column = (&'static str, Vec<String>);

/// The columns that pipes have, too.
const PLAIN_COLUMNS: [&str; 3] = ["ID", "STATE", "TITLE"];

fn table(kind: WorkKind, lines: &[WorkLine], tasks: &[WorkLine], now: Time) -> Vec<Column> {
    let column = |heading, cell: &dyn Fn(&WorkLine) -> String| {
        (heading, lines.iter().map(cell).collect::<Vec<String>>())
    };
    let run = column("RUN", &|line| line.run.as_deref().map_or("", format::short_id).to_owned());
    let own = match kind {
        WorkKind::Task => vec![
            column("SPRINT", &sprint_text),
            column("SIZE", &|line| line.estimate.clone().unwrap_or_default()),
            column("AFTER", &after_text),
        ],
        WorkKind::Bug => {
            vec![column("SEVERITY", &|line| line.severity.clone().unwrap_or_default())]
        }
        WorkKind::Sprint => vec![column("TASKS", &|line| committed_tasks(line, tasks))],
        WorkKind::Feature => Vec::new(),
    };
    let mut columns = vec![
        column("ID", &|line| line.id.to_string()),
        column("STATE", &|line| line.status.to_string()),
    ];
    columns.extend(own);
    columns.push(run);
    columns.push(column("AGE", &|line| format::age(line.changed_at, now)));
    columns.push(column("TITLE", &|line| line.title.clone()));
    // What no record says is no column.
    columns.retain(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()));
    columns
}

/// Says how many tasks of a sprint are closed.
fn committed_tasks(sprint: &WorkLine, tasks: &[WorkLine]) -> String {
    let own = tasks.iter().filter(|task| task.sprint.as_deref() == Some(sprint.id.as_str()));
    let own: Vec<&WorkLine> = own.collect();
    let n_done = own.iter().filter(|task| task.status == WorkState::Committed).count();
    if own.is_empty() { String::new() } else { format!("{n_done} of {}", own.len()) }
}

/// Names the sprint of a task whose id does not.
fn sprint_text(line: &WorkLine) -> String {
    let sprint = line.sprint.as_deref().unwrap_or_default();
    let is_in_id = line.id.as_str().strip_prefix(sprint).is_some_and(|rest| rest.starts_with('-'));
    if is_in_id { String::new() } else { sprint.to_owned() }
}

/// Names the tasks that come before one, in the same sprint by their last part.
fn after_text(line: &WorkLine) -> String {
    let sprint = line.id.as_str().rsplit_once('-').map_or("", |(sprint, _)| sprint);
    let short = |id: &String| {
        let rest = id.strip_prefix(sprint).and_then(|rest| rest.strip_prefix('-'));
        rest.unwrap_or(id).to_owned()
    };
    line.dependencies.iter().flatten().map(short).collect::<Vec<String>>().join(",")
}

/// Formats a list: on a terminal of this width with headings and all columns, else with the plain ones.
fn list_lines(columns: &[Column], terminal: Option<usize>) -> Vec<String> {
    let mut shown: Vec<&Column> = columns
        .iter()
        .filter(|(heading, _)| terminal.is_some() || PLAIN_COLUMNS.contains(heading))
        .collect();
    let width = |(heading, cells): &Column| {
        let heading = if terminal.is_some() { heading.len() } else { 0 };
        cells.iter().map(|cell| cell.chars().count()).max().unwrap_or_default().max(heading)
    };
    for heading in GIVE_WAY {
        let all: usize = shown.iter().rev().skip(1).map(|column| width(column) + 2).sum();
        if terminal.is_some_and(|room| room < all + TITLE_MIN) {
            shown.retain(|(own, _)| *own != heading);
        }
    }
    let Some((title, rest)) = shown.split_last() else { return Vec::new() };
    let before: usize = rest.iter().map(|column| width(column) + 2).sum();
    let room = terminal.map_or(usize::MAX, |width| width.saturating_sub(before).max(TITLE_MIN));
    let line = |cell: &dyn Fn(&Column) -> String| {
        let cells = rest.iter().map(|column| format!("{:<1$}  ", cell(column), width(column)));
        let line = format!("{}{}", cells.collect::<String>(), format::one_line(&cell(title), room));
        line.trim_end().to_owned()
    };
    let headings = terminal.is_some() && !title.1.is_empty();
    let heading = headings.then(|| line(&|(heading, _)| (*heading).to_owned()));
    let rows = (0..title.1.len()).map(|row| line(&|(_, cells)| cells[row].clone()));
    heading.into_iter().chain(rows).collect()
}

/// The least room for a title.
const TITLE_MIN: usize = 16;

/// The columns that a narrow terminal does without, the first one first.
const GIVE_WAY: [&str; 7] = ["AGE", "SIZE", "AFTER", "SPRINT", "TASKS", "RUN", "SEVERITY"];
