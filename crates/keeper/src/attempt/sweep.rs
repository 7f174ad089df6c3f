//! Finds what an attempt left running, and who runs inside of one.
//!
//! A living keeper needs none of this but [`descendants`]: it adopts every orphan below it. The
//! rest is for the time after a keeper was killed, when its orphans belong to somebody else and
//! only the marker in their environment still tells where they came from.
//!
//! Not found by [`sweep`]: an orphan which wiped its environment *and* lost every marked ancestor. A driver that
//! is alive has adopted it, and finds it with [`sweep_adopted`].
//!
//! Invariant: the caller and its ancestors are never signalled.
//! Invariant: a keeper is never signalled while it holds the claim, or may still come to hold it.
//! Invariant: nobody is signalled by pid alone, so a reused pid is safe.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use crate::attempt::claim::{self, Claim};
use crate::attempt::dir::AttemptFolder;
use crate::processes::{self, Life, Marker, Process};
use crate::variables::{ATTEMPT_DIR_VARIABLE, KEEP, MARK_VARIABLE};

/// After this many passes something starts processes faster than we can kill them.
const PASSES_MAX: usize = 1_000;
/// This many passes in a row must find nobody.
const CLEAN_PASSES: usize = 2;
/// How long one pass waits for the killed to be gone.
const DYING_TIME_MAX: Duration = Duration::from_secs(1);

/// What a sweep did. There is one only if nobody is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swept {
    /// How many processes were killed.
    pub killed: u32,
}

/// Kills every process marked with this attempt, and everybody below them, until nobody is left.
pub fn sweep(marker: &Path) -> io::Result<Swept> {
    let what = || format!("processes of `{}`", marker.display());
    kill_until_nobody_is_found(|| of_attempt(marker), what)
}

/// Kills every process marked with this attempt, and everybody below them, once, and does not wait for their end.
pub fn kill_marked(marker: &Path) -> io::Result<()> {
    for process in of_attempt(marker)? {
        let _it_may_be_gone = processes::signal(&process, Signal::KILL);
    }
    Ok(())
}

/// Kills what keepers that died have left to this process, which started them and adopts orphans: its children in
/// other sessions than its own, and everybody below them. The keepers that it has are spared, and what it started
/// of its own program with that argument.
pub fn sweep_adopted(keepers: &[i32], spared: &str) -> io::Result<Swept> {
    let own = processes::process(processes::own_pid());
    let own = own.ok_or_else(|| io::Error::other("`/proc` does not show our own process"))?;
    let adopted = || {
        let table = processes::all()?;
        let is_adopted = |process: &&Process| {
            process.parent == own.pid
                && process.session != own.session
                && !keepers.contains(&process.pid)
                && !is_run_as(process.pid, spared)
        };
        let mut found: Vec<Process> = table.iter().filter(is_adopted).copied().collect();
        let roots: Vec<i32> = found.iter().map(|process| process.pid).collect();
        found.extend(processes::below(&table, &roots));
        for process in found.iter().filter(|process| process.life == Life::Zombie) {
            // Only we can reap it, and nobody else asks for it.
            let pid = Pid::from_raw(process.pid).filter(|_| process.parent == own.pid);
            let _ = pid.map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
        }
        found.retain(|process| process.life == Life::Alive);
        Ok(found)
    };
    kill_until_nobody_is_found(adopted, || "processes of killed keepers".to_owned())
}

fn kill_until_nobody_is_found(
    mut find: impl FnMut() -> io::Result<Vec<Process>>,
    what: impl Fn() -> String,
) -> io::Result<Swept> {
    let mut killed = HashSet::new();
    let mut clean_passes = 0;
    for _ in 0..PASSES_MAX {
        let found = find()?;
        if found.is_empty() {
            clean_passes += 1;
            if clean_passes == CLEAN_PASSES {
                return Ok(Swept { killed: u32::try_from(killed.len()).unwrap_or(u32::MAX) });
            }
            continue;
        }
        clean_passes = 0;
        let handles: Vec<OwnedFd> =
            found.iter().filter_map(|process| processes::signal(process, Signal::KILL)).collect();
        killed.extend(found.iter().map(|process| (process.pid, process.start)));
        wait_for_all(&handles)?;
    }
    let message = format!("{} are still alive", what());
    Err(io::Error::new(io::ErrorKind::TimedOut, message))
}

