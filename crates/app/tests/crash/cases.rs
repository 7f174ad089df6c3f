//! The cases: when whom to kill, and playing them, two at a time.
//!
//! A run is in the hands of one driver after the other. Where it asks, a person approves, once.
//!
//! A case is known before it is played, so a seed and a name are enough to play it again. Where
//! exactly a blow lands is still up to the machine.

use std::{
    io::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use super::{
    processes::{gits, kept, signal},
    promises::{self, Calls, Fruit},
    world::{Driver, LOOK_EVERY, Script, Waited, World},
};

/// How many worlds there are at a time.
const AT_ONCE: usize = 2;
/// Fewer than the setbacks after which `core` asks a person.
const BLOWS_MAX: u64 = 4;
/// How often a run may be taken up again after the last blow.
const RESUMES_MAX: u32 = 8;
/// The exit code of a driver whose run waits for a person.
const WAITS: i32 = 3;
/// The exit code of a driver that was asked to end.
const INTERRUPTED: i32 = 130;
/// What `forge answer` takes at most when it is killed on the way.
const ANSWER_TIME: Duration = Duration::from_millis(60);
/// A family that fails this often need not go on.
const FAILURES_MAX: usize = 5;
/// How long a victim is waited for after the moment has come.
const AIM_TIME_MAX: Duration = Duration::from_millis(150);

/// How much is tried.
pub(crate) struct Sizes {
    /// Kills at random moments.
    pub(crate) n_kills: u32,
    /// Records after which to kill; nothing means all.
    pub(crate) n_records: Option<usize>,
    pub(crate) seed: u64,
    /// Only this case.
    pub(crate) only: Option<String>,
}

impl Sizes {
    /// Of the family whose variables begin like this.
    pub(crate) fn from_environment(family: &str, otherwise: u64) -> Self {
        let number = |name: &str, otherwise: u64| match std::env::var(name) {
            Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")),
            Err(_) => otherwise,
        };
        let (kills, records) = (&*format!("{family}_KILLS"), &*format!("{family}_RECORDS"));
        let is_all = std::env::var(records).is_ok_and(|text| text == "all");
        Self {
            n_kills: u32::try_from(number(kills, otherwise)).unwrap(),
            n_records: if is_all {
                None
            } else {
                Some(usize::try_from(number(records, otherwise)).unwrap())
            },
            seed: number("FORGE_CRASH_SEED", 1),
            only: std::env::var("FORGE_CRASH_CASE").ok(),
        }
    }

    /// One from each of as many equal parts of all records of a run as are wanted.
    pub(crate) fn records_of(&self, script: &'static Script) -> Vec<Case> {
        let all = undisturbed(script).n_records;
        self.sample(self.n_records, all).map(|n| Case::after_record(script, n)).collect()
    }

    /// The same for all agents of a run. Half as many.
    pub(crate) fn agents_of(&self, script: &'static Script) -> Vec<Case> {
        let (all, wanted) = (undisturbed(script).n_starts, self.n_records.map(|n| n.div_ceil(2)));
        self.sample(wanted, all).map(|n| Case::at_work(script, n)).collect()
    }

    /// Numbers from one to `all`: one from each of as many equal parts as are wanted, which is up to the seed.
    pub(crate) fn sample(
        &self,
        wanted: Option<usize>,
        all: usize,
    ) -> impl Iterator<Item = usize> + use<> {
        let n = wanted.filter(|_| self.only.is_none()).unwrap_or(all).min(all);
        let mut chance = Chance(self.seed);
        (0..n).map(move |part| {
            let (before, end) = (part * all / n, (part + 1) * all / n);
            let wide = u64::try_from(end - before).unwrap();
            before + 1 + usize::try_from(chance.below(wide)).unwrap()
        })
    }
}

/// Who is hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    Driver,
    Keepers,
    /// Everybody below one keeper, other than that of a check.
    Agent,
    /// One git, of the driver or of a step.
    Git,
    /// Everybody below the keeper of one check.
    Check,
    DriverAndKeepers,
    DriverAndAgent,
    Everybody,
}

/// When a blow falls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment {
    /// As soon as so many records were told of.
    AfterRecord(usize),
    /// As soon as so many agents and commands have begun.
    AtWork(usize),
    /// So long after the run was begun, or the last blow, on a machine that has nothing else to do.
    After(Duration),
}

