//! Which paths the open work of a run claims, so that other runs can see it.

use forge_core::{
    Report,
    event::{Answer, OnOverlap, Outcome},
    path_claims::{PathClaim, claims},
    view::RunRow,
};

use crate::world::{World, item, recoded, revises, unread, writes};

const BUILD: &str = r#"
[[stage]]
name = "split"
agent = "s"
writes = ["tasks.md"]
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 2
  [[stage.stage]]
  name = "plan"
  agent = "p"
  gates = [{ human = "Good?" }]
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [{ review = "critic" }, { land = true }]
  [[stage.stage]]
  name = "look"
  agent = "l"
"#;

fn begun() -> World {
    let items = vec![writes("A", "a"), writes("B", "b")];
    let mut world = World::small(BUILD).list("split", items).begin();
    world.end("split#1");
    world
}

/// What a run claims, in words.
fn claimed(world: &World) -> Vec<String> {
    let row = RunRow::new("r", &world.run);
    assert_eq!(row.claims, claims(&world.run));
    let in_words = |claim: &PathClaim| format!("{}: {}", claim.scope, claim.writes.join(", "));
    row.claims.iter().map(in_words).collect()
}

fn plan(world: &mut World, item: &str) {
    world.end(&format!("build.{item}/plan#1"));
    let question = world.run.n_questions();
    world.say(question, Answer::Approve, "");
}

#[test]
fn nothing_is_claimed_by_what_never_lands() {
    let mut world = World::small(BUILD).list("split", vec![writes("A", "a")]);
    assert_eq!(claimed(&world), [] as [&str; 0], "nothing has started");
    world = world.begin();
    assert_eq!(claimed(&world), [] as [&str; 0], "a list is no code");
}

#[test]
fn an_open_item_claims_its_paths_until_it_lands() {
    let mut world = begun();
    assert_eq!(claimed(&world), ["build.A: a", "build.B: b"], "both are worked on");
    world.end("build.A/plan#1");
    assert_eq!(claimed(&world), ["build.A: a", "build.B: b"], "A about");
    world.say(1, Answer::Approve, "");
    world.end("build.A/make#1");
    assert_eq!(claimed(&world), ["build.A: a", "build.B: b"], "A is judged");
    world.rules("build.A/make#1/critic#1", revises(1));
    world.stop();
    world.ends("build.A/make#2", Outcome::Interrupted);
    assert_eq!(claimed(&world), ["build.A: a", "build.B: b"], "A was sent back, and waits");
    world.resume();
    for call in ["make#3", "make#3/critic#1"] {
        world.end(&format!("build.A/{call}"));
    }
    assert_eq!(claimed(&world), ["build.A: a", "build.B: b"], "A lands");
    world.end("build.A/make#3/land#1");
    assert_eq!(claimed(&world), ["build.B: b"], "A has landed, and looks at it");
}

#[test]
fn a_held_run_claims_what_it_has_begun_also_between_two_rows() {
    let mut world = begun();
    world.pause();
    plan(&mut world, "A");
    assert_eq!(world.unit("build.A/make").attempt, 0);
    assert_eq!(claimed(&world), ["build.A: a", "build.B: b"]);
}

#[test]
fn what_failed_and_what_waits_for_it_claims_nothing() {
    let mut world = begun();
    plan(&mut world, "A");
    world.end("build.A/make#1");
    world.rules("build.A/make#1/critic#1", unread("a"));
    world.rules("build.A/make#1/critic#2", unread("b"));
    world.say(2, Answer::GiveUp, "");
    assert_eq!(claimed(&world), ["build.B: b"]);
    world.end("build.B/plan#1");
    world.say(3, Answer::GiveUp, "");
    assert_eq!(claimed(&world), [] as [&str; 0], "the run is over");
    world.resume();
    assert_eq!(claimed(&world), ["build.A: a", "build.B: b"], "and open again");
    world.abandon();
    assert_eq!(claimed(&world), [] as [&str; 0]);
}

#[test]
fn a_row_that_was_begun_and_waits_for_what_failed_claims_nothing() {
    let flow = r#"
[[stage]]
name = "plan"
agent = "p"
gates = [{ human = "Good?" }]
[[stage]]
name = "make"
agent = "m"
gates = [{ human = "Made?", redo = "plan" }, { land = true }]
[[stage]]
name = "beside"
after = []
agent = "b"
"#;
    let mut world = World::small(flow).begin();
    world.end("plan#1");
    world.say(1, Answer::Approve, "");
    world.end("make#1");
    world.say(2, Answer::Revise, "plan again");
    assert_eq!(claimed(&world), [": "], "all paths, because no item says which");
    world.end("plan#2");
    world.say(3, Answer::GiveUp, "");
    assert_eq!(world.calls(), ["beside#1"]);
    assert_eq!(claimed(&world), [] as [&str; 0]);
}

#[test]
fn an_edit_claims_again_what_it_opens() {
    let mut world = begun();
    plan(&mut world, "A");
    world.end("build.A/make#1");
    world.rules("build.A/make#1/critic#1", unread("a"));
    world.rules("build.A/make#1/critic#2", unread("b"));
    world.say(2, Answer::GiveUp, "");
    assert_eq!(claimed(&world), ["build.B: b"]);
    world.try_edit("build.A/make", recoded()).unwrap();
    assert_eq!(claimed(&world), ["build.A: a", "build.B: b"]);
}

