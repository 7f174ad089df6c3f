//! Landing: one at a time, in the order of arrival, and never undone.

use forge_core::{
    Refusal,
    event::{Answer, Choice, End, Receipt, Ruling},
    money::Spent,
    run::Phase,
    verdict::Shown,
};

use crate::world::{World, revise, revises, unread, writes};

const LANDS: &str = r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 3
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [{ land = true }]
"#;

fn three(flow: &str) -> World {
    let items = vec![writes("A", "a"), writes("B", "b"), writes("C", "c")];
    let mut world = World::small(flow).list("split", items).begin();
    world.end("split#1");
    world
}

#[test]
fn landing_goes_one_at_a_time_in_the_order_of_arrival() {
    let mut world = three(LANDS);
    world.end("build.C/make#1");
    world.end("build.B/make#1");
    world.end("build.A/make#1");
    assert_eq!(world.calls(), ["build.C/make#1/land#1"]);
    world.end("build.C/make#1/land#1");
    assert_eq!(world.calls(), ["build.B/make#1/land#1"]);
    world.end("build.B/make#1/land#1");
    assert_eq!(world.calls(), ["build.A/make#1/land#1"]);
    world.go_on();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn the_branch_is_called_by_the_title_of_the_change_once_something_lands_there() {
    let named = |title: &str| {
        let (approach, key_changes, risk) = (String::new(), Vec::new(), None);
        let shown = Shown { approach, key_changes, risk, title: title.to_owned() };
        Receipt { shown: Some(shown), ..Receipt::from_spent(Spent::NOTHING) }
    };
    for (branch, title, expected) in [
        ("forge/20260101-add-a-queue-abcd", "Keep jobs", "forge/20260101-keep-jobs-abcd"),
        ("forge/20260101-add-a-queue-abcd", "", "forge/20260101-add-a-queue-abcd"),
        ("work", "Keep jobs", "work"),
    ] {
        let mut world = World::small(LANDS)
            .list("split", vec![writes("A", "a"), writes("B", "b")])
            .leaves("split#1", named(title))
            .leaves("split#2", named("Another"));
        world.start.branch = Some(branch.to_owned());
        world.start.base = Some("base".to_owned());
        let mut world = world.begin();
        world.end("split#1");
        assert_eq!(world.run.branch(), Some(branch), "nothing is there yet");
        world.end("build.A/make#1");
        world.end("build.A/make#1/land#1");
        assert_eq!(world.run.branch(), Some(expected));
        world.go_to_the_end();
        assert_eq!(world.run.branch(), Some(expected), "what is there keeps its name");
    }
}

#[test]
fn a_lost_landing_keeps_its_place_in_the_queue() {
    let mut world = three(LANDS);
    world.end("build.C/make#1");
    world.end("build.A/make#1");
    world.rules("build.C/make#1/land#1", Ruling::Lost);
    assert_eq!(world.calls(), ["build.B/make#1", "build.C/make#1/land#2"]);
}

#[test]
fn the_judged_commit_is_the_landed_commit() {
    let mut world = three(LANDS);
    world.end("build.B/make#1");
    world.end("build.B/make#1/land#1");
    assert_eq!(world.unit("build.B/make").landed.as_deref(), Some("commit-of-build.B/make"));
}

#[test]
fn a_conflict_reopens_the_item_once_and_then_asks() {
    let mut world = three(LANDS);
    world.end("build.A/make#1");
    world.rules("build.A/make#1/land#1", revises(1));
    world.says("build.A/make sent back, it conflicts with merged work: F1 src/a.rs:7: problem 0");
    assert_eq!(world.unit("build.A/make").round, 0, "a conflict uses up no round");
    world.end("build.A/make#2");
    world.rules("build.A/make#2/land#1", revises(1));
    world.says(
        "Q1 asks about build.A/make: This change conflicted twice with work that was merged meanwhile. What now?",
    );
    assert_eq!(world.options(1), [Choice::Revise, Choice::Waive, Choice::GiveUp]);
    world.say(1, Answer::Revise, "take ours");
    world.end("build.A/make#3");
    world.rules("build.A/make#3/land#1", revises(1));
    assert_eq!(world.options(2), [Choice::Revise, Choice::Waive, Choice::GiveUp]);
    world.say(2, Answer::Waive { gate: "land".into() }, "by hand");
    assert_eq!(world.unit("build.A/make").landed, None, "what was waived has not landed");
    world.go_on();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_conflict_goes_back_to_where_the_gate_says() {
    let mut world = World::sprint()
        .verdict("tasks.T1/commit#1/land#1", revise(1))
        .verdict("tasks.T1/commit#2/land#1", revise(1))
        .played();
    world.before(
        "tasks.T1/implement sent back, it conflicts with merged work: F1 src/a.rs:7: problem 0",
        "tasks.T1/implement#2 started",
    );
    assert_eq!(world.unit("tasks.T1/plan").attempt, 1);
    world.says("Q1 asks about tasks.T1/commit: This change conflicted twice with work that was merged meanwhile. What now?");
    world.say(1, Answer::GiveUp, "");
    world.go_on();
    world.is(&Phase::Over(End::Failed));
}

#[test]
fn a_landing_without_verdict_is_asked_about_and_never_approved() {
    let mut world = three(LANDS);
    world.end("build.A/make#1");
    world.rules("build.A/make#1/land#1", unread("git died"));
    world.rules("build.A/make#1/land#2", unread("git died again"));
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::Waive, Choice::GiveUp]);
}

