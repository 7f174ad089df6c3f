//! Excerpt of a long output: the surroundings of failures and the last lines.
//!
//! Failures come first, hints only where nothing failed or room is left; runs of like lines are
//! folded. Not here: the outcomes of single tests, see `read_test_outcomes`.
//!
//! Invariant: never more lines or bytes than allowed, for any input.
//! Invariant: lines are in their order, and each gap says how many lines are missing.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

use super::plain_text::plain_lines;
use crate::bounded_text::{end_of, start_of};

/// Lines kept before a failure.
const BEFORE: usize = 3;
/// Lines kept after a failure.
const AFTER: usize = 12;
/// Lines kept on each side of a hint.
const AROUND_HINT: usize = 1;
/// So many lines are few.
const FEW_LINES: usize = 12;
/// A ruler has at least so many characters.
const RULER_MIN: usize = 5;
/// So many like lines in a row are folded.
const FOLDED_MIN: usize = 4;
/// A longer line loses its middle.
const LINE_BYTES_MAX: usize = 2000;
/// The part of a line that decides its weight.
const WEIGHED_BYTES_MAX: usize = 4096;
/// One part in so many is reserved for the last lines, where runners write their summary.
const TAIL_SHARE: usize = 4;
/// Below this there is no room for marks of gaps, and only the most telling line is given.
const ROOM_BYTES_MIN: usize = 160;
const ROOM_LINES_MIN: usize = 4;

/// Shortens an output to at most so many lines and bytes.
pub fn excerpt(output: &str, lines_max: usize, bytes_max: usize) -> String {
    if lines_max < ROOM_LINES_MIN || bytes_max < ROOM_BYTES_MIN {
        return most_telling_line(output, lines_max, bytes_max);
    }
    let items = folded_lines(output, LINE_BYTES_MAX.min(bytes_max / 4));
    let failures = surroundings(&items, LineWeight::Failure, BEFORE, AFTER);
    let hints = surroundings(&items, LineWeight::Hint, AROUND_HINT, AROUND_HINT);
    let last: Vec<usize> =
        (0..items.len()).rev().filter(|at| !is_ruler(&items[*at].text)).collect();
    // Where there is room for few lines, they are the first failure, which names the test, and the last ones, with the cause.
    let mut alone = if failures.len() > lines_max && lines_max <= FEW_LINES {
        surroundings(&items, LineWeight::Failure, 0, 0)
    } else {
        Vec::new()
    };
    alone.get_mut(1..).unwrap_or_default().reverse();
    let nothing = ExcerptRoom { lines: 0, bytes: 0 };
    let tail = ExcerptRoom { lines: lines_max / TAIL_SHARE, bytes: bytes_max / TAIL_SHARE };
    let mut choice = ExcerptChoice::new(items, ExcerptRoom { lines: lines_max, bytes: bytes_max });
    choice.add_while_room(alone, nothing);
    choice.add_while_room(failures, tail);
    if choice.used.lines == 0 {
        choice.add_while_room(hints.iter().copied(), tail);
    }
    choice.add_while_room(last, nothing);
    choice.add_while_room(hints, nothing);
    choice.into_text()
}

/// A line, or a folded run of lines.
#[derive(Debug)]
struct ExcerptItem<'o> {
    /// The number of its first line.
    first: usize,
    /// How many lines of the output it stands for.
    stands_for: usize,
    text: Cow<'o, str>,
}

/// The weight of a line in an excerpt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineWeight {
    Failure,
    Hint,
    Plain,
}

/// Lines and bytes.
#[derive(Clone, Copy, Debug)]
struct ExcerptRoom {
    lines: usize,
    bytes: usize,
}

/// The items that will be shown.
struct ExcerptChoice<'o> {
    items: Vec<ExcerptItem<'o>>,
    is_chosen: Vec<bool>,
    used: ExcerptRoom,
    gaps: usize,
    most: ExcerptRoom,
}

impl<'o> ExcerptChoice<'o> {
    fn new(items: Vec<ExcerptItem<'o>>, most: ExcerptRoom) -> Self {
        let gaps = usize::from(!items.is_empty());
        let is_chosen = vec![false; items.len()];
        Self { items, is_chosen, used: ExcerptRoom { lines: 0, bytes: 0 }, gaps, most }
    }

