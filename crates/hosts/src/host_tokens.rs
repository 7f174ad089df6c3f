//! The tokens that were found, each for the interface of one host.
//!
//! Where they come from is in [`crate::token_sources`].
//!
//! Invariant: a token is only given out for the interface that it was found for.

use crate::{host_token::HostToken, kind::KeyTracker, origin::WebOrigin};

/// The tokens that were found.
#[derive(Clone, Debug, Default)]
pub struct HostTokens {
    found: Option<FoundToken>,
}

/// A token and the interface that it is for.
#[derive(Clone, Debug)]
struct FoundToken {
    api: WebOrigin,
    token: HostToken,
}

impl HostTokens {
    /// Returns no token at all: what is public can be read.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns one token for the interface of a host.
    pub(crate) fn one(api: WebOrigin, token: HostToken) -> Self {
        Self { found: Some(FoundToken { api, token }) }
    }

    /// Returns the trackers of bare keys that have a token in a variable.
    pub fn key_trackers(env: &dyn Fn(&str) -> Option<String>) -> Vec<KeyTracker> {
        let all = [(KeyTracker::Jira, "JIRA_TOKEN"), (KeyTracker::Linear, "LINEAR_API_KEY")];
        let has = |name: &str| env(name).is_some_and(|value| !value.trim().is_empty());
        all.into_iter().filter(|(_, name)| has(name)).map(|(tracker, _)| tracker).collect()
    }

    /// Returns the token for an interface.
    pub(crate) fn token_for(&self, api: &str) -> Option<&HostToken> {
        let api = WebOrigin::of_url(api)?;
        self.found.iter().find(|found| found.api == api).map(|found| &found.token)
    }
}
