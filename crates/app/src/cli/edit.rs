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

use super::common::{open_forge, run_and_name};
use crate::{editor::edit_text, format, terminal_output};

/// Change a file of a run or its code by hand; checks run again
#[derive(Args)]
pub(crate) struct EditArgs {
    /// Name the run; the latest by default
    run: Option<String>,
    /// Name the file, as `forge show` lists it
    #[arg(value_name = "NAME", conflicts_with = "code")]
    artifact: Option<String>,
    /// Take what you changed in the checkout of this task
    #[arg(long, value_name = "TASK")]
    code: Option<String>,
    /// Say why; it is kept with your name
    #[arg(long, short = 'm', value_name = "REASON")]
    why: Option<String>,
    /// Read the new content from this file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "code")]
    file: Option<PathBuf>,
}

impl EditArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        refuse_agents()?;
        let forge = open_forge()?;
        let (run, artifact) = run_and_name(&forge, self.run.as_deref(), self.artifact.as_deref())?;
        let id = format::short_id(&run);
        let sent = match (&self.code, &artifact) {
            (Some(unit), _) => self.code(&forge, &run, unit)?,
            (None, Some(name)) => self.artifact(&forge, &run, name)?,
            (None, None) => {
                let what = format!("name the file of {id} that you want to change");
                return Err(Error::usage(what, format!("forge show {id}")));
            }
        };
        terminal_output::print(match sent {
            Sent::ToDriver => "saved; its checks run again",
            Sent::Journaled => "saved; its checks run again when the run continues",
        });
        if sent == Sent::Journaled {
            terminal_output::print(&format!("Next: forge resume {id}"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn reason(&self, files: &str, example: &str) -> Result<&str, Error> {
        let why = self.why.as_deref().map(str::trim).filter(|why| !why.is_empty());
        why.ok_or_else(|| Error::usage(format!("a change by hand needs a reason{files}"), example))
    }

    fn code(&self, forge: &Forge, run: &str, unit: &str) -> Result<Sent, Error> {
        let found = forge.find_unit("edit --code", run, unit)?;
        let checkout = forge.checkout(run, &found)?;
        let files = format!("; the files are in {}", checkout.display());
        let id = format::short_id(run);
        let example = format!("forge edit {id} --code {unit} --why \"REASON\"");
        forge.edit_code(run, &found, self.reason(&files, &example)?)
    }

    fn artifact(&self, forge: &Forge, run: &str, name: &str) -> Result<Sent, Error> {
        let found = forge.editable(run, name)?;
        let why = self
            .reason("", &format!("forge edit {} {name} --why \"REASON\"", format::short_id(run)))?;
        let content = match &self.file {
            Some(path) if path == Path::new("-") => {
                let mut bytes = Vec::new();
                let read = io::stdin().lock().read_to_end(&mut bytes);
                read.map_err(|error| Error::file(Path::new("standard input"), &error))?;
                bytes
            }
            Some(path) => fs::read(path).map_err(|error| Error::file(path, &error))?,
            None => {
                let otherwise = Error::usage(
                    "no editor can be opened without a terminal",
                    format!("forge edit {} {name} --file NEW --why REASON", format::short_id(run)),
                );
                edit_text(&found.name, &found.content, otherwise)?
            }
        };
        if content == found.content {
            let what = format!("`{}` is unchanged", found.name);
            return Err(Error::usage(
                what,
                format!("forge edit {} {name} --why REASON", format::short_id(run)),
            ));
        }
        forge.edit_artifact(run, &found.unit, &found.name, &content, why)
    }
}
