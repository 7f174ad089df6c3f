//! A decision in the making: a copy of the run that is ahead of the journal. What can come in is taken in here.

use std::collections::{BTreeMap, btree_map::Entry};

use crate::{
    Time,
    event::{
        Approvals, End, Event, FailureKind, Hold, Outcome, Person, QuestionReason, Receipt, Record,
        ResultChange, SentBack, Start,
    },
    failure::{FaultClass, IDENTICAL_FAILURES_MAX, main_line},
    flow::{Delivery, Flow, Stage, TagRule, Work},
    id::{AttemptId, CallId, JudgementId, Scope, UnitId},
    item::{ITEMS_MAX, Item},
    item_list::flaw,
    money::Money,
    routing::Successor,
    run::{LookState, NeedsState, PathsState, Phase, Run, State, Table, Unit},
    slug::retitled,
    verdict::BlockerClass,
};

use super::{
    input::{Command, Input, Report},
    refusal::Refusal,
};

/// Lost, interrupted or limited calls in a row before a person is asked.
pub const SETBACKS_MAX: u32 = 5;

/// Work that makes way for other work waits at least this long, in milliseconds.
pub const DEFERRED_MS_MIN: Time = 1_000;

/// Says which facts follow from an input. The same run and input always give the same facts.
///
/// A record without facts means that the input means nothing now.
pub fn decide(run: &Run, at: Time, input: &Input) -> Result<Record, Refusal> {
    let at = at.max(run.now());
    let mut draft = Draft { run: run.clone().at_time(at), facts: Vec::new() };
    match input {
        Input::Command(command) => draft.decide_command(command)?,
        Input::Report(report) => draft.decide_report(report),
        Input::Tick => {}
    }
    draft.settle();
    Ok(Record { at, facts: draft.facts })
}

/// A copy of the run that is ahead of the journal by the facts it has collected.
pub(super) struct Draft {
    pub(super) run: Run,
    pub(super) facts: Vec<Event>,
}

impl Draft {
    pub(super) fn record(&mut self, event: Event) {
        self.run.apply(&event);
        self.facts.push(event);
    }

    pub(super) fn decide_command(&mut self, command: &Command) -> Result<(), Refusal> {
        match (command, self.run.phase().clone()) {
            (Command::Start(start), Phase::Fresh) => self.begin(start),
            (Command::Start(_), Phase::Going | Phase::Held(_) | Phase::Over(_)) => {
                Err(Refusal::AlreadyStarted)
            }
            (_, Phase::Fresh) => Err(Refusal::NotStarted),
            (Command::Resume { by, budget }, phase) => self.resume(by, *budget, &phase),
            (
                Command::ChangeSettings { change, by },
                Phase::Going | Phase::Held(_) | Phase::Over(End::Failed | End::Blocked),
            ) => {
                if let Some(call) = self.run.calls().keys().next() {
                    return Err(Refusal::UnderWay(call.unit().clone()));
                }
                let (change, by) = (change.clone(), by.clone());
                self.record(Event::SettingsChanged { change, by });
                Ok(())
            }
            (
                Command::Abandon { .. },
                Phase::Going | Phase::Held(_) | Phase::Over(End::Failed | End::Blocked),
            ) => {
                self.record(Event::RunEnded { end: End::Abandoned });
                Ok(())
            }
            (Command::Edit { unit, edit, why, by }, phase) => {
                self.edit(&phase, unit, edit, why, by)
            }
            (_, Phase::Over(end)) => Err(Refusal::Over(end)),
            (Command::Answer { question, answer, words, by }, Phase::Going | Phase::Held(_)) => {
                self.answer(*question, answer, words, by)
            }
            (Command::Pause { by }, phase) => self.hold(&phase, Hold::Paused { by: by.clone() }),
            (Command::Interrupt { by }, phase) => {
                self.hold(&phase, Hold::Interrupted { by: by.clone() })
            }
            (Command::Stop { by }, phase) => self.hold(&phase, Hold::Stopped { by: by.clone() }),
        }
    }

