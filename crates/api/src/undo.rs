//! Undoing a run: what it left at hosts, remotes and here, and taking that back step by step.
//!
//! Not here: the asking, and the two commands of git that may ask for a password, which the caller runs.
//!
//! Invariant: nothing goes before the rescue ref keeps the result of the run.
//! Invariant: only what is the run's own goes: a pull request and a comment with its mark, a branch that is at a commit of
//! the run. What another made of it stays, and that is said.
//! Invariant: each step can be done twice; what is gone already is not an error.

use std::path::PathBuf;

use forge_core::{
    Run,
    view::{Course, RunRow},
};
use forge_driver::{Error, run_id::short_id};
use forge_hosts::PullRequestState;

use crate::{
    forge::Forge,
    host_pull_request::{PullRequestPlace, SourceComment, is_text_of},
};

/// A run that can be undone.
pub struct UndoneRun {
    pub row: RunRow,
    run: Run,
    /// Its result, if it changed something.
    head: Option<String>,
    /// Where its branch was pushed to, if anywhere.
    push: Option<PushPlace>,
}

/// A remote, and the address of it that is pushed to.
struct PushPlace {
    remote: String,
    address: String,
}

/// What undoing a run does, in this order, and what stays although it is of the run.
pub struct UndoPlan {
    pub steps: Vec<UndoStep>,
    /// Sentences.
    pub kept: Vec<String>,
}

/// One step of undoing a run.
pub enum UndoStep {
    ClosePullRequest {
        place: Box<PullRequestPlace>,
        number: u64,
        address: String,
    },
    /// A command of git for the caller to run.
    DeleteRemoteBranch {
        remote: String,
        branch: String,
        push: Vec<String>,
    },
    DeleteComment {
        issue: String,
    },
    DeleteBranch {
        branch: String,
        commit: String,
    },
    RemoveFolders {
        folders: Vec<PathBuf>,
    },
}

impl Forge {
    /// Returns a run that may be undone. One that is not over, or is merged, is refused.
    pub fn undone_run(&self, id: &str) -> Result<UndoneRun, Error> {
        let (run, _) = self.fold(id)?;
        let (row, short) = (RunRow::new(id, &run), short_id(id));
        if row.standing.course() != Course::Over || row.working > 0 || self.is_driven(id) {
            let is_over = row.standing.course() == Course::Over;
            let state = if is_over { "still running" } else { row.standing.label() };
            let what = format!("{short} is not over ({state}), so it cannot be undone");
            let command = if is_over { "stop" } else { "abandon" };
            return Err(Error::usage(what, format!("forge {command} {short}")));
        }
        let base = run.definition().start.base.clone();
        let head = run.head().filter(|head| Some(*head) != base.as_deref()).map(str::to_owned);
        if let Some(head) = &head
            && let Some(branch) = self.merged_into(&self.base_tips(&run), head)
        {
            let commits = format!("{}..{head}", base.as_deref().unwrap_or_default());
            return Err(merged(short, &format!("is merged into {branch}"), &commits));
        }
        let push = match &row.branch {
            Some(_) if head.is_some() => self.push_place(&run)?,
            _ => None,
        };
        Ok(UndoneRun { row, run, head, push })
    }

    /// Returns what undoing a run does. `pushed` is the commit of its branch at the remote, if it is there.
    pub fn undo_plan(&self, undone: &UndoneRun, pushed: Option<&str>) -> Result<UndoPlan, Error> {
        let mut plan = UndoPlan { steps: Vec::new(), kept: Vec::new() };
        let others_address = self.plan_pull_request(undone, &mut plan)?;
        self.plan_remote_branch(undone, pushed, others_address, &mut plan);
        let id = &undone.row.run;
        match self.comment_of(id)? {
            SourceComment::None => {}
            SourceComment::At(issue) => plan.steps.push(UndoStep::DeleteComment { issue }),
            SourceComment::Unknown { host } => plan.kept.push(format!(
                "a comment of the run at its issue, if there is one: there is no token for {host}"
            )),
        }
        self.plan_branch(undone, &mut plan)?;
        let all = self.run_folders(&undone.row, &undone.run)?;
        match all.touched {
            Some(folder) => plan.kept.push(format!(
                "the checkouts: files were changed after its end in {}",
                folder.display()
            )),
            None if all.folders.is_empty() => {}
            None => plan.steps.push(UndoStep::RemoveFolders { folders: all.folders }),
        }
        Ok(plan)
    }

