//! Commands that name no run take the one that can be meant, and say so if that is none or several. Also what
//! is said about runs that nobody drives.

use crate::{
    goes::UNTIL_GO,
    world::{CONTENT, DONE, INTERRUPTED, Said, WAITS, WRONG, World, has, pty::Person},
};

/// A world with a run that waits, and a newer one that is done.
fn waits_and_done() -> (World, String) {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let waits = world.latest();
    assert_eq!(world.run("draft", &["--auto"]).code, DONE);
    assert_ne!(world.latest(), waits);
    (world, waits)
}

/// What a run is called on screens.
pub(crate) fn short(run: &str) -> &str {
    run.rsplit('-').next().unwrap()
}

/// It was refused because nobody is there who drives the run.
fn is_alone(said: &Said, run: &str) {
    assert_eq!(said.code, WRONG, "{said}");
    let run = short(run);
    has(&said.err, &[&format!("{run} is not running"), "help: forge ", run]);
    assert!(!said.all().contains("going"), "{said}");
}

#[test]
fn a_run_that_is_done_is_never_meant_and_one_that_waits_is_listed_first() {
    let (world, waits) = waits_and_done();
    let listed = world.ok(&["status"]);
    assert!(listed.lines().next().unwrap().contains("  needs you  "), "{listed}");
    let said = world.forge(&["resume"]);
    assert_eq!(said.code, WAITS, "{said}");
    let id = short(&waits);
    has(&said.err, &[&format!("{id} needs an answer first"), &format!("help: forge attach {id}")]);
    assert_eq!(said.out, "", "nothing is continued");
    let shown = world.forge(&["attach"]);
    assert_eq!(shown.code, WAITS, "where there is no screen, what it asks is printed: {shown}");
    has(&shown.all(), &["Q1"]);
    has(&world.ok(&["pause"]), &[&format!("{} is paused", short(&waits))]);
    // Nobody drives it, so that only who names it can stop it.
    has(&world.refused(&["stop"]), &["no run can be stopped", "help: forge status"]);
    has(&world.ok(&["stop", &waits]), &[&format!("{} was not running (paused)", short(&waits))]);
    has(&world.refused(&["attach"]), &[&format!("{} is not running", short(&waits))]);
    has(&world.ok(&["answer", "Q1", "approve"]), &["Q1 is answered"]);
    assert_eq!(world.forge(&["resume"]).code, DONE);
    has(&world.refused(&["resume"]), &["no run can be resumed"]);
    has(&world.refused(&["answer", "Q1", "approve"]), &["no run has an open question"]);
    has(&world.refused(&["attach"]), &["no run is running or needs you"]);
}

