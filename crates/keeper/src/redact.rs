//! Takes secrets out of a stream of bytes, and says where they are in a text.
//!
//! Start with [`Redactor`] and [`Finder`]; `known_values` says how known values may look, `token_patterns`
//! what tokens look like, `named_values` what is known by its name, and `candidates` puts them together.
//! `private_key` reads private keys, and `json_line` says what of a covered stretch must stay.
//!
//! Not here: encrypted, compressed or otherwise disguised secrets, and base64 that is broken into
//! lines. This is a net, not a wall.
//!
//! Invariant: what comes out does not depend on how the input was cut into pieces.
//! Invariant: what is held back is shorter than the longest known form or than `WINDOW_BYTES`, and is
//! never a line that is over, unless a known form has a line end or a private key is being read.
//! Invariant: text without secrets comes out as it went in.
//! Invariant: a line of JSON stays one.

mod base64;
mod candidates;
mod files;
mod json_line;
mod known_values;
mod named_values;
mod private_key;
mod redactor;
mod token_patterns;

pub(crate) use files::clean_file;
pub use json_line::REDACTED;
pub use known_values::{known_secrets, secrets_in_file};
pub(crate) use known_values::{packed, unpacked};
pub use redactor::{Finder, Redactor, SecretMatch, find};
