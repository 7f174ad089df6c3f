//! GitHub and GitHub Enterprise, by the REST interface.
//!
//! Pull requests are not read here. Gitea's issues have the same fields, so their reader is here as well.
//!
//! Comments come from the oldest to the newest, so the last pages are read first.

use serde_json::Value;

use crate::{
    address::{Address, IssueName, Site},
    client::Client,
    error::HostError,
    issue::{Comment, Issue, NewestComments, label_names, list_at, text_at, title_at},
    kind::Kind,
    tracker::{Access, Located, Question, Tracker, number_of, parsed},
};

/// Comments on a page; the most that GitHub gives.
const PAGE: u64 = 100;
/// The most pages of comments that are read; all but a few may be of bots.
const PAGES_MAX: u64 = 30;

/// GitHub.
pub(crate) struct GitHub;

impl Tracker for GitHub {
    fn kind(&self) -> Kind {
        Kind::GitHub
    }

    fn has_host(&self, host: &str) -> bool {
        host == "github.com" || host == "www.github.com"
    }

    fn host_prefix(&self) -> Option<&'static str> {
        Some("github")
    }

    fn locate(&self, path: &[&str]) -> Option<Located> {
        match path {
            [owner, repository, "issues", number] => {
                IssueName::of_number(&[owner, repository], number).map(Located::at_root)
            }
            [_, _, "pull" | "pulls", number, ..] if number.parse::<u64>().is_ok() => {
                Some(Located::PullRequest)
            }
            _ => None,
        }
    }

    fn has_own_shape(&self, path: &[&str]) -> bool {
        // Nobody else has it in the singular.
        matches!(path, [_, _, "pull", number] if number.parse::<u64>().is_ok())
    }

    fn question(&self) -> Option<Question> {
        let is_answer = |status, answer: &Value| {
            let keys = ["installed_version", "verifiable_password_authentication"];
            status == 200 && keys.iter().any(|key| answer.get(key).is_some())
        };
        Some(Question { path: "/api/v3/meta", is_answer })
    }

    fn page(&self, site: &Site, name: &IssueName) -> String {
        let (project, number) = number_of(name);
        format!("{}/{project}/issues/{number}", site.base())
    }

    fn api(&self, site: &Site) -> String {
        if self.has_host(site.origin.host()) {
            "https://api.github.com".to_owned()
        } else {
            format!("{}/api/v3", site.base())
        }
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")]
    }

    fn variables(&self, site: &Site) -> &'static [&'static str] {
        if self.has_host(site.origin.host()) {
            &["GH_TOKEN", "GITHUB_TOKEN"]
        } else {
            &["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"]
        }
    }

    fn token_program(&self, host: &str) -> Option<Vec<String>> {
        Some(["gh", "auth", "token", "--hostname", host].map(str::to_owned).to_vec())
    }

    fn login(&self, host: &str) -> Option<String> {
        Some(if self.has_host(host) {
            "gh auth login".to_owned()
        } else {
            format!("gh auth login --hostname {host}")
        })
    }

    fn access(&self) -> Access {
        Access::Repositories
    }

    fn authorization(&self, token: &str, _: &dyn Fn(&str) -> Option<String>) -> String {
        format!("Bearer {token}")
    }

    fn parse(&self, value: &Value, _: &str) -> Option<Result<Issue, String>> {
        parse_numbered(value, Kind::GitHub)
    }

    fn fetch(&self, client: &Client<'_>, address: &Address, _: &str) -> Result<Issue, HostError> {
        let (project, number) = number_of(&address.name);
        let path = format!("/repos/{project}/issues/{number}");
        let value = client.get(&path)?.json;
        refuse_pull_request(&value, address)?;
        let mut issue = parsed(client, parse_numbered(&value, Kind::GitHub))?;
        let n_comments = value.get("comments").and_then(Value::as_u64).unwrap_or(0);
        let mut newest = NewestComments::default();
        let mut page = n_comments.div_ceil(PAGE);
        for _ in 0..PAGES_MAX {
            if page == 0 || newest.is_full() {
                break;
            }
            let comments = client.get(&format!("{path}/comments?per_page={PAGE}&page={page}"))?;
            for comment in comments.json.as_array().into_iter().flatten().rev() {
                push_comment(comment, &mut newest);
            }
            page -= 1;
        }
        newest.leave_out(page * PAGE);
        newest.into_issue(&mut issue);
        Ok(issue)
    }
}

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
