//! Friction: what hindered an agent at its work, as it says itself, mostly by what a skill did not do for it.
//!
//! The agent gives its judgement only. Who it is, in which run and at which iteration, Forge knows from the call. The words are
//! those of seed 002, so that its records and these can be read together.
//!
//! Not here: adding it up (`view/friction.rs`).
//!
//! Invariant: a report of friction never makes a result unacceptable. What is wrong with an entry is a note, and the others count.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::IgnoredAny};

/// More entries of one result are not kept.
pub const FRICTION_MAX: usize = 20;
/// The most characters of a skill's name.
const SKILL_CHARS_MAX: usize = 100;
/// The most characters of an issue. The rest is cut.
const ISSUE_CHARS_MAX: usize = 500;
/// The most characters of evidence. The rest is cut.
const EVIDENCE_CHARS_MAX: usize = 2_000;

/// One thing that hindered an agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Friction {
    pub kind: FrictionKind,
    /// The skill that it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub skill: String,
    /// The problem, in a sentence.
    pub issue: String,
    /// What shows it, such as the output of a tool.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
}

/// A kind of friction: one of five words, or a word of the agent's own that begins with `x_`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(extend("pattern" = "^(skill_unused|skill_failed|skill_missing|skill_stale|skill_redundant|x_[a-z_]{1,38})$"))]
pub struct FrictionKind(String);

/// A word that is no kind of friction.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`kind` is not one of {}, and not x_ with lower-case letters", FrictionKind::ALL.join(", "))]
pub struct NotAFrictionKind;

/// The friction of one result: what can be read, and what is wrong with the rest.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct FrictionReport {
    pub entries: Vec<Friction>,
    /// A sentence for each thing that is not kept.
    pub flaws: Vec<String>,
}

impl FrictionKind {
    /// The kinds that everybody uses, in the order of the documents.
    pub const ALL: [&str; 5] =
        ["skill_unused", "skill_failed", "skill_missing", "skill_stale", "skill_redundant"];
    /// The most characters of a word of an agent's own.
    const OWN_CHARS_MAX: usize = 40;

    /// Returns the word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FrictionKind {
    type Err = NotAFrictionKind;

    fn from_str(word: &str) -> Result<Self, NotAFrictionKind> {
        let is_letter = |c: char| c.is_ascii_lowercase() || c == '_';
        let is_own = word.strip_prefix("x_").is_some_and(|own| {
            !own.is_empty() && own.chars().all(is_letter) && word.len() <= Self::OWN_CHARS_MAX
        });
        if is_own || Self::ALL.contains(&word) {
            Ok(Self(word.to_owned()))
        } else {
            Err(NotAFrictionKind)
        }
    }
}

impl TryFrom<String> for FrictionKind {
    type Error = NotAFrictionKind;

    fn try_from(word: String) -> Result<Self, NotAFrictionKind> {
        word.parse()
    }
}

impl From<FrictionKind> for String {
    fn from(kind: FrictionKind) -> Self {
        kind.0
    }
}

impl fmt::Display for FrictionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FrictionReport {
    /// Returns true if there is nothing to keep, and nothing to say.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.flaws.is_empty()
    }

    fn flaw(place: &str, what: &str) -> String {
        format!("friction that is not kept: {place}{what}")
    }
}

