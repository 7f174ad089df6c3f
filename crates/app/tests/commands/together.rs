//! Several processes at once, and agents who try to be one.

use std::{sync::Barrier, thread};

use crate::{
    goes::UNTIL_GO,
    holds::keeper,
    world::{DONE, FORGE, INTERRUPTED, Said, WAITS, WRONG, World, has, until},
};

/// Checkpoints side by side, all asked about at once: Q1, Q2, …
fn asks(n: u32) -> String {
    let ask = |n| {
        format!("[[stage]]\nname = \"ask{n}\"\nafter = []\ngates = [{{ human = \"Go on?\" }}]\n")
    };
    (1..=n).map(ask).collect()
}

/// A stage that goes on until it is told to end, beside checkpoints.
fn asks_beside_work(n: u32) -> World {
    let world = World::new();
    let slow = format!("[[stage]]\nname = \"slow\"\ncommand = \"{UNTIL_GO}\"\n");
    world.flow("two", &(slow + &asks(n)));
    world
}

/// Two people answer the same question, as much at the same time as two processes can.
fn both_answer(world: &World, run: &str, question: &str) -> [Said; 2] {
    let barrier = Barrier::new(2);
    let answer = |words: &str| {
        barrier.wait();
        world.forge(&["answer", run, question, "approve", words])
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| answer("from the left"));
        let one = answer("from the right");
        [one, other.join().unwrap()]
    })
}

fn one_wins(world: &World, run: &str, rounds: u32) {
    for n in 1..=rounds {
        let question = format!("Q{n}");
        let both = both_answer(world, run, &question);
        let mut codes = both.each_ref().map(|said| said.code);
        codes.sort_unstable();
        assert_eq!(codes, [DONE, WRONG], "{question}: {} {}", both[0], both[1]);
        let loser = both.iter().find(|said| said.code == WRONG).unwrap();
        has(&loser.err, &[&question, "answered", "help: forge status"]);
    }
    let facts = world.facts(run);
    let answers: Vec<&serde_json::Value> =
        facts.iter().filter_map(|fact| fact.get("answered")).collect();
    assert_eq!(answers.len(), usize::try_from(rounds).unwrap(), "each question was answered once");
}

#[test]
fn of_two_who_answer_at_once_exactly_one_wins_while_the_run_is_driven() {
    let world = asks_beside_work(10);
    let mut running = world.start(&["run", "--flow", "two", "do it"]);
    running.until_says("Q10 asks");
    let run = world.latest();
    one_wins(&world, &run, 10);
    world.ok(&["stop", &run]);
    assert_eq!(running.end().code, INTERRUPTED);
}

#[test]
fn of_two_who_answer_at_once_exactly_one_wins_when_nobody_drives() {
    let world = World::new();
    world.flow("ask", &(asks(20) + "[[stage]]\nname = \"end\"\ncommand = \"true\"\n"));
    assert_eq!(world.run("ask", &[]).code, WAITS);
    one_wins(&world, &world.latest(), 20);
}

#[test]
fn an_answer_without_a_driver_is_kept_and_says_how_to_go_on() {
    let world = World::new();
    world.flow("ask", "[[stage]]\nname = \"ask\"\ngates = [{ human = \"Go on?\" }]\n[[stage]]\nname = \"then\"\ncommand = \"true\"\n");
    assert_eq!(world.run("ask", &[]).code, WAITS);
    let run = world.latest();
    let said = world.ok(&["answer", &run, "Q1", "approve"]);
    has(&said, &["Q1 is answered", &format!("forge resume {}", crate::unnamed::short(&run))]);
    assert!(
        !world.story(&run).iter().any(|line| line.contains("then#1 finished")),
        "commands start nothing"
    );
    assert_eq!(world.forge(&["resume", &run]).code, DONE);
}

#[test]
fn a_second_driver_is_refused_and_told_who_drives() {
    let world = asks_beside_work(1);
    let mut running = world.start(&["run", "--flow", "two", "do it"]);
    running.until_says("slow started");
    let run = world.latest();
    let refused = world.refused(&["resume", &run]);
    has(
        &refused,
        &[
            &format!("process {}", running.pid()),
            &format!("help: forge attach {}", crate::unnamed::short(&run)),
        ],
    );
    has(&world.ok(&["status", &run]), &["● running"]);
    world.ok(&["stop", &run]);
    running.end();
}

