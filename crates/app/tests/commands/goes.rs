//! A run from its start to each of its ends.

use std::{fs, process::Command};

use serde_json::Value;

use crate::world::{
    CONTENT, DONE, ESCALATED, FAILED, FORGE, INTERRUPTED, Said, WAITS, WRONG, World, finish, has,
    until,
};

/// A command that ends when [`World::go`] was called.
pub(crate) const UNTIL_GO: &str = "while [ ! -e $HOME/go ]; do sleep 0.02; done";

/// What a person does who copies a line from the screen.
fn copied(world: &World, line: &str) -> Said {
    let folder = std::path::Path::new(FORGE).parent().unwrap();
    let path = std::env::join_paths([
        folder.into(),
        "/usr/local/bin".into(),
        "/usr/bin".into(),
        std::path::PathBuf::from("/bin"),
    ]);
    let mut shell = Command::new("/bin/sh");
    world.surround(&mut shell);
    shell.args(["-c", line]).current_dir(&world.repo).env("PATH", path.unwrap());
    finish(&mut shell)
}

fn answered(facts: &[Value]) -> Vec<&Value> {
    facts.iter().filter_map(|fact| fact.get("answered")).collect()
}

#[test]
fn with_auto_a_run_goes_to_its_end_by_itself() {
    let world = World::new();
    world.scenario(CONTENT);
    let said = world.run("draft", &["--auto"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["the run is done", "approved automatically", "$0.02"]);
    let run = world.latest();
    let draft = world.place().join("runs").join(&run).join("artifacts/draft.md");
    assert_eq!(fs::read_to_string(draft).unwrap(), "# A draft\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? play.toml", "the checkout is left alone");
}

#[test]
fn a_run_prints_the_milestones_of_its_log_and_its_checks_if_more_is_wanted() {
    let world = World::new();
    world.scenario(CONTENT);
    has(&world.run("draft", &[]).out, &["· write started"]);
    let words = ["run", "--flow", "draft", "do it again"];
    let said = finish(&mut world.command_as_it_is(&words));
    assert!(!said.out.contains(" started\n"), "{said}");
    let log = world.ok(&["log"]);
    assert!(said.out.starts_with(&log), "{said}\n{log}");
}

#[test]
fn a_run_that_waits_prints_the_commands_that_answer_it_and_they_work_as_they_are_printed() {
    let world = World::new();
    world.scenario(CONTENT);
    let said = world.run("draft", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["Is this the document you want?", "draft.md"]);
    let commands = said.commands();
    let verbs = ["approve", "revise", "reject"];
    let answers = commands.iter().filter(|line| verbs.iter().any(|verb| line.starts_with(verb)));
    let answers: Vec<&String> = answers.collect();
    assert_eq!(answers.len(), 3, "{commands:?}");

    let command = answers[0].split(" [").next().unwrap();
    let answered = copied(&world, &format!("forge {command}"));
    assert_eq!(answered.code, DONE, "an answer continues the run: {answered}");
    has(&answered.out, &["✓ Done"]);
    let run = world.latest();
    let before = world.records(&run);
    let again = world.forge(&["resume", &run]);
    assert_eq!(again.code, DONE, "to resume what is done does nothing, as often as you like");
    has(&again.err, &["is done, so there is nothing to resume"]);
    assert!(!again.err.contains("run "), "{again}");
    assert_eq!(world.records(&run), before);
}

#[test]
fn the_words_of_a_revise_reach_the_next_brief_word_for_word() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    let words = "Say *why*, not \"how\": 100 % — naïve? `rm -rf` & <b>\n\n## not a heading\n  indented; $HOME \\n";
    world.ok(&["answer", &run, "Q1", "revise", words]);
    assert_eq!(world.forge(&["resume", &run]).code, WAITS);
    let brief = world.brief(&run, "write#2");
    let said: Vec<&str> = brief
        .lines()
        .filter_map(|line| line.strip_prefix("> ").or((line == ">").then_some("")))
        .collect();
    assert_eq!(said.join("\n").trim_end(), words.trim_end(), "{brief}");
    has(&brief, &["## What the user said about this work", "To you, sending the work back:"]);
    // Whoever judges the draft knows what it was to become.
    has(&world.brief(&run, "write#2/review#1"), &["To `write`, sending the work back:"]);
    let facts = world.facts(&run);
    assert_eq!(answered(&facts)[0]["words"], words);
    assert_eq!(answered(&facts)[0]["by"]["who"], "ada");
}

