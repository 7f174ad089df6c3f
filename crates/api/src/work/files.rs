//! Records as files in the user's checkout, `.forge/work/KIND/ID.json`, and what people and git change there.
//!
//! | the file | what happens |
//! |---|---|
//! | is as Forge wrote it, now or earlier | it is written as the record is now |
//! | is missing | it is written again, and noted |
//! | says something else that is legal | that is taken in as a fact, by the author of the commit that brought it, or by the person |
//! | breaks a rule | it is left alone, and its record is not changed |
//!
//! Invariant: a file is replaced only if its bytes are some that Forge wrote, or were taken in just now.

use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
};

use forge_core::work::{WorkAuthor, WorkCommand, WorkId, WorkKind, WorkRecord};
use forge_driver::Error;
use forge_store::work::{WorkError, file_bytes, file_sum, read_file};
use forge_workspace::CheckoutFile;
use rustix::fs::{FlockOperation, flock};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    records::{Access, WorkRecords},
    refusals,
};
use crate::forge::Forge;

/// The folder of all records.
pub(super) const FOLDER: &str = ".forge/work";

/// Something that `forge work check` found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkFinding {
    /// The file, from the top of the checkout; none for the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The field and the rule that it breaks.
    pub what: String,
    /// The command that helps.
    pub next: String,
}

/// Returns the path of the file of a record.
pub(super) fn path(kind: WorkKind, id: &WorkId) -> String {
    format!("{FOLDER}/{}/{id}.json", kind.folder())
}

