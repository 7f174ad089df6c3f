//! The gate `new-tests`: new tests fail without the change and pass with it, shown per test where
//! the runner says which tests it ran.
//!
//! The checks are run three times: on the change, on what it is compared with, and on that with
//! nothing but the changed test files added. A test that passes there proves nothing, and at least one must prove
//! something. Without any new test it does not pass: a flow asks for this gate where new tests were promised.

use std::collections::BTreeMap;

use forge_core::{
    Report,
    event::{Colour, Ruling},
    verdict::{Finding, Proof, Severity},
};
use forge_project::{
    protected_files::{ProtectedKind, protected_kind},
    test_output::{TestOutcome, read_test_outcomes},
};
use forge_workspace::{CachesAfter, FileChangeKind, OverlayFile};

use crate::{
    Error,
    checkouts::{Caches, span},
    gates::{
        ruling::{finding, ruling},
        trials::{overlaid, run_all},
    },
    plan::{Pending, Plan},
};

/// The most tests of which it is noted one by one what they prove.
const TESTS_MAX: usize = 50;

/// What all checks together said about tests.
struct Said {
    tests: BTreeMap<String, TestOutcome>,
    /// Commands that failed.
    red: Vec<String>,
}

/// The gate `new-tests`.
pub fn plan(plan: &Plan<'_>) -> Result<Report, Pending> {
    let Plan { context, run, call, .. } = *plan;
    let repository = context.code;
    let span = span(repository, run, call.unit()).map_err(Error::from)?;
    let changes = repository.changes(&span.from, &span.to).map_err(Error::from)?;
    let is_test = |path: &str| protected_kind(path) == Some(ProtectedKind::Test);
    let paths: Vec<String> = changes
        .iter()
        .filter(|change| is_test(&change.path) && change.kind != FileChangeKind::Deleted)
        .map(|change| change.path.clone())
        .collect();
    let mut receipt = plan.receipt_at(0);
    if context.frozen.verify.commands.is_empty() {
        if paths.is_empty() {
            receipt.notes.push("no test is new or changed".to_owned());
            return Ok(plan.judged(ruling(Vec::new()), receipt));
        }
        let what = "the project has no checks that could run its tests".to_owned();
        return Ok(plan.judged(Ruling::Unverified { what, found: Vec::new() }, receipt));
    }
    let with = said(plan, "with-", &span.to)?;
    let before = said(plan, "before-", &span.from)?;
    if paths.is_empty() {
        let path = changes.first().map(|change| change.path.as_str());
        let findings = beside_code(&with, &before, path, &mut receipt.notes);
        return Ok(plan.judged(ruling(findings), receipt));
    }
    let of_change =
        |path: &String| OverlayFile::From { commit: span.to.clone(), path: path.clone() };
    let only_tests =
        overlaid(plan, "without-", &span.from, || Ok(paths.iter().map(of_change).collect()))?;
    let without = said(plan, "without-", &only_tests)?;
    let (mut findings, mut proved, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    let new: Vec<&String> =
        with.tests.keys().filter(|test| !before.tests.contains_key(*test)).collect();
    for test in &new {
        let (head, base) = (with.tests.get(*test), without.tests.get(*test));
        match (head, base) {
            (Some(TestOutcome::Passed), Some(TestOutcome::Failed)) => {
                proved.push(format!("`{test}` fails without the change and passes with it"));
            }
            // A runner that could not even build says nothing about single tests.
            (Some(TestOutcome::Passed), None) if !without.red.is_empty() => {
                proved.push(format!(
                    "`{test}` does not come to run without the change and passes with it"
                ));
            }
            (Some(TestOutcome::Passed), None) => {
                proved.push(format!("nothing says whether `{test}` fails without the change"));
            }
            (Some(TestOutcome::Passed), Some(TestOutcome::Passed)) => idle.push(*test),
            (Some(TestOutcome::Skipped), _) | (_, Some(TestOutcome::Skipped)) => {
                findings.push(about(test, format!("the new test `{test}` is skipped")));
            }
            (Some(TestOutcome::Failed) | None, _) => {
                findings.push(about(test, format!("the new test `{test}` fails")));
            }
        }
    }
    // A test of what must stay as it was passes on both sides; it is welcome beside one that proves the change.
    let is_proved = new.len() > idle.len() && findings.is_empty();
    for test in idle {
        if is_proved {
            proved.push(format!("`{test}` passes without the change, too"));
        } else {
            let what =
                format!("the new test `{test}` passes without the change, too: it proves nothing");
            findings.push(about(test, what));
        }
    }
    receipt.notes.extend(proved.iter().take(TESTS_MAX).cloned());
    if let Some(more @ 1..) = proved.len().checked_sub(TESTS_MAX) {
        receipt.notes.push(format!("and {more} more tests"));
    }
    if new.is_empty() {
        nameless(&with, &without, &paths, &mut receipt.notes, &mut findings);
    }
    Ok(plan.judged(ruling(findings), receipt))
}

/// Where no file of tests is changed, new tests can only be in files with other code, and cannot be tried without it.
fn beside_code(
    with: &Said,
    before: &Said,
    path: Option<&str>,
    notes: &mut Vec<String>,
) -> Vec<Finding> {
    let is_new = |(test, outcome): &(&String, &TestOutcome)| {
        **outcome == TestOutcome::Passed && !before.tests.contains_key(*test)
    };
    let new = with.tests.iter().filter(is_new).take(TESTS_MAX);
    let said = new.map(|(test, _)| {
        format!(
            "`{test}` is beside code that changed: nothing says whether it fails without the change"
        )
    });
    let n_before = notes.len();
    notes.extend(said);
    if notes.len() > n_before {
        return Vec::new();
    }
    let what = "no test is new or changed; one that fails without the change is asked for";
    vec![finding(Severity::Major, path, what.to_owned(), None)]
}

/// Where the runner names no new test, the commands as a whole are compared.
fn nameless(
    with: &Said,
    without: &Said,
    paths: &[String],
    notes: &mut Vec<String>,
    findings: &mut Vec<Finding>,
) {
    let turned: Vec<&String> =
        without.red.iter().filter(|command| !with.red.contains(command)).collect();
    if let Some(command) = turned.first() {
        notes.push(format!(
            "`{command}` fails with the changed tests alone and succeeds with the change; it names no new test"
        ));
    } else if with.red.is_empty() {
        let path = paths.first().expect("there are changed tests");
        let what = "the checks succeed with the changed tests alone, without the change: they prove nothing";
        findings.push(finding(Severity::Major, Some(path), what.to_owned(), None));
    } else {
        let path = paths.first().expect("there are changed tests");
        let what = format!("`{}` fails with the change", with.red.join("`, `"));
        findings.push(finding(Severity::Major, Some(path), what, None));
    }
}

fn about(test: &str, what: String) -> Finding {
    finding(Severity::Major, None, what, Some(Proof::Quote { quote: test.to_owned() }))
}

/// Runs all checks on a commit and listens to what they say about tests.
fn said(plan: &Plan<'_>, prefix: &str, commit: &str) -> Result<Said, Pending> {
    let mut said = Said { tests: BTreeMap::new(), red: Vec::new() };
    let commands = &plan.context.frozen.verify.commands;
    for trial in run_all(plan, prefix, commit, commands, Caches::Kept, CachesAfter::Unsealed)? {
        if trial.colour == Colour::Red {
            said.red.push(trial.command);
        }
        said.tests.extend(read_test_outcomes(&trial.output).unwrap_or_default());
    }
    Ok(said)
}
