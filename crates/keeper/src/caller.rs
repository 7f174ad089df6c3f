//! Who gives a command: a person's process, or one that comes from an attempt.
//!
//! A process is looked at from outside, through `/proc`: what it says about itself counts for nothing. It comes
//! from an attempt if it or a process above it is a keeper, is marked, or is the driver itself, which adopts what
//! a killed keeper leaves. A process in another PID or user namespace hides where it comes from. What began while
//! a call ran whose keeper was killed may have outlived that call, unless the machine was started anew since.
//!
//! Not here: what keeps out a process of the same user that sets out to look like a person's, for example by typing
//! into their terminal. That takes a sandbox.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use thiserror::Error;

use crate::attempt::sweep::{attempt_named_by, is_keeper};
use crate::processes;

/// Clock ticks in a second, as `/proc` counts them for every program.
const TICKS_PER_SECOND: u64 = 100;
/// The first process of this machine, or of this container.
const FIRST: i32 = 1;
/// The clock of processes and that of facts may differ by this much, in milliseconds.
const CLOCKS_DIFFER_MS: u64 = 2_000;

/// The time in which a call ran whose keeper was killed, in milliseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostCall {
    pub started_at_ms: u64,
    pub lost_at_ms: u64,
}

/// Why a process may not give commands.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CallerFlaw {
    #[error("it was sent from inside an agent call ({attempt}), and agents cannot change runs")]
    InsideAttempt { attempt: String },
    #[error(
        "its process is in another {namespace} namespace, so it cannot be seen whether it is an agent's"
    )]
    OtherNamespace { namespace: &'static str },
    #[error(
        "its process began while an attempt ran whose keeper was killed, and may be of that attempt; \
         use a terminal that was opened before or after it"
    )]
    MayHaveOutlivedCall,
    #[error("only Forge itself starts it")]
    NoDriver,
    #[error("its process is gone, so it cannot be seen whether it is an agent's")]
    Gone,
}

/// Looks at the process that gives a command, on behalf of the driver, which this process is.
pub fn check_caller(pid: i32, lost: &[LostCall]) -> Result<(), CallerFlaw> {
    if processes::process(pid).is_none() {
        return Err(CallerFlaw::Gone);
    }
    check_namespaces(pid)?;
    let mut chain = vec![pid];
    chain.extend(processes::ancestors(pid));
    if let Some(attempt) = chain.iter().find_map(|pid| attempt_named_by(*pid)) {
        return Err(CallerFlaw::InsideAttempt { attempt });
    }
    let own = processes::own_pid();
    if pid != own && chain.contains(&own) {
        return Err(CallerFlaw::InsideAttempt { attempt: format!("below process {own}") });
    }
    check_outlived(&chain, lost)
}

/// Looks at this process itself, where there is no driver to do so.
pub fn check_own_process(lost: &[LostCall]) -> Result<(), CallerFlaw> {
    check_proc()?;
    if let Some(attempt) = crate::inside_attempt() {
        return Err(CallerFlaw::InsideAttempt { attempt });
    }
    let mut chain = vec![processes::own_pid()];
    chain.extend(processes::ancestors(processes::own_pid()));
    check_outlived(&chain, lost)
}

/// Looks at this process itself, which a driver is to have started below a keeper of its own: an agent could start it, too, and
/// has its own keeper above it.
pub fn check_driver_step() -> Result<(), CallerFlaw> {
    check_proc()?;
    let mut above = processes::ancestors(processes::own_pid()).into_iter();
    if !above.next().is_some_and(is_keeper) {
        return Err(CallerFlaw::NoDriver);
    }
    match above.find_map(attempt_named_by) {
        Some(attempt) => Err(CallerFlaw::InsideAttempt { attempt }),
        None => Ok(()),
    }
}

/// Looks at this process itself beside a driver that it does not speak to: whoever cannot see the driver may be
/// one of its agents that hides.
pub fn check_beside(driver: i32) -> Result<(), CallerFlaw> {
    if processes::process(driver).is_none() {
        return Err(CallerFlaw::OtherNamespace { namespace: "pid" });
    }
    check_namespaces(driver)
}

