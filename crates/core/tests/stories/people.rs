//! What people are asked, and what their answers do.

use forge_core::{
    Command, Refusal,
    event::{Answer, Choice, End, Hold},
    id::QuestionId,
    run::Phase,
    verdict::BlockerClass,
};

use crate::world::{World, fault, finding, person, revise, revises, start_of, unread};

const ASKED: &str = r#"
[[stage]]
name = "write"
agent = "writer"
gates = [{ human = "Good?" }, { verify = true }]
"#;

#[test]
fn approving_a_checkpoint_passes_one_gate() {
    let mut world = World::small(ASKED).begin();
    world.end("write#1");
    assert_eq!(world.wanted(), ["Q1"]);
    assert_eq!(world.options(1), [Choice::Approve, Choice::Revise, Choice::GiveUp]);
    world.say(1, Answer::Approve, "");
    world.says("write: human approved by the answer to Q1");
    assert_eq!(world.calls(), ["write#1/verify#1"], "the gates after it still look");
}

#[test]
fn giving_up_fails_the_unit_in_the_persons_words() {
    let mut world = World::small(ASKED).begin();
    world.end("write#1");
    world.say(1, Answer::GiveUp, "not worth it");
    world.says("write failed: rejected by bob: not worth it");
    world.is(&Phase::Over(End::Failed));
}

#[test]
fn a_person_who_revises_gives_the_open_findings_along() {
    let note = vec![finding(forge_core::verdict::Severity::Minor, "a word")];
    let flow = r#"
[[stage]]
name = "write"
agent = "writer"
gates = [{ review = "critic" }, { human = "Good?" }]
"#;
    let mut world = World::small(flow).begin();
    world.end("write#1");
    let pass = forge_core::verdict::Verdict::Pass { findings: note };
    world.rules("write#1/critic#1", forge_core::event::Ruling::Verdict(pass));
    world.say(1, Answer::Revise, "and the index");
    assert_eq!(world.unit("write").findings.len(), 1);
    assert_eq!(world.said("write"), ["and the index"]);
}

#[test]
fn what_cannot_be_answered_is_refused_and_changes_nothing() {
    let mut world = World::small(ASKED).begin();
    world.end("write#1");
    let before = world.journal.clone();
    let options = vec![Choice::Approve, Choice::Revise, Choice::GiveUp];
    assert_eq!(
        world.try_say(1, Answer::Retry, ""),
        Err(Refusal::NotAnOption { choice: Choice::Retry, options: options.clone() })
    );
    assert_eq!(
        world.try_say(1, Answer::Waive { gate: "human".into() }, ""),
        Err(Refusal::NotAnOption { choice: Choice::Waive, options })
    );
    assert_eq!(world.try_say(1, Answer::Revise, " \n"), Err(Refusal::WordsMissing));
    assert_eq!(
        world.try_say(7, Answer::Approve, ""),
        Err(Refusal::NoSuchQuestion { question: QuestionId(7), open: vec![QuestionId(1)] })
    );
    assert_eq!(
        world.try_say(0, Answer::Approve, ""),
        Err(Refusal::NoSuchQuestion { question: QuestionId(0), open: vec![QuestionId(1)] })
    );
    assert_eq!(world.journal, before);
    world.say(1, Answer::Approve, "");
    assert_eq!(world.try_say(1, Answer::Approve, ""), Err(Refusal::AnsweredAlready(QuestionId(1))));
}

