//! The journal's format is for ever: every fact can be written and read back, and the journal
//! of every version that was ever released can still be read and folded.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Command, Effect, Input, Report, Run, decide,
    event::{
        Answer, Approval, Colour, End, Event, Evidence, FailureKind, Hold, Outcome, ProofStart,
        Question, QuestionReason, Receipt, Record, Ruling, SentBack, UnmetKind, UnmetNeed, Waiver,
    },
    failure::FaultClass,
    id::{CallId, JudgementId, QuestionId, UnitId},
    money::{Cost, ModelUse, Money, Spent, Tokens, Used},
    path_claims::claims,
    routing::{Effort, Wish},
    run::Phase,
    verdict::{BlockerClass, Verdict},
    view::{Axis, Names, sentence, spendings, stats},
    wanted,
};

use crate::world::{
    World, attempt, finding, partial, person, recoded, red, revise, revises, rewritten, start_of,
    writes,
};

const V1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/journals/v1.jsonl");
const V2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/journals/v2.jsonl");
const V3: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/journals/v3.jsonl");

const V4: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/journals/v4.jsonl");
const V5: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/journals/v5.jsonl");
const V6: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/journals/v6.jsonl");
const V7: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/journals/v7.jsonl");

/// The name of a fact, as the journal writes it.
fn kind(event: &Event) -> String {
    let json = serde_json::to_value(event).unwrap();
    json.as_object().unwrap().keys().next().unwrap().clone()
}

const KINDS: &[&str] = &[
    "answered",
    "attempt_ended",
    "attempt_started",
    "budget_raised",
    "call_settled",
    "effect_done",
    "effect_intended",
    "gate_passed",
    "gate_skipped",
    "gate_waived",
    "items_listed",
    "judged",
    "judgement_started",
    "landed",
    "question_asked",
    "run_ended",
    "run_held",
    "run_resumed",
    "run_started",
    "unit_accepted",
    "unit_failed",
    "unit_reopened",
    "unit_skipped",
];

/// A run in which every kind of fact happens.
fn eventful() -> World {
    let flow = r#"
name = "all"
[params]
size = { values = ["S", "L"], default = "S" }
[[stage]]
name = "split"
agent = "splitter"
writes = ["tasks.md"]
list = "tasks"
gates = [{ artifact = "tasks.md" }, { human = "Go on?", auto = true }, { review = "auditor", when = { param = "size", is = ["L"] } }]
[[stage]]
name = "extra"
when = { param = "size", is = ["L"] }
command = "true"
[[stage]]
name = "build"
each = "tasks"
at_once = 2
  [[stage.stage]]
  name = "make"
  agent = "maker"
  budget = 2
  gates = [{ verify = true }, { review = "critic", redo = "split" }, { land = true }]
[[stage]]
name = "send"
deliver = "pull-request"
rounds = 0
gates = [{ verify = true }]
"#;
    let mut world = World::of(start_of("all", &[("all", flow)], &[]))
        .budget("3")
        .call_budget("1")
        .list("split", vec![writes("T1", "a"), writes("T2", "b")])
        .begin();
    world.ends("split#1", partial("the rest"));
    world.ends("split#2", Outcome::Lost);
    world.ends("split#3", Outcome::Limited { until: 1, what: String::new() });
    world.end("split#4");
    world.end("split#4/artifact#1");
    world.say(1, Answer::Approve, "fine");
    world.pause();
    world.resume_with("20").unwrap();
    world.end("build.T1/make#1");
    world.end("build.T1/make#1/verify#1");
    // T2 is overtaken.
    world.rules("build.T1/make#1/critic#1", revises(1));
    world.ends("build.T2/make#1", Outcome::Interrupted);
    world.end("split#5");
    world.end("split#5/artifact#1");
    world.say(2, Answer::Revise, "in two steps");
    world.end("split#6");
    world.end("split#6/artifact#1");
    world.say(3, Answer::Approve, "");
    for item in ["T1", "T2"] {
        for call in ["make#2", "make#2/verify#1", "make#2/critic#1", "make#2/land#1"] {
            world.end(&format!("build.{item}/{call}"));
        }
    }
    let mark = || "pr-of-send".to_owned();
    world.report(Report::Intends { attempt: attempt("send#1"), mark: mark() });
    let reference = "https://example.org/7".to_owned();
    world.report(Report::Did { attempt: attempt("send#1"), mark: mark(), reference });
    world.end("send#1");
    world.rules("send#1/verify#1", Ruling::Verdict(red("1 failed")));
    world.say(4, Answer::GiveUp, "later");
    world.is(&Phase::Over(End::Failed));
    world.resume();
    world.end("send#2");
    world.rules("send#2/verify#1", Ruling::Verdict(red("2 failed")));
    world.say(5, Answer::Waive { gate: "verify".into() }, "a flake");
    world.is(&Phase::Over(End::Done));
    world
}

