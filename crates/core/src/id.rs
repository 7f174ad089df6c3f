//! The names of things in a run: scopes, units, attempts, judgements, questions.
//!
//! All of them read the same in speech, in the journal, on a screen and in a shell:
//! `build.T2/implement#3/code-review#1` is the first look of the gate `code-review` at the
//! third attempt at the stage `implement` for the item `T2` of `build`.
//!
//! Invariant: the text form is the identity. Every name can be parsed back from what it prints.
//! Invariant: numbers are never reused. They are the fencing tokens of the engine.

use std::{borrow::Cow, fmt, marker::PhantomData, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

/// The stage that does the work of a task. On screens it has the name of its task.
const WORK_STAGE: &str = "implement";

/// The most characters an item's id may have.
pub const ITEM_ID_CHARS_MAX: usize = 40;

/// The place of a unit: the flow itself, or one item of an `each`.
///
/// The scope of the flow is empty; the scope of task `T2` of slice `S1` is `slices.S1/tasks.T2`.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Scope(String);

/// One stage in one scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitId {
    pub scope: Scope,
    /// Which stage of that table.
    pub stage: String,
}

/// One try at a unit. Also its fencing token: a report that names an older attempt is ignored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptId {
    pub unit: UnitId,
    /// Counted from one. Never reused, not even when a unit is reset.
    pub number: u32,
}

/// One look by a gate at one attempt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JudgementId {
    pub attempt: AttemptId,
    pub gate: String,
    /// Counted from one for each gate and attempt.
    pub number: u32,
}

/// The id of work that runs outside: an attempt, or a gate's judgement of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallId {
    /// Work.
    Attempt(AttemptId),
    /// A look by a gate.
    Judgement(JudgementId),
}

/// A question to a person: `Q1`, `Q2`, … in the order in which they were asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuestionId(pub u32);

/// A text that is not the name of what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the name of {expected}")]
pub struct NotAName {
    pub text: String,
    /// A description of a valid name, with an example.
    pub expected: &'static str,
}

impl Scope {
    /// Returns the flow's own table.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns true for the flow's own table.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the unit for `stage` in this scope.
    pub fn unit(&self, stage: &str) -> UnitId {
        UnitId { scope: self.clone(), stage: stage.to_owned() }
    }

    /// Returns the scope around this one, unless it is the root.
    pub fn parent(&self) -> Option<Self> {
        let (outer, _) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        (!self.0.is_empty()).then(|| Self(outer.to_owned()))
    }

    /// Returns the way from the root to here: each step is an `each` stage and one of its items.
    pub fn steps(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.split('/').filter_map(|step| step.split_once('.'))
    }

    /// Returns the scope and the `each` stage that this scope is an item of, unless it is the root.
    pub fn origin(&self) -> Option<(Self, String)> {
        let (_, step) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        let (group, _) = step.split_once('.')?;
        Some((self.parent()?, group.to_owned()))
    }

    /// Returns the id of the innermost item, unless this is the root.
    pub fn item(&self) -> Option<&str> {
        self.steps().last().map(|(_, item)| item)
    }

