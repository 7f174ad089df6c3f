//! The terminal in the hands of a screen: keys come one by one, and everything is as before on every way out.
//!
//! Ctrl-C and Ctrl-Z stay signals, so that they mean here what they mean everywhere; they are heard in `signals.rs`.
//!
//! Invariant: whoever leaves, by return, by panic or to be suspended, restores the terminal first.

use std::{
    io::{self, Write as _},
    sync::Mutex,
};

use forge_api::Trouble;
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use super::{
    line::ScreenSize,
    painter::{ENTER, LEAVE},
};

/// How the terminal was before a screen had it. Nothing, while no screen has it.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The size of a terminal that does not say how large it is.
const SIZE_DEFAULT: ScreenSize = ScreenSize { width: 80, height: 24 };

/// The terminal, for as long as this lives.
pub(crate) struct RawTerminal;

impl RawTerminal {
    /// Takes the terminal for a screen.
    pub(crate) fn enter() -> Result<Self, Trouble> {
        let failed = |error: io::Error| {
            Trouble::surroundings(format!("the terminal cannot be set: {error}"), "add --plain")
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

    /// How large it is now.
    pub(crate) fn size() -> ScreenSize {
        let Ok(size) = termios::tcgetwinsize(io::stdout()) else { return SIZE_DEFAULT };
        match (usize::from(size.ws_col), usize::from(size.ws_row)) {
            (0, _) | (_, 0) => SIZE_DEFAULT,
            (width, height) => ScreenSize { width, height },
        }
    }

    /// Whether this process may write to it: a shell may have put us into the background.
    pub(crate) fn is_foreground() -> bool {
        termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Makes the terminal what it was, if a screen has it. Also for a panic.
pub(crate) fn restore() {
    if let Some(before) = lock().take() {
        write(LEAVE);
        let _gone = termios::tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

/// Writes to the terminal. If it is gone, a signal says so.
pub(crate) fn write(text: &str) {
    let mut out = io::stdout().lock();
    let _gone = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn lock() -> std::sync::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