    /// Holds a run harder than before. What is held already is not let go by a weaker hold.
    pub(super) fn hold(&mut self, phase: &Phase, hold: Hold) -> Result<(), Refusal> {
        match (phase, &hold) {
            (Phase::Held(stands), Hold::Paused { .. })
            | (
                Phase::Held(stands @ (Hold::Interrupted { .. } | Hold::Stopped { .. })),
                Hold::Interrupted { .. },
            )
            | (Phase::Held(stands @ Hold::Stopped { .. }), Hold::Stopped { .. }) => {
                return Err(Refusal::AlreadyHeld(stands.clone()));
            }
            (_, _) => {}
        }
        self.record(Event::RunHeld { hold });
        Ok(())
    }

    pub(super) fn begin(&mut self, start: &Start) -> Result<(), Refusal> {
        let flow = Flow::parse(&start.flow, &start.texts).map_err(Refusal::Flow)?;
        let mut start = start.clone();
        for (name, value) in &start.params {
            flow.accepts(name, value).map_err(Refusal::Param)?;
        }
        for (name, param) in &flow.params {
            start.params.entry(name.clone()).or_insert_with(|| param.default.clone());
        }
        if start.approvals == Approvals::Automatic && flow.is_manual(&start.params) {
            return Err(Refusal::Manual);
        }
        let lists = start.lists.clone();
        let left_out = start.about.as_ref().map(|about| about.left_out.clone());
        let each = flow.stages.iter().find(|stage| matches!(stage.work, Work::Each { .. }));
        self.record(Event::RunStarted(Box::new(start)));
        if let (Some(items), Some(each)) = (left_out.filter(|items| !items.is_empty()), each) {
            self.record(Event::ItemsLeft { unit: Scope::root().unit(&each.name), items });
        }
        self.skip_by_params();
        for (list, items) in lists {
            self.take_list(&flow, list, &items)?;
        }
        Ok(())
    }

    /// Takes a list that is known at the start in the place of the stage that would report it, and of what comes before that.
    fn take_list(&mut self, flow: &Flow, list: String, items: &[Item]) -> Result<(), Refusal> {
        let Some(rows) = flow.rows_for_list(&list) else {
            return Err(Refusal::List(format!(
                "the flow `{}` cannot be started with the list `{list}`",
                flow.name
            )));
        };
        let row = rows.iter().next_back().copied().unwrap_or_default();
        let unit = Scope::root().unit(&flow.stages[row].name);
        let reported = [(list, items.to_vec())];
        let listed = self.listed(&unit, &reported).map_err(Refusal::List)?;
        for row in rows {
            let unit = Scope::root().unit(&flow.stages[row].name);
            if self.run.unit(&unit).state != State::Skipped {
                self.record(Event::UnitSkipped { unit });
            }
        }
        if let Some((list, items)) = listed {
            self.record(Event::ItemsListed { scope: Scope::root(), list, items });
        }
        Ok(())
    }

    pub(super) fn resume(
        &mut self,
        by: &Person,
        budget: Option<Money>,
        phase: &Phase,
    ) -> Result<(), Refusal> {
        match phase {
            Phase::Fresh => return Err(Refusal::NotStarted),
            Phase::Over(end @ (End::Done | End::Abandoned)) => return Err(Refusal::Over(*end)),
            Phase::Going if budget.is_none() && !self.has_waits() => {
                return Err(Refusal::AlreadyGoing);
            }
            Phase::Going | Phase::Held(_) | Phase::Over(End::Failed | End::Blocked) => {}
        }
        let committed = self.run.ledger().committed();
        let is_out_of_budget = matches!(phase, Phase::Held(Hold::OutOfBudget { .. }));
        match budget {
            Some(budget) if budget <= committed => {
                return Err(Refusal::BudgetTooLow { committed });
            }
            Some(budget) => self.record(Event::BudgetRaised { budget, by: by.clone() }),
            None if is_out_of_budget && self.unpriced_left() == Some(0) => {
                return Err(Refusal::UnpricedCalls(self.run.ledger().n_unknown));
            }
            None if is_out_of_budget && self.is_broke() => {
                let budget = self.run.budget().unwrap_or_default();
                return Err(Refusal::BudgetNeeded { budget, committed });
            }
            None => {}
        }
        if *phase != Phase::Going || self.has_waits() {
            self.record(Event::RunResumed { by: by.clone() });
        }
        // What failed in a run that is not over stays failed until the run is over: a person may
        // have given it up.
        if !matches!(phase, Phase::Over(_)) {
            return Ok(());
        }
        let failed: Vec<UnitId> = self
            .run
            .units()
            .into_iter()
            .filter(|(_, _, unit)| matches!(unit.state, State::Failed { .. }))
            .map(|(id, _, _)| id)
            .collect();
        for unit in failed {
            self.reopen_failed(unit);
        }
        Ok(())
    }

