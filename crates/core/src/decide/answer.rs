//! Questions to people, and what their answers do.
//!
//! A person is never overruled: their revise is not limited by rounds. And a person's word does
//! no more than it says: approving waives the one gate that was asked about, the gates after it
//! still look, and a gate that proves something is waived only by its own name.

use super::{draft::Draft, refusal::Refusal};
use crate::{
    event::{
        Answer, Approval, Choice, Event, FailureKind, Hold, Person, Question, QuestionReason,
        SentBack, Waiver,
    },
    flow::{StuckItems, Work},
    id::{QuestionId, UnitId},
    run::Phase,
    verdict::Finding,
};

impl Draft {
    pub(super) fn ask(&mut self, unit: &UnitId, gate: Option<&str>, why: QuestionReason) {
        let is_proof = gate.is_some_and(|name| {
            let stage = self.run.stage(unit);
            stage.gate(name).is_some_and(|position| stage.gates[position].is_proof())
        });
        let mut options = match &why {
            QuestionReason::LandedAlready | QuestionReason::NothingToRedo if is_proof => {
                vec![Choice::Waive, Choice::GiveUp]
            }
            QuestionReason::LandedAlready | QuestionReason::NothingToRedo => {
                vec![Choice::Approve, Choice::GiveUp]
            }
            // Nothing was done that could be approved, or changed.
            QuestionReason::NotReady { .. } => vec![Choice::Retry, Choice::GiveUp],
            // The cause may be outside the code, and fixed by now.
            QuestionReason::RoundsUsedUp
            | QuestionReason::NotShrinking
            | QuestionReason::NoVerdict { .. }
            | QuestionReason::Blocked { .. }
            | QuestionReason::CapReached { .. }
                if is_proof =>
            {
                vec![Choice::Retry, Choice::Revise, Choice::Waive, Choice::GiveUp]
            }
            QuestionReason::Checkpoint { .. }
            | QuestionReason::Guarded
            | QuestionReason::Doubted { .. }
            | QuestionReason::RoundsUsedUp
            | QuestionReason::NotShrinking => {
                vec![Choice::Approve, Choice::Revise, Choice::GiveUp]
            }
            QuestionReason::NoVerdict { .. }
            | QuestionReason::Blocked { .. }
            | QuestionReason::CapReached { .. }
                if gate.is_some() =>
            {
                vec![Choice::Retry, Choice::Approve, Choice::Revise, Choice::GiveUp]
            }
            // A delivery of what nothing proved: only a gate's proof can be waived.
            QuestionReason::Unverified { .. } if gate.is_none() => {
                vec![Choice::Retry, Choice::GiveUp]
            }
            // Approving is to allow the commands, and the gate looks again: it lets nothing through.
            QuestionReason::Unverified { found, .. } if !found.is_empty() => {
                vec![Choice::Approve, Choice::Revise, Choice::Waive, Choice::GiveUp]
            }
            // Both say yes, the second one for those who know it by that name.
            QuestionReason::NothingChanged => {
                vec![Choice::Approve, Choice::Revise, Choice::Waive, Choice::GiveUp]
            }
            QuestionReason::DoesNotLand
            | QuestionReason::Unverified { .. }
            | QuestionReason::Objected { .. } => {
                vec![Choice::Revise, Choice::Waive, Choice::GiveUp]
            }
            QuestionReason::NoResult { .. }
            | QuestionReason::Unfinished { .. }
            | QuestionReason::Setbacks { .. }
            | QuestionReason::NoVerdict { .. }
            | QuestionReason::CapReached { .. }
            | QuestionReason::Blocked { .. } => {
                vec![Choice::Retry, Choice::Revise, Choice::GiveUp]
            }
        };
        if self.cannot_revise(unit, gate) {
            options.retain(|choice| *choice != Choice::Revise);
        }
        let id = QuestionId(self.run.n_questions() + 1);
        let is_checkpoint = matches!(why, QuestionReason::Checkpoint { .. });
        let (asks, gate) = (unit.clone(), gate.map(str::to_owned));
        self.record(Event::QuestionAsked(Box::new(Question {
            id,
            unit: asks,
            gate,
            why,
            options,
        })));
        if !is_checkpoint {
            self.hold_if_stuck(unit);
        }
    }

    /// Holds the run where an item needs a person, if its flow says so. What was planned as a checkpoint is no such need.
    pub(super) fn hold_if_stuck(&mut self, unit: &UnitId) {
        let mut around = unit.scope.clone();
        while let Some((outer, group)) = around.origin() {
            let item = around.item().unwrap_or_default().to_owned();
            let stage = self.run.stage(&outer.unit(&group));
            let holds = matches!(stage.work, Work::Each { stuck: StuckItems::Hold, .. });
            if holds && *self.run.phase() == Phase::Going {
                let what =
                    format!("`{item}` needs you, and this flow does not continue without it");
                self.record(Event::RunHeld { hold: Hold::Escalated { what } });
            }
            around = outer;
        }
    }

