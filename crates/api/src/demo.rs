//! The project that `forge demo` shows things on: a few lines of shell with tests that fail.
//!
//! Everything is in the one folder: the repository, the journal, and the checkouts of its runs.
//! What the demo prints is read from the journal; nothing here knows how a run will go.

use std::{fs, path::Path};

use forge_driver::Error;
use forge_workspace::Repository;

/// The request of the demo.
pub const REQUEST: &str = "Greet by name; add farewell and shout";
/// The flow that it goes through.
pub const FLOW: &str = "feature";
/// The effort that it takes.
pub const EFFORT: &str = "M";

/// How fast the scripted agents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// So that a person can watch them.
    Watchable,
    Fast,
}

/// The files of the project.
const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("../../../demo/README.md")),
    ("bin/greet.sh", include_str!("../../../demo/bin/greet.sh")),
    ("tests/greet.sh", include_str!("../../../demo/tests/greet.sh")),
    ("test.sh", include_str!("../../../demo/test.sh")),
    ("forge.toml", include_str!("../../../demo/forge.toml")),
    (".gitignore", "forge.local.toml\n"),
];

/// What the agents do. `AGENT` stands for the functions that they act with.
const SCENARIO: &str = include_str!("../../../demo/feature.toml");

/// Returns the scenario, with agents that are as fast as this.
fn scenario(pace: Pace) -> String {
    let wait = match pace {
        Pace::Watchable => "sleep 0.9",
        Pace::Fast => "true",
    };
    let functions = format!(
        r#"tool() {{ printf '{{"type":"used_tool","name":"%s","about":"%s"}}\n' "$1" "$2"; {wait}; }}
says() {{ printf '{{"type":"said","text":"%s"}}\n' "$1"; {wait}; }}
costs() {{ printf '{{"type":"spent","input":%d,"output":%d,"cost_micros":%d}}\n' "$1" "$2" "$3"; }}
"#
    );
    SCENARIO.replace("'''AGENT ", &format!("'''\n{functions}"))
}

/// Makes the project in a folder, which must be empty or not there yet.
pub fn make(dir: &Path, pace: Pace) -> Result<(), Error> {
    let is_free = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(Error::file(dir, &error)),
    };
    if !is_free {
        let what = format!("{} is not empty", dir.display());
        let next = format!(
            "name another folder; or, if a demo was stopped there: cd {} && forge resume",
            dir.display()
        );
        return Err(Error::usage(what, next));
    }
    let error = |error: std::io::Error| Error::file(dir, &error);
    fs::create_dir_all(dir).map_err(error)?;
    let dir = dir.canonicalize().map_err(error)?;
    let scenario = scenario(pace);
    for (name, text) in FILES.iter().copied().chain([("scenario.toml", scenario.as_str())]) {
        let path = dir.join(name);
        let folder = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)).map_err(error)?;
    }
    Repository::create(&dir, "Small commands that say small things")?;
    let local = "# Keeps the checkouts of the demo in its own folder.
[workspace]
root = \".git/forge/checkouts\"
";
    fs::write(dir.join("forge.local.toml"), local).map_err(error)
}
