//! What can go wrong at a host, as data with its words.
//!
//! Nothing is printed here. Each error has a `what`, which is a sentence without an end mark, and a `next`, which is a
//! command, a variable or a setting that helps.
//!
//! Invariant: no error holds a token; texts of hosts are cleaned of tokens before they come here.

use std::{fmt, time::Duration};

use jiff::Timestamp;

use crate::kind::Kind;

/// A request had a token with it, or could not have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUse {
    Sent,
    /// None was found for this host.
    Missing,
}

/// How an answer is not the JSON that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotJsonForm {
    /// A page for people, often of a sign-in or a proxy.
    Html,
    /// Something else, or JSON that breaks off.
    Broken,
}

/// How a person gives a tracker a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHelp {
    pub kind: Kind,
    pub host: String,
    pub trust: HostTrust,
    /// The variable that would hold it.
    pub variable: &'static str,
    /// The command that signs in, where the tracker has one.
    pub login: Option<String>,
}

/// Why there is no issue, or why a host did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostError {
    /// The host says that there is no such issue or repository, which is also what it says of private ones.
    NotFound { subject: String, help: Box<TokenHelp>, token: TokenUse },
    /// The host does not let this token, or a request without one, see it.
    Refused {
        subject: String,
        status: u16,
        help: Box<TokenHelp>,
        token: TokenUse,
        /// Where the token is allowed for an organization with single sign-on.
        sso: Option<String>,
    },
    /// The host asks to wait for longer than Forge does. In seconds since 1970.
    Limited { host: String, until: i64 },
    /// The host answered with something that is not JSON; with its first words.
    NotJson { host: String, form: NotJsonForm, words: String },
    /// A text is larger than the most that is read of it.
    TooLarge { text: String, bytes_max: u64 },
    /// No answer came in time, as often as it was tried.
    Timeout { host: String, after: Duration },
    /// There is no way to the host: its name, the connection, its certificate, or the proxy.
    Unreachable { host: String, why: String },
    /// The host answered with something that its interface does not have.
    Unexpected { host: String, why: String },
    /// This tracker gives nothing without a token.
    NoToken { help: Box<TokenHelp> },
    /// A bare key could be an issue of either of two trackers.
    Ambiguous { key: String, trackers: [Kind; 2] },
    /// The words name something, but not an issue that can be read.
    NotAnIssue { what: String, next: String },
    /// The token is right, and may not do this.
    Forbidden { subject: String, help: Box<TokenHelp>, words: String },
    /// A repository has another name now, which the host may have said.
    Renamed { subject: String, to: Option<String> },
    /// The host does not take what it was given, and says why.
    Invalid { subject: String, words: String },
    /// The branch of a pull request has nothing that its base lacks.
    NoCommits { head: String, base: String },
    /// There is a pull request for these branches already.
    Exists { subject: String, words: String },
    /// A pull request is closed or merged, so it cannot be changed.
    Over { address: String, end: PullRequestEnd },
    /// A pull request cannot be merged now.
    NotMergeable { address: String, obstacle: MergeObstacle },
    /// What was asked for is not possible at this host, or not in this way.
    NotPossible { what: String, next: String },
    /// The host failed, and may have done what it was asked for.
    Failed { host: String, status: u16, words: String },
}

/// How a pull request is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestEnd {
    Closed,
    Merged,
}

/// Why a pull request cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeObstacle {
    Conflicts,
    Draft,
    /// Its branch must have all of the base first.
    Behind,
    /// Checks or reviews are missing that the host demands.
    Protected {
        words: String,
    },
    /// It conflicts with its base, or the host has not found out or not allowed it: it does not say which.
    NotReady,
    /// It has another commit than the one that should be merged.
    OtherCommit,
}

/// Whether tokens from variables may be sent to a host. They name no host themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostTrust {
    /// A well-known host, one of the settings, or the host of the repository's remote.
    Named,
    /// A host that was only ever seen in an address. Only a token that was found for this very host is sent there.
    Guessed,
}

