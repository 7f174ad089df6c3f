//! Marks that a test file was weakened between two versions: removed or skipped tests, fewer
//! assertions, assertions that cannot fail.
//!
//! The code is read roughly, by language, without comments; languages and marks are data,
//! `languages.toml`. A mark is a reason to look, never a verdict: tests may be removed for good
//! reasons.
//!
//! Invariant: a version compared with itself has no marks.
//! Invariant: linear in the two texts.

mod languages;

use std::{collections::BTreeSet, sync::LazyLock};

use languages::{Language, Mark, MarkKind, is_even, language_of, regex};
use regex::Regex;

use crate::bounded_text::start_of;

/// The most names in one sentence.
const NAMES_MAX: usize = 10;
/// Longer texts are compared only so far.
const BYTES_MAX: usize = 1024 * 1024;

/// Says what got weaker from one version of a file to the next, one sentence each.
///
/// A file that is gone is an empty text. Where checks are proved, fewer assertions are told only if none is left:
/// a helper that many tests call has one.
pub fn find_weakening(before: &str, after: &str, path: &str, proved: ChecksProved) -> Vec<String> {
    let language = language_of(path);
    let mut before = TestFile::new(before, language);
    let after = TestFile::new(after, language);
    if proved == ChecksProved::Yes && after.assertions > 0 {
        before.assertions = before.assertions.min(after.assertions);
    }
    before.weaker_in(&after)
}

/// Whether it was proved that checks can fail, and run the tests that they ran before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksProved {
    Yes,
    No,
}

/// Says what in a new test file keeps tests from failing, one sentence each. A test that is skipped where something
/// holds is not told, and where checks are proved, neither is a script that says itself how it ends.
pub fn find_marks(text: &str, path: &str, proved: ChecksProved) -> Vec<String> {
    let language = language_of(path);
    let mut file = TestFile::new(text, language);
    let by_habit = language.exits_by_habit && proved == ChecksProved::Yes;
    file.marks.retain(|seen| match seen.mark.kind {
        MarkKind::Condition => false,
        MarkKind::Swallow => !by_habit,
        MarkKind::Skip | MarkKind::Only | MarkKind::Tautology | MarkKind::Runner => true,
    });
    TestFile::default().weaker_in(&file)
}

/// The tests, assertions and marks of one version of a file.
#[derive(Default)]
struct TestFile {
    /// Names of tests, doubles included.
    tests: Vec<String>,
    assertions: usize,
    /// In the order in which they were first seen.
    marks: Vec<SeenMark>,
}

struct SeenMark {
    mark: &'static Mark,
    count: usize,
    last_line: usize,
}

impl TestFile {
    /// Says what is weaker in a later version.
    fn weaker_in(&self, after: &Self) -> Vec<String> {
        let before = self;
        let mut sentences = Vec::new();
        let is_shorter = after.tests.len() < before.tests.len();
        if is_shorter {
            let gone = missing(&before.tests, &after.tests);
            let names: Vec<&str> = gone.iter().copied().take(NAMES_MAX).collect();
            let more = gone.len().saturating_sub(NAMES_MAX);
            let names =
                if names.is_empty() { "one of a double name".into() } else { names.join(", ") };
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let removed = match gone.len().max(before.tests.len() - after.tests.len()) {
                1 => "1 test".to_owned(),
                n => format!("{n} tests"),
            };
            sentences.push(format!("{removed} removed: {names}{more}"));
        }
        for SeenMark { mark, count, last_line } in &after.marks {
            let earlier = before.marks.iter().find(|seen| seen.mark.text == mark.text);
            if *count > earlier.map_or(0, |seen| seen.count) {
                let what = mark.kind.sentence();
                sentences.push(format!("line {last_line}: {what}: `{}`", mark.text));
            }
        }
        // With a test go its assertions.
        if after.assertions < before.assertions && !is_shorter {
            sentences
                .push(format!("fewer assertions: {} → {}", before.assertions, after.assertions));
        }
        sentences
    }

