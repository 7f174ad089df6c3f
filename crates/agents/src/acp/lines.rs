//! The lines that `forge __acp` prints: our own words for what happens in a conversation.
//!
//! Who writes them and who reads them share this type.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::signal::{ErrorClass, TokenCounts};

/// One thing that matters of a conversation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum AcpLine {
    /// The agent is up and has a session; the next thing is the prompt.
    Began {
        /// Its name, if the agent can open it again.
        session: Option<String>,
        model: Option<String>,
        /// Of the program.
        version: Option<String>,
        /// What the session had cost before, if the agent told it while it opened it.
        paid_micros: Option<u64>,
    },
    Said {
        text: String,
    },
    UsedTool {
        name: String,
        about: String,
    },
    /// Something that it asked for and that was refused.
    Denied {
        what: String,
    },
    /// The price of the session so far, with its earlier turns.
    Paid {
        total_micros: u64,
    },
    /// Tokens of the turn, when it has ended.
    Tokens {
        tokens: TokenCounts,
    },
    /// What the agent adds to the end of its turn, in its own words.
    Added {
        meta: Value,
    },
    /// The agent is at work: it says something that has no line of its own.
    Alive,
    /// The beginning of something that we do not understand.
    Kept {
        text: String,
    },
    /// The last line. Without a class it ended well.
    Ended {
        class: Option<ErrorClass>,
        what: String,
    },
}
