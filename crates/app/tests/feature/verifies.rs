//! The last look at the whole: who mends what is red, and that nothing is delivered that is neither
//! proved nor waived by name.

use super::project::Project;
use super::world::{DONE, WAITS, has};

/// The check turns red once both tasks have landed: whoever reviews the second one sees to it.
const TURNS_RED: &str = r#"
[[play]]
role = "impl-reviewer"
unit = "build.T2/implement"
run = "touch ~/red"
artifacts = { "review-T2.md" = "It is good.\n" }
result = { summary = "good", verdict = "pass", findings = [] }
"#;

/// The verifier makes it green at its second attempt.
const MENDS: &str = r#"
[[play]]
role = "verifier"
attempt = 2
files = { "src/almost" = "not yet\n" }
result = { summary = "tried", commit = "Try" }
[[play]]
role = "verifier"
run = "rm -f ~/red"
files = { "src/mended" = "mended\n" }
result = { summary = "mended", commit = "Mend it" }
"#;

/// The verifier never does.
const TRIES: &str = r#"
[[play]]
role = "verifier"
run = "echo again >> src/tried"
result = { summary = "tried", commit = "Try" }
"#;

#[test]
fn what_is_red_at_the_end_is_mended_by_the_verifier_and_then_delivered() {
    let project = Project::new(&format!("{TURNS_RED}{MENDS}"));
    let world = &project.world;
    let run = project.done("S", &[]);
    let story = world.story(&run).join("\n");
    has(&story, &["verify sent back by verify", "verify merged as"]);
    // The verifier has nothing to read but the code, and is told what is red.
    has(&world.brief(&run, "verify#2"), &["`sh check.sh` failed", "This brief and the checkout"]);
    let delivered = project.deliveries(&run);
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0]["evidence"][0]["colour"], "green");
    let branch = Project::branch(&run);
    assert_eq!(world.git(&["show", &format!("{branch}~1:src/mended")]), "mended");
    assert_eq!(delivered[0]["commit"], world.git(&["rev-parse", &format!("{branch}~1")]).as_str());
}

#[test]
fn what_stays_red_goes_to_a_person_and_is_delivered_only_if_they_waive_it_by_name() {
    let project = Project::new(&format!("{TURNS_RED}{TRIES}"));
    let world = &project.world;
    let said = project.run("S", &["--auto"]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    assert!(project.deliveries(&run).is_empty());
    world.refused(&["answer", &run, "Q1", "approve"]);
    world.refused(&["answer", &run, "Q1", "waive", "land", "why not"]);
    world.ok(&["answer", &run, "Q1", "waive", "verify", "it", "is", "red", "at", "the", "base"]);
    world.ok(&["resume", &run]);
    let delivered = project.deliveries(&run);
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0]["evidence"][0]["colour"], "red");
    assert_eq!(delivered[0]["waived"][0]["unit"], "verify");
    assert_eq!(delivered[0]["waived"][0]["words"], "it is red at the base");
    let text = world.ok(&["show", &run, "pull-request.md"]);
    has(&text, &["**Not verified.**", "overrode the checks", "it is red at the base"]);
}

#[test]
fn a_check_that_was_red_before_the_run_and_is_waived_once_is_neither_paid_for_nor_asked_about_again()
 {
    let red = "[verify]\ncommands = [\"echo 'not ok 1 - it is red'; exit 1\"]\n";
    let project = Project::with("", red);
    let world = &project.world;
    assert_eq!(project.run("S", &["--auto"]).code, WAITS);
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "waive", "verify", "it was red before"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    let story = world.story(&run).join("\n");
    has(&story, &["build.T2/implement: verify overridden by the answer to Q1"]);
    let nevers =
        ["build.T1/implement#3 started", "build.T2/implement#2 started", "verify#2 started", "Q2"];
    for never in nevers {
        assert!(!story.contains(&format!("\n{never}")), "{never}: {story}");
    }
    // Whoever reviews is told what the checks said, and that it is nobody's doing.
    let brief = world.brief(&run, "build.T2/implement#1/review#1");
    let told = "exit 1`: failed, and ada overrode that: \"it was red before\" (it failed where the run started, before any change)";
    has(&brief, &["as Forge ran them on exactly this commit:", told]);
}

#[test]
fn a_change_that_breaks_more_than_was_broken_before_the_run_gets_all_its_revisions() {
    let red = "[verify]\ncommands = [\"echo 'not ok 1 - old'; test ! -e src/greet || echo 'not ok 2 - new'; exit 1\"]\n";
    let project = Project::with("", red);
    let world = &project.world;
    assert_eq!(project.run("S", &["--auto"]).code, WAITS);
    let run = world.latest();
    let story = world.story(&run).join("\n");
    has(&story, &["build.T1/implement#3 started"]);
    let brief = world.brief(&run, "build.T1/implement#2");
    has(&brief, &["It also failed on the commit the run started from, but not in the same way."]);
}

