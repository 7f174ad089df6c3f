//! The project's own checks on the exact commit, run by us.
//!
//! The checkout belongs to the run, and no agent is told of it. Before each proof it is brought to
//! exactly the commit, with nothing in it that the commit does not have but caches of an earlier
//! proof that was green; afterwards it is looked at whether the checks left the files alone.
//!
//! Invariant: green evidence is bound to the code tree that the commands ran on.
//! Invariant: without any command the work is unverified, never passed.

use std::collections::BTreeSet;

use forge_core::{
    Report,
    event::{CheckFailure, Colour, Evidence},
    failure::fingerprint,
    verdict::{Finding, Proof, RED_AT_THE_BASE, Severity},
};
use forge_keeper::{AttemptFolder, StepLimits};
use forge_project::{
    settings::FinalCheckout,
    test_output::{TestOutcome, excerpt, read_test_outcomes},
};
use forge_workspace::{CachesAfter, FileAccess, Operation, OperationResult, RestoreFiles};

use crate::{
    Error,
    checkouts::{Caches, judged_commit},
    checks::{Checks, checks_at},
    executor::Executor,
    gates::ruling::{finding, ruling},
    outcome::{CommandEnd, command_end},
    path_list::short_list,
    plan::{
        Pending, Plan,
        step::{OnStop, SetUpBefore},
    },
    setup::environment::variables_left_out,
};

/// The most lines of red output that a brief repeats.
const OUTPUT_LINES_MAX: usize = 120;
/// The most bytes of red output that a brief repeats.
const OUTPUT_BYTES_MAX: usize = 12 * 1024;
/// The most failing tests of a check that are kept by name.
const FAILED_TESTS_MAX: usize = 1_000;
/// The last bytes of a transcript that are looked at.
const TRANSCRIPT_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// What the project's checks came to on one commit.
pub(super) struct Proved {
    pub evidence: Vec<Evidence>,
    pub findings: Vec<Finding>,
    /// How long it took.
    pub took_ms: u64,
}

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
    Ok(plan.judged(ruling(proved.findings), receipt))
}

/// Runs all checks of the project on a commit. Names of its steps begin with `prefix`.
pub(super) fn prove(
    plan: &Plan<'_>,
    prefix: &str,
    commit: &str,
    commands: &[String],
    caches: Caches,
) -> Result<Proved, Pending> {
    let Plan { context, run, .. } = *plan;
    let repository = context.code;
    let tree = repository.code_tree(commit).map_err(Error::from)?;
    let mut proved = Proved { evidence: Vec::new(), findings: Vec::new(), took_ms: 0 };
    let known = |command: &String| {
        caches == Caches::Kept && run.evidence(&tree, command) == Some(Colour::Green)
    };
    if !commands.iter().all(known) {
        let opened = open(plan, prefix, commit, caches)?;
        for (number, command) in (1..).zip(commands) {
            if known(command) {
                continue;
            }
            let name = format!("{prefix}check-{number}");
            let (folder, ending) = plan.shell(&name, command, &opened.tree, limits(plan))?;
            let took_ms = ending.ended_at_ms.saturating_sub(ending.started_at_ms);
            proved.took_ms += took_ms;
            let (colour, failure) = match command_end(plan.context.executor, &folder, &ending) {
                CommandEnd::Success => (Colour::Green, None),
                CommandEnd::Failure { code, .. } => {
                    let output = transcript(context.executor, &folder)?;
                    proved.findings.push(red(command, code, &output));
                    (Colour::Red, Some(failure(&output)))
                }
                CommandEnd::Fault { class, what } => {
                    return Err(plan.fault(class, format!("{what}\n`{command}` says nothing")));
                }
                CommandEnd::Interrupted => return Err(plan.interrupted()),
            };
            let (command, tree) = (command.clone(), tree.clone());
            let took_ms = Some(took_ms);
            proved.evidence.push(Evidence { command, tree, colour, took_ms, failure });
        }
        let caches = caches_after(&proved.evidence);
        if let Some(touched) = touched(plan, prefix, commit, caches)? {
            proved.evidence.clear();
            proved.findings.push(touched);
        }
        // What the run added was not there when it began.
        if !context.frozen.verify.commands.is_empty() {
            at_the_base(plan, prefix, &tree, &mut proved)?;
        }
    }
    for command in commands.iter().filter(|command| known(command)) {
        let (command, tree) = (command.clone(), tree.clone());
        let (colour, took_ms, failure) = (Colour::Green, None, None);
        proved.evidence.push(Evidence { command, tree, colour, took_ms, failure });
    }
    Ok(proved)
}

