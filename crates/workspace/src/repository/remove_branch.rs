//! Removing the branch of a run, which a person has confirmed.
//!
//! Invariant: a branch goes only from the commit that was looked at, and not while a checkout works on it.

use std::path::PathBuf;

use crate::{
    git::error::{GitError, WorkspaceError},
    repository::{locate::Repository, run_refs::checked_out},
};

impl Repository {
    /// Returns the checkout that works on a local branch, also in the middle of a rebase or bisect.
    pub fn checkout_of(&self, branch: &str) -> Result<Option<PathBuf>, WorkspaceError> {
        checked_out(self, &format!("refs/heads/{branch}"))
    }

    /// Removes a local branch that is at this commit, with what the configuration says of it.
    pub fn remove_branch(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        let name = format!("refs/heads/{branch}");
        let git = self.git().durably().args(["update-ref", "--no-deref", "-d", &name, commit]);
        git.run()?;
        // A branch that was never pushed has no such section, and one that stays harms nothing.
        let section = format!("branch.{branch}");
        let _ = self.git().args(["config", "--local", "--remove-section", &section]).run();
        Ok(())
    }
}
