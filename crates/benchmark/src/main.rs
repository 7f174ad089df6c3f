//! The figures that Forge is held to, each beside what it is compared with.
//!
//! `cargo xtask bench` builds Forge and this program as they are released and starts it with the folder of the built programs. A package of its
//! own, because it needs Forge's crates and `xtask` must not.
//!
//! Machines are noisy, so everything is measured in one run, next to something that does not depend on us: starting `true`, the disk's
//! own fsync, git, another program of our kind. A program that does not end as it should was not measured, and then the whole fails.
//! `--small` is for every change: it shows that each part can be measured, holds what is counted to its bounds, and says nothing about speed.

mod calls;
mod checkouts;
mod decisions;
mod feature;
mod journal;
mod long_run;
mod measurement;
mod programs;
mod records;
mod side_by_side;
mod stages;
mod streams;

use std::{
    path::PathBuf,
    process::{Command, ExitCode},
};

use measurement::{Bench, Measured, Size, say};

/// A part, by its name.
type Part = (&'static str, fn(&Bench) -> Measured);

/// First those that make few files: a file system that has just lost many is slow to make new ones.
const PARTS: &[Part] = &[
    ("programs", programs::measure),
    ("decisions", decisions::measure),
    ("streams", streams::measure),
    ("stages", stages::measure),
    ("feature", feature::measure),
    ("calls", calls::measure),
    ("side-by-side", side_by_side::measure),
    ("resume", journal::resume),
    ("status", journal::status),
    ("records", records::measure),
    ("checkouts", checkouts::measure),
    ("resume-million", journal::resume_million),
    ("build", programs::build),
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let folder = words.next().and_then(|folder| PathBuf::from(folder).canonicalize().ok());
    let Some(folder) = folder else {
        say("forge-benchmark FOLDER [--small] [PART …]: FOLDER has the built programs");
        return ExitCode::from(2);
    };
    let (mut size, mut names) = (Size::Full, Vec::new());
    for word in words {
        match word.as_str() {
            "--small" => size = Size::Small,
            name if PARTS.iter().any(|(known, _)| *known == name) => names.push(word),
            _ => {
                let known: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
                say(&format!("there is no part `{word}`; there are: {}", known.join(", ")));
                return ExitCode::from(2);
            }
        }
    }
    let bench = Bench::new(folder.join("forge"), size, spec_kit());
    say(&format!("{:<56} {:>12} {:<8} {:<20} compared with", "what", "figure", "", "held to"));
    let mut code = ExitCode::SUCCESS;
    for (name, measure) in PARTS {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        if let Err(problem) = measure(&bench) {
            say(&format!("{name}: NOT MEASURED: {problem}"));
            code = ExitCode::FAILURE;
        }
    }
    let missed = bench.missed();
    if !missed.is_empty() {
        say(&format!("not held: {}", missed.join("; ")));
        code = ExitCode::FAILURE;
    }
    code
}

/// Returns the program of Spec Kit, where `BENCH_SPEC_KIT` or the path says.
fn spec_kit() -> Option<PathBuf> {
    let program =
        std::env::var_os("BENCH_SPEC_KIT").map_or_else(|| PathBuf::from("specify"), PathBuf::from);
    let mut version = Command::new(&program);
    version.args(["workflow", "--help"]);
    measurement::spend(&mut version, 0).is_ok().then_some(program)
}
