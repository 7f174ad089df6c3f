//! What starts and closes by itself, until nothing more follows.
//!
//! The tables are walked from the top, and whatever is ready starts. Holding a run keeps work
//! and gates from starting, not from being closed.

use std::collections::BTreeSet;

use super::{budget::Reserve, draft::Draft};
use crate::{
    event::{Approval, Approvals, Call, End, Event, FailureKind, Outcome, QuestionReason},
    flow::{Auto, Check, Condition, Delivery, ItemOrder, StageOrder, StuckItems, When, Work},
    id::{CallId, Scope, UnitId},
    item::overlap,
    path_claims::waits_for_paths,
    run::{AllReviewsClean, Due, LookState, NeedsState, PathsState, Phase, State, TableStatus},
    wanted,
};

/// A bound for a loop that ends by itself: each pass closes or starts at least one unit.
const PASSES_MAX: usize = 100_000;

/// A unit that waits for its turn to land: the order of arrival, and which.
type Arrival = (Option<u64>, UnitId);

impl Draft {
    /// Conditions on parameters are settled at the start, in the order of the table.
    pub(super) fn skip_by_params(&mut self) {
        let stages = self.run.definition().flow.stages.clone();
        for stage in &stages {
            let unit = Scope::root().unit(&stage.name);
            if self.never_holds(&stage.when) {
                self.record(Event::UnitSkipped { unit });
                continue;
            }
            for gate in stage
                .gates
                .iter()
                .filter(|gate| self.never_holds(&gate.when))
                .cloned()
                .collect::<Vec<_>>()
            {
                self.record(Event::GateSkipped { unit: unit.clone(), gate: gate.name });
            }
        }
    }

    fn never_holds(&self, when: &When) -> bool {
        let params = when.0.iter().filter(|when| matches!(when, Condition::Param { .. }));
        let params: Vec<Condition> = params.cloned().collect();
        !self.run.holds(&Scope::root(), &When(params))
    }

    pub(super) fn settle(&mut self) {
        match self.run.phase() {
            Phase::Fresh | Phase::Over(_) => return,
            Phase::Going | Phase::Held(_) => {}
        }
        for _ in 0..PASSES_MAX {
            let before = self.facts.len();
            let mut arrivals = Vec::new();
            self.walk(&Scope::root(), &mut arrivals);
            self.land_next(arrivals);
            if self.facts.len() == before {
                return self.finish();
            }
        }
        unreachable!("a flow settles, because each pass closes or starts at least one unit");
    }

    /// Ends the run when nothing is wanted and nothing is running.
    fn finish(&mut self) {
        let is_idle = *self.run.phase() == Phase::Going
            && self.run.calls().is_empty()
            && wanted(&self.run).is_empty();
        if !is_idle {
            return;
        }
        let (_, root) = self.run.table(&Scope::root());
        let end = if root.standing() == TableStatus::Closed {
            End::Done
        } else {
            let blocked = State::Failed { kind: FailureKind::Blocked };
            let is_blocked = self.run.units().iter().any(|(_, _, unit)| unit.state == blocked);
            if is_blocked { End::Blocked } else { End::Failed }
        };
        self.record(Event::RunEnded { end });
    }

    fn walk(&mut self, scope: &Scope, arrivals: &mut Vec<Arrival>) {
        let n_rows = self.run.table(scope).0.len();
        for row in 0..n_rows {
            let (stages, table) = self.run.table(scope);
            let name = &stages[row].name;
            match table.units[row].state {
                State::Waiting => {
                    let unit = scope.unit(name);
                    self.start_if_ready(&unit, row);
                }
                State::Working => {
                    if matches!(stages[row].work, Work::Each { .. } | Work::Flow { .. }) {
                        let unit = scope.unit(name);
                        self.walk_items(&unit, arrivals);
                    }
                }
                State::Judging { gate, look: LookState::Pending } => {
                    let unit = scope.unit(name);
                    self.look(&unit, gate, arrivals);
                }
                State::Judging { look: LookState::UnderWay(_), .. }
                | State::Asking { .. }
                | State::Accepted
                | State::Skipped
                | State::Failed { .. } => {}
            }
        }
    }

