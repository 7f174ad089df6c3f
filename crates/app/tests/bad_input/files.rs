//! Flows, roles, settings and scenarios: what a person writes in files.

use std::{fs, os::unix::fs::symlink};

use super::world::{CONTENT, DONE, World, has};

/// A flow is refused by `check`, by `show` and by `run`, in the same words, and nothing is made.
#[track_caller]
fn refused(world: &World, name: &str, expected: &[&str]) {
    for args in [
        vec!["flow", "check", name],
        vec!["flow", "show", name],
        vec!["run", "--flow", name, "do it"],
    ] {
        let said = world.refused(&args);
        has(&said, &["error: ", "help: "]);
        has(&said, expected);
    }
    assert!(world.is_untouched());
}

/// What is no file is named by those who look at the checkout. In a commit there is no such flow.
#[track_caller]
fn refused_by_those_who_look(world: &World, name: &str, expected: &[&str]) {
    for args in [["flow", "check", name], ["flow", "show", name]] {
        let said = world.refused(&args);
        has(&said, &["error: ", "help: "]);
        has(&said, expected);
    }
    let said = world.refused(&["run", "--flow", name, "do it"]);
    has(&said, &[&format!("unknown flow `{name}`"), "help: "]);
    assert!(!said.contains(&format!("did you mean `{name}`")), "{said}");
    assert!(world.is_untouched());
}

#[test]
fn a_flow_that_is_wrong_is_refused_with_its_place() {
    let world = World::new();
    world.roles(&["worker"]);
    let stage = "[[stage]]\nname = \"a\"\n";
    let command = format!("{stage}command = \"true\"\n");
    for (text, expected) in [
        ("this is = not [TOML".to_owned(), &["flow `f`, line 2"][..]),
        (format!("{stage}comand = \"true\"\n"), &["line 4", "comand"]),
        (format!("{stage}command = 3\n"), &["line 4"]),
        (String::new(), &["it has no stages"]),
        (stage.to_owned(), &["stage `a` has neither work nor gates"]),
        (format!("{command}agent = \"worker\"\n"), &["stage `a` has more than one of"]),
        (
            format!("{stage}agent = \"nobody\"\n"),
            &["role `nobody`", "help: create .forge/roles/nobody.md"],
        ),
        (format!("{stage}agent = \"../nobody\"\n"), &["stage `a`", "`../nobody`"]),
        (
            format!("{command}after = [\"b\"]\n"),
            &["stage `a` waits for `b`, which is not a stage above it"],
        ),
        (format!("{command}{command}"), &["stage `a` has the name of a stage above it"]),
        (
            "[[stage]]\nname = \"../a\"\ncommand = \"true\"\n".to_owned(),
            &["stage `../a` has a name that is not plain"],
        ),
        (
            format!("{command}reads = [\"plan.md\"]\n"),
            &["stage `a` reads `plan.md` before any stage writes it"],
        ),
        (format!("{command}writes = [\"../plan.md\"]\n"), &["writes `../plan.md`"]),
        (format!("{command}writes = [\"/plan.md\"]\n"), &["writes `/plan.md`"]),
        (format!("{command}writes = [\"request.md\"]\n"), &["which is the user's"]),
        (
            format!("{stage}each = \"tasks\"\n[[stage.stage]]\nname = \"b\"\ncommand = \"true\"\n"),
            &["stage `a` has `each = \"tasks\"`"],
        ),
        (
            format!("{command}when = {{ param = \"size\", is = [\"S\"] }}\n"),
            &["condition on `size`"],
        ),
        (
            format!(
                "[params]\nsize = {{ values = [\"S\"], default = \"S\" }}\n{command}when = {{ param = \"size\", is = [\"X\"] }}\n"
            ),
            &["`size` = `X`, which it can never be"],
        ),
        (
            format!("[params]\nsize = {{ values = [\"S\"], default = \"M\" }}\n{command}"),
            &["default of `size`"],
        ),
        (
            format!("{command}gates = [{{ human = \"x\", command = \"y\" }}]\n"),
            &["stage `a` has a gate without exactly one of"],
        ),
        (format!("{command}gates = [{{ human = \"x\", redo = \"z\" }}]\n"), &["sends back to `z`"]),
        (
            format!("{command}gates = [{{ human = \"x\", advisory = true }}]\n"),
            &["cannot be advisory"],
        ),
        (format!("{command}rounds = 1000\n"), &["rounds = 1000", "between 0 and 20"]),
        (format!("{command}misses = 0\n"), &["misses = 0"]),
        (format!("{command}rounds = -1\n"), &["line 5"]),
        (format!("{command}budget = \"much\"\n"), &["budget = \"much\""]),
        (format!("{stage}flow = \"nowhere\"\n"), &["unknown flow `nowhere`", "help: "]),
        (format!("format = 2\n{command}"), &["it has format 2, but this version reads format 1"]),
    ] {
        world.flow("f", &text);
        refused(&world, "f", expected);
    }
    world.write(".forge/flows/f.toml", format!("name = \"other\"\n{command}"));
    refused(&world, "f", &["its `name` is `other`"]);
    world.write(".forge/flows/f.toml", b"name = \"f\"\n# caf\xe9\n");
    refused(&world, "f", &["f.toml, line 2", "not UTF-8"]);
    world.write(
        ".forge/flows/f.toml",
        format!("name = \"f\"\nx = {}{}\n", "[".repeat(100_000), "]".repeat(100_000)),
    );
    refused(&world, "f", &["flow `f`"]);
}

