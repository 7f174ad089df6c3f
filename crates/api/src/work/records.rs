//! The records of a repository, and the little that everything about them needs: reading a row, changing one, naming the user.

use std::collections::BTreeSet;

use forge_core::{
    id::is_meant,
    work::{WorkAuthor, WorkCommand, WorkId, WorkKind, WorkRecord, WorkState},
};
use forge_driver::{
    Error,
    clock::{file_time, now},
    person::person,
};
use forge_project::suggest::nearest;
use forge_store::work::{WorkError, WorkMoment, WorkRow, WorkStore};

use super::refusals;
use crate::forge::Forge;

/// The most commands that an error names.
const COMMANDS_MAX: usize = 6;

/// The records of a repository.
pub struct WorkRecords<'a> {
    pub(super) forge: &'a Forge,
    pub(super) store: WorkStore,
    pub(super) access: Access,
    /// What a person should know about files that were taken in or written again.
    pub notes: Vec<String>,
    /// The files that were behind their records, and were written as these are now.
    pub(super) refreshed: Vec<String>,
}

/// The right to take in and to write files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Change,
    /// Agents, and people on a disk that cannot be written, only look.
    Look,
}

impl WorkRecords<'_> {
    pub(super) fn submit(
        &mut self,
        by: &WorkAuthor,
        command: &WorkCommand,
    ) -> Result<(WorkRow, bool), WorkError> {
        let at = now();
        let time = file_time(at);
        let place = self.place();
        let moment = WorkMoment { at, now: &time, by, place: place.as_deref() };
        self.store.change(&moment, command)
    }

    /// Returns a record of any kind, after what people changed in its file was taken in. A file that breaks a rule is an error.
    pub fn find(&mut self, id: &WorkId) -> Result<Option<WorkRecord>, Error> {
        // The kind counts only if there is no such record, and then any does.
        let known = self.known(id)?.map_or(WorkKind::Task, |record| record.kind);
        let id = self.settle(known, id.as_str())?;
        let found = self.known(&id)?;
        // Gates ask for the states of these, too.
        let named: Vec<WorkId> = found.iter().flat_map(named_above).collect();
        for id in named {
            if self.known(&id)?.is_some() {
                self.find(&id)?;
            }
        }
        Ok(found)
    }

    /// Returns a record as it was last taken in.
    pub fn known(&self, id: &WorkId) -> Result<Option<WorkRecord>, Error> {
        Ok(self.row(id)?.map(|row| row.record))
    }

    /// Returns the record that a person means by its id, or by the end of it if no other record of the kind ends so.
    pub(super) fn resolve(&self, kind: WorkKind, text: &str) -> Result<WorkId, Error> {
        self.resolve_for(kind, text, &|id| format!("forge {kind} show {id}"))
    }

    /// Returns the record that is meant; for each of several the error has a command with it.
    pub(super) fn resolve_for(
        &self,
        kind: WorkKind,
        text: &str,
        command: &dyn Fn(&WorkId) -> String,
    ) -> Result<WorkId, Error> {
        let id = refusals::parse_id(kind, text)?;
        if self.row(&id)?.is_some() {
            return Ok(id);
        }
        let own = self.all()?.into_iter().map(|row| row.record).filter(|own| own.kind == kind);
        let ends: Vec<WorkId> = own.map(|own| own.id).filter(|own| ends_with(own, text)).collect();
        match ends.as_slice() {
            [] => Ok(id),
            [one] => Ok(one.clone()),
            several => {
                let names: Vec<&str> = several.iter().map(WorkId::as_str).collect();
                let folder = kind.folder();
                let what = format!("several {folder} end with `{text}`: {}", names.join(", "));
                let commands = several.iter().take(COMMANDS_MAX).map(command);
                Err(Error::usage(what, commands.collect::<Vec<String>>().join("\n   or: ")))
            }
        }
    }

    /// Returns the record of any kind that a person means by its id or the end of it; for each of several the error has a command.
    pub(crate) fn find_by_end(
        &self,
        text: &str,
        command: &dyn Fn(&WorkId) -> String,
    ) -> Result<Option<WorkRecord>, Error> {
        let mut found = None;
        for kind in WorkKind::ALL {
            let meant = self.resolve_for(kind, text, command)?;
            found = found.or(self.row(&meant)?);
        }
        Ok(found.map(|row| row.record))
    }

    /// Returns the id of a kind that was probably meant.
    pub(super) fn near(&self, kind: WorkKind, text: &str) -> Option<String> {
        let all = self.all().unwrap_or_default();
        let own: Vec<&str> = all
            .iter()
            .filter(|row| row.record.kind == kind)
            .map(|row| row.record.id.as_str())
            .collect();
        let mut ends = own.iter().copied().filter(|id| is_meant(id, text));
        let end = ends.next().filter(|_| ends.next().is_none());
        end.or_else(|| nearest(&text.to_ascii_uppercase(), own.iter().copied())).map(str::to_owned)
    }

    /// Returns the id that is most like this one.
    pub fn nearest_id(&self, id: &WorkId) -> Result<Option<String>, Error> {
        let ids: Vec<String> = self.all()?.iter().map(|row| row.record.id.to_string()).collect();
        Ok(nearest(id.as_str(), ids.iter().map(String::as_str)).map(str::to_owned))
    }

    /// Returns the tasks of a sprint, by id.
    pub fn tasks_of(&self, sprint: &WorkId) -> Result<Vec<WorkRecord>, Error> {
        let is_of = |record: &WorkRecord| {
            let named = record.texts("sprintId");
            record.kind == WorkKind::Task
                && named.iter().any(|text| text.parse().is_ok_and(|id: WorkId| id == *sprint))
        };
        let all = self.all()?.into_iter().map(|row| row.record);
        Ok(all.filter(is_of).collect())
    }

    /// Returns the ids of all tasks that are done.
    pub fn committed_tasks(&self) -> Result<BTreeSet<WorkId>, Error> {
        let is_done = |record: &WorkRecord| record.state == WorkState::Committed;
        let all = self.all()?.into_iter().map(|row| row.record);
        Ok(all.filter(is_done).map(|record| record.id).collect())
    }

    pub(super) fn all(&self) -> Result<Vec<WorkRow>, Error> {
        self.store.all().map_err(|error| refusals::store(&error))
    }

    pub(super) fn row(&self, id: &WorkId) -> Result<Option<WorkRow>, Error> {
        self.store.get(id).map_err(|error| refusals::store(&error))
    }

    /// Names the user as git does, or else as the system does.
    pub(super) fn who(&self) -> String {
        self.forge.home.repository.user_name().unwrap_or_else(|| person().who)
    }

    /// Names the checkout.
    pub(super) fn place(&self) -> Option<String> {
        Some(self.forge.home.repository.top.as_deref()?.to_string_lossy().into_owned())
    }
}

/// Returns the sprint of a task, and the feature of a task or sprint.
fn named_above(record: &WorkRecord) -> Vec<WorkId> {
    let fields = match record.kind {
        WorkKind::Task => ["sprintId", "feature_id"].as_slice(),
        WorkKind::Sprint => &["feature_id"],
        WorkKind::Bug | WorkKind::Feature => &[],
    };
    let texts = fields.iter().flat_map(|field| record.texts(field));
    texts.filter_map(|text| text.parse().ok()).collect()
}

/// Returns true if an id ends with these whole parts.
fn ends_with(id: &WorkId, end: &str) -> bool {
    let id = id.as_str();
    let Some(place) = id.len().checked_sub(end.len() + 1) else { return false };
    id.as_bytes()[place] == b'-' && id[place + 1..].eq_ignore_ascii_case(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_meant_by_whole_parts_at_its_end() {
        let id: WorkId = "ACME-S01-T01".parse().unwrap();
        for (end, is_end) in
            [("T01", true), ("s01-t01", true), ("01", false), ("1", false), ("CME-S01-T01", false)]
        {
            assert_eq!(ends_with(&id, end), is_end, "{end}");
        }
    }
}
