//! Where tokens come from: variables, the hosts' own programs, and git.
//!
//! The caller gives the environment and a way to run a program; nothing is read or started here.
//!
//! Invariant: a variable names no host, so what it holds is only sent to hosts that a person named (see [`HostTrust`]).
//! What a program says is for the host it was asked about.

use crate::{
    address::{Address, Site},
    error::{HostTrust, TokenHelp},
    host_token::{HostToken, TokenGiver},
    host_tokens::HostTokens,
    origin::WebOrigin,
    registry,
    repository::HostedRepository,
    tracker::{IssueAccess, Tracker},
};

/// A program that may know a token. It prints to its standard output, and is asked for a few seconds at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenCommand {
    pub program: String,
    pub args: Vec<String>,
    pub stdin: String,
    /// Variables that it gets besides: no program may ask a person.
    pub variables: Vec<(&'static str, &'static str)>,
    /// Variables that it must not see: it would say what is in them for any host.
    pub withheld: &'static [&'static str],
}

/// The variables that `gh` and `glab` take for the token of whatever host they are asked about.
const OF_ANY_HOST: &[&str] = &[
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITLAB_TOKEN",
    "GITLAB_ACCESS_TOKEN",
    "OAUTH_TOKEN",
];

impl HostTokens {
    /// Looks for a token for an address. `run` returns what a program printed, if it ended well.
    pub fn find(
        address: &Address,
        env: &dyn Fn(&str) -> Option<String>,
        run: &dyn Fn(&TokenCommand) -> Option<String>,
    ) -> Self {
        Self::find_at(registry::tracker(address.kind), &address.site, address.trust, env, run)
    }

    /// Looks for a token for a repository.
    pub fn find_for(
        repository: &HostedRepository,
        env: &dyn Fn(&str) -> Option<String>,
        run: &dyn Fn(&TokenCommand) -> Option<String>,
    ) -> Self {
        let tracker = registry::tracker(repository.kind);
        Self::find_at(tracker, &repository.site, repository.trust, env, run)
    }

    fn find_at(
        tracker: &dyn Tracker,
        site: &Site,
        trust: HostTrust,
        env: &dyn Fn(&str) -> Option<String>,
        run: &dyn Fn(&TokenCommand) -> Option<String>,
    ) -> Self {
        let host = site.origin.host();
        let found = from_variables(tracker, site, trust, env)
            .or_else(|| from_program(tracker, host, run))
            .map(|text| (text, TokenGiver::Host))
            .or_else(|| from_git(tracker, host, run).map(|text| (text, TokenGiver::Git)));
        let api = WebOrigin::of_url(&tracker.api(site));
        let authorize = |token: &str| tracker.authorization(token, env);
        let token = found.and_then(|(text, source)| HostToken::new(&text, source, authorize));
        api.zip(token).map_or_else(Self::none, |(api, token)| Self::one(api, token))
    }
}

impl HostedRepository {
    /// Says how a person gives a token for it.
    pub fn token_help(&self) -> TokenHelp {
        registry::tracker(self.kind).help_at(&self.site, self.trust)
    }
}

fn from_variables(
    tracker: &dyn Tracker,
    site: &Site,
    trust: HostTrust,
    env: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let names = tracker.variables(site);
    let is_named = trust == HostTrust::Named;
    let mut values = names.iter().filter(|_| is_named).filter_map(|name| env(name));
    values.find(|value| !value.trim().is_empty())
}

fn from_program(
    tracker: &dyn Tracker,
    host: &str,
    run: &dyn Fn(&TokenCommand) -> Option<String>,
) -> Option<String> {
    let mut words = tracker.token_program(host)?.into_iter();
    let (program, args) = (words.next()?, words.collect());
    let command = TokenCommand {
        program,
        args,
        stdin: String::new(),
        variables: vec![("GH_PROMPT_DISABLED", "1"), ("NO_PROMPT", "1")],
        withheld: OF_ANY_HOST,
    };
    run(&command).filter(|text| !text.trim().is_empty())
}

fn from_git(
    tracker: &dyn Tracker,
    host: &str,
    run: &dyn Fn(&TokenCommand) -> Option<String>,
) -> Option<String> {
    if tracker.access() != IssueAccess::Repositories {
        return None;
    }
    let answer = run(&TokenCommand {
        program: "git".to_owned(),
        args: vec!["credential".to_owned(), "fill".to_owned()],
        stdin: format!("protocol=https\nhost={host}\n\n"),
        variables: vec![
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", ""),
            ("SSH_ASKPASS", ""),
            ("GCM_INTERACTIVE", "never"),
        ],
        withheld: &[],
    })?;
    let value =
        |key: &str| answer.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let is_same = value("host").is_none_or(|said| said.eq_ignore_ascii_case(host));
    value("password").filter(|password| is_same && !password.trim().is_empty()).map(str::to_owned)
}
