//! Readers of test output that shows its structure by indentation: TAP, node, jest, vitest, mocha,
//! bats and rspec.
//!
//! Signs such as `✓` are also those of build tools. So a signed line counts only once the runner's
//! own summary follows; an output without one names no test.
//!
//! Invariant: each reader looks at each line a bounded number of times.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::outcomes::{
    NAME_BYTES_MAX, Outcomes, TESTS_MAX,
    TestOutcome::{self, Failed, Passed, Skipped},
};
use crate::bounded_text::start_of;

/// The deepest nesting that is followed.
const HEADINGS_MAX: usize = 50;

/// Reads the lines of all runners of this file.
pub(super) fn read(lines: &[&str], outcomes: &mut Outcomes) {
    read_tap(lines, outcomes);
    read_signs(lines, outcomes);
    read_rspec(lines, outcomes);
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("our own patterns of runners are valid")
}

fn group<'l>(groups: &Captures<'l>, name: &str) -> Option<&'l str> {
    groups.name(name).map(|group| group.as_str())
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Headings above a line, by their indentation.
#[derive(Default)]
struct Headings<'l>(Vec<(usize, &'l str)>);

impl<'l> Headings<'l> {
    fn push(&mut self, indent: usize, text: &'l str) {
        self.0.retain(|(above, _)| *above < indent);
        if self.0.len() < HEADINGS_MAX {
            self.0.push((indent, text));
        }
    }

    fn above(&self, indent: usize) -> impl Iterator<Item = &'l str> {
        self.0.iter().filter(move |(above, _)| *above < indent).map(|(_, text)| *text)
    }

    /// Returns the headings and the name with ` › ` between them, about as long as a name may be.
    fn path(&self, indent: usize, name: &str) -> String {
        let mut path = String::new();
        for part in self.above(indent).chain([name]) {
            if !path.is_empty() {
                path.push_str(" › ");
            }
            path.push_str(start_of(part, NAME_BYTES_MAX));
            if path.len() >= NAME_BYTES_MAX {
                break;
            }
        }
        path
    }
}

/// Reads `ok 1 - name # SKIP why`, nested by indentation below `# Subtest: name`.
fn read_tap(lines: &[&str], outcomes: &mut Outcomes) {
    static PLAN: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^\s*(?:TAP version|1\.\.[0-9]+(?: |$))"));
    static LINE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?x)^\s*(?:
            \#\ Subtest:\ (?<heading>.+)
            | (?:(?<pass>ok)|(?<fail>not\ ok))\ [0-9]+ (?<name>.*?)
              (?<skip>\ +\#\ *(?i-u:skip|todo).*)?
            )$",
        )
    });
    if !lines.iter().any(|line| PLAN.is_match(line)) {
        return;
    }
    let mut headings = Headings::default();
    for line in lines {
        let Some(groups) = LINE.captures(line) else { continue };
        let indent = indent_of(line);
        if let Some(name) = group(&groups, "heading") {
            headings.push(indent, name);
        } else if let Some(name) = group(&groups, "name") {
            let name = name.trim();
            let name = name.strip_prefix("- ").unwrap_or(name).replace("\\#", "#");
            let outcome = if groups.name("skip").is_some() {
                Skipped
            } else if groups.name("pass").is_some() {
                Passed
            } else {
                Failed
            };
            outcomes.add("", &headings.path(indent, name.trim()), outcome);
        }
    }
}

/// A test that waits for the summary.
struct SignedTest<'l> {
    file: &'l str,
    name: String,
    outcome: TestOutcome,
    /// `1) name` or `- name`, which only mocha means as a test.
    is_mocha: bool,
}

/// The line by which a runner says that these were its tests: mocha; node; jest and vitest; bats.
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^\s*(?:
        (?<mocha>[0-9]+\ +passing\ .*\)\s*$)
        | ℹ\ +tests(?:\ |$)
        | Tests:?\s+[0-9]+\s.*[(,]
        | [0-9]+\ +tests?,\ .*failure
        )",
    )
});

/// A file; a group of node; jest's second list of failures; a test; a test that only mocha means.
static SIGNED_LINE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^\s*(?:
        (?:PASS|FAIL|❯)\ +(?<file>[^\ ]+\.(?:[cm]?[jt]s|[jt]sx|vue|svelte))(?:\ .*)?
        | ▶\ (?<heading>.+)
        | ●\ (?<detail>.+)
        | (?:(?<pass>[✓✔√])|(?<fail>[✕✖✗✘×])|(?<skip>[○✎↓□﹣])(?:\ skipped|\ todo)?)\ +
          (?<name>.+?)
          (?:\ \([0-9.]+\ ?(?:ms|s|m)\))? (?:\ [0-9.]+\ ?(?:ms|s|m))?
          (?:\ (?<directive>\#\ (?:SKIP(?:\ .*)?|TODO.*)))?
        | (?:(?<mocha_skip>-)|(?<mocha_fail>[0-9]+\)))\ (?<mocha_name>.+)
        )\s*$",
    )
});

/// Vitest's `file > group > name`, and `file (6 tests)` for a whole file.
static VITEST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^(?<file>[^\ ]+\.(?:[cm]?[jt]s|[jt]sx|vue|svelte))\ 
        (?:>\ (?<name>.+)|\([0-9].*)$",
    )
});

