//! All files of a commit or tree, as `git ls-tree` prints them.

use std::{collections::HashSet, path::Path};

use crate::git::{
    command::{Git, nul_separated},
    error::GitError,
    path_names::parent,
};

/// One file, link, submodule or folder.
#[derive(Clone, Debug)]
pub(crate) struct TreeEntry {
    /// `100644` and the like.
    pub(crate) mode: String,
    /// `blob`, `tree` or `commit`.
    pub(crate) kind: String,
    /// The object.
    pub(crate) object: String,
    /// The path, or in one folder the name.
    pub(crate) name: Vec<u8>,
}

/// Everything in a commit or tree, at any depth.
#[derive(Debug)]
pub(crate) struct TreeListing {
    /// Files, links and submodules.
    pub(crate) entries: Vec<TreeEntry>,
    folders: HashSet<Vec<u8>>,
}

impl TreeEntry {
    /// Reads one line.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let end = line.iter().position(|byte| *byte == b'\t')?;
        let mut words = str::from_utf8(&line[..end]).ok()?.split(' ').map(str::to_owned);
        let (mode, kind, object) = (words.next()?, words.next()?, words.next()?);
        Some(Self { mode, kind, object, name: line[end + 1..].to_vec() })
    }

    /// Returns true for the commit of another repository.
    pub(crate) fn is_submodule(&self) -> bool {
        self.kind == "commit"
    }
}

impl TreeListing {
    /// Returns everything in a commit or tree.
    pub(crate) fn read(git_dir: &Path, at: &str) -> Result<Self, GitError> {
        let output =
            Git::in_git_dir(git_dir).args(["ls-tree", "-r", "-z", "--full-tree", at]).run()?;
        let entries: Vec<TreeEntry> = nul_separated(&output).filter_map(TreeEntry::parse).collect();
        let mut folders = HashSet::new();
        for entry in &entries {
            let mut folder = parent(&entry.name);
            while folders.insert(folder.to_vec()) {
                folder = parent(folder);
            }
        }
        Ok(Self { entries, folders })
    }

    /// Returns true if it has an entry below this folder; `""` is the top.
    pub(crate) fn has_below(&self, folder: &[u8]) -> bool {
        folder.is_empty() || self.folders.contains(folder)
    }

    /// Returns true if it has this file, link or submodule.
    pub(crate) fn has_file(&self, path: &[u8]) -> bool {
        self.entries.iter().any(|entry| entry.name == path)
    }

    /// Returns the files that say how other files are written.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = &TreeEntry> {
        self.entries.iter().filter(|entry| is_attributes(&entry.name))
    }
}

/// Returns true for a file that defines how other files are written.
pub(crate) fn is_attributes(path: &[u8]) -> bool {
    path == b".gitattributes" || path.ends_with(b"/.gitattributes")
}
