//! Kills everybody within the end of a run: between any two steps of its delivery, its summary and its
//! last commit; and takes a run up again that was left with each of them half done.
//!
//! One run is brought to right before its delivery, and kept. Every case begins there, in the same
//! place, so that it takes little time.

use std::{
    fs,
    io::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::Path,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::{
    cases::{Sizes, undisturbed},
    feature::EFFORTS,
    processes::{left_over, signal},
    promises,
    world::{Driver, Tree, Waited, World, tree, until},
};

/// How many worlds there are at a time.
const AT_ONCE: usize = 2;
/// How often a run may be taken up again.
const RESUMES_MAX: u32 = 4;

/// When everybody is killed. If the moment never comes, nobody is.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// A fact of this kind was told that names this unit or mark.
    Recorded(&'static str, &'static str),
    /// There is something at this path below the live folder.
    Shown(&'static str),
    /// There is a ref of this name below those of the run.
    Pinned(&'static str),
    /// The result of the run is another one.
    Moved,
    /// So many more steps have begun.
    Begun(usize),
    /// So many more steps have ended.
    Ended(usize),
}

impl Moment {
    /// Whether it may be over before anybody has seen it.
    fn is_fleeting(self) -> bool {
        matches!(self, Self::Shown(path) if path.strip_suffix(".new").is_some())
    }
}

/// All moments but those of steps, in the order in which they come.
const MOMENTS: &[Moment] = &[
    Moment::Recorded("attempt_started", "deliver#"),
    Moment::Recorded("effect_intended", "deliver@"),
    Moment::Shown("delivery"),
    Moment::Shown("delivery/001/.pull-request.md.new"),
    Moment::Shown("delivery/001/pull-request.md"),
    Moment::Shown("delivery/001/.delivery.json.new"),
    Moment::Shown("delivery/001/delivery.json"),
    Moment::Pinned("delivered"),
    Moment::Recorded("effect_done", "deliver@"),
    Moment::Recorded("attempt_ended", "deliver#"),
    Moment::Recorded("attempt_started", "summary#"),
    Moment::Recorded("attempt_ended", "summary#"),
    Moment::Shown("artifacts/summary.md"),
    Moment::Recorded("attempt_started", "record#"),
    Moment::Moved,
    Moment::Recorded("landed", "record"),
];

/// A run that is about to be delivered, as it lies there.
struct Ready {
    world: World,
    run: String,
    /// The result that it has by then.
    head: String,
    /// How many steps end from there on. The last gate may have gone on before everybody was killed.
    n_steps: usize,
    copy: TempDir,
}

impl Ready {
    /// Runs until the last stage before the delivery, kills everybody, and keeps what is there.
    fn new() -> Self {
        // A process that began when a lost call did may not resume the run: by now this one is older.
        undisturbed(&EFFORTS[0]);
        let world = World::new(&EFFORTS[0]);
        let driver = world.run();
        // The rest takes no longer than to hear of it, so nothing later than this is early enough.
        let begins = |facts: &[Value]| names(facts, "attempt_started", "verify#", "");
        until("the last stage begins", || {
            begins(&driver.hear().expect("it goes on")).then_some(())
        });
        kill_everybody(&world, driver);
        let run = world.standing().unwrap().0;
        assert!(!world.live(&run).join("delivery").exists(), "nothing was delivered yet");
        let head = world.git(&["rev-parse", &format!("refs/forge/{run}/head")]);
        let copy = TempDir::with_prefix("forge-crash-copy-").unwrap();
        copy_folder(&world.folder(), copy.path());
        let before = world.count("ending.json");
        let mut ready = Self { world, run, head, n_steps: 0, copy };
        ready.hold();
        ready.n_steps = ready.world.count("ending.json") - before;
        ready
    }

    /// Everything is as it was before the delivery.
    fn again(&self) {
        for entry in fs::read_dir(self.world.folder()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
        copy_folder(self.copy.path(), &self.world.folder());
    }

    /// Goes on until the run is done, and looks at everything.
    fn hold(&self) {
        for _ in 0..RESUMES_MAX {
            if self.world.standing().unwrap().1 == "done" {
                self.world.json(&["status", &self.run, "--json"]);
                promises::hold(&self.world, &self.run, &undisturbed(&EFFORTS[0]).fruit);
                return;
            }
            let ended = self.world.resume(&self.run).end();
            assert_eq!(ended.code(), Some(0), "{}", self.world.complaints());
        }
        panic!("the run is never done");
    }

    /// Lets the run go on until a moment, and kills everybody. Whether it was delivering by then.
    fn kill_at(&self, moment: Moment) -> bool {
        let (claims, endings) = (self.world.count("claim"), self.world.count("ending.json"));
        let (live, driver) = (self.world.live(&self.run), self.world.resume(&self.run));
        let refs = self.world.top.join(".git/refs/forge").join(&self.run);
        let has_come = match moment {
            Moment::Recorded(kind, what) => loop {
                match driver.hear() {
                    Some(facts) if names(&facts, kind, what, "") => break true,
                    Some(_) => {}
                    None => break false,
                }
            },
            Moment::Shown(path) => happens(&driver, || live.join(path).exists()),
            Moment::Pinned(name) => happens(&driver, || refs.join(name).exists()),
            Moment::Moved => happens(&driver, || {
                fs::read_to_string(refs.join("head")).is_ok_and(|at| at.trim() != self.head)
            }),
            Moment::Begun(n) => {
                let n = n.min(self.n_steps);
                happens(&driver, || self.world.count("claim") >= claims + n)
            }
            Moment::Ended(n) => {
                let n = n.min(self.n_steps);
                happens(&driver, || self.world.count("ending.json") >= endings + n)
            }
        };
        kill_everybody(&self.world, driver);
        assert!(has_come || moment.is_fleeting(), "{moment:?} never came");
        let facts = self.world.facts(&self.run);
        names(&facts, "effect_intended", "deliver@", "")
            && !names(&facts, "effect_done", "deliver@", "")
    }
}

/// Kills everybody at every moment, or at every second one, in two worlds side by side.
pub(crate) fn play_moments(sizes: &Sizes) {
    let (first, began) = (Ready::new(), Instant::now());
    let steps = (1..=first.n_steps).flat_map(|n| [Moment::Begun(n), Moment::Ended(n)]);
    let moments: Vec<Moment> = some_of(sizes, MOMENTS.iter().copied().chain(steps));
    let (next, first) = (Mutex::new(moments.iter()), Mutex::new(Some(first)));
    let n_delivering = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let ready = { first.lock().unwrap().take() }.unwrap_or_else(Ready::new);
                while let Some(moment) = { next.lock().unwrap().next() } {
                    ready.again();
                    let played = catch_unwind(AssertUnwindSafe(|| {
                        let is_delivering = ready.kill_at(*moment);
                        ready.hold();
                        n_delivering.fetch_add(usize::from(is_delivering), Ordering::Relaxed);
                    }));
                    if let Err(panic) = played {
                        eprintln!("killed at {moment:?}: {}", ready.world.complaints());
                        resume_unwind(panic);
                    }
                }
            });
        }
    });
    let written = writeln!(
        io::stderr(),
        "feature ends: seed {}, everybody killed at {} moments, {} times between word and deed of the delivery, {:.1} s",
        sizes.seed,
        moments.len(),
        n_delivering.into_inner(),
        began.elapsed().as_secs_f64(),
    );
    written.unwrap();
}

