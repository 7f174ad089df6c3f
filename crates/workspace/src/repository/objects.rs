//! Objects of the user's repository: files, trees and commits, read and made.
//!
//! Nothing here has files, and nothing that is made here is pointed to yet.

use std::sync::Arc;

use crate::{
    git::{
        error::{GitError, WorkspaceError},
        object_reader::{self, TreeEntry},
        object_writer::{self, NewCommit, Outlasts},
        path_names::{decode_path, encode_path},
    },
    repository::locate::Repository,
};

impl Repository {
    /// Returns the parents of a commit.
    pub(crate) fn parents(&self, commit: &str) -> Result<Vec<String>, GitError> {
        Ok(object_reader::commit(&self.common_dir, commit)?.parents)
    }

    /// Returns the content of a regular file of a commit; none if there is none, or something else.
    pub fn file_at(
        &self,
        commit: &str,
        path: &str,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let Some(object) = self.blob_at(commit, path)? else { return Ok(None) };
        let content = object_reader::blob(&self.common_dir, &object, bytes_max)?;
        let too_large = |bytes| GitError::TooLarge { path: path.to_owned(), bytes, bytes_max };
        content.map(Some).map_err(too_large)
    }

    /// Returns all files of a commit below a folder; `""` is the whole commit.
    pub fn files_at(&self, commit: &str, under: &str) -> Result<Vec<String>, GitError> {
        let files = object_reader::files(&self.common_dir, commit, &decode_path(under))?;
        Ok(files.iter().map(|entry| encode_path(&entry.name)).collect())
    }

    /// Returns true if `a` is in the history of `b`, or `b` itself.
    pub fn is_ancestor(&self, a: &str, b: &str) -> Result<bool, GitError> {
        if let Some(known) = object_reader::is_ancestor(&self.common_dir, a, b) {
            return Ok(known);
        }
        let git = self.git().args(["merge-base", "--is-ancestor", a, b]);
        Ok(git.run_once(&[a, b], &[0, 1])?.0 == 0)
    }

    /// Returns the tree of a commit without `.forge/runs/`: what is built and tested.
    pub fn code_tree(&self, commit: &str) -> Result<String, GitError> {
        self.without_run_records(self.tree(commit)?)
    }

    /// Returns the whole tree of a commit.
    pub(crate) fn tree(&self, commit: &str) -> Result<String, GitError> {
        if let Some(tree) = object_reader::peel(&self.common_dir, commit, "tree") {
            return Ok(tree);
        }
        let git = self.git().args(["rev-parse", "--verify", "--end-of-options"]);
        git.arg(format!("{commit}^{{tree}}")).run_line()
    }

    /// Returns a code tree with the `.forge/runs/` of another tree, whatever it has there itself.
    pub(crate) fn with_run_records(&self, code: String, whole: &str) -> Result<String, GitError> {
        let Some(forge) = folder(&self.entries(whole)?, b".forge").cloned() else {
            return Ok(code);
        };
        let Some(runs) = folder(&self.entries(&forge.object)?, b"runs").cloned() else {
            return Ok(code);
        };
        let root = self.entries(&code)?;
        let inner = match folder(&root, b".forge") {
            Some(inner) => self.entries(&inner.object)?,
            None => Arc::default(),
        };
        let rest = inner.iter().filter(|entry| entry.name != runs.name).chain([&runs]);
        let object = self.make_tree(&rest.collect::<Vec<_>>(), Outlasts::PowerLoss)?;
        let forge = TreeEntry { object, ..forge };
        let others = root.iter().filter(|entry| entry.name != forge.name).chain([&forge]);
        self.make_tree(&others.collect::<Vec<_>>(), Outlasts::PowerLoss)
    }

    /// Returns a tree without `.forge/runs/`.
    pub(crate) fn without_run_records(&self, whole: String) -> Result<String, GitError> {
        let root = self.entries(&whole)?;
        let Some(forge) = folder(&root, b".forge") else { return Ok(whole) };
        let inner = self.entries(&forge.object)?;
        let Some(runs) = folder(&inner, b"runs") else { return Ok(whole) };
        let rest: Vec<&TreeEntry> = inner.iter().filter(|entry| entry.name != runs.name).collect();
        let others = root.iter().filter(|entry| entry.name != forge.name);
        if rest.is_empty() {
            return self.make_tree(&others.collect::<Vec<_>>(), Outlasts::Process);
        }
        let object = self.make_tree(&rest, Outlasts::Process)?;
        let changed = TreeEntry { object, ..forge.clone() };
        self.make_tree(&others.chain([&changed]).collect::<Vec<_>>(), Outlasts::Process)
    }

    /// Returns the object of a regular file of a commit or tree.
    pub(crate) fn blob_at(&self, tree: &str, path: &str) -> Result<Option<String>, GitError> {
        let entry = object_reader::entry_at(&self.common_dir, tree, &decode_path(path))?;
        let entry = entry.filter(|entry| entry.mode.starts_with("100"));
        Ok(entry.map(|entry| entry.object))
    }

    /// Returns the object of whatever a commit has at a path.
    pub(crate) fn entry_at(&self, commit: &str, path: &str) -> Result<Option<String>, GitError> {
        let entry = object_reader::entry_at(&self.common_dir, commit, &decode_path(path))?;
        Ok(entry.map(|entry| entry.object))
    }

    /// Lists the direct entries of a tree.
    pub(crate) fn entries(&self, tree: &str) -> Result<Arc<Vec<TreeEntry>>, GitError> {
        object_reader::tree(&self.common_dir, tree)
    }

    /// Returns a tree of these. The same entries give the same tree.
    pub(crate) fn make_tree(
        &self,
        entries: &[&TreeEntry],
        outlasts: Outlasts,
    ) -> Result<String, GitError> {
        object_writer::write_tree(&self.common_dir, entries, outlasts)
    }

    /// Makes a commit that a fact will name. Nothing points to it yet.
    pub(crate) fn make_commit(&self, commit: &NewCommit<'_>) -> Result<String, GitError> {
        object_writer::write_commit(&self.common_dir, commit, Outlasts::PowerLoss)
    }
}

fn folder<'a>(entries: &'a [TreeEntry], name: &[u8]) -> Option<&'a TreeEntry> {
    entries.iter().find(|entry| entry.name == name && entry.kind == "tree")
}

/// Returns a message as git keeps it: without zero bytes, with one line end. An empty one is refused.
pub(crate) fn checked_message(message: &str) -> Result<String, WorkspaceError> {
    let message = message.replace('\0', "");
    let message = message.trim();
    if message.is_empty() {
        return Err(WorkspaceError::new("the commit has no message", "give it one"));
    }
    Ok(format!("{message}\n"))
}
