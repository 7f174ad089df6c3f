//! What a run has spent, and what is held back for calls under way.

use std::collections::BTreeMap;

use crate::id::CallId;

use crate::money::{Cost, Money, Spent, Tokens};

/// The spent money, and what is held back for running calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The sum of all known costs.
    pub known: Money,
    /// The sum of all estimated costs.
    pub estimated: Money,
    /// What calls of unknown cost count as: what was told of them, and what they may have cost beside it.
    pub unknown_at_most: Money,
    /// How many calls ended without saying what they cost.
    pub n_unknown: u32,
    /// The sum of all reported tokens.
    pub tokens: Tokens,
    /// Reserved money, by call.
    reserved: BTreeMap<CallId, Money>,
}

impl Ledger {
    /// Returns what a cap has to count: known and estimated costs, what unknown ones may have been, what
    /// is held back.
    pub fn committed(&self) -> Money {
        let mut sum = self.known;
        sum += self.estimated;
        sum += self.unknown_at_most;
        self.reserved.values().for_each(|held| sum += *held);
        sum
    }

    /// Holds an amount back for a call.
    pub(crate) fn reserve(&mut self, call: CallId, amount: Money) {
        self.reserved.insert(call, amount);
    }

    /// Takes in what a call cost, and lets go of what was held back for it.
    pub(crate) fn settle(&mut self, call: &CallId, spent: Spent, untold: Money) {
        self.reserved.remove(call);
        self.add(spent, untold);
    }

    /// Adds what was used up. An unknown cost counts as what was told of it, and the untold part.
    pub(crate) fn add(&mut self, spent: Spent, untold: Money) {
        self.tokens += spent.tokens;
        match spent.cost {
            Cost::Known(cost) => self.known += cost,
            Cost::Estimated(cost) => self.estimated += cost,
            Cost::Unknown => {
                self.unknown_at_most += spent.at_least;
                self.unknown_at_most += untold;
                self.n_unknown += 1;
            }
        }
    }
}
