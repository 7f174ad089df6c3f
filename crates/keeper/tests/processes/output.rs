//! Where the output of a child goes: errors kept apart, and boxes of another folder.

use std::fs;

use crate::world::{World, alive, ending, transcript, until_transcript_has};
use forge_keeper::{ExitReason, Spec, Stderr, Stop};

#[test]
fn errors_can_be_kept_apart_and_are_redacted_too() {
    let world = World::new().with_env("MY_TOKEN", "a-value-that-nobody-sees");
    let script = "echo out; echo \"err $MY_TOKEN\" >&2; echo more; echo \"last\" >&2";
    let spec = Spec { stderr: Stderr::Apart, ..world.shell(script) };
    let (folder, ending) = world.run(&spec);
    assert_eq!(ending.how, ExitReason::Exited { code: 0 });
    assert_eq!(transcript(&folder), "out\nmore\n");
    let errors = fs::read_to_string(folder.stderr()).unwrap();
    assert!(errors.starts_with("err ") && errors.ends_with("\nlast\n"), "{errors}");
    assert!(!errors.contains("nobody"), "{errors}");
    assert_eq!(ending.output_bytes, 9 + 4 + "a-value-that-nobody-sees\n".len() as u64 + 5);
}

#[test]
fn errors_that_are_kept_apart_count_to_the_limits_and_are_no_silence() {
    let world = World::new();
    let mut spec = Spec { stderr: Stderr::Apart, ..world.shell("yes >&2") };
    spec.limits.output_bytes = 100_000;
    let (folder, ending) = world.run(&spec);
    assert_eq!((ending.how, ending.output_bytes), (ExitReason::TooMuchOutput, 100_000));
    assert_eq!(fs::metadata(folder.stderr()).unwrap().len(), 100_000);
    let world = World::new();
    let script = "for i in 1 2 3 4 5 6 7 8; do echo tick >&2; sleep 0.1; done";
    let mut spec = Spec { stderr: Stderr::Apart, ..world.shell(script) };
    spec.limits.silence_ms = 500;
    assert_eq!(world.run(&spec).1.how, ExitReason::Exited { code: 0 });
}

#[test]
fn a_child_that_closes_one_way_is_still_heard_on_the_other() {
    let world = World::new();
    let script = "exec 2>&-; echo one; exec sleep 600";
    let spec = Spec { stderr: Stderr::Apart, ..world.shell(script) };
    let folder = world.folder("attempt", &spec);
    let mut keeper = world.start(&folder);
    until_transcript_has(&folder, "one");
    alive(&folder).stop(Stop::AtOnce).unwrap();
    assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Interrupted);
    let world = World::new();
    let spec = Spec { stderr: Stderr::Apart, ..world.shell("exec >&-; echo late >&2") };
    let (folder, ending) = world.run(&spec);
    assert_eq!(ending.how, ExitReason::Exited { code: 0 });
    assert_eq!(fs::read_to_string(folder.stderr()).unwrap(), "late\n");
}

#[test]
fn a_second_turn_works_with_the_boxes_of_its_call() {
    let world = World::new();
    let (call, _) = world.run(&world.shell("echo half > $FORGE_OUTBOX/result.json"));
    let script = "cat $FORGE_OUTBOX/result.json; echo whole > $FORGE_OUTBOX/result.json; \
                  echo $FORGE_INBOX; echo $FORGE_ATTEMPT_DIR";
    let spec = Spec { boxes: Some(call.path.clone()), ..world.shell(script) };
    let turn = world.folder("attempt/repair", &spec);
    assert_eq!(ending(&turn, &mut world.start(&turn)).how, ExitReason::Exited { code: 0 });
    assert_eq!(fs::read_to_string(call.outbox().join("result.json")).unwrap(), "whole\n");
    let printed = format!("half\n{}\n{}\n", call.inbox().display(), turn.path.display());
    assert_eq!(transcript(&turn), printed, "its mark is its own");
}

#[test]
fn an_attempt_of_an_older_forge_is_still_understood() {
    let old = r#"{"forge":1,"call":"a#1","argv":["true"],"dir":"/","stdin":null,"stdout":"pipe","limits":{"wall_ms":0,"silence_ms":0,"output_bytes":0},"secrets":[],"grace_ms":5}"#;
    let spec: Spec = serde_json::from_str(old).unwrap();
    assert_eq!((spec.stderr, &spec.boxes, &spec.monitor), (Stderr::Together, &None, &None));
    assert_eq!(serde_json::to_string(&spec).unwrap(), old, "and says nothing new");
}
