//! What a driver reads and keeps of a repository's history, as a trait: [`Repository`] in the product,
//! a history in memory in simulated runs.
//!
//! Not here: anything with files; that is an [`crate::Operation`].

use std::{collections::BTreeMap, fmt::Debug};

use crate::{
    commit::hooks::has_hooks,
    git::{
        command::Git,
        error::{GitError, WorkspaceError},
        object_reader::{self, TreeEntry},
        object_writer::{self, NewCommit, Outlasts},
        user_config::{CommitIdentity, UserConfig},
    },
    open,
    protocol::{BranchAdvance, FileChange, MoveRunHead, OpenCheckout, RunHeadUpdate},
    repository::{diff_text::Diff, locate::Repository, run_refs::move_run_head},
};

/// More files than this are not looked at for links.
const LINKS_LISTED_MAX: usize = 2_000_000;
/// The mode of a symbolic link.
const LINK_MODE: &str = "120000";

/// Commits by their full ids. Methods that [`Repository`] has as well promise what it does.
pub trait CodeHistory: Debug {
    fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, GitError>;

    fn diff(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
        bytes_max: usize,
    ) -> Result<Diff, GitError>;

    fn branch_advance(
        &self,
        branch: &str,
        base: &str,
        head: &str,
    ) -> Result<Option<BranchAdvance>, GitError>;

    /// Returns the best common ancestor of two commits.
    fn merge_base(&self, one: &str, other: &str) -> Result<String, GitError>;

    /// Returns the symbolic links of a commit, and where each leads, as it is written. Links that are not
    /// UTF-8 lead nowhere that a flow could name.
    fn links_at(&self, commit: &str) -> Result<BTreeMap<String, String>, GitError>;

    /// Returns when a commit was made, in milliseconds since 1970.
    fn commit_time_ms(&self, commit: &str) -> Result<u64, GitError>;

    /// Returns the message of a commit.
    fn message(&self, commit: &str) -> Result<String, GitError>;

    /// Returns one commit with all that another one has, on a third: as if it had been made at once, with its
    /// own words, author and date. Kept by the ref `pin`. The same always gives the same.
    fn squash(&self, onto: &str, commit: &str, pin: &str) -> Result<String, GitError>;

    /// Returns one commit with other versions of these files: the same commit, and the same files, always
    /// give the same commit. It is kept by the ref `pin`.
    fn overlay(&self, onto: &str, files: &[OverlayFile], pin: &str) -> Result<String, GitError>;

    fn resolve_commit(&self, name: &str) -> Option<String>;

    fn file_at(
        &self,
        commit: &str,
        path: &str,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, GitError>;

    fn files_at(&self, commit: &str, under: &str) -> Result<Vec<String>, GitError>;

    fn is_ancestor(&self, a: &str, b: &str) -> Result<bool, GitError>;

    fn code_tree(&self, commit: &str) -> Result<String, GitError>;

    fn pin(&self, name: &str, commit: &str) -> Result<(), GitError>;

    /// Lets go of what a ref below `refs/forge/` kept.
    fn unpin(&self, name: &str) -> Result<(), GitError>;

    /// Returns true if programs of the person's take part when files are written or read.
    fn has_filters(&self) -> Result<bool, GitError>;

    /// Returns true if a checkout was opened like this before, and nobody has touched it since.
    fn is_open(&self, checkout: &OpenCheckout) -> bool;

    /// Returns true if the person may have commit hooks.
    fn has_commit_hooks(&self) -> Result<bool, GitError>;

    /// Moves the head of a run, and its branch with it.
    fn move_run_head(&self, order: &MoveRunHead) -> Result<RunHeadUpdate, WorkspaceError>;
}

/// A version of a file that a commit is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverlayFile {
    /// As it is in this commit, and gone if it is not there.
    From { commit: String, path: String },
    /// With this text, and can be run.
    Text { path: String, text: String },
}

impl CodeHistory for Repository {
    fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, GitError> {
        Repository::changes(self, from, to)
    }

    fn diff(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
        bytes_max: usize,
    ) -> Result<Diff, GitError> {
        Repository::diff(self, from, to, paths, bytes_max)
    }

