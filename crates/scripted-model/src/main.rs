//! `scripted-model serve SCRIPT.json`: a model for people who want to try something without one.
//! `scripted-model record CLAUDE NAME-VERSION FILE`: records the shape of Claude Code's requests again.

mod record;

use std::{env, fs, path::Path, process::ExitCode, time::Duration};

use scripted_model::{Script, Server, claude::ClaudeCode};

const HELP: &str = "\
scripted-model serve SCRIPT.json                   serves the script below /k/me until it is stopped
scripted-model record CLAUDE NAME-VERSION FILE     records the shape of the requests of that program";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["serve", script] => serve(Path::new(script)),
        ["record", claude, program, file] => learn(Path::new(claude), program, Path::new(file)),
        _ => Err(HELP.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            print_note(&what);
            ExitCode::from(2)
        }
    }
}

/// Serves a script and prints every request, until the process is stopped.
#[expect(clippy::print_stdout, reason = "the URL is the output")]
fn serve(path: &Path) -> Result<(), String> {
    let in_file = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| in_file(&error))?;
    let script: Script = serde_json::from_str(&text).map_err(|error| in_file(&error))?;
    let server = Server::start().map_err(|error| format!("no port of 127.0.0.1: {error}"))?;
    let key = server.key_without_shape("me", script);
    println!("{}", key.url());
    let mut requests = 0;
    let mut flaws = 0;
    loop {
        if let Some(request) = key.request_after(requests, Duration::from_secs(1)) {
            requests += 1;
            let last: String = request.last.chars().rev().take(100).collect();
            let last: String = last.chars().rev().collect();
            let (number, played, tools) = (request.number, &request.played, request.tools.len());
            print_note(&format!(
                "{number}: {} ({tools} tools) → {played:?}: …{last:?}",
                request.model
            ));
        }
        for flaw in key.flaws().iter().skip(flaws) {
            flaws += 1;
            print_note(&format!("flaw: {flaw}"));
        }
    }
}

/// Records a shape.
fn learn(claude: &Path, program: &str, file: &Path) -> Result<(), String> {
    let place = env::temp_dir().join(format!("scripted-model-{}", std::process::id()));
    let claude = ClaudeCode::new(claude.to_owned());
    let shape = record::record(&claude, program, &place).map_err(|error| error.to_string())?;
    let text = serde_json::to_string_pretty(&shape).expect("a shape is JSON");
    fs::write(file, text + "\n").map_err(|error| format!("{}: {error}", file.display()))
}

#[expect(clippy::print_stderr, reason = "a person watches")]
fn print_note(text: &str) {
    eprintln!("{text}");
}
