//! Pause, stop, abandon, limits and money: a run that stands still, and goes on.

use std::{fs, path::Path};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    goes::UNTIL_GO,
    unnamed::short,
    world::{CONTENT, DONE, FAILED, INTERRUPTED, PARKED, WAITS, World, has, until},
};

/// The shipped flow, with a writer that works until it is told to go on.
fn slow() -> World {
    let world = World::new();
    let slow = format!("role = \"writer\"\nrun = \"{UNTIL_GO}\"");
    world.scenario(&CONTENT.replacen("role = \"writer\"", &slow, 1));
    world
}

/// The processes of all agents that were started.
fn agents(world: &World, run: &str) -> Vec<u64> {
    let log =
        fs::read_to_string(world.place().join(format!("attempts/{run}/scripted.log"))).unwrap();
    log.lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["pid"].as_u64().unwrap()
        })
        .collect()
}

#[test]
fn a_pause_from_another_terminal_lets_what_runs_end_and_starts_nothing_new() {
    let world = slow();
    let mut running = world.start(&["run", "--auto", "do it"]);
    running.until_says("write started");
    let run = world.latest();
    world.until_agents_started(&run, 1);
    let said = world.ok(&["pause", &run]);
    has(
        &said,
        &["running agents finish, nothing new starts", &format!("forge resume {}", short(&run))],
    );
    running.until_says("ada paused the run");
    assert!(!running.has_ended(), "the agent still works, so its driver waits for it");
    has(&world.refused(&["pause", &run]), &["already", "help: forge "]);
    world.go();
    let said = running.end();
    assert_eq!(said.code, PARKED, "{said}");
    has(&said.out, &["write finished ($0.01): wrote a draft", "Next    forge resume "]);
    assert!(!said.out.contains(": review started"), "{said}");
    assert_eq!(world.agents_started(&run), 1);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(world.agents_started(&run), 2, "the writer's work was kept");
}

#[test]
fn a_stop_from_another_terminal_kills_what_runs_at_once_and_the_run_can_be_resumed() {
    let world = World::new();
    let hangs =
        "scenario = 1\n[[play]]\nrole = \"writer\"\nattempt = 1\nignore_term = true\nhang = true\n";
    world.scenario(&format!("{hangs}{}", CONTENT.replace("scenario = 1", "")));
    let mut running = world.start(&["run", "--auto", "do it"]);
    running.until_says("write started");
    let run = world.latest();
    world.until_agents_started(&run, 1);
    let said = world.ok(&["stop", &run]);
    has(&said, &["is stopped", &format!("forge resume {}", short(&run))]);
    let said = running.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    has(&said.out, &["ada stopped the run", "write was interrupted"]);
    for pid in agents(&world, &run) {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
    }
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "an interrupted attempt is nobody's fault: {said}");
}

/// The keeper of a call, once it is there.
pub(crate) fn keeper(world: &World, run: &str, call: &str) -> Pid {
    until("its keeper", || {
        let claim = fs::read(world.find_attempt(run, call)?.join("claim")).ok()?;
        let claim: serde_json::Value = serde_json::from_slice(&claim).ok()?;
        Pid::from_raw(i32::try_from(claim.get("pid")?.as_i64()?).ok()?)
    })
}

#[test]
fn a_keeper_that_an_agent_stopped_neither_hides_it_from_a_stop_nor_from_ctrl_c() {
    let world = World::new();
    let hangs =
        "scenario = 1\n[[play]]\nrole = \"writer\"\nignore_term = true\nhang = true\n[[play]]\n";
    world.scenario(hangs);
    for stops in [Stops::Command, Stops::CtrlCTwice] {
        let mut running = world.start(&["run", "--auto", "do it"]);
        running.until_says("write started");
        let run = world.latest();
        world.until_agents_started(&run, 1);
        kill_process(keeper(&world, &run, "write#1"), Signal::STOP).unwrap();
        match stops {
            Stops::Command => {
                has(&world.ok(&["stop", &run]), &[&format!("{} is stopped", short(&run))]);
            }
            Stops::CtrlCTwice => {
                running.signal(Signal::INT);
                running.until_says("ada pressed Ctrl-C");
                running.signal(Signal::INT);
            }
        }
        let said = running.end();
        assert_eq!(said.code, INTERRUPTED, "{said}");
        has(&said.out, &["write was interrupted"]);
        if matches!(stops, Stops::CtrlCTwice) {
            has(&said.err, &["agents have 10s to finish; Ctrl-C again kills them"]);
        }
        for pid in agents(&world, &run) {
            assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
        }
    }
}

/// How a person ends what is under way.
#[derive(Clone, Copy)]
enum Stops {
    Command,
    CtrlCTwice,
}

#[test]
fn a_stop_reaches_an_agent_whose_driver_was_killed() {
    let world = World::new();
    world.scenario("[[play]]\nrole = \"writer\"\nignore_term = true\nhang = true\ndetach = [\"setsid\", \"double-fork\"]\n[[play]]\n");
    let mut running = world.start(&["run", "do it"]);
    running.until_says("write started");
    let run = world.latest();
    world.until_agents_started(&run, 1);
    running.signal(Signal::KILL);
    running.end();
    let pids = agents(&world, &run);
    assert!(
        Path::new(&format!("/proc/{}", pids[0])).exists(),
        "a killed driver takes nobody along"
    );
    world.ok(&["stop", &run]);
    for pid in pids {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
    }
    assert_eq!(world.view(&run)["standing"], "stopped");
    assert_eq!(world.view(&run)["working"], 0);
}

