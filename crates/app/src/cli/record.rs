//! `forge feature`, `sprint`, `task` and `bug`: records of work. One file, because they differ in their words only.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use clap::{Args, Command, Subcommand};
use forge_api::{
    Error,
    clock::now,
    work::{WorkChange, WorkEvent, WorkLine, WorkRecords, WorkView},
};
use forge_core::{
    Time,
    work::{
        FieldOwner, FieldRule, FieldValue, WorkAuthor, WorkFact, WorkKind, WorkState, rule, rules,
    },
};

use super::{
    common::{open_forge, print_json},
    usage_errors::nearest,
};
use crate::{format, terminal_info, terminal_output, verbosity::Verbosity};

/// Records that cannot be blocked.
#[derive(Args)]
pub(crate) struct RecordArgs {
    #[command(subcommand)]
    subcommand: RecordSubcommand,
}

/// Records that can be blocked.
#[derive(Args)]
pub(crate) struct BlockableArgs {
    #[command(subcommand)]
    subcommand: BlockableSubcommand,
}

const FIELD_NOTES: &str = "\
Ids and paths are divided by commas; other lists and objects are JSON.
FIELD+=ENTRY adds an entry to a list, FIELD-=ENTRY removes one.";

/// Returns the commands of a kind with its own word in the place of "record", and with its fields and states.
pub(crate) fn with_kind(command: Command, kind: WorkKind) -> Command {
    let own =
        |text: String| text.replace("records", kind.folder()).replace("record", kind.as_str());
    command.mut_subcommands(|inner| {
        let about = inner.get_about().map(|about| own(about.to_string())).unwrap_or_default();
        let notes = match inner.get_name() {
            "new" | "set" => Some(fields_text(kind)),
            "list" | "move" => Some(states_text(kind)),
            _ => None,
        };
        let inner = inner.about(about).mut_args(|arg| {
            let help = arg.get_help().map(|help| own(help.to_string())).unwrap_or_default();
            arg.help(help)
        });
        match notes {
            Some(notes) => inner.after_help(notes),
            None => inner,
        }
    })
}

/// Formats the fields that people set, each with its values.
fn fields_text(kind: WorkKind) -> String {
    let mut text = format!("Fields of a {kind} (* must be set):");
    for rule in rules(kind).iter().filter(|rule| rule.is_settable()) {
        let mark = if rule.owner == FieldOwner::Required { "*" } else { "" };
        let prefix = format!("  {:<22} ", format!("{}{mark}", rule.label()));
        let line = format::hanging_indent(&prefix, &rule.shape.values(), HELP_WIDTH);
        text.push('\n');
        text.push_str(&line);
    }
    format!("{text}\n\n{FIELD_NOTES}")
}

fn states_text(kind: WorkKind) -> String {
    let states: Vec<&str> = kind.states().map(WorkState::as_str).collect();
    format::hanging_indent("States: ", &states.join(", "), HELP_WIDTH)
}

/// The width of the help that is not wrapped by clap.
const HELP_WIDTH: usize = 80;

