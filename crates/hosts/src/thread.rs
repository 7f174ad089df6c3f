//! Where people write at a host, one comment of it, and what can become of an issue.
//!
//! How it is asked for is in `discussion`.

use crate::{address::IssueName, error::HostError};

/// Where comments are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Thread<'a> {
    Issue(&'a IssueName),
    PullRequest { project: &'a str, number: u64 },
}

/// A comment at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundComment {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Its address for people, if the host says it.
    pub(crate) address: Option<String>,
}

/// A change of the state of an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssueMove {
    /// It is closed, as issues are at hosts of repositories.
    Close,
    /// It gets the state with this name, as issues have at Jira and Linear.
    To(String),
}

/// Says that not all comments were read, so that one of them may be the one that was looked for.
pub(crate) fn too_many(subject: &str) -> HostError {
    HostError::NotPossible {
        what: format!("{subject} has more comments than are read"),
        next: "write the comment by hand".to_owned(),
    }
}

/// Says that an issue cannot get a state.
pub(crate) fn no_such_state(subject: &str, state: &str, known: &[String]) -> HostError {
    HostError::NotPossible {
        what: format!("{subject} cannot get the state \"{state}\" now"),
        next: format!("use one of: {}", known.join(", ")),
    }
}
