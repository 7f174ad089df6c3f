//! What is set, by whom, what it changes, and what a repository may run.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use forge_api::settings::{Explained, SettingRow};
use serde_json::{Value, json};

use crate::{
    reads::fits,
    world::{CONTENT, DONE, World, finish, has},
};

/// A place beside the repository: the world's folder is the user's home.
fn at_home(world: &World, path: &str) -> PathBuf {
    world.repo.parent().unwrap().join(path)
}

/// A run uses what is committed, and so does what is allowed.
fn commit(world: &World) {
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "more"]);
}

fn explained(world: &World, key: &str) -> Value {
    serde_json::from_str(&world.ok(&["config", "explain", key, "--json"])).unwrap()
}

#[test]
fn each_layer_overrules_those_below_it_and_all_of_them_are_shown() {
    let world = World::new();
    let explain = |variables: &[(&str, &str)]| {
        let mut command = world.command(&["config", "explain", "limits.at_once", "--json"]);
        let said = finish(command.envs(variables.iter().copied()));
        assert_eq!(said.code, DONE, "{said}");
        let explained: Value = serde_json::from_str(&said.out).unwrap();
        (explained["layer"].as_str().unwrap().to_owned(), explained["value"].clone(), explained)
    };
    let of = |(layer, value, _): (String, Value, Value)| (layer, value);
    assert_eq!(of(explain(&[])), ("shipped".to_owned(), json!(8)));
    world.ok(&["config", "set", "limits.at_once", "2", "--user"]);
    assert_eq!(of(explain(&[])), ("user".to_owned(), json!(2)));
    world.ok(&["config", "set", "limits.at_once", "3"]);
    assert_eq!(of(explain(&[])), ("repo".to_owned(), json!(3)));
    world.ok(&["config", "set", "limits.at_once", "4", "--local"]);
    assert_eq!(of(explain(&[])), ("local".to_owned(), json!(4)));
    let (layer, value, all) = explain(&[("FORGE_LIMITS_AT_ONCE", "5")]);
    assert_eq!((layer.as_str(), value), ("environment", json!(5)));
    let layers: Vec<&str> = all["said"]
        .as_array()
        .unwrap()
        .iter()
        .map(|said| said["layer"].as_str().unwrap())
        .collect();
    assert_eq!(layers, ["environment", "local", "repo", "user", "shipped"]);
    assert_eq!(all["said"][2]["file"], world.repo.join("forge.toml").to_str().unwrap());
    assert_eq!(all["said"][2]["line"], 2);
    assert!(world.is_untouched(), "settings make no runs");
}

#[test]
fn the_users_file_lies_where_xdg_says() {
    let world = World::new();
    let elsewhere = at_home(&world, "elsewhere");
    let mut command = world.command(&["config", "set", "--user", "limits.budget", "7"]);
    let said = finish(command.env("XDG_CONFIG_HOME", &elsewhere).current_dir(at_home(&world, "")));
    assert_eq!(said.code, DONE, "{said}");
    let text = fs::read_to_string(elsewhere.join("forge/config.toml")).unwrap();
    assert_eq!(text, "[limits]\nbudget = \"7\"\n");
    assert!(!fs::read_to_string(world.user_file()).unwrap().contains("\"7\""));
    let mut command = world.command(&["config", "set", "--user", "limits.budget", "7"]);
    let said = finish(command.env_remove("HOME"));
    has(&said.err, &["neither XDG_CONFIG_HOME nor HOME is set", "help: "]);
    let said = finish(world.command(&["config", "list"]).env_remove("HOME"));
    assert_eq!(said.code, DONE, "without a home there is only no file of the user's: {said}");
}

#[test]
fn what_is_printed_as_json_fits_its_schema() {
    let world = World::new();
    world.write("forge.toml", "[verify]\ncommands = [\"true\"]\n");
    let rows: Value = serde_json::from_str(&world.ok(&["config", "list", "--json"])).unwrap();
    fits(schemars::schema_for!(Vec<SettingRow>), &rows);
    for row in rows.as_array().unwrap() {
        let explained = explained(&world, row["key"].as_str().unwrap());
        fits(schemars::schema_for!(Explained), &explained);
        assert_eq!(explained["value"], row["value"]);
    }
}

