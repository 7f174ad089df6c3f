//! What a call may read: what its row names, and nothing later than it.

use forge_core::{
    id::UnitId,
    inbox::{ComposedText, InboxSource, artifacts, entries},
    item::Item,
    path_claims::claims,
};

use crate::world::{World, after, revise, start_of, writes};

fn read(world: &World, unit: &str, gate: Option<&str>) -> Vec<String> {
    entries(&world.run, &unit.parse().unwrap(), gate)
        .into_iter()
        .map(|reading| match reading.source {
            InboxSource::Request | InboxSource::Composed(_) => reading.name,
            InboxSource::Blob(blob) if blob.0.starts_with(&format!("{} by ", reading.name)) => {
                format!("{} by {}", reading.name, blob.0.rsplit(' ').next().unwrap())
            }
            InboxSource::Blob(blob) => format!("{} = {}", reading.name, blob.0),
        })
        .collect()
}

#[test]
fn agents_of_a_feature_read_exactly_what_the_table_says() {
    let tasks = vec![writes("T1", "a"), after(writes("T2", "b"), "T1"), writes("T3", "c")];
    let world = World::feature("L").list("split", tasks).played();
    assert_eq!(read(&world, "analyse", None), ["request.md"]);
    assert_eq!(read(&world, "investigate", None), ["analysis.md by analyse#1", "request.md"]);
    assert_eq!(
        read(&world, "design", Some("review")),
        [
            "analysis.md by analyse#1",
            "design.md by design#1",
            "investigation.md by investigate#1",
            "request.md"
        ]
    );
    assert_eq!(
        read(&world, "build.T1/implement", Some("review")),
        [
            "design.md by design#1",
            "impl-T1.md by build.T1/implement#1",
            "request.md",
            "tasks.md by split#1"
        ]
    );
    assert_eq!(
        read(&world, "review", None),
        [
            "build.T1/impl-T1.md = impl-T1.md by build.T1/implement#1",
            "build.T1/review-T1.md = review-T1.md by build.T1/implement#1/review#1",
            "build.T2/impl-T2.md = impl-T2.md by build.T2/implement#1",
            "build.T2/review-T2.md = review-T2.md by build.T2/implement#1/review#1",
            "build.T3/impl-T3.md = impl-T3.md by build.T3/implement#1",
            "build.T3/review-T3.md = review-T3.md by build.T3/implement#1/review#1",
            "design.md by design#1",
            "request.md",
            "tasks.md by split#1",
        ]
    );
}

#[test]
fn an_implementer_reads_the_reviews_of_what_it_waited_for_and_its_own() {
    let tasks = vec![writes("T1", "a"), after(writes("T2", "b"), "T1"), writes("T3", "c")];
    let world = World::feature("S").list("split", tasks).played();
    let reads = |unit| {
        let all = read(&world, unit, None);
        all.into_iter().filter(|name| name.contains("review-T")).collect::<Vec<String>>()
    };
    assert_eq!(
        reads("build.T2/implement"),
        [
            "build.T1/review-T1.md = review-T1.md by build.T1/implement#1/review#1",
            "review-T2.md by build.T2/implement#1/review#1",
        ]
    );
    assert_eq!(reads("build.T3/implement"), ["review-T3.md by build.T3/implement#1/review#1"]);
}

#[test]
fn on_a_revision_the_architect_reads_the_review_of_the_design() {
    let mut world = World::feature("M").begin();
    for call in ["analyse#1", "analyse#1/form#1", "investigate#1", "investigate#1/form#1"] {
        world.end(call);
    }
    assert!(!read(&world, "design", None).iter().any(|name| name.contains("review")));
    world.end("design#1");
    world.end("design#1/form#1");
    world.rules("design#1/review#1", forge_core::event::Ruling::Verdict(revise(1)));
    assert!(
        read(&world, "design", None).contains(&"review-design.md by design#1/review#1".to_owned())
    );
}

#[test]
fn nothing_that_a_later_stage_wrote_is_read() {
    let flow = r#"
[[stage]]
name = "a"
agent = "x"
writes = ["notes.md"]
[[stage]]
name = "b"
agent = "y"
reads = ["notes.md", "n*.md"]
writes = ["b.md"]
[[stage]]
name = "c"
agent = "z"
reads = ["notes.md"]
writes = ["notes.md", "next.md"]
gates = [{ review = "critic", redo = "b" }]
"#;
    let mut world = World::small(flow).begin();
    world.end("a#1");
    world.end("b#1");
    world.end("c#1");
    assert_eq!(read(&world, "c", Some("critic")), [] as [String; 0]);
    world.rules("c#1/critic#1", forge_core::event::Ruling::Verdict(revise(1)));
    assert_eq!(read(&world, "b", None), ["notes.md by a#1"]);
    assert_eq!(artifacts(&world.run).len(), 4);
}

#[test]
fn the_nearest_artifact_of_a_name_is_meant() {
    let mut world = World::sprint().begin();
    world.end("plan-sprint#1");
    world.end("plan-sprint#1/artifact#1");
    world.end("tasks.T1/plan#1");
    world.end("tasks.T3/plan#1");
    assert_eq!(read(&world, "tasks.T1/implement", None), ["plan.md by tasks.T1/plan#1"]);
    assert_eq!(read(&world, "tasks.T1/plan", None), ["sprint.md by plan-sprint#1"]);
}

