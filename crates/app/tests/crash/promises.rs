//! What must hold after every case, whatever was killed and when.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use forge_store::journal::{GENESIS, JournalRecord};
use serde_json::Value;

use super::{
    processes::left_over,
    world::{Script, Tree, World, tree},
};

/// By then, whoever is to go is gone.
const LEAVING_TIME_MAX: Duration = Duration::from_secs(10);

/// What shows a run that is over, beside its artifacts.
const SHOWN: [&str; 3] = ["events.jsonl", "state.json", "summary.md"];

/// What a run leaves for people.
#[derive(PartialEq, Eq)]
pub(crate) struct Fruit {
    artifacts: Tree,
    /// What landed on the run's branch: files, and the names of their contents.
    landed: Tree,
    /// How it came about, as far as that must always be the same.
    course: BTreeMap<String, Value>,
}

/// How many calls came to what.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    /// They have an ending.
    pub(crate) ended: u32,
    /// Their keeper was killed, so that nobody knows what came of them.
    pub(crate) lost: u32,
    /// Those of them whose agent had begun.
    pub(crate) lost_at_work: u32,
}

impl Fruit {
    /// What lies there now.
    pub(crate) fn of(world: &World, run: &str) -> Self {
        let mut artifacts = tree(&world.live(run).join("artifacts"));
        let mut landed = landed(world, run);
        // These tell times and tries.
        artifacts.retain(|path, _| path != Path::new("summary.md"));
        for name in SHOWN {
            if let Some(content) = landed.get_mut(&Path::new(".forge/runs/RUN").join(name)) {
                content.clear();
            }
        }
        Self { artifacts, landed, course: (world.script.course)(world, run) }
    }

    /// Whether there is anything of each kind.
    pub(crate) fn is_ripe(&self, script: &Script) -> bool {
        !self.artifacts.is_empty() && self.landed.contains_key(Path::new(script.proof))
    }
}

/// The files on the run's branch and the names of their contents. The run is called RUN.
fn landed(world: &World, run: &str) -> Tree {
    let listed = world.git(&["ls-tree", "-r", "--full-tree", &format!("forge/{run}")]);
    let files = listed.lines().map(|line| {
        let (object, path) = line.split_once('\t').expect("a path follows a tab");
        (PathBuf::from(path.replace(run, "RUN")), object.as_bytes().to_owned())
    });
    files.collect()
}

impl fmt::Debug for Fruit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [("artifacts", &self.artifacts), ("landed", &self.landed)];
        let all = all.into_iter().flat_map(|(place, tree)| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            tree.iter().map(move |(path, bytes)| (Path::new(place).join(path), text(bytes)))
        });
        f.debug_map().entries(all).entries(&self.course).finish()
    }
}

/// Checks everything in a world whose run is done.
pub(crate) fn hold(world: &World, run: &str, expected: &Fruit) -> Calls {
    let fruit = Fruit::of(world, run);
    assert!(fruit == *expected, "the run made {fruit:#?}\ninstead of {expected:#?}");
    let calls = nothing_finished_was_redone(world, run);
    every_item_landed_once(world, run);
    the_users_checkout_is_as_it_was(world);
    nobody_is_left(world, run);
    doctor_is_content(world);
    chain_is_whole(world, run);
    projections_can_be_made_again(world, run);
    calls
}

/// Every call was started at most once, and what is known of it is in the journal.
fn nothing_finished_was_redone(world: &World, run: &str) -> Calls {
    let mut starts: BTreeMap<String, u32> = BTreeMap::new();
    for call in world.starts() {
        *starts.entry(call).or_default() += 1;
    }
    let ended = endings(&world.attempts(run));
    let facts = world.facts(run);
    let lost = lost(&facts);
    for (call, how) in &ended {
        let n = starts.get(call).copied().unwrap_or(0);
        let has_run = how["kind"] == "exited";
        assert!(n == 1 || (n == 0 && !has_run), "{call} ended ({how}) and was started {n} times");
        assert!(!lost.contains(call), "{call} has an ending, and was taken for lost");
    }
    for (call, n) in &starts {
        assert_eq!(*n, 1, "{call} was started {n} times");
        let is_known = ended.contains_key(call) || lost.contains(call);
        assert!(is_known, "{call} was started, and nobody knows what came of it");
    }
    every_call_came_to_an_end(&facts);
    let n = |n: usize| u32::try_from(n).unwrap();
    let at_work = lost.iter().filter(|call| starts.contains_key(*call)).count();
    Calls { ended: n(ended.len()), lost: n(lost.len()), lost_at_work: n(at_work) }
}

/// Each item has one fact of its landing, and the branch is where the last of them says.
fn every_item_landed_once(world: &World, run: &str) {
    let facts = world.facts(run);
    let landed: Vec<&Value> = facts.iter().filter_map(|fact| fact.get("landed")).collect();
    let mut units: Vec<&str> = landed.iter().map(|fact| fact["unit"].as_str().unwrap()).collect();
    units.sort_unstable();
    assert_eq!(units, world.script.landings, "{landed:?}");
    let head = landed.last().unwrap()["head"].as_str().unwrap();
    for name in [format!("refs/forge/{run}/head"), format!("refs/heads/forge/{run}")] {
        assert_eq!(world.git(&["rev-parse", &name]), head, "{name}");
    }
}

fn the_users_checkout_is_as_it_was(world: &World) {
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), "1");
    world.git(&["fsck", "--strict", "--no-dangling"]);
}