#[test]
fn of_many_who_resume_at_once_one_drives_and_the_others_are_told() {
    let world = asks_beside_work(1);
    let mut running = world.start(&["run", "--flow", "two", "do it"]);
    running.until_says("slow started");
    let run = world.latest();
    world.ok(&["stop", &run]);
    running.end();
    let drivers: Vec<_> = (0..4).map(|_| world.start(&["resume", &run])).collect();
    until("a driver", || (world.view(&run)["standing"] == "going").then_some(()));
    let mut left: Vec<_> = drivers.into_iter().collect();
    until("the others to be told", || {
        left = std::mem::take(&mut left)
            .into_iter()
            .filter_map(|mut driver| {
                if !driver.has_ended() {
                    return Some(driver);
                }
                let said = driver.end();
                // Whoever comes while the run is still held lifts the hold; later it is too late.
                match said.code {
                    DONE => has(&said.out, &["is running in another process"]),
                    code => {
                        assert_eq!(code, WRONG, "{said}");
                        has(&said.err, &["already running"]);
                    }
                }
                None
            })
            .collect();
        (left.len() == 1).then_some(())
    });
    world.ok(&["stop", &run]);
    assert_eq!(left.remove(0).end().code, INTERRUPTED);
}

#[test]
fn those_who_only_look_never_keep_anybody_from_driving() {
    let world = World::new();
    world.flow("ask", "[[stage]]\nname = \"ask\"\ngates = [{ human = \"Go on?\" }]\n");
    assert_eq!(world.run("ask", &[]).code, WAITS);
    let run = world.latest();
    let looks = std::sync::atomic::AtomicBool::new(true);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while looks.load(std::sync::atomic::Ordering::Relaxed) {
                    has(&world.ok(&["status", &run]), &["STAGE"]);
                }
            });
        }
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..25 {
                let said = world.forge(&["resume", &run]);
                assert_eq!(said.code, WAITS, "{said}");
            }
        }));
        looks.store(false, std::sync::atomic::Ordering::Relaxed);
        tried.unwrap();
    });
}

