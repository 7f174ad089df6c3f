//! How hosts of issues and pull requests are reached: the client, what a person's settings say, and programs that know tokens.
//!
//! Not here: what is asked of a host, which is in `forge_hosts`.

use std::{
    collections::BTreeMap,
    env,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use forge_driver::{Error, clock::now};
use forge_hosts::{
    HostError, HostTokens, Http, HttpSettings, KeyTracker, Kind, Known, TokenCommand,
};
use forge_project::settings::{HostSettings, KeyOwner};

use crate::short_program::answer_within;

/// How long a program may take that knows a token.
const TOKEN_WAIT: Duration = Duration::from_secs(5);

/// Returns the client, with the proxy and the certificates of the environment.
pub(crate) fn open_http() -> Result<Http, Error> {
    let seconds = || i64::try_from(now() / 1_000).unwrap_or(i64::MAX);
    let settings = HttpSettings::from_env(&variable);
    Http::new(&settings, thread::sleep, seconds).map_err(|error| host_error(&error))
}

/// Returns what a person's settings and the environment say about hosts.
pub(crate) fn known_hosts<'a>(
    hosts: &HostSettings,
    remote: Option<String>,
    http: Option<&'a Http>,
) -> Known<'a> {
    Known {
        remote,
        kinds: kinds(hosts),
        jira: hosts.jira.clone().map(String::from),
        key_tracker: hosts.keys.map(|owner| match owner {
            KeyOwner::Jira => KeyTracker::Jira,
            KeyOwner::Linear => KeyTracker::Linear,
        }),
        with_token: HostTokens::key_trackers(&variable),
        http,
    }
}

/// Returns a variable of the environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Returns what a program says that may know a token.
pub(crate) fn token_of(asked: &TokenCommand) -> Option<String> {
    let mut command = Command::new(&asked.program);
    command.args(&asked.args).envs(asked.variables.iter().copied()).stderr(Stdio::null());
    for name in asked.withheld {
        command.env_remove(name);
    }
    answer_within(command, &asked.stdin, TOKEN_WAIT).ok()
}

pub(crate) fn host_error(error: &HostError) -> Error {
    Error::surroundings(error.what(), error.next())
}

/// Returns the kinds of hosts that a person's settings name.
fn kinds(hosts: &HostSettings) -> BTreeMap<String, Kind> {
    let all =
        [(&hosts.github, Kind::GitHub), (&hosts.gitlab, Kind::GitLab), (&hosts.gitea, Kind::Gitea)];
    let named =
        all.into_iter().flat_map(|(names, kind)| names.iter().map(move |name| (name, kind)));
    named.map(|(name, kind)| ((**name).to_owned(), kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_asked_for_a_token_does_not_see_those_that_are_for_other_hosts() {
        let asked = |withheld| TokenCommand {
            program: "sh".to_owned(),
            args: ["-c", "echo \"${PATH:+seen}\""].map(str::to_owned).to_vec(),
            stdin: String::new(),
            variables: Vec::new(),
            withheld,
        };
        assert_eq!(token_of(&asked(&[])).as_deref().map(str::trim), Some("seen"));
        // Without a path the shell has one of its own, so another variable is asked for.
        let mut command = asked(&["HOME"]);
        command.args[1] = "echo \"${HOME:-none}\"".to_owned();
        assert_eq!(token_of(&command).as_deref().map(str::trim), Some("none"));
    }
}
