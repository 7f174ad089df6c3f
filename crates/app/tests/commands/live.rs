//! The live screen, as a person at a real terminal uses it.

use std::{ffi::OsString, fs};

use crate::{
    code,
    goes::UNTIL_GO,
    world::{CONTENT, DONE, FORGE, INTERRUPTED, PARKED, WAITS, World, has, pty::Person, until},
};

const UP: &str = "\x1b[A";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const CTRL_Z: &str = "\x1a";
const ESCAPE: &str = "\x1b";

/// A writer who says something, waits until it may go on, and then works.
fn slow() -> String {
    let writer = format!("role = \"writer\"\nsay = [\"I think about it.\"]\nrun = \"{UNTIL_GO}\"");
    CONTENT.replacen("role = \"writer\"", &writer, 1)
}

fn run_of(world: &World) -> String {
    until("a run", || world.database().exists().then(|| world.ids().first().cloned()).flatten())
}

const RUN: [&str; 4] = ["run", "--flow", "draft", "write something"];

#[test]
fn a_run_is_watched_revised_in_ones_own_words_and_approved_without_leaving_the_screen() {
    let world = World::new();
    world.scenario(&slow());
    let mut person = Person::at(&world, &RUN);
    let before = person.settings();
    let tree = person.until_sees("I think about it.");
    has(&tree, &["● running", "write something", "● write", "leave, it keeps running", "1 agent"]);
    has(&tree, &["Budget   none"]);
    let run = run_of(&world);
    person.press("\r");
    has(&person.until_sees("Esc back"), &["says   I think about it."]);
    person.press(ESCAPE);
    let tree = person.until_sees("STAGE");
    assert!(!tree.contains("Budget   none"), "how it began was read\n{tree}");
    person.press("z");
    person.until_sees("Unknown key. All keys:");
    world.go();
    let asked = person.until_sees("Is this the document you want?");
    has(&asked, &["approach", "short", "one page", "risk", "low", "request changes", "reject"]);
    has(&asked, &["runs again, with your words in its brief"]);
    assert!(!asked.contains("Unknown key"), "those keys are of the tree\n{asked}");
    person.press("r");
    person.until_sees("What should change?");
    person.press("Not \"short\": 工作 first.\x1b\rSecond line, with $HOME.");
    person.until_sees("> Second line, with $HOME.");
    person.press(CTRL_D);
    let words = "Not \"short\": 工作 first.\nSecond line, with $HOME.";
    person.until_gone("What should change?");
    person.until_sees("Q2 · write");
    let brief = world.brief(&run, "write#2");
    assert!(brief.contains(words) || brief.contains(&words.replace('\n', "\n> ")), "{brief}");
    person.press("a");
    person.until_sees("Enter approve");
    person.press("\r");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    has(&person.until_sees("✓ Done"), &["✓ write", "done"]);
    assert!(!person.is_on_its_own_screen());
    assert_eq!(format!("{before:?}"), format!("{:?}", person.settings()), "as it was");
}

#[test]
fn what_is_put_off_stays_on_the_screen_with_the_words_that_were_typed_and_can_be_opened_again() {
    let world = World::new();
    world.scenario(CONTENT);
    let mut person = Person::at(&world, &RUN);
    person.until_sees("Is this the document you want?");
    person.press("r");
    person.until_sees("What should change?");
    person.press("half a sen");
    person.until_sees("> half a sen");
    person.press(ESCAPE);
    person.until_sees("Esc later");
    person.press(ESCAPE);
    let tree = person.until_sees("Needs you. Press a to answer.");
    has(&tree, &["? needs you", "? write", "q leave"]);
    // By either key, and nothing that was typed is lost.
    person.press("\r");
    person.until_sees("Esc later");
    person.press(ESCAPE);
    person.until_sees("Press a to answer.");
    person.press("a");
    person.until_sees("Esc later");
    person.press("r");
    person.until_sees("> half a sen");
    person.press(ESCAPE);
    person.until_sees("Esc later");
    person.press("q");
    assert_eq!(person.end(), WAITS, "{}", person.screen());
    let run = world.latest();
    person.until_sees("forge reject ");
    has(&person.bytes(), &["Q1: your words were not sent:\r\nhalf a sen"]);
    let mut person = Person::at(&world, &["resume", &run]);
    person.until_sees("Is this the document you want?");
    // The arrows choose, too.
    person.press("\x1b[B\x1b[B\x1b[B\r");
    person.until_sees("Enter reject");
    person.press("\r");
    assert_eq!(person.end(), 1, "{}", person.screen());
}

