//! The recorded verdict of a phase of a run, or of the run that last worked on a record; and which phase a person means.

use std::{collections::BTreeSet, fmt::Write as _};

use forge_core::{
    Run,
    flow::{Check, Directive, Gate, Stage, Work},
    id::{Scope, UnitId, gate_label, is_meant},
    needs::record_of_unit,
    phase_verdict::phase_verdict,
    run::{State, Unit},
    verdict::PhaseVerdict,
    work::{WorkId, WorkKind, WorkRecord},
};
use forge_driver::{Error, run_id::short_id};
use forge_project::suggest::nearest;

use crate::{forge::Forge, start::quoted};

/// The most phases that an error names.
const NAMED_MAX: usize = 12;

/// What a person means by the name of a run or record.
pub(crate) enum VerdictTarget {
    /// A run, and the task of it that the record is.
    Run { id: String, task: Option<String> },
    /// A record that no run has worked on.
    Record(Box<WorkRecord>),
}

/// The verdict of a phase, and why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedVerdict {
    pub verdict: PhaseVerdict,
    pub why: Option<String>,
}

/// A phase of a run: the work of a unit, or a gate of it.
pub(crate) struct FoundPhase {
    pub unit: UnitId,
    pub gate: Option<String>,
    /// The name by which a person can tell it from all others, such as `T1/review`.
    pub name: String,
}

/// What a person means by the name of a phase.
pub(crate) enum AskedPhase {
    Found(FoundPhase),
    /// A phase of a task that is in the list of the run, and that the run has not begun.
    NotBegun {
        task: String,
        record: Option<WorkId>,
        needs: Vec<Directive>,
    },
}

/// A unit or a gate of it, in a list of them.
type PhasePlace = (UnitId, Option<String>);

impl Forge {
    /// Returns the verdict of a phase: a review or another gate by its name, or a stage.
    pub fn verdict(&self, target: &str, phase: &str) -> Result<RecordedVerdict, Error> {
        let (target, phase) = self.in_order(target, phase);
        match self.target(target, &|id| format!("forge verdict {id} {}", quoted(phase)))? {
            VerdictTarget::Run { id, task } => {
                let (run, _) = self.fold(&id)?;
                let query = PhaseQuery { command: "verdict", target, task: task.as_deref(), phase };
                match query.find(&run, &id)? {
                    AskedPhase::Found(found) => Ok(recorded(&run, &id, &found)),
                    AskedPhase::NotBegun { task, .. } => Ok(RecordedVerdict {
                        verdict: PhaseVerdict::Unknown,
                        why: Some(format!("{task} has not begun")),
                    }),
                }
            }
            VerdictTarget::Record(record) => {
                let next = format!("forge run {}", record.id);
                Err(Error::usage(format!("no run has worked on `{}` yet", record.id), next))
            }
        }
    }

