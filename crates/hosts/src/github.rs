//! GitHub and GitHub Enterprise, by the REST interface.
//!
//! Pull requests are in `delivery`. The fields are in [`crate::numbered`].
//!
//! Comments come from the oldest to the newest, so the last pages are read first.

pub(crate) mod delivery;

use serde_json::Value;

use crate::{
    address::{Address, IssueName, Site, number_of},
    client::Client,
    error::HostError,
    issue::{Issue, NewestComments},
    kind::Kind,
    numbered::{parse_numbered, push_comment, refuse_pull_request},
    tracker::{IssueAccess, KindQuestion, Located, Tracker, parsed},
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
        // Those of ghe.com are GitHub's own as well, in a region that an enterprise chose.
        matches!(host, "github.com" | "www.github.com") || host.ends_with(".ghe.com")
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

    fn question(&self) -> Option<KindQuestion> {
        let is_answer = |status, answer: &Value| {
            let keys = ["installed_version", "verifiable_password_authentication"];
            status == 200 && keys.iter().any(|key| answer.get(key).is_some())
        };
        Some(KindQuestion { path: "/api/v3/meta", is_answer })
    }

    fn page(&self, site: &Site, name: &IssueName) -> String {
        let (project, number) = number_of(name);
        format!("{}/{project}/issues/{number}", site.base())
    }

    fn api(&self, site: &Site) -> String {
        match site.origin.host() {
            "github.com" | "www.github.com" => "https://api.github.com".to_owned(),
            host if self.has_host(host) => format!("https://api.{host}"),
            _ => format!("{}/api/v3", site.base()),
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
        let is_usual = matches!(host, "github.com" | "www.github.com");
        let command = "gh auth login".to_owned();
        Some(if is_usual { command } else { format!("{command} --hostname {host}") })
    }

    fn access(&self) -> IssueAccess {
        IssueAccess::Repositories
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::WebOrigin;

    #[test]
    fn the_interface_of_github_itself_is_beside_it_and_an_installed_one_is_below_it() {
        for (host, api, variable) in [
            ("github.com", "https://api.github.com", "GH_TOKEN"),
            ("www.github.com", "https://api.github.com", "GH_TOKEN"),
            ("corp.ghe.com", "https://api.corp.ghe.com", "GH_TOKEN"),
            ("github.example", "https://github.example/api/v3", "GH_ENTERPRISE_TOKEN"),
        ] {
            let origin = WebOrigin::of_host(host).unwrap();
            let site = Site { origin, prefix: String::new() };
            assert_eq!((&*GitHub.api(&site), GitHub.variables(&site)[0]), (api, variable));
        }
    }
}
