//! The hidden commands of `forge`, with agents, as a program for the tests of this crate.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use forge_agents::open_monitor;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<OsString> = args.collect();
    match (command.to_str(), rest.as_slice()) {
        (Some("__keep"), [folder]) => forge_keeper::keep(Path::new(folder), open_monitor),
        (Some("__scripted"), _) => forge_agents::scripted::play(rest),
        _ => ExitCode::from(2),
    }
}
