//! Kills while work that has ended is taken in: when Forge commits what a writer left, and when it
//! puts back what a reader changed. The agent has ended, so it is never started again.

use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::{
    processes::{kill_everybody, nobody_is_left},
    promises::starts,
    world::{DONE, Running, World, until},
};

/// How often it is tried to hit the moment.
const TRIES_MAX: u32 = 20;

const FLOW: &str = r#"
[[stage]]
name = "work"
agent = "implementer"
gates = [{ check = "changes" }, { verify = true }, { name = "review", review = "reviewer" }, { land = true }]
"#;

const SCENARIO: &str = r#"
[[play]]
role = "implementer"
files = { "made.txt" = "made\n" }

[[play]]
role = "reviewer"
files = { "made.txt" = "a reader does not write\n" }
result = { verdict = "pass", findings = [] }
"#;

#[test]
fn what_a_writer_finished_is_not_redone_when_everybody_dies_while_it_is_committed() {
    killed_at("work#1", "commit");
}

#[test]
fn what_a_reader_finished_is_not_redone_when_everybody_dies_while_its_traces_are_removed() {
    killed_at("work#1/review#1", "restore");
}

/// Kills everybody while this step of a call is under way, and goes on.
fn killed_at(call: &str, step: &str) {
    let hit = (0..TRIES_MAX).any(|_| {
        let world = World::new();
        world.flow("taken", FLOW);
        world.roles(&["reviewer"]);
        world.write(".forge/roles/implementer.md", "+++\ncode = \"writes\"\n+++\nYou build it.\n");
        world.write(
            "forge.toml",
            "[verify]\ncommands = [\"test -d .\"]\n\n[agents.scripted]\nscenario = \"play.toml\"\n",
        );
        world.scenario(SCENARIO);
        let folder = world.repo.parent().unwrap();
        let driver = world.start(&["run", "--flow", "taken", "make it"]);
        let step = until_under_way(&world, &driver, call, step);
        kill_everybody(folder);
        driver.end();
        let is_hit = !step.join("ending.json").exists();
        let run = world.latest();
        let resumed = world.forge(&["resume", &run]);
        assert_eq!(resumed.code, DONE, "{resumed}");
        assert_eq!(starts(&world, &run), ["work#1", "work#1/review#1"], "{resumed}");
        let branch = format!("forge/{run}");
        assert_eq!(world.git(&["show", &format!("{branch}:made.txt")]), "made");
        nobody_is_left(folder);
        is_hit
    });
    assert!(hit, "the step `{step}` was over each time before it was hit");
}

/// Waits until the step has begun, and gives its folder.
fn until_under_way(world: &World, driver: &Running, call: &str, step: &str) -> PathBuf {
    until(&format!("{call} to come to `{step}`"), || {
        let call = runs(world).into_iter().find_map(|run| world.find_attempt(&run, call))?;
        let step = call.join("steps").join(step);
        step.join("claim").exists().then(|| {
            // Nobody may start it meanwhile.
            driver.signal(Signal::KILL);
            step
        })
    })
}

fn runs(world: &World) -> Vec<String> {
    let attempts: &Path = &world.place().join("attempts");
    let folders = std::fs::read_dir(attempts).into_iter().flatten().flatten();
    folders.map(|folder| folder.file_name().to_string_lossy().into_owned()).collect()
}
