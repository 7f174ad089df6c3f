//! `forge run ID`: a record of work as the subject of a run.
//!
//! The request is the record in words, the flow is that of its kind, and the tasks of a sprint that are there already are its list.
//!
//! Not here: how the record follows the run (`driver::work_records`).

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Run,
    event::{PlannedTaskIds, RunSubject, Start},
    flow::DEFAULT_PIPELINE,
    followed::followed,
    id::{UnitId, is_item_id},
    item::Item,
    needs::record_of_unit,
    view::Course,
    work::{FieldValue, Fields, WorkId, WorkKind, WorkRecord, WorkRefusal, WorkState, waits_for},
};
use forge_driver::{Error, clock::now, run_id::short_id, work_records::take};
use forge_project::{settings::Settings, suggest::nearest};
use forge_store::work::WorkError;

use super::request::{AboutRecord, Request};
use crate::{
    forge::Forge,
    work::{WorkFinding, WorkRecords, refusals},
};

/// The list that the tasks of a sprint are.
const TASKS: &str = "tasks";
/// The field of a task, and the tag of an item, that names a pipeline.
const PIPELINE: &str = "pipeline";
/// The flow of a sprint that was not given one.
const SPRINT_FLOW: &str = "sprint";

impl Forge {
    /// Returns the request with what it says, if it is the id of a record. A single word is never a request of its own.
    pub(super) fn with_record(&self, request: &Request) -> Result<Request, Error> {
        let id: Option<WorkId> = request.text.trim().parse().ok();
        let (Some(id), None) = (id, &request.about) else { return Ok(request.clone()) };
        let Some(mut records) = self.work_to_read()? else { return Ok(request.clone()) };
        let findings = records.take_all()?;
        let command = |id: &WorkId| format!("forge run {id}");
        let known = match records.known(&id)? {
            Some(record) => Some(record),
            None if !is_end_of_id(id.as_str()) => None,
            None => records.find_by_end(id.as_str(), &command)?,
        };
        let Some(record) = known else {
            if !looks_like_id(&id) {
                return Ok(request.clone());
            }
            let near = records.nearest_id(&id)?;
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(Error::usage(
                format!("there is no record `{id}`{near}"),
                format!("forge {} list", kind_of_id(&id)),
            ));
        };
        if let Some(holder) = record.run.clone().filter(|holder| self.is_open(holder)) {
            let (id, run) = (record.id.clone(), holder);
            let refusal = WorkError::Refused(WorkRefusal::TakenBy { id, run });
            return Err(refusals::about(record.kind, &record.id, &refusal));
        }
        refuse_wrong_file(&findings, &record)?;
        refuse_state(&record)?;
        let settings = self.settings_at(self.home.repository.head().as_deref())?;
        refuse_pipeline(&settings, &record)?;
        refuse_early(&record, &records.committed_tasks()?)?;
        let flow = request.flow.clone().unwrap_or_else(|| pipeline_or_kind(&record).to_owned());
        let mut text = in_words(&record);
        let mut about = AboutRecord {
            subject: RunSubject {
                kind: record.kind,
                item: item(&record, &BTreeSet::new()),
                left_out: Vec::new(),
                reasons: BTreeMap::new(),
                sprint: record.texts("sprintId").first().map(|sprint| (*sprint).to_owned()),
                task_ids: PlannedTaskIds::TwoDigits,
            },
            lists: BTreeMap::new(),
            notes: self.not_merged(&records, std::slice::from_ref(&record))?,
        };
        if record.kind == WorkKind::Sprint && flow == SPRINT_FLOW {
            let tasks = records.tasks_of(&record.id)?;
            for task in &tasks {
                refuse_wrong_file(&findings, task)?;
                refuse_pipeline(&settings, task)?;
            }
            let is_open = |holder: &str| self.is_open(holder);
            let SprintTasks { items, left_out } =
                list(&tasks, &records.committed_tasks()?, &is_open)?;
            let skipped = |(id, why): (&WorkId, &String)| format!("`{id}` is skipped: it {why}");
            about.notes = left_out.iter().map(skipped).collect();
            about.notes.extend(self.not_merged(&records, &tasks)?);
            about.subject.left_out = left_out.keys().map(ToString::to_string).collect();
            about.subject.reasons =
                left_out.into_iter().map(|(id, why)| (id.to_string(), why)).collect();
            for task in
                tasks.iter().filter(|task| items.iter().any(|item| task.id.as_str() == item.id))
            {
                text.push_str("\n\n");
                text.push_str(&in_words(task));
            }
            if items.is_empty() && !tasks.is_empty() {
                return Err(Error::usage(
                    format!(
                        "no task of `{}` can be worked on: {}",
                        record.id,
                        about.notes.join("; ")
                    ),
                    "forge task list",
                ));
            }
            if !items.is_empty() {
                about.lists.insert(TASKS.to_owned(), items);
            }
        }
        let mut params = request.params.clone();
        if flow == SPRINT_FLOW {
            for (name, value) in modes(&record) {
                params.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
            }
        }
        let (flow, about) = (Some(flow), Some(Box::new(about)));
        Ok(Request { text, about, flow, params, ..request.clone() })
    }

