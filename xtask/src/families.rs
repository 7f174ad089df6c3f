//! Families of tests that have two sizes: sampled for every change, full before an issue closes.
//!
//! Which cases are in a sample is up to the seed of the commit (`seed.rs`); each family reads it from its own variable.

use std::{ffi::OsString, process::ExitCode, time::Instant};

use crate::{
    command::{cargo_with, say},
    programs::{Program, Task},
};

/// A variable of a family and its value.
type Variable = (&'static str, &'static str);

/// A family of tests with two sizes.
pub(crate) struct Family {
    /// How a person calls it.
    pub(crate) name: &'static str,
    /// Packages, their test programs, and how the names of its tests begin there; a program's own name stands for its unit tests.
    tests: &'static [(&'static str, &'static str, &'static str)],
    /// The variable for the seed.
    seed: Option<&'static str>,
    /// Sizes for every change.
    ci: &'static [Variable],
    /// Sizes before an issue closes.
    full: &'static [Variable],
    /// The part that is run on the disk, too.
    on_disk: Option<Small>,
}

/// The least of a family that shows something.
struct Small {
    /// A part of the names of its tests.
    filter: &'static str,
    sizes: &'static [Variable],
}

/// The one table of sizes.
pub(crate) const FAMILIES: &[Family] = &[
    Family {
        name: "chance",
        tests: &[("forge-core", "chance", "")],
        seed: Some("FORGE_CHANCE_SEED"),
        ci: &[("FORGE_CHANCE_STEPS", "60000")],
        full: &[("FORGE_CHANCE_STEPS", "5000000")],
        on_disk: None,
    },
    Family {
        name: "simulation",
        tests: &[("forge-driver", "simulation", "")],
        seed: Some("SIMULATION_SEED"),
        ci: &[("SIMULATION_RUNS", "5000"), ("SIMULATION_WRITES", "13")],
        full: &[("SIMULATION_RUNS", "100000"), ("SIMULATION_WRITES", "1")],
        on_disk: None,
    },
    Family {
        name: "crash",
        tests: &[("forge", "faults", "crash::own_flows::")],
        seed: Some("FORGE_CRASH_SEED"),
        ci: &[
            ("FORGE_CRASH_KILLS", "4"),
            ("FORGE_CRASH_RECORDS", "4"),
            ("FORGE_CRASH_STEPS", "12"),
        ],
        full: &[
            ("FORGE_CRASH_KILLS", "200"),
            ("FORGE_CRASH_RECORDS", "all"),
            ("FORGE_CRASH_STEPS", "all"),
        ],
        on_disk: Some(Small {
            filter: "crash::own_flows::kills_at_random",
            sizes: &[("FORGE_CRASH_KILLS", "1")],
        }),
    },
    Family {
        name: "feature-crash",
        tests: &[("forge", "faults", "crash::efforts::")],
        // The seed is that of `crash`.
        seed: None,
        // Records are for each of the three efforts; after as many of M and L, the driver is asked to end.
        ci: &[("FORGE_FEATURE_CRASH_KILLS", "2"), ("FORGE_FEATURE_CRASH_RECORDS", "2")],
        full: &[("FORGE_FEATURE_CRASH_KILLS", "150"), ("FORGE_FEATURE_CRASH_RECORDS", "all")],
        on_disk: Some(Small {
            filter: "crash::efforts::kills_at_random",
            sizes: &[("FORGE_FEATURE_CRASH_KILLS", "1")],
        }),
    },
    Family {
        name: "sprint-crash",
        tests: &[("forge", "faults", "crash::sprint::")],
        seed: None,
        // The driver is killed after as many records, again and again.
        ci: &[("FORGE_SPRINT_CRASH_EVERY", "40")],
        full: &[("FORGE_SPRINT_CRASH_EVERY", "1")],
        on_disk: None,
    },
    Family {
        name: "damage",
        tests: &[("forge-store", "journal_damage", "")],
        seed: Some("FORGE_JOURNAL_SEED"),
        ci: &[("FORGE_FLIPS", "100")],
        full: &[("FORGE_FLIPS", "4000")],
        on_disk: Some(Small { filter: "flipped_byte", sizes: &[("FORGE_FLIPS", "5")] }),
    },
    Family {
        name: "work",
        tests: &[("forge-store", "work", "")],
        // The seed is that of `damage`.
        seed: None,
        ci: &[("FORGE_WORK_WRITES", "400"), ("FORGE_WORK_FLIPS", "100")],
        full: &[("FORGE_WORK_WRITES", "10000"), ("FORGE_WORK_FLIPS", "4000")],
        on_disk: Some(Small { filter: "four_processes", sizes: &[("FORGE_WORK_WRITES", "40")] }),
    },
    Family {
        name: "states",
        tests: &[("forge-workspace", "states", "")],
        seed: Some("FORGE_STATES_SEED"),
        ci: &[("FORGE_STATES", "25")],
        full: &[("FORGE_STATES", "2000")],
        on_disk: Some(Small { filter: "whatever_happens", sizes: &[("FORGE_STATES", "2")] }),
    },
    Family {
        name: "landing",
        tests: &[("forge", "faults", "landing::")],
        seed: Some("FORGE_LANDING_SEED"),
        ci: &[("FORGE_LANDING_RECORDS", "3")],
        full: &[("FORGE_LANDING_RECORDS", "all")],
        on_disk: Some(Small {
            filter: "landing::a_kill_after",
            sizes: &[("FORGE_LANDING_RECORDS", "1")],
        }),
    },
    Family {
        name: "lies",
        tests: &[("forge", "faults", "lies::")],
        seed: Some("FORGE_LIES_SEED"),
        // Of the lies, and of the honest changes.
        ci: &[("FORGE_LIES", "2")],
        full: &[("FORGE_LIES", "all")],
        on_disk: None,
    },
    Family {
        name: "budgets",
        tests: &[("forge", "agents", "")],
        seed: Some("FORGE_BUDGETS_SEED"),
        ci: &[("FORGE_BUDGETS_RUNS", "12")],
        full: &[("FORGE_BUDGETS_RUNS", "1000")],
        on_disk: Some(Small { filter: "the_receipts", sizes: &[("FORGE_BUDGETS_RUNS", "1")] }),
    },
    Family {
        name: "screens",
        tests: &[("forge", "commands", "screens::")],
        seed: None,
        ci: &[("FORGE_SCREENS_ITEMS", "36")],
        full: &[("FORGE_SCREENS_ITEMS", "300")],
        on_disk: None,
    },
    Family {
        name: "points",
        tests: &[("forge", "commands", "points::")],
        seed: Some("FORGE_POINTS_SEED"),
        // Each question from another place, and a person who revises often.
        ci: &[("FORGE_POINTS_STORIES", "6")],
        full: &[("FORGE_POINTS_STORIES", "all")],
        on_disk: Some(Small {
            filter: "points::answered::every_question",
            sizes: &[("FORGE_POINTS_STORIES", "1")],
        }),
    },
    Family {
        name: "interrupts",
        tests: &[("forge", "commands", "reviewed::ctrl_c_at_any_moment")],
        seed: Some("FORGE_INTERRUPTS_SEED"),
        ci: &[("FORGE_INTERRUPTS", "some")],
        full: &[("FORGE_INTERRUPTS", "all")],
        on_disk: None,
    },
    Family {
        name: "fuzz",
        tests: &[("forge-fuzz", "targets", ""), ("forge", "forge", "")],
        seed: Some("FORGE_FUZZ_SEED"),
        // Each target replays its corpus and then mutates it for so long.
        ci: &[("FORGE_FUZZ_MS", "1000")],
        full: &[("FORGE_FUZZ_MS", "30000")],
        on_disk: None,
    },
    Family {
        name: "acp",
        tests: &[("forge", "acp", "")],
        seed: None,
        // One real agent plays two roles. In full size, tests that are ignored otherwise: two agents, and all that becomes of turns.
        ci: &[],
        full: &[],
        on_disk: None,
    },
    Family {
        name: CLAUDE,
        tests: &[("forge", "claude", ""), ("forge-scripted-model", "claude", "")],
        seed: None,
        // In full size, tests that are ignored otherwise.
        ci: &[],
        full: &[],
        on_disk: None,
    },
    Family {
        name: PROGRAMS,
        tests: &[("forge", "programs", "")],
        seed: None,
        // One story of each program; the others are ignored but in full size.
        ci: &[],
        full: &[],
        on_disk: None,
    },
];

