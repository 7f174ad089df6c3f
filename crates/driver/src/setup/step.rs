//! What a call is given: its folder with brief and inbox, the program, the environment, limits.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use forge_core::{Run, id::CallId, run::CallKind};
use forge_keeper::{AttemptFolder, CallVariables, ROOM_BYTES_MIN, Spec, StepLimits};
use forge_project::settings::SecretsTable;
use forge_store::{atomic_file::replace_on, disk::Disk};
use forge_workspace::Operation;

use crate::{
    Error,
    context::RunContext,
    executor::CheckoutJob,
    plan::{
        step::{OUTSIDE, Step, StepKind},
        workspace_worker::{made_file, order_file, worker_argv, write_order},
    },
    setup::environment::{command_environment, outside_environment, own_environment, shell, spec},
};

/// How long a push, or what a host is asked for, may take.
const OUTSIDE_WALL_MS: u64 = 10 * 60 * 1000;

impl RunContext<'_> {
    /// The folder of a step, ready for a keeper, and the environment to start it with.
    pub fn prepare(&self, run: &Run, call: &CallId, step: &Step) -> Result<PreparedStep, Error> {
        let path = &step.folder;
        let own = self.own_program()?;
        self.check_room()?;
        let (spec, env) = match (&step.what, run.call_kind(call)) {
            (StepKind::Turn { turn, dir, .. }, CallKind::Agent { role }) => {
                self.turn_spec(run, call, path, turn, dir, &role)?
            }
            (StepKind::Turn { .. }, doing) => unreachable!("{doing:?} has no turns"),
            (StepKind::Command { dir }, CallKind::Command { run }) => (
                spec(call.to_string(), shell(run), dir.clone(), self.limits()),
                command_environment(&self.frozen.verify.pass),
            ),
            (StepKind::Command { .. }, doing) => unreachable!("{doing:?} is no command"),
            (StepKind::Shell { line, dir, limits, pass }, _) => (
                untold(spec(call.to_string(), shell(line.clone()), dir.clone(), *limits)),
                command_environment(pass),
            ),
            (StepKind::Outside(_), _) => {
                let folder = AttemptFolder::at(path.clone());
                let file = |path: PathBuf| path.to_string_lossy().into_owned();
                let files = [order_file(&folder), made_file(&folder)].map(file);
                let argv = [&[own, OUTSIDE.to_owned()][..], &files].concat();
                let repository = &self.home.repository;
                let dir = repository.top.as_ref().unwrap_or(&repository.common_dir).clone();
                let limits =
                    StepLimits { wall_ms: OUTSIDE_WALL_MS, silence_ms: 0, ..self.limits() };
                (untold(spec(call.to_string(), argv, dir, limits)), outside_environment())
            }
            (StepKind::Operation(order), _) => {
                let folder = AttemptFolder::at(path.clone());
                let secrets = self.secrets_for(run, order);
                let limits = StepLimits { silence_ms: 0, ..self.limits() };
                let (call, wall_ms) = (call.to_string(), limits.wall_ms);
                match self.place_of(order)? {
                    JobPlace::Keeper => {
                        let argv = worker_argv(&own, &folder, &secrets);
                        let spec = spec(call, argv, path.clone(), limits);
                        (untold(spec), own_environment())
                    }
                    JobPlace::Driver => {
                        let order = (**order).clone();
                        let job = Box::new(CheckoutJob { call, wall_ms, order, secrets });
                        return Ok(PreparedStep::Job { folder, job });
                    }
                }
            }
        };
        self.executor.prepare(path, &spec).map_err(|error| Error::file(path, &error))?;
        let folder = AttemptFolder::at(path);
        match &step.what {
            StepKind::Turn { turn, conflicts, .. } => {
                self.tell(run, call, &folder, turn, conflicts)?;
            }
            StepKind::Command { .. } => {
                self.fill_inbox(run, call, &folder)?;
            }
            StepKind::Operation(order) => {
                write_order(self.disk, &folder, order)
                    .map_err(|error| Error::file(path, &error))?;
            }
            StepKind::Outside(order) => {
                let bytes = serde_json::to_vec(order).expect("an order can be written");
                let to = order_file(&folder);
                replace_on(self.disk, &to, &bytes).map_err(|error| Error::file(&to, &error))?;
            }
            StepKind::Shell { .. } => {}
        }
        Ok(PreparedStep::Program { folder, env })
    }

    /// Starts a step that is prepared. Returns its folder.
    pub fn start(&self, step: PreparedStep) -> io::Result<AttemptFolder> {
        match step {
            PreparedStep::Job { folder, job } => {
                self.executor.start_job(&folder, *job)?;
                Ok(folder)
            }
            PreparedStep::Program { folder, env } => {
                self.executor.start(&folder, &env, self.secrets)?;
                Ok(folder)
            }
        }
    }

    /// Where an operation is performed. Programs of strangers, or of the person's, get a keeper: it limits and sweeps
    /// them, and has no terminal that they could wait for.
    fn place_of(&self, order: &Operation) -> Result<JobPlace, Error> {
        let place = match order {
            Operation::Hooks(_) => JobPlace::Keeper,
            Operation::Merge(_)
            | Operation::Move(_)
            | Operation::Attach(_)
            | Operation::Write(_) => JobPlace::Driver,
            Operation::Open(_)
            | Operation::Baseline(_)
            | Operation::Reuse(_)
            | Operation::Commit(_)
            | Operation::Restore(_) => {
                if self.code.has_filters()? {
                    JobPlace::Keeper
                } else {
                    JobPlace::Driver
                }
            }
        };
        Ok(place)
    }

    /// What an operation must keep out of its commit. The others write nothing that a guard would look at.
    fn secrets_for(&self, run: &Run, order: &Operation) -> SecretsTable {
        match order {
            Operation::Commit(_)
            | Operation::Hooks(_)
            | Operation::Attach(_)
            | Operation::Write(_) => self.secrets_table(run),
            Operation::Open(_)
            | Operation::Baseline(_)
            | Operation::Reuse(_)
            | Operation::Restore(_)
            | Operation::Merge(_)
            | Operation::Move(_) => SecretsTable::default(),
        }
    }
}

