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
use forge_keeper::{AttemptFolder, Keeper, Standing, give_up, look, start_knowing_keeper, sweep};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

use crate::{
    Trouble,
    agent_call::{
        output::{look_for_artifact, report},
        turns::heard_so_far,
    },
    call_plan,
    context::Shop,
    outcome::{Without, report_without, without_result},
    plan::{
        Halt, Plan,
        step::{Duty, Step},
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
    duty: Duty,
    hand: Hand,
    /// Keepers started by us for this step.
    starts: u32,
    /// How it was told to stop.
    stopped: Option<forge_keeper::Stop>,
}

/// Whom we watch.
enum Hand {
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
    pub fn reconcile(&mut self, shop: &Shop<'_>, run: &Run) -> Result<Vec<Report>, Trouble> {
        let wanted: BTreeSet<CallId> = wanted(run).into_iter().filter_map(call_of).collect();
        let mut reports = Vec::new();
        let folder_of = |call: &Call| shop.home.attempt(shop.id, call.ordinal);
        shop.ours.forget_all_but(&run.calls().values().map(folder_of).collect());
        for (call, Call { ordinal, .. }) in run.calls() {
            let want = if wanted.contains(call) { Want::GoesOn } else { Want::Stops };
            match (run.call_kind(call), call, want) {
                (CallKind::Artifact { name }, CallId::Judgement(judgement), Want::GoesOn) => {
                    reports.push(look_for_artifact(shop, run, judgement, &name)?);
                }
                (CallKind::Artifact { .. }, _, _) => {
                    reports.push(report_without(run, call, Without::NeverBegan));
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
                ) => reports.extend(self.follow(shop, run, call, *ordinal, want)?),
            }
        }
        Ok(reports)
    }

    /// Brings one call on by one step, and reports it if it has ended.
    fn follow(
        &mut self,
        shop: &Shop<'_>,
        run: &Run,
        call: &CallId,
        ordinal: u32,
        want: Want,
    ) -> Result<Vec<Report>, Trouble> {
        if let Some(followed) = self.under_way.get_mut(call) {
            if !goes_on(run, want, followed.duty) {
                followed.stop(run)?;
            }
            if !followed.has_ended() {
                return Ok(Vec::new());
            }
        }
        let plan = Plan { shop, run, call, ordinal, notices: RefCell::default() };
        if !plan.has_begun() {
            if want == Want::Stops {
                return Ok(vec![report_without(run, call, Without::NeverBegan)]);
            }
            if run.call_kind(call).needs_proof_checkout() && somebody_proves(shop, run) {
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
            Err(Halt::Says(_)) if want == Want::Stops => {
                reports.push(report_without(run, call, Without::NeverBegan));
            }
            Err(Halt::Report(report) | Halt::Says(report)) => reports.push(*report),
            Err(Halt::Trouble(trouble)) => return Err(trouble),
            Err(Halt::Void) => reports.push(report_without(run, call, Without::NeverBegan)),
            Err(Halt::Dead(folder)) => {
                sweep(&folder.path).map_err(|error| Trouble::file(&folder.path, &error))?;
                reports.push(lost(&plan));
            }
            Err(Halt::Alive(folder, duty, keeper)) => {
                let starts = before.map_or(0, |before| before.starts_of(&folder));
                let hand = Hand::Keeper(keeper);
                let mut followed = Followed { folder, duty, hand, starts, stopped: None };
                if !goes_on(run, want, duty) {
                    followed.stop(run)?;
                }
                self.under_way.insert(call.clone(), followed);
            }
            Err(Halt::Due(step)) => {
                let folder = AttemptFolder::at(&step.folder);
                let starts = before.map_or(0, |before| before.starts_of(&folder));
                let goes_on = goes_on(run, want, step.duty);
                if goes_on && starts < STARTS_MAX {
                    let followed = start(shop, run, call, &step, starts + 1)?;
                    self.under_way.insert(call.clone(), followed);
                    return Ok(reports);
                }
                let why = std::fs::read_to_string(folder.keeper_log()).unwrap_or_default();
                let without =
                    if goes_on { Without::NotStarted { why } } else { Without::NeverBegan };
                shop.ours.given_up(&folder.path);
                match voided(&folder).map_err(|error| Trouble::file(&folder.path, &error))? {
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
fn goes_on(run: &Run, want: Want, duty: Duty) -> bool {
    match (want, duty) {
        (Want::GoesOn, _) => true,
        (Want::Stops, Duty::WhileWanted) => false,
        (Want::Stops, Duty::ToTheEnd) => !matches!(run.phase(), Phase::Over(_)),
    }
}

/// Whether the one checkout for proofs is in use. Who has begun goes on with it.
fn somebody_proves(shop: &Shop<'_>, run: &Run) -> bool {
    run.calls().iter().any(|(call, Call { ordinal, .. })| {
        run.call_kind(call).needs_proof_checkout()
            && shop.ours.has_begun(&shop.home.attempt(shop.id, *ordinal))
    })
}

/// Starts a step.
fn start(
    shop: &Shop<'_>,
    run: &Run,
    call: &CallId,
    step: &Step,
    starts: u32,
) -> Result<Followed, Trouble> {
    let trouble = |error: io::Error| Trouble::file(shop.program, &error);
    shop.ours.prepared(step);
    let (folder, env) = shop.prepare(run, call, step)?;
    let child = start_knowing_keeper(shop.program, &folder, &env, shop.secrets).map_err(trouble)?;
    let handle = watch(&child).map_err(trouble)?;
    let hand = Hand::Child(child, handle);
    Ok(Followed { folder, duty: step.duty, hand, starts, stopped: None })
}

/// What a call comes to whose keeper died.
fn lost(plan: &Plan<'_>) -> Report {
    let Plan { run, call, .. } = *plan;
    match run.call_kind(call) {
        CallKind::Agent { .. } => without_result(call, Outcome::Lost, heard_so_far(plan)),
        CallKind::Command { .. }
        | CallKind::Artifact { .. }
        | CallKind::Verify
        | CallKind::Land
        | CallKind::BuiltIn { .. }
        | CallKind::Deliver { .. } => report_without(run, call, Without::Lost),
    }
}

/// What a call comes to that does not go on. What it did before that still has its price, and an agent
/// its session.
fn given_up(plan: &Plan<'_>, without: Without) -> Result<Report, Trouble> {
    let Plan { shop, run, call, .. } = *plan;
    let folder = plan.folder();
    let standing = look(&folder).map_err(|error| Trouble::file(&folder.path, &error))?;
    Ok(match (standing, run.call_kind(call)) {
        (Standing::Ended(_), CallKind::Agent { .. }) => {
            without_result(call, without.outcome(), heard_so_far(plan))
        }
        (Standing::Ended(ending), CallKind::Command { .. }) => {
            report(shop, run, call, &folder, &ending)?
        }
        (
            Standing::Ended(_)
            | Standing::Alive(_)
            | Standing::Dead
            | Standing::Void
            | Standing::Unclaimed,
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
        Standing::Void => Voided::ByUs,
        Standing::Alive(_) | Standing::Ended(_) | Standing::Dead | Standing::Unclaimed => {
            Voided::No
        }
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
        match &self.hand {
            Hand::Child(_, handle) => Some(handle.as_fd()),
            Hand::Keeper(keeper) => keeper.as_fd(),
        }
    }

    /// Whether the keeper is gone, or can no longer be watched.
    fn has_ended(&mut self) -> bool {
        match &mut self.hand {
            Hand::Child(child, _) => !matches!(child.try_wait(), Ok(None)),
            Hand::Keeper(keeper) => match keeper.as_fd() {
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
    fn stop(&mut self, run: &Run) -> Result<(), Trouble> {
        let how = match stop(run) {
            wanted::Stop::Gently => forge_keeper::Stop::Gently,
            wanted::Stop::AtOnce => forge_keeper::Stop::AtOnce,
        };
        if self.stopped == Some(how) {
            return Ok(());
        }
        let trouble = |error: io::Error| Trouble::file(&self.folder.path, &error);
        let told = match &self.hand {
            Hand::Keeper(keeper) => keeper.stop(how),
            // Our keeper may not have claimed its folder yet; then it never will.
            Hand::Child(..) => match give_up(&self.folder).map_err(trouble)? {
                Standing::Alive(keeper) => keeper.stop(how),
                Standing::Void | Standing::Ended(_) | Standing::Dead | Standing::Unclaimed => {
                    Ok(())
                }
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
