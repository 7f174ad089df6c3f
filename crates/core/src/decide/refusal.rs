//! Why a command means nothing now, also as a sentence.

use std::fmt;

use crate::{
    event::{Choice, End, Hold},
    flow::FlowError,
    id::{QuestionId, UnitId},
    money::Money,
};

/// The reason why a command is refused. The run is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The run began already.
    AlreadyStarted,
    /// The run has not begun.
    NotStarted,
    /// It is over.
    Over(End),
    /// It is running already.
    AlreadyGoing,
    /// It is held already, as hard as this or harder.
    AlreadyHeld(Hold),
    /// With these parameters every checkpoint is for a person, and `--auto` was said.
    Manual,
    /// The flow cannot be run.
    Flow(FlowError),
    /// A parameter cannot have its value.
    Param(String),
    /// There is no such open question.
    NoSuchQuestion {
        /// The name that was given.
        question: QuestionId,
        /// Those that are open.
        open: Vec<QuestionId>,
    },
    /// It was asked, and answered already.
    AnsweredAlready(QuestionId),
    /// The question cannot be answered like that.
    NotAnOption { choice: Choice, options: Vec<Choice> },
    /// A gate that proves something is waived by its own name.
    WrongGate {
        /// The name that was given.
        said: String,
        gate: String,
    },
    /// There is no such unit.
    NoSuchUnit(UnitId),
    /// It is being worked on.
    UnderWay(UnitId),
    /// No agent left anything there that a person could change.
    NothingToEdit(UnitId),
    /// An earlier unit is not over.
    NotItsTurn(UnitId),
    /// What followed from it has landed, and landed work is never reopened.
    Landed(UnitId),
    /// A manual change needs a reason.
    WhyMissing,
    /// Waiving a proof needs a reason.
    ReasonMissing,
    /// Sending back needs words.
    WordsMissing,
    /// The new cap is not above what is spent or held back.
    BudgetTooLow {
        /// The sum of spent and reserved money.
        committed: Money,
    },
    /// What holds it will not go away by itself.
    BudgetNeeded {
        budget: Money,
        /// The sum of spent and reserved money.
        committed: Money,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |choices: &[Choice]| {
            choices.iter().map(|choice| choice.as_str()).collect::<Vec<&str>>().join(", ")
        };
        match self {
            Self::AlreadyStarted => f.write_str("the run has started already"),
            Self::NotStarted => f.write_str("the run has not started"),
            Self::Over(End::Done) => f.write_str("the run is done"),
            Self::Over(End::Abandoned) => f.write_str("the run was abandoned"),
            Self::Over(End::Failed) => {
                f.write_str("the run has failed; `forge resume` opens it again")
            }
            Self::Over(End::Blocked) => {
                f.write_str("the run is blocked; `forge resume` opens it again")
            }
            Self::AlreadyGoing => f.write_str("the run is not held: nothing to resume"),
            Self::AlreadyHeld(hold) => write!(f, "the run is {} already", hold.as_str()),
            Self::Flow(error) => error.fmt(f),
            Self::Param(problem) => f.write_str(problem),
            Self::Manual => write!(
                f,
                "every checkpoint of this run is for a person, so it cannot be started with --auto"
            ),
            Self::NoSuchQuestion { question, open } if open.is_empty() => {
                write!(f, "there is no open question {question}: nothing is asked")
            }
            Self::NoSuchQuestion { question, open } => {
                let open: Vec<String> = open.iter().map(ToString::to_string).collect();
                write!(f, "there is no open question {question}; open: {}", open.join(", "))
            }
            Self::AnsweredAlready(question) => {
                write!(f, "{question} is answered already, or no longer matters")
            }
            Self::NotAnOption { choice, options } => {
                write!(f, "`{}` is no answer to it; possible: {}", choice.as_str(), words(options))
            }
            Self::WrongGate { said, gate } => {
                write!(f, "only `{gate}` can be waived here, by that name, not `{said}`")
            }
            Self::NoSuchUnit(unit) => write!(f, "there is no unit `{unit}` in this run"),
            Self::UnderWay(unit) => {
                write!(f, "somebody works on `{unit}`; pause or stop the run first")
            }
            Self::NothingToEdit(unit) => {
                write!(f, "no agent left anything at `{unit}` that could be changed by hand")
            }
            Self::NotItsTurn(unit) => {
                write!(f, "what comes before `{unit}` is not over; wait for it, then change it")
            }
            Self::Landed(unit) => {
                write!(f, "what followed from `{unit}` has landed, and that is never reopened")
            }
            Self::WhyMissing => f.write_str("changing something by hand needs a reason"),
            Self::ReasonMissing => f.write_str("waiving a proof needs a reason: say why"),
            Self::WordsMissing => {
                f.write_str("sending work back needs words: say what should change")
            }
            Self::BudgetTooLow { committed } => {
                write!(f, "the new budget must be above {committed}, which is spent or held back")
            }
            Self::BudgetNeeded { budget, committed } if committed < budget => {
                write!(
                    f,
                    "too little of the budget of {budget} is left for a call; go on with \
                     `--budget` and more than that"
                )
            }
            Self::BudgetNeeded { budget, committed } => {
                write!(
                    f,
                    "the budget of {budget} is used up: {committed} is spent or held back; go on \
                     with `--budget` and more than that"
                )
            }
        }
    }
}

impl std::error::Error for Refusal {}
