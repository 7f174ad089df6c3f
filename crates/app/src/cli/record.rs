//! `forge feature`, `sprint`, `task` and `bug`: records of work. One file, because they differ in their words only.

use std::{collections::BTreeMap, process::ExitCode};

use clap::{Args, Subcommand};
use forge_api::{
    Error,
    clock::now,
    work::{WorkEvent, WorkLine, WorkRecords, WorkView},
};
use forge_core::work::{FieldValue, WorkAuthor, WorkFact, WorkKind, WorkState, rules};

use super::common::{open_forge, print_json};
use crate::{format, terminal_info, terminal_output};

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

const FIELDS: &str = "\
Ids and paths are divided by commas; other lists and objects are JSON, and
FIELD+=ENTRY adds one entry. All fields are in docs/reference/records.md.";

#[derive(Subcommand)]
enum RecordSubcommand {
    /// Create a record
    #[command(after_help = FIELDS)]
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
    #[command(after_help = FIELDS)]
    Set {
        /// Name the record
        id: String,
        /// Set fields; FIELD+=ENTRY and FIELD-=ENTRY change lists, FIELD= removes
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
    make: impl FnOnce(&mut WorkRecords<'_>) -> Result<WorkView, Error>,
) -> Result<ExitCode, Error> {
    let forge = open_forge()?;
    let mut records = forge.work()?;
    let changed = make(&mut records);
    print_notes(&records.notes);
    let view = changed?;
    if json {
        print_json(&view);
    } else {
        let WorkLine { id, status, title, .. } = &view.line;
        terminal_output::print(&format!("{id}  {status}  {title}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn list(kind: WorkKind, state: Option<&str>, json: bool) -> Result<ExitCode, Error> {
    if let Some(wrong) = state.filter(|wanted| kind.states().all(|known| known.as_str() != *wanted))
    {
        let known: Vec<&str> = kind.states().map(WorkState::as_str).collect();
        let what = format!("a {kind} has no state `{wrong}`; states: {}", known.join(", "));
        return Err(Error::usage(what, format!("forge {kind} list")));
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
    let widths = lines.iter().map(|line| (line.id.as_str().len(), line.status.as_str().len()));
    let (ids, states) = widths.fold((0, 0), |most, own| (most.0.max(own.0), most.1.max(own.1)));
    let room = terminal_info::terminal_width().saturating_sub(ids + states + 4);
    for WorkLine { id, status, title, .. } in &lines {
        let title = format::one_line(title, room);
        terminal_output::print(&format!("{id:<ids$}  {status:<states$}  {title}"));
    }
    Ok(ExitCode::SUCCESS)
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
    print("status", status.as_str());
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
            print(rule.name, &value_text(value));
        }
    }
    terminal_output::print("");
    let now = now();
    for event in &view.history {
        let prefix = format!("  {:>4} ago  ", format::age(event.at, now));
        terminal_output::print(&format::hanging_indent(&prefix, &sentence(event), width));
    }
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
            vec![("to continue", format!("forge status {run}")), ("if that run is over", unblock)]
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
        WorkFact::Taken { run } => return format!("taken on by {}", format::short_id(run)),
        WorkFact::FileTaken { to, fields, .. } => {
            let state = to.map(|to| format!("status to {to}"));
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
