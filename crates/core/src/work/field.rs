//! What a record may say besides its id and its state: one table for each kind, and the check of a value against it.
//!
//! Not here: the records that a reference may name (the caller knows them), and how values are written down.
//!
//! Invariant: what no table names is refused, at every depth. The order of a table is the order in files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::WorkKind;
use crate::item;

/// Limits of texts, in characters, and of lists, in entries.
pub const TITLE_CHARS_MAX: usize = 200;
const NAME_CHARS_MAX: usize = 120;
pub const LINE_CHARS_MAX: usize = 300;
const TEXT_CHARS_MAX: usize = 20_000;
pub const ENTRIES_MAX: usize = 100;
const SUMMARY_CHARS_MAX: usize = 280;
const SUMMARY_LINE_CHARS_MAX: usize = 200;
const SUMMARY_ENTRIES_MAX: usize = 12;

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FieldValue {
    Flag(bool),
    Count(u64),
    Text(String),
    List(Vec<FieldValue>),
    Table(Fields),
}

/// The fields of a record by name.
pub type Fields = BTreeMap<String, FieldValue>;

/// The form of a value.
#[derive(Clone, Copy, Debug)]
pub enum FieldShape {
    Text {
        chars_max: usize,
    },
    /// A text without line breaks.
    Line {
        chars_max: usize,
    },
    Choice(&'static [&'static str]),
    Count,
    Flag,
    /// A date with a time and a zone, such as `2026-01-31T12:00:00Z`.
    Time,
    /// An `https` or `http` address.
    Address,
    Texts {
        entries_max: usize,
        chars_max: usize,
    },
    /// A path below the top of the repository.
    Path,
    Paths,
    Record(WorkKind),
    Records(WorkKind),
    /// A text for each of some records.
    TextByRecord(WorkKind),
    Table(&'static [FieldRule]),
}

/// The origin of the value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldOwner {
    /// People set it, and every record must have it.
    Required,
    /// People set it.
    Optional,
    /// Forge sets it; people cannot.
    Forge,
    /// It follows from other records, and is written in no file.
    Derived,
}

/// One field of a kind of record.
#[derive(Clone, Copy, Debug)]
pub struct FieldRule {
    pub name: &'static str,
    pub owner: FieldOwner,
    pub shape: FieldShape,
}

/// A field that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {rule}")]
pub struct FieldFlaw {
    /// The way to it, such as `summaries.plan.objective`.
    pub field: String,
    /// The rest of the sentence.
    pub rule: String,
}

impl FieldRule {
    /// Returns true if people set it.
    pub const fn is_settable(&self) -> bool {
        matches!(self.owner, FieldOwner::Required | FieldOwner::Optional)
    }

    /// Returns the name on screens and on the command line, where the key in files can be used, too.
    pub fn label(&self) -> &'static str {
        let other = LABELS.iter().find(|(key, _)| *key == self.name);
        other.map_or(self.name, |(_, label)| label)
    }
}

/// The fields whose keys in files are not the words of screens.
const LABELS: &[(&str, &str)] = &[
    ("sprintId", "sprint"),
    ("feature_id", "feature"),
    ("taskIds", "tasks"),
    ("estimate", "size"),
    ("createdAt", "created"),
    ("created_at", "created"),
    ("updated_at", "updated"),
    ("completedAt", "completed"),
    ("reportedAt", "reported"),
    ("resolvedAt", "resolved"),
];

const fn of(owner: FieldOwner, name: &'static str, shape: FieldShape) -> FieldRule {
    FieldRule { name, owner, shape }
}

const fn required(name: &'static str, shape: FieldShape) -> FieldRule {
    of(FieldOwner::Required, name, shape)
}

const fn optional(name: &'static str, shape: FieldShape) -> FieldRule {
    of(FieldOwner::Optional, name, shape)
}

const fn stamp(name: &'static str) -> FieldRule {
    of(FieldOwner::Forge, name, FieldShape::Time)
}

const fn derived(name: &'static str, shape: FieldShape) -> FieldRule {
    of(FieldOwner::Derived, name, shape)
}

const TITLE: FieldRule = required("title", FieldShape::Line { chars_max: TITLE_CHARS_MAX });
const FEATURE: FieldRule = optional("feature_id", FieldShape::Record(WorkKind::Feature));
const DESCRIPTION: FieldRule =
    optional("description", FieldShape::Text { chars_max: TEXT_CHARS_MAX });
