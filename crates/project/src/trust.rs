//! What a person lets a repository run on this machine.
//!
//! A repository makes Forge run commands: its checks, its setup, its agents, its notifiers, and the
//! commands of its flows.
//! Whoever clones one is shown these commands and asked once; the answer is a file below
//! `<state>/approved`, which a person can read and take away. Other commands, or the same ones in
//! another repository, are asked about anew. Not here: how a person is asked; user interfaces do that.
//!
//! Invariant: an approval is for exactly the commands that lie in its file. One that cannot be
//! read, or that holds other commands than its name says, is none.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use forge_core::hex::hex;
use forge_core::{event::Person, flow::Stage};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    Error, bounded_read::read_text, catalog::FoundFlow, refuse_agents, settings::Settings,
};

/// The most bytes of an approval: the commands of the largest settings and flows, and more.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The approvals of one repository.
#[derive(Clone, Debug)]
pub struct Trust {
    dir: PathBuf,
    repository: String,
}

/// An approval, as it lies on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ApprovalFile {
    who: String,
    /// When, in UTC.
    when: String,
    /// To which repository.
    repository: String,
    /// Which commands it may run.
    commands: Vec<String>,
}

impl Trust {
    /// Returns what was allowed to the repository with this common git folder.
    pub fn open(state_dir: &Path, common_dir: &Path) -> Self {
        let repository = common_dir.to_string_lossy().into_owned();
        Self { dir: state_dir.join("approved"), repository }
    }

    /// Returns the name of these commands in this repository: 64 hex digits. Neither order nor repetition
    /// matters, because each command is allowed by itself.
    pub fn fingerprint(&self, commands: &[String]) -> String {
        let mut hasher = Sha256::new();
        let mut add = |text: &str| {
            // With their lengths, so that no two lists run together into the same bytes.
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        };
        add(&self.repository);
        for command in sorted(commands) {
            add(&command);
        }
        hex(&hasher.finalize())
    }

    /// Returns true if a person allowed these commands. No commands need no approval.
    pub fn is_approved(&self, commands: &[String]) -> Result<bool, Error> {
        if commands.is_empty() {
            return Ok(true);
        }
        let path = self.dir.join(self.fingerprint(commands));
        let Some(text) = read_text(&path, FILE_BYTES_MAX)? else { return Ok(false) };
        let approval = serde_json::from_str::<ApprovalFile>(&text).ok();
        Ok(approval.is_some_and(|approval| {
            approval.repository == self.repository && sorted(&approval.commands) == sorted(commands)
        }))
    }

    /// Writes down that a person allows these commands. Agents are refused.
    pub fn approve(&self, commands: &[String], who: &Person) -> Result<PathBuf, Error> {
        refuse_agents()?;
        let when = Some(jiff::Timestamp::now());
        let approval = ApprovalFile {
            who: who.who.clone(),
            when: when.map(|when| when.to_string()).unwrap_or_default(),
            repository: self.repository.clone(),
            commands: sorted(commands),
        };
        let mut text = serde_json::to_string_pretty(&approval).expect("an approval can be written");
        text.push('\n');
        let path = self.dir.join(self.fingerprint(commands));
        self.write(&path, &text).map_err(|error| Error::file(&path, &error))?;
        Ok(path)
    }

    /// Withdraws all that was allowed to this repository, and returns how many lists of commands that were.
    pub fn withdraw(&self) -> Result<u32, Error> {
        refuse_agents()?;
        let Ok(files) = fs::read_dir(&self.dir) else { return Ok(0) };
        let mut n_withdrawn = 0;
        for path in files.flatten().map(|file| file.path()) {
            let text = read_text(&path, FILE_BYTES_MAX).ok().flatten().unwrap_or_default();
            let approval = serde_json::from_str::<ApprovalFile>(&text).ok();
            if approval.is_some_and(|approval| approval.repository == self.repository) {
                fs::remove_file(&path).map_err(|error| Error::file(&path, &error))?;
                n_withdrawn += 1;
            }
        }
        Ok(n_withdrawn)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let scratch = path.with_extension(format!("{}.tmp", std::process::id()));
        let written = || -> io::Result<()> {
            let mut options = File::options();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&scratch)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&scratch, path)?;
            File::open(&self.dir)?.sync_all()
        };
        written().inspect_err(|_| {
            let _ = fs::remove_file(&scratch);
        })
    }
}

fn sorted(commands: &[String]) -> Vec<String> {
    let mut commands = commands.to_vec();
    commands.sort();
    commands.dedup();
    commands
}

/// Returns every command line that the repository makes us run with these settings and this flow, each
/// once: first those of the settings, then those of the flow, if the project changed it.
pub fn commands(settings: &Settings, found: &FoundFlow) -> Vec<String> {
    let mut commands = settings.commands_of_repository(&found.flow.roles());
    if !found.is_shipped() {
        add_stage_commands(&found.flow.stages, &mut commands);
    }
    let mut seen = std::collections::BTreeSet::new();
    commands.retain(|command| seen.insert(command.clone()));
    commands
}

