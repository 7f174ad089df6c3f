//! Kills everybody after and within each step of one landing: driver, keepers, agents, and who works
//! on checkouts.
//!
//! A step has begun when its claim is there, and ended when its ending is. What a blow falls on is
//! done again or found, and what ended before it is not.

use std::{sync::Mutex, thread};

use rustix::process::Signal;

use super::{
    cases::Sizes,
    processes::{left_over, signal},
    promises::{self, Fruit},
    scripts::LANDS,
    world::{World, until},
};

/// How many worlds there are at a time.
const AT_ONCE: usize = 2;
/// How often a run may be taken up again.
const RESUMES_MAX: u32 = 8;

/// When the blow falls.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// So many steps have begun.
    Begun(usize),
    /// So many steps have ended.
    Ended(usize),
}

impl Moment {
    fn has_come(self, world: &World) -> bool {
        match self {
            Self::Begun(n) => world.count("claim") >= n,
            Self::Ended(n) => world.count("ending.json") >= n,
        }
    }
}

/// Plays once without a blow, and then for some of the beginnings and ends of all steps, or for all.
pub(crate) fn play(sizes: &Sizes) {
    let world = World::new(&LANDS);
    assert_eq!(world.run().end().code(), Some(0), "{}", world.complaints());
    let run = world.standing().expect("it has begun").0;
    let expected = Fruit::of(&world, &run);
    let tree = landed_tree(&world, &run);
    let steps = world.count("ending.json");
    assert!(steps >= 10, "every gate has steps: there are {steps} endings");
    let moments: Vec<Moment> =
        (1..=steps).flat_map(|n| [Moment::Begun(n), Moment::Ended(n)]).collect();
    let next = Mutex::new(sizes.sample(n_moments(), moments.len()).map(|n| moments[n - 1]));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(moment) = { next.lock().unwrap().next() } {
                    let world = World::new(&LANDS);
                    killed_at(&world, moment);
                    let run = resumed(&world, moment);
                    assert_eq!(landed_tree(&world, &run), tree, "killed at {moment:?}");
                    promises::hold(&world, &run, &expected);
                }
            });
        }
    });
}

/// How many moments are tried, by `FORGE_CRASH_STEPS`. Nothing means all.
fn n_moments() -> Option<usize> {
    let text = std::env::var("FORGE_CRASH_STEPS").ok().filter(|text| text != "all")?;
    Some(text.parse().expect("FORGE_CRASH_STEPS is a number or `all`"))
}

/// Lets a run go on until the moment has come, and kills everybody.
fn killed_at(world: &World, moment: Moment) {
    let mut driver = world.run();
    until("the moment", || moment.has_come(world).then_some(()));
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
fn resumed(world: &World, moment: Moment) -> String {
    for _ in 0..RESUMES_MAX {
        let (run, standing) = world.standing().expect("a step has begun, so the run has");
        if standing == "done" {
            world.json(&["status", &run, "--json"]);
            return run;
        }
        let ended = world.resume(&run).end();
        assert_eq!(ended.code(), Some(0), "killed at {moment:?}: {}", world.complaints());
    }
    panic!("the run is never done, killed at {moment:?}");
}

fn landed_tree(world: &World, run: &str) -> String {
    world.git(&["rev-parse", &format!("forge/{run}^{{tree}}")])
}
