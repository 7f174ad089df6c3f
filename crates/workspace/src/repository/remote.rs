//! The remote that a branch is pushed to, and the page on which its host opens a pull request.
//!
//! Not here: pushing, and hosts' own programs. Nothing here uses the network.
//!
//! Invariant: a user name or password in the address of a remote is never shown.

use std::fmt::{self, Write as _};

use crate::{git::command::Git, repository::locate::Repository};

/// A remote of the user's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    /// Where it is, if its address says so: not for a folder.
    pub host: Option<RemoteHost>,
}

/// The addresses of a remote, as git has them. They may hold a password, so they are not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteAddresses {
    pub fetch: String,
    pub push: String,
}

/// The web pages of a repository at its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteHost {
    /// Such as `github.com`.
    pub name: String,
    /// Owner and repository, such as `me/tool`.
    pub path: String,
}

impl fmt::Debug for RemoteAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteAddresses(***)")
    }
}

impl Repository {
    /// Returns the remote that a branch is pushed to: the branch's own, else `origin`, else the only one.
    pub fn remote_for(&self, branch: &str) -> Option<Remote> {
        let (name, url) = self.remote_name_and_address(branch)?;
        Some(Remote { host: RemoteHost::parse(&url), name })
    }

    /// Returns the address of the same remote, as git has it.
    pub fn remote_address(&self, branch: &str) -> Option<String> {
        self.remote_name_and_address(branch).map(|(_, url)| url).filter(|url| !url.is_empty())
    }

    /// Returns the addresses of a remote, if there is one of this name.
    pub fn remote_addresses(&self, name: &str) -> Option<RemoteAddresses> {
        let fetch = self.line(&["remote", "get-url", "--", name])?;
        let push = self.line(&["remote", "get-url", "--push", "--", name])?;
        Some(RemoteAddresses { fetch, push })
    }

    /// Returns the remote that the user's git pushes to from every branch, if one is set.
    pub fn push_default(&self) -> Option<String> {
        self.line(&["config", "--get", "remote.pushDefault"])
    }

    fn line(&self, args: &[&str]) -> Option<String> {
        let git = Git::in_git_dir(&self.common_dir).args(args);
        git.run_line().ok().filter(|line| !line.is_empty())
    }

    fn remote_name_and_address(&self, branch: &str) -> Option<(String, String)> {
        let all = self.line(&["remote"])?;
        let all: Vec<&str> = all.lines().collect();
        let own = self.line(&["config", "--get", &format!("branch.{branch}.remote")]);
        let own = own.filter(|name| all.contains(&name.as_str()));
        let name = own.or_else(|| match all.as_slice() {
            names if names.contains(&"origin") => Some("origin".to_owned()),
            [only] => Some((*only).to_owned()),
            _ => None,
        })?;
        let url = self.line(&["remote", "get-url", "--push", &name]).unwrap_or_default();
        Some((name, url))
    }
}

impl RemoteHost {
    /// Parses `https://host/a/b.git`, `ssh://git@host:22/a/b` and `git@host:a/b.git`.
    pub fn parse(url: &str) -> Option<Self> {
        let (place, path) = match url.split_once("://") {
            Some(("file", _)) => return None,
            Some((_, rest)) => rest.split_once('/')?,
            None => url.split_once(':').filter(|(place, _)| !place.contains('/'))?,
        };
        let host = place.rsplit('@').next()?;
        let host = host.split(':').next()?;
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let is_whole = !host.is_empty() && path.contains('/');
        is_whole.then(|| Self { name: host.to_owned(), path: path.to_owned() })
    }

    /// Returns the page that opens a pull request of `branch` into `base`.
    pub fn pull_request_page(&self, branch: &str, base: Option<&str>) -> String {
        let Self { name, path } = self;
        let branch = encoded(branch);
        if name.contains("gitlab") {
            let base = base.map(|base| format!("&merge_request[target_branch]={}", encoded(base)));
            return format!(
                "https://{name}/{path}/-/merge_requests/new?merge_request[source_branch]={branch}{}",
                base.unwrap_or_default()
            );
        }
        let base = base.map(|base| format!("{}...", encoded(base))).unwrap_or_default();
        let expand = if name.contains("github") { "?expand=1" } else { "" };
        format!("https://{name}/{path}/compare/{base}{branch}{expand}")
    }
}

/// Encodes the name of a branch for an address. Slashes stay.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_host_and_repository_and_never_a_password() {
        for url in [
            "https://github.com/me/tool.git",
            "https://github.com/me/tool",
            "https://me:secret@github.com/me/tool.git",
            "git@github.com:me/tool.git",
            "ssh://git@github.com:22/me/tool.git",
        ] {
            let host = RemoteHost::parse(url).expect(url);
            assert_eq!(
                (host.name.as_str(), host.path.as_str()),
                ("github.com", "me/tool"),
                "{url}"
            );
        }
        for url in ["", "/srv/git/tool.git", "../tool", "file:///srv/tool.git", "C:tool"] {
            assert_eq!(RemoteHost::parse(url), None, "{url}");
        }
    }

    #[test]
    fn every_host_has_its_own_page_for_a_pull_request() {
        let page = |url: &str, base| {
            RemoteHost::parse(url).expect(url).pull_request_page("forge/a b", base)
        };
        assert_eq!(
            page("git@github.com:me/tool.git", Some("main")),
            "https://github.com/me/tool/compare/main...forge/a%20b?expand=1"
        );
        assert_eq!(
            page("https://gitlab.example.org/group/sub/tool.git", Some("main")),
            "https://gitlab.example.org/group/sub/tool/-/merge_requests/new?merge_request[source_branch]=forge/a%20b&merge_request[target_branch]=main"
        );
        assert_eq!(
            page("https://codeberg.org/me/tool.git", None),
            "https://codeberg.org/me/tool/compare/forge/a%20b"
        );
    }
}
