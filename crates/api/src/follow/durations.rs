//! How long units are worked on: the time in which at least one call of a unit, or of a unit inside it,
//! is under way. Waiting for people, limits, room and a driver does not count, so that past runs can be compared.
//!
//! Between the last record of one driver and the first of the next, nobody knows from the journal whether a call was
//! worked on: then it took what it says of itself when it has ended. Where its keeper was there before and still is,
//! it was.
//!
//! Invariant: of past runs, one is read with each look, so that no screen waits for them.

use std::collections::BTreeMap;

use forge_core::{
    Run, Time,
    event::{Event, Record},
    id::{CallId, UnitId},
    run::{EndedCall, State},
    view::RunRow,
};
use forge_driver::Error;
use forge_store::{
    journal::{JournalRecord, Store},
    records::facts,
};

/// So many past runs say what is usual.
const RUNS_MAX: usize = 20;
/// Among so many of the latest runs they are looked for.
const ROWS_MAX: usize = 200;
/// A run with more records than this says nothing about what is usual.
const RECORDS_MAX: u64 = 5_000;

/// The working times of the units of a run.
#[derive(Default)]
pub(super) struct Times {
    busy: BTreeMap<String, Busy>,
    started: BTreeMap<CallId, RunningCall>,
    /// Epoch and time of the last record.
    last: Option<(u64, Time)>,
}

#[derive(Clone, Copy, Default)]
struct Busy {
    /// In milliseconds, without what is under way.
    total: u64,
    n_calls: u32,
    since: Time,
    /// So many milliseconds between two drivers were left out.
    left_out: u64,
}

#[derive(Clone, Copy)]
struct RunningCall {
    at: Time,
    left_out: u64,
    /// When the time began that was left out, until it is known whether somebody was at work.
    doubted: Option<Time>,
}

impl Times {
    /// Applies a record of this epoch, after the run has.
    pub(super) fn apply_record(&mut self, epoch: u64, record: &Record, run: &Run) {
        if let Some((before, at)) = self.last
            && before != epoch
        {
            self.leave_out(at, record.at.saturating_sub(at));
        }
        self.last = Some((epoch, record.at));
        let over = |call: &&CallId| !run.calls().contains_key(*call);
        let ended: Vec<CallId> = self.started.keys().filter(over).cloned().collect();
        for call in ended {
            self.end(&call, record.at, took(&record.facts, &call));
        }
        for call in run.calls().keys() {
            if !self.started.contains_key(call) {
                self.begin(call, record.at);
            }
        }
    }

    fn begin(&mut self, call: &CallId, at: Time) {
        self.started.insert(call.clone(), RunningCall { at, left_out: 0, doubted: None });
        for unit in all_around(call.unit()) {
            let busy = self.busy.entry(unit).or_default();
            if busy.n_calls == 0 {
                (busy.since, busy.left_out) = (at, 0);
            }
            busy.n_calls += 1;
        }
    }

    /// Leaves out a time without a driver from all running calls.
    fn leave_out(&mut self, from: Time, ms: u64) {
        for busy in self.busy.values_mut().filter(|busy| busy.n_calls > 0) {
            busy.since += ms;
            busy.left_out += ms;
        }
        for started in self.started.values_mut() {
            started.left_out += ms;
            started.doubted = started.doubted.or(Some(from));
        }
    }

    /// Since when somebody must have been at work on a call without a break, for all its time to count. It is asked
    /// once for each time that was left out.
    pub(super) fn doubt(&mut self, call: &CallId) -> Option<Time> {
        self.started.get_mut(call)?.doubted.take()
    }

    /// Counts the time that was left out of a call after all.
    pub(super) fn worked_through(&mut self, call: &CallId) {
        let Some(started) = self.started.get_mut(call) else { return };
        let ms = std::mem::take(&mut started.left_out);
        for unit in all_around(call.unit()) {
            if let Some(busy) = self.busy.get_mut(&unit) {
                let ms = ms.min(busy.left_out);
                busy.left_out -= ms;
                busy.since = busy.since.saturating_sub(ms);
            }
        }
    }

