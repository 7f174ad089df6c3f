//! What Forge has to know of a host to write at an issue.
//!
//! The hosts themselves are a file each; that a comment is there once is in [`crate::comment`].

use crate::{address::IssueName, client::Client, error::HostError, mark::MarkForm};

/// A comment at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundComment {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Its address for people, if the host says it.
    pub(crate) address: Option<String>,
}

/// The comments at the issues of a host.
pub(crate) trait DiscussionApi: Sync {
    fn mark_form(&self) -> MarkForm;

    /// Returns the first comment that is meant, of all of them.
    fn find(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        is_meant: &dyn Fn(&str) -> bool,
    ) -> Result<Option<FoundComment>, HostError>;

    fn post(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        text: &str,
    ) -> Result<FoundComment, HostError>;

    fn edit(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        comment: &FoundComment,
        text: &str,
    ) -> Result<(), HostError>;
}

/// Says that not all comments were read, so that one of them may be the one that was looked for.
pub(crate) fn too_many(subject: &str) -> HostError {
    HostError::NotPossible {
        what: format!("{subject} has more comments than are read"),
        next: "write the comment by hand".to_owned(),
    }
}
