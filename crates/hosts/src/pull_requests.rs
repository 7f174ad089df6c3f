//! The pull requests of one repository: opened once, updated, merged.
//!
//! Start with [`PullRequests::offer`]. Which words a host has for it is in its file.
//!
//! Invariant: there is one pull request of the same branches and mark, however often it is offered and whichever answer is
//! lost.
//! Invariant: the text of a pull request that does not have the mark is another's, and is not written over.
//! Invariant: only the commit that was asked for is merged.

use std::{slice, time::Duration};

use crate::{
    client::Client,
    error::{HostError, MergeObstacle, PullRequestEnd},
    host_tokens::HostTokens,
    http::Http,
    mark::TextMark,
    once::{Once, once},
    pull_request::{
        Ends, HostedPullRequest, MergeMethod, Mergeability, PullRequestForm, PullRequestState,
        PullRequestText,
    },
    pull_request_api::PullRequestApi,
    registry,
    repository::HostedRepository,
    text_limit::{BODY_MAX, shortened},
};

/// How long it is waited for a merge that the host accepted.
const MERGE_PAUSES: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

/// The pull requests into the branches of one repository.
pub struct PullRequests<'a> {
    repository: &'a HostedRepository,
    client: Client<'a>,
    api: &'static dyn PullRequestApi,
}

/// Who is to look at a pull request, and how it is found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullRequestTags {
    pub labels: Vec<String>,
    /// Names of users; at GitHub also `organization/team`.
    pub reviewers: Vec<String>,
}

/// A pull request that is there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedPullRequest {
    pub change: OfferChange,
    pub pull_request: HostedPullRequest,
    /// What could not be added to it, as labels and reviewers that the host does not know.
    pub flaws: Vec<HostError>,
}

/// How a pull request came to say what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferChange {
    Opened,
    Updated,
    /// It has another's text, which was left as it is.
    LeftAsItIs,
    /// A person edited Forge's text, which was left as it is.
    LeftAsEdited,
}

impl<'a> PullRequests<'a> {
    /// Returns the pull requests of a repository, if there is a token for it.
    pub fn new(
        repository: &'a HostedRepository,
        tokens: &'a HostTokens,
        http: &'a Http,
    ) -> Result<Self, HostError> {
        let place = (repository.kind, &repository.site, repository.trust);
        let client = registry::client(place, repository.sentence(), tokens, http)?;
        let api = registry::pull_requests(repository.kind);
        let api = api.expect("a hosted repository is of a host with pull requests");
        Ok(Self { repository, client, api })
    }

    /// Returns the body that a text becomes: no longer than hosts take, with its mark.
    pub fn body(text: &PullRequestText, mark: &TextMark) -> String {
        mark.after(&shortened(&text.body, BODY_MAX))
    }

    /// Opens a pull request, or updates the one that is open, if its body is as it was written. Labels and reviewers are
    /// added when it is opened.
    pub fn offer(
        &self,
        ends: &Ends,
        text: &PullRequestText,
        mark: &TextMark,
        tags: &PullRequestTags,
        is_as_written: &dyn Fn(&HostedPullRequest) -> bool,
    ) -> Result<OfferedPullRequest, HostError> {
        let project = self.project();
        let name = self.api.project(&self.client, project)?;
        if !name.eq_ignore_ascii_case(project) {
            return Err(self.client.renamed(Some(&name)));
        }
        let text = PullRequestText { body: Self::body(text, mark), ..text.clone() };
        let look = || self.find(ends, mark);
        let create = || self.api.create(&self.client, project, ends, &text);
        match once(self.client.http, &look, &create)? {
            Once::Made(pull_request) => {
                let flaws = self.tag(pull_request.number, tags);
                Ok(OfferedPullRequest { change: OfferChange::Opened, pull_request, flaws })
            }
            Once::Found(found)
                if found.is_open() && mark.is_in(&found.body) && !is_as_written(&found) =>
            {
                let change = OfferChange::LeftAsEdited;
                Ok(OfferedPullRequest { change, pull_request: found, flaws: Vec::new() })
            }
            Once::Found(found) => self.update(found, &text, mark),
        }
    }

    /// Returns the pull request between two branches: the open one, or the last one with this mark.
    pub fn find(
        &self,
        ends: &Ends,
        mark: &TextMark,
    ) -> Result<Option<HostedPullRequest>, HostError> {
        let mut all = self.api.all(&self.client, self.project(), ends)?;
        // The newest first: hosts count upwards.
        all.sort_by_key(|one| std::cmp::Reverse((one.is_open(), one.number)));
        Ok(all.into_iter().find(|one| one.is_open() || mark.is_in(&one.body)))
    }

    pub fn get(&self, number: u64) -> Result<HostedPullRequest, HostError> {
        self.api.get(&self.client, self.project(), number)
    }

