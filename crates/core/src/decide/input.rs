//! What can come in: commands of persons, reports of workers, time.

use crate::{
    event::{Answer, Edit, Outcome, Person, Receipt, Ruling, SettingsChange, Start, UnmetNeed},
    id::{AttemptId, CallId, JudgementId, QuestionId, UnitId},
    item::Item,
    money::Money,
    routing::Assignment,
};

/// An input from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "an input lives once, for one decision")]
pub enum Input {
    /// A person, or a program on a person's behalf, wants something.
    Command(Command),
    /// A worker reports what became of an effect.
    Report(Report),
    /// Time went by, as [`crate::Effect::Wake`] wanted.
    Tick,
}

/// A command of a person.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Begin.
    Start(Box<Start>),
    /// Start nothing new; what runs may end.
    Pause { by: Person },
    /// Start nothing new, and ask what runs to end.
    Interrupt { by: Person },
    /// Start nothing new, and kill what runs.
    Stop { by: Person },
    /// Go on, also with a run that failed.
    Resume {
        by: Person,
        /// A new cap for the whole run.
        budget: Option<Money>,
    },
    /// Change settings of a run in which nothing is under way.
    ChangeSettings { change: Box<SettingsChange>, by: Person },
    /// Give it up, for good.
    Abandon { by: Person },
    /// Choose, where the run asks.
    Answer { question: QuestionId, answer: Answer, words: String, by: Person },
    /// Count a person's manual change as an attempt of its own.
    Edit { unit: UnitId, edit: Edit, why: String, by: Person },
}

/// A report of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The work ended, and these lists came out of it.
    Worked {
        attempt: AttemptId,
        outcome: Outcome,
        /// The reported lists, by name.
        lists: Vec<(String, Vec<Item>)>,
        receipt: Receipt,
    },
    /// A gate has looked.
    Judged { judgement: JudgementId, ruling: Ruling, receipt: Receipt },
    /// Other work has the paths that a unit wants.
    PathsTaken {
        unit: UnitId,
        /// The other work, in words.
        what: String,
    },
    /// Nobody else has the paths that a unit wants, and nobody can take them before this is a fact.
    PathsFree { unit: UnitId },
    /// What must hold before a unit, or a gate of it, begins holds.
    NeedsMet { unit: UnitId, gate: Option<String> },
    /// It does not.
    NeedsUnmet {
        unit: UnitId,
        gate: Option<String>,
        /// All that does not hold, at least one.
        unmet: Vec<UnmetNeed>,
    },
    /// This agent is to work on a call that has not begun.
    Assigned { call: CallId, to: Assignment },
    /// Something that a person should know.
    Noticed { unit: UnitId, what: String },
    /// A driver follows the run, whose calls end with a signature by this public key.
    Signs { key: String },
    /// Something that must happen once is about to.
    Intends { attempt: AttemptId, mark: String },
    /// It happened.
    Did {
        attempt: AttemptId,
        mark: String,
        /// The name of the effect outside, such as a URL.
        reference: String,
    },
}
