//! The pull request of a run at its host: opened or updated, remembered, merged; and a comment at the issue of a run.
//!
//! Not here: its text (`pull_request`), the push, and the asking. Nothing is done before a person said yes.
//!
//! Invariant: the repository is that of the user's own remote; no setting of a repository says where a token goes.
//! Invariant: only the commit that is the result of the run is merged, and only that one counts as merged.

use std::{fs, io};

use forge_core::{hex::hex, view::sanitize};
use forge_driver::{Error, deliver::inert_text::inert, run_id::short_id};
use forge_hosts::{
    Address, Ends, HostError, HostTokens, HostedPullRequest, HostedRepository, Http, MergeMethod,
    PullRequestState, PullRequestText, PullRequests, TextMark, check_comment_token,
    comment_at_issue, delete_comment, has_comment,
};
use forge_project::settings::{PullRequestMerge, Settings};
use forge_store::atomic_file::replace;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use forge_hosts::{CommentChange, OfferChange, OfferedPullRequest, PostedComment};

use crate::{
    forge::Forge,
    host_access::{host_error, known_hosts, open_http, token_of, variable},
    pull_request::PullRequestDraft,
};

/// What the mark of a pull request says that it is.
const PULL_REQUEST: &str = "pull-request";
/// What the mark of a comment says that it is.
const SUMMARY: &str = "summary";
/// The file in the folder of a run that names its pull request.
const FILE: &str = "pull-request.json";

/// Where the pull request of a run is, or would be.
pub struct PullRequestPlace {
    repository: HostedRepository,
    ends: Ends,
    http: Http,
    tokens: HostTokens,
}

/// What is remembered of the pull request of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RememberedPullRequest {
    version: u32,
    host: String,
    project: String,
    number: u64,
    address: String,
    /// The commit with which it was seen merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    merged: Option<String>,
    /// The digest of the body that Forge wrote last, as its host gave it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_digest: Option<String>,
    /// That of the body that it was about to write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    writing: Option<String>,
}

/// An open pull request of a run, which can be merged.
pub struct OpenPullRequest {
    place: PullRequestPlace,
    found: HostedPullRequest,
    /// The result of the run.
    head: String,
    pub method: PullRequestMerge,
}

/// The issue that a run came from, and how it is reached.
struct SourceIssue {
    address: Address,
    tokens: HostTokens,
    http: Http,
}

/// Where Forge's comment is at the issue of a run.
pub(crate) enum SourceComment {
    None,
    At(String),
    /// There is no token for the host.
    Unknown {
        host: String,
    },
}

impl Forge {
    /// Returns where the pull request of a draft would be, or why Forge cannot open it.
    pub fn pull_request_place(&self, draft: &PullRequestDraft) -> Result<PullRequestPlace, Error> {
        self.place(&draft.run, &draft.branch, draft.base.as_deref())
    }

    /// Opens the pull request of a draft, or updates it, and remembers it. The branch must have been pushed.
    pub fn offer_pull_request(
        &self,
        draft: &PullRequestDraft,
        place: &PullRequestPlace,
    ) -> Result<OfferedPullRequest, Error> {
        self.refuse_agents()?;
        self.offer_for_driver(draft, place)
    }

