//! Manual changes by a person: of an artifact, or of the code in a workspace.
//!
//! It counts as an attempt of its own, so that its gates look at it and no number is reused. What
//! came after the unit is done again, because it may have read what was changed: rows after it,
//! items that waited for its item, and rows after the tables around it.
//!
//! Only the work of agents can be changed so. The status of a command and a delivery are
//! what happened, and no edit makes them happen.
//!
//! Invariant: nothing that has landed is reset, and no landing under way is overtaken.

use super::{draft::Draft, refusal::Refusal};
use crate::{
    event::{Edit, End, Event, Person},
    flow::{Check, Stage, Work},
    id::{CallId, JudgementId, Scope, UnitId},
    run::{LookState, Phase, State, Table, TableStatus},
};

impl Draft {
    pub(super) fn edit(
        &mut self,
        phase: &Phase,
        unit: &UnitId,
        edit: &Edit,
        why: &str,
        by: &Person,
    ) -> Result<(), Refusal> {
        match phase {
            Phase::Over(end @ (End::Done | End::Abandoned)) => return Err(Refusal::Over(*end)),
            Phase::Fresh => return Err(Refusal::NotStarted),
            Phase::Going | Phase::Held(_) | Phase::Over(End::Failed | End::Blocked) => {}
        }
        if why.trim().is_empty() {
            return Err(Refusal::WhyMissing);
        }
        if !self.run.has(unit) {
            return Err(Refusal::NoSuchUnit(unit.clone()));
        }
        if !self.has_what_is_edited(unit, edit) {
            return Err(Refusal::NothingToEdit(unit.clone()));
        }
        match self.run.unit(unit).state {
            State::Working | State::Judging { look: LookState::UnderWay(_), .. } => {
                return Err(Refusal::UnderWay(unit.clone()));
            }
            State::Skipped => return Err(Refusal::NothingToEdit(unit.clone())),
            State::Judging { look: LookState::Pending, .. }
            | State::Waiting
            | State::Asking { .. }
            | State::Accepted
            | State::Failed { .. } => {}
        }
        if !self.is_its_turn(unit) {
            return Err(Refusal::NotItsTurn(unit.clone()));
        }
        let (stages, root) = self.run.table(&Scope::root());
        let mut landed = Vec::new();
        collect_landed(&Scope::root(), stages, root, &mut landed);
        let landing = self.landing();
        let attempt = unit.attempt(self.run.unit(unit).attempt + 1);
        if matches!(phase, Phase::Over(_)) {
            self.record(Event::RunResumed { by: by.clone() });
        }
        let (edit, by, why) = (edit.clone(), by.clone(), why.to_owned());
        self.record(Event::Edited { attempt, edit, by, why });
        // A refusal throws the draft away, so that it is enough to look at what came of it.
        if landed.iter().any(|landed| self.run.unit(landed).state != State::Accepted) {
            return Err(Refusal::Landed(unit.clone()));
        }
        match landing.filter(|landing| !self.is_awaited(landing)) {
            Some(landing) => Err(Refusal::UnderWay(landing.attempt.unit)),
            None => Ok(()),
        }
    }

    /// Returns true if an agent worked there, and left what is to be changed.
    fn has_what_is_edited(&self, unit: &UnitId, edit: &Edit) -> bool {
        let is_by_an_agent = match self.run.stage(unit).work {
            Work::Agent { .. } => true,
            Work::Command { .. }
            | Work::Each { .. }
            | Work::Flow { .. }
            | Work::Deliver { .. }
            | Work::Nothing => false,
        };
        let now = self.run.unit(unit);
        let is_there = match edit {
            Edit::Artifact { name, .. } => now.artifacts.contains_key(name),
            Edit::Code { .. } => true,
        };
        is_by_an_agent && is_there && now.attempt > 0
    }

    /// Returns true if all that comes before a unit is over, in its table and in those around it.
    fn is_its_turn(&self, unit: &UnitId) -> bool {
        let mut here = unit.clone();
        loop {
            let (stages, table) = self.run.table(&here.scope);
            let row = stages.iter().find(|stage| stage.name == here.stage);
            let row = row.expect("a unit names a stage of its flow");
            if !row.after.iter().all(|first| table.is_over(*first)) {
                return false;
            }
            let Some((outer, group)) = here.scope.origin() else { return true };
            let each = outer.unit(&group);
            let inner = &self.run.unit(&each).inner;
            let item = here.scope.item().and_then(|item| inner.item(item));
            let mut firsts = item.into_iter().flat_map(|item| &item.after);
            let is_closed = |id: &String| {
                inner.table(id).is_some_and(|table| table.standing() == TableStatus::Closed)
            };
            if !firsts.all(is_closed) {
                return false;
            }
            here = each;
        }
    }

    /// Returns the landing that is under way, if it still matters.
    fn landing(&self) -> Option<JudgementId> {
        let mut calls = self.run.calls().keys().filter_map(|call| match call {
            CallId::Attempt(_) => None,
            CallId::Judgement(judgement) => Some(judgement),
        });
        let lands = |judgement: &&JudgementId| {
            let stage = self.run.stage(&judgement.attempt.unit);
            let gate = stage.gate(&judgement.gate).map(|position| &stage.gates[position]);
            gate.is_some_and(|gate| gate.check == Check::Land)
        };
        calls.find(|judgement| self.is_awaited(judgement) && lands(judgement)).cloned()
    }
}

/// Collects all landed units of a table, those of its items, too, whether they are open or not.
fn collect_landed(scope: &Scope, stages: &[Stage], table: &Table, found: &mut Vec<UnitId>) {
    for (stage, unit) in stages.iter().zip(&table.units) {
        let id = scope.unit(&stage.name);
        for (item, inside) in unit.inner.members() {
            collect_landed(&id.item(&item.id), stage.inner(), inside, found);
        }
        if unit.landed.is_some() {
            found.push(id);
        }
    }
}