    /// Returns true if a unit waits for a moment that has not come.
    fn has_waits(&self) -> bool {
        let now = self.run.now();
        self.run.units().iter().any(|(_, _, unit)| unit.not_before > now)
    }

    /// Opens a failed unit again. An `each` that failed because of its items wakes with them.
    pub(super) fn reopen_failed(&mut self, unit: UnitId) {
        let inner = &self.run.unit(&unit).inner;
        let by_items = !inner.is_empty() && !inner.stuck().is_empty();
        let still_failed = matches!(self.run.unit(&unit).state, State::Failed { .. });
        if still_failed && !by_items {
            let findings = self.run.unit(&unit).findings.clone();
            let by = SentBack::Resumed;
            self.record(Event::UnitReopened { unit, by, findings, words: String::new() });
        }
    }

    pub(super) fn decide_report(&mut self, report: &Report) {
        if !self.run.is_started() {
            return;
        }
        match report {
            Report::Worked { attempt, outcome, lists, receipt } => {
                let call = CallId::Attempt(attempt.clone());
                if !self.run.calls().contains_key(&call) {
                    return; // It was reported already, or never started.
                }
                if self.is_worked_on(attempt) {
                    self.worked(attempt, outcome, lists, receipt);
                } else {
                    self.record(settled(call, receipt));
                }
            }
            Report::Judged { judgement, ruling, receipt } => {
                let call = CallId::Judgement(judgement.clone());
                if !self.run.calls().contains_key(&call) {
                    return; // It was reported already, or never started.
                }
                if self.is_awaited(judgement) {
                    self.judged(judgement, ruling, receipt);
                } else {
                    self.record(settled(call, receipt));
                }
            }
            Report::PathsTaken { unit, what } => {
                if let Some(PathsState::Wanted | PathsState::Taken { .. }) = self.paths_of(unit)
                    && self.paths_of(unit) != Some(&PathsState::Taken { what: what.clone() })
                {
                    let (unit, what) = (unit.clone(), what.clone());
                    self.record(Event::PathsTaken { unit, what });
                }
            }
            Report::PathsFree { unit } => {
                if let Some(PathsState::Wanted | PathsState::Taken { .. }) = self.paths_of(unit) {
                    self.record(Event::PathsClaimed { unit: unit.clone() });
                }
            }
            Report::NeedsMet { unit, gate } => {
                if self.needs_asked(unit, gate.as_deref()) {
                    let (unit, gate) = (unit.clone(), gate.clone());
                    self.record(Event::NeedsMet { unit, gate });
                }
            }
            Report::NeedsUnmet { unit, gate, unmet } => {
                if self.needs_asked(unit, gate.as_deref()) {
                    let unmet = unmet.clone();
                    self.ask(unit, gate.as_deref(), QuestionReason::NotReady { unmet });
                }
            }
            Report::Assigned { call, to } => {
                let counts = match call {
                    CallId::Attempt(attempt) => self.is_worked_on(attempt),
                    CallId::Judgement(judgement) => self.is_awaited(judgement),
                };
                if counts && self.run.assignment(call).is_none() {
                    self.record(Event::CallAssigned { call: call.clone(), to: to.clone() });
                }
            }
            Report::Noticed { unit, what } => {
                if self.run.has(unit) {
                    let (unit, what) = (unit.clone(), what.clone());
                    self.record(Event::Noticed { unit, what });
                }
            }
            Report::Signs { key } => {
                if !self.run.has_ending_key(key) {
                    self.record(Event::EndingKeyAdded { key: key.clone() });
                }
            }
            Report::Intends { attempt, mark } => {
                if self.is_worked_on(attempt) && self.run.mark(mark).is_none() {
                    let (attempt, mark) = (attempt.clone(), mark.clone());
                    self.record(Event::EffectIntended { attempt, mark });
                }
            }
            Report::Did { attempt, mark, reference } => {
                if self.run.mark(mark) != Some(crate::run::EffectMark::Done) {
                    let (attempt, mark) = (attempt.clone(), mark.clone());
                    let reference = reference.clone();
                    self.record(Event::EffectDone { attempt, mark, reference });
                }
            }
        }
    }

