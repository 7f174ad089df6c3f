//! The issue that says a request: saved as JSON, or fetched from its tracker by its address or key.
//!
//! How addresses and answers are read is in `forge_hosts`. What an issue says is the request, word for word, with its
//! title as a heading, and what people said about it below.
//!
//! Invariant: what is no issue is refused in words, and nothing is guessed. No secret in its text is written down.

use std::path::Path;

use forge_driver::{Error, secrets::redacted_text};
use forge_hosts::{Address, HostTokens, Kind};
use forge_project::{bounded_read::read_text, settings::Settings};
use forge_workspace::Repository;

use super::prompts::Asks;
use crate::host_access::{host_error, known_hosts, open_http, token_of, variable};

/// The most bytes of a saved issue.
const ISSUE_BYTES_MAX: u64 = 1024 * 1024;

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
        let http = match open_http() {
            Ok(http) => http,
            Err(error) => return Some(Err(error)),
        };
        let remote = repository.branch().and_then(|branch| repository.remote_address(&branch));
        let known = known_hosts(&settings.hosts, remote, Some(&http));
        let address = match Address::parse(words, &known)? {
            Ok(address) => address,
            Err(error) => return Some(Err(host_error(&error))),
        };
        asks.wait(&format!("reading {address} ..."));
        let tokens = HostTokens::find(&address, &variable, &token_of);
        let points = &settings.effort.story_points;
        let issue = forge_hosts::fetch(&address, &tokens, &http, points);
        // What a host says of its own address does not count: a comment goes there.
        let source = address.page().to_owned();
        let issue = issue.map(|issue| Self { source, ..Self::new(&issue) });
        Some(issue.map_err(|error| host_error(&error)))
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
