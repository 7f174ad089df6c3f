//! What would make the next run better: what the facts show, each with one line of advice. No
//! agent is asked, and what went well is not praised.
//!
//! Invariant: every line names the fact that it comes from.

use std::collections::BTreeMap;

use super::types::Improvement;

use crate::{
    event::{Answer, Hold, Outcome, QuestionReason, Ruling, SentBack},
    failure::main_line,
    flow::Check,
    id::{UnitId, gate_label},
    run::{AskedQuestion, CallEnding, EndedCall, Run, State},
    verdict::{Finding, Proof},
    view::format::first_line,
};

/// The most lines of advice.
const IMPROVEMENTS_MAX: usize = 20;

/// The most findings that one line names.
const FINDINGS_NAMED_MAX: usize = 3;

/// The most characters of words that one line quotes.
const QUOTED_CHARS_MAX: usize = 160;

/// Setbacks of one unit that are nothing unusual.
const SETBACKS_USUAL: u32 = 1;

/// Returns what would make the next run better. Nothing, if nothing stood in the way.
pub(super) fn improvements(run: &Run) -> Vec<Improvement> {
    let mut all = Vec::new();
    if run.is_started() {
        sent_back(run, &mut all);
        unproved(run, &mut all);
        calls(run, &mut all);
        questions(run, &mut all);
        held(run, &mut all);
        waited(run, &mut all);
    }
    let more = all.len().saturating_sub(IMPROVEMENTS_MAX);
    all.truncate(IMPROVEMENTS_MAX);
    if more > 0 {
        all.push(Improvement {
            fact: format!("{more} more like these"),
            advice: "`forge log` shows all of it".to_owned(),
        });
    }
    all
}

fn times(n: usize) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}

fn quoted(text: &str) -> String {
    first_line(text, QUOTED_CHARS_MAX)
}

/// Advises on gates that sent work back.
fn sent_back(run: &Run, all: &mut Vec<Improvement>) {
    let mut gates: BTreeMap<(&UnitId, &UnitId, &str), Vec<&[Finding]>> = BTreeMap::new();
    let mut landings: BTreeMap<&UnitId, usize> = BTreeMap::new();
    let mut partly: BTreeMap<&UnitId, usize> = BTreeMap::new();
    for back in run.history().sent_back.iter() {
        match &back.by {
            SentBack::Gate { unit, gate } => {
                gates.entry((&back.unit, unit, gate)).or_default().push(&back.findings);
            }
            SentBack::Landing => *landings.entry(&back.unit).or_default() += 1,
            SentBack::Partial => *partly.entry(&back.unit).or_default() += 1,
            SentBack::Person { .. } | SentBack::Resumed => {}
        }
    }
    for ((unit, judge, name), found) in gates {
        let n = found.len();
        let what = commonest(&found);
        let advice = match run.definition().flow.gate(judge, name).map(|gate| &gate.check) {
            Some(Check::Verify | Check::Command { .. }) => {
                "name the check in .forge/instructions.md, so that agents run it before they \
                 finish"
            }
            Some(Check::Review { .. }) => {
                "if it is a rule of the project, say it in .forge/instructions.md"
            }
            Some(Check::Artifact { .. } | Check::Outputs { .. }) => {
                "say in the role's prompt what the artifact must look like"
            }
            Some(Check::BuiltIn { .. }) => {
                "let the tasks declare the paths that they write, and leave protected files alone"
            }
            Some(Check::Human { .. } | Check::Land) | None => "say it in the request",
        };
        all.push(Improvement {
            fact: format!(
                "{} was sent back {} by {}{what}",
                unit.label(),
                times(n),
                gate_label(name)
            ),
            advice: advice.to_owned(),
        });
    }
    for (unit, n) in landings {
        all.push(Improvement {
            fact: format!("{} conflicted {} with work merged before it", unit.label(), times(n)),
            advice: "let tasks that touch the same code run one after the other".to_owned(),
        });
    }
    for (unit, n) in partly {
        all.push(Improvement {
            fact: format!("{} was only partly done {}", unit.label(), times(n)),
            advice: "split it into smaller tasks".to_owned(),
        });
    }
}

