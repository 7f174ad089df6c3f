//! What `forge doctor --fix` can mend by itself: files that are behind, what a Forge that died left lying, and settings
//! with older names.
//!
//! Not here: what only a person can decide. Checkouts of runs that are over may hold work that nobody has taken
//! over; they are named, and stay.
//!
//! Invariant: what is removed can be made anew, or is of a process that is long gone. A file of a person is
//! rewritten only if that person says so, and the old one is kept beside it.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use forge_driver::{Error, projection::Projector, run_id::short_id};
use forge_project::{
    personal_dirs::config_dir,
    settings::{FILE, LOCAL_FILE, Layer, RenamedKeys, SourceFile, USER_FILE, rename_keys},
};
use forge_store::{atomic_file::replace, disk::RealDisk};

use crate::forge::{Forge, RUNS_MAX};

/// What was not touched for this long is abandoned: no process of Forge keeps such a file for longer than minutes.
const STALE: Duration = Duration::from_secs(3_600);
/// The most entries of a folder that are looked at.
const ENTRIES_MAX: usize = 100_000;

/// The most older files that are kept beside one.
const BACKUPS_MAX: u32 = 1_000;

/// A problem that `forge doctor --fix` can repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixable {
    /// The problem, in a sentence.
    pub what: String,
    /// The repair, in a sentence.
    pub fix: String,
    /// Whose word it takes.
    pub consent: Consent,
    how: RepairAction,
}

/// The consent that a repair needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nobody's: nothing can be lost.
    Nobodys,
    /// That of the person whose file it is.
    ThePersons,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RepairAction {
    Show { run: String },
    Remove { path: PathBuf },
    Rewrite { path: PathBuf, text: String },
}

impl Forge {
    /// Returns all that can be repaired now.
    pub fn fixable(&self) -> Vec<Fixable> {
        let mut all = self.older_settings();
        let (rows, _) = self.rows(RUNS_MAX).unwrap_or_default();
        for row in rows.iter().filter(|row| !self.is_driven(&row.run)) {
            all.extend(self.is_behind(&row.run));
            all.extend(stale(&self.home.run(&row.run), is_scratch));
            all.extend(stale(&self.home.run(&row.run).join("artifacts"), is_scratch));
        }
        all.extend(self.home.repository.top.iter().flat_map(|top| stale(top, is_settings_scratch)));
        all.extend(stale(&std::env::temp_dir(), is_check));
        all
    }

    /// Mends one thing, and says what was done. Agents are refused.
    pub fn fix(&self, fixable: &Fixable) -> Result<String, Error> {
        self.refuse_agents()?;
        match &fixable.how {
            RepairAction::Show { run } => {
                self.view(run)?;
                match self.is_behind(run) {
                    None => Ok(format!("brought the files of {} up to date", short_id(run))),
                    Some(_) => Err(Error::surroundings(
                        format!("the files of {} are still behind", short_id(run)),
                        "forge doctor --rebuild",
                    )),
                }
            }
            RepairAction::Remove { path } => {
                let removed = match fs::symlink_metadata(path) {
                    Ok(found) if found.is_dir() => fs::remove_dir_all(path),
                    Ok(_) => fs::remove_file(path),
                    // What mended something else has taken it along.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    Err(error) => Err(error),
                };
                removed.map_err(|error| Error::file(path, &error))?;
                Ok(format!("removed {}", path.display()))
            }
            RepairAction::Rewrite { path, text } => {
                let backup = kept_beside(path)?;
                let place =
                    if path.is_symlink() { fs::canonicalize(path) } else { Ok(path.clone()) };
                place
                    .and_then(|place| replace(&place, text.as_bytes()))
                    .map_err(|error| Error::file(path, &error))?;
                Ok(format!("rewrote {}; the old version is {}", path.display(), backup.display()))
            }
        }
    }

