//! The verdict of a phase, as it was recorded: a gate of a unit, or a unit without one.
//!
//! Only what was recorded counts. What cannot be read, or was not looked at, is unknown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    event::Ruling,
    id::{CallId, UnitId},
    run::{CallEnding, Run, State},
    verdict::Verdict,
};

/// The verdict of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseVerdict {
    /// It passed, or a person approved it.
    Approved,
    /// Changes were requested.
    Revision,
    /// It has no verdict: work that was accepted.
    #[serde(rename = "n/a")]
    NotApplicable,
    /// Nothing was recorded.
    Unknown,
}

impl PhaseVerdict {
    /// Returns the word that is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Revision => "revision",
            Self::NotApplicable => "n/a",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the verdict of a gate of a unit, or of its work where no gate is named.
    pub fn of(run: &Run, unit: &UnitId, gate: Option<&str>) -> Self {
        let Some(gate) = gate else {
            let is_accepted = run.unit(unit).state == State::Accepted;
            return if is_accepted { Self::NotApplicable } else { Self::Unknown };
        };
        let history = run.history();
        let here = |other: &UnitId, name: &str| other == unit && name == gate;
        let looks =
            history.calls.iter().rev().filter_map(|ended| match (&ended.call, &ended.ending) {
                (CallId::Judgement(judgement), CallEnding::Look(ruling))
                    if here(&judgement.attempt.unit, &judgement.gate) =>
                {
                    Some((ended.at, ruling))
                }
                (_, _) => None,
            });
        let last = looks.into_iter().next();
        let since = last.map_or(0, |(at, _)| at);
        let by_person = history
            .passed
            .iter()
            .any(|passed| here(&passed.unit, &passed.gate) && passed.at >= since);
        if by_person || run.unit(unit).waived.contains(gate) {
            return Self::Approved;
        }
        match last.map(|(_, ruling)| ruling) {
            Some(Ruling::Verdict(Verdict::Pass { .. })) => Self::Approved,
            Some(Ruling::Verdict(Verdict::Revise { .. } | Verdict::Block { .. })) => Self::Revision,
            Some(
                Ruling::Fault { .. }
                | Ruling::Unverified { .. }
                | Ruling::Blocked { .. }
                | Ruling::Limited { .. }
                | Ruling::Lost
                | Ruling::Interrupted,
            )
            | None => Self::Unknown,
        }
    }
}
