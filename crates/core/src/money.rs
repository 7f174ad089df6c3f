//! What calls cost: micro-dollars and tokens, known, estimated or unknown, never a float.
//!
//! Prices are not here: an estimate is made with a price list elsewhere, and is marked as one.
//!
//! Invariant: the ledger is the sum of the receipts, by each of the three kinds of cost.

use std::{fmt, ops::AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount in micro-dollars: 1,000,000 are one dollar.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Money(pub u64);

/// The cost of one call. A price that was not reported is unknown, and unknown is never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// The program reported the price, or the call is not one of an agent.
    Known(Money),
    /// The program reported its tokens, and Forge computed it from them and a price list.
    Estimated(Money),
    /// The program reported neither a price nor tokens.
    Unknown,
}

/// Tokens by kind, as the program reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// Read by the model, not from a cache.
    #[serde(default)]
    pub input: u64,
    /// Written by the model.
    #[serde(default)]
    pub output: u64,
    /// Read from a cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Written to a cache.
    #[serde(default)]
    pub cache_write: u64,
}

/// Tokens and price of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    pub cost: Cost,
    #[serde(default)]
    pub tokens: Tokens,
    /// A lower bound of an unknown cost: the part that was reported or estimated.
    #[serde(default, skip_serializing_if = "Money::is_zero")]
    pub at_least: Money,
}

/// The agent and models of a call. The rules do not look at it; who must be another than the author does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// The name of the agent in the settings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The name of the account in the settings, if it is one of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The model that the agent was told to use, if the flow or the settings name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_for: Option<String>,
    /// The use of each model, if the program reports it. Their sum is the use of the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelUse>,
}

/// Use of one model in one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUse {
    /// The provider of the model, such as `anthropic`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// The model, as the program calls it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(default)]
    pub tokens: Tokens,
    pub cost: Cost,
}

impl ModelUse {
    /// Returns the use of a model of which nothing was reported.
    pub(crate) fn unknown() -> Self {
        let (provider, model) = (String::new(), String::new());
        Self { provider, model, tokens: Tokens::default(), cost: Cost::Unknown }
    }
}

impl Used {
    /// Returns the names of the models that are known.
    pub(crate) fn model_names(&self) -> Vec<&str> {
        let names = self.models.iter().map(|used| used.model.as_str());
        names.filter(|name| !name.is_empty()).collect()
    }
}

impl Money {
    /// Parses dollars with at most six decimals, such as `2` or `0.25`.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > 6 {
            return None;
        }
        let whole: u64 = whole.parse().ok()?;
        let micros: u64 = format!("{part:0<6}").parse().ok()?;
        whole.checked_mul(1_000_000)?.checked_add(micros).map(Self)
    }

    /// Returns true for zero; for serde.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// Returns all of its digits that say something, as [`Money::parse`] reads them: `2.50`, `0.000001`.
    pub fn to_decimal(self) -> String {
        let text = format!("{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000);
        let digits = text.trim_end_matches('0').len().max(text.len() - 4);
        text[..digits].to_owned()
    }

    /// Does the same without the cents of a round amount: `3`, `2.50`.
    pub fn to_short_decimal(self) -> String {
        without_cents(self.to_decimal())
    }

    /// Formats dollars without the cents of a round amount: `$3`, `$2.50`.
    pub fn to_short_text(self) -> String {
        without_cents(self.to_string())
    }

    /// Returns a budget to continue with after this much is spent or was allowed: twice of it, in whole dollars.
    #[must_use]
    pub fn next_budget(self) -> Self {
        const DOLLAR: u64 = 1_000_000;
        Self(self.0.saturating_mul(2).div_ceil(DOLLAR).max(1).saturating_mul(DOLLAR))
    }

    /// Returns the smaller of what is left and zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

fn without_cents(text: String) -> String {
    text.strip_suffix(".00").map(str::to_owned).unwrap_or(text)
}

impl fmt::Display for Money {
    /// Formats dollars with two decimals, rounded; `<$0.01` where that would hide the amount.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = self.0.saturating_add(5_000) / 10_000;
        if self.0 > 0 && cents == 0 {
            return f.write_str("<$0.01");
        }
        write!(f, "${}.{:02}", cents / 100, cents % 100)
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

impl Tokens {
    /// Returns all tokens, whatever their kind.
    pub fn total(self) -> u64 {
        [self.output, self.cache_read, self.cache_write]
            .into_iter()
            .fold(self.input, u64::saturating_add)
    }
}

impl Spent {
    /// Nothing, and that is known: a command is not an agent.
    pub const NOTHING: Self = Self {
        cost: Cost::Known(Money(0)),
        tokens: Tokens { input: 0, output: 0, cache_read: 0, cache_write: 0 },
        at_least: Money(0),
    };

    /// The cost is unknown.
    pub const UNKNOWN: Self = Self {
        cost: Cost::Unknown,
        tokens: Tokens { input: 0, output: 0, cache_read: 0, cache_write: 0 },
        at_least: Money(0),
    };
}
