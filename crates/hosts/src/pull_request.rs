//! A pull request as every host has it, and what one is made of.
//!
//! What can be done with them is in [`crate::pull_requests`].

use crate::error::MergeObstacle;

/// A pull request at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostedPullRequest {
    pub number: u64,
    /// Its address for people.
    pub address: String,
    pub title: String,
    pub body: String,
    pub state: PullRequestState,
    /// The commit that it would bring.
    pub head_commit: String,
    /// The branch that it is for.
    pub base: String,
}

/// The state of a pull request, with what its host says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullRequestState {
    Open {
        form: PullRequestForm,
        merging: Mergeability,
    },
    /// With the commit in its base, if the host said which.
    Merged {
        commit: Option<String>,
    },
    Closed,
}

/// Whether a pull request asks to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestForm {
    Draft,
    Ready,
}

/// The answer of a host to whether it would merge now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mergeability {
    Possible,
    /// The host has not found out yet.
    Unknown,
    Blocked(MergeObstacle),
}

/// How a pull request is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMethod {
    Merge,
    Squash,
    Rebase,
}

/// The branches of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The repository of the branch: the same one, or a fork.
    pub head_project: String,
    pub head: String,
    pub base: String,
}

/// The words of a pull request, and whether it is a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestText {
    pub title: String,
    pub body: String,
    pub form: PullRequestForm,
}

impl MergeMethod {
    /// Returns the word of GitHub and Gitea.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

/// Returns a title that says by a prefix whether it is a draft.
pub(crate) fn titled(title: &str, form: PullRequestForm, prefix: &str) -> String {
    match form {
        PullRequestForm::Draft => format!("{prefix}{title}"),
        PullRequestForm::Ready => title.to_owned(),
    }
}

/// Reads what a title says by its prefix.
pub(crate) fn form_of(title: &str, prefix: &str) -> PullRequestForm {
    let is_draft = title.starts_with(prefix.trim_end());
    if is_draft { PullRequestForm::Draft } else { PullRequestForm::Ready }
}

impl Ends {
    /// Says whether the branch is in the repository of its base.
    pub(crate) fn are_in(&self, project: &str) -> bool {
        self.head_project.eq_ignore_ascii_case(project)
    }

    /// Returns the branch as GitHub and Gitea name it, with the owner of a fork.
    pub(crate) fn head_label(&self, project: &str) -> String {
        let owner = self.head_project.split('/').next().unwrap_or_default();
        if self.are_in(project) { self.head.clone() } else { format!("{owner}:{}", self.head) }
    }
}
