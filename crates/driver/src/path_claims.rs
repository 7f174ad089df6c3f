//! What else is worked on at the same time, in this run and in others of the same repository.
//!
//! A run says which paths its open work may write in its row, in the transaction of its facts.

use forge_core::{
    Run,
    id::UnitId,
    path_claims::{PathClaim, claim_of, claims},
    view::RunRow,
};

use forge_project::settings::Claims;
use forge_store::journal::Journal;

use crate::{Error, run_id::short_id};

/// A look at the work of all runs, on behalf of one.
pub struct Looker<'a> {
    pub journal: &'a dyn Journal,
    /// The run.
    pub id: &'a str,
    pub claims: Claims,
}

impl Looker<'_> {
    /// What else is worked on that touches what this unit may write, in words: by another part of the
    /// run, or by another run. Items beside it in the same list never are; the engine sees to that.
    pub fn others_at_work(&self, run: &Run, unit: &UnitId) -> Result<Option<String>, Error> {
        let (all, own) = (claims(run), claim_of(run, unit));
        // A note needs a ground: paths that both name. That runs without such paths may conflict is said when one starts.
        let touches = |other: &PathClaim| {
            let has_ground = match self.claims {
                Claims::Warn => !own.writes.is_empty() && !other.writes.is_empty(),
                Claims::Defer | Claims::Block => true,
            };
            has_ground && own.overlaps(other)
        };
        let is_apart = |claim: &&PathClaim| {
            !claim.scope.within(&unit.scope)
                && !unit.scope.within(&claim.scope)
                && claim.scope.origin() != unit.scope.origin()
        };
        if let Some(claim) = all.iter().filter(is_apart).find(|claim| touches(claim)) {
            return Ok(Some(in_words(None, claim)));
        }
        for row in self.journal.rows_with("\"claims\":")? {
            if row.run == self.id {
                continue;
            }
            // A row that cannot be read says nothing that could be acted on.
            let Ok(other) = serde_json::from_str::<RunRow>(&row.row) else { continue };
            if let Some(claim) = other.claims.iter().find(|claim| touches(claim)) {
                return Ok(Some(in_words(Some(&other.run), claim)));
            }
        }
        Ok(None)
    }
}

fn in_words(run: Option<&str>, claim: &PathClaim) -> String {
    let who = match (run, claim.scope.as_str()) {
        (None, scope) => format!("`{scope}`"),
        (Some(run), "") => format!("run {}", short_id(run)),
        (Some(run), scope) => format!("`{scope}` of run {}", short_id(run)),
    };
    match claim.writes.as_slice() {
        [] => format!("{who} is unfinished and may change the same files"),
        paths => format!("{who} may change the same files: {}", paths.join(", ")),
    }
}
