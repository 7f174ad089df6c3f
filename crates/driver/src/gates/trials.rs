//! Trials of the checks themselves: can they still go red, do the tests as they were agree to the new code, and do
//! all tests still run?
//!
//! The checks are run on commits of Forge's own making: the change with the test and runner files as they were, and
//! the change with a test that must fail ([`test_probes`]). A check that stays green with such a test where the run
//! started, too, says nothing, and that is told.
//!
//! Not here: what follows from it (`protected_files`, `verify`).
//!
//! Invariant: what a trial said is bound to the tree it ran on; the same tree is not tried twice in a run.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    event::{Colour, Evidence, ProofStart},
    hex::hex,
};
use forge_project::{
    commit_files::CommitTree,
    detect::ProjectFiles,
    settings::FinalCheckout,
    test_output::{
        TestCounts, TestOutcome, excerpt, naming_tests, read_test_counts, read_test_outcomes,
    },
    test_probes::{PROBE_WORDS, test_probes},
    test_weakening::ChecksProved,
};
use forge_workspace::{CachesAfter, Operation, OverlayFile};
use sha2::{Digest as _, Sha256};

use crate::{
    Error,
    checkouts::{Caches, Span},
    outcome::{CommandEnd, command_end},
    path_list::short_list,
    plan::{Pending, Plan},
};

/// The most lines and bytes of red output that a finding repeats.
const OUTPUT_LINES_MAX: usize = 60;
const OUTPUT_BYTES_MAX: usize = 6 * 1024;

/// One check on one commit.
pub(super) struct Trial {
    pub command: String,
    pub colour: Colour,
    /// What it printed; nothing if it was known before.
    pub output: String,
    /// Whether an earlier call of the run found it out.
    pub is_known: bool,
}

/// The results of all trials of one change.
#[derive(Default)]
pub(super) struct TrialResults {
    /// Checks that fail with the test and runner files as they were, and succeed with the change: with their output.
    pub bent: Vec<(String, String)>,
    /// Sentences about tests that ran before and do not now.
    pub gone: Vec<String>,
    pub probed: ProbeResults,
    /// Whether tests were compared by name or by number.
    pub is_compared: bool,
    pub notes: Vec<String>,
    pub evidence: Vec<Evidence>,
}

/// What a test that must fail did to each check.
#[derive(Default)]
pub(super) struct ProbeResults {
    /// It turns these red.
    pub alive: Vec<String>,
    /// It turned these red where the run started, and does not now.
    pub dead: Vec<String>,
    pub notes: Vec<String>,
    pub evidence: Vec<Evidence>,
}

impl TrialResults {
    /// Whether everything that can be tried was, and found nothing.
    pub(super) fn is_sound(&self) -> bool {
        self.bent.is_empty() && self.gone.is_empty() && self.probed.dead.is_empty()
    }

    pub(super) fn proved(&self) -> ChecksProved {
        if self.is_sound() && !self.probed.alive.is_empty() {
            ChecksProved::Yes
        } else {
            ChecksProved::No
        }
    }
}

