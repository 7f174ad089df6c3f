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
    thread::{self, ScopedJoinHandle},
};

use forge_core::{
    Run, Time,
    view::{Course, RunRow, Standing},
};
use forge_driver::{Error, run_id::short_id};
use forge_store::journal::RunLock;

use crate::forge::{Forge, RUNS_MAX};

/// The most entries of one folder tree that are looked at. What is larger is kept.
const ENTRIES_MAX: usize = 5_000_000;
/// A file may be this much newer than the last fact of its run: a driver still puts its checkouts in order then.
const AFTER_END_MS: u64 = 60_000;
/// The most pull requests that hosts are asked for at once.
const ASKED_AT_ONCE_MAX: usize = 8;
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

/// The checkouts of a run and the folders of its calls, as far as they are there.
pub(crate) struct RemovableFolders {
    pub(crate) folders: Vec<PathBuf>,
    bytes: u64,
    /// The checkouts, if a file in them was changed after the end of the run.
    pub(crate) touched: Option<PathBuf>,
}

/// What is known here of the folders of a run.
enum Need {
    Known(Fate),
    /// Its result is in no branch here, but its host may have squashed or rebased it.
    AskHost {
        head: String,
    },
}

/// The size and the age of a folder with everything in it.
struct Measured {
    bytes: u64,
    /// The time of the newest change of a file, in milliseconds since 1970.
    newest_ms: u64,
}

impl Forge {
    /// Returns all runs that have checkouts or folders of calls, and what becomes of them. Those that ended after
    /// `ended_before` are kept. Nothing is removed.
    pub fn cleanup(&self, ended_before: Time) -> Result<Vec<RunLeftovers>, Error> {
        let (rows, _) = self.rows(RUNS_MAX)?;
        let mut found = Vec::new();
        for row in rows {
            let (run, _) = self.fold(&row.run)?;
            let all = self.run_folders(&row, &run)?;
            if all.folders.is_empty() {
                continue;
            }
            let kept = |because: &str| Need::Known(Fate::Kept { because: because.to_owned() });
            let need = match self.need(&row, &run)? {
                _ if self.is_driven(&row.run) => kept("it is running"),
                Need::Known(Fate::Removed { .. }) | Need::AskHost { .. }
                    if row.changed_at > ended_before =>
                {
                    kept("it is not old enough")
                }
                need @ (Need::Known(_) | Need::AskHost { .. }) => need,
            };
            found.push((row, all, need));
        }
        let asked = found.iter().filter_map(|(row, _, need)| match need {
            Need::AskHost { head } => Some((&*row.run, &**head)),
            Need::Known(_) => None,
        });
        let mut answers = self.ask_hosts(&asked.collect::<Vec<_>>()).into_iter();
        let leftovers = found.into_iter().map(|(row, all, need)| {
            let fate = match need {
                Need::Known(fate) => fate,
                Need::AskHost { .. } => answers.next().expect("each question has an answer"),
            };
            let fate = match (fate, all.touched) {
                (Fate::Removed { .. }, Some(folder)) => Fate::Kept {
                    because: format!("files were changed after its end in {}", folder.display()),
                },
                (fate, _) => fate,
            };
            RunLeftovers { row, folders: all.folders, bytes: all.bytes, fate }
        });
        Ok(leftovers.collect())
    }

    /// Removes the folders of a run, as [`Forge::cleanup`] found them. Keeps them if anything has changed since.
    pub fn remove_folders(&self, found: &RunLeftovers) -> Result<(), Error> {
        self.remove_unless_changed(&found.row, &found.folders, |row, run| {
            let fate = match self.need(row, run)? {
                Need::Known(fate) => fate,
                Need::AskHost { head } => self.fate_at_host(&row.run, &head),
            };
            Ok(matches!(fate, Fate::Removed { .. }))
        })
    }

    /// Removes folders of a run if nothing was recorded of it since, and they are still not needed.
    pub(crate) fn remove_unless_changed(
        &self,
        found: &RunRow,
        folders: &[PathBuf],
        is_free: impl FnOnce(&RunRow, &Run) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        self.refuse_agents()?;
        let id = &found.run;
        let _lock = RunLock::acquire_briefly(&self.home.dir, id)?;
        let (run, _) = self.fold(id)?;
        let row = RunRow::new(id, &run);
        if row.changed_at != found.changed_at || !is_free(&row, &run)? {
            let id = short_id(id);
            let what = format!("{id} has changed meanwhile; its folders are kept");
            return Err(Error::usage(what, "forge clean"));
        }
        for folder in folders {
            forge_workspace::remove_all(folder)?;
        }
        Ok(())
    }

