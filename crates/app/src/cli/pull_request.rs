//! `forge pr`: opens a pull request with `gh`, after a yes, or prints its text and the page that opens it.

use std::{
    env,
    io::{self, Write as _},
    process::{Command, ExitCode, Stdio},
};

use clap::Args;
use forge_api::{
    Error,
    pull_request::{GH, PullRequestDraft},
    refuse_agents,
    start::quoted,
};
use forge_core::view::{Standing, sanitize};

use super::{
    choose_run::{RunAction, choose_run, require_done},
    common::open_forge,
    prompt::{Confirmation, confirm},
};
use crate::terminal_output;

/// Adds what a push needs.
const ADD_REMOTE: &str = "git remote add origin URL";

/// Open a pull request for the result of a run, after a yes
#[derive(Args)]
pub(crate) struct PullRequestArgs {
    /// Name the run; the one that is not merged yet by default
    run: Option<String>,
    /// Push and open it without asking
    #[arg(long, short)]
    yes: bool,
    /// Print the text and the URL, and do nothing
    #[arg(long, conflicts_with = "yes")]
    print: bool,
}

impl PullRequestArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        refuse_agents()?;
        let forge = open_forge()?;
        let run = choose_run(&forge, self.run.as_deref(), RunAction::PullRequest)?;
        require_done(&forge, &run)?;
        let draft = forge.pull_request(&run)?;
        let Some(remote) = draft.remote.as_ref().filter(|_| !self.print && is_installed(GH)) else {
            let (lack, next) = match &draft.remote {
                None => ("no remote is set", format!("{ADD_REMOTE}\n   or: forge pr --print")),
                Some(_) => ("gh is not installed", line(&draft.push())),
            };
            if self.print || draft.remote.is_some() {
                print_draft(&draft);
            }
            if self.print {
                return Ok(ExitCode::SUCCESS);
            }
            let what = format!("{lack}, so nothing was pushed and no pull request was opened");
            return Err(Error::surroundings(what, next));
        };
        let (push, create) = (draft.push(), draft.create());
        terminal_output::print(&sanitize(&format!(
            "{}\n  $ {}\n  $ {}",
            draft.title,
            line(&push),
            line(&create)
        )));
        let question = format!("Push {} to {} and open it? [y/N]", draft.branch, remote.name);
        match if self.yes { Confirmation::Given } else { confirm(&question) } {
            Confirmation::Given => {}
            Confirmation::Refused => {
                terminal_output::print("Nothing was pushed.");
                return Ok(ExitCode::from(Standing::Waiting.exit_code()));
            }
            Confirmation::NoTerminal => {
                let what = "pushing a branch and opening a pull request needs your yes";
                return Err(Error::person(what, format!("forge pr {} --yes", draft.run)));
            }
        }
        execute(&push, None)?;
        execute(&create, Some(&draft.body))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints what a person needs to open it by hand: data to stdout, the steps to stderr.
fn print_draft(draft: &PullRequestDraft) {
    terminal_output::print_raw(&sanitize(&format!("# {}\n\n{}", draft.title, draft.body)));
    let mut steps = Vec::new();
    match (&draft.remote, draft.page()) {
        (None, _) => steps.push(ADD_REMOTE.to_owned()),
        (Some(_), Some(page)) => {
            steps.push(line(&draft.push()));
            steps.push(format!("open {page}"));
        }
        (Some(_), None) => steps.push(line(&draft.push())),
    }
    let file = draft.file.as_ref().map(|file| format!("\nThe text is in {}.", file.display()));
    let steps = format!("{}\nNext:\n  {}", file.unwrap_or_default(), steps.join("\n  "));
    terminal_output::print_stderr(&sanitize(&steps));
}

/// Runs a command of the user's, who sees it and may answer it.
pub(super) fn execute(words: &[String], input: Option<&str>) -> Result<(), Error> {
    let failed =
        |why: String| Error::surroundings(format!("`{}` {why}", words[..2].join(" ")), line(words));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let not_run = |error: io::Error| failed(format!("could not be run: {error}"));
    let mut child = command.spawn().map_err(not_run)?;
    if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
        // If it stops reading, its exit code says why.
        let _stopped = pipe.write_all(text.as_bytes());
    }
    let status = child.wait().map_err(not_run)?;
    if status.success() { Ok(()) } else { Err(failed("failed; see above".to_owned())) }
}

fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(" ")
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
