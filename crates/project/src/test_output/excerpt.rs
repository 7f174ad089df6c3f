//! A long output, cut to what matters for the one who has to mend it.
//!
//! The neighbourhood of failures comes first, then the last lines; what lies between is counted. The
//! output is read once and only as much of it is kept as fits the bounds, so a huge one is no
//! harder than a small one. Not here: what the tests said, see `tests_said`.
//!
//! Invariant: never more lines or bytes than allowed, whatever the input.
//! Invariant: lines are in their order, and each gap says how many lines are missing.

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
};

use super::plain_text::plain_lines;
use crate::bounded_text::{end_of, start_of};

/// Lines kept before a failure.
const BEFORE: usize = 3;
/// Lines kept after a failure.
const AFTER: usize = 12;
/// Lines kept around a mere hint.
const AROUND_HINT: usize = 1;
/// So many like lines in a row are folded.
const FOLDED_MIN: usize = 4;
/// A longer line loses its middle.
const LINE_BYTES_MAX: usize = 2000;
/// Only so much of a line is looked at to see what it is.
const LOOKED_AT_BYTES_MAX: usize = 4096;
/// One part in so many is kept for the last lines, where runners write their summary.
const TAIL_SHARE: usize = 4;
/// Below this there is no room for marks, and only the most telling line is given.
const ROOM_BYTES_MIN: usize = 160;
const ROOM_LINES_MIN: usize = 4;

/// Cuts an output to at most so many lines and bytes.
pub fn cut(output: &str, lines_max: usize, bytes_max: usize) -> String {
    if lines_max < ROOM_LINES_MIN || bytes_max < ROOM_BYTES_MIN {
        return most_telling(output, lines_max, bytes_max);
    }
    let tail_share = (lines_max / TAIL_SHARE, bytes_max / TAIL_SHARE);
    let share = Room { lines: lines_max - tail_share.0, bytes: bytes_max - tail_share.1 };
    let mut failures = Kept::new(share);
    let mut hints = Kept::new(share);
    let mut tail = Tail::new(lines_max, bytes_max);
    let mut recent: VecDeque<Item> = VecDeque::new();
    let mut after_failure = 0;
    let mut after_hint = 0;
    let longest = LINE_BYTES_MAX.min(bytes_max / 4);
    for item in items(output, longest) {
        match weight(&item.text) {
            Weight::Failure => {
                if after_failure == 0 && !failures.is_full() {
                    failures.extend(recent.iter());
                }
                after_failure = AFTER + 1;
            }
            Weight::Hint => {
                if after_hint == 0 && !hints.is_full() {
                    hints.extend(recent.iter().rev().take(AROUND_HINT).rev());
                }
                after_hint = AROUND_HINT + 1;
            }
            Weight::Plain => {}
        }
        if after_failure > 0 {
            failures.push(&item);
            after_failure -= 1;
        }
        if after_hint > 0 {
            hints.push(&item);
            after_hint -= 1;
        }
        if recent.len() == BEFORE {
            recent.pop_front();
        }
        recent.push_back(item.clone());
        tail.push(item);
    }
    let mut chosen = Chosen::new(tail.lines_in_all, lines_max, bytes_max);
    let reserved = Room { lines: tail_share.0, bytes: tail_share.1 };
    for item in failures.items {
        chosen.add(item, reserved);
    }
    let is_bare = chosen.items.is_empty();
    let nothing = Room { lines: 0, bytes: 0 };
    let mut hints = hints.items;
    if is_bare {
        hints.drain(..).for_each(|item| {
            chosen.add(item, reserved);
        });
    }
    let rest: Vec<Item> = tail.items.into_iter().rev().collect();
    for item in rest {
        if !chosen.add(item, nothing) {
            break;
        }
    }
    for item in hints {
        chosen.add(item, nothing);
    }
    chosen.text()
}

/// A line, or a folded run of lines.
#[derive(Clone, Debug)]
struct Item<'o> {
    /// The number of its first line.
    first: usize,
    /// How many lines of the output it stands for.
    stands_for: usize,
    text: Cow<'o, str>,
}

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Failure,
    Hint,
    Plain,
}

