//! Files that are changed where nobody should: after the checks were green, in the checkout in which
//! proofs are made, and in Forge's own git folders beside it.

use super::{
    project::{HONEST, Project, play},
    world::{DONE, WAITS, has},
};

/// Where proofs are made, as seen from the checkout of an agent.
const PROOFS: &str = "proofs=../../_verify";

#[test]
fn who_stays_behind_to_edit_after_green_is_gone_before_anything_is_judged() {
    let project = Project::new();
    let run = format!(
        r#"{HONEST}
{PROOFS}
for way in setsid "env -u FORGE_ATTEMPT_DIR setsid" nohup; do
    $way sh -c 'while [ ! -d '$proofs'/tree/bin ]; do :; done
        echo evil > bin/greet.sh; echo evil > '$proofs'/tree/bin/greet.sh; touch $HOME/stayed' > /dev/null 2>&1 &
done"#
    );
    let keys = "detach = [\"setsid\", \"nohup\", \"double-fork\"]";
    let said = project.run(&[play("writer", keys, &run)]);
    assert_eq!(said.code, DONE, "{said}");
    project.only_honest_work_landed(&said);
    assert!(!project.world.beside("stayed").exists(), "nobody stays behind");
}

#[test]
fn what_a_reviewer_edits_is_not_what_was_judged_and_does_not_land() {
    let project = Project::new();
    let run = format!(
        r#"{PROOFS}
for tree in . $proofs/tree; do
    chmod -R u+w $tree/bin $tree/tests
    echo evil > $tree/bin/greet.sh; echo evil > $tree/evil; rm $tree/tests/greet.sh
done
git add -A; git commit -qm evil; git commit -q --amend -m "not what was judged""#
    );
    let said = project.run(&[play("reviewer", "", &run)]);
    assert_eq!(said.code, DONE, "{said}");
    project.only_honest_work_landed(&said);
    let shown = project.world.ok(&["show", &project.id()]);
    has(&shown, &["it changed code, but its role only reads; discarded:", "tests/greet.sh"]);
}

/// Makes the proofs look green, whatever the commit says; twice, before there is a checkout for them
/// and after.
#[track_caller]
fn planted_files_prove_nothing(plant: &str) {
    let project = Project::new();
    let said = project.run(&[play("writer", "", &format!("{PROOFS}\n{plant}"))]);
    assert_eq!(said.code, WAITS, "{said}");
    project.nothing_landed(&said);
    let red = ["changes pass", "verify revise", "changes pass", "verify revise"];
    assert_eq!(project.verdicts(), red, "{said}");
    assert!(!project.world.beside("ran").exists(), "no program of the agent's ran: {said}");
    let proofs = project.world.checkouts(&project.id()).join("_verify/tree/test.sh");
    assert!(proofs.exists(), "that is where the proofs are made");
}

/// Files that make the tests green, in the checkout of the proofs.
const FILES: &str = r#"mkdir -p $proofs/tree/tests $proofs/tree/bin
printf 'echo "Hello, ${1:-world}!"\n' > $proofs/tree/bin/greet.sh
echo 'exit 0' > $proofs/tree/tests/a.sh
echo 'exit 0' > $proofs/tree/tests/a.log
echo 'exit 0' > $proofs/tree/tests/greet.sh
echo 'exit 0' > $proofs/tree/test.sh"#;

#[test]
fn files_in_the_checkout_of_the_proofs_prove_nothing() {
    planted_files_prove_nothing(FILES);
}

#[test]
fn links_and_locked_folders_in_the_checkout_of_the_proofs_prove_nothing() {
    planted_files_prove_nothing(
        r"rm -rf $proofs/tree; mkdir -p $proofs $HOME/green/tests
echo 'exit 0' > $HOME/green/test.sh; ln -s $HOME/green $proofs/tree",
    );
    planted_files_prove_nothing(
        r"mkdir -p $proofs/tree/tests; rm -rf $proofs/tree/test.sh; mkdir -p $proofs/tree/test.sh/deep
echo 'exit 0' > $proofs/tree/tests/a.sh; chmod 500 $proofs/tree/tests $proofs/tree/test.sh",
    );
}

