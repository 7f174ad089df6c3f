//! What is not a flow, and says why.

use std::collections::BTreeMap;

use forge_core::flow::{CallsMax, Flow};

fn refused_of(name: &str, texts: &[(&str, &str)]) -> String {
    let own = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
    let texts: BTreeMap<String, String> = texts.iter().map(own).collect();
    Flow::parse(name, &texts).unwrap_err().to_string()
}

/// What is wrong with a flow `f` that consists of this.
fn refused(text: &str) -> String {
    refused_of("f", &[("f", &format!("name = \"f\"\n{text}"))])
}

/// What is wrong with a stage `s` that says this.
fn stage(text: &str) -> String {
    refused(&format!("[[stage]]\nname = \"s\"\n{text}"))
}

#[test]
fn a_flow_must_be_there_and_say_its_name_and_format() {
    assert_eq!(refused_of("g", &[]), "flow `g`: unknown flow `g`");
    assert_eq!(
        refused_of("a b", &[("a b", "name = \"a b\"\n")]),
        "flow `a b`: its name is not plain"
    );
    assert_eq!(
        refused_of("f", &[("f", "name = \"g\"\n")]),
        "flow `f`: its `name` is `g`, but its file is named `f`"
    );
    assert_eq!(refused(""), "flow `f`: it has no stages");
    assert_eq!(refused("format = 2"), "flow `f`: it has format 2, but this version reads format 1");
}

#[test]
fn flows_may_use_each_other_but_not_in_a_circle_nor_too_deep() {
    let uses = |name: &str, other: &str| {
        format!("name = \"{name}\"\n[[stage]]\nname = \"s\"\nflow = \"{other}\"\n")
    };
    assert_eq!(
        refused_of("a", &[("a", &uses("a", "b")), ("b", &uses("b", "a"))]),
        "flow `b`: it uses `a`, which uses it"
    );
    assert_eq!(refused_of("a", &[("a", &uses("a", "b"))]), "flow `a`: unknown flow `b`");
    let last = "name = \"e\"\n[[stage]]\nname = \"s\"\nagent = \"x\"\n";
    let texts = [
        ("a", &*uses("a", "b")),
        ("b", &*uses("b", "c")),
        ("c", &*uses("c", "d")),
        ("d", &*uses("d", "e")),
        ("e", last),
    ];
    assert_eq!(refused_of("a", &texts), "flow `e`: stage `s` is nested in too many tables");
    assert_eq!(Flow::uses("a", &uses("a", "b")).unwrap(), ["b"]);
}

#[test]
fn the_form_is_wrong_on_a_line() {
    assert_eq!(
        refused("\n[[stage]]\nname = \"s\"\nagnet = \"x\"\n").split(", expected").next().unwrap(),
        "flow `f`, line 5: unknown field `agnet`"
    );
    assert_eq!(
        stage("agent = \"x\"\nwhen = 3"),
        "flow `f`, line 5: a condition is { param = \"…\", is = [\"…\"] } or { item = \"…\", is = [\"…\"] }, or a list of them"
    );
    assert_eq!(
        stage("agent = \"x\"\nbudget = 2.5"),
        "flow `f`, line 5: an amount in dollars: a whole number, or a text such as \"2.50\""
    );
}

#[test]
fn parameters_have_plain_names_and_a_default() {
    assert_eq!(
        refused(
            "[params]\n\"a b\" = { values = [\"x\"], default = \"x\" }\n[[stage]]\nname = \"s\"\nagent = \"x\""
        ),
        "flow `f`: `a b` is not a plain name"
    );
    assert_eq!(
        refused(
            "[params]\np = { values = [\"x\"], default = \"y\" }\n[[stage]]\nname = \"s\"\nagent = \"x\""
        ),
        "flow `f`: the default of `p` is not one of its values"
    );
}

