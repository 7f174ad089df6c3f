//! Lists of items: flawed ones, and ones that are made again.

use forge_core::{
    event::{Choice, End, Outcome},
    id::UnitId,
    item::Item,
    item_list::flaw,
    run::Phase,
};

use crate::world::{World, after, item, revises, tag, writes};

const FLOW: &str = r#"
[[stage]]
name = "split"
agent = "s"
rounds = 5
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 3
items_max = 4
gates = [{ review = "overseer", redo = "split" }]
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [
    { review = "critic", redo = "split" },
    { review = "careful", when = { item = "risk", is = ["high"] } },
    { land = true },
  ]
"#;

fn listed(items: Vec<Item>) -> World {
    let mut world = World::small(FLOW).list("split", items).begin();
    world.end("split#1");
    world
}

#[test]
fn a_list_is_told_with_its_number_where_it_has_more_than_one_item() {
    let ids = |n: usize| (1..=n).map(|n| item(&format!("T{n}"))).collect::<Vec<Item>>();
    listed(ids(0)).says("no tasks");
    listed(ids(1)).says("tasks: T1");
    listed(ids(3)).says("3 tasks: T1, T2, T3");
}

#[test]
fn a_list_that_nobody_could_finish_is_a_fault_of_who_made_it() {
    let cases = [
        (
            vec![item("..")],
            "`..` is not an item id (a letter or digit, then at most 39 letters, digits, `-` or `_`)",
        ),
        (
            vec![item("")],
            "`` is not an item id (a letter or digit, then at most 39 letters, digits, `-` or `_`)",
        ),
        (
            vec![item("a/b")],
            "`a/b` is not an item id (a letter or digit, then at most 39 letters, digits, `-` or `_`)",
        ),
        (vec![item("T1"), item("t1")], "two items have the id `t1` (case does not count)"),
        (
            vec![item("../A")],
            "`../A` is not an item id (a letter or digit, then at most 39 letters, digits, `-` or `_`)",
        ),
        (vec![after(item("A"), "B")], "`A` waits for an item that is not listed"),
        (vec![after(item("A"), "A")], "`A` waits for itself, by way of other items"),
        (
            vec![item("Z"), after(item("A"), "B"), after(item("B"), "A")],
            "`A` waits for itself, by way of other items",
        ),
        (
            vec![writes("A", "../up")],
            "`A` writes `../up`, which is not a path inside the repository",
        ),
        (vec![writes("A", "/etc")], "`A` writes `/etc`, which is not a path inside the repository"),
        (
            vec![writes("A", "a/*/../../b")],
            "`A` writes `a/*/../../b`, which is not a path inside the repository",
        ),
        (["A", "B", "C", "D", "E"].map(item).to_vec(), "it has 5 items, and at most 4 are allowed"),
    ];
    for (items, what) in cases {
        assert_eq!(flaw(&items, 4).as_deref(), Some(what));
        let world = listed(items);
        let said = "split#1 left no usable result: the list `tasks` is not valid";
        world.says(&format!("{said}: {what}"));
        assert_eq!(world.calls(), ["split#2"]);
    }
}

#[test]
fn a_list_that_is_not_reported_is_a_fault_and_then_a_question() {
    let mut world = World::small(FLOW).begin();
    world.end("split#1");
    world.says("split#1 left no usable result: it did not report the list `tasks`");
    world.end("split#2");
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
}

