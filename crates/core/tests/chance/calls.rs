//! How many calls a run makes, against the number that its flow promises; and what keeps agents from their work.

use forge_core::{
    Command, Input, Report,
    event::{Answer, Outcome, Receipt, Ruling},
    flow::CallsMax,
    id::CallId,
    routing::{AgentOrigin, Assignment, Successor, Tier},
    run::{CallEnding, CallKind, EndedCall},
    verdict::BlockerClass,
};

use super::Game;

/// Whether a person may have something done once more.
pub(super) fn asks_for_more(input: &Input) -> bool {
    let Input::Command(command) = input else { return false };
    !matches!(
        command,
        Command::Start(_)
            | Command::Pause { .. }
            | Command::Abandon { .. }
            | Command::Answer { answer: Answer::Approve | Answer::GiveUp, .. }
    )
}

impl Game {
    /// Without a person who asks for more, a run makes no more calls than its flow says.
    pub(super) fn made_no_more_calls(&mut self) {
        if self.has_asked_for_more {
            return;
        }
        let counts = |ended: &&EndedCall| match ended.ending {
            CallEnding::Triage(_)
            | CallEnding::Work(
                Outcome::Lost
                | Outcome::Interrupted
                | Outcome::Limited { .. }
                | Outcome::Deferred { .. },
            )
            | CallEnding::Look(Ruling::Lost | Ruling::Interrupted | Ruling::Limited { .. }) => {
                false
            }
            // What one cannot do, another does once more.
            CallEnding::Work(Outcome::Blocked { .. })
            | CallEnding::Look(Ruling::Blocked { .. })
                if self.run.has(ended.call.unit()) && self.run.passed_on(&ended.call).is_some() =>
            {
                false
            }
            CallEnding::Work(_) | CallEnding::Look(_) | CallEnding::Overtaken => {
                // Of one whose task was listed anew, too.
                let kind = CallKind::from_flow(&self.run.definition().flow, &ended.call);
                matches!(kind, Some(CallKind::Agent { .. }))
            }
        };
        let n_calls = self.run.history().calls.iter().filter(counts).count() as u64;
        let CallsMax(most) = self.run.definition().flow.calls_max();
        assert!(n_calls <= most, "{n_calls} calls, and the flow says at most {most}");
        self.count("calls that nobody asked for");
    }

    pub(super) fn blocker(&mut self) -> BlockerClass {
        *self.chance.of(&[
            BlockerClass::ExternalDependency,
            BlockerClass::NoAccess,
            BlockerClass::ContextOverflow,
            BlockerClass::ModelRefusal,
        ])
    }

    pub(super) fn tell_of_its_agent(&mut self, receipt: &mut Receipt) {
        if self.chance.one_in(3) {
            receipt.used = Some(self.used());
        }
        if self.chance.one_in(2) {
            let agent = Successor::Agent("other".to_owned());
            receipt.successor = Some(self.chance.of(&[Successor::Tier(Tier::Max), agent]).clone());
        }
        if self.chance.one_in(4) {
            receipt.used_up = Some("agent".to_owned());
        }
    }

    /// Limits decide who works on a call.
    pub(super) fn assigned(&mut self, call: CallId) -> Report {
        let agent = (*self.chance.of(&["agent", "other"])).to_owned();
        let account = self.chance.one_in(2).then(|| "work".to_owned());
        Report::Assigned { call, to: Assignment { agent, account, why: AgentOrigin::Limit } }
    }
}
