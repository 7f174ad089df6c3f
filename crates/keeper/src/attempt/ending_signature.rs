//! What makes an ending believable: a signature by a key that only a driver and its keepers know.
//!
//! A driver makes a key pair when it starts. The journal of its run names the public half before the first
//! keeper starts, and each keeper gets the seed through a pipe: it is in no file, argument or variable.
//! Code that runs below a keeper can write an `ending.json` and kill the keeper, but it cannot sign. The
//! signature covers the whole ending, the name of its call and the name of its folder, so a true ending
//! is worth nothing in the place of another one, and a later driver needs only the journal to check it.
//!
//! Not here: who reads the memory of a driver or a keeper has the key. They run as the same user; that takes
//! a sandbox.

use std::fmt;
use std::io;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::attempt::dir::{AttemptFolder, Ending, ExitReason};
use crate::hex::{from_hex, to_hex};

/// The first words of everything that is signed, so that no other use of a key could be taken for this one.
const CONTEXT: &str = "forge ending 1";
const SEED_BYTES: usize = 32;

/// Signs the endings of the keepers of one driver.
pub struct EndingSigner {
    seed: [u8; SEED_BYTES],
    pair: Ed25519KeyPair,
}

impl EndingSigner {
    /// Makes a new key pair.
    pub fn generate() -> io::Result<Self> {
        let mut seed = [0; SEED_BYTES];
        getrandom(&mut seed, GetRandomFlags::empty())?;
        Self::from_seed(&seed).ok_or_else(|| io::Error::other("a seed makes no key"))
    }

    pub(crate) fn from_seed(seed: &[u8]) -> Option<Self> {
        let seed: [u8; SEED_BYTES] = seed.try_into().ok()?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
        Some(Self { seed, pair })
    }

    pub(crate) fn seed(&self) -> &[u8] {
        &self.seed
    }

    /// Returns the public half, in hexadecimal digits.
    pub fn public_key(&self) -> String {
        to_hex(self.pair.public_key().as_ref())
    }

    pub(crate) fn sign(&self, folder: &AttemptFolder, ending: &mut Ending) {
        ending.signature = None;
        ending.signature = Some(to_hex(self.pair.sign(&signed_bytes(folder, ending)).as_ref()));
    }

    /// Whether this key made the signature, which is the only one that it makes over these bytes.
    fn made(&self, signature: &[u8], bytes: &[u8], keys: &[String]) -> bool {
        keys.contains(&self.public_key()) && self.pair.sign(bytes).as_ref() == signature
    }
}

impl fmt::Debug for EndingSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndingSigner").finish_non_exhaustive()
    }
}

/// The condition on which an ending is believed.
#[derive(Clone, Copy, Debug)]
pub enum EndingProof<'a> {
    /// Nothing: its call was begun by a Forge whose keepers did not sign.
    NotNeeded,
    /// A signature by one of these public keys, over an ending of this call.
    Signed {
        call: &'a str,
        keys: &'a [String],
        /// The key of this driver, if it is one: to sign again takes a fifth of the time of a check.
        own: Option<&'a EndingSigner>,
    },
}

impl<'a> EndingProof<'a> {
    /// The same for a driver that has this key.
    #[must_use]
    pub fn with_own(self, own: Option<&'a EndingSigner>) -> Self {
        match self {
            Self::NotNeeded => self,
            Self::Signed { call, keys, own: _ } => Self::Signed { call, keys, own },
        }
    }

    pub(crate) fn accepts(&self, folder: &AttemptFolder, ending: &Ending) -> bool {
        match self {
            Self::NotNeeded => true,
            Self::Signed { call, keys, own } => {
                // A keeper that could not read its call says so under no name.
                let is_nameless =
                    matches!(ending.how, ExitReason::NotStarted { .. }) && ending.call.is_empty();
                (ending.call == *call || is_nameless) && is_signed(folder, ending, keys, *own)
            }
        }
    }
}

fn is_signed(
    folder: &AttemptFolder,
    ending: &Ending,
    keys: &[String],
    own: Option<&EndingSigner>,
) -> bool {
    let Some(signature) = ending.signature.as_deref().and_then(from_hex) else { return false };
    let unsigned = Ending { signature: None, ..ending.clone() };
    let bytes = signed_bytes(folder, &unsigned);
    if own.is_some_and(|own| own.made(&signature, &bytes, keys)) {
        return true;
    }
    keys.iter()
        .filter_map(|key| from_hex(key))
        .any(|key| UnparsedPublicKey::new(&ED25519, key).verify(&bytes, &signature).is_ok())
}

