//! Readable pages of records of work: an index, and a page for each feature, sprint, task and bug, with its state, plan, phases,
//! cost and time. From facts to files, without a model.
//!
//! Not here: where the facts come from, and writing the files (`driver/work_pages.rs`).
//!
//! Invariant: the same facts give the same bytes. Nothing of the machine or of the present time is in them.
//! Invariant: every page begins with [`MARK`], so that Forge never takes a file of a person's for one of its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{
    PhaseEvent,
    format::{first_line, sanitize, span},
    phase_total,
};
use crate::{
    event::Blob,
    flow::{Stage, Work},
    followed::changes_code,
    id::Scope,
    run::{Run, Table},
    task_origin::TaskOrigin,
    verdict::PhaseVerdict,
    work::{FieldValue, WorkId, WorkKind, WorkRecord, WorkState},
};

/// The first line of every page.
pub const MARK: &str = "<!-- Written by Forge from its records, see `forge work pages`. Changes to this file are lost. -->";
/// The name of the index.
pub const INDEX: &str = "README.md";
/// The most characters of a summary in a table.
const SUMMARY_CHARS_MAX: usize = 300;
/// The most characters of a plan. The rest is cut.
const PLAN_CHARS_MAX: usize = 20_000;
/// The deepest heading of Markdown.
const HEADING_MAX: usize = 6;

/// All that pages are made of.
#[derive(Clone, Debug, Default)]
pub struct PageFacts {
    pub records: Vec<WorkRecord>,
    /// The phases of all runs about these records. What two runs share may be here twice.
    pub events: Vec<PhaseEvent>,
    /// The text of the newest plan of a record.
    pub plans: BTreeMap<WorkId, String>,
}

/// The difference between the pages that there are and those that there should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageChanges {
    /// Pages that are missing or differ.
    pub write: BTreeMap<String, String>,
    /// Pages that Forge wrote and that have no record.
    pub remove: Vec<String>,
    /// Files in the place of a page that Forge did not write. They are left alone.
    pub foreign: Vec<String>,
}

/// Returns the folders that pages are in, below the folder of all pages; the index is in that itself.
pub fn page_folders() -> impl Iterator<Item = &'static str> {
    WorkKind::ALL.into_iter().map(WorkKind::folder)
}

/// Returns all pages, by path.
pub fn pages(facts: &PageFacts) -> BTreeMap<String, String> {
    let mut facts = facts.clone();
    facts.records.sort_by(|one, other| one.id.cmp(&other.id));
    facts.events.sort_by(|one, other| order(one).cmp(&order(other)));
    let mut seen = BTreeSet::new();
    facts.events.retain(|event| event.is_call() && seen.insert(order_owned(event)));
    let facts = &facts;
    let mut pages = BTreeMap::from([(INDEX.to_owned(), index(facts))]);
    for record in &facts.records {
        pages.insert(path(record.kind, &record.id), page(facts, record));
    }
    pages
}

/// Compares the files of the folder that may be pages with the wanted pages.
pub fn page_changes(
    there: &BTreeMap<String, Vec<u8>>,
    wanted: &BTreeMap<String, String>,
) -> PageChanges {
    let mut changes = PageChanges::default();
    for (path, text) in wanted {
        match there.get(path) {
            Some(bytes) if bytes == text.as_bytes() => {}
            Some(bytes) if !is_page(bytes) => changes.foreign.push(path.clone()),
            Some(_) | None => {
                changes.write.insert(path.clone(), text.clone());
            }
        }
    }
    let gone = there.iter().filter(|(path, bytes)| !wanted.contains_key(*path) && is_page(bytes));
    changes.remove = gone.map(|(path, _)| path.clone()).collect();
    changes
}

