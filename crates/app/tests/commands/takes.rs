//! What a person does with a result: `diff`, `open`, `merge`, `pr` and `clean`.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::{
    code::{CHECKED, project},
    unnamed::short,
    world::{DONE, ESCALATED, WAITS, World, has, pty::Person},
};

/// A worker who changes a file and adds one.
const WORK: &str = "[[play]]\nrole = \"worker\"\nrun = \"echo two >> src/a.txt; echo new > src/b.txt\"\nresult = { summary = \"done\" }\n";

/// A project with a run that is done.
pub(crate) fn done(settings: &str) -> (World, String) {
    let world = project(settings);
    world.scenario(WORK);
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    (world, run)
}

/// The branch of a run, as `status --json` names it.
pub(crate) fn branch(world: &World, run: &str) -> String {
    world.view(run)["branch"].as_str().unwrap().to_owned()
}

#[test]
fn a_diff_shows_the_change_its_sum_or_its_names() {
    let (world, run) = done(CHECKED);
    has(&world.ok(&["diff"]), &["+two", "+new"]);
    assert_eq!(world.ok(&["diff", short(&run), "--name-only"]), "src/a.txt\nsrc/b.txt\n");
    has(&world.ok(&["diff", "--stat"]), &["src/a.txt | +1 -0", "2 files changed, 2 insertions(+)"]);
    has(&world.ok(&["diff", "build"]), &["+two"]);
    has(&world.ok(&["diff", "build", "--stat"]), &["src/b.txt | +1 -0", "2 files changed"]);
    assert_eq!(world.ok(&["diff", "build", "--name-only"]), "src/a.txt\nsrc/b.txt\n");
    assert!(!world.ok(&["diff"]).contains(".forge/"), "the record is no part of it");
    let commit = world.git(&["log", "-1", "--format=%H", &branch(&world, &run)]);
    has(&world.ok(&["show"]), &[&format!("{} done", &commit[..7])]);
}

#[test]
fn the_change_of_a_run_that_failed_is_named_where_nothing_is_merged() {
    let world = project(CHECKED);
    world.scenario("[[play]]\nrole = \"worker\"\nfiles = { \"src/b.txt\" = \"broken\\n\" }\n");
    assert_eq!(world.run("one", &[]).code, ESCALATED);
    let run = world.latest();
    let id = short(&run);
    let next = format!("Nothing is merged yet. The change so far: forge diff {id} build");
    has(&world.ok(&["diff", &run]), &[&next]);
    has(&world.ok(&["diff", &run, "build"]), &["+broken"]);
    let refused = world.refused(&["merge", &run]);
    has(&refused, &[&format!("help: forge log {id}"), &format!("or: forge resume {id}")]);
    has(&world.refused(&["merge", &run, "--unverified"]), &["is not done (needs attention)"]);
}

#[test]
fn colours_that_are_wanted_are_there_in_a_pipe_too_and_no_others() {
    let (world, _) = done(CHECKED);
    for command in ["status", "log", "diff", "doctor", "show"] {
        let with = world.ok(&["--color", "always", command]);
        let plain = world.ok(&[command]);
        assert!(!plain.contains('\x1b'), "{command}: {plain}");
        assert!(with.contains('\x1b'), "{command}: {with}");
    }
    assert!(world.ok(&["log"]).contains("✓ "), "a symbol says what the colour says");
}

#[test]
fn a_result_that_nothing_verified_has_no_check_mark() {
    let world = project("[verify]\ncommands = []\n");
    world.scenario(WORK);
    assert_eq!(world.run("one", &[]).code, WAITS);
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "waive", "verify", "only text"]);
    assert_eq!(world.forge(&["resume", &run]).code, DONE);
    for said in [world.ok(&["status"]), world.ok(&["show"])] {
        assert!(said.starts_with("! "), "{said}");
        has(&said, &["unverified"]);
    }
    assert_eq!(world.view(&run)["doubt"], "unverified");
    let said = world.ok(&["status", short(&run)]);
    assert!(said.lines().next().unwrap().ends_with("! unverified"), "{said}");
    let said = world.forge(&["pr", "--yes"]);
    assert_eq!(said.code, 2, "{said}");
    has(&said.err, &["no remote is set, so nothing was pushed and no pull request was opened"]);
}

#[test]
fn a_run_that_changed_nothing_says_so() {
    let world = World::new();
    world.flow("nothing", "[[stage]]\nname = \"a\"\ncommand = \"true\"\n");
    assert_eq!(world.run("nothing", &[]).code, DONE);
    for args in [&["diff"][..], &["diff", "--stat"], &["diff", "--name-only"]] {
        has(&world.ok(args), &["This run changed no files. Next: forge show "]);
    }
    has(&world.refused(&["merge"]), &["changed nothing"]);
    has(&world.refused(&["pr"]), &["changed no files, so there is no pull request to open"]);
}

