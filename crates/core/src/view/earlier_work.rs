//! What the phases before a unit say that they did, for the brief of the unit.
//!
//! Only workers are heard, not those who looked at their work: a reviewer finds out for itself.

use crate::{
    flow::firsts,
    id::UnitId,
    run::{Run, State},
};

/// Returns the last phases that were surely over before a unit began, with their summaries, the latest at the end: those of its
/// own table, then of the tables around it.
pub fn earlier_summaries<'r>(run: &'r Run, unit: &UnitId, most: usize) -> Vec<(UnitId, &'r str)> {
    let mut found = Vec::new();
    let mut here = Some(unit.clone());
    while let Some(reader) = here {
        let (stages, table) = run.table(&reader.scope);
        let own = stages.iter().position(|stage| stage.name == reader.stage);
        let own = own.expect("a unit names a stage of its flow");
        for row in firsts(stages, own).into_iter().rev() {
            let before = &table.units[row];
            let summary = before.receipt.as_ref().map(|receipt| receipt.summary.trim());
            let summary = summary.filter(|summary| !summary.is_empty());
            if let (State::Accepted, Some(summary)) = (before.state, summary) {
                found.push((reader.scope.unit(&stages[row].name), summary));
            }
        }
        here = reader.scope.origin().map(|(scope, group)| scope.unit(&group));
    }
    found.truncate(most);
    found.reverse();
    found
}
