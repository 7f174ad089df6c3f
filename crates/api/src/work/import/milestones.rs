//! Projects of the third predecessor, `.gsd/`: a milestone becomes a feature, each of its slices a sprint, each task a task. A
//! task beside the milestones becomes a feature, too, because a task here belongs to a sprint.
//!
//! There a file that exists says that work is done, and so it is read: a task with its summary is committed, a slice with its
//! summary completed. Nothing else is taken for done.
//!
//! Not here: decisions and memory (`knowledge`).

use std::{collections::BTreeSet, sync::LazyLock};

use forge_core::work::{FieldValue, Fields, WorkId, WorkKind};
use regex::Regex;

use super::{
    draft::ImportDraft,
    front_matter::{self, FrontValue},
    knowledge,
    source_folder::{Entries, SourceFolder},
    workspaces::{TITLE_CHARS_MAX, first_line, list_entry, shortened},
};

pub(super) const FOLDER: &str = ".gsd";

/// The line of a slice in the roadmap of its milestone.
static SLICE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*- \[[ xX]\] \*\*(S\d+): ?(.*?)\*\*(.*)$").expect("the pattern is valid")
});
/// A label of the file of a milestone's state.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\*\*(Active Slice|Phase):?\*\*:? *(.*?) *$").expect("the pattern is valid")
});
static TASK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^T\d+(\.\d+)?$").expect("the pattern is valid"));
static SLICE_ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^S\d+$").expect("the pattern is valid"));

/// Keys of plans that have a place here, or that only repeat where the file is.
const KEPT: [&str; 7] = ["id", "slice", "milestone", "title", "depends", "writes", "must_haves"];
/// The same of the plans of slices.
const KEPT_OF_SLICES: [&str; 3] = ["id", "milestone", "depends"];
/// What a task must have, in the order of its list.
const MUST: [&str; 3] = ["truths", "artifacts", "key_links"];

/// The state of a task by its files.
const DONE: &str = "committed";

/// Whether milestones are where finished ones are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MilestoneAge {
    Current,
    Archived,
}

/// A slice as the roadmap has it.
struct RoadmapSlice {
    id: String,
    title: String,
    risk: Option<String>,
    depends: Vec<String>,
    demo: String,
}

/// One milestone, while it is read.
struct Milestone<'a> {
    folder: &'a SourceFolder,
    id: String,
    path: String,
    age: MilestoneAge,
    roadmap: Vec<RoadmapSlice>,
    active_slice: String,
    phase: String,
}

/// Reads all of it.
pub(super) fn read(folder: &SourceFolder, draft: &mut ImportDraft) {
    for (below, age) in [("milestones", MilestoneAge::Current), ("archive", MilestoneAge::Archived)]
    {
        let below = format!("{FOLDER}/{below}");
        for id in folders(folder, &below, draft) {
            if age == MilestoneAge::Archived && id == "tasks" {
                continue;
            }
            milestone(folder, &below, id, age, draft);
        }
    }
    for (below, age) in
        [("tasks", MilestoneAge::Current), ("archive/tasks", MilestoneAge::Archived)]
    {
        let below = format!("{FOLDER}/{below}");
        for id in folders(folder, &below, draft) {
            let path = format!("{below}/{id}");
            let read = loose_task(folder, &path, &id, age, draft);
            draft.keep(folder.shown(&path), read);
        }
    }
    knowledge::read(folder, FOLDER, draft);
}

/// Lists the folders in one, and reports what is neither folder nor file.
fn folders(folder: &SourceFolder, path: &str, draft: &mut ImportDraft) -> Vec<String> {
    let entries = folder.entries(path);
    let entries: Entries = draft.keep(folder.shown(path), entries).unwrap_or_default();
    for name in entries.other {
        draft.finding(folder.shown(&format!("{path}/{name}")), "is not a regular file or folder");
    }
    entries.folders
}

