//! Random repositories, random operations on random checkouts, agents that edit and ruin, a person who
//! goes on working, and sometimes an operation twice, as after a crash.
//!
//! What must hold: of the user's nothing changes but what the person did; every commit that we ever
//! gave is there after `git gc --prune=now`; a commit has what was in the tree, and a tree what is in
//! its commit.
//!
//! ```text
//! FORGE_STATES=1000 cargo test -p forge-workspace --test states -- --nocapture
//! FORGE_STATES_SEED=17 FORGE_STATES=1     one case alone, as a failure names it
//! ```

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod world;

#[path = "states/chance.rs"]
mod chance;
#[path = "states/person.rs"]
mod person;

use std::{
    collections::BTreeMap,
    fs,
    num::NonZero,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    panic,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Instant,
};

use forge_workspace::{
    BranchUpdate, CachesAfter, FileAccess, FilesPolicy, MergeCommits, MergeResult, MoveRunHead,
    RestoreFiles, RunHeadUpdate, RunHooks, decode_path, encode_path,
};

use chance::Chance;
use person::{Kind, NAMES};
use world::{
    WHEN_MS, World, committed, git, hooked, merged, moved, opened, restored, shell, try_git, write,
};

/// How many cases for every change.
const CASES_DEFAULT: u64 = 25;
const SEED_DEFAULT: u64 = 1;
/// The longest schedule.
const STEPS_MAX: usize = 12;
/// How many checkouts at most.
const BENCHES_MAX: usize = 3;

/// What agents do besides editing. None of it makes files that `.gitignore` hides.
const RAMPAGES: &[&str] = &[
    "git add -A; git commit -qm own",
    "git stash -q; git checkout -q --detach",
    "rm -rf .git",
    "rm -rf .git; ln -s $USER_GIT .git",
    "git config core.worktree $USER_GIT; git config core.bare true",
    "git config filter.x.clean false; git config core.autocrlf true",
    "git update-index --assume-unchanged a.txt",
    "git init -q nested; touch nested/n",
    "rm -rf src; ln -s $USER_GIT src",
    "git gc -q --prune=now",
    "echo ruined > .git/index; touch .git/HEAD.lock",
    "mkdir -p ro; touch ro/x; chmod 500 ro",
    "touch -d 2001-01-01 a.txt; chmod +x a.txt",
    "rm -f a.txt; mkdir a.txt; touch a.txt/x",
    "rm -rf lib",
];

