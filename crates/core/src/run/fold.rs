//! The fold itself: what each fact changes. What can be asked of a run is in `run/lookup.rs`.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Time,
    event::{
        Answer, Approval, Before, Call, CheckFailure, Colour, End, Event, Evidence, Hold, Limits,
        OnOverlap, Outcome, ProofStart, Question, Receipt, Record, Ruling, SentBack,
        SettingsChange, Start, Waiver,
    },
    failure::{Fault, FaultClass, fingerprint},
    flow::{Check, Flow, Stage, Work, followers},
    id::{AttemptId, CallId, JudgementId, QuestionId, Scope, UnitId},
    item::Item,
    ledger::Ledger,
    money::Money,
    routing::Assignment,
    verdict::{BlockerClass, Finding, Proof, Verdict},
};

use super::before_start::{NeedsState, PathsState};
use super::ending_keys::EndingKeys;
use super::history::History;
use super::tree::{
    AllReviewsClean, LookState, ReviewTally, State, Table, TableOpened, Unit, locate, position,
};

/// The last result of a check on one code tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownResult {
    pub(super) colour: Colour,
    pub(super) start: ProofStart,
    pub(super) took_ms: Option<u64>,
    /// How it failed, if it did and that was looked at.
    pub(super) failure: Option<CheckFailure>,
}

/// A flow under way.
#[derive(Clone, Debug)]
pub struct Run {
    /// The definition that was frozen at the start.
    pub(super) definition: Option<Arc<RunDefinition>>,
    pub(super) phase: Phase,
    /// The time of the last record.
    pub(super) now: Time,
    /// The time of the first.
    pub(super) started_at: Time,
    /// How long nothing could be done but by a person, in milliseconds.
    pub(super) waited_ms: u64,
    /// The part of it in which it was held or over, so that no answer was waited for.
    pub(super) held_ms: u64,
    /// The flow's own table.
    pub(super) root: Arc<Table>,
    /// Lists that stages reported, by where they can be seen.
    pub(super) lists: BTreeMap<(Scope, String), Arc<Vec<Item>>>,
    /// Questions without an answer.
    pub(super) questions: BTreeMap<QuestionId, Arc<Question>>,
    /// Questions ever asked.
    pub(super) n_questions: u32,
    /// Calls that were started and have no ending, also those that no longer matter.
    pub(super) calls: BTreeMap<CallId, Call>,
    /// Calls ever started.
    pub(super) n_calls: u32,
    /// How true endings of calls are known.
    pub(super) ending_keys: Arc<EndingKeys>,
    /// The sessions of agents that calls under way go on in.
    pub(super) sessions: BTreeMap<CallId, String>,
    /// The agents and accounts of calls under way, where limits decide on them.
    pub(super) assignments: BTreeMap<CallId, Assignment>,
    pub(super) ledger: Ledger,
    /// The cap of the whole run, which a person may have raised.
    pub(super) budget: Option<Money>,
    /// How often the same failure was seen since a person last looked.
    pub(super) failures: Arc<BTreeMap<FailureKey, u32>>,
    /// Marks of effects that must happen once, and whether they are done.
    pub(super) marks: BTreeMap<String, EffectMark>,
    /// The commit that is the run's result so far, once something has landed.
    pub(super) head: Option<String>,
    /// The branch that the result lands on.
    pub(super) branch: Option<String>,
    /// What Forge itself ran: code tree and command, and what came of it last.
    pub(super) evidence: Arc<BTreeMap<(String, String), KnownResult>>,
    /// Failures of checks that a person waived, each with the answer.
    pub(super) waived_failures: Arc<Vec<(QuestionId, Evidence)>>,
    /// Facts taken in: the order of arrival.
    pub(super) n_facts: u64,
    /// The log that summaries are made from.
    pub(super) history: Arc<History>,
}

/// The parts of a run that were frozen at the start.
#[derive(Clone, Debug)]
pub struct RunDefinition {
    /// The table.
    pub flow: Flow,
    /// Everything else.
    pub start: Start,
}

/// The life of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing happened yet.
    Fresh,
    /// Work may start.
    Going,
    /// Nothing new starts.
    Held(Hold),
    /// Nothing is left to do.
    Over(End),
}

/// The state of an effect that must happen once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectMark {
    /// It is about to.
    Intended,
    Done,
}

/// The identity of a failure: place, class and fingerprint.
type FailureKey = (String, FaultClass, String);

