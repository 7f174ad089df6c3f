//! More than one person, and more than one process: answers from elsewhere while the run is driven, and two
//! answers at the same moment.

use super::{
    project::{Project, TWO_TASKS, at, task_review},
    world::{DONE, FAILED, Running, Said, WRONG, has},
};

/// The first task needs a person; the second one works until it is refused to go on.
fn one_asks_and_one_works() -> Project {
    let works = "[[play]]\nrole = \"implementer\"\nunit = \"build.T2/implement\"\n\
                 run = \"while [ ! -e $HOME/go ]; do sleep 0.02; done\"\n\
                 files = { \"src/part\" = \"goodbye\\n\" }\nartifacts = { \"impl-T2.md\" = \"It parts.\\n\" }\n\
                 result = { summary = \"it parts\", commit = \"Part\" }\n";
    let fails = format!(
        "{}{}",
        at(1, &task_review("revise", &["major"])),
        at(2, &task_review("revise", &["major"]))
    );
    Project::new(&format!("{TWO_TASKS}{works}{fails}"))
}

/// A run that is driven while its first question is open.
fn driven(project: &Project) -> (Running, String) {
    let mut running = project.world.start(&Project::words("S", &["--auto"]));
    running.until_says("Q1 asks about T1");
    project.world.until_agents_started(&project.world.latest(), 1);
    (running, project.world.latest())
}

#[test]
fn a_second_process_answers_while_the_run_is_driven_and_the_driver_goes_on_at_once() {
    let project = one_asks_and_one_works();
    let world = &project.world;
    let (mut running, run) = driven(&project);
    // What is wrong is refused there as well, and disturbs nobody.
    for (wrong, why) in [
        (&["Q2", "approve"][..], "Q2"),
        (&["Q1", "revise"], "words"),
        (&["Q1", "retry"], "retry"),
        (&["Q1", "waive", "review", "why not"], "override"),
    ] {
        has(&world.refused(&[&["answer", &run], wrong].concat()), &["error: ", why, "help: "]);
    }
    let said = world.ok(&["answer", &run, "Q1", "revise", "say it louder"]);
    has(&said, &["Q1 is answered, and the run continues"]);
    running.until_says("ada answered Q1");
    running.until_says("T1 (attempt 3) started");
    has(&world.refused(&["answer", &run, "Q1", "approve"]), &["already answered"]);
    assert!(!running.has_ended(), "the second task still works");
    world.go();
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["T1 merged as", "T2 merged as"]);
}

#[test]
fn who_gives_up_from_elsewhere_fails_the_one_task_and_the_other_still_lands() {
    let project = one_asks_and_one_works();
    let (mut running, run) = driven(&project);
    project.world.ok(&["answer", &run, "Q1", "give-up", "not worth it"]);
    running.until_says("T1 failed");
    project.world.go();
    let said = running.end();
    assert_eq!(said.code, FAILED, "{said}");
    has(&said.out, &["T2 merged as", "rejected by ada: not worth it"]);
}

/// Two people answer at the same moment.
fn at_once(project: &Project, run: &str) -> Vec<Said> {
    let answers = [["approve", "it is good"], ["revise", "it is not good"]];
    let both = answers.map(|[choice, words]| {
        Running::of(&mut project.world.command(&["answer", run, "Q1", choice, words]))
    });
    both.into_iter().map(Running::end).collect()
}

/// One was taken, and the other one was refused.
fn one_wins(project: &Project, run: &str, both: &[Said]) {
    let mut codes: Vec<i32> = both.iter().map(|said| said.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [DONE, WRONG], "{both:#?}");
    let refused = both.iter().find(|said| said.code == WRONG).unwrap();
    has(&refused.err, &["error: ", "Q1", "already answered", "help: "]);
    let facts = project.world.facts(run);
    let answered: Vec<_> = facts.iter().filter_map(|fact| fact.get("answered")).collect();
    assert_eq!(answered.len(), 1, "{answered:#?}");
    let wins = if both[0].code == DONE { "it is good" } else { "it is not good" };
    assert_eq!(answered[0]["words"], wins);
}

#[test]
fn of_two_people_who_answer_at_once_one_wins_and_the_other_is_told() {
    let project = Project::new("");
    let left = project.asks("M", &[]);
    let both = at_once(&project, &left.run);
    one_wins(&project, &left.run, &both);
    // And while it is driven.
    let project = one_asks_and_one_works();
    let (running, run) = driven(&project);
    let both = at_once(&project, &run);
    one_wins(&project, &run, &both);
    project.world.go();
    assert_eq!(running.end().code, DONE);
}
