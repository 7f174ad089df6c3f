//! What must be true of every run after every record, whatever happens. Used by the stories and
//! by chance.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Effect, Run, Time,
    event::{Answer, Approval, Before, End, Event, Outcome, Receipt, Record, Ruling, Waiver},
    failure::FaultClass,
    flow::{Auto, BuiltIn, Check, Gate, GateWeight, Work, firsts},
    id::{CallId, JudgementId, QuestionId, Scope, UnitId},
    item::overlap,
    money::{Cost, Money, Spent, Tokens},
    path_claims::claims,
    routing::Wish,
    run::{LookState, Phase, State, TableStatus},
    verdict::{BlockerClass, Verdict},
    view::{Axis, PhasesView, phase_events, phase_total, spendings, stats, summary},
    wanted,
};

/// Looks at every record of a run as it is taken in, and remembers what the run itself need not.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    last_at: u64,
    last_ordinal: u32,
    last_question: u32,
    attempts: BTreeMap<UnitId, u32>,
    judgements: BTreeSet<JudgementId>,
    reserved: BTreeMap<CallId, Money>,
    known: Money,
    estimated: Money,
    unknown_at_most: Money,
    n_unknown: u32,
    /// The cap of the whole run, and that of one call.
    budget: Option<Money>,
    call_budget: Option<Money>,
    unpriced_calls: Option<u32>,
    tokens: Tokens,
    landed: BTreeSet<UnitId>,
    settled: BTreeSet<CallId>,
    /// The session that the latest call of a unit left, if it was set back.
    left: BTreeMap<UnitId, String>,
    /// Those of them that the next call cannot do without: nothing else has happened since.
    must_go_on: BTreeMap<UnitId, String>,
    /// What the latest call of a unit, or of a gate of it, wished.
    wishes: BTreeMap<(UnitId, Option<String>), Option<Wish>>,
    /// The sessions that calls under way go on in.
    sessions: BTreeMap<CallId, Option<String>>,
    /// All facts so far, with their times.
    facts: Vec<(Time, Event)>,
    /// Gates that said no to the latest attempt at a unit, and were not passed since.
    said_no: BTreeSet<(UnitId, String)>,
    /// Gates that could not prove the latest attempt at a unit.
    unproved: BTreeSet<(UnitId, String)>,
    answers: BTreeMap<QuestionId, Answer>,
    head: Option<String>,
    /// Whether a call has cost more than was held back for it, or a cap was set anew.
    excused: bool,
}

impl Watch {
    /// The record was just taken in.
    pub(crate) fn saw(&mut self, before: &Phase, record: &Record, run: &Run) {
        assert!(record.at >= self.last_at, "time went backwards");
        self.last_at = record.at;
        let mut phase = before.clone();
        // The run is looked at after the whole record: a call that began right before a rewind has no session any
        // more, because that was the other run's.
        let is_rewound = record.facts.iter().any(|fact| matches!(fact, Event::RunRewound { .. }));
        for fact in &record.facts {
            if is_rewound {
                self.must_go_on.clear();
            }
            self.session(fact, run);
            self.fact(&mut phase, fact, run);
        }
        let ledger = run.ledger();
        assert_eq!(ledger.known, self.known, "the ledger is not the sum of the receipts");
        assert_eq!(ledger.estimated, self.estimated, "estimated costs are miscounted");
        assert_eq!(ledger.unknown_at_most, self.unknown_at_most, "unknown costs are miscounted");
        assert_eq!(ledger.n_unknown, self.n_unknown);
        assert_eq!(ledger.tokens, self.tokens);
        for (call, session) in &self.sessions {
            assert_eq!(run.session(call), session.as_deref(), "{call} is in another session");
        }
        self.facts.extend(record.facts.iter().map(|fact| (record.at, fact.clone())));
        if record.facts.iter().any(|fact| matches!(fact, Event::RunEnded { .. })) {
            self.adds_up(run);
            is_reported(run);
        }
        if let (Some(budget), false) = (run.budget(), self.excused) {
            assert!(ledger.committed() <= budget, "more is committed than the budget allows");
        }
        for unit in self.landed.iter().filter(|unit| run.has(unit)) {
            let state = run.unit(unit).state;
            assert_eq!(state, State::Accepted, "{unit} has landed and was reset");
        }
        if run.is_started() {
            let head = self.head.as_ref().or(run.definition().start.base.as_ref());
            assert_eq!(run.head(), head.map(String::as_str), "only landing moves the result");
        }
        check(run);
    }

