//! What must be true of every run after every record, whatever happens. Used by the stories and
//! by chance.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Effect, Run,
    event::{End, Event, Record},
    flow::{Check, Work, firsts},
    id::{CallId, JudgementId, Scope, UnitId},
    item::overlap,
    money::{Cost, Money, Spent, Tokens},
    run::{Look, Phase, Standing, State},
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
    unknown_at_most: Money,
    n_unknown: u32,
    tokens: Tokens,
    landed: BTreeSet<UnitId>,
    settled: BTreeSet<CallId>,
    /// Whether a call has cost more than was held back for it, or a cap was set anew.
    excused: bool,
}

impl Watch {
    /// The record was just taken in.
    pub(crate) fn saw(&mut self, before: &Phase, record: &Record, run: &Run) {
        assert!(record.at >= self.last_at, "time went backwards");
        self.last_at = record.at;
        let mut phase = before.clone();
        for fact in &record.facts {
            self.fact(&mut phase, fact, run);
        }
        let ledger = run.ledger();
        assert_eq!(ledger.known, self.known, "the ledger is not the sum of the receipts");
        assert_eq!(ledger.unknown_at_most, self.unknown_at_most, "unknown costs are miscounted");
        assert_eq!(ledger.n_unknown, self.n_unknown);
        assert_eq!(ledger.tokens, self.tokens);
        if let (Some(budget), false) = (run.budget(), self.excused) {
            assert!(ledger.committed() <= budget, "more is committed than the budget allows");
        }
        for unit in self.landed.iter().filter(|unit| run.has(unit)) {
            let state = run.unit(unit).state;
            assert_eq!(state, State::Accepted, "{unit} has landed and was reset");
        }
        check(run);
    }

    fn fact(&mut self, phase: &mut Phase, fact: &Event, run: &Run) {
        if let Phase::Over(end) = phase {
            let may_be = match fact {
                Event::CallSettled { .. } | Event::EffectDone { .. } => true,
                Event::RunResumed { .. }
                | Event::BudgetRaised { .. }
                | Event::RunEnded { end: End::Abandoned } => {
                    matches!(end, End::Failed | End::Blocked)
                }
                _ => false,
            };
            assert!(may_be, "a run that is over goes on: {fact:?}");
        }
        match fact {
            Event::RunStarted(_) | Event::RunResumed { .. } => *phase = Phase::Going,
            Event::RunHeld { hold } => *phase = Phase::Held(hold.clone()),
            Event::RunEnded { end } => *phase = Phase::Over(*end),
            Event::BudgetRaised { .. } => self.excused = true,
            Event::AttemptStarted { attempt, call } => {
                assert_eq!(*phase, Phase::Going, "{attempt} started in a run that is held");
                let last = self.attempts.insert(attempt.unit.clone(), attempt.number);
                assert!(last.unwrap_or(0) < attempt.number, "{attempt} has a number of before");
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
            Event::Judged { judgement, receipt, .. } => {
                self.settled(&CallId::Judgement(judgement.clone()), &receipt.spent);
            }
            Event::CallSettled { call, spent } => self.settled(call, spent),
            Event::QuestionAsked(question) => {
                assert_eq!(
                    question.id.0,
                    self.last_question + 1,
                    "a question has a name of before"
                );
                assert!(!question.options.is_empty());
                self.last_question += 1;
            }
            Event::Landed { unit, .. } => {
                assert!(self.landed.insert(unit.clone()), "{unit} landed twice");
            }
            _ => {}
        }
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
        self.tokens += spent.tokens;
        match spent.cost {
            Cost::Known(cost) => {
                self.known += cost;
                self.excused |= reserved.is_none_or(|held| cost > held) && cost.0 > 0;
            }
            Cost::Unknown => {
                self.n_unknown += 1;
                self.unknown_at_most += reserved.unwrap_or_default();
            }
        }
    }
}

/// Nobody who came to land earlier, and could, still waits.
fn lands_in_order(judgement: &JudgementId, run: &Run) {
    let unit = &judgement.attempt.unit;
    let Some(position) = run.stage(unit).gate(&judgement.gate) else { return };
    if run.stage(unit).gates[position].check != Check::Land {
        return;
    }
    let State::Judging { look: Look::UnderWay(_), .. } = run.unit(unit).state else { return };
    let arrived = run.unit(unit).arrived;
    for (other, stage, standing) in run.units() {
        let State::Judging { gate, look: Look::Pending } = standing.state else { continue };
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
        && run.table(scope).1.standing() == Standing::Open
        && is_reached(run, &outer)
}

/// What must be true of a run, however it came to be.
pub(crate) fn check(run: &Run) {
    if !run.is_started() {
        return;
    }
    let at_once = run.law().start.limits.at_once as usize;
    assert!(run.calls().len() <= at_once, "more calls than allowed at once");
    let lands = |call: &&CallId| match call {
        CallId::Attempt(_) => false,
        CallId::Judgement(judgement) => {
            let flow = &run.law().flow;
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
            .filter(|item| unit.inner.standing(*item) == Standing::Open)
            .collect();
        assert!(open.len() <= *at_once, "{id} has too many items open");
        for (n, a) in open.iter().enumerate() {
            let (a, after) = unit.inner.member(*a);
            let mut firsts = after.iter().map(|first| unit.inner.standing(*first));
            assert!(firsts.all(|first| first == Standing::Closed), "{} began too early", a.id);
            for b in &open[n + 1..] {
                let b = unit.inner.member(*b).0;
                assert!(!overlap(a, b), "{} and {} write the same place", a.id, b.id);
            }
        }
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
                    assert_eq!(root.standing(), Standing::Closed, "done, but not all of it");
                }
                End::Failed | End::Blocked => assert!(has_failed(), "failed, but nothing failed"),
                End::Abandoned => {}
            }
        }
        Phase::Fresh | Phase::Held(_) => {}
    }
}
