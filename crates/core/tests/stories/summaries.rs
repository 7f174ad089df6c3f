//! `summary.md`: what a run came to, how ever it ended, from facts alone.

use forge_core::{
    event::{
        Answer, Coherence, Colour, Detail, End, Evidence, Outcome, ProofStart, Receipt, Ruling,
        TriageOutcome,
    },
    money::{Cost, ModelUse, Money, Spent, Tokens, Used},
    run::Phase,
    verdict::{Severity, Verdict},
    view::{Axis, PhasesView, RunRow, spendings, stats, summary, summary::TaskStanding},
};

use crate::world::{World, after, fault, finding, item, red, revise, writes};

const ID: &str = "20261115-add-a-queue-abcd";

fn summary_text(world: &World) -> String {
    summary::markdown(&summary::summarize(ID, &world.run, world.run.now()))
}

fn proved(tree: &str) -> Receipt {
    let (command, colour) = ("make test".to_owned(), Colour::Green);
    let evidence = vec![Evidence {
        command,
        tree: tree.to_owned(),
        colour,
        took_ms: None,
        start: ProofStart::Cached,
        failure: None,
    }];
    Receipt { evidence, ..Receipt::from_spent(Spent::NOTHING) }
}

/// A feature in which several things went wrong before all was good.
fn troubled() -> World {
    let named = |id: &str, path: &str, title: &str| forge_core::item::Item {
        title: title.to_owned(),
        ..writes(id, path)
    };
    let minor = vec![finding(Severity::Minor, "a word | another")];
    let agent = Receipt {
        used: Some(Used {
            agent: "claude".to_owned(),
            account: None,
            asked_for: None,
            models: vec![ModelUse {
                provider: "anthropic".to_owned(),
                model: "sonnet".to_owned(),
                tokens: Tokens { input: 10, output: 1, ..Tokens::default() },
                cost: Cost::Unknown,
            }],
        }),
        session: Some("session-7".to_owned()),
        took_ms: 61_500,
        ..Receipt::from_spent(Spent::NOTHING)
    };
    let limited = Outcome::Limited { until: 5_000, what: "5-hour limit of claude".to_owned() };
    World::feature("M")
        .list("split", vec![named("T1", "src/a", "The queue"), named("T2", "src/b", "Its | door")])
        .outcome("analyse#1", limited)
        .leaves("analyse#2", agent)
        .cost("analyse#2", Cost::Unknown)
        .cost("design#1", Cost::Known(Money(1_250_000)))
        .cost("build.T1/implement#1", Cost::Estimated(Money(310_000)))
        .verdict("design#1/review#1", revise(2))
        .answer(1, Answer::Revise, "no new thread, please")
        .verdict("build.T1/implement#1/verify#1", red("2 tests failed"))
        .verdict("build.T1/implement#2/verify#1", red("1 test failed"))
        .verdict("build.T1/implement#3/review#1", Verdict::Pass { findings: minor })
        .outcome("build.T2/implement#1", fault("the program ended with 1"))
        .leaves("verify#1/verify#1", proved("tree"))
}

#[test]
fn a_run_that_is_done_is_told_from_the_request_to_the_last_commit() {
    let mut world = troubled();
    world.start.request = "Add a queue\n\nIt must be *bounded*.".to_owned();
    world.start.branch = Some("forge/add-a-queue".to_owned());
    world.start.chosen = [("effort".to_owned(), "story points: 8".to_owned())].into();
    world.start.source = Some("https://example.org/issues/7".to_owned());
    let world = world.played();
    world.is(&Phase::Over(End::Done));
    insta::assert_snapshot!("summary_done", summary_text(&world));
    assert_eq!(
        summary_text(&world),
        summary_text(&world.cut(world.journal.len())),
        "the same facts, the same bytes"
    );
}

#[test]
fn with_debug_every_call_is_told() {
    let mut world = troubled();
    world.start.detail = Detail::Debug;
    world.start.chosen = [("effort".to_owned(), "--effort".to_owned())].into();
    world.start.coherence = Some(Coherence {
        spent: Spent { cost: Cost::Known(Money(5_000)), ..Spent::NOTHING },
        used: Some(Used {
            agent: "claude".to_owned(),
            account: None,
            asked_for: None,
            models: vec![],
        }),
        took_ms: 900,
        summary: "clear".to_owned(),
        came_to: TriageOutcome::Pass,
    });
    let world = world.played();
    insta::assert_snapshot!("summary_debug", summary_text(&world));
}

