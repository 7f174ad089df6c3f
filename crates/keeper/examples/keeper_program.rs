//! The hidden commands of `forge`, as a program of their own for the tests of this crate.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use forge_keeper::{AttemptFolder, Monitor};
use rustix::process::{getpid, set_child_subreaper};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<OsString> = args.collect();
    match (command.to_str(), rest.as_slice()) {
        (Some("__keep"), [folder]) => forge_keeper::keep(Path::new(folder), no_monitor),
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
        // A driver whose keeper is killed once its child has written that file.
        (Some("adopt"), [folder, file]) => {
            adopt(folder.as_ref(), file.as_ref()).expect("a killed keeper can be swept")
        }
        // A keeper with a mistake in it, after it has started a child.
        (Some("panic"), [pid_file]) => {
            forge_keeper::keeper::leaving_nobody(Vec::new(), None, |_log| {
                let child = Command::new("sleep").arg("600").spawn()?;
                std::fs::write(pid_file, child.id().to_string())?;
                panic!("a promise was broken");
            })
        }
        _ => ExitCode::from(2),
    }
}

fn adopt(folder: &Path, file: &Path) -> io::Result<ExitCode> {
    set_child_subreaper(Some(getpid()))?;
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let folder = AttemptFolder::at(folder);
    let mut keeper = forge_keeper::start_keeper(&std::env::current_exe()?, &folder, &env)?;
    while !std::fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')) {
        std::thread::sleep(Duration::from_millis(2));
    }
    keeper.kill()?;
    keeper.wait()?;
    forge_keeper::sweep(&folder.path)?;
    forge_keeper::sweep_adopted(&[], "__notify")?;
    Ok(ExitCode::SUCCESS)
}

fn no_monitor(_settings: &serde_json::Value) -> Result<Box<dyn Monitor>, String> {
    Err("there are no monitors".to_owned())
}
