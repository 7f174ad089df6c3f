//! The trackers that Forge knows. To add one: a file, a name in [`crate::kind`], and a line here.

use serde_json::Value;

use crate::{
    address::Site,
    client::Client,
    discussion::DiscussionApi,
    document::within_range,
    error::{HostError, HostTrust},
    gitea::{Gitea, delivery::GiteaDelivery},
    github::{GitHub, delivery::GitHubDelivery},
    gitlab::{GitLab, delivery::GitLabDelivery},
    host_tokens::HostTokens,
    http::Http,
    issue::Issue,
    jira::{Jira, delivery::JiraDelivery},
    kind::Kind,
    linear::{Linear, delivery::LinearDelivery},
    numbered_discussion,
    pull_request_api::PullRequestApi,
    tracker::Tracker,
};

/// Every tracker, in the order in which a saved issue is tried and an unknown host is asked.
pub(crate) const ALL: &[&dyn Tracker] = &[&Jira, &Gitea, &GitHub, &GitLab, &Linear];

/// Returns the tracker of a name.
pub(crate) fn tracker(kind: Kind) -> &'static dyn Tracker {
    let found = ALL.iter().find(|tracker| tracker.kind() == kind);
    *found.expect("every name of a tracker is of one in the registry")
}

/// Returns the pull requests of a host of repositories.
pub(crate) fn pull_requests(kind: Kind) -> Option<&'static dyn PullRequestApi> {
    match kind {
        Kind::GitHub => Some(&GitHubDelivery),
        Kind::GitLab => Some(&GitLabDelivery),
        Kind::Gitea => Some(&GiteaDelivery),
        Kind::Jira | Kind::Linear => None,
    }
}

/// Returns what is written at a host.
pub(crate) fn discussion(kind: Kind) -> &'static dyn DiscussionApi {
    match kind {
        Kind::GitHub => &numbered_discussion::GITHUB,
        Kind::GitLab => &numbered_discussion::GITLAB,
        Kind::Gitea => &numbered_discussion::GITEA,
        Kind::Jira => &JiraDelivery,
        Kind::Linear => &LinearDelivery,
    }
}

/// Returns the client that changes something at a host. Without a token there is none.
pub(crate) fn client<'a>(
    (kind, site, trust): (Kind, &Site, HostTrust),
    subject: String,
    tokens: &'a HostTokens,
    http: &'a Http,
) -> Result<Client<'a>, HostError> {
    let tracker = tracker(kind);
    let (api, headers) = (tracker.api(site), tracker.headers());
    let help = Box::new(tracker.help_at(site, trust));
    match tokens.token_for(&api) {
        Some(token) => Ok(Client { http, api, token: Some(token), headers, subject, help }),
        None => Err(HostError::NoToken { help }),
    }
}

impl Issue {
    /// Reads an issue that was saved as JSON: of GitHub or Jira, as their interfaces give it. The name of the field
    /// with story points is a setting.
    pub fn parse(value: &Value, points_field: &str) -> Result<Self, String> {
        let found = ALL.iter().find_map(|tracker| tracker.parse(value, points_field));
        found.unwrap_or_else(|| {
            Err("it is neither a GitHub issue (`number`, `title`, `body`) nor a Jira issue (`key`, \
                 `fields`)"
                .to_owned())
        })
    }

    /// Reads the text of a saved issue, in which numbers too large to be one say nothing.
    pub fn parse_text(text: &str, points_field: &str) -> Result<Self, String> {
        let value = serde_json::from_str(&within_range(text))
            .map_err(|error| format!("it is not JSON: {error}"))?;
        Self::parse(&value, points_field)
    }
}