#[test]
fn where_several_runs_could_be_meant_they_are_listed_and_nothing_is_done() {
    let (world, first) = waits_and_done();
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let second = world.latest();
    let records = [&first, &second].map(|run| world.records(run));
    has(&world.refused(&["stop"]), &["no run can be stopped", "help: forge status"]);
    let said = world.forge(&["resume"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["the runs need an answer first", "help: forge attach"]);
    for words in [&["abandon"][..], &["pause"], &["attach"], &["answer", "Q1", "approve"]] {
        let said = world.refused(words);
        has(&said, &["2 runs can be", "name one", "help: forge ", "RUN", "needs you"]);
        assert!(!said.contains(first.as_str()), "only short names are shown: {said}");
        let order = [&second, &first].map(|run| said.find(short(run)).expect(run));
        assert!(order.is_sorted(), "the newest comes first: {said}");
    }
    let said = world.refused(&["revise", "say less"]);
    let [newer, older] = [&second, &first].map(|run| format!("forge revise {} ", short(run)));
    has(&said, &["2 runs need you; name one", &newer, &older, " 'say less'   # do it"]);
    let said = world.refused(&["retry"]);
    let [newer, older] = [&second, &first].map(|run| format!("forge status {}", short(run)));
    has(&said, &["2 runs need you, and neither offers retry", &newer, &older]);
    assert!(!said.contains("forge retry"), "{said}");
    assert_eq!([&first, &second].map(|run| world.records(run)), records);
    world.ok(&["abandon", "--yes", &first]);
    has(&world.ok(&["abandon", "-y"]), &[&format!("{} is abandoned", short(&second))]);
    has(&world.refused(&["abandon"]), &["no run can be abandoned", "help: forge status"]);
    // What was open when they were abandoned waits for nobody any more.
    assert_eq!(world.run("draft", &["--auto"]).code, DONE);
    let listed = world.ok(&["status"]);
    assert!(listed.lines().next().unwrap().contains("  done  "), "{listed}");
    for run in [&first, &second] {
        assert_eq!(world.view(run)["questions"], 0);
    }
}

#[test]
fn a_run_is_resumed_without_its_name_only_if_it_can_be_continued() {
    let (world, failed) = waits_and_done();
    world.forge(&["reject", &failed]);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let waits = world.latest();
    let said = world.forge(&["resume"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &[&format!("{} needs an answer first", short(&waits))]);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    for run in [&waits, &world.latest()] {
        world.ok(&["pause", run]);
    }
    let listed = world.refused(&["resume"]);
    has(&listed, &["3 runs can be resumed; name one", "  paused  ", "  failed  "]);
    let latest = world.latest();
    has(&world.refused(&["abandon", "--yes", &latest, "nope"]), &["no run `nope`"]);
    assert_eq!(world.view(&latest)["standing"], "paused", "all are found before one ends");
    let said = world.ok(&["abandon", "--yes", &waits, &latest]);
    has(&said, &[&format!("{} is abandoned", short(&waits)), &format!("{} is", short(&latest))]);
    assert_eq!(world.forge(&["resume"]).code, WAITS, "only the one that failed is left");
    assert_eq!(world.view(&failed)["standing"], "waiting");
}

#[test]
fn a_run_that_would_go_on_and_that_nobody_drives_is_not_said_to_work() {
    let (world, waits) = waits_and_done();
    world.ok(&["answer", &waits, "Q1", "revise", "shorter"]);
    let said = world.ok(&["status", &waits]);
    has(&said, &["not running"]);
    assert!(!said.contains("● running"), "{said}");
    has(&world.ok(&["status"]), &["not running", "\nNext: forge resume "]);
    world.ok(&["stop", &waits]);
    assert!(!world.ok(&["status"]).contains("not running"));
}

#[test]
fn a_run_that_nobody_drives_is_listed_behind_those_that_ask_and_before_all_others() {
    let (world, asks) = waits_and_done();
    let done = world.latest();
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let alone = world.latest();
    world.ok(&["answer", &alone, "Q1", "revise", "shorter"]);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let abandoned = world.latest();
    world.ok(&["abandon", "--yes", &abandoned]);
    assert_eq!(world.ids(), [&*abandoned, &*alone, &*done, &*asks], "the newest comes first");
    let listed = world.ok(&["status"]);
    let wanted =
        [("needs you", &asks), ("not running", &alone), ("abandoned", &abandoned), ("done", &done)];
    let found = wanted.map(|(state, run)| {
        let id = run.rsplit('-').next().unwrap();
        listed.find(&format!(" {id}  {state} ")).unwrap_or_else(|| panic!("{id}: {listed}"))
    });
    assert!(found.is_sorted(), "{listed}");
}

#[test]
fn of_a_run_that_is_driven_and_others_that_wait_the_driven_one_is_stopped() {
    let (world, waits) = waits_and_done();
    world.flow("slow", &format!("[[stage]]\nname = \"a\"\ncommand = \"{UNTIL_GO}\"\n"));
    let mut running = world.start(&["run", "--flow", "slow", "do it"]);
    running.until_says("a started");
    let driven = world.latest();
    has(&world.ok(&["stop"]), &[&format!("{} is stopped", short(&driven))]);
    assert_eq!(running.end().code, INTERRUPTED);
    assert_eq!(world.view(&waits)["standing"], "waiting");
}

#[test]
fn an_answer_that_is_none_is_refused_with_all_that_can_be_said() {
    let (world, waits) = waits_and_done();
    for words in [&["answer", "Q1", "yes"][..], &["answer", &waits, "Q1", "yes"]] {
        has(
            &world.refused(words),
            &["`yes` is not an answer to Q1", "help: forge approve ", "or: forge reject "],
        );
    }
    has(&world.refused(&["answer", &waits, "Q1"]), &["needs an answer"]);
    has(
        &world.refused(&["answer", "Q1", "waive"]),
        &["does not offer override", "help: forge approve ", "or: forge reject "],
    );
    has(&world.ok(&["answer", "Q1", "revise", "-x", "more"]), &["Q1 is answered"]);
    has(&world.ok(&["log", &waits]), &["-x more"]);
}

#[test]
fn who_attaches_to_a_run_that_nobody_drives_is_told_and_can_drive_it_on() {
    let (world, waits) = waits_and_done();
    world.ok(&["answer", &waits, "Q1", "revise", "shorter"]);
    is_alone(&world.forge(&["attach", &waits]), &waits);
    let mut person = Person::at(&world, &["attach", &waits]);
    person.until_sees("Not running. Press r to resume.");
    person.press("r");
    person.until_sees("Q2 · write");
    // Somebody else answers: to the driver, if it is still there, else to the screen.
    let said = world.ok(&["answer", &waits, "Q2", "revise", "longer"]);
    has(&said, &["and the run continues"]);
    person.until_sees("Q3 · write");
    world.ok(&["answer", &waits, "Q3", "approve"]);
    assert_eq!(person.end(), DONE, "{}", person.screen());
}

#[test]
fn an_answer_without_a_question_is_refused_with_one_that_is_open() {
    let world = World::new();
    world.scenario(CONTENT);
    let refused = world.refused(&["answer"]);
    has(&refused, &["no run has an open question", "help: forge status"]);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    for words in [&["answer"][..], &["answer", &run], &["answer", "yes"]] {
        let refused = world.refused(words);
        has(&refused, &["QUESTION and CHOICE are missing", &format!("{} asks Q1: ", short(&run))]);
        has(&refused, &[&format!("help: forge approve {}", short(&run))]);
        has(&refused, &[&format!("or: forge revise {} \"WORDS\"", short(&run))]);
        assert!(!refused.contains("required arguments"), "{refused}");
    }
    has(&world.refused(&["answer", "Q1"]), &["needs an answer", "help: forge approve "]);
    world.ok(&["answer", &run, "Q1", "approve"]);
    has(&world.refused(&["answer", &run]), &["has no open question"]);
}
