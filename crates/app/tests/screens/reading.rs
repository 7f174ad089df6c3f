//! A screen read as a person reads it, from the cells of a terminal, and compared with `status --json`.
//!
//! For runs whose items are `build.T1/implement` and so on. Nothing of the program is asked how it shows things: what
//! should stand there is said here once more.

use std::collections::BTreeMap;

use serde_json::Value;

/// How wide the column of states is.
const STATE_COLUMNS: usize = 21;

/// What is on a screen.
pub(crate) struct Shown {
    /// Its rows.
    pub(crate) rows: Vec<String>,
    /// What stands in the column of states, row by row.
    pub(crate) cells: Vec<String>,
}

/// What stands in the column of states: two spaces or more are between columns.
pub(crate) fn states(screen: &vt100::Screen, width: u16) -> Vec<String> {
    let second = |row: String| {
        let cells = row.trim().split("  ").filter(|cell| !cell.is_empty());
        cells.skip(1).map(|cell| cell.trim().to_owned()).next().unwrap_or_default()
    };
    screen.rows(0, width).map(second).collect()
}

impl Shown {
    /// Compares everything with what `status` says of the same record. Gives the items and their states.
    pub(crate) fn compare(&self, status: &Value, seq: u64) -> Vec<(String, String)> {
        let units = status["units"].as_array().expect("it has units");
        let name = |unit: &Value| name_of(unit["unit"].as_str().expect("a name")).to_owned();
        let by_name: BTreeMap<String, &Value> =
            units.iter().map(|unit| (name(unit), unit)).collect();
        let (mut counted, mut compared) = (BTreeMap::new(), Vec::new());
        for (row, cell) in self.rows.iter().zip(&self.cells) {
            let words: Vec<&str> = row.split_whitespace().collect();
            let [mark, name, ..] = words[..] else { continue };
            if let Some(unit) = by_name.get(name).filter(|_| is_mark(mark)) {
                let should = words_of(unit, status);
                // A stage whose tasks ask says so instead.
                if !is_item(name) && mark == "?" && cell.starts_with("needs you, ") {
                    continue;
                }
                assert_eq!((mark, cell.as_str()), (should.0, should.1.as_str()), "{seq}: {row}");
                if is_item(name) {
                    *counted.entry(state_of(unit)).or_default() += 1;
                    compared.push((name.to_owned(), should.1));
                }
            } else if row.starts_with("    ") && is_mark(mark) {
                count_folded(&words, &mut counted);
            }
        }
        // Where not even all that is under way has room, nobody can count.
        if !self.rows.iter().any(|row| row.trim_start().starts_with("and ")) {
            let mut should: BTreeMap<String, u64> = BTreeMap::new();
            for (_, unit) in by_name.iter().filter(|(name, _)| is_item(name)) {
                *should.entry(state_of(unit)).or_default() += 1;
            }
            let rows = &self.rows;
            assert_eq!(
                counted, should,
                "every item is told at {seq}, alone or in a count: {rows:#?}"
            );
        }
        compared
    }
}

/// How a unit is called on the screen: its item, or its stage.
fn name_of(unit: &str) -> &str {
    unit.strip_prefix("build.").and_then(|inner| inner.strip_suffix("/implement")).unwrap_or(unit)
}

pub(crate) fn is_item(name: &str) -> bool {
    name.strip_prefix('T').is_some_and(|number| number.parse::<u32>().is_ok())
}

pub(crate) fn is_mark(text: &str) -> bool {
    ["·", "◌", "●", "?", "✓", "-", "✗", "■"].contains(&text)
}

fn state_of(unit: &Value) -> String {
    unit["state"].as_str().expect("a state").to_owned()
}

/// What a person should read of a unit of `status --json`: its symbol, and its state with gate, attempt and revision.
fn words_of(unit: &Value, status: &Value) -> (&'static str, String) {
    let attempt = match unit["attempt"].as_u64().expect("an attempt") {
        attempt @ 2.. => format!(", attempt {attempt}"),
        _ => String::new(),
    };
    let revised = if unit["round"] == 0 { "" } else { &attempt };
    let (mark, word) = match unit["state"].as_str().expect("a state") {
        "waiting" => match status["standing"].as_str().expect("a standing") {
            "failed" | "blocked" | "abandoned" => ("·", format!("not started{revised}")),
            _ => ("·", format!("pending{revised}")),
        },
        "limited" => ("◌", format!("rate-limited{revised}")),
        "working" => ("●", format!("running{attempt}")),
        "judging" => ("●", format!("in {}{revised}", unit["gate"].as_str().expect("a gate"))),
        "asking" => ("?", "needs you".to_owned()),
        "accepted" => ("✓", format!("done{revised}")),
        "skipped" => ("-", "skipped".to_owned()),
        "failed" => ("✗", format!("failed{revised}")),
        "blocked" => ("✗", format!("blocked{revised}")),
        other => panic!("{other} is a new state: say how it looks"),
    };
    let word = match unit["items"].as_array() {
        Some(items) if items[1] != 0 => format!("{} of {} tasks", items[0], items[1]),
        Some(_) | None => word,
    };
    (mark, cut(&word))
}

/// What the column has room for: the word without its revision, if both are too long.
fn cut(word: &str) -> String {
    match word.split_once(", ") {
        Some((short, _)) if word.chars().count() > STATE_COLUMNS => short.to_owned(),
        Some(_) | None => word.to_owned(),
    }
}

/// Adds what a line like `✓ 12 done  · 3 pending` tells.
fn count_folded(words: &[&str], counted: &mut BTreeMap<String, u64>) {
    for triple in words.windows(3) {
        let [mark, number, word] = triple else { continue };
        let state = match *word {
            "done" => "accepted",
            "skipped" => "skipped",
            "pending" => "waiting",
            _ => continue,
        };
        if let (true, Ok(number)) = (is_mark(mark), number.parse::<u64>()) {
            *counted.entry(state.to_owned()).or_default() += number;
        }
    }
}
