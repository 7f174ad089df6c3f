//! What follows from a verdict: pass, go back, ask, fail.

use super::draft::Draft;
use crate::{
    event::{
        Answer, Event, Evidence, FailureKind, QuestionReason, Receipt, ResultChange, Ruling,
        SentBack, Waiver,
    },
    failure::FaultClass,
    flow::{BuiltIn, Check, Exhausted, Gate, GateWeight, StageOrder, followers},
    id::{CallId, JudgementId, QuestionId, UnitId},
    routing::Successor,
    run::{AskedQuestion, Unit, command_failure},
    verdict::{BlockerClass, Finding, Verdict},
};

/// How often work that does not fit to what landed meanwhile may come back.
const LANDINGS_MAX: u32 = 1;

/// The reason why a gate does not send work back once more.
#[derive(Clone, Copy)]
enum ExhaustedReason {
    RoundsUsedUp,
    NotShrinking,
    NothingToRedo,
}

impl ExhaustedReason {
    fn why(self) -> QuestionReason {
        match self {
            Self::RoundsUsedUp => QuestionReason::RoundsUsedUp,
            Self::NotShrinking => QuestionReason::NotShrinking,
            Self::NothingToRedo => QuestionReason::NothingToRedo,
        }
    }

    fn waiver(self) -> Waiver {
        match self {
            Self::RoundsUsedUp => Waiver::RoundsUsedUp,
            Self::NotShrinking => Waiver::NotShrinking,
            Self::NothingToRedo => Waiver::NothingToRedo,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::RoundsUsedUp => "sent it back too often",
            Self::NotShrinking => "found as many problems as before, so it is not sent back again",
            Self::NothingToRedo => "requests changes, but names no stage that could make them",
        }
    }
}

impl Draft {
    pub(super) fn judged(&mut self, judgement: &JudgementId, ruling: &Ruling, receipt: &Receipt) {
        let unit = judgement.attempt.unit.clone();
        let position = self.run.stage(&unit).gate(&judgement.gate);
        let position = position.expect("a judgement that is awaited names a gate of its stage");
        let gate = self.run.stage(&unit).gates[position].clone();
        let serious_before = self.run.unit(&unit).serious.get(&gate.name).copied();
        let ruling = self.numbered(&unit, &self.revise_pass_with_serious(&unit, position, ruling));
        let cap = self.run.cap(&CallId::Judgement(judgement.clone()));
        self.record(Event::Judged {
            judgement: judgement.clone(),
            ruling: ruling.clone(),
            receipt: receipt.clone(),
        });
        match ruling {
            Ruling::Verdict(Verdict::Pass { findings }) => {
                if gate.check == Check::Land {
                    self.lands(unit, &gate.name, receipt);
                } else if gate.weight == GateWeight::Binding
                    && matches!(gate.check, Check::Review { .. })
                    && !self.asks_a_person(&unit, position + 1)
                {
                    let serious = findings.iter().filter(|finding| finding.is_serious());
                    let doubts = serious.map(Finding::to_line).collect();
                    self.ask_if_doubted(&unit, Some(&gate.name), doubts);
                }
            }
            Ruling::Verdict(Verdict::Revise { .. } | Verdict::Block { .. })
                if gate.weight == GateWeight::Advisory =>
            {
                let (gate, why) = (gate.name, Waiver::Advisory);
                self.record(Event::GateWaived { unit, gate, why });
            }
            Ruling::Verdict(Verdict::Block { reason, .. }) => {
                self.ask(&unit, Some(&gate.name), QuestionReason::Objected { what: reason });
            }
            Ruling::Verdict(Verdict::Revise { .. })
                if gate.check == (Check::BuiltIn { check: BuiltIn::Guarded }) =>
            {
                self.ask(&unit, Some(&gate.name), QuestionReason::Guarded);
            }
            Ruling::Verdict(Verdict::Revise { findings })
                if gate.check == Check::Verify
                    && let Some(question) = self.failures_waived(&findings, receipt) =>
            {
                let (gate, why) = (gate.name, Waiver::Person { question });
                self.record(Event::GateWaived { unit, gate, why });
            }
            Ruling::Verdict(Verdict::Revise { findings }) => {
                let is_review = matches!(gate.check, Check::Review { .. });
                let mut serious = findings.iter().filter(|finding| finding.is_serious());
                let n_serious = serious.clone().count();
                // A check that failed before the run is perhaps not the worker's to repair: one revision, no more.
                // Who works only if gates fail is there to repair them.
                let is_old = gate.check == Check::Verify
                    && self.run.stage(&unit).order == StageOrder::WorkFirst
                    && serious.all(Finding::is_red_at_base);
                let shrinks = match serious_before {
                    Some(before) if is_review || is_old => n_serious < before,
                    Some(_) | None => true,
                };
                self.send_back(&unit, position, &findings, shrinks);
            }
            Ruling::Fault { class: FaultClass::OutOfBudget, .. } => {
                if gate.weight == GateWeight::Advisory && !self.is_broke() {
                    let (gate, why) = (gate.name, Waiver::Advisory);
                    self.record(Event::GateWaived { unit, gate, why });
                } else {
                    self.cap_reached(&unit, Some(&gate.name), cap);
                }
            }
            Ruling::Fault { class, what } => {
                if self.run.unit(&unit).faults < self.run.stage(&unit).misses {
                    self.escalate_if_identical(&unit, class, &what);
                } else if gate.weight == GateWeight::Advisory {
                    let (gate, why) = (gate.name, Waiver::Advisory);
                    self.record(Event::GateWaived { unit, gate, why });
                } else {
                    self.ask(&unit, Some(&gate.name), QuestionReason::NoVerdict { what });
                }
            }
            Ruling::Unverified { what, found } => {
                if gate.weight == GateWeight::Advisory {
                    let (gate, why) = (gate.name, Waiver::Advisory);
                    self.record(Event::GateWaived { unit, gate, why });
                } else if let Some(question) = self.waived_before(&unit, &gate, &what, &found) {
                    let (gate, why) = (gate.name, Waiver::Person { question });
                    self.record(Event::GateWaived { unit, gate, why });
                } else {
                    self.ask(&unit, Some(&gate.name), QuestionReason::Unverified { what, found });
                }
            }
            Ruling::Blocked { class, what } => {
                let to = receipt.successor.clone();
                self.look_is_blocked(judgement, &gate, to, (class, what));
            }
            Ruling::Limited { .. } | Ruling::Lost | Ruling::Interrupted => {
                self.set_back(&unit, Some(&gate.name));
            }
        }
    }

