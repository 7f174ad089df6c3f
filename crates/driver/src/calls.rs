//! Makes what is under way equal to what is wanted, through an executor.
//!
//! A call goes through steps; its plan (`call_plan`) says which one is next. A call that was started and
//! has no ending is either wanted (then it is found, followed, or started) or not (then it is stopped).
//! Calling this twice changes nothing, and a driver that died is no loss: the next one finds the steps
//! by their folders.
//!
//! Not here: how a step is carried out (`executor`).

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use forge_core::{
    Effect, Report, Run,
    event::{Call, Outcome},
    flow::BuiltIn,
    id::CallId,
    run::{CallKind, Phase},
    wanted,
    wanted::stop,
};
use forge_keeper::AttemptFolder;

use crate::{
    Error,
    agent_call::{
        finding_evidence::look_at_evidence,
        output::{look_for_artifact, report},
        turns::usage_of_lost_call,
    },
    call_plan,
    context::RunContext,
    deliver,
    executor::{StepState, StopRequest},
    gates::{declared_changes, land, new_tests, protected_files, verify},
    needs,
    outcome::{EndedWithoutResult, read_all, report_without, without_result},
    plan::{
        Pending, Plan,
        step::{OnStop, Step},
    },
};

/// Keepers that end before they claim their folder: more than this is no accident.
const STARTS_MAX: u32 = 3;

/// The calls that this driver follows.
#[derive(Default)]
pub struct Calls {
    under_way: BTreeMap<CallId, Followed>,
}

/// One call that is followed.
struct Followed {
    folder: AttemptFolder,
    on_stop: OnStop,
    /// Keepers started by us for this step.
    starts: u32,
    /// How it was told to stop.
    stopped: Option<forge_keeper::Stop>,
}

impl Calls {
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Starts, finds or stops calls as the run wants it, and tells what has ended meanwhile.
    pub fn reconcile(&mut self, context: &RunContext<'_>, run: &Run) -> Result<Vec<Report>, Error> {
        let wanted: BTreeSet<CallId> = wanted(run).into_iter().filter_map(call_of).collect();
        let mut reports = Vec::new();
        context.trusted.forget_all_but(run.calls().values().map(|call| call.ordinal).collect());
        for (call, Call { ordinal, .. }) in run.calls() {
            let want = if wanted.contains(call) { Want::GoesOn } else { Want::Stops };
            let kind = run.call_kind(call);
            reports.extend(match (call, want, &kind) {
                (CallId::Judgement(judgement), Want::GoesOn, CallKind::Artifact { name }) => {
                    vec![look_for_artifact(context, run, judgement, name)?]
                }
                (CallId::Judgement(judgement), Want::GoesOn, CallKind::Outputs { directives }) => {
                    vec![needs::look_at_outputs(context, run, judgement, directives)]
                }
                (_, _, CallKind::Artifact { .. } | CallKind::Outputs { .. }) => {
                    vec![report_without(run, call, EndedWithoutResult::NeverBegan)]
                }
                (
                    _,
                    _,
                    CallKind::Agent { .. }
                    | CallKind::Command { .. }
                    | CallKind::Verify
                    | CallKind::Land
                    | CallKind::BuiltIn { .. }
                    | CallKind::Deliver { .. },
                ) => self.follow(context, run, call, *ordinal, want)?,
            });
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
                followed.stop(context, run)?;
            }
            if !context.executor.has_ended(&followed.folder) {
                return Ok(Vec::new());
            }
        }
        let plan = Plan {
            context,
            run,
            call,
            ordinal,
            notices: RefCell::default(),
            took_ms: Cell::default(),
        };
        if !plan.has_begun() {
            if want == Want::Stops {
                return Ok(vec![report_without(run, call, EndedWithoutResult::NeverBegan)]);
            }
            if run.call_kind(call).needs_proof_checkout() && is_proving_elsewhere(context, run) {
                return Ok(Vec::new());
            }
        }
        // How the ending of a step is known is a fact before it can have one.
        let key = context.executor.ending_key();
        if !run.has_ending_key(&key) {
            return Ok(vec![Report::Signs { key }]);
        }
        let before = self.under_way.remove(call);
        let next = next_step(&plan);
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
                context
                    .executor
                    .sweep(&folder)
                    .map_err(|error| Error::file(&folder.path, &error))?;
                reports.push(lost(&plan));
            }
            Err(Pending::Running(folder, on_stop)) => {
                let starts = before.map_or(0, |before| before.starts_of(&folder));
                let mut followed = Followed { folder, on_stop, starts, stopped: None };
                if !may_continue(run, want, on_stop) {
                    followed.stop(context, run)?;
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
                let why = read_all(context.executor, &folder.keeper_log());
                let without = if goes_on {
                    EndedWithoutResult::NotStarted { why }
                } else {
                    EndedWithoutResult::NeverBegan
                };
                context.trusted.given_up(&folder.path);
                let state = plan.give_up(&folder);
                let state = state.map_err(|error| Error::file(&folder.path, &error))?;
                // Otherwise a keeper was faster: it is followed, or has ended, at the next step.
                if let StepState::Void = state {
                    reports.push(given_up(&plan, without)?);
                }
            }
        }
        Ok(reports)
    }
}

