//! `summary.md`: what a run came to, as one text for people.
//!
//! The facts are put together by `core::view::summary`.

use forge_core::{
    Run, Time,
    view::{sanitize, summary},
};

/// Its name, in the live folder and in the last commit.
pub const SUMMARY: &str = "summary.md";

/// The summary of a run at a moment.
pub fn text(id: &str, run: &Run, at: Time) -> String {
    sanitize(&summary::markdown(&summary::summarize(id, run, at)))
}
