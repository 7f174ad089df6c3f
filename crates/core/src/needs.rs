//! Whether what the text gates of a phase ask for holds: files, fields of records, verdicts.
//!
//! The caller says what only the world knows, by [`NeedsWorld`]; the rest is the run's. All that does not hold is reported, not only
//! the first of it.
//!
//! Not here: how directives are read (`flow/gate_text.rs`), and what follows where one does not hold ([`mod@crate::decide`]).
//!
//! Invariant: what is not there, or cannot be read, never holds.

use crate::{
    event::{Blob, UnmetKind, UnmetNeed},
    flow::{Check, Directive, FieldTest, PLACEHOLDERS, RecordField, STATUS, Stage},
    followed::record_for,
    id::{Scope, UnitId},
    inbox::newest_artifact,
    phase_verdict::phase_verdict,
    run::Run,
    verdict::PhaseVerdict,
    work::{FieldValue, WorkId, WorkKind, WorkRecord},
};

/// What is outside of a run. An error is a sentence that says what cannot be read.
pub trait NeedsWorld {
    /// Returns a record of work.
    fn record(&self, id: &WorkId) -> Result<Option<WorkRecord>, String>;

    /// Returns the size of an artifact.
    fn artifact_bytes(&self, blob: &Blob) -> Result<u64, String>;

    /// Returns the size of a regular file of the project, if there is one.
    fn file_bytes(&self, path: &str) -> Result<Option<u64>, String>;
}

/// The run, unit and record that directives are looked at for.
pub struct NeedsSubject<'a> {
    /// The run and the unit that is to begin, if there is a run.
    pub unit: Option<(&'a Run, UnitId)>,
    /// The record that it is about, if there is one.
    pub record: Option<WorkId>,
    /// The folder of the project's engineering documents, if one is set.
    pub engineering: Option<String>,
}

/// Returns the record that a unit of a run works on: that of its item, or of the whole run.
pub fn record_of_unit(run: &Run, scope: &Scope) -> Option<WorkId> {
    record_for(run, scope)?.parse().ok()
}

/// Returns all that does not hold of these directives.
pub fn unmet(
    subject: &NeedsSubject<'_>,
    directives: &[Directive],
    world: &dyn NeedsWorld,
) -> Vec<UnmetNeed> {
    let order = |directive: &&Directive| match directive {
        Directive::Artifact { .. } => 0,
        Directive::Require { .. } => 1,
        Directive::Forbid { .. } => 2,
        Directive::After { .. } => 3,
    };
    let mut sorted: Vec<&Directive> = directives.iter().collect();
    sorted.sort_by_key(order);
    let look = |directive: &Directive| match directive {
        Directive::Artifact { path, bytes_min } => subject.artifact(path, *bytes_min, world),
        Directive::Require { field, test } => subject.require(field, test, world),
        Directive::Forbid { field, test } => subject.forbid(field, test, world),
        Directive::After { phase, verdict } => subject.after(phase, *verdict),
    };
    sorted.into_iter().filter_map(look).collect()
}

/// Returns the least size of an artifact that checks of the stage that writes it ask for.
pub fn artifact_bytes_min(stage: &Stage, name: &str) -> u64 {
    let directives = stage.gates.iter().flat_map(|gate| {
        let outputs = match &gate.check {
            Check::Outputs { directives } => directives.as_slice(),
            Check::Artifact { .. }
            | Check::Command { .. }
            | Check::Review { .. }
            | Check::Human { .. }
            | Check::Verify
            | Check::BuiltIn { .. }
            | Check::Land => &[],
        };
        gate.needs.iter().chain(outputs)
    });
    let sizes = directives.map(|directive| match directive {
        Directive::Artifact { path, bytes_min } if run_artifact(path) == Some(name) => *bytes_min,
        Directive::Artifact { .. }
        | Directive::Require { .. }
        | Directive::Forbid { .. }
        | Directive::After { .. } => 0,
    });
    sizes.max().unwrap_or(0)
}

/// How a file of the project comes to a run that has begun.
const OWN_CODE: &str =
    "a run has its own copy of the code, to which `forge open` and `forge edit --code` bring it";