#[test]
fn a_comment_that_nobody_asked_for_is_not_posted() {
    let world = World::new();
    world.flow(
        "f",
        "[[stage]]\nname = \"a\"\ncommand = \"true\"\n[[stage]]\nname = \"b\"\ndeliver = \"comment\"\n",
    );
    let said = world.run("f", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&world.ok(&["show"]), &["no comment: pull_request.comment is \"on-request\""]);
}

#[test]
fn a_flow_that_lets_code_get_past_a_check_is_refused() {
    let world = World::new();
    world.write(".forge/roles/worker.md", "+++\ncode = \"writes\"\n+++\nYou work.\n");
    let stage =
        |gates: &str| format!("[[stage]]\nname = \"a\"\nagent = \"worker\"\ngates = [{gates}]\n");
    let (changes, verify, land) =
        ("{ check = \"changes\" }", "{ verify = true }", "{ land = true }");
    let right = stage(&[changes, verify, land].join(", "));
    for (text, expected) in [
        (stage(""), "stage `a` changes code, but nothing merges it"),
        (
            stage(&[verify, land].join(", ")),
            "stage `a` changes code, but nothing checks the changed files",
        ),
        (stage(&[changes, land].join(", ")), "stage `a` merges unverified code"),
        (stage(&[changes, land, verify].join(", ")), "stage `a` has gates after `land`"),
        (stage("{ check = \"chnges\" }"), "chnges"),
        (
            format!("{right}{}", right.replace("\"a\"", "\"b\"\nafter = []")),
            "works in the same checkout",
        ),
    ] {
        world.flow("f", &text);
        refused(&world, "f", &[expected]);
    }
    world.flow("f", &right);
    has(&world.ok(&["flow", "check", "f"]), &["is valid"]);
}

#[test]
fn a_repository_without_a_commit_is_no_place_for_code_but_for_anything_else() {
    let world = World::new();
    fs::remove_dir_all(world.repo.join(".git")).unwrap();
    world.git(&["init", "--quiet"]);
    world.write("play.toml", CONTENT);
    let scenario = ["--scenario", "play.toml", "--auto"];
    let run = [&["run", "do it"], scenario.as_slice()].concat();
    assert_eq!(world.forge(&run).code, DONE, "a document needs no code");
    let run = [&["run", "do it", "--flow", "change"], scenario.as_slice()].concat();
    has(
        &world.refused(&run),
        &["this repository has no commit yet", "a run starts from a commit", "help: git add"],
    );
    assert_eq!(world.ids().len(), 1);
}