/// A run in which an agent calls the program itself, while a question is open.
fn agent_calls(before: &str, after: &str) {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow(
        "two",
        "[[stage]]\nname = \"ask\"\ngates = [{ human = \"Go on?\" }]\n\
         [[stage]]\nname = \"work\"\nafter = []\nagent = \"worker\"\n",
    );
    let calls = [
        "answer 2 Q1 approve",
        "answer 2 Q1 give-up",
        "stop",
        "pause",
        "resume",
        "abandon 2",
        "run --flow two another",
        "doctor --rebuild",
    ];
    let lines: Vec<String> = calls
        .iter()
        .map(|call| {
            format!("{before} {FORGE} {call} >>said 2>&1{after}; echo \"code $? of {call}\" >>said")
        })
        .collect();
    let script =
        format!("cd {}\n{}\ncd - >/dev/null\ntrue", world.repo.display(), lines.join("\n"));
    world.scenario(&format!("[[play]]\nrun = '''{script}'''\n"));
    let said = world.run("two", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    let refusals = std::fs::read_to_string(world.repo.join("said")).unwrap();
    assert_eq!(refusals.matches("code 2 of").count(), calls.len(), "{refusals}");
    assert_eq!(refusals.matches("agents do not change runs").count(), calls.len(), "{refusals}");
    assert_eq!(world.ids().len(), 1, "no other run was started");
    let story = world.story(&world.latest());
    assert!(
        !story.iter().any(|line| line.contains("answered")
            || line.contains("stopped")
            || line.contains("paused")),
        "{story:#?}"
    );
}

#[test]
fn an_agent_cannot_answer_stop_or_resume_its_own_run() {
    agent_calls("", "");
}

#[test]
fn an_agent_cannot_answer_its_own_run_by_forgetting_where_it_is() {
    agent_calls("env -u FORGE_ATTEMPT_DIR", "");
    agent_calls("env -i", "");
}

#[test]
fn an_agent_cannot_answer_its_own_run_from_a_session_of_its_own() {
    agent_calls("setsid --wait env -u FORGE_ATTEMPT_DIR", "");
}

#[test]
fn an_agent_cannot_answer_its_own_run_through_an_orphan() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow(
        "two",
        "[[stage]]\nname = \"ask\"\ngates = [{ human = \"Go on?\" }]\n\
         [[stage]]\nname = \"work\"\nafter = []\nagent = \"worker\"\n",
    );
    // The middle process is gone before the orphan speaks, so that nobody in between tells.
    let orphan = format!(
        "( setsid env -i /bin/sh -c 'while kill -0 $0 2>/dev/null; do sleep 0.01; done; cd {}; {FORGE} answer 2 Q1 approve >said 2>&1; echo code $? >>said' $$ & )",
        world.repo.display()
    );
    let script = format!(
        "sh -c \"$ORPHAN\"; while ! grep -q code {}/said 2>/dev/null; do sleep 0.01; done",
        world.repo.display()
    );
    world.write("orphan.sh", format!("#!/bin/sh\n{orphan}\n"));
    let script =
        script.replace("sh -c \"$ORPHAN\"", &format!("sh {}/orphan.sh", world.repo.display()));
    world.scenario(&format!("[[play]]\nrun = '''{script}'''\n"));
    let said = world.run("two", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(
        &std::fs::read_to_string(world.repo.join("said")).unwrap(),
        &["agents do not change runs", "code 2"],
    );
    assert_eq!(world.view(&world.latest())["questions"], 1);
}

#[test]
fn what_is_left_of_an_agent_that_killed_driver_and_keeper_cannot_answer() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow(
        "two",
        "[[stage]]\nname = \"ask\"\ngates = [{ human = \"Go on?\" }]\n\
         [[stage]]\nname = \"work\"\nafter = []\nagent = \"worker\"\n",
    );
    // It has another session, no mark and nobody above it, which is so once its own script runs, and speaks when it is told to.
    let repo = world.repo.display();
    world.write(
        "daemon.sh",
        format!(
            "cd {repo}\ntouch ready\nwhile [ ! -e {repo}/go ]; do [ -d {repo} ] || exit; sleep 0.01; done\n\
             {FORGE} answer 2 Q1 approve >said 2>&1; echo code $? >>said; mv said heard\n"
        ),
    );
    let script = format!(
        "( setsid env -i PATH=\"$PATH\" HOME=\"$HOME\" /bin/sh {repo}/daemon.sh </dev/null >/dev/null 2>&1 & )\n\
         while :; do sleep 1; done"
    );
    world.scenario(&format!("[[play]]\nattempt = 1\nrun = \"\"\"{script}\"\"\"\n[[play]]\n"));
    let mut running = world.start(&["run", "--flow", "two", "do it"]);
    running.until_says("work started");
    let run = world.latest();
    until("the daemon", || world.repo.join("ready").exists().then_some(()));
    let keeper = keeper(&world, &run, "work#1");
    running.signal(rustix::process::Signal::KILL);
    running.end();
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, WAITS, "{said}");
    world.write("go", "");
    let refused = until("its answer", || std::fs::read_to_string(world.repo.join("heard")).ok());
    has(&refused, &["began while an attempt ran whose keeper was killed", "code 2"]);
    assert_eq!(world.view(&run)["questions"], 1);
}

