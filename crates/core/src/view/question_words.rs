//! What a question says with what is known of its run: how often something failed, and what was found.
//!
//! Not here: the sentence of a log (`sentence.rs`), which knows only the fact.

use crate::{
    event::{Question, QuestionReason},
    failure::FaultClass,
    flow::Work,
    run::Run,
    verdict::{Finding, Proof, Severity},
};

use super::sentence::{NOT_IN_OUTBOX, NOT_WRITTEN, fault, question_text};

/// Returns a question of a run, as a sentence.
pub(super) fn question_text_in(run: &Run, question: &Question) -> String {
    precise_text(run, question).unwrap_or_else(|| question_text(question))
}

/// Returns what the run says more precisely than the question alone, if it does.
fn precise_text(run: &Run, question: &Question) -> Option<String> {
    let unit = run.unit(&question.unit);
    if question.why == QuestionReason::Guarded {
        let is_weaker = unit.found.iter().any(is_weakened_test);
        return is_weaker.then(|| "This change weakens tests. Accept it?".to_owned());
    }
    if question.why == QuestionReason::NotShrinking && question.gate.as_deref() == Some("review") {
        let counts = serious_counts(&unit.found)?;
        return Some(format!("The review still finds {counts}, as many as before. What now?"));
    }
    let QuestionReason::NoResult { class: Some(class), what } = &question.why else { return None };
    if question.gate.is_some() {
        return None;
    }
    let last = fault(*class, what).replace(NOT_IN_OUTBOX, NOT_WRITTEN);
    let last = last.trim_end_matches('.');
    let who = match run.stage(&question.unit).work {
        Work::Agent { .. } => "agent",
        Work::Command { .. } => "command",
        Work::Deliver { .. } => "delivery",
        Work::Each { .. } | Work::Flow { .. } | Work::Nothing => "work",
    };
    let times = match unit.misses {
        0 | 1 => String::new(),
        2 => " twice".to_owned(),
        n => format!(" {n} times"),
    };
    let did = if *class == FaultClass::Crashed { "failed" } else { "left no usable result" };
    Some(format!("The {who} {did}{times}: {last}. What now?"))
}

/// Returns the numbers of findings that have to be dealt with: `1 critical and 2 major findings`.
pub(super) fn serious_counts(findings: &[Finding]) -> Option<String> {
    let count = |severity| findings.iter().filter(|one| one.severity == severity).count();
    let (critical, major) = (count(Severity::Critical), count(Severity::Major));
    let ending = |n| if n == 1 { "" } else { "s" };
    match (critical, major) {
        (0, 0) => None,
        (0, n) => Some(format!("{n} major finding{}", ending(n))),
        (n, 0) => Some(format!("{n} critical finding{}", ending(n))),
        (critical, major) => {
            Some(format!("{critical} critical and {major} major finding{}", ending(major)))
        }
    }
}

/// Returns true for a test file that became weaker: only of such a file the change is quoted at this severity.
fn is_weakened_test(finding: &Finding) -> bool {
    finding.severity == Severity::Critical && matches!(finding.proof, Some(Proof::Quote { .. }))
}