const PATH: FieldRule = optional("path", FieldShape::Path);
const NAME: FieldShape = FieldShape::Line { chars_max: NAME_CHARS_MAX };
const LINE: FieldShape = FieldShape::Line { chars_max: LINE_CHARS_MAX };
const LINES: FieldShape = FieldShape::Texts { entries_max: ENTRIES_MAX, chars_max: LINE_CHARS_MAX };
const LOCATOR: FieldRule =
    optional("locator", FieldShape::Table(&[required("backend", NAME), required("ref", LINE)]));

const SUMMARY_LINES: FieldShape =
    FieldShape::Texts { entries_max: SUMMARY_ENTRIES_MAX, chars_max: SUMMARY_LINE_CHARS_MAX };
/// What the summary of a phase says. Only that of the phase that chooses the route of a bug has the last field.
const SUMMARY_FIELDS: &[FieldRule] = &[
    required("objective", FieldShape::Text { chars_max: SUMMARY_CHARS_MAX }),
    optional("key_changes", SUMMARY_LINES),
    optional("findings", SUMMARY_LINES),
    optional("verdict", FieldShape::Choice(&["approved", "revision", "n/a"])),
    optional("written_at", FieldShape::Time),
    optional("artifact_ref", LINE),
    optional("route", FieldShape::Choice(&["A", "B"])),
];
const TRIAGE_SUMMARY: FieldShape = FieldShape::Table(SUMMARY_FIELDS);
const SUMMARY: FieldShape = FieldShape::Table(SUMMARY_FIELDS.split_at(SUMMARY_FIELDS.len() - 1).0);

const TASK: &[FieldRule] = &[
    required("sprintId", FieldShape::Record(WorkKind::Sprint)),
    TITLE,
    FEATURE,
    DESCRIPTION,
    PATH,
    LOCATOR,
    optional("pipeline", NAME),
    optional("estimate", FieldShape::Choice(&["S", "M", "L", "XL"])),
    optional("dependencies", FieldShape::Records(WorkKind::Task)),
    optional("writes", FieldShape::Paths),
    optional("must", LINES),
    optional("knowledgeUpdates", LINES),
    optional("planIterations", FieldShape::Count),
    optional("codeReviewIterations", FieldShape::Count),
    optional("assignedModel", NAME),
    optional(
        "summaries",
        FieldShape::Table(&[
            optional("plan", SUMMARY),
            optional("review_plan", SUMMARY),
            optional("implementation", SUMMARY),
            optional("code_review", SUMMARY),
            optional("validation", SUMMARY),
        ]),
    ),
];

const SPRINT: &[FieldRule] = &[
    TITLE,
    FEATURE,
    DESCRIPTION,
    optional("goal", FieldShape::Text { chars_max: TEXT_CHARS_MAX }),
    optional(
        "executionMode",
        FieldShape::Choice(&["sequential", "wave-parallel", "full-parallel"]),
    ),
    PATH,
    LOCATOR,
    optional("humanEstimates", FieldShape::TextByRecord(WorkKind::Task)),
    optional("features", FieldShape::Records(WorkKind::Feature)),
    stamp("createdAt"),
    stamp("completedAt"),
    derived("taskIds", FieldShape::Records(WorkKind::Task)),
    derived("dependencies", FieldShape::Table(&[])),
];

const BUG: &[FieldRule] = &[
    TITLE,
    required("severity", FieldShape::Choice(&["critical", "major", "minor"])),
    DESCRIPTION,
    PATH,
    LOCATOR,
    optional(
        "rootCauseCategory",
        FieldShape::Choice(&[
            "validation",
            "auth",
            "business-rule",
            "data-integrity",
            "race-condition",
            "integration",
            "configuration",
            "regression",
        ]),
    ),
    optional("similarBugs", FieldShape::Records(WorkKind::Bug)),
    optional("checklistItemAdded", FieldShape::Flag),
    optional("businessRuleUpdated", FieldShape::Flag),
    optional("githubIssue", FieldShape::Address),
    optional(
        "summaries",
        FieldShape::Table(&[
            optional("plan", SUMMARY),
            optional("triage", TRIAGE_SUMMARY),
            optional("review_plan", SUMMARY),
            optional("implementation", SUMMARY),
            optional("code_review", SUMMARY),
            optional("validation", SUMMARY),
            optional("approve", SUMMARY),
        ]),
    ),
    stamp("reportedAt"),
    stamp("resolvedAt"),
];

