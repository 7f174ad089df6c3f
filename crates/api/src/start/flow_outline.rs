//! What of a flow runs with these parameters, as far as that is known before it begins.
//!
//! Invariant: only parameters are looked at. What depends on items is open until there are some.

use std::collections::BTreeMap;

use forge_core::flow::{Condition, Flow, Stage, When, Work};
use schemars::JsonSchema;
use serde::Serialize;

/// The parameter that says how much effort a run takes.
pub(super) const EFFORT: &str = "effort";

/// The answer to "does this stage or gate run?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// It runs.
    Yes,
    /// It does not run, because of the parameters, or because its list is known.
    Skipped,
    /// It depends on the items.
    Perhaps,
}

/// Returns a value for every parameter: what was given, or what the flow says.
pub(super) fn all_params(
    flow: &Flow,
    given: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let value = |name: &String, default: &String| given.get(name).unwrap_or(default).clone();
    let all = flow.params.iter();
    all.map(|(name, param)| (name.clone(), value(name, &param.default))).collect()
}

/// Evaluates a condition for these parameters.
pub(super) fn runs(when: &When, params: &BTreeMap<String, String>) -> Runs {
    let mut runs = Runs::Yes;
    for condition in &when.0 {
        match condition {
            Condition::Param { name, is } => {
                if !params.get(name).is_some_and(|value| is.contains(value)) {
                    return Runs::Skipped;
                }
            }
            Condition::Item { .. } => runs = Runs::Perhaps,
        }
    }
    runs
}

/// Returns the same flow without what these parameters leave out. Rows stay where they are, and empty.
pub(super) fn pruned(flow: &Flow, params: &BTreeMap<String, String>) -> Flow {
    fn table(stages: &[Stage], params: &BTreeMap<String, String>) -> Vec<Stage> {
        let row = |stage: &Stage| {
            let mut stage = stage.clone();
            if runs(&stage.when, params) == Runs::Skipped {
                stage.work = Work::Nothing;
                stage.gates.clear();
                stage.rounds = 0;
            }
            stage.gates.retain(|gate| runs(&gate.when, params) != Runs::Skipped);
            if let Work::Each { stages, .. } | Work::Flow { stages, .. } = &mut stage.work {
                *stages = table(stages, params);
            }
            stage
        };
        stages.iter().map(row).collect()
    }
    Flow { stages: table(&flow.stages, params), ..flow.clone() }
}

/// Returns what is skipped outside is skipped inside.
pub(super) fn both(outer: Runs, own: Runs) -> Runs {
    match (outer, own) {
        (Runs::Skipped, _) | (_, Runs::Skipped) => Runs::Skipped,
        (Runs::Perhaps, Runs::Yes | Runs::Perhaps) | (Runs::Yes, Runs::Perhaps) => Runs::Perhaps,
        (Runs::Yes, Runs::Yes) => Runs::Yes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_project::catalog::Catalog;

    fn feature() -> Flow {
        Catalog::from_folder(None).flow("feature").unwrap().flow
    }

    #[test]
    fn a_pruned_flow_makes_fewer_calls() {
        let flow = feature();
        let with = |effort: &str| {
            let given = BTreeMap::from([(EFFORT.to_owned(), effort.to_owned())]);
            pruned(&flow, &all_params(&flow, &given)).calls_max().0
        };
        assert!(with("S") < with("M") && with("M") < with("L"));
        assert_eq!(with("L"), flow.calls_max().0);
    }
}