    fn older_settings(&self) -> Vec<Fixable> {
        let top = self.home.repository.top.as_deref();
        let user = config_dir().ok().map(|dir| (Layer::User, dir.join(USER_FILE)));
        let repo = top.map(|top| (Layer::Repo, top.join(FILE)));
        let local = top.map(|top| (Layer::Local, top.join(LOCAL_FILE)));
        let mut all = Vec::new();
        for (layer, path) in [user, repo, local].into_iter().flatten() {
            let Ok(Some(file)) = SourceFile::read(&path) else { continue };
            let Ok(Some(RenamedKeys { text, keys })) = rename_keys(layer, &file) else { continue };
            let keys: Vec<String> =
                keys.iter().map(|(old, new)| format!("{old} was renamed to {new}")).collect();
            all.push(Fixable {
                what: format!("{}: {}", path.display(), keys.join(", ")),
                fix: format!("rewrites {}, and keeps the old one beside it", path.display()),
                consent: Consent::ThePersons,
                how: RepairAction::Rewrite { path, text },
            });
        }
        all
    }

    /// Finds projections of a run that are behind its journal.
    fn is_behind(&self, run: &str) -> Option<Fixable> {
        let (_, seq) = self.fold(run).ok()?;
        let mut projector = Projector::new(Arc::new(RealDisk), &self.home, run);
        let is_whole = projector.shown().ok() == Some(seq) && projector.state_shown() == Some(seq);
        (!is_whole).then(|| Fixable {
            what: format!("the generated files of {} are out of date", short_id(run)),
            fix: "writes them again".to_owned(),
            consent: Consent::Nobodys,
            how: RepairAction::Show { run: run.to_owned() },
        })
    }
}

/// Copies a file beside itself under a name that nothing has yet.
fn kept_beside(path: &Path) -> Result<PathBuf, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".before-fix");
    for n in 1..=BACKUPS_MAX {
        let mut backup = name.clone();
        if n > 1 {
            backup.push(format!(".{n}"));
        }
        let backup = PathBuf::from(backup);
        match File::create_new(&backup) {
            Ok(_) => {
                fs::copy(path, &backup).map_err(|error| Error::file(&backup, &error))?;
                return Ok(backup);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::file(&backup, &error)),
        }
    }
    Err(Error::surroundings(
        format!("{} was repaired {BACKUPS_MAX} times already", path.display()),
        format!("see {}.before-fix, and remove those that you do not need", path.display()),
    ))
}

/// Returns what lies in a folder, has such a name, belongs to Forge, and was not touched for long.
fn stale(dir: &Path, is_own: fn(&str) -> bool) -> Vec<Fixable> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(ENTRIES_MAX);
    let uid = rustix::process::getuid().as_raw();
    let mut all = Vec::new();
    for entry in entries {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_own(name)) else { continue };
        let Ok(found) = entry.metadata() else { continue };
        let age = found.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if found.uid() == uid && age.is_some_and(|age| age >= STALE) {
            all.push(Fixable {
                what: format!("{name} in {} was left by a crashed process", dir.display()),
                fix: "removes it".to_owned(),
                consent: Consent::Nobodys,
                how: RepairAction::Remove { path: entry.path() },
            });
        }
    }
    all.sort_by(|one, other| one.what.cmp(&other.what));
    all
}

/// Returns what a file is called until it has all its bytes.
fn is_scratch(name: &str) -> bool {
    name.strip_prefix('.').and_then(|name| name.strip_suffix(".new")).is_some()
}

fn is_settings_scratch(name: &str) -> bool {
    let number = name.strip_prefix(".forge-").and_then(|rest| rest.strip_suffix(".tmp"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns where `forge agents check` made its one call.
fn is_check(name: &str) -> bool {
    let number = name.strip_prefix("forge-check-");
    number.is_some_and(|number| number.len() == 8 && number.bytes().all(|b| b.is_ascii_hexdigit()))
}