    fn lines_in_all(&self) -> usize {
        self.items.last().map_or(0, |last| last.first + last.stands_for)
    }

    /// Adds items up to the first that does not fit beside what is reserved.
    fn add_while_room(&mut self, items: impl IntoIterator<Item = usize>, reserved: ExcerptRoom) {
        let mark = gap_mark(self.lines_in_all()).len() + 1;
        for at in items {
            if self.is_chosen[at] {
                continue;
            }
            let closes_before = at == 0 || self.is_chosen[at - 1];
            let closes_after = self.is_chosen.get(at + 1).is_none_or(|is_chosen| *is_chosen);
            let gaps = self.gaps + 1 - usize::from(closes_before) - usize::from(closes_after);
            let lines = self.used.lines + 1;
            // The last line has no line end.
            let bytes = self.used.bytes + self.items[at].text.len() + 1;
            if lines + gaps > self.most.lines - reserved.lines
                || bytes + gaps * mark > (self.most.bytes - reserved.bytes).saturating_add(1)
            {
                return;
            }
            self.gaps = gaps;
            self.used = ExcerptRoom { lines, bytes };
            self.is_chosen[at] = true;
        }
    }

    fn into_text(self) -> String {
        let lines_in_all = self.lines_in_all();
        let mut lines: Vec<Cow<str>> = Vec::new();
        let mut next = 0;
        for (item, _) in self.items.into_iter().zip(self.is_chosen).filter(|(_, chosen)| *chosen) {
            if item.first > next {
                lines.push(gap_mark(item.first - next).into());
            }
            next = item.first + item.stands_for;
            lines.push(item.text);
        }
        if next < lines_in_all {
            lines.push(gap_mark(lines_in_all - next).into());
        }
        lines.join("\n")
    }
}

fn gap_mark(lines: usize) -> String {
    match lines {
        1 => "[… 1 line left out …]".to_owned(),
        _ => format!("[… {lines} lines left out …]"),
    }
}

/// Returns the items of this weight, in order, with so many before and after each.
fn surroundings(
    items: &[ExcerptItem],
    wanted: LineWeight,
    before: usize,
    after: usize,
) -> Vec<usize> {
    let mut chosen = Vec::new();
    let mut next = 0;
    for (at, item) in items.iter().enumerate() {
        if weigh(&item.text) == wanted {
            let end = (at + after + 1).min(items.len());
            chosen.extend(next.max(at.saturating_sub(before))..end);
            next = end;
        }
    }
    chosen.retain(|at| !is_ruler(&items[*at].text));
    chosen
}

/// Returns true for a line that only separates others.
fn is_ruler(line: &str) -> bool {
    let line = line.trim();
    line.len() >= RULER_MIN && line.bytes().all(|byte| b"-=_*~#.".contains(&byte))
}

/// Returns the lines of an output, plain, with runs of like lines folded and blank runs made one.
fn folded_lines(output: &str, longest: usize) -> Vec<ExcerptItem<'_>> {
    let mut items = Vec::new();
    let mut lines = plain_lines(output).enumerate().peekable();
    while let Some((first, line)) = lines.next() {
        let key = fold_key(&line).into_owned();
        let is_blank = key.is_empty();
        let mut like = Vec::new();
        let mut count = 0;
        while let Some((_, next)) = lines.next_if(|(_, next)| fold_key(next) == key) {
            count += 1;
            if count < FOLDED_MIN - 1 {
                like.push(next);
            }
        }
        let mut push = |first, stands_for, text| {
            items.push(ExcerptItem { first, stands_for, text: shortened(text, longest) });
        };
        if is_blank {
            push(first, 1 + count, Cow::Borrowed(""));
            continue;
        }
        push(first, 1, line);
        if count < FOLDED_MIN - 1 {
            for (at, line) in like.into_iter().enumerate() {
                push(first + 1 + at, 1, line);
            }
        } else {
            push(first + 1, count, format!("… {count} more lines like this").into());
        }
    }
    items
}

/// Returns what like lines have in common: all but the numbers of a line that does not matter.
fn fold_key(line: &str) -> Cow<'_, str> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex("[0-9]+"));
    if line.trim().is_empty() {
        return Cow::Borrowed("");
    }
    if FOREIGN_FRAME.is_match(start_of(line, WEIGHED_BYTES_MAX)) {
        return Cow::Borrowed("\0frame");
    }
    let is_text = line.contains(char::is_alphabetic) && line.contains(|c: char| c.is_ascii_digit());
    if is_text && weigh(line) == LineWeight::Plain {
        return NUMBER.replace_all(line, "0");
    }
    Cow::Borrowed(line)
}

