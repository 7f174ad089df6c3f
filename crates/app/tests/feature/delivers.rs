//! What there is when the flow is done, for each effort: the branch, the record of what was
//! delivered, and a last commit with the artifacts, the summary and the state.

use std::fs;

use serde_json::{Value, json};

use super::project::{GOOD, Project, REQUEST};
use super::world::{WAITS, has};

/// What is written whatever the effort is.
const ALWAYS: [&str; 10] = [
    "artifacts/analysis.md",
    "artifacts/build.T1/impl-T1.md",
    "artifacts/build.T1/review-T1.md",
    "artifacts/build.T2/impl-T2.md",
    "artifacts/build.T2/review-T2.md",
    "artifacts/design.md",
    "artifacts/investigation.md",
    "artifacts/request.md",
    "artifacts/review-design.md",
    "artifacts/tasks.md",
];

#[test]
fn with_effort_s_the_whole_is_reviewed_by_nobody() {
    let project = Project::new("");
    let run = project.done("S", &[]);
    is_delivered(&project, &run);
    is_kept(&project, &run, &[]);
    let skipped = ["phase-4b", "checkpoint-b", "phase-7", "post-to-source"];
    stands_as(&project, &run, &json!({"effort": "S", "flowTemplate": "light"}), &skipped);
}

