//! Looks at what the gates as text of a run ask for, before a phase begins and after its work.
//!
//! Nothing is started for it: artifacts are in the store of blobs, files in the commit that the unit works on, records in their
//! database.
//!
//! Not here: what a directive means ([`forge_core::needs`]), and what follows where it does not hold (`core`).

use std::path::Path;

use forge_core::{
    Effect, Report, Run,
    event::{Blob, Receipt, Ruling, UnmetKind, UnmetNeed},
    flow::Directive,
    id::{JudgementId, UnitId},
    money::Spent,
    needs::{NeedsSubject, NeedsWorld, record_of_unit, unmet},
    verdict::{BlockerClass, Finding, Severity, Verdict},
    wanted,
    work::{WorkId, WorkRecord},
};
use forge_store::work::{WorkError, WorkStore};

use crate::context::RunContext;

/// The folder of the engineering documents in paths, where no other is set.
const ENGINEERING: &str = "engineering";
/// The largest file whose size is looked at.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// Returns what `{engineering}` stands for, with this setting.
pub fn engineering(set: Option<String>) -> String {
    set.unwrap_or_else(|| ENGINEERING.to_owned())
}

/// Looks at all that units wait for.
pub fn look(context: &RunContext<'_>, run: &Run) -> Vec<Report> {
    let needs = wanted(run).into_iter().filter_map(|effect| match effect {
        Effect::Need { unit, gate } => Some((unit, gate)),
        Effect::Work { .. }
        | Effect::Judge { .. }
        | Effect::Ask { .. }
        | Effect::Claim { .. }
        | Effect::Wake { .. } => None,
    });
    let report = |(unit, gate): (UnitId, Option<String>)| {
        let stage = run.stage(&unit);
        let position = gate.as_deref().and_then(|gate| stage.gate(gate));
        let directives = position.map_or(&stage.needs, |position| &stage.gates[position].needs);
        let unmet = unmet_of(context, run, &unit, directives);
        if unmet.is_empty() {
            Report::NeedsMet { unit, gate }
        } else {
            Report::NeedsUnmet { unit, gate, unmet }
        }
    };
    needs.map(report).collect()
}

/// Looks at what the work of an attempt was to leave. What is missing goes back to the work; what cannot be read, to a person.
pub fn look_at_outputs(
    context: &RunContext<'_>,
    run: &Run,
    judgement: &JudgementId,
    directives: &[Directive],
) -> Report {
    let found = unmet_of(context, run, &judgement.attempt.unit, directives);
    let is_misconfigured = |need: &&UnmetNeed| need.kind == UnmetKind::Misconfigured;
    let ruling = if let Some(need) = found.iter().find(is_misconfigured) {
        Ruling::Blocked { class: BlockerClass::ToolingFailure, what: need.to_string() }
    } else if found.is_empty() {
        Ruling::Verdict(Verdict::Pass { findings: Vec::new() })
    } else {
        let finding = |need: &UnmetNeed| Finding {
            id: String::new(),
            severity: Severity::Major,
            path: Some(need.subject.clone()),
            line: None,
            what: need.to_string(),
            why: String::new(),
            proof: None,
            was: None,
            doubt: None,
        };
        Ruling::Verdict(Verdict::Revise { findings: found.iter().map(finding).collect() })
    };
    let receipt = Receipt::from_spent(Spent::NOTHING);
    Report::Judged { judgement: judgement.clone(), ruling, receipt }
}

fn unmet_of(
    context: &RunContext<'_>,
    run: &Run,
    unit: &UnitId,
    directives: &[Directive],
) -> Vec<UnmetNeed> {
    let subject = NeedsSubject {
        record: record_of_unit(run, &unit.scope),
        unit: Some((run, unit.clone())),
        engineering: Some(engineering(context.frozen.engineering.clone())),
    };
    unmet(&subject, directives, &RunWorld { context, run, unit })
}

/// The world as a unit of a run sees it.
struct RunWorld<'a> {
    context: &'a RunContext<'a>,
    run: &'a Run,
    unit: &'a UnitId,
}

impl NeedsWorld for RunWorld<'_> {
    fn record(&self, id: &WorkId) -> Result<Option<WorkRecord>, String> {
        record_in(&self.context.home.dir, id)
    }

    fn artifact_bytes(&self, blob: &Blob) -> Result<u64, String> {
        let bytes = self.context.blob(blob).map_err(|error| error.to_string())?;
        Ok(bytes.len() as u64)
    }

    fn file_bytes(&self, path: &str) -> Result<Option<u64>, String> {
        let own = self.run.code(&self.unit.scope).map(|code| code.commit.as_str());
        let Some(commit) = own.or_else(|| self.run.head()) else { return Ok(None) };
        let bytes = self.context.code.file_at(commit, path, FILE_BYTES_MAX);
        let bytes = bytes.map_err(|error| error.to_string())?;
        Ok(bytes.map(|bytes| bytes.len() as u64))
    }
}

/// Returns a record of the repository with this folder.
pub fn record_in(dir: &Path, id: &WorkId) -> Result<Option<WorkRecord>, String> {
    let find =
        || Ok(WorkStore::open_to_read(dir)?.map(|store| store.get(id)).transpose()?.flatten());
    let row = find().map_err(|error: WorkError| error.to_string())?;
    Ok(row.map(|row| row.record))
}
