//! The cases: after which record whom to kill, and playing them, two at a time.
//!
//! A case is known before it is played, so a seed and the number of a record are enough to play it
//! again. Where exactly a blow lands is still up to the machine.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, OnceLock},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    processes::{kill, kill_everybody},
    promises::{self, Endings},
    story::{Driver, Story, Waited},
};

/// How many stories there are at a time.
const AT_ONCE: usize = 2;
/// How often a run may be taken up again after a blow.
const RESUMES_MAX: u32 = 4;
/// A family that fails this often need not go on.
const FAILURES_MAX: usize = 3;

/// How much is tried.
pub(crate) struct Sizes {
    /// Records after which to kill; nothing means all.
    n_records: Option<usize>,
    seed: u64,
    /// Only this record.
    only: Option<usize>,
}

impl Sizes {
    pub(crate) fn from_environment() -> Self {
        let number = |name: &str| {
            let text = std::env::var(name).ok().filter(|text| text != "all");
            text.map(|text| {
                text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text} is no number"))
            })
        };
        let records = "FORGE_LANDING_RECORDS";
        let is_all = std::env::var(records).is_ok_and(|text| text == "all");
        let n = number(records).unwrap_or(8);
        let count = |n: u64| usize::try_from(n).unwrap();
        Self {
            n_records: (!is_all).then_some(count(n)),
            seed: number("FORGE_LANDING_SEED").unwrap_or(1),
            only: number("FORGE_LANDING_CASE").map(count),
        }
    }

    /// The records after which to kill: all, or one from each of so many equal parts.
    fn sample(&self, n: usize) -> Vec<usize> {
        if let Some(only) = self.only {
            return vec![only];
        }
        let tried = self.n_records.unwrap_or(n).min(n);
        let one = |part: usize| {
            let (from, to) = (1 + part * n / tried, (part + 1) * n / tried);
            let wide = u64::try_from(to - from + 1).unwrap();
            from + usize::try_from(chance(self.seed, part) % wide).unwrap()
        };
        (0..tried).map(one).collect()
    }
}

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// The driver alone, and with it its work on checkouts: agents and checks finish under their keepers.
    Driver,
    /// Driver, keepers, agents, workspace worker, git: all at once.
    Everybody,
}

impl Victim {
    fn of(seed: u64, record: usize) -> Self {
        if chance(seed ^ 0x0bad_cafe, record).is_multiple_of(3) {
            Self::Driver
        } else {
            Self::Everybody
        }
    }
}

/// What an undisturbed run is like.
pub(crate) struct Undisturbed {
    /// Its facts, in order.
    pub(crate) facts: Vec<Value>,
    /// What each agent was told, by call.
    pub(crate) briefs: BTreeMap<String, String>,
    tree: String,
    n_records: usize,
    took: Duration,
}

/// Plays without any blow, once for all tests.
pub(crate) fn undisturbed() -> &'static Undisturbed {
    static UNDISTURBED: OnceLock<Undisturbed> = OnceLock::new();
    UNDISTURBED.get_or_init(|| {
        let story = Story::new();
        let began = Instant::now();
        let mut driver = story.run();
        let mut n_lines = 0;
        while driver.hear(1) == Waited::GoesOn {
            n_lines += 1;
        }
        let code = driver.end().code();
        let took = began.elapsed();
        let log = || story.world.forge(&["log", "-vv"]).all();
        assert_eq!(code, Some(0), "{}{}", story.complaints(), log());
        let run = story.standing().unwrap().0;
        let tree = story.landed_tree(&run);
        promises::hold(&story, &run, &tree, &Endings::new());
        // The last line says how the run was left.
        let (facts, briefs) = (story.world.facts(&run), story.briefs(&run));
        Undisturbed { facts, briefs, tree, n_records: n_lines - 1, took }
    })
}

