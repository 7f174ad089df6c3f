//! What other runs of the same repository work on at the same time.
//!
//! A run says which paths its open work may write in its row, in the transaction of its facts.

use forge_core::{
    Run,
    claim::{Claim, claims},
    id::UnitId,
    view::RunRow,
};

use crate::{Trouble, prepare::Shop};

impl Shop<'_> {
    /// What another run works on that touches what this unit may write, in words.
    pub(crate) fn other_runs(&self, run: &Run, unit: &UnitId) -> Result<Option<String>, Trouble> {
        let ours: Vec<Claim> =
            claims(run).into_iter().filter(|claim| claim.scope == unit.scope).collect();
        for row in self.store.rows_with("\"claims\":")? {
            if row.run == self.id {
                continue;
            }
            // A row that cannot be read says nothing that could be acted on.
            let Ok(other) = serde_json::from_str::<RunRow>(&row.row) else { continue };
            for claim in &other.claims {
                if ours.iter().any(|own| own.touches(claim)) {
                    return Ok(Some(in_words(&other, claim)));
                }
            }
        }
        Ok(None)
    }
}

fn in_words(other: &RunRow, claim: &Claim) -> String {
    let what = match claim.scope.as_str() {
        "" => String::new(),
        scope => format!(" ({scope})"),
    };
    let paths =
        if claim.writes.is_empty() { "anything".to_owned() } else { claim.writes.join(", ") };
    format!("{}{what} may write the same paths: {paths}", other.run)
}
