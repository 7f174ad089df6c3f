//! The steps of a call, each under a keeper (for most work on checkouts the driver itself), in the order in which they are asked for.
//!
//! A plan (`call_plan`, `gates`, `deliver`) is ordinary code that asks for one step after the other. It is
//! run again from the top whenever a step has ended: steps that have an ending answer at once
//! with what they left, the first one that has none stops the plan. So a plan can be interrupted
//! anywhere and by anything, and nothing that has ended is done twice.
//!
//! Invariant: a plan depends on nothing but the facts of the run and on what its steps left.

pub mod checkout_job;
mod shared_setup;
pub mod step;
pub mod workspace_worker;

use std::{
    cell::{Cell, RefCell},
    io,
    path::{Path, PathBuf},
};

use forge_core::{
    Report, Run,
    event::{Outcome, Receipt},
    failure::FaultClass,
    hex::hex,
    id::CallId,
    money::Spent,
};
use forge_keeper::{AttemptFolder, Ending, EndingProof, ExitReason};
use forge_project::settings::PassedVariables;
use forge_store::atomic_file::replace_on;
use forge_workspace::{
    CachesBefore, FailureCause, OpenedCheckout, Operation, OperationResult, RecordBaseline,
    ReusedSetUp, WorkspaceError,
};
use sha2::{Digest as _, Sha256};

use crate::{
    Error,
    context::RunContext,
    executor::StepState,
    outcome::{CommandEnd, command_end, tail_of, without_result},
    plan::{
        step::{OnStop, SetUpBefore, Step, StepKind, steps_of},
        workspace_worker::{operation_result, read_order},
    },
    run_id::short_id,
    trusted_folders::{foreign_files_notice, try_folder},
};

/// How often one driver does work on a checkout again that failed, was killed, or lost its keeper. It
/// can be repeated, and what an agent finished before it must not be lost with it.
const AGAIN_MAX: usize = 5;
/// The last bytes of a transcript that are looked at.
const TRANSCRIPT_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The most tries of one step by all drivers.
const TRIES_MAX: u32 = 10_000;

/// Why a plan stops before its end.
pub enum Pending {
    /// This step is next.
    Start(Box<Step>),
    /// This step is under way.
    Running(AttemptFolder, OnStop),
    /// The keeper of this step died.
    KeeperDied(AttemptFolder),
    /// This step was given up before it began.
    Cancelled,
    /// The call is over.
    Report(Box<Report>),
    /// This is to be a fact before the plan goes on.
    RecordFirst(Box<Report>),
    /// Something that a user can mend.
    Failed(Error),
}