const FEATURE_FIELDS: &[FieldRule] = &[
    TITLE,
    DESCRIPTION,
    optional("requirements", LINES),
    stamp("created_at"),
    stamp("updated_at"),
    derived("sprints", FieldShape::Records(WorkKind::Sprint)),
    derived("tasks", FieldShape::Records(WorkKind::Task)),
];

/// Returns the fields of a kind, in the order of its files.
pub const fn rules(kind: WorkKind) -> &'static [FieldRule] {
    match kind {
        WorkKind::Task => TASK,
        WorkKind::Sprint => SPRINT,
        WorkKind::Bug => BUG,
        WorkKind::Feature => FEATURE_FIELDS,
    }
}

/// Returns a field of a kind.
pub fn rule(kind: WorkKind, name: &str) -> Option<&'static FieldRule> {
    rules(kind).iter().find(|rule| rule.name == name)
}

/// Returns the field that a person means by its label, or by its key in files.
pub fn rule_by_label(kind: WorkKind, name: &str) -> Option<&'static FieldRule> {
    rule(kind, name).or_else(|| rules(kind).iter().find(|rule| rule.label() == name))
}

/// Answers with the id of a record as it is spelled, or why the text names none.
pub(super) type FindRecord<'a> = &'a dyn Fn(WorkKind, &str) -> Result<String, String>;

impl FieldShape {
    /// Checks a value, and spells the records that it names as they are.
    pub(super) fn check(
        &self,
        field: &str,
        value: &mut FieldValue,
        find: FindRecord<'_>,
    ) -> Result<(), FieldFlaw> {
        let flaw = |rule: String| FieldFlaw { field: field.to_owned(), rule };
        match (self, value) {
            (Self::Text { chars_max }, FieldValue::Text(text)) => {
                check_text(text, *chars_max).map_err(flaw)
            }
            (Self::Line { chars_max }, FieldValue::Text(text)) => {
                check_line(text, *chars_max).map_err(flaw)
            }
            (Self::Choice(known), FieldValue::Text(text)) => {
                if known.contains(&text.as_str()) {
                    return Ok(());
                }
                Err(flaw(format!("can be {}, not `{text}`", known.join(", "))))
            }
            (Self::Count, FieldValue::Count(_)) | (Self::Flag, FieldValue::Flag(_)) => Ok(()),
            (Self::Time, FieldValue::Text(text)) => {
                let rule = "must be a time such as 2026-01-31T12:00:00Z";
                if is_time(text) { Ok(()) } else { Err(flaw(rule.to_owned())) }
            }
            (Self::Address, FieldValue::Text(text)) => {
                let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
                let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
                let is_address = |rest: &str| !rest.is_empty() && rest.chars().all(is_plain);
                if rest.is_some_and(is_address) && text.chars().count() <= LINE_CHARS_MAX {
                    return Ok(());
                }
                Err(flaw("must be an address that begins with https:// or http://".to_owned()))
            }
            (Self::Texts { entries_max, chars_max }, FieldValue::List(entries)) => {
                check_length(entries.len(), *entries_max).map_err(flaw)?;
                each(field, entries, |text| check_text(text, *chars_max))
            }
            (Self::Path, FieldValue::Text(path)) => check_path(path).map_err(flaw),
            (Self::Paths, FieldValue::List(entries)) => {
                check_length(entries.len(), ENTRIES_MAX).map_err(flaw)?;
                each_named(field, entries, |path| check_path(path))
            }
            (Self::Record(kind), FieldValue::Text(text)) => {
                *text = find(*kind, text).map_err(flaw)?;
                Ok(())
            }
            (Self::Records(kind), FieldValue::List(entries)) => {
                check_length(entries.len(), ENTRIES_MAX).map_err(flaw)?;
                each_named(field, entries, |text| {
                    *text = find(*kind, text)?;
                    Ok(())
                })?;
                let is_twice = |at: usize| entries[..at].contains(&entries[at]);
                match (0..entries.len()).find(|at| is_twice(*at)) {
                    Some(_) => Err(flaw("names a record twice".to_owned())),
                    None => Ok(()),
                }
            }
            (Self::TextByRecord(kind), FieldValue::Table(table)) => {
                check_length(table.len(), ENTRIES_MAX).map_err(flaw)?;
                let mut named = Fields::new();
                for (key, value) in std::mem::take(table) {
                    let inner = format!("{field}.{key}");
                    let id = find(*kind, &key)
                        .map_err(|rule| FieldFlaw { field: inner.clone(), rule })?;
                    let mut value = value;
                    LINE.check(&inner, &mut value, find)?;
                    named.insert(id, value);
                }
                *table = named;
                Ok(())
            }
            (Self::Table(rules), FieldValue::Table(table)) => {
                check_table(rules, &format!("{field}."), table, find)
            }
            (_, found) => Err(flaw(format!("must be {}, not {}", self.noun(), found.noun()))),
        }
    }

