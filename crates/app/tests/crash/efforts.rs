//! Kills real processes of real runs of the shipped flow `feature`, in all three efforts, at every
//! record, at random moments, and within its delivery and its last commit, and asks drivers to end.
//!
//! Read `feature.rs` (what is run), `promises.rs` and `delivered.rs` (what must hold
//! afterwards), `cases.rs` (when whom to kill),
//! `deliveries.rs` (within the end of a run), `interrupts.rs` (SIGINT and SIGTERM), then the tests below.
//!
//! ```text
//! FORGE_FEATURE_CRASH_KILLS=150 FORGE_FEATURE_CRASH_RECORDS=all cargo test -p forge --test faults crash::efforts
//! FORGE_CRASH_SEED=7                 other random moments
//! FORGE_CRASH_CASE="L random 12"     one case alone, as a failure names it; `S record 7`, `M agent 3`, `L INT 9`
//! ```

use super::{
    RANDOM_CASES_MAX,
    cases::{self, Case, Sizes},
    deliveries,
    feature::EFFORTS,
    interrupts,
};

#[test]
fn a_kill_after_any_record_of_any_effort_loses_nothing_and_redoes_nothing() {
    let sizes = sizes();
    let cases = EFFORTS.iter().flat_map(|effort| sizes.records_of(effort));
    cases::play("feature records", &sizes, u32::MAX, cases);
}

#[test]
fn a_kill_while_any_agent_of_any_effort_is_at_work_loses_nothing_else() {
    let sizes = sizes();
    let cases = EFFORTS.iter().flat_map(|effort| sizes.agents_of(effort));
    cases::play("feature agents", &sizes, u32::MAX, cases);
}

#[test]
fn kills_at_random_moments_of_any_effort_lose_nothing_and_redo_nothing() {
    let sizes = sizes();
    let cases = (0..RANDOM_CASES_MAX).map(|number| {
        let effort = &EFFORTS[usize::try_from(number).unwrap() % EFFORTS.len()];
        Case::at_random(effort, sizes.seed, number)
    });
    cases::play("feature random", &sizes, sizes.n_kills, cases);
}

#[test]
fn a_driver_that_is_asked_to_end_after_any_record_ends_by_its_rules_and_loses_nothing() {
    interrupts::play(&sizes());
}

#[test]
fn a_kill_between_any_two_steps_of_the_end_of_a_run_delivers_and_records_once() {
    deliveries::play_moments(&sizes());
}

#[test]
fn a_delivery_that_was_left_half_done_is_done_once() {
    deliveries::play_half_done(&sizes());
}

#[test]
fn the_branch_follows_a_run_whose_driver_died_right_after_its_last_record() {
    deliveries::play_result_behind();
}

fn sizes() -> Sizes {
    Sizes::from_environment("FORGE_FEATURE_CRASH", 3)
}
