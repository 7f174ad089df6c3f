//! `forge import`: takes over what other systems left in a folder, as records of work and as notes.
//!
//! Read `json_store`, `workspaces` and `milestones` next (one for each system), then `knowledge` (decisions and memory), `draft`
//! (what they find), `front_matter` and `source_folder` (how files are read).
//!
//! What would happen is decided by the same rules as every change of a record (`core::work::decide`), on a copy of the rows in
//! memory. Only then, and only if that is wanted, it is done.
//!
//! Invariant: nothing of another system is written or removed, and nothing of it is left out silently.
//! Invariant: a record that was changed here since it was imported is never overwritten.

mod draft;
mod front_matter;
mod json_store;
mod knowledge;
mod milestones;
mod source_folder;
mod workspaces;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use forge_core::work::{
    Fields, ImportedRecord, LastImport, WorkAuthor, WorkCommand, WorkFact, WorkId, WorkKind,
    WorkRecord, WorkRefusal, WorkRows, WorkState, decide, waits_for,
};
use forge_driver::{
    Error,
    clock::{file_time, now},
};
use forge_store::work::{WorkError, file_sum};
use forge_workspace::CheckoutFile;
use schemars::JsonSchema;
use serde::Serialize;

pub use draft::ImportFinding;
use draft::{ImportCandidate, ImportDraft, KnowledgeNote, imported};
use source_folder::SourceFolder;

use super::{records::WorkRecords, refusals};
use crate::forge::Forge;

/// The folder of notes.
const KNOWLEDGE: &str = ".forge/knowledge";
/// So many letters of a sum are in the name of a note.
const SUM_CHARS: usize = 12;

/// Fields that may name records which come later. A record is imported without them first, if it must be.
const LATE: [(WorkKind, &str); 2] =
    [(WorkKind::Sprint, "humanEstimates"), (WorkKind::Bug, "similarBugs")];

/// Whether an import is done, or only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    Show,
    Write,
}

/// The plan of an import: each record and note, and everything that is not taken over.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ImportPlan {
    /// The folders of other systems.
    pub found: Vec<String>,
    pub records: Vec<ImportLine>,
    /// Notes that are kept as files.
    pub knowledge: Vec<ImportedNote>,
    /// Lines for `forge.toml`. They are not written.
    pub settings: Vec<String>,
    pub notes: Vec<String>,
    /// What breaks a rule, and is not imported.
    pub findings: Vec<ImportFinding>,
}

/// A record in a plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImportLine {
    pub action: ImportAction,
    pub kind: WorkKind,
    pub id: WorkId,
    pub status: WorkState,
    pub title: String,
    /// The file that it is read from.
    pub source: String,
}

/// A file with a decision or a fact in a plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImportedNote {
    pub action: ImportAction,
    /// The file that it is kept in.
    pub path: String,
    pub source: String,
}

/// The change that an import makes to one record or note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportAction {
    New,
    /// It was imported before, and has changed there.
    Changed,
    /// There is nothing to do.
    Same,
}

/// A system that may have left something.
struct System {
    /// Its name on screens: a folder below the top of the checkout.
    place: &'static str,
    is_there: fn(&SourceFolder) -> bool,
    read: fn(&SourceFolder, &mut ImportDraft),
}

const SYSTEMS: [System; 3] = [
    System {
        place: json_store::STORE,
        is_there: |folder| {
            folder.may_have(json_store::CONFIG) || folder.may_have(json_store::STORE)
        },
        read: json_store::read,
    },
    System { place: workspaces::FOLDER, is_there: workspaces::are_there, read: workspaces::read },
    System {
        place: milestones::FOLDER,
        is_there: |folder| folder.may_have(milestones::FOLDER),
        read: milestones::read,
    },
];

