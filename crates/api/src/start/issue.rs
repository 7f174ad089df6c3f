//! The issue that says a request: saved as JSON, or fetched from its tracker by its address or key.
//!
//! How addresses and answers are read is in `forge_hosts`. What an issue says is the request, word for word, with its
//! title as a heading, and what people said about it below.
//!
//! Invariant: what is no issue is refused in words, and nothing is guessed. No secret in its text is written down.

use std::{
    collections::BTreeMap,
    env,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use forge_driver::{Error, clock::now, secrets::redacted_text};
use forge_hosts::{
    Address, HostError, HostTokens, Http, HttpSettings, KeyTracker, Kind, Known, TokenCommand,
};
use forge_project::{
    bounded_read::read_text,
    settings::{HostSettings, KeyOwner, Settings},
};
use forge_workspace::Repository;

use super::prompts::Asks;
use crate::short_program::answer_within;

/// The most bytes of a saved issue.
const ISSUE_BYTES_MAX: u64 = 1024 * 1024;

/// How long a program may take that knows a token.
const TOKEN_WAIT: Duration = Duration::from_secs(5);

/// An issue, as a run takes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestIssue {
    /// Title, text and comments.
    pub(super) text: String,
    /// Its address, or its name.
    pub(super) source: String,
    /// Whose issue it is.
    pub(super) tracker: Kind,
    /// Its story points, if they say anything.
    pub(super) points: Option<f64>,
    /// How many older comments it goes without.
    pub(super) note: Option<String>,
}

impl RequestIssue {
    /// Reads the file of an issue. The name of the field with story points is a setting.
    pub(super) fn read(path: &Path, points: &str) -> Result<Self, Error> {
        let next = "gh api repos/OWNER/REPO/issues/7 > issue.json && forge run --issue issue.json";
        let text = read_text(path, ISSUE_BYTES_MAX)?.ok_or_else(|| {
            let what = format!("cannot read the issue: {} does not exist", path.display());
            Error::usage(what, next)
        })?;
        let issue = forge_hosts::Issue::parse_text(&text, points);
        let wrong = |what: String| Error::usage(format!("{}: {what}", path.display()), next);
        Ok(Self::new(&issue.map_err(wrong)?))
    }

    /// Fetches the issue that words are the address or key of. None if they are a request.
    pub(super) fn fetch(
        words: &str,
        settings: &Settings,
        repository: &Repository,
        asks: &mut dyn Asks,
    ) -> Option<Result<Self, Error>> {
        // Whoever writes a sentence waits for nothing.
        if words.trim().contains(char::is_whitespace) {
            return None;
        }
        let env = |name: &str| env::var(name).ok();
        let seconds = || i64::try_from(now() / 1_000).unwrap_or(i64::MAX);
        let http = match Http::new(&HttpSettings::from_env(&env), thread::sleep, seconds) {
            Ok(http) => http,
            Err(error) => return Some(Err(about(&error))),
        };
        let hosts = &settings.hosts;
        let remote = repository.branch().and_then(|branch| repository.remote_address(&branch));
        let known = Known {
            remote,
            kinds: kinds(hosts),
            jira: hosts.jira.clone().map(String::from),
            key_tracker: hosts.keys.map(|owner| match owner {
                KeyOwner::Jira => KeyTracker::Jira,
                KeyOwner::Linear => KeyTracker::Linear,
            }),
            with_token: HostTokens::key_trackers(&env),
            http: Some(&http),
        };
        let address = match Address::parse(words, &known)? {
            Ok(address) => address,
            Err(error) => return Some(Err(about(&error))),
        };
        asks.wait(&format!("reading {address} ..."));
        let tokens = HostTokens::find(&address, &env, &token_of);
        let points = &settings.effort.story_points;
        let issue = forge_hosts::fetch(&address, &tokens, &http, points);
        Some(issue.map(|issue| Self::new(&issue)).map_err(|error| about(&error)))
    }

    fn new(issue: &forge_hosts::Issue) -> Self {
        let note = match issue.n_comments_left_out {
            0 => None,
            1 => Some("1 older comment of the issue was left out".to_owned()),
            n => Some(format!("{n} older comments of the issue were left out")),
        };
        Self {
            text: redacted_text(&issue.request_text()),
            source: issue.source.clone(),
            tracker: issue.tracker,
            points: issue.points,
            note,
        }
    }
}

/// Returns the kinds of hosts that a person's settings name.
fn kinds(hosts: &HostSettings) -> BTreeMap<String, Kind> {
    let all =
        [(&hosts.github, Kind::GitHub), (&hosts.gitlab, Kind::GitLab), (&hosts.gitea, Kind::Gitea)];
    let named =
        all.into_iter().flat_map(|(names, kind)| names.iter().map(move |name| (name, kind)));
    named.map(|(name, kind)| ((**name).to_owned(), kind)).collect()
}

/// Returns what a program says that may know a token.
fn token_of(asked: &TokenCommand) -> Option<String> {
    let mut command = Command::new(&asked.program);
    command.args(&asked.args).envs(asked.variables.iter().copied()).stderr(Stdio::null());
    answer_within(command, &asked.stdin, TOKEN_WAIT).ok()
}

fn about(error: &HostError) -> Error {
    Error::surroundings(error.what(), error.next())
}
