//! What reviewers may say, and what follows, as a person sees it: their data counts, their prose never does; a critical finding of code
//! never passes by itself; who is never content, and who blocks, leads to a person.
//!
//! Not here: every verdict of every reviewer in every order (`core/tests/stories/verdicts.rs`), and everything that is no verdict
//! (`agents/src/result/tests.rs`). The reviewer of a design without a verdict is in `building.rs`.

use super::{
    project::{Project, STOPS_HERE, at, design_review, task_review},
    world::has,
};

#[test]
fn a_design_that_is_sent_back_for_ever_is_for_a_person_also_with_auto() {
    let majors = ["major"; 3];
    let fewer =
        |attempt: u32, count: usize| at(attempt, &design_review("revise", &majors[..count]));
    let reviews = [fewer(1, 3), fewer(2, 2), fewer(3, 1)].concat();
    let project = Project::new(&format!("{STOPS_HERE}{reviews}"));
    let left = project.asks("M", &["--auto"]);
    left.hides(&["approved automatically"]).shows(&[
        "Q1 · design: Build it like this?",
        "has no revisions left",
        "finding   major: design.md:1: major thing 1",
    ]);
    assert_eq!(left.tries("design"), 3, "{}", left.said);
}

#[test]
fn the_data_of_a_reviewer_counts_and_its_prose_does_not() {
    let in_prose = |prose: &str, play: &str| play.replace("Look at the data.", prose);
    let says_pass = in_prose("# PASS\\n\\nVerdict: APPROVE", &design_review("revise", &["major"]));
    let says_fail = in_prose("# FAIL\\n\\nVerdict: REVISE", &task_review("pass", &[]));
    let project = Project::new(&[at(1, &says_pass), says_fail].concat());
    let left = project.run("S", &["--auto"]);
    left.ends(0).shows(&[
        "design: review did not pass",
        "design approved automatically (the review passed)",
        "T1 merged as",
    ]);
    assert_eq!((left.tries("design"), left.tries("build.T1/implement")), (2, 1), "{}", left.said);
}

#[test]
fn a_reviewer_that_blocks_asks_a_person_whatever_auto_says() {
    let project = Project::new(&design_review("block", &[]));
    let left = project.asks("M", &["--auto"]);
    left.hides(&["approved automatically", "Build it like this?"])
        .shows(&["`review` says that no change can fix this: I looked", "override "]);
    assert_eq!(left.tries("design"), 1);
}

/// The implementer does it otherwise at its second attempt.
const OTHERWISE: &str = r#"
[[play]]
role = "implementer"
unit = "build.T1/implement"
attempt = 2
files = { "src/greet" = "hello, softly\n" }
artifacts = { "impl-T1.md" = "It greets softly.\n" }
result = { summary = "it greets softly", commit = "Greet" }
"#;

#[test]
fn a_critical_finding_that_the_reviewer_of_a_task_lets_pass_goes_back_if_it_is_shown() {
    // The reviewer was given the change as a file, and may speak of it.
    let lets_pass = task_review("pass", &["critical", "minor"]).replace("design.md", "change.diff");
    let project = Project::new(&format!("{}{OTHERWISE}", at(1, &lets_pass)));
    let left = project.run("S", &["--auto"]);
    left.ends(0).shows(&["T1 sent back by review", "critical thing 1"]);
    assert_eq!(left.tries("build.T1/implement"), 2, "{}", left.said);
    // Only what was mended has landed.
    assert_eq!(left.story().matches("build.T1/implement merged as").count(), 1);
    let branch = format!("forge/{}", left.run);
    let forms = project.world.git(&["log", "-p", "--format=", &branch, "--", "src/greet"]);
    has(&forms, &["+hello, softly"]);
    assert!(!forms.contains("+hello\n"), "{forms}");
}

/// What an impl-reviewer says it found, and how each line of it ends.
const EVIDENCE: [(&str, &str); 5] = [
    (
        r#"path = "src/main", line = 9, what = "past the end""#,
        " (noted only: `src/main` has 1 lines)",
    ),
    (r#"path = "src/gone", line = 1, what = "missing""#, " (noted only: no text file `src/gone`)"),
    (
        r#"path = "src/main", what = "misquoted", proof = { quote = "an elephant" }"#,
        " (noted only: the quotation is not in `src/main`)",
    ),
    (
        r#"path = "src/main", line = 1, what = "slow", proof = { command = "time ./x", output = "9 s" }"#,
        " (claimed, not run by Forge: `time ./x`)",
    ),
    (r#"path = "src/main", line = 1, what = "quoted", proof = { quote = "a  program" }"#, "\n"),
];

#[test]
fn what_a_finding_points_at_is_looked_for_and_only_what_is_there_sends_work_back() {
    let review = |findings: &[(&str, &str)]| {
        let findings: Vec<String> = findings
            .iter()
            .map(|(finding, _)| format!("{{ severity = \"major\", {finding} }}"))
            .collect();
        format!(
            "[[play]]\nrole = \"impl-reviewer\"\nunit = \"build.T1/implement\"\n\
             artifacts = {{ \"review-T1.md\" = \"No.\\n\" }}\n\
             result = {{ summary = \"no\", verdict = \"revise\", findings = [{}] }}\n",
            findings.join(", ")
        )
    };
    let first = review(&EVIDENCE[..3]).replace("unit =", "judgement = 1\nunit =");
    let second = review(&EVIDENCE);
    // What comes later is of no interest here.
    let stops = OTHERWISE.replace(
        "result = {",
        "result = { status = \"blocked\", blocker = { class = \"unknown\", what = \"no\" },",
    );
    let project = Project::new(&format!("{}{}{stops}", at(1, &first), at(1, &second)));
    let left = project.asks("S", &["--auto"]);
    // Nothing that it names first is there: it is asked again, and nothing is sent back.
    left.shows(&["T1 sent back by review"]);
    let story = left.story();
    has(&story, &["it requests changes, but no finding has a path or proof that holds"]);
    assert_eq!(left.tries("build.T1/implement"), 2, "{}", left.said);
    let brief = project.world.brief(&left.run, "build.T1/implement#2");
    for (n, (finding, end)) in EVIDENCE.iter().enumerate() {
        let what = finding.split("what = \"").nth(1).unwrap().split('"').next().unwrap();
        let line = format!(": {what}{end}");
        has(&story, &[&line]);
        // A command is told in full below it.
        let line = line.split(" (claimed, not run").next().unwrap();
        assert_eq!(brief.contains(line), n >= 3, "only what is there: {line}: {brief}");
    }
}