#[test]
fn with_effort_m_the_whole_is_reviewed_at_the_end() {
    let project = Project::new("");
    let run = project.done("M", &[]);
    is_delivered(&project, &run);
    is_kept(&project, &run, &["artifacts/comprehensive-review.md"]);
    let skipped = ["phase-4b", "checkpoint-b", "post-to-source"];
    stands_as(&project, &run, &json!({"effort": "M", "flowTemplate": "standard"}), &skipped);
    // Whoever had nothing to change landed nothing, and no commit is empty.
    let story = project.world.story(&run).join("\n");
    has(&story, &["verify: nothing to merge", "review: nothing to merge", "record merged as"]);
    let branch = Project::branch(&run);
    let subjects = project.world.git(&["log", "--format=%s", &format!("main..{branch}")]);
    let of_the_record = format!("Add the record of run {}", run.rsplit('-').next().unwrap());
    assert_eq!(subjects.lines().collect::<Vec<_>>(), [of_the_record.as_str(), "Part", "Greet"]);
    let shown: Value = serde_json::from_str(&project.world.ok(&["show", &run, "--json"])).unwrap();
    let landed: Vec<&str> = shown["landed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["unit"].as_str().unwrap())
        .collect();
    assert_eq!(landed, ["build.T1/implement", "build.T2/implement"]);
    assert_eq!(shown["proof"], "verified");
}

#[test]
fn with_effort_l_the_tasks_are_reviewed_and_a_person_passes_both_checkpoints() {
    // In other words the branch would have another name, too.
    let title = "Add a greeting and a farewell: to the program, with their tests";
    let titled = format!("risk = \"low\", title = \"{title}\" }}");
    let design = GOOD.split("[[play]]").find(|play| play.contains("\"architect\"")).unwrap();
    let project = Project::new(&format!("[[play]]{}", design.replace("risk = \"low\" }", &titled)));
    let run = project.approved("L");
    is_delivered_as(&project, &run, title);
    let more = ["artifacts/comprehensive-review.md", "artifacts/review-tasks.md"];
    is_kept(&project, &run, &more);
    stands_as(&project, &run, &json!({"effort": "L", "flowTemplate": "full"}), &["post-to-source"]);
}

#[test]
fn without_a_pull_request_nothing_is_offered_and_all_else_is_there() {
    let project = Project::new("");
    let run = project.done("S", &["--param", "pr=no"]);
    assert!(project.deliveries(&run).is_empty());
    is_kept(&project, &run, &[]);
}

#[test]
fn an_issue_is_read_with_its_address_and_labels_and_the_offer_names_and_closes_it() {
    const ADDRESS: &str = "https://github.com/o/r/issues/42";
    let project = Project::new("");
    let issue = json!({"number": 42, "title": "Greet people", "body": "And part from them.",
        "html_url": ADDRESS, "labels": [{"name": "easy"}, {"name": "polite"}]});
    let path = project.world.beside("issue.json");
    fs::write(&path, issue.to_string()).unwrap();
    let from_it = ["run", "--flow", "feature", "--effort", "S", "--auto", "--issue"];
    project.world.ok(&[&from_it[..], &[path.to_str().unwrap()]].concat());
    let run = project.world.latest();
    let request = project.world.boxes(&run, "analyse#1").join("inbox/request.md");
    let text = "# Greet people\n\nAnd part from them.";
    let wanted = format!("{text}\n\nIssue: {ADDRESS}\nLabels: easy, polite\n");
    assert_eq!(fs::read_to_string(request).unwrap(), wanted);
    assert_eq!(project.committed(&run, "artifacts/request.md"), wanted.trim_end());
    let delivered = project.deliveries(&run);
    assert_eq!(delivered.len(), 1);
    assert_eq!(
        (&delivered[0]["source"], &delivered[0]["title"]),
        (&json!(ADDRESS), &json!("Greet people"))
    );
    let offer = project.world.ok(&["show", &run, "pull-request.md"]);
    has(&offer, &[ADDRESS]);
    assert!(offer.lines().any(|line| line == "Closes #42"), "{offer}");
}

/// What they are to make is there already.
const NOTHING_TO_DO: &str = r#"
[[play]]
role = "implementer"
unit = "build.T1/implement"
artifacts = { "impl-T1.md" = "It greets already.\n" }
result = { summary = "it greets already", commit = "none" }
[[play]]
role = "implementer"
unit = "build.T2/implement"
artifacts = { "impl-T2.md" = "It parts already.\n" }
result = { summary = "it parts already", commit = "none" }
"#;

#[test]
fn where_no_task_changed_anything_a_person_has_to_say_that_this_is_right_and_nothing_is_delivered()
{
    let project = Project::new(NOTHING_TO_DO);
    let world = &project.world;
    let said = project.run("S", &["--auto"]);
    let run = world.latest();
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.all(), &["Q1      T1: The work is done, and nothing changed. Is that right?"]);
    let answers = ["forge approve", "forge revise", "forge reject"];
    has(&said.out, &answers);
    assert!(!said.out.contains("forge override"), "a plain yes is enough: {said}");
    world.ok(&["answer", &run, "Q1", "approve"]);
    assert_eq!(world.forge(&["resume", &run]).code, WAITS, "each task is asked about");
    world.ok(&["answer", &run, "Q2", "waive", "land", "and parts"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, 0, "{said}");
    has(&world.refused(&["pr", &run]), &["changed no files, so there is no pull request to open"]);
    has(&said.out, &["✓ Done, no change"]);
    has(&world.ok(&["show", &run]), &["done, no change"]);
    assert!(project.deliveries(&run).is_empty());
    let refs = world.git(&["for-each-ref", "--format=%(refname)", &format!("refs/forge/{run}")]);
    assert!(!refs.contains("delivered"), "{refs}");
    let why = "- pull request: not delivered: nothing to deliver: the code did not change";
    let (live, kept) =
        (world.ok(&["show", &run, "summary.md"]), project.committed(&run, "summary.md"));
    for summary in [live, kept] {
        has(&summary, &["| T1 | Greet | nothing changed |", "| T2 | Part | nothing changed |"]);
        has(&summary, &[why, "done**: nothing was changed."]);
        assert!(!summary.contains("| merged |"), "{summary}");
    }
    // The branch has the record of the run, and no other commit.
    let branch = Project::branch(&run);
    let subjects = world.git(&["log", "--format=%s", &format!("main..{branch}")]);
    assert_eq!(subjects, format!("Add the record of run {}", run.rsplit('-').next().unwrap()));
    let changed = world.git(&["diff", "--name-only", "main", &branch]);
    assert!(changed.lines().all(|path| path.starts_with(".forge/runs/")), "{changed}");
    let facts = world.facts(&run);
    assert!(facts.iter().all(|fact| fact["effect_done"].is_null()), "nothing was done outside");
}

/// Where nobody gave the change a title, it is called by the request.
fn is_delivered(project: &Project, run: &str) {
    is_delivered_as(project, run, REQUEST);
}

/// The verified commit below the last one is offered once, with what proves it.
fn is_delivered_as(project: &Project, run: &str, title: &str) {
    let world = &project.world;
    let branch = Project::branch(run);
    assert_eq!(world.git(&["show", &format!("{branch}:src/greet")]), "hello");
    assert_eq!(world.git(&["show", &format!("{branch}:src/part")]), "goodbye");
    let delivered = project.deliveries(run);
    assert_eq!(delivered.len(), 1);
    let below = world.git(&["rev-parse", &format!("{branch}~1")]);
    assert_eq!(delivered[0]["commit"], below.as_str());
    assert_eq!(world.git(&["rev-parse", &format!("refs/forge/{run}/delivered")]), below);
    assert_eq!(delivered[0]["run"], run);
    assert_eq!(delivered[0]["title"], title);
    assert_eq!(delivered[0]["branch"], branch.as_str());
    assert_eq!(delivered[0]["base_branch"], "main");
    assert_eq!(delivered[0]["evidence"][0]["colour"], "green");
    assert_eq!(delivered[0]["evidence"][0]["tree"], delivered[0]["tree"]);
    assert_eq!(delivered[0]["waived"], Value::Null);
    let text = world.ok(&["show", run, "pull-request.md"]);
    assert_eq!(text.lines().next(), Some(format!("# {title}").as_str()));
    let short = run.rsplit('-').next().unwrap();
    let parts = ["one file each", "| T1 | Greet |", "`sh check.sh`: passed", short, REQUEST];
    has(&text, &parts);
    let schema = schemars::schema_for!(forge_api::deliver::Offer);
    let schema = serde_json::to_value(schema).unwrap();
    assert!(jsonschema::is_valid(&schema, &delivered[0]));
}

/// The last commit touches only the folder of the run, and has exactly what belongs there.
fn is_kept(project: &Project, run: &str, more: &[&str]) {
    let world = &project.world;
    let branch = Project::branch(run);
    let last = world.git(&["diff", "--name-only", &format!("{branch}~1"), &branch]);
    let folder = format!(".forge/runs/{run}/");
    assert!(last.lines().all(|path| path.starts_with(&folder)), "{last}");
    let mut wanted: Vec<&str> = [&ALWAYS[..], more].concat();
    wanted.extend(["events.jsonl", "state.json", "summary.md"]);
    wanted.sort_unstable();
    assert_eq!(project.kept(run), wanted);
    assert_eq!(project.committed(run, "artifacts/design.md"), "# Design\n\nTwo files.");
    assert_eq!(project.committed(run, "artifacts/request.md"), REQUEST);
    // The branch is where the run's head is, and nothing of the user's was touched.
    let head = world.git(&["rev-parse", &format!("refs/forge/{run}/head")]);
    assert_eq!(world.git(&["rev-parse", &branch]), head);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

/// What is committed says how the run ended, as the live folder does.
fn stands_as(project: &Project, run: &str, fields: &Value, skipped: &[&str]) {
    let committed: Value = serde_json::from_str(&project.committed(run, "state.json")).unwrap();
    let live = project.world.place().join("runs").join(run).join("state.json");
    let live: Value = serde_json::from_slice(&fs::read(live).unwrap()).unwrap();
    for state in [&committed, &live] {
        for (name, value) in fields.as_object().unwrap() {
            assert_eq!(&state[name], value, "{name}");
        }
        assert_eq!(state["standing"], "done");
        assert_eq!(state["currentPhase"], "completed");
        assert_eq!(state["currentPhaseStatus"], "completed");
        assert_eq!(state["skippedPhases"], json!(skipped));
        let completed = state["completedPhases"].as_array().unwrap();
        assert!(completed.contains(&json!("pr-creation")), "{completed:?}");
        assert!(completed.contains(&json!("final-commit")), "{completed:?}");
        assert!(!skipped.iter().any(|phase| completed.contains(&json!(phase))), "{completed:?}");
    }
    let summary = project.committed(run, "summary.md");
    has(&summary, &[REQUEST, "Greet", "Part", "open it with `forge pr "]);
}
