//! `forge attach`: shows a run that another process drives.

use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use forge_api::{
    Error,
    forge::{Forge, RunOutcome},
    run_loop::DriveEnd,
};
use forge_core::view::{Course, RunView};

use super::{
    choose_run::{RunAction, choose_run},
    common::open_forge,
    drive_mode::{OutputFormat, report_outcome, report_screen_exit},
    log,
};
use crate::{
    format,
    live::{self, ScreenExit, ScreenTask},
    terminal_output,
    text::status_text::next_command,
};

/// How long a driver may take to exit after the last fact of its run.
const DRIVER_EXIT_WAIT: Duration = Duration::from_secs(5);
/// How often the driver's lock is checked meanwhile.
const DRIVER_EXIT_POLL: Duration = Duration::from_millis(20);

/// After this many checks without a driver a run counts as not driven; drivers may replace each other.
const ABSENT_LOOKS_MAX: u32 = 10;

/// Show a run live, and answer what it asks
#[derive(Args)]
pub(crate) struct AttachArgs {
    /// Name the run; the one that runs or needs you by default
    run: Option<String>,
    /// Print log lines instead of the live screen
    #[arg(long)]
    plain: bool,
}

impl AttachArgs {
    /// Returns the arguments that show a run, or the one that can be meant.
    pub(crate) fn for_run(run: Option<String>) -> Self {
        Self { run, plain: false }
    }

    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let run = choose_run(&forge, self.run.as_deref(), RunAction::Attach)?;
        if !self.plain && live::is_supported() {
            return show_screen(&forge, &run);
        }
        let view = forge.view(&run)?;
        match view.row.standing.course() {
            // No more facts will follow.
            Course::Failed | Course::Over => {}
            // The card below shows what it asks.
            Course::Asking if !has_driver_or_screen(&forge, &run) => {}
            Course::Driven | Course::Asking | Course::Held => {
                if !has_driver_or_screen(&forge, &run) {
                    return Err(not_driven(&view));
                }
                let mut absent_looks = 0;
                log::follow(&forge, &run, &mut || {
                    absent_looks =
                        if has_driver_or_screen(&forge, &run) { 0 } else { absent_looks + 1 };
                    absent_looks < ABSENT_LOOKS_MAX
                })?;
            }
        }
        wait_for_driver(&forge, &run);
        let how = DriveEnd::Stopped(forge.view(&run)?.row.standing);
        let outcome = RunOutcome { run, how, left: None, behind: None };
        report_outcome(&forge, outcome, OutputFormat::Sentences)
    }
}

/// Shows the live screen. A run without a driver is shown, too; the screen offers to drive it.
fn show_screen(forge: &Forge, run: &str) -> Result<ExitCode, Error> {
    let exit = live::show(forge, run, ScreenTask::Attach)?;
    match exit {
        ScreenExit::Finished(_) => wait_for_driver(forge, run),
        ScreenExit::NotDriven | ScreenExit::Detached | ScreenExit::Closed(_) => {}
    }
    report_screen_exit(forge, run, exit)
}

/// Builds the error for a run that could continue but has no driver.
fn not_driven(view: &RunView) -> Error {
    let (run, standing) = (format::short_id(&view.row.run), view.row.standing);
    let what = match standing.course() {
        Course::Driven => format!("{run} is not running"),
        Course::Asking | Course::Held | Course::Failed | Course::Over => {
            format!("{run} is not running ({})", standing.label())
        }
    };
    let next = next_command(view).unwrap_or_else(|| format!("forge status {run}"));
    Error::usage(what, next)
}

fn has_driver_or_screen(forge: &Forge, run: &str) -> bool {
    forge.is_driven(run) || forge.is_attended(run)
}

/// Waits until the driver has exited: it writes the run's last commit after the last fact.
fn wait_for_driver(forge: &Forge, run: &str) {
    let began = Instant::now();
    while forge.is_driven(run) {
        if began.elapsed() >= DRIVER_EXIT_WAIT {
            terminal_output::print_note(&format!(
                "{} is still being saved by the process that runs it",
                format::short_id(run)
            ));
            return;
        }
        thread::sleep(DRIVER_EXIT_POLL);
    }
}
