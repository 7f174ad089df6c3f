//! What a user can mend: what happened, and what to do next.
//!
//! What agents and the world do is no trouble but an outcome, and a fact. What we broke is an
//! assertion that names the broken promise.

use forge_workspace::{FindRepositoryError, GitError, WorkspaceError};

/// An error that a user can fix, with the next command.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Error {
    /// Whose trouble it is.
    pub kind: Kind,
    /// The failure and its cause, in a sentence.
    pub what: String,
    /// The next command, or what to do first.
    pub next: Option<String>,
}

/// The kind of an error, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command, the flow, the settings or the scenario say something that cannot be.
    Usage,
    /// The disk, the journal, git, or something else around us.
    Surroundings,
    /// A person has to say yes first.
    Person,
    /// A person wanted it to end.
    Interrupted,
    /// A person left a choice, so nothing is to be said.
    Left,
}

impl Kind {
    /// Returns the exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Usage | Self::Surroundings => 2,
            Self::Person => 3,
            Self::Interrupted | Self::Left => 130,
        }
    }
}

impl Error {
    /// Builds an error about wrong use, with the right one.
    pub fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, what: what.into(), next: Some(next.into()) }
    }

    /// Builds an error about the surroundings, with what to do about it.
    pub fn surroundings(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { kind: Kind::Surroundings, what: what.into(), next: Some(next.into()) }
    }

    /// Returns a file that could not be read or written.
    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{
            PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        };
        let kind = error.kind();
        let next = if let Some(help) = help_with_limits(error) {
            help
        } else if [StorageFull, QuotaExceeded].contains(&kind) {
            "free some space, then run the same command again; no recorded work is lost"
        } else if [ReadOnlyFilesystem, PermissionDenied].contains(&kind) {
            "make the folder writable, then run the same command again"
        } else {
            "check the path, then run the same command again"
        };
        let path = path.display();
        let what = if kind == std::io::ErrorKind::NotFound {
            format!("{path} not found")
        } else {
            format!("{path}: {error}")
        };
        Self::surroundings(what, next)
    }
}

/// Returns what helps if git cannot be started. Only one that is not there is to be installed.
pub fn help_to_run_git(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    if let Some(help) = help_with_limits(error) {
        help
    } else if error.kind() == PermissionDenied {
        "make git executable for this user, then run the same command again"
    } else if error.kind() == NotFound {
        "install git"
    } else if error.kind() == NotADirectory {
        "put the repository back where it was, or run the command where it is now"
    } else {
        "see that `git --version` works, then run the same command again"
    }
}

/// Returns what helps if this user has too many open files or processes.
fn help_with_limits(error: &std::io::Error) -> Option<&'static str> {
    use std::io::ErrorKind::{OutOfMemory, WouldBlock};
    const TOO_MANY_OPEN_FILES: [i32; 2] = [23, 24]; // ENFILE, EMFILE
    if error.raw_os_error().is_some_and(|code| TOO_MANY_OPEN_FILES.contains(&code)) {
        Some("raise the limit of open files (`ulimit -n`), then run the same command again")
    } else if [WouldBlock, OutOfMemory].contains(&error.kind()) {
        Some(
            "end some processes or raise their limit (`ulimit -u`), then run the same command again",
        )
    } else {
        None
    }
}

impl From<GitError> for Error {
    fn from(error: GitError) -> Self {
        let next = match &error {
            GitError::NotRun(error) => help_to_run_git(error),
            GitError::TooLarge { .. } => "make it smaller, and commit it",
            GitError::Refused { .. } | GitError::Unreadable { .. } => "forge doctor",
        };
        Self::surroundings(error.to_string(), next)
    }
}

impl From<WorkspaceError> for Error {
    fn from(failure: WorkspaceError) -> Self {
        Self::surroundings(failure.what, failure.next)
    }
}

impl From<FindRepositoryError> for Error {
    fn from(error: FindRepositoryError) -> Self {
        let next = match &error {
            FindRepositoryError::NoGit(error) => help_to_run_git(error).to_owned(),
            FindRepositoryError::OtherOwner { dir } => {
                let top = dir.to_string_lossy().replace('\'', r"'\''");
                format!("git config --global --add safe.directory '{top}'   # if you trust it")
            }
            FindRepositoryError::Refused { .. } => "git init\n   or: forge demo".to_owned(),
        };
        Self::surroundings(error.to_string(), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn only_a_git_that_is_not_there_is_to_be_installed() {
        for (code, help) in [
            (2, "install git"),
            (24, "ulimit -n"),
            (23, "ulimit -n"),
            (11, "ulimit -u"),
            (12, "ulimit -u"),
        ] {
            let not_run = || io::Error::from_raw_os_error(code);
            for error in [
                Error::from(GitError::NotRun(not_run())),
                Error::from(FindRepositoryError::NoGit(not_run())),
            ] {
                let next = error.next.unwrap();
                assert!(next.contains(help), "{code}: {next}");
                assert_eq!(next.contains("install"), code == 2, "{code}: {next}");
            }
            let next = Error::file("a".as_ref(), &not_run()).next.unwrap();
            assert_eq!(next.contains(help), code != 2, "{code}: {next}");
        }
    }
}
