//! What can happen in a run. Names are in the past tense, because an event is a fact.
//!
//! These types are the format of the journal: add variants and optional fields, and never
//! change what an old one means. One journal of every released version is kept as a test.

mod start;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Time,
    failure::FaultClass,
    id::{AttemptId, CallId, JudgementId, QuestionId, Scope, UnitId},
    item::Item,
    money::{Money, Spent, Used},
    verdict::{BlockerClass, Finding, Shown, Verdict, VerdictWord},
};

pub use start::{Approvals, CameTo, Coherence, Detail, Limits, Start};

/// All facts of one decision. It is in the journal whole, or it never happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// When it was decided. Never earlier than the record before.
    pub at: Time,
    /// What was decided, in order.
    pub facts: Vec<Event>,
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run began. All that could change under it is frozen here.
    RunStarted(Box<Start>),
    /// Nothing new starts until [`Event::RunResumed`].
    RunHeld {
        /// Why, and what becomes of the calls under way.
        hold: Hold,
    },
    /// Work may start again. A failed run is open again, too.
    RunResumed {
        /// Who wanted it.
        by: Person,
    },
    /// The run may spend this much, all in all.
    BudgetRaised {
        /// The new cap of the run.
        budget: Money,
        /// Who raised it.
        by: Person,
    },
    /// A stage reported the items that a later `each` goes over.
    ItemsListed {
        /// The table in which the list can be seen.
        scope: Scope,
        /// The name of the list.
        list: String,
        /// The items, in order.
        items: Vec<Item>,
    },
    /// The stage does not apply to this run or item.
    UnitSkipped {
        /// Which.
        unit: UnitId,
    },
    /// The gate does not apply to this run or item.
    GateSkipped {
        /// Whose gate.
        unit: UnitId,
        /// Which.
        gate: String,
    },
    /// Intent, written before the work begins, so that a crash can never hide it.
    AttemptStarted {
        /// Which attempt.
        attempt: AttemptId,
        /// What runs outside for it. Nothing for an `each`, a checkpoint, or gates that look first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Call>,
    },
    /// The work ended, in one of the ways work can end.
    AttemptEnded {
        /// Which attempt.
        attempt: AttemptId,
        /// How.
        outcome: Outcome,
        /// What it left behind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Receipt>,
    },
    /// Intent of a gate to look.
    JudgementStarted {
        /// Which look.
        judgement: JudgementId,
        /// What runs outside for it.
        call: Call,
    },
    /// A gate looked.
    Judged {
        /// Which look.
        judgement: JudgementId,
        /// What came of it.
        ruling: Ruling,
        /// What it left behind.
        receipt: Receipt,
    },
    /// A call that no longer mattered ended. Only its price counts.
    CallSettled {
        /// Which call.
        call: CallId,
        /// What it used up.
        spent: Spent,
        /// Who used it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<Used>,
        /// How long it took, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        took_ms: u64,
    },
    /// The gate was passed without a judgement.
    GatePassed {
        /// Whose gate.
        unit: UnitId,
        /// Which.
        gate: String,
        /// By whom.
        by: Approval,
        /// What the reviews of the attempt said together, where nobody was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdict: Option<VerdictWord>,
    },
    /// The gate did not pass, and the unit goes on all the same.
    GateWaived {
        /// Whose gate.
        unit: UnitId,
        /// Which.
        gate: String,
        /// Why.
        why: Waiver,
    },
    /// A person has to choose.
    QuestionAsked(Box<Question>),
    /// A person chose.
    Answered {
        /// Which question.
        question: QuestionId,
        /// What.
        answer: Answer,
        /// In which words. They reach the next brief as they are.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        words: String,
        /// Who.
        by: Person,
    },
    /// The unit goes back to work, and what followed it is reset.
    UnitReopened {
        /// Which.
        unit: UnitId,
        /// Who or what sent it back.
        by: SentBack,
        /// What the next attempt has to deal with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
        /// A person's words to the next attempt.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        words: String,
    },
    /// No gate is left.
    UnitAccepted {
        /// Which.
        unit: UnitId,
    },
    /// The unit will not be tried again by itself.
    UnitFailed {
        /// Which.
        unit: UnitId,
        /// Whether trying again could help.
        kind: FailureKind,
        /// Why.
        reason: String,
    },
    /// The work of a unit is part of the run's result, and is never reopened.
    Landed {
        /// Which unit.
        unit: UnitId,
        /// The commit that landed: the one that was judged.
        commit: String,
        /// The code tree of the run's result with it.
        tree: String,
        /// The run's result with it: that commit itself, or the one that merged it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// Whether the result is another one with it.
        #[serde(default, skip_serializing_if = "Brings::is_something")]
        brings: Brings,
    },
    /// Something that a person should know, and that stops nothing.
    Noticed {
        /// About which unit.
        unit: UnitId,
        /// What.
        what: String,
    },
    /// A person mended something by hand. It counts as an attempt of its own: its gates look at
    /// it, and what read it before is done again.
    Edited {
        /// The attempt that it counts as.
        attempt: AttemptId,
        /// What was changed.
        edit: Edit,
        /// Who.
        by: Person,
        /// Why, in their words.
        why: String,
    },
    /// The facts before this one are shared with another run, which went another way from here.
    RunRewound {
        /// The run that they come from.
        from: String,
        /// The unit that is done anew.
        unit: UnitId,
        /// The branch that the result lands on from here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// Who wanted it.
        by: Person,
    },
    /// Something that must happen once is about to.
    EffectIntended {
        /// By which attempt.
        attempt: AttemptId,
        /// The mark by which the outside world is asked whether it happened already.
        mark: String,
    },
    /// It happened.
    EffectDone {
        /// By which attempt.
        attempt: AttemptId,
        /// The same mark.
        mark: String,
        /// What the outside world calls it, such as an address.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reference: String,
    },
    /// Nothing is left to do.
    RunEnded {
        /// How.
        end: End,
    },
}

