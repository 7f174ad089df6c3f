//! What is wrong with the environment and the journal, and what to do about it.
//!
//! - `doctor/finding.rs`: one thing that was checked.
//! - `doctor/first_run.rs`: what a first run needs.
//! - `doctor/repair.rs`: what can be repaired without a person.

mod finding;
mod first_run;
mod repair;

use std::{path::Path, process::Command};

use forge_core::{
    inbox,
    view::{Course, RunRow},
};
use forge_driver::{Error, layout::Home, run_id::short_id};
use forge_project::{
    bounded_read::read_text,
    catalog::Catalog,
    error::help_to_run_git,
    settings::{FILE, Settings},
};
use forge_store::{
    blobs::{BlobId, Blobs},
    journal::{Completeness, JournalRecord, SalvageReport, Store, StoreError, restore, salvage},
    records::{fold, row},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    agents::list::Roster,
    forge::{Forge, RUNS_MAX},
};

use self::finding::{bad, good, note};

pub use self::{
    finding::{Health, HealthFinding},
    repair::{Consent, Fixable},
};

/// The settings of the predecessor.
const PREFERENCES: &str = ".specs/preferences.json";
/// The most bytes of them.
const PREFERENCES_BYTES_MAX: u64 = 1024 * 1024;

/// The export of a damaged journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Salvaged {
    /// The folder with one file of records for each run.
    pub folder: String,
    pub runs: Vec<SalvagedRun>,
    /// Parts that could not be read, in sentences.
    pub notes: Vec<String>,
}

/// The exported files of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SalvagedRun {
    pub run: String,
    /// Its records, in `<run>.jsonl`.
    pub records: u64,
    /// `whole`, `short` (there were more), or `unknown`.
    pub completeness: &'static str,
    /// The first record of which no complete copy exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_damaged: Option<u64>,
}

/// Looks at what can be wrong without a repository.
pub fn examine_outside(dir: &Path, no_repository: Error) -> Vec<HealthFinding> {
    let mut findings = vec![git(), bad(no_repository)];
    match Roster::open(dir) {
        Ok(roster) => findings.extend(first_run::agents(&roster)),
        Err(error) => findings.push(bad(error)),
    }
    findings.extend(first_run::disk(dir));
    findings
}

impl Forge {
    /// Looks at everything that can be wrong.
    pub fn examine(&self) -> Vec<HealthFinding> {
        let mut findings = vec![git(), place(&self.home)];
        match Settings::read(self.home.repository.top.as_deref()) {
            Ok(settings) => {
                findings.push(good(match &self.home.repository.top {
                    Some(top) if top.join(FILE).exists() => format!("{FILE} is valid"),
                    Some(_) | None => format!("no {FILE}; all other settings are valid"),
                }));
                let keep_out = |next| format!("{next}, and name it in .gitignore");
                let local = settings.local_in_git();
                findings.extend(local.map(|(what, next)| note(what, keep_out(next))));
                findings.extend(first_run::agents(&Roster::new(
                    &self.home.repository,
                    settings.clone(),
                )));
                findings.push(first_run::checks(&settings, &self.home.repository));
            }
            Err(error) => {
                findings.push(bad(error));
                // The agents of the person can be checked without the settings of the repository.
                if let Ok(settings) = Settings::read(None) {
                    let roster = Roster::new(&self.home.repository, settings);
                    findings.extend(first_run::agents(&roster));
                }
            }
        }
        findings.extend(flows(&self.catalog()));
        match self.find_store() {
            Ok(None) => findings.push(good("no runs yet")),
            Err(error) => findings.push(bad(error)),
            Ok(Some(store)) => {
                findings.push(match store.check() {
                    Ok(checked) => {
                        let (runs, records) =
                            (count(checked.runs, "run"), entries(checked.records));
                        good(format!("the journal is intact: {runs}, {records}"))
                    }
                    Err(error) => bad(error),
                });
                findings.extend(store.caution().map(|caution| note(caution, "keep a backup")));
                findings.extend(self.runs());
            }
        }
        findings.extend(first_run::disk(&self.home.dir));
        findings.extend(self.preferences());
        findings.extend(self.checkouts_left());
        for found in self.fixable() {
            findings.push(note(found.what, format!("forge doctor --fix ({})", found.fix)));
        }
        findings
    }

