//! What a run came to, as one text for people: `summary.md`.
//!
//! The facts are put together by `core::view`; here is only when and how doors get it.

use forge_core::{Run, Time, view::RunView};

/// The summary of a run at a moment.
pub(crate) fn text(id: &str, run: &Run, _at: Time) -> String {
    let view = RunView::of(id, run);
    format!("# {}\n\n{}\n", view.row.run, run.law().start.request)
}
