//! What a new process does for itself before it becomes the agent: it leads a session, dies with the keeper, and leaves no
//! core dump.
//!
//! Only the process itself can do these things, between fork and exec. It is the one piece of unsafe code here (decision 020):
//! another program in between took a tenth of what a step costs, and was one more to start and to reap.
//!
//! Invariant: whoever is started dies with the keeper.
//! Invariant: between fork and exec there are only system calls: nothing is allocated, locked or printed.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, set_parent_process_death_signal, setrlimit,
    setsid,
};

/// Makes whoever the command starts a session of its own that dies with this process.
#[expect(unsafe_code, reason = "what is called between fork and exec are system calls alone")]
pub(crate) fn dies_with_keeper(command: &mut Command) {
    let keeper = getpid();
    // SAFETY: `prepare` allocates nothing and takes no lock, whatever other threads held at the moment of the fork.
    unsafe {
        command.pre_exec(move || prepare(keeper));
    }
}

fn prepare(keeper: Pid) -> io::Result<()> {
    setsid()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A keeper which died before the line above can no longer take us with it.
    if getppid() != Some(keeper) {
        return Err(rustix::io::Errno::SRCH.into());
    }
    // A core dump would put the environment on disk.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(())
}
