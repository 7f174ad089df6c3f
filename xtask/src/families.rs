//! Families of tests that have two sizes: sampled for every change, full before an issue closes.

use std::{process::ExitCode, time::Instant};

use crate::{cargo_with, say};

/// A family of tests with two sizes.
struct Family {
    /// How a person calls it.
    name: &'static str,
    /// The package and the test binary.
    test: (&'static str, &'static str),
    /// Variables for every change.
    ci: &'static [(&'static str, &'static str)],
    /// Variables before an issue closes.
    full: &'static [(&'static str, &'static str)],
}

/// The one table of sizes.
const FAMILIES: &[Family] = &[
    Family {
        name: "chance",
        test: ("forge-core", "chance"),
        ci: &[("FORGE_CHANCE_STEPS", "60000")],
        full: &[("FORGE_CHANCE_STEPS", "5000000")],
    },
    Family {
        name: "crash",
        test: ("forge", "crash"),
        ci: &[("FORGE_CRASH_KILLS", "12"), ("FORGE_CRASH_RECORDS", "12")],
        full: &[("FORGE_CRASH_KILLS", "200"), ("FORGE_CRASH_RECORDS", "all")],
    },
    Family {
        name: "feature-crash",
        test: ("forge", "feature_crash"),
        // Records are for each of the three efforts; after as many of M and L, the driver is asked to end.
        ci: &[("FORGE_FEATURE_CRASH_KILLS", "4"), ("FORGE_FEATURE_CRASH_RECORDS", "3")],
        full: &[("FORGE_FEATURE_CRASH_KILLS", "150"), ("FORGE_FEATURE_CRASH_RECORDS", "all")],
    },
    Family {
        name: "damage",
        test: ("forge-store", "journal_damage"),
        ci: &[("FORGE_FLIPS", "100")],
        full: &[("FORGE_FLIPS", "4000")],
    },
    Family {
        name: "states",
        test: ("forge-workspace", "states"),
        ci: &[("FORGE_STATES", "25")],
        full: &[("FORGE_STATES", "2000")],
    },
    Family {
        name: "landing",
        test: ("forge", "landing"),
        ci: &[("FORGE_LANDING_RECORDS", "8")],
        full: &[("FORGE_LANDING_RECORDS", "all")],
    },
    Family {
        name: "budgets",
        test: ("forge", "agents"),
        ci: &[("FORGE_BUDGETS_RUNS", "12")],
        full: &[("FORGE_BUDGETS_RUNS", "1000")],
    },
    Family {
        name: "screens",
        test: ("forge", "screens"),
        ci: &[("FORGE_SCREENS_ITEMS", "36")],
        full: &[("FORGE_SCREENS_ITEMS", "300")],
    },
    Family {
        name: "points",
        test: ("forge", "points"),
        // From how many of four places each question is answered.
        ci: &[("FORGE_POINTS_WAYS", "1")],
        full: &[("FORGE_POINTS_WAYS", "all")],
    },
    Family {
        name: "claude",
        test: ("forge", "claude"),
        ci: &[("FORGE_CLAUDE_SILENCE", "skip")],
        full: &[("FORGE_CLAUDE_SILENCE", "wait")],
    },
];

/// Runs cargo with the sizes for every change, and with more variables.
pub(crate) fn ci(args: &[&str], more: &[(&'static str, String)]) -> ExitCode {
    let sizes = FAMILIES.iter().flat_map(|family| family.ci.iter().copied());
    let more = more.iter().map(|(name, value)| (*name, value.as_str()));
    let variables: Vec<(&str, &str)> = sizes.chain(more).collect();
    cargo_with(args, &variables)
}

/// Runs one family in its full size, optimised, and says how long it took.
pub(crate) fn full(name: &str) -> ExitCode {
    let Some(family) = FAMILIES.iter().find(|family| family.name == name) else {
        let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        say(&format!(
            "there is no family `{name}`, only {} (and `cargo xtask mutants`)",
            names.join(", ")
        ));
        return ExitCode::from(2);
    };
    let (package, test) = family.test;
    let args = ["test", "--release", "--package", package, "--test", test, "--", "--nocapture"];
    let began = Instant::now();
    let code = cargo_with(&args, family.full);
    say(&format!("{name}, full size {:?}: {:.0?}", family.full, began.elapsed()));
    code
}
