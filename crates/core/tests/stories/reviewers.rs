//! Reviewers and people of the shipped feature flow who are not content: once, twice, for ever,
//! with fewer findings and with as many, without a verdict, and at every checkpoint.

use forge_core::{
    Command,
    event::{
        Answer, Choice, Colour, End, Event, Evidence, ProofStart, Receipt, Remark, Ruling, SentBack,
    },
    money::Spent,
    run::Phase,
    verdict::{BlockerClass, Doubt, Finding, Says, Severity, Verdict},
    view::{QuestionView, RemainingFinding, ResultView, RunView, Standing, open_findings, summary},
};

use crate::world::{
    World, after, block, finding, person, revise, revises, start_of, unread, writes,
};

fn asked(world: &World) -> Vec<String> {
    world.about(" asks about ")
}

/// A full feature: both checkpoints are there.
fn full() -> World {
    World::feature("L")
}

#[test]
fn a_design_that_is_sent_back_once_is_made_again_and_then_shown() {
    let world = World::feature("M").verdict("design#1/review#1", revise(2)).played();
    world.is(&Phase::Over(End::Done));
    world.before(
        "design sent back by review: F1 src/a.rs:7: problem 0; F2 src/a.rs:7: problem 1",
        "design#2 started",
    );
    world.before("design#2/review#1 passed", "Q1 asks about design: Build it like this?");
    assert_eq!(world.unit("design").round, 1);
}

#[test]
fn a_design_that_is_sent_back_twice_has_used_up_its_rounds_and_may_still_pass() {
    let world = World::feature("M")
        .auto()
        .verdict("design#1/review#1", revise(2))
        .verdict("design#2/review#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Done));
    assert_eq!((world.unit("design").attempt, world.unit("design").round), (3, 2));
    world.says("design: checkpoint-a approved automatically (--auto; review: APPROVE)");
}

#[test]
fn a_reviewer_who_is_never_content_leads_to_the_person_also_under_auto() {
    for world in [World::feature("M"), World::feature("M").auto()] {
        let world = world
            .verdict("design#1/review#1", revise(3))
            .verdict("design#2/review#1", revise(2))
            .verdict("design#3/review#1", revise(1))
            .played();
        world.says("design: review has no revisions left; its findings are noted");
        world.says("Q1 asks about design: Build it like this?");
        world.never_says("design: checkpoint-a approved automatically");
        assert_eq!(asked(&world).len(), 1, "nobody is asked twice");
        assert_eq!(world.unit("design").attempt, 3);
    }
}

#[test]
fn findings_that_do_not_shrink_lead_to_the_person_before_the_rounds_are_used_up() {
    let world = World::feature("M")
        .auto()
        .verdict("design#1/review#1", revise(2))
        .verdict("design#2/review#1", revise(2))
        .played();
    world.says("design: review found as many problems as before, so it is not sent back again; its findings are noted");
    world.says("Q1 asks about design: Build it like this?");
    assert_eq!(world.unit("design").round, 1);
}

#[test]
fn the_tasks_are_reviewed_and_shown_as_the_design_is() {
    let world = full()
        .verdict("split#1/review#1", revise(1))
        .verdict("split#2/review#1", revise(1))
        .answer(2, Answer::Revise, "three tasks, not two")
        .played();
    world.is(&Phase::Over(End::Done));
    world.says("split: review found as many problems as before, so it is not sent back again; its findings are noted");
    world.before("split sent back by the answer to Q2: three tasks, not two", "split#3 started");
    world.says("Q3 asks about split: Build it in these tasks?");
}

#[test]
fn a_review_without_a_verdict_is_made_once_more_and_then_asked_about() {
    let world = World::feature("M")
        .ruling("design#1/review#1", unread("no JSON"))
        .ruling("design#1/review#2", unread("PASS, says the prose"))
        .played();
    world.says(
        "Q1 asks about design: `review` repeatedly gave no verdict: PASS, says the prose. What now?",
    );
    assert_eq!(world.options(1), [Choice::Retry, Choice::Approve, Choice::Revise, Choice::GiveUp]);
    world.never_says("split#1 started");
}

#[test]
fn a_review_that_blocks_asks_a_person_and_names_the_reason() {
    let world =
        World::feature("M").verdict("design#1/review#1", block("it cannot be done")).played();
    world.says(
        "Q1 asks about design: `review` says that no change can fix this: it cannot be done. What now?",
    );
    assert_eq!(Standing::from_run(&world.run), Standing::Waiting);
    let world = World::feature("M")
        .ruling(
            "design#1/review#1",
            Ruling::Blocked { class: BlockerClass::ExternalDependency, what: "no network".into() },
        )
        .played();
    assert_eq!(Standing::from_run(&world.run), Standing::Waiting);
}

#[test]
fn a_person_who_says_revise_five_times_is_asked_five_times_and_heard_word_for_word() {
    let said = [
        "smaller",
        "\"smaller\", I said\n  and: no queue",
        "ring buffer",
        "länger",
        "  as before ",
    ];
    let mut world = World::feature("M");
    for (n, words) in (1..).zip(said) {
        world = world.answer(n, Answer::Revise, words);
    }
    let world = world.played();
    world.is(&Phase::Over(End::Done));
    assert_eq!(asked(&world).len(), 6, "five times sent back, and once let pass");
    let reopened: Vec<String> = world
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Event::UnitReopened { words, by: SentBack::Person { .. }, .. } => Some(words),
            _ => None,
        })
        .collect();
    assert_eq!(reopened, said);
    assert_eq!(world.said("design"), said);
    assert_eq!((world.unit("design").attempt, world.unit("design").round), (6, 0));
}