/// The checkout for proofs, at a commit.
pub(super) fn open(
    plan: &Plan<'_>,
    prefix: &str,
    commit: &str,
    caches: Caches,
) -> Result<forge_workspace::OpenedCheckout, Pending> {
    let order = || Ok(Operation::Open(plan.context.open_verification(plan.run, commit, caches)));
    let opened = plan.opened(&format!("{prefix}open"), order)?;
    // What a set-up makes outside the caches is gone.
    plan.set_up(prefix, &opened, SetUpBefore::Gone)?;
    Ok(opened)
}

/// How much one check may take.
pub(super) fn limits(plan: &Plan<'_>) -> StepLimits {
    let verify = &plan.context.frozen.verify;
    StepLimits { wall_ms: verify.timeout_ms, silence_ms: 0, output_bytes: verify.output_bytes }
}

fn red(command: &str, code: i32, output: &str) -> Finding {
    let output = excerpt(output, OUTPUT_LINES_MAX, OUTPUT_BYTES_MAX);
    let proof = Proof::Command { command: command.to_owned(), output };
    let what = format!("`{command}` failed with exit code {code}");
    finding(Severity::Major, None, what, Some(proof))
}

/// What a failure is known by when it is seen again.
fn failure(output: &str) -> CheckFailure {
    let failed = |(name, outcome)| (outcome == TestOutcome::Failed).then_some(name);
    let tests = read_test_outcomes(output);
    let mut tests: Option<Vec<String>> =
        tests.map(|tests| tests.into_iter().filter_map(failed).collect());
    // A list that is cut would hide a test that did not fail before.
    if tests.as_ref().is_some_and(|tests| tests.len() > FAILED_TESTS_MAX) {
        tests = None;
    }
    CheckFailure { fingerprint: fingerprint(output), tests }
}

/// The end of what a step printed.
pub(super) fn transcript(executor: &dyn Executor, folder: &AttemptFolder) -> Result<String, Error> {
    crate::outcome::tail_of(executor, &folder.transcript(), TRANSCRIPT_BYTES_MAX)
        .map_err(|error| Error::file(&folder.transcript(), &error))
}

/// Whether the checks changed files of the commit: then they proved something else.
fn touched(
    plan: &Plan<'_>,
    prefix: &str,
    commit: &str,
    caches: CachesAfter,
) -> Result<Option<Finding>, Pending> {
    let repository = plan.context.code;
    let discarded = seal(plan, prefix, commit, caches)?;
    if discarded.is_empty() {
        return Ok(None);
    }
    let tracked: BTreeSet<String> =
        repository.files_at(commit, "").map_err(Error::from)?.into_iter().collect();
    let touched: Vec<String> =
        discarded.into_iter().filter(|path| tracked.contains(path)).collect();
    Ok(touched.first().map(|first| {
        let what = format!(
            "files of the commit changed while it was verified, so nothing is proved: {}",
            short_list(&touched)
        );
        finding(Severity::Major, Some(first), what, None)
    }))
}

/// The next proof may use the caches of one in which every check was green.
fn caches_after(evidence: &[Evidence]) -> CachesAfter {
    if evidence.iter().all(|evidence| evidence.colour == Colour::Green) {
        CachesAfter::Sealed
    } else {
        CachesAfter::Unsealed
    }
}

