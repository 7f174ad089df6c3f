//! What each agent of the flow is given: an inbox with exactly what its role reads, the change where
//! it reads code, and its own last work if it was sent back.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use super::project::{CHECKS, Project};
use super::world::{World, has};

/// The design and the first task are sent back once.
const SENT_BACK: &str = r#"
[[play]]
role = "design-reviewer"
attempt = 1
artifacts = { "review-design.md" = "Not yet.\n" }
result = { summary = "not yet", verdict = "revise", findings = [{ severity = "major", what = "it says nothing of tests", path = "design.md" }] }
[[play]]
role = "impl-reviewer"
unit = "build.T1/implement"
attempt = 1
artifacts = { "review-T1.md" = "Not yet.\n" }
result = { summary = "not yet", verdict = "revise", findings = [{ severity = "major", what = "it is too loud", path = "src/greet" }] }
[[play]]
role = "implementer"
unit = "build.T1/implement"
attempt = 2
files = { "src/greet" = "hello!\n" }
artifacts = { "impl-T1.md" = "It greets softly.\n" }
result = { summary = "it greets softly", commit = "Greet" }
"#;

/// Whoever looks at the request before the run notes what there is to read: its place is gone afterwards.
const LOOKS: &str = r#"
[[play]]
role = "coherence-checker"
run = 'cd "$FORGE_INBOX" && find . ! -type d > ~/looked'
result = { summary = "a request", verdict = "pass", findings = [] }
"#;

/// The check turns red once all tasks have landed, and the verifier mends it.
const TURNS_RED: &str = r#"
[[play]]
role = "impl-reviewer"
unit = "build.T2/implement"
run = "touch ~/red"
artifacts = { "review-T2.md" = "It is good.\n" }
result = { summary = "good", verdict = "pass", findings = [] }
[[play]]
role = "verifier"
run = "rm -f ~/red"
files = { "src/mended" = "mended\n" }
result = { summary = "mended", commit = "Mend it" }
"#;

/// Every call of an agent in a run with effort L in which all is green at the end, and what lies in its inbox.
const INBOXES: [(&str, &[&str]); 15] = [
    ("analyse#1", &["request.md"]),
    ("investigate#1", &["analysis.md", "request.md"]),
    ("design#1", &["analysis.md", "investigation.md", "request.md"]),
    ("design#1/review#1", &["analysis.md", "design.md", "investigation.md", "request.md"]),
    (
        "design#2",
        &["analysis.md", "investigation.md", "last/design.md", "request.md", "review-design.md"],
    ),
    ("design#2/review#1", &["analysis.md", "design.md", "investigation.md", "request.md"]),
    ("split#1", &["design.md", "investigation.md", "request.md"]),
    ("split#1/review#1", &["design.md", "investigation.md", "request.md", "tasks.md"]),
    ("build.T1/implement#1", &["design.md", "investigation.md", "request.md", "tasks.md"]),
    (
        "build.T1/implement#1/review#1",
        &["change.diff", "design.md", "impl-T1.md", "request.md", "tasks.md"],
    ),
    (
        "build.T1/implement#2",
        &[
            "design.md",
            "investigation.md",
            "last/impl-T1.md",
            "request.md",
            "review-T1.md",
            "tasks.md",
        ],
    ),
    (
        "build.T1/implement#2/review#1",
        &["change.diff", "design.md", "impl-T1.md", "request.md", "since.diff", "tasks.md"],
    ),
    (
        "build.T2/implement#1",
        &["build.T1/review-T1.md", "design.md", "investigation.md", "request.md", "tasks.md"],
    ),
    (
        "build.T2/implement#1/review#1",
        &["change.diff", "design.md", "impl-T2.md", "request.md", "tasks.md"],
    ),
    (
        "review#1",
        &[
            "build.T1/impl-T1.md",
            "build.T1/review-T1.md",
            "build.T2/impl-T2.md",
            "build.T2/review-T2.md",
            "change.diff",
            "design.md",
            "request.md",
            "tasks.md",
        ],
    ),
];

/// A note of the second task's reviewer is left, and whoever looks at the whole says that it is dealt with.
const SETTLES: &str = r#"
[[play]]
role = "impl-reviewer"
unit = "build.T2/implement"
artifacts = { "review-T2.md" = "It is good.\n" }
result = { summary = "good", verdict = "pass", findings = [{ severity = "minor", what = "it parts without a wave", path = "src/part" }, { severity = "minor", what = "it could be longer", path = "src/part" }] }
[[play]]
role = "comprehensive-reviewer"
no_result = true
artifacts = { "comprehensive-review.md" = "All is good.\n" }
run = """
id=$(grep 'without a wave' "$FORGE_ATTEMPT_DIR/brief.md" | cut -d '`' -f 2)
printf '{"forge":1,"attempt":"%s","status":"done","summary":"good","findings":[],"commit":"none","settled":["%s"]}' \
  "$FORGE_CALL" "$id" > "$FORGE_OUTBOX/result.json"
"""
"#;

