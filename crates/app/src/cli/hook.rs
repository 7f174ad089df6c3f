//! `forge hook`: what the program of an agent asks before it writes, and what a person allows it once.

use std::{
    io::{self, Read as _},
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

use clap::{Args, Subcommand};
use forge_api::{
    Error,
    error::Kind,
    work::{HOOK_BYTES_MAX, WorkLine, allow_write, check_tool_call},
};

use super::{common::current_dir, prompt::can_ask};
use crate::terminal_output;

/// Check what an agent is about to write into a record
#[derive(Args)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    subcommand: HookSubcommand,
}

#[derive(Subcommand)]
enum HookSubcommand {
    /// Read the use of a tool as JSON from stdin; exit code 2 refuses it
    Write,
    /// Allow the next write of a record's file without a check
    Allow {
        /// Name the file
        path: String,
        /// Give the reason
        #[arg(long, short = 'm', value_name = "WHY")]
        why: String,
    },
}

/// What is expected on stdin.
const TOOL_CALL: &str = "echo '{\"tool_name\": \"Write\", \"tool_input\": {\"file_path\": \"PATH\", \
     \"content\": \"TEXT\"}}' | forge hook write";

impl HookArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        match self.subcommand {
            HookSubcommand::Write => {
                // Only the exit code 2 refuses; a bug of ours must not let a write pass.
                let checked = panic::catch_unwind(AssertUnwindSafe(check_stdin));
                let refused =
                    || Err(Error::usage("internal error: the write is refused", "forge doctor"));
                let checked = checked.unwrap_or_else(|_| refused());
                checked.map_err(|error| Error { kind: Kind::Usage, ..error })?;
                Ok(ExitCode::SUCCESS)
            }
            HookSubcommand::Allow { path, why } => {
                if !can_ask() {
                    let what = "only a person at a terminal can allow this";
                    return Err(Error::person(what, "run it in a terminal of your own"));
                }
                let view = allow_write(&current_dir()?, &path, why)?;
                let WorkLine { id, .. } = &view.line;
                terminal_output::print(&format!("The next write of {id} is not checked."));
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn check_stdin() -> Result<(), Error> {
    let mut text = String::new();
    let next = "forge help hook write";
    let read = io::stdin().lock().take(HOOK_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| Error::usage(format!("stdin cannot be read: {error}"), next))?;
    if text.len() as u64 > HOOK_BYTES_MAX {
        return Err(Error::usage(format!("stdin has more than {HOOK_BYTES_MAX} bytes"), next));
    }
    let call = serde_json::from_str::<serde_json::Value>(&text);
    let tool = call.as_ref().map(|call| call["tool_name"].is_string());
    match tool {
        Ok(true) => check_tool_call(&text, &current_dir()?),
        Ok(false) => Err(Error::usage("stdin has no `tool_name`", TOOL_CALL)),
        Err(error) => Err(Error::usage(format!("stdin is not JSON: {error}"), TOOL_CALL)),
    }
}