    /// Puts the run or record first and the phase second, where they were typed in the other order.
    pub(crate) fn in_order<'t>(&self, first: &'t str, second: &'t str) -> (&'t str, &'t str) {
        let (first, second) = (first.trim(), second.trim());
        // Of two unknown names, the one with a number is more like an id.
        let has_number = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
        let is_swapped = match (self.is_target(first), self.is_target(second)) {
            (true, _) => false,
            (false, true) => true,
            (false, false) => has_number(second) && !has_number(first),
        };
        if is_swapped { (second, first) } else { (first, second) }
    }

    /// Returns true for the name of a run, or of a record that is known.
    fn is_target(&self, text: &str) -> bool {
        let is_record = |id: &WorkId| {
            let records = self.work_to_read().ok().flatten();
            records.is_some_and(|records| matches!(records.known(id), Ok(Some(_))))
        };
        text.parse().is_ok_and(|id: WorkId| is_record(&id)) || self.resolve(text).is_ok()
    }

    /// Returns the run that is meant, and the task of it, if it is a record. Where several records could be meant, the error has
    /// a command for each.
    pub(crate) fn target(
        &self,
        target: &str,
        command: &dyn Fn(&WorkId) -> String,
    ) -> Result<VerdictTarget, Error> {
        let run = |id: String, task: Option<String>| VerdictTarget::Run { id, task };
        let id: Option<WorkId> = target.trim().parse().ok();
        let records = if id.is_some() { self.work_to_read()? } else { None };
        let (Some(id), Some(mut records)) = (id, records) else {
            return Ok(run(self.resolve(target)?, None));
        };
        let found = match records.find(&id)? {
            Some(record) => Some(record),
            None => match self.resolve(target) {
                Ok(known) => return Ok(run(known, None)),
                Err(_) => records.find_by_end(target, command)?,
            },
        };
        let record = found.ok_or_else(|| {
            Error::usage(format!("there is no record or run `{id}`"), "forge task list")
        })?;
        if let Some(own) = &record.run {
            let is_task = record.kind == WorkKind::Task
                && self
                    .fold(own)?
                    .0
                    .definition()
                    .start
                    .about
                    .as_ref()
                    .is_some_and(|about| about.kind == WorkKind::Sprint);
            return Ok(run(own.clone(), is_task.then(|| record.id.to_string())));
        }
        let sprint = match record.kind {
            WorkKind::Task => sprint_of(&record).map(|sprint| records.find(&sprint)).transpose()?,
            WorkKind::Sprint | WorkKind::Bug | WorkKind::Feature => None,
        };
        let task = record.id.to_string();
        let of_sprint = sprint.flatten().and_then(|sprint| sprint.run);
        if let Some(id) = of_sprint {
            let (sprint_run, _) = self.fold(&id)?;
            let units = sprint_run.units();
            if units.iter().any(|(unit, _, _)| is_of_task(&sprint_run, unit, &task)) {
                return Ok(run(id, Some(task)));
            }
        }
        Ok(VerdictTarget::Record(Box::new(record)))
    }
}

/// A phase that a person asks for: `[TASK/][STAGE/]NAME`.
pub(crate) struct PhaseQuery<'q> {
    /// The command that asks, for the one that helps.
    pub command: &'q str,
    pub target: &'q str,
    /// The task that the target is.
    pub task: Option<&'q str>,
    pub phase: &'q str,
}

impl PhaseQuery<'_> {
    /// Returns the only phase that is meant.
    pub(crate) fn find(&self, run: &Run, id: &str) -> Result<AskedPhase, Error> {
        let (parts, name) = match self.phase.rsplit_once('/') {
            Some((parts, name)) => (parts.split('/').collect::<Vec<&str>>(), name),
            None => (Vec::new(), self.phase),
        };
        let units: Vec<(UnitId, &Stage, &Unit)> = run
            .units()
            .into_iter()
            .filter(|(unit, ..)| self.task.is_none_or(|task| is_of_task(run, unit, task)))
            .filter(|(unit, ..)| parts.iter().all(|part| is_around(run, unit, part)))
            .collect();
        if units.is_empty()
            && let Some(task) = self.task.or(parts.first().copied())
            && let Some((task, record)) = task_not_begun(run, task)
            && let Some(needs) = find_phase(&run.definition().flow.stages, name)
        {
            return Ok(AskedPhase::NotBegun { task, record, needs: needs.to_vec() });
        }
        let found = places(&units, name);
        let forms = |(unit, gate): &PhasePlace| self.short_name(run, unit, gate.as_deref(), &found);
        match found.as_slice() {
            [one] => {
                let name = forms(one);
                let (unit, gate) = one.clone();
                Ok(AskedPhase::Found(FoundPhase { unit, gate, name }))
            }
            [] => Err(self.unknown(run, id, name, &units)),
            [first, ..] => {
                let near = forms(first);
                let all = found.iter().map(forms);
                let what = format!("{} has several phases `{name}`: {}", short_id(id), list(all));
                Err(Error::usage(what, self.help(&near)))
            }
        }
    }

    fn unknown(
        &self,
        run: &Run,
        id: &str,
        name: &str,
        around: &[(UnitId, &Stage, &Unit)],
    ) -> Error {
        let all = run.units();
        // Where no task has the name, one of this phase is suggested with its own.
        let units = if around.is_empty() { &all } else { around };
        let mut seen = BTreeSet::new();
        let names = units.iter().flat_map(|(_, stage, _)| phase_names(stage));
        let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
        let what = format!("`{}` has no phase `{}`", self.target, self.phase);
        if let Some(near) = nearest(name, names.iter().copied()) {
            let found = places(units, near);
            let form = found
                .first()
                .map(|(unit, gate)| self.short_name(run, unit, gate.as_deref(), &found));
            let near = form.unwrap_or_else(|| near.to_owned());
            return Error::usage(format!("{what}; did you mean `{near}`?"), self.help(&near));
        }
        Error::usage(
            format!("{what}; phases: {}", list(names.iter().map(|name| (*name).to_owned()))),
            format!("forge status {}", short_id(id)),
        )
    }

    fn help(&self, phase: &str) -> String {
        format!("forge {} {} {}", self.command, self.target, quoted(phase))
    }

    /// Returns the shortest name that only one of these phases has. The task that was named as the target is not repeated.
    fn short_name(
        &self,
        run: &Run,
        unit: &UnitId,
        gate: Option<&str>,
        all: &[PhasePlace],
    ) -> String {
        let last = gate.map_or(unit.stage.as_str(), gate_label);
        let item = run.definition().flow.item_scope(&unit.scope);
        let item = item.as_ref().and_then(|scope| scope.item()).filter(|_| self.task.is_none());
        let others = |is_same: &dyn Fn(&UnitId) -> bool| {
            all.iter()
                .filter(|(other, own)| is_same(other) && (other != unit || own.as_deref() != gate))
                .count()
        };
        let task = item.map(|item| format!("{item}/")).unwrap_or_default();
        let in_task = |other: &UnitId| {
            run.definition().flow.item_scope(&other.scope)
                == run.definition().flow.item_scope(&unit.scope)
        };
        if others(&|_| true) == 0 || (others(&in_task) == 0 && item.is_some()) {
            format!("{task}{last}")
        } else {
            format!("{task}{}/{last}", unit.stage)
        }
    }
}

