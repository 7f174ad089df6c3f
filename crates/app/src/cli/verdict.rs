//! `forge verdict`: the recorded verdict of a phase, for scripts.

use std::process::ExitCode;

use clap::Args;
use forge_api::{Error, verdict::RecordedVerdict};
use forge_core::verdict::PhaseVerdict;

use super::common::open_forge;
use crate::terminal_output;

/// Print the verdict of a phase: approved, revision, n/a or unknown
#[derive(Args)]
#[command(after_help = "Exit codes: 0 approved, 1 any other verdict, 2 no such run or phase.")]
pub(crate) struct VerdictArgs {
    /// Name a run, or a task, sprint or bug
    #[arg(value_name = "RUN|ID")]
    target: String,
    /// Name a review, another check or a stage, such as T1/review
    phase: String,
}

/// The exit code for everything but approved.
const NOT_APPROVED: u8 = 1;

impl VerdictArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let RecordedVerdict { verdict, why } = open_forge()?.verdict(&self.target, &self.phase)?;
        terminal_output::print(verdict.as_str());
        if let Some(why) = why {
            terminal_output::print_note(&why);
        }
        Ok(match verdict {
            PhaseVerdict::Approved => ExitCode::SUCCESS,
            PhaseVerdict::Revision | PhaseVerdict::NotApplicable | PhaseVerdict::Unknown => {
                ExitCode::from(NOT_APPROVED)
            }
        })
    }
}
