//! Comments at issues of GitHub and Gitea, which differ in how many fit on a page.
//!
//! The other fields that both have are in [`crate::numbered`].

use serde_json::{Value, json};

use crate::{
    address::{IssueName, number_of},
    client::{Client, HasNext},
    discussion::{DiscussionApi, FoundComment, id_text, too_many},
    error::HostError,
    http::HttpMethod,
    issue::text_at,
    mark::MarkForm,
};

/// Comments, as many on a page as GitHub gives.
pub(crate) const GITHUB: NumberedDiscussion =
    NumberedDiscussion { page: "per_page=100", pages_max: 100 };
/// Comments, as many on a page as Gitea gives.
pub(crate) const GITEA: NumberedDiscussion =
    NumberedDiscussion { page: "limit=50", pages_max: 200 };

/// The comments at issues of GitHub or Gitea.
pub(crate) struct NumberedDiscussion {
    /// The most comments on a page, as the interface asks for them.
    pub(crate) page: &'static str,
    pub(crate) pages_max: u32,
}

impl DiscussionApi for NumberedDiscussion {
    fn mark_form(&self) -> MarkForm {
        MarkForm::Hidden
    }

    fn own_user(&self, client: &Client<'_>) -> Result<Option<String>, HostError> {
        client.own_user(|client| Ok(client.get("/user")?.json), id_text)
    }

    fn find(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        is_meant: &dyn Fn(&FoundComment) -> bool,
    ) -> Result<Option<FoundComment>, HostError> {
        for page in 1..=self.pages_max {
            let path = format!("{}?{}&page={page}", comments_path(issue), self.page);
            let answer = client.get(&path)?;
            let mut all = answer.json.as_array().into_iter().flatten().filter_map(found_comment);
            let found = all.find(|comment| is_meant(comment));
            if found.is_some() || answer.has_next == HasNext::No {
                return Ok(found);
            }
        }
        Err(too_many(&client.subject))
    }

    fn post(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        text: &str,
    ) -> Result<FoundComment, HostError> {
        let (path, body) = (comments_path(issue), json!({"body": text}));
        let value = client.change(HttpMethod::Post, &path, &body)?.or_invalid(client)?;
        found_comment(&value).ok_or_else(|| client.unexpected("it is not a comment"))
    }

    fn edit(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        comment: &FoundComment,
        text: &str,
    ) -> Result<(), HostError> {
        let path = comment_path(issue, comment);
        client.change(HttpMethod::Patch, &path, &json!({"body": text}))?.or_invalid(client)?;
        Ok(())
    }

    fn delete(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        comment: &FoundComment,
    ) -> Result<(), HostError> {
        client.delete(&comment_path(issue, comment))
    }
}

/// Returns where the comments of an issue are.
fn comments_path(issue: &IssueName) -> String {
    let (project, number) = number_of(issue);
    format!("/repos/{project}/issues/{number}/comments")
}

fn comment_path(issue: &IssueName, comment: &FoundComment) -> String {
    format!("/repos/{}/issues/comments/{}", number_of(issue).0, comment.id)
}

/// Reads a comment with `id`, `body`, `user` and `html_url`.
fn found_comment(value: &Value) -> Option<FoundComment> {
    Some(FoundComment {
        id: id_text(value)?,
        text: text_at(value, "body").unwrap_or_default().to_owned(),
        author: value.get("user").and_then(id_text),
        address: text_at(value, "html_url").map(str::to_owned),
    })
}