    /// Returns true if this scope is `outer` or is inside it.
    pub fn within(&self, outer: &Self) -> bool {
        let rest = self.0.strip_prefix(&outer.0);
        rest.is_some_and(|rest| outer.0.is_empty() || rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the text; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl UnitId {
    /// Returns the table for one item of this unit, which is an `each`.
    pub fn item(&self, id: &str) -> Scope {
        Scope(format!("{self}.{id}"))
    }

    /// Returns the item of this unit, which is an `each`, that a scope is inside of.
    pub fn item_around<'s>(&self, scope: &'s Scope) -> Option<&'s str> {
        let inside = scope.0.strip_prefix(&self.to_string())?.strip_prefix('.')?;
        inside.split('/').next()
    }

    /// Returns the attempt with this number.
    pub fn attempt(&self, number: u32) -> AttemptId {
        AttemptId { unit: self.clone(), number }
    }

    /// Returns the name on screens: `design`, `T2` for the work of a task, `T2 plan` for another stage of it.
    pub fn label(&self) -> String {
        // A flow inside of a task has its own name as item: the task is what a person knows.
        let task = self.scope.steps().filter(|(group, item)| group != item).last();
        match task.map(|(_, item)| item).or_else(|| self.scope.item()) {
            Some(item) if self.stage == WORK_STAGE => item.to_owned(),
            Some(item) => format!("{item} {}", self.stage),
            None => self.stage.clone(),
        }
    }

    /// Returns the stage's place in the flow, without items: `build/implement` for all its tasks.
    pub fn place(&self) -> String {
        let groups = self.scope.steps().map(|(group, _)| group);
        groups.chain([self.stage.as_str()]).collect::<Vec<&str>>().join("/")
    }
}

impl AttemptId {
    /// Returns the name on screens: that of its unit, with the number of a repeated attempt.
    pub fn label(&self) -> String {
        let unit = self.unit.label();
        if self.number > 1 { format!("{unit} (attempt {})", self.number) } else { unit }
    }

    /// Returns one look of a gate at this attempt.
    pub fn judgement(&self, gate: &str, number: u32) -> JudgementId {
        JudgementId { attempt: self.clone(), gate: gate.to_owned(), number }
    }
}

impl JudgementId {
    /// Returns the name on screens: `T2: code-review`.
    pub fn label(&self) -> String {
        format!("{}: {}", self.attempt.label(), gate_label(&self.gate))
    }
}

/// Returns true if a person means this id of a task or another record: by all of it, or by whole parts at its end that end with a
/// number, whatever zeros their numbers begin with. `t01` and `T1` mean `T01`, and `ACME-S01-T01`.
pub fn is_meant(id: &str, wanted: &str) -> bool {
    let plain = |text: &str| {
        let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        let letters = &text[..text.len() - digits.len()];
        (letters.to_ascii_uppercase(), digits.trim_start_matches('0').to_owned())
    };
    let last = wanted.rsplit('-').next().unwrap_or_default();
    let number = last.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let is_end = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let (mut parts, mut ends) = (id.rsplit('-'), wanted.rsplit('-'));
    id.eq_ignore_ascii_case(wanted)
        || (is_end && ends.all(|end| parts.next().is_some_and(|part| plain(part) == plain(end))))
}

/// Returns the name of a gate on screens: Forge's own have names of the engine, all others those of their flow.
pub fn gate_label(gate: &str) -> &str {
    match gate {
        "form" => "file check",
        "changes" => "change check",
        "verify" => "checks",
        "guarded" => "protected-file check",
        "new-tests" => "new-test check",
        "land" => "merge",
        "outputs" => "output check",
        gate if gate.starts_with("checkpoint-") => "question",
        gate => gate,
    }
}

/// Returns a gate and what it does, as a part of a sentence: `the checks run`, `the merge runs`, `` `review` runs ``.
pub fn gate_does(gate: &str, does: &str, do_it: &str) -> String {
    match (gate, gate_label(gate)) {
        ("verify", label) => format!("the {label} {do_it}"),
        (name, label) if name == label => format!("`{gate}` {does}"),
        (_, label) => format!("the {label} {does}"),
    }
}

impl CallId {
    /// Returns the name on screens.
    pub fn label(&self) -> String {
        match self {
            Self::Attempt(attempt) => attempt.label(),
            Self::Judgement(judgement) => judgement.label(),
        }
    }

    /// Returns the name in the message of a commit: `T2, attempt 1`.
    pub fn commit_trailer(&self) -> String {
        let AttemptId { unit, number } = self.attempt();
        let attempt = format!("{}, attempt {number}", unit.label());
        match self.gate() {
            Some(gate) => format!("{attempt}, {}", gate_label(gate)),
            None => attempt,
        }
    }

    /// Returns the attempt that is made or looked at.
    pub fn attempt(&self) -> &AttemptId {
        match self {
            Self::Attempt(attempt) => attempt,
            Self::Judgement(judgement) => &judgement.attempt,
        }
    }