    /// The statistics of a run tell what its ledger does.
    fn adds_up(&self, run: &Run) {
        let spendings = spendings("r", self.facts.iter().map(|(at, fact)| (*at, fact)));
        let ledger = run.ledger();
        for by in [Axis::Run, Axis::Stage, Axis::Role, Axis::Model, Axis::Agent, Axis::Day] {
            let view = stats(&spendings, by);
            let total = &view.total;
            assert_eq!((total.known, total.estimated), (ledger.known, ledger.estimated));
            assert_eq!((total.unknown_calls, total.tokens), (ledger.n_unknown, ledger.tokens));
            let calls: u32 = view.rows.iter().map(|row| row.calls).sum();
            assert_eq!(calls, total.calls, "a call counts for two rows");
        }
        let events = phase_events("r", self.facts.iter().map(|(at, fact)| (*at, fact)));
        let total = phase_total(&events);
        let cost = total.cost;
        assert_eq!((cost.known, cost.estimated), (ledger.known, ledger.estimated));
        assert_eq!((cost.unknown_calls, total.tokens), (ledger.n_unknown, ledger.tokens.total()));
    }

    fn fact(&mut self, phase: &mut Phase, fact: &Event, run: &Run) {
        if let Phase::Over(end) = phase {
            let may_be = match fact {
                Event::CallSettled { .. } | Event::EffectDone { .. } | Event::Noticed { .. } => {
                    true
                }
                Event::RunResumed { .. }
                | Event::BudgetRaised { .. }
                | Event::SettingsChanged { .. }
                | Event::RunEnded { end: End::Abandoned } => {
                    matches!(end, End::Failed | End::Blocked)
                }
                _ => false,
            };
            assert!(may_be, "a run that is over goes on: {fact:?}");
        }
        match fact {
            Event::RunStarted(start) => {
                *phase = Phase::Going;
                (self.budget, self.call_budget) = (start.limits.budget, start.limits.call_budget);
                self.unpriced_calls = start.limits.unpriced_calls;
                // It was over before anything could be held back for it.
                if let Some(coherence) = &start.coherence {
                    self.pays(&coherence.spent, None);
                }
            }
            Event::RunResumed { .. } => *phase = Phase::Going,
            Event::RunHeld { hold } => *phase = Phase::Held(hold.clone()),
            Event::RunEnded { end } => *phase = Phase::Over(*end),
            Event::BudgetRaised { budget, .. } => {
                self.budget = Some(*budget);
                self.unpriced_calls = None;
                self.excused = true;
            }
            Event::SettingsChanged { change, .. } => {
                self.call_budget = change.limits.call_budget;
                self.unpriced_calls = change.limits.unpriced_calls;
                self.excused = true;
            }
            Event::AttemptStarted { attempt, call } => {
                assert_eq!(*phase, Phase::Going, "{attempt} started in a run that is held");
                let last = self.attempts.insert(attempt.unit.clone(), attempt.number);
                assert!(last.unwrap_or(0) < attempt.number, "{attempt} has a number of before");
                self.begins_anew(&attempt.unit);
                if let Some(call) = call {
                    self.started(CallId::Attempt(attempt.clone()), call.ordinal, call.reserved);
                }
            }
            Event::JudgementStarted { judgement, call } => {
                assert_eq!(*phase, Phase::Going, "{judgement} started in a run that is held");
                let is_new = self.judgements.insert(judgement.clone());
                assert!(is_new, "{judgement} has a name of before");
                self.started(CallId::Judgement(judgement.clone()), call.ordinal, call.reserved);
                lands_in_order(judgement, run);
            }
            Event::AttemptEnded { attempt, receipt: Some(receipt), .. } => {
                self.settled(&CallId::Attempt(attempt.clone()), &receipt.spent);
            }
            Event::Judged { judgement, receipt, ruling } => {
                self.settled(&CallId::Judgement(judgement.clone()), &receipt.spent);
                self.ruled(judgement, ruling);
            }
            Event::Edited { attempt, .. } => {
                assert!(!self.landed.contains(&attempt.unit), "{attempt} changes what has landed");
                let last = self.attempts.insert(attempt.unit.clone(), attempt.number);
                assert!(last.unwrap_or(0) < attempt.number, "{attempt} has a number of before");
                self.begins_anew(&attempt.unit);
            }
            Event::Answered { question, answer, .. } => {
                self.answers.insert(*question, answer.clone());
            }
            Event::GatePassed { unit, gate, by, .. } => {
                may_pass(run, unit, gate, *by);
                self.said_no.remove(&(unit.clone(), gate.clone()));
                assert!(!self.unproved.contains(&(unit.clone(), gate.clone())), "{unit}: {gate}");
            }
            Event::GateWaived { unit, gate, why } => self.waived(run, unit, gate, *why),
            Event::UnitAccepted { unit } => {
                let open = self.said_no.iter().find(|(of, _)| of == unit);
                assert_eq!(open, None, "{unit} is good although a gate said no");
            }
            Event::CallSettled { call, spent, .. } => self.settled(call, spent),
            Event::QuestionAsked(question) => {
                assert_eq!(
                    question.id.0,
                    self.last_question + 1,
                    "a question has a name of before"
                );
                assert!(!question.options.is_empty());
                self.last_question += 1;
            }
            Event::Landed { unit, commit, head, .. } => {
                assert!(self.landed.insert(unit.clone()), "{unit} landed twice");
                self.head = Some(head.as_ref().unwrap_or(commit).clone());
            }
            _ => {}
        }
    }

