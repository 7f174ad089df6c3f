//! The commands that answer a question of a run.

use forge_core::{event::Answer, view::QuestionView};

use super::question_text::answer_options;

/// Returns the commands that answer a question, each on a line.
pub(crate) fn answer_commands(id: &str, question: &QuestionView) -> String {
    let number = &question.question;
    let command = |answer: &Answer| match answer {
        Answer::Approve => format!("forge approve {id}"),
        Answer::Revise => format!("forge revise {id} \"WORDS\""),
        Answer::Retry => format!("forge retry {id}"),
        Answer::GiveUp => format!("forge reject {id}"),
        Answer::Waive { gate } => format!("forge answer {id} {number} waive {gate} \"WHY\""),
    };
    let options = answer_options(question);
    let commands: Vec<String> = options.iter().map(|option| command(&option.answer)).collect();
    commands.join("\n   or: ")
}
