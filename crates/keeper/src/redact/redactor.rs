//! The stream itself: what has gone out, what is held back, and what is covered.
//!
//! ```text
//! pending:  . . | settled, can go out | may be the beginning of a secret
//!               at                    safe
//! ```
//! Secrets become covers: stretches of the stream which are dropped, each stretch leaving one
//! `[redacted]`. Covers may overlap, and scanning continues inside of them, so that a secret which
//! begins inside another one is covered to its own end.

use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::candidates::{self, Candidate, Cover, WINDOW_BYTES};
use super::json_line::{ByteAction, JsonLine};
use super::known_values::forms;
use super::private_key::{KEY_FAMILY, KeyStep, PrivateKeyReader, Quotes};
use super::token_patterns::{Charset, PatternStart};

/// Bytes kept before `at`, to see whether a word begins there.
const HISTORY_BYTES: usize = 6;

/// Takes known values and everything that looks like a secret out of a stream. A clone of one that has
/// seen nothing is cheaper than a new one.
#[derive(Clone)]
pub struct Redactor {
    patterns: Arc<Patterns>,
    /// History, then what has not gone out yet.
    pending: Vec<u8>,
    at: usize,
    /// Those that were passed are gone.
    covers: Vec<Cover>,
    edge: Edge,
    /// The private key that has begun last, as far as it may go.
    key: Option<PrivateKeyReader>,
    line: JsonLine,
    /// The place that `line` speaks of: it does not follow text that is not covered.
    line_at: usize,
    /// How often something was taken out.
    pub(super) marks: u64,
    /// Covers that were passed, if somebody wants to know.
    passed: Option<Vec<Cover>>,
}

/// What is looked for. Most programs that are redacted print nothing, so the automaton is made for the first byte.
struct Patterns {
    known: Vec<Vec<u8>>,
    automaton: OnceLock<Automaton>,
}

struct Automaton {
    /// Finds known forms, and the beginnings of whatever else, in one pass.
    finder: AhoCorasick,
    /// All patterns of the finder, in order, to tell whether a tail may become one.
    sorted: Vec<Vec<u8>>,
    /// For each pattern, what it may be the beginning of.
    leads: Vec<Vec<Candidate>>,
    longest: usize,
}

impl Automaton {
    fn new(known: &[Vec<u8>]) -> Self {
        let known = known.iter().flat_map(|value| forms(value));
        let mut patterns: Vec<(Vec<u8>, Candidate)> = known
            .map(|form| (form.len(), form))
            .map(|(len, form)| (form, Candidate::Known(len)))
            .collect();
        patterns.extend(candidates::fixed());
        patterns.sort_by(|one, other| one.0.cmp(&other.0));
        let (sorted, leads) = leads_by_pattern(patterns);
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // The full automaton would be a little faster and several megabytes larger.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&sorted)
            .expect("a bounded number of bounded patterns fits into an automaton");
        let longest = sorted.iter().map(Vec::len).max().unwrap_or(0);
        Self { finder, sorted, leads, longest }
    }