#[test]
fn flows_that_use_each_other_are_refused() {
    let world = World::new();
    world.flow("one", "[[stage]]\nname = \"a\"\nflow = \"two\"\n");
    world.flow("two", "[[stage]]\nname = \"b\"\nflow = \"one\"\n");
    world.flow("self", "[[stage]]\nname = \"b\"\nflow = \"self\"\n");
    refused(&world, "one", &["it uses `one`, which uses it"]);
    refused(&world, "self", &["it uses `self`, which uses it"]);
}

#[test]
fn a_flow_that_is_no_file_is_refused() {
    let world = World::new();
    let flows = world.repo.join(".forge/flows");
    fs::create_dir_all(&flows).unwrap();
    world.write(".forge/flows/huge.toml", vec![b'#'; 10 * 1024 * 1024]);
    refused(&world, "huge", &["huge.toml is larger than"]);
    symlink("loop.toml", flows.join("loop.toml")).unwrap();
    refused_by_those_who_look(&world, "loop", &["loop.toml", "symbolic links"]);
    fs::create_dir(flows.join("folder.toml")).unwrap();
    refused_by_those_who_look(&world, "folder", &["folder.toml is not a file"]);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        flows.join("pipe.toml"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    refused_by_those_who_look(&world, "pipe", &["pipe.toml is not a file"]);
    symlink("/dev/zero", flows.join("zero.toml")).unwrap();
    refused_by_those_who_look(&world, "zero", &["zero.toml is not a file"]);
    // One that is wrong is no reason to hide the others.
    let list = world.ok(&["flow", "list"]);
    has(&list, &["draft", "huge", "loop", "zero", "pipe", "forge flow check pipe"]);
    for name in ["../flows/huge", "..", "/etc/passwd", "a/b", "", "huge.toml", "hu\nge"] {
        refused(&world, name, &["unknown flow", "help: forge "]);
    }
}

#[test]
fn a_role_that_is_wrong_is_refused() {
    let world = World::new();
    world.flow("f", "[[stage]]\nname = \"a\"\nagent = \"worker\"\n");
    for (text, expected) in [
        ("", "it is empty"),
        ("+++\nmust = [\"verdict\"]\n", "no closing line"),
        ("+++\nmust = [\"opinion\"]\n+++\nYou work.", "`opinion`"),
        ("+++\nmsut = []\n+++\nYou work.", "did you mean `must`?"),
        ("+++\nmust = 3\n+++\nYou work.", "role `worker`"),
    ] {
        world.write(".forge/roles/worker.md", text);
        refused(&world, "f", &["role `worker`", expected]);
    }
}

#[test]
fn settings_that_are_wrong_are_refused_with_their_line() {
    let world = World::new();
    world.write("play.toml", CONTENT);
    let run = ["run", "do it", "--scenario", "play.toml"];
    for (text, expected) in [
        ("agent = \"scripted", &["line 1"][..]),
        ("agnt = \"scripted\"", &["line 1", "did you mean `agent`?"]),
        ("agent = \"claudius\"", &["unknown agent `claudius`"]),
        ("agent = 3", &["line 1"]),
        ("[limits]\nat_once = 0", &["limits.at_once: 0 is not a valid value"]),
        ("[limits]\nat_once = -1", &["line 2"]),
        ("[limits]\nat_once = 99999", &["limits.at_once"]),
        ("[limits]\nbudget = \"much\"", &["limits.budget"]),
        ("[limits]\nbudget = 3", &["line 2"]),
        ("[limits]\ncall_budget = \"-1\"", &["limits.call_budget"]),
        ("[limits]\nwall_minutes = 0", &["limits.wall_minutes"]),
        ("[limits]\nsilence_minutes = 100000", &["limits.silence_minutes"]),
        ("[limits]\noutput_mib = 0", &["limits.output_mib"]),
        ("[limts]\n", &["line 1", "did you mean `limits`?"]),
        (
            "[agents.scripted]\nscenrio = \"x\"",
            &["line 2", "did you mean `agents.scripted.scenario`?"],
        ),
        ("agent = \"mine\"\n[agents.mine]\nmodel = \"x\"", &["agent `mine` has no command"]),
        ("[agents.claude]\ncomand = []", &["line 2", "did you mean `agents.claude.command`?"]),
        (
            "[agents.Claude]\n",
            &["line 1: \"Claude\" is not a valid agent name", "lower-case letters"],
        ),
        ("[roles.writer]\nagent = \"cloude\"", &["line 2", "did you mean `claude`?"]),
        ("[roles.writer]\nmodel = \"--help\"", &["line 2: roles.writer.model: \"--help\""]),
        ("[agents.mine]\npass = [\"A=B\"]", &["\"A=B\" is not a valid variable name"]),
        ("[secrets]\nfiles = [\"../.env\"]", &["leads out of the checkout"]),
    ] {
        world.write("forge.toml", text);
        let said = world.refused(&run);
        has(&said, &["error: ", "forge.toml", "help: "]);
        has(&said, expected);
        // Looking at runs does not need them.
        world.ok(&["status"]);
    }
    world.write("forge.toml", b"# caf\xe9\n");
    has(&world.refused(&run), &["forge.toml, line 1", "not UTF-8"]);
    world.write("forge.toml", vec![b'#'; 10 * 1024 * 1024]);
    has(&world.refused(&run), &["forge.toml is larger than"]);
    // What lies in the checkout is looked at, too, where the commit is right.
    world.write("forge.toml", "");
    world.commit();
    fs::remove_file(world.repo.join("forge.toml")).unwrap();
    fs::create_dir(world.repo.join("forge.toml")).unwrap();
    has(&world.refused(&run), &["forge.toml is not a file"]);
    fs::remove_dir(world.repo.join("forge.toml")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.repo.join("forge.toml"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    has(&world.refused(&run), &["forge.toml is not a file"]);
    assert!(world.is_untouched());
}

#[test]
fn a_scenario_that_is_wrong_is_refused_with_its_line_and_column() {
    let world = World::new();
    for (text, expected) in [
        ("", &["scenario"][..]),
        ("scenario = 2\n", &["line 1", "`scenario` is 2, and must be 1"]),
        ("scenario = 1\n[[play]]\nrol = \"x\"\n", &["line 3", "role"]),
        ("scenario = 1\n[[play]]\nfiles = { \"../x\" = \"\" }\n", &["line 3", "../x"]),
        ("scenario = 1\n[[play]]\nfiles = { \"/x\" = \"\" }\n", &["line 3", "/x"]),
        ("scenario = 1\n[[play]]\ncrash = \"boom\"\n", &["line 3", "boom"]),
        ("scenario = 1\n[[play]]\nusage = { cost = 3 }\n", &["line 3"]),
        ("scenario = 1\n[[play]]\nexit = 256\n", &["line 3"]),
        (
            "scenario = 1\n[[play]]\nlimit = { kind = \"moon\", reset_in_ms = 1 }\n",
            &["line 3", "moon"],
        ),
        ("scenario = 1\n[[play]]\nresult = { verdct = \"pass\" }\n", &["line 3", "verdict"]),
        ("scenario = 1\n[[play]\n", &["line 2"]),
    ] {
        world.write("play.toml", text);
        let said = world.refused(&["run", "do it", "--scenario", "play.toml"]);
        has(&said, &["error: ", "play.toml", "help: "]);
        has(&said, expected);
    }
    has(
        &world.refused(&["run", "do it", "--scenario", "gone.toml"]),
        &["scenario file gone.toml not found", "help: "],
    );
    has(&world.refused(&["run", "do it", "--scenario", "."]), &["is not a file"]);
    has(&world.refused(&["run", "do it"]), &["no usable agent is installed", "forge agents"]);
    world.write("forge.toml", "[agents.scripted]\nscenario = \"gone.toml\"\n");
    has(&world.refused(&["run", "do it"]), &["gone.toml", "help: "]);
    assert!(world.is_untouched());
    // A flow without agents needs none.
    world.flow("plain", "[[stage]]\nname = \"a\"\ncommand = \"true\"\n");
    assert_eq!(world.run("plain", &[]).code, DONE);
}
