//! Pull requests of GitHub, by the REST interface; a draft is made ready by GraphQL, which alone can.
//!
//! The fields that Gitea has as well are in [`crate::numbered`].

use serde_json::json;

use crate::{
    client::{Changed, Client, Rejection, encoded},
    error::HostError,
    http::HttpMethod,
    issue::{list_at, text_at},
    numbered::{
        add_labels, ask_reviewers, is_between, parse_pull_request, patch_pull_request,
        pull_request_of, repository_name,
    },
    pull_request::{Ends, HostedPullRequest, MergeMethod, PullRequestForm, PullRequestText},
    pull_request_api::{PullRequestApi, merge_answer},
};

const MARK_READY: &str = "mutation Ready($id: ID!) { markPullRequestReadyForReview(input: \
                          {pullRequestId: $id}) { pullRequest { number } } }";

/// Pull requests by REST, and by GraphQL where that is not enough.
pub(crate) struct GitHubDelivery;

impl PullRequestApi for GitHubDelivery {
    fn project(&self, client: &Client<'_>, project: &str) -> Result<String, HostError> {
        repository_name(client, project)
    }

    fn all(
        &self,
        client: &Client<'_>,
        project: &str,
        ends: &Ends,
    ) -> Result<Vec<HostedPullRequest>, HostError> {
        let owner = ends.head_project.split('/').next().unwrap_or_default();
        let (head, base) = (encoded(&format!("{owner}:{}", ends.head)), encoded(&ends.base));
        let query = format!("state=all&head={head}&base={base}&per_page=100");
        let value = client.get(&format!("/repos/{project}/pulls?{query}"))?.json;
        let all = value.as_array().into_iter().flatten();
        // A head that it cannot read is left out of the question by GitHub.
        Ok(all.filter(|one| is_between(one, ends)).filter_map(parse_pull_request).collect())
    }

    fn get(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
    ) -> Result<HostedPullRequest, HostError> {
        pull_request_of(client, &client.get(&format!("/repos/{project}/pulls/{n}"))?.json)
    }

    fn create(
        &self,
        client: &Client<'_>,
        project: &str,
        ends: &Ends,
        text: &PullRequestText,
    ) -> Result<HostedPullRequest, HostError> {
        let mut body = json!({
            "title": text.title, "body": text.body, "base": ends.base,
            "head": ends.head_label(project), "draft": text.form == PullRequestForm::Draft,
        });
        if !ends.are_in(project) {
            // Two repositories of one owner can have branches of the same name.
            body["head_repo"] = ends.head_project.split('/').next_back().into();
        }
        match client.change(HttpMethod::Post, &format!("/repos/{project}/pulls"), &body)? {
            Changed::Done(value) => pull_request_of(client, &value),
            Changed::Rejected(rejection) => Err(not_created(client, ends, rejection)),
        }
    }

    fn update(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
        text: &PullRequestText,
    ) -> Result<HostedPullRequest, HostError> {
        patch_pull_request(client, project, n, &json!({"title": text.title, "body": text.body}))
    }

    fn add_labels(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
        labels: &[String],
    ) -> Result<(), HostError> {
        add_labels(client, project, n, labels)
    }

    fn ask_reviewers(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
        names: &[String],
    ) -> Result<(), HostError> {
        ask_reviewers(client, project, n, names)
    }

    fn mark_ready(
        &self,
        client: &Client<'_>,
        project: &str,
        draft: &HostedPullRequest,
    ) -> Result<(), HostError> {
        let value = client.get(&format!("/repos/{project}/pulls/{}", draft.number))?.json;
        let id = text_at(&value, "node_id").unwrap_or_default();
        let question = json!({"query": MARK_READY, "variables": {"id": id}});
        let graph = client.at(client.api.strip_suffix("/v3").unwrap_or(&client.api));
        let (status, answer) = graph.query(HttpMethod::Query, "/graphql", &question)?;
        match list_at(&answer, "errors").first() {
            Some(error) => {
                let words = text_at(error, "message").unwrap_or_default().to_owned();
                Err(client.invalid(Rejection { status, words }))
            }
            None => Ok(()),
        }
    }

    fn merge(
        &self,
        client: &Client<'_>,
        project: &str,
        found: &HostedPullRequest,
        method: MergeMethod,
    ) -> Result<(), HostError> {
        let path = format!("/repos/{project}/pulls/{}/merge", found.number);
        let body = json!({"sha": found.head_commit, "merge_method": method.as_str()});
        merge_answer(client.change(HttpMethod::Put, &path, &body)?, found)
    }

    fn close(&self, client: &Client<'_>, project: &str, n: u64) -> Result<(), HostError> {
        patch_pull_request(client, project, n, &json!({"state": "closed"})).map(|_| ())
    }
}

/// Says why there is no new pull request.
fn not_created(client: &Client<'_>, ends: &Ends, rejection: Rejection) -> HostError {
    if rejection.words.contains("No commits between") {
        HostError::NoCommits { head: ends.head.clone(), base: ends.base.clone() }
    } else if rejection.words.contains("already exists") {
        HostError::Exists { subject: client.subject.clone(), words: rejection.words }
    } else {
        client.invalid(rejection)
    }
}