    /// Reads what a person typed. Ids and paths are divided by commas, a text is one entry, and tables cannot be typed so.
    pub fn parse(&self, text: &str) -> Result<FieldValue, String> {
        let text = text.trim();
        let wrong = || format!("must be {}, not `{text}`", self.noun());
        match self {
            Self::Text { .. }
            | Self::Line { .. }
            | Self::Choice(_)
            | Self::Time
            | Self::Address
            | Self::Path
            | Self::Record(_) => Ok(FieldValue::Text(text.to_owned())),
            Self::Count => text.parse().map(FieldValue::Count).map_err(|_| wrong()),
            Self::Flag => text.parse().map(FieldValue::Flag).map_err(|_| wrong()),
            Self::Texts { .. } => Ok(FieldValue::List(vec![FieldValue::Text(text.to_owned())])),
            Self::Paths | Self::Records(_) => {
                let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
                Ok(FieldValue::List(entries.map(|entry| FieldValue::Text(entry.into())).collect()))
            }
            Self::TextByRecord(_) | Self::Table(_) => Err(wrong()),
        }
    }

    /// Returns true for a list.
    pub const fn is_list(&self) -> bool {
        matches!(self, Self::Texts { .. } | Self::Paths | Self::Records(_))
    }

    /// Returns the values that can be typed, for a list of fields.
    pub fn values(&self) -> String {
        match self {
            Self::Choice(known) => known.join(", "),
            Self::Text { chars_max } | Self::Line { chars_max } => {
                format!("text, at most {chars_max} characters")
            }
            Self::Texts { entries_max, chars_max } => {
                format!("list of at most {entries_max} texts of {chars_max} characters")
            }
            Self::Table(rules) => {
                let names: Vec<&str> = rules.iter().map(|rule| rule.name).collect();
                format!("object with {}", names.join(", "))
            }
            Self::Count
            | Self::Flag
            | Self::Time
            | Self::Address
            | Self::Path
            | Self::Paths
            | Self::Record(_)
            | Self::Records(_)
            | Self::TextByRecord(_) => {
                let noun = self.noun();
                let plain = noun.strip_prefix("a ").or_else(|| noun.strip_prefix("an "));
                plain.or_else(|| noun.strip_prefix("the ")).unwrap_or(&noun).to_owned()
            }
        }
    }

    /// Returns a description of its values.
    pub fn noun(&self) -> String {
        match self {
            Self::Text { .. } | Self::Line { .. } => "a text".to_owned(),
            Self::Choice(known) => format!("one of {}", known.join(", ")),
            Self::Count => "a whole number".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Time => "a time such as 2026-01-31T12:00:00Z".to_owned(),
            Self::Address => "an address".to_owned(),
            Self::Texts { .. } => "a list of texts".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Paths => "a list of paths".to_owned(),
            Self::Record(kind) => format!("the id of a {kind}"),
            Self::Records(kind) => format!("a list of ids of {}", kind.folder()),
            Self::TextByRecord(kind) => format!("an object with ids of {}", kind.folder()),
            Self::Table(_) => "an object".to_owned(),
        }
    }
}

impl FieldValue {
    /// Returns the text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Flag(_) | Self::Count(_) | Self::List(_) | Self::Table(_) => None,
        }
    }

    /// Returns the texts of a list.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let entries = match self {
            Self::List(entries) => entries.as_slice(),
            Self::Flag(_) | Self::Count(_) | Self::Text(_) | Self::Table(_) => &[],
        };
        entries.iter().filter_map(Self::as_text)
    }

    /// Returns the keys of a table.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let table = match self {
            Self::Table(table) => Some(table),
            Self::Flag(_) | Self::Count(_) | Self::Text(_) | Self::List(_) => None,
        };
        table.into_iter().flat_map(|table| table.keys().map(String::as_str))
    }

    const fn noun(&self) -> &'static str {
        match self {
            Self::Flag(_) => "true or false",
            Self::Count(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "an object",
        }
    }
}

