//! The address of one issue: whose it is, where, and its name there.
//!
//! How words become an address is in [`crate::parse`].
//!
//! Invariant: names in an address are of letters, digits, `.`, `-` and `_`, so they can stand in a path as they are.

use std::fmt;

use crate::{error::HostTrust, kind::Kind, origin::WebOrigin};

/// The most digits of the number of an issue.
const NUMBER_DIGITS_MAX: usize = 10;

/// Where an issue is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub(crate) kind: Kind,
    pub(crate) site: Site,
    pub(crate) name: IssueName,
    pub(crate) trust: HostTrust,
    pub(crate) page: String,
}

/// An installation of a tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) origin: WebOrigin,
    /// The path that it is installed below: empty, or with a slash at the beginning and none at the end.
    pub(crate) prefix: String,
}

/// The name of an issue at its tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IssueName {
    /// An issue of a project, which may be in groups: `owner/repository`, `group/sub/project`.
    Number { project: String, number: u64 },
    /// A key as `PROJ-123`.
    Key(String),
}

impl Address {
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the host, with its port if that is not the usual one.
    pub fn host(&self) -> &str {
        self.site.origin.host()
    }

    /// Returns the short name, as `#12` or `PROJ-123`.
    pub fn key(&self) -> String {
        match &self.name {
            IssueName::Number { number, .. } => format!("#{number}"),
            IssueName::Key(key) => key.clone(),
        }
    }

    /// Returns the address for people.
    pub fn page(&self) -> &str {
        &self.page
    }

    /// Returns the issue as a sentence names it.
    pub(crate) fn sentence(&self) -> String {
        match &self.name {
            IssueName::Number { project, number } => {
                format!("issue #{number} of {project} at {}", self.host())
            }
            IssueName::Key(key) => format!("issue {key} at {}", self.host()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.page)
    }
}

impl Site {
    /// Returns the address of its root, without a slash at the end.
    pub(crate) fn base(&self) -> String {
        format!("{}{}", self.origin.base(), self.prefix)
    }
}

impl IssueName {
    /// Reads the number of an issue of a project.
    pub(crate) fn of_number(project: &[&str], number: &str) -> Option<Self> {
        let is_number = !number.starts_with('0')
            && (1..=NUMBER_DIGITS_MAX).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit());
        let is_project = project.len() >= 2 && project.iter().all(|name| is_path_name(name));
        let number = number.parse().ok().filter(|_| is_number && is_project)?;
        Some(Self::Number { project: project.join("/"), number })
    }

    /// Reads a key: a project of 2 to 10 capital letters and digits beginning with a letter, a dash, and a number.
    pub(crate) fn of_key(key: &str) -> Option<Self> {
        let (project, number) = key.split_once('-')?;
        let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let is_project = (2..=10).contains(&project.len())
            && project.bytes().all(is_capital)
            && project.starts_with(|first: char| first.is_ascii_uppercase());
        let is_number = !number.starts_with('0')
            && (1..=NUMBER_DIGITS_MAX).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit());
        (is_project && is_number).then(|| Self::Key(key.to_owned()))
    }
}

/// Says whether a part of a path is a plain name.
pub(crate) fn is_path_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '~');
    !name.is_empty() && name.chars().all(is_part) && name != "." && name != ".." && name != "-"
}

/// Returns the project and number of an issue.
pub(crate) fn number_of(name: &IssueName) -> (&str, u64) {
    match name {
        IssueName::Number { project, number } => (project, *number),
        IssueName::Key(_) => unreachable!("a host of repositories numbers its issues"),
    }
}

/// Returns the key of an issue.
pub(crate) fn key_of(name: &IssueName) -> &str {
    match name {
        IssueName::Key(key) => key,
        IssueName::Number { .. } => unreachable!("a tracker of keys gives every issue one"),
    }
}
