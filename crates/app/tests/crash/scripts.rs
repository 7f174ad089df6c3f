//! Small flows of our own, in which everything is that a kill can hit.

use std::{collections::BTreeMap, time::Duration};

use super::world::{Script, World};

/// One check that is green as soon as something was made.
const SETTINGS: &str =
    "[workspace]\nsetup = [\"true\"]\n[verify]\ncommands = [\"ls p*/made.txt\"]\n";

/// The flows, the roles in them, and who plays what.
const FILES: &[(&str, &str)] = &[
    (".forge/flows/world.toml", include_str!("world.toml")),
    (".forge/flows/lands.toml", include_str!("lands.toml")),
    (".forge/flows/solo.toml", include_str!("solo.toml")),
    (".forge/roles/planner.md", "You are the planner.\n"),
    (".forge/roles/critic.md", "You are the critic.\n"),
    (".forge/roles/maker.md", "+++\ncode = \"writes\"\n+++\nYou are the maker.\n"),
    (".forge/roles/reporter.md", "You are the reporter.\n"),
    (".forge/roles/worker.md", "You are the worker.\n"),
    ("forge.toml", SETTINGS),
    ("scenario.toml", include_str!("scenario.toml")),
];

/// What the two families play: every kind of stage and gate, and nobody who dawdles.
pub(crate) static BUSY: Script = Script {
    name: "",
    flow: "world",
    files: FILES,
    args: &["--auto"],
    checkpoints: &[],
    landings: &["build.P1/make", "build.P2/make", "build.P3/make", "build.P4/make"],
    proof: "p4/made.txt",
    time: Duration::from_secs(4),
    // Three identical ones escalate.
    agent_blows_max: 2,
    course: |_, _| BTreeMap::new(),
};

/// One agent whose work goes through every step to its landing.
pub(crate) static LANDS: Script =
    Script { flow: "lands", landings: &["work"], proof: "p1/made.txt", ..BUSY };

/// One agent, alone.
static SOLO: Script = Script { flow: "solo", landings: &[], ..BUSY };

/// One agent that does what the test says.
pub(crate) fn solo(play: &str) -> World {
    let scenario = format!(
        "scenario = 1\n\n[[play]]\nattempt = 1\n{play}\n\n[[play]]\nfiles = {{ \"done.txt\" = \"done\\n\" }}\n"
    );
    World::with(&SOLO, &[("scenario.toml", &scenario)])
}
