//! Who is told of questions, stops, hand-offs and the end, and that nobody waits for it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    process::Command,
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use forge_api::notify::notice::Notice;
use serde_json::Value;

use crate::{
    reads::fits,
    world::{CONTENT, DONE, FORGE, WAITS, World, finish, has, until},
};

/// Keeps what it is told as `told/KIND.N.json`, written as a whole.
const KEEPS: &str = "mkdir -p $HOME/notices; f=$(mktemp $HOME/notices/XXXXXX); cat > $f; echo \"$FORGE_NOTIFY_RUN|$FORGE_NOTIFY_NEXT|$FORGE_NOTIFY_REPO|$FORGE_NOTIFY_AT|$FORGE_NOTIFY_MESSAGE\" > $f.env; mv $f $f.$FORGE_NOTIFY_KIND.json";

fn shell(line: &str) -> String {
    format!("[notify]\ncommand = [\"sh\", \"-c\", '''{line}''']\n")
}

/// All that was told so far: the kind, and the file.
fn notices(world: &World) -> Vec<(String, PathBuf)> {
    let files = fs::read_dir(world.beside("notices")).into_iter().flatten().flatten();
    let kind = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".json")?.to_owned();
        name.split_once('.').map(|(_, kind)| kind.to_owned())
    };
    let mut found: Vec<_> =
        files.filter_map(|file| kind(&file.path()).map(|kind| (kind, file.path()))).collect();
    found.sort();
    found
}

fn until_told(world: &World, n: usize) -> Vec<String> {
    let found = until("somebody to be told", || {
        let found = notices(world);
        (found.len() >= n).then_some(found)
    });
    found.into_iter().map(|(kind, _)| kind).collect()
}

fn log(world: &World, run: &str) -> String {
    fs::read_to_string(world.place().join("runs").join(run).join("notify.log")).unwrap_or_default()
}

/// All is told, and nothing is under way.
fn until_quiet(world: &World, run: &str) {
    let dir = world.place().join("runs").join(run).join("notify");
    until("tellers to end", || fs::read_dir(&dir).ok()?.next().is_none().then_some(()));
}

/// Waits for one POST, and answers with a status.
fn server(status: &'static str) -> (String, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, posts) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap_or(0) <= 2 {
                    break;
                }
                let lower = line.to_lowercase();
                if let Some(n) = lower.strip_prefix("content-length:") {
                    length = n.trim().parse().unwrap();
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.get_mut().write_all(answer.as_bytes());
            if sender.send((head, String::from_utf8(body).unwrap())).is_err() {
                return;
            }
        }
    });
    (format!("http://127.0.0.1:{port}/T0-hidden-path"), posts)
}

#[test]
fn a_command_is_told_of_a_question_and_of_the_end_once_each() {
    let world = World::new();
    world.scenario(CONTENT);
    world.write("forge.local.toml", shell(KEEPS));
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    assert_eq!(until_told(&world, 1), ["question"]);
    let (_, file) = notices(&world).remove(0);
    let json: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    fits(schemars::schema_for!(Notice), &json);
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["at", "kind", "message", "next", "repo", "run"]);
    assert_eq!((&json["run"], &json["kind"]), (&run.clone().into(), &"question".into()));
    assert_eq!(json["next"], format!("forge status {}", crate::unnamed::short(&run)));
    assert_eq!(json["repo"], world.repo.to_str().unwrap());
    has(json["message"].as_str().unwrap(), &["Q1"]);
    let name = file.file_name().unwrap().to_str().unwrap();
    let variables = file.with_file_name(name.split_once('.').unwrap().0.to_owned() + ".env");
    let variables = fs::read_to_string(variables).unwrap();
    let at = json["at"].as_u64().unwrap();
    has(
        &variables,
        &[&format!(
            "{run}|forge status {}|{}|{at}|",
            crate::unnamed::short(&run),
            world.repo.display()
        )],
    );
    // Whoever takes the run up again tells nobody anew of the same question.
    assert_eq!(world.forge(&["resume", &run]).code, WAITS);
    world.ok(&["answer", &run, "Q1", "approve"]);
    assert_eq!(world.forge(&["resume", &run]).code, DONE);
    assert_eq!(until_told(&world, 2), ["end", "question"]);
    until_quiet(&world, &run);
    assert_eq!(notices(&world).len(), 2);
    assert_eq!(log(&world, &run), "");
}

