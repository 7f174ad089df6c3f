//! Steps as processes of this machine: each under a keeper of its own, which outlives the driver. Work on
//! checkouts is done by a thread of this process (`plan/checkout_job.rs`).
//!
//! Invariant: who holds a claim, and what has an ending, is read from the folder of the step alone, so
//! that any driver finds the keepers of the one before. The folder can be written by anybody, so the
//! ending is believed for its signature, by a key that is in the journal.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    fs::{self, DirBuilder, Permissions},
    io,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    process::Child,
    sync::Arc,
    time::{Duration, Instant},
};

use forge_core::{Time, hex::hex};
use forge_keeper::{
    ArtifactFlaw, AttemptFolder, AttemptStatus, EndingProof, EndingSigner, ExitReason, Keeper,
    LostCall, Spec, Stop, WaitingKeeper, check_caller, collect, give_up, kill, look, open_regular,
    sweep, sweep_adopted, wake,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, getpid, pidfd_open, set_child_subreaper},
};

use crate::{
    Error, clock,
    executor::{CheckoutJob, Executor, Output, StepState, StopRequest},
    notify::sender::NOTIFY,
    plan::{checkout_job::RunningJob, step::call_folder},
};

/// How often a keeper that cannot be watched is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A keeper has this much time after its limit before it is woken.
const WAKE_AFTER: Duration = Duration::from_millis(500);
/// And this much more before it is killed: longer than it takes to end a child with its grace, and to wait for one
/// that hangs in the kernel.
const KILL_AFTER: Duration = Duration::from_secs(60);

/// The executor of this machine. The default one only reads what steps left.
#[derive(Default)]
pub struct LocalExecutor {
    /// Our own program, which is also the keeper.
    program: PathBuf,
    /// The key of the keepers that are started here.
    signer: Option<Arc<EndingSigner>>,
    /// The keepers that are waited for, by the folders of their steps.
    keepers: RefCell<BTreeMap<PathBuf, WatchedKeeper>>,
    spare: RefCell<SpareKeeper>,
}

/// A keeper that is started while a step runs, for the step that probably comes next: a third of what a command costs is the start of
/// its keeper, and nobody waits for it then. It knows no secret and has touched nothing.
#[derive(Default)]
struct SpareKeeper {
    waiting: Option<WaitingKeeper>,
    /// The step that was last started, with its environment. When the one after it is as that one was, so is probably the next.
    last: Option<(PathBuf, Vec<(OsString, OsString)>)>,
}

/// A keeper that is waited for, and the moment when it must have ended by its own limits.
struct WatchedKeeper {
    process: ProcessHandle,
    due: Option<Instant>,
}

enum ProcessHandle {
    /// Started by us. Readable when it has ended.
    Child(Child, OwnedFd),
    /// Started by a driver before us.
    Found(Keeper),
    /// A thread of ours.
    Job(RunningJob),
}

impl LocalExecutor {
    /// An executor that starts `program` as its keepers.
    pub fn new(program: PathBuf) -> io::Result<Self> {
        let signer = Some(Arc::new(EndingSigner::generate()?));
        Ok(Self { program, signer, ..Self::default() })
    }
}

impl fmt::Debug for LocalExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalExecutor").field("program", &self.program).finish_non_exhaustive()
    }
}

impl Executor for LocalExecutor {
    fn now(&self) -> Time {
        clock::now()
    }

