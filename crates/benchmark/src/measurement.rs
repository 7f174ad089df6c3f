//! Parts that all figures share: running a program, a repository, and the printed line.
//!
//! Not here: the figures themselves.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The result of a measurement, or why there is none.
pub(crate) type Measured<T = ()> = Result<T, String>;

pub(crate) fn line(what: &str, figure: &str, compared: &str) {
    say(&format!("{what:<58} {figure:>14}   {compared}"));
}

#[expect(clippy::print_stdout, reason = "figures are for the person who started it")]
pub(crate) fn say(text: &str) {
    println!("{text}");
}

/// Returns how long a program takes that ends with this exit status.
pub(crate) fn spend(command: &mut Command, expected: i32) -> Measured<Duration> {
    let began = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let time = began.elapsed();
    match status {
        Ok(status) if status.code() == Some(expected) => Ok(time),
        Ok(status) => Err(format!("{command:?} ended with {status}, not with {expected}")),
        Err(error) => Err(format!("{command:?} cannot be started: {error}")),
    }
}

/// Returns a repository of its own.
pub(crate) fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(folder.path()).status();
    assert!(made.is_ok_and(|made| made.success()), "git makes a repository");
    folder
}

/// Commits what is in the folder of a repository, and allows what its flow runs: a run reads both from the commit.
pub(crate) fn commit_and_approve(folder: &Path, forge: &Path, flow: &str) -> Measured {
    let git = |words: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        spend(Command::new("git").args(who).args(words).current_dir(folder), 0)
    };
    git(&["add", "."])?;
    git(&["commit", "--quiet", "-m", "what is measured"])?;
    let words = ["config", "approve", "--flow", flow];
    spend(Command::new(forge).args(words).current_dir(folder), 0)?;
    Ok(())
}

/// Counts the programs that a command starts, itself included, and its syncs.
pub(crate) fn traced(command: &Command) -> Measured<(u64, u64)> {
    let trace = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=execve,fsync,fdatasync", "-o"]).arg(trace.path());
    strace.arg(command.get_program()).args(command.get_args());
    strace.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    strace.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    spend(&mut strace, 0).map_err(|error| format!("strace: {error}"))?;
    let calls = fs::read_to_string(trace.path()).map_err(|error| error.to_string())?;
    let count = |is: fn(&str) -> bool| calls.lines().filter(|line| is(line)).count() as u64;
    Ok((
        count(|line| line.contains("execve(") && line.ends_with("= 0")),
        count(|line| line.contains("sync(")),
    ))
}