/// Returns the artifact that is the plan of each record that a run is about: what the last stage left before code is changed.
pub fn plans(run: &Run) -> Vec<(WorkId, Blob)> {
    if !run.is_started() {
        return Vec::new();
    }
    let start = &run.definition().start;
    let Some(about) = &start.about else { return Vec::new() };
    let (stages, table) = run.table(&Scope::root());
    let mut found = Vec::new();
    let mut add = |id: &str, plan: Option<Blob>| {
        if let (Ok(id), Some(plan)) = (id.parse::<WorkId>(), plan) {
            found.push((id, plan));
        }
    };
    match about.kind {
        WorkKind::Task | WorkKind::Bug | WorkKind::Feature => {
            add(&about.item.id, plan_inside(stages, table));
        }
        WorkKind::Sprint => {
            add(&about.item.id, plan_of(stages, table));
            for (stage, unit) in stages.iter().zip(&table.units) {
                let Work::Each { list, stages, .. } = &stage.work else { continue };
                let origin = TaskOrigin::new(start, list);
                for (item, inside) in unit.inner.members() {
                    let id = origin.record_id(&about.item.id, &item.id);
                    add(&id, plan_inside(stages, inside));
                }
            }
        }
    }
    found
}

/// Returns the plan of the innermost table that has one.
fn plan_inside(stages: &[Stage], table: &Table) -> Option<Blob> {
    let inner = stages.iter().zip(&table.units).find_map(|(stage, unit)| {
        unit.inner.members().find_map(|(_, inside)| plan_inside(stage.inner(), inside))
    });
    inner.or_else(|| plan_of(stages, table))
}

fn plan_of(stages: &[Stage], table: &Table) -> Option<Blob> {
    let before_code = |stage: &&Stage| !changes_code(stage) && stage.inner().is_empty();
    let n_before = stages.iter().take_while(before_code).count();
    let rows = stages[..n_before].iter().zip(&table.units).rev();
    rows.filter(|(stage, _)| stage.work.role().is_some()).find_map(|(stage, unit)| {
        stage.writes.iter().find_map(|name| unit.artifacts.get(name).cloned())
    })
}

/// Returns the place of an event in the order of all runs.
fn order(event: &PhaseEvent) -> (u64, &str, u64, Option<&String>) {
    (event.started_at.unwrap_or(event.at), &event.run, event.at, event.call.as_ref())
}

fn order_owned(event: &PhaseEvent) -> (String, Option<String>) {
    (event.run.clone(), event.call.clone())
}

fn is_page(bytes: &[u8]) -> bool {
    bytes.starts_with(MARK.as_bytes())
}

fn path(kind: WorkKind, id: &WorkId) -> String {
    format!("{}/{id}.md", kind.folder())
}

impl PageFacts {
    /// Returns the records of a kind.
    fn of(&self, kind: WorkKind) -> impl DoubleEndedIterator<Item = &WorkRecord> {
        self.records.iter().filter(move |record| record.kind == kind)
    }

    fn tasks<'a>(&'a self, sprint: &'a WorkId) -> impl Iterator<Item = &'a WorkRecord> {
        self.of(WorkKind::Task).filter(|task| names(task, "sprintId", sprint))
    }

    /// Returns the phases of a record itself.
    fn own<'a>(&'a self, record: &'a WorkRecord) -> impl Iterator<Item = &'a PhaseEvent> {
        let is = |id: &Option<String>| {
            id.as_ref().is_some_and(|id| id.eq_ignore_ascii_case(record.id.as_str()))
        };
        self.events.iter().filter(move |event| match record.kind {
            WorkKind::Task => is(&event.task),
            WorkKind::Sprint | WorkKind::Bug | WorkKind::Feature => {
                event.task.is_none() && is(&event.record)
            }
        })
    }

    /// Returns the phases of a record and of all that belongs to it.
    fn all<'a>(&'a self, record: &'a WorkRecord) -> Vec<&'a PhaseEvent> {
        let mut events: Vec<&PhaseEvent> = self.own(record).collect();
        match record.kind {
            WorkKind::Task | WorkKind::Bug => {}
            WorkKind::Sprint => {
                events.extend(self.tasks(&record.id).flat_map(|task| self.own(task)));
            }
            WorkKind::Feature => {
                let parts = self.records.iter().filter(|part| is_part(part, &record.id));
                events.extend(parts.flat_map(|part| self.all(part)));
            }
        }
        events
    }
}

/// Returns true for a sprint or a task that names a feature.
fn is_part(record: &WorkRecord, feature: &WorkId) -> bool {
    match record.kind {
        WorkKind::Sprint | WorkKind::Task => {
            names(record, "feature_id", feature) || names(record, "features", feature)
        }
        WorkKind::Feature | WorkKind::Bug => false,
    }
}

