//! `forge edit`: takes a manual change of an artifact or of a unit's code.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use forge_api::{
    Error,
    forge::{Forge, Sent},
    refuse_agents,
};

use super::{common::open_forge, editor::edit_text};
use crate::{terminal_output, text::result_text::parse_unit_id};

/// Change an artifact or code by hand; its gates look again
#[derive(Args)]
pub(crate) struct EditArgs {
    /// The run
    run: String,
    /// The artifact, as `forge show RUN` names it
    #[arg(required_unless_present = "code", conflicts_with = "code")]
    artifact: Option<String>,
    /// Take what you changed in the checkout of this unit
    #[arg(long, value_name = "UNIT")]
    code: Option<String>,
    /// Why, in your words; it is kept with your name
    #[arg(long, value_name = "REASON")]
    why: Option<String>,
    /// Take the new content from this file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "code")]
    file: Option<PathBuf>,
}

impl EditArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        refuse_agents()?;
        let forge = open_forge()?;
        let run = forge.resolve(&self.run)?;
        let sent = match (&self.code, &self.artifact) {
            (Some(unit), _) => self.code(&forge, &run, unit)?,
            (None, Some(name)) => self.artifact(&forge, &run, name)?,
            (None, None) => unreachable!("one of both is required"),
        };
        terminal_output::print(match sent {
            Sent::ToDriver => "taken in; its gates look again",
            Sent::Journaled => "taken in; its gates look again when the run goes on",
        });
        if sent == Sent::Journaled {
            terminal_output::print(&format!("next: forge resume {run}"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn reason(&self, example: &str) -> Result<&str, Error> {
        match self.why.as_deref().map(str::trim).filter(|why| !why.is_empty()) {
            Some(why) => Ok(why),
            None => Err(Error::usage("changing something by hand needs a reason", example)),
        }
    }

    fn code(&self, forge: &Forge, run: &str, unit: &str) -> Result<Sent, Error> {
        let id = parse_unit_id(unit)?;
        let checkout = forge.checkout(run, &id)?;
        let example = format!(
            "change files in {}, then forge edit {run} --code {unit} --why REASON",
            checkout.display()
        );
        forge.edit_code(run, &id, self.reason(&example)?)
    }

    fn artifact(&self, forge: &Forge, run: &str, name: &str) -> Result<Sent, Error> {
        let found = forge.editable(run, name)?;
        let why = self.reason(&format!("forge edit {run} {name} --why REASON"))?;
        let content = match &self.file {
            Some(path) if path == Path::new("-") => {
                let mut bytes = Vec::new();
                let read = io::stdin().lock().read_to_end(&mut bytes);
                read.map_err(|error| Error::file(Path::new("standard input"), &error))?;
                bytes
            }
            Some(path) => fs::read(path).map_err(|error| Error::file(path, &error))?,
            None => {
                let otherwise = format!("forge edit {run} {name} --file NEW --why REASON");
                edit_text(&found.name, &found.content, &otherwise)?
            }
        };
        if content == found.content {
            let what = format!("`{}` is as it was; nothing is changed", found.name);
            return Err(Error::usage(what, format!("forge edit {run} {name} --why REASON")));
        }
        forge.edit_artifact(run, &found.unit, &found.name, &content, why)
    }
}
