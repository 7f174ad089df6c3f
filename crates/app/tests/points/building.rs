//! What goes wrong while a task is built, and comes to a person: a reviewer who is never content (point
//! 11), an agent that leaves nothing of use (point 12), tests that stay red (point 13).

use super::{
    project::{Left, Project, TWO_TASKS, at, short_id, task_review},
    world::{DONE, has},
};

/// The reviewer of the first task finds less each time, and still something at the last one.
fn never_content() -> String {
    let findings = ["major", "major", "major"];
    let plays = (1..=3).map(|n| at(n, &task_review("revise", &findings[n as usize - 1..])));
    plays.collect()
}

/// The first task breaks the project up to this attempt.
pub(crate) fn breaks(until: u32) -> String {
    let play = "[[play]]\nrole = \"implementer\"\nunit = \"build.T1/implement\"\n\
                files = { \"src/greet\" = \"broken\\n\" }\nartifacts = { \"impl-T1.md\" = \"It greets.\\n\" }\n\
                result = { summary = \"it greets\", commit = \"Greet\" }\n";
    (1..=until).map(|n| at(n, play)).collect()
}

#[test]
fn a_task_that_fails_its_review_three_times_is_shown_with_its_findings_and_its_diff() {
    let project = Project::new(&never_content());
    let left = project.asks("S", &["--auto"]);
    let run = &left.run;
    left.offers(
        1,
        &[
            (
                "approve [\"WORDS\"]",
                "T1 is accepted with 1 major finding open, and the merge runs next",
            ),
            ("revise \"WORDS\"", "T1 runs again, with your words in its brief"),
            ("give-up", "T1 fails, and the run with it"),
        ],
    );
    left.shows(&[
        "Q1 · T1: ",
        "summary   it greets",
        "verdict   changes requested (review: 1 major)",
        "finding   major: design.md:1: major thing 1",
        "changed   src/greet",
        &format!("forge show {} --diff T1", short_id(run)),
        &format!("forge edit {} --code T1", short_id(run)),
    ]);
    assert_eq!(left.tries("build.T1/implement"), 3, "two retries");
    has(&project.world.ok(&["show", run, "--diff", "build.T1/implement"]), &["+hello"]);
    let so_far = format!("The change so far: forge diff {} T1", short_id(run));
    has(&project.world.ok(&["diff", run]), &[&so_far]);
    left.refuses(&["Q1", "waive", "review", "it will do"], &["override"])
        .refuses(&["Q1", "retry"], &["retry"])
        .refuses(&["Q1", "revise"], &["words"]);
    // Approved: it lands, and what was found is in the summary.
    let left = left.answer(&["Q1", "approve", "it", "will", "do"]);
    left.ends(DONE).shows(&["T1 merged as"]);
    has(&project.world.ok(&["show", run, "summary.md"]), &["major thing 1"]);
}

#[test]
fn a_task_that_a_person_sends_back_is_built_once_more_with_their_words_and_reviewed_anew() {
    let project = Project::new(&never_content());
    let left = project.asks("S", &["--auto"]).answer(&["Q1", "revise", "say hello to all"]);
    left.ends(DONE).shows(&["T1 (attempt 4): review passed"]);
    let brief = project.world.brief(&left.run, "build.T1/implement#4");
    has(&brief, &["say hello to all", "major thing 1"]);
    assert_eq!(left.count("question_asked"), 1);
}

#[test]
fn a_task_that_is_given_up_fails_alone_and_what_was_good_has_landed() {
    let project = Project::new(&format!("{TWO_TASKS}{}", never_content()));
    let left = project.asks("S", &["--auto"]);
    left.shows(&["T2 merged as"]);
    left.gives_up(1);
    assert_eq!(left.count("landed"), 1);
    let branch = format!("forge/{}", left.run);
    assert_eq!(project.world.git(&["show", &format!("{branch}:src/part")]), "goodbye");
    assert_eq!(left.count("effect_done"), 0, "nothing is delivered");
}

#[test]
fn an_agent_that_leaves_nothing_of_use_twice_is_for_a_person() {
    // Once nothing at all, once a result and not what it was to write.
    let who = "[[play]]\nrole = \"situation-analyst\"";
    let nothing = at(1, &format!("{who}\nno_result = true\n"));
    let half = at(2, &format!("{who}\nresult = {{ summary = \"done\" }}\n"));
    let project = Project::new(&format!("{nothing}{half}"));
    let left = project.asks("S", &["--auto"]);
    left.offers(
        1,
        &[
            ("retry [\"WORDS\"]", "analyse is tried again"),
            ("revise \"WORDS\"", "analyse runs again, with your words in its brief"),
            ("give-up", "analyse fails, and the run with it"),
        ],
    );
    left.shows(&[
        "no `result.json` in the outbox",
        "Q1 · analyse: ",
        "`analysis.md` was not written",
    ]);
    assert_eq!(left.tries("analyse"), 2, "{}", left.said);
    left.refuses(&["Q1", "approve"], &["approve", "forge retry", "forge revise", "forge reject"])
        .refuses(&["Q1", "waive", "form", "no need"], &["override"]);
    left.gives_up(1);
    // Taken up again, its third try is a good one.
    let left = left.resume();
    left.ends(DONE);
    assert_eq!(left.tries("analyse"), 3);
}

