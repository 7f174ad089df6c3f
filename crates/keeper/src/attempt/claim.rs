//! Who may run an attempt: one file, which exactly one process can put there.
//!
//! A claim is written under a passing name, locked, and only then linked to `claim`. A hard link
//! fails if the name is taken, so there is one winner; the lock is on the inode, so the file is
//! locked from the moment its name appears. A driver which gives up links a void claim the same way.
//!
//! Invariant: whoever sees `claim` sees all of it, and sees it locked if its keeper is alive.
//! Invariant: readers lock it shared, so that two readers never take each other for a keeper.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use crate::attempt::dir::{AttemptFolder, open_regular};
use crate::processes;

/// What a keeper exits with when somebody else had the claim first.
pub const CLAIM_LOST_EXIT: u8 = 75;
/// A claim is a hundred bytes; more than this is not one.
const CLAIM_BYTES_MAX: u64 = 4096;

/// What names a process for good: a pid alone is used again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    pub pid: i32,
    /// Clock ticks since boot.
    pub start: u64,
    /// Which boot of which machine.
    pub boot: String,
    /// Where its pid means it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<String>,
}

impl Identity {
    pub(crate) fn own() -> io::Result<Self> {
        let own = processes::process(processes::own_pid());
        let own = own.ok_or_else(|| io::Error::other("`/proc` does not show our own process"))?;
        let (boot, namespaces) = (processes::boot_id()?, processes::own_namespaces());
        Ok(Self { pid: own.pid, start: own.start, boot, namespaces })
    }
}

pub(crate) enum Claiming {
    /// The lock lives as long as this file is open.
    Won(File),
    Lost,
}

/// Claims the attempt for this process.
pub(crate) fn claim(folder: &AttemptFolder) -> io::Result<Claiming> {
    claim_as(folder, &Identity::own()?)
}

/// The same for who has looked already who it is.
pub(crate) fn claim_as(folder: &AttemptFolder, own: &Identity) -> io::Result<Claiming> {
    let text = serde_json::to_vec(own)?;
    write_claim(folder, &text, |file| match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => Err(io::Error::other("a new file is already locked")),
    })
}

/// Makes sure that nobody ever runs the attempt.
pub(crate) fn claim_as_void(folder: &AttemptFolder) -> io::Result<Claiming> {
    write_claim(folder, br#"{"void":true}"#, |_| Ok(()))
}

fn write_claim(
    folder: &AttemptFolder,
    text: &[u8],
    lock: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<Claiming> {
    let mut chance = [0_u8; 8];
    getrandom(&mut chance, GetRandomFlags::empty())?;
    let temporary = folder.path.join(format!("claim.{:016x}", u64::from_ne_bytes(chance)));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    let linked = lock(&file)
        .and_then(|()| file.write_all(text))
        .and_then(|()| fs::hard_link(&temporary, folder.claim()));
    fs::remove_file(&temporary)?;
    match linked {
        Ok(()) => Ok(Claiming::Won(file)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Claiming::Lost),
        Err(error) => Err(error),
    }
}

/// What a claim says to somebody who comes by.
pub(crate) enum Claim {
    Nobodys,
    /// Locked. The identity is missing if the file cannot be understood (yet).
    Held(Option<Identity>),
    Void,
    /// Unlocked, and not void: whoever held it is dead.
    Abandoned,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VoidClaim {
    void: bool,
}

/// Reads the claim, without disturbing anybody.
pub(crate) fn read(path: &Path) -> io::Result<Claim> {
    let mut file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Claim::Nobodys),
        // An agent put it there: no keeper can be found through it any more.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(Claim::Abandoned),
        Err(error) => return Err(error),
    };
    let is_locked = match file.try_lock_shared() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(error)) => return Err(error),
    };
    let mut text = Vec::new();
    Read::by_ref(&mut file).take(CLAIM_BYTES_MAX).read_to_end(&mut text)?;
    if is_locked {
        return Ok(Claim::Held(serde_json::from_slice(&text).ok()));
    }
    match serde_json::from_slice(&text) {
        Ok(VoidClaim { void: true }) => Ok(Claim::Void),
        Ok(VoidClaim { void: false }) | Err(_) => Ok(Claim::Abandoned),
    }
}
