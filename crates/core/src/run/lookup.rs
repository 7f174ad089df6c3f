//! What can be asked of a run: its units, items, questions, limits. Nothing here changes it.

use std::sync::Arc;

use crate::{
    Time,
    event::Question,
    flow::{Condition, Stage, When, firsts},
    id::{AttemptId, CallId, QuestionId, Scope, UnitId},
    item::Item,
    money::Money,
};

use super::{
    call_kind::CallKind,
    fold::{EffectMark, Phase, Run, RunDefinition},
    history::History,
    tree::{State, Table, TableOpened, Unit, find, locate, position},
};

impl Run {
    /// Returns the unit that a gate sends back to: its own, or the nearest one of that name further out. Where that one was
    /// skipped, there is nothing to do again, so the unit itself goes back.
    ///
    /// # Panics
    /// If no stage of that name comes before the unit, which no flow can have.
    pub fn sent_back_to(&self, unit: &UnitId, redo: Option<&str>) -> UnitId {
        let Some(redo) = redo else { return unit.clone() };
        let mut here = unit.clone();
        loop {
            let stages = self.definition().flow.table(&here.scope);
            let own = stages.iter().position(|stage| stage.name == here.stage);
            let own = own.expect("a unit names a stage of its flow");
            let before = firsts(stages, own).into_iter().chain([own]);
            if before.into_iter().any(|row| stages[row].name == redo) {
                let target = here.scope.unit(redo);
                let is_skipped = self.unit(&target).state == State::Skipped;
                return if is_skipped { unit.clone() } else { target };
            }
            let outer = here.scope.origin();
            let (scope, group) =
                outer.expect("a flow only sends back to a stage that comes before");
            here = scope.unit(&group);
        }
    }

    /// Returns the life of the run.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Returns the time of the last record.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the time of the first record.
    pub fn started_at(&self) -> Time {
        self.started_at
    }

    /// Returns how long it waited for a person with nothing under way, in milliseconds.
    pub fn waited_ms(&self) -> u64 {
        self.waited_ms
    }

    /// Returns the part of it in which no answer was waited for, because it was held or over.
    pub fn held_ms(&self) -> u64 {
        self.held_ms
    }

    /// Returns what happened, as far as a summary needs it.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Facts taken in.
    pub fn n_facts(&self) -> u64 {
        self.n_facts
    }

    /// Returns what was frozen at the start.
    ///
    /// # Panics
    /// Before the run started.
    pub fn definition(&self) -> &RunDefinition {
        self.definition_arc()
    }

    /// Returns true once the first fact is applied.
    pub fn is_started(&self) -> bool {
        self.definition.is_some()
    }

    pub(super) fn definition_arc(&self) -> &Arc<RunDefinition> {
        self.definition.as_ref().expect("a run that started has a definition")
    }

    /// Returns the row that a unit follows.
    pub fn stage(&self, unit: &UnitId) -> &Stage {
        let stages = self.definition().flow.table(&unit.scope);
        &stages[position(stages, &unit.stage)]
    }

    /// Returns where a unit stands.
    pub fn unit(&self, id: &UnitId) -> &Unit {
        locate(&self.definition().flow, &self.root, id).1
    }

    /// Returns true if a name is that of a unit of this run.
    pub fn has(&self, id: &UnitId) -> bool {
        self.definition.is_some() && find(&self.definition().flow, &self.root, id).is_some()
    }

    /// Returns the table in use in this scope, with its rows.
    pub fn table(&self, scope: &Scope) -> (&[Stage], &Table) {
        let mut stages: &[Stage] = &self.definition().flow.stages;
        let mut table: &Table = &self.root;
        for (group, item) in scope.steps() {
            let position = position(stages, group);
            let inner = &table.units[position].inner;
            table = inner.table(item).expect("a scope names an item of its list");
            stages = stages[position].inner();
        }
        (stages, table)
    }

    /// Returns the attempt that the outside world may report on.
    pub fn current(&self, id: &UnitId) -> AttemptId {
        id.attempt(self.unit(id).attempt)
    }

