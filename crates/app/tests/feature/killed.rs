//! A driver that is killed around the deliveries: whoever goes on makes nothing twice.

use rustix::process::Signal;

use super::project::{Project, REQUEST};
use super::world::{WAITS, WRONG};

/// Sentences after which the driver is killed, one driver after the other.
const MOMENTS: [&str; 6] = [
    "verify done",
    "deliver started",
    "deliver finished",
    "deliver done",
    "summary done",
    "summary of the run committed as",
];

#[test]
fn however_often_the_driver_is_killed_there_is_one_record_and_one_last_commit() {
    let project = Project::new("");
    let world = &project.world;
    world.commit();
    world.approve("feature");
    let args = ["run", "--flow", "feature", "--param", "effort=S", "--auto", REQUEST];
    let mut driver = Some(world.start(&args));
    for moment in MOMENTS {
        // It may have come further than it was line to before the blow fell.
        if driver.is_none() && world.ok(&["log", &world.latest(), "-v"]).contains(moment) {
            continue;
        }
        let mut going = driver.take().unwrap_or_else(|| world.start(&["resume", &world.latest()]));
        going.until_says(moment);
        going.signal(Signal::KILL);
        let _killed = going.end();
    }
    let run = world.latest();
    let said = world.forge(&["resume", &run]);
    let view = world.view(&run);
    assert_eq!(view["standing"], "done", "{said}");
    assert_eq!(project.deliveries(&run).len(), 1);
    let facts = world.facts(&run);
    let n = |name: &str| facts.iter().filter(|fact| !fact[name].is_null()).count();
    assert_eq!((n("effect_intended"), n("effect_done")), (1, 1));
    let branch = Project::branch(&run);
    let subjects = world.git(&["log", "--format=%s", &format!("main..{branch}")]);
    let of_the_record = format!("Add the record of run {}", run.rsplit('-').next().unwrap());
    assert_eq!(subjects.lines().collect::<Vec<_>>(), [of_the_record.as_str(), "Part", "Greet"]);
    let last = world.git(&["diff", "--name-only", &format!("{branch}~1"), &branch]);
    assert!(last.lines().all(|path| path.starts_with(".forge/runs/")), "{last}");
}

#[test]
fn a_record_that_was_made_before_a_failure_is_found_and_not_made_again() {
    let project = Project::new("");
    let world = &project.world;
    assert_eq!(project.run("S", &[]).code, WAITS);
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "approve"]);
    // Git cannot write a ref where there is a folder of refs, so that it fails in the middle.
    let in_the_way = format!("refs/forge/{run}/delivered/in-the-way");
    world.git(&["update-ref", &in_the_way, "main"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, WRONG, "{said}");
    let made = project.deliveries(&run);
    assert_eq!(made.len(), 1);
    assert!(world.facts(&run).iter().all(|fact| fact["effect_done"].is_null()));
    world.git(&["update-ref", "-d", &in_the_way]);
    world.ok(&["resume", &run]);
    assert_eq!(project.deliveries(&run), made);
    let delivered = world.git(&["rev-parse", &format!("refs/forge/{run}/delivered")]);
    assert_eq!(made[0]["commit"], delivered.as_str());
}

#[test]
fn who_is_stopped_before_its_checkout_is_open_takes_nothing_away_that_landed() {
    let project = Project::new("");
    let world = &project.world;
    world.commit();
    world.approve("feature");
    let args = ["run", "--flow", "feature", "--param", "effort=M", "--auto", REQUEST];
    let mut driver = world.start(&args);
    // The review of the whole: a design has one of the same number.
    driver.until_says("build done");
    driver.until_says("review started");
    driver.signal(Signal::INT);
    let _stopped = driver.end();
    let run = world.latest();
    let said = world.forge(&["resume", &run]);
    assert_eq!(world.view(&run)["standing"], "done", "{said}");
    assert!(!said.all().contains("changed and not taken in"), "{said}");
    let changed =
        world.git(&["diff", "--name-status", "main", &Project::branch(&run), "--", "src"]);
    assert_eq!(changed, "A\tsrc/greet\nA\tsrc/part");
    assert_eq!(project.deliveries(&run).len(), 1);
}
