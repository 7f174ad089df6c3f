//! What a run of tests said about each test, and whether a test file was weakened.
//!
//! Each runner's output has its reader in `runners` (marked lines) or `runners_text` (lines by
//! indentation); an output may hold several. What is read here is shown and compared, but it is
//! never a verdict: whether a check is green is said by its exit code alone.
//!
//! Invariant: any text gives an answer, in time linear in its length.
//! Invariant: a test that failed once in an output is failed.

pub mod excerpt;
mod indented_runners;
mod line_runners;
mod plain_text;

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
};

use plain_text::plain_lines;

use crate::bounded_text::start_of;

/// The most tests of one output.
pub(super) const TESTS_MAX: usize = 100_000;
/// The most lines that are read: the first and the last of a longer output.
const LINES_MAX: usize = 1_000_000;
/// The most bytes of a line that are read.
const LINE_BYTES_MAX: usize = 4096;
/// The most bytes of a test's name.
const NAME_BYTES_MAX: usize = 500;

/// What was said about a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TestSaid {
    /// Left out, or expected to fail.
    Skipped,
    /// It passed.
    Passed,
    /// It failed, or never ended.
    Failed,
}

impl TestSaid {
    /// One word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Passed => "passed",
            Self::Failed => "failed",
        }
    }
}

/// What an output says about each test; nothing if it names none.
///
/// A name that occurs in several places, such as two binaries of a crate, carries its place.
pub fn tests_said(output: &str) -> Option<BTreeMap<String, TestSaid>> {
    let lines = kept_lines(output, LINES_MAX);
    let lines: Vec<&str> = lines.iter().map(|line| start_of(line, LINE_BYTES_MAX)).collect();
    let mut all = Said::new(TESTS_MAX);
    for read in line_runners::ALL.iter().chain(indented_runners::ALL) {
        read(&lines, &mut all);
    }
    let named = all.named();
    (!named.is_empty()).then_some(named)
}

/// The first and the last lines, plain, where runs of blank lines are one.
fn kept_lines(output: &str, lines_max: usize) -> Vec<Cow<'_, str>> {
    let mut first = Vec::new();
    let mut last = VecDeque::new();
    let mut was_blank = false;
    for line in plain_lines(output) {
        let is_blank = line.trim().is_empty();
        if is_blank && was_blank {
            continue;
        }
        was_blank = is_blank;
        if first.len() < lines_max / 2 {
            first.push(line);
            continue;
        }
        if last.len() == lines_max / 2 {
            last.pop_front();
        }
        last.push_back(line);
    }
    first.extend(last);
    first
}

/// Collects what readers find.
#[derive(Debug)]
pub(super) struct Said {
    /// By name, then by place.
    tests: BTreeMap<String, BTreeMap<String, TestSaid>>,
    count: usize,
    most: usize,
}

impl Said {
    fn new(most: usize) -> Self {
        Self { tests: BTreeMap::new(), count: 0, most }
    }

    /// Adds what was said about a test. The worst word wins.
    pub(super) fn add(&mut self, place: &str, name: &str, said: TestSaid) {
        let name = name.trim();
        if name.is_empty() || self.count >= self.most {
            return;
        }
        let name = start_of(name, NAME_BYTES_MAX);
        let places = self.tests.entry(name.to_owned()).or_default();
        let before = places.get(place).copied();
        if before.is_none() {
            self.count += 1;
        }
        places.insert(place.to_owned(), before.map_or(said, |before| before.max(said)));
    }

    fn named(self) -> BTreeMap<String, TestSaid> {
        let mut named = BTreeMap::new();
        for (name, places) in self.tests {
            let is_single = places.len() == 1;
            for (place, said) in places {
                let name = if is_single || place.is_empty() {
                    name.clone()
                } else {
                    format!("{place} {name}")
                };
                let worst = named.get(&name).map_or(said, |before: &TestSaid| (*before).max(said));
                named.insert(name, worst);
            }
        }
        named
    }
}

/// The parts of a name with ` › ` between them, no longer than a name may be.
pub(super) fn path_name<'n>(parts: impl Iterator<Item = &'n str>) -> String {
    let mut name = String::new();
    for part in parts {
        if !name.is_empty() {
            name.push_str(" › ");
        }
        name.push_str(start_of(part, NAME_BYTES_MAX));
        if name.len() >= NAME_BYTES_MAX {
            break;
        }
    }
    name
}

/// Tells places of the same name apart: the second `a` is `a #2`.
#[derive(Debug, Default)]
pub(super) struct Places(BTreeMap<String, usize>);

impl Places {
    pub(super) fn numbered(&mut self, place: &str) -> String {
        let count = self.0.entry(place.to_owned()).or_default();
        *count += 1;
        if *count == 1 { place.to_owned() } else { format!("{place} #{count}") }
    }
}

#[cfg(test)]
mod tests;
