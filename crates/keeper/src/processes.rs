//! Reads processes from `/proc`, and signals them without ever hitting a reused pid.
//!
//! Not here: which processes should die. [`crate::attempt::sweep`] and [`crate::keeper`] know that.
//!
//! Invariant: a process is named by pid *and* start time; the pid alone names nobody.

use std::collections::HashSet;
use std::fmt::Display;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::hex::to_hex;
use crate::variables::{ATTEMPT_DIR_VARIABLE, MARK_VARIABLE};

/// More of an environment than this is not looked at. The kernel allows 6 MiB.
const ENVIRONMENT_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// No chain of parents is longer than this.
const ANCESTORS_MAX: usize = 4096;
/// So much of a hash tells two attempts apart.
const MARK_BYTES: usize = 16;

/// Namespaces in which a process can hide where it comes from.
pub(crate) const NAMESPACES: [&str; 2] = ["pid", "user"];

/// One line of the process table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// Clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub(crate) start: u64,
    pub(crate) life: Life,
}

/// Whether a process can still do anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Life {
    Alive,
    /// Ended, but not yet reaped.
    Zombie,
}

/// Reads one process. `None` if there is none of that pid (any more).
pub(crate) fn process(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&stat)
}

/// The name in parentheses may hold anything, also parentheses and spaces: the last one ends it.
fn parse_stat(text: &[u8]) -> Option<Process> {
    let open = text.iter().position(|&byte| byte == b'(')?;
    let close = text.iter().rposition(|&byte| byte == b')')?;
    let pid = std::str::from_utf8(&text[..open]).ok()?.trim().parse().ok()?;
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    // The fields after the name begin with field 3.
    let mut fields = rest.split_ascii_whitespace();
    let life = match fields.next()? {
        "Z" | "X" | "x" => Life::Zombie,
        _ => Life::Alive,
    };
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(6 - 5)?.parse().ok()?;
    let start = fields.nth(22 - 7)?.parse().ok()?;
    Some(Process { pid, parent, session, start, life })
}

/// Reads the whole process table. Processes which end meanwhile are left out.
pub(crate) fn all() -> io::Result<Vec<Process>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        if let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) {
            found.extend(process(pid));
        }
    }
    Ok(found)
}

/// Everybody below `roots` in `table`, roots left out.
pub(crate) fn below(table: &[Process], roots: &[i32]) -> Vec<Process> {
    let mut family: HashSet<i32> = roots.iter().copied().collect();
    let mut found: Vec<Process> = Vec::new();
    loop {
        let before = found.len();
        for process in table {
            if family.contains(&process.parent) && family.insert(process.pid) {
                found.push(*process);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The parents of `pid`, nearest first, up to init.
pub(crate) fn ancestors(pid: i32) -> Vec<i32> {
    let mut chain = Vec::new();
    let mut current = pid;
    while let Some(found) = process(current) {
        if found.parent == 0 || chain.len() == ANCESTORS_MAX {
            break;
        }
        chain.push(found.parent);
        current = found.parent;
    }
    chain
}

/// A handle on exactly this process. `None` if it has ended, or its pid means another one now.
pub(crate) fn open(pid: i32, start: u64) -> Option<OwnedFd> {
    let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    // Opened first, looked at second: if it is still the same one now, the handle is on it.
    (process(pid)?.start == start).then_some(handle)
}

/// Signals exactly this process. `None` if it was gone or may not be signalled by us.
pub(crate) fn signal(process: &Process, signal: Signal) -> Option<OwnedFd> {
    let handle = open(process.pid, process.start)?;
    pidfd_send_signal(&handle, signal).ok()?;
    Some(handle)
}

/// The pid of the calling process.
pub(crate) fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// What the environment of `pid` says about its attempt, if it says anything and if we may read it.
pub(crate) fn marker(pid: i32) -> Option<Marker> {
    let environment = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut environment = BufReader::new(environment.take(ENVIRONMENT_BYTES_MAX));
    let mut variable = Vec::new();
    loop {
        variable.clear();
        if environment.read_until(0, &mut variable).ok()? == 0 {
            return None;
        }
        let text = variable.strip_suffix(&[0]).unwrap_or(&variable);
        let value = |name: &str| text.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
        if let Some(mark) = value(MARK_VARIABLE) {
            return Some(Marker::Mark(mark.to_vec()));
        }
        if let Some(folder) = value(ATTEMPT_DIR_VARIABLE) {
            return Some(Marker::Folder(folder.to_vec()));
        }
    }
}

/// How an environment names an attempt.
pub(crate) enum Marker {
    Mark(Vec<u8>),
    /// By its folder, as an older Forge marked all of its processes.
    Folder(Vec<u8>),
}

/// The mark of the attempt in this folder.
pub(crate) fn mark(folder: &Path) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, folder.as_os_str().as_bytes());
    to_hex(&hash.as_ref()[..MARK_BYTES])
}

/// Whether the environment of `pid` names exactly this attempt.
pub(crate) fn is_marked(pid: i32, folder: &Path) -> bool {
    match marker(pid) {
        Some(Marker::Mark(found)) => found == mark(folder).as_bytes(),
        Some(Marker::Folder(found)) => found == folder.as_os_str().as_bytes(),
        None => false,
    }
}

/// The namespaces of this process, by which another one can be compared with it.
pub(crate) fn own_namespaces() -> Option<String> {
    let names: io::Result<Vec<String>> =
        NAMESPACES.iter().map(|kind| namespace("self", kind)).collect();
    Some(names.ok()?.join(" "))
}

/// Reads which namespace of a kind a process is in.
pub(crate) fn namespace(process: impl Display, kind: &str) -> io::Result<String> {
    let name = fs::read_link(format!("/proc/{process}/ns/{kind}"))?;
    Ok(name.to_string_lossy().into_owned())
}

/// What tells this boot of this machine from every other one.
pub(crate) fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_parentheses_does_not_shift_the_fields() {
        let stat = b"7 (a) R 1 (b) S 42 7 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 998877 1 2";
        let process = parse_stat(stat).unwrap();
        assert_eq!((process.pid, process.parent, process.start), (7, 42, 998_877));
        assert_eq!(process.session, 9);
        assert_eq!(process.life, Life::Alive);
    }

    #[test]
    fn our_own_process_is_there_and_its_parents_lead_to_init() {
        let own = process(own_pid()).unwrap();
        assert!(open(own.pid, own.start).is_some());
        assert!(open(own.pid, own.start + 1).is_none());
        assert_eq!(ancestors(own.pid).first(), Some(&own.parent));
    }

    #[test]
    fn below_walks_over_generations_and_leaves_strangers_alone() {
        let line = |pid, parent| Process { pid, parent, session: 1, start: 1, life: Life::Alive };
        // The grandchild comes before its parent, as after a wrap of pids.
        let table = [line(3, 9), line(9, 1), line(4, 2), line(5, 3)];
        let pids: HashSet<i32> = below(&table, &[1]).iter().map(|found| found.pid).collect();
        assert_eq!(pids, HashSet::from([9, 3, 5]));
    }
}
