//! Readers of test output that shows its structure by indentation: node, jest, vitest, mocha, bats
//! and rspec.
//!
//! Their marks, such as `✓`, are also those of build tools. So what was seen counts only once the
//! runner's own summary follows; an output without one names no test.
//!
//! Invariant: each reader looks at each line a bounded number of times.

use super::{
    Said, TESTS_MAX,
    TestSaid::{self, Failed, Passed, Skipped},
    line_runners::Reader,
    path_name,
};

pub(super) const ALL: &[Reader] = &[marks, rspec];

/// A test that waits for the summary.
struct Seen<'l> {
    place: &'l str,
    name: String,
    said: TestSaid,
    mark: Mark,
}

/// How sure a line is to be a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// It has a sign such as `✓`.
    Sign,
    /// `1) name` or `- name`, which only mocha means as a test.
    Mocha,
}

/// What a line that sums up says about the lines before it.
enum Summary {
    Mocha,
    Other,
}

/// Headings above a line, by their indentation.
#[derive(Default)]
struct Headings<'l>(Vec<(usize, &'l str)>);

/// The deepest nesting that is followed.
const HEADINGS_MAX: usize = 50;

impl<'l> Headings<'l> {
    fn push(&mut self, indent: usize, text: &'l str) {
        self.0.retain(|(above, _)| *above < indent);
        if self.0.len() < HEADINGS_MAX {
            self.0.push((indent, text));
        }
    }

    fn path(&self, indent: usize, name: &str) -> String {
        let above = self.0.iter().filter(|(above, _)| *above < indent).map(|(_, text)| *text);
        path_name(above.chain([name]))
    }
}

/// `✓ name (3 ms)` and its like, below headings.
fn marks(lines: &[&str], all: &mut Said) {
    let mut seen: Vec<Seen> = Vec::new();
    let mut headings = Headings::default();
    let mut place = "";
    let mut in_details = false;
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if text.is_empty() {
            headings.0.clear();
            continue;
        }
        seen.truncate(TESTS_MAX);
        if let Some(summary) = summary(line) {
            for seen in seen.drain(..) {
                match (&summary, seen.mark) {
                    (Summary::Mocha, Mark::Sign | Mark::Mocha) | (Summary::Other, Mark::Sign) => {
                        all.add(seen.place, &seen.name, seen.said);
                    }
                    (Summary::Other, Mark::Mocha) => {}
                }
            }
            in_details = true;
            continue;
        }
        let mut before_file = ["PASS ", "FAIL ", "❯ "].iter();
        let file = before_file.find_map(|word| text.strip_prefix(word));
        if let Some(file) = file.filter(|file| is_file(file)) {
            place = file.trim().split(' ').next().unwrap_or_default();
            headings.0.clear();
            in_details = false;
        } else if let Some(name) = text.strip_prefix("▶ ") {
            headings.push(indent, name);
        } else if let Some(name) = text.strip_prefix("● ") {
            suite_detail(place, name, &mut seen);
        } else if let Some((mark, name)) = marked(text) {
            let is_repeat = at > 0 && lines[at - 1].trim_start().starts_with("test at ");
            if !is_repeat && !name.ends_with("failing tests:") {
                in_details = false;
                seen.extend(glyph(place, &headings, indent, name, mark));
            }
        } else if let Some((name, said)) = mocha(text).filter(|_| indent >= 2 && !in_details) {
            seen.push(Seen {
                place: "",
                name: headings.path(indent, name),
                said,
                mark: Mark::Mocha,
            });
        } else if indent > 0 {
            headings.push(indent, text);
        }
    }
}

/// Jest names failures once more below the file: `● group › name`.
fn suite_detail<'l>(place: &'l str, name: &str, seen: &mut Vec<Seen<'l>>) {
    if place.is_empty() || name.starts_with("Console") || name.ends_with("Warning:") {
        return;
    }
    let name = if name == "Test suite failed to run" { place } else { name };
    seen.push(Seen { place, name: name.to_owned(), said: Failed, mark: Mark::Sign });
}

/// A marked line as a test; none if it only sums up a file.
fn glyph<'l>(
    place: &'l str,
    headings: &Headings,
    indent: usize,
    name: &'l str,
    mark: TestSaid,
) -> Option<Seen<'l>> {
    let (name, said) = without_remarks(name, mark);
    // Vitest: `file > group > name`, or `file (6 tests)` for a whole file.
    if let Some((file, rest)) = name.split_once(" > ").filter(|(file, _)| is_file(file)) {
        return Some(Seen {
            place: file,
            name: rest.replace(" > ", " › "),
            said,
            mark: Mark::Sign,
        });
    }
    let is_count = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if name.split_once(" (").is_some_and(|(file, count)| is_file(file) && is_count(count)) {
        return None;
    }
    Some(Seen { place, name: headings.path(indent, name), said, mark: Mark::Sign })
}

fn marked(text: &str) -> Option<(TestSaid, &str)> {
    let mut rest = text.chars();
    let said = match rest.next()? {
        '✓' | '✔' | '√' => Passed,
        '✕' | '✖' | '✗' | '✘' | '×' => Failed,
        '○' | '✎' | '↓' | '□' | '﹣' => Skipped,
        _ => return None,
    };
    let name = rest.as_str().strip_prefix(' ')?;
    (!name.trim().is_empty()).then(|| (said, name.trim()))
}