fn signed_bytes(folder: &AttemptFolder, unsigned: &Ending) -> Vec<u8> {
    let name = folder.path.file_name().unwrap_or_default();
    let mut bytes = [CONTEXT.as_bytes(), b"\0", name.as_encoded_bytes(), b"\0"].concat();
    bytes.extend(serde_json::to_vec(unsigned).expect("an ending can be written"));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(call: &str, how: ExitReason) -> Ending {
        Ending {
            forge: 1,
            call: call.to_owned(),
            how,
            started_at_ms: 1,
            ended_at_ms: 2,
            output_bytes: 3,
            swept: 0,
            transcript_cut: None,
            left_over: 0,
            disk_full: false,
            kept: None,
            result: None,
            signature: None,
        }
    }

    #[test]
    fn a_signature_counts_for_one_ending_of_one_step_by_one_key() {
        let (own, other) = (EndingSigner::generate().unwrap(), EndingSigner::generate().unwrap());
        let keys = [own.public_key()];
        let proof = EndingProof::Signed { call: "build#1/verify#1", keys: &keys, own: None };
        let step = AttemptFolder::at("/attempts/r/0007/steps/check-1");
        let mut red = ending("build#1/verify#1", ExitReason::Exited { code: 1 });
        assert!(!proof.accepts(&step, &red), "it is not signed");
        own.sign(&step, &mut red);
        assert!(proof.accepts(&step, &red));
        let moved = AttemptFolder::at("/elsewhere/r/0007/steps/check-1");
        assert!(proof.accepts(&moved, &red), "a repository that was moved");
        let green = Ending { how: ExitReason::Exited { code: 0 }, ..red.clone() };
        assert!(!proof.accepts(&step, &green), "another ending");
        let next = AttemptFolder::at("/attempts/r/0007/steps/check-2");
        assert!(!proof.accepts(&next, &red), "another step of the call");
        let later = EndingProof::Signed { call: "build#2/verify#1", keys: &keys, own: None };
        assert!(!later.accepts(&step, &red), "another call");
        other.sign(&step, &mut red);
        assert!(!proof.accepts(&step, &red), "another key");
        assert!(EndingProof::NotNeeded.accepts(&step, &green));
    }

    #[test]
    fn a_driver_knows_its_own_signatures_and_believes_no_others_for_it() {
        let (own, other) = (EndingSigner::generate().unwrap(), EndingSigner::generate().unwrap());
        let step = AttemptFolder::at("/attempts/r/0007");
        let signed = |by: &EndingSigner| {
            let mut ending = ending("a#1", ExitReason::Exited { code: 0 });
            by.sign(&step, &mut ending);
            ending
        };
        let both = [own.public_key(), other.public_key()];
        for (by, keys, counts) in [
            (&own, &both[..], true),
            (&other, &both[..], true),
            (&other, &both[..1], false),
            // Its own key is not yet a fact.
            (&own, &both[1..], false),
        ] {
            let proof = EndingProof::Signed { call: "a#1", keys, own: None }.with_own(Some(&own));
            assert_eq!(proof.accepts(&step, &signed(by)), counts);
        }
        let proof = EndingProof::Signed { call: "a#1", keys: &both, own: Some(&own) };
        let green = signed(&own);
        let red = Ending { how: ExitReason::Exited { code: 1 }, ..green };
        assert!(!proof.accepts(&step, &red), "a signature over something else");
    }

    #[test]
    fn a_keeper_that_could_not_read_its_call_may_sign_that_and_nothing_else() {
        let own = EndingSigner::generate().unwrap();
        let keys = [own.public_key()];
        let proof = EndingProof::Signed { call: "build#1", keys: &keys, own: None };
        let folder = AttemptFolder::at("/attempts/r/0001");
        let why = "no spec".to_owned();
        for (how, counts) in
            [(ExitReason::NotStarted { why }, true), (ExitReason::Exited { code: 0 }, false)]
        {
            let mut nameless = ending("", how);
            own.sign(&folder, &mut nameless);
            assert_eq!(proof.accepts(&folder, &nameless), counts);
        }
    }

    #[test]
    fn what_is_no_signature_is_refused_and_breaks_nothing() {
        let own = EndingSigner::generate().unwrap();
        let keys = [own.public_key(), "no key".to_owned(), String::new()];
        let proof = EndingProof::Signed { call: "a#1", keys: &keys, own: None };
        let folder = AttemptFolder::at("/attempts/r/0001");
        for signature in ["", "0", "zz", "00", "é", &"0".repeat(128)] {
            let mut forged = ending("a#1", ExitReason::Exited { code: 0 });
            forged.signature = Some(signature.to_owned());
            assert!(!proof.accepts(&folder, &forged), "{signature}");
        }
    }
}