    /// A call that was set back goes on in its session, and no other does.
    fn session(&mut self, fact: &Event, run: &Run) {
        match fact {
            Event::AttemptStarted { attempt, call: Some(_) } => {
                self.goes_on(&CallId::Attempt(attempt.clone()), run);
            }
            Event::JudgementStarted { judgement, .. } => {
                self.goes_on(&CallId::Judgement(judgement.clone()), run);
            }
            Event::AttemptEnded { attempt, receipt: Some(receipt), outcome } => match outcome {
                Outcome::Limited { .. }
                | Outcome::Deferred { .. }
                | Outcome::Lost
                | Outcome::Interrupted
                | Outcome::Blocked { class: BlockerClass::NoAccess, .. }
                | Outcome::Fault {
                    class: FaultClass::Killed | FaultClass::TimedOut | FaultClass::OutOfBudget,
                    ..
                } => {
                    self.leaves(&CallId::Attempt(attempt.clone()), receipt);
                }
                _ => self.leaves_nothing(&attempt.unit),
            },
            Event::Judged { judgement, receipt, ruling } => match ruling {
                Ruling::Limited { .. }
                | Ruling::Lost
                | Ruling::Interrupted
                | Ruling::Blocked { class: BlockerClass::NoAccess, .. }
                | Ruling::Fault {
                    class: FaultClass::Killed | FaultClass::TimedOut | FaultClass::OutOfBudget,
                    ..
                } => {
                    self.leaves(&CallId::Judgement(judgement.clone()), receipt);
                }
                _ => self.leaves_nothing(&judgement.attempt.unit),
            },
            Event::UnitReopened { unit, .. } => {
                self.left.remove(unit);
                self.must_go_on.clear();
            }
            // The next call is another gate's.
            Event::GateWaived { unit, .. } => self.leaves_nothing(unit),
            Event::Edited { attempt, .. } => {
                self.left.remove(&attempt.unit);
                self.must_go_on.clear();
            }
            Event::ItemsListed { .. } | Event::Answered { .. } => self.must_go_on.clear(),
            Event::SettingsChanged { change, .. } if change.sessions == Before::Void => {
                self.left.clear();
                self.must_go_on.clear();
            }
            Event::CallAssigned { call, to } => {
                let own = self.sessions.get_mut(call).expect("a call under way is assigned");
                let mut receipts = self.facts.iter().rev().filter_map(|(_, fact)| fact.receipt());
                let left =
                    receipts.find(|receipt| receipt.session.is_some() && receipt.session == *own);
                let owner = left.and_then(|left| left.used.as_ref());
                let owner = owner.map(|used| (used.agent.as_str(), used.account.as_deref()));
                if owner != Some((to.agent.as_str(), to.account.as_deref())) {
                    *own = None;
                }
            }
            Event::RunRewound { .. } => {
                self.left.clear();
                self.must_go_on.clear();
                self.sessions.values_mut().for_each(|session| *session = None);
            }
            _ => {}
        }
    }

