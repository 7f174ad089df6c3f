//! The program itself: its size, and how long it takes to start.

use std::{fs, process::Command};

use crate::measurement::{Bench, Bound, Measured, Unit, float, in_ms, median, spend};

pub(crate) fn measure(bench: &Bench) -> Measured {
    let size = fs::metadata(&bench.forge).map_err(|error| error.to_string())?.len();
    bench.figure(
        "the program",
        float(size) / f64::from(1 << 20),
        Unit::Mib,
        Bound::AtMost(30.0),
        "-",
    );
    let times = bench.sized(3, 21);
    let idle = median(times, || spend(&mut Command::new("true"), 0))?;
    let version = median(times, || spend(Command::new(&bench.forge).arg("--version"), 0))?;
    let compared = format!("`true`: {:.2} ms", in_ms(idle));
    bench.figure("forge --version", in_ms(version), Unit::Ms, Bound::AtMost(3.0), compared);
    Ok(())
}