/// Tells whether the checkout has files of records.
pub(super) fn are_there(forge: &Forge) -> Result<bool, Error> {
    for kind in WorkKind::ALL {
        let folder = format!("{FOLDER}/{}", kind.folder());
        if !forge.home.repository.checkout_folder(&folder)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

impl WorkFinding {
    fn new(path: &str, id: Option<&WorkId>, what: impl Into<String>) -> Self {
        let next = match id {
            Some(id) => format!("edit {path}\n   or: forge work write {id}"),
            None => format!("edit {path}, or remove it"),
        };
        Self { path: Some(path.to_owned()), what: what.into(), next }
    }

    /// Returns true if it is about the file of this record.
    pub(crate) fn is_about(&self, record: &WorkRecord) -> bool {
        self.path.as_deref() == Some(path(record.kind, &record.id).as_str())
    }

    pub(crate) fn into_error(self) -> Error {
        let Self { path, what, next } = self;
        let place = path.map(|path| format!("{path}: ")).unwrap_or_default();
        Error::usage(format!("{place}{what}"), next)
    }
}

impl WorkRecords<'_> {
    /// Looks at everything: the database, and all files. What is legal is taken in.
    pub fn check(&mut self) -> Result<Vec<WorkFinding>, Error> {
        let mut findings = Vec::new();
        if let Err(error) = self.store.verify() {
            let next = error.next_step().unwrap_or_default();
            findings.push(WorkFinding { path: None, what: error.to_string(), next });
            return Ok(findings);
        }
        findings.extend(self.take_all()?);
        Ok(findings)
    }

    /// Restores the file of a record, whatever is in it.
    pub fn restore_file(&mut self, id: &str) -> Result<String, Error> {
        let Some(record) = self.find_by_end(id, &|id| format!("forge work write {id}"))? else {
            let what = format!("there is no record `{id}`");
            return Err(Error::usage(what, "forge task list"));
        };
        let Some(place) = self.place() else {
            let what = "a bare repository has no checkout to write files in";
            return Err(Error::usage(what, "git clone"));
        };
        let _lock = self.lock()?;
        self.store.note_written(&record, &place).map_err(|error| refusals::store(&error))?;
        let path = path(record.kind, &record.id);
        self.forge.home.repository.replace_checkout_file(&path, &file_bytes(&record))?;
        Ok(path)
    }

    /// Takes in what is new about a record that is about to be used, and returns its id.
    pub(super) fn settle(&mut self, kind: WorkKind, text: &str) -> Result<WorkId, Error> {
        let id = self.resolve(kind, text)?;
        let is_known = self.row(&id)?.is_some();
        if is_known && self.take_in(kind, &id)?.is_ok() {
            self.note_refreshed();
            return Ok(id);
        }
        // It may be in a file only, or name a record that is.
        self.take_all()?;
        let id = self.resolve(kind, text)?;
        // What is in no file either is refused by the command itself.
        match self.take_in(kind, &id)? {
            Ok(()) => Ok(id),
            Err(finding) => Err(finding.into_error()),
        }
    }

    /// Takes in everything that is new, and notes what cannot be.
    pub(super) fn note_findings(&mut self) -> Result<(), Error> {
        for finding in self.take_all()? {
            let path = finding.path.as_deref().unwrap_or(FOLDER);
            self.notes.push(format!("{path}: {}", finding.what));
        }
        Ok(())
    }

    /// Notes which files were written because their records have changed since.
    fn note_refreshed(&mut self) {
        let files = std::mem::take(&mut self.refreshed);
        let more = match files.len() {
            0 => return,
            1 => "; commit it".to_owned(),
            several => format!(" and {} more; commit them", several - 1),
        };
        self.notes.push(format!("updated {}{more}", files[0]));
    }

    /// Takes in all files. Those that name others are tried again after them.
    pub fn take_all(&mut self) -> Result<Vec<WorkFinding>, Error> {
        let findings = self.take_each()?;
        self.note_refreshed();
        Ok(findings)
    }

    fn take_each(&mut self) -> Result<Vec<WorkFinding>, Error> {
        let mut findings = Vec::new();
        let mut open: BTreeSet<(WorkKind, WorkId)> = BTreeSet::new();
        for row in self.all()? {
            open.insert((row.record.kind, row.record.id));
        }
        for kind in WorkKind::ALL {
            let folder = format!("{FOLDER}/{}", kind.folder());
            for name in self.forge.home.repository.checkout_folder(&folder)? {
                let Some(stem) = name.strip_suffix(".json") else { continue };
                match stem.parse::<WorkId>() {
                    Ok(id) => {
                        let known = self.row(&id)?.map(|row| (row.record.kind, row.record.id));
                        match known {
                            Some((other, own)) if other != kind || own.as_str() != stem => {
                                let what = format!(
                                    "`{own}` is a {other}; its file is {}",
                                    path(other, &own)
                                );
                                let place = format!("{folder}/{name}");
                                findings.push(WorkFinding::new(&place, None, what));
                            }
                            Some(_) | None => {
                                open.insert((kind, id));
                            }
                        }
                    }
                    Err(error) => {
                        let place = format!("{folder}/{name}");
                        findings.push(WorkFinding::new(&place, None, error.to_string()));
                    }
                }
            }
        }
        loop {
            let mut wrong = Vec::new();
            let before = open.len();
            let mut next: Vec<(WorkKind, WorkId)> = std::mem::take(&mut open).into_iter().collect();
            // `T9` before `T10`: what comes after another one mostly has the higher number.
            next.sort_by_key(|(kind, id)| (*kind, id.as_str().len()));
            for (kind, id) in next {
                if let Err(finding) = self.take_in(kind, &id)? {
                    wrong.push(finding);
                    open.insert((kind, id));
                }
            }
            if open.is_empty() || open.len() == before {
                findings.extend(wrong);
                return Ok(findings);
            }
        }
    }

    /// Takes in the file of one record, or writes it where it is behind.
    fn take_in(&mut self, kind: WorkKind, id: &WorkId) -> Result<Result<(), WorkFinding>, Error> {
        if self.access == Access::Look {
            return Ok(Ok(()));
        }
        let Some(place) = self.place() else { return Ok(Ok(())) };
        let record = self.row(id)?.map(|row| row.record);
        let kind = record.as_ref().map_or(kind, |record| record.kind);
        let id = record.as_ref().map_or(id, |record| &record.id).clone();
        let path = path(kind, &id);
        let known = record.as_ref().map(|record| &record.id);
        let content = match self.forge.home.repository.checkout_file(&path)? {
            CheckoutFile::Content(content) => content,
            CheckoutFile::Blocked => {
                let what = "a link or something else is in the place of the file";
                return Ok(Err(WorkFinding {
                    path: Some(path.clone()),
                    what: what.to_owned(),
                    next: format!("move it away: ls -l {path}"),
                }));
            }
            CheckoutFile::Missing => {
                let Some(record) = record else { return Ok(Ok(())) };
                let was_there = self.store.has_written_in(&id, &place);
                if was_there.map_err(|error| refusals::store(&error))? {
                    self.notes.push(format!("{path} was deleted; it is written again"));
                }
                self.write_file(&record.id)?;
                return Ok(Ok(()));
            }
        };
        if record.as_ref().is_some_and(|record| file_bytes(record) == content) {
            return Ok(Ok(()));
        }
        if known.is_some() && self.is_written(&id, &content)? {
            self.write_file(&id)?;
            self.refreshed.push(path);
            return Ok(Ok(()));
        }
        let read = match read_file(kind, &content) {
            Ok(read) if read.id.as_str() == id.as_str() => read,
            Ok(read) => {
                let what =
                    format!("`{}` is `{}`, unlike the name of the file", kind.id_key(), read.id);
                return Ok(Err(WorkFinding::new(&path, known, what)));
            }
            Err(flaw) => return Ok(Err(WorkFinding::new(&path, known, flaw.to_string()))),
        };
        let base = match read.file.rev {
            Some(rev) if known.is_some() => self.store.at_revision(&id, rev),
            Some(_) | None => Ok(None),
        };
        let base = base.map_err(|error| refusals::store(&error))?;
        let by = self.author(&path, &content);
        let command = WorkCommand::TakeFile { kind, id: id.clone(), file: read.file, base };
        match self.submit(&by, &command) {
            Ok((row, is_changed)) => {
                if is_changed {
                    self.notes
                        .push(format!("{path} was changed by {}; its record is updated", by.who()));
                }
                self.replace_file(&row.record, &content)?;
                Ok(Ok(()))
            }
            Err(WorkError::Refused(refusal)) => {
                Ok(Err(WorkFinding::new(&path, known, refusal.to_string())))
            }
            Err(error) => Err(refusals::store(&error)),
        }
    }

    /// Writes the file of a record as it is now, unless somebody has changed it meanwhile: then the next command takes that in.
    pub(super) fn write_file(&mut self, id: &WorkId) -> Result<(), Error> {
        let Some(place) = self.place() else { return Ok(()) };
        let _lock = self.lock()?;
        // Read below the lock: of two writers the later one writes what is newest.
        let Some(row) = self.row(id)? else { return Ok(()) };
        let path = path(row.record.kind, &row.record.id);
        match self.forge.home.repository.checkout_file(&path)? {
            CheckoutFile::Content(content) if !self.is_written(id, &content)? => return Ok(()),
            CheckoutFile::Content(_) | CheckoutFile::Missing | CheckoutFile::Blocked => {}
        }
        let noted = self.store.note_written(&row.record, &place);
        noted.map_err(|error| refusals::store(&error))?;
        let bytes = file_bytes(&row.record);
        Ok(self.forge.home.repository.replace_checkout_file(&path, &bytes)?)
    }

    /// Replaces a file whose content was just taken in.
    fn replace_file(&mut self, record: &WorkRecord, taken: &[u8]) -> Result<(), Error> {
        let _lock = self.lock()?;
        let path = path(record.kind, &record.id);
        let repository = &self.forge.home.repository;
        if repository.checkout_file(&path)? == CheckoutFile::Content(taken.to_vec()) {
            if let Some(place) = self.place() {
                let noted = self.store.note_written(record, &place);
                noted.map_err(|error| refusals::store(&error))?;
            }
            self.forge.home.repository.replace_checkout_file(&path, &file_bytes(record))?;
        }
        Ok(())
    }

    pub(super) fn is_written(&self, id: &WorkId, content: &[u8]) -> Result<bool, Error> {
        let written = self.store.has_written(id, &file_sum(content));
        written.map_err(|error| refusals::store(&error))
    }

    /// Returns who changed a file: the author of the commit that has it so, or the person who is here.
    fn author(&self, path: &str, content: &[u8]) -> WorkAuthor {
        match self.forge.home.repository.commit_of_file(path, content) {
            Some(found) => WorkAuthor::File { who: found.author, commit: Some(found.commit) },
            None => WorkAuthor::File { who: self.who(), commit: None },
        }
    }

    /// Fails if the files of a kind have no place: then nothing new is created either.
    pub(super) fn refuse_blocked_folder(&self, kind: WorkKind) -> Result<(), Error> {
        let folder = format!("{FOLDER}/{}", kind.folder());
        let any = self.forge.home.repository.checkout_file(&format!("{folder}/any"))?;
        if any != CheckoutFile::Blocked {
            return Ok(());
        }
        let what =
            format!("{folder} is not a folder: a file or a link is in its place, or above it");
        Err(Error::usage(what, "move it away: ls -l .forge .forge/work"))
    }

    /// Waits for the right to write files. It ends with what is returned.
    fn lock(&self) -> Result<File, Error> {
        let path = self.forge.home.dir.join("work.lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| Error::file(&path, &error))?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| Error::file(&path, &error.into()))?;
        Ok(file)
    }
}
