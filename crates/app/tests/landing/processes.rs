//! Who belongs to a world, read from `/proc`, and how they are killed.
//!
//! Everybody who works for a run knows the folder of its world: as the home in the environment, as
//! the working directory, or as an argument. So drivers, keepers, agents, the workspace worker, git
//! and whatever they started are found alike. Who only waits to be reaped is nobody.

use std::{fs, path::Path};

use rustix::process::{Pid, Signal, kill_process};

use super::world::{until, until_or};

/// Kills a process. Somebody who is gone already hears nothing.
pub(crate) fn kill(pid: i32) -> bool {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).is_ok()
}

/// Kills everybody in a world, until nobody is there. Says how many there were.
pub(crate) fn kill_everybody(folder: &Path) -> usize {
    let mut killed = 0;
    until("everybody to die", || {
        let alive = everybody(folder);
        killed += alive.iter().filter(|(pid, _)| kill(*pid)).count();
        alive.is_empty().then_some(())
    });
    killed
}

/// Fails if anybody is left. A keeper that came too late for its claim may need a moment to go.
pub(crate) fn nobody_is_left(folder: &Path) {
    until_or(
        "everybody to go",
        || everybody(folder).is_empty().then_some(()),
        || format!("these are left: {:?}", everybody(folder)),
    );
}

/// Everybody in a world, with their command lines.
fn everybody(folder: &Path) -> Vec<(i32, String)> {
    let mark = folder.as_os_str().as_encoded_bytes();
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let own = std::process::id().cast_signed();
    pids.filter(|pid| *pid != own && is_alive(*pid) && knows(*pid, mark))
        .map(|pid| (pid, command_line(pid)))
        .collect()
}

fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

fn knows(pid: i32, mark: &[u8]) -> bool {
    let has = |bytes: &[u8]| bytes.windows(mark.len()).any(|part| part == mark);
    let file = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let dir = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    has(dir.as_os_str().as_encoded_bytes()) || has(&file("environ")) || has(&file("cmdline"))
}

fn command_line(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}
