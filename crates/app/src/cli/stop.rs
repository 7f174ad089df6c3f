//! `forge pause`, `forge stop` and `forge abandon`.

use std::process::ExitCode;

use clap::Args;
use forge_api::{
    Error,
    forge::{Forge, Sent},
    person::person,
};
use forge_core::{
    Command,
    view::{Course, RunView, Standing, sanitize},
};

use super::{
    choose_run::{RunAction, choose_run},
    common::open_forge,
    prompt::{Confirmation, confirm},
};
use crate::{
    format, terminal_output,
    text::{
        state_words::{DrivenBy, row_mark},
        status_text::next_command,
    },
};

/// Pause a run: start nothing new, let running agents finish
#[derive(Args)]
pub(crate) struct PauseArgs {
    /// Name the run; the running one by default
    run: Option<String>,
}

/// Stop a run at once; it can be resumed
#[derive(Args)]
pub(crate) struct StopArgs {
    /// Name the run; the running one by default
    run: Option<String>,
}

/// End a run for good; what it made is kept
#[derive(Args)]
pub(crate) struct AbandonArgs {
    /// Name the runs; the only unfinished one by default
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Abandon them without asking
    #[arg(long, short)]
    yes: bool,
}

impl PauseArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        forge.refuse_agents()?;
        let run = choose_run(&forge, self.run.as_deref(), RunAction::Pause)?;
        let view = forge.view(&run)?;
        if view.row.standing.course() == Course::Held {
            return Err(already_held(&forge, &view));
        }
        let sent = forge.send(&run, &Command::Pause { by: person() })?;
        let id = format::short_id(&run);
        terminal_output::print(&match sent {
            Sent::ToDriver => format!("{id} is paused: running agents finish, nothing new starts"),
            Sent::Journaled => format!("{id} is paused"),
        });
        terminal_output::print(&format!("Next: forge resume {id}"));
        Ok(ExitCode::SUCCESS)
    }
}

impl StopArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        forge.refuse_agents()?;
        let run = choose_run(&forge, self.run.as_deref(), RunAction::Stop)?;
        let id = format::short_id(&run);
        let (view, was_driven) = (forge.view(&run)?, forge.is_driven(&run));
        let course = view.row.standing.course();
        if !was_driven && view.row.working == 0 && course != Course::Over {
            let state = match course {
                Course::Driven => String::new(),
                Course::Asking | Course::Held | Course::Failed | Course::Over => {
                    format!(" ({})", view.row.standing.label())
                }
            };
            let next = next_command(&view).unwrap_or_else(|| format!("forge attach {id}"));
            terminal_output::print(&format!(
                "{id} was not running{state}\nNext: {next} · forge abandon {id}"
            ));
            return Ok(ExitCode::SUCCESS);
        }
        forge.send(&run, &Command::Stop { by: person() })?;
        terminal_output::print(&match forge.wait_for_calls(&run)? {
            0 if was_driven => format!("{id} is stopped"),
            0 => format!("{id} was not running; what it left is stopped"),
            alive => format!("{id} is being stopped; {}", still_running(alive, id)),
        });
        terminal_output::print(&format!("Next: forge resume {id} · forge abandon {id}"));
        Ok(ExitCode::SUCCESS)
    }
}

impl AbandonArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        forge.refuse_agents()?;
        let named: Vec<Option<&str>> = match self.runs.as_slice() {
            [] => vec![None],
            runs => runs.iter().map(|run| Some(run.as_str())).collect(),
        };
        // All of them are found before the first one ends.
        let choose = |named: Option<&str>| choose_run(&forge, named, RunAction::Abandon);
        let runs = named.into_iter().map(choose).collect::<Result<Vec<String>, Error>>()?;
        for run in &runs {
            if self.abandon(&forge, run)? == Confirmation::Refused {
                return Ok(ExitCode::from(Standing::Waiting.exit_code()));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn abandon(&self, forge: &Forge, run: &str) -> Result<Confirmation, Error> {
        let id = format::short_id(run);
        let row = forge.view(run)?.row;
        // What is over is refused without a question.
        if !self.yes && row.standing.course() != Course::Over {
            let question = format!(
                "{id}  {}\nAbandon it for good? It cannot be resumed; its commits are kept. [y/N]",
                sanitize(&row.title)
            );
            match confirm(&question) {
                Confirmation::Given => {}
                Confirmation::Refused => {
                    terminal_output::print(&format!("{id} was not abandoned."));
                    return Ok(Confirmation::Refused);
                }
                Confirmation::NoTerminal => {
                    let what = "abandoning a run is final, so it needs your yes";
                    return Err(Error::person(what, format!("forge abandon {id} --yes")));
                }
            }
        }
        forge.send(run, &Command::Abandon { by: person() })?;
        let alive = forge.wait_for_calls(run)?;
        terminal_output::print(&format!("{id} is abandoned\nNext: forge show {id}"));
        if alive > 0 {
            terminal_output::print(&still_running(alive, id));
        }
        Ok(Confirmation::Given)
    }
}

/// Builds the error for a run that stands still already, or will soon.
fn already_held(forge: &Forge, view: &RunView) -> Error {
    let id = format::short_id(&view.row.run);
    let driven_by = DrivenBy::from_lock(forge.is_driven(&view.row.run));
    let next = match driven_by {
        DrivenBy::Nothing => next_command(view),
        DrivenBy::ThisProcess | DrivenBy::AnotherProcess => None,
    };
    let what = format!("{id} is already {}", row_mark(&view.row, driven_by).2);
    Error::usage(what, next.unwrap_or_else(|| format!("forge attach {id}")))
}

/// What has not ended yet, though it was told to.
fn still_running(alive: usize, run: &str) -> String {
    let attempts = if alive == 1 { "1 attempt has" } else { &format!("{alive} attempts have") };
    format!("{attempts} not ended yet and will be killed within a minute; see: forge status {run}")
}