#[test]
fn verify_is_waived_only_by_its_name() {
    let flow = ASKED.replace("agent = \"writer\"", "agent = \"writer\"\nrounds = 0");
    let mut world = World::small(&flow).verdict("write#1/verify#1", revise(1)).played();
    assert_eq!(world.options(2), [Choice::Retry, Choice::Revise, Choice::Waive, Choice::GiveUp]);
    assert!(matches!(world.try_say(2, Answer::Approve, ""), Err(Refusal::NotAnOption { .. })));
    assert_eq!(
        world.try_say(2, Answer::Waive { gate: "human".into() }, ""),
        Err(Refusal::WrongGate { said: "human".into(), gate: "verify".into() })
    );
    world.say(2, Answer::Waive { gate: "verify".into() }, "known flake");
    world.says("write: verify overridden by the answer to Q2");
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_proof_without_verdict_is_retried_or_waived_by_name() {
    let mut world = World::small(ASKED)
        .ruling("write#1/verify#1", unread("no disk"))
        .ruling("write#1/verify#2", unread("no disk"))
        .played();
    assert_eq!(world.options(2), [Choice::Retry, Choice::Revise, Choice::Waive, Choice::GiveUp]);
    world.say(2, Answer::Waive { gate: "verify".into() }, "seen by hand");
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_blocker_is_asked_about_and_tried_again_with_or_without_words_or_given_up() {
    let class = BlockerClass::ExternalDependency;
    let blocked = forge_core::event::Outcome::Blocked { class, what: "no key".into() };
    let world = World::small(ASKED).outcome("write#1", blocked).played();
    world.says("Q1 asks about write: The work is blocked: no key. What now?");
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    for answer in [Answer::Retry, Answer::Revise] {
        let mut world = world.clone();
        world.say(1, answer.clone(), "the key is in the safe");
        assert_eq!(world.calls(), ["write#2"], "{answer:?}");
        assert_eq!(world.said("write"), ["the key is in the safe"], "{answer:?}");
        assert_eq!(world.about("sent back"), [] as [String; 0], "there is nothing to send back");
    }
}

#[test]
fn an_agent_that_is_not_let_in_is_asked_about_at_once_with_what_to_do() {
    let class = BlockerClass::NoAccess;
    let what = "not logged in.".to_owned();
    let blocked = forge_core::event::Outcome::Blocked { class, what };
    let mut world = World::small(ASKED).outcome("write#1", blocked).played();
    world.says("write#1 blocked: not logged in.");
    world.says("Q1 asks about write: The provider refuses access: not logged in. Log in and retry, or switch model or agent. What now?");
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    assert_eq!(world.unit("write").misses, 0, "it is nobody's fault");
    world.say(1, Answer::Retry, "");
    assert_eq!(world.calls(), ["write#2"]);
}

#[test]
fn a_judge_that_cannot_go_on_is_asked_about_at_once() {
    use forge_core::event::Ruling;
    let blocked = |class| Ruling::Blocked { class, what: "the model will not do it".to_owned() };
    let flow = "[[stage]]\nname = \"write\"\nagent = \"w\"\n\
                gates = [{ review = \"critic\" }, { verify = true }]\n";
    let mut world = World::small(flow).begin();
    world.end("write#1");
    world.rules("write#1/critic#1", blocked(BlockerClass::ModelRefusal));
    world.says("write#1/critic#1 blocked: the model will not do it");
    world.says("Q1 asks about write: `critic` is blocked: the model will not do it. What now?");
    assert_eq!(world.options(1), [Choice::Retry, Choice::Approve, Choice::Revise, Choice::GiveUp]);
    world.say(1, Answer::Retry, "");
    assert_eq!(world.calls(), ["write#1/critic#2"]);
    world.rules("write#1/critic#2", blocked(BlockerClass::NoAccess));
    world.say(2, Answer::Approve, "");
    world.says("write: critic overridden by the answer to Q2");
    world.rules("write#1/verify#1", blocked(BlockerClass::NoAccess));
    assert_eq!(world.options(3), [Choice::Retry, Choice::Revise, Choice::Waive, Choice::GiveUp]);
}

#[test]
fn a_judge_that_only_advises_and_cannot_go_on_stops_nothing() {
    use forge_core::event::Ruling;
    let flow = "[[stage]]\nname = \"a\"\nagent = \"x\"\ngates = [{ review = \"critic\", advisory = true }]\n";
    let no_key = Ruling::Blocked { class: BlockerClass::NoAccess, what: "no key".into() };
    let world = World::small(flow).ruling("a#1/critic#1", no_key).played();
    world.says("a: critic is advisory; its findings are noted");
    world.is(&Phase::Over(End::Done));
}

#[test]
fn nobody_can_accept_what_made_nothing() {
    let mut world = World::small(ASKED)
        .outcome("write#1", fault("empty"))
        .outcome("write#2", fault("empty"))
        .played();
    world.says("Q1 asks about write: No usable result: empty. What now?");
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    for answer in [Answer::Approve, Answer::Waive { gate: "human".into() }] {
        let refused = world.try_say(1, answer, "words");
        assert!(matches!(refused, Err(Refusal::NotAnOption { .. })));
    }
    assert_eq!(world.unit("write").attempt, 2);
}

#[test]
fn a_question_about_work_that_was_reset_no_longer_matters() {
    let flow = r#"
[[stage]]
name = "plan"
agent = "planner"
[[stage]]
name = "a"
after = ["plan"]
agent = "x"
gates = [{ human = "A?" }]
[[stage]]
name = "b"
after = ["plan"]
agent = "y"
gates = [{ review = "critic", redo = "plan" }]
"#;
    let mut world = World::small(flow).begin();
    world.end("plan#1");
    world.end("a#1");
    world.end("b#1");
    assert_eq!(world.run.questions().count(), 1);
    world.rules("b#1/critic#1", revises(1));
    assert_eq!(world.run.questions().count(), 0);
    assert_eq!(world.try_say(1, Answer::Approve, ""), Err(Refusal::AnsweredAlready(QuestionId(1))));
    world.go_on();
    world.is(&Phase::Over(End::Done));
    world.says("Q2 asks about a: A?");
}

#[test]
fn what_was_given_up_stays_given_up_when_a_paused_run_goes_on() {
    let flow = r#"
[[stage]]
name = "a"
agent = "x"
gates = [{ human = "A?" }]
[[stage]]
name = "b"
after = []
agent = "y"
"#;
    let mut world = World::small(flow).begin();
    world.end("a#1");
    world.say(1, Answer::GiveUp, "");
    world.pause();
    world.resume();
    world.never_says("starts again");
    world.resume_with("5").unwrap();
    world.never_says("starts again");
    world.end("b#1");
    world.is(&Phase::Over(End::Failed));
}

#[test]
fn commands_that_make_no_sense_are_refused_with_a_reason() {
    let by = || person("ada");
    let mut world = World::small(ASKED);
    for command in [
        Command::Pause { by: by() },
        Command::Resume { by: by(), budget: None },
        Command::Abandon { by: by() },
    ] {
        assert_eq!(world.command(command), Err(Refusal::NotStarted));
    }
    let mut unknown = world.start.clone();
    unknown.params.insert("size".into(), "L".into());
    assert_eq!(
        world.command(Command::Start(Box::new(unknown))).unwrap_err().to_string(),
        "the flow `f` has no parameters"
    );
    let missing = start_of("g", &[], &[]);
    assert_eq!(
        world.command(Command::Start(Box::new(missing))).unwrap_err().to_string(),
        "flow `g`: unknown flow `g`"
    );
    let mut world = world.begin();
    let start = world.start.clone();
    assert_eq!(world.command(Command::Start(Box::new(start))), Err(Refusal::AlreadyStarted));
    assert_eq!(
        world.command(Command::Resume { by: by(), budget: None }),
        Err(Refusal::AlreadyGoing)
    );
    world.pause();
    let paused = Hold::Paused { by: by() };
    assert_eq!(world.command(Command::Pause { by: by() }), Err(Refusal::AlreadyHeld(paused)));
    world.abandon();
    for command in [
        Command::Pause { by: by() },
        Command::Resume { by: by(), budget: None },
        Command::Abandon { by: by() },
        Command::Stop { by: by() },
    ] {
        assert_eq!(world.command(command), Err(Refusal::Over(End::Abandoned)));
    }
}

#[test]
fn a_parameter_must_have_one_of_its_values() {
    let start = |params: &[(&str, &str)]| {
        Command::Start(Box::new(start_of("feature", &[("feature", crate::world::FEATURE)], params)))
    };
    let refused = |params: &[(&str, &str)]| {
        World::feature("M").command(start(params)).unwrap_err().to_string()
    };
    assert_eq!(refused(&[("effort", "XS")]), "`effort` can be S, M, L, not `XS`");
    assert_eq!(
        refused(&[("size", "L")]),
        "the flow `feature` has no parameter `size`, only effort, pr, source"
    );
}

#[test]
fn every_refusal_says_what_and_why() {
    use forge_core::money::Money;
    let said = |refusal: Refusal| refusal.to_string();
    let q = QuestionId(3);
    assert_eq!(said(Refusal::AlreadyStarted), "the run has started already");
    assert_eq!(said(Refusal::NotStarted), "the run has not started");
    assert_eq!(said(Refusal::Over(End::Done)), "the run is done");
    assert_eq!(said(Refusal::Over(End::Abandoned)), "the run was abandoned");
    assert_eq!(said(Refusal::Over(End::Failed)), "the run has failed; `forge resume` reopens it");
    assert_eq!(said(Refusal::Over(End::Blocked)), "the run is blocked; `forge resume` reopens it");
    assert_eq!(said(Refusal::AlreadyGoing), "the run is not stopped: nothing to resume");
    let parked = Hold::OutOfBudget { what: String::new() };
    assert_eq!(said(Refusal::AlreadyHeld(parked)), "the run is already parked");
    assert_eq!(
        said(Refusal::NoSuchQuestion { question: q, open: vec![] }),
        "there is no open question Q3: no question is open"
    );
    assert_eq!(
        said(Refusal::NoSuchQuestion { question: q, open: vec![QuestionId(1), QuestionId(2)] }),
        "there is no open question Q3; open: Q1, Q2"
    );
    assert_eq!(said(Refusal::AnsweredAlready(q)), "Q3 is already answered, or no longer open");
    let options = vec![Choice::Retry, Choice::Revise, Choice::GiveUp];
    assert_eq!(
        said(Refusal::NotAnOption { choice: Choice::Approve, options }),
        "`approve` is not a valid answer; possible: retry, revise, reject"
    );
    assert_eq!(
        said(Refusal::WrongGate { said: "x".into(), gate: "verify".into() }),
        "only `checks` can be overridden here, not `x`"
    );
    assert_eq!(
        said(Refusal::WordsMissing),
        "a request for changes needs words: say what should change"
    );
    let unit = || "build.T2/make".parse().unwrap();
    assert_eq!(said(Refusal::NoSuchUnit(unit())), "this run has no stage or task `build.T2/make`");
    assert_eq!(
        said(Refusal::UnderWay(unit())),
        "an agent is working on `build.T2/make`; pause or stop the run first"
    );
    assert_eq!(
        said(Refusal::NothingToEdit(unit())),
        "`build.T2/make` has no result yet that you could change"
    );
    assert_eq!(
        said(Refusal::NotItsTurn(unit())),
        "the work before `build.T2/make` is not done; wait for it, then change this"
    );
    assert_eq!(
        said(Refusal::Landed(unit())),
        "work that depends on `build.T2/make` is already merged and cannot be reopened"
    );
    assert_eq!(said(Refusal::WhyMissing), "changing something by hand needs a reason");
    assert_eq!(
        said(Refusal::BudgetTooLow { committed: Money(2_500_000) }),
        "the new budget must be above $2.50, which is spent or reserved"
    );
    assert_eq!(
        said(Refusal::BudgetNeeded { budget: Money(5_000_000), committed: Money(6_600_000) }),
        "the budget of $5 is used up: $6.60 is spent or reserved; continue with a higher `--budget`"
    );
    assert_eq!(
        said(Refusal::BudgetNeeded { budget: Money(500_000), committed: Money(495_000) }),
        "too little of the budget of $0.50 is left for a call; continue with a higher `--budget`"
    );
}

/// A flow in which every question can be asked, and how each of them comes about.
fn every_question() -> Vec<(&'static str, World)> {
    use forge_core::{
        event::{Outcome, Ruling},
        failure::FaultClass,
    };
    let flow = r#"
[[stage]]
name = "make"
agent = "m"
rounds = 1
gates = [{ review = "critic" }, { verify = true }, { human = "Good?", redo = "make" }, { land = true }]
[[stage]]
name = "look"
agent = "l"
gates = [{ review = "late", redo = "make" }]
"#;
    let no_person = flow.replace(", { human = \"Good?\", redo = \"make\" }", "");
    let guarded = flow.replace("{ review = \"critic\" }", "{ check = \"guarded\" }");
    let unverified = Ruling::Unverified { what: "no checks".into(), found: Vec::new() };
    let asked = || World::small(flow);
    let alone = || World::small(&no_person);
    let blocked = Outcome::Blocked { class: BlockerClass::ToolingFailure, what: "x".into() };
    let no_key = Ruling::Blocked { class: BlockerClass::NoAccess, what: "no key".into() };
    let (cap, what) = (FaultClass::OutOfBudget, "it reached its cap".to_owned());
    let spent_out = Outcome::Fault { class: cap, what: what.clone() };
    let no_money = Ruling::Fault { class: cap, what };
    let lost = |world: World, n: u32| world.outcome(&format!("make#{n}"), Outcome::Lost);
    let late = |n: u32| format!("look#1/late#{n}");
    vec![
        ("checkpoint", asked()),
        (
            "rounds",
            alone().verdict("make#1/critic#1", revise(2)).verdict("make#2/critic#1", revise(1)),
        ),
        (
            "rounds of a proof",
            asked().verdict("make#1/verify#1", revise(2)).verdict("make#2/verify#1", revise(1)),
        ),
        (
            "shrinking",
            World::small(&no_person.replace("rounds = 1", "rounds = 5"))
                .verdict("make#1/critic#1", revise(1))
                .verdict("make#2/critic#1", revise(1)),
        ),
        ("no result", asked().outcome("make#1", fault("a")).outcome("make#2", fault("b"))),
        ("cap", asked().outcome("make#1", spent_out)),
        ("cap of a review", asked().ruling("make#1/critic#1", no_money)),
        ("setbacks", (1..=5).fold(asked(), lost)),
        (
            "setbacks of a gate",
            (1..=5).fold(asked(), |world, n| {
                world.ruling(&format!("make#1/critic#{n}"), Ruling::Lost)
            }),
        ),
        (
            "no verdict",
            asked().ruling("make#1/critic#1", unread("a")).ruling("make#1/critic#2", unread("b")),
        ),
        (
            "no verdict of a proof",
            asked().ruling("make#1/verify#1", unread("a")).ruling("make#1/verify#2", unread("b")),
        ),
        ("blocked", asked().outcome("make#1", blocked)),
        ("blocked judge", asked().ruling("make#1/critic#1", no_key.clone())),
        ("blocked proof", asked().ruling("make#1/verify#1", no_key)),
        (
            "landing",
            alone().verdict("make#1/land#1", revise(1)).verdict("make#2/land#1", revise(1)),
        ),
        ("landed already", alone().verdict(&late(1), revise(1))),
        ("unverified", asked().ruling("make#1/verify#1", unverified.clone())),
        ("unverified review", asked().ruling("make#1/critic#1", unverified)),
        ("guarded", World::small(&guarded).verdict("make#1/guarded#1", revise(1))),
    ]
}

#[test]
fn every_question_can_be_answered_in_every_way_it_offers() {
    for (name, world) in every_question() {
        let mut world = world.begin();
        while world.run.n_questions() == 0 {
            let call = world.calls().pop().expect("something is under way until it is asked");
            world.end(&call);
        }
        let question = world.run.questions().next().unwrap().clone();
        for choice in &question.options {
            let mut world = world.clone();
            let answer = match choice {
                Choice::Approve => Answer::Approve,
                Choice::Revise => Answer::Revise,
                Choice::Retry => Answer::Retry,
                Choice::Waive => Answer::Waive { gate: question.gate.clone().unwrap() },
                Choice::GiveUp => Answer::GiveUp,
            };
            let round = world.unit("make").round;
            world.say(1, answer.clone(), "as I say");
            let line = match choice {
                Choice::Approve if ["checkpoint", "guarded"].contains(&name) => {
                    "approved by the answer to Q1"
                }
                Choice::Approve | Choice::Waive => "overridden by the answer to Q1",
                Choice::Revise if !question.tries_again(&answer) => {
                    "sent back by the answer to Q1: as I say"
                }
                Choice::Revise | Choice::Retry => "started",
                Choice::GiveUp => "failed: rejected by bob: as I say",
            };
            let before = world.about(line).len();
            assert!(before > 0, "{name}, {choice:?}:\n{}", world.story().join("\n"));
            assert_eq!(world.unit("make").round, round, "a person uses up no round");
            world.go_on();
            let end = if *choice == Choice::GiveUp { End::Failed } else { End::Done };
            if world.run.questions().next().is_none() {
                assert_eq!(world.run.phase(), &Phase::Over(end), "{name}, {choice:?}");
            }
        }
    }
}

#[test]
fn at_a_checkpoint_without_work_there_is_nothing_to_send_back() {
    let rows = "\n[[stage]]\nname = \"triage\"\ngates = [{ human = \"Go on?\" }]\n";
    let mut world = World::small(rows).begin();
    assert_eq!(world.options(1), [Choice::Approve, Choice::GiveUp]);
    world.say(1, Answer::Approve, "");
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_gate_that_names_nobody_who_could_change_something_asks_at_once() {
    let rows = "\n[[stage]]\nname = \"split\"\nagent = \"splitter\"\nlist = \"tasks\"\n\
        [[stage]]\nname = \"build\"\neach = \"tasks\"\ngates = [{ review = \"critic\" }]\n\
        [[stage.stage]]\nname = \"make\"\nagent = \"maker\"\n";
    let mut world = World::small(rows).list("split", vec![crate::world::writes("A", "a")]).begin();
    for call in ["split#1", "build.A/make#1"] {
        world.end(call);
    }
    world.rules("build#1/critic#1", revises(1));
    world.says(
        "Q1 asks about build: `critic` does not pass, and the flow names no stage that could fix it. What now?",
    );
    assert_eq!(world.options(1), [Choice::Approve, Choice::GiveUp]);
}