#[test]
fn git_settings_in_the_checkout_of_the_proofs_start_nothing() {
    planted_files_prove_nothing(&format!(
        r#"{FILES}
for git in $proofs/tree/.git $proofs/forge.git; do
    mkdir -p $git/hooks $git/info $git/objects $git/refs
    printf '#!/bin/sh\ntouch $HOME/ran\n' > $git/hooks/post-checkout
    cp $git/hooks/post-checkout $git/hooks/post-index-change; chmod +x $git/hooks/*
    printf '[core]\n\tfsmonitor = touch $HOME/ran\n\thooksPath = %s\n[filter "e"]\n\tclean = touch $HOME/ran\n\tsmudge = touch $HOME/ran\n' "$PWD/$git/hooks" > $git/config
    echo '* filter=e' > $git/info/attributes
    printf 'tests/a.sh\nevil\n' > $git/info/exclude
    printf '* filter=e\n' > $proofs/tree/.gitattributes
done"#
    ));
}

#[test]
fn an_index_that_hides_changes_in_the_checkout_of_the_proofs_hides_nothing() {
    planted_files_prove_nothing(&format!(
        r#"if [ -f $proofs/forge.git/index ]; then
    at() {{ GIT_DIR=$proofs/forge.git GIT_WORK_TREE=$proofs/tree GIT_INDEX_FILE=$proofs/forge.git/index git "$@"; }}
    at update-index --skip-worktree bin/greet.sh test.sh
    at update-index --assume-unchanged tests/greet.sh tests/count.sh
fi
{FILES}"#
    ));
}

#[test]
fn what_a_checkout_remembers_can_be_forged_and_proves_nothing() {
    planted_files_prove_nothing(&format!(
        r#"{FILES}
mkdir -p $proofs/forge.git $proofs/aside
printf '{{"standing":"whole","branch":"x","base":null,"kept_out":["tests/a.sh","test.sh","bin"]}}' > $proofs/forge.git/opened.json
printf 'bin/greet.sh\0' > $proofs/aside/list; cp $proofs/tree/bin/greet.sh $proofs/aside/0
touch $proofs/setup.done"#
    ));
}

/// One task after the other, in a checkout of its own; between proofs, caches are kept.
const ITEMS: &str = r#"
[[stage]]
name = "plan"
agent = "reader"
list = "tasks"

[[stage]]
name = "build"
each = "tasks"

  [[stage.stage]]
  name = "make"
  agent = "writer"
  rounds = 1
  gates = [{ check = "changes" }, { verify = true }, { land = true }]
"#;

#[test]
fn a_cache_that_an_agent_filled_for_the_proofs_proves_nothing() {
    // What the checks find in a cache they believe, so it must be their own.
    let project = Project::new();
    project.world.write(
        "forge.toml",
        "[verify]\ncommands = [\"mkdir -p cache; test -e cache/green || sh test.sh\"]\n\
         [workspace]\ncache = [\"cache\"]\n[agents.scripted]\nscenario = \"play.toml\"\n",
    );
    project.world.flow("items", ITEMS);
    let plan =
        "result = { summary = \"one\", lists = { tasks = [{ id = \"T1\", title = \"one\" }] } }";
    let run = r#"proofs=../../../_verify; mkdir -p $proofs/tree/cache $proofs/forge.git
touch $proofs/tree/cache/green
[ -e $proofs/forge.git/opened.json ] || printf '{"standing":"whole","branch":"x","base":null,"kept_out":[]}' > $proofs/forge.git/opened.json"#;
    let plays = [play("reader", plan, "true"), play("writer", "", run)];
    let said = project.run_flow("items", &plays);
    assert_eq!(said.code, WAITS, "{said}");
    project.nothing_landed(&said);
    let red = ["changes pass", "verify revise", "changes pass", "verify revise"];
    assert_eq!(project.verdicts(), red, "{said}");
}