    /// Takes the record on for a run, and the tasks of a sprint that it begins with. Another run that still works on one is named.
    pub(super) fn take_records(&self, start: &Start, run: &str) -> Result<(), Error> {
        let Some(about) = &start.about else { return Ok(()) };
        let tasks = start.lists.get(TASKS).into_iter().flatten();
        let tasks = tasks.filter(|_| about.kind == WorkKind::Sprint);
        let ids = tasks.map(|task| (WorkKind::Task, task.id.as_str()));
        let ids = [(about.kind, about.item.id.as_str())].into_iter().chain(ids);
        self.take_on(ids, run, |holder| !self.is_open(holder))
    }

    /// Takes the records of a run on for the one that goes on from within it. What is done already cannot be done again.
    pub(crate) fn take_rewound_records(
        &self,
        run: &Run,
        unit: &UnitId,
        (old, new): (&str, &str),
    ) -> Result<(), Error> {
        let Some(about) = &run.definition().start.about else { return Ok(()) };
        let Some(records) = self.work_to_read()? else { return Ok(()) };
        let task = record_of_unit(run, &unit.scope);
        let whole = about.item.id.parse::<WorkId>().ok();
        for id in [task, whole].into_iter().flatten() {
            if let Some(record) = records.known(&id)? {
                refuse_state(&record)?;
            }
        }
        let all = followed(run);
        let mut there = Vec::new();
        for record in &all {
            let id: Option<WorkId> = record.id.parse().ok();
            if id.map(|id| records.known(&id)).transpose()?.flatten().is_some() {
                there.push((record.kind, record.id.as_str()));
            }
        }
        self.take_on(there.into_iter(), new, |holder| holder == old || !self.is_open(holder))
    }

    fn take_on<'i>(
        &self,
        ids: impl Iterator<Item = (WorkKind, &'i str)>,
        run: &str,
        lets_go: impl Fn(&str) -> bool,
    ) -> Result<(), Error> {
        let records = self.work_to_read()?;
        for (kind, id) in ids {
            let id: WorkId =
                id.parse().map_err(|_| Error::usage(format!("`{id}` is not an id"), ""))?;
            let holder = records.as_ref().map(|records| records.known(&id)).transpose()?;
            let holder = holder.flatten().and_then(|record| record.run);
            let over = holder.filter(|holder| lets_go(holder));
            let taken = take(&self.home.dir, now(), run, (kind, &id), over);
            taken.map_err(|error| refusals::about(kind, &id, &error))?;
        }
        Ok(())
    }

    /// Says which done tasks others come after are only on the branches of their runs: the new run begins without them.
    fn not_merged(
        &self,
        records: &WorkRecords<'_>,
        tasks: &[WorkRecord],
    ) -> Result<Vec<String>, Error> {
        let mut notes = BTreeSet::new();
        for first in tasks.iter().flat_map(|task| waits_for(&task.fields)) {
            let done = records.known(&first)?.filter(|first| first.state == WorkState::Committed);
            let Some(run) = done.and_then(|done| done.run) else { continue };
            let head = self.home.repository.resolve_commit(&format!("refs/forge/{run}/head"));
            if head.is_some_and(|head| !self.is_merged(&head)) {
                let id = short_id(&run);
                notes.insert(format!(
                    "`{first}` is committed on the branch of its run and not merged, so this run begins without it: \
                     forge merge {id}"
                ));
            }
        }
        Ok(notes.into_iter().collect())
    }

    /// Returns true if a run is neither over nor failed. One that is not known never began.
    fn is_open(&self, run: &str) -> bool {
        let Ok((rows, _)) = self.rows_to_list() else { return true };
        let row = rows.iter().find(|row| row.run == run);
        row.is_some_and(|row| match row.standing.course() {
            Course::Driven | Course::Asking | Course::Held => true,
            Course::Failed | Course::Over => false,
        })
    }
}

