//! The gates that Forge looks through itself, one file each. What they run, they run under keepers.
//!
//! - `verify`: the project's own checks on the exact commit, in a checkout that no agent is given.
//! - `land`: the change becomes part of the run's result.
//! - `changes`: what was changed is what was declared, and the commit hooks take it.
//! - `guarded`: whether files that guard the project were changed.
//! - `checks`: which commands prove a commit.
//! - `new_tests`: new tests fail without the change and pass with it.
//!
//! Not here: artifacts, commands and reviews (`intake.rs`), and what follows from a verdict (`core`).
//!
//! Invariant: what cannot be read, run or proved is never a pass.

pub mod declared_changes;
pub mod land;
pub mod new_tests;
pub mod protected_files;
pub mod verify;

use forge_core::{
    Report, Run,
    event::{Receipt, Ruling},
    flow::BuiltIn,
    id::{CallId, JudgementId, UnitId},
    money::Spent,
    verdict::{Finding, Proof, Severity, Verdict},
};
use forge_workspace::{GitError, Repository};

use crate::{
    checkouts::{commit_of, own_commit, scope_of},
    plan::{Halt, Plan},
};

/// Brings a built-in check on as far as it goes.
pub fn built_in(plan: &Plan<'_>, check: BuiltIn) -> Result<Report, Halt> {
    match check {
        BuiltIn::Changes => declared_changes::plan(plan),
        BuiltIn::Guarded => protected_files::plan(plan),
        BuiltIn::NewTests => new_tests::plan(plan),
    }
}

/// What a gate of ours comes to.
fn judged(plan: &Plan<'_>, ruling: Ruling, receipt: Receipt) -> Report {
    Report::Judged { judgement: judgement(plan).clone(), ruling, receipt }
}

fn judgement<'a>(plan: &Plan<'a>) -> &'a JudgementId {
    match plan.call {
        CallId::Judgement(judgement) => judgement,
        CallId::Attempt(_) => unreachable!("only gates judge"),
    }
}

/// Pass, or back with what was found.
fn ruling(findings: Vec<Finding>) -> Ruling {
    let is_serious = |finding: &Finding| finding.severity != Severity::Minor;
    Ruling::Verdict(if findings.iter().any(is_serious) {
        Verdict::Revise { findings }
    } else {
        Verdict::Pass { findings }
    })
}

/// A finding of ours.
fn finding(severity: Severity, path: Option<&str>, what: String, proof: Option<Proof>) -> Finding {
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

/// The change that a scope stands for: from where it left the run's result, to where it stands.
#[derive(Clone, Debug)]
pub struct Span {
    /// What it is compared with.
    pub from: String,
    /// Where it stands.
    pub to: String,
}

/// The change that a look at a unit is about: that of the scope whose checkout it works in.
pub fn span(repository: &Repository, run: &Run, unit: &UnitId) -> Result<Span, GitError> {
    let to = judged_commit(run, unit);
    let head = run.head().expect("a run with checkouts has a base");
    let scope = scope_of(run, unit);
    // A look from the flow's own table, at no change of its own, is one at the whole run.
    let from = if scope.is_root() && own_commit(run, &scope).is_none() {
        run.law().start.base.clone().expect("a run with checkouts has a base")
    } else {
        repository.merge_base(head, &to)?
    };
    Ok(Span { from, to })
}

/// All that the run has changed so far, as the checkout of a unit shows it.
pub fn so_far(run: &Run, unit: &UnitId) -> Span {
    let base = run.law().start.base.clone();
    Span { from: base.expect("a run with checkouts has a base"), to: judged_commit(run, unit) }
}

/// The commit that a look at a unit is about.
fn judged_commit(run: &Run, unit: &UnitId) -> String {
    commit_of(run, &scope_of(run, unit))
}

/// The receipt of a look at a commit. A scope that made none of its own stands for none.
fn receipt_at(plan: &Plan<'_>, took_ms: u64) -> Receipt {
    let mut receipt = Receipt { took_ms, ..Receipt::of(Spent::NOTHING) };
    if let Some(code) = plan.run.code(&plan.call.unit().scope) {
        receipt.commit = Some(code.commit.clone());
        receipt.tree = Some(code.tree.clone());
    }
    receipt
}
