//! A sprint of eight tasks with dependencies and overlaps: the agent of one crashes, one never passes its review, and the driver is
//! killed again and again on the way.
//!
//! Not here: what must hold afterwards (`crash/promises.rs`), and crashes in which all processes die (`crash/efforts.rs`; for sprints,
//! the simulation of the driver).
//!
//! ```text
//! FORGE_SPRINT_CRASH_EVERY=1 cargo test -p forge --test faults crash::sprint      killed after each record
//! ```

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use rustix::process::Signal;
use serde_json::Value;

use super::{
    processes::signal,
    promises::{self, Fruit},
    world::{Driver, Script, World},
};

/// More kills than a sprint has records.
const KILLS_MAX: u32 = 600;
/// The exit code of a driver whose run waits for a person.
const WAITS: i32 = 3;

/// What makes a document as long as the gates want it.
const LONG: &str = "It says what is to be done, where, and how anybody can see that it is done. ";

/// Each task, the file that it changes, and the task that it waits for.
const TASKS: [(&str, &str, &str); 8] = [
    ("S1-T1", "src/one", ""),
    ("S1-T2", "src/two", ""),
    ("S1-T3", "src/three", "S1-T1"),
    ("S1-T4", "src/four", "S1-T3"),
    ("S1-T5", "src/both", ""),
    ("S1-T6", "src/both", ""),
    ("S1-T7", "src/never", ""),
    ("S1-T8", "src/after", "S1-T7"),
];

/// The task whose agent crashes once.
const CRASHES: &str = "S1-T2";
/// The task that a reviewer always sends back.
const NEVER: &str = "S1-T7";

static SPRINT: Script = Script {
    name: "sprint",
    flow: "sprint",
    files: &[
        ("README.md", "A sprint of words.\n"),
        ("check.sh", "echo 'ok 1 - it is green'\n"),
        ("src/main", "a program\n"),
        ("forge.toml", "[verify]\ncommands = [\"sh check.sh\"]\n"),
        (".gitignore", ".forge/work\n"),
    ],
    args: &["--auto", "--yes"],
    checkpoints: &[],
    landings: &[
        "proof",
        "record",
        "tasks.S1-T1/implement",
        "tasks.S1-T2/implement",
        "tasks.S1-T3/implement",
        "tasks.S1-T4/implement",
        "tasks.S1-T5/implement",
        "tasks.S1-T6/implement",
    ],
    proof: "src/four",
    time: Duration::from_secs(20),
    agent_blows_max: 0,
    course: states,
};

/// The states of all records.
fn states(world: &World, _run: &str) -> BTreeMap<String, Value> {
    let state = |row: &Value| {
        (row["id"].as_str().expect("a record has an id").to_owned(), row["status"].clone())
    };
    let rows = |kind: &str| world.json(&[kind, "list", "--json"]).as_array().unwrap().clone();
    rows("sprint").iter().chain(&rows("task")).map(state).collect()
}

fn scenario() -> String {
    let mut plays = "scenario = 1\n".to_owned();
    let implement = |task: &str| format!("tasks.{task}/implement");
    let _ = write!(
        plays,
        "[[play]]\nrole = \"engineer\"\nunit = \"{}\"\nattempt = 1\ncrash = \"kill\"\n\
         [[play]]\nrole = \"supervisor\"\nunit = \"{}\"\nartifacts = {{ \"CODE_REVIEW.md\" = \"no\\n\" }}\n\
         result = {{ summary = \"no\", verdict = \"revise\", findings = [{{ severity = \"major\", what = \"no\", path = \"src/never\", line = 1 }}] }}\n",
        implement(CRASHES),
        implement(NEVER)
    );
    let report = LONG.repeat(4);
    for (task, path, _) in TASKS {
        let _ = write!(
            plays,
            "[[play]]\nrole = \"engineer\"\nunit = \"{}\"\nappend = {{ \"{path}\" = \"a word\\n\" }}\n\
             artifacts = {{ \"PROGRESS.md\" = \"## Done\\n{report}\" }}\nresult = {{ summary = \"a word\", commit = \"Say a word\" }}\n",
            implement(task)
        );
    }
    plays + include_str!("../commands/pipeline.toml")
}

