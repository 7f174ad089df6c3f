//! A job that runs on a thread of another program: how its git is known, and how it is stopped.
//!
//! Git is started in many places, always by the thread of the job, which therefore knows its own job; no
//! function in between has to pass it on.

use std::{
    cell::RefCell,
    ffi::OsString,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// A job, as the git that it starts knows it.
#[derive(Clone, Debug)]
pub struct Job {
    /// A variable by which its processes are found.
    pub mark: (OsString, OsString),
    /// Once set, no git is started any more.
    pub cancelled: Arc<AtomicBool>,
}

thread_local! {
    static CURRENT: RefCell<Option<Job>> = const { RefCell::new(None) };
}

/// Does work of a job on this thread.
pub fn as_job<T>(job: Job, work: impl FnOnce() -> T) -> T {
    let before = CURRENT.replace(Some(job));
    let made = work();
    CURRENT.set(before);
    made
}

/// Marks a process that is about to be started.
pub(crate) fn mark(command: &mut Command) {
    CURRENT.with_borrow(|job| {
        if let Some(Job { mark: (name, value), .. }) = job {
            command.env(name, value);
        }
    });
}

/// Takes the mark away from a process that outlives the job.
pub(crate) fn unmark(command: &mut Command) {
    CURRENT.with_borrow(|job| {
        if let Some(Job { mark: (name, _), .. }) = job {
            command.env_remove(name);
        }
    });
}

/// Whether the job of this thread was stopped.
pub(crate) fn is_cancelled() -> bool {
    CURRENT.with_borrow(|job| job.as_ref().is_some_and(|job| job.cancelled.load(Ordering::Relaxed)))
}
