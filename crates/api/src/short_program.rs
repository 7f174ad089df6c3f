//! Programs that are asked one short thing, such as their version or a token.
//!
//! Invariant: none of them outlives its time, and none is left behind.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use forge_driver::local_executor::{wait_for, watch};
use rustix::{
    event::{PollFd, PollFlags},
    fs::{OFlags, fcntl_setfl},
    process::{Pid, Signal, kill_process_group},
};

/// More is not read, and fits into a pipe.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// Why a program gave no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    NotStarted(io::Error),
    /// Nobody can tell how it ended.
    Lost(io::Error),
    Late(Duration),
    Failed(ExitStatus),
}

/// Starts a program with this input, and returns what it printed if it ended well in time.
pub(crate) fn answer_within(
    mut command: Command,
    input: &str,
    wait: Duration,
) -> Result<String, NoAnswer> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(NoAnswer::NotStarted)?;
    // A short input fits into the pipe; who does not read it has ended.
    let _is_gone_already = child.stdin.take().map(|mut pipe| pipe.write_all(input.as_bytes()));
    let end = watch(&child).and_then(|handle| {
        wait_for(&mut [PollFd::new(&handle, PollFlags::IN)], wait)?;
        child.try_wait()
    });
    // Whoever is left of it, or did not end, ends now. What it said is in the pipe, which is small.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _is_gone_already = kill_process_group(group, Signal::KILL);
    }
    let _is_gone_already = child.wait();
    let Some(status) = end.map_err(NoAnswer::Lost)? else { return Err(NoAnswer::Late(wait)) };
    if !status.success() {
        return Err(NoAnswer::Failed(status));
    }
    let mut said = vec![0; ANSWER_BYTES_MAX];
    let mut out = child.stdout.take().expect("its output is piped");
    let read = fcntl_setfl(&out, OFlags::NONBLOCK)
        .map_err(io::Error::from)
        .and_then(|()| out.read(&mut said))
        .unwrap_or(0);
    Ok(String::from_utf8_lossy(&said[..read]).into_owned())
}
