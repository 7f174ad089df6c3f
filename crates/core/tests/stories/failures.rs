//! How work fails: faults, losses, and the same failure again and again.

use forge_core::{
    Report,
    event::{Answer, Choice, End, FailureKind, Hold, Outcome, Receipt, Ruling},
    failure::{FaultClass, fingerprint},
    money::Spent,
    run::{Phase, State},
};

use crate::world::{
    World, attempt, fault, judgement, partial, red, revise, revises, unread, writes,
};

const ONE: &str = r#"
[[stage]]
name = "work"
agent = "worker"
gates = [{ review = "critic" }]
"#;

const ITEMS: &str = r#"
[[stage]]
name = "split"
agent = "splitter"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 4
  [[stage.stage]]
  name = "make"
  agent = "maker"
  gates = [{ verify = true }]
"#;

fn four() -> World {
    let items = ["a", "b", "c", "d"].map(|id| writes(&id.to_uppercase(), id));
    let mut world = World::small(ITEMS).list("split", items.to_vec()).begin();
    world.end("split#1");
    world
}

#[test]
fn empty_output_is_tried_once_more_and_then_asked_about() {
    let world = World::small(ONE)
        .outcome("work#1", fault("empty"))
        .outcome("work#2", fault("void"))
        .played();
    assert_eq!(world.unit("work").attempt, 2);
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
}

/// How the latest attempt at the work failed, if it did.
fn last_fault(world: &World) -> Option<&str> {
    world.unit("work").fault.as_ref().map(|fault| fault.what.as_str())
}

#[test]
fn how_the_last_attempt_failed_is_known_to_the_next_one() {
    let flow = ONE.replace("agent = \"worker\"", "agent = \"worker\"\nmisses = 5\nrounds = 5");
    let mut world = World::small(&flow).begin();
    assert_eq!(last_fault(&world), None);
    let class = FaultClass::Secret;
    world.ends("work#1", Outcome::Fault { class, what: "a token in src/a.rs".to_owned() });
    world.says("work#1 left a secret in its change, so nothing was committed: a token in src/a.rs");
    assert_eq!(world.unit("work").fault.as_ref().map(|fault| fault.class), Some(class));
    world.ends("work#2", Outcome::Lost);
    assert_eq!(last_fault(&world), Some("a token in src/a.rs"), "a loss says nothing about it");
    world.ends("work#3", fault("empty"));
    assert_eq!(last_fault(&world), Some("empty"), "only the last one");
    world.end("work#4");
    assert_eq!(last_fault(&world), None, "it has been good since");
    world.rules("work#4/critic#1", revises(1));
    world.ends("work#5", fault("void"));
    assert_eq!(last_fault(&world), Some("void"));
    world.ends("work#6", partial("the rest"));
    assert_eq!(last_fault(&world), None, "there is a result again");
}

#[test]
fn a_fault_outlives_a_retry_and_a_resume_and_is_forgotten_by_a_reset() {
    let mut world = World::small(ONE).begin();
    world.end("work#1");
    world.rules("work#1/critic#1", revises(1));
    world.ends("work#2", fault("empty"));
    world.ends("work#3", fault("void"));
    world.say(1, Answer::Retry, "");
    assert_eq!(last_fault(&world), Some("void"));
    world.ends("work#4", fault("hollow"));
    world.ends("work#5", fault("bare"));
    world.say(2, Answer::GiveUp, "");
    world.resume();
    assert_eq!(world.calls(), ["work#6"]);
    assert_eq!(last_fault(&world), Some("bare"));
    assert_eq!(world.unit("work").findings.len(), 1, "beside what it still has to deal with");
    let flow = "[[stage]]\nname = \"first\"\nagent = \"x\"\nwrites = [\"a.md\"]\n\
                [[stage]]\nname = \"work\"\nagent = \"y\"\nmisses = 5\n";
    let mut world = World::small(flow).begin();
    world.end("first#1");
    world.ends("work#1", fault("empty"));
    world.ends("work#2", Outcome::Limited { until: 900_000, what: String::new() });
    world.edit("first", "a.md");
    assert_eq!(world.calls(), ["work#3"]);
    assert_eq!(last_fault(&world), None, "what it failed at was changed");
}