/// A step that can be started.
pub enum PreparedStep {
    /// Under a keeper; its folder is ready.
    Program { folder: AttemptFolder, env: Vec<(OsString, OsString)> },
    /// Work that the driver does itself.
    Job { folder: AttemptFolder, job: Box<CheckoutJob> },
}

/// Where work on a checkout is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JobPlace {
    /// By a thread of the driver: it can be repeated.
    Driver,
    /// Below a keeper, in a process of its own.
    Keeper,
}

impl RunContext<'_> {
    /// Says if there is room for a step at all, on the disk of the records and on that of the checkouts.
    pub fn check_room(&self) -> Result<(), Error> {
        // The folders of the checkouts may not be there yet.
        let is_there = |dir: &&Path| {
            let missing = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
            !self.disk.room(dir).is_err_and(|error| missing.contains(&error.kind()))
        };
        let checkouts = self.checkouts.ancestors().find(is_there);
        for dir in [Some(self.home.dir.as_path()), checkouts].into_iter().flatten() {
            has_room(self.disk, dir).map_err(|error| Error::file(dir, &error))?;
        }
        Ok(())
    }
}

/// Checks, set-ups and hooks run the code that is judged. They are not told where they run.
fn untold(spec: Spec) -> Spec {
    Spec { variables: CallVariables::Untold, ..spec }
}

/// Whether a disk has room for a step at all.
fn has_room(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    if disk.room(dir)? < ROOM_BYTES_MIN {
        return Err(rustix::io::Errno::NOSPC.into());
    }
    Ok(())
}
