//! A project without any check: nothing proves its code, so nothing lands or is delivered until a person
//! says by name that it may.

use super::{
    project::{Project, TWO_TASKS, short_id},
    world::{DONE, WAITS, has},
};

/// Nothing to verify with.
const NO_CHECKS: &str = "[verify]\ncommands = []\n";

#[test]
fn a_project_without_checks_is_unverified_and_asks_before_anything_lands() {
    let project = Project::with("", NO_CHECKS);
    let left = project.asks("S", &["--auto"]);
    left.offers(
        1,
        &[
            ("revise \"WORDS\"", "T1 runs again, with your words in its brief"),
            (
                "waive verify \"WHY\"",
                "the checks are overridden in your name for all of this run, and the protected-file check runs next",
            ),
            ("give-up", "T1 fails, and the run with it"),
        ],
    );
    left.shows(&["Nothing verifies this change"]);
    assert_eq!((left.count("landed"), left.count("effect_done")), (0, 0));
    left.refuses(&["Q1", "approve"], &["approve"])
        .refuses(&["Q1", "waive", "verify"], &["say which check you override, and why"])
        .refuses(&["Q1", "waive", "verify", " "], &["reason"])
        .refuses(&["Q1", "waive", "tests", "there are none"], &["tests", "checks"]);
    left.gives_up(1);
    assert_eq!((left.count("landed"), left.count("effect_done")), (0, 0));
    assert_eq!(project.world.git(&["branch", "--list", "forge/*"]), "");
}

