//! The lines of a run's units: stages, their items, and what each call under way said last; and which of them are
//! told in counts where there is less room than lines.
//!
//! Invariant: what works, asks or failed is folded last, and questions last of all.

use std::collections::BTreeMap;

use forge_core::view::{Amount, UnitState, UnitView};
use forge_runtime::follow::{Picture, Working};

use super::line::{Ink, Line};
use crate::{
    format::{self, span},
    text::status_text::short,
};

/// From this width on, the latest line stands behind its unit and not below it.
const WIDE: usize = 120;
/// Columns of the state, the time, the usual time, the tokens and the cost.
const STATE: usize = 19;
const TIME: usize = 8;
const TOKENS: usize = 7;
const COST: usize = 9;
/// Columns of a name on a narrow and on a wide screen.
const NAME: usize = 25;
const NAME_WIDE: usize = 44;

/// Fewer quiet items than this do not stay beside the count of the others: lines would come and go.
const KEPT_MIN: usize = 4;

/// How much a line matters where there is little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Closed, or not begun.
    Quiet,
    /// The latest line of something.
    Latest,
    /// Works, waits for a limit, or failed.
    Loud,
    /// Asks.
    Asks,
}

/// What a line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A stage of the flow itself.
    Stage,
    /// A unit inside the items of a stage, or something folded of them.
    Inside,
}

/// What stands in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Body {
    /// A unit, by its number in the view.
    Unit(usize),
    /// What stands below a unit: the number of the unit, and which line of several.
    Below(usize, usize),
    /// Several units, by their names and states, in counts.
    Counts(Vec<(String, UnitState)>),
    /// How many there are besides, in words.
    More(String),
}

/// One line about units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The unit. Nothing, if it is about several.
    unit: Option<String>,
    /// How the unit is called below its stage.
    name: String,
    state: UnitState,
    weight: Weight,
    place: Place,
    body: Body,
}

impl Row {
    /// The unit that is chosen with this line, if one is.
    pub(crate) fn choice(&self) -> Option<&str> {
        match self.weight {
            Weight::Latest => None,
            Weight::Quiet | Weight::Loud | Weight::Asks => self.unit.as_deref(),
        }
    }

    /// The line, with a mark if it is chosen. Only what is shown is made: a run may have many units.
    pub(crate) fn line(&self, picture: &Picture, columns: usize, chosen: Option<&str>) -> Line {
        let is_chosen = chosen.is_some() && self.choice() == chosen;
        let (ink, mark) = if is_chosen { (Ink::Bold, "›") } else { (Ink::Plain, " ") };
        let mut line = Line::default();
        line.column(ink, mark, 1);
        line.join(match &self.body {
            Body::Unit(at) => unit_line(&picture.view.units[*at], &self.name, picture, columns),
            Body::Below(at, nth) => {
                let unit = &picture.view.units[*at];
                let text = behind(unit, picture).into_iter().nth(*nth).unwrap_or_default();
                let indent = "  ".repeat(depth(unit) + 2);
                Line::of(Ink::Grey, &format!("{indent}└ {text}"))
            }
            Body::Counts(told) => counts(told, self.place),
            Body::More(more) => Line::of(Ink::Grey, more),
        })
    }
}

/// The names of the columns.
pub(crate) fn headings(columns: usize) -> Line {
    let mut line = Line::default();
    line.column(Ink::Grey, "   STAGE", name_width(columns) + 2);
    line.column(Ink::Grey, " STATE", STATE + 2);
    for (name, columns) in [("TIME", TIME), ("USUAL", TIME), ("TOKENS", TOKENS), ("COST", COST)] {
        line.column_right(Ink::Grey, name, columns);
    }
    line
}

fn name_width(columns: usize) -> usize {
    if columns < WIDE { NAME } else { NAME_WIDE }
}

