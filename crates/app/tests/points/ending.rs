//! The last look at the whole (point 14), and the summary at the end (point 15).

use super::{
    project::{Left, Project, REQUEST, short_id, task_review},
    world::{DONE, has},
};

/// The check turns red once the task has landed: whoever reviews it sees to it.
pub(crate) const TURNS_RED: &str = r#"
[[play]]
role = "impl-reviewer"
unit = "build.T1/implement"
run = "touch ~/red"
artifacts = { "review-T1.md" = "It is good.\n" }
result = { summary = "good", verdict = "pass", findings = [] }
"#;

/// The verifier does something at each of its two rounds, and it does not help. A person can help it on.
pub(crate) const TRIES: &str = r#"
[[play]]
role = "verifier"
attempt = 2
files = { "src/tried" = "once\n" }
result = { summary = "tried", commit = "Try" }
[[play]]
role = "verifier"
attempt = 3
files = { "src/tried" = "twice\n" }
result = { summary = "tried again", commit = "Try again" }
"#;

/// A run whose last look stays red, and asks.
fn stays_red(project: &Project) -> Left<'_> {
    let left = project.asks("S", &["--auto"]);
    left.offers(
        1,
        &[
            ("retry", "the checks run again"),
            ("revise \"WORDS\"", "verify runs again, with your words in its brief"),
            (
                "waive verify \"WHY\"",
                "the checks are overridden in your name, for the whole run while they fail in the same way, and the protected-file check runs next",
            ),
            ("give-up", "verify fails, and the run with it"),
        ],
    );
    left
}

#[test]
fn what_the_verifier_cannot_mend_in_two_rounds_is_shown_to_a_person_and_not_delivered() {
    let project = Project::new(&format!("{TURNS_RED}{TRIES}"));
    let left = stays_red(&project);
    left.shows(&[
        "Q1 · verify: ",
        "not ok 1 - something is broken",
        "changed   src/tried",
        &format!("forge show {} --diff verify", short_id(&left.run)),
    ]);
    assert_eq!(left.tries("verify"), 3, "the look that found it red, and two rounds");
    assert_eq!(left.count("effect_done"), 0);
    left.refuses(&["Q1", "approve"], &["approve"])
        .refuses(&["Q1", "waive", "verify"], &["say which check you override, and why"])
        .refuses(&["Q1", "waive", "land", "let it pass"], &["land", "checks"])
        .refuses(&["Q1", "revise"], &["words"]);
    // With a hint it can.
    let left = left.answer(&["Q1", "revise", "remove the file red"]);
    left.ends(DONE)
        .shows(&["verify (attempt 4): checks passed", "the text of the pull request is ready"]);
    has(&project.world.brief(&left.run, "verify#4"), &["remove the file red", "not ok 1"]);
}

#[test]
fn what_is_red_at_the_end_is_delivered_if_a_person_waives_it_by_name_and_says_so() {
    let project = Project::new(&format!("{TURNS_RED}{TRIES}"));
    let left = stays_red(&project);
    let left = left.answer(&["Q1", "waive", "verify", "the", "file", "is", "mine"]);
    left.ends(DONE).shows(&["the text of the pull request is ready"]);
    let run = &left.run;
    has(
        &project.world.ok(&["show", run, "pull-request.md"]),
        &["Not verified", "the file is mine"],
    );
    has(&project.world.ok(&["show", run, "summary.md"]), &["ada", "the file is mine"]);
}

#[test]
fn what_is_given_up_at_the_end_is_not_delivered_and_its_work_is_kept() {
    let project = Project::new(&format!("{TURNS_RED}{TRIES}"));
    let left = stays_red(&project);
    left.gives_up(1);
    assert_eq!((left.count("effect_done"), left.count("landed")), (0, 1));
    let branch = format!("forge/{}", left.run);
    assert_eq!(project.world.git(&["show", &format!("{branch}:src/greet")]), "hello");
}

#[test]
fn a_verifier_that_mends_it_needs_no_person() {
    let project = Project::new(TURNS_RED);
    let left = project.run("S", &["--auto"]);
    left.ends(DONE);
    assert_eq!(left.count("question_asked"), 0);
    assert_eq!(left.tries("verify"), 2);
}

/// What a summary has, in this order.
const SECTIONS: &[&str] = &[
    "Summary of run ",
    "## Request",
    REQUEST,
    "## Run",
    "## Result",
    "## Tasks",
    "Greet people",
    "## Open findings",
    "## What to improve",
    "## Time and cost",
];

/// All of this is in a text, one after the other.
fn in_order(text: &str, wanted: &[&str]) {
    let mut rest = text;
    for wanted in wanted {
        let at =
            rest.find(wanted).unwrap_or_else(|| panic!("no `{wanted}` in its place in {text}"));
        rest = &rest[at + wanted.len()..];
    }
}

#[test]
fn the_whole_summary_is_what_the_run_keeps_and_shows() {
    let project = Project::new(&task_review("pass", &["minor"]));
    let left = project.run("S", &["--auto", "--debug"]);
    left.ends(DONE);
    let summary = project.world.ok(&["show", &left.run, "summary.md"]);
    in_order(&summary, SECTIONS);
    let branch = format!("forge/{}", left.run);
    left.shows(&[&branch, "1 minor finding"]);
    has(&summary, &["minor thing 1", "open it with `forge pr ", "## Debug report"]);
    let kept =
        project.world.git(&["show", &format!("{branch}:.forge/runs/{}/summary.md", left.run)]);
    in_order(&kept, SECTIONS);
    let folder = project.world.place().join("runs").join(&left.run);
    let live = std::fs::read_to_string(folder.join("summary.md")).unwrap();
    assert_eq!(summary.trim_end(), live.trim_end());
}

#[test]
fn a_run_that_failed_or_was_abandoned_has_its_summary_too() {
    let project = Project::new("");
    let left = project.asks("S", &[]);
    left.gives_up(1);
    let summary = project.world.ok(&["show", &left.run, "summary.md"]);
    in_order(
        &summary,
        &["Summary of run ", "## Request", REQUEST, "## Run", "rejected by ada: too dear"],
    );
    project.world.ok(&["abandon", "--yes", &left.run]);
    let summary = project.world.ok(&["show", &left.run, "summary.md"]);
    in_order(&summary, &["Summary of run ", "## Run", "abandoned"]);
}