impl Default for Run {
    fn default() -> Self {
        Self::new()
    }
}

impl Run {
    /// Returns a run to which nothing has happened.
    pub fn new() -> Self {
        Self {
            definition: None,
            phase: Phase::Fresh,
            now: 0,
            started_at: 0,
            waited_ms: 0,
            held_ms: 0,
            root: Arc::new(Table::fresh(&[])),
            lists: BTreeMap::new(),
            questions: BTreeMap::new(),
            n_questions: 0,
            calls: BTreeMap::new(),
            n_calls: 0,
            ending_keys: Arc::default(),
            sessions: BTreeMap::new(),
            assignments: BTreeMap::new(),
            ledger: Ledger::default(),
            budget: None,
            failures: Arc::default(),
            marks: BTreeMap::new(),
            head: None,
            branch: None,
            evidence: Arc::default(),
            waived_failures: Arc::default(),
            n_facts: 0,
            history: Arc::default(),
        }
    }

    /// Applies the time and all facts of a record.
    pub fn apply_record(&mut self, record: &Record) {
        let now = self.now.max(record.at);
        if self.waits_for_person() {
            self.waited_ms += now - self.now;
            if self.phase != Phase::Going {
                self.held_ms += now - self.now;
            }
        }
        self.now = now;
        record.facts.iter().for_each(|fact| self.apply(fact));
    }

    /// Returns true if nothing is under way, and nothing starts before a person says something.
    fn waits_for_person(&self) -> bool {
        self.calls.is_empty()
            && match self.phase {
                Phase::Fresh => false,
                Phase::Going => !self.questions.is_empty(),
                Phase::Held(_) | Phase::Over(_) => true,
            }
    }

    /// Moves the time on without a fact, as far as the next record will say.
    pub(crate) fn at_time(mut self, time: Time) -> Self {
        self.now = self.now.max(time);
        self
    }

