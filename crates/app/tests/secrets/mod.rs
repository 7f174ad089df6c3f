//! Canaries: one secret of every family, in the environment, in files, in addresses, in what agents
//! and commands print, in results, artifacts, commits and words of a person. However a run ends,
//! none of them is in anything that Forge wrote.
//!
//! What is the user's own is not looked at: the files of the project that hold them, the checkouts
//! of these files with the agents' own `.git`, and the objects of the base commit.

mod canaries;
use crate::world;

use std::{
    collections::HashMap,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use canaries::{KNOWN_VARIABLE, TRACE_BYTES, known, sentence, song, traces};
use rustix::process::Signal;
use world::{DONE, INTERRUPTED, Running, Said, WAITS, WRONG, World, finish, has};

/// What the agents do: they print the song as a whole and in small pieces, commit it in their own
/// git and take it back, and leave it in artifact and result.
const SING: &str = r#"
cat song.txt; dd if=song.txt bs=7 status=none; env
cat song.txt > "$FORGE_OUTBOX/plan.md"; cp song.txt "$FORGE_OUTBOX/progress"
said=$(cat said.json)
printf '{"forge":1,"attempt":"%s","status":"done","summary":"see '"$(cat word.txt)"'","commit":%s,"decisions":[%s],"follow_ups":[%s],"memory":[%s],"shown":{"approach":%s,"key_changes":[%s],"risk":"low"}%s}' \
  "$FORGE_CALL" "$said" "$said" "$said" "$said" "$said" "$said" "$more" > "$FORGE_OUTBOX/result.json"
"#;

/// A project whose files hold the canaries, and whose check prints them.
fn project(check: &str) -> World {
    let world = World::new();
    world.write("song.txt", song());
    world.write("word.txt", canaries::canaries()[4].line.as_bytes());
    world.write("said.json", serde_json::to_string(&sentence()).unwrap());
    world.write("sing.sh", SING);
    world.write("src/a.txt", "one\n");
    world.write(".gitignore", "play.toml\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "the project"]);
    world.write(".forge/roles/worker.md", "+++\ncode = \"writes\"\n+++\nYou work.\n");
    world.roles(&["planner", "reviewer"]);
    world.write(
        "forge.toml",
        format!(
            "[agents.scripted]\nscenario = \"play.toml\"\n[verify]\ncommands = [\"{check}\"]\n"
        ),
    );
    world.flow(
        "sung",
        "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\nwrites = [\"plan.md\"]\n\
         gates = [{ artifact = \"plan.md\" }, { human = \"go\" }]\n\
         [[stage]]\nname = \"build\"\neach = \"tasks\"\nreads = [\"plan.md\"]\n\
         [[stage.stage]]\nname = \"make\"\nagent = \"worker\"\nreads = [\"plan.md\"]\nrounds = 1\nexhausted = \"fail\"\n\
         gates = [{ check = \"changes\" }, { command = \"cat song.txt\" }, { verify = true }, { land = true }]\n",
    );
    world
}

/// The planner lists a task whose title is a secret; the worker commits one and takes it back.
fn plays(worker: &str) -> String {
    let more = r#"more=',"lists":{"tasks":[{"id":"T1","title":'"$(cat said.json)"'}]}'"#;
    let own = "cp song.txt own.txt; git add -A; git commit -qF song.txt; git rm -q own.txt; git commit -qm gone";
    format!(
        "[[play]]\nrole = \"planner\"\nno_result = true\nrun = '''{more}; . ./sing.sh'''\n\
         [[play]]\nrole = \"worker\"\n{worker}\nno_result = true\nfiles = {{ \"src/b.txt\" = \"b\\n\" }}\n\
         run = '''{own}; more=; . ./sing.sh; touch $HOME/sung'''\n"
    )
}

/// The program, with a secret in its environment.
fn with_secret(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env(KNOWN_VARIABLE, known().core);
    command
}

/// Starts a run, answers its question with secret words, and sends it on.
fn planned(world: &World) -> (String, Vec<Said>) {
    let request = format!("do it with {}", sentence());
    let first = finish(&mut with_secret(world, &["run", "--flow", "sung", &request]));
    assert_eq!(first.code, WAITS, "{first}");
    let run = world.latest();
    let words = format!("again, with {}", sentence());
    let second = finish(&mut with_secret(world, &["answer", &run, "Q1", "revise", &words]));
    let third = finish(&mut with_secret(world, &["resume", &run]));
    assert_eq!(third.code, WAITS, "{third}");
    let fourth = finish(&mut with_secret(world, &["answer", &run, "Q2", "approve", &words]));
    (run, vec![first, second, third, fourth])
}

/// Finds traces of the canaries.
struct Search {
    by_beginning: HashMap<Vec<u8>, Vec<(String, Vec<u8>)>>,
    found: Vec<String>,
    n_files: usize,
}

impl Search {
    fn new() -> Self {
        let mut by_beginning: HashMap<Vec<u8>, Vec<(String, Vec<u8>)>> = HashMap::new();
        for (line, trace) in traces() {
            assert_eq!(trace.len(), TRACE_BYTES, "of {line}");
            by_beginning.entry(trace.clone()).or_default().push((line, trace));
        }
        Self { by_beginning, found: Vec::new(), n_files: 0 }
    }

    fn bytes(&mut self, place: &str, bytes: &[u8]) {
        self.n_files += 1;
        for window in bytes.windows(TRACE_BYTES) {
            if let Some(found) = self.by_beginning.get(window) {
                let trace = String::from_utf8_lossy(window);
                self.found.push(format!("{place}: `{trace}` of `{}`", found[0].0));
            }
        }
    }

    /// Everything below a folder, but for the trees of checkouts.
    fn folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            self.bytes("a name", entry.file_name().as_encoded_bytes());
            if kind.is_dir() && entry.file_name() != "tree" {
                self.folder(&path);
            } else if kind.is_file() {
                self.bytes(&path.display().to_string(), &fs::read(&path).unwrap());
            }
        }
    }

    /// All objects of the user's repository, but for the files of the project itself.
    fn objects(&mut self, world: &World) {
        let own = ["song.txt", "said.json", "word.txt"];
        let own = own.map(|name| world.git(&["rev-parse", &format!("main:{name}")]));
        let listed = world.git(&[
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname) %(objecttype)",
        ]);
        for line in listed.lines() {
            let (object, kind) = line.split_once(' ').unwrap();
            if !own.contains(&object.to_owned()) {
                let content = Command::new("git")
                    .arg("-C")
                    .arg(&world.repo)
                    .args(["cat-file", kind, object])
                    .stdin(Stdio::null())
                    .output()
                    .unwrap();
                self.bytes(&format!("the {kind} {object}"), &content.stdout);
            }
        }
        let refs = world.git(&["for-each-ref"]);
        self.bytes("the refs", refs.as_bytes());
    }
}

