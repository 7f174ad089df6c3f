//! Whole runs of the driver on a machine in memory, with everything that can go wrong.
//!
//! `SIMULATION_RUNS` and `SIMULATION_SEED` say how many and which; `cargo xtask test` sets them. A case
//! that breaks a promise is made smaller, and printed so that it can be repeated.

#![expect(
    clippy::wildcard_enum_match_arm,
    clippy::too_many_lines,
    clippy::format_collect,
    clippy::assigning_clones,
    clippy::single_match_else,
    reason = "a model of the world is read from top to bottom, and says only what it needs"
)]

mod simulation {
    pub(crate) mod chance;
    pub(crate) mod disk;
    pub(crate) mod executor;
    pub(crate) mod faults;
    pub(crate) mod history;
    pub(crate) mod machine;
    pub(crate) mod promises;
    pub(crate) mod world;
}

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use forge_core::view::Standing;
use forge_driver::plan::workspace_worker::{OperationAnswer, write_answer};
use forge_store::{
    blobs::{BlobId, Blobs},
    disk::{Disk as _, SyncPoint},
};
use forge_workspace::{MoveRunHead, Operation, WorkspaceError};
use simulation::{
    chance::Chance,
    disk::{DiskFault, SimulatedDisk},
    faults::Fault,
    world::{Case, Flow, Power, Simulated, Template, simulate},
};

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The case of a number: most runs write a document, a fifth are features with three tasks. Each
/// kind of fault comes first in its turn, and up to three others by chance.
fn case(seed: u64, number: u64) -> Case {
    let flow = match number % 20 {
        0..13 => Flow::Draft,
        13..16 => Flow::Change,
        16..19 => Flow::Feature,
        // A sprint takes as long as ten others.
        _ if number % 200 == 19 => Flow::Sprint,
        _ => Flow::Feature,
    };
    let mut known = Fault::EVERYWHERE.to_vec();
    match flow {
        Flow::Draft | Flow::Commands => {}
        Flow::Change | Flow::Feature | Flow::Sprint => known.extend(Fault::WITH_CODE),
    }
    let mut chance = Chance::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
    let at = |place: u64| known[usize::try_from(place).expect("a place") % known.len()];
    let mut faults = vec![at(number / 20)];
    for _ in 0..chance.below(4) {
        faults.push(at(chance.next() % 1_000));
    }
    if number.is_multiple_of(50) {
        faults.clear();
    }
    Case::new(chance.next(), flow, &faults)
}

/// The same case with less that goes wrong, as long as it still breaks a promise.
fn shrunk(template: &Template, case: &Case) -> (Case, Simulated) {
    let mut smallest = case.clone();
    let mut place = 0;
    while place < smallest.faults.len() {
        let mut smaller = smallest.clone();
        smaller.faults.remove(place);
        if simulate(template, &smaller).broken.is_empty() {
            place += 1;
        } else {
            smallest = smaller;
        }
    }
    let simulated = simulate(template, &smallest);
    (smallest, simulated)
}

/// Simulates all cases on two threads. What they came to, and the promises that broke.
fn simulate_all(cases: &[Case]) -> (Vec<(Flow, Simulated)>, Vec<String>) {
    let next = AtomicUsize::new(0);
    let simulate_some = || {
        let templates = Flow::ALL.map(Template::new);
        let (mut all, mut broken) = (Vec::new(), Vec::new());
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let template = &templates[case.flow as usize];
            let simulated = simulate(template, case);
            if !simulated.broken.is_empty() && broken.len() < 5 {
                let (smallest, simulated) = shrunk(template, case);
                broken.push(format!("{smallest:?}\n  {}", simulated.broken.join("\n  ")));
            }
            all.push((case.flow, simulated));
        }
        (all, broken)
    };
    std::thread::scope(|scope| {
        let threads = [(), ()].map(|()| scope.spawn(simulate_some));
        let (mut all, mut broken) = (Vec::new(), Vec::new());
        for thread in threads {
            let (simulated, failed) = thread.join().expect("a simulated run does not panic");
            all.extend(simulated);
            broken.extend(failed);
        }
        (all, broken)
    })
}

#[test]
fn a_run_in_which_nothing_goes_wrong_is_done() {
    for flow in Flow::ALL {
        let simulated = simulate(&Template::new(flow), &Case::new(1, flow, &[]));
        assert_eq!(simulated.broken, [] as [String; 0], "{flow:?}");
        assert_eq!(simulated.standing, Standing::Done, "{flow:?}: {simulated:?}");
    }
}

#[test]
fn the_time_of_a_verification_is_that_of_its_set_up_too() {
    let flow = Flow::Change;
    let simulated = simulate(&Template::without_setup_inputs(flow), &Case::new(1, flow, &[]));
    // A checkout that is opened, set up and put back, and one check.
    let longest = simulated.verified_in_ms.iter().max().copied().unwrap_or_default();
    assert!(longest > 200, "{:?}", simulated.verified_in_ms);
}

