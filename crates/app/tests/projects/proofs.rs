//! What is done with each project, and what must come of it.

use std::{
    fs,
    io::{self, Write as _},
    process::{Command, Stdio},
};

use serde_json::Value;

use super::{
    languages::{Language, Part},
    world::{DONE, Said, World, finish, has, path_with_cargo},
};

/// What keeps the tools from asking the network.
const PASSED: &str = r#"["CARGO_NET_OFFLINE", "NPM_CONFIG_OFFLINE", "PIP_NO_INDEX", "PIP_DISABLE_PIP_VERSION_CHECK", "GOFLAGS", "GOPROXY"]"#;

/// A flow whose new tests must prove something.
const PROVED: &str = r#"
[[stage]]
name = "build"
agent = "implementer"
gates = [{ check = "changes" }, { verify = true }, { check = "new-tests" }, { land = true }]
"#;

/// Finds, sets up, verifies red, verifies green; then says what the new test proves.
pub(crate) fn prove(language: &Language) {
    if let Some(world) = project(language) {
        is_found(&world, language);
        goes_from_red_to_green(&world, language);
        new_test_proves_something(&world, language);
    }
}

/// The project in a repository of its own, if its toolchain is here.
pub(crate) fn project(language: &Language) -> Option<World> {
    if !is_here(language) {
        // Past the test's own capture, so that it is always seen.
        let name = language.name.to_lowercase();
        io::stderr().write_all(format!("NOT PROVED: {name} is not here\n").as_bytes()).unwrap();
        return None;
    }
    let world = World::new();
    for (path, text) in language.files(&[Part::Base]) {
        world.write(path, text);
    }
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "the project"]);
    Some(world)
}

/// `forge init` finds commands and caches, and has tried them.
pub(crate) fn is_found(world: &World, language: &Language) {
    let said = forge(world, &["init"]);
    assert_eq!(said.code, DONE, "{said}");
    let set = |key: &str| -> Vec<String> {
        let rows: Value = serde_json::from_str(&world.ok(&["config", "list", "--json"])).unwrap();
        let row = rows.as_array().unwrap().iter().find(|row| row["key"] == key).unwrap().clone();
        serde_json::from_value(row["value"].clone()).unwrap_or_default()
    };
    assert_eq!(set("verify.commands"), language.checks, "{said}");
    assert_eq!(set("workspace.setup"), language.setup, "{said}");
    assert_eq!(set("workspace.cache"), language.cache, "{said}");
    let text = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    for command in language.setup.iter().chain(language.checks) {
        let passed = format!("#   {command}: passed (");
        let has_passed = text.lines().any(|line| line.starts_with(&passed));
        assert!(has_passed, "`{command}` was not tried, or did not pass:\n{text}");
    }
    world.commit();
}

/// The shipped flow: the first attempt is red in the language's own runner, and the second one is
/// told which test failed.
fn goes_from_red_to_green(world: &World, language: &Language) {
    let red = play("attempt = 1\n", &language.files(&[Part::Test, Part::Red]));
    let green = play("", &language.files(&[Part::Green]));
    let writes = language.writes.join("\", \"");
    let scenario = format!(
        "{red}{green}[[play]]\nrole = \"planner\"\nartifacts = {{ \"plan.md\" = \"a plan\" }}\n\
         result = {{ shown = {{ approach = \"small\", key_changes = [], risk = \"low\" }}, \
         lists = {{ tasks = [{{ id = \"T1\", title = \"Say goodbye\", writes = [\"{writes}\"] }}] }} }}\n\n\
         [[play]]\nrole = \"reviewer\"\nartifacts = {{ \"review-T1.md\" = \"PASS\" }}\n\
         result = {{ verdict = \"pass\", findings = [] }}\n"
    );
    let run = run(world, "change", &["--auto"], &scenario);
    let brief = world.brief(&run, "build.T1/implement#2");
    has(
        &brief,
        &[
            language.test_name,
            "failed with exit code",
            "It passed on the commit the run started from.",
        ],
    );
    assert_eq!(sent_back(world, &run), [("build.T1/implement".to_owned(), "verify".to_owned())]);
    let colours = colours(world, &run);
    for check in language.checks {
        let of = |colour: &str| colours.contains(&((*check).to_owned(), colour.to_owned()));
        assert!(of("green"), "`{check}` was never green: {colours:?}");
    }
    let is_red = |(_, colour): &(String, String)| colour == "red";
    assert!(colours.iter().any(is_red), "nothing was ever red: {colours:?}");
    landed(world, &run, language);
}

/// The gate `new-tests` names the new test, and what it says without the change and with it.
fn new_test_proves_something(world: &World, language: &Language) {
    world.flow("proved", PROVED);
    world.write(".forge/roles/implementer.md", "+++\ncode = \"writes\"\n+++\nYou build it.\n");
    if let Some(naming) = language.naming {
        world.ok(&["config", "set", "verify.commands", naming]);
    }
    world.commit();
    world.approve("proved");
    let scenario = play("", &language.files(&[Part::Test, Part::Green]));
    let run = run(world, "proved", &[], &scenario);
    is_proved(world, &run, language);
    assert_eq!(sent_back(world, &run), []);
    landed(world, &run, language);
}

/// The project with checks, and with the flow whose new tests must prove something.
fn proved_project(language: &Language) -> Option<World> {
    let world = project(language)?;
    world.write("forge.toml", "[verify]\ncommands = [\"sh test.sh\"]\n");
    world.flow("proved", PROVED);
    world.write(".forge/roles/implementer.md", "+++\ncode = \"writes\"\n+++\nYou build it.\n");
    world.commit();
    world.approve("proved");
    Some(world)
}

