//! How an attempt stands, read from its folder alone.
//!
//! Not here: what to do about it. A `Dead` attempt wants [`crate::sweep()`] first.
//!
//! Invariant: an ending that cannot be understood is an error, never a guess.
//! Invariant: looking changes nothing.

use std::io;

use crate::claim::{self, Claim, Claiming};
use crate::folder::{AttemptFolder, Ending};
use crate::follow::Keeper;

/// A keeper between its last breath and letting go of the lock is asked for again this often.
const LOOKS_MAX: usize = 3;

/// All an attempt can be.
#[derive(Debug)]
pub enum Standing {
    /// Nobody has started on it.
    Unclaimed,
    /// A keeper holds the claim.
    Alive(Keeper),
    Ended(Ending),
    /// Given up before any keeper came.
    Void,
    /// Its keeper died without an ending. Processes of it may be left.
    Dead,
}

/// Says how the attempt stands.
pub fn look(folder: &AttemptFolder) -> io::Result<Standing> {
    let mut looks = 0;
    loop {
        looks += 1;
        if let Some(ending) = folder.read_ending()? {
            return Ok(Standing::Ended(ending));
        }
        match claim::read(&folder.claim())? {
            Claim::Nobodys => return Ok(Standing::Unclaimed),
            Claim::Void => return Ok(Standing::Void),
            Claim::Abandoned => return abandoned(folder),
            Claim::Held(identity) => {
                let keeper = Keeper::find(identity);
                if keeper.as_fd().is_some() || looks == LOOKS_MAX {
                    return Ok(Standing::Alive(keeper));
                }
            }
        }
    }
}

/// The keeper may have written its ending and gone since we looked for one.
fn abandoned(folder: &AttemptFolder) -> io::Result<Standing> {
    Ok(folder.read_ending()?.map_or(Standing::Dead, Standing::Ended))
}

/// Makes sure that no keeper starts from now on. If one was faster, says how that one stands.
pub fn give_up(folder: &AttemptFolder) -> io::Result<Standing> {
    match claim::claim_as_void(folder)? {
        Claiming::Won(_) => Ok(Standing::Void),
        Claiming::Lost => look(folder),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    fn folder() -> (tempfile::TempDir, AttemptFolder) {
        let home = tempfile::tempdir().unwrap();
        let folder = AttemptFolder::at(home.path());
        (home, folder)
    }

    #[test]
    fn an_unclaimed_attempt_can_be_given_up_once_and_stays_void() {
        let (_home, folder) = folder();
        assert!(matches!(look(&folder).unwrap(), Standing::Unclaimed));
        assert!(matches!(give_up(&folder).unwrap(), Standing::Void));
        assert!(matches!(give_up(&folder).unwrap(), Standing::Void));
        assert!(matches!(look(&folder).unwrap(), Standing::Void));
        assert!(matches!(claim::claim(&folder).unwrap(), Claiming::Lost));
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1, "no temporary files are left");
    }

    #[test]
    fn a_held_claim_is_alive_and_a_dropped_one_is_dead() {
        let (_home, folder) = folder();
        let Claiming::Won(held) = claim::claim(&folder).unwrap() else {
            panic!("nobody else came")
        };
        let Standing::Alive(keeper) = look(&folder).unwrap() else { panic!("it is locked") };
        assert_eq!(keeper.pid(), Some(std::process::id().cast_signed()));
        assert!(matches!(give_up(&folder).unwrap(), Standing::Alive(_)));
        drop(held);
        assert!(matches!(look(&folder).unwrap(), Standing::Dead));
    }

    #[test]
    fn an_empty_or_torn_claim_is_alive_while_locked_and_dead_when_not() {
        for text in ["", "{\"pid\":12"] {
            let (_home, folder) = folder();
            fs::write(folder.claim(), text).unwrap();
            let lock = File::open(folder.claim()).unwrap();
            lock.try_lock().unwrap();
            let Standing::Alive(keeper) = look(&folder).unwrap() else { panic!("it is locked") };
            assert_eq!((keeper.pid(), keeper.as_fd().is_some()), (None, false));
            drop(lock);
            assert!(matches!(look(&folder).unwrap(), Standing::Dead));
        }
    }

    #[test]
    fn a_reused_pid_is_never_taken_for_a_keeper() {
        let (_home, folder) = folder();
        let mut identity = claim::Identity::own().unwrap();
        identity.start += 1;
        fs::write(folder.claim(), serde_json::to_vec(&identity).unwrap()).unwrap();
        let lock = File::open(folder.claim()).unwrap();
        lock.try_lock().unwrap();
        let Standing::Alive(keeper) = look(&folder).unwrap() else { panic!("it is locked") };
        assert!(keeper.as_fd().is_none());
    }

    #[test]
    fn an_ending_that_makes_no_sense_is_an_error_which_names_the_file() {
        let (_home, folder) = folder();
        for text in ["", "{}", r#"{"forge":2}"#] {
            fs::write(folder.ending(), text).unwrap();
            let error = look(&folder).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains("ending.json"), "{error}");
        }
    }
}
