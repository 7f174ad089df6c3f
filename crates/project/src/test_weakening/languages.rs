//! Languages of test files and the marks of weakened tests, read from `languages.toml`.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

use regex::{Captures, Regex, RegexSet};
use serde::Deserialize;

use crate::path_names::base_name;

const TABLE: &str = include_str!("languages.toml");

/// A language, ready to read files.
#[derive(Default)]
pub(super) struct Language {
    pub(super) comments: Option<Regex>,
    pub(super) announces: Option<Regex>,
    pub(super) skips: Option<Regex>,
    pub(super) tests: Vec<Regex>,
    pub(super) assertions: Option<Regex>,
    pub(super) no_assertions: Option<Regex>,
    pub(super) imports: Option<Regex>,
    pub(super) classes: Option<Regex>,
    pub(super) exits_by_habit: bool,
    pub(super) marks: Vec<Mark>,
    pub(super) mark_set: RegexSet,
}

/// A text that weakens a test.
pub(super) struct Mark {
    pub(super) kind: MarkKind,
    /// The text that people see.
    pub(super) text: String,
    /// Matches code without spaces, but for one between two words.
    pub(super) regex: Regex,
}

/// The effect of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MarkKind {
    /// Leaves a test out.
    Skip,
    /// Leaves a test out where something holds.
    Condition,
    /// Leaves all other tests out.
    Only,
    /// Cannot fail.
    Tautology,
    /// Swallows a failure.
    Swallow,
    /// Changes the runner itself.
    Runner,
}

impl MarkKind {
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Skip | Self::Condition => "newly skipped",
            Self::Only => "newly runs only some tests",
            Self::Tautology => "new assertion that cannot fail",
            Self::Swallow => "newly swallows a failure",
            Self::Runner => "newly changes how tests are run or counted",
        }
    }
}

/// Returns the language of a file, by its name. Only the languages that are asked for are compiled.
pub(super) fn language_of(path: &str) -> &'static Language {
    static TEXTS: LazyLock<LanguageTable> =
        LazyLock::new(|| toml::from_str(TABLE).expect("our own table of languages is TOML"));
    static COMPILED: LazyLock<Vec<OnceLock<Language>>> = LazyLock::new(|| {
        // The last one is for files of no known language.
        (0..=TEXTS.language.len()).map(|_| OnceLock::new()).collect()
    });
    let name = base_name(path).to_ascii_lowercase();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let has_extension = |text: &LanguageText| text.extensions.iter().any(|it| it == extension);
    let has_name = |text: &LanguageText| {
        text.file_names.as_ref().is_some_and(|pattern| regex(pattern).is_match(&name))
    };
    let texts = &TEXTS.language;
    let at = texts.iter().position(has_extension).or_else(|| texts.iter().position(has_name));
    let other = LanguageText::default();
    let text = at.map_or(&other, |at| &texts[at]);
    COMPILED[at.unwrap_or(texts.len())].get_or_init(|| Language::new(text, &TEXTS))
}

/// Compiles a pattern of the table.
pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("our own patterns of languages are valid")
}

/// Tells whether the groups `one` and `other`, if there are such, hold the same.
pub(super) fn is_even(groups: &Captures) -> bool {
    let group = |name| groups.name(name).map(|group| group.as_str());
    group("one") == group("other")
}

/// The table, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LanguageTable {
    comments: BTreeMap<String, String>,
    everywhere: BTreeMap<MarkKind, Vec<MarkText>>,
    language: Vec<LanguageText>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LanguageText {
    extensions: Vec<String>,
    file_names: Option<String>,
    comments: Option<String>,
    announces: Option<String>,
    skips: Option<String>,
    tests: Vec<String>,
    assertions: Option<String>,
    no_assertions: Option<String>,
    imports: Option<String>,
    classes: Option<String>,
    exits_by_habit: bool,
    marks: BTreeMap<MarkKind, Vec<MarkText>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MarkText {
    Literal(String),
    Pattern { mark: String, pattern: String },
}

impl Language {
    fn new(text: &LanguageText, table: &LanguageTable) -> Self {
        let compiled = |pattern: &Option<String>| pattern.as_deref().map(regex);
        let kinds = text.marks.iter().chain(&table.everywhere);
        let marks = kinds.flat_map(|(kind, marks)| marks.iter().map(|mark| Mark::new(*kind, mark)));
        let marks: Vec<Mark> = marks.collect();
        let mark_set = RegexSet::new(marks.iter().map(|mark| mark.regex.as_str()));
        Self {
            comments: text.comments.as_ref().map(|name| regex(&table.comments[name])),
            announces: compiled(&text.announces),
            skips: compiled(&text.skips),
            tests: text.tests.iter().map(|pattern| regex(pattern)).collect(),
            assertions: compiled(&text.assertions),
            no_assertions: compiled(&text.no_assertions),
            imports: compiled(&text.imports),
            classes: compiled(&text.classes),
            exits_by_habit: text.exits_by_habit,
            mark_set: mark_set.expect("patterns that are valid one by one fit into a set"),
            marks,
        }
    }
}

impl Mark {
    /// Returns a mark that is seen by more than its text.
    pub(super) fn seen(text: &str, pattern: &str) -> Self {
        Self { kind: MarkKind::Runner, text: text.to_owned(), regex: regex(pattern) }
    }

    /// Compiles a mark. A literal that starts with a word does not match inside a longer word; what
    /// may follow a literal that ends with a word depends on its kind.
    fn new(kind: MarkKind, text: &MarkText) -> Self {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        match text {
            MarkText::Pattern { mark, pattern } => {
                Self { kind, text: mark.clone(), regex: regex(pattern) }
            }
            MarkText::Literal(text) => {
                let start = if text.starts_with(is_word) { r"\b{start-half}" } else { "" };
                let end = match kind {
                    MarkKind::Tautology | MarkKind::Swallow if !text.ends_with(is_word) => "",
                    // `assert True and x` can fail.
                    MarkKind::Tautology => "(?:[,);#]|$)",
                    MarkKind::Swallow => r"\b{end-half}",
                    // `@Ignore` is also `@Ignored`.
                    MarkKind::Skip | MarkKind::Condition | MarkKind::Only | MarkKind::Runner => "",
                };
                let pattern = format!("{start}{}{end}", regex::escape(text));
                Self { kind, text: text.clone(), regex: regex(&pattern) }
            }
        }
    }
}
