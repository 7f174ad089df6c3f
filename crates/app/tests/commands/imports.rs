//! `forge import`: what three other systems left, taken over again and again, and what must not be.

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, path::Path};

use serde_json::Value;

use crate::world::{DONE, FAILED, World, has};

/// A store of the second predecessor with one record of each kind, which name each other.
fn store(world: &World) {
    let write = |path: &str, text: &str| drop(world.write(&format!(".forge/{path}"), text));
    write(
        "config.json",
        r#"{"version": "1.0", "project": {"prefix": "ACME", "name": "Acme", "description": "csv"},
            "paths": {"engineering": "engineering", "store": ".forge/store"},
            "commands": {"test": "make test", "lint": "make \"lint\"", "migrate": "make up"},
            "sprint": {"execution": {"mode": "sequential", "maxConcurrentAgents": 2}},
            "pipelines": {"short": {"phases": [{"command": "plan", "role": "plan"}]}}}"#,
    );
    write(
        "store/features/FEAT-001.json",
        r#"{"id": "FEAT-001", "title": "CSV export", "status": "active", "created_at": "2026-01-02T03:04:05Z",
            "requirements": ["quotes are kept"], "sprints": ["ACME-S01"], "tasks": []}"#,
    );
    write(
        "store/sprints/ACME-S01.json",
        r#"{"sprintId": "ACME-S01", "title": "First", "status": "active", "taskIds": ["ACME-S01-T01", "ACME-S01-T02"],
            "createdAt": "2026-01-02T03:04:05Z", "feature_id": "FEAT-001", "executionMode": "wave-parallel",
            "dependencies": {"ACME-S01-T01": ["ACME-S01-T02"]}, "humanEstimates": {"ACME-S01-T01": "2 days"}}"#,
    );
    write(
        "store/tasks/ACME-S01-T01.json",
        r#"{"taskId": "ACME-S01-T01", "sprintId": "ACME-S01", "title": "Parse the rows", "status": "implemented",
            "path": "engineering/sprints/ACME-S01/ACME-S01-T01", "feature_id": null, "pipeline": "short",
            "dependencies": ["ACME-S01-T02"], "estimate": "M",
            "summaries": {"plan": {"objective": "one pass", "verdict": "approved", "files_changed": ["a"]}}}"#,
    );
    write(
        "store/tasks/ACME-S01-T02.json",
        r#"{"taskId": "ACME-S01-T02", "sprintId": "ACME-S01", "title": "Parse the header", "status": "blocked", "path": "engineering/x"}"#,
    );
    for (own, other) in [("001", "002"), ("002", "001")] {
        write(
            &format!("store/bugs/ACME-BUG-{own}.json"),
            &format!(
                r#"{{"bugId": "ACME-BUG-{own}", "title": "Crash {own}", "severity": "major", "status": "triaged",
                    "path": "engineering/bugs/{own}", "reportedAt": "2026-01-02T03:04:05.678Z", "similarBugs": ["ACME-BUG-{other}"]}}"#
            ),
        );
    }
    write("store/events/bugs/e.json", "{}");
}

/// A workspace of the first predecessor.
fn workspace(world: &World, name: &str, phase: &str, status: &str) {
    let folder = format!(".specs/{name}");
    world.write(
        &format!("{folder}/state.json"),
        format!(
            r#"{{"version": 2, "specName": "add-csv", "currentPhase": "{phase}", "currentPhaseStatus": "{status}",
                "timestamps": {{"created": "2026-03-20T10:00:00.123456789Z", "lastUpdated": "2026-03-21T10:00:00Z"}}}}"#
        ),
    );
    world.write(
        &format!("{folder}/request.md"),
        "---\nsource_type: text\n---\n\n# Add CSV export\n\nAll rows.\n\n## Requirements\n\n- [ ] quotes are kept\n- no header\n\n## Out of scope\n\n- Excel\n",
    );
}