/// Returns the names by which people know the phases of a stage.
fn phase_names(stage: &Stage) -> impl Iterator<Item = &str> {
    let gates = stage.gates.iter().filter(|gate| has_verdict(gate));
    [stage.name.as_str()].into_iter().chain(gates.map(|gate| gate.name.as_str()))
}

/// Returns the phases of a name among units. Those that were skipped count only if there are no others.
fn places(units: &[(UnitId, &Stage, &Unit)], name: &str) -> Vec<PhasePlace> {
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for (unit, stage, state) in units {
        let gate = gate_named(stage, name);
        if gate.is_none() && stage.name != name {
            continue;
        }
        // A task that goes through a pipeline of the settings skips the phases of its flow.
        let is_skipped = state.state == State::Skipped;
        let place = if is_skipped { &mut skipped } else { &mut found };
        place.push((unit.clone(), gate.map(|gate| gate.name.clone())));
    }
    if found.is_empty() {
        found = skipped;
    }
    // Of a gate and a stage around it with the same name, the gate has the verdict.
    if found.iter().any(|(_, gate)| gate.is_some()) {
        found.retain(|(_, gate)| gate.is_some());
    }
    found
}

/// Returns what a phase needs, the first one of the name in reading order.
pub(crate) fn find_phase<'s>(stages: &'s [Stage], phase: &str) -> Option<&'s [Directive]> {
    stages.iter().find_map(|stage| {
        if stage.name == phase {
            return Some(stage.needs.as_slice());
        }
        let gate = stage.gates.iter().find(|gate| gate.name == phase);
        gate.map(|gate| gate.needs.as_slice()).or_else(|| find_phase(stage.inner(), phase))
    })
}

/// Returns the id and the record of a task that is in a list of the run, if the run has not begun it.
fn task_not_begun(run: &Run, name: &str) -> Option<(String, Option<WorkId>)> {
    run.definition().flow.stages.iter().find_map(|stage| {
        let Work::Each { list, .. } = &stage.work else { return None };
        let group = Scope::root().unit(&stage.name);
        let scopes = run.items(&group, list)?.iter().map(|item| group.item(&item.id));
        let scope = scopes.into_iter().find(|scope| is_task_of(run, scope, name))?;
        let has_begun = run.units().iter().any(|(unit, ..)| unit.scope.within(&scope));
        let id = scope.item()?.to_owned();
        (!has_begun).then(|| (id, record_of_unit(run, &scope)))
    })
}

