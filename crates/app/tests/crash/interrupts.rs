//! Drivers that are not killed but asked to end, as by Ctrl-C (SIGINT) and by whoever shuts a machine down
//! (SIGTERM): they end by their rules, and whoever resumes comes to what an undisturbed run comes to.
//!
//! Not here: what must hold afterwards, see `crash/promises.rs` and `crash/delivered.rs`.

use rustix::process::Signal;

use super::{
    cases::{self, Blow, Case, Chance, Moment, Sizes, Victim, named, undisturbed},
    feature::EFFORTS,
    world::Script,
};

/// Efforts in which more than one worker has the run's own checkout, one after the other.
const NAMES: [&str; 2] = ["M", "L"];

/// A sample with fewer cases says nothing about how many are an exception.
const SAMPLE_MAX: usize = 20;

/// Plays some records of each effort, or all. The two signals take turns; an odd seed begins with the one, an
/// even one with the other.
pub(crate) fn play(sizes: &Sizes) {
    let efforts = EFFORTS.iter().filter(|effort| NAMES.contains(&effort.name));
    let cases: Vec<Case> = efforts.flat_map(|effort| of(sizes, effort)).collect();
    let n = cases.len();
    let interrupts = cases::play("feature interrupts", sizes, u32::MAX, cases.into_iter());
    // A run may stop by itself just when it is asked to. That is the exception, though a small sample may have several.
    let least = if n < SAMPLE_MAX { 0 } else { n / 2 };
    let is_much = sizes.only.is_some() || usize::try_from(interrupts).unwrap() > least;
    assert!(is_much, "{interrupts} of {n} were interrupted");
}

fn of(sizes: &Sizes, script: &'static Script) -> Vec<Case> {
    let all = undisturbed(script).n_records;
    let wanted = sizes.n_records.filter(|_| sizes.only.is_none()).map_or(all, |n| n.min(all));
    let mut chance = Chance(sizes.seed);
    let mut left: Vec<usize> = (1..=all).collect();
    let mut any = || {
        let at = chance.below(u64::try_from(left.len()).unwrap());
        left.swap_remove(usize::try_from(at).unwrap())
    };
    (0..wanted).map(|_| after_record(sizes, script, any())).collect()
}

fn after_record(sizes: &Sizes, script: &'static Script, record: usize) -> Case {
    let turn = u64::try_from(record).unwrap() + sizes.seed;
    let (signal, word) =
        if turn.is_multiple_of(2) { (Signal::INT, "INT") } else { (Signal::TERM, "TERM") };
    let blow = Blow { moment: Moment::AfterRecord(record), victim: Victim::Driver, signal };
    let name = named(script, &format!("{word} {record}"));
    Case { name, script, blows: vec![blow], answer_blow: None }
}