    /// A call begins. It goes on where the call before it was set back, and nowhere else.
    fn goes_on(&mut self, call: &CallId, run: &Run) {
        self.wishes(call, run);
        let session = run.session(call);
        let left = self.left.remove(call.unit());
        if session.is_some() {
            assert_eq!(session, left.as_deref(), "{call} goes on in a session of before");
        }
        if let Some(must) = self.must_go_on.remove(call.unit()) {
            assert_eq!(session, Some(must.as_str()), "{call} does not go on in its session");
        }
        self.sessions.insert(call.clone(), session.map(str::to_owned));
    }

    /// In a run with routing, every call of an agent wishes something, and no other call does. What goes on in a session goes on
    /// with the agent that has it.
    fn wishes(&mut self, call: &CallId, run: &Run) {
        let kind = run.find_call_kind(call);
        let wish = run.wish(call);
        let is_routed = run.definition().start.routing.is_some();
        let is_agent = kind.is_some_and(|kind| kind.role().is_some());
        assert_eq!(wish.is_some(), is_routed && is_agent, "{call} wishes {wish:?}");
        let place = (call.unit().clone(), call.gate().map(str::to_owned));
        let before = self.wishes.insert(place, wish);
        if run.session(call).is_some() {
            assert_eq!(Some(wish), before, "{call} goes on in a session, but not as before");
        }
    }

    fn leaves(&mut self, call: &CallId, receipt: &Receipt) {
        let unit = call.unit().clone();
        self.leaves_nothing(&unit);
        let went_on = self.sessions.get(call).cloned().flatten();
        if let Some(session) = receipt.session.clone().or(went_on) {
            self.left.insert(unit.clone(), session.clone());
            self.must_go_on.insert(unit, session);
        }
    }

    fn leaves_nothing(&mut self, unit: &UnitId) {
        self.left.remove(unit);
        self.must_go_on.remove(unit);
    }

    fn begins_anew(&mut self, unit: &UnitId) {
        self.said_no.retain(|(of, _)| of != unit);
        self.unproved.retain(|(of, _)| of != unit);
    }

    fn ruled(&mut self, judgement: &JudgementId, ruling: &Ruling) {
        let place = (judgement.attempt.unit.clone(), judgement.gate.clone());
        // Whoever allowed checks has it looked at again: what comes of that is what counts.
        self.unproved.remove(&place);
        match ruling {
            Ruling::Verdict(Verdict::Pass { .. }) => {
                self.said_no.remove(&place);
            }
            Ruling::Verdict(Verdict::Revise { .. } | Verdict::Block { .. }) => {
                self.said_no.insert(place);
            }
            Ruling::Unverified { .. } => {
                self.said_no.insert(place.clone());
                self.unproved.insert(place);
            }
            Ruling::Fault { .. }
            | Ruling::Blocked { .. }
            | Ruling::Limited { .. }
            | Ruling::Lost
            | Ruling::Interrupted => {}
        }
    }

