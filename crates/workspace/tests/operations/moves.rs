//! Moving the head of a run, and its branch.

use std::{fs, path::PathBuf, thread};

use forge_workspace::{BranchUpdate, CodeHistory, MoveRunHead, Operation, RunHeadUpdate};

use crate::world::{World, failure, moved, write};

/// A world with three commits after each other, and an operation to move to the second.
fn ready() -> (World, [String; 3], MoveRunHead) {
    let world = World::new();
    let commits = ["1", "2", "3"].map(|content| {
        world.write("n", content);
        world.commit(content)
    });
    let operation = MoveRunHead {
        common_dir: world.repository().common_dir,
        name: "refs/forge/run/head".to_owned(),
        from: None,
        to: commits[0].clone(),
        branch: Some("forge/run".to_owned()),
    };
    (world, commits, operation)
}

fn yes(branch: BranchUpdate) -> RunHeadUpdate {
    RunHeadUpdate::Updated { branch }
}

fn next(operation: &MoveRunHead, to: &str) -> MoveRunHead {
    MoveRunHead { from: Some(operation.to.clone()), to: to.to_owned(), ..operation.clone() }
}

#[test]
fn head_and_branch_move_together_and_again() {
    let (world, commits, operation) = ready();
    let before = world.fingerprint();
    assert_eq!(moved(&operation), yes(BranchUpdate::Moved));
    assert_eq!(moved(&operation), yes(BranchUpdate::Moved), "the same again");
    let second = next(&operation, &commits[1]);
    assert_eq!(moved(&second), yes(BranchUpdate::Moved));
    assert_eq!(moved(&second), yes(BranchUpdate::Moved), "the same again");
    let refs = world.git(&["rev-parse", "refs/forge/run/head", "forge/run"]);
    assert_eq!(refs, [commits[1].as_str(), &commits[1]].join("\n"));
    let mut after = world.fingerprint();
    assert!(after.remove(".git/refs/heads/forge/run").is_some());
    assert_eq!(after, before);
    assert_eq!(
        moved(&MoveRunHead { branch: None, ..next(&second, &commits[2]) }),
        yes(BranchUpdate::NotRequested)
    );
}

#[test]
fn whoever_comes_second_is_overtaken() {
    let (world, commits, operation) = ready();
    moved(&operation);
    let wrong =
        MoveRunHead { from: Some(commits[2].clone()), to: commits[1].clone(), ..operation.clone() };
    assert_eq!(moved(&wrong), RunHeadUpdate::Overtaken { at: Some(commits[0].clone()) });
    let missing = MoveRunHead { name: "refs/forge/other/head".to_owned(), ..wrong };
    assert_eq!(moved(&missing), RunHeadUpdate::Overtaken { at: None });
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/head"]), commits[0]);
}

#[test]
fn of_two_at_once_exactly_one_wins() {
    let (world, commits, operation) = ready();
    moved(&operation);
    let racers = [next(&operation, &commits[1]), next(&operation, &commits[2])];
    let ends = thread::scope(|scope| {
        let racers = racers.each_ref().map(|operation| scope.spawn(|| moved(operation)));
        racers.map(|racer| racer.join().unwrap())
    });
    let stands = world.git(&["rev-parse", "refs/forge/run/head"]);
    for (operation, end) in racers.iter().zip(ends) {
        match end {
            RunHeadUpdate::Updated { .. } => assert_eq!(stands, operation.to),
            RunHeadUpdate::Overtaken { at } => {
                assert_ne!(at.as_deref(), Some(operation.to.as_str()));
            }
        }
    }
    assert!(racers.iter().any(|operation| operation.to == stands));
}

#[test]
fn a_branch_that_the_user_moved_is_left_alone() {
    let (world, commits, operation) = ready();
    moved(&operation);
    world.git(&["update-ref", "refs/heads/forge/run", &commits[2]]);
    let left = BranchUpdate::Changed { at: commits[2].clone() };
    assert_eq!(moved(&next(&operation, &commits[1])), yes(left));
    assert_eq!(world.git(&["rev-parse", "forge/run"]), commits[2]);
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/head"]), commits[1]);
}

#[test]
fn a_branch_that_is_checked_out_is_left_alone() {
    let (world, commits, operation) = ready();
    moved(&operation);
    world.git(&["checkout", "-q", "forge/run"]);
    let before = world.fingerprint();
    let left = BranchUpdate::CheckedOut { place: world.root.clone() };
    assert_eq!(moved(&next(&operation, &commits[1])), yes(left));
    assert_eq!(world.fingerprint(), before);
    world.git(&["checkout", "-q", "main"]);
    let linked = world.beside("linked");
    world.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "forge/run"]);
    let left = BranchUpdate::CheckedOut { place: linked };
    assert_eq!(moved(&next(&next(&operation, &commits[1]), &commits[2])), yes(left));
}

#[test]
fn a_branch_in_the_middle_of_a_rebase_or_bisect_is_left_alone() {
    let (world, commits, operation) = ready();
    moved(&operation);
    for (file, content) in
        [("rebase-merge/head-name", "refs/heads/forge/run\n"), ("BISECT_START", "forge/run\n")]
    {
        write(&world.root.join(".git"), file, content);
        let left = BranchUpdate::CheckedOut { place: world.root.join(".git") };
        assert_eq!(moved(&next(&operation, &commits[1])), yes(left), "{file}");
        fs::remove_file(world.root.join(".git").join(file)).unwrap();
    }
    assert_eq!(world.git(&["rev-parse", "forge/run"]), commits[0]);
}

