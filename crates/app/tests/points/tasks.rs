//! Checkpoint B: a person decides whether it is built in these tasks (points 9 and 10). Only effort L has
//! it, and effort L has no automatic approvals: point 9 can only happen in a flow of one's own.

use super::{
    project::{Project, TWO_TASKS, at, review},
    world::{DONE, has},
};

/// What each answer will do.
const OFFERS: &[(&str, &str)] = &[
    ("approve [\"WORDS\"]", "split is accepted, and build starts next"),
    ("revise \"WORDS\"", "split runs again, with your words in its brief"),
    ("give-up", "split fails, and the run with it"),
];

/// What a reviewer of the tasks says.
fn tasks_review(verdict: &str, findings: &[&str]) -> String {
    review("role = \"task-reviewer\"", "review-tasks.md", verdict, findings)
}

#[test]
fn at_checkpoint_b_a_person_sees_the_tasks_their_risk_the_verdict_and_what_each_answer_does() {
    let project = Project::new(&format!("{TWO_TASKS}{}", tasks_review("pass", &["minor"])));
    let left = project.asks("L", &[]).answer(&["Q1", "approve"]);
    left.waits_for(2).offers(2, OFFERS).shows(&[
        "Q2 · split: Build it in these tasks?",
        "summary   two tasks",
        "risk      low",
        "list      2 tasks",
        "T1 Greet people",
        "T2 Say goodbye",
        "verdict   passed with notes (review: 1 minor)",
        "finding   minor: design.md:1: minor thing 1",
    ]);
    left.refuses(&["Q1", "approve"], &["Q1", "already answered"])
        .refuses(&["Q3", "approve"], &["Q3", "Q2"])
        .refuses(&["Q2", "revise"], &["words"])
        .refuses(&["Q2", "retry"], &["retry", "forge approve", "forge revise", "forge reject"])
        .refuses(&["Q2", "waive", "review", "it is fine"], &["override"]);
    // Approved, and both are built.
    let left = left.answer(&["Q2", "approve"]);
    left.ends(DONE).shows(&["T1 merged as", "T2 merged as"]);
    assert_eq!(left.count("question_asked"), 2);
}

#[test]
fn who_revises_the_tasks_is_asked_again_about_the_new_ones_and_who_gives_up_ends_the_run() {
    let project = Project::new(&at(2, TWO_TASKS));
    let left = project.asks("L", &[]).answer(&["Q1", "approve"]);
    let left = left.waits_for(2).answer(&["Q2", "revise", "one more for the farewell"]);
    left.waits_for(3)
        .offers(3, OFFERS)
        .shows(&["split (attempt 2): review passed", "tasks: T1, T2"]);
    has(&project.world.brief(&left.run, "split#2"), &["one more for the farewell"]);
    assert_eq!((left.tries("split"), left.tries("design")), (2, 1));
    left.gives_up(3);
    assert_eq!(left.count("landed"), 0);
}

#[test]
fn tasks_that_their_reviewer_wants_changed_for_ever_come_to_the_person_with_its_findings() {
    let project = Project::new(&tasks_review("revise", &["major", "critical"]));
    let left = project.asks("L", &[]).answer(&["Q1", "approve"]);
    left.waits_for(2).shows(&[
        "so it is not sent back again",
        "Build it in these tasks?",
        "verdict   changes requested (review: 1 critical, 1 major)",
        "F3 major: design.md:1: major thing 1",
        "F4 critical: design.md:2: critical thing 2",
    ]);
    assert_eq!(left.tries("split"), 2, "it was sent back once, and nothing got better");
}

#[test]
fn in_a_flow_that_allows_it_checkpoint_b_passes_by_itself_with_one_line_of_its_own() {
    let shipped = include_str!("../../../../flows/feature/flow.toml");
    let manual = "manual = { param = \"effort\", is = [\"L\"] }\n";
    assert!(shipped.contains(manual));
    for (reviews, word) in
        [(String::new(), "passed"), (tasks_review("pass", &["minor"]), "passed with notes")]
    {
        let project = Project::new(&reviews);
        // The project's own table of that name counts.
        project.world.write(".forge/flows/feature.toml", shipped.replace(manual, ""));
        let left = project.run("L", &["--auto"]);
        left.ends(DONE);
        let lines = left.said.out.lines().filter(|line| line.contains("approved automatically"));
        let lines: Vec<&str> = lines.filter(|line| line.contains("split approved")).collect();
        assert_eq!(lines.len(), 1, "{}", left.said);
        has(lines[0], &[&format!("split approved automatically (the review {word})")]);
        assert_eq!(left.count("question_asked"), 0);
    }
}

#[test]
fn a_critical_finding_in_the_tasks_never_passes_by_itself() {
    let shipped = include_str!("../../../../flows/feature/flow.toml");
    let project = Project::new(&tasks_review("pass", &["critical"]));
    let manual = "manual = { param = \"effort\", is = [\"L\"] }\n";
    project.world.write(".forge/flows/feature.toml", shipped.replace(manual, ""));
    let left = project.asks("L", &["--auto"]);
    left.shows(&["Q1 · split: Build it in these tasks?", "critical thing 1"]);
}
