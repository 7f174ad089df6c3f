//! What else is worked on at the same time, in this run and in others of the same repository.
//!
//! A run says which paths its open work may write in its row, in the transaction of its facts.

use forge_core::{
    Run,
    id::UnitId,
    path_claims::{PathClaim, claims},
    view::RunRow,
};

use forge_project::settings::Claims;

use crate::{Error, context::RunContext, run_id::short_id};

impl RunContext<'_> {
    /// What else is worked on that touches what this unit may write, in words: by another part of the
    /// run, or by another run. Items beside it in the same list never are; the engine sees to that.
    pub fn others_at_work(&self, run: &Run, unit: &UnitId) -> Result<Option<String>, Error> {
        let all = claims(run);
        let trusted: Vec<&PathClaim> =
            all.iter().filter(|claim| claim.scope == unit.scope).collect();
        // A note needs a ground: paths that both name. That runs without such paths may conflict is said when one starts.
        let has_ground = |own: &PathClaim, other: &PathClaim| match self.frozen.claims {
            Claims::Warn => !own.writes.is_empty() && !other.writes.is_empty(),
            Claims::Defer | Claims::Block => true,
        };
        let touches = |other: &PathClaim| {
            trusted.iter().any(|own| own.overlaps(other) && has_ground(own, other))
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
