//! What a person does with this repository: `cargo xtask <task>`.
//!
//! - `test`: the tools and agent programs it needs, formatting, tidiness, clippy with warnings as errors, all tests, mutants if the core
//!   has changed; each with its time. `--seed N` repeats the samples of another run, `--full` does everything in full size.
//! - `test --full FAMILY`: one large family of tests in its full size.
//! - `agents`: only brings the agent programs that tests drive, and says where they are.
//! - `chance`: millions of steps of the engine against seeded chance.
//! - `mutants`: deliberate defects of the engine; one that survives fails it.
//! - `bench`: the figures that we hold ourselves to, each beside what it is compared with.
//! - `tidy`: arrows between crates, module comments, sizes, purity of the core.
//! - `schemas`: writes the published schemas anew.

mod agents;
mod families;
mod gate;
mod memory;
mod mutants;
mod programs;
mod proved;
mod seed;
mod tidy;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

const HELP: &str = "cargo xtask test [--full [FAMILY]] [--seed N] | agents | chance | mutants [--seed N] | bench | tidy | schemas";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (args, seed) = match args.as_slice() {
        [first @ .., "--seed", n] => match n.parse::<u64>() {
            Ok(seed) => (first, Some(seed)),
            Err(_) => (&[][..], None),
        },
        all => (all, None),
    };
    let own_seed = || seed.unwrap_or_else(seed::from_commit);
    match args {
        ["test"] => gate::run(gate::Size::Sample, seed),
        ["test", "--full"] => gate::run(gate::Size::Full, seed),
        ["test", "--full", family] => gate::full(family, own_seed()),
        ["agents"] => agents(),
        ["chance"] => gate::full("chance", own_seed()),
        ["mutants"] if seed.is_some() => mutants::sample(own_seed()),
        ["mutants"] => mutants::all(),
        ["bench"] => bench(),
        ["tidy"] => tidy::run(),
        ["schemas"] => schemas(),
        _ => {
            say(HELP);
            ExitCode::from(2)
        }
    }
}

/// Brings the agent programs, and says where they are.
fn agents() -> ExitCode {
    match agents::bring() {
        Ok(agents) => {
            agents.warn();
            for (name, place) in agents.variables() {
                say(&format!("{name}={}", place.display()));
            }
            ExitCode::SUCCESS
        }
        Err(what) => {
            say(&what);
            ExitCode::FAILURE
        }
    }
}

/// Builds what is measured for release, and measures it.
fn bench() -> ExitCode {
    let packages = ["forge", "forge-core", "forge-agents", "forge-benchmark"];
    let mut args = vec!["build", "--release", "--examples", "--bins"];
    args.extend(packages.iter().flat_map(|name| ["--package", name]));
    if cargo(&args) != ExitCode::SUCCESS {
        return ExitCode::FAILURE;
    }
    let release = target().join("release");
    let mut command = Command::new(release.join("forge-benchmark"));
    command.arg(&release).current_dir(root());
    ends_well(&mut command)
}

/// Writes the published schemas, which a test holds against the types.
fn schemas() -> ExitCode {
    let args = ["test", "--quiet", "--package", "forge-runtime", "--test", "schemas"];
    cargo_with(&args, &[("FORGE_WRITE_SCHEMAS", "1")])
}

/// What the steps need besides cargo: brought here if that is possible.
fn tools() -> ExitCode {
    let missing = || ["fmt", "clippy"].into_iter().find(|tool| !is_there(tool));
    let Some(tool) = missing() else { return ExitCode::SUCCESS };
    say(&format!(
        "`cargo {tool}` is missing. `rustup component add rustfmt clippy` now adds it to your toolchain."
    ));
    let added = Command::new("rustup")
        .args(["component", "add", "rustfmt", "clippy"])
        .current_dir(root())
        .status();
    match (added, missing()) {
        (_, None) => ExitCode::SUCCESS,
        (Ok(_), Some(tool)) => {
            say(&format!(
                "rustup could not add `cargo {tool}`: install rustfmt and clippy by hand"
            ));
            ExitCode::FAILURE
        }
        (Err(error), Some(_)) => {
            say(&format!("rustup cannot be run ({error}): install rustfmt and clippy by hand"));
            ExitCode::FAILURE
        }
    }
}

/// Whether cargo has this tool.
fn is_there(tool: &str) -> bool {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([tool, "--version"]).current_dir(root());
    let said = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    said.is_ok_and(|status| status.success())
}

/// Runs cargo in the repository.
fn cargo(args: &[&str]) -> ExitCode {
    cargo_with(args, &[])
}

/// Runs cargo in the repository, with more variables.
fn cargo_with(args: &[&str], variables: &[(&str, &str)]) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args).envs(variables.iter().copied()).current_dir(root());
    ends_well(&mut command)
}

/// Runs a program and waits for it.
fn ends_well(command: &mut Command) -> ExitCode {
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("{} cannot be run: {error}", command.get_program().display()));
            ExitCode::FAILURE
        }
    }
}

/// The repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the repository").to_owned()
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

#[expect(clippy::print_stdout, reason = "a task speaks to the person who started it")]
fn say(text: &str) {
    println!("{text}");
}
