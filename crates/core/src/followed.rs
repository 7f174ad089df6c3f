//! What a run means for the records of work that it is about.
//!
//! It is a level, computed from the run alone: the driver moves the records there, and does nothing where they stand
//! there already. Rows and gates are told apart by what they do, not by their names, so that this holds for every pipeline.
//!
//! Not here: whether a record may become that, and by which way ([`crate::work`]).

use crate::task_origin::TaskOrigin;
use crate::{
    event::{End, QuestionReason},
    flow::{BuiltIn, Check, Stage, Work},
    id::Scope,
    item::Item,
    run::{Due, Phase, Run, State, Table, TableStatus, Unit},
    view::{question_text_in, shorten},
    work::{FollowedState, WorkKind, WorkState},
};

/// A record, and the state that a run means for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowedRecord {
    pub kind: WorkKind,
    pub id: String,
    /// Nothing, if the run says nothing about it yet.
    pub to: Option<FollowedState>,
    /// The reason, where it needs a person.
    pub why: Option<String>,
    /// The task of a sprint that the run itself has planned, and that may have no record yet.
    pub planned: Option<Item>,
}

/// The most characters of a question that the reason of an escalation quotes.
const WHY_CHARS_MAX: usize = 300;
/// How a field of a gate ends that is the state of a record.
const STATE_OF_RECORD: &str = ".status";

/// Returns the records that a run is about, and how they stand by it. What comes first can be named by what follows.
pub fn followed(run: &Run) -> Vec<FollowedRecord> {
    if !run.is_started() {
        return Vec::new();
    }
    let Some(about) = &run.definition().start.about else { return Vec::new() };
    // One that was abandoned says nothing any more.
    if *run.phase() == Phase::Over(End::Abandoned) {
        return Vec::new();
    }
    let (stages, root) = run.table(&Scope::root());
    let record = |to| FollowedRecord {
        kind: about.kind,
        id: about.item.id.clone(),
        to,
        why: None,
        planned: None,
    };
    match about.kind {
        WorkKind::Task => {
            let (to, why) = task(run, stages, root);
            vec![FollowedRecord { why, ..record(to) }]
        }
        WorkKind::Bug => vec![record(bug(run, stages, root).map(FollowedState::At))],
        WorkKind::Feature => vec![record(Some(FollowedState::At(WorkState::Active)))],
        WorkKind::Sprint => {
            let mut all = vec![record(sprint(run, stages, root).map(FollowedState::At))];
            all.extend(tasks(run, &about.item.id, stages, root));
            all
        }
    }
}

/// Returns the id of the record that the work in a scope is for: the task of a sprint, or what the run as a whole is about.
pub fn record_for(run: &Run, scope: &Scope) -> Option<String> {
    let start = &run.definition().start;
    let about = start.about.as_ref()?;
    let row = |group: &str| run.definition().flow.stages.iter().find(|stage| stage.name == group);
    let task = scope.steps().next().and_then(|(group, item)| match &row(group)?.work {
        Work::Each { list, .. } => {
            Some(TaskOrigin::new(start, list).record_id(&about.item.id, item))
        }
        Work::Flow { .. }
        | Work::Agent { .. }
        | Work::Command { .. }
        | Work::Deliver { .. }
        | Work::Nothing => None,
    });
    match about.kind {
        WorkKind::Sprint => task.or_else(|| Some(about.item.id.clone())),
        WorkKind::Task | WorkKind::Bug | WorkKind::Feature => Some(about.item.id.clone()),
    }
}

