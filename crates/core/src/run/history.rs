//! What happened in a run, as far as a summary needs it: calls, what was sent back, questions
//! and answers, waivers, landings, deliveries. Where the run stands is in `run.rs`; what to say
//! about the story is in `view/summary.rs`.
//!
//! Invariant: copying a story is cheap, however long it is: only the last few entries of a log
//! are not shared.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    Time,
    event::{
        Answer, Approval, Call, Coherence, Edit, Event, FailureKind, Hold, Outcome, Person,
        Question, Receipt, Remark, ResultChange, Ruling, SentBack, SettingsChange, TriageOutcome,
        Waiver,
    },
    id::{AttemptId, CallId, QuestionId, Scope, UnitId},
    money::{Spent, Used},
    routing::{Route, Wish},
    verdict::Finding,
};

/// Entries of a log that are copied together.
const CHUNK_ENTRIES: usize = 32;

/// The name under which the triage of the request is counted.
pub(crate) const COHERENCE: &str = "coherence";

/// A log of a run, in order.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Calls that have ended, the triage of the request first.
    pub calls: SharedLog<EndedCall>,
    /// Units that went back to work.
    pub sent_back: SharedLog<ReopenedUnit>,
    /// Questions, and their answers.
    pub asked: SharedLog<AskedQuestion>,
    /// Gates that passed without a judgement.
    pub passed: SharedLog<PassedGate>,
    /// Gates that were waived.
    pub waived: SharedLog<WaivedGate>,
    /// When nothing new was started, and why.
    pub held: SharedLog<(Time, Hold)>,
    /// Units that failed, and why.
    pub failed: SharedLog<FailedUnit>,
    /// Units that became part of the result.
    pub landed: SharedLog<LandedUnit>,
    /// Manual changes by persons.
    pub edited: SharedLog<ManualEdit>,
    /// Changes of the settings, with who made them.
    pub settings: SharedLog<(SettingsChange, Person)>,
    /// Effects outside that happened once.
    pub done: SharedLog<DoneEffect>,
    /// Notes for the person, in the order of the facts.
    pub notes: SharedLog<RunNote>,
    /// What agents wanted others to know, with their units.
    pub remarks: SharedLog<(UnitId, Remark)>,
}

/// Something that the person should know.
#[derive(Clone, Debug)]
pub enum RunNote {
    /// A call noted it; each attempt may note the same.
    Call { unit: UnitId, what: String },
    /// Forge noticed it.
    Noticed { unit: UnitId, what: String },
    /// Somebody changed a unit's work.
    Edited { unit: UnitId, by: Person, why: String },
    /// Somebody changed the settings.
    Settings { change: SettingsChange, by: Person },
}

/// A list that grows at its end.
#[derive(Clone, Debug)]
pub struct SharedLog<T> {
    full: Vec<Arc<Vec<T>>>,
    last: Vec<T>,
}

/// A call that has ended.
#[derive(Clone, Debug)]
pub struct EndedCall {
    pub call: CallId,
    /// The number of its folder.
    pub ordinal: u32,
    pub at: Time,
    pub ending: CallEnding,
    pub spent: Spent,
    pub used: Option<Used>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// The agent's own session.
    pub session: Option<String>,
    /// What it wanted of its agent. The fact that ends it does not say.
    pub wish: Option<Wish>,
    pub route: Option<Route>,
}

/// The ending of a call.
#[derive(Clone, Debug)]
pub enum CallEnding {
    /// It was work.
    Work(Outcome),
    /// It was a look.
    Look(Ruling),
    /// It was the triage of the request, before the run began.
    Triage(TriageOutcome),
    /// It no longer mattered.
    Overtaken,
}

impl CallEnding {
    /// Returns true if what it left may be good, and only lacks the form that it must have.
    pub fn is_form_error(&self) -> bool {
        match self {
            Self::Work(Outcome::Fault { class, .. }) | Self::Look(Ruling::Fault { class, .. }) => {
                class.is_about_form()
            }
            Self::Work(_) | Self::Look(_) | Self::Triage(_) | Self::Overtaken => false,
        }
    }
}

/// A unit that went back to work.
#[derive(Clone, Debug)]
pub struct ReopenedUnit {
    pub unit: UnitId,
    pub by: SentBack,
    pub findings: Vec<Finding>,
}

/// A question, and what was answered.
#[derive(Clone, Debug)]
pub struct AskedQuestion {
    /// When it was asked.
    pub at: Time,
    pub question: Question,
    /// The answer, if there is one.
    pub answer: Option<GivenAnswer>,
}

/// An answer to a question, with its place in the run.
#[derive(Clone, Debug)]
pub struct GivenAnswer {
    pub at: Time,
    pub answer: Answer,
    pub words: String,
    pub by: Person,
}

/// A gate that passed without a judgement.
#[derive(Clone, Debug)]
pub struct PassedGate {
    pub at: Time,
    pub unit: UnitId,
    pub gate: String,
    pub by: Approval,
}

/// A gate that was waived.
#[derive(Clone, Debug)]
pub struct WaivedGate {
    pub unit: UnitId,
    pub gate: String,
    pub why: Waiver,
}