/// A project of the third predecessor: a milestone with two slices, a task beside it, decisions and memory.
fn project(world: &World) {
    let write = |path: &str, text: &str| drop(world.write(&format!(".gsd/{path}"), text));
    write(
        "milestones/M001/M001-ROADMAP.md",
        "# M001: Export\n\n## Vision\n\nPeople export what they see.\n\n## Slices\n\n- [x] **S01: The parser** `risk:high` `depends:[]`\n  - a file is read\n- [ ] **S02: The writer** `risk:low` `depends:[S01]`\n  - a file is written\n",
    );
    write(
        "milestones/M001/M001-STATE.md",
        "---\nmilestone: M001\n---\n**Active Slice:** S02\n**Phase:** plan-slice\n",
    );
    let slice = "milestones/M001/slices/S01";
    write(
        &format!("{slice}/S01-PLAN.md"),
        "---\nid: S01\nmilestone: M001\n---\n# S01: The parser\n\n## Goal\n\nRead each file.\n",
    );
    write(&format!("{slice}/S01-SUMMARY.md"), "done\n");
    write(
        "milestones/M001/slices/S02/S02-PLAN.md",
        "---\nid: S02\ndepends: [S01]\ntags: [csv]\n---\n# S02: The writer\n",
    );
    write("AUTO-MEMORY.md", "# Memory\n");
    write(
        &format!("{slice}/tasks/T01/T01-PLAN.md"),
        "---\nid: T01\nslice: S01\nmilestone: M001\ndepends: []\nwrites:\n  - src/parse.rs\ntier: heavy\nmust_haves:\n  truths:\n    - \"rows are read\"\n  artifacts:\n    - path: src/parse.rs\n      provides: the parser\n      min_lines: 20\n  key_links: []\n---\n# T01: Parse\n\n## Goal\n\nOne pass.\n",
    );
    write(&format!("{slice}/tasks/T01/T01-SUMMARY.md"), "done\n");
    write(
        &format!("{slice}/tasks/T02/T02-PLAN.md"),
        "---\nid: T02\ndepends: [T01]\nstatus: RUNNING\n---\n# T02: Test it\n",
    );
    write(
        "tasks/TASK-001/TASK-001-BRIEF.md",
        "---\nid: TASK-001\ndescription: Fix the typo\n---\n",
    );
    write(
        "decisions/M001.md",
        "---\nunit_id: M001\ndecisions:\n  - when: 2026-06-01\n    scope: parser\n    decision: How rows are read\n    choice: one pass\n    rationale: files are large\n    revisable: \"yes\"\n---\n",
    );
    write(
        "memory/M001__S01.md",
        "---\nfacts:\n  - mem_id: MEM001\n    category: gotcha\n    text: the last line may have no end\n  - mem_id: MEM002\n    text: it was wrong\nstats:\n  - kind: prune\n    mem_id: MEM002\n---\n",
    );
    write(
        "KNOWLEDGE.md",
        "# Knowledge\n\n## Review follow-ups\n\n- name the limit\n  in the help\n",
    );
}

