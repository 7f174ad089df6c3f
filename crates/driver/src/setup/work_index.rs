//! The slice of the project's records that matters for one call: its record, the sprint of that, what it waits for, what else is in
//! the sprint, and the files that it may change.
//!
//! Invariant: a run never waits for its records. Where they cannot be read, there is no slice.

use std::path::Path;

use forge_core::{
    Run,
    followed::record_for,
    id::UnitId,
    item::writes_reach,
    view::shorten,
    work::{WorkId, WorkKind, WorkRecord, waits_for},
};
use forge_store::work::WorkStore;
use forge_workspace::CodeHistory;

use crate::{
    Error,
    checkouts::{commit_of, scope_of},
};

/// The most records that are named.
const RECORDS_MAX: usize = 20;
/// The most files that are named.
const FILES_MAX: usize = 40;
/// The most characters of a title.
const TITLE_CHARS_MAX: usize = 80;

/// The records and files around the work of a unit, in words. Nothing in a run that is about no record.
pub(super) fn work_index(
    dir: &Path,
    code: &dyn CodeHistory,
    run: &Run,
    unit: &UnitId,
) -> Result<Option<String>, Error> {
    let id = record_for(run, &unit.scope).and_then(|id| id.parse::<WorkId>().ok());
    let Some(id) = id else { return Ok(None) };
    let mut parts: Vec<String> = records(dir, &id).into_iter().collect();
    let writes = run.item(&unit.scope).map(|item| item.writes.as_slice()).unwrap_or_default();
    if !writes.is_empty() && run.definition().start.base.is_some() {
        parts.push(files(code, &commit_of(run, &scope_of(run, unit)), writes)?);
    }
    Ok((!parts.is_empty()).then(|| parts.join("\n\n")))
}

/// Lists the records around one: its sprint, itself, what it waits for, then the others of the sprint.
fn records(dir: &Path, id: &WorkId) -> Option<String> {
    let store = WorkStore::open_to_read(dir).ok()??;
    let all: Vec<WorkRecord> = store.all().ok()?.into_iter().map(|row| row.record).collect();
    let own = all.iter().find(|record| record.id == *id)?;
    let sprint_of = |record: &WorkRecord| match record.kind {
        WorkKind::Sprint => Some(record.id.clone()),
        WorkKind::Task => record.texts("sprintId").first().and_then(|text| text.parse().ok()),
        WorkKind::Feature | WorkKind::Bug => None,
    };
    let (sprint, first) = (sprint_of(own), waits_for(&own.fields));
    let rank = |record: &&WorkRecord| -> Option<(u8, &str)> {
        let is_beside = || sprint.is_some() && sprint_of(record) == sprint;
        match record {
            record if sprint.as_ref() == Some(&record.id) => Some((0, "")),
            record if record.id == own.id => Some((1, " (this work)")),
            record if first.contains(&record.id) => Some((2, " (comes before this work)")),
            _ if is_beside() => Some((3, "")),
            _ => None,
        }
    };
    let mut found: Vec<(u8, String)> = Vec::new();
    for record in &all {
        let Some((rank, what)) = rank(&record) else { continue };
        let WorkRecord { id, kind, state, .. } = record;
        let title = shorten(&one_line(record.title()), TITLE_CHARS_MAX);
        found.push((rank, format!("- `{id}` {kind}, {state}: {title}{what}")));
    }
    // What was listed by id stays so.
    found.sort_by_key(|(rank, _)| *rank);
    let n_more = found.len().saturating_sub(RECORDS_MAX);
    let mut lines: Vec<String> =
        found.into_iter().take(RECORDS_MAX).map(|(_, line)| line).collect();
    if n_more > 0 {
        lines.push(format!("- and {n_more} more"));
    }
    Some(lines.join("\n"))
}

/// Lists the files of a commit that these paths reach.
fn files(code: &dyn CodeHistory, commit: &str, writes: &[String]) -> Result<String, Error> {
    let mut found: Vec<String> = Vec::new();
    for path in writes {
        // Only what lies below the part without stars has to be listed.
        let plain = path.split('/').take_while(|part| !part.contains('*'));
        let under = plain.collect::<Vec<&str>>().join("/");
        let files = code.files_at(commit, &under)?;
        found.extend(files.into_iter().filter(|file| writes_reach(writes, file)));
    }
    found.sort();
    found.dedup();
    if found.is_empty() {
        return Ok("None of the paths that it may change is there yet.".to_owned());
    }
    let mut lines: Vec<String> =
        found.iter().take(FILES_MAX).map(|file| format!("- `{file}`")).collect();
    if found.len() > FILES_MAX {
        lines.push(format!("- and {} more", found.len() - FILES_MAX));
    }
    Ok(format!("Files that are there, of those that it may change:\n\n{}", lines.join("\n")))
}

/// A text without line breaks, so that none of it can pass for a line of Forge's.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}
