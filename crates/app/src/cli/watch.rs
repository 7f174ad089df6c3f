//! `forge watch`: prints what an agent says and does as it happens.

use std::process::ExitCode;

use clap::Args;
use forge_api::{
    Error,
    watch::{
        Watched,
        events::{Form, WatchOutput},
    },
};

use super::common::{INTERRUPTED, json_line, open_forge, run_and_name};
use crate::{
    terminal_info, terminal_output,
    text::agent_event::{event_paragraph, event_text, is_printed},
};

/// Follow one agent: what it says, which tools it uses, how it ends
#[derive(Args)]
pub(crate) struct WatchArgs {
    /// Name the run; the latest by default
    run: Option<String>,
    /// Name the task or stage: T2, design, or review#1 for one review
    task: Option<String>,
    /// Print the transcript as it is
    #[arg(long)]
    raw: bool,
    /// Print one JSON object for each thing that happens
    #[arg(long, conflicts_with = "raw")]
    json: bool,
}
impl WatchArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let (run, task) = run_and_name(&forge, self.run.as_deref(), self.task.as_deref())?;
        let form = if self.raw { Form::Bytes } else { Form::Signals };
        let mut print = |shown: WatchOutput<'_>| match shown {
            WatchOutput::Bytes(bytes) => terminal_output::print_chunk(bytes),
            WatchOutput::Event(seen) if self.json => {
                terminal_output::print_raw(&json_line(&seen));
            }
            WatchOutput::Event(seen) if !is_printed(&seen) => {}
            WatchOutput::Event(seen) => {
                let text = event_paragraph(&event_text(&seen), terminal_info::terminal_width());
                terminal_output::print(&text);
            }
        };
        match forge.watch(&run, task.as_deref(), form, &mut print)? {
            Watched::ToTheEnd => Ok(ExitCode::SUCCESS),
            Watched::Interrupted => {
                terminal_output::print_stderr("Stopped watching. The run continues.");
                Ok(ExitCode::from(INTERRUPTED))
            }
        }
    }
}
