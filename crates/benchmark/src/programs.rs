//! The program itself: its size, how long it takes to start, and how long to build.

use std::{fs, process::Command};

use crate::measurement::{Bench, Bound, Measured, Unit, float, in_ms, median, spend};

/// The smallest package that Forge is built with, to see that one can be built.
const SMALLEST: &str = "strsim";

pub(crate) fn measure(bench: &Bench) -> Measured {
    let size = fs::metadata(&bench.forge).map_err(|error| error.to_string())?.len();
    bench.figure(
        "the program",
        float(size) / f64::from(1 << 20),
        Unit::Mib,
        Bound::AtMost(30.0),
        "with SQLite and TLS in it",
    );
    let times = bench.sized(3, 21);
    let idle = median(times, || spend(&mut Command::new("true"), 0))?;
    let version = median(times, || spend(Command::new(&bench.forge).arg("--version"), 0))?;
    let compared = format!("`true`: {:.2} ms", in_ms(idle));
    bench.figure("forge --version", in_ms(version), Unit::Ms, Bound::AtMost(3.0), compared);
    Ok(())
}

/// Building from nothing, with what the registry has here already.
pub(crate) fn build(bench: &Bench) -> Measured {
    let target = tempfile::tempdir().map_err(|error| error.to_string())?;
    let package = bench.sized(SMALLEST, "forge");
    let mut build = Command::new("scripts/build-release");
    build.args(["--quiet", "--package", package]).env("CARGO_TARGET_DIR", target.path());
    let time = spend(&mut build, 0)?.as_secs_f64();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let compared = format!("{cores} cores");
    let what = format!("building `{package}` for release, from nothing");
    bench.figure(&what, time, Unit::Seconds, Bound::AtMost(200.0), compared);
    Ok(())
}
