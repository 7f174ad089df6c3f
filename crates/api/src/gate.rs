//! `forge gate check`: what the gates as text of a phase ask for, looked at for one record or run.
//!
//! Not here: what a directive means (`forge_core::needs`), and what a run does with it (`driver::needs`).
//!
//! Invariant: nothing is written or started. What cannot be read is misconfigured, and never holds.

use std::{fs, path::PathBuf};

use forge_core::{
    Run,
    event::{Blob, Choice, End, UnmetKind, UnmetNeed},
    flow::{Directive, Stage},
    id::UnitId,
    needs::{NeedsSubject, NeedsWorld, record_of_unit, unmet},
    run::{Phase, State},
    work::{WorkId, WorkRecord, WorkState},
};
use forge_driver::{
    Error,
    context::read_blob,
    needs::{engineering, record_in},
    run_id::short_id,
};
use forge_project::suggest::nearest;
use forge_store::blobs::Blobs;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    forge::Forge,
    start::{
        quoted,
        record::{pipeline_or_kind, step_before_run},
    },
    verdict::{
        AskedPhase, FoundPhase, PhaseQuery, VerdictTarget, find_phase, has_verdict, waits_for,
    },
};

/// `forge gate check --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GateCheck {
    pub phase: String,
    /// True if everything holds.
    pub ok: bool,
    /// How many directives the phase has.
    pub checked: usize,
    /// Directives that do not hold, with what they ask for and what there is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<UnmetNeed>,
    /// Directives that ask for something that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misconfigured: Vec<UnmetNeed>,
    /// The command to continue with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// An open question or unfinished work, without which the phase does not begin although its gates hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
}

/// The words of the command.
const COMMAND: &str = "gate check";

/// What a phase needs, what of it does not hold, and the way on.
struct PhaseGates {
    needs: Vec<Directive>,
    unmet: Vec<UnmetNeed>,
    next: String,
    waits_for: Option<String>,
}

impl Forge {
    /// Looks at the gates of a phase of a record or run.
    pub fn gate_check(&self, target: &str, phase: &str) -> Result<GateCheck, Error> {
        let (target, phase) = self.in_order(target, phase);
        let command = |id: &WorkId| format!("forge {COMMAND} {id} {}", quoted(phase));
        let found = match self.target(target, &command)? {
            VerdictTarget::Run { id, task } => {
                self.gates_of_run(&id, task.as_deref(), target, phase)?
            }
            VerdictTarget::Record(record) => self.gates_of_record(&record, target, phase)?,
        };
        let PhaseGates { needs, unmet, next, waits_for } = found;
        debug_assert!(!needs.is_empty() || unmet.is_empty());
        let is_misconfigured = |need: &UnmetNeed| need.kind == UnmetKind::Misconfigured;
        let (misconfigured, missing): (Vec<UnmetNeed>, Vec<UnmetNeed>) =
            unmet.into_iter().partition(is_misconfigured);
        let ok = missing.is_empty() && misconfigured.is_empty();
        let (next, checked) = ((!ok).then_some(next), needs.len());
        Ok(GateCheck {
            phase: phase.to_owned(),
            ok,
            checked,
            missing,
            misconfigured,
            next,
            waits_for,
        })
    }

    fn gates_of_run(
        &self,
        id: &str,
        task: Option<&str>,
        target: &str,
        phase: &str,
    ) -> Result<PhaseGates, Error> {
        let (run, _) = self.fold(id)?;
        let query = PhaseQuery { command: COMMAND, target, task, phase };
        let FoundPhase { unit, gate, .. } = match query.find(&run, id)? {
            AskedPhase::Found(found) => found,
            AskedPhase::NotBegun { record, needs, .. } => {
                let folder = self.frozen(&run)?.engineering;
                let unmet = self.unmet(None, record, folder, &needs);
                let next = format!("forge status {}", short_id(id));
                return Ok(PhaseGates { needs, unmet, next, waits_for: waits_for(&run, id) });
            }
        };
        let stage = run.stage(&unit);
        let position = gate.as_deref().and_then(|gate| stage.gate(gate));
        let needs = position.map_or(&stage.needs, |position| &stage.gates[position].needs).clone();
        let record = record_of_unit(&run, &unit.scope);
        let folder = self.frozen(&run)?.engineering;
        let next = self.next_of_run(&run, id, record.as_ref(), &unit)?;
        let has_begun = !matches!(run.unit(&unit).state, State::Waiting);
        let waits_for = if has_begun { None } else { waits_for(&run, id) };
        let unmet = self.unmet(Some((&run, unit)), record, folder, &needs);
        Ok(PhaseGates { needs, unmet, next, waits_for })
    }

