//! A merge of a result into the branch that the user has checked out, which the user has confirmed.
//!
//! Not here: the fast-forward of the branch that a run was started for (`fast_forward.rs`).
//!
//! Invariant: only a clean checkout on a branch is written. A merge that fails leaves it as it was, and what was begun
//! by somebody else is never aborted.

use std::path::Path;

use crate::{
    git::{
        command::{Git, nul_separated},
        error::{GitError, WorkspaceError},
        merge_tree,
        path_names::encode_path,
    },
    repository::locate::Repository,
};

/// Variables by which a user names the author of commits.
const IDENTITY_VARIABLES: [&str; 4] =
    ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];

/// The files that show the records of work.
const RECORDS: &str = ".forge/work/";

/// The way a commit gets into the branch that is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeWay {
    /// It is there already.
    UpToDate,
    FastForward,
    MergeCommit,
    Conflict {
        paths: Vec<String>,
    },
    Blocked {
        /// The state of the checkout, as a sentence without its end.
        why: String,
        /// The command that changes it.
        next: &'static str,
    },
}

/// A changed file with the number of lines that were added and removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    pub path: String,
    /// Added and removed; nothing, if the file is not text.
    pub lines: Option<(u64, u64)>,
}

impl Repository {
    /// Returns how a commit would get into the branch that is checked out. Nothing is written.
    pub fn merge_way(&self, commit: &str) -> Result<MergeWay, WorkspaceError> {
        let blocked = |why: &str, next| Ok(MergeWay::Blocked { why: why.to_owned(), next });
        let Some(top) = self.top.as_deref() else {
            return blocked("a bare repository has no checkout", "git clone");
        };
        let commit = self.require_commit(commit)?;
        let (Some(head), Some(_)) = (self.head(), self.branch()) else {
            return blocked("no branch is checked out", "git switch main");
        };
        if self.is_ancestor(&commit, &head)? {
            return Ok(MergeWay::UpToDate);
        }
        if self.resolve_commit("MERGE_HEAD").is_some() {
            return blocked("a merge is not finished yet", "git merge --continue");
        }
        let changed = Git::in_folder(top)
            .args(["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])
            .run()?;
        let changed = String::from_utf8_lossy(&changed);
        // Commands write the files of records here; git refuses by itself if it would have to replace one.
        let mut changed = changed.lines().filter_map(|line| line.get(3..));
        if let Some(first) = changed.find(|path| !path.starts_with(RECORDS)) {
            let why = format!(
                "your checkout has changes that are not committed, such as {first}; `git stash pop` brings them \
                 back after the merge"
            );
            return blocked(&why, "git stash");
        }
        if self.is_ancestor(&head, &commit)? {
            return Ok(MergeWay::FastForward);
        }
        let paths = merge_tree::try_merge(&self.common_dir, &head, &commit)?.paths();
        Ok(if paths.is_empty() { MergeWay::MergeCommit } else { MergeWay::Conflict { paths } })
    }

    /// Merges what `name` names into the branch that is checked out, as the user and with the user's hooks. Returns the
    /// commit that is checked out then.
    pub fn merge_into_checkout(&self, name: &str) -> Result<String, WorkspaceError> {
        let commit = self.require_commit(name)?;
        let by_hand = || format!("git merge {name}");
        let (way, Some(top)) = (self.merge_way(&commit)?, self.top.as_deref()) else {
            return Err(WorkspaceError::new("there is no checkout", by_hand()));
        };
        let merge = match way {
            MergeWay::UpToDate => return Ok(commit),
            MergeWay::FastForward => "--ff-only",
            MergeWay::MergeCommit => "--no-ff",
            MergeWay::Conflict { paths } => {
                let what = format!("the merge has conflicts in {}", paths.join(", "));
                return Err(WorkspaceError::new(what, by_hand()));
            }
            MergeWay::Blocked { why, next } => return Err(WorkspaceError::new(why, next)),
        };
        let git = Git::with_hooks(top).args(["merge", merge, "--no-edit", "--quiet"]).arg(name);
        let git =
            IDENTITY_VARIABLES.iter().fold(git, |git, variable| match std::env::var_os(variable) {
                Some(value) => git.env(variable, value),
                None => git,
            });
        if let Err(error) = git.run() {
            // What this call began is undone; git itself refuses to begin where something else is under way.
            if self.resolve_commit("MERGE_HEAD").as_ref() == Some(&commit) {
                abort(top)?;
            }
            return Err(match overwritten(&error.to_string()) {
                Some(file) => WorkspaceError::new(
                    format!(
                        "`{file}` in your checkout is not in git and would be overwritten; nothing was merged"
                    ),
                    "git stash -u",
                ),
                None => WorkspaceError::new(error.to_string(), by_hand()),
            });
        }
        self.head().ok_or_else(|| WorkspaceError::new("HEAD is gone after the merge", "git status"))
    }

    /// Returns the subjects of the commits that `to` has and `from` has not, newest first and at most so many; each after
    /// its short id.
    pub fn subjects(&self, from: &str, to: &str, most: usize) -> Result<Vec<String>, GitError> {
        let git = self.git().args(["log", "--format=%h %s", "--no-decorate", "--no-color"]);
        let output = git.arg(format!("-{most}")).arg(format!("{from}..{to}")).arg("--").run()?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
    }

    /// Returns the title of a commit, if it is there.
    pub fn subject(&self, commit: &str) -> Option<String> {
        let git = self.git().args(["log", "-1", "--format=%s", "--no-decorate", "--no-color"]);
        let output = git.arg(commit).arg("--").run().ok()?;
        Some(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Returns how many lines each file between two commits or trees gained and lost.
    pub fn file_stats(&self, from: &str, to: &str) -> Result<Vec<FileStat>, GitError> {
        let git = self.git().args(["diff-tree", "-r", "-z", "--numstat", "-M"]);
        let output = git.args([from, to, "--"]).run()?;
        let unreadable = || GitError::Unreadable { command: "git diff-tree --numstat".to_owned() };
        parse_numstat(&output).ok_or_else(unreadable)
    }
}

/// Parses `ADDED TAB REMOVED TAB PATH`, with `-` for numbers of what is not text. A renamed file has an empty path, and
/// its two names after it.
fn parse_numstat(output: &[u8]) -> Option<Vec<FileStat>> {
    let mut fields = nul_separated(output);
    let mut files = Vec::new();
    while let Some(field) = fields.next() {
        let mut parts = field.splitn(3, |byte| *byte == b'\t');
        let mut number = || Some(str::from_utf8(parts.next()?).ok()?.parse::<u64>().ok());
        let (added, removed) = (number()?, number()?);
        let path = parts.next()?;
        let path = if path.is_empty() { fields.nth(1)? } else { path };
        files.push(FileStat { path: encode_path(path), lines: added.zip(removed) });
    }
    Some(files)
}

fn abort(top: &Path) -> Result<(), WorkspaceError> {
    let aborted = Git::with_hooks(top).args(["merge", "--abort"]).run();
    aborted.map(|_| ()).map_err(|error| {
        let what = format!("the merge failed, and cannot be undone: {error}");
        WorkspaceError::new(what, "git merge --abort")
    })
}

/// Returns the first untracked file that git refuses to overwrite.
fn overwritten(said: &str) -> Option<&str> {
    let mut lines = said.lines();
    lines.find(|line| line.contains("untracked working tree files would be overwritten"))?;
    lines.next().map(str::trim).filter(|file| !file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_changed_binary_and_renamed_files_are_told_apart() {
        let parsed = parse_numstat(b"2\t1\tsrc/a.rs\0-\t-\tb.png\x000\t0\t\0old name\0new name\0");
        let file = |path: &str, lines| FileStat { path: path.to_owned(), lines };
        let expected = vec![
            file("src/a.rs", Some((2, 1))),
            file("b.png", None),
            file("new name", Some((0, 0))),
        ];
        assert_eq!(parsed, Some(expected));
        assert_eq!(parse_numstat(b""), Some(Vec::new()));
        assert_eq!(parse_numstat(b"2\tsrc/a.rs\0"), None);
    }
}
