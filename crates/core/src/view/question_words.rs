//! What a question says with what is known of its run: how often something failed, and what was found.
//!
//! Not here: the other sentences (`sentence.rs`), for which the fact is enough.

use crate::{
    event::{Event, Question, QuestionReason, ResultChange},
    failure::FaultClass,
    flow::Work,
    run::Run,
    verdict::{Finding, Proof, Severity},
};

use super::sentence::{Names, asked, fault, question_text, sentence, short_commit};

/// Returns one of the last facts of a run as a sentence, a question and the start of a retry with what is known of the run.
pub fn sentence_in(run: &Run, event: &Event, names: Names) -> String {
    if let Event::QuestionAsked(question) = event {
        return asked(question, &question_text_in(run, question), names);
    }
    if let (Event::RunStarted(start), Names::Short) = (event, names) {
        let defaults = &run.definition().flow.params;
        let is_chosen = |name: &str, value: &str| {
            name == "effort" || defaults.get(name).is_none_or(|param| param.default != value)
        };
        let mut chosen = start.clone();
        chosen.params.retain(|name, value| is_chosen(name, value));
        return sentence(&Event::RunStarted(chosen), names);
    }
    if let (Event::Landed { unit, commit, head, brings, .. }, Names::Short) = (event, names)
        && let Work::Deliver { .. } = run.stage(unit).work
        && *brings != ResultChange::Unchanged
    {
        // What is merged is work; this is what the run tells of itself.
        let commit = short_commit(head.as_ref().unwrap_or(commit));
        return format!("{}: summary of the run committed as {commit}", names.unit(unit));
    }
    let simplified = match event.call_started() {
        Some((call, _)) if run.is_simplified(&call) => ", with a simplified brief",
        Some(_) | None => "",
    };
    sentence(event, names) + simplified
}

/// Returns a question of a run, as a sentence.
pub(crate) fn question_text_in(run: &Run, question: &Question) -> String {
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
        let counts = serious_counts(unit.found.iter())?;
        return Some(format!("The review still finds {counts}, as many as before. What now?"));
    }
    let QuestionReason::NoResult { class: Some(class), what } = &question.why else { return None };
    if question.gate.is_some() {
        return None;
    }
    let last = fault(*class, what);
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

/// Returns the numbers of findings that have to be dealt with: `1 critical finding and 2 major findings`.
pub fn serious_counts<'a>(findings: impl Iterator<Item = &'a Finding>) -> Option<String> {
    let (mut critical, mut major) = (0, 0);
    for finding in findings {
        match finding.severity {
            Severity::Critical => critical += 1,
            Severity::Major => major += 1,
            Severity::Minor => {}
        }
    }
    let words = |(n, severity): (u32, Severity)| match n {
        0 => None,
        1 => Some(format!("1 {} finding", severity.as_str())),
        n => Some(format!("{n} {} findings", severity.as_str())),
    };
    let counts = [(critical, Severity::Critical), (major, Severity::Major)];
    let counts: Vec<String> = counts.into_iter().filter_map(words).collect();
    (!counts.is_empty()).then(|| counts.join(" and "))
}

/// Returns true for a test file that became weaker: only of such a file the change is quoted at this severity.
fn is_weakened_test(finding: &Finding) -> bool {
    finding.severity == Severity::Critical && matches!(finding.proof, Some(Proof::Quote { .. }))
}
