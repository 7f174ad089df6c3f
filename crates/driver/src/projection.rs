//! Files that show the journal, for people and scripts: `state.json`, `events.jsonl`, the current
//! artifacts and, of a run that is over or held, `summary.md`, in the live folder of a run.
//!
//! They are made from the records alone, so that throwing them away and making them again gives
//! the same bytes. `state.json` and artifacts are replaced by rename, a few times a second while a
//! run goes on and whenever it stops. `events.jsonl` only grows;
//! a last line that a crash tore is cut off when it is next written. What else a crash or an older
//! state left among the artifacts is taken away when they are next shown.
//!
//! Invariant: whoever shows a run holds its lock, so that nobody else writes these files.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_core::{
    Run,
    event::Blob,
    flow::REQUEST,
    inbox,
    run::Phase,
    view::{PhasesView, RunView},
};
use forge_store::{
    atomic_file::replace_on,
    blobs::Blobs,
    disk::Disk,
    journal::{JournalRecord, projection},
};
use serde::Serialize;

use crate::{
    Error,
    layout::Home,
    summary_file::{self, SUMMARY},
};

/// The content of `state.json`.
#[derive(Serialize, schemars::JsonSchema)]
pub struct StateFile {
    /// The version of this format.
    pub version: u32,
    /// The number of the last record that is included.
    pub seq: u64,
    /// The run.
    #[serde(flatten)]
    pub run: RunView,
    /// Where it stands, in the phases of its flow.
    #[serde(flatten)]
    pub phases: PhasesView,
}

/// Shows one run.
pub struct Projector {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    events: PathBuf,
    id: String,
    /// The last record in `events.jsonl`; nothing until we have looked.
    shown: Option<u64>,
    /// The last record in `state.json`.
    state: u64,
    /// The run as it is shown there.
    view: Option<Box<RunView>>,
    /// The files that lie among the artifacts, and what we put into them.
    artifacts: BTreeMap<PathBuf, Option<Blob>>,
}

impl Projector {
    /// A projector that has not looked yet.
    pub fn new(disk: Arc<dyn Disk>, home: &Home, run: &str) -> Self {
        Self {
            disk,
            dir: home.run(run),
            events: projection(&home.dir, run),
            id: run.to_owned(),
            shown: None,
            state: 0,
            view: None,
            artifacts: BTreeMap::new(),
        }
    }

    /// The last record that `events.jsonl` shows.
    pub fn shown(&mut self) -> Result<u64, Error> {
        if let Some(shown) = self.shown {
            return Ok(shown);
        }
        let shown = last_whole_line(&*self.disk, &self.events);
        let shown = shown.map_err(|error| Error::file(&self.events, &error))?;
        self.shown = Some(shown);
        Ok(shown)
    }

    /// The last record that `state.json` shows, if it can be read.
    pub fn state_shown(&self) -> Option<u64> {
        let text = self.disk.read(&self.dir.join("state.json")).ok()?;
        serde_json::from_slice::<serde_json::Value>(&text).ok()?.get("seq")?.as_u64()
    }

    /// Appends the records that are not shown yet.
    pub fn add(&mut self, records: &[JournalRecord]) -> Result<(), Error> {
        let shown = self.shown()?;
        let new: Vec<&JournalRecord> = records.iter().filter(|record| record.seq > shown).collect();
        let Some(last) = new.last() else { return Ok(()) };
        let mut text = String::new();
        for record in &new {
            text.push_str(&record.to_line());
            text.push('\n');
        }
        let appended = self.disk.append(&self.events, text.as_bytes());
        appended.map_err(|error| Error::file(&self.events, &error))?;
        self.shown = Some(last.seq);
        Ok(())
    }

