//! Records of work: creating, changing and reading features, sprints, tasks and bugs.
//!
//! Read `records` next (rows and the user), `files` (records as files in the checkout, and what people change there), `import`
//! (what other systems left), `write_hook` (what agents are about to write), then
//! `refusals` (errors with the command that helps), `assignments` (what people type as `FIELD=VALUE`), `view` (records as they are shown) and
//! `pages` (what people read).
//!
//! Not here: which changes are legal (`core::work`), and the database (`store::work`).
//!
//! Invariant: a file that breaks a rule is never overwritten, and its record is not changed until it is fixed or restored.

mod assignments;
mod files;
mod import;
mod pages;
mod records;
pub(crate) mod refusals;
mod view;
mod write_hook;

use std::collections::BTreeMap;

use forge_core::work::{
    FieldChange, FieldShape, FieldValue, Fields, WorkAuthor, WorkCommand, WorkId, WorkKind,
    WorkRecord, WorkRefusal, WorkState, rule,
};
use forge_driver::Error;
use forge_store::{
    journal::StoreError,
    work::{WorkError, WorkRow, WorkStore, work_database},
};
use forge_workspace::Repository;

pub use files::WorkFinding;
pub use import::{ImportAction, ImportFinding, ImportLine, ImportMode, ImportPlan, ImportedNote};
pub use pages::{PagesMode, PagesView};
pub use records::WorkRecords;
pub use view::{WorkChange, WorkEvent, WorkLine, WorkView};
pub use write_hook::{HOOK_BYTES_MAX, allow_write, check_tool_call};

use crate::{forge::Forge, start::record::unknown_pipeline};
use files::FOLDER;
use records::Access;
use refusals::{TypedChange, TypedSubject};

/// The longest beginning of ids that is made from the name of a folder, in characters.
const PREFIX_CHARS_MAX: usize = 12;

impl Forge {
    /// Opens the records to change them. Agents are refused.
    pub fn work(&self) -> Result<WorkRecords<'_>, Error> {
        self.refuse_agents()?;
        let store = WorkStore::open(&self.home.dir).map_err(|error| refusals::store(&error))?;
        Ok(WorkRecords {
            forge: self,
            store,
            access: Access::Change,
            notes: Vec::new(),
            refreshed: Vec::new(),
        })
    }

    /// Opens the records to look at them; nothing if there are none.
    pub fn work_to_read(&self) -> Result<Option<WorkRecords<'_>>, Error> {
        let dir = &self.home.dir;
        if !work_database(dir).exists() && !files::are_there(self)? {
            return Ok(None);
        }
        let opened = match self.refuse_agents() {
            Ok(()) => WorkStore::open(dir).map(|store| Some((store, Access::Change))),
            Err(_) => look(self),
        };
        let opened = match opened {
            Err(WorkError::Store(StoreError::ReadOnly { .. })) => look(self),
            opened => opened,
        };
        let opened = opened.map_err(|error| refusals::store(&error))?;
        let records = |(store, access)| {
            let (notes, refreshed) = (Vec::new(), Vec::new());
            WorkRecords { forge: self, store, access, notes, refreshed }
        };
        Ok(opened.map(records))
    }
}

fn look(forge: &Forge) -> Result<Option<(WorkStore, Access)>, WorkError> {
    let store = WorkStore::open_to_read(&forge.home.dir)?;
    Ok(store.map(|store| (store, Access::Look)))
}

