//! `forge resume`: drives a run again that was stopped, interrupted, answered or has failed.

use std::process::ExitCode;

use clap::Args;
use forge_api::{Error, change_settings::WantedSettings, import_run::Named, start::Request};
use forge_core::event::Record;

use super::{
    choose_run::{RunAction, choose_run},
    common::{open_forge, parse_budget},
    drive_mode::{DriveArgs, DriveMode, detach, drive_on_screen, report_outcome, start_and_drive},
};
use crate::terminal_output;

/// Take a run up again after a stop, a crash, an answer or a failure
#[derive(Args)]
pub(crate) struct ResumeArgs {
    /// The run, or a folder with a state.json; else the open one
    run: Option<String>,
    /// The effort, where such a folder says none
    #[arg(long, value_name = "SIZE")]
    effort: Option<String>,
    /// A new cap in dollars for the whole run
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    budget: Option<String>,
    /// Another model, for all roles from here on
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Another agent, for all roles from here on
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Another value of a setting, from here on
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    drive_args: DriveArgs,
}

impl ResumeArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        if self.drive_args.own_session {
            // Fails for a process-group leader, which needs no other session.
            let _leads_already = rustix::process::setsid();
        }
        let forge = open_forge()?;
        let budget = match &self.budget {
            Some(text) => Some(parse_budget(text, "forge resume RUN --budget AMOUNT")?),
            None => None,
        };
        let run = match self.run.as_deref().map(|named| forge.named(named, self.effort.as_deref()))
        {
            None => choose_run(&forge, None, RunAction::Resume)?,
            Some(named) => match named? {
                Named::Run { run, note } => {
                    if let Some(note) = note {
                        terminal_output::print_note(&note);
                    }
                    run
                }
                Named::Older { request, notes } => {
                    let request = Request { budget, ..*request };
                    return start_and_drive(&forge, &request, &notes, &self.drive_args);
                }
            },
        };
        let wanted = self.wanted_settings()?;
        if !wanted.is_empty() {
            forge.change_settings(&run, &wanted)?;
            for asked in forge.view(&run)?.asked {
                if asked.options.iter().any(|option| option.answer == "retry") {
                    let question = asked.question;
                    terminal_output::print_note(&format!(
                        "{question} is still open; to try again with what you changed: forge answer {run} {question} retry"
                    ));
                }
            }
        }
        match self.drive_args.mode() {
            DriveMode::Here(form) => {
                let mut tell = |record: &Record| form.print_record(&run, record);
                let outcome =
                    forge.resume(&run, budget, &mut |run| form.print_started(run), &mut tell)?;
                report_outcome(&forge, outcome, form)
            }
            DriveMode::Screen => drive_on_screen(&forge, &run, budget),
            DriveMode::Detached => detach(&forge, &run, budget),
        }
    }

    fn wanted_settings(&self) -> Result<WantedSettings, Error> {
        let pair = |said: &String| match said.split_once('=') {
            Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
            None => Err(Error::usage(
                format!("`--set {said}` has no value"),
                "forge resume RUN --set limits.silence_minutes=30",
            )),
        };
        let set = self.set.iter().map(pair).collect::<Result<_, _>>()?;
        Ok(WantedSettings { agent: self.agent.clone(), model: self.model.clone(), set })
    }
}
