//! How much a fact matters to a person who reads a log.

use crate::{
    event::{Approval, Event, Outcome, Receipt, ResultChange, Ruling, SentBack},
    verdict::Verdict,
};

/// How much a fact matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something came of the work, or a person is concerned.
    Milestone,
    /// One check, one start, one skip.
    Check,
    /// Bookkeeping.
    Fact,
}

/// A check that takes longer than this is no longer a moment.
pub(super) const LONG_MS: u64 = 5_000;

impl LogLevel {
    /// Returns the level of a fact.
    pub fn new(event: &Event) -> Self {
        match event {
            Event::AttemptEnded { outcome, receipt, .. } => {
                let says = receipt.as_ref().is_some_and(|receipt| !receipt.summary.is_empty());
                if says || *outcome != Outcome::Done { Self::Milestone } else { Self::Check }
            }
            Event::Judged { judgement, ruling: Ruling::Verdict(Verdict::Pass { .. }), receipt } => {
                let Receipt { summary, evidence, took_ms, .. } = receipt;
                let says = !summary.is_empty() || !evidence.is_empty() || *took_ms >= LONG_MS;
                // A merge that passed is followed by the commit that it made.
                if says && judgement.gate != "land" { Self::Milestone } else { Self::Check }
            }
            // These take a moment, and their end says all.
            Event::JudgementStarted { judgement, .. }
                if ["form", "changes", "guarded"].contains(&judgement.gate.as_str()) =>
            {
                Self::Fact
            }
            // What a person answered was said right before.
            Event::UnitReopened { by: SentBack::Person { .. }, .. }
            | Event::Landed { brings: ResultChange::Unchanged, .. }
            | Event::CallAssigned { .. }
            | Event::AttemptStarted { .. }
            | Event::JudgementStarted { .. }
            | Event::UnitSkipped { .. }
            | Event::UnitAccepted { .. } => Self::Check,
            Event::GatePassed { by: Approval::Automatic, .. }
            | Event::RunStarted(_)
            | Event::RunHeld { .. }
            | Event::RunResumed { .. }
            | Event::BudgetRaised { .. }
            | Event::SettingsChanged { .. }
            | Event::ItemsListed { .. }
            | Event::ItemsLeft { .. }
            | Event::PathsTaken { .. }
            | Event::WorkPassedOn { .. }
            | Event::GateWaived { .. }
            | Event::QuestionAsked(_)
            | Event::Answered { .. }
            | Event::UnitReopened { .. }
            | Event::UnitFailed { .. }
            | Event::Landed { .. }
            | Event::Noticed { .. }
            | Event::Edited { .. }
            | Event::RunRewound { .. }
            | Event::RunEnded { .. }
            | Event::Judged { .. } => Self::Milestone,
            Event::GateSkipped { .. }
            | Event::GatePassed { by: Approval::Person { .. }, .. }
            | Event::NeedsAsked { .. }
            | Event::NeedsMet { .. }
            | Event::PathsWanted { .. }
            | Event::PathsClaimed { .. }
            | Event::CallSettled { .. }
            | Event::EndingKeyAdded { .. }
            | Event::EffectIntended { .. }
            | Event::EffectDone { .. } => Self::Fact,
        }
    }
}