/// Plays all cases of this size, and says what they came to.
pub(crate) fn play(sizes: &Sizes) {
    let undisturbed = undisturbed();
    let cases = Mutex::new(sizes.sample(undisturbed.n_records).into_iter());
    let (done, failed, began) = (Mutex::new((0, 0)), Mutex::new(Vec::new()), Instant::now());
    let next = || {
        let goes_on = failed.lock().unwrap().len() < FAILURES_MAX;
        cases.lock().unwrap().next().filter(|_| goes_on)
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(record) = next() {
                    match play_one(sizes.seed, record, &undisturbed.tree) {
                        Ok(killed) => {
                            let mut done = done.lock().unwrap();
                            *done = (done.0 + 1, done.1 + killed);
                        }
                        Err(why) => {
                            let seed = sizes.seed;
                            eprintln!(
                                "FORGE_LANDING_SEED={seed} FORGE_LANDING_CASE={record}: {why}"
                            );
                            failed.lock().unwrap().push(record);
                        }
                    }
                }
            });
        }
    });
    let (cases, killed) = done.into_inner().unwrap();
    let failed = failed.into_inner().unwrap();
    // Past the test's own capture, so that it is always seen.
    let written = writeln!(
        io::stderr(),
        "landing: seed {}, {cases} kills ({killed} processes), {} failed, {:.1} s (undisturbed: {:.1} s, {} records)",
        sizes.seed,
        failed.len(),
        began.elapsed().as_secs_f64(),
        undisturbed.took.as_secs_f64(),
        undisturbed.n_records,
    );
    written.unwrap();
    assert!(failed.is_empty(), "killed after these records, it failed: {failed:?}");
}

/// Plays one case, and says how many were killed.
fn play_one(seed: u64, record: usize, tree: &str) -> Result<usize, String> {
    let story = Story::new();
    let victim = Victim::of(seed, record);
    let played = catch_unwind(AssertUnwindSafe(|| {
        let (killed, known) = strike(&story, record, victim);
        let run = finish(&story);
        promises::hold(&story, &run, tree, &known);
        killed
    }));
    played.map_err(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        let log = story.world.forge(&["log", "-vv"]).out;
        let words = words.unwrap_or_default();
        format!("{words}\n{victim:?}\n--- stderr\n{}--- log\n{log}", story.complaints())
    })
}

/// Kills as soon as the record was told. Says how many, and which endings were there then.
fn strike(story: &Story, record: usize, victim: Victim) -> (usize, Endings) {
    let mut driver = story.run();
    if driver.hear(record) == Waited::Fell {
        // This run needed fewer records than the one that they were counted in.
        assert_eq!(driver.end().code(), Some(0), "it gave up: {}", story.complaints());
        return (0, Endings::new());
    }
    let killed = usize::from(kill(driver.pid()));
    let more = match victim {
        Victim::Driver => 0,
        Victim::Everybody => kill_everybody(story.world.repo.parent().unwrap()),
    };
    // Nobody goes on before it is dead for certain: only then its lock is free.
    driver.end();
    (killed + more, promises::endings(story))
}

/// Resumes until the run is done, and says which it is.
fn finish(story: &Story) -> String {
    for _ in 0..RESUMES_MAX {
        let mut driver: Driver = match story.standing() {
            // It was killed before anybody could see its first record: it never happened.
            None => story.run(),
            Some((run, standing)) if standing == "done" => {
                // Killed after the last record, before refs and files followed: any command may do it.
                story.world.ok(&["status", &run, "--json"]);
                return run;
            }
            Some((run, standing)) => {
                assert_eq!(standing, "going", "{run} needs somebody");
                story.resume(&run)
            }
        };
        let status = driver.end();
        assert_eq!(status.code(), Some(0), "nobody disturbs it now: {}", story.complaints());
    }
    panic!("the run is never done");
}

/// The same number for the same seed (splitmix64).
fn chance(seed: u64, number: usize) -> u64 {
    let number = u64::try_from(number).unwrap();
    let mut z =
        seed.wrapping_mul(1_000_003).wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