#[test]
fn a_branch_that_git_cannot_write_does_not_stop_the_head() {
    let (world, commits, operation) = ready();
    world.git(&["branch", "forge"]);
    let RunHeadUpdate::Updated { branch: BranchUpdate::Blocked { why } } = moved(&operation) else {
        panic!()
    };
    assert!(why.contains("refs/heads/forge"), "{why}");
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/head"]), commits[0]);
    world.git(&["branch", "-D", "-q", "forge"]);
    write(&world.root.join(".git"), "refs/heads/forge/run.lock", "");
    let RunHeadUpdate::Updated { branch: BranchUpdate::Blocked { why } } =
        moved(&next(&operation, &commits[1]))
    else {
        panic!()
    };
    assert!(why.contains("lock"), "{why}");
    let odd = MoveRunHead {
        branch: Some("a..b".to_owned()),
        ..next(&next(&operation, &commits[1]), &commits[2])
    };
    assert!(matches!(moved(&odd), RunHeadUpdate::Updated { branch: BranchUpdate::Blocked { .. } }));
}

#[test]
fn a_branch_that_is_another_name_of_main_never_moves_main() {
    let (world, commits, operation) = ready();
    world.git(&["branch", "target", &commits[0]]);
    moved(&MoveRunHead { branch: None, ..operation.clone() });
    world.git(&["symbolic-ref", "refs/heads/forge/run", "refs/heads/target"]);
    let RunHeadUpdate::Updated { branch } = moved(&next(&operation, &commits[1])) else { panic!() };
    assert!(matches!(branch, BranchUpdate::Blocked { .. }), "{branch:?}");
    assert_eq!(world.git(&["rev-parse", "target"]), commits[0]);
}

#[test]
fn only_refs_of_forge_move() {
    let (_, _, operation) = ready();
    let operation = MoveRunHead { name: "refs/heads/main".to_owned(), ..operation };
    assert!(failure(&Operation::Move(operation)).what.contains("refs/heads/main"));
}

#[test]
fn settings_for_reflogs_and_hooks_for_refs_break_nothing() {
    let (world, commits, operation) = ready();
    world.git(&["config", "core.logAllRefUpdates", "always"]);
    world.git(&["config", "user.useConfigOnly", "true"]);
    world.git(&["config", "--unset", "user.email"]);
    let hook = world.root.join(".git/hooks/reference-transaction");
    crate::world::write_program(&hook, "exit 1");
    write(&world.root.join(".git"), "logs/refs/heads/forge/run", "");
    assert_eq!(moved(&operation), yes(BranchUpdate::Moved));
    assert_eq!(moved(&next(&operation, &commits[1])), yes(BranchUpdate::Moved));
}

#[test]
fn a_place_is_written_down_exactly() {
    let place = PathBuf::from("/a b");
    let text = serde_json::to_string(&BranchUpdate::CheckedOut { place }).unwrap();
    assert_eq!(text, r#"{"left_checked_out":{"where":"/a b"}}"#);
}

#[test]
fn a_lock_that_a_killed_git_left_on_a_ref_of_forge_is_in_nobodys_way() {
    let (world, commits, operation) = ready();
    let common = world.repository().common_dir;
    for name in ["refs/forge/run/head", "refs/forge/run/calls/0011"] {
        let lock = common.join(format!("{name}.lock"));
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        fs::write(lock, "").unwrap();
    }
    assert_eq!(moved(&operation), yes(BranchUpdate::Moved));
    world.repository().pin("refs/forge/run/calls/0011", &commits[1]).unwrap();
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/head"]), commits[0]);
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/calls/0011"]), commits[1]);
}

#[test]
fn a_lock_on_a_branch_of_the_users_stays() {
    let (world, commits, operation) = ready();
    let lock = world.repository().common_dir.join("refs/heads/forge/run.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let RunHeadUpdate::Updated { branch: BranchUpdate::Blocked { why } } = moved(&operation) else {
        panic!("the head moves, the branch cannot")
    };
    assert!(why.contains("run.lock"), "{why}");
    assert!(lock.exists());
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/head"]), commits[0]);
}

#[test]
fn a_lock_on_the_branch_that_holds_the_commit_to_be_written_is_ours_and_goes() {
    let (world, commits, operation) = ready();
    let lock = world.repository().common_dir.join("refs/heads/forge/run.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, format!("{}\n", commits[0])).unwrap();
    assert_eq!(moved(&operation), yes(BranchUpdate::Moved));
    assert!(!lock.exists());
}

#[test]
fn a_ref_of_forge_is_removed_without_the_lock_that_the_user_needs_too() {
    let (world, commits, _) = ready();
    let repository = world.repository();
    let name = "refs/forge/run/left/0001";
    repository.pin(name, &commits[0]).unwrap();
    let lock = repository.common_dir.join("packed-refs.lock");
    fs::write(&lock, "").unwrap();
    CodeHistory::unpin(&repository, name).unwrap();
    assert_eq!(repository.resolve_commit(name), None);
    CodeHistory::unpin(&repository, name).unwrap();
    assert!(lock.exists(), "it may be of a git of the user's");
    assert!(CodeHistory::unpin(&repository, "refs/heads/main").is_err());
}
