//! The gate `guarded`: files that guard the project (tests, CI, lint, lock files, settings, what
//! defines the checks) are as they were, or a person agrees to how they changed.
//!
//! New tests are welcome: a test file that is new, or that only grew and was not weakened, is
//! noted and needs nobody. What a person agreed to in this run is not asked about again, as long as the file is the same.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Report,
    event::{Approval, Event, Ruling},
    flow::{BuiltIn, Check},
    id::UnitId,
    verdict::{Finding, Severity},
};
use forge_project::{
    protected_files::ProtectedKind, settings::Frozen, test_weakening::find_weakening,
};
use forge_store::records::facts;
use forge_workspace::{CodeHistory, FileChange, FileChangeKind, GitError};

use crate::{
    Error,
    checkouts::{DIFF_BYTES_MAX, Span, span},
    gates::{
        guards::guard_of,
        ruling::{finding, ruling},
    },
    plan::{Pending, Plan},
};

/// The most bytes of a test file that is compared with what it was.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The most files that are looked at one by one.
const FILES_MAX: usize = 200;

/// The gate `guarded`. It runs nothing.
pub fn plan(plan: &Plan<'_>) -> Result<Report, Pending> {
    let repository = plan.context.code;
    let span = span(repository, plan.run, plan.call.unit()).map_err(Error::from)?;
    let changes = repository.changes(&span.from, &span.to).map_err(Error::from)?;
    let mut findings = Vec::new();
    for change in &changes {
        let guard = guard_of(&change.path, plan.context.frozen);
        let Some(guard) = guard.or_else(|| was_guarded(change, plan.context.frozen)) else {
            continue;
        };
        if findings.len() >= FILES_MAX {
            let what = "more guarded files are changed than can be shown".to_owned();
            findings.push(finding(Severity::Major, Some(&change.path), what, None));
            break;
        }
        findings.push(look(repository, &span, change, guard)?);
    }
    findings.extend(unshown(repository, &span, &changes)?);
    let is_asked = |finding: &Finding| finding.severity != Severity::Minor;
    if findings.iter().any(is_asked) {
        let agreed = agreed(plan, &span.to)?;
        let is_agreed =
            |finding: &Finding| finding.path.as_ref().is_some_and(|path| agreed.contains(path));
        findings.retain(|finding| !is_asked(finding) || !is_agreed(finding));
    }
    // New tests, and tests that only grew, are worth a word only beside something that is asked about.
    if findings.iter().all(|finding| finding.severity == Severity::Minor) {
        findings.clear();
    }
    Ok(plan.judged(ruling(findings), plan.receipt_at(0)))
}

/// Changes that no reviewer was shown.
fn unshown(
    repository: &dyn CodeHistory,
    span: &Span,
    changes: &[FileChange],
) -> Result<Vec<Finding>, Error> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let diff = repository.diff(&span.from, &span.to, &[], DIFF_BYTES_MAX)?;
    let found = diff.unshown.iter().take(FILES_MAX).map(|path| {
        let what = format!("the change of `{path}` is too large to be shown to a reviewer");
        finding(Severity::Major, Some(path), what, None)
    });
    Ok(found.collect())
}

/// The files to which a person agreed in this run as they are at this commit: nobody is asked twice.
fn agreed(plan: &Plan<'_>, to: &str) -> Result<BTreeSet<String>, Error> {
    let Plan { context, run, .. } = *plan;
    let mut asked = Asked::default();
    for record in context.journal.read(context.id, 1)? {
        for fact in facts(&record)? {
            asked.hear(fact, |unit, gate| {
                let stage = run.has(unit).then(|| run.stage(unit));
                let gate = stage.and_then(|stage| Some(&stage.gates[stage.gate(gate)?]));
                gate.is_some_and(|gate| gate.check == Check::BuiltIn { check: BuiltIn::Guarded })
            });
        }
    }
    let mut agreed = BTreeSet::new();
    for (commit, paths) in asked.agreed {
        let later = context.code.changes(&commit, to)?;
        let is_other = |path: &String| {
            let is_it =
                |change: &FileChange| change.path == *path || change.renamed_from() == Some(path);
            later.iter().any(is_it)
        };
        agreed.extend(paths.into_iter().filter(|path| !is_other(path)));
    }
    Ok(agreed)
}

/// What persons were asked about and agreed to, from the facts alone.
#[derive(Default)]
struct Asked {
    /// What the latest look at a unit found, and at which commit.
    found: BTreeMap<UnitId, (String, Vec<String>)>,
    /// Commits with the paths that a person agreed to.
    agreed: Vec<(String, Vec<String>)>,
}

