//! Work on a checkout as a thread of the driver, with claim, result and ending as those of any other step.
//!
//! It can be killed at any moment and repeated, so it needs no process that outlives the driver. The git that it
//! starts carries the mark of the step: whoever finds the step without an ending sweeps it first.
//!
//! Not here: work in which code of others takes part (commit hooks, filters). It runs under a keeper; see `setup/step.rs`.

use std::{
    io::{self, PipeReader, PipeWriter},
    os::fd::{AsFd as _, BorrowedFd},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use forge_keeper::{
    AttemptFolder, EndingOutlasts, EndingSigner, ExitReason, OwnStep, kill_marked, sweep,
};
use forge_workspace::{Job, Operation, as_job, perform_with_guard};

use crate::{executor::CheckoutJob, plan::workspace_worker::OperationAnswer, secrets::guard};

/// The exit code of a job that broke.
const BROKEN_EXIT: i32 = 70;
/// The name of the threads of jobs. A panic in one is caught: the job is done again.
pub const JOB_THREAD: &str = "checkout job";
/// How often a job that is to end is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The longest wait for a job that is to end with its driver.
const END_MAX: Duration = Duration::from_secs(10);
/// Folders can be nested deeply, and are removed by recursion, in bytes.
const STACK_BYTES: usize = 64 << 20;

/// A job that is under way.
pub struct RunningJob {
    folder: PathBuf,
    /// Readable when the job has ended.
    ended: PipeReader,
    /// Once set, no git is started any more.
    cancelled: Arc<AtomicBool>,
    stop: Arc<Mutex<Option<JobStop>>>,
    /// Set when nothing is left to do but to end the thread.
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// How a job ends that is cancelled.
enum JobStop {
    /// With this ending.
    Ends(ExitReason),
    /// With none: whoever comes next does it again.
    Abandoned,
}

impl RunningJob {
    /// Starts a job; none, if its step was claimed or given up before.
    pub fn start(
        folder: &AttemptFolder,
        job: CheckoutJob,
        signer: Option<Arc<EndingSigner>>,
    ) -> io::Result<Option<Self>> {
        let Some(step) = OwnStep::claim(folder, job.call.clone())? else { return Ok(None) };
        let (ended, until_its_end) = io::pipe()?;
        let is_over = Arc::<AtomicBool>::default();
        let (cancelled, stopped) = (Arc::default(), Arc::<Mutex<Option<JobStop>>>::default());
        let mut running = Self {
            folder: folder.path.clone(),
            ended,
            cancelled: Arc::clone(&cancelled),
            stop: Arc::clone(&stopped),
            is_over: Arc::clone(&is_over),
            thread: None,
        };
        let (name, mark) = step.mark();
        let mark = Job { mark: (name.into(), mark.into()), cancelled };
        let folder = folder.path.clone();
        let outlasts = outlasts(&job.order);
        let end = move |made: Option<String>| {
            let stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (how, result) = match (stopped, made) {
                (Some(JobStop::Abandoned), _) => return,
                (Some(JobStop::Ends(why)), _) => (why, None),
                (None, Some(answer)) => (ExitReason::Exited { code: 0 }, Some(answer)),
                // Whatever broke, there is no result, and it is done again: not beside a git that is left.
                (None, None) => {
                    let _is_tried_again_then = sweep(&folder);
                    (ExitReason::Exited { code: BROKEN_EXIT }, None)
                }
            };
            // Without an ending it counts as lost, and is done again.
            let _is_lost = step.end(how, result, outlasts, signer.as_deref());
        };
        let work = move || {
            let made = catch_unwind(AssertUnwindSafe(|| as_job(mark, || answer(job)))).ok();
            end(made);
            is_over.store(true, Ordering::Release);
            drop::<PipeWriter>(until_its_end);
        };
        let thread = thread::Builder::new().name(JOB_THREAD.to_owned()).stack_size(STACK_BYTES);
        running.thread = Some(thread.spawn(work)?);
        Ok(Some(running))
    }

    /// Ends it soon, for this reason. It can be asked again.
    pub fn cancel(&self, why: ExitReason) {
        self.stop_soon(JobStop::Ends(why));
    }

    fn stop_soon(&self, how: JobStop) {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(how);
        self.cancelled.store(true, Ordering::Relaxed);
        // Its git, once and without waiting for its end: the driver goes on meanwhile.
        let _is_tried_again = kill_marked(&self.folder);
    }

    /// Readable when the job has ended.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }
}

impl Drop for RunningJob {
    /// A job does not outlive its driver, which is the keeper of its step.
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let until = Instant::now() + END_MAX;
        while !self.is_over.load(Ordering::Acquire) {
            // A git that hangs in the kernel ends nobody else.
            if Instant::now() > until {
                return;
            }
            self.stop_soon(JobStop::Abandoned);
            thread::sleep(LOOK_EVERY);
        }
        let _panics_are_caught = thread.join();
    }
}

/// Whether a job may be done again after a loss of power, although a later step of its call has ended. Not what prepared the
/// files that somebody then worked on, and not what took them in.
fn outlasts(order: &Operation) -> EndingOutlasts {
    match order {
        Operation::Open(open) if open.worker.is_none() => EndingOutlasts::Process,
        Operation::Restore(_) => EndingOutlasts::Process,
        Operation::Open(_)
        | Operation::Baseline(_)
        | Operation::Reuse(_)
        | Operation::Commit(_)
        | Operation::Hooks(_)
        | Operation::Merge(_)
        | Operation::Move(_)
        | Operation::Attach(_)
        | Operation::Write(_) => EndingOutlasts::PowerLoss,
    }
}

fn answer(job: CheckoutJob) -> String {
    let made = perform_with_guard(&job.order, &mut guard(&job.secrets));
    OperationAnswer::new(job.order, made).to_json()
}
