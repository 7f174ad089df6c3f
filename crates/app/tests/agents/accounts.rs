//! Who works in the place of whom: the next account or agent at a limit, another model or agent where one cannot, a reviewer of another
//! vendor; and what a person's own prices make of tokens.

use std::fs;

use crate::{
    mine::{self, PLAYS_ALL},
    world::{DONE, Said, WAITS, World, finish, has},
};

/// Who was called: the agent, its account and its model.
const KEEPS: &str = "echo \"$(basename $0) ${WHO##*/} ${FORGE_MODEL:-none}\" >> $HOME/asked\n";
/// It has nothing left for some hours.
const USED_UP: &str =
    r#"echo '{"type":"limited","kind":"usage","what":"the weekly limit"}'; exit 1"#;

/// Two accounts of the agent, in the person's own settings.
const TWO: &str = "[accounts.first]\nagent = \"mine\"\nenv = [\"WHO=~/first\", \"TOKEN=$FIRST_TOKEN\"]\nexpires = \"2999-01-01\"\n\
                   [accounts.second]\nagent = \"mine\"\nenv = [\"WHO=~/second\"]\nexpires = \"2998-01-01\"\n";

/// A program plays all roles of `one`; the person has these settings, and the repository these besides its agent.
fn world(script: &str, own: &str, more: &str) -> World {
    let world = mine::world(&format!("cat > /dev/null\n{KEEPS}{script}"));
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("{more}{settings}"));
    let file = world.user_file();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, own).unwrap();
    world
}

/// Another program of the person's, as an agent of this name.
fn other(world: &World, name: &str, script: &str) {
    let path = world.beside(&format!("{name}.sh"));
    mine::program(&path, &format!("cat > /dev/null\n{KEEPS}{script}"));
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    let path = path.display();
    world.write("forge.toml", format!("{settings}[agents.{name}]\ncommand = [\"{path}\"]\n"));
}

fn run(world: &World, flow: &str) -> Said {
    let mut command = world.command(&["run", "--flow", flow, "do it", "--auto"]);
    finish(command.env("FIRST_TOKEN", "a-token-of-mine-4711"))
}

fn asked(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.beside("asked")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_limit_moves_the_work_to_the_next_account_and_nobody_is_asked() {
    let script = format!("case $WHO in */first) echo $TOKEN; {USED_UP} ;; esac\nresult made");
    let world = world(&script, TWO, "");
    let said = run(&world, "one");
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&world), ["agent.sh first none", "agent.sh second none"]);
    let id = world.latest();
    let log = world.ok(&["log", &id, "-v"]);
    has(&log, &["goes to mine with the account `first`", "the account `second` takes over"]);
    let facts = serde_json::to_string(&world.facts(&id)).unwrap();
    has(&facts, &[r#""used_up":"first""#, r#""account":"second""#]);
    assert!(!facts.contains("question_asked"), "{facts}");
    let seen =
        fs::read_to_string(world.attempt(&id, "work#1").join("transcript")).unwrap_or_default();
    assert!(!seen.contains("a-token-of-mine-4711"), "{seen}");

    let list = || finish(world.command(&["accounts"]).env("FIRST_TOKEN", "x")).out;
    has(
        &list(),
        &["first       mine, used up until ", "login until 2999-01-01", "second      mine, ready"],
    );
    // The next run knows it, too.
    fs::remove_file(world.beside("asked")).unwrap();
    assert_eq!(run(&world, "one").code, DONE);
    assert_eq!(asked(&world), ["agent.sh second none"]);
    // A call that is answered is better than what was said of a limit.
    mine::program(&world.beside("agent.sh"), "cat > /dev/null\nresult made");
    let check = &["accounts", "check", "first"];
    has(&finish(world.command(check).env("FIRST_TOKEN", "x")).out, &["mine works"]);
    has(&list(), &["first       mine, ready"]);
}

#[test]
fn an_agent_without_a_usable_account_yields_to_one_that_takes_over() {
    let own =
        "[accounts.gone]\nagent = \"mine\"\nenv = [\"WHO=~/gone\"]\nexpires = \"2020-01-01\"\n";
    let world = world("result made", own, "fallback_agents = [\"other\"]\n");
    other(&world, "other", "result made");
    let said = run(&world, "one");
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&world), ["other.sh  none"], "never with a login that nobody named");
}

