//! The inbox of a call: exactly the artifacts that its row names, and nothing later than it.

use std::collections::BTreeMap;

use crate::{
    event::Blob,
    flow::{FRICTION, REQUEST, STATISTICS, Stage, matches_name},
    id::{Scope, UnitId},
    run::{Run, TableOpened, Unit},
};

/// One file of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InboxEntry {
    /// Its name in the inbox. What comes from inside an item is below the item's scope.
    pub name: String,
    pub source: InboxSource,
}

/// The source of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InboxSource {
    /// The user's own words.
    Request,
    /// Something that was written.
    Blob(Blob),
    /// What Forge composes from the facts of the run.
    Composed(ComposedText),
}

/// A text that Forge composes from the facts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComposedText {
    /// Calls, revisions, failed checks, time, tokens and cost by task and phase.
    Statistics,
    /// Reports of friction by role and skill.
    Friction,
}

impl ComposedText {
    /// Returns the text of this name in an inbox.
    fn from_name(name: &str) -> Option<Self> {
        match name {
            STATISTICS => Some(Self::Statistics),
            FRICTION => Some(Self::Friction),
            _ => None,
        }
    }
}

/// Returns the inbox of a unit's work, or of one of its gates.
pub fn entries(run: &Run, unit: &UnitId, gate: Option<&str>) -> Vec<InboxEntry> {
    let stage = run.stage(unit);
    let reads = match gate.and_then(|gate| stage.gate(gate)) {
        Some(position) => &stage.gates[position].reads,
        None => &stage.reads,
    };
    let mut found: Vec<InboxEntry> = reads
        .iter()
        .flat_map(|name| {
            let found = find(run, unit, &artifact_name(run, name, &unit.scope));
            let composed = ComposedText::from_name(name).filter(|_| found.is_empty());
            let composed = composed
                .map(|text| InboxEntry { name: name.clone(), source: InboxSource::Composed(text) });
            found.into_iter().chain(composed)
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the artifact of a name that a unit would find, its own or the nearest before it.
pub fn newest_artifact(run: &Run, unit: &UnitId, name: &str) -> Option<Blob> {
    let found = find(run, unit, &artifact_name(run, name, &unit.scope));
    found.into_iter().find_map(|entry| match entry.source {
        InboxSource::Blob(blob) => Some(blob),
        InboxSource::Request | InboxSource::Composed(_) => None,
    })
}

/// Returns the name of an artifact in a scope: `{item}` is the id of its innermost item.
pub fn artifact_name(run: &Run, pattern: &str, scope: &Scope) -> String {
    let scope = run.definition().flow.item_scope(scope);
    pattern.replace("{item}", scope.as_ref().and_then(Scope::item).unwrap_or_default())
}

/// Returns all artifacts of a run: scope, name, content.
pub fn artifacts(run: &Run) -> Vec<(Scope, String, Blob)> {
    let mut found = Vec::new();
    for (id, _, unit) in run.units() {
        for (name, blob) in &unit.artifacts {
            found.push((id.scope.clone(), name.clone(), blob.clone()));
        }
    }
    found
}

/// Returns the nearest row that wrote it is meant. A pattern means all rows, the nearest for each name; one
/// such as `build.*/review-*.md` means only what was written inside items.
fn find(run: &Run, unit: &UnitId, name: &str) -> Vec<InboxEntry> {
    if name == REQUEST {
        return vec![InboxEntry { name: name.to_owned(), source: InboxSource::Request }];
    }
    let mut found = BTreeMap::new();
    let mut here = unit.clone();
    loop {
        let (stages, table) = run.table(&here.scope);
        let own = stages.iter().position(|stage| stage.name == here.stage);
        let own = own.expect("a unit names a stage of its flow");
        let search = Search { name, reader: unit, table: &here.scope };
        for row in (0..=own).rev() {
            let id = here.scope.unit(&stages[row].name);
            search.row(stages[row].inner(), &id, &table.units[row], &mut found);
            if !name.contains('*') && !found.is_empty() {
                return readings(found);
            }
        }
        match here.scope.origin() {
            Some((scope, group)) => here = scope.unit(&group),
            None => return readings(found),
        }
    }
}

fn readings(found: BTreeMap<String, Blob>) -> Vec<InboxEntry> {
    found
        .into_iter()
        .map(|(name, blob)| InboxEntry { name, source: InboxSource::Blob(blob) })
        .collect()
}

/// A search for one artifact on behalf of one unit.
struct Search<'a> {
    name: &'a str,
    reader: &'a UnitId,
    /// The table around the reader that is looked through.
    table: &'a Scope,
}

impl Search<'_> {
    /// Collects matches in a unit and in the tables inside it.
    fn row(&self, inner: &[Stage], id: &UnitId, unit: &Unit, found: &mut BTreeMap<String, Blob>) {
        // What a row around the reader wrote itself is later than the reader.
        if !self.is_around(id) {
            for (name, blob) in &unit.artifacts {
                let below = format!("{}/{name}", id.scope);
                let from_table = below.strip_prefix(&format!("{}/", self.table)).unwrap_or(&below);
                let meant = [name.as_str(), &below, from_table];
                if meant.iter().any(|name| matches_name(self.name, name)) {
                    let is_own = self.reader.scope.within(&id.scope);
                    let name = if is_own { name.clone() } else { below };
                    found.entry(name).or_insert_with(|| blob.clone());
                }
            }
        }
        // A plain name beside the reader's own item is that of something else.
        if !self.name.contains('*') && self.is_around(id) {
            return;
        }
        for (item, inside) in unit.inner.members() {
            let scope = id.item(&item.id);
            if inside.opened == TableOpened::Yes && self.may_see(id, unit, &item.id) {
                for (stage, unit) in inner.iter().zip(&inside.units).rev() {
                    self.row(stage.inner(), &scope.unit(&stage.name), unit, found);
                }
            }
        }
    }

    /// Returns true if the reader is inside an item of this unit.
    fn is_around(&self, id: &UnitId) -> bool {
        self.step_into(id).is_some()
    }

    /// Returns the item of this unit that the reader is in.
    fn step_into(&self, id: &UnitId) -> Option<&str> {
        let depth = id.scope.steps().count();
        let (group, item) = self.reader.scope.steps().nth(depth)?;
        (group == id.stage && self.reader.scope.within(&id.scope)).then_some(item)
    }

    /// Returns true for the items beside its own that the reader's item waited for.
    fn may_see(&self, each: &UnitId, unit: &Unit, item: &str) -> bool {
        let Some(own) = self.step_into(each) else { return true };
        let own = unit.inner.item(own);
        own.is_some_and(|own| own.after.iter().any(|first| first == item))
    }
}