/// Tries the checks of a change that touches test or runner files.
pub(super) fn try_change(
    plan: &Plan<'_>,
    span: &Span,
    originals: Vec<OverlayFile>,
    near: &[String],
    commands: &[String],
) -> Result<TrialResults, Pending> {
    let code = plan.context.code;
    let mut tried = TrialResults::default();
    let original = overlaid(plan, "original-", &span.to, || Ok(originals))?;
    let tree = |commit: &str| code.code_tree(commit).map_err(Error::from);
    let here = tree(&span.to)?;
    let both = format!("{}..{here}", tree(&original)?);
    // What was compared before, and was the same, is not run again.
    let is_known = |command: &String| plan.run.evidence(&both, command) == Some(Colour::Green);
    let (known, unknown): (Vec<String>, Vec<String>) = commands.iter().cloned().partition(is_known);
    tried.is_compared = !known.is_empty();
    // What the changed tests and runner files left in caches must not answer for the original ones.
    let caches = match plan.context.frozen.verify.r#final {
        FinalCheckout::Pristine => Caches::Cleared,
        FinalCheckout::Cached => Caches::Kept,
    };
    let before = run_all(plan, "original-", &original, &unknown, caches, CachesAfter::Unsealed)?;
    let named = before.iter().filter(|trial| Tests::read(trial).is_some());
    let named: Vec<String> = named.map(|trial| trial.command.clone()).collect();
    let after = run_all(plan, "changed-", &span.to, &named, Caches::Kept, CachesAfter::Unsealed)?;
    for trial in &before {
        let command = &trial.command;
        let changed = after.iter().find(|after| after.command == *command);
        let colour = changed.map(|changed| changed.colour).or(plan.run.evidence(&here, command));
        if trial.colour == Colour::Red && colour != Some(Colour::Red) {
            let output = excerpt(&trial.output, OUTPUT_LINES_MAX, OUTPUT_BYTES_MAX);
            tried.bent.push((command.clone(), output));
        }
        let mut is_same = false;
        if let (Some(before), Some(after)) = (Tests::read(trial), changed.and_then(Tests::read)) {
            if trial.colour == Colour::Green {
                let gone: Vec<String> = before.missing_in(&after).collect();
                is_same = gone.is_empty();
                tried.gone.extend(gone.iter().map(|what| format!("`{command}`: {what}")));
                tried.is_compared = true;
            }
        } else {
            tried.notes.push(format!(
                "`{command}` does not report which tests it ran, so a test that is gone would not be \
                 noticed"
            ));
        }
        tried.evidence.push(Evidence {
            command: command.clone(),
            tree: both.clone(),
            colour: if is_same { Colour::Green } else { Colour::Red },
            took_ms: None,
            start: ProofStart::Cached,
            failure: None,
        });
    }
    tried.probed = probe(plan, &span.to, near, commands)?;
    tried.evidence.append(&mut tried.probed.evidence);
    tried.notes.append(&mut tried.probed.notes);
    Ok(tried)
}

/// Finds the checks that a failing test no longer turns red. It is tried where the run started only if that matters.
pub(super) fn probe(
    plan: &Plan<'_>,
    to: &str,
    near: &[String],
    commands: &[String],
) -> Result<ProbeResults, Pending> {
    let mut probed = ProbeResults::default();
    let code = plan.context.code;
    let base = plan.run.definition().start.base.clone().expect("a run with checkouts has a base");
    let failing_tests = |commit: &str| -> Result<Vec<OverlayFile>, Error> {
        let files = NewerFiles {
            base: CommitTree::open(code, &base)?,
            now: CommitTree::open(code, commit)?,
        };
        let salt = hex(&Sha256::digest(commit.as_bytes()));
        Ok(test_probes(&files, near, &salt[..8])
            .into_iter()
            .map(|probe| OverlayFile::Text { path: probe.path, text: probe.text })
            .collect())
    };
    let with_probe = overlaid(plan, "probe-", to, || failing_tests(to))?;
    let tree = code.code_tree(to).map_err(Error::from)?;
    if code.code_tree(&with_probe).map_err(Error::from)? == tree {
        let what = "Forge did not try whether the checks notice a failing test: it does not know \
                    how this project's tests are written";
        probed.notes.push(what.to_owned());
        return Ok(probed);
    }
    let is_proved = |command: &String| plan.run.evidence(&tree, command) == Some(Colour::Green);
    // Where the code is green, only our own test is red.
    let if_red =
        if commands.iter().all(is_proved) { CachesAfter::Sealed } else { CachesAfter::Unsealed };
    let here = run_unknown(plan, "probe-", &with_probe, commands, if_red)?;
    probed.evidence.extend(evidence(plan, &with_probe, &here)?);
    let (red, green): (Vec<Trial>, Vec<Trial>) =
        here.into_iter().partition(|trial| trial.colour == Colour::Red);
    probed.alive = red.into_iter().map(|trial| trial.command).filter(is_proved).collect();
    let green: Vec<String> = green.into_iter().map(|trial| trial.command).collect();
    if green.is_empty() {
        return Ok(probed);
    }
    let with_probe = overlaid(plan, "probe-base-", &base, || failing_tests(&base))?;
    let mut at_base = run_unknown(plan, "probe-base-", &with_probe, &green, CachesAfter::Unsealed)?;
    // A check that was red by itself, and says nothing about our test, shows nothing.
    let is_unclear = |trial: &&mut Trial| {
        trial.colour == Colour::Red && !trial.is_known && !trial.output.contains(PROBE_WORDS)
    };
    let mut unclear: Vec<&mut Trial> = at_base.iter_mut().filter(is_unclear).collect();
    let commands: Vec<String> = unclear.iter().map(|trial| trial.command.clone()).collect();
    for plain in run_unknown(plan, "plain-base-", &base, &commands, CachesAfter::Unsealed)? {
        let of_it = unclear.iter_mut().filter(|trial| trial.command == plain.command);
        if plain.colour == Colour::Red {
            of_it.for_each(|trial| trial.colour = Colour::Green);
        }
    }
    probed.evidence.extend(evidence(plan, &with_probe, &at_base)?);
    for Trial { command, colour, .. } in at_base {
        match colour {
            Colour::Red => probed.dead.push(command),
            Colour::Green => probed.notes.push(format!(
                "`{command}` does not notice a failing test that Forge adds, and did not before the \
                 run: it may not run all tests"
            )),
        }
    }
    Ok(probed)
}

