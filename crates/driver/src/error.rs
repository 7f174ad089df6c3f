//! What a user can fix: what happened, and what to do next.
//!
//! What agents and the world do is not an error but an outcome, and a fact. What we broke is an
//! assertion that names the broken promise.

use forge_project::error::{Error as ProjectError, Kind};
use forge_store::journal::StoreError;
use forge_workspace::{FindRepositoryError, GitError, WorkspaceError};

/// An error that a user can fix.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Error {
    /// Decides the exit code.
    pub kind: Kind,
    /// The failure with its value, and its cause.
    pub what: String,
    /// The next command, or what to do first.
    pub next: Option<String>,
}

impl Error {
    /// Wrong use, and the right one.
    pub fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        ProjectError::usage(what, next).into()
    }

    /// Something around us, and what to do about it.
    pub fn surroundings(what: impl Into<String>, next: impl Into<String>) -> Self {
        ProjectError::surroundings(what, next).into()
    }

    /// A person has to agree first, and how they can.
    pub fn person(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { kind: Kind::Person, what: what.into(), next: Some(next.into()) }
    }

    /// A person left a choice, so nothing is done or said.
    pub const fn left() -> Self {
        Self { kind: Kind::Left, what: String::new(), next: None }
    }

    /// Replaces the command that helps, if a better one is known.
    #[must_use]
    pub fn with_better_help(self, next: Option<String>) -> Self {
        Self { next: next.or(self.next), ..self }
    }

    /// A file that could not be read or written.
    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        ProjectError::file(path, error).into()
    }
}

impl From<ProjectError> for Error {
    fn from(ProjectError { kind, what, next }: ProjectError) -> Self {
        Self { kind, what, next }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let is_usage = matches!(
            error,
            StoreError::NoSuchRun { .. }
                | StoreError::Ambiguous { .. }
                | StoreError::BadRunId { .. }
                | StoreError::RunExists { .. }
        );
        let kind = if is_usage { Kind::Usage } else { Kind::Surroundings };
        Self { kind, what: error.to_string(), next: Some(error.next_step()) }
    }
}

impl From<GitError> for Error {
    fn from(error: GitError) -> Self {
        ProjectError::from(error).into()
    }
}

impl From<WorkspaceError> for Error {
    fn from(failure: WorkspaceError) -> Self {
        ProjectError::from(failure).into()
    }
}

impl From<FindRepositoryError> for Error {
    fn from(error: FindRepositoryError) -> Self {
        ProjectError::from(error).into()
    }
}
