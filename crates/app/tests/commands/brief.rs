//! What an agent was told, word for word, while it works and afterwards.

use std::fs;

use forge_api::watch::Briefing;
use forge_core::id::CallId;
use serde_json::Value;

use crate::{
    code::{CHECKED, project},
    reads::fits,
    world::{CONTENT, DONE, WAITS, World, has},
};

fn waiting() -> (World, String) {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    (world, run)
}

#[test]
fn the_last_attempt_of_a_unit_is_shown_unless_another_call_is_named() {
    let (world, run) = waiting();
    world.ok(&["answer", &run, "Q1", "revise", "Shorter, please."]);
    assert_eq!(world.forge(&["resume", &run]).code, WAITS);
    for (more, call) in [
        (&["write"][..], "write#2"),
        (&["write", "--attempt", "2"], "write#2"),
        (&["write", "--attempt", "1"], "write#1"),
        (&["write", "--gate", "review"], "write#2/review#1"),
        (&["write", "--attempt", "1", "--gate", "review"], "write#1/review#1"),
        (&["write#1"], "write#1"),
        (&["write#1", "--gate", "review"], "write#1/review#1"),
        (&["review#1"], "write#2/review#1"),
    ] {
        let shown = world.ok(&[&["brief", &run], more].concat());
        let label = call.parse::<CallId>().unwrap().label();
        has(&shown, &[&format!("--- {label}, "), "agent scripted"]);
        has(&shown, &[world.brief(&run, call).trim_end(), "request.md"]);
        let json = world.ok(&[&["brief", &run, "--json"], more].concat());
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["call"], call, "{more:?}");
        assert_eq!(json["turns"][0]["brief"], world.brief(&run, call));
        fits(schemars::schema_for!(Briefing), &json);
    }
    has(&world.ok(&["brief", &run, "write", "--attempt", "2"]), &["Shorter, please."]);
}

#[test]
fn an_agent_whose_result_had_a_flaw_finds_its_files_in_its_outbox() {
    let world = World::new();
    world.scenario(
        r##"
[[play]]
role = "writer"
attempt = 1
artifacts = { "draft.md" = "# A long draft\n" }
result_text = "{ not JSON"
[[play]]
role = "writer"
result = { summary = "wrote a draft", shown = { approach = "short", risk = "low" } }
[[play]]
role = "reviewer"
artifacts = { "review.md" = "PASS\n" }
result = { verdict = "pass", findings = [] }
"##,
    );
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    assert!(!world.brief(&run, "write#1").contains("in your outbox already"));
    has(&world.brief(&run, "write#2"), &["## What is in your outbox already", "`draft.md`"]);
    has(&world.ok(&["show", &run, "draft.md"]), &["A long draft"]);
}

#[test]
fn what_an_agent_could_read_is_listed_with_its_size_and_printed_as_it_is() {
    let (world, run) = waiting();
    let shown = world.ok(&["brief", &run, "write", "--attempt", "1"]);
    has(&shown, &["--- its inbox", "5 B  request.md"]);
    let printed = world.ok(&["brief", &run, "write#1", "--inbox", "request.md"]);
    assert_eq!(printed.trim_end(), "do it");
    let refused = world.refused(&["brief", &run, "write#1", "--inbox", "requst.md"]);
    has(&refused, &["has no `requst.md`; did you mean `request.md`?", "help: forge brief"]);
    for outside in ["../outbox/result.json", "/etc/passwd", "", ".."] {
        has(&world.refused(&["brief", &run, "write#1", "--inbox", outside]), &["has no `"]);
    }
}

