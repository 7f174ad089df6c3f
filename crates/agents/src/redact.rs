//! Takes secrets out of a stream of bytes.
//!
//! Start with [`Redactor`]; `known` says how known values may look, `shapes` what tokens look like.
//!
//! ```text
//! pending:  . . | settled, can go out | may be the beginning of a secret
//!               at                    safe
//! ```
//! Secrets become covers: stretches of the stream which are dropped, each stretch leaving one
//! `[redacted]`. Covers may overlap, and scanning goes on inside of them, so that a secret which
//! begins inside another one is covered to its own end.
//!
//! Not here: encrypted, compressed or otherwise disguised secrets. This is a net, not a wall.
//!
//! Invariant: what comes out does not depend on how the input was cut into pieces.
//! Invariant: what is held back is shorter than the longest known form, or `HOLD_BYTES_MAX` and a prefix.
//! Invariant: text without secrets comes out as it went in.

mod known;
mod shapes;

pub use known::known_secrets;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use known::forms;
use shapes::{Charset, Decision, KEY_BLOCK_BEGIN, KEY_BLOCK_END, Place, SHAPES, is_key_block};

/// What is left where a secret was.
pub const REDACTED: &[u8] = b"[redacted]";
/// A run of token characters that is still undecided at this length is taken for a secret.
const HOLD_BYTES_MAX: usize = 512;
/// A block of a private key is covered for this long if its end never comes.
const KEY_BLOCK_BYTES_MAX: usize = 16 * 1024;
/// Bytes kept before `at`, to see whether a word begins there.
const HISTORY_BYTES: usize = 2;

/// Takes known values and everything shaped like a token out of a stream.
pub struct Redactor {
    /// Finds known forms, and the beginnings of shapes, in one pass.
    finder: AhoCorasick,
    /// All patterns of the finder, in order, to tell whether a tail may become one.
    sorted: Vec<Vec<u8>>,
    /// The known forms, longest first.
    known: Vec<Vec<u8>>,
    longest: usize,
    /// History, then what has not gone out yet.
    pending: Vec<u8>,
    at: usize,
    /// Everything before this index is covered by a known form.
    known_until: usize,
    cover: Cover,
    edge: Edge,
}

/// A cover that is not of a known form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cover {
    Nothing,
    /// Up to `until`, and on as long as the characters are of this set.
    Run {
        set: Charset,
        until: usize,
    },
    /// Up to `until` at most, or to the end marker of a private key.
    Block {
        until: usize,
    },
}

/// What went out last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Text,
    Mark,
}

/// Whether more input can come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Going,
    Over,
}

/// What looking at one hit led to.
enum Looked {
    Done,
    /// More input is needed first.
    Undecided,
}

impl Redactor {
    /// Knows these values in all their forms, and all shapes. Values under 8 bytes are ignored.
    pub fn new(known: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut known: Vec<Vec<u8>> = known.into_iter().flat_map(|value| forms(&value)).collect();
        known.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        known.dedup();
        let mut sorted: Vec<Vec<u8>> = known.clone();
        sorted.extend(SHAPES.iter().map(|shape| shape.prefix.to_vec()));
        sorted.extend([KEY_BLOCK_BEGIN.to_vec(), KEY_BLOCK_END.to_vec()]);
        sorted.sort();
        sorted.dedup();
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // The full automaton would be a little faster and several megabytes larger.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&sorted)
            .expect("a bounded number of bounded patterns fits into an automaton");
        let longest = sorted.iter().map(Vec::len).max().unwrap_or(0);
        Self {
            finder,
            sorted,
            known,
            longest,
            pending: vec![b'\n'; HISTORY_BYTES],
            at: HISTORY_BYTES,
            known_until: 0,
            cover: Cover::Nothing,
            edge: Edge::Text,
        }
    }

    /// Takes in a piece of the stream, and appends to `out` what is settled by it.
    pub fn push(&mut self, input: &[u8], out: &mut Vec<u8>) {
        self.pending.extend_from_slice(input);
        self.scan(Input::Going, out);
        self.forget();
    }

