//! What is known of a call before it starts: how the try before it failed, what follows from that for its brief, and where a review
//! stands among those that it can be.
//!
//! Not here: whether there is another try (`decide`), and the brief itself, which is the driver's.

use crate::{
    event::{Ruling, SentBack},
    failure::FaultClass,
    flow::{BriefShape, Exhausted, Gate, GateWeight},
    id::{CallId, UnitId},
    routing::{Because, Successor, Wish, WishReason, wish},
    verdict::BlockerClass,
};

use super::{fold::Run, history::CallEnding};

/// Where a review stands among those that can send the same work back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewPosition {
    /// Counted from one.
    pub iteration: u32,
    pub most: u32,
    /// Who sent the work back last, if anybody did.
    pub last: Option<SentBack>,
    /// What follows at the last one, if it sends the work back again.
    pub then: Exhausted,
}

impl Run {
    /// Returns how the try before this call failed, if it came to nothing: the attempt before, or the last look of the same gate
    /// at the same attempt.
    pub fn fault_before(&self, call: &CallId) -> Option<(FaultClass, &str)> {
        match call {
            CallId::Attempt(_) => {
                let fault = self.unit(call.unit()).fault.as_ref()?;
                Some((fault.class, &fault.what))
            }
            CallId::Judgement(_) => {
                let is_same = |other: &CallId| {
                    other.attempt() == call.attempt() && other.gate() == call.gate()
                };
                let mut looks = self.history().calls.iter().rev();
                match &looks.find(|ended| is_same(&ended.call))?.ending {
                    CallEnding::Look(Ruling::Fault { class, what }) => Some((*class, what)),
                    CallEnding::Look(_)
                    | CallEnding::Work(_)
                    | CallEnding::Triage(_)
                    | CallEnding::Overtaken => None,
                }
            }
        }
    }

    /// Returns true if a call is the retry of one that left nothing. A person who asks for another try has looked, so that one is
    /// as the first.
    pub fn is_simplified(&self, call: &CallId) -> bool {
        let unit = self.unit(call.unit());
        let failed = match call {
            CallId::Attempt(_) => unit.misses,
            CallId::Judgement(_) => unit.faults,
        };
        failed > 0 && self.fault_before(call).is_some_and(|(class, _)| class.left_nothing())
    }

    /// Returns what the brief of a call leaves out.
    pub fn brief_shape(&self, call: &CallId) -> BriefShape {
        if self.is_simplified(call) {
            return BriefShape::simplified();
        }
        match self.gate_of(call) {
            Some(gate) => gate.brief.clone(),
            None => self.stage(call.unit()).brief.clone(),
        }
    }

    /// Returns the model that the flow names for a call.
    pub fn model_in_flow(&self, call: &CallId) -> Option<&str> {
        match self.gate_of(call) {
            Some(gate) => gate.model.as_deref(),
            None => self.stage(call.unit()).model.as_deref(),
        }
    }

    /// Returns what a call wants of its agent, under way or ended. Nothing for those of an older Forge.
    pub fn wish(&self, call: &CallId) -> Option<Wish> {
        match self.calls().get(call) {
            Some(under_way) => under_way.wish,
            None => self.history().calls.iter().rev().find(|ended| ended.call == *call)?.wish,
        }
    }

    /// Returns what the next call of a unit, or of a gate of it, wants of its agent. What goes on in a session goes on with the agent
    /// that has it.
    pub(crate) fn next_wish(&self, unit: &UnitId, gate: Option<&str>) -> Option<Wish> {
        let routing = self.definition().start.routing.as_ref()?;
        let stage = self.stage(unit);
        let place = match gate {
            Some(gate) => stage.gates[stage.gate(gate)?].place()?,
            None => stage.place()?,
        };
        if self.unit(unit).session.is_some() {
            let is_same = |call: &CallId| call.unit() == unit && call.gate() == gate;
            let mut calls = self.history().calls.iter().rev();
            return calls.find(|ended| is_same(&ended.call))?.wish;
        }
        let tag = |name: &str| gate.is_none().then(|| self.tag(&unit.scope, name)).flatten();
        let wish = wish(routing, &place, tag);
        let passed_on = self.unit(unit).passed_on.get(&gate.map(str::to_owned));
        let tier = match passed_on {
            Some((BlockerClass::ModelRefusal, Successor::Tier(tier))) => {
                Because::new(*tier, WishReason::Refused)
            }
            Some((_, Successor::Tier(tier))) => Because::new(*tier, WishReason::TooLong),
            Some((_, Successor::Agent(_))) | None => wish.tier,
        };
        Some(Wish { tier, ..wish })
    }

    /// Returns where a review stands. Nothing for other calls, and for a review that sends nothing back.
    pub fn review_position(&self, call: &CallId) -> Option<ReviewPosition> {
        let gate = self.gate_of(call).filter(|gate| gate.weight == GateWeight::Binding)?;
        let unit = call.unit();
        let target = self.sent_back_to(unit, gate.redo.as_deref());
        let (used, rounds) = match gate.rounds {
            Some(rounds) => (self.rounds_of_gate(&target, unit, &gate.name), rounds),
            None => (self.unit(&target).round, self.stage(&target).rounds),
        };
        let last = self.history().sent_back.iter().rev().find(|back| back.unit == target);
        Some(ReviewPosition {
            iteration: used + 1,
            most: rounds + 1,
            last: last.map(|back| back.by.clone()),
            then: self.stage(unit).exhausted,
        })
    }

    fn gate_of(&self, call: &CallId) -> Option<&Gate> {
        self.definition().flow.gate(call.unit(), call.gate()?)
    }
}
