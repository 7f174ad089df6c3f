//! What a flow must have so that no change of the code can get past Forge.
//!
//! The format (`core/src/flow/check.rs`) knows nothing of who writes code: that is said by roles.
//! These rules need both, and hold for shipped flows as for a project's own.

use std::collections::BTreeSet;

use forge_core::flow::{BuiltIn, Check, Flow, Stage, Work, firsts, lands};

/// What is wrong with a flow whose roles of these names change the code, as the end of a sentence.
pub(super) fn check(flow: &Flow, writers: &BTreeSet<String>) -> Result<(), String> {
    check_table(&flow.stages, writers)
}

fn check_table(stages: &[Stage], writers: &BTreeSet<String>) -> Result<(), String> {
    let changes_code = |row: usize| match &stages[row].work {
        Work::Agent { role } => writers.contains(role),
        Work::Command { .. } => lands(stages, row),
        Work::Each { .. } | Work::Flow { .. } | Work::Deliver { .. } | Work::Nothing => false,
    };
    let has = |row: usize, check: &Check| stages[row].gates.iter().any(|gate| gate.check == *check);
    let rows: Vec<usize> = (0..stages.len()).filter(|row| changes_code(*row)).collect();
    for row in &rows {
        let name = &stages[*row].name;
        if !lands(stages, *row) {
            return Err(format!(
                "stage `{name}` changes code, and nothing lands it: add the gate {{ land = true }} to it or to a stage after it"
            ));
        }
        if !has(*row, &Check::BuiltIn { check: BuiltIn::Changes }) {
            return Err(format!(
                "stage `{name}` changes code, and nothing looks at what it changes: add the gate {{ check = \"changes\" }} to it"
            ));
        }
        if let Some(other) = rows.iter().find(|other| {
            *other != row
                && !firsts(stages, *row).contains(other)
                && !firsts(stages, **other).contains(row)
        }) {
            return Err(format!(
                "stages `{name}` and `{}` change code in the same checkout at the same time: let one come `after` the other, or give each an item",
                stages[*other].name
            ));
        }
    }
    for (row, stage) in stages.iter().enumerate() {
        check_lands(stages, row)?;
        check_table(stage.inner(), writers)?;
    }
    Ok(())
}

/// What lands was verified before: in the same stage, or in one that is surely over.
fn check_lands(stages: &[Stage], row: usize) -> Result<(), String> {
    let gates = &stages[row].gates;
    let Some(land) = gates.iter().position(|gate| gate.check == Check::Land) else { return Ok(()) };
    let verifies = |gate: &forge_core::flow::Gate| gate.check == Check::Verify;
    let before = firsts(stages, row);
    let is_verified = gates[..land].iter().any(verifies)
        || before.iter().any(|first| stages[*first].gates.iter().any(verifies));
    if is_verified {
        return Ok(());
    }
    Err(format!(
        "stage `{}` lands what nothing verifies: add the gate {{ verify = true }} before {{ land = true }}",
        stages[row].name
    ))
}
