//! `forge rewind`: starts a new run that shares the facts of another one up to a stage.

use std::process::ExitCode;

use clap::Args;
use forge_api::{Error, forge::Takeover};
use forge_core::{
    Run,
    event::{Event, Record},
    view::UnitView,
};

use super::{
    common::{open_forge, run_and_name},
    drive_mode::{DriveArgs, DriveMode, OutputFormat, report_outcome},
};
use crate::{format, text::result_text::parse_unit_id};

/// Start a new run from a stage of another; keep what came before
#[derive(Args)]
pub(crate) struct RewindArgs {
    /// Name the run, which stays as it is; the latest by default
    run: Option<String>,
    /// Name the stage or task to run again, such as design or T2
    #[arg(value_name = "STAGE")]
    unit: Option<String>,
    #[command(flatten)]
    drive_args: DriveArgs,
}

impl RewindArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let (run, name) = run_and_name(&forge, self.run.as_deref(), self.unit.as_deref())?;
        let Some(name) = name else {
            let id = format::short_id(&run);
            let view = forge.view(&run)?;
            let tried = view.units.iter().filter(|unit| unit.attempt > 0);
            let tried: Vec<&str> = tried.map(|unit| unit.unit.as_str()).collect();
            let mut labels: Vec<String> = Vec::new();
            for label in tried.iter().map(|unit| format::unit_label(unit)) {
                if !labels.contains(&label) {
                    labels.push(label);
                }
            }
            let labels = labels.join(", ");
            let what = format!("name the stage or task to run again: {labels}");
            let next = tried.first().unwrap_or(&"STAGE");
            return Err(Error::usage(what, format!("forge rewind {id} {next}")));
        };
        // A name that is not a whole one is found by its part.
        let whole = parse_unit_id(&name)?;
        let has = |unit: &UnitView| unit.unit == name;
        let unit = if forge.view(&run)?.units.iter().any(has) {
            whole
        } else {
            forge.find_unit("rewind", &run, &name).unwrap_or(whole)
        };
        let begun = forge.rewind(&run, &unit)?;
        let DriveMode::Here(form) = self.drive_args.mode() else {
            return self.drive_args.resume(&forge, &begun.let_go()?, Takeover::AsItIs);
        };
        form.print_started(&begun.run);
        // Who reads along has seen what both runs share.
        let mut is_shared = form == OutputFormat::Sentences;
        let mut tell = |state: &Run, record: &Record| {
            let is_rewind =
                |fact: &Event| matches!(fact, Event::RunRewound { from, .. } if *from == run);
            is_shared &= !record.facts.iter().any(is_rewind);
            if !is_shared {
                form.print_record(state, record);
            }
        };
        report_outcome(&forge, begun.drive(&mut tell)?, form)
    }
}