/// Returns the findings that came most often, the most frequent first.
fn commonest(found: &[&[Finding]]) -> String {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for finding in found.iter().flat_map(|findings| findings.iter()) {
        let what = quoted(&finding.to_line());
        match counted.iter_mut().find(|(known, _)| *known == what) {
            Some((_, n)) => *n += 1,
            None => counted.push((what, 1)),
        }
    }
    counted.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let more = counted.len().saturating_sub(FINDINGS_NAMED_MAX);
    let named = counted.iter().take(FINDINGS_NAMED_MAX).map(|(what, n)| match n {
        1 => what.clone(),
        n => format!("{what} ({})", times(*n)),
    });
    let named: Vec<String> = named.collect();
    match (named.as_slice(), more) {
        ([], _) => String::new(),
        (named, 0) => format!(": {}", named.join("; ")),
        (named, more) => format!(": {}; and {more} more", named.join("; ")),
    }
}

/// Advises on checks that are red at the base or missing.
fn unproved(run: &Run, all: &mut Vec<Improvement>) {
    let mut seen: Vec<&str> = Vec::new();
    for call in run.history().calls.iter() {
        if let CallEnding::Look(Ruling::Unverified { what, .. }) = &call.ending
            && !seen.contains(&what.as_str())
        {
            seen.push(what);
            all.push(Improvement {
                fact: format!("nothing proved the work: {}", quoted(what)),
                advice: "run `forge init`, or set verify.commands in forge.toml".to_owned(),
            });
        }
    }
    let mut red: Vec<&str> = Vec::new();
    for finding in run.history().sent_back.iter().flat_map(|back| &back.findings) {
        if let Some(Proof::Command { command, .. }) = &finding.proof
            && finding.is_red_at_base()
            && !red.contains(&command.as_str())
        {
            red.push(command);
        }
    }
    for command in red {
        all.push(Improvement {
            fact: format!("`{}` already failed where the run started", quoted(command)),
            advice: "fix it before the next run, or remove it from verify.commands".to_owned(),
        });
    }
}

/// Calls that ended without a result, were limited or set back.
fn calls(run: &Run, all: &mut Vec<Improvement>) {
    let mut faults: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut limits: BTreeMap<String, usize> = BTreeMap::new();
    let mut setbacks: BTreeMap<&UnitId, u32> = BTreeMap::new();
    for call in run.history().calls.iter() {
        if let CallEnding::Work(Outcome::Fault { class, what })
        | CallEnding::Look(Ruling::Fault { class, what }) = &call.ending
        {
            let entry = faults.entry(place(call)).or_default();
            *entry = (entry.0 + 1, quoted(main_line(*class, what).0));
        } else if let CallEnding::Work(Outcome::Limited { what, .. })
        | CallEnding::Look(Ruling::Limited { what, .. }) = &call.ending
        {
            *limits.entry(quoted(what)).or_default() += 1;
        } else if let CallEnding::Work(Outcome::Lost | Outcome::Interrupted)
        | CallEnding::Look(Ruling::Lost | Ruling::Interrupted) = &call.ending
        {
            *setbacks.entry(call.call.unit()).or_default() += 1;
        }
    }
    for (place, (n, what)) in faults {
        all.push(Improvement {
            fact: format!("{place} ended {} without a result: {what}", times(n)),
            advice: "see `forge brief` and `forge watch`".to_owned(),
        });
    }
    for (what, n) in limits {
        let what = if what.is_empty() { "a limit".to_owned() } else { what };
        all.push(Improvement {
            fact: format!("{what} stopped work {}", times(n)),
            advice: "use another account or agent, or lower limits.at_once".to_owned(),
        });
    }
    for (unit, n) in setbacks.into_iter().filter(|(_, n)| *n > SETBACKS_USUAL) {
        all.push(Improvement {
            fact: format!("{} was lost or interrupted {n} times", unit.label()),
            advice: "see `forge doctor`".to_owned(),
        });
    }
}

/// Returns the unit, and the gate behind it.
fn place(call: &EndedCall) -> String {
    match (call.call.unit(), call.call.gate()) {
        (unit, None) => unit.label(),
        (unit, Some(gate)) => format!("{}: {}", unit.label(), gate_label(gate)),
    }
}

