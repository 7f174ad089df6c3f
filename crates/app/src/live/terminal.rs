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
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use super::{
    line::ScreenSize,
    painter::{ENTER, LEAVE},
};

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
        write(ENTER);
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
        write(LEAVE);
        let _gone = termios::tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

/// Writes to the terminal. Its loss is reported by a signal.
pub(crate) fn write(text: &str) {
    let mut out = io::stdout().lock();
    let _gone = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn lock() -> std::sync::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
