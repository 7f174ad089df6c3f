//! The project's own checks on the exact commit, run by us.
//!
//! The checkout belongs to the run, and no agent is told of it. Before each proof it is brought to
//! exactly the commit, with nothing in it that the commit does not have but caches of an earlier
//! proof that was green; afterwards it is looked at whether the checks left the files alone.
//!
//! Not here: what follows from it (`verify`, `land`), and trials of the checks themselves (`trials`).
//!
//! Invariant: green evidence is bound to the code tree that the commands ran on.

use std::collections::BTreeSet;

use forge_core::{
    event::{CheckFailure, Colour, Evidence, ProofStart},
    failure::fingerprint,
    verdict::{Finding, Proof, RED_AT_THE_BASE, Severity},
};
use forge_project::test_output::{TestOutcome, excerpt, read_test_outcomes};

use forge_workspace::CachesAfter;

use crate::{
    Error,
    checkouts::Caches,
    gates::ruling::finding,
    outcome::{CommandEnd, command_end},
    path_list::short_list,
    plan::{Pending, Plan},
    setup::environment::variables_left_out,
};

/// The most lines of red output that a brief repeats.
const OUTPUT_LINES_MAX: usize = 120;
/// The most bytes of red output that a brief repeats.
const OUTPUT_BYTES_MAX: usize = 12 * 1024;
/// The most failing tests of a check that are kept by name.
const FAILED_TESTS_MAX: usize = 1_000;