#[test]
fn a_checkout_is_named_for_a_run_and_for_a_task() {
    let (world, run) = done(CHECKED);
    let tree = world.work(&run);
    assert_eq!(world.ok(&["open"]).trim(), tree.to_str().unwrap());
    assert_eq!(world.ok(&["open", short(&run), "build", "--print"]).trim(), tree.to_str().unwrap());
    has(&world.refused(&["open", "T9"]), &["T9"]);
    let mut command = world.command_as_it_is(&["open"]);
    command.env("SHELL", "/bin/sh");
    let mut person = Person::at(&world, &["open"]);
    person.until_sees("opening");
    // What is typed before the prompt is echoed, too.
    person.press("test -f src/b.txt && echo he''re\r");
    person.until_sees("here");
    person.press("exit\r");
    assert_eq!(person.end(), DONE);
}

#[test]
fn a_merge_needs_a_yes_and_then_moves_the_branch() {
    let (world, run) = done(CHECKED);
    let before = world.git(&["rev-parse", "main"]);
    let said = world.forge(&["merge"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["into main (fast-forward)", "src/b.txt | +1 -0"]);
    has(&said.err, &["needs your yes", &format!("help: forge merge {} --yes", short(&run))]);
    assert_eq!(world.git(&["rev-parse", "main"]), before);
    let mut person = Person::at(&world, &["merge"]);
    person.until_sees("Merge into main? [y/N]");
    person.press("n\r");
    assert_eq!(person.end(), WAITS, "{}", person.screen());
    assert_eq!(world.git(&["rev-parse", "main"]), before);
    has(&world.ok(&["status"]), &["  done  "]);
    has(&world.ok(&["merge", "-y"]), &["Merged into main"]);
    has(&world.ok(&["status"]), &["✓ ", "  merged  "]);
    for said in [world.ok(&["resume", &run]), world.ok(&["status", &run])] {
        has(&said, &[&format!("forge show {} · forge clean", short(&run))]);
        assert!(!said.contains("forge merge"), "{said}");
    }
    has(&world.ok(&["show"]), &["merged"]);
    assert_eq!(world.git(&["rev-parse", "main"]), world.git(&["rev-parse", &branch(&world, &run)]));
    assert_eq!(fs::read_to_string(world.repo.join("src/b.txt")).unwrap(), "new\n");
    has(&world.ok(&["merge", &run]), &["main already contains the result", "already"]);
}

#[test]
fn a_merge_keeps_what_came_meanwhile_and_runs_the_hooks_of_the_user() {
    let (world, _) = done(CHECKED);
    world.write("mine.txt", "mine\n");
    world.git(&["add", "mine.txt"]);
    world.git(&["commit", "--quiet", "-m", "mine"]);
    let hook = world.write(".git/hooks/pre-merge-commit", "#!/bin/sh\ntouch \"$PWD/../asked\"\n");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    has(&world.ok(&["merge", "--yes"]), &["(merge commit)", "Merged into main"]);
    assert_eq!(world.git(&["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(), 3);
    assert!(world.repo.join("mine.txt").exists() && world.repo.join("src/b.txt").exists());
    assert!(world.beside("asked").exists(), "the hook ran");
}

#[test]
fn a_merge_that_cannot_be_leaves_everything_as_it_was() {
    let (world, run) = done(CHECKED);
    let head = world.git(&["rev-parse", "HEAD"]);
    world.write("src/a.txt", "changed\n");
    has(&world.refused(&["merge", "-y"]), &["not committed, such as src/a.txt", "help: git stash"]);
    world.git(&["checkout", "--quiet", "--detach"]);
    world.git(&["checkout", "--quiet", "src/a.txt"]);
    has(&world.refused(&["merge", "-y"]), &["no branch is checked out", "help: git switch"]);
    world.git(&["switch", "--quiet", "main"]);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    // The same place was changed meanwhile.
    world.write("src/a.txt", "one\nanother\n");
    world.git(&["commit", "--quiet", "-am", "another"]);
    let head = world.git(&["rev-parse", "HEAD"]);
    let refused = world.refused(&["merge", "-y"]);
    has(
        &refused,
        &["conflicts with your branch in src/a.txt", "nothing was merged", "help: git merge"],
    );
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    // A hook that says no.
    world.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    world.write("mine.txt", "mine\n");
    world.git(&["add", "mine.txt"]);
    world.git(&["commit", "--quiet", "-m", "mine"]);
    let hook =
        world.write(".git/hooks/pre-merge-commit", "#!/bin/sh\necho not on a friday; exit 1\n");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    let head = world.git(&["rev-parse", "HEAD"]);
    let said = world.forge(&["merge", &run, "-y"]);
    assert_ne!(said.code, DONE, "{said}");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    assert!(!world.repo.join(".git/MERGE_HEAD").exists());
}

#[test]
fn a_result_without_proof_needs_a_yes_of_its_own() {
    let world = project("");
    world.git(&["rm", "--quiet", "-r", "check.sh", "tests"]);
    world.git(&["commit", "--quiet", "-m", "no checks"]);
    world.scenario(WORK);
    assert_eq!(world.run("one", &[]).code, WAITS);
    world.ok(&["answer", "Q1", "waive", "verify", "I looked"]);
    assert_eq!(world.forge(&["resume"]).code, DONE);
    let id = short(&world.latest()).to_owned();
    let said = world.forge(&["merge"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["needs your yes, and the result is not verified", "--yes --unverified"]);
    let said = world.forge(&["merge", "-y"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["not verified", &format!("help: forge merge {id} --yes --unverified")]);
    has(&world.ok(&["merge", "-y", "--unverified"]), &["Merged into main"]);
}

#[test]
fn a_run_that_is_not_done_is_not_merged() {
    let world = World::new();
    world.scenario(crate::world::CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    for (command, none) in [
        ("merge", "no run has a result to merge"),
        ("pr", "no run has a result for a pull request"),
    ] {
        has(&world.refused(&[command, &run]), &["is not done (needs you)", "help: forge attach"]);
        has(&world.refused(&[command]), &[none, "help: forge status"]);
    }
}

#[test]
fn a_pull_request_is_printed_with_the_page_that_opens_it() {
    let (world, run) = done(CHECKED);
    has(&world.forge(&["pr", "--print"]).err, &["\nNext:\n  git remote add origin URL"]);
    let refused = world.refused(&["pr"]);
    has(&refused, &["no remote is set, so nothing was pushed", "help: git remote add origin URL"]);
    assert!(!refused.contains("Next:"), "it is said once: {refused}");
    world.git(&["remote", "add", "origin", "https://me:s3cret@github.com/me/tool.git"]);
    let said = world.forge(&["pr", &run, "--print"]);
    assert_eq!(said.code, DONE, "{said}");
    let page =
        format!("https://github.com/me/tool/compare/main...{}?expand=1", branch(&world, &run));
    has(&said.err, &[&format!("git push -u origin refs/heads/{}:", branch(&world, &run)), &page]);
    assert!(said.out.starts_with("# "), "{said}");
    has(&said.out, &["## Request\n\n> ", "## Verification\n\n- `", "`: passed"]);
    assert_eq!(said.out.matches("\n# ").count(), 0, "one title: {said}");
    assert!(!said.all().contains("s3cret"), "{said}");
}

#[test]
fn only_what_is_merged_or_empty_is_cleaned_and_only_by_force() {
    let (world, merged) = done(CHECKED);
    world.ok(&["merge", "-y"]);
    assert_eq!(world.run("one", &[]).code, DONE);
    let unmerged = world.latest();
    assert_ne!(merged, unmerged);
    let shown = world.ok(&["show", &merged]);
    let said = world.ok(&["clean"]);
    has(&said, &["would free", short(&merged), "it is merged into main", "forge clean --force"]);
    assert!(!said.contains(&format!("  {}  ", short(&unmerged))), "{said}");
    has(&world.ok(&["clean", "-v"]), &["keeps", short(&unmerged), "its result is not merged"]);
    let said = world.ok(&["clean", "-v", "--force", "--older-than", "1h"]);
    has(&said, &["Nothing to clean.", short(&merged), "it is not old enough"]);
    has(&said, &["of 2 runs: not merged, not old enough, or not finished"]);
    has(&world.ok(&["clean", "--older-than", "0h"]), &["would free", short(&merged)]);
    has(
        &world.refused(&["clean", "--older-than", "30m"]),
        &["use hours, days or weeks", "help: forge clean --older-than 30d"],
    );
    assert!(world.work(&merged).is_dir(), "nothing is removed without --force");
    let said = world.ok(&["clean", "--force"]);
    has(&said, &["freed", "Freed "]);
    assert!(!world.place().join("attempts").join(&merged).exists());
    assert!(
        !world
            .beside(".local/state/forge")
            .read_dir()
            .unwrap()
            .flatten()
            .any(|of_one| { of_one.path().join(&merged).exists() })
    );
    assert!(world.work(&unmerged).is_dir(), "what is not merged stays");
    assert_eq!(world.ok(&["show", &merged]), shown, "the result is still known");
    world.ok(&["log", &merged]);
    world.ok(&["status", &merged]);
    world.ok(&["doctor"]);
    has(&world.ok(&["clean"]), &["Nothing to clean."]);
}

#[test]
fn what_somebody_changed_by_hand_or_can_continue_is_never_cleaned() {
    let (world, merged) = done(CHECKED);
    world.ok(&["merge", "-y"]);
    let file = world.work(&merged).join("src/by-hand.txt");
    fs::write(&file, "mine\n").unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    fs::File::open(&file).unwrap().set_modified(later).unwrap();
    has(&world.ok(&["clean", "-v"]), &["Nothing to clean.", "files were changed after its end"]);
    world.scenario(&WORK.replace("echo two", "echo broken"));
    world.write("play.toml", format!("scenario = 1\n{}", WORK.replace("echo two", "echo broken")));
    let said = world.forge(&["run", "--flow", "one", "break it"]);
    assert_ne!(said.code, DONE, "{said}");
    let stopped = world.latest();
    has(&world.ok(&["clean", "-v"]), &["Nothing to clean.", short(&stopped), "can be continued"]);
    world.ok(&["abandon", "--yes", &stopped]);
    let said = world.ok(&["clean", "-v", "--force"]);
    has(&said, &["it was abandoned with work that is not merged"]);
    assert!(world.work(&stopped).is_dir() && file.exists());
}