    fn branch_advance(
        &self,
        branch: &str,
        base: &str,
        head: &str,
    ) -> Result<Option<BranchAdvance>, GitError> {
        Repository::branch_advance(self, branch, base, head)
    }

    fn merge_base(&self, one: &str, other: &str) -> Result<String, GitError> {
        for (base, head) in [(one, other), (other, one)] {
            if object_reader::is_ancestor(&self.common_dir, base, head) == Some(true) {
                return Ok(base.to_owned());
            }
        }
        let git = Git::in_git_dir(&self.common_dir);
        let git = git.args(["merge-base", "--end-of-options", one, other]);
        let (_, base) = git.run_once(&[one, other], &[0])?;
        Ok(String::from_utf8_lossy(&base).trim_end().to_owned())
    }

    fn links_at(&self, commit: &str) -> Result<BTreeMap<String, String>, GitError> {
        let mut links = BTreeMap::new();
        let files = object_reader::files(&self.common_dir, commit, b"")?;
        for entry in files.into_iter().take(LINKS_LISTED_MAX) {
            if entry.mode != LINK_MODE {
                continue;
            }
            let target = object_reader::blob(&self.common_dir, &entry.object, u64::MAX)?;
            let target = target.ok().and_then(|target| String::from_utf8(target).ok());
            if let (Ok(path), Some(target)) = (String::from_utf8(entry.name), target) {
                links.insert(path, target);
            }
        }
        Ok(links)
    }

    fn commit_time_ms(&self, commit: &str) -> Result<u64, GitError> {
        let commit = object_reader::commit(&self.common_dir, commit)?;
        Ok(commit.committed_at.saturating_mul(1_000))
    }

    fn message(&self, commit: &str) -> Result<String, GitError> {
        if let Some(message) = object_reader::commit(&self.common_dir, commit)?.message {
            return Ok(message.trim_end().to_owned());
        }
        // Git knows other encodings.
        let git = Git::in_git_dir(&self.common_dir);
        let git = git.args(["show", "--no-patch", "--format=%B", "--end-of-options", commit]);
        Ok(String::from_utf8_lossy(&git.run()?).trim_end().to_owned())
    }

    fn squash(&self, onto: &str, commit: &str, pin: &str) -> Result<String, GitError> {
        let made = object_reader::commit(&self.common_dir, commit)?;
        if made.parents == [onto] {
            self.pin(pin, commit)?;
            return Ok(commit.to_owned());
        }
        let bytes = made.with_parent(onto);
        let squashed =
            object_writer::write(&self.common_dir, "commit", &bytes, Outlasts::PowerLoss)?;
        self.pin(pin, &squashed)?;
        Ok(squashed)
    }

    fn overlay(&self, onto: &str, files: &[OverlayFile], pin: &str) -> Result<String, GitError> {
        overlay(self, onto, files, pin)
    }

    fn resolve_commit(&self, name: &str) -> Option<String> {
        Repository::resolve_commit(self, name)
    }

    fn file_at(
        &self,
        commit: &str,
        path: &str,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        Repository::file_at(self, commit, path, bytes_max)
    }

    fn files_at(&self, commit: &str, under: &str) -> Result<Vec<String>, GitError> {
        Repository::files_at(self, commit, under)
    }

    fn is_ancestor(&self, a: &str, b: &str) -> Result<bool, GitError> {
        Repository::is_ancestor(self, a, b)
    }

    fn code_tree(&self, commit: &str) -> Result<String, GitError> {
        Repository::code_tree(self, commit)
    }

    fn pin(&self, name: &str, commit: &str) -> Result<(), GitError> {
        Repository::pin(self, name, commit)
    }

    fn unpin(&self, name: &str) -> Result<(), GitError> {
        self.remove_pin(name)
    }

    fn has_filters(&self) -> Result<bool, GitError> {
        Ok(UserConfig::read(self.top.as_deref(), &self.common_dir)?.has_filters())
    }

    fn is_open(&self, checkout: &OpenCheckout) -> bool {
        open::is_open(checkout)
    }

