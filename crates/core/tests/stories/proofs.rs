//! What cannot be proved is never passed, and files that guard the project need a person.

use forge_core::{
    Input, Refusal, Report,
    event::{
        Answer, CheckFailure, Choice, Colour, End, Event, Evidence, Outcome, ProofStart, Receipt,
        Ruling,
    },
    money::Spent,
    run::Phase,
    verdict::{RED_AT_THE_BASE, Verdict},
    view::{AcceptedFindings, QuestionView},
};

use crate::world::{World, after, block, finding, red, revise, revises, writes};

const PROVED: &str = r#"
[[stage]]
name = "make"
agent = "m"
gates = [{ verify = true }, { human = "Good?", auto = true }]
"#;

fn unverified() -> Ruling {
    Ruling::Unverified { what: "no checks are configured.".into(), found: Vec::new() }
}

#[test]
fn what_cannot_be_proved_is_asked_about_and_waived_only_by_name() {
    let mut world = World::small(PROVED).auto().ruling("make#1/verify#1", unverified()).played();
    world.says("make#1/verify#1 could not verify it: no checks are configured.");
    world.says(
        "Q1 asks about make: Nothing verifies this change: no checks are configured. What now?",
    );
    assert_eq!(world.options(1), [Choice::Revise, Choice::Waive, Choice::GiveUp]);
    let refused = world.try_say(1, Answer::Approve, "");
    assert!(matches!(refused, Err(Refusal::NotAnOption { choice: Choice::Approve, .. })));
    assert_eq!(
        world.try_say(1, Answer::Waive { gate: "human".into() }, ""),
        Err(Refusal::WrongGate { said: "human".into(), gate: "verify".into() })
    );
    let by_name = || Answer::Waive { gate: "verify".into() };
    assert_eq!(world.try_say(1, by_name(), " "), Err(Refusal::ReasonMissing));
    // A character that nobody sees is no reason.
    assert_eq!(world.try_say(1, by_name(), "\u{200b}"), Err(Refusal::ReasonMissing));
    world.say(1, by_name(), "there are none");
    world.says("make: verify overridden by the answer to Q1");
    assert_eq!(world.wanted(), ["Q2"], "what nobody proved is not passed automatically");
}

#[test]
fn what_was_accepted_with_one_question_is_only_counted_at_the_next() {
    let flow = PROVED.replace(
        "gates = [{ verify = true }",
        "rounds = 0\ngates = [{ check = \"changes\" }, { verify = true }",
    );
    let mut world = World::small(&flow)
        .verdict("make#1/changes#1", revise(3))
        .ruling("make#1/verify#1", unverified())
        .played();
    let asked = |world: &World| {
        let question = world.run.questions().next().expect("it is asked");
        QuestionView::new(&world.run, question)
    };
    assert_eq!((asked(&world).findings.len(), asked(&world).accepted), (3, Vec::new()));
    world.say(1, Answer::Approve, "");
    world.go_on();
    let accepted = AcceptedFindings { question: "Q1".to_owned(), count: 3 };
    assert_eq!((asked(&world).findings, asked(&world).accepted), (Vec::new(), vec![accepted]));
}

#[test]
fn what_cannot_be_proved_can_be_sent_back_or_given_up() {
    let asked = || World::small(PROVED).ruling("make#1/verify#1", unverified()).played();
    let mut world = asked();
    world.say(1, Answer::Revise, "configure the checks");
    assert_eq!(world.calls(), ["make#2"]);
    assert_eq!(world.unit("make").round, 0);
    let mut world = asked();
    world.say(1, Answer::GiveUp, "");
    world.is(&Phase::Over(End::Failed));
}

#[test]
fn no_setting_of_a_flow_passes_what_cannot_be_proved() {
    for setting in ["exhausted = \"pass-with-notes\"", "exhausted = \"fail\"", "rounds = 0"] {
        let flow = PROVED.replace("agent = \"m\"", &format!("agent = \"m\"\n{setting}"));
        let world = World::small(&flow).auto().ruling("make#1/verify#1", unverified()).played();
        assert_eq!(world.wanted(), ["Q1"], "{setting}");
    }
}

