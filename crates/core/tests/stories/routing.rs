//! How strong an agent a call wants, how hard it is to think, and why: decided once, when the call starts.

use std::collections::BTreeMap;

use forge_core::{
    Command, Run,
    event::{Before, Blob, Outcome, Receipt, Record, SettingsChange},
    flow::Flow,
    id::CallId,
    item::Item,
    money::{Spent, Used},
    routing::{
        AgentOrigin, Because, CallPlace, Effort, Hints, ModelOrigin, Route, Routing, Thinking,
        Tier, Wish, WishReason, wish,
    },
};

use crate::world::{World, person, revises, start_of, tag, unread, writes};

const TEAM: &str = r#"
[[stage]]
name = "split"
agent = "planner"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 2
  [[stage.stage]]
  name = "plan"
  agent = "planner"
  tier = "heavy"
  high_risk = "max"
  [[stage.stage]]
  name = "make"
  agent = "maker"
  gates = [{ review = "critic", thinking = "adaptive" }, { command = "true" }]
"#;

fn hints(tier: Tier) -> Hints {
    Hints { tier: Some(tier), ..Hints::default() }
}

fn routing() -> Routing {
    let roles = [
        ("planner", hints(Tier::Standard)),
        ("critic", Hints { effort: Some(Effort::High), ..hints(Tier::Heavy) }),
    ];
    let own = roles.map(|(role, hints)| (role.to_owned(), hints));
    Routing { roles: own.into(), ..Routing::default() }
}

fn team(routing: Option<Routing>, items: Vec<Item>) -> World {
    let mut world = World::small(TEAM).list("split", items);
    world.start.routing = routing;
    world.begin()
}

/// The wish of a call under way, as the run has it and as its journal has it.
#[track_caller]
fn wished(world: &World, call: &str) -> Option<Wish> {
    let call: CallId = call.parse().unwrap();
    let mut again = Run::new();
    world.records().iter().for_each(|record| again.apply_record(record));
    assert_eq!(again.wish(&call), world.run.wish(&call), "a replay knows another wish");
    world.run.wish(&call)
}

#[track_caller]
fn tier(world: &World, call: &str) -> (Tier, WishReason) {
    let tier = wished(world, call).unwrap_or_else(|| panic!("{call} wishes nothing")).tier;
    (tier.is, tier.why)
}

#[test]
fn what_comes_first_in_the_documented_order_decides_on_the_tier() {
    // Each row says less than the one above it.
    let all = [
        (WishReason::Run, Tier::Light),
        (WishReason::Item, Tier::Max),
        (WishReason::Complexity, Tier::Heavy),
        (WishReason::Docs, Tier::Light),
        (WishReason::Risk, Tier::Max),
        (WishReason::Flow, Tier::Heavy),
        (WishReason::Settings, Tier::Max),
        (WishReason::Role, Tier::Light),
        (WishReason::Default, Tier::Standard),
    ];
    for (first, (why, expected)) in all.iter().enumerate() {
        let says = |reason: WishReason| all[first..].iter().any(|(why, _)| *why == reason);
        let of = |reason: WishReason| {
            says(reason).then_some(all.iter().find(|(why, _)| *why == reason).unwrap().1)
        };
        let tags: BTreeMap<&str, &str> = [
            (WishReason::Item, "tier", "max"),
            (WishReason::Complexity, "complexity", "heavy"),
            (WishReason::Docs, "tag", "docs"),
            (WishReason::Risk, "risk", "high"),
        ]
        .into_iter()
        .filter(|(reason, _, _)| says(*reason))
        .map(|(_, name, value)| (name, value))
        .collect();
        let role = |reason: WishReason| -> BTreeMap<String, Hints> {
            let tier = of(reason);
            [("r".to_owned(), Hints { tier, ..Hints::default() })].into()
        };
        let routing = Routing {
            run: of(WishReason::Run),
            settings: role(WishReason::Settings),
            roles: role(WishReason::Role),
        };
        let place = CallPlace {
            role: "r",
            hints: Hints { tier: of(WishReason::Flow), ..Hints::default() },
            high_risk: of(WishReason::Risk),
        };
        let wish = wish(&routing, &place, |name| tags.get(name).copied());
        assert_eq!(wish.tier, Because::new(*expected, *why));
        let escalated = Because::new(Effort::Max, WishReason::Risk);
        assert_eq!(wish.effort, (*why == WishReason::Risk).then_some(escalated), "{why:?}");
    }
}

