//! What Forge has to know of a host to open pull requests there.
//!
//! The hosts themselves are a file each. What is done in which order, and what is not done twice, is in
//! [`crate::pull_requests`].

use crate::{
    client::{Changed, Client, Rejection},
    error::{HostError, MergeObstacle},
    pull_request::{Ends, HostedPullRequest, MergeMethod, PullRequestText},
};

/// The pull requests of a host.
pub(crate) trait PullRequestApi: Sync {
    /// Returns the name that a repository has now.
    fn project(&self, client: &Client<'_>, project: &str) -> Result<String, HostError>;

    /// Returns the pull requests between two branches, open ones and the newest of those that are over.
    fn all(
        &self,
        client: &Client<'_>,
        project: &str,
        ends: &Ends,
    ) -> Result<Vec<HostedPullRequest>, HostError>;

    fn get(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
    ) -> Result<HostedPullRequest, HostError>;

    fn create(
        &self,
        client: &Client<'_>,
        project: &str,
        ends: &Ends,
        text: &PullRequestText,
    ) -> Result<HostedPullRequest, HostError>;

    /// Sets title and body. It stays a draft if it is one.
    fn update(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
        text: &PullRequestText,
    ) -> Result<HostedPullRequest, HostError>;

    fn add_labels(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
        labels: &[String],
    ) -> Result<(), HostError>;

    fn ask_reviewers(
        &self,
        client: &Client<'_>,
        project: &str,
        n: u64,
        names: &[String],
    ) -> Result<(), HostError>;

    /// Makes a draft one that asks to be merged.
    fn mark_ready(
        &self,
        client: &Client<'_>,
        project: &str,
        draft: &HostedPullRequest,
    ) -> Result<(), HostError>;

    /// Merges it, if its commit is still this one.
    fn merge(
        &self,
        client: &Client<'_>,
        project: &str,
        found: &HostedPullRequest,
        method: MergeMethod,
    ) -> Result<(), HostError>;

    /// Closes it without merging. Done twice, it is the same.
    fn close(&self, client: &Client<'_>, project: &str, n: u64) -> Result<(), HostError>;
}

/// Says what became of a merge.
pub(crate) fn merge_answer(changed: Changed, found: &HostedPullRequest) -> Result<(), HostError> {
    let obstacle = match changed {
        Changed::Done(_) => return Ok(()),
        Changed::Rejected(Rejection { status: 409, .. }) => MergeObstacle::OtherCommit,
        Changed::Rejected(Rejection { words, .. }) => MergeObstacle::Protected { words },
    };
    Err(HostError::NotMergeable { address: found.address.clone(), obstacle })
}