impl Forge {
    /// Returns the folders of other systems in the checkout.
    pub fn foreign_folders(&self) -> Vec<&'static str> {
        let Some(top) = self.home.repository.top.as_deref() else { return Vec::new() };
        let folder = SourceFolder::open(top, Some(top));
        let found = SYSTEMS.iter().filter(|one| (one.is_there)(&folder)).map(|one| one.place);
        // Its settings can name another folder for the store.
        let there = found.map(|place| match place {
            json_store::STORE if !folder.may_have(place) => json_store::CONFIG,
            place => place,
        });
        there.collect()
    }

    /// Takes over what is in a folder, by default the checkout, or shows what would be taken over.
    pub fn import(&self, path: Option<&Path>, mode: ImportMode) -> Result<ImportPlan, Error> {
        let top = self.home.repository.top.as_deref();
        let root = match (path, top) {
            (Some(path), _) => path.canonicalize().map_err(|error| Error::file(path, &error))?,
            (None, Some(top)) => top.to_owned(),
            (None, None) => {
                let what = "a bare repository has no checkout to import from";
                return Err(Error::usage(what, "forge import FOLDER"));
            }
        };
        let folder = SourceFolder::open(&root, top);
        let systems: Vec<&System> = SYSTEMS.iter().filter(|one| (one.is_there)(&folder)).collect();
        if systems.is_empty() {
            let what =
                format!("nothing to import in {}: no .forge/store, .specs or .gsd", root.display());
            return Err(Error::usage(what, "forge import FOLDER"));
        }
        let mut records = match mode {
            ImportMode::Show => self.work_to_read()?,
            ImportMode::Write => Some(self.work()?),
        };
        let mut draft = ImportDraft::default();
        for system in &systems {
            (system.read)(&folder, &mut draft);
        }
        draft.note_left_out();
        let mut notes = Vec::new();
        let mut rows = WorkRows::default();
        if let Some(records) = &mut records {
            records.note_findings()?;
            notes.append(&mut records.notes);
            for row in records.all()? {
                rows.records.insert(row.record.id.clone(), row.record);
            }
        }
        let mut last = BTreeMap::new();
        if let Some(records) = &records {
            for candidate in
                draft.candidates.iter().filter(|one| rows.records.contains_key(&one.id))
            {
                if let Some(found) = records.last_import(&candidate.id)? {
                    last.insert(candidate.id.clone(), found);
                }
            }
        }
        if !draft.knowledge.is_empty() {
            let what = format!(
                "decisions and memory are kept as files below {KNOWLEDGE}; no run reads them yet"
            );
            draft.notes.push(what);
        }
        let found = systems.iter().map(|one| folder.shown(one.place)).collect();
        let mut planned = PlannedImport::new(rows, last);
        planned.decide_all(std::mem::take(&mut draft.candidates), &mut draft);
        if let Some(records) = records.as_mut().filter(|_| mode == ImportMode::Write) {
            records.do_import(&planned.commands, &mut draft)?;
        }
        let knowledge = self.keep_notes(&draft.knowledge.clone(), mode, &mut draft)?;
        let ImportDraft { settings, notes: found_notes, findings, .. } = draft;
        notes.extend(found_notes);
        Ok(ImportPlan { found, records: planned.lines, knowledge, settings, notes, findings })
    }

    /// Keeps each note in a file of its own, unless it is there.
    fn keep_notes(
        &self,
        all: &[KnowledgeNote],
        mode: ImportMode,
        draft: &mut ImportDraft,
    ) -> Result<Vec<ImportedNote>, Error> {
        let mut kept: BTreeMap<String, ImportedNote> = BTreeMap::new();
        for KnowledgeNote { source, kind, text } in all {
            let sum = file_sum(text.as_bytes());
            let path = format!("{KNOWLEDGE}/{kind}-{}.md", &sum[..SUM_CHARS]);
            let action = match self.home.repository.checkout_file(&path)? {
                CheckoutFile::Missing => ImportAction::New,
                CheckoutFile::Content(found) => {
                    if found != text.as_bytes() {
                        draft.notes.push(format!("{path} was changed here; it is left as it is"));
                    }
                    ImportAction::Same
                }
                CheckoutFile::Blocked => {
                    draft.finding(path, "a link or something else is in the place of the file");
                    continue;
                }
            };
            if action == ImportAction::New && mode == ImportMode::Write {
                self.home.repository.replace_checkout_file(&path, text.as_bytes())?;
            }
            let note = ImportedNote { action, path: path.clone(), source: source.clone() };
            kept.entry(path).or_insert(note);
        }
        Ok(kept.into_values().collect())
    }
}

impl WorkRecords<'_> {
    fn last_import(&self, id: &WorkId) -> Result<Option<LastImport>, Error> {
        let history = self.store.history(id).map_err(|error| refusals::store(&error))?;
        Ok(history.into_iter().rev().find_map(|fact| {
            let WorkFact::Imported { source, sum, .. } = fact.entry.fact else { return None };
            Some(LastImport { source, sum, rev: fact.rev })
        }))
    }

    /// Does what was decided, record by record. What was changed meanwhile is reported.
    fn do_import(
        &mut self,
        commands: &[WorkCommand],
        draft: &mut ImportDraft,
    ) -> Result<(), Error> {
        let by = WorkAuthor::Person { who: self.who() };
        for command in commands {
            let WorkCommand::Import { record, .. } = command else { continue };
            match self.submit(&by, command) {
                Ok((row, _)) => self.write_file(&row.record.id)?,
                Err(WorkError::Refused(refusal)) => {
                    draft.finding(record.source.clone(), refusal.to_string());
                }
                Err(error) => return Err(refusals::store(&error)),
            }
        }
        Ok(())
    }
}

/// What is decided about all candidates, on a copy of the rows.
struct PlannedImport {
    rows: WorkRows,
    last: BTreeMap<WorkId, LastImport>,
    now: String,
    commands: Vec<WorkCommand>,
    lines: Vec<ImportLine>,
}