    /// Applies one fact.
    pub fn apply(&mut self, event: &Event) {
        self.n_facts += 1;
        let ended = event.call_ended().and_then(|call| self.calls.get(&call));
        History::record(&mut self.history, self.now, event, ended);
        match event {
            Event::RunStarted(start) => self.start(start),
            Event::RunHeld { hold } => self.phase = Phase::Held(hold.clone()),
            Event::RunResumed { .. } => {
                self.phase = Phase::Going;
                self.failures = Arc::default();
                // Who resumes wants it tried now.
                Arc::make_mut(&mut self.root).end_waits();
            }
            Event::BudgetRaised { budget, .. } => self.raise_budget(*budget),
            Event::SettingsChanged { change, .. } => self.change_settings(change),
            Event::RunEnded { end } => {
                self.phase = Phase::Over(*end);
                // Whoever takes it up again asks for its paths again.
                if self.definition().start.on_overlap == Some(OnOverlap::Defer) {
                    Arc::make_mut(&mut self.root).release_paths();
                }
            }
            Event::ItemsListed { scope, list, items } => {
                self.lists.insert((scope.clone(), list.clone()), Arc::new(items.clone()));
            }
            // What is left must be seen by a person before anything of this stage passes.
            Event::ItemsLeft { unit, .. } => {
                self.unit_mut(unit).1.reviews_clean = AllReviewsClean::No;
            }
            Event::NeedsAsked { unit, .. } => self.unit_mut(unit).1.needs = NeedsState::Asked,
            Event::NeedsMet { unit, .. } => self.unit_mut(unit).1.needs = NeedsState::Met,
            Event::UnitSkipped { unit } => self.unit_mut(unit).1.state = State::Skipped,
            Event::GateSkipped { unit, gate } => {
                let (stage, unit) = self.unit_mut(unit);
                unit.skipped.insert(gate.clone());
                unit.step_over_skipped(stage);
            }
            Event::AttemptStarted { attempt, call } => self.attempt_started(attempt, call.as_ref()),
            Event::AttemptEnded { attempt, outcome, receipt } => {
                self.attempt_ended(attempt, outcome, receipt.as_ref());
            }
            Event::JudgementStarted { judgement, call } => {
                let (_, unit) = self.unit_mut(&judgement.attempt.unit);
                if let State::Judging { look, .. } = &mut unit.state {
                    *look = LookState::UnderWay(judgement.number);
                    unit.looks = judgement.number;
                }
                unit.needs = NeedsState::Unasked;
                let session = unit.session.take();
                self.call_started(CallId::Judgement(judgement.clone()), call, session);
            }
            Event::CallAssigned { call, to } => self.assign(call, to),
            Event::WorkPassedOn { call, class, to } => {
                let gate = call.gate().map(str::to_owned);
                self.unit_mut(call.unit()).1.passed_on.insert(gate, (*class, to.clone()));
            }
            Event::PathsWanted { unit } => self.unit_mut(unit).1.paths = PathsState::Wanted,
            Event::PathsTaken { unit, what } => {
                self.unit_mut(unit).1.paths = PathsState::Taken { what: what.clone() };
            }
            Event::PathsClaimed { unit } => self.unit_mut(unit).1.paths = PathsState::Claimed,
            Event::Judged { judgement, ruling, receipt } => self.judged(judgement, ruling, receipt),
            Event::CallSettled { call, spent, .. } => {
                self.settle(call, &Receipt::from_spent(*spent));
            }
            Event::GatePassed { unit, gate, by, .. } => self.approve_gate(unit, gate, *by),
            Event::GateWaived { unit, gate, why } => self.waive_gate(unit, gate, *why),
            Event::QuestionAsked(question) => self.asked(question),
            Event::Answered { question, answer, words, .. } => {
                self.answered(*question, answer, words);
            }
            Event::UnitReopened { unit, by, findings, words } => {
                self.reopen(unit, by, findings, words);
            }
            Event::UnitAccepted { unit } => self.close(unit, State::Accepted),
            Event::UnitFailed { unit, kind, .. } => {
                self.close(unit, State::Failed { kind: *kind });
                self.unit_mut(unit).1.paths = PathsState::Unclaimed;
            }
            Event::Landed { unit, commit, head, branch, .. } => {
                if branch.is_some() {
                    self.branch.clone_from(branch);
                }
                self.unit_mut(unit).1.landed = Some(commit.clone());
                self.head = Some(head.as_ref().unwrap_or(commit).clone());
            }
            Event::Noticed { .. } => {}
            Event::RunRewound { branch, .. } => {
                self.branch.clone_from(branch);
                // Its clock is its own.
                (self.started_at, self.waited_ms, self.held_ms) = (self.now, 0, 0);
                // Sessions are those of the run that the facts come from.
                self.sessions.clear();
                let root = Arc::make_mut(&mut self.root);
                root.forget_sessions();
                // Its paths may be others' by now.
                root.release_paths();
            }
            Event::Edited { attempt, edit, .. } => self.edited(attempt, edit),
            Event::EndingKeyAdded { key } => self.add_ending_key(key),
            Event::EffectIntended { mark, .. } => {
                self.marks.entry(mark.clone()).or_insert(EffectMark::Intended);
            }
            Event::EffectDone { mark, .. } => {
                self.marks.insert(mark.clone(), EffectMark::Done);
            }
        }
    }

    fn waive_gate(&mut self, unit: &UnitId, gate: &str, why: Waiver) {
        let (_, waived) = self.unit_mut(unit);
        waived.reviews_clean = AllReviewsClean::No;
        if let Waiver::Person { question } = why {
            waived.waived.insert(gate.to_owned());
            let red = waived.red.clone();
            if self.verifies(unit, gate) && !red.is_empty() {
                let failures = red.into_iter().map(|evidence| (question, evidence));
                Arc::make_mut(&mut self.waived_failures).extend(failures);
            }
        }
        if let Waiver::Person { question } = why {
            self.accept_findings(unit, question);
        }
        self.pass_gate(unit, gate);
    }

    fn approve_gate(&mut self, unit: &UnitId, gate: &str, by: Approval) {
        if let Approval::Person { question } = by {
            self.accept_findings(unit, question);
        }
        self.pass_gate(unit, gate);
    }

    /// Counts what was found so far as accepted with the answer to a question.
    fn accept_findings(&mut self, unit: &UnitId, question: QuestionId) {
        let (_, unit) = self.unit_mut(unit);
        unit.accepted.push((question, unit.found.len()));
    }

    pub(super) fn start(&mut self, start: &Start) {
        let flow = Flow::read_frozen(&start.flow, &start.texts, &start.params)
            .expect("the flow in a journal was checked when its run started");
        self.phase = Phase::Going;
        self.started_at = self.now;
        self.root = Arc::new(Table::fresh(&flow.stages));
        self.budget = start.limits.budget;
        self.branch.clone_from(&start.branch);
        start.ending_key.iter().for_each(|key| self.add_ending_key(key));
        if let Some(coherence) = &start.coherence {
            self.ledger.add(coherence.spent, Money(0));
        }
        self.definition = Some(Arc::new(RunDefinition { flow, start: start.clone() }));
    }

