//! The rows of a run's units: stages, their items, and the latest line of each running call; and which of them become
//! counts where there are more rows than lines.
//!
//! Invariant: units that work, ask or failed are folded last, and those that ask last of all.

use std::collections::BTreeMap;

use forge_api::follow::{RunSnapshot, Working};
use forge_core::view::{Amount, UnitState, UnitView};

use super::line::{LineStyle, StyledLine};
use crate::format::{self, duration};

/// From this width on, the latest line is beside its unit and not below it.
const WIDE: usize = 120;
/// The widths of the columns.
const STATE: usize = 19;
const TIME: usize = 8;
const TOKENS: usize = 7;
const COST: usize = 9;
/// The width of a name on a narrow and on a wide screen.
const NAME: usize = 25;
const NAME_WIDE: usize = 44;

/// Fewer quiet items than this are not kept beside the count of the others: rows would appear and disappear.
const KEPT_MIN: usize = 4;

/// The priority of a row where there is little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowPriority {
    /// The unit is closed or has not started.
    Quiet,
    /// The latest line of a call.
    LatestLine,
    /// The unit works, waits for a limit, or failed.
    Active,
    /// The unit asks a question.
    Asking,
}

/// The level of a row in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowLevel {
    /// A stage of the flow itself.
    Stage,
    /// A unit of an item, or a count of such units.
    Item,
}

/// The content of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RowContent {
    /// A unit, by its index in the view.
    Unit(usize),
    /// A detail below a unit: the index of the unit, and which detail.
    Below(usize, usize),
    /// Counts of several units, from their names and states.
    Counts(Vec<(String, UnitState)>),
    /// How many other rows were left out.
    More(String),
}

/// One row of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnitRow {
    /// The unit, unless the row is about several.
    unit: Option<String>,
    /// The name of the unit below its stage.
    name: String,
    state: UnitState,
    priority: RowPriority,
    level: RowLevel,
    body: RowContent,
}

impl UnitRow {
    /// Returns the unit that this row selects, if any.
    pub(crate) fn selectable_unit(&self) -> Option<&str> {
        match self.priority {
            RowPriority::LatestLine => None,
            RowPriority::Quiet | RowPriority::Active | RowPriority::Asking => self.unit.as_deref(),
        }
    }

    /// Builds the line. Called only for rows that are shown: a run may have many units.
    pub(crate) fn line(
        &self,
        snapshot: &RunSnapshot,
        columns: usize,
        chosen: Option<&str>,
    ) -> StyledLine {
        let is_chosen = chosen.is_some() && self.selectable_unit() == chosen;
        let (style, mark) =
            if is_chosen { (LineStyle::Bold, "›") } else { (LineStyle::Plain, " ") };
        let mut line = StyledLine::default();
        line.column(style, mark, 1);
        line.join(match &self.body {
            RowContent::Unit(at) => {
                unit_line(&snapshot.view.units[*at], &self.name, snapshot, columns)
            }
            RowContent::Below(at, nth) => {
                let unit = &snapshot.view.units[*at];
                let text = details(unit, snapshot).into_iter().nth(*nth).unwrap_or_default();
                let indent = "  ".repeat(depth(unit) + 2);
                StyledLine::new(LineStyle::Grey, &format!("{indent}└ {text}"))
            }
            RowContent::Counts(counted) => counts_line(counted, self.level),
            RowContent::More(more) => StyledLine::new(LineStyle::Grey, more),
        })
    }
}

pub(crate) fn column_headings(columns: usize) -> StyledLine {
    let mut line = StyledLine::default();
    line.column(LineStyle::Grey, "   STAGE", name_width(columns) + 2);
    line.column(LineStyle::Grey, " STATE", STATE + 2);
    for (name, columns) in [("TIME", TIME), ("USUAL", TIME), ("TOKENS", TOKENS), ("COST", COST)] {
        line.column_right(LineStyle::Grey, name, columns);
    }
    line
}

fn name_width(columns: usize) -> usize {
    if columns < WIDE { NAME } else { NAME_WIDE }
}

