//! The format of a scenario, and which play a call gets.
//!
//! The doc comments are the descriptions in the published schema.
//!
//! Invariant: an unknown key, an impossible value and a path that leads elsewhere are errors.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::{self, ScenarioFlaw};
use crate::variables::{REPAIR_TURN, RESUME_TURN};

use forge_core::result::{
    Blocker, Item, MustHave, ReportedFinding, ReportedShown, ReportedVerdict, Status,
};
use forge_keeper::attempt::outbox::plain_components;

/// The version of the format.
const SCENARIO_FORMAT: u32 = 1;

/// A scenario of the scripted agent: a list of plays, tried in order.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The version of the format: 1.
    #[serde(deserialize_with = "version")]
    pub scenario: u32,
    /// Whether the agent has sessions: then it is asked to fix an invalid result, and it continues after an
    /// interruption. Plays with `turn` are for these turns.
    #[serde(default)]
    pub sessions: bool,
    /// The plays. The first one that matches a call is used. A call that no play matches is an error.
    #[serde(default)]
    pub play: Vec<Play>,
}

fn version<'de, D: Deserializer<'de>>(input: D) -> Result<u32, D::Error> {
    match u32::deserialize(input)? {
        SCENARIO_FORMAT => Ok(SCENARIO_FORMAT),
        other => {
            Err(D::Error::custom(format!("`scenario` is {other}, and must be {SCENARIO_FORMAT}")))
        }
    }
}

/// A play for matching calls. All matchers that are given must match.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches which people write in a file")]
pub struct Play {
    /// Matches the role.
    pub role: Option<String>,
    /// Matches the unit, such as `build.T2/implement`; a `*` at the end matches any ending.
    pub unit: Option<String>,
    /// Matches the gate.
    pub gate: Option<String>,
    /// Matches the number of the attempt.
    pub attempt: Option<u32>,
    /// Matches the number of the judgement.
    pub judgement: Option<u32>,
    /// Matches the turn that fixes an invalid result (`repair`) or continues an interrupted attempt (`resume`). A play
    /// without `turn` matches first turns, and continued attempts that no other play matches.
    pub turn: Option<LaterTurn>,
    /// Lines to print as messages, one by one.
    pub say: Vec<String>,
    /// Time before each message.
    pub delay_ms: u64,
    /// Time before the end, without output.
    pub wait_ms: u64,
    /// Files to write in the working directory.
    pub files: BTreeMap<RelativePath, String>,
    /// Texts to append to files in the working directory.
    pub append: BTreeMap<RelativePath, String>,
    /// Files to write in the outbox.
    pub artifacts: BTreeMap<RelativePath, String>,
    /// A shell command to run in the working directory. It must succeed.
    pub run: Option<String>,
    /// Lines to append to `progress` in the outbox.
    pub progress: Vec<String>,
    /// The content of `result.json`; `forge` and `attempt` are filled in. Without `result`, `result_text` and
    /// `no_result`, a plain result with status done is written.
    pub result: Option<PlayedResult>,
    /// The exact text of `result.json`.
    pub result_text: Option<String>,
    /// Writes no `result.json`.
    pub no_result: bool,
    pub exit: u8,
    /// Dies by a signal, after its files and before its result.
    pub crash: Option<Crash>,
    /// Does everything else but never ends, and writes no result.
    pub hang: bool,
    /// Prints nothing at all.
    pub silence: bool,
    /// Prints this many bytes.
    pub huge_output_bytes: u64,
    /// Prints one line of this many bytes.
    pub huge_line_bytes: u64,
    /// Leaves processes behind, each in its own way.
    pub detach: Vec<Detach>,
    /// The usage that the play reports.
    pub usage: Option<PlayedUsage>,
    /// The usage to report turn by turn; `delay_ms` is the time before each.
    pub spends: Vec<PlayedUsage>,
    /// Reports a rate or usage limit, and ends with exit code 1.
    pub limit: Option<PlayedLimit>,
    /// Ignores the signal to end.
    pub ignore_term: bool,
}

/// A result in a scenario: every key is optional, and an unknown key is an error.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlayedResult {
    /// A wrong version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forge: Option<u64>,
    /// A wrong name of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ReportedVerdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<ReportedFinding>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lists: Option<BTreeMap<String, Vec<Item>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub must: Option<Vec<MustHave>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<ReportedShown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocker: Option<Blocker>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow_ups: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Vec<String>>,
    /// Written as it is, right or wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub friction: Option<serde_json::Value>,
}