fn journal() -> Vec<Record> {
    eventful().journal.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_kind_of_fact_happens_in_the_example() {
    let kinds: BTreeSet<String> =
        journal().iter().flat_map(|record| &record.facts).map(kind).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), KINDS);
}

/// Kinds that came with the second version of the journal.
const NEW_KINDS: &[&str] = &["edited", "noticed", "run_rewound"];

/// A run with all that the first version of the journal does not know.
fn more_eventful() -> Vec<Record> {
    let flow = r#"
name = "more"
[[stage]]
name = "make"
agent = "maker"
writes = ["made.md"]
rounds = 0
gates = [{ check = "changes" }, { check = "guarded" }, { check = "new-tests" }, { verify = true }, { land = true }]
[[stage]]
name = "tell"
agent = "writer"
writes = ["summary.md"]
"#;
    let evidence = |colour| Evidence {
        command: "cargo test".into(),
        tree: "tree1".into(),
        colour,
        took_ms: Some(1_200),
        start: ProofStart::Cached,
        failure: None,
    };
    let made = Receipt {
        commit: Some("commit1".into()),
        tree: Some("tree1".into()),
        changed: vec!["src/a.rs".into()],
        notes: vec!["it changed code, which its role does not".into()],
        flaws: vec!["a file larger than the limit".into()],
        ..Receipt::from_spent(Spent::NOTHING)
    };
    let known = Evidence { took_ms: None, ..evidence(Colour::Green) };
    let red = Receipt { evidence: vec![evidence(Colour::Red), known], ..made.clone() };
    let merged = Receipt { head: Some("merge1".into()), ..made.clone() };
    let mut world = World::of(start_of("more", &[("more", flow)], &[]))
        .leaves("make#2", made)
        .leaves("make#4/verify#1", red)
        .leaves("make#4/land#1", merged);
    world.start.base = Some("base".into());
    world.start.base_branch = Some("main".into());
    world.start.branch = Some("forge/queue".into());
    let mut world = world.begin();
    world.ends("make#1", Outcome::Deferred { until: 60_000, what: "r2 works on src".into() });
    world.input_at(60_000, &Input::Tick).unwrap();
    let what = "r2 works on src, too".into();
    world.input(&Input::Report(Report::Noticed { unit: "make".parse().unwrap(), what })).unwrap();
    world.end("make#2");
    world.end("make#2/changes#1");
    world.rules("make#2/guarded#1", revises(1));
    world.edit("make", "made.md");
    world.end("make#3/changes#1");
    world.rules("make#3/guarded#1", revises(1));
    world.try_edit("make", recoded()).unwrap();
    world.end("make#4/changes#1");
    world.rules("make#4/guarded#1", revises(1));
    world.say(3, Answer::Approve, "the test was wrong");
    world.rules(
        "make#4/new-tests#1",
        Ruling::Unverified { what: "no new tests".into(), found: Vec::new() },
    );
    world.say(4, Answer::Waive { gate: "new-tests".into() }, "nothing to test");
    world.rules(
        "make#4/verify#1",
        Ruling::Unverified { what: "no checks".into(), found: Vec::new() },
    );
    world.say(5, Answer::Waive { gate: "verify".into() }, "by hand");
    world.end("make#4/land#1");
    world.end("tell#1");
    world.is(&Phase::Over(End::Done));
    let mut again = world.rewound("tell").unwrap();
    again.go_on();
    again.records()
}

