//! Edits by people: changes of what was made, and rewinds of a run.

use forge_core::{
    Command, Report,
    event::{Blob, Edit, Event, Record},
    id::UnitId,
    rewind::rewind,
    run::Phase,
};

use super::{Game, invariants::watched, somebody};

impl Game {
    /// A change to some unit, mostly to one that has something to change.
    pub(super) fn edit(&mut self) -> Command {
        let units: Vec<UnitId> = self.run.units().into_iter().map(|(id, _, _)| id).collect();
        let mut unit = self.chance.of(&units).clone();
        let begun: Vec<&UnitId> =
            units.iter().filter(|unit| !self.run.unit(unit).artifacts.is_empty()).collect();
        if !begun.is_empty() && !self.chance.one_in(4) {
            unit = (*self.chance.of(&begun)).clone();
        }
        if self.chance.one_in(30) {
            unit.stage.push('x');
        }
        let edit = if self.chance.one_in(2) {
            Edit::Artifact { name: "a.md".to_owned(), content: Blob("by hand".to_owned()) }
        } else {
            Edit::Code { commit: "by-hand".to_owned(), tree: "tree".to_owned() }
        };
        let why = if self.chance.one_in(20) { String::new() } else { "better".to_owned() };
        Command::Edit { unit, edit, why, by: somebody() }
    }

    pub(super) fn notice(&mut self) -> Report {
        let units: Vec<UnitId> = self.run.units().into_iter().map(|(id, _, _)| id).collect();
        Report::Noticed { unit: self.chance.of(&units).clone(), what: "something".to_owned() }
    }

    /// Counts edits that open what was over.
    pub(super) fn went_back(&mut self, before: &Phase, record: &Record) {
        let edited = record.facts.iter().any(|fact| matches!(fact, Event::Edited { .. }));
        if edited && matches!(before, Phase::Over(_)) {
            self.count("an edit opens a failed run");
        }
        let again = |fact: &Event| match fact {
            Event::AttemptStarted { attempt, call: None } => {
                attempt.number > 1 && !self.run.stage(&attempt.unit).inner().is_empty()
            }
            _ => false,
        };
        if edited && record.facts.iter().any(again) {
            self.count("an edit goes back into a table");
        }
    }

    /// Goes on with another run that shares the facts of this one up to some unit.
    pub(super) fn rewind(&mut self) {
        self.has_asked_for_more = true;
        let facts = self.journal.iter().flat_map(|record| &record.facts);
        let begun: Vec<UnitId> = facts
            .filter_map(|fact| match fact {
                Event::AttemptStarted { attempt, .. } => Some(attempt.unit.clone()),
                _ => None,
            })
            .collect();
        if begun.is_empty() {
            return;
        }
        let unit = self.chance.of(&begun).clone();
        let shared = rewind(&self.journal, "before", &unit, self.now, &somebody());
        let shared = shared.expect("the unit was begun");
        let both = self.journal.iter().zip(&shared);
        let n_whole = both.take_while(|(old, new)| old == new).count();
        let (run, watch) = watched(&shared);
        self.count("a rewind");
        if shared.len() > n_whole + 1 {
            self.count("a rewind in the middle of a decision");
        }
        if run.calls().len() > 1 {
            self.count("a rewind with calls under way");
        }
        // Reports of the other run's calls never reach this one.
        self.inputs.clear();
        (self.run, self.watch, self.journal) = (run, watch, shared);
    }
}
