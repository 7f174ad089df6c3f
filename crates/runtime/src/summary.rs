//! What a run came to, as one text for people: `summary.md`.
//!
//! The facts are put together by `core::view::summary`; here is only when and how doors get it.

use forge_core::{Run, Time, view::summary};

/// The summary of a run at a moment.
pub(crate) fn text(id: &str, run: &Run, at: Time) -> String {
    summary::markdown(&summary::of(id, run, at))
}
