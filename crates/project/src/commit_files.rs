//! The files of one commit, for finding out what kind of project it is.

use std::collections::BTreeSet;

use forge_workspace::Repository;

use crate::{Error, detect::Files};

/// The most bytes of a file that says something about the project.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The files of a commit.
pub struct Committed<'a> {
    repository: &'a Repository,
    commit: &'a str,
    files: BTreeSet<String>,
}

impl<'a> Committed<'a> {
    /// The files of this commit.
    pub fn of(repository: &'a Repository, commit: &'a str) -> Result<Self, Error> {
        let files = repository.files_at(commit, "")?.into_iter().collect();
        Ok(Self { repository, commit, files })
    }
}

impl Files for Committed<'_> {
    fn exists(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    fn read(&self, path: &str) -> Option<String> {
        // What cannot be read says nothing about the project.
        let bytes = self.repository.file_at(self.commit, path, FILE_BYTES_MAX).ok()??;
        String::from_utf8(bytes).ok()
    }

    fn list(&self) -> Vec<String> {
        self.files.iter().cloned().collect()
    }
}
