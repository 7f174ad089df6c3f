//! Merge requests of GitLab. Its notes are in [`crate::numbered_discussion`].
//!
//! A draft is a title with a prefix. How a merge is made is a setting of the project; only squashing can be asked for.

use serde_json::{Value, json};

use crate::{
    client::{Changed, Client, Rejection, encoded},
    error::{HostError, MergeObstacle},
    http::HttpMethod,
    issue::{list_at, text_at},
    pull_request::{
        Ends, HostedPullRequest, MergeMethod, Mergeability, PullRequestState, PullRequestText,
        form_of, titled,
    },
    pull_request_api::{PullRequestApi, merge_answer},
};

/// The prefix by which GitLab knows a draft.
const DRAFT: &str = "Draft: ";

/// Merge requests by the interface v4.
pub(crate) struct GitLabDelivery;

impl PullRequestApi for GitLabDelivery {
    fn project(&self, client: &Client<'_>, project: &str) -> Result<String, HostError> {
        let value = client.get(&project_path(project))?.json;
        let name = text_at(&value, "path_with_namespace").map(str::to_owned);
        name.ok_or_else(|| client.unexpected("it is not a project"))
    }

    fn all(
        &self,
        client: &Client<'_>,
        project: &str,
        ends: &Ends,
    ) -> Result<Vec<HostedPullRequest>, HostError> {
        let source = id_of(client, &ends.head_project)?;
        let (head, base) = (encoded(&ends.head), encoded(&ends.base));
        let query = format!("state=all&source_branch={head}&target_branch={base}&per_page=100");
        let value = client.get(&format!("{}/merge_requests?{query}", project_path(project)))?.json;
        let all = value.as_array().into_iter().flatten();
        let is_from =
            |one: &&Value| one.get("source_project_id").and_then(Value::as_u64) == Some(source);
        Ok(all.filter(is_from).filter_map(parse).collect())
    }

    fn get(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
    ) -> Result<HostedPullRequest, HostError> {
        merge_request(client, &client.get(&merge_request_path(project, n))?.json)
    }

    fn create(
        &self,
        client: &Client<'_>,
        project: &str,
        ends: &Ends,
        text: &PullRequestText,
    ) -> Result<HostedPullRequest, HostError> {
        // It is made in the project that it comes from.
        let path = format!("{}/merge_requests", project_path(&ends.head_project));
        let body = json!({
            "title": titled(&text.title, text.form, DRAFT), "description": text.body,
            "source_branch": ends.head, "target_branch": ends.base,
            "target_project_id": id_of(client, project)?,
        });
        match client.change(HttpMethod::Post, &path, &body)? {
            Changed::Done(value) => merge_request(client, &value),
            Changed::Rejected(Rejection { status: 409, words }) => {
                Err(HostError::Exists { subject: client.subject.clone(), words })
            }
            Changed::Rejected(rejection) => Err(client.invalid(rejection)),
        }
    }

    fn update(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
        text: &PullRequestText,
    ) -> Result<HostedPullRequest, HostError> {
        let form = form_of(&self.get(client, project, n)?.title, DRAFT);
        let title = titled(&text.title, form, DRAFT);
        let value = put(client, project, n, &json!({"title": title, "description": text.body}))?;
        merge_request(client, &value)
    }

    fn add_labels(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
        labels: &[String],
    ) -> Result<(), HostError> {
        put(client, project, n, &json!({"add_labels": labels.join(",")})).map(|_| ())
    }

    fn ask_reviewers(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
        names: &[String],
    ) -> Result<(), HostError> {
        let mut ids = Vec::new();
        for name in names {
            let users = client.get(&format!("/users?username={}", encoded(name)))?.json;
            let id = users.pointer("/0/id").and_then(Value::as_u64);
            ids.push(id.ok_or_else(|| HostError::NotPossible {
                what: format!("{} knows no user {name}", client.help.host),
                next: "forge config explain pull_request.reviewers".to_owned(),
            })?);
        }
        // It sets all of them.
        let value = client.get(&merge_request_path(project, n))?.json;
        let there = list_at(&value, "reviewers").iter();
        ids.extend(there.filter_map(|user| user.get("id").and_then(Value::as_u64)));
        put(client, project, n, &json!({"reviewer_ids": ids})).map(|_| ())
    }

