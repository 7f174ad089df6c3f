//! Holes that a reviewer found in what lands, who may be asked, and what a Ctrl-C ends. Each is
//! mended, and each has a story here that would fail if it came back.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::Command,
};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};

use crate::{
    code::{CHECKED, count, landed, notes, project},
    goes::UNTIL_GO,
    world::{DONE, INTERRUPTED, Running, Said, WAITS, WRONG, World, finish, has, until},
};

/// The gates of a stage that changes code and lands it.
const GATES: &str = "gates = [{ check = \"changes\" }, { verify = true }, { check = \"guarded\" }, { land = true }]";

/// A plan, and then an item for each of its tasks.
fn items(at_once: u32) -> String {
    format!(
        "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\n\
         [[stage]]\nname = \"build\"\neach = \"tasks\"\nat_once = {at_once}\n\
         [[stage.stage]]\nname = \"make\"\nagent = \"worker\"\n{GATES}\n"
    )
}

/// The plan has these tasks, as TOML; then comes what is played.
fn planned(tasks: &str, plays: &str) -> String {
    format!("[[play]]\nrole = \"planner\"\nresult = {{ lists = {{ tasks = [{tasks}] }} }}\n{plays}")
}

/// The program in a process group of its own, as a shell at a terminal starts it.
fn in_a_group(command: &mut Command) -> Running {
    Running::of(command.process_group(0))
}

/// What a Ctrl-C at the terminal does: everybody in the group hears it.
fn ctrl_c(running: &Running) {
    let pid = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    kill_process_group(pid, Signal::INT).unwrap();
}

/// Git as a person calls it in another folder.
fn git_in(world: &World, dir: &Path, args: &[&str]) -> Said {
    let mut command = Command::new("git");
    world.surround(&mut command);
    finish(command.args(args).current_dir(dir))
}

#[test]
fn a_reader_beside_a_writer_in_the_same_checkout_is_refused() {
    let world = project(CHECKED);
    world.scenario("[[play]]\n");
    let reader = "[[stage]]\nname = \"read\"\nagent = \"reader\"\n";
    let writer = format!("[[stage]]\nname = \"write\"\nafter = []\nagent = \"worker\"\n{GATES}\n");
    world.flow("beside", &format!("{reader}{writer}"));
    let what = "stage `write` changes code while `read` works in the same checkout";
    let next = "let one come `after` the other";
    has(&world.refused(&["flow", "check", "beside"]), &[what, next]);
    let said = world.run("beside", &[]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &[what, next]);
    assert!(world.is_untouched());
    world.flow("in-order", &format!("{reader}{}", writer.replace("after = []\n", "")));
    world.ok(&["flow", "check", "in-order"]);
}