    /// Returns how a unit that may start stands with its paths. In a run that is held, nothing is claimed.
    fn paths_of(&self, unit: &UnitId) -> Option<&PathsState> {
        let is_going = *self.run.phase() == Phase::Going;
        let waits = |unit: &&Unit| unit.state == State::Waiting;
        let unit = self.run.has(unit).then(|| self.run.unit(unit));
        unit.filter(|_| is_going).filter(waits).map(|unit| &unit.paths)
    }

    /// Returns true if a unit, or this gate of it, waits for a look at what it needs.
    fn needs_asked(&self, unit: &UnitId, gate: Option<&str>) -> bool {
        if *self.run.phase() != Phase::Going || !self.run.has(unit) {
            return false;
        }
        let now = self.run.unit(unit);
        let is_here = match now.state {
            State::Waiting => gate.is_none(),
            State::Judging { gate: at, look: LookState::Pending } => {
                let name = self.run.stage(unit).gates.get(at).map(|gate| gate.name.as_str());
                gate.is_some() && name == gate
            }
            State::Judging { look: LookState::UnderWay(_), .. }
            | State::Working
            | State::Asking { .. }
            | State::Accepted
            | State::Skipped
            | State::Failed { .. } => false,
        };
        is_here && now.needs == NeedsState::Asked
    }

    /// Returns true if an attempt is the latest one of its unit. In a run that is over, none is.
    pub(super) fn is_current(&self, attempt: &AttemptId) -> bool {
        !matches!(self.run.phase(), Phase::Over(_))
            && self.run.has(&attempt.unit)
            && self.run.unit(&attempt.unit).attempt == attempt.number
    }

    pub(super) fn is_worked_on(&self, attempt: &AttemptId) -> bool {
        self.is_current(attempt) && self.run.unit(&attempt.unit).state == State::Working
    }

    pub(super) fn is_awaited(&self, judgement: &JudgementId) -> bool {
        let unit = &judgement.attempt.unit;
        if !self.is_current(&judgement.attempt) {
            return false;
        }
        match self.run.unit(unit).state {
            State::Judging { gate, look: LookState::UnderWay(number) } => {
                number == judgement.number
                    && self.run.stage(unit).gates[gate].name == judgement.gate
            }
            State::Judging { look: LookState::Pending, .. }
            | State::Waiting
            | State::Working
            | State::Asking { .. }
            | State::Accepted
            | State::Skipped
            | State::Failed { .. } => false,
        }
    }

