//! The last commit of a run: artifacts, summary, state and events below `.forge/runs/RUN/`, on top of
//! what landed. Nothing that is there already is changed, and no commit hooks run.
//!
//! The commit cannot say how the run ends after it. So the report that ends the unit is decided on a
//! copy of the run, and what is committed shows the run as it will stand then. Of the commit itself it
//! knows nothing: the head that it names is the one below it, and the events end with the last one
//! before it.
//!
//! Where the run has opened its pull request, this commit is pushed, too, before the run is done, and the pull request is
//! brought up to date with the summary.
//!
//! Invariant: the code tree is the same before and after.

use forge_core::{
    Input, Report, Run, decide,
    event::{Blob, Receipt},
    failure::FaultClass,
    flow::{Delivery, REQUEST, Work},
    inbox,
    money::Spent,
};
use forge_project::settings::{DeliveryTime, RunRecord};
use forge_workspace::{AttachRecord, AttachedRecord, Operation, OperationResult, RecordFile};

use crate::{
    Error,
    plan::{
        Pending, Plan,
        step::{OnStop, OutsideEffect, PushOnto},
    },
    projection::StateFile,
    run_id::short_id,
    secrets::NO_SECRET,
    summary_file::{self, SUMMARY},
};

/// The plan of the delivery `commit`.
pub(super) fn plan(plan: &Plan<'_>) -> Result<Report, Pending> {
    let Plan { context, run, .. } = *plan;
    let Some(head) = run.head() else {
        return Ok(plan.nothing_delivered("nothing to commit: the run has no code"));
    };
    match context.frozen.kept {
        RunRecord::All | RunRecord::Summary => {}
        RunRecord::Nothing => {
            if is_due(plan)? {
                plan.outside(&update(plan, head), OutsideEffect::PullRequest)?;
            }
            return Ok(plan
                .nothing_delivered("nothing of the run is committed: `land.record` is \"none\""));
        }
    }
    // What may be at the remote is not made a second time.
    for commit in plan.pushed_before() {
        if head != commit && context.code.is_ancestor(head, commit).map_err(Error::from)? {
            let tree = context.code.code_tree(commit).map_err(Error::from)?;
            return deliver(plan, commit.to_owned(), tree);
        }
    }
    let made = plan.operation("attach", OnStop::Cancel, || order(plan, head))?;
    if let OperationResult::Refused(refused) = made {
        plan.notice(NO_SECRET.to_owned());
        return Err(plan.fault(FaultClass::Secret, refused.flaws.join("\n")));
    }
    let OperationResult::Attached(AttachedRecord { commit, tree }) = made else {
        unreachable!("the worker attaches what it is asked to attach")
    };
    let Operation::Attach(AttachRecord { onto, .. }) = plan.ordered("attach")? else {
        unreachable!("the step `attach` attaches files")
    };
    if onto != head {
        // Something landed meanwhile: the next attempt begins with that.
        return Err(plan.interrupted());
    }
    deliver(plan, commit, tree)
}

/// Pushes the commit and brings the pull request up to date, where the run has opened one.
fn deliver(plan: &Plan<'_>, commit: String, tree: String) -> Result<Report, Pending> {
    if is_due(plan)? {
        let what = OutsideEffect::Push { commit: commit.clone(), onto: PushOnto::OwnWhileOpen };
        plan.outside(&format!("{}@{commit}", plan.call.unit()), what)?;
        plan.outside(&update(plan, &commit), OutsideEffect::PullRequest)?;
    }
    let head = Some(commit.clone());
    let (commit, tree) = (Some(commit), Some(tree));
    Ok(plan.delivered(Receipt { commit, tree, head, ..Receipt::from_spent(Spent::NOTHING) }))
}

/// Whether the pull request is the run's to keep up to date.
fn is_due(plan: &Plan<'_>) -> Result<bool, Error> {
    match plan.context.frozen.opens {
        DeliveryTime::OnRequest => Ok(false),
        DeliveryTime::AtEnd => plan.has_opened(),
    }
}

/// What is brought up to date: each attempt may have another text.
fn update(plan: &Plan<'_>, commit: &str) -> String {
    format!("{}@{commit}", plan.call)
}

fn order(plan: &Plan<'_>, head: &str) -> Result<Operation, Error> {
    let Plan { context, run, call, ordinal, .. } = *plan;
    let records = context.journal.read(context.id, 1)?;
    let seq = records.last().map_or(0, |record| record.seq);
    let end = ended(plan);
    let mut files = vec![file(plan, SUMMARY, &summary_file::text(context.id, &end, end.now()))?];
    match context.frozen.kept {
        RunRecord::Summary | RunRecord::Nothing => {}
        RunRecord::All => {
            files.push(file(
                plan,
                "state.json",
                &StateFile::new(seq + 1, context.id, &end).text(),
            )?);
            let lines: String = records.iter().map(|record| record.to_line() + "\n").collect();
            files.push(file(plan, "events.jsonl", &lines)?);
            let request = format!("artifacts/{REQUEST}");
            files.push(file(plan, &request, &run.definition().start.request)?);
            for (path, blob) in artifacts(run) {
                files.push(at(plan, format!("artifacts/{path}"), &blob)?);
            }
        }
    }
    let what = match context.frozen.kept {
        RunRecord::Summary | RunRecord::Nothing => "summary",
        RunRecord::All => "record",
    };
    let message = format!(
        "Add the {what} of run {}\n\nIt is in .forge/runs/. The code is \
         unchanged.\n\nForge-Run: {}\nForge-Call: {}\n",
        short_id(context.id),
        context.id,
        call.commit_trailer()
    );
    Ok(Operation::Attach(AttachRecord {
        location: context.verification(),
        onto: head.to_owned(),
        folder: context.id.to_owned(),
        files,
        message,
        when_ms: run.now(),
        pin: context.pin(ordinal),
    }))
}

/// The run as it will stand when this delivery is done.
fn ended(plan: &Plan<'_>) -> Run {
    let mut end = plan.run.clone();
    let report = Input::Report(plan.delivered(Receipt::from_spent(Spent::NOTHING)));
    if let Ok(record) = decide(plan.run, plan.run.now(), &report) {
        end.apply_record(&record);
    }
    end
}

/// All artifacts by path, but for the summary that was written before the end.
fn artifacts(run: &Run) -> Vec<(String, Blob)> {
    let is_summary = |name: &str| {
        run.units().iter().any(|(_, stage, _)| {
            stage.work == (Work::Deliver { what: Delivery::Summary })
                && stage.writes.iter().any(|written| written == name)
        })
    };
    let all = inbox::artifacts(run).into_iter();
    all.filter(|(scope, name, _)| !(scope.is_root() && is_summary(name)))
        .map(|(scope, name, blob)| match scope.as_str() {
            "" => (name, blob),
            scope => (format!("{scope}/{name}"), blob),
        })
        .collect()
}

fn file(plan: &Plan<'_>, path: &str, text: &str) -> Result<RecordFile, Error> {
    let blob = plan.keep(text.as_bytes())?;
    at(plan, path.to_owned(), &blob)
}

fn at(plan: &Plan<'_>, path: String, blob: &Blob) -> Result<RecordFile, Error> {
    let id = blob
        .0
        .parse()
        .map_err(|_| Error::surroundings(format!("`{}` is not a blob", blob.0), "forge doctor"))?;
    Ok(RecordFile { path, from: plan.context.blobs.path(&id) })
}