/// A unit that failed.
#[derive(Clone, Debug)]
pub struct FailedUnit {
    pub at: Time,
    pub unit: UnitId,
    pub kind: FailureKind,
    pub reason: String,
}

/// A unit that became part of the result.
#[derive(Clone, Debug)]
pub struct LandedUnit {
    pub unit: UnitId,
    /// The commit that was judged.
    pub commit: String,
    /// The code tree of the result with it.
    pub tree: String,
    pub brings: ResultChange,
}

/// A manual change by a person.
#[derive(Clone, Debug)]
pub struct ManualEdit {
    pub unit: UnitId,
    pub edit: Edit,
    pub by: Person,
    /// Why, in their words.
    pub why: String,
}

/// An effect outside that happened once.
#[derive(Clone, Debug)]
pub struct DoneEffect {
    pub attempt: AttemptId,
    /// The name of the effect outside, such as a URL.
    pub reference: String,
}

impl EndedCall {
    /// Returns the call that a fact ends, if it ends one. `ordinal` is the number of its folder.
    pub fn from_event(event: &Event, at: Time, ordinal: u32) -> Option<Self> {
        let ending = if let Event::AttemptEnded { outcome, .. } = event {
            CallEnding::Work(outcome.clone())
        } else if let Event::Judged { ruling, .. } = event {
            CallEnding::Look(ruling.clone())
        } else if let Event::CallSettled { call, spent, used, took_ms } = event {
            let (call, ending, used) = (call.clone(), CallEnding::Overtaken, used.clone());
            let (spent, took_ms) = (*spent, *took_ms);
            return Some(Self {
                call,
                ordinal,
                at,
                ending,
                spent,
                used,
                took_ms,
                session: None,
                wish: None,
                route: None,
            });
        } else if let Event::RunStarted(start) = event {
            return start.coherence.as_ref().map(|triage| Self::from_triage(triage, 1, at));
        } else {
            return None;
        };
        let receipt = event.receipt()?;
        Some(Self {
            call: event.call()?,
            ordinal,
            at,
            ending,
            spent: receipt.spent,
            used: receipt.used.clone(),
            took_ms: receipt.took_ms,
            session: receipt.session.clone(),
            wish: None,
            route: receipt.route,
        })
    }

    /// Returns the triage of a request as a call. Their numbers distinguish those after which no run began.
    pub(crate) fn from_triage(triage: &Coherence, number: u32, at: Time) -> Self {
        Self {
            call: CallId::Attempt(Scope::root().unit(COHERENCE).attempt(number)),
            ordinal: 0,
            at,
            ending: CallEnding::Triage(triage.came_to),
            spent: triage.spent,
            used: triage.used.clone(),
            took_ms: triage.took_ms,
            session: None,
            wish: None,
            route: None,
        }
    }
}

impl<T> Default for SharedLog<T> {
    fn default() -> Self {
        Self { full: Vec::new(), last: Vec::new() }
    }
}

impl<T> SharedLog<T> {
    /// Returns all entries, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.full.iter().flat_map(|chunk| chunk.iter()).chain(&self.last)
    }

    /// Returns the newest entry.
    pub fn newest(&self) -> Option<&T> {
        self.iter().next_back()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.full.len() * CHUNK_ENTRIES + self.last.len()
    }

    /// Returns true for a log without entries.
    pub fn is_empty(&self) -> bool {
        self.full.is_empty() && self.last.is_empty()
    }

    fn push(&mut self, entry: T) {
        self.last.push(entry);
        if self.last.len() == CHUNK_ENTRIES {
            self.full.push(Arc::new(std::mem::take(&mut self.last)));
        }
    }
}

impl<T: Clone> SharedLog<T> {
    /// Returns the newest entry that fits, to be changed.
    fn newest_mut(&mut self, fits: impl Fn(&T) -> bool) -> Option<&mut T> {
        if let Some(position) = self.last.iter().rposition(&fits) {
            return self.last.get_mut(position);
        }
        let chunk = self.full.iter_mut().rev().find(|chunk| chunk.iter().any(&fits))?;
        Arc::make_mut(chunk).iter_mut().rev().find(|entry| fits(entry))
    }
}

