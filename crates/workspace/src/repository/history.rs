//! Commits beyond their files: time, message, the common ancestor of two, and commits that are
//! composed of two others.
//!
//! Nothing here touches a checkout.

use std::{collections::BTreeMap, fs};

use crate::{
    git::{
        command::{Git, nul_separated},
        error::GitError,
    },
    repository::locate::Repository,
};

/// More files than this are not looked at for links.
const LINKS_LISTED_MAX: usize = 2_000_000;

impl Repository {
    /// Returns the best common ancestor of two commits.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<String, GitError> {
        Git::in_git_dir(&self.common_dir)
            .args(["merge-base", "--end-of-options", one, other])
            .run_line()
    }

    /// Returns the symbolic links of a commit, and where each leads, as it is written. Links that are not
    /// UTF-8 lead nowhere that a flow could name.
    pub fn links_at(&self, commit: &str) -> Result<BTreeMap<String, String>, GitError> {
        let git = || Git::in_git_dir(&self.common_dir);
        let list = git().args(["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit]);
        let mut links = BTreeMap::new();
        for entry in nul_separated(&list.run()?).take(LINKS_LISTED_MAX) {
            let Ok(entry) = std::str::from_utf8(entry) else { continue };
            let Some((about, path)) = entry.split_once('\t') else { continue };
            let mut about = about.split(' ');
            let (Some("120000"), Some(_), Some(blob)) = (about.next(), about.next(), about.next())
            else {
                continue;
            };
            let target = git().args(["cat-file", "blob", blob]).run()?;
            if let Ok(target) = String::from_utf8(target) {
                links.insert(path.to_owned(), target);
            }
        }
        Ok(links)
    }

    /// Lets go of what a ref below `refs/forge/` kept.
    pub fn unpin(&self, name: &str) -> Result<(), GitError> {
        assert!(name.starts_with("refs/forge/"), "no ref of the user's is ever removed");
        self.write_refs(&[name], || {
            Git::in_git_dir(&self.common_dir).args(["update-ref", "-d", name])
        })
    }

    /// Returns when a commit was made, in milliseconds since 1970.
    pub fn commit_time_ms(&self, commit: &str) -> Result<u64, GitError> {
        let git = Git::in_git_dir(&self.common_dir);
        let git = git.args(["show", "--no-patch", "--format=%ct", "--end-of-options", commit]);
        let output = git.run_line()?;
        let seconds: u64 = output
            .parse()
            .map_err(|_| GitError::Unreadable { command: format!("git show {commit}") })?;
        Ok(seconds.saturating_mul(1_000))
    }

    /// Returns the message of a commit.
    pub fn message(&self, commit: &str) -> Result<String, GitError> {
        let git = Git::in_git_dir(&self.common_dir);
        let git = git.args(["show", "--no-patch", "--format=%B", "--end-of-options", commit]);
        Ok(String::from_utf8_lossy(&git.run()?).trim_end().to_owned())
    }

    /// Returns one commit with all that another one has, on a third: as if it had been made at once, with its
    /// own words, author and date. Kept by the ref `pin`. The same always gives the same.
    pub fn squash(&self, onto: &str, commit: &str, pin: &str) -> Result<String, GitError> {
        let git = || Git::in_git_dir(&self.common_dir);
        let line = |format: &str| {
            git().args(["show", "--no-patch", &format!("--format={format}"), commit]).run_line()
        };
        if line("%P")? == onto {
            self.pin(pin, commit)?;
            return Ok(commit.to_owned());
        }
        let tree = line("%T")?;
        let squashed = git()
            .durably()
            .env("GIT_AUTHOR_NAME", line("%an")?)
            .env("GIT_AUTHOR_EMAIL", line("%ae")?)
            .env("GIT_AUTHOR_DATE", line("%ad")?)
            .env("GIT_COMMITTER_NAME", line("%cn")?)
            .env("GIT_COMMITTER_EMAIL", line("%ce")?)
            .env("GIT_COMMITTER_DATE", line("%cd")?)
            .args(["commit-tree", &tree, "-p", onto, "-F", "-"])
            .input(self.message(commit)?.into_bytes())
            .run_line()?;
        self.pin(pin, &squashed)?;
        Ok(squashed)
    }

    /// Returns one commit with these files of another one: the same two, and the same files, always give
    /// the same commit. It is kept by the ref `pin`.
    pub fn overlay(
        &self,
        onto: &str,
        from: &str,
        paths: &[String],
        pin: &str,
    ) -> Result<String, GitError> {
        let index = std::env::temp_dir().join(format!(
            "forge-overlay-{}-{}",
            std::process::id(),
            &from[..from.len().min(12)]
        ));
        let made = self.overlay_with(&index, onto, from, paths, pin);
        // It may not exist; it is not needed any more.
        let _ = fs::remove_file(&index);
        made
    }

    fn overlay_with(
        &self,
        index: &std::path::Path,
        onto: &str,
        from: &str,
        paths: &[String],
        pin: &str,
    ) -> Result<String, GitError> {
        let git = || Git::in_git_dir(&self.common_dir).env("GIT_INDEX_FILE", index);
        git().args(["read-tree", onto]).run()?;
        let list = git().args(["ls-tree", "-z", "--full-tree", "-r", from, "--"]);
        let entries = list.args(paths).run()?;
        git().args(["update-index", "-z", "--index-info"]).input(entries).run()?;
        let tree = git().durably().args(["write-tree"]).run_line()?;
        let when = format!("{} +0000", self.commit_time_ms(onto)? / 1_000);
        let commit = git()
            .durably()
            .env("GIT_AUTHOR_NAME", "Forge")
            .env("GIT_AUTHOR_EMAIL", "forge@localhost")
            .env("GIT_AUTHOR_DATE", &when)
            .env("GIT_COMMITTER_NAME", "Forge")
            .env("GIT_COMMITTER_EMAIL", "forge@localhost")
            .env("GIT_COMMITTER_DATE", &when)
            .args(["commit-tree", &tree, "-p", onto, "-m", "Files of another commit"])
            .run_line()?;
        self.pin(pin, &commit)?;
        Ok(commit)
    }
}
