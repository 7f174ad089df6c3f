//! What can come in: commands of persons, reports of workers, time.

use crate::{
    event::{Answer, Edit, Outcome, Person, Receipt, Ruling, Start},
    id::{AttemptId, JudgementId, QuestionId, UnitId},
    item::Item,
    money::Money,
};

/// Something from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "an input lives once, for one decision")]
pub enum Input {
    /// A person, or a program on a person's behalf, wants something.
    Command(Command),
    /// A worker tells what became of an effect.
    Report(Report),
    /// Time went by, as [`crate::Effect::Wake`] wanted.
    Tick,
}

/// What a person can want.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Begin.
    Start(Box<Start>),
    /// Start nothing new; what runs may end.
    Pause {
        /// Who wants it.
        by: Person,
    },
    /// Start nothing new, and ask what runs to end.
    Interrupt {
        /// Who wants it.
        by: Person,
    },
    /// Start nothing new, and kill what runs.
    Stop {
        /// Who wants it.
        by: Person,
    },
    /// Go on, also with a run that failed.
    Resume {
        /// Who wants it.
        by: Person,
        /// A new cap for the whole run.
        budget: Option<Money>,
    },
    /// Give it up, for good.
    Abandon {
        /// Who wants it.
        by: Person,
    },
    /// Choose, where the run asks.
    Answer {
        /// Which question.
        question: QuestionId,
        /// What.
        answer: Answer,
        /// In which words.
        words: String,
        /// Who says it.
        by: Person,
    },
    /// Take what a person changed by hand for an attempt of its own.
    Edit {
        /// Of which unit.
        unit: UnitId,
        /// What.
        edit: Edit,
        /// Why.
        why: String,
        /// Who did it.
        by: Person,
    },
}

/// What a worker can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The work ended, and these lists came out of it.
    Worked {
        /// Which attempt.
        attempt: AttemptId,
        /// How it ended.
        outcome: Outcome,
        /// What it listed, by name.
        lists: Vec<(String, Vec<Item>)>,
        /// What it left behind.
        receipt: Receipt,
    },
    /// A gate has looked.
    Judged {
        /// Which look.
        judgement: JudgementId,
        /// What came of it.
        ruling: Ruling,
        /// What it left behind.
        receipt: Receipt,
    },
    /// Something that a person should know.
    Noticed {
        /// About which unit.
        unit: UnitId,
        /// What.
        what: String,
    },
    /// Something that must happen once is about to.
    Intends {
        /// By which attempt.
        attempt: AttemptId,
        /// Its mark.
        mark: String,
    },
    /// It happened.
    Did {
        /// By which attempt.
        attempt: AttemptId,
        /// Its mark.
        mark: String,
        /// What the outside world calls it.
        reference: String,
    },
}
