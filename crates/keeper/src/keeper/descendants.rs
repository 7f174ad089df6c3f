//! Everybody below the keeper: signalling, reaping, and making sure that nobody is left.
//!
//! The keeper is a subreaper, so a process which forks away from its parents becomes our child:
//! setsid, nohup and double forks lead nowhere.
//!
//! Invariant: `kill_everybody` ends, even below a fork bomb or an unkillable process, and then says
//! how many are left.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions, WaitStatus, wait};

use super::log::Log;
use crate::attempt::sweep;
use crate::processes;

/// A process that survives this long after being killed hangs in the kernel.
const KILLING_TIME_MAX: Duration = Duration::from_secs(10);

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

pub(super) struct Killed {
    pub(super) killed: u32,
    /// Those whom the kernel could not kill.
    pub(super) left_over: u32,
}

/// Kills and reaps until nobody is left, or the time is up. `pause` waits for a moment.
pub(super) fn kill_everybody(log: &Log, pause: impl FnMut()) -> Killed {
    let mut killed = HashSet::new();
    let until = Instant::now() + KILLING_TIME_MAX;
    let left_over = keep_trying(log, until, || kill_once(&mut killed), pause);
    Killed { killed: u32::try_from(killed.len()).unwrap_or(u32::MAX), left_over }
}

/// Makes passes until one finds nobody, and says how many the last one found.
fn keep_trying(
    log: &Log,
    until: Instant,
    mut pass: impl FnMut() -> io::Result<u32>,
    mut pause: impl FnMut(),
) -> u32 {
    loop {
        let found = pass();
        if matches!(found, Ok(0)) {
            return 0;
        }
        if Instant::now() < until {
            pause();
            continue;
        }
        return match found {
            Ok(found) => {
                log.complain(&format!("{found} processes of this attempt cannot be killed"));
                found
            }
            Err(error) => {
                log.complain(&format!("cannot kill what is left: {error}"));
                // Who cannot be counted is there all the same.
                1
            }
        };
    }
}

/// Reaps the dead and kills the living, and says how many those were; at least one if there is
/// anybody at all.
fn kill_once(killed: &mut HashSet<(i32, u64)>) -> io::Result<u32> {
    if matches!(reap(None)?, Reaped::Nobody) {
        return Ok(0);
    }
    let living = sweep::descendants(processes::own_pid())?;
    for process in &living {
        if processes::signal(process, Signal::KILL).is_some() {
            killed.insert((process.pid, process.start));
        }
    }
    Ok(u32::try_from(living.len()).unwrap_or(u32::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_outlives_the_killing_is_counted_and_not_hidden() {
        let log = Log::silent();
        let now = Instant::now();
        let soon = now + Duration::from_secs(600);
        let mut rests = 0;
        let mut passes = [Ok(2), Err(io::ErrorKind::Other.into()), Ok(1), Ok(0)].into_iter();
        assert_eq!(keep_trying(&log, soon, || passes.next().unwrap(), || rests += 1), 0);
        assert_eq!(rests, 3, "it is tried again as long as there is time");
        assert_eq!(keep_trying(&log, now, || Ok(2), || {}), 2);
        assert_eq!(keep_trying(&log, now, || Err(io::ErrorKind::Other.into()), || {}), 1);
        assert_eq!(keep_trying(&log, now, || Ok(0), || {}), 0);
    }
}
