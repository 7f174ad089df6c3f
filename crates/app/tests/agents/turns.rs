//! A result is mended in a second turn, and a call that was interrupted goes on in its session: with the
//! scripted agent, who keeps sessions where its scenario says so.

use std::{fs, path::Path};

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    ledger::adds_up,
    processes,
    world::{DONE, FAILED, INTERRUPTED, Running, WAITS, World, has, until},
};

/// A stage that has to leave a file, and is asked about at the first miss.
const NOTES: &str =
    "[[stage]]\nname = \"work\"\nagent = \"worker\"\nwrites = [\"notes.md\"]\nmisses = 1\n";
/// An agent with a memory.
const KEPT: &str = "scenario = 1\nsessions = true\n";
/// The first turn: it costs a cent and leaves no notes.
const FORGETS: &str = "[[play]]\nusage = { cost = \"0.01\" }\n";
/// What mends it, for two cents.
const MENDS: &str = "[[play]]\nturn = \"repair\"\nartifacts = { \"notes.md\" = \"n\" }\nusage = { cost = \"0.02\" }\n";
/// Waits until [`World::go`].
const WAITS_FOR_GO: &str = "run = \"while [ ! -e $HOME/go ]; do sleep 0.02; done\"\n";

fn world(scenario: &str) -> World {
    let world = World::new();
    world.roles(&["worker", "judge"]);
    world.flow("one", NOTES);
    world.scenario(scenario);
    world
}

/// The turns that were begun, in their order: `work#1`, `work#1 repair`, `work#2 resume`.
fn turns(world: &World, run: &str) -> Vec<String> {
    let log = world.place().join("attempts").join(run).join("scripted.log");
    let lines = fs::read_to_string(log).unwrap_or_default();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let starts = lines.filter(|line| line["what"] == "start");
    let name = |line: Value| match line["turn"].as_str() {
        Some(turn) => format!("{} {turn}", line["call"].as_str().unwrap()),
        None => line["call"].as_str().unwrap().to_owned(),
    };
    starts.map(name).collect()
}

fn until_turn(world: &World, run: &str, turn: &str) {
    until("a turn to begin", || turns(world, run).iter().any(|begun| begun == turn).then_some(()));
}

/// The brief of the repair turn of the one call that has one.
fn repair_brief(world: &World, run: &str) -> String {
    fn find(folder: &Path) -> Option<String> {
        let path = folder.join("repair/brief.md");
        if path.is_file() {
            return Some(fs::read_to_string(path).unwrap());
        }
        let inside = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        inside.filter(|path| path.is_dir()).find_map(|path| find(&path))
    }
    find(&world.place().join("attempts").join(run)).expect("there was a repair turn")
}

/// Starts a run and waits until a turn has begun.
fn started(world: &World, turn: &str) -> (Running, String) {
    let mut running = world.start(&["run", "--flow", "one", "--budget", "5", "do it"]);
    running.until_says("work started");
    let run = world.latest();
    until_turn(world, &run, turn);
    (running, run)
}

#[test]
fn a_missing_artifact_is_mended_in_the_same_call_and_both_turns_are_paid_once() {
    let world = world(&format!("{KEPT}{FORGETS}{MENDS}"));
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["work finished ($0.03)"]);
    let run = world.latest();
    assert_eq!(turns(&world, &run), ["work#1", "work#1 repair"]);
    has(&repair_brief(&world, &run), &["`work#1`", "notes.md", "Fix exactly that", "result.json"]);
    assert_eq!(adds_up(&world, &run).known, 30_000);
}

