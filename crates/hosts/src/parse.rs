//! How the words of a request become the address of an issue, or are none, and how a remote becomes a repository.
//!
//! Which paths a tracker has is in its file. At most one host is asked, and only if nothing else tells its kind.
//!
//! Invariant: a request in words is never taken for an issue: an address is all of the words, or it is none.

use serde_json::Value;

use crate::{
    address::{Address, IssueName, Site},
    error::{HostError, HostTrust},
    http::{Http, HttpCall, HttpMethod},
    kind::{KeyTracker, Kind},
    known::{Known, RemoteProject, is_standard, site_origin},
    origin::WebOrigin,
    registry,
    repository::HostedRepository,
    tracker::{IssueAccess, Located},
};

impl Address {
    /// Reads words. None if they are an ordinary request.
    pub fn parse(words: &str, known: &Known<'_>) -> Option<Result<Self, HostError>> {
        let words = words.trim();
        if words.contains(|c: char| c.is_whitespace() || c.is_control()) {
            None
        } else if let Some(number) = words.strip_prefix('#') {
            parse_number(number, known)
        } else if words.contains("://") {
            parse_url(words, known)
        } else {
            parse_key(words, known)
        }
    }

    fn new(site: Site, kind: Kind, name: IssueName, known: &Known<'_>) -> Self {
        let (host, tracker) = (site.origin.host(), registry::tracker(kind));
        let is_named = tracker.has_host(host) || known.names(host, kind);
        let trust = if is_named { HostTrust::Named } else { HostTrust::Guessed };
        let page = tracker.page(&site, &name);
        Self { kind, site, name, trust, page }
    }
}

impl Known<'_> {
    /// Returns the number of the issue that a page is of, if that is an issue of the repository of a remote.
    pub fn issue_number(&self, remote: &str, page: &str) -> Option<u64> {
        let RemoteProject { origin, project } = RemoteProject::parse(remote)?;
        let is_same = WebOrigin::of_url(page)? == self.web_origin(origin);
        let path: Vec<&str> = page.split('/').skip(3).collect();
        let located = registry::ALL.iter().find_map(|tracker| tracker.locate(&path));
        match located.filter(|_| is_same)? {
            Located::Issue { name: IssueName::Number { project: own, number }, .. } => {
                own.eq_ignore_ascii_case(&project.join("/")).then_some(number)
            }
            Located::Issue { name: IssueName::Key(_), .. } | Located::PullRequest => None,
        }
    }
}

impl HostedRepository {
    /// Reads the address of a remote of the user. None if it is not at a host, but a folder. A host that nothing is known of
    /// is asked what it is, without a token.
    pub fn parse(remote: &str, known: &Known<'_>) -> Option<Result<Self, HostError>> {
        let RemoteProject { origin, project } = RemoteProject::parse(remote)?;
        // The port of ssh says nothing about that of the web pages, which a setting may say.
        let origin = known.web_origin(origin);
        let kind = kind_of(origin.host(), known).map_or_else(|| ask_kind(&origin, known), Ok);
        Some(kind.and_then(|kind| match registry::pull_requests(kind) {
            Some(_) => {
                let site = Site { origin, prefix: String::new() };
                let trust = HostTrust::Named;
                Ok(Self { kind, site, project: project.join("/"), trust })
            }
            None => Err(HostError::NotPossible {
                what: format!("{} at {} has no pull requests", kind.name(), origin.host()),
                next: "forge pr --print".to_owned(),
            }),
        }))
    }
}

/// Reads `#12`, an issue of the repository's own host.
fn parse_number(number: &str, known: &Known<'_>) -> Option<Result<Address, HostError>> {
    // Any project will do to see whether it is a number.
    IssueName::of_number(&["a", "b"], number)?;
    let Some(remote) = known.remote() else {
        return Some(Err(HostError::NotAnIssue {
            what: format!(
                "`#{number}` is an issue of this repository, whose remote is not at a host"
            ),
            next: "give the address of the issue, or run: git remote add origin ADDRESS".to_owned(),
        }));
    };
    let project: Vec<&str> = remote.project.iter().map(String::as_str).collect();
    let name = IssueName::of_number(&project, number)?;
    let found = kind_of(remote.origin.host(), known);
    let kind = found.map_or_else(|| ask_kind(&remote.origin, known), Ok);
    let is_host = |kind: &Kind| registry::tracker(*kind).access() == IssueAccess::Repositories;
    Some(kind.and_then(|kind| match Some(kind).filter(is_host) {
        Some(kind) => {
            let site = Site { origin: remote.origin, prefix: String::new() };
            Ok(Address::new(site, kind, name, known))
        }
        None => Err(HostError::NotAnIssue {
            what: format!("`#{number}` cannot be an issue of {}", kind.name()),
            next: "give its key or its address".to_owned(),
        }),
    }))
}

