//! `forge gate check`: what the gates as text of a phase ask for, looked at for one record or run.
//!
//! Not here: what a directive means (`forge_core::needs`), and what a run does with it (`driver::needs`).
//!
//! Invariant: nothing is written or started. What cannot be read is misconfigured, and never holds.

use std::{fs, path::PathBuf};

use forge_core::{
    Run,
    event::{Blob, End, UnmetKind, UnmetNeed},
    flow::{Directive, Stage},
    id::UnitId,
    needs::{NeedsSubject, NeedsWorld, record_of_unit, unmet},
    run::Phase,
    work::{WorkId, WorkRecord},
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
    start::record::{pipeline_or_kind, step_before_run},
    verdict::{VerdictTarget, phase_of},
};

/// `forge gate check --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GateCheck {
    pub phase: String,
    /// True if everything holds.
    pub ok: bool,
    /// Directives that do not hold, with what they ask for and what there is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<UnmetNeed>,
    /// Directives that ask for something that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misconfigured: Vec<UnmetNeed>,
    /// The command to continue with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Forge {
    /// Looks at the gates of a phase of a record or run.
    pub fn gate_check(&self, phase: &str, target: &str) -> Result<GateCheck, Error> {
        let phase = phase.trim();
        let (needs, unmet_needs, next) = match self.target(target)? {
            VerdictTarget::Run { id, task } => {
                let (run, _) = self.fold(&id)?;
                let (unit, gate) = phase_of(&run, &id, task.as_deref(), target, phase)?;
                let stage = run.stage(&unit);
                let position = gate.as_deref().and_then(|gate| stage.gate(gate));
                let needs =
                    position.map_or(&stage.needs, |position| &stage.gates[position].needs).clone();
                let record = record_of_unit(&run, &unit.scope);
                let folder = self.frozen(&run)?.engineering;
                let unmet = self.unmet(Some((&run, unit)), record, folder, &needs);
                let verb = match run.phase() {
                    Phase::Over(End::Done | End::Abandoned) => "show",
                    Phase::Fresh | Phase::Going | Phase::Held(_) | Phase::Over(_) => "resume",
                };
                (needs, unmet, format!("forge {verb} {}", short_id(&id)))
            }
            VerdictTarget::Record(record) => {
                let name = pipeline_or_kind(&record).to_owned();
                let flow = self.catalog().flow(&name)?.flow;
                let found = find_phase(&flow.stages, phase);
                let needs = found.ok_or_else(|| {
                    let mut names = Vec::new();
                    collect_names(&flow.stages, &mut names);
                    let near = nearest(phase, names.iter().map(String::as_str));
                    let next = near.map_or_else(
                        || format!("forge flow show {}", flow.name),
                        |near| format!("forge gate check {near} {target}"),
                    );
                    Error::usage(format!("the flow `{}` has no phase `{phase}`", flow.name), next)
                })?;
                let (needs, id) = (needs.to_vec(), record.id.clone());
                let folder = self.settings()?.work.engineering.clone().map(String::from);
                let unmet = self.unmet(None, Some(id.clone()), folder, &needs);
                let run = || format!("forge run {id}");
                (needs, unmet, step_before_run(&record).unwrap_or_else(run))
            }
        };
        debug_assert!(!needs.is_empty() || unmet_needs.is_empty());
        let is_misconfigured = |need: &UnmetNeed| need.kind == UnmetKind::Misconfigured;
        let (misconfigured, missing): (Vec<UnmetNeed>, Vec<UnmetNeed>) =
            unmet_needs.into_iter().partition(is_misconfigured);
        let ok = missing.is_empty() && misconfigured.is_empty();
        let next = (!ok).then_some(next);
        Ok(GateCheck { phase: phase.to_owned(), ok, missing, misconfigured, next })
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

/// Returns what a phase needs, the first one of the name in reading order.
fn find_phase<'s>(stages: &'s [Stage], phase: &str) -> Option<&'s [Directive]> {
    stages.iter().find_map(|stage| {
        if stage.name == phase {
            return Some(stage.needs.as_slice());
        }
        let gate = stage.gates.iter().find(|gate| gate.name == phase);
        gate.map(|gate| gate.needs.as_slice()).or_else(|| find_phase(stage.inner(), phase))
    })
}

fn collect_names(stages: &[Stage], names: &mut Vec<String>) {
    for stage in stages {
        names.push(stage.name.clone());
        names.extend(stage.gates.iter().map(|gate| gate.name.clone()));
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