    /// Takes the budget that a person gave, under which calls of unknown cost count as what they may have cost.
    fn raise_budget(&mut self, budget: Money) {
        self.budget = Some(budget);
        let definition = self.definition.as_mut().expect("a run that started has a definition");
        Arc::make_mut(definition).start.limits.unpriced_calls = None;
    }

    /// Puts other settings in the place of those that were frozen.
    fn change_settings(&mut self, change: &SettingsChange) {
        let definition = self.definition.as_mut().expect("a run that started has a definition");
        let start = &mut Arc::make_mut(definition).start;
        start.settings = Some(change.settings.clone());
        start.limits = Limits { budget: start.limits.budget, ..change.limits };
        if change.routing.is_some() {
            start.routing.clone_from(&change.routing);
        }
        if change.evidence == Before::Void {
            self.evidence = Arc::default();
        }
        if change.sessions == Before::Void {
            Arc::make_mut(&mut self.root).forget_sessions();
        }
    }

    pub(super) fn attempt_started(&mut self, attempt: &AttemptId, call: Option<&Call>) {
        let now = self.now;
        let members = match &self.stage(&attempt.unit).work {
            Work::Each { list, .. } => {
                Some(self.items(&attempt.unit, list).unwrap_or_default().to_vec())
            }
            Work::Flow { name, .. } => Some(vec![Item { id: name.clone(), ..Item::default() }]),
            Work::Agent { .. } | Work::Command { .. } | Work::Deliver { .. } | Work::Nothing => {
                None
            }
        };
        let (stage, unit) = self.unit_mut(&attempt.unit);
        unit.state = State::Working;
        unit.attempt = attempt.number;
        unit.since = now;
        unit.reviews_clean = unit.authorship.first_reviews_clean();
        unit.found.clear();
        unit.accepted.clear();
        unit.review_tallies.clear();
        unit.waived.clear();
        unit.red.clear();
        unit.looks = 0;
        unit.faults = 0;
        unit.needs = NeedsState::Unasked;
        unit.arrived = None;
        let session = unit.session.take();
        if let Some(items) = members {
            unit.inner.bind(stage.inner(), &items);
        }
        if let Some(call) = call {
            self.call_started(CallId::Attempt(attempt.clone()), call, session);
        }
    }

    pub(super) fn attempt_ended(
        &mut self,
        attempt: &AttemptId,
        outcome: &Outcome,
        receipt: Option<&Receipt>,
    ) {
        let call = CallId::Attempt(attempt.clone());
        let session = self.session_left(&call, receipt);
        if let Some(receipt) = receipt {
            self.settle(&call, receipt);
        }
        if let Outcome::Fault { class, what } = outcome {
            self.count_failure(&attempt.unit, *class, what);
        }
        let (now, arrived) = (self.now, self.n_facts);
        if let Some(receipt) = receipt {
            self.keep_code(&attempt.unit, receipt);
        }
        let is_used_up = receipt.is_some_and(|receipt| receipt.used_up.is_some());
        let (stage, unit) = self.unit_mut(&attempt.unit);
        unit.since = now;
        if let Some(receipt) = receipt {
            unit.replace_artifacts(&receipt.artifacts);
            unit.keep_files(outcome, receipt);
            unit.n_findings += u32::try_from(receipt.found.len()).unwrap_or(u32::MAX);
            unit.found.extend(receipt.found.iter().cloned());
            if !receipt.doubts().is_empty() {
                unit.reviews_clean = AllReviewsClean::No;
            }
        }
        match outcome {
            Outcome::Done => {
                unit.receipt = receipt.cloned().map(Arc::new);
                unit.misses = 0;
                unit.setbacks = 0;
                unit.fault = None;
                unit.left_to_do.clear();
                unit.come_to_gate(stage, 0, arrived);
            }
            Outcome::Fault { class, what } => {
                unit.state = State::Waiting;
                // Work that was stopped at a cap might have had a result.
                unit.misses += u32::from(*class != FaultClass::OutOfBudget);
                unit.setbacks = 0;
                unit.fault = Some(Fault { class: *class, what: what.clone() });
                unit.session = session.filter(|_| class.cuts_short());
            }
            Outcome::Partial { .. } => {
                unit.state = State::Waiting;
                unit.misses = 0;
                unit.setbacks = 0;
                unit.fault = None;
            }
            Outcome::Blocked { class, .. } => {
                unit.state = State::Waiting;
                unit.misses = 0;
                unit.setbacks = 0;
                unit.fault = None;
                // Whoever is let in again goes on.
                unit.session = session.filter(|_| *class == BlockerClass::NoAccess);
            }
            Outcome::Limited { until, what } => {
                unit.state = State::Waiting;
                unit.setbacks += u32::from(!is_used_up);
                unit.not_before = *until;
                unit.waits_for.clone_from(what);
                unit.session = session;
            }
            Outcome::Deferred { until, what } => {
                unit.state = State::Waiting;
                unit.not_before = *until;
                unit.waits_for.clone_from(what);
                unit.waited = unit.attempt;
                unit.session = session;
            }
            Outcome::Lost | Outcome::Interrupted => {
                unit.state = State::Waiting;
                unit.setbacks += 1;
                unit.session = session;
            }
        }
    }

