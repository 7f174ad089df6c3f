//! `state.json` in the phases of a flow: what is completed, skipped, under way, for every effort.

use forge_core::{
    event::{Answer, Approvals, Detail, Outcome, Receipt, Ruling},
    money::Spent,
    run::State,
    view::{PhasesView, phases::PhaseStatus},
};

use crate::world::{World, after, block, fault, finding, revise, writes};
use forge_core::verdict::{Severity, Verdict};

const ID: &str = "20261115-add-a-queue-abcd";

fn phases(world: &World) -> PhasesView {
    PhasesView::new(ID, &world.run)
}

/// One line for each record: the phase, where it stands, and how much is over.
fn course(world: &World) -> String {
    let mut lines: Vec<String> = Vec::new();
    for kept in 1..=world.journal.len() {
        let view = phases(&world.cut(kept));
        let both = view.completed_phases.iter().find(|done| view.skipped_phases.contains(done));
        assert_eq!(both, None);
        let line = format!(
            "{} {:?}, completed {}",
            view.current_phase.unwrap_or_default(),
            view.current_phase_status,
            view.completed_phases.len()
        );
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

#[test]
fn the_course_of_a_full_feature_goes_through_all_phases_in_order() {
    insta::assert_snapshot!("course_full", course(&World::feature("L").played()));
}

#[test]
fn skipped_phases_are_there_from_the_first_record_and_stay() {
    for (effort, template, skipped) in [
        ("S", "light", &["phase-4b", "checkpoint-b", "phase-7", "post-to-source"][..]),
        ("M", "standard", &["phase-4b", "checkpoint-b", "post-to-source"]),
        ("L", "full", &["post-to-source"]),
    ] {
        for world in [World::feature(effort).begin(), World::feature(effort).played()] {
            let view = phases(&world);
            assert_eq!(view.skipped_phases, skipped, "{effort}");
            assert_eq!(view.effort.as_deref(), Some(effort));
            let json = serde_json::to_value(&view).unwrap();
            assert_eq!(json["flowTemplate"], template);
        }
    }
}

#[test]
fn a_feature_that_is_done_has_completed_every_phase_that_was_not_skipped() {
    let view = phases(&World::feature("M").played());
    assert_eq!(
        view.completed_phases,
        [
            "phase-1",
            "phase-2",
            "phase-3",
            "phase-3b",
            "checkpoint-a",
            "phase-4",
            "phase-5",
            "phase-6",
            "phase-7",
            "final-verification",
            "pr-creation",
            "final-summary",
            "final-commit",
        ]
    );
    assert_eq!(view.current_phase.as_deref(), Some("completed"));
    assert_eq!(view.current_phase_status, PhaseStatus::Completed);
}

#[test]
fn a_state_file_has_the_documented_fields() {
    let tasks = vec![writes("T1", "a"), after(writes("T2", "b"), "T1")];
    let minor = vec![finding(Severity::Minor, "a word")];
    let mut world = World::feature("M")
        .list("split", tasks)
        .verdict("design#1/review#1", revise(1))
        .verdict("build.T1/implement#1/review#1", revise(2))
        .verdict("build.T1/implement#2/review#1", Verdict::Pass { findings: minor });
    world.start.detail = Detail::Debug;
    world.start.approvals = Approvals::Automatic;
    world.start.onto = Some("topic".to_owned());
    let mut world = world.begin();
    while !world.calls().contains(&"build.T2/implement#1".to_owned()) {
        let next = world.wanted().pop().unwrap();
        world.end(&next);
    }
    insta::assert_snapshot!("state", serde_json::to_string_pretty(&phases(&world)).unwrap());
    let json = serde_json::to_string(&phases(&world)).unwrap();
    assert_eq!(serde_json::from_str::<PhasesView>(&json).unwrap(), phases(&world));
}

#[test]
fn a_checkpoint_waits_for_a_person_and_a_revision_is_pending_until_it_is_shown() {
    let mut world = World::feature("M").played_until("Q1");
    let view = phases(&world);
    assert_eq!(view.current_phase.as_deref(), Some("checkpoint-a"));
    assert_eq!(view.current_phase_status, PhaseStatus::AwaitingHuman);
    assert!(!view.checkpoint_revision_pending["checkpoint-a"]);
    world.say(1, Answer::Revise, "smaller");
    let view = phases(&world);
    assert!(view.checkpoint_revision_pending["checkpoint-a"]);
    assert_eq!(view.current_phase.as_deref(), Some("phase-3"));
    assert_eq!(view.completed_phases, ["phase-1", "phase-2"]);
    assert_eq!(view.revisions.design_revisions, 0, "a person's revision is not counted");
    for call in ["design#2", "design#2/form#1", "design#2/review#1"] {
        world.end(call);
    }
    assert!(!phases(&world).checkpoint_revision_pending["checkpoint-a"]);
}

#[test]
fn a_run_that_failed_or_was_given_up_says_so() {
    let world = World::feature("M").answer(1, Answer::GiveUp, "too dear").played();
    let view = phases(&world);
    assert_eq!(view.current_phase_status, PhaseStatus::Failed);
    let error = view.error.unwrap();
    assert_eq!(error.phase.as_deref(), Some("phase-3"));
    assert_eq!(error.message, "design: rejected by bob: too dear");
    let mut world = World::feature("M").begin();
    world.abandon();
    world.end("analyse#1");
    let view = phases(&world);
    assert_eq!(view.current_phase_status, PhaseStatus::Abandoned);
    assert_eq!(view.current_phase.as_deref(), Some("phase-1"));
    assert_eq!(view.error, None);
}

#[test]
fn whenever_a_question_is_open_its_phase_waits_for_a_person_and_what_failed_is_an_error() {
    let mut world = World::feature("S")
        .outcome("build.T1/implement#1", fault("nothing"))
        .outcome("build.T1/implement#2", fault("nothing"))
        .answer(1, Answer::Approve, "")
        .begin();
    while !world.wanted().contains(&"Q2".to_owned()) {
        let next = world.wanted().into_iter().find(|next| !next.contains("T2")).unwrap();
        if next == "Q1" {
            world.say(1, Answer::Approve, "");
        } else {
            world.end(&next);
        }
    }
    for is_alone in [false, true] {
        let view = phases(&world);
        assert_eq!(view.current_phase_status, PhaseStatus::AwaitingHuman);
        assert_eq!(view.current_phase.as_deref(), Some("phase-5"));
        let question = view.question.unwrap();
        assert_eq!((&*question.id, &*question.unit), ("Q2", "build.T1/implement"));
        let text = "The agent left no usable result twice: nothing";
        assert!(question.text.starts_with(text), "{question:?}");
        assert!(view.error.unwrap().message.contains(text), "alone: {is_alone}");
        world.go_on();
    }
    // The question of a gate with a label of its own is that phase's.
    let world = World::feature("S").auto().verdict("build.T1/implement#1/review#1", block("no"));
    let view = phases(&world.played());
    assert_eq!(view.current_phase.as_deref(), Some("phase-6"));
    assert_eq!(view.current_phase_status, PhaseStatus::AwaitingHuman);
    // What a person only has to agree to is no error; a task that failed is one, while others go on.
    let view = phases(&World::feature("M").played_until("Q1"));
    assert_eq!((view.question.unwrap().id.as_str(), view.error), ("Q1", None));
    let mut world = World::feature("S").auto().begin();
    while !world.calls().contains(&"build.T1/implement#1/review#1".to_owned()) {
        let next = world.calls().into_iter().find(|next| !next.contains("T2")).unwrap();
        world.end(&next);
    }
    world.rules("build.T1/implement#1/review#1", Ruling::Verdict(block("no")));
    world.say(1, Answer::GiveUp, "");
    let view = phases(&world);
    assert_eq!(view.error.unwrap().message, "build.T1/implement: no (rejected by bob)");
    assert_eq!(view.question, None);
}

#[test]
fn the_error_is_of_the_newest_unit_that_is_still_failed() {
    let stage = |name: &str| {
        format!(
            "[[stage]]\nname = \"{name}\"\nafter = []\nagent = \"maker\"\nwrites = [\"{name}.md\"]\n"
        )
    };
    let flow = ["one", "two", "three"].map(stage).concat();
    let mut world = World::small(&flow).begin();
    for (question, name) in [(1, "one"), (2, "two")] {
        for attempt in 1..=2 {
            world.ends(&format!("{name}#{attempt}"), fault("nothing"));
        }
        world.say(question, Answer::GiveUp, "");
    }
    assert!(phases(&world).error.unwrap().message.starts_with("two: "));
    world.edit("two", "two.md");
    assert!(phases(&world).error.unwrap().message.starts_with("one: "));
}

#[test]
fn a_flow_without_labels_has_no_phases() {
    let world = World::small("[[stage]]\nname = \"s\"\nagent = \"x\"\n").begin();
    let view = phases(&world);
    assert_eq!((view.completed_phases.len(), view.skipped_phases.len()), (0, 0));
    assert_eq!((view.current_phase, view.effort), (None, None));
    assert_eq!(view.flow_template, None);
}

#[test]
fn a_long_log_has_only_its_end() {
    use forge_core::view::phases::PHASE_LOG_ROWS_MAX;
    let flow = "[[stage]]\nname = \"s\"\nphase = \"phase-1\"\nagent = \"x\"\n";
    let mut world = World::small(flow).begin();
    for n in 1..=PHASE_LOG_ROWS_MAX + 1 {
        let until = world.now() + 1;
        let waits = Outcome::Deferred { until, what: "T9 writes it".to_owned() };
        world.ends(&format!("s#{n}"), waits);
        let again = world.unit("s").not_before;
        world.input_at(again, &forge_core::Input::Tick).unwrap();
    }
    let log = phases(&world).phase_log;
    assert_eq!(log.len(), PHASE_LOG_ROWS_MAX);
    let last = world.run.history().calls.newest().unwrap().at;
    assert_eq!(log.last().unwrap().timestamp, forge_core::view::stamp(last));
}

#[test]
fn a_delivery_that_had_nothing_to_deliver_is_skipped_and_not_completed() {
    let why = "nothing to deliver: the code did not change";
    let receipt = Receipt { notes: vec![why.to_owned()], ..Receipt::from_spent(Spent::NOTHING) };
    let world = World::feature("S").answer(1, Answer::Approve, "").leaves("deliver#1", receipt);
    let view = phases(&world.played());
    assert_eq!(
        view.skipped_phases,
        ["phase-4b", "checkpoint-b", "phase-7", "pr-creation", "post-to-source"]
    );
    assert!(!view.completed_phases.iter().any(|phase| phase == "pr-creation"));
    assert_eq!(view.current_phase.as_deref(), Some("completed"));
}

#[test]
fn what_was_skipped_at_the_start_stays_skipped_when_something_before_it_is_done_again() {
    let world = World::feature("S").verdict("design#1/review#1", revise(1)).played();
    for kept in 1..=world.journal.len() {
        let cut = world.cut(kept);
        assert_eq!(cut.unit("post").state, State::Skipped, "after record {kept}");
        assert_eq!(cut.unit("review").state, State::Skipped, "after record {kept}");
    }
    assert_eq!(world.about("post skipped").len(), 1, "it is said once");
}
