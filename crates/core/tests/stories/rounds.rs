//! How often work may be sent back, and what happens then.

use forge_core::{
    event::{Answer, Choice, End},
    run::{Phase, State},
};

use crate::world::{World, finding, item, partial, revise, revises, start_of, unread};
use forge_core::verdict::{Severity, Verdict};

const REVIEWED: &str = r#"
[[stage]]
name = "write"
agent = "writer"
gates = [{ review = "critic" }, { command = "check" }]
[[stage]]
name = "next"
command = "true"
"#;

#[test]
fn work_is_sent_back_twice_and_then_a_person_is_asked() {
    let world = World::small(REVIEWED)
        .verdict("write#1/critic#1", revise(3))
        .verdict("write#2/critic#1", revise(2))
        .verdict("write#3/critic#1", revise(1))
        .played();
    assert_eq!(world.unit("write").attempt, 3);
    assert_eq!(world.unit("write").round, 2);
    world.says(
        "Q1 asks about write: `critic` still does not pass, and no revisions are left. What now?",
    );
    assert_eq!(world.options(1), [Choice::Approve, Choice::Revise, Choice::GiveUp]);
}

#[test]
fn approving_an_exhausted_review_waives_only_that_gate() {
    let mut world = World::small(REVIEWED)
        .verdict("write#1/critic#1", revise(3))
        .verdict("write#2/critic#1", revise(2))
        .verdict("write#3/critic#1", revise(1))
        .played();
    world.say(1, Answer::Approve, "");
    world.says("write: critic overridden by the answer to Q1");
    assert_eq!(world.calls(), ["write#3/command#1"], "the gates after it still look");
}

#[test]
fn a_persons_revise_after_the_rounds_are_used_up_is_obeyed() {
    let mut world = World::small(REVIEWED)
        .verdict("write#1/critic#1", revise(3))
        .verdict("write#2/critic#1", revise(2))
        .verdict("write#3/critic#1", revise(1))
        .played();
    world.say(1, Answer::Revise, "shorter");
    assert_eq!(world.calls(), ["write#4"]);
    assert_eq!(world.unit("write").round, 2, "a person uses up no round");
    assert_eq!(world.said("write"), ["shorter"]);
    world.end("write#4");
    world.rules("write#4/critic#1", revises(1));
    world.says(
        "Q2 asks about write: `critic` still does not pass, and no revisions are left. What now?",
    );
    world.say(2, Answer::Revise, "even shorter");
    assert_eq!(world.calls(), ["write#5"], "nor is the second one limited");
}

#[test]
fn a_review_that_finds_as_much_as_before_stops_early() {
    let world = World::small(REVIEWED)
        .verdict("write#1/critic#1", revise(2))
        .verdict("write#2/critic#1", revise(2))
        .played();
    assert_eq!(world.unit("write").attempt, 2);
    world.says("Q1 asks about write: `critic` finds as many problems as before. What now?");
    assert_eq!(world.options(1), [Choice::Approve, Choice::Revise, Choice::GiveUp]);
}

#[test]
fn only_critical_and_major_findings_count_for_shrinking() {
    let mixed = |majors: usize, minors: usize| {
        let mut findings = revise(majors).findings().to_vec();
        findings.extend((0..minors).map(|_| finding(Severity::Minor, "a word")));
        Verdict::Revise { findings }
    };
    let world = World::small(REVIEWED)
        .verdict("write#1/critic#1", mixed(2, 0))
        .verdict("write#2/critic#1", mixed(1, 5))
        .played();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_command_that_stays_red_is_not_asked_whether_it_shrinks() {
    let world = World::small(REVIEWED)
        .verdict("write#1/command#1", revise(1))
        .verdict("write#2/command#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.unit("write").attempt, 3);
}

#[test]
fn after_a_persons_revise_a_review_begins_a_new_count() {
    let flow = r#"
[[stage]]
name = "plan"
agent = "planner"
[[stage]]
name = "write"
agent = "writer"
rounds = 5
gates = [{ review = "critic" }, { human = "Good?", redo = "plan" }]
"#;
    let mut world = World::small(flow).begin();
    world.end("plan#1");
    world.end("write#1");
    world.rules("write#1/critic#1", revises(1));
    world.end("write#2");
    world.end("write#2/critic#1");
    world.say(1, Answer::Revise, "another plan");
    world.end("plan#2");
    world.end("write#3");
    // As many as the first time: but that was another plan.
    world.rules("write#3/critic#1", revises(1));
    assert_eq!(world.calls(), ["write#4"]);
}

#[test]
fn a_gate_that_passes_with_notes_lets_the_next_gates_look() {
    let flow = REVIEWED.replace(
        "agent = \"writer\"",
        "agent = \"writer\"\nrounds = 0\nexhausted = \"pass-with-notes\"",
    );
    let mut world = World::small(&flow).begin();
    world.end("write#1");
    world.rules("write#1/critic#1", revises(1));
    world.says("write: critic has no revisions left; its findings are noted");
    assert_eq!(world.calls(), ["write#1/command#1"]);
    assert_eq!(world.unit("write").notes.len(), 1);
}

#[test]
fn verify_and_land_are_never_passed_with_notes() {
    let flow = r#"
[[stage]]
name = "write"
agent = "writer"
rounds = 0
exhausted = "pass-with-notes"
gates = [{ verify = true }, { land = true }]
"#;
    let mut world = World::small(flow).begin();
    world.end("write#1");
    world.rules("write#1/verify#1", revises(1));
    world.never_says("no revisions left");
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::Waive, Choice::GiveUp]);
}