    pub(super) fn judged(&mut self, judgement: &JudgementId, ruling: &Ruling, receipt: &Receipt) {
        let call = CallId::Judgement(judgement.clone());
        let session = self.session_left(&call, Some(receipt));
        self.settle(&call, receipt);
        let id = &judgement.attempt.unit;
        self.keep_code(id, receipt);
        if !receipt.evidence.is_empty() {
            self.unit_mut(id).1.red = receipt.red().cloned().collect();
        }
        self.ruled(id, &judgement.gate, ruling, receipt, session);
        self.unit_mut(id).1.artifacts.extend(receipt.artifacts.clone());
    }

    pub(super) fn ruled(
        &mut self,
        id: &UnitId,
        gate: &str,
        ruling: &Ruling,
        receipt: &Receipt,
        session: Option<String>,
    ) {
        let is_used_up = receipt.used_up.is_some();
        if let Ruling::Fault { class, what } = ruling {
            self.count_failure(id, *class, what);
        }
        let check = self.stage(id).gate(gate).map(|position| &self.stage(id).gates[position].check);
        let is_review = check.is_some_and(|check| matches!(check, Check::Review { .. }));
        if let Ruling::Verdict(Verdict::Revise { findings }) = ruling
            && let Some(what) = check.and_then(|check| command_failure(check, findings))
        {
            self.count_failure(id, FaultClass::CommandFailed, &what);
        }
        let now = self.now;
        let code = self.code(&id.scope).map(|code| code.commit.clone()).filter(|_| is_review);
        let (_, unit) = self.unit_mut(id);
        unit.since = now;
        let State::Judging { look, .. } = &mut unit.state else { return };
        *look = LookState::Pending;
        match ruling {
            Ruling::Verdict(verdict) => {
                unit.looked_at.extend(code.map(|commit| (gate.to_owned(), commit)));
                unit.setbacks = 0;
                unit.faults = 0;
                if verdict.findings().iter().any(Finding::is_serious) {
                    unit.reviews_clean = AllReviewsClean::No;
                }
                unit.n_findings += u32::try_from(verdict.findings().len()).unwrap_or(u32::MAX);
                unit.notes.extend(verdict.findings().iter().cloned());
                unit.found.extend(verdict.findings().iter().cloned());
                if is_review {
                    unit.review_tallies.retain(|opinion| opinion.gate != gate);
                    unit.review_tallies.push(ReviewTally::new(gate, verdict));
                }
                match verdict {
                    Verdict::Pass { .. } => self.pass_gate(id, gate),
                    // What follows from the others is a fact of its own.
                    Verdict::Revise { findings } => {
                        let serious = findings.iter().filter(|f| f.is_serious()).count();
                        unit.serious.insert(gate.to_owned(), serious);
                        unit.reviews_clean = AllReviewsClean::No;
                    }
                    Verdict::Block { .. } => unit.reviews_clean = AllReviewsClean::No,
                }
            }
            Ruling::Fault { class, .. } => {
                unit.faults += u32::from(*class != FaultClass::OutOfBudget);
                unit.setbacks = 0;
                unit.session = session.filter(|_| class.cuts_short());
            }
            Ruling::Unverified { .. } => {
                unit.setbacks = 0;
                unit.faults = 0;
                unit.reviews_clean = AllReviewsClean::No;
            }
            Ruling::Blocked { class, .. } => {
                unit.setbacks = 0;
                unit.faults = 0;
                unit.session = session.filter(|_| *class == BlockerClass::NoAccess);
            }
            Ruling::Limited { until, what } => {
                unit.setbacks += u32::from(!is_used_up);
                unit.not_before = *until;
                unit.waits_for.clone_from(what);
                unit.session = session;
            }
            Ruling::Lost | Ruling::Interrupted => {
                unit.setbacks += 1;
                unit.session = session;
            }
        }
    }