#[test]
fn a_project_without_checks_is_delivered_only_after_that_was_waived_by_name() {
    let project = Project::with("", "[verify]\ncommands = []\n");
    let world = &project.world;
    let said = project.run("S", &["--auto"]);
    let run = world.latest();
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.all(), &["Nothing verifies this change"]);
    assert!(project.deliveries(&run).is_empty());
    world.ok(&["answer", &run, "Q1", "waive", "verify", "it", "is", "only", "text"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, 0, "{said}");
    let delivered = project.deliveries(&run);
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0]["waived"][0]["gate"], "verify");
    assert_eq!(delivered[0]["waived"][0]["words"], "it is only text");
    let text = world.ok(&["show", &run, "pull-request.md"]);
    has(&text, &["**Not verified.**", "it is only text", "No checks ran on this code."]);
}

/// Whoever reviews the whole says itself that it is not to land, and each time again.
const FINDS_CRITICAL: &str = r#"
[[play]]
role = "comprehensive-reviewer"
files = { "src/whole" = "mended a little\n" }
artifacts = { "comprehensive-review.md" = "One thing is bad.\n" }
result = { summary = "bad", commit = "Mend a little", findings = [{ severity = "critical", path = "src/greet", what = "it deletes the disk", proof = { quote = "hello" } }] }
"#;

#[test]
fn what_the_last_reviewer_itself_finds_critical_is_neither_landed_nor_delivered_without_a_person() {
    let project = Project::new(FINDS_CRITICAL);
    let world = &project.world;
    let said = project.run("M", &["--auto"]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    let story = world.story(&run).join("\n");
    let asked = "Q1 asks about review: The work is done, but serious findings remain: src/greet: it deletes the disk.";
    has(&story, &[asked]);
    // A person is asked at once, and nothing more is paid for.
    for never in
        ["\nreview#2 started", "\nreview landed", "\nverify#1 started", "deliver#1 started"]
    {
        assert!(!story.contains(never), "{never}: {story}");
    }
    assert_eq!(project.deliveries(&run).len(), 0);
    let branch = Project::branch(&run);
    assert!(!world.git(&["ls-tree", "-r", "--name-only", &branch]).contains("src/whole"));
}

/// Whoever reviews the whole leaves a lot, and what is worst stands last and is not shown.
fn finds_much(n_minor: usize, last: &str) -> String {
    let minor = |n| format!("{{ severity = \"minor\", path = \"src/greet\", what = \"nit {n}\" }}");
    let mut findings: Vec<String> = (1..=n_minor).map(minor).collect();
    findings.push("{ severity = \"major\", what = \"it is slow | and | odd\" }".to_owned());
    findings.extend((!last.is_empty()).then(|| last.to_owned()));
    format!(
        r#"
[[play]]
role = "comprehensive-reviewer"
files = {{ "src/whole" = "mended a little\n" }}
artifacts = {{ "comprehensive-review.md" = "Much.\n" }}
result = {{ summary = "much", commit = "none", findings = [{}] }}
"#,
        findings.join(", ")
    )
}

#[test]
fn what_the_last_reviewer_leaves_and_a_person_takes_is_in_the_summary_and_in_the_offer() {
    let project = Project::new(&finds_much(2, ""));
    let world = &project.world;
    let said = project.run("M", &["--auto"]);
    assert_eq!(said.code, WAITS, "a part that is not done is for a person: {said}");
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "approve", "slow will do"]);
    assert_eq!(world.forge(&["resume", &run]).code, DONE);
    let summary = world.ok(&["show", &run, "summary.md"]);
    has(
        &summary,
        &["- major, accepted by ada, review: it is slow | and | odd", "src/greet: nit 2"],
    );
    let offer = world.ok(&["show", &run, "pull-request.md"]);
    has(
        &offer,
        &["## Open findings", "- major, accepted by ada, review: it is slow \\| and \\| odd"],
    );
    has(&offer, &["| T2 |", "| review | much | `"]);
}

#[test]
fn a_critical_finding_stops_however_many_stand_before_it_and_also_where_it_shows_nothing() {
    let last = "{ severity = \"critical\", what = \"it deletes the disk\" }";
    let project = Project::new(&finds_much(70, last));
    let world = &project.world;
    let said = project.run("M", &["--auto"]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    let story = world.story(&run).join("\n");
    has(
        &story,
        &["about review: The work is done, but serious findings remain: it deletes the disk;"],
    );
    assert_eq!(project.deliveries(&run).len(), 0);
    // A person who lets it pass is named with it where the code is offered.
    world.ok(&["answer", &run, "Q1", "approve"]);
    assert_eq!(world.forge(&["resume", &run]).code, DONE);
    has(
        &world.ok(&["show", &run, "pull-request.md"]),
        &["## Open findings", "critical, accepted by ada", "deletes the disk"],
    );
}