#[test]
fn a_task_that_is_sent_back_too_often_is_asked_about_and_the_others_land() {
    let world = World::feature("S")
        .verdict("build.T1/implement#1/review#1", revise(3))
        .verdict("build.T1/implement#2/review#1", revise(2))
        .verdict("build.T1/implement#3/review#1", revise(1))
        .played();
    let text = "Q2 asks about build.T1/implement: `review` still does not pass, and no revisions are left. What now?";
    world.says(text);
    assert_eq!(world.options(2), [Choice::Approve, Choice::Revise, Choice::GiveUp]);
    world.says("build.T2/implement done");
    world.never_says("deliver#1 started");
    let view = QuestionView::new(&world.run, world.run.questions().next().unwrap());
    assert_eq!(view.verdicts[0].verdict.as_str(), "FAIL", "it is code that is judged");
    assert_eq!(
        (view.verdicts[0].critical, view.verdicts[0].major, view.verdicts[0].minor),
        (0, 1, 0)
    );
}

#[test]
fn work_without_a_result_is_tried_twice_and_then_asked_about() {
    use crate::world::fault;
    let mut world = World::feature("S")
        .outcome("build.T1/implement#1", fault("nothing"))
        .outcome("build.T1/implement#2", fault("nothing at all"))
        .played();
    assert_eq!(world.options(2), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    world.say(2, Answer::Retry, "leave the tests alone");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.said("build.T1/implement"), ["leave the tests alone"]);
}

#[test]
fn where_the_end_is_red_the_verifier_works_two_rounds_and_then_a_person_decides() {
    let world = World::feature("M")
        .verdict("verify#1/verify#1", revise(1))
        .verdict("verify#2/verify#1", revise(1))
        .verdict("verify#3/verify#1", revise(1))
        .played();
    world.before("verify#1/verify#1 did not pass: F1 src/a.rs:7: problem 0", "verify#2 started");
    world.before("verify sent back by verify: F2 src/a.rs:7: problem 0", "verify#3 started");
    world.says(
        "Q2 asks about verify: The checks still do not pass, and no revisions are left. What now?",
    );
    assert_eq!(world.options(2), [Choice::Retry, Choice::Revise, Choice::Waive, Choice::GiveUp]);
    world.never_says("deliver#1 started");
}

#[test]
fn a_feature_that_nothing_proves_is_delivered_only_when_that_is_waived_by_name() {
    let unverified =
        || Ruling::Unverified { what: "no checks are set".to_owned(), found: Vec::new() };
    let mut world = World::feature("S")
        .list("split", vec![writes("T1", "src/a")])
        .ruling("build.T1/implement#1/verify#1", unverified())
        .ruling("verify#1/verify#1", unverified())
        .played();
    let text = "Nothing verifies this change: no checks are set. What now?";
    world.says(&format!("Q2 asks about build.T1/implement: {text}"));
    assert!(world.try_say(2, Answer::Approve, "").is_err(), "an approval proves nothing");
    world.never_says("deliver#1 started");
    let view = RunView::new("r", &world.run);
    let does = &view.asked[0].options[1].does;
    assert_eq!(
        does,
        "the checks are overridden in your name for all of this run, and the protected-file check runs next"
    );
    world.say(2, Answer::Waive { gate: "verify".to_owned() }, "a prototype");
    world.go_on();
    // It was said by name, and the same is not asked again.
    world.is(&Phase::Over(End::Done));
    world.before("verify: verify overridden by the answer to Q2", "deliver#1 started");
}