/// All lines about units, nothing folded.
pub(crate) fn rows(picture: &Picture, columns: usize) -> Vec<Row> {
    let units = &picture.view.units;
    let scope = |unit: &UnitView| unit.unit.rsplit_once('/').map(|(scope, _)| scope.to_owned());
    let mut n_inside: BTreeMap<String, u32> = BTreeMap::new();
    for scope in units.iter().filter_map(scope) {
        *n_inside.entry(scope).or_default() += 1;
    }
    let mut all = Vec::new();
    for (at, unit) in units.iter().enumerate() {
        // Where an item has one stage, the item says it all.
        let is_alone = scope(unit).is_some_and(|scope| n_inside.get(&scope) == Some(&1));
        let name = match short(&unit.unit).split_once('/') {
            Some((item, _)) if is_alone => item.to_owned(),
            Some(_) | None => short(&unit.unit).to_owned(),
        };
        let row = |weight: Weight, body: Body| Row {
            unit: Some(unit.unit.clone()),
            name: name.clone(),
            state: unit.state,
            weight,
            place: if unit.depth == 0 { Place::Stage } else { Place::Inside },
            body,
        };
        all.push(row(weight(unit), Body::Unit(at)));
        if columns < WIDE {
            for nth in 0..n_behind(unit, picture) {
                all.push(row(Weight::Latest, Body::Below(at, nth)));
            }
        }
    }
    all
}

/// How many lines stand behind a unit.
fn n_behind(unit: &UnitView, picture: &Picture) -> usize {
    if unit.state == UnitState::Limited {
        return 1;
    }
    picture.working.get(&unit.unit).map_or(0, Vec::len)
}

/// What stands behind a unit on a wide screen, and below it on a narrow one.
fn behind(unit: &UnitView, picture: &Picture) -> Vec<String> {
    match unit.state {
        UnitState::Limited => {
            let until = unit.until.map(|until| format::then(until, picture.now));
            let until = until.map(|until| format!("until {until}  ")).unwrap_or_default();
            vec![format!("{until}{}", unit.why)]
        }
        UnitState::Waiting
        | UnitState::Working
        | UnitState::Judging
        | UnitState::Asking
        | UnitState::Accepted
        | UnitState::Skipped
        | UnitState::Failed
        | UnitState::Blocked => {
            let calls = picture.working.get(&unit.unit).map(Vec::as_slice).unwrap_or_default();
            calls.iter().map(latest).collect()
        }
    }
}

fn depth(unit: &UnitView) -> usize {
    usize::try_from(unit.depth).unwrap_or_default()
}

const fn weight(unit: &UnitView) -> Weight {
    match unit.state {
        UnitState::Asking => Weight::Asks,
        UnitState::Limited
        | UnitState::Working
        | UnitState::Judging
        | UnitState::Failed
        | UnitState::Blocked => Weight::Loud,
        UnitState::Waiting | UnitState::Accepted | UnitState::Skipped => Weight::Quiet,
    }
}

fn unit_line(unit: &UnitView, name: &str, picture: &Picture, columns: usize) -> Line {
    let calls = picture.working.get(&unit.unit).map(Vec::as_slice).unwrap_or_default();
    let (mark, ink) = mark(unit.state);
    let indent = "  ".repeat(depth(unit));
    let mut line = Line::default();
    line.push(Ink::Plain, &format!("{indent} "));
    line.push(ink, mark);
    let room = name_width(columns).saturating_sub(indent.len() + 1);
    let mut name = Line::of(name_ink(unit.state), &format!(" {name}"));
    if !unit.title.is_empty() {
        name.push(Ink::Grey, &format!(" {}", unit.title));
    }
    line = line.join(name.filled(room));
    line.push(Ink::Plain, " ");
    line.column(ink, &state(unit), STATE);
    line.push(Ink::Plain, " ");
    let took = picture.took.get(&unit.unit).copied().unwrap_or_default();
    let took = if took == 0 { String::new() } else { span(took) };
    line.column_right(Ink::Plain, &took, TIME);
    line.column_right(Ink::Grey, &usual(unit, picture), TIME);
    let used: u64 = calls.iter().map(|call| call.spent.tokens.total()).sum();
    let tokens = match unit.tokens + used {
        0 => String::new(),
        tokens => format::short_number(tokens),
    };
    line.column_right(Ink::Grey, &tokens, TOKENS);
    let amount = unit.amount();
    let cost = if amount == Amount::default() { String::new() } else { amount.in_short() };
    line.column_right(Ink::Plain, &cost, COST);
    if columns >= WIDE {
        for text in behind(unit, picture) {
            line.push(Ink::Grey, &format!("  {text}"));
        }
        if unit.state == UnitState::Accepted {
            line.push(Ink::Grey, &format!("  {}", unit.summary));
        }
    }
    line
}

