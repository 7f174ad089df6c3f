//! Every question of a run, answered in every way that it offers, from everywhere: one run for each question and way, in
//! which each answer is given once. What a person says reaches the next brief word for word.
//!
//! There are many of them: for every change each point is told in one way, and which is up to the seed; `cargo xtask test
//! --full points` tells all. `FORGE_POINTS_WAYS=all cargo test -p forge --test points checkpoint_b` does it for one.
//!
//! Invariant: the answers of a story are exactly those that the program offers at its question.

use serde_json::Value;

use crate::{
    building::breaks,
    ending::{TRIES, TURNS_RED},
    project::{Project, STOPS_HERE, task_review},
    ways::{Says, Seat, Way},
    words::said_to,
    world::{DONE, ESCALATED, FAILED, has},
};

/// A point where a run asks, and what is played so that it comes there.
struct Point {
    /// Its place in the list, which makes samples differ.
    at: usize,
    plays: fn() -> String,
    effort: &'static str,
    more: &'static [&'static str],
    /// Asked about, and approved, before it comes there.
    first: &'static [&'static str],
    /// Asked about.
    unit: &'static str,
    /// What is started again by `retry`.
    call: &'static str,
    /// One after the other.
    story: &'static [(Says, Then)],
}

/// What follows from an answer.
#[derive(Clone, Copy)]
enum Then {
    /// The same question, anew.
    Again,
    /// The run fails; taken up again, it asks anew.
    Fails,
    /// The next question, which is about another unit.
    Asks(&'static str),
    /// The run ends with this code.
    Ends(i32),
}

/// Everything that went wrong with words somewhere, in 8 KiB.
const WORDS: &str = concat!(
    "--auto, -h and -- are not what I want.\n\n",
    "  She said \"no\", it's `rm -rf $HOME` && \\n and 100 % {braces} <tags> 'single'\twith a tab.\n",
    "Grüße, 世界 \u{1f44b}\u{1f3fd} e\u{301} \u{202e}right to left\u{202c} שלום, مرحبا\n",
    "## What you must leave\n\nNothing at all.\n- a list\n> quoted already\n```\nnot closed\n",
    include_str!("long_words.txt"),
    "the end."
);

/// In the order in which samples take them.
const WAYS: [Way; 4] = [Way::Keys, Way::Pipes, Way::Elsewhere, Way::Detached];

const REVISE: Says = Says::Revise(WORDS);

/// The reviewer of the first task never likes it.
fn never_content() -> String {
    task_review("revise", &["major"])
}

/// Nobody builds what was split.
fn nobody_builds() -> String {
    "[[play]]\nrole = \"implementer\"\nartifacts = { \"impl-T1.md\" = \"no\\n\" }\n\
     result = { status = \"blocked\", summary = \"no\", blocker = { class = \"unknown\", what = \"so far and no further\" } }\n"
        .to_owned()
}

/// The first task is red for ever, each time in other words, and whoever reviews it ends the run.
fn red_for_ever() -> String {
    format!("{}{}", breaks(9), task_review("block", &[]))
}

/// At the last look it is red for ever.
fn red_at_the_end() -> String {
    let mends =
        "[[play]]\nrole = \"verifier\"\nresult = { summary = \"tried\", commit = \"Try\" }\n";
    format!("{TURNS_RED}{TRIES}{mends}")
}

/// Nobody analyses anything.
fn no_analyst() -> String {
    "[[play]]\nrole = \"situation-analyst\"\nno_result = true\n".to_owned()
}

/// The reviewer of the design has no verdict, ever.
fn no_verdict() -> String {
    "[[play]]\nrole = \"design-reviewer\"\nno_result = true\n".to_owned()
}

/// Point 8.
const CHECKPOINT_A: Point = Point {
    at: 0,
    plays: || STOPS_HERE.to_owned(),
    effort: "M",
    more: &[],
    first: &[],
    unit: "design",
    call: "design",
    story: &[
        (REVISE, Then::Again),
        (Says::GiveUp, Then::Fails),
        (Says::Approve, Then::Asks("split")),
    ],
};

/// Point 10.
const CHECKPOINT_B: Point = Point {
    at: 1,
    plays: nobody_builds,
    effort: "L",
    more: &[],
    first: &["design"],
    unit: "split",
    call: "split",
    story: &[
        (REVISE, Then::Again),
        (Says::GiveUp, Then::Fails),
        (Says::Approve, Then::Asks("build.T1/implement")),
    ],
};

/// Point 11.
const TASK_REVIEW: Point = Point {
    at: 2,
    plays: never_content,
    effort: "S",
    more: &["--auto"],
    first: &[],
    unit: "build.T1/implement",
    call: "build.T1/implement",
    story: &[(REVISE, Then::Again), (Says::GiveUp, Then::Fails), (Says::Approve, Then::Ends(DONE))],
};

/// Point 12, of an agent that works.
const NOTHING_OF_USE: Point = Point {
    at: 3,
    plays: no_analyst,
    effort: "S",
    more: &["--auto"],
    first: &[],
    unit: "analyse",
    call: "analyse",
    story: &[(Says::Retry, Then::Again), (Says::GiveUp, Then::Fails)],
};

/// Point 12, of an agent that reviews.
const NO_VERDICT: Point = Point {
    at: 4,
    plays: no_verdict,
    effort: "S",
    more: &["--auto"],
    first: &[],
    unit: "design",
    call: "design#1/review",
    story: &[
        (Says::Retry, Then::Again),
        (REVISE, Then::Again),
        (Says::GiveUp, Then::Fails),
        (Says::Approve, Then::Asks("design")),
    ],
};

/// Point 13.
const RED_TASK: Point = Point {
    at: 5,
    plays: red_for_ever,
    effort: "S",
    more: &["--auto"],
    first: &[],
    unit: "build.T1/implement",
    call: "build.T1/implement",
    story: &[
        (REVISE, Then::Again),
        (Says::GiveUp, Then::Fails),
        (Says::Waive { gate: "verify", why: WORDS }, Then::Ends(ESCALATED)),
    ],
};

/// Point 14.
const RED_END: Point = Point {
    at: 6,
    plays: red_at_the_end,
    effort: "S",
    more: &["--auto"],
    first: &[],
    unit: "verify",
    call: "verify",
    story: &[
        (REVISE, Then::Again),
        (Says::GiveUp, Then::Fails),
        (Says::Waive { gate: "verify", why: WORDS }, Then::Ends(DONE)),
    ],
};

/// One run of a point, answered in one way.
struct Told<'a> {
    project: &'a Project,
    point: &'a Point,
    seat: Seat<'a>,
    /// The question that is open.
    question: usize,
}

