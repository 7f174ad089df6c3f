//! A ruling of a gate, its findings and its receipt.

use forge_core::{
    Report,
    event::{Receipt, Ruling},
    id::{CallId, JudgementId},
    money::Spent,
    verdict::{Finding, Proof, Severity, Verdict},
};

use crate::plan::Plan;

/// What a gate of ours comes to.
pub fn judged(plan: &Plan<'_>, ruling: Ruling, receipt: Receipt) -> Report {
    Report::Judged { judgement: judgement(plan).clone(), ruling, receipt }
}

pub fn judgement<'a>(plan: &Plan<'a>) -> &'a JudgementId {
    match plan.call {
        CallId::Judgement(judgement) => judgement,
        CallId::Attempt(_) => unreachable!("only gates judge"),
    }
}

/// Pass, or back with what was found.
pub fn ruling(findings: Vec<Finding>) -> Ruling {
    let is_serious = |finding: &Finding| finding.severity != Severity::Minor;
    Ruling::Verdict(if findings.iter().any(is_serious) {
        Verdict::Revise { findings }
    } else {
        Verdict::Pass { findings }
    })
}

/// A finding of ours.
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
    }
}

/// The receipt of a look at a commit. A scope that made none of its own stands for none.
pub fn receipt_at(plan: &Plan<'_>, took_ms: u64) -> Receipt {
    let mut receipt = Receipt { took_ms, ..Receipt::from_spent(Spent::NOTHING) };
    if let Some(code) = plan.run.code(&plan.call.unit().scope) {
        receipt.commit = Some(code.commit.clone());
        receipt.tree = Some(code.tree.clone());
    }
    receipt
}
