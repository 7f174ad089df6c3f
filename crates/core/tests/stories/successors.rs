//! Who works on in the place of an agent that cannot: a stronger model or another agent, once; and an agent or an account that
//! limits leave, as often as need be.

use forge_core::{
    Report, Run,
    event::{Answer, Event, Outcome, QuestionReason, Receipt, Record, Ruling, Waiver},
    id::CallId,
    money::{Spent, Used},
    routing::{AgentOrigin, Assignment, Because, Hints, Routing, Successor, Tier, WishReason},
    verdict::BlockerClass,
    view::{Names, sentence},
};

use crate::world::World;

const WORK: &str = r#"
[[stage]]
name = "work"
agent = "worker"
misses = 2
gates = [{ review = "critic" }]
"#;

fn stronger() -> Receipt {
    let successor = Some(Successor::Tier(Tier::Heavy));
    Receipt { successor, ..Receipt::from_spent(Spent::NOTHING) }
}

fn another() -> Receipt {
    let successor = Some(Successor::Agent("codex".to_owned()));
    Receipt { successor, ..Receipt::from_spent(Spent::NOTHING) }
}

fn blocked(class: BlockerClass) -> Outcome {
    Outcome::Blocked { class, what: "400k tokens".to_owned() }
}

fn world(calls: &[(&str, Receipt)]) -> World {
    let mut world = World::small(WORK);
    for (call, left) in calls {
        world = world.leaves(call, left.clone());
    }
    let role = ("worker".to_owned(), Hints { tier: Some(Tier::Light), ..Hints::default() });
    world.start.routing = Some(Routing { roles: [role].into(), ..Routing::default() });
    world.begin()
}

#[track_caller]
fn tier(world: &World, call: &str) -> Because<Tier> {
    let call: CallId = call.parse().unwrap();
    let mut again = Run::new();
    world.records().iter().for_each(|record| again.apply_record(record));
    assert_eq!(again.wish(&call), world.run.wish(&call), "a replay knows another wish");
    world.run.wish(&call).unwrap_or_else(|| panic!("{call} wishes nothing")).tier
}

fn why(world: &World) -> &QuestionReason {
    &world.run.history().asked.newest().expect("somebody is asked").question.why
}

#[test]
fn what_is_too_long_or_refused_goes_once_to_a_stronger_model_and_then_to_a_person() {
    for (class, reason, said) in [
        (BlockerClass::ContextOverflow, WishReason::TooLong, "it was too long for the model"),
        (BlockerClass::ModelRefusal, WishReason::Refused, "the model refused"),
    ] {
        let mut world = world(&[("work#1", stronger()), ("work#2", stronger())]);
        assert_eq!(tier(&world, "work#1"), Because::new(Tier::Light, WishReason::Role));
        let record = world.ends("work#1", blocked(class));
        let passed_on = record.facts.iter().find(|fact| matches!(fact, Event::WorkPassedOn { .. }));
        let words = sentence(passed_on.expect("a fact says why"), Names::Exact);
        assert_eq!(words, format!("work#1: {said}; a model of the tier `heavy` takes over"));
        assert_eq!(tier(&world, "work#2"), Because::new(Tier::Heavy, reason));
        world.ends("work#2", blocked(class));
        let what = "400k tokens".to_owned();
        assert_eq!(*why(&world), QuestionReason::Blocked { class, what });
        world.say(1, Answer::Retry, "");
        assert_eq!(tier(&world, "work#3"), Because::new(Tier::Heavy, reason), "it stays there");
    }
}

#[test]
fn another_agent_takes_over_in_a_tier_that_stays_what_it_was() {
    let mut world = world(&[("work#1", another())]);
    world.ends("work#1", blocked(BlockerClass::ModelRefusal));
    assert_eq!(tier(&world, "work#2"), Because::new(Tier::Light, WishReason::Role));
    let passed_on = world.run.passed_on(&"work#2".parse().unwrap());
    let codex = Successor::Agent("codex".to_owned());
    assert_eq!(passed_on, Some(&(BlockerClass::ModelRefusal, codex)));
    world.end("work#2");
    assert_eq!(world.run.passed_on(&"work#2/critic#1".parse().unwrap()), None, "not its judge");
}