/// Looks at everything that Forge wrote.
fn search(world: &World, said: &[Said]) -> Search {
    let mut search = Search::new();
    search.folder(&world.place());
    search.folder(&world.beside(".local"));
    search.folder(&world.beside(".config"));
    search.folder(&world.beside(".cache"));
    search.objects(world);
    for said in said {
        search.bytes("what it said", said.all().as_bytes());
    }
    let run = world.latest();
    for command in [
        vec!["status", &run],
        vec!["status", &run, "--json"],
        vec!["log", &run],
        vec!["log", &run, "--json"],
        vec!["show", &run],
    ] {
        search.bytes(&command.join(" "), world.forge(&command).all().as_bytes());
    }
    search
}

#[track_caller]
fn nothing_is_found(world: &World, said: &[Said]) {
    let mut search = search(world, said);
    assert!(search.n_files > 100, "only {} were looked at", search.n_files);
    search.found.sort();
    search.found.dedup();
    let shown = search.found.iter().take(40).cloned().collect::<Vec<String>>().join("\n");
    assert!(search.found.is_empty(), "{} traces:\n{shown}", search.found.len());
}

#[test]
fn a_run_that_is_done_leaves_no_secret_anywhere() {
    let world = project("cat song.txt");
    world.scenario(&plays(""));
    let (run, mut said) = planned(&world);
    said.push(finish(&mut with_secret(&world, &["resume", &run])));
    assert_eq!(said.last().unwrap().code, DONE, "{}", said.last().unwrap());
    has(&world.git(&["show", &format!("forge/{run}:src/b.txt")]), &["b"]);
    nothing_is_found(&world, &said);
}

