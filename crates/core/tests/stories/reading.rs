//! What a call may read: what its row names, and nothing later than it.

use forge_core::inbox::{InboxSource, artifacts, entries};

use crate::world::{World, after, revise, writes};

fn read(world: &World, unit: &str, gate: Option<&str>) -> Vec<String> {
    entries(&world.run, &unit.parse().unwrap(), gate)
        .into_iter()
        .map(|reading| match reading.source {
            InboxSource::Request => reading.name,
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