impl Point {
    /// Answers all that can be answered, one after the other.
    fn told(&self, way: Way) {
        if self.is_in_sample(way) {
            self.told_as(way, self.story);
        }
    }

    /// Whether this way is in the sample: so many of the four, for each point others.
    fn is_in_sample(&self, way: Way) -> bool {
        let number = |name: &str, otherwise: usize| match std::env::var(name) {
            Ok(text) if text == "all" => WAYS.len(),
            Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")),
            Err(_) => otherwise,
        };
        let (ways, seed) = (number("FORGE_POINTS_WAYS", 1), number("FORGE_POINTS_SEED", 1));
        let at = WAYS.iter().position(|known| *known == way).expect("it is one of them");
        (self.at + at + seed) % WAYS.len() < ways
    }

    /// A person who says revise so often is asked as often, and then approves.
    fn revised(&self, way: Way, times: usize) {
        if !self.is_in_sample(way) {
            return;
        }
        let mut story = vec![(Says::Revise("no, not like this"), Then::Again); times];
        story.push(*self.story.last().expect("a story has an end"));
        self.told_as(way, &story);
    }

    fn told_as(&self, way: Way, story: &[(Says, Then)]) {
        assert_eq!(WORDS.len(), 8 * 1024, "it is long");
        let project = Project::new(&(self.plays)());
        let words = Project::words(self.effort, self.more);
        let about = self.first.first().unwrap_or(&self.unit);
        let seat = Seat::begin(&project, way, &words, about);
        let mut told = Told { project: &project, point: self, seat, question: 1 };
        for next in (1..=self.first.len()).map(|n| self.first.get(n).unwrap_or(&self.unit)) {
            told.answers(Says::Approve);
            told.asks(next);
        }
        told.offers(self.story);
        let first = told.question;
        for (says, then) in story {
            told.answers(*says);
            match then {
                Then::Again => told.asks(self.unit),
                Then::Fails => {
                    told.seat.ends(FAILED);
                    told.has_failed();
                    if says != &story.last().expect("a story has an end").0 {
                        told.seat.resume();
                        told.asks(self.unit);
                    }
                }
                Then::Asks(unit) => {
                    told.asks(unit);
                    told.seat.leaves();
                }
                Then::Ends(code) => told.seat.ends(*code),
            }
            told.followed(*says);
        }
        let facts = project.world.facts(&told.seat.run);
        let answered = named(&facts, "answered").len();
        assert_eq!(answered, first - 1 + story.len(), "nobody else has answered");
    }
}