    /// Lets somebody else look, waives what is only advice, or asks.
    fn look_is_blocked(
        &mut self,
        judgement: &JudgementId,
        gate: &Gate,
        to: Option<Successor>,
        (class, what): (BlockerClass, String),
    ) {
        let unit = judgement.attempt.unit.clone();
        let call = CallId::Judgement(judgement.clone());
        if let Some(passed_on) = self.passed_on(&call, class, to) {
            self.record(passed_on);
        } else if gate.weight == GateWeight::Advisory {
            let (gate, why) = (gate.name.clone(), Waiver::Advisory);
            self.record(Event::GateWaived { unit, gate, why });
        } else {
            self.ask(&unit, Some(&gate.name), QuestionReason::Blocked { class, what });
        }
    }

    /// Returns the answer by which a person waived the very same lack of proof in this run. A project has checks or
    /// has none: a person who said by name that it is to continue without them is not asked once for each task. Once
    /// the run has added checks of its own, that is no longer the same lack, and each set of them is another.
    /// A person who was asked at this very unit and wanted something else there is asked again.
    fn waived_before(
        &self,
        unit: &UnitId,
        gate: &Gate,
        what: &str,
        found: &[String],
    ) -> Option<QuestionId> {
        if gate.check != Check::Verify {
            return None;
        }
        let waive = Answer::Waive { gate: gate.name.clone() };
        let same = |asked: &&AskedQuestion| matches!(&asked.question.why, QuestionReason::Unverified { what: before, found: those } if before == what && those == found);
        let waived =
            |asked: &&AskedQuestion| asked.answer.as_ref().is_some_and(|said| said.answer == waive);
        let same: Vec<&AskedQuestion> = self.run.history().asked.iter().filter(same).collect();
        let here = same.iter().rev().find(|asked| asked.question.unit == *unit);
        if here.is_some_and(|asked| !waived(asked)) {
            return None;
        }
        same.into_iter().find(waived).map(|asked| asked.question.id)
    }

    /// Returns the answer by which a person waived the very failures that checks found, and nothing else is wrong.
    fn failures_waived(&self, findings: &[Finding], receipt: &Receipt) -> Option<QuestionId> {
        let red: Vec<&Evidence> = receipt.red().collect();
        self.run.waiver_of(&red).filter(|_| findings.len() == red.len())
    }

