//! Where the real agent programs are that `cargo xtask test` installs.
//!
//! Not here: how each is told of its model server.

use std::{
    env,
    io::{self, Write as _},
    path::PathBuf,
};

/// Returns the program that the variable names, or else the one of this folder of the cache that `cargo xtask test` has
/// installed. Without either it says loudly that `what` is not proved. In CI that is a failure.
pub fn find(variable: &str, folder: &str, program: &str, what: &str) -> Option<PathBuf> {
    let installed = || {
        let home = || env::home_dir().map(|home| home.join(".cache"));
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
        let place = cache.join("forge-agents").join(folder).join("node_modules/.bin").join(program);
        place.exists().then_some(place)
    };
    let found = env::var_os(variable).map(PathBuf::from).or_else(installed);
    if found.is_none() {
        let missing =
            format!("{folder} is not installed; `cargo xtask test` does that where node is");
        assert!(env::var_os("CI").is_none(), "{what}: {missing}");
        // Not `eprintln`: the test harness hides what a passing test prints with it.
        let _ = writeln!(io::stderr(), "NOT PROVED: {what}: {missing}");
    }
    found
}
