//! What others see of a run: its branch at a remote, its pull request, a comment at its issue.
//!
//! Each is a fact before it happens and one when it has happened, with a mark. It is done by our own program below a keeper
//! (`forge __outside ORDER ANSWER`), with the environment of the person, whose tokens and keys it needs.
//!
//! Not here: how it is done (`api`), and hosts.
//!
//! Invariant: what is done twice makes nothing twice: each of them looks first for what is there.

use std::io::Read as _;

use forge_core::{
    Report, event::Outcome, failure::FaultClass, run::EffectMark, verdict::BlockerClass,
    view::sanitize,
};
use forge_keeper::{AttemptFolder, ExitReason};

use crate::{
    Error,
    deliver::offer::found,
    outcome::{CommandEnd, command_end},
    plan::{
        Pending, Plan,
        step::{OutsideAnswer, OutsideEffect, OutsideOrder, StepKind},
        workspace_worker::made_file,
    },
};

/// The most bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// The end of the mark of a push.
const PUSHED: &str = " push";
/// The end of the mark of a pull request that was opened.
const OPENED: &str = " pull-request";

impl OutsideEffect {
    /// The word for it in marks and names of steps.
    const fn word(&self) -> &'static str {
        match self {
            Self::Push { .. } => "push",
            Self::PullRequest => "pull-request",
            Self::Comment => "comment",
        }
    }
}

impl Plan<'_> {
    /// Brings about that something was done outside for the state that `of` names.
    pub(super) fn outside(&self, of: &str, what: OutsideEffect) -> Result<(), Pending> {
        let mark = format!("{of} {}", what.word());
        let attempt = self.attempt().clone();
        match self.run.mark(&mark) {
            Some(EffectMark::Done) => Ok(()),
            None => Err(Pending::RecordFirst(Box::new(Report::Intends { attempt, mark }))),
            Some(EffectMark::Intended) => {
                let reference = self.outside_step(mark.clone(), what)?;
                Err(Pending::RecordFirst(Box::new(Report::Did { attempt, mark, reference })))
            }
        }
    }

    /// Whether this run itself has opened a pull request. What an older run did from which it goes on is no record of it.
    pub(super) fn has_opened(&self) -> Result<bool, Error> {
        let live = self.context.home.run(self.context.id);
        for (mark, state) in self.run.marks() {
            let Some(of) = mark.strip_suffix(OPENED) else { continue };
            if state == EffectMark::Done && found(self.context.disk, &live, of)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the first thing to do outside for that state was begun.
    pub(super) fn has_begun_outside(&self, of: &str) -> bool {
        self.run.mark(&format!("{of}{PUSHED}")).is_some()
    }

    /// Commits on which an earlier attempt of this unit has pushed, or was about to.
    pub(super) fn pushed_before(&self) -> impl Iterator<Item = &str> {
        let unit = format!("{}@", self.call.unit());
        let marks = self.run.marks();
        marks.filter_map(move |(mark, _)| mark.strip_prefix(&unit)?.strip_suffix(PUSHED))
    }

    /// Whether the run has pushed another commit, or was about to.
    pub(super) fn has_pushed_other(&self, commit: &str) -> bool {
        let mut marks = self.run.marks();
        let own = format!("@{commit}{PUSHED}");
        marks.any(|(mark, _)| mark.ends_with(PUSHED) && !mark.ends_with(&own))
    }

    /// Does it. Where it is.
    fn outside_step(&self, mark: String, what: OutsideEffect) -> Result<String, Pending> {
        // What was done for another commit is another step.
        let of = mark.split(' ').next().and_then(|of| of.rsplit('@').next()).unwrap_or_default();
        let path = self.step_folder(&format!("{}-{of}", what.word())).path;
        let order = OutsideOrder { run: self.context.id.to_owned(), mark, what };
        let ending = self.while_wanted(path.clone(), || Ok(StepKind::Outside(order)))?;
        let folder = AttemptFolder::at(path);
        if ending.how == (ExitReason::Exited { code: 0 })
            && let Some(answer) = self.outside_answer(&folder)
        {
            return match answer {
                OutsideAnswer::Done { reference, notes } => {
                    for note in &notes {
                        self.notice(self.clean(note));
                    }
                    Ok(self.clean(&reference))
                }
                OutsideAnswer::Refused { what } => {
                    let (class, what) = (BlockerClass::ExternalDependency, self.clean(&what));
                    Err(self.ends(Outcome::Blocked { class, what }))
                }
            };
        }
        Err(match command_end(self.context.executor, &folder, &ending) {
            CommandEnd::Interrupted => self.interrupted(),
            CommandEnd::Success => self.fault(FaultClass::Crashed, "it left no answer".to_owned()),
            CommandEnd::Failure { what, .. } => self.fault(FaultClass::Crashed, what),
            CommandEnd::Fault { class, what } => self.fault(class, what),
        })
    }

    /// The words of a program, of git and of a host, as they may be written down.
    fn clean(&self, text: &str) -> String {
        sanitize(&String::from_utf8_lossy(&self.context.redacted(text.as_bytes())))
    }

    /// The answer, if there is one that can be read: without it, the same is done again.
    fn outside_answer(&self, folder: &AttemptFolder) -> Option<OutsideAnswer> {
        let file = self.context.executor.open_output(&made_file(folder)).ok()?;
        let mut bytes = Vec::new();
        file.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}