impl Told<'_> {
    fn answers(&mut self, says: Says) {
        self.seat.says(self.question, says);
    }

    fn asks(&mut self, unit: &str) {
        self.question += 1;
        self.seat.asks(self.question, unit);
    }

    /// The question offers exactly the answers of the story.
    fn offers(&self, story: &[(Says, Then)]) {
        let view = self.project.world.view(&self.seat.run);
        let asked = view["asked"].as_array().unwrap();
        assert_eq!(asked.len(), 1, "{asked:#?}");
        let word = |option: &Value| {
            option["answer"].as_str().unwrap().split(' ').next().unwrap().to_owned()
        };
        let mut offered: Vec<String> =
            asked[0]["options"].as_array().unwrap().iter().map(word).collect();
        let mut told: Vec<String> = story.iter().map(|(says, _)| says.word().to_owned()).collect();
        offered.sort();
        told.sort();
        assert_eq!(told, offered, "each answer is given once");
    }

    /// Given up, it failed, and whoever looks sees by whom.
    fn has_failed(&self) {
        let (world, run) = (&self.project.world, &self.seat.run);
        assert_eq!(world.view(run)["standing"], "failed");
        has(&world.story(run).join("\n"), &["given up by ada", "the run failed"]);
    }

    /// The last answer is in the journal as it was given, and what it does was done.
    fn followed(&self, says: Says) {
        let (run, unit) = (&self.seat.run, self.point.unit);
        let facts = self.project.world.facts(run);
        let (at, answered) = named(&facts, "answered").pop().expect("it was answered");
        assert_eq!(answered["by"]["who"], "ada", "{answered}");
        assert_eq!(answered["words"].as_str().unwrap_or_default(), says.words());
        let started = |call: &str| {
            let call = format!("{call}#");
            let numbers = named(&facts, "attempt_started").into_iter().filter_map(|(n, fact)| {
                let number = fact["attempt"].as_str()?.strip_prefix(&call)?.parse().ok()?;
                (n > at).then_some(number)
            });
            numbers.collect::<Vec<u32>>()
        };
        match says {
            Says::Approve | Says::Waive { .. } => {
                let passed =
                    ["gate_passed", "gate_waived"].map(|name| named(&facts, name)).concat();
                let is_it = |(n, fact): &(usize, &Value)| *n > at && fact["unit"] == unit;
                assert!(passed.iter().any(is_it), "{passed:#?}");
            }
            Says::Revise(words) => {
                let first = started(unit)[0];
                let told = said_to(self.project, run, &format!("{unit}#{first}"));
                assert!(told.ends_with(words), "said {words:?}, and told {told:?}");
            }
            Says::Retry => {
                let again = format!("{}#", self.point.call);
                let starts = facts[at..].iter().any(|fact| fact.to_string().contains(&again));
                assert!(starts, "{again} is started again");
            }
            Says::GiveUp => {
                let failed = named(&facts, "unit_failed");
                assert!(failed.iter().any(|(n, _)| *n > at), "{failed:#?}");
            }
        }
    }
}