/// The family with the real Claude Code.
pub(crate) const CLAUDE: &str = "claude";

/// The family with the other real programs.
pub(crate) const PROGRAMS: &str = "programs";

/// Enough of that family while its adapter is the same: all roles, what it leaves behind, and its money; and that it really works.
const CLAUDE_SMOKE: &[&str] = &["roles::", "alone::", "money::", "it_really_writes"];

/// How much of the family with the real Claude Code is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claude {
    All,
    Smoke,
}

/// Checks that every test program of the table is there: one that was moved would be run in its default size, and not on the disk.
pub(crate) fn complete(programs: Vec<Program>) -> Result<Vec<Program>, String> {
    let all = FAMILIES.iter().flat_map(|family| family.tests);
    let is_there = |(package, name, _): &(&str, &str, &str)| {
        programs.iter().any(|program| program.package == *package && program.name == *name)
    };
    match all.copied().find(|test| !is_there(test)) {
        None => Ok(programs),
        Some((package, name, _)) => Err(format!("families.rs: {package} has no test `{name}`")),
    }
}

/// All programs with the sizes for every change.
pub(crate) fn ci(
    programs: &[Program],
    seed: u64,
    claude: Claude,
    more: &[(String, OsString)],
) -> Vec<Task> {
    let sizes = FAMILIES.iter().flat_map(|family| family.ci.iter());
    let mut variables: Vec<(String, OsString)> =
        sizes.map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
    variables.extend(seeds(seed));
    variables.extend(more.iter().cloned());
    let task = |program: &Program| {
        let is_smoke = claude == Claude::Smoke && is_of(program, find(CLAUDE));
        let filters: &[&str] = if is_smoke { CLAUDE_SMOKE } else { &[] };
        Task {
            program: program.clone(),
            filters: filters.iter().map(|filter| (*filter).to_owned()).collect(),
            variables: variables.clone(),
            note: if is_smoke { ", some".to_owned() } else { String::new() },
        }
    };
    programs.iter().map(task).collect()
}