#[test]
fn a_question_that_is_open_already_is_answered_by_nobody_elses_waiver() {
    let unverified =
        || Ruling::Unverified { what: "no checks are set".to_owned(), found: Vec::new() };
    let mut world = World::feature("S")
        .list("split", vec![writes("T1", "src/a"), writes("T2", "src/b")])
        .ruling("build.T1/implement#1/verify#1", unverified())
        .ruling("build.T2/implement#1/verify#1", unverified())
        .ruling("verify#1/verify#1", unverified())
        .played();
    world.says(
        "Q3 asks about build.T1/implement: Nothing verifies this change: no checks are set. What now?",
    );
    world.say(3, Answer::Waive { gate: "verify".to_owned() }, "a prototype");
    world.go_on();
    world.never_says("answered Q2");
    world.say(2, Answer::Waive { gate: "verify".to_owned() }, "that one, too");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    world.says("bob answered Q2 (override): that one, too");
}

#[test]
fn who_shows_something_critical_does_not_let_it_pass_where_nobody_is_asked() {
    let critical = vec![finding(Severity::Critical, "loses the ledger")];
    let pass = Ruling::Verdict(Verdict::Pass { findings: critical });
    let world = World::feature("S")
        .list("split", vec![writes("T1", "src/a")])
        .ruling("build.T1/implement#1/review#1", pass)
        .played();
    world.says("build.T1/implement#2 started");
}

#[test]
fn who_passes_work_with_something_serious_that_is_not_shown_leaves_it_to_a_person() {
    for severity in [Severity::Major, Severity::Critical] {
        let hidden = Finding { path: None, line: None, ..finding(severity, "loses the ledger") };
        let shown = finding(Severity::Minor, "a word");
        let pass = Ruling::Verdict(Verdict::Pass { findings: vec![shown, hidden] });
        let mut world = World::feature("S")
            .auto()
            .list("split", vec![writes("T1", "src/a")])
            .ruling("build.T1/implement#1/review#1", pass)
            .played();
        world.says("Q1 asks about build.T1/implement: The work passed its review, but serious findings remain: loses the ledger. Continue anyway?");
        world.never_says("build.T1/implement merged");
        assert_eq!(world.options(1), [Choice::Approve, Choice::Revise, Choice::GiveUp]);
        world.say(1, Answer::Approve, "the ledger is gone");
        world.go_on();
        world.is(&Phase::Over(End::Done));
        world.says("build.T1/implement: review overridden by the answer to Q1");
    }
}

#[test]
fn a_worker_that_leaves_something_serious_asks_a_person_before_any_gate_looks() {
    let found = || vec![finding(Severity::Major, "half of the request is not done")];
    let reviewed = || {
        World::feature("M")
            .auto()
            .list("split", vec![writes("T1", "src/a")])
            .leaves_found("review#1", found())
    };
    let asks = "Q1 asks about review: The work is done, but serious findings remain: src/a.rs:7: half of the request is not done. Continue anyway?";
    let mut world = reviewed().played();
    world.says(asks);
    world.never_says("review#1/form#1 started");
    assert_eq!(world.options(1), [Choice::Approve, Choice::Revise, Choice::GiveUp]);
    world.say(1, Answer::Approve, "the other half is for later");
    assert_eq!(world.calls(), ["review#1/form#1"], "its gates look at it as it is");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.said("verify"), ["the other half is for later"]);
    let left: Vec<String> =
        open_findings(&world.run).iter().map(RemainingFinding::severity_words).collect();
    assert_eq!(left, ["major, accepted by bob"], "who took it is named where it is listed");
    let mut world = reviewed().played();
    world.say(1, Answer::Revise, "do the other half");
    assert_eq!(world.calls(), ["review#2"]);
    assert_eq!(world.unit("review").findings.len(), 1, "it learns what was left");
    // Where a person is asked about the unit anyway, that is the question.
    let world = World::feature("M").auto().leaves_found("design#1", found()).played();
    world.says("Q1 asks about design: Build it like this?");
}