/// Lines and bytes.
#[derive(Clone, Copy, Debug)]
struct Room {
    lines: usize,
    bytes: usize,
}

/// Lines that were chosen on the way, as long as there is room.
struct Kept<'o> {
    items: Vec<Item<'o>>,
    left: Room,
}

impl<'o> Kept<'o> {
    fn new(left: Room) -> Self {
        Self { items: Vec::new(), left }
    }

    fn is_full(&self) -> bool {
        self.left.lines == 0
    }

    fn push(&mut self, item: &Item<'o>) {
        if self.items.last().is_some_and(|last| last.first >= item.first) {
            return;
        }
        if self.left.lines == 0 || self.left.bytes < item.text.len() + 1 {
            self.left.lines = 0;
            return;
        }
        self.left.lines -= 1;
        self.left.bytes -= item.text.len() + 1;
        self.items.push(item.clone());
    }

    fn extend<'i>(&mut self, items: impl Iterator<Item = &'i Item<'o>>)
    where
        'o: 'i,
    {
        for item in items {
            self.push(item);
        }
    }
}

/// The last lines.
struct Tail<'o> {
    items: VecDeque<Item<'o>>,
    bytes: usize,
    lines_max: usize,
    bytes_max: usize,
    lines_in_all: usize,
}

impl<'o> Tail<'o> {
    fn new(lines_max: usize, bytes_max: usize) -> Self {
        Self { items: VecDeque::new(), bytes: 0, lines_max, bytes_max, lines_in_all: 0 }
    }

    fn push(&mut self, item: Item<'o>) {
        self.lines_in_all = item.first + item.stands_for;
        self.bytes += item.text.len() + 1;
        self.items.push_back(item);
        while self.items.len() > self.lines_max || self.bytes > self.bytes_max.saturating_add(1) {
            let Some(gone) = self.items.pop_front() else { break };
            self.bytes -= gone.text.len() + 1;
        }
    }
}

/// What will be shown, with the price of the marks in the gaps.
struct Chosen<'o> {
    /// By the number of the first line; the value also says where it ends.
    items: BTreeMap<usize, Item<'o>>,
    used: Room,
    gaps: usize,
    lines_in_all: usize,
    lines_max: usize,
    bytes_max: usize,
}

impl<'o> Chosen<'o> {
    fn new(lines_in_all: usize, lines_max: usize, bytes_max: usize) -> Self {
        let gaps = usize::from(lines_in_all > 0);
        let used = Room { lines: 0, bytes: 0 };
        Self { items: BTreeMap::new(), used, gaps, lines_in_all, lines_max, bytes_max }
    }

    /// Adds a line if it fits and leaves so much room; says whether it is in.
    fn add(&mut self, item: Item<'o>, leaving: Room) -> bool {
        if self.items.contains_key(&item.first) {
            return true;
        }
        let end = item.first + item.stands_for;
        let before = self.items.range(..item.first).next_back();
        let touches_before =
            before.map_or(item.first == 0, |(_, it)| it.first + it.stands_for == item.first);
        let touches_after = end == self.lines_in_all || self.items.contains_key(&end);
        let gaps = match (touches_before, touches_after) {
            (true, true) => self.gaps - 1,
            (true, false) | (false, true) => self.gaps,
            (false, false) => self.gaps + 1,
        };
        let mark = mark(self.lines_in_all).len() + 1;
        let lines = self.used.lines + 1;
        let bytes = self.used.bytes + item.text.len() + 1;
        if lines + gaps > self.lines_max - leaving.lines
            || bytes + gaps * mark > (self.bytes_max - leaving.bytes).saturating_add(1)
        {
            return false;
        }
        self.gaps = gaps;
        self.used = Room { lines, bytes };
        self.items.insert(item.first, item);
        true
    }

    fn text(self) -> String {
        let mut lines: Vec<Cow<str>> = Vec::new();
        let mut next = 0;
        for item in self.items.into_values() {
            if item.first > next {
                lines.push(mark(item.first - next).into());
            }
            next = item.first + item.stands_for;
            lines.push(item.text);
        }
        if next < self.lines_in_all {
            lines.push(mark(self.lines_in_all - next).into());
        }
        lines.join("\n")
    }
}

