//! `forge work`: checks all records of work and their files, and restores a file.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use forge_api::{Error, work::WorkFinding};

use super::{
    common::{open_forge, print_json},
    record::print_notes,
};
use crate::terminal_output;

/// Check all records and their files, and restore a file
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
    /// Write the file of a record again, and lose what was changed in it
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
                }
                if json {
                    print_json(&findings);
                } else {
                    print_findings(&findings);
                }
                Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDINGS) })
            }
            WorkSubcommand::Write { id } => {
                let path = forge.work()?.restore_file(&id)?;
                terminal_output::print(&format!("Wrote {path}."));
                Ok(ExitCode::SUCCESS)
            }
        }
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
