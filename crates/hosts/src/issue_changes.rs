//! What is changed at an issue: one comment.
//!
//! Which words a host has for it is in its file.

use crate::{
    address::Address,
    client::Client,
    comment::{PostedComment, comment_once, find_comment},
    error::HostError,
    host_tokens::HostTokens,
    http::Http,
    mark::TextMark,
    registry,
};

/// Fails if there is no token to write at an issue.
pub fn check_comment_token(
    address: &Address,
    tokens: &HostTokens,
    http: &Http,
) -> Result<(), HostError> {
    client_of(address, tokens, http).map(|_| ())
}

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
    comment_once(discussion, &client, &address.name, mark, text)
}

/// Says whether the comment with this mark is at an issue.
pub fn has_comment(
    address: &Address,
    tokens: &HostTokens,
    http: &Http,
    mark: &TextMark,
) -> Result<bool, HostError> {
    let client = client_of(address, tokens, http)?;
    let discussion = registry::discussion(address.kind);
    Ok(find_comment(discussion, &client, &address.name, mark)?.is_some())
}

/// Deletes the comment with this mark from an issue, if it is there.
pub fn delete_comment(
    address: &Address,
    tokens: &HostTokens,
    http: &Http,
    mark: &TextMark,
) -> Result<(), HostError> {
    let client = client_of(address, tokens, http)?;
    let discussion = registry::discussion(address.kind);
    match find_comment(discussion, &client, &address.name, mark)? {
        Some(comment) => discussion.delete(&client, &address.name, &comment),
        None => Ok(()),
    }
}

fn client_of<'a>(
    address: &Address,
    tokens: &'a HostTokens,
    http: &'a Http,
) -> Result<Client<'a>, HostError> {
    let place = (address.kind, &address.site, address.trust);
    registry::client(place, address.sentence(), tokens, http)
}
