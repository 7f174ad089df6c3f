//! What any agent's stream is turned into: a few signals, and what a call comes to in the end.
//!
//! Not here: how a vendor's lines are understood (`claude`, `program`), and the sum of all signals
//! (`stream`).
//!
//! Invariant: a signal has no vendor's words but in texts for people.
//! Invariant: a price that nobody knows is [`Price::Missing`], never zero.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most characters of a text in a signal.
pub(crate) const TEXT_CHARACTERS_MAX: usize = 16_000;
/// The most characters of one line in a signal.
const LINE_CHARACTERS_MAX: usize = 200;
/// The most characters of what went wrong.
pub(crate) const WHAT_CHARACTERS_MAX: usize = 2_000;
/// The model of a use that names none.
pub(crate) const NO_MODEL: &str = "unknown";

/// One thing that an agent's stream tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Signal {
    /// The program is up.
    Began {
        /// Its own name for the session.
        session: Option<String>,
        model: Option<String>,
        /// Of the program.
        version: Option<String>,
    },
    /// The agent said something to people.
    Said { text: String },
    /// The agent uses a tool.
    UsedTool {
        name: String,
        /// One short line: the file, or the command.
        about: String,
    },
    /// A permission or a question that nobody was there to answer.
    Asked { what: String },
    /// What one turn used, as far as it is known while it runs.
    Spent(Use),
    /// How much of its account is used up.
    Windows(Vec<UsageWindow>),
    /// The provider does not serve it now.
    Limit(Limit),
    /// The last line of the stream: what the program itself thinks of how it ended.
    Ended(Box<Ended>),
    /// A line without a meaning for us. It is kept in the transcript and never fatal.
    Unknown,
}

/// A time in which an account may use only so much, and how much of that is used.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UsageWindow {
    /// The provider's name for it.
    pub name: String,
    pub used_percent: u32,
    /// UTC. When it begins anew, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at_ms: Option<u64>,
}

/// Tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenCounts {
    /// Read anew, so without those of the cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl TokenCounts {
    /// Returns both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// Subtracts `other`, and stops at zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.each(other, u64::saturating_sub)
    }

    fn each(self, other: Self, both: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: both(self.input, other.input),
            output: both(self.output, other.output),
            cache_read: both(self.cache_read, other.cache_read),
            cache_write: both(self.cache_write, other.cache_write),
        }
    }
}

/// Tokens and price of one model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Use {
    pub provider: String,
    pub model: String,
    pub tokens: TokenCounts,
    pub cost: Price,
}

impl Use {
    /// Returns true if both are of the same model.
    pub fn is_like(&self, other: &Self) -> bool {
        self.provider == other.provider && self.model == other.model
    }
}

/// A price in millionths of a dollar, and its origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Price {
    /// The program said so.
    Reported(u64),
    /// Computed by us, from tokens and the price list.
    Estimated(u64),
    /// Nobody knows.
    Missing,
}

impl Price {
    /// Returns both together. With an unknown part the sum is unknown; with an estimated one, estimated.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Missing, _) | (_, Self::Missing) => Self::Missing,
            (Self::Reported(one), Self::Reported(two)) => Self::Reported(one.saturating_add(two)),
            (
                Self::Reported(one) | Self::Estimated(one),
                Self::Reported(two) | Self::Estimated(two),
            ) => Self::Estimated(one.saturating_add(two)),
        }
    }

    /// Returns what is more than the other. Unknown if either is.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Missing, _) | (_, Self::Missing) => Self::Missing,
            (Self::Reported(one), Self::Reported(two) | Self::Estimated(two)) => {
                Self::Reported(one.saturating_sub(two))
            }
            (Self::Estimated(one), Self::Reported(two) | Self::Estimated(two)) => {
                Self::Estimated(one.saturating_sub(two))
            }
        }
    }

    /// Returns the amount, if it is known at all.
    pub const fn micros(self) -> Option<u64> {
        match self {
            Self::Reported(micros) | Self::Estimated(micros) => Some(micros),
            Self::Missing => None,
        }
    }
}

