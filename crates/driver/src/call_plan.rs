//! The plan of a call that an agent or a command carries out: open the checkout, set it up, let it
//! work, take in what it left.
//!
//! What a writer changed becomes a commit of Forge's, whatever the agent did with git itself, and
//! however the attempt ended. What a reader changed is discarded and noted.

use std::path::{Path, PathBuf};

use forge_agents::CodeAccess;
use forge_core::{
    Report,
    event::{OnOverlap, Outcome, Receipt},
    failure::FaultClass,
    id::CallId,
    result::AgentResult,
    run::CallKind,
    verdict::BlockerClass,
    view::{sanitize, short_commit},
};
use forge_keeper::{Ending, ExitReason};
use forge_project::settings::Claims;
use forge_workspace::{
    CachesAfter, CommitFiles, FileAccess, FilesPolicy, OpenedCheckout, Operation, OperationResult,
    RestoreFiles, RestoredFiles,
};

use crate::{
    Error,
    admission::{admit, leave},
    agent_call::{
        output,
        turns::{Turned, turns},
    },
    checkouts::{Place, commit_of, is_shared, own_commit},
    executor::StepState,
    outcome::without_result,
    path_claims::Looker,
    path_list::{paths, short_list},
    plan::{
        Pending, Plan,
        step::{OnStop, SetUpBefore},
    },
    secrets::NO_SECRET,
};

/// How long work waits for other runs before it is looked at again.
const DEFERRED_MS: u64 = 5_000;
/// The most characters of the first line of a commit message.
const SUBJECT_CHARS_MAX: usize = 72;

/// Brings the call of an agent or of a command on as far as it goes: its report, or why not yet.
pub fn plan(plan: &Plan<'_>) -> Result<Report, Pending> {
    let Plan { context, run, call, .. } = *plan;
    if let CallKind::Agent { .. } = run.call_kind(call) {
        admit(plan)?;
    }
    if run.definition().start.base.is_none() {
        let dir = context.home.work(context.id);
        context.disk.create_folder(&dir).map_err(|error| Error::file(&dir, &error))?;
        let worked = Worked::by(plan, &dir, &[])?.without_blame(plan)?;
        return worked.report(plan);
    }
    let place = context.place(run, call.unit());
    let access = context.code_access(run, call)?;
    if let (CodeAccess::Reads, CallKind::Command { .. }) = (access, run.call_kind(call))
        && let Some(tree) = ready_files(plan, &place)?
    {
        return Worked::by(plan, &tree, &[])?.report(plan);
    }
    // Who has begun goes on: whoever came later was told, or waits.
    let is_first = run.code(&call.unit().scope).is_none();
    if access == CodeAccess::Writes && is_first && !plan.has_begun() {
        check_path_conflicts(plan)?;
    }
    preserve_uncommitted_changes(plan, &place, access)?;
    let open = || Ok(Operation::Open(context.open(run, call, &place, access)));
    let opened = plan.opened("open", open)?;
    plan.set_up("", &opened, SetUpBefore::Kept)?;
    let worked = Worked::by(plan, &opened.tree, &opened.conflicts)?.without_blame(plan)?;
    match (access, run.call_kind(call)) {
        (CodeAccess::Writes, _) => {
            let made = if let ExitReason::NotStarted { .. } = worked.ending().how {
                None
            } else {
                match committed(plan, &opened, &worked) {
                    Ok(made) => Some(made),
                    Err(Pending::Report(fault)) => return fault_with_usage(plan, worked, *fault),
                    Err(halt) => return Err(halt),
                }
            };
            let mut report = worked.report(plan)?;
            if let Some(made) = made {
                take_in(receipt(&mut report), made);
            }
            Ok(report)
        }
        // What is there may be somebody else's; whoever opens the checkout alone puts it right.
        (CodeAccess::Reads, CallKind::Agent { .. })
            if is_shared(run, call, &place.scope) && !plan.step_was_prepared("restore") =>
        {
            worked.report(plan)
        }
        (CodeAccess::Reads, CallKind::Agent { .. }) => {
            let location = place.location;
            let restore = || {
                Ok(Operation::Restore(RestoreFiles {
                    location,
                    at: opened.head.clone(),
                    access: FileAccess::Read,
                    caches: CachesAfter::Sealed,
                }))
            };
            let made = match plan.operation("restore", OnStop::Finish, restore) {
                Ok(made) => made,
                Err(Pending::Report(fault)) => return fault_with_usage(plan, worked, *fault),
                Err(halt) => return Err(halt),
            };
            let OperationResult::Restored(RestoredFiles { discarded }) = made else {
                unreachable!("the worker puts back what it is asked to put back")
            };
            let mut report = worked.report(plan)?;
            if !discarded.is_empty() {
                let what = format!(
                    "it changed code, but its role only reads; discarded: {}",
                    short_list(&discarded)
                );
                receipt(&mut report).notes.push(what);
            }
            Ok(report)
        }
        // The next call that opens the checkout finds it as it should be.
        (CodeAccess::Reads, _) => worked.report(plan),
    }
}

