//! Kills everybody after each step of one landing: driver, keepers, agents, and who works on checkouts.
//!
//! A step has ended when its ending is there. The next one may have begun when the blow falls: what
//! it did is done again or found, and what ended before it is not.

use std::{fs, path::Path, sync::Mutex, thread};

use rustix::process::Signal;

use crate::{
    processes::{left_over, signal},
    promises::{self, Fruit},
    world::{World, until},
};

/// How many worlds there are at a time.
const AT_ONCE: usize = 2;
/// How often a run may be taken up again.
const RESUMES_MAX: u32 = 8;

/// Plays once without a blow, and then once for each step.
pub(crate) fn play() {
    let world = World::lands();
    assert_eq!(world.run().end().code(), Some(0), "{}", world.complaints());
    let run = world.standing().expect("it has begun").0;
    let expected = Fruit::of(&world, &run);
    let tree = landed_tree(&world, &run);
    let steps = endings(&world.home().join("attempts"));
    assert!(steps >= 10, "every gate has steps: there are {steps} endings");
    let next = Mutex::new(1..=steps);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(step) = { next.lock().unwrap().next() } {
                    let world = World::lands();
                    killed_after(&world, step);
                    let run = resumed(&world, step);
                    assert_eq!(landed_tree(&world, &run), tree, "after step {step}");
                    promises::hold(&world, &run, &expected);
                }
            });
        }
    });
}

/// Lets a run go on until so many steps have ended, and kills everybody.
fn killed_after(world: &World, step: usize) {
    let mut driver = world.run();
    let attempts = world.home().join("attempts");
    until("the step ends", || (endings(&attempts) >= step).then_some(()));
    signal(driver.pid(), Signal::KILL);
    driver.end();
    // Who is started by somebody who is about to die is found at the next look.
    until("all are dead", || {
        let left = left_over(&world.folder());
        for (pid, _) in &left {
            signal(*pid, Signal::KILL);
        }
        left.is_empty().then_some(())
    });
}

/// Goes on until the run is done.
fn resumed(world: &World, step: usize) -> String {
    for _ in 0..RESUMES_MAX {
        let (run, standing) = world.standing().expect("a step has ended, so the run has begun");
        if standing == "done" {
            world.json(&["status", &run, "--json"]);
            return run;
        }
        let ended = world.resume(&run).end();
        assert_eq!(ended.code(), Some(0), "after step {step}: {}", world.complaints());
    }
    panic!("the run is never done after step {step}");
}

fn landed_tree(world: &World, run: &str) -> String {
    world.git(&["rev-parse", &format!("forge/{run}^{{tree}}")])
}

/// How many steps of all calls have ended, the calls themselves among them.
fn endings(attempts: &Path) -> usize {
    let below = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let calls = below(attempts).into_iter().flat_map(|run| below(&run));
    let folders = calls.flat_map(|call| [vec![call.clone()], below(&call.join("steps"))].concat());
    folders.filter(|folder| folder.join("ending.json").exists()).count()
}
