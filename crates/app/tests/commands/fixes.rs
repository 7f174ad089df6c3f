//! What the doctor finds, and mends with `--fix`.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};

use crate::world::{CONTENT, DONE, FORGE, WAITS, WRONG, World, finish, has};

fn make_old(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(7_200);
    File::open(path).unwrap().set_modified(long_ago).unwrap();
}

const OLD: &str = "# ours\n[verify]\ncommands = [\"make\"] # all of them\ntimeout = 5 # minutes\n";

#[test]
fn settings_with_older_names_are_rewritten_once_a_person_says_so() {
    let world = World::new();
    let path = world.write("forge.toml", OLD);
    let local = world.write("forge.local.toml", "verify.output_max = 8\n");
    let refused = world.refused(&["config", "list"]);
    has(
        &refused,
        &["forge.toml, line 4", "now called verify.timeout_minutes: `forge doctor --fix`"],
    );
    let said = world.forge(&["doctor"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.out, &["verify.timeout was renamed to verify.timeout_minutes", "forge doctor --fix"]);
    // Nobody can be asked.
    let said = world.forge(&["doctor", "--fix"]);
    has(&said.err, &["cannot ask here: forge doctor --fix --yes"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), OLD);
    let said = world.forge(&["doctor", "--fix", "--yes"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.err, &["fixed  rewrote", "forge.toml.before-fix"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), OLD.replace("timeout", "timeout_minutes"));
    assert_eq!(fs::read_to_string(path.with_extension("toml.before-fix")).unwrap(), OLD);
    assert_eq!(fs::read_to_string(&local).unwrap(), "verify.output_mib = 8\n");
    has(&world.ok(&["config", "explain", "verify.timeout_minutes"]), &["5"]);
    let again = world.forge(&["doctor", "--fix", "--yes"]);
    assert!(again.code == DONE && again.err.is_empty(), "nothing is left to be mended: {again}");
    has(&again.out, &["✓ ok    forge.toml is valid\n"]);
    // What was kept stays, however often something is mended.
    let other = OLD.replace("# ours", "# theirs");
    fs::write(&path, &other).unwrap();
    let said = world.forge(&["doctor", "--fix", "--yes"]);
    has(&said.err, &["forge.toml.before-fix.2"]);
    assert_eq!(fs::read_to_string(path.with_extension("toml.before-fix")).unwrap(), OLD);
    assert_eq!(fs::read_to_string(path.with_extension("toml.before-fix.2")).unwrap(), other);
}

#[test]
fn at_a_terminal_a_person_is_asked_and_no_is_no() {
    let world = World::new();
    let path = world.write("forge.toml", OLD);
    let fix = |answer: &str| {
        let mut script = Command::new("script");
        world.surround(&mut script);
        let line = format!("echo {answer} | script -qec '{FORGE} doctor --fix' /dev/null");
        script.args(["-qec", &line, "/dev/null"]).current_dir(&world.repo);
        finish(&mut script)
    };
    let said = fix("n");
    has(&said.out, &["continue? [y/N]", "left   as it is"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), OLD);
    has(&fix("y").out, &["fixed  rewrote"]);
    assert!(fs::read_to_string(&path).unwrap().contains("timeout_minutes = 5 # minutes"));
}

#[test]
fn files_that_are_behind_are_made_anew_and_what_was_left_lying_is_removed() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    let live = world.place().join("runs").join(&run);
    let state = fs::read(live.join("state.json")).unwrap();
    fs::remove_file(live.join("state.json")).unwrap();
    let (old, new) = (live.join(".state.json.new"), live.join(".events.jsonl.new"));
    fs::write(&old, "{").unwrap();
    fs::write(&new, "{").unwrap();
    make_old(&old);
    let check = world.beside("forge-check-0123abcd");
    fs::create_dir(&check).unwrap();
    fs::write(check.join("x"), "").unwrap();
    make_old(&check);
    let scratch = world.write(".forge-123.tmp", "");
    make_old(&scratch);
    let mine = world.write(".forge-mine.tmp", "");
    make_old(&mine);
    let doctor = |args: &[&str]| finish(world.command(args).env("TMPDIR", world.beside("")));
    let said = doctor(&["doctor"]);
    has(&said.out, &["are out of date", "forge doctor --fix (writes them again)"]);
    let said = doctor(&["doctor", "--fix"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.err, &["brought the files of", "removed", "forge-check-0123abcd"]);
    assert_eq!(fs::read(live.join("state.json")).unwrap(), state);
    assert!(!old.exists() && !check.exists() && !scratch.exists());
    assert!(new.exists() && mine.exists(), "what is new or somebody else's stays");
}

#[test]
fn what_the_predecessor_set_and_checkouts_that_were_left_are_only_named() {
    let world = World::new();
    world.scenario(CONTENT);
    world.write(
        ".specs/preferences.json",
        r#"{"auto": true, "nopr": true, "effort": "L", "debug": false}"#,
    );
    assert_eq!(world.run("draft", &["--auto"]).code, DONE);
    let run = world.latest();
    let said = world.ok(&["doctor", "--fix"]);
    has(&said, &["belongs to another program", "forge run --auto --no-pr --effort L"]);
    has(&said, &["1 run that ended left checkouts in", "forge clean -v"]);
    assert!(world.checkouts(&run).is_dir() && world.repo.join(".specs/preferences.json").exists());
}

#[test]
fn settings_of_ones_own_that_are_in_git_are_noted() {
    let world = World::new();
    world.write("forge.local.toml", "flow = \"draft\"\n");
    let said = world.forge(&["doctor"]);
    assert!(!said.out.contains("forge.local.toml"), "{said}");
    world.git(&["add", "forge.local.toml"]);
    let said = world.forge(&["doctor"]);
    has(
        &said.out,
        &["forge.local.toml is in git", "git rm --cached forge.local.toml", ".gitignore"],
    );
}