#[test]
fn words_that_are_given_without_quotes_are_kept_as_one_sentence() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "revise", "make", "it", "shorter"]);
    assert_eq!(answered(&world.facts(&run))[0]["words"], "make it shorter");
}

#[test]
fn a_revise_without_words_is_refused_and_nothing_is_journaled() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    let before = world.records(&run);
    for wrong in [
        vec!["answer", &run, "Q1", "revise"],
        vec!["answer", &run, "Q1", "revise", "   "],
        vec!["answer", &run, "Q1", "retry"],
        vec!["answer", &run, "Q1", "waive"],
        vec!["answer", &run, "Q1", "waive", "approval"],
        vec!["answer", &run, "Q2", "approve"],
        vec!["answer", &run, "Q0", "approve"],
        vec!["answer", &run, "one", "approve"],
        vec!["answer", &run, "Q1", "perhaps"],
    ] {
        let said = world.refused(&wrong);
        assert!(said.contains("error: "), "{wrong:?}: {said}");
        assert!(said.contains("help: forge "), "{wrong:?}: {said}");
    }
    assert_eq!(world.records(&run), before);
}

#[test]
fn giving_up_fails_the_run_while_it_is_driven_and_what_does_not_wait_for_it_still_ends() {
    let world = World::new();
    world.flow(
        "two",
        &format!(
            "[[stage]]\nname = \"slow\"\ncommand = \"{UNTIL_GO}\"\n\
             [[stage]]\nname = \"ask\"\nafter = []\ngates = [{{ human = \"Go on?\" }}]\n"
        ),
    );
    let mut running = world.start(&["run", "--flow", "two", "do it"]);
    running.until_says("Q1 asks about ask");
    let run = world.latest();
    let answered = world.ok(&["answer", &run, "Q1", "give-up", "no", "longer", "wanted"]);
    has(&answered, &["Q1 is answered"]);
    world.go();
    let said = running.end();
    assert_eq!(said.code, FAILED, "{said}");
    has(
        &said.out,
        &["slow finished", "the run failed", "ada answered Q1 (reject): no longer wanted"],
    );
}

#[test]
fn giving_up_without_a_driver_fails_the_run_at_once_and_resume_takes_it_up_again() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    let said = world.ok(&["answer", &run, "Q1", "give-up"]);
    has(&said, &["Q1 is answered", "failed"]);
    assert_eq!(world.view(&run)["standing"], "failed");
    let refused = world.refused(&["answer", &run, "Q1", "approve"]);
    has(&refused, &["help: forge resume"]);
    assert_eq!(world.forge(&["resume", &run]).code, WAITS, "a failed run can be taken up again");
}

#[test]
fn a_review_that_blocks_asks_a_person_who_can_overrule_it_by_name_or_end_the_run_as_blocked() {
    let world = World::new();
    let blocks = CONTENT
        .replace("verdict = \"pass\"", "verdict = \"block\"")
        .replace("it is good", "no licence to write this");
    world.scenario(&blocks);
    let said = world.run("draft", &["--auto"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["says it cannot be fixed", "no licence to write this", "forge override "]);
    let run = world.latest();
    has(
        &world.refused(&["answer", &run, "Q1", "approve"]),
        &["does not offer approve", "or: forge override ", "or: forge reject "],
    );
    world.ok(&["answer", &run, "Q1", "waive", "review", "the licence came today"]);
    // Somebody objected, so the checkpoint is for a person, too.
    assert_eq!(world.forge(&["resume", &run]).code, WAITS);
    world.ok(&["answer", &run, "Q2", "approve"]);
    assert_eq!(world.forge(&["resume", &run]).code, DONE);
    assert_eq!(world.run("draft", &["--auto"]).code, WAITS);
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "give-up"]);
    assert_eq!(world.view(&run)["standing"], "blocked");
}