/// Returns a line without spaces at its end, and without its middle if it is too long.
fn shortened(line: Cow<str>, bytes_max: usize) -> Cow<str> {
    let length = line.trim_end().len();
    if length <= bytes_max {
        return match line {
            Cow::Borrowed(line) => Cow::Borrowed(&line[..length]),
            Cow::Owned(mut line) => {
                line.truncate(length);
                Cow::Owned(line)
            }
        };
    }
    let line = &line[..length];
    let mark = |bytes: usize| format!(" [… {bytes} bytes left out …] ");
    let room = bytes_max.saturating_sub(mark(length).len());
    let (start, end) = (start_of(line, room - room / 3), end_of(line, room / 3));
    let left_out = length - start.len() - end.len();
    Cow::Owned(format!("{start}{}{end}", mark(left_out)))
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("our own patterns of lines are valid")
}

/// A frame of a backtrace inside a library or the language itself.
static FOREIGN_FRAME: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^[\ \t]+(?:
        at\ .*(?:/rustc/|/\.cargo/registry/|node:internal|node_modules/|java\.base/
                 |jdk\.internal\.|org\.junit\.)
        | .*\(node:internal
        | [0-9]+:\ (?:<?(?:core|std|alloc)::|test::|__rustc|<fn)
        )",
    )
});

/// A line of good news, whatever words are in it.
static GOOD_NEWS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^(?:[✓✔]|ok\ |---\ PASS|PASS\ |Compiling\ |Downloaded\ )
        | (?:\.\.\.\ ok|\ PASSED(?:\ .*%\])?)$",
    )
});

/// A line that is a failure by its start.
static BAD_NEWS: LazyLock<Regex> = LazyLock::new(|| regex("^(?:E  |not ok |[✕✖✗✘×●])"));

/// Words of failures and hints; after a zero, as in `0 failed`, a word is neither.
static TELLING_WORD: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)
        (?-u:\b) 0 [^0-9A-Za-z_]+ [0-9A-Za-z_]+
        | (?<failure> [0-9A-Za-z_]*(?:Error|Exception|Failure|SystemExit) (?-u:\b)
            | (?-u:\b) (?i-u:aborted|assert|assertion|err|errors?|exception|fail|failed|failing
              |fails|failures?|fatal|killed|mismatch|panic|panicked|segfault|sigabrt|sigsegv
              |timeout|traceback|undefined|unexpected) (?-u:\b) )
        | (?<hint> (?-u:\b) (?i-u:actual|cannot|conflict|denied|diff|expected|got|invalid|left
              |missing|received|right|unknown|want|warning) (?-u:\b) )",
    )
});

/// Weighs a line by its words.
fn weigh(line: &str) -> LineWeight {
    let line = start_of(line, WEIGHED_BYTES_MAX);
    let text = line.trim();
    if text.is_empty() || GOOD_NEWS.is_match(text) || FOREIGN_FRAME.is_match(line) {
        return LineWeight::Plain;
    }
    if BAD_NEWS.is_match(text) {
        let is_planned = text.starts_with("not ok ") && text.contains("# TODO");
        return if is_planned { LineWeight::Hint } else { LineWeight::Failure };
    }
    let mut weight = LineWeight::Plain;
    for word in TELLING_WORD.captures_iter(text) {
        if word.name("failure").is_some() {
            return LineWeight::Failure;
        }
        if word.name("hint").is_some() {
            weight = LineWeight::Hint;
        }
    }
    weight
}