#[test]
fn an_agent_cannot_answer_its_own_run_nor_another_from_namespaces_of_its_own() {
    let ways = ["unshare -r", "unshare -rpf", "unshare -rpf --mount-proc"];
    let may = |way: &&str| {
        let may = std::process::Command::new("sh").args(["-c", &format!("{way} true")]).output();
        may.is_ok_and(|may| may.status.success())
    };
    let ways: Vec<&str> = ways.into_iter().filter(may).collect();
    if ways.is_empty() {
        use std::io::Write as _;
        // Past the test's own capture, so that it is always seen.
        std::io::stderr().write_all(b"NOT PROVED: namespaces are not allowed here\n").unwrap();
        return;
    }
    let world = World::new();
    world.roles(&["worker"]);
    world.flow("one", "[[stage]]\nname = \"ask\"\ngates = [{ human = \"Go on?\" }]\n");
    world.flow(
        "two",
        "[[stage]]\nname = \"ask\"\ngates = [{ human = \"Go on?\" }]\n\
         [[stage]]\nname = \"work\"\nafter = []\nagent = \"worker\"\n",
    );
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    let other = world.latest();
    let answer_other = format!("answer {other} Q1 approve");
    let calls = [
        "answer $(cat run) Q1 approve",
        "stop $(cat run)",
        "abandon $(cat run)",
        &answer_other,
        "run --flow one another",
    ];
    let lines: Vec<String> = ways
        .iter()
        .flat_map(|way| calls.map(|call| (way, call)))
        .map(|(way, call)| {
            format!(
                "env -i PATH=\"$PATH\" HOME=\"$HOME\" {way} {FORGE} {call} >>said 2>&1; \
                 echo \"code $? of {call}\" >>said"
            )
        })
        .collect();
    let script = format!(
        "cd {}\n{FORGE} status --json | grep -o '[0-9a-z-]*do-it[0-9a-z-]*' | head -n 1 >run\n{}\n\
         cd - >/dev/null\ntrue",
        world.repo.display(),
        lines.join("\n")
    );
    world.scenario(&format!("[[play]]\nrun = '''\n{script}'''\n"));
    let said = world.run("two", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    let refusals = std::fs::read_to_string(world.repo.join("said")).unwrap();
    assert_eq!(refusals.matches("code 2 of").count(), lines.len(), "{refusals}");
    let named = refusals.matches("agents do not change runs").count()
        + refusals.matches("namespace, so it cannot be seen").count();
    assert_eq!(named, lines.len(), "{refusals}");
    assert_eq!(world.view(&world.latest())["questions"], 1);
    assert_eq!(world.view(&other)["questions"], 1);
    assert_eq!(world.ids().len(), 2, "no other run was started");
}

#[test]
fn a_command_that_was_written_into_the_database_by_hand_is_refused() {
    let world = World::new();
    world.flow("one", "[[stage]]\nname = \"ask\"\ngates = [{ human = \"Go on?\" }]\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    let by = serde_json::json!({"who": "ada", "door": "cli"});
    let answer = serde_json::json!({"answer": {"question": "Q1", "answer": "approve", "words": "", "by": by}});
    let mut store = forge_store::journal::Store::open(&world.place()).unwrap();
    let row = store.insert_command(&run, 1, "cli", "ada", &answer.to_string()).unwrap();
    // Its process ends, and only the row is left, as if it had been written there.
    drop(store);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, WAITS, "{said}");
    let store = forge_store::journal::Store::open_to_read(&world.place()).unwrap();
    has(&store.command_outcome(row).unwrap().unwrap(), &["refused", "it is unknown who gave it"]);
    assert_eq!(world.view(&run)["questions"], 1);
    // A person still can.
    world.ok(&["answer", &run, "Q1", "approve"]);
}

#[test]
fn an_agent_may_look_at_its_run() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow("one", "[[stage]]\nname = \"work\"\nagent = \"worker\"\n");
    let script =
        format!("cd {} && {FORGE} status >said && {FORGE} log >>said", world.repo.display());
    world.scenario(&format!("[[play]]\nrun = '''{script}'''\n"));
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(
        &std::fs::read_to_string(world.repo.join("said")).unwrap(),
        &["running", "started the run"],
    );
}

#[test]
fn a_rebuild_leaves_a_run_to_its_driver_and_makes_all_others_anew() {
    let world = asks_beside_work(1);
    assert_eq!(world.ok(&["doctor", "--rebuild"]).trim(), "wrote the files of 0 runs again");
    assert!(world.is_untouched());
    world.flow("plain", "[[stage]]\nname = \"a\"\ncommand = \"true\"\n");
    assert_eq!(world.run("plain", &[]).code, DONE);
    let done = world.latest();
    let mut running = world.start(&["run", "--flow", "two", "do it"]);
    running.until_says("slow started");
    let driven = world.latest();
    let state = world.place().join(format!("runs/{done}/state.json"));
    std::fs::remove_file(&state).unwrap();
    let said = world.ok(&["doctor", "--rebuild"]);
    has(&said, &["1 run again", &format!("skipped {driven}: it is running")]);
    assert!(state.exists());
    world.ok(&["stop", &driven]);
    assert_eq!(running.end().code, INTERRUPTED);
}