    /// The same for the driver of the run.
    pub(crate) fn offer_for_driver(
        &self,
        draft: &PullRequestDraft,
        place: &PullRequestPlace,
    ) -> Result<OfferedPullRequest, Error> {
        let PullRequestDraft { title, body, form, tags, .. } = draft;
        let (title, body) = (sanitize(title), sanitize(body));
        let text = PullRequestText { title, body, form: *form };
        let all = place.all()?;
        let known = self.remembered(&draft.run)?.filter(|known| place.is_that_of(known));
        let is_as_written = |found: &HostedPullRequest| {
            let known = known.as_ref().filter(|known| known.number == found.number);
            let own = known.and_then(|known| known.body_digest.as_ref());
            let now = Some(body_digest(&found.body));
            own.is_none() || own == now.as_ref() || known.is_some_and(|known| known.writing == now)
        };
        let mark = mark(&draft.run, PULL_REQUEST);
        if let Some(known) = &known {
            // Whoever is killed after the host has it and before that is remembered has edited nothing.
            let writing = Some(body_digest(&PullRequests::body(&text, &mark)));
            self.remember(&draft.run, &RememberedPullRequest { writing, ..known.clone() })?;
        }
        let offered = all.offer(&place.ends, &text, &mark, tags, &is_as_written);
        let offered = offered.map_err(|error| host_error(&error))?;
        let found = &offered.pull_request;
        match offered.change {
            OfferChange::Opened | OfferChange::Updated => {}
            OfferChange::LeftAsItIs | OfferChange::LeftAsEdited => return Ok(offered),
        }
        self.remember(
            &draft.run,
            &RememberedPullRequest {
                version: 1,
                host: place.repository.host().to_owned(),
                project: place.repository.project().to_owned(),
                number: found.number,
                address: found.address.clone(),
                merged: None,
                body_digest: Some(body_digest(&found.body)),
                writing: None,
            },
        )?;
        Ok(offered)
    }

    /// Makes a draft one that asks to be merged.
    pub fn mark_ready(&self, place: &PullRequestPlace, number: u64) -> Result<(), Error> {
        self.refuse_agents()?;
        place.all()?.mark_ready(number).map_err(|error| host_error(&error))
    }

    /// Returns the open pull request that Forge opened for a run, if it opened one. One that is over, or is for another branch
    /// now, is an error that says where it is.
    pub fn open_pull_request(&self, id: &str) -> Result<Option<OpenPullRequest>, Error> {
        let Some((place, found)) = self.remembered_at_host(id)? else { return Ok(None) };
        let address = &found.address;
        match &found.state {
            PullRequestState::Merged { .. } => {
                let what = format!("{} is merged already: {address}", short_id(id));
                return Err(Error::usage(what, "git pull"));
            }
            PullRequestState::Closed => {
                let what = format!("the pull request of {} was closed: {address}", short_id(id));
                return Err(Error::usage(what, format!("open {address}")));
            }
            PullRequestState::Open { .. } if found.base != place.ends.base => {
                let (base, own) = (&found.base, &place.ends.base);
                let what = format!("{address} is for `{base}` now, and the run is for `{own}`");
                return Err(Error::usage(what, format!("open {address}")));
            }
            PullRequestState::Open { .. } => {}
        }
        let Some(head) = self.result(id)?.head else { return Ok(None) };
        let method = self.settings()?.pull_request.merge;
        Ok(Some(OpenPullRequest { place, found, head, method }))
    }

    /// Merges a pull request at its host. Only for a person who was asked and said yes. Returns the commit, if the host says
    /// which it is.
    pub fn merge_pull_request(&self, open: &OpenPullRequest) -> Result<Option<String>, Error> {
        self.refuse_agents()?;
        let method = match open.method {
            PullRequestMerge::Merge => MergeMethod::Merge,
            PullRequestMerge::Squash => MergeMethod::Squash,
            PullRequestMerge::Rebase => MergeMethod::Rebase,
        };
        let merged = open.place.all()?.merge(open.found.number, &open.head, method);
        match merged.map_err(|error| host_error(&error))?.state {
            PullRequestState::Merged { commit } => Ok(commit),
            PullRequestState::Open { .. } | PullRequestState::Closed => {
                let what = format!(
                    "the host accepted the merge of {}, but has not merged it yet",
                    open.found.address
                );
                Err(Error::surroundings(what, format!("open {}", open.found.address)))
            }
        }
    }

    /// Returns the address of the pull request that brought a commit of a run into its base, if one did.
    pub(crate) fn merged_at_host(&self, id: &str, head: &str) -> Result<Option<String>, Error> {
        let Some(known) = self.remembered(id)? else { return Ok(None) };
        if known.merged.as_deref() == Some(head) {
            return Ok(Some(known.address));
        }
        let Some((place, found)) = self.remembered_at_host(id)? else { return Ok(None) };
        let is_merged =
            matches!(found.state, PullRequestState::Merged { .. }) && found.base == place.ends.base;
        if !is_merged || found.head_commit != head {
            return Ok(None);
        }
        let address = known.address.clone();
        self.remember(id, &RememberedPullRequest { merged: Some(head.to_owned()), ..known })?;
        Ok(Some(address))
    }