/// What was worked: by an agent in its turns, or by a command.
enum Worked {
    Agent(Box<Turned>),
    Command(Ending),
}

impl Worked {
    fn by(plan: &Plan<'_>, dir: &Path, conflicts: &[String]) -> Result<Self, Pending> {
        match plan.run.call_kind(plan.call) {
            CallKind::Agent { .. } => {
                let mut turned = turns(plan, dir, conflicts)?;
                if let Some((outcome, seat)) = leave(plan, &turned.windows, turned.limit.as_ref())?
                {
                    turned.left = Err(outcome);
                    turned.receipt.used_up = Some(seat);
                }
                Ok(Self::Agent(Box::new(turned)))
            }
            CallKind::Command { .. } => plan.command(dir).map(Self::Command),
            CallKind::Artifact { .. }
            | CallKind::Outputs { .. }
            | CallKind::Verify
            | CallKind::Land
            | CallKind::BuiltIn { .. }
            | CallKind::Deliver { .. } => {
                unreachable!("only agents and commands work")
            }
        }
    }

    /// How it ended.
    fn ending(&self) -> &Ending {
        match self {
            Self::Agent(turned) => &turned.ending,
            Self::Command(ending) => ending,
        }
    }

    /// The result that the worker left, if it is valid.
    fn result(&self) -> Option<&AgentResult> {
        match self {
            Self::Agent(turned) => turned.left.as_ref().ok().map(|left| &left.result),
            Self::Command(_) => None,
        }
    }

    fn report(self, plan: &Plan<'_>) -> Result<Report, Pending> {
        match self {
            Self::Agent(turned) => {
                Ok(output::report_agent_call(plan.call, turned.left, turned.receipt))
            }
            Self::Command(ending) => {
                Ok(output::report(plan.context, plan.run, plan.call, &plan.folder(), &ending)?)
            }
        }
    }

    /// An agent that ended without a result while the disk was full, or cannot be written, failed by that.
    /// If that is still so, the next step stops the driver, which says so.
    fn without_blame(self, plan: &Plan<'_>) -> Result<Self, Pending> {
        let Self::Agent(turned) = self else { return Ok(self) };
        let full = match plan.context.check_room() {
            Err(full) => Some(full.to_string()),
            Ok(()) => turned.ending.disk_full.then(|| "the disk was full".to_owned()),
        };
        match (&turned.left, full) {
            (Err(Outcome::Fault { .. }), Some(full)) => {
                let mut receipt = turned.receipt;
                receipt.notes.push(format!("it ended without a result: {full}"));
                let report = without_result(plan.call, Outcome::Interrupted, receipt);
                Err(Pending::Report(Box::new(report)))
            }
            (_, _) => Ok(Self::Agent(turned)),
        }
    }
}

/// The files for a command that only reads, where there is nothing to open and nothing to set up: they were opened for the same before,
/// and nobody has touched them since. Nothing is written down of that, so it is for those who need to know nothing else of their
/// checkout.
fn ready_files(plan: &Plan<'_>, place: &Place) -> Result<Option<PathBuf>, Pending> {
    let Plan { context, run, call, .. } = *plan;
    let folder = plan.folder();
    let tree = || Ok(Some(place.location.dir.join("tree")));
    if plan.step_was_prepared("open") {
        return Ok(None);
    }
    if context.trusted.was_ready(&folder.path) {
        return tree();
    }
    if plan.was_prepared() {
        // By a driver that died. What it found may no longer be so: only a command that has begun goes on.
        let state = plan.give_up(&folder).map_err(|error| Error::file(&folder.path, &error))?;
        return if state == StepState::Void { Err(Pending::Cancelled) } else { tree() };
    }
    let is_ready = context.frozen.setup.is_empty()
        && context.code.is_open(&context.open(run, call, place, CodeAccess::Reads));
    if !is_ready {
        return Ok(None);
    }
    context.trusted.keep_ready(&folder.path);
    tree()
}

