//! Which paths the open work of a run may write, so that runs of one repository can see each other.
//!
//! Items of one run are kept apart by [`crate::item::overlap`]; this is for what other runs do.
//!
//! In a run that waits where others work, a unit that changes code claims its paths by a fact before it begins, and nobody
//! else can claim them until that work has landed or failed. It claims nothing while it waits, so runs never wait for each other.
//! What a person changes there by hand is not claimed: they were not asked to wait.
//!
//! Invariant: work that was begun and may still land is claimed, also between two of its rows and
//! while the run is held. What has landed, failed, or waits for what failed is not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    event::OnOverlap,
    flow::{BuiltIn, Check, Stage, Work, firsts, followers, lands},
    id::{Scope, UnitId},
    item::{Item, overlap},
    run::{PathsState, Phase, Run, State, Table},
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
    let has_claim = match run.definition().start.on_overlap {
        Some(OnOverlap::Defer) => has_claimed,
        Some(OnOverlap::Warn | OnOverlap::Block) | None => has_begun,
    };
    let writes = run.item(&Scope::root()).map_or(&[][..], |item| &item.writes);
    collect(has_claim, &Scope::root(), writes, (stages, root), &mut found);
    found
}

/// Returns what a unit would claim.
pub fn claim_of(run: &Run, unit: &UnitId) -> PathClaim {
    let writes = run.item(&unit.scope).map(|item| item.writes.clone()).unwrap_or_default();
    PathClaim { scope: unit.scope.clone(), writes }
}

/// Returns true if a unit must not begin before its paths are claimed for it.
pub(crate) fn waits_for_paths(run: &Run, unit: &UnitId, row: usize) -> bool {
    match run.definition().start.on_overlap {
        Some(OnOverlap::Warn | OnOverlap::Block) | None => false,
        Some(OnOverlap::Defer) => {
            let (stages, table) = run.table(&unit.scope);
            changes_code(&stages[row]) && lands(stages, row) && !has_claimed(stages, table)
        }
    }
}

/// Returns true if a row says that its work changes code.
fn changes_code(stage: &Stage) -> bool {
    let says_so = |check: &Check| match check {
        Check::BuiltIn { check } => *check == BuiltIn::Changes,
        Check::Land => true,
        Check::Artifact { .. }
        | Check::Outputs { .. }
        | Check::Command { .. }
        | Check::Review { .. }
        | Check::Verify
        | Check::Human { .. } => false,
    };
    stage.gates.iter().any(|gate| says_so(&gate.check))
}

/// Returns true if a unit of a table has claimed its paths, and its work can still land.
fn has_claimed(stages: &[Stage], table: &Table) -> bool {
    (0..stages.len()).any(|row| {
        let unit = &table.units[row];
        let may_land = || {
            let is_landing = |row: &usize| lands_itself(stages, *row);
            let rows: Vec<usize> = followers(stages, row).into_iter().filter(is_landing).collect();
            let failed = |row: &usize| matches!(table.units[*row].state, State::Failed { .. });
            rows.iter().all(|row| table.units[*row].landed.is_none()) && !rows.iter().all(failed)
        };
        let is_given_up = matches!(unit.state, State::Failed { .. } | State::Skipped);
        unit.paths == PathsState::Claimed && !is_given_up && may_land()
    })
}

/// Returns true if a row of a table is worked on, or continues what was begun. Most rows are over, which is seen at once.
fn has_begun(stages: &[Stage], table: &Table) -> bool {
    let is_begun =
        |row: usize| stages[row].is_called() && is_open(stages, table, row) && lands(stages, row);
    let something_lands = (0..stages.len()).any(|row| lands_itself(stages, row));
    something_lands && (0..stages.len()).any(is_begun)
}

/// Returns true if a row has the gate that makes its work part of the result.
fn lands_itself(stages: &[Stage], row: usize) -> bool {
    stages[row].gates.iter().any(|gate| gate.check == Check::Land)
}

/// Collects the claims of a table, and of its open items.
fn collect(
    has_claim: fn(&[Stage], &Table) -> bool,
    scope: &Scope,
    writes: &[String],
    (stages, table): (&[Stage], &Table),
    found: &mut Vec<PathClaim>,
) {
    if has_claim(stages, table) {
        found.push(PathClaim { scope: scope.clone(), writes: writes.to_vec() });
    }
    for (stage, unit) in stages.iter().zip(&table.units) {
        for (item, inside) in unit.inner.open_members() {
            let scope = scope.unit(&stage.name).item(&item.id);
            // A flow inside a flow may write what the item around it may.
            let is_flow = matches!(stage.work, Work::Flow { .. });
            let writes = if is_flow { writes } else { &item.writes };
            collect(has_claim, &scope, writes, (stage.inner(), inside), found);
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