/// What was sent, without blanks and without what moves the cursor or sets a colour.
fn letters(sent: &str) -> String {
    let mut text = String::new();
    let mut chars = sent.chars();
    while let Some(char) = chars.next() {
        if char == '\x1b' {
            let _end = chars.by_ref().skip(1).find(char::is_ascii_alphabetic);
        } else if char != ' ' {
            text.push(char);
        }
    }
    text
}

#[test]
fn a_question_that_somebody_else_answers_goes_from_the_screen_and_the_run_goes_on_here() {
    let world = World::new();
    world.scenario(CONTENT);
    let mut person = Person::at(&world, &RUN);
    person.until_sees("Is this the document you want?");
    let run = run_of(&world);
    world.ok(&["answer", &run, "Q1", "revise", "say it shorter"]);
    person.until_sees("Q2 · write");
    assert!(world.brief(&run, "write#2").contains("say it shorter"));
    // It was said, and is not for ever. In the place of what was blank before, the cursor may only be moved.
    has(&letters(&person.bytes()), &["Q1wasansweredelsewhere"]);
    person.until_gone("Q1 was answered elsewhere");
    world.ok(&["answer", &run, "Q2", "approve"]);
    assert_eq!(person.end(), DONE, "{}", person.screen());
}

#[test]
fn who_types_while_somebody_else_answers_keeps_the_box_and_no_letter_is_taken_for_a_command() {
    let world = World::new();
    world.scenario(CONTENT);
    let mut person = Person::at(&world, &RUN);
    person.until_sees("Is this the document you want?");
    person.press("r");
    person.until_sees("What should change?");
    person.press("half a sen");
    person.until_sees("> half a sen");
    let run = run_of(&world);
    world.ok(&["answer", &run, "Q1", "revise", "say it shorter"]);
    person.until_sees("Q1 was answered elsewhere. Your words were not sent.");
    person.press("tence, pqd");
    person.until_sees("> half a sentence, pqd");
    // The run goes on behind the box.
    until("the next question", || world.ok(&["status", &run]).contains("Q2 ·").then_some(()));
    assert!(person.screen().contains("> half a sentence, pqd"), "{}", person.screen());
    person.press(ESCAPE);
    person.until_sees("Q2 · write");
    // Also where it ends meanwhile: what is typed does not go to the shell.
    person.press("r");
    person.until_sees("What should change?");
    person.press("more wo");
    person.until_sees("> more wo");
    world.ok(&["answer", &run, "Q2", "approve"]);
    until("the end", || world.ok(&["status", &run]).contains("done").then_some(()));
    person.until_sees("Q2 was answered elsewhere. Your words were not sent.");
    person.press("rds");
    person.until_sees("> more words");
    assert!(person.is_on_its_own_screen());
    person.press(CTRL_D);
    assert_eq!(person.end(), DONE, "{}", person.screen());
    let left = ["your words were not sent:\r\nhalf a sentence, pqd", "sent:\r\nmore words"];
    has(&person.bytes(), &left);
    assert!(!world.ok(&["log", &run]).contains("paused"));
}

#[test]
fn while_a_checkout_is_set_up_the_screen_says_so() {
    let set_up = "[workspace]\nsetup = [\"while [ ! -e ~/go ]; do sleep 0.02; done\"]\n";
    let world = code::project(set_up);
    world.scenario("[[play]]\nfiles = { \"src/b.txt\" = \"good\\n\" }\n");
    let mut person = Person::at(&world, &["run", "--flow", "one", "do it at once"]);
    person.until_sees("└ setting up: while [ ! -e ~/go ]");
    world.go();
    person.until_gone("setting up");
    person.press("q");
    person.end();
}

#[test]
fn ctrl_c_stops_the_run_and_the_terminal_is_as_it_was() {
    let world = World::new();
    world.scenario(&slow());
    let mut person = Person::at(&world, &RUN);
    let before = person.settings();
    person.until_sees("I think about it.");
    assert_ne!(format!("{before:?}"), format!("{:?}", person.settings()), "the screen has it");
    person.press(CTRL_C);
    assert_eq!(person.end(), INTERRUPTED, "{}", person.screen());
    has(&person.until_sees("Next    forge resume "), &["nterrupted"]);
    assert_eq!(format!("{before:?}"), format!("{:?}", person.settings()), "as it was");
}