/// A person may have been in the checkout since it was last used. What they left there is put into a
/// commit before the files are brought to where the work stands, and they are told.
fn preserve_uncommitted_changes(
    plan: &Plan<'_>,
    place: &Place,
    access: CodeAccess,
) -> Result<(), Pending> {
    let Plan { context, run, call, ordinal, .. } = *plan;
    let is_again = access == CodeAccess::Writes && run.unit(call.unit()).attempt > 1;
    let somebody_came = is_again || run.n_questions() > 0;
    let is_exact = context.open(run, call, place, access).files == FilesPolicy::ResetTracked;
    let is_due =
        somebody_came && is_exact && context.disk.list(&place.location.dir.join("tree")).is_ok();
    let begins = !plan.step_was_prepared("open");
    if !(plan.step_was_prepared("left") || begins && is_due) {
        return Ok(());
    }
    let from = commit_of(run, &place.scope);
    let pin = format!("refs/forge/{}/left/{ordinal:04}", context.id);
    let order = || {
        Ok(Operation::Commit(CommitFiles {
            location: place.location.clone(),
            onto: vec![from.clone()],
            message: format!(
                "Files as they were left before {call}\n\nForge-Run: {}\n",
                context.id
            ),
            rewords: None,
            when_ms: context.executor.now(),
            pin: pin.clone(),
        }))
    };
    // A checkout that is not whole has nothing in it that a person could have worked on.
    let Ok(made) = plan.try_operation("left", OnStop::Cancel, order)? else { return Ok(()) };
    if let OperationResult::Refused(refused) = made {
        return Err(plan.fault(FaultClass::Secret, refused.flaws.join("\n")));
    }
    let OperationResult::Committed(left) = made else {
        unreachable!("the worker commits what it is asked to commit")
    };
    if !begins {
        return Ok(());
    }
    // Files of a commit that is known, such as the one that the last call began with, were left by nobody.
    let repository = context.code;
    let code = run.code(&place.scope).map(|code| code.commit.clone());
    let known = [Some(from.clone()), place.location.starting_commit(), code];
    let is_known =
        |commit: String| repository.code_tree(&commit).is_ok_and(|tree| tree == left.tree);
    if left.commit == from || known.into_iter().flatten().any(is_known) {
        repository.unpin(&pin).map_err(Error::from)?;
        return Ok(());
    }
    plan.notice(format!(
        "changes in its checkout that do not belong to it ({}) were set aside; they are kept as \
         {}",
        short_list(&paths(&left.changes)),
        short_commit(&left.commit)
    ));
    Ok(())
}

/// What it did could not be taken in. It has its price all the same.
fn fault_with_usage(plan: &Plan<'_>, worked: Worked, fault: Report) -> Result<Report, Pending> {
    let mut report = worked.report(plan)?;
    let mut fault = fault;
    std::mem::swap(receipt(&mut fault), receipt(&mut report));
    Ok(fault)
}

/// What is worked on at the same time is told, waited for, or asked about.
fn check_path_conflicts(plan: &Plan<'_>) -> Result<(), Pending> {
    let CallId::Attempt(attempt) = plan.call else { return Ok(()) };
    if plan.run.definition().start.on_overlap == Some(OnOverlap::Defer) {
        // Its paths were claimed before it began.
        return Ok(());
    }
    let (journal, id) = (plan.context.journal, plan.context.id);
    let looker = Looker { journal, id, claims: plan.context.frozen.claims };
    let Some(what) = looker.others_at_work(plan.run, &attempt.unit)? else { return Ok(()) };
    let outcome = match plan.context.frozen.claims {
        Claims::Warn => {
            plan.notice(what);
            return Ok(());
        }
        // A run of an older version of Forge: its units do not claim their paths.
        Claims::Defer => {
            Outcome::Deferred { until: plan.context.executor.now() + DEFERRED_MS, what }
        }
        Claims::Block => Outcome::Blocked { class: BlockerClass::ExternalDependency, what },
    };
    Err(plan.ends(outcome))
}

