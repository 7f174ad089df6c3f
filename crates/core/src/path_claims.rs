//! Which paths the open work of a run may write, so that runs of one repository can see each other.
//!
//! Items of one run are kept apart by [`crate::item::overlap`]; this is for what other runs do.
//!
//! Invariant: work that was begun and may still land is claimed, also between two of its rows and
//! while the run is held. What has landed, failed, or waits for what failed is not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    flow::{Stage, Work, firsts, lands},
    id::Scope,
    item::{Item, overlap},
    run::{Phase, Run, State, Table},
};

/// Paths that one open item of a run may write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Claim")]
pub struct PathClaim {
    /// The item's scope; empty for the run as a whole.
    #[serde(default, skip_serializing_if = "Scope::is_root")]
    pub scope: Scope,
    /// The paths. None means all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
}

impl PathClaim {
    /// Returns true if both may write the same place.
    pub fn overlaps(&self, other: &Self) -> bool {
        let item = |claim: &Self| Item { writes: claim.writes.clone(), ..Item::default() };
        overlap(&item(self), &item(other))
    }
}

/// Returns what the open work of a run may write: of each open item whose work lands, its paths.
pub fn claims(run: &Run) -> Vec<PathClaim> {
    if !run.is_started() || matches!(run.phase(), Phase::Fresh | Phase::Over(_)) {
        return Vec::new();
    }
    let (stages, root) = run.table(&Scope::root());
    let mut found = Vec::new();
    collect(&Scope::root(), &[], (stages, root), &mut found);
    found
}

/// Collects the claims of a table, and of its open items.
fn collect(
    scope: &Scope,
    writes: &[String],
    (stages, table): (&[Stage], &Table),
    found: &mut Vec<PathClaim>,
) {
    let is_claimed =
        |row: usize| stages[row].is_called() && lands(stages, row) && is_open(stages, table, row);
    if (0..stages.len()).any(is_claimed) {
        found.push(PathClaim { scope: scope.clone(), writes: writes.to_vec() });
    }
    for (stage, unit) in stages.iter().zip(&table.units) {
        for (item, inside) in unit.inner.open_members() {
            let scope = scope.unit(&stage.name).item(&item.id);
            // A flow inside a flow may write what the item around it may.
            let is_flow = matches!(stage.work, Work::Flow { .. });
            let writes = if is_flow { writes } else { &item.writes };
            collect(&scope, writes, (stage.inner(), inside), found);
        }
    }
}

/// Returns true if a row is worked on, or continues what rows before it have begun.
fn is_open(stages: &[Stage], table: &Table, row: usize) -> bool {
    match table.units[row].state {
        State::Working | State::Judging { .. } | State::Asking { .. } => true,
        State::Waiting => {
            let firsts = firsts(stages, row);
            let state = |first: &usize| table.units[*first].state;
            let is_stuck = firsts.iter().any(|first| matches!(state(first), State::Failed { .. }));
            let is_next = firsts.iter().all(|first| state(first).is_closed());
            let goes_on = |first: &usize| {
                let unit = &table.units[*first];
                stages[*first].is_called() && unit.attempt > 0 && unit.landed.is_none()
            };
            // A unit that only waited for others has nothing that they could disturb.
            let unit = &table.units[row];
            let was_begun = unit.attempt > unit.waited;
            !is_stuck && (was_begun || (is_next && firsts.iter().any(goes_on)))
        }
        State::Accepted | State::Skipped | State::Failed { .. } => false,
    }
}
