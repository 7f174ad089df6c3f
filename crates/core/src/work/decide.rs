//! Decides which facts follow from a command, or why it is refused. The only place with rules, together with `file`.

use super::{
    check::{WorkRefusal, WorkRows, parse_state},
    field::{FieldOwner, FieldValue, Fields, rule},
    file::{self, WorkFile},
    id::WorkId,
    import::{self, ImportedRecord, LastImport},
    kind::{WorkKind, WorkState},
    record::{FieldChanges, WorkFact, WorkRecord, difference},
};

/// The most characters of a reason.
pub const REASON_CHARS_MAX: usize = 2_000;

/// A change of one record.
#[derive(Clone, Debug)]
pub enum WorkCommand {
    Create {
        kind: WorkKind,
        /// The id, where a person chose it.
        id: Option<WorkId>,
        /// The beginning of ids that Forge gives.
        prefix: String,
        fields: Fields,
    },
    Set {
        kind: WorkKind,
        id: WorkId,
        changes: Vec<(String, FieldChange)>,
    },
    Move {
        kind: WorkKind,
        id: WorkId,
        to: String,
        why: Option<String>,
    },
    /// Back to the state before `blocked` or `escalated`.
    Unblock {
        kind: WorkKind,
        id: WorkId,
        why: String,
    },
    /// To where a run means it to be.
    Follow {
        kind: WorkKind,
        id: WorkId,
        /// What another one has taken on is not moved.
        run: String,
        to: FollowedState,
        why: Option<String>,
    },
    /// On behalf of a run.
    Take {
        kind: WorkKind,
        id: WorkId,
        run: String,
        /// The run that had it, if that no longer works on it.
        over: Option<String>,
    },
    /// A file that differs from what Forge wrote.
    TakeFile {
        kind: WorkKind,
        id: WorkId,
        file: WorkFile,
        /// The record at the revision that the file names, if there was one.
        base: Option<WorkRecord>,
    },
    /// A record that was read from files of another system.
    Import {
        kind: WorkKind,
        id: WorkId,
        record: ImportedRecord,
        /// The last import of this record, if there was one.
        last: Option<LastImport>,
    },
    /// The next write of its file by an agent's program is not checked.
    AllowWrite {
        kind: WorkKind,
        id: WorkId,
        why: String,
    },
    /// Uses up what was allowed. No fact, if nothing was.
    UseBypass {
        kind: WorkKind,
        id: WorkId,
        path: String,
    },
}

/// The state that a run means for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowedState {
    At(WorkState),
    /// That before it needed a person: nobody is asked any more, and nothing else is to be said yet.
    Unstopped,
}

/// A change of one field.
#[derive(Clone, Debug)]
pub enum FieldChange {
    Set(FieldValue),
    Clear,
    /// Entries of a list.
    Add(Vec<String>),
    Remove(Vec<String>),
}

/// The record that a command is about, and what follows for it.
pub type Decided = (WorkId, Vec<WorkFact>);

/// Times that Forge notes: when a record of a kind is made, and when it enters a state.
const CREATED: &[(WorkKind, &str)] = &[
    (WorkKind::Sprint, "createdAt"),
    (WorkKind::Bug, "reportedAt"),
    (WorkKind::Feature, "created_at"),
];
const ENTERED: &[(WorkState, &str)] = &[
    (WorkState::Completed, "completedAt"),
    (WorkState::PartiallyCompleted, "completedAt"),
    (WorkState::Fixed, "resolvedAt"),
];
const CHANGED: &[(WorkKind, &str)] = &[(WorkKind::Feature, "updated_at")];