    fn new(text: &str, language: &'static Language) -> Self {
        let mut file = Self::default();
        let mut lines = CodeLines { comments: language.comments.as_ref(), in_block: None };
        let mut names = TestNames { language, is_announced: false };
        let mut definitions = Definitions::new(language);
        let mut is_first_line = false;
        for (at, line) in start_of(text, BYTES_MAX).lines().enumerate() {
            let code = lines.code(line).trim();
            if code.is_empty() {
                continue;
            }
            file.add_marks(code, at + 1, language);
            file.assertions += assertions(code, language);
            let begun = names.begun_by(code);
            if is_first_line && FIRST_RETURN.regex.is_match(code) {
                file.add_mark(&FIRST_RETURN, 1, at + 1);
            }
            if let Some(mark) = definitions.mark_of(line, code, begun.as_deref()) {
                file.add_mark(mark, 1, at + 1);
            }
            is_first_line = begun.is_some() || (is_first_line && code == "{");
            file.tests.extend(begun);
        }
        file
    }

    fn add_mark(&mut self, mark: &'static Mark, count: usize, line: usize) {
        match self.marks.iter_mut().find(|seen| seen.mark.text == mark.text) {
            Some(seen) => {
                seen.count += count;
                seen.last_line = line;
            }
            None => self.marks.push(SeenMark { mark, count, last_line: line }),
        }
    }

    fn add_marks(&mut self, code: &str, line: usize, language: &'static Language) {
        let dense = dense(code);
        for at in &language.mark_set.matches(&dense) {
            let mark = &language.marks[at];
            let count = mark.regex.captures_iter(&dense).filter(is_even).count();
            if count == 0 {
                continue;
            }
            self.add_mark(mark, count, line);
        }
    }
}

/// Marks that are seen by where they are.
static FIRST_RETURN: LazyLock<Mark> = LazyLock::new(|| {
    Mark::seen("return as first line of a test", r"^(?:return|exit)(?: (?:0|None))?;?$")
});
static DEFINED_TWICE: LazyLock<Mark> = LazyLock::new(|| Mark::seen("a test defined twice", ""));
static IMPORT_CHANGED: LazyLock<Mark> = LazyLock::new(|| {
    Mark::seen("assignment to what is imported", r"^(?<name>\w+)(?:\.\w+)*=(?:[^=>]|$)")
});

/// Names that a file imports and defines, line by line.
struct Definitions {
    language: &'static Language,
    imported: BTreeSet<String>,
    class: String,
    /// Classes, and tests with their class.
    defined: BTreeSet<(String, String)>,
}

impl Definitions {
    fn new(language: &'static Language) -> Self {
        let (imported, defined) = (BTreeSet::new(), BTreeSet::new());
        Self { language, imported, class: String::new(), defined }
    }

    /// Returns what a line does to names that were there before.
    fn mark_of(&mut self, line: &str, code: &str, test: Option<&str>) -> Option<&'static Mark> {
        let (dense, is_outermost) = (dense(code), !line.starts_with(char::is_whitespace));
        if let Some(groups) = self.language.imports.as_ref()?.captures(&dense) {
            let names = groups.name("names").or_else(|| groups.name("other_names"));
            for name in names.map_or("", |names| names.as_str()).split(',') {
                let name = name.rsplit(' ').next().and_then(|name| name.split('.').next());
                self.imported.extend(name.map(str::to_owned));
            }
            return None;
        }
        let settings = ["maxDiff", "longMessage"];
        if is_outermost
            && !settings.iter().any(|name| dense.contains(name))
            && let Some(groups) = IMPORT_CHANGED.regex.captures(&dense)
            && self.imported.contains(&groups["name"])
        {
            return Some(&IMPORT_CHANGED);
        }
        let classes = self.language.classes.as_ref()?;
        if is_outermost {
            self.class.clear();
            if let Some(class) = classes.captures(code) {
                class[1].clone_into(&mut self.class);
                // An assignment to an attribute of a class changes it as much.
                self.imported.insert(self.class.clone());
                let is_new = self.defined.insert((self.class.clone(), String::new()));
                return (!is_new).then_some(&DEFINED_TWICE);
            }
        }
        let is_new = self.defined.insert((self.class.clone(), test?.to_owned()));
        (!is_new).then_some(&DEFINED_TWICE)
    }
}

