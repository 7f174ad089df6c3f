//! Cleaning up: which checkouts and folders of calls nobody needs any more, and removing them.
//!
//! Kept always: the journal, the files that show a run (`runs/RUN`), refs and branches. So `show`, `status`, `log` and
//! `stats` say the same afterwards; `brief` and `watch` of such a run have nothing left to show.
//!
//! Invariant: a folder is removed only if its run is over for good, nobody drives it, what it changed is merged or is
//! nothing, and no file in its checkouts was touched after its end.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use forge_core::{
    Run,
    view::{Course, RunRow, Standing},
};
use forge_driver::{Error, run_id::short_id};
use forge_store::journal::RunLock;

use crate::forge::{Forge, RUNS_MAX};

/// The most entries of one folder tree that are looked at. What is larger is kept.
const ENTRIES_MAX: usize = 5_000_000;
/// A file may be this much newer than the last fact of its run: a driver still puts its checkouts in order then.
const AFTER_END_MS: u64 = 60_000;
/// The unit of `st_blocks`, on every system.
const BLOCK_BYTES: u64 = 512;

/// The folders of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLeftovers {
    pub row: RunRow,
    pub folders: Vec<PathBuf>,
    pub bytes: u64,
    pub fate: Fate,
}

/// The decision about the folders of a run, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Removed {
        /// The proof that nobody needs them.
        because: String,
    },
    Kept {
        because: String,
    },
}

/// The size and the age of a folder with everything in it.
struct Measured {
    bytes: u64,
    /// The time of the newest change of a file, in milliseconds since 1970.
    newest_ms: u64,
}

impl Forge {
    /// Returns all runs that have checkouts or folders of calls, and what becomes of them. Nothing is removed.
    pub fn cleanup(&self) -> Result<Vec<RunLeftovers>, Error> {
        let (rows, _) = self.rows(RUNS_MAX)?;
        let mut found = Vec::new();
        for row in rows {
            let (run, _) = self.fold(&row.run)?;
            let checkouts = self.home.checkouts(&row.run, &self.frozen(&run)?)?;
            let folders: Vec<PathBuf> = [checkouts.clone(), self.home.attempts(&row.run)]
                .into_iter()
                .filter(|folder| fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()))
                .collect();
            if folders.is_empty() {
                continue;
            }
            let measured: Vec<Option<Measured>> =
                folders.iter().map(|folder| measure(folder)).collect();
            let bytes = measured.iter().flatten().map(|found| found.bytes).sum();
            let touched = folders.iter().zip(&measured).find(|(folder, found)| {
                **folder == checkouts
                    && found.as_ref().is_none_or(|found| {
                        found.newest_ms > row.changed_at.saturating_add(AFTER_END_MS)
                    })
            });
            let fate = match (self.needlessness(&row, &run)?, touched) {
                (_, _) if self.is_driven(&row.run) => {
                    Fate::Kept { because: "it is running".to_owned() }
                }
                (Ok(_), Some((folder, _))) => Fate::Kept {
                    because: format!("files were changed after its end in {}", folder.display()),
                },
                (Ok(because), None) => Fate::Removed { because },
                (Err(because), _) => Fate::Kept { because },
            };
            found.push(RunLeftovers { row, folders, bytes, fate });
        }
        Ok(found)
    }

    /// Removes the folders of a run, as [`Forge::cleanup`] found them. Keeps them if anything has changed since.
    pub fn remove_folders(&self, found: &RunLeftovers) -> Result<(), Error> {
        self.refuse_agents()?;
        let id = &found.row.run;
        let _lock = RunLock::acquire_briefly(&self.home.dir, id)?;
        let (run, _) = self.fold(id)?;
        let row = RunRow::new(id, &run);
        if row.changed_at != found.row.changed_at || self.needlessness(&row, &run)?.is_err() {
            let id = short_id(id);
            let what = format!("{id} has changed meanwhile; its folders are kept");
            return Err(Error::usage(what, "forge clean"));
        }
        for folder in &found.folders {
            forge_workspace::remove_all(folder)?;
        }
        Ok(())
    }

    /// Returns why nobody needs the folders of a run any more, or why somebody may.
    fn needlessness(&self, row: &RunRow, run: &Run) -> Result<Result<String, String>, Error> {
        if row.standing.course() != Course::Over {
            return Ok(Err(format!("{}; it can be continued", row.standing.label())));
        }
        if row.working > 0 {
            return Ok(Err("some of its agents may still be running".to_owned()));
        }
        let repository = &self.home.repository;
        let start = &run.definition().start;
        let Some(base) = &start.base else {
            return Ok(Ok("it has no code".to_owned()));
        };
        let mut tips: Vec<(String, String)> = Vec::new();
        for branch in start.base_branch.iter().chain(repository.default_branch().iter()) {
            for name in [format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}")] {
                let tip = repository.resolve_commit(&name);
                tips.extend(tip.map(|tip| (branch.clone(), tip)));
            }
        }
        let merged_into = |commit: &str| {
            let is_in = |tip: &str| repository.is_ancestor(commit, tip).unwrap_or(false);
            let found = tips.iter().find(|(_, tip)| is_in(tip));
            found.map(|(branch, _)| branch.as_str())
        };
        if row.standing == Standing::Done {
            let head = run.head().unwrap_or(base);
            if repository.code_tree(head)? == repository.code_tree(base)? {
                return Ok(Ok("it changed nothing".to_owned()));
            }
            if let Some(branch) = merged_into(head) {
                return Ok(Ok(format!("it is merged into {branch}")));
            }
            // Squashed or rebased by its host, the commit is in no branch.
            return Ok(match self.merged_at_host(&row.run, head) {
                Ok(Some(address)) => Ok(format!("its pull request is merged: {address}")),
                Ok(None) => Err("its result is not merged".to_owned()),
                Err(error) => Err(format!(
                    "its result is not merged, and its pull request cannot be read: {error}"
                )),
            });
        }
        // Of an abandoned run, everything that any call of it committed has to be somewhere.
        let commits = repository.commits_below(&format!("refs/forge/{}", row.run))?;
        let is_there = |commit: &String| commit == base || merged_into(commit).is_some();
        Ok(if commits.iter().all(is_there) {
            Ok("it was abandoned without unmerged work".to_owned())
        } else {
            Err("it was abandoned with work that is not merged".to_owned())
        })
    }
}

/// Adds up what is in a folder. Returns nothing if it cannot be read, or is too large to look at.
fn measure(folder: &Path) -> Option<Measured> {
    let mut measured = Measured { bytes: 0, newest_ms: 0 };
    let mut left = ENTRIES_MAX;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).ok()? {
            left = left.checked_sub(1)?;
            let entry = entry.ok()?;
            let found = entry.metadata().ok()?;
            measured.bytes += found.blocks() * BLOCK_BYTES;
            if found.is_dir() {
                folders.push(entry.path());
            } else {
                let ms = found.mtime().saturating_mul(1_000) + found.mtime_nsec() / 1_000_000;
                measured.newest_ms = measured.newest_ms.max(u64::try_from(ms).unwrap_or_default());
            }
        }
    }
    Some(measured)
}
