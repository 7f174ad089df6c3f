//! `forge pause`, `forge stop` and `forge abandon`.

use std::process::ExitCode;

use clap::Args;
use forge_core::Command;
use forge_runtime::{
    Trouble,
    doors::{Sent, person},
};

use super::{
    choose_run::{self, Wanted},
    common::doors,
};
use crate::terminal_output;

/// Start nothing new; what runs may end
#[derive(Args)]
pub(crate) struct Pause {
    /// The run; the one that is driven if none is named
    run: Option<String>,
}

/// Stop a run at once; it can be resumed
#[derive(Args)]
pub(crate) struct Stop {
    /// The run; the one that is driven if none is named
    run: Option<String>,
}

/// Stop a run and give it up for good; what it made is kept
#[derive(Args)]
pub(crate) struct Abandon {
    /// The run; the only one that could be if none is named
    run: Option<String>,
}

impl Pause {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let run = choose_run::run(&doors, self.run.as_deref(), Wanted::Pause)?;
        let sent = doors.send(&run, &Command::Pause { by: person() })?;
        terminal_output::print(&match sent {
            Sent::ToDriver => format!("{run} is paused: what runs may end, nothing new starts"),
            Sent::Journaled => format!("{run} is paused"),
        });
        terminal_output::print(&format!("go on with: forge resume {run}"));
        Ok(ExitCode::SUCCESS)
    }
}

impl Stop {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let run = choose_run::run(&doors, self.run.as_deref(), Wanted::Stop)?;
        doors.send(&run, &Command::Stop { by: person() })?;
        terminal_output::print(&format!("{run} is stopped; go on with: forge resume {run}"));
        Ok(ExitCode::SUCCESS)
    }
}

impl Abandon {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let run = choose_run::run(&doors, self.run.as_deref(), Wanted::Abandon)?;
        doors.send(&run, &Command::Abandon { by: person() })?;
        let folder = doors.home.run(&run);
        terminal_output::print(&format!(
            "{run} is abandoned; what it made is in {}",
            folder.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}
