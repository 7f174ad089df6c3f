//! A project without any check: nothing proves its code, so nothing lands or is delivered until a person
//! says by name that it may.

use crate::{
    project::{Project, TWO_TASKS},
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
            ("revise \"WORDS\"", "`implement` is done again, with your words in its brief"),
            (
                "waive verify \"WHY\"",
                "`verify` is waived in your name for all of this run, and `guarded` looks next",
            ),
            ("give-up", "`build.T1/implement` fails; what does not wait for it goes on"),
        ],
    );
    left.shows(&["Nothing proves that it works"]);
    assert_eq!((left.count("landed"), left.count("effect_done")), (0, 0));
    left.refuses(&["Q1", "approve"], &["approve"])
        .refuses(&["Q1", "waive", "verify"], &["reason"])
        .refuses(&["Q1", "waive", "verify", " "], &["reason"])
        .refuses(&["Q1", "waive", "checks", "there are none"], &["checks", "verify"]);
    left.gives_up(1);
    assert_eq!((left.count("landed"), left.count("effect_done")), (0, 0));
    assert_eq!(project.world.git(&["branch", "--list", "forge/*"]), "");
}

#[test]
fn who_waives_the_missing_checks_by_name_is_not_asked_again_and_it_stands_in_what_is_delivered() {
    let project = Project::with(TWO_TASKS, NO_CHECKS);
    let left = project.run("M", &["--auto"]);
    left.ends(WAITS).shows(&["Nothing proves that it works"]);
    assert_eq!(left.open().len(), 2, "both tasks ask, and each has its own answer");
    left.says(&["Q2", "waive", "verify", "it", "is", "only", "text"]);
    let left = left.answer(&["Q1", "waive", "verify", "it", "is", "only", "text"]);
    // Phase 7 and the last look lack the same, and nobody is asked again.
    left.ends(DONE).shows(&["build.T1/implement landed", "build.T2/implement landed"]);
    assert_eq!((left.count("question_asked"), left.count("answered")), (2, 2));
    left.hides(&["proof  verified"]);
    let run = &left.run;
    has(&project.world.ok(&["show", run, "pull-request.md"]), &["Not proved", "it is only text"]);
    has(&project.world.ok(&["show", run, "summary.md"]), &["unverified", "it is only text"]);
}
