//! What a person changes by hand: it counts as an attempt, its gates look, what read it is redone.

use forge_core::{
    Command, Input, Refusal, decide,
    event::{Answer, Choice, End, Outcome, Receipt, Ruling},
    id::QuestionId,
    item::Item,
    money::Spent,
    run::{Phase, State},
    verdict::{Shown, Verdict},
};

use crate::world::{
    World, after, block, fault, finding, person, recoded, revises, rewritten, unread, writes,
};

const DESIGN: &str = r#"
[[stage]]
name = "design"
agent = "architect"
writes = ["design.md"]
gates = [{ review = "critic" }, { human = "Good?", auto = true }]
[[stage]]
name = "make"
agent = "maker"
writes = ["made.md"]
gates = [{ review = "doubter" }, { verify = true }, { land = true }]
[[stage]]
name = "tell"
agent = "writer"
writes = ["summary.md"]
"#;

/// The design is good, and somebody works on what it says.
fn designed() -> World {
    let shown =
        Shown { approach: "a queue".to_owned(), title: "Keep jobs".to_owned(), ..Shown::default() };
    let receipt = Receipt { shown: Some(shown), ..Receipt::from_spent(Spent::NOTHING) };
    let mut world = World::small(DESIGN).leaves("design#1", receipt).begin();
    world.end("design#1");
    world.end("design#1/critic#1");
    world.say(1, Answer::Approve, "");
    assert_eq!(world.calls(), ["make#1"]);
    world
}

#[test]
fn an_edit_is_an_attempt_whose_gates_look_and_after_which_all_is_done_again() {
    let mut world = designed();
    world.edit("design", "design.md");
    world.says("eve changed `design.md` of design by hand: it was wrong");
    assert_eq!(world.unit("design").artifacts["design.md"].0, "by hand");
    let shown = world.unit("design").receipt.as_ref().and_then(|receipt| receipt.shown.clone());
    let shown = shown.expect("it keeps its title");
    assert_eq!((shown.title.as_str(), shown.approach.as_str()), ("Keep jobs", ""), "by a person");
    assert_eq!(world.wanted(), ["design#2/critic#1"], "what read the old design is not wanted");
    assert_eq!(world.unit("make").state, State::Waiting);
    world.end("make#1");
    world.says("make#1 stopped, no longer needed");
    world.go_to_the_end();
    world.is(&Phase::Over(End::Done));
    world.before("design#2/critic#1 passed", "make#2 started");
    assert_eq!(world.unit("design").attempt, 2);
}

#[test]
fn what_somebody_works_on_or_looks_at_is_not_edited() {
    let mut world = World::small(DESIGN).begin();
    let refused = || Err(Refusal::UnderWay("design".parse().unwrap()));
    assert_eq!(world.try_edit("design", recoded()), refused());
    world.end("design#1");
    assert_eq!(world.try_edit("design", rewritten("design.md")), refused());
    world.stop();
    assert_eq!(world.try_edit("design", rewritten("design.md")), refused(), "until it has ended");
    world.rules("design#1/critic#1", Ruling::Interrupted);
    world.edit("design", "design.md");
    world.resume();
    assert_eq!(world.calls(), ["design#2/critic#1"]);
}

#[test]
fn an_edit_needs_a_reason_a_unit_and_something_to_change() {
    let mut world = designed();
    let refused = |world: &mut World, unit: &str, edit| world.try_edit(unit, edit).unwrap_err();
    let unit = |name: &str| name.parse().unwrap();
    assert_eq!(
        world.command(Command::Edit {
            unit: unit("design"),
            edit: rewritten("design.md"),
            why: " \n".into(),
            by: person("eve"),
        }),
        Err(Refusal::WhyMissing)
    );
    assert_eq!(refused(&mut world, "nothing", recoded()), Refusal::NoSuchUnit(unit("nothing")));
    assert_eq!(refused(&mut world, "a.B/c", recoded()), Refusal::NoSuchUnit(unit("a.B/c")));
    assert_eq!(
        refused(&mut world, "design", rewritten("other.md")),
        Refusal::NothingToEdit(unit("design"))
    );
    assert_eq!(refused(&mut world, "tell", recoded()), Refusal::NothingToEdit(unit("tell")));
    let fresh = decide(
        &forge_core::Run::new(),
        1,
        &Input::Command(Command::Edit {
            unit: unit("design"),
            edit: recoded(),
            why: "x".into(),
            by: person("eve"),
        }),
    );
    assert_eq!(fresh, Err(Refusal::NotStarted));
    assert_eq!(world.run.n_questions(), 1, "nothing came of all that");
}

