//! The title of the window and the progress bar of the terminal.

use forge_api::follow::RunSnapshot;
use forge_core::view::Course;

use super::totals::stages;
use crate::{format, text::state_words::DrivenBy};

/// Title and progress of a run, which a terminal shows outside of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WindowState {
    pub(crate) title: String,
    pub(crate) progress: ProgressState,
}

/// The state of the progress bar; numbers are percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProgressState {
    #[default]
    None,
    Running(u8),
    Failed(u8),
    /// A person is waited for.
    Waiting(u8),
}

/// Returns the title and the progress of a run.
pub(crate) fn window_state(snapshot: &RunSnapshot, driven_by: DrivenBy) -> WindowState {
    let row = &snapshot.view.row;
    let (done, all) = stages(snapshot);
    let percent = u8::try_from(done * 100 / all.max(1)).unwrap_or(100);
    let is_alone = driven_by.is_missing(snapshot);
    let word = if is_alone { "not running" } else { row.standing.label() };
    let progress = match row.standing.course() {
        Course::Driven if !is_alone => ProgressState::Running(percent),
        Course::Driven | Course::Asking | Course::Held => ProgressState::Waiting(percent),
        Course::Failed => ProgressState::Failed(percent),
        Course::Over => ProgressState::None,
    };
    let run = format::short_id(&row.run);
    WindowState { title: format!("forge {run}: {word}, {done}/{all} stages"), progress }
}
