//! Comments at issues of Jira.
//!
//! Nothing can be hidden in a comment, so it is found by its first line. Version 3 wants documents, version 2 texts.

use serde_json::{Value, json};

use crate::{
    address::{IssueName, key_of},
    client::Client,
    discussion::{DiscussionApi, FoundComment, too_many},
    document::text_of,
    error::HostError,
    http::HttpMethod,
    issue::{list_at, text_at},
    mark::MarkForm,
    text_limit::JIRA_COMMENT_MAX,
};

/// The most pages of a hundred comments that are read.
const PAGES_MAX: u64 = 100;
/// Comments on a page.
const PAGE: u64 = 100;

/// Comments by REST.
pub(crate) struct JiraDelivery;

impl DiscussionApi for JiraDelivery {
    fn mark_form(&self) -> MarkForm {
        MarkForm::FirstLine
    }

    fn text_max(&self) -> usize {
        JIRA_COMMENT_MAX
    }

    fn own_user(&self, client: &Client<'_>) -> Result<Option<String>, HostError> {
        client.own_user(|client| Ok(client.get("/myself")?.json), user_name)
    }

    fn find(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        is_meant: &dyn Fn(&FoundComment) -> bool,
    ) -> Result<Option<FoundComment>, HostError> {
        let mut start = 0;
        for _ in 0..PAGES_MAX {
            let path = format!("{}?startAt={start}&maxResults={PAGE}", comments_path(issue));
            let answer = client.get(&path)?.json;
            let page = list_at(&answer, "comments");
            let found = page.iter().filter_map(found_comment).find(|comment| is_meant(comment));
            start += u64::try_from(page.len()).unwrap_or(u64::MAX);
            let total = answer.get("total").and_then(Value::as_u64).unwrap_or(0);
            if found.is_some() || page.is_empty() || start >= total {
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
        let body = json!({"body": body(client, text)});
        let value =
            client.change(HttpMethod::Post, &comments_path(issue), &body)?.or_invalid(client)?;
        found_comment(&value).ok_or_else(|| client.unexpected("it is not a comment"))
    }

    fn edit(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        comment: &FoundComment,
        text: &str,
    ) -> Result<(), HostError> {
        let path = format!("{}/{}", comments_path(issue), comment.id);
        let body = json!({"body": body(client, text)});
        client.change(HttpMethod::Put, &path, &body)?.or_invalid(client)?;
        Ok(())
    }

    fn delete(
        &self,
        client: &Client<'_>,
        issue: &IssueName,
        comment: &FoundComment,
    ) -> Result<(), HostError> {
        client.delete(&format!("{}/{}", comments_path(issue), comment.id))
    }
}

fn comments_path(issue: &IssueName) -> String {
    format!("/issue/{}/comment", key_of(issue))
}

fn found_comment(value: &Value) -> Option<FoundComment> {
    let id = text_at(value, "id")?.to_owned();
    let text = text_of(value.get("body")).unwrap_or_default();
    let author = value.get("author").and_then(user_name);
    Some(FoundComment { id, text, author, address: None })
}

/// Returns the name of a user that stays: the account in the cloud, the key of a server.
fn user_name(user: &Value) -> Option<String> {
    text_at(user, "accountId").or_else(|| text_at(user, "key")).map(str::to_owned)
}

/// Returns a text as the version of the interface wants it.
fn body(client: &Client<'_>, text: &str) -> Value {
    if !client.api.ends_with("/3") {
        return text.into();
    }
    let paragraph = |lines: &str| json!({"type": "paragraph", "content": inline(lines)});
    let parts = text.split("\n\n").filter(|part| !part.trim().is_empty());
    let content: Vec<Value> = parts.map(|part| paragraph(part.trim_matches('\n'))).collect();
    json!({"type": "doc", "version": 1, "content": content})
}

/// Returns the lines of a paragraph with breaks between them.
fn inline(lines: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for line in lines.lines().filter(|line| !line.is_empty()) {
        if !all.is_empty() {
            all.push(json!({"type": "hardBreak"}));
        }
        all.push(json!({"type": "text", "text": line}));
    }
    all
}
