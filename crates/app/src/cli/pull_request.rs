//! `forge pr`: pushes the branch of a run and opens its pull request, or updates it, after a yes; or prints its text and the
//! page that opens it.

use std::process::{Command, ExitCode};

use clap::Args;
use forge_api::{
    Error,
    forge::Forge,
    host_pull_request::{CommentChange, OfferChange, PullRequestPlace},
    pull_request::{PullRequestDraft, PullRequestForm},
    refuse_agents,
    run_id::short_id,
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

/// Open or update the pull request of a run, after a yes
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct PullRequestArgs {
    /// Name the run; the one that is not merged yet by default
    run: Option<String>,
    /// Push and open it without asking
    #[arg(long, short)]
    yes: bool,
    /// Print the text and the URL, and do nothing
    #[arg(long, conflicts_with_all = ["yes", "draft", "ready", "comment"])]
    print: bool,
    /// Open it as a draft, whatever the settings say
    #[arg(long)]
    draft: bool,
    /// Open it ready for review, or make a draft ready
    #[arg(long, conflicts_with = "draft")]
    ready: bool,
    /// Then write the summary at the issue of the run, or update it
    #[arg(long)]
    comment: bool,
}

impl PullRequestArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        refuse_agents()?;
        let forge = open_forge()?;
        let run = choose_run(&forge, self.run.as_deref(), RunAction::PullRequest)?;
        require_done(&forge, &run)?;
        let mut draft = forge.pull_request(&run)?;
        if self.print {
            print_draft(&draft);
            return Ok(ExitCode::SUCCESS);
        }
        if self.draft {
            draft.form = PullRequestForm::Draft;
        } else if self.ready {
            draft.form = PullRequestForm::Ready;
        }
        let place = find_place(&forge, &draft)?;
        let push = draft.push();
        terminal_output::print(&sanitize(&format!(
            "{}\n  $ {}\n  {} at {}: {}{}",
            draft.title,
            line(&push),
            match draft.form {
                PullRequestForm::Ready => "pull request",
                PullRequestForm::Draft => "draft pull request",
            },
            place.sentence(),
            place.branches(),
            if self.comment { "\n  comment at the issue of the run" } else { "" },
        )));
        let question = format!("Push {} to {} and open it? [y/N]", draft.branch, draft.push_remote);
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
        execute(&push)?;
        let offered = forge.offer_pull_request(&draft, &place)?;
        if self.ready && offered.change != OfferChange::LeftAsItIs {
            forge.mark_ready(&place, offered.pull_request.number)?;
        }
        let address = &offered.pull_request.address;
        terminal_output::print(&sanitize(&match offered.change {
            OfferChange::Opened => format!("Opened {address}"),
            OfferChange::Updated => format!("Updated {address}"),
            OfferChange::LeftAsItIs => {
                format!("Pushed to {address}. Its text is not of this run, and stays as it is.")
            }
            OfferChange::LeftAsEdited => format!(
                "Pushed to {address}. Its text was edited, and stays as it is; forge pr --print \
                 shows Forge's."
            ),
        }));
        for flaw in &offered.flaws {
            terminal_output::print_stderr(&sanitize(&format!("Warning: {}", flaw.what())));
        }
        if self.comment {
            let posted = forge.comment_at_source(&draft.run)?;
            let what = match posted.change {
                CommentChange::Posted => "Commented at the issue",
                CommentChange::Updated => "Updated the comment at the issue",
                CommentChange::Same => "The comment at the issue says the same already",
            };
            let place = posted.address.map(|address| format!(": {address}")).unwrap_or_default();
            terminal_output::print(&sanitize(&format!("{what}{place}")));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Finds where the pull request would be, with a token for it. Where Forge cannot open it, the text is printed, and the error
/// says what is missing.
fn find_place(forge: &Forge, draft: &PullRequestDraft) -> Result<PullRequestPlace, Error> {
    let nothing = "so nothing was pushed and no pull request was opened";
    if draft.remote.is_none() {
        let next = format!("{ADD_REMOTE}\n   or: forge pr {} --print", short_id(&draft.run));
        return Err(Error::surroundings(format!("no remote is set, {nothing}"), next));
    }
    let found = forge.pull_request_place(draft);
    let found = found.and_then(|place| place.check_token().map(|()| place));
    found.map_err(|error| {
        print_draft(draft);
        Error { what: format!("{}, {nothing}", error.what), ..error }
    })
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
pub(super) fn execute(words: &[String]) -> Result<(), Error> {
    let failed =
        |why: String| Error::surroundings(format!("`{}` {why}", words[..2].join(" ")), line(words));
    let status = Command::new(&words[0]).args(&words[1..]).status();
    let status = status.map_err(|error| failed(format!("could not be run: {error}")))?;
    if status.success() { Ok(()) } else { Err(failed("failed; see above".to_owned())) }
}

/// Formats a command to be pasted into a shell.
pub(super) fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(" ")
}
