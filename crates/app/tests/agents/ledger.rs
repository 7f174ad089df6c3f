//! Whatever was spent, and however: the ledger equals the sum of the receipts.
//!
//! A mix of agents who spend in all ways is played by seeded chance. A failure prints its seed;
//! `FORGE_SEED` plays one again, `FORGE_BUDGETS_RUNS` says how many, `FORGE_BUDGETS_SEED` from which on.

use std::{fmt::Write as _, fs};

use serde_json::Value;

use crate::{
    mine,
    world::{DONE, PARKED, WAITS, World},
};

/// The three kinds of cost, and tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) known: u64,
    pub(crate) estimated: u64,
    pub(crate) unknown_calls: u64,
    tokens: u64,
}

/// What the facts of a run say: the receipt of every call that ended.
fn receipts(world: &World, run: &str) -> Sum {
    let mut sum = Sum::default();
    for fact in world.facts(run) {
        let spent = match &fact {
            fact if fact["attempt_ended"].is_object() => &fact["attempt_ended"]["receipt"]["spent"],
            fact if fact["judged"].is_object() => &fact["judged"]["receipt"]["spent"],
            fact if fact["call_settled"].is_object() => &fact["call_settled"]["spent"],
            _ => continue,
        };
        let cost = &spent["cost"];
        sum.known += cost["known"].as_u64().unwrap_or(0);
        sum.estimated += cost["estimated"].as_u64().unwrap_or(0);
        sum.unknown_calls += u64::from(cost == "unknown");
        sum.tokens += tokens(&spent["tokens"]);
    }
    sum
}

fn tokens(of: &Value) -> u64 {
    let kinds = ["input", "output", "cache_read", "cache_write"];
    kinds.iter().map(|kind| of[kind].as_u64().unwrap_or(0)).sum()
}

/// What `forge stats RUN --json` says, added up by the rows of one axis.
fn statistics(world: &World, run: &str, by: &str) -> Sum {
    let text = world.ok(&["stats", run, "--by", by, "--json"]);
    let view: Value = serde_json::from_str(&text).unwrap();
    let of = |row: &Value| Sum {
        known: row["known"].as_u64().unwrap(),
        estimated: row["estimated"].as_u64().unwrap(),
        unknown_calls: row["unknown_calls"].as_u64().unwrap(),
        tokens: tokens(&row["tokens"]),
    };
    let total = of(&view["total"]);
    let rows: Vec<Sum> = view["tables"][0]["rows"].as_array().unwrap().iter().map(of).collect();
    let all = |part: fn(&Sum) -> u64| rows.iter().map(part).sum::<u64>();
    assert_eq!(all(|row| row.known), total.known, "{view:#}");
    assert_eq!(all(|row| row.estimated), total.estimated, "{view:#}");
    assert_eq!(all(|row| row.tokens), total.tokens, "{view:#}");
    total
}

/// Asserts that status, statistics and facts tell the same, and says what.
#[track_caller]
pub(crate) fn adds_up(world: &World, run: &str) -> Sum {
    let view = world.view(run);
    let ledger = Sum {
        known: view["spent"].as_u64().unwrap(),
        estimated: view["estimated"].as_u64().unwrap_or(0),
        unknown_calls: view["unknown_costs"].as_u64().unwrap(),
        tokens: view["tokens"].as_u64().unwrap(),
    };
    assert_eq!(receipts(world, run), ledger, "the ledger equals the sum of the receipts");
    for by in ["stage", "model", "agent"] {
        assert_eq!(statistics(world, run, by), ledger, "by {by}");
    }
    ledger
}

/// Seeded chance: splitmix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % n
    }
}