    fn wait(&self, files: &[BorrowedFd<'_>], mut longest: Duration) -> io::Result<()> {
        let mut keepers = self.keepers.borrow_mut();
        let n_before = keepers.len();
        keepers.retain(|_, keeper| !keeper.process.has_ended());
        if keepers.len() < n_before {
            return Ok(());
        }
        let mut polled: Vec<PollFd<'_>> =
            files.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
        for keeper in keepers.values() {
            match keeper.process.as_fd() {
                Some(file) => polled.push(PollFd::from_borrowed_fd(file, PollFlags::IN)),
                None => longest = longest.min(LOOK_EVERY),
            }
            let left = keeper.due.map(|due| due.saturating_duration_since(Instant::now()));
            longest = longest.min(left.map_or(longest, |left| left.max(LOOK_EVERY)));
        }
        wait_for(&mut polled, longest)
    }

    fn prepare(&self, folder: &Path, spec: &Spec) -> io::Result<()> {
        AttemptFolder::create(folder, spec)?;
        Ok(())
    }

    fn start(
        &self,
        folder: &AttemptFolder,
        env: &[(OsString, OsString)],
        secrets: &[Vec<u8>],
    ) -> io::Result<()> {
        // What a killed keeper leaves comes to us, and not to somebody who would keep it.
        set_child_subreaper(Some(getpid()))?;
        let due = due(wall_ms(folder));
        let mut spare = self.spare.borrow_mut();
        let keeper = match spare.take_for(folder, env) {
            Some(keeper) => keeper,
            None => WaitingKeeper::start(&self.program, folder, env)?,
        };
        let handle = watch_pid(keeper.pid())?;
        let child = keeper.begin(self.signer.as_deref(), secrets);
        spare.prepare_next(&self.program, folder, env);
        let process = ProcessHandle::Child(child, handle);
        self.keepers.borrow_mut().insert(folder.path.clone(), WatchedKeeper { process, due });
        Ok(())
    }

    fn start_job(&self, folder: &AttemptFolder, job: CheckoutJob) -> io::Result<()> {
        let due = due(job.wall_ms);
        let Some(job) = RunningJob::start(folder, job, self.signer.clone())? else { return Ok(()) };
        let process = ProcessHandle::Job(job);
        self.keepers.borrow_mut().insert(folder.path.clone(), WatchedKeeper { process, due });
        Ok(())
    }

    fn ending_key(&self) -> String {
        self.signer.as_ref().map(|signer| signer.public_key()).unwrap_or_default()
    }

    fn state(&self, folder: &AttemptFolder, proof: &EndingProof<'_>) -> io::Result<StepState> {
        self.to_state(folder, look(folder, &proof.with_own(self.signer.as_deref()))?)
    }

    fn has_ended(&self, folder: &AttemptFolder) -> bool {
        let mut keepers = self.keepers.borrow_mut();
        let has_ended = keepers.get_mut(&folder.path).is_none_or(|keeper| {
            keeper.insist(Instant::now());
            keeper.process.has_ended()
        });
        if has_ended {
            keepers.remove(&folder.path);
        }
        has_ended
    }

    fn stop(&self, folder: &AttemptFolder, how: Stop) -> io::Result<StopRequest> {
        let asked =
            |keeper: &Keeper| keeper.stop(how).map_or(StopRequest::NotNow, |()| StopRequest::Sent);
        if let Some(keeper) = self.keepers.borrow_mut().get_mut(&folder.path) {
            // Whoever is to stop has no more time than that.
            let now = Instant::now();
            keeper.due = Some(keeper.due.map_or(now, |due| due.min(now)));
            match &keeper.process {
                ProcessHandle::Found(keeper) => return Ok(asked(keeper)),
                ProcessHandle::Job(job) => {
                    job.cancel(ExitReason::Interrupted);
                    return Ok(StopRequest::Sent);
                }
                ProcessHandle::Child(..) => {}
            }
        }
        // Our own keeper may not have claimed its folder yet; then it never will.
        let status = give_up(folder, &EndingProof::NotNeeded)?;
        let AttemptStatus::Alive(keeper) = status else { return Ok(StopRequest::Sent) };
        Ok(asked(&keeper))
    }

    fn give_up(&self, folder: &AttemptFolder, proof: &EndingProof<'_>) -> io::Result<StepState> {
        fs::create_dir_all(&folder.path)?;
        self.to_state(folder, give_up(folder, proof)?)
    }

    fn sweep(&self, folder: &AttemptFolder) -> io::Result<()> {
        sweep(&folder.path)?;
        let keepers = self.keepers.borrow();
        let own = keepers.values().filter_map(|keeper| match &keeper.process {
            ProcessHandle::Child(child, _) => i32::try_from(child.id()).ok(),
            ProcessHandle::Found(_) | ProcessHandle::Job(_) => None,
        });
        let spare = self.spare.borrow().waiting.as_ref().map(WaitingKeeper::pid);
        sweep_adopted(&own.chain(spare).collect::<Vec<i32>>(), NOTIFY)?;
        Ok(())
    }

    fn check_caller(&self, pid: i32, lost: &[LostCall]) -> Result<(), String> {
        check_caller(pid, lost).map_err(|flaw| flaw.to_string())
    }

    fn open_output(&self, file: &Path) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(open_regular(file)?))
    }

    fn collect(&self, outbox: &Path, name: &str, bytes_max: u64) -> Result<Vec<u8>, ArtifactFlaw> {
        collect(outbox, name, bytes_max)
    }

    fn entries(&self, folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }

    fn quarantine(&self, planted: &Path, aside: &Path) -> io::Result<Option<PathBuf>> {
        let Ok(metadata) = fs::symlink_metadata(planted) else { return Ok(None) };
        if fs::symlink_metadata(aside).is_ok_and(|found| !found.is_dir()) {
            fs::remove_file(aside)?;
        }
        fs::create_dir_all(aside)?;
        if metadata.is_dir() {
            // A folder that its owner may not change cannot be moved.
            fs::set_permissions(planted, Permissions::from_mode(0o700))?;
        }
        let mut chance = [0_u8; 8];
        rustix::rand::getrandom(&mut chance, rustix::rand::GetRandomFlags::empty())?;
        let name = planted.file_name().unwrap_or_default().to_string_lossy();
        let to = aside.join(format!("{name}.{}", hex(&chance)));
        fs::rename(planted, &to)?;
        Ok(Some(to))
    }

    fn make_boxes(&self, boxes: &AttemptFolder) -> io::Result<()> {
        match fs::remove_dir_all(&boxes.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut folders = DirBuilder::new();
        folders.recursive(true).mode(0o700);
        folders.create(boxes.inbox())?;
        folders.create(boxes.outbox())
    }
}