const AND_THEN: &str = r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 3
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [{ land = true }]
  [[stage.stage]]
  name = "look"
  agent = "l"
  gates = [{ review = "critic", redo = "make" }, { verify = true, redo = "make" }, { human = "Good?", redo = "make" }]
"#;

#[test]
fn what_has_landed_is_never_sent_back_but_asked_about() {
    let mut world = three(AND_THEN);
    world.end("build.A/make#1");
    world.end("build.A/make#1/land#1");
    world.end("build.A/look#1");
    world.rules("build.A/look#1/critic#1", revises(1));
    world.says("Q1 asks about build.A/look: `critic` does not pass, but the work is already merged. What now?");
    assert_eq!(world.options(1), [Choice::Approve, Choice::GiveUp]);
    world.say(1, Answer::Approve, "");
    world.rules("build.A/look#1/verify#1", revises(1));
    assert_eq!(world.options(2), [Choice::Waive, Choice::GiveUp], "nobody can have it redone");
    world.say(2, Answer::Waive { gate: "verify".into() }, "seen by hand");
    assert_eq!(world.options(3), [Choice::Approve, Choice::GiveUp]);
    assert!(matches!(world.try_say(3, Answer::Revise, "again"), Err(Refusal::NotAnOption { .. })));
    world.say(3, Answer::Approve, "");
    world.go_on();
    assert_eq!(world.unit("build.A/make").attempt, 1);
}

#[test]
fn what_landed_while_a_question_was_open_is_not_undone_by_its_answer() {
    let flow = r#"
[[stage]]
name = "plan"
agent = "p"
[[stage]]
name = "make"
after = ["plan"]
agent = "m"
gates = [{ land = true }]
[[stage]]
name = "look"
after = ["plan"]
agent = "l"
gates = [{ human = "Good?", redo = "plan" }]
"#;
    let mut world = World::small(flow).begin();
    world.end("plan#1");
    world.end("look#1");
    assert!(world.options(1).contains(&Choice::Revise));
    world.end("make#1");
    world.end("make#1/land#1");
    let options = vec![Choice::Approve, Choice::GiveUp];
    assert_eq!(
        world.try_say(1, Answer::Revise, "again"),
        Err(Refusal::NotAnOption { choice: Choice::Revise, options })
    );
}

#[test]
fn items_that_landed_are_kept_when_their_list_is_made_again() {
    let flow = AND_THEN.replace("redo = \"make\" }, { verify", "redo = \"split\" }, { verify");
    let mut world = three(&flow);
    for item in ["A", "B"] {
        world.end(&format!("build.{item}/make#1"));
        world.end(&format!("build.{item}/make#1/land#1"));
    }
    for call in ["look#1", "look#1/critic#1", "look#1/verify#1"] {
        world.end(&format!("build.A/{call}"));
    }
    world.say(1, Answer::Approve, "");
    // A is good. B has landed and is not: sending back would undo it.
    world.end("build.B/look#1");
    world.rules("build.B/look#1/critic#1", revises(1));
    world.says("Q2 asks about build.B/look: `critic` does not pass, but the work is already merged. What now?");
    world.say(2, Answer::Approve, "");
    world.end("build.B/look#1/verify#1");
    world.say(3, Answer::Approve, "");
    // Now both are good, and C can send everything back.
    world.end("build.C/make#1");
    world.rules("build.C/make#1/land#1", Ruling::Lost);
    world.is(&Phase::Going);
}

#[test]
fn where_nothing_was_changed_nothing_lands_and_the_result_stays() {
    let mut world = World::feature("S").begin();
    while !world.calls().contains(&"verify#1/land#1".to_owned()) {
        let next = world.wanted().pop().unwrap();
        match next.strip_prefix('Q') {
            Some(question) => {
                world.say(question.parse().unwrap(), Answer::Approve, "");
            }
            None => {
                world.end(&next);
            }
        }
    }
    let (head, n_landed) = (world.run.head().map(str::to_owned), world.run.history().landed.len());
    let pass = forge_core::verdict::Verdict::Pass { findings: vec![] };
    world.report(forge_core::Report::Judged {
        judgement: crate::world::judgement("verify#1/land#1"),
        ruling: Ruling::Verdict(pass),
        receipt: Receipt::from_spent(Spent::NOTHING),
    });
    assert_eq!(world.calls(), ["deliver#1"]);
    world.never_says("verify merged");
    assert_eq!(world.run.head().map(str::to_owned), head);
    assert_eq!(world.run.history().landed.len(), n_landed);
}