/// A run with all that came with the first real agents: sessions, who used what, estimates,
/// limits that say why, and what keeps an agent out.
fn with_agents() -> World {
    let flow = r#"
name = "agents"
[[stage]]
name = "make"
agent = "maker"
misses = 4
gates = [{ review = "critic" }]
[[stage]]
name = "tell"
agent = "writer"
"#;
    let used = |agent: &str, names: &[&str]| {
        let model = |name: &&str| ModelUse {
            provider: "anthropic".into(),
            model: (*name).into(),
            tokens: Tokens { input: 5, ..Tokens::default() },
            cost: Cost::Estimated(Money(20_000)),
        };
        let models = names.iter().map(model).collect();
        Receipt {
            used: Some(Used { agent: agent.into(), account: None, asked_for: None, models }),
            session: Some(format!("session-of-{agent}")),
            took_ms: 900,
            ..Receipt::from_spent(Spent::NOTHING)
        }
    };
    let mut world = World::of(start_of("agents", &[("agents", flow)], &[]))
        .budget("5")
        .call_budget("1")
        .leaves("make#1", used("claude", &["large", "small"]))
        .cost("make#1", Cost::Estimated(Money(50_000)))
        .leaves("make#4", used("claude", &["large"]))
        .leaves("make#5/critic#1", used("codex", &[]))
        .leaves("tell#1", used("claude", &["small"]))
        .cost("tell#1", Cost::Unknown)
        .begin();
    let what = "the provider's rate limit";
    world.ends("make#1", Outcome::Limited { until: 60_000, what: what.into() });
    world.input_at(60_000, &Input::Tick).unwrap();
    let no_access = BlockerClass::NoAccess;
    world.ends("make#2", Outcome::Blocked { class: no_access, what: "not logged in".into() });
    world.say(1, Answer::Retry, "");
    let secret = FaultClass::Secret;
    world.ends("make#3", Outcome::Fault { class: secret, what: "a token in a.rs".into() });
    let cap = FaultClass::OutOfBudget;
    world.ends("make#4", Outcome::Fault { class: cap, what: "it reached its cap".into() });
    world.say(2, Answer::Retry, "");
    world.end("make#5");
    world.rules("make#5/critic#1", Ruling::Limited { until: 120_000, what: what.into() });
    world.input_at(120_000, &Input::Tick).unwrap();
    world.rules(
        "make#5/critic#2",
        Ruling::Blocked { class: BlockerClass::ModelRefusal, what: "it will not".into() },
    );
    world.say(3, Answer::Approve, "");
    world.abandon();
    world.end("tell#1");
    world.is(&Phase::Over(End::Abandoned));
    world
}

/// Writes the example journal of this version, when it is asked to:
/// `cargo test -p forge-core --test stories example_journal -- --ignored`.
///
/// A journal of a released version is never written again: for a new one, give the file a new
/// number, and keep the test that reads the old one.
#[test]
#[ignore = "not a test: writes the example journal anew"]
fn the_example_journal_is_written_only_on_demand() {
    std::fs::write(V7, crate::successors::passed_on().journal.join("\n") + "\n").unwrap();
}

#[test]
fn the_journal_of_version_1_can_be_read_and_folded_for_ever() {
    let text = std::fs::read_to_string(V1).unwrap();
    let mut run = Run::new();
    let mut kinds = BTreeSet::new();
    let mut said = Vec::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), line, "the format has changed");
        run.apply_record(&record);
        kinds.extend(record.facts.iter().map(kind));
        said.extend(record.facts.iter().map(|fact| sentence(fact, Names::Exact)));
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), KINDS);
    assert_eq!(run.phase(), &Phase::Over(End::Done));
    assert_eq!(said.first().unwrap(), "ada started the run, flow `all`, size S");
    assert_eq!(said.last().unwrap(), "the run is done");
    assert_eq!(run.unit(&"build.T1/make".parse().unwrap()).attempt, 2);
    assert!(run.unit(&"build.T2/make".parse().unwrap()).landed.is_some());
    assert_eq!(run.calls().len(), 0);
    assert_eq!(run.ledger().known, Money(260_000));
    assert_eq!(run.budget(), Some(Money(20_000_000)));
}

