//! What the set-up left in one checkout is copied into another, which is then as if it had been set up itself.

use std::{
    fs::{self, File, FileTimes, Permissions},
    io::{self, Write as _},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use forge_workspace::{
    CachesBefore, FileAccess, FilesPolicy, Operation, OperationResult, RecordBaseline, ReuseSetUp,
    ReusedSetUp, SaveSetUp, perform,
};

use crate::world::{World, committed, opened, read, write};

fn folder(world: &World) -> PathBuf {
    world.beside("checkouts").join("_setup/wanted")
}

/// Lets the set-up have ended in a checkout, and keeps it; the files that it left.
fn save(world: &World, name: &str) -> Vec<String> {
    let save = Some(SaveSetUp { folder: folder(world), copy: vec![".env".to_owned()] });
    let order = RecordBaseline { location: world.location(name), save };
    match perform(&Operation::Baseline(order)) {
        Ok(OperationResult::Baseline(recorded)) => recorded.paths,
        other => panic!("not recorded: {other:?}"),
    }
}

fn reuse_with(world: &World, name: &str, before: CachesBefore) -> ReusedSetUp {
    let order = ReuseSetUp {
        location: world.location(name),
        folder: folder(world),
        copy: vec![".env".to_owned()],
        cache: vec!["target".to_owned()],
        before,
    };
    match perform(&Operation::Reuse(order)) {
        Ok(OperationResult::Reused(reused)) => reused,
        other => panic!("not answered: {other:?}"),
    }
}

fn reuse(world: &World, name: &str) -> ReusedSetUp {
    reuse_with(world, name, CachesBefore::OtherSetUp)
}

/// Why it was not copied.
fn why(reused: ReusedSetUp) -> String {
    match reused {
        ReusedSetUp::Unusable { why } => why,
        other @ (ReusedSetUp::Copied | ReusedSetUp::Missing) => panic!("{other:?}"),
    }
}

/// Opens the checkout `a`, lets a set-up work in it, and keeps what it left.
fn set_up(world: &World, work: impl FnOnce(&Path)) -> PathBuf {
    let tree = opened(&world.opening("a")).tree;
    assert_eq!(reuse(world, "a"), ReusedSetUp::Missing);
    work(&tree);
    save(world, "a");
    tree
}

fn age(file: &Path, seconds: u64) -> SystemTime {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    File::open(file).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    time
}

fn modified(file: &Path) -> SystemTime {
    fs::metadata(file).unwrap().modified().unwrap()
}

#[test]
fn a_copied_set_up_has_the_modes_times_and_links_and_is_no_change_of_the_worker() {
    let world = World::new();
    let mut time = SystemTime::UNIX_EPOCH;
    set_up(&world, |tree| {
        write(tree, "target/bin/tool", "#!/bin/sh\n");
        fs::set_permissions(tree.join("target/bin/tool"), Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(tree.join("target/empty")).unwrap();
        fs::set_permissions(tree.join("target/empty"), Permissions::from_mode(0o750)).unwrap();
        symlink("bin/tool", tree.join("target/relative")).unwrap();
        symlink("/usr/bin/env", tree.join("target/elsewhere")).unwrap();
        symlink(tree.join("src"), tree.join("target/back")).unwrap();
        write(tree, "src/left.log", "ignored");
        write(tree, "made.lock", "not ignored");
        write(tree, "a.txt", "changed\n");
        fs::remove_file(tree.join("src/b.txt")).unwrap();
        time = age(&tree.join("target/bin/tool"), 1_000);
    });
    let tree = opened(&world.opening("b")).tree;
    assert_eq!(reuse(&world, "b"), ReusedSetUp::Copied);
    assert_eq!(reuse(&world, "b"), ReusedSetUp::Copied, "it can be repeated");
    let tool = tree.join("target/bin/tool");
    assert_eq!(fs::metadata(&tool).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(modified(&tool), time);
    let mode = fs::metadata(tree.join("target/empty")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    let link = |name: &str| fs::read_link(tree.join("target").join(name)).unwrap();
    assert_eq!(link("relative"), Path::new("bin/tool"));
    assert_eq!(link("elsewhere"), Path::new("/usr/bin/env"));
    assert_eq!(link("back"), tree.join("src"));
    assert_eq!(read(&tree, "src/left.log"), "ignored");
    assert_eq!(read(&tree, "a.txt"), "changed\n");
    assert!(!tree.join("src/b.txt").exists());
    assert!(!world.location("b").dir.join("setup.new").exists());
    assert_eq!(save(&world, "b"), ["a.txt", "src/b.txt", "made.lock"]);
    write(&tree, "src/new.txt", "of the worker");
    let base = world.head();
    let committed = committed(&world.committing("b", &[&base]));
    assert_eq!(committed.changes.len(), 1, "{committed:?}");
    // It is private: who writes into it changes no other.
    write(&tree, "target/bin/tool", "other");
    let tree = opened(&world.opening("c")).tree;
    assert_eq!(reuse(&world, "c"), ReusedSetUp::Copied);
    assert_eq!(read(&tree, "target/bin/tool"), "#!/bin/sh\n");
}

#[test]
fn the_path_of_the_checkout_is_replaced_in_text_and_compiled_python_is_left_out() {
    let world = World::new();
    let from = set_up(&world, |tree| {
        let path = tree.display();
        write(tree, "target/bin/pip", &format!("#!{path}/target/python\nx = '{path}'\n"));
        fs::set_permissions(tree.join("target/bin/pip"), Permissions::from_mode(0o755)).unwrap();
        let far = "x".repeat(300_000);
        write(tree, "target/far.txt", &format!("{}{path}{far}", &far[..262_140]));
        write(
            tree,
            "target/editable/direct_url.json",
            &format!("{{\"dir_info\": {{\"editable\": true}}, \"url\": \"file://{path}\"}}"),
        );
        write(tree, "target/__pycache__/a.pyc", &format!("\0{path}/src/a.py"));
        write(tree, "target/b.pyc", "\0without a source");
    });
    let tree = opened(&world.opening("another")).tree;
    assert_eq!(reuse(&world, "another"), ReusedSetUp::Copied);
    let path = tree.display();
    assert_eq!(read(&tree, "target/bin/pip"), format!("#!{path}/target/python\nx = '{path}'\n"));
    let mode = fs::metadata(tree.join("target/bin/pip")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!tree.join("target/__pycache__/a.pyc").exists());
    assert!(tree.join("target/b.pyc").exists());
    let old = format!("{}/", from.parent().unwrap().display());
    for name in ["target/far.txt", "target/editable/direct_url.json"] {
        assert!(!read(&tree, name).contains(&old), "{name}");
        assert!(read(&tree, name).contains(&path.to_string()), "{name}");
    }
}

#[test]
fn a_set_up_that_cannot_be_moved_is_run_in_every_checkout() {
    type Work = fn(&Path);
    let cases: [(Work, &str); 5] = [
        (
            |tree| write(tree, "target/lib.so", &format!("\0{}", tree.display())),
            "target/lib.so contains the path of its checkout, and is not text",
        ),
        (
            |tree| {
                let content = [b"\xff".as_slice(), tree.as_os_str().as_encoded_bytes()].concat();
                fs::write(tree.join("made"), content).unwrap();
            },
            "made contains the path of its checkout, and is not text",
        ),
        (
            |tree| {
                write(
                    tree,
                    "target/p/direct_url.json",
                    &format!("{{\"dir_info\": {{}}, \"url\": \"file://{}\"}}", tree.display()),
                );
            },
            "target/p/direct_url.json says that code of the checkout was copied",
        ),
        (
            |tree| {
                let text = format!("{}{}", "x".repeat(32 << 20), tree.display());
                write(tree, "target/text", &text);
            },
            "target/text contains the path of its checkout, and is large",
        ),
        (
            |tree| {
                write(tree, "target/disk", "");
                let file = File::options().write(true).open(tree.join("target/disk")).unwrap();
                file.set_len((8 << 30) + 1).unwrap();
            },
            "the set-up left too much to be copied",
        ),
    ];
    for (work, reason) in cases {
        let world = World::new();
        set_up(&world, work);
        let tree = opened(&world.opening("b")).tree;
        assert_eq!(why(reuse(&world, "b")), reason);
        assert!(!tree.join("target").exists() && !tree.join("made").exists());
        assert!(!folder(&world).join("files").exists(), "no room is taken for it");
    }
}

#[test]
fn a_script_whose_first_line_would_be_too_long_is_not_copied() {
    let world = World::new();
    set_up(&world, |tree| {
        write(tree, "target/run", &format!("#!{}/x\n", tree.display()));
    });
    let long = "l".repeat(120);
    opened(&world.opening(&long));
    assert_eq!(why(reuse(&world, &long)), "the path of the checkout is too long for its scripts");
}

#[test]
fn what_somebody_touched_is_not_trusted_and_is_made_again() {
    let touches: [fn(&Path); 5] = [
        |kept| write(kept, "files/target/a", "two"),
        |kept| write(kept, "files/target/new", ""),
        |kept| fs::remove_file(kept.join("files/target/a")).unwrap(),
        |kept| write(kept, "prepared.json", "{}"),
        |kept| {
            fs::rename(kept, kept.with_file_name("moved")).unwrap();
            symlink("moved", kept).unwrap();
        },
    ];
    for touch in touches {
        let world = World::new();
        set_up(&world, |tree| write(tree, "target/a", "one"));
        touch(&folder(&world));
        let tree = opened(&world.opening("b")).tree;
        assert_eq!(reuse(&world, "b"), ReusedSetUp::Missing);
        assert!(!tree.join("target").exists());
        write(&tree, "target/a", "anew");
        save(&world, "b");
        let tree = opened(&world.opening("c")).tree;
        assert_eq!(reuse(&world, "c"), ReusedSetUp::Copied);
        assert_eq!(read(&tree, "target/a"), "anew");
    }
}

#[test]
fn a_checkout_with_anything_of_a_worker_in_it_neither_gets_a_set_up_nor_has_one_that_is_kept() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "planted.log", "");
    assert_eq!(why(reuse(&world, "a")), "files that the commit does not have were there before");
    fs::remove_file(tree.join("planted.log")).unwrap();
    write(&tree, "a.txt", "work");
    assert_eq!(why(reuse(&world, "a")), "files that the commit does not have were there before");
    write(&tree, "a.txt", "one\ntwo\nthree\n");
    set_up(&world, |tree| write(tree, "target/a", "one"));
    for (path, text) in [("planted.log", ""), ("a.txt", "work")] {
        let tree = opened(&world.opening("b")).tree;
        write(&tree, path, text);
        assert_eq!(why(reuse(&world, "b")), "files that are not of the set-up were there before");
        assert!(!tree.join("target").exists());
        fs::remove_file(tree.join(path)).unwrap();
    }
}

#[test]
fn files_of_another_commit_are_never_written() {
    let world = World::new();
    set_up(&world, |tree| {
        write(tree, "made/x", "of the set-up");
        write(tree, "a.txt", "of the set-up");
    });
    let open = |name: &str| opened(&world.opening(name)).tree;
    world.write("a.txt", "other\n");
    world.commit("another version");
    let tree = open("b");
    assert_eq!(
        why(reuse(&world, "b")),
        "the commit has another version of a file that the set-up changes"
    );
    assert_eq!(read(&tree, "a.txt"), "other\n");
    world.write("a.txt", "one\ntwo\nthree\n");
    world.write("made/y", "of the commit");
    world.commit("a file in the folder of the set-up");
    let tree = open("c");
    assert_eq!(why(reuse(&world, "c")), "a file of the commit is in the way");
    assert_eq!(read(&tree, "made/y"), "of the commit");
    assert!(!tree.join("made/x").exists());
}

#[test]
fn no_link_of_the_commit_is_followed() {
    let world = World::new();
    world.write("deep/kept.txt", "");
    world.commit("a folder");
    set_up(&world, |tree| write(tree, "deep/made.log", "of the set-up"));
    let outside = world.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir_all(world.root.join("deep")).unwrap();
    symlink(&outside, world.root.join("deep")).unwrap();
    world.commit("a link in place of the folder");
    opened(&world.opening("b"));
    assert_eq!(why(reuse(&world, "b")), "a file of the commit is in the way");
    assert!(!outside.join("made.log").exists());
}

#[test]
fn caches_of_the_same_set_up_stay_and_those_of_another_are_replaced() {
    let world = World::new();
    set_up(&world, |tree| write(tree, "target/a", "of the set-up"));
    for (before, expected) in
        [(CachesBefore::SameSetUp, "of a proof"), (CachesBefore::OtherSetUp, "of the set-up")]
    {
        let tree = opened(&world.opening("b")).tree;
        write(&tree, "target/a", "of a proof");
        assert_eq!(reuse_with(&world, "b", before), ReusedSetUp::Copied);
        assert_eq!(read(&tree, "target/a"), expected);
    }
}

#[test]
fn what_is_copied_is_older_than_every_file_of_the_commit() {
    let world = World::new();
    set_up(&world, |tree| {
        write(tree, "target/old", "");
        age(&tree.join("target/old"), 900);
        write(tree, "target/new", "");
        age(&tree.join("target/new"), 500);
    });
    let tree = opened(&world.opening("b")).tree;
    let kept = age(&tree.join("a.txt"), 100);
    age(&tree.join("src/b.txt"), 700);
    assert_eq!(reuse(&world, "b"), ReusedSetUp::Copied);
    assert_eq!(modified(&tree.join("a.txt")), kept, "it is newer anyway");
    assert!(modified(&tree.join("src/b.txt")) > modified(&tree.join("target/new")));
}

#[test]
fn files_that_are_copied_from_the_user_are_not_kept_and_a_reader_s_rights_reach_nobody_else() {
    let world = World::new();
    world.write(".env", "first");
    let mut opening = world.opening("a");
    opening.copy = vec![".env".to_owned()];
    opening.access = FileAccess::Read;
    let tree = opened(&opening).tree;
    assert_eq!(reuse(&world, "a"), ReusedSetUp::Missing);
    fs::remove_file(tree.join("a.txt")).unwrap();
    write(&tree, "a.txt", "of the set-up");
    fs::set_permissions(tree.join("a.txt"), Permissions::from_mode(0o444)).unwrap();
    save(&world, "a");
    world.write(".env", "second");
    let mut opening = world.opening("b");
    opening.copy = vec![".env".to_owned()];
    opening.files = FilesPolicy::Pristine;
    let tree = opened(&opening).tree;
    assert_eq!(reuse(&world, "b"), ReusedSetUp::Copied);
    assert_eq!(read(&tree, ".env"), "second");
    let mode = fs::metadata(tree.join("a.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o200, 0o200, "who may write there may write it");
}

#[test]
fn a_set_up_that_leaves_nothing_in_the_checkout_is_run_in_each() {
    let world = World::new();
    set_up(&world, |_| {});
    assert!(!folder(&world).exists());
    opened(&world.opening("b"));
    assert_eq!(reuse(&world, "b"), ReusedSetUp::Missing);
}

#[test]
fn a_keeping_that_was_killed_is_begun_again() {
    let world = World::new();
    set_up(&world, |tree| {
        let rest = folder(&world).with_extension("new");
        write(&rest, "files/target/half", "");
        write(tree, "target/a", "whole");
    });
    let tree = opened(&world.opening("b")).tree;
    write(&world.location("b").dir, "setup.new/target/half", "");
    assert_eq!(reuse(&world, "b"), ReusedSetUp::Copied);
    assert_eq!(read(&tree, "target/a"), "whole");
    assert!(!tree.join("target/half").exists());
}

#[test]
fn a_copied_python_environment_imports_the_code_of_its_own_checkout() {
    let python = |program: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        command.env_remove("PYTHONDONTWRITEBYTECODE").env_remove("PYTHONPYCACHEPREFIX");
        command.args(args).output().ok().filter(|output| output.status.success())
    };
    if python(Path::new("python3"), &["-m", "venv", "--help"]).is_none() {
        let _ = writeln!(io::stderr(), "NOT PROVED: python3 with venv is not here");
        return;
    }
    let world = World::new();
    world.write("src/greeting.py", "where = __file__\n");
    world.commit("code");
    let code = "import greeting, sys; print(greeting.where, sys.prefix)";
    set_up(&world, |tree| {
        let folder = tree.join("target").display().to_string();
        python(Path::new("python3"), &["-m", "venv", "--without-pip", &folder]).unwrap();
        let lib = fs::read_dir(tree.join("target/lib")).unwrap().next().unwrap().unwrap().path();
        let path = format!("{}\n", tree.join("src").display());
        fs::write(lib.join("site-packages/editable.pth"), path).unwrap();
        write(tree, "target/bin/tool", &format!("#!{folder}/bin/python\n{code}\n"));
        let tool = tree.join("target/bin/tool");
        fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
        assert!(python(&tool, &[]).is_some());
        assert!(tree.join("src/__pycache__").exists(), "compiled with the path of this checkout");
    });
    let tree = opened(&world.opening("b")).tree;
    assert_eq!(reuse(&world, "b"), ReusedSetUp::Copied);
    let said = python(&tree.join("target/bin/tool"), &[]).unwrap().stdout;
    let (file, prefix) = (tree.join("src/greeting.py"), tree.join("target"));
    let expected = format!("{} {}\n", file.display(), prefix.display());
    assert_eq!(String::from_utf8(said).unwrap(), expected);
}