/// Reads `✓ name (3 ms)` and its like, below headings.
fn read_signs(lines: &[&str], outcomes: &mut Outcomes) {
    let mut waiting: Vec<SignedTest> = Vec::new();
    let mut headings = Headings::default();
    let mut file = "";
    let mut in_details = false;
    for (at, line) in lines.iter().enumerate() {
        let indent = indent_of(line);
        if line.trim().is_empty() {
            headings.0.clear();
            continue;
        }
        waiting.truncate(TESTS_MAX);
        if let Some(summary) = SUMMARY.captures(line) {
            let is_mocha = summary.name("mocha").is_some();
            for test in waiting.drain(..).filter(|test| is_mocha || !test.is_mocha) {
                outcomes.add(test.file, &test.name, test.outcome);
            }
            in_details = true;
            continue;
        }
        let groups = SIGNED_LINE.captures(line);
        let found = |name| groups.as_ref().and_then(|groups| group(groups, name));
        if let Some(name) = found("file") {
            file = name;
            headings.0.clear();
            in_details = false;
        } else if let Some(name) = found("heading") {
            headings.push(indent, name.trim_end());
        } else if let Some(name) = found("detail") {
            waiting.extend(jest_detail(file, name.trim_end()));
        } else if let Some(name) = found("name") {
            let is_repeat = at > 0 && lines[at - 1].trim_start().starts_with("test at ");
            if !is_repeat && !name.ends_with("failing tests:") {
                in_details = false;
                let outcome = match (found("skip").or(found("directive")), found("pass")) {
                    (Some(_), _) => Skipped,
                    (None, Some(_)) => Passed,
                    (None, None) => Failed,
                };
                waiting.extend(signed_test(file, &headings, indent, name, outcome));
            }
        } else if let Some(name) = found("mocha_name").filter(|_| indent >= 2 && !in_details) {
            let outcome = if found("mocha_skip").is_some() { Skipped } else { Failed };
            let name = headings.path(indent, name.trim_end());
            waiting.push(SignedTest { file: "", name, outcome, is_mocha: true });
        } else if indent > 0 {
            headings.push(indent, line.trim());
        }
    }
}

/// Reads `● group › name`, by which jest names failures once more below their file.
fn jest_detail<'l>(file: &'l str, name: &str) -> Option<SignedTest<'l>> {
    if file.is_empty() || name.starts_with("Console") || name.ends_with("Warning:") {
        return None;
    }
    let name = if name == "Test suite failed to run" { file } else { name };
    Some(SignedTest { file, name: name.to_owned(), outcome: Failed, is_mocha: false })
}

/// Returns the test of a signed line; none if the line sums up a file.
fn signed_test<'l>(
    file: &'l str,
    headings: &Headings,
    indent: usize,
    name: &'l str,
    outcome: TestOutcome,
) -> Option<SignedTest<'l>> {
    let (file, name) = match VITEST.captures(name) {
        Some(groups) => (group(&groups, "file")?, group(&groups, "name")?.replace(" > ", " › ")),
        None => (file, headings.path(indent, name)),
    };
    Some(SignedTest { file, name, outcome, is_mocha: false })
}

/// Reads rspec's documentation format, which ends before its lists and is followed by a summary.
fn read_rspec(lines: &[&str], outcomes: &mut Outcomes) {
    static END: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(?:Failures:|Pending: \(|Finished in )"));
    static SUMMARY: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^\s*[0-9]+\s+examples?,(?:\s.*)?failure"));
    let mut start = 0;
    let mut end = None;
    for (at, line) in lines.iter().enumerate() {
        if END.is_match(line) {
            end = end.or(Some(at));
        }
        if SUMMARY.is_match(line) {
            read_documentation(&lines[start..end.unwrap_or(at)], outcomes);
            start = at + 1;
            end = None;
        }
    }
}

/// Reads examples: the lines below which no line is indented deeper. A passed one has no mark.
fn read_documentation(lines: &[&str], outcomes: &mut Outcomes) {
    static EXAMPLE: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"^(?<name>.+?)(?: \((?:(?<fail>FAILED - )|(?<skip>PENDING: )).*\))?$")
    });
    let mut headings = Headings::default();
    for (at, line) in lines.iter().enumerate() {
        let (text, indent) = (line.trim(), indent_of(line));
        if text.is_empty() {
            continue;
        }
        let next = lines.get(at + 1).filter(|next| !next.trim().is_empty());
        if indent == 0 || next.is_some_and(|next| indent_of(next) > indent) {
            headings.push(indent, text);
            continue;
        }
        let Some(groups) = EXAMPLE.captures(text) else { continue };
        let outcome = match (groups.name("fail"), groups.name("skip")) {
            (Some(_), _) => Failed,
            (None, Some(_)) => Skipped,
            (None, None) => Passed,
        };
        let mut above = headings.above(indent).peekable();
        if above.peek().is_some() {
            let name = full_description(above.chain(group(&groups, "name")));
            outcomes.add("", &name, outcome);
        }
    }
}

/// Joins as rspec does: a method such as `#add` follows its class without a space.
fn full_description<'l>(path: impl Iterator<Item = &'l str>) -> String {
    let mut full = String::new();
    for text in path {
        let is_method = ["#", ".", "::"].iter().any(|start| text.starts_with(start));
        if !full.is_empty() && !is_method {
            full.push(' ');
        }
        full.push_str(text);
        if full.len() >= NAME_BYTES_MAX {
            break;
        }
    }
    full
}
