//! Runs that deliver by themselves: the branch is pushed, the pull request opened, and the issue commented, whatever is killed.

use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI32, Ordering},
    },
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    code::{CHECKED, project},
    pull_requests::{Moment, Shared, WORK, forge, gitea, name_host, remote},
    unnamed::short,
    world::{DONE, WAITS, World, finish, has},
};

/// A flow that delivers.
const WHOLE: &str = r#"
[params]
pr = { values = ["yes", "no"], default = "yes" }
source = { values = ["text", "gitea"], default = "text" }

[[stage]]
name = "build"
agent = "worker"
gates = [{ check = "changes" }, { verify = true }, { check = "guarded" }, { land = true }]

[[stage]]
name = "offer"
deliver = "pull-request"
when = { param = "pr", is = ["yes"] }

[[stage]]
name = "summary"
after = ["offer"]
deliver = "summary"
writes = ["summary.md"]

[[stage]]
name = "post"
deliver = "comment"
when = { param = "source", is = ["gitea"] }

[[stage]]
name = "record"
after = ["summary", "post"]
deliver = "commit"
"#;

const AT_END: &str = "[pull_request]\nopen = \"at-end\"\ncomment = \"at-end\"\n";
const TOKEN: (&str, &str) = ("GITEA_TOKEN", "a-token-of-mine-4711");

/// A project at a host, with an issue and these settings of the person.
fn at_host(more: &str) -> (World, String, Shared) {
    let world = project(CHECKED);
    world.scenario(WORK);
    world.flow("whole", WHOLE);
    let (host, kept) = gitea();
    remote(&world, &host, &kept, "origin", "o");
    name_host(&world, &host, more);
    let issue = format!("http://{host}/o/r/issues/12");
    (world, issue, kept)
}

/// What is at the remote: the commit of the run's branch.
fn pushed(world: &World, branch: &str) -> String {
    let bare = world.beside("origin.git");
    let said = world.git(&["ls-remote", bare.to_str().unwrap(), &format!("refs/heads/{branch}")]);
    said.split_whitespace().next().unwrap_or_default().to_owned()
}

/// Exactly one branch, one pull request and one comment, and all of them are of the result.
fn is_delivered_once(world: &World, kept: &Shared) {
    let run = world.latest();
    let view = world.view(&run);
    let (branch, head) = (view["branch"].as_str().unwrap(), view["head"].as_str().unwrap());
    assert_eq!(pushed(world, branch), head, "the last commit is at the remote");
    let bare = world.beside("origin.git");
    let heads = world.git(&["ls-remote", "--heads", bare.to_str().unwrap()]);
    assert_eq!(heads.lines().count(), 1, "{heads}");
    let kept = kept.lock().unwrap();
    assert_eq!(kept.pulls.len(), 1);
    assert_eq!(kept.comments.len(), 1);
    assert_eq!(view["pull_request"], kept.pulls[0]["html_url"]);
    let body = kept.pulls[0]["body"].as_str().unwrap();
    has(body, &["## Verification\n", "Closes #12", "<summary>Summary of the run</summary>"]);
    let address = kept.pulls[0]["html_url"].as_str().unwrap();
    has(kept.comments[0]["body"].as_str().unwrap(), &[address]);
    let comment = kept.comments[0]["body"].as_str().unwrap();
    for text in [body, comment] {
        has(text, &[": done, "]);
        assert!(!text.contains("not over yet") && !text.contains("is being saved"), "{text}");
    }
    let summary = world.git(&["show", &format!("{head}:.forge/runs/{run}/summary.md")]);
    has(&summary, &[&format!("pull request: {address}")]);
}

#[test]
fn a_run_from_an_issue_opens_its_pull_request_and_comments_at_the_issue() {
    let (world, issue, kept) = at_host(AT_END);
    let said = forge(&world, &["run", "--flow", "whole", &issue]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.all(), &["the branch is pushed, and its pull request opened at 127.0.0.1:"]);
    has(&said.out, &["  Opened  http://127.0.0.1:", "/o/r/pulls/1\n"]);
    is_delivered_once(&world, &kept);
    has(&world.ok(&["show"]), &["opened   http://127.0.0.1:"]);
    // What a person does later is about the same pull request.
    has(&forge(&world, &["pr", "--yes"]).out, &["Updated http://127.0.0.1:"]);
    assert_eq!(kept.lock().unwrap().pulls.len(), 1);
    let branch = world.view(&world.latest())["branch"].as_str().unwrap().to_owned();
    kept.lock().unwrap().pulls[0]["head"]["sha"] = pushed(&world, &branch).into();
    let said = forge(&world, &["merge", "--yes"]);
    has(&said.all(), &["Merged http://127.0.0.1:"]);
}

