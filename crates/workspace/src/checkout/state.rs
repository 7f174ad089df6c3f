//! The state of a checkout between operations, and its lock.
//!
//! It is in Forge's own git folder, as JSON. If it is missing or cannot be read, the checkout was
//! never opened completely, and is created again.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::{
    checkout::{
        git_dir::Checkout,
        known_state::{self, KnownCheckout},
        nested_git,
        run_records::RUN_RECORDS,
        setup_baseline::SetUpFile,
        submodules::SourceRepository,
    },
    git::{
        error::{FailureCause, WorkspaceError},
        folder_lock::acquire_lock,
        path_names, safe_files,
    },
    protocol::CheckoutLocation,
};

/// The result of the last opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckoutState {
    #[serde(rename = "standing")]
    pub(crate) progress: OpeningProgress,
    /// The branch of the agent's git.
    pub(crate) branch: String,
    /// The other branch, with its commit.
    pub(crate) base: Option<(String, String)>,
    /// Paths that are never committed.
    #[serde(rename = "kept_out")]
    pub(crate) excluded: Vec<String>,
    /// The starting commit of the files. Older versions of Forge did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
    /// The commit that was merged into the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) merged: Option<String>,
    /// The worker that owns the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
    /// The files that the set-up left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) baseline: Vec<SetUpFile>,
    /// Paths that a worker had changed already when the checkout was opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) worked: Vec<String>,
}

/// Progress of an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OpeningProgress {
    /// For the first time, and not through.
    Making,
    /// Again, and not through.
    Remaking,
    /// Through.
    Whole,
}

impl CheckoutState {
    /// Reads the state of a checkout.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>, WorkspaceError> {
        let content = safe_files::read(&file(dir))?;
        Ok(content.and_then(|content| serde_json::from_slice(&content).ok()))
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<(), WorkspaceError> {
        let content = serde_json::to_vec(self).expect("a state is plain data");
        safe_files::write(&file(dir), &content)
    }

    /// Returns true if the files may be kept for a worker. A reader accepts them as they are.
    pub(crate) fn is_for(&self, worker: Option<&String>) -> bool {
        worker.is_none() || self.at.is_none() || self.worker.as_ref() == worker
    }

    /// Paths that are never committed. An older version did not name the records of runs.
    pub(crate) fn excluded(&self) -> Vec<Vec<u8>> {
        let named = self.excluded.iter().map(|name| path_names::decode_path(name));
        named.chain([RUN_RECORDS.to_vec()]).collect()
    }
}

impl CheckoutLocation {
    /// Returns the starting commit of the files, if the checkout was opened.
    pub fn starting_commit(&self) -> Option<String> {
        CheckoutState::read(&self.dir).ok()?.and_then(|state| state.at)
    }
}

/// A checkout whose lock is held as long as this lives.
#[derive(Debug)]
pub(crate) struct LockedCheckout {
    pub(crate) dir: PathBuf,
    /// Its files.
    pub(crate) tree: PathBuf,
    /// Held while this lives, and by git calls that were given it.
    pub(crate) lock: File,
    /// What this process knew of the checkout when it took the lock.
    pub(crate) known: Option<KnownCheckout>,
}

impl LockedCheckout {
    /// Takes the lock of a checkout, and moves back the paths that a killed operation had moved out.
    pub(crate) fn acquire(location: &CheckoutLocation) -> Result<Self, WorkspaceError> {
        let dir = location.dir.clone();
        safe_files::make_folder(&dir)?;
        let lock = acquire_lock(&dir, FlockOperation::NonBlockingLockExclusive)?;
        nested_git::restore(&dir)?;
        let known = known_state::take(&dir);
        Ok(Self { tree: dir.join("tree"), dir, lock, known })
    }

    /// Returns Forge's own view of the files.
    pub(crate) fn checkout(&self, location: &CheckoutLocation) -> Result<Checkout, WorkspaceError> {
        let owner =
            SourceRepository { git_dir: location.common_dir.clone(), top: location.top.clone() };
        Checkout::new(self.dir.join("forge.git"), self.tree.clone(), owner)
    }

    /// Returns the state, if the checkout was opened completely and its files still exist.
    pub(crate) fn opened(&self) -> Result<CheckoutState, WorkspaceError> {
        let is_tree = safe_files::file_kind(&self.tree)?.is_some_and(|kind| kind.is_dir());
        let state = CheckoutState::read(&self.dir)?.filter(|state| match state.progress {
            OpeningProgress::Whole | OpeningProgress::Remaking => is_tree,
            OpeningProgress::Making => false,
        });
        state.ok_or_else(|| WorkspaceError {
            // The path comes last: long complaints are cut.
            what: "the workspace of the call is not there, or damaged".to_owned(),
            next: format!(
                "resume: it is opened again from the last commit, in {}",
                self.dir.display()
            ),
            cause: FailureCause::Checkout,
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
            let state: CheckoutState = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&state).unwrap(), text);
        }
    }
}