    /// What proves something, and what could not be proved, is waived by its name only.
    fn waived(&mut self, run: &Run, unit: &UnitId, gate: &str, why: Waiver) {
        let place = (unit.clone(), gate.to_owned());
        let gate = gate_of(run, unit, gate);
        let is_unproved = self.unproved.remove(&place);
        if gate.is_proof() || is_unproved {
            match why {
                Waiver::Person { question } => {
                    let waived = Answer::Waive { gate: gate.name.clone() };
                    let said = self.answers.get(&question);
                    // Where there is nothing to merge, nothing is left unproved: a plain yes is enough.
                    let is_yes = gate.check == Check::Land && said == Some(&Answer::Approve);
                    assert!(is_yes || said == Some(&waived), "{unit}: {}: {said:?}", gate.name);
                }
                Waiver::Advisory => assert_eq!(gate.weight, GateWeight::Advisory, "{unit}"),
                Waiver::RoundsUsedUp | Waiver::NotShrinking | Waiver::NothingToRedo => {
                    panic!("{unit}: `{}` was waived by nobody", gate.name)
                }
            }
        }
        self.said_no.remove(&place);
    }

    fn started(&mut self, call: CallId, ordinal: u32, reserved: Option<Money>) {
        assert_eq!(ordinal, self.last_ordinal + 1, "{call} has the folder of another call");
        self.last_ordinal = ordinal;
        if let Some(reserved) = reserved {
            self.reserved.insert(call, reserved);
        }
    }

    fn settled(&mut self, call: &CallId, spent: &Spent) {
        assert!(self.settled.insert(call.clone()), "{call} was settled twice");
        let reserved = self.reserved.remove(call);
        self.sessions.remove(call);
        self.pays(spent, reserved);
    }

    fn pays(&mut self, spent: &Spent, reserved: Option<Money>) {
        self.tokens += spent.tokens;
        match spent.cost {
            Cost::Known(cost) => {
                self.known += cost;
                self.excused |= reserved.is_none_or(|held| cost > held) && cost.0 > 0;
            }
            Cost::Estimated(cost) => {
                self.estimated += cost;
                self.excused |= reserved.is_none_or(|held| cost > held) && cost.0 > 0;
            }
            Cost::Unknown => {
                self.n_unknown += 1;
                let held = reserved.unwrap_or_default();
                let part = self.budget.map(|budget| Money(budget.0 / 10));
                let most = match self.unpriced_calls {
                    Some(_) => Money(0),
                    None => self.call_budget.or(part).unwrap_or(held),
                };
                self.unknown_at_most += spent.at_least;
                self.unknown_at_most += most.min(held.minus(spent.at_least));
                self.excused |= spent.at_least > held;
            }
        }
    }
}

/// Checks that the summary of a run agrees with its facts.
fn is_reported(run: &Run) {
    let summary = summary::summarize("r", run, run.now());
    let (total, ledger) = (&summary.total, run.ledger());
    assert_eq!((total.known, total.estimated), (ledger.known, ledger.estimated));
    assert_eq!((total.unknown_calls, total.tokens), (ledger.n_unknown, ledger.tokens));
    assert!(!summary::markdown(&summary).is_empty());
    let phases = PhasesView::new("20261115-r-abcd", run);
    let both = phases.completed_phases.iter().find(|phase| phases.skipped_phases.contains(phase));
    assert_eq!(both, None, "a phase is both completed and skipped");
    let is_done = *run.phase() == Phase::Over(End::Done);
    assert_eq!(phases.current_phase.as_deref() == Some("completed"), is_done);
}

