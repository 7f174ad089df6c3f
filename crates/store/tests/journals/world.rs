//! A small journal to try things on, and chance that can be repeated.

#![allow(dead_code, clippy::allow_attributes, reason = "not every test file uses every helper")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]
#![expect(clippy::print_stderr, reason = "a seed that nobody sees cannot be repeated")]

use std::fs;
use std::path::Path;

use forge_store::journal::{JournalRecord, RunLock, Store, database, projection};

pub(crate) const RUNS: [&str; 3] =
    ["20260101-add-a-flag-aaaa", "20260102-mend-the-parser-bbbb", "20260103-tidy-up-cccc"];
pub(crate) const RECORDS: u64 = 60;

/// Fills a folder with three runs, written in turns, some bodies longer than a page. Gives what
/// was written, run by run.
pub(crate) fn fill(dir: &Path) -> Vec<Vec<JournalRecord>> {
    let mut store = Store::open(dir).unwrap();
    let mut writers: Vec<_> = RUNS
        .iter()
        .map(|run| {
            let lock = RunLock::acquire(dir, run).unwrap();
            store.begin_run(lock, 1000, &body(run, 1), &row(1)).unwrap()
        })
        .collect();
    for seq in 2..=RECORDS {
        for (run, writer) in RUNS.iter().zip(&mut writers) {
            store.append(writer, 1000 + seq, &body(run, seq), &row(seq), &[]).unwrap();
        }
    }
    RUNS.iter().map(|run| store.read(run, 1).unwrap()).collect()
}

/// Writes the projections as their owner does.
pub(crate) fn project(dir: &Path, records: &[Vec<JournalRecord>]) {
    for (run, records) in RUNS.iter().zip(records) {
        let lines: String = records.iter().map(|record| record.to_line() + "\n").collect();
        let path = projection(dir, run);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, lines).unwrap();
    }
}

pub(crate) fn body(run: &str, seq: u64) -> String {
    let long =
        if seq.is_multiple_of(20) { 6000 } else { 40 + (usize::try_from(seq).unwrap() * 37) % 300 };
    let text = format!("{run} {seq} ").repeat(long / 20);
    format!(r#"{{"facts":[{{"kind":"AttemptEnded","number":{seq},"words":"{text}"}}]}}"#)
}

pub(crate) fn row(seq: u64) -> String {
    format!(
        r#"{{"state":"working","seq":{seq},"waits":"{}"}}"#,
        "x".repeat(usize::try_from(seq).unwrap() * 3)
    )
}

/// Copies database and log, as they are.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::copy(database(from), database(to)).unwrap();
    let log = from.join("forge.db-wal");
    if log.exists() {
        fs::copy(log, to.join("forge.db-wal")).unwrap();
    }
}

/// Chance that can be repeated: splitmix64.
pub(crate) struct Chance(u64);

impl Chance {
    /// From `FORGE_JOURNAL_SEED`, or the clock; says which on stderr.
    pub(crate) fn new(what: &str) -> Chance {
        let given = std::env::var("FORGE_JOURNAL_SEED").ok().and_then(|seed| seed.parse().ok());
        let clock = || {
            let since = std::time::UNIX_EPOCH.elapsed().unwrap();
            u64::try_from(since.as_nanos() & 0xffff_ffff).unwrap()
        };
        let seed = given.unwrap_or_else(clock);
        eprintln!("{what}: FORGE_JOURNAL_SEED={seed}");
        Chance(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }
}

/// How often to try: `FORGE_FLIPS`, 200 by itself.
pub(crate) fn flips() -> usize {
    std::env::var("FORGE_FLIPS").ok().and_then(|count| count.parse().ok()).unwrap_or(200)
}
