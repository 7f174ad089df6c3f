//! Claude Code plays all roles of the shipped flow `change`: a planner, two implementers at once, and reviewers, one
//! of whom sends the work back. Files are really edited, and every answer is paid once.

use scripted_model::{Script, ScriptStep, ToolCall};
use serde_json::{Value, json};

use crate::{
    stage::{ANSWER_MICROS, MODEL, Stage, answer, paid},
    world::{DONE, Running, has},
};

/// The steps of one call, known by the line of its brief that names it.
fn call(name: &str, steps: impl IntoIterator<Item = ScriptStep>) -> Vec<ScriptStep> {
    let line = format!("attempt  \"{name}\"\n");
    steps.into_iter().map(|step| step.when_talk_contains(&line)).collect()
}

fn task(id: &str, title: &str, writes: &str) -> Value {
    json!({"id": id, "title": title, "after": [], "writes": [writes], "tags": {}, "must": ["the tests pass"]})
}

fn review(task: &str, verdict: &str, findings: &Value) -> [ScriptStep; 2] {
    let path = format!("${{outbox}}/review-{task}.md");
    [
        ScriptStep::call(ToolCall::bash("cat \"$FORGE_INBOX/change.diff\""))
            .and_call(ToolCall::write(&path, &format!("{verdict}\n"))),
        answer(json!({"summary": "looked at it", "verdict": verdict, "findings": findings})),
    ]
}

fn script() -> Script {
    let tasks = json!([
        task("T1", "Add up any number of numbers", "sum.sh"),
        task("T2", "Multiply two numbers", "product.sh")
    ]);
    let plan = answer(json!({
        "summary": "two tasks", "lists": {"tasks": tasks},
        "shown": {"approach": "two small scripts", "key_changes": ["sum.sh", "product.sh"], "risk": "low"}
    }));
    let fault = json!([{"severity": "major", "path": "product.sh", "line": 1, "what": "it adds", "why": "it should multiply",
        "proof": {"quote": "echo $(( $1 + $2 ))"}}]);
    let product = |sign| format!("echo $(( $1 {sign} $2 ))\n");
    Script::new(
        [
            call("plan#1", [
                ScriptStep::call(ToolCall::bash("ls && cat sum.sh")).saying("I look at the project."),
                ScriptStep::call(ToolCall::write("${outbox}/plan.md", "# Plan\n\nSum, and product.\n")),
                plan,
            ]),
            call("build.T1/implement#1", [
                ScriptStep::call(ToolCall::read("${cwd}/sum.sh")).wait_for("T1"),
                ScriptStep::call(ToolCall::edit("${cwd}/sum.sh", "echo $(( $1 + $2 ))",
                    "s=0; for n; do s=$(( s + n )); done; echo $s")),
                ScriptStep::call(ToolCall::bash("sh sum.sh 1 2 3 4")),
                answer(json!({"summary": "adds them all", "commit": "Add up any number of numbers"})),
            ]),
            call("build.T1/implement#1/review#1", review("T1", "pass", &json!([]))),
            call("build.T2/implement#1", [
                ScriptStep::call(ToolCall::write("${cwd}/product.sh", &product("+"))).wait_for("T2"),
                answer(json!({"summary": "multiplies", "commit": "Multiply two numbers"})),
            ]),
            call("build.T2/implement#1/review#1", review("T2", "revise", &fault)),
            call("build.T2/implement#2", [
                ScriptStep::call(ToolCall::bash("cat product.sh")),
                ScriptStep::call(ToolCall::read("${cwd}/product.sh")),
                ScriptStep::call(ToolCall::edit("${cwd}/product.sh", "$1 + $2", "$1 * $2")),
                answer(json!({"summary": "now it multiplies", "commit": "Multiply two numbers"})),
            ]),
            call("build.T2/implement#2/review#1", review("T2", "pass", &json!([]))),
        ]
        .concat(),
    )
    .for_each_session()
    .fail_after_last()
}

#[test]
fn claude_plays_all_roles_of_the_flow_change_with_two_tasks_at_once_and_one_sent_back() {
    let Some(stage) = Stage::solo(script()) else { return };
    let world = &stage.world;
    world.write("sum.sh", "echo $(( $1 + $2 ))\n");
    world.write("test.sh", "test \"$(sh sum.sh 2 3)\" = 5 && test -e README.md\n");
    world.git(&["add", "sum.sh", "test.sh"]);
    world.git(&["commit", "--quiet", "-m", "a sum"]);
    let args = ["run", "--auto", "--flow", "change", "--budget", "5", "Sum and product"];
    let running = Running::of(&mut stage.command_at(stage.key.url(), &args));
    stage.key.wait_until_reached("T1");
    stage.key.wait_until_reached("T2");
    // Both are at work, so one is not waiting for the other.
    stage.key.release("T1");
    stage.key.release("T2");
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();

    let view = world.view(&run);
    let branch = view["branch"].as_str().unwrap();
    let head = world.git(&["rev-parse", branch]);
    assert_eq!(view["head"], head.as_str(), "the branch is at the result");
    has(&world.git(&["show", &format!("{branch}:sum.sh")]), &["for n; do"]);
    assert_eq!(world.git(&["show", &format!("{branch}:product.sh")]), "echo $(( $1 * $2 ))");
    has(&world.git(&["log", "--format=%s", branch]), &["Add up any number", "Multiply two"]);
    has(&said.out, &["T2 sent back by review", "it adds"]);
    has(&world.brief(&run, "build.T2/implement#2"), &["it adds", "it should multiply"]);
    assert_eq!(world.git(&["status", "--porcelain"]), "", "the person's checkout is left alone");
    let facts = world.facts(&run);
    let greens = facts.iter().filter_map(|fact| fact["judged"]["receipt"]["evidence"].as_array());
    assert!(greens.flatten().any(|one| one["colour"] == "green"), "Forge ran the checks itself");

    let receipts = stage.receipts(&run);
    let of_agents: Vec<&Value> =
        receipts.iter().filter(|receipt| receipt.get("used").is_some()).collect();
    assert_eq!(of_agents.len(), 7, "a plan, three implementations, three reviews");
    let mut sum = 0;
    for receipt in of_agents {
        let used = &receipt["used"];
        assert_eq!(used["agent"], "claude", "{receipt:#}");
        assert_eq!(used["models"][0]["model"], MODEL, "{receipt:#}");
        assert_eq!(used["models"][0]["provider"], "anthropic");
        assert_eq!(used["models"].as_array().unwrap().len(), 1);
        let micros = receipt["spent"]["cost"]["known"].as_u64().expect("the cost is reported");
        let answers = micros / ANSWER_MICROS;
        assert_eq!(micros, answers * ANSWER_MICROS);
        let tokens = &receipt["spent"]["tokens"];
        assert_eq!(tokens["input"], 1000 * answers, "{receipt:#}");
        assert_eq!(tokens["output"], 50 * answers);
        assert_eq!(tokens["cache_read"], 200 * answers);
        assert_eq!(tokens["cache_write"], 100 * answers);
        sum += micros;
    }
    assert_eq!(view["spent"], sum, "the ledger is the sum of the receipts");
    assert_eq!(view["unknown_costs"], 0);
    let stats: Value = serde_json::from_str(&world.ok(&["stats", &run, "--json"])).unwrap();
    assert_eq!(stats["total"]["known"], sum, "{stats:#}");
    assert_eq!(stage.left_over(), [], "nobody is left");
    assert!(stage.server.strays().is_empty(), "{:?}", stage.server.strays());
    assert_eq!(sum, paid(&stage.key.finish()), "and of all answers that the model gave");
}