#[test]
fn words_with_any_answer_reach_whom_they_concern_and_never_an_item_beside_it() {
    let mut world = World::feature("M")
        .verdict("build.T1/implement#1/review#1", block("no"))
        .played_until("Q1");
    world.say(1, Answer::Approve, "keep the old name");
    world.go_on();
    world.say(2, Answer::Waive { gate: "review".to_owned() }, "the reviewer is wrong");
    world.go_on();
    let both = ["keep the old name", "the reviewer is wrong"];
    assert_eq!(world.said("build.T1/implement"), both);
    assert_eq!(world.said("build.T2/implement"), both[..1]);
    assert_eq!(world.said("review"), both);
}

#[test]
fn whoever_wanted_something_else_of_a_task_than_to_go_on_without_proof_is_asked_about_it_again() {
    let unverified =
        || Ruling::Unverified { what: "no checks are set".to_owned(), found: Vec::new() };
    let mut world = World::feature("S")
        .list("split", vec![writes("T1", "src/a"), writes("T2", "src/b")])
        .ruling("build.T1/implement#1/verify#1", unverified())
        .ruling("build.T2/implement#1/verify#1", unverified())
        .ruling("build.T2/implement#2/verify#1", unverified())
        .played();
    world.say(2, Answer::Revise, "with a test, please");
    world.say(3, Answer::Waive { gate: "verify".to_owned() }, "a prototype");
    world.go_on();
    world.says(
        "Q4 asks about build.T2/implement: Nothing verifies this change: no checks are set. What now?",
    );
    world.never_says("build.T2/implement merged");
}

#[test]
fn a_feature_without_a_task_is_none() {
    let world = World::feature("S").list("split", Vec::new()).played();
    world.says(
        "split#2 left no usable result: the list `tasks` has 0 tasks, and at least 1 must be done",
    );
    world.never_says("deliver#1 started");
}

#[test]
fn what_was_waived_for_one_reason_is_asked_again_for_another() {
    let unverified = |what: &str| Ruling::Unverified { what: what.to_owned(), found: Vec::new() };
    let mut world = World::feature("S")
        .list("split", vec![writes("T1", "src/a")])
        .ruling("build.T1/implement#1/verify#1", unverified("no checks are set"))
        .ruling("verify#1/verify#1", unverified("the checks are gone"))
        .played();
    world.say(2, Answer::Waive { gate: "verify".to_owned() }, "a prototype");
    world.go_on();
    world
        .says("Q3 asks about verify: Nothing verifies this change: the checks are gone. What now?");
    world.never_says("deliver#1 started");
}

/// A lack of proof in which the run itself added these commands.
fn added(commands: &[&str]) -> Ruling {
    let found: Vec<String> = commands.iter().map(|&command| command.to_owned()).collect();
    Ruling::Unverified { what: format!("the run added {}", found.join(", ")), found }
}

#[test]
fn checks_that_the_run_added_end_the_waiver_of_there_being_none() {
    let none = || Ruling::Unverified { what: "no checks".to_owned(), found: Vec::new() };
    let mut world = World::feature("S")
        .list("split", vec![writes("T1", "src/a"), after(writes("T2", "src/b"), "T1")])
        .ruling("build.T1/implement#1/verify#1", none())
        .ruling("build.T2/implement#1/verify#1", added(&["make check"]))
        .ruling("verify#1/verify#1", added(&["make check"]))
        .played();
    world.say(2, Answer::Waive { gate: "verify".to_owned() }, "a prototype");
    world.go_on();
    world.says("Q3 asks about build.T2/implement: Nothing verifies this change: the run added make check. What now?");
    let options = [Choice::Approve, Choice::Revise, Choice::Waive, Choice::GiveUp];
    assert_eq!(world.options(3), options);
    let view = RunView::new("r", &world.run);
    let does: Vec<&str> = view.asked[0].options.iter().map(|option| &*option.does).collect();
    assert_eq!(does[0], "Forge may run these commands in this run, and the checks run again");
    assert_eq!(
        does[2],
        "the checks are overridden in your name for all of this run, as long as its checks stay the same, and the protected-file check runs next"
    );
    // Whoever waives these is not asked about the same ones once more.
    world.say(3, Answer::Waive { gate: "verify".to_owned() }, "they are a sketch");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    world.says("verify: verify overridden by the answer to Q3");
    assert!(!world.run.allows("make check"));
}

