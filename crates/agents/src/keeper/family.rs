//! Everybody below the keeper: signalling, reaping, and making sure that nobody is left.
//!
//! The keeper is a subreaper, so a process which forks away from its parents becomes our child:
//! setsid, nohup and double forks lead nowhere.
//!
//! Invariant: `kill_everybody` ends, even below a fork bomb or an unkillable process.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions, WaitStatus, wait};

use super::complain;
use crate::{processes, sweep};

/// A process that survives this long after being killed hangs in the kernel.
const KILLING_TIME_MAX: Duration = Duration::from_secs(10);

/// What reaping found.
pub(super) enum Reaped {
    /// The main child is among those who ended.
    Main(WaitStatus),
    /// Others are still there.
    Others,
    /// There is nobody below us.
    Nobody,
}

/// Reaps everybody who has ended, without waiting.
pub(super) fn reap(main: Option<i32>) -> io::Result<Reaped> {
    let mut status_of_main = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if Some(pid.as_raw_nonzero().get()) == main => {
                status_of_main = Some(status);
            }
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Ok(status_of_main.map_or(Reaped::Others, Reaped::Main)),
            Err(rustix::io::Errno::CHILD) => {
                return Ok(status_of_main.map_or(Reaped::Nobody, Reaped::Main));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Signals everybody below us once.
pub(super) fn signal_everybody(signal: Signal) -> io::Result<()> {
    for process in sweep::descendants(processes::own_pid())? {
        processes::signal(&process, signal);
    }
    Ok(())
}

/// Kills and reaps until nobody is left, and says how many it killed. `pause` waits for a moment.
pub(super) fn kill_everybody(mut pause: impl FnMut()) -> io::Result<u32> {
    let until = Instant::now() + KILLING_TIME_MAX;
    let mut killed = HashSet::new();
    while !matches!(reap(None)?, Reaped::Nobody) {
        for process in sweep::descendants(processes::own_pid())? {
            if processes::signal(&process, Signal::KILL).is_some() {
                killed.insert((process.pid, process.start));
            }
        }
        if Instant::now() >= until {
            complain("some processes of this attempt cannot be killed");
            break;
        }
        pause();
    }
    Ok(u32::try_from(killed.len()).unwrap_or(u32::MAX))
}
