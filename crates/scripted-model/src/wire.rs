//! The formats that a model server speaks: one file each, found by the path of a request.

mod anthropic;
mod chat;
pub(crate) mod format;
mod gemini;
mod responses;

use format::{RequestPurpose, WireFormat};

/// All formats.
const FORMATS: &[&dyn WireFormat] = &[
    &anthropic::MessagesFormat,
    &responses::ResponsesFormat,
    &chat::ChatFormat,
    &gemini::GeminiFormat,
];

/// Returns the format that a path below the key belongs to.
pub(crate) fn format_for_path(path: &str) -> Option<(&'static dyn WireFormat, RequestPurpose)> {
    FORMATS.iter().find_map(|format| format.purpose(path).map(|purpose| (*format, purpose)))
}