/// How the calls with an ending ended.
fn endings(attempts: &Path) -> BTreeMap<String, Value> {
    let read = |path: PathBuf| {
        let text = fs::read(&path).ok()?;
        let ending = serde_json::from_slice::<Value>(&text);
        Some(ending.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    };
    // Of a keeper that was killed before it gave the ending its name.
    let unnamed = |folder: &PathBuf| {
        let text = fs::read(folder.join("ending.tmp")).ok()?;
        let ending = serde_json::from_slice::<Value>(&text).ok()?;
        ending["signature"].is_string().then_some(ending)
    };
    let folders = folders(attempts);
    let ending = |folder: &PathBuf| read(folder.join("ending.json")).or_else(|| unnamed(folder));
    let endings: Vec<Value> = folders.iter().filter_map(ending).collect();
    let calls = endings.iter().map(|ending| {
        let call = ending["call"].as_str().unwrap().to_owned();
        assert!(!call.is_empty(), "an ending names its call");
        (call, ending["how"].clone())
    });
    let calls: BTreeMap<String, Value> = calls.collect();
    assert_eq!(calls.len(), endings.len(), "no call has two folders");
    calls
}

fn folders(attempts: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(attempts).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

fn lost(facts: &[Value]) -> BTreeSet<String> {
    let lost = facts.iter().filter_map(|fact| {
        let (attempt, judged) = (&fact["attempt_ended"], &fact["judged"]);
        match (attempt["outcome"].as_str(), judged["ruling"].as_str()) {
            (Some("lost"), _) => attempt["attempt"].as_str(),
            (_, Some("lost")) => judged["judgement"].as_str(),
            _ => None,
        }
    });
    lost.map(str::to_owned).collect()
}

/// In the journal, whatever was started ended once, and nothing ended that was not started.
fn every_call_came_to_an_end(facts: &[Value]) {
    let of = |kind: &str, name: &str| -> Vec<String> {
        let named = facts.iter().filter_map(|fact| fact[kind][name].as_str());
        named.map(str::to_owned).collect()
    };
    for (begin, end, name) in [
        ("attempt_started", "attempt_ended", "attempt"),
        ("judgement_started", "judged", "judgement"),
    ] {
        let (mut began, mut ended) = (of(begin, name), of(end, name));
        began.sort();
        ended.sort();
        assert_eq!(began, ended, "{begin} and {end} do not fit together");
        began.dedup();
        assert_eq!(began.len(), ended.len(), "a number was used twice: {ended:?}");
    }
}

/// No process, no lock.
fn nobody_is_left(world: &World, run: &str) {
    // A keeper that came too late for its claim may need a moment to go.
    let end = Instant::now() + LEAVING_TIME_MAX;
    let folder = world.folder();
    let mut left = left_over(&folder);
    while !left.is_empty() {
        assert!(Instant::now() < end, "these are left: {left:?}");
        left = left_over(&folder);
    }
    let calls = folders(&world.attempts(run));
    let steps = calls.iter().map(|call| call.join("steps")).filter(|steps| steps.is_dir());
    let steps: Vec<PathBuf> = steps.flat_map(|steps| folders(&steps)).collect();
    let mut locks = vec![world.live(run).join("lock")];
    locks.extend(calls.iter().chain(&steps).map(|folder| folder.join("claim")));
    for path in locks.iter().filter(|path| path.exists()) {
        let lock = File::open(path).unwrap().try_lock();
        assert!(lock.is_ok(), "{} is locked: {lock:?}", path.display());
    }
}

/// Nothing is to be mended. That checkouts are kept is worth knowing, and no more.
fn doctor_is_content(world: &World) {
    let findings = world.json(&["doctor", "--json"]);
    for finding in findings.as_array().unwrap() {
        let known = ["left checkouts", "no usable agent", "stay unverified", "no checks"];
        let is_known = known.iter().any(|known| finding["what"].as_str().unwrap().contains(known));
        assert!(finding["health"] == "good" || is_known, "{finding}");
    }
}

/// `events.jsonl` is the journal, whole, each record tied to the one before.
fn chain_is_whole(world: &World, run: &str) {
    let text = fs::read_to_string(world.live(run).join("events.jsonl")).unwrap();
    let (mut head, mut facts) = (GENESIS.to_owned(), Vec::new());
    for (n, line) in text.lines().enumerate() {
        let record = JournalRecord::from_line(line).expect("every line is whole");
        assert_eq!(record.seq, n as u64 + 1);
        assert!(record.follows(&head, run), "record {} is tied to the one before", record.seq);
        head = record.sum;
        facts.extend(serde_json::from_str::<Vec<Value>>(&record.body).unwrap());
    }
    assert_eq!(facts, world.facts(run), "events.jsonl is what the journal says");
}

/// Throwing all projections away loses nothing.
fn projections_can_be_made_again(world: &World, run: &str) {
    let live = world.live(run);
    let before = projections(world, run);
    for name in SHOWN {
        fs::remove_file(live.join(name)).unwrap();
    }
    fs::remove_dir_all(live.join("artifacts")).unwrap();
    let rebuilt = world.forge(&["doctor", "--rebuild"]);
    assert!(rebuilt.status.success(), "{rebuilt:?}");
    let after = projections(world, run);
    assert!(before == after, "the projections are not the same bytes when made again");
}

/// All that shows a run, but who drove it last and what people were told of it.
pub(crate) fn projections(world: &World, run: &str) -> Tree {
    let mut files = tree(&world.live(run));
    let others = ["lock", "notified", ".notified.new"].map(Path::new);
    files.retain(|path, _| !others.contains(&path.as_path()));
    let own = files.keys().filter(|path| path.components().count() == 1);
    let own: Vec<&PathBuf> = own.collect();
    assert_eq!(own, SHOWN.map(Path::new), "nothing is left lying");
    files
}
