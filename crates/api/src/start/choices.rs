//! What a person has to say before a run begins, and what follows from it: effort, branch, automatic
//! approvals, and a few words on the request.
//!
//! What no flag says is taken as it was detected: the effort of the request, and a branch of its own. Asked is only
//! what contradicts itself, and what a person wants to be asked.
//!
//! Invariant: nothing is written here.

use std::collections::BTreeMap;

use forge_core::event::Approvals;
use forge_driver::Error;
use forge_project::settings::Escalated;

use crate::start::{
    effort::{Detected, detect},
    flow_outline::EFFORT,
    prompts::{Asks, BranchChoice, Reply, stopped},
    ready::Ready,
    request::{AUTO, DRY_RUN, Discussion, OnMissing, Request, YES},
};

/// The parameter that says whether the pages of records are written.
const PAGES: &str = "pages";
/// The parameter that says what becomes of the tasks of a sprint if one of them needs a person, and its value for a halt.
const STUCK: (&str, &str) = ("stuck", "hold");
/// What is asked about a request before it begins.
const QUESTIONS: [&str; 3] = [
    "What is in scope, and what is not?",
    "What must stay as it is? Any limits: versions, interfaces, speed, style?",
    "How will you know it is done?",
];

/// The choices for a run, complete.
pub(super) struct Chosen {
    pub(super) text: String,
    pub(super) params: BTreeMap<String, String>,
    pub(super) why: BTreeMap<String, String>,
    pub(super) approvals: Approvals,
    /// The branch that is to follow at the end.
    pub(super) onto: Option<String>,
    pub(super) notes: Vec<String>,
    /// What is said if automatic approvals were wanted, and cannot be.
    pub(super) without_auto: Option<String>,
}

impl Ready {
    /// Asks what is open, in the order in which a person thinks of it.
    pub(super) fn choose(&self, request: &Request, asks: &mut dyn Asks) -> Result<Chosen, Error> {
        let mut chosen = Chosen {
            text: self.discussed(request, asks)?,
            params: self.params.clone(),
            why: self.why.clone(),
            approvals: request.approvals,
            onto: None,
            notes: self.notes.clone(),
            without_auto: None,
        };
        if let Some(Detected { value, why }) = self.detected(&chosen.text) {
            chosen.params.insert(EFFORT.to_owned(), value);
            chosen.why.insert(EFFORT.to_owned(), format!("detected: {why}"));
        }
        let work = &self.settings.work;
        let is_halt = match work.escalated {
            Escalated::Halt => true,
            Escalated::Continue => false,
        };
        for ((name, value), is_set, why) in [
            ((PAGES, "yes"), work.pages.is_some(), "`work.pages` names a folder"),
            (STUCK, is_halt, "`work.escalated` is halt"),
        ] {
            let is_param = self.found.flow.accepts(name, value).is_ok();
            if is_param && is_set && !self.params.contains_key(name) {
                chosen.params.insert(name.to_owned(), value.to_owned());
                chosen.why.insert(name.to_owned(), why.to_owned());
            }
        }
        let (onto, note) = self.where_to(request)?;
        chosen.onto = onto;
        chosen.notes.extend(note);
        self.without_auto(request, asks, &mut chosen)?;
        Ok(chosen)
    }

    /// Returns the request, with what the person said to a few questions.
    fn discussed(&self, request: &Request, asks: &mut dyn Asks) -> Result<String, Error> {
        match request.discussion {
            Discussion::No => return Ok(self.text.clone()),
            Discussion::First => {}
        }
        let answers = match asks.discussion(&QUESTIONS) {
            Reply::Said(answers) => answers,
            Reply::Stop => return Err(stopped()),
            Reply::Nobody => {
                return Err(Error::usage(
                    "`--discuss` needs a terminal; put the details into the request instead",
                    "forge run \"show totals; leave the export as it is; done when the tests pass\"",
                ));
            }
        };
        let said = QUESTIONS.iter().zip(&answers).filter(|(_, answer)| !answer.trim().is_empty());
        let said: Vec<String> =
            said.map(|(question, answer)| format!("\n{question}\n\n{answer}\n")).collect();
        let said = said.concat();
        if said.is_empty() {
            return Ok(self.text.clone());
        }
        Ok(format!("{}\n\n## Discussion\n{said}", self.text.trim_end()))
    }

    /// Returns the effort that was detected, if the flow knows one and nobody gave it.
    fn detected(&self, text: &str) -> Option<Detected> {
        let param = self.found.flow.params.get(EFFORT)?;
        if self.params.contains_key(EFFORT) {
            return None;
        }
        let field = &*self.settings.effort.story_points;
        let points =
            self.issue.as_ref().and_then(|issue| issue.points).map(|points| (points, field));
        Some(detect(text, points, &param.values, &param.default))
    }