#[test]
fn stages_have_names_work_and_bounds() {
    let after_s = |text: &str| format!("flow `f`: stage `s` {text}");
    for (text, problem) in [
        ("", "has neither work nor gates"),
        (
            "agent = \"x\"\ncommand = \"y\"",
            "has more than one of `agent`, `command`, `each`, `flow` and `deliver`",
        ),
        ("agent = \"x y\"", "has the role `x y`, which is not a plain name"),
        (
            "agent = \"x\"\nat_once = 2",
            "has `at_once`, `items_max`, `items_min`, `order`, `stuck`, `pipelines` or a table inside, but no `each`",
        ),
        ("each = \"l\"", "goes over a list, but has no table inside"),
        ("each = \"l\"\nat_once = 0", "has at_once = 0, which is not between 1 and 1024"),
        ("each = \"l\"\nat_once = 1025", "has at_once = 1025, which is not between 1 and 1024"),
        ("each = \"l\"\nitems_max = 3001", "has items_max = 3001, which is not between 1 and 3000"),
        ("agent = \"x\"\nrounds = 21", "has rounds = 21, which is not between 0 and 20"),
        ("agent = \"x\"\nmisses = 0", "has misses = 0, which is not between 1 and 10"),
        (
            "agent = \"x\"\nbudget = \"two\"",
            "has budget = \"two\", which is not an amount such as \"2.50\"",
        ),
        ("agent = \"x\"\ngates_first = true", "has `gates_first`, but no gates"),
        ("agent = \"x\"\nafter = [\"y\"]", "waits for `y`, which is not a stage above it"),
        (
            "agent = \"x\"\nwhen = { param = \"p\", is = [] }",
            "has a condition that can never hold: `is` is empty",
        ),
        (
            "agent = \"x\"\nwhen = { is = [\"a\"] }",
            "has a condition without exactly one of `param` and `item`",
        ),
        (
            "agent = \"x\"\nwhen = { param = \"p\", is = [\"a\"] }",
            "has a condition on `p`, which is not a parameter of the flow",
        ),
        ("agent = \"x\"\nreads = [\"y.md\"]", "reads `y.md` before any stage writes it"),
        (
            "agent = \"x\"\nreads = [\"../y.md\"]",
            "reads `../y.md`, which is not a plain relative file name",
        ),
        (
            "agent = \"x\"\nwrites = [\"/y.md\"]",
            "writes `/y.md`, which is not a plain relative file name",
        ),
        (
            "agent = \"x\"\nwrites = [\"*.md\"]",
            "writes `*.md`, which is not a plain relative file name",
        ),
        ("agent = \"x\"\nwrites = [\"request.md\"]", "writes `request.md`, which is the user's"),
        (
            "agent = \"x\"\nwrites = [\"request.md/y.md\"]",
            "writes `request.md/y.md`, but `request.md` is a file of this flow and cannot be a folder",
        ),
        (
            "agent = \"x\"\nwrites = [\"y/z/a.md\", \"y\"]",
            "writes `y/z/a.md`, but `y` is a file of this flow and cannot be a folder",
        ),
        (
            "deliver = \"summary\"\nlist = \"l\"",
            "has `list = \"l\"`, but only an agent or a command reports a list",
        ),
        (
            "gates = [{ human = \"?\" }]\nlist = \"l\"",
            "has `list = \"l\"`, but only an agent or a command reports a list",
        ),
        (
            "each = \"l\"\n[[stage.stage]]\nname = \"t\"\nagent = \"x\"",
            "has `each = \"l\"`, but no stage before it has `list = \"l\"`",
        ),
    ] {
        assert_eq!(stage(text), after_s(problem));
    }
    assert_eq!(
        refused("[[stage]]\nname = \"a.b\"\nagent = \"x\""),
        "flow `f`: stage `a.b` has a name that is not plain (a letter or digit, then at most 39 letters, digits, `-` or `_`)"
    );
    assert_eq!(
        refused("[[stage]]\nname = \"s\"\nagent = \"x\"\n[[stage]]\nname = \"s\"\nagent = \"x\""),
        after_s("has the name of a stage above it")
    );
    assert_eq!(
        refused(
            "[params]\np = { values = [\"a\"], default = \"a\" }\n[[stage]]\nname = \"s\"\nagent = \"x\"\nwhen = { param = \"p\", is = [\"b\"] }"
        ),
        after_s("has a condition on `p` = `b`, which it can never be")
    );
}