#[test]
fn whatever_happens_the_user_loses_nothing_and_commits_are_what_was_in_the_tree() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
    };
    let seed = number("FORGE_STATES_SEED", SEED_DEFAULT);
    let cases = number("FORGE_STATES", CASES_DEFAULT);
    let began = Instant::now();
    let next = AtomicU64::new(seed);
    thread::scope(|scope| {
        let work = || loop {
            let own = next.fetch_add(1, Ordering::Relaxed);
            if own >= seed + cases {
                break;
            }
            if let Err(why) = panic::catch_unwind(|| Case::new(own).run()) {
                eprintln!("again with FORGE_STATES_SEED={own} FORGE_STATES=1");
                panic::resume_unwind(why);
            }
        };
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let each = began.elapsed() / u32::try_from(cases.max(1)).unwrap();
    eprintln!("{cases} cases from seed {seed}, {each:.0?} each");
}

/// One random story.
struct Case {
    chance: Chance,
    world: World,
    common_dir: PathBuf,
    kind: Kind,
    /// Everything of the user's after the last thing that the person did.
    user: BTreeMap<String, String>,
    /// Benches by number; where each was opened, if it was.
    locations: Vec<Option<String>>,
    /// Every commit that we know of.
    commits: Vec<String>,
    /// Where the head of the run stands.
    head: Option<String>,
    pins: usize,
    log: Vec<String>,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let (world, kind) = person::born(&mut chance);
        let commits = vec![world.head()];
        let n_checkouts = 1 + chance.below(BENCHES_MAX);
        let mut case = Self {
            chance,
            common_dir: world.repository().common_dir,
            world,
            kind,
            user: BTreeMap::new(),
            locations: vec![None; n_checkouts],
            commits,
            head: None,
            pins: 0,
            log: vec![format!("seed {seed}, {kind:?}")],
        };
        // The person's commits may be thrown away by the person; ours are kept.
        case.world.repository().pin("refs/forge/base", &case.commits[0]).unwrap();
        case.user = case.users();
        case
    }

    fn run(mut self) {
        let steps = 4 + self.chance.below(STEPS_MAX - 3);
        for _ in 0..steps {
            let number = self.chance.below(self.locations.len());
            match self.chance.below(10) {
                0 => self.person(),
                1 => self.merge(),
                2 => self.move_head(),
                // The hooks of a first commit of all would begin a history of their own.
                3 if self.locations[number].is_some() && self.has_own_commits() => {
                    self.hooks(number);
                }
                4 if self.locations[number].is_some() => self.restore(number),
                5..=7 if self.locations[number].is_some() => self.commit(number),
                _ => self.open(number),
            }
            self.check_user();
        }
        git(&self.common_dir.clone(), &["gc", "-q", "--prune=now"]);
        for commit in &self.commits {
            let listed = try_git(&self.world.root, &["rev-list", "-n1", "--objects", commit]);
            assert!(listed.status.success(), "{commit} is lost: {}", self.story());
        }
    }

    fn person(&mut self) {
        self.tell("the person acts");
        person::act(&self.world, self.kind, &mut self.chance);
        if self.chance.once_in(3) {
            drop(try_git(&self.common_dir.clone(), &["gc", "-q", "--prune=now"]));
        }
        self.user = self.users();
    }

    fn open(&mut self, number: usize) {
        let mut operation = self.world.opening(&number.to_string());
        operation.at = self.some_commit();
        operation.base = Some(("main".to_owned(), self.commits[0].clone()));
        operation.files = *self.chance.one(&[
            FilesPolicy::ResetTracked,
            FilesPolicy::KeepWork,
            FilesPolicy::Pristine,
        ]);
        operation.access =
            *self.chance.one(&[FileAccess::Write, FileAccess::Write, FileAccess::Read]);
        if self.chance.once_in(4) {
            operation.merge = Some(self.some_commit());
        }
        let is_kept = operation.files == FilesPolicy::KeepWork && self.locations[number].is_some();
        self.tell(&format!(
            "open {number} {:?} {:?} at {}",
            operation.files, operation.merge, operation.at
        ));
        let made = opened(&operation);
        if self.chance.once_in(4) {
            let mut again = opened(&operation);
            assert!(!again.is_new, "{}", self.story());
            again.is_new = made.is_new;
            assert_eq!(again, made, "{}", self.story());
        }
        if !is_kept {
            if operation.merge.is_none() {
                let expected = self.listed(&operation.at);
                assert_eq!(Self::walked(&made.tree), expected, "{}", self.story());
            }
            // What is kept from before may belong to another commit: it stays with that one.
            self.locations[number] = Some(operation.at.clone());
        }
        let head = git(&made.tree, &["rev-parse", "--verify", "HEAD"]);
        assert!(is_kept || head == operation.at, "{}", self.story());
        self.edit(&made.tree);
    }

    fn edit(&mut self, tree: &Path) {
        for _ in 0..self.chance.below(4) {
            let name = *self.chance.one(NAMES);
            self.tell(&format!("edit {name:?}"));
            let file = tree.join(name);
            let is_plain = fs::symlink_metadata(&file).map_or(true, |found| found.is_file());
            let parents = file.ancestors().skip(1).take_while(|path| *path != tree);
            let is_real = parents
                .into_iter()
                .all(|path| fs::symlink_metadata(path).map_or(true, |found| found.is_dir()));
            if !is_plain || !is_real {
                continue;
            }
            drop(fs::remove_file(&file));
            if !self.chance.once_in(3) {
                write(tree, name, &format!("text {}\n", self.chance.below(100)));
            }
        }
        if self.chance.once_in(2) {
            let script = *self.chance.one(RAMPAGES);
            self.tell(script);
            let user = self.common_dir.clone();
            shell(tree, &script.replace("$USER_GIT", user.to_str().unwrap()));
        }
    }

    fn commit(&mut self, number: usize) {
        let onto = self.locations[number].clone().unwrap();
        let tree = self.tree(number);
        let mut operation = self.world.committing(&number.to_string(), &[&onto]);
        operation.pin = self.pin();
        self.tell(&format!("commit {number} onto {onto}"));
        let expected = Self::walked(&tree);
        let made = committed(&operation);
        if self.chance.once_in(4) {
            assert_eq!(committed(&operation).commit, made.commit, "{}", self.story());
        }
        assert_eq!(self.listed(&made.commit), expected, "{}", self.story());
        assert_eq!(Self::walked(&tree), expected, "the tree is left alone: {}", self.story());
        let is_same = made.commit == onto;
        assert_eq!(is_same, made.changes.is_empty(), "{}", self.story());
        self.commits.push(made.commit);
    }

    fn hooks(&mut self, number: usize) {
        let operation = RunHooks {
            location: self.world.location(&number.to_string()),
            commit: self.own_commit(),
            message: "work".to_owned(),
            when_ms: WHEN_MS,
            pin: self.pin(),
            output_max: 100,
            accepted: None,
        };
        self.tell(&format!("hooks {number} for {}", operation.commit));
        let has_hook = operation.location.common_dir.join("hooks/pre-commit").exists();
        let made = hooked(&operation);
        assert!(made.refusal.is_none() || made.commit == operation.commit, "{}", self.story());
        if has_hook {
            let expected = self.listed(&made.commit);
            assert_eq!(Self::walked(&self.tree(number)), expected, "{}", self.story());
            self.locations[number] = Some(made.commit.clone());
        }
        self.commits.push(made.commit);
    }

    fn restore(&mut self, number: usize) {
        let at = self.some_commit();
        self.tell(&format!("restore {number} to {at}"));
        let location = self.world.location(&number.to_string());
        let operation = RestoreFiles {
            location,
            at: at.clone(),
            access: FileAccess::Write,
            caches: CachesAfter::Sealed,
        };
        restored(&operation);
        assert_eq!(Self::walked(&self.tree(number)), self.listed(&at), "{}", self.story());
        assert_eq!(restored(&operation).discarded, Vec::<String>::new(), "{}", self.story());
        self.locations[number] = Some(at);
    }

    fn merge(&mut self) {
        let operation = MergeCommits {
            location: self.world.location("none"),
            head: self.some_commit(),
            commit: self.some_commit(),
            message: "merge".to_owned(),
            when_ms: WHEN_MS,
            pin: self.pin(),
        };
        self.tell(&format!("merge {} into {}", operation.commit, operation.head));
        match merged(&operation) {
            MergeResult::AlreadyMerged { head } => assert_eq!(head, operation.head),
            MergeResult::FastForward { commit, .. } => assert_eq!(commit, operation.commit),
            MergeResult::Merge { commit, .. } => self.commits.push(commit),
            MergeResult::Conflict { conflicts } => assert!(!conflicts.is_empty()),
        }
    }

    fn move_head(&mut self) {
        let is_wrong = self.chance.once_in(4);
        let operation = MoveRunHead {
            common_dir: self.common_dir.clone(),
            name: "refs/forge/run/head".to_owned(),
            from: if is_wrong { Some(self.some_commit()) } else { self.head.clone() },
            to: self.some_commit(),
            branch: Some("forge/run".to_owned()),
        };
        self.tell(&format!("move {:?} to {}", operation.from, operation.to));
        match moved(&operation) {
            RunHeadUpdate::Updated { branch } => {
                let is_known =
                    operation.from == self.head || self.head.as_ref() == Some(&operation.to);
                assert!(is_known, "{}", self.story());
                assert!(
                    matches!(branch, BranchUpdate::Moved | BranchUpdate::Changed { .. }),
                    "{branch:?}: {}",
                    self.story()
                );
                self.head = Some(operation.to);
            }
            RunHeadUpdate::Overtaken { at } => assert_eq!(at, self.head, "{}", self.story()),
        }
    }

    /// Everything of the user's, without the branch that we were given.
    fn users(&self) -> BTreeMap<String, String> {
        let mut found = self.world.fingerprint();
        let common_dir = self.common_dir.clone();
        if !common_dir.starts_with(&self.world.root) {
            found.extend(world::fingerprint(&common_dir));
        }
        let without = |text: &String| -> String {
            text.lines().filter(|line| !line.contains("refs/heads/forge/")).collect()
        };
        let is_packed =
            |path: &String| path.ends_with("packed-refs") || path.ends_with("info/refs");
        found.retain(|path, _| !path.contains("refs/heads/forge/"));
        found
            .into_iter()
            .map(|(path, text)| {
                if is_packed(&path) {
                    let text = without(&text);
                    (path, text)
                } else {
                    (path, text)
                }
            })
            .collect()
    }

    fn check_user(&self) {
        assert_eq!(self.users(), self.user, "{}", self.story());
    }

    /// What is in a tree as git would keep it: kind and content by name.
    fn walked(tree: &Path) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![tree.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = encode_path(path.strip_prefix(tree).unwrap().as_os_str().as_bytes());
                let metadata = fs::symlink_metadata(&path).unwrap();
                let is_hidden = path.file_name().unwrap() == ".git"
                    || name.ends_with("log")
                    || name == "target"
                    || name == "lib/sub";
                if is_hidden {
                    continue;
                }
                if metadata.is_dir() {
                    open.push(path);
                } else if metadata.is_symlink() {
                    let aim = fs::read_link(&path).unwrap();
                    found.insert(
                        name,
                        format!("120000 {}", encode_path(aim.as_os_str().as_bytes())),
                    );
                } else {
                    let is_program = metadata.permissions().mode() & 0o100 != 0;
                    let mode = if is_program { "100755" } else { "100644" };
                    found
                        .insert(name, format!("{mode} {}", encode_path(&fs::read(&path).unwrap())));
                }
            }
        }
        found
    }

    /// The same of a commit.
    fn listed(&self, commit: &str) -> BTreeMap<String, String> {
        let listed = try_git(&self.world.root, &["ls-tree", "-r", "-z", "--full-tree", commit]);
        assert!(listed.status.success(), "{}", self.story());
        let mut found = BTreeMap::new();
        let mut wanted = Vec::new();
        for line in listed.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let end = line.iter().position(|byte| *byte == b'\t').unwrap();
            let header = String::from_utf8_lossy(&line[..end]).into_owned();
            let words: Vec<&str> = header.split(' ').collect();
            if words[0] == "160000" {
                continue;
            }
            let name = encode_path(&line[end + 1..]);
            assert_eq!(decode_path(&name), line[end + 1..]);
            wanted.push((name, words[0].to_owned(), words[2].to_owned()));
        }
        let objects: Vec<&str> = wanted.iter().map(|(_, _, object)| object.as_str()).collect();
        let contents = world::contents(&self.common_dir, &objects);
        for ((name, mode, _), content) in wanted.iter().zip(contents) {
            found.insert(name.clone(), format!("{mode} {}", encode_path(&content)));
        }
        found
    }

    fn has_own_commits(&self) -> bool {
        self.commits.iter().any(|commit| *commit != self.commits[0])
    }

    /// A commit of ours, not of the person's.
    fn own_commit(&mut self) -> String {
        let first = &self.commits[0];
        let own: Vec<&String> = self.commits.iter().filter(|commit| *commit != first).collect();
        (*self.chance.one(&own)).clone()
    }

    fn some_commit(&mut self) -> String {
        self.chance.one(&self.commits).clone()
    }

    fn pin(&mut self) -> String {
        self.pins += 1;
        format!("refs/forge/pins/{}", self.pins)
    }

    fn tree(&self, number: usize) -> PathBuf {
        self.world.location(&number.to_string()).dir.join("tree")
    }

    fn tell(&mut self, what: &str) {
        self.log.push(what.to_owned());
    }

    fn story(&self) -> String {
        self.log.join("\n  ")
    }
}
