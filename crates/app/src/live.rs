//! The live screen of a run: the tree of units, the streams of agents, and questions.
//!
//! - `screen.rs`: the loop; start there. `lifecycle.rs`: the driver, and when the screen closes. `screen_keys.rs`: what
//!   keys do.
//! - `header.rs`, `frame.rs`, `unit_rows.rs`, `totals.rs`, `question.rs`, `input_box.rs`, `unsent_text.rs`,
//!   `agent_stream.rs`, `window_state.rs`: what is shown. Pure.
//! - `line.rs`, `ansi.rs`, `painter.rs`, `terminal_features.rs`: styled lines, and writing them to the terminal.
//! - `terminal.rs`, `keys.rs`, `signals.rs`: raw mode and input.
//! - `driver_thread.rs`: a driver in this process.
//! - `external_program.rs`: the pager and the editor, which get the terminal for a while.
//!
//! The screen has the main thread and handles all signals. If this process drives the run, the driver has a thread of
//! its own and gets Ctrl-C through a channel. Answers are sent like those of any other user interface.
//!
//! Invariant: the screen decides nothing, and the run does not depend on it.
//! Invariant: only `q`, Ctrl-C, Ctrl-D and the end of the run leave the screen.

mod agent_stream;
mod ansi;
#[cfg(test)]
mod dialog_tests;
mod driver_thread;
mod external_program;
mod frame;
mod header;
mod input_box;
mod keys;
mod lifecycle;
mod line;
mod painter;
mod question;
#[cfg(test)]
mod replay_tests;
mod screen;
mod screen_keys;
mod signals;
mod status_message;
mod terminal;
mod terminal_features;
#[cfg(test)]
mod tests;
mod totals;
mod unit_rows;
mod unsent_text;
mod window_state;

pub(crate) use self::{
    frame::tree_text,
    screen::{OnSilence, ScreenExit, ScreenTask, is_supported, show, show_begun, show_with},
    terminal::restore,
    terminal_features::TerminalFeatures,
};
