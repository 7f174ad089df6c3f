//! A program of the user's own that plays roles, and flows for it to play in.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use crate::world::{Said, World};

/// Shell functions that every program of these tests knows: `result SUMMARY MORE` leaves a result,
/// `spend MILLIONTHS` tells of a turn.
const WORDS: &str = r#"
result() {
  printf '{"forge":1,"attempt":"%s","status":"done","summary":"%s"%s}' "$FORGE_CALL" "$1" "${2:+,$2}" \
    > "$FORGE_OUTBOX/result.json"
}
spend() { echo "{\"type\":\"spent\",\"cost_micros\":$1}"; }
"#;

/// Plays writer and reviewer of `draft`, and all roles of `change`.
pub(crate) const PLAYS_ALL: &str = r#"
cat > /dev/null
item=${FORGE_CALL#build.}; item=${item%%/*}
case "$FORGE_ROLE:$FORGE_CALL" in
writer:*)
  echo '# A draft' > "$FORGE_OUTBOX/draft.md"
  result 'wrote a draft' '"shown":{"approach":"short","key_changes":["one page"],"risk":"low"}' ;;
reviewer:write*)
  echo 'good' > "$FORGE_OUTBOX/review.md"
  result 'it is good' '"verdict":"pass","findings":[]' ;;
planner:*)
  echo '# A plan' > "$FORGE_OUTBOX/plan.md"
  result 'planned' '"shown":{"approach":"two files","key_changes":[],"risk":"low"},"lists":{"tasks":[
    {"id":"T1","title":"one","after":[],"writes":["one.txt"],"tags":{},"must":[]},
    {"id":"T2","title":"two","after":["T1"],"writes":["two.txt"],"tags":{},"must":[]}]}' ;;
implementer:*T1*) echo one > one.txt; result 'made one' '"commit":"Add one"' ;;
implementer:*T2*) cat one.txt > two.txt; result 'made two' '"commit":"Add two"' ;;
reviewer:build*)
  test -s "$FORGE_INBOX/change.diff" || exit 9
  echo 'good' > "$FORGE_OUTBOX/review-$item.md"
  result 'it is good' '"verdict":"pass","findings":[]' ;;
esac
"#;

/// A flow of one stage, which is asked about at the first miss.
pub(crate) const ONE: &str = "[[stage]]\nname = \"work\"\nagent = \"worker\"\nmisses = 1\n";

/// Writes a program.
pub(crate) fn program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{WORDS}\n{script}\n")).unwrap();
    let runnable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path, runnable).unwrap();
}

/// A world in which this program, which lies beside the repository, plays all roles, and which has
/// the flow `one`.
pub(crate) fn world(script: &str) -> World {
    let world = World::new();
    let path = world.beside("agent.sh");
    program(&path, script);
    world.write(
        "forge.toml",
        format!(
            "agent = \"mine\"\n[agents.mine]\ncommand = [{path:?}]\n",
            path = path.display().to_string()
        ),
    );
    world.roles(&["worker"]);
    world.flow("one", ONE);
    world
}

/// Runs the flow `one` in such a world.
pub(crate) fn run(script: &str, more: &[&str]) -> (World, Said) {
    let world = world(script);
    let said = world.run("one", more);
    (world, said)
}