/// The bare name: without duration, directive, or jest's word before a test that was left out.
fn without_remarks(name: &str, said: TestSaid) -> (&str, TestSaid) {
    let (name, said) = match name.rsplit_once(" # ") {
        Some((name, "SKIP")) => (name, Skipped),
        Some((name, word)) if word.starts_with(concat!("TO", "DO")) => (name, Skipped),
        Some((name, word)) if word.starts_with("SKIP ") => (name, Skipped),
        Some(_) | None => (name, said),
    };
    let name = match name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")) {
        Some((before, time)) if is_duration(time) => before,
        Some(_) | None => name,
    };
    let name = match name.rsplit_once(' ') {
        Some((before, time)) if is_duration(time) => before,
        Some(_) | None => name,
    };
    let words: [&str; 2] = ["skipped ", concat!("to", "do ")];
    let bare = words.iter().find_map(|word| name.strip_prefix(word)).filter(|_| said == Skipped);
    (bare.unwrap_or(name).trim(), said)
}

fn is_duration(text: &str) -> bool {
    let number = text.trim_end_matches(|c: char| c.is_alphabetic()).trim_end();
    let unit = text[number.len()..].trim();
    matches!(unit, "ms" | "s" | "m") && number.parse::<f64>().is_ok()
}

fn is_file(text: &str) -> bool {
    let first = text.trim().split(' ').next().unwrap_or_default();
    let extension = first.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(
        extension,
        "js" | "ts" | "jsx" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte"
    )
}

/// `1) breaks` and `- later`, as mocha marks them.
fn mocha(text: &str) -> Option<(&str, TestSaid)> {
    if let Some(name) = text.strip_prefix("- ") {
        return Some((name, Skipped));
    }
    let (number, name) = text.split_once(") ")?;
    number.parse::<u32>().ok()?;
    Some((name, Failed))
}

/// The line by which a runner says that these were its tests.
fn summary(line: &str) -> Option<Summary> {
    let text = line.trim();
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    let is_number = |word: &str| word.parse::<u64>().is_ok();
    let is_other = match first {
        // node
        "ℹ" => second == "tests",
        // jest and vitest
        "Tests:" | "Tests" => is_number(second) && text.contains(['(', ',']),
        // bats
        _ => is_number(first) && matches!(second, "test," | "tests,") && text.contains("failure"),
    };
    if is_number(first) && second == "passing" && text.ends_with(')') {
        return Some(Summary::Mocha);
    }
    is_other.then_some(Summary::Other)
}

/// Rspec's documentation format, where a passed example has no mark, and its list of failures.
fn rspec(lines: &[&str], all: &mut Said) {
    for line in lines {
        if let Some(rest) = line.strip_prefix("rspec ")
            && let Some((place, name)) = rest.split_once(" # ")
            && (place.contains(".rb:") || place.contains(".rb["))
        {
            all.add("", name, Failed);
        }
    }
    let mut start = 0;
    let mut end = None;
    for (at, line) in lines.iter().enumerate() {
        let is_end = ["Failures:", "Pending: (", "Finished in "];
        if is_end.iter().any(|start| line.starts_with(start)) {
            end = end.or(Some(at));
        }
        if is_rspec_summary(line) {
            documentation(&lines[start..end.unwrap_or(at)], all);
            start = at + 1;
            end = None;
        }
    }
}

/// `3 examples, 1 failure`.
fn is_rspec_summary(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|word| word.parse::<u64>().is_ok())
        && matches!(words.next(), Some("example," | "examples,"))
        && line.contains("failure")
}

/// Examples are the lines below which nothing is indented deeper.
fn documentation(lines: &[&str], all: &mut Said) {
    let mut above: Vec<(usize, &str)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if text.is_empty() {
            continue;
        }
        above.retain(|(upper, _)| *upper < indent);
        let next = lines.get(at + 1).filter(|next| !next.trim().is_empty());
        let is_group = next.is_some_and(|next| next.len() - next.trim_start().len() > indent);
        if is_group || indent == 0 {
            if above.len() < HEADINGS_MAX {
                above.push((indent, text));
            }
            continue;
        }
        if above.is_empty() {
            continue;
        }
        let (name, said) = match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
            Some((name, note)) if note.starts_with("FAILED - ") => (name, Failed),
            Some((name, note)) if note.starts_with("PENDING: ") => (name, Skipped),
            Some(_) | None => (text, Passed),
        };
        let path = above.iter().map(|(_, text)| *text).chain([name]);
        all.add("", &full_description(path), said);
    }
}

/// Longer names are cut anyway.
const DESCRIPTION_BYTES_MAX: usize = 1000;

/// Joins as rspec does: a method such as `#add` follows its class without a space.
fn full_description<'l>(path: impl Iterator<Item = &'l str>) -> String {
    let mut full = String::new();
    for text in path {
        let is_method = ["#", ".", "::"].iter().any(|start| text.starts_with(start));
        if !full.is_empty() && !is_method {
            full.push(' ');
        }
        full.push_str(text);
        if full.len() >= DESCRIPTION_BYTES_MAX {
            break;
        }
    }
    full
}