#[test]
fn a_result_between_two_faults_begins_a_new_count() {
    let mut world = World::small(ONE).begin();
    world.ends("work#1", fault("empty"));
    world.end("work#2");
    world.rules("work#2/critic#1", revises(1));
    world.ends("work#3", fault("other"));
    assert_eq!(world.calls(), ["work#4"], "one miss is not two");
}

#[test]
fn retrying_gives_the_full_number_of_tries_again() {
    let mut world = World::small(ONE)
        .outcome("work#1", fault("empty"))
        .outcome("work#2", fault("void"))
        .played();
    world.say(1, Answer::Retry, "");
    world.ends("work#3", fault("third way"));
    assert_eq!(world.calls(), ["work#4"]);
}

#[test]
fn four_losses_ask_nobody_and_the_fifth_in_a_row_does() {
    let mut world = World::small(ONE).begin();
    for n in 1..5 {
        world.ends(&format!("work#{n}"), Outcome::Lost);
        assert_eq!(world.calls(), [format!("work#{}", n + 1)]);
    }
    world.ends("work#5", Outcome::Interrupted);
    world.says(
        "Q1 asks about work: The work was lost, interrupted or rate-limited 5 times in a row. What now?",
    );
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    assert_eq!(world.unit("work").misses, 0, "it is a fault of nobody");
    world.say(1, Answer::Retry, "");
    assert_eq!(world.calls(), ["work#6"]);
}

#[test]
fn a_result_between_losses_begins_a_new_count() {
    let mut world = World::small(ONE).begin();
    for n in 1..5 {
        world.ends(&format!("work#{n}"), Outcome::Lost);
    }
    world.end("work#5");
    for n in 1..5 {
        world.rules(&format!("work#5/critic#{n}"), Ruling::Lost);
        assert_eq!(world.calls(), [format!("work#5/critic#{}", n + 1)]);
    }
    world.rules("work#5/critic#5", Ruling::Interrupted);
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    world.say(1, Answer::Retry, "");
    assert_eq!(world.calls(), ["work#5/critic#6"], "the gate looks again, the work stays");
}

#[test]
fn lost_reviews_never_touch_the_work() {
    let world = World::small(ONE).ruling("work#1/critic#1", Ruling::Lost).played();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.unit("work").attempt, 1);
}