#[test]
fn what_a_flow_inside_wrote_can_be_read_after_it() {
    let world = World::nested().played();
    assert_eq!(
        read(&world, "deliver", None),
        ["sprint.sprint/sprint.md = sprint.md by sprint.sprint/plan-sprint#1"]
    );
}

/// Slices of tasks, some with a look at their security first.
const SLICES: &str = r#"
[[stage]]
name = "plan"
agent = "planner"
list = "slices"
[[stage]]
name = "slices"
each = "slices"
  [[stage.stage]]
  name = "plan"
  agent = "planner"
  list = "tasks"
  [[stage.stage]]
  name = "tasks"
  each = "tasks"
    [[stage.stage.stage]]
    name = "security"
    agent = "scout"
    when = { item = "security", is = ["yes"] }
    writes = ["{item}-SECURITY.md"]
    [[stage.stage.stage]]
    name = "execute"
    agent = "executor"
    reads = ["{item}-SECURITY.md"]
    writes = ["{item}-SUMMARY.md"]
  [[stage.stage]]
  name = "close"
  agent = "completer"
  reads = ["tasks.*/*-SUMMARY.md"]
"#;

fn slices() -> World {
    let first =
        Item { tags: [("security".to_owned(), "yes".to_owned())].into(), ..writes("T01", "a") };
    World::small(SLICES)
        .list("plan", vec![writes("S01", "x"), after(writes("S02", "y"), "S01")])
        .list("slices.S01/plan", vec![first])
        .list("slices.S02/plan", vec![writes("T01", "b")])
        .played()
}

#[test]
fn a_name_is_never_looked_for_in_items_beside_the_readers() {
    let world = slices();
    let own = ["T01-SECURITY.md by slices.S01/tasks.T01/security#1"];
    assert_eq!(read(&world, "slices.S01/tasks.T01/execute", None), own);
    assert_eq!(
        read(&world, "slices.S02/tasks.T01/execute", None),
        [""; 0],
        "that is of another task"
    );
}

#[test]
fn a_pattern_finds_what_was_written_inside_the_items_of_its_own_table() {
    let world = slices();
    let found = read(&world, "slices.S02/close", None);
    assert_eq!(
        found,
        ["slices.S02/tasks.T01/T01-SUMMARY.md = T01-SUMMARY.md by slices.S02/tasks.T01/execute#1"]
    );
}

/// Tasks that are worked on by a flow of their own.
const BY_A_FLOW: &str = r#"
name = "outer"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "tasks"
each = "tasks"
at_once = 2
  [[stage.stage]]
  name = "work"
  flow = "inner"
"#;

const INNER: &str = r#"
name = "inner"
[[stage]]
name = "plan"
agent = "p"
writes = ["{item}-PLAN.md"]
[[stage]]
name = "make"
agent = "m"
reads = ["{item}-PLAN.md"]
gates = [{ land = true }]
"#;

#[test]
fn a_flow_inside_an_item_works_on_that_item() {
    let start = start_of("outer", &[("outer", BY_A_FLOW), ("inner", INNER)], &[]);
    let mut world =
        World::of(start).list("split", vec![writes("A", "a"), writes("B", "b")]).begin();
    world.end("split#1");
    world.end("tasks.A/work.inner/plan#1");
    let inside: UnitId = "tasks.A/work.inner/make".parse().unwrap();
    assert_eq!(world.run.item(&inside.scope).map(|item| item.id.as_str()), Some("A"));
    let plan = ["A-PLAN.md by tasks.A/work.inner/plan#1"];
    assert_eq!(read(&world, "tasks.A/work.inner/make", None), plan);
    let claims = claims(&world.run);
    let claimed: Vec<(String, String)> =
        claims.iter().map(|claim| (claim.scope.to_string(), claim.writes.join(", "))).collect();
    let expected = [("tasks.A/work.inner", "a"), ("tasks.B/work.inner", "b")];
    assert_eq!(claimed, expected.map(|(scope, paths)| (scope.to_owned(), paths.to_owned())));
}

#[test]
fn numbers_and_friction_are_composed_unless_a_stage_writes_a_file_of_that_name() {
    let reader =
        "[[stage]]\nname = \"look\"\nagent = \"a\"\nreads = [\"statistics.md\", \"friction.md\"]\n";
    let world = World::small(reader).begin();
    let sources = |world: &World| {
        let entries = entries(&world.run, &"look".parse().unwrap(), None);
        entries.into_iter().map(|entry| entry.source).collect::<Vec<_>>()
    };
    let composed = [ComposedText::Friction, ComposedText::Statistics];
    assert_eq!(sources(&world), composed.map(InboxSource::Composed));
    let writer = "[[stage]]\nname = \"write\"\nagent = \"a\"\nwrites = [\"statistics.md\"]\n";
    let mut world = World::small(&format!("{writer}{reader}")).begin();
    world.end("write#1");
    assert!(matches!(sources(&world)[1], InboxSource::Blob(_)), "{:?}", sources(&world));
}
