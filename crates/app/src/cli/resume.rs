//! `forge resume`: drives a run that was stopped, interrupted, answered or has failed.

use std::process::ExitCode;

use clap::Args;
use forge_core::event::Record;
use forge_runtime::{Trouble, older::Named, start::Request};

use super::{
    choose_run::{self, Wanted},
    common::{amount, doors},
    drive_mode::{Manner, Place, detach, drive, drive_on_screen, leave},
};
use crate::terminal_output;

/// Take a run up again after a stop, a crash, an answer or a failure
#[derive(Args)]
pub(crate) struct Resume {
    /// The run, or a folder with a state.json; else the open one
    run: Option<String>,
    /// The effort, where such a folder says none
    #[arg(long, value_name = "SIZE")]
    effort: Option<String>,
    /// A new cap in dollars for the whole run
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    budget: Option<String>,
    #[command(flatten)]
    manner: Manner,
}

impl Resume {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        if self.manner.own_session {
            // Who leads a group already has a session of its own as far as we need one.
            let _leads_already = rustix::process::setsid();
        }
        let doors = doors()?;
        let budget = match &self.budget {
            Some(text) => Some(amount(text, "forge resume RUN --budget AMOUNT")?),
            None => None,
        };
        let run = match self.run.as_deref().map(|named| doors.named(named, self.effort.as_deref()))
        {
            None => choose_run::run(&doors, None, Wanted::Resume)?,
            Some(named) => match named? {
                Named::Run(run) => run,
                Named::CameOf { run, note } => {
                    terminal_output::print_note(&note);
                    run
                }
                Named::Older(older) => {
                    let request = Request { budget, ..older.request };
                    return drive(&doors, &request, &older.notes, &self.manner);
                }
            },
        };
        match self.manner.place() {
            Place::Here(form) => {
                let mut tell = |record: &Record| form.tell(&run, record);
                let left = doors.resume(&run, budget, &mut |run| form.began(run), &mut tell)?;
                leave(&doors, left, form)
            }
            Place::Screen => drive_on_screen(&doors, &run, budget),
            Place::Elsewhere => detach(&doors, &run, budget),
        }
    }
}