/// How long such a stage usually takes, if it is not over yet or if past runs say so.
fn usual(unit: &UnitView, picture: &Picture) -> String {
    let place = unit.unit.parse::<forge_core::id::UnitId>().map(|unit| unit.place());
    let usual = place.ok().and_then(|place| picture.usual.get(&place).copied());
    match (usual, unit.state) {
        (Some(ms), state) if ms >= 1_000 && state != UnitState::Skipped => format!("~{}", span(ms)),
        (Some(_) | None, _) => String::new(),
    }
}

/// The latest line of a call, with who says it where it is a reviewer.
fn latest(call: &Working) -> String {
    match &call.line {
        Some(line) => line.clone(),
        None => call.does.clone(),
    }
}

const fn mark(state: UnitState) -> (&'static str, Ink) {
    match state {
        UnitState::Waiting => ("·", Ink::Grey),
        UnitState::Limited => ("◌", Ink::Yellow),
        UnitState::Working | UnitState::Judging => ("●", Ink::Cyan),
        UnitState::Asking => ("?", Ink::Yellow),
        UnitState::Accepted => ("✓", Ink::Green),
        UnitState::Skipped => ("-", Ink::Grey),
        UnitState::Failed | UnitState::Blocked => ("✗", Ink::Red),
    }
}

const fn name_ink(state: UnitState) -> Ink {
    match state {
        UnitState::Waiting | UnitState::Skipped => Ink::Grey,
        UnitState::Limited
        | UnitState::Working
        | UnitState::Judging
        | UnitState::Asking
        | UnitState::Accepted
        | UnitState::Failed
        | UnitState::Blocked => Ink::Plain,
    }
}

/// Where a unit stands: its items, or its state with its round.
fn state(unit: &UnitView) -> String {
    if let Some((closed, all)) = unit.items.filter(|(_, all)| *all > 0)
        && !matches!(unit.state, UnitState::Asking | UnitState::Skipped)
    {
        return format!("{closed} of {all} items");
    }
    let gate = unit.gate.as_deref().map(|gate| format!(" {gate}")).unwrap_or_default();
    let round = match unit.round {
        0 => String::new(),
        round => format!(" r{round}"),
    };
    match unit.state {
        UnitState::Waiting => round.trim_start().to_owned(),
        UnitState::Limited => format!("limited{round}"),
        UnitState::Working => match unit.attempt {
            0 | 1 => format!("working{round}"),
            attempt => format!("working #{attempt}{round}"),
        },
        UnitState::Judging => format!("in{gate}{round}"),
        UnitState::Asking => format!("asks you{round}"),
        UnitState::Accepted => format!("good{round}"),
        UnitState::Skipped => "skipped".to_owned(),
        UnitState::Failed => format!("FAILED{round}"),
        UnitState::Blocked => format!("BLOCKED{round}"),
    }
}

/// As many lines as there is room for, and what did not fit in counts.
pub(crate) fn fold(rows: Vec<Row>, room: usize) -> Vec<Row> {
    let mut rows = rows;
    let quiet = |row: &Row, place: Place| row.weight == Weight::Quiet && row.place == place;
    rows = folded(rows, &|row| quiet(row, Place::Inside), room);
    rows = gathered(rows, room);
    rows = folded(rows, &|row| quiet(row, Place::Stage), room);
    // The latest lines go from the bottom up, as many as have to.
    let mut over = rows.len().saturating_sub(room);
    let mut position = rows.len();
    while over > 0 && position > 0 {
        position -= 1;
        if rows[position].weight == Weight::Latest {
            rows.remove(position);
            over -= 1;
        }
    }
    if rows.len() > room {
        rows = the_weightiest(rows, room);
    }
    rows
}

/// Neighbours that may be folded become one line with counts, until there is room. One alone stays as it is.
fn folded(rows: Vec<Row>, may: &dyn Fn(&Row) -> bool, room: usize) -> Vec<Row> {
    let mut over = rows.len().saturating_sub(room);
    let mut all = Vec::new();
    let mut run: Vec<Row> = Vec::new();
    for row in rows {
        if may(&row) {
            run.push(row);
        } else {
            close(&mut all, &mut run, &mut over);
            all.push(row);
        }
    }
    close(&mut all, &mut run, &mut over);
    all
}

