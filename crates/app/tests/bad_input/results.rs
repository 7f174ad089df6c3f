//! What agents leave: results, artifacts and lists. It is data from outside: what cannot be
//! read is a fault with a reason, never a pass, and never an end of the program.

use std::fs;

use crate::world::{WAITS, World, has};

/// Lets an agent do something, and says what was said of it.
fn told(flow: &str, script: &str) -> (World, String) {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow("f", flow);
    world.scenario(&format!("[[play]]\nno_result = true\nrun = '''{script}'''\n"));
    let said = world.run("f", &[]);
    assert_eq!(said.code, WAITS, "a person is asked: {said}");
    has(&said.out, &["retry", "give-up"]);
    (world, said.out)
}

const PLAIN: &str = "[[stage]]\nname = \"a\"\nagent = \"worker\"\nmisses = 1\n";
const GOOD: &str = r#"{"forge":1,"attempt":"a#1","status":"done","summary":"x"}"#;

#[track_caller]
fn result(script: &str, expected: &[&str]) {
    let (_, told) = told(PLAIN, &format!("cd $FORGE_OUTBOX\n{script}"));
    has(&told, &["ended without a result"]);
    has(&told, expected);
}

#[test]
fn a_result_that_cannot_be_read_is_none() {
    result("true", &["result.json"]);
    result("echo 'all good, PASS' > result.json", &["result.json"]);
    result(": > result.json", &["result.json"]);
    result("printf '\\377\\376' > result.json", &["result.json"]);
    result("head -c 1100000 /dev/zero | tr '\\0' ' ' > result.json", &["result.json", "1048576"]);
    result(&format!("echo '{}' > result.json", GOOD.replace("a#1", "a#2")), &["a#2", "a#1"]);
    result(
        &format!("echo '{}' > result.json", GOOD.replace("\"forge\":1", "\"forge\":2")),
        &["forge"],
    );
    result(
        &format!("echo '{}' > result.json", GOOD.replace("\"summary\":\"x\"", "\"sumary\":\"x\"")),
        &["sumary"],
    );
    result(
        &format!("echo '{}' > result.json", GOOD.replace(",\"summary\":\"x\"", "")),
        &["summary"],
    );
    result(&format!("echo '{}' > result.json", GOOD.replace("done", "finished")), &["finished"]);
    result(&format!("echo '{}' > result.json", GOOD.replace("done", "blocked")), &["blocker"]);
}

#[test]
fn a_result_that_is_no_file_is_none_and_keeps_nobody_waiting() {
    result(
        &format!("echo '{GOOD}' > elsewhere; ln -s elsewhere result.json"),
        &["result.json", "not a regular file"],
    );
    result(
        &format!(
            "echo '{GOOD}' > /tmp/forge-outside-$$; ln -s /tmp/forge-outside-$$ result.json; rm /tmp/forge-outside-$$"
        ),
        &["result.json"],
    );
    result("mkdir result.json", &["result.json", "not a regular file"]);
    result("mkfifo result.json", &["result.json", "not a regular file"]);
    result("ln -s /dev/zero result.json", &["result.json"]);
    result("ln -s result.json result.json", &["result.json"]);
    result("cd ..; rm -rf outbox; ln -s /tmp outbox", &["result.json"]);
    result("chmod 000 .; cd ..; rm -rf outbox", &["result.json"]);
}

#[test]
fn a_result_nested_a_hundred_thousand_deep_is_none() {
    result("{ printf '%0100000d' 0 | tr 0 '['; } > result.json", &["result.json"]);
    result(
        "{ printf '{\"forge\":1,\"attempt\":\"a#1\",\"status\":\"done\",\"summary\":'; printf '%0100000d' 0 | tr 0 '['; printf '%0100000d' 0 | tr 0 ']'; printf '}'; } > result.json",
        &["result.json"],
    );
    result("{ printf '%0100000d' 0 | sed 's/0/{\"a\":/g'; } > result.json", &["result.json"]);
}

