//! A comment that is at an issue once.
//!
//! Which words a host has for it is in its file.
//!
//! Invariant: a comment with the same mark is updated, and never written a second time.

use crate::{
    address::IssueName,
    client::Client,
    discussion::DiscussionApi,
    error::HostError,
    mark::TextMark,
    once::{Once, once},
};

/// A comment that is at a host now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedComment {
    pub change: CommentChange,
    /// Its address for people, if the host says it.
    pub address: Option<String>,
}

/// How a comment came to say what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentChange {
    Posted,
    Updated,
    /// It was there already, with these words.
    Same,
}

/// Writes a comment, or updates the one with this mark.
pub(crate) fn comment_once(
    discussion: &dyn DiscussionApi,
    client: &Client<'_>,
    issue: &IssueName,
    mark: &TextMark,
    text: &str,
) -> Result<PostedComment, HostError> {
    let form = discussion.mark_form();
    let text = mark.before(text, form);
    let look = || discussion.find(client, issue, &|text| mark.is_of(text, form));
    let post = || discussion.post(client, issue, &text);
    let (change, comment) = match once(client.http, &look, &post)? {
        Once::Made(comment) => (CommentChange::Posted, comment),
        Once::Found(comment) if comment.text.trim() == text.trim() => {
            (CommentChange::Same, comment)
        }
        Once::Found(comment) => {
            discussion.edit(client, issue, &comment, &text)?;
            (CommentChange::Updated, comment)
        }
    };
    Ok(PostedComment { change, address: comment.address })
}
