//! `forge rewind`: a new run that shares the facts of another one up to a stage.

use std::{cell::RefCell, process::ExitCode};

use clap::Args;
use forge_core::event::Record;
use forge_runtime::Trouble;

use super::{
    common::doors,
    drive_mode::{Form, leave},
};
use crate::text::result_text::unit_id;

/// Start a new run from a stage of another; what was before stays
#[derive(Args)]
pub(crate) struct Rewind {
    /// The run; it stays as it is
    run: String,
    /// What is done anew: a stage, or a unit such as build.T2/implement
    unit: String,
    /// Print a JSON object for each record and for the end
    #[arg(long)]
    json: bool,
}

impl Rewind {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let form = Form::of(self.json);
        let doors = doors()?;
        let run = doors.resolve(&self.run)?;
        let unit = unit_id(&self.unit)?;
        let id = RefCell::new(String::new());
        let mut began = |new: &str| {
            new.clone_into(&mut id.borrow_mut());
            form.began(new);
        };
        let mut tell = |record: &Record| form.tell(&id.borrow(), record);
        let left = doors.rewind(&run, &unit, &mut began, &mut tell)?;
        leave(&doors, left, form)
    }
}