    /// Writes the summary of a run as a comment at the issue that it came from, or updates that comment.
    pub fn comment_at_source(&self, id: &str) -> Result<PostedComment, Error> {
        self.refuse_agents()?;
        self.comment_for_driver(id)
    }

    /// The same for the driver of the run.
    pub(crate) fn comment_for_driver(&self, id: &str) -> Result<PostedComment, Error> {
        let Some(SourceIssue { address, tokens, http }) = self.source_issue(id)? else {
            let short = short_id(id);
            let what =
                format!("{short} did not come from an issue, so there is nowhere to comment");
            return Err(Error::usage(what, format!("forge show {short}")));
        };
        let mut text = inert(&self.summary_as_done(id)?);
        if let Some(known) = self.remembered(id)? {
            text = format!("Pull request: {}\n\n{text}", known.address);
        }
        let text = sanitize(&text);
        comment_at_issue(&address, &tokens, &http, &mark(id, SUMMARY), &text)
            .map_err(|error| host_error(&error))
    }

    /// Returns the address of the issue of a run, if Forge's comment is there. Without a token it is not known, and the
    /// host is named.
    pub(crate) fn comment_of(&self, id: &str) -> Result<SourceComment, Error> {
        let Some(SourceIssue { address, tokens, http }) = self.source_issue(id)? else {
            return Ok(SourceComment::None);
        };
        match has_comment(&address, &tokens, &http, &mark(id, SUMMARY)) {
            Ok(true) => Ok(SourceComment::At(address.page().to_owned())),
            Ok(false) => Ok(SourceComment::None),
            Err(HostError::NoToken { .. }) => {
                Ok(SourceComment::Unknown { host: address.host().to_owned() })
            }
            Err(error) => Err(host_error(&error)),
        }
    }

    /// Deletes Forge's comment from the issue of a run.
    pub(crate) fn delete_comment_of(&self, id: &str) -> Result<(), Error> {
        let Some(SourceIssue { address, tokens, http }) = self.source_issue(id)? else {
            return Ok(());
        };
        delete_comment(&address, &tokens, &http, &mark(id, SUMMARY))
            .map_err(|error| host_error(&error))
    }

    /// Returns how the issue is reached that a run came from, if it came from one.
    fn source_issue(&self, id: &str) -> Result<Option<SourceIssue>, Error> {
        match self.fold(id)?.0.definition().start.source.clone() {
            Some(source) => self.issue_at(&source),
            None => Ok(None),
        }
    }

    /// Fails if there is no token for a comment at an issue.
    pub(crate) fn check_comment_token(&self, source: &str) -> Result<(), Error> {
        let Some(SourceIssue { address, tokens, http }) = self.issue_at(source)? else {
            return Ok(());
        };
        check_comment_token(&address, &tokens, &http).map_err(|error| {
            let HostError::NoToken { help } = &error else { return host_error(&error) };
            let what = format!("there is no token for a comment at {}", address.host());
            Error::surroundings(what, help.sentence())
        })
    }

    /// Returns how an issue is reached, if that is the address of one.
    fn issue_at(&self, source: &str) -> Result<Option<SourceIssue>, Error> {
        if !source.contains("://") {
            return Ok(None);
        }
        let (settings, http) = (self.settings()?, open_http()?);
        let repository = &self.home.repository;
        let remote = repository.branch().and_then(|branch| repository.remote_address(&branch));
        let known = known_hosts(&settings.hosts, remote, Some(&http));
        let address = Address::parse(source, &known);
        let Some(address) = address.transpose().map_err(|error| host_error(&error))? else {
            return Ok(None);
        };
        let tokens = HostTokens::find(&address, &variable, &token_of);
        Ok(Some(SourceIssue { address, tokens, http }))
    }