    /// Records what landed. A task that changes nothing is asked about, and so is a run without any change, until a person says yes; a stage
    /// beside tasks may have nothing to change.
    fn lands(&mut self, unit: UnitId, gate: &str, receipt: &Receipt) {
        let after = receipt.head.as_deref().or(receipt.commit.as_deref());
        let is_empty = after.is_none_or(|after| {
            ResultChange::between(self.run.code_before(), after) == ResultChange::Unchanged
        });
        let works_on_code = self.run.definition().start.base.is_some();
        // A person who requested changes, or rejected it, is asked again.
        let is_settled = |asked: &AskedQuestion| {
            let is_refused = asked.answer.as_ref().is_some_and(|given| {
                given.answer == Answer::Revise || given.answer == Answer::GiveUp
            });
            asked.question.why == QuestionReason::NothingChanged && !is_refused
        };
        let item = self.run.definition().flow.item_scope(&unit.scope);
        let must_change = if item.is_some() {
            !self.run.table(&unit.scope).1.has_landed()
        } else {
            self.run.changed_nothing() && !self.run.history().asked.iter().any(is_settled)
        };
        if is_empty && works_on_code && must_change {
            self.ask(&unit, Some(gate), QuestionReason::NothingChanged);
        } else if receipt.commit.is_some() {
            self.landed(unit, receipt);
        }
    }

    /// Records that a call's work is part of the run's result.
    pub(super) fn landed(&mut self, unit: UnitId, receipt: &Receipt) {
        let commit = receipt.commit.clone().unwrap_or_default();
        let tree = receipt.tree.clone().unwrap_or_default();
        let head = receipt.head.clone();
        let brings =
            ResultChange::between(self.run.code_before(), head.as_ref().unwrap_or(&commit));
        let branch = self.titled_branch();
        self.record(Event::Landed { unit, commit, tree, head, brings, branch });
    }

    /// Turns a pass with a serious finding that can be acted on into what it says, unless a person is asked next.
    fn revise_pass_with_serious(&self, unit: &UnitId, position: usize, ruling: &Ruling) -> Ruling {
        let is_review = matches!(self.run.stage(unit).gates[position].check, Check::Review { .. });
        let must_change = |finding: &Finding| finding.is_serious() && finding.is_grounded();
        match ruling {
            Ruling::Verdict(Verdict::Pass { findings })
                if is_review
                    && !self.asks_a_person(unit, position + 1)
                    && findings.iter().any(must_change) =>
            {
                Ruling::Verdict(Verdict::Revise { findings: findings.clone() })
            }
            Ruling::Verdict(
                Verdict::Pass { .. } | Verdict::Revise { .. } | Verdict::Block { .. },
            )
            | Ruling::Fault { .. }
            | Ruling::Unverified { .. }
            | Ruling::Blocked { .. }
            | Ruling::Limited { .. }
            | Ruling::Lost
            | Ruling::Interrupted => ruling.clone(),
        }
    }

    /// Asks a person about work that is said to be good, with something serious in it all the same.
    pub(super) fn ask_if_doubted(&mut self, unit: &UnitId, gate: Option<&str>, what: Vec<String>) {
        if !what.is_empty() {
            self.ask(unit, gate, QuestionReason::Doubted { what });
        }
    }

    /// Findings with names that no other of the unit has.
    pub(super) fn named(&self, unit: &UnitId, findings: &[Finding]) -> Vec<Finding> {
        let first = self.run.unit(unit).n_findings + 1;
        let named = (first..).zip(findings);
        named.map(|(n, finding)| Finding { id: format!("F{n}"), ..finding.clone() }).collect()
    }

    /// Gives findings their names. To send back without one that can be acted on is a fault.
    fn numbered(&self, unit: &UnitId, ruling: &Ruling) -> Ruling {
        let Ruling::Verdict(verdict) = ruling else { return ruling.clone() };
        let number = |findings: &[Finding]| self.named(unit, findings);
        match verdict {
            Verdict::Pass { findings } => {
                Ruling::Verdict(Verdict::Pass { findings: number(findings) })
            }
            Verdict::Revise { findings } if findings.iter().any(Finding::is_grounded) => {
                Ruling::Verdict(Verdict::Revise { findings: number(findings) })
            }
            Verdict::Revise { findings } => {
                let said: Vec<String> = findings.iter().map(Finding::to_line).collect();
                let what = match said.as_slice() {
                    [] => "it requests changes without a finding".to_owned(),
                    said => format!(
                        "it requests changes, but no finding has a path or proof that holds: {}",
                        said.join("; ")
                    ),
                };
                Ruling::Fault { class: FaultClass::NoFindings, what }
            }
            Verdict::Block { reason, findings } => {
                let (reason, findings) = (reason.clone(), number(findings));
                Ruling::Verdict(Verdict::Block { reason, findings })
            }
        }
    }

