//! A commit of files of one folder: nothing else differs, what is not a regular file is left, and the guard sees all of it first.

use std::fs;

use forge_workspace::{
    AttachedRecord, Operation, OperationResult, RecordFile, RefusedCommit, WriteFiles, perform,
    perform_with_guard,
};

use crate::world::{SECRET, World, failure, watchful};

/// The operation to write these files below `docs/work`, on the tip.
fn writing(world: &World, files: &[(&str, &str)], removed: &[&str]) -> WriteFiles {
    let written = |(number, (path, content)): (usize, &(&str, &str))| {
        let from = world.beside(&format!("written-{number}"));
        fs::write(&from, content).unwrap();
        RecordFile { path: (*path).to_owned(), from }
    };
    WriteFiles {
        location: world.location("a"),
        onto: world.head(),
        folder: "docs/work".to_owned(),
        files: files.iter().enumerate().map(written).collect(),
        removed: removed.iter().map(|path| (*path).to_owned()).collect(),
        message: "Pages".to_owned(),
        when_ms: 1_700_000_000_000,
        pin: "refs/forge/r1/calls/0001".to_owned(),
    }
}

fn written(operation: &WriteFiles) -> AttachedRecord {
    match perform(&Operation::Write(operation.clone())) {
        Ok(OperationResult::Attached(written)) => written,
        other => panic!("it writes what it is asked to write: {other:?}"),
    }
}

#[test]
fn only_the_named_files_differ_and_the_code_tree_is_the_new_one() {
    let world = World::new();
    world.write("docs/work/tasks/OLD.md", "old\n");
    world.write("docs/work/notes.txt", "mine\n");
    world.write("docs/guide.md", "a guide\n");
    let base = world.commit("docs");
    let files = [("README.md", "index\n"), ("tasks/A.md", "a\n")];
    let operation = writing(&world, &files, &["tasks/OLD.md"]);
    let made = written(&operation);
    let changed = world.git(&["diff", "--no-renames", "--name-status", &base, &made.commit]);
    let wanted = ["A\tdocs/work/README.md", "D\tdocs/work/tasks/OLD.md", "A\tdocs/work/tasks/A.md"];
    let mut changed: Vec<&str> = changed.lines().collect();
    changed.sort_by_key(|line| line.split('\t').next_back());
    let mut wanted = wanted.to_vec();
    wanted.sort_by_key(|line| line.split('\t').next_back());
    assert_eq!(changed, wanted);
    assert_eq!(world.repository().code_tree(&made.commit).unwrap(), made.tree);
    assert_ne!(world.repository().code_tree(&base).unwrap(), made.tree, "pages are code");
    assert_eq!(world.git(&["rev-parse", &format!("{}^", made.commit)]), base);
    assert_eq!(world.git(&["rev-parse", "refs/forge/r1/calls/0001"]), made.commit);
    assert_eq!(world.git(&["fsck", "--strict", "--no-dangling"]), "");
    // Done again it is the same commit; where nothing differs, there is none.
    assert_eq!(written(&operation), made);
    let mut same = writing(&world, &files, &[]);
    same.onto.clone_from(&made.commit);
    assert_eq!(written(&same).commit, made.commit);
    // The last file of a folder takes the folder with it.
    let mut none = writing(&world, &[], &["tasks/A.md"]);
    none.onto.clone_from(&made.commit);
    let gone = written(&none).commit;
    assert_eq!(world.git(&["ls-tree", &gone, "docs/work/"]).lines().count(), 2);
}

#[test]
fn links_and_folders_in_the_way_are_not_replaced_and_no_path_leads_out() {
    let world = World::new();
    world.write("docs/work", "a file\n");
    world.commit("odd");
    let operation = Operation::Write(writing(&world, &[("README.md", "x\n")], &[]));
    assert!(failure(&operation).what.contains("`work` is not a folder"));
    fs::create_dir_all(world.root.join("pages")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.root.join("pages/README.md")).unwrap();
    world.commit("a link");
    let mut link = writing(&world, &[("README.md", "x\n")], &[]);
    link.folder = "pages".to_owned();
    assert!(failure(&Operation::Write(link)).what.contains("`README.md` is not a file"));
    for (folder, path) in
        [("..", "a"), (".git", "a"), ("docs", "../../a"), ("/tmp", "a"), ("docs", "/a")]
    {
        let mut out = writing(&world, &[(path, "x\n")], &[]);
        out.folder = folder.to_owned();
        let what = failure(&Operation::Write(out));
        assert!(what.next.contains("bug in Forge"), "{folder} {path}: {what:?}");
    }
}

#[test]
fn a_file_with_a_secret_is_not_written_down() {
    let world = World::new();
    let files = [("README.md", "fine\n"), ("tasks/A.md", &*format!("key {SECRET}\n"))];
    let operation = Operation::Write(writing(&world, &files, &[]));
    let Ok(OperationResult::Refused(RefusedCommit { flaws })) =
        perform_with_guard(&operation, &mut watchful)
    else {
        panic!("the guard objects")
    };
    assert_eq!(flaws.len(), 1, "{flaws:?}");
    assert!(flaws[0].contains("docs/work/tasks/A.md"), "{flaws:?}");
}
