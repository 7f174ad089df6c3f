//! Running cargo and other programs, and speaking to the person who started a task.

use std::process::{Command, ExitCode};

use crate::repository::root;

/// Runs cargo in the repository.
pub(crate) fn cargo(args: &[&str]) -> ExitCode {
    cargo_with(args, &[])
}

/// Runs cargo in the repository, with more variables.
pub(crate) fn cargo_with(args: &[&str], variables: &[(&str, &str)]) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args).envs(variables.iter().copied()).current_dir(root());
    ends_well(&mut command)
}

/// Runs a program and waits for it.
pub(crate) fn ends_well(command: &mut Command) -> ExitCode {
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("{} cannot be run: {error}", command.get_program().display()));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "a task speaks to the person who started it")]
pub(crate) fn say(text: &str) {
    println!("{text}");
}
