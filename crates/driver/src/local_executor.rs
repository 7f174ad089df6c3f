//! Makes what is under way equal to what is wanted, through keepers.
//!
//! A call goes through steps, each under a keeper of its own; its plan (`work.rs`) says which one is
//! next. A call that was started and has no ending is either wanted (then it is found, followed, or
//! started) or not (then it is stopped). Calling this twice changes nothing, and a driver that
//! died is no loss: the next one finds the keepers by their claims.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::Child,
    time::Duration,
};

use forge_core::{
    Effect, Report, Run,
    event::{Call, Outcome},
    id::CallId,
    run::{CallKind, Phase},
    wanted,
    wanted::stop,
};
use forge_keeper::{
    AttemptFolder, AttemptStatus, Keeper, give_up, look, start_knowing_keeper, sweep,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

use crate::{
    Error,
    agent_call::{
        output::{look_for_artifact, report},
        turns::usage_of_lost_call,
    },
    call_plan,
    context::RunContext,
    outcome::{EndedWithoutResult, report_without, without_result},
    plan::{
        Pending, Plan,
        step::{OnStop, Step},
    },
};

/// Keepers that end before they claim their folder: more than this is no accident.
const STARTS_MAX: u32 = 3;
/// How often a keeper that cannot be watched is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The calls that this driver follows.
#[derive(Default)]
pub struct Calls {
    under_way: BTreeMap<CallId, Followed>,
}

/// One call that is followed.
struct Followed {
    folder: AttemptFolder,
    on_stop: OnStop,
    process: ProcessHandle,
    /// Keepers started by us for this step.
    starts: u32,
    /// How it was told to stop.
    stopped: Option<forge_keeper::Stop>,
}

/// Whom we watch.
enum ProcessHandle {
    /// A keeper that we started. Readable when it has ended.
    Child(Child, OwnedFd),
    /// A keeper that somebody else started.
    Keeper(Keeper),
}

impl Calls {
    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Starts, finds or stops calls as the run wants it, and tells what has ended meanwhile.
    pub fn reconcile(&mut self, context: &RunContext<'_>, run: &Run) -> Result<Vec<Report>, Error> {
        let wanted: BTreeSet<CallId> = wanted(run).into_iter().filter_map(call_of).collect();
        let mut reports = Vec::new();
        let folder_of = |call: &Call| context.home.attempt(context.id, call.ordinal);
        context.trusted.forget_all_but(&run.calls().values().map(folder_of).collect());
        for (call, Call { ordinal, .. }) in run.calls() {
            let want = if wanted.contains(call) { Want::GoesOn } else { Want::Stops };
            match (run.call_kind(call), call, want) {
                (CallKind::Artifact { name }, CallId::Judgement(judgement), Want::GoesOn) => {
                    reports.push(look_for_artifact(context, run, judgement, &name)?);
                }
                (CallKind::Artifact { .. }, _, _) => {
                    reports.push(report_without(run, call, EndedWithoutResult::NeverBegan));
                }
                (
                    CallKind::Agent { .. }
                    | CallKind::Command { .. }
                    | CallKind::Verify
                    | CallKind::Land
                    | CallKind::BuiltIn { .. }
                    | CallKind::Deliver { .. },
                    _,
                    _,
                ) => reports.extend(self.follow(context, run, call, *ordinal, want)?),
            }
        }
        Ok(reports)
    }

    /// Brings one call on by one step, and reports it if it has ended.
    fn follow(
        &mut self,
        context: &RunContext<'_>,
        run: &Run,
        call: &CallId,
        ordinal: u32,
        want: Want,
    ) -> Result<Vec<Report>, Error> {
        if let Some(followed) = self.under_way.get_mut(call) {
            if !may_continue(run, want, followed.on_stop) {
                followed.stop(run)?;
            }
            if !followed.has_ended() {
                return Ok(Vec::new());
            }
        }
        let plan = Plan { context, run, call, ordinal, notices: RefCell::default() };
        if !plan.has_begun() {
            if want == Want::Stops {
                return Ok(vec![report_without(run, call, EndedWithoutResult::NeverBegan)]);
            }
            if run.call_kind(call).needs_proof_checkout() && is_proving_elsewhere(context, run) {
                return Ok(Vec::new());
            }
        }
        let before = self.under_way.remove(call);
        let next = call_plan::plan(&plan);
        let unit = call.unit();
        let noticed = |what: String| Report::Noticed { unit: unit.clone(), what };
        let mut reports: Vec<Report> = plan.notices.take().into_iter().map(noticed).collect();
        match next {
            Ok(report) => reports.push(report),
            // Whoever is not wanted any more begins nothing that must happen once.
            Err(Pending::RecordFirst(_)) if want == Want::Stops => {
                reports.push(report_without(run, call, EndedWithoutResult::NeverBegan));
            }
            Err(Pending::Report(report) | Pending::RecordFirst(report)) => reports.push(*report),
            Err(Pending::Failed(error)) => return Err(error),
            Err(Pending::Cancelled) => {
                reports.push(report_without(run, call, EndedWithoutResult::NeverBegan));
            }
            Err(Pending::KeeperDied(folder)) => {
                sweep(&folder.path).map_err(|error| Error::file(&folder.path, &error))?;
                reports.push(lost(&plan));
            }
            Err(Pending::Running(folder, on_stop, keeper)) => {
                let starts = before.map_or(0, |before| before.starts_of(&folder));
                let process = ProcessHandle::Keeper(keeper);
                let mut followed = Followed { folder, on_stop, process, starts, stopped: None };
                if !may_continue(run, want, on_stop) {
                    followed.stop(run)?;
                }
                self.under_way.insert(call.clone(), followed);
            }
            Err(Pending::Start(step)) => {
                let folder = AttemptFolder::at(&step.folder);
                let starts = before.map_or(0, |before| before.starts_of(&folder));
                let goes_on = may_continue(run, want, step.on_stop);
                if goes_on && starts < STARTS_MAX {
                    let followed = start(context, run, call, &step, starts + 1)?;
                    self.under_way.insert(call.clone(), followed);
                    return Ok(reports);
                }
                let why = std::fs::read_to_string(folder.keeper_log()).unwrap_or_default();
                let without = if goes_on {
                    EndedWithoutResult::NotStarted { why }
                } else {
                    EndedWithoutResult::NeverBegan
                };
                context.trusted.given_up(&folder.path);
                match voided(&folder).map_err(|error| Error::file(&folder.path, &error))? {
                    Voided::ByUs => reports.push(given_up(&plan, without)?),
                    // A keeper was faster: it is followed, or was heard of, at the next step.
                    Voided::No => {}
                }
            }
        }
        Ok(reports)
    }

    /// Waits until a keeper ends, one of the other files is readable, or the time is over.
    pub fn wait(&self, others: &[BorrowedFd<'_>], longest: Duration) -> io::Result<()> {
        let mut longest = longest;
        let mut files: Vec<PollFd<'_>> =
            others.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
        for followed in self.under_way.values() {
            match followed.watched() {
                Some(file) => files.push(PollFd::from_borrowed_fd(file, PollFlags::IN)),
                None => longest = longest.min(LOOK_EVERY),
            }
        }
        wait_for(&mut files, longest)
    }
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

/// Whether a call is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    GoesOn,
    Stops,
}

/// Whether a step of a call goes on. Taking in finished work does, unless the run is over.
fn may_continue(run: &Run, want: Want, on_stop: OnStop) -> bool {
    match (want, on_stop) {
        (Want::GoesOn, _) => true,
        (Want::Stops, OnStop::Cancel) => false,
        (Want::Stops, OnStop::Finish) => !matches!(run.phase(), Phase::Over(_)),
    }
}

/// Whether the one checkout for proofs is in use. Who has begun goes on with it.
fn is_proving_elsewhere(context: &RunContext<'_>, run: &Run) -> bool {
    run.calls().iter().any(|(call, Call { ordinal, .. })| {
        run.call_kind(call).needs_proof_checkout()
            && context.trusted.has_begun(&context.home.attempt(context.id, *ordinal))
    })
}

/// Starts a step.
fn start(
    context: &RunContext<'_>,
    run: &Run,
    call: &CallId,
    step: &Step,
    starts: u32,
) -> Result<Followed, Error> {
    let error = |error: io::Error| Error::file(context.program, &error);
    context.trusted.prepared(step);
    let (folder, env) = context.prepare(run, call, step)?;
    let child =
        start_knowing_keeper(context.program, &folder, &env, context.secrets).map_err(error)?;
    let handle = watch(&child).map_err(error)?;
    let process = ProcessHandle::Child(child, handle);
    Ok(Followed { folder, on_stop: step.on_stop, process, starts, stopped: None })
}

/// What a call comes to whose keeper died.
fn lost(plan: &Plan<'_>) -> Report {
    let Plan { run, call, .. } = *plan;
    match run.call_kind(call) {
        CallKind::Agent { .. } => without_result(call, Outcome::Lost, usage_of_lost_call(plan)),
        CallKind::Command { .. }
        | CallKind::Artifact { .. }
        | CallKind::Verify
        | CallKind::Land
        | CallKind::BuiltIn { .. }
        | CallKind::Deliver { .. } => report_without(run, call, EndedWithoutResult::Lost),
    }
}

/// What a call comes to that does not go on. What it did before that still has its price, and an agent
/// its session.
fn given_up(plan: &Plan<'_>, without: EndedWithoutResult) -> Result<Report, Error> {
    let Plan { context, run, call, .. } = *plan;
    let folder = plan.folder();
    let standing = look(&folder).map_err(|error| Error::file(&folder.path, &error))?;
    Ok(match (standing, run.call_kind(call)) {
        (AttemptStatus::Ended(_), CallKind::Agent { .. }) => {
            without_result(call, without.outcome(), usage_of_lost_call(plan))
        }
        (AttemptStatus::Ended(ending), CallKind::Command { .. }) => {
            report(context, run, call, &folder, &ending)?
        }
        (
            AttemptStatus::Ended(_)
            | AttemptStatus::Alive(_)
            | AttemptStatus::Dead
            | AttemptStatus::Void
            | AttemptStatus::Unclaimed,
            _,
        ) => report_without(run, call, without),
    })
}

/// Whether a folder now says that nobody will ever work in it.
enum Voided {
    ByUs,
    No,
}

fn voided(folder: &AttemptFolder) -> io::Result<Voided> {
    if let Some(parent) = folder.path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::create_dir_all(&folder.path)?;
    Ok(match give_up(folder)? {
        AttemptStatus::Void => Voided::ByUs,
        AttemptStatus::Alive(_)
        | AttemptStatus::Ended(_)
        | AttemptStatus::Dead
        | AttemptStatus::Unclaimed => Voided::No,
    })
}

/// A handle on our own child, which cannot be anybody else before we have waited for it.
pub fn watch(child: &Child) -> io::Result<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a child has a pid");
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

impl Followed {
    /// Keepers started by us for the step in this folder.
    fn starts_of(&self, folder: &AttemptFolder) -> u32 {
        if self.folder == *folder { self.starts } else { 0 }
    }

    fn watched(&self) -> Option<BorrowedFd<'_>> {
        match &self.process {
            ProcessHandle::Child(_, handle) => Some(handle.as_fd()),
            ProcessHandle::Keeper(keeper) => keeper.as_fd(),
        }
    }

    /// Whether the keeper is gone, or can no longer be watched.
    fn has_ended(&mut self) -> bool {
        match &mut self.process {
            ProcessHandle::Child(child, _) => !matches!(child.try_wait(), Ok(None)),
            ProcessHandle::Keeper(keeper) => match keeper.as_fd() {
                None => true,
                Some(file) => {
                    let mut files = [PollFd::from_borrowed_fd(file, PollFlags::IN)];
                    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
                    matches!(poll(&mut files, Some(&now)), Ok(n) if n > 0)
                }
            },
        }
    }

    /// Tells the keeper to stop, once for each way of stopping.
    fn stop(&mut self, run: &Run) -> Result<(), Error> {
        let how = match stop(run) {
            wanted::StopManner::Gently => forge_keeper::Stop::Gently,
            wanted::StopManner::AtOnce => forge_keeper::Stop::AtOnce,
        };
        if self.stopped == Some(how) {
            return Ok(());
        }
        let error = |error: io::Error| Error::file(&self.folder.path, &error);
        let told = match &self.process {
            ProcessHandle::Keeper(keeper) => keeper.stop(how),
            // Our keeper may not have claimed its folder yet; then it never will.
            ProcessHandle::Child(..) => match give_up(&self.folder).map_err(error)? {
                AttemptStatus::Alive(keeper) => keeper.stop(how),
                AttemptStatus::Void
                | AttemptStatus::Ended(_)
                | AttemptStatus::Dead
                | AttemptStatus::Unclaimed => Ok(()),
            },
        };
        // A keeper that cannot be told has ended, or is just beginning: the next step knows more.
        if told.is_ok() {
            self.stopped = Some(how);
        }
        Ok(())
    }
}

fn call_of(effect: Effect) -> Option<CallId> {
    match effect {
        Effect::Work { attempt, .. } => Some(CallId::Attempt(attempt)),
        Effect::Judge { judgement, .. } => Some(CallId::Judgement(judgement)),
        Effect::Ask { .. } | Effect::Wake { .. } => None,
    }
}
