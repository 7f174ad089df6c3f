//! `forge init`: detects the project's checks, tries them once, and writes `forge.toml`.

use std::process::ExitCode;

use clap::Args;
use forge_api::{
    Error,
    init::{Purpose, Tried, settings_text},
};
use forge_core::{
    event::Colour,
    view::{sanitize, short_commit},
};

use super::{
    common::open_forge,
    prompt::{Confirmation, confirm},
    pull_request::execute,
};
use crate::{format, terminal_info, terminal_output};

/// Find the project's checks, try them once, and write forge.toml
#[derive(Args)]
pub(crate) struct InitArgs {
    /// Write the settings without running the checks
    #[arg(long)]
    no_try: bool,
    /// Print what would be written, and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
}

impl InitArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let (head, mut project) = forge.project()?;
        let foreign = forge.foreign_folders().into_iter();
        print_notes(&foreign.map(foreign_note).collect::<Vec<String>>());
        for found in project.setup.iter().chain(&project.verify) {
            terminal_output::print_stderr(&format!("found  {}  ({})", found.command, found.why));
        }
        for offer in &project.offers {
            let line =
                format!("offer  {}  ({}); not run, see forge.toml", offer.command, offer.why);
            terminal_output::print_stderr(&line);
        }
        let found = project.notes.len();
        print_notes(&project.notes);
        let tried = if self.no_try || self.dry_run {
            Vec::new()
        } else {
            if !project.verify.is_empty() {
                let commit = short_commit(&head);
                terminal_output::print_stderr(&format!(
                    "trying them on {commit}, in a private checkout"
                ));
            }
            forge.try_out(&head, &mut project, &mut print_tried)?
        };
        print_notes(&project.notes[found..]);
        let text = settings_text(&head, &project, &tried);
        if self.dry_run {
            terminal_output::print(text.trim_end());
            return Ok(ExitCode::SUCCESS);
        }
        let path = forge.write_settings(&text, &project)?;
        let are_allowed = !project.setup.is_empty() || !project.verify.is_empty();
        let allowed = if are_allowed { " and allowed its commands on this machine" } else { "" };
        terminal_output::print(&format!("Wrote {}{allowed}.", path.display()));
        if tried.iter().any(|one| one.colour == Colour::Red && one.purpose == Purpose::SetUp) {
            // Its next commands would start a run that fails.
            return Err(Error::surroundings(
                "setup failed, so no check was tried",
                "forge config edit",
            ));
        }
        if project.verify.is_empty() {
            terminal_output::print(
                "no checks found: add yours to [verify] commands, or results stay unverified",
            );
        } else if tried.iter().any(|one| one.colour == Colour::Red) {
            terminal_output::print(
                "a check already fails on the current commit; forge.toml notes it",
            );
        }
        if confirm("Commit forge.toml now? A run reads it from the commit. [y/N]")
            == Confirmation::Given
        {
            let path = path.display().to_string();
            let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let add: Vec<String> = words(&["git", "add", "--", &path]);
            let commit: Vec<String> = words(&["git", "commit", "-m", "Set up Forge", "--", &path]);
            execute(&add)?;
            execute(&commit)?;
            terminal_output::print("Next: forge \"what you want\"");
            return Ok(ExitCode::SUCCESS);
        }
        terminal_output::print("Commit it before the next run, which reads it from the commit.");
        // A file that sets nothing is worth no commit.
        terminal_output::print(if project.verify.is_empty() {
            "Next: forge config edit"
        } else {
            "Next: git add forge.toml && git commit -m \"Set up Forge\" forge.toml · forge \"what you want\""
        });
        Ok(ExitCode::SUCCESS)
    }
}

/// Says what is left to the command that takes it over. Nothing of it is used or changed here.
fn foreign_note(place: &str) -> String {
    format!("{place} is of another system, and is left as it is; to take it over: forge import")
}

fn print_notes(notes: &[String]) {
    for note in notes {
        terminal_output::print_stderr(&format::wrap(
            &format!("note   {note}"),
            7,
            terminal_info::terminal_width(),
        ));
    }
}

fn print_tried(one: &Tried) {
    terminal_output::print_stderr(&format!("tried  {}: {}", one.command, one.to_text()));
    for line in one.output.lines() {
        terminal_output::print_stderr(&format!("       {}", sanitize(line)));
    }
}
