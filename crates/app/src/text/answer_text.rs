//! The possible answers to a question of a run: their keys on the live screen, and the commands that give them.

use forge_api::Error;
use forge_core::{
    event::{Answer, Choice},
    id::gate_label,
    view::{AnswerWords, OptionView, QuestionView},
};
use strsim::osa_distance;

/// A word that differs from a name by no more than this is a mistake.
const MISSPELT_MAX: usize = 2;

/// A possible answer on the live screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerOption {
    pub(crate) key: char,
    /// An older key that still works.
    alias: Option<char>,
    pub(crate) label: &'static str,
    /// Its effect.
    pub(crate) does: String,
    pub(crate) answer: Answer,
    pub(crate) words: AnswerWords,
}

impl AnswerOption {
    pub(crate) fn has_key(&self, letter: char) -> bool {
        self.key == letter || self.alias == Some(letter)
    }
}

/// Returns the possible answers to a question.
pub(crate) fn answer_options(question: &QuestionView) -> Vec<AnswerOption> {
    let gate = question.gate.clone().unwrap_or_default();
    let to_option = |option: &OptionView| {
        let (key, alias, label, answer) = match option.answer.split(' ').next()? {
            "approve" => ('a', None, "approve", Answer::Approve),
            "revise" => ('r', None, "request changes", Answer::Revise),
            "retry" => ('t', None, "retry", Answer::Retry),
            "waive" => ('o', Some('w'), "override", Answer::Waive { gate: gate.clone() }),
            "give-up" => ('x', Some('g'), "reject", Answer::GiveUp),
            _ => return None,
        };
        let (does, words) = (option.does.clone(), option.words);
        Some(AnswerOption { key, alias, label, does, answer, words })
    };
    let mut options: Vec<AnswerOption> = question.options.iter().filter_map(to_option).collect();
    // A plain yes needs no override beside it.
    if let Some(yes) = options.iter().find(|one| one.answer == Answer::Approve).cloned() {
        options.retain(|one| one.answer == Answer::Approve || one.does != yes.does);
    }
    options
}

/// The number of open questions of a run: where there are several, a command names the one that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenQuestions {
    One,
    Several,
}

impl OpenQuestions {
    pub(crate) const fn new(asked: &[QuestionView]) -> Self {
        if asked.len() > 1 { Self::Several } else { Self::One }
    }

    /// Returns the flag that names a question, with a space before it, where one is needed.
    pub(crate) fn flag(self, number: &str) -> String {
        match self {
            Self::One => String::new(),
            Self::Several => format!(" --question {number}"),
        }
    }
}

/// Returns the command that gives an answer.
pub(crate) fn answer_command(
    id: &str,
    number: &str,
    option: &AnswerOption,
    open: OpenQuestions,
) -> String {
    let named = open.flag(number);
    let words = match option.words {
        AnswerWords::Possible => " [-m \"WORDS\"]",
        AnswerWords::None | AnswerWords::Needed => "",
    };
    match &option.answer {
        Answer::Approve => format!("forge approve {id}{named}{words}"),
        Answer::Revise => format!("forge revise {id}{named} \"WORDS\""),
        Answer::Retry => format!("forge retry {id}{named}{words}"),
        Answer::GiveUp => format!("forge reject {id}{named}"),
        Answer::Waive { gate } => {
            format!("forge override {id}{named} {} \"WHY\"", typed_check(gate))
        }
    }
}

/// Returns the name of a check as a person types it: that of the screens, if it is one word.
fn typed_check(gate: &str) -> &str {
    match gate_label(gate) {
        label if label.contains(' ') => gate,
        label => label,
    }
}

/// Returns true if a word names a check, by its name on screens or in its flow.
fn is_check_name(word: &str, gate: &str) -> bool {
    word == gate || word == gate_label(gate)
}

/// Returns true if a word names a check that most flows have, on screens or in a flow.
fn is_common_check(word: &str) -> bool {
    let checks = ["form", "changes", "verify", "guarded", "new-tests", "land", "review"];
    checks.iter().any(|check| is_check_name(word, check))
}

/// Returns the commands that answer a question, each on a line.
pub(crate) fn answer_commands(id: &str, question: &QuestionView, open: OpenQuestions) -> String {
    let options = answer_options(question);
    let commands = options.iter().map(|one| answer_command(id, &question.question, one, open));
    commands.collect::<Vec<_>>().join("\n   or: ")
}

/// Returns true if a question offers an answer.
pub(crate) fn offers(question: &QuestionView, choice: Choice) -> bool {
    answer_options(question).iter().any(|option| option.answer.choice() == choice)
}

/// Returns how none of so many is said.
pub(crate) const fn none_of(number: usize) -> &'static str {
    if number == 2 { "neither" } else { "none" }
}

/// Builds the error for an answer that a question does not offer; it names those that it does.
pub(crate) fn not_offered(
    id: &str,
    answer: &str,
    question: &QuestionView,
    open: OpenQuestions,
) -> Error {
    let number = &question.question;
    let what = format!("{number} of {id} does not offer {answer}: {}", question.text);
    Error::usage(what, answer_commands(id, question, open))
}

/// Returns the reason for an override of a check. The check can be named first; a single text is the reason, unless it
/// is a name.
pub(crate) fn override_reason(id: &str, words: &[String], gate: &str) -> Result<String, Error> {
    let name = typed_check(gate);
    let command = |why: &str| format!("forge override {id} {name} \"{why}\"");
    match words {
        [check, why @ ..] if !why.is_empty() && is_check_name(check, gate) => Ok(why.join(" ")),
        [check] if !is_check_name(check, gate) && !is_common_check(check) => Ok(check.clone()),
        [check, ..] if is_common_check(check) && !is_check_name(check, gate) => {
            let what = format!("only `{name}` can be overridden here, not `{check}`");
            Err(Error::usage(what, command("WHY")))
        }
        [] | [_] => Err(Error::usage("say which check you override, and why", command("WHY"))),
        [check, why @ ..] if osa_distance(check, name) <= MISSPELT_MAX => {
            let what = format!("unknown check `{check}`; did you mean `{name}`?");
            Err(Error::usage(what, command(&why.join(" "))))
        }
        words => {
            let what = format!("name what you override: `{name}`");
            Err(Error::usage(what, command(&words.join(" "))))
        }
    }
}
