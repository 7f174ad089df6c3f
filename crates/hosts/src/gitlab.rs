//! GitLab, its own and installed ones, by the REST interface v4.
//!
//! Merge requests are in `delivery`; epics are not read. Installations below a path are not known.

pub(crate) mod delivery;

use serde_json::Value;

use crate::{
    address::{Address, IssueName, Site, number_of},
    client::{Client, HasNext},
    error::HostError,
    issue::{Comment, Issue, NewestComments, label_names, list_at, text_at, title_at},
    kind::Kind,
    tracker::{IssueAccess, KindQuestion, Located, Tracker, parsed},
};

/// The most pages of notes that are read; most may be GitLab's own.
const PAGES_MAX: u32 = 30;

/// GitLab.
pub(crate) struct GitLab;

impl Tracker for GitLab {
    fn kind(&self) -> Kind {
        Kind::GitLab
    }

    fn has_host(&self, host: &str) -> bool {
        host == "gitlab.com"
    }

    fn host_prefix(&self) -> Option<&'static str> {
        Some("gitlab")
    }

    fn locate(&self, path: &[&str]) -> Option<Located> {
        match path {
            [project @ .., "-", "issues" | "work_items", number]
            | [project @ .., "issues", number] => {
                IssueName::of_number(project, number).map(Located::at_root)
            }
            [_, _, .., "merge_requests", number] if number.parse::<u64>().is_ok() => {
                Some(Located::PullRequest)
            }
            _ => None,
        }
    }

    fn has_own_shape(&self, path: &[&str]) -> bool {
        matches!(path, [_, _, .., "-", "issues" | "work_items" | "merge_requests", _])
    }

    fn question(&self) -> Option<KindQuestion> {
        // Without a token it says only that there is none, in these words.
        let is_answer = |status, answer: &Value| {
            status == 401 && text_at(answer, "message") == Some("401 Unauthorized")
        };
        Some(KindQuestion { path: "/api/v4/version", is_answer })
    }

    fn page(&self, site: &Site, name: &IssueName) -> String {
        let (project, number) = number_of(name);
        format!("{}/{project}/-/issues/{number}", site.base())
    }

    fn api(&self, site: &Site) -> String {
        format!("{}/api/v4", site.base())
    }

    fn variables(&self, _: &Site) -> &'static [&'static str] {
        &["GITLAB_TOKEN"]
    }

    fn token_program(&self, host: &str) -> Option<Vec<String>> {
        Some(["glab", "config", "get", "token", "--host", host].map(str::to_owned).to_vec())
    }

    fn login(&self, host: &str) -> Option<String> {
        Some(format!("glab auth login --hostname {host}"))
    }

    fn access(&self) -> IssueAccess {
        IssueAccess::Repositories
    }

    fn authorization(&self, token: &str, _: &dyn Fn(&str) -> Option<String>) -> String {
        // Right for personal tokens and for those of a sign-in alike.
        format!("Bearer {token}")
    }

    fn fetch(&self, client: &Client<'_>, address: &Address, _: &str) -> Result<Issue, HostError> {
        let (project, number) = number_of(&address.name);
        let path = format!("/projects/{}/issues/{number}", project.replace('/', "%2F"));
        let value = client.get(&path)?.json;
        let mut issue = parsed(client, parse_issue(&value, address))?;
        // What people said, without GitLab's own notes.
        let n_notes = value.get("user_notes_count").and_then(Value::as_u64).unwrap_or(0);
        let mut newest = NewestComments::default();
        let mut n_seen = 0;
        for page in 1..=PAGES_MAX {
            let query = format!("sort=desc&order_by=created_at&per_page=100&page={page}");
            let answer = client.get(&format!("{path}/notes?{query}"))?;
            let notes = answer.json.as_array().into_iter().flatten();
            for note in notes.filter(|note| note.get("system") != Some(&Value::Bool(true))) {
                n_seen += 1;
                let author = note.get("author").and_then(|author| text_at(author, "username"));
                let text = text_at(note, "body").unwrap_or_default();
                if let Some(note) = Comment::new(author, text_at(note, "created_at"), text) {
                    newest.push(note);
                }
            }
            if newest.is_full() || answer.has_next == HasNext::No {
                break;
            }
        }
        newest.leave_out(n_notes.saturating_sub(n_seen));
        newest.into_issue(&mut issue);
        Ok(issue)
    }
}

fn parse_issue(value: &Value, address: &Address) -> Option<Result<Issue, String>> {
    let number = value.get("iid").and_then(Value::as_u64)?;
    Some(title_at(value, "title", "title").map(|title| Issue {
        tracker: Kind::GitLab,
        source: text_at(value, "web_url").unwrap_or(address.page()).to_owned(),
        key: format!("#{number}"),
        title,
        body: text_at(value, "description").unwrap_or_default().to_owned(),
        labels: label_names(list_at(value, "labels")),
        comments: Vec::new(),
        n_comments_left_out: 0,
        points: None,
    }))
}
