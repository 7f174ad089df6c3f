//! `forge __launch --keeper PID -- PROGRAM ARGS…`: the last steps before the agent, and then the
//! agent itself, in the same process.
//!
//! It stands between the keeper and the agent because only the new process itself can do these
//! things, and doing them between fork and exec would need unsafe code.
//!
//! Invariant: whoever it becomes dies with the keeper.
//! Invariant: it prints only when the program could not be started.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit, setsid,
};

/// As shells say it: there is no such program.
const NOT_FOUND_EXIT: u8 = 127;
/// As shells say it: there is one, but it cannot be run.
const NOT_RUNNABLE_EXIT: u8 = 126;
/// Ours: called wrongly, or the keeper was already gone.
const NOT_LAUNCHED_EXIT: u8 = 125;

/// Main of `forge __launch`; `args` are those after `__launch`.
pub fn launch(args: Vec<OsString>) -> ExitCode {
    let Some((keeper, command)) = parse(args) else {
        return complain(NOT_LAUNCHED_EXIT, "usage: __launch --keeper PID -- PROGRAM ARGS…");
    };
    if let Err(error) = prepare(keeper) {
        return complain(NOT_LAUNCHED_EXIT, &format!("cannot launch: {error}"));
    }
    let (program, arguments) = command.split_first().expect("parse gives a program");
    let error = Command::new(program).args(arguments).exec();
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let code = if is_missing { NOT_FOUND_EXIT } else { NOT_RUNNABLE_EXIT };
    complain(code, &format!("cannot run `{}`: {error}", program.display()))
}

fn parse(mut args: Vec<OsString>) -> Option<(Pid, Vec<OsString>)> {
    let [flag, pid, dashes, _program, ..] = args.as_slice() else { return None };
    let is_well_formed = flag == OsStr::new("--keeper") && dashes == OsStr::new("--");
    let keeper = Pid::from_raw(pid.to_str()?.parse().ok()?)?;
    is_well_formed.then(|| (keeper, args.split_off(3)))
}

fn prepare(keeper: Pid) -> io::Result<()> {
    setsid()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A keeper which died before the line above can no longer take us with it.
    if getppid() != Some(keeper) {
        return Err(io::Error::other("the keeper is gone"));
    }
    // A core dump would put the environment on disk.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(())
}

fn complain(code: u8, message: &str) -> ExitCode {
    // If nobody can hear it, the exit code still says it.
    let _ = writeln!(io::stderr(), "forge: {message}");
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_the_program_are_not_taken_for_ours() {
        let args = ["--keeper", "12", "--", "sh", "--", "--keeper"].map(OsString::from);
        let (keeper, command) = parse(args.to_vec()).unwrap();
        assert_eq!(keeper.as_raw_nonzero().get(), 12);
        assert_eq!(command, ["sh", "--", "--keeper"].map(OsString::from));
        assert!(parse(args[..3].to_vec()).is_none());
        assert!(parse(args[1..].to_vec()).is_none());
    }
}
