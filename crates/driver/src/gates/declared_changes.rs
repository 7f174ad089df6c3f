//! The gate `changes`: what was changed is what was declared, Forge's own settings are left alone,
//! and the repository's commit hooks take it.
//!
//! What the hooks change by themselves, such as formatting, becomes part of the commit, and that
//! commit is the one that the gates after this one judge.

use forge_agents::CodeAccess;
use forge_core::{
    Report,
    failure::FaultClass,
    item::writes_reach,
    verdict::{Finding, Proof, Severity},
};
use forge_project::{
    protected_files::{ProtectedKind, protected_kind},
    settings::{Frozen, FrozenAgent},
};
use forge_workspace::{
    FileChange, FileChangeKind, GitError, HooksResult, Operation, OperationResult, RunHooks,
};

use crate::{
    Error,
    checkouts::{Span, own_commit, scope_of, span},
    gates::{
        guards::{guard_of, names},
        ruling::{finding, ruling},
    },
    path_list::paths,
    plan::{
        Pending, Plan,
        step::{OnStop, SetUpBefore},
    },
    secrets::NO_SECRET,
};

/// The most findings of one kind; others are counted.
const FINDINGS_MAX: usize = 20;
/// The most bytes of what a hook says.
const HOOK_OUTPUT_MAX: usize = 12 * 1024;

/// The gate `changes`.
pub fn plan(plan: &Plan<'_>) -> Result<Report, Pending> {
    let Plan { context, run, call, .. } = *plan;
    let repository = context.code;
    let unit = call.unit();
    let span = span(repository, run, unit).map_err(Error::from)?;
    let mut receipt = plan.receipt_at(0);
    let mut findings: Vec<Finding> = Vec::new();
    let mut judged_commit = span.to.clone();
    // Work without a commit of its own changed nothing that hooks could look at.
    let is_own = own_commit(run, &scope_of(run, unit)).is_some();
    if is_own && span.from != span.to {
        let hooked = hooked(plan, &span)?;
        receipt.notes.extend(hooked.notes);
        if let Some(refusal) = hooked.refusal {
            let what = format!("the commit hook `{}` refuses it", refusal.hook);
            let command = format!("git commit (hook {})", refusal.hook);
            let proof = Proof::Command { command, output: refusal.output };
            findings.push(finding(Severity::Major, None, what, Some(proof)));
        } else {
            judged_commit.clone_from(&hooked.commit);
            receipt.commit = Some(hooked.commit);
            receipt.tree = Some(hooked.tree);
            if !hooked.changed.is_empty() {
                let files = crate::path_list::short_list(&hooked.changed);
                receipt.notes.push(format!("the commit hooks changed {files}"));
            }
        }
    }
    // What the hooks added is looked at like everything else.
    let changes = repository.changes(&span.from, &judged_commit).map_err(Error::from)?;
    findings.extend(settings(&changes, context.frozen));
    if let Some(item) = run.item(&unit.scope).filter(|item| !item.writes.is_empty()) {
        findings.extend(outside(&changes, &item.id, &item.writes));
    }
    let flaws = run.unit(unit).receipt.as_ref().map(|receipt| receipt.flaws.clone());
    for flaw in flaws.unwrap_or_default() {
        let proof = Proof::Quote { quote: flaw.clone() };
        findings.push(finding(Severity::Major, None, flaw, Some(proof)));
    }
    receipt.changed = paths(&changes);
    receipt.notes.extend(guards(&changes, context.frozen));
    Ok(plan.judged(ruling(findings), receipt))
}

