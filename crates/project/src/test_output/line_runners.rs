//! Reader of test runners that say in one line how a test ended; the runners are data,
//! `line_runners.toml`.
//!
//! Not here: runners that show structure by indentation, see `indented_runners`.
//!
//! Invariant: each line is searched for all patterns at once, and for captures only where one fits.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::{Captures, Regex, RegexSet};
use serde::Deserialize;

use super::outcomes::{
    Outcomes,
    TestOutcome::{self, Failed, Passed, Skipped},
};

const TABLE: &str = include_str!("line_runners.toml");

/// Reads all runners of the table.
pub(super) fn read(lines: &[&str], outcomes: &mut Outcomes) {
    static PATTERNS: LazyLock<LinePatterns> = LazyLock::new(LinePatterns::shipped);
    let new =
        |has_packages: &bool| RunnerState { has_packages: *has_packages, ..Default::default() };
    let mut states: Vec<RunnerState> = PATTERNS.has_packages.iter().map(new).collect();
    for line in lines {
        let line = line.trim_end();
        let mut read_by = None;
        for at in &PATTERNS.set.matches(line) {
            let pattern = &PATTERNS.all[at];
            if read_by == Some(pattern.runner) {
                continue;
            }
            let Some(groups) = pattern.regex.captures(line).filter(is_even) else { continue };
            read_by = Some(pattern.runner);
            states[pattern.runner].take(pattern, &groups, outcomes);
        }
    }
    for state in &mut states {
        state.end_package("", Passed, outcomes);
    }
}

/// The table, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunnerTable {
    runner: Vec<RunnerText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunnerText {
    #[expect(dead_code, reason = "it tells people which runner the patterns are of")]
    name: String,
    #[serde(default)]
    headings: Vec<HeadingText>,
    lines: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadingText {
    pattern: String,
    #[serde(default)]
    place: String,
    #[serde(default)]
    prefix: String,
}

/// The patterns of all runners, in the order of the table.
struct LinePatterns {
    /// For each runner, whether it names the place of a test after it.
    has_packages: Vec<bool>,
    set: RegexSet,
    all: Vec<LinePattern>,
}

struct LinePattern {
    /// The number of the runner in the table.
    runner: usize,
    regex: Regex,
    meaning: Meaning,
}

/// The meaning of a line that fits a pattern; texts are templates over its groups.
enum Meaning {
    Place(String),
    Prefix(String),
    Test,
}

impl LinePatterns {
    fn shipped() -> Self {
        let table: RunnerTable = toml::from_str(TABLE).expect("our own table of runners is TOML");
        let mut all = Vec::new();
        let names_package = |line: &String| line.contains("(?<package>");
        let has_packages =
            table.runner.iter().map(|text| text.lines.iter().any(names_package)).collect();
        for (runner, text) in table.runner.iter().enumerate() {
            let headings = text.headings.iter().map(|heading| {
                let meaning = if heading.place.is_empty() {
                    Meaning::Prefix(heading.prefix.clone())
                } else {
                    Meaning::Place(heading.place.clone())
                };
                (&heading.pattern, meaning)
            });
            let lines = text.lines.iter().map(|line| (line, Meaning::Test));
            all.extend(headings.chain(lines).map(|(pattern, meaning)| {
                let regex = Regex::new(pattern).expect("our own patterns of runners are valid");
                LinePattern { runner, regex, meaning }
            }));
        }
        let set = RegexSet::new(all.iter().map(|pattern| pattern.regex.as_str()));
        let set = set.expect("patterns that are valid one by one fit into a set");
        Self { has_packages, set, all }
    }
}

/// Tells whether the groups `one` and `other`, if there are such, hold the same.
fn is_even(groups: &Captures) -> bool {
    let group = |name| groups.name(name).map(|group| group.as_str());
    group("one") == group("other")
}

/// The lines of one runner that later lines depend on.
#[derive(Default)]
struct RunnerState {
    place: String,
    /// How often each place was announced.
    places: BTreeMap<String, usize>,
    prefix: String,
    /// Tests that began, and whose end was not seen.
    open: Vec<String>,
    /// True if the package of a test is named in a later line.
    has_packages: bool,
    /// Tests that wait for the name of their package.
    waiting: Vec<(String, TestOutcome)>,
}

impl RunnerState {
    fn take(&mut self, pattern: &LinePattern, groups: &Captures, outcomes: &mut Outcomes) {
        let mut text = String::new();
        match &pattern.meaning {
            Meaning::Place(template) => {
                groups.expand(template, &mut text);
                self.enter_place(text);
            }
            Meaning::Prefix(template) => {
                groups.expand(template, &mut text);
                self.prefix = text;
            }
            Meaning::Test => self.take_test(groups, outcomes),
        }
    }

    /// Starts a place. The second `a` is `a #2`.
    fn enter_place(&mut self, place: String) {
        let count = self.places.entry(place.clone()).or_default();
        *count += 1;
        self.place = if *count == 1 { place } else { format!("{place} #{count}") };
        self.open.clear();
    }

    fn take_test(&mut self, groups: &Captures, outcomes: &mut Outcomes) {
        let has = |name| groups.name(name).is_some();
        let outcome = [("skip", Skipped), ("fail", Failed), ("pass", Passed)];
        let outcome = outcome.into_iter().find(|(name, _)| has(name)).map(|(_, outcome)| outcome);
        match (self.full_name(groups), outcome) {
            (Some(name), Some(outcome)) if self.has_packages => self.waiting.push((name, outcome)),
            (Some(name), Some(outcome)) => {
                let place =
                    groups.name("place").map_or(self.place.as_str(), |place| place.as_str());
                outcomes.add(place, &name, outcome);
            }
            (Some(name), None) => {
                if !self.has_packages {
                    self.open.clear();
                }
                self.open.push(name);
            }
            (None, Some(outcome)) => match groups.name("package") {
                Some(package) => self.end_package(package.as_str(), outcome, outcomes),
                None => {
                    for name in self.open.drain(..) {
                        outcomes.add(&self.place, &name, outcome);
                    }
                }
            },
            (None, None) => {}
        }
    }

    fn full_name(&self, groups: &Captures) -> Option<String> {
        let group = |name| groups.name(name).map(|group| group.as_str());
        let name = group("name")?;
        if let Some(class) = group("class") {
            let ends_with_name = class.rsplit('.').next() == Some(name);
            return Some(if ends_with_name { class.into() } else { format!("{class}.{name}") });
        }
        let prefix = group("prefix").unwrap_or(&self.prefix);
        Some(if prefix.is_empty() { name.into() } else { format!("{prefix} {name}") })
    }

    /// Adds the tests of a package. One that began and never ended failed with its package.
    fn end_package(&mut self, package: &str, outcome: TestOutcome, outcomes: &mut Outcomes) {
        let open = std::mem::take(&mut self.open);
        if outcome == Failed {
            let ended: BTreeSet<&str> =
                self.waiting.iter().map(|(name, _)| name.as_str()).collect();
            for name in open.iter().filter(|name| !ended.contains(name.as_str())) {
                outcomes.add(package, name, Failed);
            }
        }
        for (name, outcome) in self.waiting.drain(..) {
            outcomes.add(package, &name, outcome);
        }
    }
}
