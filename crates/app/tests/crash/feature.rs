//! The shipped flow `feature` on a project whose checks take no time, in its three efforts.
//!
//! Not here: what must hold afterwards, see `crash/promises.rs` and `crash/delivered.rs`.

use std::time::Duration;

use super::{delivered, world::Script};

/// The project. What is in `parts` must be ready, and there is nothing in it yet.
const FILES: &[(&str, &str)] = &[
    ("README.md", "A world of small parts.\n"),
    ("check.sh", "for part in parts/*; do grep -q ready \"$part\" || exit 1; done\n"),
    ("parts/none", "ready: none\n"),
    ("forge.toml", "[verify]\ncommands = [\"sh check.sh\"]\n"),
    ("scenario.toml", include_str!("feature.toml")),
];

/// What all efforts have in common.
const SMALL: Script = Script {
    name: "S",
    flow: "feature",
    files: FILES,
    args: &["--param", "effort=S", "--auto"],
    checkpoints: &[],
    landings: &[
        "build.T1/implement",
        "build.T2/implement",
        "build.T3/implement",
        "record",
        "verify",
    ],
    proof: "parts/three",
    time: Duration::from_secs(5),
    // Another miss of the same unit, or another fault of its gates, would be for a person.
    agent_blows_max: 1,
    course: delivered::course,
};

/// Everything that S, M and L do.
pub(crate) static EFFORTS: [Script; 3] = [
    SMALL,
    Script {
        name: "M",
        args: &["--param", "effort=M", "--auto"],
        landings: &[
            "build.T1/implement",
            "build.T2/implement",
            "build.T3/implement",
            "record",
            "review",
            "verify",
        ],
        proof: "parts/index",
        time: Duration::from_secs(6),
        ..SMALL
    },
    Script {
        name: "L",
        // Every checkpoint of it is for a person.
        args: &["--param", "effort=L"],
        checkpoints: &[("design", "checkpoint-a"), ("split", "checkpoint-b")],
        landings: &[
            "build.T1/implement",
            "build.T2/implement",
            "build.T3/implement",
            "record",
            "review",
            "verify",
        ],
        proof: "parts/index",
        time: Duration::from_secs(7),
        ..SMALL
    },
];