#[test]
fn a_run_that_failed_leaves_no_secret_anywhere() {
    let world = project("cat song.txt; exit 1");
    world.scenario(&plays(""));
    let (run, mut said) = planned(&world);
    said.push(finish(&mut with_secret(&world, &["resume", &run])));
    assert_ne!(said.last().unwrap().code, DONE, "{}", said.last().unwrap());
    nothing_is_found(&world, &said);
}

#[test]
fn a_run_that_was_interrupted_and_then_abandoned_leaves_no_secret_anywhere() {
    let world = project("cat song.txt");
    world.scenario(&plays("hang = true"));
    let (run, mut said) = planned(&world);
    let running = Running::of(with_secret(&world, &["resume", &run]).stdin(Stdio::null()));
    // It hangs after it has done everything.
    world::until("the worker", || world.beside("sung").exists().then_some(()));
    running.signal(Signal::INT);
    said.push(running.end());
    assert_eq!(said.last().unwrap().code, INTERRUPTED, "{}", said.last().unwrap());
    nothing_is_found(&world, &said);
    said.push(finish(&mut with_secret(&world, &["abandon", "--yes", &run])));
    nothing_is_found(&world, &said);
}

#[test]
fn a_change_with_a_secret_in_it_is_not_committed_and_its_place_is_told() {
    let world = project("true");
    let worker = "run = 'cat word.txt word.txt > src/word.txt; cp song.txt src/copy.txt'";
    world.flow(
        "one",
        "[[stage]]\nname = \"build\"\nagent = \"worker\"\nmisses = 1\n\
         gates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n",
    );
    world.scenario(&format!("[[play]]\n{worker}\n"));
    let said = finish(&mut with_secret(&world, &["run", "--flow", "one", "do it"]));
    assert_ne!(said.code, DONE, "{said}");
    let what = "`src/word.txt` line 1 contains what looks like a GitHub token; remove it";
    has(&said.all(), &[what]);
    assert!(!said.all().contains("src/copy.txt"), "what was there before is nobody's fault");
    nothing_is_found(&world, &[said]);
    let run = world.latest();
    assert!(world.work(&run).join("src/word.txt").exists(), "the files stay");
    // Settings count as they were when the run began: an agent could write them by now.
    let allow = ["config", "set", "--local", "secrets.allow", "[\"src/*\"]"];
    assert_eq!(world.forge(&allow).code, DONE);
    world.ok(&["answer", &run, "Q1", "retry"]);
    let again = finish(&mut with_secret(&world, &["resume", &run]));
    assert_ne!(again.code, DONE, "{again}");
    // A person can say that it is none, and that is a fact.
    world.ok(&["answer", &run, "Q2", "retry", "allow src/*"]);
    let resumed = finish(&mut with_secret(&world, &["resume", &run]));
    assert_eq!(resumed.code, DONE, "{resumed}");
}

/// A flow whose request is looked at before it begins, by somebody who keeps what there was to read.
fn looked_at() -> World {
    let world = project("true");
    world.roles(&["looker"]);
    world.write(".gitignore", "play.toml\nkeys.env\n");
    world.write("keys.env", "SHOP_PASSWORD=gooseberry-7-fool\n");
    world.git(&["commit", "--quiet", "-am", "keys are nobody's business"]);
    world.flow("one", "coherence = \"looker\"\n[[stage]]\nname = \"build\"\nagent = \"planner\"\n");
    world.scenario(
        "[[play]]\nrole = \"looker\"\n\
         run = 'cat \"$FORGE_INBOX/request.md\" \"$FORGE_ATTEMPT_DIR/brief.md\" > ~/looked'\n\
         result = { summary = \"fine\", verdict = \"pass\", findings = [] }\n[[play]]\n",
    );
    world
}

const SCRIPTED: &str = "[agents.scripted]\nscenario = \"play.toml\"\n";
const KEYS: &str = "[secrets]\nfiles = [\"keys.env\"]\n";

