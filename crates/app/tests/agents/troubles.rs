//! A program that cannot, does not or must not go on: what a person reads, and what it costs.

use std::{fs, path::Path};

use crate::{
    ledger::{Sum, adds_up},
    mine,
    world::{DONE, INTERRUPTED, WAITS, World, has, until},
};

/// What a person reads when this program plays, and the world for more.
#[track_caller]
fn reads(script: &str, expected: &[&str]) -> World {
    let (world, said) = mine::run(script, &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["What now?", "forge retry", "forge reject"]);
    has(&said.out, expected);
    world
}

#[test]
fn a_program_that_is_not_there_or_not_executable_is_refused_before_anything_starts() {
    let world = mine::world("result x");
    let path = world.beside("agent.sh");
    let shown = path.display().to_string();
    fs::rename(&path, world.beside("elsewhere")).unwrap();
    let said = world.run("one", &[]);
    assert_eq!(said.code, 2, "{said}");
    has(&said.err, &["the agent `mine` needs the program", &shown, "not installed", "help: "]);
    fs::write(&path, "#!/bin/sh\n").unwrap();
    let said = world.run("one", &[]);
    assert_eq!(said.code, 2, "{said}");
    has(&said.err, &["needs the program", &shown, "not executable", "help: chmod +x"]);
    assert!(world.is_untouched() || world.ids().is_empty(), "no run was started");
}

#[test]
fn a_program_that_is_not_in_the_agents_checkout_is_a_fault_that_cost_nothing() {
    let world = mine::world("");
    world.write("forge.toml", "agent = \"mine\"\n[agents.mine]\ncommand = [\"./gone.sh\"]\n");
    let said = world.run("one", &["--budget", "1"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["program `./gone.sh` not found"]);
    assert!(!said.out.contains("unknown"), "nobody was started, so nothing was spent: {said}");
    assert_eq!(adds_up(&world, &world.latest()), Sum::default());
}

#[test]
fn a_program_that_fails_is_told_with_its_code_and_its_last_words() {
    let world = reads("echo 'the key is stale' >&2; exit 3", &["exit code 3"]);
    let facts = world.facts(&world.latest());
    assert!(facts.iter().any(|fact| fact.to_string().contains("the key is stale")), "{facts:#?}");
    reads("kill -9 $$", &["killed by signal 9"]);
    reads("kill -SEGV $$", &["killed by signal 11"]);
    reads("result x; exit 1", &["exit code 1"]);
    reads(
        "result x; echo '{\"type\":\"ended\",\"ok\":false,\"what\":\"I gave up\"}'",
        &["I gave up"],
    );
    reads("true", &["no `result.json` in the outbox"]);
}

#[test]
fn a_line_of_a_hundred_megabytes_is_stopped_at_the_limit_and_no_more_than_that_is_kept() {
    let world = mine::world("head -c 100000000 /dev/zero | tr '\\0' x; result x");
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("{settings}[limits]\noutput_mib = 1\n"));
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["it printed more than allowed"]);
    let transcript = world.attempt(&world.latest(), "work#1").join("transcript");
    assert!(fs::metadata(transcript).unwrap().len() <= 1024 * 1024 + 64 * 1024);
}

#[test]
fn a_line_too_long_to_be_understood_hides_nothing_that_comes_after_it() {
    let (world, said) = mine::run(
        "head -c 1500000 /dev/zero | tr '\\0' x; echo; spend 50000; result x",
        &["--budget", "1"],
    );
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(adds_up(&world, &world.latest()).known, 50_000);
}