    /// Questions without an answer, in the order in which they were asked.
    pub fn questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.values().map(AsRef::as_ref)
    }

    pub fn question(&self, id: QuestionId) -> Option<&Question> {
        self.questions.get(&id).map(AsRef::as_ref)
    }

    /// Questions ever asked.
    pub fn n_questions(&self) -> u32 {
        self.n_questions
    }

    /// Returns the limit on the cost of the whole run.
    pub fn budget(&self) -> Option<Money> {
        self.budget
    }

    /// Returns what the change is called by the first stage that gave it a name.
    pub fn title(&self) -> Option<&str> {
        let receipts = self.root.units.iter().filter_map(|unit| unit.receipt.as_ref());
        let titles = receipts.filter_map(|receipt| Some(receipt.shown.as_ref()?.title.trim()));
        titles.into_iter().find(|title| !title.is_empty())
    }

    /// The state of an effect that must happen once.
    pub fn mark(&self, mark: &str) -> Option<EffectMark> {
        self.marks.get(mark).copied()
    }

    /// Effects that must happen once, by their marks.
    pub fn marks(&self) -> impl Iterator<Item = (&str, EffectMark)> {
        self.marks.iter().map(|(mark, state)| (mark.as_str(), *state))
    }

    /// Returns the items of a list, as seen from a unit: the nearest one on the way out.
    pub fn items(&self, unit: &UnitId, list: &str) -> Option<&[Item]> {
        let mut scope = Some(unit.scope.clone());
        while let Some(here) = scope {
            if let Some(items) = self.lists.get(&(here.clone(), list.to_owned())) {
                return Some(items);
            }
            scope = here.parent();
        }
        None
    }

    /// Returns true if all conditions hold in this scope.
    pub fn holds(&self, scope: &Scope, when: &When) -> bool {
        when.0.iter().all(|condition| match condition {
            Condition::Param { name, is } => {
                self.definition().start.params.get(name).is_some_and(|value| is.contains(value))
            }
            Condition::Item { tag, is } => {
                self.tag(scope, tag).is_some_and(|value| is.iter().any(|known| known == value))
            }
        })
    }

    /// Returns a tag of the item, or of the nearest item further out that has it.
    pub(super) fn tag(&self, scope: &Scope, tag: &str) -> Option<&str> {
        let mut stages: &[Stage] = &self.definition().flow.stages;
        let mut table: &Table = &self.root;
        let mut found = None;
        for (group, item) in scope.steps() {
            let position = position(stages, group);
            let inner = &table.units[position].inner;
            found = inner.item(item)?.tags.get(tag).map(String::as_str).or(found);
            table = inner.table(item)?;
            stages = stages[position].inner();
        }
        found
    }

    /// Returns the item that a scope belongs to: that of a list, or the record of work that the run is about.
    pub fn item(&self, scope: &Scope) -> Option<&Item> {
        let Some(scope) = self.definition().flow.item_scope(scope) else {
            return self.definition().start.about.as_ref().map(|about| &about.item);
        };
        let (outer, group) = scope.origin()?;
        let (stages, table) = self.table(&outer);
        table.units[position(stages, &group)].inner.item(scope.item()?)
    }

    /// Returns how a call of this run is carried out.
    ///
    /// # Panics
    ///
    /// If the run has no such call: its unit is gone, has only items or gates, or asks a person.
    pub fn call_kind(&self, call: &CallId) -> CallKind {
        self.find_call_kind(call).expect("a call is of a unit whose flow says who carries it out")
    }

    /// Returns how a call is carried out, if its unit is still there and something is called for it.
    pub fn find_call_kind(&self, call: &CallId) -> Option<CallKind> {
        if !self.has(call.unit()) {
            return None;
        }
        CallKind::from_flow(&self.definition().flow, call)
    }

    /// Returns how often a gate with rounds of its own sent this unit back.
    pub fn rounds_of_gate(&self, target: &UnitId, judged: &UnitId, gate: &str) -> u32 {
        let key = (judged.stage.clone(), gate.to_owned());
        self.unit(target).gate_rounds.get(&key).copied().unwrap_or_default()
    }

    /// Returns all units that ever did something, from the top, those of items inside their `each`.
    pub fn units(&self) -> Vec<(UnitId, &Stage, &Unit)> {
        let mut found = Vec::new();
        if self.definition.is_some() {
            collect(&Scope::root(), &self.definition().flow.stages, &self.root, &mut found);
        }
        found
    }
}

/// Collects the units of a table, and of its opened items.
pub(super) fn collect<'a>(
    scope: &Scope,
    stages: &'a [Stage],
    table: &'a Table,
    found: &mut Vec<(UnitId, &'a Stage, &'a Unit)>,
) {
    for (stage, unit) in stages.iter().zip(&table.units) {
        let id = scope.unit(&stage.name);
        found.push((id.clone(), stage, unit));
        for (item, inner) in unit.inner.members() {
            if inner.opened == TableOpened::Yes {
                collect(&id.item(&item.id), stage.inner(), inner, found);
            }
        }
    }
}
