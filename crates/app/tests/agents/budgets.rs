//! Caps of run, stage and call, against agents who spend in big turns, in tiny ones, and silently.

use std::fs;

use crate::{
    ledger::adds_up,
    mine,
    world::{DONE, PARKED, WAITS, World, has},
};

/// Notes that a call has begun.
const BEGINS: &str = "echo $FORGE_CALL >> $HOME/begun\n";

fn begun(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.beside("begun")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn one_big_turn_over_the_cap_is_stopped_and_nobody_is_started_again() {
    let (world, said) =
        mine::run(&format!("{BEGINS}spend 1000000; sleep 600; result x"), &["--budget", "0.10"]);
    assert_eq!(said.code, PARKED, "{said}");
    has(
        &said.out,
        &[
            "work failed without a result ($1.00): it spent more than its budget",
            "out of budget: the run's budget of $0.10 is used up",
        ],
    );
    let run = world.latest();
    assert_eq!(adds_up(&world, &run).known, 1_000_000, "over by one turn");
    has(
        &world.refused(&["resume", &run]),
        &["the budget of $0.10 is used up: $1.00 is spent or reserved", "--budget 2"],
    );
    assert_eq!(begun(&world), ["work#1"]);
}

#[test]
fn tiny_turns_without_end_are_stopped_at_the_cap_within_a_turn() {
    let (world, said) =
        mine::run("while :; do spend 1000; sleep 0.02; done", &["--budget", "0.02"]);
    assert_eq!(said.code, PARKED, "{said}");
    has(&said.out, &["it spent more than its budget"]);
    let known = adds_up(&world, &world.latest()).known;
    assert!((21_000..=40_000).contains(&known), "{known}");
}

#[test]
fn who_spends_on_after_being_asked_to_stop_is_killed_before_its_grace_is_over() {
    let (world, said) =
        mine::run("trap '' TERM\nwhile :; do spend 1000; sleep 0.1; done", &["--budget", "0.01"]);
    assert_eq!(said.code, PARKED, "{said}");
    // In its grace it could tell of a hundred more.
    let known = adds_up(&world, &world.latest()).known;
    assert!((11_000..=40_000).contains(&known), "{known}");
}

#[test]
fn a_flood_of_tiny_turns_is_stopped_after_the_first_piece_of_it() {
    let (world, said) = mine::run("while :; do spend 1000; done", &["--budget", "0.02"]);
    assert_eq!(said.code, PARKED, "{said}");
    // A pipe and a piece hold some thousand lines; what was printed was spent.
    let known = adds_up(&world, &world.latest()).known;
    assert!(known < 12_000_000, "{known}");
}

#[test]
fn a_turn_without_a_price_does_not_make_the_cap_forget_the_others() {
    let (world, said) = mine::run(
        "echo '{\"type\":\"spent\",\"output\":5}'\nwhile :; do spend 1000; sleep 0.02; done",
        &["--budget", "0.02"],
    );
    assert_eq!(said.code, PARKED, "{said}");
    has(&said.out, &["(at least $0.02", "it spent more than its budget"]);
    let run = world.latest();
    assert_eq!(adds_up(&world, &run).unknown_calls, 1);
    let counts_as = world.view(&run)["unknown_at_most"].as_u64().unwrap();
    assert!(counts_as > 20_000, "more than was held back: {counts_as}");
}

#[test]
fn a_silent_call_counts_as_the_cap_of_a_call_and_the_run_parks_and_says_so() {
    let world = mine::world(&format!("{BEGINS}result x"));
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("{settings}[limits]\ncall_budget = \"0.50\"\n"));
    world.flow("two", &format!("{}{}", mine::ONE, mine::ONE.replace("\"work\"", "\"more\"")));
    let said = world.run("two", &["--budget", "0.50"]);
    assert_eq!(said.code, PARKED, "{said}");
    has(&said.out, &["cost unknown", "used up", "1 call of unknown cost counts as $0.50"]);
    let run = world.latest();
    assert_eq!(begun(&world), ["work#1"]);
    assert_eq!(adds_up(&world, &run).unknown_calls, 1);
    assert_eq!(world.view(&run)["unknown_at_most"], 500_000);
    let wrong = ["resume", &run, "--set", "limits.call_bugdet=1"];
    has(&world.refused(&wrong), &["limits.call_bugdet", "limits.call_budget"]);
    has(&world.refused(&["resume", &run, "--set", "flow=draft"]), &["`flow` cannot be changed"]);
    let set = ["--set", "limits.call_budget=0.20", "--set", "verify.commands=[]", "--model", "m2"];
    let said = world.forge(&[&["resume", &run, "--budget", "1"], &set[..]].concat());
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(begun(&world), ["work#1", "more#1"]);
    assert_eq!(adds_up(&world, &run).unknown_calls, 2);
    assert_eq!(world.view(&run)["unknown_at_most"], 700_000, "the new cap of a call");
    let line = "changed settings: limits.call_budget = 0.20, model = m2, verify.commands = []; earlier evidence no longer counts";
    has(&world.ok(&["show", &run]), &["limits.call_budget = 0.20"]);
    has(&world.ok(&["log", &run]), &[line]);
}

