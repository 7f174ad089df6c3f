//! Parts that all figures share: running a program, a repository, and the printed line.
//!
//! Not here: the figures themselves.

use std::{
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