    /// Returns true if sending back from this gate would reset work that has landed, or do nothing at all. Without a gate
    /// it is the work that is tried again, and only an agent reads what a person says.
    fn cannot_revise(&self, unit: &UnitId, gate: Option<&str>) -> bool {
        let stage = self.run.stage(unit);
        if gate.is_none() {
            return !matches!(stage.work, Work::Agent { .. });
        }
        gate.and_then(|gate| stage.gate(gate)).is_some_and(|position| {
            let target = self.run.sent_back_to(unit, stage.gates[position].redo.as_deref());
            self.would_undo_landed(&target) || !self.run.stage(&target).is_called()
        })
    }

    pub(super) fn answer(
        &mut self,
        id: QuestionId,
        answer: &Answer,
        words: &str,
        by: &Person,
    ) -> Result<(), Refusal> {
        let Some(question) = self.run.question(id).cloned() else {
            return Err(if id.0 >= 1 && id.0 <= self.run.n_questions() {
                Refusal::AnsweredAlready(id)
            } else {
                let open = self.run.questions().map(|question| question.id).collect();
                Refusal::NoSuchQuestion { question: id, open }
            });
        };
        let choice = answer.choice();
        let mut options = question.options.clone();
        // Since it was asked, something may have landed.
        if self.cannot_revise(&question.unit, question.gate.as_deref()) {
            options.retain(|choice| *choice != Choice::Revise);
        }
        if !options.contains(&choice) {
            return Err(Refusal::NotAnOption { choice, options });
        }
        if let (Answer::Waive { gate: said }, Some(gate)) = (answer, &question.gate)
            && said != gate
        {
            return Err(Refusal::WrongGate { said: said.clone(), gate: gate.clone() });
        }
        match choice {
            Choice::Revise if words.trim().is_empty() => return Err(Refusal::WordsMissing),
            // Spaces, dots and characters that nobody sees say nothing.
            Choice::Waive if !words.contains(char::is_alphanumeric) => {
                return Err(Refusal::ReasonMissing);
            }
            Choice::Revise | Choice::Waive | Choice::Approve | Choice::Retry | Choice::GiveUp => {}
        }
        self.record(Event::Answered {
            question: question.id,
            answer: answer.clone(),
            words: words.to_owned(),
            by: by.clone(),
        });
        self.follow_answer(&question, answer, words, by);
        Ok(())
    }

    fn follow_answer(&mut self, question: &Question, answer: &Answer, words: &str, by: &Person) {
        let unit = question.unit.clone();
        match answer {
            // Trying again is what the answer itself says.
            Answer::Retry => {}
            Answer::Revise if question.tries_again(answer) => {}
            Answer::Approve
                if !question.allows(answer).is_empty() || question.takes_work(answer) => {}
            Answer::GiveUp => {
                let given_up = match words {
                    "" => format!("rejected by {}", by.who),
                    words => format!("rejected by {}: {words}", by.who),
                };
                if let QuestionReason::Objected { what } = &question.why {
                    self.fail(&unit, FailureKind::Blocked, format!("{what} ({given_up})"));
                } else {
                    self.fail(&unit, FailureKind::Failed, given_up);
                }
            }
            Answer::Approve | Answer::Waive { .. } => {
                let gate = question.gate.clone().expect("only gates can be approved or waived");
                let id = question.id;
                match question.why {
                    QuestionReason::Checkpoint { .. } | QuestionReason::Guarded => {
                        let by = Approval::Person { question: id };
                        self.record(Event::GatePassed { unit, gate, by, verdict: None });
                    }
                    QuestionReason::RoundsUsedUp
                    | QuestionReason::NotShrinking
                    | QuestionReason::NoVerdict { .. }
                    | QuestionReason::DoesNotLand
                    | QuestionReason::LandedAlready
                    | QuestionReason::NothingToRedo
                    | QuestionReason::Unverified { .. }
                    | QuestionReason::NoResult { .. }
                    | QuestionReason::CapReached { .. }
                    | QuestionReason::Setbacks { .. }
                    | QuestionReason::NothingChanged
                    | QuestionReason::Objected { .. }
                    | QuestionReason::Doubted { .. }
                    | QuestionReason::Unfinished { .. }
                    | QuestionReason::NotReady { .. }
                    | QuestionReason::Blocked { .. } => {
                        let why = Waiver::Person { question: id };
                        self.record(Event::GateWaived { unit, gate, why });
                    }
                }
            }
            Answer::Revise => {
                let stage = self.run.stage(&unit);
                let position = question.gate.as_deref().and_then(|gate| stage.gate(gate));
                let redo = position.and_then(|position| stage.gates[position].redo.as_deref());
                let target = self.run.sent_back_to(&unit, redo);
                let found = self.run.unit(&unit).found.clone();
                self.record(Event::UnitReopened {
                    unit: target,
                    by: SentBack::Person { question: question.id },
                    findings: found.into_iter().filter(Finding::is_grounded).collect(),
                    words: words.to_owned(),
                });
            }
        }
    }
}
