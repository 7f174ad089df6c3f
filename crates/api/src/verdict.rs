//! The recorded verdict of a phase of a run, or of the run that last worked on a record.

use forge_core::{
    Run,
    id::UnitId,
    view::PhaseVerdict,
    work::{WorkId, WorkKind, WorkRecord},
};
use forge_driver::{Error, run_id::short_id};
use forge_project::suggest::nearest;

use crate::forge::Forge;

impl Forge {
    /// Returns the verdict of a phase: a review or another gate by its name, or a stage.
    pub fn verdict(&self, target: &str, phase: &str) -> Result<PhaseVerdict, Error> {
        let (id, task) = self.run_of(target)?;
        let (run, _) = self.fold(&id)?;
        let phase = phase.trim();
        let mut names = Vec::new();
        let mut found = Vec::new();
        for (unit, stage, _) in run.units() {
            if task.as_ref().is_some_and(|task| !is_of_task(&run, &unit, task)) {
                continue;
            }
            names.extend(stage.gates.iter().map(|gate| gate.name.clone()));
            names.push(stage.name.clone());
            let gate = stage.gates.iter().find(|gate| gate.name == phase);
            if gate.is_some() || (stage.name == phase && stage.is_called()) {
                found.push((unit, gate.map(|gate| gate.name.clone())));
            }
        }
        match found.as_slice() {
            [(unit, gate)] => Ok(PhaseVerdict::of(&run, unit, gate.as_deref())),
            [] => {
                let near = nearest(phase, names.iter().map(String::as_str));
                let next = near.map_or_else(
                    || format!("forge status {}", short_id(&id)),
                    |near| format!("forge verdict {target} {near}"),
                );
                Err(Error::usage(format!("`{target}` has no phase `{phase}`"), next))
            }
            [(unit, _), ..] => Err(Error::usage(
                format!(
                    "several tasks of {} have a phase `{phase}`, such as {unit}",
                    short_id(&id)
                ),
                format!("forge verdict TASK {phase}"),
            )),
        }
    }

    /// Returns the run that is meant, and the task of it, if it is a record.
    fn run_of(&self, target: &str) -> Result<(String, Option<String>), Error> {
        let id: Option<WorkId> = target.trim().parse().ok();
        let records = if id.is_some() { self.work_to_read()? } else { None };
        let (Some(id), Some(mut records)) = (id, records) else {
            return Ok((self.resolve(target)?, None));
        };
        let Some(record) = records.find(&id)? else { return Ok((self.resolve(target)?, None)) };
        if let Some(run) = &record.run {
            return Ok((run.clone(), None));
        }
        let sprint = match record.kind {
            WorkKind::Task => sprint_of(&record).map(|sprint| records.find(&sprint)).transpose()?,
            WorkKind::Sprint | WorkKind::Bug | WorkKind::Feature => None,
        };
        let run = sprint.flatten().and_then(|sprint| sprint.run);
        let run = run.ok_or_else(|| {
            let next = format!("forge run {}", record.id);
            Error::usage(format!("no run has worked on `{}` yet", record.id), next)
        })?;
        Ok((run, Some(record.id.to_string())))
    }
}

fn sprint_of(task: &WorkRecord) -> Option<WorkId> {
    task.texts("sprintId").first()?.parse().ok()
}

/// Returns true if a unit is of the item that a task is.
fn is_of_task(run: &Run, unit: &UnitId, task: &str) -> bool {
    let Some(item) = unit.scope.item() else { return false };
    let about = run.definition().start.about.as_ref();
    let planned = about.map(|about| format!("{}-{item}", about.item.id));
    item.eq_ignore_ascii_case(task) || planned.is_some_and(|id| id.eq_ignore_ascii_case(task))
}