#[test]
fn a_review_without_a_verdict_is_no_pass() {
    let world = World::new();
    world.roles(&["worker", "judge"]);
    world.flow("f", "[[stage]]\nname = \"a\"\nagent = \"worker\"\nmisses = 1\ngates = [{ review = \"judge\" }]\n");
    for result in [
        "result = { summary = \"VERDICT: PASS, all good\" }",
        "result = { verdict = \"revise\", findings = [] }",
        "result = { verdict = \"revise\", findings = [{ severity = \"major\", what = \"I do not like it\" }] }",
        "result = { status = \"partial\", summary = \"half\", verdict = \"pass\" }",
        "result_text = '''{\"verdict\":\"pass\"}'''",
        "no_result = true\nsay = [\"PASS\"]",
    ] {
        world.scenario(&format!("[[play]]\nrole = \"judge\"\n{result}\n[[play]]\n"));
        let said = world.run("f", &["--auto"]);
        assert_eq!(said.code, WAITS, "{result}: {said}");
        has(&said.out, &["without a verdict", "approve", "retry"]);
    }
}

const WRITES: &str = "[[stage]]\nname = \"a\"\nagent = \"worker\"\nmisses = 1\nwrites = [\"plan.md\", \"sub/data.json\"]\n";

#[track_caller]
fn artifact(script: &str, expected: &[&str]) -> World {
    let good = format!(
        "cd $FORGE_OUTBOX\necho '{GOOD}' > result.json\nmkdir sub\necho plan > plan.md\necho {{}} > sub/data.json\n"
    );
    let (world, told) = told(WRITES, &format!("{good}{script}"));
    has(&told, expected);
    let run = world.latest();
    let shown = fs::read_dir(world.place().join(format!("runs/{run}/artifacts"))).unwrap();
    let shown: Vec<_> = shown.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(shown, ["request.md"], "nothing of it was taken");
    world
}

#[test]
fn an_artifact_that_is_missing_or_no_file_is_not_taken() {
    artifact("rm plan.md", &["`plan.md` is not in the outbox"]);
    artifact("rm plan.md; mkdir plan.md", &["`plan.md` is not a regular file"]);
    artifact("rm plan.md; mkfifo plan.md", &["`plan.md` is not a regular file"]);
    artifact("rm plan.md; ln -s sub/data.json plan.md", &["`plan.md` is not a regular file"]);
    artifact("rm plan.md; ln -s /etc/passwd plan.md", &["`plan.md` is not a regular file"]);
    artifact("rm -r sub; ln -s /etc sub", &["`sub/data.json`"]);
    artifact("rm plan.md; ln -s /dev/zero plan.md", &["`plan.md` is not a regular file"]);
    artifact("truncate -s 17M plan.md", &["`plan.md` is larger than 16777216 bytes"]);
    artifact("truncate -s 1T plan.md", &["`plan.md` is larger than"]);
}

#[test]
fn the_secret_of_somebody_else_is_never_read_through_a_link() {
    let world = artifact("rm plan.md; ln -s /etc/shadow plan.md", &["`plan.md`"]);
    let blobs = world.place().join("blobs");
    let secret = fs::read("/etc/shadow").unwrap_or_default();
    let mut open = vec![blobs];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                assert!(secret.is_empty() || fs::read(entry.path()).unwrap() != secret);
            }
        }
    }
}

