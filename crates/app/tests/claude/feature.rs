//! Claude Code plays the whole flow `feature` in effort L, from the look at the request to the last commit. A
//! person answers at both checkpoints, and wants the design changed once.

use scripted_model::{Script, ScriptStep, ToolCall};
use serde_json::{Value, json};

use crate::{
    stage::{Stage, answer, paid},
    world::{DONE, WAITS, has},
};

/// The steps of one call, known by the line of its brief that names it.
pub(crate) fn call(name: &str, steps: impl IntoIterator<Item = ScriptStep>) -> Vec<ScriptStep> {
    let line = format!("attempt  \"{name}\"\n");
    steps.into_iter().map(|step| step.when_talk_contains(&line)).collect()
}

/// A call that reads all of its inbox, leaves one artifact, and ends.
pub(crate) fn leaves(name: &str, artifact: &str, text: &str, result: Value) -> Vec<ScriptStep> {
    let look = ScriptStep::call(ToolCall::bash("ls -R \"$FORGE_INBOX\""));
    let write = ScriptStep::call(ToolCall::write(&format!("${{outbox}}/{artifact}"), text));
    call(name, [look, write, answer(result)])
}

fn reviews(name: &str, artifact: &str) -> Vec<ScriptStep> {
    let findings = json!([]);
    let result = json!({"summary": "it is good", "verdict": "pass", "findings": findings});
    leaves(name, artifact, "# pass\n\nNothing was found.\n", result)
}

fn designs(name: &str, approach: &str) -> Vec<ScriptStep> {
    let shown =
        json!({"approach": approach, "key_changes": ["sum.sh", "product.sh"], "risk": "low"});
    let result = json!({"summary": approach, "shown": shown});
    leaves(name, "design.md", &format!("# Design\n\n{approach}\n"), result)
}

fn builds(item: &str, file: &str, text: &str) -> Vec<ScriptStep> {
    let note = format!("${{outbox}}/impl-{item}.md");
    call(
        &format!("build.{item}/implement#1"),
        [
            ScriptStep::call(ToolCall::write(&format!("${{cwd}}/{file}"), text)),
            ScriptStep::call(ToolCall::write(&note, "# What I did\n\nAll of the task.\n")),
            answer(json!({"summary": "built it", "commit": format!("Build {file}")})),
        ],
    )
}

fn script() -> Script {
    let task = |id: &str, after: &[&str], writes: &str| json!({"id": id, "title": writes, "after": after, "writes": [writes], "tags": {}, "must": ["it works"]});
    let tasks = json!([task("T1", &[], "sum.sh"), task("T2", &["T1"], "product.sh")]);
    let split = json!({"summary": "two tasks", "shown": {"approach": "side by side", "risk": "low"}, "lists": {"tasks": tasks}});
    let whole = json!({"summary": "all of it is done", "findings": [], "commit": "none"});
    Script::new(
        [
            call("coherence#1", [answer(json!({"summary": "it can be built", "verdict": "pass"}))]),
            leaves("analyse#1", "analysis.md", "# Analysis\n", json!({"summary": "looked"})),
            leaves(
                "investigate#1",
                "investigation.md",
                "# Facts\n",
                json!({"summary": "found out"}),
            ),
            designs("design#1", "one script"),
            reviews("design#1/review#1", "review-design.md"),
            designs("design#2", "two scripts"),
            reviews("design#2/review#1", "review-design.md"),
            leaves("split#1", "tasks.md", "# Tasks\n", split),
            reviews("split#1/review#1", "review-tasks.md"),
            builds("T1", "sum.sh", "echo $(( $1 + $2 ))\n"),
            reviews("build.T1/implement#1/review#1", "review-T1.md"),
            builds("T2", "product.sh", "echo $(( $1 * $2 ))\n"),
            reviews("build.T2/implement#1/review#1", "review-T2.md"),
            leaves("review#1", "comprehensive-review.md", "# Done\n", whole),
        ]
        .concat(),
    )
    .for_each_session()
    .fail_after_last()
}

#[test]
fn claude_plays_the_whole_feature_flow_and_a_person_answers_at_both_checkpoints() {
    let Some(stage) = Stage::solo(script()) else { return };
    let world = &stage.world;
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "settings"]);
    let words = "Two scripts, please, so that each can be used alone.";
    let ask = [
        "run",
        "--flow",
        "feature",
        "--effort",
        "L",
        "--budget",
        "9",
        "Add a sum and a product as scripts",
    ];
    let said = stage.forge(&ask);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    has(&said.out, &["Build it like this?", "one script", "low", "passed"]);
    world.ok(&["answer", &run, "Q1", "revise", words]);
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&world.brief(&run, "design#2"), &[words]);
    world.ok(&["answer", &run, "Q2", "approve"]);
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["Build it in these tasks?", "T1", "T2"]);
    world.ok(&["answer", &run, "Q3", "approve"]);
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");

    let view = world.view(&run);
    let branch = view["branch"].as_str().unwrap();
    assert_eq!(world.git(&["show", &format!("{branch}:product.sh")]), "echo $(( $1 * $2 ))");
    let files = world.git(&["ls-tree", "-r", "--name-only", branch]);
    for name in
        ["analysis.md", "design.md", "review-tasks.md", "comprehensive-review.md", "summary.md"]
    {
        has(&files, &[name]);
    }
    assert_eq!(world.git(&["status", "--porcelain"]), "", "the person's checkout is left alone");
    assert_eq!(stage.left_over(), [], "nobody is left");
    assert!(stage.server.strays().is_empty(), "{:?}", stage.server.strays());
    let sum = view["spent"].as_u64().unwrap();
    assert_eq!(
        sum,
        paid(&stage.key.finish()),
        "every answer that the model gave is paid for, the first look too"
    );
}
