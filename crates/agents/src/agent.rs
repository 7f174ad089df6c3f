//! What an agent program has to say about itself, and how a turn of one is started.
//!
//! Not here: which programs there are (`registry`), and running one (`forge_keeper`).
//!
//! Invariant: the prompt goes in by the standard input, never by the command line.
//! Invariant: values of the user's environment are named, never read.

use std::fmt::Debug;
use std::path::Path;

use forge_core::routing::{Effort, Thinking};
use forge_keeper::{Stderr, Stdout};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::signal::{ErrorClass, ModelPrice, Signal, Use};
use crate::variables::TOOLCHAIN_VARIABLES;

/// An agent program that Forge can talk to. What has a default is true of a program about which nothing is
/// known.
pub trait Agent: Debug + Sync {
    /// Returns the name that settings and journals use.
    fn name(&self) -> &'static str;

    /// Returns one sentence for the published schema.
    fn description(&self) -> &'static str;

    /// Says how to start a turn.
    fn start(&self, turn: &TurnRequest<'_>) -> Launch;

    /// Makes a reader of what the program prints. `earlier` is what its session used before.
    fn open_stream(&self, earlier: &Earlier) -> Box<dyn StreamReader>;

    /// Returns the product, as people call it.
    fn title(&self) -> Option<&'static str> {
        None
    }

    /// Returns true if it is part of Forge, and plays from a scenario instead of asking a model.
    fn plays_scenario(&self) -> bool {
        false
    }

    /// Returns the command of our own program that starts the agent and speaks with it, where one stands between: the
    /// command line of [`Agent::start`] is its arguments.
    fn spoken_to_by(&self) -> Option<&'static str> {
        None
    }

    /// Returns the program that is run if the settings name no command.
    fn default_command(&self) -> Option<&'static str> {
        None
    }

    /// Returns true if a session can continue after its process has ended. A scenario says so itself.
    fn can_resume(&self) -> bool {
        false
    }

    /// Returns true if the program itself can hold its answer to a schema.
    fn has_native_schema(&self) -> bool {
        false
    }

    /// Returns true if the program can be told how hard to think.
    fn takes_effort(&self) -> bool {
        false
    }

    /// Returns true if the program itself stops at a cap.
    fn has_own_cap(&self) -> bool {
        false
    }

    /// Returns true if the program itself says what it cost. A scenario does, if it wants to.
    fn reports_cost(&self) -> bool {
        false
    }

    /// Returns true if the costs that it says are totals of a session, also of what earlier processes used in it.
    fn reports_session_totals(&self) -> bool {
        false
    }

    /// Returns true if the stream has a last line, without which nothing counts as done.
    fn reports_end(&self) -> bool {
        false
    }

    /// Returns true if the program says that it is up before it asks a model anything.
    fn reports_begin(&self) -> bool {
        false
    }

    /// Returns true if what it prints is meant for people.
    fn has_readable_output(&self) -> bool {
        true
    }

    /// Returns the provider of a use that names none.
    fn provider(&self) -> &'static str {
        self.name()
    }

    /// Returns what of the user's it gets besides variables that are named in the settings.
    fn passed_keys(&self) -> Option<&'static str> {
        None
    }

    /// Returns the variables, and the file below the home folder, by which a login can be told without a call.
    fn login_traces(&self) -> Option<(&'static [&'static str], &'static str)> {
        None
    }

    /// Arguments that make the program print its version, and nothing else.
    fn version_args(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Returns the newest version of the program with which this Forge was tested.
    fn tested_version(&self) -> Option<&'static str> {
        None
    }

    /// Returns the oldest version of the program that this Forge was tested with and that works.
    fn oldest_version(&self) -> Option<&'static str> {
        self.tested_version()
    }

    /// Returns the command that installs the version with which this Forge was tested.
    fn how_to_install(&self) -> Option<&'static str> {
        None
    }

    /// Returns what to do to be let in by its provider.
    fn how_to_log_in(&self) -> Option<&'static str> {
        None
    }

    /// Returns the class of error that the standard error of the program shows, if it can be recognized.
    fn class_of_errors(&self, _errors: &str) -> Option<ErrorClass> {
        None
    }
}

/// Understands the lines that one process of an agent program prints.
pub trait StreamReader: Debug {
    /// Adds what a line says; at least one signal.
    fn understand(&mut self, line: &str, signals: &mut Vec<Signal>);
}

/// What is known before a process prints anything.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Earlier {
    /// The use of its session before this process, for programs that report totals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Use>,
    /// Prices of the user's, for models of which the program itself does not say what they cost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<ModelPrice>,
}