/// Everybody alive below `pid`.
pub(crate) fn descendants(pid: i32) -> io::Result<Vec<Process>> {
    let mut found = processes::below(&processes::all()?, &[pid]);
    found.retain(|process| process.life == Life::Alive);
    Ok(found)
}

fn of_attempt(marker: &Path) -> io::Result<Vec<Process>> {
    let own = processes::own_pid();
    let mut spared: HashSet<i32> = processes::ancestors(own).into_iter().collect();
    spared.insert(own);
    // Before the processes: a keeper that ends in between is gone, and not one that lost.
    let may_have_a_keeper = may_have_a_keeper(marker)?;
    let table = processes::all()?;
    let mut found = marked(&table, marker);
    let roots: Vec<i32> = found.iter().map(|process| process.pid).collect();
    if may_have_a_keeper {
        spared.extend(roots.iter().copied().filter(|&pid| is_keeper(pid)));
        // What ended since it was found no longer says whether it was a keeper.
        found.retain(|process| processes::is_marked(process.pid, marker));
    }
    found.extend(processes::below(&table, &roots));
    found.retain(|process| process.life == Life::Alive && !spared.contains(&process.pid));
    Ok(found)
}

/// A claim that is void or abandoned stays so, and then a keeper that is still there has lost.
fn may_have_a_keeper(marker: &Path) -> io::Result<bool> {
    Ok(match claim::read(&AttemptFolder::at(marker).claim())? {
        Claim::Nobodys | Claim::Held(_) => true,
        Claim::Void | Claim::Abandoned => false,
    })
}

/// Whether a keeper of this attempt is running, whatever its claim says. An agent can make itself
/// look like one, but only while it lives.
pub(crate) fn has_keeper(marker: &Path) -> io::Result<bool> {
    Ok(marked(&processes::all()?, marker).iter().any(|process| is_keeper(process.pid)))
}

fn marked(table: &[Process], marker: &Path) -> Vec<Process> {
    let is_of_attempt = |process: &&Process| {
        process.life == Life::Alive && processes::is_marked(process.pid, marker)
    };
    table.iter().filter(is_of_attempt).copied().collect()
}

fn wait_for_all(handles: &[OwnedFd]) -> io::Result<()> {
    let until = Instant::now() + DYING_TIME_MAX;
    for handle in handles {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).expect("a second fits into a timespec");
        match poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The attempt which the calling process is part of, if it is part of one.
///
/// An agent may unset the variable; its ancestors still tell.
pub fn inside_attempt() -> Option<String> {
    for name in [ATTEMPT_DIR_VARIABLE, MARK_VARIABLE] {
        if let Some(value) = std::env::var_os(name) {
            return Some(value.to_string_lossy().into_owned());
        }
    }
    let ancestors = processes::ancestors(processes::own_pid());
    ancestors.into_iter().find_map(attempt_named_by)
}

/// The attempt that a process is the keeper of, or is marked with.
pub(crate) fn attempt_named_by(pid: i32) -> Option<String> {
    kept_folder(pid).or_else(|| marked_folder(pid))
}

/// Whether a process runs our own program as a keeper, by its argument 1.
pub(crate) fn is_keeper(pid: i32) -> bool {
    is_run_as(pid, KEEP)
}

/// Whether that is argument 1 of a process.
fn is_run_as(pid: i32, argument: &str) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    command.split(|&byte| byte == 0).nth(1) == Some(argument.as_bytes())
}

fn marked_folder(pid: i32) -> Option<String> {
    let (Marker::Mark(name) | Marker::Folder(name)) = processes::marker(pid)?;
    Some(String::from_utf8_lossy(&name).into_owned())
}

/// The folder of a keeper: a process of our own program, or of a copy of it, whose argument 1 says so.
fn kept_folder(pid: i32) -> Option<String> {
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut arguments = command.split(|&byte| byte == 0).skip(1);
    if arguments.next()? != KEEP.as_bytes() {
        return None;
    }
    let folder = Path::new(std::ffi::OsStr::from_bytes(arguments.next()?));
    let own = fs::metadata("/proc/self/exe").ok()?;
    // In a user namespace of one's own it cannot be read, and then the argument is enough.
    let is_same = fs::metadata(format!("/proc/{pid}/exe"))
        .map_or(true, |theirs| (theirs.dev(), theirs.ino()) == (own.dev(), own.ino()));
    (is_same || processes::is_marked(pid, folder)).then(|| folder.to_string_lossy().into_owned())
}