    /// Returns the pull request of a run as it is at its host, with where that is: the one that is remembered, or, where
    /// that is lost, the one between its branches that has its mark. Without a host or a token there is none.
    pub(crate) fn own_pull_request(
        &self,
        id: &str,
        branch: &str,
        base: Option<&str>,
    ) -> Result<Option<(PullRequestPlace, HostedPullRequest)>, Error> {
        if let Some(known) = self.remembered(id)? {
            let place = self.place(id, branch, base)?;
            if place.is_that_of(&known) {
                let found = place.all()?.get(known.number).map_err(|error| host_error(&error))?;
                return Ok(Some((place, found)));
            }
        }
        let Ok(place) = self.place(id, branch, base) else { return Ok(None) };
        if place.check_token().is_err() {
            return Ok(None);
        }
        let mark = mark(id, PULL_REQUEST);
        let found = place.all()?.find(&place.ends, &mark).map_err(|error| host_error(&error))?;
        Ok(found.filter(|found| mark.is_in(&found.body)).map(|found| (place, found)))
    }

    /// Returns the pull request that is remembered of a run, as it is at its host now.
    pub(crate) fn remembered_at_host(
        &self,
        id: &str,
    ) -> Result<Option<(PullRequestPlace, HostedPullRequest)>, Error> {
        let Some(known) = self.remembered(id)? else { return Ok(None) };
        let view = self.result(id)?;
        let Some(branch) = &view.row.branch else { return Ok(None) };
        let place = self.place(id, branch, view.base_branch.as_deref())?;
        if !place.is_that_of(&known) {
            return Ok(None);
        }
        let found = place.all()?.get(known.number).map_err(|error| host_error(&error))?;
        Ok(Some((place, found)))
    }

    /// Returns where the pull request of a run that is about to begin would be.
    pub(crate) fn place_to_come(
        &self,
        without: String,
        settings: &Settings,
    ) -> Result<PullRequestPlace, Error> {
        let base = self.home.repository.branch();
        self.place_in(settings, without, "", base.as_deref())
    }

    fn place(&self, id: &str, branch: &str, base: Option<&str>) -> Result<PullRequestPlace, Error> {
        let print = format!("forge pr {} --print", short_id(id));
        self.place_in(&self.settings()?, print, branch, base)
    }

    /// Returns where a pull request would be. `print` is what a person can do without.
    fn place_in(
        &self,
        settings: &Settings,
        print: String,
        branch: &str,
        base: Option<&str>,
    ) -> Result<PullRequestPlace, Error> {
        let repository = &self.home.repository;
        let base = base.map(str::to_owned).or_else(|| repository.default_branch());
        let base = base.ok_or_else(|| {
            let what = "the branch that the pull request is for is not known";
            Error::usage(what, print.clone())
        })?;
        let http = open_http()?;
        let remote = repository.remote_for(&base).map(|remote| remote.name);
        let push = self.push_remote(settings, remote.as_deref())?;
        let no_host = |name: &str| {
            let what = format!("the remote `{name}` is not at a host that Forge knows");
            Error::surroundings(what, print.clone())
        };
        let name = remote.ok_or_else(|| {
            let what = "a pull request needs a remote, and this repository has none";
            Error::surroundings(what, format!("git remote add origin URL\n   or: {print}"))
        })?;
        // An address may also be a folder or a gateway, which names no host. Then the other one counts.
        let first_hosted = |addresses: &[&String]| -> Result<Option<HostedRepository>, Error> {
            let known =
                |remote: &str| known_hosts(&settings.hosts, Some(remote.to_owned()), Some(&http));
            let parse = |address: &&String| HostedRepository::parse(address, &known(address));
            let found = addresses.iter().find_map(parse);
            found.transpose().map_err(|error| host_error(&error))
        };
        let own = repository.remote_addresses(&name).ok_or_else(|| no_host(&name))?;
        let base_repository =
            first_hosted(&[&own.fetch, &own.push])?.ok_or_else(|| no_host(&name))?;
        let pushed = repository.remote_addresses(&push).ok_or_else(|| no_host(&push))?;
        let head_repository = first_hosted(&[&pushed.push, &pushed.fetch])?;
        let head_repository = head_repository.ok_or_else(|| no_host(&push))?;
        if !head_repository.is_beside(&base_repository) {
            let what = format!("the remotes `{push}` and `{name}` are at different hosts");
            return Err(Error::usage(what, print));
        }
        let tokens = HostTokens::find_for(&base_repository, &variable, &token_of);
        let head_project = head_repository.project().to_owned();
        let ends = Ends { head_project, head: branch.to_owned(), base };
        Ok(PullRequestPlace { repository: base_repository, ends, http, tokens })
    }

