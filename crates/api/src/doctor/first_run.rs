//! What a first run needs: an agent that is logged in, checks, and room on the disk.
//!
//! Not here: whether an agent answers, which costs a call (`agents/check.rs`).
//!
//! Invariant: nothing is written, and no model is called.

use std::path::Path;

use forge_agents::AgentKind;
use forge_driver::Error;
use forge_project::{
    commit_files::CommitTree,
    detect::{self, DetectedCommand},
    settings::Settings,
};
use forge_workspace::Repository;

use super::finding::{HealthFinding, bad, good, note};
use crate::{
    agents::list::{AgentRow, Roster},
    start::help_to_install_agent,
};

/// Less room than this is worth knowing.
const FREE_BYTES_MIN: u64 = 2 << 30;

/// Looks at the agents: the one that is set, or those that are installed.
pub(super) fn agents(roster: &Roster) -> Vec<HealthFinding> {
    let rows = roster.rows();
    let is_model = |row: &&AgentRow| !row.kind.0.plays_scenario();
    if let Some(row) = rows.iter().find(|row| row.is_default) {
        return one_agent(row);
    }
    let usable: Vec<&AgentRow> =
        rows.iter().filter(is_model).filter(|row| row.wrong.is_none()).collect();
    match usable.as_slice() {
        [] => {
            vec![bad(Error::surroundings("no usable agent is installed", help_to_install_agent()))]
        }
        [only] => one_agent(only),
        several => {
            let names: Vec<&str> = several.iter().map(|row| row.name.as_str()).collect();
            let what = format!("several agents are installed: {}", names.join(", "));
            vec![note(what, format!("forge agents use {}", names[0]))]
        }
    }
}

/// Says where an agent is, and whether a login for it was found.
fn one_agent(row: &AgentRow) -> Vec<HealthFinding> {
    let name = &row.name;
    let next = row.next.clone().unwrap_or_else(|| format!("forge agents check {name}"));
    if let Some(wrong) = &row.wrong {
        return vec![bad(Error::surroundings(format!("agent {name}: {wrong}"), next))];
    }
    let version = row.version.as_deref().map(|version| format!(" {version}"));
    let path = row.path.as_deref().map(|path| format!(", {path}"));
    let (version, path) = (version.unwrap_or_default(), path.unwrap_or_default());
    let mut findings = vec![good(format!("agent {name}{version}{path}"))];
    findings.extend(login(name, row.kind.0));
    findings
}

fn login(name: &str, kind: AgentKind) -> Option<HealthFinding> {
    let (variables, file) = kind.login_traces()?;
    let is_set = |name: &&&str| std::env::var_os(**name).is_some_and(|value| !value.is_empty());
    let home = std::env::var_os("HOME");
    let has_file = home.is_some_and(|home| Path::new(&home).join(file).exists());
    let trace = match variables.iter().find(is_set) {
        Some(variable) => Some(format!("${variable}")),
        None => has_file.then(|| format!("~/{file}")),
    };
    Some(if let Some(trace) = trace {
        good(format!("login for {name} found ({trace}), not tested"))
    } else {
        let next = format!("log in with {name}, then try it: forge agents check {name}");
        note(format!("no login found for {name}"), next)
    })
}

/// Says which checks a run would use.
pub(super) fn checks(settings: &Settings, repository: &Repository) -> HealthFinding {
    let none = |what: &str| note(what, "forge init, or forge config set verify.commands '[\"…\"]'");
    if let Some(commands) = &settings.verify.commands {
        return match commands.as_slice() {
            [] => none("verify.commands is empty: results stay unverified"),
            commands => {
                let commands: Vec<String> =
                    commands.iter().map(|command| command.clone().into()).collect();
                good(format!("checks: {} (set)", commands.join(", ")))
            }
        };
    }
    let Some(head) = repository.head() else {
        return note("no commit yet, so no checks can be found", "git add . && git commit");
    };
    let found = CommitTree::open(repository, &head).map(|files| detect::detect(&files));
    let (checks, setup) = found.map(|found| (found.verify, found.setup)).unwrap_or_default();
    let line = |found: &[DetectedCommand]| {
        let commands: Vec<&str> = found.iter().map(|found| found.command.as_str()).collect();
        commands.join(", ")
    };
    match (checks.as_slice(), setup.as_slice()) {
        ([], _) => none("no checks found: results stay unverified"),
        (checks, []) => good(format!("checks: {} (found in the project)", line(checks))),
        (checks, setup) => good(format!(
            "checks: {} (found in the project), after {} in checkouts of Forge",
            line(checks),
            line(setup)
        )),
    }
}

/// Says how much room is left where the journal is.
pub(super) fn disk(folder: &Path) -> Option<HealthFinding> {
    let folder = folder.ancestors().find(|folder| folder.exists())?;
    let disk = rustix::fs::statvfs(folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let gib = free >> 30;
    Some(if free < FREE_BYTES_MIN {
        let what = format!("only {} MiB are free on the disk of {}", free >> 20, folder.display());
        note(what, "forge clean, or free some space")
    } else {
        good(format!("{gib} GiB are free on the disk"))
    })
}