#[test]
fn a_secret_in_a_command_is_refused_before_anything_is_written_or_paid() {
    let world = looked_at();
    let (of_file, of_variable) = ("gooseberry-7-fool", "elderflower cordial");
    let cases = [
        ("verify.commands", format!("[verify]\ncommands = [\"sh x {of_file}\"]\n"), ""),
        ("verify.commands", format!("[verify]\ncommands = [\"sh x {of_variable}\"]\n"), ""),
        ("workspace.setup", format!("[workspace]\nsetup = [\"sh x {of_file}\"]\n"), ""),
        (
            "agents.mine",
            format!("[agents.mine]\ncommand = [\"sh\", \"-c\", \"x {of_variable}\"]\n"),
            "[roles.planner]\nagent = \"mine\"\n",
        ),
        // What an agent is given counts, too, whatever its name.
        (
            "agents.mine",
            "[agents.mine]\ncommand = [\"sh\", \"x damson jam 12\"]\npass = [\"LARDER\"]\n"
                .to_owned(),
            "[roles.planner]\nagent = \"mine\"\n",
        ),
    ];
    for (key, table, more) in cases {
        // Settings of the person: nobody has to approve them, and they are in no commit.
        world.write("forge.toml", format!("{SCRIPTED}{KEYS}"));
        world.write("forge.local.toml", format!("{table}{more}"));
        let mut command = world.command(&["run", "--flow", "one", "do it"]);
        let said =
            finish(command.env("SHOP_API_TOKEN", of_variable).env("LARDER", "damson jam 12"));
        assert_eq!(said.code, WRONG, "{table}: {said}");
        has(
            &said.err,
            &[&format!("a command of `{key}` contains a secret"), "help: put the secret"],
        );
        for secret in [of_file, of_variable, "damson"] {
            assert!(!said.all().contains(secret), "{said}");
        }
        assert!(world.is_untouched(), "{table}");
        assert!(!world.beside("looked").exists(), "nobody is paid for a look: {table}");
    }
}

#[test]
fn a_secret_of_a_named_file_in_the_request_is_written_nowhere_and_given_to_nobody() {
    let world = looked_at();
    world.write("forge.toml", format!("{SCRIPTED}{KEYS}"));
    let said = world.forge(&["run", "--flow", "one", "log in with gooseberry-7-fool, please"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.all(), &["what looks like a secret in your request was taken out of it"]);
    let looked = fs::read_to_string(world.beside("looked")).unwrap();
    has(&looked, &["log in with", ", please"]);
    let kept = |folder: &str| {
        let mut grep = Command::new("grep");
        let places = [world.place(), world.beside(".local"), world.beside("looked")];
        finish(grep.args(["-rlaFs", folder]).args(places))
    };
    assert_eq!(kept("log in with").code, 0, "the search finds what is there");
    let found = kept("gooseberry");
    assert_eq!(found.code, 1, "{found}");
    assert!(!said.all().contains("gooseberry"), "{said}");
}

#[test]
fn the_search_finds_what_is_there() {
    let world = project("true");
    world.scenario("[[play]]\n");
    world.flow("one", "[[stage]]\nname = \"build\"\nagent = \"planner\"\n");
    let said = finish(&mut with_secret(&world, &["run", "--flow", "one", "do it"]));
    assert_eq!(said.code, DONE, "{said}");
    nothing_is_found(&world, &[said]);
    let all = canaries::canaries().len() + 1;
    assert!(all >= 40, "there are {all}");
    for line in song().lines() {
        let mut search = Search::new();
        search.bytes("a line", line.as_bytes());
        let is_mark = line.starts_with("-----") || line.is_empty() || line.starts_with('=');
        let is_begin = line.starts_with("plain -----BEGIN");
        assert!(is_mark || is_begin || !search.found.is_empty(), "{line}");
    }
    world.write(".git/forge/x", song());
    world.write("leak.txt", sentence());
    world.git(&["add", "leak.txt"]);
    let found = search(&world, &[]).found.join("\n");
    has(&found, &[".git/forge/x: ", "the blob "]);
}