#[derive(Subcommand)]
enum RecordSubcommand {
    /// Create a record
    New {
        /// Say in a line what it is about
        title: String,
        /// Set fields: FIELD=VALUE
        #[arg(value_name = "FIELD=VALUE")]
        fields: Vec<String>,
        /// Choose the id [default: the next one]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the records
    List {
        /// List only those in this state
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a record, the states that may follow, and its history
    Show {
        /// Name the record
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change fields of a record
    Set {
        /// Name the record
        id: String,
        /// Set fields; `+=` and `-=` change lists, `FIELD=` removes
        #[arg(value_name = "FIELD=VALUE", required = true)]
        fields: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Move a record to a state that may follow
    Move {
        /// Name the record
        id: String,
        /// Name the state
        state: String,
        /// Give the reason
        #[arg(long, short = 'm', value_name = "WHY")]
        why: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Close a record that you do not want any more
    Retire {
        /// Name the record
        id: String,
        /// Give the reason
        #[arg(long, short = 'm', value_name = "WHY")]
        why: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Subcommand)]
enum BlockableSubcommand {
    #[command(flatten)]
    Record(RecordSubcommand),
    /// Block a record, with the reason
    Block {
        /// Name the record
        id: String,
        /// Give the reason
        why: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Move a `blocked` or `escalated` record back to the state it left
    Unblock {
        /// Name the record
        id: String,
        /// Say what has changed
        why: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl RecordArgs {
    pub(crate) fn run(self, kind: WorkKind) -> Result<ExitCode, Error> {
        run(self.subcommand, kind)
    }
}

impl BlockableArgs {
    pub(crate) fn run(self, kind: WorkKind) -> Result<ExitCode, Error> {
        match self.subcommand {
            BlockableSubcommand::Record(subcommand) => run(subcommand, kind),
            BlockableSubcommand::Block { id, why, json } => change(json, |records| {
                records.move_to(kind, &id, WorkState::Blocked.as_str(), Some(why))
            }),
            BlockableSubcommand::Unblock { id, why, json } => {
                change(json, |records| records.unblock(kind, &id, why))
            }
        }
    }
}

fn run(subcommand: RecordSubcommand, kind: WorkKind) -> Result<ExitCode, Error> {
    match subcommand {
        RecordSubcommand::New { title, fields, id, json } => {
            change(json, |records| records.create(kind, id.as_deref(), &title, &fields))
        }
        RecordSubcommand::Set { id, fields, json } => {
            change(json, |records| records.set(kind, &id, &fields))
        }
        RecordSubcommand::Move { id, state, why, json } => {
            change(json, |records| records.move_to(kind, &id, &state, why))
        }
        RecordSubcommand::Retire { id, why, json } => {
            change(json, |records| records.move_to(kind, &id, kind.retired_state().as_str(), why))
        }
        RecordSubcommand::List { state, json } => list(kind, state.as_deref(), json),
        RecordSubcommand::Show { id, json } => show(kind, &id, json),
    }
}

/// Changes a record and prints it.
fn change(
    json: bool,
    make: impl FnOnce(&mut WorkRecords<'_>) -> Result<WorkChange, Error>,
) -> Result<ExitCode, Error> {
    let forge = open_forge()?;
    let mut records = forge.work()?;
    let changed = make(&mut records);
    print_notes(&records.notes);
    let WorkChange { view, events } = changed?;
    if json {
        print_json(&view);
        return Ok(ExitCode::SUCCESS);
    }
    let id = &view.line.id;
    if events.is_empty() {
        terminal_output::print(&format!("{id}: nothing changed"));
    }
    for event in &events {
        print_event(&view.line, event);
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what a command did.
fn print_event(line: &WorkLine, event: &WorkEvent) {
    let WorkLine { kind, id, status, title, .. } = line;
    match &event.fact {
        WorkFact::Created { .. } => {
            terminal_output::print(&format!("{id}  {status}  {title}"));
            if io::stdout().is_terminal() {
                terminal_output::print_hint(&format!(
                    "Next: {} · git add .forge/work",
                    first_step(*kind, id.as_str())
                ));
            }
        }
        WorkFact::FieldsSet { fields } => {
            for (name, value) in fields {
                let rule = rule(*kind, name).filter(|rule| rule.is_settable());
                let Some(name) = rule.map(FieldRule::label) else { continue };
                let what = match value {
                    Some(value) => format!("{id}: {name} is now {}", typed_value(value)),
                    None => format!("{id}: {name} is removed"),
                };
                terminal_output::print(&format::one_line(&what, CHANGE_WIDTH));
            }
        }
        WorkFact::Moved { from, to, .. } => {
            terminal_output::print(&format!("{id}: {to}, was {from}"));
        }
        WorkFact::Taken { .. }
        | WorkFact::FileTaken { .. }
        | WorkFact::WriteAllowed { .. }
        | WorkFact::Bypassed { .. }
        | WorkFact::Imported { .. } => {
            terminal_output::print(&format!("{id}: {}", sentence(event)));
        }
    }
}

/// The longest line about a changed field.
const CHANGE_WIDTH: usize = 200;

/// Returns what a person mostly does after creating a record.
fn first_step(kind: WorkKind, id: &str) -> String {
    match kind {
        WorkKind::Feature => format!("forge sprint new TITLE feature={id}"),
        WorkKind::Sprint => format!("forge task new TITLE sprint={id} · forge run {id}"),
        WorkKind::Task | WorkKind::Bug => format!("forge run {id}"),
    }
}

/// Formats a value as a person types it.
fn typed_value(value: &FieldValue) -> String {
    match value {
        FieldValue::Text(text) => format!("{text:?}"),
        FieldValue::List(entries) => {
            entries.iter().map(typed_value).collect::<Vec<String>>().join(", ")
        }
        FieldValue::Flag(_) | FieldValue::Count(_) | FieldValue::Table(_) => value_text(value),
    }
}

fn list(kind: WorkKind, state: Option<&str>, json: bool) -> Result<ExitCode, Error> {
    if let Some(wrong) = state.filter(|wanted| kind.states().all(|known| known.as_str() != *wanted))
    {
        let known: Vec<&str> = kind.states().map(WorkState::as_str).collect();
        let what = format!("a {kind} has no state `{wrong}`");
        return Err(match nearest(wrong, known.iter().copied()) {
            Some(near) => Error::usage(
                format!("{what}; did you mean `{near}`?"),
                format!("forge {kind} list --state {near}"),
            ),
            None => Error::usage(
                format!("{what}; states: {}", known.join(", ")),
                format!("forge {kind} list"),
            ),
        });
    }
    let forge = open_forge()?;
    let mut lines = Vec::new();
    if let Some(mut records) = forge.work_to_read()? {
        lines = records.list(kind)?;
        print_notes(&records.notes);
    }
    lines.retain(|line| state.is_none_or(|state| line.status.as_str() == state));
    if json {
        print_json(&lines);
        return Ok(ExitCode::SUCCESS);
    }
    if lines.is_empty() {
        let folder = kind.folder();
        terminal_output::print_hint(&format!("No {folder}. To create one: forge help {kind} new"));
    }
    let table = table(kind, &lines, now());
    let is_terminal = io::stdout().is_terminal();
    for line in list_lines(&table, is_terminal.then(terminal_info::terminal_width)) {
        terminal_output::print(&line);
    }
    Ok(ExitCode::SUCCESS)
}

/// A column of a list: its heading, and a text for each record.
type Column = (&'static str, Vec<String>);

/// The columns that pipes have, too.
const PLAIN_COLUMNS: [&str; 3] = ["ID", "STATE", "TITLE"];

fn table(kind: WorkKind, lines: &[WorkLine], now: Time) -> Vec<Column> {
    let column = |heading, cell: &dyn Fn(&WorkLine) -> String| {
        (heading, lines.iter().map(cell).collect::<Vec<String>>())
    };
    let run = column("RUN", &|line| line.run.as_deref().map_or("", format::short_id).to_owned());
    let own = match kind {
        WorkKind::Task => vec![
            column("SIZE", &|line| line.estimate.clone().unwrap_or_default()),
            column("AFTER", &after_text),
        ],
        WorkKind::Bug => {
            vec![column("SEVERITY", &|line| line.severity.clone().unwrap_or_default())]
        }
        WorkKind::Feature | WorkKind::Sprint => Vec::new(),
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
    let shown: Vec<&Column> = columns
        .iter()
        .filter(|(heading, _)| terminal.is_some() || PLAIN_COLUMNS.contains(heading))
        .collect();
    let width = |(heading, cells): &Column| {
        let heading = if terminal.is_some() { heading.len() } else { 0 };
        cells.iter().map(|cell| cell.chars().count()).max().unwrap_or_default().max(heading)
    };
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
const TITLE_MIN: usize = 12;

fn show(kind: WorkKind, id: &str, json: bool) -> Result<ExitCode, Error> {
    let forge = open_forge()?;
    let Some(mut records) = forge.work_to_read()? else {
        let what = format!("there is no {kind} `{id}`");
        return Err(Error::usage(what, format!("forge help {kind} new")));
    };
    let shown = records.show(kind, id);
    print_notes(&records.notes);
    let view = shown?;
    if json {
        print_json(&view);
    } else {
        print_view(&view);
    }
    Ok(ExitCode::SUCCESS)
}

fn print_view(view: &WorkView) {
    let width = terminal_info::terminal_width();
    let WorkLine { kind, id, status, title, .. } = &view.line;
    let print = |name: &str, text: &str| {
        let prefix = format!("  {name:<22} ");
        terminal_output::print(&format::hanging_indent(&prefix, text, width));
    };
    terminal_output::print(&format::hanging_indent(&format!("{id}  "), title, width));
    let names = |states: &[WorkState]| {
        states.iter().map(|state| state.as_str()).collect::<Vec<&str>>().join(", ")
    };
    print("state", status.as_str());
    if !view.next.is_empty() {
        print("can become", &names(&view.next));
    }
    if let Some(before) = view.before {
        print("unblock leads to", before.as_str());
    }
    for (name, command) in next_steps(view) {
        print(name, &command);
    }
    for rule in rules(*kind).iter().filter(|rule| rule.name != "title") {
        if let Some(value) = view.fields.get(rule.name) {
            print(rule.label(), &value_text(value));
        }
    }
    terminal_output::print("");
    let now = now();
    for line in history_lines(&view.history, Verbosity::chosen()) {
        let prefix = format!("  {:>4} ago  ", format::age(line.0, now));
        terminal_output::print(&format::hanging_indent(&prefix, &line.1, width));
    }
}

/// Formats what happened to a record. What a run did is one line, unless all is asked for.
fn history_lines(history: &[WorkEvent], verbosity: Verbosity) -> Vec<(Time, String)> {
    let run_of = |event: &WorkEvent| match &event.by {
        WorkAuthor::Run { run } if verbosity < Verbosity::Verbose => Some(run.clone()),
        WorkAuthor::Run { .. } | WorkAuthor::Person { .. } | WorkAuthor::File { .. } => None,
    };
    let same =
        |one: &WorkEvent, next: &WorkEvent| run_of(one).is_some() && run_of(one) == run_of(next);
    let mut lines = Vec::new();
    for events in history.chunk_by(same) {
        let [first, .., last] = events else {
            lines.extend(events.iter().map(|event| (event.at, sentence(event))));
            continue;
        };
        let moves = events.iter().filter_map(|event| match &event.fact {
            WorkFact::Moved { from, to, why, .. } => Some((*from, *to, why.as_deref())),
            WorkFact::Created { .. }
            | WorkFact::FieldsSet { .. }
            | WorkFact::Taken { .. }
            | WorkFact::Imported { .. }
            | WorkFact::WriteAllowed { .. }
            | WorkFact::Bypassed { .. }
            | WorkFact::FileTaken { .. } => None,
        });
        let moves: Vec<(WorkState, WorkState, Option<&str>)> = moves.collect();
        let run = run_of(first).map(|run| format::short_id(&run).to_owned()).unwrap_or_default();
        let why = moves.last().and_then(|(.., why)| *why);
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let what = match moves.as_slice() {
            [] => sentence(last),
            [(from, to, _)] => format!("moved from {from} to {to}{why} ({run})"),
            [(from, ..), .., (_, to, _)] => {
                format!("moved from {from} to {to} in {} steps{why} ({run})", moves.len())
            }
        };
        lines.push((last.at, what));
    }
    lines
}

/// Says how work goes on that is blocked or needs a person.
fn next_steps(view: &WorkView) -> Vec<(&'static str, String)> {
    let WorkLine { kind, id, status, .. } = &view.line;
    let unblock = format!("forge {kind} unblock {id} \"WHY\"");
    let taken = view.history.iter().rev().find_map(|event| match &event.fact {
        WorkFact::Taken { run } => Some(format::short_id(run)),
        WorkFact::Created { .. }
        | WorkFact::FieldsSet { .. }
        | WorkFact::Moved { .. }
        | WorkFact::Imported { .. }
        | WorkFact::WriteAllowed { .. }
        | WorkFact::Bypassed { .. }
        | WorkFact::FileTaken { .. } => None,
    });
    match (status, taken) {
        (WorkState::Escalated, Some(run)) => {
            vec![("to continue", format!("forge status {run}")), ("after that run", unblock)]
        }
        (status, _) if status.is_stop() => vec![("to continue", unblock)],
        (_, _) => Vec::new(),
    }
}

fn value_text(value: &FieldValue) -> String {
    match value {
        FieldValue::Flag(flag) => flag.to_string(),
        FieldValue::Count(count) => count.to_string(),
        FieldValue::Text(text) => text.clone(),
        FieldValue::List(entries) => {
            entries.iter().map(value_text).collect::<Vec<String>>().join(", ")
        }
        FieldValue::Table(table) => {
            let entry =
                |(name, value): (&String, &FieldValue)| format!("{name}: {}", value_text(value));
            table.iter().map(entry).collect::<Vec<String>>().join("; ")
        }
    }
}

/// Says what happened, and who did it.
fn sentence(event: &WorkEvent) -> String {
    let names = |fields: &BTreeMap<String, Option<FieldValue>>| {
        fields.keys().map(String::as_str).collect::<Vec<&str>>().join(", ")
    };
    let what = match &event.fact {
        WorkFact::Created { state, .. } => format!("created as {state}"),
        WorkFact::FieldsSet { fields } => format!("changed {}", names(fields)),
        WorkFact::Moved { from, to, why, .. } => {
            let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("moved from {from} to {to}{why}")
        }
        WorkFact::Taken { run } => return format!("work began in {}", format::short_id(run)),
        WorkFact::FileTaken { to, fields, .. } => {
            let state = to.map(|to| format!("state to {to}"));
            let fields = Some(names(fields)).filter(|names| !names.is_empty());
            let all: Vec<String> = state.into_iter().chain(fields).collect();
            format!("changed in the file: {}", all.join(", "))
        }
        WorkFact::WriteAllowed { why } => format!("one write allowed without a check: {why}"),
        WorkFact::Bypassed { path } => format!("{path} written without a check"),
        WorkFact::Imported { source, state, .. } => format!("imported as {state} from {source}"),
    };
    match &event.by {
        WorkAuthor::Person { who } | WorkAuthor::File { who, .. } => format!("{what} ({who})"),
        WorkAuthor::Run { run } => format!("{what} ({})", format::short_id(run)),
    }
}

pub(super) fn print_notes(notes: &[String]) {
    for note in notes {
        terminal_output::print_note(note);
    }
}
