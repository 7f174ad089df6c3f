//! What Forge has to know of a tracker to read its issues.
//!
//! The trackers themselves are a file each, listed in [`crate::registry`].
//!
//! Invariant: the words of a tracker (paths, fields, variables) are in its file and nowhere else.

use serde_json::Value;

use crate::{
    address::{Address, IssueName, Site},
    client::Client,
    error::{HostError, HostTrust, TokenHelp},
    issue::Issue,
    kind::Kind,
};

/// A tracker of issues.
pub(crate) trait Tracker: Sync {
    fn kind(&self) -> Kind;

    /// Says whether a host is one of the tracker's own, by its whole name.
    fn has_host(&self, host: &str) -> bool;

    /// Returns how the names of its other hosts usually begin, without the dot.
    fn host_prefix(&self) -> Option<&'static str> {
        None
    }

    /// Says what the path of an address is, if it is of this tracker.
    fn locate(&self, path: &[&str]) -> Option<Located>;

    /// Says whether a path is so peculiar that it tells the tracker.
    fn has_own_shape(&self, _path: &[&str]) -> bool {
        false
    }

    /// Returns an unauthenticated question that only this tracker answers.
    fn question(&self) -> Option<KindQuestion> {
        None
    }

    /// Returns the address for people.
    fn page(&self, site: &Site, name: &IssueName) -> String;

    /// Returns where its interface begins, without a slash at the end.
    fn api(&self, site: &Site) -> String;

    /// Returns the headers that its interface wants.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/json")]
    }

    /// Returns the variables that may hold a token for a site, the best one first.
    fn variables(&self, site: &Site) -> &'static [&'static str];

    /// Returns the arguments of the program that knows a token for a host, with the program first.
    fn token_program(&self, _host: &str) -> Option<Vec<String>> {
        None
    }

    /// Returns the command with which a person signs in.
    fn login(&self, _host: &str) -> Option<String> {
        None
    }

    /// Says whether issues can be read without a token, and whether git knows one.
    fn access(&self) -> IssueAccess;

    /// Returns the value of the header `Authorization`.
    fn authorization(&self, token: &str, env: &dyn Fn(&str) -> Option<String>) -> String;

    /// Reads an issue as the interface gives it and as people save it. None if it is not of this tracker.
    fn parse(&self, _value: &Value, _points_field: &str) -> Option<Result<Issue, String>> {
        None
    }

    /// Fetches an issue with its comments.
    fn fetch(
        &self,
        client: &Client<'_>,
        address: &Address,
        points_field: &str,
    ) -> Result<Issue, HostError>;

    /// Returns how a person gives this tracker a token.
    fn help(&self, address: &Address) -> TokenHelp {
        self.help_at(&address.site, address.trust)
    }

    /// Returns how a person gives it a token for an installation.
    fn help_at(&self, site: &Site, trust: HostTrust) -> TokenHelp {
        let host = site.origin.host();
        let variable = self.variables(site).first().copied();
        let variable = variable.expect("a tracker has a variable for its token");
        let login = self.login(host);
        TokenHelp { kind: self.kind(), host: host.to_owned(), trust, variable, login }
    }
}

/// The thing that the path of an address names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Located {
    /// An issue, in an installation below a path.
    Issue { name: IssueName, prefix: String },
    /// A pull request or merge request.
    PullRequest,
}

/// A question that only one tracker answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindQuestion {
    pub(crate) path: &'static str,
    /// Says whether a status and JSON are this tracker's.
    pub(crate) is_answer: fn(u16, &Value) -> bool,
}

/// How open the issues of a tracker can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IssueAccess {
    /// A host of repositories: public issues are for all, and git may know a token.
    Repositories,
    /// Nothing is read without a token.
    TokenOnly,
}

impl Located {
    /// Returns an issue in an installation at the root of its host.
    pub(crate) fn at_root(name: IssueName) -> Self {
        Self::Issue { name, prefix: String::new() }
    }
}

/// Says that an answer has no issue in it.
pub(crate) fn parsed(
    client: &Client<'_>,
    issue: Option<Result<Issue, String>>,
) -> Result<Issue, HostError> {
    let issue = issue.unwrap_or_else(|| Err("it is not an issue".to_owned()));
    issue.map_err(|why| client.unexpected(&why))
}
