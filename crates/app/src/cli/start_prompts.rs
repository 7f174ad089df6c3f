//! What may be asked before a run exists, asked at the terminal.
//!
//! Not here: what follows from an answer. Nothing of this is data, so all of it goes where errors go.

use std::io::{self, BufRead, IsTerminal as _};

use forge_runtime::{
    Trouble,
    doors::Doors,
    onto::Offer,
    start::{Allowed, Asks, BranchChoice, EffortOffer, Reply},
};

use super::config;
use crate::format;

/// How often a question is asked again if the answer is none.
pub(super) const ASKED_MAX: usize = 5;

/// Of an answer that is none, this many characters are shown.
const ANSWER_SHOWN: usize = 40;

/// The person at the terminal, if there is one.
pub(crate) struct Terminal;

impl Asks for Terminal {
    fn commands(&mut self, commands: &[String]) -> Allowed {
        ask_commands(commands)
    }

    fn know(&mut self, note: &str) {
        format::note(note);
    }

    fn wait(&mut self, what: &str) {
        format::warn(&format::harmless(what));
    }

    fn effort(&mut self, offer: &EffortOffer) -> Reply<String> {
        let EffortOffer { choices, detected, why } = offer;
        if !is_there() {
            return Reply::Nobody;
        }
        format::warn("how much effort is it to take?");
        for choice in choices {
            let mark = if choice.value == *detected { ">" } else { " " };
            let skips = match choice.skips.as_slice() {
                [] => "nothing".to_owned(),
                skips => skips.join(", "),
            };
            let beginning = format!("{mark} {}  runs  ", choice.value);
            let indent = " ".repeat(beginning.chars().count() - "runs  ".len());
            let width = format::width();
            format::warn(&format::block(&beginning, &choice.runs.join(", "), width));
            format::warn(&format::block(&format!("{indent}skips "), &skips, width));
        }
        let values: Vec<&str> = choices.iter().map(|choice| choice.value.as_str()).collect();
        format::warn(&format!("{detected} was detected: {why}"));
        let question = format!("[{}] Enter for {detected}, q to stop", values.join("/"));
        ask(&mut io::stdin().lock(), &question, &|answer| match answer {
            "" => Some(detected.clone()),
            answer => {
                let is_it = |value: &&&str| value.eq_ignore_ascii_case(answer);
                values.iter().find(is_it).map(|value| (*value).to_owned())
            }
        })
    }

    fn branch(&mut self, branch: &str) -> Reply<BranchChoice> {
        if !is_there() {
            return Reply::Nobody;
        }
        format::warn(&format::harmless(&format!("`{branch}` is checked out. Is the result for")));
        format::warn("  n  a new branch of its own");
        format::warn("  c  the current one, too: at the end you are asked whether it is to follow");
        let question = "[n/c] Enter for n, q to stop";
        ask(&mut io::stdin().lock(), question, &|answer| match answer {
            "" | "n" | "new" => Some(BranchChoice::New),
            "c" | "current" => Some(BranchChoice::Current),
            _ => None,
        })
    }

    fn without_auto(&mut self, why: &str) -> Reply<()> {
        if !is_there() {
            return Reply::Nobody;
        }
        format::warn(&format!("`--auto` cannot be with {why}"));
        let question = "[c] go on without it, [s] stop";
        let go_on = |answer: &str| ["c", "continue"].contains(&answer).then_some(());
        ask(&mut io::stdin().lock(), question, &go_on)
    }

    fn discussion(&mut self, questions: &[&str]) -> Reply<Vec<String>> {
        if !is_there() {
            return Reply::Nobody;
        }
        format::warn("a few words first; each answer ends with an empty line");
        let mut input = io::stdin().lock();
        let mut answers = Vec::new();
        for question in questions {
            format::warn(&format!("\n{question}"));
            match paragraph(&mut input) {
                Some(answer) => answers.push(answer),
                None => return Reply::Stop,
            }
        }
        Reply::Said(answers)
    }
}