#[test]
fn an_artifact_whose_form_is_wrong_goes_back_to_its_author() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow(
        "f",
        "[[stage]]\nname = \"a\"\nagent = \"worker\"\nwrites = [\"x.json\", \"y.toml\", \"z.md\"]\nrounds = 1\n\
         gates = [{ name = \"x\", artifact = \"x.json\" }, { name = \"y\", artifact = \"y.toml\" }, { name = \"z\", artifact = \"z.md\" }]\n",
    );
    let deep = "cd $FORGE_OUTBOX; printf '%0100000d' 0 | tr 0 '[' > x.json; { printf 'a = '; printf '%0100000d' 0 | tr 0 '['; } > y.toml; : > z.md";
    world.scenario(&format!("[[play]]\nrun = '''{deep}'''\n"));
    let said = world.run("f", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["`x.json`: it is not JSON"]);
    world.scenario("[[play]]\nartifacts = { \"x.json\" = \"{}\", \"y.toml\" = \"a = [[[[\", \"z.md\" = \"z\" }\n");
    has(&world.run("f", &[]).out, &["`y.toml`: it is not TOML"]);
    world.scenario("[[play]]\nartifacts = { \"x.json\" = \"{}\", \"y.toml\" = \"a = 1\", \"z.md\" = \" \\n\" }\n");
    has(&world.run("f", &[]).out, &["`z.md`: it is empty"]);
}

#[test]
fn a_list_that_nobody_could_work_off_is_not_taken() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow(
        "f",
        "[[stage]]\nname = \"a\"\nagent = \"worker\"\nlist = \"tasks\"\nmisses = 1\n\
         [[stage]]\nname = \"tasks\"\neach = \"tasks\"\nitems_max = 3\n[[stage.stage]]\nname = \"b\"\ncommand = \"true\"\n",
    );
    let item = |id: &str, more: &str| format!("{{ id = \"{id}\", title = \"\"{more} }}");
    for (items, expected) in [
        (vec![item("A", ", after = [\"B\"]"), item("B", ", after = [\"A\"]")], "waits for itself"),
        (vec![item("A", ", after = [\"A\"]")], "waits for itself"),
        (vec![item("A", ", after = [\"Z\"]")], "`A` waits for an item that is not listed"),
        (vec![item("A", ""), item("a", "")], "two items have the id `a`"),
        (vec![item("../A", "")], "`../A` is not an item id"),
        (vec![item("", "")], "`` is not an item id"),
        (vec![item("A", ", writes = [\"../x\"]")], "../x"),
        (vec![item("A", ", writes = [\"/etc\"]")], "/etc"),
        (vec![item("A", ", writes = [\"a/*/../../b\"]")], "a/*/../../b"),
        (
            vec![item("A", ""), item("B", ""), item("C", ""), item("D", "")],
            "4 items, and at most 3",
        ),
    ] {
        world.scenario(&format!(
            "[[play]]\nresult = {{ lists = {{ tasks = [{}] }} }}\n",
            items.join(", ")
        ));
        let said = world.run("f", &[]);
        assert_eq!(said.code, WAITS, "{said}");
        has(&said.out, &[expected]);
        assert!(!said.out.contains("tasks#1 started"), "{said}");
    }
    for wrong in ["result = { lists = { other = [] } }", "result = {}"] {
        world.scenario(&format!("[[play]]\n{wrong}\n"));
        let said = world.run("f", &[]);
        assert_eq!(said.code, WAITS, "{wrong}: {said}");
        has(&said.out, &["list"]);
    }
}

#[test]
fn an_agent_that_floods_its_output_or_removes_its_folder_ends_no_driver() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow("f", PLAIN);
    world.write(
        "forge.toml",
        "[limits]\noutput_mib = 1\n[agents.scripted]\nscenario = \"play.toml\"\n",
    );
    world.scenario("[[play]]\nhuge_output_bytes = 3000000\n");
    has(&world.run("f", &[]).out, &["it printed more than it may"]);
    world.scenario("[[play]]\nrun = 'rm -rf $FORGE_INBOX $FORGE_OUTBOX'\nno_result = true\n");
    has(&world.run("f", &[]).out, &["ended without a result"]);
    world.scenario("[[play]]\nrun = 'rm -rf \"$PWD\"'\nno_result = true\n");
    has(&world.run("f", &[]).out, &["ended without a result"]);
}