/// Builds all rows, nothing folded.
pub(crate) fn unit_rows(snapshot: &RunSnapshot, columns: usize) -> Vec<UnitRow> {
    let units = &snapshot.view.units;
    let scope = |unit: &UnitView| unit.unit.rsplit_once('/').map(|(scope, _)| scope.to_owned());
    let mut n_inside: BTreeMap<String, u32> = BTreeMap::new();
    for scope in units.iter().filter_map(scope) {
        *n_inside.entry(scope).or_default() += 1;
    }
    let mut all = Vec::new();
    for (at, unit) in units.iter().enumerate() {
        // An item with a single stage needs no stage name.
        let is_alone = scope(unit).is_some_and(|scope| n_inside.get(&scope) == Some(&1));
        let name = match format::short_unit_name(&unit.unit).split_once('/') {
            Some((item, _)) if is_alone => item.to_owned(),
            Some(_) | None => format::short_unit_name(&unit.unit).to_owned(),
        };
        let row = |priority: RowPriority, body: RowContent| UnitRow {
            unit: Some(unit.unit.clone()),
            name: name.clone(),
            state: unit.state,
            priority,
            level: if unit.depth == 0 { RowLevel::Stage } else { RowLevel::Item },
            body,
        };
        all.push(row(priority(unit), RowContent::Unit(at)));
        if columns < WIDE {
            for nth in 0..n_details(unit, snapshot) {
                all.push(row(RowPriority::LatestLine, RowContent::Below(at, nth)));
            }
        }
    }
    all
}

fn n_details(unit: &UnitView, snapshot: &RunSnapshot) -> usize {
    if unit.state == UnitState::Limited {
        return 1;
    }
    snapshot.working.get(&unit.unit).map_or(0, Vec::len)
}

/// Returns the details of a unit: beside it on a wide screen, below it on a narrow one.
fn details(unit: &UnitView, snapshot: &RunSnapshot) -> Vec<String> {
    if unit.state == UnitState::Limited {
        let until = unit.until.map(|until| format::future_time(until, snapshot.now));
        let until = until.map(|until| format!("until {until}  ")).unwrap_or_default();
        return vec![format!("{until}{}", unit.why)];
    }
    let calls = snapshot.working.get(&unit.unit).map(Vec::as_slice).unwrap_or_default();
    calls.iter().map(latest_line).collect()
}

fn depth(unit: &UnitView) -> usize {
    usize::try_from(unit.depth).unwrap_or_default()
}

fn priority(unit: &UnitView) -> RowPriority {
    if unit.state == UnitState::Asking {
        RowPriority::Asking
    } else if unit.state.is_quiet() {
        RowPriority::Quiet
    } else {
        RowPriority::Active
    }
}

fn unit_line(unit: &UnitView, name: &str, snapshot: &RunSnapshot, columns: usize) -> StyledLine {
    let calls = snapshot.working.get(&unit.unit).map(Vec::as_slice).unwrap_or_default();
    let (mark, style) = mark(unit.state);
    let indent = "  ".repeat(depth(unit));
    let mut line = StyledLine::default();
    line.push(LineStyle::Plain, &format!("{indent} "));
    line.push(style, mark);
    let room = name_width(columns).saturating_sub(indent.len() + 1);
    let mut name = StyledLine::new(name_style(unit.state), &format!(" {name}"));
    if !unit.title.is_empty() {
        name.push(LineStyle::Grey, &format!(" {}", unit.title));
    }
    line = line.join(name.fill_to(room));
    line.push(LineStyle::Plain, " ");
    line.column(style, &state_text(unit), STATE);
    line.push(LineStyle::Plain, " ");
    let took = snapshot.took.get(&unit.unit).copied().unwrap_or_default();
    let took = if took == 0 { String::new() } else { duration(took) };
    line.column_right(LineStyle::Plain, &took, TIME);
    line.column_right(LineStyle::Grey, &usual_time(unit, snapshot), TIME);
    let used: u64 = calls.iter().map(|call| call.spent.tokens.total()).sum();
    let tokens = match unit.tokens + used {
        0 => String::new(),
        tokens => format::short_number(tokens),
    };
    line.column_right(LineStyle::Grey, &tokens, TOKENS);
    let amount = unit.amount();
    let cost = if amount == Amount::default() { String::new() } else { amount.to_short_text() };
    line.column_right(LineStyle::Plain, &cost, COST);
    if columns >= WIDE {
        for text in details(unit, snapshot) {
            line.push(LineStyle::Grey, &format!("  {text}"));
        }
        if unit.state == UnitState::Accepted {
            line.push(LineStyle::Grey, &format!("  {}", unit.summary));
        }
    }
    line
}