#[test]
fn claims_touch_where_items_overlap() {
    let claim = |writes: &[&str]| PathClaim {
        scope: forge_core::id::Scope::root(),
        writes: writes.iter().map(|path| (*path).to_owned()).collect(),
    };
    assert!(claim(&["src/a"]).overlaps(&claim(&["SRC"])));
    assert!(!claim(&["src/a"]).overlaps(&claim(&["src/b"])));
    assert!(claim(&[]).overlaps(&claim(&["src/b"])), "no paths mean all of them");
    let mut world = World::small(BUILD).list("split", vec![item("A")]).begin();
    world.end("split#1");
    assert_eq!(claimed(&world), ["build.A: "]);
}

/// A document, then code in two rows, which lands in a third.
const PIPELINE: &str = r#"
[[stage]]
name = "plan"
agent = "p"
writes = ["PLAN.md"]
[[stage]]
name = "make"
agent = "m"
gates = [{ check = "changes" }, { review = "critic" }]
[[stage]]
name = "notes"
agent = "n"
[[stage]]
name = "commit"
gates = [{ land = true }]
"#;

/// A run that waits where others work.
fn defers(flow: &str) -> World {
    let mut world = World::small(flow);
    world.start.on_overlap = Some(OnOverlap::Defer);
    world.begin()
}

fn free(world: &mut World, unit: &str) {
    world.report(Report::PathsFree { unit: unit.parse().unwrap() });
}

fn taken(world: &mut World, unit: &str, what: &str) {
    let (unit, what) = (unit.parse().unwrap(), what.to_owned());
    world.report(Report::PathsTaken { unit, what });
}

#[test]
fn a_run_that_defers_claims_nothing_before_its_code_begins_and_keeps_it_until_it_lands() {
    let mut world = defers(PIPELINE);
    assert_eq!(claimed(&world), [] as [&str; 0], "a document is no code");
    world.end("plan#1");
    assert_eq!(world.wanted(), ["paths of make"]);
    assert_eq!(claimed(&world), [] as [&str; 0], "who waits keeps nobody else waiting");
    free(&mut world, "make");
    assert_eq!(world.wanted(), ["make#1"]);
    assert_eq!(claimed(&world), [": "]);
    world.end("make#1");
    world.end("make#1/changes#1");
    world.rules("make#1/critic#1", revises(1));
    assert_eq!(world.wanted(), ["make#2"], "its paths are still its own");
    world.end("make#2");
    world.end("make#2/changes#1");
    world.end("make#2/critic#1");
    assert_eq!(world.wanted(), ["notes#1"]);
    assert_eq!(claimed(&world), [": "], "what is good and not merged yet is claimed");
    world.pause();
    assert_eq!(claimed(&world), [": "]);
    world.resume();
    world.end("notes#1");
    world.end("commit#1/land#1");
    assert_eq!(claimed(&world), [] as [&str; 0]);
}

#[test]
fn a_wait_for_paths_is_one_fact_and_no_attempt() {
    let mut world = defers(PIPELINE);
    world.end("plan#1");
    let before = world.journal.len();
    for _ in 0..5 {
        taken(&mut world, "make", "run r2 may change the same files");
    }
    assert_eq!(world.journal.len(), before + 1);
    assert_eq!(world.unit("make").attempt, 0);
    taken(&mut world, "make", "run r3 may change the same files");
    assert_eq!(world.journal.len(), before + 2, "somebody else has them now");
    free(&mut world, "make");
    assert_eq!(world.unit("make").attempt, 1);
    let after = world.journal.len();
    free(&mut world, "make");
    taken(&mut world, "make", "run r2 may change the same files");
    assert_eq!(world.journal.len(), after, "it has them");
}

#[test]
fn a_held_run_takes_no_paths_and_looks_again_when_it_goes_on() {
    let mut world = defers(PIPELINE);
    world.end("plan#1");
    taken(&mut world, "make", "run r2 may change the same files");
    world.pause();
    assert_eq!(world.wanted(), [] as [&str; 0]);
    free(&mut world, "make");
    assert_eq!(claimed(&world), [] as [&str; 0]);
    world.resume();
    assert_eq!(world.wanted(), ["paths of make"]);
}

#[test]
fn paths_of_work_that_is_given_up_are_free() {
    let mut world = defers(PIPELINE);
    world.end("plan#1");
    free(&mut world, "make");
    world.end("make#1");
    world.end("make#1/changes#1");
    world.rules("make#1/critic#1", unread("a"));
    world.rules("make#1/critic#2", unread("b"));
    assert_eq!(claimed(&world), [": "], "a person is asked");
    world.say(1, Answer::GiveUp, "");
    assert_eq!(claimed(&world), [] as [&str; 0]);
    world.resume();
    assert_eq!(world.wanted(), ["paths of make"], "others may have them by now");
    assert_eq!(claimed(&world), [] as [&str; 0]);
}

#[test]
fn items_of_a_run_that_defers_claim_each_their_own_paths() {
    let items = vec![writes("A", "a"), writes("B", "b")];
    let mut world = World::small(BUILD).list("split", items);
    world.start.on_overlap = Some(OnOverlap::Defer);
    let mut world = world.begin();
    world.end("split#1");
    assert_eq!(claimed(&world), [] as [&str; 0], "both are planned");
    plan(&mut world, "A");
    plan(&mut world, "B");
    assert_eq!(world.wanted(), ["paths of build.A/make", "paths of build.B/make"]);
    taken(&mut world, "build.A/make", "run r2 may change the same files: a");
    free(&mut world, "build.B/make");
    assert_eq!(world.wanted(), ["paths of build.A/make", "build.B/make#1"]);
    assert_eq!(claimed(&world), ["build.B: b"]);
}