#[test]
fn ctrl_z_gives_the_terminal_back_to_the_shell_and_fg_paints_everything_anew_at_any_size() {
    let world = World::new();
    world.scenario(&slow());
    // So that the world commits and allows what a person would have.
    let _ = world.command(&RUN);
    let shell: Vec<OsString> = ["bash", "--norc", "--noprofile", "-i"].map(OsString::from).into();
    let mut person = Person::with(&world, &shell);
    person.press("PS1='ready> '\r");
    person.until_sees("\nready> ");
    let before = person.settings();
    person.press(&format!("{FORGE} run --flow draft 'write something'\r"));
    person.until_sees("I think about it.");
    person.press(CTRL_Z);
    person.until_sees("Stopped");
    assert!(!person.is_on_its_own_screen(), "{}", person.screen());
    assert_eq!(before.local_modes, person.settings().local_modes, "the shell can be used");
    person.press("echo in the $((40 + 2))\r");
    person.until_sees("in the 42");
    person.resize(100, 30);
    person.press("fg\r");
    let screen = person.until_sees("leave, it keeps running");
    has(&screen, &["I think about it.", "● write"]);
    assert!(!screen.contains("in the 42") && person.is_on_its_own_screen(), "{screen}");
    person.resize(60, 12);
    let screen = person.until("the tree in less room", |screen| {
        screen.lines().count() <= 12 && screen.contains("● write")
    });
    assert!(screen.lines().all(|line| line.chars().count() <= 60), "{screen}");
    world.go();
    person.until_sees("Is this the document");
    person.press("a");
    person.until_sees("Enter approve");
    person.press("\r");
    person.until_sees("ready> ");
    person.press("exit\r");
    assert_eq!(person.end(), DONE, "{}", person.screen());
}

#[test]
fn a_run_that_is_detached_goes_on_alone_and_whoever_attaches_can_answer_and_leave() {
    let world = World::new();
    world.scenario(&slow());
    let said = world.ok(&["run", "--flow", "draft", "write something", "--detach"]);
    let run = run_of(&world);
    has(
        &said,
        &[
            &format!("{} is running in the background", run.rsplit_once('-').unwrap().1),
            "forge attach ",
        ],
    );
    let mut person = Person::at(&world, &["attach", &run]);
    person.until_sees("I think about it.");
    person.press(UP);
    person.until_sees("❯ ● write");
    person.press("q");
    assert_eq!(person.end(), DONE);
    person.until_sees("Still running. Next: forge attach ");
    world.go();
    let mut person = Person::at(&world, &["attach", &run]);
    person.until_sees("Is this the document you want?");
    person.press("a");
    person.until_sees("Enter approve");
    person.press("\r");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    has(&world.ok(&["status", &run]), &["done"]);
    let log = fs::read_to_string(world.place().join("runs").join(&run).join("driver.log")).unwrap();
    has(&log, &["write: review passed"]);
}

#[test]
fn a_run_that_was_stopped_is_shown_and_resumed_from_its_screen() {
    let world = World::new();
    world.scenario(&slow());
    world.ok(&["run", "--flow", "draft", "write something", "--detach"]);
    let run = run_of(&world);
    let mut person = Person::at(&world, &["attach", &run]);
    person.until_sees("I think about it.");
    person.press("q");
    assert_eq!(person.end(), DONE);
    world.ok(&["stop", &run]);
    let mut person = Person::at(&world, &["attach", &run]);
    person.until_sees("Press r to resume.");
    world.go();
    person.press("r");
    person.until_sees("Is this the document you want?");
    person.press("a");
    person.until_sees("Enter approve");
    person.press("\r");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    has(&world.ok(&["status", &run]), &["done"]);
}

#[test]
fn who_leaves_the_screen_of_a_run_that_was_stopped_reads_that_it_is_not_running() {
    let world = World::new();
    world.scenario(&slow());
    world.ok(&["run", "--flow", "draft", "write something", "--detach"]);
    let run = run_of(&world);
    world.until_agents_started(&run, 1);
    world.ok(&["stop", &run]);
    let mut person = Person::at(&world, &["attach", &run]);
    // The first frame knows it.
    has(&person.until_sees("q leave"), &["Stopped. Press r to resume."]);
    // Ctrl-C stops nothing here, and the help says so.
    person.press("?");
    has(&person.until_sees("Ctrl-Z suspend"), &["Ctrl-C leave"]);
    person.press("q");
    assert_eq!(person.end(), INTERRUPTED, "{}", person.screen());
    person.until_sees("Not running (stopped). Next: forge resume ");
}