#[test]
fn a_reviewer_without_a_verdict_is_asked_once_more_and_then_a_person_is() {
    let prose = "[[play]]\nrole = \"design-reviewer\"\nartifacts = { \"review-design.md\" = \"PASS\\n\" }\n\
                 result = { summary = \"PASS\", findings = [] }\n";
    let project = Project::new(prose);
    let left = project.asks("S", &["--auto"]);
    left.offers(
        1,
        &[
            ("retry [\"WORDS\"]", "`review` runs again"),
            (
                "approve [\"WORDS\"]",
                "design is accepted without this review, and the question comes next",
            ),
            ("revise \"WORDS\"", "design runs again, with your words in its brief"),
            ("give-up", "design fails, and the run with it"),
        ],
    );
    assert_eq!((left.tries("design"), left.tries("design#1/review")), (1, 2), "{}", left.said);
    left.hides(&["approved automatically"])
        .shows(&["gave no verdict: the key `verdict` is missing"]);
    let why = "## Why your previous review did not count\n\n> the key `verdict` is missing";
    has(&project.world.brief(&left.run, "design#1/review#2"), &[why]);
}

#[test]
fn tests_that_stay_red_after_a_task_are_shown_to_a_person_who_cannot_just_approve() {
    let project = Project::new(&breaks(3));
    let left = project.asks("S", &["--auto"]);
    let run = &left.run;
    red(&left);
    left.shows(&[
        "not ok 1 - something is broken",
        "changed   src/greet",
        &format!("forge show {} --diff T1", short_id(run)),
    ]);
    assert_eq!(left.tries("build.T1/implement"), 3);
    left.refuses(
        &["Q1", "approve"],
        &["approve", "forge retry", "forge revise", "forge override", "forge reject"],
    )
    .refuses(&["Q1", "waive"], &["say which check you override, and why"])
    .refuses(&["Q1", "waive", "verify"], &["say which check you override, and why"])
    .refuses(&["Q1", "waive", "land", "it is fine"], &["land", "checks"])
    .refuses(&["Q1", "revise"], &["words"]);
    // Sent back, its fourth try is green.
    let left = left.answer(&["Q1", "revise", "it must not be broken"]);
    left.ends(DONE);
    let brief = project.world.brief(run, "build.T1/implement#4");
    has(&brief, &["it must not be broken", "not ok 1 - something is broken"]);
    let diff = project.world.ok(&["show", run, "--diff", "build.T1/implement"]);
    assert_eq!(project.world.ok(&["show", run, "--diff", "T1"]), diff);
    // It was sent back by the checks, and no reviewer has seen it yet.
    let brief = project.world.brief(run, "build.T1/implement#4/review#1");
    assert!(!brief.contains("since.diff"), "{brief}");
}

/// The first task is red, and what can be done about it is offered.
fn red(left: &Left<'_>) {
    left.offers(
        1,
        &[
            ("retry", "the checks run again"),
            ("revise \"WORDS\"", "T1 runs again, with your words in its brief"),
            (
                "waive verify \"WHY\"",
                "the checks are overridden in your name, for the whole run while they fail in the same way, and the protected-file check runs next",
            ),
            ("give-up", "T1 fails, and the run with it"),
        ],
    );
}

#[test]
fn red_tests_that_a_person_waives_by_name_land_and_are_not_asked_about_again_while_they_fail_alike()
{
    let project = Project::new(&breaks(9));
    let left = project.asks("S", &["--auto"]);
    let left = left.answer(&["Q1", "waive", "verify", "it", "is", "flaky"]);
    // Final verification is red in the same way: no verifier is called, and the person is not asked once more.
    left.ends(DONE).shows(&["T1 merged as", "verify: checks overridden by the answer to Q1"]);
    assert_eq!((left.count("question_asked"), left.tries("verify")), (1, 1));
    has(
        &project.world.ok(&["show", &left.run]),
        &["override checks of", "by ada: it is flaky", "check failed"],
    );
    has(
        &project.world.ok(&["show", &left.run, "pull-request.md"]),
        &["Not verified", "it is flaky"],
    );
}
