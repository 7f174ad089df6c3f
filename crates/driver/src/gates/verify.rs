//! The gate `verify`: the project's checks are green on the exact commit (`proof`), and on the result as a whole they
//! can still fail (`trials`).
//!
//! Invariant: without any command the work is unverified, never passed.

use forge_core::{
    Report,
    event::Ruling,
    flow::{BuiltIn, Check},
};
use forge_project::{
    protected_files::{ProtectedKind, protected_kind},
    settings::FinalCheckout,
};

use crate::{
    Error,
    checkouts::{Caches, Span, judged_commit, span},
    checks::{Checks, checks_at},
    gates::{
        guards::{guard_of, takes_part},
        proof::prove,
        ruling::ruling,
        trials::{self, ProbeResults},
    },
    path_list::paths,
    plan::{Pending, Plan},
};

/// The gate `verify`.
pub fn plan(plan: &Plan<'_>) -> Result<Report, Pending> {
    let Plan { context, run, call, .. } = *plan;
    let scope = &call.unit().scope;
    let commit = judged_commit(run, call.unit());
    let commands = match checks_at(context.frozen, run, context.code, &commit)? {
        Checks::Known(commands) => commands,
        lack @ (Checks::Added(_) | Checks::Nothing(_)) => {
            return Ok(plan.judged(lack.unverified(), plan.receipt_at(0)));
        }
    };
    // What is looked at in the flow's own table is the result as a whole.
    let caches = match context.frozen.verify.r#final {
        FinalCheckout::Pristine if scope.is_root() => Caches::Cleared,
        FinalCheckout::Pristine | FinalCheckout::Cached => Caches::Kept,
    };
    let proved = prove(plan, "", &commit, &commands, caches)?;
    let mut receipt = plan.receipt_at(proved.took_ms);
    receipt.evidence = proved.evidence;
    if scope.is_root() && proved.findings.is_empty() && !is_tried_later(plan)? {
        let tried = probed(plan, &commit, &commands)?;
        receipt.trials = tried.evidence;
        receipt.notes = tried.notes;
        if !tried.dead.is_empty() {
            let (what, found) = (trials::cannot_fail(&tried.dead), Vec::new());
            return Ok(plan.judged(Ruling::Unverified { what, found }, receipt));
        }
    }
    Ok(plan.judged(ruling(proved.findings), receipt))
}

/// Whether the unit's own change is one that its gate `guarded` tries the checks with.
fn is_tried_later(plan: &Plan<'_>) -> Result<bool, Error> {
    let Plan { context, run, call, .. } = *plan;
    let guarded = Check::BuiltIn { check: BuiltIn::Guarded };
    if !run.stage(call.unit()).gates.iter().any(|gate| gate.check == guarded) {
        return Ok(false);
    }
    let Span { from, to } = span(context.code, run, call.unit())?;
    let changes = context.code.changes(&from, &to)?;
    Ok(changes.iter().any(|change| guard_of(&change.path, context.frozen).is_some_and(takes_part)))
}

/// Whether the checks of the result as a whole can still fail. Where nothing changed, they can as they could before.
fn probed(plan: &Plan<'_>, commit: &str, commands: &[String]) -> Result<ProbeResults, Pending> {
    let code = plan.context.code;
    let base = plan.run.definition().start.base.as_deref();
    let base = base.expect("a run with checkouts has a base");
    let changes = code.changes(base, commit).map_err(Error::from)?;
    if changes.is_empty() {
        return Ok(ProbeResults::default());
    }
    let is_test = |path: &String| protected_kind(path) == Some(ProtectedKind::Test);
    let near: Vec<String> = paths(&changes).into_iter().filter(is_test).collect();
    trials::probe(plan, commit, &near, commands)
}