    /// Returns the folders of a run that are there, with their size.
    pub(crate) fn run_folders(&self, row: &RunRow, run: &Run) -> Result<RemovableFolders, Error> {
        let checkouts = self.home.checkouts(&row.run, &self.frozen(run)?)?;
        let folders: Vec<PathBuf> = [checkouts.clone(), self.home.attempts(&row.run)]
            .into_iter()
            .filter(|folder| fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()))
            .collect();
        let measured: Vec<Option<Measured>> =
            folders.iter().map(|folder| measure(folder)).collect();
        let bytes = measured.iter().flatten().map(|found| found.bytes).sum();
        let latest = row.changed_at.saturating_add(AFTER_END_MS);
        let touched = folders.iter().zip(&measured).find(|(folder, found)| {
            **folder == checkouts && found.as_ref().is_none_or(|found| found.newest_ms > latest)
        });
        let touched = touched.map(|(folder, _)| folder.clone());
        Ok(RemovableFolders { folders, bytes, touched })
    }

    /// Returns why nobody needs the folders of a run any more, or why somebody may.
    fn need(&self, row: &RunRow, run: &Run) -> Result<Need, Error> {
        let removed = |because: String| Ok(Need::Known(Fate::Removed { because }));
        let kept = |because: String| Ok(Need::Known(Fate::Kept { because }));
        if row.standing.course() != Course::Over {
            return kept(format!("{}; it can be continued", row.standing.label()));
        }
        if row.working > 0 {
            return kept("some of its agents may still be running".to_owned());
        }
        let repository = &self.home.repository;
        let Some(base) = &run.definition().start.base else {
            return removed("it has no code".to_owned());
        };
        let tips = self.base_tips(run);
        if row.standing == Standing::Done {
            let head = run.head().unwrap_or(base);
            if repository.code_tree(head)? == repository.code_tree(base)? {
                return removed("it changed nothing".to_owned());
            }
            return match self.merged_into(&tips, head) {
                Some(branch) => removed(format!("it is merged into {branch}")),
                None => Ok(Need::AskHost { head: head.to_owned() }),
            };
        }
        // Of an abandoned run, everything that any call of it committed has to be somewhere.
        let commits = repository.commits_below(&format!("refs/forge/{}", row.run))?;
        let is_there =
            |commit: &String| commit == base || self.merged_into(&tips, commit).is_some();
        if commits.iter().all(is_there) {
            removed("it was abandoned without unmerged work".to_owned())
        } else {
            kept("it was abandoned with work that is not merged".to_owned())
        }
    }

    /// Returns the branches that the result of a run is for, here and at `origin`, with their commits.
    pub(crate) fn base_tips(&self, run: &Run) -> Vec<(String, String)> {
        let repository = &self.home.repository;
        let mut tips = Vec::new();
        let own = run.definition().start.base_branch.clone();
        for branch in own.into_iter().chain(repository.default_branch()) {
            for name in [format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}")] {
                let tip = repository.resolve_commit(&name);
                tips.extend(tip.map(|tip| (branch.clone(), tip)));
            }
        }
        tips
    }

    /// Returns the first of some branches that has a commit in its history.
    pub(crate) fn merged_into<'t>(
        &self,
        tips: &'t [(String, String)],
        commit: &str,
    ) -> Option<&'t str> {
        let is_in = |tip: &str| self.home.repository.is_ancestor(commit, tip).unwrap_or(false);
        tips.iter().find(|(_, tip)| is_in(tip)).map(|(branch, _)| &**branch)
    }

    /// Returns what becomes of runs by what their hosts say, in this order.
    fn ask_hosts(&self, asked: &[(&str, &str)]) -> Vec<Fate> {
        let ask_some = |some: &[(&str, &str)]| {
            thread::scope(|scope| {
                let ask = |(id, head)| scope.spawn(move || self.fate_at_host(id, head));
                let asking: Vec<_> = some.iter().copied().map(ask).collect();
                let answers = asking.into_iter().map(ScopedJoinHandle::join);
                answers.map(|answer| answer.expect("asking does not panic")).collect::<Vec<_>>()
            })
        };
        asked.chunks(ASKED_AT_ONCE_MAX).flat_map(ask_some).collect()
    }

    fn fate_at_host(&self, id: &str, head: &str) -> Fate {
        match self.merged_at_host(id, head) {
            Ok(Some(address)) => {
                Fate::Removed { because: format!("its pull request is merged: {address}") }
            }
            Ok(None) => Fate::Kept { because: "its result is not merged".to_owned() },
            Err(error) => Fate::Kept {
                because: format!(
                    "its result is not merged, and its pull request cannot be read: {error}"
                ),
            },
        }
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