fn committed(
    plan: &Plan<'_>,
    opened: &OpenedCheckout,
    worked: &Worked,
) -> Result<forge_workspace::CommittedFiles, Pending> {
    let Plan { context, .. } = *plan;
    let order = || {
        let Operation::Open(open) = plan.ordered("open")? else {
            unreachable!("the step `open` opens a checkout")
        };
        let onto = [Some(opened.head.clone()), opened.merge.clone()];
        Ok(Operation::Commit(CommitFiles {
            location: open.location,
            onto: onto.into_iter().flatten().collect(),
            message: message(plan, worked.result()),
            rewords: rewords(plan, worked)?,
            when_ms: worked.ending().ended_at_ms,
            pin: context.pin(plan.ordinal),
        }))
    };
    let made = plan.operation("commit", OnStop::Finish, order)?;
    if let OperationResult::Refused(refused) = made {
        plan.notice(NO_SECRET.to_owned());
        return Err(plan.fault(FaultClass::Secret, refused.flaws.join("\n")));
    }
    let OperationResult::Committed(committed) = made else {
        unreachable!("the worker commits what it is asked to commit")
    };
    Ok(committed)
}

fn take_in(receipt: &mut Receipt, made: forge_workspace::CommittedFiles) {
    receipt.changed = paths(&made.changes);
    receipt.commit = Some(made.commit);
    receipt.tree = Some(made.tree);
    receipt.flaws.extend(made.notes);
    match made.own_commits {
        0 => {}
        1 => receipt.notes.push("one commit of its own was squashed".to_owned()),
        n => receipt.notes.push(format!("{n} commits of its own were squashed")),
    }
}

/// The message of the commit: what the agent proposed, or what it says it did.
fn message(plan: &Plan<'_>, result: Option<&AgentResult>) -> String {
    let Plan { context, run, call, .. } = *plan;
    let said = result.map(|result| proposed(result).unwrap_or(&result.summary).clone());
    let title = run.item(&call.unit().scope).map(|item| item.title.clone());
    let text = said
        .into_iter()
        .chain(title)
        .find(|text| !text.trim().is_empty())
        .unwrap_or_else(|| format!("Work on {}", call.unit().label()));
    let text = sanitize(&text);
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let mut message: String = first.trim().chars().take(SUBJECT_CHARS_MAX).collect();
    if first.trim().chars().count() > SUBJECT_CHARS_MAX {
        message = format!("{message}\n\n{}", first.trim());
    }
    if !rest.trim().is_empty() {
        message = format!("{message}\n\n{}", rest.trim());
    }
    let call = call.commit_trailer();
    format!("{message}\n\nForge-Run: {}\nForge-Call: {call}\n", context.id)
}

/// The commit of the attempts before, whose message the agent proposes anew. What is part of the result, or was there when the
/// run began, is not theirs.
fn rewords(plan: &Plan<'_>, worked: &Worked) -> Result<Option<String>, Error> {
    let Plan { context, run, call, .. } = *plan;
    let own = own_commit(run, &context.place(run, call.unit()).scope);
    let (Some(own), Some(head), Some(_)) = (own, run.head(), worked.result().and_then(proposed))
    else {
        return Ok(None);
    };
    let is_of_result = context.code.is_ancestor(own, head)?;
    Ok((!is_of_result).then(|| own.to_owned()))
}

/// The message that the agent proposed for all of its work.
fn proposed(result: &AgentResult) -> Option<&String> {
    result.commit.as_ref().filter(|message| !message.trim().is_empty())
}

/// The receipt of a report about a call.
pub fn receipt(report: &mut Report) -> &mut Receipt {
    match report {
        Report::Worked { receipt, .. } | Report::Judged { receipt, .. } => receipt,
        Report::Noticed { .. }
        | Report::PathsTaken { .. }
        | Report::PathsFree { .. }
        | Report::NeedsMet { .. }
        | Report::NeedsUnmet { .. }
        | Report::Assigned { .. }
        | Report::Signs { .. }
        | Report::Intends { .. }
        | Report::Did { .. } => {
            unreachable!("a call ends with a report that has a receipt")
        }
    }
}
