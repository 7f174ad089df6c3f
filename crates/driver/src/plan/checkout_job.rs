//! Work on a checkout as a thread of the driver, with claim, result and ending as those of any other step.
//!
//! It can be killed at any moment and repeated, so it needs no process that outlives the driver. The git that it
//! starts carries the mark of the step: whoever finds the step without an ending sweeps it first.
//!
//! Not here: commit hooks, which are code of strangers and run under a keeper.

use std::{
    io::{self, PipeReader, PipeWriter},
    os::fd::{AsFd as _, BorrowedFd},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use forge_keeper::{AttemptFolder, EndingSigner, ExitReason, OwnStep, sweep};
use forge_workspace::{Job, as_job, perform_with_guard};

use crate::{executor::CheckoutJob, plan::workspace_worker::OperationAnswer, secrets::guard};

/// The exit code of a job that broke.
const BROKEN_EXIT: i32 = 70;

/// A job that is under way.
pub struct RunningJob {
    folder: PathBuf,
    /// Readable when the job has ended.
    ended: PipeReader,
    /// Once set, no git is started any more.
    cancelled: Arc<AtomicBool>,
    /// Why it was cancelled.
    why: Arc<Mutex<Option<ExitReason>>>,
}

impl RunningJob {
    /// Starts a job; none, if its step was claimed or given up before.
    pub fn start(
        folder: &AttemptFolder,
        job: CheckoutJob,
        signer: Option<Arc<EndingSigner>>,
    ) -> io::Result<Option<Self>> {
        let Some(step) = OwnStep::claim(folder)? else { return Ok(None) };
        let (ended, until_its_end) = io::pipe()?;
        let (cancelled, why) = (Arc::default(), Arc::default());
        let running = Self {
            folder: folder.path.clone(),
            ended,
            cancelled: Arc::clone(&cancelled),
            why: Arc::clone(&why),
        };
        let (name, mark) = step.mark();
        let mark = Job { mark: (name.into(), mark.into()), cancelled };
        let work = move || {
            let made = catch_unwind(AssertUnwindSafe(|| as_job(mark, || answer(job)))).ok();
            let stopped = why.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (how, result) = match (stopped, made) {
                (Some(why), _) => (why, None),
                (None, Some(answer)) => (ExitReason::Exited { code: 0 }, Some(answer)),
                // Whatever broke, there is no result, and it is done again.
                (None, None) => (ExitReason::Exited { code: BROKEN_EXIT }, None),
            };
            // Without an ending it counts as lost, and is done again.
            let _is_lost = step.end(how, result, signer.as_deref());
            drop::<PipeWriter>(until_its_end);
        };
        thread::Builder::new().name("checkout job".to_owned()).spawn(work)?;
        Ok(Some(running))
    }

    /// Ends it soon, for this reason.
    pub fn cancel(&self, why: ExitReason) -> io::Result<()> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.cancelled.store(true, Ordering::Relaxed);
        sweep(&self.folder)?;
        Ok(())
    }

    /// Readable when the job has ended.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }
}

fn answer(job: CheckoutJob) -> String {
    let made = perform_with_guard(&job.order, &mut guard(&job.secrets));
    OperationAnswer::new(job.order, made).to_json()
}