#[test]
fn an_agent_of_the_repository_that_only_takes_over_needs_a_persons_word() {
    let world = world("result made", "", "fallback_agents = [\"other\"]\n");
    other(&world, "other", "result made");
    world.commit();
    let said = finish(&mut world.command_as_it_is(&["run", "--flow", "one", "do it", "--yes"]));
    has(&said.all(), &["other.sh", "you have not allowed the commands"]);
    assert_eq!(asked(&world), [] as [String; 0]);
}

#[test]
fn where_all_accounts_are_used_up_the_run_waits_for_the_first_that_is_free() {
    let world = world(&format!("{USED_UP}\n"), TWO, "");
    let mut running = crate::world::Running::of(
        world.command(&["run", "--flow", "one", "do it", "--auto"]).env("FIRST_TOKEN", "x"),
    );
    running.until_says("is the first that is free again");
    let id = world.latest();
    assert_eq!(world.view(&id)["standing"], "limited", "{:#}", world.view(&id));
    assert_eq!(asked(&world), ["agent.sh first none", "agent.sh second none"]);
    running.signal(rustix::process::Signal::INT);
    running.end();
}

#[test]
fn an_account_whose_login_is_over_or_whose_key_is_missing_is_passed_over() {
    let world = world("result made", TWO, "");
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&world), ["agent.sh second none"], "FIRST_TOKEN is not set");
    has(&world.ok(&["accounts"]), &["first       mine, has no key", "help: export FIRST_TOKEN=…"]);
    let checked = world.forge(&["accounts", "check", "first"]);
    has(&checked.err, &["the account `first` needs the variable FIRST_TOKEN, which is not set"]);
    has(&world.forge(&["accounts", "check", "secnd"]).err, &["did you mean `second`?"]);
    has(&world.ok(&["accounts", "check", "second"]), &["mine works"]);

    let over = TWO.replace("2998-01-01", "2020-02-29");
    fs::write(world.user_file(), over).unwrap();
    let said = world.run("one", &["--auto"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["no account of `mine` can be used"]);
    has(&world.ok(&["accounts"]), &["second      mine, expired", "error: its login is over"]);
}

#[test]
fn accounts_are_a_persons_own_and_each_has_an_agent_and_no_key_in_it() {
    for (own, repo, what) in [
        ("", TWO, "accounts.first.agent is a personal setting, not one of a repository"),
        ("[accounts.a]\nenv = [\"A=~/x\"]\n", "", "the account `a` has no agent"),
        ("[accounts.a]\nagent = \"mien\"\n", "", "unknown agent `mien`; did you mean `mine`?"),
        (
            "[accounts.a]\nagent = \"mine\"\nenv = [\"KEY=sk-123\"]\n",
            "",
            "\"KEY\" is not a variable with a folder",
        ),
        (
            "[accounts.a]\nagent = \"mine\"\nexpires = \"2027-02-30\"\n",
            "",
            "is not a day such as 2027-03-01",
        ),
    ] {
        let world = world("result made", own, "");
        let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
        world.write("forge.toml", format!("{settings}{repo}"));
        let said = world.run("one", &[]);
        has(&said.err, &[what]);
        assert!(!said.err.contains("sk-123"), "{said}");
        assert_eq!(asked(&world), [] as [String; 0]);
    }
}

#[test]
fn a_limit_moves_the_work_to_the_next_agent_that_the_user_listed_and_the_review_stays() {
    let world = world(&format!("{USED_UP}\n"), "", "fallback_agents = [\"gone\", \"other\"]\n");
    other(&world, "other", "result made");
    other(&world, "gone", "result made");
    fs::remove_file(world.beside("gone.sh")).unwrap();
    let said = run(&world, "one");
    assert_eq!(said.code, DONE, "{said}");
    has(&said.all(), &["fallback_agents: the agent `gone` needs the program"]);
    assert_eq!(asked(&world), ["agent.sh  none", "other.sh  none"]);
    let log = world.ok(&["log", &world.latest(), "-v"]);
    has(&log, &["goes to other, in the place of one that has reached its limit"]);
    let phases = world.ok(&["log", &world.latest(), "--phases"]);
    has(&phases, &["other"]);
}

