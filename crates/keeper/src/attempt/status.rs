//! How an attempt stands, read from its folder alone.
//!
//! Not here: what to do about it. A `Dead` attempt wants [`crate::sweep()`] first.
//!
//! An agent can write into its own folder, so an `ending.json` is believed only if no keeper lives
//! that could still replace it, if it is of this call, and if its keeper signed it.
//!
//! Invariant: no file an agent can write makes a call immortal.
//! Invariant: looking changes nothing, but for putting aside what is no ending.

use std::io;

use crate::attempt::claim::{self, Claim, Claiming, Identity};
use crate::attempt::dir::{AttemptFolder, Ending, ExitReason};
use crate::attempt::ending_signature::EndingProof;
use crate::attempt::keeper_handle::Keeper;
use crate::attempt::sweep;
use crate::processes;

/// A keeper between its last breath and letting go of the lock is asked for again this often.
const LOOKS_MAX: usize = 3;

/// All an attempt can be.
#[derive(Debug)]
pub enum AttemptStatus {
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

/// Says how the attempt stands. The claim is asked first: once it is free, the ending is final.
pub fn look(folder: &AttemptFolder, proof: &EndingProof<'_>) -> io::Result<AttemptStatus> {
    let mut looks = 0;
    loop {
        looks += 1;
        let otherwise = match claim::read(&folder.claim())? {
            Claim::Nobodys => AttemptStatus::Unclaimed,
            Claim::Void => AttemptStatus::Void,
            Claim::Abandoned => AttemptStatus::Dead,
            Claim::Held(identity) => {
                let keeper = Keeper::find(identity);
                if keeper.as_fd().is_some() {
                    return Ok(AttemptStatus::Alive(keeper));
                }
                if looks == LOOKS_MAX {
                    return out_of_reach(folder, keeper, proof);
                }
                continue;
            }
        };
        return Ok(match read_ending(folder, proof) {
            EndingFile::Ending(ending) => AttemptStatus::Ended(ending),
            EndingFile::Nothing => otherwise,
            EndingFile::Forgery => {
                // Where it lies changes nothing about how the attempt stands.
                let _ = folder.put_aside(&folder.ending());
                otherwise
            }
        });
    }
}

/// Whether a keeper holds the claim that lives in other namespaces than this process: then this process cannot
/// see whom it is about to speak for.
pub fn is_kept_elsewhere(folder: &AttemptFolder) -> io::Result<bool> {
    Ok(match claim::read(&folder.claim())? {
        Claim::Held(Some(Identity { namespaces: Some(theirs), .. })) => {
            processes::own_namespaces().is_none_or(|own| own != theirs)
        }
        Claim::Held(_) | Claim::Nobodys | Claim::Void | Claim::Abandoned => false,
    })
}

/// The claim is locked, but not by the one whom it names. If no keeper is there at all, a stranger
/// locked it, and cannot hide an ending that way.
fn out_of_reach(
    folder: &AttemptFolder,
    keeper: Keeper,
    proof: &EndingProof<'_>,
) -> io::Result<AttemptStatus> {
    if sweep::has_keeper(&folder.path)? {
        return Ok(AttemptStatus::Alive(keeper));
    }
    Ok(match read_ending(folder, proof) {
        EndingFile::Ending(ending) => AttemptStatus::Ended(ending),
        EndingFile::Nothing | EndingFile::Forgery => AttemptStatus::Alive(keeper),
    })
}

enum EndingFile {
    Ending(Ending),
    Nothing,
    /// It cannot be understood, is of another call, or is not signed.
    Forgery,
}

fn read_ending(folder: &AttemptFolder, proof: &EndingProof<'_>) -> EndingFile {
    match folder.read_ending() {
        Ok(Some(ending)) if is_of_this_call(&ending, folder) && proof.accepts(folder, &ending) => {
            EndingFile::Ending(ending)
        }
        // The name of an ending is not waited for. What has no name is believed only with a signature.
        Ok(None) => match (folder.read_unnamed_ending(), proof) {
            (Some(ending), EndingProof::Signed { .. })
                if is_of_this_call(&ending, folder) && proof.accepts(folder, &ending) =>
            {
                EndingFile::Ending(ending)
            }
            (Some(_) | None, EndingProof::Signed { .. } | EndingProof::NotNeeded) => {
                EndingFile::Nothing
            }
        },
        Ok(Some(_)) | Err(_) => EndingFile::Forgery,
    }
}

fn is_of_this_call(ending: &Ending, folder: &AttemptFolder) -> bool {
    match (folder.spec(), &ending.how) {
        // The keeper could not read it, and said so under no name.
        (Ok(_), ExitReason::NotStarted { .. }) if ending.call.is_empty() => true,
        (Ok(spec), _) => spec.call == ending.call,
        (Err(_), _) => true,
    }
}

/// Makes sure that no keeper starts from now on. If one was faster, says how that one stands.
pub fn give_up(folder: &AttemptFolder, proof: &EndingProof<'_>) -> io::Result<AttemptStatus> {
    match claim::claim_as_void(folder)? {
        Claiming::Won(_) => Ok(AttemptStatus::Void),
        Claiming::Lost => look(folder, proof),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;

    use super::*;
    use crate::attempt::dir::{KeptFile, KeptFiles};
    use crate::attempt::ending_signature::EndingSigner;

    fn folder() -> (tempfile::TempDir, AttemptFolder) {
        let home = tempfile::tempdir().unwrap();
        let folder = AttemptFolder::at(home.path());
        (home, folder)
    }

    #[test]
    fn an_unclaimed_attempt_can_be_given_up_once_and_stays_void() {
        let (_home, folder) = folder();
        assert!(matches!(
            look(&folder, &EndingProof::NotNeeded).unwrap(),
            AttemptStatus::Unclaimed
        ));
        assert!(matches!(give_up(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Void));
        assert!(matches!(give_up(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Void));
        assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Void));
        assert!(matches!(claim::claim(&folder).unwrap(), Claiming::Lost));
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1, "no temporary files are left");
    }

    #[test]
    fn a_held_claim_is_alive_and_a_dropped_one_is_dead() {
        let (_home, folder) = folder();
        let Claiming::Won(held) = claim::claim(&folder).unwrap() else {
            panic!("nobody else came")
        };
        let AttemptStatus::Alive(keeper) = look(&folder, &EndingProof::NotNeeded).unwrap() else {
            panic!("it is locked")
        };
        assert_eq!(keeper.pid(), Some(std::process::id().cast_signed()));
        assert!(matches!(
            give_up(&folder, &EndingProof::NotNeeded).unwrap(),
            AttemptStatus::Alive(_)
        ));
        die(&held);
        assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Dead));
    }

    #[test]
    fn a_keeper_in_other_namespaces_is_kept_elsewhere_as_long_as_it_lives() {
        let (_home, folder) = folder();
        let mut identity = Identity::own().unwrap();
        identity.namespaces = Some("pid:[1] user:[1]".to_owned());
        fs::write(folder.claim(), serde_json::to_vec(&identity).unwrap()).unwrap();
        let lock = File::open(folder.claim()).unwrap();
        lock.try_lock().unwrap();
        assert!(is_kept_elsewhere(&folder).unwrap());
        die(&lock);
        assert!(!is_kept_elsewhere(&folder).unwrap());
        let (_home, folder) = self::folder();
        let Claiming::Won(_held) = claim::claim(&folder).unwrap() else { panic!("it is free") };
        assert!(!is_kept_elsewhere(&folder).unwrap(), "it is here");
    }

    #[test]
    fn an_empty_or_torn_claim_is_alive_while_locked_and_dead_when_not() {
        for text in ["", "{\"pid\":12"] {
            let (_home, folder) = folder();
            fs::write(folder.claim(), text).unwrap();
            let lock = File::open(folder.claim()).unwrap();
            lock.try_lock().unwrap();
            let AttemptStatus::Alive(keeper) = look(&folder, &EndingProof::NotNeeded).unwrap()
            else {
                panic!("it is locked")
            };
            assert_eq!((keeper.pid(), keeper.as_fd().is_some()), (None, false));
            die(&lock);
            assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Dead));
        }
    }

    #[test]
    fn a_reused_pid_is_never_taken_for_a_keeper() {
        let (_home, folder) = folder();
        let mut identity = Identity::own().unwrap();
        identity.start += 1;
        fs::write(folder.claim(), serde_json::to_vec(&identity).unwrap()).unwrap();
        let lock = File::open(folder.claim()).unwrap();
        lock.try_lock().unwrap();
        let AttemptStatus::Alive(keeper) = look(&folder, &EndingProof::NotNeeded).unwrap() else {
            panic!("it is locked")
        };
        assert!(keeper.as_fd().is_none());
    }

    fn spec(call: &str) -> String {
        format!(
            r#"{{"forge":1,"call":"{call}","argv":["true"],"dir":"/","stdin":null,"stdout":"pipe",
            "limits":{{"wall_ms":0,"silence_ms":0,"output_bytes":0}},"secrets":[]}}"#
        )
    }

    fn ending(call: &str, how: &str) -> String {
        format!(
            r#"{{"forge":1,"call":"{call}","how":{how},"started_at_ms":1,"ended_at_ms":2,
            "output_bytes":0,"swept":0,"transcript_cut":null}}"#
        )
    }

    const EXITED: &str = r#"{"kind":"exited","code":0}"#;
    const NOT_STARTED: &str = r#"{"kind":"not_started","why":"no spec"}"#;

    /// Lets go of a claim, as the death of its keeper does. Closing the file would not do: another test that
    /// starts a program at this moment has it open, too.
    fn die(held: &File) {
        held.unlock().unwrap();
    }

    /// A folder whose `attempt.json` is that of `one#1`.
    fn attempt() -> (tempfile::TempDir, AttemptFolder) {
        let (home, folder) = folder();
        fs::write(folder.attempt(), spec("one#1")).unwrap();
        (home, folder)
    }

    /// Puts something at a path that cannot be an ending.
    type Forgery = fn(&std::path::Path);

    const FORGERIES: [Forgery; 6] = [
        |path| fs::write(path, "").unwrap(),
        |path| fs::write(path, r#"{"forge":2}"#).unwrap(),
        |path| fs::write(path, ending("two#1", EXITED)).unwrap(),
        |path| fs::create_dir(path).unwrap(),
        |path| std::os::unix::fs::symlink(path, path).unwrap(),
        |path| {
            let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        },
    ];

    #[test]
    fn what_is_no_ending_is_put_aside_and_the_claim_decides() {
        for forge in FORGERIES {
            let (_home, folder) = attempt();
            forge(&folder.ending());
            assert!(matches!(
                look(&folder, &EndingProof::NotNeeded).unwrap(),
                AttemptStatus::Unclaimed
            ));
            assert!(fs::symlink_metadata(folder.path.join("ending.unreadable")).is_ok());
            let Claiming::Won(held) = claim::claim(&folder).unwrap() else { panic!("it is free") };
            forge(&folder.ending());
            assert!(matches!(
                look(&folder, &EndingProof::NotNeeded).unwrap(),
                AttemptStatus::Alive(_)
            ));
            assert!(fs::symlink_metadata(folder.ending()).is_ok(), "it is left to the keeper");
            die(&held);
            assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Dead));
            assert!(fs::symlink_metadata(folder.ending()).is_err());
            assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Dead));
        }
        let (_home, folder) = attempt();
        fs::write(folder.ending(), "{}").unwrap();
        assert!(matches!(give_up(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Void));
        assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Void));
        assert_eq!(fs::read(folder.path.join("ending.unreadable")).unwrap(), b"{}");
    }

    #[test]
    fn an_ending_is_not_believed_while_the_keeper_lives() {
        let (_home, folder) = attempt();
        let Claiming::Won(held) = claim::claim(&folder).unwrap() else { panic!("it is free") };
        fs::write(folder.ending(), ending("one#1", EXITED)).unwrap();
        assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Alive(_)));
        assert!(matches!(
            give_up(&folder, &EndingProof::NotNeeded).unwrap(),
            AttemptStatus::Alive(_)
        ));
        die(&held);
        assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Ended(_)));
    }

    #[test]
    fn an_ending_that_its_keeper_did_not_sign_is_none_however_the_keeper_died() {
        let signer = EndingSigner::generate().unwrap();
        let keys = [signer.public_key()];
        let proof = EndingProof::Signed { call: "one#1", keys: &keys, own: None };
        let (_home, folder) = attempt();
        let Claiming::Won(held) = claim::claim(&folder).unwrap() else { panic!("it is free") };
        fs::write(folder.ending(), ending("one#1", EXITED)).unwrap();
        die(&held);
        assert!(matches!(look(&folder, &proof).unwrap(), AttemptStatus::Dead));
        assert!(fs::symlink_metadata(folder.path.join("ending.unreadable")).is_ok());
        let mut with_proof: Ending = serde_json::from_str(&ending("one#1", EXITED)).unwrap();
        signer.sign(&folder, &mut with_proof);
        fs::write(folder.ending(), serde_json::to_vec(&with_proof).unwrap()).unwrap();
        assert!(matches!(look(&folder, &proof).unwrap(), AttemptStatus::Ended(_)));
    }

    #[test]
    fn an_ending_whose_name_the_power_took_counts_if_it_is_whole_and_signed() {
        let signer = EndingSigner::generate().unwrap();
        let keys = [signer.public_key()];
        let proof = EndingProof::Signed { call: "one#1", keys: &keys, own: None };
        let (_home, folder) = attempt();
        let Claiming::Won(held) = claim::claim(&folder).unwrap() else { panic!("it is free") };
        let unsigned = ending("one#1", EXITED);
        let mut whole: Ending = serde_json::from_str(&unsigned).unwrap();
        signer.sign(&folder, &mut whole);
        let whole = serde_json::to_vec(&whole).unwrap();
        fs::write(folder.unnamed_ending(), &whole).unwrap();
        assert!(matches!(look(&folder, &proof).unwrap(), AttemptStatus::Alive(_)));
        die(&held);
        assert!(matches!(look(&folder, &proof).unwrap(), AttemptStatus::Ended(_)));
        for text in [unsigned.as_bytes(), &whole[..whole.len() - 3], b""] {
            fs::write(folder.unnamed_ending(), text).unwrap();
            assert!(matches!(look(&folder, &proof).unwrap(), AttemptStatus::Dead));
        }
        // Whoever wants no signature wants a name.
        fs::write(folder.unnamed_ending(), &whole).unwrap();
        assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Dead));
    }

    #[test]
    fn small_files_are_made_again_from_the_ending_once_after_the_machine_went_down() {
        let (home, folder) = attempt();
        let (outbox, elsewhere) = (home.path().join("boxes/1/outbox"), home.path().join("other"));
        let result = outbox.join("result.json");
        let file = |path: PathBuf, text: &str| KeptFile { path, text: text.to_owned() };
        let files = vec![file(folder.transcript(), "all of it"), file(result.clone(), "{}")];
        let mut ended: Ending = serde_json::from_str(&ending("one#1", EXITED)).unwrap();
        fs::write(&elsewhere, "mine").unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.transcript()).unwrap();
        let same = crate::attempt::dir::boot().unwrap();
        ended.kept = Some(Box::new(KeptFiles { boot: same, files: files.clone() }));
        ended.restore_files(&folder).unwrap();
        assert!(!outbox.exists(), "the machine did not go down");
        ended.kept = Some(Box::new(KeptFiles { boot: "another".to_owned(), files }));
        ended.restore_files(&folder).unwrap();
        assert_eq!(fs::read_to_string(folder.transcript()).unwrap(), "all of it");
        assert_eq!(fs::read_to_string(&result).unwrap(), "{}");
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine", "no link is written through");
        fs::write(&result, "mended since").unwrap();
        ended.restore_files(&folder).unwrap();
        assert_eq!(fs::read_to_string(&result).unwrap(), "mended since");
    }

    #[test]
    fn a_stranger_who_locks_the_claim_of_a_dead_keeper_does_not_hide_its_ending() {
        let (_home, folder) = attempt();
        let mut identity = Identity::own().unwrap();
        identity.start += 1;
        fs::write(folder.claim(), serde_json::to_vec(&identity).unwrap()).unwrap();
        let lock = File::open(folder.claim()).unwrap();
        lock.try_lock().unwrap();
        fs::write(folder.ending(), ending("one#1", EXITED)).unwrap();
        assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Ended(_)));
    }

    #[test]
    fn a_keeper_that_could_not_read_its_call_is_heard_all_the_same() {
        let (_home, folder) = attempt();
        fs::write(folder.ending(), ending("", NOT_STARTED)).unwrap();
        assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Ended(_)));
        fs::write(folder.ending(), ending("", EXITED)).unwrap();
        assert!(matches!(
            look(&folder, &EndingProof::NotNeeded).unwrap(),
            AttemptStatus::Unclaimed
        ));
    }

    #[test]
    fn a_claim_that_is_no_file_belongs_to_nobody_alive() {
        for forge in &FORGERIES[3..] {
            let (_home, folder) = attempt();
            forge(&folder.claim());
            assert!(matches!(look(&folder, &EndingProof::NotNeeded).unwrap(), AttemptStatus::Dead));
        }
    }
}
