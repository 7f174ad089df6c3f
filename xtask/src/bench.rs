//! `cargo xtask bench`: builds what is measured, as it is released, and measures it. The figures are those of `crates/benchmark`.

use std::{
    path::PathBuf,
    process::{Command, ExitCode},
};

use crate::{
    command::{cargo, ends_well, say},
    repository::{root, target},
};

/// The whole workspace with its tests: one package alone has other features, and what it depends on is built anew.
const BUILT_WITH_TESTS: [&str; 3] = ["build", "--workspace", "--all-targets"];
/// What others of our kind are called at their registry.
const SPEC_KIT: &str = "specify-cli";

/// Measures everything, or these parts, with programs that are built for release. `--peers` brings what is compared with.
pub(crate) fn full(words: &[&str]) -> ExitCode {
    let mut build = Command::new(root().join("scripts/build-release"));
    if ends_well(build.args(["--workspace", "--bins"])) != ExitCode::SUCCESS {
        return ExitCode::FAILURE;
    }
    let release = target().join("x86_64-unknown-linux-gnu/release");
    let mut command = Command::new(release.join("forge-benchmark"));
    command.arg(&release).current_dir(root());
    command.args(words.iter().filter(|word| **word != "--peers"));
    let program = peers().join("bin/specify");
    if words.contains(&"--peers") && !program.exists() && bring_peers() != ExitCode::SUCCESS {
        return ExitCode::FAILURE;
    }
    if program.exists() {
        command.env("BENCH_SPEC_KIT", program);
    }
    ends_well(&mut command)
}

/// Sees to it that every part can be measured, with the programs of the tests.
pub(crate) fn small() -> ExitCode {
    if cargo(&BUILT_WITH_TESTS) != ExitCode::SUCCESS {
        return ExitCode::FAILURE;
    }
    let debug = target().join("debug");
    let mut command = Command::new(debug.join("forge-benchmark"));
    ends_well(command.arg(&debug).arg("--small").current_dir(root()))
}

/// Where programs of others are installed.
fn peers() -> PathBuf {
    target().join("peers")
}

fn bring_peers() -> ExitCode {
    say(&format!("{SPEC_KIT}: from PyPI to {}", peers().display()));
    let made = ends_well(Command::new("python3").args(["-m", "venv"]).arg(peers()));
    if made != ExitCode::SUCCESS {
        return made;
    }
    ends_well(Command::new(peers().join("bin/pip")).args(["install", "--quiet", SPEC_KIT]))
}