#[test]
fn the_journal_of_version_2_can_be_read_and_folded_for_ever() {
    let text = std::fs::read_to_string(V2).unwrap();
    let mut run = Run::new();
    let mut kinds = BTreeSet::new();
    let mut said = Vec::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), line, "the format has changed");
        run.apply_record(&record);
        kinds.extend(record.facts.iter().map(kind));
        said.extend(record.facts.iter().map(|fact| sentence(fact, Names::Exact)));
    }
    for kind in NEW_KINDS {
        assert!(kinds.contains(*kind), "{kind}");
    }
    assert_eq!(run.phase(), &Phase::Over(End::Done));
    assert_eq!(run.head(), Some("merge1"));
    assert_eq!(run.definition().start.branch.as_deref(), Some("forge/queue"));
    assert_eq!(run.definition().start.base_branch.as_deref(), Some("main"));
    let make = run.unit(&"make".parse().unwrap());
    assert_eq!((make.attempt, make.landed.as_deref()), (4, Some("commit1")));
    assert_eq!(run.unit(&"tell".parse().unwrap()).attempt, 1);
    assert_eq!(run.evidence("tree1", "cargo test"), Some(Colour::Green));
    for line in [
        "make#1 waits: r2 works on src",
        "make: r2 works on src, too",
        "eve changed `made.md` of make by hand: it was wrong",
        "eve changed the code (by-hand) of make by hand: it was wrong",
        "make: guarded approved by the answer to Q3",
        "make#4/verify#1 could not verify it",
        "make: verify overridden by the answer to Q5",
        "make merged as merge1",
        "eve rewound to tell of 20261115-queue-aaaa; the entries above are shared",
    ] {
        assert!(
            said.iter().any(|said| said.starts_with(line)),
            "no `{line}` in\n{}",
            said.join("\n")
        );
    }
}

#[test]
fn the_journal_of_version_3_can_be_read_and_folded_for_ever() {
    let text = std::fs::read_to_string(V3).unwrap();
    let mut run = Run::new();
    let mut facts = Vec::new();
    let mut sessions = Vec::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), line, "the format has changed");
        run.apply_record(&record);
        facts.extend(record.facts.into_iter().map(|fact| (record.at, fact)));
        let going = run.calls().keys().filter_map(|call| Some((call, run.session(call)?)));
        sessions.extend(going.map(|(call, session)| format!("{call} {session}")));
    }
    sessions.dedup();
    let going_on = [
        "make#2 session-of-claude",
        "make#3 session-of-claude",
        "make#5 session-of-claude",
        "make#5/critic#2 session-of-codex",
    ];
    assert_eq!(sessions, going_on, "the others begin anew");
    assert_eq!(run.phase(), &Phase::Over(End::Abandoned));
    let ledger = run.ledger();
    assert_eq!((ledger.known, ledger.estimated), (Money(120_000), Money(50_000)));
    assert_eq!((ledger.n_unknown, ledger.unknown_at_most), (1, Money(1_000_000)));
    let said: Vec<String> = facts.iter().map(|(_, fact)| sentence(fact, Names::Exact)).collect();
    for line in [
        "make#1 waits until 1970-01-01 00:01:00 UTC (about $0.05): the provider's rate limit",
        "make#2 blocked ($0.02): not logged in",
        "make#3 left a secret in its change ($0.02), so nothing was committed: a token in a.rs",
        "make#5/critic#2 blocked ($0.02): it will not",
        "tell#1 stopped, no longer needed (cost unknown)",
    ] {
        assert!(said.iter().any(|said| said == line), "no `{line}` in\n{}", said.join("\n"));
    }
    let spendings = spendings("r", facts.iter().map(|(at, fact)| (*at, fact)));
    let agents = stats(&spendings, Axis::Agent);
    let keys: Vec<&str> = agents.rows.iter().map(|row| row.key.as_str()).collect();
    assert_eq!(keys, ["unknown", "claude", "codex"]);
    assert_eq!(agents.total.calls, 8);
}