    fn asked(&mut self, question: &Question) {
        self.n_questions = question.id.0;
        let (_, unit) = self.unit_mut(&question.unit);
        unit.state = State::Asking { question: question.id };
        unit.needs = NeedsState::Unasked;
        self.questions.insert(question.id, Arc::new(question.clone()));
    }

    /// Applies an answer. Only a retry changes the unit; what follows from others is a fact of its own.
    pub(super) fn answered(&mut self, question: QuestionId, answer: &Answer, words: &str) {
        let Some(question) = self.questions.remove(&question) else { return };
        // A person who answers has looked: failures there are counted from zero.
        let place = question.unit.place();
        Arc::make_mut(&mut self.failures).retain(|(failed, _, _), _| *failed != place);
        if question.takes_work(answer) {
            let arrived = self.n_facts;
            let (stage, unit) = self.unit_mut(&question.unit);
            return unit.come_to_gate(stage, 0, arrived);
        }
        // What was allowed is tried as well.
        if !question.tries_again(answer) && question.allows(answer).is_empty() {
            return;
        }
        let arrived = self.n_facts;
        let (stage, unit) = self.unit_mut(&question.unit);
        unit.misses = 0;
        unit.setbacks = 0;
        unit.granted = unit.spent;
        // With words to deal with, it is other work than before.
        let session = unit.session.take().filter(|_| words.is_empty());
        match question.gate.as_deref().and_then(|gate| stage.gate(gate)) {
            Some(gate) => {
                let looks = unit.looks;
                unit.come_to_gate(stage, gate, arrived);
                unit.looks = looks;
            }
            None => unit.state = State::Waiting,
        }
        unit.session = session;
    }

    pub(super) fn pass_gate(&mut self, id: &UnitId, gate: &str) {
        let arrived = self.n_facts;
        let (stage, unit) = self.unit_mut(id);
        let position = stage.gate(gate).expect("a fact names a gate of its stage");
        unit.come_to_gate(stage, position + 1, arrived);
    }

    pub(super) fn close(&mut self, id: &UnitId, state: State) {
        let now = self.now;
        let (_, unit) = self.unit_mut(id);
        unit.state = state;
        unit.since = now;
    }

    /// Resets a unit and all that came after it, and keeps the items that are already good.
    pub(super) fn reopen(
        &mut self,
        reopened: &UnitId,
        by: &SentBack,
        findings: &[Finding],
        words: &str,
    ) {
        let definition = Arc::clone(self.definition_arc());
        let stages = definition.flow.table(&reopened.scope);
        let position = position(stages, &reopened.stage);
        let now = self.now;
        let table = self.table_mut(&reopened.scope);
        // Only in a run that was opened again nothing has come after the fault.
        let fault = table.units[position].fault.take().filter(|_| *by == SentBack::Resumed);
        for follower in followers(stages, position) {
            table.units[follower].reset(&stages[follower]);
        }
        // A person begins a new count, also at the gates after the one they sent back to.
        if matches!(by, SentBack::Person { .. } | SentBack::Resumed) {
            for follower in followers(stages, position) {
                table.units[follower].serious.clear();
            }
        }
        let unit = &mut table.units[position];
        unit.sent_back(by, &definition.flow);
        unit.fault = fault;
        unit.since = now;
        unit.findings = findings.to_vec();
        if *by == SentBack::Partial {
            words.clone_into(&mut unit.left_to_do);
        }
        self.wake_outer(&reopened.scope);
        if *by == SentBack::Resumed {
            self.queue_again(&reopened.scope);
        }
        self.forget_questions();
    }

