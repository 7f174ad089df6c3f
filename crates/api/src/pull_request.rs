//! A pull request for the result of a run: its text, the command that pushes its branch, and the page that opens it.
//!
//! Not here: opening it at its host (`host_pull_request`), and the push, which may ask the user for a password. How the text
//! is written is in `driver/src/deliver/pull_request_text.rs`.
//!
//! Invariant: nothing is pushed here, and nothing of the network is used.
//! Invariant: which remote is pushed to is a person's setting, never the repository's.

mod template;

use std::{fmt::Write as _, fs, path::PathBuf};

use forge_core::{
    event::Colour,
    flow::{Delivery, Work},
    run::State,
    view::{ResultView, Standing},
};
use forge_driver::{
    Error,
    deliver::{inert_text::inert, offer},
    run_id::short_id,
};
use forge_hosts::PullRequestTags;
use forge_project::settings::{DraftRule, Settings, Switch};
use forge_workspace::Remote;

pub use forge_hosts::PullRequestForm;

use crate::{forge::Forge, host_access::known_hosts};

/// The most bytes of a template.
const TEMPLATE_BYTES_MAX: u64 = 256 * 1024;

/// The most characters of the summary in a pull request.
const SUMMARY_CHARS_MAX: usize = 30_000;

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
    /// The remote of the base, if there is one.
    pub remote: Option<Remote>,
    /// The name of the remote that the branch is pushed to.
    pub push_remote: String,
    pub form: PullRequestForm,
    pub tags: PullRequestTags,
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
        self.refuse_undone(id)?;
        let head = view.head.as_ref().filter(|_| view.row.why.is_empty());
        let (Some(found), Some(_)) = (&view.row.branch, head) else {
            let id = short_id(id);
            let what = format!("{id} changed no files, so there is no pull request to open");
            return Err(Error::usage(what, format!("forge show {id}")));
        };
        if self.home.repository.resolve_commit(&format!("refs/heads/{found}")).is_none() {
            let id = short_id(id);
            let what = format!("the branch of {id} was moved or deleted; its result is {found}");
            return Err(Error::usage(what, format!("git branch NAME {found}")));
        }
        self.draft_of(id, &view, found.clone())
    }

    /// Returns the pull request for what a run has come to so far, for its driver.
    pub(crate) fn draft_under_way(&self, id: &str) -> Result<PullRequestDraft, Error> {
        let branch = self.fold(id)?.0.branch().map(str::to_owned).ok_or_else(|| {
            let what = format!("{} has no branch that could be pushed", short_id(id));
            Error::usage(what, format!("forge show {}", short_id(id)))
        })?;
        self.draft_of(id, &self.result(id)?, branch)
    }

    /// Returns the pull request for what a run has come to so far.
    fn draft_of(
        &self,
        id: &str,
        view: &ResultView,
        found: String,
    ) -> Result<PullRequestDraft, Error> {
        let repository = &self.home.repository;
        let file = offer::latest(&self.home, id);
        let text = match &file {
            Some(path) => fs::read_to_string(path).map_err(|error| Error::file(path, &error))?,
            None => plain_text(view),
        };
        let (title, body) = split_title(&text);
        let settings = self.settings()?;
        let base = view.base_branch.clone();
        let remote = repository.remote_for(base.as_deref().unwrap_or(&found));
        let push_remote = self.push_remote(&settings, remote.as_ref().map(|own| &*own.name))?;
        let own = &settings.pull_request;
        let is_draft = match own.draft {
            DraftRule::Never => false,
            DraftRule::OpenNotes => !view.noted.is_empty(),
            DraftRule::Always => true,
        };
        let tags = PullRequestTags {
            labels: own.labels.iter().map(|label| label.to_string()).collect(),
            reviewers: own.reviewers.iter().map(|name| name.to_string()).collect(),
        };
        let body = self.completed(id, view, body, &settings, remote.as_ref())?;
        Ok(PullRequestDraft {
            run: id.to_owned(),
            title,
            body,
            file,
            branch: found,
            base,
            remote,
            push_remote,
            form: if is_draft { PullRequestForm::Draft } else { PullRequestForm::Ready },
            tags,
        })
    }

    /// Returns the remote that a branch is pushed to: that of the person's settings, that of their git, or that of the base.
    pub(crate) fn push_remote(
        &self,
        settings: &Settings,
        base: Option<&str>,
    ) -> Result<String, Error> {
        let repository = &self.home.repository;
        let Some(named) = &settings.push.remote else {
            let is_there = |name: &String| repository.remote_addresses(name).is_some();
            let own = repository.push_default().filter(is_there);
            return Ok(own.unwrap_or_else(|| base.unwrap_or("origin").to_owned()));
        };
        if repository.remote_addresses(named).is_none() {
            let what = format!("push.remote is `{}`, but there is no such remote", &**named);
            return Err(Error::usage(what, format!("git remote add {} URL", &**named)));
        }
        Ok(named.to_string())
    }

    /// Puts a text into the template of the repository, with the issue that it closes and, when it is written, the summary.
    fn completed(
        &self,
        id: &str,
        view: &ResultView,
        mut body: String,
        settings: &Settings,
        remote: Option<&Remote>,
    ) -> Result<String, Error> {
        let repository = &self.home.repository;
        let (run, _) = self.fold(id)?;
        let source = run.definition().start.source.clone();
        let addresses = remote.and_then(|remote| repository.remote_addresses(&remote.name));
        let known = known_hosts(&settings.hosts, None, None);
        let number =
            addresses.zip(source).and_then(|(own, page)| known.issue_number(&own.fetch, &page));
        match (settings.pull_request.closes_issue, number) {
            (Switch::On, Some(number)) => {
                let _ = write!(body, "\n\nCloses #{number}");
            }
            (Switch::Off, _) | (Switch::On, None) => {}
        }
        let is_summed_up = run.units().iter().any(|(_, stage, unit)| {
            stage.work == (Work::Deliver { what: Delivery::Summary })
                && unit.state == State::Accepted
        });
        if is_summed_up {
            let summary = inert(&self.summary_as_done(id)?);
            let summary: String = summary.chars().take(SUMMARY_CHARS_MAX).collect();
            let _ = write!(
                body,
                "\n\n<details>\n<summary>Summary of the run</summary>\n\n{summary}\n\n</details>"
            );
        }
        let read = |path: &str| {
            let content = repository.file_at(view.base.as_deref()?, path, TEMPLATE_BYTES_MAX);
            content.ok().flatten().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(match template::find(read) {
            Some(template) => template::fill(&template, &body),
            None => body,
        })
    }
}

impl PullRequestDraft {
    /// Returns the command that pushes the branch.
    pub fn push(&self) -> Vec<String> {
        // Whatever its name begins with, and whether or not a tag has it, too.
        let branch = format!("refs/heads/{0}:refs/heads/{0}", self.branch);
        ["git", "push", "-u", &self.push_remote, &branch].map(str::to_owned).to_vec()
    }

    /// Returns the page that opens it, if the remote says where.
    pub fn page(&self) -> Option<String> {
        let host = self.remote.as_ref()?.host.as_ref()?;
        Some(host.pull_request_page(&self.branch, self.base.as_deref()))
    }
}

/// Writes the text for a flow that writes none itself: what was wanted, and what proves it.
fn plain_text(view: &ResultView) -> String {
    let request = inert(&view.request);
    let request: Vec<String> = request.lines().map(|line| format!("> {line}")).collect();
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
