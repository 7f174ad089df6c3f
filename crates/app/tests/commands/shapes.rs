//! What a flow can say, from the file to the end of the run.

use std::fs;

use crate::world::{DONE, WAITS, World, has};

#[test]
fn a_flow_inside_a_flow_hands_on_what_it_wrote() {
    let world = World::new();
    world.roles(&["writer"]);
    world.flow("inner", "[[stage]]\nname = \"write\"\nagent = \"writer\"\nreads = [\"request.md\"]\nwrites = [\"notes.md\"]\n");
    world.flow(
        "outer",
        "[[stage]]\nname = \"prepare\"\nflow = \"inner\"\n\
         [[stage]]\nname = \"use\"\ncommand = \"cat $FORGE_INBOX/prepare.inner/notes.md > seen\"\nreads = [\"notes.md\"]\n",
    );
    world.scenario(
        "[[play]]\nrole = \"writer\"\nartifacts = { \"notes.md\" = \"from inside\\n\" }\n",
    );
    let said = world.run("outer", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["inner write started"]);
    let run = world.latest();
    let seen = world.work(&run).join("seen");
    assert_eq!(fs::read_to_string(seen).unwrap(), "from inside\n");
}

#[test]
fn tables_inside_tables_go_over_the_items_that_agents_reported() {
    let world = World::new();
    world.roles(&["planner", "slicer", "worker"]);
    world.flow(
        "nested",
        r#"
[[stage]]
name = "plan"
agent = "planner"
list = "slices"
[[stage]]
name = "slices"
each = "slices"
at_once = 2
  [[stage.stage]]
  name = "cut"
  agent = "slicer"
  list = "tasks"
  [[stage.stage]]
  name = "tasks"
  each = "tasks"
    [[stage.stage.stage]]
    name = "work"
    agent = "worker"
    writes = ["{item}.md"]
    [[stage.stage.stage]]
    name = "careful"
    command = "true"
    when = { item = "risk", is = ["high"] }
"#,
    );
    world.scenario(
        r#"
[[play]]
role = "planner"
result = { lists = { slices = [{ id = "S1", title = "one", writes = ["a"] }, { id = "S2", title = "two", after = ["S1"], writes = ["b"] }] } }
[[play]]
role = "slicer"
result = { lists = { tasks = [{ id = "T1", title = "one", tags = { risk = "high" } }, { id = "T2", title = "two" }] } }
[[play]]
role = "worker"
run = 'for item in T1 T2; do echo work > "$FORGE_OUTBOX/$item.md"; done'
"#,
    );
    let said = world.run("nested", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    let story = world.story(&run);
    let has_line = |text: &str| {
        story
            .iter()
            .position(|line| line.contains(text))
            .unwrap_or_else(|| panic!("no `{text}` in {story:#?}"))
    };
    assert!(
        has_line("slices.S1/tasks.T2/work#1 started") < has_line("slices.S2/cut#1 started"),
        "S2 waits for S1"
    );
    has_line("slices.S2/tasks.T1/careful#1 started");
    has_line("slices.S2/tasks.T2/careful skipped");
    let status = world.ok(&["status", &run]);
    has(&status, &["2 of 2 tasks"]);
    assert!(
        world.place().join(format!("runs/{run}/artifacts/slices.S1/tasks.T1/T1.md")).exists(),
        "{status}"
    );
    // No role of it says so: a stage with a list does.
    has(&world.brief(&run, "slices.S2/cut#1"), &["lists    {\"tasks\": [{id, title"]);
}

#[test]
fn gates_that_look_first_save_the_work_where_there_is_nothing_to_do() {
    let world = World::new();
    let flow = |check: &str| {
        format!(
            "[[stage]]\nname = \"mend\"\ngates_first = true\ncommand = \"touch $HOME/mended\"\ngates = [{{ name = \"checks\", command = \"{check}\" }}]\n"
        )
    };
    world.flow("green", &flow("true"));
    world.flow("red", &flow("test -e $HOME/mended"));
    let said = world.run("green", &[]);
    assert_eq!(said.code, DONE, "{said}");
    assert!(!world.beside("mended").exists());
    let said = world.run("red", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["checks did not pass", "mend sent back by checks", "mend (attempt 2)"]);
    assert!(world.beside("mended").exists());
}

#[test]
fn an_advisory_gate_notes_what_it_finds_and_stops_nothing() {
    let world = World::new();
    world.flow("advice", "[[stage]]\nname = \"a\"\ncommand = \"true\"\ngates = [{ name = \"style\", command = \"echo ugly; exit 1\", advisory = true }]\n");
    let said = world.run("advice", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["style is advisory; its findings are noted"]);
}

#[test]
fn parameters_skip_stages_and_gates_at_the_start_and_the_log_says_so() {
    let world = World::new();
    world.flow(
        "sized",
        r#"
[params]
effort = { values = ["S", "M"], default = "M" }
[[stage]]
name = "research"
command = "true"
when = { param = "effort", is = ["M"] }
[[stage]]
name = "build"
command = "true"
gates = [{ name = "ask", human = "Good?", when = { param = "effort", is = ["M"] } }]
"#,
    );
    let said = world.run("sized", &["--param", "effort=S"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["size S", "research skipped"]);
    assert!(world.story(&world.latest()).contains(&"build: ask skipped".to_owned()));
    let shown = world.ok(&["status", &world.latest()]);
    assert!(shown.contains("build") && !shown.contains("research"), "{shown}");
    assert_eq!(world.run("sized", &["--yes"]).code, WAITS);
    let refused = world.refused(&["run", "--flow", "sized", "do it", "--param", "effort=XL"]);
    has(&refused, &["`effort` can be S, M, not `XL`", "forge flow show sized"]);
    let refused = world.refused(&["run", "--flow", "sized", "do it", "--param", "size=S"]);
    has(&refused, &["no parameter `size`", "effort", "forge flow show sized"]);
    assert_eq!(world.ids().len(), 2);
}

#[test]
fn an_unlisted_artifact_is_not_in_the_inbox() {
    let world = World::new();
    world.flow(
        "two",
        "[[stage]]\nname = \"a\"\ncommand = \"echo x > $FORGE_OUTBOX/a.md; echo y > $FORGE_OUTBOX/b.md\"\nwrites = [\"a.md\", \"b.md\"]\n\
         [[stage]]\nname = \"b\"\ncommand = \"ls $FORGE_INBOX > listed\"\nreads = [\"a.md\"]\n",
    );
    let said = world.run("two", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let listed = world.work(&world.latest()).join("listed");
    assert_eq!(fs::read_to_string(listed).unwrap(), "a.md\n");
}

#[test]
fn items_that_write_apart_work_at_once_and_those_that_overlap_never_do() {
    let world = World::new();
    world.roles(&["planner"]);
    world.flow(
        "wide",
        r#"
[[stage]]
name = "plan"
agent = "planner"
list = "tasks"
[[stage]]
name = "tasks"
each = "tasks"
at_once = 3
  [[stage.stage]]
  name = "work"
  command = "true"
"#,
    );
    world.scenario(
        "[[play]]\nrole = \"planner\"\nresult = { lists = { tasks = [{ id = \"A\", title = \"\", writes = [\"src/a\"] }, { id = \"B\", title = \"\", writes = [\"src/b\"] }, { id = \"C\", title = \"\", writes = [\"src\"] }] } }\n",
    );
    let said = world.run("wide", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let story = world.story(&world.latest());
    let at = |text: &str| story.iter().position(|line| line.contains(text)).unwrap();
    assert!(at("tasks.B/work#1 started") < at("tasks.A/work#1 finished"), "{story:#?}");
    assert!(at("tasks.C/work#1 started") > at("tasks.A/work#1 finished"), "{story:#?}");
    assert!(at("tasks.C/work#1 started") > at("tasks.B/work#1 finished"), "{story:#?}");
}

#[test]
fn a_flow_inside_an_item_keeps_to_its_paths_and_a_look_around_it_sees_what_landed() {
    let world = crate::code::project(crate::code::CHECKED);
    world.flow(
        "inner",
        r#"
[[stage]]
name = "make"
agent = "worker"
gates = [{ check = "changes" }, { verify = true }, { check = "guarded" }, { land = true }]
"#,
    );
    world.flow(
        "sliced",
        r#"
[[stage]]
name = "plan"
agent = "planner"
list = "slices"
[[stage]]
name = "slices"
each = "slices"
  [[stage.stage]]
  name = "work"
  flow = "inner"
  [[stage.stage]]
  name = "look"
  command = "true"
  gates = [{ name = "review", review = "reader" }]
"#,
    );
    world.scenario(
        r#"
[[play]]
role = "planner"
result = { lists = { slices = [{ id = "S1", title = "one", writes = ["src/s.txt"] }, { id = "S2", title = "two", after = ["S1"], writes = ["src/t.txt"] }] } }
[[play]]
role = "worker"
run = 'case $FORGE_CALL in *S1*1) echo s > src/s.txt; echo o > src/o.txt;; *S1*) rm -f src/o.txt; echo s > src/s.txt;; *) echo t > src/t.txt;; esac'
result = { summary = "done" }
[[play]]
role = "reader"
result = { summary = "good", verdict = "pass", findings = [] }
"#,
    );
    let said = world.run("sliced", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["`src/o.txt` is outside what S1 may change (src/s.txt)"]);
    let run = world.latest();
    for (look, own, other) in [("S1", "src/s.txt", "src/t.txt"), ("S2", "src/t.txt", "src/s.txt")] {
        let inbox = world.boxes(&run, &format!("slices.{look}/look#1/review#1")).join("inbox");
        let diff = fs::read_to_string(inbox.join("change.diff")).unwrap();
        has(&diff, &[own]);
        assert!(!diff.contains(other), "{diff}");
    }
}