#[test]
fn the_same_failure_of_three_items_escalates_the_run() {
    let mut world = four();
    world.ends("build.A/make#1", fault("cannot open /tmp/x1: no space left"));
    world.ends("build.B/make#1", fault("cannot open /tmp/y22: no space left"));
    world.is(&Phase::Going);
    world.ends("build.C/make#1", fault("cannot open /tmp/z333: no space left"));
    let what = "`build/make` failed 3 times in the same way, last in build.C/make: cannot open /tmp/z333: no space left";
    world.is(&Phase::Held(Hold::Escalated { what: what.to_owned() }));
    assert!(!world.calls().contains(&"build.C/make#2".to_owned()));
    // What runs may end.
    assert!(world.wanted().contains(&"build.D/make#1".to_owned()));
    world.end("build.D/make#1");
    assert!(!world.calls().iter().any(|call| call.contains("verify")), "nothing new starts");
    world.resume();
    world.go_on();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn different_failures_escalate_nothing() {
    let mut world = four();
    world.ends("build.A/make#1", fault("one thing"));
    world.ends("build.B/make#1", fault("another thing"));
    let crashed = Outcome::Fault { class: FaultClass::Crashed, what: "one thing".to_owned() };
    world.ends("build.C/make#1", crashed);
    world.is(&Phase::Going);
}

#[test]
fn a_command_that_fails_three_times_in_the_same_way_escalates() {
    let mut world = four();
    for item in ["A", "B", "C"] {
        world.end(&format!("build.{item}/make#1"));
    }
    for item in ["A", "B", "C"] {
        world.is(&Phase::Going);
        let ruling = Ruling::Verdict(red("ld: library not found"));
        world.rules(&format!("build.{item}/make#1/verify#1"), ruling);
    }
    assert!(matches!(world.run.phase(), Phase::Held(Hold::Escalated { .. })));
    assert!(!world.calls().contains(&"build.C/make#2".to_owned()));
}

#[test]
fn faults_of_a_judge_escalate_too() {
    let mut world = four();
    for item in ["A", "B", "C"] {
        world.end(&format!("build.{item}/make#1"));
    }
    for item in ["A", "B", "C"] {
        world.rules(&format!("build.{item}/make#1/verify#1"), unread("no docker"));
    }
    assert!(matches!(world.run.phase(), Phase::Held(Hold::Escalated { .. })));
}

#[test]
fn after_a_resume_failures_are_counted_anew() {
    let mut world = four();
    for item in ["A", "B", "C"] {
        world.ends(&format!("build.{item}/make#1"), fault("no space left"));
    }
    world.resume();
    world.ends("build.D/make#1", fault("no space left"));
    world.is(&Phase::Going);
}

#[test]
fn a_fingerprint_keeps_what_stays_the_same() {
    let a = fingerprint("error at /home/x/a.rs:12\n\n12:00:03 panicked: code 0xdeadbeef12, try 3");
    let b = fingerprint("error at /home/y/b.rs:99\n08:15:44 panicked: code 0xfeedface77, try 41");
    assert_eq!(a, b);
    assert_eq!(a, "error at panicked: code try");
    assert_eq!(fingerprint("at 0xfe: commit 12ab34c of fade"), "at commit of fade");
    assert_ne!(a, fingerprint("warning at /home/x/a.rs:12"));
    let long: Vec<String> = (0..50).map(|n| format!("line {}", "abc".repeat(n))).collect();
    assert_eq!(fingerprint(&long.join("\n")).split(' ').filter(|word| *word == "line").count(), 5);
    assert_eq!(fingerprint(""), "");
}

#[test]
fn a_block_that_a_person_agrees_to_blocks_the_run_and_one_that_they_overrule_by_name_does_not() {
    let blocked = || {
        let illegal = crate::world::block("illegal");
        World::small(ONE).verdict("work#1/critic#1", illegal)
    };
    let world = blocked().answer(1, Answer::GiveUp, "").played();
    world.is(&Phase::Over(End::Blocked));
    assert_eq!(world.unit("work").state, State::Failed { kind: FailureKind::Blocked });
    world.says("work failed: illegal (rejected by bob)");
    let mut world = blocked().played();
    assert_eq!(world.options(1), [Choice::Revise, Choice::Waive, Choice::GiveUp]);
    world.say(1, Answer::Waive { gate: "critic".to_owned() }, "it is legal here");
    world.is(&Phase::Over(End::Done));
    let world = blocked().answer(1, Answer::Revise, "another way").played();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.unit("work").attempt, 2);
}

#[test]
fn a_failed_row_lets_the_rows_beside_it_come_to_their_end() {
    let flow = r#"
[[stage]]
name = "split"
agent = "splitter"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
  [[stage.stage]]
  name = "left"
  agent = "a"
  gates = [{ review = "critic" }]
  [[stage.stage]]
  name = "right"
  after = []
  agent = "b"
  gates = [{ review = "critic" }]
  [[stage.stage]]
  name = "both"
  after = ["left", "right"]
  agent = "c"
"#;
    let items = vec![writes("A", "x"), writes("B", "x")];
    let mut world = World::small(flow).list("split", items).begin();
    world.end("split#1");
    world.end("build.A/left#1");
    world.rules("build.A/left#1/critic#1", Ruling::Verdict(crate::world::block("no")));
    world.say(1, Answer::GiveUp, "");
    // The agent at the right still writes: B, which writes the same, has to wait.
    assert_eq!(world.calls(), ["build.A/right#1"]);
    world.go_on();
    world.before("build.A/right done", "build.B/left#1 started");
    world.never_says("build.A/both");
    world.is(&Phase::Over(End::Blocked));
    world.says("build failed: these tasks cannot continue: A");
}

