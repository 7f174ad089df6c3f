//! A new repository of Forge's own making, for showing and trying things.

use std::path::Path;

use crate::{
    git::{command::Git, error::GitError},
    repository::locate::Repository,
};

impl Repository {
    /// Makes a repository of a folder with files in it, with one commit of all of them.
    pub fn create(dir: &Path, message: &str) -> Result<(), GitError> {
        let git = || {
            Git::in_folder(dir)
                .env("GIT_AUTHOR_NAME", "Forge")
                .env("GIT_AUTHOR_EMAIL", "forge@localhost")
                .env("GIT_COMMITTER_NAME", "Forge")
                .env("GIT_COMMITTER_EMAIL", "forge@localhost")
        };
        git().args(["init", "--quiet", "--initial-branch=main"]).run()?;
        git().args(["add", "--all"]).run()?;
        git().args(["commit", "--quiet", "--message", message]).run()?;
        Ok(())
    }
}
