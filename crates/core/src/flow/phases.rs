//! Which stages and gates the blocks of a text are for.
//!
//! A phase is a stage or a gate, by its name. Blocks of a flow are for all of that name in it; blocks of a role only where that
//! role plays.
//!
//! Invariant: a block is for something, and nothing has two of a kind. A misspelled name never means that nothing is asked.

use super::brief_shape::BriefShape;
use super::directive::Directive;
use super::gate_text::{BlockKind, GateBlock, blocks_alone};
use super::table::{Check, Gate, GateWeight, Stage, When};
use crate::routing::Hints;

/// The name of the gate that looks at what the work of a stage left.
const OUTPUTS: &str = "outputs";
/// The beginning of the name under which the blocks of a role are kept beside the texts of flows.
const ROLES: &str = "roles/";

/// Returns the name under which the blocks of a role are kept beside the texts of flows.
pub fn role_blocks_key(role: &str) -> String {
    format!("{ROLES}{role}")
}

/// The beginning of the name under which a pipeline is kept beside the texts of flows.
const PIPELINES: &str = "pipelines/";
/// The pipeline that a flow itself says.
pub const DEFAULT_PIPELINE: &str = "default";

/// Returns the name under which a pipeline is kept beside the texts of flows.
pub fn pipeline_key(pipeline: &str) -> String {
    format!("{PIPELINES}{pipeline}")
}

/// Returns the pipeline that is kept under a name.
pub(super) fn pipeline_of_key(key: &str) -> Option<&str> {
    key.strip_prefix(PIPELINES)
}

/// Returns the role whose blocks are kept under a name.
pub(super) fn role_of_key(key: &str) -> Option<&str> {
    key.strip_prefix(ROLES)
}

/// Gives the blocks of a text to the stages and gates that they are for. The error is the end of a sentence.
pub(super) fn attach(
    stages: &mut [Stage],
    text: &str,
    role: Option<&str>,
    pipelines: &[&str],
) -> Result<(), String> {
    let whose = || role.map_or(String::new(), |role| format!(" of the role `{role}`"));
    let found =
        blocks_alone(text).map_err(|flaw| format!("has gates{} with a flaw, {flaw}", whose()))?;
    for block in found {
        let names = names(stages);
        for directive in &block.directives {
            if let Directive::After { phase, .. } = directive
                && !names.contains(phase)
            {
                let line = block.line;
                return Err(format!(
                    "has gates{} with a flaw, line {line}: there is no phase `{phase}`",
                    whose()
                ));
            }
        }
        if give(stages, &block, role, pipelines)? == 0 {
            let (line, phase) = (block.line, &block.phase);
            return Err(match role {
                None => format!("has gates with a flaw, line {line}: there is no phase `{phase}`"),
                Some(role) => format!(
                    "has gates of the role `{role}` with a flaw, line {line}: the role does not play in a phase `{phase}`"
                ),
            });
        }
    }
    Ok(())
}

/// Returns the names of all phases.
fn names(stages: &[Stage]) -> Vec<String> {
    let own = stages.iter().map(|stage| stage.name.clone());
    let gates = stages.iter().flat_map(|stage| &stage.gates).map(|gate| gate.name.clone());
    let inner = stages.iter().flat_map(|stage| names(stage.inner()));
    own.chain(gates).chain(inner).collect()
}

/// Gives a block to all that it is for, and returns how many those are.
fn give(
    stages: &mut [Stage],
    block: &GateBlock,
    role: Option<&str>,
    pipelines: &[&str],
) -> Result<usize, String> {
    let mut n = 0;
    for stage in stages {
        let plays = role.is_none_or(|role| stage.work.role() == Some(role));
        if stage.name == block.phase && plays {
            n += 1;
            match block.kind {
                BlockKind::Gates => put(&mut stage.needs, block)?,
                BlockKind::Outputs => put_outputs(stage, block)?,
            }
        }
        for gate in &mut stage.gates {
            let plays = role.is_none_or(|role| gate.check.role() == Some(role));
            if gate.name == block.phase && plays {
                n += 1;
                match block.kind {
                    BlockKind::Gates => put(&mut gate.needs, block)?,
                    BlockKind::Outputs => {
                        let (line, phase) = (block.line, &block.phase);
                        return Err(format!(
                            "has an `outputs` block, line {line}, for `{phase}`, which is a check and not a stage"
                        ));
                    }
                }
            }
        }
        // A pipeline says itself what its phases need.
        if !pipelines.contains(&stage.name.as_str()) {
            n += give(stage.inner_mut(), block, role, pipelines)?;
        }
    }
    Ok(n)
}

fn put(needs: &mut Vec<Directive>, block: &GateBlock) -> Result<(), String> {
    if !needs.is_empty() {
        let (line, phase) = (block.line, &block.phase);
        return Err(format!("has a second `gates` block for the phase `{phase}`, line {line}"));
    }
    needs.clone_from(&block.directives);
    Ok(())
}

fn put_outputs(stage: &mut Stage, block: &GateBlock) -> Result<(), String> {
    if stage.gate(OUTPUTS).is_some() {
        let (line, phase) = (block.line, &block.phase);
        return Err(format!("has a second `outputs` block for the phase `{phase}`, line {line}"));
    }
    let gate = Gate {
        name: OUTPUTS.to_owned(),
        phase: None,
        check: Check::Outputs { directives: block.directives.clone() },
        hints: Hints::default(),
        model: None,
        brief: BriefShape::default(),
        needs: Vec::new(),
        reads: Vec::new(),
        writes: Vec::new(),
        redo: None,
        rounds: None,
        when: When::default(),
        weight: GateWeight::Binding,
    };
    stage.gates.insert(0, gate);
    Ok(())
}
