//! The pages of all records of work, as a commit of their own on top of what landed. It touches only the folder of the pages.
//!
//! The pages are files like any other of the project: a check may read them. So this commit is verified and lands by the gates
//! of its stage, and the code tree that leaves the run is one that was proved.
//!
//! Records stand in them as the run will leave them, because the pages become part of the branch with the work.
//!
//! Invariant: the same facts give the same commit. A file that Forge did not write is left alone.

use std::collections::BTreeMap;

use forge_core::{
    Report, Run,
    event::{End, Event, Receipt, Record},
    failure::FaultClass,
    followed::followed,
    money::Spent,
    view::pages::{INDEX, PageFacts, page_changes, page_folders, pages},
    work::{FollowedState, WorkId},
};
use forge_workspace::{AttachedRecord, Operation, OperationResult, RecordFile, WriteFiles};

use crate::{
    Error,
    plan::{Pending, Plan, step::OnStop},
    run_id::short_id,
    secrets::NO_SECRET,
    work_pages::page_sources,
};

/// The most bytes of a file that is compared with a page.
const PAGE_BYTES_MAX: u64 = 1024 * 1024;

/// The plan of the delivery `pages`.
pub(super) fn plan(plan: &Plan<'_>) -> Result<Report, Pending> {
    let Plan { context, run, .. } = *plan;
    let Some(head) = run.head() else {
        return Ok(plan.nothing_delivered("no pages: the run has no code"));
    };
    let Some(folder) = &context.frozen.pages else {
        return Ok(plan.nothing_delivered("no pages: `work.pages` names no folder for them"));
    };
    let made = plan.operation("pages", OnStop::Cancel, || order(plan, head, folder))?;
    if let OperationResult::Refused(refused) = made {
        plan.notice(NO_SECRET.to_owned());
        return Err(plan.fault(FaultClass::Secret, refused.flaws.join("\n")));
    }
    let OperationResult::Attached(AttachedRecord { commit, tree }) = made else {
        unreachable!("the worker writes what it is asked to write")
    };
    let Operation::Write(ordered) = plan.ordered("pages")? else {
        unreachable!("the step `pages` writes files")
    };
    if ordered.onto != head {
        // Something landed meanwhile: the next attempt begins with that.
        return Err(plan.interrupted());
    }
    let none = Receipt::from_spent(Spent::NOTHING);
    if commit == head {
        let summary = format!("the pages in {folder} are as they should be");
        return Ok(plan.delivered(Receipt { summary, ..none }));
    }
    let changed = ordered.files.iter().map(|file| &file.path).chain(&ordered.removed);
    let changed: Vec<String> = changed.map(|path| format!("{folder}/{path}")).collect();
    let summary = match changed.len() {
        1 => format!("1 page written in {folder}"),
        n => format!("{n} pages written in {folder}"),
    };
    let (commit, tree) = (Some(commit), Some(tree));
    Ok(plan.delivered(Receipt { commit, tree, changed, summary, ..none }))
}

fn order(plan: &Plan<'_>, head: &str, folder: &str) -> Result<Operation, Error> {
    let Plan { context, run, call, ordinal, .. } = *plan;
    let (dir, journal) = (&context.home.dir, Some(context.journal));
    let sources = page_sources(dir, journal, &|blob| context.blob(blob))?;
    let facts = as_left(sources.facts, run);
    let there = pages_at(plan, head, folder)?;
    let changes = page_changes(&there, &pages(&facts));
    for path in &changes.foreign {
        plan.notice(format!("{folder}/{path} was not written by Forge, so it is left alone"));
    }
    let mut files = Vec::new();
    for (path, text) in changes.write {
        let blob = plan.keep(text.as_bytes())?;
        let id = blob.0.parse().map_err(|_| crate::context::damaged(&blob.0))?;
        files.push(RecordFile { path, from: context.blobs.path(&id) });
    }
    Ok(Operation::Write(WriteFiles {
        location: context.verification(),
        onto: head.to_owned(),
        folder: folder.to_owned(),
        files,
        removed: changes.remove,
        message: format!(
            "Write the pages of the records\n\nThey show the records of work as run {} leaves them.\n\n\
             Forge-Run: {}\nForge-Call: {}\n",
            short_id(context.id),
            context.id,
            call.commit_trailer()
        ),
        when_ms: context.code.commit_time_ms(head)?,
        pin: context.pin(ordinal),
    }))
}

/// The same facts with the records of a run as they will stand when it is done. What a person has stopped stays so.
fn as_left(mut facts: PageFacts, run: &Run) -> PageFacts {
    let mut end = run.clone();
    let ended = vec![Event::RunEnded { end: End::Done }];
    end.apply_record(&Record { at: run.now(), facts: ended });
    for left in followed(&end) {
        let id: Option<WorkId> = left.id.parse().ok();
        let mut own = facts.records.iter_mut().filter(|record| Some(&record.id) == id.as_ref());
        if let (Some(record), Some(FollowedState::At(to))) = (own.next(), left.to) {
            let is_open = !record.kind.next_states(record.state).is_empty();
            if is_open {
                record.state = to;
            }
        }
    }
    facts
}

/// The files of a commit that may be pages, by their path in the folder.
fn pages_at(
    plan: &Plan<'_>,
    commit: &str,
    folder: &str,
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let code = plan.context.code;
    let may_be = |path: &&str| {
        *path == INDEX
            || path.split_once('/').is_some_and(|(kind, name)| {
                page_folders().any(|known| known == kind) && !name.contains('/')
            })
    };
    let mut found = BTreeMap::new();
    for path in code.files_at(commit, folder)? {
        let below = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        if let Some(below) = below.filter(may_be)
            && let Some(content) = code.file_at(commit, &path, PAGE_BYTES_MAX)?
        {
            found.insert(below.to_owned(), content);
        }
    }
    Ok(found)
}