    fn mark_ready(
        &self,
        client: &Client<'_>,
        project: &str,
        draft: &HostedPullRequest,
    ) -> Result<(), HostError> {
        let title = draft.title.strip_prefix(DRAFT.trim_end()).unwrap_or(&draft.title).trim();
        put(client, project, draft.number, &json!({"title": title})).map(|_| ())
    }

    fn merge(
        &self,
        client: &Client<'_>,
        project: &str,
        found: &HostedPullRequest,
        method: MergeMethod,
    ) -> Result<(), HostError> {
        if method == MergeMethod::Rebase {
            let value = client.get(&project_path(project))?.json;
            if !matches!(text_at(&value, "merge_method"), Some("ff" | "rebase_merge")) {
                return Err(HostError::NotPossible {
                    what: format!("{} does not merge by rebase", client.subject),
                    next:
                        "change the merge method in its settings at GitLab, or: forge config set \
                           pull_request.merge merge"
                            .to_owned(),
                });
            }
        }
        let path = format!("{}/merge", merge_request_path(project, found.number));
        let body = json!({"sha": found.head_commit, "squash": method == MergeMethod::Squash});
        match client.change(HttpMethod::Put, &path, &body) {
            // What it answers to a token that may read and not merge, as its other answers showed.
            Err(HostError::Refused { status: 401, .. }) => Err(HostError::Forbidden {
                subject: client.subject.clone(),
                help: client.help.clone(),
                words: "401 Unauthorized at the merge".to_owned(),
            }),
            changed => merge_answer(changed?, found),
        }
    }

    fn close(&self, client: &Client<'_>, project: &str, n: u64) -> Result<(), HostError> {
        put(client, project, n, &json!({"state_event": "close"})).map(|_| ())
    }
}

fn project_path(project: &str) -> String {
    format!("/projects/{}", encoded(project))
}

fn merge_request_path(project: &str, n: u64) -> String {
    format!("{}/merge_requests/{n}", project_path(project))
}

fn id_of(client: &Client<'_>, project: &str) -> Result<u64, HostError> {
    let value = client.get(&project_path(project))?.json;
    let id = value.get("id").and_then(Value::as_u64);
    id.ok_or_else(|| client.unexpected("it is not a project"))
}

fn put(client: &Client<'_>, project: &str, n: u64, fields: &Value) -> Result<Value, HostError> {
    client.change(HttpMethod::Put, &merge_request_path(project, n), fields)?.or_invalid(client)
}

fn merge_request(client: &Client<'_>, value: &Value) -> Result<HostedPullRequest, HostError> {
    parse(value).ok_or_else(|| client.unexpected("it is not a merge request"))
}

fn parse(value: &Value) -> Option<HostedPullRequest> {
    let title = text_at(value, "title").unwrap_or_default();
    let text = |key| text_at(value, key).filter(|text| !text.is_empty()).map(str::to_owned);
    let head_commit = text("sha").unwrap_or_default();
    let state = match text_at(value, "state")? {
        "merged" => {
            // A fast-forward has no commit of its own.
            let own = text("merge_commit_sha").or_else(|| text("squash_commit_sha"));
            PullRequestState::Merged { commit: own.or_else(|| text("sha")) }
        }
        "opened" | "locked" => {
            PullRequestState::Open { form: form_of(title, DRAFT), merging: mergeability(value) }
        }
        _ => PullRequestState::Closed,
    };
    Some(HostedPullRequest {
        number: value.get("iid").and_then(Value::as_u64)?,
        address: text("web_url").unwrap_or_default(),
        title: title.to_owned(),
        body: text("description").unwrap_or_default(),
        state,
        head_commit,
        base: text("target_branch").unwrap_or_default(),
    })
}

fn mergeability(value: &Value) -> Mergeability {
    let status = text_at(value, "detailed_merge_status").or(text_at(value, "merge_status"));
    let protected = |words: &str| MergeObstacle::Protected { words: words.replace('_', " ") };
    match status {
        Some("mergeable" | "can_be_merged") => Mergeability::Possible,
        Some("draft_status") => Mergeability::Blocked(MergeObstacle::Draft),
        Some("conflict" | "broken_status" | "cannot_be_merged") => {
            Mergeability::Blocked(MergeObstacle::Conflicts)
        }
        Some("need_rebase") => Mergeability::Blocked(MergeObstacle::Behind),
        None | Some("checking" | "unchecked" | "preparing" | "approvals_syncing") => {
            Mergeability::Unknown
        }
        Some(words) => Mergeability::Blocked(protected(words)),
    }
}