#[test]
fn a_flag_opens_a_pull_request_and_one_keeps_it_from_being_opened() {
    let (world, _, kept) = at_host("");
    let run = |flags: &[&str]| {
        let said = forge(&world, &[&["run", "--flow", "whole", "do it"], flags].concat());
        assert_eq!(said.code, DONE, "{said}");
        said
    };
    run(&[]);
    assert!(kept.lock().unwrap().pulls.is_empty());
    has(&run(&["--pr"]).out, &["/o/r/pulls/1"]);
    assert_eq!(kept.lock().unwrap().comments.len(), 0, "nobody asked for a comment");
    let host = fs::read_to_string(world.user_file()).unwrap();
    fs::write(world.user_file(), format!("{host}{AT_END}")).unwrap();
    run(&["--no-pr"]);
    assert_eq!(kept.lock().unwrap().pulls.len(), 1);
    has(&world.refused(&["run", "--flow", "one", "--pr", "do it"]), &["opens no pull request"]);
    has(&world.refused(&["run", "--pr", "--no-pr", "do it"]), &["--pr", "--no-pr"]);
}

#[test]
fn what_a_pull_request_would_fail_by_is_said_before_the_run_begins() {
    let (world, issue, _) = at_host("");
    let whole = ["run", "--flow", "whole", "--pr", "do it"];
    has(&world.refused(&whole), &["there is no token for 127.0.0.1:", "GITEA_TOKEN"]);
    let host = fs::read_to_string(world.user_file()).unwrap();
    fs::write(world.user_file(), format!("{host}[pull_request]\ncomment = \"at-end\"\n")).unwrap();
    let commented = ["run", "--flow", "whole", &issue];
    has(&world.refused(&commented), &["there is no token for a comment at 127.0.0.1:"]);
    fs::write(world.user_file(), host).unwrap();
    world.git(&["remote", "remove", "origin"]);
    has(&world.refused(&whole), &["needs a remote", "or: forge run --flow whole 'do it'"]);
    assert!(world.ids().is_empty());
    // A setting is for all repositories.
    fs::write(world.user_file(), AT_END).unwrap();
    let said = world.run("whole", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.all(), &["no pull request will be opened: "]);
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("{settings}\n{AT_END}"));
    has(&world.refused(&["run", "do it"]), &["is a personal setting, not one of a repository"]);
}

#[test]
fn a_push_that_is_refused_is_asked_about_and_goes_on_with_an_answer() {
    let (world, issue, kept) = at_host(AT_END);
    let hook = world.beside("origin.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho 'no forge here'; exit 1\n").unwrap();
    world.git(&["update-index", "--refresh"]);
    finish(std::process::Command::new("chmod").arg("+x").arg(&hook));
    let said = forge(&world, &["run", "--flow", "whole", &issue]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["was not pushed to origin: no forge here; [remote rejected]"]);
    assert!(kept.lock().unwrap().pulls.is_empty());
    fs::remove_file(&hook).unwrap();
    let run = world.latest();
    let said = forge(&world, &["retry", short(&run)]);
    assert_eq!(said.code, DONE, "{said}");
    is_delivered_once(&world, &kept);
}

/// The marks of what the run did outside.
fn marks(world: &World, run: &str) -> Vec<String> {
    let done = world.facts(run).into_iter().filter_map(|fact| {
        fact.get("effect_done").map(|done| done["mark"].as_str().unwrap().to_owned())
    });
    done.collect()
}

#[test]
fn a_pull_request_that_is_merged_before_the_run_is_done_stays_as_it_is_and_the_run_is_done() {
    let (world, issue, kept) = at_host(AT_END);
    let shared = Arc::clone(&kept);
    // Merged between the comment and the last commit.
    kept.lock().unwrap().after_comment = Some(Box::new(|kept| {
        kept.pulls[0]["state"] = "closed".into();
        kept.pulls[0]["merged"] = true.into();
    }));
    let said = forge(&world, &["run", "--flow", "whole", &issue]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["is merged: the last commit of the run was not pushed"]);
    let view = world.view(&world.latest());
    let landed = pushed(&world, view["branch"].as_str().unwrap());
    assert_ne!(landed, view["head"].as_str().unwrap(), "a branch that was merged is not pushed to");
    let kept = shared.lock().unwrap();
    assert!(!kept.changes.iter().any(|change| change.starts_with("PATCH")), "{:?}", kept.changes);
}

#[test]
fn without_a_last_commit_the_pull_request_still_gets_the_summary() {
    let (world, issue, kept) = at_host(AT_END);
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("{settings}\n[land]\nrecord = \"none\"\n"));
    let said = forge(&world, &["run", "--flow", "whole", &issue]);
    assert_eq!(said.code, DONE, "{said}");
    let view = world.view(&world.latest());
    assert_eq!(pushed(&world, view["branch"].as_str().unwrap()), view["head"].as_str().unwrap());
    let kept = kept.lock().unwrap();
    has(kept.pulls[0]["body"].as_str().unwrap(), &["<summary>Summary of the run</summary>"]);
}