fn parse_url(url: &str, known: &Known<'_>) -> Option<Result<Address, HostError>> {
    let Some(origin) = WebOrigin::of_url(url) else { return parse_open_url(url, known) };
    let (_, rest) = url.split_once("://")?;
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let path: Vec<&str> = rest.split('/').skip(1).filter(|part| !part.is_empty()).collect();
    let by_shape = || {
        let tracker = registry::ALL.iter().find(|tracker| tracker.has_own_shape(&path));
        tracker.map(|tracker| tracker.kind())
    };
    let (kind, located) = if let Some(kind) = kind_of(origin.host(), known).or_else(by_shape) {
        (Ok(kind), registry::tracker(kind).locate(&path)?)
    } else {
        // What is left is the shape that several trackers have.
        match registry::tracker(Kind::Gitea).locate(&path)? {
            Located::PullRequest => (Ok(Kind::Gitea), Located::PullRequest),
            located @ Located::Issue { .. } => (ask_kind(&origin, known), located),
        }
    };
    Some(match (kind, located) {
        (Ok(kind), Located::Issue { name, prefix }) => {
            Ok(Address::new(Site { origin, prefix }, kind, name, known))
        }
        (Ok(_), Located::PullRequest) => Err(HostError::NotAnIssue {
            what: format!("{}/{} is a pull request, not an issue", origin.base(), path.join("/")),
            next: "give the address of the issue that it is for".to_owned(),
        }),
        (Err(error), _) => Err(error),
    })
}

/// Refuses an issue over http, which would show it, and a token, to the network.
fn parse_open_url(url: &str, known: &Known<'_>) -> Option<Result<Address, HostError>> {
    let secure = format!("https://{}", url.strip_prefix("http://")?);
    let known = Known {
        remote: known.remote.clone(),
        kinds: known.kinds.clone(),
        jira: known.jira.clone(),
        ..Known::default()
    };
    parse_url(&secure, &known)?.ok()?;
    Some(Err(HostError::NotAnIssue {
        what: "issues are read over https only".to_owned(),
        next: "give the address with https://".to_owned(),
    }))
}

/// Reads a key as `PROJ-123`. Words that name standards are no keys.
fn parse_key(key: &str, known: &Known<'_>) -> Option<Result<Address, HostError>> {
    let name = IssueName::of_key(key)?;
    if is_standard(key) {
        return None;
    }
    let has = |tracker| known.has_keys_of(tracker);
    let tracker = match (known.key_tracker, has(KeyTracker::Jira), has(KeyTracker::Linear)) {
        (Some(tracker), _, _) => tracker,
        (None, true, false) => KeyTracker::Jira,
        (None, false, true) => KeyTracker::Linear,
        (None, false, false) => {
            return Some(Err(HostError::NotAnIssue {
                what: format!(
                    "`{key}` looks like an issue of Jira or Linear, but there is a token for neither"
                ),
                next: "set JIRA_TOKEN or LINEAR_API_KEY, or say in a sentence what you want"
                    .to_owned(),
            }));
        }
        (None, true, true) => {
            let trackers = [Kind::Jira, Kind::Linear];
            return Some(Err(HostError::Ambiguous { key: key.to_owned(), trackers }));
        }
    };
    let (site, kind) = match tracker {
        KeyTracker::Linear => (site_of("https://linear.app"), Kind::Linear),
        KeyTracker::Jira => (known.jira.as_deref().and_then(site_of), Kind::Jira),
    };
    let site = site.ok_or_else(|| HostError::NotAnIssue {
        what: format!("`{key}` is an issue of Jira, whose address is not known"),
        next: "forge config set hosts.jira https://… --user, or give the address of the issue"
            .to_owned(),
    });
    Some(site.map(|site| Address::new(site, kind, name, known)))
}

/// Reads the address of an installation: a host, or an address with a path.
fn site_of(setting: &str) -> Option<Site> {
    let origin = site_origin(setting)?;
    let rest = setting.trim().split_once("://").map_or(setting.trim(), |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let path = rest.split('/').skip(1).filter(|part| !part.is_empty());
    Some(Site { origin, prefix: path.flat_map(|part| ["/", part]).collect() })
}

/// Returns the kind of a host, by setting or by its name.
fn kind_of(host: &str, known: &Known<'_>) -> Option<Kind> {
    let by_name = || registry::ALL.iter().find(|tracker| tracker.has_host(host));
    let begins = |prefix: Option<&str>| {
        let rest = prefix.and_then(|prefix| host.strip_prefix(prefix));
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let by_prefix = || registry::ALL.iter().find(|tracker| begins(tracker.host_prefix()));
    let tracker = || by_name().or_else(by_prefix).map(|tracker| tracker.kind());
    known.kind_by_setting(host).or_else(tracker)
}

/// Asks a host what it is, without a token.
fn ask_kind(origin: &WebOrigin, known: &Known<'_>) -> Result<Kind, HostError> {
    let host = origin.host();
    let found = known.http.map_or(Ok(None), |http| ask_all(http, origin))?;
    found.ok_or_else(|| HostError::NotAnIssue {
        what: format!("the kind of tracker at {host} is not known"),
        next: format!(
            "forge config set hosts.gitea {host} --user, or hosts.github, or hosts.gitlab"
        ),
    })
}

fn ask_all(http: &Http, origin: &WebOrigin) -> Result<Option<Kind>, HostError> {
    for tracker in registry::ALL {
        let Some(question) = tracker.question() else { continue };
        let url = format!("{}{}", origin.base(), question.path);
        let headers = &[("accept", "application/json")];
        let method = HttpMethod::Get;
        let answer = http.ask(&HttpCall { method, url: &url, headers, token: None, body: None })?;
        let json: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        if (question.is_answer)(answer.status, &json) {
            return Ok(Some(tracker.kind()));
        }
    }
    Ok(None)
}