#[test]
fn a_result_that_cannot_be_read_is_mended_also_for_a_judge() {
    let world = world(&format!(
        "{KEPT}[[play]]\nrole = \"judge\"\nresult_text = \"PASS\"\n\
         [[play]]\nturn = \"repair\"\nrole = \"judge\"\nresult = {{ verdict = \"pass\", findings = [] }}\n\
         [[play]]\nartifacts = {{ \"notes.md\" = \"n\" }}\n"
    ));
    world.flow(
        "judged",
        &format!(
            "{NOTES}gates = [{{ name = \"look\", review = \"judge\", reads = [\"notes.md\"] }}]\n"
        ),
    );
    let said = world.run("judged", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    assert_eq!(turns(&world, &run), ["work#1", "work#1/look#1", "work#1/look#1 repair"]);
    adds_up(&world, &run);
}

#[test]
fn what_is_still_wrong_after_the_repair_is_a_fault_and_there_is_no_second_repair() {
    let world = world(&format!(
        "{KEPT}{FORGETS}[[play]]\nturn = \"repair\"\nusage = {{ cost = \"0.02\" }}\n"
    ));
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["work left no usable result ($0.03)", "notes.md"]);
    let run = world.latest();
    assert_eq!(turns(&world, &run), ["work#1", "work#1 repair"]);
    assert_eq!(adds_up(&world, &run).known, 30_000);
}

#[test]
fn an_agent_without_sessions_gets_no_repair() {
    let world = world(&format!("scenario = 1\n{FORGETS}{MENDS}"));
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    assert_eq!(turns(&world, &world.latest()), ["work#1"]);
}

#[test]
fn an_agent_that_has_used_up_its_cap_gets_no_repair() {
    let world = world(&format!("{KEPT}{FORGETS}{MENDS}"));
    let said = world.run("one", &["--budget", "0.01"]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    assert_eq!(turns(&world, &run), ["work#1"]);
    assert_eq!(adds_up(&world, &run).known, 10_000);
}

#[test]
fn a_driver_that_is_killed_during_the_repair_loses_nothing_and_nothing_is_done_twice() {
    let world = world(&format!("{KEPT}{FORGETS}{MENDS}{WAITS_FOR_GO}"));
    let (running, run) = started(&world, "work#1 repair");
    running.signal(Signal::KILL);
    running.end();
    world.go();
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(turns(&world, &run), ["work#1", "work#1 repair"]);
    assert_eq!(adds_up(&world, &run).known, 30_000);
}

#[test]
fn a_keeper_that_is_killed_during_the_repair_is_a_lost_call_that_goes_on_in_its_session() {
    everybody_dies_in_the_repair(Alive::Driver);
}

#[test]
fn when_all_are_killed_during_the_repair_the_next_attempt_goes_on_in_the_session() {
    everybody_dies_in_the_repair(Alive::Nobody);
}

/// Who survives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alive {
    Driver,
    Nobody,
}

fn everybody_dies_in_the_repair(alive: Alive) {
    let resumes = "[[play]]\nturn = \"resume\"\nartifacts = { \"notes.md\" = \"n\" }\nusage = { cost = \"0.05\" }\n";
    let world = world(&format!("{KEPT}{FORGETS}{resumes}{MENDS}{WAITS_FOR_GO}"));
    let (running, run) = started(&world, "work#1 repair");
    if alive == Alive::Nobody {
        running.signal(Signal::KILL);
    }
    for kept in processes::kept(&world.repo) {
        processes::signal(kept.keeper, Signal::KILL);
        for agent in kept.agents {
            processes::signal(agent, Signal::KILL);
        }
    }
    let said = running.end();
    if alive == Alive::Nobody {
        let said = world.forge(&["resume", &run]);
        assert_eq!(said.code, DONE, "{said}");
    } else {
        assert_eq!(said.code, DONE, "{said}");
    }
    assert_eq!(turns(&world, &run), ["work#1", "work#1 repair", "work#2 resume"]);
    let sum = adds_up(&world, &run);
    assert_eq!((sum.known, sum.unknown_calls), (50_000, 1), "nobody knows what the lost one cost");
    has(&world.ok(&["log", &run]), &["at least $0.0"]);
}

