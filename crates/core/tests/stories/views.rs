//! Views of a run for user interfaces.

use forge_core::{
    Run,
    event::{Answer, Outcome},
    view::{
        ChangeKind, QuestionView, RunRow, RunView, Standing, UnitState, describe_call, versions,
    },
};

use crate::world::{World, block, fault, revise, revises};

const ASKED: &str = r#"
[[stage]]
name = "write"
phase = "phase-1"
agent = "writer"
rounds = 0
gates = [{ review = "critic" }, { verify = true }, { human = "Good?" }]
"#;

fn standing(world: &World) -> (Standing, u8) {
    let standing = Standing::from_run(&world.run);
    (standing, standing.exit_code())
}

#[test]
fn every_standing_has_its_word_and_exit_code() {
    let begin = || World::small(ASKED).begin();
    let mut going = begin();
    assert_eq!(standing(&going), (Standing::Going, 5));
    going.ends("write#1", Outcome::Limited { until: 900_000, what: String::new() });
    assert_eq!(standing(&going), (Standing::Limited, 5));
    let waiting = World::small(ASKED).verdict("write#1/verify#1", revise(1)).played();
    assert_eq!(standing(&waiting), (Standing::Waiting, 3));
    let mut paused = begin();
    paused.pause();
    assert_eq!(standing(&paused), (Standing::Paused, 5));
    let mut interrupted = begin();
    interrupted.interrupt();
    assert_eq!(standing(&interrupted), (Standing::Interrupted, 130));
    let mut stopped = begin();
    stopped.stop();
    assert_eq!(standing(&stopped), (Standing::Stopped, 130));
    let parked = World::small(ASKED).budget("0").begin();
    assert_eq!(standing(&parked), (Standing::Parked, 5));
    let mut abandoned = begin();
    abandoned.abandon();
    assert_eq!(standing(&abandoned), (Standing::Abandoned, 1));
    assert_eq!(standing(&World::small(ASKED).played()), (Standing::Done, 0));
    let blocked = World::small(ASKED).verdict("write#1/critic#1", block("no"));
    let blocked = blocked.answer(1, Answer::GiveUp, "").played();
    assert_eq!(standing(&blocked), (Standing::Blocked, 4));
    assert_eq!(RunRow::new("r", &blocked.run).why, "write: no (rejected by bob)");
    let failed = ASKED.replace("rounds = 0", "rounds = 0\nexhausted = \"fail\"");
    let failed = World::small(&failed).verdict("write#1/critic#1", revise(1)).played();
    assert_eq!(standing(&failed), (Standing::Failed, 1));
    let misses = ASKED.replace("rounds = 0", "misses = 5");
    let same = |world: World, n: u32| world.outcome(&format!("write#{n}"), fault("same"));
    let escalated = (1..=3).fold(World::small(&misses), same).played();
    assert_eq!(standing(&escalated), (Standing::Escalated, 4));
    assert_eq!(
        RunRow::new("r", &escalated.run).why,
        "`write` failed 3 times in the same way: same"
    );
    assert_eq!(Standing::from_run(&Run::new()).as_str(), "going");
}

#[test]
fn the_time_that_a_person_takes_to_answer_is_counted_apart() {
    let mut world = World::small(ASKED).begin();
    let waited = |world: &World| RunRow::new("r", &world.run).waited_ms;
    world.end("write#1");
    world.end("write#1/critic#1");
    world.rules("write#1/verify#1", revises(1));
    assert_eq!(waited(&world), 0, "an agent, a reviewer and the checks worked");
    world.say(1, Answer::Retry, "");
    assert_eq!(waited(&world), 1_000);
    world.rules("write#1/verify#2", revises(1));
    assert_eq!(waited(&world), 1_000, "the checks ran again");
    let held = |world: &World| RunRow::new("r", &world.run).held_ms;
    assert_eq!(held(&world), 0, "an answer was waited for");
    world.interrupt();
    world.resume();
    assert_eq!((waited(&world), held(&world)), (3_000, 1_000), "it was stopped, not asked");
}

#[test]
fn tasks_that_failed_for_the_same_reason_are_named_together() {
    let flow = "[[stage]]\nname = \"a\"\ncommand = \"x\"\nafter = []\n\
                [[stage]]\nname = \"b\"\ncommand = \"y\"\nafter = []\n";
    let mut world = World::small(flow);
    for call in ["a#1", "a#2", "b#1", "b#2"] {
        world = world.outcome(call, fault(call));
    }
    let mut world = world.played();
    let asked: Vec<String> =
        RunView::new("r", &world.run).asked.into_iter().map(|asked| asked.text).collect();
    assert_eq!(
        asked,
        [
            "The command left no usable result twice: b#2. What now?",
            "The command left no usable result twice: a#2. What now?",
        ]
    );
    world.say(1, Answer::GiveUp, "");
    world.say(2, Answer::GiveUp, "");
    assert_eq!(RunRow::new("r", &world.run).why, "a, b: rejected by bob");
}

