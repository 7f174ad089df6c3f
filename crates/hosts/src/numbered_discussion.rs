//! Comments at issues with numbers: of GitHub, GitLab and Gitea, which differ in paths, a verb, and how many fit on a page.
//!
//! The other fields that GitHub and Gitea have in common are in [`crate::numbered`].

use serde_json::{Value, json};

use crate::{
    address::{IssueName, number_of},
    client::{Client, HasNext, encoded},
    discussion::{DiscussionApi, FoundComment, id_text, too_many},
    error::HostError,
    http::HttpMethod,
    issue::text_at,
    mark::MarkForm,
};

/// Comments, as many on a page as GitHub gives.
pub(crate) const GITHUB: NumberedDiscussion = of_repository("per_page=100", 100);
/// Comments, as many on a page as Gitea gives.
pub(crate) const GITEA: NumberedDiscussion = of_repository("limit=50", 200);

/// The notes of GitLab. They have no page of their own that its interface names.
pub(crate) const GITLAB: NumberedDiscussion = NumberedDiscussion {
    page: "per_page=100",
    pages_max: 100,
    all: notes_path,
    one: note_path,
    edit: HttpMethod::Put,
    author: "author",
};

/// The comments at issues with numbers.
pub(crate) struct NumberedDiscussion {
    /// The most comments on a page, as the interface asks for them.
    pub(crate) page: &'static str,
    pub(crate) pages_max: u32,
    /// The path of all comments of an issue, and that of one.
    pub(crate) all: fn(&IssueName) -> String,
    pub(crate) one: fn(&IssueName, &FoundComment) -> String,
    /// The verb that changes one.
    pub(crate) edit: HttpMethod,
    /// The field of its author.
    pub(crate) author: &'static str,
}

const fn of_repository(page: &'static str, pages_max: u32) -> NumberedDiscussion {
    let (edit, author) = (HttpMethod::Patch, "user");
    NumberedDiscussion { page, pages_max, all: comments_path, one: comment_path, edit, author }
}

impl NumberedDiscussion {
    /// Reads a comment with `id`, `body`, its author and perhaps `html_url`.
    fn found(&self, value: &Value) -> Option<FoundComment> {
        Some(FoundComment {
            id: id_text(value)?,
            text: text_at(value, "body").unwrap_or_default().to_owned(),
            author: value.get(self.author).and_then(id_text),
            address: text_at(value, "html_url").map(str::to_owned),
        })
    }
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
            let path = format!("{}?{}&page={page}", (self.all)(issue), self.page);
            let answer = client.get(&path)?;
            let all = answer.json.as_array().into_iter().flatten();
            let found = all.filter_map(|value| self.found(value)).find(|comment| is_meant(comment));
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
        let (path, body) = ((self.all)(issue), json!({"body": text}));
        let value = client.change(HttpMethod::Post, &path, &body)?.or_invalid(client)?;
        self.found(&value).ok_or_else(|| client.unexpected("it is not a comment"))
    }

    fn edit(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        comment: &FoundComment,
        text: &str,
    ) -> Result<(), HostError> {
        let path = (self.one)(issue, comment);
        client.change(self.edit, &path, &json!({"body": text}))?.or_invalid(client)?;
        Ok(())
    }

    fn delete(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        comment: &FoundComment,
    ) -> Result<(), HostError> {
        client.delete(&(self.one)(issue, comment))
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

fn notes_path(issue: &IssueName) -> String {
    let (project, number) = number_of(issue);
    format!("/projects/{}/issues/{number}/notes", encoded(project))
}

fn note_path(issue: &IssueName, note: &FoundComment) -> String {
    format!("{}/{}", notes_path(issue), note.id)
}