#[test]
fn where_nobody_can_take_over_or_the_cause_is_another_a_person_is_asked_at_once() {
    let mut alone = world(&[]);
    alone.ends("work#1", blocked(BlockerClass::ContextOverflow));
    assert!(matches!(why(&alone), QuestionReason::Blocked { .. }));
    for class in [
        BlockerClass::NoAccess,
        BlockerClass::ScopeExceeded,
        BlockerClass::ToolingFailure,
        BlockerClass::ExternalDependency,
        BlockerClass::Unknown,
    ] {
        let mut other = world(&[("work#1", stronger())]);
        other.ends("work#1", blocked(class));
        assert!(matches!(why(&other), QuestionReason::Blocked { .. }), "{class:?}");
    }
}

#[test]
fn a_review_that_is_too_long_is_passed_on_before_anybody_is_asked_or_it_is_waived() {
    let ruling =
        || Ruling::Blocked { class: BlockerClass::ContextOverflow, what: "long".to_owned() };
    let mut binding = world(&[("work#1/critic#1", stronger())]);
    binding.end("work#1");
    binding.rules("work#1/critic#1", ruling());
    let heavy = Because::new(Tier::Heavy, WishReason::TooLong);
    assert_eq!(tier(&binding, "work#1/critic#2"), heavy);
    binding.rules("work#1/critic#2", ruling());
    assert!(matches!(why(&binding), QuestionReason::Blocked { .. }));

    let flow = WORK.replace("review = \"critic\"", "review = \"critic\", advisory = true");
    let mut advice = World::small(&flow).leaves("work#1/critic#1", another()).begin();
    advice.end("work#1");
    advice.rules("work#1/critic#1", ruling());
    let record = advice.rules("work#1/critic#2", ruling());
    let waived = |fact: &Event| matches!(fact, Event::GateWaived { why: Waiver::Advisory, .. });
    assert!(record.facts.iter().any(waived), "{:?}", record.facts);
}

fn assigned(call: &str, agent: &str, account: Option<&str>) -> Report {
    let (agent, account) = (agent.to_owned(), account.map(str::to_owned));
    let to = Assignment { agent, account, why: AgentOrigin::Limit };
    Report::Assigned { call: call.parse().unwrap(), to }
}

/// It was used up in the session `s1`, by an account.
fn used_up(account: &str) -> Receipt {
    let used =
        Used { agent: "claude".to_owned(), account: Some(account.to_owned()), ..Used::default() };
    Receipt {
        session: Some("s1".to_owned()),
        used: Some(used),
        used_up: Some(account.to_owned()),
        ..Receipt::from_spent(Spent::NOTHING)
    }
}

#[test]
fn a_call_is_assigned_once_and_known_as_that_until_it_ends() {
    let mut world = world(&[]);
    let call: CallId = "work#1".parse().unwrap();
    world.report(assigned("work#1", "claude", Some("home")));
    let record = world.report(assigned("work#1", "codex", None));
    assert_eq!(record.facts, [], "it has begun as somebody else");
    assert_eq!(world.run.assignment(&call).unwrap().account.as_deref(), Some("home"));
    let words: Vec<String> = world
        .records()
        .iter()
        .flat_map(|record| &record.facts)
        .map(|fact| sentence(fact, Names::Exact))
        .collect();
    let line = "work#1 goes to claude with the account `home`, in the place of one that has reached its limit";
    assert!(words.iter().any(|said| said == line), "{words:?}");
    world.end("work#1");
    assert_eq!(world.run.assignment(&call), None);
    assert_eq!(world.report(assigned("work#1", "codex", None)).facts, [], "it is over");
}

