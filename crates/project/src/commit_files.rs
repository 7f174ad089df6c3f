//! Files of one commit, for the detection of its project.

use std::collections::BTreeSet;

use forge_workspace::CodeHistory;

use crate::{Error, detect::ProjectFiles};

/// The most bytes of a file that is read.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Files of a commit.
pub struct CommitTree<'a> {
    repository: &'a dyn CodeHistory,
    commit: &'a str,
    files: BTreeSet<String>,
}

impl<'a> CommitTree<'a> {
    /// Lists the files of this commit.
    pub fn open(repository: &'a dyn CodeHistory, commit: &'a str) -> Result<Self, Error> {
        let files = repository.files_at(commit, "")?.into_iter().collect();
        Ok(Self { repository, commit, files })
    }
}

impl ProjectFiles for CommitTree<'_> {
    fn exists(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    fn read(&self, path: &str) -> Option<String> {
        // A file that cannot be read suggests no command.
        let bytes = self.repository.file_at(self.commit, path, FILE_BYTES_MAX).ok()??;
        String::from_utf8(bytes).ok()
    }

    fn list(&self) -> Vec<String> {
        self.files.iter().cloned().collect()
    }
}