    /// Returns the branch that is checked out, if it is not the one that everybody starts from.
    fn another_branch(&self) -> Option<&str> {
        let branch = self.branch.as_deref().filter(|_| self.lands)?;
        let is_main =
            ["main", "master"].contains(&branch) || self.default_branch.as_deref() == Some(branch);
        (!is_main).then_some(branch)
    }

    /// Returns the branch that is to follow at the end, if any, and what to say about the one that is checked out.
    fn where_to(&self, request: &Request) -> Result<(Option<String>, Option<String>), Error> {
        match (request.branch, self.another_branch()) {
            (Some(BranchChoice::Current), _) => {
                let current = self.branch.clone().filter(|_| self.lands).ok_or_else(|| {
                    let what = if self.lands {
                        "no branch is checked out that could be fast-forwarded"
                    } else {
                        "this flow changes no code, so there is no branch to fast-forward"
                    };
                    Error::usage(what, request.said_again(&[("--branch", "new")], &[]))
                })?;
                Ok((Some(current), None))
            }
            (None, Some(branch)) => {
                let note = format!(
                    "the result goes to its own branch; `--branch current` can fast-forward \
                     `{branch}` to it"
                );
                Ok((None, Some(note)))
            }
            (Some(BranchChoice::New), _) | (None, None) => Ok((None, None)),
        }
    }

    /// Automatic approvals, where every checkpoint is for a person.
    fn without_auto(
        &self,
        request: &Request,
        asks: &mut dyn Asks,
        chosen: &mut Chosen,
    ) -> Result<(), Error> {
        let Some(why) = self.why_no_auto(request, chosen) else { return Ok(()) };
        let reply = match request.on_missing {
            OnMissing::UseDetected => Reply::Said(()),
            OnMissing::Ask => asks.without_auto(&why),
        };
        match reply {
            Reply::Said(()) => {
                chosen.approvals = Approvals::ByPeople;
                chosen.without_auto = Some(format!("the run continues without `--auto`: {why}"));
                Ok(())
            }
            Reply::Stop => Err(stopped()),
            Reply::Nobody => {
                let ways = self.ways_without_auto(request, chosen).join("\n   or: ");
                Err(Error::person(format!("`--auto` is not possible with {why}"), ways))
            }
        }
    }

    /// Returns what would be asked about automatic approvals that this run cannot have, and the commands that answer it.
    pub(super) fn would_ask_about_auto(
        &self,
        request: &Request,
        chosen: &Chosen,
    ) -> Option<String> {
        match request.on_missing {
            OnMissing::UseDetected => return None,
            OnMissing::Ask => {}
        }
        let why = self.why_no_auto(request, chosen)?;
        let ways = self.ways_without_auto(request, chosen);
        let ways: Vec<String> = ways.iter().map(|way| format!("`{way}`")).collect();
        Some(format!(
            "whether to continue without `--auto`, which is not possible with {why}. One of {}",
            ways.join(" or ")
        ))
    }

    /// Returns why automatic approvals, which are wanted, cannot be.
    fn why_no_auto(&self, request: &Request, chosen: &Chosen) -> Option<String> {
        let is_manual = self.found.flow.is_manual(&chosen.params);
        if !is_manual || request.approvals == Approvals::ByPeople {
            return None;
        }
        let effort = chosen.params.get(EFFORT);
        let because = effort.map(|effort| format!(" at size {effort}")).unwrap_or_default();
        Some(format!("{}{because}: every checkpoint needs a person", self.found.flow.name))
    }

    /// Returns the commands that go on without automatic approvals, or with an effort that can have them.
    fn ways_without_auto(&self, request: &Request, chosen: &Chosen) -> Vec<String> {
        let said = chosen.params.get(EFFORT).map(|effort| ("--effort", effort.as_str()));
        let people = request.said_again(said.as_slice(), &[AUTO, YES, DRY_RUN]);
        let less = self.less_effort(chosen);
        let less = less.map(|less| request.said_again(&[("--effort", &less)], &[DRY_RUN]));
        std::iter::once(people).chain(less).collect()
    }

    /// Returns the largest effort for which checkpoints may pass by themselves.
    fn less_effort(&self, chosen: &Chosen) -> Option<String> {
        let values = &self.found.flow.params.get(EFFORT)?.values;
        let is_free = |value: &&String| {
            let mut params = chosen.params.clone();
            params.insert(EFFORT.to_owned(), (*value).clone());
            !self.found.flow.is_manual(&params)
        };
        values.iter().rev().find(is_free).cloned()
    }
}

/// Returns what would be asked on a terminal, in words.
pub(super) fn would_ask(request: &Request) -> Vec<String> {
    match request.discussion {
        Discussion::First => QUESTIONS.map(str::to_owned).to_vec(),
        Discussion::No => Vec::new(),
    }
}