#[test]
fn an_interrupted_attempt_goes_on_in_its_session_and_its_brief_says_so() {
    let world = world(&format!(
        "{KEPT}[[play]]\nattempt = 1\nsay = [\"I begin.\"]\nartifacts = {{ \"notes.md\" = \"n\", \"half.md\" = \"h\" }}\n\
         usage = {{ cost = \"0.01\" }}\nhang = true\n\
         [[play]]\nturn = \"resume\"\nrun = \"cat $FORGE_OUTBOX/half.md > $HOME/half\"\nusage = {{ cost = \"0.02\" }}\n"
    ));
    let (running, run) = started(&world, "work#1");
    let transcript = world.attempt(&run, "work#1").join("transcript");
    until("it to have spent", || {
        fs::read_to_string(&transcript).unwrap_or_default().contains("spent").then_some(())
    });
    running.signal(Signal::INT);
    let said = running.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(turns(&world, &run), ["work#1", "work#2 resume"]);
    let brief = world.brief(&run, "work#2");
    assert!(brief.starts_with("You began this work in this session"), "{brief}");
    assert_eq!(fs::read_to_string(world.beside("half")).unwrap(), "h", "its outbox is as it was");
    assert_eq!(adds_up(&world, &run).known, 30_000);
}

#[test]
fn a_limited_attempt_goes_on_in_its_session_when_the_time_has_come() {
    let world = world(&format!(
        "{KEPT}[[play]]\nattempt = 1\nusage = {{ cost = \"0.01\" }}\nlimit = {{ kind = \"rate\", reset_in_ms = 200 }}\n\
         [[play]]\nturn = \"resume\"\nartifacts = {{ \"notes.md\" = \"n\" }}\nusage = {{ cost = \"0.02\" }}\n"
    ));
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["work waits until"]);
    let run = world.latest();
    assert_eq!(turns(&world, &run), ["work#1", "work#2 resume"]);
    assert_eq!(adds_up(&world, &run).known, 30_000);
}

#[test]
fn a_limit_that_is_over_before_its_agent_has_ended_is_not_waited_for() {
    let world = world(&format!(
        "{KEPT}[[play]]\nattempt = 1\nlimit = {{ kind = \"rate\", reset_in_ms = 0 }}\n\
         [[play]]\nturn = \"resume\"\nartifacts = {{ \"notes.md\" = \"n\" }}\n"
    ));
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let log = world.ok(&["log", &world.latest(), "--json"]);
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let limited = records.iter().find_map(|record| {
        let mut facts = record["facts"].as_array().unwrap().iter();
        let until = |fact: &Value| fact["attempt_ended"]["outcome"]["limited"]["until"].as_u64();
        Some(facts.find_map(until)? - record["at"].as_u64().unwrap())
    });
    assert!(limited.unwrap() < 5_000, "it waits for the shortest time: {limited:?}");
}

#[test]
fn a_repair_that_runs_into_a_limit_waits_and_the_next_attempt_goes_on() {
    let world = world(&format!(
        "{KEPT}{FORGETS}[[play]]\nturn = \"repair\"\nusage = {{ cost = \"0.02\" }}\n\
         limit = {{ kind = \"rate\", reset_in_ms = 200 }}\n\
         [[play]]\nturn = \"resume\"\nartifacts = {{ \"notes.md\" = \"n\" }}\nusage = {{ cost = \"0.04\" }}\n"
    ));
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    assert_eq!(turns(&world, &run), ["work#1", "work#1 repair", "work#2 resume"]);
    assert_eq!(adds_up(&world, &run).known, 70_000);
}

#[test]
fn a_run_that_is_abandoned_during_the_repair_is_over_and_what_was_spent_is_counted() {
    let world = world(&format!("{KEPT}{FORGETS}{MENDS}{WAITS_FOR_GO}"));
    let (running, run) = started(&world, "work#1 repair");
    world.ok(&["abandon", "--yes", &run]);
    let said = running.end();
    assert_eq!(said.code, FAILED, "{said}");
    assert_eq!(turns(&world, &run), ["work#1", "work#1 repair"]);
    let sum = adds_up(&world, &run);
    assert!(sum.known == 10_000 || sum.unknown_calls == 1, "{sum:?}");
    assert!(processes::kept(&world.repo).is_empty(), "nobody works on");
}