/// One thing that happens to a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blow {
    pub(crate) moment: Moment,
    pub(crate) victim: Victim,
    /// Whoever is not killed ends as they do then.
    pub(crate) signal: Signal,
}

impl Blow {
    fn kill(moment: Moment, victim: Victim) -> Self {
        Self { moment, victim, signal: Signal::KILL }
    }
}

/// What is done to one run.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) script: &'static Script,
    pub(crate) blows: Vec<Blow>,
    /// The first try of every answer is killed so long after it was begun.
    pub(crate) answer_blow: Option<Duration>,
}

impl Case {
    /// Victims take turns.
    fn after_record(script: &'static Script, record: usize) -> Self {
        let turns =
            [Victim::Driver, Victim::DriverAndKeepers, Victim::DriverAndAgent, Victim::Everybody];
        let blow = Blow::kill(Moment::AfterRecord(record), turns[record % turns.len()]);
        let name = named(script, &format!("record {record}"));
        Self { name, script, blows: vec![blow], answer_blow: None }
    }

    /// Victims take turns: those without whom nobody knows what became of an agent, and the agent.
    fn at_work(script: &'static Script, start: usize) -> Self {
        let turns = [
            Victim::Keepers,
            Victim::Everybody,
            Victim::Agent,
            Victim::DriverAndKeepers,
            Victim::DriverAndAgent,
        ];
        let blow = Blow::kill(Moment::AtWork(start), turns[start % turns.len()]);
        let name = named(script, &format!("agent {start}"));
        Self { name, script, blows: vec![blow], answer_blow: None }
    }

