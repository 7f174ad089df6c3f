//! Why a command means nothing now, also as a sentence.

use thiserror::Error;

use crate::{
    event::{Choice, End, Hold},
    flow::FlowError,
    id::{QuestionId, UnitId},
    money::Money,
};

/// The reason why a command is refused. The run is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the run has started already")]
    AlreadyStarted,
    #[error("the run has not started")]
    NotStarted,
    #[error("{}", over(*.0))]
    Over(End),
    #[error("the run is not held: nothing to resume")]
    AlreadyGoing,
    /// It is held already, as hard as this or harder.
    #[error("the run is {} already", .0.as_str())]
    AlreadyHeld(Hold),
    #[error("every checkpoint of this run is for a person, so it cannot be started with --auto")]
    Manual,
    #[error(transparent)]
    Flow(FlowError),
    /// A parameter cannot have its value.
    #[error("{0}")]
    Param(String),
    #[error("there is no open question {question}{}", still_open(open))]
    NoSuchQuestion {
        /// The name that was given.
        question: QuestionId,
        /// Those that are open.
        open: Vec<QuestionId>,
    },
    #[error("{0} is answered already, or no longer matters")]
    AnsweredAlready(QuestionId),
    #[error("`{}` is no answer to it; possible: {}", choice.as_str(), possible(options))]
    NotAnOption { choice: Choice, options: Vec<Choice> },
    /// A gate that proves something is waived by its own name.
    #[error("only `{gate}` can be waived here, by that name, not `{said}`")]
    WrongGate {
        /// The name that was given.
        said: String,
        gate: String,
    },
    #[error("there is no unit `{0}` in this run")]
    NoSuchUnit(UnitId),
    #[error("somebody works on `{0}`; pause or stop the run first")]
    UnderWay(UnitId),
    #[error("no agent left anything at `{0}` that could be changed by hand")]
    NothingToEdit(UnitId),
    #[error("what comes before `{0}` is not over; wait for it, then change it")]
    NotItsTurn(UnitId),
    #[error("what followed from `{0}` has landed, and that is never reopened")]
    Landed(UnitId),
    #[error("changing something by hand needs a reason")]
    WhyMissing,
    #[error("waiving a proof needs a reason: say why")]
    ReasonMissing,
    #[error("sending work back needs words: say what should change")]
    WordsMissing,
    #[error("the new budget must be above {committed}, which is spent or held back")]
    BudgetTooLow {
        /// The sum of spent and reserved money.
        committed: Money,
    },
    #[error("{0} calls told no price, and it may make no more of those; continue with `--budget`")]
    UnpricedCalls(u32),
    /// What holds it will not go away by itself.
    #[error("{}; go on with `--budget` and more than that", too_little(*budget, *committed))]
    BudgetNeeded {
        budget: Money,
        /// The sum of spent and reserved money.
        committed: Money,
    },
}

fn over(end: End) -> &'static str {
    match end {
        End::Done => "the run is done",
        End::Abandoned => "the run was abandoned",
        End::Failed => "the run has failed; `forge resume` opens it again",
        End::Blocked => "the run is blocked; `forge resume` opens it again",
    }
}

fn still_open(open: &[QuestionId]) -> String {
    let open: Vec<String> = open.iter().map(ToString::to_string).collect();
    if open.is_empty() {
        ": nothing is asked".to_owned()
    } else {
        format!("; open: {}", open.join(", "))
    }
}

fn possible(choices: &[Choice]) -> String {
    choices.iter().map(|choice| choice.as_str()).collect::<Vec<&str>>().join(", ")
}

fn too_little(budget: Money, committed: Money) -> String {
    if committed < budget {
        format!("too little of the budget of {budget} is left for a call")
    } else {
        format!("the budget of {budget} is used up: {committed} is spent or held back")
    }
}