    /// Returns true if a run was undone: its commits are kept, and its branch is gone.
    pub fn is_undone(&self, id: &str, branch: Option<&str>) -> bool {
        let is_there = |name: &str| self.home.repository.resolve_commit(name).is_some();
        let is_branch = |branch: &str| is_there(&format!("refs/heads/{branch}"));
        is_there(&rescue_ref(id)) && !branch.is_some_and(is_branch)
    }

    /// Refuses a run that was undone, and says how it is brought back.
    pub(crate) fn refuse_undone(&self, id: &str) -> Result<(), Error> {
        let (run, _) = self.fold(id)?;
        if !self.is_undone(id, run.branch()) {
            return Ok(());
        }
        let what = format!("{} was undone; its commits are kept", short_id(id));
        let branch = run.branch().unwrap_or("NAME");
        Err(Error::usage(what, format!("git branch {branch} {}", rescue_ref(id))))
    }

    /// Keeps the result of a run by a ref of its own, before anything of it goes.
    pub fn rescue(&self, undone: &UndoneRun) -> Result<(), Error> {
        self.refuse_agents()?;
        let Some(head) = &undone.head else { return Ok(()) };
        Ok(self.home.repository.pin(&undone.rescue_ref(), head)?)
    }

    /// Returns the command that brings the result of a run back, if it is kept.
    pub fn restore_command(&self, undone: &UndoneRun) -> Option<Vec<String>> {
        let kept = undone.rescue_ref();
        self.home.repository.resolve_commit(&kept)?;
        let branch = undone.row.branch.as_deref().unwrap_or("NAME");
        Some(["git", "branch", branch, &kept].map(str::to_owned).to_vec())
    }

    /// Does one step. Only for a person who was asked and said yes, after [`Forge::rescue`].
    pub fn undo_step(&self, undone: &UndoneRun, step: &UndoStep) -> Result<(), Error> {
        self.refuse_agents()?;
        let id = &undone.row.run;
        match step {
            UndoStep::ClosePullRequest { place, number, .. } => place.close(id, *number),
            // The caller ran its command.
            UndoStep::DeleteRemoteBranch { .. } => Ok(()),
            UndoStep::DeleteComment { .. } => self.delete_comment_of(id),
            UndoStep::DeleteBranch { branch, commit } => {
                Ok(self.home.repository.remove_branch(branch, commit)?)
            }
            UndoStep::RemoveFolders { folders } => {
                self.remove_unless_changed(&undone.row, folders, |_, _| Ok(true))
            }
        }
    }

    /// Plans to close the pull request. Returns the address of one that is open and another's now.
    fn plan_pull_request(
        &self,
        undone: &UndoneRun,
        plan: &mut UndoPlan,
    ) -> Result<Option<String>, Error> {
        let id = &undone.row.run;
        let (Some(branch), Some(head)) = (&undone.row.branch, &undone.head) else {
            return Ok(None);
        };
        let refusal = |address: &str, commit: Option<String>| {
            let what = format!("was merged by its pull request: {address}");
            let commits = commit.unwrap_or_else(|| {
                let base = undone.run.definition().start.base.as_deref();
                format!("{}..{head}", base.unwrap_or_default())
            });
            merged(short_id(id), &what, &commits)
        };
        // Also where its host cannot be reached any more.
        if let Some(address) = self.merged_at_host(id, head)? {
            return Err(refusal(&address, None));
        }
        let base = undone.run.definition().start.base_branch.as_deref();
        let Some((place, found)) = self.own_pull_request(id, branch, base)? else {
            return Ok(None);
        };
        let (number, address) = (found.number, found.address.clone());
        match found.state {
            PullRequestState::Merged { commit } => Err(refusal(&address, commit)),
            PullRequestState::Closed => Ok(None),
            PullRequestState::Open { .. } if is_text_of(id, &found.body) => {
                let place = Box::new(place);
                plan.steps.push(UndoStep::ClosePullRequest { place, number, address });
                Ok(None)
            }
            PullRequestState::Open { .. } => {
                plan.kept.push(format!("{address}: its text is not of this run any more"));
                Ok(Some(address))
            }
        }
    }