    /// Returns the command to continue with, once what is missing is there.
    fn next_of_run(
        &self,
        run: &Run,
        id: &str,
        record: Option<&WorkId>,
        unit: &UnitId,
    ) -> Result<String, Error> {
        let records = self.work_to_read()?;
        let record = match (record, &records) {
            (Some(id), Some(records)) => records.known(id)?,
            (_, _) => None,
        };
        let blocked = record.filter(|record| record.state == WorkState::Blocked);
        if let Some(step) = blocked.as_ref().and_then(step_before_run) {
            return Ok(step);
        }
        let open = run.questions().find(|question| question.unit == *unit);
        let verb = match (run.phase(), open) {
            (Phase::Over(End::Done | End::Abandoned), _) => "show",
            (_, Some(question)) if question.options.contains(&Choice::Retry) => "retry",
            (_, Some(_)) => "status",
            (Phase::Fresh | Phase::Going | Phase::Held(_) | Phase::Over(_), None) => {
                if run.questions().next().is_some() { "status" } else { "resume" }
            }
        };
        Ok(format!("forge {verb} {}", short_id(id)))
    }

    fn gates_of_record(
        &self,
        record: &WorkRecord,
        target: &str,
        phase: &str,
    ) -> Result<PhaseGates, Error> {
        let name = pipeline_or_kind(record).to_owned();
        let settings = self.settings()?;
        let flow = self.catalog_with(&settings).flow(&name)?.flow;
        let own = phase.rsplit_once('/').map_or(phase, |(_, name)| name);
        let found = find_phase(&flow.stages, own);
        let needs = found.ok_or_else(|| {
            let mut names = Vec::new();
            collect_names(&flow.stages, &mut names);
            let near = nearest(own, names.iter().map(String::as_str));
            let next = near.map_or_else(
                || format!("forge flow show {}", flow.name),
                |near| format!("forge {COMMAND} {target} {near}"),
            );
            Error::usage(format!("the flow `{}` has no phase `{phase}`", flow.name), next)
        })?;
        let (needs, id) = (needs.to_vec(), record.id.clone());
        let folder = settings.work.engineering.clone().map(String::from);
        let unmet = self.unmet(None, Some(id.clone()), folder, &needs);
        let next = step_before_run(record).unwrap_or_else(|| format!("forge run {id}"));
        Ok(PhaseGates { needs, unmet, next, waits_for: None })
    }

    fn unmet(
        &self,
        unit: Option<(&Run, UnitId)>,
        record: Option<WorkId>,
        folder: Option<String>,
        needs: &[Directive],
    ) -> Vec<UnmetNeed> {
        let world = CheckoutWorld {
            top: self.home.repository.top.clone(),
            dir: self.home.dir.clone(),
            blobs: Blobs::open_to_read(&self.home.dir),
        };
        let engineering = Some(engineering(folder));
        unmet(&NeedsSubject { unit, record, engineering }, needs, &world)
    }
}

fn collect_names(stages: &[Stage], names: &mut Vec<String>) {
    for stage in stages {
        names.push(stage.name.clone());
        names.extend(
            stage.gates.iter().filter(|gate| has_verdict(gate)).map(|gate| gate.name.clone()),
        );
        collect_names(stage.inner(), names);
    }
}

/// The world as a person sees it: files are those of the checkout.
struct CheckoutWorld {
    top: Option<PathBuf>,
    dir: PathBuf,
    blobs: Blobs,
}

impl NeedsWorld for CheckoutWorld {
    fn record(&self, id: &WorkId) -> Result<Option<WorkRecord>, String> {
        record_in(&self.dir, id)
    }

    fn artifact_bytes(&self, blob: &Blob) -> Result<u64, String> {
        let bytes = read_blob(&self.blobs, blob).map_err(|error| error.to_string())?;
        Ok(bytes.len() as u64)
    }

    fn file_bytes(&self, path: &str) -> Result<Option<u64>, String> {
        let Some(top) = &self.top else { return Ok(None) };
        match fs::symlink_metadata(top.join(path)) {
            Ok(found) => Ok(found.is_file().then_some(found.len())),
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error.to_string()),
        }
    }
}
