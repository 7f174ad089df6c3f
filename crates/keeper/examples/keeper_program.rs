//! The hidden commands of `forge`, as a program of their own for the tests of this crate.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

use forge_keeper::Monitor;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<OsString> = args.collect();
    match (command.to_str(), rest.as_slice()) {
        (Some("__keep"), [folder]) => forge_keeper::keep(Path::new(folder), no_monitor),
        (Some("__launch"), _) => forge_keeper::launch(rest),
        // Which attempt this process is part of.
        (Some("inside"), []) => {
            let inside = forge_keeper::inside_attempt().unwrap_or_default();
            writeln!(io::stdout(), "inside: {inside}").expect("somebody listens");
            ExitCode::SUCCESS
        }
        // Kills everybody of an attempt, but nobody it lives from.
        (Some("sweep"), [folder]) => {
            let swept = forge_keeper::sweep(Path::new(folder)).expect("everybody can be killed");
            writeln!(io::stdout(), "killed: {}", swept.killed).expect("somebody listens");
            ExitCode::SUCCESS
        }
        // A keeper with a mistake in it, after it has started a child.
        (Some("panic"), [pid_file]) => forge_keeper::keeper::leaving_nobody(|_log| {
            let child = Command::new("sleep").arg("600").spawn()?;
            std::fs::write(pid_file, child.id().to_string())?;
            panic!("a promise was broken");
        }),
        _ => ExitCode::from(2),
    }
}

fn no_monitor(_settings: &serde_json::Value) -> Result<Box<dyn Monitor>, String> {
    Err("there are no monitors".to_owned())
}