#[test]
fn the_first_push_makes_a_new_branch_and_nothing_is_written_over() {
    let (world, issue, kept) = at_host(AT_END);
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("{settings}\n[land]\nbranch = \"production\"\n"));
    let bare = world.beside("origin.git");
    world.git(&["push", "--quiet", bare.to_str().unwrap(), "main:production"]);
    let before = pushed(&world, "production");
    let said = forge(&world, &["run", "--flow", "whole", &issue]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["production was not pushed to origin: [rejected] (stale info)"]);
    assert_eq!(pushed(&world, "production"), before);
    assert!(kept.lock().unwrap().pulls.is_empty());
}

#[test]
fn a_run_that_goes_on_from_an_older_one_touches_nothing_of_its_pull_request() {
    let (world, issue, kept) = at_host(AT_END);
    assert_eq!(forge(&world, &["run", "--flow", "whole", &issue]).code, DONE);
    let first = world.latest();
    let n_changes = kept.lock().unwrap().changes.len();
    let said = forge(&world, &["rewind", short(&first), "record"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(kept.lock().unwrap().pulls.len(), 1);
    assert_eq!(
        kept.lock().unwrap().changes.len(),
        n_changes,
        "{:?}",
        marks(&world, &world.latest())
    );
}

#[test]
fn an_agent_that_starts_the_program_of_deliveries_is_refused() {
    let (world, issue, kept) = at_host("");
    let forge_program = crate::world::FORGE;
    world.write("order.json", r#"{"run": "x", "what": "pull-request"}"#);
    world.scenario(&format!(
        "[[play]]\nrole = \"worker\"\nrun = \"{forge_program} __outside order.json made.json 2> src/said.txt; echo $? >> src/said.txt\"\n"
    ));
    let said = forge(&world, &["run", "--flow", "whole", &issue]);
    assert_eq!(said.code, DONE, "{said}");
    let branch = world.view(&world.latest())["branch"].as_str().unwrap().to_owned();
    let said = world.git(&["show", &format!("{branch}:src/said.txt")]);
    has(&said, &["only Forge itself starts it", "70"]);
    assert!(kept.lock().unwrap().pulls.is_empty());
}

/// Kills the driver of a run, its keepers, and what they run.
fn kill_all(driver: &AtomicI32, folder: &str) {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let of_world = pids.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let command = fs::read(entry.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).into_owned();
        (command.contains("\0__") && command.contains(folder)).then_some(pid)
    });
    for pid in [driver.load(Ordering::SeqCst)].into_iter().chain(of_world) {
        let _gone = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
}

#[test]
fn whatever_is_killed_around_an_effect_there_is_one_branch_one_pull_request_and_one_comment() {
    let changes = ["POST /o/r/pulls", "comments", "PATCH"];
    for (at, moment) in
        (0..changes.len()).flat_map(|at| [(at, Moment::Before), (at, Moment::After)])
    {
        let (world, issue, kept) = at_host(AT_END);
        let driver = Arc::new(AtomicI32::new(0));
        let killed = Arc::new(AtomicI32::new(0));
        let kills = Arc::clone(&killed);
        let (own, seen) = (Arc::clone(&driver), Arc::new(Mutex::new(0)));
        let folder = world.beside("").to_str().unwrap().to_owned();
        let counted = Arc::clone(&seen);
        kept.lock().unwrap().watch = Some(Box::new(move |_, now| {
            let mut n = counted.lock().unwrap();
            if *n == at && now == moment {
                kills.fetch_add(1, Ordering::SeqCst);
                kill_all(&own, &folder);
            }
            if now == Moment::After {
                *n += 1;
            }
        }));
        let mut command = world.command(&["run", "--flow", "whole", &issue]);
        let running = crate::world::Running::of(command.env(TOKEN.0, TOKEN.1));
        driver.store(running.pid().cast_signed(), Ordering::SeqCst);
        running.end();
        assert_ne!(killed.load(Ordering::SeqCst), 0, "it was killed at {}", changes[at]);
        let said = forge(&world, &["resume"]);
        assert_eq!(said.code, DONE, "killed {moment:?} {}: {said}", changes[at]);
        is_delivered_once(&world, &kept);
    }
}

#[test]
fn a_driver_that_is_killed_while_git_pushes_leaves_one_branch() {
    for hook in ["pre-receive", "post-receive"] {
        let (world, issue, kept) = at_host(AT_END);
        let place = world.beside("origin.git");
        let text = "#!/bin/sh\n[ -e killed ] || { touch killed; kill -9 $(cat driver.pid); }\n";
        fs::write(place.join("hooks").join(hook), text).unwrap();
        finish(std::process::Command::new("chmod").arg("+x").arg(place.join("hooks").join(hook)));
        let mut command = world.command(&["run", "--flow", "whole", &issue]);
        let running = crate::world::Running::of(command.env(TOKEN.0, TOKEN.1));
        fs::write(place.join("driver.pid"), running.pid().to_string()).unwrap();
        running.end();
        assert!(place.join("killed").exists(), "it was killed in {hook}");
        let said = forge(&world, &["resume"]);
        assert_eq!(said.code, DONE, "{hook}: {said}");
        is_delivered_once(&world, &kept);
    }
}
