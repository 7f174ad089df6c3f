//! Numbers of tests, where a runner says how many it ran and not which.
//!
//! Not here: names of tests, see `line_runners` and `indented_runners`.

use std::sync::LazyLock;

use regex::Regex;

/// How many tests an output says were run and left out, all runners together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// With those that were left out.
    pub all: u64,
    pub skipped: u64,
}

/// Summaries of unittest; of pytest, jest, vitest and cargo; and of node.
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?x)^(?:
        Ran\ (?<ran>[0-9]+)\ tests?\ in\ .*
        | (?:OK|FAILED)\ \((?<unittest>[^)]*)\)
        | =+\ (?<pytest>[0-9]+\ [a-z].*)\ in\ [0-9].*
        | Tests:\ +(?<jest>.*)
        | test\ result:\ [a-zA-Z]+\.\ (?<cargo>.*)
        | [ℹ\#]\ (?<node>tests\ [0-9]+)
        | [ℹ\#]\ (?<left>(?:skipped|todo|cancelled)\ [0-9]+)
        )$";
    Regex::new(pattern).expect("our own patterns of runners are valid")
});

/// Returns how many tests an output counts; nothing if it counts none.
pub(super) fn read(lines: &[&str]) -> Option<TestCounts> {
    let mut counts = None;
    for groups in lines.iter().filter_map(|line| SUMMARY.captures(line.trim_end())) {
        let text = |name: &str| groups.name(name).map(|group| group.as_str());
        let counts = counts.get_or_insert_with(TestCounts::default);
        if let Some(ran) = text("ran") {
            counts.all += ran.parse::<u64>().unwrap_or_default();
        } else if let Some(words) = text("unittest") {
            counts.skipped += number(words, "skipped=") + number(words, "expected failures=");
        } else if let Some(words) = text("node") {
            counts.all += number(words, "tests ");
        } else if let Some(words) = text("left") {
            let left = ["skipped ", "todo ", "cancelled "];
            counts.skipped += left.iter().map(|word| number(words, word)).sum::<u64>();
        } else if let Some(words) = text("pytest").or(text("jest")).or(text("cargo")) {
            let of = |names: &[&str]| -> u64 {
                let parts = words.split([',', ';']).filter_map(|part| part.trim().split_once(' '));
                let own = parts.filter(|(_, name)| names.contains(name));
                own.map(|(number, _)| number.parse::<u64>().unwrap_or_default()).sum()
            };
            let skipped = of(&["skipped", "todo", "xfailed", "deselected", "ignored"]);
            counts.all += skipped + of(&["passed", "failed", "xpassed", "error", "errors"]);
            counts.skipped += skipped;
        }
    }
    counts
}

/// Returns the number behind a word.
fn number(words: &str, word: &str) -> u64 {
    let rest = words.split_once(word).map_or("", |(_, rest)| rest);
    let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
    digits.parse().unwrap_or_default()
}