#[test]
fn an_empty_list_is_worked_off_at_once() {
    let mut world = listed(vec![]);
    assert_eq!(world.calls(), ["build#1/overseer#1"]);
    world.go_on();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn ids_have_bounds() {
    use forge_core::id::is_item_id;
    assert!(is_item_id(&"a".repeat(40)));
    assert!(!is_item_id(&"a".repeat(41)));
    for wrong in ["", ".", "..", "-a", "_a", "a.b", "a b", "ä", "a#1"] {
        assert!(!is_item_id(wrong), "{wrong}");
    }
}

/// T1 is good and landed, T2 is in review.
fn one_landed() -> World {
    let mut world = listed(vec![writes("T1", "a"), writes("T2", "b")]);
    world.end("build.T1/make#1");
    world.end("build.T1/make#1/critic#1");
    world.end("build.T1/make#1/land#1");
    world.end("build.T2/make#1");
    world
}

#[test]
fn a_list_that_is_made_again_keeps_an_item_only_if_all_of_it_is_the_same() {
    let mut world = listed(vec![writes("T1", "a"), writes("T2", "b")]);
    world.end("build.T1/make#1");
    world.end("build.T2/make#1");
    world.rules("build.T2/make#1/critic#1", revises(1));
    world = world.list("split#2", vec![writes("T1", "a"), writes("T2", "other")]);
    world.end("build.T1/make#1/critic#1");
    world.end("split#2");
    assert_eq!(world.calls(), ["build.T1/make#2", "build.T2/make#2"]);
}

#[test]
fn a_good_item_that_is_listed_with_new_content_begins_again() {
    let flow = FLOW.replace("    { land = true },\n", "");
    let mut world =
        World::small(&flow).list("split", vec![writes("T1", "a"), writes("T2", "b")]).begin();
    world.end("split#1");
    for item in ["T1", "T2"] {
        world.end(&format!("build.{item}/make#1"));
        world.end(&format!("build.{item}/make#1/critic#1"));
    }
    world.rules("build#1/overseer#1", revises(1));
    let changed = Item { title: "another".to_owned(), ..writes("T1", "a") };
    world = world.list("split#2", vec![changed, writes("T2", "b")]);
    world.end("split#2");
    assert_eq!(world.calls(), ["build.T1/make#2"], "the old T1 is not the new T1, T2 is T2");
}

#[test]
fn a_landed_item_that_is_listed_with_other_content_is_a_flawed_list() {
    let mut world = one_landed();
    world.rules("build.T2/make#1/critic#1", revises(1));
    world = world
        .list("split#2", vec![writes("T1", "changed"), writes("T2", "b")])
        .list("split#3", vec![writes("T1", "a"), writes("T3", "b")]);
    world.end("split#2");
    world.says("split#2 left no usable result: the list `tasks` changes `T1`, which is already merged: give the change a new id");
    world.end("split#3");
    assert_eq!(world.calls(), ["build.T3/make#1"]);
    world.go_on();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.unit("build.T1/make").attempt, 1);
}

#[test]
fn a_landed_item_that_was_dropped_comes_back_only_as_it_was() {
    let mut world = one_landed();
    world.rules("build.T2/make#1/critic#1", revises(1));
    world = world
        .list("split#2", vec![writes("T2", "b")])
        .list("split#3", vec![writes("T1", "changed"), writes("T2", "b")])
        .list("split#4", vec![writes("T1", "a"), writes("T2", "b")]);
    world.end("split#2");
    assert_eq!(world.calls(), ["build.T2/make#2"]);
    world.end("build.T2/make#2");
    world.end("build.T2/make#2/critic#1");
    world.end("build.T2/make#2/land#1");
    world.rules("build#2/overseer#1", revises(1));
    world.end("split#3");
    world.says("split#3 left no usable result: the list `tasks` changes `T1`, which is already merged: give the change a new id");
    world.end("split#4");
    assert_eq!(world.calls(), ["build#3/overseer#1"], "T1 is still good");
    assert_eq!(world.unit("build.T1/make").attempt, 1);
}

#[test]
fn a_dropped_item_that_comes_back_never_reuses_a_number() {
    let mut world = listed(vec![writes("T1", "a"), writes("T2", "b")]);
    world.end("build.T2/make#1");
    world.rules("build.T2/make#1/critic#1", revises(1));
    world = world
        .list("split#2", vec![writes("T2", "b")])
        .list("split#3", vec![writes("T1", "new"), writes("T2", "b")]);
    world.end("split#2");
    world.ends("build.T1/make#1", Outcome::Done);
    world.says("build.T1/make#1 stopped, no longer needed");
    world.end("build.T2/make#2");
    world.end("build.T2/make#2/critic#1");
    world.end("build.T2/make#2/land#1");
    world.rules("build#2/overseer#1", revises(1));
    world.end("split#3");
    assert_eq!(world.calls(), ["build.T1/make#2"]);
}