fn add_stage_commands(stages: &[Stage], commands: &mut Vec<String>) {
    for stage in stages {
        let gates = stage.gates.iter().filter_map(|gate| gate.check.command());
        commands.extend(stage.work.command().into_iter().chain(gates).map(str::to_owned));
        add_stage_commands(stage.inner(), commands);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::catalog::Catalog;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn ada() -> Person {
        Person { who: "ada".to_owned(), channel: "cli".to_owned() }
    }

    #[test]
    fn what_was_approved_once_is_approved_for_exactly_these_commands_in_this_repository() {
        let state = tempfile::tempdir().unwrap();
        let trust = Trust::open(state.path(), Path::new("/a/.git"));
        let commands = texts(&["cargo test", "npm ci"]);
        assert!(!trust.is_approved(&commands).unwrap());
        let path = trust.approve(&commands, &ada()).unwrap();
        assert!(trust.is_approved(&commands).unwrap());
        assert!(trust.is_approved(&texts(&["npm ci", "cargo test", "npm ci"])).unwrap());
        for others in
            [&["cargo test"][..], &["cargo test", "npm  ci"], &["cargo test", "npm ci", "x"]]
        {
            assert!(!trust.is_approved(&texts(others)).unwrap(), "{others:?}");
        }
        let other = Trust::open(state.path(), Path::new("/b/.git"));
        assert!(!other.is_approved(&commands).unwrap());
        assert_ne!(other.fingerprint(&commands), trust.fingerprint(&commands));
        assert_eq!(path, state.path().join("approved").join(trust.fingerprint(&commands)));
    }

    #[test]
    fn what_is_withdrawn_is_allowed_no_longer_and_other_repositories_keep_theirs() {
        let state = tempfile::tempdir().unwrap();
        let [one, other] =
            ["/a/.git", "/b/.git"].map(|dir| Trust::open(state.path(), Path::new(dir)));
        let commands = texts(&["cargo test"]);
        assert_eq!(one.withdraw().unwrap(), 0);
        one.approve(&commands, &ada()).unwrap();
        one.approve(&texts(&["npm ci"]), &ada()).unwrap();
        other.approve(&commands, &ada()).unwrap();
        assert_eq!(one.withdraw().unwrap(), 2);
        assert!(!one.is_approved(&commands).unwrap());
        assert!(other.is_approved(&commands).unwrap());
    }

    #[test]
    fn nothing_to_run_needs_nobodys_word() {
        let trust = Trust::open(Path::new("/nowhere"), Path::new("/a/.git"));
        assert!(trust.is_approved(&[]).unwrap());
    }

    #[test]
    fn an_approval_can_be_read_by_its_owner_and_by_nobody_else() {
        let state = tempfile::tempdir().unwrap();
        let trust = Trust::open(&state.path().join("forge"), Path::new("/a/.git"));
        let path = trust.approve(&texts(&["cargo test"]), &ada()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for expected in ["\"ada\"", "cargo test", "/a/.git", "when"] {
            assert!(text.contains(expected), "{text}");
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "nothing is left aside");
    }

    #[test]
    fn an_approval_that_is_not_whole_is_none() {
        let state = tempfile::tempdir().unwrap();
        let trust = Trust::open(state.path(), Path::new("/a/.git"));
        let commands = texts(&["cargo test"]);
        let path = trust.approve(&commands, &ada()).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        let others = [whole.replace("cargo test", "true"), whole.replace("/a/", "/b/")];
        for damaged in ["", "yes", "{}", &whole[..20], &others[0], &others[1]] {
            fs::write(&path, damaged).unwrap();
            assert!(!trust.is_approved(&commands).unwrap(), "{damaged}");
        }
        trust.approve(&commands, &ada()).unwrap();
        assert!(trust.is_approved(&commands).unwrap(), "and it can be given anew");
    }

    #[test]
    fn a_flow_is_the_projects_as_soon_as_the_project_has_a_word_in_it() {
        let top = tempfile::tempdir().unwrap();
        let catalog = Catalog::from_folder(Some(top.path()));
        let shipped = catalog.flow("draft").unwrap();
        assert!(shipped.is_shipped());
        let flows = top.path().join(".forge/flows");
        fs::create_dir_all(&flows).unwrap();
        let text = "name = \"draft\"\n[[stage]]\nname = \"a\"\ncommand = \"make\"\n";
        fs::write(flows.join("draft.toml"), text).unwrap();
        let own = catalog.flow("draft").unwrap();
        assert!(!own.is_shipped());
        let settings = Settings::default();
        assert_eq!(commands(&settings, &own), ["make"]);
        assert_eq!(commands(&settings, &shipped), [] as [&str; 0]);
    }

    #[test]
    fn commands_that_run_together_are_not_the_same_commands() {
        let trust = Trust::open(Path::new("/s"), Path::new("/a/.git"));
        let prints = [&["ab", "c"][..], &["a", "bc"], &["abc"], &["ab\nc"], &[]];
        let mut prints: Vec<String> =
            prints.iter().map(|commands| trust.fingerprint(&texts(commands))).collect();
        assert!(prints.iter().all(|print| print.len() == 64));
        prints.sort();
        prints.dedup();
        assert_eq!(prints.len(), 5);
    }
}
