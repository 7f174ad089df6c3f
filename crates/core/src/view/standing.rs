//! Where a run stands, in one word, and what can become of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The run is running, or continues as soon as a driver is started.
    Going,
    /// The run needs an answer.
    Waiting,
    /// The run is rate-limited.
    Limited,
    /// A person paused the run.
    Paused,
    /// A person pressed Ctrl-C.
    Interrupted,
    /// A person stopped the run.
    Stopped,
    /// The run is out of budget.
    Parked,
    /// The same failure repeats.
    Escalated,
    /// The run is done.
    Done,
    /// A stage failed.
    Failed,
    /// A stage is blocked.
    Blocked,
    /// A person abandoned the run.
    Abandoned,
}

/// The possible course of a run, by its standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Its driver has something to do, or waits for a moment to come.
    Driven,
    /// It waits for a person's answer.
    Asking,
    /// It stands still until it is resumed.
    Held,
    /// It did not work out, and can be opened again.
    Failed,
    /// Nothing can become of it any more.
    Over,
}

impl Standing {
    /// Returns the standing as screens show it. In data it keeps the word of `as_str`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Going => "running",
            Self::Waiting => "needs you",
            Self::Limited => "rate-limited",
            Self::Paused => "paused",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
            Self::Parked => "out of budget",
            Self::Escalated => "needs attention",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Abandoned => "abandoned",
        }
    }

    /// Returns the course that the standing allows.
    pub const fn course(self) -> Course {
        match self {
            Self::Going | Self::Limited => Course::Driven,
            Self::Waiting => Course::Asking,
            Self::Paused | Self::Interrupted | Self::Stopped | Self::Parked | Self::Escalated => {
                Course::Held
            }
            Self::Failed | Self::Blocked => Course::Failed,
            Self::Done | Self::Abandoned => Course::Over,
        }
    }

    /// Returns true if it stands still because something went wrong or was given up.
    pub const fn has_gone_wrong(self) -> bool {
        matches!(self, Self::Escalated | Self::Failed | Self::Blocked | Self::Abandoned)
    }

    /// Returns true if a person ended its driver: Ctrl-C, or `forge stop`.
    pub const fn is_stopped(self) -> bool {
        matches!(self, Self::Interrupted | Self::Stopped)
    }

    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Going => "going",
            Self::Waiting => "waiting",
            Self::Limited => "limited",
            Self::Paused => "paused",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
            Self::Parked => "parked",
            Self::Escalated => "escalated",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Abandoned => "abandoned",
        }
    }

    /// Returns the exit code of a command that leaves a run like this.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed | Self::Abandoned => 1,
            Self::Waiting => 3,
            Self::Escalated | Self::Blocked => 4,
            Self::Paused | Self::Parked | Self::Limited | Self::Going => 5,
            Self::Interrupted | Self::Stopped => 130,
        }
    }
}