/// The price of one family of models, in millionths of a dollar for a million tokens.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// How the names of the family begin.
    pub prefix: String,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Where the figures are from.
    pub source: String,
}

/// Puts a use to the others: one entry for each model.
pub fn add(uses: &mut Vec<Use>, new: &Use) {
    match uses.iter_mut().find(|there| there.is_like(new)) {
        Some(there) => {
            there.tokens = there.tokens.plus(new.tokens);
            there.cost = there.cost.plus(new.cost);
        }
        None => uses.push(new.clone()),
    }
}

/// A refusal of the provider, with its reason and duration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limit {
    pub class: ErrorClass,
    /// UTC. When it is lifted, if that was said.
    pub until_ms: Option<u64>,
    /// How long to wait, if that was said.
    pub delay_ms: Option<u64>,
    /// For people.
    pub what: String,
}

/// The terminal line of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    pub word: Word,
    /// What was used since the beginning, or since the last such line. `None` if it does not say.
    pub uses: Option<Vec<Use>>,
    /// The structured output of the vendor's schema option.
    pub answer: Option<Value>,
    pub session: Option<String>,
}

/// The program's own report of its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    Well,
    Badly(Limit),
}

/// A class of error, the same for all vendors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Too many requests for now.
    RateLimit,
    /// All that an account may use in some hours or days is used up.
    UsageWindow,
    /// Not logged in, a wrong key, or nothing left to pay with.
    Auth,
    Network,
    /// The provider's own trouble, or it is overloaded.
    Server,
    /// More text than the model takes.
    Overflow,
    /// The model does not want to.
    Refusal,
    /// The agent program or its surroundings are broken.
    Tooling,
    /// The agent program cannot be used as it is, which was known before a model was asked anything.
    Unusable,
    /// Let in, but not allowed to do this.
    Permission,
    /// The provider has no such model, or not for this account.
    NoModel,
    /// The session that was to go on is gone.
    NoSession,
    /// It reached its own cap.
    OutOfBudget,
    /// Stopped by a signal in the middle.
    Stopped,
    Unknown,
}

impl ErrorClass {
    /// Returns true if waiting is all that helps, and is likely to.
    pub const fn passes(self) -> bool {
        matches!(self, Self::RateLimit | Self::UsageWindow | Self::Network | Self::Server)
    }

    /// Returns true if who was turned away so before any part of an answer has used nothing.
    pub(crate) const fn turns_away(self) -> bool {
        matches!(
            self,
            Self::Auth
                | Self::Permission
                | Self::NoModel
                | Self::RateLimit
                | Self::UsageWindow
                | Self::Overflow
        )
    }
}

/// The end of a call, from its stream and its process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentEnd {
    /// Its result counts, if it is valid.
    Done,
    /// It has to wait: the class is one that [`ErrorClass::passes`]. Without a time the caller backs off.
    Limited(Limit),
    Failed {
        class: ErrorClass,
        what: String,
    },
    Refused {
        what: String,
    },
    /// More text than the model takes.
    Overflowed {
        what: String,
    },
    /// It reached its cap in the middle.
    OverBudget {
        what: String,
    },
    /// The session that was to go on is gone: it can start anew.
    SessionGone,
    /// A watchdog stopped it.
    Stopped(Watchdog),
    NotStarted {
        why: String,
    },
    /// We stopped it.
    Interrupted,
    /// Its keeper is gone, and nobody knows how it ended.
    Lost,
}

/// The limit of [`forge_keeper::StepLimits`] that was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watchdog {
    Wall,
    Silence,
    Output,
}

/// Returns the beginning of a text.
pub(crate) fn truncate(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

/// Returns the beginning of the first line that says something.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    truncate(line.trim(), LINE_CHARACTERS_MAX)
}