    fn start_if_ready(&mut self, unit: &UnitId, row: usize) {
        let (stages, table) = self.run.table(&unit.scope);
        let stage = &stages[row];
        if !stage.after.iter().all(|first| table.is_over(*first)) {
            return;
        }
        if !self.run.holds(&unit.scope, &stage.when) {
            return self.record(Event::UnitSkipped { unit: unit.clone() });
        }
        let now = &table.units[row];
        if *self.run.phase() != Phase::Going || now.not_before > self.run.now() {
            return;
        }
        if stage.work == (Work::Deliver { what: Delivery::PullRequest })
            && let Some(what) = self.run.reason_not_to_deliver()
        {
            return self.ask(unit, None, QuestionReason::Unverified { what, found: Vec::new() });
        }
        let attempt = unit.attempt(now.attempt + 1);
        let gates_only = stage.order == StageOrder::GatesFirst && now.due == Due::Fresh;
        match &stage.work {
            Work::Each { list, .. } if self.run.items(unit, list).is_none() => {
                let reason = format!("no stage reported the list `{list}`");
                self.fail(unit, FailureKind::Failed, reason);
            }
            Work::Each { .. } | Work::Flow { .. } => {
                if self.may_begin(unit, None) {
                    self.record(Event::AttemptStarted { attempt, call: None });
                }
            }
            Work::Agent { .. } | Work::Command { .. } | Work::Deliver { .. } if !gates_only => {
                if waits_for_paths(&self.run, unit, row) {
                    if now.paths == PathsState::Unclaimed {
                        self.record(Event::PathsWanted { unit: unit.clone() });
                    }
                    return;
                }
                if self.has_room(unit)
                    && self.may_begin(unit, None)
                    && let Some(call) = self.next_call(unit, None, None)
                {
                    self.record(Event::AttemptStarted { attempt, call: Some(call) });
                }
            }
            Work::Agent { .. } | Work::Command { .. } | Work::Deliver { .. } | Work::Nothing => {
                if !self.may_begin(unit, None) {
                    return;
                }
                self.record(Event::AttemptStarted { attempt: attempt.clone(), call: None });
                let outcome = Outcome::Done;
                self.record(Event::AttemptEnded { attempt, outcome, receipt: None });
            }
        }
    }

    /// Returns true if what must hold before a unit, or a gate of it, begins was seen to hold. Asks for a look, if not.
    fn may_begin(&mut self, unit: &UnitId, gate: Option<&str>) -> bool {
        let stage = self.run.stage(unit);
        let position = gate.and_then(|gate| stage.gate(gate));
        let needs = position.map_or(&stage.needs, |position| &stage.gates[position].needs);
        if needs.is_empty() {
            return true;
        }
        match self.run.unit(unit).needs {
            NeedsState::Met => true,
            NeedsState::Asked => false,
            NeedsState::Unasked => {
                let (unit, gate) = (unit.clone(), gate.map(str::to_owned));
                self.record(Event::NeedsAsked { unit, gate });
                false
            }
        }
    }

    /// Returns true if one more call may start in a unit: as far as the run is concerned, and the items that it is in.
    fn has_room(&self, unit: &UnitId) -> bool {
        let calls = self.run.calls();
        let mut is_free = calls.len() < self.run.definition().start.limits.at_once as usize;
        let mut scope = unit.scope.clone();
        while let Some((outer, group)) = scope.origin().filter(|_| is_free) {
            let each = outer.unit(&group);
            if let Work::Each { at_once, .. } = self.run.stage(&each).work
                && calls.len() >= at_once
            {
                // Those that a person answered come back to places that others have taken meanwhile.
                let items = calls.keys().filter_map(|call| each.item_around(&call.unit().scope));
                let items: BTreeSet<&str> = items.collect();
                is_free =
                    items.len() < at_once || scope.item().is_some_and(|own| items.contains(own));
            }
            scope = outer;
        }
        is_free
    }

    /// Returns the next call, if there is room and money for it.
    fn next_call(
        &mut self,
        unit: &UnitId,
        gate: Option<&str>,
        check: Option<&Check>,
    ) -> Option<Call> {
        if !self.has_room(unit) {
            return None;
        }
        let call = |draft: &Self, reserved| {
            let ordinal = draft.run.n_calls() + 1;
            Some(Call { ordinal, reserved, wish: draft.run.next_wish(unit, gate) })
        };
        match self.reserve(unit, check) {
            Reserve::Free => call(self, None),
            Reserve::Amount(amount) => call(self, Some(amount)),
            Reserve::Later => None,
            broke @ (Reserve::RunIsBroke | Reserve::StageIsBroke) => {
                self.out_of_budget(unit, gate, &broke);
                None
            }
        }
    }

