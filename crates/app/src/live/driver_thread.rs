//! A driver in a thread of this process, for a screen that drives its run.

use std::{
    sync::mpsc::channel,
    thread::{self, JoinHandle},
};

use forge_api::{
    Error,
    forge::{Forge, RunOutcome, Takeover},
    signals::{SignalSender, Signals},
};
use forge_core::money::Money;

/// A running driver and the way to send it signals.
pub(crate) struct DriverThread {
    signals: SignalSender,
    thread: JoinHandle<Result<RunOutcome, Error>>,
}

impl DriverThread {
    /// Resumes a run in a new thread, and waits until the driver holds it or has failed.
    pub(crate) fn start(forge: &Forge, run: &str, budget: Option<Money>) -> Result<Self, Error> {
        let (mut receiver, signals) = Signals::channel()?;
        let forge = Forge { home: forge.home.clone() };
        let run = run.to_owned();
        let takeover = Takeover::Resume { budget };
        let (started, has_started) = channel();
        let thread = thread::spawn(move || {
            let mut on_start = |_: &str| {
                let _ignored = started.send(());
            };
            forge.resume_hearing(&run, takeover, &mut receiver, &mut on_start, &mut |_, _| {})
        });
        // Resuming would undo an answer that arrives before the driver holds the run; a question that was given up
        // would be asked again. If the driver cannot get the run, its thread ends.
        let _started = has_started.recv();
        Ok(Self { signals, thread })
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Forwards Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signals.interrupt();
    }

    /// Forwards the loss of the terminal: the driver exits, and running calls continue.
    pub(crate) fn hang_up(&self) {
        self.signals.hang_up();
    }

    /// Waits for the driver and returns its outcome. A panic of the driver continues here.
    pub(crate) fn join(self) -> Result<RunOutcome, Error> {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Makes the driver exit, whatever its outcome is.
    pub(crate) fn stop(self) {
        self.hang_up();
        let _outcome = self.thread.join();
    }
}