/// Returns the verdict of a phase, and why it has none.
fn recorded(run: &Run, id: &str, phase: &FoundPhase) -> RecordedVerdict {
    let FoundPhase { unit, gate, name } = phase;
    let row = run.unit(unit);
    let is_skipped =
        row.state == State::Skipped || gate.as_ref().is_some_and(|gate| row.skipped.contains(gate));
    if is_skipped {
        let why = Some(format!("{name} was skipped"));
        return RecordedVerdict { verdict: PhaseVerdict::NotApplicable, why };
    }
    let verdict = phase_verdict(run, unit, gate.as_deref());
    let why = (verdict == PhaseVerdict::Unknown).then(|| why_unknown(run, id, phase));
    RecordedVerdict { verdict, why }
}

fn why_unknown(run: &Run, id: &str, FoundPhase { unit, name, .. }: &FoundPhase) -> String {
    match run.unit(unit).state {
        State::Asking { question } => format!("{name} waits for your answer to {question}"),
        State::Waiting => match waits_for(run, id) {
            Some(waits) => format!("{name} has not begun: {waits}"),
            None => format!("{name} has not begun"),
        },
        State::Working => format!("{name} has not ended"),
        State::Judging { gate, .. } => {
            let now = gate_label(&run.stage(unit).gates[gate].name);
            format!("{name} has left no verdict yet; the {now} comes next")
        }
        State::Failed { .. } => format!("{name} failed"),
        State::Accepted | State::Skipped => format!("{name} left no verdict that can be read"),
    }
}

/// Says which question a run waits for, if it does.
pub(crate) fn waits_for(run: &Run, id: &str) -> Option<String> {
    let question = run.questions().next()?;
    let (number, unit) = (question.id, question.unit.label());
    Some(format!("{} waits for your answer to {number}, about {unit}", short_id(id)))
}

/// Returns the gate of a stage that a name, as in the flow or on screens, means.
fn gate_named<'s>(stage: &'s Stage, name: &str) -> Option<&'s Gate> {
    let mut gates = stage.gates.iter();
    gates
        .clone()
        .find(|gate| gate.name == name)
        .or_else(|| gates.find(|gate| gate_label(&gate.name) == name))
}

/// Returns true for a gate that people know by the name that it has in its flow.
pub(crate) fn has_verdict(gate: &Gate) -> bool {
    match gate.check {
        Check::Review { .. } | Check::Human { .. } | Check::Command { .. } => {
            gate_label(&gate.name) == gate.name
        }
        Check::Artifact { .. }
        | Check::Outputs { .. }
        | Check::Verify
        | Check::Land
        | Check::BuiltIn { .. } => false,
    }
}

/// Returns true if a part of a name is a stage or a task around a phase, or the record of that.
fn is_around(run: &Run, unit: &UnitId, part: &str) -> bool {
    let is_step = |(stage, item): (&str, &str)| stage == part || format!("{stage}.{item}") == part;
    unit.stage == part || unit.scope.steps().any(is_step) || is_of_task(run, unit, part)
}

fn list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    let mut text = names[..names.len() - more].join(", ");
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

fn sprint_of(task: &WorkRecord) -> Option<WorkId> {
    task.texts("sprintId").first()?.parse().ok()
}

/// Returns true if a unit is of the item that a task is.
fn is_of_task(run: &Run, unit: &UnitId, task: &str) -> bool {
    let Some(scope) = run.definition().flow.item_scope(&unit.scope) else { return false };
    is_task_of(run, &scope, task)
}

/// Returns true if the item of a scope is the task of this name: by its id in the run, or by that of its record.
fn is_task_of(run: &Run, scope: &Scope, task: &str) -> bool {
    let Some(item) = scope.item() else { return false };
    match record_of_unit(run, scope) {
        Some(record) => item.eq_ignore_ascii_case(task) || is_meant(record.as_str(), task),
        None => is_meant(item, task),
    }
}