fn milestone(
    folder: &SourceFolder,
    below: &str,
    id: String,
    age: MilestoneAge,
    draft: &mut ImportDraft,
) {
    let path = format!("{below}/{id}");
    let mut milestone = Milestone {
        folder,
        id,
        path,
        age,
        roadmap: Vec::new(),
        active_slice: String::new(),
        phase: String::new(),
    };
    let read = milestone.feature(draft);
    if draft.keep(folder.shown(&milestone.path), read).is_none() {
        return;
    }
    let slices = format!("{}/slices", milestone.path);
    let mut ids: BTreeSet<String> = folders(folder, &slices, draft).into_iter().collect();
    ids.extend(milestone.roadmap.iter().map(|slice| slice.id.clone()));
    for slice in ids {
        let path = format!("{slices}/{slice}");
        let read = milestone.slice(&slice, &path, draft);
        draft.keep(folder.shown(&path), read);
    }
}

impl Milestone<'_> {
    /// Reads what is about the milestone as a whole.
    fn feature(&mut self, draft: &mut ImportDraft) -> Result<(), String> {
        let id = parse_id(&self.id)?;
        let named = |name: &str| format!("{}/{}-{name}.md", self.path, self.id);
        let roadmap = self.folder.text(&named("ROADMAP"))?.unwrap_or_default();
        let state = self.folder.text(&named("STATE"))?.unwrap_or_default();
        let summary = self.folder.text(&named("SUMMARY"))?.unwrap_or_default();
        let (summary, _) =
            front_matter::parse(&summary).map_err(|rule| at(&named("SUMMARY"), &rule))?;
        let (_, roadmap) =
            front_matter::parse(&roadmap).map_err(|rule| at(&named("ROADMAP"), &rule))?;
        let (_, state) = front_matter::parse(&state).map_err(|rule| at(&named("STATE"), &rule))?;
        for line in state.lines() {
            let Some(found) = LABEL.captures(line) else { continue };
            let place = if &found[1] == "Phase" { &mut self.phase } else { &mut self.active_slice };
            found[2].clone_into(place);
        }
        self.roadmap = roadmap_slices(&roadmap);
        let ids: BTreeSet<&String> = self.roadmap.iter().map(|slice| &slice.id).collect();
        for slice in &self.roadmap {
            for first in slice.depends.iter().filter(|first| !ids.contains(first)) {
                let path = self.folder.shown(&named("ROADMAP"));
                let what = format!(
                    "`depends` of {} names `{first}`, which is not a slice there",
                    slice.id
                );
                draft.finding(path, what);
            }
        }
        let is_in_ledger = self.folder.has(&format!("{FOLDER}/ledger/{}.md", self.id))?;
        let is_closed = ["complete", "completed", "done"];
        let is_shipped = self.age == MilestoneAge::Archived
            || is_in_ledger
            || summary.text("status").is_some_and(|status| is_closed.contains(&status));
        let status = match (is_shipped, self.roadmap.is_empty()) {
            (true, _) => "shipped",
            (false, false) => "active",
            (false, true) => "draft",
        };
        let title = match summary.text("title") {
            Some(title) => title,
            None => without_id(first_line(&roadmap), &self.id),
        };
        let mut fields = titled(title, &self.id);
        let vision = section(&roadmap, "Vision");
        if !vision.is_empty() {
            fields.insert("description".to_owned(), FieldValue::Text(vision));
        }
        let source = self.folder.shown(&named("ROADMAP"));
        draft.candidate((WorkKind::Feature, id), source, status.to_owned(), fields);
        Ok(())
    }

    /// Reads a slice and its tasks.
    fn slice(&self, slice: &str, path: &str, draft: &mut ImportDraft) -> Result<(), String> {
        if !SLICE_ID.is_match(slice) {
            return Err(format!(
                "`{}` is not the id of a slice, such as S01",
                slice.escape_debug()
            ));
        }
        let id = parse_id(&format!("{}-{slice}", self.id))?;
        let name = format!("{slice}-PLAN.md");
        let plan = self.folder.text(&format!("{path}/{name}"))?.unwrap_or_default();
        let (head, body) = front_matter::parse(&plan).map_err(|rule| at(&name, &rule))?;
        expect_id(&head, "id", slice)?;
        expect_id(&head, "milestone", &self.id)?;
        let is_done = self.folder.has(&format!("{path}/{slice}-SUMMARY.md"))?;
        let mut has_begun = false;
        let tasks = format!("{path}/tasks");
        for task in folders(self.folder, &tasks, draft) {
            let below = format!("{tasks}/{task}");
            let read = self.task(&id, slice, &task, &below, draft);
            if let Some(state) = draft.keep(self.folder.shown(&below), read) {
                has_begun |= state != "planned";
            }
        }
        let is_active = self.active_slice == slice;
        let status = match (is_done, is_active && self.phase == "blocked", has_begun || is_active) {
            (true, ..) => "completed",
            (false, true, _) => "blocked",
            (false, false, true) => "active",
            (false, false, false) => "planning",
        };
        let planned = self.roadmap.iter().find(|planned| planned.id == slice);
        let title = planned.map_or_else(|| without_id(first_line(&body), slice), |one| &one.title);
        let mut fields = titled(title, slice);
        fields.insert("feature_id".to_owned(), FieldValue::Text(self.id.clone()));
        let goal = section(&body, "Goal");
        let goal = if goal.is_empty() { planned.map_or("", |one| &one.demo) } else { &goal };
        if !goal.is_empty() {
            fields.insert("goal".to_owned(), FieldValue::Text(goal.to_owned()));
        }
        let risk = planned.and_then(|one| one.risk.as_ref()).map(|risk| format!("Risk: {risk}."));
        let mut first = texts(&head, "depends").map_err(|rule| at(&name, &rule))?;
        first.extend(planned.iter().flat_map(|one| one.depends.iter().cloned()));
        let first: Vec<String> =
            first.into_iter().collect::<BTreeSet<String>>().into_iter().collect();
        let first = Some(first.join(", ")).filter(|first| !first.is_empty());
        let first = first.map(|first| format!("After the slices: {first}."));
        let about: Vec<String> = risk.into_iter().chain(first).collect();
        if !about.is_empty() {
            fields.insert("description".to_owned(), FieldValue::Text(about.join(" ")));
        }
        if let Some(path) = self.folder.in_repository(path) {
            fields.insert("path".to_owned(), FieldValue::Text(path));
        }
        for (key, _) in
            head.entries().iter().filter(|(key, _)| !KEPT_OF_SLICES.contains(&key.as_str()))
        {
            draft.leave_out(key.clone());
        }
        let source = self.folder.shown(&format!("{path}/{name}"));
        draft.candidate((WorkKind::Sprint, id), source, status.to_owned(), fields);
        Ok(())
    }

    /// Reads a task. Returns its state.
    fn task(
        &self,
        sprint: &WorkId,
        slice: &str,
        task: &str,
        path: &str,
        draft: &mut ImportDraft,
    ) -> Result<&'static str, String> {
        if !TASK.is_match(task) {
            return Err(format!("`{}` is not the id of a task, such as T01", task.escape_debug()));
        }
        let id = parse_id(&format!("{sprint}-{task}"))?;
        let name = format!("{task}-PLAN.md");
        let is_done = self.folder.has(&format!("{path}/{task}-SUMMARY.md"))?;
        let plan = match self.folder.text(&format!("{path}/{name}"))? {
            Some(plan) => plan,
            None if is_done => String::new(),
            None => return Err(format!("{name} is missing")),
        };
        let (head, body) = front_matter::parse(&plan).map_err(|rule| at(&name, &rule))?;
        expect_id(&head, "id", task)?;
        expect_id(&head, "slice", slice)?;
        expect_id(&head, "milestone", &self.id)?;
        let status = match (is_done, head.text("status")) {
            (true, _) => DONE,
            (false, Some("RUNNING")) => "implementing",
            (false, Some("DONE")) => "implemented",
            (false, None) => "planned",
            (false, Some(other)) => {
                return Err(format!("{name}: `status` can be RUNNING, DONE, not `{other}`"));
            }
        };
        let title = head.text("title").unwrap_or_else(|| without_id(first_line(&body), task));
        let mut fields = titled(title, task);
        fields.insert("sprintId".to_owned(), FieldValue::Text(sprint.to_string()));
        let goal = section(&body, "Goal");
        if !goal.is_empty() {
            fields.insert("description".to_owned(), FieldValue::Text(goal));
        }
        if let Some(path) = self.folder.in_repository(path) {
            fields.insert("path".to_owned(), FieldValue::Text(path));
        }
        let mut list = |field: &str, texts: Vec<String>| {
            if !texts.is_empty() {
                let texts = texts.into_iter().map(FieldValue::Text).collect();
                fields.insert(field.to_owned(), FieldValue::List(texts));
            }
        };
        let mut first = Vec::new();
        for named in texts(&head, "depends").map_err(|rule| at(&name, &rule))? {
            if !TASK.is_match(&named) {
                return Err(format!(
                    "{name}: `depends` names `{named}`, which is not the id of a task"
                ));
            }
            first.push(format!("{sprint}-{named}"));
        }
        list("dependencies", first);
        list("writes", texts(&head, "writes").map_err(|rule| at(&name, &rule))?);
        list("must", must(&head).map_err(|rule| at(&name, &rule))?);
        for (key, _) in head.entries() {
            if !KEPT.contains(&key.as_str()) && key != "status" {
                draft.leave_out(key.clone());
            }
        }
        let source = self.folder.shown(&format!("{path}/{name}"));
        draft.candidate((WorkKind::Task, id), source, status.to_owned(), fields);
        Ok(status)
    }
}

