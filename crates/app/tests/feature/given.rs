//! What each agent of the flow is given: an inbox with exactly what its role reads, the change where
//! it reads code, and its own last work if it was sent back.

use std::{collections::BTreeSet, fs, path::Path};

use crate::project::Project;
use crate::world::has;

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

/// Every call of an agent in a run with effort L, and what lies in its inbox.
const INBOXES: [(&str, &[&str]); 13] = [
    ("analyse#1", &["request.md"]),
    ("investigate#1", &["analysis.md", "request.md"]),
    ("design#1", &["analysis.md", "investigation.md", "request.md"]),
    ("design#1/review#1", &["analysis.md", "design.md", "investigation.md", "request.md"]),
    ("design#2", &["analysis.md", "investigation.md", "request.md", "review-design.md"]),
    ("design#2/review#1", &["analysis.md", "design.md", "investigation.md", "request.md"]),
    ("split#1", &["design.md", "investigation.md", "request.md"]),
    ("split#1/review#1", &["design.md", "investigation.md", "request.md", "tasks.md"]),
    ("build.T1/implement#1", &["design.md", "request.md", "tasks.md"]),
    (
        "build.T1/implement#1/review#1",
        &["change.diff", "design.md", "impl-T1.md", "request.md", "tasks.md"],
    ),
    ("build.T1/implement#2", &["design.md", "request.md", "review-T1.md", "tasks.md"]),
    ("build.T2/implement#1", &["build.T1/review-T1.md", "design.md", "request.md", "tasks.md"]),
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

#[test]
fn the_inbox_of_every_agent_is_exactly_what_its_role_reads() {
    let project = Project::new(SENT_BACK);
    let world = &project.world;
    let run = project.approved("L");
    for (call, wanted) in INBOXES {
        let inbox = world.boxes(&run, call).join("inbox");
        let found: Vec<String> = files(&inbox, &inbox).into_iter().collect();
        let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(found, wanted, "{call}");
    }

    // Nobody reads their own last work, so it is in the brief.
    let brief = world.brief(&run, "design#2");
    has(
        &brief,
        &["## What you left last time", "`design.md`:", "> Two files.", "nothing of tests"],
    );
    assert!(!world.brief(&run, "design#1").contains("What you left last time"));
    let brief = world.brief(&run, "build.T1/implement#2");
    has(&brief, &["## What you left last time", "`impl-T1.md`:", "> It greets.", "too loud"]);
    assert!(!brief.contains("Not yet."), "a review is read, not quoted");

    // Who looks at the whole sees the change of the whole run; who reviews a task sees that task.
    let whole = world.boxes(&run, "review#1").join("inbox/change.diff");
    has(&fs::read_to_string(whole).unwrap(), &["src/greet", "src/part"]);
    has(
        &world.brief(&run, "review#1"),
        &["All that the run has changed so far is", "- `src/part`"],
    );
    let task = world.boxes(&run, "build.T2/implement#1/review#1").join("inbox/change.diff");
    let task = fs::read_to_string(task).unwrap();
    has(&task, &["src/part"]);
    assert!(!task.contains("src/greet"), "{task}");
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
