//! The tools that the gate needs besides cargo.

use std::process::{Command, ExitCode, Stdio};

use crate::{command::say, repository::root};

/// What the steps need besides cargo: brought here if that is possible.
pub(crate) fn bring() -> ExitCode {
    let missing = || ["fmt", "clippy"].into_iter().find(|tool| !is_there(tool));
    let Some(tool) = missing() else { return ExitCode::SUCCESS };
    say(&format!(
        "`cargo {tool}` is missing. `rustup component add rustfmt clippy` now adds it to your toolchain."
    ));
    let added = Command::new("rustup")
        .args(["component", "add", "rustfmt", "clippy"])
        .current_dir(root())
        .status();
    match (added, missing()) {
        (_, None) => ExitCode::SUCCESS,
        (Ok(_), Some(tool)) => {
            say(&format!(
                "rustup could not add `cargo {tool}`: install rustfmt and clippy by hand"
            ));
            ExitCode::FAILURE
        }
        (Err(error), Some(_)) => {
            say(&format!("rustup cannot be run ({error}): install rustfmt and clippy by hand"));
            ExitCode::FAILURE
        }
    }
}

/// Asks cargo for the version of this tool.
fn is_there(tool: &str) -> bool {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([tool, "--version"]).current_dir(root());
    let said = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    said.is_ok_and(|status| status.success())
}