/// Questions that were not planned, and checkpoints at which a person wanted something else.
fn questions(run: &Run, all: &mut Vec<Improvement>) {
    for asked in run.history().asked.iter() {
        let Some(said) = &asked.answer else { continue };
        let about = about(asked);
        let words = match quoted(&said.words).as_str() {
            "" => String::new(),
            words => format!(": \"{words}\""),
        };
        let answered = format!("{} answered {}{words}", said.by.who, said.answer.choice().label());
        let advice = match (&asked.question.why, &said.answer) {
            (QuestionReason::Checkpoint { .. }, Answer::Revise) => {
                "say it in the request or in .forge/instructions.md, and it is known from the start"
            }
            (QuestionReason::Checkpoint { .. } | QuestionReason::Guarded, Answer::GiveUp) => {
                "ask for something smaller, or say in the request what was missing"
            }
            // Calls that ended without a result are advised on as such.
            (
                QuestionReason::Checkpoint { .. }
                | QuestionReason::Guarded
                | QuestionReason::NoResult { .. }
                | QuestionReason::NoVerdict { .. },
                _,
            ) => continue,
            (QuestionReason::Unverified { .. }, _) => {
                "set verify.commands, so that no question is needed"
            }
            (QuestionReason::CapReached { .. }, _) => "raise limits.call_budget, or split the work",
            (QuestionReason::RoundsUsedUp | QuestionReason::NotShrinking, _)
                if is_about_a_check(run, asked) =>
            {
                "fix the check, or say in .forge/instructions.md what it asks for"
            }
            (
                QuestionReason::RoundsUsedUp
                | QuestionReason::NotShrinking
                | QuestionReason::Objected { .. },
                _,
            ) => "split the work, or say in the request what the review asks for",
            (QuestionReason::Blocked { .. }, _) => "fix what blocked it before the next run",
            (
                QuestionReason::DoesNotLand
                | QuestionReason::LandedAlready
                | QuestionReason::NothingToRedo,
                _,
            ) => "let tasks that touch the same code run one after the other",
            (QuestionReason::NothingChanged, _) => "leave out what already exists",
            (QuestionReason::Unfinished { .. }, _) => "split it into smaller tasks",
            (QuestionReason::NotReady { .. }, _) => "see `forge gate check` before the next run",
            (QuestionReason::Doubted { .. }, _) => "see what is left before you merge",
            (QuestionReason::Setbacks { .. }, _) => "see `forge doctor` and the agent's own logs",
        };
        all.push(Improvement { fact: format!("{about}: {answered}"), advice: advice.to_owned() });
    }
}

/// Returns true if a command of the project did not pass, and not a review.
fn is_about_a_check(run: &Run, asked: &AskedQuestion) -> bool {
    let name = asked.question.gate.as_deref().unwrap_or_default();
    let gate = run.definition().flow.gate(&asked.question.unit, name);
    gate.is_some_and(|gate| matches!(gate.check, Check::Verify | Check::Command { .. }))
}

fn about(asked: &AskedQuestion) -> String {
    let question = &asked.question;
    format!("{} about {}", question.id, question.unit.label())
}

/// Advises on what stopped the whole run.
fn held(run: &Run, all: &mut Vec<Improvement>) {
    for (_, hold) in run.history().held.iter() {
        let (fact, advice) = match hold {
            Hold::OutOfBudget { what } => (what.clone(), "raise the budget, or ask for less"),
            Hold::Unfinished { unit, note } => {
                (format!("{} was left unfinished: {}", unit.label(), quoted(note)), "split it")
            }
            Hold::Escalated { what } => (quoted(what), "fix the environment before the next run"),
            Hold::Paused { .. } | Hold::Interrupted { .. } | Hold::Stopped { .. } => continue,
        };
        all.push(Improvement { fact, advice: advice.to_owned() });
    }
}

/// Units that came to their end only at a second or third try without a result.
fn waited(run: &Run, all: &mut Vec<Improvement>) {
    for (id, _, unit) in run.units() {
        let id = id.label();
        if unit.misses > 0 && matches!(unit.state, State::Failed { .. }) {
            all.push(Improvement {
                fact: format!(
                    "{id} was rejected after {} without a result",
                    times(unit.misses as usize)
                ),
                advice: "try the role with another agent or model".to_owned(),
            });
        }
    }
}
