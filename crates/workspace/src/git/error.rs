//! Errors that a person can fix, each with the next step, and errors of git.
//!
//! Outcomes of the work (a conflict, a hook that says no) are not here; they are answers.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An error that a person can fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("{what}; {next}")]
pub struct WorkspaceError {
    /// The problem.
    pub what: String,
    /// The next step.
    pub next: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub cause: FailureCause,
}

/// Origin of a failure: around Forge, or in the checkout that a worker was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The disk, git, the system: the work that was done is still there, and the same operation can
    /// succeed later.
    #[default]
    Surroundings,
    /// The checkout is gone or damaged, and with it the work in it.
    Checkout,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The reason why a call of git gave no answer.
#[derive(Debug, Error)]
pub enum GitError {
    /// Git is not installed, or could not be started.
    #[error("git cannot be run: {0}")]
    NotRun(io::Error),
    /// Git refused.
    #[error("`{command}`{}", ended(*code, message))]
    Refused {
        /// The command, as a person would type it.
        command: String,
        /// Its exit code; none if it was killed.
        code: Option<i32>,
        /// Its message, truncated.
        message: String,
    },
    /// A file is larger than the caller wants to read.
    #[error("{path} has {bytes} bytes, more than {bytes_max}")]
    TooLarge {
        path: String,
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// Git answered, but not what its manual promises.
    #[error("`{command}` printed something unexpected")]
    Unreadable {
        /// The command, as a person would type it.
        command: String,
    },
}

/// Messages of git or the system, and the next step for each.
const HELPS: &[(&str, &str)] = &[
    (
        "Resource temporarily unavailable",
        "end some processes (`ulimit -u` limits them), then `forge resume`",
    ),
    ("Cannot allocate memory", "end some processes, then `forge resume`"),
    ("No space left on device", "free some disk space, then `forge resume`"),
    ("Disk quota exceeded", "free some disk space, then `forge resume`"),
    ("Read-only file system", "make the file system writable, then `forge resume`"),
    ("Permission denied", "give this user write access to it, then `forge resume`"),
    ("Operation not permitted", "give this user write access to it, then `forge resume`"),
    ("Too many open files", "raise the limit of open files (`ulimit -n`), then `forge resume`"),
    (
        ".lock': File exists",
        "wait for the other git process, or remove the lock file, then `forge resume`",
    ),
    ("git cannot be run", "install git 2.38 or newer, so that it is found in PATH"),
    ("lazy fetching disabled", "fetch what the partial clone left out, with `git archive COMMIT`"),
    ("missing blob object", "fetch what the partial clone left out, with `git archive COMMIT`"),
    (
        "filter",
        "see that the filter programs in .gitattributes and git's settings work, then `forge resume`",
    ),
    ("bad object", "see what the repository lacks with `git fsck`, then `forge resume`"),
    ("not a valid object", "see what the repository lacks with `git fsck`, then `forge resume`"),
    ("unable to read", "see what the repository lacks with `git fsck`, then `forge resume`"),
];

impl WorkspaceError {
    /// Returns a problem with the next step.
    pub fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into(), cause: FailureCause::Surroundings }
    }

    /// Returns a problem whose next step follows from what the system says about it.
    pub fn from_message(what: impl Into<String>) -> Self {
        let what = what.into();
        let next = help(&what).unwrap_or("see what it says, fix it, then `forge resume`");
        Self::new(what, next)
    }

    /// Returns a step with a file that did not work.
    pub(crate) fn file(step: &str, path: &Path, error: &io::Error) -> Self {
        let what = format!("cannot {step} {}: {error}", path.display());
        let next = help(&what).unwrap_or("see what is in the way, then `forge resume`");
        Self::new(what, next)
    }
}

fn help(message: &str) -> Option<&'static str> {
    HELPS.iter().find(|(words, _)| message.contains(words)).map(|(_, next)| *next)
}

impl From<GitError> for WorkspaceError {
    fn from(error: GitError) -> Self {
        let what = error.to_string();
        let next = help(&what).unwrap_or("see what git says, fix it, then `forge resume`");
        Self::new(what, next)
    }
}

impl GitError {
    /// Returns git's message, if git was run.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Refused { message, .. } => message,
            Self::NotRun(_) | Self::TooLarge { .. } | Self::Unreadable { .. } => "",
        }
    }
}

/// Describes the end of a call of git that was refused, to be read after the command.
fn ended(code: Option<i32>, message: &str) -> String {
    match code {
        _ if !message.is_empty() => format!(": {message}"),
        Some(code) => format!(" ended with code {code}"),
        None => " was killed".to_owned(),
    }
}

/// Adds the attempted step and the path to an [`io::Error`].
pub(crate) trait IoContext<T> {
    /// Says `cannot STEP PATH`.
    fn context(self, step: &str, path: &Path) -> Result<T, WorkspaceError>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn context(self, step: &str, path: &Path) -> Result<T, WorkspaceError> {
        self.map_err(|error| WorkspaceError::file(step, path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_to_free_space() {
        let message = "error: unable to write file x: No space left on device".to_owned();
        let command = "git add -A".to_owned();
        let failure = WorkspaceError::from(GitError::Refused { command, code: Some(128), message });
        assert!(failure.next.contains("free some disk space"), "{failure}");
    }

    #[test]
    fn a_refusal_says_how_git_ended() {
        let refused = |code, message: &str| {
            let (command, message) = ("git add".to_owned(), message.to_owned());
            GitError::Refused { command, code, message }.to_string()
        };
        assert_eq!(refused(Some(1), ""), "`git add` ended with code 1");
        assert_eq!(refused(None, ""), "`git add` was killed");
        assert_eq!(refused(Some(1), "no"), "`git add`: no");
    }
}
