//! What has to happen sometimes, and how it is counted.

use forge_core::{
    Input, Refusal, Report,
    event::{Approval, Edit, End, Event, Hold, Outcome, QuestionReason, SentBack, Waiver},
    failure::FaultClass,
    id::CallId,
    routing::{Successor, WishReason},
};

use super::Game;

/// What has to happen sometimes, or chance plays without half of the cards.
pub(super) const SOMETIMES: &[&str] = &[
    "calls that nobody asked for",
    "end done",
    "end failed",
    "end blocked",
    "end abandoned",
    "hold paused",
    "hold interrupted",
    "hold stopped",
    "hold out of budget",
    "hold escalated",
    "why checkpoint",
    "why rounds used up",
    "why not shrinking",
    "why no result",
    "why cap reached",
    "why setbacks",
    "why no verdict",
    "why blocked",
    "why does not land",
    "why landed already",
    "why nothing to redo",
    "why unverified",
    "why guarded",
    "why objected",
    "why doubted",
    "why unfinished",
    "sent back by a gate",
    "sent back by landing",
    "sent back by itself",
    "sent back by a person",
    "sent back by resuming",
    "waived as advice",
    "waived without rounds",
    "waived by a person",
    "passed automatically",
    "landed",
    "made way",
    "a unit that has what it needs",
    "a gate that has what it needs",
    "why not ready",
    "paths that others have",
    "paths that are claimed",
    "noticed",
    "items that are left",
    "a list that was known at the start",
    "an edited artifact",
    "edited code",
    "an edit inside an item",
    "an edit opens a failed run",
    "an edit goes back into a table",
    "a rewind",
    "a rewind in the middle of a decision",
    "a rewind with calls under way",
    "skipped a unit",
    "skipped a gate",
    "listed again with a change",
    "a flawed list",
    "a straggler",
    "a report twice",
    "a replay",
    "a limit that ended",
    "an unknown cost",
    "an estimated cost",
    "two models in a call",
    "a call that goes on in its session",
    "a judge that cannot go on",
    "a call of an agent that limits chose",
    "work for a stronger model",
    "work for another agent",
    "a wish for a stronger model",
    "a wish of the run",
    "a wish of an item",
    "a wish where the risk is high",
    "a wish of a role",
    "checks that the run added",
    "refused: already going",
    "refused: already held",
    "refused: over",
    "refused: already started",
    "refused: no such question",
    "refused: answered already",
    "refused: not an option",
    "refused: wrong gate",
    "refused: words missing",
    "refused: reason missing",
    "refused: budget too low",
    "refused: budget needed",
    "refused: unpriced calls",
    "refused: no such unit",
    "refused: under way",
    "refused: nothing to edit",
    "refused: not its turn",
    "refused: landed",
    "refused: why missing",
    "a flow by chance",
    "the last commit",
];

impl Game {
    pub(super) fn refused(&mut self, refusal: &Refusal) {
        self.count(match refusal {
            Refusal::AlreadyStarted => "refused: already started",
            Refusal::Over(_) => "refused: over",
            Refusal::AlreadyGoing => "refused: already going",
            Refusal::AlreadyHeld(_) => "refused: already held",
            Refusal::NoSuchQuestion { .. } => "refused: no such question",
            Refusal::AnsweredAlready(_) => "refused: answered already",
            Refusal::NotAnOption { .. } => "refused: not an option",
            Refusal::WrongGate { .. } => "refused: wrong gate",
            Refusal::WordsMissing => "refused: words missing",
            Refusal::ReasonMissing => "refused: reason missing",
            Refusal::BudgetTooLow { .. } => "refused: budget too low",
            Refusal::BudgetNeeded { .. } => "refused: budget needed",
            Refusal::UnpricedCalls(_) => "refused: unpriced calls",
            Refusal::NoSuchUnit(_) => "refused: no such unit",
            Refusal::UnderWay(_) => "refused: under way",
            Refusal::NothingToEdit(_) => "refused: nothing to edit",
            Refusal::NotItsTurn(_) => "refused: not its turn",
            Refusal::Landed(_) => "refused: landed",
            Refusal::WhyMissing => "refused: why missing",
            Refusal::NotStarted
            | Refusal::Flow(_)
            | Refusal::Param(_)
            | Refusal::List(_)
            | Refusal::Manual => {
                panic!("{refusal}")
            }
        });
        assert!(!self.is_kind, "a kind world is refused: {refusal}");
    }

    /// A call goes on where the one before it was set back.
    pub(super) fn began(&mut self, call: &CallId) {
        if self.run.session(call).is_some() {
            self.count("a call that goes on in its session");
        }
        match self.run.wish(call).map(|wish| wish.tier.why) {
            Some(WishReason::Run) => self.count("a wish of the run"),
            Some(WishReason::Item | WishReason::Complexity | WishReason::Docs) => {
                self.count("a wish of an item");
            }
            Some(WishReason::Risk) => self.count("a wish where the risk is high"),
            Some(WishReason::TooLong | WishReason::Refused) => {
                self.count("a wish for a stronger model");
            }
            Some(WishReason::Settings | WishReason::Role) => self.count("a wish of a role"),
            Some(WishReason::Flow | WishReason::Tier | WishReason::Default) | None => {}
        }
    }