    fn plan_remote_branch(
        &self,
        undone: &UndoneRun,
        pushed: Option<&str>,
        others_address: Option<String>,
        plan: &mut UndoPlan,
    ) {
        let (Some(PushPlace { remote, .. }), Some(branch)) = (&undone.push, &undone.row.branch)
        else {
            return;
        };
        let Some(pushed) = pushed else { return };
        let kept = format!("the branch {branch} at {remote}");
        if let Some(address) = others_address {
            plan.kept.push(format!("{kept}: {address} is open"));
        } else if self.is_of_run(undone, pushed) {
            let name = format!("refs/heads/{branch}");
            let lease = format!("--force-with-lease={name}:{pushed}");
            let push = ["git", "push", &lease, remote, &format!(":{name}")];
            plan.steps.push(UndoStep::DeleteRemoteBranch {
                remote: remote.clone(),
                branch: branch.clone(),
                push: push.map(str::to_owned).to_vec(),
            });
        } else {
            plan.kept.push(format!("{kept}: it has commits that are not of this run"));
        }
    }

    fn plan_branch(&self, undone: &UndoneRun, plan: &mut UndoPlan) -> Result<(), Error> {
        let repository = &self.home.repository;
        let Some(branch) = &undone.row.branch else { return Ok(()) };
        let Some(commit) = repository.resolve_commit(&format!("refs/heads/{branch}")) else {
            return Ok(());
        };
        if !self.is_of_run(undone, &commit) {
            plan.kept.push(format!("the branch {branch}: it has commits that are not of this run"));
        } else if let Some(place) = repository.checkout_of(branch)? {
            let place = place.display();
            plan.kept.push(format!("the branch {branch}: it is checked out in {place}"));
        } else {
            plan.steps.push(UndoStep::DeleteBranch { branch: branch.clone(), commit });
        }
        Ok(())
    }

    /// Says whether a commit is the result of a run, or one on the way to it. One that is not known here is not.
    fn is_of_run(&self, undone: &UndoneRun, commit: &str) -> bool {
        let is_before = |a: &str, b: &str| self.home.repository.is_ancestor(a, b).unwrap_or(false);
        let base = undone.run.definition().start.base.as_deref();
        undone.head.as_deref().is_some_and(|head| is_before(commit, head))
            && base.is_none_or(|base| !is_before(commit, base))
    }

    fn push_place(&self, run: &Run) -> Result<Option<PushPlace>, Error> {
        let repository = &self.home.repository;
        let start = &run.definition().start;
        let branch = start.base_branch.clone().or_else(|| repository.default_branch());
        let base = branch.and_then(|branch| repository.remote_for(&branch));
        let remote = self.push_remote(&self.settings()?, base.as_ref().map(|base| &*base.name))?;
        let addresses = repository.remote_addresses(&remote);
        Ok(addresses.map(|addresses| PushPlace { remote, address: addresses.push }))
    }
}

impl UndoneRun {
    /// Returns the command that says where the branch of the run is at its remote, if it has one.
    pub fn look(&self) -> Option<Vec<String>> {
        let (PushPlace { address, .. }, branch) = (self.push.as_ref()?, self.row.branch.as_ref()?);
        let words = ["git", "ls-remote", "--", address, &format!("refs/heads/{branch}")];
        Some(words.map(str::to_owned).to_vec())
    }

    fn rescue_ref(&self) -> String {
        rescue_ref(&self.row.run)
    }
}

impl UndoStep {
    /// Says what it does, as a line of a list.
    pub fn sentence(&self) -> String {
        match self {
            Self::ClosePullRequest { address, .. } => format!("close {address}"),
            Self::DeleteRemoteBranch { remote, branch, .. } => {
                format!("delete the branch {branch} at {remote}")
            }
            Self::DeleteComment { issue } => format!("delete Forge's comment at {issue}"),
            Self::DeleteBranch { branch, .. } => format!("delete the branch {branch} here"),
            Self::RemoveFolders { .. } => "remove its checkouts and logs".to_owned(),
        }
    }
}

fn rescue_ref(id: &str) -> String {
    format!("refs/forge/rescue/{id}")
}

/// Says that a run is merged, and how that is undone.
fn merged(short: &str, how: &str, commits: &str) -> Error {
    let what = format!("{short} {how}; Forge does not undo what is merged");
    Error::usage(what, format!("git revert {commits}"))
}
