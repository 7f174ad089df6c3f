//! Hosts and trackers: issues of GitHub, GitLab, Gitea, Jira and Linear, and pull requests of the first three.
//!
//! Start with [`Address::parse`], which says whether words are an issue, then [`fetch`]. Pull requests begin with
//! [`HostedRepository::parse`] and [`PullRequests::offer`], comments with [`comment_at_issue`]. To see what a host is like,
//! read `tracker`, `pull_request_api` and `discussion`, then the files of one, as `github`; `registry` lists them. [`Http`]
//! is the one client.
//!
//! Not here: when something is done, and who agreed to it. No process is started, and no variable is read but through what
//! the caller gives.
//!
//! Invariant: nothing is made twice at a host: it is looked for first, and again where an answer was lost (`once`).
//! Invariant: a token goes only to the host that it was found for, and is in no text that this crate makes.
//! Invariant: every answer, wait, redirect and number of pages has a limit.

mod address;
mod client;
mod comment;
mod discussion;
mod document;
mod error;
mod gitea;
mod github;
mod gitlab;
mod host_token;
mod host_tokens;
mod http;
mod issue;
mod issue_changes;
mod jira;
mod kind;
mod known;
mod limits;
mod linear;
mod mark;
mod numbered;
mod numbered_discussion;
mod once;
mod origin;
mod parse;
mod pull_request;
mod pull_request_api;
mod pull_requests;
mod registry;
mod repository;
mod text_limit;
mod token_sources;
mod tracker;

pub use address::Address;
pub use comment::{CommentChange, PostedComment};
pub use error::{
    HostError, HostTrust, MergeObstacle, NotJsonForm, PullRequestEnd, TokenHelp, TokenUse,
};
pub use host_tokens::HostTokens;
pub use http::{ANSWER_BYTES_MAX, Http, HttpSettings};
pub use issue::{COMMENTS_BYTES_MAX, COMMENTS_MAX, Comment, ISSUE_BODY_BYTES_MAX, Issue};
pub use issue_changes::{check_comment_token, comment_at_issue, delete_comment, has_comment};
pub use kind::{KeyTracker, Kind};
pub use known::Known;
pub use mark::TextMark;
pub use pull_request::{
    Ends, HostedPullRequest, MergeMethod, Mergeability, PullRequestForm, PullRequestState,
    PullRequestText,
};
pub use pull_requests::{OfferChange, OfferedPullRequest, PullRequestTags, PullRequests};
pub use repository::HostedRepository;
pub use token_sources::TokenCommand;

use client::Client;
use host_token::{HostToken, TokenGiver};
use tracker::IssueAccess;

/// Fetches an issue with what people said about it. The name of Jira's field with story points is a setting.
pub fn fetch(
    address: &Address,
    tokens: &HostTokens,
    http: &Http,
    points_field: &str,
) -> Result<Issue, HostError> {
    let tracker = registry::tracker(address.kind);
    let api = tracker.api(&address.site);
    let ask = |token: Option<&HostToken>| {
        let client = Client {
            http,
            api: api.clone(),
            token,
            headers: tracker.headers(),
            subject: address.sentence(),
            help: Box::new(tracker.help(address)),
        };
        tracker.fetch(&client, address, points_field)
    };
    let token = tokens.token_for(&api);
    if token.is_none() && tracker.access() == IssueAccess::TokenOnly {
        return Err(HostError::NoToken { help: Box::new(tracker.help(address)) });
    }
    let is_git = token.is_some_and(|token| token.source() == TokenGiver::Git);
    let issue = match ask(token) {
        // A password for pushing must not hide what is public.
        Err(refused @ HostError::Refused { .. }) if is_git => ask(None).map_err(|_| refused)?,
        answer => answer?,
    };
    if issue.body.len() > ISSUE_BODY_BYTES_MAX {
        let text = format!("the text of {}", address.sentence());
        let bytes_max = u64::try_from(ISSUE_BODY_BYTES_MAX).unwrap_or(u64::MAX);
        return Err(HostError::TooLarge { text, bytes_max });
    }
    Ok(issue)
}
