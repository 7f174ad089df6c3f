//! Signals as file descriptors, so that one poll waits for everything.
//!
//! Invariant: from `install` on, no terminal and no closed pipe can end this process.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGTERM};

/// The three signals a keeper hears.
pub(super) struct SignalPipes {
    /// Stop gently.
    pub(super) term: UnixStream,
    /// Stop at once.
    pub(super) int: UnixStream,
    /// Somebody below us ended.
    pub(super) child: UnixStream,
}

impl SignalPipes {
    pub(super) fn install() -> io::Result<Self> {
        for ignored in [SIGHUP, SIGPIPE] {
            signal_hook::flag::register(ignored, Arc::new(AtomicBool::new(false)))?;
        }
        Ok(Self { term: listen(SIGTERM)?, int: listen(SIGINT)?, child: listen(SIGCHLD)? })
    }
}

fn listen(signal: i32) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(signal, theirs)?;
    Ok(ours)
}

/// Whether the signal came since the last time this was asked.
pub(super) fn came(mut stream: &UnixStream) -> bool {
    let mut bytes = [0; 64];
    let mut is_here = false;
    while matches!(stream.read(&mut bytes), Ok(1..)) {
        is_here = true;
    }
    is_here
}
