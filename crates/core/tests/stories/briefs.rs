//! What a brief is made of, as far as the flow and the run say it: what a retry is told, where a review stands, what phases before
//! it say.

use forge_core::{
    event::{Answer, Outcome, Receipt, Ruling, SentBack},
    failure::FaultClass,
    flow::{BriefBlock, BriefShape, CodeLimit, Exhausted, RoleText},
    id::CallId,
    money::{Cost, Money, Spent, Tokens},
    view::{Names, earlier_summaries, sentence_in},
};

use crate::world::{World, fault, revise, revises, unread, writes};

const ONE: &str = r#"
[[stage]]
name = "work"
agent = "worker"
misses = 3
model = "big-1"
brief = { without = ["index"], role = "short" }
gates = [{ review = "critic", rounds = 2, model = "small-1", brief = { without = ["skills", "summaries"] } }]
"#;

fn call(name: &str) -> CallId {
    name.parse().unwrap()
}

fn is_simplified(world: &World, name: &str) -> bool {
    world.run.is_simplified(&call(name))
}

#[test]
fn who_left_nothing_is_told_only_what_the_work_needs_at_the_next_try() {
    for class in [
        FaultClass::NoResult,
        FaultClass::Crashed,
        FaultClass::Killed,
        FaultClass::TimedOut,
        FaultClass::TooMuchOutput,
    ] {
        let mut world = World::small(ONE).begin();
        assert!(!is_simplified(&world, "work#1"));
        world.ends("work#1", Outcome::Fault { class, what: "nothing".to_owned() });
        assert!(is_simplified(&world, "work#2"), "{class:?}");
        assert_eq!(world.run.brief_shape(&call("work#2")), BriefShape::simplified());
        let started = world.facts().pop().unwrap();
        let said = sentence_in(&world.run, &started, Names::Short);
        assert_eq!(said, "work (attempt 2) started, with a simplified brief");
        world.end("work#2");
        world.rules("work#2/critic#1", revises(1));
        assert!(!is_simplified(&world, "work#3"), "it has left something since");
    }
}

#[test]
fn what_has_another_form_or_never_began_is_no_reason_for_a_simplified_brief() {
    for class in [
        FaultClass::NotStarted,
        FaultClass::NoArtifact,
        FaultClass::FlawedList,
        FaultClass::OutOfBudget,
        FaultClass::CommandFailed,
        FaultClass::NoFindings,
        FaultClass::NoWorkspace,
        FaultClass::Secret,
    ] {
        let mut world = World::small(ONE).begin();
        world.ends("work#1", Outcome::Fault { class, what: "no".to_owned() });
        assert!(!is_simplified(&world, "work#2"), "{class:?}");
    }
    let mut world = World::small(ONE).begin();
    world.ends("work#1", Outcome::Lost);
    assert!(!is_simplified(&world, "work#2"), "a loss is nobody's fault");
}

#[test]
fn a_person_who_asks_for_another_try_gets_one_with_the_whole_brief() {
    let mut world = World::small(&ONE.replace("misses = 3", "misses = 2")).begin();
    world.ends("work#1", fault("empty"));
    world.ends("work#2", fault("void"));
    world.say(1, Answer::Retry, "");
    assert!(!is_simplified(&world, "work#3"));
    world.ends("work#3", fault("hollow"));
    assert!(is_simplified(&world, "work#4"));
}

#[test]
fn a_reviewer_who_left_nothing_is_told_less_at_the_next_look_as_well() {
    let mut world = World::small(ONE).begin();
    world.end("work#1");
    assert!(!is_simplified(&world, "work#1/critic#1"));
    world.rules("work#1/critic#1", unread("prose"));
    assert!(is_simplified(&world, "work#1/critic#2"));
    let (class, what) = world.run.fault_before(&call("work#1/critic#2")).unwrap();
    assert_eq!((class, what), (FaultClass::NoResult, "prose"));
    world.rules("work#1/critic#2", revises(1));
    world.end("work#2");
    assert!(!is_simplified(&world, "work#2/critic#1"), "that was about other work");
    world.rules("work#2/critic#1", Ruling::Lost);
    assert!(!is_simplified(&world, "work#2/critic#2"));
}