#[test]
fn a_run_that_is_out_of_budget_is_shown_with_the_command_that_raises_it() {
    let world = World::new();
    world.scenario(CONTENT);
    let said = world.run("draft", &["--auto", "--budget", "0.015"]);
    assert_eq!(said.code, PARKED, "{said}");
    let mut person = Person::at(&world, &["attach"]);
    assert_eq!(person.end(), PARKED, "{}", person.screen());
    person.until_sees("Out of budget");
    person.until_sees(" --budget 1");
}

#[test]
fn who_leaves_a_rate_limited_run_lets_it_wait_and_no_agent_is_called_again() {
    let world = World::new();
    let limited = "role = \"writer\"\nlimit = { kind = \"usage\", reset_in_ms = 3600000 }";
    world.scenario(&CONTENT.replacen("role = \"writer\"", limited, 1));
    let mut person = Person::at(&world, &RUN);
    person.until_sees("rate-limited until ");
    let run = run_of(&world);
    person.press("q");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    until("the driver", || {
        world.ok(&["status", &run]).contains("rate-limited until").then_some(())
    });
    assert_eq!(world.agents_started(&run), 1);
    let story = world.story(&run);
    assert!(!story.iter().any(|fact| fact.contains("resumed")), "{story:?}");
    world.ok(&["stop", &run]);
}

#[test]
fn who_leaves_the_screen_of_a_run_lets_it_go_on_and_plain_lines_need_no_screen() {
    let world = World::new();
    world.scenario(&slow());
    let mut person = Person::at(&world, &[&RUN[..], &["--auto"]].concat());
    person.until_sees("I think about it.");
    person.press("q");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    let run = run_of(&world);
    has(
        &person.until_sees("is running in the background"),
        &[&format!("{} is running", run.rsplit_once('-').unwrap().1)],
    );
    let mut plain = Person::at(&world, &["attach", &run, "--plain"]);
    plain.until_sees("write started");
    world.go();
    plain.until_sees("the run is done");
    assert_eq!(plain.end(), DONE);
    let printed = world.ok(&["attach", &run]);
    has(&printed, &["✓ Done"]);
    assert!(!printed.contains("write started"), "what happened is in the log: {printed}");
    assert!(!plain.bytes().contains("\x1b[?1049h"), "no screen of its own");
    let refused = Person::at(&world, &["attach", &run]).end();
    assert_eq!(refused, DONE, "a run that is over is shown as it is");
}

#[test]
fn who_pauses_a_run_and_leaves_finds_it_paused_and_the_same_key_continues_it() {
    let world = World::new();
    world.scenario(&slow());
    let mut person = Person::at(&world, &[&RUN[..], &["--auto"]].concat());
    person.until_sees("I think about it.");
    let run = run_of(&world);
    // A key that does nothing says which ones there are.
    person.press("d");
    has(&person.until_sees("Unknown key. All keys:"), &["p pause or continue"]);
    person.press("p");
    has(&person.until_sees("p continue"), &["■ pausing", "q leave"]);
    person.press("p");
    has(&person.until_sees("p pause"), &["● running"]);
    person.press("p");
    person.until_sees("p continue");
    person.press("q");
    assert_eq!(person.end(), PARKED, "{}", person.screen());
    person.until_sees("forge resume ");
    assert!(!person.bytes().contains("is running in the background"), "{}", person.screen());
    let log = world.ok(&["log", &run]);
    assert_eq!(log.matches("resumed the run").count(), 1, "only by the key: {log}");
    // What was under way may end, and is not paid for twice.
    world.go();
    let resumed = world.ok(&["resume", &run]);
    assert!(!resumed.contains("write (attempt 2)"), "{resumed}");
    has(&world.ok(&["status", &run]), &["done"]);
}

#[test]
fn a_paused_run_stays_on_the_screen_when_nothing_runs_any_more_and_continues_there() {
    let world = World::new();
    world.scenario(&slow());
    let mut person = Person::at(&world, &[&RUN[..], &["--auto"]].concat());
    person.until_sees("I think about it.");
    person.press("p");
    person.until_sees("p continue");
    world.go();
    let still = person.until_sees("■ write");
    has(&still, &["■ paused", "p continue"]);
    assert!(!still.contains('●') && person.is_on_its_own_screen(), "{still}");
    person.press("p");
    assert_eq!(person.end(), DONE, "{}", person.screen());
}