#[test]
fn effort_and_thinking_are_the_items_the_flows_the_settings_or_the_roles() {
    let settings = Hints { effort: Some(Effort::Xhigh), ..Hints::default() };
    let role = Hints { effort: Some(Effort::Low), thinking: Some(Thinking::Disabled), tier: None };
    let own = |hints| BTreeMap::from([("r".to_owned(), hints)]);
    let said = |item: Option<&'static str>, flow, with: &[&str]| {
        let routing = Routing {
            run: None,
            settings: own(if with.contains(&"settings") { settings } else { Hints::default() }),
            roles: own(if with.contains(&"role") { role } else { Hints::default() }),
        };
        let hints = Hints { effort: flow, ..Hints::default() };
        let place = CallPlace { role: "r", hints, high_risk: None };
        wish(&routing, &place, |name| (name == "effort").then_some(item).flatten())
    };
    let all = ["settings", "role"];
    let effort = |wish: Wish| wish.effort.map(|effort| (effort.is, effort.why));
    let (high, medium) = (Some(Effort::High), Some("medium"));
    assert_eq!(effort(said(medium, high, &all)), Some((Effort::Medium, WishReason::Item)));
    assert_eq!(effort(said(Some("a lot"), high, &all)), Some((Effort::High, WishReason::Flow)));
    assert_eq!(effort(said(None, None, &all)), Some((Effort::Xhigh, WishReason::Settings)));
    assert_eq!(effort(said(None, None, &["role"])), Some((Effort::Low, WishReason::Role)));
    assert_eq!(effort(said(None, None, &[])), None);
    let thinks = said(None, None, &all).thinking;
    assert_eq!(thinks, Some(Because::new(Thinking::Disabled, WishReason::Role)));
}

#[test]
fn a_risky_item_is_planned_by_the_strongest_and_no_more_than_planned() {
    let risky = tag(writes("A", "a"), "risk", "high");
    let mut world = team(Some(routing()), vec![risky, writes("B", "b")]);
    assert_eq!(tier(&world, "split#1"), (Tier::Standard, WishReason::Role));
    world.end("split#1");
    assert_eq!(tier(&world, "build.A/plan#1"), (Tier::Max, WishReason::Risk));
    assert_eq!(tier(&world, "build.B/plan#1"), (Tier::Heavy, WishReason::Flow));
    world.end("build.A/plan#1");
    assert_eq!(tier(&world, "build.A/make#1"), (Tier::Standard, WishReason::Default));
}

#[test]
fn what_an_item_says_is_about_its_work_and_not_about_who_judges_it() {
    let docs = tag(tag(writes("A", "a"), "tag", "docs"), "effort", "low");
    let mut world = team(Some(routing()), vec![docs]);
    world.end("split#1");
    world.end("build.A/plan#1");
    assert_eq!(tier(&world, "build.A/make#1"), (Tier::Light, WishReason::Docs));
    world.end("build.A/make#1");
    let critic = wished(&world, "build.A/make#1/critic#1").unwrap();
    assert_eq!(critic.tier, Because::new(Tier::Heavy, WishReason::Role));
    assert_eq!(critic.effort, Some(Because::new(Effort::High, WishReason::Role)));
    assert_eq!(critic.thinking, Some(Because::new(Thinking::Adaptive, WishReason::Flow)));
    world.end("build.A/make#1/critic#1");
    assert_eq!(wished(&world, "build.A/make#1/command#1"), None, "no agent is called");
}

#[test]
fn a_run_without_routing_wishes_nothing() {
    let mut world = team(None, vec![tag(writes("A", "a"), "tier", "max")]);
    assert_eq!(wished(&world, "split#1"), None);
    world.end("split#1");
    assert_eq!(wished(&world, "build.A/plan#1"), None, "whatever its flow and its item say");
    assert!(!world.journal.join("").contains("wish"), "such a journal is as it was");
}

#[test]
fn a_call_that_goes_on_in_a_session_goes_on_with_whom_has_it() {
    let session = Receipt { session: Some("s1".into()), ..Receipt::from_spent(Spent::NOTHING) };
    let mut world = World::small("[[stage]]\nname = \"work\"\nagent = \"planner\"\nmisses = 3\n")
        .leaves("work#1", session.clone())
        .leaves("work#2", session);
    world.start.routing = Some(routing());
    let mut world = world.begin();
    assert_eq!(tier(&world, "work#1"), (Tier::Standard, WishReason::Role));
    world.stop();
    world.ends("work#1", Outcome::Interrupted);
    reroute(&mut world, Before::Kept);
    world.resume();
    assert_eq!(tier(&world, "work#2"), (Tier::Standard, WishReason::Role), "it goes on");
    world.stop();
    world.ends("work#2", Outcome::Interrupted);
    reroute(&mut world, Before::Void);
    assert_eq!(tier(&world, "work#1"), (Tier::Standard, WishReason::Role), "what was is as it was");
    world.resume();
    assert_eq!(tier(&world, "work#3"), (Tier::Light, WishReason::Run), "it begins anew");
}

