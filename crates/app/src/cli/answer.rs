//! `forge answer`: answers a question of a run.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use forge_api::{
    Error,
    forge::{Forge, RUNS_MAX, Sent},
    person::person,
};
use forge_core::{
    Command, event,
    id::QuestionId,
    view::{Course, OptionView},
};

use super::{
    choose_run::{RunAction, choose_run},
    common::open_forge,
};
use crate::{
    format, terminal_output,
    text::{
        answer_text::{OpenQuestions, answer_commands, not_offered, override_reason},
        status_text::next_command,
    },
};

/// Answer a question by its number, without continuing the run
#[derive(Args)]
#[command(override_usage = "forge answer [RUN] [QUESTION] [CHOICE] [WORDS]...")]
pub(crate) struct AnswerArgs {
    /// Name the run; the one that asks this question by default
    run: Option<String>,
    /// Name the question, such as Q1
    question: Option<String>,
    /// Choose approve, revise, retry, override or reject
    #[arg(allow_hyphen_values = true)]
    choice: Option<String>,
    /// Add your words; for `override`, first the name of the check
    #[arg(allow_hyphen_values = true)]
    words: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AnswerChoice {
    Approve,
    Revise,
    Retry,
    #[value(alias = "waive")]
    Override,
    #[value(alias = "give-up")]
    Reject,
}

impl AnswerChoice {
    const fn choice(self) -> event::Choice {
        match self {
            Self::Approve => event::Choice::Approve,
            Self::Revise => event::Choice::Revise,
            Self::Retry => event::Choice::Retry,
            Self::Override => event::Choice::Waive,
            Self::Reject => event::Choice::GiveUp,
        }
    }
}

/// An answer as parsed from the command line.
struct ParsedAnswer {
    run: String,
    question: QuestionId,
    choice: AnswerChoice,
    words: Vec<String>,
}

impl AnswerArgs {
    /// Assigns the positional arguments. A first argument that is a question id means that no run is named: no run id
    /// looks like a question id.
    fn parse(self, forge: &Forge) -> Result<ParsedAnswer, Error> {
        let Self { run, question, choice, mut words } = self;
        let Some(run) = run else { return Err(missing_answer(forge, None)?) };
        let (run, question, choice) = if let Ok(asked) = run.parse::<QuestionId>() {
            // The third positional argument is then the first of the words.
            words.splice(0..0, choice);
            (choose_run(forge, None, RunAction::Answer { question: asked })?, asked, question)
        } else {
            let resolved = forge.resolve(&run);
            // A single word that is not a run may be an answer: the question is missing.
            if question.is_none() && resolved.is_err() {
                return Err(missing_answer(forge, None)?);
            }
            let run = resolved?;
            let Some(question) = question else { return Err(missing_answer(forge, Some(&run))?) };
            let question = question.parse().map_err(|error| {
                Error::usage(format!("{error}"), format!("forge status {}", format::short_id(&run)))
            })?;
            (run, question, choice)
        };
        let id = format::short_id(&run);
        let Some(choice) = choice else {
            let what = format!("{question} of {id} needs an answer");
            return Err(Error::usage(what, possible_answers(forge, &run, question)?));
        };
        // In data the check stands beside the choice: `waive verify`.
        let (word, check) = choice.split_once(' ').unwrap_or((&choice, ""));
        let Ok(parsed) = AnswerChoice::from_str(word, true) else {
            let what = format!("`{choice}` is not an answer to {question}");
            return Err(Error::usage(what, possible_answers(forge, &run, question)?));
        };
        if !check.is_empty() {
            words.insert(0, check.to_owned());
        }
        Ok(ParsedAnswer { run, question, choice: parsed, words })
    }

    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let ParsedAnswer { run, question, choice, mut words } = self.parse(&forge)?;
        let asked = forge.view(&run)?.asked;
        if let Some(one) = asked.iter().find(|one| one.question == question.to_string()) {
            let is_meant = |option: &OptionView| {
                option.answer.split(' ').next() == Some(choice.choice().as_str())
            };
            if !one.options.iter().any(is_meant) {
                let (id, answer) = (format::short_id(&run), choice.choice().command());
                return Err(not_offered(id, answer, one, OpenQuestions::new(&asked)));
            }
        }
        let answer = match choice {
            AnswerChoice::Approve => event::Answer::Approve,
            AnswerChoice::Revise => event::Answer::Revise,
            AnswerChoice::Retry => event::Answer::Retry,
            AnswerChoice::Reject => event::Answer::GiveUp,
            AnswerChoice::Override => {
                let asked = forge.view(&run)?.asked.into_iter();
                let mut asked = asked.filter(|asked| {
                    let mut options = asked.options.iter();
                    asked.question == question.to_string()
                        && options.any(|option| option.answer.starts_with("waive"))
                });
                // Where nothing can be overridden, the run says what it offers instead.
                let gate = asked.next().and_then(|asked| asked.gate).unwrap_or_default();
                if !gate.is_empty() {
                    words = vec![override_reason(format::short_id(&run), &words, &gate)?];
                }
                event::Answer::Waive { gate }
            }
        };
        let words = words.join(" ");
        let command = Command::Answer { question, answer, words, by: person() };
        match forge.send(&run, &command)? {
            Sent::ToDriver => {
                terminal_output::print(&format!("{question} is answered, and the run continues"));
            }
            Sent::Journaled => {
                let view = forge.view(&run)?;
                let now =
                    format!("{question} is answered; the run is now {}", view.row.standing.label());
                terminal_output::print(&match view.row.standing.course() {
                    Course::Driven if forge.is_attended(&run) => {
                        format!("{question} is answered, and the run continues where it is shown")
                    }
                    Course::Driven => {
                        format!(
                            "{question} is answered. Next: forge resume {}",
                            format::short_id(&run)
                        )
                    }
                    Course::Asking => {
                        let asked = view.asked.iter().map(|asked| asked.question.as_str());
                        let asked = asked.collect::<Vec<&str>>().join(", ");
                        format!(
                            "{question} is answered; {asked} waits for you. Next: forge status {}",
                            format::short_id(&run)
                        )
                    }
                    Course::Held | Course::Failed => match next_command(&view) {
                        Some(next) => format!("{now}\nNext: {next}"),
                        None => now,
                    },
                    Course::Over => now,
                });
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the commands that answer a question; if it is not open, the one that lists those that are.
fn possible_answers(forge: &Forge, run: &str, question: QuestionId) -> Result<String, Error> {
    let (id, all) = (format::short_id(run), forge.view(run)?.asked);
    let asked = all.iter().find(|asked| asked.question == question.to_string());
    Ok(match asked {
        Some(asked) => answer_commands(id, asked, OpenQuestions::new(&all)),
        None => format!("forge status {id}"),
    })
}

/// Builds the error for an incomplete answer; it lists the answers to the first open question of `run`, or of any run.
fn missing_answer(forge: &Forge, run: Option<&str>) -> Result<Error, Error> {
    let runs: Vec<String> = if let Some(run) = run {
        vec![run.to_owned()]
    } else {
        let (rows, _) = forge.rows(RUNS_MAX)?;
        rows.into_iter().filter(|row| row.questions > 0).map(|row| row.run).collect()
    };
    for run in runs {
        let id = format::short_id(&run);
        let all = forge.view(&run)?.asked;
        if let Some(asked) = all.first() {
            let what = format!(
                "QUESTION and CHOICE are missing; {id} asks {}: {}",
                asked.question, asked.text
            );
            return Ok(Error::usage(what, answer_commands(id, asked, OpenQuestions::new(&all))));
        }
    }
    let what = match run {
        Some(run) => format!("{} has no open question", format::short_id(run)),
        None => "no run has an open question".to_owned(),
    };
    Ok(Error::usage(what, "forge status"))
}