    /// Sends the target of a gate back to work, as long as it has rounds left and each round
    /// leaves fewer serious findings. After that, it is the unit with the gate that is let
    /// through, given up or asked about.
    fn send_back(&mut self, unit: &UnitId, position: usize, findings: &[Finding], shrinks: bool) {
        let stage = self.run.stage(unit);
        let gate = stage.gates[position].clone();
        let target = self.run.sent_back_to(unit, gate.redo.as_deref());
        let findings: Vec<Finding> =
            findings.iter().filter(|finding| finding.is_grounded()).cloned().collect();
        if gate.check == Check::Land {
            return self.did_not_land(unit, target, &gate.name, findings);
        }
        if self.would_undo_landed(&target) {
            return self.ask(unit, Some(&gate.name), QuestionReason::LandedAlready);
        }
        if !self.run.stage(&target).is_called() {
            return self.exhausted(unit, position, ExhaustedReason::NothingToRedo);
        }
        let has_rounds = match gate.rounds {
            Some(rounds) => self.run.rounds_of_gate(&target, unit, &gate.name) < rounds,
            None => self.run.unit(&target).round < self.run.stage(&target).rounds,
        };
        if !has_rounds {
            return self.exhausted(unit, position, ExhaustedReason::RoundsUsedUp);
        }
        if !shrinks {
            return self.exhausted(unit, position, ExhaustedReason::NotShrinking);
        }
        let failure = command_failure(&gate.check, &findings);
        let by = SentBack::Gate { unit: unit.clone(), gate: gate.name };
        self.record(Event::UnitReopened { unit: target, by, findings, words: String::new() });
        if let Some(what) = failure {
            self.escalate_if_identical(unit, FaultClass::CommandFailed, &what);
        }
    }

    fn did_not_land(&mut self, unit: &UnitId, target: UnitId, gate: &str, findings: Vec<Finding>) {
        let again = self.run.unit(&target).landings < LANDINGS_MAX;
        if again && !self.would_undo_landed(&target) {
            let (by, words) = (SentBack::Landing, String::new());
            self.record(Event::UnitReopened { unit: target, by, findings, words });
        } else {
            self.ask(unit, Some(gate), QuestionReason::DoesNotLand);
        }
    }

    fn exhausted(&mut self, unit: &UnitId, position: usize, no_more: ExhaustedReason) {
        let stage = self.run.stage(unit).clone();
        let gate = &stage.gates[position];
        let waive = |draft: &mut Self| {
            let (unit, gate, why) = (unit.clone(), gate.name.clone(), no_more.waiver());
            draft.record(Event::GateWaived { unit, gate, why });
        };
        match stage.exhausted {
            Exhausted::Fail => {
                let reason = format!("`{}` {}", gate.name, no_more.reason());
                self.fail(unit, FailureKind::Failed, reason);
                self.hold_if_stuck(unit);
            }
            Exhausted::PassWithNotes if !gate.is_proof() => waive(self),
            // The person at the gate that follows decides; no person is asked twice.
            Exhausted::Ask
                if matches!(gate.check, Check::Review { .. })
                    && self.asks_a_person(unit, position + 1) =>
            {
                waive(self);
            }
            Exhausted::Ask | Exhausted::PassWithNotes => {
                self.ask(unit, Some(&gate.name), no_more.why());
            }
        }
    }

    /// Returns true if a person looks at the unit at one of its gates from this one on.
    pub(super) fn asks_a_person(&self, unit: &UnitId, first: usize) -> bool {
        let mut later = self.run.stage(unit).gates.iter().skip(first);
        later.any(|gate| {
            matches!(gate.check, Check::Human { .. })
                && !self.run.unit(unit).skipped.contains(&gate.name)
                && self.run.holds(&unit.scope, &gate.when)
        })
    }

    /// Returns true if sending a unit back would reset work that is part of the run's result.
    pub(super) fn would_undo_landed(&self, target: &UnitId) -> bool {
        let (stages, table) = self.run.table(&target.scope);
        let position = stages.iter().position(|stage| stage.name == target.stage);
        let position = position.expect("a target is a stage of its table");
        let mut reset = followers(stages, position).into_iter().map(|row| &table.units[row]);
        reset.any(Unit::has_landed_and_open)
    }
}
