//! `forge gate`: looks at what must hold before a phase of a run or record begins.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use forge_api::{Error, gate::GateCheck};
use forge_core::event::UnmetNeed;

use super::common::{open_forge, print_json};
use crate::terminal_output;

/// Check what a phase needs before it can begin
#[derive(Args)]
pub(crate) struct GateArgs {
    #[command(subcommand)]
    subcommand: GateSubcommand,
}

#[derive(Subcommand)]
enum GateSubcommand {
    /// Check the gates of a phase, and say what is missing
    #[command(
        after_help = "Exit codes: 0 all gates hold, 1 something is missing, 2 one cannot be read."
    )]
    Check {
        /// Name a run, or a task, sprint or bug
        #[arg(value_name = "RUN|ID")]
        target: String,
        /// Name a stage or a check, such as T1/review
        phase: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The exit codes where something does not hold.
const MISSING: u8 = 1;
const MISCONFIGURED: u8 = 2;

impl GateArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let GateSubcommand::Check { target, phase, json } = self.subcommand;
        let check = open_forge()?.gate_check(&target, &phase)?;
        if json {
            print_json(&check);
        } else {
            print(&check);
        }
        Ok(if !check.misconfigured.is_empty() {
            ExitCode::from(MISCONFIGURED)
        } else if check.ok {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(MISSING)
        })
    }
}

fn print(check: &GateCheck) {
    let GateCheck { phase, ok, checked, missing, misconfigured, next, waits_for } = check;
    if *ok {
        terminal_output::print(&match checked {
            0 => format!("The flow sets no gates for {phase}, so nothing was checked."),
            1 => format!("The gate of {phase} holds."),
            several => format!("All {several} gates of {phase} hold."),
        });
    }
    if let Some(waits) = waits_for {
        terminal_output::print_note(&format!("{phase} has not begun: {waits}"));
    }
    if *ok {
        return;
    }
    terminal_output::print(&format!("{phase} cannot begin:"));
    let lines = |needs: &[UnmetNeed]| {
        for need in needs {
            terminal_output::print(&format!("  {need}"));
        }
    };
    lines(missing);
    lines(misconfigured);
    if let Some(next) = next {
        terminal_output::print(&format!("Then continue with: {next}"));
    }
}