impl WorkRecords<'_> {
    /// Creates a record.
    pub fn create(
        &mut self,
        kind: WorkKind,
        id: Option<&str>,
        title: &str,
        assigned: &[String],
    ) -> Result<WorkChange, Error> {
        self.note_findings()?;
        // Also where it is typed as the fields are.
        let title = title.strip_prefix("title=").unwrap_or(title);
        if assigned.iter().any(|text| text.starts_with("title=")) {
            let what = "the title is given twice: once alone, and once as `title=`";
            return Err(Error::usage(what, format!("forge {kind} new \"{title}\"")));
        }
        let typed = TypedChange {
            kind,
            subject: TypedSubject::New { title: title.to_owned() },
            assigned: assigned.to_vec(),
        };
        let id = id.map(|id| refusals::parse_id(kind, id)).transpose()?;
        let mut fields = Fields::from([("title".to_owned(), FieldValue::Text(title.to_owned()))]);
        for text in assigned {
            let (name, change) = assignments::parse(&typed, text)?;
            match change {
                FieldChange::Set(value) => {
                    fields.insert(name, value);
                }
                FieldChange::Clear => {
                    fields.remove(&name);
                }
                FieldChange::Add(entries) => {
                    let all = fields.entry(name).or_insert(FieldValue::List(Vec::new()));
                    if let FieldValue::List(all) = all {
                        all.extend(entries.into_iter().map(FieldValue::Text));
                    }
                }
                FieldChange::Remove(_) => {
                    return Err(assignments::nothing_to_remove(&typed, &name));
                }
            }
        }
        for (name, value) in &mut fields {
            self.resolve_ends(&typed, name, value)?;
        }
        self.refuse_unknown_pipeline(&fields)?;
        self.refuse_blocked_folder(kind)?;
        let prefix = self.prefix()?;
        self.change(&WorkCommand::Create { kind, id, prefix, fields }, &typed)
    }

    /// Changes fields of a record.
    pub fn set(
        &mut self,
        kind: WorkKind,
        id: &str,
        assigned: &[String],
    ) -> Result<WorkChange, Error> {
        let id = self.settle(kind, id)?;
        let typed = TypedChange { assigned: assigned.to_vec(), ..TypedChange::known(kind, &id) };
        let changes = assigned.iter().map(|text| assignments::parse(&typed, text));
        let mut changes = changes.collect::<Result<Vec<(String, FieldChange)>, Error>>()?;
        for (name, change) in &mut changes {
            match change {
                FieldChange::Set(value) => self.resolve_ends(&typed, name, value)?,
                FieldChange::Add(entries) | FieldChange::Remove(entries) => {
                    for text in entries {
                        self.resolve_end(&typed, name, text)?;
                    }
                }
                FieldChange::Clear => {}
            }
        }
        let set = changes.iter().filter_map(|(name, change)| match change {
            FieldChange::Set(value) => Some((name.clone(), value.clone())),
            FieldChange::Clear | FieldChange::Add(_) | FieldChange::Remove(_) => None,
        });
        self.refuse_unknown_pipeline(&set.collect())?;
        self.change(&WorkCommand::Set { kind, id, changes }, &typed)
    }

    /// Replaces ends of ids in the value of a field that names records by the whole ids.
    fn resolve_ends(
        &self,
        typed: &TypedChange,
        field: &str,
        value: &mut FieldValue,
    ) -> Result<(), Error> {
        match value {
            FieldValue::Text(text) => self.resolve_end(typed, field, text),
            FieldValue::List(entries) => {
                entries.iter_mut().try_for_each(|one| self.resolve_ends(typed, field, one))
            }
            FieldValue::Flag(_) | FieldValue::Count(_) | FieldValue::Table(_) => Ok(()),
        }
    }

    fn resolve_end(
        &self,
        typed: &TypedChange,
        field: &str,
        text: &mut String,
    ) -> Result<(), Error> {
        let Some(rule) = rule(typed.kind, field) else { return Ok(()) };
        let (FieldShape::Record(named) | FieldShape::Records(named)) = rule.shape else {
            return Ok(());
        };
        // What is no id at all is refused with the other rules of the field.
        if text.parse::<WorkId>().is_err() {
            return Ok(());
        }
        let with = |id: &WorkId| {
            let values = typed.values(field).map(|one| if one == text { id.as_str() } else { one });
            let values = values.collect::<Vec<&str>>().join(",");
            typed.with(field, &format!("{}={values}", rule.label()))
        };
        *text = self.resolve_for(named, text, &with)?.to_string();
        Ok(())
    }

    fn refuse_unknown_pipeline(&self, fields: &Fields) -> Result<(), Error> {
        match unknown_pipeline(&self.forge.settings()?, fields) {
            None => Ok(()),
            Some(what) => Err(Error::usage(what, "forge config list".to_owned())),
        }
    }

    /// Moves a record to a state.
    pub fn move_to(
        &mut self,
        kind: WorkKind,
        id: &str,
        to: &str,
        why: Option<String>,
    ) -> Result<WorkChange, Error> {
        let id = self.settle(kind, id)?;
        let typed = TypedChange::known(kind, &id);
        let command = WorkCommand::Move { kind, id: id.clone(), to: to.to_owned(), why };
        let change = self.change(&command, &typed)?;
        if change.view.line.status == WorkState::Abandoned {
            self.note_on_what_is_left(&id)?;
        }
        Ok(change)
    }

    /// Returns true if git ignores the files of records, so that `git add` needs `--force`.
    pub fn are_ignored(&self) -> bool {
        let top = self.forge.home.repository.top.as_deref();
        top.is_some_and(|top| Repository::is_ignored(top, FOLDER))
    }

    /// Names the tasks that are left open: those of a sprint that will not be done, and those that wait for such a task.
    fn note_on_what_is_left(&mut self, id: &WorkId) -> Result<(), Error> {
        let rows = self.all()?;
        let open = rows.iter().map(|row| &row.record).filter(|record| {
            record.kind == WorkKind::Task && !record.kind.next_states(record.state).is_empty()
        });
        for task in open {
            let left = &task.id;
            if task.texts("sprintId").contains(&id.as_str()) {
                self.notes
                    .push(format!("its task `{left}` is still open: forge task retire {left}"));
            }
            if task.texts("dependencies").contains(&id.as_str()) {
                self.notes.push(format!(
                    "`{left}` depends on it and cannot begin: forge task set {left} dependencies-={id}"
                ));
            }
        }
        Ok(())
    }

    /// Moves a blocked record back to the state it left.
    pub fn unblock(&mut self, kind: WorkKind, id: &str, why: String) -> Result<WorkChange, Error> {
        let id = self.settle(kind, id)?;
        let typed = TypedChange::known(kind, &id);
        self.change(&WorkCommand::Unblock { kind, id, why }, &typed)
    }

    /// Lists the records of a kind.
    pub fn list(&mut self, kind: WorkKind) -> Result<Vec<WorkLine>, Error> {
        self.note_findings()?;
        let rows = self.all()?;
        Ok(rows.iter().filter(|row| row.record.kind == kind).map(WorkLine::new).collect())
    }

    /// Shows a record.
    pub fn show(&mut self, kind: WorkKind, id: &str) -> Result<WorkView, Error> {
        let meant = self.resolve(kind, id)?;
        if let Err(error) = self.settle(kind, meant.as_str()) {
            // A wrong file does not hide the record.
            self.notes.push(error.what);
        }
        let wanted = self.resolve(kind, id)?;
        let refusal = match self.row(&wanted)? {
            Some(row) if row.record.kind == kind => return self.view(&row),
            Some(row) => {
                let found = row.record.kind;
                WorkRefusal::OtherKind { kind, id: row.record.id, found }
            }
            None => WorkRefusal::NoSuchRecord { kind, id: wanted.clone() },
        };
        Err(self.explain(&TypedChange::known(kind, &wanted), WorkError::Refused(refusal)))
    }

    fn change(&mut self, command: &WorkCommand, typed: &TypedChange) -> Result<WorkChange, Error> {
        let known = command.id().map(|id| self.row(id)).transpose()?.flatten();
        let before = known.map_or(0, |row| row.record.rev);
        let by = WorkAuthor::Person { who: self.who() };
        let changed = self.submit(&by, command);
        let row = match changed {
            Ok((row, _)) => row,
            Err(error) => return Err(self.explain(typed, error)),
        };
        self.write_file(&row.record.id)?;
        let view = self.view(&row)?;
        let events = view.history.iter().filter(|event| event.rev > before).cloned().collect();
        Ok(WorkChange { view, events })
    }

    /// Converts an error about a record, with the id that was probably meant.
    fn explain(&self, typed: &TypedChange, error: WorkError) -> Error {
        let refusal = match error {
            WorkError::Refused(refusal) => refusal,
            WorkError::Store(_) => return refusals::store(&error),
        };
        let explained = refusals::refused(typed, &refusal, None);
        if let WorkRefusal::NoSuchRecord { kind, id } = &refusal
            && *kind == typed.kind
        {
            let Some(near) = self.near(*kind, id.as_str()) else { return explained };
            let what = format!("{refusal}; did you mean `{near}`?");
            return Error::usage(what, format!("forge {kind} show {near}"));
        }
        // A field that names a record which is not there.
        let field = if let WorkRefusal::Field(flaw) = &refusal {
            refusals::root(flaw)
        } else if matches!(refusal, WorkRefusal::NoSuchRecord { .. }) {
            "sprintId"
        } else {
            return explained;
        };
        let Some(rule) = rule(typed.kind, field) else { return explained };
        let (FieldShape::Record(named) | FieldShape::Records(named)) = rule.shape else {
            return explained;
        };
        let is_unknown = |text: &&str| {
            self.resolve(named, text).is_ok_and(|id| matches!(self.row(&id), Ok(None)))
        };
        let Some(wrong) = typed.values(field).find(is_unknown) else { return explained };
        let Some(near) = self.near(named, wrong) else {
            let all = self.all().unwrap_or_default();
            if all.iter().any(|row| row.record.kind == named) {
                return explained;
            }
            return Error::usage(explained.what, format!("forge {named} new \"TITLE\""));
        };
        let values: Vec<&str> =
            typed.values(field).map(|one| if one == wrong { near.as_str() } else { one }).collect();
        let next = typed.with(field, &format!("{}={}", rule.label(), values.join(",")));
        Error::usage(format!("{}; did you mean `{near}`?", explained.what), next)
    }

    fn view(&self, row: &WorkRow) -> Result<WorkView, Error> {
        let record = &row.record;
        let history = self.store.history(&record.id).map_err(|error| refusals::store(&error))?;
        let mut fields = record.fields.clone();
        fields.extend(self.derived(record)?);
        Ok(WorkView {
            line: WorkLine::new(row),
            next: record.kind.next_states(record.state).to_vec(),
            before: record.left,
            fields,
            history: history.into_iter().map(WorkEvent::new).collect(),
        })
    }

    /// Returns the fields that follow from other records.
    fn derived(&self, record: &WorkRecord) -> Result<Fields, Error> {
        let mut found: BTreeMap<&str, Vec<FieldValue>> = BTreeMap::new();
        let mut waits = Fields::new();
        let is_named = |other: &WorkRecord, field: &str| {
            other
                .texts(field)
                .iter()
                .any(|text| text.parse().is_ok_and(|id: WorkId| id == record.id))
        };
        let rows = match record.kind {
            WorkKind::Sprint | WorkKind::Feature => self.all()?,
            WorkKind::Task | WorkKind::Bug => Vec::new(),
        };
        for WorkRow { record: other, .. } in &rows {
            let id = FieldValue::Text(other.id.to_string());
            match (record.kind, other.kind) {
                (WorkKind::Sprint, WorkKind::Task) if is_named(other, "sprintId") => {
                    found.entry("taskIds").or_default().push(id);
                    if let Some(first) = other.fields.get("dependencies") {
                        waits.insert(other.id.to_string(), first.clone());
                    }
                }
                (WorkKind::Feature, WorkKind::Task) if is_named(other, "feature_id") => {
                    found.entry("tasks").or_default().push(id);
                }
                (WorkKind::Feature, WorkKind::Sprint)
                    if is_named(other, "feature_id") || is_named(other, "features") =>
                {
                    found.entry("sprints").or_default().push(id);
                }
                (_, _) => {}
            }
        }
        let found = found.into_iter().map(|(name, ids)| (name.to_owned(), FieldValue::List(ids)));
        let waits =
            (!waits.is_empty()).then_some(("dependencies".to_owned(), FieldValue::Table(waits)));
        Ok(found.chain(waits).collect())
    }

    /// Returns the beginning of new ids: that of the first sprint or bug, or else the name of the folder.
    fn prefix(&self) -> Result<String, Error> {
        let rows = self.all()?;
        let known = rows.iter().find_map(|row| {
            let id = row.record.id.as_str();
            let (prefix, number) = match row.record.kind {
                WorkKind::Sprint => id.rsplit_once("-S")?,
                WorkKind::Bug => id.rsplit_once("-BUG-")?,
                WorkKind::Task | WorkKind::Feature => return None,
            };
            number.bytes().all(|digit| digit.is_ascii_digit()).then(|| prefix.to_owned())
        });
        let repository = &self.forge.home.repository;
        let folder = repository.common_dir.parent().and_then(|folder| folder.file_name());
        let name = folder.unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        let name: String =
            name.chars().filter(char::is_ascii_alphanumeric).take(PREFIX_CHARS_MAX).collect();
        Ok(known.unwrap_or(if name.is_empty() { "WORK".to_owned() } else { name }))
    }
}
