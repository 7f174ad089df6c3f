//! Makes what is under way equal to what is wanted, through keepers.
//!
//! A call that was started and has no ending is either wanted (then it is found, followed, or
//! started) or not (then it is stopped). Calling this twice changes nothing, and a driver that
//! died is no loss: the next one finds the keepers by their claims.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::Child,
    time::Duration,
};

use forge_agents::{AttemptFolder, Keeper, Standing, give_up, look, start_keeper, sweep};
use forge_core::{Effect, Report, Run, event::Call, id::CallId, wanted, wanted::stop};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

use crate::{
    Trouble,
    intake::{Without, look_for_artifact, report, report_without},
    prepare::{Doing, Shop, doing},
};

/// Keepers that end before they claim their folder: more than this is no accident.
const STARTS_MAX: u32 = 3;
/// How often a keeper that cannot be watched is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The calls that this driver follows.
#[derive(Default)]
pub(crate) struct Calls {
    under_way: BTreeMap<CallId, Followed>,
}

/// One call that is followed.
struct Followed {
    folder: AttemptFolder,
    hand: Hand,
    /// Keepers started by us for this call.
    starts: u32,
    /// How it was told to stop.
    stopped: Option<forge_agents::Stop>,
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
    pub(crate) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Starts, finds or stops calls as the run wants it, and tells what has ended meanwhile.
    pub(crate) fn reconcile(&mut self, shop: &Shop<'_>, run: &Run) -> Result<Vec<Report>, Trouble> {
        let wanted: BTreeSet<CallId> = wanted(run).into_iter().filter_map(call_of).collect();
        let mut reports = Vec::new();
        for (call, Call { ordinal, .. }) in run.calls() {
            let is_wanted = wanted.contains(call);
            match (doing(run, call), call, is_wanted) {
                (Doing::Artifact { name }, CallId::Judgement(judgement), true) => {
                    reports.push(look_for_artifact(shop, run, judgement, &name)?);
                }
                (Doing::Artifact { .. }, _, _) => {
                    reports.push(report_without(run, call, Without::NeverBegan));
                }
                (Doing::Agent { .. } | Doing::Command { .. }, _, _) => {
                    reports.extend(self.follow(shop, run, call, *ordinal, is_wanted)?);
                }
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
        is_wanted: bool,
    ) -> Result<Option<Report>, Trouble> {
        if let Some(followed) = self.under_way.get_mut(call) {
            if !is_wanted {
                followed.stop(run)?;
            }
            if !followed.has_ended() {
                return Ok(None);
            }
        }
        let folder = AttemptFolder::at(shop.home.attempt(shop.id, ordinal));
        let trouble = |error: io::Error| Trouble::file(&folder.path, &error);
        let starts = self.under_way.remove(call).map_or(0, |followed| followed.starts);
        match look(&folder).map_err(trouble)? {
            Standing::Ended(ending) => report(shop, run, call, &folder, &ending).map(Some),
            Standing::Void => Ok(Some(report_without(run, call, Without::NeverBegan))),
            Standing::Dead => {
                sweep(&folder.path).map_err(trouble)?;
                Ok(Some(report_without(run, call, Without::Lost)))
            }
            Standing::Alive(keeper) => {
                let hand = Hand::Keeper(keeper);
                let mut followed = Followed { folder, hand, starts, stopped: None };
                if !is_wanted {
                    followed.stop(run)?;
                }
                self.under_way.insert(call.clone(), followed);
                Ok(None)
            }
            Standing::Unclaimed if !is_wanted || starts >= STARTS_MAX => {
                let why = std::fs::read_to_string(folder.keeper_log()).unwrap_or_default();
                let without =
                    if is_wanted { Without::NotStarted { why } } else { Without::NeverBegan };
                match voided(&folder).map_err(trouble)? {
                    Voided::ByUs => Ok(Some(report_without(run, call, without))),
                    // A keeper was faster: it is followed, or was heard of, at the next step.
                    Voided::No => Ok(None),
                }
            }
            Standing::Unclaimed => {
                let (folder, env) = shop.prepare(run, call, ordinal)?;
                let child = start_keeper(shop.program, &folder, &env)
                    .map_err(|error| Trouble::file(shop.program, &error))?;
                let handle = watch(&child).map_err(|error| Trouble::file(shop.program, &error))?;
                let hand = Hand::Child(child, handle);
                let starts = starts + 1;
                self.under_way
                    .insert(call.clone(), Followed { folder, hand, starts, stopped: None });
                Ok(None)
            }
        }
    }

    /// Waits until a keeper ends, one of the other files is readable, or the time is over.
    pub(crate) fn wait(&self, others: &[BorrowedFd<'_>], longest: Duration) -> io::Result<()> {
        let mut longest = longest;
        let mut files: Vec<PollFd<'_>> =
            others.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
        for followed in self.under_way.values() {
            match followed.watched() {
                Some(file) => files.push(PollFd::from_borrowed_fd(file, PollFlags::IN)),
                None => longest = longest.min(LOOK_EVERY),
            }
        }
        let longest = Timespec {
            tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(longest.subsec_nanos()),
        };
        match poll(&mut files, Some(&longest)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
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
fn watch(child: &Child) -> io::Result<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a child has a pid");
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

impl Followed {
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
            wanted::Stop::Gently => forge_agents::Stop::Gently,
            wanted::Stop::AtOnce => forge_agents::Stop::AtOnce,
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