    fn end(&mut self, call: &CallId, at: Time, took: u64) {
        let Some(RunningCall { at: began, left_out, .. }) = self.started.remove(call) else {
            return;
        };
        let counted = at.saturating_sub(began).saturating_sub(left_out);
        let missing = took.saturating_sub(counted).min(left_out);
        // Who followed it has seen when it began; from the journal, this is known only now.
        if took > 0 && (left_out == 0 || took <= counted) {
            for unit in all_around(call.unit()) {
                self.begins_at(&unit, began, at.saturating_sub(took));
            }
        }
        for unit in all_around(call.unit()) {
            let busy = self.busy.entry(unit).or_default();
            let missing = missing.min(busy.left_out);
            busy.left_out -= missing;
            busy.total += missing;
            busy.n_calls = busy.n_calls.saturating_sub(1);
            if busy.n_calls == 0 {
                busy.total += at.saturating_sub(busy.since);
            }
        }
    }

    /// Moves the beginning of a running call to this moment.
    pub(super) fn not_before(&mut self, call: &CallId, moment: Time) {
        let Some(RunningCall { at, .. }) = self.started.get(call).copied() else { return };
        for unit in all_around(call.unit()) {
            self.begins_at(&unit, at, moment);
        }
    }

    /// Moves the beginning of the only call of a unit, which was started at `at`.
    fn begins_at(&mut self, unit: &str, at: Time, moment: Time) {
        // Where others were at work before it, time went by all the same.
        if let Some(busy) = self.busy.get_mut(unit)
            && busy.n_calls == 1
            && busy.since >= at
        {
            busy.since = busy.since.max(moment);
        }
    }

    /// Returns when a call under way was started.
    pub(super) fn started(&self, call: &CallId) -> Option<Time> {
        self.started.get(call).map(|started| started.at)
    }

    /// Returns how long each unit was worked on until now.
    pub(super) fn at(&self, now: Time) -> BTreeMap<String, u64> {
        let took = |busy: &Busy| match busy.n_calls {
            0 => busy.total,
            _ => busy.total + now.saturating_sub(busy.since),
        };
        self.busy.iter().map(|(unit, busy)| (unit.clone(), took(busy))).collect()
    }
}

/// Returns how long a call took that ends with one of these facts, as far as it says so.
fn took(facts: &[Event], call: &CallId) -> u64 {
    let mut ended = facts.iter().filter_map(|fact| EndedCall::from_event(fact, 0, 0));
    ended.find(|ended| ended.call == *call).map(|ended| ended.took_ms).unwrap_or_default()
}

/// Returns a unit, and the stages that it lies in.
fn all_around(unit: &UnitId) -> Vec<String> {
    let mut all = vec![unit.to_string()];
    let mut scope = unit.scope.clone();
    while let Some((outer, stage)) = scope.origin() {
        all.push(outer.unit(&stage).to_string());
        scope = outer;
    }
    all
}

/// The usual times of stages: medians of past runs of the same flow.
#[derive(Default)]
pub(super) struct Usual {
    /// Runs that were not read yet, the latest last.
    runs: Vec<String>,
    samples: BTreeMap<String, Vec<u64>>,
    medians: BTreeMap<String, u64>,
}

