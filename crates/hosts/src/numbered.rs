//! The fields of issues and comments that GitHub and Gitea have in common.
//!
//! How they are fetched is in the file of each.

use serde_json::Value;

use crate::{
    address::Address,
    error::HostError,
    issue::{Comment, Issue, NewestComments, label_names, list_at, text_at, title_at},
    kind::Kind,
};

/// Reads an issue with `number`, `title`, `body` and `html_url`.
pub(crate) fn parse_numbered(value: &Value, tracker: Kind) -> Option<Result<Issue, String>> {
    let number = value.get("number").and_then(Value::as_u64)?;
    value.get("title")?;
    let key = format!("#{number}");
    let address = text_at(value, "html_url").or(text_at(value, "url")).map(str::to_owned);
    Some(title_at(value, "title", "title").map(|title| Issue {
        tracker,
        source: address.unwrap_or_else(|| key.clone()),
        key,
        title,
        body: text_at(value, "body").unwrap_or_default().to_owned(),
        labels: label_names(list_at(value, "labels")),
        comments: Vec::new(),
        n_comments_left_out: 0,
        points: None,
    }))
}

/// Refuses what the interface gives as an issue, although it is a pull request.
pub(crate) fn refuse_pull_request(value: &Value, address: &Address) -> Result<(), HostError> {
    match value.get("pull_request") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(HostError::NotAnIssue {
            what: format!("{} is a pull request, not an issue", address.page()),
            next: "give the address of the issue that it is for".to_owned(),
        }),
    }
}

/// Takes a comment with `user`, `created_at` and `body`, unless it is of a bot.
pub(crate) fn push_comment(comment: &Value, newest: &mut NewestComments) {
    let user = comment.get("user");
    if user.and_then(|user| text_at(user, "type")) == Some("Bot") {
        return;
    }
    let author = user.and_then(|user| text_at(user, "login"));
    let text = text_at(comment, "body").unwrap_or_default();
    if let Some(comment) = Comment::new(author, text_at(comment, "created_at"), text) {
        newest.push(comment);
    }
}
