//! Questions to the person at the terminal: consent, a choice, a few lines of text.
//!
//! Not here: what follows from an answer. Prompts are not data, so all of them go to stderr.

use std::io::{self, BufRead, IsTerminal as _};

use forge_api::start::Reply;
use forge_core::view::sanitize;

use crate::{format, terminal_output};

/// How often a question is repeated after an invalid answer.
const ASKED_MAX: usize = 5;

/// The most columns of an invalid answer that are shown.
const ANSWER_SHOWN: usize = 40;

/// The answer to a question for consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmation {
    Given,
    Refused,
    /// There is no terminal to ask at.
    NoTerminal,
}

/// Shows the commands of a repository on stderr and asks for consent to run them.
pub(crate) fn confirm_commands(commands: &[String]) -> Confirmation {
    terminal_output::print_stderr(
        "This repository makes Forge run these commands on this machine, as you:",
    );
    for command in commands {
        for (position, line) in sanitize(command).lines().enumerate() {
            terminal_output::print_stderr(&format!(
                "  {} {line}",
                if position == 0 { "$" } else { ">" }
            ));
        }
    }
    confirm("Allow them? [y/N]")
}

/// Asks a yes-or-no question, if there is a terminal.
pub(crate) fn confirm(question: &str) -> Confirmation {
    if !can_ask() {
        return Confirmation::NoTerminal;
    }
    read_confirmation(&mut io::stdin().lock(), question)
}

/// Returns true if stdin and stderr are terminals, so that a person can answer.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until `read` accepts an answer. The end of the input, `q` and too many invalid answers stop.
pub(super) fn ask<T>(
    input: &mut impl BufRead,
    question: &str,
    read: &dyn Fn(&str) -> Option<T>,
) -> Reply<T> {
    for _ in 0..ASKED_MAX {
        terminal_output::print_prompt(question);
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => return Reply::Stop,
            Ok(_) => {}
        }
        let answer = line.trim().to_lowercase();
        if let Some(value) = read(&answer) {
            return Reply::Said(value);
        }
        if ["q", "quit", "s", "stop"].contains(&answer.as_str()) {
            return Reply::Stop;
        }
        print_not_an_answer(&answer);
    }
    Reply::Stop
}

/// Reads lines up to an empty one, verbatim. Returns `None` if the input ends before any text.
pub(super) fn read_paragraph(input: &mut impl BufRead) -> Option<String> {
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

/// Asks until there is a yes or a no. Enter, the end of the input and too many invalid answers mean no.
fn read_confirmation(input: &mut impl BufRead, question: &str) -> Confirmation {
    for _ in 0..ASKED_MAX {
        terminal_output::print_prompt(question);
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => return Confirmation::Refused,
            Ok(_) => {}
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Confirmation::Given,
            "" | "n" | "no" => return Confirmation::Refused,
            neither => print_not_an_answer(neither),
        }
    }
    Confirmation::Refused
}

fn print_not_an_answer(answer: &str) {
    let answer = format::one_line(answer, ANSWER_SHOWN);
    terminal_output::print_stderr(&sanitize(&format!("`{answer}` is not one of the answers")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_until_it_is_answered() {
        let read = |answer: &str| answer.parse::<u32>().ok();
        let answered = |input: &str| ask(&mut input.as_bytes(), "?", &read);
        assert_eq!(answered("x\n\n7\n"), Reply::Said(7));
        assert_eq!(answered("x\nq\n7\n"), Reply::Stop);
        assert_eq!(answered("x\n"), Reply::Stop);
        assert_eq!(answered("a\nb\nc\nd\ne\n7\n"), Reply::Stop);
    }

    #[test]
    fn an_answer_is_kept_word_for_word() {
        let mut input = &b"  one\ntwo  \n\n\nthree"[..];
        assert_eq!(read_paragraph(&mut input), Some("  one\ntwo".to_owned()));
        assert_eq!(read_paragraph(&mut input), Some(String::new()));
        assert_eq!(read_paragraph(&mut input), Some("three".to_owned()));
        assert_eq!(read_paragraph(&mut input), None);
    }

    fn confirmed(input: &[u8]) -> Confirmation {
        read_confirmation(&mut &*input, "?")
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        for yes in ["y\n", "Y\n", "yes\n", " YES \n", "y"] {
            assert_eq!(confirmed(yes.as_bytes()), Confirmation::Given, "{yes:?}");
        }
        for no in ["", "\n", "n\n", "No\n", "yep\n", "no yes\n", "\u{1b}y\n"] {
            assert_eq!(confirmed(no.as_bytes()), Confirmation::Refused, "{no:?}");
        }
        assert_eq!(confirmed(b"y\xff\n"), Confirmation::Refused);
    }

    #[test]
    fn what_is_neither_yes_nor_no_is_asked_again_up_to_a_limit() {
        assert_eq!(confirmed(b"S\nyep\ny\n"), Confirmation::Given);
        assert_eq!(confirmed(b"S\n\ny\n"), Confirmation::Refused);
        assert_eq!(confirmed(b"S\nn\ny\n"), Confirmation::Refused);
        assert_eq!(confirmed(b"1\n2\n3\n4\ny\n"), Confirmation::Given);
        assert_eq!(confirmed(b"1\n2\n3\n4\n5\ny\n"), Confirmation::Refused);
    }
}
