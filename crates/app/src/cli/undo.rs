//! `forge undo`: shows what a run left at its host, at a remote and here, and takes it back after a yes.
//!
//! Invariant: the result is kept by a ref before anything goes, and the command that brings it back is printed.

use std::process::{Command, ExitCode, Stdio};

use clap::Args;
use forge_api::{
    Error,
    forge::Forge,
    undo::{UndoStep, UndoneRun},
};
use forge_core::view::{Standing, sanitize};

use super::{
    common::open_forge,
    prompt::{Confirmation, confirm},
    pull_request::{execute, line},
};
use crate::{format, terminal_output};

/// Close a run's pull request and delete its branches, after a yes
#[derive(Args)]
#[command(
    after_help = "Also deletes Forge's comment at the issue, and what forge clean frees. The\ncommits are kept, and the command that brings them back is printed. What others\nadded stays. What is merged is not undone. After an error, run it again."
)]
pub(crate) struct UndoArgs {
    /// Name the run, which must be over
    run: String,
    /// Undo it without asking
    #[arg(long, short)]
    yes: bool,
}

impl UndoArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        forge.refuse_agents()?;
        let run = forge.resolve(&self.run)?;
        let id = format::short_id(&run);
        let undone = forge.undone_run(&run)?;
        let pushed = undone.look().map(|words| look(&words, id)).transpose()?.flatten();
        let plan = forge.undo_plan(&undone, pushed.as_deref())?;
        terminal_output::print(&sanitize(&format!("{id}  {}", undone.row.title)));
        for step in &plan.steps {
            terminal_output::print(&sanitize(&format!("  {}", step.sentence())));
        }
        for kept in &plan.kept {
            terminal_output::print(&sanitize(&format!("  keep {kept}")));
        }
        if plan.steps.is_empty() {
            terminal_output::print("Nothing left to undo.");
            print_restore(&forge, &undone);
            return Ok(ExitCode::SUCCESS);
        }
        match if self.yes { Confirmation::Given } else { confirm("Undo it? [y/N]") } {
            Confirmation::Given => {}
            Confirmation::Refused => {
                terminal_output::print("Nothing was undone.");
                return Ok(ExitCode::from(Standing::Waiting.exit_code()));
            }
            Confirmation::NoTerminal => {
                let what = "undoing a run deletes its branches, so it needs your yes";
                return Err(Error::person(what, format!("forge undo {id} --yes")));
            }
        }
        forge.rescue(&undone)?;
        print_restore(&forge, &undone);
        for step in &plan.steps {
            let done = match step {
                UndoStep::DeleteRemoteBranch { push, .. } => execute(push),
                UndoStep::ClosePullRequest { .. }
                | UndoStep::DeleteComment { .. }
                | UndoStep::DeleteBranch { .. }
                | UndoStep::RemoveFolders { .. } => forge.undo_step(&undone, step),
            };
            done.map_err(|error| {
                let first = error.next.as_ref().map(|next| format!("{next}\n then: "));
                let next = format!("{}forge undo {id}", first.unwrap_or_default());
                error.with_better_help(Some(next))
            })?;
        }
        terminal_output::print(&format!("{id} is undone."));
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints how the result is brought back, if it is kept.
fn print_restore(forge: &Forge, undone: &UndoneRun) {
    if let Some(restore) = forge.restore_command(undone) {
        let text = format!("Its commits are kept. To bring them back: {}", line(&restore));
        terminal_output::print(&sanitize(&text));
    }
}

/// Asks a remote for the commit of a branch. The user may be asked for a password, and sees what git says.
fn look(words: &[String], id: &str) -> Result<Option<String>, Error> {
    let failed = |why: String| {
        // Its arguments may hold a password.
        let what = format!("`git ls-remote` {why}, so nothing was undone");
        Error::surroundings(what, format!("check the remote of {id}: git remote -v"))
    };
    let asked = Command::new(&words[0]).args(&words[1..]).stderr(Stdio::inherit()).output();
    let asked = asked.map_err(|error| failed(format!("could not be run: {error}")))?;
    if !asked.status.success() {
        return Err(failed("failed; see above".to_owned()));
    }
    let name = words.last().expect("a name is asked for");
    let text = String::from_utf8_lossy(&asked.stdout);
    let mut refs = text.lines().filter_map(|line| line.split_once('\t'));
    Ok(refs.find(|(_, found)| found == name).map(|(commit, _)| commit.to_owned()))
}