#[test]
fn old_journals_have_statistics_with_unknown_agents() {
    let text = std::fs::read_to_string(V1).unwrap();
    let records: Vec<Record> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let facts = records.iter().flat_map(|record| record.facts.iter().map(|f| (record.at, f)));
    let view = stats(&spendings("r", facts), Axis::Agent);
    assert_eq!(view.rows.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["unknown"]);
    assert_eq!(view.total.known, Money(260_000));
}

#[test]
fn the_two_examples_hold_every_kind_of_fact() {
    let both = journal().into_iter().chain(more_eventful());
    let kinds: BTreeSet<String> = both.flat_map(|record| record.facts).map(|f| kind(&f)).collect();
    let mut all: Vec<&str> = KINDS.iter().chain(NEW_KINDS).copied().collect();
    all.sort_unstable();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
}

fn settled(call: CallId) -> Event {
    Event::CallSettled { call, spent: Spent::UNKNOWN, used: None, took_ms: 0 }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one of each kind of fact")]
fn every_fact_can_be_written_and_read_back() {
    let unit: UnitId = "build.T1/make".parse().unwrap();
    let judgement: JudgementId = "build.T1/make#1/critic#2".parse().unwrap();
    let by = person("ada");
    let question = QuestionId(3);
    let both = journal().into_iter().chain(more_eventful()).chain(with_agents().records());
    let mut all: Vec<Event> = both.flat_map(|record| record.facts).collect();
    let held = |hold| Event::RunHeld { hold };
    all.extend([
        held(Hold::Interrupted { by: by.clone() }),
        held(Hold::Stopped { by: by.clone() }),
        held(Hold::OutOfBudget { what: "x".into() }),
        held(Hold::Unfinished { unit: unit.clone(), note: "x".into() }),
        held(Hold::Escalated { what: "x".into() }),
    ]);
    let ended = |outcome| Event::AttemptEnded { attempt: attempt("s#1"), outcome, receipt: None };
    all.extend([
        ended(Outcome::Blocked { class: BlockerClass::ContextOverflow, what: "x".into() }),
        ended(Outcome::Fault { class: FaultClass::TooMuchOutput, what: "x".into() }),
        ended(Outcome::Fault { class: FaultClass::NoWorkspace, what: "x".into() }),
        ended(Outcome::Deferred { until: 7, what: "x".into() }),
        ended(Outcome::Interrupted),
        ended(Outcome::Limited { until: 7, what: "x".into() }),
        ended(Outcome::Blocked { class: BlockerClass::NoAccess, what: "x".into() }),
        ended(Outcome::Fault { class: FaultClass::Secret, what: "x".into() }),
    ]);
    let receipt = Receipt::from_spent(Spent::UNKNOWN);
    let judged =
        |ruling| Event::Judged { judgement: judgement.clone(), ruling, receipt: receipt.clone() };
    let severity = forge_core::verdict::Severity::Critical;
    all.extend([
        judged(Ruling::Verdict(Verdict::Block { reason: "x".into(), findings: Vec::new() })),
        judged(Ruling::Verdict(Verdict::Pass { findings: vec![finding(severity, "x")] })),
        judged(Ruling::Verdict(revise(2))),
        judged(Ruling::Fault { class: FaultClass::NotStarted, what: "x".into() }),
        judged(Ruling::Unverified { what: "x".into(), found: Vec::new() }),
        judged(Ruling::Limited { until: 7, what: "x".into() }),
        judged(Ruling::Blocked { class: BlockerClass::NoAccess, what: "x".into() }),
        judged(Ruling::Lost),
        judged(Ruling::Interrupted),
    ]);
    let asked = |why| {
        let options = vec![forge_core::event::Choice::Retry];
        Event::QuestionAsked(Box::new(Question {
            id: question,
            unit: unit.clone(),
            gate: None,
            why,
            options,
        }))
    };
    all.extend([
        asked(QuestionReason::RoundsUsedUp),
        asked(QuestionReason::NotShrinking),
        asked(QuestionReason::NoResult { class: None, what: "x".into() }),
        asked(QuestionReason::NoResult { class: Some(FaultClass::Secret), what: "x".into() }),
        asked(QuestionReason::CapReached { cap: None }),
        asked(QuestionReason::CapReached { cap: Some(Money(100_000)) }),
        asked(QuestionReason::Setbacks { n: 5 }),
        asked(QuestionReason::NoVerdict { what: "x".into() }),
        asked(QuestionReason::Blocked { class: BlockerClass::Unknown, what: "x".into() }),
        asked(QuestionReason::DoesNotLand),
        asked(QuestionReason::LandedAlready),
        asked(QuestionReason::NothingToRedo),
        asked(QuestionReason::Unverified { what: "x".into(), found: Vec::new() }),
        asked(QuestionReason::Guarded),
        asked(QuestionReason::Objected { what: "x".into() }),
        asked(QuestionReason::Doubted { what: vec!["x".into()] }),
        asked(QuestionReason::NothingChanged),
        asked(QuestionReason::Unfinished { what: "x".into() }),
    ]);
    let reopened =
        |by| Event::UnitReopened { unit: unit.clone(), by, findings: vec![], words: String::new() };
    all.extend([
        reopened(SentBack::Landing),
        reopened(SentBack::Resumed),
        Event::GatePassed {
            unit: unit.clone(),
            gate: "g".into(),
            by: Approval::Automatic,
            verdict: None,
        },
        Event::Noticed { unit: unit.clone(), what: "x".into() },
        Event::Edited {
            attempt: attempt("s#2"),
            edit: rewritten("s.md"),
            by: by.clone(),
            why: "x".into(),
        },
        Event::RunRewound {
            from: "r".into(),
            unit: unit.clone(),
            branch: Some("forge/other".into()),
            by: by.clone(),
        },
        Event::GateWaived { unit: unit.clone(), gate: "g".into(), why: Waiver::Advisory },
        Event::GateWaived { unit: unit.clone(), gate: "g".into(), why: Waiver::RoundsUsedUp },
        Event::GateWaived { unit: unit.clone(), gate: "g".into(), why: Waiver::NotShrinking },
        Event::GateWaived { unit: unit.clone(), gate: "g".into(), why: Waiver::NothingToRedo },
        Event::Answered { question, answer: Answer::Retry, words: String::new(), by },
        Event::UnitFailed { unit, kind: FailureKind::Blocked, reason: "x".into() },
        settled(CallId::Judgement(judgement)),
        Event::RunEnded { end: End::Blocked },
        Event::RunEnded { end: End::Abandoned },
    ]);
    for event in all {
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
        assert!(!sentence(&event, Names::Exact).is_empty());
    }
}

#[test]
fn names_can_be_read_back_from_what_they_print() {
    for name in ["s#1", "build.T2/make#4", "build.T2/make#4/critic#1", "a.B/c.D/e#1/f#2"] {
        assert_eq!(name.parse::<CallId>().unwrap().to_string(), name);
    }
    for wrong in
        ["", "s", "s#0", "s#x", "#1", "a.b/#1", "a/b#1", "a..b/c#1", "s#1/#1", "s#1/g", "s/g#1/h#0"]
    {
        assert!(wrong.parse::<CallId>().is_err(), "{wrong}");
    }
    assert_eq!("q7".parse::<QuestionId>().unwrap().to_string(), "Q7");
    assert!("7".parse::<QuestionId>().is_err());
    let wrong = "x#0".parse::<CallId>().unwrap_err().to_string();
    assert_eq!(wrong, "`x#0` is not the name of an attempt, such as `build.T2/implement#3`");
}

#[test]
fn a_flow_that_would_be_refused_today_still_goes_on_where_it_was_let_in() {
    let text =
        "name = \"old\"\n[[stage]]\nname = \"a\"\nagent = \"x\"\nreads = [\"never-written.md\"]\n";
    let start = start_of("old", &[("old", text)], &[]);
    let input = Input::Command(Command::Start(Box::new(start.clone())));
    assert!(decide(&Run::new(), 1, &input).is_err(), "nobody starts it any more");
    let mut run = Run::new();
    run.apply_record(&Record { at: 1, facts: vec![Event::RunStarted(Box::new(start))] });
    assert!(!decide(&run, 2, &Input::Tick).unwrap().facts.is_empty(), "but it can go on");
}

#[test]
fn endings_of_calls_that_began_before_there_were_keys_are_read_as_before() {
    let flow = "name = \"two\"\n[[stage]]\nname = \"make\"\nagent = \"a\"\n[[stage]]\nname = \"tell\"\nagent = \"a\"\n";
    let keys = |world: &World| {
        let call = world.run.calls().values().next().unwrap();
        world.run.ending_keys(call).map(<[String]>::to_vec)
    };
    let signs = |key: &str| Input::Report(Report::Signs { key: key.to_owned() });
    let mut old = World::of(start_of("two", &[("two", flow)], &[])).begin();
    assert_eq!(keys(&old), None);
    old.input(&signs("k2")).unwrap();
    assert_eq!(keys(&old), None, "its keeper may be one that did not sign");
    old.end("make#1");
    assert_eq!(keys(&old).unwrap(), ["k2"]);
    let mut world = World::of(start_of("two", &[("two", flow)], &[]));
    world.start.ending_key = Some("k1".into());
    let mut world = world.begin();
    assert_eq!(keys(&world).unwrap(), ["k1"]);
    world.input(&signs("k2")).unwrap();
    world.input(&signs("k2")).unwrap();
    assert_eq!(keys(&world).unwrap(), ["k1", "k2"], "keepers of the driver before may still end");
}

#[test]
fn the_journal_of_version_4_can_be_read_and_folded_for_ever() {
    let text = std::fs::read_to_string(V4).unwrap();
    let mut run = Run::new();
    let mut said = Vec::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), line, "the format has changed");
        run.apply_record(&record);
        said.extend(record.facts.iter().map(|fact| sentence(fact, Names::Exact)));
    }
    for line in [
        "make looks whether its paths are free",
        "make waits: run r2 may change the same files: src",
        "make has its paths",
    ] {
        assert!(said.iter().any(|said| said == line), "no `{line}` in\n{}", said.join("\n"));
    }
    assert_eq!(wanted(&run), [Effect::Claim { unit: "fix".parse().unwrap() }]);
    assert_eq!(claims(&run), []);
}