/// The content hash of something that is kept outside the journal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Blob(pub String);

/// Who said something, and through which door.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Person {
    /// A name, as the system knows it.
    pub who: String,
    /// `cli`, `tui`, `web`, …
    pub door: String,
}

/// What runs outside for an attempt or a judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// Counted over the whole run, from one. It names the folder; agents choose no paths.
    pub ordinal: u32,
    /// What was held back for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Money>,
}

/// What a call left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// What it used up.
    pub spent: Spent,
    /// Who used it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// At most 500 characters, in its own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What a checkpoint shows of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// The commit that Forge made of it, or that was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The code tree of that commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// What it wrote, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<String, Blob>,
    /// The agent's own session, so that an interrupted attempt can go on in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
    /// The run's result with it, where it landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// What Forge itself ran on the code, and what came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Paths that it changed. A long list is cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// What a person should know about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What a worker found itself and left for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<Finding>,
    /// What Forge saw when it made the commit, and what the gate `changes` objects to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<String>,
}

/// The result of a command that Forge itself ran, bound to the code tree that it ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The command line.
    pub command: String,
    /// The code tree.
    pub tree: String,
    /// Whether it succeeded.
    pub colour: Colour,
    /// How long it took, in milliseconds. Nothing, if it was known already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

/// Whether a command succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Colour {
    /// It did.
    Green,
    /// It did not.
    Red,
}

/// What a person changed by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// An artifact of the unit.
    Artifact {
        /// Its name.
        name: String,
        /// Its new content.
        content: Blob,
    },
    /// The code in the workspace of the unit.
    Code {
        /// The commit that Forge made of it.
        commit: String,
        /// Its code tree.
        tree: String,
    },
}

/// Whether what landed made the run's result another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Brings {
    /// It did.
    #[default]
    Something,
    /// There was nothing to land: the result had all of it already.
    Nothing,
}