#[test]
fn a_waiver_of_some_added_checks_is_none_of_others() {
    let mut world = World::feature("S")
        .list("split", vec![writes("T1", "src/a")])
        .ruling("build.T1/implement#1/verify#1", added(&["make check"]))
        .ruling("verify#1/verify#1", added(&["make check", "npm test"]))
        .played();
    world.say(2, Answer::Waive { gate: "verify".to_owned() }, "a prototype");
    world.go_on();
    world.says("Q3 asks about verify: Nothing verifies this change: the run added make check, npm test. What now?");
}

#[test]
fn checks_that_the_run_added_are_allowed_by_a_person_and_prove_only_when_they_were_run() {
    let mut world = World::feature("S")
        .list("split", vec![writes("T1", "src/a")])
        .ruling("build.T1/implement#1/verify#1", added(&["make check"]))
        .ruling("build.T1/implement#1/verify#2", revises(1))
        .played();
    world.say(2, Answer::Approve, "");
    assert!(world.run.allows("make check") && !world.run.allows("make"));
    world.go_on();
    world.before("bob answered Q2 (approve)", "build.T1/implement#1/verify#2 started");
    world.never_says("build.T1/implement: verify overridden");
    world.says("build.T1/implement#2 started");
}

#[test]
fn a_waiver_answers_no_open_question_about_another_lack_of_proof() {
    let unverified = |what: &str| Ruling::Unverified { what: what.to_owned(), found: Vec::new() };
    let mut world = World::feature("S")
        .list("split", vec![writes("T1", "src/a"), writes("T2", "src/b")])
        .ruling("build.T1/implement#1/verify#1", unverified("no checks are set"))
        .ruling("build.T2/implement#1/verify#1", unverified("the checks are gone"))
        .played();
    assert_eq!(world.run.questions().count(), 2);
    world.say(2, Answer::Waive { gate: "verify".to_owned() }, "a prototype");
    world.go_on();
    let open: Vec<String> = world.run.questions().map(|asked| asked.id.to_string()).collect();
    assert_eq!(open, ["Q3"]);
}

#[test]
fn a_green_verification_at_the_end_calls_nobody_and_changes_no_result() {
    let world = World::feature("M").played();
    assert_eq!(world.unit("verify").attempt, 1);
    assert!(world.unit("verify").receipt.is_none(), "nobody worked");
    assert!(world.unit("verify").review_tallies.is_empty());
}

#[test]
fn a_checkpoint_shows_what_a_person_needs_to_decide() {
    let minor = vec![finding(Severity::Minor, "a word")];
    let tasks = (1..=14).map(|n| writes(&format!("T{n}"), &format!("src/{n}"))).collect();
    let mut world = full()
        .list("split", tasks)
        .verdict("design#1/review#1", Verdict::Pass { findings: minor })
        .verdict("split#1/review#1", revise(1))
        .begin();
    let view = |world: &World| {
        QuestionView::new(&world.run, world.run.questions().next().expect("something is asked"))
    };
    while world.run.questions().next().is_none() {
        let call = world.wanted().pop().unwrap();
        world.end(&call);
    }
    let design = view(&world);
    assert_eq!(design.verdicts[0].verdict.as_str(), "APPROVE_WITH_NOTES");
    assert_eq!(design.verdicts[0].minor, 1);
    assert_eq!(design.findings.len(), 1, "notes of reviews that passed are shown, too");
    assert_eq!(design.listed, None);
    world.say(1, Answer::Approve, "");
    while world.run.questions().next().is_none() {
        let call = world.wanted().pop().unwrap();
        world.end(&call);
    }
    let tasks = view(&world);
    let listed = tasks.listed.unwrap();
    assert_eq!((listed.list.as_str(), listed.count, listed.items.len()), ("tasks", 14, 12));
    assert_eq!(listed.items[11].id, "T12");
    assert_eq!(tasks.verdicts[0].verdict.as_str(), "APPROVE", "of the second attempt alone");
}