/// Reads a task that belongs to no milestone.
fn loose_task(
    folder: &SourceFolder,
    path: &str,
    id: &str,
    age: MilestoneAge,
    draft: &mut ImportDraft,
) -> Result<(), String> {
    let work_id = parse_id(id)?;
    let name = format!("{id}-BRIEF.md");
    let brief = folder.text(&format!("{path}/{name}"))?.ok_or(format!("{name} is missing"))?;
    let (head, body) = front_matter::parse(&brief).map_err(|rule| at(&name, &rule))?;
    expect_id(&head, "id", id)?;
    let about = head.text("description").unwrap_or(body.trim());
    let mut fields = titled(first_line(about), id);
    if !about.is_empty() {
        fields.insert("description".to_owned(), FieldValue::Text(about.to_owned()));
    }
    let has = |name: &str| folder.has(&format!("{path}/{id}-{name}.md"));
    let status = match (age == MilestoneAge::Archived || has("SUMMARY")?, has("PLAN")?) {
        (true, _) => "shipped",
        (false, true) => "active",
        (false, false) => "draft",
    };
    let source = folder.shown(&format!("{path}/{name}"));
    draft.candidate((WorkKind::Feature, work_id), source, status.to_owned(), fields);
    Ok(())
}

fn parse_id(id: &str) -> Result<WorkId, String> {
    id.parse().map_err(|error| format!("cannot be an id: {error}"))
}

