//! `forge answer`: chooses, where a run asks.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use forge_core::{Command, event, id::QuestionId, view::Standing};
use forge_runtime::{
    Trouble,
    doors::{Sent, person},
};

use super::{doors, driving::next_step};
use crate::screen;

/// Answer a question of a run
#[derive(Args)]
pub(crate) struct Answer {
    /// The run
    run: String,
    /// The question, such as Q1
    question: String,
    /// approve, revise, retry, waive or give-up; see `forge status RUN`
    #[arg(value_enum, hide_possible_values = true)]
    choice: Choice,
    /// Your words; for `waive`, first the name of the gate
    #[arg(allow_hyphen_values = true)]
    words: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Choice {
    Approve,
    Revise,
    Retry,
    Waive,
    GiveUp,
}

impl Answer {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let run = doors.resolve(&self.run)?;
        let question: QuestionId = self
            .question
            .parse()
            .map_err(|error| Trouble::usage(format!("{error}"), format!("forge status {run}")))?;
        let mut words = self.words;
        let answer = match self.choice {
            Choice::Approve => event::Answer::Approve,
            Choice::Revise => event::Answer::Revise,
            Choice::Retry => event::Answer::Retry,
            Choice::GiveUp => event::Answer::GiveUp,
            Choice::Waive => {
                if words.is_empty() {
                    return Err(Trouble::usage(
                        "what is waived has to be named",
                        format!("forge answer {run} {question} waive GATE \"why\""),
                    ));
                }
                event::Answer::Waive { gate: words.remove(0) }
            }
        };
        let words = words.join(" ");
        let command = Command::Answer { question, answer, words, by: person() };
        match doors.send(&run, &command)? {
            Sent::ToDriver => screen::say(&format!("{question} is answered, and the run goes on")),
            Sent::Journaled => {
                let view = doors.view(&run)?;
                let now =
                    format!("{question} is answered; the run is now {}", view.row.standing.word());
                screen::say(&match view.row.standing {
                    Standing::Going | Standing::Limited => {
                        format!("{question} is answered; go on with: forge resume {run}")
                    }
                    Standing::Waiting => {
                        let asked = view.asked.iter().map(|asked| asked.question.as_str());
                        let asked = asked.collect::<Vec<&str>>().join(", ");
                        format!("{question} is answered; {asked} waits for you: forge status {run}")
                    }
                    Standing::Paused
                    | Standing::Interrupted
                    | Standing::Stopped
                    | Standing::Parked
                    | Standing::Escalated
                    | Standing::Failed
                    | Standing::Blocked => match next_step(&view) {
                        Some(next) => format!("{now}\nnext: {next}"),
                        None => now,
                    },
                    Standing::Done | Standing::Abandoned => now,
                });
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
