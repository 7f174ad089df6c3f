//! `forge attach`: the live screen of a run that is driven elsewhere.

use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use forge_core::view::{Course, Standing};
use forge_runtime::{
    Trouble,
    doors::{Doors, Left},
    drive::LetGo,
};

use super::{
    choose_run::{self, Wanted},
    common::doors,
    drive_mode::{Form, leave, leave_screen},
    log,
};
use crate::{
    live::{self, Ended, Task},
    terminal_output,
};

/// How long whoever drives a run may take from its last fact until it lets go.
const LET_GO_WAIT: Duration = Duration::from_secs(5);
/// How often it is looked at meanwhile.
const LET_GO_LOOK: Duration = Duration::from_millis(20);

/// After so many looks without a driver a run has none: drivers hand over to each other.
const LOOKS_ALONE: u32 = 10;

/// Look at a run that goes on elsewhere, and answer what it asks
#[derive(Args)]
pub(crate) struct Attach {
    /// The run; the one that is driven if none is named
    run: Option<String>,
    /// Print one line for each fact, also on a terminal
    #[arg(long)]
    plain: bool,
}

impl Attach {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let run = choose_run::run(&doors, self.run.as_deref(), Wanted::Attach)?;
        if !self.plain && live::is_possible() {
            return show(&doors, &run);
        }
        let standing = doors.view(&run)?.row.standing;
        match standing.course() {
            // It is shown as it is: nothing comes any more.
            Course::Failed | Course::Over => {}
            Course::Driven | Course::Asking | Course::Held => {
                if !is_looked_after(&doors, &run) {
                    return Err(nobody_drives(&run, standing));
                }
            }
        }
        log::follow(&doors, &run, &mut Company::of(&doors, &run))?;
        until_let_go(&doors, &run);
        let how = LetGo::Stopped(doors.view(&run)?.row.standing);
        let left = Left { run, how, view: None, behind: None };
        leave(&doors, left, Form::Sentences)
    }
}

/// Shows a run that others drive, or nobody: the screen says so, and can drive it on.
fn show(doors: &Doors, run: &str) -> Result<ExitCode, Trouble> {
    let ended = live::show(doors, run, Task::Attach)?;
    match ended {
        Ended::Left(_) => until_let_go(doors, run),
        Ended::Alone | Ended::Detached | Ended::LookedAway(_) => {}
    }
    leave_screen(doors, run, ended)
}

/// A run that would go on, and nobody is there who lets it.
fn nobody_drives(run: &str, standing: Standing) -> Trouble {
    let (why, next) = match standing.course() {
        Course::Asking => {
            (": it waits for your answer", format!("forge status {run} (what it asks), then "))
        }
        Course::Driven | Course::Held | Course::Failed | Course::Over => ("", String::new()),
    };
    Trouble::usage(format!("nobody drives {run}{why}"), format!("{next}forge resume {run}"))
}

fn is_looked_after(doors: &Doors, run: &str) -> bool {
    doors.is_driven(run) || doors.is_attended(run)
}

/// Whether anybody is still there to drive a run that is followed.
struct Company<'a> {
    doors: &'a Doors,
    run: &'a str,
    n_alone: u32,
}

impl<'a> Company<'a> {
    fn of(doors: &'a Doors, run: &'a str) -> Self {
        Self { doors, run, n_alone: 0 }
    }
}

impl log::Until for Company<'_> {
    fn goes_on(&mut self) -> bool {
        self.n_alone = if is_looked_after(self.doors, self.run) { 0 } else { self.n_alone + 1 };
        self.n_alone < LOOKS_ALONE
    }
}

/// Waits until whoever drives a run has written all of it down: its last commit comes after its last fact.
fn until_let_go(doors: &Doors, run: &str) {
    let began = Instant::now();
    while doors.is_driven(run) {
        if began.elapsed() >= LET_GO_WAIT {
            terminal_output::print_note(&format!(
                "{run} is still being written down where it is driven"
            ));
            return;
        }
        thread::sleep(LET_GO_LOOK);
    }
}