#[test]
fn items_that_land_have_checkouts_of_their_own_and_may_work_beside_a_writer() {
    let world = project(CHECKED);
    let writer =
        format!("[[stage]]\nname = \"write\"\nafter = [\"plan\"]\nagent = \"worker\"\n{GATES}\n");
    world.flow("beside", &format!("{}{writer}", items(1)));
    world.scenario(&planned(
        "{ id = \"T1\", title = \"one\" }",
        "[[play]]\nunit = \"write\"\nfiles = { \"src/b.txt\" = \"b\\n\" }\n\
         [[play]]\nfiles = { \"src/c.txt\" = \"c\\n\" }\n",
    ));
    world.ok(&["flow", "check", "beside"]);
    let said = world.run("beside", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    assert_eq!(landed(&world, &run, "src/b.txt"), "b");
    assert_eq!(landed(&world, &run, "src/c.txt"), "c");
    // An item that lands nothing works in the checkout of the writer.
    let shared = items(1).replace(GATES, "").replace("worker", "reader");
    world.flow("shared", &format!("{shared}{writer}"));
    has(
        &world.refused(&["flow", "check", "shared"]),
        &["stage `write` changes code while `build` works in the same checkout"],
    );
}

#[test]
fn what_a_hook_refused_stays_refused_until_it_is_gone_and_never_becomes_history() {
    let world = project(CHECKED);
    let hook = "#!/bin/sh\nif git diff --cached | grep -q forbidden; then echo no such words; exit 1; fi\n";
    let path = world.write(".git/hooks/pre-commit", hook);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    world.flow("items", &items(1));
    world.scenario(&planned(
        "{ id = \"T1\", title = \"one\" }",
        "[[play]]\nattempt = 1\nfiles = { \"src/b.txt\" = \"forbidden\\n\" }\n\
         [[play]]\nattempt = 2\nfiles = { \"src/c.txt\" = \"c\\n\" }\n\
         [[play]]\nfiles = { \"src/b.txt\" = \"allowed\\n\" }\n",
    ));
    let said = world.run("items", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    for n in [1, 2] {
        let refused = [
            "T1 make: change check did not pass",
            "T1 make (attempt 2): change check did not pass",
        ];
        has(&said.out, &[refused[n - 1], "the commit hook `pre-commit` refuses it"]);
        let brief = world.brief(&run, &format!("build.T1/make#{}", n + 1));
        has(&brief, &["no such words"]);
    }
    assert!(!said.out.contains("make (attempt 2): verify"), "nothing looks further: {said}");
    assert_eq!(landed(&world, &run, "src/b.txt"), "allowed");
    assert_eq!(landed(&world, &run, "src/c.txt"), "c");
    let made = format!("refs/forge/{run}/base..forge/{run}");
    assert_eq!(world.git(&["rev-list", "--count", &made]), "1");
    let history = world.git(&["log", "-p", &made]);
    assert!(!history.contains("forbidden"), "{history}");
}

#[test]
fn what_lands_is_always_looked_at_and_verified_in_its_own_stage() {
    let world = project(CHECKED);
    let params = "[params]\ncare = { values = [\"little\", \"much\"], default = \"much\" }\n";
    let when = "when = { param = \"care\", is = [\"much\"] }";
    let one = |gates: &str| {
        format!("{params}[[stage]]\nname = \"build\"\nagent = \"worker\"\ngates = [{gates}]\n")
    };
    let (changes, verify, land) =
        ("{ check = \"changes\" }", "{ verify = true }", "{ land = true }");
    let unlooked = "nothing checks the changed files";
    let unverified = "merges unverified code";
    let elsewhere = format!(
        "{}[[stage]]\nname = \"landing\"\ngates = [{land}]\n",
        one(&format!("{changes}, {verify}"))
    );
    for (flow, what) in [
        (one(&format!("{{ check = \"changes\", {when} }}, {verify}, {land}")), unlooked),
        (one(&format!("{{ check = \"changes\", advisory = true }}, {verify}, {land}")), unlooked),
        (one(&format!("{changes}, {{ verify = true, {when} }}, {land}")), unverified),
        (elsewhere.clone(), unverified),
    ] {
        world.flow("care", &flow);
        has(&world.refused(&["flow", "check", "care"]), &["stage `", what, "add the gate"]);
    }
    for flow in [
        one(&format!("{changes}, {verify}, {land}")),
        elsewhere.replace(&format!("gates = [{land}]"), &format!("gates = [{verify}, {land}]")),
    ] {
        world.flow("care", &flow);
        world.ok(&["flow", "check", "care"]);
    }
}

#[test]
fn a_script_that_the_checks_name_is_guarded_whatever_its_name() {
    for (command, script, is_asked) in [
        ("sh devel/all.py", "devel/all.py", true),
        ("sh ./devel/all-checks", "devel/all-checks", true),
        ("cd devel && sh all.py", "devel/all.py", true),
        ("cd devel && ./all-checks", "devel/all-checks", true),
        ("sh devel/all-checks", "devel/of-nobody", false),
    ] {
        let world = project(&format!("[verify]\ncommands = [\"{command}\"]"));
        for name in ["all.py", "all-checks", "of-nobody"] {
            let path = world.write(&format!("devel/{name}"), "#!/bin/sh\ntrue\n");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        world.git(&["add", "devel"]);
        world.git(&["commit", "--quiet", "-m", "checks"]);
        world.scenario(&format!(
            "[[play]]\nfiles = {{ \"{script}\" = \"#!/bin/sh\\nexit 0\\n\" }}\n"
        ));
        let said = world.run("one", &[]);
        let run = world.latest();
        if is_asked {
            assert_eq!(said.code, WAITS, "{command}: {said}");
            has(&said.out, &["Accept it?", script]);
            assert_eq!(count(&world, &run, "landed"), 0);
        } else {
            assert_eq!(said.code, DONE, "{command}: {said}");
        }
    }
}

#[test]
fn a_changed_test_file_that_is_too_large_to_be_compared_is_for_a_person_to_see() {
    let world = project("[verify]\ncommands = [\"true\"]");
    let large = "assert one\n".repeat(200_000);
    world.write("tests/large_test.txt", &large);
    world.git(&["add", "tests"]);
    world.git(&["commit", "--quiet", "-m", "a large test"]);
    world.scenario("[[play]]\nfiles = { \"tests/large_test.txt\" = \"assert nothing\\n\" }\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["Accept it?", "tests/large_test.txt"]);
}

/// Two tasks, the second after the first, each with one file of its own.
const IN_ORDER: &str = "{ id = \"T1\", title = \"one\", writes = [\"src/b.txt\"] }, \
     { id = \"T2\", title = \"two\", after = [\"T1\"], writes = [\"src/c.txt\"] }";

#[test]
fn an_item_that_changes_nothing_is_not_blamed_for_what_landed_before_it() {
    let world = project(CHECKED);
    world.flow("items", &items(1));
    world.scenario(&planned(
        IN_ORDER,
        "[[play]]\nunit = \"build.T1/make\"\nfiles = { \"src/b.txt\" = \"b\\n\" }\n\
         [[play]]\nresult = { summary = \"nothing to do\" }\n",
    ));
    let said = world.run("items", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["T2 make: change check passed", "nothing changed. Is that right?"]);
    assert!(!said.out.contains("sent back"), "{said}");
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "waive", "land", "nothing was to do"]);
    assert_eq!(world.forge(&["resume", &run]).code, DONE);
    let heads: Vec<String> = world
        .facts(&run)
        .iter()
        .filter_map(|fact| Some(fact.get("landed")?["head"].as_str()?.to_owned()))
        .collect();
    assert_eq!(heads.len(), 1, "the second landed nothing");
    let made = format!("refs/forge/{run}/base..forge/{run}");
    assert_eq!(world.git(&["rev-list", "--count", &made]), "1");
}

/// Runs that defer, one after the other. The first is at work, is sent back once, and is good then;
/// the others wait for it.
fn all_defer(requests: &[&str]) -> Vec<Said> {
    let world = project(CHECKED);
    world.scenario(&format!(
        "[[play]]\nattempt = 1\nfiles = {{ \"src/b.txt\" = \"broken\\n\" }}\nrun = \"{UNTIL_GO}\"\n\
         [[play]]\nfiles = {{ \"src/b.txt\" = \"good\\n\" }}\n"
    ));
    let mut at_work: Vec<Running> = Vec::new();
    for request in requests {
        let mut command = world.command(&["run", "--flow", "one", request]);
        let mut run = Running::of(command.env("FORGE_WORKSPACE_CLAIMS", "defer"));
        run.until_says(if at_work.is_empty() { "build started" } else { "build waits" });
        at_work.push(run);
    }
    world.go();
    at_work.into_iter().map(Running::end).collect()
}

#[test]
fn runs_that_defer_all_end_though_the_first_is_sent_back_and_do_not_wait_for_each_other() {
    let said = all_defer(&["the first", "the second", "the third"]);
    assert!(said.iter().all(|said| said.code == DONE), "{said:#?}");
    has(&said[0].out, &["build sent back by checks"]);
    assert!(!said[0].out.contains(" waits"), "who was there first goes on: {}", said[0]);
}

/// A flow that asks at once when something is red, in a project that counts its proofs.
fn asks_at_once(commands: &str, exhausted: &str) -> World {
    let world = project(&format!("[verify]\ncommands = [{commands}]"));
    world.flow(
        "ask",
        &format!(
            "[[stage]]\nname = \"build\"\nagent = \"worker\"\nrounds = 0\nexhausted = \"{exhausted}\"\n{GATES}\n"
        ),
    );
    world.scenario("[[play]]\nfiles = { \"src/b.txt\" = \"broken\\n\" }\n");
    world
}

const COUNTED: &str = "\"echo proof >> $HOME/proofs; sh check.sh\"";

fn proofs(world: &World) -> usize {
    fs::read_to_string(world.beside("proofs")).unwrap_or_default().lines().count()
}

#[test]
fn a_verify_that_a_person_waived_by_name_lands_without_another_proof_and_is_shown() {
    for commands in [COUNTED, ""] {
        let world = asks_at_once(commands, "ask");
        let said = world.run("ask", &[]);
        assert_eq!(said.code, WAITS, "{said}");
        let run = world.latest();
        assert_eq!(count(&world, &run, "landed"), 0);
        let before = proofs(&world);
        assert_eq!(before > 0, !commands.is_empty(), "{said}");
        world.ok(&["answer", &run, "Q1", "waive", "verify", "it", "was", "red", "before"]);
        let said = world.forge(&["resume", &run]);
        assert_eq!(said.code, DONE, "{said}");
        assert_eq!(proofs(&world), before, "nobody asks again what was waived: {said}");
        assert_eq!(landed(&world, &run, "src/b.txt"), "broken");
        has(&notes(&world, &run), &["merged without proof: the checks were overridden"]);
        let shown = world.ok(&["show", &run]);
        has(&shown, &["override checks of build, by ada: it was red before"]);
        assert!(!shown.contains(" verified: "), "{shown}");
    }
}

#[test]
fn landing_never_passes_what_is_unverified_unless_a_person_said_so() {
    for commands in [COUNTED, ""] {
        let world = asks_at_once(commands, "pass-with-notes");
        let said = world.run("ask", &["--auto"]);
        assert_ne!(said.code, DONE, "{said}");
        let run = world.latest();
        assert_eq!(count(&world, &run, "landed"), 0, "{said}");
        assert!(!said.out.contains(": merge passed"), "{said}");
        assert_eq!(world.git(&["branch", "--list", "forge/*"]), "");
    }
}

#[test]
fn a_result_whose_branch_could_not_be_made_is_named_where_it_is() {
    let world = project(CHECKED);
    // A branch of this name leaves no room for any `forge/RUN`.
    world.git(&["branch", "forge"]);
    world.scenario("[[play]]\nfiles = { \"src/b.txt\" = \"b\\n\" }\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    let there = format!("refs/forge/{run}/head");
    has(&said.out, &[&format!("Branch  {there}")]);
    has(&world.ok(&["show", &run]), &[&format!(" on {there}"), "forge merge "]);
    has(&world.ok(&["status", &run]), &[&there]);
    assert_eq!(world.git(&["show", &format!("{there}:src/b.txt")]), "b");
}

#[test]
fn the_change_of_a_landed_item_is_its_own_and_nobody_elses() {
    let apart = IN_ORDER.replace("after = [\"T1\"], ", "");
    for (tasks, at_once) in [(IN_ORDER, 1), (apart.as_str(), 2)] {
        let world = project(CHECKED);
        world.flow("items", &items(at_once));
        let wait = if at_once == 1 { "true" } else { UNTIL_GO };
        world.scenario(&planned(
            tasks,
            &format!(
                "[[play]]\nunit = \"build.T1/make\"\nfiles = {{ \"src/b.txt\" = \"the first\\n\" }}\n\
                 [[play]]\nfiles = {{ \"src/c.txt\" = \"the second\\n\" }}\nrun = \"{wait}\"\n"
            ),
        ));
        let mut running = world.start(&["run", "--flow", "items", "do it"]);
        running.until_says("T1 make merged as");
        world.go();
        let said = running.end();
        assert_eq!(said.code, DONE, "{said}");
        let run = world.latest();
        for (unit, own, other) in [
            ("build.T1/make", "+the first", "the second"),
            ("build.T2/make", "+the second", "the first"),
        ] {
            let diff = world.ok(&["show", &run, "--diff", unit]);
            has(&diff, &[own]);
            assert!(!diff.contains(other), "{unit}: {diff}");
        }
        has(&world.ok(&["show", &run, "--diff"]), &["+the first", "+the second"]);
    }
}

#[test]
fn instructions_that_are_not_committed_and_settings_that_are_gone_are_refused_by_name() {
    let world = project(CHECKED);
    world.scenario("[[play]]\nfiles = { \"src/b.txt\" = \"b\\n\" }\n");
    world.commit();
    world.approve("one");
    let refused = |named: &str| {
        let said = finish(&mut world.command_as_it_is(&["run", "--flow", "one", "do it"]));
        assert_eq!(said.code, WRONG, "{named}: {said}");
        has(&said.err, &["error: ", named, "help: "]);
        assert!(world.is_untouched());
    };
    let instructions = world.write(".forge/instructions.md", "Be kind.\n");
    refused(".forge/instructions.md is not committed");
    world.commit();
    world.write(".forge/instructions.md", "Be quick.\n");
    refused(".forge/instructions.md has uncommitted changes");
    fs::remove_file(&instructions).unwrap();
    refused(".forge/instructions.md");
    world.git(&["checkout", "--", ".forge/instructions.md"]);
    fs::remove_file(world.repo.join("forge.toml")).unwrap();
    refused("forge.toml");
    world.git(&["checkout", "--", "forge.toml"]);
    let said = finish(&mut world.command_as_it_is(&["run", "--flow", "one", "do it"]));
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn a_change_that_is_too_large_to_be_shown_is_named_to_the_reviewer_and_a_person_is_asked() {
    let world = project(CHECKED);
    world.write(
        ".forge/roles/reader.md",
        "+++\ncode = \"reads\"\nmust = [\"verdict\"]\n+++\nYou read.\n",
    );
    world.flow(
        "large",
        "[[stage]]\nname = \"build\"\nagent = \"worker\"\n\
         gates = [{ check = \"changes\" }, { verify = true }, \
         { name = \"review\", review = \"reader\" }, { check = \"guarded\" }, { land = true }]\n",
    );
    world.scenario(
        "[[play]]\nrole = \"worker\"\nfiles = { \"src/b.txt\" = \"b\\n\" }\n\
         run = 'yes 31 characters and an end of line | head -c 2097152 > src/large.txt'\n\
         [[play]]\nresult = { summary = \"fine\", verdict = \"pass\", findings = [] }\n",
    );
    let said = world.run("large", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    let brief = world.brief(&run, "build#1/review#1");
    let (_, unshown) = brief.split_once("change.diff does not have all of it").expect(&brief);
    has(unshown, &["The changes of 1 files are too large", "- `src/large.txt`"]);
    let diff = fs::read_to_string(world.boxes(&run, "build#1/review#1").join("inbox/change.diff"));
    has(&diff.unwrap(), &["src/b.txt", "+b"]);
    has(&said.out, &["the change of `src/large.txt` is too large to be shown to a reviewer"]);
    assert_eq!(count(&world, &run, "landed"), 0, "{said}");
}

/// Whether a person who merged by hand also commits it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Merged {
    Committed,
    AsItLies,
}

/// A run in which `right` did not fit twice, and asks.
fn conflicting() -> (World, String) {
    let world = project(CHECKED);
    world.write("src/lines.txt", "first\n2\n3\n4\n5\n6\n7\n8\n9\nlast\n");
    world.git(&["add", "src"]);
    world.git(&["commit", "--quiet", "-m", "lines"]);
    let table = |name: &str| {
        format!(
            "[[stage]]\nname = \"{name}\"\nafter = [\"plan\"]\neach = \"tasks\"\n\
             [[stage.stage]]\nname = \"make\"\nagent = \"worker\"\n{GATES}\n"
        )
    };
    let tables: String = ["left", "middle", "right"].map(table).concat();
    let table = "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\n";
    world.flow("three", &format!("{table}{tables}"));
    let until_there = |name: &str| format!("while [ ! -e $HOME/{name} ]; do sleep 0.02; done");
    let play = |unit: &str, attempt: u32, run: &str| {
        format!("[[play]]\nunit = \"{unit}.T1/make\"\nattempt = {attempt}\nrun = '''{run}'''\n")
    };
    let plays = [
        play(
            "left",
            1,
            &format!(
                "{}; {}; sed -i 's/first/left/' src/lines.txt",
                until_there("m"),
                until_there("r")
            ),
        ),
        play(
            "middle",
            1,
            &format!(
                "touch $HOME/m; sed -i 's/last/middle/' src/lines.txt; {}",
                until_there("go-middle")
            ),
        ),
        play(
            "right",
            1,
            &format!(
                "touch $HOME/r; sed -i -e 's/first/right/' -e 's/last/right/' src/lines.txt; {}",
                until_there("go-right")
            ),
        ),
        play(
            "right",
            2,
            &format!(
                "sed -i -e '/^[<=>|]/d' -e '/^left$/d' -e '/^first$/d' src/lines.txt; touch $HOME/resolved; {}",
                until_there("go-again")
            ),
        ),
    ];
    world.scenario(&planned("{ id = \"T1\", title = \"one\" }", &plays.concat()));
    let touch = |name: &str| fs::write(world.beside(name), "").unwrap();
    let mut running = world.start(&["run", "--flow", "three", "do it"]);
    running.until_says("T1 make merged as");
    touch("go-right");
    until("the second try", || world.beside("resolved").exists().then_some(()));
    touch("go-middle");
    running.until_says("T1 make merged as");
    touch("go-again");
    let said = running.end();
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["This change conflicted twice with work that was merged meanwhile"]);
    let run = world.latest();
    (world, run)
}

#[test]
fn a_conflict_that_a_person_merges_by_hand_lands() {
    for merged in [Merged::Committed, Merged::AsItLies] {
        let (world, run) = conflicting();
        let unit = "right.T1/make";
        let checkout = world.checkouts(&run).join("right.T1/_/tree");
        has(
            &world.refused(&["edit", &run, "--code", unit]),
            &["needs a reason", checkout.to_str().unwrap()],
        );
        let head = world.git(&["rev-parse", &format!("refs/forge/{run}/head")]);
        let said = git_in(&world, &checkout, &["merge", &head]);
        assert_eq!(said.code, 1, "it is a conflict: {said}");
        let lines = checkout.join("src/lines.txt");
        has(&fs::read_to_string(&lines).unwrap(), &["<<<<<<<", "middle", "right"]);
        fs::write(&lines, "right\n2\n3\n4\n5\n6\n7\n8\n9\nmiddle and right\n").unwrap();
        if merged == Merged::Committed {
            let said = git_in(&world, &checkout, &["commit", "-qam", "merged"]);
            assert_eq!(said.code, 0, "{said}");
        }
        world.ok(&["edit", &run, "--code", unit, "--why", "merged by hand"]);
        let said = world.forge(&["resume", &run]);
        assert_eq!(said.code, DONE, "{said}");
        has(&said.out, &["T1 make merged as"]);
        let result = landed(&world, &run, "src/lines.txt");
        assert_eq!(result.lines().last(), Some("middle and right"));
        assert_eq!(result.lines().next(), Some("right"));
        assert_eq!(count(&world, &run, "landed"), 3);
        let diff = world.ok(&["show", &run, "--diff", unit]);
        has(&diff, &["-middle", "+middle and right"]);
    }
}

#[test]
fn code_of_a_run_that_is_done_is_not_taken_in_and_nothing_is_left_of_it() {
    let world = project(CHECKED);
    world.scenario("[[play]]\nfiles = { \"src/b.txt\" = \"b\\n\" }\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    fs::write(world.work(&run).join("src/b.txt"), "too late\n").unwrap();
    let refs = world.git(&["for-each-ref"]);
    let refused = world.refused(&["edit", &run, "--code", "build", "--why", "an afterthought"]);
    has(&refused, &[" is done", "help: "]);
    assert_eq!(world.git(&["for-each-ref"]), refs);
    assert_eq!(landed(&world, &run, "src/b.txt"), "b");
}

#[test]
fn ctrl_c_ends_an_init_and_all_that_it_tries_and_leaves_nothing() {
    let world = World::new();
    // It would go on for ever, and does not mind being asked to end.
    world.write("test.sh", "#!/bin/sh\ntrap '' INT\necho $$ > $HOME/pid.new\nmv $HOME/pid.new $HOME/pid\nwhile :; do sleep 0.02; done\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "a check that never ends"]);
    let running = in_a_group(&mut world.command_as_it_is(&["init"]));
    let pid = until("the check", || fs::read_to_string(world.beside("pid")).ok());
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    ctrl_c(&running);
    let said = running.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    has(&said.err, &["interrupted; nothing was written"]);
    until("the check to be gone", || test_kill_process(pid).is_err().then_some(()));
    assert!(!world.repo.join("forge.toml").exists());
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    let state = world.beside(".local/state/forge");
    let left: Vec<_> = fs::read_dir(&state).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn ctrl_c_counts_even_if_the_last_check_of_an_init_ends_by_itself_just_then() {
    let world = World::new();
    let check =
        "#!/bin/sh\nwhile [ ! -e $HOME/whom ]; do sleep 0.02; done\nkill -INT $(cat $HOME/whom)\n";
    world.write("test.sh", check);
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "a check that interrupts us and is green"]);
    let running = in_a_group(&mut world.command_as_it_is(&["init"]));
    fs::write(world.beside("whom.new"), running.pid().to_string()).unwrap();
    fs::rename(world.beside("whom.new"), world.beside("whom")).unwrap();
    let said = running.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    has(&said.err, &["interrupted; nothing was written"]);
    assert!(!world.repo.join("forge.toml").exists());
}

#[test]
fn ctrl_c_at_any_moment_of_a_run_that_lands_is_an_interruption_and_no_accident() {
    let moments = [
        "started the run",
        "plan started",
        "T1 make started",
        "T1 make: change check passed",
        "T1 make: checks passed",
        "T1 make merged as",
    ];
    // Every third of them, by the seed, or all.
    let seed: usize =
        std::env::var("FORGE_INTERRUPTS_SEED").map_or(2, |seed| seed.parse().unwrap());
    let every = if std::env::var("FORGE_INTERRUPTS").is_ok_and(|n| n == "all") { 1 } else { 3 };
    for moment in moments.into_iter().skip(seed % every).step_by(every) {
        let world = project(CHECKED);
        world.flow("items", &items(1));
        world.scenario(&planned(
            IN_ORDER,
            "[[play]]\nunit = \"build.T1/make\"\nfiles = { \"src/b.txt\" = \"b\\n\" }\n\
             [[play]]\nfiles = { \"src/c.txt\" = \"c\\n\" }\n",
        ));
        let mut running = in_a_group(&mut world.command(&["run", "--flow", "items", "do it"]));
        running.until_says(moment);
        ctrl_c(&running);
        let said = running.end();
        assert_eq!(said.code, INTERRUPTED, "{moment}: {said}");
        has(&said.all(), &["■ Interrupted"]);
        assert!(!said.all().contains("killed"), "{moment}: {said}");
        let run = world.latest();
        let said = world.forge(&["resume", &run]);
        assert_eq!(said.code, DONE, "{moment}: {said}");
        assert_eq!(landed(&world, &run, "src/b.txt"), "b");
        assert_eq!(landed(&world, &run, "src/c.txt"), "c");
        assert_eq!(count(&world, &run, "landed"), 2);
    }
}
