//! The user's branch follows a result, because they said so.
//!
//! This is the only place that writes the user's checkout. It does what `git merge --ff-only` does there, and
//! nothing where that would change, hide or lose anything of theirs.
//!
//! Invariant: the branch moves only forward, from a clean checkout, to a commit that has all of it in its history.

use crate::{
    git::{command::Git, error::Failure},
    repository::locate::Repository,
};

/// Whether a branch that is checked out could follow a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It can.
    Can,
    /// It is there already.
    IsThere,
    /// It cannot, and why.
    Cannot {
        /// As the end of a sentence about the checkout.
        why: String,
    },
}

impl Repository {
    /// Whether a branch could follow a commit, in the checkout that we were called from.
    pub fn can_follow(&self, branch: &str, commit: &str) -> Result<Follow, Failure> {
        let cannot = |why: &str| Ok(Follow::Cannot { why: why.to_owned() });
        let Some(top) = self.top.as_deref() else { return cannot("there is no checkout") };
        let commit = self.sure(commit)?;
        if self.branch().as_deref() != Some(branch) {
            return Ok(Follow::Cannot { why: format!("`{branch}` is not checked out") });
        }
        let Some(head) = self.head() else { return cannot("there is no commit") };
        if self.is_ancestor(&commit, &head)? {
            return Ok(Follow::IsThere);
        }
        if !self.is_ancestor(&head, &commit)? {
            return Ok(Follow::Cannot { why: format!("`{branch}` has moved on") });
        }
        let changed = Git::in_folder(top)
            .args(["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])
            .run()?;
        if !changed.is_empty() {
            return cannot("the checkout has changes that are not committed");
        }
        Ok(Follow::Can)
    }

    /// Lets the branch that is checked out follow a commit. Git itself refuses where a file would be lost.
    pub fn follow(&self, branch: &str, commit: &str) -> Result<(), Failure> {
        let commit = self.sure(commit)?;
        let by_hand = || format!("git switch {branch} && git merge {commit}");
        match (self.can_follow(branch, &commit)?, self.top.as_deref()) {
            (Follow::IsThere, _) => Ok(()),
            (Follow::Can, Some(top)) => {
                let git = Git::with_hooks(top).args(["merge", "--ff-only", "--quiet"]).arg(&commit);
                let merged = git.run();
                merged.map(|_| ()).map_err(|error| Failure::new(error.to_string(), by_hand()))
            }
            (Follow::Can, None) => Err(Failure::new("there is no checkout", by_hand())),
            (Follow::Cannot { why }, _) => Err(Failure::new(why, by_hand())),
        }
    }
}
