//! Which agent programs there are, and how a turn of one is started.
//!
//! A kind is a table row: its file (`claude`, `program`) knows the vendor's words, and everybody
//! else asks the questions below.
//!
//! Not here: reading what it prints (`heard`), and running it (`keeper`).
//!
//! Invariant: the prompt goes in by the standard input, never by the command line.
//! Invariant: values of the user's environment are named, never read.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{claude, program};
use forge_keeper::{Stderr, Stdout};

/// An agent program that Forge can talk to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Our own player of scenarios.
    Scripted,
    /// Claude Code.
    Claude,
    /// Any program that takes a brief on its standard input.
    Program,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Scripted, Self::Claude, Self::Program];

    /// As it is written in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scripted => "scripted",
            Self::Claude => "claude",
            Self::Program => "program",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether a session can go on after its process has ended. A scenario says so itself.
    pub const fn can_resume(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Scripted | Self::Program => false,
        }
    }

    /// Whether the program itself can hold its answer to a schema.
    pub const fn has_native_schema(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Scripted | Self::Program => false,
        }
    }

    /// Whether the stream has a last line, without which nothing counts as done.
    pub const fn says_when_it_ends(self) -> bool {
        match self {
            Self::Scripted | Self::Claude => true,
            Self::Program => false,
        }
    }

    /// Arguments that make the program print its version, and nothing else.
    pub const fn version_args(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Claude => Some(claude::VERSION_ARGS),
            Self::Scripted | Self::Program => None,
        }
    }

    /// Whether the program itself says what it cost. A scenario does, if it wants to.
    pub const fn reports_cost(self) -> bool {
        match self {
            Self::Scripted | Self::Claude => true,
            Self::Program => false,
        }
    }

    /// Whether the program itself stops at a cap.
    pub const fn has_own_cap(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Scripted | Self::Program => false,
        }
    }

    /// The version of the program with which this Forge was tested.
    pub const fn tested_version(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some(claude::TESTED),
            Self::Scripted | Self::Program => None,
        }
    }

    /// The command that installs the program, or a newer one.
    pub const fn how_to_install(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some(claude::INSTALL),
            Self::Scripted | Self::Program => None,
        }
    }

    /// What to do to be let in by its provider.
    pub const fn how_to_log_in(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some(claude::LOG_IN),
            Self::Scripted | Self::Program => None,
        }
    }

    /// What is run if the settings name no command.
    pub const fn default_command(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some(claude::COMMAND),
            Self::Scripted | Self::Program => None,
        }
    }
}

/// One turn of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Program and first arguments. Empty means the default of the kind.
    pub command: &'a [String],
    pub model: Option<&'a str>,
    pub session: Session<'a>,
    pub hand: Hand,
    pub inbox: &'a Path,
    pub outbox: &'a Path,
    /// A folder of this call alone for passing files; its path must be short, for sockets.
    pub tmp: Option<&'a Path>,
    /// What the answer must look like, where the program can hold itself to it.
    pub schema: Option<&'a Value>,
    /// What this turn may cost.
    pub cap_micros: Option<u64>,
}

/// Whose memory a turn has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Session<'a> {
    /// None yet; the session gets this name, a UUID.
    New(&'a str),
    /// That of the session with this name.
    Resume(&'a str),
}

/// What a role may do with the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hand {
    Writes,
    /// It writes only into its outbox.
    Reads,
}

/// How to start a turn. The prompt is the standard input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    pub argv: Vec<String>,
    /// Variables to set.
    pub env: Vec<(String, String)>,
    /// Names of variables to pass on from the user, where they are set. A `*` at the end of a name
    /// means every rest.
    pub pass: Vec<&'static str>,
    /// More such names, each passed on only where the variable before it is set: who does not use a
    /// cloud does not get its keys.
    pub pass_with: &'static [(&'static str, &'static [&'static str])],
    pub stdout: Stdout,
    pub stderr: Stderr,
}

impl Start {
    /// Whether a variable of the user is passed on, in an environment in which these are set.
    pub fn passes(&self, name: &str, is_set: impl Fn(&str) -> bool) -> bool {
        let with = self.pass_with.iter().filter(|(needed, _)| is_set(needed));
        let mut known = self.pass.iter().chain(with.flat_map(|(_, names)| *names));
        known.any(|known| match known.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => *known == name,
        })
    }
}

/// What every program needs of the user's environment to find its way.
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

/// Says how to start a turn.
pub fn start(kind: Kind, turn: &Turn<'_>) -> Start {
    match kind {
        Kind::Claude => claude::start(turn),
        Kind::Scripted | Kind::Program => program::start(turn),
    }
}

/// A name for a session, made from other names: the same each time, and a UUID (version 8, whose
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

/// The finisher of splitmix64: every bit of the input moves about half of the output.
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

    #[test]
    fn a_kind_is_known_by_its_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of_name(kind.name()), Some(kind));
            let written = serde_json::to_string(&kind).unwrap();
            assert_eq!(written, format!("{:?}", kind.name()));
        }
        assert_eq!(Kind::of_name("claudius"), None);
    }
}
