//! What a run knows of the code: where work stands, what landed, what was proved.

use forge_core::{
    event::{Colour, Evidence, Outcome, ProofStart, Receipt},
    id::Scope,
    money::Spent,
    run::{CommittedCode, FilesState},
    view::RunView,
};

use crate::world::{World, recoded, revises, writes};

const BUILD: &str = r#"
[[stage]]
name = "split"
agent = "s"
rounds = 5
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 2
  [[stage.stage]]
  name = "make"
  agent = "m"
  writes = ["made.md"]
  gates = [{ verify = true }, { review = "critic", redo = "split" }, { land = true }]
  [[stage.stage]]
  name = "look"
  agent = "l"
"#;

fn committed(commit: &str) -> Receipt {
    let (commit, tree) = (Some(commit.to_owned()), Some(format!("tree-of-{commit}")));
    Receipt { commit, tree, ..Receipt::from_spent(Spent::NOTHING) }
}

fn landed(commit: &str, head: &str) -> Receipt {
    let (head, tree) = (Some(head.to_owned()), Some(format!("tree-of-{head}")));
    Receipt { head, tree, ..committed(commit) }
}

fn scope(item: &str) -> Scope {
    "build".parse::<forge_core::id::UnitId>().unwrap().item(item)
}

fn code(commit: &str) -> CommittedCode {
    CommittedCode { commit: commit.to_owned(), tree: format!("tree-of-{commit}") }
}

fn begun() -> World {
    let mut world = World::small(BUILD)
        .list("split", vec![writes("A", "a"), writes("B", "b")])
        .leaves("build.A/make#1", committed("a1"))
        .leaves("build.A/make#2", committed("a2"))
        .leaves("build.B/make#1", committed("b1"));
    world.start.base = Some("base".to_owned());
    world.start.base_branch = Some("main".to_owned());
    world.start.branch = Some("forge/queue".to_owned());
    let mut world = world.begin();
    world.end("split#1");
    world
}

#[test]
fn the_result_is_the_base_until_something_lands() {
    let mut world = begun();
    world.end("build.A/make#1");
    assert_eq!(world.run.head(), Some("base"));
    assert!(!world.run.has_landed());
    let view = RunView::new("r", &world.run);
    assert_eq!((view.base.as_deref(), view.head.as_deref()), (Some("base"), None));
    assert_eq!(view.row.branch.as_deref(), Some("forge/queue"));
}

#[test]
fn what_lands_as_it_is_becomes_the_result() {
    let mut world = begun().leaves("build.A/make#1/land#1", landed("a1", "a1"));
    for call in ["make#1", "make#1/verify#1", "make#1/critic#1", "make#1/land#1"] {
        world.end(&format!("build.A/{call}"));
    }
    assert_eq!(world.run.head(), Some("a1"));
    world.says("build.A/make merged as a1");
    assert_eq!(world.unit("build.A/make").landed.as_deref(), Some("a1"));
    let view = RunView::new("r", &world.run);
    assert_eq!(view.head.as_deref(), Some("a1"));
    let unit = view.units.iter().find(|unit| unit.unit == "build.A/make").unwrap();
    assert_eq!(unit.landed.as_deref(), Some("a1"));
}

#[test]
fn what_lands_by_a_merge_makes_the_merge_the_result() {
    let mut world = begun()
        .leaves("build.A/make#1/land#1", landed("a1", "a1"))
        .leaves("build.B/make#1/land#1", landed("b1", "merged"));
    for item in ["A", "B"] {
        for call in ["make#1", "make#1/verify#1", "make#1/critic#1", "make#1/land#1"] {
            world.end(&format!("build.{item}/{call}"));
        }
    }
    world.says("build.B/make merged as merged");
    assert_eq!(world.run.head(), Some("merged"));
    assert_eq!(world.unit("build.B/make").landed.as_deref(), Some("b1"), "the judged commit");
    assert_eq!(world.run.code(&scope("B")), Some(&code("b1")), "a commit and its own tree");
}

#[test]
fn a_landing_without_a_head_means_its_commit() {
    let mut world = begun();
    for call in ["make#1", "make#1/verify#1", "make#1/critic#1", "make#1/land#1"] {
        world.end(&format!("build.A/{call}"));
    }
    assert_eq!(world.run.head(), Some("commit-of-build.A/make"), "as old journals say it");
}

#[test]
fn the_code_of_a_scope_is_what_was_committed_last() {
    let mut world = begun();
    assert_eq!(world.run.code(&scope("A")), None);
    world.end("build.A/make#1");
    assert_eq!(world.run.code(&scope("A")), Some(&code("a1")));
    assert_eq!(world.run.code(&scope("B")), None, "every item has its own");
    assert_eq!(world.run.code(&Scope::root()), None);
    world.rules("build.A/make#1/verify#1", revises(1));
    world.end("build.A/make#2");
    assert_eq!(world.run.code(&scope("A")), Some(&code("a2")));
    world.stop();
    world.rules("build.A/make#2/verify#1", forge_core::event::Ruling::Interrupted);
    world.try_edit("build.A/make", recoded()).unwrap();
    let by_hand = CommittedCode { commit: "by-hand".into(), tree: "tree-by-hand".into() };
    assert_eq!(world.run.code(&scope("A")), Some(&by_hand));
    assert_eq!(world.run.head(), Some("base"), "no edit moves the result");
}

