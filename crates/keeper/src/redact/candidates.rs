//! What may begin at a place of the text: a known value, or one of the things that look like a
//! secret. The finder looks for all of their beginnings at once.
//!
//! Invariant: a candidate is decided by the rest of its line, and by no more than [`WINDOW_BYTES`].

use super::{
    base64,
    named_values::{INTRODUCTIONS, Introduction},
    private_key::{HEADER_BEGIN, KEY_FAMILY, header_len},
    token_patterns::{Charset, Covers, HOLD_BYTES_MAX, PatternStart, SHAPES, Shape},
};

/// Nothing that is looked at behind the beginning of a candidate is further away, in bytes.
pub(super) const WINDOW_BYTES: usize = 704;

/// The family of values that were told to us.
const KNOWN: &str = "a known secret";

/// A secret that a hit may be the beginning of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Candidate {
    /// A known form of this length.
    Known(usize),
    Shape(&'static Shape),
    /// A shape in base64 behind so many unknown bytes.
    EncodedShape(&'static Shape, usize),
    KeyHeader,
    /// The header of a private key in base64 behind so many unknown bytes.
    EncodedKeyHeader(usize),
    /// A word of this length.
    Introduced(&'static Introduction, usize),
}

/// A stretch of text that is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cover {
    pub(super) from: usize,
    pub(super) until: usize,
    /// It goes on as far as the characters are of this set.
    pub(super) set: Option<Charset>,
    pub(super) family: &'static str,
}

/// All beginnings that are the same for everybody.
pub(super) fn fixed() -> Vec<(Vec<u8>, Candidate)> {
    let mut all: Vec<(Vec<u8>, Candidate)> = Vec::new();
    for shape in SHAPES {
        all.push((shape.prefix.to_vec(), Candidate::Shape(shape)));
        for (shift, form) in encoded(shape.prefix) {
            all.push((form, Candidate::EncodedShape(shape, shift)));
        }
    }
    all.push((HEADER_BEGIN.to_vec(), Candidate::KeyHeader));
    for (shift, form) in encoded(HEADER_BEGIN) {
        all.push((form, Candidate::EncodedKeyHeader(shift)));
    }
    for introduction in INTRODUCTIONS {
        all.extend(introduction.words.iter().map(|word| {
            (word.as_bytes().to_vec(), Candidate::Introduced(introduction, word.len()))
        }));
    }
    all
}

/// How a prefix looks in base64 at each alignment. What would be too short to tell anything is left
/// out.
fn encoded(prefix: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    const FORM_BYTES_MIN: usize = 3;
    let form = |shift| (shift, base64::encoded(prefix, shift, base64::STANDARD).inside);
    (0..3).map(form).filter(|(_, form)| form.len() >= FORM_BYTES_MIN)
}

impl Candidate {
    /// Whether it is one whatever stands behind it.
    pub(super) fn is_known(self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// The characters that its secret is made of, if it begins at the hit and can grow.
    pub(super) fn set(self) -> Option<Charset> {
        match self {
            Self::Shape(shape) => (shape.covers == Covers::All).then_some(shape.set),
            Self::EncodedShape(..) | Self::EncodedKeyHeader(_) => Some(Charset::Wide),
            Self::Known(_) | Self::KeyHeader | Self::Introduced(..) => None,
        }
    }

    /// Where it may begin.
    pub(super) fn place(self) -> PatternStart {
        if let Self::Shape(shape) = self { shape.place } else { PatternStart::Anywhere }
    }

    /// What must be covered, if it is a secret. `text` begins with the hit, and so do the places in
    /// the cover.
    pub(super) fn follow(self, text: &[u8]) -> Option<Cover> {
        let (from, until, set, family) = match self {
            Self::Known(len) => (0, len, None, KNOWN),
            Self::Shape(shape) => {
                let prefix = shape.prefix.len();
                let run = shape.set.run(&text[prefix..], HOLD_BYTES_MAX);
                if !shape.is_secret(run) {
                    return None;
                }
                let from = if shape.covers == Covers::All { 0 } else { prefix };
                (from, prefix + run.len(), Some(shape.set), shape.family)
            }
            Self::EncodedShape(shape, shift) => {
                let run = Charset::Wide.run(text, HOLD_BYTES_MAX);
                let plain = base64::decoded_inside(run, shift);
                let body = plain.strip_prefix(&shape.prefix[1..])?;
                if !shape.is_secret(shape.set.run(body, HOLD_BYTES_MAX)) {
                    return None;
                }
                (0, run.len(), Some(Charset::Wide), shape.family)
            }
            Self::KeyHeader => (0, header_len(text)?, None, KEY_FAMILY),
            Self::EncodedKeyHeader(shift) => {
                let run = Charset::Wide.run(text, HOLD_BYTES_MAX);
                header_len(&base64::decoded_inside(run, shift))?;
                (0, run.len(), Some(Charset::Wide), KEY_FAMILY)
            }
            Self::Introduced(introduction, len) => {
                let found = (introduction.find)(&text[len..])?;
                let (set, family) = (introduction.set, introduction.family);
                (len + found.start, len + found.end, set, family)
            }
        };
        Some(Cover { from, until, set, family })
    }
}
