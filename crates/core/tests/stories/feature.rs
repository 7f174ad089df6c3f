//! Family A, from a request to a pull request.

use forge_core::{event::End, run::Phase, verdict::Verdict};

use crate::world::{World, finding, revise};
use forge_core::{event::Answer, verdict::Severity};

/// What the effort skips; gates of single tasks are by their tags.
fn skipped(world: &World) -> Vec<String> {
    let mut skipped = world.about("skipped");
    skipped.retain(|line| !line.starts_with("build.T"));
    skipped
}

#[test]
fn a_feature_goes_from_request_to_commit() {
    let world = World::feature("M").played();
    world.is(&Phase::Over(End::Done));
    for (first, second) in [
        ("analyse done", "investigate#1 started"),
        ("investigate done", "design#1 started"),
        ("Q1 asks about design: Build it like this?", "split#1 started"),
        ("2 tasks: T1, T2", "build.T1/implement#1 started"),
        ("build.T1/implement#1 started", "build.T1/implement#1/verify#1 started"),
        ("build.T1/implement#1/verify#1 passed", "build.T1/implement#1/review#1 started"),
        ("build.T2/implement merged as commit-", "build done"),
        ("build done", "review#1 started"),
        ("review merged as commit-", "verify#1/verify#1 started"),
        ("verify done", "deliver#1 started"),
        ("deliver done", "summary#1 started"),
        ("summary done", "record#1 started"),
    ] {
        world.before(first, second);
    }
    // The verifier works only where the gate finds something.
    assert_eq!(world.unit("verify").attempt, 1);
    assert!(world.unit("verify").receipt.is_none());
}

#[test]
fn small_medium_and_large_skip_exactly_what_the_table_says() {
    let s = World::feature("S").played();
    assert_eq!(
        skipped(&s),
        ["split: review skipped", "split: checkpoint-b skipped", "review skipped", "post skipped",]
    );
    let m = World::feature("M").played();
    assert_eq!(
        skipped(&m),
        ["split: review skipped", "split: checkpoint-b skipped", "post skipped",]
    );
    assert_eq!(skipped(&World::feature("L").played()), ["post skipped"]);
}

#[test]
fn skips_by_parameters_are_recorded_before_anything_starts() {
    let world = World::feature("S").begin();
    assert_eq!(world.journal.len(), 1);
    world.before("review skipped", "analyse#1 started");
}

#[test]
fn a_small_feature_is_investigated_and_its_code_is_reviewed() {
    let world = World::feature("S").played();
    world.is(&Phase::Over(End::Done));
    world.says("investigate done");
    world.says("build.T1/implement#1/review#1 passed");
    world.before("build done", "verify#1 started");
}

#[test]
fn the_comprehensive_review_is_a_stage_and_sends_nothing_back_to_split() {
    let world = World::feature("M").verdict("review#1/verify#1", revise(1)).played();
    world.is(&Phase::Over(End::Done));
    world.says("review sent back by verify: F1 src/a.rs:7: problem 0");
    assert_eq!(world.unit("split").attempt, 1);
    assert_eq!(world.unit("review").attempt, 2);
}

#[test]
fn when_the_final_verification_is_red_the_verifier_repairs_and_then_a_person_is_asked() {
    let world = World::feature("S")
        .verdict("verify#1/verify#1", revise(3))
        .verdict("verify#2/verify#1", revise(2))
        .verdict("verify#3/verify#1", revise(1))
        .played();
    world.says("verify#2 started");
    world.says("verify#3 started");
    world.says(
        "Q2 asks about verify: The checks still do not pass, and no revisions are left. What now?",
    );
    world.never_says("deliver#1");
}

#[test]
fn a_design_that_runs_out_of_rounds_goes_to_the_person_at_the_checkpoint() {
    let world = World::feature("M")
        .verdict("design#1/review#1", revise(3))
        .verdict("design#2/review#1", revise(2))
        .verdict("design#3/review#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Done));
    world.before(
        "design: review has no revisions left; its findings are noted",
        "Q1 asks about design: Build it like this?",
    );
    assert_eq!(world.about("about design").len(), 1, "nobody is asked twice");
}

#[test]
fn a_design_that_runs_out_of_rounds_is_never_approved_automatically() {
    let world = World::feature("M")
        .auto()
        .verdict("design#1/review#1", revise(3))
        .verdict("design#2/review#1", revise(2))
        .verdict("design#3/review#1", revise(1))
        .played();
    world.says("Q1 asks about design: Build it like this?");
    world.never_says("approved automatically");
}

#[test]
fn an_automatic_run_asks_nobody_when_the_reviews_pass() {
    let world = World::feature("M").auto().played();
    world.is(&Phase::Over(End::Done));
    world.says("design: checkpoint-a approved automatically (--auto; review: APPROVE)");
    world.never_says("asks about");
}

#[test]
fn a_full_feature_is_never_automatic() {
    let refused = World::feature("L").auto().refused();
    assert_eq!(refused, forge_core::Refusal::Manual);
    assert_eq!(
        refused.to_string(),
        "every checkpoint of this run needs a person, so it cannot be started with --auto"
    );
}

#[test]
fn an_automatic_run_asks_when_a_review_passed_with_a_critical_finding() {
    let findings = vec![finding(Severity::Critical, "leaks keys")];
    let world = World::feature("M")
        .auto()
        .verdict("design#1/review#1", Verdict::Pass { findings })
        .played();
    world.says("Q1 asks about design: Build it like this?");
    let minor = vec![finding(Severity::Minor, "a word")];
    let world = World::feature("M")
        .auto()
        .verdict("design#1/review#1", Verdict::Pass { findings: minor })
        .played();
    world.never_says("asks about");
}

#[test]
fn a_revised_design_that_then_passes_is_approved_automatically() {
    let world = World::feature("M").auto().verdict("design#1/review#1", revise(1)).played();
    world.is(&Phase::Over(End::Done));
    world.never_says("asks about");
}

#[test]
fn a_person_sends_the_design_back_with_words() {
    let world = World::feature("M").answer(1, Answer::Revise, "use a ring buffer").played();
    world.is(&Phase::Over(End::Done));
    world.before("design sent back by the answer to Q1: use a ring buffer", "design#2 started");
    world.says("Q2 asks about design: Build it like this?");
    assert_eq!(world.said("design"), ["use a ring buffer"]);
    assert_eq!(world.unit("design").round, 0, "a person uses up no round");
}

#[test]
fn every_feature_survives_a_crash_after_every_record() {
    World::feature("S").survives_every_crash();
    World::feature("L")
        .verdict("design#1/review#1", revise(1))
        .verdict("build.T2/implement#1/land#1", revise(1))
        .answer(2, Answer::Revise, "smaller tasks")
        .survives_every_crash();
}