/// A person wants light work from here on.
fn reroute(world: &mut World, sessions: Before) {
    let change = Box::new(SettingsChange {
        set: BTreeMap::from([("tier".to_owned(), "light".to_owned())]),
        settings: Blob("new".to_owned()),
        limits: world.run.definition().start.limits,
        routing: Some(Routing { run: Some(Tier::Light), ..routing() }),
        evidence: Before::Kept,
        sessions,
    });
    let by = person("ada");
    world.command(Command::ChangeSettings { change, by }).unwrap();
}

#[test]
fn another_try_that_begins_anew_is_wished_for_as_its_flow_says() {
    let mut world = team(Some(routing()), vec![writes("A", "a")]);
    world.end("split#1");
    world.end("build.A/plan#1");
    world.end("build.A/make#1");
    world.rules("build.A/make#1/critic#1", unread("prose"));
    assert_eq!(tier(&world, "build.A/make#1/critic#2"), (Tier::Heavy, WishReason::Role));
    world.rules("build.A/make#1/critic#2", revises(1));
    assert_eq!(tier(&world, "build.A/make#2"), (Tier::Standard, WishReason::Default));
}

#[test]
fn words_that_mean_nothing_are_refused_in_a_new_flow_and_passed_over_in_an_old_one() {
    let parse = |rows: &str| {
        let texts = BTreeMap::from([("f".to_owned(), format!("name = \"f\"\n{rows}"))]);
        Flow::parse("f", &texts).map_err(|error| error.problem)
    };
    let agent = "[[stage]]\nname = \"work\"\nagent = \"worker\"\n";
    for (key, problem) in [
        ("tier = \"strong\"", "has tier = \"strong\"; possible: light, standard, heavy, max"),
        ("effort = \"huge\"", "has effort = \"huge\"; possible: low, medium, high, xhigh, max"),
        ("thinking = \"on\"", "has thinking = \"on\"; possible: disabled, adaptive"),
        ("high_risk = \"x\"", "has high_risk = \"x\"; possible: light, standard, heavy, max"),
    ] {
        assert_eq!(parse(&format!("{agent}{key}\n")).unwrap_err(), problem);
        let command = format!("[[stage]]\nname = \"work\"\ncommand = \"true\"\n{key}\n");
        let name = key.split(' ').next().unwrap();
        assert_eq!(parse(&command).unwrap_err(), format!("has `{name}`, but no `agent`"));
    }
    let gate = parse(&format!("{agent}gates = [{{ command = \"true\", tier = \"heavy\" }}]\n"));
    assert!(gate.unwrap_err().contains("which only a review can have"));
    // As a run of an older Forge froze it.
    let odd = "name = \"f\"\n[[stage]]\nname = \"work\"\ncommand = \"true\"\ntier = \"strong\"\neffort = \"huge\"\n";
    let texts = BTreeMap::from([("f".to_owned(), odd.to_owned())]);
    let flow = Flow::read_frozen("f", &texts, &BTreeMap::new()).unwrap();
    assert_eq!(flow.stages[0].hints, Hints::default());
}

/// A run with wishes of the flow, the role and the item, and a receipt that says what was asked for.
pub(crate) fn routed() -> World {
    let text = format!("name = \"routed\"\n{TEAM}");
    let because = |is, instead_of| Some(Because { is, why: WishReason::Role, instead_of });
    let wish = Wish {
        tier: Because::new(Tier::Heavy, WishReason::Role),
        effort: because(Effort::Medium, Some(Effort::High)),
        thinking: Some(Because::new(Thinking::Adaptive, WishReason::Flow)),
    };
    let used = Used {
        agent: "claude".to_owned(),
        account: None,
        asked_for: Some("sonnet".to_owned()),
        models: vec![],
    };
    let (model_from, agent_from) = (ModelOrigin::Known, AgentOrigin::Settings);
    let route = Some(Route { wish, model_from, agent_from });
    let mut world = World::of(start_of("routed", &[("routed", &text)], &[]))
        .list("split", vec![tag(writes("A", "a"), "risk", "high")])
        .leaves(
            "build.A/make#1/critic#1",
            Receipt { used: Some(used), route, ..Receipt::from_spent(Spent::NOTHING) },
        );
    world.start.routing = Some(routing());
    let mut world = world.begin();
    world.end("split#1");
    world.end("build.A/plan#1");
    world.end("build.A/make#1");
    world.rules("build.A/make#1/critic#1", revises(1));
    world
}

#[test]
fn a_wish_is_read_back_as_it_was_written() {
    let world = routed();
    for line in &world.journal {
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), *line);
    }
    let text = world.journal.join("\n");
    let plan = r#""wish":{"tier":{"is":"max","why":"risk"},"effort":{"is":"max","why":"risk"}}"#;
    assert!(text.contains(plan), "{text}");
}
