//! What a run knows of its calls: which are under way, what they cost, and the sessions of agents
//! that they go on in. What ended calls mean for their units is in `run.rs`.
//!
//! Invariant: the session of a call does not change while the call is under way.

use std::sync::Arc;

use super::{fold::Run, history::EndedCall, tree::Unit};
use crate::{
    event::{Call, Limits, Receipt},
    id::{CallId, UnitId},
    ledger::Ledger,
    money::{Cost, Money, Spent, Used},
    routing::{Assignment, Successor},
    verdict::BlockerClass,
};

/// Where no cap of a call is set, the untold part of an unknown cost counts as at most this part of the run's budget.
const UNTOLD_PART: u64 = 10;

impl Run {
    /// Starts a call, in the session that the call before it left for it.
    pub(super) fn call_started(&mut self, id: CallId, call: &Call, session: Option<String>) {
        if let Some(reserved) = call.reserved {
            self.ledger.reserve(id.clone(), reserved);
        }
        if let Some(session) = session {
            self.sessions.insert(id.clone(), session);
        }
        self.n_calls = call.ordinal;
        self.calls.insert(id, call.clone());
    }

    /// Settles the cost of an ended call.
    pub(super) fn settle(&mut self, call: &CallId, receipt: &Receipt) {
        let held = self.calls.remove(call).and_then(|call| call.reserved).unwrap_or_default();
        let untold = self.untold(receipt.spent, held);
        self.sessions.remove(call);
        self.assignments.remove(call);
        self.ledger.settle(call, receipt.spent, untold);
        let unit = call.unit();
        if self.has(unit) {
            let (_, unit) = self.unit_without_opening(unit);
            unit.pay(receipt.spent, untold);
            unit.tokens += receipt.spent.tokens;
        }
    }

    /// Returns what a call of unknown cost may have cost beside what was told of it: the cap of one call, or where
    /// none is set a part of the run's budget, but no more than was held back. Nothing, where such calls are counted.
    fn untold(&self, spent: Spent, held: Money) -> Money {
        let Limits { call_budget, unpriced_calls, .. } = self.definition().start.limits;
        if unpriced_calls.is_some() {
            return Money(0);
        }
        let part = self.budget.map(|budget| Money(budget.0 / UNTOLD_PART));
        let left = held.minus(spent.at_least);
        call_budget.or(part).map_or(left, |most| most.min(left))
    }

    /// Returns the session that a call leaves: its own, or the one that it was to go on in, if it did not
    /// come so far as to name one.
    pub(super) fn session_left(&self, call: &CallId, receipt: Option<&Receipt>) -> Option<String> {
        let own = receipt.and_then(|receipt| receipt.session.as_ref());
        own.or_else(|| self.sessions.get(call)).cloned()
    }

    /// Returns the session of its agent that a call under way continues. Nothing, if it starts a new one.
    pub fn session(&self, call: &CallId) -> Option<&str> {
        self.sessions.get(call).map(String::as_str)
    }

    /// Gives a call to an agent and an account. The session that it was to go on in is of use only to those who have it.
    pub(super) fn assign(&mut self, call: &CallId, to: &Assignment) {
        if let Some(session) = self.sessions.get(call) {
            let has_it = |ended: &&EndedCall| ended.session.as_ref() == Some(session);
            let owner = self.history().calls.iter().rev().find(has_it);
            let is_owner = |used: &Used| used.agent == to.agent && used.account == to.account;
            if !owner.and_then(|ended| ended.used.as_ref()).is_some_and(is_owner) {
                self.sessions.remove(call);
            }
        }
        self.assignments.insert(call.clone(), to.clone());
    }

    /// Returns the agent and the account of a call under way, where limits decide on them.
    pub fn assignment(&self, call: &CallId) -> Option<&Assignment> {
        self.assignments.get(call)
    }

    /// Returns who took over what an agent could not do in a unit, or at a gate of it, and why.
    pub fn passed_on(&self, call: &CallId) -> Option<&(BlockerClass, Successor)> {
        self.unit(call.unit()).passed_on.get(&call.gate().map(str::to_owned))
    }

    /// Returns the name of the agent whose work a gate looks at: the last one that worked there, or in what is inside.
    pub fn author(&self, gate_of: &UnitId) -> Option<&str> {
        let inside = |unit: &UnitId| unit == gate_of || gate_of.item_around(&unit.scope).is_some();
        let mut calls = self.history().calls.iter().rev();
        calls.find_map(|ended| {
            let is_work = ended.call.gate().is_none() && inside(ended.call.unit());
            let used = ended.used.as_ref().filter(|_| is_work)?;
            Some(used.agent.as_str())
        })
    }

    /// Calls that were started and have no ending, also those that no longer matter.
    pub fn calls(&self) -> &std::collections::BTreeMap<CallId, Call> {
        &self.calls
    }

    /// Knows endings by one more key.
    pub(super) fn add_ending_key(&mut self, key: &str) {
        Arc::make_mut(&mut self.ending_keys).add(key, self.n_calls);
    }

    pub fn has_ending_key(&self, key: &str) -> bool {
        self.ending_keys.has(key)
    }

    /// Returns the public keys of which one must have signed the ending of a call. Nothing for a call that
    /// was begun by a Forge that did not sign.
    pub fn ending_keys(&self, call: &Call) -> Option<&[String]> {
        self.ending_keys.get(call.ordinal)
    }

    /// Returns what a call under way may cost, if anything limits it.
    pub fn cap(&self, call: &CallId) -> Option<Money> {
        self.calls.get(call).and_then(|call| call.reserved)
    }

    /// Calls ever started.
    pub fn n_calls(&self) -> u32 {
        self.n_calls
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

impl Unit {
    /// Adds what a call cost. An unknown cost counts as what was told of it, and the untold part.
    fn pay(&mut self, spent: Spent, untold: Money) {
        match spent.cost {
            Cost::Known(cost) => self.spent += cost,
            Cost::Estimated(cost) => {
                self.spent += cost;
                self.estimated += cost;
            }
            Cost::Unknown => {
                let mut counts_as = spent.at_least;
                counts_as += untold;
                self.spent += counts_as;
                self.unknown_at_most += counts_as;
                self.n_unknown += 1;
            }
        }
    }
}
