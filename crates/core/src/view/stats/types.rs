//! What calls used up, as `forge stats --json` prints it.

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};

use super::super::format::Amount;

use crate::money::{Cost, Money, Tokens};

/// The use of one model in one call of an agent.
///
/// A call that used more than one model has one spending for each, and together they are what the
/// call used up. The first of them carries the call: only it counts as one, and has its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spending {
    /// The run that paid for it. For what a rewound run shares with another, that other one.
    pub run: String,
    pub call: String,
    /// The number of the model in the call, from 0. The one that is 0 carries the call.
    pub part: u32,
    /// The day on which the call ended, in UTC: `2026-11-15`.
    pub day: String,
    /// The unit, without its items.
    pub unit: String,
    pub stage: String,
    pub role: String,
    /// The name of the agent in the settings.
    pub agent: String,
    /// The service behind the model.
    pub provider: String,
    pub model: String,
    pub tokens: Tokens,
    /// Money. Where nobody knows what the call cost, nobody knows it of its models.
    pub cost: Cost,
    /// How long the call took, in milliseconds.
    pub took_ms: u64,
    pub end: CallEnd,
}

/// The end of a call, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallEnd {
    /// The work is done.
    Done,
    /// A part of the work is done.
    Partial,
    /// A gate let the work pass.
    Passed,
    /// A gate sent the work back.
    SentBack,
    /// The call was blocked.
    Blocked,
    /// The call ended without a result.
    Fault,
    /// There was no check that could verify the work.
    Unverified,
    /// A rate or usage limit.
    Limited,
    /// The call waited for other work on the same paths.
    Deferred,
    /// The call was lost.
    Lost,
    /// The call was stopped.
    Interrupted,
    /// The call was outdated when it ended.
    Overtaken,
}

/// The grouping of the numbers.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// By run.
    Run,
    /// By stage.
    Stage,
    /// By role.
    Role,
    /// By model.
    Model,
    /// By agent.
    Agent,
    /// By day.
    Day,
}

/// Total spending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsView {
    /// The grouping.
    pub by: Axis,
    /// Days in order; everything else with the largest cost first.
    pub rows: Vec<StatsRow>,
    pub total: StatsRow,
}

/// One line of a table of spending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsRow {
    /// The run, stage, role, model, agent or day.
    pub key: String,
    /// Calls of agents. One that used more than one model counts for its first.
    pub calls: u32,
    pub tokens: Tokens,
    /// What programs reported, in micro-dollars.
    pub known: Money,
    /// In micro-dollars.
    pub estimated: Money,
    /// Calls of unknown price. A call with several models counts in the row of each model, and once in the total.
    pub unknown_calls: u32,
    /// How long the calls took together, in milliseconds.
    pub took_ms: u64,
}

impl CallEnd {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Passed => "passed",
            Self::SentBack => "sent back",
            Self::Blocked => "blocked",
            Self::Fault => "fault",
            Self::Unverified => "unverified",
            Self::Limited => "limited",
            Self::Deferred => "deferred",
            Self::Lost => "lost",
            Self::Interrupted => "interrupted",
            Self::Overtaken => "overtaken",
        }
    }
}

impl Axis {
    pub(crate) fn key(self, spending: &Spending) -> &str {
        match self {
            Self::Run => &spending.run,
            Self::Stage => &spending.stage,
            Self::Role => &spending.role,
            Self::Model => &spending.model,
            Self::Agent => &spending.agent,
            Self::Day => &spending.day,
        }
    }
}

impl StatsRow {
    /// Adds a use, which may be a call of its own.
    pub(crate) fn add(&mut self, is_call: bool, tokens: Tokens, cost: Cost, took_ms: u64) {
        self.calls += u32::from(is_call);
        self.tokens += tokens;
        self.took_ms = self.took_ms.saturating_add(took_ms);
        match cost {
            Cost::Known(cost) => self.known += cost,
            Cost::Estimated(cost) => self.estimated += cost,
            Cost::Unknown => self.unknown_calls += 1,
        }
    }

    /// Returns the known and estimated money.
    pub(crate) fn money(&self) -> Money {
        let mut sum = self.known;
        sum += self.estimated;
        sum
    }

    /// Returns the cost with its unknown parts.
    pub fn amount(&self) -> Amount {
        let (known, estimated) = (self.known, self.estimated);
        Amount { known, estimated, unknown_calls: self.unknown_calls }
    }
}
