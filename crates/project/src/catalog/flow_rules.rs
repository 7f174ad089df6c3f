//! What a flow must have so that no change of the code can get past Forge.
//!
//! The format (`core/src/flow/check.rs`) knows nothing of who writes code: that is said by roles.
//! These rules need both, and hold for shipped flows as for a project's own.

use std::collections::BTreeSet;

use forge_core::flow::{
    BuiltIn, Check, CodeLimit, Flow, Gate, GateWeight, Stage, Work, firsts, lands,
};

/// Checks a flow whose roles of these names change the code. The error is the end of a sentence.
pub(super) fn check(flow: &Flow, writers: &BTreeSet<String>) -> Result<(), String> {
    check_table(&flow.stages, writers)
}

fn check_table(stages: &[Stage], writers: &BTreeSet<String>) -> Result<(), String> {
    let changes_code = |row: usize| match &stages[row].work {
        Work::Agent { role } => stages[row].code == CodeLimit::AsRole && writers.contains(role),
        Work::Command { .. } => lands(stages, row),
        Work::Each { .. } | Work::Flow { .. } | Work::Deliver { .. } | Work::Nothing => false,
    };
    let has_always = |row: usize, check: &Check| {
        stages[row].gates.iter().any(|gate| gate.check == *check && is_sure(gate))
    };
    let rows: Vec<usize> = (0..stages.len()).filter(|row| changes_code(*row)).collect();
    for row in &rows {
        let name = &stages[*row].name;
        if !lands(stages, *row) {
            return Err(format!(
                "stage `{name}` changes code, but nothing merges it: add the gate {{ land = true \
                 }} to it or to a later stage"
            ));
        }
        if !has_always(*row, &Check::BuiltIn { check: BuiltIn::Changes }) {
            return Err(format!(
                "stage `{name}` changes code, but nothing checks the changed files: add the gate \
                 {{ check = \"changes\" }} to it, without `when`"
            ));
        }
        let beside = |other: &usize| {
            other != row
                && !firsts(stages, *row).contains(other)
                && !firsts(stages, *other).contains(row)
        };
        if let Some(other) = (0..stages.len()).filter(beside).find(|other| shares(&stages[*other]))
        {
            return Err(format!(
                "stage `{name}` changes code while `{}` works in the same checkout: let one come \
                 `after` the other, or give each its own item",
                stages[other].name
            ));
        }
    }
    for (row, stage) in stages.iter().enumerate() {
        if let Some(land) = stage.gates.iter().find(|gate| gate.check == Check::Land) {
            let mut before = firsts(stages, row).into_iter().chain([row]);
            if !before.any(changes_code) {
                return Err(format!(
                    "stage `{}` has the gate `{}`, but nothing in it or before it changes code: \
                     the role that does needs `code = \"writes\"` in its head",
                    stage.name, land.name
                ));
            }
        }
        check_lands(stages, row)?;
        check_table(stage.inner(), writers)?;
    }
    Ok(())
}

/// Returns true if a stage, or what is inside it, uses the checkout of the table that it stands in.
fn shares(stage: &Stage) -> bool {
    let looks = |gate: &Gate| match gate.check {
        Check::Review { .. } | Check::Command { .. } | Check::BuiltIn { .. } => true,
        Check::Artifact { .. }
        | Check::Outputs { .. }
        | Check::Human { .. }
        | Check::Verify
        | Check::Land => false,
    };
    let has_own = |stages: &[Stage]| {
        stages.iter().any(|stage| stage.gates.iter().any(|gate| gate.check == Check::Land))
    };
    let works = match &stage.work {
        Work::Agent { .. } | Work::Command { .. } => true,
        Work::Each { stages, .. } | Work::Flow { stages, .. } => {
            !has_own(stages) && stages.iter().any(shares)
        }
        Work::Deliver { .. } | Work::Nothing => false,
    };
    works || stage.gates.iter().any(looks)
}

/// Returns true if a gate looks at every attempt, and can say no.
fn is_sure(gate: &Gate) -> bool {
    gate.when.0.is_empty() && gate.weight == GateWeight::Binding
}

/// Checks that what lands was verified just before, in the same stage, and never merely as advice.
fn check_lands(stages: &[Stage], row: usize) -> Result<(), String> {
    let gates = &stages[row].gates;
    let Some(land) = gates.iter().position(|gate| gate.check == Check::Land) else { return Ok(()) };
    let verifies = |gate: &Gate| gate.check == Check::Verify && is_sure(gate);
    if gates[..land].iter().any(verifies) {
        return Ok(());
    }
    Err(format!(
        "stage `{}` merges unverified code: add the gate {{ verify = true }}, without `when`, \
         before {{ land = true }}",
        stages[row].name
    ))
}