/// All files below a folder with what is in them.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                all.insert(entry.path().display().to_string(), fs::read(entry.path()).unwrap());
            }
        }
    }
    all
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_store_of_the_second_predecessor_becomes_records_and_stays_as_it_is() {
    let world = World::named("acme");
    store(&world);
    let before = files(&world.repo.join(".forge"));
    let shown = world.forge(&["import"]);
    assert_eq!(shown.code, DONE, "{shown}");
    has(
        &shown.out,
        &[
            "Found .forge/store.",
            "new      feature  FEAT-001      active       CSV export",
            "new      sprint   ACME-S01      active       First",
            "new      task     ACME-S01-T01  implemented  Parse the rows",
            "new      bug      ACME-BUG-002  triaged      Crash 002",
            "commands = ['make \"lint\"', \"make test\"]",
            "at_once = 2",
            "6 new, 0 changed, 0 unchanged; 0 could not be imported.",
            "Nothing was written. Next: forge import --write",
        ],
    );
    has(
        &shown.err,
        &[
            "ids begin with `ACME` there",
            "no setting here for: commands.migrate",
            "left out: `summaries.plan.files_changed` (1)",
        ],
    );
    assert_eq!(files(&world.repo.join(".forge")), before, "it is only shown");
    assert!(!world.place().join("work.db").exists());

    let done = world.forge(&["import", "--write"]);
    assert_eq!(done.code, DONE, "{done}");
    let after = files(&world.repo.join(".forge"));
    assert!(before.iter().all(|(path, content)| after.get(path) == Some(content)));
    let task = json(&world.ok(&["task", "show", "ACME-S01-T01", "--json"]));
    assert_eq!(task["fields"]["summaries"]["plan"]["verdict"], "approved");
    assert_eq!(task["fields"]["dependencies"], json(r#"["ACME-S01-T02"]"#));
    let fact = &task["history"][0]["fact"]["imported"];
    assert_eq!(fact["source"], ".forge/store/tasks/ACME-S01-T01.json");
    assert_eq!(fact["sum"].as_str().unwrap().len(), 64);
    has(
        &world.ok(&["bug", "show", "ACME-BUG-001"]),
        &["similarBugs            ACME-BUG-002", "2026-01-02T03:04:05.678Z"],
    );
    has(
        &world.ok(&["sprint", "show", "ACME-S01"]),
        &["ACME-S01-T01: 2 days", "imported as active from .forge/store/sprints/ACME-S01.json"],
    );
    has(&world.ok(&["task", "unblock", "ACME-S01-T02", "it is here"]), &["draft"]);
    assert_eq!(world.forge(&["work", "check"]).code, DONE);
    // The next ids follow those that were imported.
    has(&world.ok(&["sprint", "new", "Second"]), &["ACME-S02"]);
}

#[test]
fn an_import_can_be_repeated_and_overwrites_no_change_that_was_made_here() {
    let world = World::named("acme");
    store(&world);
    world.ok(&["import", "--write"]);
    let records = files(&world.repo.join(".forge/work"));
    has(
        &world.ok(&["import", "--write"]),
        &["0 new, 0 changed, 6 unchanged; 0 could not be imported."],
    );
    assert_eq!(files(&world.repo.join(".forge/work")), records);
    let other = |path: &str, from: &str, to: &str| {
        let path = world.repo.join(".forge/store").join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    };
    // Changed there only, in a way that no command could.
    other("bugs/ACME-BUG-001.json", "triaged", "reported");
    other("tasks/ACME-S01-T01.json", "\"M\"", "\"L\"");
    has(
        &world.ok(&["import"]),
        &["changed  bug      ACME-BUG-001", "0 new, 2 changed, 4 unchanged"],
    );
    world.ok(&["import", "--write"]);
    has(&world.ok(&["bug", "list"]), &["ACME-BUG-001  reported"]);
    has(&world.ok(&["task", "show", "ACME-S01-T01"]), &["size                   L"]);
    // Changed here only: by a command, and by hand.
    world.ok(&["task", "set", "ACME-S01-T01", "estimate=S"]);
    let path = world.repo.join(".forge/work/tasks/ACME-S01-T02.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("Parse the header", "By hand")).unwrap();
    let said = world.forge(&["import", "--write"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["0 new, 0 changed, 6 unchanged"]);
    // Changed on both sides.
    other("tasks/ACME-S01-T01.json", "\"L\"", "\"XL\"");
    other("tasks/ACME-S01-T02.json", "Parse the header", "Parse it");
    for mode in [&["import"][..], &["import", "--write"]] {
        let said = world.forge(mode);
        assert_eq!(said.code, FAILED, "{said}");
        let both = |id: &str| {
            format!(
                ".forge/store/tasks/{id}.json: `{id}` was changed here since it was imported, and .forge/store/tasks/{id}.json has changed, too"
            )
        };
        has(&said.out, &[&both("ACME-S01-T01"), &both("ACME-S01-T02")]);
    }
    has(&world.ok(&["task", "show", "ACME-S01-T01"]), &["size                   S"]);
    has(&world.ok(&["task", "show", "ACME-S01-T02"]), &["By hand"]);
    // A record that was made here is not overwritten.
    world.ok(&["feature", "new", "Mine", "--id", "FEAT-009"]);
    world.write(
        ".forge/store/features/FEAT-009.json",
        r#"{"id": "FEAT-009", "title": "Theirs", "status": "draft", "created_at": "2026-01-02T03:04:05Z"}"#,
    );
    has(
        &world.forge(&["import", "--write"]).out,
        &[
            "`FEAT-009` exists already, and was not imported from .forge/store/features/FEAT-009.json",
        ],
    );
    has(&world.ok(&["feature", "show", "FEAT-009"]), &["Mine"]);
}

#[test]
fn what_breaks_a_rule_is_reported_with_file_field_and_rule_and_the_rest_is_imported() {
    let world = World::named("acme");
    store(&world);
    let below = world.repo.join(".forge/store");
    let task = |id: &str, more: &str| {
        let text = format!(
            r#"{{"taskId": "{id}", "sprintId": "ACME-S01", "title": "x", "status": "draft", "path": "e"{more}}}"#
        );
        world.write(&format!(".forge/store/tasks/{id}.json"), text);
    };
    for n in 1..=3 {
        let next = if n == 3 { 1 } else { n + 1 };
        task(&format!("C{n}"), &format!(r#", "dependencies": ["C{next}"]"#));
    }
    task("W1", r#", "dependencies": ["C1"]"#);
    task("U1", r#", "color": "red""#);
    task("U2", r#", "locator": {"backend": "x", "ref": "y", "z": 1}"#);
    task("R1", r#", "feature_id": "FEAT-404""#);
    task("P1", r#", "writes": ["../../etc"]"#);
    let write = |path: &str, text: &str| fs::write(below.join(path), text).unwrap();
    write(
        "tasks/S1.json",
        r#"{"taskId": "S1", "sprintId": "ACME-S01", "title": "x", "status": "bananas"}"#,
    );
    write(
        "tasks/N1.json",
        r#"{"taskId": "../../N1", "sprintId": "ACME-S01", "title": "x", "status": "draft"}"#,
    );
    write(
        "tasks/N2.json",
        r#"{"taskId": "T-9", "sprintId": "ACME-S01", "title": "x", "status": "draft"}"#,
    );
    write(
        "tasks/..x.json",
        r#"{"taskId": "..x", "sprintId": "ACME-S01", "title": "x", "status": "draft"}"#,
    );
    write("tasks/B1.json", "{\n  \"taskId\": \"B1\",\n");
    write("tasks/B2.json", "[]");
    write("tasks/B3.json", "{\"taskId\": \"B3\", \"status\": \"draft\"}");
    write(
        "bugs/E1.json",
        r#"{"bugId": "E1", "title": "x", "severity": "major", "status": "escalated", "path": "e", "reportedAt": "2026-01-02"}"#,
    );
    fs::write(below.join("tasks/B4.json"), [0xff, 0xfe]).unwrap();
    fs::write(below.join("tasks/B5.json"), vec![b' '; 1024 * 1024 + 1]).unwrap();
    let secret = world.beside("secret.json");
    fs::write(
        &secret,
        r#"{"taskId": "L1", "sprintId": "ACME-S01", "title": "stolen", "status": "draft"}"#,
    )
    .unwrap();
    symlink(&secret, below.join("tasks/L1.json")).unwrap();
    let said = world.forge(&["import", "--write"]);
    assert_eq!(said.code, FAILED, "{said}");
    for (file, rule) in [
        ("tasks/C1", "`dependencies` make a circle: C1 waits for C2 waits for C3 waits for C1"),
        ("tasks/W1", "`dependencies` names `C1`, which is not a task here"),
        ("tasks/U1", "`color` is not a field here"),
        ("tasks/U2", "`locator.z` is not a field here"),
        ("tasks/R1", "`feature_id` names `FEAT-404`, which is not a feature here"),
        ("tasks/P1", "`writes` has the path `../../etc`"),
        ("tasks/S1", "a task has no state `bananas`"),
        ("tasks/N1", "`taskId` is wrong: `../../N1` is not the name of a record"),
        ("tasks/N2", "`taskId` is `T-9`, unlike the name of the file"),
        ("tasks/..x", "`taskId` is wrong"),
        ("tasks/B1", "line 3 is not JSON"),
        ("tasks/B2", "line 1 is not JSON"),
        ("tasks/B3", "`sprintId` is missing"),
        ("tasks/B4", "it is not UTF-8 text"),
        ("tasks/B5", "is larger than 1048576 bytes"),
        ("tasks/L1", "is not a regular file"),
        ("bugs/E1", "a bug has no state `escalated`"),
    ] {
        let begins = format!(".forge/store/{file}.json: ");
        let line = said.out.lines().find(|line| line.starts_with(&begins));
        let line = line.unwrap_or_else(|| panic!("{file}: {said}"));
        assert!(line.contains(rule), "{line}\n{rule}");
    }
    has(&said.out, &["6 new, 0 changed, 0 unchanged; 19 could not be imported."]);
    assert_eq!(world.ok(&["task", "list"]).lines().count(), 2);
    assert!(!said.out.contains("stolen") && !said.err.contains("stolen"));
}

#[test]
fn what_a_sprint_says_of_its_tasks_is_compared_and_a_config_leads_nowhere() {
    let world = World::named("acme");
    store(&world);
    world.write(
        ".forge/store/sprints/ACME-S02.json",
        r#"{"sprintId": "ACME-S02", "title": "x", "status": "planning", "taskIds": ["ACME-S01-T01", "GONE"],
            "createdAt": "2026-01-02T03:04:05Z", "dependencies": {"ACME-S01-T02": ["ACME-S01-T01"]}}"#,
    );
    has(
        &world.forge(&["import"]).out,
        &[
            "ACME-S02.json: `taskIds` names `ACME-S01-T01`, which does not name `ACME-S02`",
            "ACME-S02.json: `taskIds` names `GONE`, which is not a record there",
            "ACME-S02.json: `dependencies.ACME-S01-T02` names `ACME-S01-T01`, which `dependencies` of `ACME-S01-T02` does not",
            "new      sprint   ACME-S02 ",
        ],
    );
    // A config that leads out of the repository, and one that cannot be read.
    for (text, rule) in [
        (r#"{"paths": {"store": "../../other"}}"#, "`paths.store` has the path `../../other`"),
        ("{", "line 1 is not JSON"),
    ] {
        world.write(".forge/config.json", text);
        let said = world.forge(&["import"]);
        assert_eq!(said.code, FAILED, "{said}");
        has(&said.out, &[".forge/config.json: ", rule]);
    }
}

#[test]
fn a_workspace_of_the_first_predecessor_becomes_a_feature() {
    let world = World::named("acme");
    let long = format!("20260322-{}-end", "word-".repeat(12).trim_end_matches('-'));
    workspace(&world, "20260320-add-csv", "completed", "completed");
    workspace(&world, "20260321-open", "phase-5", "in_progress");
    workspace(&world, "20260322-gone", "phase-3", "abandoned");
    workspace(&world, &long, "final-commit", "completed");
    workspace(&world, "20260323-odd", "phase-99", "pending");
    workspace(&world, "20260324-empty", "setup", "pending");
    fs::remove_file(world.repo.join(".specs/20260324-empty/request.md")).unwrap();
    world.write(".specs/preferences.json", "{}");
    world.write(".specs/notes/a.md", "x");
    let before = files(&world.repo.join(".specs"));
    let said = world.forge(&["import", "--write"]);
    assert_eq!(said.code, FAILED, "{said}");
    has(
        &said.out,
        &[
            "new      feature  20260320-add-csv",
            "20260323-odd/state.json: `currentPhase` can be setup, phase-1",
            "20260324-empty/state.json: request.md beside it is missing",
            "4 new, 0 changed, 0 unchanged; 2 could not be imported.",
        ],
    );
    has(
        &said.err,
        &[
            "to continue it as a run: forge resume .specs/20260321-open",
            ".specs/notes has no state.json",
            "left in .specs: preferences.json",
            "its name is too long for an id, so it is `20260322-word",
        ],
    );
    let feature = json(&world.ok(&["feature", "show", "20260320-add-csv", "--json"]));
    assert_eq!(feature["status"], "shipped");
    let fields = &feature["fields"];
    assert_eq!(fields["title"], "Add CSV export");
    assert_eq!(fields["requirements"], json(r#"["quotes are kept", "no header"]"#));
    assert_eq!(fields["created_at"], "2026-03-20T10:00:00.123456789Z");
    has(fields["description"].as_str().unwrap(), &["# Add CSV export", "- Excel"]);
    let list = world.ok(&["feature", "list"]);
    assert_eq!(list.matches("active").count(), 1, "{list}");
    assert_eq!(list.matches("retired").count(), 1, "{list}");
    has(&world.forge(&["import", "--write"]).out, &["0 new, 0 changed, 4 unchanged; 2"]);
    assert_eq!(files(&world.repo.join(".specs")), before);
}

#[test]
fn a_project_of_the_third_predecessor_becomes_features_sprints_tasks_and_notes() {
    let world = World::named("acme");
    project(&world);
    let before = files(&world.repo.join(".gsd"));
    let shown = world.forge(&["import"]);
    assert_eq!(shown.code, DONE, "{shown}");
    has(&shown.out, &["new      .forge/knowledge/decision-", "from .gsd/decisions/M001.md"]);
    assert!(!world.repo.join(".forge").exists());
    let said = world.forge(&["import", "--write"]);
    assert_eq!(said.code, DONE, "{said}");
    has(
        &said.out,
        &[
            "new      feature  M001          active        Export",
            "new      feature  TASK-001      draft         Fix the typo",
            "new      sprint   M001-S01      completed     The parser",
            "new      sprint   M001-S02      active        The writer",
            "new      task     M001-S01-T01  committed     Parse",
            "new      task     M001-S01-T02  implementing  Test it",
            "9 new, 0 changed, 0 unchanged; 0 could not be imported.",
        ],
    );
    has(
        &said.err,
        &[
            "left out: `tags` (1), `tier` (1)",
            ".gsd/AUTO-MEMORY.md is left out: the files below memory/ are read instead",
        ],
    );
    let task = json(&world.ok(&["task", "show", "M001-S01-T01", "--json"]));
    let fields = &task["fields"];
    assert_eq!(fields["must"], json(r#"["rows are read", "src/parse.rs: the parser"]"#));
    assert_eq!(fields["writes"], json(r#"["src/parse.rs"]"#));
    assert_eq!(fields["path"], ".gsd/milestones/M001/slices/S01/tasks/T01");
    assert_eq!(fields["description"], "One pass.");
    has(&world.ok(&["task", "show", "M001-S01-T02"]), &["dependencies           M001-S01-T01"]);
    has(
        &world.ok(&["sprint", "show", "M001-S02"]),
        &["feature                M001", "a file is written", "Risk: low. After the slices: S01."],
    );
    has(&world.ok(&["feature", "show", "M001"]), &["People export what they see."]);
    let kept = files(&world.repo.join(".forge/knowledge"));
    let texts: Vec<String> =
        kept.values().map(|text| String::from_utf8(text.clone()).unwrap()).collect();
    let text = texts.join("---\n");
    has(
        &text,
        &[
            "# How rows are read\n\nChoice: one pass\nWhy: files are large\nWhen: 2026-06-01\nScope: parser\nRevisable: yes\n\nSource: .gsd/decisions/M001.md\n",
            "the last line may have no end\n\nCategory: gotcha\n\nSource: .gsd/memory/M001__S01.md\n",
            "name the limit\n  in the help\n\nCategory: Review follow-ups\n",
        ],
    );
    assert!(!text.contains("it was wrong"));
    // A note that was changed here stays as it is.
    let note = kept.keys().next().unwrap();
    fs::write(note, "mine\n").unwrap();
    let said = world.forge(&["import", "--write"]);
    has(&said.out, &["0 new, 0 changed, 9 unchanged; 0"]);
    has(&said.err, &["was changed here; it is left as it is"]);
    assert_eq!(fs::read_to_string(note).unwrap(), "mine\n");
    assert_eq!(files(&world.repo.join(".gsd")), before);
}

#[test]
fn odd_files_of_the_third_predecessor_are_reported_and_lead_nowhere() {
    let world = World::named("acme");
    project(&world);
    let below = world.repo.join(".gsd/milestones/M001/slices/S01/tasks");
    let task = |id: &str, text: &str| {
        fs::create_dir_all(below.join(id)).unwrap();
        fs::write(below.join(id).join(format!("{id}-PLAN.md")), text).unwrap();
    };
    task("T14", "---\nid: T14\n---\n");
    task("T03", "---\nid: T03\nstatus: BANANAS\n---\n");
    task("T04", "---\nid: T01\n---\n");
    task("T05", "---\nid: T05\ndepends: [../T01]\n---\n");
    task(
        "T06",
        "---\nid: T06\nmust_haves:\n  truths: []\n  artifacts: []\n  key_links: []\n  writes: [a]\n---\n",
    );
    task("T07", "---\nid: T07\nno key\n---\n");
    task("T08", "---\nid: T08\nwrites: [../../etc]\n---\n");
    task("T09", "---\nid: T09\ndepends: [T10]\n---\n");
    task("T10", "---\nid: T10\ndepends: [T09]\n---\n");
    task("T11", "---\nid: T11\ndepends: [T99]\n---\n");
    fs::create_dir_all(below.join("T12")).unwrap();
    fs::create_dir_all(below.join("evil task")).unwrap();
    let outside = world.beside("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, below.join("T13")).unwrap();
    fs::write(outside.join("M003.md"), "stolen").unwrap();
    symlink(outside.join("M003.md"), below.join("T14/T14-SUMMARY.md")).unwrap();
    fs::remove_dir_all(world.repo.join(".gsd/memory")).unwrap();
    symlink(&outside, world.repo.join(".gsd/memory")).unwrap();
    world.write(".gsd/milestones/..M002/x.md", "x");
    world.write(".gsd/decisions/M002.md", "---\ndecisions: none at all\n---\n");
    let said = world.forge(&["import", "--write"]);
    assert_eq!(said.code, FAILED, "{said}");
    for (place, rule) in [
        ("T03:", "T03-PLAN.md: `status` can be RUNNING, DONE, not `BANANAS`"),
        ("T04:", "`id` is `T01`, unlike the folder `T04`"),
        ("T05:", "`depends` names `../T01`, which is not the id of a task"),
        ("T06:", "`must_haves.writes` is not a field there; known: truths, artifacts, key_links"),
        ("T07:", "T07-PLAN.md: line 3: is not `key: value`"),
        ("T08/T08-PLAN.md:", "`writes` has the path `../../etc`"),
        ("T09/T09-PLAN.md:", "make a circle: M001-S01-T09 waits for M001-S01-T10 waits for"),
        ("T11/T11-PLAN.md:", "`dependencies` names `M001-S01-T99`, which is not a task here"),
        ("T12:", "T12-PLAN.md is missing"),
        ("evil task:", "`evil task` is not the id of a task"),
        ("T13:", "is not a regular file or folder"),
        ("T14:", "a link is on the way, and links are not followed"),
    ] {
        let begins = format!(".gsd/milestones/M001/slices/S01/tasks/{place} ");
        let line = said.out.lines().find(|line| line.starts_with(&begins));
        let line = line.unwrap_or_else(|| panic!("{place}: {said}"));
        assert!(line.contains(rule), "{line}\n{rule}");
    }
    has(&said.out, &[".gsd/milestones/..M002: cannot be an id", "`decisions` must be a list"]);
    has(&said.out, &[".gsd/memory: a link is on the way, and links are not followed"]);
    has(&said.out, &["8 new, 0 changed, 0 unchanged; 16 could not be imported."]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_folder_elsewhere_can_be_imported_and_an_empty_one_says_what_is_missing() {
    let (world, other) = (World::named("acme"), World::named("old"));
    store(&other);
    has(&world.refused(&["import"]), &["nothing to import", "no .forge/store, .specs or .gsd"]);
    let folder = other.repo.to_str().unwrap();
    let plan = world.forge(&["import", folder, "--json"]);
    assert_eq!(plan.code, DONE, "{plan}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas/import.schema.json");
    let schema = json(&fs::read_to_string(path).unwrap());
    jsonschema::validate(&schema, &json(&plan.out)).unwrap();
    world.ok(&["import", folder, "--write"]);
    has(
        &world.ok(&["task", "show", "ACME-S01-T01"]),
        &[&format!("{folder}/.forge/store/tasks/ACME-S01-T01.json")],
    );
    has(&world.ok(&["import", folder]), &["6 unchanged"]);
    assert!(world.repo.join(".forge/work/tasks/ACME-S01-T01.json").is_file());
    assert!(!other.repo.join(".forge/work").exists());
}

#[test]
fn init_beside_the_folder_of_another_system_says_so_and_leaves_it_alone() {
    let world = World::named("acme");
    store(&world);
    let before = files(&world.repo.join(".forge"));
    let said = world.forge(&["init"]);
    assert_eq!(said.code, DONE, "{said}");
    let words = said.err.split_whitespace().collect::<Vec<&str>>().join(" ");
    has(
        &words,
        &[".forge/store is of another system, and is left as it is; to take it over: forge import"],
    );
    assert_eq!(files(&world.repo.join(".forge")), before);
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    assert!(!settings.contains("import"), "{settings}");
}
