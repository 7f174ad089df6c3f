//! Moving the head of a run, and its branch.

use std::{fs, path::PathBuf, thread};

use forge_workspace::{BranchMoved, HasMoved, Move, Order};

use crate::world::{World, failure, moved, write};

/// A world with three commits after each other, and an order to move to the second.
fn ready() -> (World, [String; 3], Move) {
    let world = World::new();
    let commits = ["1", "2", "3"].map(|content| {
        world.write("n", content);
        world.commit(content)
    });
    let order = Move {
        common_dir: world.repository().common_dir,
        name: "refs/forge/run/head".to_owned(),
        from: None,
        to: commits[0].clone(),
        branch: Some("forge/run".to_owned()),
    };
    (world, commits, order)
}

fn yes(branch: BranchMoved) -> HasMoved {
    HasMoved::Yes { branch }
}

fn next(order: &Move, to: &str) -> Move {
    Move { from: Some(order.to.clone()), to: to.to_owned(), ..order.clone() }
}

#[test]
fn head_and_branch_move_together_and_again() {
    let (world, commits, order) = ready();
    let before = world.fingerprint();
    assert_eq!(moved(&order), yes(BranchMoved::Moved));
    assert_eq!(moved(&order), yes(BranchMoved::Moved), "the same again");
    let second = next(&order, &commits[1]);
    assert_eq!(moved(&second), yes(BranchMoved::Moved));
    assert_eq!(moved(&second), yes(BranchMoved::Moved), "the same again");
    let refs = world.git(&["rev-parse", "refs/forge/run/head", "forge/run"]);
    assert_eq!(refs, [commits[1].as_str(), &commits[1]].join("\n"));
    let mut after = world.fingerprint();
    assert!(after.remove(".git/refs/heads/forge/run").is_some());
    assert_eq!(after, before);
    assert_eq!(
        moved(&Move { branch: None, ..next(&second, &commits[2]) }),
        yes(BranchMoved::NotAsked)
    );
}

#[test]
fn whoever_comes_second_is_overtaken() {
    let (world, commits, order) = ready();
    moved(&order);
    let wrong = Move { from: Some(commits[2].clone()), to: commits[1].clone(), ..order.clone() };
    assert_eq!(moved(&wrong), HasMoved::Overtaken { at: Some(commits[0].clone()) });
    let missing = Move { name: "refs/forge/other/head".to_owned(), ..wrong };
    assert_eq!(moved(&missing), HasMoved::Overtaken { at: None });
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/head"]), commits[0]);
}

#[test]
fn of_two_at_once_exactly_one_wins() {
    let (world, commits, order) = ready();
    moved(&order);
    let racers = [next(&order, &commits[1]), next(&order, &commits[2])];
    let ends = thread::scope(|scope| {
        let racers = racers.each_ref().map(|order| scope.spawn(|| moved(order)));
        racers.map(|racer| racer.join().unwrap())
    });
    let stands = world.git(&["rev-parse", "refs/forge/run/head"]);
    for (order, end) in racers.iter().zip(ends) {
        match end {
            HasMoved::Yes { .. } => assert_eq!(stands, order.to),
            HasMoved::Overtaken { at } => assert_ne!(at.as_deref(), Some(order.to.as_str())),
        }
    }
    assert!(racers.iter().any(|order| order.to == stands));
}

#[test]
fn a_branch_that_the_user_moved_is_left_alone() {
    let (world, commits, order) = ready();
    moved(&order);
    world.git(&["update-ref", "refs/heads/forge/run", &commits[2]]);
    let left = BranchMoved::LeftChanged { at: commits[2].clone() };
    assert_eq!(moved(&next(&order, &commits[1])), yes(left));
    assert_eq!(world.git(&["rev-parse", "forge/run"]), commits[2]);
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/head"]), commits[1]);
}

#[test]
fn a_branch_that_is_checked_out_is_left_alone() {
    let (world, commits, order) = ready();
    moved(&order);
    world.git(&["checkout", "-q", "forge/run"]);
    let before = world.fingerprint();
    let left = BranchMoved::LeftCheckedOut { place: world.root.clone() };
    assert_eq!(moved(&next(&order, &commits[1])), yes(left));
    assert_eq!(world.fingerprint(), before);
    world.git(&["checkout", "-q", "main"]);
    let linked = world.beside("linked");
    world.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "forge/run"]);
    let left = BranchMoved::LeftCheckedOut { place: linked };
    assert_eq!(moved(&next(&next(&order, &commits[1]), &commits[2])), yes(left));
}