    /// Returns the unit that it is about.
    pub fn unit(&self) -> &UnitId {
        &self.attempt().unit
    }

    /// Returns the gate that looks.
    pub fn gate(&self) -> Option<&str> {
        match self {
            Self::Attempt(_) => None,
            Self::Judgement(judgement) => Some(&judgement.gate),
        }
    }
}

/// Returns true if a text is a legal id of an item: `[A-Za-z0-9][A-Za-z0-9_-]{0,39}`.
pub fn is_item_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.len() <= ITEM_ID_CHARS_MAX
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(plain)
}

/// Returns true if a text is a legal name of a stage, gate, role, list or parameter.
pub fn is_plain_name(text: &str) -> bool {
    is_item_id(text)
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope: Scope(scope), stage } = self;
        if scope.is_empty() { f.write_str(stage) } else { write!(f, "{scope}/{stage}") }
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.unit, self.number)
    }
}

impl fmt::Display for JudgementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}#{}", self.attempt, self.gate, self.number)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attempt(attempt) => attempt.fmt(f),
            Self::Judgement(judgement) => judgement.fmt(f),
        }
    }
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Q{}", self.0)
    }
}

fn not_a_name(text: &str, expected: &'static str) -> NotAName {
    NotAName { text: text.to_owned(), expected }
}

/// Splits `name#3` into its name and number.
fn numbered(text: &str) -> Option<(&str, u32)> {
    let (name, number) = text.rsplit_once('#')?;
    let number = number.parse().ok().filter(|number| *number > 0)?;
    Some((name, number))
}

impl FromStr for UnitId {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let wrong = || not_a_name(text, "a stage or task, such as `build.T2/implement`");
        let (scope, stage) = text.rsplit_once('/').unwrap_or(("", text));
        let is_step = |step: &str| {
            step.split_once('.').is_some_and(|(group, id)| is_plain_name(group) && is_item_id(id))
        };
        let is_scope = scope.is_empty() || scope.split('/').all(is_step);
        if is_scope && is_plain_name(stage) {
            Ok(Self { scope: Scope(scope.to_owned()), stage: stage.to_owned() })
        } else {
            Err(wrong())
        }
    }
}

impl FromStr for AttemptId {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let wrong = || not_a_name(text, "an attempt, such as `build.T2/implement#3`");
        let (unit, number) = numbered(text).ok_or_else(wrong)?;
        Ok(Self { unit: unit.parse().map_err(|_| wrong())?, number })
    }
}

impl FromStr for JudgementId {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let wrong = || not_a_name(text, "a check, such as `build.T2/implement#3/code-review#1`");
        let (rest, number) = numbered(text).ok_or_else(wrong)?;
        let (attempt, gate) = rest.rsplit_once('/').ok_or_else(wrong)?;
        let attempt = attempt.parse().map_err(|_| wrong())?;
        if is_plain_name(gate) {
            Ok(Self { attempt, gate: gate.to_owned(), number })
        } else {
            Err(wrong())
        }
    }
}

impl FromStr for CallId {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        match text.matches('#').count() {
            0 | 1 => text.parse().map(Self::Attempt),
            _ => text.parse().map(Self::Judgement),
        }
    }
}

impl FromStr for QuestionId {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let number = text.strip_prefix(['Q', 'q']).and_then(|number| number.parse().ok());
        number.map(Self).ok_or_else(|| not_a_name(text, "a question, such as `Q1`"))
    }
}

/// Writes a name as its text, and reads it back. Journals hold many: no other text is made on the way.
macro_rules! written_as_text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(NameVisitor(PhantomData))
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                String::json_schema(generator)
            }
        }
    )*};
}

written_as_text!(UnitId, AttemptId, JudgementId, CallId, QuestionId);

/// Parses a name from its text.
struct NameVisitor<T>(PhantomData<T>);

impl<T: FromStr<Err = NotAName>> Visitor<'_> for NameVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}
