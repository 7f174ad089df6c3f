//! Every question of a run, answered in every way that it offers, from everywhere: one run for each question and way, in
//! which each answer is given once. What a person says reaches the next brief word for word.
//!
//! There are many of them. For every change each point is told in one way and each way tells some, and one person revises five
//! times; which, is up to the seed, and is said. `cargo xtask test --full points` tells all, and
//! `FORGE_POINTS_STORY="a red task by keys" cargo test -p forge --test commands every_question` one.
//!
//! Invariant: the answers of a story are exactly those that the program offers at its question.

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
};

use serde_json::Value;

use super::{
    building::breaks,
    ending::{TRIES, TURNS_RED},
    project::{Project, STOPS_HERE, task_review},
    ways::{Says, Seat, Way},
    words::said_to,
    world::{DONE, FAILED, has},
};

/// A point where a run asks, and what is played so that it comes there.
pub(crate) struct Point {
    /// Its number in docs/reference/feature-flow.md.
    pub(crate) number: u8,
    name: &'static str,
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

/// From where each question is answered.
pub(crate) const WAYS: [Way; 4] = [Way::Keys, Way::Pipes, Way::Elsewhere, Way::Detached];

/// All questions of a run.
pub(crate) const POINTS: [&Point; 7] =
    [&CHECKPOINT_A, &CHECKPOINT_B, &TASK_REVIEW, &NOTHING_OF_USE, &NO_VERDICT, &RED_TASK, &RED_END];

/// Where a person says revise over and over.
const PATIENT: [(&Point, Way); 5] = [
    (&CHECKPOINT_A, Way::Keys),
    (&CHECKPOINT_B, Way::Pipes),
    (&CHECKPOINT_B, Way::Elsewhere),
    (&TASK_REVIEW, Way::Keys),
    (&TASK_REVIEW, Way::Detached),
];

/// So often.
const PATIENCE: usize = 5;

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

/// The first task is red for ever, each time in other words, and whoever reviews it objects.
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
    number: 8,
    name: "checkpoint A",
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
    number: 10,
    name: "checkpoint B",
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
    number: 11,
    name: "a task that fails its review",
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
    number: 12,
    name: "an agent without a result",
    plays: no_analyst,
    effort: "S",
    more: &["--auto"],
    first: &[],
    unit: "analyse",
    call: "analyse",
    story: &[(Says::Retry, Then::Again), (REVISE, Then::Again), (Says::GiveUp, Then::Fails)],
};

/// Point 12, of an agent that reviews.
const NO_VERDICT: Point = Point {
    number: 12,
    name: "a review without a verdict",
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
    number: 13,
    name: "a red task",
    plays: red_for_ever,
    effort: "S",
    more: &["--auto"],
    first: &[],
    unit: "build.T1/implement",
    call: "build.T1/implement",
    story: &[
        (Says::Retry, Then::Again),
        (REVISE, Then::Again),
        (Says::GiveUp, Then::Fails),
        (Says::Waive { gate: "verify", why: WORDS }, Then::Asks("build.T1/implement")),
    ],
};

/// Point 14.
const RED_END: Point = Point {
    number: 14,
    name: "a red end",
    plays: red_at_the_end,
    effort: "S",
    more: &["--auto"],
    first: &[],
    unit: "verify",
    call: "verify",
    story: &[
        (Says::Retry, Then::Again),
        (REVISE, Then::Again),
        (Says::GiveUp, Then::Fails),
        (Says::Waive { gate: "verify", why: WORDS }, Then::Ends(DONE)),
    ],
};

/// One run of a point, answered in one way.
struct Telling<'a> {
    project: &'a Project,
    point: &'a Point,
    seat: Seat<'a>,
    /// The question that is open.
    question: usize,
}

impl Point {
    /// The words of all answers that it takes.
    pub(crate) fn answers(&self) -> impl Iterator<Item = &'static str> {
        self.story.iter().map(|(says, _)| says.word())
    }

    fn plays(&self, way: Way, story: &[(Says, Then)]) {
        assert_eq!(WORDS.len(), 8 * 1024, "it is long");
        let project = Project::new(&(self.plays)());
        let words = Project::words(self.effort, self.more);
        let about = self.first.first().unwrap_or(&self.unit);
        let seat = Seat::begin(&project, way, &words, about);
        let mut telling = Telling { project: &project, point: self, seat, question: 1 };
        for next in (1..=self.first.len()).map(|n| self.first.get(n).unwrap_or(&self.unit)) {
            telling.answers(Says::Approve);
            telling.asks(next);
        }
        telling.offers(self.story);
        let first = telling.question;
        for (says, then) in story {
            telling.answers(*says);
            match then {
                Then::Again => telling.asks(self.unit),
                Then::Fails => {
                    telling.seat.ends(FAILED);
                    telling.has_failed();
                    if says != &story.last().expect("a story has an end").0 {
                        telling.seat.resume();
                        telling.asks(self.unit);
                    }
                }
                Then::Asks(unit) => {
                    telling.asks(unit);
                    telling.seat.leaves();
                }
                Then::Ends(code) => telling.seat.ends(*code),
            }
            telling.followed(*says);
        }
        let facts = project.world.facts(&telling.seat.run);
        let answered = named(&facts, "answered").len();
        assert_eq!(answered, first - 1 + story.len(), "nobody else has answered");
    }
}

