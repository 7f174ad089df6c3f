//! What the three reviewers of the shipped flow may say, and what follows: of a design, of tasks, of code. Each is sent back once, twice, for
//! ever, with fewer findings, with as many and with more; each lets something critical pass, has no verdict, and blocks.
//!
//! Not here: how a verdict is read from what an agent leaves (`forge_agents`, `forge_driver`).

use forge_core::{
    event::{Answer, Choice, End},
    id::UnitId,
    run::Phase,
    verdict::{Finding, Severity, Verdict},
    view::{QuestionView, RunView},
};

use crate::world::{World, block, finding, revise, unread, writes};

/// A unit whose work is reviewed, in a feature of this effort.
#[derive(Clone, Copy)]
struct Reviewed {
    unit: &'static str,
    effort: &'static str,
    /// Its own question, where it is asked about one when all is good.
    checkpoint: Option<&'static str>,
}

const DESIGN: Reviewed =
    Reviewed { unit: "design", effort: "M", checkpoint: Some("Build it like this?") };
const TASKS: Reviewed =
    Reviewed { unit: "split", effort: "L", checkpoint: Some("Build it in these tasks?") };
const CODE: Reviewed = Reviewed { unit: "build.T1/implement", effort: "S", checkpoint: None };

impl Reviewed {
    /// A feature with one task.
    fn world(self) -> World {
        World::feature(self.effort).list("split", vec![writes("T1", "src/a")])
    }

    /// A feature in which the reviewer says this, one attempt after the other, and then passes.
    fn says(self, world: World, verdicts: &[Verdict]) -> World {
        let say = |world: World, (n, verdict): (usize, &Verdict)| {
            world.verdict(&format!("{}#{n}/review#1", self.unit), verdict.clone())
        };
        (1..).zip(verdicts).fold(world, say)
    }

    /// The question about it that is asked last.
    fn asked(self, world: &World) -> String {
        let about = format!(" asks about {}: ", self.unit);
        world.about(&about).pop().unwrap_or_else(|| panic!("nothing is asked{about}"))
    }
}

fn with(severities: &[Severity]) -> Vec<Finding> {
    severities.iter().map(|severity| finding(*severity, "a thing")).collect()
}

/// What the reviewers of the open question said, as a person sees it.
fn shown(world: &World) -> Vec<(&'static str, u32)> {
    let view = QuestionView::new(&world.run, world.run.questions().next().expect("it is asked"));
    view.verdicts.iter().map(|verdict| (verdict.verdict.as_str(), verdict.major)).collect()
}

/// Each answer that is offered, and what it is said to do.
fn offered(world: &World) -> Vec<(String, String)> {
    let view = RunView::new("r", &world.run);
    let options = view.asked[0].options.iter();
    options.map(|option| (option.answer.clone(), option.does.clone())).collect()
}

#[test]
fn a_design_that_gets_better_is_shown_or_passes_by_itself_and_one_that_does_not_is_shown() {
    const USED_UP: &str = "has no revisions left";
    const NO_USE: &str = "found as many problems as before";
    let minor = Verdict::Revise { findings: with(&[Severity::Minor]) };
    let worse = Verdict::Revise { findings: with(&[Severity::Major, Severity::Critical]) };
    let table = [
        (vec![revise(2)], 2, None),
        (vec![revise(2), revise(1)], 3, None),
        (vec![revise(3), revise(2), revise(1)], 3, Some(USED_UP)),
        (vec![revise(2), revise(2)], 2, Some(NO_USE)),
        (vec![revise(1), revise(2)], 2, Some(NO_USE)),
        (vec![worse.clone(), worse], 2, Some(NO_USE)),
        // Notes are no reason to go on for ever.
        (vec![minor.clone(), minor], 2, Some(NO_USE)),
    ];
    for (verdicts, attempts, noted) in table {
        for is_automatic in [false, true] {
            let world = DESIGN.world();
            let world = if is_automatic { world.auto() } else { world };
            let world = DESIGN.says(world, &verdicts).played();
            let what = format!("{verdicts:?}, automatic: {is_automatic}");
            assert_eq!(world.unit("design").attempt, attempts, "{what}");
            assert_eq!(world.about("its findings are noted").len(), noted.iter().len(), "{what}");
            if is_automatic && noted.is_none() {
                world.says("design: checkpoint-a approved automatically (--auto; review: APPROVE)");
                world.never_says("asks about");
                continue;
            }
            assert_eq!(DESIGN.asked(&world), "Q1 asks about design: Build it like this?");
            world.never_says("approved automatically");
            if let Some(why) = noted {
                assert_eq!(world.about(&format!("design: review {why}")).len(), 1, "{what}");
            }
        }
    }
}

