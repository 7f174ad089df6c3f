//! Merging two commits without files.

use forge_workspace::{MergeCommits, MergeResult};

use crate::world::{WHEN_MS, World, merged};

fn merging(world: &World, head: &str, commit: &str) -> MergeCommits {
    MergeCommits {
        location: world.location("none"),
        head: head.to_owned(),
        commit: commit.to_owned(),
        message: "Merge".to_owned(),
        when_ms: WHEN_MS,
        pin: "refs/forge/test/merged".to_owned(),
    }
}

/// Two commits on top of HEAD, one that writes these files, and one that writes those.
fn two(world: &World, ours: &[(&str, &str)], theirs: &[(&str, &str)]) -> (String, String) {
    let side = |branch: &str, files: &[(&str, &str)]| {
        world.git(&["checkout", "-q", "-b", branch, "main"]);
        for (path, content) in files {
            world.write(path, content);
        }
        world.commit(branch)
    };
    let sides = (side("ours", ours), side("theirs", theirs));
    world.git(&["checkout", "-q", "main"]);
    sides
}

#[test]
fn two_that_agree_become_one_commit_with_both_as_parents() {
    let world = World::new();
    let (ours, theirs) = two(&world, &[("x", "x")], &[("y", "y")]);
    let before = world.fingerprint();
    let MergeResult::Merge { commit, tree } = merged(&merging(&world, &ours, &theirs)) else {
        panic!()
    };
    assert_eq!(
        world.git(&["show", "-s", "--format=%P %an %s", &commit]),
        format!("{ours} {theirs} User Merge")
    );
    assert_eq!(world.git(&["rev-parse", &format!("{commit}^{{tree}}")]), tree);
    assert!(world.content(&commit, "x").is_some() && world.content(&commit, "y").is_some());
    assert_eq!(world.git(&["rev-parse", "refs/forge/test/merged"]), commit);
    assert_eq!(world.fingerprint(), before);
    let again = merged(&merging(&world, &ours, &theirs));
    assert_eq!(again, MergeResult::Merge { commit, tree }, "the same again");
    assert!(!world.location("none").dir.exists(), "no files are needed");
}

#[test]
fn what_is_in_already_is_nothing_and_what_is_ahead_is_forward() {
    let world = World::new();
    let base = world.head();
    let (ours, _) = two(&world, &[("x", "x")], &[]);
    assert_eq!(
        merged(&merging(&world, &ours, &base)),
        MergeResult::AlreadyMerged { head: ours.clone() }
    );
    assert_eq!(
        merged(&merging(&world, &ours, &ours)),
        MergeResult::AlreadyMerged { head: ours.clone() }
    );
    let MergeResult::FastForward { commit, .. } = merged(&merging(&world, &base, &ours)) else {
        panic!()
    };
    assert_eq!(commit, ours);
    assert_eq!(world.git(&["rev-parse", "refs/forge/test/merged"]), ours);
}

#[test]
fn a_conflict_shows_both_sides() {
    let world = World::new();
    let lines = |word: &str| {
        let far = (0..2000).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
        format!("{far}\n{word}\n{far}\n")
    };
    world.write("long.txt", &lines("base"));
    world.write("gone.txt", "gone\n");
    world.commit("base");
    let (ours, theirs) = two(
        &world,
        &[("long.txt", &lines("our words")), ("gone.txt", "kept and changed\n"), ("bin", "a\0b")],
        &[("long.txt", &lines("their words")), ("bin", "a\0c")],
    );
    world.git(&["checkout", "-q", "theirs"]);
    std::fs::remove_file(world.root.join("gone.txt")).unwrap();
    let theirs = {
        drop(theirs);
        world.commit("removed")
    };
    let MergeResult::Conflict { conflicts } = merged(&merging(&world, &ours, &theirs)) else {
        panic!()
    };
    let paths: Vec<&str> = conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
    assert_eq!(paths, ["bin", "gone.txt", "long.txt"]);
    assert_eq!((conflicts[0].ours.as_str(), conflicts[0].theirs.as_str()), ("a\0b", "a\0c"));
    assert_eq!(
        (conflicts[1].ours.as_str(), conflicts[1].theirs.as_str()),
        ("kept and changed\n", "")
    );
    assert!(conflicts[1].what.contains("deleted"), "{}", conflicts[1].what);
    assert_eq!(
        (conflicts[2].ours.as_str(), conflicts[2].theirs.as_str()),
        ("our words\n", "their words\n")
    );
    assert!(conflicts[2].what.contains("CONFLICT (content)"), "{}", conflicts[2].what);
}

#[test]
fn a_long_side_of_a_conflict_is_cut() {
    let world = World::new();
    let (ours, theirs) = two(&world, &[("z", &"a\n".repeat(5000))], &[("z", "b\n")]);
    let MergeResult::Conflict { conflicts } = merged(&merging(&world, &ours, &theirs)) else {
        panic!()
    };
    assert!(conflicts[0].ours.len() < 2100, "{}", conflicts[0].ours.len());
    assert!(conflicts[0].ours.ends_with("(cut)"));
}

#[test]
fn a_conflict_in_a_file_with_an_odd_name_is_named_exactly() {
    let world = World::new();
    let name = "a \"b\"\nü*";
    let (ours, theirs) = two(&world, &[(name, "1\n")], &[(name, "2\n")]);
    let MergeResult::Conflict { conflicts } = merged(&merging(&world, &ours, &theirs)) else {
        panic!()
    };
    assert_eq!(conflicts[0].path, name);
    assert_eq!((conflicts[0].ours.as_str(), conflicts[0].theirs.as_str()), ("1\n", "2\n"));
}