/// What the project's checks came to on one commit.
pub(super) struct Proved {
    pub evidence: Vec<Evidence>,
    pub findings: Vec<Finding>,
    /// How long it took.
    pub took_ms: u64,
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
    let start = match caches {
        Caches::Kept => ProofStart::Cached,
        Caches::Cleared => ProofStart::Pristine,
    };
    // What was proved from nothing is proved with caches as well, not the other way round.
    let known = |command: &String| run.green_start(&tree, command).filter(|known| *known >= start);
    if !commands.iter().all(|command| known(command).is_some()) {
        let opened =
            plan.opened_for_proof(prefix, || context.open_verification(run, commit, caches))?;
        for (number, command) in (1..).zip(commands) {
            if known(command).is_some() {
                continue;
            }
            let name = format!("{prefix}check-{number}");
            let (folder, ending) =
                plan.shell(&name, command, &opened.tree, context.check_limits())?;
            let took_ms = ending.ended_at_ms.saturating_sub(ending.started_at_ms);
            proved.took_ms += took_ms;
            let (colour, failure) = match command_end(plan.context.executor, &folder, &ending) {
                CommandEnd::Success => (Colour::Green, None),
                CommandEnd::Failure { code, .. } => {
                    let output = plan.transcript(&folder)?;
                    proved.findings.push(red(command, code, &output));
                    (Colour::Red, Some(failure(&output)))
                }
                CommandEnd::Fault { class, what } => {
                    return Err(plan.fault(class, format!("{what}\n`{command}` printed nothing")));
                }
                CommandEnd::Interrupted => return Err(plan.interrupted()),
            };
            let (command, tree) = (command.clone(), tree.clone());
            let took_ms = Some(took_ms);
            proved.evidence.push(Evidence { command, tree, colour, took_ms, start, failure });
        }
        // Code whose checks are red may have left something in the caches that makes the next ones green.
        let caches =
            if proved.findings.is_empty() { CachesAfter::Sealed } else { CachesAfter::Unsealed };
        if let Some(touched) = touched(plan, prefix, commit, caches)? {
            proved.evidence.clear();
            proved.findings.push(touched);
        }
        // What the run added was not there when it began.
        if !context.frozen.verify.commands.is_empty() {
            at_the_base(plan, prefix, &tree, &mut proved)?;
        }
    }
    for command in commands {
        let Some(start) = known(command) else { continue };
        let (command, tree) = (command.clone(), tree.clone());
        let (colour, took_ms, failure) = (Colour::Green, None, None);
        proved.evidence.push(Evidence { command, tree, colour, took_ms, start, failure });
    }
    Ok(proved)
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

/// Whether the checks changed files of the commit: then they proved something else.
fn touched(
    plan: &Plan<'_>,
    prefix: &str,
    commit: &str,
    caches: CachesAfter,
) -> Result<Option<Finding>, Pending> {
    let repository = plan.context.code;
    let discarded = plan.sealed(prefix, plan.context.seal_verification(commit, caches))?;
    if discarded.is_empty() {
        return Ok(None);
    }
    let tracked: BTreeSet<String> =
        repository.files_at(commit, "").map_err(Error::from)?.into_iter().collect();
    let touched: Vec<String> =
        discarded.into_iter().filter(|path| tracked.contains(path)).collect();
    Ok(touched.first().map(|first| {
        let what = format!(
            "files of the commit changed during the checks, so nothing is proved: {}",
            short_list(&touched)
        );
        finding(Severity::Major, Some(first), what, None)
    }))
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
        let (colour, failed) = if let Some(colour) = run.evidence(&base_tree, command) {
            (Some(colour), run.check_failure(&base_tree, command).cloned())
        } else {
            let opened = plan
                .opened_for_proof(&prefix, || context.open_verification(run, base, Caches::Kept))?;
            let name = format!("{prefix}check-{number}");
            let (folder, ending) =
                plan.shell(&name, command, &opened.tree, context.check_limits())?;
            let took_ms = Some(ending.ended_at_ms.saturating_sub(ending.started_at_ms));
            let (colour, failed) = match command_end(plan.context.executor, &folder, &ending) {
                CommandEnd::Success => (Some(Colour::Green), None),
                CommandEnd::Failure { .. } => {
                    red_there.push(command.clone());
                    (Some(Colour::Red), Some(failure(&plan.transcript(&folder)?)))
                }
                CommandEnd::Fault { .. } => (None, None),
                CommandEnd::Interrupted => return Err(plan.interrupted()),
            };
            proved.evidence.extend(colour.map(|colour| Evidence {
                command: command.clone(),
                tree: base_tree.clone(),
                colour,
                took_ms,
                start: ProofStart::Cached,
                failure: failed.clone(),
            }));
            (colour, failed)
        };
        if colour != Some(Colour::Green) {
            caches = CachesAfter::Unsealed;
        }
        let here = proved.evidence.iter().find(|of| of.command == *command && of.tree == tree);
        let here = here.and_then(|evidence| evidence.failure.as_ref());
        let words = match (colour, here.zip(failed.as_ref())) {
            (Some(Colour::Red), Some((here, there))) if here.repeats(there) => RED_AT_THE_BASE,
            (Some(Colour::Red), Some(_)) => {
                "It also failed on the commit the run started from, but not in the same way."
            }
            (Some(Colour::Red), None) => {
                "It also failed on the commit the run started from, perhaps not in the same way."
            }
            (Some(Colour::Green), _) => "It passed on the commit the run started from.",
            (None, _) => "Its result on the commit the run started from is unknown.",
        };
        let of_it = |finding: &&mut Finding| matches!(&finding.proof, Some(Proof::Command { command: failed, .. }) if failed == command);
        for finding in proved.findings.iter_mut().filter(of_it) {
            words.clone_into(&mut finding.why);
        }
    }
    if red.iter().any(|command| run.evidence(&base_tree, command).is_none()) {
        plan.sealed(&prefix, context.seal_verification(base, caches))?;
    }
    name_missing(plan, &prefix, base, &red_there)
}

/// Ends the look where a check that is red at the base only lacks variables of the person's. Nothing that an
/// agent made is in the checkout then, neither files nor caches.
fn name_missing(plan: &Plan<'_>, prefix: &str, base: &str, red: &[String]) -> Result<(), Pending> {
    let Plan { context, run, .. } = *plan;
    if red.is_empty() || variables_left_out(&context.frozen.verify.pass).is_empty() {
        return Ok(());
    }
    let prefix = format!("{prefix}variables-");
    let opened =
        plan.opened_for_proof(&prefix, || context.open_verification(run, base, Caches::Cleared))?;
    for (number, command) in (1..).zip(red) {
        let name = format!("{prefix}check-{number}");
        plan.name_missing(&name, command, &opened.tree, context.check_limits())?;
    }
    plan.sealed(&prefix, context.seal_verification(base, CachesAfter::Unsealed))?;
    Ok(())
}