/// The sentence about checks that cannot fail any more.
pub(super) fn cannot_fail(dead: &[String]) -> String {
    let checks: Vec<String> = dead.iter().map(|command| format!("`{command}`")).collect();
    format!(
        "a failing test added by Forge made {} fail where the run started, and no longer does: \
         the change keeps the checks from failing",
        checks.join(", ")
    )
}

/// Files of where the run started, as they are now where they are still there.
struct NewerFiles<'a> {
    base: CommitTree<'a>,
    now: CommitTree<'a>,
}

impl ProjectFiles for NewerFiles<'_> {
    fn exists(&self, path: &str) -> bool {
        self.base.exists(path)
    }

    fn read(&self, path: &str) -> Option<String> {
        self.now.read(path).or_else(|| self.base.read(path))
    }

    fn list(&self) -> Vec<String> {
        self.base.list()
    }
}

/// A commit with other versions of some files. While its checkout is used it is not made again.
pub(super) fn overlaid(
    plan: &Plan<'_>,
    prefix: &str,
    onto: &str,
    files: impl FnOnce() -> Result<Vec<OverlayFile>, Error>,
) -> Result<String, Pending> {
    let step = format!("{prefix}open");
    // A driver may have died before it wrote the order. The same files give the same commit.
    if plan.step_was_prepared(&step)
        && let Ok(Operation::Open(order)) = plan.ordered(&step)
    {
        return Ok(order.at);
    }
    let pin = format!("{}-{}", plan.context.pin(plan.ordinal), prefix.trim_end_matches('-'));
    Ok(plan.context.code.overlay(onto, &files()?, &pin).map_err(Error::from)?)
}

/// Tries checks on a commit, and runs those of which it is not known what they say about its tree.
fn run_unknown(
    plan: &Plan<'_>,
    prefix: &str,
    commit: &str,
    commands: &[String],
    if_red: CachesAfter,
) -> Result<Vec<Trial>, Pending> {
    let tree = plan.context.code.code_tree(commit).map_err(Error::from)?;
    let known = |command: &String| plan.run.evidence(&tree, command);
    let unknown: Vec<String> =
        commands.iter().filter(|command| known(command).is_none()).cloned().collect();
    let mut trials = run_all(plan, prefix, commit, &unknown, Caches::Kept, if_red)?;
    trials.extend(commands.iter().filter_map(|command| {
        let (colour, command) = (known(command)?, command.clone());
        Some(Trial { command, colour, output: String::new(), is_known: true })
    }));
    Ok(trials)
}

/// What the trials of a commit said that was not known before.
fn evidence(plan: &Plan<'_>, commit: &str, trials: &[Trial]) -> Result<Vec<Evidence>, Error> {
    let tree = plan.context.code.code_tree(commit)?;
    let new = trials.iter().filter(|trial| !trial.is_known);
    let evidence = new.map(|trial| Evidence {
        command: trial.command.clone(),
        tree: tree.clone(),
        colour: trial.colour,
        took_ms: None,
        start: ProofStart::Cached,
        failure: None,
    });
    Ok(evidence.collect())
}

