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

use super::sentence::{fault, question_text};

/// Returns a question of a run, as a sentence.
pub(super) fn question_text_in(run: &Run, question: &Question) -> String {
    let unit = run.unit(&question.unit);
    match &question.why {
        QuestionReason::Guarded if unit.found.iter().any(is_weakened_test) => {
            "This change weakens tests. Accept it?".to_owned()
        }
        QuestionReason::NotShrinking => {
            let gate = question.gate.as_deref().unwrap_or_default();
            match (gate, serious_counts(&unit.found)) {
                ("review", Some(counts)) => {
                    format!("The review still finds {counts}, as many as before. What now?")
                }
                (_, _) => question_text(question),
            }
        }
        QuestionReason::NoResult { class: Some(class), what } if question.gate.is_none() => {
            let last = fault(*class, what).replace(" is not in the outbox", " was not written");
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
            match class {
                FaultClass::Crashed => format!("The {who} failed{times}: {last}. What now?"),
                _ => format!("The {who} left no usable result{times}: {last}. What now?"),
            }
        }
        _ => question_text(question),
    }
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
