//! `approve`, `revise`, `reject` and `retry`: one answer, one command. Also `cancel`, `-q`, `-C` and `-n`.

use crate::{
    unnamed::short,
    world::{CONTENT, DONE, FAILED, INTERRUPTED, WAITS, World, finish, has, pty::Person},
};

/// A world with a run that waits for an answer.
fn waiting() -> (World, String) {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    (world, run)
}

#[test]
fn approve_answers_the_only_question_and_drives_the_run_to_its_end() {
    let (world, run) = waiting();
    let said = world.forge(&["approve"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(world.view(&run)["standing"], "done");
    has(&world.refused(&["approve"]), &["no run has an open question", "help: forge status"]);
    has(&world.refused(&["approve", &run]), &["has no open question"]);
}

#[test]
fn revise_takes_words_with_or_without_quotes_and_a_run_in_front_of_them() {
    let (world, run) = waiting();
    for (words, expected) in [
        (&["keep it short"][..], "keep it short"),
        (&["much", "shorter"], "much shorter"),
        (&[short(&run), "one line"], "one line"),
        (&[short(&run), "shorter"], "shorter"),
    ] {
        let said = world.forge(&[&["revise"], words].concat());
        assert_eq!(said.code, WAITS, "{said}");
        has(&world.ok(&["log", &run]), &[expected]);
    }
    let records = world.records(&run);
    has(&world.refused(&["revise", "oqmx", "keep it"]), &["no run `oqmx`"]);
    has(&world.refused(&["revise"]), &["`forge revise` needs WORDS"]);
    assert_eq!(world.records(&run), records);
}

#[test]
fn reject_fails_the_run_and_does_not_reopen_it() {
    let (world, run) = waiting();
    let said = world.forge(&["reject", short(&run), "-m", "not needed"]);
    assert_eq!(said.code, FAILED, "{said}");
    has(&said.err, &["write is rejected"]);
    has(&said.out, &["✗ Failed", "Why     write: rejected by", "Next    forge log "]);
    assert_eq!(world.view(&run)["standing"], "failed");
    has(&world.ok(&["log", &run]), &["not needed"]);
    let shown = world.ok(&["show", &run]);
    has(&shown, &["why      write: rejected by", "result   none", "Next: forge log "]);
}

#[test]
fn a_failed_agent_is_sent_back_with_words_and_the_log_has_the_question_of_the_card() {
    let world = World::new();
    let (_, reviewer) = CONTENT.rsplit_once("[[play]]").expect("there are two");
    world.scenario(&format!(
        "scenario = 1\n[[play]]\nrole = \"writer\"\nsay = [\"no key\"]\nexit = 3\nno_result = true\n\
         [[play]]{reviewer}"
    ));
    let said = world.run("draft", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    let question = "The agent failed twice: ";
    has(
        &said.out,
        &[&format!("? Q1 asks about write: {question}"), &format!("Q1      write: {question}")],
    );
    let run = world.latest();
    let id = short(&run);
    has(&world.ok(&["log", &run]), &[&format!("? Q1 asks about write: {question}")]);
    has(&world.ok(&["status", &run]), &[&format!("forge revise {id} \"WORDS\"")]);
    has(
        &world.forge(&["resume", &run, "--set", "limits.silence_minutes=9"]).err,
        &[&format!("Q1 is still open; to try again with what you changed: forge retry {id}\n")],
    );
    world.scenario(CONTENT);
    let said = world.forge(&["revise", id, "use the sandbox key"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&world.brief(&run, "write#3"), &["> use the sandbox key"]);
    has(&world.ok(&["log", &run]), &["answered Q1 (request changes): use the sandbox key"]);
}

#[test]
fn an_answer_is_echoed_and_what_follows_is_told_before_the_card() {
    for (answer, symbol) in [("approve", "✓ Done"), ("reject", "✗ Failed")] {
        let (world, run) = waiting();
        let said = world.forge(&[answer, &run]);
        has(&said.err, &[&format!("{}: write is {answer}", short(&run))]);
        assert!(!said.err.contains("run "), "the echo names the run: {said}");
        let told = said.out.find(" answered Q1 (").unwrap_or_else(|| panic!("{said}"));
        assert!(told < said.out.find(symbol).unwrap_or_else(|| panic!("{said}")), "{said}");
    }
}

#[test]
fn a_rewound_run_is_shown_on_the_screen_as_a_resumed_one_is() {
    let (world, run) = waiting();
    let mut person = Person::at(&world, &["rewind", short(&run), "write"]);
    person.until_sees("Esc later");
    person.press("q");
    assert_eq!(person.end(), WAITS, "{}", person.screen());
    assert_ne!(world.latest(), run);
}

#[test]
fn an_answer_that_is_not_offered_is_refused_with_those_that_are() {
    let (world, run) = waiting();
    let records = world.records(&run);
    let id = short(&run);
    has(
        &world.refused(&["retry"]),
        &[
            &format!("Q1 of {id} does not offer retry"),
            &format!("help: forge approve {id}"),
            &format!("or: forge revise {id} \"WORDS\""),
            &format!("or: forge reject {id}"),
        ],
    );
    has(
        &world.refused(&["approve", "--question", "Q7"]),
        &["does not ask Q7", "open questions: Q1"],
    );
    assert_eq!(world.records(&run), records);
}

#[test]
fn an_answer_goes_to_no_run_only_because_the_others_do_not_offer_it() {
    let (world, first) = waiting();
    let (_, reviewer) = CONTENT.rsplit_once("[[play]]").expect("there are two");
    world.scenario(&format!(
        "scenario = 1\n[[play]]\nrole = \"writer\"\nsay = [\"no key\"]\nexit = 3\nno_result = true\n\
         [[play]]{reviewer}"
    ));
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let second = world.latest();
    let records = [&first, &second].map(|run| world.records(run));
    let command = |answer: &str, run: &str| format!("forge {answer} {}", short(run));
    for (answer, offers, other) in [("approve", &first, &second), ("retry", &second, &first)] {
        let refused = world.refused(&[answer]);
        let what = format!("2 runs need you, and one offers {answer}; name it");
        has(&refused, &[&what, &command(answer, offers)]);
        assert!(!refused.contains(&command(answer, other)), "{refused}");
    }
    let refused = world.refused(&["reject"]);
    let both = [&second, &first].map(|run| command("reject", run));
    has(&refused, &["2 runs need you; name one", &both[0], &both[1]]);
    assert_eq!([&first, &second].map(|run| world.records(run)), records);
}

#[test]
fn an_answer_without_resume_starts_nothing() {
    let (world, run) = waiting();
    let said = world.ok(&["revise", "shorter", "--no-resume"]);
    has(&said, &["is sent back", &format!("forge resume {}", short(&run))]);
    assert_eq!(world.agents_started(&run), 2);
}

#[test]
fn several_questions_are_listed_and_one_is_picked_by_its_number() {
    let world = World::new();
    let asks = |name: &str| {
        format!(
            "[[stage]]\nname = \"{name}\"\nafter = []\ngates = [{{ human = \"Go on with {name}?\" }}]\n"
        )
    };
    world.flow("two", &(asks("a") + &asks("b")));
    assert_eq!(world.run("two", &[]).code, WAITS);
    let run = world.latest();
    let id = short(&run);
    has(
        &world.refused(&["approve"]),
        &[
            &format!("{id} has 2 open questions; name one"),
            &format!("help: forge approve {id} --question Q1"),
            &format!("or: forge approve {id} --question Q2"),
        ],
    );
    assert_eq!(world.forge(&["approve", "--question", "Q2"]).code, WAITS);
    assert_eq!(world.view(&run)["asked"][0]["question"], "Q1");
    assert_eq!(world.forge(&["reject", "--question", "Q1"]).code, FAILED);
    assert_eq!(world.view(&run)["standing"], "failed");
}

#[test]
fn at_a_terminal_one_of_several_runs_is_picked_with_the_arrows() {
    let (world, first) = waiting();
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let second = world.latest();
    let mut person = Person::at(&world, &["pause"]);
    person.until_sees("Which run?");
    has(&person.screen(), &["❯ 1", short(&second), short(&first)]);
    person.press("\x1b[B");
    person.until_sees("❯ 2");
    person.press("\r");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    assert_eq!(world.view(&first)["standing"], "paused");
    assert_eq!(world.view(&second)["standing"], "waiting");
    let mut person = Person::at(&world, &["abandon"]);
    person.until_sees("Which run?");
    person.press("q");
    assert_eq!(person.end(), 130, "{}", person.screen());
    assert!(!person.screen().contains("error:"), "{}", person.screen());
    assert_eq!(world.view(&second)["standing"], "waiting");
    for (answer, code, standing) in [("n\r", WAITS, "waiting"), ("y\r", DONE, "abandoned")] {
        let mut person = Person::at(&world, &["abandon", &second]);
        person.until_sees("Abandon it for good? It cannot be resumed");
        person.press(answer);
        assert_eq!(person.end(), code, "{}", person.screen());
        assert_eq!(world.view(&second)["standing"], standing);
    }
}

#[test]
fn cancel_stops_a_run_and_names_both_ways_on() {
    let world = World::new();
    let slow = crate::goes::UNTIL_GO;
    world.flow("slow", &format!("[[stage]]\nname = \"a\"\ncommand = \"{slow}\"\n"));
    let mut running = world.start(&["run", "--flow", "slow", "do it"]);
    running.until_says("a started");
    let run = world.latest();
    let id = short(&run);
    let said = world.ok(&["cancel"]);
    has(&said, &[&format!("forge resume {id}"), &format!("forge abandon {id}")]);
    assert_eq!(running.end().code, INTERRUPTED);
}

#[test]
fn names_from_other_programs_do_the_same() {
    let (world, run) = waiting();
    for (one, other) in [("ls", "status"), ("runs", "status"), ("list", "status"), ("logs", "log")]
    {
        assert_eq!(world.redact(&world.ok(&[one])), world.redact(&world.ok(&[other])), "{one}");
    }
    let all = world.ok(&["log", &run]);
    let last: Vec<&str> = all.lines().rev().take(2).collect();
    let tail = world.ok(&["logs", "-n", "2"]);
    assert_eq!(tail.lines().rev().collect::<Vec<&str>>(), last);
    has(&world.refused(&["undo"]), &["`forge undo` needs RUN", "help: forge undo RUN"]);
    let refused = world.refused(&["stauts", &run]);
    has(&refused, &["did you mean `status`?", &format!("help: forge status {run}")]);
}

#[test]
fn a_folder_can_be_named_and_less_can_be_said() {
    let (world, _) = waiting();
    let mut command = world.command(&["-C", "repo", "status", "--json"]);
    let said = finish(command.current_dir(world.repo.parent().unwrap()));
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["\"waiting\""]);
    has(&world.refused(&["-C", "nowhere", "status"]), &["nowhere", "help: forge -C DIR status"]);
    let mut command = world.command(&["status"]);
    let said = finish(command.env("LC_ALL", "C"));
    assert!(said.out.is_ascii(), "symbols are in the locale: {said}");
    let said = world.forge(&["run", "--flow", "draft", "-q", "do it"]);
    assert_eq!(said.code, WAITS, "{said}");
    assert!(!said.all().contains("write started"), "{said}");
    has(&said.out, &["Q1"]);
    let coloured = world.forge(&["--color", "always", "status", "nope"]);
    has(&coloured.err, &["\x1b[38;5;196merror:\x1b[0m"]);
    assert_ne!(coloured.code, FAILED);
}

#[test]
fn one_word_that_names_no_run_is_a_part_of_the_latest_one() {
    let (world, run) = waiting();
    assert_eq!(world.ok(&["show", "draft.md"]), world.ok(&["show", &run, "draft.md"]));
    assert_eq!(world.ok(&["show", "draft"]), world.ok(&["show", &run, "draft.md"]));
    assert_eq!(world.ok(&["brief", "write"]), world.ok(&["brief", &run, "write"]));
    has(&world.ok(&["brief", "write"]), &["--- write, writer"]);
    assert_eq!(world.ok(&["watch", "write"]), world.ok(&["watch", &run, "write"]));
    has(
        &world.refused(&["show", "nothing.md"]),
        &["`nothing.md` is not a run, nor a task or file of the latest one", "or: forge show "],
    );
    assert_eq!(world.ok(&["brief", &run]), world.ok(&["brief", "write"]), "it has one stage");
    has(&world.refused(&["edit"]), &["name the file of", "help: forge show"]);
    has(&world.refused(&["edit", "draft"]), &["needs a reason"]);
    let refused = world.refused(&["rewind"]);
    has(
        &refused,
        &[
            "name the stage or task to run again",
            &format!("help: forge rewind {} write", short(&run)),
        ],
    );
    assert_eq!(world.forge(&["rewind", "write"]).code, WAITS);
}

#[test]
fn a_setting_is_printed_as_a_program_needs_it_and_an_agent_is_chosen_for_the_user() {
    let world = World::new();
    world.write("forge.toml", "[limits]\nbudget = \"20\"\nat_once = 3\n");
    assert_eq!(world.ok(&["config", "get", "limits.budget"]).trim(), "20");
    assert_eq!(world.ok(&["config", "get", "limits.at_once"]).trim(), "3");
    has(&world.refused(&["config", "get", "limits.budgt"]), &["did you mean `limits.budget`?"]);
    let path = world.ok(&["config", "path"]);
    assert_eq!(path.trim(), world.repo.join("forge.toml").to_str().unwrap());
    has(&world.refused(&["config", "edit"]), &["no editor", "help: forge config set"]);
    has(&world.refused(&["agents", "use", "cluade"]), &["did you mean `claude`?"]);
    has(
        &world.refused(&["config", "set", "agent", "cluade", "--user"]),
        &["unknown agent `cluade`; did you mean `claude`?", "help: forge agents"],
    );
    has(&world.ok(&["agents", "use", "scripted"]), &["scripted is your agent now"]);
    assert_eq!(world.ok(&["config", "get", "agent"]).trim(), "scripted");
    has(&world.ok(&["config", "path", "--user"]), &["forge"]);
}

#[test]
fn without_a_command_a_terminal_lists_the_runs_and_takes_keys() {
    let (world, waits) = waiting();
    assert_eq!(world.run("draft", &["--auto"]).code, DONE);
    let done = world.latest();
    let mut person = Person::at(&world, &[]);
    person.until_sees("Your runs");
    let screen = person.screen();
    let order = [&waits, &done].map(|run| screen.find(short(run)).expect(run));
    assert!(order.is_sorted(), "what needs you comes first: {screen}");
    has(&screen, &["RUN   STATE", "do it", "$0.0", "a answer", "d diff", "m merge", "q leave"]);
    person.press("2");
    person.until_sees("artifacts");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    let mut person = Person::at(&world, &[]);
    person.until_sees("Your runs");
    person.press("d");
    person.until_sees("has no changes to show");
    person.press("m");
    person.until_sees("has no result to merge");
    person.press("?");
    person.until_sees("? does nothing here");
    person.press("q");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    let mut person = Person::at(&world, &[]);
    person.until_sees("Your runs");
    person.press("q");
    assert_eq!(person.end(), DONE, "{}", person.screen());
}

#[test]
fn without_a_command_and_without_a_terminal_the_runs_are_listed_if_there_is_a_repository() {
    let (world, _) = waiting();
    let said = world.forge::<&str>(&[]);
    assert_eq!((said.code, &said.out), (DONE, &world.ok(&["status"])), "{said}");
    let outside = finish(world.command::<&str>(&[]).current_dir(world.repo.parent().unwrap()));
    assert_eq!((outside.code, outside.out.as_str()), (2, ""), "{outside}");
    has(&outside.err, &["error: this folder is not in a git repository", "or: forge demo"]);
}

#[test]
fn a_model_can_be_named_for_one_run() {
    let world = World::new();
    world.scenario(CONTENT);
    let dry = world.ok(&["run", "do it", "--model", "small-1", "-n", "--json"]);
    has(&dry, &["small-1"]);
    has(&world.refused(&["run", "do it", "--model", ""]), &["--model"]);
}