#[test]
fn failed_items_that_write_the_same_open_again_one_after_the_other() {
    let items = vec![writes("A", "x"), writes("B", "x")];
    let mut world = World::small(ITEMS)
        .list("split", items)
        .verdict("build.A/make#1/verify#1", crate::world::block("no"))
        .verdict("build.B/make#1/verify#1", crate::world::block("no"))
        .answer(1, Answer::GiveUp, "")
        .answer(2, Answer::GiveUp, "")
        .played();
    world.is(&Phase::Over(End::Blocked));
    world.resume();
    assert_eq!(world.calls(), ["build.A/make#2"]);
    world.go_on();
    world.is(&Phase::Over(End::Done));
    world.before("build.A/make done", "build.B/make#2 started");
}

#[test]
fn a_report_on_work_that_was_overtaken_only_settles_its_price() {
    let flow = r#"
[[stage]]
name = "plan"
agent = "planner"
[[stage]]
name = "a"
after = ["plan"]
agent = "x"
[[stage]]
name = "b"
after = ["plan"]
agent = "y"
gates = [{ review = "critic", redo = "plan" }]
"#;
    let mut world = World::small(flow).budget("9").call_budget("1").begin();
    world.end("plan#1");
    world.end("b#1");
    world.rules("b#1/critic#1", revises(1));
    assert_eq!(world.calls(), ["a#1", "plan#2"], "it is under way until it is reported");
    assert_eq!(world.wanted(), ["plan#2"], "and no longer wanted");
    let committed = world.run.ledger().committed();
    world.end("a#1");
    world.says("a#1 stopped, no longer needed ($0.02)");
    assert!(world.run.ledger().committed() < committed);
    assert_eq!(world.unit("a").state, State::Waiting);
    world.go_on();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.unit("a").attempt, 2, "numbers are never reused");
}

#[test]
fn a_straggler_does_not_open_the_item_it_came_from() {
    let review = "gates = [{ review = \"critic\", redo = \"split\" }]";
    let flow = ITEMS.replace("gates = [{ verify = true }]", review);
    let tasks = vec![writes("A", "x"), writes("B", "y")];
    let mut world = World::small(&flow).list("split", tasks).begin();
    world.end("split#1");
    world.end("build.B/make#1");
    world.rules("build.B/make#1/critic#1", revises(1));
    assert_eq!(world.calls(), ["split#2", "build.A/make#1"]);
    // Now both write the same, so only one may be open.
    world = world.list("split#2", vec![writes("B", "x"), writes("A", "x")]);
    world.end("split#2");
    assert_eq!(world.calls(), ["build.A/make#1", "build.B/make#2"]);
    world.end("build.A/make#1");
    assert_eq!(world.calls(), ["build.B/make#2"]);
    world.end("build.B/make#2");
    assert_eq!(world.calls(), ["build.B/make#2/critic#1"], "A waits for B's paths");
    world.go_on();
    world.before("build.B/make done", "build.A/make#2 started");
}

#[test]
fn reports_that_nobody_waits_for_mean_nothing() {
    let mut world = World::small(ONE).begin();
    let strange = [
        Report::Worked {
            attempt: attempt("work#7"),
            outcome: Outcome::Done,
            lists: vec![],
            receipt: Receipt::from_spent(Spent::NOTHING),
        },
        Report::Judged {
            judgement: judgement("work#1/critic#1"),
            ruling: revises(1),
            receipt: Receipt::from_spent(Spent::NOTHING),
        },
        Report::Worked {
            attempt: attempt("nobody.X/knows#1"),
            outcome: Outcome::Done,
            lists: vec![],
            receipt: Receipt::from_spent(Spent::NOTHING),
        },
        Report::Intends { attempt: attempt("work#2"), mark: "m".into() },
    ];
    for report in strange {
        assert_eq!(world.report(report).facts, []);
    }
}

#[test]
fn nothing_is_heard_before_the_beginning() {
    let mut world = World::small(ONE);
    let did = Report::Did { attempt: attempt("work#1"), mark: "m".into(), reference: "r".into() };
    assert_eq!(world.report(did).facts, []);
    assert_eq!(world.input(&forge_core::Input::Tick).unwrap().facts, []);
}