/// A run that looks at what it needs, lacks something, is left with a task, and needs something again.
fn needing() -> World {
    let flow = r#"
name = "needs"
lists = ["tasks"]
blocks = """
```gates phase=make
forbid task.status == blocked
```
```gates phase=end
after build = n/a
```
"""
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
stuck = "pass-with-notes"
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [{ name = "critic", review = "c" }]
[[stage]]
name = "end"
agent = "e"
"#;
    let mut start = start_of("needs", &[("needs", flow)], &[]);
    start.lists = BTreeMap::from([("tasks".to_owned(), vec![writes("A", "a"), writes("B", "b")])]);
    let mut world = World::of(start).begin();
    let make = |item: &str| -> UnitId { format!("build.{item}/make").parse().unwrap() };
    let (subject, got) = ("task.status".to_owned(), "blocked".to_owned());
    let want = "not == blocked".to_owned();
    let unmet = vec![UnmetNeed { kind: UnmetKind::ForbidTriggered, subject, want, got }];
    world.report(Report::NeedsUnmet { unit: make("A"), gate: None, unmet });
    world.say(1, Answer::GiveUp, "");
    world.report(Report::NeedsMet { unit: make("B"), gate: None });
    world.end("build.B/make#1");
    world.end("build.B/make#1/critic#1");
    world
}

