//! Lists that are known when a run starts.

use forge_core::{
    event::{End, Start},
    id::UnitId,
    item::Item,
    run::Phase,
};

use crate::world::{World, after, start_of, tag, writes};

const FLOW: &str = r#"
name = "f"
lists = ["tasks"]
[[stage]]
name = "intake"
agent = "i"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
tags.tests = { values = ["new", "none"], default = "none" }
gates = [{ human = "These?" }]
[[stage]]
name = "build"
each = "tasks"
at_once = 3
items_max = 4
  [[stage.stage]]
  name = "make"
  agent = "m"
[[stage]]
name = "look-back"
agent = "l"
"#;

fn given(flow: &str, items: Vec<Item>) -> Start {
    let mut start = start_of("f", &[("f", flow)], &[]);
    start.lists.insert("tasks".to_owned(), items);
    start
}

#[test]
fn a_list_that_is_known_skips_who_would_report_it_and_what_comes_before() {
    let items = vec![writes("A-1", "a"), after(writes("A-2", "b"), "A-1")];
    let world = World::of(given(FLOW, items)).played();
    world.is(&Phase::Over(End::Done));
    world.says("intake skipped");
    world.says("split skipped");
    world.before("build.A-1/make done", "build.A-2/make#1 started");
    world.before("build done", "look-back#1 started");
    world.never_says("asks about");
    let item = world.run.item(&"build.A-1/make".parse::<UnitId>().unwrap().scope).unwrap();
    assert_eq!(item.tags["tests"], "none", "and it has the tags by default");
}

#[test]
fn a_list_that_is_known_is_checked_like_one_that_is_reported() {
    let refused = |items| World::of(given(FLOW, items)).refused().to_string();
    let wrong = tag(writes("A", "a"), "tests", "some");
    assert_eq!(
        refused(vec![wrong]),
        "the list `tasks` is not valid: `A` has the tag `tests` = `some`; possible: new, none"
    );
    assert_eq!(
        refused(vec![after(writes("A", "a"), "B")]),
        "the list `tasks` is not valid: `A` waits for an item that is not listed"
    );
}

#[test]
fn a_flow_that_does_not_say_so_takes_no_list() {
    let flow = FLOW.replace("lists = [\"tasks\"]", "");
    let refused = World::of(given(&flow, vec![writes("A", "a")])).refused().to_string();
    assert_eq!(refused, "the flow `f` cannot be started with the list `tasks`");
}

#[test]
fn a_run_with_a_list_that_is_known_survives_a_crash_after_every_record() {
    World::of(given(FLOW, vec![writes("A", "a"), writes("B", "b")])).survives_every_crash();
}