/// All of them, or every second one; which half is up to the seed.
fn some_of<T>(sizes: &Sizes, all: impl IntoIterator<Item = T>) -> Vec<T> {
    let half = usize::try_from(sizes.seed % 2).unwrap();
    match sizes.n_records {
        None => all.into_iter().collect(),
        Some(_) => all.into_iter().skip(half).step_by(2).collect(),
    }
}

/// What a driver that died while it delivered may have left.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// It only said that it would.
    Nothing,
    /// A folder.
    Folder,
    /// A part of the text, under the name that it has while it is written.
    HalfText,
    /// The whole text.
    Text,
    /// The whole text and a part of the record.
    HalfRecord,
    /// The whole record, which is not pinned and not told.
    Record,
}

/// Leaves a delivery half done in every way there is, and goes on.
pub(crate) fn play_half_done(sizes: &Sizes) {
    let ready = Ready::new();
    ready.hold();
    let place = ready.world.live(&ready.run).join("delivery");
    let whole: Tree = tree(&place);
    let (text, record) =
        (&whole[Path::new("001/pull-request.md")], &whole[Path::new("001/delivery.json")]);
    let all =
        [Left::Nothing, Left::Record, Left::Folder, Left::Text, Left::HalfRecord, Left::HalfText];
    for left in some_of(sizes, all) {
        ready.again();
        // A file in the way of the folder: the delivery is meant, and cannot be made.
        fs::write(&place, "in the way").unwrap();
        let code = ready.world.resume(&ready.run).end().code();
        assert_eq!(code, Some(2), "{left:?}: {}", ready.world.complaints());
        let facts = ready.world.facts(&ready.run);
        assert!(names(&facts, "effect_intended", "deliver@", ""), "{left:?}: it was meant");
        assert!(!names(&facts, "effect_done", "deliver@", ""), "{left:?}: it was not made");
        fs::remove_file(&place).unwrap();
        let files: &[(&str, &[u8])] = match left {
            Left::Nothing | Left::Folder => &[],
            Left::HalfText => &[(".pull-request.md.new", &text[..9])],
            Left::Text => &[("pull-request.md", text)],
            Left::HalfRecord => &[("pull-request.md", text), (".delivery.json.new", &record[..9])],
            Left::Record => &[("pull-request.md", text), ("delivery.json", record)],
        };
        if !matches!(left, Left::Nothing) {
            fs::create_dir_all(place.join("001")).unwrap();
        }
        for (name, content) in files {
            fs::write(place.join("001").join(name), content).unwrap();
        }
        ready.hold();
        if matches!(left, Left::Record) {
            assert!(tree(&place) == whole, "what was made is not made again");
        }
    }
}

