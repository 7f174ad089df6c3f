//! The seed of all sampled tests: another one for every commit, the same one for the same commit.
//!
//! A family takes its cases by it, so that over many commits all cases are tried. `--seed N` repeats a sample.

use std::process::Command;

use crate::repository::root;

/// The seed where there is no commit.
const WITHOUT_COMMIT: u64 = 1;
/// So many digits of a commit's id are a number that a person can still type.
const DIGITS: usize = 8;

/// The seed of the commit that is checked out.
pub(crate) fn from_commit() -> u64 {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()).output();
    let id = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    from_id(&id.unwrap_or_default())
}

fn from_id(id: &str) -> u64 {
    let digits = id.get(..DIGITS).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    digits.unwrap_or(WITHOUT_COMMIT)
}

/// Picks `wanted` of `all`, each with the same chance, in the order in which they were.
pub(crate) fn sample<T>(all: Vec<T>, wanted: usize, seed: u64) -> Vec<T> {
    let mut state = seed;
    let mut keyed: Vec<(u64, usize, T)> =
        all.into_iter().enumerate().map(|(at, item)| (next(&mut state), at, item)).collect();
    keyed.sort_by_key(|(key, at, _)| (*key, *at));
    keyed.truncate(wanted);
    keyed.sort_by_key(|(_, at, _)| *at);
    keyed.into_iter().map(|(_, _, item)| item).collect()
}

/// The next number of splitmix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_is_the_beginning_of_a_commit_id() {
        assert_eq!(from_id("0741261aff00"), 0x0741_261a);
        assert_eq!(from_id("not a commit"), WITHOUT_COMMIT);
        assert_eq!(from_id(""), WITHOUT_COMMIT);
    }

    #[test]
    fn a_sample_is_repeatable_and_other_seeds_reach_everything() {
        let all: Vec<usize> = (0..40).collect();
        assert_eq!(sample(all.clone(), 5, 7), sample(all.clone(), 5, 7));
        assert_eq!(sample(all.clone(), 5, 7).len(), 5);
        let seen: BTreeSet<usize> =
            (0..100).flat_map(|seed| sample(all.clone(), 5, seed)).collect();
        assert_eq!(seen.len(), all.len());
        assert_eq!(sample(all.clone(), 99, 1), all, "no more than there are");
    }
}
