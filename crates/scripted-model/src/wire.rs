//! The formats that a model server speaks: one file each, found by the path of a request.

mod anthropic;
pub(crate) mod format;

use format::{Format, Purpose};

/// All formats.
const FORMATS: &[&dyn Format] = &[&anthropic::Messages];

/// The format that a path below the key belongs to.
pub(crate) fn format_of(path: &str) -> Option<(&'static dyn Format, Purpose)> {
    FORMATS.iter().find_map(|format| format.purpose(path).map(|purpose| (*format, purpose)))
}