/// It cannot do the work with a small model.
const TOO_LONG: &str = r#"
case $FORGE_MODEL in huge) result made; exit 0 ;; esac
printf '{"forge":1,"attempt":"%s","status":"blocked","summary":"too long","blocker":{"class":"context_overflow","what":"the log has a million lines"}}' "$FORGE_CALL" > "$FORGE_OUTBOX/result.json"
"#;

#[test]
fn what_is_too_long_goes_to_a_model_of_a_higher_tier_once_and_then_to_a_person() {
    let tiers = "[tiers.standard]\nmodel = \"usual\"\n[tiers.heavy]\nmodel = \"usual\"\n[tiers.max]\nmodel = \"huge\"\n";
    let world = world(TOO_LONG, tiers, "");
    let said = run(&world, "one");
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&world), ["agent.sh  usual", "agent.sh  huge"], "no tier with the same model");
    let log = world.ok(&["log", &world.latest()]);
    has(&log, &["it was too long for the model; a model of the tier `max` takes over"]);

    fs::write(world.user_file(), tiers.replace("huge", "large")).unwrap();
    fs::remove_file(world.beside("asked")).unwrap();
    let said = run(&world, "one");
    assert_eq!(said.code, WAITS, "{said}");
    assert_eq!(asked(&world), ["agent.sh  usual", "agent.sh  large"]);
    has(&said.out, &["the log has a million lines"]);
}

#[test]
fn what_a_model_refuses_goes_to_another_agent_where_no_tier_has_another_model() {
    let refuses = TOO_LONG.replace("context_overflow", "model_refusal");
    let world = world(&refuses, "", "fallback_agents = [\"other\"]\n");
    other(&world, "other", "result made");
    let said = run(&world, "one");
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&world), ["agent.sh  none", "other.sh  none"]);
    has(&world.ok(&["log", &world.latest()]), &["the model refused; `other` takes over"]);
    let facts = serde_json::to_string(&world.facts(&world.latest())).unwrap();
    has(&facts, &[r#""agent_from":"refused""#]);
}

#[test]
fn another_vendor_reviews_what_the_author_made_or_the_run_says_that_there_is_none() {
    let reviewed =
        world(PLAYS_ALL, "", "review = \"other-vendor\"\nfallback_agents = [\"other\"]\n");
    other(&reviewed, "other", PLAYS_ALL);
    let said = reviewed.run("draft", &["--auto"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&reviewed), ["agent.sh  none", "other.sh  none"]);
    let run = reviewed.latest();
    has(
        &reviewed.ok(&["log", &run, "--phases", "-v"]),
        &["agent of another vendor than the author"],
    );
    let watched = reviewed.ok(&["watch", &run, "write#1/review#1"]);
    has(&watched, &["other"]);

    let alone = world(PLAYS_ALL, "", "review = \"other-vendor\"\n");
    let said = alone.run("draft", &["--auto"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.all(), &["no agent of another vendor than `mine` is usable here"]);
    assert_eq!(asked(&alone), ["agent.sh  none", "agent.sh  none"]);
}

#[test]
fn tokens_cost_what_the_users_prices_say_where_the_program_does_not() {
    let script = "echo '{\"type\":\"spent\",\"model\":\"my-model-2\",\"input\":1000000,\"output\":100000}'\nresult made";
    let world = world(script, "prices = [\"my-model input=2 output=10\"]\n", "");
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let facts = serde_json::to_string(&world.facts(&world.latest())).unwrap();
    has(&facts, &[r#""cost":{"estimated":3000000}"#]);
    let said = finish(world.command(&["run", "--flow", "one", "do it"]).env("FORGE_PRICES", "[]"));
    assert_eq!(said.code, DONE, "{said}");
    let facts = serde_json::to_string(&world.facts(&world.latest())).unwrap();
    has(&facts, &[r#""cost":"unknown""#]);
}
