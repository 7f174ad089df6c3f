//! The signals of a screen, in one place: Ctrl-C, the end of the terminal, Ctrl-Z and the way back, another size.
//!
//! Not here: what they mean. A driver in the same process is told by hand.

use std::{
    io::{self, Read as _},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use forge_api::Trouble;
use signal_hook::{
    SigId,
    consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH},
    low_level,
};

/// What a signal means to a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenSignal {
    /// Ctrl-C, or somebody wants us to end.
    Interrupt,
    /// The terminal is gone.
    HangUp,
    /// Ctrl-Z.
    Suspend,
    /// The terminal may be ours again, or has another size.
    Redraw,
}

/// All signals that a screen listens to, for as long as this lives.
pub(crate) struct ScreenSignals {
    streams: Vec<(ScreenSignal, UnixStream)>,
    ids: Vec<SigId>,
}

impl ScreenSignals {
    pub(crate) fn listen() -> Result<Self, Trouble> {
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
                Trouble::surroundings(format!("signals cannot be heard: {error}"), "forge doctor")
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

    /// Poll these for reading to hear of it.
    pub(crate) fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.streams.iter().map(|(_, stream)| stream.as_fd())
    }

    /// What was heard since the last time, once for each time that it was.
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