/// A turn that is not the first one of its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LaterTurn {
    Repair,
    Resume,
}

impl LaterTurn {
    /// Returns the value in the environment.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Repair => REPAIR_TURN,
            Self::Resume => RESUME_TURN,
        }
    }

    /// Returns which turn the environment tells. Nothing there means the first one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            REPAIR_TURN => Some(Self::Repair),
            RESUME_TURN => Some(Self::Resume),
            _ => None,
        }
    }
}

/// A way to crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Crash {
    Kill,
    Abort,
    Segv,
}

/// A way to leave a process behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Detach {
    Setsid,
    Nohup,
    DoubleFork,
}

/// Tokens and dollars.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Usage")]
pub struct PlayedUsage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Dollars as a decimal string, such as "0.0125".
    pub cost: Option<PlayedCost>,
}

/// A rate or usage limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Limit")]
pub struct PlayedLimit {
    pub kind: LimitKind,
    /// The time until the limit ends.
    pub reset_in_ms: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    Rate,
    Usage,
}

/// An amount of money. No floats: a millionth of a dollar is the smallest part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlayedCost {
    pub micros: u64,
}

impl PlayedCost {
    fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 6 {
            return None;
        }
        let whole: u64 = whole.parse().ok()?;
        let part: u64 = format!("{part:0<6}").parse().ok()?;
        Some(Self { micros: whole.checked_mul(1_000_000)?.checked_add(part)? })
    }
}

impl<'de> Deserialize<'de> for PlayedCost {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        Self::parse(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not an amount of dollars with at most six decimals, such as \"0.0125\""
            ))
        })
    }
}

impl JsonSchema for PlayedCost {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cost".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]{0,6})?$" })
    }
}

/// A path that goes nowhere but down.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema)]
#[schemars(transparent)]
pub struct RelativePath(String);

impl RelativePath {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for RelativePath {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let path = String::deserialize(input)?;
        if plain_components(&path).is_none() {
            let message =
                format!("`{path}` is not a plain relative path (no `..`, no leading `/`)");
            return Err(D::Error::custom(message));
        }
        Ok(Self(path))
    }
}

impl Scenario {
    /// Reads a scenario, or says where and why that is impossible.
    pub fn parse(text: &str) -> Result<Self, ScenarioFlaw> {
        let scenario: Self =
            toml::from_str(text).map_err(|error| ScenarioFlaw::from_toml(text, &error))?;
        for (index, play) in scenario.play.iter().enumerate() {
            let endings = [play.result.is_some(), play.result_text.is_some(), play.no_result];
            if endings.iter().filter(|given| **given).count() > 1 {
                let what = "has more than one of `result`, `result_text` and `no_result`";
                return Err(error::flaw_of_play(text, index, what));
            }
        }
        Ok(scenario)
    }

    /// Returns the play for this role and call in a first turn.
    pub fn play_for(&self, role: &str, call: &PlayedCall) -> Option<&Play> {
        self.play_in(None, role, call)
    }

    /// Returns the play for this role and call. Who goes on without a play for that plays as before; who
    /// mends does nothing but that.
    pub(super) fn play_in(
        &self,
        turn: Option<LaterTurn>,
        role: &str,
        call: &PlayedCall,
    ) -> Option<&Play> {
        let of_turn = |turn: Option<LaterTurn>| {
            self.play.iter().find(|play| play.turn == turn && play.matches(role, call))
        };
        match turn {
            None | Some(LaterTurn::Repair) => of_turn(turn),
            Some(LaterTurn::Resume) => of_turn(turn).or_else(|| of_turn(None)),
        }
    }
}

impl Play {
    fn matches(&self, role: &str, call: &PlayedCall) -> bool {
        let unit = |pattern: &String| match pattern.strip_suffix('*') {
            Some(prefix) => call.unit.starts_with(prefix),
            None => call.unit == *pattern,
        };
        self.role.as_ref().is_none_or(|wanted| wanted == role)
            && self.unit.as_ref().is_none_or(unit)
            && self.gate.as_ref().is_none_or(|gate| call.gate.as_ref() == Some(gate))
            && self.attempt.is_none_or(|number| number == call.attempt)
            && self.judgement.is_none_or(|number| call.judgement == Some(number))
    }
}

/// A call, taken apart: `unit#attempt` or `unit#attempt/gate#judgement`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlayedCall {
    pub unit: String,
    pub attempt: u32,
    pub gate: Option<String>,
    pub judgement: Option<u32>,
}

