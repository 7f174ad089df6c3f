//! Which commands prove a commit: those that were frozen when the run began, or, where there were none, those
//! that the run itself added and a person allowed.
//!
//! Not here: running them (`verify.rs`), and what a person's answer does (`core`).
//!
//! Invariant: a command that an agent wrote is run only after a person allowed exactly this one.

use forge_core::{Run, event::Ruling};
use forge_project::{
    commit_files::CommitTree,
    detect::{self, DetectedCommand},
    settings::{Frozen, VerifyFrom},
};
use forge_workspace::CodeHistory;

use crate::Error;

/// Commands that can prove a commit, or the lack of them.
#[derive(Debug)]
pub enum Checks {
    /// These commands, one after the other.
    Known(Vec<String>),
    /// These, which the run added, once a person allows them.
    Added(Vec<DetectedCommand>),
    /// Nothing, and why.
    Nothing(&'static str),
}

/// Finds the commands that can prove a commit in this run.
pub fn checks_at(
    frozen: &Frozen,
    run: &Run,
    repository: &dyn CodeHistory,
    commit: &str,
) -> Result<Checks, Error> {
    if !frozen.verify.commands.is_empty() {
        return Ok(Checks::Known(frozen.verify.commands.clone()));
    }
    match frozen.verify.from {
        VerifyFrom::Settings => {
            return Ok(Checks::Nothing("the project's settings say that it has no checks"));
        }
        VerifyFrom::Found | VerifyFrom::Nothing => {}
    }
    let found = with_setup(&detect::detect(&CommitTree::open(repository, commit)?));
    Ok(if found.is_empty() {
        let what = "the project has no checks";
        Checks::Nothing(what)
    } else if found.iter().all(|found| run.allows(&found.command)) {
        Checks::Known(found.into_iter().map(|found| found.command).collect())
    } else {
        Checks::Added(found)
    })
}

/// The checks that were found. What has to come before them comes with them: the set-up of the run's
/// checkouts was frozen when there was nothing to set up.
fn with_setup(project: &detect::DetectedProject) -> Vec<DetectedCommand> {
    let (Some(first), false) = (project.verify.first(), project.setup.is_empty()) else {
        return project.verify.clone();
    };
    let all: Vec<String> =
        project.setup.iter().chain(&project.verify).map(|found| grouped(&found.command)).collect();
    vec![DetectedCommand { command: all.join(" && "), ..first.clone() }]
}

/// The command as a part of a longer one.
fn grouped(command: &str) -> String {
    if command.contains(['|', ';', '&']) { format!("({command})") } else { command.to_owned() }
}

impl Checks {
    /// The commands that may be run.
    pub fn known(self) -> Vec<String> {
        match self {
            Self::Known(commands) => commands,
            Self::Added(_) | Self::Nothing(_) => Vec::new(),
        }
    }

    /// Why nothing is proved. Never asked about known checks.
    pub fn unverified(self) -> Ruling {
        match self {
            Self::Known(_) => unreachable!("what can be proved is proved"),
            Self::Nothing(what) => Ruling::Unverified { what: what.to_owned(), found: Vec::new() },
            Self::Added(found) => {
                let named: Vec<String> = found
                    .iter()
                    .map(|found| format!("`{}` (from {})", found.command, found.file))
                    .collect();
                let what = format!(
                    "this run itself added checks that are not allowed yet: {}",
                    named.join(", ")
                );
                let found = found.into_iter().map(|found| found.command).collect();
                Ruling::Unverified { what, found }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_project::detect::DetectedProject;

    fn found(command: &str) -> DetectedCommand {
        let (command, why) = (command.to_owned(), String::new());
        DetectedCommand { command, why, file: "Makefile".to_owned() }
    }

    #[test]
    fn what_has_to_be_set_up_first_is_allowed_and_run_with_the_checks() {
        let mut project = DetectedProject {
            verify: vec![found("make a"), found("make b")],
            ..DetectedProject::default()
        };
        assert_eq!(with_setup(&project).len(), 2);
        project.setup = vec![found("cd web && npm ci")];
        let all = with_setup(&project);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].command, "(cd web && npm ci) && make a && make b");
    }

    #[test]
    fn the_commands_that_were_added_are_named_with_their_file() {
        let ruling = Checks::Added(vec![found("make check")]).unverified();
        let Ruling::Unverified { what, found } = ruling else { panic!("{ruling:?}") };
        assert_eq!(found, ["make check"]);
        assert!(what.ends_with("that are not allowed yet: `make check` (from Makefile)"), "{what}");
    }
}