impl History {
    /// Adds one fact. A fact that no summary needs copies nothing. `ended` is the call that it ends.
    pub(super) fn record(history: &mut Arc<Self>, at: Time, event: &Event, ended: Option<&Call>) {
        match event {
            Event::RunStarted(_)
            | Event::AttemptEnded { .. }
            | Event::Judged { .. }
            | Event::CallSettled { .. } => {
                let ordinal = ended.map(|call| call.ordinal).unwrap_or_default();
                if let Some(mut call) = EndedCall::from_event(event, at, ordinal) {
                    call.wish = ended.and_then(|call| call.wish);
                    Arc::make_mut(history).calls.push(call);
                }
                let Some(Receipt { remarks, notes, .. }) = event.receipt() else { return };
                for remark in remarks {
                    let unit = event.unit().expect("a receipt is about a unit");
                    Arc::make_mut(history).remarks.push((unit, remark.clone()));
                }
                for what in notes {
                    let unit = event.unit().expect("a receipt is about a unit");
                    let note = RunNote::Call { unit, what: what.clone() };
                    Arc::make_mut(history).notes.push(note);
                }
            }
            Event::UnitReopened { unit, by, findings, .. } => {
                let (unit, by, findings) = (unit.clone(), by.clone(), findings.clone());
                Arc::make_mut(history).sent_back.push(ReopenedUnit { unit, by, findings });
            }
            Event::QuestionAsked(question) => {
                let question = question.as_ref().clone();
                Arc::make_mut(history).asked.push(AskedQuestion { at, question, answer: None });
            }
            Event::Answered { question, answer, words, by } => {
                let said = GivenAnswer {
                    at,
                    answer: answer.clone(),
                    words: words.clone(),
                    by: by.clone(),
                };
                let asked = &mut Arc::make_mut(history).asked;
                if let Some(asked) = asked.newest_mut(|asked| asked.question.id == *question) {
                    asked.answer = Some(said);
                }
            }
            Event::GatePassed { unit, gate, by, .. } => {
                let (unit, gate, by) = (unit.clone(), gate.clone(), *by);
                Arc::make_mut(history).passed.push(PassedGate { at, unit, gate, by });
            }
            Event::GateWaived { unit, gate, why } => {
                let (unit, gate, why) = (unit.clone(), gate.clone(), *why);
                Arc::make_mut(history).waived.push(WaivedGate { unit, gate, why });
            }
            Event::RunHeld { hold } => Arc::make_mut(history).held.push((at, hold.clone())),
            Event::UnitFailed { unit, kind, reason } => {
                let (unit, kind, reason) = (unit.clone(), *kind, reason.clone());
                Arc::make_mut(history).failed.push(FailedUnit { at, unit, kind, reason });
            }
            Event::Landed { unit, commit, tree, brings, .. } => {
                let (unit, commit, tree) = (unit.clone(), commit.clone(), tree.clone());
                let landing = LandedUnit { unit, commit, tree, brings: *brings };
                Arc::make_mut(history).landed.push(landing);
            }
            Event::Edited { attempt, edit, by, why } => {
                let (unit, edit) = (attempt.unit.clone(), edit.clone());
                let (by, why) = (by.clone(), why.clone());
                let history = Arc::make_mut(history);
                let note = RunNote::Edited { unit: unit.clone(), by: by.clone(), why: why.clone() };
                history.notes.push(note);
                history.edited.push(ManualEdit { unit, edit, by, why });
            }
            Event::SettingsChanged { change, by } => {
                let (change, by) = (change.as_ref().clone(), by.clone());
                let history = Arc::make_mut(history);
                let note = RunNote::Settings { change: change.clone(), by: by.clone() };
                history.notes.push(note);
                history.settings.push((change, by));
            }
            Event::EffectDone { attempt, reference, .. } => {
                let (attempt, reference) = (attempt.clone(), reference.clone());
                Arc::make_mut(history).done.push(DoneEffect { attempt, reference });
            }
            Event::Noticed { unit, what } => Self::note(history, unit, what.clone()),
            Event::ItemsLeft { unit, items } => Self::note(history, unit, items_left(items)),
            Event::RunResumed { .. }
            | Event::CallAssigned { .. }
            | Event::WorkPassedOn { .. }
            | Event::BudgetRaised { .. }
            | Event::ItemsListed { .. }
            | Event::NeedsAsked { .. }
            | Event::NeedsMet { .. }
            | Event::UnitSkipped { .. }
            | Event::GateSkipped { .. }
            | Event::PathsWanted { .. }
            | Event::PathsTaken { .. }
            | Event::PathsClaimed { .. }
            | Event::AttemptStarted { .. }
            | Event::JudgementStarted { .. }
            | Event::UnitAccepted { .. }
            | Event::RunRewound { .. }
            | Event::EndingKeyAdded { .. }
            | Event::EffectIntended { .. }
            | Event::RunEnded { .. } => {}
        }
    }

    fn note(history: &mut Arc<Self>, unit: &UnitId, what: String) {
        Arc::make_mut(history).notes.push(RunNote::Noticed { unit: unit.clone(), what });
    }

    /// Returns the gates that a person waived, with what they said. An answer that later gates follow is one.
    pub fn waived_by_persons(&self) -> impl Iterator<Item = (&WaivedGate, Option<&GivenAnswer>)> {
        let mut known = BTreeSet::new();
        self.waived.iter().filter_map(move |waived| {
            let Waiver::Person { question } = waived.why else { return None };
            known.insert(question).then_some(())?;
            Some((waived, self.question(question).and_then(|asked| asked.answer.as_ref())))
        })
    }

    /// Returns a question that was asked, with its answer.
    pub fn question(&self, id: QuestionId) -> Option<&AskedQuestion> {
        self.asked.iter().rev().find(|asked| asked.question.id == id)
    }
}

/// Returns what a person is told of items that are left.
pub(crate) fn items_left(items: &[String]) -> String {
    format!("not finished, and not in the result: {}", items.join(", "))
}
