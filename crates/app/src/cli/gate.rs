//! `forge gate`: looks at what must hold before a phase of a record or run begins.

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
    Check {
        /// Name a stage or a check, such as implement or review-code
        phase: String,
        /// Name a task, sprint or bug, or a run
        #[arg(value_name = "ID|RUN")]
        target: String,
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
        let GateSubcommand::Check { phase, target, json } = self.subcommand;
        let check = open_forge()?.gate_check(&phase, &target)?;
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
    let GateCheck { phase, ok, missing, misconfigured, next } = check;
    if *ok {
        terminal_output::print(&format!("{phase} can begin."));
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