#[test]
fn an_override_is_one_command_that_names_the_check_and_continues_the_run() {
    let project = Project::with("", NO_CHECKS);
    let left = project.asks("S", &["--auto"]);
    let id = short_id(&left.run);
    let named = format!("help: forge override {id} checks \"it is only text\"");
    has(
        &project.world.refused(&["override", id, "it", "is", "only", "text"]),
        &["name what you override: `checks`", &named],
    );
    let named = format!("help: forge override {id} checks \"WHY\"");
    for incomplete in [&["override"][..], &["override", id], &["override", id, "checks"]] {
        let said = project.world.refused(incomplete);
        has(&said, &["say which check you override, and why", &named]);
    }
    has(
        &project.world.refused(&["answer", id, "Q1"]),
        &[
            &format!("error: Q1 of {id} needs an answer"),
            &format!("help: forge revise {id} \"WORDS\""),
            &format!("or: forge override {id} checks \"WHY\""),
            &format!("or: forge reject {id}"),
        ],
    );
    has(&project.world.refused(&["answer", id, "Q1", "yes"]), &["`yes` is not an answer to Q1"]);
    assert_eq!(left.count("answered"), 0);
    let said = project.world.forge(&["override", id, "it is only text"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.err, &["the checks are overridden in your name for all of this run"]);
    has(&project.world.ok(&["show", id]), &["override checks of ", "it is only text"]);
}

#[test]
fn who_waives_the_missing_checks_by_name_is_not_asked_again_and_it_stands_in_what_is_delivered() {
    let project = Project::with(TWO_TASKS, NO_CHECKS);
    let left = project.run("M", &["--auto"]);
    left.ends(WAITS).shows(&["Nothing verifies this change"]);
    assert_eq!(left.open().len(), 2, "both tasks ask, and each has its own answer");
    left.says(&["Q2", "waive", "verify", "it", "is", "only", "text"]);
    let left = left.answer(&["Q1", "waive", "verify", "it", "is", "only", "text"]);
    // Phase 7 and the last look lack the same, and nobody is asked again.
    left.ends(DONE).shows(&["T1 merged as", "T2 merged as"]);
    assert_eq!((left.count("question_asked"), left.count("answered")), (2, 2));
    left.hides(&["✓ Done"]);
    let run = &left.run;
    has(&project.world.ok(&["show", run, "pull-request.md"]), &["Not verified", "it is only text"]);
    has(&project.world.ok(&["show", run, "summary.md"]), &["unverified", "it is only text"]);
    // Nobody was told of checks: neither who works nor who judges what nothing was run on.
    let there_are_none = "The project has no checks that Forge can run.";
    let nothing_was_run = "The project has no checks: nothing was run on this commit.";
    for (call, wanted) in [
        ("analyse#1", there_are_none),
        ("build.T1/implement#1", there_are_none),
        ("build.T1/implement#1/review#1", nothing_was_run),
        ("build.T2/implement#1/review#1", nothing_was_run),
        ("review#1", there_are_none),
    ] {
        let brief = project.world.brief(run, call);
        has(&brief, &[wanted]);
        assert!(!brief.contains("The project's checks"), "{call}: {brief}");
        assert!(!brief.contains("have passed"), "{call}: {brief}");
    }
}

/// The first of two tasks, one after the other, writes a check that is red.
const ADDS_CHECKS: &str = r#"
[[play]]
role = "task-decomposer"
artifacts = { "tasks.md" = "T1, T2" }
result = { summary = "two tasks", shown = { approach = "checks first", risk = "low" }, lists = { tasks = [{ id = "T1", title = "Checks", writes = ["Makefile"] }, { id = "T2", title = "Part", writes = ["src/part"], after = ["T1"] }] } }
[[play]]
role = "implementer"
unit = "build.T1/implement"
files = { Makefile = "check:\n\t@echo ran >> \"$$HOME/ran\"\n\ttest ! -e \"$$HOME/red\"\n" }
artifacts = { "impl-T1.md" = "checks" }
result = { summary = "checks", commit = "Add checks" }
"#;

/// The project has no check when the run begins, and nobody says so.
fn without_checks() -> Project {
    let project = Project::with(ADDS_CHECKS, "");
    project.world.git(&["rm", "--quiet", "check.sh"]);
    project.world.git(&["commit", "--quiet", "-m", "no checks"]);
    project
}

#[test]
fn checks_that_an_agent_adds_are_asked_about_and_not_run_before_a_person_allows_them() {
    let project = without_checks();
    let left = project.asks("S", &["--auto"]);
    left.shows(&[
        "this run itself added checks that are not allowed yet: `make check` (from Makefile)",
    ]);
    left.offers(
        1,
        &[
            (
                "approve [\"WORDS\"]",
                "Forge may run these commands in this run, and the checks run again",
            ),
            ("revise \"WORDS\"", "T1 runs again, with your words in its brief"),
            (
                "waive verify \"WHY\"",
                "the checks are overridden in your name for all of this run, as long as its checks stay the same, and the protected-file check runs next",
            ),
            ("give-up", "T1 fails, and the run with it"),
        ],
    );
    let ran = project.world.beside("ran");
    assert!(!ran.exists(), "nobody allowed it");
    let left = left.answer(&["Q1", "approve"]);
    assert!(ran.exists());
    // The file is one that guards the project, which is another question.
    left.waits_for(2);
    std::fs::write(project.world.beside("red"), "").unwrap();
    let left = left.answer(&["Q2", "approve"]);
    left.shows(&["`make check` failed with exit code"]);
    assert_eq!(left.count("effect_done"), 0, "red is not delivered");
}

#[test]
fn who_waives_the_checks_that_were_added_is_not_asked_again_while_they_are_the_same() {
    let project = without_checks();
    let left = project.asks("S", &["--auto"]);
    let left = left.answer(&["Q1", "waive", "verify", "a", "sketch"]);
    left.waits_for(2);
    let left = left.answer(&["Q2", "approve"]);
    left.ends(DONE);
    assert!(!project.world.beside("ran").exists(), "nobody allowed it");
    left.hides(&["nor found in its files"]);
    has(&project.world.ok(&["show", &left.run, "pull-request.md"]), &["Not verified", "a sketch"]);
}
