//! The hidden commands of `forge`, as a program of their own for the tests of this crate.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<OsString> = args.collect();
    match (command.to_str(), rest.as_slice()) {
        (Some("__keep"), [folder]) => forge_agents::keep(Path::new(folder)),
        (Some("__launch"), _) => forge_agents::launch(rest),
        (Some("__scripted"), _) => forge_agents::scripted::play(rest),
        // Which attempt this process is part of.
        (Some("inside"), []) => {
            let inside = forge_agents::inside_attempt().unwrap_or_default();
            writeln!(io::stdout(), "inside: {inside}").expect("somebody listens");
            ExitCode::SUCCESS
        }
        // Kills everybody of an attempt, but nobody it lives from.
        (Some("sweep"), [folder]) => {
            let swept = forge_agents::sweep(Path::new(folder)).expect("everybody can be killed");
            writeln!(io::stdout(), "killed: {}", swept.killed).expect("somebody listens");
            ExitCode::SUCCESS
        }
        // A keeper with a mistake in it, after it has started a child.
        (Some("panic"), [pid_file]) => forge_agents::keeper::leaving_nobody(|_log| {
            let child = Command::new("sleep").arg("600").spawn()?;
            std::fs::write(pid_file, child.id().to_string())?;
            panic!("a promise was broken");
        }),
        _ => ExitCode::from(2),
    }
}
