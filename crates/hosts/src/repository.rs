//! A repository at a host, found from the address of a git remote.
//!
//! How an address is read is in `parse`, and how its host is found out.
//!
//! Invariant: the address is one of the user's own remotes, so its host is one that a person named.

use crate::{address::Site, error::HostTrust, kind::Kind};

/// A repository whose host has pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostedRepository {
    pub(crate) kind: Kind,
    pub(crate) site: Site,
    /// Such as `owner/name`, or `group/sub/name`.
    pub(crate) project: String,
    pub(crate) trust: HostTrust,
}

impl HostedRepository {
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the host, with its port if that is not the usual one.
    pub fn host(&self) -> &str {
        self.site.origin.host()
    }

    pub fn project(&self) -> &str {
        &self.project
    }

    /// Says whether two repositories are at the same host, so that one can have pull requests from the other.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.kind == other.kind && self.site == other.site
    }

    /// Returns it as a sentence names it.
    pub(crate) fn sentence(&self) -> String {
        format!("{} at {}", self.project, self.host())
    }
}