#[test]
fn a_silent_call_with_a_cap_of_its_own_leaves_the_rest_of_the_budget_to_others() {
    let world = mine::world(&format!("{BEGINS}result x"));
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("{settings}[limits]\ncall_budget = \"0.20\"\n"));
    world.flow("two", &format!("{}{}", mine::ONE, mine::ONE.replace("\"work\"", "\"more\"")));
    let said = world.run("two", &["--budget", "0.50"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(world.view(&world.latest())["unknown_at_most"], 400_000);
}

#[test]
fn what_is_estimated_from_tokens_counts_and_is_called_an_estimate() {
    let script = "echo '{\"type\":\"spent\",\"model\":\"claude-sonnet-4-5\",\"input\":100000,\"output\":1000}'";
    let (world, said) = mine::run(&format!("{script}\nresult x"), &["--budget", "10"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["work finished (about $0.32)", "about $0.32"]);
    let run = world.latest();
    let sum = adds_up(&world, &run);
    assert_eq!((sum.known, sum.estimated, sum.unknown_calls), (0, 315_000, 0));
    has(&world.ok(&["stats", &run]), &["~$0.32", "list prices of"]);
    let (world, said) = mine::run(&format!("{script}\nsleep 600"), &["--budget", "0.20"]);
    assert_eq!(said.code, PARKED, "an estimate counts for a cap, too: {said}");
    assert_eq!(adds_up(&world, &world.latest()).estimated, 315_000);
}

#[test]
fn of_totals_only_what_is_new_counts() {
    let total = |micros: u32| {
        format!(
            "echo '{{\"type\":\"spent\",\"cumulative\":true,\"input\":{micros},\"cost_micros\":{micros}}}'\n"
        )
    };
    let (world, said) = mine::run(
        &format!("{}{}{}spend 5000\nresult x", total(40_000), total(40_000), total(90_000)),
        &["--budget", "0.10"],
    );
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(adds_up(&world, &world.latest()).known, 95_000);
}

#[test]
fn a_call_is_held_to_its_own_cap_and_a_stage_to_its() {
    for (limits, cap, micros) in
        [("[limits]\ncall_budget = \"0.05\"\n", "$0.05", 50_000), ("", "$0.10", 100_000)]
    {
        let world = mine::world(&format!("{BEGINS}while :; do spend 10000; sleep 0.02; done"));
        let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
        world.write("forge.toml", format!("{settings}{limits}"));
        world.flow(
            "capped",
            "[[stage]]\nname = \"work\"\nagent = \"worker\"\nmisses = 9\nbudget = \"0.10\"\n",
        );
        let said = world.run("capped", &["--budget", "5"]);
        assert_eq!(said.code, WAITS, "{said}");
        has(
            &said.out,
            &[&format!("The budget of {cap} was used up before there was a result. What now?")],
        );
        assert_eq!(begun(&world), ["work#1"], "it would spend the same again: {said}");
        let known = adds_up(&world, &world.latest()).known;
        assert!((micros..=micros + 40_000).contains(&known), "{known}");
    }
}

#[test]
fn items_side_by_side_share_what_the_run_has_left() {
    let world = mine::world("while :; do spend 5000; sleep 0.02; done");
    world.flow(
        "many",
        "[[stage]]\nname = \"list\"\nlist = \"parts\"\ncommand = '''\n\
         printf '{\"forge\":1,\"attempt\":\"%s\",\"status\":\"done\",\"summary\":\"x\",\"lists\":{\"parts\":[' $FORGE_CALL > $FORGE_OUTBOX/result.json\n\
         for n in 1 2 3 4; do [ $n = 1 ] || printf , ; \
         printf '{\"id\":\"P%s\",\"title\":\"x\",\"after\":[],\"writes\":[\"%s\"],\"tags\":{},\"must\":[]}' $n $n; done >> $FORGE_OUTBOX/result.json\n\
         echo ']}}' >> $FORGE_OUTBOX/result.json'''\n\
         [[stage]]\nname = \"each\"\neach = \"parts\"\nat_once = 4\nitems_max = 4\n\
         [[stage.stage]]\nname = \"work\"\nagent = \"worker\"\nmisses = 1\n",
    );
    let said = world.run("many", &["--budget", "0.20"]);
    assert_eq!(said.code, PARKED, "nobody is asked about what only money mends: {said}");
    let run = world.latest();
    let held: Vec<u64> = world
        .facts(&run)
        .iter()
        .filter_map(|fact| fact["attempt_started"]["call"]["reserved"].as_u64())
        .collect();
    assert_eq!(held[..4], [50_000; 4], "an equal share for each");
    let known = adds_up(&world, &run).known;
    assert!((200_000..=340_000).contains(&known), "the budget, and some turns of four: {known}");
}

#[test]
fn a_parked_run_goes_on_with_more_money_and_everything_still_adds_up() {
    let world = mine::world(&format!("{BEGINS}spend 95000; result x"));
    world.flow("two", &format!("{}{}", mine::ONE, mine::ONE.replace("\"work\"", "\"more\"")));
    let said = world.run("two", &["--budget", "0.10"]);
    assert_eq!(said.code, PARKED, "{said}");
    let run = world.latest();
    has(&world.refused(&["resume", &run]), &["--budget"]);
    let said = world.forge(&["resume", &run, "--budget", "0.30"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(begun(&world), ["work#1", "more#1"]);
    assert_eq!(adds_up(&world, &run).known, 190_000);
    has(&world.ok(&["status", &run]), &["$0.19 of $0.30"]);
}

#[test]
fn an_answer_does_not_keep_anybody_from_changing_settings() {
    let world = mine::world("case $FORGE_CALL in *#1) exit 1 ;; *) result x ;; esac");
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    let changed = ["resume", &run, "--set", "limits.silence_minutes=5"];
    let said = world.forge(&changed);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["Q1 is still open", "forge retry "]);
    // The answer makes a call due, which nobody begins.
    world.ok(&["answer", &run, "Q1", "retry"]);
    let said = world.forge(&changed);
    assert_eq!(said.code, DONE, "{said}");
    let facts = world.facts(&run);
    let last = |name: &str| facts.iter().rposition(|fact| fact.get(name).is_some()).unwrap();
    assert!(last("settings_changed") < last("attempt_started"), "{facts:#?}");
}
