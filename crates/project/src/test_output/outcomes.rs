//! Outcomes of tests, as readers collect them from an output.
//!
//! Invariant: a test that failed once in an output is failed.

use std::collections::BTreeMap;

use crate::bounded_text::start_of;

/// The most tests of one output.
pub(super) const TESTS_MAX: usize = 100_000;
/// The most bytes of a test's name.
pub(super) const NAME_BYTES_MAX: usize = 500;

/// The outcome of one test, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TestOutcome {
    /// Not run, or expected to fail.
    Skipped,
    Passed,
    /// Failed, or never ended.
    Failed,
}

impl TestOutcome {
    /// Returns the word that people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Passed => "passed",
            Self::Failed => "failed",
        }
    }
}

/// The outcomes that readers found so far.
#[derive(Debug)]
pub(super) struct Outcomes {
    /// By name, then by place: a binary, a package or a file.
    tests: BTreeMap<String, BTreeMap<String, TestOutcome>>,
    count: usize,
    most: usize,
}

impl Outcomes {
    pub(super) fn new(most: usize) -> Self {
        Self { tests: BTreeMap::new(), count: 0, most }
    }

    /// Adds an outcome. The worst one of a test wins.
    pub(super) fn add(&mut self, place: &str, name: &str, outcome: TestOutcome) {
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
        places.insert(place.to_owned(), before.map_or(outcome, |before| before.max(outcome)));
    }

    /// Returns the outcomes by name. A name of several places carries its place.
    pub(super) fn into_named(self) -> BTreeMap<String, TestOutcome> {
        let mut named = BTreeMap::new();
        for (name, places) in self.tests {
            let is_single = places.len() == 1;
            for (place, outcome) in places {
                let name = if is_single || place.is_empty() {
                    name.clone()
                } else {
                    format!("{place} {name}")
                };
                let worst: &mut TestOutcome = named.entry(name).or_insert(outcome);
                *worst = (*worst).max(outcome);
            }
        }
        named
    }
}
