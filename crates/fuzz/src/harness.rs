//! Runs a target: the corpus first, then mutations until the time is up. What fails is shrunk and saved in the corpus.

use std::{
    cell::Cell,
    env, fs,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::Once,
    time::{Duration, Instant},
};

use crate::{mutation::mutated, random::Random, shrink::shrunk};

/// How long a target mutates if nobody says so, in milliseconds.
const MS_DEFAULT: u64 = 300;
/// An input that takes longer than this is a failure: time grows with the length of a text, and no faster.
const INPUT_TIME_MAX: Duration = Duration::from_secs(20);

/// A function over bytes that panics if a promise is broken, and the inputs it starts from.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// The name of its folder in the corpus.
    pub name: &'static str,
    pub check: fn(&[u8]),
    /// Words that are read in a special way.
    pub tokens: &'static [&'static str],
    /// The longest input.
    pub bytes_max: usize,
}

thread_local! {
    /// Panics of this thread are expected, and not printed.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

impl FuzzTarget {
    /// Checks the corpus and mutations of it, and panics with the smallest input that fails.
    pub fn run(&self) {
        let folder = self.folder();
        let mut names: Vec<PathBuf> = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .flatten()
            .map(|entry| entry.path())
            .collect();
        names.sort();
        assert!(!names.is_empty(), "{} has no seeds", folder.display());
        let mut seeds = Vec::new();
        for path in names {
            let input =
                fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            if let Some(why) = self.failure(&input) {
                panic!("{}: {} fails: {why}", self.name, path.display());
            }
            seeds.push(input);
        }
        let (seed, time) = (
            number("FORGE_FUZZ_SEED", 1),
            Duration::from_millis(number("FORGE_FUZZ_MS", MS_DEFAULT)),
        );
        let mut random =
            Random::from_seed(seed ^ Random::from_bytes(self.name.as_bytes()).next_u64());
        let began = Instant::now();
        let mut count = 0_u64;
        while began.elapsed() < time {
            let input = mutated(&mut random, &seeds, self.tokens, self.bytes_max);
            if self.failure(&input).is_some() {
                self.report(input, seed, count);
            }
            count += 1;
        }
        say(&format!("{}: {} seeds and {count} mutations, seed {seed}", self.name, seeds.len()));
    }

    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name)
    }

    /// Says why an input fails, if it does.
    fn failure(&self, input: &[u8]) -> Option<String> {
        silence_expected_panics();
        IS_QUIET.set(true);
        let began = Instant::now();
        let result = panic::catch_unwind(AssertUnwindSafe(|| (self.check)(input)));
        let took = began.elapsed();
        IS_QUIET.set(false);
        match result {
            Err(why) => {
                let text = why.downcast_ref::<String>().cloned();
                let text =
                    text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                Some(text.unwrap_or_else(|| "it panics".to_owned()))
            }
            Ok(()) if took > INPUT_TIME_MAX => {
                Some(format!("{} bytes take {took:.0?}", input.len()))
            }
            Ok(()) => None,
        }
    }

    fn report(&self, input: Vec<u8>, seed: u64, count: u64) -> ! {
        let small = shrunk(input, |input| self.failure(input).is_some());
        let why = self.failure(&small).unwrap_or_else(|| "it failed only once".to_owned());
        let path =
            self.folder().join(format!("failed-{:016x}", Random::from_bytes(&small).next_u64()));
        let saved = fs::write(&path, &small)
            .map_or_else(|error| error.to_string(), |()| "saved".to_owned());
        panic!(
            "{}: mutation {count} of seed {seed} fails: {why}\n{} ({saved})\n{}",
            self.name,
            path.display(),
            small.escape_ascii()
        );
    }
}

fn number(variable: &str, default: u64) -> u64 {
    match env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: `{text}`")),
        Err(_) => default,
    }
}

/// Installs a panic hook that leaves out what this thread expects.
fn silence_expected_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                usual(info);
            }
        }));
    });
}

#[expect(clippy::print_stderr, reason = "libtest shows it with --nocapture, and when a test fails")]
fn say(line: &str) {
    eprintln!("{line}");
}
