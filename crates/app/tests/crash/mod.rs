//! Kills real processes of real runs, at every record and at random moments, and then looks
//! whether anything was lost, redone or left over. The promise is the first one of the product.
//!
//! Read `world.rs` and `scripts.rs` (what is run), `promises.rs` (what must hold afterwards),
//! `processes.rs` (whom to kill), `cases.rs` (when), `steps.rs` (between any two
//! steps of one landing), then the tests in `own_flows.rs`.
//! `efforts.rs`: the same for the shipped flow `feature`. `sprint.rs`: a sprint of eight tasks.
//!
//! ```text
//! FORGE_CRASH_KILLS=200 FORGE_CRASH_RECORDS=all FORGE_CRASH_STEPS=all cargo test -p forge --test faults crash::own_flows
//! FORGE_CRASH_SEED=7                 other random moments
//! FORGE_CRASH_CASE="random 12"       one case alone, as a failure names it; `record 7`, `agent 3`
//! ```

mod cases;
mod delivered;
mod deliveries;
mod efforts;
mod feature;
mod interrupts;
mod own_flows;
mod processes;
mod promises;
mod scripts;
mod sprint;
mod steps;
mod world;

/// More cases than anybody waits for.
const RANDOM_CASES_MAX: u64 = 100_000;
