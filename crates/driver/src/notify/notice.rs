//! One notice, and who receives it.

use std::path::PathBuf;

use forge_core::Time;
use forge_project::settings::Switch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A notification: the standard input of a command, or the body of a webhook call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// The run.
    pub run: String,
    pub kind: Kind,
    /// One sentence for people.
    pub message: String,
    /// The next command.
    pub next: String,
    /// The repository.
    pub repo: String,
    /// The time, in milliseconds since 1970.
    pub at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The run waits for an answer.
    Question,
    /// The run cannot continue without a person.
    HandOff,
    /// The run has stopped.
    Stop,
    /// A long rate limit of a provider began.
    Limit,
    /// The run ended.
    End,
}

impl Kind {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::HandOff => "hand-off",
            Self::Stop => "stop",
            Self::Limit => "limit",
            Self::End => "end",
        }
    }
}

/// Who is told. Handed to the teller through a pipe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipients {
    pub command: Option<Vec<String>>,
    pub webhook: Option<String>,
    pub desktop: Switch,
    /// Where commands run.
    pub dir: PathBuf,
}

impl Recipients {
    pub fn is_empty(&self) -> bool {
        self.command.is_none() && self.webhook.is_none() && self.desktop == Switch::Off
    }
}