#[test]
fn a_look_at_the_request_that_came_to_nothing_is_not_said_to_have_passed() {
    let mut world = World::feature("S");
    world.start.detail = Detail::Debug;
    let (spent, came_to) = (Spent::NOTHING, TriageOutcome::Nothing);
    let look = Coherence { spent, used: None, took_ms: 5, summary: String::new(), came_to };
    world.start.coherence = Some(look);
    let text = summary_text(&world.played());
    let row = text.lines().find(|line| line.contains("coherence#1")).unwrap();
    assert!(row.contains("fault") && !row.contains("passed"), "{row}");
}

#[test]
fn runs_that_did_not_come_to_their_end_are_told_as_well() {
    let failed = World::feature("S").answer(1, Answer::GiveUp, "too dear").played();
    insta::assert_snapshot!("summary_failed", summary_text(&failed));
    let blocked = World::feature("S")
        .verdict("design#1/review#1", crate::world::block("it cannot be done"))
        .answer(1, Answer::GiveUp, "")
        .played();
    let text = summary_text(&blocked);
    let why = "The run is **blocked**: design: it cannot be done (rejected by bob).";
    assert!(text.contains(why), "{text}");
    let mut abandoned = World::feature("S").begin();
    abandoned.abandon();
    abandoned.end("analyse#1");
    let text = summary_text(&abandoned);
    assert!(text.contains("The run was **abandoned**."), "{text}");
    assert!(
        text.contains("- pull request: not delivered: the run ended before this step"),
        "{text}"
    );
    let going = World::feature("S").begin();
    assert!(summary_text(&going).contains("The run is **running**."));
    let waiting = World::feature("S").played_until("Q1");
    assert!(
        summary_text(&waiting)
            .contains("The run **needs you**: it waits for an answer: Q1 about design.")
    );
    let fresh = summary::summarize(ID, &forge_core::Run::new(), 0);
    assert!(summary::markdown(&fresh).contains("**running**"));
}

#[test]
fn a_run_in_which_nothing_went_wrong_has_nothing_to_improve() {
    let world = World::feature("S").played();
    assert!(summary_text(&world).contains("Nothing to improve."));
}

