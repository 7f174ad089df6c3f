//! Checkpoint A: a person decides whether the design is built (points 7 and 8).

use super::{
    project::{Project, STOPS_HERE, at, design_review},
    world::{DONE, has},
};

/// What each answer will do.
const OFFERS: &[(&str, &str)] = &[
    ("approve [\"WORDS\"]", "design is accepted, and split starts next"),
    ("revise \"WORDS\"", "design runs again, with your words in its brief"),
    ("give-up", "design fails, and the run with it"),
];

#[test]
fn with_auto_a_design_that_its_reviewer_likes_is_approved_in_one_line() {
    for (first, word) in
        [(String::new(), "passed"), (design_review("pass", &["minor"]), "passed with notes")]
    {
        let project = Project::new(&format!("{STOPS_HERE}{first}"));
        let left = project.asks("S", &["--auto"]);
        left.shows(&["so far and no further"]);
        let line = format!("design approved automatically (the review {word})");
        let lines: Vec<&str> =
            left.said.out.lines().filter(|line| line.contains("approved automatically")).collect();
        assert_eq!(lines.len(), 1, "{}", left.said);
        assert!(lines[0].ends_with(&line), "{}", left.said);
        left.hides(&["Build it like this?"]);
    }
}

#[test]
fn at_checkpoint_a_a_person_sees_the_design_its_risk_the_verdict_and_what_each_answer_does() {
    let project = Project::new(&design_review("pass", &["minor", "minor"]));
    let left = project.asks("M", &[]);
    left.offers(1, OFFERS).shows(&[
        "Q1 · design: Build it like this?",
        "approach  a file of its own",
        "change    src/greet is new",
        "change    README names it",
        "risk      medium",
        "verdict   passed with notes (review: 2 minor)",
        "finding   F1 minor: design.md:1: minor thing 1",
        "because of 1",
        "finding   F2 minor: design.md:2: minor thing 2",
    ]);
    let folder = project.world.place().join("runs").join(&left.run);
    assert_eq!(
        std::fs::read_to_string(folder.join("artifacts/design.md")).unwrap(),
        "# Design\n\nOne file.\n"
    );
    // Whoever comes later is shown the same.
    let status = project.world.ok(&["status", &left.run]);
    has(
        &status,
        &["Q1 · design: Build it like this?", "risk      medium", "design.md:2: minor thing 2"],
    );
    // And a program sees it, too.
    let asked = &left.open()[0];
    assert_eq!(asked["gate"], "checkpoint-a");
    assert_eq!(asked["shown"]["risk"], "medium");
    assert_eq!(asked["verdicts"][0]["verdict"], "APPROVE_WITH_NOTES");
    assert_eq!(asked["findings"].as_array().unwrap().len(), 2);
}

#[test]
fn who_approves_the_design_lets_it_be_built() {
    let project = Project::new("");
    let left = project.asks("S", &[]).answer(&["Q1", "approve", "go", "on"]);
    left.ends(DONE).shows(&["T1 merged as"]);
    assert_eq!(left.tries("design"), 1);
    has(&left.story(), &["ada answered Q1", "design done"]);
}

#[test]
fn who_revises_the_design_is_asked_again_about_the_new_one_and_it_was_reviewed_anew() {
    let project = Project::new(&at(
        2,
        "[[play]]\nrole = \"architect\"\nartifacts = { \"design.md\" = \"# Design\\n\\nNo file.\\n\" }\n\
         result = { summary = \"no file\", shown = { approach = \"in place\", key_changes = [\"src/main greets\"], risk = \"high\" } }\n",
    ));
    let left = project.asks("M", &[]).answer(&["Q1", "revise", "do it in place"]);
    left.waits_for(2).offers(2, OFFERS).shows(&[
        "design (attempt 2): review passed",
        "approach  in place",
        "change    src/main greets",
        "risk      high",
    ]);
    left.hides(&["a file of its own"]);
    assert_eq!(left.tries("design"), 2);
    has(&project.world.brief(&left.run, "design#2"), &["do it in place"]);
}

#[test]
fn who_gives_the_design_up_ends_the_run_which_can_still_be_taken_up_again() {
    let project = Project::new("");
    let left = project.asks("M", &[]);
    left.gives_up(1);
    assert_eq!(left.count("landed"), 0);
    let left = left.resume();
    left.waits_for(2).shows(&["Build it like this?"]);
}

#[test]
fn a_wrong_answer_at_a_checkpoint_is_refused_in_words_and_changes_nothing() {
    let project = Project::new("");
    let left = project.asks("S", &[]);
    left.refuses(&["Q7", "approve"], &["Q7", "Q1"])
        .refuses(&["Q0", "approve"], &["Q0"])
        .refuses(&["seven", "approve"], &["seven"])
        .refuses(&["Q1", "revise"], &["words"])
        .refuses(&["Q1", "revise", "  "], &["words"])
        .refuses(&["Q1", "retry"], &["retry", "approve", "revise", "reject"])
        .refuses(&["Q1", "waive"], &["override", "forge approve", "forge revise", "forge reject"])
        .refuses(&["Q1", "waive", "checkpoint-a", "no need"], &["override", "approve"]);
    let said = project.world.forge(&["answer", &left.run, "Q1", "perhaps"]);
    assert_eq!(said.code, 2, "{said}");
    has(&said.err, &["perhaps"]);
    let said = project.world.forge(&["answer", "20200101-nothing-aaaa", "Q1", "approve"]);
    assert_eq!(said.code, 2, "{said}");
    has(&said.err, &["error: ", "20200101-nothing-aaaa"]);
    project.world.ok(&["answer", &left.run, "Q1", "approve"]);
    left.refuses(&["Q1", "approve"], &["Q1", "already answered"])
        .refuses(&["Q1", "revise", "no, wait"], &["Q1", "already answered"]);
    left.resume().ends(DONE);
}