#[test]
fn only_what_an_agent_wrote_is_edited() {
    let flow = r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "format"
command = "fmt"
writes = ["log.md"]
[[stage]]
name = "build"
each = "tasks"
  [[stage.stage]]
  name = "make"
  agent = "m"
[[stage]]
name = "send"
deliver = "comment"
gates = [{ human = "Sent?" }]
"#;
    let mut world = World::small(flow).list("split", vec![writes("A", "a")]).begin();
    for call in ["split#1", "format#1", "build.A/make#1", "send#1"] {
        world.end(call);
    }
    for (unit, edit) in [("build", recoded()), ("send", recoded()), ("format", rewritten("log.md"))]
    {
        let refused = Refusal::NothingToEdit(unit.parse().unwrap());
        assert_eq!(world.try_edit(unit, edit), Err(refused));
    }
}

#[test]
fn what_has_landed_and_what_led_to_it_is_not_edited() {
    let mut world = designed();
    for call in ["make#1", "make#1/doubter#1", "make#1/verify#1"] {
        world.end(call);
    }
    // While it lands, nobody can say whether it has.
    let lands = || Err(Refusal::UnderWay("make".parse().unwrap()));
    assert_eq!(world.try_edit("make", recoded()), lands());
    assert_eq!(world.try_edit("design", rewritten("design.md")), lands());
    world.end("make#1/land#1");
    for unit in ["make", "design"] {
        let landed = Refusal::Landed(unit.parse().unwrap());
        assert_eq!(world.try_edit(unit, recoded()), Err(landed));
    }
    world.pause();
    world.end("tell#1");
    world.edit("tell", "summary.md");
    world.is(&Phase::Held(forge_core::event::Hold::Paused { by: person("ada") }));
}

#[test]
fn a_lost_landing_can_be_mended_by_hand() {
    let mut world = designed();
    for call in ["make#1", "make#1/doubter#1", "make#1/verify#1"] {
        world.end(call);
    }
    world.rules("make#1/land#1", revises(1));
    world.end("make#2");
    for call in ["make#2/doubter#1", "make#2/verify#1"] {
        world.end(call);
    }
    world.rules("make#2/land#1", revises(1));
    assert_eq!(world.options(2), [Choice::Revise, Choice::Waive, Choice::GiveUp]);
    world.try_edit("make", recoded()).unwrap();
    assert_eq!(world.run.questions().count(), 0);
    world.go_to_the_end();
    world.is(&Phase::Over(End::Done));
    world.says("make#3/land#1 passed");
    assert!(world.unit("make").landed.is_some());
}

#[test]
fn an_edit_takes_back_the_question_about_what_was_edited() {
    let mut world = World::small(DESIGN).begin();
    world.end("design#1");
    world.end("design#1/critic#1");
    assert_eq!(world.wanted(), ["Q1"]);
    world.edit("design", "design.md");
    let gone = Err(Refusal::AnsweredAlready(QuestionId(1)));
    assert_eq!(world.try_say(1, Answer::Approve, ""), gone);
    world.go_to_the_end();
    world.is(&Phase::Over(End::Done));
    world.says("Q2 asks about design: Good?");
}

#[test]
fn an_edit_takes_back_questions_about_what_came_after() {
    let mut world = designed();
    world.end("make#1");
    world.rules("make#1/doubter#1", unread("a"));
    world.rules("make#1/doubter#2", unread("b"));
    assert_eq!(world.wanted(), ["Q2"]);
    world.edit("design", "design.md");
    assert_eq!(world.run.questions().count(), 0);
}

#[test]
fn an_edit_of_what_ended_without_a_result_stands_for_the_result() {
    let mut world = World::small(DESIGN).begin();
    world.ends("design#1", fault("empty"));
    world.ends("design#2", fault("empty"));
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    world.try_edit("design", recoded()).unwrap();
    assert_eq!(world.calls(), ["design#3/critic#1"]);
    assert_eq!(world.unit("design").misses, 0, "a person has looked");
    world.rules("design#3/critic#1", revises(1));
    assert_eq!(world.calls(), ["design#4"], "numbers go on");
}

