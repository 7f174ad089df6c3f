//! Outcomes of single tests, read from the output of a check.
//!
//! Each runner has its reader in `line_runners` (marked lines, as data) or `indented_runners`
//! (structure by indentation); an output may hold several. The outcomes are shown and compared, but
//! they are never a verdict: whether a check is green is decided by its exit code alone.
//!
//! Invariant: any text gives an answer, in time linear in its length.

mod counts;
mod excerpt;
mod indented_runners;
mod line_runners;
mod outcomes;
mod plain_text;

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
};

pub use counts::TestCounts;
pub use excerpt::excerpt;
pub use outcomes::TestOutcome;
use outcomes::{Outcomes, TESTS_MAX};
use plain_text::plain_lines;

use crate::bounded_text::start_of;

/// The most lines that are read: the first and the last of a longer output.
const LINES_MAX: usize = 1_000_000;
/// The most bytes of a line that are read.
const LINE_BYTES_MAX: usize = 4096;

/// Returns the outcome of each test that an output names; nothing if it names none.
///
/// A name that occurs in several places, such as two binaries of a crate, carries its place.
pub fn read_test_outcomes(output: &str) -> Option<BTreeMap<String, TestOutcome>> {
    let lines = kept_lines(output, LINES_MAX);
    let lines: Vec<&str> = lines.iter().map(|line| start_of(line, LINE_BYTES_MAX)).collect();
    let mut outcomes = Outcomes::new(TESTS_MAX);
    line_runners::read(&lines, &mut outcomes);
    indented_runners::read(&lines, &mut outcomes);
    let named = outcomes.into_named();
    (!named.is_empty()).then_some(named)
}

/// Returns how many tests an output counts, all runners together; nothing if it counts none.
pub fn read_test_counts(output: &str) -> Option<TestCounts> {
    let lines = kept_lines(output, LINES_MAX);
    let lines: Vec<&str> = lines.iter().map(|line| start_of(line, LINE_BYTES_MAX)).collect();
    counts::read(&lines)
}

/// Returns a command that does the same and names more tests, where its runner has an option or a variable for it.
pub fn naming_tests(command: &str) -> String {
    let (one, other) = ("-m unittest", "-m unittest discover");
    let named = if command.contains(other) {
        command.replace(other, &format!("{other} -v"))
    } else {
        command.replace(one, &format!("{one} -v"))
    };
    // One for a `-q` of the command.
    format!(
        "export PYTEST_ADDOPTS=\"${{PYTEST_ADDOPTS-}} -vv\" GOFLAGS=\"${{GOFLAGS-}} -v\"; {named}"
    )
}

/// Returns the first and the last lines, plain, with each run of blank lines made one.
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

#[cfg(test)]
mod tests;