/// Puts the result of a run back to before its last commit, as a driver leaves it that dies right after
/// the last record, and checks that a command brings it on.
pub(crate) fn play_result_behind() {
    let ready = Ready::new();
    ready.hold();
    let (world, run) = (&ready.world, &ready.run);
    let last = world.git(&["rev-parse", &format!("forge/{run}")]);
    let live = world.live(run);
    let events = fs::read_to_string(live.join("events.jsonl")).unwrap();
    for name in [format!("refs/forge/{run}/head"), format!("refs/heads/forge/{run}")] {
        world.git(&["update-ref", &name, &format!("{last}~1")]);
    }
    // The last record is shown after the result has followed it.
    let before = events.trim_end().rfind('\n').unwrap() + 1;
    fs::write(live.join("events.jsonl"), &events[..before]).unwrap();
    ready.hold();
    assert_eq!(world.git(&["rev-parse", &format!("forge/{run}")]), last);
}

/// Whether something happens before the driver ends. No pause between two looks: it may be so for a
/// very short time.
fn happens(driver: &Driver, look: impl Fn() -> bool) -> bool {
    while !look() {
        if driver.work(Duration::ZERO) == Waited::Fell {
            return look();
        }
    }
    true
}

/// Whether a fact of a kind is about somebody whose name begins and goes on like this.
fn names(facts: &[Value], kind: &str, begin: &str, middle: &str) -> bool {
    let of = facts.iter().filter_map(|fact| fact.get(kind));
    let mut names =
        of.flat_map(|fact| ["attempt", "judgement", "mark", "unit"].map(|key| &fact[key]));
    names.any(|name| {
        name.as_str().is_some_and(|name| name.starts_with(begin) && name.contains(middle))
    })
}

fn kill_everybody(world: &World, mut driver: Driver) {
    signal(driver.pid(), Signal::KILL);
    driver.end();
    // Who is started by somebody who is about to die is found at the next look.
    until("all are dead", || {
        let left = left_over(&world.folder());
        for (pid, _) in &left {
            signal(*pid, Signal::KILL);
        }
        left.is_empty().then_some(())
    });
}

fn copy_folder(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(from.join(".")).arg(to);
    assert!(copy.status().unwrap().success());
}