#[test]
fn an_automatic_approval_names_the_worst_verdict() {
    let minor = vec![finding(Severity::Minor, "a word")];
    let world = World::feature("M")
        .auto()
        .verdict("design#1/review#1", Verdict::Pass { findings: minor })
        .played();
    world.is(&Phase::Over(End::Done));
    world.says("design: checkpoint-a approved automatically (--auto; review: APPROVE_WITH_NOTES)");
    let major = vec![finding(Severity::Major, "it loses the ledger")];
    let passed = Verdict::Pass { findings: major };
    let world = World::feature("M").auto().verdict("design#1/review#1", passed).played();
    world.says("Q1 asks about design: Build it like this?");
    let says = world.unit("design").review_tallies[0].says;
    assert_eq!(says, Says::Revise, "it follows from its findings");
    let plain = r#"
name = "f"
[[stage]]
name = "s"
agent = "x"
gates = [{ human = "Well?", auto = true }]
"#;
    let world = World::of(start_of("f", &[("f", plain)], &[])).auto().played();
    world.says("s: human approved automatically (--auto)");
}

#[test]
fn red_evidence_after_the_last_landing_keeps_the_code_in() {
    let evidence = Evidence {
        command: "make test".to_owned(),
        tree: "tree".to_owned(),
        colour: Colour::Red,
        took_ms: None,
        start: ProofStart::Cached,
        failure: None,
    };
    let receipt = Receipt { evidence: vec![evidence], ..Receipt::from_spent(Spent::NOTHING) };
    let world = World::feature("S").leaves("verify#1/land#1", receipt).played();
    world.says("Q2 asks about deliver: Nothing verifies this change: `make test` fails on exactly this code. What now?");
}

#[test]
fn what_must_be_true_and_is_not_asks_a_person_before_it_lands_and_remarks_are_kept() {
    let remarks = || {
        vec![
            Remark::Unmet("it greets (no time)".to_owned()),
            Remark::FollowUp("greet in French".to_owned()),
        ]
    };
    let left = |remarks| Receipt { remarks, ..Receipt::from_spent(Spent::NOTHING) };
    let mut world = World::feature("S")
        .auto()
        .list("split", vec![writes("T1", "src/a")])
        .leaves("build.T1/implement#1", left(remarks()))
        .leaves("build.T1/implement#1/review#1", left(remarks()[1..].to_vec()))
        .played();
    world.says("Q1 asks about build.T1/implement: The work is done, but serious findings remain: not met: it greets (no time). Continue anyway?");
    world.never_says("build.T1/implement merged");
    world.say(1, Answer::Approve, "no greeting, then");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    let view = ResultView::new("r", &world.run);
    let kept: Vec<Remark> = view.remarks.into_iter().map(|view| view.remark).collect();
    assert_eq!(kept, remarks(), "once each");
    let text = summary::markdown(&summary::summarize("r", &world.run, world.run.now()));
    assert!(text.contains("- for later, T1: greet in French"), "{text}");
}

#[test]
fn a_task_that_changes_nothing_is_asked_about_and_good_only_if_a_person_says_so_by_name() {
    let nothing = |commit: &str| Receipt {
        commit: Some(commit.to_owned()),
        tree: Some("tree".to_owned()),
        head: Some("base".to_owned()),
        ..Receipt::from_spent(Spent::NOTHING)
    };
    let mut world = World::feature("M").auto().list("split", vec![writes("T1", "src/a")]);
    world.start.base = Some("base".to_owned());
    let mut world = world
        .leaves("build.T1/implement#1/land#1", nothing("base"))
        .leaves("review#1/land#1", nothing("base"))
        .leaves("verify#1/land#1", nothing("base"))
        .played();
    world.says(
        "Q1 asks about build.T1/implement: The work is done, and nothing changed. Is that right?",
    );
    let options = [Choice::Approve, Choice::Revise, Choice::Waive, Choice::GiveUp];
    assert_eq!(world.options(1), options);
    world.say(1, Answer::Waive { gate: "land".to_owned() }, "it is there already");
    world.go_on();
    assert_eq!(
        world.about("nothing changed. Is that right?").len(),
        1,
        "only tasks have to change something"
    );
    world.never_says("build.T1/implement merged");
}