/// Returns the first failure, or else the last line, where there is room for one line only.
fn most_telling_line(output: &str, lines_max: usize, bytes_max: usize) -> String {
    if lines_max == 0 {
        return String::new();
    }
    let failure = plain_lines(output).find(|line| weigh(line) == LineWeight::Failure);
    let last = || plain_lines(output).filter(|line| !line.trim().is_empty()).last();
    let line = failure.or_else(last).unwrap_or_default();
    start_of(line.trim(), bytes_max).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(lines: usize) -> String {
        let words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"];
        let line = |at: usize| format!("{} {}\n", words[at % 7], words[(at / 7) % 7]);
        (0..lines).map(line).collect()
    }

    #[test]
    fn few_lines_have_the_test_and_the_cause_and_no_rulers() {
        let output = "python3 -m unittest -q\n======================\nERROR: test_notes (unittest.loader._FailedTest)\n----------------------\n\
            ImportError: Failed to import test module: test_notes\nTraceback (most recent call last):\n  File \"loader.py\", line 419\n    module = f()\n\
            \x20 File \"test_notes.py\", line 3\n    import noets\nModuleNotFoundError: No module named 'noets'\n\n\n----------------------\n\
            Ran 1 test in 0.000s\n\nFAILED (errors=1)\nmake: *** [Makefile:2: test] Error 1\n";
        let shown = excerpt(output, 7, 4096);
        for line in ["ERROR: test_notes", "No module named 'noets'", "make: *** [Makefile:2"] {
            assert!(shown.contains(line), "{line} is not in\n{shown}");
        }
        assert!(!shown.contains("===="), "{shown}");
        let output = "python3 -m unittest -q\n======================\nERROR: test_notes (test_notes.Test)\n----------------------\n\
            Traceback (most recent call last):\n  File \"test_notes.py\", line 5\n    notes.main()\n  File \"notes.py\", line 9\n\
            \x20   raise SystemExit(3)\nSystemExit: 3\n\n----------------------\nRan 1 test in 0.000s\n\nFAILED (errors=1)\n\
            make: *** [Makefile:2: test] Error 1\n";
        let shown = excerpt(output, 7, 4096);
        assert!(shown.contains("\nSystemExit: 3\n"), "the cause is not in\n{shown}");
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        let text = "one\n\n  two\tü\nthree";
        assert_eq!(excerpt(text, 10, 1000), text);
        assert_eq!(excerpt("", 10, 1000), "");
        assert_eq!(excerpt("\n\n\n", 10, 1000), "");
    }

    #[test]
    fn a_failure_in_the_middle_and_the_end_are_kept_and_gaps_are_counted() {
        let text = format!(
            "{}thread 'x' panicked at src/a.rs:1:2:\nassertion failed\n{}summary of it all\n",
            noise(500),
            noise(500)
        );
        let short = excerpt(&text, 40, 10_000);
        let lines: Vec<&str> = short.lines().collect();
        assert_eq!(lines.len(), 40);
        assert_eq!(lines[0], "[… 497 lines left out …]");
        assert_eq!(lines[4], "thread 'x' panicked at src/a.rs:1:2:");
        assert_eq!(lines.last(), Some(&"summary of it all"));
        let gaps: usize = lines
            .iter()
            .filter_map(|line| line.strip_prefix("[… ")?.split(' ').next()?.parse::<usize>().ok())
            .sum();
        let marks = lines.iter().filter(|line| line.starts_with("[…")).count();
        assert_eq!(gaps + lines.len() - marks, 1003, "{short}");
    }

    #[test]
    fn a_mere_hint_is_kept_where_nothing_failed() {
        let text = format!("{}the server is missing\n{}end\n", noise(500), noise(500));
        let short = excerpt(&text, 20, 2000);
        assert!(short.contains("\nthe server is missing\n") && short.ends_with("\nend"), "{short}");
    }

    #[test]
    fn many_failures_leave_room_for_the_summary() {
        let mut text = String::new();
        for at in 0..1000 {
            text.extend(["FAILED case_", &at.to_string(), "\nbecause of ", &noise(1), "\n"]);
        }
        text.push_str("1000 tests in all\n");
        let short = excerpt(&text, 60, 4000);
        assert!(short.starts_with("FAILED case_0\n"), "{short}");
        assert!(short.ends_with("1000 tests in all"), "{short}");
    }

    #[test]
    fn like_lines_are_folded_and_failures_that_differ_are_not() {
        let steps: Vec<String> = (0..38).map(|n| format!("step {n} of 38")).collect();
        let text = format!("{}\nend", steps.join("\n"));
        assert_eq!(excerpt(&text, 100, 9999), "step 0 of 38\n… 37 more lines like this\nend");
        let text =
            "error in line 1\nerror in line 2\nerror in line 3\nerror in line 4\nerror in line 5";
        assert_eq!(excerpt(text, 100, 9999), text);
        let text = "error: same\n".repeat(9);
        assert_eq!(excerpt(&text, 100, 9999), "error: same\n… 8 more lines like this");
        assert_eq!(excerpt("a\na\na\nb", 100, 9999), "a\na\na\nb");
        assert_eq!(excerpt("a\n\n\n\n\n\nb", 100, 9999), "a\n\nb");
    }

    #[test]
    fn frames_of_others_are_folded_and_ones_own_are_not() {
        let text = "thread 'x' panicked at src/lib.rs:13:46:
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/5980/library/std/src/panicking.rs:689:5
   1: core::panicking::panic
             at /rustc/5980/library/core/src/panicking.rs:80:14
   2: samp::tests::breaks
             at ./src/lib.rs:13:46
   3: core::ops::function::FnOnce::call_once
note: end";
        let expected = "thread 'x' panicked at src/lib.rs:13:46:
stack backtrace:
   0: __rustc::rust_begin_unwind
… 3 more lines like this
   2: samp::tests::breaks
             at ./src/lib.rs:13:46
   3: core::ops::function::FnOnce::call_once
note: end";
        assert_eq!(excerpt(text, 100, 9999), expected);
    }

    #[test]
    fn colours_and_progress_are_gone() {
        assert_eq!(excerpt("\u{1b}[31mred\u{1b}[0m\n10%\r100%\r\n", 9, 999), "red\n100%");
    }

    #[test]
    fn a_line_without_end_loses_its_middle() {
        let text = format!("error {}ü end", "x".repeat(100_000));
        let short = excerpt(&text, 10, 100_000);
        assert!(
            short.len() <= LINE_BYTES_MAX && short.starts_with("error x") && short.ends_with("end")
        );
        assert!(short.contains("bytes left out"), "{short}");
    }

    #[test]
    fn lines_are_weighed_by_their_words() {
        for (line, expected) in [
            ("test result: ok. 3 passed; 0 failed; 0 ignored", LineWeight::Plain),
            ("test parses_error ... ok", LineWeight::Plain),
            ("test a::error ... ok", LineWeight::Plain),
            ("✓ fails well", LineWeight::Plain),
            ("test result: FAILED. 2 passed; 1 failed", LineWeight::Failure),
            ("error[E0308]: mismatched types", LineWeight::Failure),
            ("E   assert 1 == 2", LineWeight::Failure),
            ("java.lang.NullPointerException: x", LineWeight::Failure),
            ("not ok 2 - breaks", LineWeight::Failure),
            ("    Expected: 2", LineWeight::Hint),
            ("unrelated", LineWeight::Plain),
            ("terror", LineWeight::Plain),
        ] {
            assert_eq!(weigh(line), expected, "{line}");
        }
    }

    #[test]
    fn where_there_is_room_for_one_line_it_is_the_one_that_says_most() {
        assert_eq!(excerpt("a\nerror: b\nc", 1, 1000), "error: b");
        assert_eq!(excerpt("a\nb\n\n", 3, 5), "b");
        assert_eq!(excerpt("ää", 3, 3), "ä");
        assert_eq!(excerpt("error", 0, 100), "");
        assert_eq!(excerpt("error", 9, 0), "");
    }

    #[test]
    fn any_bytes_stay_within_any_bounds_and_in_order() {
        let mut chance = crate::detect::tests::Chance(7);
        let pieces = [
            "error: x",
            "ok",
            "\n",
            "\n",
            "\u{1b}[31m",
            "\r",
            "é✓",
            "FAILED",
            " ",
            "panicked",
            "0",
            "\u{1b}]",
            "expected",
            "\t",
            "\u{0}",
            "17",
            "\n",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ];
        for _ in 0..1000 {
            let length = chance.below(400);
            let text: String = (0..length).map(|_| pieces[chance.below(pieces.len())]).collect();
            let (lines, bytes) = (chance.below(40), chance.below(1200));
            let short = excerpt(&text, lines, bytes);
            assert!(short.len() <= bytes, "{} > {bytes}", short.len());
            assert!(short.is_empty() || short.split('\n').count() <= lines, "{short:?} {lines}");
        }
    }

    #[test]
    fn a_flood_is_shortened() {
        let flood = "error no\nx\n\ny 1\n".repeat(20_000);
        let short = excerpt(&flood, 200, 20_000);
        assert!(short.len() <= 20_000 && short.lines().count() <= 200);
    }
}