#[test]
fn a_repair_turn_is_told_apart() {
    let world = World::new();
    world.scenario(
        "[[play]]\nrole = \"writer\"\nresult = { summary = \"no file\" }\n\
         [[play]]\nrole = \"reviewer\"\nresult = { summary = \"fine\", verdict = \"pass\", findings = [] }\n",
    );
    let said = world.run("draft", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    let folder = world.attempt(&run, "write#1");
    // The scripted agent has no sessions to mend a result in; what a repair leaves is put there.
    let repair = folder.join("steps/repair");
    fs::create_dir_all(&repair).unwrap();
    fs::write(repair.join("brief.md"), "Mend it.\n").unwrap();
    let shown = world.ok(&["brief", &run, "write#1"]);
    has(&shown, &["--- write, writer, agent scripted: first turn", "repair turn", "Mend it."]);
}

#[test]
fn what_is_gone_or_was_never_there_is_said() {
    let (world, run) = waiting();
    has(&world.refused(&["brief", &run, "wirte"]), &["has no task or stage `wirte`", "`write`?"]);
    let refused = world.refused(&["brief", &run, "write", "--attempt", "7"]);
    has(&refused, &["no agent was started for write at attempt 7 yet", "help: forge status"]);
    fs::remove_dir_all(world.checkouts(&run).join("boxes")).unwrap();
    has(&world.ok(&["brief", &run, "write#1"]), &["You write", "--- its inbox is gone"]);
    fs::remove_dir_all(world.attempt(&run, "write#1")).unwrap();
    has(
        &world.refused(&["brief", &run, "write#1"]),
        &["the brief of write was removed by `forge clean`", "help:"],
    );
}

#[test]
fn of_an_attempt_that_is_due_and_has_not_begun_the_one_before_is_shown_and_that_is_said() {
    let (world, run) = waiting();
    world.ok(&["answer", &run, "Q1", "revise", "Shorter, please."]);
    // Nobody drives it: the second attempt is wanted, and that is all.
    let shown = world.ok(&["brief", &run, "write"]);
    has(&shown, &["write (attempt 2) has not started yet", "--- write, "]);
    assert!(!shown.contains("gone"), "{shown}");
    let json: Value = serde_json::from_str(&world.ok(&["brief", &run, "write", "--json"])).unwrap();
    assert_eq!((&json["call"], &json["due"]), (&"write#1".into(), &"write#2".into()));
    fits(schemars::schema_for!(Briefing), &json);
    for named in [&["write#2"][..], &["write", "--attempt", "2"]] {
        let refused = world.refused(&[&["brief", &run], named].concat());
        has(&refused, &["write#2 has not started yet", "help: forge brief", "write#1"]);
    }
    has(&world.ok(&["brief", &run, "write#1"]), &["--- write, "]);
    assert_eq!(world.forge(&["resume", &run]).code, WAITS);
    let shown = world.ok(&["brief", &run, "write"]);
    assert!(!shown.contains("is due"), "{shown}");
}

#[test]
fn a_command_was_told_nothing() {
    let world = World::new();
    world.flow("line", "[[stage]]\nname = \"make\"\ncommand = \"true\"\n");
    assert_eq!(world.run("line", &[]).code, DONE);
    let run = world.latest();
    has(
        &world.refused(&["brief", &run, "make"]),
        &["make#1 is not an agent's", "help: forge watch"],
    );
}

#[test]
fn an_agent_that_lists_items_is_told_which_tags_they_have() {
    let world = project(CHECKED);
    world.flow(
        "triage",
        "[[stage]]\nname = \"triage\"\nagent = \"planner\"\nlist = \"bugs\"\n\
         tags.area = { values = [\"core\", \"app\"] }\n\
         tags.route = { values = [\"A\", \"B\"], default = \"B\" }\n\
         [[stage]]\nname = \"fix\"\neach = \"bugs\"\n\
         [[stage.stage]]\nname = \"look\"\ncommand = \"true\"\n",
    );
    world.scenario(
        "[[play]]\nattempt = 1\nresult = { lists = { bugs = [{ id = \"B1\", title = \"one\" }] } }\n\
         [[play]]\nresult = { lists = { bugs = [{ id = \"B1\", title = \"one\", tags = { area = \"app\" } }] } }\n",
    );
    assert_eq!(world.run("triage", &[]).code, DONE);
    let run = world.latest();
    let told =
        "tags: area is \"core\" or \"app\"; route is \"A\" or \"B\" (\"B\" if you leave it out)";
    has(&world.brief(&run, "triage#1"), &[told]);
    has(&world.brief(&run, "triage#2"), &["`B1` has no tag `area`; possible: core, app"]);
}
