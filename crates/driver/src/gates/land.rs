//! The gate `land`: the change that was judged becomes part of the run's result.
//!
//! It is merged with what landed before, without touching any checkout; the merge is verified as
//! a whole; then the gate passes. The refs follow the facts: see `refs.rs`.
//!
//! Invariant: the commit that lands is the one that was judged, or a clean merge of it.

use forge_core::{
    Report,
    event::Ruling,
    flow::Check,
    verdict::{Finding, Proof, Severity, Verdict},
};
use forge_workspace::{MergeCommits, MergeConflict, MergeResult, Operation, OperationResult};

use crate::{
    Error,
    checkouts::{Caches, judged_commit},
    checks::{Checks, checks_at},
    gates::{proof::prove, ruling::ruling},
    plan::{Pending, Plan, step::OnStop},
};

/// The gate `land`.
pub fn plan(plan: &Plan<'_>) -> Result<Report, Pending> {
    let Plan { context, run, call, ordinal, .. } = *plan;
    let repository = context.code;
    let unit = call.unit();
    let commit = judged_commit(run, unit);
    let head = run.head().expect("a run with checkouts has a base").to_owned();
    let order = || {
        let title = run.item(&unit.scope).map(|item| item.title.clone());
        let title = title.filter(|title| !title.is_empty());
        let name = run.item(&unit.scope).map_or(&unit.stage, |item| &item.id);
        let subject = match title {
            Some(title) => format!("Merge {name}: {title}"),
            None => format!("Merge {name}"),
        };
        Ok(Operation::Merge(MergeCommits {
            location: context.verification(),
            head: head.clone(),
            commit: commit.clone(),
            message: format!(
                "{subject}\n\nForge-Run: {}\nForge-Call: {}\n",
                context.id,
                call.commit_trailer()
            ),
            when_ms: repository.commit_time_ms(&commit)?,
            pin: context.pin(ordinal),
        }))
    };
    let OperationResult::Merged(merged) = plan.operation("merge", OnStop::Cancel, order)? else {
        unreachable!("the worker was asked to merge")
    };
    let mut receipt = plan.receipt_at(0);
    let landed = match merged {
        MergeResult::Conflict { conflicts } => {
            let findings = conflicts.iter().map(conflict).collect();
            let ruling = Ruling::Verdict(Verdict::Revise { findings });
            return Ok(plan.judged(ruling, receipt));
        }
        MergeResult::AlreadyMerged { head } => head,
        MergeResult::FastForward { commit, .. } | MergeResult::Merge { commit, .. } => commit,
    };
    let gates = &run.stage(unit).gates;
    let mut verifies = gates.iter().filter(|gate| gate.check == Check::Verify);
    let is_waived = verifies.any(|gate| run.unit(unit).waived.contains(&gate.name));
    if is_waived {
        receipt.notes.push("merged without proof: the checks were overridden".to_owned());
    } else {
        match checks_at(context.frozen, run, repository, &landed)? {
            lack @ (Checks::Added(_) | Checks::Nothing(_)) => {
                return Ok(plan.judged(lack.unverified(), receipt));
            }
            Checks::Known(commands) if landed != head => {
                let proved = prove(plan, "merged-", &landed, &commands, Caches::Kept)?;
                receipt.evidence = proved.evidence;
                receipt.took_ms = proved.took_ms;
                let verdict = ruling(proved.findings);
                if !matches!(verdict, Ruling::Verdict(Verdict::Pass { .. })) {
                    return Ok(plan.judged(verdict, receipt));
                }
            }
            Checks::Known(_) => {}
        }
    }
    receipt.commit = Some(commit);
    receipt.tree = Some(repository.code_tree(&landed).map_err(Error::from)?);
    receipt.notes.extend(base_moved(plan, &landed)?);
    receipt.head = Some(landed);
    Ok(plan.judged(ruling(Vec::new()), receipt))
}

/// Where both sides changed the same place, with both sides shown.
fn conflict(conflict: &MergeConflict) -> Finding {
    let MergeConflict { path, what, ours, theirs } = conflict;
    let quote = format!("merged meanwhile:\n{ours}\nthis change:\n{theirs}");
    Finding {
        why: "Both changed the same place. The result so far is merged into your checkout."
            .to_owned(),
        ..crate::gates::ruling::finding(
            Severity::Major,
            Some(path),
            format!("it conflicts with work that was merged meanwhile: {what}"),
            Some(Proof::Quote { quote }),
        )
    }
}

/// The branch that the run came from may have moved on: nothing stops, but a person should know.
fn base_moved(plan: &Plan<'_>, landed: &str) -> Result<Option<String>, Error> {
    let start = &plan.run.definition().start;
    let (Some(branch), Some(base)) = (&start.base_branch, &start.base) else { return Ok(None) };
    let moved = plan.context.code.branch_advance(branch, base, landed)?;
    Ok(moved.map(|moved| {
        let n = moved.n_commits;
        let commits = if n == 1 { "one commit".to_owned() } else { format!("{n} commits") };
        if moved.conflicts.is_empty() {
            format!("`{branch}` has moved on by {commits} since the run started; no conflict is foreseen")
        } else {
            format!(
                "`{branch}` has moved on by {commits} since the run started, and both change {}",
                crate::path_list::short_list(&moved.conflicts)
            )
        }
    }))
}