impl From<forge_project::Error> for Pending {
    fn from(error: forge_project::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for Pending {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A call, and all that its plan may look at.
pub struct Plan<'a> {
    /// What all calls of the run have in common.
    pub context: &'a RunContext<'a>,
    /// The run.
    pub run: &'a Run,
    /// The call.
    pub call: &'a CallId,
    /// The number of its folder.
    pub ordinal: u32,
    /// What a person should know, and what stops nothing.
    pub notices: RefCell<Vec<String>>,
    /// How long all steps took that have ended.
    pub took_ms: Cell<u64>,
}

impl Plan<'_> {
    /// The folder of the call itself.
    pub fn folder(&self) -> AttemptFolder {
        AttemptFolder::at(self.context.home.attempt(self.context.id, self.ordinal))
    }

    /// The folder with the inbox and the outbox of the call.
    pub fn boxes(&self) -> AttemptFolder {
        let boxes = self.context.boxes(self.ordinal);
        // Commands have theirs in the folder of the call, as agents of an older Forge had.
        if self.context.disk.list(&boxes.outbox()).is_ok() { boxes } else { self.folder() }
    }

    /// Where the other steps lie.
    fn steps(&self) -> PathBuf {
        steps_of(&self.folder().path)
    }

    /// Whether any step of it was ever prepared.
    pub fn has_begun(&self) -> bool {
        self.context.trusted.has_begun(&self.folder().path)
    }

    /// Whether this step of it was ever prepared.
    pub fn step_was_prepared(&self, name: &str) -> bool {
        self.context.trusted.knows(&self.steps().join(name))
    }

    /// Whether the work itself was ever prepared.
    pub fn was_prepared(&self) -> bool {
        self.context.trusted.knows(&self.folder().path)
    }

    /// Tells something that stops nothing.
    pub fn notice(&self, what: String) {
        self.notices.borrow_mut().push(what);
    }

    /// The folder of another step.
    pub fn step_folder(&self, name: &str) -> AttemptFolder {
        AttemptFolder::at(self.steps().join(name))
    }

    /// The command itself.
    pub fn command(&self, dir: &Path) -> Result<Ending, Pending> {
        self.while_wanted(self.folder().path, || Ok(StepKind::Command { dir: dir.to_owned() }))
    }

    /// A step that is done only while the call is wanted.
    pub fn while_wanted(
        &self,
        path: PathBuf,
        what: impl FnOnce() -> Result<StepKind, Error>,
    ) -> Result<Ending, Pending> {
        self.step(path, OnStop::Cancel, what)
    }

    /// Opens a checkout.
    pub fn opened(
        &self,
        name: &str,
        order: impl FnOnce() -> Result<Operation, Error>,
    ) -> Result<OpenedCheckout, Pending> {
        let OperationResult::Opened(opened) = self.operation(name, OnStop::Cancel, order)? else {
            unreachable!("the worker opens what it is asked to open")
        };
        Ok(opened)
    }

    /// Opens the checkout for proofs, and sets it up: what a set-up makes outside the caches is gone.
    pub fn opened_for_proof(
        &self,
        prefix: &str,
        order: impl FnOnce() -> Operation,
    ) -> Result<OpenedCheckout, Pending> {
        let opened = self.opened(&format!("{prefix}open"), || Ok(order()))?;
        self.set_up(prefix, &opened, SetUpBefore::Gone)?;
        Ok(opened)
    }

    /// Puts the files of the checkout for proofs back. What differed.
    pub fn sealed(&self, prefix: &str, order: Operation) -> Result<Vec<String>, Pending> {
        let name = format!("{prefix}seal");
        let OperationResult::Restored(restored) =
            self.operation(&name, OnStop::Cancel, || Ok(order))?
        else {
            unreachable!("the worker puts back what it is asked to put back")
        };
        Ok(restored.discarded)
    }

    /// The end of what a step printed.
    pub fn transcript(&self, folder: &AttemptFolder) -> Result<String, Error> {
        tail_of(self.context.executor, &folder.transcript(), TRANSCRIPT_BYTES_MAX)
            .map_err(|error| Error::file(&folder.transcript(), &error))
    }

    /// A line for the shell, under its own name.
    pub fn shell(
        &self,
        name: &str,
        line: &str,
        dir: &Path,
        limits: forge_keeper::StepLimits,
    ) -> Result<(AttemptFolder, Ending), Pending> {
        self.shell_with(&self.context.frozen.verify.pass, name, line, dir, limits)
    }

    /// The same, with other variables of the person's.
    pub fn shell_with(
        &self,
        pass: &PassedVariables,
        name: &str,
        line: &str,
        dir: &Path,
        limits: forge_keeper::StepLimits,
    ) -> Result<(AttemptFolder, Ending), Pending> {
        let path = self.steps().join(name);
        let (line, dir, pass) = (line.to_owned(), dir.to_owned(), pass.clone());
        let what = || Ok(StepKind::Shell { line, dir, limits, pass });
        let ending = self.step(path.clone(), OnStop::Cancel, what)?;
        Ok((AttemptFolder::at(path), ending))
    }

    /// Work on a checkout, under its own name. What cannot be done ends the call.
    pub fn operation(
        &self,
        name: &str,
        on_stop: OnStop,
        order: impl FnOnce() -> Result<Operation, Error>,
    ) -> Result<OperationResult, Pending> {
        self.try_operation(name, on_stop, order)?
            .map_err(|what| self.fault(FaultClass::NoWorkspace, what))
    }

    /// Work on a checkout, under its own name: what was made, or why it cannot be done, if that is
    /// the doing of who worked there. What fails for any other reason is done again; if it keeps
    /// failing, the driver stops, and the next one begins with a new try.
    pub fn try_operation(
        &self,
        name: &str,
        on_stop: OnStop,
        order: impl FnOnce() -> Result<Operation, Error>,
    ) -> Result<Result<OperationResult, String>, Pending> {
        let mut order = Some(order);
        let mut what = || {
            let order = order.take().expect("one step is due at a time");
            Ok(StepKind::Operation(Box::new(order()?)))
        };
        let (trusted, first) = (self.context.trusted, self.steps().join(name));
        // A try was over before the next one was prepared, whatever a loss of power left of it.
        for again in trusted.last_try(&first).unwrap_or(0)..TRIES_MAX {
            let failure = match self.step(try_folder(&first, again), on_stop, &mut what) {
                Err(Pending::KeeperDied(folder)) => {
                    // Whoever is left of it must not work beside the next one.
                    let swept = self.context.executor.sweep(&folder);
                    swept.map_err(|error| Error::file(&folder.path, &error))?;
                    WorkspaceError::from_message("the checkout job lost its process")
                }
                Err(pending) => return Err(pending),
                Ok(ending) => {
                    let folder = AttemptFolder::at(try_folder(&first, again));
                    match self.operation_result(&folder, &ending)? {
                        Ok(made) => return Ok(Ok(made)),
                        Err(None) => return Err(self.interrupted()),
                        Err(Some(failure)) => failure,
                    }
                }
            };
            match failure.cause {
                FailureCause::Checkout => return Ok(Err(failure.to_string())),
                FailureCause::Surroundings => {}
            }
            let is_ours = |again: &u32| trusted.order(&try_folder(&first, *again)).is_some();
            if (0..=again).filter(is_ours).count() > AGAIN_MAX {
                return Err(Error::from(failure).into());
            }
        }
        let what = format!("`{name}` of {} failed {TRIES_MAX} times", self.call);
        Err(Error::surroundings(what, "forge abandon").into())
    }

    /// What the worker made, or why not: nothing, if it was interrupted.
    fn operation_result(
        &self,
        folder: &AttemptFolder,
        ending: &Ending,
    ) -> Result<Result<OperationResult, Option<WorkspaceError>>, Error> {
        let trusted = self.context.trusted;
        if let Some(made) = trusted.operation_result(&folder.path) {
            return Ok(Ok(made));
        }
        if ending.how == ExitReason::Interrupted {
            return Ok(Err(None));
        }
        let Some(made) = operation_result(self.context.executor, folder, ending)? else {
            let what = match command_end(self.context.executor, folder, ending) {
                CommandEnd::Success | CommandEnd::Interrupted => {
                    "the checkout job left no result".to_owned()
                }
                CommandEnd::Failure { what, .. } | CommandEnd::Fault { what, .. } => what,
            };
            return Ok(Err(Some(WorkspaceError::from_message(what))));
        };
        if let Ok(made) = &made {
            trusted.keep_operation_result(&folder.path, made);
        }
        Ok(made.map_err(Some))
    }

    /// The order that was given to a step of the worker.
    pub fn ordered(&self, name: &str) -> Result<Operation, Error> {
        let first = self.steps().join(name);
        let folder = try_folder(&first, self.context.trusted.last_try(&first).unwrap_or(0));
        if let Some(order) = self.context.trusted.order(&folder) {
            return Ok(order);
        }
        let folder = AttemptFolder::at(folder);
        let state = self.state(&folder).map_err(|error| Error::file(&folder.path, &error))?;
        let ending = if let StepState::Ended(ending) = &state { Some(ending) } else { None };
        read_order(self.context.executor, self.context.disk, &folder, ending)
    }

    /// How a step of this call stands.
    pub fn state(&self, folder: &AttemptFolder) -> io::Result<StepState> {
        self.with_proof(|proof| self.context.executor.state(folder, proof))
    }

    /// Makes sure that a step of this call never starts from now on.
    pub fn give_up(&self, folder: &AttemptFolder) -> io::Result<StepState> {
        self.with_proof(|proof| self.context.executor.give_up(folder, proof))
    }

    /// What the facts say about how a true ending of this call is known.
    fn with_proof<T>(&self, look: impl FnOnce(&EndingProof<'_>) -> T) -> T {
        match self.run.calls().get(self.call).and_then(|call| self.run.ending_keys(call)) {
            Some(keys) => {
                look(&EndingProof::Signed { call: &self.call.to_string(), keys, own: None })
            }
            None => look(&EndingProof::NotNeeded),
        }
    }

    fn step(
        &self,
        path: PathBuf,
        on_stop: OnStop,
        what: impl FnOnce() -> Result<StepKind, Error>,
    ) -> Result<Ending, Pending> {
        let folder = AttemptFolder::at(path);
        let trusted = self.context.trusted;
        let took = |ending: &Ending| {
            let ms = ending.ended_at_ms.saturating_sub(ending.started_at_ms);
            self.took_ms.set(self.took_ms.get().saturating_add(ms));
        };
        if let Some(ending) = trusted.ending(&folder.path) {
            took(&ending);
            return Ok(ending);
        }
        if let Some(aside) = trusted.quarantine_foreign(self.context.executor, &folder.path)? {
            self.notice(foreign_files_notice(&aside));
        }
        let state = self.state(&folder);
        match state.map_err(|error| Error::file(&folder.path, &error))? {
            StepState::Ended(ending) => {
                trusted.ended(&folder.path, &ending);
                took(&ending);
                Ok(ending)
            }
            StepState::Running => Err(Pending::Running(folder, on_stop)),
            StepState::Dead => Err(Pending::KeeperDied(folder)),
            StepState::Void => Err(Pending::Cancelled),
            StepState::Unclaimed => {
                Err(Pending::Start(Box::new(Step { folder: folder.path, what: what()?, on_stop })))
            }
        }
    }

    /// Sets a checkout up, if that was not done there for these inputs yet: what another checkout of the run has is copied, or the
    /// project's commands are run.
    pub fn set_up(
        &self,
        prefix: &str,
        opened: &OpenedCheckout,
        before: SetUpBefore,
    ) -> Result<(), Pending> {
        let setup = &self.context.frozen.setup;
        if setup.is_empty() {
            return Ok(());
        }
        let mut hash = Sha256::new();
        for line in setup.iter().chain([&opened.setup]) {
            hash.update(line.as_bytes());
            hash.update([0]);
        }
        let wanted = hex(&hash.finalize());
        let beside = opened.tree.parent().expect("a checkout has a folder around it");
        let mark = beside.join("setup.done");
        let is_new = before == SetUpBefore::Gone || opened.is_new;
        let disk = self.context.disk;
        let has_length = disk.length(&mark).is_ok_and(|length| length == wanted.len() as u64);
        let is_same = has_length && disk.read(&mark).is_ok_and(|done| done == wanted.as_bytes());
        if !is_new && is_same {
            return Ok(());
        }
        let location = self.context.home.checkout_at(beside.to_owned());
        let caches = if is_same { CachesBefore::SameSetUp } else { CachesBefore::OtherSetUp };
        let shared = self.shared_setup(&wanted, location.clone(), caches).filter(|_| is_new);
        let (baseline, reuse) = (format!("{prefix}setup-baseline"), format!("{prefix}setup-reuse"));
        // An older Forge began with the commands.
        let has_run = self.step_was_prepared(&format!("{prefix}setup-1"));
        let steps = [&baseline, &reuse];
        let has_steps = has_run || steps.into_iter().any(|name| self.step_was_prepared(name));
        // It was set up before this call, and only the mark is gone: what the call has changed by now is not the set-up's.
        if !has_steps && self.was_prepared() {
            return Ok(());
        }
        let reused = match &shared {
            Some(shared) if self.step_was_prepared(&reuse) || !has_run => {
                Some(self.reused_setup(&reuse, shared)?)
            }
            Some(_) | None => None,
        };
        let commands = if reused == Some(ReusedSetUp::Copied) { &[] } else { &setup[..] };
        for (number, line) in (1..).zip(commands) {
            let name = format!("{prefix}setup-{number}");
            let (folder, ending) = self.shell(&name, line, &opened.tree, self.context.limits())?;
            let end = command_end(self.context.executor, &folder, &ending);
            let ended_by_itself = matches!(end, CommandEnd::Failure { .. });
            match end {
                CommandEnd::Success => {}
                CommandEnd::Interrupted => return Err(self.interrupted()),
                CommandEnd::Failure { what, .. } | CommandEnd::Fault { what, .. } => {
                    // Nobody has worked here yet.
                    let is_new = ended_by_itself && disk.length(&mark).is_err();
                    if is_new && self.is_at_the_base(&opened.head)? {
                        self.name_missing(&name, line, &opened.tree, self.context.limits())?;
                    }
                    let last = what.lines().rev().find(|line| !line.trim().is_empty());
                    let last = last.map(|last| format!(": {}", last.trim())).unwrap_or_default();
                    let id = short_id(self.context.id);
                    let what = format!(
                        "{what}\nthe setup command `{line}` failed{last}; to change it in this run: \
                         forge resume {id} --set 'workspace.setup=[\"COMMAND\"]'"
                    );
                    return Err(self.fault(FaultClass::NoWorkspace, what));
                }
            }
        }
        // An older Forge began the work without it: by now files are there that the set-up did not make.
        let is_late = !self.step_was_prepared(&baseline) && self.was_prepared();
        if !is_late {
            let order = || {
                let shared = shared.filter(|_| reused == Some(ReusedSetUp::Missing));
                let save = shared.map(|shared| self.saved_setup(&shared, opened)).transpose()?;
                Ok(Operation::Baseline(RecordBaseline { location, save: save.flatten() }))
            };
            self.operation(&baseline, OnStop::Cancel, order)?;
        }
        replace_on(disk, &mark, wanted.as_bytes()).map_err(|error| Error::file(&mark, &error))?;
        Ok(())
    }

    /// The call ends without a result, and not because of what was worked.
    pub fn fault(&self, class: FaultClass, what: String) -> Pending {
        self.ends(Outcome::Fault { class, what })
    }

    /// The call was stopped by us.
    pub fn interrupted(&self) -> Pending {
        self.ends(Outcome::Interrupted)
    }

    /// The call ends like this, before anybody worked.
    pub fn ends(&self, outcome: Outcome) -> Pending {
        let receipt = Receipt::from_spent(Spent::NOTHING);
        Pending::Report(Box::new(without_result(self.call, outcome, receipt)))
    }
}