/// Brings a call on as far as it goes: its report, or why not yet.
fn next_step(plan: &Plan<'_>) -> Result<Report, Pending> {
    let mut report = match plan.run.call_kind(plan.call) {
        CallKind::Agent { .. } | CallKind::Command { .. } => {
            let mut report = call_plan::plan(plan)?;
            look_at_evidence(plan, &mut report)?;
            return Ok(report);
        }
        CallKind::Verify => verify::plan(plan)?,
        CallKind::Land => land::plan(plan)?,
        CallKind::BuiltIn { check: BuiltIn::Changes } => declared_changes::plan(plan)?,
        CallKind::BuiltIn { check: BuiltIn::Guarded } => protected_files::plan(plan)?,
        CallKind::BuiltIn { check: BuiltIn::NewTests } => new_tests::plan(plan)?,
        CallKind::Deliver { what } => deliver::plan(plan, what)?,
        CallKind::Artifact { .. } | CallKind::Outputs { .. } => {
            unreachable!("we look for artifacts ourselves")
        }
    };
    // All that Forge did itself, set-up included.
    if let Report::Worked { receipt, .. } | Report::Judged { receipt, .. } = &mut report {
        receipt.took_ms = plan.took_ms.get();
    }
    Ok(report)
}

/// The wish of the run for a call.
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
    context.trusted.prepared(step);
    let prepared = context.prepare(run, call, step)?;
    let started = context.start(prepared);
    let folder = started.map_err(|error| Error::file(context.program, &error))?;
    Ok(Followed { folder, on_stop: step.on_stop, starts, stopped: None })
}

/// Reports a call whose keeper died.
fn lost(plan: &Plan<'_>) -> Report {
    let Plan { run, call, .. } = *plan;
    if let CallKind::Agent { .. } = run.call_kind(call) {
        return without_result(call, Outcome::Lost, usage_of_lost_call(plan));
    }
    report_without(run, call, EndedWithoutResult::Lost)
}

/// What a call comes to that does not go on. What it did before that still has its price, and an agent
/// its session.
fn given_up(plan: &Plan<'_>, without: EndedWithoutResult) -> Result<Report, Error> {
    let Plan { context, run, call, .. } = *plan;
    let folder = plan.folder();
    let state = plan.state(&folder);
    let state = state.map_err(|error| Error::file(&folder.path, &error))?;
    let kind = run.call_kind(call);
    if let (StepState::Ended(_), CallKind::Agent { .. }) = (&state, &kind) {
        return Ok(without_result(call, without.outcome(), usage_of_lost_call(plan)));
    }
    if let (StepState::Ended(ending), CallKind::Command { .. }) = (&state, &kind) {
        return report(context, run, call, &folder, ending);
    }
    Ok(report_without(run, call, without))
}

impl Followed {
    /// Keepers started by us for the step in this folder.
    fn starts_of(&self, folder: &AttemptFolder) -> u32 {
        if self.folder == *folder { self.starts } else { 0 }
    }

    /// Asks the step to stop, once for each way of stopping.
    fn stop(&mut self, context: &RunContext<'_>, run: &Run) -> Result<(), Error> {
        let how = match stop(run) {
            wanted::StopManner::Gently => forge_keeper::Stop::Gently,
            wanted::StopManner::AtOnce => forge_keeper::Stop::AtOnce,
        };
        if self.stopped == Some(how) {
            return Ok(());
        }
        let asked = context.executor.stop(&self.folder, how);
        match asked.map_err(|error| Error::file(&self.folder.path, &error))? {
            StopRequest::Sent => self.stopped = Some(how),
            StopRequest::NotNow => {}
        }
        Ok(())
    }
}

fn call_of(effect: Effect) -> Option<CallId> {
    match effect {
        Effect::Work { attempt, .. } => Some(CallId::Attempt(attempt)),
        Effect::Judge { judgement, .. } => Some(CallId::Judgement(judgement)),
        Effect::Ask { .. } | Effect::Claim { .. } | Effect::Need { .. } | Effect::Wake { .. } => {
            None
        }
    }
}
