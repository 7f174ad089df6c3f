//! Texts that several commands and the live screen share.

pub(crate) mod question_text;
