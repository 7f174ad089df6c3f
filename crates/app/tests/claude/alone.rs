//! What Claude Code leaves behind, whom it talks to, and what it could give away.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use scripted_model::{Script, ScriptStep, ToolCall};

use crate::{
    stage::{API_KEY, Stage, done, note},
    world::{DONE, FORGE, finish, has},
};

#[test]
fn what_a_tool_left_running_ends_with_the_attempt() {
    let leave = "nohup setsid sleep 1000 > /dev/null 2>&1 & echo $! > $HOME/left; \
        (nohup sleep 1000 > /dev/null 2>&1 &); cat $HOME/left";
    let script =
        Script::new([ScriptStep::call(ToolCall::bash(leave)), note(), done()]).fail_after_last();
    let Some(stage) = Stage::solo(script) else { return };
    let said = stage.run(&[]);
    assert_eq!(said.code, DONE, "{said}");
    let left = fs::read_to_string(stage.world.beside("left")).unwrap();
    assert!(!Path::new("/proc").join(left.trim()).exists(), "{left} is still there");
    assert_eq!(stage.left_over(), [], "nobody is left");
    let requests = stage.key.finish();
    has(&requests[1].last, &[left.trim()]);
}

/// The calls of the system by which a process can reach another machine, and what is recorded of each.
const RECORDED: &str = "trace=connect,sendto,sendmsg,sendmmsg,io_uring_setup";

/// Whether processes can be watched here. Says loudly what is not proved if they cannot.
fn can_record() -> bool {
    let mut tried = Command::new("strace");
    tried.args(["-f", "--seccomp-bpf", "-e", RECORDED, "-o", "/dev/null", "true"]);
    let can = tried.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    if !can {
        let what = thread::current().name().unwrap_or_default().to_owned();
        // Not `eprintln`: the test harness hides what a passing test prints with it.
        let _ = writeln!(io::stderr(), "NOT PROVED: {what}: strace cannot be used here");
    }
    can
}

/// Records every `connect` and every sent packet of Forge, its keepers, Claude Code and the tools, whatever becomes of
/// it. A tool that reaches for a port of its own shows that tools are recorded, too.
#[test]
fn nobody_reaches_for_another_machine_than_127_0_0_1() {
    // In bash: other shells know no such path.
    let tool = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/9' 2>/dev/null; git log --oneline";
    let script = Script::new([ScriptStep::call(ToolCall::bash(tool)), done(), note(), done()])
        .fail_after_last();
    let Some(stage) = Stage::solo(script) else { return };
    if !can_record() {
        let _ = stage.key.finish();
        return;
    }
    // Commits and allows what the run reads, as for every run.
    drop(stage.world.command(&["run", "--flow", "solo"]));
    let record = stage.world.beside("record");
    let mut command = Command::new("strace");
    stage.world.surround(&mut command);
    stage.equip(&mut command, stage.key.url());
    command.args(["-f", "-qq", "--seccomp-bpf", "-e", RECORDED, "-o"]).arg(&record);
    command.args([FORGE, "run", "--flow", "solo", "do it"]).current_dir(&stage.world.repo);
    let said = finish(&mut command);
    assert_eq!(said.code, DONE, "{said}");
    let record = fs::read_to_string(record).unwrap();
    let to_machines: Vec<&str> = record.lines().filter(|line| line.contains("AF_INET")).collect();
    let model = format!("htons({})", stage.server.address().port());
    assert!(to_machines.iter().any(|line| line.contains(&model)), "Claude Code is recorded");
    assert!(to_machines.iter().any(|line| line.contains("htons(9)")), "tools are recorded");
    let elsewhere: Vec<&&str> = to_machines
        .iter()
        .filter(|line| !line.contains("sin_addr=inet_addr(\"127.0.0.1\")"))
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
    let around: Vec<&str> =
        record.lines().filter(|line| line.contains("io_uring_setup(")).collect();
    assert!(around.is_empty(), "a way around the record: {around:#?}");
    assert!(stage.server.strays().is_empty(), "{:?}", stage.server.strays());
    assert_eq!(stage.key.finish().len(), 4);
}

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&path, found);
        } else if kind.is_file() {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|part| part == secret.as_bytes())
}

#[test]
fn a_credential_that_the_model_makes_claude_print_is_in_nothing_that_forge_wrote() {
    let env = "date > made.txt; env; printf %s \"$ANTHROPIC_API_KEY\" | base64 -w0; env > \"$FORGE_OUTBOX/note.md\"";
    let say = format!("The key is {API_KEY}, as you see.");
    let script =
        Script::new([ScriptStep::call(ToolCall::bash(env)).saying(&say), done()]).fail_after_last();
    let Some(stage) = Stage::solo(script) else { return };
    let said = stage.run(&[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = stage.world.latest();
    let mut all = Vec::new();
    files(&stage.world.place(), &mut all);
    all.push(("what it printed".to_owned(), said.all().into_bytes()));
    let watched = stage.world.forge(&["watch", &run, "work"]);
    all.push(("forge watch".to_owned(), watched.all().into_bytes()));
    all.push(("forge log".to_owned(), stage.world.ok(&["log", &run, "--json"]).into_bytes()));
    let note = stage.world.place().join("runs").join(&run).join("artifacts/note.md");
    has(&fs::read_to_string(note).unwrap(), &["ANTHROPIC_BASE_URL="]);
    let requests = stage.key.finish();
    has(&requests[1].last, &[API_KEY]);
    let coded = requests[1].last.split_whitespace().find(|word| word.starts_with("c2stYW50"));
    let coded = coded.expect("the tool printed it in base64, too");
    let mut of_claude = Vec::new();
    files(&stage.world.beside(".claude"), &mut of_claude);
    assert!(
        of_claude.iter().any(|(_, bytes)| holds(bytes, API_KEY)),
        "what Claude Code itself wrote has it"
    );
    assert!(all.len() > 20, "Forge wrote more than {} files", all.len());
    for (name, bytes) in &all {
        assert!(!holds(bytes, API_KEY), "{name} has the key in it");
        assert!(!holds(bytes, &coded[..40]), "{name} has the key in it, in base64");
    }
}