/// Decides which facts follow from a command at a time, which is written as in a file.
pub fn decide(rows: &WorkRows, command: &WorkCommand, now: &str) -> Result<Decided, WorkRefusal> {
    match command {
        WorkCommand::Create { kind, id, prefix, fields } => {
            let id = match id {
                Some(id) => id.clone(),
                None => next_id(rows, *kind, prefix, fields)?,
            };
            refuse_people(*kind, fields.keys())?;
            let created = (kind.first_state(), fields.clone(), None);
            let fact = create(rows, *kind, &id, created, now)?;
            Ok((id, vec![fact]))
        }
        WorkCommand::Set { kind, id, changes } => {
            let record = rows.find(*kind, id)?;
            refuse_people(*kind, changes.iter().map(|(name, _)| name))?;
            let mut fields = record.fields.clone();
            for (name, change) in changes {
                change_field(&mut fields, name, change)?;
            }
            rows.check(*kind, &record.id, &mut fields)?;
            let changes = difference(&record.fields, &fields);
            let facts = if changes.is_empty() {
                Vec::new()
            } else {
                vec![WorkFact::FieldsSet { fields: stamped(CHANGED, *kind, changes, now) }]
            };
            Ok((record.id.clone(), facts))
        }
        WorkCommand::Move { kind, id, to, why } => {
            let record = rows.find(*kind, id)?;
            let to = parse_state(*kind, to)?;
            if to == record.state {
                return Ok((record.id.clone(), Vec::new()));
            }
            if !kind.next_states(record.state).contains(&to) {
                return Err(WorkRefusal::illegal(record, to));
            }
            if to.is_stop() && why.is_none() {
                return Err(WorkRefusal::NeedsReason { id: record.id.clone(), to });
            }
            Ok((record.id.clone(), vec![moved(record, to, why.as_deref(), now)?]))
        }
        WorkCommand::Unblock { kind, id, why } => {
            let record = rows.find(*kind, id)?;
            let Some(to) = record.left else {
                let state = record.state;
                return Err(WorkRefusal::NotBlocked { id: record.id.clone(), state });
            };
            Ok((record.id.clone(), vec![moved(record, to, Some(why), now)?]))
        }
        WorkCommand::Follow { kind, id, run, to, why } => {
            let record = rows.find(*kind, id)?;
            let is_own = record.run.as_ref().is_none_or(|has| has == run);
            let facts = if is_own { follow(record, *to, why.as_deref(), now)? } else { Vec::new() };
            Ok((record.id.clone(), facts))
        }
        WorkCommand::Take { kind, id, run, over } => {
            let record = rows.find(*kind, id)?;
            let facts = match &record.run {
                Some(has) if has == run => Vec::new(),
                Some(has) if over.as_ref() != Some(has) => {
                    let (id, run) = (record.id.clone(), has.clone());
                    return Err(WorkRefusal::TakenBy { id, run });
                }
                Some(_) | None => vec![WorkFact::Taken { run: run.clone() }],
            };
            Ok((record.id.clone(), facts))
        }
        WorkCommand::TakeFile { kind, id, file, base } => {
            if rows.records.contains_key(id) {
                let record = rows.find(*kind, id)?;
                let fact = file::take(rows, record, file, base.as_ref())?;
                return Ok((record.id.clone(), fact.into_iter().collect()));
            }
            let state = file::first_state(*kind, file)?;
            let created = (state, file.fields.clone(), file.rev);
            let fact = create(rows, *kind, id, created, now)?;
            Ok((id.clone(), vec![fact]))
        }
        WorkCommand::Import { kind, id, record, last } => {
            let fact = import::take(rows, (*kind, id), record, last.as_ref())?;
            let id = rows.records.get(id).map_or(id, |known| &known.id);
            Ok((id.clone(), fact.into_iter().collect()))
        }
        WorkCommand::AllowWrite { kind, id, why } => {
            let record = rows.find(*kind, id)?;
            let fact = WorkFact::WriteAllowed { why: reason(why)?.to_owned() };
            Ok((record.id.clone(), vec![fact]))
        }
        WorkCommand::UseBypass { kind, id, path } => {
            let record = rows.find(*kind, id)?;
            let fact = record.allowed.as_ref().map(|_| WorkFact::Bypassed { path: path.clone() });
            Ok((record.id.clone(), fact.into_iter().collect()))
        }
    }
}

impl WorkCommand {
    /// Returns the record that exists already, or is to have this id.
    pub fn id(&self) -> Option<&WorkId> {
        match self {
            Self::Create { id, .. } => id.as_ref(),
            Self::Set { id, .. }
            | Self::Move { id, .. }
            | Self::Unblock { id, .. }
            | Self::Follow { id, .. }
            | Self::Take { id, .. }
            | Self::TakeFile { id, .. }
            | Self::Import { id, .. }
            | Self::AllowWrite { id, .. }
            | Self::UseBypass { id, .. } => Some(id),
        }
    }

