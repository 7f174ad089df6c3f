//! The recorded verdict of a phase of a run, or of the run that last worked on a record.

use forge_core::{
    Run,
    id::UnitId,
    phase_verdict::phase_verdict,
    run::State,
    verdict::PhaseVerdict,
    work::{WorkId, WorkKind, WorkRecord},
};
use forge_driver::{Error, run_id::short_id};
use forge_project::suggest::nearest;

use crate::forge::Forge;

/// What a person means by the name of a run or record.
pub(crate) enum VerdictTarget {
    /// A run, and the task of it that the record is.
    Run { id: String, task: Option<String> },
    /// A record that no run has worked on.
    Record(Box<WorkRecord>),
}

impl Forge {
    /// Returns the verdict of a phase: a review or another gate by its name, or a stage.
    pub fn verdict(&self, target: &str, phase: &str) -> Result<PhaseVerdict, Error> {
        match self.target(target)? {
            VerdictTarget::Run { id, task } => {
                let (run, _) = self.fold(&id)?;
                let phase = phase.trim();
                let (unit, gate) = phase_of(&run, &id, task.as_deref(), target, phase)?;
                Ok(phase_verdict(&run, &unit, gate.as_deref()))
            }
            VerdictTarget::Record(record) => {
                let next = format!("forge run {}", record.id);
                Err(Error::usage(format!("no run has worked on `{}` yet", record.id), next))
            }
        }
    }

    /// Returns the run that is meant, and the task of it, if it is a record.
    pub(crate) fn target(&self, target: &str) -> Result<VerdictTarget, Error> {
        let run = |id: String, task: Option<String>| VerdictTarget::Run { id, task };
        let id: Option<WorkId> = target.trim().parse().ok();
        let records = if id.is_some() { self.work_to_read()? } else { None };
        let (Some(id), Some(mut records)) = (id, records) else {
            return Ok(run(self.resolve(target)?, None));
        };
        let Some(record) = records.find(&id)? else {
            let known = self.resolve(target).map_err(|_| {
                Error::usage(format!("there is no record or run `{id}`"), "forge task list")
            });
            return Ok(run(known?, None));
        };
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

/// Returns the only phase of this name in a run, or in a task of it.
pub(crate) fn phase_of(
    run: &Run,
    id: &str,
    task: Option<&str>,
    target: &str,
    phase: &str,
) -> Result<(UnitId, Option<String>), Error> {
    let mut names = Vec::new();
    let mut found = Vec::new();
    let (of_stage, phase) = match phase.rsplit_once('/') {
        Some((stage, check)) => (Some(stage), check),
        None => (None, phase),
    };
    // A task that goes through a pipeline of the settings skips the phases of its flow.
    let is_skipped = |state: State| state == State::Skipped;
    let units = run.units();
    let units = units.iter().filter(|(_, _, unit)| !is_skipped(unit.state));
    for (unit, stage, _) in units {
        if task.is_some_and(|task| !is_of_task(run, unit, task)) {
            continue;
        }
        names.extend(stage.gates.iter().map(|gate| gate.name.clone()));
        names.push(stage.name.clone());
        let gate = stage.gates.iter().find(|gate| gate.name == phase);
        if of_stage.is_some_and(|of| of != stage.name) {
            continue;
        }
        if gate.is_some() || stage.name == phase {
            found.push((unit.clone(), gate.map(|gate| gate.name.clone())));
        }
    }
    // Of a gate and a stage around it with the same name, the gate has the verdict.
    if found.iter().any(|(_, gate)| gate.is_some()) {
        found.retain(|(_, gate)| gate.is_some());
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let near = nearest(phase, names.iter().map(String::as_str));
            let next = near.map_or_else(
                || format!("forge status {}", short_id(id)),
                |near| format!("forge verdict {target} {near}"),
            );
            Err(Error::usage(format!("`{target}` has no phase `{phase}`"), next))
        }
        [(unit, Some(gate)), ..] if found.iter().all(|(other, _)| other.scope == unit.scope) => {
            let what = format!("`{gate}` is a check of several phases, such as {}", unit.stage);
            Err(Error::usage(what, format!("forge verdict {target} {}/{gate}", unit.stage)))
        }
        [(unit, _), ..] => Err(Error::usage(
            format!("several tasks of {} have a phase `{phase}`, such as {unit}", short_id(id)),
            format!("forge verdict TASK {phase}"),
        )),
    }
}

fn sprint_of(task: &WorkRecord) -> Option<WorkId> {
    task.texts("sprintId").first()?.parse().ok()
}

/// Returns true if a unit is of the item that a task is.
fn is_of_task(run: &Run, unit: &UnitId, task: &str) -> bool {
    let Some(scope) = run.definition().flow.item_scope(&unit.scope) else { return false };
    let Some(item) = scope.item() else { return false };
    let about = run.definition().start.about.as_ref();
    let planned = about.map(|about| format!("{}-{item}", about.item.id));
    item.eq_ignore_ascii_case(task) || planned.is_some_and(|id| id.eq_ignore_ascii_case(task))
}
