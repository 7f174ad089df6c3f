//! Files that differ between two commits, and new commits of the branch that a run started from.

use crate::{
    git::{
        command::nul_separated,
        error::GitError,
        merge_tree,
        object_reader::{self, Difference},
        path_names::encode_path,
    },
    protocol::{BranchAdvance, FileChange, FileChangeKind},
    repository::locate::Repository,
};

impl Repository {
    /// Lists the files that differ between two commits.
    pub fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, GitError> {
        if let Some(differences) = self.plain_differences(from, to)? {
            return Ok(differences.iter().filter_map(plain_change).collect());
        }
        let git = self.git().args(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M"]);
        let (_, output) = git.arg(from).arg(to).arg("--").run_once(&[from, to], &[0])?;
        let mut fields = nul_separated(&output);
        let mut changes = Vec::new();
        while let Some(header) = fields.next() {
            let change = change(header, &mut fields);
            let command = || "git diff-tree --raw".to_owned();
            changes.push(change.ok_or_else(|| GitError::Unreadable { command: command() })?);
        }
        Ok(changes)
    }

    /// Returns what differs between two commits, if no file can have another name now: git finds such files.
    pub(crate) fn plain_differences(
        &self,
        from: &str,
        to: &str,
    ) -> Result<Option<Vec<Difference>>, GitError> {
        let differences = object_reader::differences(&self.common_dir, from, to)?;
        let is_gone = differences.iter().any(|file| file.new.is_none());
        let is_new = differences.iter().any(|file| file.old.is_none());
        Ok((!is_gone || !is_new).then_some(differences))
    }

    /// Returns the new commits of a branch since a run started from it at `base`, with the conflicts of a
    /// merge with the run's head. None if there are no new ones, or the branch is gone.
    pub fn branch_advance(
        &self,
        branch: &str,
        base: &str,
        head: &str,
    ) -> Result<Option<BranchAdvance>, GitError> {
        let Some(tip) = self.resolve_commit(&format!("refs/heads/{branch}")) else {
            return Ok(None);
        };
        if self.resolve_commit(base).as_ref() == Some(&tip) {
            return Ok(None);
        }
        let git = self.git().args(["rev-list", "--count", "--end-of-options"]);
        let counted = git.arg(format!("{base}..{tip}")).run_line()?;
        let command = || "git rev-list --count".to_owned();
        let n_commits = counted.parse().map_err(|_| GitError::Unreadable { command: command() })?;
        let conflicts = merge_tree::try_merge(&self.common_dir, head, &tip)?.paths();
        Ok(Some(BranchAdvance { tip, n_commits, conflicts }))
    }
}

fn plain_change(file: &Difference) -> Option<FileChange> {
    let kind = match (&file.old, &file.new) {
        (None, None) => return None,
        (None, Some(_)) => FileChangeKind::Added,
        (Some(_), None) => FileChangeKind::Deleted,
        // The first digits of a mode say what it is.
        (Some(old), Some(new)) if old.mode[..3] != new.mode[..3] => FileChangeKind::TypeChanged,
        (Some(old), Some(new)) if old.object == new.object => FileChangeKind::ModeChanged,
        (Some(_), Some(_)) => FileChangeKind::Modified,
    };
    Some(FileChange { path: encode_path(&file.path), kind })
}

/// Reads `:MODE MODE OBJECT OBJECT KIND` and the paths that follow.
fn change<'a>(header: &[u8], fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<FileChange> {
    let header = str::from_utf8(header.strip_prefix(b":")?).ok()?;
    let words: Vec<&str> = header.split(' ').collect();
    let [old_mode, new_mode, old, new, kind] = words.as_slice() else { return None };
    let path = encode_path(fields.next()?);
    let (path, kind) = match kind.as_bytes().first()? {
        b'A' => (path, FileChangeKind::Added),
        b'D' => (path, FileChangeKind::Deleted),
        b'T' => (path, FileChangeKind::TypeChanged),
        b'M' if old == new && old_mode != new_mode => (path, FileChangeKind::ModeChanged),
        b'M' => (path, FileChangeKind::Modified),
        b'R' => (encode_path(fields.next()?), FileChangeKind::Renamed { from: path }),
        _ => return None,
    };
    Some(FileChange { path, kind })
}
