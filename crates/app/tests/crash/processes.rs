//! Who belongs to a repository's runs, read from `/proc`, and how they are killed.
//!
//! Keepers are known by their command line, agents (and whoever works on a checkout, and its git)
//! as everybody below a keeper, and what is left of an attempt by the mark in its environment, its
//! command line, or where it stands. Processes that only wait to be reaped are nobody.

use std::{collections::BTreeMap, fs, os::unix::ffi::OsStrExt as _, path::Path};

use rustix::process::{Pid, Signal, kill_process};

/// One keeper, and everybody below it.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The keeper.
    pub(crate) keeper: i32,
    /// Launcher, agent, and whom the agent started.
    pub(crate) agents: Vec<i32>,
}

impl Kept {
    /// Whether it keeps a check of the project.
    pub(crate) fn is_check(&self) -> bool {
        let line = command_line(self.keeper);
        let step = line.get(2).and_then(|folder| Path::new(folder).file_name());
        step.is_some_and(|step| step.to_string_lossy().contains("check-"))
    }
}

/// The gits at work on a folder.
pub(crate) fn gits(folder: &Path) -> Vec<i32> {
    let is_git = |line: &str| line.split(' ').next().is_some_and(|word| word.ends_with("git"));
    left_over(folder).into_iter().filter(|(_, line)| is_git(line)).map(|(pid, _)| pid).collect()
}

/// Sends a signal. Somebody who is gone already hears nothing.
pub(crate) fn signal(pid: i32, signal: Signal) -> bool {
    kill_process(Pid::from_raw(pid).unwrap(), signal).is_ok()
}

/// The keepers of calls whose folder lies here.
pub(crate) fn kept(top: &Path) -> Vec<Kept> {
    let parents = parents();
    let keepers: Vec<i32> = parents.keys().copied().filter(|pid| is_keeper(*pid, top)).collect();
    let kept = keepers.iter().map(|keeper| {
        let is_below = |pid: &i32| ancestors(*pid, &parents).any(|above| above == *keeper);
        let agents = parents.keys().copied().filter(is_below);
        // A child that has not become its program yet still looks like its keeper.
        Kept { keeper: *keeper, agents: agents.collect() }
    });
    kept.filter(|one| !ancestors(one.keeper, &parents).any(|above| keepers.contains(&above)))
        .collect()
}

/// Everybody who has to do with a folder: marked with an attempt in it, called with a path in it (as
/// keepers, `__bench` and git are), or standing in it.
pub(crate) fn left_over(folder: &Path) -> Vec<(i32, String)> {
    let mark = [b"FORGE_ATTEMPT_DIR=", folder.as_os_str().as_bytes(), b"/"].concat();
    let is_marked = |pid: i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(&mark))
    };
    let is_called = |pid: i32| {
        command_line(pid).iter().skip(1).any(|argument| Path::new(argument).starts_with(folder))
    };
    let stands_there =
        |pid: i32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|at| at.starts_with(folder));
    let pids = parents().into_keys();
    let left = pids.filter(|pid| is_marked(*pid) || is_called(*pid) || stands_there(*pid));
    left.map(|pid| (pid, command_line(pid).join(" "))).collect()
}

/// The processes that somebody watches through a handle.
pub(crate) fn watched_by(pid: i32) -> Vec<i32> {
    let infos = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten();
    let texts = infos.filter_map(|info| fs::read_to_string(info.ok()?.path()).ok());
    texts
        .filter_map(|text| {
            text.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse().ok())
        })
        .collect()
}

fn is_keeper(pid: i32, top: &Path) -> bool {
    let line = command_line(pid);
    line.get(1).is_some_and(|arg| arg == "__keep")
        && line.get(2).is_some_and(|folder| Path::new(folder).starts_with(top))
}

fn command_line(pid: i32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let args = line.split(|byte| *byte == 0).filter(|arg| !arg.is_empty());
    args.map(|arg| String::from_utf8_lossy(arg).into_owned()).collect()
}

/// Everybody who is alive, with their parent.
fn parents() -> BTreeMap<i32, i32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
        let is_alive = !matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        is_alive.then_some((pid, parent))
    })
    .collect()
}

fn ancestors(pid: i32, parents: &BTreeMap<i32, i32>) -> impl Iterator<Item = i32> + '_ {
    std::iter::successors(parents.get(&pid).copied(), |above| parents.get(above).copied())
}
