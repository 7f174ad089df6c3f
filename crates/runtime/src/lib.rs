//! The driver: the only place where things happen.
//!
//! Read in this order:
//!
//! 1. [`drive`]: the loop. Everything else serves it.
//! 2. [`start`] and [`doors`]: what the ways in can do: start, send a command, read.
//! 3. `forge_store`: what is kept, and how it is known to be whole.
//! 4. `calls`: makes what is under way equal to what is wanted, through keepers.
//! 5. `work`, `gates`, [`deliver`] and `steps`: what a call goes through, step by step, each under a keeper.
//! 6. `place`, `prepare`, `brief` and `intake`: where it works, what it is given, and what becomes
//!    of what it left.
//! 7. [`catalog`], [`settings`], [`trust`], [`home`]: flows and roles, what is set and by whom, what
//!    a person lets a repository run, and the places.
//! 8. [`projection`] and `refs`: files and refs that show the journal.
//!
//! Invariant: nothing is published or acted on before its fact is durable.
//! Invariant: one writer per run, by a lock of the operating system and an epoch.
//! Invariant: what agents and the world do is an outcome; an `Err` here is trouble of ours or
//! something that the user can mend.

mod approvals;
pub mod attended;
mod brief;
mod calls;
mod claims;
pub mod deliver;
pub mod demo;
pub mod doctor;
pub mod doors;
pub mod drive;
mod error;
pub mod follow;
mod gates;
pub mod home;
pub mod init;
mod intake;
pub mod mend;
pub mod notify;
pub mod older;
pub mod onto;
mod ours;
mod place;
mod prepare;
pub mod probe;
pub mod projection;
mod refs;
mod refused;
pub mod roster;
mod secrets;
pub mod show;
pub mod spending;
pub mod start;
mod steps;
mod summary;
mod turns;
pub mod watch;
mod work;

pub use error::Trouble;
pub use forge_project::{catalog, error::Kind, refuse_agents, settings, trust};

/// The programs that Forge starts of itself, dispatched before anything else is set up.
///
/// Gives nothing if the arguments are for the doors.
pub fn inner_program(args: &[std::ffi::OsString]) -> Option<std::process::ExitCode> {
    let rest = || args.iter().skip(2).cloned().collect();
    match args.get(1)?.to_str()? {
        forge_keeper::KEEP => {
            Some(forge_keeper::keep(std::path::Path::new(args.get(2)?), forge_agents::open_monitor))
        }
        forge_keeper::LAUNCH => Some(forge_keeper::launch(rest())),
        notify::NOTIFY => Some(notify::tell(args.get(2..).unwrap_or_default())),
        steps::BENCH => Some(steps::bench(args.get(2..).unwrap_or_default())),
        forge_agents::SCRIPTED => Some(forge_agents::scripted::play(rest())),
        _ => None,
    }
}

/// The schemas of what agents and scenarios may say, by file name.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("result.schema.json", schemars::schema_for!(forge_agents::AgentResult)),
        ("scenario.schema.json", schemars::schema_for!(forge_agents::scripted::Scenario)),
        ("settings.schema.json", settings::schema()),
    ]
}
