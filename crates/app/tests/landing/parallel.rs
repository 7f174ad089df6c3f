//! Four independent items with agents of a fixed duration: side by side they take at most two
//! fifths of the time that they take one after the other.
//!
//! It is a ratio within one test, from the times of the facts, and the agents sleep. What Forge itself
//! does for an item is work for the processor and takes longer on a busy machine, so it is measured
//! first, and the agents take several times as long, as real ones do.

use std::fmt::Write as _;

use serde_json::Value;

use crate::world::{DONE, World};

const ITEMS: [&str; 4] = ["one", "two", "three", "four"];
/// How long an agent takes at least, and at most, in milliseconds.
const AGENT_MS: (u64, u64) = (1_500, 10_000);
/// How many times as long an agent takes as what Forge does for its item.
const TIMES_FORGES_OWN: u64 = 6;
/// Something else on the machine may disturb one try: the best one counts.
const TRIES_MAX: u32 = 3;

#[test]
fn four_items_side_by_side_take_at_most_two_fifths_of_the_time_one_after_the_other() {
    let mut tried = Vec::new();
    for _ in 0..TRIES_MAX {
        let n_items = u64::try_from(ITEMS.len()).unwrap();
        let own = wall_ms(1, 0) / n_items;
        let agent = (own * TIMES_FORGES_OWN).clamp(AGENT_MS.0, AGENT_MS.1);
        let (serial, parallel) = (wall_ms(1, agent), wall_ms(4, agent));
        let percent = parallel * 100 / serial;
        let figures = format!(
            "four agents of {agent} ms: {serial} ms one after the other, {parallel} ms side by side ({percent} %); {own} ms of Forge's own for each"
        );
        eprintln!("{figures}");
        if parallel * 5 <= serial * 2 {
            return;
        }
        tried.push(figures);
    }
    panic!("side by side takes more than two fifths: {tried:#?}");
}

/// From the first start of an agent to the last landing.
fn wall_ms(at_once: u32, agent_ms: u64) -> u64 {
    let world = World::new();
    world.roles(&["planner"]);
    world.write(".forge/roles/implementer.md", "+++\ncode = \"writes\"\n+++\nYou build it.\n");
    let settings =
        "[verify]\ncommands = [\"test -d .\"]\n\n[agents.scripted]\nscenario = \"play.toml\"\n";
    world.write("forge.toml", settings);
    world.flow("four", &flow(at_once));
    world.scenario(&scenario(agent_ms));
    let said = world.run("four", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let log = world.ok(&["log", &world.latest(), "--json"]);
    let (mut first, mut landed) = (None, Vec::new());
    for line in log.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let at = record["at"].as_u64().unwrap();
        for fact in record["facts"].as_array().unwrap() {
            let attempt = fact["attempt_started"]["attempt"].as_str().unwrap_or_default();
            if attempt.starts_with("build.") {
                first.get_or_insert(at);
            }
            landed.extend(fact["landed"].is_object().then_some(at));
        }
    }
    assert_eq!(landed.len(), ITEMS.len(), "each of them landed");
    landed.last().unwrap() - first.unwrap()
}

fn flow(at_once: u32) -> String {
    format!(
        "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\n\n\
         [[stage]]\nname = \"build\"\neach = \"tasks\"\nat_once = {at_once}\n\n\
         [[stage.stage]]\nname = \"implement\"\nagent = \"implementer\"\n\
         gates = [{{ check = \"changes\" }}, {{ verify = true }}, {{ land = true }}]\n"
    )
}

fn scenario(agent_ms: u64) -> String {
    let make = r#"item=${FORGE_CALL%%/*}; echo made > "${item#*.}.txt""#;
    let mut text = format!(
        "[[play]]\nrole = \"implementer\"\nwait_ms = {agent_ms}\nrun = '{make}'\n\n[[play]]\nrole = \"planner\"\n"
    );
    for item in ITEMS {
        text += "[[play.result.lists.tasks]]\n";
        let _never_fails = writeln!(text, "id = \"{item}\"\nwrites = [\"{item}.txt\"]");
    }
    text
}