    /// Shows where the run stands after its last record.
    pub fn show(&mut self, run: &Run, seq: u64, blobs: &Blobs) -> Result<(), Error> {
        if self.state == seq {
            return Ok(());
        }
        self.show_summary(run)?;
        let folder = self.dir.join("artifacts");
        if self.state == 0 {
            self.artifacts =
                lying_in(&*self.disk, &folder).map_err(|error| Error::file(&folder, &error))?;
            let path = folder.join(REQUEST);
            let request = run.definition().start.request.as_bytes();
            replace_on(&*self.disk, &path, request).map_err(|error| Error::file(&path, &error))?;
            self.artifacts.remove(&path);
        }
        let shown = inbox::artifacts(run).into_iter();
        let shown = shown.map(|(scope, name, blob)| (folder.join(scope.as_str()).join(name), blob));
        self.show_artifacts(&shown.collect(), blobs)?;
        // Last: by it, whoever comes after a crash sees that all of it is shown.
        let state = StateFile::new(seq, &self.id, run);
        let path = self.dir.join("state.json");
        replace_on(&*self.disk, &path, state.text().as_bytes())
            .map_err(|error| Error::file(&path, &error))?;
        (self.state, self.view) = (seq, Some(Box::new(state.run)));
        Ok(())
    }

    /// Takes the run as `state.json` shows it, if that is after this record.
    pub fn take_view(&mut self, seq: u64) -> Option<RunView> {
        let view = self.view.take();
        view.filter(|_| self.state == seq).map(|view| *view)
    }

    /// Whoever finds a run that no longer goes on finds what it came to.
    fn show_summary(&self, run: &Run) -> Result<(), Error> {
        let path = self.dir.join(SUMMARY);
        let shown = match run.phase() {
            Phase::Held(_) | Phase::Over(_) => replace_on(
                &*self.disk,
                &path,
                summary_file::text(&self.id, run, run.now()).as_bytes(),
            ),
            Phase::Fresh | Phase::Going => match self.disk.remove(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
        };
        shown.map_err(|error| Error::file(&path, &error))
    }

    fn show_artifacts(
        &mut self,
        shown: &BTreeMap<PathBuf, Blob>,
        blobs: &Blobs,
    ) -> Result<(), Error> {
        for (path, blob) in shown {
            if self.artifacts.get(path).is_some_and(|there| there.as_ref() == Some(blob)) {
                continue;
            }
            let Ok(id) = blob.0.parse() else { continue };
            let bytes = blobs
                .get(&id)
                .map_err(|error| Error::surroundings(error.to_string(), "forge doctor"))?;
            replace_on(&*self.disk, path, &bytes).map_err(|error| Error::file(path, &error))?;
            self.artifacts.insert(path.clone(), Some(blob.clone()));
        }
        let over: Vec<PathBuf> =
            self.artifacts.keys().filter(|path| !shown.contains_key(*path)).cloned().collect();
        for path in over {
            match self.disk.remove(&path) {
                // It was a file that a crash left half written, and has its name by now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.map_err(|error| Error::file(&path, &error))?,
            }
            self.artifacts.remove(&path);
        }
        Ok(())
    }
}

impl StateFile {
    /// What it holds for a run after its last record.
    pub fn new(seq: u64, id: &str, run: &Run) -> Self {
        Self { version: 1, seq, run: RunView::new(id, run), phases: PhasesView::new(id, run) }
    }

    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a view can be written") + "\n"
    }
}

/// All files below a folder. We do not know yet what is in them.
fn lying_in(disk: &dyn Disk, folder: &Path) -> io::Result<BTreeMap<PathBuf, Option<Blob>>> {
    let (mut files, mut left) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(folder) = left.pop() {
        let entries = match disk.list(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            if entry.is_folder {
                left.push(entry.path);
            } else {
                files.insert(entry.path, None);
            }
        }
    }
    Ok(files)
}

/// The number of the last whole line. What a crash tore after it is cut off.
fn last_whole_line(disk: &dyn Disk, path: &Path) -> io::Result<u64> {
    let bytes = match disk.read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let (mut whole, mut last) = (0, 0);
    for end in memchr::memchr_iter(b'\n', &bytes) {
        if JournalRecord::seq_of_line(&bytes[whole..end]) != Some(last + 1) {
            break;
        }
        last += 1;
        whole = end + 1;
    }
    if bytes.len() > whole {
        disk.truncate(path, whole as u64)?;
    }
    Ok(last)
}