#[test]
fn the_same_failure_three_times_calls_for_a_person_and_resume_goes_on_when_it_is_mended() {
    let world = World::new();
    world.flow(
        "try",
        "[[stage]]\nname = \"build\"\nmisses = 10\ncommand = \"test -e $HOME/mended || { echo no such compiler; exit 7; }\"\n",
    );
    let said = world.run("try", &[]);
    assert_eq!(said.code, ESCALATED, "{said}");
    let run = world.latest();
    let tries = said
        .out
        .lines()
        .filter(|line| line.contains("started") && line.contains(" build "))
        .count();
    assert_eq!(tries, 3, "{said}");
    has(&said.out, &["Needs attention", "no such compiler", "forge resume "]);
    let id = run.rsplit('-').next().unwrap();
    let next = format!("Next: forge log {id} · forge resume {id}");
    let status = world.ok(&["status", &run]);
    has(&status, &[&next]);
    assert!(!status.contains("working") && !status.contains("escalated: "), "{status}");
    let summary = world.ok(&["show", &run, "summary.md"]);
    has(&summary, &["The run **needs attention**: `build` failed 3 times in the same way"]);
    fs::write(world.beside("mended"), "").unwrap();
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn a_review_sends_back_with_findings_and_the_writer_is_told_what_was_found() {
    let world = World::new();
    let first = r#"scenario = 1
[[play]]
role = "reviewer"
attempt = 1
artifacts = { "review.md" = "REVISE\n" }
result = { verdict = "revise", summary = "not yet", findings = [{ severity = "major", path = "draft.md", line = 1, what = "no reasons", why = "nobody will believe it", proof = { quote = "A draft" } }] }
"#;
    world.scenario(&format!("{first}{}", CONTENT.replace("scenario = 1", "")));
    let said = world.run("draft", &["--auto"]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    let brief = world.brief(&run, "write#2");
    has(&brief, &["F1", "no reasons", "nobody will believe it", "> A draft", "`review.md`"]);
    assert_eq!(
        fs::read_to_string(world.boxes(&run, "write#2").join("inbox/review.md")).unwrap(),
        "REVISE\n"
    );
}

#[test]
fn an_agent_that_never_leaves_a_result_is_asked_about_and_a_retry_goes_on() {
    let world = World::new();
    let silent = "scenario = 1\n[[play]]\nrole = \"writer\"\nattempt = 1\ncrash = \"segv\"\n[[play]]\nrole = \"writer\"\nattempt = 2\nno_result = true\n";
    world.scenario(&format!("{silent}{}", CONTENT.replace("scenario = 1", "")));
    let said = world.run("draft", &["--auto"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["without a result", "forge retry", "forge reject"]);
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "retry"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn a_driver_that_is_killed_loses_nothing_and_resume_finds_its_agent_at_work() {
    let world = World::new();
    let slow = CONTENT.replacen(
        "role = \"writer\"",
        &format!("role = \"writer\"\nrun = \"{UNTIL_GO}\""),
        1,
    );
    world.scenario(&slow);
    let mut running = world.start(&["run", "--auto", "do it"]);
    running.until_says("write started");
    let run = world.latest();
    world.until_agents_started(&run, 1);
    running.signal(rustix::process::Signal::KILL);
    assert_eq!(running.end().code, -9);
    has(
        &world.ok(&["doctor"]),
        &[
            "is not running, and not finished",
            &format!("forge resume {}", crate::unnamed::short(&run)),
        ],
    );
    let said = world.ok(&["status", &run]);
    has(&said, &["not running", "Next: forge resume "]);
    assert!(!said.contains("working"), "{said}");
    let second = world.start(&["resume", &run]);
    let runs_it = || world.ok(&["log", &run, "-vv"]).contains("a new process runs it from here on");
    until("the second driver to be at work", || runs_it().then_some(()));
    second.signal(rustix::process::Signal::KILL);
    assert_eq!(second.end().code, -9);
    let resumed = world.start(&["resume", &run]);
    world.go();
    let said = resumed.end();
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(world.agents_started(&run), 2, "the writer was not started again");
    let log = world.ok(&["log", &run]);
    assert_eq!(log.matches("● another process continues the run").count(), 1, "{log}");
}

#[test]
fn ctrl_c_asks_agents_to_end_and_a_second_one_kills_them() {
    let world = World::new();
    world.scenario(
        "[[play]]\nrole = \"writer\"\nattempt = 1\nignore_term = true\nhang = true\n[[play]]\n",
    );
    let mut running = world.start(&["run", "--auto", "do it"]);
    running.until_says("write started");
    let run = world.latest();
    world.until_agents_started(&run, 1);
    running.signal(rustix::process::Signal::INT);
    running.until_says("pressed Ctrl-C");
    running.signal(rustix::process::Signal::INT);
    running.until_says("stopped the run");
    let said = running.end();
    assert_eq!(said.code, 130, "{said}");
    has(&said.out, &["write was interrupted", "Next    forge resume "]);
}

#[test]
fn every_end_has_its_exit_code() {
    let world = World::new();
    world.flow("good", "[[stage]]\nname = \"a\"\ncommand = \"true\"\n");
    world.flow("bad", "[[stage]]\nname = \"a\"\ncommand = \"true\"\nexhausted = \"fail\"\nrounds = 0\ngates = [{ command = \"false\" }]\n");
    world.flow("ask", "[[stage]]\nname = \"a\"\ngates = [{ human = \"Go on?\" }]\n");
    assert_eq!(world.run("good", &[]).code, DONE);
    assert_eq!(world.run("bad", &[]).code, FAILED);
    assert_eq!(world.run("none", &[]).code, WRONG);
    assert_eq!(world.run("ask", &[]).code, WAITS);
    // Help and version are no errors.
    assert_eq!(world.forge(&["--help"]).code, DONE);
    assert_eq!(world.forge(&["--version"]).code, DONE);
    assert_eq!(world.forge::<&str>(&[]).code, DONE, "it lists the runs");
    until("all runs to be listed", || (world.ids().len() == 3).then_some(()));
}

#[test]
fn a_gate_that_is_killed_does_not_blame_the_work() {
    let world = World::new();
    world.flow(
        "gate",
        "[[stage]]\nname = \"a\"\ncommand = \"true\"\ngates = [{ name = \"g\", command = \"test -e $HOME/seen && exit 0; touch $HOME/seen; kill -9 $$\" }]\n",
    );
    assert_eq!(world.run("gate", &[]).code, DONE);
    let log = world.ok(&["log", "-v"]);
    has(&log, &["a: g gave no verdict", "a: g passed"]);
    assert!(!log.contains("a (attempt 2)"), "the work was done once: {log}");
}

#[test]
fn an_agent_that_is_blocked_or_half_done_owes_nothing_else() {
    let world = World::new();
    world.roles(&["planner"]);
    world.flow(
        "plan",
        "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nwrites = [\"plan.md\"]\nlist = \"tasks\"\n\
         [[stage]]\nname = \"build\"\neach = \"tasks\"\n[[stage.stage]]\nname = \"a\"\ncommand = \"true\"\n",
    );
    world.scenario(
        "scenario = 1\n[[play]]\nattempt = 1\nresult = { status = \"partial\", summary = \"half of it\" }\n\
         [[play]]\nresult = { status = \"blocked\", summary = \"no\", blocker = { class = \"external_dependency\", what = \"no licence\" } }\n",
    );
    let said = world.run("plan", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["plan partly done", "half of it", "The work is blocked: no licence"]);
}

#[test]
fn a_command_reports_a_list_as_an_agent_would() {
    let world = World::new();
    world.write(
        "list.sh",
        r#"printf '{"forge":1,"attempt":"%s","status":"done","summary":"","lists":{"tasks":[{"id":"A"},{"id":"B"}]}}' "$FORGE_CALL" > "$FORGE_OUTBOX/result.json""#,
    );
    let script = world.repo.join("list.sh");
    world.flow(
        "list",
        &format!(
            "[[stage]]\nname = \"plan\"\nlist = \"tasks\"\ncommand = \"sh '{}'\"\n\
             [[stage]]\nname = \"build\"\neach = \"tasks\"\n[[stage.stage]]\nname = \"a\"\ncommand = \"true\"\n",
            script.display()
        ),
    );
    let said = world.run("list", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["2 tasks: A, B", "B a done"]);
}

#[test]
fn a_secret_in_a_result_is_kept_nowhere_but_where_its_agent_put_it() {
    let world = World::new();
    let secret = format!("{}-{}", "sk-ant-api03", "abcdefghijklmnopqrstuvwxyz0123456789");
    world.scenario(&CONTENT.replace("it is good", &format!("good, {secret}")));
    assert_eq!(world.forge(&["run", "do it"]).code, WAITS);
    let mut left = vec![world.place()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            // The scenario itself is a blob.
            if path.is_dir() && !["outbox", "blobs"].iter().any(|name| entry.file_name() == *name) {
                left.push(path);
            } else if path.is_file() {
                let bytes = fs::read(&path).unwrap();
                let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!found, "{} holds the secret", path.display());
            }
        }
    }
}

#[test]
fn a_limit_that_is_over_while_there_is_no_room_costs_no_processor() {
    let world = World::new();
    world.roles(&["limited"]);
    world.flow(
        "two",
        &format!(
            "[[stage]]\nname = \"first\"\nagent = \"limited\"\n\
             [[stage]]\nname = \"slow\"\nafter = []\ncommand = \"{UNTIL_GO}\"\n"
        ),
    );
    world.scenario(
        "scenario = 1\n[[play]]\nattempt = 1\nlimit = { kind = \"rate\", reset_in_ms = 1 }\n[[play]]\n",
    );
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap_or_default();
    world.write("forge.toml", format!("{settings}\n[limits]\nat_once = 1\n"));
    let mut running = world.start(&["run", "--flow", "two", "do it"]);
    running.until_says("slow started");
    let pid = running.pid();
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let (before, began) = (ticks(), std::time::Instant::now());
    until("a second went by", || (began.elapsed().as_millis() > 1000).then_some(()));
    assert!(ticks() - before < 30, "the driver spins: {} ticks in a second", ticks() - before);
    world.ok(&["stop"]);
    assert_eq!(running.end().code, INTERRUPTED);
}

#[test]
fn what_an_abandoned_run_left_at_work_is_stopped_by_whoever_comes_next() {
    let world = World::new();
    world.flow(
        "slow",
        &format!(
            "[[stage]]\nname = \"slow\"\ncommand = \"trap '' TERM; touch ~/deaf; {UNTIL_GO}\"\n"
        ),
    );
    let mut running = world.start(&["run", "--flow", "slow", "do it"]);
    running.until_says("slow started");
    let run = world.latest();
    until("it hears no signal", || world.beside("deaf").exists().then_some(()));
    let keeper = until("its keeper is there", || {
        let claim = fs::read(world.find_attempt(&run, "slow#1")?.join("claim")).ok()?;
        let claim: Value = serde_json::from_slice(&claim).ok()?;
        let pid = i32::try_from(claim.get("pid")?.as_i64()?).ok()?;
        rustix::process::Pid::from_raw(pid)
    });
    // A command that takes its time to end: the driver journals the end of the run, waits for it, and is killed.
    let abandoning = world.start(&["abandon", "--yes", &run]);
    running.until_says("the run was abandoned");
    running.signal(rustix::process::Signal::KILL);
    running.end();
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
    has(&abandoning.end().out, &["1 attempt has not ended yet"]);
    has(
        &world.ok(&["doctor"]),
        &["may still be running", &format!("forge stop {}", crate::unnamed::short(&run))],
    );
    has(&world.refused(&["stop", &run]), &[" was abandoned"]);
    assert!(!world.ok(&["doctor"]).contains("at work"), "the call was swept and settled");
}

#[test]
fn a_paused_run_that_is_still_driven_goes_on_by_resume() {
    let world = World::new();
    world.flow("slow", &format!("[[stage]]\nname = \"slow\"\ncommand = \"{UNTIL_GO}\"\n"));
    let mut running = world.start(&["run", "--flow", "slow", "do it"]);
    running.until_says("slow started");
    let run = world.latest();
    world.ok(&["pause", &run]);
    has(&world.ok(&["resume", &run]), &["is running in another process"]);
    running.until_says("resumed the run");
    world.ok(&["stop", &run]);
    assert_eq!(running.end().code, INTERRUPTED);
}

#[test]
fn an_agent_that_failed_is_asked_about_with_its_last_words() {
    let world = World::new();
    let (_, reviewer) = CONTENT.rsplit_once("[[play]]").expect("there are two");
    world.scenario(&format!(
        "scenario = 1\n[[play]]\nrole = \"writer\"\nsay = [\"API Error: 401 unauthorized\"]\n\
         exit = 3\nno_result = true\n[[play]]{reviewer}"
    ));
    let said = world.run("draft", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["Q1      write: The agent failed twice: API Error: 401 unauthorized"]);
}