    fn has_commit_hooks(&self) -> Result<bool, GitError> {
        let config = UserConfig::read(self.top.as_deref(), &self.common_dir)?;
        Ok(config.has_hooks_path() || has_hooks(&self.common_dir.join("hooks")))
    }

    fn move_run_head(&self, order: &MoveRunHead) -> Result<RunHeadUpdate, WorkspaceError> {
        move_run_head(order)
    }
}

/// Makes the commit of [`CodeHistory::overlay`]. The same files give the same commit, so it need not outlast the machine; its
/// trees do, because another commit may have the same ones.
fn overlay(
    repository: &Repository,
    onto: &str,
    files: &[OverlayFile],
    pin: &str,
) -> Result<String, GitError> {
    let common_dir = &repository.common_dir;
    let mut overlaid = OverlaidFolder::default();
    for file in files {
        if let OverlayFile::From { commit, path } = file {
            let found = object_reader::entry_at(common_dir, commit, path.as_bytes())?;
            overlaid.put(path, found);
        }
    }
    for file in files {
        if let OverlayFile::Text { path, text } = file {
            let bytes = text.as_bytes();
            let object = object_writer::write(common_dir, "blob", bytes, Outlasts::Process)?;
            let (mode, kind) = ("100755".to_owned(), "blob".to_owned());
            overlaid.put(path, Some(TreeEntry { mode, kind, object, name: Vec::new() }));
        }
    }
    let tree = repository.tree(onto)?;
    let tree = match overlaid.onto(repository, Some(&tree))? {
        Some(tree) => tree,
        None => repository.make_tree(&[], Outlasts::PowerLoss)?,
    };
    let commit = NewCommit {
        tree: &tree,
        parents: &[onto.to_owned()],
        identity: &CommitIdentity::forge(),
        when_ms: repository.commit_time_ms(onto)?,
        message: "Forge: trial of the checks\n",
    };
    let commit = object_writer::write_commit(common_dir, &commit, Outlasts::Process)?;
    repository.pin_for(pin, &commit, Outlasts::Process)?;
    Ok(commit)
}

/// Other versions of files and folders, by name.
#[derive(Default)]
struct OverlaidFolder {
    folders: BTreeMap<Vec<u8>, OverlaidFolder>,
    /// None is a file that goes.
    entries: BTreeMap<Vec<u8>, Option<TreeEntry>>,
}

impl OverlaidFolder {
    fn put(&mut self, path: &str, entry: Option<TreeEntry>) {
        if let Some((folder, rest)) = path.split_once('/') {
            return self.folders.entry(folder.into()).or_default().put(rest, entry);
        }
        let name = path.as_bytes().to_vec();
        let entry = entry.map(|entry| TreeEntry { name: name.clone(), ..entry });
        self.entries.insert(name, entry);
    }

    /// Returns the tree with these versions; none if nothing is left in it. What has the name of a folder, and is none, goes.
    fn onto(
        &self,
        repository: &Repository,
        tree: Option<&str>,
    ) -> Result<Option<String>, GitError> {
        let mut entries = match tree {
            Some(tree) => repository.entries(tree)?.to_vec(),
            None => Vec::new(),
        };
        for (name, entry) in &self.entries {
            entries.retain(|known| known.name != *name);
            entries.extend(entry.clone());
        }
        for (name, folder) in &self.folders {
            let known = entries.iter().find(|entry| entry.name == *name && entry.kind == "tree");
            let inner = folder.onto(repository, known.map(|entry| entry.object.as_str()))?;
            let is_new = known.is_none();
            if is_new && inner.is_none() {
                continue;
            }
            entries.retain(|known| known.name != *name);
            let (mode, kind) = ("040000".to_owned(), "tree".to_owned());
            entries.extend(inner.map(|object| TreeEntry {
                mode,
                kind,
                object,
                name: name.clone(),
            }));
        }
        if entries.is_empty() {
            return Ok(None);
        }
        repository.make_tree(&entries.iter().collect::<Vec<_>>(), Outlasts::PowerLoss).map(Some)
    }
}