    /// One to a few blows, anywhere in a run.
    pub(crate) fn at_random(script: &'static Script, seed: u64, number: u64) -> Self {
        let mut chance = Chance(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let n = match chance.below(5) {
            0 | 1 => 1,
            _ => 1 + chance.below(BLOWS_MAX),
        };
        let n = u32::try_from(n).unwrap();
        let mut blows: Vec<Blow> = Vec::new();
        for _ in 0..n {
            let hit = |victim| blows.iter().filter(|blow: &&Blow| blow.victim == victim).count();
            let victim = match chance.below(6) {
                0 => Victim::Driver,
                1 => Victim::Keepers,
                2 if hit(Victim::Agent) < script.agent_blows_max => Victim::Agent,
                // The second time in a row a person is asked about it.
                3 if hit(Victim::Check) == 0 => Victim::Check,
                4 => Victim::Git,
                _ => Victim::Everybody,
            };
            blows.push(Blow::kill(Moment::After(chance.delay(script.time / n)), victim));
        }
        let answer_blow = (chance.below(2) == 0).then(|| chance.delay(ANSWER_TIME));
        Self { name: named(script, &format!("random {number}")), script, blows, answer_blow }
    }
}

/// How a case is called.
pub(crate) fn named(script: &Script, case: &str) -> String {
    format!("{} {case}", script.name).trim_start().to_owned()
}

/// What an undisturbed run is like.
pub(crate) struct Undisturbed {
    pub(crate) fruit: Fruit,
    pub(crate) n_records: usize,
    /// How many agents and commands were started.
    n_starts: usize,
    /// How much longer it takes here and now than on a machine that has nothing else to do.
    slowness: f64,
}

/// Plays without any blow, once for all tests.
pub(crate) fn undisturbed(script: &'static Script) -> Arc<Undisturbed> {
    static PLAYED: Mutex<Vec<(&str, Arc<Undisturbed>)>> = Mutex::new(Vec::new());
    let mut played = PLAYED.lock().unwrap();
    if let Some((_, found)) = played.iter().find(|(name, _)| *name == script.name) {
        return Arc::clone(found);
    }
    let new = Arc::new(play_undisturbed(script));
    played.push((script.name, Arc::clone(&new)));
    new
}

fn play_undisturbed(script: &'static Script) -> Undisturbed {
    let world = World::new(script);
    let (began, mut figures, mut n_records) = (Instant::now(), Figures::default(), 0);
    let mut driver = Some(world.run());
    while let Some(mut now) = driver {
        while now.hear().is_some() {
            n_records += 1;
        }
        driver = next_after(&world, &mut now, None, &mut figures);
    }
    let took = began.elapsed().as_secs_f64();
    let slowness = (took / script.time.as_secs_f64()).max(1.0);
    let written = writeln!(
        io::stderr(),
        "{}: {n_records} records, {took:.2} s undisturbed",
        named(script, script.flow)
    );
    written.unwrap();
    let (run, standing) = world.standing().unwrap();
    assert_eq!(standing, "done");
    assert_eq!(figures.answers, u32::try_from(script.checkpoints.len()).unwrap());
    let fruit = Fruit::of(&world, &run);
    assert!(fruit.is_ripe(script), "{fruit:?}");
    let calls = promises::hold(&world, &run, &fruit);
    assert_eq!(calls.lost, 0);
    Undisturbed { fruit, n_records, n_starts: world.starts().len(), slowness }
}

/// What a family of cases came to.
#[derive(Clone, Copy, Default)]
struct Figures {
    cases: u32,
    /// Moments at which somebody was killed.
    kills: u32,
    /// Processes that were killed.
    victims: u32,
    /// Gits that were killed alone.
    gits: u32,
    /// Drivers that were asked and ended as interrupted.
    interrupts: u32,
    resumes: u32,
    /// Questions that a person answered.
    answers: u32,
    calls: Calls,
}

impl Figures {
    fn add(&mut self, other: Figures) {
        self.cases += 1;
        self.kills += other.kills;
        self.victims += other.victims;
        self.gits += other.gits;
        self.interrupts += other.interrupts;
        self.resumes += other.resumes;
        self.answers += other.answers;
        self.calls.ended += other.calls.ended;
        self.calls.lost += other.calls.lost;
        self.calls.lost_at_work += other.calls.lost_at_work;
    }
}

/// Plays cases until enough was killed, and says what they came to. Gives how many drivers were interrupted.
pub(crate) fn play(
    family: &str,
    sizes: &Sizes,
    enough: u32,
    cases: impl Iterator<Item = Case> + Send,
) -> u32 {
    let wanted = |case: &Case| sizes.only.as_ref().is_none_or(|only| *only == case.name);
    let (cases, began) = (Mutex::new(cases.filter(wanted)), Instant::now());
    let (figures, failed) = (Mutex::new(Figures::default()), Mutex::new(Vec::new()));
    let goes_on =
        || figures.lock().unwrap().kills < enough && failed.lock().unwrap().len() < FAILURES_MAX;
    let next = || cases.lock().unwrap().next().filter(|_| goes_on());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = next() {
                    match play_one(&case) {
                        Ok(more) => figures.lock().unwrap().add(more),
                        Err(why) => {
                            let (seed, name) = (sizes.seed, &case.name);
                            eprintln!("FORGE_CRASH_SEED={seed} FORGE_CRASH_CASE=\"{name}\": {why}");
                            failed.lock().unwrap().push(case.name);
                        }
                    }
                }
            });
        }
    });
    let Figures { cases, kills, victims, gits, interrupts, resumes, answers, calls } =
        figures.into_inner().unwrap();
    let failed = failed.into_inner().unwrap();
    // Past the test's own capture, so that it is always seen.
    let written = writeln!(
        io::stderr(),
        "{family}: seed {}, {cases} cases, {kills} kills ({victims} processes, {gits} gits alone), {interrupts} interrupts, {resumes} resumes, {answers} answers, \
         {} calls ended, {} lost ({} of them at work), {} cases failed, {:.1} s",
        sizes.seed,
        calls.ended,
        calls.lost,
        calls.lost_at_work,
        failed.len(),
        began.elapsed().as_secs_f64(),
    );
    written.unwrap();
    assert!(failed.is_empty(), "these failed: {failed:?}");
    interrupts
}

/// Plays one case. A failure keeps its world, and says where it is.
fn play_one(case: &Case) -> Result<Figures, String> {
    let undisturbed = undisturbed(case.script);
    let world = World::new(case.script);
    let played = catch_unwind(AssertUnwindSafe(|| {
        let mut figures = Figures::default();
        strike(&world, case, &mut figures);
        let run = finish(&world, case, &mut figures);
        figures.calls = promises::hold(&world, &run, &undisturbed.fruit);
        figures
    }));
    played.map_err(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        let (log, complaints) = (world.forge(&["log", "-vv"]), world.complaints());
        format!(
            "{}\n{:?}\n--- stderr\n{complaints}--- log\n{}--- kept in {}",
            words.unwrap_or_default(),
            case.blows,
            String::from_utf8_lossy(&log.stdout),
            world.keep().display(),
        )
    })
}