#[test]
fn who_answers_a_run_that_no_process_drives_continues_it_with_the_answer() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.forge(&RUN).code, WAITS);
    let run = world.latest();
    let mut person = Person::at(&world, &["attach", &run]);
    person.until_sees("Is this the document you want?");
    person.press("r");
    person.until_sees("What should change?");
    person.press("shorter\r");
    person.until_sees("Q2 · write");
    has(&world.brief(&run, "write#2"), &["shorter"]);
    person.press("q");
    assert_eq!(person.end(), WAITS, "{}", person.screen());
    // One whose driver is gone says so, and can be resumed.
    world.ok(&["answer", &run, "Q2", "revise", "longer"]);
    let mut person = Person::at(&world, &["attach", &run]);
    let alone = person.until_sees("Not running. Press r to resume.");
    has(&alone, &["■ not running", "■ write"]);
    assert!(!alone.contains('●'), "{alone}");
    assert_eq!(world.find_attempt(&run, "write#3"), None, "{alone}");
    person.press("q");
    assert_eq!(person.end(), PARKED, "{}", person.screen());
    has(&person.screen(), &["Not running. Next: forge resume"]);
    let mut person = Person::at(&world, &["attach", &run]);
    person.until_sees("Not running. Press r to resume.");
    person.press("r");
    person.until_sees("Q3 · write");
    person.press("a");
    person.until_sees("Enter approve");
    person.press("\r");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    has(&world.ok(&["status", &run]), &["done"]);
}

#[test]
fn an_editor_and_a_pager_have_the_terminal_for_a_while_and_progress_is_the_latest_line() {
    let world = World::new();
    let say = "echo half way >> $FORGE_OUTBOX/progress; ";
    let writer = format!("role = \"writer\"\nrun = \"{say}{UNTIL_GO}\"");
    world.scenario(&CONTENT.replacen("role = \"writer\"", &writer, 1));
    let _ = world.command(&RUN);
    let editor = "EDITOR=printf 'from an editor,\\nword for word' >";
    let words = [&["env", editor, FORGE], &RUN[..]].concat();
    let mut person = Person::with(&world, &words.iter().map(OsString::from).collect::<Vec<_>>());
    person.until_sees("└ half way");
    world.go();
    person.until_sees("Is this the document you want?");
    let run = run_of(&world);
    person.press("v");
    // `cat` would not wait for anybody, so it is another one that shows the draft.
    person.until_sees("A draft");
    person.press("q");
    person.until_sees("Esc later");
    person.press("e");
    person.until_sees("> word for word");
    person.press(CTRL_D);
    person.until_sees("Q2 · write");
    let brief = world.brief(&run, "write#2");
    has(&brief, &["from an editor,", "word for word"]);
    person.press(CTRL_C);
    assert_eq!(person.end(), WAITS, "{}", person.screen());
}

#[test]
fn what_is_typed_before_an_editor_fails_answers_nothing() {
    let world = World::new();
    world.scenario(CONTENT);
    let _ = world.command(&RUN);
    let words = [&["env", "EDITOR=sleep 1; false", FORGE], &RUN[..]].concat();
    let mut person = Person::with(&world, &words.iter().map(OsString::from).collect::<Vec<_>>());
    person.until_sees("Is this the document you want?");
    person.press("ehello\r");
    person.until_sees("the editor failed (exit code 1); nothing was sent");
    let view = world.view(&run_of(&world));
    assert_eq!(view["asked"][0]["question"], "Q1", "{view}");
    person.press(CTRL_C);
    assert_eq!(person.end(), WAITS, "{}", person.screen());
}

#[test]
fn without_colours_and_on_a_dumb_terminal_nothing_is_coloured() {
    let world = World::new();
    world.scenario(CONTENT);
    let words = |name: &str| -> Vec<OsString> {
        let words = ["env", name, FORGE, "run", "--flow", "draft", "write something", "--auto"];
        words.map(OsString::from).into()
    };
    let _ = world.command(&RUN);
    let mut dumb = Person::with(&world, &words("TERM=dumb"));
    assert_eq!(dumb.end(), DONE);
    dumb.until_sees("✓ Done");
    has(&dumb.bytes(), &["· write finished"]);
    assert!(!dumb.bytes().contains('\x1b'), "{}", dumb.bytes());
    let mut grey = Person::with(&world, &words("NO_COLOR=1"));
    assert_eq!(grey.end(), DONE);
    assert!(grey.bytes().contains("\x1b[?1049h"));
    grey.until_sees("✓ Done");
    for colour in ["\x1b[1m", "\x1b[32m", "\x1b[36m", "\x1b[90m"] {
        assert!(!grey.bytes().contains(colour), "{}", grey.bytes());
    }
    has(&grey.bytes(), &["approved automatically"]);
}
