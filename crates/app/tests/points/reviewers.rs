//! What reviewers may say, and what follows: their data counts, their prose never does; critical findings never
//! pass by themselves; who finds as much as before is not asked a third time.
//!
//! Each of phase 3b (a design), 4b (tasks) and 6 (code) is sent back once, twice, for ever with fewer findings and with as many,
//! without a verdict, with data that cannot be read, and with prose that says the opposite of the data. The one of 3b
//! without a verdict is in `building.rs`.

use crate::{
    project::{Left, Project, STOPS_HERE, at, design_review, review, task_review},
    tasks::tasks_review,
    world::{ESCALATED, has},
};

/// Where a run with this reviewer of the design stops.
fn with_design(reviews: &str, more: &[&str], look: impl Fn(&Left<'_>)) {
    let project = Project::new(&format!("{STOPS_HERE}{reviews}"));
    look(&project.asks("M", more));
}

/// The design passed by itself, after so many attempts, with this verdict.
fn passes(left: &Left<'_>, tries: usize, word: &str) {
    left.shows(&[
        &format!("design: checkpoint-a approved automatically (AI verdict: {word})"),
        "so far and no further",
    ]);
    assert_eq!(left.said.out.matches("approved automatically").count(), 1);
    assert_eq!(left.tries("design"), tries, "{}", left.said);
}

/// The design is for a person, after so many attempts.
fn asks(left: &Left<'_>, tries: usize) {
    left.hides(&["approved automatically"]).shows(&["Q1 about design: Build it like this?"]);
    assert_eq!(left.tries("design"), tries, "{}", left.said);
}

/// One attempt after the other has these findings, all of them serious.
fn shrinking(counts: &[usize], review: &dyn Fn(&str, &[&str]) -> String) -> String {
    let majors = ["major"; 9];
    let plays = (1..).zip(counts);
    plays.map(|(n, count)| at(n, &review("revise", &majors[..*count]))).collect()
}

#[test]
fn a_design_that_is_sent_back_once_or_twice_and_gets_better_passes_by_itself_with_auto() {
    with_design(&shrinking(&[2], &design_review), &["--auto"], |left| passes(left, 2, "APPROVE"));
    with_design(&shrinking(&[2, 1], &design_review), &["--auto"], |left| {
        passes(left, 3, "APPROVE");
    });
    with_design(&shrinking(&[2, 1], &design_review), &[], |left| asks(left, 3));
}

#[test]
fn a_design_that_is_sent_back_for_ever_is_for_a_person_also_with_auto() {
    for more in [&["--auto"][..], &[]] {
        with_design(&shrinking(&[3, 2, 1, 1], &design_review), more, |left| {
            asks(left, 3);
            left.shows(&["has no rounds left", "F6 major: design.md:1: major thing 1"]);
        });
        with_design(&design_review("revise", &["major", "critical"]), more, |left| {
            asks(left, 2);
            left.shows(&["found as much as before", "critical thing 2"]);
        });
    }
    // More than before is no progress, and notes are no reason to go on for ever.
    with_design(&shrinking(&[1, 2], &design_review), &["--auto"], |left| asks(left, 2));
    with_design(&design_review("revise", &["minor"]), &["--auto"], |left| asks(left, 2));
}

#[test]
fn critical_findings_never_pass_by_themselves_and_lesser_ones_do_if_the_reviewer_says_so() {
    with_design(&design_review("pass", &["minor", "critical"]), &["--auto"], |left| asks(left, 1));
    with_design(&design_review("pass", &["major"]), &["--auto"], |left| {
        passes(left, 1, "APPROVE_WITH_NOTES");
    });
    // What was critical once and is mended is no longer in the way.
    let mended = at(1, &design_review("revise", &["critical"]));
    with_design(&mended, &["--auto"], |left| passes(left, 2, "APPROVE"));
}

#[test]
fn the_data_of_a_reviewer_counts_and_its_prose_does_not() {
    let in_prose = |prose: &str, play: &str| play.replace("Look at the data.", prose);
    let says_pass = in_prose("# PASS\\n\\nVerdict: APPROVE", &design_review("revise", &["major"]));
    with_design(&at(1, &says_pass), &["--auto"], |left| {
        passes(left, 2, "APPROVE");
        left.shows(&["design#1/review#1 wants changes"]);
    });
    let says_revise = in_prose("# REVISE\\n\\nVerdict: FAIL", &design_review("pass", &[]));
    with_design(&says_revise, &["--auto"], |left| passes(left, 1, "APPROVE"));
    // The same for code.
    let says_pass = in_prose("# PASS", &task_review("revise", &["major"]));
    let project = Project::new(&says_pass);
    let left = project.asks("S", &["--auto"]);
    left.hides(&["build.T1/implement landed"]).shows(&["Q1 about build.T1/implement: "]);
    let says_fail = in_prose("# FAIL", &task_review("pass", &[]));
    Project::new(&says_fail).run("S", &["--auto"]).ends(0).shows(&["build.T1/implement landed"]);
}

#[test]
fn a_reviewer_that_blocks_ends_the_run_whatever_auto_says() {
    for more in [&["--auto"][..], &[]] {
        let project = Project::new(&design_review("block", &[]));
        let left = project.run("M", more);
        left.ends(ESCALATED).hides(&["approved automatically", "Build it like this?"]);
        has(&left.said.all(), &["design", "I looked", &format!("forge resume {}", left.run)]);
        assert_eq!(left.tries("design"), 1);
    }
    let project = Project::new(&task_review("block", &[]));
    let left = project.run("S", &["--auto"]);
    left.ends(ESCALATED).hides(&["build.T1/implement landed"]);
}

#[test]
fn a_task_that_gets_better_with_each_review_lands_and_one_that_does_not_is_for_a_person() {
    let (auto, alone) = (&["--auto"][..], &[][..]);
    for (reviews, more, tries) in [
        (shrinking(&[1], &task_review), auto, 2),
        (shrinking(&[3, 1], &task_review), auto, 3),
        (shrinking(&[2, 1], &task_review), alone, 3),
    ] {
        let project = Project::new(&reviews);
        let mut left = project.run("S", more);
        if more.is_empty() {
            left = left.waits_for(1).answer(&["Q1", "approve"]);
        }
        left.ends(0).shows(&["build.T1/implement landed"]);
        assert_eq!(left.tries("build.T1/implement"), tries);
    }
    for (reviews, tries) in [
        (shrinking(&[3, 2, 1], &task_review), 3),
        (shrinking(&[2, 2], &task_review), 2),
        (shrinking(&[1, 3], &task_review), 2),
    ] {
        let project = Project::new(&reviews);
        let left = project.asks("S", &["--auto"]);
        left.hides(&["build.T1/implement landed"]).shows(&["Q1 about build.T1/implement: "]);
        assert_eq!(left.tries("build.T1/implement"), tries, "{}", left.said);
    }
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
    let lets_pass = task_review("pass", &["critical", "minor"]);
    let project = Project::new(&format!("{}{OTHERWISE}", at(1, &lets_pass)));
    let left = project.run("S", &["--auto"]);
    left.ends(0).shows(&["build.T1/implement sent back by review", "critical thing 1"]);
    assert_eq!(left.tries("build.T1/implement"), 2, "{}", left.said);
    // Only what was mended has landed.
    assert_eq!(left.story().matches("build.T1/implement landed as").count(), 1);
    let branch = format!("forge/{}", left.run);
    let forms = project.world.git(&["log", "-p", "--format=", &branch, "--", "src/greet"]);
    has(&forms, &["+hello, softly"]);
    assert!(!forms.contains("+hello\n"), "{forms}");

    // As long as it is let pass like that, a person is asked, and nothing lands.
    let project = Project::new(&lets_pass);
    let left = project.asks("S", &["--auto"]);
    left.hides(&["build.T1/implement landed"]);
    left.shows(&["Q1 about build.T1/implement: ", "critical thing 1"]);
    assert_eq!(left.tries("build.T1/implement"), 2, "{}", left.said);
}

#[test]
fn a_critical_finding_that_is_let_pass_and_not_shown_is_no_verdict_and_then_for_a_person() {
    let lets_pass = task_review("pass", &["critical"]);
    let hidden = lets_pass.replace("path = \"design.md\", line = 1, ", "");
    assert_ne!(hidden, lets_pass);
    let project = Project::new(&hidden);
    let left = project.asks("S", &["--auto"]);
    left.hides(&["build.T1/implement landed"]);
    left.shows(&["Q1 about build.T1/implement: ", "neither path nor proof", "critical thing 1"]);
    // It looked twice at the same work.
    assert_eq!(left.tries("build.T1/implement#1/review"), 2, "{}", left.said);
    assert_eq!(left.tries("build.T1/implement"), 1, "{}", left.said);
}

#[test]
fn a_reviewer_of_a_task_without_a_verdict_is_for_a_person_and_nothing_lands() {
    let who = "role = \"impl-reviewer\"\nunit = \"build.T1/implement\"";
    let silent = review(who, "review-T1.md", "pass", &[]);
    let at_result = silent.find("result = ").unwrap();
    for useless in
        ["no_result = true\n", "result_text = \"{\"\n", "result = { summary = \"PASS\" }\n"]
    {
        let project = Project::new(&format!("{}{useless}", &silent[..at_result]));
        let left = project.asks("S", &["--auto"]);
        left.hides(&["build.T1/implement landed"]);
        assert_eq!(left.tries("build.T1/implement#1/review"), 2);
        left.offers(
            1,
            &[
                ("retry [\"WORDS\"]", "`review` looks again"),
                ("approve", "`review` is waived with its findings noted, and `land` looks next"),
                ("revise \"WORDS\"", "`implement` is done again, with your words in its brief"),
                ("give-up", "`build.T1/implement` fails"),
            ],
        );
    }
}

/// Checkpoint B of a run with this reviewer of the tasks: after so many attempts, with this to be seen.
fn with_tasks(reviews: &str, tries: usize, wanted: &[&str]) {
    let project = Project::new(reviews);
    let left = project.asks("L", &[]).answer(&["Q1", "approve"]);
    left.waits_for(2).shows(&["Q2 about split: Build it in these tasks?"]).shows(wanted);
    assert_eq!(left.tries("split"), tries, "{}", left.said);
    assert_eq!(left.tries("design"), 1, "the design was approved");
}

#[test]
fn tasks_that_are_sent_back_come_to_the_person_better_or_with_what_is_left() {
    const GOOD: &[&str] = &["verdict   APPROVE (review: nothing found)"];
    with_tasks(&shrinking(&[2], &tasks_review), 2, GOOD);
    with_tasks(&shrinking(&[2, 1], &tasks_review), 3, GOOD);
    // For ever: fewer each time, as many, and more.
    with_tasks(
        &shrinking(&[3, 2, 1, 1], &tasks_review),
        3,
        &["has no rounds left", "REVISE (review: 1 major)", "F6 major: design.md:1: major thing 1"],
    );
    let no_use = ["found as much as before", "another round would not help"];
    with_tasks(&shrinking(&[2, 2, 2], &tasks_review), 2, &no_use);
    with_tasks(&shrinking(&[1, 2, 3], &tasks_review), 2, &no_use);
}

#[test]
fn the_data_of_a_reviewer_of_tasks_counts_and_its_prose_does_not() {
    let in_prose = |prose: &str, play: &str| play.replace("Look at the data.", prose);
    let says_pass = in_prose("# PASS\\n\\nVerdict: APPROVE", &tasks_review("revise", &["major"]));
    with_tasks(&at(1, &says_pass), 2, &["split#1/review#1 wants changes", "APPROVE"]);
    let says_revise = in_prose("# REVISE\\n\\nVerdict: FAIL", &tasks_review("pass", &[]));
    with_tasks(&says_revise, 1, &["verdict   APPROVE (review: nothing found)"]);
}

#[test]
fn a_reviewer_of_tasks_without_a_verdict_is_asked_once_more_and_then_a_person_is() {
    let silent = tasks_review("pass", &[]);
    let at_result = silent.find("result = ").unwrap();
    for useless in [
        "no_result = true\n",
        "result_text = \"{\"\n",
        "result_text = \"PASS\"\n",
        "result = { summary = \"PASS\", findings = [] }\n",
        "result = { summary = \"no\", verdict = \"revise\", findings = [] }\n",
    ] {
        let project = Project::new(&format!("{}{useless}", &silent[..at_result]));
        let left = project.asks("L", &[]).answer(&["Q1", "approve"]);
        left.waits_for(2).offers(
            2,
            &[
                ("retry [\"WORDS\"]", "`review` looks again"),
                (
                    "approve",
                    "`review` is waived with its findings noted, and `checkpoint-b` looks next",
                ),
                ("revise \"WORDS\"", "`split` is done again, with your words in its brief"),
                ("give-up", "`split` fails; what does not wait for it goes on"),
            ],
        );
        let tries = (left.tries("split"), left.tries("split#1/review"));
        assert_eq!(tries, (1, 2), "{useless}: {}", left.said);
        if useless.starts_with("no_result") {
            // Waived, it is still for the person.
            left.answer(&["Q2", "approve"]).waits_for(3).shows(&["Build it in these tasks?"]);
        }
    }
}

#[test]
fn a_reviewer_of_tasks_that_blocks_ends_the_run() {
    let project = Project::new(&tasks_review("block", &[]));
    let left = project.asks("L", &[]).answer(&["Q1", "approve"]);
    left.ends(ESCALATED).hides(&["Build it in these tasks?"]);
    has(&left.said.all(), &["split", "I looked", &format!("forge resume {}", left.run)]);
}
