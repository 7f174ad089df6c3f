//! How long units are worked on: the time in which at least one call of a unit, or of a unit inside it,
//! is under way. Waiting for people, limits and room does not count, so that past runs can be compared.
//!
//! Invariant: of past runs, one is read with each look, so that no screen waits for them.

use std::collections::BTreeMap;

use forge_core::{
    Run, Time,
    event::Record,
    id::{CallId, UnitId},
    run::State,
    view::RunRow,
};

use crate::{
    Trouble,
    drive::facts,
    journal::{Record as Journaled, Store},
};

/// So many past runs say what is usual.
const RUNS_MAX: usize = 20;
/// Among so many of the latest runs they are looked for.
const ROWS_MAX: usize = 200;
/// A run with more records than this says nothing about what is usual.
const RECORDS_MAX: u64 = 5_000;

/// How long the units of a run were worked on.
#[derive(Default)]
pub(super) struct Times {
    busy: BTreeMap<String, Busy>,
    started: BTreeMap<CallId, Time>,
}

#[derive(Clone, Copy, Default)]
struct Busy {
    /// In milliseconds, without what is under way.
    total: u64,
    n_calls: u32,
    since: Time,
}

impl Times {
    /// The run has taken in a record of this time.
    pub(super) fn hear(&mut self, at: Time, run: &Run) {
        let over = |call: &&CallId| !run.calls().contains_key(*call);
        let ended: Vec<CallId> = self.started.keys().filter(over).cloned().collect();
        for call in ended {
            self.end(&call, at);
        }
        for call in run.calls().keys() {
            if !self.started.contains_key(call) {
                self.begin(call, at);
            }
        }
    }

    fn begin(&mut self, call: &CallId, at: Time) {
        self.started.insert(call.clone(), at);
        for unit in all_around(call.unit()) {
            let busy = self.busy.entry(unit).or_default();
            if busy.n_calls == 0 {
                busy.since = at;
            }
            busy.n_calls += 1;
        }
    }

    fn end(&mut self, call: &CallId, at: Time) {
        self.started.remove(call);
        for unit in all_around(call.unit()) {
            let busy = self.busy.entry(unit).or_default();
            busy.n_calls = busy.n_calls.saturating_sub(1);
            if busy.n_calls == 0 {
                busy.total += at.saturating_sub(busy.since);
            }
        }
    }

    /// When a call under way was started.
    pub(super) fn started(&self, call: &CallId) -> Option<Time> {
        self.started.get(call).copied()
    }

    /// How long each unit was worked on until now.
    pub(super) fn at(&self, now: Time) -> BTreeMap<String, u64> {
        let took = |busy: &Busy| match busy.n_calls {
            0 => busy.total,
            _ => busy.total + now.saturating_sub(busy.since),
        };
        self.busy.iter().map(|(unit, busy)| (unit.clone(), took(busy))).collect()
    }
}

/// A unit, and the stages that it lies in.
fn all_around(unit: &UnitId) -> Vec<String> {
    let mut all = vec![unit.to_string()];
    let mut scope = unit.scope.clone();
    while let Some((outer, stage)) = scope.origin() {
        all.push(outer.unit(&stage).to_string());
        scope = outer;
    }
    all
}

/// How long stages usually take: the medians of past runs of the same flow.
#[derive(Default)]
pub(super) struct Usual {
    /// Runs that were not read yet, the latest last.
    runs: Vec<String>,
    samples: BTreeMap<String, Vec<u64>>,
    medians: BTreeMap<String, u64>,
}

impl Usual {
    /// Finds the runs to learn from.
    pub(super) fn of(store: &Store, id: &str, flow: &str) -> Result<Self, Trouble> {
        let (rows, _) = store.latest(ROWS_MAX)?;
        let fits = |row: &crate::journal::RunRow| {
            let parsed = serde_json::from_str::<RunRow>(&row.row).ok();
            row.run != id && row.seq <= RECORDS_MAX && parsed.is_some_and(|row| row.flow == flow)
        };
        let mut runs: Vec<String> =
            rows.into_iter().filter(fits).map(|row| row.run).take(RUNS_MAX).collect();
        runs.reverse();
        Ok(Self { runs, ..Self::default() })
    }

    /// Learns from one more run, if there is one. A run that cannot be read says nothing.
    pub(super) fn learn(&mut self, store: &Store) {
        let Some(run) = self.runs.pop() else { return };
        let Ok(records) = store.read(&run, 1) else { return };
        for (place, took) in samples(&records).unwrap_or_default() {
            self.samples.entry(place).or_default().push(took);
        }
        self.medians =
            self.samples.iter().map(|(place, took)| (place.clone(), median(took))).collect();
    }

    pub(super) fn medians(&self) -> &BTreeMap<String, u64> {
        &self.medians
    }
}

/// The one in the middle. There is at least one.
fn median(took: &[u64]) -> u64 {
    let mut took = took.to_vec();
    took.sort_unstable();
    took[took.len() / 2]
}

/// How long the units of a run took that ended well, by their places in the flow.
fn samples(records: &[Journaled]) -> Result<Vec<(String, u64)>, Trouble> {
    let mut run = Run::new();
    let mut times = Times::default();
    for record in records {
        run.take(&Record { at: record.at, facts: facts(record)? });
        times.hear(record.at, &run);
    }
    let is_good = |state: &State| match state {
        State::Accepted => true,
        State::Waiting
        | State::Working
        | State::Judging { .. }
        | State::Asking { .. }
        | State::Skipped
        | State::Failed { .. } => false,
    };
    let took = times.at(run.now());
    let units = run.units();
    let good = units.iter().filter(|(_, _, unit)| is_good(&unit.state));
    let sample = |(id, _, _): &(UnitId, _, _)| Some((id.place(), *took.get(&id.to_string())?));
    Ok(good.filter_map(sample).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(unit: &str) -> CallId {
        let unit: UnitId = unit.parse().expect("it is a unit");
        CallId::Attempt(unit.attempt(1))
    }

    #[test]
    fn a_stage_takes_as_long_as_anything_inside_it_is_worked_on() {
        let unit: UnitId = "build.T2/implement".parse().expect("it is a unit");
        assert_eq!(all_around(&unit), ["build.T2/implement", "build"]);
        let mut times = Times::default();
        let (one, other) = (attempt("build.T1/implement"), attempt("build.T2/implement"));
        times.begin(&one, 1_000);
        times.begin(&other, 2_000);
        times.end(&one, 4_000);
        assert_eq!(times.at(5_000)["build.T1/implement"], 3_000);
        assert_eq!(times.at(5_000)["build.T2/implement"], 3_000, "it goes on");
        times.end(&other, 6_000);
        assert_eq!(times.at(99_000)["build"], 5_000, "both together, and no time twice");
        times.begin(&one, 10_000);
        times.end(&one, 11_000);
        assert_eq!(times.at(99_000)["build"], 6_000, "waiting in between does not count");
    }

    #[test]
    fn what_is_usual_is_in_the_middle_of_what_was() {
        assert_eq!(median(&[5, 1, 900]), 5);
        assert_eq!(median(&[7]), 7);
    }
}
