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
        FieldOwner, FieldRule, FieldShape, FieldValue, WorkAuthor, WorkFact, WorkKind, WorkState,
        rule, rules,
    },
};

use super::{
    common::{open_forge, print_json, print_notes},
    record_list::{ListFilter, list, task_lines},
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
        // Only tasks are in sprints.
        let hides = |arg: &clap::Arg| arg.get_id() == "sprint" && kind != WorkKind::Task;
        let inner = inner.about(about).mut_args(|arg| {
            let is_hidden = hides(&arg);
            let arg = arg.hide(is_hidden);
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
        /// Set fields, such as size=M
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
        /// List only those of this sprint
        #[arg(long, value_name = "SPRINT")]
        sprint: Option<String>,
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
    /// Change the state of a record
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
        #[arg(required_unless_present = "message")]
        why: Option<String>,
        /// Give the reason
        #[arg(long = "why", short = 'm', value_name = "WHY", conflicts_with = "why", hide = true)]
        message: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Move a `blocked` or `escalated` record back to the state it left
    Unblock {
        /// Name the record
        id: String,
        /// Say what has changed
        #[arg(required_unless_present = "message")]
        why: Option<String>,
        /// Say what has changed
        #[arg(long = "why", short = 'm', value_name = "WHY", conflicts_with = "why", hide = true)]
        message: Option<String>,
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
            BlockableSubcommand::Block { id, why, message, json } => change(json, |records| {
                records.move_to(kind, &id, WorkState::Blocked.as_str(), why.or(message))
            }),
            BlockableSubcommand::Unblock { id, why, message, json } => change(json, |records| {
                records.unblock(kind, &id, why.or(message).unwrap_or_default())
            }),
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
        RecordSubcommand::List { state, sprint, json } => {
            let filter = ListFilter { state: state.as_deref(), sprint: sprint.as_deref() };
            list(kind, &filter, json)
        }
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
        print_event(&view.line, event, &records);
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what a command did.
fn print_event(line: &WorkLine, event: &WorkEvent, records: &WorkRecords<'_>) {
    let WorkLine { kind, id, status, title, .. } = line;
    match &event.fact {
        WorkFact::Created { .. } => {
            terminal_output::print(&format!("{id}  {status}  {title}"));
            if io::stdout().is_terminal() {
                let force = if records.are_ignored() { "--force " } else { "" };
                terminal_output::print_hint(&format!(
                    "Next: {} · git add {force}.forge/work",
                    first_step(*kind, id.as_str())
                ));
            }
        }
        WorkFact::FieldsSet { fields } => {
            for (name, value) in fields {
                let rule = rule(*kind, name).filter(|rule| rule.is_settable());
                let Some(name) = rule.map(FieldRule::label) else { continue };
                let what = match value {
                    Some(FieldValue::Text(text)) if text.contains(' ') => {
                        format!("{id}: {name} is now \"{text}\"")
                    }
                    Some(value) => format!("{id}: {name} is now {}", value_text(value)),
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
            terminal_output::print(&format!("{id}: {}", sentence(*kind, event)));
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
        return Ok(ExitCode::SUCCESS);
    }
    let tasks = if kind == WorkKind::Sprint {
        let sprint = view.line.id.as_str();
        let all = records.list(WorkKind::Task)?;
        let own = all.iter().filter(|line| line.sprint.as_deref() == Some(sprint));
        task_lines(&own.collect::<Vec<&WorkLine>>())
    } else {
        Vec::new()
    };
    print_view(&view, &tasks);
    Ok(ExitCode::SUCCESS)
}

/// Below this width, a value stands below the name of its field.
const NARROW: usize = 60;

fn print_view(view: &WorkView, tasks: &[String]) {
    let width = terminal_info::terminal_width();
    let WorkLine { kind, id, status, title, .. } = &view.line;
    let print = |name: &str, text: &str| {
        if width < NARROW {
            if !name.is_empty() {
                terminal_output::print(&format!("  {name}"));
            }
            terminal_output::print(&format::hanging_indent("    ", text, width));
        } else {
            let prefix = format!("  {name:<22} ");
            terminal_output::print(&format::hanging_indent(&prefix, text, width));
        }
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
    let first = view.history.first().map(|event| &event.fact);
    let is_made_here = matches!(first, Some(WorkFact::Created { .. }));
    for rule in rules(*kind).iter().filter(|rule| rule.name != "title") {
        match (rule.shape, view.fields.get(rule.name)) {
            (_, None) => {}
            // The history of what was made here says when.
            (FieldShape::Time, _) if is_made_here => {}
            (FieldShape::Records(WorkKind::Task), Some(_)) if *kind == WorkKind::Sprint => {
                for (position, task) in tasks.iter().enumerate() {
                    print(if position == 0 { rule.label() } else { "" }, task);
                }
            }
            // The lines of the tasks say it.
            (_, Some(_)) if *kind == WorkKind::Sprint && rule.name == "dependencies" => {}
            (FieldShape::Texts { .. }, Some(FieldValue::List(entries))) => {
                for (position, entry) in entries.iter().enumerate() {
                    print(if position == 0 { rule.label() } else { "" }, &value_text(entry));
                }
            }
            (_, Some(value)) => print(rule.label(), &value_text(value)),
        }
    }
    terminal_output::print("");
    let now = now();
    for line in history_lines(*kind, &view.history, Verbosity::chosen()) {
        let prefix = format!("  {:>4} ago  ", format::age(line.0, now));
        terminal_output::print(&format::hanging_indent(&prefix, &line.1, width));
    }
}

/// Formats what happened to a record. What a run did is one line, unless all is asked for.
fn history_lines(
    kind: WorkKind,
    history: &[WorkEvent],
    verbosity: Verbosity,
) -> Vec<(Time, String)> {
    let run_of = |event: &WorkEvent| match &event.by {
        WorkAuthor::Run { run } if verbosity < Verbosity::Verbose => Some(run.clone()),
        WorkAuthor::Run { .. } | WorkAuthor::Person { .. } | WorkAuthor::File { .. } => None,
    };
    let same =
        |one: &WorkEvent, next: &WorkEvent| run_of(one).is_some() && run_of(one) == run_of(next);
    let mut lines = Vec::new();
    for events in history.chunk_by(same) {
        let [first, .., last] = events else {
            lines.extend(events.iter().map(|event| (event.at, sentence(kind, event))));
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
            [] => sentence(kind, last),
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

/// The longest value in the history.
const HISTORY_VALUE_MAX: usize = 60;

/// Says what happened, and who did it.
fn sentence(kind: WorkKind, event: &WorkEvent) -> String {
    let names = |fields: &BTreeMap<String, Option<FieldValue>>| {
        let field = |(name, value): (&String, &Option<FieldValue>)| {
            let label = match rule(kind, name) {
                Some(rule) => rule.label(),
                None => name,
            };
            match value {
                Some(value) => {
                    let value = format::one_line(&value_text(value), HISTORY_VALUE_MAX);
                    format!("{label} to {value}")
                }
                None => format!("{label} to nothing"),
            }
        };
        fields.iter().map(field).collect::<Vec<String>>().join(", ")
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
