//! Gitea and Forgejo, by the interface v1, which is close to GitHub's.
//!
//! The fields are in [`crate::numbered`].

pub(crate) mod delivery;

use serde_json::Value;

use crate::{
    address::{Address, IssueName, Site, number_of},
    client::{Client, HasNext},
    error::HostError,
    issue::{Issue, NewestComments},
    kind::Kind,
    numbered::{parse_numbered, push_comment, refuse_pull_request},
    tracker::{IssueAccess, KindQuestion, Located, Tracker, parsed},
};

/// The most pages of comments that are read. Most versions give all comments on one.
const PAGES_MAX: u32 = 60;

/// Gitea.
pub(crate) struct Gitea;

impl Tracker for Gitea {
    fn kind(&self) -> Kind {
        Kind::Gitea
    }

    fn has_host(&self, host: &str) -> bool {
        matches!(host, "codeberg.org" | "gitea.com")
    }

    fn host_prefix(&self) -> Option<&'static str> {
        Some("gitea")
    }

    fn locate(&self, path: &[&str]) -> Option<Located> {
        match path {
            [owner, repository, "issues", number] => {
                IssueName::of_number(&[owner, repository], number).map(Located::at_root)
            }
            [_, _, "pulls", number, ..] if number.parse::<u64>().is_ok() => {
                Some(Located::PullRequest)
            }
            _ => None,
        }
    }

    fn question(&self) -> Option<KindQuestion> {
        let is_answer = |status, answer: &Value| {
            status == 200 && answer.get("version").is_some_and(Value::is_string)
        };
        Some(KindQuestion { path: "/api/v1/version", is_answer })
    }

    fn page(&self, site: &Site, name: &IssueName) -> String {
        let (project, number) = number_of(name);
        format!("{}/{project}/issues/{number}", site.base())
    }

    fn api(&self, site: &Site) -> String {
        format!("{}/api/v1", site.base())
    }

    fn variables(&self, _: &Site) -> &'static [&'static str] {
        &["GITEA_TOKEN"]
    }

    fn access(&self) -> IssueAccess {
        IssueAccess::Repositories
    }

    fn authorization(&self, token: &str, _: &dyn Fn(&str) -> Option<String>) -> String {
        format!("token {token}")
    }

    fn fetch(&self, client: &Client<'_>, address: &Address, _: &str) -> Result<Issue, HostError> {
        let (project, number) = number_of(&address.name);
        let path = format!("/repos/{project}/issues/{number}");
        let value = client.get(&path)?.json;
        refuse_pull_request(&value, address)?;
        let mut issue = parsed(client, parse_numbered(&value, Kind::Gitea))?;
        let mut comments = Vec::new();
        for page in 1..=PAGES_MAX {
            let answer = client.get(&format!("{path}/comments?page={page}&limit=50"))?;
            comments.extend(answer.json.as_array().cloned().unwrap_or_default());
            if answer.has_next == HasNext::No {
                break;
            }
        }
        let mut newest = NewestComments::default();
        for comment in comments.iter().rev() {
            push_comment(comment, &mut newest);
        }
        let n_comments = value.get("comments").and_then(Value::as_u64).unwrap_or(0);
        let n_read = u64::try_from(comments.len()).unwrap_or(u64::MAX);
        newest.leave_out(n_comments.saturating_sub(n_read));
        newest.into_issue(&mut issue);
        Ok(issue)
    }
}
