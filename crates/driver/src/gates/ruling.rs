//! A ruling of a gate, its findings and its receipt.

use forge_core::{
    event::Ruling,
    verdict::{Finding, Proof, Severity, Verdict},
};

/// Pass, or back with what was found.
pub fn ruling(findings: Vec<Finding>) -> Ruling {
    let is_serious = |finding: &Finding| finding.severity != Severity::Minor;
    Ruling::Verdict(if findings.iter().any(is_serious) {
        Verdict::Revise { findings }
    } else {
        Verdict::Pass { findings }
    })
}

/// A finding that Forge makes itself.
pub fn finding(
    severity: Severity,
    path: Option<&str>,
    what: String,
    proof: Option<Proof>,
) -> Finding {
    Finding {
        id: String::new(),
        severity,
        path: path.map(str::to_owned),
        line: None,
        what,
        why: String::new(),
        proof,
        was: None,
        doubt: None,
    }
}
