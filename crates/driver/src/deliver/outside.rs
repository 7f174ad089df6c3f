//! What others see of a run: its branch at a remote, its pull request, a comment at its issue.
//!
//! Each is a fact before it happens and one when it has happened, with a mark. It is done by our own program below a keeper
//! (`forge __outside ORDER ANSWER`), with the environment of the person, whose tokens and keys it needs.
//!
//! Not here: how it is done (`api`), and hosts.
//!
//! Invariant: what is done twice makes nothing twice: each of them looks first for what is there.

use forge_core::{
    Report, event::Outcome, failure::FaultClass, run::EffectMark, verdict::BlockerClass,
};
use forge_keeper::{AttemptFolder, ExitReason};

use crate::{
    Error,
    outcome::{CommandEnd, command_end},
    plan::{
        Pending, Plan,
        step::{OutsideAnswer, OutsideEffect, OutsideOrder, StepKind},
        workspace_worker::{made_file, unreadable},
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
                let reference = self.outside_step(what)?;
                Err(Pending::RecordFirst(Box::new(Report::Did { attempt, mark, reference })))
            }
        }
    }

    /// Whether a pull request of this run was opened.
    pub(super) fn has_opened(&self) -> bool {
        let mut marks = self.run.marks();
        marks.any(|(mark, state)| state == EffectMark::Done && mark.ends_with(OPENED))
    }

    /// Commits on which an earlier attempt of this unit has pushed, or was about to.
    pub(super) fn pushed_before(&self) -> impl Iterator<Item = &str> {
        let unit = format!("{}@", self.call.unit());
        let marks = self.run.marks();
        marks.filter_map(move |(mark, _)| mark.strip_prefix(&unit)?.strip_suffix(PUSHED))
    }

    /// Does it. Where it is.
    fn outside_step(&self, what: OutsideEffect) -> Result<String, Pending> {
        let path = self.step_folder(what.word()).path;
        let order = OutsideOrder { run: self.context.id.to_owned(), what };
        let ending = self.while_wanted(path.clone(), || Ok(StepKind::Outside(order)))?;
        let folder = AttemptFolder::at(path);
        if ending.how == (ExitReason::Exited { code: 0 })
            && let Some(answer) = self.outside_answer(&folder)?
        {
            return match answer {
                OutsideAnswer::Done { reference, notes } => {
                    self.notices.borrow_mut().extend(notes);
                    Ok(reference)
                }
                OutsideAnswer::Refused { what } => {
                    let class = BlockerClass::ExternalDependency;
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

    fn outside_answer(&self, folder: &AttemptFolder) -> Result<Option<OutsideAnswer>, Error> {
        let path = made_file(folder);
        let Ok(length) = self.context.disk.length(&path) else { return Ok(None) };
        if length > ANSWER_BYTES_MAX {
            return Ok(None);
        }
        let bytes = self.context.disk.read(&path).map_err(|error| Error::file(&path, &error))?;
        serde_json::from_slice(&bytes).map(Some).map_err(|error| unreadable(&path, &error))
    }
}