#[test]
fn a_branch_in_the_middle_of_a_rebase_or_bisect_is_left_alone() {
    let (world, commits, order) = ready();
    moved(&order);
    for (file, content) in
        [("rebase-merge/head-name", "refs/heads/forge/run\n"), ("BISECT_START", "forge/run\n")]
    {
        write(&world.root.join(".git"), file, content);
        let left = BranchMoved::LeftCheckedOut { place: world.root.join(".git") };
        assert_eq!(moved(&next(&order, &commits[1])), yes(left), "{file}");
        fs::remove_file(world.root.join(".git").join(file)).unwrap();
    }
    assert_eq!(world.git(&["rev-parse", "forge/run"]), commits[0]);
}

#[test]
fn a_branch_that_git_cannot_write_does_not_stop_the_head() {
    let (world, commits, order) = ready();
    world.git(&["branch", "forge"]);
    let HasMoved::Yes { branch: BranchMoved::LeftBlocked { why } } = moved(&order) else {
        panic!()
    };
    assert!(why.contains("refs/heads/forge"), "{why}");
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/head"]), commits[0]);
    world.git(&["branch", "-D", "-q", "forge"]);
    write(&world.root.join(".git"), "refs/heads/forge/run.lock", "");
    let HasMoved::Yes { branch: BranchMoved::LeftBlocked { why } } =
        moved(&next(&order, &commits[1]))
    else {
        panic!()
    };
    assert!(why.contains("lock"), "{why}");
    let odd =
        Move { branch: Some("a..b".to_owned()), ..next(&next(&order, &commits[1]), &commits[2]) };
    assert!(matches!(moved(&odd), HasMoved::Yes { branch: BranchMoved::LeftBlocked { .. } }));
}

#[test]
fn a_branch_that_is_another_name_of_main_never_moves_main() {
    let (world, commits, order) = ready();
    world.git(&["branch", "target", &commits[0]]);
    moved(&Move { branch: None, ..order.clone() });
    world.git(&["symbolic-ref", "refs/heads/forge/run", "refs/heads/target"]);
    let HasMoved::Yes { branch } = moved(&next(&order, &commits[1])) else { panic!() };
    assert!(matches!(branch, BranchMoved::LeftBlocked { .. }), "{branch:?}");
    assert_eq!(world.git(&["rev-parse", "target"]), commits[0]);
}

#[test]
fn only_refs_of_forge_move() {
    let (_, _, order) = ready();
    let order = Move { name: "refs/heads/main".to_owned(), ..order };
    assert!(failure(&Order::Move(order)).what.contains("refs/heads/main"));
}

#[test]
fn settings_for_reflogs_and_hooks_for_refs_break_nothing() {
    let (world, commits, order) = ready();
    world.git(&["config", "core.logAllRefUpdates", "always"]);
    world.git(&["config", "user.useConfigOnly", "true"]);
    world.git(&["config", "--unset", "user.email"]);
    let hook = world.root.join(".git/hooks/reference-transaction");
    crate::world::write_program(&hook, "exit 1");
    write(&world.root.join(".git"), "logs/refs/heads/forge/run", "");
    assert_eq!(moved(&order), yes(BranchMoved::Moved));
    assert_eq!(moved(&next(&order, &commits[1])), yes(BranchMoved::Moved));
}

#[test]
fn a_place_is_written_down_exactly() {
    let place = PathBuf::from("/a b");
    let text = serde_json::to_string(&BranchMoved::LeftCheckedOut { place }).unwrap();
    assert_eq!(text, r#"{"left_checked_out":{"where":"/a b"}}"#);
}

#[test]
fn a_lock_that_a_killed_git_left_on_a_ref_of_ours_is_in_nobodys_way() {
    let (world, commits, order) = ready();
    let common = world.repository().common_dir;
    for name in ["refs/forge/run/head", "refs/forge/run/calls/0011"] {
        let lock = common.join(format!("{name}.lock"));
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        fs::write(lock, "").unwrap();
    }
    assert_eq!(moved(&order), yes(BranchMoved::Moved));
    world.repository().pin("refs/forge/run/calls/0011", &commits[1]).unwrap();
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/head"]), commits[0]);
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/calls/0011"]), commits[1]);
}

#[test]
fn a_lock_on_a_branch_of_the_users_stays() {
    let (world, commits, order) = ready();
    let lock = world.repository().common_dir.join("refs/heads/forge/run.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let HasMoved::Yes { branch: BranchMoved::LeftBlocked { why } } = moved(&order) else {
        panic!("the head moves, the branch cannot")
    };
    assert!(why.contains("run.lock"), "{why}");
    assert!(lock.exists());
    assert_eq!(world.git(&["rev-parse", "refs/forge/run/head"]), commits[0]);
}
