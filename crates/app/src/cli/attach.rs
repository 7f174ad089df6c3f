//! `forge attach`: the live screen of a run that is driven elsewhere.

use std::process::ExitCode;

use clap::Args;
use forge_core::view::Standing;
use forge_runtime::Trouble;

use super::{doors, driving::leave_screen, log, named_or_latest};
use crate::live::{self, Task};

/// Look at a run that goes on elsewhere, and answer what it asks
#[derive(Args)]
pub(crate) struct Attach {
    /// The run; the latest if none is named
    run: Option<String>,
    /// Print one line for each fact, also on a terminal
    #[arg(long)]
    plain: bool,
}

impl Attach {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let run = named_or_latest(&doors, self.run.as_deref())?;
        if self.plain || !live::is_possible() {
            return log::follow(&doors, &run);
        }
        let standing = doors.view(&run)?.row.standing;
        let is_to_go_on = matches!(standing, Standing::Going | Standing::Limited);
        if is_to_go_on && !doors.is_driven(&run) {
            return Err(Trouble::usage(
                format!("nobody drives {run}"),
                format!("forge resume {run}"),
            ));
        }
        let ended = live::show(&doors, &run, Task::Attach)?;
        leave_screen(&doors, &run, ended)
    }
}
