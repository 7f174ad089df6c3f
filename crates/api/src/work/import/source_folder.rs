//! The folder that another system left files in: bounded reads, no links, names in order.
//!
//! Invariant: nothing below the folder is written, no link is followed, and what cannot be read is said, never skipped.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use forge_project::bounded_read::read_text;

/// The most bytes of one file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The most entries of one folder.
const ENTRIES_MAX: usize = 10_000;

/// A folder that is only read.
pub(super) struct SourceFolder {
    root: PathBuf,
    /// The beginning of names in facts and on screens: nothing for the repository itself.
    prefix: String,
}

/// The names in a folder.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) folders: Vec<String>,
    pub(super) files: Vec<String>,
    /// Links, pipes and names that are not text.
    pub(super) other: Vec<String>,
}

impl SourceFolder {
    /// Opens a folder. `top` is the checkout in which records are kept.
    pub(super) fn open(root: &Path, top: Option<&Path>) -> Self {
        let prefix = if top == Some(root) { String::new() } else { format!("{}/", root.display()) };
        Self { root: root.to_owned(), prefix }
    }

    /// Returns the name of a file in facts and on screens.
    pub(super) fn shown(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Returns a path as a field of a record: one that leads to a file of this repository.
    pub(super) fn in_repository(&self, path: &str) -> Option<String> {
        self.prefix.is_empty().then(|| path.to_owned())
    }

    /// Returns true if something of a system seems to be there, also if it cannot be looked at.
    pub(super) fn may_have(&self, path: &str) -> bool {
        !matches!(self.has(path), Ok(false))
    }

    /// Reads a file; nothing if there is none.
    pub(super) fn text(&self, path: &str) -> Result<Option<String>, String> {
        if !self.has(path)? {
            return Ok(None);
        }
        let read = read_text(&self.root.join(path), FILE_BYTES_MAX);
        read.map_err(|error| error.what.replace(&format!("{}/", self.root.display()), ""))
    }

    /// Lists a folder; nothing is in one that is missing.
    pub(super) fn entries(&self, path: &str) -> Result<Entries, String> {
        let mut found = Entries::default();
        if !self.has(path)? {
            return Ok(found);
        }
        let error = |error: std::io::Error| format!("cannot be listed: {error}");
        for (n, entry) in fs::read_dir(self.root.join(path)).map_err(error)?.enumerate() {
            if n >= ENTRIES_MAX {
                return Err(format!("has more than {ENTRIES_MAX} entries"));
            }
            let entry = entry.map_err(error)?;
            let kind = entry.file_type().map_err(error)?;
            match entry.file_name().into_string() {
                Ok(name) if kind.is_dir() => found.folders.push(name),
                Ok(name) if kind.is_file() => found.files.push(name),
                Ok(name) => found.other.push(name),
                Err(name) => found.other.push(name.to_string_lossy().escape_debug().to_string()),
            }
        }
        for names in [&mut found.folders, &mut found.files, &mut found.other] {
            names.sort();
        }
        Ok(found)
    }

    /// Looks at every step of a path. False if it ends before.
    pub(super) fn has(&self, path: &str) -> Result<bool, String> {
        let mut at = self.root.clone();
        for part in path.split('/') {
            at.push(part);
            match fs::symlink_metadata(&at) {
                Ok(meta) if meta.is_symlink() => {
                    return Err("a link is on the way, and links are not followed".to_owned());
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(false),
                Err(error) => return Err(format!("cannot be read: {error}")),
            }
        }
        Ok(true)
    }
}