fn names(record: &WorkRecord, field: &str, id: &WorkId) -> bool {
    let texts = record.texts(field);
    texts.iter().any(|text| text.parse().is_ok_and(|named: WorkId| named == *id))
}

fn index(facts: &PageFacts) -> String {
    let mut text = format!("{MARK}\n\n# Work\n");
    if facts.records.is_empty() {
        text.push_str("\nThere are no records yet.\n");
    }
    let mut features = facts.of(WorkKind::Feature).peekable();
    if features.peek().is_some() {
        text.push_str("\n## Features\n\n");
        table(&mut text, facts, features, "");
    }
    let mut sprints = facts.of(WorkKind::Sprint).rev().peekable();
    if sprints.peek().is_some() {
        text.push_str("\n## Sprints\n");
    }
    for sprint in sprints {
        let tasks: Vec<&WorkRecord> = facts.tasks(&sprint.id).collect();
        let n_done = tasks.iter().filter(|task| task.state == WorkState::Committed).count();
        let _ = write!(
            text,
            "\n### {}\n\n{}, {n_done} of {} tasks committed, {}.\n",
            link(sprint, ""),
            sprint.state,
            tasks.len(),
            used(&facts.all(sprint))
        );
        if !tasks.is_empty() {
            text.push('\n');
            table(&mut text, facts, tasks.into_iter(), "");
        }
    }
    let mut bugs: Vec<&WorkRecord> = facts.of(WorkKind::Bug).collect();
    if !bugs.is_empty() {
        bugs.sort_by_key(|bug| bug.kind.next_states(bug.state).is_empty());
        text.push_str("\n## Bugs\n\n");
        table(&mut text, facts, bugs.into_iter(), "");
    }
    text
}

/// Adds a table of records.
fn table<'a>(
    text: &mut String,
    facts: &PageFacts,
    records: impl Iterator<Item = &'a WorkRecord>,
    up: &str,
) {
    text.push_str("| Record | Status | Time | Cost |\n|---|---|---|---|\n");
    for record in records {
        let total = phase_total(facts.all(record));
        let (time, cost) = match total.calls {
            0 => (String::new(), String::new()),
            _ => (span(total.took_ms), total.cost.to_short_text()),
        };
        let (link, state) = (link(record, up), record.state);
        let _ = writeln!(text, "| {link} | {state} | {time} | {cost} |");
    }
}

/// Returns a record as a link with its title. `up` leads to the index.
fn link(record: &WorkRecord, up: &str) -> String {
    let path = path(record.kind, &record.id);
    format!("[{}]({up}{path}) {}", record.id, cell(record.title())).trim_end().to_owned()
}

fn used(events: &[&PhaseEvent]) -> String {
    let total = phase_total(events.iter().copied());
    match total.calls {
        0 => "no work of agents yet".to_owned(),
        1 => format!("1 call of an agent, {}, {}", span(total.took_ms), total.cost.to_text()),
        n => format!("{n} calls of agents, {}, {}", span(total.took_ms), total.cost.to_text()),
    }
}