/// A world with the records of the sprint.
fn world() -> World {
    let world = World::with(&SPRINT, &[("scenario.toml", &scenario())]);
    let ok = |args: &[&str]| {
        let output = world.forge(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
    };
    ok(&["sprint", "new", "Words", "--id", "S1"]);
    for (task, path, after) in TASKS {
        let (writes, after) = (format!("writes={path}"), format!("dependencies={after}"));
        let mut args = vec!["task", "new", task, "sprintId=S1", &writes, "--id", task];
        if !after.ends_with('=') {
            args.push(&after);
        }
        ok(&args);
    }
    world
}

fn start(world: &World) -> Driver {
    let args = ["run", "S1", "--flow", "sprint", "--scenario", "scenario.toml", "--json"];
    world.drive(&[&args[..], SPRINT.args].concat())
}

/// Plays the sprint to its end. The driver is killed after every so many records, if a number is given. Returns the run, and how often
/// it was killed.
fn play(world: &World, every: Option<u32>) -> (String, u32) {
    let (mut driver, mut kills) = (start(world), 0);
    loop {
        let mut heard = 0;
        while every != Some(heard)
            && let Some(facts) = driver.hear()
        {
            // Each driver begins with its key, which brings the sprint no further.
            heard += u32::from(facts.iter().any(|fact| fact.get("ending_key_added").is_none()));
        }
        if every == Some(heard) {
            signal(driver.pid(), Signal::KILL);
            kills += 1;
            if kills == KILLS_MAX {
                let facts = world.facts(&world.standing().expect("it has begun").0);
                panic!("it does not come to an end: {:?}", &facts[facts.len() - 10..]);
            }
        }
        let code = driver.end().code();
        let (run, standing) = world.standing().expect("it has begun");
        match (code, standing.as_str()) {
            (None, "done") => {
                // It was killed before it wrote what the last record says.
                assert_eq!(world.resume(&run).end().code(), Some(0), "{}", world.complaints());
                return (run, kills);
            }
            (Some(_), "done") => return (run, kills),
            (Some(WAITS), _) => gives_up(world, &run),
            (None, _) => {}
            (code, standing) => {
                panic!("{standing}, and the driver ended with {code:?}: {}", world.complaints())
            }
        }
        driver = world.resume(&run);
    }
}

/// The only question is about the task that never passes.
fn gives_up(world: &World, run: &str) {
    let shown = world.json(&["status", run, "--json"]);
    let asked = shown["asked"].as_array().unwrap();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["unit"], format!("tasks.{NEVER}/implement"), "{asked:?}");
    let id = asked[0]["question"].as_str().unwrap();
    let said = world.forge(&["answer", run, id, "reject"]);
    assert!(said.status.success(), "{said:?}");
}

#[test]
fn a_sprint_whose_driver_is_killed_after_records_is_the_one_that_was_not_disturbed() {
    let every = std::env::var("FORGE_SPRINT_CRASH_EVERY").ok();
    let every = every.map_or(25, |text| text.parse().expect("a number of records"));
    let undisturbed = world();
    let (run, _) = play(&undisturbed, None);
    let expected = Fruit::of(&undisturbed, &run);
    let states = states(&undisturbed, &run);
    assert_eq!(states["S1-T4"], "committed", "{states:?}");
    assert_eq!(states[NEVER], "escalated", "{states:?}");
    promises::hold(&undisturbed, &run, &expected);
    let world = world();
    let (run, kills) = play(&world, Some(every));
    eprintln!("a sprint of {} tasks: killed {kills} times", TASKS.len());
    promises::hold(&world, &run, &expected);
}
