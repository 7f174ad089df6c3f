//! Comments at issues of Linear.
//!
//! Nothing can be hidden in a comment, so it is found by its first line.

use serde_json::{Value, json};

use crate::{
    address::{IssueName, key_of},
    client::Client,
    discussion::{DiscussionApi, FoundComment, too_many},
    error::HostError,
    http::HttpMethod,
    issue::{list_at, text_at},
    linear::graph::{ask, ask_for},
    mark::MarkForm,
};

/// The most pages of a hundred comments that are read.
const PAGES_MAX: u32 = 100;

const COMMENTS: &str = "query Comments($id: String!, $after: String) { issue(id: $id) { \
                        comments(first: 100, after: $after) { nodes { id url body user { id } } pageInfo { \
                        hasNextPage endCursor } } } }";

const ISSUE: &str = "query Issue($id: String!) { issue(id: $id) { id } }";

const POST: &str = "mutation Post($id: String!, $body: String!) { commentCreate(input: {issueId: \
                    $id, body: $body}) { comment { id url body } } }";

const EDIT: &str = "mutation Edit($id: String!, $body: String!) { commentUpdate(id: $id, input: \
                    {body: $body}) { comment { id } } }";

const DELETE: &str = "mutation Delete($id: String!) { commentDelete(id: $id) { success } }";

const VIEWER: &str = "query Viewer { viewer { id } }";

/// Comments by GraphQL.
pub(crate) struct LinearDelivery;

impl DiscussionApi for LinearDelivery {
    fn mark_form(&self) -> MarkForm {
        MarkForm::FirstLine
    }

    fn own_user(&self, client: &Client<'_>) -> Result<Option<String>, HostError> {
        let ask = |client: &Client<'_>| {
            ask_for(client, HttpMethod::Query, VIEWER, &json!({}), "/data/viewer")
        };
        client.own_user(ask, |user| text_at(user, "id").map(str::to_owned))
    }

    fn find(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        is_meant: &dyn Fn(&FoundComment) -> bool,
    ) -> Result<Option<FoundComment>, HostError> {
        let mut after = Value::Null;
        for _ in 0..PAGES_MAX {
            let value = ask(client, COMMENTS, &json!({"id": key_of(issue), "after": after}))?;
            let page = value.get("comments").unwrap_or(&Value::Null);
            let mut all = list_at(page, "nodes").iter().filter_map(found_comment);
            let found = all.find(|comment| is_meant(comment));
            let info = page.get("pageInfo").unwrap_or(&Value::Null);
            after = info.get("endCursor").cloned().unwrap_or(Value::Null);
            let is_last = info.get("hasNextPage") != Some(&Value::Bool(true)) || after.is_null();
            if found.is_some() || is_last {
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
        // The key of an issue may change with its team; its id does not.
        let found = ask(client, ISSUE, &json!({"id": key_of(issue)}))?;
        let variables = json!({"id": text_at(&found, "id"), "body": text});
        let place = "/data/commentCreate/comment";
        let value = ask_for(client, HttpMethod::Post, POST, &variables, place)?;
        found_comment(&value).ok_or_else(|| client.unexpected("it is not a comment"))
    }

    fn edit(
        &self,
        client: &Client<'_>,
        _: &IssueName,
        comment: &FoundComment,
        text: &str,
    ) -> Result<(), HostError> {
        let variables = json!({"id": comment.id, "body": text});
        let place = "/data/commentUpdate/comment";
        ask_for(client, HttpMethod::Query, EDIT, &variables, place).map(|_| ())
    }

    fn delete(
        &self,
        client: &Client<'_>,
        _: &IssueName,
        comment: &FoundComment,
    ) -> Result<(), HostError> {
        let variables = json!({"id": comment.id});
        match ask_for(client, HttpMethod::Query, DELETE, &variables, "/data/commentDelete") {
            Ok(_) | Err(HostError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn found_comment(value: &Value) -> Option<FoundComment> {
    Some(FoundComment {
        id: text_at(value, "id")?.to_owned(),
        text: text_at(value, "body").unwrap_or_default().to_owned(),
        author: value.get("user").and_then(|user| text_at(user, "id")).map(str::to_owned),
        address: text_at(value, "url").map(str::to_owned),
    })
}
