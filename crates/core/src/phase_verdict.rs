//! The verdict of a phase, as it was recorded: a gate of a unit, or a unit without one.
//!
//! Only what was recorded counts. What cannot be read, or was not looked at, is unknown.

use crate::{
    event::Ruling,
    id::{CallId, UnitId},
    run::{CallEnding, Run, State},
    verdict::{PhaseVerdict, Verdict},
};

/// Returns the recorded verdict of a gate of a unit, or of its work where no gate is named.
pub fn phase_verdict(run: &Run, unit: &UnitId, gate: Option<&str>) -> PhaseVerdict {
    let Some(gate) = gate else {
        return match run.unit(unit).state {
            // Its work is done, whatever its gates will say.
            State::Accepted | State::Judging { .. } => PhaseVerdict::NotApplicable,
            State::Waiting
            | State::Working
            | State::Asking { .. }
            | State::Skipped
            | State::Failed { .. } => PhaseVerdict::Unknown,
        };
    };
    let history = run.history();
    let here = |other: &UnitId, name: &str| other == unit && name == gate;
    let looks = history.calls.iter().rev().filter_map(|ended| match (&ended.call, &ended.ending) {
        (CallId::Judgement(judgement), CallEnding::Look(ruling))
            if here(&judgement.attempt.unit, &judgement.gate) =>
        {
            Some((ended.at, ruling))
        }
        (_, _) => None,
    });
    let last = looks.into_iter().next();
    let since = last.map_or(0, |(at, _)| at);
    let by_person =
        history.passed.iter().any(|passed| here(&passed.unit, &passed.gate) && passed.at >= since);
    if by_person || run.unit(unit).waived.contains(gate) {
        return PhaseVerdict::Approved;
    }
    match last.map(|(_, ruling)| ruling) {
        Some(Ruling::Verdict(Verdict::Pass { .. })) => PhaseVerdict::Approved,
        Some(Ruling::Verdict(Verdict::Revise { .. } | Verdict::Block { .. })) => {
            PhaseVerdict::Revision
        }
        Some(
            Ruling::Fault { .. }
            | Ruling::Unverified { .. }
            | Ruling::Blocked { .. }
            | Ruling::Limited { .. }
            | Ruling::Lost
            | Ruling::Interrupted,
        )
        | None => PhaseVerdict::Unknown,
    }
}
