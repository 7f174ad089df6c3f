//! The hidden commands of `forge`, with agents, as a program for the tests of this crate.

#[expect(clippy::unwrap_used, reason = "it is a test")]
#[expect(clippy::print_stderr, reason = "it is a program of its own")]
#[path = "../tests/processes/acp_peer.rs"]
mod acp_peer;

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
        (Some("__acp"), _) => forge_agents::converse(rest),
        (Some("__peer"), [mode]) => acp_peer::peer(&mode.to_string_lossy()),
        (Some("__scripted"), _) => forge_agents::scripted::play(rest),
        _ => ExitCode::from(2),
    }
}