#[test]
fn a_unit_fails_without_rounds_where_the_flow_says_so() {
    let flow = REVIEWED
        .replace("agent = \"writer\"", "agent = \"writer\"\nrounds = 0\nexhausted = \"fail\"");
    let world = World::small(&flow).verdict("write#1/critic#1", revise(1)).played();
    world.is(&Phase::Over(End::Failed));
    world.says("write failed: `critic` sent it back too often");
    world.never_says("next");
}

#[test]
fn work_that_is_partly_done_goes_on_and_uses_up_a_round() {
    let world = World::small(REVIEWED).outcome("write#1", partial("the index")).played();
    world.is(&Phase::Over(End::Done));
    world.says("write continues with what is left: the index");
    assert_eq!(world.unit("write").round, 1);
    assert_eq!(world.unit("write").left_to_do, "");
}

#[test]
fn work_that_is_partly_done_and_has_no_rounds_left_is_asked_about_with_what_is_left() {
    let mut world = World::small(REVIEWED)
        .outcome("write#1", partial("two thirds"))
        .outcome("write#2", partial("one third"))
        .outcome("write#3", partial("the index"))
        .played();
    world.is(&Phase::Going);
    world.says(
        "Q1 asks about write: The work is only partly done, and no attempts are left; left: the index. What now?",
    );
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    assert_eq!(world.calls(), [] as [String; 0]);
    world.say(1, Answer::Retry, "leave out the index");
    assert_eq!(world.calls(), ["write#4"]);
    assert_eq!(world.unit("write").left_to_do, "the index", "the note is in its brief");
    assert_eq!(world.said("write"), ["leave out the index"]);
    world.go_on();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn what_is_left_keeps_the_findings_that_were_to_be_dealt_with() {
    let mut world = World::small(REVIEWED).begin();
    world.end("write#1");
    world.rules("write#1/critic#1", revises(2));
    world.ends("write#2", partial("one of them"));
    assert_eq!(world.unit("write").findings.len(), 2);
}

#[test]
fn findings_without_path_and_proof_are_noted_and_not_sent_back() {
    let loose =
        forge_core::verdict::Finding { path: None, ..finding(Severity::Major, "a feeling") };
    let findings = vec![loose, finding(Severity::Major, "a bug")];
    let mut world = World::small(REVIEWED).begin();
    world.end("write#1");
    world.rules(
        "write#1/critic#1",
        forge_core::event::Ruling::Verdict(Verdict::Revise { findings }),
    );
    let sent: Vec<&str> = world.unit("write").findings.iter().map(|f| f.what.as_str()).collect();
    assert_eq!(sent, ["a bug"]);
    assert_eq!(world.unit("write").notes.len(), 2);
    assert_eq!(world.unit("write").findings[0].id, "F2", "findings are numbered in their unit");
}

#[test]
fn a_review_that_sends_back_without_anything_to_act_on_is_at_fault_itself() {
    let loose =
        forge_core::verdict::Finding { path: None, ..finding(Severity::Major, "a feeling") };
    let why = "it requests changes without a finding";
    let none =
        "it requests changes, but no finding has a path or proof that holds: a feeling".to_owned();
    for (findings, last) in [(vec![loose], none), (vec![], why.to_owned())] {
        let verdict = Verdict::Revise { findings };
        let world = World::small(REVIEWED)
            .verdict("write#1/critic#1", verdict.clone())
            .verdict("write#1/critic#2", verdict)
            .played();
        assert_eq!(world.unit("write").attempt, 1, "the work is not sent back");
        assert_eq!(world.unit("write").round, 0);
        world.says(&format!(
            "Q1 asks about write: `critic` repeatedly gave no verdict: {last}. What now?"
        ));
    }
}

#[test]
fn a_verdict_that_cannot_be_read_is_looked_for_again_and_then_asked_about() {
    let mut world = World::small(REVIEWED)
        .ruling("write#1/critic#1", unread("no json"))
        .ruling("write#1/critic#2", unread("no json"))
        .played();
    assert_eq!(world.options(1), [Choice::Retry, Choice::Approve, Choice::Revise, Choice::GiveUp]);
    world.say(1, Answer::Retry, "");
    assert_eq!(world.calls(), ["write#1/critic#3"], "the number goes on");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.unit("write").attempt, 1);
}

