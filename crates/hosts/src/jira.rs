//! Jira: Atlassian's own by the REST interface v3, installed ones by v2.
//!
//! Texts are documents in v3 and in v2 texts; both are read, whichever was asked for.

pub(crate) mod delivery;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

use crate::{
    address::{Address, IssueName, Site, is_path_name, key_of},
    client::Client,
    document::text_of,
    error::HostError,
    issue::{Comment, Issue, NewestComments, label_names, list_at, points, text_at, title_at},
    kind::Kind,
    tracker::{IssueAccess, Located, Tracker, parsed},
};

/// Comments on a page.
const PAGE: u64 = 100;
/// The most pages of comments that are read; all but a few may be of apps.
const PAGES_MAX: u64 = 30;

/// Jira.
pub(crate) struct Jira;

impl Tracker for Jira {
    fn kind(&self) -> Kind {
        Kind::Jira
    }

    fn has_host(&self, host: &str) -> bool {
        host.strip_suffix(".atlassian.net").is_some_and(|name| !name.is_empty())
    }

    fn host_prefix(&self) -> Option<&'static str> {
        Some("jira")
    }

    fn locate(&self, path: &[&str]) -> Option<Located> {
        let [prefix @ .., "browse", key] = path else { return None };
        let is_plain = prefix.iter().all(|part| is_path_name(part));
        let prefix: String = prefix.iter().flat_map(|part| ["/", part]).collect();
        IssueName::of_key(key).filter(|_| is_plain).map(|name| Located::Issue { name, prefix })
    }

    fn has_own_shape(&self, path: &[&str]) -> bool {
        self.locate(path).is_some()
    }

    fn page(&self, site: &Site, name: &IssueName) -> String {
        format!("{}/browse/{}", site.base(), key_of(name))
    }

    fn api(&self, site: &Site) -> String {
        let version = if self.has_host(site.origin.host()) { 3 } else { 2 };
        format!("{}/rest/api/{version}", site.base())
    }

    fn variables(&self, _: &Site) -> &'static [&'static str] {
        &["JIRA_TOKEN"]
    }

    fn access(&self) -> IssueAccess {
        IssueAccess::TokenOnly
    }

    fn authorization(&self, token: &str, env: &dyn Fn(&str) -> Option<String>) -> String {
        match env("JIRA_EMAIL").filter(|email| !email.trim().is_empty()) {
            Some(email) => {
                let pair = BASE64_STANDARD.encode(format!("{}:{token}", email.trim()));
                format!("Basic {pair}")
            }
            None => format!("Bearer {token}"),
        }
    }

    fn parse(&self, value: &Value, points_field: &str) -> Option<Result<Issue, String>> {
        value.get("fields").map(|fields| parse_issue(value, fields, points_field))
    }

    fn fetch(
        &self,
        client: &Client<'_>,
        address: &Address,
        points_field: &str,
    ) -> Result<Issue, HostError> {
        let path = format!("/issue/{}", key_of(&address.name));
        let points = if is_field(points_field) { points_field } else { "" };
        let value = client.get(&format!("{path}?fields=summary,description,labels,{points}"))?.json;
        let mut issue = parsed(client, self.parse(&value, points_field))?;
        // `self` is how Jira sees itself, which behind a proxy is not where people find it.
        address.page().clone_into(&mut issue.source);
        let mut comments = Vec::new();
        let mut newest = NewestComments::default();
        let (mut start, mut n_unread) = (0, 0);
        for _ in 0..PAGES_MAX {
            let query = format!("startAt={start}&maxResults={PAGE}&orderBy=-created");
            let answer = client.get(&format!("{path}/comment?{query}"))?.json;
            let total = answer.get("total").and_then(Value::as_u64).unwrap_or(0);
            let page = list_at(&answer, "comments");
            start += u64::try_from(page.len()).unwrap_or(u64::MAX);
            n_unread = total.saturating_sub(start);
            comments.extend_from_slice(page);
            let order = Order::of(&comments);
            newest = newest_of(&comments, order);
            let is_enough = newest.is_full() && order == Order::NewestFirst;
            if page.is_empty() || n_unread == 0 || is_enough {
                break;
            }
        }
        newest.leave_out(n_unread);
        newest.into_issue(&mut issue);
        Ok(issue)
    }
}

fn parse_issue(value: &Value, fields: &Value, points_field: &str) -> Result<Issue, String> {
    let key = text_at(value, "key").filter(|key| !key.is_empty());
    let key = key.ok_or("the issue has no `key`")?;
    let body = text_of(fields.get("description"))
        .ok_or("its `description` is neither a text nor a document")?;
    Ok(Issue {
        tracker: Kind::Jira,
        source: browse(text_at(value, "self"), key),
        key: key.to_owned(),
        title: title_at(fields, "summary", "fields.summary")?,
        body,
        labels: label_names(list_at(fields, "labels")),
        comments: Vec::new(),
        n_comments_left_out: 0,
        points: points(fields.get(points_field)),
    })
}

/// The order in which comments came. Older installations do not know `orderBy`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    NewestFirst,
    OldestFirst,
}

impl Order {
    fn of(comments: &[Value]) -> Self {
        let at = |comment: Option<&Value>| {
            comment.and_then(|comment| text_at(comment, "created")).unwrap_or_default().to_owned()
        };
        let is_rising = at(comments.first()) < at(comments.last());
        if is_rising { Self::OldestFirst } else { Self::NewestFirst }
    }
}

fn newest_of(comments: &[Value], order: Order) -> NewestComments {
    let mut newest = NewestComments::default();
    match order {
        Order::NewestFirst => {
            for comment in comments {
                push_comment(comment, &mut newest);
            }
        }
        Order::OldestFirst => {
            for comment in comments.iter().rev() {
                push_comment(comment, &mut newest);
            }
        }
    }
    newest
}

fn push_comment(comment: &Value, newest: &mut NewestComments) {
    let author = comment.get("author");
    if author.and_then(|author| text_at(author, "accountType")) == Some("app") {
        return;
    }
    let author = author.and_then(|author| text_at(author, "displayName"));
    let text = text_of(comment.get("body")).unwrap_or_default();
    if let Some(comment) = Comment::new(author, text_at(comment, "created"), &text) {
        newest.push(comment);
    }
}

/// Returns where a person finds the issue: beside the interface that gave it.
fn browse(own: Option<&str>, key: &str) -> String {
    let host = own.and_then(|own| own.split_once("/rest/")).map(|(host, _)| host);
    host.map_or_else(|| key.to_owned(), |host| format!("{host}/browse/{key}"))
}

fn is_field(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::WebOrigin;

    #[test]
    fn atlassians_own_jira_has_version_3_and_an_installed_one_version_2() {
        for (host, prefix, api) in [
            ("x.atlassian.net", "", "https://x.atlassian.net/rest/api/3"),
            ("jira.example", "/tools", "https://jira.example/tools/rest/api/2"),
            ("atlassian.net.example", "", "https://atlassian.net.example/rest/api/2"),
        ] {
            let origin = WebOrigin::of_host(host).unwrap();
            assert_eq!(Jira.api(&Site { origin, prefix: prefix.to_owned() }), api);
        }
    }
}