    /// Returns what the predecessor kept as settings is said for each run now: a setting could not be taken back there.
    fn preferences(&self) -> Option<HealthFinding> {
        let path = self.home.repository.top.as_ref()?.join(PREFERENCES);
        let text = read_text(&path, PREFERENCES_BYTES_MAX).ok().flatten()?;
        let said = serde_json::from_str::<serde_json::Value>(&text).ok()?;
        let flag = |key: &str, flag: &'static str| {
            (said.get(key) == Some(&serde_json::Value::Bool(true))).then_some(flag)
        };
        let flags = [
            flag("auto", "--auto"),
            flag("debug", "--debug"),
            flag("discuss", "--discuss"),
            flag("nopr", "--no-pr"),
        ];
        let mut words: Vec<String> = flags.into_iter().flatten().map(str::to_owned).collect();
        let effort = said.get("effort").and_then(serde_json::Value::as_str);
        let effort = effort.filter(|effort| ["S", "M", "L"].contains(effort));
        words.extend(effort.map(|effort| format!("--effort {effort}")));
        let what = format!("{PREFERENCES} belongs to another program and is not read");
        let next = if words.is_empty() {
            "remove it if you do not need it".to_owned()
        } else {
            format!("set it for each run: forge run {} \"what you want\"", words.join(" "))
        };
        Some(note(what, next))
    }

    /// Checkouts of runs that are over for good. They may hold what nobody has taken over, so they are only named.
    fn checkouts_left(&self) -> Option<HealthFinding> {
        let (rows, _) = self.rows(RUNS_MAX).ok()?;
        let is_over = |row: &&RunRow| row.standing.course() == Course::Over;
        let folders: Vec<_> = rows
            .iter()
            .filter(is_over)
            .filter_map(|row| {
                let (run, _) = self.fold(&row.run).ok()?;
                let folder = self.home.checkouts(&row.run, &self.frozen(&run).ok()?).ok()?;
                folder.is_dir().then_some(folder)
            })
            .collect();
        let first = folders.first()?;
        let place = first.parent().unwrap_or(first).display();
        let n = count(folders.len() as u64, "run");
        Some(note(format!("{n} that ended left checkouts in {place}"), "forge clean -v"))
    }

    /// Runs that nobody drives although something is left to do, and blobs that are not whole.
    fn runs(&self) -> Vec<HealthFinding> {
        let Ok((rows, _)) = self.rows(RUNS_MAX) else { return Vec::new() };
        let blobs = Blobs::open_to_read(&self.home.dir);
        let mut findings = Vec::new();
        for row in &rows {
            findings.extend(self.undriven(row));
            findings.extend(self.lost_blobs(&row.run, &blobs));
        }
        findings
    }

    fn undriven(&self, row: &RunRow) -> Option<HealthFinding> {
        let run = &row.run;
        let goes_on = row.standing.course() == Course::Driven;
        if (!goes_on && row.working == 0) || self.is_driven(run) {
            return None;
        }
        let calls = count(u64::from(row.working), "call");
        Some(if goes_on {
            let what = match row.working {
                0 => format!("{} is not running, and not finished", short_id(run)),
                _ => {
                    format!(
                        "{} is not running, and not finished; {calls} may still be running",
                        short_id(run)
                    )
                }
            };
            note(what, format!("forge resume {}", short_id(run)))
        } else {
            let what = format!(
                "{} is {}, but {calls} may still be running",
                short_id(run),
                row.standing.label()
            );
            note(what, format!("forge stop {}", short_id(run)))
        })
    }

    /// Blobs that facts name and that are gone or changed.
    fn lost_blobs(&self, id: &str, blobs: &Blobs) -> Vec<HealthFinding> {
        let Ok((run, _)) = self.fold(id) else { return Vec::new() };
        let start = &run.definition().start;
        let kept = start.roles.values().chain(&start.settings).cloned();
        let named = kept.chain(inbox::artifacts(&run).into_iter().map(|(_, _, blob)| blob));
        let broken = named.filter_map(|blob| match blob.0.parse::<BlobId>() {
            Ok(blob) => blobs.get(&blob).err().map(|error| error.to_string()),
            Err(_) => Some(format!("`{}` is not a blob", blob.0)),
        });
        let bring_back = "restore it from a backup, or start a new run";
        broken
            .map(|error| bad(Error::surroundings(format!("{}: {error}", short_id(id)), bring_back)))
            .collect()
    }

    /// Exports all records that are whole into a new folder.
    pub fn salvage(&self, to: &Path) -> Result<Salvaged, Error> {
        if to.exists() {
            return Err(Error::usage(
                format!("{} already exists", to.display()),
                "name a folder that does not exist yet",
            ));
        }
        Ok(Salvaged::new(salvage(&self.home.dir, to)?))
    }

    /// Makes a damaged journal whole again, from what is left of it and the files that show runs. The damaged files
    /// are kept in the folder that the report names.
    pub fn restore(&self) -> Result<Option<Salvaged>, Error> {
        self.refuse_agents()?;
        // Whoever looks leaves a mark of what is wrong, and that keeps all others from writing meanwhile.
        let damage = match Store::open_to_read(&self.home.dir) {
            Ok(store) => store.check().err(),
            Err(error) => Some(error),
        };
        match damage {
            None | Some(StoreError::Missing { .. }) => return Ok(None),
            Some(StoreError::Damaged(_)) => {}
            Some(error) => return Err(error.into()),
        }
        let row = |run: &str, found: &[JournalRecord]| Ok(row(run, &fold(found)?));
        Ok(Some(Salvaged::new(restore(&self.home.dir, row)?)))
    }
}

impl Salvaged {
    fn new(report: SalvageReport) -> Self {
        let runs = report.runs.into_iter().map(|run| SalvagedRun {
            run: run.run,
            records: run.records,
            completeness: match run.completeness {
                Completeness::Whole => "whole",
                Completeness::Short => "short",
                Completeness::Unknown => "unknown",
            },
            first_damaged: run.first_damaged,
        });
        Self {
            folder: report.folder.display().to_string(),
            runs: runs.collect(),
            notes: report.notes,
        }
    }
}

fn count(n: u64, what: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{n} {what}{ending}")
}

fn entries(n: u64) -> String {
    if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") }
}

fn git() -> HealthFinding {
    match Command::new("git").arg("--version").output() {
        Ok(output) => good(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Err(error) => {
            let next = help_to_run_git(&error);
            bad(Error::surroundings(format!("git cannot be run: {error}"), next))
        }
    }
}

fn place(home: &Home) -> HealthFinding {
    good(format!("runs of this repository are kept in {}", home.dir.display()))
}

fn flows(catalog: &Catalog) -> Vec<HealthFinding> {
    match catalog.names() {
        Err(error) => vec![bad(error)],
        Ok(names) => names.iter().filter_map(|name| catalog.flow(name).err()).map(bad).collect(),
    }
}