/// An agent who spends in one of the ways that there are, as a script.
fn spender(chance: &mut Chance) -> String {
    let mut script = String::new();
    match chance.below(6) {
        0 => {}
        1 => {
            let _ = writeln!(script, "spend {}", chance.below(400_000) + 1);
        }
        2 => {
            let turns = chance.below(20) + 1;
            let _ = writeln!(script, "for n in $(seq {turns}); do spend 1001; done");
        }
        3 => {
            let mut total = 0;
            for _ in 0..=chance.below(4) {
                total += chance.below(20_000);
                let more = format!("\"cumulative\":true,\"cost_micros\":{total},\"input\":{total}");
                let _ = writeln!(script, "echo '{{\"type\":\"spent\",{more}}}'");
            }
        }
        4 => {
            let more =
                format!("\"model\":\"claude-sonnet-4-5\",\"input\":{}", chance.below(5_000) + 1);
            let _ = writeln!(script, "echo '{{\"type\":\"spent\",{more}}}'");
        }
        _ => {
            let micros = chance.below(9_000) + 1;
            let _ = writeln!(script, "spend {micros}; echo '{{\"type\":\"spent\",\"output\":7}}'");
        }
    }
    script
}

/// What the transcripts of a run say, added up by other code than that under test.
fn transcripts(world: &World, run: &str) -> Sum {
    let folders = fs::read_dir(world.place().join("attempts").join(run)).unwrap().flatten();
    let mut sum = Sum::default();
    for folder in folders.filter(|entry| entry.path().join("attempt.json").exists()) {
        let text = fs::read_to_string(folder.path().join("transcript")).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let is_total = |line: &&Value| line["cumulative"] == true;
        let counted: Vec<&Value> = lines
            .iter()
            .filter(|line| !is_total(line))
            .chain(lines.iter().rfind(is_total))
            .collect();
        let price = |line: &Value| line["cost_micros"].as_u64();
        // Three dollars for a million tokens that are read: three millionths for each.
        let estimate =
            |line: &Value| line["model"].is_string().then(|| line["input"].as_u64().unwrap() * 3);
        sum.tokens += counted.iter().map(|line| tokens(line)).sum::<u64>();
        if counted.is_empty() || counted.iter().any(|line| price(line).or(estimate(line)).is_none())
        {
            sum.unknown_calls += 1;
        } else {
            sum.known += counted.iter().filter_map(|line| price(line)).sum::<u64>();
            let estimated = counted.iter().filter(|line| price(line).is_none());
            sum.estimated += estimated.filter_map(|line| estimate(line)).sum::<u64>();
        }
    }
    sum
}

/// Plays one run of a few agents under some cap.
fn play(seed: u64) {
    let mut chance = Chance(seed);
    let mut script = String::from("case $FORGE_CALL in\n");
    let mut flow = String::new();
    for n in 1..=chance.below(3) + 1 {
        let _ = writeln!(script, "s{n}'#1')\n{}result x ;;", spender(&mut chance));
        let _ = write!(flow, "[[stage]]\nname = \"s{n}\"\nagent = \"worker\"\nmisses = 1\n");
        if chance.below(2) == 0 {
            flow.push_str("after = []\n");
        }
    }
    script.push_str("esac\n");
    let world = mine::world(&script);
    world.flow("mix", &flow);
    let cap = ["0.05", "0.3", "5", ""][usize::try_from(chance.below(4)).unwrap()];
    let more: &[&str] = if cap.is_empty() { &[] } else { &["--budget", cap] };
    let said = world.run("mix", more);
    assert!([DONE, PARKED, WAITS].contains(&said.code), "seed {seed}: {said}");
    let run = world.latest();
    let sum = adds_up(&world, &run);
    assert_eq!(sum, transcripts(&world, &run), "seed {seed}, cap {cap}: {said}\n{script}");
}

#[test]
fn whoever_spends_however_the_ledger_equals_the_sum_of_the_receipts() {
    let given = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = given("FORGE_SEED") {
        return play(seed);
    }
    let first = given("FORGE_BUDGETS_SEED").unwrap_or_default();
    for seed in first..first + given("FORGE_BUDGETS_RUNS").unwrap_or(12) {
        play(seed);
    }
}