/// Puts the files back after a proof. What differed.
pub(super) fn seal(
    plan: &Plan<'_>,
    prefix: &str,
    commit: &str,
    caches: CachesAfter,
) -> Result<Vec<String>, Pending> {
    let order = || {
        let location = plan.context.verification();
        Ok(Operation::Restore(RestoreFiles {
            location,
            at: commit.to_owned(),
            access: FileAccess::Write,
            caches,
        }))
    };
    let made = plan.operation(&format!("{prefix}seal"), OnStop::Cancel, order)?;
    let OperationResult::Restored(restored) = made else {
        unreachable!("the worker puts back what it is asked to put back")
    };
    Ok(restored.discarded)
}

/// What is red is looked at where the run started, too: that may be nobody's fault.
fn at_the_base(
    plan: &Plan<'_>,
    prefix: &str,
    tree: &str,
    proved: &mut Proved,
) -> Result<(), Pending> {
    let Plan { context, run, .. } = *plan;
    let base = run.definition().start.base.as_deref().expect("a run with checkouts has a base");
    let base_tree = context.code.code_tree(base).map_err(Error::from)?;
    let red: Vec<String> = proved
        .evidence
        .iter()
        .filter(|evidence| evidence.colour == Colour::Red)
        .map(|evidence| evidence.command.clone())
        .collect();
    if red.is_empty() {
        return Ok(());
    }
    let prefix = format!("{prefix}base-");
    if base_tree == tree {
        return name_missing(plan, &prefix, base, &red);
    }
    let mut caches = CachesAfter::Sealed;
    let mut red_there = Vec::new();
    for (number, command) in (1..).zip(&red) {
        let colour = if let Some(colour) = run.evidence(&base_tree, command) {
            Some(colour)
        } else {
            let opened = open(plan, &prefix, base, Caches::Kept)?;
            let name = format!("{prefix}check-{number}");
            let (folder, ending) = plan.shell(&name, command, &opened.tree, limits(plan))?;
            let took_ms = Some(ending.ended_at_ms.saturating_sub(ending.started_at_ms));
            let colour = match command_end(plan.context.executor, &folder, &ending) {
                CommandEnd::Success => Some(Colour::Green),
                CommandEnd::Failure { .. } => {
                    red_there.push(command.clone());
                    Some(Colour::Red)
                }
                CommandEnd::Fault { .. } => None,
                CommandEnd::Interrupted => return Err(plan.interrupted()),
            };
            proved.evidence.extend(colour.map(|colour| Evidence {
                command: command.clone(),
                tree: base_tree.clone(),
                colour,
                took_ms,
                failure: None,
            }));
            colour
        };
        if colour != Some(Colour::Green) {
            caches = CachesAfter::Unsealed;
        }
        let words = match colour {
            Some(Colour::Red) => RED_AT_THE_BASE,
            Some(Colour::Green) => "It succeeded where the run started.",
            None => "What it says where the run started could not be found out.",
        };
        let of_it = |finding: &&mut Finding| matches!(&finding.proof, Some(Proof::Command { command: failed, .. }) if failed == command);
        for finding in proved.findings.iter_mut().filter(of_it) {
            words.clone_into(&mut finding.why);
        }
    }
    if red.iter().any(|command| run.evidence(&base_tree, command).is_none()) {
        seal(plan, &prefix, base, caches)?;
    }
    name_missing(plan, &prefix, base, &red_there)
}

/// Ends the look where a check that is red at the base only lacks variables of the person's. Nothing that an
/// agent made is in the checkout then, neither files nor caches.
fn name_missing(plan: &Plan<'_>, prefix: &str, base: &str, red: &[String]) -> Result<(), Pending> {
    if red.is_empty() || variables_left_out(&plan.context.frozen.verify.pass).is_empty() {
        return Ok(());
    }
    let prefix = format!("{prefix}variables-");
    let opened = open(plan, &prefix, base, Caches::Cleared)?;
    for (number, command) in (1..).zip(red) {
        let name = format!("{prefix}check-{number}");
        plan.name_missing(&name, command, &opened.tree, limits(plan))?;
    }
    seal(plan, &prefix, base, CachesAfter::Unsealed)?;
    Ok(())
}
