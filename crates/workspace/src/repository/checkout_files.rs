//! Files that commands of the user write into the user's checkout, each by its name.
//!
//! Not here: which files those are.
//!
//! Invariant: no link is followed, on the way or at the end. A file is replaced as a whole, by rename; what is not a regular
//! file is left alone.

use std::collections::BTreeMap;

use crate::{
    git::{
        command::{Git, nul_separated},
        error::WorkspaceError,
        path_names::{below, parent},
        safe_files::{self, FolderState, RealFolders},
    },
    repository::locate::Repository,
};

/// The content of a place in the checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckoutFile {
    Missing,
    Content(Vec<u8>),
    /// A link, a folder or a pipe, here or on the way.
    Blocked,
}

/// The last commit that changed a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCommit {
    pub commit: String,
    /// The name of its author.
    pub author: String,
}

impl Repository {
    /// Reads a file of the checkout. A repository without one has no files.
    pub fn checkout_file(&self, path: &str) -> Result<CheckoutFile, WorkspaceError> {
        let Some(top) = self.top.as_deref() else { return Ok(CheckoutFile::Missing) };
        Ok(match RealFolders::below(top).folder(parent(path.as_bytes()))? {
            FolderState::Blocked => CheckoutFile::Blocked,
            FolderState::Nothing => CheckoutFile::Missing,
            FolderState::Folder => {
                let place = below(top, path.as_bytes());
                match (safe_files::file_kind(&place)?, safe_files::read(&place)?) {
                    (None, _) => CheckoutFile::Missing,
                    (Some(_), Some(content)) => CheckoutFile::Content(content),
                    (Some(_), None) => CheckoutFile::Blocked,
                }
            }
        })
    }

    /// Lists the names of everything in a folder of the checkout. Whether it is a file is asked of each.
    pub fn checkout_folder(&self, path: &str) -> Result<Vec<String>, WorkspaceError> {
        let Some(top) = self.top.as_deref() else { return Ok(Vec::new()) };
        if RealFolders::below(top).folder(path.as_bytes())? != FolderState::Folder {
            return Ok(Vec::new());
        }
        let entries = safe_files::entries(&below(top, path.as_bytes()))?;
        Ok(entries.into_iter().filter_map(|(name, _)| String::from_utf8(name).ok()).collect())
    }

    /// Replaces a file of the checkout, and makes the folders that lead to it.
    pub fn replace_checkout_file(&self, path: &str, content: &[u8]) -> Result<(), WorkspaceError> {
        let Some(top) = self.top.as_deref() else { return Ok(()) };
        let folders = RealFolders::below(top).make(parent(path.as_bytes()))?;
        if folders != FolderState::Folder || self.checkout_file(path)? == CheckoutFile::Blocked {
            return Err(WorkspaceError::new(
                format!("{path} cannot be written: a link or something else is in its place"),
                format!("move it away: ls -l {path}"),
            ));
        }
        safe_files::write(&below(top, path.as_bytes()), content)
    }

    /// Removes a regular file of the checkout. The folders that lead to it stay.
    pub fn remove_checkout_file(&self, path: &str) -> Result<(), WorkspaceError> {
        match (self.top.as_deref(), self.checkout_file(path)?) {
            (Some(top), CheckoutFile::Content(_)) => {
                safe_files::remove(&below(top, path.as_bytes()))
            }
            (_, CheckoutFile::Content(_) | CheckoutFile::Missing | CheckoutFile::Blocked) => Ok(()),
        }
    }

    /// Returns the commit that brought a file of the checkout, if it is exactly as it was committed.
    pub fn commit_of_file(&self, path: &str, content: &[u8]) -> Option<FileCommit> {
        let top = self.top.as_deref()?;
        // What a merge brought is there before it is committed.
        let head = ["HEAD", "MERGE_HEAD"].into_iter().find(|head| {
            let committed = Git::in_folder(top).args(["cat-file", "blob"]);
            committed.arg(format!("{head}:{path}")).run().is_ok_and(|found| found == content)
        })?;
        let log = Git::in_folder(top).args(["log", "-1", "--format=%H %an", head, "--", path]);
        let line = log.run_line().ok()?;
        let (commit, author) = line.split_once(' ')?;
        Some(FileCommit { commit: commit.to_owned(), author: author.to_owned() })
    }

    /// Returns the name under which the user commits.
    pub fn user_name(&self) -> Option<String> {
        let is_name = |name: &str| !name.trim().is_empty();
        let own = std::env::var("GIT_AUTHOR_NAME").ok().filter(|name| is_name(name));
        let configured = || {
            let folder = self.top.as_deref().unwrap_or(&self.common_dir);
            let git = Git::in_folder(folder).args(["config", "--null", "--get-regexp"]);
            let found = git.arg("^(author|user)\\.name$").run().ok()?;
            let lines = nul_separated(&found).filter_map(|line| str::from_utf8(line).ok());
            let names: BTreeMap<&str, &str> = lines
                .filter_map(|line| line.split_once('\n'))
                .filter(|(_, name)| is_name(name))
                .collect();
            let name = names.get("author.name").or_else(|| names.get("user.name"));
            name.map(|name| (*name).to_owned())
        };
        own.or_else(configured)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_file_is_never_written_or_read_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let top = folder.path().to_owned();
        let repository = Repository { common_dir: top.join(".git"), top: Some(top.clone()) };
        repository.replace_checkout_file("a/b/c.json", b"1").unwrap();
        let read = |path: &str| repository.checkout_file(path).unwrap();
        assert_eq!(read("a/b/c.json"), CheckoutFile::Content(b"1".to_vec()));
        assert_eq!(read("a/x/c.json"), CheckoutFile::Missing);
        assert_eq!(repository.checkout_folder("a/b").unwrap(), ["c.json"]);
        fs::write(other.path().join("c.json"), "2").unwrap();
        symlink(other.path(), top.join("link")).unwrap();
        symlink(other.path().join("c.json"), top.join("a/b/d.json")).unwrap();
        for path in ["link/c.json", "link/new/c.json", "a/b/d.json"] {
            assert_eq!(read(path), CheckoutFile::Blocked, "{path}");
            assert!(repository.replace_checkout_file(path, b"3").is_err(), "{path}");
        }
        assert!(repository.checkout_folder("link").unwrap().is_empty());
        assert_eq!(fs::read(other.path().join("c.json")).unwrap(), b"2");
        assert!(!other.path().join("new").exists());
    }
}