impl HostError {
    /// Says what happened.
    pub fn what(&self) -> String {
        match self {
            Self::NotFound { subject, token: TokenUse::Missing, .. } => {
                format!(
                    "{subject} was not found: it does not exist, or it is private and a token is missing"
                )
            }
            Self::NotFound { subject, token: TokenUse::Sent, .. } => {
                format!("{subject} was not found: it does not exist, or the token may not read it")
            }
            Self::Refused { subject, sso: Some(_), .. } => {
                format!(
                    "{subject} was refused: the organization wants single sign-on for this token"
                )
            }
            Self::Refused { subject, status, token: TokenUse::Sent, .. } => {
                format!(
                    "{subject} was refused with {status}: the token is invalid, expired, or may not read it"
                )
            }
            Self::Refused { subject, status, token: TokenUse::Missing, .. } => {
                format!("{subject} was refused with {status}: it needs a token")
            }
            Self::Limited { host, until } => {
                format!("{host} limits how much is asked of it, until {}", utc(*until))
            }
            Self::NotJson { host, form: NotJsonForm::Html, words } => {
                format!("{host} answered with an HTML page instead of JSON: \"{words}\"")
            }
            Self::NotJson { host, form: NotJsonForm::Broken, words } => {
                format!("the answer of {host} is not JSON: \"{words}\"")
            }
            Self::TooLarge { text, bytes_max } => {
                format!("{text} is larger than {} MiB", bytes_max / 1024 / 1024)
            }
            Self::Timeout { host, after } => {
                format!("{host} did not answer within {}s", after.as_secs_f64())
            }
            Self::Unreachable { host, why } => format!("{host} was not reached: {why}"),
            Self::Unexpected { host, why } => format!("unexpected answer of {host}: {why}"),
            Self::NoToken { help, .. } => {
                format!("{} at {} cannot be read without a token", help.kind.name(), help.host)
            }
            Self::Ambiguous { key, trackers: [one, other] } => {
                format!("`{key}` could be an issue of {} or of {}", one.name(), other.name())
            }
            Self::NotAnIssue { what, .. } | Self::NotPossible { what, .. } => what.clone(),
            Self::Forbidden { subject, words, .. } => {
                format!("the token may not change {subject}: \"{words}\"")
            }
            Self::Renamed { subject, to: Some(to) } => format!("{subject} is now {to}"),
            Self::Renamed { subject, to: None } => format!("{subject} has another name now"),
            Self::Invalid { subject, words } | Self::Exists { subject, words } => {
                format!("{subject} refused it: \"{words}\"")
            }
            Self::NoCommits { head, base } => {
                format!("{head} has no commit that {base} lacks, so there is nothing to open")
            }
            Self::Over { address, end: PullRequestEnd::Closed } => {
                format!("the pull request {address} is closed")
            }
            Self::Over { address, end: PullRequestEnd::Merged } => {
                format!("the pull request {address} is merged")
            }
            Self::NotMergeable { address, obstacle } => {
                format!("{address} cannot be merged: {}", obstacle.sentence())
            }
            Self::Failed { host, status, words } if words.is_empty() => {
                format!("{host} failed with {status}")
            }
            Self::Failed { host, status, words } => {
                format!("{host} failed with {status}: \"{words}\"")
            }
        }
    }

    /// Says whether the host may have done what it was asked for, although it did not say so.
    pub(crate) fn is_unclear(&self) -> bool {
        match self {
            Self::NotJson { .. }
            | Self::TooLarge { .. }
            | Self::Timeout { .. }
            | Self::Unreachable { .. }
            | Self::Unexpected { .. }
            | Self::Exists { .. } => true,
            Self::Failed { status, .. } => *status >= 500,
            Self::NotFound { .. }
            | Self::Refused { .. }
            | Self::Limited { .. }
            | Self::NoToken { .. }
            | Self::Ambiguous { .. }
            | Self::NotAnIssue { .. }
            | Self::Forbidden { .. }
            | Self::Renamed { .. }
            | Self::Invalid { .. }
            | Self::NoCommits { .. }
            | Self::Over { .. }
            | Self::NotMergeable { .. }
            | Self::NotPossible { .. } => false,
        }
    }