/// Strikes all blows, as long as there is something to hit.
fn strike(world: &World, case: &Case, figures: &mut Figures) {
    let mut driver = Some(world.run());
    for blow in &case.blows {
        let now = match driver.take() {
            Some(driver) => Some(driver),
            None => go_on(world, case.answer_blow, figures),
        };
        let Some(now) = now.and_then(|now| wait(world, now, blow.moment, case, figures)) else {
            return;
        };
        let (victims, driver_is_hit) = hit(world, &now, *blow);
        figures.kills += victims.min(1);
        figures.victims += victims;
        figures.gits += if blow.victim == Victim::Git { victims } else { 0 };
        if driver_is_hit && blow.signal == Signal::KILL {
            // Nobody goes on before it is dead for certain: only then its lock is free.
            { now }.end();
        } else if driver_is_hit {
            ends_by_its_rules(world, now, figures);
        } else {
            driver = Some(now);
        }
    }
    while let Some(mut now) = driver {
        driver = next_after(world, &mut now, case.answer_blow, figures);
    }
}

/// A driver that was asked to end says so and leaves nobody at work, unless its run stopped just then by itself.
fn ends_by_its_rules(world: &World, mut driver: Driver, figures: &mut Figures) {
    let code = driver.end().code();
    let standing = world.standing().expect("it has begun").1;
    let wanted = match code {
        Some(INTERRUPTED) => "interrupted",
        Some(WAITS) => "waiting",
        Some(0) => "done",
        Some(_) | None => panic!("the driver ended with {code:?}: {}", world.complaints()),
    };
    assert_eq!(standing, wanted, "the driver ended with {code:?}: {}", world.complaints());
    let kept = kept(&world.folder());
    assert!(kept.is_empty(), "the driver has ended, and these have not: {kept:?}");
    figures.interrupts += u32::from(code == Some(INTERRUPTED));
}

/// Waits for a moment, and gives the driver that is in charge then. Nobody if the run is done before.
fn wait(
    world: &World,
    mut driver: Driver,
    moment: Moment,
    case: &Case,
    figures: &mut Figures,
) -> Option<Driver> {
    let slowness = undisturbed(world.script).slowness;
    let (mut n_records, began) = (0, Instant::now());
    loop {
        let waited = match moment {
            Moment::AfterRecord(record) => loop {
                if n_records == record {
                    break Waited::GoesOn;
                }
                if driver.hear().is_none() {
                    break Waited::Fell;
                }
                n_records += 1;
            },
            Moment::AtWork(start) => loop {
                if world.starts().len() >= start {
                    break Waited::GoesOn;
                }
                if driver.work(LOOK_EVERY) == Waited::Fell {
                    break Waited::Fell;
                }
            },
            Moment::After(time) => {
                driver.work(time.mul_f64(slowness).saturating_sub(began.elapsed()))
            }
        };
        match waited {
            Waited::GoesOn => return Some(driver),
            Waited::Fell => driver = next_after(world, &mut driver, case.answer_blow, figures)?,
        }
    }
}

/// The driver after one that ends by itself: one more if a person had to answer first.
fn next_after(
    world: &World,
    driver: &mut Driver,
    answer_blow: Option<Duration>,
    figures: &mut Figures,
) -> Option<Driver> {
    let code = driver.end().code();
    let is_asked = !world.script.checkpoints.is_empty() && code == Some(WAITS);
    // Where a git of its own dies it may stop, and says why.
    let lost_git = figures.gits > 0 && code == Some(1);
    assert!(
        is_asked || lost_git || code == Some(0),
        "the driver gave up with {code:?}: {}",
        world.complaints()
    );
    if code == Some(0) { None } else { go_on(world, answer_blow, figures) }
}

