//! Sums over a run at one moment: what it cost so far, how many stages are done, how long the rest usually takes.

use forge_api::follow::RunSnapshot;
use forge_core::{
    id::UnitId,
    money::{Cost, Spent},
    view::{Amount, UnitState, UnitView},
};

/// Returns what the run has cost, with what running agents told so far.
pub(crate) fn amount_so_far(snapshot: &RunSnapshot) -> Amount {
    let calls = snapshot.working.values().flatten();
    calls.fold(snapshot.view.row.amount(), |amount, call| add_spent(amount, &call.spent))
}

/// Adds what a running call told so far.
pub(crate) fn add_spent(mut amount: Amount, spent: &Spent) -> Amount {
    match spent.cost {
        Cost::Known(money) => amount.known += money,
        Cost::Estimated(money) => amount.estimated += money,
        Cost::Unknown => amount.estimated += spent.at_least,
    }
    amount
}

/// Returns how many stages of the flow are done, and how many there are without those that do not apply.
pub(crate) fn stages(snapshot: &RunSnapshot) -> (usize, usize) {
    let stages = snapshot.view.units.iter().filter(|unit| unit.depth == 0);
    let stages = stages.filter(|unit| unit.state != UnitState::Skipped);
    let done = stages.clone().filter(|unit| unit.state == UnitState::Accepted).count();
    (done, stages.count())
}

/// Returns how long all that is still to come usually takes, in milliseconds. Nothing, if that is not known of all.
pub(crate) fn time_left(snapshot: &RunSnapshot) -> Option<u64> {
    let is_open = |unit: &&UnitView| {
        unit.depth == 0 && !matches!(unit.state, UnitState::Accepted | UnitState::Skipped)
    };
    let mut left: u64 = 0;
    for unit in snapshot.view.units.iter().filter(is_open) {
        let took = snapshot.took.get(&unit.unit).copied().unwrap_or_default();
        left += usual_time(unit, snapshot)?.saturating_sub(took);
    }
    (left >= 1_000).then_some(left)
}

/// Returns how long a unit took in past runs, in milliseconds.
pub(crate) fn usual_time(unit: &UnitView, snapshot: &RunSnapshot) -> Option<u64> {
    let place = unit.unit.parse::<UnitId>().ok()?.place();
    snapshot.usual.get(&place).copied()
}
