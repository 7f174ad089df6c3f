//! Steps as processes of this machine: each under a keeper of its own, which outlives the driver.
//!
//! Invariant: who holds a claim, and what has an ending, is read from the folder of the step alone, so
//! that any driver finds the keepers of the one before.

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
    time::Duration,
};

use forge_core::{Time, hex::hex};
use forge_keeper::{
    ArtifactFlaw, AttemptFolder, AttemptStatus, Keeper, Spec, Stop, collect, give_up, look,
    open_regular, start_knowing_keeper, sweep,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

use crate::{
    Error, clock,
    executor::{Executor, Output, StepState, StopRequest},
};

/// How often a keeper that cannot be watched is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The executor of this machine. The default one only reads what steps left.
#[derive(Default)]
pub struct LocalExecutor {
    /// Our own program, which is also the keeper.
    program: PathBuf,
    /// The keepers that are waited for, by the folders of their steps.
    keepers: RefCell<BTreeMap<PathBuf, ProcessHandle>>,
}

/// A keeper that is waited for.
enum ProcessHandle {
    /// Started by us. Readable when it has ended.
    Child(Child, OwnedFd),
    /// Started by a driver before us.
    Found(Keeper),
}

impl LocalExecutor {
    /// An executor that starts `program` as its keepers.
    pub fn new(program: PathBuf) -> Self {
        Self { program, keepers: RefCell::default() }
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
        keepers.retain(|_, keeper| !keeper.has_ended());
        if keepers.len() < n_before {
            return Ok(());
        }
        let mut polled: Vec<PollFd<'_>> =
            files.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
        for keeper in keepers.values() {
            match keeper.as_fd() {
                Some(file) => polled.push(PollFd::from_borrowed_fd(file, PollFlags::IN)),
                None => longest = longest.min(LOOK_EVERY),
            }
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
        let child = start_knowing_keeper(&self.program, folder, env, secrets)?;
        let handle = watch(&child)?;
        let handle = ProcessHandle::Child(child, handle);
        self.keepers.borrow_mut().insert(folder.path.clone(), handle);
        Ok(())
    }

    fn state(&self, folder: &AttemptFolder) -> io::Result<StepState> {
        Ok(self.to_state(folder, look(folder)?))
    }

    fn has_ended(&self, folder: &AttemptFolder) -> bool {
        let mut keepers = self.keepers.borrow_mut();
        let has_ended = keepers.get_mut(&folder.path).is_none_or(ProcessHandle::has_ended);
        if has_ended {
            keepers.remove(&folder.path);
        }
        has_ended
    }

    fn stop(&self, folder: &AttemptFolder, how: Stop) -> io::Result<StopRequest> {
        let asked =
            |keeper: &Keeper| keeper.stop(how).map_or(StopRequest::NotNow, |()| StopRequest::Sent);
        if let Some(ProcessHandle::Found(keeper)) = self.keepers.borrow().get(&folder.path) {
            return Ok(asked(keeper));
        }
        // Our own keeper may not have claimed its folder yet; then it never will.
        let status = give_up(folder)?;
        let AttemptStatus::Alive(keeper) = status else { return Ok(StopRequest::Sent) };
        Ok(asked(&keeper))
    }

    fn give_up(&self, folder: &AttemptFolder) -> io::Result<StepState> {
        fs::create_dir_all(&folder.path)?;
        Ok(self.to_state(folder, give_up(folder)?))
    }

    fn sweep(&self, folder: &AttemptFolder) -> io::Result<()> {
        sweep(&folder.path)?;
        Ok(())
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
    fn to_state(&self, folder: &AttemptFolder, standing: AttemptStatus) -> StepState {
        match standing {
            AttemptStatus::Unclaimed => StepState::Unclaimed,
            AttemptStatus::Void => StepState::Void,
            AttemptStatus::Dead => StepState::Dead,
            AttemptStatus::Ended(ending) => StepState::Ended(ending),
            AttemptStatus::Alive(keeper) => {
                let mut keepers = self.keepers.borrow_mut();
                keepers.entry(folder.path.clone()).or_insert(ProcessHandle::Found(keeper));
                StepState::Running
            }
        }
    }
}

impl ProcessHandle {
    fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Child(_, handle) => Some(handle.as_fd()),
            Self::Found(keeper) => keeper.as_fd(),
        }
    }

    /// Whether the keeper is gone, or can no longer be watched.
    fn has_ended(&mut self) -> bool {
        match self {
            Self::Child(child, _) => !matches!(child.try_wait(), Ok(None)),
            Self::Found(keeper) => match keeper.as_fd() {
                None => true,
                Some(file) => {
                    let mut files = [PollFd::from_borrowed_fd(file, PollFlags::IN)];
                    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
                    matches!(poll(&mut files, Some(&now)), Ok(n) if n > 0)
                }
            },
        }
    }
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
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a child has a pid");
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}