/// What an agent wrote as an entry, before its words are looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFriction {
    kind: String,
    skill: Option<String>,
    issue: String,
    evidence: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawEntry {
    Friction(RawFriction),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawReport {
    Entries(Vec<RawEntry>),
    Other(IgnoredAny),
}

impl RawFriction {
    fn parse(self) -> Result<Friction, String> {
        let kind = self.kind.parse().map_err(|error: NotAFrictionKind| error.to_string())?;
        if self.issue.trim().is_empty() {
            return Err("`issue` is empty".to_owned());
        }
        let skill = self.skill.unwrap_or_default();
        let skill = skill.split_whitespace().collect::<Vec<&str>>().join(" ");
        Ok(Friction {
            kind,
            skill: cut(&skill, SKILL_CHARS_MAX),
            issue: cut(&self.issue, ISSUE_CHARS_MAX),
            evidence: cut(&self.evidence.unwrap_or_default(), EVIDENCE_CHARS_MAX),
        })
    }
}

impl<'de> Deserialize<'de> for FrictionReport {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let mut report = Self::default();
        let entries = match RawReport::deserialize(reader)? {
            RawReport::Entries(entries) => entries,
            RawReport::Other(_) => {
                report.flaws.push(Self::flaw("", "`friction` is not a list"));
                return Ok(report);
            }
        };
        let n_more = entries.len().saturating_sub(FRICTION_MAX);
        for (index, entry) in entries.into_iter().take(FRICTION_MAX).enumerate() {
            let read = match entry {
                RawEntry::Friction(raw) => raw.parse(),
                RawEntry::Other(_) => Err("not {kind, skill?, issue, evidence?}".to_owned()),
            };
            match read {
                Ok(friction) => report.entries.push(friction),
                Err(what) => {
                    report.flaws.push(Self::flaw(&format!("entry {}: ", index + 1), &what));
                }
            }
        }
        if n_more > 0 {
            let what = format!("{n_more} entries after the first {FRICTION_MAX}");
            report.flaws.push(Self::flaw("", &what));
        }
        Ok(report)
    }
}

impl Serialize for FrictionReport {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(writer)
    }
}

fn cut(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    text.chars().take(chars_max - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(json: &str) -> FrictionReport {
        serde_json::from_str(json).expect("any JSON is a report")
    }

    #[test]
    fn kinds_are_the_five_words_and_those_that_begin_with_x() {
        let is_kind = |word: &str| word.parse::<FrictionKind>().is_ok();
        assert!(FrictionKind::ALL.into_iter().all(is_kind));
        assert!(is_kind("x_slow_tests"));
        for word in ["skill_broken", "x_", "X_slow", "x_slow2", "xslow", "", "x_slow tests"] {
            assert!(!is_kind(word), "{word}");
        }
        assert!(!is_kind(&format!("x_{}", "a".repeat(39))));
    }

    #[test]
    fn entries_with_a_flaw_are_noted_and_the_others_are_kept() {
        let report = report(
            r#"[{"kind":"skill_missing","issue":" no skill says how to migrate "},
                {"kind":"slow","issue":"slow"}, {"kind":"x_slow","issue":"  "}, 7,
                {"kind":"x_slow","issue":"slow","more":1},
                {"kind":"skill_stale","skill":"a\n b","issue":"old","evidence":"v1"}]"#,
        );
        assert_eq!(report.entries.len(), 2);
        assert_eq!(report.entries[0].issue, "no skill says how to migrate");
        assert_eq!((&*report.entries[1].skill, &*report.entries[1].evidence), ("a b", "v1"));
        let flaws = report.flaws.join("\n");
        for flaw in [
            "entry 2: `kind` is not one of",
            "entry 3: `issue`",
            "entry 4: not {",
            "entry 5: not {",
        ] {
            assert!(flaws.contains(flaw), "{flaws}");
        }
    }

    #[test]
    fn no_report_is_a_list_without_bounds() {
        let one = r#"{"kind":"x_a","issue":"a"}"#;
        let many = report(&format!("[{}]", vec![one; FRICTION_MAX + 2].join(",")));
        assert_eq!((many.entries.len(), many.flaws.len()), (FRICTION_MAX, 1));
        let long = report(&format!(r#"[{{"kind":"x_a","issue":"{}"}}]"#, "é".repeat(10_000)));
        assert_eq!(long.entries[0].issue.chars().count(), ISSUE_CHARS_MAX);
        for other in ["7", "null", "{}", "\"skill_missing\""] {
            assert_eq!(report(other).flaws.len(), 1, "{other}");
        }
    }
}