    /// The stream is over: settles the rest. The redactor then begins anew.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.scan(Input::Over, out);
        self.pending = vec![b'\n'; HISTORY_BYTES];
        (self.at, self.known_until) = (HISTORY_BYTES, 0);
        (self.cover, self.edge) = (Cover::Nothing, Edge::Text);
    }

    fn scan(&mut self, input: Input, out: &mut Vec<u8>) {
        self.extend_run();
        let safe = self.safe(input);
        let mut from = self.at;
        while from < safe {
            let hit = self.finder.find(aho_corasick::Input::new(&self.pending).range(from..));
            let Some(hit) = hit.filter(|hit| hit.start() < safe) else { break };
            self.release(hit.start(), out);
            match self.look(hit.start(), hit.end(), input) {
                Looked::Done => from = hit.start() + 1,
                Looked::Undecided => return,
            }
        }
        self.release(safe, out);
    }

    /// The first place from which on the input may be the beginning of a pattern.
    fn safe(&self, input: Input) -> usize {
        let len = self.pending.len();
        if input == Input::Over {
            return len;
        }
        let first = len.saturating_sub(self.longest.saturating_sub(1)).max(self.at);
        (first..len).find(|&start| self.is_beginning(&self.pending[start..])).unwrap_or(len)
    }

    fn is_beginning(&self, tail: &[u8]) -> bool {
        let next = self.sorted.partition_point(|pattern| pattern.as_slice() <= tail);
        self.sorted.get(next).is_some_and(|pattern| pattern.starts_with(tail))
    }

    /// Decides what a hit means, and covers what it must.
    fn look(&mut self, start: usize, end: usize, input: Input) -> Looked {
        let found = &self.pending[start..end];
        let rest = &self.pending[start..];
        // A known form may be shorter than the prefix of a shape which it begins.
        let known =
            self.known.iter().find(|known| known.len() <= found.len() && found.starts_with(known));
        if let Some(known) = known {
            self.known_until = self.known_until.max(start + known.len());
        }
        if rest.starts_with(KEY_BLOCK_END)
            && matches!(self.cover, Cover::Block { until } if start < until)
        {
            let until = start + KEY_BLOCK_END.len();
            self.cover = Cover::Run { set: Charset::Marker, until };
            self.extend_run();
            return Looked::Done;
        }
        if rest.starts_with(KEY_BLOCK_BEGIN) {
            return self.look_at_block(start, input);
        }
        for shape in SHAPES.iter().filter(|shape| rest.starts_with(shape.prefix)) {
            if self.is_inside_run(start, shape.set) || !self.fits(shape.place, start) {
                continue;
            }
            let run = shape.set.run(&rest[shape.prefix.len()..], HOLD_BYTES_MAX);
            let is_over = input == Input::Over || shape.prefix.len() + run.len() < rest.len();
            match shape.decide(run, is_over || run.len() == HOLD_BYTES_MAX) {
                Decision::Secret => {
                    let until = start + shape.prefix.len() + run.len();
                    self.cover_run(shape.set, until);
                    return Looked::Done;
                }
                Decision::Text if run.len() == HOLD_BYTES_MAX => {
                    self.cover_run(shape.set, start + shape.prefix.len() + run.len());
                    return Looked::Done;
                }
                Decision::Text => {}
                Decision::Open => return Looked::Undecided,
            }
        }
        Looked::Done
    }

    fn look_at_block(&mut self, start: usize, input: Input) -> Looked {
        if self.is_covered_by_block(start) {
            return Looked::Done;
        }
        let header = &self.pending[start + KEY_BLOCK_BEGIN.len()..];
        match is_key_block(header, input == Input::Over) {
            Decision::Secret => {
                self.cover = Cover::Block { until: start + KEY_BLOCK_BYTES_MAX };
                Looked::Done
            }
            Decision::Text => Looked::Done,
            Decision::Open => Looked::Undecided,
        }
    }

    fn is_covered_by_block(&self, start: usize) -> bool {
        match self.cover {
            Cover::Block { until } => start < until,
            Cover::Run { .. } | Cover::Nothing => false,
        }
    }

    /// Whether a run from here could not reach further than the run that already covers it.
    fn is_inside_run(&self, start: usize, set: Charset) -> bool {
        match self.cover {
            Cover::Run { set: covering, until } => start < until && set <= covering,
            Cover::Block { until } => start < until,
            Cover::Nothing => false,
        }
    }

    fn cover_run(&mut self, set: Charset, until: usize) {
        self.cover = Cover::Run { set, until };
        self.extend_run();
    }

    /// A run goes on as far as its characters do. Only a run at its very end may grow.
    fn extend_run(&mut self) {
        if let Cover::Run { set, until } = &mut self.cover {
            let rest = self.pending.get(*until..).unwrap_or_default();
            *until += set.run(rest, usize::MAX).len();
        }
    }

    /// Whether a shape may begin here. Escapes (`\n`) and colours (`\x1b[32m`) end in letters too.
    fn fits(&self, place: Place, start: usize) -> bool {
        let (before, last) = (self.pending[start - 2], self.pending[start - 1]);
        match place {
            Place::Anywhere => true,
            Place::WordStart => {
                let is_escape = before == b'\\';
                let is_colour =
                    last == b'm' && (before.is_ascii_digit() || b"[;".contains(&before));
                !last.is_ascii_alphanumeric() || is_escape || is_colour
            }
        }
    }

    /// Lets everything before `to` go out, or drops it where it is covered.
    fn release(&mut self, to: usize, out: &mut Vec<u8>) {
        let cover = match self.cover {
            Cover::Nothing => 0,
            Cover::Run { until, .. } | Cover::Block { until } => until,
        };
        let covered = cover.max(self.known_until).min(to);
        if covered > self.at {
            if self.edge == Edge::Text {
                out.extend_from_slice(REDACTED);
                self.edge = Edge::Mark;
            }
            self.at = covered;
        }
        if to > self.at {
            out.extend_from_slice(&self.pending[self.at..to]);
            self.edge = Edge::Text;
            self.at = to;
        }
    }

    /// Drops what has gone out, but for the history.
    fn forget(&mut self) {
        let gone = self.at - HISTORY_BYTES;
        self.pending.drain(..gone);
        self.at = HISTORY_BYTES;
        self.known_until = self.known_until.saturating_sub(gone);
        match &mut self.cover {
            Cover::Nothing => {}
            // A run that ended before what is left can never grow again.
            Cover::Run { until, .. } | Cover::Block { until } if *until < self.at + gone => {
                self.cover = Cover::Nothing;
            }
            Cover::Run { until, .. } | Cover::Block { until } => *until -= gone,
        }
    }
}

#[cfg(test)]
mod tests;