impl NeedsSubject<'_> {
    fn artifact(&self, path: &str, bytes_min: u64, world: &dyn NeedsWorld) -> Option<UnmetNeed> {
        let found = match run_artifact(path) {
            Some(_) if let Err(what) = self.has_records_of(path, world) => Err(what),
            Some(name) => self.artifact_of_run(name, world).map(|bytes| (name.to_owned(), bytes)),
            None => self.filled(path, world).and_then(|path| {
                let bytes = world.file_bytes(&path)?;
                Ok((path, bytes))
            }),
        };
        let missing = |kind, subject, got: String| {
            let want = if bytes_min == 0 { String::new() } else { format!("{bytes_min} bytes") };
            Some(UnmetNeed { kind, subject, want, got })
        };
        match found {
            Err(what) => Some(UnmetNeed::misconfigured(path, what)),
            Ok((subject, None)) => {
                let is_of_project = self.unit.is_some() && run_artifact(path).is_none();
                let hint = self.document_hint(path);
                let hint = hint.or_else(|| is_of_project.then(|| OWN_CODE.to_owned()));
                let got = hint.unwrap_or_default();
                missing(UnmetKind::ArtifactMissing, subject, got)
            }
            Ok((subject, Some(bytes))) if bytes < bytes_min => {
                missing(UnmetKind::ArtifactTooSmall, subject, format!("{bytes} bytes"))
            }
            Ok((_, Some(_))) => None,
        }
    }

    /// Fails if a path names a kind of record that this can have nothing to do with.
    fn has_records_of(&self, path: &str, world: &dyn NeedsWorld) -> Result<(), String> {
        let is_named = |kind: &WorkKind| path.contains(&format!("{{{}}}", kind.as_str()));
        let mut named = WorkKind::ALL.into_iter().filter(is_named);
        named.try_for_each(|kind| self.record(kind, world).map(|_| ()))
    }

    /// Says how a document of the run is named, where its bare name means a file of the project.
    fn document_hint(&self, path: &str) -> Option<String> {
        let (run, unit) = self.unit.as_ref()?;
        let is_document = !path.contains(['/', '{'])
            && run.units().iter().any(|(_, stage, _)| stage.writes.iter().any(|name| name == path));
        let is_of_item = !unit.scope.is_root();
        let folder = if is_of_item { "{sprint}/{task}" } else { "{sprint}" };
        let about = run.definition().start.about.as_ref().map(|about| about.kind);
        let folder = match about {
            Some(WorkKind::Bug) => "{engineering}/bugs/{bug}".to_owned(),
            Some(WorkKind::Task) => "{engineering}/sprints/{sprint}/{task}".to_owned(),
            Some(WorkKind::Sprint | WorkKind::Feature) | None => {
                format!("{{engineering}}/sprints/{folder}")
            }
        };
        is_document.then(|| format!("the document of the run is `artifact {folder}/{path}`"))
    }

    fn artifact_of_run(&self, name: &str, world: &dyn NeedsWorld) -> Result<Option<u64>, String> {
        let Some((run, unit)) = &self.unit else { return Ok(None) };
        newest_artifact(run, unit, name).map(|blob| world.artifact_bytes(&blob)).transpose()
    }

    /// Returns a path with values in the place of its placeholders.
    fn filled(&self, path: &str, world: &dyn NeedsWorld) -> Result<String, String> {
        let mut filled = path.to_owned();
        for name in PLACEHOLDERS {
            let place = format!("{{{name}}}");
            if !path.contains(&place) {
                continue;
            }
            let value = match WorkKind::ALL.into_iter().find(|kind| kind.as_str() == name) {
                Some(kind) => self.record(kind, world)?.map(|record| record.id.to_string()),
                None => self.engineering.clone(),
            };
            let value = value.ok_or_else(|| format!("`{place}` has no value here"))?;
            filled = filled.replace(&place, &value);
        }
        Ok(filled)
    }

    fn require(
        &self,
        field: &RecordField,
        test: &FieldTest,
        world: &dyn NeedsWorld,
    ) -> Option<UnmetNeed> {
        match self.values(field, world) {
            Err(what) => Some(UnmetNeed::misconfigured(field.to_string(), what)),
            Ok(values) if holds(test, &values) => None,
            Ok(values) => {
                let (subject, want, got) = (field.to_string(), test.to_string(), shown(&values));
                let want = want.trim_start_matches("== ").to_owned();
                Some(UnmetNeed { kind: UnmetKind::RequireFailed, subject, want, got })
            }
        }
    }

    fn forbid(
        &self,
        field: &RecordField,
        test: &FieldTest,
        world: &dyn NeedsWorld,
    ) -> Option<UnmetNeed> {
        match self.values(field, world) {
            Err(what) => Some(UnmetNeed::misconfigured(field.to_string(), what)),
            Ok(values) if !holds(test, &values) => None,
            Ok(values) => {
                let (subject, got) = (field.to_string(), shown(&values));
                let want = format!("not {test}");
                Some(UnmetNeed { kind: UnmetKind::ForbidTriggered, subject, want, got })
            }
        }
    }

    /// Returns the texts of a field; none if it is absent. Work that is about no record has no fields.
    fn values(&self, field: &RecordField, world: &dyn NeedsWorld) -> Result<Vec<String>, String> {
        let Some(record) = self.record(field.kind, world)? else { return Ok(Vec::new()) };
        let Some((first, rest)) = field.path.split_first() else { return Ok(Vec::new()) };
        if rest.is_empty() && first == STATUS {
            return Ok(vec![record.state.to_string()]);
        }
        if rest.is_empty() && first == field.kind.id_key() {
            return Ok(vec![record.id.to_string()]);
        }
        let mut value = record.fields.get(first);
        for name in rest {
            value = match value {
                Some(FieldValue::Table(table)) => table.get(name),
                Some(
                    FieldValue::Flag(_)
                    | FieldValue::Count(_)
                    | FieldValue::Text(_)
                    | FieldValue::List(_),
                )
                | None => None,
            };
        }
        Ok(value.map(texts).unwrap_or_default())
    }

    /// Returns the record of a kind that this is about: the record itself, or the one that it names.
    fn record(&self, kind: WorkKind, world: &dyn NeedsWorld) -> Result<Option<WorkRecord>, String> {
        let Some(id) = &self.record else { return Ok(None) };
        let find =
            |id: &WorkId| world.record(id)?.ok_or_else(|| format!("there is no record `{id}`"));
        let mut record = find(id)?;
        while record.kind != kind {
            let named = match record.kind {
                WorkKind::Task if kind == WorkKind::Sprint => record.texts("sprintId"),
                WorkKind::Task | WorkKind::Sprint if kind == WorkKind::Feature => {
                    record.texts("feature_id")
                }
                own @ (WorkKind::Task | WorkKind::Sprint | WorkKind::Bug | WorkKind::Feature) => {
                    return Err(format!("`{}` is a {own}, which has no {kind}", record.id));
                }
            };
            let Some(next) = named.first().and_then(|text| text.parse().ok()) else {
                return Ok(None);
            };
            record = find(&next)?;
        }
        Ok(Some(record))
    }

    fn after(&self, phase: &str, want: PhaseVerdict) -> Option<UnmetNeed> {
        let got = self.unit.as_ref().map_or(PhaseVerdict::Unknown, |(run, unit)| {
            let found = phase_near(run, unit, phase);
            found.map_or(PhaseVerdict::Unknown, |(unit, gate)| {
                phase_verdict(run, &unit, gate.as_deref())
            })
        });
        let kind = match got {
            PhaseVerdict::Unknown => UnmetKind::VerdictMissing,
            PhaseVerdict::Approved | PhaseVerdict::Revision | PhaseVerdict::NotApplicable => {
                UnmetKind::VerdictDiffers
            }
        };
        let (subject, want_word) = (phase.to_owned(), want.as_str().to_owned());
        let need = UnmetNeed { kind, subject, want: want_word, got: got.as_str().to_owned() };
        (got != want).then_some(need)
    }
}