impl PlannedImport {
    fn new(rows: WorkRows, last: BTreeMap<WorkId, LastImport>) -> Self {
        let now = file_time(now());
        Self { rows, last, now, commands: Vec::new(), lines: Vec::new() }
    }

    /// Decides about all of them, those that are named before those that name them.
    fn decide_all(&mut self, mut open: Vec<ImportCandidate>, draft: &mut ImportDraft) {
        open.sort_by(|a, b| (a.kind, &a.id).cmp(&(b.kind, &b.id)));
        let mut partial: BTreeSet<WorkId> = BTreeSet::new();
        let mut refusals = BTreeMap::new();
        loop {
            let before = open.len();
            open.retain(|candidate| match self.decide(candidate, &candidate.record) {
                Ok(()) => false,
                Err(refusal) => {
                    refusals.insert(candidate.id.clone(), refusal);
                    true
                }
            });
            if open.len() < before {
                continue;
            }
            // Two records may name each other: each is imported first without what it says of the other.
            let mut has_begun = false;
            for candidate in &open {
                let fields = without_late(candidate.kind, &candidate.record.fields);
                if fields == candidate.record.fields || partial.contains(&candidate.id) {
                    continue;
                }
                let ImportedRecord { source, state, .. } = candidate.record.clone();
                if self.decide(candidate, &imported(source, state, fields)).is_ok() {
                    has_begun |= partial.insert(candidate.id.clone());
                }
            }
            if !has_begun {
                break;
            }
        }
        for candidate in &open {
            let what = match circle(&candidate.id, &open) {
                Some(way) => format!("`dependencies` make a circle: {way}"),
                None => {
                    refusals.remove(&candidate.id).map(|why| why.to_string()).unwrap_or_default()
                }
            };
            let rest = if partial.contains(&candidate.id) { "; the rest is imported" } else { "" };
            draft.finding(candidate.record.source.clone(), format!("{what}{rest}"));
        }
        self.lines.sort_by(|a, b| (a.kind, &a.id).cmp(&(b.kind, &b.id)));
    }

    /// Decides about one, and makes the change in the copy.
    fn decide(
        &mut self,
        candidate: &ImportCandidate,
        record: &ImportedRecord,
    ) -> Result<(), WorkRefusal> {
        let ImportCandidate { kind, id, .. } = candidate;
        let last = self.last.get(id).cloned();
        let command =
            WorkCommand::Import { kind: *kind, id: id.clone(), record: record.clone(), last };
        let (id, facts) = decide(&self.rows, &command, &self.now)?;
        let before = self.rows.records.remove(&id);
        let was_there = before.is_some();
        let is_same = facts.is_empty();
        let mut after = before;
        for fact in &facts {
            after = Some(WorkRecord::apply(after.take(), &id, fact));
        }
        let after = after.expect("an import is about a record");
        let action = match (is_same, was_there) {
            (true, _) => ImportAction::Same,
            (false, true) => ImportAction::Changed,
            (false, false) => ImportAction::New,
        };
        if !is_same {
            let (source, sum) = (record.source.clone(), record.sum.clone());
            self.last.insert(id.clone(), LastImport { source, sum, rev: after.rev });
            self.commands.push(command);
        }
        let line = ImportLine {
            action,
            kind: after.kind,
            id: id.clone(),
            status: after.state,
            title: after.title().to_owned(),
            source: record.source.clone(),
        };
        self.rows.records.insert(id.clone(), after);
        // The second part of one that was imported in two.
        match self.lines.iter_mut().find(|line| line.id == id) {
            Some(first) if first.action == ImportAction::Same => *first = line,
            Some(_) => {}
            None => self.lines.push(line),
        }
        Ok(())
    }
}

fn without_late(kind: WorkKind, fields: &Fields) -> Fields {
    let is_late = |name: &str| LATE.contains(&(kind, name));
    fields
        .iter()
        .filter(|(name, _)| !is_late(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns the way on which a task waits for itself: `A waits for B waits for A`.
fn circle(id: &WorkId, open: &[ImportCandidate]) -> Option<String> {
    let first = |id: &WorkId| -> Vec<WorkId> {
        let candidate = open.iter().find(|candidate| candidate.id == *id);
        let is_task = candidate.filter(|candidate| candidate.kind == WorkKind::Task);
        is_task.map(|candidate| waits_for(&candidate.record.fields)).unwrap_or_default()
    };
    let mut ways = vec![vec![id.clone()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for next in first(way.last().unwrap_or(id)) {
            let mut way = way.clone();
            way.push(next.clone());
            if next == *id {
                let names: Vec<&str> = way.iter().map(WorkId::as_str).collect();
                return Some(names.join(" waits for "));
            }
            if seen.insert(next) {
                ways.push(way);
            }
        }
    }
    None
}
