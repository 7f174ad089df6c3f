//! Features, sprints, tasks and bugs: the commands, their files, and what people and git change in these.

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command};

use serde_json::Value;

use crate::world::{DONE, FAILED, World, finish, has};

/// A repository in a folder `acme` with a feature, a sprint, two tasks and a bug.
fn planned() -> World {
    let world = World::named("acme");
    world.ok(&["feature", "new", "Export"]);
    world.ok(&["sprint", "new", "First release", "feature_id=FEAT-001"]);
    for title in ["Parse the header", "Parse the rows"] {
        world.ok(&["task", "new", title, "sprintId=acme-s01"]);
    }
    world.ok(&["bug", "new", "An empty file crashes", "severity=major"]);
    world
}

fn file(world: &World, path: &str) -> PathBuf {
    world.repo.join(".forge/work").join(path)
}

fn task(world: &World) -> PathBuf {
    file(world, "tasks/ACME-S01-T01.json")
}

fn edit(path: &PathBuf, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Checks printed JSON against a published schema.
fn fits(schema: &str, text: &str) -> Value {
    let path = format!("{}/../../docs/schemas/{schema}", env!("CARGO_MANIFEST_DIR"));
    let schema = json(&fs::read_to_string(path).unwrap());
    let value = json(text);
    if let Err(error) = jsonschema::validate(&schema, &value) {
        panic!("{error}: {text}");
    }
    value
}

#[test]
fn records_are_created_listed_changed_and_closed() {
    let world = planned();
    assert_eq!(
        world.ok(&["task", "list"]),
        "ACME-S01-T01  draft  Parse the header\nACME-S01-T02  draft  Parse the rows\n"
    );
    let shown = fits("record.schema.json", &world.ok(&["sprint", "show", "ACME-S01", "--json"]));
    assert_eq!(shown["fields"]["taskIds"], json(r#"["ACME-S01-T01", "ACME-S01-T02"]"#));
    fits("records.schema.json", &world.ok(&["bug", "list", "--json"]));
    world.ok(&[
        "task",
        "set",
        "acme-s01-t02",
        "estimate=M",
        "dependencies+=acme-s01-t01",
        "must+=rows, all of them",
    ]);
    assert_eq!(
        world.ok(&["task", "move", "acme-s01-t01", "planned"]),
        "ACME-S01-T01: planned, was draft\n"
    );
    world.ok(&["task", "block", "ACME-S01-T01", "waits for the format"]);
    has(
        &world.ok(&["task", "show", "ACME-S01-T01"]),
        &["unblock leads to       planned", "moved from planned to blocked: waits for the format"],
    );
    assert_eq!(
        world.ok(&["task", "unblock", "ACME-S01-T01", "it is here"]),
        "ACME-S01-T01: planned, was blocked\n"
    );
    has(&world.ok(&["bug", "retire", "acme-bug-001", "-m", "a duplicate"]), &["abandoned"]);
    world.ok(&["feature", "move", "FEAT-001", "active"]);
    has(&world.ok(&["feature", "retire", "FEAT-001"]), &["retired"]);
    let shown = world.ok(&["task", "show", "ACME-S01-T02"]);
    has(
        &shown,
        &[
            "dependencies           ACME-S01-T01",
            "must                   rows, all of them",
            "created as draft",
        ],
    );
    assert_eq!(world.ok(&["task", "list", "--state", "planned"]).lines().count(), 1);
    let changed = world.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(changed.lines().count(), 5, "one file for each record, and nothing else: {changed}");
    let text = fs::read_to_string(file(&world, "tasks/ACME-S01-T02.json")).unwrap();
    assert!(text.starts_with("{\n  \"taskId\": \"ACME-S01-T02\",\n  \"status\": \"draft\",\n  \"sprintId\": \"ACME-S01\",\n  \"title\": \"Parse the rows\",\n  \"estimate\": \"M\",\n"), "{text}");
    assert!(text.ends_with("}\n"), "{text}");
    assert_eq!(
        world.ok(&["work", "check"]),
        "All records and their files are as they should be.\n"
    );
}

#[test]
fn a_title_may_be_typed_as_the_fields_are() {
    let world = World::new();
    has(&world.ok(&["sprint", "new", "title=First words"]), &["First words"]);
    let listed = world.ok(&["sprint", "list"]);
    assert!(!listed.contains("title="), "{listed}");
}

#[test]
fn what_is_not_legal_is_refused_with_a_command_that_helps() {
    let world = planned();
    for (command, what, help) in [
        (
            "task move ACME-S01-T01 committed",
            "is draft and cannot become committed; it can become planned, blocked, escalated, abandoned",
            "forge task move ACME-S01-T01 STATE",
        ),
        (
            "task move ACME-S01-T01 planed",
            "no state `planed`; did you mean `planned`?",
            "forge task move ACME-S01-T01 planned",
        ),
        (
            "task move ACME-S01-T01 blocked",
            "becomes blocked only with a reason",
            "forge task move ACME-S01-T01 blocked --why \"WHY\"",
        ),
        (
            "task unblock ACME-S01-T01 now",
            "`ACME-S01-T01` is draft, not blocked",
            "forge task show ACME-S01-T01",
        ),
        (
            "task set ACME-S01-T01 estimat=M",
            "no field `estimat`; did you mean `estimate`?",
            "forge task set ACME-S01-T01 estimate=M",
        ),
        (
            "task set ACME-S01-T01 estimate=XXL",
            "`size` can be S, M, L, XL, not `XXL`",
            "forge task set ACME-S01-T01 size=S",
        ),
        (
            "task set ACME-S01-T01 locator={\"x\":1}",
            "`locator.x` is not a field here; known: backend, ref",
            "forge help task set",
        ),
        (
            "task set ACME-S01-T01 dependencies=ACME-S01-T01",
            "`dependencies` names the record itself",
            "forge task list",
        ),
        ("task new x", "`sprint` is missing", "forge task new x sprint=ID"),
        (
            "task new x sprnt=ACME-S01 estimate=M",
            "did you mean `sprint`?",
            "forge task new x sprint=ACME-S01 estimate=M",
        ),
        (
            "task new x sprint=S1 estimate=M",
            "there is no sprint `S1`; did you mean `ACME-S01`?",
            "forge task new x sprint=ACME-S01 estimate=M",
        ),
        (
            "task set T01 dependencies=ACME-S01-T02,ACME-S01-T3",
            "`dependencies` names `ACME-S01-T3`, which is not a task here",
            "forge task set ACME-S01-T01 dependencies=ACME-S01-T02,ACME-S01-T0",
        ),
        (
            "task show ACME-S01-T3",
            "there is no task `ACME-S01-T3`; did you mean",
            "forge task show ACME-S01-T0",
        ),
        (
            "task show ACME-BUG-001",
            "`ACME-BUG-001` is a bug, not a task",
            "forge bug show ACME-BUG-001",
        ),
        ("task show ../x", "`../x` is not the name of a record", "forge task list"),
        (
            "task new x sprintId=ACME-S01 --id ../../x",
            "`../../x` is not the name of a record",
            "forge task list",
        ),
        (
            "bug new x severity=major --id acme-bug-001",
            "`acme-bug-001` already exists",
            "forge bug show acme-bug-001",
        ),
        (
            "feature move FEAT-001 shipped",
            "is draft and cannot become shipped; it can become active, retired",
            "forge feature move FEAT-001 STATE",
        ),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        has(&world.refused(&words), &[what, &format!("help: {help}")]);
    }
    has(&world.ok(&["task", "show", "ACME-S01-T01", "--json"]), &["\"rev\": 1,"]);
}

#[test]
fn a_field_that_is_wrong_is_refused_in_the_words_of_the_person() {
    let world = planned();
    for (command, what, help) in [
        ("bug new x", "`severity` is missing", "forge bug new x severity=critical"),
        ("sprint new x id=Y", "the id of a sprint is not a field", "forge sprint new x --id Y"),
        ("task set T01 title=", "`title` is needed and cannot be removed", "forge task set"),
        ("task set T01 title=a\nb", "`title` has a line break in it", "forge task set"),
        ("task set T01 writes=/etc/passwd", "`writes` has the path `/etc/passwd`", "forge help"),
        (
            "task set T01 state=planned",
            "`move` changes the state",
            "forge task move ACME-S01-T01 planned",
        ),
        ("task block T01", "`forge task block` needs WHY", "forge task block T01 \"WHY\""),
        (
            "bug block ACME-BUG-001 x",
            "a bug has no state `blocked`: only sprints and tasks can be blocked",
            "forge bug show ACME-BUG-001",
        ),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        has(&world.refused(&words), &[what, &format!("help: {help}")]);
    }
}

#[test]
fn a_valid_edit_of_a_file_is_taken_in_with_the_name_of_the_person() {
    let world = planned();
    world.git(&["config", "user.name", "Ann Editor"]);
    edit(&task(&world), "Parse the header", "Parse the first line");
    edit(&task(&world), "\"draft\"", "\"planned\"");
    let mut set = world.command(&["task", "set", "ACME-S01-T01", "estimate=L"]);
    let said = finish(set.env_remove("GIT_AUTHOR_NAME"));
    assert_eq!(said.code, DONE, "{said}");
    has(&said.err, &["tasks/ACME-S01-T01.json was changed by Ann Editor; its record is updated"]);
    let shown = world.ok(&["task", "show", "ACME-S01-T01"]);
    has(
        &shown,
        &[
            "Parse the first line",
            "planned",
            "L",
            "changed in the file: state to planned, title to Parse the first line",
        ],
    );
    edit(&task(&world), "Parse the first line", "Parse all lines");
    // As git does, what is set for this one call counts first.
    has(&world.forge(&["task", "list"]).err, &["was changed by Ada"]);
    fs::remove_file(task(&world)).unwrap();
    has(
        &world.forge(&["task", "list"]).err,
        &["ACME-S01-T01.json was deleted; it is written again"],
    );
    has(&fs::read_to_string(task(&world)).unwrap(), &["Parse all lines", "\"rev\": 4"]);
    let by_hand = "{\"bugId\": \"B-7\", \"status\": \"reported\", \"title\": \"By hand\", \"severity\": \"minor\"}";
    fs::write(file(&world, "bugs/B-7.json"), by_hand).unwrap();
    has(&world.ok(&["bug", "list"]), &["B-7           reported  By hand"]);
}

#[test]
fn an_edit_that_breaks_a_rule_is_left_alone_until_it_is_fixed_or_restored() {
    let world = planned();
    let path = task(&world);
    let written = fs::read(&path).unwrap();
    for (from, to, what) in [
        ("\"title\"", "\"titel\"", "`titel` is not a field here"),
        ("\"draft\"", "\"committed\"", "is draft and cannot become committed"),
        ("\"draft\"", "\"done\"", "a task has no state `done`"),
        ("\"ACME-S01\"", "\"ACME-S09\"", "`sprintId` names `ACME-S09`, which is not a sprint here"),
        ("\"Parse the header\"", "7", "`title` must be a text, not a number"),
        ("{\n", "<<<<<<< HEAD\n{\n", "line 1 begins a merge conflict"),
        ("ACME-S01-T01", "ACME-S01-T02", "`taskId` is `ACME-S01-T02`, unlike the name of the file"),
    ] {
        fs::write(&path, &written).unwrap();
        edit(&path, from, to);
        let edited = fs::read(&path).unwrap();
        let refused = world.refused(&["task", "set", "ACME-S01-T01", "estimate=L"]);
        has(
            &refused,
            &[".forge/work/tasks/ACME-S01-T01.json: ", what, "forge work write ACME-S01-T01"],
        );
        let check = world.forge(&["work", "check"]);
        assert_eq!(check.code, FAILED, "{check}");
        has(&check.out, &[what]);
        has(&world.forge(&["task", "list"]).out, &["ACME-S01-T01  draft"]);
        let found = world.forge(&["work", "check", "--json"]);
        fits("work-check.schema.json", &found.out);
        assert_eq!(fs::read(&path).unwrap(), edited, "{what}: it is never overwritten");
    }
    world.ok(&["work", "write", "acme-s01-t01"]);
    assert_eq!(fs::read(&path).unwrap(), written);
    assert_eq!(world.forge(&["work", "check"]).code, DONE);
    assert_eq!(world.forge(&["work", "check", "ACME-S01"]).code, 2);
    assert_eq!(world.forge(&["work", "write", "ACME-S09"]).code, 2);
    // A field that was changed on both sides.
    edit(&path, "Parse the header", "By hand");
    let edited = fs::read(&path).unwrap();
    fs::write(&path, &written).unwrap();
    world.ok(&["task", "set", "ACME-S01-T01", "title=By command"]);
    fs::write(&path, edited).unwrap();
    has(
        &world.refused(&["task", "move", "ACME-S01-T01", "planned"]),
        &["`title` was changed in the file and by a command"],
    );
}

#[test]
fn files_that_git_ignores_are_named_with_how_to_commit_them_all_the_same() {
    for pattern in [".forge", ".forge/", ".*", "/.forge/work"] {
        let world = World::new();
        world.write(".gitignore", format!("{pattern}\n"));
        world.ok(&["feature", "new", "CSV export"]);
        let said = world.forge(&["work", "check"]).all();
        has(&said, &["git ignores .forge/work", "git add --force .forge/work"]);
    }
    let world = World::new();
    world.ok(&["feature", "new", "CSV export"]);
    assert!(!world.forge(&["work", "check"]).all().contains("git ignores"));
}

#[test]
fn files_that_come_by_pull_are_taken_in_with_their_author_and_stay_as_they_are() {
    let world = planned();
    world.commit();
    let clone = world.beside("clone");
    world.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let there = |args: &[&str]| {
        let all = [&["-C", clone.to_str().unwrap()], args].concat();
        world.ok(&all)
    };
    let git = |args: &[&str]| world.git(&[&["-C", clone.to_str().unwrap()], args].concat());
    has(&there(&["task", "list"]), &["ACME-S01-T02  draft  Parse the rows"]);
    git(&["config", "user.name", "Bob Clone"]);
    there(&["task", "new", "Write the rows", "sprintId=ACME-S01", "dependencies=ACME-S01-T01"]);
    for state in ["planned", "plan-approved", "implementing"] {
        there(&["task", "move", "ACME-S01-T01", state]);
    }
    there(&["task", "set", "ACME-S01-T01", "dependencies=ACME-S01-T02"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--author=Bob Clone <bob@example.org>", "-m", "work of bob"]);
    world.git(&["pull", "--quiet", clone.to_str().unwrap(), "HEAD"]);
    let said = world.forge(&["task", "list"]);
    has(
        &said.out,
        &[
            "ACME-S01-T01  implementing  Parse the header",
            "ACME-S01-T03  draft         Write the rows",
        ],
    );
    has(&said.err, &["was changed by Bob Clone; its record is updated"]);
    assert_eq!(world.git(&["status", "--porcelain"]), "", "what came stays as it is");
    let shown = json(&world.ok(&["task", "show", "ACME-S01-T01", "--json"]));
    let by = &shown["history"][1]["by"]["file"];
    assert_eq!((&by["who"], by["commit"].as_str().unwrap().len()), (&Value::from("Bob Clone"), 40));
    assert_eq!(world.forge(&["work", "check"]).code, DONE);
    // An older commit has older files: they are ours, not edits.
    world.git(&["checkout", "--quiet", "HEAD~1"]);
    has(&world.ok(&["task", "list"]), &["ACME-S01-T01  implementing"]);
}

#[test]
fn what_a_merge_brings_is_its_authors_before_it_is_committed() {
    let world = planned();
    world.commit();
    let clone = world.beside("clone");
    world.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let there = ["-C", clone.to_str().unwrap()];
    world.ok(&[&there[..], &["task", "set", "ACME-S01-T01", "title=Parse it"]].concat());
    let commit =
        ["commit", "--quiet", "--all", "--author=Bob Clone <bob@example.org>", "-m", "title"];
    world.git(&[&there[..], &commit].concat());
    world.git(&["fetch", "--quiet", clone.to_str().unwrap(), "HEAD"]);
    world.git(&["merge", "--quiet", "--no-commit", "--no-ff", "FETCH_HEAD"]);
    has(&world.forge(&["task", "list"]).err, &["was changed by Bob Clone"]);
}

#[test]
fn what_is_no_file_in_the_place_of_one_is_named_and_a_key_that_is_there_twice_is_refused() {
    let world = planned();
    let folder = file(&world, "tasks");
    fs::create_dir(folder.join("ACME-S01-T77.json")).unwrap();
    let fifo = Command::new("mkfifo").arg(folder.join("ACME-S01-T78.json")).status().unwrap();
    assert!(fifo.success());
    let path = folder.join("ACME-S01-T01.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"title\"", "\"title\": \"other\",\n  \"title\"", 1)).unwrap();
    let found = world.forge(&["work", "check"]);
    assert_eq!(found.code, FAILED, "{found}");
    has(
        &found.out,
        &[
            "ACME-S01-T77.json",
            "ACME-S01-T78.json",
            "a link or something else is in the place of the file",
            "the key `title` is there twice",
        ],
    );
}

#[test]
fn no_file_is_written_through_a_link_and_the_record_is_kept() {
    let world = planned();
    let outside = world.beside("outside");
    fs::create_dir(&outside).unwrap();
    let folder = file(&world, "bugs");
    fs::remove_dir_all(&folder).unwrap();
    symlink(&outside, &folder).unwrap();
    has(&world.refused(&["bug", "move", "ACME-BUG-001", "triaged"]), &["a link or something else"]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    fs::remove_file(&folder).unwrap();
    has(&world.ok(&["bug", "move", "ACME-BUG-001", "triaged"]), &["triaged"]);
    assert!(folder.join("ACME-BUG-001.json").is_file());
}

#[test]
fn a_repository_without_records_is_left_as_it_is() {
    let world = World::new();
    assert_eq!(world.ok(&["task", "list"]), "");
    assert_eq!(world.ok(&["task", "list", "--json"]), "[]\n");
    assert_eq!(world.forge(&["work", "check"]).code, DONE);
    has(
        &world.refused(&["bug", "show", "X-1"]),
        &["there is no bug `X-1`", "help: forge help bug new"],
    );
    assert!(world.is_untouched());
}

#[test]
fn a_record_whose_file_has_no_place_is_not_created() {
    let world = World::new();
    world.write(".forge", "no folder\n");
    let refused = world.refused(&["sprint", "new", "First"]);
    has(&refused, &[".forge/work/sprints is not a folder", "ls -l .forge"]);
    fs::remove_file(world.repo.join(".forge")).unwrap();
    assert_eq!(world.ok(&["sprint", "list"]), "");
}

#[test]
fn commands_say_what_they_changed_and_take_the_words_of_screens() {
    let world = World::named("acme");
    world.ok(&["feature", "new", "Export"]);
    world.ok(&["sprint", "new", "First", "feature=FEAT-001"]);
    world.ok(&["task", "new", "Parse", "sprint=ACME-S01"]);
    let set = |field: &str| world.ok(&["task", "set", "t01", field]);
    assert_eq!(set("must=all rows"), "ACME-S01-T01: must is now all rows\n");
    assert_eq!(set("must+=all rows"), "ACME-S01-T01: nothing changed\n");
    assert_eq!(set("must="), "ACME-S01-T01: must is removed\n");
    assert_eq!(set("feature_id=FEAT-001"), "ACME-S01-T01: feature is now FEAT-001\n");
    assert_eq!(world.ok(&["task", "retire", "T01"]), "ACME-S01-T01: abandoned, was draft\n");
    assert_eq!(world.ok(&["task", "retire", "T01"]), "ACME-S01-T01: nothing changed\n");
    let shown = world.ok(&["task", "show", "T01"]);
    has(&shown, &["  state  ", "  sprint  ", "  feature  "]);
    world.ok(&["sprint", "new", "Second"]);
    world.ok(&["task", "new", "Other", "sprint=ACME-S02"]);
    has(
        &world.refused(&["task", "show", "T01"]),
        &["several tasks end with `T01`: ACME-S01-T01, ACME-S02-T01"],
    );
    let help = world.ok(&["task", "new", "--help"]);
    has(&help, &["Create a task", "sprint*", "S, M, L, XL"]);
    has(&world.ok(&["bug", "list", "--help"]), &["List the bugs", "reported, triaged"]);
}

#[test]
fn a_file_that_a_reading_command_brings_up_to_date_is_named() {
    let world = planned();
    let old = fs::read(task(&world)).unwrap();
    world.ok(&["task", "set", "T01", "estimate=L"]);
    fs::write(task(&world), old).unwrap();
    let said = world.forge(&["task", "list"]);
    has(&said.err, &["note: updated ", "tasks/ACME-S01-T01.json; commit it"]);
    assert_eq!(world.forge(&["task", "list"]).err, "");
}
