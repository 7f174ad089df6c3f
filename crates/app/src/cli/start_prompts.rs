//! Questions before a run exists, asked at the terminal; and the fast-forward offer after one.
//!
//! Not here: what follows from an answer, and how a question is read (`prompt.rs`).

use std::io;

use forge_api::{
    Error,
    fast_forward::FastForwardOffer,
    forge::Forge,
    start::{AgentOffer, Allowed, Asks, Presence, Reply},
};
use forge_core::view::sanitize;

use super::prompt::{Confirmation, ask, can_ask, confirm_commands, read_paragraph};
use crate::{
    format,
    picker::{PickedLine, pick},
    terminal_output,
};

/// Answers the questions of a start by asking the person at the terminal.
pub(crate) struct TerminalPrompts;

impl Asks for TerminalPrompts {
    fn presence(&self) -> Presence {
        if can_ask() { Presence::Here } else { Presence::Nobody }
    }

    fn commands(&mut self, commands: &[String]) -> Allowed {
        approve_commands(commands)
    }

    fn know(&mut self, note: &str) {
        terminal_output::print_note(note);
    }

    fn wait(&mut self, what: &str) {
        terminal_output::print_hint(what);
    }

    fn agent(&mut self, offers: &[AgentOffer]) -> Reply<String> {
        if !can_ask() {
            return Reply::Nobody;
        }
        let line = |offer: &AgentOffer| {
            let title = offer.title.as_ref().map(|title| format!("  {title}")).unwrap_or_default();
            sanitize(&format!("{}{title}", offer.name))
        };
        let lines: Vec<String> = offers.iter().map(line).collect();
        let question = "Which agent should Forge use? Your choice is kept in your settings.";
        match pick(question, &lines, &[]) {
            Some(picked) => Reply::Said(offers[picked.line].name.clone()),
            None => Reply::Stop,
        }
    }

    fn without_auto(&mut self, why: &str) -> Reply<()> {
        if !can_ask() {
            return Reply::Nobody;
        }
        terminal_output::print_stderr(&format!("`--auto` is not possible with {why}"));
        let lines = ["continue without it".to_owned(), "stop".to_owned()];
        let keys = [('c', "continue"), ('s', "stop")];
        match pick("Continue?", &lines, &keys) {
            Some(PickedLine { key: Some('c'), .. } | PickedLine { line: 0, key: None }) => {
                Reply::Said(())
            }
            Some(_) | None => Reply::Stop,
        }
    }

    fn discussion(&mut self, questions: &[&str]) -> Reply<Vec<String>> {
        if !can_ask() {
            return Reply::Nobody;
        }
        let n = u32::try_from(questions.len()).unwrap_or(u32::MAX);
        let n = format::count(n, "question");
        terminal_output::print_stderr(&format!("{n}. End each answer with an empty line."));
        let mut input = io::stdin().lock();
        let mut answers = Vec::new();
        for question in questions {
            terminal_output::print_stderr(&format!("\n{question}"));
            match read_paragraph(&mut input) {
                Some(answer) => answers.push(answer),
                None => return Reply::Stop,
            }
        }
        Reply::Said(answers)
    }
}

/// Asks for consent to run these commands of a repository.
pub(crate) fn approve_commands(commands: &[String]) -> Allowed {
    match confirm_commands(commands) {
        Confirmation::Given => Allowed::FromNowOn,
        Confirmation::Refused | Confirmation::NoTerminal => Allowed::No,
    }
}

/// Offers to fast-forward the user's branch to the result of the run, if the run was started for one; or prints the
/// command for it.
pub(crate) fn offer_fast_forward(forge: &Forge, run: &str) -> Result<(), Error> {
    let Some(offer) = forge.offer_onto(run)? else { return Ok(()) };
    let FastForwardOffer { branch, onto, cannot, by_hand, .. } = &offer;
    if let Some(why) = cannot {
        terminal_output::print_progress(&format!(
            "{onto} was not fast-forwarded: {why}; by hand: {by_hand}"
        ));
        return Ok(());
    }
    if !can_ask() {
        terminal_output::print_progress(&format!("fast-forward {onto}: {by_hand}"));
        return Ok(());
    }
    let question = format!("fast-forward {onto} to {branch} now ({by_hand})? [y/n]");
    let reply = ask(&mut io::stdin().lock(), &question, &|answer| match answer {
        "y" | "yes" => Some(true),
        "" | "n" | "no" => Some(false),
        _ => None,
    });
    match reply {
        Reply::Said(true) => {
            forge.fast_forward(run)?;
            terminal_output::print_progress(&format!("{onto} is at {}", offer.commit));
        }
        Reply::Said(false) | Reply::Stop | Reply::Nobody => {
            terminal_output::print_progress(&format!(
                "your branch was not changed; by hand: {by_hand}"
            ));
        }
    }
    Ok(())
}