fn at(name: &str, rule: &str) -> String {
    format!("{}: {rule}", name.rsplit('/').next().unwrap_or(name))
}

/// Refuses a file that says that it is about something else.
fn expect_id(head: &FrontValue, key: &str, id: &str) -> Result<(), String> {
    match head.text(key) {
        Some(found) if found != id => {
            Err(format!("`{key}` is `{found}`, unlike the folder `{id}`"))
        }
        Some(_) | None => Ok(()),
    }
}

fn titled(title: &str, id: &str) -> Fields {
    let title = if title.is_empty() { id } else { title };
    let title = FieldValue::Text(shortened(title, TITLE_CHARS_MAX));
    Fields::from([("title".to_owned(), title)])
}

/// Returns a heading without the id that it begins with.
fn without_id<'a>(heading: &'a str, id: &str) -> &'a str {
    let rest = heading.strip_prefix(id).unwrap_or(heading);
    rest.trim_start_matches([':', ' ', '-', '–', '—']).trim()
}

/// Returns the text below a heading of the second level.
fn section(text: &str, heading: &str) -> String {
    let is_heading = |line: &str| line.starts_with("# ") || line.starts_with("## ");
    let lines = text.lines().skip_while(|line| line.trim_end() != format!("## {heading}")).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !is_heading(line)).collect();
    lines.join("\n").trim().to_owned()
}