    fn remembered(&self, id: &str) -> Result<Option<RememberedPullRequest>, Error> {
        let path = self.home.run(id).join(FILE);
        match fs::read(&path) {
            // One that cannot be read is as one that was never written: it is found at the host again.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file(&path, &error)),
        }
    }

    fn remember(&self, id: &str, known: &RememberedPullRequest) -> Result<(), Error> {
        let path = self.home.run(id).join(FILE);
        let json = serde_json::to_string_pretty(known).expect("it can be written") + "\n";
        replace(&path, json.as_bytes()).map_err(|error| Error::file(&path, &error))
    }
}

impl PullRequestPlace {
    /// Returns it as a sentence names it: host and repository.
    pub fn sentence(&self) -> String {
        format!("{}/{}", self.repository.host(), self.repository.project())
    }

    /// Returns the branches: that of the run, with its owner if it is in a fork, and the base.
    pub fn branches(&self) -> String {
        let Ends { head_project, head, base } = &self.ends;
        let is_fork = head_project != self.repository.project();
        let fork = if is_fork { format!("{head_project}:") } else { String::new() };
        format!("{fork}{head} into {base}")
    }

    /// Refuses a place for which there is no token.
    pub fn check_token(&self) -> Result<(), Error> {
        self.all().map(|_| ())
    }

    /// Closes the pull request of a run, if it is open.
    pub(crate) fn close(&self, id: &str, number: u64) -> Result<(), Error> {
        let closed = self.all()?.close(number, &mark(id, PULL_REQUEST));
        closed.map(|_| ()).map_err(|error| host_error(&error))
    }

    /// Says whether a remembered pull request is there. A remote that leads elsewhere now has others with the same numbers.
    fn is_that_of(&self, known: &RememberedPullRequest) -> bool {
        self.repository.host() == known.host && self.repository.project() == known.project
    }

    fn all(&self) -> Result<PullRequests<'_>, Error> {
        PullRequests::new(&self.repository, &self.tokens, &self.http).map_err(|error| {
            let HostError::NoToken { help } = &error else { return host_error(&error) };
            let what = format!("there is no token for {}", self.repository.host());
            Error::surroundings(what, help.sentence())
        })
    }
}

impl OpenPullRequest {
    pub fn address(&self) -> &str {
        &self.found.address
    }

    pub fn title(&self) -> &str {
        &self.found.title
    }
}

/// Returns the mark of a text of a run.
fn mark(id: &str, purpose: &str) -> TextMark {
    TextMark::new(id, purpose, &format!("Forge run {}", short_id(id)))
}

/// Returns the digest of a body, without the line ends and the space at ends that hosts change.
fn body_digest(body: &str) -> String {
    let lines: Vec<&str> = body.trim().lines().map(str::trim_end).collect();
    hex(&Sha256::digest(lines.join("\n")))
}

/// Says whether a text is that of the pull request of a run.
pub(crate) fn is_text_of(id: &str, body: &str) -> bool {
    mark(id, PULL_REQUEST).is_in(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_space_at_ends_make_no_other_body() {
        let digest = body_digest("One  \n\n- two\n");
        assert_eq!(digest, body_digest("\nOne\r\n\r\n- two"));
        assert_ne!(digest, body_digest("One\n- two"));
    }
}