#[test]
fn the_schema_of_the_file_takes_what_is_right_and_refuses_what_is_not() {
    let world = World::new();
    let schema: Value = serde_json::from_str(&world.ok(&["config", "schema"])).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (right, text) in [
        (json!({}), ""),
        (
            json!({"agent": "scripted", "limits": {"at_once": 1, "budget": "2.50"}}),
            "agent = \"scripted\"\nlimits = { at_once = 1, budget = \"2.50\" }",
        ),
        (
            json!({"verify": {"commands": [], "final": "cached"}, "land": {"branch": "x/{run}"}}),
            "verify = { commands = [], final = \"cached\" }\nland.branch = \"x/{run}\"",
        ),
        (
            json!({"workspace": {"setup": ["npm ci"], "claims": "block"}}),
            "[workspace]\nsetup = [\"npm ci\"]\nclaims = \"block\"",
        ),
        (
            json!({"agents": {"scripted": {"scenario": "a.toml"}}}),
            "agents.scripted.scenario = \"a.toml\"",
        ),
        (
            json!({"agent": "mine", "agents": {"mine": {"command": ["./a", "-x"], "pass": ["K"]}, "claude": {}}}),
            "agent = \"mine\"\nagents.mine = { command = [\"./a\", \"-x\"], pass = [\"K\"] }\nagents.claude = {}",
        ),
        (
            json!({"agents": {"w": {"like": "claude", "model": "m"}}, "roles": {"Reviewer": {"agent": "w", "model": "x[1m]"}}}),
            "agents.w = { like = \"claude\", model = \"m\" }\nroles.Reviewer = { agent = \"w\", model = \"x[1m]\" }",
        ),
        (
            json!({"secrets": {"files": [".env"], "allow": ["tests/**"]}}),
            "secrets = { files = [\".env\"], allow = [\"tests/**\"] }",
        ),
    ] {
        assert!(validator.is_valid(&right), "{right}");
        world.write("forge.toml", text);
        world.ok(&["config", "list"]);
    }
    for wrong in [
        json!({"agnt": "scripted"}),
        json!({"agent": "Claude"}),
        json!({"limits": {"at_once": 0}}),
        json!({"limits": {"at_once": 1025}}),
        json!({"limits": {"budget": 3}}),
        json!({"limits": {"budgt": "3"}}),
        json!({"verify": {"commands": "make"}}),
        json!({"verify": {"commands": [""]}}),
        json!({"agents": {"Claude": {}}}),
        json!({"agents": {"claude": {"scenario": "a.toml"}}}),
        json!({"agents": {"scripted": {"command": ["x"]}}}),
        json!({"agents": {"mine": {"command": []}}}),
        json!({"agents": {"mine": {"command": "x"}}}),
        json!({"agents": {"mine": {"like": "goose"}}}),
        json!({"agents": {"mine": {"model": "-x"}}}),
        json!({"agents": {"mine": {"pass": ["A=B"]}}}),
        json!({"roles": {"a b": {}}}),
        json!({"roles": {"reviewer": {"like": "claude"}}}),
        json!({"secrets": {"file": []}}),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn setting_a_value_keeps_the_rest_of_the_file_and_says_who_overrules_it() {
    let world = World::new();
    let text = "# ours\n[limits]\nbudget = \"20\" # enough\n";
    world.write("forge.toml", text);
    world.write("forge.local.toml", "limits.budget = \"1\"\n");
    let said = world.ok(&["config", "set", "limits.budget", "30"]);
    has(&said, &["limits.budget = \"30\"", "forge.local.toml:1 sets another value, and wins"]);
    let now = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    assert_eq!(now, text.replace("20", "30"));
    for (args, expected) in [
        (["limits.budgt", "3"], "did you mean `limits.budget`?"),
        (["limits.at_once", "0"], "between 1 and 1024"),
        (["workspace.copy", "../x"], "leads out of the checkout"),
        (["verify.commands", "[\"a\""], "expected a list of commands"),
    ] {
        let said = world.refused(&["config", "set", args[0], args[1]]);
        has(&said, &["error: ", expected, "help: "]);
    }
    assert_eq!(fs::read_to_string(world.repo.join("forge.toml")).unwrap(), now);
    assert_eq!(world.git(&["status", "--short"]), "?? forge.local.toml\n?? forge.toml");
}

#[test]
fn a_table_of_an_agent_is_set_shown_and_taken_out_like_any_other_key() {
    let world = World::new();
    let text = || fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    has(
        &world.refused(&["config", "set", "agent", "mine"]),
        &["unknown agent `mine`", "help: ", "help: forge agents"],
    );
    assert!(!world.repo.join("forge.toml").exists());
    world.ok(&["config", "set", "agents.mine.command", "[\"./a.sh\", \"--fast\"]"]);
    world.ok(&["config", "set", "agent", "mine"]);
    world.ok(&["config", "set", "--local", "agents.mine.command", "/b.sh"]);
    assert_eq!(text(), "agent = \"mine\"\n[agents.mine]\ncommand = [\"./a.sh\", \"--fast\"]\n");
    let all = explained(&world, "agents.mine.command");
    assert_eq!((&all["value"], &all["layer"]), (&json!(["/b.sh"]), &json!("local")));
    assert_eq!(all["said"][1]["value"], json!(["./a.sh", "--fast"]));
    assert_eq!(all["variable"], "FORGE_AGENTS_MINE_COMMAND");
    has(&world.ok(&["config", "list"]), &["agents.mine.command", "[\"/b.sh\"]"]);
    let said = world.ok(&["config", "unset", "--local", "agents.mine.command"]);
    has(&said, &["agents.mine.command removed", "now [\"./a.sh\", \"--fast\"] is used"]);
    // Whoever plays needs it.
    let before = text();
    has(&world.refused(&["config", "unset", "agents.mine.command"]), &["unknown agent `mine`"]);
    assert_eq!(text(), before);
    world.ok(&["config", "unset", "agent"]);
    world.ok(&["config", "unset", "agents.mine.command"]);
    assert_eq!(text(), "[agents.mine]\n");
    has(&world.refused(&["config", "unset", "agent"]), &["`agent` is not set in", "help: "]);
    assert!(!world.ok(&["config", "list"]).contains("agents.mine"));
}

#[test]
fn an_agent_that_comes_with_a_repository_is_shown_with_what_it_gets() {
    let world = World::new();
    let text = "agent = \"mine\"\n[agents.mine]\ncommand = [\"./tools/agent.sh\", \"a b\"]\npass = [\"MY_KEY\"]\n";
    world.write("forge.toml", text);
    commit(&world);
    let said = world.forge(&["config", "approve"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.err, &["$ ./tools/agent.sh 'a b'  # the agent mine, which gets $MY_KEY"]);
    has(&world.ok(&["config", "approve"]), &["allowed already"]);
    has(&world.ok(&["config", "allow", "--undo"]), &["Nothing is allowed any more."]);
    has(&world.ok(&["config", "allow", "--undo"]), &["Nothing was allowed."]);
    has(&world.forge(&["config", "allow"]).out, &["Allowed. To take it back: "]);
    world.ok(&["config", "set", "agents.mine.pass", "[\"MY_KEY\", \"OTHER\"]"]);
    commit(&world);
    has(&world.forge(&["config", "approve"]).err, &["which gets $MY_KEY, $OTHER"]);
    // What a person set is the person's own.
    world.git(&["rm", "--quiet", "forge.toml"]);
    commit(&world);
    world.write("forge.local.toml", text);
    has(&world.ok(&["config", "approve"]), &["no commands"]);
}

#[test]
fn checks_that_a_person_takes_away_are_told_by_every_look_at_the_settings() {
    let world = World::new();
    world.write("forge.toml", "[verify]\ncommands = [\"cargo test\"]\n");
    world.write("forge.local.toml", "verify.commands = []\n");
    for args in [&["config", "list"][..], &["config", "explain", "agent"]] {
        let said = world.ok(args);
        // Lines break where the path of this world says.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        has(&said, &["forge.local.toml:1 leaves out `cargo test`", "every result is unverified"]);
    }
    let notes = explained(&world, "agent")["notes"].clone();
    assert_eq!(notes.as_array().unwrap().len(), 2, "{notes}");
}

#[test]
fn a_value_that_is_set_is_what_a_run_uses() {
    let world = World::new();
    world.scenario(CONTENT);
    commit(&world);
    let mut command = world.command(&["run", "do it", "--auto"]);
    let said = finish(command.env("FORGE_LIMITS_BUDGET", "0.000001"));
    assert_eq!(said.code, crate::world::PARKED, "one call costs more than that: {said}");
    world.ok(&["config", "set", "limits.budget", "3", "--user"]);
    assert_eq!(world.forge(&["run", "do it", "--auto"]).code, DONE);
    assert_eq!(world.view(&world.latest())["budget"], 3_000_000);
}

#[test]
fn a_variable_that_is_wrong_is_refused_and_one_of_our_own_is_not() {
    let world = World::new();
    world.scenario(CONTENT);
    commit(&world);
    for (name, value, expected) in [
        ("FORGE_LIMIT_BUDGET", "5", "did you mean `FORGE_LIMITS_BUDGET`?"),
        ("FORGE_LIMITS_BUDGET", "much", "FORGE_LIMITS_BUDGET: limits.budget: \"much\""),
        ("FORGE_VERIFY_FINAL", "", "\"pristine\" or \"cached\""),
        ("FORGE_AGENTS_MINE_MODEL", "x", "FORGE_AGENTS_MINE_MODEL is not a setting"),
    ] {
        let said = finish(world.command(&["run", "do it"]).env(name, value));
        assert_eq!(said.code, crate::world::WRONG, "{said}");
        has(&said.err, &["error: the variable ", expected, "help: unset"]);
    }
    let said = finish(world.command(&["run", "do it"]).env("FORGE_AGENT", "cloude"));
    has(&said.err, &["FORGE_AGENT: unknown agent `cloude`; did you mean `claude`?", "help: "]);
    assert!(world.is_untouched());
    let said = finish(world.command(&["config", "list"]).env("FORGE_INBOX", "1"));
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn the_commands_of_a_repository_are_shown_and_allowed_once() {
    let world = World::new();
    has(&world.ok(&["config", "approve"]), &["no commands"]);
    world.write(
        "forge.toml",
        "[workspace]\nsetup = [\"npm ci\"]\n[verify]\ncommands = [\"npm test\"]\n",
    );
    world.flow(
        "own",
        "[[stage]]\nname = \"a\"\ncommand = \"make it\"\ngates = [{ command = \"look\" }]\n[[stage]]\nname = \"b\"\nflow = \"inner\"\n",
    );
    world.flow("inner", "[[stage]]\nname = \"c\"\ncommand = \"deep inside\"\n");
    commit(&world);
    let said = world.forge(&["config", "approve"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.err, &["$ npm ci", "$ npm test"]);
    assert!(!said.err.contains("make it"), "the shipped flow has none of the project's: {said}");
    let approved = at_home(&world, ".local/state/forge/approved");
    let files: Vec<_> = fs::read_dir(&approved).unwrap().flatten().collect();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    has(&fs::read_to_string(files[0].path()).unwrap(), &["ada", "npm ci", "npm test"]);
    has(&world.ok(&["config", "approve"]), &["allowed already"]);
    // Another flow and other commands are asked about anew.
    let said = world.forge(&["config", "approve", "--flow", "own"]);
    has(&said.err, &["$ npm ci", "$ npm test", "$ make it", "$ look", "$ deep inside"]);
    // Who names no flow means the one that a run would take.
    world.ok(&["config", "set", "flow", "own"]);
    commit(&world);
    has(&world.ok(&["config", "approve"]), &["allowed already"]);
    world.ok(&["config", "unset", "flow"]);
    world.ok(&["config", "set", "verify.commands", "npm test -- --all"]);
    commit(&world);
    has(&world.forge(&["config", "approve"]).err, &["$ npm test -- --all"]);
    assert_eq!(fs::read_dir(&approved).unwrap().count(), 3);
    // What a person set is the person's own.
    world.git(&["rm", "--quiet", "forge.toml"]);
    commit(&world);
    world.ok(&["config", "set", "--local", "verify.commands", "anything"]);
    has(&world.ok(&["config", "approve"]), &["no commands"]);
    world.git(&["add", "--force", "forge.local.toml"]);
    has(&world.forge(&["config", "approve"]).err, &["$ anything"]);
    has(&world.ok(&["config", "list"]), &["note: forge.local.toml is in git"]);
}

#[test]
fn an_agent_neither_sets_nor_allows_anything() {
    let world = World::new();
    let before = fs::read_to_string(world.user_file()).unwrap();
    world.write("forge.toml", "[verify]\ncommands = [\"true\"]\n");
    commit(&world);
    for args in [
        &["config", "set", "limits.budget", "1000"][..],
        &["config", "set", "limits.budget", "1000", "--user"],
        &["config", "set", "limits.budget", "1000", "--local"],
        &["config", "unset", "verify.commands"],
        &["config", "approve"],
    ] {
        let said =
            finish(world.command(args).env("FORGE_ATTEMPT_DIR", "/x").env("FORGE_CALL", "a#1"));
        assert_eq!(said.code, crate::world::WRONG, "{said}");
        has(&said.err, &["inside an attempt"]);
    }
    assert_eq!(fs::read_to_string(world.user_file()).unwrap(), before);
    assert!(!at_home(&world, ".local").exists());
    assert!(!world.repo.join("forge.local.toml").exists());
}
