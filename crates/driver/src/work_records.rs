//! Records of work follow the runs that are about them.
//!
//! What a run means for its records is a level ([`mod@forge_core::followed`]): after each record of the journal the rows are moved
//! there, and after a crash the next driver does it before anything starts.
//!
//! Invariant: a run never waits for its records. What cannot be written is a note, and is tried again at the next change.

use std::path::Path;

use forge_core::{
    Run, Time,
    flow::DEFAULT_PIPELINE,
    followed::{FollowedRecord, followed},
    item::Item,
    view::shorten,
    work::{
        ENTRIES_MAX, FieldChange, FieldValue, Fields, FollowedState, LINE_CHARS_MAX,
        TITLE_CHARS_MAX, WorkAuthor, WorkCommand, WorkFact, WorkId, WorkKind, WorkState,
    },
};
use forge_store::work::{LoggedFact, WorkError, WorkMoment, WorkStore};

use crate::clock::file_time;

/// The records of one run, as they were last moved.
#[derive(Debug, Default)]
pub struct FollowedRecords {
    last: Vec<FollowedRecord>,
}

impl FollowedRecords {
    /// Moves the records to where the run means them to be. Returns what a person should know.
    pub fn follow(&mut self, dir: &Path, id: &str, at: Time, run: &Run) -> Option<String> {
        let now = followed(run);
        if now == self.last {
            return None;
        }
        let moved = move_all(dir, at, id, &now);
        // Also where it failed: the note about that is a record of its own, and must not be the cause of another.
        self.last = now;
        let error = moved.err()?;
        Some(format!("the records of this run cannot be kept up to date: {error}"))
    }
}

fn move_all(dir: &Path, at: Time, run: &str, records: &[FollowedRecord]) -> Result<(), WorkError> {
    let mut store = WorkStore::open(dir)?;
    let (time, by) = (file_time(at), WorkAuthor::Run { run: run.to_owned() });
    let moment = WorkMoment { at, now: &time, by: &by, place: None };
    let sprint = records.first().map(|record| record.id.clone()).unwrap_or_default();
    let mut created = Vec::new();
    for FollowedRecord { kind, id, planned, .. } in records {
        // What no id can be has no record.
        let Ok(id) = id.parse::<WorkId>() else { continue };
        if let Some(item) = planned
            && store.get(&id)?.is_none()
        {
            let fields = fields(&sprint, item);
            let (own, prefix) = (Some(id.clone()), String::new());
            store.change(&moment, &WorkCommand::Create { kind: *kind, id: own, prefix, fields })?;
            let (kind, id, run) = (*kind, id.clone(), run.to_owned());
            let taken = WorkCommand::Take { kind, id: id.clone(), run, over: None };
            store.change(&moment, &taken)?;
            created.push((id, item));
        }
    }
    // One may come after another that is listed later.
    for (id, item) in created {
        let record_of = |first: &String| {
            records
                .iter()
                .find(|record| record.planned.as_ref().is_some_and(|one| one.id == *first))
        };
        let after = item.after.iter().filter_map(record_of);
        let after: Vec<FieldValue> =
            after.map(|first| FieldValue::Text(first.id.clone())).collect();
        if !after.is_empty() {
            let changes =
                vec![("dependencies".to_owned(), FieldChange::Set(FieldValue::List(after)))];
            store.change(&moment, &WorkCommand::Set { kind: WorkKind::Task, id, changes })?;
        }
    }
    for FollowedRecord { kind, id, to, why, planned } in records {
        let Ok(id) = id.parse::<WorkId>() else { continue };
        let is_own = |id: &WorkId| -> Result<bool, WorkError> {
            let holder = store.get(id)?.and_then(|row| row.record.run);
            Ok(holder.as_deref() == Some(run))
        };
        // A person may have given this id to another task meanwhile.
        if planned.is_some() && !is_own(&id)? {
            continue;
        }
        // Most tasks of a sprint wait for their turn.
        let is_stopped = || {
            let row = store.get(&id)?;
            Ok::<_, WorkError>(row.is_some_and(|row| row.record.state == WorkState::Escalated))
        };
        if *to == Some(FollowedState::Unstopped) && !is_stopped()? {
            continue;
        }
        if let Some(to) = to
            && !is_left_alone(&store.history(&id)?, &by, *to, why.as_deref())
        {
            let (run, why) = (run.to_owned(), why.clone());
            store.change(&moment, &WorkCommand::Follow { kind: *kind, id, run, to: *to, why })?;
        }
    }
    Ok(())
}

/// Returns true if a record stays where it is: the run has said this already, and a person has moved it since, or a person has stopped
/// it.
fn is_left_alone(
    history: &[LoggedFact],
    by: &WorkAuthor,
    wanted: FollowedState,
    why: Option<&str>,
) -> bool {
    let moves = || {
        history.iter().rev().filter_map(|logged| {
            let WorkFact::Moved { to, why, .. } = &logged.entry.fact else { return None };
            Some((&logged.entry.by, *to, why.as_deref()))
        })
    };
    let is_runs = |author: &WorkAuthor| matches!(author, WorkAuthor::Run { .. });
    let is_stopped = moves().next().is_some_and(|(author, to, _)| to.is_stop() && !is_runs(author));
    let said = moves().find(|(author, ..)| *author == by);
    is_stopped
        || said.is_some_and(|(_, to, before)| (FollowedState::At(to), before) == (wanted, why))
}

/// Returns what the record of a task says that a run has planned. An agent may say more than there is room for.
fn fields(sprint: &str, item: &Item) -> Fields {
    let text = |text: &str| FieldValue::Text(text.to_owned());
    let list = |texts: &[String]| FieldValue::List(texts.iter().map(|one| text(one)).collect());
    let title = if item.title.is_empty() { &item.id } else { &item.title };
    let title =
        shorten(&title.split_whitespace().collect::<Vec<&str>>().join(" "), TITLE_CHARS_MAX);
    let mut fields =
        Fields::from([("sprintId".to_owned(), text(sprint)), ("title".to_owned(), text(&title))]);
    if !item.writes.is_empty() {
        fields.insert("writes".to_owned(), list(&item.writes));
    }
    if !item.must.is_empty() {
        let must = item.must.iter().take(ENTRIES_MAX).map(|one| shorten(one, LINE_CHARS_MAX));
        fields.insert("must".to_owned(), list(&must.collect::<Vec<_>>()));
    }
    if let Some(estimate) = item.tags.get("estimate") {
        fields.insert("estimate".to_owned(), text(estimate));
    }
    if let Some(pipeline) = item.tags.get("pipeline").filter(|name| *name != DEFAULT_PIPELINE) {
        fields.insert("pipeline".to_owned(), text(pipeline));
    }
    fields
}

/// Takes a record on for a run, in the place of one that is over.
pub fn take(
    dir: &Path,
    at: Time,
    run: &str,
    (kind, id): (WorkKind, &WorkId),
    over: Option<String>,
) -> Result<(), WorkError> {
    let by = WorkAuthor::Run { run: run.to_owned() };
    let time = file_time(at);
    let moment = WorkMoment { at, now: &time, by: &by, place: None };
    let command = WorkCommand::Take { kind, id: id.clone(), run: run.to_owned(), over };
    WorkStore::open(dir)?.change(&moment, &command)?;
    Ok(())
}
