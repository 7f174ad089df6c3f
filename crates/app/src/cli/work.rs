//! `forge work`: checks all records of work and their files, restores a file, and writes the pages about them.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use forge_api::{
    Error,
    work::{PagesMode, PagesView, WorkFinding},
};
use forge_core::view::sanitize;

use super::common::{open_forge, print_json, print_notes};
use crate::terminal_output;

/// Check records and their files, restore a file, write pages
#[derive(Args)]
pub(crate) struct WorkArgs {
    #[command(subcommand)]
    subcommand: WorkSubcommand,
}

#[derive(Subcommand)]
enum WorkSubcommand {
    /// Check all records and files; exit code 1 if something is wrong
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write pages about all records into the folder work.pages
    Pages {
        /// Write nothing; exit code 1 if pages differ
        #[arg(long)]
        check: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore the file of a record; edits in it are lost
    Write {
        /// Name the record
        id: String,
    },
}

/// The exit code for findings.
const FINDINGS: u8 = 1;

impl WorkArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        match self.subcommand {
            WorkSubcommand::Check { json } => {
                let mut findings = Vec::new();
                if let Some(mut records) = forge.work_to_read()? {
                    findings = records.check()?;
                    print_notes(&records.notes);
                    if records.are_ignored() {
                        terminal_output::print_note(
                            "git ignores .forge/work, so only this machine has the records; to commit them: git add \
                             --force .forge/work",
                        );
                    }
                }
                if json {
                    print_json(&findings);
                } else {
                    print_findings(&findings);
                }
                Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDINGS) })
            }
            WorkSubcommand::Pages { check, json } => {
                let mode = if check { PagesMode::Check } else { PagesMode::Write };
                let view = forge.work_pages(mode)?;
                print_notes(&view.notes);
                for run in &view.unreadable {
                    let warning = format!("warning: {} is not in the pages: {}", run.run, run.why);
                    terminal_output::print_stderr(&sanitize(&warning));
                }
                if json {
                    print_json(&view);
                } else {
                    print_pages(&view, mode);
                }
                let is_done = match mode {
                    PagesMode::Write => view.foreign.is_empty(),
                    PagesMode::Check => view.is_clean(),
                };
                Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::from(FINDINGS) })
            }
            WorkSubcommand::Write { id } => {
                let path = forge.work()?.restore_file(&id)?;
                terminal_output::print(&format!("Wrote {path}."));
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn print_pages(view: &PagesView, mode: PagesMode) {
    if view.is_clean() {
        terminal_output::print(&format!("All pages in {} are as they should be.", view.folder));
    }
    let (wrote, removed) = match mode {
        PagesMode::Write => ("Wrote", "Removed"),
        PagesMode::Check => ("Differs:", "Has no record:"),
    };
    for path in &view.written {
        terminal_output::print(&format!("{wrote} {path}"));
    }
    for path in &view.removed {
        terminal_output::print(&format!("{removed} {path}"));
    }
    for path in &view.foreign {
        let what = format!(
            "{path} was not written by Forge, so it is left alone\n help: mv {path} {path}.old"
        );
        terminal_output::print(&what);
    }
}

fn print_findings(findings: &[WorkFinding]) {
    if findings.is_empty() {
        terminal_output::print("All records and their files are as they should be.");
    }
    for WorkFinding { path, what, next } in findings {
        let place = path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default();
        terminal_output::print(&format!("{place}{what}\n help: {next}"));
    }
}
