//! Operations available to every user interface.
//!
//! Read in this order: [`forge`] (a repository, its runs, commands to them), [`start`] (everything that
//! is decided before the first record), [`follow`] and [`watch`] (a run as it happens), [`show`], then
//! the rest.
//!
//! Not here: terminals. What a person sees is the user interface's business.

pub mod accounts;
pub mod agents;
mod approvals;
pub mod attendance;
pub mod change_settings;
pub mod clean;
pub mod demo;
pub mod doctor;
pub mod edit;
pub mod fast_forward;
pub mod follow;
pub mod forge;
pub mod gate;
mod host_access;
pub mod host_pull_request;
pub mod import_run;
pub mod init;
pub mod merge;
mod older_workspace;
mod open;
mod outside;
pub mod phases;
pub mod pull_request;
mod refused_requests;
mod short_program;
pub mod show;
pub mod spending;
pub mod start;
mod summary;
pub mod undo;
pub mod verdict;
pub mod watch;
pub mod work;

pub use forge_driver::plan::checkout_job::JOB_THREAD;
pub use forge_driver::{
    Error, clock, deliver, layout, notify, person, projection, run_id, run_loop, signals,
};
pub use forge_project::{catalog, detect, error, refuse_agents, settings, test_output, trust};
pub use forge_workspace::end_readers;

/// Returns the programs that Forge starts of itself, dispatched before anything else is set up.
///
/// Returns `None` if the arguments are for the command line.
pub fn inner_program(args: &[std::ffi::OsString]) -> Option<std::process::ExitCode> {
    let rest = || args.iter().skip(2).cloned().collect();
    match args.get(1)?.to_str()? {
        forge_keeper::KEEP => {
            Some(forge_keeper::keep(std::path::Path::new(args.get(2)?), forge_agents::open_monitor))
        }
        notify::sender::NOTIFY => Some(notify::sender::tell(args.get(2..).unwrap_or_default())),
        forge_driver::plan::workspace_worker::BENCH => {
            Some(forge_driver::plan::workspace_worker::main(args.get(2..).unwrap_or_default()))
        }
        forge_driver::plan::step::OUTSIDE => Some(outside::main(args.get(2..).unwrap_or_default())),
        forge_agents::ACP_COMMAND => Some(forge_agents::converse(rest())),
        forge_agents::SCRIPTED_COMMAND => Some(forge_agents::scripted::play(rest())),
        _ => None,
    }
}

/// Returns the schemas of what agents and scenarios may say, by file name.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("result.schema.json", schemars::schema_for!(forge_core::result::AgentResult)),
        ("scenario.schema.json", schemars::schema_for!(forge_agents::scripted::Scenario)),
        ("settings.schema.json", settings::schema()),
    ]
}
