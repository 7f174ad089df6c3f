//! `forge import`: shows what other systems left in a folder, and takes it over with `--write`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use forge_api::{
    Error,
    start::quoted,
    work::{ImportAction, ImportFinding, ImportLine, ImportMode, ImportPlan, ImportedNote},
};

use super::common::{open_forge, print_json, print_notes};
use crate::terminal_output;

/// Import records of other systems: .forge/store, .specs, .gsd
#[derive(Args)]
#[command(after_help = "\
Without --write nothing is changed. Files of other systems are only read.
If something cannot be imported, the rest is, and the exit code is 1.")]
pub(crate) struct ImportArgs {
    /// Name the folder that has them [default: the top of the repository]
    path: Option<PathBuf>,
    /// Write the records, and notes below .forge/knowledge
    #[arg(long)]
    write: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The exit code where something could not be imported.
const FINDINGS: u8 = 1;

impl ImportArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let mode = if self.write { ImportMode::Write } else { ImportMode::Show };
        let plan = open_forge()?.import(self.path.as_deref(), mode)?;
        if self.json {
            print_json(&plan);
        } else {
            print_plan(&plan);
            if mode == ImportMode::Show && has_changes(&plan) {
                let path = self.path.map(|path| format!("{} ", quoted(&path.to_string_lossy())));
                let path = path.unwrap_or_default();
                terminal_output::print(&format!(
                    "Nothing was written. Next: forge import {path}--write"
                ));
            }
        }
        Ok(if plan.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDINGS) })
    }
}

fn has_changes(plan: &ImportPlan) -> bool {
    let actions = plan.records.iter().map(|line| line.action);
    let mut actions = actions.chain(plan.knowledge.iter().map(|note| note.action));
    actions.any(|action| action != ImportAction::Same)
}

fn print_plan(plan: &ImportPlan) {
    terminal_output::print(&format!("Found {}.", plan.found.join(", ")));
    let shown = plan.records.iter().filter(|line| line.action != ImportAction::Same);
    let shown: Vec<&ImportLine> = shown.collect();
    let widths = shown.iter().map(|line| (line.id.as_str().len(), line.status.as_str().len()));
    let (ids, states) = widths.fold((0, 0), |most, own| (most.0.max(own.0), most.1.max(own.1)));
    for ImportLine { action, kind, id, status, title, source: _ } in shown {
        terminal_output::print(&format!(
            "{:<7}  {kind:<7}  {id:<ids$}  {status:<states$}  {title}",
            action_text(*action)
        ));
    }
    for ImportedNote { action, path, source } in &plan.knowledge {
        if *action != ImportAction::Same {
            terminal_output::print(&format!("{:<7}  {path}  from {source}", action_text(*action)));
        }
    }
    print_notes(&plan.notes);
    if !plan.settings.is_empty() {
        let lines = plan.settings.join("\n    ");
        terminal_output::print(&format!("Settings to add to forge.toml yourself:\n    {lines}"));
    }
    for ImportFinding { path, what } in &plan.findings {
        terminal_output::print(&format!("{path}: {what}"));
    }
    let actions = plan.records.iter().map(|line| line.action);
    let actions: Vec<ImportAction> =
        actions.chain(plan.knowledge.iter().map(|note| note.action)).collect();
    let count = |wanted| actions.iter().filter(|action| **action == wanted).count();
    let (new, changed, same) =
        (count(ImportAction::New), count(ImportAction::Changed), count(ImportAction::Same));
    let wrong = plan.findings.len();
    terminal_output::print(&format!(
        "{new} new, {changed} changed, {same} unchanged; {wrong} could not be imported."
    ));
}

const fn action_text(action: ImportAction) -> &'static str {
    match action {
        ImportAction::New => "new",
        ImportAction::Changed => "changed",
        ImportAction::Same => "same",
    }
}