/// Returns the name of the artifact of a run that a path of the original system stands for.
fn run_artifact(path: &str) -> Option<&str> {
    let folders = [
        "{engineering}/sprints/{sprint}/{task}/",
        "{engineering}/sprints/{sprint}/",
        "{engineering}/bugs/{bug}/",
    ];
    let name = folders.iter().find_map(|folder| path.strip_prefix(folder))?;
    (!name.contains(['/', '{'])).then_some(name)
}

/// Returns the phase of this name that is nearest to a unit: in its own table, or in one around it.
fn phase_near(run: &Run, unit: &UnitId, phase: &str) -> Option<(UnitId, Option<String>)> {
    let mut scope = Some(unit.scope.clone());
    while let Some(here) = scope {
        let (stages, _) = run.table(&here);
        for stage in stages {
            if stage.gate(phase).is_some() {
                return Some((here.unit(&stage.name), Some(phase.to_owned())));
            }
            if stage.name == phase {
                return Some((here.unit(phase), None));
            }
        }
        scope = here.origin().map(|(outer, _)| outer);
    }
    None
}

fn texts(value: &FieldValue) -> Vec<String> {
    match value {
        FieldValue::Text(text) => vec![text.clone()],
        FieldValue::Flag(flag) => vec![flag.to_string()],
        FieldValue::Count(count) => vec![count.to_string()],
        FieldValue::List(_) => value.texts().map(str::to_owned).collect(),
        FieldValue::Table(_) => Vec::new(),
    }
}

/// Returns true if a field passes a test. A list does if one of its entries does; one that is absent equals nothing.
fn holds(test: &FieldTest, values: &[String]) -> bool {
    match test {
        FieldTest::Is(value) => values.contains(value),
        FieldTest::IsNot(value) => !values.contains(value),
        FieldTest::IsIn(known) => values.iter().any(|value| known.contains(value)),
    }
}

fn shown(values: &[String]) -> String {
    if values.is_empty() { "not set".to_owned() } else { values.join(", ") }
}