impl LocalExecutor {
    fn to_state(&self, folder: &AttemptFolder, standing: AttemptStatus) -> io::Result<StepState> {
        Ok(match standing {
            AttemptStatus::Unclaimed => StepState::Unclaimed,
            AttemptStatus::Void => StepState::Void,
            AttemptStatus::Dead => StepState::Dead,
            AttemptStatus::Ended(ending) => {
                ending.restore_files(folder)?;
                StepState::Ended(ending)
            }
            AttemptStatus::Alive(keeper) => {
                let mut keepers = self.keepers.borrow_mut();
                keepers.entry(folder.path.clone()).or_insert_with(|| WatchedKeeper {
                    process: ProcessHandle::Found(keeper),
                    due: due(wall_ms(folder)),
                });
                StepState::Running
            }
        })
    }
}

impl SpareKeeper {
    /// Returns the keeper that waits for this step. One that waits for another one is ended.
    fn take_for(
        &mut self,
        folder: &AttemptFolder,
        env: &[(OsString, OsString)],
    ) -> Option<WaitingKeeper> {
        let waiting = self.waiting.take()?;
        // Code that ran meanwhile could have stopped it, or killed it.
        let is_ready = watch_pid(waiting.pid())
            .is_ok_and(|handle| wake(&handle).is_ok() && !is_readable(handle.as_fd()));
        if is_ready && waiting.is_for(folder, env) {
            return Some(waiting);
        }
        waiting.dismiss();
        None
    }

    /// Starts one for the next step, if that is foreseen: steps with following numbers and the same environment.
    fn prepare_next(
        &mut self,
        program: &Path,
        folder: &AttemptFolder,
        env: &[(OsString, OsString)],
    ) {
        let is_foreseen = self.last.take().is_some_and(|(last, last_env)| {
            next_folder(&last).as_ref() == Some(&folder.path) && last_env == env
        });
        self.last = Some((folder.path.clone(), env.to_vec()));
        let next = next_folder(&folder.path).filter(|_| is_foreseen);
        // Without one the next step starts its own.
        self.waiting =
            next.and_then(|next| WaitingKeeper::start(program, &AttemptFolder::at(next), env).ok());
    }
}

impl Drop for SpareKeeper {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.dismiss();
        }
    }
}

/// The folder of the call after the one in this folder, where folders are numbered.
fn next_folder(folder: &Path) -> Option<PathBuf> {
    let number: u32 = folder.file_name()?.to_str()?.parse().ok()?;
    Some(call_folder(folder.parent()?, number.checked_add(1)?))
}

/// How long a step under a keeper may take.
fn wall_ms(folder: &AttemptFolder) -> u64 {
    folder.spec().map_or(0, |spec| spec.limits.wall_ms)
}

/// When a keeper that starts or is found now must have ended by its own limits. Zero is no limit.
fn due(wall_ms: u64) -> Option<Instant> {
    let wall = Some(Duration::from_millis(wall_ms)).filter(|wall| !wall.is_zero());
    wall.and_then(|wall| Instant::now().checked_add(wall + WAKE_AFTER))
}

impl WatchedKeeper {
    /// A keeper that is past its time was stopped, perhaps by what runs below it: it is woken, so that it ends
    /// the step itself, and killed if that does not help.
    fn insist(&self, now: Instant) {
        let Some(late) = self.due.and_then(|due| now.checked_duration_since(due)) else { return };
        if let ProcessHandle::Job(job) = &self.process {
            return job.cancel(ExitReason::TimedOut);
        }
        let Some(keeper) = self.process.as_fd() else { return };
        let _is_gone = if late < KILL_AFTER { wake(keeper) } else { kill(keeper) };
    }
}

impl ProcessHandle {
    fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Child(_, handle) => Some(handle.as_fd()),
            Self::Found(keeper) => keeper.as_fd(),
            Self::Job(job) => Some(job.as_fd()),
        }
    }

    /// Whether the keeper is gone, or can no longer be watched.
    fn has_ended(&mut self) -> bool {
        match self {
            Self::Child(child, _) => !matches!(child.try_wait(), Ok(None)),
            Self::Found(keeper) => keeper.as_fd().is_none_or(is_readable),
            Self::Job(job) => is_readable(job.as_fd()),
        }
    }
}

