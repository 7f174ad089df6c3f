//! Whether somebody sits at a run that waits: a screen that drives it on by itself as soon as it is answered.
//!
//! A driver lets go of a run that waits, so that its lock says nothing about who will go on. The screen
//! holds a lock of its own for as long as it is there, however it ends.
//!
//! Not here: who drives (`journal/lock.rs`). Only texts for people depend on this.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::PathBuf,
};

use crate::forge::Forge;

/// A mark that a person attends a run, for as long as this lives.
#[derive(Debug)]
pub struct Attended {
    /// Dropping the file lets go of the lock.
    _file: File,
}

impl Forge {
    /// Marks the run as attended by a person. If that fails, texts for others say less.
    pub fn attend(&self, run: &str) -> Option<Attended> {
        let path = self.seat(run);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).ok()?;
        file.lock_shared().ok()?;
        Some(Attended { _file: file })
    }

    /// Returns true if somebody sits at this run, and lets it go on once it is answered.
    pub fn is_attended(&self, run: &str) -> bool {
        let Ok(file) = File::open(self.seat(run)) else { return false };
        matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }

    fn seat(&self, run: &str) -> PathBuf {
        self.home.run(run).join("seat")
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_run_is_attended_while_somebody_sits_there() {
        let dir = tempfile::tempdir().unwrap();
        let made = Command::new("git").args(["init", "--quiet"]).current_dir(dir.path()).status();
        assert!(made.unwrap().success());
        let forge = Forge::open(dir.path()).unwrap();
        std::fs::create_dir_all(forge.home.run("r")).unwrap();
        assert!(!forge.is_attended("r"));
        let (one, other) = (forge.attend("r"), forge.attend("r"));
        assert!(one.is_some() && other.is_some() && forge.is_attended("r"));
        drop(one);
        assert!(forge.is_attended("r"));
        drop(other);
        assert!(!forge.is_attended("r"));
        assert!(!forge.is_attended("s"));
    }
}
