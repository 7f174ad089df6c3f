//! A refusal of the engine as an error with the next command.

use forge_core::{Refusal, event, money::Money};

use crate::{Error, run_id::short_id};

/// A command that was refused, as trouble of the person who gave it.
pub fn refused(run: &str, refusal: &Refusal) -> Error {
    let id = short_id(run);
    let resume_with = |used: Money| {
        format!("forge resume {id} --budget {}", used.next_budget().to_short_decimal())
    };
    let next = match refusal {
        Refusal::BudgetNeeded { budget, committed } => resume_with((*budget).max(*committed)),
        Refusal::BudgetTooLow { committed } => resume_with(*committed),
        Refusal::UnpricedCalls(_) => format!("forge resume {id} --budget AMOUNT"),
        Refusal::Over(event::End::Failed | event::End::Blocked) | Refusal::AlreadyHeld(_) => {
            format!("forge resume {id}")
        }
        Refusal::Flow(_) | Refusal::Param(_) => "forge flow show NAME".to_owned(),
        Refusal::List(_) => "forge sprint list".to_owned(),
        Refusal::Manual => "remove --auto, or choose a smaller effort".to_owned(),
        Refusal::UnderWay(_) => format!("forge stop {id}"),
        Refusal::WhyMissing => format!("forge edit {id} --why \"REASON\""),
        Refusal::Over(event::End::Done | event::End::Abandoned) => format!("forge show {id}"),
        Refusal::AlreadyStarted
        | Refusal::NotStarted
        | Refusal::AlreadyGoing
        | Refusal::NoSuchQuestion { .. }
        | Refusal::AnsweredAlready(_)
        | Refusal::NotAnOption { .. }
        | Refusal::WrongGate { .. }
        | Refusal::NoSuchUnit(_)
        | Refusal::NothingToEdit(_)
        | Refusal::Landed(_)
        | Refusal::ReasonMissing
        | Refusal::NotItsTurn(_)
        | Refusal::WordsMissing => format!("forge status {id}"),
    };
    let what = refusal.to_string();
    let what = match what.strip_prefix("the run ") {
        Some(rest) => format!("{id} {rest}"),
        None => what,
    };
    Error::usage(what, next)
}
