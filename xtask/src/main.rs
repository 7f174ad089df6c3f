//! What a person does with this repository: `cargo xtask <task>`.
//!
//! - `test`: the tools and agent programs it needs, formatting, tidiness, clippy with warnings as errors, all tests, mutants if the core
//!   has changed; each with its time. `--seed N` repeats the samples of another run, `--full` does everything in full size.
//! - `test --full FAMILY`: one large family of tests in its full size.
//! - `agents`: only brings the agent programs that tests drive, and says where they are.
//! - `chance`: millions of steps of the engine against seeded chance.
//! - `mutants`: deliberate defects of the engine; one that survives fails it.
//! - `bench`: the figures that we hold ourselves to, each beside what it is compared with.
//! - `tidy`: arrows between crates and modules, names, comments, sizes, links, purity of the core. `--size` counts lines.
//! - `readers`: which role prompts have changed since fresh agents tried them. `--tried ROLE MODEL` records a trial.
//! - `pictures`: takes the pictures of the documentation from the real program. `--palettes DIR` draws every screen in every theme.
//! - `schemas`: writes the published schemas and docs/reference/cli.md again.

mod agents;
mod bench;
mod command;
mod families;
mod gate;
mod memory;
mod mutants;
mod pictures;
mod programs;
mod proved;
mod readers;
mod repository;
mod seed;
mod tidy;
mod tools;

use std::process::ExitCode;

use crate::command::{cargo_with, say};

const HELP: &str = "cargo xtask test [--full [FAMILY]] [--seed N] | agents | chance | mutants [--seed N] | bench [--peers] [PART …] | readers [--tried ROLE MODEL] | tidy [--size] | pictures [--palettes DIR] | schemas";

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
        ["agents"] => bring_agents(),
        ["chance"] => gate::full("chance", own_seed()),
        ["mutants"] if seed.is_some() => mutants::sample(own_seed()),
        ["mutants"] => mutants::all(),
        ["bench", words @ ..] => bench::full(words),
        ["readers"] => readers::tell(),
        ["readers", "--tried", role, model] => readers::record(role, model),
        ["tidy"] => tidy::run(),
        ["tidy", "--size"] => tidy::sizes(),
        ["pictures"] => pictures::document(),
        ["pictures", "--palettes", folder] => pictures::sheets(folder.as_ref()),
        ["schemas"] => schemas(),
        _ => {
            say(HELP);
            ExitCode::from(2)
        }
    }
}

/// Brings the agent programs, and says where they are.
fn bring_agents() -> ExitCode {
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

/// Writes the published schemas and the reference of the commands, which tests hold against the program.
fn schemas() -> ExitCode {
    let tests =
        [("schemas", "the_published_schemas"), ("commands", "the_reference_of_the_commands")];
    for (test, name) in tests {
        let args = ["test", "--quiet", "--workspace", "--test", test, name];
        if cargo_with(&args, &[("FORGE_WRITE_SCHEMAS", "1")]) != ExitCode::SUCCESS {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