    /// Moves the items of an `each` on, in the order of the list.
    fn walk_items(&mut self, unit: &UnitId, arrivals: &mut Vec<Arrival>) {
        let (at_once, order) = match &self.run.stage(unit).work {
            Work::Each { at_once, order, .. } => (*at_once, *order),
            Work::Flow { .. }
            | Work::Agent { .. }
            | Work::Command { .. }
            | Work::Deliver { .. }
            | Work::Nothing => (1, ItemOrder::Paths),
        };
        let standing = |draft: &Self, position| draft.run.unit(unit).inner.standing(position);
        let of = |draft: &Self, wanted: TableStatus| -> Vec<usize> {
            let standings = draft.run.unit(unit).inner.standings().enumerate();
            standings.filter(|(_, standing)| *standing == wanted).map(|(item, _)| item).collect()
        };
        let mut open = of(self, TableStatus::Open);
        for item in open.clone() {
            let scope = unit.item(&self.run.unit(unit).inner.member(item).0.id);
            self.walk(&scope, arrivals);
        }
        open.retain(|item| standing(self, *item) == TableStatus::Open);
        if *self.run.phase() == Phase::Going {
            let mut waiting = of(self, TableStatus::Waiting);
            if order == ItemOrder::Waves {
                let inner = &self.run.unit(unit).inner;
                let wave = inner.wave();
                waiting.retain(|item| wave.is_some_and(|wave| inner.layer(*item) <= wave));
            }
            let mut n_busy = open.iter().filter(|item| self.takes_a_place(unit, **item)).count();
            for item in waiting {
                if n_busy >= at_once {
                    break;
                }
                if standing(self, item) == TableStatus::Waiting && self.may_open(unit, item, &open)
                {
                    let scope = unit.item(&self.run.unit(unit).inner.member(item).0.id);
                    let n_arrivals = arrivals.len();
                    self.walk(&scope, arrivals);
                    // What only has to land is as good as open, and will be when its turn comes.
                    if standing(self, item) == TableStatus::Open || arrivals.len() > n_arrivals {
                        open.push(item);
                        n_busy += 1;
                    }
                }
            }
        }
        self.close_items(unit);
    }

    /// Returns true if an open item takes one of the places. One in which everything waits for a person does not.
    fn takes_a_place(&self, unit: &UnitId, position: usize) -> bool {
        let inner = &self.run.unit(unit).inner;
        let scope = unit.item(&inner.member(position).0.id);
        let is_called = |call: &CallId| call.unit().scope.within(&scope);
        !inner.is_asking(position) || self.run.calls().keys().any(is_called)
    }

    fn may_open(&self, unit: &UnitId, position: usize, open: &[usize]) -> bool {
        let inner = &self.run.unit(unit).inner;
        let (item, after) = inner.member(position);
        after.iter().all(|first| inner.standing(*first) == TableStatus::Closed)
            && open.iter().all(|other| !overlap(item, inner.member(*other).0))
    }

    fn close_items(&mut self, unit: &UnitId) {
        let inner = &self.run.unit(unit).inner;
        let unfinished: Vec<usize> =
            (0..inner.len()).filter(|item| inner.standing(*item) != TableStatus::Closed).collect();
        if unfinished.is_empty() {
            let attempt = self.run.current(unit);
            let outcome = Outcome::Done;
            return self.record(Event::AttemptEnded { attempt, outcome, receipt: None });
        }
        if !unfinished.iter().any(|item| inner.standing(*item) == TableStatus::Failed) {
            return;
        }
        let stuck = inner.stuck();
        if !unfinished.iter().all(|item| stuck.contains(item)) {
            return;
        }
        let items: Vec<String> =
            stuck.iter().map(|item| inner.member(*item).0.id.clone()).collect();
        let (n_done, n_least, on_stuck) = match self.run.stage(unit).work {
            Work::Each { items_min, stuck, .. } => {
                (inner.len() - unfinished.len(), items_min.max(1), stuck)
            }
            Work::Flow { .. }
            | Work::Agent { .. }
            | Work::Command { .. }
            | Work::Deliver { .. }
            | Work::Nothing => (0, 1, StuckItems::Fail),
        };
        match on_stuck {
            StuckItems::PassWithNotes | StuckItems::Hold if n_done >= n_least => {
                self.record(Event::ItemsLeft { unit: unit.clone(), items });
                let attempt = self.run.current(unit);
                let outcome = Outcome::Done;
                self.record(Event::AttemptEnded { attempt, outcome, receipt: None });
            }
            StuckItems::Fail | StuckItems::PassWithNotes | StuckItems::Hold => {
                let kind = self.worst_inside(unit);
                let reason = format!("these tasks cannot continue: {}", items.join(", "));
                self.fail(unit, kind, reason);
            }
        }
    }