fn gate_of<'a>(run: &'a Run, unit: &UnitId, name: &str) -> &'a Gate {
    let stages = run.definition().flow.table(&unit.scope);
    let stage = stages.iter().find(|stage| stage.name == unit.stage).unwrap();
    &stage.gates[stage.gate(name).unwrap()]
}

/// Only a checkpoint and guarded files are passed by approval, and only the former by itself.
fn may_pass(run: &Run, unit: &UnitId, gate: &str, by: Approval) {
    let check = &gate_of(run, unit, gate).check;
    let may = match (check, by) {
        (Check::Human { .. }, Approval::Person { .. })
        | (Check::BuiltIn { check: BuiltIn::Guarded }, Approval::Person { .. }) => true,
        (Check::Human { auto, .. }, Approval::Automatic) => *auto == Auto::Allowed,
        (_, _) => false,
    };
    assert!(may, "{unit}: `{gate}` was passed by approval: {by:?}");
}

/// Takes a whole journal in, and looks at it. Where a run was rewound, the record before may be
/// the beginning of a decision only, and is looked at together with what follows.
pub(crate) fn watched(records: &[Record]) -> (Run, Watch) {
    let (mut run, mut watch) = (Run::new(), Watch::default());
    let mut facts = Vec::new();
    let mut before = run.phase().clone();
    for (n, record) in records.iter().enumerate() {
        run.apply_record(record);
        facts.extend(record.facts.iter().cloned());
        let next = records.get(n + 1).and_then(|next| next.facts.first());
        if !matches!(next, Some(Event::RunRewound { .. })) {
            let whole = Record { at: record.at, facts: std::mem::take(&mut facts) };
            watch.saw(&before, &whole, &run);
            before = run.phase().clone();
        }
    }
    (run, watch)
}

/// Nobody who came to land earlier, and could, still waits.
fn lands_in_order(judgement: &JudgementId, run: &Run) {
    let unit = &judgement.attempt.unit;
    let Some(position) = run.stage(unit).gate(&judgement.gate) else { return };
    if run.stage(unit).gates[position].check != Check::Land {
        return;
    }
    let State::Judging { look: LookState::UnderWay(_), .. } = run.unit(unit).state else { return };
    let arrived = run.unit(unit).arrived;
    for (other, stage, standing) in run.units() {
        let State::Judging { gate, look: LookState::Pending } = standing.state else { continue };
        let waits = stage.gates.get(gate).is_some_and(|gate| gate.check == Check::Land);
        let may = standing.not_before <= run.now() && is_reached(run, &other.scope);
        assert!(
            !(waits && may) || arrived < standing.arrived,
            "{unit} lands before {other}, which came first"
        );
    }
}

/// Whether the walk over the tables comes to this scope.
fn is_reached(run: &Run, scope: &Scope) -> bool {
    let Some((outer, group)) = scope.origin() else { return true };
    run.unit(&outer.unit(&group)).state == State::Working
        && run.table(scope).1.standing() == TableStatus::Open
        && is_reached(run, &outer)
}

/// What must be true of a run, however it came to be.
fn check_need(run: &Run, unit: &UnitId, gate: Option<&str>) {
    let state = run.unit(unit).state;
    let waits = match gate {
        None => state == State::Waiting,
        Some(_) => matches!(state, State::Judging { look: LookState::Pending, .. }),
    };
    assert!(waits, "{unit} has begun what it needs something for");
}

