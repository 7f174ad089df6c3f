//! The gate `guarded`: files that guard the project (tests, CI, lint, lock files, settings, what
//! defines the checks) are as they were, or a person agrees to how they changed.
//!
//! New tests are welcome: a test file that is new, or that only grew and was not weakened, is
//! noted and needs nobody.

use forge_core::{
    Report,
    verdict::{Finding, Severity},
};
use forge_workspace::{Change, ChangeKind, GitError, Repository};

use super::{Span, finding, judged, receipt_at, ruling, span};
use crate::{
    Trouble,
    project::{
        guard::{Guard, guarded},
        tests_said::skipped_or_weakened,
    },
    settings::Frozen,
    steps::{Halt, Plan},
};

/// The most bytes of a test file that is compared with what it was.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The most files that are looked at one by one.
const FILES_MAX: usize = 200;

/// The gate `guarded`. It runs nothing.
pub(crate) fn plan(plan: &Plan<'_>) -> Result<Report, Halt> {
    let repository = &plan.shop.home.repository;
    let span = span(repository, plan.run, plan.call.unit()).map_err(Trouble::from)?;
    let changes = repository.changes(&span.from, &span.to).map_err(Trouble::from)?;
    let mut findings = Vec::new();
    for change in &changes {
        let guard = guard_of(&change.path, plan.shop.frozen);
        let Some(guard) = guard.or_else(|| was_guarded(change, plan.shop.frozen)) else {
            continue;
        };
        if findings.len() >= FILES_MAX {
            let what = "more guarded files are changed than can be shown".to_owned();
            findings.push(finding(Severity::Major, Some(&change.path), what, None));
            break;
        }
        findings.push(look(repository, &span, change, guard)?);
    }
    // New tests, and tests that only grew, are worth a word only beside something that is asked about.
    if findings.iter().all(|finding| finding.severity == Severity::Minor) {
        findings.clear();
    }
    Ok(judged(plan, ruling(findings), receipt_at(plan, 0)))
}

/// What a file guards: by what it is, or because a check or the set-up of the run names it.
pub(super) fn guard_of(path: &str, frozen: &Frozen) -> Option<Guard> {
    let mut commands = frozen.verify.commands.iter().chain(&frozen.setup);
    guarded(path).or_else(|| commands.any(|command| names(command, path)).then_some(Guard::Build))
}

/// Whether a command line names a file, from the top or from a folder that it goes into.
pub(super) fn names(command: &str, path: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "\"'`;&|()<>=".contains(c);
    command.split(is_end).any(|word| {
        // `./checks` is a file, whatever its name.
        let is_file = word.contains(['.', '/']);
        let word = word.trim_start_matches("./");
        word == path
            || (is_file
                && !word.is_empty()
                && path.strip_suffix(word).is_some_and(|rest| rest.ends_with('/')))
    })
}

/// A file that was moved away from where it guarded something.
fn was_guarded(change: &Change, frozen: &Frozen) -> Option<Guard> {
    match &change.kind {
        ChangeKind::Renamed { from } => guard_of(from, frozen),
        ChangeKind::Added
        | ChangeKind::Modified
        | ChangeKind::Deleted
        | ChangeKind::TypeChanged
        | ChangeKind::ModeChanged => None,
    }
}

fn look(
    repository: &Repository,
    span: &Span,
    change: &Change,
    guard: Guard,
) -> Result<Finding, Trouble> {
    let path = &change.path;
    let is_welcome = match (guard, &change.kind) {
        (Guard::Test, ChangeKind::Added) => true,
        (Guard::Test, ChangeKind::Modified) => {
            let text = |commit: &str| -> Result<Option<String>, Trouble> {
                match repository.file_at(commit, path, FILE_BYTES_MAX) {
                    Ok(bytes) => Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok())),
                    // What is too large to be compared is for a person to see.
                    Err(GitError::TooLarge { .. }) => Ok(None),
                    Err(error) => Err(error.into()),
                }
            };
            match (text(&span.from)?, text(&span.to)?) {
                (Some(before), Some(after)) => {
                    let weaker = skipped_or_weakened(&before, &after, path);
                    if let Some(first) = weaker.first() {
                        let what = format!("`{path}` (test) is weakened: {}", weaker.join("; "));
                        let mut found = finding(Severity::Critical, Some(path), what, None);
                        found.why.clone_from(first);
                        return Ok(found);
                    }
                    only_grew(&before, &after)
                }
                (_, _) => false,
            }
        }
        (
            Guard::Test,
            ChangeKind::Deleted
            | ChangeKind::Renamed { .. }
            | ChangeKind::TypeChanged
            | ChangeKind::ModeChanged,
        )
        | (Guard::Ci | Guard::Lint | Guard::Lock | Guard::Settings | Guard::Build, _) => false,
    };
    let severity = if is_welcome { Severity::Minor } else { Severity::Major };
    let did = match &change.kind {
        ChangeKind::Added => "is new".to_owned(),
        ChangeKind::Modified if is_welcome => "grew".to_owned(),
        ChangeKind::Modified => "is changed".to_owned(),
        ChangeKind::Deleted => "is deleted".to_owned(),
        ChangeKind::Renamed { from } => format!("was `{from}`"),
        ChangeKind::TypeChanged | ChangeKind::ModeChanged => "has another mode".to_owned(),
    };
    Ok(finding(severity, Some(path), format!("`{path}` ({}) {did}", guard.word()), None))
}

/// Whether every line that was there is still there, in the same order.
fn only_grew(before: &str, after: &str) -> bool {
    let mut after = after.lines();
    before.lines().all(|line| after.any(|other| other == line))
}