/// Returns a line without spaces, but for one between two words.
fn dense(code: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut dense = String::with_capacity(code.len());
    for word in code.split_whitespace() {
        if dense.ends_with(is_word) && word.starts_with(is_word) {
            dense.push(' ');
        }
        dense.push_str(word);
    }
    dense
}

/// Counts the assertions of a line.
fn assertions(code: &str, language: &Language) -> usize {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"\b{start-half}(?i-u:(?:prop_|debug_)?assert|refute|xctassert)\w*")
    });
    static IMPORT: LazyLock<Regex> =
        LazyLock::new(|| regex("^(?:import |use |from |require|using )"));
    let is_match = |regex: &Option<Regex>| regex.as_ref().is_some_and(|regex| regex.is_match(code));
    if IMPORT.is_match(code) || is_match(&language.no_assertions) {
        return 0;
    }
    // `AssertionError` is the name of a failure.
    let is_assertion = |word: &str| !word.to_ascii_lowercase().ends_with("error");
    let words = WORD.find_iter(code).filter(|word| is_assertion(word.as_str())).count();
    words + language.assertions.as_ref().map_or(0, |regex| regex.find_iter(code).count())
}

/// Finds the names of tests, line by line.
struct TestNames {
    language: &'static Language,
    /// A line such as `@Test` was seen, and its function is still to come.
    is_announced: bool,
}

impl TestNames {
    /// Returns the name of the test that a line begins.
    fn begun_by(&mut self, code: &str) -> Option<String> {
        if let Some(announces) = &self.language.announces {
            self.is_announced |= announces.is_match(code);
            if !self.is_announced {
                return None;
            }
        }
        let skipped = self.language.skips.as_ref().and_then(|skips| skips.find(code));
        let code = &code[skipped.map_or(0, |skipped| skipped.end())..];
        let groups = self.language.tests.iter().find_map(|regex| regex.captures(code))?;
        let name = groups.iter().skip(1).flatten().next()?;
        self.is_announced = false;
        Some(name.as_str().trim().to_owned())
    }
}

/// Takes comments away, line by line.
struct CodeLines {
    comments: Option<&'static Regex>,
    /// The mark that ends the open comment.
    in_block: Option<&'static str>,
}

impl CodeLines {
    fn code<'l>(&mut self, line: &'l str) -> &'l str {
        let mut line = line;
        if let Some(end) = self.in_block {
            let Some(at) = line.find(end) else { return "" };
            self.in_block = None;
            line = &line[at + end.len()..];
        }
        let tokens = self.comments.into_iter().flat_map(|comments| comments.captures_iter(line));
        for token in tokens {
            if let Some(start) = token.name("line") {
                return &line[..start.start()];
            }
            if let Some(start) = token.name("block") {
                let end = match start.as_str() {
                    "/*" => "*/",
                    "'''" => "'''",
                    _ => "\"\"\"",
                };
                if !line[start.end()..].contains(end) {
                    self.in_block = Some(end);
                }
                return &line[..start.start()];
            }
        }
        line
    }
}

/// Returns the names that are in one list and not in the other.
fn missing<'n>(before: &'n [String], after: &[String]) -> BTreeSet<&'n str> {
    let after: BTreeSet<&str> = after.iter().map(String::as_str).collect();
    before.iter().map(String::as_str).filter(|name| !after.contains(name)).collect()
}

#[cfg(test)]
mod tests;
