//! Flows by chance, and what they want of items.

use std::{collections::BTreeMap, fmt::Write};

use forge_core::{
    Run,
    flow::{Stage, Work},
    item::Item,
    routing::{Effort, Hints, Routing, Tier},
};

use super::numbers::Chance;

/// The text of a flow that can be read, with rows, gates and tables as they come.
pub(crate) fn flow_by_chance(chance: &mut Chance) -> String {
    let mut text = "name = \"any\"\nlists = [\"things\"]\n[params]\np = { values = [\"a\", \"b\"], default = \"a\" }\n\
         n = { values = [\"0\", \"2\"], default = \"0\" }\n"
        .to_owned();
    text.push_str("[[stage]]\nname = \"first\"\nagent = \"lister\"\nlist = \"things\"\n");
    if chance.one_in(2) {
        let default = *chance.of(&["", ", default = \"low\"", ", default = \"high\""]);
        writeln!(text, "tags.risk = {{ values = [\"low\", \"high\"]{default} }}").unwrap();
    }
    let mut phases = Vec::new();
    table_by_chance(chance, &mut text, 1, &mut phases);
    // What some phases need. Whether it holds is up to the world.
    let mut blocks = String::new();
    phases.sort();
    phases.dedup();
    for phase in phases.iter().filter(|_| chance.one_in(6)) {
        writeln!(blocks, "```gates phase={phase}\nforbid task.status == blocked\n```").unwrap();
    }
    format!("blocks = '''\n{blocks}'''\n{text}")
}

/// What a run says of tiers: some of its roles, in their files or in the settings, and sometimes all calls.
pub(crate) fn routing_by_chance(chance: &mut Chance, roles: Vec<&str>) -> Routing {
    let mut routing =
        Routing { run: chance.one_in(6).then_some(Tier::Light), ..Routing::default() };
    for role in roles {
        let tier = Some(*chance.of(Tier::ALL));
        let effort = chance.one_in(3).then(|| *chance.of(Effort::ALL));
        let hints = Hints { tier, effort, thinking: None };
        match chance.below(3) {
            0 => routing.settings.insert(role.to_owned(), hints),
            1 => routing.roles.insert(role.to_owned(), hints),
            _ => None,
        };
    }
    routing
}

/// A tag that says something of the tier, or nothing that is known.
pub(crate) fn tier_by_chance(chance: &mut Chance) -> Option<(String, String)> {
    let words = [("tier", "max"), ("tier", "x"), ("tag", "docs"), ("complexity", "heavy")];
    let (name, value) = *chance.of(&words);
    chance.one_in(4).then(|| (name.to_owned(), value.to_owned()))
}

fn table_by_chance(chance: &mut Chance, text: &mut String, depth: usize, phases: &mut Vec<String>) {
    let head = vec!["stage"; depth].join(".");
    let rows = 1 + chance.below(4);
    let mut names: Vec<String> = if depth == 1 { vec!["first".to_owned()] } else { vec![] };
    for row in 0..rows {
        let name = format!("r{depth}{row}");
        writeln!(text, "[[{head}]]\nname = \"{name}\"").unwrap();
        phases.push(name.clone());
        // At the root, `first` stays before everything, so that the list is there.
        let any = names.get(chance.below(names.len().max(1))).cloned();
        let firsts = match (any, chance.below(3)) {
            (_, 0) if depth > 1 => vec![],
            (Some(any), 1) => vec![any],
            (_, _) => names.last().cloned().into_iter().collect(),
        };
        writeln!(text, "after = {firsts:?}").unwrap();
        writeln!(text, "rounds = {}\nmisses = {}", chance.below(3), 1 + chance.below(2)).unwrap();
        let exhausted = chance.of(&["ask", "pass-with-notes", "fail"]);
        writeln!(text, "exhausted = \"{exhausted}\"").unwrap();
        if chance.one_in(4) {
            let when = ["{ param = \"p\", is = [\"b\"] }", "{ item = \"risk\", is = [\"high\"] }"];
            let when = when[if depth == 1 { 0 } else { chance.below(2) }];
            writeln!(text, "when = {when}").unwrap();
        }
        let kind = chance.below(if depth < 3 { 6 } else { 4 });
        let is_called = kind < 4;
        match kind {
            0 => writeln!(text, "agent = \"worker\""),
            1 => writeln!(text, "agent = \"worker\"\ntier = \"light\"\nhigh_risk = \"max\""),
            2 => writeln!(text, "command = \"true\""),
            3 if depth == 1 => writeln!(text, "deliver = \"summary\""),
            3 => writeln!(text, "command = \"make\""),
            _ => {
                let stuck = chance.of(&["fail", "pass-with-notes", "hold"]);
                let order = chance.of(&["paths", "waves"]);
                let at_once = 1 + chance.below(3);
                writeln!(
                    text,
                    "each = \"things\"\nat_once = {at_once}\nstuck = \"{stuck}\"\norder = \"{order}\""
                )
            }
        }
        .unwrap();
        if kind == 0 && chance.one_in(4) {
            writeln!(text, "budget = \"0.05\"").unwrap();
        }
        let mut gates = Vec::new();
        for n in 0..chance.below(4) {
            let check = *chance.of(&[
                "review = \"critic\"",
                "review = \"critic\"",
                "command = \"test\"",
                "verify = true",
                "human = \"Well?\", auto = true",
                "human = \"Well?\"",
                "check = \"changes\"",
                "check = \"guarded\"",
                "check = \"new-tests\"",
            ]);
            let redo = match firsts.first() {
                Some(first) if chance.one_in(4) => format!(", redo = \"{first}\""),
                Some(_) | None => String::new(),
            };
            let may_advise = check.starts_with("review") || check.starts_with("command");
            let advisory = if may_advise && chance.one_in(4) { ", advisory = true" } else { "" };
            let when = match (chance.one_in(5), depth) {
                (true, 1) => ", when = { param = \"p\", is = [\"b\"] }",
                (true, _) => ", when = { item = \"risk\", is = [\"high\"] }",
                (false, _) => "",
            };
            let may_count = !check.starts_with("human") && chance.one_in(3);
            let rounds = match (may_count, chance.below(4)) {
                (true, 3) => ", rounds = { param = \"n\" }".to_owned(),
                (true, rounds) => format!(", rounds = {rounds}"),
                (false, _) => String::new(),
            };
            phases.push(format!("g{n}"));
            gates.push(format!("{{ name = \"g{n}\", {check}{redo}{rounds}{advisory}{when} }}"));
        }
        if is_called && chance.one_in(3) {
            gates.push("{ land = true }".to_owned());
        }
        if is_called && !gates.is_empty() && chance.one_in(5) {
            writeln!(text, "gates_first = true").unwrap();
        }
        writeln!(text, "gates = [{}]", gates.join(", ")).unwrap();
        if !is_called {
            table_by_chance(chance, text, depth + 1, phases);
        }
        names.push(name);
    }
}

/// Whether a flow wants something to be done with a list.
pub(crate) fn wants_items(run: &Run, list: &str) -> bool {
    fn wants(stages: &[Stage], list: &str) -> bool {
        stages.iter().any(|stage| {
            let own = matches!(&stage.work, Work::Each { list: other, items_min, .. }
                if other == list && *items_min > 0);
            own || wants(stage.inner(), list)
        })
    }
    wants(&run.definition().flow.stages, list)
}

/// An item that any flow takes.
pub(crate) fn plain_item() -> Item {
    Item {
        id: "I0".to_owned(),
        title: String::new(),
        after: vec![],
        writes: vec!["a".to_owned()],
        tags: BTreeMap::new(),
        must: vec![],
    }
}