#[test]
fn what_a_driver_that_died_could_not_tell_is_told_by_the_next_one_and_only_once() {
    let world = World::new();
    world.scenario(CONTENT);
    world.write("forge.local.toml", shell(KEEPS));
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    until_told(&world, 1);
    until_quiet(&world, &run);
    fs::remove_dir_all(world.beside("notices")).unwrap();
    // As if it had died between the fact and the telling.
    let notified = world.place().join("runs").join(&run).join("notified");
    assert_ne!(fs::read_to_string(&notified).unwrap(), "1");
    fs::write(&notified, "1").unwrap();
    assert_eq!(world.forge(&["resume", &run]).code, WAITS);
    assert_eq!(until_told(&world, 1), ["question"]);
    // Or between the writing down and the start of the teller.
    until_quiet(&world, &run);
    let (_, file) = notices(&world).remove(0);
    let left = world.place().join("runs").join(&run).join("notify/00000009-0.json");
    fs::copy(file, &left).unwrap();
    assert_eq!(world.forge(&["resume", &run]).code, WAITS);
    assert_eq!(until_told(&world, 2).len(), 2);
    until_quiet(&world, &run);
    assert_eq!(world.forge(&["resume", &run]).code, WAITS);
    until_quiet(&world, &run);
    assert_eq!(notices(&world).len(), 2);
    // Two tellers of one notice: the second finds it taken.
    fs::write(&left, "{}").unwrap();
    let file = left.with_extension("gone");
    let mut second = Command::new(FORGE);
    second.args(["__notify", file.to_str().unwrap()]);
    assert_eq!(finish(&mut second).code, 2, "nobody said who is to be told");
}

#[test]
fn a_webhook_gets_the_same_and_its_address_is_kept_nowhere() {
    let world = World::new();
    let (url, posts) = server("204 No Content");
    world.scenario(CONTENT);
    world.write("forge.local.toml", format!("[notify]\nwebhook = \"{url}\"\n"));
    assert_eq!(world.run("draft", &["--auto"]).code, DONE);
    let run = world.latest();
    let (head, body) = posts.recv_timeout(Duration::from_secs(30)).unwrap();
    has(&head.to_lowercase(), &["post /t0-hidden-path http/1.1", "content-type: application/json"]);
    let json: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&json["kind"], &json["run"]), (&"end".into(), &run.clone().into()));
    assert_eq!(json["next"], format!("forge show {}", crate::unnamed::short(&run)));
    until_quiet(&world, &run);
    let kept = Command::new("grep")
        .args(["-r", "--text", "-l", "T0-hidden-path"])
        .arg(world.place())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&kept.stdout), "");
    for shown in [
        world.ok(&["config", "list"]),
        world.ok(&["config", "list", "--json"]),
        world.ok(&["config", "explain", "notify.webhook"]),
        world.ok(&["config", "set", "--local", "notify.webhook", &url]),
    ] {
        has(&shown, &["http://127.0.0.1:", "/…"]);
        assert!(!shown.contains("hidden"), "{shown}");
    }
}

#[test]
fn a_webhook_that_refuses_is_noted_without_its_address() {
    let world = World::new();
    let (url, posts) = server("404 Not Found");
    world.scenario(CONTENT);
    world.write("forge.local.toml", format!("[notify]\nwebhook = \"{url}\"\n"));
    assert_eq!(world.run("draft", &["--auto"]).code, DONE);
    posts.recv_timeout(Duration::from_secs(30)).unwrap();
    let run = world.latest();
    until_quiet(&world, &run);
    let log = log(&world, &run);
    has(&log, &["end: http://127.0.0.1:", "/… answered with 404"]);
    assert!(!log.contains("hidden"), "{log}");
}

#[test]
fn what_is_told_steers_no_terminal_and_no_program() {
    let world = World::new();
    let question = "x\\u001b[2J\\u0007y?";
    world.flow(
        "asks",
        &format!("[[stage]]\nname = \"a\"\ngates = [{{ human = \"{question}\" }}]\n"),
    );
    let (url, posts) = server("204 No Content");
    world.write("forge.local.toml", format!("{}webhook = \"{url}\"\n", shell(KEEPS)));
    assert_eq!(world.run("asks", &[]).code, WAITS);
    let run = world.latest();
    let (_, body) = posts.recv_timeout(Duration::from_secs(30)).unwrap();
    until_told(&world, 1);
    until_quiet(&world, &run);
    let variables = notices(&world).into_iter().map(|(_, file)| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        fs::read_to_string(file.with_file_name(name.split_once('.').unwrap().0.to_owned() + ".env"))
            .unwrap()
    });
    let message = serde_json::from_str::<Value>(&body).unwrap()["message"].clone();
    for text in variables.chain([message.as_str().unwrap().to_owned()]) {
        has(&text, &["x\u{fffd}[2J\u{fffd}y"]);
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
}

#[test]
fn the_desktop_is_told_by_its_own_program_and_it_is_noted_once_if_that_is_not_there() {
    let world = World::new();
    world.scenario(CONTENT);
    world.write("forge.local.toml", "[notify]\ndesktop = true\n");
    let bin = world.beside("bin");
    fs::create_dir(&bin).unwrap();
    // Nothing else is needed.
    for program in ["git", "sh", "cat", "mv"] {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        let found = String::from_utf8(found.unwrap().stdout).unwrap();
        symlink(found.trim(), bin.join(program)).unwrap();
    }
    let forge = |args: &[&str]| finish(world.command(args).env("PATH", &bin));
    assert_eq!(forge(&["run", "--flow", "draft", "do it"]).code, WAITS);
    let run = world.latest();
    until_quiet(&world, &run);
    world.ok(&["answer", &run, "Q1", "revise", "shorter"]);
    assert_eq!(forge(&["resume", &run]).code, WAITS);
    until_quiet(&world, &run);
    let log = log(&world, &run);
    has(&log, &["the desktop notification failed: notify-send cannot be started"]);
    assert_eq!(log.lines().count(), 1, "{log}");
    let program = bin.join("notify-send");
    let script = "#!/bin/sh\nfor word; do echo \"<$word>\"; done > $HOME/shown.new\nmv $HOME/shown.new $HOME/shown\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(forge(&["answer", &run, "Q2", "approve"]).code, DONE);
    let shown = until("the desktop to be told", || {
        fs::read_to_string(world.beside("shown")).ok().filter(|shown| shown.contains("ended"))
    });
    has(&shown, &["<--app-name=Forge>\n<-->\n<Forge has ended a run>\n<", "forge show "]);
}