/// Plays a flow whose merges bring nothing.
fn changes_nothing(flow: &str, merges: &[&str]) -> World {
    let mut world = World::of(start_of("f", &[("f", flow)], &[])).auto();
    world.start.base = Some("base".to_owned());
    world.start.branch = Some("work".to_owned());
    for merge in merges {
        let nothing = Receipt {
            commit: Some("base".to_owned()),
            tree: Some("tree".to_owned()),
            head: Some("base".to_owned()),
            ..Receipt::from_spent(Spent::NOTHING)
        };
        world = world.leaves(merge, nothing);
    }
    world.played()
}

#[test]
fn a_run_without_tasks_that_changes_nothing_is_asked_about_once_and_a_plain_yes_is_enough() {
    let two = r#"
name = "f"
[[stage]]
name = "build"
agent = "x"
gates = [{ land = true }]
[[stage]]
name = "tidy"
agent = "x"
gates = [{ land = true }]
"#;
    let mut world = changes_nothing(two, &["build#1/land#1", "tidy#1/land#1"]);
    world.says("Q1 asks about build: The work is done, and nothing changed. Is that right?");
    world.say(1, Answer::Approve, "");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.about("nothing changed. Is that right?").len(), 1);
}

#[test]
fn a_person_who_wants_a_change_is_asked_again_if_there_is_none_again() {
    let one =
        "name = \"f\"\n[[stage]]\nname = \"build\"\nagent = \"x\"\ngates = [{ land = true }]\n";
    for refused in [Answer::Revise, Answer::GiveUp] {
        let mut world = changes_nothing(one, &["build#1/land#1", "build#2/land#1"]);
        world.say(1, refused.clone(), "no, translate it");
        if refused == Answer::GiveUp {
            world.command(Command::Resume { by: person("ada"), budget: None }).unwrap();
        }
        world.go_on();
        world.says("Q2 asks about build: The work is done, and nothing changed. Is that right?");
        world.say(2, Answer::Approve, "");
        world.go_on();
        world.is(&Phase::Over(End::Done));
    }
}

#[test]
fn a_finding_whose_evidence_is_not_there_is_noted_and_sends_nothing_back() {
    let unfounded = || Finding {
        doubt: Some(Doubt::NotThere("`src/a.rs` has 3 lines".to_owned())),
        ..finding(Severity::Major, "a leak")
    };
    let review = "build.T1/implement#1/review#1";
    let revise = Ruling::Verdict(Verdict::Revise { findings: vec![unfounded()] });
    let tasks = || World::feature("S").auto().list("split", vec![writes("T1", "src/a")]);
    let world = tasks().ruling(review, revise).played();
    let why = "but no finding has a path or proof that holds: src/a.rs:7: a leak (noted only: `src/a.rs` has 3 lines)";
    assert_eq!(world.about(why).len(), 1);
    assert!(world.run.history().sent_back.is_empty());
    world.is(&Phase::Over(End::Done));
    let both = vec![unfounded(), finding(Severity::Major, "a bug")];
    let world =
        tasks().ruling(review, Ruling::Verdict(Verdict::Revise { findings: both })).played();
    let back: Vec<String> = world
        .run
        .history()
        .sent_back
        .iter()
        .map(|back| back.findings.iter().map(Finding::to_line).collect())
        .collect();
    assert_eq!(back, ["src/a.rs:7: a bug"]);
}

#[test]
fn a_note_that_a_later_stage_settled_is_no_longer_open_anywhere() {
    let note = |what: &str| finding(Severity::Minor, what);
    let notes =
        Ruling::Verdict(Verdict::Pass { findings: vec![note("a typo"), note("a slow loop")] });
    let settled = Receipt {
        remarks: vec![Remark::Settled("build.T1/implement F1".to_owned())],
        ..Receipt::from_spent(Spent::NOTHING)
    };
    let world = World::feature("M")
        .auto()
        .list("split", vec![writes("T1", "src/a")])
        .ruling("build.T1/implement#1/review#1", notes)
        .leaves("review#1", settled)
        .played();
    world.is(&Phase::Over(End::Done));
    let view = ResultView::new("r", &world.run);
    let open: Vec<String> = view.noted.iter().map(|left| left.finding.what.clone()).collect();
    assert_eq!(open, ["a slow loop"]);
    assert!(view.remarks.is_empty(), "what is settled needs no words");
    let text = summary::markdown(&summary::summarize("r", &world.run, world.run.now()));
    assert!(text.contains("a slow loop") && !text.contains("a typo"), "{text}");
}