#[test]
fn a_condition_on_a_tag_needs_an_item() {
    let tag = "when = { item = \"risk\", is = [\"high\"] }";
    let problem = "has a condition on the item's `risk`, but is not inside a table with items";
    assert_eq!(stage(&format!("agent = \"x\"\n{tag}")), format!("flow `f`: stage `s` {problem}"));
    let gate = format!("gates = [{{ review = \"y\", {tag} }}]");
    assert_eq!(stage(&format!("agent = \"x\"\n{gate}")), format!("flow `f`: stage `s` {problem}"));
    // A stage that goes over items is not itself in their table.
    let plan = "[[stage]]\nname = \"plan\"\nagent = \"x\"\nlist = \"l\"\n";
    let inner = "[[stage.stage]]\nname = \"t\"\nagent = \"x\"\n";
    let each = |outer: &str, inner_tag: &str| {
        format!("{plan}[[stage]]\nname = \"s\"\neach = \"l\"\n{outer}\n{inner}{inner_tag}")
    };
    assert_eq!(refused(&each(tag, "")), format!("flow `f`: stage `s` {problem}"));
    assert_eq!(refused(&each(&gate, "")), format!("flow `f`: stage `s` {problem}"));
    let read = |text: &str, other: &str| {
        let texts = [
            ("f".to_owned(), format!("name = \"f\"\n{text}")),
            ("g".to_owned(), format!("name = \"g\"\n{other}")),
        ];
        Flow::parse("f", &texts.into()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(read(&each("", tag), ""), Ok(()));
    // A flow that is used as a stage has the items of the place where it is used.
    let used = format!("[[stage]]\nname = \"t\"\nagent = \"x\"\n{tag}");
    let in_each = format!(
        "{plan}[[stage]]\nname = \"s\"\neach = \"l\"\n[[stage.stage]]\nname = \"u\"\nflow = \"g\""
    );
    assert_eq!(read(&in_each, &used), Ok(()));
    assert_eq!(
        read("[[stage]]\nname = \"u\"\nflow = \"g\"", &used),
        Err(format!("flow `f`: stage `t` {problem}"))
    );
}

#[test]
fn conditions_of_one_row_must_be_able_to_hold_together() {
    let text = |when: &str| {
        let params = "[params]\np = { values = [\"a\", \"b\", \"c\"], default = \"a\" }";
        format!("{params}\n[[stage]]\nname = \"s\"\nagent = \"x\"\nwhen = [{when}]")
    };
    let problem = "has conditions on the parameter `p` that can never hold together";
    for when in [
        "{ param = \"p\", is = [\"a\"] }, { param = \"p\", is = [\"b\", \"c\"] }",
        // Any two have a value in common, but not all three.
        "{ param = \"p\", is = [\"a\", \"b\"] }, { param = \"p\", is = [\"b\", \"c\"] }, { param = \"p\", is = [\"a\", \"c\"] }",
    ] {
        assert_eq!(refused(&text(when)), format!("flow `f`: stage `s` {problem}"));
    }
    let overlap = "{ param = \"p\", is = [\"a\", \"b\"] }, { param = \"p\", is = [\"b\", \"c\"] }";
    let texts = [("f".to_owned(), format!("name = \"f\"\n{}", text(overlap)))];
    assert!(Flow::parse("f", &texts.into()).is_ok());
    let tags = "{ item = \"risk\", is = [\"low\"] }, { item = \"risk\", is = [\"high\"] }";
    assert_eq!(
        refused(&format!(
            "[[stage]]\nname = \"plan\"\nagent = \"x\"\nlist = \"l\"\n[[stage]]\nname = \"s\"\neach = \"l\"\n[[stage.stage]]\nname = \"t\"\nagent = \"x\"\nwhen = [{tags}]"
        )),
        "flow `f`: stage `t` has conditions on the tag `risk` that can never hold together"
    );
}

#[test]
fn a_file_of_one_stage_is_no_folder_of_another() {
    let flow = r#"
[[stage]]
name = "a"
agent = "x"
writes = ["notes/one.md"]
[[stage]]
name = "b"
after = []
agent = "y"
gates = [{ review = "critic", writes = ["notes"] }]
"#;
    assert_eq!(
        refused(flow),
        "flow `f`: stage `a` writes `notes/one.md`, but `notes` is a file of this flow and cannot be a folder"
    );
}

#[test]
fn gates_have_one_check_and_a_name_of_their_own() {
    for (gates, problem) in [
        (
            "{ name = \"x\" }",
            "has a gate without exactly one of `artifact`, `command`, `review`, `human`, `verify`, `land` and `check`",
        ),
        (
            "{ verify = false }",
            "has a gate without exactly one of `artifact`, `command`, `review`, `human`, `verify`, `land` and `check`",
        ),
        (
            "{ review = \"a\", verify = true }",
            "has a gate without exactly one of `artifact`, `command`, `review`, `human`, `verify`, `land` and `check`",
        ),
        ("{ name = \"a b\", verify = true }", "has a gate called `a b`, which is not a plain name"),
        (
            "{ name = \"a\", review = \"../x\" }",
            "is reviewed by `../x`, which is not a plain name of a role",
        ),
        (
            "{ verify = true, auto = true }",
            "has a gate `verify` with `auto`, which only a human gate can have",
        ),
        (
            "{ human = \"?\", advisory = true }",
            "has an advisory gate `human`: a person, `verify` and `land` cannot be advisory",
        ),
        (
            "{ verify = true, advisory = true }",
            "has an advisory gate `verify`: a person, `verify` and `land` cannot be advisory",
        ),
        ("{ review = \"a\" }, { review = \"a\" }", "has two gates called `a`: give each a `name`"),
        ("{ artifact = \"x.md\" }", "has a gate for the artifact `x.md`, which it does not write"),
        (
            "{ review = \"a\", redo = \"later\" }",
            "has a gate `a` that sends back to `later`, which does not come before it",
        ),
        ("{ review = \"a\", reads = [\"x.md\"] }", "reads `x.md` before any stage writes it"),
        (
            "{ land = true }, { verify = true }",
            "has gates after `land`, but merged work is never sent back",
        ),
    ] {
        let text =
            format!("agent = \"x\"\ngates = [{gates}]\n[[stage]]\nname = \"later\"\nagent = \"y\"");
        assert_eq!(stage(&text), format!("flow `f`: stage `s` {problem}"));
    }
}

#[test]
fn a_gate_sends_back_only_to_what_surely_came_before() {
    let beside = r#"
[[stage]]
name = "a"
agent = "x"
[[stage]]
name = "b"
after = []
agent = "y"
gates = [{ review = "critic", redo = "a" }]
"#;
    assert_eq!(
        refused(beside),
        "flow `f`: stage `b` has a gate `critic` that sends back to `a`, which does not come before it"
    );
}

#[test]
fn a_name_that_is_used_twice_means_the_one_that_came_before() {
    use crate::world::{World, revises, writes};
    let flow = r#"
[[stage]]
name = "plan"
agent = "x"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
  [[stage.stage]]
  name = "make"
  agent = "y"
  gates = [{ review = "critic", redo = "plan" }]
  [[stage.stage]]
  name = "plan"
  agent = "z"
"#;
    let mut world = World::small(flow).list("plan", vec![writes("A", "a")]).begin();
    world.end("plan#1");
    world.end("build.A/make#1");
    world.rules("build.A/make#1/critic#1", revises(1));
    assert_eq!(world.calls(), ["plan#2"]);
}

#[test]
fn a_read_must_be_written_by_a_stage_that_is_surely_over() {
    let beside = r#"
[[stage]]
name = "a"
agent = "x"
writes = ["a.md"]
[[stage]]
name = "b"
after = []
agent = "y"
reads = ["a.md"]
"#;
    assert_eq!(refused(beside), "flow `f`: stage `b` reads `a.md` before any stage writes it");
}

#[test]
fn stages_that_wait_for_one_that_is_skipped_wait_for_what_came_before_it() {
    use crate::world::World;
    let flow = r#"
[params]
p = { values = ["a", "b"], default = "a" }
[[stage]]
name = "first"
agent = "x"
[[stage]]
name = "second"
when = { param = "p", is = ["b"] }
agent = "y"
[[stage]]
name = "third"
when = { param = "p", is = ["b"] }
agent = "y"
[[stage]]
name = "last"
agent = "z"
"#;
    let mut world = World::small(flow).begin();
    assert_eq!(world.calls(), ["first#1"]);
    world.end("first#1");
    assert_eq!(world.calls(), ["last#1"]);
}

#[test]
fn a_flow_knows_how_many_agent_calls_it_can_make() {
    let parse = |text: &str| {
        let texts = [("f".to_owned(), format!("name = \"f\"\n{text}"))].into();
        Flow::parse("f", &texts).unwrap()
    };
    // One agent and one review, three times, two tries each.
    let one = parse("[[stage]]\nname = \"s\"\nagent = \"x\"\ngates = [{ review = \"y\" }]");
    assert_eq!(one.calls_max(), CallsMax(12));
    // A landing that does not succeed sends `make` back once more than its rounds.
    let landing = parse(
        "[[stage]]\nname = \"make\"\nagent = \"x\"\n\
         [[stage]]\nname = \"commit\"\ngates = [{ land = true, redo = \"make\" }]",
    );
    assert_eq!(landing.calls_max(), CallsMax(8));
    let inside = parse(
        "[[stage]]\nname = \"split\"\nagent = \"x\"\nlist = \"t\"\nrounds = 0\n\
         [[stage]]\nname = \"all\"\neach = \"t\"\nitems_max = 1\n\
         [[stage.stage]]\nname = \"one\"\ncommand = \"true\"\n\
         gates = [{ land = true, redo = \"split\" }]",
    );
    assert_eq!(inside.calls_max(), CallsMax(4), "also one from inside an item");
    let none = parse("[[stage]]\nname = \"s\"\ncommand = \"x\"");
    assert_eq!(none.calls_max(), CallsMax(0));
    assert_eq!(one.roles(), ["x", "y"]);
}

#[test]
fn all_flows_of_the_families_can_be_read() {
    use crate::world::{FEATURE, MILESTONE, NESTED, SPRINT};
    let texts: BTreeMap<String, String> = [
        ("feature", FEATURE),
        ("sprint", SPRINT),
        ("milestone", MILESTONE),
        ("nested", NESTED),
        ("odd", include_str!("../flows/odd.toml")),
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .into();
    for name in texts.keys() {
        let flow = Flow::parse(name, &texts).unwrap();
        assert!(flow.calls_max().0 > 0);
    }
}

#[test]
fn names_mean_artifacts_with_stars_inside_one_folder() {
    use forge_core::flow::matches_name;
    assert!(matches_name("impl-*.md", "impl-T1.md"));
    assert!(matches_name("*", ""));
    assert!(!matches_name("impl-*.md", "impl-a/b.md"));
    assert!(!matches_name("impl-*.md", "impl-T1.txt"));
    assert!(matches_name("a*b*c", "aXbYbc"));
    assert!(matches_name("*/x-*.md", "a/x-1.md") && !matches_name("*/x", "a/b/x"));
    // A pattern of many stars takes no longer than one of few.
    let name = "a".repeat(60);
    for pattern in ["************x".to_owned(), format!("{}x", "*a".repeat(30))] {
        assert!(!matches_name(&pattern, &name));
        assert!(matches_name(&pattern, &format!("{name}x")));
    }
}
