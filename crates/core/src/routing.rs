//! How strong an agent a call wants, how hard it is to think, and why.
//!
//! Which agent and which model a tier means is not here: that is up to the settings and to what each agent program knows of its
//! models (`forge_project::settings`, `forge_agents::models`).
//!
//! Invariant: a wish is decided once, when its call starts, and is part of the fact that starts it.
//! Invariant: words of items come from agents. One that is not known wishes nothing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines an enum of words in rising order, each written as in files.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($variant),+ }

        impl $name {
            /// All of them, the least first.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word in files.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Returns the one of this word.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }

            /// Reads the value of a key in a file; the error names the words that there are.
            pub fn read(
                key: &str,
                word: Option<&str>,
                words: HintWords,
            ) -> Result<Option<Self>, String> {
                let Some(word) = word else { return Ok(None) };
                match (Self::parse(word), words) {
                    (None, HintWords::Known) => {
                        let all: Vec<&str> = Self::ALL.iter().map(|one| one.as_str()).collect();
                        Err(format!("{key} = \"{word}\"; possible: {}", all.join(", ")))
                    }
                    (found, HintWords::Known | HintWords::Any) => Ok(found),
                }
            }
        }
    };
}

words! {
    /// How strong a model is asked for.
    Tier {
        Light = "light",
        Standard = "standard",
        Heavy = "heavy",
        Max = "max",
    }
}

words! {
    /// How hard a model is to think.
    Effort {
        Low = "low",
        Medium = "medium",
        High = "high",
        Xhigh = "xhigh",
        Max = "max",
    }
}

words! {
    /// Whether a model thinks before it answers.
    Thinking {
        Disabled = "disabled",
        Adaptive = "adaptive",
    }
}

/// What one place says of tier, effort and thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hints {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
}

/// `tier`, `effort` and `thinking` as a file has them.
#[derive(Clone, Debug, Default)]
pub struct RawHints {
    pub tier: Option<String>,
    pub effort: Option<String>,
    pub thinking: Option<String>,
}

/// The words that a file may have for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintWords {
    /// Those that mean something.
    Known,
    /// Any: in the files of older runs they meant nothing.
    Any,
}

impl RawHints {
    /// Returns true if the file has none of them.
    pub fn is_empty(&self) -> bool {
        self.tier.is_none() && self.effort.is_none() && self.thinking.is_none()
    }

    /// Reads them.
    pub fn parse(&self, words: HintWords) -> Result<Hints, String> {
        Ok(Hints {
            tier: Tier::read("tier", self.tier.as_deref(), words)?,
            effort: Effort::read("effort", self.effort.as_deref(), words)?,
            thinking: Thinking::read("thinking", self.thinking.as_deref(), words)?,
        })
    }
}

/// What a run knows of tiers besides its flow and its items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Routing {
    /// The tier of all calls, if the user named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Tier>,
    /// What the settings say of roles, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Hints>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Hints>,
}

/// The reason for a tier, an effort or a thinking mode.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WishReason {
    /// The user named it for the run.
    Run,
    /// The item has a tag of that name.
    Item,
    /// The item has the tag `complexity = heavy`.
    Complexity,
    /// The item has the tag `tag = docs`.
    Docs,
    /// The item has the tag `risk = high`, and the stage says what that means.
    Risk,
    /// What is to be read was too long for the model before.
    TooLong,
    /// The model before refused.
    Refused,
    /// The stage or review of the flow.
    Flow,
    /// The settings of the role.
    Settings,
    /// The file of the role.
    Role,
    /// The settings of the tier.
    Tier,
    /// No place says anything.
    Default,
}

impl WishReason {
    /// Returns the reason in a few words.
    pub const fn as_words(self) -> &'static str {
        match self {
            Self::Run => "named for the run",
            Self::Item => "the item says so",
            Self::Complexity => "the item is complex",
            Self::Docs => "the item is documentation",
            Self::Risk => "the item is risky",
            Self::TooLong => "it was too long for the model before",
            Self::Refused => "the model before refused",
            Self::Flow => "the flow says so",
            Self::Settings => "settings of the role",
            Self::Role => "set by the role",
            Self::Tier => "settings of the tier",
            Self::Default => "the default",
        }
    }
}

