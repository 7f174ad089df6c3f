//! Whether the process behind a command may give it: a person's may, an agent's may not.
//!
//! Not here: how a process is looked at (`forge_keeper::caller`), and how the process behind a row is found (the
//! journal).

use forge_core::{
    Time,
    event::{Event, Outcome, Ruling},
    id::CallId,
};
use forge_keeper::LostCall;
use forge_store::journal::{CommandSender, Journal, PendingCommand};

use crate::{Error, executor::Executor};

/// Says why a command counts for nothing, if it does.
pub fn refusal(
    executor: &dyn Executor,
    journal: &dyn Journal,
    command: &PendingCommand,
    lost: &[LostCall],
) -> Result<Option<String>, Error> {
    let why = match journal.command_sender(command)? {
        CommandSender::Process(pid) => executor.check_caller(pid, lost).err(),
        CommandSender::OutOfSight => Some(
            "its process is in another PID namespace, so it cannot be seen whether it is an agent's"
                .to_owned(),
        ),
        CommandSender::Nobody => {
            Some("no process waits for its answer, so it is unknown who gave it".to_owned())
        }
    };
    Ok(why.map(|why| format!("the command is refused: {why}")))
}

/// The times of all calls whose keepers were killed, from the facts of a run.
pub fn lost_calls<'a>(facts: impl Iterator<Item = (Time, &'a Event)>) -> Vec<LostCall> {
    let mut started: Vec<(CallId, Time)> = Vec::new();
    let mut lost = Vec::new();
    for (at, fact) in facts {
        if let Some((call, _)) = fact.call_started() {
            started.push((call, at));
            continue;
        }
        let is_lost = matches!(
            fact,
            Event::AttemptEnded { outcome: Outcome::Lost, .. }
                | Event::Judged { ruling: Ruling::Lost, .. }
        );
        if let (true, Some(call)) = (is_lost, fact.call()) {
            let began = started.iter().rev().find(|(started, _)| *started == call);
            lost.extend(began.map(|(_, began)| LostCall { started_at_ms: *began, lost_at_ms: at }));
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_core::event::Call;

    #[test]
    fn a_command_without_a_process_is_refused_and_one_of_a_person_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let disk = std::sync::Arc::new(forge_store::disk::RealDisk);
        let journal = forge_store::journal::SimulatedJournal::open(disk, dir.path()).unwrap();
        let executor = crate::local_executor::LocalExecutor::default();
        let mut command = PendingCommand {
            id: forge_store::journal::CommandId(1),
            run: "r".to_owned(),
            at: 1,
            interface: forge_store::journal::SimulatedJournal::BY_HAND.to_owned(),
            person: "ada".to_owned(),
            body: "{}".to_owned(),
        };
        let why = refusal(&executor, &journal, &command, &[]).ok().flatten().unwrap();
        assert!(why.contains("no process waits for its answer"), "{why}");
        // This process itself, which is a person's as far as can be seen.
        command.interface = "cli".to_owned();
        assert_eq!(refusal(&executor, &journal, &command, &[]).ok().flatten(), None);
    }

    #[test]
    fn only_calls_whose_keeper_was_killed_may_have_left_somebody() {
        let attempt = |number| "build".parse::<forge_core::id::UnitId>().unwrap().attempt(number);
        let started = |number| Event::AttemptStarted {
            attempt: attempt(number),
            call: Some(Call { ordinal: number, reserved: None, wish: None }),
        };
        let ended = |number, outcome| {
            let attempt = attempt(number);
            Event::AttemptEnded { attempt, outcome, receipt: None }
        };
        let facts = [
            (1, started(1)),
            (5, ended(1, Outcome::Done)),
            (7, started(2)),
            (9, ended(2, Outcome::Lost)),
            (11, started(3)),
        ];
        let lost = lost_calls(facts.iter().map(|(at, fact)| (*at, fact)));
        assert_eq!(lost, [LostCall { started_at_ms: 7, lost_at_ms: 9 }]);
    }
}
