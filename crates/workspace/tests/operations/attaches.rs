//! A commit that adds files below `.forge/runs/`: nothing else differs, nothing is made twice, and the
//! guard sees all of it first.

use std::fs;

use forge_workspace::{
    AttachRecord, AttachedRecord, Operation, OperationResult, RecordFile, RefusedCommit, perform,
    perform_with_guard,
};

use crate::world::{SECRET, World, failure, watchful, write_program};

/// The operation to attach these files to the tip.
fn attaching(world: &World, files: &[(&str, &str)]) -> AttachRecord {
    let from = |number: usize, content: &str| {
        let path = world.beside(&format!("attached-{number}"));
        fs::write(&path, content).unwrap();
        path
    };
    let attachment = |(number, (path, content)): (usize, &(&str, &str))| RecordFile {
        path: (*path).to_owned(),
        from: from(number, content),
    };
    AttachRecord {
        location: world.location("a"),
        onto: world.head(),
        folder: "r1".to_owned(),
        files: files.iter().enumerate().map(attachment).collect(),
        message: "Record".to_owned(),
        when_ms: 1_700_000_000_000,
        pin: "refs/forge/r1/calls/0001".to_owned(),
    }
}

fn attached(operation: &AttachRecord) -> AttachedRecord {
    match perform(&Operation::Attach(operation.clone())) {
        Ok(OperationResult::Attached(attached)) => attached,
        other => panic!("it attaches what it is asked to attach: {other:?}"),
    }
}

#[test]
fn only_the_folder_of_the_run_differs_and_the_code_is_the_same() {
    let world = World::new();
    world.write(".forge/instructions.md", "be kind\n");
    world.write(".forge/runs/r0/summary.md", "an older run\n");
    let base = world.commit("settings");
    let operation =
        attaching(&world, &[("summary.md", "done\n"), ("artifacts/build.T1/a.md", "a\n")]);
    let made = attached(&operation);
    let changed = world.git(&["diff", "--name-only", &base, &made.commit]);
    let wanted = [".forge/runs/r1/artifacts/build.T1/a.md", ".forge/runs/r1/summary.md"];
    assert_eq!(changed.lines().collect::<Vec<_>>(), wanted);
    assert_eq!(world.git(&["rev-parse", &format!("{}^", made.commit)]), base);
    assert_eq!(world.repository().code_tree(&base).unwrap(), made.tree);
    assert_eq!(world.repository().code_tree(&made.commit).unwrap(), made.tree);
    assert_eq!(world.git(&["rev-parse", "refs/forge/r1/calls/0001"]), made.commit);
    assert_eq!(world.git(&["fsck", "--strict", "--no-dangling"]), "");
    // Again it is the same commit; with fewer files, the others are gone.
    assert_eq!(attached(&operation), made);
    let mut fewer = attaching(&world, &[("summary.md", "done\n")]);
    fewer.onto.clone_from(&made.commit);
    let changed = attached(&fewer).commit;
    let changed = world.git(&["diff", "--name-status", &made.commit, &changed]);
    assert_eq!(changed, "D\t.forge/runs/r1/artifacts/build.T1/a.md");
}

#[test]
fn a_repository_that_never_saw_forge_gets_the_folder_and_its_hooks_are_not_asked() {
    let world = World::new();
    world.write(".gitignore", ".forge\n");
    let base = world.commit("ignores it");
    write_program(&world.root.join(".git/hooks/pre-commit"), "exit 1");
    let made = attached(&attaching(&world, &[("summary.md", "done\n")]));
    assert_eq!(world.content(&made.commit, ".forge/runs/r1/summary.md").as_deref(), Some("done\n"));
    assert_eq!(world.repository().code_tree(&base).unwrap(), made.tree);
}

#[test]
fn a_file_where_the_folder_belongs_is_code_and_is_not_replaced() {
    let world = World::new();
    world.write(".forge", "a file of the project\n");
    world.commit("a file");
    let operation = Operation::Attach(attaching(&world, &[("summary.md", "done\n")]));
    let failure = failure(&operation);
    assert!(failure.what.contains("`.forge` is not a folder"), "{failure}");
}

#[test]
fn a_path_that_leads_elsewhere_is_refused() {
    let world = World::new();
    for path in ["../x", "/x", "a/../../x", ".git/config", ""] {
        let operation = Operation::Attach(attaching(&world, &[(path, "x\n")]));
        assert!(failure(&operation).next.contains("bug in Forge"), "{path}");
    }
    for folder in ["..", "a/b", "", ".git"] {
        let mut operation = attaching(&world, &[("summary.md", "x\n")]);
        folder.clone_into(&mut operation.folder);
        assert!(failure(&Operation::Attach(operation)).next.contains("bug in Forge"), "{folder}");
    }
}

#[test]
fn a_secret_stops_before_anything_is_written() {
    let world = World::new();
    let secret = format!("a\nb {SECRET}\n");
    let operation =
        Operation::Attach(attaching(&world, &[("summary.md", "x\n"), ("a.md", &secret)]));
    let before = world.git(&["count-objects"]);
    let made = perform_with_guard(&operation, &mut watchful).unwrap();
    let OperationResult::Refused(RefusedCommit { flaws }) = made else {
        panic!("it is refused: {made:?}")
    };
    assert_eq!(flaws, [".forge/runs/r1/a.md:2"]);
    assert_eq!(world.git(&["count-objects"]), before);
}
