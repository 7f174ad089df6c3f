//! What all runs of a repository have used up, read from their facts.
//!
//! Not here: how it is added up (`forge_core::view`), and how it looks.
//!
//! Invariant: a run that cannot be read is named, and keeps nobody from reading the others.

use forge_agents::prices::Prices;
use forge_core::{
    Time,
    event::Event,
    view::{Axis, Spending, StatsRow, StatsView, day, spendings, stats},
};
use forge_driver::{Error, clock::now};
use forge_store::{journal::Store, records::facts};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    forge::{Forge, RUNS_MAX},
    refused_requests::refused_spending,
};

/// One day, in milliseconds.
const DAY_MS: u64 = 86_400_000;

/// Spending of one run or of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpendingView {
    /// The first day that is counted, in UTC; `null` for all days.
    pub since: Option<String>,
    pub total: StatsRow,
    /// The same numbers, grouped as requested.
    pub tables: Vec<StatsView>,
    /// The date of the price list used for estimates.
    pub prices_as_of: String,
    /// Runs that could not be read. They are not counted.
    pub unreadable: Vec<Unreadable>,
}

/// A run that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unreadable {
    pub run: String,
    pub why: String,
}

/// A filter for spendings.
#[derive(Clone, Debug, Default)]
pub struct SpendingFilter {
    /// Only those of this run.
    pub run: Option<String>,
    /// Only those of this many days, today included.
    pub days: Option<u32>,
}

impl Forge {
    /// Returns what was used up, in a table for each axis.
    pub fn spending(&self, which: &SpendingFilter, by: &[Axis]) -> Result<SpendingView, Error> {
        let since = which.days.map(|days| first_moment(days, now()));
        let mut unreadable = Vec::new();
        let mut all: Vec<Spending> = Vec::new();
        if let Some(store) = self.find_store()? {
            for id in self.runs_since(&store, which, since)? {
                match run_spending(&store, &id) {
                    Ok(run_spending) => all.extend(run_spending),
                    Err(error) => unreadable.push(Unreadable { run: id, why: error.to_string() }),
                }
            }
        }
        if which.run.is_none() {
            all.extend(refused_spending(&self.home)?);
        }
        let since = since.map(day);
        if let Some(since) = &since {
            all.retain(|spending| spending.day >= *since);
        }
        let total = stats(&all, Axis::Day).total;
        let tables = by.iter().map(|axis| stats(&all, *axis)).collect();
        let prices_as_of = Prices::shipped().as_of.clone();
        Ok(SpendingView { since, total, tables, prices_as_of, unreadable })
    }

    /// Returns the runs that can have used something up since then, judged by their rows alone.
    fn runs_since(
        &self,
        store: &Store,
        which: &SpendingFilter,
        since: Option<Time>,
    ) -> Result<Vec<String>, Error> {
        if let Some(run) = &which.run {
            return Ok(vec![self.resolve(run)?]);
        }
        let (rows, _) = store.latest(RUNS_MAX)?;
        let changed = rows.into_iter().filter(|row| since.is_none_or(|since| row.at >= since));
        Ok(changed.map(|row| row.run).collect())
    }
}

/// Returns what one run has used up.
pub(crate) fn run_spending(store: &Store, id: &str) -> Result<Vec<Spending>, Error> {
    let mut all: Vec<(Time, Event)> = Vec::new();
    for record in store.read(id, 1)? {
        all.extend(facts(&record)?.into_iter().map(|fact| (record.at, fact)));
    }
    Ok(spendings(id, all.iter().map(|(at, fact)| (*at, fact))))
}

/// Returns the beginning of the first of so many days, of which today is the last.
fn first_moment(days: u32, now: Time) -> Time {
    let today = now / DAY_MS;
    today.saturating_sub(u64::from(days.saturating_sub(1))) * DAY_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_day_is_today_and_every_other_one_is_before_it() {
        let noon = 20_000 * DAY_MS + DAY_MS / 2;
        assert_eq!(first_moment(1, noon), 20_000 * DAY_MS);
        assert_eq!(first_moment(7, noon), 19_994 * DAY_MS);
        assert_eq!(first_moment(u32::MAX, noon), 0);
    }
}