/// Another process is in the namespaces of this one.
fn check_namespaces(pid: i32) -> Result<(), CallerFlaw> {
    for namespace in processes::NAMESPACES {
        let own = processes::namespace("self", namespace);
        let theirs = processes::namespace(pid, namespace);
        if !matches!((own, theirs), (Ok(own), Ok(theirs)) if own == theirs) {
            return Err(CallerFlaw::OtherNamespace { namespace });
        }
    }
    Ok(())
}

/// In another PID namespace than that of `/proc`, every pid there means another process.
pub fn check_proc() -> Result<(), CallerFlaw> {
    let own = fs::read_link("/proc/self").ok();
    let own: Option<i32> = own.and_then(|own| own.to_str()?.parse().ok());
    match own {
        Some(pid) if pid != processes::own_pid() => {
            Err(CallerFlaw::OtherNamespace { namespace: "pid" })
        }
        // Where there is no `/proc` there is nothing to be misled by.
        Some(_) | None => Ok(()),
    }
}

fn check_outlived(chain: &[i32], lost: &[LostCall]) -> Result<(), CallerFlaw> {
    if lost.is_empty() {
        return Ok(());
    }
    let Some(first) = began_ms(FIRST).or_else(boot_ms) else { return Ok(()) };
    let began = chain.iter().filter(|pid| **pid != FIRST).filter_map(|pid| began_ms(*pid));
    let outlived = |began: u64| {
        lost.iter().filter(|call| call.started_at_ms >= first).any(|call| {
            call.started_at_ms.saturating_sub(CLOCKS_DIFFER_MS) <= began && began <= call.lost_at_ms
        })
    };
    if began.into_iter().any(outlived) { Err(CallerFlaw::MayHaveOutlivedCall) } else { Ok(()) }
}

/// When a process began, in milliseconds since 1970.
fn began_ms(pid: i32) -> Option<u64> {
    let found = processes::process(pid)?;
    Some(boot_ms()? + found.start.saturating_mul(1_000) / TICKS_PER_SECOND)
}

/// When this machine started, in milliseconds since 1970.
fn boot_ms() -> Option<u64> {
    let text = fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, rest) = text.split_once('.')?;
    let hundredths: u64 = rest.split_whitespace().next()?.parse().ok()?;
    let up_ms = seconds.parse::<u64>().ok()?.saturating_mul(1_000) + hundredths * 10;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(u64::try_from(now).ok()?.saturating_sub(up_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn what_began_while_a_lost_call_ran_may_have_outlived_it() {
        let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis());
        let now = now.unwrap();
        let own = [processes::own_pid()];
        // Later than it by more than clocks are rounded.
        let first = began_ms(FIRST).unwrap() + 1_000;
        let lost = |started_at_ms, lost_at_ms| [LostCall { started_at_ms, lost_at_ms }];
        let long_ago = check_outlived(&own, &lost(first, first + 1));
        assert_eq!(long_ago, Ok(()));
        let meanwhile = check_outlived(&own, &lost(first, now + 60_000));
        assert_eq!(meanwhile, Err(CallerFlaw::MayHaveOutlivedCall));
        let before_a_restart = check_outlived(&own, &lost(first - 60_000, now + 60_000));
        assert_eq!(before_a_restart, Ok(()), "nobody would be left who may answer");
        let below_the_first = check_outlived(&[FIRST], &lost(first, now + 60_000));
        assert_eq!(below_the_first, Ok(()));
        let later = check_outlived(&own, &lost(now + 60_000, now + 120_000));
        assert_eq!(later, Ok(()));
    }

    #[test]
    fn a_child_of_the_driver_and_a_process_that_is_gone_give_no_commands() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id().cast_signed();
        let below = check_caller(pid, &[]);
        assert!(matches!(below, Err(CallerFlaw::InsideAttempt { .. })), "{below:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(check_caller(pid, &[]), Err(CallerFlaw::Gone));
    }

    #[test]
    fn our_own_pid_means_us() {
        assert_eq!(check_proc(), Ok(()));
    }
}