#[test]
fn an_item_with_other_tags_meets_the_gates_that_apply_to_them() {
    let mut world = listed(vec![tag(writes("T1", "a"), "risk", "low"), writes("T2", "b")]);
    world.end("build.T1/make#1");
    world.end("build.T1/make#1/critic#1");
    world.says("build.T1/make: careful skipped");
    world.end("build.T2/make#1");
    world.rules("build.T1/make#1/land#1", forge_core::event::Ruling::Lost);
    world.rules("build.T2/make#1/critic#1", revises(1));
    world = world.list("split#2", vec![tag(writes("T1", "a"), "risk", "high"), writes("T2", "b")]);
    world.end("split#2");
    world.end("build.T1/make#2");
    world.end("build.T1/make#2/critic#1");
    assert!(world.calls().contains(&"build.T1/make#2/careful#1".to_owned()));
}

#[test]
fn a_list_is_seen_from_tables_further_inside() {
    let flow = r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
rounds = 3
[[stage]]
name = "outer"
each = "tasks"
  [[stage.stage]]
  name = "inner"
  each = "tasks"
    [[stage.stage.stage]]
    name = "make"
    agent = "m"
    gates = [{ land = true }]
  [[stage.stage]]
  name = "check"
  agent = "c"
  gates = [{ review = "critic", redo = "split" }]
"#;
    let mut world = World::small(flow)
        .list("split", vec![writes("A", "a"), writes("B", "b")])
        .list("split#2", vec![writes("A", "a"), writes("B", "changed")])
        .begin();
    world.end("split#1");
    for item in ["A", "B"] {
        world.end(&format!("outer.A/inner.{item}/make#1"));
        world.end(&format!("outer.A/inner.{item}/make#1/land#1"));
    }
    world.end("outer.A/check#1");
    world.rules("outer.A/check#1/critic#1", revises(1));
    assert_eq!(world.calls(), ["split#2"], "the items inside are good, so nothing is undone");
    world.end("split#2");
    world.says("split#2 left no usable result: the list `tasks` changes `B`, which is already merged: give the change a new id");
}

/// A list whose items take one of two ways.
const ROUTES: &str = r#"
[[stage]]
name = "triage"
agent = "t"
list = "bugs"
tags.route = { values = ["A", "B"], default = "B" }
tags.area = { values = ["core", "app"] }
[[stage]]
name = "fix"
each = "bugs"
  [[stage.stage]]
  name = "plan"
  agent = "p"
  when = { item = "route", is = ["B"] }
  [[stage.stage]]
  name = "make"
  agent = "m"
"#;

fn with_tags(id: &str, tags: &[(&str, &str)]) -> Item {
    let tags = tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Item { tags: tags.collect(), ..item(id) }
}

#[test]
fn an_item_without_a_tag_has_its_default() {
    let items = vec![with_tags("T1", &[("area", "core")])];
    let mut world = World::small(ROUTES).list("triage", items).begin();
    world.end("triage#1");
    assert_eq!(world.calls(), ["fix.T1/plan#1"]);
    let items = vec![with_tags("T1", &[("area", "app"), ("route", "A"), ("other", "kept")])];
    let mut world = World::small(ROUTES).list("triage", items).begin();
    world.end("triage#1");
    assert_eq!(world.calls(), ["fix.T1/make#1"]);
    let unit: UnitId = "fix.T1/make".parse().unwrap();
    assert_eq!(world.run.item(&unit.scope).unwrap().tags["other"], "kept");
}

#[test]
fn a_tag_that_is_missing_or_misspelled_is_a_flaw_of_the_list_and_names_the_possible_ones() {
    for (tags, flaw) in [
        (vec![], "`T1` has no tag `area`; possible: core, app"),
        (vec![("area", "core"), ("route", "a")], "`T1` has the tag `route` = `a`; possible: A, B"),
    ] {
        let mut world = World::small(ROUTES).list("triage", vec![with_tags("T1", &tags)]).begin();
        world.end("triage#1");
        assert_eq!(world.calls(), ["triage#2"], "it is tried again");
        let fault = world.unit("triage").fault.clone().unwrap();
        let said = format!("{fault:?}");
        assert!(said.contains(flaw), "{said}");
    }
}
