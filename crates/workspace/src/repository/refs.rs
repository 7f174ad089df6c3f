//! The refs that Forge writes into the user's repository.
//!
//! Invariant: the only refs that are written here are below `refs/forge/`.

use std::{collections::BTreeSet, fs, io};

use crate::{
    git::{
        command::Git,
        error::{GitError, WorkspaceError},
        object_writer::{self, Outlasts},
        path_names::{self, object_id},
        safe_files,
    },
    repository::locate::Repository,
};

impl Repository {
    /// Keeps a commit, by a ref below `refs/forge/`.
    pub fn pin(&self, name: &str, commit: &str) -> Result<(), GitError> {
        self.pin_for(name, commit, Outlasts::PowerLoss)
    }

    /// The same, or only for as long as the machine runs.
    pub(crate) fn pin_for(
        &self,
        name: &str,
        commit: &str,
        outlasts: Outlasts,
    ) -> Result<(), GitError> {
        if let Err(failure) = check_pin(name) {
            let command = format!("git update-ref {name}");
            return Err(GitError::Refused { command, code: None, message: failure.what });
        }
        if self.loose_ref(name).as_deref() == Some(commit) {
            return Ok(());
        }
        if object_writer::write_ref(&self.common_dir, name, commit, outlasts)? {
            return Ok(());
        }
        let git = || self.git().durably().args(["update-ref", "--no-deref", name, commit]);
        self.write_refs(&[(name, commit)], git)
    }

    /// Returns the commits that the refs below a prefix name.
    pub fn commits_below(&self, prefix: &str) -> Result<Vec<String>, GitError> {
        let output = self.git().args(["for-each-ref", "--format=%(objectname)", prefix]).run()?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
    }

    /// Returns the local branches that are part of the commit that is checked out.
    pub fn merged_branches(&self) -> Result<BTreeSet<String>, GitError> {
        let words =
            ["for-each-ref", "--merged=HEAD", "--format=%(refname:lstrip=2)", "refs/heads/"];
        let output = self.git().args(words).run()?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
    }

    /// Removes a ref below `refs/forge/`. `git update-ref -d` would lock the file of all packed refs,
    /// which the user's git needs, too, and leave that lock if it is killed. A ref that was packed
    /// meanwhile stays: it keeps a commit for longer, and harms nobody.
    pub(crate) fn remove_pin(&self, name: &str) -> Result<(), GitError> {
        let path = self.common_dir.join(name);
        let removed = check_pin(name).and_then(|()| match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(WorkspaceError::file("remove", &path, &error))
            }
            Ok(()) | Err(_) => Ok(()),
        });
        let command = || format!("git update-ref -d {name}");
        let refused = |message| GitError::Refused { command: command(), code: None, message };
        removed.map_err(|failure| refused(failure.what))
    }

    /// Writes refs, also where a git that was killed has left its lock. Git holds such a lock for a
    /// moment, and waits for others; one that outlasts its patience is of a dead process. It goes if it is
    /// ours: below `refs/forge/` only we write, and elsewhere it holds exactly the commit that we are
    /// about to write. Other locks on the user's refs stay.
    pub(crate) fn write_refs(
        &self,
        updates: &[(&str, &str)],
        git: impl Fn() -> Git,
    ) -> Result<(), GitError> {
        let Err(error) = git().run() else { return Ok(()) };
        if !error.message().contains(".lock': File exists") {
            return Err(error);
        }
        for (name, to) in updates {
            let lock = self.common_dir.join(format!("{name}.lock"));
            let holds = fs::read_to_string(&lock).unwrap_or_default();
            if !name.starts_with("refs/forge/") && holds.trim_end() != *to {
                continue;
            }
            match fs::remove_file(&lock) {
                Ok(()) => {}
                Err(gone) if gone.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return Err(error),
            }
        }
        git().run().map(|_| ())
    }

    /// Returns the commit of a ref that has a file of its own; that counts whatever else git has under the name.
    pub(crate) fn loose_ref(&self, name: &str) -> Option<String> {
        match self.ref_file(name)? {
            RefFile::Commit(commit) => Some(commit),
            RefFile::Symbolic | RefFile::None => None,
        }
    }

    /// Returns what the file of a ref says; none if only git can say.
    pub(crate) fn ref_file(&self, name: &str) -> Option<RefFile> {
        let is_ref = name.strip_prefix("refs/").is_some_and(path_names::is_branch_name);
        // Where git keeps refs otherwise, such a file counts for nothing.
        if !is_ref || self.common_dir.join("reftable").exists() {
            return None;
        }
        let Some(bytes) = safe_files::read(&self.common_dir.join(name)).ok()? else {
            return Some(RefFile::None);
        };
        let text = str::from_utf8(&bytes).ok()?;
        if text.starts_with("ref:") {
            return Some(RefFile::Symbolic);
        }
        object_id(text).map(RefFile::Commit)
    }

    /// Returns the commit of a ref, if it exists.
    pub(crate) fn read_ref(&self, name: &str) -> Result<Option<String>, GitError> {
        match self.ref_file(name) {
            Some(RefFile::Commit(commit)) => return Ok(Some(commit)),
            Some(RefFile::None) => {
                if let Ok(packed) = self.packed_ref(name) {
                    return Ok(packed);
                }
            }
            Some(RefFile::Symbolic) | None => {}
        }
        let git = self.git().args(["for-each-ref", "--format=%(objectname) %(refname)"]).arg(name);
        let output = git.run()?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let found = text.lines().filter_map(|line| line.split_once(' '));
        Ok(found.into_iter().find(|(_, known)| *known == name).map(|(id, _)| id.to_owned()))
    }

    /// Looks a ref up among those that git has packed into one file. What cannot be read is git's.
    fn packed_ref(&self, name: &str) -> Result<Option<String>, WorkspaceError> {
        let bytes = safe_files::read(&self.common_dir.join("packed-refs"))?.unwrap_or_default();
        let wanted = [b" ", name.as_bytes()].concat();
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let id = lines.find_map(|line| line.strip_suffix(&wanted[..]));
        Ok(id.and_then(|id| object_id(str::from_utf8(id).ok()?)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefFile {
    Commit(String),
    /// It is another name of another ref.
    Symbolic,
    /// There is no such file; git may have packed it.
    None,
}

/// Refuses every ref that is not below `refs/forge/`.
pub(crate) fn check_pin(name: &str) -> Result<(), WorkspaceError> {
    let inside = name.strip_prefix("refs/forge/");
    if inside.is_some_and(path_names::is_branch_name) {
        return Ok(());
    }
    Err(WorkspaceError::new(
        format!("{name} is not a ref below refs/forge/"),
        "this is a bug in Forge; please report it",
    ))
}