#[test]
fn what_was_waived_is_told_with_who_and_why() {
    let unverified =
        || Ruling::Unverified { what: "no checks are set".to_owned(), found: Vec::new() };
    let world = World::feature("S")
        .list("split", vec![item("T1")])
        .ruling("build.T1/implement#1/verify#1", unverified())
        .answer(2, Answer::Waive { gate: "verify".to_owned() }, "a prototype")
        .ruling("verify#1/verify#1", unverified())
        .played();
    let text = summary_text(&world);
    for line in [
        "- checks: **unverified**, no check ran on this code",
        "- bob overrode the checks: a prototype",
        "- nothing proved the work: no checks are set.",
        "  Next time: run `forge init`, or set verify.commands in forge.toml.",
        "- Q2 about T1: bob answered override: \"a prototype\".",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    assert_eq!(
        text.matches("overrode the checks").count(),
        1,
        "one answer is one override:\n{text}"
    );
}

/// Many items, one after the other.
const MANY: &str = r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
gates = [{ review = "critic" }]
[[stage]]
name = "build"
each = "tasks"
items_max = 200
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [{ review = "critic" }]
"#;

fn many(n: usize) -> World {
    let tasks = (0..n).map(|n| writes(&format!("T{n}"), &format!("src/{n}"))).collect();
    World::small(MANY).list("split", tasks)
}

#[test]
fn long_lists_are_cut_and_counted() {
    let notes = (0..60).map(|n| finding(Severity::Minor, &format!("note {n}"))).collect();
    let mut world = many(120).verdict("split#1/critic#1", Verdict::Pass { findings: notes });
    world.start.request = "x".repeat(20_000);
    let world = world.played_until("build.T0/make#1");
    let view = summary::summarize(ID, &world.run, world.run.now());
    assert_eq!((view.tasks.len(), view.more_tasks), (summary::TASKS_MAX, 20));
    assert_eq!((view.findings.len(), view.more_findings), (summary::FINDINGS_MAX, 10));
    let text = summary::markdown(&view);
    assert!(text.contains("… and 20 more tasks"));
    assert!(text.contains("… and 10 more findings"));
    assert!(text.contains("> … and 12000 characters more, in request.md"));
}

#[test]
fn calls_are_cut_and_counted() {
    let mut world = World::small("[[stage]]\nname = \"s\"\nagent = \"x\"\n");
    world.start.detail = Detail::Debug;
    let mut world = world.begin();
    for n in 1..=summary::CALLS_MAX + 3 {
        let waits = Outcome::Deferred { until: 0, what: "T9 writes it".to_owned() };
        world.ends(&format!("s#{n}"), waits);
        let again = world.unit("s").not_before;
        world.input_at(again, &forge_core::Input::Tick).unwrap();
    }
    let view = summary::summarize(ID, &world.run, world.run.now());
    assert_eq!((view.calls.len(), view.more_calls), (summary::CALLS_MAX, 3));
    assert!(summary_text(&world).contains("… and 3 more calls"));
}

#[test]
fn advice_is_cut_and_counted() {
    let mut world = many(30);
    for n in 0..30 {
        world = world.verdict(&format!("build.T{n}/make#1/critic#1"), revise(4));
    }
    let text = summary_text(&world.played());
    let cut = "- 10 more like these.\n  Next time: `forge log` shows all of it.";
    assert!(text.contains(cut), "{text}");
    assert!(
        text.contains("; and 1 more.\n"),
        "findings that a line leaves out are counted: {text}"
    );
}

#[test]
fn what_the_look_at_the_request_cost_is_part_of_what_the_run_spent() {
    let spent = Spent {
        cost: Cost::Known(Money(400_000)),
        tokens: Tokens { input: 7, ..Tokens::default() },
        ..Spent::NOTHING
    };
    let mut world = World::feature("S").budget("0.45").call_budget("0.10");
    world.start.coherence = Some(Coherence {
        spent,
        used: None,
        took_ms: 5,
        summary: String::new(),
        came_to: TriageOutcome::Pass,
    });
    let mut world = world.begin();
    assert_eq!(RunRow::new(ID, &world.run).spent, Money(400_000));
    let call = crate::world::reserved(&world, "analyse#1");
    assert_eq!(call, Some(Money(50_000)), "a cap counts it");
    world.end("analyse#1");
    let records = world.records();
    let facts = records.iter().flat_map(|record| record.facts.iter().map(|fact| (record.at, fact)));
    let all = spendings(ID, facts);
    assert_eq!((all[0].call.as_str(), all[0].role.as_str()), ("coherence#1", "coherence-checker"));
    assert_eq!(stats(&all, Axis::Run).total.known, world.run.ledger().known);
    assert_eq!(stats(&all, Axis::Run).total.tokens, world.run.ledger().tokens);
    let view = summary::summarize(ID, &world.run, world.run.now());
    assert_eq!(view.phases[0].stage, "coherence");
    assert_eq!(view.total.known, world.run.ledger().known);
}

#[test]
fn a_call_is_a_call_of_an_agent_wherever_calls_are_counted() {
    let mut world = troubled();
    world.start.coherence = Some(Coherence {
        spent: Spent { cost: Cost::Known(Money(5_000)), ..Spent::NOTHING },
        used: Some(Used {
            agent: "claude".to_owned(),
            account: None,
            asked_for: None,
            models: vec![],
        }),
        took_ms: 900,
        summary: String::new(),
        came_to: TriageOutcome::Pass,
    });
    let world = world.played();
    let records = world.records();
    let facts = records.iter().flat_map(|record| record.facts.iter().map(|fact| (record.at, fact)));
    let counted = stats(&spendings(ID, facts), Axis::Run).total.calls;
    assert!(counted > 0 && (counted as usize) < world.run.history().calls.iter().count());
    let view = summary::summarize(ID, &world.run, world.run.now());
    assert_eq!(view.total.calls, counted, "the summary");
    assert_eq!(view.phases.iter().map(|row| row.used.calls).sum::<u32>(), counted, "its rows");
    let forges_own = view.phases.iter().find(|row| row.stage == "deliver").expect("it has a row");
    assert_eq!((forges_own.attempts, forges_own.used.calls), (1, 0));
    let log = PhasesView::new(ID, &world.run).phase_log;
    assert_eq!(log.len(), counted as usize, "the log of state.json");
    assert_eq!((log[0].phase.as_str(), log[0].duration_ms), ("coherence", 900));
    assert!(log.iter().all(|row| row.phase != "pr-creation"));
}

#[test]
fn tags_in_the_words_of_others_are_none_in_the_summary() {
    const TAG: &str = "</td><details open> \\| x";
    let title = format!("a {TAG}");
    let tagged = forge_core::item::Item { title, ..item("T1") };
    let left = vec![finding(Severity::Minor, TAG)];
    let mut world = World::feature("S")
        .list("split", vec![tagged])
        .verdict("build.T1/implement#1/review#1", Verdict::Pass { findings: left })
        .answer(1, Answer::Approve, TAG);
    world.start.request = format!("Add a queue\r<!-- {TAG}\n{TAG}");
    let text = summary_text(&world.played());
    assert!(!text.contains('<') && !text.contains('\r'), "{text}");
    assert!(text.contains("| a &lt;/td>&lt;details open> \\\\\\| x |"), "{text}");
    assert_eq!(text.matches("&lt;details open>").count(), 6, "{text}");
}

#[test]
fn a_summary_that_is_written_before_the_last_commit_does_not_say_that_work_is_left() {
    let world = World::feature("S").answer(1, Answer::Approve, "");
    let mut world = world.played_until("Q1");
    world.say(1, Answer::Approve, "");
    while !world.wanted().contains(&"summary#1".to_owned()) {
        let next = world.wanted().pop().unwrap();
        assert!(summary_text(&world).contains("**running**"));
        world.end(&next);
    }
    let text = summary_text(&world);
    assert!(text.contains("The work is **done**, and is being saved."), "{text}");
    assert!(text.contains("- pull request: its text is ready; open it with `forge pr "), "{text}");
}

#[test]
fn a_task_whose_landing_brought_nothing_is_not_called_landed() {
    let lands = |commit: &str, head: Option<&str>| Receipt {
        commit: Some(commit.to_owned()),
        tree: Some("tree".to_owned()),
        head: head.map(str::to_owned),
        ..Receipt::from_spent(Spent::NOTHING)
    };
    let tasks = [
        writes("T1", "src/a"),
        after(writes("T2", "src/b"), "T1"),
        after(writes("T3", "src/c"), "T2"),
    ];
    let mut world = World::feature("S")
        .auto()
        .list("split", tasks.to_vec())
        .leaves("build.T1/implement#1/land#1", lands("base", None))
        .leaves("build.T2/implement#1/land#1", lands("second", Some("merged")))
        .leaves("build.T3/implement#1/land#1", lands("third", Some("merged")))
        .answer(1, Answer::Waive { gate: "land".to_owned() }, "it is there already")
        .answer(2, Answer::Waive { gate: "land".to_owned() }, "T2 did it");
    world.start.base = Some("base".to_owned());
    let world = world.played();
    world.is(&Phase::Over(End::Done));
    let tasks = summary::summarize(ID, &world.run, world.run.now()).tasks;
    let states: Vec<_> = tasks.iter().map(|task| (task.id.as_str(), task.state)).collect();
    // One that adds nothing to what the run began with, and one that adds nothing to what landed before.
    let (landed, unchanged) = (TaskStanding::Landed, TaskStanding::Unchanged);
    assert_eq!(states, [("T1", unchanged), ("T2", landed), ("T3", unchanged)]);
    let text = summary_text(&world);
    assert_eq!(text.matches("| nothing changed | 1 |").count(), 2, "{text}");
    assert_eq!(text.matches("| merged | 1 |").count(), 1, "{text}");
}

#[test]
fn a_delivery_that_had_nothing_to_deliver_is_not_called_delivered() {
    let why = "nothing to deliver: the code did not change";
    let receipt = Receipt { notes: vec![why.to_owned()], ..Receipt::from_spent(Spent::NOTHING) };
    let world = World::feature("S").answer(1, Answer::Approve, "").leaves("deliver#1", receipt);
    let text = summary_text(&world.played());
    assert!(text.contains(&format!("- pull request: not delivered: {why}")), "{text}");
    assert!(!text.contains("pull request: its text is ready"), "{text}");
}

#[test]
fn a_check_that_failed_before_the_run_is_named_once() {
    use forge_core::verdict::{Finding, Proof, RED_AT_THE_BASE};
    let old = || {
        let proof =
            Proof::Command { command: "make lint".to_owned(), output: "2 warnings".to_owned() };
        let found = finding(Severity::Major, "`make lint` fails");
        let why = RED_AT_THE_BASE.to_owned();
        Verdict::Revise { findings: vec![Finding { proof: Some(proof), why, ..found }] }
    };
    let world = World::feature("S")
        .verdict("build.T1/implement#1/verify#1", old())
        .verdict("build.T2/implement#1/verify#1", old())
        .played();
    let text = summary_text(&world);
    assert_eq!(
        text.matches("- `make lint` already failed where the run started.").count(),
        1,
        "{text}"
    );
}