/// Checks the fields of a table: none is unknown, each has its form, and what is required is there.
pub(super) fn check_table(
    rules: &[FieldRule],
    prefix: &str,
    fields: &mut Fields,
    find: FindRecord<'_>,
) -> Result<(), FieldFlaw> {
    for (name, value) in fields.iter_mut() {
        let field = format!("{prefix}{name}");
        let Some(rule) = rules.iter().find(|rule| rule.name == name) else {
            let known: Vec<&str> = rules.iter().map(|rule| rule.name).collect();
            let rule = format!("is not a field here; known: {}", known.join(", "));
            return Err(FieldFlaw { field, rule });
        };
        if rule.owner == FieldOwner::Derived {
            let rule = "follows from other records and is written in no file".to_owned();
            return Err(FieldFlaw { field, rule });
        }
        rule.shape.check(&field, value, find)?;
    }
    let is_missing =
        |rule: &&FieldRule| rule.owner == FieldOwner::Required && !fields.contains_key(rule.name);
    match rules.iter().find(is_missing) {
        Some(rule) => Err(FieldFlaw {
            field: format!("{prefix}{}", rule.name),
            rule: format!("is missing; it is {}", rule.shape.noun()),
        }),
        None => Ok(()),
    }
}

fn check_text(text: &str, chars_max: usize) -> Result<(), String> {
    let chars = text.chars().count();
    if text.trim().is_empty() {
        Err("is empty".to_owned())
    } else if chars > chars_max {
        Err(format!("has {chars} characters, and at most {chars_max} are allowed"))
    } else if text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        Err("has a control character in it".to_owned())
    } else {
        Ok(())
    }
}

fn check_line(text: &str, chars_max: usize) -> Result<(), String> {
    check_text(text, chars_max)?;
    if text.contains('\n') { Err("has a line break in it".to_owned()) } else { Ok(()) }
}

fn check_path(path: &str) -> Result<(), String> {
    check_line(path, LINE_CHARS_MAX)?;
    item::path_flaw(path).map_or(Ok(()), |why| Err(format!("has the path `{path}`, {why}")))
}

fn check_length(entries: usize, entries_max: usize) -> Result<(), String> {
    if entries <= entries_max {
        return Ok(());
    }
    Err(format!("has {entries} entries, and at most {entries_max} are allowed"))
}

/// Checks the entries of a list whose flaws name the entry, so that its number says nothing.
fn each_named(
    field: &str,
    entries: &mut [FieldValue],
    check: impl FnMut(&mut String) -> Result<(), String>,
) -> Result<(), FieldFlaw> {
    each(field, entries, |_| Ok(()))?;
    each(field, entries, check).map_err(|flaw| FieldFlaw { field: field.to_owned(), ..flaw })
}

/// Checks the entries of a list of texts.
fn each(
    field: &str,
    entries: &mut [FieldValue],
    mut check: impl FnMut(&mut String) -> Result<(), String>,
) -> Result<(), FieldFlaw> {
    for (at, entry) in entries.iter_mut().enumerate() {
        let flaw = |rule| FieldFlaw { field: format!("{field}[{at}]"), rule };
        let FieldValue::Text(text) = entry else {
            return Err(flaw(format!("must be a text, not {}", entry.noun())));
        };
        check(text).map_err(flaw)?;
    }
    Ok(())
}

/// Returns true for `YYYY-MM-DDTHH:MM:SS`, perhaps with up to nine decimals, and `Z`, `±HH:MM` or `±HHMM`.
fn is_time(text: &str) -> bool {
    let is_like = |text: &str, pattern: &str| {
        text.len() == pattern.len()
            && text.bytes().zip(pattern.bytes()).all(|(found, wanted)| match wanted {
                b'0' => found.is_ascii_digit(),
                plain => found == plain,
            })
    };
    let Some((seconds, rest)) = text.split_at_checked("0000-00-00T00:00:00".len()) else {
        return false;
    };
    let number = |from: usize| seconds[from..from + 2].parse::<u32>().unwrap_or(u32::MAX);
    let is_date = is_like(seconds, "0000-00-00T00:00:00")
        && (1..=12).contains(&number(5))
        && (1..=31).contains(&number(8))
        && number(11) < 24
        && number(14) < 60
        && number(17) < 60;
    let zone = match rest.strip_prefix('.') {
        Some(decimals) => {
            let digits = decimals.bytes().take_while(u8::is_ascii_digit).count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            &decimals[digits..]
        }
        None => rest,
    };
    let offsets = ["+00:00", "-00:00", "+0000", "-0000"];
    is_date && (zone == "Z" || offsets.iter().any(|offset| is_like(zone, offset)))
}