pub(crate) fn check(run: &Run) {
    if !run.is_started() {
        return;
    }
    let at_once = run.definition().start.limits.at_once as usize;
    assert!(run.calls().len() <= at_once, "more calls than allowed at once");
    let lands = |call: &&CallId| match call {
        CallId::Attempt(_) => false,
        CallId::Judgement(judgement) => {
            let flow = &run.definition().flow;
            let stages = flow.table(&judgement.attempt.unit.scope);
            let stage = stages.iter().find(|s| s.name == judgement.attempt.unit.stage).unwrap();
            stage.gates[stage.gate(&judgement.gate).unwrap()].check == Check::Land
        }
    };
    assert!(run.calls().keys().filter(lands).count() <= 1, "two land at the same time");
    for (id, stage, unit) in run.units() {
        if let State::Judging { gate, .. } = unit.state {
            assert!(gate < stage.gates.len(), "{id} is past its last gate");
        }
        if !matches!(unit.state, State::Waiting | State::Skipped) {
            let (stages, table) = run.table(&id.scope);
            let own = stages.iter().position(|stage| stage.name == id.stage).unwrap();
            for first in firsts(stages, own) {
                let is_closed = table.units[first].state.is_closed();
                assert!(is_closed, "{id} began before {} was over", stages[first].name);
            }
        }
        let (Work::Each { at_once, .. }, State::Working) = (&stage.work, unit.state) else {
            continue;
        };
        let open: Vec<usize> = (0..unit.inner.len())
            .filter(|item| unit.inner.standing(*item) == TableStatus::Open)
            .collect();
        let working = run.calls().keys().filter_map(|call| id.item_around(&call.unit().scope));
        let working: BTreeSet<&str> = working.collect();
        assert!(working.len() <= *at_once, "{id} has too many items at work");
        for (n, a) in open.iter().enumerate() {
            let (a, after) = unit.inner.member(*a);
            let mut firsts = after.iter().map(|first| unit.inner.standing(*first));
            assert!(firsts.all(|first| first == TableStatus::Closed), "{} began too early", a.id);
            for b in &open[n + 1..] {
                let b = unit.inner.member(*b).0;
                assert!(!overlap(a, b), "{} and {} write the same place", a.id, b.id);
            }
        }
    }
    for claim in claims(run) {
        let writes = run.item(&claim.scope).map(|item| item.writes.clone());
        assert_eq!(writes.unwrap_or_default(), claim.writes, "{} claims other paths", claim.scope);
    }
    let effects = wanted(run);
    let unique: BTreeSet<&Effect> = effects.iter().collect();
    assert_eq!(unique.len(), effects.len(), "something is wanted twice");
    for effect in &effects {
        match effect {
            Effect::Work { attempt, ordinal } => {
                let call = &run.calls()[&CallId::Attempt(attempt.clone())];
                assert_eq!(call.ordinal, *ordinal);
            }
            Effect::Judge { judgement, ordinal } => {
                let call = &run.calls()[&CallId::Judgement(judgement.clone())];
                assert_eq!(call.ordinal, *ordinal);
            }
            Effect::Ask { question } => {
                let question = run.question(*question).expect("an asked question is open");
                let state = run.unit(&question.unit).state;
                assert_eq!(state, State::Asking { question: question.id });
            }
            Effect::Claim { unit } => {
                assert_eq!(run.unit(unit).state, State::Waiting, "it has its paths, or needs none");
            }
            Effect::Need { unit, gate } => check_need(run, unit, gate.as_deref()),
            Effect::Wake { at } => assert!(*at > run.now(), "a wake for a time that is over"),
        }
    }
    for question in run.questions() {
        let state = run.unit(&question.unit).state;
        assert_eq!(state, State::Asking { question: question.id }, "a question nobody asks");
    }
    let has_failed =
        || run.units().iter().any(|(_, _, unit)| matches!(unit.state, State::Failed { .. }));
    match run.phase() {
        Phase::Going => {
            let is_stuck = effects.is_empty() && run.calls().is_empty();
            assert!(!is_stuck, "the run goes on, and nothing does");
        }
        Phase::Over(end) => {
            assert_eq!(effects, [], "a run that is over wants something");
            match end {
                End::Done => {
                    let (_, root) = run.table(&Scope::root());
                    assert_eq!(root.standing(), TableStatus::Closed, "done, but not all of it");
                }
                End::Failed | End::Blocked => assert!(has_failed(), "failed, but nothing failed"),
                End::Abandoned => {}
            }
        }
        Phase::Fresh | Phase::Held(_) => {}
    }
}