impl Usual {
    /// Finds the runs to learn from.
    pub(super) fn open(store: &Store, id: &str, flow: &str) -> Result<Self, Error> {
        let (rows, _) = store.latest(ROWS_MAX)?;
        let fits = |row: &forge_store::journal::JournalRow| {
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

/// Returns the one in the middle. There is at least one.
fn median(took: &[u64]) -> u64 {
    let mut took = took.to_vec();
    took.sort_unstable();
    took[took.len() / 2]
}

/// Returns how long the units of a run took that ended well, by their places in the flow.
fn samples(records: &[JournalRecord]) -> Result<Vec<(String, u64)>, Error> {
    let mut run = Run::new();
    let mut times = Times::default();
    for stored in records {
        let record = Record { at: stored.at, facts: facts(stored)? };
        run.apply_record(&record);
        times.apply_record(stored.epoch, &record, &run);
    }
    let took = times.at(run.now());
    let units = run.units();
    let good = units.iter().filter(|(_, _, unit)| matches!(unit.state, State::Accepted));
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
        times.end(&one, 4_000, 0);
        assert_eq!(times.at(5_000)["build.T1/implement"], 3_000);
        assert_eq!(times.at(5_000)["build.T2/implement"], 3_000, "it goes on");
        times.end(&other, 6_000, 0);
        assert_eq!(times.at(99_000)["build"], 5_000, "both together, and no time twice");
        times.begin(&one, 10_000);
        times.end(&one, 11_000, 0);
        assert_eq!(times.at(99_000)["build"], 6_000, "waiting in between does not count");
    }

    #[test]
    fn time_between_two_drivers_counts_only_as_far_as_the_call_says_that_it_worked() {
        for (took, expected) in [(0, 1_500), (1_000, 1_000), (7_000, 7_000), (999_000, 61_500)] {
            let mut times = Times::default();
            let call = attempt("build.T1/implement");
            times.begin(&call, 1_000);
            times.leave_out(1_000, 60_000);
            times.end(&call, 62_500, took);
            assert_eq!(times.at(99_000)["build.T1/implement"], expected, "it says {took}");
            assert_eq!(times.at(99_000)["build"], expected);
        }
    }

    #[test]
    fn a_task_took_as_long_on_the_screen_as_in_the_journal() {
        let call = attempt("build.T1/implement");
        let took = |begun: Option<Time>| {
            let mut times = Times::default();
            times.begin(&call, 1_000);
            if let Some(begun) = begun {
                times.not_before(&call, begun);
            }
            times.end(&call, 15_000, 12_000);
            times.at(99_000)["build.T1/implement"]
        };
        assert_eq!((took(Some(3_000)), took(None)), (12_000, 12_000));
    }

    #[test]
    fn set_up_before_a_call_does_not_count_though_another_process_took_the_run_over() {
        let mut times = Times::default();
        let call = attempt("analyse");
        times.begin(&call, 1_000);
        times.leave_out(1_000, 3);
        times.end(&call, 28_000, 6_000);
        assert_eq!(times.at(99_000)["analyse"], 6_000);
    }

    #[test]
    fn two_calls_that_went_on_without_a_driver_count_once_for_their_stage() {
        let mut times = Times::default();
        let (one, other) = (attempt("build.T1/implement"), attempt("build.T2/implement"));
        times.begin(&one, 1_000);
        times.begin(&other, 1_000);
        times.leave_out(1_000, 60_000);
        times.end(&one, 61_000, 60_000);
        times.end(&other, 61_000, 60_000);
        assert_eq!(times.at(99_000)["build"], 60_000);
    }

    #[test]
    fn time_does_not_go_back_for_a_call_whose_keeper_worked_on_without_a_driver() {
        let mut times = Times::default();
        let (one, other) = (attempt("build.T1/implement"), attempt("build.T2/implement"));
        times.begin(&one, 1_000);
        times.begin(&other, 2_000);
        assert_eq!(times.doubt(&one), None);
        times.leave_out(2_000, 11_000);
        assert_eq!(times.doubt(&one), Some(2_000));
        assert_eq!(times.doubt(&one), None, "it is asked once");
        assert_eq!(times.at(13_000)["build.T1/implement"], 1_000);
        times.worked_through(&one);
        times.worked_through(&other);
        assert_eq!(times.at(13_000)["build.T1/implement"], 12_000);
        assert_eq!(times.at(13_000)["build"], 12_000, "and no time twice");
        times.end(&one, 14_000, 13_000);
        times.end(&other, 14_000, 0);
        assert_eq!(times.at(99_000)["build"], 13_000);
    }

    #[test]
    fn a_call_that_nobody_has_begun_yet_takes_no_time() {
        let mut times = Times::default();
        let call = attempt("design");
        times.begin(&call, 1_000);
        times.not_before(&call, 9_000);
        assert_eq!(times.at(9_000)["design"], 0);
        times.not_before(&call, 12_000);
        assert_eq!(times.at(15_000)["design"], 3_000);
    }

    #[test]
    fn time_never_goes_back_when_the_first_of_two_calls_has_ended() {
        let mut times = Times::default();
        let (one, other) = (attempt("build.T1/implement"), attempt("build.T2/implement"));
        times.begin(&one, 1_000);
        times.begin(&other, 3_000);
        times.end(&one, 5_000, 0);
        times.not_before(&other, 4_000);
        assert_eq!(times.at(6_000)["build"], 5_000);
        assert_eq!(times.at(6_000)["build.T2/implement"], 2_000);
    }

    #[test]
    fn what_is_usual_is_in_the_middle_of_what_was() {
        assert_eq!(median(&[5, 1, 900]), 5);
        assert_eq!(median(&[7]), 7);
    }
}