fn mark(lines: usize) -> String {
    match lines {
        1 => "[… 1 line left out …]".to_owned(),
        _ => format!("[… {lines} lines left out …]"),
    }
}

/// The lines of an output, plain, with runs of like lines folded and blank runs made one.
fn items(output: &str, longest: usize) -> impl Iterator<Item = Item<'_>> {
    let mut lines = plain_lines(output).enumerate().peekable();
    let mut ready: VecDeque<Item> = VecDeque::new();
    std::iter::from_fn(move || {
        if let Some(item) = ready.pop_front() {
            return Some(item);
        }
        let (first, line) = lines.next()?;
        let mut run = 1;
        let mut last = Vec::new();
        while let Some((_, next)) = lines.next_if(|(_, next)| is_alike(&line, next)) {
            run += 1;
            if last.len() < FOLDED_MIN - 2 {
                last.push(next);
            }
        }
        let item =
            |first, stands_for, text| Item { first, stands_for, text: shortened(text, longest) };
        if line.trim().is_empty() {
            return Some(item(first, run, Cow::Borrowed("")));
        }
        if run >= FOLDED_MIN {
            let text = format!("… {} more lines like this", run - 1);
            ready.push_back(item(first + 1, run - 1, text.into()));
        } else {
            let more = last.into_iter().enumerate();
            ready.extend(more.map(|(at, text)| item(first + 1 + at, 1, text)));
        }
        Some(item(first, 1, line))
    })
}

/// Whether two lines say the same, but for numbers in a line that does not matter.
fn is_alike(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    if one.trim().is_empty() {
        return other.trim().is_empty();
    }
    if is_foreign_frame(one) {
        return is_foreign_frame(other);
    }
    let has_letters = one.chars().take(LOOKED_AT_BYTES_MAX).any(char::is_alphabetic);
    has_letters && is_same_but_numbers(one, other) && weight(one) == Weight::Plain
}

/// Where code lies that is not the project's own.
const FOREIGN: &[&str] = &[
    "/rustc/",
    "/.cargo/registry/",
    "node:internal",
    "node_modules/",
    "java.base/",
    "jdk.internal.",
    "org.junit.",
];
/// What the names of functions begin with that are not the project's own.
const FOREIGN_STARTS: &[&str] =
    &["core::", "std::", "alloc::", "test::", "__rustc", "<fn", "<core::", "<std::", "<alloc::"];

/// Whether a line is a frame of a backtrace inside a library or the language itself.
fn is_foreign_frame(line: &str) -> bool {
    if !line.starts_with([' ', '\t']) {
        return false;
    }
    let text = start_of(line, LOOKED_AT_BYTES_MAX).trim_start();
    let is_place = text.starts_with("at ") || text.contains("(node:internal");
    if is_place {
        return FOREIGN.iter().any(|place| text.contains(place));
    }
    text.split_once(": ").is_some_and(|(number, name)| {
        number.parse::<u32>().is_ok() && FOREIGN_STARTS.iter().any(|start| name.starts_with(start))
    })
}

fn is_same_but_numbers(one: &str, other: &str) -> bool {
    let mut one = one.bytes().peekable();
    let mut other = other.bytes().peekable();
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a.is_ascii_digit() && b.is_ascii_digit() => {
                while one.next_if(u8::is_ascii_digit).is_some() {}
                while other.next_if(u8::is_ascii_digit).is_some() {}
            }
            (Some(a), Some(b)) if a == b => {}
            (Some(_), Some(_) | None) | (None, Some(_)) => return false,
        }
    }
}

/// A line that is not too long, without its middle if it was, and without spaces at its end.
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

