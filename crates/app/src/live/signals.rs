//! The signals of a screen: Ctrl-C, loss of the terminal, Ctrl-Z and continuing, resizing.
//!
//! Not here: reactions to them. A driver in the same process gets them through a channel.

use std::{
    io::{self, Read as _},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use forge_api::Error;
use signal_hook::{
    SigId,
    consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH},
    low_level,
};

/// The meaning of a signal for a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenSignal {
    /// Ctrl-C or SIGTERM.
    Interrupt,
    /// The terminal is gone.
    HangUp,
    /// Ctrl-Z.
    Suspend,
    /// The process was continued, or the terminal was resized.
    Redraw,
}

/// The signal handlers of a screen; dropping them removes them.
pub(crate) struct ScreenSignals {
    streams: Vec<(ScreenSignal, UnixStream)>,
    ids: Vec<SigId>,
}

impl ScreenSignals {
    pub(crate) fn listen() -> Result<Self, Error> {
        let mut signals = Self { streams: Vec::new(), ids: Vec::new() };
        for (signal, means) in [
            (SIGINT, ScreenSignal::Interrupt),
            (SIGTERM, ScreenSignal::Interrupt),
            (SIGHUP, ScreenSignal::HangUp),
            (SIGTSTP, ScreenSignal::Suspend),
            (SIGCONT, ScreenSignal::Redraw),
            (SIGWINCH, ScreenSignal::Redraw),
        ] {
            signals.register(signal, means).map_err(|error| {
                Error::surroundings(format!("cannot listen for signals: {error}"), "forge doctor")
            })?;
        }
        Ok(signals)
    }

    fn register(&mut self, signal: i32, means: ScreenSignal) -> io::Result<()> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        self.ids.push(low_level::pipe::register(signal, writer)?);
        self.streams.push((means, reader));
        Ok(())
    }

    /// Returns the files that become readable when a signal arrives.
    pub(crate) fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.streams.iter().map(|(_, stream)| stream.as_fd())
    }

    /// Takes the signals that arrived since the last call.
    pub(crate) fn received(&mut self) -> Vec<ScreenSignal> {
        let mut received = Vec::new();
        for (means, stream) in &mut self.streams {
            let mut bytes = [0_u8; 16];
            let n = stream.read(&mut bytes).unwrap_or(0);
            received.extend(std::iter::repeat_n(*means, n));
        }
        received
    }
}

impl Drop for ScreenSignals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            low_level::unregister(id);
        }
    }
}