    fn is_beginning(&self, tail: &[u8]) -> bool {
        let next = self.sorted.partition_point(|pattern| pattern.as_slice() <= tail);
        self.sorted.get(next).is_some_and(|pattern| pattern.starts_with(tail))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Text,
    Mark,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InputState {
    Going,
    Over,
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretMatch {
    /// What it looks like, with its article: `a GitHub token`.
    pub family: &'static str,
    /// The line in which it begins, counted from 1.
    pub line: usize,
    /// The line in which it ends.
    pub last_line: usize,
}

/// Says where the secrets of a text are.
pub struct Finder(Redactor);

/// Where the secrets of a text are. For many texts, a [`Finder`] is made once.
pub fn find(text: &[u8], known: impl IntoIterator<Item = Vec<u8>>) -> Vec<SecretMatch> {
    Finder::new(known).find(text)
}

impl Finder {
    /// Finds what [`Redactor::new`] of the same values takes out.
    pub fn new(known: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self(Redactor::new(known))
    }

    /// Where the secrets of a text are, in their order.
    pub fn find(&mut self, text: &[u8]) -> Vec<SecretMatch> {
        let redactor = &mut self.0;
        redactor.passed = Some(Vec::new());
        redactor.pending.extend_from_slice(text);
        redactor.scan(InputState::Over, &mut Vec::with_capacity(text.len()));
        let mut covers = redactor.passed.take().unwrap_or_default();
        covers.append(&mut redactor.covers);
        redactor.begin();
        covers.sort_by_key(|cover| cover.from);
        let (mut at, mut line) = (0, 1);
        let lines_in = |from: usize, until: usize| {
            let text = text.get(from..until.min(text.len())).unwrap_or_default();
            text.split(|&byte| byte == b'\n').count() - 1
        };
        let mut found = Vec::new();
        for cover in covers {
            let from = cover.from - HISTORY_BYTES;
            line += lines_in(at, from);
            at = from;
            let last_line = line + lines_in(from, cover.until - HISTORY_BYTES - 1);
            found.push(SecretMatch { family: cover.family, line, last_line });
        }
        found.dedup();
        found
    }
}

impl Redactor {
    /// Knows these values in all their forms, and all shapes. Values under 8 bytes are ignored.
    pub fn new(known: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let known = known.into_iter().collect();
        let patterns = Arc::new(Patterns { known, automaton: OnceLock::new() });
        let (pending, at) = (vec![b'\n'; HISTORY_BYTES], HISTORY_BYTES);
        Self {
            patterns,
            pending,
            at,
            covers: Vec::new(),
            edge: Edge::Text,
            key: None,
            line: JsonLine::start(),
            line_at: at,
            marks: 0,
            passed: None,
        }
    }

    fn automaton(&self) -> &Automaton {
        self.patterns.automaton.get_or_init(|| Automaton::new(&self.patterns.known))
    }

    /// Takes in a piece of the stream, and appends to `out` what is settled by it.
    pub fn push(&mut self, input: &[u8], out: &mut Vec<u8>) {
        self.pending.extend_from_slice(input);
        self.scan(InputState::Going, out);
        self.forget();
    }

    /// The stream is over: settles the rest. The redactor then begins anew.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.scan(InputState::Over, out);
        self.begin();
    }

    fn begin(&mut self) {
        self.pending = vec![b'\n'; HISTORY_BYTES];
        self.at = HISTORY_BYTES;
        self.covers.clear();
        self.edge = Edge::Text;
        self.key = None;
        self.line = JsonLine::start();
        self.line_at = HISTORY_BYTES;
    }

    fn scan(&mut self, input: InputState, out: &mut Vec<u8>) {
        self.extend_runs();
        let safe = self.safe(input);
        let mut from = self.at;
        while from < safe {
            let hit =
                self.automaton().finder.find(aho_corasick::Input::new(&self.pending).range(from..));
            let Some(hit) = hit.filter(|hit| hit.start() < safe) else { break };
            let settled = self.read_key(hit.start(), input);
            self.release(settled, out);
            let pattern = hit.pattern().as_usize();
            if settled < hit.start() || !self.is_decidable(hit.start(), pattern, input) {
                return;
            }
            self.look(hit.start(), pattern);
            from = hit.start() + 1;
        }
        let settled = self.read_key(safe, input);
        self.release(settled, out);
    }

    /// Reads the private key that has begun, if there is one, up to a place or a little further;
    /// up to where it is settled what is covered.
    fn read_key(&mut self, to: usize, input: InputState) -> usize {
        while let Some(key) = self.key.as_mut().filter(|key| key.settled() < to) {
            match key.step(&self.pending, input == InputState::Over) {
                KeyStep::Open => return key.settled(),
                KeyStep::Over => self.key = None,
                KeyStep::Text => {}
                KeyStep::Key(piece) => self.cover_key(piece.start, piece.end),
            }
        }
        to
    }

    /// Covers a piece of a private key, as one with the piece before.
    fn cover_key(&mut self, from: usize, until: usize) {
        let is_piece =
            |cover: &&mut Cover| (cover.until, cover.set, cover.family) == (from, None, KEY_FAMILY);
        match self.covers.iter_mut().find(is_piece) {
            Some(cover) => cover.until = until,
            None => self.cover(Cover { from, until, set: None, family: KEY_FAMILY }),
        }
    }

    /// The first place from which on the input may be the beginning of a pattern.
    fn safe(&self, input: InputState) -> usize {
        let len = self.pending.len();
        if input == InputState::Over || self.at == len {
            return len;
        }
        let automaton = self.automaton();
        let first = len.saturating_sub(automaton.longest.saturating_sub(1)).max(self.at);
        (first..len).find(|&start| automaton.is_beginning(&self.pending[start..])).unwrap_or(len)
    }

    /// Whether everything has come by which a hit is decided.
    fn is_decidable(&self, start: usize, pattern: usize, input: InputState) -> bool {
        let window = self.window(start);
        input == InputState::Over
            || window.len() == WINDOW_BYTES
            || window.contains(&b'\n')
            || self.automaton().leads[pattern].iter().all(|lead| lead.is_known())
    }

    fn window(&self, start: usize) -> &[u8] {
        let rest = &self.pending[start..];
        &rest[..rest.len().min(WINDOW_BYTES)]
    }

    /// Decides what a hit means, and covers what it must.
    fn look(&mut self, start: usize, pattern: usize) {
        // The longest beginning says most exactly what it is.
        for number in (0..self.automaton().leads[pattern].len()).rev() {
            let lead = self.automaton().leads[pattern][number];
            let is_covered = lead.set().is_some_and(|set| self.is_inside_run(start, set));
            if is_covered || !self.fits(lead.place(), start) {
                continue;
            }
            let Some(cover) = lead.follow(self.window(start)) else { continue };
            let cover = Cover { from: start + cover.from, until: start + cover.until, ..cover };
            self.cover(cover);
            if let Candidate::KeyHeader = lead {
                self.follow_line(start);
                let quotes = if self.line.is_json() { Quotes::End } else { Quotes::Text };
                self.key = Some(PrivateKeyReader::new(start..cover.until, quotes));
            }
        }
    }

    /// Sees to it that `line` speaks of a place.
    fn follow_line(&mut self, to: usize) {
        if self.line_at < to {
            self.line.pass(&self.pending[self.line_at..to]);
            self.line_at = to;
        }
    }

    /// Whether a run from here could not reach further than what already covers it.
    fn is_inside_run(&self, start: usize, set: Charset) -> bool {
        self.covers.iter().any(|cover| {
            let is_inside = cover.from <= start && start < cover.until;
            is_inside && cover.set.is_some_and(|covering| set <= covering)
        })
    }

    fn cover(&mut self, mut cover: Cover) {
        // What looks like the first letter of a secret may be the last one of a line end.
        let is_escape = self.pending[cover.from - 1] == b'\\';
        if is_escape && b"bfnrtu".contains(&self.pending[cover.from]) {
            cover.from += 1;
        }
        let is_known = |known: &Cover| {
            (known.from, known.set, known.family) == (cover.from, cover.set, cover.family)
                && known.until >= cover.until
        };
        if !self.covers.iter().any(is_known) {
            self.covers.push(cover);
            self.extend_runs();
        }
    }

    /// A run goes on as far as its characters do; only a run at its very end may grow.
    fn extend_runs(&mut self) {
        for cover in &mut self.covers {
            if let Some(set) = cover.set {
                let rest = self.pending.get(cover.until..).unwrap_or_default();
                cover.until += set.run(rest, usize::MAX).len();
            }
        }
    }

    /// Whether a shape may begin here. Escapes (`\n`, `\u003e`) and colours (`\x1b[32m`) end in letters too.
    fn fits(&self, place: PatternStart, start: usize) -> bool {
        let (before, last) = (self.pending[start - 2], self.pending[start - 1]);
        match place {
            PatternStart::Anywhere => true,
            PatternStart::WordStart => {
                let is_escape =
                    before == b'\\' || self.pending[start - HISTORY_BYTES..].starts_with(b"\\u");
                let is_colour =
                    last == b'm' && (before.is_ascii_digit() || b"[;".contains(&before));
                !last.is_ascii_alphanumeric() || is_escape || is_colour
            }
        }
    }

    /// Lets everything before `to` go out, or drops it where it is covered.
    fn release(&mut self, to: usize, out: &mut Vec<u8>) {
        while self.at < to {
            let at = self.at;
            let here = self.covers.iter().filter(|cover| cover.from <= at && at < cover.until);
            if let Some(until) = here.map(|cover| cover.until).max() {
                self.drop_covered(until.min(to), out);
                continue;
            }
            let later = self.covers.iter().map(|cover| cover.from).filter(|&from| from > at);
            let until = later.min().unwrap_or(to).min(to);
            if self.line_at == at {
                let rest = self.line.drop_rest(&self.pending[at..until]);
                self.line_at += rest;
            }
            let kept = &self.pending[self.line_at.max(at).min(until)..until];
            if !kept.is_empty() {
                out.extend_from_slice(kept);
                self.edge = Edge::Text;
            }
            self.at = until;
        }
        self.pass();
    }

    /// Drops everything before `to` but for what its line of JSON needs.
    fn drop_covered(&mut self, to: usize, out: &mut Vec<u8>) {
        self.follow_line(self.at);
        for &byte in &self.pending[self.at..to] {
            match self.line.drop(byte) {
                ByteAction::Byte => {
                    out.push(byte);
                    self.edge = Edge::Text;
                }
                ByteAction::Mark(mark) if self.edge == Edge::Text => {
                    out.extend_from_slice(mark);
                    self.edge = Edge::Mark;
                    self.marks += 1;
                }
                ByteAction::Mark(_) | ByteAction::Nothing => {}
            }
        }
        (self.at, self.line_at) = (to, to);
    }

    /// Lets go of covers that ended before what is left: they can never grow again.
    fn pass(&mut self) {
        let at = self.at;
        if let Some(passed) = &mut self.passed {
            passed.extend(self.covers.iter().filter(|cover| cover.until < at));
        }
        self.covers.retain(|cover| cover.until >= at);
    }

    /// Drops what has gone out, but for the history.
    fn forget(&mut self) {
        let gone = self.at - HISTORY_BYTES;
        self.follow_line(self.at);
        self.pending.drain(..gone);
        (self.at, self.line_at) = (HISTORY_BYTES, HISTORY_BYTES);
        if let Some(key) = &mut self.key {
            key.shift(gone);
        }
        for cover in &mut self.covers {
            cover.from = cover.from.saturating_sub(gone);
            cover.until -= gone;
        }
    }
}

/// The patterns without doubles, and the leads of each. Only the longest pattern is found at a
/// place, so it has the leads of all patterns that it begins with.
fn leads_by_pattern(patterns: Vec<(Vec<u8>, Candidate)>) -> (Vec<Vec<u8>>, Vec<Vec<Candidate>>) {
    let mut sorted: Vec<Vec<u8>> = Vec::new();
    let mut leads: Vec<Vec<Candidate>> = Vec::new();
    // The patterns that the current one begins with; in order they come right before it.
    let mut beginnings: Vec<usize> = Vec::new();
    for (pattern, lead) in patterns {
        if sorted.last() == Some(&pattern) {
            leads.last_mut().expect("each pattern has leads").push(lead);
            continue;
        }
        while beginnings.pop_if(|n| !pattern.starts_with(&sorted[*n])).is_some() {}
        let mut all = beginnings.last().map_or_else(Vec::new, |n| leads[*n].clone());
        all.push(lead);
        beginnings.push(sorted.len());
        sorted.push(pattern);
        leads.push(all);
    }
    (sorted, leads)
}

#[cfg(test)]
mod json_tests;
#[cfg(test)]
mod tests;