#[test]
fn an_abandoned_run_is_over_for_good() {
    let world = World::new();
    world.scenario("[[play]]\nrole = \"writer\"\nhang = true\n[[play]]\n");
    let mut running = world.start(&["run", "do it"]);
    running.until_says("write started");
    let run = world.latest();
    let unconfirmed = world.forge(&["abandon", &run]);
    assert_eq!(unconfirmed.code, WAITS, "{unconfirmed}");
    let id = run.rsplit('-').next().unwrap();
    has(
        &unconfirmed.err,
        &["abandoning a run is final, so it needs your yes", &format!("forge abandon {id} --yes")],
    );
    assert_eq!(world.view(&run)["standing"], "going");
    has(&world.ok(&["abandon", &run, "--yes"]), &["is abandoned", "Next: forge show "]);
    let said = running.end();
    assert_eq!(said.code, FAILED, "{said}");
    has(&said.out, &["the run was abandoned"]);
    let before = world.records(&run);
    for wrong in [
        vec!["resume", &run],
        vec!["resume", &run, "--budget", "5"],
        vec!["abandon", &run],
        vec!["stop", &run],
        vec!["pause", &run],
        vec!["answer", &run, "Q1", "approve"],
    ] {
        has(&world.refused(&wrong), &["abandoned", "help: forge "]);
    }
    assert_eq!(world.records(&run), before);
    assert!(
        world.place().join("runs").join(&run).join("state.json").exists(),
        "what it made is kept"
    );
}

#[test]
fn a_run_without_a_driver_can_be_paused_and_abandoned_and_is_not_said_to_be_stopped() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    has(&world.ok(&["pause", &run]), &["is paused"]);
    assert_eq!(world.view(&run)["standing"], "paused");
    has(&world.refused(&["pause", &run]), &["is already paused", "help: forge resume "]);
    has(&world.ok(&["stop", &run]), &["was not running (paused)", "Next: forge resume "]);
    assert_eq!(world.view(&run)["standing"], "paused", "nothing was there to be stopped");
    has(&world.refused(&["merge", &run]), &["is not done (paused)", "help: forge resume "]);
    assert_eq!(world.forge(&["resume"]).code, WAITS);
    world.ok(&["abandon", "--yes", &run]);
    assert_eq!(world.view(&run)["standing"], "abandoned");
}

#[test]
fn a_run_whose_budget_is_used_up_is_parked_until_it_gets_more() {
    let world = World::new();
    world.scenario(CONTENT);
    let said = world.run("draft", &["--auto", "--budget", "0.015"]);
    assert_eq!(said.code, PARKED, "{said}");
    let run = world.latest();
    has(&said.out, &["$0.01 of the run's $0.02 spent; the next call could cost more than is left"]);
    has(&said.out, &["■ Out of budget", " --budget 1"]);
    let before = world.records(&run);
    has(&world.refused(&["resume", &run]), &["$0.02", "--budget", "help: forge resume"]);
    has(
        &world.refused(&["resume", &run, "--budget", "0.01"]),
        &["above $0.01", "help: forge resume"],
    );
    assert_eq!(world.records(&run), before);
    let said = world.forge(&["resume", &run, "--budget", "1"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(world.agents_started(&run), 2);
    has(&world.ok(&["status", &run]), &["$0.02 of $1 "]);
}

#[test]
fn a_limit_is_a_timer_that_costs_neither_a_miss_nor_a_person() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow("one", "[[stage]]\nname = \"work\"\nagent = \"worker\"\nmisses = 1\n");
    let limited = "limit = { kind = \"rate\", reset_in_ms = 300 }";
    let plays = [1, 2, 3].map(|attempt| format!("[[play]]\nattempt = {attempt}\n{limited}\n"));
    world.scenario(&format!("{}[[play]]\n", plays.concat()));
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(
        &said.out,
        &["work waits until", "work (attempt 3) waits until", "work (attempt 4) finished"],
    );
    // Between the end of one attempt and the start of the next lies the limit.
    let run = world.latest();
    let log = world.ok(&["log", &run, "--json"]);
    let records: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let limited: Vec<&serde_json::Value> =
        records.iter().filter(|record| record.to_string().contains("\"limited\"")).collect();
    assert_eq!(limited.len(), 3);
    for record in limited {
        let until = record["facts"]
            .as_array()
            .unwrap()
            .iter()
            .find_map(|fact| fact["attempt_ended"]["outcome"]["limited"]["until"].as_u64());
        let next = records
            .iter()
            .find(|later| later["seq"].as_u64() == record["seq"].as_u64().map(|n| n + 1))
            .unwrap();
        assert!(next["at"].as_u64() >= until, "{record} {next}");
    }
}

#[test]
fn a_run_that_waits_for_a_limit_says_so_and_can_be_stopped() {
    let world = World::new();
    world.scenario("[[play]]\nlimit = { kind = \"usage\", reset_in_ms = 3600000 }\n");
    let mut running = world.start(&["run", "do it"]);
    running.until_says("waits until");
    let run = world.latest();
    until("the run to be limited", || (world.view(&run)["standing"] == "limited").then_some(()));
    has(&world.ok(&["status", &run]), &["limited until ", "the usage limit is reached"]);
    world.ok(&["stop", &run]);
    assert_eq!(running.end().code, INTERRUPTED);
}

#[test]
fn a_price_that_nobody_told_is_unknown_and_never_zero() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow("one", "[[stage]]\nname = \"work\"\nagent = \"worker\"\n");
    world.scenario("[[play]]\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["work finished (cost unknown)", "· cost unknown"]);
    has(&world.ok(&["status"]), &["unknown"]);
    assert_eq!(world.view(&world.latest())["unknown_costs"], 1);
}