/// Formats how long the stage took in past runs.
fn usual_time(unit: &UnitView, snapshot: &RunSnapshot) -> String {
    let place = unit.unit.parse::<forge_core::id::UnitId>().map(|unit| unit.place());
    let usual = place.ok().and_then(|place| snapshot.usual.get(&place).copied());
    match (usual, unit.state) {
        (Some(ms), state) if ms >= 1_000 && state != UnitState::Skipped => {
            format!("~{}", duration(ms))
        }
        (Some(_) | None, _) => String::new(),
    }
}

/// Returns the latest line of a call, or what it does.
fn latest_line(call: &Working) -> String {
    match &call.line {
        Some(line) => line.clone(),
        None => call.does.clone(),
    }
}

const fn mark(state: UnitState) -> (&'static str, LineStyle) {
    match state {
        UnitState::Waiting => ("·", LineStyle::Grey),
        UnitState::Limited => ("◌", LineStyle::Yellow),
        UnitState::Working | UnitState::Judging => ("●", LineStyle::Cyan),
        UnitState::Asking => ("?", LineStyle::Yellow),
        UnitState::Accepted => ("✓", LineStyle::Green),
        UnitState::Skipped => ("-", LineStyle::Grey),
        UnitState::Failed | UnitState::Blocked => ("✗", LineStyle::Red),
    }
}

fn name_style(state: UnitState) -> LineStyle {
    let has_begun = !state.is_quiet() || state == UnitState::Accepted;
    if has_begun { LineStyle::Plain } else { LineStyle::Grey }
}

