//! `forge demo`: creates a small project and runs the scripted agent on it.
//!
//! What is printed about the run comes from the journal, as in `forge run` and `forge show`.

use std::{env, fs, path::PathBuf, process::ExitCode};

use clap::Args;
use forge_api::{
    Error, demo,
    forge::Forge,
    refuse_agents,
    run_id::new_run_id,
    start::{Allowed, Asks, Request},
};
use forge_core::{
    event::{Approvals, Record},
    view::Standing,
};

use super::drive_mode::{OutputFormat, report_outcome};
use crate::{terminal_info, terminal_output, text::result_text};

/// Try Forge on a small project, with scripted agents and no model
#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Keep it all in this folder, which must be empty or new
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl DemoArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        refuse_agents()?;
        let temporary = env::temp_dir().join(format!("forge-demo-{}", new_run_id("")));
        let dir = self.dir.clone().unwrap_or(temporary);
        demo::make(&dir)?;
        let folder = dir.display();
        terminal_output::print(&format!(
            "A small project is in {folder}.\n\
             The agents are scripted: a file says what they do, no model is asked, nothing is paid.\n\
             All else is real: git, the project's tests, the reviews' verdicts, the journal.\n\n\
             $ forge run --flow {} --auto \"{}\"",
            demo::FLOW,
            demo::REQUEST
        ));
        let forge = Forge::open(&dir)?;
        let request = Request {
            flow: Some(demo::FLOW.to_owned()),
            approvals: Approvals::Automatic,
            ..Request::new(demo::REQUEST)
        };
        let begun = forge.begin(&request, &mut DemoPrompts)?;
        let run = begun.run.clone();
        OutputFormat::Sentences.print_started(&run);
        let outcome = begun
            .drive(&mut |record: &Record| OutputFormat::Sentences.print_record(&run, record))?;
        let code = report_outcome(&forge, outcome, OutputFormat::Sentences)?;
        let view = forge.result(&run)?;
        if view.row.standing != Standing::Done {
            terminal_output::print(&format!("go on with: cd {folder} && forge resume"));
            return Ok(code);
        }
        terminal_output::print(&format!(
            "\n$ forge show {run}\n{}",
            result_text::result_text(&view, terminal_info::terminal_width())
        ));
        terminal_output::print("");
        if self.dir.is_some() {
            terminal_output::print(&format!("{}\n", result_text::next_steps(&view).join("\n")));
            terminal_output::print(&format!(
                "All of it is in {folder}: cd there, and try forge status, log, show."
            ));
        } else {
            let removed = fs::remove_dir_all(&dir);
            terminal_output::print(match removed {
                Ok(()) => {
                    "The folder is removed. `forge demo --dir DIR` keeps it, to look around in."
                }
                Err(_) => "The folder could not be removed.",
            });
        }
        terminal_output::print(
            "With your own project: `forge init` finds its checks and writes forge.toml; `forge agents` says who\n\
             can work there.",
        );
        Ok(code)
    }
}

/// Answers for the demo: it approves the commands, which come from the project just created.
struct DemoPrompts;

impl Asks for DemoPrompts {
    fn commands(&mut self, _commands: &[String]) -> Allowed {
        Allowed::Once
    }
}
