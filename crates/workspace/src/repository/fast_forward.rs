//! A fast-forward of the user's branch to a result, which the user has confirmed.
//!
//! Only this and `take_over.rs` write the user's checkout. It does what `git merge --ff-only` does there, and
//! nothing where that would change, hide or lose anything of theirs.
//!
//! Invariant: the branch moves only forward, from a clean checkout, to a commit that has all of it in its history.

use crate::{
    git::{command::Git, error::WorkspaceError},
    repository::locate::Repository,
};

/// The possibility of a fast-forward of the branch that is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FastForward {
    Possible,
    UpToDate,
    Blocked {
        /// As the end of a sentence about the checkout.
        why: String,
    },
}

impl Repository {
    /// Checks whether a branch could be fast-forwarded to a commit, in the user's checkout.
    pub fn fast_forward_status(
        &self,
        branch: &str,
        commit: &str,
    ) -> Result<FastForward, WorkspaceError> {
        let cannot = |why: &str| Ok(FastForward::Blocked { why: why.to_owned() });
        let Some(top) = self.top.as_deref() else { return cannot("there is no checkout") };
        let commit = self.require_commit(commit)?;
        if self.branch().as_deref() != Some(branch) {
            return Ok(FastForward::Blocked { why: format!("`{branch}` is not checked out") });
        }
        let Some(head) = self.head() else { return cannot("there is no commit") };
        if self.is_ancestor(&commit, &head)? {
            return Ok(FastForward::UpToDate);
        }
        if !self.is_ancestor(&head, &commit)? {
            return Ok(FastForward::Blocked { why: format!("`{branch}` has moved on") });
        }
        let changed = Git::in_folder(top)
            .args(["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])
            .run()?;
        if !changed.is_empty() {
            return cannot("the checkout has changes that are not committed");
        }
        Ok(FastForward::Possible)
    }

    /// Fast-forwards the branch that is checked out. Git itself refuses where a file would be lost.
    pub fn fast_forward(&self, branch: &str, commit: &str) -> Result<(), WorkspaceError> {
        let commit = self.require_commit(commit)?;
        let by_hand = || format!("git switch {branch} && git merge {commit}");
        match (self.fast_forward_status(branch, &commit)?, self.top.as_deref()) {
            (FastForward::UpToDate, _) => Ok(()),
            (FastForward::Possible, Some(top)) => {
                let git = Git::with_hooks(top).args(["merge", "--ff-only", "--quiet"]).arg(&commit);
                let merged = git.run();
                merged
                    .map(|_| ())
                    .map_err(|error| WorkspaceError::new(error.to_string(), by_hand()))
            }
            (FastForward::Possible, None) => {
                Err(WorkspaceError::new("there is no checkout", by_hand()))
            }
            (FastForward::Blocked { why }, _) => Err(WorkspaceError::new(why, by_hand())),
        }
    }
}
