//! What is known beside the words of a request: the settings, the repository's remote, and which tokens there are.
//!
//! The caller fills it in. Nothing is looked up here.

use std::collections::BTreeMap;

use crate::{
    address::is_path_name,
    http::Http,
    kind::{KeyTracker, Kind},
    origin::WebOrigin,
};

/// Words that stand before a dash and a number as the keys of projects do, but name standards.
const STANDARDS: &[&str] = &[
    "AES", "AGPL", "ANSI", "BCP", "BIP", "BSD", "COVID", "CRC", "CVE", "CWE", "ECMA", "EIP", "ERC",
    "ES", "FIPS", "GPL", "GPT", "HTTP", "IEC", "IEEE", "ISBN", "ISO", "JSR", "LGPL", "MD", "MPL",
    "PEP", "PKCS", "RFC", "RSA", "SHA", "SHA2", "SHA3", "SSL", "STD", "TLS", "UCS", "USB", "UTF",
    "WCAG",
];

/// Settings, the repository's remote, and which tokens there are.
#[derive(Debug, Default)]
pub struct Known<'a> {
    /// The address of the repository's remote, whose issues `#12` means.
    pub remote: Option<String>,
    /// The kinds of hosts, by setting.
    pub kinds: BTreeMap<String, Kind>,
    /// The address of the Jira that bare keys mean, by setting.
    pub jira: Option<String>,
    /// Whose bare keys are, by setting.
    pub key_tracker: Option<KeyTracker>,
    /// The trackers of keys for which there is a token.
    pub with_token: Vec<KeyTracker>,
    /// The client that asks a host of unknown kind. Without it, nothing is asked.
    pub http: Option<&'a Http>,
}

/// A repository at a host, as its remote names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteProject {
    pub(crate) origin: WebOrigin,
    pub(crate) project: Vec<String>,
}

impl Known<'_> {
    /// Returns the repository of the remote, if that is at a host.
    pub(crate) fn remote(&self) -> Option<RemoteProject> {
        RemoteProject::parse(self.remote.as_deref()?)
    }

    /// Returns the kind of a host by setting.
    pub(crate) fn kind_by_setting(&self, host: &str) -> Option<Kind> {
        let is_meant = |(name, _): &(&String, &Kind)| name.trim().eq_ignore_ascii_case(host);
        self.kinds.iter().find(is_meant).map(|(_, kind)| *kind)
    }

    /// Returns where the web pages of a host are: at the port of a setting, if only that names one.
    pub(crate) fn web_origin(&self, origin: WebOrigin) -> WebOrigin {
        let is_meant = |name: &&String| {
            let bare = name.trim().split_once(':').map(|(bare, _)| bare);
            bare.is_some_and(|bare| bare.eq_ignore_ascii_case(origin.host()))
        };
        let named =
            self.kinds.keys().find(is_meant).and_then(|name| WebOrigin::of_host(name.trim()));
        if self.kind_by_setting(origin.host()).is_some() { origin } else { named.unwrap_or(origin) }
    }

    /// Says whether a person named a host: in a setting, or as the repository's remote.
    pub(crate) fn names(&self, host: &str, kind: Kind) -> bool {
        let is_host = |origin: WebOrigin| origin.host() == host;
        let is_remote = || self.remote().is_some_and(|remote| is_host(remote.origin));
        let jira = || self.jira.as_deref().and_then(site_origin);
        let is_jira = || kind == Kind::Jira && jira().is_some_and(is_host);
        self.kind_by_setting(host) == Some(kind) || is_remote() || is_jira()
    }

    /// Says whether a bare key could be of a tracker.
    pub(crate) fn has_keys_of(&self, tracker: KeyTracker) -> bool {
        let is_set = tracker == KeyTracker::Jira && self.jira.is_some();
        is_set || self.with_token.contains(&tracker)
    }
}

impl RemoteProject {
    /// Reads the address of a remote: a web address, one of ssh or git, or `git@host:path`.
    pub(crate) fn parse(address: &str) -> Option<Self> {
        let address = address.trim();
        let (origin, path) = match address.split_once("://") {
            Some(("https" | "http", rest)) => {
                (WebOrigin::of_url(address).or_else(|| host_only(rest)), rest.split_once('/')?.1)
            }
            Some(("ssh" | "git" | "git+ssh", rest)) => (host_only(rest), rest.split_once('/')?.1),
            Some(_) => return None,
            // A drive letter or a path has no host before the first colon.
            None => {
                let (host, path) = address.split_once(':')?;
                (host_only(host).filter(|_| host.len() > 1 && !host.contains('/')), path)
            }
        };
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let project: Vec<String> = path.split('/').map(str::to_owned).collect();
        let is_project = project.len() >= 2 && project.iter().all(|name| is_path_name(name));
        origin.filter(|_| is_project).map(|origin| Self { origin, project })
    }
}

/// Says whether a key is the name of a standard.
pub(crate) fn is_standard(key: &str) -> bool {
    key.split_once('-').is_some_and(|(name, _)| STANDARDS.contains(&name))
}

/// Returns the origin of a setting: an address, or a host.
pub(crate) fn site_origin(setting: &str) -> Option<WebOrigin> {
    let setting = setting.trim();
    if setting.contains("://") {
        WebOrigin::of_url(setting)
    } else {
        WebOrigin::of_host(setting.split('/').next()?)
    }
}

/// Returns the origin over https of what stands before the path, without its user and the port of another protocol.
fn host_only(rest: &str) -> Option<WebOrigin> {
    let authority = rest.split('/').next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    // The name under which GitHub takes ssh where its port is closed.
    WebOrigin::of_host(if host == "ssh.github.com" { "github.com" } else { host })
}