#[test]
fn advice_that_cannot_be_proved_is_noted() {
    let flow = PROVED.replace("{ verify = true }", "{ check = \"new-tests\", advisory = true }");
    let mut world = World::small(&flow).auto().begin();
    world.end("make#1");
    world.rules("make#1/new-tests#1", unverified());
    assert_eq!(world.wanted(), ["Q1"], "but nothing is passed automatically after it");
    assert_eq!(world.options(1), [Choice::Approve, Choice::Revise, Choice::GiveUp]);
}

#[test]
fn any_gate_may_say_that_it_cannot_prove_it() {
    for gate in
        ["check = \"changes\"", "check = \"new-tests\"", "command = \"test\"", "land = true"]
    {
        let flow = format!(
            "[[stage]]\nname = \"make\"\nagent = \"m\"\ngates = [{{ name = \"g\", {gate} }}]"
        );
        let mut world = World::small(&flow).ruling("make#1/g#1", unverified()).played();
        assert_eq!(world.options(1), [Choice::Revise, Choice::Waive, Choice::GiveUp], "{gate}");
        world.say(1, Answer::Waive { gate: "g".into() }, "nothing to prove");
        world.is(&Phase::Over(End::Done));
        assert_eq!(world.unit("make").landed, None);
    }
}

const GUARDED: &str = r#"
[[stage]]
name = "make"
agent = "m"
rounds = 1
gates = [{ check = "guarded" }, { review = "critic" }, { human = "Good?", auto = true }]
"#;

#[test]
fn a_change_to_what_guards_the_project_is_put_to_a_person() {
    let mut world = World::small(GUARDED).auto().begin();
    world.end("make#1");
    world.rules("make#1/guarded#1", revises(1));
    world.says(
        "Q1 asks about make: This change touches protected files (tests, CI, settings). Accept it?",
    );
    assert_eq!(world.options(1), [Choice::Approve, Choice::Revise, Choice::GiveUp]);
    let view = QuestionView::new(&world.run, world.run.questions().next().unwrap());
    assert_eq!(view.findings.len(), 1, "the person sees which");
    assert_eq!(view.options[0].does, "make is accepted, and `critic` runs next");
    world.say(1, Answer::Approve, "the test was wrong");
    world.says("make: guarded approved by the answer to Q1");
    world.end("make#1/critic#1");
    assert_eq!(world.wanted(), ["Q2"], "nothing about it is automatic");
}

#[test]
fn a_person_sends_back_what_guards_the_project_without_using_up_a_round() {
    let mut world = World::small(GUARDED).auto().begin();
    for n in 1..=3 {
        world.end(&format!("make#{n}"));
        world.rules(&format!("make#{n}/guarded#1"), revises(1));
        world.say(n, Answer::Revise, "leave the tests alone");
    }
    assert_eq!(world.unit("make").round, 0);
    assert_eq!(world.calls(), ["make#4"]);
    assert_eq!(world.unit("make").findings.len(), 1, "the next attempt learns which files");
}

#[test]
fn guards_that_were_left_alone_ask_nobody() {
    let world = World::small(GUARDED).auto().played();
    world.is(&Phase::Over(End::Done));
    world.never_says("asks about");
}

#[test]
fn advice_about_guards_is_noted_and_a_block_still_blocks() {
    let advisory = GUARDED.replace("\"guarded\"", "\"guarded\", advisory = true");
    let world = World::small(&advisory).verdict("make#1/guarded#1", revise(1)).played();
    world.says("make: guarded is advisory; its findings are noted");
    let blocked = World::small(GUARDED).verdict("make#1/guarded#1", block("no"));
    let world = blocked.answer(1, Answer::GiveUp, "").played();
    world.is(&Phase::Over(End::Blocked));
}

#[test]
fn other_checks_of_forge_send_back_like_any_gate() {
    for check in ["changes", "new-tests"] {
        let flow = GUARDED.replace("guarded", check);
        let mut world = World::small(&flow).begin();
        world.end("make#1");
        world.rules(&format!("make#1/{check}#1"), revises(1));
        assert_eq!(world.calls(), ["make#2"]);
    }
}

