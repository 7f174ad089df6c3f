//! `forge undo`: what a run left at a host of our own on 127.0.0.1, in a bare repository and here, and what stays.

use serde_json::json;

use crate::{
    code::{CHECKED, project},
    pull_requests::{Shared, WORK, at_host, forge, gitea, name_host, remote},
    takes::{branch, done},
    unnamed::short,
    world::{DONE, ESCALATED, WAITS, WRONG, World, has},
};

/// A run that is done, with its pull request and the name of its branch.
fn offered() -> (World, String, Shared, String) {
    let (world, run, kept) = at_host("");
    assert_eq!(forge(&world, &["pr", "--yes"]).code, DONE);
    let branch = branch(&world, &run);
    (world, run, kept, branch)
}

/// The branches here, or in the bare repository `origin.git`.
fn here(world: &World) -> String {
    world.git(&["for-each-ref", "refs/heads/"])
}

fn there(world: &World) -> String {
    world.git(&["ls-remote", world.beside("origin.git").to_str().unwrap(), "refs/heads/*"])
}

fn rescue(run: &str) -> String {
    format!("refs/forge/rescue/{run}")
}

#[test]
fn a_whole_run_is_undone_after_a_yes_and_its_commits_can_be_brought_back() {
    let world = project(CHECKED);
    world.scenario(WORK);
    let (host, kept) = gitea();
    remote(&world, &host, &kept, "origin", "o");
    name_host(&world, &host, "");
    let issue = format!("http://{host}/o/r/issues/12");
    assert_eq!(forge(&world, &["run", "--flow", "one", &issue]).code, DONE);
    assert_eq!(forge(&world, &["pr", "--yes", "--comment"]).code, DONE);
    let run = world.latest();
    let (id, branch) = (short(&run), branch(&world, &run));
    let head = world.git(&["rev-parse", &branch]);
    let theirs = json!({"id": 7, "body": "Thanks!", "user": {"id": 1}});
    kept.lock().unwrap().comments.push(theirs.clone());
    let before = kept.lock().unwrap().changes.len();
    let said = forge(&world, &["undo", id]);
    assert_eq!(said.code, WAITS, "{said}");
    let steps = [
        &format!("  close http://{host}/o/r/pulls/1\n"),
        &format!("  delete the branch {branch} at origin\n"),
        &format!("  delete Forge's comment at {issue}\n"),
        &format!("  delete the branch {branch} here\n"),
        "  remove its checkouts and logs\n",
    ];
    has(&said.out, &steps);
    has(&said.err, &["needs your yes", &format!("help: forge undo {id} --yes")]);
    assert_eq!(kept.lock().unwrap().changes.len(), before, "nothing was asked for");
    assert!(here(&world).contains(&branch) && there(&world).contains(&branch));

    let said = forge(&world, &["undo", id, "--yes"]);
    assert_eq!(said.code, DONE, "{said}");
    let restore = format!("git branch {branch} {}", rescue(&run));
    has(&said.out, &[&restore, &format!("{id} is undone.")]);
    has(&world.ok(&["status"]), &[&format!("■ {id}  undone")]);
    has(&world.ok(&["status", id]), &[&format!("Next: forge show {id} · forge undo {id}")]);
    for command in ["merge", "pr"] {
        has(
            &world.refused(&[command, id]),
            &[&format!("{id} was undone; its commits are kept"), &format!("help: {restore}")],
        );
    }
    has(&world.refused(&["merge", "--yes"]), &["was undone; its commits are kept"]);
    {
        let kept = kept.lock().unwrap();
        assert_eq!(kept.pulls[0]["state"], "closed");
        assert_eq!(kept.comments, [theirs]);
    }
    assert!(!here(&world).contains(&branch) && !there(&world).contains(&branch));
    assert!(!world.place().join("attempts").join(&run).exists());
    has(&forge(&world, &["undo", id]).out, &["Nothing left to undo.", &restore]);

    world.git(&restore.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(world.git(&["rev-parse", &branch]), head);
}

#[test]
fn a_run_without_a_remote_is_undone_here() {
    let (world, run) = done(CHECKED);
    let branch = branch(&world, &run);
    let said = world.ok(&["undo", &run, "-y"]);
    assert!(!said.contains("close") && !said.contains(" at "), "{said}");
    assert!(!here(&world).contains(&branch));
    world.git(&["rev-parse", "--verify", &rescue(&run)]);
    has(&world.ok(&["undo", &run, "-y"]), &["Nothing left to undo."]);
    has(&world.ok(&["show", &run]), &["done"]);
}

#[test]
fn what_another_added_to_the_branch_stays() {
    let (world, run, kept, branch) = offered();
    let tree = format!("{branch}^{{tree}}");
    let more = world.git(&["commit-tree", "-p", &branch, "-m", "more", &tree]);
    let to = format!("{}:refs/heads/{branch}", more.trim());
    world.git(&["push", "--quiet", "origin", &to]);
    let said = forge(&world, &["undo", &run, "--yes"]);
    assert_eq!(said.code, DONE, "{said}");
    let stays = "it has commits that are not of this run";
    has(&said.out, &[&format!("  keep the branch {branch} at origin: {stays}")]);
    assert_eq!(kept.lock().unwrap().pulls[0]["state"], "closed");
    has(&there(&world), &[more.trim()]);
    assert!(!here(&world).contains(&branch));
}

#[test]
fn a_pull_request_with_the_words_of_another_stays_open_and_keeps_its_branch() {
    let (world, run, kept, branch) = offered();
    kept.lock().unwrap().pulls[0]["body"] = "What a person wrote.".into();
    let said = forge(&world, &["undo", &run, "--yes"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["/o/r/pulls/1: its text is not of this run any more"]);
    assert_eq!(kept.lock().unwrap().pulls[0]["state"], "open");
    has(&there(&world), &[&branch]);
}

#[test]
fn a_branch_that_is_checked_out_stays() {
    let (world, run) = done(CHECKED);
    let branch = branch(&world, &run);
    world.git(&["switch", "--quiet", &branch]);
    let said = world.ok(&["undo", &run, "-y"]);
    has(&said, &[&format!("  keep the branch {branch}: it is checked out in ")]);
    has(&here(&world), &[&branch]);
}

#[test]
fn what_is_merged_is_not_undone() {
    let (world, run, kept, branch) = offered();
    kept.lock().unwrap().pulls[0]["merged"] = true.into();
    kept.lock().unwrap().pulls[0]["head"]["sha"] =
        "3333333333333333333333333333333333333333".into();
    let refused = |why: &str| {
        let said = forge(&world, &["undo", &run, "--yes"]);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &[why, "Forge does not undo what is merged", "help: git revert "]);
    };
    refused("was merged by its pull request: http://127.0.0.1:");
    assert_eq!(forge(&world, &["merge", &run, "--yes", "--local"]).code, DONE);
    refused("is merged into main");
    assert!(here(&world).contains(&branch) && there(&world).contains(&branch));
}

#[test]
fn after_an_error_of_the_host_a_second_try_finishes_the_rest() {
    let (world, run, kept, branch) = offered();
    kept.lock().unwrap().n_failing = 1;
    let said = forge(&world, &["undo", &run, "--yes"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["failed with 500", &format!("then: forge undo {}", short(&run))]);
    world.git(&["rev-parse", "--verify", &rescue(&run)]);
    has(&here(&world), &[&branch]);
    // What is lost after its effect is there the next time.
    kept.lock().unwrap().n_lost = 5;
    assert_eq!(forge(&world, &["undo", &run, "--yes"]).code, WRONG);
    assert_eq!(kept.lock().unwrap().pulls[0]["state"], "closed");
    kept.lock().unwrap().n_lost = 0;
    let said = forge(&world, &["undo", &run, "--yes"]);
    assert_eq!(said.code, DONE, "{said}");
    assert!(!said.out.contains("close http"), "{said}");
    assert!(!here(&world).contains(&branch) && !there(&world).contains(&branch));
    has(&forge(&world, &["undo", &run]).out, &["Nothing left to undo."]);
}

#[test]
fn a_pull_request_that_was_not_remembered_is_found_by_its_branches_and_mark() {
    let (world, run, kept, _) = offered();
    std::fs::remove_file(world.place().join("runs").join(&run).join("pull-request.json")).unwrap();
    assert_eq!(forge(&world, &["undo", &run, "--yes"]).code, DONE);
    assert_eq!(kept.lock().unwrap().pulls[0]["state"], "closed");
}

#[test]
fn a_run_that_is_not_over_is_not_undone() {
    let world = project(CHECKED);
    world.scenario("[[play]]\nrole = \"worker\"\nfiles = { \"src/b.txt\" = \"broken\\n\" }\n");
    assert_eq!(world.run("one", &[]).code, ESCALATED);
    let run = world.latest();
    let help = format!("help: forge abandon {}", short(&run));
    has(&world.refused(&["undo", &run, "--yes"]), &["is not over (needs attention)", &help]);
    world.ok(&["abandon", "--yes", &run]);
    has(&world.ok(&["undo", &run, "--yes"]), &["remove its checkouts and logs", "is undone."]);
    has(&world.refused(&["undo"]), &["RUN"]);
}
