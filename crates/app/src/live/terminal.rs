//! The terminal in raw mode: keys arrive one by one, and every exit restores it.
//!
//! Ctrl-C and Ctrl-Z stay signals, with their usual meaning; they are handled in `signals.rs`.
//!
//! Invariant: every exit, by return, panic or suspension, restores the terminal first.

use std::{
    io::{self, Write as _},
    sync::Mutex,
};

use forge_api::Error;
use rustix::termios::{
    self, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios,
};

use super::{
    line::ScreenSize,
    terminal_features::{NO_PROGRESS, ProgressBar, TerminalFeatures},
};

/// Enters the alternate screen: no cursor, no line wrapping, bracketed paste; keeps the title of the window.
pub(crate) const ENTER: &str = "\x1b[22;0t\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J";
/// Undoes `ENTER`. A terminal that cannot restore the title has an empty one.
pub(crate) const LEAVE: &str =
    "\x1b[?2004l\x1b[?7h\x1b[0m\x1b[?25h\x1b[?1049l\x1b]2;\x1b\\\x1b[23;0t";
/// The terminal's settings before raw mode. `None` outside of it.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The size of a terminal that does not report one.
const SIZE_DEFAULT: ScreenSize = ScreenSize { width: 80, height: 24 };

/// A guard: raw mode lasts as long as this lives.
pub(crate) struct RawTerminal;

impl RawTerminal {
    /// Enters raw mode and the alternate screen.
    pub(crate) fn enter() -> Result<Self, Error> {
        let failed = |error: io::Error| {
            Error::surroundings(format!("the terminal cannot be set: {error}"), "add --plain")
        };
        let before = termios::tcgetattr(io::stdin()).map_err(|error| failed(error.into()))?;
        *lock() = Some(before.clone());
        let mut raw = before;
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &raw)
            .map_err(|error| failed(error.into()))?;
        write(ENTER.as_bytes());
        Ok(Self)
    }

    /// Returns the current size.
    pub(crate) fn size() -> ScreenSize {
        let Ok(size) = termios::tcgetwinsize(io::stdout()) else { return SIZE_DEFAULT };
        match (usize::from(size.ws_col), usize::from(size.ws_row)) {
            (0, _) | (_, 0) => SIZE_DEFAULT,
            (width, height) => ScreenSize { width, height },
        }
    }

    /// Returns true if this process is in the foreground of the terminal and may write to it.
    pub(crate) fn is_foreground() -> bool {
        termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal, if it is in raw mode. Also called on a panic.
pub(crate) fn restore() {
    if let Some(before) = lock().take() {
        match TerminalFeatures::detect().progress_bar {
            ProgressBar::Supported => write(NO_PROGRESS.as_bytes()),
            ProgressBar::Unsupported => {}
        }
        write(LEAVE.as_bytes());
        let _gone = termios::tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

/// Drops what was typed and not read yet.
pub(crate) fn discard_input() {
    let _gone = termios::tcflush(io::stdin(), QueueSelector::IFlush);
}

/// Writes to the terminal. Its loss is reported by a signal.
pub(crate) fn write(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    let _gone = out.write_all(bytes).and_then(|()| out.flush());
}

fn lock() -> std::sync::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
