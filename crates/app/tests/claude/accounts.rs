//! Claude Code with two subscriptions: when one has reached its limit, or nearly, the other one goes on, and nobody is asked.

use std::fs;

use scripted_model::{Script, ScriptStep, claude::Credential};

use crate::{
    stage::{Stage, TOKEN, done, note},
    world::{DONE, finish, has},
};

/// Two accounts, each with a folder of its own; the second one's token is in a variable of its own.
const TWO: &str = "[accounts.first]\nagent = \"claude\"\nenv = [\"CLAUDE_CONFIG_DIR=~/first\"]\n\
    [accounts.second]\nagent = \"claude\"\nenv = [\"CLAUDE_CONFIG_DIR=~/second\", \
    \"CLAUDE_CODE_OAUTH_TOKEN=$SECOND_TOKEN\"]\nexpires = \"2999-12-31\"\n";

/// A stage whose person has both accounts.
fn stage(script: Script) -> Option<Stage> {
    let stage = Stage::of(script, Credential::Subscription)?;
    let file = stage.world.user_file();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, TWO).unwrap();
    Some(stage)
}

#[test]
fn a_limit_in_the_middle_moves_the_work_to_the_second_account() {
    let reset = 4_000_000_000;
    let script =
        Script::new([note(), ScriptStep::usage_window("five_hour", reset), note(), done()]);
    let Some(stage) = stage(script.fail_after_last()) else { return };
    let mut command = stage.command_at(stage.key.url(), &["run", "--flow", "solo", "do it"]);
    let said = finish(command.env("SECOND_TOKEN", TOKEN));
    assert_eq!(said.code, DONE, "{said}");
    let run = stage.world.latest();
    let ended = stage.ended(&run);
    assert_eq!(ended[0]["receipt"]["used_up"], "first", "{ended:#?}");
    assert_eq!(ended[1]["outcome"], "done");
    let accounts: Vec<&str> =
        ended.iter().filter_map(|one| one["receipt"]["used"]["account"].as_str()).collect();
    assert_eq!(accounts, ["first", "second"]);
    let facts = stage.world.facts(&run);
    assert!(!facts.iter().any(|fact| fact.get("question_asked").is_some()), "nobody is asked");
    assert!(stage.world.beside("first").join("projects").is_dir());
    assert!(stage.world.beside("second").join("projects").is_dir());
    let list = stage.world.ok(&["accounts"]);
    has(&list, &["first       claude, used up until 2096-10-02"]);
    assert_eq!(stage.left_over(), [], "nobody is left");
    let requests = stage.key.finish();
    assert_ne!(requests[0].session, requests.last().unwrap().session, "a session has one account");
}

#[test]
fn an_account_that_is_nearly_used_up_is_left_before_its_limit() {
    let reset = "4000000000";
    let nearly = note()
        .header("anthropic-ratelimit-unified-status", "allowed")
        .header("anthropic-ratelimit-unified-reset", reset)
        .header("anthropic-ratelimit-unified-representative-claim", "five_hour")
        .header("anthropic-ratelimit-unified-5h-status", "allowed_warning")
        .header("anthropic-ratelimit-unified-5h-reset", reset)
        .header("anthropic-ratelimit-unified-5h-utilization", "0.93");
    let Some(stage) = stage(Script::new([nearly, done(), note(), done()])) else { return };
    let run = |more: &[&str]| {
        let args = [&["run", "--flow", "solo", "do it"], more].concat();
        let mut command = stage.command_at(stage.key.url(), &args);
        let said = finish(command.env("SECOND_TOKEN", TOKEN));
        assert_eq!(said.code, DONE, "{said}");
        let ended = stage.ended(&stage.world.latest());
        ended[0]["receipt"]["used"]["account"].as_str().unwrap().to_owned()
    };
    assert_eq!(run(&[]), "first");
    let list = finish(stage.world.command(&["accounts"]).env("SECOND_TOKEN", TOKEN)).out;
    has(&list, &["first       claude, nearly used up", "five hour: 93 % used, new at 2096-10-02"]);
    assert_eq!(run(&[]), "second");
    stage.key.finish();
}