/// What a line is, by its words.
fn weight(line: &str) -> Weight {
    let line = start_of(line, LOOKED_AT_BYTES_MAX);
    let text = line.trim();
    if text.is_empty() || is_good_news(text) || is_foreign_frame(line) {
        return Weight::Plain;
    }
    if text.starts_with("E  ") || text.starts_with(['✕', '✖', '✗', '✘', '×', '●']) {
        return Weight::Failure;
    }
    if text.starts_with("not ok ") {
        return if text.contains("# TODO") { Weight::Hint } else { Weight::Failure };
    }
    let mut weight = Weight::Plain;
    let mut number_before = None;
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if word.is_empty() {
            continue;
        }
        match word_weight(word) {
            // `0 failed` is good news.
            Weight::Failure | Weight::Hint if number_before == Some("0") => {}
            Weight::Failure => return Weight::Failure,
            Weight::Hint => weight = Weight::Hint,
            Weight::Plain => {}
        }
        number_before = Some(word);
    }
    weight
}

fn is_good_news(text: &str) -> bool {
    text.starts_with(['✓', '✔'])
        || text.starts_with("ok ")
        || text.starts_with("--- PASS")
        || text.ends_with("... ok")
        || text.ends_with(" PASSED")
        || text.starts_with("PASS ")
        || (text.ends_with("%]") && text.contains(" PASSED "))
        || text.starts_with("Compiling ")
        || text.starts_with("Downloaded ")
}

/// The longest word that is known.
const WORD_BYTES_MAX: usize = 10;

fn word_weight(word: &str) -> Weight {
    let camel = ["Error", "Exception", "Failure"];
    if camel.iter().any(|end| word.ends_with(end)) {
        return Weight::Failure;
    }
    let mut lower = [0; WORD_BYTES_MAX];
    let Some(lower) = lower.get_mut(..word.len()) else { return Weight::Plain };
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    match &*lower {
        b"error" | b"errors" | b"fail" | b"fails" | b"failed" | b"failing" | b"failure"
        | b"failures" | b"panic" | b"panicked" | b"fatal" | b"traceback" | b"assert"
        | b"assertion" | b"aborted" | b"segfault" | b"sigsegv" | b"sigabrt" | b"killed"
        | b"timeout" | b"undefined" | b"err" | b"exception" | b"mismatch" | b"unexpected" => {
            Weight::Failure
        }
        b"expected" | b"actual" | b"received" | b"left" | b"right" | b"got" | b"want"
        | b"cannot" | b"warning" | b"unknown" | b"missing" | b"denied" | b"invalid"
        | b"conflict" | b"diff" => Weight::Hint,
        _ => Weight::Plain,
    }
}