/// A gate that sends back to a row which may be skipped.
const BACK_TO_THE_PLAN: &str = r#"
[params]
plan = { values = ["yes", "no"], default = "no" }
[[stage]]
name = "plan"
agent = "planner"
when = { param = "plan", is = ["yes"] }
[[stage]]
name = "make"
agent = "maker"
gates = [{ review = "critic", redo = "plan" }]
"#;

#[test]
fn where_the_row_to_go_back_to_was_skipped_the_work_itself_goes_back() {
    let mut world = World::small(BACK_TO_THE_PLAN).begin();
    world.end("make#1");
    world.rules("make#1/critic#1", revises(1));
    assert_eq!(world.calls(), ["make#2"]);
    assert_eq!(world.unit("make").findings.len(), 1, "it is told why");
    assert_eq!(world.unit("plan").state, State::Skipped);
}

/// Two gates, each with rounds of its own.
const CAPPED: &str = r#"
params.repair = { values = ["0", "1", "3"], default = "1" }
[[stage]]
name = "write"
agent = "writer"
rounds = 0
gates = [{ name = "code", review = "critic", rounds = 2 }, { name = "tests", command = "check", rounds = { param = "repair" } }]
"#;

#[test]
fn a_gate_with_rounds_of_its_own_draws_on_these_alone() {
    let mut world = World::small(CAPPED).begin();
    world.end("write#1");
    world.rules("write#1/code#1", revises(3));
    world.end("write#2");
    world.end("write#2/code#1");
    world.rules("write#2/tests#1", revises(1));
    world.end("write#3");
    world.rules("write#3/code#1", revises(2));
    assert_eq!(world.calls(), ["write#4"], "each has sent it back, and one has a round left");
    assert_eq!(world.unit("write").round, 0, "the rounds of the stage are not touched");
    world.end("write#4");
    world.rules("write#4/code#1", revises(1));
    world.says(
        "Q1 asks about write: `code` still does not pass, and no revisions are left. What now?",
    );
    world.say(1, Answer::Revise, "once more");
    world.end("write#5");
    world.end("write#5/code#1");
    world.rules("write#5/tests#1", revises(1));
    world.says(
        "Q2 asks about write: `tests` still does not pass, and no revisions are left. What now?",
    );
}

#[test]
fn a_number_may_be_that_of_a_parameter() {
    for (repair, attempts) in [("0", 1), ("1", 2), ("3", 4)] {
        let mut world = World::of(start_of(
            "f",
            &[("f", &format!("name = \"f\"\n{CAPPED}"))],
            &[("repair", repair)],
        ));
        for n in 1..=4 {
            world = world.verdict(&format!("write#{n}/tests#1"), revise(9 - n));
        }
        let world = world.played();
        assert_eq!(world.unit("write").attempt, attempts, "{repair}");
    }
}

#[test]
fn gates_of_all_items_send_their_lister_back_only_so_often_together() {
    let flow = r#"
[[stage]]
name = "split"
agent = "s"
rounds = 0
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 2
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [{ name = "fits", command = "check", redo = "split", rounds = 1 }]
"#;
    let mut world = World::small(flow).list("split", vec![item("A"), item("B")]).begin();
    world.end("split#1");
    world.end("build.A/make#1");
    world.rules("build.A/make#1/fits#1", revises(1));
    world.end("split#2");
    world.end("build.A/make#2");
    world.end("build.A/make#2/fits#1");
    world.end("build.B/make#1");
    world.rules("build.B/make#1/fits#1", revises(1));
    world.says(
        "Q1 asks about build.B/make: `fits` still does not pass, and no revisions are left. What now?",
    );
}