    /// Says whether the host understood what it was asked for, and does not do it.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Invalid { .. }
                | Self::Forbidden { .. }
                | Self::NotFound { .. }
                | Self::NotPossible { .. }
        )
    }

    /// Says which command, variable or setting helps.
    pub fn next(&self) -> String {
        match self {
            Self::NotFound { help, token: TokenUse::Missing, .. } => {
                format!("check the address, or {}", help.sentence())
            }
            Self::NotFound { help, token: TokenUse::Sent, .. } => {
                format!("check the address and what the token may read, or {}", help.sentence())
            }
            Self::Refused { sso: Some(address), .. } => {
                format!("open {address} and authorize the token")
            }
            Self::Refused { help, .. } | Self::NoToken { help } => help.sentence(),
            Self::Limited { host, .. } => {
                format!("wait until then; a token usually raises the limit of {host}")
            }
            Self::NotJson { .. } => {
                "check that the address is the one of the tracker itself, and whether a proxy or a \
                 sign-in page is between"
                    .to_owned()
            }
            Self::TooLarge { .. } => {
                "save what matters of it as text, and give that as the request".to_owned()
            }
            Self::Timeout { .. } => "try again, or set HTTPS_PROXY if a proxy is needed".to_owned(),
            Self::Unreachable { .. } => {
                "check the address and the network; HTTPS_PROXY names a proxy, SSL_CERT_FILE the \
                 certificates to trust"
                    .to_owned()
            }
            Self::Unexpected { .. } => {
                "try again; an issue can also be saved as JSON and given with `--issue FILE`"
                    .to_owned()
            }
            Self::Ambiguous { trackers: [one, other], .. } => format!(
                "forge config set hosts.keys {} --user, or {}; or give the address of the issue",
                one.as_str(),
                other.as_str()
            ),
            Self::NotAnIssue { next, .. } | Self::NotPossible { next, .. } => next.clone(),
            Self::Forbidden { help, .. } => {
                format!("let the token write pull requests and issues, or {}", help.sentence())
            }
            Self::Renamed { to: Some(to), .. } => {
                format!("git remote set-url NAME with an address that ends with {to}.git")
            }
            Self::Renamed { to: None, .. } => "git remote set-url NAME NEW-ADDRESS".to_owned(),
            Self::Invalid { .. } => "change what it names, then try again".to_owned(),
            Self::Exists { .. } => "close the other pull request, then try again".to_owned(),
            Self::NoCommits { head, base } => format!("git log {base}..{head}"),
            Self::Over { address, end: PullRequestEnd::Closed } => {
                format!("open it again at {address}, or close the run's branch with it")
            }
            Self::Over { end: PullRequestEnd::Merged, .. } => "git fetch".to_owned(),
            Self::NotMergeable { address, obstacle } => obstacle.next(address),
            Self::Failed { .. } => {
                "try again: what is there already is found, and not made twice".to_owned()
            }
        }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())
    }
}

impl std::error::Error for HostError {}

impl MergeObstacle {
    /// Says what is in the way.
    pub fn sentence(&self) -> String {
        match self {
            Self::Conflicts => "it conflicts with its base".to_owned(),
            Self::Draft => "it is a draft".to_owned(),
            Self::Behind => "its branch is behind its base".to_owned(),
            Self::Protected { words } if words.is_empty() => {
                "checks or reviews that the host demands are missing".to_owned()
            }
            Self::Protected { words } => format!("\"{words}\""),
            Self::NotReady => "it conflicts with its base, or is not ready yet".to_owned(),
            Self::OtherCommit => "it has another commit than the result of the run".to_owned(),
        }
    }

    fn next(&self, address: &str) -> String {
        match self {
            Self::Draft => "forge pr --ready".to_owned(),
            Self::OtherCommit => "forge pr, or look at the commits that were added".to_owned(),
            Self::Conflicts | Self::Behind | Self::Protected { .. } | Self::NotReady => {
                format!("open {address}")
            }
        }
    }
}

impl TokenHelp {
    pub fn sentence(&self) -> String {
        let Self { kind, host, variable, .. } = self;
        let set = match self.trust {
            HostTrust::Named => format!("set {variable}"),
            // A variable that is set already would not be sent there.
            HostTrust::Guessed => {
                let setting = if *kind == Kind::Jira {
                    format!("forge config set hosts.jira https://{host} --user")
                } else {
                    format!("forge config set hosts.{} {host} --user", kind.as_str())
                };
                format!("{setting}, and set {variable}")
            }
        };
        match &self.login {
            Some(login) => format!("{set}, or run: {login}"),
            None => set,
        }
    }
}

fn utc(seconds: i64) -> String {
    let time = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