    pub(super) fn worked(
        &mut self,
        attempt: &AttemptId,
        outcome: &Outcome,
        lists: &[(String, Vec<Item>)],
        receipt: &Receipt,
    ) {
        let unit = attempt.unit.clone();
        let listed = match outcome {
            Outcome::Done => self.listed(&unit, lists),
            Outcome::Partial { .. }
            | Outcome::Blocked { .. }
            | Outcome::Fault { .. }
            | Outcome::Limited { .. }
            | Outcome::Deferred { .. }
            | Outcome::Lost
            | Outcome::Interrupted => Ok(None),
        };
        let (outcome, listed) = match listed {
            Ok(listed) => (self.not_at_once(outcome), listed),
            Err(what) => (Outcome::Fault { class: FaultClass::FlawedList, what }, None),
        };
        let landing = self.last_commit(&unit, &outcome, receipt);
        let (outcome, landing) = match landing {
            Ok(landing) => (outcome, landing),
            Err(what) => (Outcome::Fault { class: FaultClass::NoResult, what }, None),
        };
        let found = self.named(&unit, &receipt.found);
        let receipt = Receipt { found, ..receipt.clone() };
        let doubts = receipt.doubts();
        let successor = receipt.successor.clone();
        let receipt = Some(receipt);
        let cap = self.run.cap(&CallId::Attempt(attempt.clone()));
        self.record(Event::AttemptEnded {
            attempt: attempt.clone(),
            outcome: outcome.clone(),
            receipt,
        });
        if let Some((list, items)) = listed {
            self.record(Event::ItemsListed { scope: unit.scope.clone(), list, items });
        }
        if let Some(landing) = landing {
            self.record(landing);
        }
        match outcome {
            Outcome::Done => {
                if !self.asks_a_person(&unit, 0) {
                    self.ask_if_doubted(&unit, None, doubts);
                }
            }
            // Work that waits for other work may wait as long as that needs.
            Outcome::Deferred { .. } => {}
            Outcome::Fault { class: FaultClass::OutOfBudget, .. } => {
                self.cap_reached(&unit, None, cap);
            }
            Outcome::Fault { class, what } => self.missed(&unit, class, &what),
            Outcome::Partial { note } => self.partly_done(&unit, note),
            Outcome::Blocked { class, what } => {
                let call = CallId::Attempt(attempt.clone());
                match self.passed_on(&call, class, successor) {
                    Some(passed_on) => self.record(passed_on),
                    None => self.ask(&unit, None, QuestionReason::Blocked { class, what }),
                }
            }
            Outcome::Limited { .. } | Outcome::Lost | Outcome::Interrupted => {
                self.set_back(&unit, None);
            }
        }
    }

    /// Returns what the last commit of a run makes of its result, or what is wrong with it: it may bring
    /// what the run wrote into the result, and no change of the code.
    pub(super) fn last_commit(
        &self,
        unit: &UnitId,
        outcome: &Outcome,
        receipt: &Receipt,
    ) -> Result<Option<Event>, String> {
        let is_commit = self.run.stage(unit).work == (Work::Deliver { what: Delivery::Commit });
        let Some(commit) = receipt.commit.clone().filter(|_| is_commit) else { return Ok(None) };
        if *outcome != Outcome::Done {
            return Ok(None);
        }
        let tree = receipt.tree.clone().unwrap_or_default();
        if let Some(proved) = self.run.tree().filter(|proved| *proved != tree) {
            return Err(format!(
                "the last commit has the code tree `{tree}`, and the run's result has `{proved}`"
            ));
        }
        let (unit, head) = (unit.clone(), receipt.head.clone());
        let brings =
            ResultChange::between(self.run.code_before(), head.as_ref().unwrap_or(&commit));
        let branch = self.titled_branch();
        Ok(Some(Event::Landed { unit, commit, tree, head, brings, branch }))
    }

    /// Returns the name of the run's branch by the title of the change. Once something has landed the branch is there, and
    /// keeps its name.
    pub(super) fn titled_branch(&self) -> Option<String> {
        let (false, Some(branch)) = (self.run.has_landed(), self.run.branch()) else { return None };
        retitled(branch, &self.run.definition().start.request, self.run.title()?)
    }