/// The one line that says most, where there is room for no more.
fn most_telling(output: &str, lines_max: usize, bytes_max: usize) -> String {
    if lines_max == 0 {
        return String::new();
    }
    let mut last: Cow<str> = Cow::Borrowed("");
    for line in plain_lines(output) {
        if weight(&line) == Weight::Failure {
            last = line;
            break;
        }
        if !line.trim().is_empty() {
            last = line;
        }
    }
    let line = last.trim();
    start_of(line, bytes_max).to_owned()
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
    fn what_fits_is_left_as_it_is() {
        let text = "one\n\n  two\tü\nthree";
        assert_eq!(cut(text, 10, 1000), text);
        assert_eq!(cut("", 10, 1000), "");
        assert_eq!(cut("\n\n\n", 10, 1000), "");
    }

    #[test]
    fn a_failure_in_the_middle_and_the_end_are_kept_and_gaps_are_counted() {
        let text = format!(
            "{}thread 'x' panicked at src/a.rs:1:2:\nassertion failed\n{}summary of it all\n",
            noise(500),
            noise(500)
        );
        let cut = cut(&text, 40, 10_000);
        let lines: Vec<&str> = cut.lines().collect();
        assert_eq!(lines.len(), 40);
        assert_eq!(lines[0], "[… 497 lines left out …]");
        assert_eq!(lines[4], "thread 'x' panicked at src/a.rs:1:2:");
        assert_eq!(lines.last(), Some(&"summary of it all"));
        let gaps: usize = lines
            .iter()
            .filter_map(|line| line.strip_prefix("[… ")?.split(' ').next()?.parse::<usize>().ok())
            .sum();
        let marks = lines.iter().filter(|line| line.starts_with("[…")).count();
        assert_eq!(gaps + lines.len() - marks, 1003, "{cut}");
    }

    #[test]
    fn a_mere_hint_is_kept_where_nothing_failed() {
        let text = format!("{}the server is missing\n{}end\n", noise(500), noise(500));
        let cut = cut(&text, 20, 2000);
        assert!(cut.contains("\nthe server is missing\n") && cut.ends_with("\nend"), "{cut}");
    }

    #[test]
    fn many_failures_leave_room_for_the_summary() {
        let mut text = String::new();
        for at in 0..1000 {
            text.extend(["FAILED case_", &at.to_string(), "\nbecause of ", &noise(1), "\n"]);
        }
        text.push_str("1000 tests in all\n");
        let cut = cut(&text, 60, 4000);
        assert!(cut.starts_with("FAILED case_0\n"), "{cut}");
        assert!(cut.ends_with("1000 tests in all"), "{cut}");
    }

    #[test]
    fn like_lines_are_folded_and_failures_that_differ_are_not() {
        let steps: Vec<String> = (0..38).map(|n| format!("step {n} of 38")).collect();
        let text = format!("{}\nend", steps.join("\n"));
        assert_eq!(cut(&text, 100, 9999), "step 0 of 38\n… 37 more lines like this\nend");
        let text =
            "error in line 1\nerror in line 2\nerror in line 3\nerror in line 4\nerror in line 5";
        assert_eq!(cut(text, 100, 9999), text);
        let text = "error: same\n".repeat(9);
        assert_eq!(cut(&text, 100, 9999), "error: same\n… 8 more lines like this");
        assert_eq!(cut("a\na\na\nb", 100, 9999), "a\na\na\nb");
        assert_eq!(cut("a\n\n\n\n\n\nb", 100, 9999), "a\n\nb");
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
        assert_eq!(cut(text, 100, 9999), expected);
    }

    #[test]
    fn colours_and_progress_are_gone() {
        assert_eq!(cut("\u{1b}[31mred\u{1b}[0m\n10%\r100%\r\n", 9, 999), "red\n100%");
    }

    #[test]
    fn a_line_without_end_loses_its_middle() {
        let text = format!("error {}ü end", "x".repeat(100_000));
        let cut = cut(&text, 10, 100_000);
        assert!(cut.len() <= LINE_BYTES_MAX && cut.starts_with("error x") && cut.ends_with("end"));
        assert!(cut.contains("bytes left out"), "{cut}");
    }

    #[test]
    fn lines_are_weighed_by_their_words() {
        for (line, expected) in [
            ("test result: ok. 3 passed; 0 failed; 0 ignored", Weight::Plain),
            ("test parses_error ... ok", Weight::Plain),
            ("test a::error ... ok", Weight::Plain),
            ("✓ fails well", Weight::Plain),
            ("test result: FAILED. 2 passed; 1 failed", Weight::Failure),
            ("error[E0308]: mismatched types", Weight::Failure),
            ("E   assert 1 == 2", Weight::Failure),
            ("java.lang.NullPointerException: x", Weight::Failure),
            ("not ok 2 - breaks", Weight::Failure),
            ("    Expected: 2", Weight::Hint),
            ("unrelated", Weight::Plain),
            ("terror", Weight::Plain),
        ] {
            assert_eq!(weight(line), expected, "{line}");
        }
    }

    #[test]
    fn where_there_is_room_for_one_line_it_is_the_one_that_says_most() {
        assert_eq!(cut("a\nerror: b\nc", 1, 1000), "error: b");
        assert_eq!(cut("a\nb\n\n", 3, 5), "b");
        assert_eq!(cut("ää", 3, 3), "ä");
        assert_eq!(cut("error", 0, 100), "");
        assert_eq!(cut("error", 9, 0), "");
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
            let cut = cut(&text, lines, bytes);
            assert!(cut.len() <= bytes, "{} > {bytes}", cut.len());
            assert!(cut.is_empty() || cut.split('\n').count() <= lines, "{cut:?} {lines}");
        }
    }

    #[test]
    fn a_flood_is_read_once_and_cut() {
        let flood = "error no\nx\n\ny 1\n".repeat(20_000);
        let cut = cut(&flood, 200, 20_000);
        assert!(cut.len() <= 20_000 && cut.lines().count() <= 200);
    }
}