/// Hits. Says how many, and whether the driver is among them.
fn hit(world: &World, driver: &Driver, blow: Blow) -> (u32, bool) {
    let (with_driver, keepers, agents) = match blow.victim {
        Victim::Driver => (true, false, false),
        Victim::Keepers => (false, true, false),
        Victim::Agent | Victim::Check => (false, false, true),
        Victim::Git => (false, false, false),
        Victim::DriverAndKeepers => (true, true, false),
        Victim::DriverAndAgent => (true, false, true),
        Victim::Everybody => (true, true, true),
    };
    let end = Instant::now() + AIM_TIME_MAX;
    let mut victims = Vec::new();
    while blow.victim == Victim::Git && victims.is_empty() && Instant::now() < end {
        victims.extend(gits(&world.folder()).into_iter().take(1));
    }
    while (keepers || agents) && victims.is_empty() && Instant::now() < end {
        let mut kept = kept(&world.folder());
        // Two dead checks of one gate are for a person: those who hit agents leave them alone.
        kept.retain(|kept| match blow.victim {
            Victim::Check => kept.is_check(),
            Victim::Agent => !kept.is_check(),
            Victim::Driver
            | Victim::Keepers
            | Victim::Git
            | Victim::DriverAndKeepers
            | Victim::DriverAndAgent
            | Victim::Everybody => true,
        });
        if keepers {
            victims.extend(kept.iter().map(|kept| kept.keeper));
        }
        if agents {
            let busy = kept.iter().filter(|kept| !kept.agents.is_empty());
            let n = if blow.victim == Victim::Everybody { usize::MAX } else { 1 };
            victims.extend(busy.take(n).flat_map(|kept| &kept.agents));
        }
    }
    if with_driver {
        victims.insert(0, driver.pid());
    }
    let hit = victims.iter().filter(|pid| signal(**pid, blow.signal)).count();
    (u32::try_from(hit).unwrap(), with_driver)
}

/// Starts the next driver, if there is anything left to do.
fn go_on(world: &World, answer_blow: Option<Duration>, figures: &mut Figures) -> Option<Driver> {
    let (run, mut standing) = match world.standing() {
        // It was killed before its first record: it never happened.
        None => return Some(world.run()),
        Some((_, standing)) if standing == "done" => return None,
        Some(found) => found,
    };
    if standing == "waiting" {
        answer(world, &run, answer_blow, figures);
        standing = world.standing().unwrap().1;
    }
    let goes_on = standing == "going" || (standing == "interrupted" && figures.interrupts > 0);
    assert!(goes_on, "{run} is {standing} and needs somebody: {}", world.complaints());
    figures.resumes += 1;
    Some(world.resume(&run))
}

/// A person approves at a checkpoint. Whoever says the same again is told that it was said.
fn answer(world: &World, run: &str, blow: Option<Duration>, figures: &mut Figures) {
    let view = world.json(&["status", run, "--json"]);
    let [asked] = view["asked"].as_array().unwrap().as_slice() else {
        panic!("one checkpoint asks at a time: {view:#}");
    };
    let about = (asked["unit"].as_str().unwrap(), asked["gate"].as_str().unwrap_or_default());
    assert!(world.script.checkpoints.contains(&about), "nobody is to be asked this: {asked:#}");
    let question = asked["question"].as_str().unwrap();
    let approve = ["answer", run, question, "approve"];
    if let Some(blow) = blow {
        world.forge_killed(&approve, blow);
        figures.kills += 1;
        figures.victims += 1;
    }
    if world.standing().unwrap().1 == "waiting" {
        let said = world.forge(&approve);
        assert!(said.status.success(), "{said:?}");
    }
    let again = world.forge(&approve);
    assert!(!again.status.success(), "{question} was answered twice: {again:?}");
    figures.answers += 1;
}

/// Resumes until the run is done, and says which it is.
fn finish(world: &World, case: &Case, figures: &mut Figures) -> String {
    for _ in 0..RESUMES_MAX {
        let Some(mut driver) = go_on(world, case.answer_blow, figures) else {
            let run = world.standing().expect("it is done").0;
            // Killed after the last record, before the files showed it: any command catches up.
            world.json(&["status", &run, "--json"]);
            return run;
        };
        let code = driver.end().code();
        let is_asked = !world.script.checkpoints.is_empty() && code == Some(WAITS);
        assert!(is_asked || code == Some(0), "nobody disturbs it now: {}", world.complaints());
    }
    panic!("the run is never done");
}

/// Numbers that are the same for the same seed (splitmix64).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Anywhere in the run, or, as often, close to its beginning: from a microsecond on.
    fn delay(&mut self, took: Duration) -> Duration {
        let took = u64::try_from(took.as_micros()).unwrap().max(2);
        let reach = match self.below(2) {
            0 => took,
            _ => (took >> self.below(16)).max(2),
        };
        Duration::from_micros(1 + self.below(reach))
    }
}
