//! A comment that is at an issue once: written, updated, deleted.
//!
//! Which words a host has for it is in its file.
//!
//! Invariant: a comment with the same mark is updated, and never written a second time.
//! Invariant: where the host says who wrote a comment and whose the token is, another's comment with the mark is not ours.

use crate::{
    address::IssueName,
    client::Client,
    discussion::{DiscussionApi, FoundComment},
    error::HostError,
    mark::TextMark,
    once::{Once, once},
    text_limit::shortened,
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
    let text = shortened(text, discussion.text_max());
    let text = mark.before(&text, discussion.mark_form());
    let own = discussion.own_user(client)?;
    let look = || find_by(discussion, client, issue, mark, own.as_deref());
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

/// Returns the comment with this mark, if it is there.
pub(crate) fn find_comment(
    discussion: &dyn DiscussionApi,
    client: &Client<'_>,
    issue: &IssueName,
    mark: &TextMark,
) -> Result<Option<FoundComment>, HostError> {
    let own = discussion.own_user(client)?;
    find_by(discussion, client, issue, mark, own.as_deref())
}

/// Returns the comment with this mark that a user wrote; of any user, if it is not known whose the token is.
fn find_by(
    discussion: &dyn DiscussionApi,
    client: &Client<'_>,
    issue: &IssueName,
    mark: &TextMark,
    own: Option<&str>,
) -> Result<Option<FoundComment>, HostError> {
    let form = discussion.mark_form();
    let is_own = |author: Option<&str>| own.zip(author).is_none_or(|(own, author)| own == author);
    discussion.find(client, issue, &|comment| {
        mark.is_of(&comment.text, form) && is_own(comment.author.as_deref())
    })
}