#[test]
fn a_call_that_no_longer_matters_is_given_to_nobody() {
    let mut world = world(&[]);
    world.abandon();
    assert_eq!(world.calls(), ["work#1"], "it has not ended yet");
    assert_eq!(world.report(assigned("work#1", "codex", None)).facts, []);
}

#[test]
fn whoever_is_assigned_goes_on_in_the_session_only_if_it_is_theirs() {
    for (agent, account, session) in [
        ("claude", Some("home"), Some("s1")),
        ("claude", Some("work"), None),
        ("claude", None, None),
        ("codex", Some("home"), None),
    ] {
        let mut world = world(&[("work#1", used_up("home"))]);
        world.ends("work#1", Outcome::Limited { until: 0, what: "a limit".to_owned() });
        let call: CallId = "work#2".parse().unwrap();
        assert_eq!(world.run.session(&call), Some("s1"));
        world.report(assigned("work#2", agent, account));
        assert_eq!(world.run.session(&call), session, "{agent} {account:?}");
    }
}

#[test]
fn limits_of_agents_and_accounts_that_others_stand_in_for_are_timers_and_never_a_question() {
    let mut calls = Vec::new();
    for n in 1..=20 {
        calls.push((format!("work#{n}"), used_up("home")));
    }
    let calls: Vec<(&str, Receipt)> =
        calls.iter().map(|(call, left)| (call.as_str(), left.clone())).collect();
    let mut world = world(&calls);
    for n in 1..=20 {
        let limited = Outcome::Limited { until: 0, what: "a limit".to_owned() };
        world.ends(&format!("work#{n}"), limited);
    }
    assert_eq!(world.calls(), ["work#21"], "nobody is asked");
    world.end("work#21");
    let left = used_up("home");
    for n in 1..=20 {
        let call = format!("work#21/critic#{n}");
        let limited = Ruling::Limited { until: 0, what: "a limit".to_owned() };
        world = world.leaves(&call, left.clone());
        world.rules(&call, limited);
    }
    assert_eq!(world.calls(), ["work#21/critic#21"]);
}

#[test]
fn the_author_of_what_a_gate_looks_at_is_the_last_agent_that_worked_there() {
    let by = |agent: &str| {
        let used = Used { agent: agent.to_owned(), ..Used::default() };
        Receipt { used: Some(used), ..Receipt::from_spent(Spent::NOTHING) }
    };
    let mut world = world(&[
        ("work#1", by("claude")),
        ("work#2", by("codex")),
        ("work#1/critic#1", by("gemini")),
    ]);
    let unit = "work".parse().unwrap();
    assert_eq!(world.run.author(&unit), None);
    world.end("work#1");
    assert_eq!(world.run.author(&unit), Some("claude"));
    world.rules("work#1/critic#1", crate::world::revises(1));
    assert_eq!(world.run.author(&unit), Some("claude"), "a judge is no author");
    world.end("work#2");
    assert_eq!(world.run.author(&unit), Some("codex"));
}

/// A run in which work is passed on, and limits decide who works.
pub(crate) fn passed_on() -> World {
    let text = format!("name = \"passed\"\n{WORK}");
    let start = crate::world::start_of("passed", &[("passed", &text)], &[]);
    let mut world = World::of(start)
        .leaves("work#1", used_up("home"))
        .leaves("work#2", stronger())
        .leaves("work#3/critic#1", another());
    world.start.routing = Some(Routing::default());
    let mut world = world.begin();
    world.report(assigned("work#1", "claude", Some("home")));
    world.ends("work#1", Outcome::Limited { until: 0, what: "a limit".to_owned() });
    world.report(assigned("work#2", "claude", Some("work")));
    world.ends("work#2", blocked(BlockerClass::ContextOverflow));
    world.end("work#3");
    let (class, what) = (BlockerClass::ModelRefusal, "no".to_owned());
    world.rules("work#3/critic#1", Ruling::Blocked { class, what });
    world
}

#[test]
fn what_is_passed_on_is_read_back_as_it_was_written() {
    for line in passed_on().journal {
        let record: Record = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
    }
}
