//! What Forge has to know of a host to write at an issue.
//!
//! The hosts themselves are a file each; that a comment is there once is in [`crate::comment`].

use serde_json::Value;

use crate::{
    address::IssueName, client::Client, error::HostError, mark::MarkForm, text_limit::BODY_MAX,
};

/// A comment at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundComment {
    pub(crate) id: String,
    pub(crate) text: String,
    /// The user who wrote it, by the name that [`DiscussionApi::own_user`] returns.
    pub(crate) author: Option<String>,
    /// Its address for people, if the host says it.
    pub(crate) address: Option<String>,
}

/// The comments at the issues of a host.
pub(crate) trait DiscussionApi: Sync {
    fn mark_form(&self) -> MarkForm;

    /// Returns how long a comment may be.
    fn text_max(&self) -> usize {
        BODY_MAX
    }

    /// Returns the user whose token it is, if the host tells it.
    fn own_user(&self, client: &Client<'_>) -> Result<Option<String>, HostError>;

    /// Returns the first comment that is meant, of all of them.
    fn find(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        is_meant: &dyn Fn(&FoundComment) -> bool,
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

    /// Deletes a comment. One that is gone is no error.
    fn delete(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        comment: &FoundComment,
    ) -> Result<(), HostError>;
}

/// Returns the number that a comment or a user has as its `id`.
pub(crate) fn id_text(value: &Value) -> Option<String> {
    value.get("id").and_then(Value::as_u64).map(|id| id.to_string())
}

/// Says that not all comments were read, so that one of them may be the one that was looked for.
pub(crate) fn too_many(subject: &str) -> HostError {
    HostError::NotPossible {
        what: format!("{subject} has more comments than are read"),
        next: "write the comment by hand".to_owned(),
    }
}
