//! Interrupts and hang-ups: from the operating system, or forwarded by a user interface that owns
//! signal handling.

use std::{
    io::{Read as _, Write as _},
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag::register_conditional_default,
};

use crate::Error;

/// The signals of a person at the terminal.
pub struct Signals {
    pub interrupts: UnixStream,
    pub hang_ups: UnixStream,
    pub n_interrupts: u32,
    /// Whether signals end the process, as if nobody listened.
    ends_process: Arc<AtomicBool>,
}

impl Signals {
    /// From now on, Ctrl-C and the like are read by the loop.
    pub fn listen() -> Result<Self, Error> {
        let ends_process = Arc::new(AtomicBool::new(false));
        let pair = |signals: &[i32]| -> std::io::Result<UnixStream> {
            let (reader, writer) = UnixStream::pair()?;
            reader.set_nonblocking(true)?;
            for signal in signals {
                register_conditional_default(*signal, Arc::clone(&ends_process))?;
                signal_hook::low_level::pipe::register(*signal, writer.try_clone()?)?;
            }
            Ok(reader)
        };
        let listen = || Ok((pair(&[SIGINT, SIGTERM])?, pair(&[SIGHUP])?));
        let (interrupts, hang_ups) = listen().map_err(|error: std::io::Error| {
            Error::surroundings(format!("cannot listen for signals: {error}"), "forge doctor")
        })?;
        Ok(Self { interrupts, hang_ups, n_interrupts: 0, ends_process })
    }

    /// Does something during which nobody listens: a person at a prompt ends the process with Ctrl-C.
    pub fn while_unheard<T>(&self, work: impl FnOnce() -> T) -> T {
        self.ends_process.store(true, Ordering::SeqCst);
        let done = work();
        self.ends_process.store(false, Ordering::SeqCst);
        done
    }
}

/// Passes signals on to a driver, for an interface that catches them itself.
pub struct SignalSender {
    pub interrupts: UnixStream,
    pub hang_ups: UnixStream,
}

impl SignalSender {
    /// As if Ctrl-C was pressed: the first one interrupts, the second one stops.
    pub fn interrupt(&self) {
        send_byte(&self.interrupts);
    }

    /// As if the terminal was closed: the driver lets go, and calls go on under their keepers.
    pub fn hang_up(&self) {
        send_byte(&self.hang_ups);
    }
}

/// Sends one signal, unless the driver is gone.
fn send_byte(mut stream: &UnixStream) {
    let _has_gone = stream.write_all(&[1]);
}

impl Signals {
    /// Signals that an interface passes on. The process itself is not listened to.
    pub fn channel() -> Result<(Self, SignalSender), Error> {
        let pairs = || -> std::io::Result<_> {
            let (interrupts, hang_ups) = (UnixStream::pair()?, UnixStream::pair()?);
            interrupts.0.set_nonblocking(true)?;
            hang_ups.0.set_nonblocking(true)?;
            Ok((interrupts, hang_ups))
        };
        let (interrupts, hang_ups) = pairs().map_err(|error| {
            Error::surroundings(format!("signals cannot be passed on: {error}"), "forge doctor")
        })?;
        let sender = SignalSender { interrupts: interrupts.1, hang_ups: hang_ups.1 };
        let ends_process = Arc::default();
        let (interrupts, hang_ups) = (interrupts.0, hang_ups.0);
        Ok((Self { interrupts, hang_ups, n_interrupts: 0, ends_process }, sender))
    }

    /// Poll these for reading to hear of it.
    pub fn files(&self) -> [BorrowedFd<'_>; 2] {
        [self.interrupts.as_fd(), self.hang_ups.as_fd()]
    }

    /// How many signals came since somebody last asked.
    pub fn new_signals(&mut self) -> u32 {
        let new = drain(&mut self.interrupts) + drain(&mut self.hang_ups);
        self.n_interrupts += new;
        new
    }

    /// Whether a person wants us to end, from their first signal on.
    pub fn want_an_end(&mut self) -> bool {
        self.new_signals();
        self.n_interrupts > 0
    }
}

pub fn drain(stream: &mut UnixStream) -> u32 {
    let mut bytes = [0_u8; 64];
    match stream.read(&mut bytes) {
        Ok(n) => u32::try_from(n).unwrap_or(u32::MAX),
        Err(_) => 0,
    }
}