/// A new test that would pass without the change is told so by name; the next one does better.
pub(crate) fn refuse_an_empty_proof(language: &Language) {
    let Some(world) = proved_project(language) else { return };
    let (path, _) = language.files(&[Part::Test])[0];
    let empty = [(path, "expect \"is what it is\" \"1\" \"1\"\n")];
    let first = [&language.files(&[Part::Green])[..], &empty[..]].concat();
    // Beside one that proves the change, a test of what stays as it was is welcome.
    let stays = [("tests/stays.sh", empty[0].1)];
    let second = [&language.files(&[Part::Test, Part::Green])[..], &stays[..]].concat();
    let scenario = play("attempt = 1\n", &first) + &play("", &second);
    let run = run(&world, "proved", &[], &scenario);
    let why = "the new test `is what it is` passes without the change, too: it proves nothing";
    has(&world.brief(&run, "build#2"), &[why]);
    assert_eq!(sent_back(&world, &run), [("build".to_owned(), "new-tests".to_owned())]);
    is_proved(&world, &run, language);
    landed(&world, &run, language);
}

/// A change without a test is sent back; the next one brings it.
pub(crate) fn refuse_a_missing_test(language: &Language) {
    let Some(world) = proved_project(language) else { return };
    let scenario = play("attempt = 1\n", &language.files(&[Part::Green]))
        + &play("", &language.files(&[Part::Test, Part::Green]));
    let run = run(&world, "proved", &[], &scenario);
    has(&world.brief(&run, "build#2"), &["no test is new or changed"]);
    assert_eq!(sent_back(&world, &run), [("build".to_owned(), "new-tests".to_owned())]);
    is_proved(&world, &run, language);
    landed(&world, &run, language);
}

/// Fails unless the gate noted what the new test proves.
fn is_proved(world: &World, run: &str, language: &Language) {
    let facts = world.facts(run);
    let notes = facts.iter().filter_map(|fact| fact["judged"]["receipt"]["notes"].as_array());
    let notes: Vec<&str> = notes.flatten().filter_map(Value::as_str).collect();
    let is_proof = |note: &&str| {
        note.contains(language.test_name)
            && note.ends_with(" without the change and passes with it")
    };
    assert!(notes.iter().any(is_proof), "{notes:#?}");
}

/// A play of the implementer that leaves these files.
fn play(when: &str, files: &[(&str, &str)]) -> String {
    // A string of JSON is one of TOML, too.
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let files: Vec<String> =
        files.iter().map(|(path, text)| format!("{} = {}", quoted(path), quoted(text))).collect();
    format!(
        "[[play]]\nrole = \"implementer\"\n{when}files = {{ {} }}\nresult = {{ commit = \"Say goodbye\" }}\n\n",
        files.join(", ")
    )
}

/// Runs a flow to its end.
fn run(world: &World, flow: &str, more: &[&str], scenario: &str) -> String {
    let path = world.beside("play.toml");
    fs::write(&path, format!("scenario = 1\n{scenario}")).unwrap();
    let scenario = ["--scenario", path.to_str().unwrap()];
    let said =
        forge(world, &[&["run", "--flow", flow, "say goodbye"], &scenario[..], more].concat());
    let log = || world.forge(&["log", "-vv"]).out;
    assert_eq!(said.code, DONE, "{said}{}", log());
    world.latest()
}

/// The program with the toolchain in its surroundings, and without the network where a tool would ask.
fn forge(world: &World, args: &[&str]) -> Said {
    let mut command = world.command_as_it_is(args);
    command
        .env("PATH", path_with_cargo())
        .env("CARGO_NET_OFFLINE", "true")
        .env("NPM_CONFIG_OFFLINE", "true")
        .env("PIP_NO_INDEX", "1")
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("GOFLAGS", "-mod=mod")
        .env("GOPROXY", "off")
        .env("GOTOOLCHAIN", "local")
        .env("FORGE_VERIFY_PASS", PASSED);
    finish(&mut command)
}

fn is_here(language: &Language) -> bool {
    let (program, args) = language.toolchain.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(args).env("PATH", path_with_cargo()).stdin(Stdio::null());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The green files are what is on the run's branch, and nothing else has changed in the checkout.
fn landed(world: &World, run: &str, language: &Language) {
    for (path, text) in language.files(&[Part::Test, Part::Green]) {
        let there = world.git(&["show", &format!("forge/{run}:{path}")]);
        assert_eq!(there, text.trim_end(), "{path}");
    }
    assert_eq!(world.git(&["status", "--porcelain"]), "", "the checkout is left alone");
}

/// Which units were sent back by which gates.
fn sent_back(world: &World, run: &str) -> Vec<(String, String)> {
    let facts = world.facts(run);
    let reopened = facts.iter().map(|fact| &fact["unit_reopened"]).filter(|fact| fact.is_object());
    reopened.map(|fact| (word(&fact["unit"]), word(&fact["by"]["gate"]["gate"]))).collect()
}

/// All evidence: the command and its colour.
fn colours(world: &World, run: &str) -> Vec<(String, String)> {
    let facts = world.facts(run);
    let receipts = facts.iter().map(|fact| &fact["judged"]["receipt"]["evidence"]);
    let evidence = receipts.filter_map(Value::as_array).flatten();
    evidence.map(|one| (word(&one["command"]), word(&one["colour"]))).collect()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
