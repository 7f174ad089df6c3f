//! A small project with a test that is red until somebody does the work, a flow with every gate, and
//! all that its user has to lose.
//!
//! Start with [`Project::new`]. Plays are written with [`play`]: a role, and a line of shell for what
//! it does. Who is not named in a test does the honest work.
//!
//! Invariant: nothing here knows how Forge keeps its promises; it looks at what is there afterwards.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::Path,
};

use serde_json::Value;

use super::world::{Said, World};

/// The flow of the stories: somebody who reads, somebody who writes, and every gate.
pub(crate) const FLOW: &str = "strict";

const STRICT: &str = r#"
[[stage]]
name = "look"
agent = "reader"

[[stage]]
name = "build"
agent = "writer"
rounds = 1
gates = [
  { check = "changes" },
  { verify = true },
  { check = "guarded" },
  { name = "review", review = "reviewer", writes = ["review.md"] },
  { land = true },
]

[[stage]]
name = "result"
gates = [{ verify = true }]
"#;

/// Runs all tests, as `demo/test.sh` does.
const TEST_SH: &str = r#"n=0
failed=0
expect() {
    n=$((n + 1))
    if [ "$2" = "$3" ]; then echo "ok $n - $1"; else failed=$((failed + 1)); echo "not ok $n - $1"; fi
}
for file in tests/*.sh; do . "./$file"; done
echo "1..$n"
[ "$failed" -eq 0 ]
"#;

const GREET_TEST: &str = r#"expect "greets by name" "Hello, Ada!" "$(sh bin/greet.sh Ada)"
expect "greets the world" "Hello, world!" "$(sh bin/greet.sh)"
"#;

const COUNT_TEST: &str = "expect \"counts\" \"3\" \"$(sh bin/count.sh a b c)\"\n";

/// Does the work, as shell.
pub(crate) const HONEST: &str = r#"printf 'echo "Hello, ${1:-world}!"\n' > bin/greet.sh"#;

/// What [`HONEST`] makes of the file.
pub(crate) const HONEST_FILE: &str = "echo \"Hello, ${1:-world}!\"";

/// Finds the user's git folder where an agent can find it, as shell.
pub(crate) const FIND_USER: &str =
    "user=$(cat .git/objects/info/alternates); user=${user%/objects}";

/// Somebody's project.
pub(crate) struct Project {
    pub(crate) world: World,
}

/// Who plays what: a role, more keys of the play (`attempt = 1`), and what it runs.
pub(crate) fn play(role: &str, keys: &str, run: &str) -> String {
    assert!(!run.contains("'''"), "the shell is quoted by three quotes");
    let artifact =
        if role == "reviewer" { "artifacts = { \"review.md\" = \"fine\" }\n" } else { "" };
    let verdict = if role == "reviewer" { ", verdict = \"pass\", findings = []" } else { "" };
    let result = if keys.contains("result") {
        String::new()
    } else {
        format!("result = {{ summary = \"did it\", commit = \"Greet by name\"{verdict} }}\n")
    };
    format!("[[play]]\nrole = \"{role}\"\n{keys}\n{artifact}{result}run = '''\n{run}\n'''\n")
}

impl Project {
    /// The project, with a red test, and a user who is in the middle of something.
    pub(crate) fn new() -> Self {
        let world = World::new();
        world.write("test.sh", TEST_SH);
        world.write("tests/greet.sh", GREET_TEST);
        world.write("tests/count.sh", COUNT_TEST);
        world.write("bin/greet.sh", "echo Hello\n");
        world.write("bin/count.sh", "echo $#\n");
        world.write(".gitignore", "*.log\n");
        world.write("notes.txt", "one\n");
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "-m", "the project"]);
        world.write(
            "forge.toml",
            "[verify]\ncommands = [\"sh test.sh\"]\n\n[agents.scripted]\nscenario = \"play.toml\"\n",
        );
        world.flow(FLOW, STRICT);
        world.roles(&["reader", "reviewer"]);
        world.write(".forge/roles/writer.md", "+++\ncode = \"writes\"\n+++\nYou are the writer.\n");
        let project = Self { world };
        project.has_much_to_lose();
        project
    }

    /// Staged, dirty, untracked, ignored and stashed files, a tag, a branch, hooks, packed refs.
    fn has_much_to_lose(&self) {
        let world = &self.world;
        world.commit();
        fs::write(world.beside(".gitconfig"), "[alias]\n\tst = status\n").unwrap();
        world.git(&["config", "forge.mine", "kept"]);
        world.git(&["branch", "side"]);
        world.git(&["tag", "v1"]);
        world.git(&["pack-refs", "--all"]);
        world.write("notes.txt", "stashed\n");
        world.git(&["stash", "--quiet"]);
        world.write("notes.txt", "staged\n");
        world.git(&["add", "notes.txt"]);
        world.write("notes.txt", "dirty\n");
        world.write("untracked.txt", "untracked\n");
        world.write("x.log", "ignored\n");
        let hook = world.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the flow with these plays; whoever is not played does the honest work.
    pub(crate) fn run(&self, plays: &[String]) -> Said {
        self.run_flow(FLOW, plays)
    }

    /// The same with another flow.
    pub(crate) fn run_flow(&self, flow: &str, plays: &[String]) -> Said {
        let honest =
            [play("reader", "", "true"), play("writer", "", HONEST), play("reviewer", "", "true")];
        self.world.scenario(&format!("{}{}", plays.concat(), honest.concat()));
        self.world.commit();
        let before = self.fingerprint();
        let said = self.world.run(flow, &[]);
        let after = self.fingerprint();
        assert_same(&before, &after, &said);
        self.world.git(&["fsck", "--connectivity-only", "--no-dangling"]);
        said
    }

    /// The run that was made.
    pub(crate) fn id(&self) -> String {
        self.world.latest()
    }

    /// All facts of one kind.
    pub(crate) fn facts(&self, kind: &str) -> Vec<Value> {
        let facts = self.world.facts(&self.id());
        facts.iter().filter_map(|fact| fact.get(kind)).cloned().collect()
    }

    /// How many steps of all calls have a name that begins like this.
    pub(crate) fn steps(&self, name: &str) -> usize {
        let attempts = self.world.place().join("attempts").join(self.id());
        let calls = fs::read_dir(attempts).unwrap().map(|call| call.unwrap().path().join("steps"));
        let steps = calls.filter_map(|steps| fs::read_dir(steps).ok()).flatten();
        steps
            .filter(|step| step.as_ref().unwrap().file_name().to_string_lossy().starts_with(name))
            .count()
    }

    /// A file of the run's branch, if there is that branch and that file.
    pub(crate) fn landed_file(&self, path: &str) -> Option<String> {
        let branch = format!("forge/{}", self.id());
        let listed = self.world.git(&["for-each-ref", &format!("refs/heads/{branch}")]);
        (!listed.is_empty()).then(|| self.world.git(&["show", &format!("{branch}:{path}")]))
    }

    /// Asserts that nothing became part of the run's result.
    #[track_caller]
    pub(crate) fn nothing_landed(&self, said: &Said) {
        let run = self.id();
        assert_eq!(self.facts("landed"), Vec::<Value>::new(), "{said}");
        let pattern = [format!("refs/heads/forge/{run}"), format!("refs/forge/{run}/head")];
        let listed = self.world.git(&["for-each-ref", &pattern[0], &pattern[1]]);
        assert_eq!(listed, "", "{said}");
    }

    /// Asserts that exactly the honest work became part of the run's result, and nothing else.
    #[track_caller]
    pub(crate) fn only_honest_work_landed(&self, said: &Said) {
        assert_eq!(self.landed_file("bin/greet.sh").as_deref(), Some(HONEST_FILE), "{said}");
        let branch = format!("forge/{}", self.id());
        let changed = self.world.git(&["diff", "--name-only", "HEAD", &branch]);
        assert_eq!(changed, "bin/greet.sh", "{said}");
    }

    /// What the gates said, in order: `changes pass`, `verify revise`.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        let judged = self.facts("judged");
        let words = |fact: &Value| {
            let gate = fact["judgement"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            let ruling = &fact["ruling"];
            let word = ruling.get("verdict").unwrap_or(ruling);
            let word = word.as_object().and_then(|word| word.keys().next().cloned());
            format!("{} {}", gate.split('#').next().unwrap(), word.unwrap_or_default())
        };
        judged.iter().map(words).collect()
    }

    /// Everything of the user's that must never change: each file with its mode and its bytes, refs,
    /// index, config, hooks, the stash with its log, and their own git settings. Objects may be
    /// added; none may go, and none may change.
    fn fingerprint(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let repo = &self.world.repo;
        let of_forge = [".git/forge", ".git/refs/forge", ".git/refs/heads/forge"];
        let mut open = vec![repo.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(repo).unwrap().to_string_lossy().into_owned();
                let is_forges = of_forge.contains(&name.as_str())
                    || name == ".git/logs/refs/heads/forge"
                    || name == "play.toml";
                if is_forges {
                    continue;
                }
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                if kind.is_dir() && !name.starts_with(".git/objects/") {
                    found.insert(format!("{name}/"), mode(&path));
                }
                if kind.is_dir() {
                    open.push(path);
                } else {
                    found.insert(name, content(&path));
                }
            }
        }
        found.insert("~/.gitconfig".to_owned(), content(&self.world.beside(".gitconfig")));
        let refs = self.world.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        let of_user = refs.lines().filter(|line| {
            !line.starts_with("refs/forge/") && !line.starts_with("refs/heads/forge/")
        });
        found.insert("refs".to_owned(), of_user.collect::<Vec<_>>().join("\n"));
        found.insert("stash".to_owned(), self.world.git(&["stash", "list", "--format=%gd %H %gs"]));
        found
    }
}

fn mode(path: &Path) -> String {
    format!("{:o}", fs::symlink_metadata(path).unwrap().permissions().mode())
}

fn content(path: &Path) -> String {
    let kind = fs::symlink_metadata(path).unwrap().file_type();
    if kind.is_symlink() {
        return format!("-> {}", fs::read_link(path).unwrap().display());
    }
    if kind.is_fifo() || kind.is_socket() {
        return format!("{kind:?}");
    }
    let bytes = fs::read(path).unwrap();
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => format!("{:?}", error.as_bytes()),
    };
    format!("{} {text}", mode(path))
}

#[track_caller]
fn assert_same(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>, said: &Said) {
    for (name, was) in before {
        assert_eq!(after.get(name), Some(was), "{name} is not as it was\n{said}");
    }
    let is_new = |name: &&String| !before.contains_key(*name) && !name.starts_with(".git/objects/");
    let new: Vec<&String> = after.keys().filter(is_new).collect();
    assert!(new.is_empty(), "{new:?} was not there before\n{said}");
}