#[test]
fn a_check_that_forge_does_not_have_is_refused_with_those_it_has() {
    let flow = GUARDED.replace("\"guarded\"", "\"magic\"");
    let mut world = World::small(&flow);
    let start = Box::new(world.start.clone());
    let refused = world.command(forge_core::Command::Start(start)).unwrap_err().to_string();
    assert_eq!(
        refused,
        "flow `f`: stage `make` has a gate with the check `magic`, which Forge does not have; it has changes, guarded, new-tests"
    );
}

/// Work that makes way.
fn deferred(until: u64) -> Outcome {
    Outcome::Deferred { until, what: "another run works on src".into() }
}

#[test]
fn work_that_makes_way_waits_for_its_time_and_costs_nothing() {
    let mut world = World::small(PROVED).begin();
    world.ends("make#1", deferred(900_000));
    world.says("make#1 waits: another run works on src");
    assert_eq!(world.wanted(), ["wake at 900000"]);
    world.input_at(899_999, &Input::Tick).unwrap();
    assert_eq!(world.calls(), [] as [String; 0]);
    world.input_at(900_000, &Input::Tick).unwrap();
    assert_eq!(world.calls(), ["make#2"]);
    let unit = world.unit("make");
    assert_eq!((unit.misses, unit.setbacks, unit.round), (0, 0, 0));
}

#[test]
fn work_that_makes_way_for_ever_asks_nobody() {
    let mut world = World::small(PROVED).begin();
    for n in 1..=200 {
        let until = world.now() + 60_000;
        world.ends(&format!("make#{n}"), deferred(until));
        assert_eq!(world.wanted(), [format!("wake at {until}")]);
        world.input_at(until, &Input::Tick).unwrap();
    }
    world.never_says("asks about");
    world.is(&Phase::Going);
}

#[test]
fn work_that_makes_way_until_a_time_that_is_over_does_not_spin() {
    let mut world = World::small(PROVED).begin();
    for until in [0, 1] {
        let at = world.now();
        let attempt = format!("make#{}", world.unit("make").attempt);
        world.ends(&attempt, deferred(until));
        assert_eq!(world.wanted(), [format!("wake at {}", at + 1_000)]);
        assert_eq!(world.calls(), [] as [String; 0]);
        world.input_at(at + 1_000, &Input::Tick).unwrap();
    }
    world.ends("make#3", deferred(u64::MAX));
    assert_eq!(world.wanted(), [format!("wake at {}", u64::MAX)]);
}

#[test]
fn setbacks_around_work_that_makes_way_still_count() {
    let mut world = World::small(PROVED).begin();
    for n in 1..=9 {
        let outcome = if n % 2 == 1 { Outcome::Lost } else { deferred(0) };
        world.ends(&format!("make#{n}"), outcome);
        world.input_at(world.now() + 1_000, &Input::Tick).unwrap();
    }
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
}

#[test]
fn what_a_person_should_know_is_told_and_stops_nothing() {
    let mut world = World::small(PROVED).begin();
    let noticed = |unit: &str| {
        let what = "another run works on src, too".into();
        Input::Report(Report::Noticed { unit: unit.parse().unwrap(), what })
    };
    let record = world.input(&noticed("make")).unwrap();
    assert!(matches!(&record.facts[..], [Event::Noticed { .. }]));
    world.says("make: another run works on src, too");
    assert_eq!(world.calls(), ["make#1"]);
    assert_eq!(world.input(&noticed("nothing")).unwrap().facts, []);
    world.go_on();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.input(&noticed("make")).unwrap().facts.len(), 1, "also when it is over");
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_person_who_mended_the_cause_outside_lets_a_proof_look_again_and_no_agent_is_called() {
    let flow = PROVED.replace("agent = \"m\"", "agent = \"m\"\nrounds = 0");
    let red = revise(1);
    let mut world = World::small(&flow)
        .verdict("make#1/verify#1", red.clone())
        .verdict("make#1/verify#2", red)
        .played();
    world.say(1, Answer::Retry, "");
    assert_eq!(world.calls(), ["make#1/verify#2"]);
    world.go_on();
    world.say(2, Answer::Retry, "now it has its database");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    world.never_says("make#2 started");
    world.says("make#1/verify#3 passed");
}

