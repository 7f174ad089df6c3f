//! `forge rewind`: starts a new run that shares the facts of another one up to a stage.

use std::{cell::RefCell, process::ExitCode};

use clap::Args;
use forge_api::Error;
use forge_core::event::Record;

use super::{
    common::open_forge,
    drive_mode::{OutputFormat, report_outcome},
};
use crate::text::result_text::parse_unit_id;

/// Start a new run from a stage of another; keep what came before
#[derive(Args)]
pub(crate) struct RewindArgs {
    /// Name the run; it stays as it is
    run: String,
    /// Name the stage or task to run again, such as design or T2
    unit: String,
    /// Print a JSON object for each record and for the end
    #[arg(long)]
    json: bool,
}

impl RewindArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let form = OutputFormat::from_json_flag(self.json);
        let forge = open_forge()?;
        let run = forge.resolve(&self.run)?;
        let unit = parse_unit_id(&self.unit)?;
        let id = RefCell::new(String::new());
        let mut began = |new: &str| {
            new.clone_into(&mut id.borrow_mut());
            form.print_started(new);
        };
        let mut tell = |record: &Record| form.print_record(&id.borrow(), record);
        let outcome = forge.rewind(&run, &unit, &mut began, &mut tell)?;
        report_outcome(&forge, outcome, form)
    }
}