/// A value, and why it is this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Because")]
pub struct Because<T> {
    pub is: T,
    pub why: WishReason,
    /// What was wished, where the model cannot do that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<T>,
}

impl<T> Because<T> {
    pub const fn new(is: T, why: WishReason) -> Self {
        Self { is, why, instead_of: None }
    }
}

/// What a call wants of its agent. Which agent and model that is, is in its receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wish {
    pub tier: Because<Tier>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Because<Effort>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Because<Thinking>>,
}

/// The origin of the model that an agent was asked to use.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ModelOrigin {
    /// The user named it for the run.
    Run,
    /// The stage or review of the flow.
    Flow,
    /// The settings of the role.
    Role,
    /// The settings of the tier.
    Tier,
    /// The settings of the agent.
    Agent,
    /// What Forge knows of the agent's models for the tier.
    Known,
    /// None is named: the agent takes its own.
    Own,
}

impl ModelOrigin {
    /// Returns the origin in a few words.
    pub const fn as_words(self) -> &'static str {
        match self {
            Self::Run => "named for the run",
            Self::Flow => "named by the flow",
            Self::Role => "by the settings of the role",
            Self::Tier => "by the settings of the tier",
            Self::Agent => "by the settings of the agent",
            Self::Known => "from the tier",
            Self::Own => "of the agent's own choice",
        }
    }
}

/// The reason why an agent works on a call.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AgentOrigin {
    /// The settings name it, for the role, for the tier or for all.
    #[default]
    Settings,
    /// It is of another vendor than the author of what it reviews.
    OtherVendor,
    /// The agent before is used up for some time.
    Limit,
    /// What is to be read was too long for the agent before.
    TooLong,
    /// The agent before refused.
    Refused,
}

impl AgentOrigin {
    /// Returns the origin in a few words.
    pub const fn as_words(self) -> &'static str {
        match self {
            Self::Settings => "of the settings",
            Self::OtherVendor => "of another vendor than the author",
            Self::Limit => "in the place of one that has reached its limit",
            Self::TooLong => "in the place of one for which it was too long",
            Self::Refused => "in the place of one that refused",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_settings(&self) -> bool {
        *self == Self::Settings
    }
}

/// Who takes over work that an agent cannot do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Successor {
    /// The model of a higher tier.
    Tier(Tier),
    /// Another agent, by its name in the settings.
    Agent(String),
}

/// The agent and the account that work on one call, where they are up to what limits leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assignment {
    /// The name of the agent in the settings.
    pub agent: String,
    /// The name of the account in the settings; `null` for the login that the agent has anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Why it is this agent.
    #[serde(default, skip_serializing_if = "AgentOrigin::is_settings")]
    pub why: AgentOrigin,
}

/// What an agent was asked for in one call, besides the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Route {
    /// The wish, with effort and thinking as the model can do them.
    #[serde(flatten)]
    pub wish: Wish,
    /// Where the model comes from.
    pub model_from: ModelOrigin,
    /// Why it is this agent.
    #[serde(default, skip_serializing_if = "AgentOrigin::is_settings")]
    pub agent_from: AgentOrigin,
}

impl WishReason {
    /// Whether it is where a call is usually: at its role, and for nothing special.
    const fn is_usual(self) -> bool {
        match self {
            Self::Role | Self::Default => true,
            Self::Run
            | Self::Item
            | Self::Complexity
            | Self::Docs
            | Self::Risk
            | Self::TooLong
            | Self::Refused
            | Self::Flow
            | Self::Settings
            | Self::Tier => false,
        }
    }
}

impl Wish {
    /// Returns tier, effort and thinking, each with its reason.
    fn phrases(self) -> [Option<String>; 3] {
        let Self { tier, effort, thinking } = self;
        let effort = effort.map(|effort| phrase("effort", effort, Effort::as_str));
        let thinking = thinking.map(|thinking| phrase("thinking", thinking, Thinking::as_str));
        [Some(phrase("tier", tier, Tier::as_str)), effort, thinking]
    }