/// Formats the state of a unit: its items, or its state with its round.
fn state_text(unit: &UnitView) -> String {
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

/// Folds rows until there are at most `room`.
pub(crate) fn fold_rows(rows: Vec<UnitRow>, room: usize) -> Vec<UnitRow> {
    let mut rows = rows;
    let quiet =
        |row: &UnitRow, level: RowLevel| row.priority == RowPriority::Quiet && row.level == level;
    rows = fold_neighbours(rows, &|row| quiet(row, RowLevel::Item), room);
    rows = gather(rows, room);
    rows = fold_neighbours(rows, &|row| quiet(row, RowLevel::Stage), room);
    // Latest lines are removed from the bottom up, as many as necessary.
    let mut over = rows.len().saturating_sub(room);
    let mut position = rows.len();
    while over > 0 && position > 0 {
        position -= 1;
        if rows[position].priority == RowPriority::LatestLine {
            rows.remove(position);
            over -= 1;
        }
    }
    if rows.len() > room {
        rows = most_important(rows, room);
    }
    rows
}

/// Folds neighbours into counts until there is room. A single one stays as it is.
fn fold_neighbours(
    rows: Vec<UnitRow>,
    may: &dyn Fn(&UnitRow) -> bool,
    room: usize,
) -> Vec<UnitRow> {
    let mut over = rows.len().saturating_sub(room);
    let mut all = Vec::new();
    let mut run: Vec<UnitRow> = Vec::new();
    for row in rows {
        if may(&row) {
            run.push(row);
        } else {
            fold_group(&mut all, &mut run, &mut over);
            all.push(row);
        }
    }
    fold_group(&mut all, &mut run, &mut over);
    all
}

fn fold_group(all: &mut Vec<UnitRow>, run: &mut Vec<UnitRow>, over: &mut usize) {
    if run.len() < 2 || *over == 0 {
        all.append(run);
        return;
    }
    // If several can stay, those are the last closed ones, or the next ones to start.
    let kept = run.len().saturating_sub(*over + 1);
    let kept = if run[0].level == RowLevel::Item && kept >= KEPT_MIN { kept } else { 0 };
    *over = over.saturating_sub(run.len() - kept - 1);
    if run[0].state == UnitState::Waiting {
        let rest = run.split_off(kept);
        all.append(run);
        all.push(count_row(rest));
    } else {
        let rest = run.split_off(run.len() - kept);
        all.push(count_row(std::mem::take(run)));
        all.extend(rest);
    }
}

/// Folds all quiet items of a stage into one row, at the position of the first, if there is still no room.
fn gather(rows: Vec<UnitRow>, room: usize) -> Vec<UnitRow> {
    if rows.len() <= room {
        return rows;
    }
    let mut all: Vec<UnitRow> = Vec::new();
    let mut quiet: Vec<UnitRow> = Vec::new();
    let mut first = None;
    let settle = |all: &mut Vec<UnitRow>, quiet: &mut Vec<UnitRow>, first: &mut Option<usize>| {
        if let Some(at) = first.take() {
            let row = match quiet.len() {
                1 => quiet.remove(0),
                _ => count_row(std::mem::take(quiet)),
            };
            all.insert(at, row);
        }
    };
    for row in rows {
        match (row.level, row.priority) {
            (RowLevel::Stage, _) => {
                settle(&mut all, &mut quiet, &mut first);
                all.push(row);
            }
            (RowLevel::Item, RowPriority::Quiet) => {
                first.get_or_insert(all.len());
                quiet.push(row);
            }
            (
                RowLevel::Item,
                RowPriority::LatestLine | RowPriority::Active | RowPriority::Asking,
            ) => all.push(row),
        }
    }
    settle(&mut all, &mut quiet, &mut first);
    all
}

/// Builds one row that counts others, some of which may be counts already. `run` is not empty.
fn count_row(run: Vec<UnitRow>) -> UnitRow {
    let (state, level) = (run[0].state, run[0].level);
    let counted = |row: UnitRow| match row.body {
        RowContent::Counts(counted) => counted,
        RowContent::Unit(_) | RowContent::Below(..) | RowContent::More(_) => {
            vec![(row.name, row.state)]
        }
    };
    let body = RowContent::Counts(run.into_iter().flat_map(counted).collect());
    UnitRow { unit: None, name: String::new(), state, priority: RowPriority::Quiet, level, body }
}

/// Formats how many are good, skipped and to come; stages also by name.
fn counts_line(counted: &[(String, UnitState)], level: RowLevel) -> StyledLine {
    let mut line = match level {
        RowLevel::Stage => StyledLine::new(LineStyle::Plain, " "),
        RowLevel::Item => StyledLine::new(LineStyle::Plain, "   "),
    };
    for (state, word) in [
        (UnitState::Accepted, "good"),
        (UnitState::Skipped, "skipped"),
        (UnitState::Waiting, "to come"),
    ] {
        let some =
            counted.iter().filter(|(_, counted)| *counted == state).map(|(name, _)| name.as_str());
        let some: Vec<&str> = some.collect();
        if some.is_empty() {
            continue;
        }
        let (mark, style) = mark(state);
        line.push(style, mark);
        let names = match level {
            RowLevel::Stage => format!(" {} {word}: {}  ", some.len(), some.join(", ")),
            RowLevel::Item => format!(" {} {word}  ", some.len()),
        };
        line.push(LineStyle::Grey, &names);
    }
    line
}

/// Keeps the rows with the highest priority, in order, and adds how many were left out.
fn most_important(rows: Vec<UnitRow>, room: usize) -> Vec<UnitRow> {
    let Some(room) = room.checked_sub(1) else { return Vec::new() };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(rows[*at].priority));
    let mut kept: Vec<usize> = order.iter().copied().take(room).collect();
    kept.sort_unstable();
    let n_active =
        order.iter().skip(room).filter(|at| rows[**at].priority >= RowPriority::Active).count();
    let more = match n_active {
        0 => format!("   and {} more", rows.len() - kept.len()),
        n_active => format!("   and {n_active} more under way or failed"),
    };
    let mut rest = rows.into_iter().enumerate();
    let mut all: Vec<UnitRow> = Vec::new();
    for at in kept {
        all.extend(rest.by_ref().find(|(position, _)| *position == at).map(|(_, row)| row));
    }
    all.push(UnitRow {
        unit: None,
        name: String::new(),
        state: UnitState::Waiting,
        priority: RowPriority::Quiet,
        level: RowLevel::Item,
        body: RowContent::More(more),
    });
    all
}