    /// Returns the fields that it brings, as far as they can name records.
    pub fn fields(&self) -> Fields {
        match self {
            Self::Create { fields, .. } => fields.clone(),
            Self::TakeFile { file, .. } => file.fields.clone(),
            Self::Import { record, .. } => record.fields.clone(),
            Self::Set { changes, .. } => {
                let value = |change: &FieldChange| match change {
                    FieldChange::Set(value) => Some(value.clone()),
                    FieldChange::Add(entries) => Some(list(entries)),
                    FieldChange::Clear | FieldChange::Remove(_) => None,
                };
                let values = changes.iter();
                values.filter_map(|(name, change)| Some((name.clone(), value(change)?))).collect()
            }
            Self::Move { .. }
            | Self::Unblock { .. }
            | Self::Follow { .. }
            | Self::Take { .. }
            | Self::AllowWrite { .. }
            | Self::UseBypass { .. } => Fields::new(),
        }
    }

    /// Returns the kind of its record.
    pub const fn kind(&self) -> WorkKind {
        match self {
            Self::Create { kind, .. }
            | Self::Set { kind, .. }
            | Self::Move { kind, .. }
            | Self::Unblock { kind, .. }
            | Self::Follow { kind, .. }
            | Self::Take { kind, .. }
            | Self::TakeFile { kind, .. }
            | Self::Import { kind, .. }
            | Self::AllowWrite { kind, .. }
            | Self::UseBypass { kind, .. } => *kind,
        }
    }
}

fn create(
    rows: &WorkRows,
    kind: WorkKind,
    id: &WorkId,
    (state, mut fields, rev): (WorkState, Fields, Option<u64>),
    now: &str,
) -> Result<WorkFact, WorkRefusal> {
    if rows.records.contains_key(id) || rows.ids.contains(id) {
        return Err(WorkRefusal::IdTaken { id: id.clone() });
    }
    for (_, name) in CREATED.iter().filter(|(stamped, _)| *stamped == kind) {
        fields.entry((*name).to_owned()).or_insert_with(|| FieldValue::Text(now.to_owned()));
    }
    rows.check(kind, id, &mut fields)?;
    Ok(WorkFact::Created { kind, state, fields, rev })
}

/// Returns the next id: `PREFIX-S01`, `SPRINT-T01`, `PREFIX-BUG-001` or `FEAT-001`.
fn next_id(
    rows: &WorkRows,
    kind: WorkKind,
    prefix: &str,
    fields: &Fields,
) -> Result<WorkId, WorkRefusal> {
    let (stem, digits) = match kind {
        WorkKind::Feature => ("FEAT-".to_owned(), 3),
        WorkKind::Sprint => (format!("{prefix}-S"), 2),
        WorkKind::Bug => (format!("{prefix}-BUG-"), 3),
        WorkKind::Task => {
            let named = fields.get("sprintId").and_then(FieldValue::as_text);
            let Some(named) = named else {
                let rule = "is missing; it is the id of a sprint";
                return Err(WorkRefusal::field("sprintId", rule));
            };
            let id = named.parse().map_err(|error| {
                WorkRefusal::field("sprintId", format!("cannot be used: {error}"))
            })?;
            (format!("{}-T", rows.find(WorkKind::Sprint, &id)?.id), 2)
        }
    };
    WorkId::next(&stem, digits, rows.ids.iter()).map_err(WorkRefusal::NoIdLeft)
}

/// Refuses fields that are unknown, or that people do not set.
fn refuse_people<'a>(
    kind: WorkKind,
    names: impl Iterator<Item = &'a String>,
) -> Result<(), WorkRefusal> {
    for name in names {
        match rule(kind, name).map(|rule| rule.owner) {
            Some(FieldOwner::Required | FieldOwner::Optional) => {}
            Some(FieldOwner::Forge) => return Err(WorkRefusal::field(name, "is set by Forge")),
            Some(FieldOwner::Derived) => {
                return Err(WorkRefusal::field(name, "follows from other records"));
            }
            None => return Err(WorkRefusal::UnknownField { kind, field: name.clone() }),
        }
    }
    Ok(())
}