fn page(facts: &PageFacts, record: &WorkRecord) -> String {
    let title = cell(record.title());
    let mut text = format!("{MARK}\n\n# {}: {title}\n\n", record.id);
    let _ = writeln!(text, "- Status: {}", record.state);
    for (field, name) in
        [("sprintId", "Sprint"), ("feature_id", "Feature"), ("features", "Features")]
    {
        related(&mut text, facts, record, (field, name));
    }
    related(&mut text, facts, record, ("dependencies", "Depends on"));
    related(&mut text, facts, record, ("similarBugs", "Similar bugs"));
    for (field, name) in [
        ("severity", "Severity"),
        ("rootCauseCategory", "Cause"),
        ("estimate", "Estimate"),
        ("executionMode", "Order of tasks"),
        ("githubIssue", "Issue"),
    ] {
        if let Some(value) = record.fields.get(field).and_then(FieldValue::as_text) {
            let _ = writeln!(text, "- {name}: {}", cell(value));
        }
    }
    let writes = record.texts("writes");
    if !writes.is_empty() {
        let _ = writeln!(text, "- May change: `{}`", cell(&writes.join("`, `")));
    }
    let _ = writeln!(text, "- Used: {}", used(&facts.all(record)));
    for (field, name) in [("goal", "Goal"), ("description", "Description")] {
        if let Some(words) = record.fields.get(field).and_then(FieldValue::as_text) {
            section(&mut text, name, &below(words));
        }
    }
    for (field, name) in [("requirements", "Requirements"), ("must", "Done when")] {
        let lines: Vec<String> = record.texts(field).into_iter().map(cell).collect();
        if !lines.is_empty() {
            section(&mut text, name, &format!("- {}", lines.join("\n- ")));
        }
    }
    let parts: Vec<&WorkRecord> = match record.kind {
        WorkKind::Sprint => facts.tasks(&record.id).collect(),
        WorkKind::Feature => {
            facts.records.iter().filter(|part| is_part(part, &record.id)).collect()
        }
        WorkKind::Task | WorkKind::Bug => Vec::new(),
    };
    if !parts.is_empty() {
        let _ = write!(
            text,
            "\n## {}\n\n",
            if record.kind == WorkKind::Sprint { "Tasks" } else { "Parts" }
        );
        table(&mut text, facts, parts.into_iter(), "../");
    }
    if let Some(plan) = facts.plans.get(&record.id) {
        section(&mut text, "Plan", &below(&super::shorten(plan.trim(), PLAN_CHARS_MAX)));
    }
    phases(&mut text, facts, record);
    text
}

/// Adds the records that a field names.
fn related(text: &mut String, facts: &PageFacts, record: &WorkRecord, (field, name): (&str, &str)) {
    let named = record.texts(field);
    let found = facts.records.iter().filter(|other| {
        named.iter().any(|text| text.parse().is_ok_and(|id: WorkId| id == other.id))
    });
    let links: Vec<String> = found.map(|other| link(other, "../")).collect();
    if !links.is_empty() {
        let _ = writeln!(text, "- {name}: {}", links.join(", "));
    }
}

/// Adds every phase, with its verdict and what its agent says of it.
fn phases(text: &mut String, facts: &PageFacts, record: &WorkRecord) {
    let mut own = facts.own(record).peekable();
    if own.peek().is_none() {
        return;
    }
    text.push_str(
        "\n## Phases\n\n| Phase | Iteration | Role | Verdict | Time | Tokens | Cost | Summary |\n|---|---|---|---|---|---|---|---|\n",
    );
    for event in own {
        let verdict = event.verdict.unwrap_or(PhaseVerdict::Unknown).as_str();
        let total = phase_total([event]);
        let tokens = event.tokens.map_or("unknown".to_owned(), |tokens| tokens.total().to_string());
        let said =
            if event.summary.is_empty() { event.notes.first() } else { Some(&event.summary) };
        let said = said.map(|said| cell(&first_line(said, SUMMARY_CHARS_MAX))).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {verdict} | {} | {tokens} | {} | {said} |",
            event.phase,
            event.iteration,
            event.role,
            span(total.took_ms),
            total.cost.to_short_text(),
        );
    }
}

fn section(text: &mut String, title: &str, body: &str) {
    let _ = write!(text, "\n## {title}\n\n{}\n", body.trim_end());
}

/// Returns a text in one line that ends no cell, no code and no comment of the page around it.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    sanitize(&line).replace('|', "\\|").replace('<', "&lt;")
}

/// Returns a text whose headings are below those of the page, and whose last code block is closed.
fn below(text: &str) -> String {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    let text = sanitize(text);
    for line in text.lines() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (_, _) => {}
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let is_heading = (1..=HEADING_MAX).contains(&level) && line[level..].starts_with(' ');
        if fence.is_none() && mark.is_none() && is_heading {
            let level = (level + 2).min(HEADING_MAX);
            lines.push(format!("{}{}", "#".repeat(level), line.trim_start_matches('#')));
        } else {
            // A comment that is not closed would hide the rest of the page.
            lines.push(if fence.is_none() {
                line.replace("<!--", "&lt;!--")
            } else {
                line.to_owned()
            });
        }
    }
    lines.extend(fence.map(str::to_owned));
    lines.join("\n")
}
