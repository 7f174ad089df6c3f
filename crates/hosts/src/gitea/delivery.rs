//! Pull requests of Gitea and Forgejo.
//!
//! A draft is a title with a prefix. The fields that GitHub has as well are in [`crate::numbered`].

use serde_json::json;

use crate::{
    client::{Changed, Client, HasNext, Rejection},
    error::{HostError, MergeObstacle},
    http::HttpMethod,
    numbered::{
        add_labels, ask_reviewers, is_between, parse_pull_request, patch_pull_request,
        pull_request_of, repository_name,
    },
    pull_request::{Ends, HostedPullRequest, MergeMethod, PullRequestText, form_of, titled},
    pull_request_api::{PullRequestApi, merge_answer},
};

/// The most pages that are read, of fifty pull requests.
const PAGES_MAX: u32 = 200;
/// The most pages of pull requests that are over; the one that is looked for was changed lately.
const OVER_PAGES_MAX: u32 = 4;
/// The prefix by which Gitea knows a draft, where an installation does not set another.
const DRAFT: &str = "WIP: ";

/// Pull requests by the interface v1.
pub(crate) struct GiteaDelivery;

impl PullRequestApi for GiteaDelivery {
    fn project(&self, client: &Client<'_>, project: &str) -> Result<String, HostError> {
        repository_name(client, project)
    }

    fn all(
        &self,
        client: &Client<'_>,
        project: &str,
        ends: &Ends,
    ) -> Result<Vec<HostedPullRequest>, HostError> {
        let mut found = Vec::new();
        // Not every version can be asked for the branches.
        for (state, pages_max) in [("open", PAGES_MAX), ("closed", OVER_PAGES_MAX)] {
            for page in 1..=pages_max {
                let query = format!("state={state}&sort=recentupdate&limit=50&page={page}");
                let answer = client.get(&format!("/repos/{project}/pulls?{query}"))?;
                let all = answer.json.as_array().into_iter().flatten();
                let meant = all.filter(|one| is_between(one, ends));
                found.extend(meant.filter_map(parse_pull_request));
                if !found.is_empty() || answer.has_next == HasNext::No {
                    break;
                }
            }
        }
        Ok(found)
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
        let body = json!({
            "title": titled(&text.title, text.form, DRAFT), "body": text.body, "base": ends.base,
            "head": ends.head_label(project),
        });
        match client.change(HttpMethod::Post, &format!("/repos/{project}/pulls"), &body)? {
            Changed::Done(value) => pull_request_of(client, &value),
            Changed::Rejected(Rejection { status: 409, words }) => {
                Err(HostError::Exists { subject: client.subject.clone(), words })
            }
            Changed::Rejected(rejection) if rejection.words.contains("no changes") => {
                Err(HostError::NoCommits { head: ends.head.clone(), base: ends.base.clone() })
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
        let fields = json!({"title": titled(&text.title, form, DRAFT), "body": text.body});
        patch_pull_request(client, project, n, &fields)
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
        let title = draft.title.strip_prefix(DRAFT.trim_end()).unwrap_or(&draft.title).trim();
        patch_pull_request(client, project, draft.number, &json!({"title": title})).map(|_| ())
    }

    fn merge(
        &self,
        client: &Client<'_>,
        project: &str,
        found: &HostedPullRequest,
        method: MergeMethod,
    ) -> Result<(), HostError> {
        let path = format!("/repos/{project}/pulls/{}/merge", found.number);
        let body = json!({"Do": method.as_str(), "head_commit_id": found.head_commit});
        match client.change(HttpMethod::Post, &path, &body)? {
            // The words of a conflict, and none at all while it is being looked at.
            Changed::Rejected(Rejection { status, words })
                if status == 409 && !words.contains("head")
                    || status == 405 && words.is_empty() =>
            {
                let (address, obstacle) = (found.address.clone(), MergeObstacle::NotReady);
                Err(HostError::NotMergeable { address, obstacle })
            }
            changed @ (Changed::Done(_) | Changed::Rejected(_)) => merge_answer(changed, found),
        }
    }

    fn close(&self, client: &Client<'_>, project: &str, n: u64) -> Result<(), HostError> {
        patch_pull_request(client, project, n, &json!({"state": "closed"})).map(|_| ())
    }
}
