//! Commits and refs that are moved: in the agent's private repository, and in the user's repository
//! through the path that the private one borrows its objects from.
//!
//! Refs of the user's repository cannot be protected from somebody who writes them on purpose. What is
//! proved is that no fact follows them, that Forge builds nothing on them, and that it says so.

use super::{
    project::{FIND_USER, HONEST_FILE, Project, play},
    world::{DONE, has},
};

/// Makes a commit nobody has judged in the user's store, and finds out what the run is called.
fn evil() -> String {
    format!(
        "{FIND_USER}\nat() {{ git -c user.name=M -c user.email=m@example.org --git-dir=$user \"$@\"; }}\nbase=$(git rev-parse HEAD)\n\
         evil=$(at commit-tree -m evil -p $base $(printf '100644 blob %s\\tevil\\n' $(echo evil | at hash-object -w --stdin) | at mktree))\n\
         branch=$(git symbolic-ref --short HEAD); run=${{branch#forge/}}\n"
    )
}

#[test]
fn a_commit_that_was_amended_after_it_was_judged_is_not_the_one_that_lands() {
    let project = Project::new();
    let run = "chmod -R u+w .; echo evil > evil; git add -A; git commit -q --amend -m evil --no-edit\n\
               git branch -f main; git tag -f judged; git update-ref refs/heads/$(git symbolic-ref --short HEAD) HEAD";
    let said = project.run(&[play("reviewer", "", run)]);
    assert_eq!(said.code, DONE, "{said}");
    project.only_honest_work_landed(&said);
    let judged = project.facts("judged");
    let landed = &project.facts("landed")[0];
    let reviewed = judged.iter().find(|fact| fact["judgement"] == "build#1/verify#1").unwrap();
    assert_eq!(landed["commit"], reviewed["receipt"]["commit"], "{said}");
}

#[test]
fn pins_that_were_moved_between_judgement_and_landing_change_nothing() {
    let project = Project::new();
    let run = format!(
        "{}for pin in $(at for-each-ref --format='%(refname)' refs/forge/$run/calls refs/forge/$run/base); do at update-ref $pin $evil; done",
        evil()
    );
    let said = project.run(&[play("reviewer", "", &run)]);
    assert_eq!(said.code, DONE, "{said}");
    project.only_honest_work_landed(&said);
}

#[test]
fn a_result_that_somebody_else_moved_is_no_result_and_forge_says_so() {
    let project = Project::new();
    let run = format!("{}at update-ref refs/forge/$run/head $evil", evil());
    let said = project.run(&[play("reviewer", "", &run)]);
    assert_eq!(said.code, DONE, "{said}");
    let run = project.id();
    has(&said.out, &[&format!("`refs/forge/{run}/head` was moved by another program")]);
    let landed = project.facts("landed");
    let commit = landed[0]["head"].as_str().unwrap();
    let file = project.world.git(&["show", &format!("{commit}:bin/greet.sh")]);
    assert_eq!(file, HONEST_FILE, "the fact names the honest commit");
    assert_eq!(project.landed_file("bin/greet.sh"), None, "no branch was built on it");
}

#[test]
fn a_result_whose_branch_and_own_ref_were_moved_is_named_by_its_commit() {
    let project = Project::new();
    let run = format!(
        "{}at update-ref refs/forge/$run/head $evil; at update-ref refs/heads/$branch $evil",
        evil()
    );
    let said = project.run(&[play("reviewer", "", &run)]);
    assert_eq!(said.code, DONE, "{said}");
    let landed = project.facts("landed");
    let shown = project.world.ok(&["show", &project.id(), "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["branch"], landed[0]["head"], "{said}");
}

#[test]
fn a_branch_that_somebody_else_moved_is_left_alone_and_forge_says_so() {
    let project = Project::new();
    let run = format!("{}at update-ref refs/heads/$branch $evil", evil());
    let said = project.run(&[play("reviewer", "", &run)]);
    assert_eq!(said.code, DONE, "{said}");
    let run = project.id();
    has(&said.out, &[&format!("`forge/{run}` was moved to"), "by another program"]);
    let file = project.world.git(&["show", &format!("refs/forge/{run}/head:bin/greet.sh")]);
    assert_eq!(file, HONEST_FILE, "{said}");
}

#[test]
fn replaced_objects_are_not_what_is_judged() {
    let project = Project::new();
    // Whoever looks at the red commit through a replacement sees a green one.
    let run = format!(
        "{}green=$(printf 'echo \"Hello, ${{1:-world}}!\"\\n' | at hash-object -w --stdin)\n\
         red=$(git rev-parse HEAD:bin/greet.sh); git replace $red $green; git replace $base $evil",
        evil()
    );
    let said = project.run(&[play("writer", "", &run)]);
    project.nothing_landed(&said);
    let red = ["changes pass", "verify revise", "changes pass", "verify revise"];
    assert_eq!(project.verdicts(), red, "{said}");
}
