//! Four programs of four vendors in one run of the flow `feature`, each in its own role.

use std::{collections::BTreeSet, fmt::Write as _, fs, os::unix::fs::symlink, thread};

use scripted_model::{ModelKey, Script, ScriptStep, ToolCall, claude::Credential, programs};
use serde_json::{Value, json};

use crate::{
    players::{CODEX, GEMINI, OPENCODE},
    stage::{MODEL, Player, Stage, answer, with_boxes},
    world::{DONE, WAITS, finish, has},
};

/// Who plays which role. Claude Code reviews.
const CAST: [(&str, &Player); 3] =
    [("situation-analyst", &GEMINI), ("architect", &CODEX), ("implementer", &OPENCODE)];

/// The steps of one call, known by the line of its brief that names it.
fn call(name: &str, steps: impl IntoIterator<Item = ScriptStep>) -> Vec<ScriptStep> {
    let line = format!("attempt  \"{name}\"\n");
    steps.into_iter().map(|step| step.when_talk_contains(&line)).collect()
}

fn leaves(name: &str, artifact: &str, result: Value) -> Vec<ScriptStep> {
    let write = format!("echo '# Words' > \"$FORGE_OUTBOX/{artifact}\"");
    call(name, [ScriptStep::call(ToolCall::bash(&write)), answer(result), ScriptStep::say("Done.")])
}

fn script() -> Script {
    let pass = json!({"summary": "it is good", "verdict": "pass", "findings": []});
    let shown = json!({"approach": "one script", "key_changes": ["sum.sh"], "risk": "low"});
    let task = json!({"id": "T1", "title": "sum", "after": [], "writes": ["sum.sh"], "tags": {}, "must": ["it works"]});
    let design = json!({"summary": "one script", "shown": shown});
    let shown = json!({"approach": "one task", "risk": "low"});
    let split = json!({"summary": "one task", "shown": shown, "lists": {"tasks": [task]}});
    let build = "echo 'echo $(( $1 + $2 ))' > sum.sh; echo '# Done' > \"$FORGE_OUTBOX/impl-T1.md\"";
    Script::new(
        [
            call("coherence#1", [answer(json!({"summary": "it can be built", "verdict": "pass"}))]),
            leaves("analyse#1", "analysis.md", json!({"summary": "looked"})),
            leaves("investigate#1", "investigation.md", json!({"summary": "found out"})),
            leaves("design#1", "design.md", design),
            leaves("design#1/review#1", "review-design.md", pass.clone()),
            leaves("split#1", "tasks.md", split),
            call(
                "build.T1/implement#1",
                [
                    ScriptStep::call(ToolCall::bash(build)),
                    answer(json!({"summary": "built it", "commit": "Build sum.sh"})),
                    ScriptStep::say("Done."),
                ],
            ),
            leaves("build.T1/implement#1/review#1", "review-T1.md", pass),
        ]
        .concat(),
    )
    .for_each_session()
}

#[test]
#[ignore = "in full size only"]
fn four_programs_of_four_vendors_play_one_feature() {
    let Some(stage) = Stage::of(script(), Credential::ApiKey) else { return };
    let world = &stage.world;
    let mut settings = format!(
        "agent = \"claude\"\n[agents.claude]\nmodel = \"{MODEL}\"\n[verify]\ncommands = [\"sh test.sh\"]\n"
    );
    let mut keys: Vec<ModelKey> = Vec::new();
    let mut variables = Vec::new();
    let what = thread::current().name().unwrap_or("four programs").to_owned();
    for (role, player) in CAST {
        let (variable, folder) = player.found_by;
        let Some(program) = programs::find(variable, folder, player.name, &what) else { return };
        symlink(program, world.beside("programs").join(player.name)).unwrap();
        let _ = write!(
            settings,
            "[agents.{0}]\nmodel = \"{1}\"\n[roles.{role}]\nagent = \"{0}\"\n",
            player.name, player.model
        );
        let key = stage.server.key_without_shape(player.name, with_boxes(script()));
        variables.extend((player.equip)(world, key.url()));
        keys.push(key);
    }
    fs::write(world.repo.join("forge.toml"), settings).unwrap();
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "settings"]);
    let forge = |args: &[&str]| {
        finish(stage.command_at(stage.key.url(), args).envs(variables.iter().cloned()))
    };
    let said = forge(&[
        "run",
        "--flow",
        "feature",
        "--effort",
        "S",
        "--budget",
        "9",
        "Add a sum as a script",
    ]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    let said = forge(&["approve", &run]);
    assert_eq!(said.code, DONE, "{said}");
    let branch = world.view(&run)["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["show", &format!("{branch}:sum.sh")]), "echo $(( $1 + $2 ))");
    let agents: BTreeSet<String> = stage
        .receipts(&run)
        .iter()
        .filter_map(|receipt| Some(receipt["used"]["agent"].as_str()?.to_owned()))
        .collect();
    assert_eq!(agents.into_iter().collect::<Vec<_>>(), ["claude", "codex", "gemini", "opencode"]);
    let phases = world.ok(&["log", &run, "--phases"]);
    has(&phases, &["claude", "codex", "gemini", "opencode"]);
    assert_eq!(stage.left_over(), [], "nobody is left");
    assert!(stage.server.strays().is_empty(), "{:?}", stage.server.strays());
    for key in keys.into_iter().chain([stage.key]) {
        assert!(!key.finish().is_empty());
    }
}
