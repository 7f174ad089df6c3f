//! What a keeper runs, and with which environment.

use std::{
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use forge_agents::is_common_variable;
use forge_keeper::{CallVariables, Spec, Stderr, Stdout, StepLimits};
use forge_project::settings::PassedVariables;
use forge_workspace::Repository;

/// What a keeper is to run. Whatever it prints goes through the redactor, and it has time to end.
pub fn spec(call: String, argv: Vec<String>, dir: PathBuf, limits: StepLimits) -> Spec {
    Spec {
        forge: forge_keeper::attempt::dir::FORMAT,
        call,
        argv,
        dir,
        stdin: None,
        stdout: Stdout::Pipe,
        limits,
        secrets: Vec::new(),
        grace_ms: forge_keeper::attempt::dir::GRACE_MS_DEFAULT,
        stderr: Stderr::Together,
        boxes: None,
        monitor: None,
        variables: CallVariables::Told,
    }
}

pub fn shell(line: String) -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned(), line]
}

/// Of the user's environment only what an agent needs, and what is set for it.
pub fn passed_on(start: &forge_agents::Launch, pass: &[String]) -> Vec<(OsString, OsString)> {
    let passes = |name: &OsString| {
        let name = name.to_string_lossy();
        let is_set = |name: &str| std::env::var_os(name).is_some();
        start.passes_on(&name, is_set) || pass.iter().any(|passed| *passed == name)
    };
    let mut env: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| passes(name)).collect();
    let is_unset = |name: &str| !env.iter().any(|(set, _)| set == name);
    let unset: Vec<_> = start.where_unset.iter().filter(|(name, _)| is_unset(name)).collect();
    env.extend(unset.into_iter().map(|(name, value)| (name.into(), value.into())));
    env.push(("TERM".into(), "dumb".into()));
    env.extend(start.env.iter().map(|(name, value)| (name.into(), value.into())));
    env
}

/// What our own processes get: all that the user has, but what says which repository is meant, and Forge's
/// own. We may have been called from a hook.
pub fn own_environment() -> Vec<(OsString, OsString)> {
    let is_left_out = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("GIT_") || name.starts_with("FORGE_")
    };
    std::env::vars_os().filter(|(name, _)| !is_left_out(name)).collect()
}

/// What a push and a host get: all that the person has, but what says which repository is meant. Nobody is there to type a
/// password.
pub fn outside_environment() -> Vec<(OsString, OsString)> {
    const REPOSITORY: [&str; 12] = [
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    ];
    const NOBODY_TYPES: [(&str, &str); 3] = [
        ("GIT_TERMINAL_PROMPT", "0"),
        ("SSH_ASKPASS_REQUIRE", "never"),
        ("GCM_INTERACTIVE", "never"),
    ];
    let is_left_out = |name: &OsString| REPOSITORY.iter().any(|left| name == left);
    let own = NOBODY_TYPES.map(|(name, value)| (name.into(), value.into()));
    std::env::vars_os().filter(|(name, _)| !is_left_out(name)).chain(own).collect()
}

/// What commands of the project get: code that an agent wrote runs in them.
pub fn command_environment(pass: &PassedVariables) -> Vec<(OsString, OsString)> {
    let mut env = own_environment();
    if let PassedVariables::Listed(names) = pass {
        env.retain(|(name, _)| is_listed(&name.to_string_lossy(), names));
        if !names.iter().any(|name| name == "TERM") {
            env.push(("TERM".into(), "dumb".into()));
        }
    }
    env
}

/// Returns the variables that commands of the project do not get, though they are set.
pub fn variables_left_out(pass: &PassedVariables) -> Vec<String> {
    let PassedVariables::Listed(names) = pass else { return Vec::new() };
    let set = own_environment().into_iter().filter_map(|(name, _)| name.into_string().ok());
    let mut left_out: Vec<String> = set.filter(|name| !is_listed(name, names)).collect();
    left_out.sort();
    left_out
}

fn is_listed(name: &str, more: &[String]) -> bool {
    is_common_variable(name) || more.iter().any(|passed| passed == name)
}

/// The user's own git settings, without the right to use their passwords. `git config --global`
/// of an agent writes here, and not into the user's file. A push into the user's repository by its
/// path ends at a helper that does not exist, also from a clone or a repository that the agent made
/// itself. This stops accidents; a sandbox stops the rest.
pub fn agent_git_config(repository: &Repository) -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let user = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let user = user.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let set = std::env::var_os("GIT_CONFIG_GLOBAL").map(PathBuf::from);
    let files = match set {
        Some(set) => vec![set],
        None => {
            [user.map(|user| user.join("git/config")), home.map(|home| home.join(".gitconfig"))]
                .into_iter()
                .flatten()
                .collect()
        }
    };
    let quoted = |path: &Path| path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = String::new();
    for file in files {
        let _ = write!(text, "[include]\n\tpath = \"{}\"\n", quoted(&file));
    }
    text.push_str("[credential]\n\thelper =\n[url \"forge-lands-the-work::\"]\n");
    for path in [Some(&repository.common_dir), repository.top.as_ref()].into_iter().flatten() {
        for prefix in ["", "file://"] {
            let _ = writeln!(text, "\tpushInsteadOf = \"{prefix}{}\"", quoted(path));
        }
    }
    text
}