    /// Questions about units that no longer wait for an answer are gone.
    pub(super) fn forget_questions(&mut self) {
        let (open, definition) =
            (&self.root, self.definition.as_ref().expect("a run that started has a definition"));
        let still_asked = |question: &Question| {
            let (_, unit) = locate(&definition.flow, open, &question.unit);
            unit.state == State::Asking { question: question.id }
        };
        self.questions.retain(|_, question| still_asked(question));
    }

    /// Reopens an `each` that failed because of its items when one of them works again.
    pub(super) fn wake_outer(&mut self, scope: &Scope) {
        let mut inner = scope.clone();
        while let Some((outer, group)) = inner.origin() {
            let (_, unit) = self.unit_mut(&outer.unit(&group));
            if matches!(unit.state, State::Failed { .. }) {
                // An attempt that came to its gates has ended: what was left inside is for the next one.
                unit.state = if unit.arrived.is_some() { State::Waiting } else { State::Working };
                unit.needs = NeedsState::Unasked;
            }
            inner = outer;
        }
    }

    /// Items that failed beside each other open again one by one: they may write the same paths.
    pub(super) fn queue_again(&mut self, scope: &Scope) {
        let mut scope = Some(scope.clone());
        while let Some(here) = scope.filter(|here| !here.is_root()) {
            let parent = here.parent();
            self.wait_for_its_turn(&here);
            scope = parent;
        }
    }

    /// Closes an item until the open items leave room for it.
    pub(super) fn wait_for_its_turn(&mut self, scope: &Scope) {
        let (outer, group) = scope.origin().expect("a scope that is not the root is an item's");
        let (_, each) = self.unit_without_opening(&outer.unit(&group));
        let table = each.inner.table_mut(scope.item().unwrap_or_default());
        table.expect("a fact names an item of its list").opened = TableOpened::NotYet;
    }

    pub(super) fn count_failure(&mut self, unit: &UnitId, class: FaultClass, what: &str) {
        let key = (unit.place(), class, fingerprint(what));
        *Arc::make_mut(&mut self.failures).entry(key).or_default() += 1;
    }

    /// Returns how often this failure was seen since a person last looked.
    pub(crate) fn n_failures(&self, unit: &UnitId, class: FaultClass, what: &str) -> u32 {
        let key = (unit.place(), class, fingerprint(what));
        self.failures.get(&key).copied().unwrap_or_default()
    }

    pub(super) fn table_mut(&mut self, scope: &Scope) -> &mut Table {
        let definition = Arc::clone(self.definition_arc());
        let mut stages: &[Stage] = &definition.flow.stages;
        let mut table = Arc::make_mut(&mut self.root);
        for (group, item) in scope.steps() {
            let position = position(stages, group);
            let inner = &mut table.units[position].inner;
            table = inner.table_mut(item).expect("a fact names an item of its list");
            table.opened = TableOpened::Yes;
            stages = stages[position].inner();
        }
        table
    }

    /// Returns a unit to which something happens, with its row. Its item is open from now on.
    pub(super) fn unit_mut(&mut self, id: &UnitId) -> (&Stage, &mut Unit) {
        self.locate_mut(id, |table| table.opened = TableOpened::Yes)
    }

    /// Returns a unit, to be changed, with its row. This does not open its item: the price of a call
    /// that was overtaken says nothing about where the item stands now.
    pub(super) fn unit_without_opening(&mut self, id: &UnitId) -> (&Stage, &mut Unit) {
        self.locate_mut(id, |_| ())
    }

    fn locate_mut(&mut self, id: &UnitId, on_the_way: impl Fn(&mut Table)) -> (&Stage, &mut Unit) {
        let definition = self.definition.as_ref().expect("a run that started has a definition");
        let mut stages: &[Stage] = &definition.flow.stages;
        let mut table = Arc::make_mut(&mut self.root);
        for (group, item) in id.scope.steps() {
            let position = position(stages, group);
            let inner = &mut table.units[position].inner;
            table = inner.table_mut(item).expect("a fact names an item of its list");
            on_the_way(table);
            stages = stages[position].inner();
        }
        let position = position(stages, &id.stage);
        (&stages[position], &mut table.units[position])
    }
}

/// Returns what a command printed, if it is a command that sent the work back.
pub(crate) fn command_failure(check: &Check, findings: &[Finding]) -> Option<String> {
    match (check, findings) {
        (Check::Review { .. }, _) => None,
        (_, [Finding { proof: Some(Proof::Command { output, .. }), .. }]) => Some(output.clone()),
        (_, [] | [_] | [_, _, ..]) => None,
    }
}