/// Whether a repository may run these commands.
pub(crate) fn ask_commands(commands: &[String]) -> Allowed {
    match config::ask(commands) {
        config::Consent::Given => Allowed::FromNowOn,
        config::Consent::Refused | config::Consent::NobodyToAsk => Allowed::No,
    }
}

/// At the end of a run whose result is also for a branch of the user's: asks, and lets it follow; or says
/// how to do it by hand.
pub(crate) fn offer(doors: &Doors, run: &str) -> Result<(), Trouble> {
    let Some(offer) = doors.offer_onto(run)? else { return Ok(()) };
    let Offer { branch, onto, cannot, by_hand, .. } = &offer;
    if let Some(why) = cannot {
        format::tell(&format!("{onto} does not follow by itself: {why}; by hand: {by_hand}"));
        return Ok(());
    }
    if !is_there() {
        format::tell(&format!("let {onto} follow: {by_hand}"));
        return Ok(());
    }
    let question = format!("let {onto} follow {branch} now ({by_hand})? [y/n]");
    let reply = ask(&mut io::stdin().lock(), &question, &|answer| match answer {
        "y" | "yes" => Some(true),
        "" | "n" | "no" => Some(false),
        _ => None,
    });
    match reply {
        Reply::Said(true) => {
            doors.fast_forward(run)?;
            format::tell(&format!("{onto} is at {}", offer.commit));
        }
        Reply::Said(false) | Reply::Stop | Reply::Nobody => {
            format::tell(&format!("nothing of yours was changed; by hand: {by_hand}"));
        }
    }
    Ok(())
}

/// Whether there is somebody who sees a question and can answer it.
fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until there is an answer. Who gives none, or says so, stops.
fn ask<T>(input: &mut impl BufRead, question: &str, read: &dyn Fn(&str) -> Option<T>) -> Reply<T> {
    for _ in 0..ASKED_MAX {
        format::warn(question);
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => return Reply::Stop,
            Ok(_) => {}
        }
        let answer = line.trim().to_lowercase();
        if let Some(said) = read(&answer) {
            return Reply::Said(said);
        }
        if ["q", "quit", "s", "stop"].contains(&answer.as_str()) {
            return Reply::Stop;
        }
        none_of_the_answers(&answer);
    }
    Reply::Stop
}

/// Says that what was typed is no answer.
pub(super) fn none_of_the_answers(answer: &str) {
    let answer = format::cut(answer, ANSWER_SHOWN);
    format::warn(&format::harmless(&format!("`{answer}` is none of the answers")));
}

/// Lines up to an empty one, as they are. Nothing, if the input ends before anything was said.
fn paragraph(input: &mut impl BufRead) -> Option<String> {
    let mut text = String::new();
    loop {
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => return (!text.is_empty()).then(|| text.trim_end().to_owned()),
            Ok(_) if line.trim().is_empty() => return Some(text.trim_end().to_owned()),
            Ok(_) => text.push_str(&line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_until_it_is_answered() {
        let read = |answer: &str| answer.parse::<u32>().ok();
        let said = |input: &str| ask(&mut input.as_bytes(), "?", &read);
        assert_eq!(said("x\n\n7\n"), Reply::Said(7));
        assert_eq!(said("x\nq\n7\n"), Reply::Stop);
        assert_eq!(said("x\n"), Reply::Stop);
        assert_eq!(said("a\nb\nc\nd\ne\n7\n"), Reply::Stop);
    }

    #[test]
    fn an_answer_is_kept_word_for_word() {
        let mut input = &b"  one\ntwo  \n\n\nthree"[..];
        assert_eq!(paragraph(&mut input), Some("  one\ntwo".to_owned()));
        assert_eq!(paragraph(&mut input), Some(String::new()));
        assert_eq!(paragraph(&mut input), Some("three".to_owned()));
        assert_eq!(paragraph(&mut input), None);
    }
}