fn is_readable(file: BorrowedFd<'_>) -> bool {
    let mut files = [PollFd::from_borrowed_fd(file, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut files, Some(&now)), Ok(n) if n > 0)
}

/// The program that runs now, which is also the keeper.
pub fn own_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(|error| {
        Error::surroundings(format!("cannot find our own program: {error}"), "forge doctor")
    })
}

/// Waits until one of the files is readable, or the time is over.
pub fn wait_for(files: &mut [PollFd<'_>], longest: Duration) -> io::Result<()> {
    let longest = Timespec {
        tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(longest.subsec_nanos()),
    };
    match poll(files, Some(&longest)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A handle on our own child, which cannot be anybody else before we have waited for it.
pub fn watch(child: &Child) -> io::Result<OwnedFd> {
    watch_pid(child.id().cast_signed())
}

fn watch_pid(child: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(child).expect("a child has a pid");
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// An executor that waits for this process as for a keeper, which was to end so long ago.
    fn waits_for(script: &str, late: Duration) -> (LocalExecutor, AttemptFolder) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let handle = watch(&child).unwrap();
        let process = ProcessHandle::Child(child, handle);
        let due = Instant::now().checked_sub(late);
        let (executor, folder) = (LocalExecutor::default(), AttemptFolder::at("/no/such/step"));
        let keeper = WatchedKeeper { process, due };
        executor.keepers.borrow_mut().insert(folder.path.clone(), keeper);
        (executor, folder)
    }

    #[track_caller]
    fn ends(executor: &LocalExecutor, folder: &AttemptFolder) {
        let until = Instant::now() + Duration::from_secs(20);
        while !executor.has_ended(folder) {
            assert!(Instant::now() < until, "it lives on");
            executor.wait(&[], LOOK_EVERY).unwrap();
        }
    }

    #[test]
    fn a_keeper_that_is_stopped_when_its_time_is_over_is_woken() {
        let (executor, folder) = waits_for("kill -STOP $$", Duration::ZERO);
        ends(&executor, &folder);
    }

    #[test]
    fn a_keeper_that_is_stopped_again_and_again_is_killed() {
        let (executor, folder) = waits_for("while :; do kill -STOP $$; done", KILL_AFTER);
        ends(&executor, &folder);
    }

    #[test]
    fn a_keeper_is_started_ahead_for_a_third_step_in_a_row_and_serves_that_one_alone() {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("keeper");
        fs::write(&program, "#!/bin/sh\nexec cat\n").unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o700)).unwrap();
        let call = |number| AttemptFolder::at(call_folder(home.path(), number));
        let (env, other): (Vec<(OsString, OsString)>, _) = (Vec::new(), [("A".into(), "1".into())]);
        let after = |steps: &[u32]| {
            let mut spare = SpareKeeper::default();
            for step in steps {
                spare.prepare_next(&program, &call(*step), &env);
            }
            spare
        };
        assert!(after(&[1]).waiting.is_none(), "nothing is foreseen yet");
        assert!(after(&[1, 3]).waiting.is_none());
        assert!(after(&[1, 2]).take_for(&call(3), &env).is_some_and(|keeper| {
            keeper.dismiss();
            true
        }));
        for (folder, env) in [(call(4), &env[..]), (call(3), &other)] {
            let mut spare = after(&[1, 2]);
            assert!(spare.take_for(&folder, env).is_none());
            assert!(spare.waiting.is_none(), "it was ended");
        }
        let mut spare = after(&[1, 2]);
        let handle = watch_pid(spare.waiting.as_ref().unwrap().pid()).unwrap();
        kill(&handle).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while !is_readable(handle.as_fd()) {
            assert!(Instant::now() < until, "it lives on");
        }
        assert!(spare.take_for(&call(3), &env).is_none(), "somebody killed it");
        assert!(!home.path().join("0003").exists());
    }

    #[test]
    fn a_step_without_a_limit_is_never_due_and_another_one_is_after_its_limit() {
        let home = tempfile::tempdir().unwrap();
        let folder = |wall_ms: u64| {
            let limits = forge_keeper::StepLimits { wall_ms, silence_ms: 0, output_bytes: 0 };
            let argv = vec!["true".to_owned()];
            let spec = crate::setup::environment::spec("a#1".to_owned(), argv, "/".into(), limits);
            AttemptFolder::create(&home.path().join(wall_ms.to_string()), &spec).unwrap()
        };
        assert_eq!(due(wall_ms(&folder(0))), None);
        let limit = Duration::from_secs(60);
        let (before, due) = (Instant::now(), due(wall_ms(&folder(60_000))).unwrap());
        assert!(due >= before + limit && due <= Instant::now() + limit + WAKE_AFTER);
    }
}