/// Runs the commit hooks on all that the scope has changed, as one commit: what they refused at an
/// earlier attempt is looked at again, and no refused attempt becomes part of the history.
fn hooked(plan: &Plan<'_>, span: &Span) -> Result<HooksResult, Pending> {
    let Plan { context, run, call, ordinal, .. } = *plan;
    let repository = context.code;
    let has_begun = plan.step_was_prepared("open");
    // Whoever merges by hand what conflicted finds no half of a merge in the checkout.
    let is_merged = run.unit(call.unit()).landings > 0;
    if !has_begun && !is_merged && !repository.has_commit_hooks().map_err(Error::from)? {
        let as_it_is = || -> Result<HooksResult, GitError> {
            let commit = repository.squash(&span.from, &span.to, &context.pin(ordinal))?;
            let tree = repository.code_tree(&commit)?;
            let (refusal, changed, notes) = (None, Vec::new(), Vec::new());
            Ok(HooksResult { commit, tree, refusal, changed, notes })
        };
        return Ok(as_it_is().map_err(Error::from)?);
    }
    let place = context.place(run, call.unit());
    let open = || Ok(Operation::Open(context.open(run, call, &place, CodeAccess::Writes)));
    let opened = plan.opened("open", open)?;
    plan.set_up("", &opened, SetUpBefore::Kept)?;
    let order = || {
        let (message, when_ms) =
            (repository.message(&span.to)?, repository.commit_time_ms(&span.to)?);
        let pin = context.pin(ordinal);
        let commit = repository.squash(&span.from, &span.to, &pin)?;
        let (location, output_max) = (place.location.clone(), HOOK_OUTPUT_MAX);
        let accepted = run.definition().start.base.clone();
        Ok(Operation::Hooks(RunHooks {
            location,
            commit,
            message,
            when_ms,
            pin,
            output_max,
            accepted,
        }))
    };
    let made = plan.operation("hooks", OnStop::Cancel, order)?;
    if let OperationResult::Refused(refused) = made {
        plan.notice(NO_SECRET.to_owned());
        let what = format!("what the commit hooks add: {}", refused.flaws.join("\n"));
        return Err(plan.fault(FaultClass::Secret, what));
    }
    let OperationResult::Hooked(hooked) = made else {
        unreachable!("the worker runs hooks when it is asked to")
    };
    Ok(hooked)
}

/// Files that guard the project, listed whether or not the flow asks a person about them. New tests are welcome.
fn guards(changes: &[FileChange], frozen: &Frozen) -> Option<String> {
    let found: Vec<String> = changes
        .iter()
        .filter_map(|change| {
            let guard = guard_of(&change.path, frozen)?;
            let is_welcome = guard == ProtectedKind::Test && change.kind == FileChangeKind::Added;
            (!is_welcome).then(|| format!("{} ({})", change.path, guard.as_str()))
        })
        .collect();
    let listed = crate::path_list::short_list(&found);
    (!found.is_empty()).then(|| format!("changes protected files: {listed}"))
}

/// Changes of what Forge itself goes by. They count for nothing in this run, and are never right.
fn settings(changes: &[FileChange], frozen: &Frozen) -> Vec<Finding> {
    let belongs_to = |path: &str| {
        let is_run = |agent: &FrozenAgent| names(&agent.command.join(" "), path);
        let agent = frozen.agents.values().find(|agent| is_run(agent));
        match (protected_kind(path), agent) {
            (Some(ProtectedKind::Settings), _) => Some("Forge's settings".to_owned()),
            (_, _) if path.starts_with(".forge/runs/") => {
                Some("Forge's files about runs".to_owned())
            }
            // Who could change the program of a reviewer would be its own judge.
            (_, Some(agent)) => Some(format!("the agent `{}`", agent.name)),
            (_, None) => None,
        }
    };
    let found = changes.iter().filter_map(|change| Some((change, belongs_to(&change.path)?)));
    found
        .take(FINDINGS_MAX)
        .map(|(change, owner)| {
            let what = format!("`{}` belongs to {owner}; agents must not change it", change.path);
            finding(Severity::Critical, Some(&change.path), what, None)
        })
        .collect()
}

/// Changes outside the paths that an item declared.
fn outside(changes: &[FileChange], id: &str, writes: &[String]) -> Vec<Finding> {
    let is_inside = |change: &&FileChange| {
        let names = [Some(&change.path), change.renamed_from()];
        names.into_iter().flatten().all(|name| writes_reach(writes, name))
    };
    let outside: Vec<&FileChange> = changes.iter().filter(|change| !is_inside(change)).collect();
    let mut findings: Vec<Finding> = outside
        .iter()
        .take(FINDINGS_MAX)
        .map(|change| {
            let what = format!(
                "`{}` is outside what {id} may change ({})",
                change.path,
                writes.join(", ")
            );
            finding(Severity::Major, Some(&change.path), what, None)
        })
        .collect();
    if let (Some(change), more @ 1..) =
        (outside.get(FINDINGS_MAX), outside.len().saturating_sub(FINDINGS_MAX))
    {
        let what = format!("{more} more files are outside what {id} may change");
        findings.push(finding(Severity::Major, Some(&change.path), what, None));
    }
    findings
}
