//! What a bench remembers between orders, and its lock.
//!
//! It lies in Forge's own git folder, as JSON. If it is missing or cannot be read, the bench was
//! never opened whole, and is made anew.

use std::{
    fs::File,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::{
    checkout::{git_dir::Checkout, nested_git, submodules::Owner},
    git::{
        error::{Failure, Trying as _},
        safe_files,
    },
    protocol::Bench,
};

/// How long we wait for whoever else works in a bench: a git whose Forge was killed.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(120);
const LOCK_POLL: Duration = Duration::from_millis(10);

/// How the last opening went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// How far it came.
    pub(crate) standing: Standing,
    /// The branch of the agent's git.
    pub(crate) branch: String,
    /// The other branch, with its commit.
    pub(crate) base: Option<(String, String)>,
    /// Paths that are never committed.
    pub(crate) kept_out: Vec<String>,
    /// The commit that the files began with. Nothing in what an older Forge left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
    /// Whose work they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
}

/// How far an opening came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Standing {
    /// For the first time, and not through.
    Making,
    /// Again, and not through.
    Remaking,
    /// Through.
    Whole,
}

impl State {
    /// What a bench remembers.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>, Failure> {
        let content = safe_files::read(&file(dir))?;
        Ok(content.and_then(|content| serde_json::from_slice(&content).ok()))
    }

    /// Remembers it.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), Failure> {
        let content = serde_json::to_vec(self).expect("a state is plain data");
        safe_files::write(&file(dir), &content)
    }

    /// Whether the files may be kept for somebody. Who only reads beside others takes them as they are.
    pub(crate) fn is_for(&self, worker: Option<&String>) -> bool {
        worker.is_none() || self.at.is_none() || self.worker.as_ref() == worker
    }

    /// Paths that are never committed.
    pub(crate) fn kept_out(&self) -> Vec<Vec<u8>> {
        self.kept_out.iter().map(|name| crate::git::path_names::path_bytes(name)).collect()
    }
}

impl Bench {
    /// The commit that the files began with, if the bench was opened.
    pub fn began_with(&self) -> Option<String> {
        State::read(&self.dir).ok()?.and_then(|state| state.at)
    }
}

/// A bench that nobody else works in as long as this lives.
#[derive(Debug)]
pub(crate) struct Held {
    /// Its folder.
    pub(crate) dir: PathBuf,
    /// Its files.
    pub(crate) tree: PathBuf,
    /// Held while this lives, and by git calls that were given it.
    pub(crate) lock: File,
}

impl Held {
    /// Takes the lock of a bench, and puts back what a killed order had put aside.
    pub(crate) fn take(bench: &Bench) -> Result<Self, Failure> {
        let dir = bench.dir.clone();
        safe_files::make_folder(&dir)?;
        let path = dir.join("lock");
        if safe_files::kind(&path)?.is_some_and(|kind| !kind.is_file()) {
            safe_files::remove(&path)?;
        }
        let options = File::options().write(true).create(true).truncate(false).open(&path);
        let lock = options.trying("open", &path)?;
        let began = Instant::now();
        while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            if began.elapsed() > LOCK_WAIT_MAX {
                return Err(Failure::new(
                    format!("another process still works in {}", dir.display()),
                    "end it (see `fuser` or `lsof` on the lock file there), then resume",
                ));
            }
            thread::sleep(LOCK_POLL);
        }
        nested_git::put_back(&dir)?;
        Ok(Self { tree: dir.join("tree"), dir, lock })
    }

    /// Forge's own view of the files of the bench.
    pub(crate) fn checkout(&self, bench: &Bench) -> Result<Checkout, Failure> {
        let owner = Owner { git_dir: bench.common_dir.clone(), top: bench.top.clone() };
        Checkout::of(self.dir.join("forge.git"), self.tree.clone(), owner)
    }

    /// What the bench remembers, if it was opened whole and its files are still there.
    pub(crate) fn opened(&self) -> Result<State, Failure> {
        let is_tree = safe_files::kind(&self.tree)?.is_some_and(|kind| kind.is_dir());
        let state = State::read(&self.dir)?.filter(|state| match state.standing {
            Standing::Whole | Standing::Remaking => is_tree,
            Standing::Making => false,
        });
        state.ok_or_else(|| {
            Failure::new(
                format!("the workspace {} is not there, or damaged", self.dir.display()),
                "resume: it is opened again from the last commit",
            )
        })
    }
}

fn file(dir: &Path) -> PathBuf {
    dir.join("forge.git").join("opened.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_earlier_versions_remembered_is_read_and_written_in_the_same_form() {
        for text in [
            r#"{"standing":"whole","branch":"b","base":["main","c"],"kept_out":["target"],"at":"a","worker":"w"}"#,
            r#"{"standing":"making","branch":"b","base":null,"kept_out":[]}"#,
            r#"{"standing":"remaking","branch":"b","base":null,"kept_out":[]}"#,
        ] {
            let state: State = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&state).unwrap(), text);
        }
    }
}