#[test]
fn the_journal_of_version_5_can_be_read_and_folded_for_ever() {
    let text = std::fs::read_to_string(V5).unwrap();
    let mut run = Run::new();
    let mut said = Vec::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), line, "the format has changed");
        run.apply_record(&record);
        said.extend(record.facts.iter().map(|fact| sentence(fact, Names::Exact)));
    }
    for line in [
        "build.A/make: looking at what it needs",
        "Q1 asks about build.A/make: This stage cannot begin: the status of the task is blocked. What now?",
        "build.B/make has what it needs",
        "build: not finished, and not in the result: A",
    ] {
        assert!(said.iter().any(|said| said == line), "no `{line}` in\n{}", said.join("\n"));
    }
    assert_eq!(wanted(&run), [Effect::Need { unit: "end".parse().unwrap(), gate: None }]);
}

#[test]
fn what_a_run_needs_is_read_back_as_it_was_written() {
    for line in needing().journal {
        let record: Record = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
    }
}

#[test]
fn the_journal_of_version_6_can_be_read_and_folded_for_ever() {
    let text = std::fs::read_to_string(V6).unwrap();
    let mut run = Run::new();
    let mut wishes = Vec::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), line, "the format has changed");
        run.apply_record(&record);
        let started = record.facts.iter().filter_map(Event::call_started);
        wishes.extend(started.map(|(call, _)| (call.to_string(), run.wish(&call))));
    }
    let words = |(call, wish): &(String, Option<Wish>)| {
        format!("{call}{}", wish.map(Wish::to_words).unwrap_or_default())
    };
    let said = [
        "split#1",
        "build.A/plan#1, tier max (the item is risky), effort max (the item is risky)",
        "build.A/make#1",
        "build.A/make#1/critic#1, effort high (set by the role), thinking adaptive (the flow says so)",
        "build.A/make#2",
    ];
    assert_eq!(wishes.iter().map(words).collect::<Vec<_>>(), said);
    let last = run.history().calls.newest().unwrap();
    let route = last.route.unwrap();
    assert!(route.to_words().ends_with(", model from the tier"), "{}", route.to_words());
    assert_eq!(route.wish.effort.unwrap().instead_of, Some(Effort::High));
}