#[test]
fn a_question_shows_what_each_answer_does() {
    let flow = ASKED.replace(
        "{ human = \"Good?\" }",
        "{ human = \"Good?\", when = { param = \"x\", is = [\"y\"] } }",
    );
    let params = "[params]\nx = { values = [\"y\", \"n\"], default = \"n\" }\n";
    let mut world = World::small(&format!("{params}{flow}")).begin();
    world.end("write#1");
    world.rules("write#1/critic#1", revises(1));
    let question = world.run.questions().next().unwrap();
    let view = QuestionView::new(&world.run, question);
    let options: Vec<(&str, &str)> =
        view.options.iter().map(|o| (o.answer.as_str(), o.does.as_str())).collect();
    assert_eq!(
        options,
        [
            ("approve", "write is accepted with 1 major finding open, and the checks run next"),
            ("revise", "write runs again, with your words in its brief"),
            ("give-up", "write fails, and the run with it"),
        ]
    );
    assert_eq!(view.findings.len(), 1);
    assert_eq!(view.summary, "did write#1");
    world.say(1, Answer::Approve, "");
    world.rules("write#1/verify#1", revises(1));
    let question = world.run.questions().next().unwrap();
    let view = QuestionView::new(&world.run, question);
    assert_eq!(view.options[0].does, "the checks run again");
    assert_eq!(view.options[2].answer, "waive verify");
    // The human gate after it does not apply, so nothing looks next.
    assert_eq!(
        view.options[2].does,
        "the checks are overridden in your name, for the whole run while they fail in the same way, and the run is done"
    );
}

#[test]
fn a_question_about_texts_knows_which_versions_they_replaced() {
    let flow = r#"
[[stage]]
name = "design"
agent = "architect"
writes = ["design.md"]
gates = [{ review = "critic", writes = ["review.md"] }, { human = "Good?" }]
"#;
    let mut world = World::small(flow).begin();
    let change = |world: &World| {
        QuestionView::new(&world.run, world.run.questions().next().expect("it is asked")).change
    };
    let before = |world: &World| -> Vec<(String, Option<String>, String)> {
        let texts = versions(&world.run, &"design".parse().unwrap()).into_iter();
        texts.map(|text| (text.name, text.before.map(|blob| blob.0), text.now.0)).collect()
    };
    world.end("design#1");
    let first = before(&world)[0].2.clone();
    world.end("design#1/critic#1");
    assert_eq!(change(&world), ChangeKind::NewTexts);
    assert_eq!(before(&world), [("design.md".to_owned(), None, first.clone())]);
    world.say(1, Answer::Revise, "shorter");
    world.end("design#2");
    let second = before(&world)[0].2.clone();
    world.end("design#2/critic#1");
    assert_eq!(change(&world), ChangeKind::ChangedTexts);
    assert_eq!(before(&world), [("design.md".to_owned(), Some(first), second.clone())]);
    // What a person wrote replaces what was there, too.
    world.edit("design", "design.md");
    world.end("design#3/critic#1");
    assert_eq!(change(&world), ChangeKind::ChangedTexts);
    let by_hand = "by hand".to_owned();
    assert_eq!(before(&world), [("design.md".to_owned(), Some(second), by_hand.clone())]);
    world.edit("design", "design.md");
    world.end("design#4/critic#1");
    assert_eq!(change(&world), ChangeKind::UnchangedTexts, "the same again");
}

#[test]
fn the_view_of_a_run_is_its_tree() {
    let mut world = World::feature("S").begin();
    world.go_on();
    let view = RunView::new("20261115-add-a-queue-abcd", &world.run);
    assert_eq!(view.row.standing, Standing::Done);
    assert_eq!(view.row.title, "add a queue");
    let rows: Vec<String> = view
        .units
        .iter()
        .map(|unit| {
            let phase = unit.phase.as_deref().unwrap_or("-");
            format!("{} {} {phase} {:?} {}", unit.depth, unit.unit, unit.state, unit.attempt)
        })
        .collect();
    assert_eq!(
        rows,
        [
            "0 analyse phase-1 Accepted 1",
            "0 investigate phase-2 Accepted 1",
            "0 design phase-3 Accepted 1",
            "0 split phase-4 Accepted 1",
            "0 build - Accepted 1",
            "1 build.T1/implement phase-5 Accepted 1",
            "1 build.T2/implement phase-5 Accepted 1",
            "0 review phase-7 Skipped 0",
            "0 verify final-verification Accepted 1",
            "0 deliver pr-creation Accepted 1",
            "0 summary final-summary Accepted 1",
            "0 post post-to-source Skipped 0",
            "0 record final-commit Accepted 1",
        ]
    );
    assert_eq!(view.units[4].items, Some((2, 2)));
    let json = serde_json::to_string(&view).unwrap();
    assert_eq!(serde_json::from_str::<RunView>(&json).unwrap(), view);
}

#[test]
fn states_of_units_are_told_apart() {
    let mut world = World::small(ASKED).begin();
    let state = |world: &World| RunView::new("r", &world.run).units[0].state;
    assert_eq!(state(&world), UnitState::Working);
    world.ends("write#1", Outcome::Limited { until: 900_000, what: String::new() });
    assert_eq!(state(&world), UnitState::Limited);
    world.input_at(900_000, &forge_core::Input::Tick).unwrap();
    world.end("write#2");
    assert_eq!(state(&world), UnitState::Judging);
    assert_eq!(RunView::new("r", &world.run).units[0].gate.as_deref(), Some("critic"));
    world.rules("write#2/critic#1", revises(1));
    world.end("write#2/verify#1");
    assert_eq!(state(&world), UnitState::Asking);
}

#[test]
fn calls_are_told_in_words() {
    let mut world = World::sprint().begin();
    let words = |world: &World| -> Vec<String> {
        world.run.calls().keys().map(|call| describe_call(&world.run, call)).collect()
    };
    assert_eq!(words(&world), ["architect at work"]);
    world.end("plan-sprint#1");
    assert_eq!(words(&world), ["checking that sprint.md exists"]);
}

#[test]
fn a_long_request_is_cut_for_the_list() {
    let mut world = World::small(ASKED);
    world.start.request = format!("\n  {}\nmore", "x".repeat(200));
    let world = world.begin();
    let row = RunRow::new("r", &world.run);
    assert_eq!(row.title.chars().count(), 80);
    assert!(row.title.ends_with('…'));
}