#[test]
fn a_proof_that_says_no_is_never_approved() {
    let flow = PROVED.replace("agent = \"m\"", "agent = \"m\"\nrounds = 0");
    let mut world = World::small(&flow).verdict("make#1/verify#1", revise(1)).played();
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::Waive, Choice::GiveUp]);
    let note = finding(forge_core::verdict::Severity::Minor, "slow");
    world.say(1, Answer::Revise, "mend it");
    let pass = Verdict::Pass { findings: vec![note] };
    world.end("make#2");
    world.rules("make#2/verify#1", Ruling::Verdict(pass));
    assert_eq!(world.wanted(), ["Q2"]);
}

#[test]
fn a_check_that_failed_before_the_run_costs_one_revision_and_a_new_failure_all_of_them() {
    let flow = PROVED.replace("agent = \"m\"", "agent = \"m\"\nrounds = 3");
    let old = |verdict: Verdict| match verdict {
        Verdict::Revise { mut findings } => {
            for finding in &mut findings {
                RED_AT_THE_BASE.clone_into(&mut finding.why);
            }
            Verdict::Revise { findings }
        }
        other => other,
    };
    let twice = |first: Verdict, second: Verdict| {
        World::small(&flow)
            .verdict("make#1/verify#1", first)
            .verdict("make#2/verify#1", second)
            .played()
    };
    let world = twice(old(revise(1)), old(revise(1)));
    world.says("make sent back by verify: F1 src/a.rs:7: problem 0, as it did before the run");
    world.says("Q1 asks about make: The checks find as many problems as before. What now?");
    assert_eq!(world.unit("make").attempt, 2);
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::Waive, Choice::GiveUp]);
    for (first, second) in
        [(old(revise(2)), old(revise(1))), (revise(1), revise(1)), (old(revise(1)), revise(1))]
    {
        let world = twice(first, second);
        assert_eq!(world.unit("make").attempt, 3, "it gets better, or the change broke it");
        world.is(&Phase::Over(End::Done));
    }
}

/// A look of `verify` that sees its check fail in this way.
fn fails(world: World, call: &str, fingerprint: &str, tests: Option<&[&str]>) -> World {
    let tests = tests.map(|tests| tests.iter().map(|test| (*test).to_owned()).collect());
    let evidence = Evidence {
        command: "cargo test".to_owned(),
        tree: format!("tree of {call}"),
        colour: Colour::Red,
        took_ms: Some(7),
        start: ProofStart::Cached,
        failure: Some(CheckFailure { fingerprint: fingerprint.to_owned(), tests }),
    };
    let receipt = Receipt { evidence: vec![evidence], ..Receipt::from_spent(Spent::NOTHING) };
    world.verdict(call, red(fingerprint)).leaves(call, receipt)
}

#[test]
fn a_red_check_that_a_person_waived_is_not_paid_for_again_while_it_fails_in_the_same_way() {
    const AT_T2: &str = "build.T2/implement#1/verify#1";
    let waive = Answer::Waive { gate: "verify".to_owned() };
    let tasks = || vec![writes("T1", "src/a"), after(writes("T2", "src/b"), "T1")];
    let waived = || {
        let mut world = World::feature("S").auto().list("split", tasks());
        for n in 1..=3 {
            let call = format!("build.T1/implement#{n}/verify#1");
            world = fails(world, &call, "two failed", Some(&["a", "b"]));
        }
        world.answer(1, waive.clone(), "red before we began")
    };
    let same = fails(waived(), AT_T2, "two failed", Some(&["b"]));
    let same = fails(same, "verify#1/verify#1", "two failed", Some(&["a", "b"])).played();
    same.is(&Phase::Over(End::Done));
    assert_eq!(same.about(" asks ").len(), 1);
    assert_eq!(same.unit("build.T2/implement").attempt, 1, "nobody is called for it again");
    same.says("build.T2/implement: verify overridden by the answer to Q1");
    same.never_says("verify#2 started");
    let others: [(&str, Option<&[&str]>); 4] = [
        ("two failed", Some(&["b", "c"])),
        ("it does not even build", Some(&["a", "b"])),
        ("two failed", None),
        ("", Some(&[])),
    ];
    for (fingerprint, tests) in others {
        let other = fails(waived(), AT_T2, fingerprint, tests).played();
        other.says("build.T2/implement sent back by verify: F1 red");
    }
}