#[test]
fn code_outlives_being_sent_back_but_not_another_item_of_the_same_id() {
    let mut world = begun();
    world.end("build.A/make#1");
    world.end("build.B/make#1");
    world.end("build.B/make#1/verify#1");
    world.rules("build.B/make#1/critic#1", revises(2));
    assert_eq!(world.run.code(&scope("A")), Some(&code("a1")), "it was only reset");
    world = world.list("split#2", vec![writes("A", "other"), writes("B", "b")]);
    world.end("build.A/make#1/verify#1");
    world.end("split#2");
    assert_eq!(world.run.code(&scope("A")), None, "another item begins anew");
    assert_eq!(world.run.code(&scope("B")), Some(&code("b1")), "the same item goes on");
    assert_eq!(
        world.unit("build.A/make").files,
        FilesState::Committed,
        "and there is nothing left"
    );
}

#[test]
fn files_that_no_commit_holds_are_as_the_attempt_left_them() {
    let mut world = begun();
    let files = |world: &World| world.unit("build.A/make").files;
    assert_eq!(files(&world), FilesState::Committed, "there are none");
    let deferred = Outcome::Deferred { until: 0, what: "x".into() };
    world = world.leaves("build.A/make#1", Receipt::from_spent(Spent::NOTHING));
    world.ends("build.A/make#1", deferred.clone());
    assert_eq!(files(&world), FilesState::Committed, "who makes way touches nothing");
    world.input_at(world.now() + 1_000, &forge_core::Input::Tick).unwrap();
    world = world.leaves("build.A/make#2", Receipt::from_spent(Spent::NOTHING));
    world.ends("build.A/make#2", Outcome::Lost);
    assert_eq!(files(&world), FilesState::Left);
    world.ends("build.A/make#3", deferred);
    assert_eq!(files(&world), FilesState::Left, "and leaves what was there");
    world.input_at(world.now() + 1_000, &forge_core::Input::Tick).unwrap();
    world = world.leaves("build.A/make#4", committed("a4"));
    world.end("build.A/make#4");
    assert_eq!(files(&world), FilesState::Committed);
}

#[test]
fn gates_that_look_first_leave_no_files() {
    let flow =
        "[[stage]]\nname = \"a\"\nagent = \"x\"\ngates_first = true\ngates = [{ verify = true }]\n";
    let world = World::small(flow).begin();
    assert_eq!(world.unit("a").files, FilesState::Committed);
}

#[test]
fn evidence_is_bound_to_the_tree_and_the_last_word_counts() {
    let ran = |tree: &str, command: &str, colour| Evidence {
        command: command.to_owned(),
        tree: tree.to_owned(),
        colour,
        took_ms: Some(7),
        start: ProofStart::Cached,
        failure: None,
    };
    let proved = |evidence| Receipt { evidence, ..Receipt::from_spent(Spent::NOTHING) };
    let red = vec![ran("t1", "test", Colour::Red), ran("t1", "lint", Colour::Green)];
    let mut world = begun()
        .leaves("build.A/make#1/verify#1", proved(red))
        .leaves("build.A/make#2/verify#1", proved(vec![ran("t2", "test", Colour::Green)]))
        .leaves("build.B/make#1/verify#1", proved(vec![ran("t1", "test", Colour::Green)]));
    world.end("build.A/make#1");
    world.rules("build.A/make#1/verify#1", revises(1));
    assert_eq!(world.run.evidence("t1", "test"), Some(Colour::Red));
    assert_eq!(world.run.evidence("t1", "lint"), Some(Colour::Green));
    assert_eq!(world.run.evidence("t2", "test"), None);
    world.end("build.A/make#2");
    world.end("build.A/make#2/verify#1");
    assert_eq!(world.run.evidence("t2", "test"), Some(Colour::Green));
    assert_eq!(world.run.evidence("t1", "test"), Some(Colour::Red), "another tree");
    world.end("build.B/make#1");
    world.end("build.B/make#1/verify#1");
    assert_eq!(world.run.evidence("t1", "test"), Some(Colour::Green), "the last word counts");
}

#[test]
fn what_is_green_from_nothing_is_told_from_what_is_green_with_caches() {
    let ran = |command: &str, colour, start| Evidence {
        command: command.to_owned(),
        tree: "t1".to_owned(),
        colour,
        took_ms: Some(7),
        start,
        failure: None,
    };
    let evidence = vec![
        ran("test", Colour::Green, ProofStart::Pristine),
        ran("lint", Colour::Green, ProofStart::Cached),
        ran("types", Colour::Red, ProofStart::Pristine),
    ];
    let proved = Receipt { evidence, ..Receipt::from_spent(Spent::NOTHING) };
    let mut world = begun().leaves("build.A/make#1/verify#1", proved);
    world.end("build.A/make#1");
    world.rules("build.A/make#1/verify#1", revises(1));
    let start = |command| world.run.green_start("t1", command);
    assert_eq!(start("test"), Some(ProofStart::Pristine));
    assert_eq!(start("lint"), Some(ProofStart::Cached));
    assert_eq!(start("types"), None, "it is red");
}

#[test]
fn what_a_call_that_was_overtaken_says_about_the_code_does_not_count() {
    let mut world = begun();
    world.end("build.B/make#1");
    world.end("build.B/make#1/verify#1");
    world.rules("build.B/make#1/critic#1", revises(1));
    world.end("build.A/make#1");
    world.says("build.A/make#1 stopped, no longer needed");
    assert_eq!(world.run.code(&scope("A")), None);
}

#[test]
fn an_edited_artifact_leaves_the_code_alone() {
    let mut world = begun();
    world.end("build.A/make#1");
    world.end("build.A/make#1/verify#1");
    world.stop();
    world.rules("build.A/make#1/critic#1", forge_core::event::Ruling::Interrupted);
    world.edit("build.A/make", "made.md");
    assert_eq!(world.unit("build.A/make").attempt, 2);
    assert_eq!(world.run.code(&scope("A")), Some(&code("a1")));
}
