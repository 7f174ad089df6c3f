//! The gate `guarded`: files that guard the project (tests, CI, lint, lock files, settings, what
//! defines the checks) are as they were, or a person agrees to how they changed.
//!
//! New tests are welcome: a test file that is new, or changed and not weakened, needs nobody, as long as the checks
//! prove that they were not bent (`trials`): the new code passes the tests as they were, all of them still run, and a
//! test that must fail still turns the checks red. What a person agreed to in this run is not asked about again, as long as the file is the same.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Report,
    event::{Approval, Event, Ruling},
    flow::{BuiltIn, Check},
    id::UnitId,
    verdict::{Finding, Proof, Severity},
};
use forge_project::{
    bounded_text::start_of,
    protected_files::ProtectedKind,
    settings::Frozen,
    test_weakening::{ChecksProved, find_marks, find_weakening},
};
use forge_store::records::facts;
use forge_workspace::{CodeHistory, FileChange, FileChangeKind, GitError, OverlayFile};

use crate::{
    Error,
    checkouts::{DIFF_BYTES_MAX, Span, span},
    checks::checks_at,
    gates::{
        guards::{guard_of, inner_tests, leads_out, shadowing, takes_part},
        ruling::{finding, ruling},
        trials::{self, TrialResults},
    },
    plan::{Pending, Plan},
};

/// The most bytes of a test file that is compared with what it was.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The most bytes of what became of a test file that a question shows.
const QUOTED_BYTES_MAX: usize = 4 * 1024;
/// The most files that are looked at one by one.
const FILES_MAX: usize = 200;

