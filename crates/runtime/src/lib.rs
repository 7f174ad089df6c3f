//! The driver: the only place where things happen.
//!
//! Read in this order:
//!
//! 1. [`drive`]: the loop. Everything else serves it.
//! 2. [`doors`]: what the ways in can do: start, send a command, read.
//! 3. [`journal`] and [`blobs`]: what is kept, and how it is known to be whole.
//! 4. `calls`: makes what is under way equal to what is wanted, through keepers.
//! 5. `prepare`, `brief` and `intake`: what a call is given, and what becomes of what it left.
//! 6. [`catalog`], [`settings`], [`home`]: flows and roles, the project's word, and the places.
//! 7. [`projection`]: files that show the journal, and can be thrown away.
//!
//! Invariant: nothing is published or acted on before its fact is durable.
//! Invariant: one writer per run, by a lock of the operating system and an epoch.
//! Invariant: what agents and the world do is an outcome; an `Err` here is trouble of ours or
//! something that the user can mend.

pub mod blobs;
mod brief;
mod calls;
pub mod catalog;
pub mod doctor;
pub mod doors;
pub mod drive;
pub mod home;
mod intake;
pub mod journal;
mod prepare;
pub mod projection;
pub mod settings;
mod text;
mod trouble;

pub use trouble::{Kind, Trouble};

/// The programs that Forge starts of itself, dispatched before anything else is set up.
///
/// Gives nothing if the arguments are for the doors.
pub fn inner_program(args: &[std::ffi::OsString]) -> Option<std::process::ExitCode> {
    let rest = || args.iter().skip(2).cloned().collect();
    match args.get(1)?.to_str()? {
        forge_agents::KEEP => Some(forge_agents::keep(std::path::Path::new(args.get(2)?))),
        forge_agents::LAUNCH => Some(forge_agents::launch(rest())),
        forge_agents::SCRIPTED => Some(forge_agents::scripted::play(rest())),
        _ => None,
    }
}

/// The schemas of what agents and scenarios may say, by file name.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("result.schema.json", schemars::schema_for!(forge_agents::AgentResult)),
        ("scenario.schema.json", schemars::schema_for!(forge_agents::scripted::Scenario)),
    ]
}