#[test]
fn the_set_up_is_run_once_in_a_run_if_it_is_known_what_it_depends_on() {
    let case = Case::new(1, Flow::Change, &[]);
    assert_eq!(simulate(&Template::new(Flow::Change), &case).n_setups, 1);
    let everywhere = simulate(&Template::without_setup_inputs(Flow::Change), &case);
    assert!(everywhere.n_setups > 3, "{everywhere:?}");
}

#[test]
fn a_check_that_only_lacks_a_variable_of_the_person_is_no_agents_fault_and_names_it() {
    // Set by what runs the tests.
    let template = Template::with_check(Flow::Change, "needs CARGO_MANIFEST_DIR");
    let simulated = simulate(&template, &Case::new(1, Flow::Change, &[]));
    assert_eq!(simulated.broken, [] as [String; 0]);
    let what = simulated.blocked.first().expect("a person is asked");
    assert!(what.contains("needs $CARGO_MANIFEST_DIR of your environment"), "{what}");
    assert!(what.contains("forge config set verify.pass '[\"CARGO_MANIFEST_DIR\"]'"), "{what}");
}

#[test]
fn work_on_checkouts_that_keeps_failing_stops_drivers_and_costs_no_call() {
    let faults = [Fault::JobFails; 60];
    let simulated = simulate(&Template::new(Flow::Change), &Case::new(1, Flow::Change, &faults));
    assert_eq!(simulated.broken, [] as [String; 0]);
    assert_eq!(simulated.standing, Standing::Done, "{simulated:?}");
}

#[test]
fn a_try_that_a_loss_of_power_forgot_does_not_open_a_checkout_again() {
    // Without the first try, which its keeper lost, the second one has to be known for what it was.
    let faults =
        [Fault::JobKeeperDies, Fault::KeeperDiesEarly, Fault::CrashBeforeWrite, Fault::BaseMoves];
    let case = Case::new(11_348_531_593_448_710_759, Flow::Change, &faults);
    let simulated = simulate(&Template::new(Flow::Change), &case);
    assert_eq!(simulated.broken, [] as [String; 0]);
}

#[test]
fn no_fault_breaks_a_promise_in_any_flow() {
    let began = Instant::now();
    let (runs, seed) = (number("SIMULATION_RUNS", 1_000), number("SIMULATION_SEED", 1));
    let cases: Vec<Case> = (0..runs).map(|number| case(seed, number)).collect();
    let (all, broken) = simulate_all(&cases);
    let mut table: BTreeMap<Fault, [u64; 4]> = BTreeMap::new();
    let mut stands: BTreeMap<&str, u64> = BTreeMap::new();
    for (flow, simulated) in &all {
        for fault in &simulated.happened {
            table.entry(*fault).or_default()[*flow as usize] += 1;
        }
        *stands.entry(simulated.standing.as_str()).or_default() += 1;
    }
    let n_records: u64 = all.iter().map(|(_, simulated)| simulated.n_records).sum();
    println!(
        "simulation: seed {seed}, {runs} runs, {n_records} records, {stands:?}, {:.1} s",
        began.elapsed().as_secs_f64()
    );
    for (fault, flows) in &table {
        println!(
            "{:>18} draft {:>5} change {:>5} feature {:>5} sprint {:>5}",
            format!("{fault:?}"),
            flows[0],
            flows[1],
            flows[2],
            flows[3]
        );
    }
    assert!(broken.is_empty(), "seed {seed}\n{}", broken.join("\n"));
    for fault in Fault::EVERYWHERE {
        assert!(
            table.get(&fault).is_some_and(|flows| !flows[..3].contains(&0)),
            "{fault:?} never happened in a flow"
        );
    }
    for fault in Fault::WITH_CODE {
        assert!(
            table.get(&fault).is_some_and(|flows| !flows[1..3].contains(&0)),
            "{fault:?} never happened in a flow"
        );
    }
}

#[test]
fn commands_that_only_read_break_no_promise_whatever_happens_to_one_of_them() {
    let seed = number("SIMULATION_SEED", 1);
    let seeds = (0..12).map(|n| seed.wrapping_mul(1_000).wrapping_add(n));
    let cases: Vec<Case> = seeds
        .flat_map(|seed| Fault::EVERYWHERE.map(|fault| Case::new(seed, Flow::Commands, &[fault])))
        .collect();
    let (all, broken) = simulate_all(&cases);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    let n_opened = all.iter().filter(|(_, simulated)| simulated.n_opened < 3).count();
    assert!(n_opened > 0, "a checkout that nobody has touched is opened again");
}

