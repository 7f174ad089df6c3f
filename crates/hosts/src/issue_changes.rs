//! What is changed at an issue: one comment.
//!
//! Which words a host has for it is in its file.

use crate::{
    address::Address,
    comment::{PostedComment, comment_once},
    error::HostError,
    host_tokens::HostTokens,
    http::Http,
    mark::TextMark,
    registry,
};

/// Writes a comment at an issue, or updates the one with this mark.
pub fn comment_at_issue(
    address: &Address,
    tokens: &HostTokens,
    http: &Http,
    mark: &TextMark,
    text: &str,
) -> Result<PostedComment, HostError> {
    let place = (address.kind, &address.site, address.trust);
    let client = registry::client(place, address.sentence(), tokens, http)?;
    let discussion = registry::discussion(address.kind);
    comment_once(discussion, &client, &address.name, mark, text)
}