/// Returns the tasks of a sprint.
fn tasks<'r>(
    run: &'r Run,
    sprint: &'r str,
    stages: &'r [Stage],
    root: &'r Table,
) -> impl Iterator<Item = FollowedRecord> + 'r {
    let start = &run.definition().start;
    let each = stages.iter().zip(&root.units).filter_map(move |(stage, unit)| match &stage.work {
        Work::Each { list, stages, .. } => Some((list, stages, unit)),
        Work::Flow { .. }
        | Work::Agent { .. }
        | Work::Command { .. }
        | Work::Deliver { .. }
        | Work::Nothing => None,
    });
    each.flat_map(move |(list, stages, unit)| {
        unit.inner.members().map(move |(item, table)| {
            let (to, why) = task(run, stages, table);
            let origin = TaskOrigin::new(start, list);
            let id = origin.record_id(sprint, &item.id);
            let planned = matches!(origin, TaskOrigin::Planned(_)).then(|| item.clone());
            FollowedRecord { kind: WorkKind::Task, id, to, why, planned }
        })
    })
}

/// Returns how a task stands: by the row that changes code, or by those before it.
fn task(run: &Run, stages: &[Stage], table: &Table) -> (Option<FollowedState>, Option<String>) {
    match needs_person(run, table) {
        Some(PersonNeed::Decision(why)) => {
            return (Some(FollowedState::At(WorkState::Escalated)), Some(why));
        }
        // The record is what has to change first.
        Some(PersonNeed::Readiness) => return (None, None),
        None => {}
    }
    let rows = || stages.iter().zip(&table.units);
    let (mut planned, mut state) = (None, None);
    for (stage, unit) in rows() {
        let (inner, by_row) = (unit.inner.members().next(), row(stage, unit));
        // A pipeline inside of the task is the task.
        if let (Work::Flow { stages, .. }, Some((_, table))) = (&stage.work, inner) {
            return task(run, stages, table);
        }
        if changes_code(stage) {
            state = state.max(by_row.code());
        } else if stage.work.role().is_some() && state.is_none() {
            planned = by_row.plan();
        }
    }
    // Without a change there is nothing to merge.
    let is_done = rows().all(|(_, unit)| matches!(unit.state, State::Accepted | State::Skipped));
    let is_merged = is_done || rows().any(|(_, unit)| unit.landed.is_some());
    let state = if is_merged { Some(WorkState::Committed) } else { state.map(TaskStep::state) };
    (Some(state.or(planned).map_or(FollowedState::Unstopped, FollowedState::At)), None)
}

/// How far the code of a task is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TaskStep {
    SentBack,
    Begun,
    Done,
    Reviewed,
    Approved,
}

impl TaskStep {
    const fn state(self) -> WorkState {
        match self {
            Self::SentBack => WorkState::CodeRevisionRequired,
            Self::Begun => WorkState::Implementing,
            Self::Done => WorkState::Implemented,
            Self::Reviewed => WorkState::ReviewApproved,
            Self::Approved => WorkState::Approved,
        }
    }
}

/// How a row stands, whatever it does.
#[derive(Clone, Copy)]
enum RowStep {
    /// Nothing has happened.
    Waiting,
    /// It is to be worked on again.
    SentBack,
    Working,
    /// After it was sent back.
    WorkingAgain,
    /// Gates look at it; reviews that have passed, and reviews in all.
    Judged {
        passed: usize,
        reviews: usize,
    },
    Accepted,
}

impl RowStep {
    fn plan(self) -> Option<WorkState> {
        match self {
            Self::Waiting | Self::Working => None,
            Self::SentBack | Self::WorkingAgain => Some(WorkState::PlanRevisionRequired),
            Self::Judged { .. } => Some(WorkState::Planned),
            Self::Accepted => Some(WorkState::PlanApproved),
        }
    }

    fn code(self) -> Option<TaskStep> {
        match self {
            Self::Waiting => None,
            Self::SentBack => Some(TaskStep::SentBack),
            Self::Working | Self::WorkingAgain => Some(TaskStep::Begun),
            Self::Judged { passed: 0, .. } => Some(TaskStep::Done),
            Self::Judged { passed, reviews } if passed < reviews => Some(TaskStep::Reviewed),
            Self::Judged { .. } | Self::Accepted => Some(TaskStep::Approved),
        }
    }
}

