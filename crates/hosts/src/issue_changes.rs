//! What is changed at an issue: one comment, and its state.
//!
//! Which words a host has for it is in its file.

use crate::{
    address::Address,
    client::Client,
    comment::{PostedComment, comment_once},
    error::HostError,
    host_tokens::HostTokens,
    http::Http,
    mark::TextMark,
    registry,
    thread::{IssueMove, Thread},
};

/// Writes a comment at an issue, or updates the one with this mark.
pub fn comment_at_issue(
    address: &Address,
    tokens: &HostTokens,
    http: &Http,
    mark: &TextMark,
    text: &str,
) -> Result<PostedComment, HostError> {
    let client = client_of(address, tokens, http)?;
    let discussion = registry::discussion(address.kind);
    comment_once(discussion, &client, &Thread::Issue(&address.name), mark, text)
}

/// Changes the state of an issue.
pub fn move_issue(
    address: &Address,
    tokens: &HostTokens,
    http: &Http,
    to: &IssueMove,
) -> Result<(), HostError> {
    let client = client_of(address, tokens, http)?;
    registry::discussion(address.kind).change_state(&client, &address.name, to)
}

fn client_of<'a>(
    address: &Address,
    tokens: &'a HostTokens,
    http: &'a Http,
) -> Result<Client<'a>, HostError> {
    let place = (address.kind, &address.site, address.trust);
    registry::client(place, address.sentence(), tokens, http)
}
