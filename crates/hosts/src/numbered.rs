//! The paths and fields of issues and pull requests that GitHub and Gitea have in common.
//!
//! How they are fetched, and what differs, is in the files of each.

use serde_json::{Value, json};

use crate::{
    address::Address,
    client::Client,
    error::{HostError, MergeObstacle},
    http::HttpMethod,
    issue::{Comment, Issue, NewestComments, label_names, list_at, text_at, title_at},
    kind::Kind,
    pull_request::{Ends, HostedPullRequest, Mergeability, PullRequestForm, PullRequestState},
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

/// Reads a pull request with `number`, `html_url`, `state`, `head` and `base`.
pub(crate) fn parse_pull_request(value: &Value) -> Option<HostedPullRequest> {
    let head = value.get("head")?;
    let is_draft = value.get("draft") == Some(&Value::Bool(true));
    let form = if is_draft { PullRequestForm::Draft } else { PullRequestForm::Ready };
    // Lists of GitHub say only when it was.
    let is_merged = value.get("merged") == Some(&Value::Bool(true))
        || value.get("merged_at").is_some_and(|at| !at.is_null());
    let state = match text_at(value, "state")? {
        _ if is_merged => {
            let commit = text_at(value, "merge_commit_sha").map(str::to_owned);
            PullRequestState::Merged { commit }
        }
        "open" => PullRequestState::Open { form, merging: mergeability(value, form) },
        _ => PullRequestState::Closed,
    };
    Some(HostedPullRequest {
        number: value.get("number").and_then(Value::as_u64)?,
        address: text_at(value, "html_url").unwrap_or_default().to_owned(),
        title: text_at(value, "title").unwrap_or_default().to_owned(),
        body: text_at(value, "body").unwrap_or_default().to_owned(),
        state,
        head_commit: text_at(head, "sha").unwrap_or_default().to_owned(),
        base: value.pointer("/base/ref").and_then(Value::as_str).unwrap_or_default().to_owned(),
    })
}

/// Reads a pull request, which an answer must have.
pub(crate) fn pull_request_of(
    client: &Client<'_>,
    value: &Value,
) -> Result<HostedPullRequest, HostError> {
    parse_pull_request(value).ok_or_else(|| client.unexpected("it is not a pull request"))
}

fn mergeability(value: &Value, form: PullRequestForm) -> Mergeability {
    let words = String::new();
    let blocked = Mergeability::Blocked;
    match (text_at(value, "mergeable_state"), value.get("mergeable").and_then(Value::as_bool)) {
        _ if form == PullRequestForm::Draft => blocked(MergeObstacle::Draft),
        (Some("dirty"), _) => blocked(MergeObstacle::Conflicts),
        // Gitea does not say why.
        (None, Some(false)) => blocked(MergeObstacle::NotReady),
        (Some("blocked"), _) => blocked(MergeObstacle::Protected { words }),
        (Some("behind"), _) => blocked(MergeObstacle::Behind),
        (Some("clean" | "unstable" | "has_hooks"), _) | (None, Some(true)) => {
            Mergeability::Possible
        }
        (Some(_) | None, _) => Mergeability::Unknown,
    }
}

/// Says whether a pull request is between two branches.
pub(crate) fn is_between(value: &Value, ends: &Ends) -> bool {
    let at = |path: &str| value.pointer(path).and_then(Value::as_str);
    at("/head/ref") == Some(&*ends.head)
        && at("/base/ref") == Some(&*ends.base)
        && at("/head/repo/full_name").is_some_and(|name| ends.are_in(name))
}

/// Returns the name that a repository has now.
pub(crate) fn repository_name(client: &Client<'_>, project: &str) -> Result<String, HostError> {
    let value = client.get(&format!("/repos/{project}"))?.json;
    let name = text_at(&value, "full_name").map(str::to_owned);
    name.ok_or_else(|| client.unexpected("it is not a repository"))
}

/// Sets fields of a pull request, and returns it as it is then.
pub(crate) fn patch_pull_request(
    client: &Client<'_>,
    project: &str,
    n: u64,
    fields: &Value,
) -> Result<HostedPullRequest, HostError> {
    let path = format!("/repos/{project}/pulls/{n}");
    let value = client.change(HttpMethod::Patch, &path, fields)?.or_invalid(client)?;
    pull_request_of(client, &value)
}

/// Adds labels by their names.
pub(crate) fn add_labels(
    client: &Client<'_>,
    project: &str,
    n: u64,
    labels: &[String],
) -> Result<(), HostError> {
    let path = format!("/repos/{project}/issues/{n}/labels");
    client.change(HttpMethod::Post, &path, &json!({"labels": labels}))?.or_invalid(client)?;
    Ok(())
}

/// Asks people, and teams as `organization/team`, to look at a pull request.
pub(crate) fn ask_reviewers(
    client: &Client<'_>,
    project: &str,
    n: u64,
    names: &[String],
) -> Result<(), HostError> {
    let teams: Vec<&str> = names.iter().filter_map(|name| Some(name.split_once('/')?.1)).collect();
    let people: Vec<&String> = names.iter().filter(|name| !name.contains('/')).collect();
    let path = format!("/repos/{project}/pulls/{n}/requested_reviewers");
    let body = json!({"reviewers": people, "team_reviewers": teams});
    client.change(HttpMethod::Post, &path, &body)?.or_invalid(client)?;
    Ok(())
}