impl Asked {
    fn hear(&mut self, fact: Event, guards: impl Fn(&UnitId, &str) -> bool) {
        if let Event::Judged { judgement, ruling: Ruling::Verdict(verdict), receipt } = fact {
            let unit = judgement.attempt.unit;
            if let (true, Some(commit)) = (guards(&unit, &judgement.gate), receipt.commit) {
                let paths = verdict.findings().iter().filter_map(|finding| finding.path.clone());
                self.found.insert(unit, (commit, paths.collect()));
            }
        } else if let Event::GatePassed { unit, gate, by: Approval::Person { .. }, .. } = fact
            && guards(&unit, &gate)
        {
            self.agreed.extend(self.found.remove(&unit));
        }
    }
}

/// A file that was moved away from where it guarded something.
fn was_guarded(change: &FileChange, frozen: &Frozen) -> Option<ProtectedKind> {
    guard_of(change.renamed_from()?, frozen)
}

fn look(
    repository: &dyn CodeHistory,
    span: &Span,
    change: &FileChange,
    guard: ProtectedKind,
) -> Result<Finding, Error> {
    let path = &change.path;
    let mut is_welcome = guard == ProtectedKind::Test && change.kind == FileChangeKind::Added;
    if guard == ProtectedKind::Test && change.kind == FileChangeKind::Modified {
        let text = |commit: &str| -> Result<Option<String>, Error> {
            match repository.file_at(commit, path, FILE_BYTES_MAX) {
                Ok(bytes) => Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok())),
                // What is too large to be compared is for a person to see.
                Err(GitError::TooLarge { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            }
        };
        if let (Some(before), Some(after)) = (text(&span.from)?, text(&span.to)?) {
            let weaker = find_weakening(&before, &after, path);
            if let Some(first) = weaker.first() {
                let what = format!("`{path}` (test) is weakened: {}", weaker.join("; "));
                let mut found = finding(Severity::Critical, Some(path), what, None);
                found.why.clone_from(first);
                return Ok(found);
            }
            is_welcome = only_grew(&before, &after);
        }
    }
    let severity = if is_welcome { Severity::Minor } else { Severity::Major };
    let did = match &change.kind {
        FileChangeKind::Added => "is new".to_owned(),
        FileChangeKind::Modified if is_welcome => "grew".to_owned(),
        FileChangeKind::Modified => "is changed".to_owned(),
        FileChangeKind::Deleted => "is deleted".to_owned(),
        FileChangeKind::Renamed { from } => format!("was `{from}`"),
        FileChangeKind::TypeChanged | FileChangeKind::ModeChanged => "has another mode".to_owned(),
    };
    Ok(finding(severity, Some(path), format!("`{path}` ({}) {did}", guard.as_str()), None))
}

/// Whether every line that was there is still there, in the same order.
fn only_grew(before: &str, after: &str) -> bool {
    let mut after = after.lines();
    before.lines().all(|line| after.any(|other| other == line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_core::{event::Receipt, id::QuestionId, money::Spent, verdict::Verdict};

    fn asked(facts: Vec<Event>) -> Vec<(String, Vec<String>)> {
        let mut asked = Asked::default();
        for fact in facts {
            asked.hear(fact, |_, gate| gate == "guarded");
        }
        asked.agreed
    }

    fn found(gate: &str, path: &str, commit: Option<&str>) -> Event {
        let unit: UnitId = "build".parse().expect("it is the name of a unit");
        let judgement = unit.attempt(1).judgement(gate, 1);
        let findings = vec![finding(Severity::Major, Some(path), "new".to_owned(), None)];
        let ruling = Ruling::Verdict(Verdict::Revise { findings });
        let commit = commit.map(str::to_owned);
        Event::Judged {
            judgement,
            ruling,
            receipt: Receipt { commit, ..Receipt::from_spent(Spent::NOTHING) },
        }
    }

    fn passed(gate: &str, by: Approval) -> Event {
        let unit = "build".parse().expect("it is the name of a unit");
        Event::GatePassed { unit, gate: gate.to_owned(), by, verdict: None }
    }

    #[test]
    fn only_what_a_person_said_yes_to_at_this_gate_is_agreed_to() {
        let person = Approval::Person { question: QuestionId(1) };
        let yes = || passed("guarded", person);
        let agreed = vec![("c1".to_owned(), vec!["Makefile".to_owned()])];
        assert_eq!(asked(vec![found("guarded", "Makefile", Some("c1")), yes()]), agreed);
        // The latest look is what was answered.
        let again = vec![
            found("guarded", "ci", Some("c0")),
            found("guarded", "Makefile", Some("c1")),
            yes(),
        ];
        assert_eq!(asked(again), agreed);
        for facts in [
            vec![found("guarded", "Makefile", Some("c1"))],
            vec![found("guarded", "Makefile", None), yes()],
            vec![found("review", "Makefile", Some("c1")), yes()],
            vec![found("guarded", "Makefile", Some("c1")), passed("checkpoint", person)],
            vec![found("guarded", "Makefile", Some("c1")), passed("guarded", Approval::Automatic)],
        ] {
            assert_eq!(asked(facts), []);
        }
    }
}