#[test]
fn whoever_edits_has_looked_so_that_failures_are_counted_anew() {
    let mut world = World::small(&DESIGN.replace("name = \"make\"", "name = \"make\"\nrounds = 5"));
    world = world.begin();
    world.end("design#1");
    world.end("design#1/critic#1");
    world.say(1, Answer::Approve, "");
    let red = || Ruling::Verdict(crate::world::red("1 failed"));
    for n in 1..=2 {
        world.end(&format!("make#{n}"));
        world.end(&format!("make#{n}/doubter#1"));
        world.rules(&format!("make#{n}/verify#1"), red());
    }
    world.stop();
    world.ends("make#3", Outcome::Interrupted);
    world.try_edit("make", recoded()).unwrap();
    world.resume();
    world.end("make#4/doubter#1");
    world.rules("make#4/verify#1", red());
    world.is(&Phase::Going);
}

#[test]
fn an_edit_after_a_limit_does_not_wait_for_its_reset() {
    let mut world = World::small(DESIGN).begin();
    world.ends("design#1", Outcome::Limited { until: 900_000, what: String::new() });
    world.try_edit("design", recoded()).unwrap();
    assert_eq!(world.wanted(), ["design#2/critic#1"]);
}

#[test]
fn a_report_of_before_the_edit_only_settles_its_price() {
    let flow = r#"
[[stage]]
name = "plan"
agent = "p"
[[stage]]
name = "a"
after = ["plan"]
agent = "x"
writes = ["a.md"]
gates = [{ review = "looker" }]
[[stage]]
name = "b"
after = ["plan"]
agent = "y"
gates = [{ review = "critic", redo = "plan" }]
"#;
    let mut world = World::small(flow).begin();
    world.end("plan#1");
    world.end("b#1");
    world.rules("b#1/critic#1", revises(1));
    // Somebody still works on a#1, which was overtaken.
    let not_yet = Err(Refusal::NotItsTurn("a".parse().unwrap()));
    assert_eq!(world.try_edit("a", recoded()), not_yet, "the plan is made again");
    world.pause();
    world.end("plan#2");
    assert_eq!(world.calls(), ["a#1"]);
    world.try_edit("a", recoded()).unwrap();
    let before = world.run.ledger().known;
    world.end("a#1");
    world.says("a#1 stopped, no longer needed");
    assert!(world.run.ledger().known >= before);
    assert_eq!(world.unit("a").attempt, 2);
    assert!(world.unit("a").artifacts.is_empty(), "what it wrote came too late");
    world.resume();
    assert_eq!(world.calls(), ["b#2", "a#2/looker#1"]);
    world.go_to_the_end();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn an_edit_in_a_paused_run_does_not_resume_it() {
    let mut world = designed();
    world.pause();
    world.edit("design", "design.md");
    assert_eq!(world.wanted(), [] as [String; 0]);
    world.end("make#1");
    world.is(&Phase::Held(forge_core::event::Hold::Paused { by: person("ada") }));
    world.resume();
    assert_eq!(world.calls(), ["design#2/critic#1"]);
    world.go_to_the_end();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn an_edit_opens_a_failed_run_again() {
    for blocked in [false, true] {
        let mut world = designed();
        world.end("make#1");
        if blocked {
            world.rules("make#1/doubter#1", Ruling::Verdict(block("no way")));
            world.say(2, Answer::GiveUp, "");
            world.is(&Phase::Over(End::Blocked));
        } else {
            world.rules("make#1/doubter#1", unread("a"));
            world.rules("make#1/doubter#2", unread("b"));
            world.say(2, Answer::GiveUp, "");
            world.is(&Phase::Over(End::Failed));
        }
        world.try_edit("make", recoded()).unwrap();
        world.says("eve resumed the run");
        assert_eq!(world.calls(), ["make#2/doubter#1"]);
        world.go_to_the_end();
        world.is(&Phase::Over(End::Done));
    }
}

#[test]
fn an_edit_opens_only_what_was_edited() {
    let flow = r#"
[[stage]]
name = "a"
agent = "x"
gates = [{ human = "A?" }]
[[stage]]
name = "b"
after = []
agent = "y"
gates = [{ human = "B?" }]
"#;
    let mut world = World::small(flow).begin();
    world.end("a#1");
    world.end("b#1");
    world.say(1, Answer::GiveUp, "");
    world.say(2, Answer::GiveUp, "");
    world.is(&Phase::Over(End::Failed));
    world.try_edit("a", recoded()).unwrap();
    world.say(3, Answer::Approve, "");
    assert_eq!(world.unit("a").state, State::Accepted);
    world.is(&Phase::Over(End::Failed));
}

#[test]
fn whoever_works_on_it_after_an_edit_is_told_that_it_is_a_persons() {
    let mut world = designed();
    world.try_edit("design", rewritten("design.md")).unwrap();
    let words = world.said("design");
    assert_eq!(words.len(), 1);
    assert!(words[0].starts_with("I changed `design.md` by hand ("), "{words:?}");
    assert!(words[0].ends_with("). What I wrote stays."), "{words:?}");
}

#[test]
fn what_an_agent_makes_of_a_persons_edit_is_not_approved_by_itself() {
    let mut world = World::small(DESIGN).auto().begin();
    world.end("design#1");
    let pass = Ruling::Verdict(Verdict::Pass {
        findings: vec![finding(forge_core::verdict::Severity::Critical, "wrong")],
    });
    world.rules("design#1/critic#1", pass);
    world.edit("design", "design.md");
    world.rules("design#2/critic#1", revises(1));
    world.end("design#3");
    world.end("design#3/critic#1");
    assert_eq!(world.wanted(), ["Q2"], "they are asked what became of it");
    let view = forge_core::view::summary::summarize("r", &world.run, world.run.now());
    let text = forge_core::view::summary::markdown(&view);
    assert!(text.contains("- design: `design.md` changed by hand by eve: "), "{text}");
}

#[test]
fn a_run_that_is_done_or_abandoned_is_not_edited() {
    let mut world = World::small(DESIGN).played();
    let refused = |end| Err(Refusal::Over(end));
    assert_eq!(world.try_edit("tell", rewritten("summary.md")), refused(End::Done));
    let mut world = designed();
    world.abandon();
    assert_eq!(world.try_edit("design", rewritten("design.md")), refused(End::Abandoned));
}

#[test]
fn after_an_edit_auto_decides_by_what_the_reviews_say_of_it() {
    let mut world = World::small(DESIGN).auto().begin();
    world.end("design#1");
    let critical = finding(forge_core::verdict::Severity::Critical, "wrong");
    let pass = Ruling::Verdict(Verdict::Pass { findings: vec![critical] });
    world.rules("design#1/critic#1", pass);
    assert_eq!(world.wanted(), ["Q1"], "critical findings are never passed automatically");
    world.edit("design", "design.md");
    world.end("design#2/critic#1");
    world.says("design: human approved automatically (--auto; review: APPROVE)");
    assert_eq!(world.calls(), ["make#1"]);
}

#[test]
fn an_edit_by_hand_is_judged_like_any_other_attempt() {
    let mut world = designed();
    world.edit("design", "design.md");
    world.rules("design#2/critic#1", revises(1));
    assert_eq!(world.calls(), ["design#3", "make#1"]);
    assert_eq!(world.unit("design").round, 1);
}

#[test]
fn the_gates_that_come_first_look_at_an_edit_too() {
    let flow = r#"
[[stage]]
name = "check"
agent = "c"
gates_first = true
gates = [{ verify = true }, { human = "Good?" }]
"#;
    let mut world = World::small(flow).begin();
    world.end("check#1/verify#1");
    world.try_edit("check", recoded()).unwrap();
    assert_eq!(world.calls(), ["check#2/verify#1"]);
}

const TASKS: &str = r#"
[[stage]]
name = "split"
agent = "s"
writes = ["tasks.md"]
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 2
gates = [{ review = "overseer" }, { human = "All?" }]
  [[stage.stage]]
  name = "plan"
  agent = "p"
  writes = ["plan.md"]
  gates = [{ review = "planner" }]
  [[stage.stage]]
  name = "make"
  agent = "m"
  writes = ["made.md"]
[[stage]]
name = "tell"
agent = "w"
"#;

fn built(items: Vec<Item>) -> World {
    let mut world = World::small(TASKS).list("split", items).begin();
    world.end("split#1");
    world
}

fn finish(world: &mut World, item: &str) {
    for call in ["plan#1", "plan#1/planner#1", "make#1"] {
        world.end(&format!("build.{item}/{call}"));
    }
}

#[test]
fn items_beside_an_edited_one_go_on_undisturbed() {
    let mut world = built(vec![writes("A", "a"), writes("B", "b")]);
    world.end("build.A/plan#1");
    world.end("build.A/plan#1/planner#1");
    world.end("build.B/plan#1");
    world.edit("build.A/plan", "plan.md");
    assert_eq!(world.wanted(), ["build.A/plan#2/planner#1", "build.B/plan#1/planner#1"]);
    world.go_to_the_end();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.unit("build.B/plan").attempt, 1);
    assert_eq!(world.unit("build.A/make").attempt, 2);
}

#[test]
fn an_edited_item_that_was_good_waits_for_room_like_any_other() {
    let mut world = built(vec![writes("A", "a"), writes("B", "a/b"), writes("C", "c")]);
    finish(&mut world, "A");
    // Now B writes below A, and C is open, too.
    assert_eq!(world.calls(), ["build.B/plan#1", "build.C/plan#1"]);
    world.edit("build.A/plan", "plan.md");
    assert_eq!(world.calls(), ["build.B/plan#1", "build.C/plan#1"], "they write the same place");
    finish(&mut world, "C");
    assert_eq!(world.calls(), ["build.B/plan#1"]);
    finish(&mut world, "B");
    assert_eq!(world.calls(), ["build.A/plan#2/planner#1"]);
    world.go_to_the_end();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn an_item_that_failed_in_part_waits_for_room_when_it_is_edited() {
    let flow = r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
  [[stage.stage]]
  name = "one"
  after = []
  agent = "x"
  gates = [{ human = "One?" }]
  [[stage.stage]]
  name = "two"
  after = []
  agent = "y"
  gates = [{ human = "Two?" }]
"#;
    let items = vec![writes("A", "a"), writes("B", "a")];
    let mut world = World::small(flow).list("split", items).begin();
    world.end("split#1");
    world.end("build.A/one#1");
    world.end("build.A/two#1");
    world.say(1, Answer::GiveUp, "");
    world.say(2, Answer::GiveUp, "");
    assert_eq!(world.calls(), ["build.B/one#1", "build.B/two#1"]);
    world.try_edit("build.A/one", recoded()).unwrap();
    assert_eq!(world.wanted(), ["build.B/one#1", "build.B/two#1"], "B writes the same place");
    world.end("build.B/one#1");
    world.end("build.B/two#1");
    world.say(3, Answer::Approve, "");
    world.say(4, Answer::Approve, "");
    assert_eq!(world.wanted(), ["Q5"]);
    world.says("Q5 asks about build.A/one: One?");
}

#[test]
fn an_edited_item_that_only_has_to_land_keeps_its_paths_for_itself() {
    let flow = r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 2
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [{ land = true }]
"#;
    let items = vec![writes("A", "a"), writes("B", "a")];
    let mut world = World::small(flow).list("split", items).begin();
    world.end("split#1");
    for n in 1..=2 {
        world.end(&format!("build.A/make#{n}"));
        world.rules(&format!("build.A/make#{n}/land#1"), revises(1));
    }
    world.pause();
    world.say(1, Answer::GiveUp, "");
    world.try_edit("build.A/make", recoded()).unwrap();
    world.resume();
    assert_eq!(world.calls(), ["build.A/make#3/land#1"], "B writes the same place");
    world.end("build.A/make#3/land#1");
    assert_eq!(world.calls(), ["build.B/make#1"]);
}

#[test]
fn items_that_waited_for_an_edited_one_are_done_again() {
    let mut world =
        built(vec![writes("A", "a"), after(writes("B", "b"), "A"), after(writes("C", "c"), "B")]);
    finish(&mut world, "A");
    finish(&mut world, "B");
    world.end("build.C/plan#1");
    world.edit("build.A/make", "made.md");
    assert_eq!(world.wanted(), ["build.B/plan#2"], "A done again, and B read what A made");
    world.end("build.C/plan#1/planner#1");
    world.says("build.C/plan#1/planner#1 stopped, no longer needed");
    let not_yet = Err(Refusal::NotItsTurn("build.C/plan".parse().unwrap()));
    assert_eq!(world.try_edit("build.C/plan", rewritten("plan.md")), not_yet);
    world.go_to_the_end();
    world.is(&Phase::Over(End::Done));
    for (unit, attempt) in [("build.A/plan", 1), ("build.B/make", 2), ("build.C/plan", 2)] {
        assert_eq!(world.unit(unit).attempt, attempt, "{unit}");
    }
}

#[test]
fn an_edit_inside_a_table_that_was_good_opens_it_again_with_a_new_number() {
    for (n_ends, phase) in ["under look", "asked", "good", "read"].into_iter().enumerate() {
        let mut world = built(vec![writes("A", "a"), writes("B", "b")]);
        finish(&mut world, "A");
        finish(&mut world, "B");
        assert_eq!(world.calls(), ["build#1/overseer#1"]);
        if n_ends > 0 {
            world.end("build#1/overseer#1");
        }
        if n_ends > 1 {
            world.say(1, Answer::Approve, "");
        }
        if n_ends > 2 {
            world.pause();
            world.end("tell#1");
        }
        world.edit("build.A/plan", "plan.md");
        assert_eq!(world.run.questions().count(), 0, "{phase}");
        if n_ends > 2 {
            assert_eq!(world.wanted(), [] as [String; 0]);
            world.edit("build.B/plan", "plan.md");
            world.resume();
        }
        assert!(world.wanted().contains(&"build.A/plan#2/planner#1".to_owned()), "{phase}");
        world.go_to_the_end();
        world.is(&Phase::Over(End::Done));
        world.says("build#2/overseer#1 passed");
        assert!(world.unit("tell").attempt > 0);
        let items = if n_ends > 2 { [2, 2] } else { [2, 1] };
        assert_eq!(["build.A/make", "build.B/make"].map(|unit| world.unit(unit).attempt), items);
    }
}

#[test]
fn what_landed_after_a_table_keeps_its_items_from_being_edited() {
    let flow = TASKS.replace(
        "name = \"tell\"\nagent = \"w\"\n",
        "name = \"tell\"\nagent = \"w\"\ngates = [{ land = true }]\n[[stage]]\nname = \"end\"\nagent = \"e\"\n",
    );
    let mut world = World::small(&flow).list("split", vec![writes("A", "a")]).begin();
    world.end("split#1");
    finish(&mut world, "A");
    world.end("build#1/overseer#1");
    world.say(1, Answer::Approve, "");
    world.end("tell#1");
    let lands = Err(Refusal::UnderWay("tell".parse().unwrap()));
    assert_eq!(world.try_edit("build.A/plan", rewritten("plan.md")), lands);
    world.end("tell#1/land#1");
    let landed = Err(Refusal::Landed("build.A/plan".parse().unwrap()));
    assert_eq!(world.try_edit("build.A/plan", rewritten("plan.md")), landed);
}

#[test]
fn what_landed_in_an_item_that_waits_to_open_again_is_not_undone() {
    let flow = r#"
[[stage]]
name = "split"
agent = "s"
writes = ["tasks.md"]
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [{ land = true }]
  [[stage.stage]]
  name = "look"
  agent = "l"
  gates = [{ human = "Good?" }]
"#;
    let items = vec![writes("A", "a"), writes("B", "a")];
    let mut world = World::small(flow).list("split", items).begin();
    world.end("split#1");
    for item in ["A", "B"] {
        for call in ["make#1", "make#1/land#1", "look#1"] {
            world.end(&format!("build.{item}/{call}"));
        }
        let question = world.run.n_questions();
        world.say(question, Answer::GiveUp, "");
    }
    world.is(&Phase::Over(End::Failed));
    world.resume();
    // A opens again; B waits for it, with work inside that has landed.
    assert_eq!(world.calls(), ["build.A/look#2"]);
    let landed = Err(Refusal::Landed("split".parse().unwrap()));
    assert_eq!(world.try_edit("split", rewritten("tasks.md")), landed);
}

#[test]
fn an_edit_inside_tables_inside_tables_reaches_all_around_it() {
    let mut world = World::nested().begin();
    world.end("prepare#1");
    world.end("sprint.sprint/plan-sprint#1");
    world.end("sprint.sprint/plan-sprint#1/artifact#1");
    for call in ["plan#1", "plan#1/supervisor#1", "implement#1"] {
        world.end(&format!("sprint.sprint/tasks.T1/{call}"));
    }
    world.edit("sprint.sprint/tasks.T1/plan", "plan.md");
    assert!(world.wanted().contains(&"sprint.sprint/tasks.T1/plan#2/supervisor#1".to_owned()));
    world.go_to_the_end();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn every_unit_of_a_family_can_be_edited_as_long_as_nothing_landed_after_it() {
    for whole in [World::feature("L"), World::sprint(), World::milestone(), World::nested()] {
        let whole = whole.played();
        let (mut edited, mut landed) = (0, 0);
        for kept in 1..whole.journal.len() {
            let cut = whole.cut(kept);
            for (id, _, _) in cut.run.units() {
                let mut world = cut.clone();
                match world.try_edit(&id.to_string(), recoded()) {
                    Ok(_) => {
                        edited += 1;
                        if edited % 20 == 0 {
                            world.go_to_the_end();
                            world.is(&Phase::Over(End::Done));
                        }
                    }
                    Err(Refusal::Landed(_)) => landed += 1,
                    Err(_) => {}
                }
            }
        }
        assert!(edited > 10 && landed > 10, "{edited} edited, {landed} landed");
    }
}
