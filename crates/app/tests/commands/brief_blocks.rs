//! The blocks of a brief (architecture, summaries, index, skills, a short role), what a retry is told, and keys of single phases.

use forge_api::watch::Briefing;
use serde_json::Value;

use crate::{
    code::project as code_project,
    reads::fits,
    record_runs::{project, run},
    world::{DONE, WAITS, WRONG, World, finish, has},
};

/// A sprint with three tasks, and documents about the architecture.
fn sprint(first: &str) -> World {
    let world = project(first, &[("implement", "src/greet")]);
    let settings = std::fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write(
        "forge.toml",
        format!("architecture = [\"docs/architecture\", \"STORE.md\"]\n{settings}"),
    );
    world.write(
        "docs/architecture/b.md",
        "# Doors\n\nAll that comes in\nis checked here.\n\nMore.\n",
    );
    world.write("docs/architecture/notes.txt", "no document\n");
    world.write("STORE.md", "# The store\n\nIt keeps words.\n");
    world.write("src/greet", "a first word\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "the documents"]);
    world.ok(&["sprint", "new", "First"]);
    for (title, path) in [("Part", "src/part"), ("Greet", "src/greet"), ("Wave", "src/wave")] {
        world.ok(&["task", "new", title, "sprintId=ACME-S01", &format!("writes={path}")]);
    }
    world.ok(&["task", "set", "ACME-S01-T02", "dependencies=ACME-S01-T01"]);
    // Otherwise the second one has to wait.
    for state in [
        "planned",
        "plan-approved",
        "implementing",
        "implemented",
        "review-approved",
        "approved",
        "committed",
    ] {
        world.ok(&["task", "move", "ACME-S01-T01", state]);
    }
    world
}

fn lacks(text: &str, unwanted: &[&str]) {
    for part in unwanted {
        assert!(!text.contains(part), "`{part}` is in\n{text}");
    }
}

#[test]
fn a_brief_has_the_architecture_the_records_around_the_task_and_what_phases_before_it_say() {
    let world = sprint("");
    let said = run(&world, "ACME-S01-T02", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let id = world.latest();
    let plan = world.brief(&id, "plan#1");
    has(
        &plan,
        &[
            "## The records of work around this\n\n\
             - `ACME-S01` sprint, planning: First\n\
             - `ACME-S01-T02` task, draft: Greet (this work)\n\
             - `ACME-S01-T01` task, committed: Part (comes before this work)\n\
             - `ACME-S01-T03` task, draft: Wave\n\n\
             Files that are there, of those that it may change:\n\n- `src/greet`\n",
            "- `docs/architecture/b.md` Doors: All that comes in is checked here.\n\
             - `STORE.md` The store: It keeps words.\n",
        ],
    );
    lacks(&plan, &["What the phases before this one say", "Your skills", "iteration", "notes.txt"]);
    let built = world.brief(&id, "implement#1");
    has(
        &built,
        &["## What the phases before this one say\n\n- `plan`: a plan\n", "implementing: Greet"],
    );
    let review = world.brief(&id, "implement#1/review-code#1");
    let skill = "- `try-without-the-change`: How to see whether a test fails without the change";
    has(
        &review,
        &[skill, "- `forge/skill-try-without-the-change.md`", "This is iteration 1 of 3."],
    );
    let name = "forge/skill-try-without-the-change.md";
    let read = ["brief", &id, "implement#1", "--gate", "review-code", "--inbox", name];
    has(&world.ok(&read), &["# Try without the change", "git apply --reverse"]);
    // The flow leaves it out there.
    lacks(&world.brief(&id, "implement#1/validate#1"), &["The project's architecture"]);
    let json = world.ok(&["brief", &id, "implement#1", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    fits(schemars::schema_for!(Briefing), &json);
}

#[test]
fn an_agent_that_leaves_nothing_gets_a_simplified_brief_and_then_the_task_is_escalated() {
    let world =
        sprint("[[play]]\nrole = \"engineer\"\nsay = [\"no idea\"]\nno_result = true\nexit = 3\n");
    let said = run(&world, "ACME-S01-T02", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    let id = world.latest();
    has(&world.brief(&id, "implement#1"), &["The project's architecture", "- `plan`: a plan"]);
    let again = world.brief(&id, "implement#2");
    let start = "This was tried before, and the try ended without a result. A result is a must";
    assert!(again.starts_with(start), "{again}");
    has(&again, &["You build one task", "## Why the previous attempt did not count"]);
    lacks(
        &again,
        &["The project's architecture", "What the phases before", "The records of work around"],
    );
    has(&world.ok(&["log", &id, "-vv"]), &["implement#2 started, with a simplified brief"]);
    let shown = world.ok(&["task", "show", "ACME-S01-T02"]);
    has(
        &shown,
        &[
            "escalated",
            "The agent failed twice",
            "to continue            forge status ",
            "after that run         forge task unblock ACME-S01-T02 \"WHY\"",
        ],
    );
}

#[test]
fn a_review_is_told_its_iteration_and_what_came_before() {
    let world = sprint(
        "[[play]]\nrole = \"supervisor\"\nattempt = 1\n\
         artifacts = { \"CODE_REVIEW.md\" = \"revise\\n\" }\n\
         result = { summary = \"no\", verdict = \"revise\", findings = [{ severity = \"major\", what = \"no\", path = \"src/main\", line = 1 }] }\n",
    );
    let said = run(&world, "ACME-S01-T02", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let id = world.latest();
    let second = world.brief(&id, "implement#2/review-code#1");
    has(&second, &["This is iteration 2 of 3; last: revision by `review-code`."]);
    has(
        &world.brief(&id, "implement#2"),
        &["Sent back by `review-code`: revision 1 of at most 2."],
    );
}

#[test]
fn what_is_too_much_for_a_brief_is_counted() {
    let world = project("", &[("implement", "src/many/new")]);
    let settings = std::fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("architecture = [\"docs\"]\n{settings}"));
    for n in 0..22 {
        world.write(&format!("docs/{n:02}.md"), format!("# Part {n}\n\n{}\n", "word ".repeat(100)));
    }
    for n in 0..45 {
        world.write(&format!("src/many/{n:02}"), "a word\n");
    }
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "much"]);
    world.ok(&["sprint", "new", "First"]);
    let title = "word ".repeat(18);
    for _ in 0..24 {
        world.ok(&["task", "new", &title, "sprintId=ACME-S01", "writes=src/many"]);
    }
    let said = run(&world, "ACME-S01-T24", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let brief = world.brief(&world.latest(), "plan#1");
    let part = |title: &str| {
        let after = brief.split(&format!("## {title}\n")).nth(1).unwrap();
        after.split("\n## ").next().unwrap().to_owned()
    };
    let index = part("The records of work around this");
    has(&index, &["`ACME-S01` sprint", "`ACME-S01-T24` task, draft: word", "word…"]);
    has(&index, &["`src/many/39`\n- and 5 more", "- `ACME-S01-T18` task, draft:"]);
    assert_eq!(
        index.matches("- and 5 more").count(),
        2,
        "20 of 25 records, 40 of 45 files\n{index}"
    );
    lacks(&index, &["`ACME-S01-T19`", "`src/many/40`"]);
    let architecture = part("The project's architecture");
    has(&architecture, &["- `docs/19.md` Part 19: word word", "word…\n- and 2 more beside them"]);
    lacks(&architecture, &["docs/20.md"]);
    assert!(architecture.len() < 20 * 360, "{}", architecture.len());
}

/// One role that plans in one stage and builds in another, with a model for each phase.
const PHASES: &str = r#"
[[stage]]
name = "plan"
agent = "worker"
code = "reads"
model = "small-1"
brief = { role = "short", without = ["skills"] }
reads = ["request.md"]
writes = ["PLAN.md"]
[[stage]]
name = "build"
agent = "worker"
reads = ["PLAN.md"]
brief = { without = ["summaries"] }
gates = [{ check = "changes" }, { verify = true }, { review = "reader", model = "large-1" }, { land = true }]
"#;

/// The worker changes code in every stage.
const PHASE_PLAYS: &str = r#"
[[play]]
role = "worker"
append = { "src/a.txt" = "two\n" }
artifacts = { "PLAN.md" = "a plan\n" }
result = { summary = "worked", commit = "Work" }
[[play]]
role = "reader"
result = { summary = "good", verdict = "pass", findings = [] }
"#;

fn phases() -> World {
    let world = code_project("[roles.worker]\nmodel = \"usual-1\"");
    world.flow("phases", PHASES);
    world.write(
        ".forge/roles/worker.md",
        "+++\ncode = \"writes\"\nmust = [\"commit\"]\nskills = [\"greeting\"]\n+++\nYou work.\n\nYou work well.\n",
    );
    world.write(".forge/skills/greeting.md", "# Greeting\n\nHow we greet. With a word.\n");
    world.scenario(PHASE_PLAYS);
    world
}

#[test]
fn a_stage_may_only_read_with_a_role_that_writes_and_has_a_model_and_a_brief_of_its_own() {
    let world = phases();
    has(
        &world.ok(&["flow", "show", "phases"]),
        &["agent as worker (small-1), without changing code"],
    );
    let dry = world.run("phases", &["--dry-run"]).out;
    has(&dry, &["scripted (small-1)", "scripted (usual-1)", "scripted (large-1)"]);
    let said = world.run("phases", &["--auto", "--yes"]);
    let id = world.latest();
    assert_eq!(said.code, DONE, "{said}");
    let plan = world.brief(&id, "plan#1");
    has(
        &plan,
        &[
            "You work.\n\nThe rest of your instructions",
            "- `forge/role.md`",
            "Its files are read-only",
        ],
    );
    lacks(&plan, &["You work well.", "How we greet", "commit   a commit message"]);
    has(&world.ok(&["brief", &id, "plan#1", "--inbox", "forge/role.md"]), &["You work well."]);
    let build = world.brief(&id, "build#1");
    has(&build, &["You work well.", "- `greeting`: How we greet. In full:", "a commit message"]);
    lacks(&build, &["What the phases before this one say"]);
    has(&world.ok(&["brief", &id, "plan#1"]), &["agent scripted (small-1)"]);
    let facts = world.facts(&id);
    let asked: Vec<&str> = facts
        .iter()
        .filter_map(|fact| fact["attempt_ended"]["receipt"]["used"]["asked_for"].as_str())
        .collect();
    assert_eq!(asked, ["small-1", "usual-1"], "the receipt of each call keeps its model");
    let commits =
        facts.iter().filter(|fact| fact["attempt_ended"]["receipt"]["commit"].is_string());
    assert_eq!(commits.count(), 1, "what the plan changed is no commit");
    let over = world.run("phases", &["--dry-run", "--model", "one-1"]).out;
    has(&over, &["scripted (one-1)"]);
    lacks(&over, &["small-1", "usual-1", "large-1"]);
}

#[test]
fn what_does_not_exist_is_found_out_before_a_run_starts() {
    let world = phases();
    world.write(
        ".forge/roles/worker.md",
        "+++\ncode = \"writes\"\nskills = [\"greting\"]\n+++\nYou work.\n",
    );
    let wrong = "the role `worker` has the skill `greting`, but no file defines it; did you mean `greeting`?";
    let checked = world.forge(&["flow", "check", "phases"]);
    assert_ne!(checked.code, DONE, "{checked}");
    has(&checked.all(), &[wrong]);
    let said = world.run("phases", &["--yes"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &[wrong, "help: create .forge/skills/greting.md"]);
    let world = phases();
    world.write(
        "forge.toml",
        "architecture = [\"docs/none\"]\n[agents.scripted]\nscenario = \"play.toml\"\n",
    );
    let said = world.run("phases", &["--yes"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["`architecture` names `docs/none`, but ", "has no document there"]);
    let world = phases();
    world.commit();
    world.write(".forge/skills/greeting.md", "How we greet now.\n");
    let said = finish(&mut world.command_as_it_is(&["run", "--flow", "phases", "greet"]));
    has(&said.err, &["the skill `greeting` has uncommitted changes", "git add .forge"]);
}