/// The least of each family that has something to do with a disk.
pub(crate) fn on_disk(programs: &[Program], seed: u64) -> Vec<Task> {
    let mut tasks = Vec::new();
    for family in FAMILIES {
        let Some(small) = &family.on_disk else { continue };
        let mut variables: Vec<(String, OsString)> = seeds(seed).collect();
        let sizes = small.sizes.iter();
        variables.extend(sizes.map(|(name, value)| ((*name).to_owned(), OsString::from(value))));
        tasks.extend(programs.iter().filter(|program| is_of(program, Some(family))).map(
            |program| Task {
                program: program.clone(),
                filters: vec![small.filter.to_owned()],
                variables: variables.clone(),
                note: format!(", {} on the disk", family.name),
            },
        ));
    }
    tasks
}

/// Runs one family in its full size, optimised, and says how long it took.
pub(crate) fn full(name: &str, seed: u64) -> ExitCode {
    let Some(family) = find(name) else {
        let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        say(&format!(
            "there is no family `{name}`, only {} (and `cargo xtask mutants`)",
            names.join(", ")
        ));
        return ExitCode::from(2);
    };
    let seeds: Vec<(String, OsString)> = seeds(seed).collect();
    let seeds = seeds.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str()?)));
    let variables: Vec<(&str, &str)> = seeds.chain(family.full.iter().copied()).collect();
    let began = Instant::now();
    let mut code = ExitCode::SUCCESS;
    for (package, test, filter) in family.tests {
        // The unit tests of a program have its name.
        let kind = if test == package { "--bin" } else { "--test" };
        let args = ["test", "--release", "--package", package, kind, test, "--", filter];
        let args = [&args[..], &["--include-ignored", "--nocapture"]].concat();
        if cargo_with(&args, &variables) != ExitCode::SUCCESS {
            code = ExitCode::FAILURE;
        }
    }
    say(&format!("{name}, full size {:?}, seed {seed}: {:.0?}", family.full, began.elapsed()));
    code
}

fn find(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

fn is_of(program: &Program, family: Option<&Family>) -> bool {
    let is_own = |(package, name, _): &(&str, &str, &str)| {
        *package == program.package && *name == program.name
    };
    family.is_some_and(|family| family.tests.iter().any(is_own))
}

/// The seed in the variable of each family.
fn seeds(seed: u64) -> impl Iterator<Item = (String, OsString)> {
    let names = FAMILIES.iter().filter_map(|family| family.seed);
    names.map(move |name| (name.to_owned(), seed.to_string().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs() -> Vec<Program> {
        let mut all: Vec<(&str, &str)> = FAMILIES
            .iter()
            .flat_map(|family| family.tests.iter().map(|(package, name, _)| (*package, *name)))
            .collect();
        all.sort_unstable();
        all.dedup();
        all.iter().map(|(package, name)| Program::for_test(package, name)).collect()
    }

    #[test]
    fn a_test_program_that_is_not_there_is_named() {
        assert_eq!(complete(programs()).unwrap().len(), programs().len());
        let mut all = programs();
        all.retain(|program| program.name != "faults");
        assert_eq!(complete(all).unwrap_err(), "families.rs: forge has no test `faults`");
    }

    #[test]
    fn every_sampled_family_gets_the_seed_and_claude_is_sampled_by_name() {
        let tasks = ci(&programs(), 7, Claude::Smoke, &[]);
        let names: Vec<&str> = FAMILIES.iter().filter_map(|family| family.seed).collect();
        for task in &tasks {
            let given = |name: &str| task.variables.iter().any(|(n, v)| n == name && v == "7");
            assert!(names.iter().all(|name| given(name)), "{}", task.program.name);
            assert_eq!(task.filters.is_empty(), task.program.name != "claude");
        }
        let all = ci(&programs(), 7, Claude::All, &[]);
        assert!(all.iter().all(|task| task.filters.is_empty()));
    }

    #[test]
    fn the_smallest_part_of_a_family_runs_on_the_disk() {
        let tasks = on_disk(&programs(), 7);
        assert!(tasks.iter().all(|task| task.filters.len() == 1));
        let of_faults = tasks.iter().filter(|task| task.program.name == "faults");
        let filters: Vec<&str> = of_faults.map(|task| task.filters[0].as_str()).collect();
        assert_eq!(filters.len(), 3, "crash, feature-crash and landing: {filters:?}");
    }
}
