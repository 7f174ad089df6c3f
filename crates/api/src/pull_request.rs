//! A pull request for the result of a run: its text, the page that opens it, and the commands that do.
//!
//! Not here: running the commands, which may ask the user for a password. How the text is written is in
//! `driver/src/deliver/pull_request_text.rs`.
//!
//! Invariant: nothing is pushed here, and nothing of the network is used.

use std::{fmt::Write as _, fs, path::PathBuf};

use forge_core::{
    event::Colour,
    view::{ResultView, Standing},
};
use forge_driver::{Error, deliver::offer, run_id::short_id};
use forge_workspace::Remote;

use crate::forge::Forge;

/// The program that opens pull requests at GitHub.
pub const GH: &str = "gh";

/// A pull request that could be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestDraft {
    pub run: String,
    pub title: String,
    /// Markdown, without the title.
    pub body: String,
    /// The file with title and body, if the run wrote one.
    pub file: Option<PathBuf>,
    pub branch: String,
    /// The branch that it is for, if it is known.
    pub base: Option<String>,
    /// The remote that the branch is pushed to, if there is one.
    pub remote: Option<Remote>,
}

impl Forge {
    /// Returns the pull request for the result of a run that is done.
    pub fn pull_request(&self, id: &str) -> Result<PullRequestDraft, Error> {
        let view = self.result(id)?;
        if view.row.standing != Standing::Done {
            let id = short_id(id);
            let what = format!("{id} is not done ({})", view.row.standing.label());
            return Err(Error::usage(what, format!("forge status {id}")));
        }
        let head = view.head.as_ref().filter(|_| view.row.why.is_empty());
        let (Some(found), Some(_)) = (view.row.branch.clone(), head) else {
            let id = short_id(id);
            let what = format!("{id} changed no files, so there is no pull request to open");
            return Err(Error::usage(what, format!("forge show {id}")));
        };
        let repository = &self.home.repository;
        if repository.resolve_commit(&format!("refs/heads/{found}")).is_none() {
            let id = short_id(id);
            let what = format!("the branch of {id} was moved or deleted; its result is {found}");
            return Err(Error::usage(what, format!("git branch NAME {found}")));
        }
        let file = offer::latest(&self.home, id);
        let text = match &file {
            Some(path) => fs::read_to_string(path).map_err(|error| Error::file(path, &error))?,
            None => plain_text(&view),
        };
        let (title, body) = split_title(&text);
        let base = view.base_branch;
        let remote = repository.remote_for(base.as_deref().unwrap_or(&found));
        Ok(PullRequestDraft { run: id.to_owned(), title, body, file, branch: found, base, remote })
    }
}

impl PullRequestDraft {
    /// Returns the command that pushes the branch.
    pub fn push(&self) -> Vec<String> {
        let remote = self.remote.as_ref().map_or("origin", |remote| &remote.name);
        ["git", "push", "-u", remote, &self.branch].map(str::to_owned).to_vec()
    }

    /// Returns the command that opens it with `gh`. The body goes to its standard input.
    pub fn create(&self) -> Vec<String> {
        let mut words = vec![GH, "pr", "create", "--title", &self.title, "--body-file", "-"];
        words.extend(["--head", &self.branch]);
        if let Some(base) = &self.base {
            words.extend(["--base", base]);
        }
        words.into_iter().map(str::to_owned).collect()
    }

    /// Returns the page that opens it, if the remote says where.
    pub fn page(&self) -> Option<String> {
        let host = self.remote.as_ref()?.host.as_ref()?;
        Some(host.pull_request_page(&self.branch, self.base.as_deref()))
    }
}

/// Writes the text for a flow that writes none itself: what was wanted, and what proves it.
fn plain_text(view: &ResultView) -> String {
    let request: Vec<String> = view.request.lines().map(|line| format!("> {line}")).collect();
    let mut text = format!("# {}\n\n## Request\n\n{}\n", view.row.title, request.join("\n"));
    text.push_str("\n## Verification\n\n");
    for waived in &view.waived {
        let sentence = waived.sentence();
        let sentence: Vec<&str> = sentence.split_whitespace().collect();
        let _ = writeln!(text, "**Not verified.** {}\n", sentence.join(" "));
    }
    if view.evidence.is_empty() {
        text.push_str("No check ran on this code.\n");
    }
    for evidence in &view.evidence {
        let colour = match evidence.colour {
            Colour::Green => "passed",
            Colour::Red => "failed",
        };
        let _ = writeln!(text, "- `{}`: {colour}", evidence.command);
    }
    if !view.noted.is_empty() {
        text.push_str("\n## Open findings\n\n");
        for left in &view.noted {
            let finding = &left.finding;
            let _ = writeln!(text, "- {}: {}", finding.severity.as_str(), finding.to_line());
        }
    }
    text
}

/// Splits a text into its first heading and the rest.
fn split_title(text: &str) -> (String, String) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    (first.trim_start_matches('#').trim().to_owned(), rest.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_heading_is_the_title_and_the_rest_is_the_body() {
        let (title, body) = split_title("# Add CSV export\n\n## Request\n\n> it\n");
        assert_eq!((title.as_str(), body.as_str()), ("Add CSV export", "## Request\n\n> it"));
        assert_eq!(split_title("only"), ("only".to_owned(), String::new()));
    }
}
