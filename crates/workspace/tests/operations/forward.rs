//! The user's branch follows a result, and only where nothing of theirs is touched.

use forge_workspace::FastForward;

use crate::world::World;

/// A repository on the branch `mine`, and a commit that comes after it.
fn ahead() -> (World, String) {
    let world = World::new();
    world.git(&["checkout", "-q", "-b", "run"]);
    world.write("new.txt", "new\n");
    world.write("a.txt", "changed\n");
    let head = world.commit("run");
    world.git(&["checkout", "-q", "-b", "mine", "main"]);
    (world, head)
}

fn why(world: &World, branch: &str, commit: &str) -> String {
    match world.repository().fast_forward_status(branch, commit).unwrap() {
        FastForward::Blocked { why } => why,
        other @ (FastForward::Possible | FastForward::UpToDate) => panic!("{other:?}"),
    }
}

#[test]
fn a_clean_branch_follows_to_the_commit_and_is_there_then() {
    let (world, head) = ahead();
    let repository = world.repository();
    assert_eq!(repository.fast_forward_status("mine", &head).unwrap(), FastForward::Possible);
    repository.fast_forward("mine", &head).unwrap();
    assert_eq!(world.head(), head);
    assert_eq!(repository.branch().as_deref(), Some("mine"));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(repository.fast_forward_status("mine", &head).unwrap(), FastForward::UpToDate);
    repository.fast_forward("mine", &head).unwrap();
}

#[test]
fn what_is_not_clean_not_checked_out_or_has_moved_on_stays_as_it_is() {
    let (world, head) = ahead();
    let before = world.head();
    assert_eq!(why(&world, "main", &head), "`main` is not checked out");
    world.write("a.txt", "mine\n");
    assert_eq!(why(&world, "mine", &head), "the checkout has changes that are not committed");
    assert!(world.repository().fast_forward("mine", &head).is_err());
    world.git(&["checkout", "-q", "--", "a.txt"]);
    // Git itself refuses to write over what it does not know.
    world.write("new.txt", "precious\n");
    let failure = world.repository().fast_forward("mine", &head).unwrap_err();
    assert!(failure.next.contains("git switch mine"), "{failure:?}");
    assert_eq!(
        std::fs::read_to_string(world.repository().top.unwrap().join("new.txt")).unwrap(),
        "precious\n"
    );
    assert_eq!(world.head(), before);
    std::fs::remove_file(world.repository().top.unwrap().join("new.txt")).unwrap();
    world.write("b.txt", "b\n");
    world.commit("mine");
    assert_eq!(why(&world, "mine", &head), "`mine` has moved on");
    assert!(world.repository().fast_forward("mine", &head).is_err());
}
