//! Keepers that listen to an agent: caps inside an attempt.

use std::fs;

use crate::world::{World, alive, ending, transcript, until_transcript_has};
use forge_agents::{
    AgentKind, Earlier, Listen, Price, TokenCounts, Use, read_transcript, registry,
};
use forge_keeper::{ExitReason, Spec, Stderr, Stop};

fn claude() -> AgentKind {
    AgentKind::find("claude").expect("it is in the registry")
}

const SPENDS: &str = r#"echo '{"type":"spent","cost_micros":600}'"#;

fn capped(spec: Spec, cap_micros: u64) -> Spec {
    let listen = Listen { kind: registry::PROGRAM, cap_micros, earlier: Earlier::default() };
    Spec { monitor: Some(listen.to_json()), ..spec }
}

#[test]
fn a_child_that_spends_more_than_it_may_is_stopped_in_the_middle() {
    let world = World::new();
    let spec = capped(world.shell(&format!("{SPENDS}; {SPENDS}; exec sleep 600")), 1_000);
    let (folder, ending) = world.run(&spec);
    assert_eq!(ending.how, ExitReason::OverBudget);
    let summary =
        read_transcript(registry::PROGRAM, transcript(&folder).as_bytes(), &Earlier::default());
    assert_eq!(summary.uses()[0].cost, Price::Reported(1_200), "what was spent is still leaky");
}

#[test]
fn tiny_turns_add_up_and_a_cap_that_is_just_reached_is_no_reason_to_stop() {
    let world = World::new();
    let tiny =
        r#"for i in 1 2 3 4 5 6 7 8 9 10; do echo '{"type":"spent","cost_micros":100}'; done"#;
    let (_, ending) = world.run(&capped(world.shell(tiny), 1_000));
    assert_eq!(ending.how, ExitReason::Exited { code: 0 });
    let world = World::new();
    let (_, ending) = world.run(&capped(world.shell(&format!("{tiny}; exec sleep 600")), 999));
    assert_eq!(ending.how, ExitReason::OverBudget);
}

#[test]
fn a_child_is_asked_to_end_before_it_is_killed_for_its_price() {
    let world = World::new();
    let script =
        format!("trap 'echo cleaned; exit 0' TERM; {SPENDS}; while :; do sleep 0.02; done");
    let (folder, ending) = world.run(&capped(world.shell(&script), 1));
    assert_eq!(ending.how, ExitReason::OverBudget);
    assert!(transcript(&folder).ends_with("cleaned\n"));
}

#[test]
fn who_has_said_its_last_word_is_not_stopped_for_its_price() {
    let world = World::new();
    let script = format!(r#"{SPENDS}; {SPENDS}; echo '{{"type":"ended"}}'; sleep 0.2"#);
    // Printed at once, so that price and last word come in one piece.
    let script = format!("out=$({script}); echo \"$out\"; sleep 0.2");
    let (_, ending) = world.run(&capped(world.shell(&script), 1));
    assert_eq!(ending.how, ExitReason::Exited { code: 0 });
}

#[test]
fn a_silent_child_is_not_stopped_for_what_nobody_knows() {
    let world = World::new();
    let (folder, ending) = world.run(&capped(world.shell("echo working"), 0));
    assert_eq!(ending.how, ExitReason::Exited { code: 0 });
    let summary =
        read_transcript(registry::PROGRAM, transcript(&folder).as_bytes(), &Earlier::default());
    assert_eq!(summary.uses()[0].cost, Price::Missing);
}

#[test]
fn totals_of_a_session_count_only_from_where_it_went_on() {
    let total = r#"echo '{"type":"spent","model":"m","cost_micros":5000,"cumulative":true}'"#;
    let used = Use {
        provider: "program".to_owned(),
        model: "m".to_owned(),
        tokens: TokenCounts::default(),
        cost: Price::Reported(4_500),
    };
    let listen = |earlier: Vec<Use>| Listen {
        kind: registry::PROGRAM,
        cap_micros: 1_000,
        earlier: Earlier { uses: earlier, ..Earlier::default() },
    };
    let world = World::new();
    let spec = world.shell(&format!("{total}; sleep 0.2"));
    let spec = Spec { monitor: Some(listen(vec![used]).to_json()), ..spec };
    assert_eq!(world.run(&spec).1.how, ExitReason::Exited { code: 0 });
    let world = World::new();
    let spec = world.shell(&format!("{total}; exec sleep 600"));
    let spec = Spec { monitor: Some(listen(Vec::new()).to_json()), ..spec };
    assert_eq!(world.run(&spec).1.how, ExitReason::OverBudget);
}

/// A process's memory that is of no file: pages of a program that was just built count as private,
/// until they are on the disk.
fn private_kib(pid: i32) -> u64 {
    let memory = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let private = memory.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
    private.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[test]
fn a_keeper_that_has_listened_to_a_long_stream_is_still_small() {
    let world = World::new();
    let recorded =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts/claude/write-bash.jsonl");
    // Much of it, and lines that are longer than anybody wants to hear.
    let script = format!(
        "for i in $(seq 200); do cat {recorded} {recorded} {recorded}; done; \
         head -c 900000 /dev/zero | tr '\\0' x; echo; head -c 9000000 /dev/zero | tr '\\0' x; echo; \
         echo all-said; exec sleep 600"
    );
    let cap_micros = u64::MAX;
    let listen = Listen { kind: claude(), cap_micros, earlier: Earlier::default() };
    let spec =
        Spec { stderr: Stderr::Apart, monitor: Some(listen.to_json()), ..world.shell(&script) };
    let folder = world.folder("attempt", &spec);
    let mut keeper = world.start(&folder);
    until_transcript_has(&folder, "all-said");
    let private = private_kib(alive(&folder).pid().unwrap());
    alive(&folder).stop(Stop::AtOnce).unwrap();
    assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Interrupted);
    println!("private: {private} KiB");
    assert!(private < 3 * 1024, "{private} KiB");
}