impl Telling<'_> {
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
        let mut answers: Vec<String> =
            story.iter().map(|(says, _)| says.word().to_owned()).collect();
        offered.sort();
        answers.sort();
        assert_eq!(answers, offered, "each answer is given once");
    }

    /// Given up, it failed, and whoever looks sees by whom.
    fn has_failed(&self) {
        let (world, run) = (&self.project.world, &self.seat.run);
        assert_eq!(world.view(run)["standing"], "failed");
        has(&world.story(run).join("\n"), &["rejected by ada", "the run failed"]);
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
                let got = said_to(self.project, run, &format!("{unit}#{first}"));
                assert!(got.ends_with(words), "said {words:?}, and it got {got:?}");
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

/// One run, in which a question is answered in one way.
#[derive(Clone, Copy)]
struct Story {
    point: &'static Point,
    way: Way,
    is_patient: bool,
}

impl Story {
    fn name(&self) -> String {
        let way = match self.way {
            Way::Keys => "by keys",
            Way::Pipes => "by pipes",
            Way::Elsewhere => "from elsewhere",
            Way::Detached => "while detached",
        };
        let often = if self.is_patient { ", revised five times" } else { "" };
        format!("{} {way}{often}", self.point.name)
    }

    /// Every answer once, or a person who says revise so often, is asked as often, and then approves.
    fn tell(&self) {
        if !self.is_patient {
            return self.point.plays(self.way, self.point.story);
        }
        let mut story = vec![(Says::Revise("no, not like this"), Then::Again); PATIENCE];
        story.push(*self.point.story.last().expect("a story has an end"));
        self.point.plays(self.way, &story);
    }
}

/// All stories, those first that a sample takes first: each point once in another way, one patient person, and so on.
fn stories(seed: usize) -> Vec<Story> {
    let mut all = Vec::new();
    for turn in 0..WAYS.len().max(PATIENT.len()) {
        if turn < WAYS.len() {
            all.extend(POINTS.iter().enumerate().map(|(at, point)| Story {
                point,
                way: WAYS[at.wrapping_add(seed).wrapping_add(turn) % WAYS.len()],
                is_patient: false,
            }));
        }
        let (point, way) = PATIENT[seed.wrapping_add(turn) % PATIENT.len()];
        all.push(Story { point, way, is_patient: true });
    }
    all
}

/// A size or a seed; `all` is more than there are.
fn number(name: &str, otherwise: usize) -> usize {
    match std::env::var(name) {
        Ok(text) if text == "all" => usize::MAX,
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => otherwise,
    }
}

#[test]
fn every_question_is_answered_in_every_way_from_everywhere() {
    let wanted = number("FORGE_POINTS_STORIES", POINTS.len() + 1);
    let mut chosen = stories(number("FORGE_POINTS_SEED", 1));
    match std::env::var("FORGE_POINTS_STORY") {
        Ok(name) => chosen.retain(|story| story.name() == name),
        Err(_) => chosen.truncate(wanted),
    }
    assert!(!chosen.is_empty(), "there is such a story");
    let mut failed = Vec::new();
    for story in chosen {
        let name = story.name();
        // Past libtest, which keeps to itself what a test says that passes; and at once, so that it is one line.
        io::stderr().write_all(format!("SAMPLE: {name}\n").as_bytes()).unwrap();
        if catch_unwind(AssertUnwindSafe(|| story.tell())).is_err() {
            failed.push(format!("FORGE_POINTS_STORY=\"{name}\""));
        }
    }
    assert!(failed.is_empty(), "these failed, and can be played alone: {failed:#?}");
}

#[test]
fn every_sample_has_every_point_and_every_way_and_other_seeds_have_other_stories() {
    let mut seen = BTreeSet::new();
    for seed in 0..WAYS.len() * PATIENT.len() {
        let all = stories(seed);
        let names: BTreeSet<String> = all.iter().map(Story::name).collect();
        assert_eq!(names.len(), WAYS.len() * POINTS.len() + PATIENT.len(), "each once");
        assert_eq!(names.len(), all.len());
        let sample = &all[..=POINTS.len()];
        let points: BTreeSet<&str> = sample.iter().map(|story| story.point.name).collect();
        assert_eq!(points.len(), POINTS.len());
        let ways: Vec<Way> = sample[..POINTS.len()].iter().map(|story| story.way).collect();
        assert!(WAYS.iter().all(|way| ways.contains(way)), "{ways:?}");
        assert!(sample[POINTS.len()].is_patient);
        seen.extend(sample.iter().map(Story::name));
    }
    assert_eq!(seen.len(), WAYS.len() * POINTS.len() + PATIENT.len(), "in the end all are played");
}
