//! How many calls a run makes, against the number that its flow promises.

use forge_core::{
    Command, Input,
    event::{Answer, Outcome, Ruling},
    flow::CallsMax,
    run::{CallEnding, CallKind, EndedCall},
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
}