/// Returns true if a single word can only be meant as an id: capitals and digits in parts.
fn looks_like_id(id: &WorkId) -> bool {
    let has = |is: fn(&char) -> bool| id.as_str().chars().any(|char| is(&char));
    has(char::is_ascii_uppercase)
        && has(char::is_ascii_digit)
        && !has(char::is_ascii_lowercase)
        && id.as_str().contains(['-', '_'])
}

/// Returns true if a word can be the end of the id of a task, sprint or bug: `T01`, `S01-T01`, `BUG-001`.
fn is_end_of_id(word: &str) -> bool {
    let last = word.rsplit('-').next().unwrap_or(word);
    let number = last.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the kind of record that an id has the form of.
fn kind_of_id(id: &WorkId) -> WorkKind {
    let id = id.as_str().to_ascii_uppercase();
    let last = id.rsplit('-').next().unwrap_or(&id);
    let is_sprint = last.strip_prefix('S').is_some_and(|number| number.parse::<u32>().is_ok());
    if id.contains("BUG-") {
        WorkKind::Bug
    } else if is_sprint {
        WorkKind::Sprint
    } else {
        WorkKind::Task
    }
}

/// Returns the flow that a record goes through: its pipeline, or that of its kind.
pub(crate) fn pipeline_or_kind(record: &WorkRecord) -> &str {
    let own = pipeline(&record.fields).filter(|name| *name != DEFAULT_PIPELINE);
    own.unwrap_or(record.kind.as_str())
}

/// Returns the pipeline that a task names.
fn pipeline(fields: &Fields) -> Option<&str> {
    fields.get(PIPELINE).and_then(FieldValue::as_text)
}

/// Refuses a record whose file says what it cannot be.
fn refuse_wrong_file(findings: &[WorkFinding], record: &WorkRecord) -> Result<(), Error> {
    match findings.iter().find(|finding| finding.is_about(record)) {
        None => Ok(()),
        Some(finding) => Err(finding.clone().into_error()),
    }
}

fn refuse_pipeline(settings: &Settings, record: &WorkRecord) -> Result<(), Error> {
    let next = format!("forge task set {} pipeline=NAME", record.id);
    match unknown_pipeline(settings, &record.fields) {
        None => Ok(()),
        Some(what) => Err(Error::usage(format!("`{}` has the {what}", record.id), next)),
    }
}

/// Says that fields name a pipeline which the settings do not have, with those that they have.
pub(crate) fn unknown_pipeline(settings: &Settings, fields: &Fields) -> Option<String> {
    let known = |name: &str| name == DEFAULT_PIPELINE || settings.pipelines.contains_key(name);
    let name = pipeline(fields).filter(|name| !known(name))?;
    let names: Vec<&str> = settings.pipelines.keys().map(|name| &**name).collect();
    let near = nearest(name, names.iter().copied());
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let names = [DEFAULT_PIPELINE].into_iter().chain(names).collect::<Vec<_>>().join(", ");
    Some(format!("unknown pipeline `{name}`{near} (pipelines: {names})"))
}

/// Returns the parameters that the mode of a sprint means.
fn modes(sprint: &WorkRecord) -> &'static [(&'static str, &'static str)] {
    match sprint.fields.get("executionMode").and_then(FieldValue::as_text) {
        Some("sequential") => &[("at_once", "1")],
        Some("wave-parallel") => &[("order", "waves")],
        // As parallel as paths and dependencies allow, which is how it is anyway.
        Some(_) | None => &[],
    }
}

/// Refuses a task that comes after one which is not done.
fn refuse_early(record: &WorkRecord, done: &BTreeSet<WorkId>) -> Result<(), Error> {
    let waits_for = waits_for(&record.fields).into_iter().find(|first| !done.contains(first));
    match waits_for.filter(|_| record.kind == WorkKind::Task) {
        None => Ok(()),
        Some(first) => Err(Error::usage(
            format!("`{}` depends on `{first}`, which is not committed", record.id),
            format!("forge run {first}"),
        )),
    }
}

/// Refuses a record that is at its end, or waits for a person.
fn refuse_state(record: &WorkRecord) -> Result<(), Error> {
    let WorkRecord { id, state, .. } = record;
    match step_before_run(record) {
        None => Ok(()),
        Some(next) => {
            Err(Error::usage(format!("`{id}` is {state}, so no run can work on it"), next))
        }
    }
}

