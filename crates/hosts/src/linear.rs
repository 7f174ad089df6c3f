//! Linear, by its GraphQL interface.
//!
//! How it is asked is in `graph`, and what is written there in `delivery`.

pub(crate) mod delivery;
mod graph;

use serde_json::{Value, json};

use crate::{
    address::{Address, IssueName, Site, key_of},
    client::Client,
    error::HostError,
    issue::{Comment, Issue, NewestComments, label_names, list_at, points, text_at, title_at},
    kind::Kind,
    linear::graph::ask,
    tracker::{IssueAccess, Located, Tracker, parsed},
};

/// The most pages of comments that are read.
const PAGES_MAX: u32 = 30;

const ISSUE: &str = "query Issue($id: String!) { issue(id: $id) { identifier title description \
                     url estimate labels(first: 50) { nodes { name } } } }";

const COMMENTS: &str = "query Comments($id: String!, $after: String) { issue(id: $id) { \
                        comments(first: 100, after: $after) { nodes { body createdAt user { \
                        displayName } botActor { name } } pageInfo { hasNextPage endCursor } } } }";

/// Linear.
pub(crate) struct Linear;

impl Tracker for Linear {
    fn kind(&self) -> Kind {
        Kind::Linear
    }

    fn has_host(&self, host: &str) -> bool {
        host == "linear.app"
    }

    fn locate(&self, path: &[&str]) -> Option<Located> {
        match path {
            [_, "issue", key] | [_, "issue", key, _] => {
                IssueName::of_key(&key.to_ascii_uppercase()).map(Located::at_root)
            }
            _ => None,
        }
    }

    fn page(&self, site: &Site, name: &IssueName) -> String {
        format!("{}/issue/{}", site.base(), key_of(name))
    }

    fn api(&self, site: &Site) -> String {
        if self.has_host(site.origin.host()) {
            "https://api.linear.app".to_owned()
        } else {
            site.base()
        }
    }

    fn variables(&self, _: &Site) -> &'static [&'static str] {
        &["LINEAR_API_KEY"]
    }

    fn access(&self) -> IssueAccess {
        IssueAccess::TokenOnly
    }

    fn authorization(&self, token: &str, _: &dyn Fn(&str) -> Option<String>) -> String {
        // A key stands alone; a token of a sign-in does not.
        let is_signed_in = token.starts_with("lin_oauth_");
        if is_signed_in { format!("Bearer {token}") } else { token.to_owned() }
    }

    fn fetch(&self, client: &Client<'_>, address: &Address, _: &str) -> Result<Issue, HostError> {
        let id = key_of(&address.name);
        let value = ask(client, ISSUE, &json!({"id": id}))?;
        let mut issue = parsed(client, parse_issue(&value, address))?;
        let mut comments: Vec<Comment> = Vec::new();
        let mut after = Value::Null;
        for _ in 0..PAGES_MAX {
            let value = ask(client, COMMENTS, &json!({"id": id, "after": after}))?;
            let page = value.get("comments").unwrap_or(&Value::Null);
            comments.extend(list_at(page, "nodes").iter().filter_map(comment));
            let info = page.get("pageInfo").unwrap_or(&Value::Null);
            after = info.get("endCursor").cloned().unwrap_or(Value::Null);
            if info.get("hasNextPage") != Some(&Value::Bool(true)) || after.is_null() {
                break;
            }
        }
        // In which order they come is not promised. Times of Linear sort as texts.
        comments.sort_by(|one, other| other.at.cmp(&one.at));
        let mut newest = NewestComments::default();
        for comment in comments {
            newest.push(comment);
        }
        newest.into_issue(&mut issue);
        Ok(issue)
    }
}

fn parse_issue(value: &Value, address: &Address) -> Option<Result<Issue, String>> {
    let key = text_at(value, "identifier")?;
    let labels = value.get("labels").unwrap_or(&Value::Null);
    Some(title_at(value, "title", "title").map(|title| Issue {
        tracker: Kind::Linear,
        source: text_at(value, "url").unwrap_or(address.page()).to_owned(),
        key: key.to_owned(),
        title,
        body: text_at(value, "description").unwrap_or_default().to_owned(),
        labels: label_names(list_at(labels, "nodes")),
        comments: Vec::new(),
        n_comments_left_out: 0,
        points: points(value.get("estimate")),
    }))
}

/// Reads a comment, unless it is of an integration.
fn comment(node: &Value) -> Option<Comment> {
    let is_bot = node.get("botActor").is_some_and(|bot| !bot.is_null());
    let author = node.get("user").and_then(|user| text_at(user, "displayName"));
    let text = text_at(node, "body").unwrap_or_default();
    Comment::new(author, text_at(node, "createdAt"), text).filter(|_| !is_bot)
}