/// The gate `guarded`.
pub fn plan(plan: &Plan<'_>) -> Result<Report, Pending> {
    let Plan { context, run, call, .. } = *plan;
    let repository = context.code;
    let span = span(repository, run, call.unit()).map_err(Error::from)?;
    let changes = repository.changes(&span.from, &span.to).map_err(Error::from)?;
    let mut guarded = Vec::new();
    let mut inner = Vec::new();
    for change in &changes {
        let guard = guard_of(&change.path, context.frozen);
        let guard = guard.or_else(|| was_guarded(change, context.frozen));
        if let Some(guard) = guard.or(shadows(plan, &span, change)?) {
            if !only_ignores_more(repository, &span, change)? {
                guarded.push((change, guard));
            }
        } else {
            inner.extend(InnerTests::changed(repository, &span, change)?);
        }
    }
    let mut tried = tried(plan, &span, &guarded, &inner)?;
    let mut findings = Vec::new();
    for (change, guard) in &guarded {
        if findings.len() >= FILES_MAX {
            let what = "more protected files are changed than can be shown".to_owned();
            findings.push(finding(Severity::Major, Some(&change.path), what, None));
            break;
        }
        findings.push(look(repository, &span, change, *guard, tried.as_ref())?);
    }
    let is_sound = tried.as_ref().is_none_or(TrialResults::is_sound);
    let proved = tried.as_ref().map_or(ChecksProved::No, TrialResults::proved);
    for tests in &inner {
        let weaker = find_weakening(&tests.before, &tests.after, &tests.path, proved);
        if !weaker.is_empty() || !is_sound {
            findings.push(changed_test(
                repository,
                &span,
                &tests.path,
                &weaker,
                "has changed tests",
            )?);
        }
    }
    let first =
        guarded.first().map(|(change, _)| &change.path).or(inner.first().map(|tests| &tests.path));
    if let (Some(tried), Some(path)) = (&tried, first) {
        let mut found = bent(tried, path);
        // What a weakened file and the tests that ran say is one thing.
        match findings.iter_mut().find(|finding| finding.severity == Severity::Critical) {
            Some(weakened) if !tried.gone.is_empty() => {
                weakened.what = format!("{}; {}", weakened.what, tried.gone.join("; "));
            }
            Some(_) | None => {
                let lost = |what: &String| finding(Severity::Major, Some(path), what.clone(), None);
                found.extend(tried.gone.iter().map(lost));
            }
        }
        findings.extend(found);
    }
    let links = repository.links_at(&span.to).map_err(Error::from)?;
    for change in &changes {
        let target = links.get(&change.path).and_then(|target| leads_out(&change.path, target));
        if let Some(target) = target {
            let what = format!("`{}` is a link out of the repository, to `{target}`", change.path);
            findings.push(finding(Severity::Critical, Some(&change.path), what, None));
        }
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
    let mut receipt = plan.receipt_at(0);
    if let Some(tried) = &mut tried {
        receipt.trials.append(&mut tried.evidence);
        receipt.notes.append(&mut tried.notes);
    }
    Ok(plan.judged(ruling(findings), receipt))
}

/// Tries the checks, if files that take part in them are changed.
fn tried(
    plan: &Plan<'_>,
    span: &Span,
    guarded: &[(&FileChange, ProtectedKind)],
    inner: &[InnerTests],
) -> Result<Option<TrialResults>, Pending> {
    let Plan { context, run, .. } = *plan;
    let guarded: Vec<&(&FileChange, ProtectedKind)> =
        guarded.iter().filter(|(_, kind)| takes_part(*kind)).collect();
    if guarded.is_empty() && inner.iter().all(|tests| tests.code.is_none()) {
        return Ok(None);
    }
    let commands = checks_at(context.frozen, run, context.code, &span.to)?.known();
    if commands.is_empty() {
        return Ok(None);
    }
    let paths = guarded.iter().flat_map(|(change, _)| [Some(&change.path), change.renamed_from()]);
    let original =
        |path: &String| OverlayFile::From { commit: span.from.clone(), path: path.clone() };
    let mut originals: Vec<OverlayFile> = paths.flatten().map(original).collect();
    originals.extend(inner.iter().filter_map(|tests| {
        let (path, code) = (tests.path.clone(), tests.code.as_ref()?);
        Some(OverlayFile::Text { path, text: format!("{code}{}", tests.before) })
    }));
    let is_test = |kind: ProtectedKind| kind == ProtectedKind::Test;
    let tests = guarded.iter().filter(|(_, kind)| is_test(*kind));
    let near = tests.map(|(change, _)| &change.path).chain(inner.iter().map(|tests| &tests.path));
    let near: Vec<String> = near.cloned().collect();
    trials::try_change(plan, span, originals, &near, &commands).map(Some)
}

/// What the trials found beside the files themselves.
fn bent(tried: &TrialResults, path: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (command, output) in &tried.bent {
        let what = format!("with the test files as they were, `{command}` fails on the new code");
        let proof = Proof::Command { command: command.clone(), output: output.clone() };
        findings.push(finding(Severity::Major, Some(path), what, Some(proof)));
    }
    if !tried.probed.dead.is_empty() {
        let what = trials::cannot_fail(&tried.probed.dead);
        findings.push(finding(Severity::Critical, Some(path), what, None));
    }
    findings
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

/// Tests inside of a source file, before and after the change.
struct InnerTests {
    path: String,
    /// What the file is without them, after the change; nothing if it is gone.
    code: Option<String>,
    before: String,
    after: String,
}

impl InnerTests {
    /// The tests of a file, if the change touches them.
    fn changed(
        repository: &dyn CodeHistory,
        span: &Span,
        change: &FileChange,
    ) -> Result<Option<Self>, Error> {
        let path = &change.path;
        match change.kind {
            FileChangeKind::Modified | FileChangeKind::Renamed { .. } | FileChangeKind::Deleted => {
            }
            FileChangeKind::Added | FileChangeKind::TypeChanged | FileChangeKind::ModeChanged => {
                return Ok(None);
            }
        }
        if inner_tests(path, "#[cfg(test)]").1.is_empty() {
            return Ok(None);
        }
        let earlier = change.renamed_from().unwrap_or(path);
        let Some(before) = text_at(repository, &span.from, earlier)? else { return Ok(None) };
        let after = text_at(repository, &span.to, path)?;
        Ok(Self::between(path, &before, after.as_deref()))
    }

    /// The tests of two versions of a file, if they differ.
    fn between(path: &str, before: &str, after: Option<&str>) -> Option<Self> {
        let own = |text: &str| text.to_owned();
        let before = inner_tests(path, before).1;
        let parts = after.map(|after| inner_tests(path, after));
        let (code, after) = (parts.map(|(code, _)| own(code)), parts.map_or("", |parts| parts.1));
        let tests = Self { path: own(path), code, before: own(before), after: own(after) };
        (before != after).then_some(tests)
    }
}

/// A file that is new beside the project and is named like something that a check says.
fn shadows(
    plan: &Plan<'_>,
    span: &Span,
    change: &FileChange,
) -> Result<Option<ProtectedKind>, Error> {
    let Plan { context, .. } = *plan;
    let is_new = matches!(change.kind, FileChangeKind::Added | FileChangeKind::Renamed { .. });
    let Some(first) = shadowing(&change.path, context.frozen).filter(|_| is_new) else {
        return Ok(None);
    };
    let is_known = !context.code.files_at(&span.from, first)?.is_empty();
    Ok((!is_known).then_some(ProtectedKind::Build))
}

/// Whether a change only makes git ignore more.
fn only_ignores_more(
    repository: &dyn CodeHistory,
    span: &Span,
    change: &FileChange,
) -> Result<bool, Error> {
    let path = &change.path;
    if path.rsplit('/').next() != Some(".gitignore") {
        return Ok(false);
    }
    let before = text_at(repository, &span.from, path)?.unwrap_or_default();
    let Some(after) = text_at(repository, &span.to, path)? else { return Ok(false) };
    Ok(only_grew(&before, &after) && !takes_back(&before, &after))
}

/// Whether a new line takes back what git ignores.
fn takes_back(before: &str, after: &str) -> bool {
    let is_old = |line: &str| before.lines().any(|old| old == line);
    after.lines().any(|line| line.starts_with('!') && !is_old(line))
}

/// The text of a file, if it is one and can be compared. What is too large is for a person to see.
fn text_at(
    repository: &dyn CodeHistory,
    commit: &str,
    path: &str,
) -> Result<Option<String>, Error> {
    match repository.file_at(commit, path, FILE_BYTES_MAX) {
        Ok(bytes) => Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok())),
        Err(GitError::TooLarge { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn look(
    repository: &dyn CodeHistory,
    span: &Span,
    change: &FileChange,
    guard: ProtectedKind,
    tried: Option<&TrialResults>,
) -> Result<Finding, Error> {
    let path = &change.path;
    let is_sound = tried.is_none_or(TrialResults::is_sound);
    let is_test = guard == ProtectedKind::Test;
    let (mut is_welcome, mut weaker) = (false, Vec::new());
    let (before, after) = if is_test {
        let earlier = change.renamed_from().unwrap_or(path);
        (text_at(repository, &span.from, earlier)?, text_at(repository, &span.to, path)?)
    } else {
        (None, None)
    };
    let proved = tried.map_or(ChecksProved::No, TrialResults::proved);
    // Tests that the new code passes as they were and as they are, and that all still run, hide nothing.
    let is_compared = tried.is_some_and(|tried| tried.is_compared);
    match (&change.kind, before, after) {
        (FileChangeKind::Added, _, after) if is_test => {
            weaker = after.map(|after| find_marks(&after, path, proved)).unwrap_or_default();
            is_welcome = is_sound && weaker.is_empty();
        }
        (FileChangeKind::Modified, Some(before), Some(after)) => {
            weaker = find_weakening(&before, &after, path, proved);
            is_welcome =
                is_sound && weaker.is_empty() && (is_compared || only_grew(&before, &after));
        }
        (FileChangeKind::Renamed { .. }, Some(before), Some(after)) => {
            weaker = find_weakening(&before, &after, path, proved);
            is_welcome = is_sound && weaker.is_empty() && is_compared;
        }
        (_, _, _) => {}
    }
    if is_test
        && !is_welcome
        && matches!(change.kind, FileChangeKind::Added | FileChangeKind::Modified)
    {
        let did = if change.kind == FileChangeKind::Added { "is new" } else { "is changed" };
        return changed_test(repository, span, path, &weaker, did);
    }
    let severity = if is_welcome { Severity::Minor } else { Severity::Major };
    let did = match &change.kind {
        FileChangeKind::Added => "is new".to_owned(),
        FileChangeKind::Modified => "is changed".to_owned(),
        FileChangeKind::Deleted => "is deleted".to_owned(),
        FileChangeKind::Renamed { from } => format!("was `{from}`"),
        FileChangeKind::TypeChanged | FileChangeKind::ModeChanged => "has a new mode".to_owned(),
    };
    Ok(finding(severity, Some(path), format!("`{path}` ({}) {did}", guard.as_str()), None))
}

/// A test file that a person is asked about, with what became of it.
fn changed_test(
    repository: &dyn CodeHistory,
    span: &Span,
    path: &str,
    weaker: &[String],
    did: &str,
) -> Result<Finding, Error> {
    let diff = repository.diff(&span.from, &span.to, &[path.to_owned()], DIFF_BYTES_MAX)?;
    let text = String::from_utf8_lossy(&diff.text);
    let proof = Some(Proof::Quote { quote: start_of(&text, QUOTED_BYTES_MAX).to_owned() });
    if weaker.is_empty() {
        return Ok(finding(Severity::Major, Some(path), format!("`{path}` (test) {did}"), proof));
    }
    Ok(finding(Severity::Critical, Some(path), weaker.join("; "), proof))
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
    fn tests_inside_of_a_source_file_that_is_deleted_are_gone() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n#[test]\nfn b() { assert!(a()); }\n}\n";
        let tests = InnerTests::between("src/a.rs", text, None).expect("they are gone");
        assert_eq!(tests.code, None);
        let weaker = find_weakening(&tests.before, &tests.after, "src/a.rs", ChecksProved::Yes);
        assert!(weaker[0].contains("1 test removed: b"), "{weaker:?}");
        assert!(
            InnerTests::between("src/a.rs", text, Some(&format!("fn c() {{}}\n{text}"))).is_none()
        );
        assert!(InnerTests::between("src/a.rs", "fn a() {}\n", None).is_none());
    }

    #[test]
    fn ignoring_less_is_seen_however_it_is_written() {
        let less =
            |before: &str, after: &str| !only_grew(before, after) || takes_back(before, after);
        assert!(less("node_modules/\n", "\n"));
        assert!(less("node_modules/\n", "node_modules/\n!node_modules/.bin\n"));
        assert!(less("a\n!bc\n", "a\n!bc\n!b\n"));
        assert!(!less("a\n!b\n", "a\n!b\ntmp/\n"));
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