    /// Delays work that makes way: no person is asked about it, so it must not come back at once.
    pub(super) fn not_at_once(&self, outcome: &Outcome) -> Outcome {
        match outcome {
            Outcome::Deferred { until, what } => {
                let until = (*until).max(self.run.now().saturating_add(DEFERRED_MS_MIN));
                Outcome::Deferred { until, what: what.clone() }
            }
            Outcome::Done
            | Outcome::Partial { .. }
            | Outcome::Blocked { .. }
            | Outcome::Fault { .. }
            | Outcome::Limited { .. }
            | Outcome::Lost
            | Outcome::Interrupted => outcome.clone(),
        }
    }

    /// Returns the list that the stage must report, or what is wrong with it.
    pub(super) fn listed(
        &self,
        unit: &UnitId,
        lists: &[(String, Vec<Item>)],
    ) -> Result<Option<(String, Vec<Item>)>, String> {
        let Some(list) = &self.run.stage(unit).list else { return Ok(None) };
        let Some((_, items)) = lists.iter().find(|(name, _)| name == list) else {
            return Err(format!("it did not report the list `{list}`"));
        };
        let (least, most) =
            items_bounds(&self.run.definition().flow.stages, list).unwrap_or((0, ITEMS_MAX));
        if items.len() < least {
            return Err(format!(
                "the list `{list}` has {} tasks, and at least {least} must be done",
                items.len()
            ));
        }
        if let Some(flaw) = flaw(items, most) {
            return Err(format!("the list `{list}` is not valid: {flaw}"));
        }
        if let Some(id) = self.landed_and_changed(unit, list, items) {
            return Err(format!(
                "the list `{list}` changes `{id}`, which is already merged: give the change a new \
                 id"
            ));
        }
        let tagged = items.iter().map(|item| tagged(item, &self.run.stage(unit).tags));
        let items = tagged.collect::<Result<Vec<Item>, String>>();
        let items = items.map_err(|flaw| format!("the list `{list}` is not valid: {flaw}"))?;
        Ok(Some((list.clone(), items)))
    }

    /// Returns an item that is listed with other content than the one that landed under its id.
    pub(super) fn landed_and_changed(
        &self,
        unit: &UnitId,
        list: &str,
        items: &[Item],
    ) -> Option<String> {
        let new: BTreeMap<&str, &Item> =
            items.iter().map(|item| (item.id.as_str(), item)).collect();
        let (stages, table) = self.run.table(&unit.scope);
        changed_inside(stages, table, list, &new)
    }

    pub(super) fn missed(&mut self, unit: &UnitId, class: FaultClass, what: &str) {
        if self.run.unit(unit).misses >= self.run.stage(unit).misses {
            self.ask(
                unit,
                None,
                QuestionReason::NoResult { class: Some(class), what: what.to_owned() },
            );
        } else {
            self.escalate_if_identical(unit, class, what);
        }
    }

    /// Returns that somebody else takes over what the agent of a call cannot do, unless there is nobody, or the same was passed on
    /// before.
    pub(super) fn passed_on(
        &self,
        call: &CallId,
        class: BlockerClass,
        to: Option<Successor>,
    ) -> Option<Event> {
        let to = to.filter(|_| class.is_of_model() && self.run.passed_on(call).is_none())?;
        Some(Event::WorkPassedOn { call: call.clone(), class, to })
    }

    /// Passes the remaining work to the next attempt, which starts by itself only if there are rounds. After that, a
    /// person is asked; other work continues.
    pub(super) fn partly_done(&mut self, unit: &UnitId, note: String) {
        let has_rounds = self.run.unit(unit).round < self.run.stage(unit).rounds;
        self.record(Event::UnitReopened {
            unit: unit.clone(),
            by: SentBack::Partial,
            findings: self.run.unit(unit).findings.clone(),
            words: note.clone(),
        });
        if !has_rounds {
            self.ask(unit, None, QuestionReason::Unfinished { what: note });
        }
    }