    /// Makes a draft one that asks to be merged.
    pub fn mark_ready(&self, number: u64) -> Result<(), HostError> {
        let found = self.get_open(number)?;
        match found.state {
            PullRequestState::Open { form: PullRequestForm::Draft, .. } => {
                self.api.mark_ready(&self.client, self.project(), &found)
            }
            PullRequestState::Open { form: PullRequestForm::Ready, .. }
            | PullRequestState::Merged { .. }
            | PullRequestState::Closed => Ok(()),
        }
    }

    /// Merges a pull request whose commit is this one. Returns it as it is then.
    pub fn merge(
        &self,
        number: u64,
        commit: &str,
        method: MergeMethod,
    ) -> Result<HostedPullRequest, HostError> {
        let found = self.get(number)?;
        let refused =
            |obstacle| Err(HostError::NotMergeable { address: found.address.clone(), obstacle });
        if found.head_commit != commit {
            return refused(MergeObstacle::OtherCommit);
        }
        match &found.state {
            PullRequestState::Merged { .. } => return Ok(found),
            PullRequestState::Closed => {
                let address = found.address;
                return Err(HostError::Over { address, end: PullRequestEnd::Closed });
            }
            PullRequestState::Open { merging: Mergeability::Blocked(obstacle), .. } => {
                return refused(obstacle.clone());
            }
            PullRequestState::Open { .. } => {}
        }
        let merged = self.api.merge(&self.client, self.project(), &found, method);
        // The answer may be lost, or be that of a second try: what is there counts.
        let is_merged = |now: &HostedPullRequest| {
            matches!(now.state, PullRequestState::Merged { .. }) && now.head_commit == commit
        };
        let mut now = self.get(number);
        for pause in MERGE_PAUSES {
            if merged.is_err() || !now.as_ref().is_ok_and(HostedPullRequest::is_open) {
                break;
            }
            self.client.http.wait(pause);
            now = self.get(number);
        }
        match (merged, now) {
            (Ok(()), Ok(now)) => Ok(now),
            (Err(_), Ok(now)) if is_merged(&now) => Ok(now),
            (Ok(()), Err(_)) => {
                Ok(HostedPullRequest { state: PullRequestState::Merged { commit: None }, ..found })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Closes a pull request that is open and has this mark. Returns it as it is then.
    pub fn close(&self, number: u64, mark: &TextMark) -> Result<HostedPullRequest, HostError> {
        let found = self.get(number)?;
        if !found.is_open() || !mark.is_in(&found.body) {
            return Ok(found);
        }
        self.api.close(&self.client, self.project(), number)?;
        Ok(HostedPullRequest { state: PullRequestState::Closed, ..found })
    }

    fn update(
        &self,
        found: HostedPullRequest,
        text: &PullRequestText,
        mark: &TextMark,
    ) -> Result<OfferedPullRequest, HostError> {
        found.refuse_over()?;
        let offered = |change, pull_request| {
            Ok(OfferedPullRequest { change, pull_request, flaws: Vec::new() })
        };
        if !mark.is_in(&found.body) {
            return offered(OfferChange::LeftAsItIs, found);
        }
        let updated = self.api.update(&self.client, self.project(), found.number, text)?;
        offered(OfferChange::Updated, updated)
    }

    /// Adds labels and reviewers, and returns what the host did not take.
    fn tag(&self, number: u64, tags: &PullRequestTags) -> Vec<HostError> {
        let (client, project) = (&self.client, self.project());
        let label = |names: &[String]| self.api.add_labels(client, project, number, names);
        let ask = |names: &[String]| self.api.ask_reviewers(client, project, number, names);
        [refused_names(&tags.labels, &label), refused_names(&tags.reviewers, &ask)].concat()
    }

    fn get_open(&self, number: u64) -> Result<HostedPullRequest, HostError> {
        let found = self.get(number)?;
        found.refuse_over()?;
        Ok(found)
    }

    fn project(&self) -> &str {
        &self.repository.project
    }
}

impl HostedPullRequest {
    fn is_open(&self) -> bool {
        matches!(self.state, PullRequestState::Open { .. })
    }

    /// Refuses a pull request that is over.
    fn refuse_over(&self) -> Result<(), HostError> {
        let end = match self.state {
            PullRequestState::Open { .. } => return Ok(()),
            PullRequestState::Merged { .. } => PullRequestEnd::Merged,
            PullRequestState::Closed => PullRequestEnd::Closed,
        };
        Err(HostError::Over { address: self.address.clone(), end })
    }
}

/// Adds all names at once, or, where the host refuses that, each of them alone. Returns what it refuses.
fn refused_names(
    names: &[String],
    add: &dyn Fn(&[String]) -> Result<(), HostError>,
) -> Vec<HostError> {
    if names.is_empty() {
        return Vec::new();
    }
    match add(names) {
        Ok(()) => Vec::new(),
        Err(error) if names.len() > 1 && error.is_refusal() => {
            names.iter().filter_map(|name| add(slice::from_ref(name)).err()).collect()
        }
        Err(error) => vec![error],
    }
}
