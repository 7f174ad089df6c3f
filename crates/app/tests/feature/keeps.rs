//! What the last commit keeps of a run is a setting, and no hook of the user's has a say in it.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::project::{CHECKS, Project};

#[test]
fn only_the_summary_is_kept_if_that_is_set_and_commit_hooks_are_not_asked() {
    let project = Project::with("", &format!("{CHECKS}[land]\nrecord = \"summary\"\n"));
    // It would refuse everything that lies below .forge/runs.
    let hook = project.world.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\nif git diff --cached --name-only | grep -q '^.forge/runs'; then exit 1; fi\n",
    );
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let run = project.done("S", &[]);
    assert_eq!(project.kept(&run), ["summary.md"]);
}

#[test]
fn nothing_is_kept_if_that_is_set_and_the_branch_ends_with_the_work() {
    let project = Project::with("", &format!("{CHECKS}[land]\nrecord = \"none\"\n"));
    let run = project.done("S", &[]);
    assert!(project.kept(&run).is_empty());
    let delivered = project.deliveries(&run);
    let branch = project.world.git(&["rev-parse", &Project::branch(&run)]);
    assert_eq!(delivered[0]["commit"], branch.as_str());
}
