//! `forge attach`: the live screen of a run that is driven elsewhere.

use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use forge_core::view::Standing;
use forge_runtime::{
    Trouble,
    doors::{Doors, Left},
    drive::LetGo,
};

use super::{
    doors,
    driving::{Form, leave, leave_screen},
    log, named_or_latest,
};
use crate::{
    live::{self, Ended, Task},
    screen,
};

/// How long whoever drives a run may take from its last fact until it lets go.
const LET_GO_WAIT: Duration = Duration::from_secs(5);
/// How often it is looked at meanwhile.
const LET_GO_LOOK: Duration = Duration::from_millis(20);

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
            log::follow(&doors, &run)?;
            until_let_go(&doors, &run);
            let how = LetGo::Stopped(doors.view(&run)?.row.standing);
            let left = Left { run, how, view: None, behind: None };
            return leave(&doors, left, Form::Sentences);
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
        if let Ended::Left(_) = &ended {
            until_let_go(&doors, &run);
        }
        leave_screen(&doors, &run, ended)
    }
}

/// Waits until whoever drives a run has written all of it down: its last commit comes after its last fact.
fn until_let_go(doors: &Doors, run: &str) {
    let began = Instant::now();
    while doors.is_driven(run) {
        if began.elapsed() >= LET_GO_WAIT {
            screen::warn(&format!("note: {run} is still being written down where it is driven"));
            return;
        }
        thread::sleep(LET_GO_LOOK);
    }
}