    pub(super) fn happened(&mut self, fact: &Event) {
        let what = match fact {
            Event::RunEnded { end } => match end {
                End::Done => "end done",
                End::Failed => "end failed",
                End::Blocked => "end blocked",
                End::Abandoned => "end abandoned",
            },
            Event::RunHeld { hold } => match hold {
                Hold::Paused { .. } => "hold paused",
                Hold::Interrupted { .. } => "hold interrupted",
                Hold::Stopped { .. } => "hold stopped",
                Hold::OutOfBudget { .. } => "hold out of budget",
                Hold::Unfinished { .. } => "hold unfinished",
                Hold::Escalated { .. } => "hold escalated",
            },
            Event::QuestionAsked(question) => why_asked(&question.why),
            Event::UnitReopened { by, .. } => match by {
                SentBack::Gate { .. } => "sent back by a gate",
                SentBack::Landing => "sent back by landing",
                SentBack::Partial => "sent back by itself",
                SentBack::Person { .. } => "sent back by a person",
                SentBack::Resumed => "sent back by resuming",
            },
            Event::GateWaived { why, .. } => match why {
                Waiver::Advisory => "waived as advice",
                Waiver::RoundsUsedUp | Waiver::NotShrinking | Waiver::NothingToRedo => {
                    "waived without rounds"
                }
                Waiver::Person { .. } => "waived by a person",
            },
            Event::GatePassed { by: Approval::Automatic, .. } => "passed automatically",
            Event::Landed { .. } => "landed",
            Event::UnitSkipped { .. } => "skipped a unit",
            Event::GateSkipped { .. } => "skipped a gate",
            Event::CallSettled { .. } => "a straggler",
            Event::AttemptEnded {
                outcome: Outcome::Fault { class: FaultClass::FlawedList, .. },
                ..
            } => "a flawed list",
            Event::AttemptEnded { outcome: Outcome::Deferred { .. }, .. } => "made way",
            Event::Noticed { .. } => "noticed",
            Event::ItemsLeft { .. } => "items that are left",
            Event::Edited { attempt, edit, .. } => {
                if !attempt.unit.scope.is_root() {
                    self.count("an edit inside an item");
                }
                match edit {
                    Edit::Artifact { .. } => "an edited artifact",
                    Edit::Code { .. } => "edited code",
                }
            }
            Event::RunRewound { .. } => "a rewind",
            Event::ItemsListed { list, items, scope } => {
                let before = self.journal.iter().flat_map(|record| &record.facts).any(|fact| {
                    matches!(fact, Event::ItemsListed { list: l, items: i, scope: s }
                        if l == list && s == scope && i != items)
                });
                if !before && self.run.definition().start.lists.contains_key(list) {
                    "a list that was known at the start"
                } else if !before {
                    return;
                } else {
                    "listed again with a change"
                }
            }
            Event::AttemptStarted { attempt, .. } => {
                return self.began(&CallId::Attempt(attempt.clone()));
            }
            Event::JudgementStarted { judgement, .. } => {
                return self.began(&CallId::Judgement(judgement.clone()));
            }
            Event::NeedsMet { gate: None, .. } => "a unit that has what it needs",
            Event::NeedsMet { gate: Some(_), .. } => "a gate that has what it needs",
            Event::CallAssigned { .. } => "a call of an agent that limits chose",
            Event::WorkPassedOn { to: Successor::Tier(_), .. } => "work for a stronger model",
            Event::WorkPassedOn { to: Successor::Agent(_), .. } => "work for another agent",
            Event::PathsTaken { .. } => "paths that others have",
            Event::PathsClaimed { .. } => "paths that are claimed",
            Event::RunStarted(_)
            | Event::PathsWanted { .. }
            | Event::NeedsAsked { .. }
            | Event::RunResumed { .. }
            | Event::BudgetRaised { .. }
            | Event::SettingsChanged { .. }
            | Event::AttemptEnded { .. }
            | Event::Judged { .. }
            | Event::GatePassed { .. }
            | Event::Answered { .. }
            | Event::UnitAccepted { .. }
            | Event::UnitFailed { .. }
            | Event::EndingKeyAdded { .. }
            | Event::EffectIntended { .. }
            | Event::EffectDone { .. } => return,
        };
        self.count(what);
    }
}

fn why_asked(why: &QuestionReason) -> &'static str {
    match why {
        QuestionReason::Checkpoint { .. } => "why checkpoint",
        QuestionReason::RoundsUsedUp => "why rounds used up",
        QuestionReason::NotShrinking => "why not shrinking",
        QuestionReason::NoResult { .. } => "why no result",
        QuestionReason::CapReached { .. } => "why cap reached",
        QuestionReason::Setbacks { .. } => "why setbacks",
        QuestionReason::NoVerdict { .. } => "why no verdict",
        QuestionReason::Blocked { .. } => "why blocked",
        QuestionReason::DoesNotLand => "why does not land",
        QuestionReason::LandedAlready => "why landed already",
        QuestionReason::NothingToRedo => "why nothing to redo",
        QuestionReason::Unverified { .. } => "why unverified",
        QuestionReason::Guarded => "why guarded",
        QuestionReason::Objected { .. } => "why objected",
        QuestionReason::Doubted { .. } => "why doubted",
        QuestionReason::NothingChanged => "why nothing changed",
        QuestionReason::Unfinished { .. } => "why unfinished",
        QuestionReason::NotReady { .. } => "why not ready",
    }
}

/// Returns true for what a driver sees and says at once, so that none of it is old.
pub(crate) fn is_look(input: &Input) -> bool {
    matches!(
        input,
        Input::Report(
            Report::PathsTaken { .. }
                | Report::PathsFree { .. }
                | Report::NeedsMet { .. }
                | Report::NeedsUnmet { .. }
        )
    )
}
