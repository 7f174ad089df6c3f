//! Small flows of our own: nothing is lost, redone or left over, whoever is killed, and drivers follow keepers that outlive others.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use rustix::{fs::OFlags, process::Signal};

use super::{
    RANDOM_CASES_MAX,
    cases::{self, Case, Sizes},
    processes::{kept, left_over, signal, watched_by},
    promises,
    scripts::{self, BUSY},
    steps,
    world::{World, until},
};

/// What a keeper says that found its attempt in other hands.
const CLAIM_LOST_EXIT: i32 = 75;
/// An agent may clean up for this long; `at once` is sooner.
const GRACE: Duration = Duration::from_secs(10);

#[test]
fn a_kill_after_any_record_loses_nothing_and_redoes_nothing() {
    let sizes = Sizes::from_environment("FORGE_CRASH", 12);
    cases::play("records", &sizes, u32::MAX, sizes.records_of(&BUSY).into_iter());
}

#[test]
fn a_kill_while_any_agent_is_at_work_loses_nothing_else() {
    let sizes = Sizes::from_environment("FORGE_CRASH", 12);
    cases::play("agents", &sizes, u32::MAX, sizes.agents_of(&BUSY).into_iter());
}

#[test]
fn kills_at_random_moments_lose_nothing_and_redo_nothing() {
    let sizes = Sizes::from_environment("FORGE_CRASH", 12);
    let all = (0..RANDOM_CASES_MAX).map(|number| Case::at_random(&BUSY, sizes.seed, number));
    cases::play("random", &sizes, sizes.n_kills, all);
}

#[test]
fn a_kill_after_or_within_any_step_of_a_landing_leads_to_the_same_result() {
    steps::play(&Sizes::from_environment("FORGE_CRASH", 12));
}

#[test]
fn a_command_takes_away_what_a_crash_left_among_the_files_that_show_a_run() {
    let world = World::new(&BUSY);
    assert_eq!(world.run().end().code(), Some(0), "{}", world.complaints());
    let run = world.standing().unwrap().0;
    let (live, whole) = (world.live(&run), promises::projections(&world, &run));
    let events = &whole[Path::new("events.jsonl")];
    fs::write(live.join("events.jsonl"), &events[..events.len() - 7]).unwrap();
    fs::write(live.join(".state.json.new"), "{").unwrap();
    fs::write(live.join("artifacts/.plan.md.new"), "half a pl").unwrap();
    fs::write(live.join("artifacts/plan.md"), "not what was said").unwrap();
    fs::create_dir(live.join("artifacts/build.P9")).unwrap();
    fs::write(live.join("artifacts/build.P9/made.md"), "of an item that is no more").unwrap();
    world.json(&["status", &run, "--json"]);
    assert!(promises::projections(&world, &run) == whole, "the files show what the journal says");
}

#[test]
fn a_new_driver_follows_the_keeper_of_a_killed_one() {
    let (world, gate) = waiting_at_a_gate();
    let mut first = world.run();
    let keeper = only_keeper(&world);
    let run = world.standing().unwrap().0;
    signal(first.pid(), Signal::KILL);
    first.end();
    assert_eq!(only_keeper(&world), keeper, "it outlives its driver");
    let mut second = world.resume(&run);
    until("the new driver watches the keeper", || {
        watched_by(second.pid()).contains(&keeper).then_some(())
    });
    assert_eq!(only_keeper(&world), keeper, "no other keeper was started");
    open_gate(&gate);
    assert_eq!(second.end().code(), Some(0), "{}", world.complaints());
    assert_eq!(world.starts(), ["work#1"]);
    let claim = fs::read_to_string(world.attempts(&run).join("0001/claim")).unwrap();
    assert!(claim.contains(&format!("\"pid\":{keeper},")), "{claim}");
    assert_eq!(ends(&world, &run), [("work#1".to_owned(), "done".to_owned())]);
}

#[test]
fn a_keeper_that_comes_too_late_starts_nobody() {
    let (world, gate) = waiting_at_a_gate();
    let mut driver = world.run();
    let keeper = only_keeper(&world);
    let run = world.standing().unwrap().0;
    let folder = world.attempts(&run).join("0001");
    let too_late = || world.forge(&["__keep", folder.to_str().unwrap()]).status.code();
    assert_eq!(too_late(), Some(CLAIM_LOST_EXIT));
    assert_eq!(only_keeper(&world), keeper);
    open_gate(&gate);
    assert_eq!(driver.end().code(), Some(0), "{}", world.complaints());
    assert_eq!(too_late(), Some(CLAIM_LOST_EXIT), "the claim outlives its keeper");
    assert_eq!(world.starts(), ["work#1"]);
}

