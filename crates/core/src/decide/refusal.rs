//! Why a command means nothing now, also as a sentence.

use thiserror::Error;

use crate::{
    event::{Choice, End, Hold},
    flow::FlowError,
    id::{QuestionId, UnitId, gate_label},
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
    #[error("the run is not stopped: nothing to resume")]
    AlreadyGoing,
    /// It is held already, as hard as this or harder.
    #[error("the run is already {}", .0.as_str())]
    AlreadyHeld(Hold),
    #[error("every checkpoint of this run needs a person, so it cannot be started with --auto")]
    Manual,
    #[error(transparent)]
    Flow(FlowError),
    /// A parameter cannot have its value.
    #[error("{0}")]
    Param(String),
    /// A list that was given at the start cannot be used.
    #[error("{0}")]
    List(String),
    #[error("there is no open question {question}{}", still_open(open))]
    NoSuchQuestion {
        /// The name that was given.
        question: QuestionId,
        /// Those that are open.
        open: Vec<QuestionId>,
    },
    #[error("{0} is already answered, or no longer open")]
    AnsweredAlready(QuestionId),
    #[error("`{}` is not a valid answer; possible: {}", choice.command(), possible(options))]
    NotAnOption { choice: Choice, options: Vec<Choice> },
    /// A gate that proves something is waived by its own name.
    #[error("only `{}` can be overridden here, not `{said}`", gate_label(gate))]
    WrongGate {
        /// The name that was given.
        said: String,
        gate: String,
    },
    #[error("this run has no stage or task `{0}`")]
    NoSuchUnit(UnitId),
    #[error("an agent is working on `{0}`; pause or stop the run first")]
    UnderWay(UnitId),
    #[error("`{0}` has no result yet that you could change")]
    NothingToEdit(UnitId),
    #[error("the work before `{0}` is not done; wait for it, then change this")]
    NotItsTurn(UnitId),
    #[error("work that depends on `{0}` is already merged and cannot be reopened")]
    Landed(UnitId),
    #[error("changing something by hand needs a reason")]
    WhyMissing,
    #[error("an override needs a reason: say why")]
    ReasonMissing,
    #[error("a request for changes needs words: say what should change")]
    WordsMissing,
    #[error("the new budget must be above {committed}, which is spent or reserved")]
    BudgetTooLow {
        /// The sum of spent and reserved money.
        committed: Money,
    },
    #[error("{0} calls reported no price, which is the limit; continue with `--budget`")]
    UnpricedCalls(u32),
    /// What holds it will not go away by itself.
    #[error("{}; continue with a higher `--budget`", too_little(*budget, *committed))]
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
        End::Failed => "the run has failed; `forge resume` reopens it",
        End::Blocked => "the run is blocked; `forge resume` reopens it",
    }
}

fn still_open(open: &[QuestionId]) -> String {
    let open: Vec<String> = open.iter().map(ToString::to_string).collect();
    if open.is_empty() {
        ": no question is open".to_owned()
    } else {
        format!("; open: {}", open.join(", "))
    }
}

fn possible(choices: &[Choice]) -> String {
    choices.iter().map(|choice| choice.command()).collect::<Vec<&str>>().join(", ")
}

fn too_little(budget: Money, committed: Money) -> String {
    let is_left = committed < budget;
    let budget = budget.to_short_text();
    if is_left {
        format!("too little of the budget of {budget} is left for a call")
    } else {
        format!("the budget of {budget} is used up: {committed} is spent or reserved")
    }
}
