//! Friction of agents, added up by role and skill, from the records of their phases.
//!
//! Invariant: the rows add up to the entries, and what two runs share counts once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PhaseEvent, format::first_line};
use crate::friction::{Friction, FrictionKind};

/// The most characters of an issue in a list.
const ISSUE_CHARS_MAX: usize = 200;

/// All friction that agents reported, counted and listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrictionView {
    /// By role and skill, the most frequent first.
    pub rows: Vec<FrictionRow>,
    /// Every report, in the order of the calls.
    pub entries: Vec<FrictionEntry>,
}

/// Friction of one kind that a role had with a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrictionRow {
    pub role: String,
    /// The skill; empty where none is named.
    pub skill: String,
    pub kind: FrictionKind,
    pub count: u32,
    /// The number of different tasks, bugs or runs that it was reported in.
    pub places: u32,
    /// The newest report.
    pub issue: String,
}

/// One report of friction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrictionEntry {
    pub run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub phase: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    pub iteration: u32,
    pub role: String,
    pub agent: String,
    pub model: String,
    #[serde(flatten)]
    pub friction: Friction,
}

/// Adds up the friction in these records.
pub fn friction<'a>(events: impl IntoIterator<Item = &'a PhaseEvent>) -> FrictionView {
    let mut seen = BTreeSet::new();
    let mut view = FrictionView::default();
    for event in events.into_iter().filter(|event| !event.friction.is_empty()) {
        if !seen.insert((&event.run, &event.call)) {
            continue;
        }
        view.entries.extend(event.friction.iter().map(|friction| FrictionEntry {
            run: event.run.clone(),
            record: event.record.clone(),
            task: event.task.clone(),
            phase: event.phase.clone(),
            call: event.call.clone(),
            iteration: event.iteration,
            role: event.role.clone(),
            agent: event.agent.clone(),
            model: event.model.clone(),
            friction: friction.clone(),
        }));
    }
    let mut groups: BTreeMap<(&str, &str, &FrictionKind), Vec<&FrictionEntry>> = BTreeMap::new();
    for entry in &view.entries {
        let key = (&*entry.role, &*entry.friction.skill, &entry.friction.kind);
        groups.entry(key).or_default().push(entry);
    }
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let row =
        |((role, skill, kind), entries): ((&str, &str, &FrictionKind), Vec<&FrictionEntry>)| {
            let places: BTreeSet<&String> = entries.iter().map(|entry| entry.place()).collect();
            FrictionRow {
                role: role.to_owned(),
                skill: skill.to_owned(),
                kind: kind.clone(),
                count: count(entries.len()),
                places: count(places.len()),
                issue: entries.last().map(|last| last.friction.issue.clone()).unwrap_or_default(),
            }
        };
    view.rows = groups.into_iter().map(row).collect();
    view.rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    view
}

impl FrictionEntry {
    /// Returns the task, the record or the run that it belongs to.
    fn place(&self) -> &String {
        self.task.as_ref().or(self.record.as_ref()).unwrap_or(&self.run)
    }
}

/// Formats friction as a text for an agent that looks back.
pub fn friction_markdown(view: &FrictionView) -> String {
    let mut text =
        "# Friction\n\nWhat hindered agents in this run, as they reported it.\n".to_owned();
    if view.entries.is_empty() {
        text.push_str("\nNothing was reported.\n");
        return text;
    }
    text.push_str("\n| Role | Skill | Kind | Reports | Tasks |\n|---|---|---|---|---|\n");
    for FrictionRow { role, skill, kind, count, places, .. } in &view.rows {
        let _ = writeln!(text, "| {role} | {} | {kind} | {count} | {places} |", cell(skill));
    }
    text.push('\n');
    for entry in &view.entries {
        let Friction { kind, skill, issue, evidence } = &entry.friction;
        let skill = if skill.is_empty() { String::new() } else { format!(" `{}`", cell(skill)) };
        let task = entry.task.as_ref().map(|task| format!("{task} ")).unwrap_or_default();
        let issue = first_line(issue, ISSUE_CHARS_MAX);
        let _ = writeln!(text, "- {task}{} ({}): {kind}{skill}: {issue}", entry.phase, entry.role);
        for line in evidence.lines() {
            let _ = writeln!(text, "  > {line}");
        }
    }
    text
}

/// Returns a text in one line that cannot end a cell of a table.
fn cell(text: &str) -> String {
    text.replace(['|', '\n', '`'], " ")
}
