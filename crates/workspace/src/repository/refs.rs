//! The refs that Forge writes into the user's repository.
//!
//! Invariant: the only refs that are written here are below `refs/forge/`.

use std::{fs, io};

use crate::{
    git::{
        command::Git,
        error::{GitError, WorkspaceError},
        path_names,
    },
    repository::locate::Repository,
};

impl Repository {
    /// Keeps a commit, by a ref below `refs/forge/`.
    pub fn pin(&self, name: &str, commit: &str) -> Result<(), GitError> {
        if let Err(failure) = check_pin(name) {
            let command = format!("git update-ref {name}");
            return Err(GitError::Refused { command, code: None, message: failure.what });
        }
        let git = || self.git().durably().args(["update-ref", "--no-deref", name, commit]);
        self.write_refs(&[name], git)
    }

    /// Writes refs, also where a git that was killed has left its lock. Below `refs/forge/` only we
    /// write, and git holds such a lock for a moment: one that outlasts git's patience is of a dead
    /// process, and goes. Locks on the user's refs stay.
    pub(crate) fn write_refs(&self, names: &[&str], git: impl Fn() -> Git) -> Result<(), GitError> {
        let Err(error) = git().run() else { return Ok(()) };
        if !error.message().contains(".lock': File exists") {
            return Err(error);
        }
        for name in names.iter().filter(|name| name.starts_with("refs/forge/")) {
            let lock = self.common_dir.join(format!("{name}.lock"));
            match fs::remove_file(&lock) {
                Ok(()) => {}
                Err(gone) if gone.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return Err(error),
            }
        }
        git().run().map(|_| ())
    }

    /// Returns the commit of a ref, if it exists.
    pub(crate) fn read_ref(&self, name: &str) -> Result<Option<String>, GitError> {
        let git = self.git().args(["for-each-ref", "--format=%(objectname) %(refname)"]).arg(name);
        let output = git.run()?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let found = text.lines().filter_map(|line| line.split_once(' '));
        Ok(found.into_iter().find(|(_, known)| *known == name).map(|(id, _)| id.to_owned()))
    }
}

/// Refuses every ref that is not below `refs/forge/`.
pub(crate) fn check_pin(name: &str) -> Result<(), WorkspaceError> {
    let inside = name.strip_prefix("refs/forge/");
    if inside.is_some_and(path_names::is_branch_name) {
        return Ok(());
    }
    Err(WorkspaceError::new(
        format!("{name} is no ref below refs/forge/"),
        "this is a defect of Forge",
    ))
}
