//! What a person does by hand and looks at afterwards: `demo`, `show`, `edit`, `rewind`, `init`.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use serde_json::Value;

use crate::{
    reads::fits,
    world::{DONE, FORGE, Said, WAITS, World, finish, has, pty::Person},
};

/// The demo in a folder of its own, beside the repository of the world.
fn demo(world: &World) -> (std::path::PathBuf, Said) {
    let dir = world.beside("demo");
    let said = world.forge(&["demo", "--fast", "--dir", dir.to_str().unwrap()]);
    (dir, said)
}

fn in_folder(world: &World, dir: &std::path::Path, args: &[&str]) -> Said {
    let mut command = Command::new(FORGE);
    world.surround(&mut command);
    finish(command.args(args).current_dir(dir))
}

#[test]
fn the_demo_goes_from_red_tests_to_a_verified_branch_and_keeps_it_all_in_its_folder() {
    let world = World::new();
    let (dir, said) = demo(&world);
    assert_eq!(said.code, DONE, "{said}");
    for line in [
        "Demo agents are scripted. No model is called, nothing is charged.",
        "T1: `sh test.sh` failed",
        "T1 sent back by checks",
        "T2: review did not pass",
        "T3 finished",
        " is done",
    ] {
        assert!(said.out.contains(line), "{line}: {said}");
    }
    let state = world.beside(".local/state/forge");
    assert!(!state.exists(), "all of it is in the folder: {}", state.display());
    let shown = in_folder(&world, &dir, &["show", "--json"]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    fits(schemars::schema_for!(forge_core::view::ResultView), &shown);
    assert_eq!(shown["proof"], "verified");
    assert_eq!(shown["landed"].as_array().unwrap().len(), 3);
    // The branch really holds what the tests ask for.
    let branch = shown["branch"].as_str().unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        world.surround(&mut command);
        let output = command.arg("-C").arg(&dir).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(git(&["status", "--porcelain"]), "");
    git(&["checkout", "--quiet", branch]);
    let tests = Command::new("sh").arg("test.sh").current_dir(&dir).output().unwrap();
    assert!(tests.status.success(), "{}", String::from_utf8_lossy(&tests.stdout));
    // Its scenario runs with plain `forge run`, too.
    git(&["checkout", "--quiet", "main"]);
    let approved = in_folder(&world, &dir, &["config", "approve", "--flow", "feature"]);
    assert_eq!(approved.code, DONE, "{approved}");
    let again = ["run", "--flow", "feature", "--effort", "M", "--auto", "the same again, please"];
    let said = in_folder(&world, &dir, &again);
    assert_eq!(said.code, DONE, "{said}");
    assert!(said.out.contains("T2: review did not pass"), "{said}");
}

#[test]
fn the_demo_uses_nothing_that_the_person_has_set() {
    let world = World::new();
    let told = world.beside("told");
    fs::create_dir_all(world.beside(".config/forge")).unwrap();
    let settings = format!(
        "agent = \"claude\"\n[limits]\nbudget = \"0.01\"\n[notify]\ncommand = [\"touch\", \"{}\"]\n",
        told.display()
    );
    fs::write(world.beside(".config/forge/config.toml"), settings).unwrap();
    let mut command = Command::new(FORGE);
    world.surround(&mut command);
    command.env("FORGE_AGENT", "claude").env("FORGE_LIMITS_CALL_BUDGET", "0.01");
    command.env("FORGE_NONSENSE", "1").env("XDG_CONFIG_HOME", world.beside(".config"));
    let dir = world.beside("demo");
    let said = finish(command.args(["demo", "--fast", "--dir"]).arg(&dir).current_dir(&world.repo));
    assert_eq!(said.code, DONE, "{said}");
    assert!(said.out.contains("No model is called, nothing is charged."), "{said}");
    assert!(!told.exists(), "no notifier was called");
    let view = in_folder(&world, &dir, &["status", "--json"]);
    assert!(!view.out.contains("claude"), "{view}");
}

#[test]
fn at_a_terminal_the_demo_is_the_live_screen_with_one_question_that_answers_itself() {
    let world = World::new();
    let dir = world.beside("demo");
    let words = [FORGE, "demo", "--dir", dir.to_str().unwrap()].map(std::ffi::OsString::from);
    let mut person = Person::with(&world, &words);
    person.until_sees("● running");
    has(&person.bytes(), &["Demo agents are scripted. No model is called, nothing is charged."]);
    let asked = person.until_sees("Build it like this?");
    has(&asked, &["❯ a  approve", "request changes", "reject"]);
    has(
        &person.until_sees("Demo: approves automatically in "),
        &["Press any key to answer yourself."],
    );
    // Somebody who presses a key answers themselves.
    person.press("\x1b[A");
    person.until_gone("Demo: approves automatically in ");
    person.press("a");
    person.until_sees("Enter approve");
    person.press("\r");
    person.until_sees("T1 ");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    person.is_left_sane();
}

#[test]
fn the_demo_refuses_a_folder_that_is_not_empty() {
    let world = World::new();
    fs::create_dir(world.beside("full")).unwrap();
    fs::write(world.beside("full/mine"), "mine").unwrap();
    let refused = world.refused(&["demo", "--dir", world.beside("full").to_str().unwrap()]);
    assert!(refused.contains("is not empty"), "{refused}");
    assert_eq!(fs::read_to_string(world.beside("full/mine")).unwrap(), "mine");
}

#[test]
fn without_a_folder_the_demo_leaves_nothing_behind() {
    let world = World::new();
    let temporary = world.beside("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut command = Command::new(FORGE);
    world.surround(&mut command);
    let said =
        finish(command.args(["demo", "--fast"]).env("TMPDIR", &temporary).current_dir(&world.repo));
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}

/// A run of the shipped flow that waits at its checkpoint, with a draft in it.
fn waiting(world: &World) -> String {
    world.scenario(crate::world::CONTENT);
    let said = world.run("draft", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    world.latest()
}

#[test]
fn an_artifact_is_shown_as_it_is() {
    let world = World::new();
    let run = waiting(&world);
    assert_eq!(world.ok(&["show", &run, "draft.md"]), "# A draft\n");
    let refused = world.refused(&["show", &run, "design.md"]);
    assert!(refused.contains("it has draft.md, review.md"), "{refused}");
}

#[test]
fn an_artifact_that_a_person_changed_is_looked_at_again_and_kept_with_name_and_reason() {
    let world = World::new();
    let run = waiting(&world);
    let new = world.beside("new.md");
    fs::write(&new, "# Mine\n").unwrap();
    let new = new.to_str().unwrap();
    let said = world.ok(&["edit", &run, "draft.md", "--file", new, "--why", "the title is wrong"]);
    assert!(said.contains("forge resume"), "{said}");
    assert_eq!(world.ok(&["show", &run, "draft.md"]), "# Mine\n");
    let resumed = world.forge(&["resume", &run]);
    assert_eq!(resumed.code, WAITS, "its gates look again, and the person is asked: {resumed}");
    let story = world.story(&run).join("\n");
    assert!(
        story.contains("ada changed `draft.md` of write by hand: the title is wrong"),
        "{story}"
    );
    assert!(story.contains("write#2/review#1 passed"), "{story}");
    let brief = fs::read_to_string(world.boxes(&run, "write#2/review#1").join("inbox/draft.md"));
    assert_eq!(brief.unwrap(), "# Mine\n", "the reviewer reads what the person wrote");
}

#[test]
fn changing_by_hand_needs_a_reason_a_change_and_a_run_that_is_not_over() {
    let world = World::new();
    let run = waiting(&world);
    let same = world.beside("same.md");
    fs::write(&same, "# A draft\n").unwrap();
    let same = same.to_str().unwrap();
    let refused = world.refused(&["edit", &run, "draft.md", "--file", same]);
    assert!(refused.contains("needs a reason"), "{refused}");
    let refused = world.refused(&["edit", &run, "draft.md", "--file", same, "--why", "x"]);
    assert!(refused.contains("is unchanged"), "{refused}");
    let refused = world.refused(&["edit", &run, "draft.md", "--why", "x"]);
    assert!(refused.contains("no editor can be opened"), "{refused}");
    world.ok(&["answer", &run, "Q1", "approve"]);
    fs::write(same, "other").unwrap();
    let refused = world.refused(&["edit", &run, "draft.md", "--file", same, "--why", "x"]);
    assert!(refused.contains(" is done"), "{refused}");
}

#[test]
fn a_rewound_run_shares_the_facts_up_to_the_stage_and_leaves_the_other_as_it_was() {
    let world = World::new();
    let run = waiting(&world);
    world.ok(&["answer", &run, "Q1", "approve"]);
    let before = world.records(&run);
    let said = world.forge(&["rewind", &run, "write"]);
    assert_eq!(said.code, WAITS, "{said}");
    assert_eq!(world.records(&run), before, "the old run is as it was");
    let new = world.latest();
    assert_ne!(new, run);
    let story = world.story(&new).join("\n");
    assert!(story.contains(&format!("ada rewound to write of {run}")), "{story}");
    assert!(story.contains("write#1 started"), "{story}");
    let refused = world.refused(&["rewind", &run, "nowhere"]);
    assert!(refused.contains("started: write"), "{refused}");
}

#[test]
fn init_finds_the_checks_tries_them_and_writes_what_a_run_then_uses() {
    let world = World::new();
    world.write("test.sh", "#!/bin/sh\necho checking\nexit 3\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "a check that is red"]);
    let said = world.forge(&["init"]);
    assert_eq!(said.code, DONE, "{said}");
    assert!(said.err.contains("tried  sh test.sh: failed ("), "{said}");
    assert!(said.err.contains("checking"), "what it said is shown: {said}");
    assert!(said.out.contains("git add forge.toml"), "{said}");
    let text = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    assert!(text.contains("\"sh test.sh\""), "{text}");
    assert!(text.contains("#   sh test.sh: failed ("), "{text}");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? forge.toml");
    let explained = world.ok(&["config", "explain", "verify.commands"]);
    assert!(explained.contains("forge.toml:"), "{explained}");
    let refused = world.refused(&["init"]);
    assert!(refused.contains("forge.toml already exists"), "{refused}");
}

#[test]
fn at_a_terminal_init_commits_its_file_after_a_yes_and_nothing_else() {
    let world = World::new();
    world.write("other.txt", "mine\n");
    world.git(&["add", "other.txt"]);
    let mut person = Person::at(&world, &["init"]);
    person.until_sees("Commit forge.toml now? A run reads it from the commit. [y/N]");
    person.press("y\r");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    assert_eq!(
        world.git(&["log", "-1", "--format=%s", "--name-only"]),
        "Set up Forge\n\nforge.toml"
    );
    assert_eq!(world.git(&["status", "--porcelain"]), "A  other.txt");
}

#[test]
fn checks_get_a_list_of_variables_and_init_names_the_one_that_they_lack() {
    let world = World::new();
    world.write("test.sh", "#!/bin/sh\ntest \"$DATABASE\" = here\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "a check that needs a variable"]);
    let said = finish(world.command(&["init"]).env("DATABASE", "here"));
    assert_eq!(said.code, DONE, "{said}");
    let words = said.err.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(
        words.contains(
            "needs $DATABASE of your environment, which the project's commands do not get"
        ),
        "{said}"
    );
    let path = world.repo.join("forge.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("# pass = [\"DATABASE\"]\n"), "{text}");
    fs::remove_file(&path).unwrap();
    let passed = [("DATABASE", "here"), ("FORGE_VERIFY_PASS", "DATABASE")];
    let said = finish(world.command(&["init"]).envs(passed));
    assert!(said.err.contains("tried  sh test.sh: passed ("), "{said}");
}

#[test]
fn init_names_the_files_that_the_set_up_leaves() {
    let world = World::new();
    world.write("package.json", "{ \"name\": \"x\", \"scripts\": { \"test\": \"true\" }, \"dependencies\": { \"a\": \"1\" } }\n");
    world.write(".gitignore", "node_modules/\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "a project with a set-up"]);
    let npm = world.beside("bin/npm");
    fs::create_dir_all(npm.parent().unwrap()).unwrap();
    let script = "#!/bin/sh\ncase $1 in install) mkdir -p node_modules/a; echo made > package-lock.json ;; esac\n";
    fs::write(&npm, script).unwrap();
    fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", npm.parent().unwrap().display());
    let said = finish(world.command(&["init"]).env("PATH", path));
    assert_eq!(said.code, DONE, "{said}");
    let words = said.all().split_whitespace().collect::<Vec<&str>>().join(" ");
    let note = "setup leaves files that git does not ignore (package-lock.json); runs do not count them as changes";
    assert!(words.contains(note), "{said}");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? forge.toml");
}

#[test]
fn init_says_so_where_it_finds_nothing_and_writes_nothing_on_a_dry_run() {
    let world = World::new();
    let said = world.forge(&["init", "--dry-run"]);
    assert_eq!(said.code, DONE, "{said}");
    assert!(said.out.contains("None were found"), "{said}");
    assert!(!world.repo.join("forge.toml").exists());
    let said = world.forge(&["init", "--no-try"]);
    assert!(said.out.contains("no checks found"), "{said}");
}
