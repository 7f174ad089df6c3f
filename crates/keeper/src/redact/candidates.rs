//! What may begin at a place of the text: a known value, or one of the things that look like a
//! secret. The finder looks for all of their beginnings at once.
//!
//! Invariant: what is said of the beginning of a text is never taken back when there is more.

use super::{
    base64,
    named_values::{self as told, ADDRESSES, BASICS, BEARERS, NAMES, NamedValue},
    token_patterns::{
        Charset, Covers, Decision, HOLD_BYTES_MAX, KEY_BLOCK, KEY_BLOCK_BEGIN, PatternStart,
        SHAPES, Shape, block_kind_len, is_key_block,
    },
};

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
    BlockBegin,
    /// The beginning of a block in base64 behind so many unknown bytes.
    EncodedBlock(usize),
    /// A name of this length that tells.
    Name(usize),
    Bearer(usize),
    Basic(usize),
    Address(usize),
}

/// What a lead has led to. Places are relative to the hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CandidateResult {
    /// A secret, which goes on as far as the characters are of the set.
    Secret {
        from: usize,
        until: usize,
        set: Option<Charset>,
        family: &'static str,
    },
    /// A block begins here; its header is so long without the dashes behind it.
    Block {
        header: usize,
    },
    Text,
    /// More of it must be seen.
    Open,
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
    all.push((KEY_BLOCK_BEGIN.to_vec(), Candidate::BlockBegin));
    for (shift, form) in encoded(KEY_BLOCK_BEGIN) {
        all.push((form, Candidate::EncodedBlock(shift)));
    }
    let mut add = |words: &[&str], lead: fn(usize) -> Candidate| {
        all.extend(words.iter().map(|word| (word.as_bytes().to_vec(), lead(word.len()))));
    };
    add(NAMES, Candidate::Name);
    add(BEARERS, Candidate::Bearer);
    add(BASICS, Candidate::Basic);
    add(ADDRESSES, Candidate::Address);
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
    /// The characters that its secret is made of, if it begins at the hit and can grow.
    pub(super) fn set(self) -> Option<Charset> {
        match self {
            Self::Shape(shape) => match shape.covers {
                Covers::All => Some(shape.set),
                Covers::Run => None,
            },
            Self::EncodedShape(..) | Self::EncodedBlock(_) => Some(Charset::Wide),
            Self::Known(_)
            | Self::BlockBegin
            | Self::Name(_)
            | Self::Bearer(_)
            | Self::Basic(_)
            | Self::Address(_) => None,
        }
    }

    /// Where it may begin.
    pub(super) fn place(self) -> PatternStart {
        match self {
            Self::Shape(shape) => shape.place,
            Self::Known(_)
            | Self::EncodedShape(..)
            | Self::BlockBegin
            | Self::EncodedBlock(_)
            | Self::Name(_)
            | Self::Bearer(_)
            | Self::Basic(_)
            | Self::Address(_) => PatternStart::Anywhere,
        }
    }

    /// What it leads to. `text` begins with the hit; `is_over` says that no more will come.
    pub(super) fn follow(self, text: &[u8], is_over: bool) -> CandidateResult {
        let told = |len: usize, told: NamedValue, family, set| match told {
            NamedValue::Secret { from, until } => {
                CandidateResult::Secret { from: len + from, until: len + until, set, family }
            }
            NamedValue::Text => CandidateResult::Text,
            NamedValue::Open => CandidateResult::Open,
        };
        match self {
            Self::Known(until) => {
                CandidateResult::Secret { from: 0, until, set: None, family: KNOWN }
            }
            Self::Shape(shape) => follow_shape(shape, text, is_over),
            Self::EncodedShape(..) | Self::EncodedBlock(_) => self.follow_encoded(text, is_over),
            Self::BlockBegin => {
                let header = &text[KEY_BLOCK_BEGIN.len()..];
                match is_key_block(header, is_over) {
                    Decision::Secret => CandidateResult::Block {
                        header: KEY_BLOCK_BEGIN.len() + block_kind_len(header),
                    },
                    Decision::Text => CandidateResult::Text,
                    Decision::Open => CandidateResult::Open,
                }
            }
            Self::Name(len) => {
                let set = Some(Charset::Value);
                told(len, told::named(&text[len..], is_over), "a secret value", set)
            }
            Self::Bearer(len) => {
                let set = Some(Charset::Wide);
                told(len, told::bearer(&text[len..], is_over), "a bearer token", set)
            }
            Self::Basic(len) => {
                let set = Some(Charset::Wide);
                told(len, told::basic(&text[len..], is_over), "a name with its password", set)
            }
            Self::Address(len) => {
                let family = "an address with a password";
                told(len, told::address(&text[len..], is_over), family, None)
            }
        }
    }

    fn follow_encoded(self, text: &[u8], is_over: bool) -> CandidateResult {
        let run = Charset::Wide.run(text, HOLD_BYTES_MAX);
        let is_whole = is_over || run.len() < text.len() || run.len() == HOLD_BYTES_MAX;
        if !is_whole {
            return CandidateResult::Open;
        }
        let (is_secret, family) = match self {
            Self::EncodedShape(shape, shift) => {
                let plain = base64::decoded_inside(run, shift);
                let body = plain.strip_prefix(&shape.prefix[1..]);
                let is_it = body.is_some_and(|body| {
                    let body = shape.set.run(body, HOLD_BYTES_MAX);
                    shape.decide(body, true) == Decision::Secret
                });
                (is_it, shape.family)
            }
            Self::EncodedBlock(shift) => {
                let plain = base64::decoded_inside(run, shift);
                let header = plain.strip_prefix(&KEY_BLOCK_BEGIN[1..]);
                let is_it =
                    header.is_some_and(|header| is_key_block(header, true) == Decision::Secret);
                (is_it, KEY_BLOCK)
            }
            Self::Known(_)
            | Self::Shape(_)
            | Self::BlockBegin
            | Self::Name(_)
            | Self::Bearer(_)
            | Self::Basic(_)
            | Self::Address(_) => (false, KNOWN),
        };
        let set = Some(Charset::Wide);
        if is_secret {
            CandidateResult::Secret { from: 0, until: run.len(), set, family }
        } else {
            CandidateResult::Text
        }
    }
}

fn follow_shape(shape: &Shape, text: &[u8], is_over: bool) -> CandidateResult {
    let prefix = shape.prefix.len();
    let run = shape.set.run(&text[prefix..], HOLD_BYTES_MAX);
    let is_full = run.len() == HOLD_BYTES_MAX;
    let is_whole = !is_full && (is_over || prefix + run.len() < text.len());
    let from = match shape.covers {
        Covers::All => 0,
        Covers::Run => prefix,
    };
    let secret = CandidateResult::Secret {
        from,
        until: prefix + run.len(),
        set: Some(shape.set),
        family: shape.family,
    };
    match shape.decide(run, is_whole) {
        Decision::Secret => secret,
        // What is still undecided is held back no longer.
        Decision::Open if is_full => secret,
        Decision::Open => CandidateResult::Open,
        Decision::Text => CandidateResult::Text,
    }
}