#[test]
fn tasks_come_to_the_person_better_or_with_what_is_left() {
    let table = [
        (vec![], 1, ("APPROVE", 0)),
        (vec![revise(2)], 2, ("APPROVE", 0)),
        (vec![revise(2), revise(1)], 3, ("APPROVE", 0)),
        (vec![revise(3), revise(2), revise(1)], 3, ("REVISE", 1)),
        (vec![revise(2), revise(2)], 2, ("REVISE", 2)),
        (vec![revise(1), revise(2)], 2, ("REVISE", 2)),
    ];
    for (verdicts, attempts, verdict) in table {
        let mut world = TASKS.says(TASKS.world(), &verdicts).played_until("Q1");
        world.say(1, Answer::Approve, "");
        while world.run.questions().next().is_none() {
            let call = world.wanted().pop().unwrap();
            world.end(&call);
        }
        assert_eq!(TASKS.asked(&world), "Q2 asks about split: Build it in these tasks?");
        assert_eq!(shown(&world), [verdict], "{verdicts:?}");
        assert_eq!(world.unit("split").attempt, attempts, "{verdicts:?}");
        assert_eq!(world.unit("design").attempt, 1, "the design was approved");
    }
}

#[test]
fn a_task_that_gets_better_with_each_review_lands_and_one_that_does_not_is_for_a_person() {
    let table = [
        (vec![revise(1)], 2, None),
        (vec![revise(3), revise(1)], 3, None),
        (vec![revise(3), revise(2), revise(1)], 3, Some("still does not pass")),
        (vec![revise(2), revise(2)], 2, Some("finds as many problems as before")),
        (vec![revise(1), revise(3)], 2, Some("finds as many problems as before")),
    ];
    for (verdicts, attempts, why) in table {
        for world in [CODE.world(), CODE.world().auto()] {
            let world = CODE.says(world, &verdicts).played();
            assert_eq!(world.unit(CODE.unit).attempt, attempts, "{verdicts:?}");
            let Some(why) = why else {
                world.is(&Phase::Over(End::Done));
                assert_eq!(world.about("build.T1/implement merged").len(), 1, "{verdicts:?}");
                continue;
            };
            world.never_says("build.T1/implement merged");
            let asked = CODE.asked(&world);
            assert!(asked.contains(why), "{asked}");
        }
    }
}

#[test]
fn serious_findings_never_pass_by_themselves_and_lesser_ones_do_if_the_reviewer_says_so() {
    let pass = |severities: &[Severity]| Verdict::Pass { findings: with(severities) };
    let critical = [Severity::Minor, Severity::Critical];
    for serious in [&critical[..], &[Severity::Major]] {
        let world = DESIGN.says(DESIGN.world().auto(), &[pass(serious)]).played();
        assert_eq!(DESIGN.asked(&world), "Q1 asks about design: Build it like this?");
        assert_eq!(world.unit("design").attempt, 1);
    }
    let world = DESIGN.says(DESIGN.world().auto(), &[pass(&[Severity::Minor])]).played();
    world.says("design: checkpoint-a approved automatically (--auto; review: APPROVE_WITH_NOTES)");
    // What was critical once and is mended is no longer in the way.
    let mended = Verdict::Revise { findings: with(&[Severity::Critical]) };
    let world = DESIGN.says(DESIGN.world().auto(), &[mended]).played();
    world.says("design: checkpoint-a approved automatically (--auto; review: APPROVE)");
    assert_eq!(world.unit("design").attempt, 2);
    // Where nobody is asked, it goes back as long as it is let pass like that, and then a person is asked.
    let world = CODE.says(CODE.world(), &[pass(&[Severity::Major])]).played();
    assert_eq!(world.unit(CODE.unit).attempt, 2);
    let lets_pass = [pass(&critical), pass(&critical)];
    let world = CODE.says(CODE.world().auto(), &lets_pass[..1]).played();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.unit(CODE.unit).attempt, 2);
    assert_eq!(world.about("build.T1/implement merged").len(), 1);
    let world = CODE.says(CODE.world().auto(), &lets_pass).played();
    world.never_says("build.T1/implement merged");
    assert!(
        CODE.asked(&world).contains("finds as many problems as before"),
        "{}",
        CODE.asked(&world)
    );
    assert_eq!(world.unit(CODE.unit).attempt, 2);
}