#[test]
fn what_must_happen_once_is_marked_before_and_after() {
    use forge_core::run::EffectMark;
    let flow = "[[stage]]\nname = \"send\"\ndeliver = \"comment\"\n";
    let mut world = World::small(flow).begin();
    let intends = |n| Report::Intends { attempt: attempt(&format!("send#{n}")), mark: "pr".into() };
    let did =
        || Report::Did { attempt: attempt("send#1"), mark: "pr".into(), reference: "#7".into() };
    world.report(intends(1));
    assert_eq!(world.run.mark("pr"), Some(EffectMark::Intended));
    world.ends("send#1", Outcome::Lost);
    assert_eq!(world.run.mark("pr"), Some(EffectMark::Intended), "a loss does not forget it");
    assert_eq!(world.report(intends(2)).facts, [], "nor is it intended twice");
    world.report(did());
    assert_eq!(world.run.mark("pr"), Some(EffectMark::Done));
    world.go_on();
    world.is(&Phase::Over(End::Done));
    world.says("starting pr");
    world.says("completed pr: #7");
    assert_eq!(world.report(did()).facts, []);
}

#[test]
fn revises_of_reviews_with_one_proof_do_not_hide_behind_escalation() {
    let world = World::small(ONE)
        .verdict("work#1/critic#1", revise(2))
        .verdict("work#2/critic#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_person_who_lets_it_try_again_has_looked_at_the_failure() {
    let mut world = World::small(ONE)
        .outcome("work#1", fault("same"))
        .outcome("work#2", fault("same"))
        .played();
    world.say(1, Answer::Retry, "");
    world.ends("work#3", fault("same"));
    assert_eq!(
        world.calls(),
        ["work#4"],
        "it was seen once since a person looked, not three times"
    );
}

#[test]
fn reviewers_who_prove_the_same_thing_three_times_are_no_broken_tool() {
    let rows = "\n[[stage]]\nname = \"work\"\nagent = \"worker\"\nrounds = 5\n\
        gates = [{ review = \"critic\" }, { review = \"other\" }, { review = \"third\" }]\n";
    let mut world = World::small(rows).begin();
    for (n, gate) in [(1, "critic"), (2, "other"), (3, "third")] {
        world.end(&format!("work#{n}"));
        for passed in ["critic", "other"].iter().take(n - 1) {
            world.end(&format!("work#{n}/{passed}#1"));
        }
        world.rules(&format!("work#{n}/{gate}#1"), Ruling::Verdict(red("the same output")));
    }
    assert_eq!(world.calls(), ["work#4"]);
}

#[test]
fn of_several_secrets_the_first_is_told_and_how_many_more_there_are() {
    let long = format!("a token in {}", "x".repeat(200));
    let secrets = |lines: &[&str]| {
        let what = lines.join("\n");
        Outcome::Fault { class: FaultClass::Secret, what }
    };
    let mut world = World::small(ONE).begin();
    let three = ["a token in a.rs", "", "a key in b.rs", "a password in c.rs"];
    world.ends("work#1", secrets(&three));
    world.says(
        "work#1 left a secret in its change, so nothing was committed: a token in a.rs and 2 more",
    );
    world.ends("work#2", secrets(&[&long, "a key in b.rs"]));
    assert_eq!(world.about("… and 1 more. What now?").len(), 1, "{:?}", world.story());
    world.say(1, Answer::Retry, "");
    world.ends("work#3", secrets(&["a token in a.rs", "a key in b.rs"]));
    world.ends("work#4", secrets(&["a token in a.rs", "a key in b.rs"]));
    world.says("Q2 asks about work: No usable result: a token in a.rs and 1 more. What now?");
}

#[test]
fn a_run_that_sees_the_same_secrets_again_and_again_says_the_first() {
    let flow = ONE.replace("agent = \"worker\"", "agent = \"worker\"\nmisses = 9");
    let mut world = World::small(&flow).begin();
    for n in 1..=3 {
        let what = "a token in a.rs\na key in b.rs".to_owned();
        world.ends(&format!("work#{n}"), Outcome::Fault { class: FaultClass::Secret, what });
    }
    world
        .says("needs attention: `work` failed 3 times in the same way: a token in a.rs and 1 more");
}
