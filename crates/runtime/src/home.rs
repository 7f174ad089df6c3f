//! Where things lie: everything of Forge's below `<git common dir>/forge`, but for what belongs
//! to a person and not to a repository.
//!
//! Invariant: no path is built from names that agents choose. Runs are named by us, attempts are
//! numbered, artifacts are named by the flow and scopes by item ids that were checked.

use std::{
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use forge_core::{Time, hex::hex};
use forge_project::personal_dirs::state_dir;
use forge_project::settings::Frozen;
use forge_workspace::Repository;
use sha2::{Digest as _, Sha256};

use crate::Trouble;

/// The most characters of a request that become part of a run's id.
const SLUG_CHARS_MAX: usize = 40;

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
    pub fn find(from: &Path) -> Result<Self, Trouble> {
        let repository = Repository::find(from)?;
        // SQLite and the folders of calls take paths as text.
        if repository.common_dir.to_str().is_none() {
            let path = repository.common_dir.display();
            let what = format!("the path of the repository is not UTF-8: {path}");
            return Err(Trouble::surroundings(what, "move the repository to a path that is"));
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
    pub fn checkouts(&self, run: &str, frozen: &Frozen) -> Result<PathBuf, Trouble> {
        if let Some(root) = &frozen.root {
            let top = self.repository.top.as_deref().unwrap_or(&self.repository.common_dir);
            return Ok(top.join(root).join(run));
        }
        Ok(self.personal()?.join(run))
    }

    /// What Forge keeps of this repository for one person, outside of it.
    pub fn personal(&self) -> Result<PathBuf, Trouble> {
        let path = &self.repository.common_dir;
        let sum = Sha256::digest(path.as_os_str().as_encoded_bytes());
        let sum = hex(&sum[..4]);
        let top = self.repository.top.as_deref().unwrap_or(path);
        let name = slug(&top.file_name().unwrap_or_default().to_string_lossy());
        Ok(state_dir()?.join(format!("{name}-{sum}")))
    }

    /// The folders of all calls of a run.
    pub fn attempts(&self, run: &str) -> PathBuf {
        self.dir.join("attempts").join(run)
    }

    /// The folder of one call.
    pub fn attempt(&self, run: &str, ordinal: u32) -> PathBuf {
        self.attempts(run).join(format!("{ordinal:04}"))
    }
}

/// Now, in milliseconds since 1970, UTC. The only clock of the driver.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A new id: `YYYYMMDD-<slug>-<4 base32>`.
pub fn new_run_id(request: &str) -> String {
    let today = jiff::Zoned::now().strftime("%Y%m%d").to_string();
    let mut bytes = [0_u8; 4];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    if filled != Ok(bytes.len()) {
        bytes = std::process::id().to_le_bytes();
    }
    let letters = b"abcdefghijklmnopqrstuvwxyz234567";
    let tail: String =
        bytes.iter().map(|byte| char::from(letters[usize::from(byte % 32)])).collect();
    match slug(request).as_str() {
        "" => format!("{today}-run-{tail}"),
        slug => format!("{today}-{slug}-{tail}"),
    }
}

/// The first words of a request, in lower case, with dashes between them.
fn slug(request: &str) -> String {
    let mut slug = String::new();
    for word in request.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
    {
        let dash = usize::from(!slug.is_empty());
        if slug.len() + dash + word.len() > SLUG_CHARS_MAX {
            if slug.is_empty() {
                slug.push_str(&word[..SLUG_CHARS_MAX].to_ascii_lowercase());
            }
            break;
        }
        if dash == 1 {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_holds_the_first_words_of_the_request() {
        let id = new_run_id("Add a queue,\nplease!");
        let (date, rest) = id.split_once('-').unwrap();
        assert_eq!(date.len(), 8);
        assert!(rest.starts_with("add-a-queue-please-"), "{id}");
        assert_eq!(rest.len(), "add-a-queue-please-".len() + 4);
    }

    #[test]
    fn an_id_is_a_plain_folder_name_whatever_the_request_says() {
        for request in ["../../etc", "", "日本", &"x".repeat(500), "a/b\\c\0d"] {
            let id = new_run_id(request);
            assert!(id.len() <= 8 + 1 + SLUG_CHARS_MAX + 1 + 4, "{id}");
            assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{id}");
        }
    }
}