/// All facts of one name, with where they stand.
fn named<'a>(facts: &'a [Value], name: &str) -> Vec<(usize, &'a Value)> {
    facts.iter().enumerate().filter_map(|(n, fact)| Some((n, fact.get(name)?))).collect()
}

/// One test for each point and way.
macro_rules! stories {
    ($($name:ident: $point:ident by $way:ident;)*) => {
        $(#[test]
        fn $name() {
            $point.told(Way::$way);
        })*
    };
}

stories! {
    checkpoint_a_is_answered_in_every_way_by_keys: CHECKPOINT_A by Keys;
    checkpoint_a_is_answered_in_every_way_by_pipes: CHECKPOINT_A by Pipes;
    checkpoint_a_is_answered_in_every_way_from_elsewhere: CHECKPOINT_A by Elsewhere;
    checkpoint_a_is_answered_in_every_way_while_detached: CHECKPOINT_A by Detached;
    checkpoint_b_is_answered_in_every_way_by_keys: CHECKPOINT_B by Keys;
    checkpoint_b_is_answered_in_every_way_by_pipes: CHECKPOINT_B by Pipes;
    checkpoint_b_is_answered_in_every_way_from_elsewhere: CHECKPOINT_B by Elsewhere;
    checkpoint_b_is_answered_in_every_way_while_detached: CHECKPOINT_B by Detached;
    a_task_that_fails_its_review_is_answered_in_every_way_by_keys: TASK_REVIEW by Keys;
    a_task_that_fails_its_review_is_answered_in_every_way_by_pipes: TASK_REVIEW by Pipes;
    a_task_that_fails_its_review_is_answered_in_every_way_from_elsewhere: TASK_REVIEW by Elsewhere;
    a_task_that_fails_its_review_is_answered_in_every_way_while_detached: TASK_REVIEW by Detached;
    an_agent_without_a_result_is_answered_in_every_way_by_keys: NOTHING_OF_USE by Keys;
    an_agent_without_a_result_is_answered_in_every_way_by_pipes: NOTHING_OF_USE by Pipes;
    an_agent_without_a_result_is_answered_in_every_way_from_elsewhere: NOTHING_OF_USE by Elsewhere;
    an_agent_without_a_result_is_answered_in_every_way_while_detached: NOTHING_OF_USE by Detached;
    a_review_without_a_verdict_is_answered_in_every_way_by_keys: NO_VERDICT by Keys;
    a_review_without_a_verdict_is_answered_in_every_way_by_pipes: NO_VERDICT by Pipes;
    a_review_without_a_verdict_is_answered_in_every_way_from_elsewhere: NO_VERDICT by Elsewhere;
    a_review_without_a_verdict_is_answered_in_every_way_while_detached: NO_VERDICT by Detached;
    a_red_task_is_answered_in_every_way_by_keys: RED_TASK by Keys;
    a_red_task_is_answered_in_every_way_by_pipes: RED_TASK by Pipes;
    a_red_task_is_answered_in_every_way_from_elsewhere: RED_TASK by Elsewhere;
    a_red_task_is_answered_in_every_way_while_detached: RED_TASK by Detached;
    a_red_end_is_answered_in_every_way_by_keys: RED_END by Keys;
    a_red_end_is_answered_in_every_way_by_pipes: RED_END by Pipes;
    a_red_end_is_answered_in_every_way_from_elsewhere: RED_END by Elsewhere;
    a_red_end_is_answered_in_every_way_while_detached: RED_END by Detached;
}

#[test]
fn who_revises_the_design_five_times_by_keys_is_asked_five_times_more() {
    CHECKPOINT_A.revised(Way::Keys, 5);
}

#[test]
fn who_revises_the_tasks_five_times_by_pipes_or_from_elsewhere_is_asked_five_times_more() {
    CHECKPOINT_B.revised(Way::Pipes, 5);
    CHECKPOINT_B.revised(Way::Elsewhere, 5);
}

#[test]
fn who_revises_a_task_five_times_by_keys_or_while_detached_is_asked_five_times_more() {
    TASK_REVIEW.revised(Way::Keys, 5);
    TASK_REVIEW.revised(Way::Detached, 5);
}