impl Brings {
    /// What a run whose result was `before` gets from one that is `after`.
    pub(crate) fn between(before: Option<&str>, after: &str) -> Self {
        if before == Some(after) { Self::Nothing } else { Self::Something }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_something(&self) -> bool {
        *self == Self::Something
    }
}

/// How one attempt at the work ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The worker says it is done. Only the gates say whether it is good.
    Done,
    /// A part is done, and the worker says what is left.
    Partial {
        /// What is left.
        note: String,
    },
    /// The worker cannot go on, and another try would not help.
    Blocked {
        /// What kind of blocker.
        class: BlockerClass,
        /// What it is.
        what: String,
    },
    /// It ended without a result that can be used.
    Fault {
        /// What kind of fault.
        class: FaultClass,
        /// The last lines.
        what: String,
    },
    /// A rate or usage limit. It costs no attempt.
    Limited {
        /// When it can go on.
        until: Time,
        /// Which limit, and whose.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        what: String,
    },
    /// Something else works on the same paths. It costs no attempt.
    Deferred {
        /// When it is looked at again.
        until: Time,
        /// What works on them.
        what: String,
    },
    /// Nobody can say what became of it.
    Lost,
    /// We stopped it. It is nobody's fault.
    Interrupted,
}

/// What came of one look by a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// It has a verdict.
    Verdict(Verdict),
    /// It ended without a verdict that can be used.
    Fault {
        /// What kind of fault.
        class: FaultClass,
        /// The last lines.
        what: String,
    },
    /// There is nothing that could prove it, so it is not proved. Never a pass.
    Unverified {
        /// Why.
        what: String,
        /// Commands that the run itself added and that could prove it, if a person allows them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<String>,
    },
    /// The judge cannot go on, and another look would not help.
    Blocked {
        /// What kind of blocker.
        class: BlockerClass,
        /// What it is.
        what: String,
    },
    /// A rate or usage limit.
    Limited {
        /// When it can go on.
        until: Time,
        /// Which limit, and whose.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        what: String,
    },
    /// Nobody can say what became of it.
    Lost,
    /// We stopped it.
    Interrupted,
}

/// Why a run starts nothing new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// A person wants a pause. What runs may end.
    Paused {
        /// Who.
        by: Person,
    },
    /// A person pressed Ctrl-C. What runs is asked to end.
    Interrupted {
        /// Who.
        by: Person,
    },
    /// A person wants it stopped. What runs is killed.
    Stopped {
        /// Who.
        by: Person,
    },
    /// The run may not spend more. What runs may end.
    OutOfBudget {
        /// Which cap.
        what: String,
    },
    /// Work that is only partly done has no rounds left.
    Unfinished {
        /// Which.
        unit: UnitId,
        /// What is left.
        note: String,
    },
    /// The same failure again and again: a person has to look at the surroundings.
    Escalated {
        /// Which failure.
        what: String,
    },
}

impl Hold {
    /// The word for a run that is held like this.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Paused { .. } => "paused",
            Self::Interrupted { .. } => "interrupted",
            Self::Stopped { .. } => "stopped",
            Self::OutOfBudget { .. } | Self::Unfinished { .. } => "parked",
            Self::Escalated { .. } => "escalated",
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All is good.
    Done,
    /// Something failed. `resume` opens it again.
    Failed,
    /// Something is blocked. `resume` opens it again.
    Blocked,
    /// A person gave it up, for good.
    Abandoned,
}

/// Whether trying a failed unit again could help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// It did not work out.
    Failed,
    /// No attempt can repair it.
    Blocked,
}

/// Who passed a gate without a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// A person, in answer to this question.
    Person {
        /// Which question.
        question: QuestionId,
    },
    /// Nobody: the run says `--auto`, and every review passed without critical findings.
    Automatic,
}

/// Why a gate that did not pass no longer stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiver {
    /// It only gives advice.
    Advisory,
    /// It sent the work back often enough. What it found is noted.
    RoundsUsedUp,
    /// It found no fewer serious things than before. What it found is noted.
    NotShrinking,
    /// It wants changes, and no stage is named that could make them. What it found is noted.
    NothingToRedo,
    /// A person, in answer to this question.
    Person {
        /// Which question.
        question: QuestionId,
    },
}

