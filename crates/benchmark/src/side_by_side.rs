//! Four independent items with agents of a fixed duration: how long they take side by side, beside how long one after the other.
//!
//! It is a ratio, from the times of the facts, and the agents sleep. What Forge itself does for an item is work for the processor and takes
//! longer on a busy machine, so it is measured first, and the agents take several times as long, as real ones do.

use std::fmt::Write as _;

use serde_json::Value;

use crate::measurement::{Bench, Bound, Measured, Unit, float, spend};

const ITEMS: [&str; 4] = ["one", "two", "three", "four"];
/// How long an agent takes at least, and at most, in milliseconds.
const AGENT_MS: (u64, u64) = (1_500, 10_000);
/// How many times as long an agent takes as what Forge does for its item.
const TIMES_FORGES_OWN: u64 = 6;

/// What four items side by side take of the time that they take one after the other.
pub(crate) fn measure(bench: &Bench) -> Measured {
    let own = wall_ms(bench, 1, 0)? / ITEMS.len() as u64;
    let (least, most) = bench.sized((100, 200), AGENT_MS);
    let agent = (own * TIMES_FORGES_OWN).clamp(least, most);
    let (serial, parallel) = (wall_ms(bench, 1, agent)?, wall_ms(bench, 4, agent)?);
    let compared = format!(
        "{serial} ms one after the other, agents of {agent} ms; {own} ms of Forge's own each"
    );
    let share = float(parallel) / float(serial) * 100.0;
    bench.figure("four items side by side", share, Unit::Percent, Bound::AtMost(40.0), compared);
    Ok(())
}

/// From the first start of an agent to the last landing.
fn wall_ms(bench: &Bench, at_once: u32, agent_ms: u64) -> Measured<u64> {
    let (flow, scenario) = (flow(at_once), scenario(agent_ms));
    let files = [
        (".forge/flows/four.toml", flow.as_str()),
        (".forge/roles/planner.md", "Plan.\n"),
        (".forge/roles/implementer.md", "+++\ncode = \"writes\"\n+++\nBuild it.\n"),
        ("scenario.toml", scenario.as_str()),
        ("forge.toml", "[verify]\ncommands = [\"test -d .\"]\n"),
    ];
    let folder = bench.project("four", &files)?;
    let call = |words: &[&str]| bench.forge(folder.path(), words);
    let run = ["run", "--flow", "four", "--scenario", "scenario.toml", "--auto", "measure"];
    spend(&mut call(&run), 0)?;
    let failed = |error: std::io::Error| error.to_string();
    let status = call(&["status", "--json"]).output().map_err(failed)?;
    let rows: Value = serde_json::from_slice(&status.stdout).map_err(|error| error.to_string())?;
    let run = rows[0]["run"].as_str().ok_or("there is no run")?;
    let log = call(&["log", run, "--json"]).output().map_err(failed)?;
    let (mut first, mut landed) = (None, Vec::new());
    for line in String::from_utf8_lossy(&log.stdout).lines() {
        let record: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let at = record["at"].as_u64().ok_or("a record has no time")?;
        for fact in record["facts"].as_array().into_iter().flatten() {
            let attempt = fact["attempt_started"]["attempt"].as_str().unwrap_or_default();
            if attempt.starts_with("build.") {
                first.get_or_insert(at);
            }
            landed.extend(fact["landed"].is_object().then_some(at));
        }
    }
    match (first, landed.last()) {
        (Some(first), Some(last)) if landed.len() == ITEMS.len() => Ok(last - first),
        _ => Err(format!("{} of {} items landed", landed.len(), ITEMS.len())),
    }
}

fn flow(at_once: u32) -> String {
    format!(
        "name = \"four\"\n[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\n\n\
         [[stage]]\nname = \"build\"\neach = \"tasks\"\nat_once = {at_once}\n\n\
         [[stage.stage]]\nname = \"implement\"\nagent = \"implementer\"\n\
         gates = [{{ check = \"changes\" }}, {{ verify = true }}, {{ land = true }}]\n"
    )
}

fn scenario(agent_ms: u64) -> String {
    let make = r#"item=${FORGE_CALL%%/*}; echo made > "${item#*.}.txt""#;
    let mut text = format!(
        "scenario = 1\n[[play]]\nrole = \"implementer\"\nwait_ms = {agent_ms}\nrun = '{make}'\n\n\
         [[play]]\nrole = \"planner\"\n"
    );
    for item in ITEMS {
        text += "[[play.result.lists.tasks]]\n";
        let _never_fails = writeln!(text, "id = \"{item}\"\nwrites = [\"{item}.txt\"]");
    }
    text
}