#[test]
fn a_program_that_does_not_end_when_asked_is_killed_with_whom_it_started() {
    let world = mine::world(
        "trap '' TERM INT HUP\necho $$ > $HOME/pids\nsetsid sleep 600 &\necho $! >> $HOME/pids\n\
         : > $HOME/up\nwhile :; do sleep 0.05; done",
    );
    let running = world.start(&["run", "--flow", "one", "do it"]);
    until("the agent to be up", || world.beside("up").exists().then_some(()));
    let run = world.latest();
    world.ok(&["stop", &run]);
    let said = running.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    for pid in fs::read_to_string(world.beside("pids")).unwrap().lines() {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
    }
    assert_eq!(adds_up(&world, &run).unknown_calls, 1, "it told of nothing");
    world.ok(&["abandon", "--yes", &run]);
}

#[test]
fn a_limit_that_a_program_tells_of_is_a_timer() {
    let (world, said) = mine::run(
        "if [ $FORGE_CALL = 'work#1' ]; then\n\
         echo '{\"type\":\"limited\",\"kind\":\"usage\",\"until_ms\":'$(($(date +%s) * 1000 + 1500))',\"what\":\"five hours are used up\"}'\n\
         exit 1; fi\nspend 1000; result x",
        &[],
    );
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["work waits until", "five hours are used up", "work (attempt 2) finished"]);
    let sum = adds_up(&world, &world.latest());
    assert_eq!((sum.known, sum.unknown_calls), (1_000, 1));
}

#[test]
fn a_run_that_is_given_up_after_a_fault_has_failed() {
    let world = reads("exit 3", &[]);
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "give-up"]);
    assert_eq!(world.view(&run)["standing"], "failed");
}

#[test]
fn who_says_that_it_ended_and_spends_on_is_stopped_at_its_cap() {
    let script =
        "echo '{\"type\":\"ended\",\"ok\":true}'; spend 600000; spend 600000; read x < pipe";
    let (world, said) =
        mine::run(&format!("mkfifo pipe; exec 3<>pipe; {script}"), &["--budget", "1"]);
    has(&said.out, &["it spent more than its budget"]);
    assert!(!said.out.contains("work finished ("), "{said}");
    assert!(adds_up(&world, &world.latest()).known >= 1_000_000);
}

#[test]
fn whatever_lies_in_place_of_a_transcript_holds_nobody_and_is_not_read() {
    for trick in [
        "rm transcript; mkfifo transcript",
        "ln -sf /dev/zero transcript",
        "echo 'ghp_0123456789abcdefghijABCDEFGHIJ012345' > word; ln -sf word transcript",
        "echo 'ghp_0123456789abcdefghijABCDEFGHIJ012345' >> transcript",
    ] {
        let (world, said) =
            mine::run(&format!("cd \"$FORGE_ATTEMPT_DIR\" && {trick}; exit 3"), &[]);
        assert_eq!(said.code, WAITS, "{trick}: {said}");
        let facts = world.facts(&world.latest());
        assert!(!format!("{facts:?}").contains("ghp_0123"), "{trick}: {facts:#?}");
    }
}

#[test]
fn an_agent_that_removes_the_folder_of_its_call_ends_all_the_same() {
    let (_world, said) = mine::run("rm -rf \"$FORGE_ATTEMPT_DIR\"; result x", &[]);
    assert!([DONE, WAITS].contains(&said.code), "{said}");
}

#[test]
fn nobody_changes_the_program_of_the_agent_that_reviews_it() {
    let world = mine::world("");
    let rewrites =
        mine::PLAYS_ALL.replace("echo one > one.txt", "echo one > one.txt; echo >> agent.sh");
    mine::program(&world.repo.join("agent.sh"), &rewrites);
    world.write(
        "forge.toml",
        "agent = \"mine\"\n[agents.mine]\ncommand = [\"./agent.sh\"]\n[verify]\ncommands = [\"true\"]\n",
    );
    world.git(&["add", "agent.sh"]);
    world.git(&["commit", "--quiet", "-m", "an agent"]);
    let said = world.run("change", &["--auto"]);
    assert_ne!(said.code, DONE, "{said}");
    has(&said.out, &["`agent.sh` belongs to the agent `mine`"]);
    assert!(!said.out.contains("T1 merged"), "{said}");
}