/// Runs all these checks on a commit, with the names of tests where the runner can tell them. `if_red` is what becomes
/// of the caches if one is red.
pub(super) fn run_all(
    plan: &Plan<'_>,
    prefix: &str,
    commit: &str,
    commands: &[String],
    caches: Caches,
    if_red: CachesAfter,
) -> Result<Vec<Trial>, Pending> {
    let mut trials = Vec::new();
    if commands.is_empty() {
        return Ok(trials);
    }
    let Plan { context, run, .. } = *plan;
    let opened =
        plan.opened_for_proof(prefix, || context.open_verification(run, commit, caches))?;
    for (number, command) in (1..).zip(commands) {
        let (name, line) = (format!("{prefix}check-{number}"), naming_tests(command));
        let (folder, ending) = plan.shell(&name, &line, &opened.tree, context.check_limits())?;
        let colour = match command_end(context.executor, &folder, &ending) {
            CommandEnd::Success => Colour::Green,
            CommandEnd::Failure { .. } => Colour::Red,
            CommandEnd::Fault { class, what } => {
                return Err(plan.fault(class, format!("{what}\n`{command}` printed nothing")));
            }
            CommandEnd::Interrupted => return Err(plan.interrupted()),
        };
        let output = plan.transcript(&folder)?;
        trials.push(Trial { command: command.clone(), colour, output, is_known: false });
    }
    // Only caches are kept from one checkout to the next.
    if !context.frozen.cache.is_empty() {
        let is_green = trials.iter().all(|trial| trial.colour == Colour::Green);
        let caches = if is_green { CachesAfter::Sealed } else { if_red };
        plan.sealed(prefix, context.seal_verification(commit, caches))?;
    }
    Ok(trials)
}

/// The tests of one run of a check.
struct Tests {
    named: BTreeMap<String, TestOutcome>,
    counts: Option<TestCounts>,
}

impl Tests {
    fn read(trial: &Trial) -> Option<Self> {
        let output = &trial.output;
        let named = read_test_outcomes(output).unwrap_or_default();
        let counts = read_test_counts(output);
        (!named.is_empty() || counts.is_some()).then_some(Self { named, counts })
    }

    /// Says which tests of these are not among the later ones, or are left out there.
    fn missing_in(&self, later: &Self) -> impl Iterator<Item = String> {
        let ran = |tests: &Self| -> BTreeSet<String> {
            let ran = tests.named.iter().filter(|(_, outcome)| **outcome != TestOutcome::Skipped);
            ran.map(|(name, _)| name.clone()).collect()
        };
        let is_left = |name: &&String| !later.named.contains_key(*name);
        let before = ran(self);
        let gone: Vec<String> = before.iter().filter(is_left).cloned().collect();
        let skipped: Vec<String> = before
            .iter()
            .filter(|name| later.named.get(*name) == Some(&TestOutcome::Skipped))
            .cloned()
            .collect();
        let listed = |names: &[String], what: &str| {
            (!names.is_empty()).then(|| format!("{what}: {}", short_list(names)))
        };
        let (gone, skipped) = (
            listed(&gone, "tests that ran before are gone"),
            listed(&skipped, "tests are skipped now"),
        );
        let counts = self.counts.zip(later.counts).filter(|_| gone.is_none() && skipped.is_none());
        let counted = counts.and_then(|(before, after)| {
            let ran = |counts: TestCounts| counts.all.saturating_sub(counts.skipped);
            (ran(after) < ran(before))
                .then(|| format!("tests that ran: {} before, {} now", ran(before), ran(after)))
        });
        [gone, skipped, counted].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(before: &str, after: &str) -> Vec<String> {
        let tests = |output: &str| {
            let output = output.to_owned();
            Tests::read(&Trial {
                command: String::new(),
                colour: Colour::Green,
                output,
                is_known: false,
            })
        };
        tests(before).unwrap().missing_in(&tests(after).unwrap()).collect()
    }

    #[test]
    fn tests_that_vanish_or_are_skipped_are_told() {
        let before = "test a ... ok\ntest b ... ok\n";
        assert_eq!(missing(before, before), [""; 0]);
        assert_eq!(missing(before, &format!("{before}test c ... ignored\n")), [""; 0]);
        assert_eq!(missing(before, "test a ... ok\n"), ["tests that ran before are gone: b"]);
        assert_eq!(
            missing(before, "test a ... ok\ntest b ... ignored\n"),
            ["tests are skipped now: b"]
        );
        let counted = |all: u32, more: &str| format!("Ran {all} tests in 1s\n\nOK{more}\n");
        assert_eq!(missing(&counted(3, ""), &counted(4, " (skipped=1)")), [""; 0]);
        assert_eq!(missing(&counted(3, ""), &counted(2, "")), ["tests that ran: 3 before, 2 now"]);
    }
}
