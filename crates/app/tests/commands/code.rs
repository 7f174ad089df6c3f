//! Code that a run makes: what is looked at before it lands, and what becomes of it.
//!
//! One stage, one checkout. Several at once, several runs, and the branch are in `lands`.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::world::{DONE, WAITS, WRONG, World, finish, has};

/// Red if any file says that it is broken. It says much before it says that.
const CHECK: &str = "#!/bin/sh
for n in $(seq 1 3000); do echo \"looked at line $n\"; done
for file in src/*; do
    if grep -q broken \"$file\"; then echo \"error: $file is broken\"; exit 1; fi
done
";

/// One stage with every gate that needs no agent.
const ONE: &str = r#"
[[stage]]
name = "build"
agent = "worker"
rounds = 5
gates = [{ check = "changes" }, { verify = true }, { check = "guarded" }, { land = true }]
"#;

/// A project with one check, a test and a worker who may change code.
pub(crate) fn project(more_settings: &str) -> World {
    let world = World::new();
    world.write("check.sh", CHECK);
    world.write("src/a.txt", "one\n");
    world.write("tests/a_test.sh", "test -s src/a.txt\n");
    world.write(".gitignore", "play.toml\nout/\n.env\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "the project"]);
    world.write(".forge/roles/worker.md", "+++\ncode = \"writes\"\n+++\nYou work.\n");
    world.roles(&["planner", "reader"]);
    world.write(
        "forge.toml",
        format!("[agents.scripted]\nscenario = \"play.toml\"\n{more_settings}\n"),
    );
    world.flow("one", ONE);
    world
}

pub(crate) const CHECKED: &str = "[verify]\ncommands = [\"sh check.sh\"]";

/// What lies at this path on the run's branch.
pub(crate) fn landed(world: &World, run: &str, path: &str) -> String {
    world.git(&["show", &format!("forge/{run}:{path}")])
}

/// All notes of all calls.
pub(crate) fn notes(world: &World, run: &str) -> String {
    let facts = world.facts(run);
    let receipts = facts.iter().flat_map(|fact| {
        ["attempt_ended", "judged"].map(|kind| fact[kind]["receipt"]["notes"].clone())
    });
    let notes: Vec<Value> =
        receipts.filter_map(|notes| notes.as_array().cloned()).flatten().collect();
    notes.iter().map(|note| note.as_str().unwrap()).collect::<Vec<&str>>().join("\n")
}

/// How many facts of this kind there are.
pub(crate) fn count(world: &World, run: &str, kind: &str) -> usize {
    world.facts(run).iter().filter(|fact| fact.get(kind).is_some()).count()
}

fn hook(world: &World, text: &str) {
    let path = world.write(".git/hooks/pre-commit", format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_folder(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

#[test]
fn the_shipped_flow_goes_from_a_request_to_a_verified_branch() {
    let world = World::new();
    copy_folder(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../demo"), &world.repo);
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "the demo"]);
    let before = world.git(&["rev-parse", "HEAD"]);
    let said = world.run("change", &["--auto"]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    let branch = format!("forge/{run}");
    for path in ["bin/greet.sh", "bin/farewell.sh", "bin/shout.sh", "tests/shout.sh"] {
        assert!(!landed(&world, &run, path).is_empty(), "{path}");
    }
    // What landed is good where nobody of ours has been.
    let clone = world.beside("clone");
    let clone_text = clone.to_str().unwrap();
    world.git(&["clone", "--quiet", "--branch", &branch, ".", clone_text]);
    let mut check = std::process::Command::new("sh");
    world.surround(&mut check);
    let checked = finish(check.arg("test.sh").current_dir(&clone));
    assert_eq!(checked.code, DONE, "{checked}");
    assert_eq!(count(&world, &run, "landed"), 3);
    // The tests sent the first task back, and a reviewer the second.
    has(&world.brief(&run, "build.T1/implement#2"), &["`sh test.sh` printed", "not ok"]);
    has(&world.brief(&run, "build.T2/implement#2"), &["without a name it says", "`review-T2.md`"]);
    assert_eq!(world.git(&["rev-parse", "main"]), before, "the user's branch is left alone");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_red_check_sends_back_with_the_part_of_its_output_that_matters() {
    let world = project(CHECKED);
    world.scenario(
        "[[play]]\nattempt = 1\nfiles = { \"src/b.txt\" = \"broken\\n\" }\n\
         [[play]]\nfiles = { \"src/b.txt\" = \"good\\n\" }\n",
    );
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["build: `sh check.sh` failed with exit code 1", "build sent back by checks"]);
    let run = world.latest();
    let brief = world.brief(&run, "build#2");
    has(&brief, &["`sh check.sh` failed with exit code 1", "error: src/b.txt is broken"]);
    let lines = brief.lines().filter(|line| line.starts_with("looked at line")).count();
    assert!(lines < 150, "the output is cut: {lines} lines of it are in the brief");
    assert_eq!(landed(&world, &run, "src/b.txt"), "good");
}

#[test]
fn without_any_check_the_work_is_unverified_and_only_waiving_by_name_goes_on() {
    let world = project("[verify]\ncommands = []");
    world.scenario("[[play]]\nfiles = { \"src/b.txt\" = \"broken\\n\" }\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["build: checks could not verify it", "Nothing verifies this change"]);
    let run = world.latest();
    let before = world.records(&run);
    for wrong in [
        vec!["answer", &run, "Q1", "approve"],
        vec!["answer", &run, "Q1", "approve", "verify"],
        vec!["answer", &run, "Q1", "waive"],
        vec!["answer", &run, "Q1", "waive", "land", "why not"],
    ] {
        has(&world.refused(&wrong), &["error: ", "help: "]);
    }
    assert_eq!(world.records(&run), before);
    assert_eq!(count(&world, &run, "landed"), 0);
    world.ok(&["answer", &run, "Q1", "waive", "verify", "it", "is", "only", "text"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    let log = world.ok(&["log", &run]);
    has(
        &log,
        &[
            "ada answered Q1 (override): it is only text",
            "checks overridden by the answer to Q1",
            "build merged as",
        ],
    );
    assert!(!log.contains(": checks passed"), "unverified is never passed: {log}");
    let text = world.ok(&["pr", &run, "--print"]);
    has(&text, &["**Not verified.** ada overrode the checks: it is only text"]);
}

#[test]
fn a_commit_hook_that_refuses_sends_back_with_what_it_said() {
    let world = project(CHECKED);
    hook(&world, "if grep -rq forbidden src; then echo \"no forbidden words, please\"; exit 1; fi");
    world.scenario(
        "[[play]]\nattempt = 1\nfiles = { \"src/b.txt\" = \"forbidden\\n\" }\n\
         [[play]]\nfiles = { \"src/b.txt\" = \"allowed\\n\" }\n",
    );
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    has(
        &said.out,
        &["build: change check did not pass", "the commit hook `pre-commit` refuses it"],
    );
    has(
        &world.brief(&run, "build#2"),
        &["git commit (hook pre-commit)", "no forbidden words, please"],
    );
    assert_eq!(landed(&world, &run, "src/b.txt"), "allowed");
}

#[test]
fn what_a_commit_hook_formats_is_what_is_judged_and_lands() {
    let world = project(CHECKED);
    // Broken until it is formatted: the check sees what the hook made of it.
    hook(&world, "sed -i 's/broken/mended/' src/b.txt && git add src/b.txt");
    world.scenario("[[play]]\nfiles = { \"src/b.txt\" = \"broken\\n\" }\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    assert_eq!(landed(&world, &run, "src/b.txt"), "mended");
    has(&notes(&world, &run), &["the commit hooks changed src/b.txt"]);
    assert_eq!(world.agents_started(&run), 1, "nobody was sent back");
    let branch = format!("forge/{run}");
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{branch}")]), "1");
}

#[test]
fn changes_outside_of_what_an_item_declared_send_back() {
    let world = project(CHECKED);
    world.flow(
        "items",
        "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\n\
         [[stage]]\nname = \"build\"\neach = \"tasks\"\n\
         [[stage.stage]]\nname = \"make\"\nagent = \"worker\"\n\
         gates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n",
    );
    world.scenario(
        "[[play]]\nrole = \"planner\"\nresult = { lists = { tasks = [{ id = \"T1\", title = \"b\", writes = [\"src/b.txt\"] }] } }\n\
         [[play]]\nattempt = 1\nfiles = { \"src/b.txt\" = \"b\\n\", \"src/c.txt\" = \"c\\n\" }\n\
         [[play]]\nrun = \"rm src/c.txt\"\n",
    );
    let said = world.run("items", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    let what = "`src/c.txt` is outside what T1 may change (src/b.txt)";
    has(&said.out, &["T1 make sent back by change check", what]);
    has(&world.brief(&run, "build.T1/make#2"), &[what, "It may change: `src/b.txt`"]);
    assert_eq!(landed(&world, &run, "src/b.txt"), "b");
    let there = world.git(&["ls-tree", "-r", "--name-only", &format!("forge/{run}")]);
    assert!(!there.contains("src/c.txt"), "{there}");
}

#[test]
fn the_commit_message_of_a_retry_counts_for_what_the_attempt_before_it_changed() {
    let world = project(CHECKED);
    world.scenario(
        "[[play]]\nattempt = 1\nfiles = { \"src/b.txt\" = \"good\\n\" }\nno_result = true\n\
         [[play]]\nresult = { commit = \"Put b right\\n\\nIt was wrong.\" }\n",
    );
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    let messages = world.git(&["log", "--format=%B", &format!("main..forge/{run}")]);
    assert!(messages.starts_with("Put b right\n\nIt was wrong.\n\nForge-Run: "), "{messages}");
    assert_eq!(messages.matches("Forge-Run").count(), 1, "one commit: {messages}");
}

#[test]
fn an_agent_that_changes_the_settings_is_sent_back_and_checked_as_before() {
    let world = project(CHECKED);
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    let weak = settings.replace("sh check.sh", "true");
    world.scenario(&format!(
        "[[play]]\nattempt = 1\nfiles = {{ \"src/b.txt\" = \"broken\\n\", \"forge.toml\" = '''{weak}''' }}\n\
         [[play]]\nattempt = 2\nfiles = {{ \"forge.toml\" = '''{settings}''' }}\n\
         [[play]]\nfiles = {{ \"src/b.txt\" = \"good\\n\" }}\n"
    ));
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    has(&said.out, &["build sent back by change check", "build (attempt 2): `sh check.sh` failed"]);
    has(&world.brief(&run, "build#2"), &["(critical) `forge.toml` belongs to Forge's settings"]);
    assert_eq!(landed(&world, &run, "forge.toml"), settings.trim());
    assert!(!said.out.contains("`true`"), "{said}");
}

#[test]
fn changed_guards_need_the_word_of_a_person() {
    let world = project(CHECKED);
    world.scenario("[[play]]\nfiles = { \"tests/a_test.sh\" = \"true\\n\" }\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["Accept it?", "`tests/a_test.sh` (test)", "approve", "revise"]);
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "revise", "leave the test alone"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, WAITS, "it did it again: {said}");
    has(&world.brief(&run, "build#2"), &["> leave the test alone"]);
    assert_eq!(count(&world, &run, "landed"), 0);
    world.ok(&["answer", &run, "Q2", "approve", "it was useless"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    has(&world.ok(&["log", &run]), &["ada answered Q2 (approve): it was useless"]);
    assert_eq!(landed(&world, &run, "tests/a_test.sh"), "true");
}

#[test]
fn new_tests_need_nobody() {
    let world = project(CHECKED);
    world.scenario("[[play]]\nfiles = { \"tests/b_test.sh\" = \"true\\n\" }\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["build: protected-file check passed\n"]);
}

#[test]
fn what_a_reader_changes_is_discarded_and_noted() {
    let world = project(CHECKED);
    world.flow(
        "read",
        "[[stage]]\nname = \"read\"\nagent = \"reader\"\n\
         [[stage]]\nname = \"look\"\ncommand = \"cat src/a.txt; ls src > $HOME/seen; grep -q one src/a.txt\"\n",
    );
    world.scenario("[[play]]\nrun = \"rm -f src/a.txt; echo mine > src/a.txt; echo new > src/new.txt; git commit -qam mine\"\n");
    let said = world.run("read", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    let notes = notes(&world, &run);
    has(
        &notes,
        &["it changed code, but its role only reads; discarded: ", "src/a.txt", "src/new.txt"],
    );
    assert_eq!(fs::read_to_string(world.beside("seen")).unwrap(), "a.txt\n");
    assert_eq!(count(&world, &run, "landed"), 0);
    let branches = world.git(&["branch", "--list", "forge/*"]);
    assert_eq!(branches, "", "a run that lands nothing has no branch");
}

#[test]
fn a_command_finds_the_committed_files_which_are_opened_again_only_if_somebody_changed_them() {
    let world = project(CHECKED);
    let look = "ls src > $HOME/seen; grep -q one src/a.txt";
    let change = "echo mine > src/a.txt; touch src/new.txt";
    let stage = |(name, line)| format!("[[stage]]\nname = \"{name}\"\ncommand = \"{line}\"\n");
    let stages = [("a", look), ("b", change), ("c", look), ("d", look)];
    world.flow("look", &stages.map(stage).concat());
    let said = world.run("look", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    let opened = |call: &str| world.attempt(&run, call).join("steps/open").exists();
    assert_eq!(["a#1", "b#1", "c#1", "d#1"].map(opened), [true, false, true, false]);
    assert_eq!(fs::read_to_string(world.beside("seen")).unwrap(), "a.txt\n");
}

#[test]
fn commits_that_an_agent_made_itself_are_folded_into_one() {
    let world = project(CHECKED);
    world.git(&["config", "user.name", "Ada"]);
    world.git(&["config", "user.email", "ada@example.org"]);
    world.scenario(
        "[[play]]\nrun = \"echo b > src/b.txt; git add .; git commit -qm one; echo c > src/c.txt; git add .; git commit -qm two\"\n\
         result = { summary = \"did it\", commit = \"Add b and c\\n\\nBoth.\" }\n",
    );
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    has(&notes(&world, &run), &["2 commits of its own were squashed"]);
    let branch = format!("forge/{run}");
    let log = world.git(&["log", "--format=%an%n%B", &format!("main..{branch}")]);
    has(
        &log,
        &[
            "Ada",
            "Add b and c\n\nBoth.",
            &format!("Forge-Run: {run}"),
            "Forge-Call: build, attempt 1",
        ],
    );
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{branch}")]), "1");
    assert_eq!(landed(&world, &run, "src/c.txt"), "c");
}

#[test]
fn a_run_that_changes_nothing_is_asked_about_and_done_only_if_a_person_says_so_by_name() {
    let world = project(CHECKED);
    world.scenario("[[play]]\nresult = { summary = \"all done, believe me\" }\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["The work is done, and nothing changed. Is that right?"]);
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "waive", "land", "it is there already"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    assert!(!world.facts(&run).iter().any(|fact| fact.get("landed").is_some()));
    let shown = world.ok(&["show", &run]);
    has(&shown, &["build: ada agreed that nothing changes"]);
    assert!(!shown.contains("override"), "{shown}");
}

/// Where set-up was made, one line each.
fn set_up(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.beside("set-up")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn set_up_is_made_once_in_a_checkout_and_again_when_its_inputs_change() {
    let world = project(&format!(
        "{CHECKED}\n[workspace]\nsetup = [\"pwd >> $HOME/set-up; echo x > made.lock\"]\nsetup_inputs = [\"needs.txt\"]"
    ));
    world.scenario(
        "[[play]]\nattempt = 1\nfiles = { \"src/b.txt\" = \"broken\\n\" }\n\
         [[play]]\nattempt = 2\nfiles = { \"needs.txt\" = \"more\\n\", \"src/c.txt\" = \"c\\n\" }\n\
         [[play]]\nfiles = { \"src/b.txt\" = \"good\\n\" }\n",
    );
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let work = world.work(&world.latest());
    let n = set_up(&world).iter().filter(|place| Path::new(place) == work).count();
    assert_eq!(n, 2, "three attempts, and other needs since the second: {:#?}", set_up(&world));
    assert!(work.join("made.lock").exists());
    let result = format!("refs/forge/{}/head", world.latest());
    let files = world.git(&["ls-tree", "-r", "--name-only", &result]);
    assert!(files.contains("needs.txt") && !files.contains("made.lock"), "{files}");
}

/// The flow `change` with one task, and an agent who only looks before it.
const ONE_TASK: &str = r#"
[[play]]
role = "planner"
artifacts = { "plan.md" = "One task." }
result = { summary = "one task", shown = { approach = "one file", risk = "low" }, lists = { tasks = [{ id = "T1", title = "Add b", writes = ["src/b.txt"] }] } }
[[play]]
role = "implementer"
files = { "src/b.txt" = "b\n" }
result = { summary = "it is there", commit = "Add b" }
[[play]]
role = "reviewer"
artifacts = { "review-T1.md" = "PASS" }
result = { summary = "good", verdict = "pass", findings = [] }
"#;

#[test]
fn what_the_set_up_leaves_is_no_change_of_an_agent_and_in_no_commit() {
    let world = project(&format!(
        "{CHECKED}\n[workspace]\nsetup = [\"echo x > made.lock; echo made.lock >> a.egg-info/SOURCES.txt\"]"
    ));
    world.write("a.egg-info/SOURCES.txt", "a\n");
    world.git(&["add", "a.egg-info"]);
    world.git(&["commit", "--quiet", "-m", "installed by setuptools"]);
    // The planner of the flow reads the code.
    fs::remove_file(world.repo.join(".forge/roles/planner.md")).unwrap();
    world.scenario(ONE_TASK);
    let said = world.run("change", &["--auto"]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    for unit in world.view(&run)["units"].as_array().unwrap() {
        assert!(unit["attempt"].as_u64() <= Some(1), "nothing is sent back: {unit:#}");
    }
    assert_eq!(count(&world, &run, "question_asked"), 0);
    let noted = notes(&world, &run);
    assert!(!noted.contains("made.lock") && !noted.contains("SOURCES"), "{noted}");
    let changed = world.git(&["log", "--format=", "--name-only", &format!("main..forge/{run}")]);
    let changed = changed.lines().filter(|path| !path.starts_with(".forge/runs/"));
    assert_eq!(changed.collect::<Vec<_>>(), ["src/b.txt"]);
}

/// A flow with two tasks, one after the other, whose set-up notes where it is run. The first task has these files, too.
fn two_tasks(more_files: &str) -> World {
    let setup = "pwd >> $HOME/set-up; mkdir -p out; pwd > out/where; echo x > made.lock";
    let world = project(&format!(
        "[verify]\ncommands = [\"test $(cat out/where) = $PWD && test -s made.lock && echo >> out/where && sh check.sh\"]\n\
         [workspace]\nsetup = [\"{setup}\"]\nsetup_inputs = [\"needs.txt\"]"
    ));
    world.write("needs.txt", "little\n");
    world.flow(
        "two",
        "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\n\
         [[stage]]\nname = \"build\"\neach = \"tasks\"\n\
         [[stage.stage]]\nname = \"make\"\nagent = \"worker\"\n\
         gates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n\
         [[stage]]\nname = \"result\"\ngates = [{ verify = true }]\n",
    );
    world.scenario(&format!(
        "[[play]]\nrole = \"planner\"\nresult = {{ lists = {{ tasks = [{{ id = \"T1\", title = \"one\", writes = [\"**\"] }}, {{ id = \"T2\", title = \"two\", after = [\"T1\"], writes = [\"**\"] }}] }} }}\n\
         [[play]]\nunit = \"build.T1/make\"\nrun = \"grep -qx $PWD out/where\"\nfiles = {{ \"src/b.txt\" = \"b\\n\"{more_files} }}\n\
         [[play]]\nrun = \"grep -qx $PWD out/where\"\nfiles = {{ \"src/c.txt\" = \"c\\n\" }}\n"
    ));
    let said = world.run("two", &[]);
    assert_eq!(said.code, DONE, "{said}");
    world
}

/// The checkouts of the run in which set-up was made.
fn set_up_below(world: &World) -> Vec<String> {
    let checkouts = world.checkouts(&world.latest());
    let below = |place: &String| Path::new(place).strip_prefix(&checkouts).unwrap().to_owned();
    set_up(world).iter().map(|place| below(place).display().to_string()).collect()
}

#[test]
fn set_up_is_made_once_in_a_run_with_two_tasks_and_proofs() {
    let world = two_tasks("");
    assert_eq!(set_up_below(&world), ["_/tree"]);
    let changed = world.git(&["diff", "--name-only", "main", &format!("forge/{}", world.latest())]);
    let changed = changed.lines().filter(|path| !path.starts_with(".forge/runs/"));
    assert_eq!(changed.collect::<Vec<_>>(), ["src/b.txt", "src/c.txt"]);
}

#[test]
fn set_up_is_made_again_with_other_inputs_and_shared_again_once_they_have_landed() {
    let world = two_tasks(", \"needs.txt\" = \"more\\n\"");
    // The proof of the task is set up by itself, so that nothing of work that has not landed reaches other work. The
    // next task begins with what has landed; its proofs and that of the result use its set-up.
    let places = ["_/tree", "_verify/tree", "build.T2/_/tree"];
    assert_eq!(set_up_below(&world), places);
}

#[test]
fn a_set_up_that_fails_is_nobodys_work_and_says_why() {
    let world = project(&format!("{CHECKED}\n[workspace]\nsetup = [\"echo no network; exit 3\"]"));
    world.scenario("[[play]]\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["the setup command `echo no network; exit 3` failed", "retry"]);
    assert_eq!(world.agents_started(&world.latest()), 0);
}

#[test]
fn files_outside_of_git_are_copied_and_caches_of_green_proofs_are_kept() {
    let world = project(
        "[verify]\ncommands = [\"test -s .env && mkdir -p out && echo proof >> out/log && cp out/log $HOME/log && sh check.sh\"]\nfinal = \"cached\"\n\
         [workspace]\ncopy = [\".env\"]\ncache = [\"out\"]",
    );
    world.write(".env", "SECRET=1\n");
    world.scenario(
        "[[play]]\nattempt = 1\nrun = \"test -s .env && echo broken > src/b.txt\"\n\
         [[play]]\nfiles = { \"src/b.txt\" = \"good\\n\" }\n",
    );
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let log = fs::read_to_string(world.beside("log")).unwrap();
    // Red, then green where the run began, then green; and twice with a failing test, which this check does not run.
    assert_eq!(log.lines().count(), 4, "what a green proof left, the next one finds: {log}");
    let there = world.git(&["ls-tree", "-r", "--name-only", &format!("forge/{}", world.latest())]);
    assert!(!there.contains(".env") && !there.contains("out/"), "neither lands: {there}");
}

#[test]
fn a_result_that_was_proved_from_nothing_is_not_proved_again() {
    let world = project("[verify]\ncommands = [\"echo proof >> $HOME/log && sh check.sh\"]\n");
    world.flow(
        "one",
        "[[stage]]\nname = \"make\"\nagent = \"worker\"\ngates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n\
         [[stage]]\nname = \"again\"\ngates = [{ verify = true }]\n",
    );
    world.scenario("[[play]]\nfiles = { \"src/b.txt\" = \"good\\n\" }\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let log = fs::read_to_string(world.beside("log")).unwrap();
    // The proof, and one with a failing test, which this check does not run, here and where the run began.
    assert_eq!(log.lines().count(), 3, "{log}");
}

#[test]
fn settings_flows_and_roles_that_are_not_committed_are_refused_by_name() {
    let world = project(CHECKED);
    world.scenario("[[play]]\nfiles = { \"src/b.txt\" = \"b\\n\" }\n");
    world.commit();
    world.approve("one");
    let run = ["run", "--flow", "one", "do it"];
    let as_it_is = || finish(&mut world.command_as_it_is(&run));
    for (path, named) in [
        ("forge.toml", "forge.toml has uncommitted changes"),
        (".forge/flows/one.toml", "the flow `one` has uncommitted changes"),
        (".forge/roles/worker.md", "the role `worker` has uncommitted changes"),
    ] {
        let text = fs::read_to_string(world.repo.join(path)).unwrap();
        world.write(path, format!("{text}\n\n"));
        let said = as_it_is();
        assert_eq!(said.code, WRONG, "{path}: {said}");
        has(&said.err, &["error: ", named, "help: git add"]);
        world.write(path, text);
    }
    world.flow("new", ONE);
    let said = finish(&mut world.command_as_it_is(&["run", "--flow", "new", "do it"]));
    has(&said.err, &["the flow `new` is not committed", "help: git add"]);
    // Nobody is told to commit what is wrong.
    let right = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", "flow = 7\n");
    let said = finish(&mut world.command_as_it_is(&["run", "--flow", "one", "do it"]));
    assert_eq!(said.code, 2, "{said}");
    assert!(said.err.contains("forge.toml, line 1"), "{said}");
    world.write("forge.toml", right);
    assert!(world.is_untouched());
    // What belongs to nobody's settings may be as it is.
    world.write("src/a.txt", "being edited\n");
    let said = as_it_is();
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(landed(&world, &world.latest(), "src/a.txt"), "one");
    assert_eq!(world.git(&["status", "--porcelain", "src"]), "M src/a.txt");
}

#[test]
fn commands_that_nobody_allowed_are_shown_and_start_nothing() {
    let world = project(CHECKED);
    world.scenario("[[play]]\nfiles = { \"src/b.txt\" = \"b\\n\" }\n");
    world.commit();
    let run = ["run", "--flow", "one", "do it"];
    let said = finish(&mut world.command_as_it_is(&run));
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["sh check.sh", "help: forge config allow --flow one"]);
    assert!(world.is_untouched());
    world.approve("one");
    assert_eq!(finish(&mut world.command_as_it_is(&run)).code, DONE);
    // Other commands are asked about anew.
    world.write(
        "forge.toml",
        fs::read_to_string(world.repo.join("forge.toml"))
            .unwrap()
            .replace("sh check.sh", "sh ./check.sh"),
    );
    world.commit();
    let said = finish(&mut world.command_as_it_is(&run));
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["sh ./check.sh"]);
    assert_eq!(world.ids().len(), 1);
}

#[test]
fn a_setup_that_was_killed_is_run_again_and_no_variable_is_blamed_for_it() {
    let world = project(&format!(
        "{CHECKED}\n[workspace]\nsetup = [\"test -e $HOME/once || {{ touch $HOME/once; kill -9 $$; }}\"]\n"
    ));
    world.scenario("[[play]]\nrole = \"worker\"\nrun = \"echo two >> src/a.txt\"\nresult = { summary = \"done\" }\n");
    // It would be a variable that the setup does not get.
    let mut command = world.command(&["run", "--flow", "one", "make it"]);
    let said = finish(command.env("LEFT_OUT", "x"));
    assert_eq!(said.code, DONE, "{said}");
    assert!(!said.all().contains("of your environment"), "{said}");
}

#[test]
fn tests_inside_a_source_file_that_are_weakened_are_asked_about() {
    let world = project(CHECKED);
    let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(1, 2), 3);\n        assert_eq!(super::add(2, 2), 4);\n    }\n}\n";
    world.write("src/lib.rs", format!("pub fn add(a: u8, b: u8) -> u8 {{ a + b }}\n{tests}"));
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "with tests inside"]);
    let play = |run: &str| {
        world.scenario(&format!(
            "[[play]]\nrole = \"worker\"\nrun = \"{run}\"\nresult = {{ summary = \"done\" }}\n"
        ));
    };
    play("sed -i '/add(2, 2)/d' src/lib.rs");
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(
        &said.out,
        &["src/lib.rs: fewer assertions: 2 → 1", "This change weakens tests. Accept it?"],
    );
    let run = world.latest();
    let said = world.forge(&["approve", &run]);
    assert_eq!(said.code, DONE, "{said}");
    let open = "  Open    critical: src/lib.rs: fewer assertions: 2 → 1 (accepted by ada)";
    has(&said.out, &["! Done, 1 critical finding open", open]);
    has(&world.ok(&["status"]), &["finding open"]);
    has(&world.ok(&["show", &run]), &["finding open", "forge merge", "forge pr"]);
    play("sed -i 's/a + b/b + a/' src/lib.rs");
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "only the code has changed: {said}");
}

#[test]
fn protected_files_are_noted_where_one_changed_and_nowhere_else() {
    let world = project(CHECKED);
    let play = |file: &str| {
        world.scenario(&format!(
            "[[play]]\nrole = \"worker\"\nrun = \"echo two >> {file}\"\nresult = {{ summary = \"done\" }}\n"
        ));
    };
    play("src/a.txt");
    assert_eq!(world.run("one", &[]).code, DONE);
    assert!(!notes(&world, &world.latest()).contains("protected files"));
    play("tests/a_test.sh");
    assert_eq!(world.run("one", &[]).code, DONE, "more of a test needs nobody");
    let noted = notes(&world, &world.latest());
    has(&noted, &["changes protected files: tests/a_test.sh (test)"]);
}

#[test]
fn a_test_file_under_another_name_is_asked_about_unless_the_checks_show_that_all_still_run() {
    let world = project(CHECKED);
    world.scenario("[[play]]\nrole = \"worker\"\nrun = \"git mv tests/a_test.sh tests/b_test.sh\"\nresult = { summary = \"done\" }\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["`tests/b_test.sh` (test) was `tests/a_test.sh`"]);
}
