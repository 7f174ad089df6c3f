//! What a call may cost: reserved when it starts, settled when it ends.
//!
//! A call without a cap of its own gets an equal share of what is free among the calls that
//! could run beside it, so that parallel work neither starves nor overspends.

use super::draft::Draft;
use crate::{
    event::{Event, Hold, QuestionReason},
    flow::{Check, Stage, Work},
    id::UnitId,
    money::Money,
    run::TableStatus,
};

/// With less than this, no agent can do anything useful: one cent.
pub(super) const RESERVE_MIN: Money = Money(10_000);

/// The amount to hold back for a call.
pub(super) enum Reserve {
    /// It costs nothing, or nothing limits it.
    Free,
    /// This much.
    Amount(Money),
    /// Nothing now, but calls under way may leave something.
    Later,
    /// The run has nothing left.
    RunIsBroke,
    /// The stage has nothing left.
    StageIsBroke,
}

impl Draft {
    /// Returns what may be held back for the work of a unit, or for one of its gates.
    pub(super) fn reserve(&self, unit: &UnitId, gate: Option<&Check>) -> Reserve {
        let stage = self.run.stage(unit);
        if !is_agent(stage, gate) {
            return Reserve::Free;
        }
        let limits = self.run.definition().start.limits;
        let run_free = self.run.budget().map(|cap| cap.minus(self.run.ledger().committed()));
        let stage_free = stage.budget.map(|cap| {
            let mut used = self.run.unit(unit).spent.minus(self.run.unit(unit).granted);
            let own = self.run.calls().iter().filter(|(call, _)| call.unit() == unit);
            own.filter_map(|(_, call)| call.reserved).for_each(|held| used += held);
            cap.minus(used)
        });
        let working = self.run.calls().values().filter(|call| call.reserved.is_some()).count();
        if self.unpriced_left().is_some_and(|left| left as usize <= working) {
            return if working > 0 { Reserve::Later } else { Reserve::RunIsBroke };
        }
        let share = run_free.map(|free| Money(free.0 / self.sharers(unit)));
        let caps = [limits.call_budget, stage_free, share];
        let Some(amount) = caps.into_iter().flatten().min() else { return Reserve::Free };
        let least = self.least();
        if amount >= least {
            return Reserve::Amount(amount);
        }
        let others_hold = self.run.calls().values().any(|call| call.reserved.is_some());
        if others_hold {
            Reserve::Later
        } else if self.is_broke() {
            Reserve::RunIsBroke
        } else if stage_free.is_some_and(|free| free < least) {
            Reserve::StageIsBroke
        } else {
            // A share is too small, but all of it is enough: one at a time.
            let caps = [limits.call_budget, stage_free, run_free];
            Reserve::Amount(caps.into_iter().flatten().min().unwrap_or(amount))
        }
    }

    /// Returns how many calls share what is free: those that could run beside this one, and itself.
    fn sharers(&self, unit: &UnitId) -> u64 {
        let Some((outer, group)) = unit.scope.origin() else { return 1 };
        let (stages, table) = self.run.table(&outer);
        let found = stages.iter().zip(&table.units).find(|(stage, _)| stage.name == group);
        let (stage, each) = found.expect("a scope names a stage of its flow");
        let at_once = match &stage.work {
            Work::Each { at_once, .. } => *at_once,
            Work::Agent { .. }
            | Work::Command { .. }
            | Work::Flow { .. }
            | Work::Deliver { .. }
            | Work::Nothing => 1,
        };
        let unfinished =
            each.inner.standings().filter(|standing| *standing != TableStatus::Closed).count();
        let working = self.run.calls().values().filter(|call| call.reserved.is_some()).count();
        (at_once.min(unfinished).saturating_sub(working)).max(1) as u64
    }

    /// Returns true if the run cannot pay one more call.
    pub(super) fn is_broke(&self) -> bool {
        let free = self.run.budget().map(|cap| cap.minus(self.run.ledger().committed()));
        free.is_some_and(|free| free < self.least()) || self.unpriced_left() == Some(0)
    }

    /// Returns how many calls of unknown cost the run may still make, if they are counted.
    pub(super) fn unpriced_left(&self) -> Option<u32> {
        let calls_max = self.run.definition().start.limits.unpriced_calls?;
        Some(calls_max.saturating_sub(self.run.ledger().n_unknown))
    }

    /// Returns the least that a call is started with.
    fn least(&self) -> Money {
        let call_budget = self.run.definition().start.limits.call_budget;
        call_budget.map_or(RESERVE_MIN, |cap| cap.min(RESERVE_MIN))
    }

    /// Handles a call that was stopped at its cap. It would spend the same again, so a person is
    /// asked. But where the run has nothing left, no answer could change that: it parks, or
    /// the unit waits for what the calls under way leave.
    pub(super) fn cap_reached(&mut self, unit: &UnitId, gate: Option<&str>, cap: Option<Money>) {
        if !self.is_broke() {
            self.ask(unit, gate, QuestionReason::CapReached { cap });
        }
    }

    /// Parks the run, or asks about the stage that used up its own cap.
    pub(super) fn out_of_budget(&mut self, unit: &UnitId, gate: Option<&str>, whose: &Reserve) {
        match whose {
            Reserve::RunIsBroke if self.unpriced_left() == Some(0) => {
                let calls = self.run.ledger().n_unknown;
                let what = format!(
                    "{calls} calls reported no price, which is the limit for a run with the \
                     default budget (limits.unpriced_calls)"
                );
                self.record(Event::RunHeld { hold: Hold::OutOfBudget { what } });
            }
            Reserve::RunIsBroke => {
                let cap = self.run.budget().unwrap_or_default();
                let ledger = self.run.ledger();
                let estimated = match ledger.estimated {
                    Money(0) => String::new(),
                    estimated => format!(", about {estimated} estimated"),
                };
                let unknown = match ledger.n_unknown {
                    0 => String::new(),
                    1 => format!("; 1 call of unknown cost counts as {}", ledger.unknown_at_most),
                    n => format!("; {n} calls of unknown cost count as {}", ledger.unknown_at_most),
                };
                let parts = match (estimated.as_str(), unknown.as_str()) {
                    ("", "") => String::new(),
                    (_, _) => format!(" ({} known{estimated}{unknown})", ledger.known),
                };
                let (spent, budget) = (ledger.committed(), cap.to_short_text());
                let what = if spent < cap {
                    format!(
                        "{spent} of the run's {budget} spent; the next call could cost more than is left{parts}"
                    )
                } else {
                    format!("the run's budget of {budget} is used up{parts}")
                };
                self.record(Event::RunHeld { hold: Hold::OutOfBudget { what } });
            }
            Reserve::StageIsBroke => {
                let cap = self.run.stage(unit).budget.unwrap_or_default().to_short_text();
                let what = format!("the stage's budget of {cap} is used up");
                self.ask(unit, gate, QuestionReason::NoResult { class: None, what });
            }
            Reserve::Free | Reserve::Amount(_) | Reserve::Later => {}
        }
    }
}

fn is_agent(stage: &Stage, gate: Option<&Check>) -> bool {
    match gate {
        None => matches!(stage.work, Work::Agent { .. }),
        Some(check) => matches!(check, Check::Review { .. }),
    }
}