/// Reads the slices of a roadmap: a box, a title, tags, and what can be shown in the lines below.
fn roadmap_slices(text: &str) -> Vec<RoadmapSlice> {
    let mut slices: Vec<RoadmapSlice> = Vec::new();
    let mut is_below = false;
    for line in text.lines() {
        if let Some(found) = SLICE.captures(line) {
            let tag = |name: &str| {
                let mut tags = found[3].split('`');
                let tag = tags.find_map(|tag| tag.trim().strip_prefix(name));
                tag.map(|tag| tag.trim_matches(['[', ']']).to_owned())
            };
            let depends = tag("depends:").unwrap_or_default();
            let depends = depends.split(',').map(str::trim).filter(|first| !first.is_empty());
            slices.push(RoadmapSlice {
                id: found[1].to_owned(),
                title: found[2].trim().to_owned(),
                risk: tag("risk:"),
                depends: depends.map(str::to_owned).collect(),
                demo: String::new(),
            });
            is_below = true;
        } else if is_below && line.starts_with([' ', '\t']) && !line.trim().is_empty() {
            let demo = &mut slices.last_mut().expect("a slice is above").demo;
            let text = list_entry(line).unwrap_or(line).trim();
            if !demo.is_empty() {
                demo.push('\n');
            }
            demo.push_str(text);
        } else {
            is_below = false;
        }
    }
    slices
}

/// Returns the texts of a key that is a list.
fn texts(head: &FrontValue, key: &str) -> Result<Vec<String>, String> {
    let Some(value) = head.get(key) else { return Ok(Vec::new()) };
    value.texts().ok_or(format!("`{key}` must be a list of texts"))
}

/// Returns what must be true when a task is done, each as a text.
fn must(head: &FrontValue) -> Result<Vec<String>, String> {
    let Some(must) = head.get("must_haves") else { return Ok(Vec::new()) };
    if let Some((other, _)) = must.entries().iter().find(|(key, _)| !MUST.contains(&key.as_str())) {
        return Err(format!(
            "`must_haves.{other}` is not a field there; known: {}",
            MUST.join(", ")
        ));
    }
    let wrong = |key: &str, rule: &str| format!("`must_haves.{key}` {rule}");
    let mut all = Vec::new();
    for key in MUST {
        let Some(value) = must.get(key) else {
            return Err(wrong(key, "is missing"));
        };
        if key == "truths" {
            all.extend(value.texts().ok_or(wrong(key, "must be a list of texts"))?);
            continue;
        }
        for entry in value.list().ok_or(wrong(key, "must be a list"))? {
            let named = |name: &str| {
                entry.text(name).ok_or(wrong(key, &format!("has an entry without `{name}`")))
            };
            all.push(if key == "artifacts" {
                format!("{}: {}", named("path")?, named("provides")?)
            } else {
                format!("{} to {}: {}", named("from")?, named("to")?, named("via")?)
            });
        }
    }
    Ok(all)
}