    /// Returns blocked if anything inside is.
    fn worst_inside(&self, unit: &UnitId) -> FailureKind {
        let blocked = State::Failed { kind: FailureKind::Blocked };
        let mut tables = self.run.unit(unit).inner.members();
        if tables.any(|(_, table)| table.units.iter().any(|unit| unit.state == blocked)) {
            FailureKind::Blocked
        } else {
            FailureKind::Failed
        }
    }

    /// Handles the next gate: skips it, lets it pass, asks, starts it, or accepts after the last.
    fn look(&mut self, unit: &UnitId, position: usize, arrivals: &mut Vec<Arrival>) {
        let stage = self.run.stage(unit);
        let Some(gate) = stage.gates.get(position).cloned() else {
            return self.record(Event::UnitAccepted { unit: unit.clone() });
        };
        if !self.run.holds(&unit.scope, &gate.when) {
            return self.record(Event::GateSkipped { unit: unit.clone(), gate: gate.name });
        }
        let now = self.run.unit(unit);
        let (reviews_clean, not_before, arrived) = (now.reviews_clean, now.not_before, now.arrived);
        let may_start = *self.run.phase() == Phase::Going && not_before <= self.run.now();
        let asks =
            !gate.needs.is_empty() && (!may_start || !self.may_begin(unit, Some(&gate.name)));
        if asks {
            return;
        }
        match gate.check {
            Check::Human { question, auto } => {
                let automatic = auto == Auto::Allowed
                    && self.run.definition().start.approvals == Approvals::Automatic
                    && reviews_clean == AllReviewsClean::Yes;
                if automatic {
                    let verdict = self.run.verdict_word(unit);
                    let (unit, by) = (unit.clone(), Approval::Automatic);
                    self.record(Event::GatePassed { unit, gate: gate.name, by, verdict });
                } else {
                    self.ask(unit, Some(&gate.name), QuestionReason::Checkpoint { text: question });
                }
            }
            Check::Land => {
                if may_start {
                    arrivals.push((arrived, unit.clone()));
                }
            }
            check @ (Check::Artifact { .. }
            | Check::Outputs { .. }
            | Check::Command { .. }
            | Check::Review { .. }
            | Check::Verify
            | Check::BuiltIn { .. }) => {
                if may_start {
                    self.start_look(unit, &gate.name, &check);
                }
            }
        }
    }

    fn start_look(&mut self, unit: &UnitId, gate: &str, check: &Check) {
        if let Some(call) = self.next_call(unit, Some(gate), Some(check)) {
            let number = self.run.unit(unit).looks + 1;
            let judgement = self.run.current(unit).judgement(gate, number);
            self.record(Event::JudgementStarted { judgement, call });
        }
    }

    /// Lands one arrival at a time, in order.
    fn land_next(&mut self, mut arrivals: Vec<Arrival>) {
        let lands = |draft: &Self, call: &CallId| {
            let flow = &draft.run.definition().flow;
            let gate = call.gate().and_then(|gate| flow.gate(call.unit(), gate));
            gate.is_some_and(|gate| gate.check == Check::Land)
        };
        // The pass that found the arrivals may have held the run since.
        let is_going = *self.run.phase() == Phase::Going;
        if !is_going || self.run.calls().keys().any(|call| lands(self, call)) {
            return;
        }
        arrivals.sort();
        if let Some((_, unit)) = arrivals.into_iter().next()
            && let State::Judging { gate, look: LookState::Pending } = self.run.unit(&unit).state
        {
            let name = self.run.stage(&unit).gates[gate].name.clone();
            self.start_look(&unit, &name, &Check::Land);
        }
    }
}