#[test]
fn the_inbox_of_every_agent_is_exactly_what_its_role_reads() {
    let set_up = format!("{CHECKS}[workspace]\nsetup = [\"true\"]\n");
    let project = Project::with(&format!("{LOOKS}{SENT_BACK}{SETTLES}"), &set_up);
    let world = &project.world;
    let run = project.approved("L");
    for (call, wanted) in INBOXES {
        assert_eq!(inbox(world, &run, call), owned(wanted), "{call}");
    }
    assert_eq!(calls(world, &run), owned(&INBOXES.map(|(call, _)| call)), "each call has a row");
    let looked = fs::read_to_string(world.beside("looked")).unwrap();
    assert_eq!(looked, "./request.md\n", "who looks at the request reads nothing else");

    // Nobody calls the verifier unless something is red, and it reads the code and nothing else.
    let turned_red = Project::new(TURNS_RED);
    let red = turned_red.done("S", &[]);
    assert_eq!(inbox(&turned_red.world, &red, "verify#2"), BTreeSet::new());
    let verifies = calls(&turned_red.world, &red);
    assert_eq!(verifies.iter().filter(|call| call.starts_with("verify")).count(), 1);

    // Every call was looked at, so nobody is left out if every role was called.
    let called = &roles(world, &run) | &roles(&turned_red.world, &red);
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../flows/feature/roles");
    let shipped = files(&shipped, &shipped);
    let shipped = shipped.iter().map(|file| file.strip_suffix(".md").unwrap().to_owned());
    assert_eq!(called, shipped.collect(), "a role of the flow is not in this test");

    // Who only reads is told of checks and set-up, too; who judges, how the checks ended.
    for call in ["analyse#1", "build.T1/implement#1", "build.T1/implement#1/review#1"] {
        has(
            &world.brief(&run, call),
            &["The project's setup has been run in it.", "- `sh check.sh`"],
        );
    }
    has(
        &world.brief(&run, "analyse#1"),
        &["How the project's checks are run in a checkout like this:"],
    );
    let judges = world.brief(&run, "build.T1/implement#1/review#1");
    has(&judges, &["as Forge ran them on exactly this commit:", "- `sh check.sh`: passed"]);

    // Who looks at the whole is told of all notes by name, and what it says is dealt with is open nowhere.
    let whole = world.brief(&run, "review#1");
    let (_, notes) = whole.split_once("## Open notes").expect(&whole);
    has(
        notes,
        &["` (minor) src/part: it parts without a wave", "` (minor) src/part: it could be longer"],
    );
    has(notes, &["settled  [ids] of the open notes"]);
    for told in [world.ok(&["show", &run]), world.ok(&["show", &run, "summary.md"])] {
        has(&told, &["it could be longer"]);
        assert!(!told.contains("without a wave"), "{told}");
    }

    // What lies in folders of an inbox can be read afterwards, too.
    let listed = world.ok(&["brief", &run, "build.T2/implement#1"]);
    has(&listed, &["B  build.T1/review-T1.md"]);
    let review = ["brief", &run, "build.T2/implement#1", "--inbox", "build.T1/review-T1.md"];
    assert_eq!(world.ok(&review).trim_end(), "It is good.");

    // Whoever is sent back finds their own last work as a file.
    let brief = world.brief(&run, "design#2");
    has(&brief, &["## What you left last time", "`last/design.md`", "nothing of tests"]);
    let last = world.boxes(&run, "design#2").join("inbox/last/design.md");
    has(&fs::read_to_string(last).unwrap(), &["Two files."]);
    assert!(!world.brief(&run, "design#1").contains("What you left last time"));
    let brief = world.brief(&run, "build.T1/implement#2");
    has(
        &brief,
        &[
            "## What you left last time",
            "`last/impl-T1.md`",
            "too loud",
            "Your change of the previous attempt is already in it, as commit `",
        ],
    );
    let since = world.boxes(&run, "build.T1/implement#2/review#1").join("inbox/since.diff");
    let since = fs::read_to_string(since).unwrap();
    has(&since, &["+It greets softly.", "+hello!"]);
    assert!(!since.contains("diff --git a/src/part"), "{since}");
    // A list is in the result, so who reviews it finds it in the brief.
    let listed = ["## The list of tasks under review", "- `T2` ", "  - after: T1", "  - must: "];
    has(&world.brief(&run, "split#1/review#1"), &listed);
    let first = world.brief(&run, "build.T1/implement#1");
    has(&first, &["## Your task", "## Tasks that others work on", "- `T2` "]);
    has(
        &world.brief(&run, "build.T1/implement#1/review#1"),
        &[
            "## The task under review",
            "It is allowed to change: ",
            "## What its author says about it",
        ],
    );
    assert!(!brief.contains("Not yet."), "a review is read, not quoted");

    // Who looks at the whole sees the change of the whole run; who reviews a task sees that task.
    let whole = world.boxes(&run, "review#1").join("inbox/change.diff");
    has(&fs::read_to_string(whole).unwrap(), &["src/greet", "src/part"]);
    has(
        &world.brief(&run, "review#1"),
        &["Everything the run has changed so far is", "- `src/part`"],
    );
    let task = world.boxes(&run, "build.T2/implement#1/review#1").join("inbox/change.diff");
    let task = fs::read_to_string(task).unwrap();
    has(&task, &["src/part"]);
    assert!(!task.contains("src/greet"), "{task}");
}

fn owned(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// What lies in the inbox of a call.
fn inbox(world: &World, run: &str, call: &str) -> BTreeSet<String> {
    let inbox = world.boxes(run, call).join("inbox");
    files(&inbox, &inbox)
}

/// All calls of the run in which an agent was started.
fn calls(world: &World, run: &str) -> BTreeSet<String> {
    let log = world.place().join("attempts").join(run).join("scripted.log");
    let text = fs::read_to_string(log).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["call"].as_str().unwrap().to_owned()).collect()
}

/// The roles that the run has called, before it began and in it.
fn roles(world: &World, run: &str) -> BTreeSet<String> {
    let stats = world.ok(&["stats", run, "--by", "role", "--json"]);
    let stats: Value = serde_json::from_str(&stats).unwrap();
    let rows = stats["tables"][0]["rows"].as_array().unwrap();
    rows.iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
}

/// All files below a folder, by path.
fn files(top: &Path, folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(top, &path));
        } else {
            found.insert(path.strip_prefix(top).unwrap().to_str().unwrap().to_owned());
        }
    }
    found
}