    /// Handles a lost, interrupted or limited call: no fault of the work, up to a point.
    pub(super) fn set_back(&mut self, unit: &UnitId, gate: Option<&str>) {
        let n = self.run.unit(unit).setbacks;
        if n >= SETBACKS_MAX && *self.run.phase() == Phase::Going {
            self.ask(unit, gate, QuestionReason::Setbacks { n });
        }
    }

    /// Stops the run where it would only see the same failure again.
    pub(super) fn escalate_if_identical(&mut self, unit: &UnitId, class: FaultClass, what: &str) {
        let n = self.run.n_failures(unit, class, what);
        if n >= IDENTICAL_FAILURES_MAX && *self.run.phase() == Phase::Going {
            // It is counted over all items of a stage; the last one is where to look.
            let (place, last) = (unit.place(), unit.to_string());
            let last = if last == place { String::new() } else { format!(", last in {last}") };
            let (line, more) = main_line(class, what);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let what = format!("`{place}` failed {n} times in the same way{last}: {line}{more}");
            self.record(Event::RunHeld { hold: Hold::Escalated { what } });
        }
    }

    pub(super) fn fail(&mut self, unit: &UnitId, kind: FailureKind, reason: impl Into<String>) {
        self.record(Event::UnitFailed { unit: unit.clone(), kind, reason: reason.into() });
    }
}

/// Records only the cost of a call that no longer matters.
fn settled(call: CallId, receipt: &Receipt) -> Event {
    let (spent, used, took_ms) = (receipt.spent, receipt.used.clone(), receipt.took_ms);
    Event::CallSettled { call, spent, used, took_ms }
}

/// Looks in a table and in the tables inside it, because a list can be seen from there, too.
fn changed_inside(
    stages: &[Stage],
    table: &Table,
    list: &str,
    new: &BTreeMap<&str, &Item>,
) -> Option<String> {
    for (stage, unit) in stages.iter().zip(&table.units) {
        let goes_over = matches!(&stage.work, Work::Each { list: other, .. } if other == list);
        for (old, inside) in unit.inner.members().chain(unit.inner.retired()) {
            let changed = new.get(old.id.as_str()).is_some_and(|new| *new != old);
            if goes_over && changed && inside.has_landed() {
                return Some(old.id.clone());
            }
            if let Some(id) = changed_inside(stage.inner(), inside, list, new) {
                return Some(id);
            }
        }
    }
    None
}

/// Returns how many items a list may have: as many as the strictest `each` that goes over it says.
fn items_bounds(stages: &[Stage], list: &str) -> Option<(usize, usize)> {
    let own = stages.iter().filter_map(|stage| match &stage.work {
        Work::Each { list: other, items_max, items_min, .. } if other == list => {
            Some((*items_min, *items_max))
        }
        Work::Each { .. }
        | Work::Agent { .. }
        | Work::Command { .. }
        | Work::Flow { .. }
        | Work::Deliver { .. }
        | Work::Nothing => None,
    });
    let all = own.chain(stages.iter().filter_map(|stage| items_bounds(stage.inner(), list)));
    all.reduce(|(least, most), (other_least, other_most)| {
        (least.max(other_least), most.min(other_most))
    })
}

/// Returns an item with all tags that items of its list have, or what is wrong with them.
fn tagged(item: &Item, rules: &BTreeMap<String, TagRule>) -> Result<Item, String> {
    let mut item = item.clone();
    for (name, TagRule { values, default }) in rules {
        let possible = || values.join(", ");
        let given = item.tags.entry(name.clone());
        let value = match (given, default) {
            (Entry::Occupied(given), _) => given.into_mut(),
            (Entry::Vacant(missing), Some(default)) => missing.insert(default.clone()),
            (Entry::Vacant(_), None) => {
                return Err(format!("`{}` has no tag `{name}`; possible: {}", item.id, possible()));
            }
        };
        if !values.contains(value) {
            let value = value.clone();
            let id = &item.id;
            return Err(format!(
                "`{id}` has the tag `{name}` = `{value}`; possible: {}",
                possible()
            ));
        }
    }
    Ok(item)
}