#[test]
fn a_stage_and_a_review_say_which_blocks_they_do_without_and_which_model_they_want() {
    let world = World::small(ONE).begin();
    let shape = world.run.brief_shape(&call("work#1"));
    assert_eq!(shape.role, RoleText::Short);
    let has = |shape: &BriefShape| BriefBlock::ALL.map(|block| shape.has(block));
    assert_eq!(has(&shape), [true, true, false, true]);
    let shape = world.run.brief_shape(&call("work#1/critic#1"));
    assert_eq!(shape.role, RoleText::Full);
    assert_eq!(has(&shape), [true, false, true, false]);
    assert_eq!(world.run.model_in_flow(&call("work#1")), Some("big-1"));
    assert_eq!(world.run.model_in_flow(&call("work#1/critic#1")), Some("small-1"));
    let stage = &world.run.definition().flow.stages[0];
    assert_eq!(stage.code, CodeLimit::AsRole);
    let text = "[[stage]]\nname = \"work\"\nagent = \"worker\"\ncode = \"reads\"\n";
    let world = World::small(text).begin();
    assert_eq!(world.run.definition().flow.stages[0].code, CodeLimit::Reads);
    assert_eq!(world.run.model_in_flow(&call("work#1")), None);
}

#[test]
fn a_review_knows_its_iteration_and_who_sent_the_work_back() {
    let mut world = World::small(ONE).begin();
    world.end("work#1");
    let at = |world: &World, name: &str| world.run.review_position(&call(name));
    let first = at(&world, "work#1/critic#1").unwrap();
    assert_eq!((first.iteration, first.most, first.last), (1, 3, None));
    assert_eq!(at(&world, "work#1"), None, "work is no review");
    world.rules("work#1/critic#1", revises(2));
    world.end("work#2");
    let second = at(&world, "work#2/critic#1").unwrap();
    assert_eq!((second.iteration, second.most), (2, 3));
    assert!(matches!(second.last, Some(SentBack::Gate { gate, .. }) if gate == "critic"));
    assert_eq!(second.then, Exhausted::Ask);
    world.rules("work#2/critic#1", revises(1));
    world.end("work#3");
    assert_eq!(at(&world, "work#3/critic#1").unwrap().iteration, 3);
    let shared = "[[stage]]\nname = \"a\"\nagent = \"x\"\nrounds = 1\n\
                  [[stage]]\nname = \"b\"\nagent = \"y\"\ngates = [{ review = \"critic\", redo = \"a\" },\
                  { name = \"hint\", review = \"critic\", advisory = true }]\n";
    let world =
        World::small(shared).verdict("b#1/critic#1", revise(1)).played_until("b#2/critic#1");
    let position = at(&world, "b#2/critic#1").unwrap();
    assert_eq!((position.iteration, position.most), (2, 2), "it draws on the rounds of `a`");
    assert_eq!(at(&world, "b#2/hint#1"), None, "it sends nothing back");
}

#[test]
fn the_last_phases_before_a_unit_say_what_they_did() {
    let flow = r#"
[[stage]]
name = "one"
agent = "x"
[[stage]]
name = "two"
agent = "x"
[[stage]]
name = "beside"
after = ["one"]
agent = "x"
[[stage]]
name = "three"
after = ["two"]
agent = "x"
list = "parts"
[[stage]]
name = "each"
each = "parts"
  [[stage.stage]]
  name = "four"
  agent = "x"
  gates = [{ review = "critic" }]
  [[stage.stage]]
  name = "five"
  agent = "x"
"#;
    let world =
        World::small(flow).list("three", vec![writes("A", "a")]).played_until("each.A/five#1");
    let of = |unit: &str, most: usize| -> Vec<String> {
        let found = earlier_summaries(&world.run, &unit.parse().unwrap(), most);
        found.into_iter().map(|(unit, said)| format!("{unit}: {said}")).collect()
    };
    assert_eq!(of("one", 3), [""; 0]);
    assert_eq!(
        of("three", 3),
        ["one: did one#1", "two: did two#1"],
        "what is beside it is not before it"
    );
    assert_eq!(
        of("each.A/five", 3),
        ["two: did two#1", "three: did three#1", "each.A/four: did each.A/four#1"]
    );
    assert_eq!(of("each.A/five", 1), ["each.A/four: did each.A/four#1"]);
    let mut silent = World::small(flow).begin();
    let (cost, tokens) = (Cost::Known(Money(0)), Tokens::default());
    let receipt = Receipt::from_spent(Spent { cost, tokens, at_least: Money(0) });
    silent.report(forge_core::Report::Worked {
        attempt: "one#1".parse().unwrap(),
        outcome: Outcome::Done,
        lists: [].into_iter().collect(),
        receipt,
    });
    assert_eq!(earlier_summaries(&silent.run, &"two".parse().unwrap(), 3), []);
}