#[test]
fn a_reviewer_without_a_verdict_looks_once_more_and_then_a_person_decides_what_is_done() {
    let table = [
        (DESIGN, "the question comes next", "design fails, and the run with it"),
        (TASKS, "the question comes next", "split fails, and the run with it"),
        (CODE, "the merge runs next", "T1 fails"),
    ];
    for (reviewed, next, fails) in table {
        let call = |n: u32| format!("{}#1/review#{n}", reviewed.unit);
        let mut world = reviewed
            .world()
            .ruling(&call(1), unread("no result"))
            .ruling(&call(2), unread("PASS, says the prose"))
            .played();
        let asked = reviewed.asked(&world);
        let why = "`review` repeatedly gave no verdict: PASS, says the prose. What now?";
        assert!(asked.ends_with(why), "{asked}");
        let number = world.run.questions().next().unwrap().id.0;
        let options = [Choice::Retry, Choice::Approve, Choice::Revise, Choice::GiveUp];
        assert_eq!(world.options(number), options);
        let stage = reviewed.unit.parse::<UnitId>().unwrap().label();
        let offered = offered(&world);
        let does: Vec<&str> = offered.iter().map(|(_, does)| &**does).collect();
        assert_eq!(does[0], "`review` runs again");
        assert_eq!(does[1], format!("{stage} is accepted without this review, and {next}"));
        assert_eq!(
            does[2],
            format!("{stage} runs again, with your words in its brief"),
            "{offered:?}"
        );
        assert!(does[3].starts_with(fails), "{offered:?}");
        assert_eq!(world.unit(reviewed.unit).attempt, 1, "nothing is sent back");
        // Waived, it is still for the person where there is a checkpoint.
        world.say(number, Answer::Approve, "");
        world.go_on();
        world.is(&Phase::Over(End::Done));
        if let Some(checkpoint) = reviewed.checkpoint {
            let own = format!("Q{} asks about {}: {checkpoint}", number + 1, reviewed.unit);
            world.says(&own);
        }
    }
}

#[test]
fn a_reviewer_that_blocks_asks_a_person_whatever_it_looks_at_and_whoever_approves() {
    for reviewed in [DESIGN, TASKS, CODE] {
        for is_automatic in [false, true] {
            let world = reviewed.world();
            let world = match (is_automatic, reviewed.effort) {
                (true, "L") => continue,
                (true, _) => world.auto(),
                (false, _) => world,
            };
            let world = reviewed.says(world, &[block("it cannot be done")]).played();
            let asked = reviewed.asked(&world);
            assert!(asked.contains("says that no change can fix this"), "{asked}");
            let number = world.run.questions().next().unwrap().id.0;
            let options = [Choice::Revise, Choice::Waive, Choice::GiveUp];
            assert_eq!(world.options(number), options);
            world.never_says("build.T1/implement merged");
            assert_eq!(world.unit(reviewed.unit).attempt, 1);
        }
    }
}

#[test]
fn a_person_who_says_revise_after_the_rounds_are_used_up_is_obeyed_as_often_as_they_like() {
    for reviewed in [DESIGN, CODE] {
        let mut world = reviewed.says(reviewed.world().auto(), &vec![revise(1); 20]);
        for n in 1..=5 {
            world = world.answer(n, Answer::Revise, &format!("no {n}"));
        }
        let world = world.answer(6, Answer::Approve, "").played();
        world.is(&Phase::Over(End::Done));
        let about = format!("about {}: ", reviewed.unit);
        assert_eq!(world.about(&about).len(), 6, "five times sent back, and once let pass");
        assert_eq!(world.said(reviewed.unit), ["no 1", "no 2", "no 3", "no 4", "no 5"]);
        assert!(world.unit(reviewed.unit).attempt >= 7, "two before the first question");
    }
}

#[test]
fn a_reviewer_who_finds_a_verdict_when_asked_again_is_believed() {
    let mut world = DESIGN
        .world()
        .auto()
        .ruling("design#1/review#1", unread("no result"))
        .ruling("design#1/review#2", unread("no result"))
        .played();
    world.say(1, Answer::Retry, "");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    world.before("bob answered Q1 (retry)", "design#1/review#3 started");
    world.says("design: checkpoint-a approved automatically (--auto; review: APPROVE)");
}
