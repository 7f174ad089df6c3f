//! A process of its own performs an operation and is killed in the middle, again and again. The next
//! one that is let through does what it should, as if nothing had happened.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use forge_workspace::{
    FilesPolicy, MoveRunHead, Operation, OperationResult, RunHooks, perform_with_guard,
};

use crate::world::{
    WHEN_MS, World, committed, files, git, moved, opened, shell, watchful, write, write_program,
};

/// Names the file with the operation, for the test below when it is started as a process.
const ORDER: &str = "FORGE_TEST_ORDER";
/// How often an operation is killed.
const BLOWS: usize = 8;

/// Counts the calls of git, and says at which of them the caller is killed.
const CALLS: &str = "FORGE_TEST_CALLS";
const KILL_AT: &str = "FORGE_TEST_KILL_AT";

/// A git that counts how often it is called. At the call that was chosen it kills the caller, and
/// goes on as an orphan.
const COUNTING_GIT: &str = r#"n=$(($(cat "$FORGE_TEST_CALLS") + 1))
echo $n > "$FORGE_TEST_CALLS"
[ $n -ne "$FORGE_TEST_KILL_AT" ] || kill -9 $PPID
PATH=${PATH#*:} exec git "$@""#;

/// A git that dies with its caller after the first of the refs that it is to move. Git puts them in place one after the
/// other.
const GIT_THAT_MOVES_ONE: &str = r#"case "$*" in
*update-ref*) head -z -n 3 | PATH=${PATH#*:} git "$@"; kill -9 $PPID ;;
*) PATH=${PATH#*:} exec git "$@" ;;
esac"#;

/// Alone, it shows that an operation and its answer pass through files. The other tests start it as the
/// process that is killed.
#[test]
fn an_order_is_performed_by_a_process_of_its_own() {
    let given = std::env::var_os(ORDER).map(PathBuf::from);
    let world = given.is_none().then(World::new);
    let path = given.unwrap_or_else(|| {
        let world = world.as_ref().unwrap();
        let path = world.beside("order.json");
        let operation = Operation::Open(world.opening("a"));
        fs::write(&path, serde_json::to_vec(&operation).unwrap()).unwrap();
        path
    });
    let operation: Operation = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let made = perform_with_guard(&operation, &mut watchful).unwrap();
    let answer = path.with_extension("json.made");
    fs::write(&answer, serde_json::to_vec(&made).unwrap()).unwrap();
    let read: OperationResult = serde_json::from_slice(&fs::read(answer).unwrap()).unwrap();
    assert_eq!(read, made);
}

/// Starts a process for an operation. What it made, if it got through.
fn perform_in(
    world: &World,
    operation: &Operation,
    variables: &[(&str, &str)],
) -> Option<OperationResult> {
    let file = world.beside("order.json");
    let answer = world.beside("order.json.made");
    drop(fs::remove_file(&answer));
    fs::write(&file, serde_json::to_vec(operation).unwrap()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kills::an_order_is_performed_by_a_process_of_its_own"]);
    command.env(ORDER, &file).envs(variables.iter().copied());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let is_killed = status.signal() == Some(9);
    assert!(is_killed || status.success(), "the process failed: {status}");
    if is_killed { None } else { serde_json::from_slice(&fs::read(&answer).unwrap()).ok() }
}

/// Kills an operation at each of some calls of git, spread over all of them, and lets it through at the
/// end.
pub(crate) fn kill_often(
    world: &World,
    operation: &Operation,
    prepare: impl Fn(),
) -> OperationResult {
    let shims = world.beside("shims");
    fs::create_dir_all(&shims).unwrap();
    write_program(&shims.join("git"), COUNTING_GIT);
    let path = format!("{}:{}", shims.display(), std::env::var("PATH").unwrap());
    let calls = world.beside("calls");
    let killed_at = |call: usize| {
        prepare();
        fs::write(&calls, "0").unwrap();
        let call = call.to_string();
        let variables =
            [("PATH", path.as_str()), (CALLS, calls.to_str().unwrap()), (KILL_AT, &call)];
        perform_in(world, operation, &variables)
    };
    killed_at(usize::MAX >> 1).expect("nobody kills it");
    let all: usize = fs::read_to_string(&calls).unwrap().trim().parse().unwrap();
    for step in 1..=BLOWS {
        let made = killed_at((all * step).div_ceil(BLOWS));
        assert!(made.is_none(), "it was killed at one of its {all} calls of git");
    }
    perform_in(world, operation, &[]).unwrap()
}

#[test]
fn an_opening_that_is_killed_anywhere_can_be_repeated() {
    let world = World::new();
    for number in 0..60 {
        world.write(&format!("many/{number}.txt"), &"text\n".repeat(number));
    }
    let old = world.commit("many");
    world.write("a.txt", "newer\n");
    fs::remove_dir_all(world.root.join("many")).unwrap();
    world.write("other/x", "");
    world.commit("other");
    let before = world.fingerprint();
    let mut back = world.opening("a");
    back.at = old;
    let operation = world.opening("a");
    let dir = operation.location.dir.clone();
    let ruin = || {
        opened(&back);
        shell(
            &dir,
            "rm -rf tree/.git tree/a.txt; echo x > tree/many/1.txt; touch tree/new; mkdir tree/x.log",
        );
    };
    let OperationResult::Opened(made) =
        kill_often(&world, &Operation::Open(operation.clone()), ruin)
    else {
        panic!()
    };
    assert!(!made.is_new);
    let clean = opened(&world.opening("clean")).tree;
    assert_eq!(files(&made.tree), files(&clean));
    assert_eq!(git(&made.tree, &["status", "--porcelain"]), "");
    let mut first = world.opening("b");
    first.files = FilesPolicy::KeepWork;
    let gone = || drop(fs::remove_dir_all(&first.location.dir));
    let OperationResult::Opened(made) = kill_often(&world, &Operation::Open(first.clone()), gone)
    else {
        panic!()
    };
    assert_eq!(files(&made.tree), files(&clean), "never whole, so not kept as it was left");
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn a_commit_that_is_killed_anywhere_gives_the_same_commit_in_the_end() {
    let world = World::new();
    let operation = world.opening("a");
    let tree = opened(&operation).tree;
    shell(&tree, "git init -q nested; touch nested/x; git add -A; git commit -qm own");
    write(&tree, "a.txt", "changed\n");
    let commit = world.committing("a", &[&operation.at]);
    let expected = committed(&commit);
    let OperationResult::Committed(made) = kill_often(&world, &Operation::Commit(commit), || ())
    else {
        panic!()
    };
    assert_eq!(made, expected);
    assert!(tree.join("nested/.git/HEAD").is_file());
    world.git(&["fsck", "--strict"]);
}

#[test]
fn a_head_that_is_killed_while_it_moves_is_never_ahead_of_its_branch() {
    let world = World::new();
    let (from, to) = (world.commit("first"), world.commit("second"));
    let order = |from: Option<&str>, to: &str| MoveRunHead {
        common_dir: world.repository().common_dir,
        name: "refs/forge/run/head".to_owned(),
        from: from.map(str::to_owned),
        to: to.to_owned(),
        branch: Some("forge/run".to_owned()),
    };
    moved(&order(None, &from));
    let shims = world.beside("shims");
    fs::create_dir_all(&shims).unwrap();
    write_program(&shims.join("git"), GIT_THAT_MOVES_ONE);
    let path = format!("{}:{}", shims.display(), std::env::var("PATH").unwrap());
    let operation = Operation::Move(order(Some(&from), &to));
    assert_eq!(perform_in(&world, &operation, &[("PATH", &path)]), None);
    let refs = || ["refs/forge/run/head", "forge/run"].map(|name| world.git(&["rev-parse", name]));
    // A driver that finds the head where it should be looks no further.
    assert_eq!(refs(), [from.clone(), to.clone()]);
    perform_in(&world, &operation, &[]).unwrap();
    assert_eq!(refs(), [to.clone(), to]);
}

#[test]
fn hooks_that_are_killed_anywhere_give_the_same_commit_in_the_end() {
    let world = World::new();
    let operation = world.opening("a");
    let tree = opened(&operation).tree;
    write(&tree, "a.txt", "changed\n");
    let commit = committed(&world.committing("a", &[&operation.at])).commit;
    let hook = "echo formatted > a.txt; git add a.txt; git status -s > seen.log";
    write_program(&world.root.join(".git/hooks/pre-commit"), hook);
    let before = world.fingerprint();
    let hooks = Operation::Hooks(RunHooks {
        location: world.location("a"),
        commit,
        message: "work".to_owned(),
        when_ms: WHEN_MS,
        pin: "refs/forge/test/hooked".to_owned(),
        output_max: 100,
        accepted: None,
    });
    let expected = perform_in(&world, &hooks, &[]).unwrap();
    assert_eq!(kill_often(&world, &hooks, || ()), expected);
    assert!(tree.join(".git").is_dir());
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn variables_of_a_hook_around_us_do_not_lead_us_astray() {
    let world = World::new();
    let other = World::new();
    let operation = world.opening("a");
    let before = (world.fingerprint(), other.fingerprint());
    let git_dir = other.root.join(".git");
    let index = git_dir.join("index");
    let variables = [
        ("GIT_DIR", git_dir.to_str().unwrap()),
        ("GIT_INDEX_FILE", index.to_str().unwrap()),
        ("GIT_WORK_TREE", other.root.to_str().unwrap()),
        ("GIT_OBJECT_DIRECTORY", "/nowhere"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.bare"),
        ("GIT_CONFIG_VALUE_0", "true"),
        ("GIT_AUTHOR_NAME", "Somebody"),
    ];
    perform_in(&world, &Operation::Open(operation.clone()), &variables).unwrap();
    write(&operation.location.dir.join("tree"), "x", "");
    let commit = Operation::Commit(world.committing("a", &[&operation.at]));
    let Some(OperationResult::Committed(made)) = perform_in(&world, &commit, &variables) else {
        panic!()
    };
    assert_eq!(world.git(&["show", "-s", "--format=%an", &made.commit]), "User");
    assert_eq!((world.fingerprint(), other.fingerprint()), before);
}

#[test]
fn a_user_without_a_name_commits_as_forge() {
    let world = World::new();
    let operation = world.opening("a");
    write(&opened(&operation).tree, "x", "");
    world.git(&["config", "--unset", "user.name"]);
    world.git(&["config", "--unset", "user.email"]);
    let variables = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];
    let commit = Operation::Commit(world.committing("a", &[&operation.at]));
    let Some(OperationResult::Committed(made)) = perform_in(&world, &commit, &variables) else {
        panic!()
    };
    let shown = world.git(&["show", "-s", "--format=%an <%ae>|%cn <%ce>", &made.commit]);
    assert_eq!(shown, "Forge <forge@localhost>|Forge <forge@localhost>");
}
