//! `forge merge`: merges the open pull request of a run at its host, or its result into the branch that is checked out, after
//! a yes.

use std::{fmt::Write as _, process::ExitCode};

use clap::Args;
use forge_api::{
    Error,
    forge::Forge,
    host_pull_request::OpenPullRequest,
    merge::{MergeOffer, MergeWay, SUBJECTS_MAX},
    settings::PullRequestMerge,
};
use forge_core::view::{ProofState, Standing, sanitize, serious_counts, short_commit};

use super::{
    choose_run::{RunAction, choose_run, require_done},
    common::open_forge,
    diff::{stat_text, sum_text},
    prompt::{Confirmation, confirm},
};
use crate::{format, terminal_output};

/// The most files that are listed one by one before a merge.
const FILES_LISTED_MAX: usize = 15;

/// Merge the result of a run, or its open pull request, after a yes
#[derive(Args)]
pub(crate) struct MergeArgs {
    /// Name the run; the one that is not merged yet by default
    run: Option<String>,
    /// Merge without asking
    #[arg(long, short)]
    yes: bool,
    /// Merge a result that no check has proved, with --yes
    #[arg(long)]
    unverified: bool,
    /// Merge into your branch, not the open pull request
    #[arg(long)]
    local: bool,
}

impl MergeArgs {
    /// Returns the arguments that merge a run after a question.
    pub(crate) fn for_run(run: String) -> Self {
        Self { run: Some(run), yes: false, unverified: false, local: false }
    }

    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let run = choose_run(&forge, self.run.as_deref(), RunAction::Merge)?;
        let id = format::short_id(&run);
        require_done(&forge, &run)?;
        let offer = forge.merge_offer(&run)?;
        if !self.local {
            let open = forge.open_pull_request(&run).map_err(|error| {
                let local = format!("forge merge {id} --local");
                let next = error.next.as_ref().map(|next| format!("{next}\n   or: {local}"));
                error.with_better_help(next)
            })?;
            if let Some(open) = open {
                return self.merge_at_host(&forge, &offer, &open);
            }
        }
        let onto = match (&offer.way, &offer.onto) {
            (MergeWay::UpToDate, onto) => {
                let onto = onto.as_deref().unwrap_or("HEAD");
                terminal_output::print(&format!("{onto} already contains the result of {id}."));
                return Ok(ExitCode::SUCCESS);
            }
            (MergeWay::Conflict { paths }, _) => {
                let what = format!(
                    "{} conflicts with your branch in {}; nothing was merged",
                    offer.from,
                    paths.join(", ")
                );
                return Err(Error::usage(what, format!("git merge {}", offer.from)));
            }
            (MergeWay::Blocked { why, next }, _) => {
                return Err(Error::usage(format!("cannot merge: {why}"), *next));
            }
            (MergeWay::FastForward | MergeWay::MergeCommit, onto) => {
                onto.clone().expect("a merge is possible only on a branch")
            }
        };
        terminal_output::print(&offer_text(&offer, id, &onto));
        let needs_yes = "a merge changes your checkout, so it needs your yes";
        self.merge_after_yes(&offer, &format!("into {onto}"), needs_yes, || {
            let commit = forge.merge(&offer)?;
            terminal_output::print(&format!("Merged into {onto} ({}).", short_commit(&commit)));
            terminal_output::print_hint("Next: forge clean (shows what can be freed)");
            Ok(())
        })
    }
}

impl MergeArgs {
    /// Merges the pull request of a run, after a yes.
    fn merge_at_host(
        &self,
        forge: &Forge,
        offer: &MergeOffer,
        open: &OpenPullRequest,
    ) -> Result<ExitCode, Error> {
        let id = format::short_id(&offer.row.run);
        let way = match open.method {
            PullRequestMerge::Merge => "merge commit",
            PullRequestMerge::Squash => "squash",
            PullRequestMerge::Rebase => "rebase",
        };
        let (address, title) = (open.address(), open.title());
        terminal_output::print(&sanitize(&format!("{id}  {title}\n{address} ({way})")));
        self.merge_after_yes(offer, address, "merging a pull request needs your yes", || {
            let commit = forge.merge_pull_request(open)?;
            let commit = commit.map(|commit| format!(" ({})", short_commit(&commit)));
            let commit = commit.unwrap_or_default();
            terminal_output::print(&sanitize(&format!("Merged {address}{commit}.")));
            terminal_output::print_hint("Next: git pull");
            Ok(())
        })
    }

    /// Says what is open or not proved of a result, and merges it after a yes. `needs_yes` is said where nobody can be asked.
    fn merge_after_yes(
        &self,
        offer: &MergeOffer,
        what: &str,
        needs_yes: &str,
        merge: impl FnOnce() -> Result<(), Error>,
    ) -> Result<ExitCode, Error> {
        let open = serious_counts(offer.noted.iter().map(|left| &left.finding));
        if let Some(open) = &open {
            terminal_output::print(&format!("Warning: {open} open."));
        }
        let id = format::short_id(&offer.row.run);
        let unproved = unproved_text(offer.proof);
        let flags = if unproved.is_some() { "--yes --unverified" } else { "--yes" };
        let next = format!("forge merge {id} {flags}");
        let agreed = match (self.yes, unproved, self.unverified) {
            (true, None, _) | (true, Some(_), true) => Confirmation::Given,
            (true, Some(why), false) => {
                return Err(Error::person(format!("not merged: {why}"), next));
            }
            (false, None, _) => confirm(&format!("Merge {what}? [y/N]")),
            (false, Some(why), _) => {
                confirm(&format!("Warning: {why}.\nMerge {what} anyway? [y/N]"))
            }
        };
        match agreed {
            Confirmation::Given => merge().map(|()| ExitCode::SUCCESS),
            Confirmation::Refused => {
                terminal_output::print("Nothing was merged.");
                Ok(ExitCode::from(Standing::Waiting.exit_code()))
            }
            Confirmation::NoTerminal => Err(match unproved {
                None => Error::person(needs_yes, next),
                Some(why) => Error::person(format!("a merge needs your yes, and {why}"), next),
            }),
        }
    }
}

/// Formats what would be merged.
fn offer_text(offer: &MergeOffer, id: &str, onto: &str) -> String {
    let way = if offer.way == MergeWay::FastForward { "fast-forward" } else { "merge commit" };
    let mut text = format!("{id}  {}\n{} into {onto} ({way})", offer.row.title, offer.from);
    for subject in &offer.subjects {
        let _ = write!(text, "\n  {subject}");
    }
    if offer.subjects.len() == SUBJECTS_MAX {
        let _ = write!(text, "\n  …");
    }
    let _ = if offer.files.len() > FILES_LISTED_MAX {
        write!(text, "\n {}", sum_text(&offer.files))
    } else {
        write!(text, "\n{}", stat_text(&offer.files))
    };
    for path in &offer.record {
        let _ = write!(
            text,
            "\n + the summary of the run: {path}\n   (without it in later runs: forge config set land.record none)"
        );
    }
    text
}

/// Says why a result is not proved, if it is not.
const fn unproved_text(proof: ProofState) -> Option<&'static str> {
    match proof {
        ProofState::Verified | ProofState::NothingLanded => None,
        ProofState::Unverified => Some("the result is not verified; no check ran on this code"),
        ProofState::Red => Some("a check failed on exactly this code"),
    }
}