#[test]
fn agents_finish_under_their_keepers_when_the_terminal_is_closed() {
    let (world, gate) = waiting_at_a_gate();
    let mut driver = world.run();
    let keeper = only_keeper(&world);
    let run = world.standing().unwrap().0;
    signal(driver.pid(), Signal::HUP);
    assert_eq!(driver.end().code(), Some(130), "{}", world.complaints());
    assert_eq!(only_keeper(&world), keeper);
    assert_eq!(world.standing().unwrap().1, "going");
    open_gate(&gate);
    let ending = world.attempts(&run).join("0001/ending.json");
    until("the keeper writes the ending", || ending.exists().then_some(()));
    assert_eq!(ends(&world, &run), [], "");
    assert_eq!(world.resume(&run).end().code(), Some(0), "{}", world.complaints());
    assert_eq!(world.starts(), ["work#1"], "its result was taken in");
    assert_eq!(ends(&world, &run), [("work#1".to_owned(), "done".to_owned())]);
    assert_eq!(left_over(&world.folder()), []);
}

#[test]
fn one_interrupt_asks_the_agents_to_end_and_the_run_can_be_resumed() {
    let place = tempfile::tempdir().unwrap();
    let (ready, signals) = (place.path().join("ready"), place.path().join("signals"));
    // The agent itself waits for its shell, which cleans up: a keeper kills whom a dead agent left.
    let world = scripts::solo(&format!(
        "ignore_term = true\nrun = '''trap 'echo TERM > {}; exit 1' TERM; echo > {}; sleep 600 & wait $!'''",
        signals.display(),
        ready.display()
    ));
    let mut driver = world.run();
    until("the agent works", || ready.exists().then_some(()));
    let run = world.standing().unwrap().0;
    signal(driver.pid(), Signal::INT);
    assert_eq!(driver.end().code(), Some(130), "{}", world.complaints());
    assert_eq!(fs::read_to_string(&signals).unwrap(), "TERM\n", "it was asked, and could clean up");
    assert_eq!(world.standing().unwrap().1, "interrupted");
    assert_eq!(left_over(&world.folder()), []);
    assert_eq!(world.resume(&run).end().code(), Some(0), "{}", world.complaints());
    assert_eq!(world.starts(), ["work#1", "work#2"]);
    let ended = |call: &str, how: &str| (call.to_owned(), how.to_owned());
    assert_eq!(ends(&world, &run), [ended("work#1", "interrupted"), ended("work#2", "done")]);
}

#[test]
fn a_second_interrupt_kills_an_agent_that_does_not_listen() {
    let world = scripts::solo("ignore_term = true\nhang = true");
    let mut driver = world.run();
    let agent = until("the agent works", || {
        let is_working = world.starts() == ["work#1"];
        kept(&world.top)
            .first()
            .and_then(|kept| kept.agents.first().copied())
            .filter(|_| is_working)
    });
    let run = world.standing().unwrap().0;
    let began = Instant::now();
    signal(driver.pid(), Signal::INT);
    driver.hear_of("run_held");
    assert!(signal(agent, Signal::CONT), "it was only asked");
    signal(driver.pid(), Signal::INT);
    assert_eq!(driver.end().code(), Some(130), "{}", world.complaints());
    assert!(began.elapsed() < GRACE, "it was killed at once, not after its grace");
    assert_eq!(world.standing().unwrap().1, "stopped");
    assert_eq!(left_over(&world.folder()), []);
    assert_eq!(world.resume(&run).end().code(), Some(0), "{}", world.complaints());
    assert_eq!(world.starts(), ["work#1", "work#2"]);
}

/// A world whose agent waits until [`open_gate`].
fn waiting_at_a_gate() -> (World, PathBuf) {
    // Not in the world: the scenario names it before there is one.
    let gate = tempfile::tempdir().unwrap().keep();
    let pipe = gate.join("gate");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    (scripts::solo(&format!("run = \"cat {}\"", pipe.display())), pipe)
}

/// Lets the agent go on. A pipe can be opened like this only if somebody reads it.
fn open_gate(gate: &Path) {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = || OpenOptions::new().write(true).custom_flags(flags).open(gate).ok();
    drop(until("the agent waits at the gate", opened));
    fs::remove_dir_all(gate.parent().unwrap()).unwrap();
}

/// The one keeper, once its agent has begun.
fn only_keeper(world: &World) -> i32 {
    until("the agent has begun", || (world.starts().len() == 1).then_some(()));
    match kept(&world.top).as_slice() {
        [kept] => kept.keeper,
        others => panic!("there should be one keeper: {others:?}"),
    }
}

/// How the attempts ended, as the journal has it.
fn ends(world: &World, run: &str) -> Vec<(String, String)> {
    let facts = world.facts(run);
    let ends = facts.iter().map(|fact| &fact["attempt_ended"]).filter(|end| end.is_object());
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("?").to_owned();
    ends.map(|end| (text(&end["attempt"]), text(&end["outcome"]))).collect()
}
