//! What was spent, by everything it can be added up by.

use std::{fs, os::unix::fs::PermissionsExt as _};

use forge_api::spending::SpendingView;
use serde_json::{Value, json};

use crate::{
    reads::fits,
    world::{CONTENT, DONE, WAITS, World, has},
};

fn view(world: &World, more: &[&str]) -> Value {
    let text = world.ok(&[&["stats", "--json"], more].concat());
    let view: Value = serde_json::from_str(&text).unwrap();
    fits(schemars::schema_for!(SpendingView), &view);
    view
}

#[test]
fn without_any_spending_it_says_how_to_begin() {
    let world = World::new();
    has(&world.ok(&["stats"]), &["Nothing spent yet", "Start a run: forge "]);
    assert_eq!(view(&world, &[])["total"]["calls"], 0);
    assert!(world.is_untouched());
    world.flow("good", "[[stage]]\nname = \"a\"\ncommand = \"true\"\n");
    assert_eq!(world.run("good", &[]).code, DONE);
    has(&world.ok(&["stats", "--days", "7"]), &["Nothing spent since 20"]);
}

#[test]
fn all_runs_or_one_are_added_up_by_everything() {
    let world = World::new();
    world.scenario(CONTENT);
    for _ in 0..2 {
        assert_eq!(world.run("draft", &[]).code, WAITS);
    }
    let run = world.latest();
    let said = world.ok(&["stats"]);
    has(&said, &["$0.03 · 4 calls · 3.0k in · 500 out\n", "DAY ", "################"]);
    assert!(!said.contains("MODEL "), "no model is known: {said}");
    assert!(said.lines().count() < 24 && said.lines().all(|line| line.len() <= 80), "{said}");
    for (by, keys) in
        [("run", 2), ("stage", 1), ("role", 2), ("model", 1), ("agent", 1), ("day", 1)]
    {
        let all = view(&world, &["--by", by]);
        assert_eq!(all["tables"][0]["by"], by);
        let rows = all["tables"][0]["rows"].as_array().unwrap();
        assert_eq!(rows.len(), keys, "{all:#}");
        let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("known"), sum("calls")), (30_000, 4));
        let one = view(&world, &[&run, "--by", by]);
        assert_eq!(one["total"]["known"], 15_000, "{one:#}");
        has(&world.ok(&["stats", "--by", by]), &[by.to_uppercase().as_str(), "COST"]);
    }
    let roles = view(&world, &["--by", "role"]);
    let first = &roles["tables"][0]["rows"][0];
    assert_eq!((&first["key"], &first["known"]), (&json!("writer"), &json!(20_000)));
    assert_eq!(view(&world, &["--days", "1"])["total"]["known"], 30_000);
    let status: Value = serde_json::from_str(&world.ok(&["status", "--json"])).unwrap();
    let rows = status.as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["spent"].as_u64().unwrap()).sum::<u64>(), 30_000);
    has(&world.refused(&["stats", "nope"]), &["no run `"]);
    assert_eq!(world.forge(&["stats", "--days", "0"]).code, 2);
}

/// A program that plays any role of the flow `draft`, and says of its use what is asked for.
fn program(world: &World, name: &str, says: &str) {
    let path = world.beside(name);
    let text = format!(
        "#!/bin/sh\necho '{says}'\necho draft > $FORGE_OUTBOX/draft.md\necho PASS > $FORGE_OUTBOX/review.md\n\
         echo \"{{\\\"forge\\\":1,\\\"attempt\\\":\\\"$FORGE_CALL\\\",\\\"status\\\":\\\"done\\\",\\\"summary\\\":\\\"ok\\\",\\\"verdict\\\":\\\"pass\\\",\\\"findings\\\":[],\
         \\\"shown\\\":{{\\\"approach\\\":\\\"x\\\",\\\"key_changes\\\":[],\\\"risk\\\":\\\"low\\\"}}}}\" > $FORGE_OUTBOX/result.json\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn cost_that_is_estimated_and_cost_and_tokens_that_nobody_knows_are_said_and_never_nothing() {
    let world = World::new();
    let line = r#"{"type":"spent","provider":"anthropic","model":"claude-sonnet-4-5","input":1000000,"output":0}"#;
    program(&world, "teller", line);
    program(&world, "quiet", "I say nothing of money");
    let settings = |writer: &str, reviewer: &str| {
        let path = |name: &str| world.beside(name).to_str().unwrap().to_owned();
        let (teller, quiet) = (path("teller"), path("quiet"));
        let text = format!(
            "agent = \"{writer}\"\nroles.reviewer.agent = \"{reviewer}\"\n[agents.teller]\ncommand = [\"{teller}\"]\n[agents.quiet]\ncommand = [\"{quiet}\"]\n"
        );
        world.write("forge.local.toml", text);
    };
    settings("teller", "teller");
    let said = world.run("draft", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&world.ok(&["status", &world.latest()]), &["2.0M"]);
    let said = world.ok(&["stats"]);
    has(&said, &["~$", "~ is estimated from tokens, by the list prices of 20"]);
    settings("quiet", "quiet");
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let said = world.ok(&["stats", &world.latest(), "--by", "agent"]);
    has(&said, &["2 calls; no agent reported cost or tokens", "quiet ", " unknown"]);
    let quiet = said.lines().find(|line| line.starts_with("quiet ")).unwrap();
    assert!(!quiet.split_whitespace().any(|word| word == "0"), "nobody told of tokens: {said}");
    assert!(!said.contains("$0") && !said.contains("0 tokens"), "{said}");
    let said = world.ok(&["status", &world.latest()]);
    assert!(said.contains("unknown") && !said.contains("0 tokens"), "{said}");
    let said = world.ok(&["stats", "--by", "agent"]);
    has(&said, &["at least ~$6.00 · ", "(2 of unknown cost)"]);
    let both = view(&world, &["--by", "agent"]);
    assert_eq!(both["total"]["unknown_calls"], 2);
    assert!(both["total"]["estimated"].as_u64().unwrap() > 0);
}

#[test]
fn a_run_that_cannot_be_read_is_named_and_the_others_are_counted() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let mut bytes = fs::read(world.database()).unwrap();
    let needle = b"question_asked";
    let at = bytes.windows(needle.len()).rposition(|window| window == needle);
    bytes[at.expect("both ask something")] ^= 1;
    fs::write(world.database(), bytes).unwrap();
    let said = world.forge(&["stats"]);
    assert_eq!(said.code, DONE, "{said}");
    let named =
        said.err.lines().filter(|line| line.ends_with("Forge no longer writes to it")).count();
    has(&said.err, &["warning: 20", " is not counted: ", "is damaged"]);
    assert_eq!(named, 1, "{said}");
    has(&said.out, &["$0.02 · 2 calls"]);
    assert_eq!(view(&world, &[])["unreadable"].as_array().unwrap().len(), 1);
}