#[test]
fn a_notifier_that_hangs_or_is_missing_delays_nothing() {
    let world = World::new();
    world.scenario(CONTENT);
    let hangs = "until [ -e $HOME/go ]; do sleep 0.01; done; touch $HOME/ended";
    world.write("forge.local.toml", shell(hangs));
    assert_eq!(world.run("draft", &["--auto"]).code, DONE);
    assert!(!world.beside("ended").exists(), "the run has ended before it was told");
    world.go();
    until("the notifier to end", || world.beside("ended").exists().then_some(()));
    world.write("forge.local.toml", "[notify]\ncommand = [\"./no/such/program\"]\n");
    assert_eq!(world.run("draft", &["--auto"]).code, DONE);
    let run = world.latest();
    until_quiet(&world, &run);
    has(&log(&world, &run), &["end: ./no/such/program cannot be started"]);
    assert!(!world.ok(&["log", &run]).contains("told"), "a run that is over has no new facts");
}

#[test]
fn what_could_not_be_told_while_a_run_goes_on_is_a_fact() {
    let world = World::new();
    world.flow(
        "two",
        "[[stage]]\nname = \"ask\"\ngates = [{ human = \"Go on?\" }]\n\
         [[stage]]\nname = \"wait\"\nafter = []\ncommand = \"until [ -e $HOME/go ]; do sleep 0.01; done\"\n",
    );
    world.write("forge.local.toml", shell("echo it is Sunday >&2; exit 7"));
    let running = world.start(&["run", "--flow", "two", "do it"]);
    let run = until("a run", || {
        world.database().exists().then(|| world.ids().first().cloned()).flatten()
    });
    until("the failure to be a fact", || {
        world
            .ok(&["log", &run])
            .contains("some notifications failed: question: sh ended with 7")
            .then_some(())
    });
    has(&world.ok(&["log", &run]), &["it is Sunday"]);
    world.go();
    assert_eq!(running.end().code, WAITS);
}

#[test]
fn what_a_repository_wants_to_tell_needs_a_persons_word() {
    let world = World::new();
    world.scenario(CONTENT);
    world.write(
        "forge.toml",
        format!("[agents.scripted]\nscenario = \"play.toml\"\n{}", shell(KEEPS)),
    );
    world.commit();
    let run = ["run", "--flow", "draft", "do it", "--auto"];
    let said = finish(&mut world.command_as_it_is(&run));
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["$ sh -c '", "# runs when a run stops"]);
    // A person's own notifier takes its place, so that nobody has to allow the other one.
    world.write("forge.local.toml", shell("true"));
    let said = finish(&mut world.command_as_it_is(&["run", "--flow", "draft", "do it"]));
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["Q1"]);
    let id = world.latest();
    fs::remove_file(world.repo.join("forge.local.toml")).unwrap();
    world.ok(&["answer", &id, "Q1", "approve"]);
    assert_eq!(world.forge(&["resume", &id]).code, DONE);
    until_quiet(&world, &id);
    assert_eq!(notices(&world), [], "what nobody allowed is not run");
    world.approve("draft");
    assert_eq!(finish(&mut world.command_as_it_is(&run)).code, DONE);
    assert_eq!(until_told(&world, 1), ["end"]);
    // The same for an address.
    world.write(
        "forge.toml",
        "[agents.scripted]\nscenario = \"play.toml\"\n[notify]\nwebhook = \"https://example.org/T0-hidden-path\"\n",
    );
    world.commit();
    let said = finish(&mut world.command_as_it_is(&["run", "--flow", "draft", "do it"]));
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["POST to https://example.org/… (sha256 "]);
    assert!(!said.all().contains("hidden"), "{said}");
}

#[test]
fn the_terminal_rings_at_the_end_and_nothing_else_does() {
    let world = World::new();
    world.scenario(CONTENT);
    assert!(!world.run("draft", &["--auto"]).all().contains('\u{7}'));
    let at_a_terminal = || {
        let line = format!("{FORGE} run --flow draft 'do it' --auto");
        let mut script = Command::new("script");
        world.surround(&mut script);
        script.args(["-qec", &line, "/dev/null"]).current_dir(&world.repo);
        finish(&mut script)
    };
    let said = at_a_terminal();
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(said.out.matches('\u{7}').count(), 1, "{said}");
    world.write("forge.local.toml", "[notify]\nbell = false\n");
    assert!(!at_a_terminal().out.contains('\u{7}'));
}