/// One turn of an agent.
#[derive(Clone, Copy, Debug)]
pub struct TurnRequest<'a> {
    /// Program and first arguments. Empty means the default of the program.
    pub command: &'a [String],
    pub model: Option<&'a str>,
    /// How hard it is to think, for programs that can be told.
    pub effort: Option<Effort>,
    pub thinking: Option<Thinking>,
    pub session: Session<'a>,
    pub access: CodeAccess,
    /// The working directory.
    pub dir: &'a Path,
    pub inbox: &'a Path,
    pub outbox: &'a Path,
    /// A folder of this call alone for passing files; its path must be short, for sockets.
    pub tmp: Option<&'a Path>,
    /// What the answer must look like, where the program can hold itself to it.
    pub schema: Option<&'a Value>,
    /// The most that this turn may cost.
    pub cap_micros: Option<u64>,
}

/// The conversation that a turn belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Session<'a> {
    /// A new one, which gets this name, a UUID.
    New(&'a str),
    /// The one with this name.
    Resume(&'a str),
}

/// Access of a call to the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeAccess {
    /// Changes become a commit.
    Writes,
    /// It writes only into its outbox; what else it changes is discarded.
    Reads,
}

/// A command line with its environment. The prompt is the standard input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    pub argv: Vec<String>,
    /// Variables to set, with their values.
    pub env: Vec<(String, String)>,
    /// Names of variables to pass on from the user, where they are set, beside those of toolchains. A `*` at the end of a name
    /// means every rest.
    pub pass: Vec<&'static str>,
    /// More such names, each passed on only where the variable before it is set: a program that does
    /// not use a cloud does not get its keys.
    pub pass_with: &'static [(&'static str, &'static [&'static str])],
    /// Variables with the values that they get where the user has none.
    pub where_unset: &'static [(&'static str, &'static str)],
    pub stdout: Stdout,
    pub stderr: Stderr,
}

impl Launch {
    /// Returns true if a variable of the user is passed on, in an environment in which these are set.
    pub fn passes_on(&self, name: &str, is_set: impl Fn(&str) -> bool) -> bool {
        let with = self.pass_with.iter().filter(|(needed, _)| is_set(needed));
        let known = self.pass.iter().chain(with.flat_map(|(_, names)| *names));
        known.chain(TOOLCHAIN_VARIABLES).any(|known| names(known, name))
    }
}

/// Returns true if every program gets a variable of the user: agents, and the project's own commands.
pub fn is_common_variable(name: &str) -> bool {
    PASSED_TO_ALL.iter().chain(TOOLCHAIN_VARIABLES).any(|known| names(known, name))
}

/// A `*` at the end of a known name means every rest.
fn names(known: &str, name: &str) -> bool {
    match known.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => known == name,
    }
}

/// What every program needs of the user's environment.
pub(crate) const PASSED_TO_ALL: &[&str] = &[
    "ALL_PROXY",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_*",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Returns a name for a session, made from other names: the same each time, and a UUID (version 8, whose
/// bits are the maker's own).
pub fn session_id(seed: &[&str]) -> String {
    let mut halves = [0x243f_6a88_85a3_08d3_u64, 0x1319_8a2e_0370_7344_u64];
    for (index, half) in halves.iter_mut().enumerate() {
        for part in seed {
            for byte in part.bytes().chain([0xff]) {
                *half = mixed(*half ^ u64::from(byte)).wrapping_add(index as u64);
            }
        }
    }
    let [high, low] = halves;
    let high = high & !0xf000 | 0x8000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// Returns the finisher of splitmix64: every bit of the input moves about half of the output.
const fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_session_has_the_same_name_each_time_and_another_for_every_other_seed() {
        assert_eq!(session_id(&["run", "a#1"]), session_id(&["run", "a#1"]));
        let seeds: [&[&str]; 6] =
            [&["run", "a#1"], &["run", "a#2"], &["runa#1"], &["ru", "na#1"], &[], &[""]];
        let ids: BTreeSet<String> = seeds.iter().map(|seed| session_id(seed)).collect();
        assert_eq!(ids.len(), seeds.len());
        let many: BTreeSet<String> =
            (0..10_000).map(|n: u32| session_id(&["run", &n.to_string()])).collect();
        assert_eq!(many.len(), 10_000);
        for id in ids.iter().chain(&many) {
            let parts: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
            assert_eq!(&id[14..15], "8", "{id}");
            assert!("89ab".contains(&id[19..20]), "{id}");
            assert!(id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()), "{id}");
        }
    }
}