#[test]
fn a_crash_after_any_write_breaks_no_promise_with_the_power_or_without() {
    let every = number("SIMULATION_WRITES", 7);
    let seed = number("SIMULATION_SEED", 1);
    let mut cases = Vec::new();
    for flow in Flow::ALL {
        let n_writes = simulate(&Template::new(flow), &Case::new(1, flow, &[])).n_writes;
        let every = if flow == Flow::Sprint { every * every.min(8) } else { every };
        for write in (1..=n_writes).filter(|write| (write + seed).is_multiple_of(every)) {
            for (fault, power) in
                [(DiskFault::CrashAfter, Power::Goes), (DiskFault::CrashBefore, Power::Stays)]
            {
                cases.push(Case { writes: vec![(write, fault)], power, ..Case::new(1, flow, &[]) });
            }
        }
    }
    let (all, broken) = simulate_all(&cases);
    println!("crashes: {} runs", all.len());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Whether some loss of power breaks a promise without this sync.
fn is_missed(point: SyncPoint) -> bool {
    let flow = if point == SyncPoint::Record { Flow::Draft } else { Flow::Feature };
    let template = Template::new(flow);
    let n_writes = simulate(&template, &Case::new(1, flow, &[])).n_writes;
    (1..=n_writes).rev().any(|write| {
        let (writes, power) = (vec![(write, DiskFault::CrashAfter)], Power::Goes);
        let case = Case { writes, power, without: Some(point), ..Case::new(1, flow, &[]) };
        !simulate(&template, &case).broken.is_empty()
    })
}

#[test]
fn a_build_without_any_one_sync_is_caught() {
    for point in SyncPoint::ALL {
        let is_caught = match point {
            SyncPoint::Record
            | SyncPoint::DeliveryText
            | SyncPoint::DeliveryRecord
            | SyncPoint::DeliveryName => is_missed(point),
            SyncPoint::BlobFolder
            | SyncPoint::BlobContent
            | SyncPoint::BlobName
            | SyncPoint::BlobFound => blobs_are_lost_without(Some(point)),
            SyncPoint::OperationResult => answer_after_power_loss(Some(point)).is_none(),
            // The order of these syncs is proved beside them, in `store/src/journal`.
            SyncPoint::DamageMark | SyncPoint::Database | SyncPoint::Salvaged => true,
        };
        assert!(is_caught, "without {point:?} nothing breaks");
    }
    assert!(!blobs_are_lost_without(None));
    assert!(answer_after_power_loss(None).is_some());
}

/// Whether a blob that was added can be lost: one of two in the same folder, or one that a process found
/// which another one had added and not synced.
fn blobs_are_lost_without(point: Option<SyncPoint>) -> bool {
    let texts: Vec<Vec<u8>> = (0..2_000_u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let folder = |text: &[u8]| BlobId::from_content(text).as_str()[..2].to_owned();
    let pair: Vec<&Vec<u8>> =
        texts.iter().filter(|text| folder(text) == folder(&texts[0])).take(2).collect();
    (1..40).any(|write| {
        let disk = Arc::new(SimulatedDisk::default());
        if let Some(point) = point {
            disk.ignore(point);
        }
        disk.be_strict();
        disk.write_synced("/git/HEAD".as_ref(), b"");
        disk.look(|| disk.create_folder("/git/forge".as_ref())).expect("a folder");
        disk.sync_names("/git".as_ref());
        disk.fail_at(write, DiskFault::CrashBefore);
        let dir = Path::new("/git/forge");
        let mut added = Vec::new();
        for _ in 0..2 {
            // A process may die at any write; the next one adds the same again.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let blobs = Blobs::open_on(disk.clone(), dir).expect("a disk");
                for text in &pair {
                    added.push(blobs.add(text).expect("room"));
                }
            }));
        }
        (0..4).any(|seed| {
            disk.lose_power(&mut Chance::new(seed));
            let blobs = Blobs::open_on(disk.clone(), dir).expect("a disk");
            added.iter().any(|id| blobs.get(id).is_err())
        })
    })
}

/// What is left of the answer of an operation after a loss of power.
fn answer_after_power_loss(without: Option<SyncPoint>) -> Option<Vec<u8>> {
    let disk = SimulatedDisk::default();
    if let Some(point) = without {
        disk.ignore(point);
    }
    disk.write_synced("/f/attempt.json".as_ref(), b"");
    let order = Operation::Move(MoveRunHead {
        common_dir: "/r".into(),
        name: "refs/forge/x".into(),
        from: None,
        to: "a".into(),
        branch: None,
    });
    let failure = WorkspaceError::new("w", "n");
    write_answer(&disk, "/f/made.json".as_ref(), &OperationAnswer::new(order, Err(failure)))
        .expect("room");
    disk.sync_names("/f".as_ref());
    disk.lose_power(&mut Chance::new(4));
    disk.read("/f/made.json".as_ref()).ok().filter(|bytes| !bytes.is_empty())
}
