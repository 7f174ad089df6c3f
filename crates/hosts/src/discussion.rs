//! What Forge has to know of a host to write at an issue or a pull request, and to change the state of an issue.
//!
//! The hosts themselves are a file each; that a comment is there once is in [`crate::comment`].

use crate::{
    address::IssueName,
    client::Client,
    error::HostError,
    mark::MarkForm,
    thread::{FoundComment, IssueMove, Thread},
};

/// Comments at a host, and the states of its issues.
pub(crate) trait DiscussionApi: Sync {
    fn mark_form(&self) -> MarkForm;

    /// Returns the first comment that is meant, of all of them.
    fn find(
        &self,
        client: &Client<'_>,
        thread: &Thread<'_>,
        is_meant: &dyn Fn(&str) -> bool,
    ) -> Result<Option<FoundComment>, HostError>;

    fn post(
        &self,
        client: &Client<'_>,
        thread: &Thread<'_>,
        text: &str,
    ) -> Result<FoundComment, HostError>;

    fn edit(
        &self,
        client: &Client<'_>,
        thread: &Thread<'_>,
        comment: &FoundComment,
        text: &str,
    ) -> Result<(), HostError>;

    /// Changes the state of an issue. Done twice, it is the same.
    fn change_state(
        &self,
        client: &Client<'_>,
        name: &IssueName,
        to: &IssueMove,
    ) -> Result<(), HostError>;
}