fn row(stage: &Stage, unit: &Unit) -> RowStep {
    let is_review = |check: &Check| matches!(check, Check::Review { .. });
    match unit.state {
        State::Waiting if unit.due == Due::Again => RowStep::SentBack,
        // Its last attempt came to nothing, and is repeated.
        State::Waiting if unit.fault.is_some() || unit.setbacks > 0 => RowStep::Working,
        State::Waiting | State::Skipped | State::Failed { .. } => RowStep::Waiting,
        State::Working if unit.due == Due::Again => RowStep::WorkingAgain,
        State::Working => RowStep::Working,
        State::Judging { gate, .. } => {
            let reviews = stage.gates.iter().filter(|gate| is_review(&gate.check)).count();
            let before = stage.gates.iter().take(gate);
            let passed = before.filter(|gate| is_review(&gate.check)).count();
            RowStep::Judged { passed, reviews }
        }
        // At a checkpoint; another question is looked at before.
        State::Asking { .. } => RowStep::Judged { passed: 0, reviews: 1 },
        State::Accepted => RowStep::Accepted,
    }
}

/// Returns true if a row says that its work changes code.
pub(crate) fn changes_code(stage: &Stage) -> bool {
    let changes = Check::BuiltIn { check: BuiltIn::Changes };
    stage.gates.iter().any(|gate| gate.check == changes || gate.check == Check::Land)
}

/// The part of a person, without which a task goes no further.
enum PersonNeed {
    /// An answer, or another try.
    Decision(String),
    /// Another state of the record, which a gate as text asks for.
    Readiness,
}

/// Returns what a task needs a person for: a question that no checkpoint asks, or a failure.
fn needs_person(run: &Run, table: &Table) -> Option<PersonNeed> {
    table.units.iter().find_map(|unit| {
        if let Some(need) = unit.inner.members().find_map(|(_, inside)| needs_person(run, inside)) {
            return Some(need);
        }
        match unit.state {
            State::Asking { question } => {
                let asked = run.question(question)?;
                if matches!(asked.why, QuestionReason::Checkpoint { .. }) {
                    return None;
                }
                if let QuestionReason::NotReady { unmet } = &asked.why
                    && unmet.iter().any(|need| need.subject.ends_with(STATE_OF_RECORD))
                {
                    return Some(PersonNeed::Readiness);
                }
                let asks = shorten(&question_text_in(run, asked), WHY_CHARS_MAX);
                let why = format!("question {question} of its run is open: {asks}");
                Some(PersonNeed::Decision(why))
            }
            State::Failed { .. } => {
                Some(PersonNeed::Decision("its run could not finish it".to_owned()))
            }
            State::Waiting
            | State::Working
            | State::Judging { .. }
            | State::Accepted
            | State::Skipped => None,
        }
    })
}

/// A bug is triaged once its list of one is there, and fixed when the run is done with it.
fn bug(run: &Run, stages: &[Stage], root: &Table) -> Option<WorkState> {
    if *run.phase() == Phase::Over(End::Done) && run.has_landed() {
        return Some(WorkState::Fixed);
    }
    let begun = stages.iter().zip(&root.units).any(|(stage, unit)| {
        let is_each = matches!(stage.work, Work::Each { .. });
        (is_each || changes_code(stage)) && unit.attempt > 0
    });
    begun.then_some(WorkState::InProgress)
}

/// A sprint is active once its tasks are begun, and over as its stage of tasks is.
fn sprint(run: &Run, stages: &[Stage], root: &Table) -> Option<WorkState> {
    let each =
        stages.iter().zip(&root.units).find(|(stage, _)| matches!(stage.work, Work::Each { .. }));
    let (_, unit) = each?;
    if unit.attempt == 0 {
        return None;
    }
    if *run.phase() == Phase::Over(End::Done) {
        return Some(WorkState::RetrospectiveDone);
    }
    if unit.state != State::Accepted {
        return Some(WorkState::Active);
    }
    let about = run.definition().start.about.as_ref();
    let is_whole = unit.inner.standings().all(|standing| standing == TableStatus::Closed)
        && about.is_none_or(|about| about.left_out.is_empty());
    Some(if is_whole { WorkState::Completed } else { WorkState::PartiallyCompleted })
}