fn close(all: &mut Vec<Row>, run: &mut Vec<Row>, over: &mut usize) {
    if run.len() < 2 || *over == 0 {
        all.append(run);
        return;
    }
    // Where there is room for several of them, what was done last stays, or what comes next.
    let kept = run.len().saturating_sub(*over + 1);
    let kept = if run[0].place == Place::Inside && kept >= KEPT_MIN { kept } else { 0 };
    *over = over.saturating_sub(run.len() - kept - 1);
    if run[0].state == UnitState::Waiting {
        let rest = run.split_off(kept);
        all.append(run);
        all.push(in_counts(rest));
    } else {
        let rest = run.split_off(run.len() - kept);
        all.push(in_counts(std::mem::take(run)));
        all.extend(rest);
    }
}

/// Where quiet items lie between others and there is still no room, all of one stage become one line, where the
/// first of them was.
fn gathered(rows: Vec<Row>, room: usize) -> Vec<Row> {
    if rows.len() <= room {
        return rows;
    }
    let mut all: Vec<Row> = Vec::new();
    let mut quiet: Vec<Row> = Vec::new();
    let mut first = None;
    let settle = |all: &mut Vec<Row>, quiet: &mut Vec<Row>, first: &mut Option<usize>| {
        if let Some(at) = first.take() {
            let row = match quiet.len() {
                1 => quiet.remove(0),
                _ => in_counts(std::mem::take(quiet)),
            };
            all.insert(at, row);
        }
    };
    for row in rows {
        match (row.place, row.weight) {
            (Place::Stage, _) => {
                settle(&mut all, &mut quiet, &mut first);
                all.push(row);
            }
            (Place::Inside, Weight::Quiet) => {
                first.get_or_insert(all.len());
                quiet.push(row);
            }
            (Place::Inside, Weight::Latest | Weight::Loud | Weight::Asks) => all.push(row),
        }
    }
    settle(&mut all, &mut quiet, &mut first);
    all
}

/// One line that counts others, of which some may count already. There is at least one.
fn in_counts(run: Vec<Row>) -> Row {
    let (state, place) = (run[0].state, run[0].place);
    let told = |row: Row| match row.body {
        Body::Counts(told) => told,
        Body::Unit(_) | Body::Below(..) | Body::More(_) => vec![(row.name, row.state)],
    };
    let body = Body::Counts(run.into_iter().flat_map(told).collect());
    Row { unit: None, name: String::new(), state, weight: Weight::Quiet, place, body }
}

/// How many are good, skipped and to come; stages also by their names.
fn counts(told: &[(String, UnitState)], place: Place) -> Line {
    let mut line = match place {
        Place::Stage => Line::of(Ink::Plain, " "),
        Place::Inside => Line::of(Ink::Plain, "   "),
    };
    for (state, word) in [
        (UnitState::Accepted, "good"),
        (UnitState::Skipped, "skipped"),
        (UnitState::Waiting, "to come"),
    ] {
        let some = told.iter().filter(|(_, told)| *told == state).map(|(name, _)| name.as_str());
        let some: Vec<&str> = some.collect();
        if some.is_empty() {
            continue;
        }
        let (mark, ink) = mark(state);
        line.push(ink, mark);
        let names = match place {
            Place::Stage => format!(" {} {word}: {}  ", some.len(), some.join(", ")),
            Place::Inside => format!(" {} {word}  ", some.len()),
        };
        line.push(Ink::Grey, &names);
    }
    line
}

/// The lines that matter most, in their order, and how many there are besides.
fn the_weightiest(rows: Vec<Row>, room: usize) -> Vec<Row> {
    let Some(room) = room.checked_sub(1) else { return Vec::new() };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(rows[*at].weight));
    let mut kept: Vec<usize> = order.iter().copied().take(room).collect();
    kept.sort_unstable();
    let left = order.iter().skip(room).filter(|at| rows[**at].weight >= Weight::Loud).count();
    let more = match left {
        0 => format!("   and {} more", rows.len() - kept.len()),
        left => format!("   and {left} more under way or failed"),
    };
    let mut rest = rows.into_iter().enumerate();
    let mut all: Vec<Row> = Vec::new();
    for at in kept {
        all.extend(rest.by_ref().find(|(position, _)| *position == at).map(|(_, row)| row));
    }
    all.push(Row {
        unit: None,
        name: String::new(),
        state: UnitState::Waiting,
        weight: Weight::Quiet,
        place: Place::Inside,
        body: Body::More(more),
    });
    all
}
