//! Where things lie: everything of Forge's below `<git common dir>/forge`, but for what belongs
//! to a person and not to a repository.
//!
//! Invariant: no path is built from names that agents choose. Runs are named by us, attempts are
//! numbered, artifacts are named by the flow and scopes by item ids that were checked.

use std::path::{Path, PathBuf};

use forge_core::{hex::hex, slug::slug};
use forge_project::{personal_dirs::state_dir, settings::Frozen, trust::Trust};
use forge_workspace::{CheckoutLocation, Repository};
use sha2::{Digest as _, Sha256};

use crate::{Error, plan::step::call_folder};

/// Forge's place in one repository.
#[derive(Clone, Debug)]
pub struct Home {
    /// The repository.
    pub repository: Repository,
    /// `<git common dir>/forge`.
    pub dir: PathBuf,
}

impl Home {
    /// The place in the repository that a folder lies in.
    pub fn find(from: &Path) -> Result<Self, Error> {
        let repository = Repository::find(from)?;
        // SQLite and the folders of calls take paths as text.
        if repository.common_dir.to_str().is_none() {
            let path = repository.common_dir.display();
            let what = format!("the path of the repository is not UTF-8: {path}");
            return Err(Error::surroundings(what, "move the repository to a path that is"));
        }
        let dir = repository.common_dir.join("forge");
        Ok(Self { repository, dir })
    }

    /// The live folder of a run.
    pub fn run(&self, run: &str) -> PathBuf {
        self.dir.join("runs").join(run)
    }

    /// Where the stages of a run work.
    pub fn work(&self, run: &str) -> PathBuf {
        self.run(run).join("work")
    }

    /// Where the checkouts of a run lie: outside the repository, unless somebody said otherwise.
    pub fn checkouts(&self, run: &str, frozen: &Frozen) -> Result<PathBuf, Error> {
        if let Some(root) = &frozen.root {
            let top = self.repository.top.as_deref().unwrap_or(&self.repository.common_dir);
            return Ok(top.join(root).join(run));
        }
        Ok(self.personal()?.join(run))
    }

    /// What Forge keeps of this repository for one person, outside of it.
    pub fn personal(&self) -> Result<PathBuf, Error> {
        let path = &self.repository.common_dir;
        let sum = Sha256::digest(path.as_os_str().as_encoded_bytes());
        let sum = hex(&sum[..4]);
        let top = self.repository.top.as_deref().unwrap_or(path);
        let name = slug(&top.file_name().unwrap_or_default().to_string_lossy());
        Ok(state_dir()?.join(format!("{name}-{sum}")))
    }

    /// A checkout of the repository in a folder.
    pub fn checkout_at(&self, dir: PathBuf) -> CheckoutLocation {
        let Repository { common_dir, top } = self.repository.clone();
        CheckoutLocation { common_dir, top, dir }
    }

    /// What this person approved for this repository.
    pub fn trust(&self) -> Result<Trust, Error> {
        Ok(Trust::open(&state_dir()?, &self.repository.common_dir))
    }

    /// The folders of all calls of a run.
    pub fn attempts(&self, run: &str) -> PathBuf {
        self.dir.join("attempts").join(run)
    }

    /// The folder of one call.
    pub fn attempt(&self, run: &str, ordinal: u32) -> PathBuf {
        call_folder(&self.attempts(run), ordinal)
    }
}