    /// Returns what is special about it as the rest of a sentence. There may be nothing.
    pub fn to_words(self) -> String {
        let [tier, effort, thinking] = self.phrases();
        let tier = tier.filter(|_| !self.tier.why.is_usual());
        let phrases = [tier, effort, thinking].into_iter().flatten();
        phrases.fold(String::new(), |words, phrase| words + ", " + &phrase)
    }
}

impl Route {
    /// Returns tier, effort, thinking and the origin of the model, each with its reason. Nothing, if the agent takes its own model and
    /// nothing special was asked for.
    pub fn to_words(self) -> String {
        let [tier, effort, thinking] = self.wish.phrases();
        let model = (self.model_from != ModelOrigin::Own)
            .then(|| format!("model {}", self.model_from.as_words()));
        let agent = (self.agent_from != AgentOrigin::Settings)
            .then(|| format!("agent {}", self.agent_from.as_words()));
        let is_said = model.is_some()
            || agent.is_some()
            || effort.is_some()
            || thinking.is_some()
            || !self.wish.tier.why.is_usual();
        let tier = tier.filter(|_| is_said);
        [tier, effort, thinking, model, agent]
            .into_iter()
            .flatten()
            .collect::<Vec<String>>()
            .join(", ")
    }
}

fn phrase<T: Copy>(name: &str, value: Because<T>, word: impl Fn(T) -> &'static str) -> String {
    let Because { is, why, instead_of } = value;
    let clamped = instead_of.map(|wished| format!("; the model cannot do {}", word(wished)));
    format!("{name} {} ({}{})", word(is), why.as_words(), clamped.unwrap_or_default())
}

/// The place of a flow at which a call is.
#[derive(Clone, Copy, Debug)]
pub struct CallPlace<'a> {
    pub role: &'a str,
    pub hints: Hints,
    /// The tier of the stage where the item is risky.
    pub high_risk: Option<Tier>,
}

impl<'a> CallPlace<'a> {
    /// Returns a place about which the flow says nothing but the role.
    pub fn of_role(role: &'a str) -> Self {
        Self { role, hints: Hints::default(), high_risk: None }
    }
}

/// Returns what a call at a place wants. `tag` says the tags of the item that it works on; a review is given none, because who
/// judges an item does not depend on what the item says.
pub fn wish<'t>(
    routing: &Routing,
    place: &CallPlace<'_>,
    tag: impl Fn(&str) -> Option<&'t str>,
) -> Wish {
    let nothing = Hints::default();
    let of = |known: &BTreeMap<String, Hints>| *known.get(place.role).unwrap_or(&nothing);
    let said = [
        (WishReason::Flow, place.hints),
        (WishReason::Settings, of(&routing.settings)),
        (WishReason::Role, of(&routing.roles)),
    ];
    let has = |name: &str, value: &str| tag(name) == Some(value);
    let own = [
        (WishReason::Run, routing.run),
        (WishReason::Item, tag("tier").and_then(Tier::parse)),
        (WishReason::Complexity, has("complexity", "heavy").then_some(Tier::Heavy)),
        (WishReason::Docs, has("tag", "docs").then_some(Tier::Light)),
        (WishReason::Risk, place.high_risk.filter(|_| has("risk", "high"))),
    ];
    let tier = first(own.into_iter().chain(said.map(|(why, hints)| (why, hints.tier))))
        .unwrap_or(Because::new(Tier::Standard, WishReason::Default));
    let own = [
        (WishReason::Item, tag("effort").and_then(Effort::parse)),
        (WishReason::Risk, (tier.why == WishReason::Risk).then_some(Effort::Max)),
    ];
    let effort = first(own.into_iter().chain(said.map(|(why, hints)| (why, hints.effort))));
    let thinking = first(said.into_iter().map(|(why, hints)| (why, hints.thinking)));
    Wish { tier, effort, thinking }
}

/// Returns the first that says something.
fn first<T>(said: impl IntoIterator<Item = (WishReason, Option<T>)>) -> Option<Because<T>> {
    said.into_iter().find_map(|(why, is)| Some(Because::new(is?, why)))
}
