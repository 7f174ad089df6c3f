//! Comments and states of issues of Jira.
//!
//! Nothing can be hidden in a comment, so it is found by its first line. Version 3 wants documents, version 2 texts.

use serde_json::{Value, json};

use crate::{
    address::{IssueName, key_of},
    client::Client,
    discussion::DiscussionApi,
    document::text_of,
    error::HostError,
    http::HttpMethod,
    issue::{list_at, text_at},
    mark::MarkForm,
    thread::{FoundComment, IssueMove, Thread, no_such_state, too_many},
};

/// The most pages of a hundred comments that are read.
const PAGES_MAX: u64 = 100;
/// Comments on a page.
const PAGE: u64 = 100;

/// Comments and transitions by REST.
pub(crate) struct JiraDelivery;

impl DiscussionApi for JiraDelivery {
    fn mark_form(&self) -> MarkForm {
        MarkForm::FirstLine
    }

    fn find(
        &self,
        client: &Client<'_>,
        thread: &Thread<'_>,
        is_meant: &dyn Fn(&str) -> bool,
    ) -> Result<Option<FoundComment>, HostError> {
        let mut start = 0;
        for _ in 0..PAGES_MAX {
            let path = format!("{}?startAt={start}&maxResults={PAGE}", comments_path(thread));
            let answer = client.get(&path)?.json;
            let page = list_at(&answer, "comments");
            let found =
                page.iter().filter_map(found_comment).find(|comment| is_meant(&comment.text));
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
        thread: &Thread<'_>,
        text: &str,
    ) -> Result<FoundComment, HostError> {
        let body = json!({"body": body(client, text)});
        let value =
            client.change(HttpMethod::Post, &comments_path(thread), &body)?.or_invalid(client)?;
        found_comment(&value).ok_or_else(|| client.unexpected("it is not a comment"))
    }

    fn edit(
        &self,
        client: &Client<'_>,
        thread: &Thread<'_>,
        comment: &FoundComment,
        text: &str,
    ) -> Result<(), HostError> {
        let path = format!("{}/{}", comments_path(thread), comment.id);
        let body = json!({"body": body(client, text)});
        client.change(HttpMethod::Put, &path, &body)?.or_invalid(client)?;
        Ok(())
    }

    fn change_state(
        &self,
        client: &Client<'_>,
        name: &IssueName,
        to: &IssueMove,
    ) -> Result<(), HostError> {
        let path = format!("/issue/{}", key_of(name));
        let now = client.get(&format!("{path}?fields=status"))?.json;
        let now = now.pointer("/fields/status/name").and_then(Value::as_str).unwrap_or_default();
        let answer = client.get(&format!("{path}/transitions"))?.json;
        let all = list_at(&answer, "transitions");
        let target =
            |one: &Value| one.get("to").and_then(|to| text_at(to, "name")).map(str::to_owned);
        let known = || all.iter().filter_map(target).collect::<Vec<_>>();
        let state = match to {
            IssueMove::Close => return Err(no_such_state(&client.subject, "closed", &known())),
            IssueMove::To(state) => state,
        };
        if now.eq_ignore_ascii_case(state) {
            return Ok(());
        }
        // People know a transition by its own name, or by the state that it leads to.
        let is_meant = |one: &&Value| {
            let names = [text_at(one, "name").map(str::to_owned), target(one)];
            names.into_iter().flatten().any(|name| name.eq_ignore_ascii_case(state))
        };
        let Some(meant) = all.iter().find(is_meant) else {
            return Err(no_such_state(&client.subject, state, &known()));
        };
        let body = json!({"transition": {"id": meant.get("id")}});
        let path = format!("{path}/transitions");
        client.change(HttpMethod::Post, &path, &body)?.or_invalid(client)?;
        Ok(())
    }
}

fn comments_path(thread: &Thread<'_>) -> String {
    match thread {
        Thread::Issue(name) => format!("/issue/{}/comment", key_of(name)),
        Thread::PullRequest { .. } => unreachable!("Jira has no pull requests"),
    }
}

fn found_comment(value: &Value) -> Option<FoundComment> {
    let id = text_at(value, "id")?.to_owned();
    let text = text_of(value.get("body")).unwrap_or_default();
    Some(FoundComment { id, text, address: None })
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
