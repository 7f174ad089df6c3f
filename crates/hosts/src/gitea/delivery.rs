//! Pull requests and comments of Gitea and Forgejo.
//!
//! A draft is a title with a prefix. The fields that GitHub has as well are in [`crate::numbered`].

use serde_json::{Value, json};

use crate::{
    address::IssueName,
    client::{Changed, Client, HasNext, Rejection},
    discussion::DiscussionApi,
    error::{HostError, MergeObstacle},
    http::HttpMethod,
    issue::text_at,
    mark::MarkForm,
    numbered::{
        add_labels, ask_reviewers, close_issue, comments_path, edit_comment, found_comment,
        is_between, parse_pull_request, patch_pull_request, post_comment, pull_request_of,
    },
    pull_request::{Ends, HostedPullRequest, MergeMethod, PullRequestForm, PullRequestText},
    pull_request_api::PullRequestApi,
    thread::{FoundComment, IssueMove, Thread, too_many},
};

/// The most pages that are read, of fifty comments or pull requests.
const PAGES_MAX: u32 = 200;
/// The most pages of pull requests that are over; the one that is looked for was changed lately.
const OVER_PAGES_MAX: u32 = 4;
/// The prefix by which Gitea knows a draft, where an installation does not set another.
const DRAFT: &str = "WIP: ";

/// Pull requests and comments by the interface v1.
pub(crate) struct GiteaDelivery;

impl PullRequestApi for GiteaDelivery {
    fn project(&self, client: &Client<'_>, project: &str) -> Result<String, HostError> {
        let value = client.get(&format!("/repos/{project}"))?.json;
        let name = text_at(&value, "full_name").map(str::to_owned);
        name.ok_or_else(|| client.unexpected("it is not a repository"))
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
            "title": titled(&text.title, text.form), "body": text.body, "base": ends.base,
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
        let form = form_of(&self.get(client, project, n)?.title);
        let fields = json!({"title": titled(&text.title, form), "body": text.body});
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
        let method = match method {
            MergeMethod::Merge => "merge",
            MergeMethod::Squash => "squash",
            MergeMethod::Rebase => "rebase",
        };
        let path = format!("/repos/{project}/pulls/{}/merge", found.number);
        let body = json!({"Do": method, "head_commit_id": found.head_commit});
        let refused =
            |obstacle| Err(HostError::NotMergeable { address: found.address.clone(), obstacle });
        match client.change(HttpMethod::Post, &path, &body)? {
            Changed::Done(_) => Ok(()),
            Changed::Rejected(Rejection { status: 409, .. }) => refused(MergeObstacle::OtherCommit),
            Changed::Rejected(Rejection { words, .. }) => {
                refused(MergeObstacle::Protected { words })
            }
        }
    }

    fn close(&self, client: &Client<'_>, project: &str, n: u64) -> Result<(), HostError> {
        patch_pull_request(client, project, n, &json!({"state": "closed"})).map(|_| ())
    }
}

/// Returns a title that says whether it is a draft.
fn titled(title: &str, form: PullRequestForm) -> String {
    match form {
        PullRequestForm::Draft => format!("{DRAFT}{title}"),
        PullRequestForm::Ready => title.to_owned(),
    }
}

fn form_of(title: &str) -> PullRequestForm {
    let is_draft = title.starts_with(DRAFT.trim_end());
    if is_draft { PullRequestForm::Draft } else { PullRequestForm::Ready }
}

impl DiscussionApi for GiteaDelivery {
    fn mark_form(&self) -> MarkForm {
        MarkForm::Hidden
    }

    fn find(
        &self,
        client: &Client<'_>,
        thread: &Thread<'_>,
        is_meant: &dyn Fn(&str) -> bool,
    ) -> Result<Option<FoundComment>, HostError> {
        for page in 1..=PAGES_MAX {
            let path = format!("{}?limit=50&page={page}", comments_path(thread));
            let answer = client.get(&path)?;
            let all: &[Value] = answer.json.as_array().map_or(&[], Vec::as_slice);
            let found =
                all.iter().filter_map(found_comment).find(|comment| is_meant(&comment.text));
            if found.is_some() || answer.has_next == HasNext::No {
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
        post_comment(client, thread, text)
    }

    fn edit(
        &self,
        client: &Client<'_>,
        thread: &Thread<'_>,
        comment: &FoundComment,
        text: &str,
    ) -> Result<(), HostError> {
        edit_comment(client, thread, comment, text)
    }

    fn change_state(
        &self,
        client: &Client<'_>,
        name: &IssueName,
        to: &IssueMove,
    ) -> Result<(), HostError> {
        close_issue(client, name, to)
    }
}