/// Returns the command that comes before a run of a record, if its state allows none.
pub(crate) fn step_before_run(record: &WorkRecord) -> Option<String> {
    let WorkRecord { id, kind, state, .. } = record;
    match state {
        WorkState::Blocked | WorkState::Escalated => {
            Some(format!("forge {kind} unblock {id} \"WHY\""))
        }
        WorkState::Committed
        | WorkState::Abandoned
        | WorkState::RetrospectiveDone
        | WorkState::Fixed
        | WorkState::Shipped
        | WorkState::Retired => Some(format!("forge {kind} show {id}")),
        WorkState::Draft
        | WorkState::Planned
        | WorkState::PlanApproved
        | WorkState::Implementing
        | WorkState::Implemented
        | WorkState::ReviewApproved
        | WorkState::Approved
        | WorkState::PlanRevisionRequired
        | WorkState::CodeRevisionRequired
        | WorkState::Planning
        | WorkState::Active
        | WorkState::Completed
        | WorkState::PartiallyCompleted
        | WorkState::Reported
        | WorkState::Triaged
        | WorkState::InProgress => None,
    }
}

/// The tasks of a sprint, as a run sees them.
#[derive(Default)]
struct SprintTasks {
    /// Those that can be worked on.
    items: Vec<Item>,
    /// Those that cannot, and why, as the end of a sentence.
    left_out: BTreeMap<WorkId, String>,
}

/// Returns the tasks that can be worked on, and why the others are left out. What is done is neither.
fn list(
    tasks: &[WorkRecord],
    done: &BTreeSet<WorkId>,
    is_open: &dyn Fn(&str) -> bool,
) -> Result<SprintTasks, Error> {
    let own: BTreeSet<&WorkId> = tasks.iter().map(|task| &task.id).collect();
    let open = tasks.iter().filter(|task| !done.contains(&task.id));
    let mut out = BTreeMap::new();
    for task in open.clone() {
        let first = waits_for(&task.fields)
            .into_iter()
            .find(|first| !done.contains(first) && !own.contains(first));
        if refuse_state(task).is_err() {
            out.insert(task.id.clone(), format!("is {}", task.state));
        } else if let Some(run) = task.run.as_ref().filter(|run| is_open(run)) {
            out.insert(task.id.clone(), format!("is worked on by the run {}", short_id(run)));
        } else if let Some(first) = first {
            let why = format!("waits for `{first}` of another sprint, which is not committed");
            out.insert(task.id.clone(), why);
        }
    }
    loop {
        let before = out.len();
        for task in open.clone() {
            let first = waits_for(&task.fields).into_iter().find(|first| out.contains_key(first));
            if let Some(first) = first.filter(|_| !out.contains_key(&task.id)) {
                out.insert(task.id.clone(), format!("waits for `{first}`"));
            }
        }
        if out.len() == before {
            break;
        }
    }
    let mut items = Vec::new();
    for task in open.filter(|task| !out.contains_key(&task.id)) {
        if !is_item_id(task.id.as_str()) {
            return Err(Error::usage(
                format!(
                    "`{}` is too long for the task of a run: at most 40 characters, without a dot",
                    task.id
                ),
                format!("forge task show {}", task.id),
            ));
        }
        items.push(item(task, done));
    }
    Ok(SprintTasks { items, left_out: out })
}

/// Returns a record as the engine sees it. It waits for nothing that is done.
fn item(record: &WorkRecord, done: &BTreeSet<WorkId>) -> Item {
    let texts = |field: &str| record.texts(field).into_iter().map(str::to_owned).collect();
    let first = |id: &WorkId| (!done.contains(id)).then(|| id.to_string());
    Item {
        id: record.id.to_string(),
        title: record.title().to_owned(),
        after: match record.kind {
            WorkKind::Task => waits_for(&record.fields).iter().filter_map(first).collect(),
            WorkKind::Sprint | WorkKind::Bug | WorkKind::Feature => Vec::new(),
        },
        writes: texts("writes"),
        must: texts("must"),
        tags: pipeline(&record.fields)
            .map(|name| (PIPELINE.to_owned(), name.to_owned()))
            .into_iter()
            .collect(),
    }
}

/// Returns a record as a request.
fn in_words(record: &WorkRecord) -> String {
    let words = |field: &str| record.fields.get(field).and_then(FieldValue::as_text);
    let mut parts = vec![format!("{} ({} {})", record.title(), record.kind.as_str(), record.id)];
    parts.extend(["description", "goal"].into_iter().filter_map(words).map(str::to_owned));
    for (field, title) in [("requirements", "Requirements"), ("must", "Done when")] {
        let lines = record.texts(field);
        if !lines.is_empty() {
            parts.push(format!("{title}:\n\n- {}", lines.join("\n- ")));
        }
    }
    parts.extend(words("severity").map(|severity| format!("Severity: {severity}")));
    parts.join("\n\n")
}