fn change_field(fields: &mut Fields, name: &str, change: &FieldChange) -> Result<(), WorkRefusal> {
    let texts = |fields: &Fields| -> Vec<String> {
        fields.get(name).into_iter().flat_map(FieldValue::texts).map(str::to_owned).collect()
    };
    match change {
        FieldChange::Set(value) => {
            fields.insert(name.to_owned(), value.clone());
        }
        FieldChange::Clear => {
            fields.remove(name);
        }
        FieldChange::Add(entries) => {
            let mut all = texts(fields);
            all.extend(entries.iter().filter(|entry| !texts(fields).contains(entry)).cloned());
            fields.insert(name.to_owned(), list(&all));
        }
        FieldChange::Remove(entries) => {
            let mut all = texts(fields);
            for entry in entries {
                let Some(at) = all.iter().position(|text| text.eq_ignore_ascii_case(entry)) else {
                    return Err(WorkRefusal::field(name, format!("has no entry `{entry}`")));
                };
                all.remove(at);
            }
            if all.is_empty() {
                fields.remove(name);
            } else {
                fields.insert(name.to_owned(), list(&all));
            }
        }
    }
    Ok(())
}

/// Checks a reason that a person gave.
fn reason(why: &str) -> Result<&str, WorkRefusal> {
    let why = why.trim();
    let chars = why.chars().count();
    if (1..=REASON_CHARS_MAX).contains(&chars) {
        return Ok(why);
    }
    let rule = format!("has {chars} characters; 1 to {REASON_CHARS_MAX} are allowed");
    Err(WorkRefusal::field("why", rule))
}

fn moved(
    record: &WorkRecord,
    to: WorkState,
    why: Option<&str>,
    now: &str,
) -> Result<WorkFact, WorkRefusal> {
    let why = why.map(reason).transpose()?;
    let entered = ENTERED.iter().filter(|(state, _)| *state == to);
    let times = entered.map(|(_, name)| ((*name).to_owned(), Some(FieldValue::Text(now.into()))));
    let fields = stamped(CHANGED, record.kind, times.collect(), now);
    Ok(WorkFact::Moved { from: record.state, to, why: why.map(str::to_owned), fields })
}

/// Returns the moves that lead a record to where a run means it to be, each of them legal. What a person blocked, or what is
/// at its end, stays: a person's move counts more than a run's. So does a record to which no way leads.
fn follow(
    record: &WorkRecord,
    to: FollowedState,
    why: Option<&str>,
    now: &str,
) -> Result<Vec<WorkFact>, WorkRefusal> {
    if record.state == WorkState::Blocked {
        return Ok(Vec::new());
    }
    let mut facts = Vec::new();
    let mut at = record.clone();
    let mut step = |at: &mut WorkRecord, to, why: Option<&str>| -> Result<(), WorkRefusal> {
        let fact = moved(at, to, why, now)?;
        *at = WorkRecord::apply(Some(at.clone()), &at.id, &fact);
        facts.push(fact);
        Ok(())
    };
    if let (WorkState::Escalated, Some(left)) = (at.state, at.left)
        && to != FollowedState::At(WorkState::Escalated)
    {
        step(&mut at, left, None)?;
    }
    let FollowedState::At(to) = to else { return Ok(facts) };
    for next in way(at.kind, at.state, to) {
        step(&mut at, next, why.filter(|_| next.is_stop()))?;
    }
    // Where it was stopped is where it stays, unless it gets to where it is meant to be.
    Ok(if at.state == to { facts } else { Vec::new() })
}

/// Returns the shortest way from one state to another, by way of none in which a record is stopped or given up.
fn way(kind: WorkKind, from: WorkState, to: WorkState) -> Vec<WorkState> {
    let mut ways = vec![(from, Vec::new())];
    let mut next = 0;
    while let Some((at, way)) = ways.get(next).cloned() {
        if at == to {
            return way;
        }
        next += 1;
        for follows in kind.next_states(at) {
            let ends = follows.is_stop() || *follows == kind.retired_state();
            let is_known = ways.iter().any(|(known, _)| known == follows);
            if !is_known && (!ends || *follows == to) {
                let mut way = way.clone();
                way.push(*follows);
                ways.push((*follows, way));
            }
        }
    }
    Vec::new()
}

/// Adds the times that Forge notes for a kind.
fn stamped(
    table: &[(WorkKind, &str)],
    kind: WorkKind,
    mut changes: FieldChanges,
    now: &str,
) -> FieldChanges {
    for (_, name) in table.iter().filter(|(stamped, _)| *stamped == kind) {
        changes.insert((*name).to_owned(), Some(FieldValue::Text(now.to_owned())));
    }
    changes
}

fn list(entries: &[String]) -> FieldValue {
    FieldValue::List(entries.iter().map(|entry| FieldValue::Text(entry.clone())).collect())
}