/// Who or what sent a unit back to work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SentBack {
    /// A gate. This uses up a round.
    Gate {
        /// Whose.
        unit: UnitId,
        /// Which.
        gate: String,
    },
    /// Landing: a conflict, or red after the merge. It happens once.
    Landing,
    /// The worker itself, which did only a part. This uses up a round.
    Partial,
    /// A person, in answer to a question. It uses up nothing.
    Person {
        /// Which question.
        question: QuestionId,
    },
    /// A person opened a failed run again.
    Resumed,
}

/// Something a person has to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Its name.
    pub id: QuestionId,
    /// What it is about.
    pub unit: UnitId,
    /// The gate that it is about, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// Why it is asked.
    pub why: Why,
    /// What can be answered.
    pub options: Vec<Choice>,
}

/// Why a question is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The flow says so.
    Checkpoint {
        /// The flow's words.
        text: String,
    },
    /// The gate sent it back as often as it may.
    RoundsUsedUp,
    /// The gate still finds as much as before.
    NotShrinking,
    /// It has no result that can be used, again and again.
    NoResult {
        /// What kind of failure the last one was, if it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<FaultClass>,
        /// How the last one ended.
        what: String,
    },
    /// It reached its cap, and would spend the same again.
    CapReached {
        /// What it was allowed to spend, where we had a say in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<Money>,
    },
    /// It keeps being lost, interrupted or limited.
    Setbacks {
        /// How often in a row.
        n: u32,
    },
    /// The gate keeps ending without a verdict.
    NoVerdict {
        /// How the last one ended.
        what: String,
    },
    /// The worker or the judge cannot go on.
    Blocked {
        /// What kind of blocker.
        class: BlockerClass,
        /// What it is.
        what: String,
    },
    /// It does not fit to what landed meanwhile, twice.
    DoesNotLand,
    /// What the gate wants changed has landed already.
    LandedAlready,
    /// The gate wants changes, and no stage is named that could make them.
    NothingToRedo,
    /// There is nothing that could prove it.
    Unverified {
        /// Why.
        what: String,
        /// Commands that the run itself added. Approving is allowing them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<String>,
    },
    /// It changes files that guard the project, and a person has to agree.
    Guarded,
}

/// One way to answer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Let it through this one gate.
    Approve,
    /// Send it back with words.
    Revise,
    /// Try again.
    Retry,
    /// Let it through a gate that proves something, by the gate's name.
    Waive,
    /// Fail this unit.
    GiveUp,
}

/// What a person chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Let it through this one gate.
    Approve,
    /// Send it back.
    Revise,
    /// Try again.
    Retry,
    /// Let it through the gate of this name.
    Waive {
        /// The name, said by the person.
        gate: String,
    },
    /// Fail this unit.
    GiveUp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Question {
    /// The commands that this answer allows Forge to run. They were not there when the run began.
    pub fn allows(&self, answer: &Answer) -> &[String] {
        match (&self.why, answer) {
            (Why::Unverified { found, .. }, Answer::Approve) => found,
            (_, _) => &[],
        }
    }
}

impl Answer {
    /// The way to answer that this is.
    pub fn choice(&self) -> Choice {
        match self {
            Self::Approve => Choice::Approve,
            Self::Revise => Choice::Revise,
            Self::Retry => Choice::Retry,
            Self::Waive { .. } => Choice::Waive,
            Self::GiveUp => Choice::GiveUp,
        }
    }
}

impl Choice {
    /// The word a person types.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Revise => "revise",
            Self::Retry => "retry",
            Self::Waive => "waive",
            Self::GiveUp => "give-up",
        }
    }
}

impl Receipt {
    /// Nothing was left behind, and this is what it used up.
    pub fn of(spent: Spent) -> Self {
        Self {
            spent,
            used: None,
            summary: String::new(),
            shown: None,
            commit: None,
            tree: None,
            artifacts: BTreeMap::new(),
            session: None,
            took_ms: 0,
            head: None,
            evidence: Vec::new(),
            changed: Vec::new(),
            notes: Vec::new(),
            found: Vec::new(),
            flaws: Vec::new(),
        }
    }
}