impl PlayedCall {
    pub fn parse(text: &str) -> Option<Self> {
        let (unit, rest) = text.split_once('#')?;
        let Some((attempt, judged)) = rest.split_once('/') else {
            let attempt = rest.parse().ok()?;
            return Some(Self { unit: unit.to_owned(), attempt, gate: None, judgement: None });
        };
        let (gate, judgement) = judged.rsplit_once('#')?;
        Some(Self {
            unit: unit.to_owned(),
            attempt: attempt.parse().ok()?,
            gate: Some(gate.to_owned()),
            judgement: Some(judgement.parse().ok()?),
        })
    }
}

impl fmt::Display for PlayedCall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}", self.unit, self.attempt)?;
        match (&self.gate, self.judgement) {
            (Some(gate), Some(judgement)) => write!(out, "/{gate}#{judgement}"),
            (Some(_) | None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_taken_apart_and_put_together() {
        for text in ["plan#1", "build.T2/implement#3", "build.T2/implement#3/code-review#12"] {
            assert_eq!(PlayedCall::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "plan", "plan#", "plan#x", "plan#1/review", "plan#1/review#"] {
            assert_eq!(PlayedCall::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_play_that_matches_wins() {
        let text = r#"
            scenario = 1
            [[play]]
            gate = "review"
            judgement = 2
            say = ["second judgement"]
            [[play]]
            unit = "build.*"
            attempt = 2
            say = ["second attempt"]
            [[play]]
            role = "writer"
            unit = "build.T1/plan"
            say = ["plan of T1"]
            [[play]]
            role = "writer"
            say = ["anything"]
        "#;
        let scenario = Scenario::parse(text).unwrap();
        let said = |role: &str, call: &str| {
            let play = scenario.play_for(role, &PlayedCall::parse(call).unwrap());
            play.map(|play| play.say[0].clone())
        };
        assert_eq!(said("writer", "build.T1/plan#1").unwrap(), "plan of T1");
        assert_eq!(said("writer", "build.T1/plan#2").unwrap(), "second attempt");
        assert_eq!(said("judge", "build.T1/plan#1/review#2").unwrap(), "second judgement");
        assert_eq!(said("writer", "other#1").unwrap(), "anything");
        assert_eq!(said("judge", "build.T1/plan#1/review#1"), None);
    }

    #[test]
    fn a_later_turn_has_plays_of_its_own() {
        let text = r#"
            scenario = 1
            sessions = true
            [[play]]
            turn = "repair"
            attempt = 1
            say = ["mended"]
            [[play]]
            turn = "resume"
            role = "writer"
            say = ["went on"]
            [[play]]
            say = ["first"]
        "#;
        let scenario = Scenario::parse(text).unwrap();
        assert!(scenario.sessions && !Scenario::parse("scenario = 1").unwrap().sessions);
        let said = |turn: &str, role: &str, call: &str| {
            let turn = LaterTurn::parse(turn);
            let play = scenario.play_in(turn, role, &PlayedCall::parse(call).unwrap());
            play.map(|play| play.say[0].clone())
        };
        assert_eq!(said("", "writer", "a#1").unwrap(), "first");
        assert_eq!(said("repair", "writer", "a#1").unwrap(), "mended");
        assert_eq!(said("repair", "writer", "a#2"), None, "nobody works instead of mending");
        assert_eq!(said("resume", "writer", "a#2").unwrap(), "went on");
        assert_eq!(said("resume", "judge", "a#2").unwrap(), "first");
        assert_eq!(
            scenario.play_for("writer", &PlayedCall::parse("a#1").unwrap()).unwrap().say,
            ["first"]
        );
    }

    #[test]
    fn dollars_are_exact() {
        let micros = |text: &str| PlayedCost::parse(text).map(|cost| cost.micros);
        assert_eq!(micros("0.0125"), Some(12_500));
        assert_eq!(micros("3"), Some(3_000_000));
        assert_eq!(micros("0.000001"), Some(1));
        for wrong in ["", ".", ".5", "0.0000001", "-1", "1e3", "1,5", "99999999999999999999"] {
            assert_eq!(micros(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_schema_knows_every_key() {
        let schema = serde_json::to_value(schemars::schema_for!(Scenario)).unwrap();
        let play = &schema["$defs"]["Play"]["properties"];
        for key in ["role", "huge_line_bytes", "detach", "ignore_term", "result_text"] {
            assert!(play[key]["description"].is_string(), "{key}");
        }
    }
}