#[test]
fn the_journal_of_version_7_can_be_read_and_folded_for_ever() {
    let text = std::fs::read_to_string(V7).unwrap();
    let mut run = Run::new();
    let mut said = Vec::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), line, "the format has changed");
        run.apply_record(&record);
        said.extend(record.facts.iter().map(|fact| sentence(fact, Names::Exact)));
    }
    for line in [
        "work#1 goes to claude with the account `home`, in the place of one that has reached its limit",
        "work#2: it was too long for the model; a model of the tier `heavy` takes over",
        "work#3/critic#1: the model refused; `codex` takes over",
    ] {
        assert!(said.iter().any(|said| said == line), "no `{line}` in\n{}", said.join("\n"));
    }
    let again: CallId = "work#3/critic#2".parse().unwrap();
    assert_eq!(run.calls().keys().collect::<Vec<_>>(), [&again]);
    assert!(run.passed_on(&again).is_some());
}

#[test]
fn friction_in_a_receipt_is_read_and_written_the_same_for_ever() {
    let line = r#"{"at":2000,"facts":[{"attempt_ended":{"attempt":"plan#1","outcome":"done","receipt":{"spent":{"cost":"unknown","tokens":{"input":0,"output":0,"cache_read":0,"cache_write":0}},"took_ms":0,"friction":[{"kind":"skill_missing","skill":"migrations","issue":"none says how","evidence":"error"},{"kind":"x_slow","issue":"slow"}]}}}]}"#;
    let record: Record = serde_json::from_str(line).unwrap();
    assert_eq!(serde_json::to_string(&record).unwrap(), line);
    let newer = line.replace("\"issue\":\"slow\"", "\"issue\":\"slow\",\"more\":1");
    assert!(
        serde_json::from_str::<Record>(&newer).is_ok(),
        "what a newer version adds is no damage"
    );
}
