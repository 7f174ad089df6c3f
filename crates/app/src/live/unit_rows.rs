//! The rows of a run's units: stages, their items, and the latest line of each running call; and which of them become
//! counts where there are more rows than lines.
//!
//! Invariant: units that work, ask or failed are folded last, and those that ask last of all.

use std::collections::BTreeMap;

use forge_api::follow::{RunSnapshot, Working};
use forge_core::view::{Amount, Course, UnitState, UnitView};
use ratatui::style::Style;

use super::{
    line::{BOLD, PLAIN, SanitizedLine as _, ScreenLine, coloured, line, width},
    totals::{add_spent, usual_time},
};
use crate::{
    format::{self, duration},
    palette::Hue,
    text::state_words::{DrivenBy, StateMark, UnitActivity, unit_mark, unit_symbol, waiting_word},
};

/// From this width on, the latest line is beside its unit and not below it, with so much room at least.
const WIDE: usize = 120;
const DETAILS_MIN: usize = 48;
/// The selection and the symbol before a name.
const PREFIX: usize = 4;
/// The space between two columns.
const GAP: usize = 2;
/// The widths of the columns.
const STATE: usize = 21;
const STATE_NARROW: usize = 13;
const TIME: usize = 6;
const USUAL: usize = 7;
const TOKENS: usize = 6;
const COST: usize = 8;
/// The width of a name at least, before a column gives way to it, and at most.
const NAME_MIN: usize = 14;
const NAME_MIN_NARROW: usize = 11;
const NAME_MAX: usize = 44;
/// Below this width the state has less room.
const NARROW: usize = 60;

/// The columns that a screen has room for. Names and states always stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// Of the screen.
    width: usize,
    name: usize,
    state: usize,
    /// Time, usual time, tokens and cost; 0 for one that is left out.
    numbers: [usize; 4],
}

impl Columns {
    pub(crate) fn new(width: usize, snapshot: &RunSnapshot, rows: &[UnitRow]) -> Self {
        let units = &snapshot.view.units;
        let (state, name_min) =
            if width < NARROW { (STATE_NARROW, NAME_MIN_NARROW) } else { (STATE, NAME_MIN) };
        let details = if width < WIDE { 0 } else { GAP + DETAILS_MIN };
        let has_usual = units.iter().any(|unit| usual_text(unit, snapshot).is_some());
        let mut numbers = [TIME, if has_usual { USUAL } else { 0 }, TOKENS, COST];
        let fixed = |numbers: [usize; 4]| {
            let shown = numbers.into_iter().filter(|column| *column > 0);
            PREFIX + GAP + state + details + shown.map(|column| GAP + column).sum::<usize>()
        };
        let longest = rows.iter().filter_map(|row| row.label_width(units)).max();
        let longest = longest.unwrap_or_default();
        // Tokens give way first, then the usual time, the time, and the cost.
        for column in [2, 1, 0, 3] {
            if fixed(numbers) + longest.min(name_min) > width {
                numbers[column] = 0;
            }
        }
        let longest = longest.clamp(name_min, NAME_MAX);
        let name = width.saturating_sub(fixed(numbers)).clamp(1, longest);
        Self { width, name, state, numbers }
    }

    /// Builds a row from its cells.
    fn row(self, name: ScreenLine, state: (Style, &str), numbers: [&str; 4]) -> ScreenLine {
        let mut row = name.fill_to(PREFIX - 2 + self.name).with(PLAIN, "  ");
        // Where a state has no room for its revision, the word is enough.
        let word = match state.1.split_once(", ") {
            Some((word, _)) if width(state.1) > self.state => word,
            Some(_) | None => state.1,
        };
        row.column(state.0, word, self.state);
        for (text, columns) in numbers.into_iter().zip(self.numbers) {
            if columns > 0 {
                row.add(PLAIN, "  ");
                row.column_right(PLAIN, text, columns);
            }
        }
        row
    }

    pub(crate) fn headings(self) -> ScreenLine {
        let name = line(BOLD, "  STAGE");
        let row = self.row(name, (BOLD, "STATE"), ["TIME", "USUAL", "TOKENS", "COST"]);
        let spans = row.spans.into_iter().map(|span| span.style(BOLD));
        line(PLAIN, "  ").join(spans.collect::<Vec<_>>().into())
    }
}

/// Fewer quiet tasks than this are not kept beside the count of the others: rows would appear and disappear.
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

    /// Returns the width of the name with its title, for the row of a unit.
    fn label_width(&self, units: &[UnitView]) -> Option<usize> {
        let RowContent::Unit(at) = self.body else { return None };
        let unit = &units[at];
        Some(2 * depth(unit) + width(&self.name) + width(&unit.title) + 1)
    }

    /// Builds the line. Called only for rows that are shown: a run may have many units.
    pub(crate) fn line(
        &self,
        snapshot: &RunSnapshot,
        driven_by: DrivenBy,
        columns: Columns,
        chosen: Option<&str>,
    ) -> ScreenLine {
        let is_chosen = chosen.is_some() && self.selectable_unit() == chosen;
        let mark = if is_chosen { "❯ " } else { "  " };
        line(BOLD, mark).join(match &self.body {
            RowContent::Unit(at) => {
                unit_line(&snapshot.view.units[*at], &self.name, snapshot, driven_by, columns)
            }
            RowContent::Below(at, nth) => {
                let unit = &snapshot.view.units[*at];
                let text =
                    details(unit, snapshot, driven_by).into_iter().nth(*nth).unwrap_or_default();
                let indent = "  ".repeat(depth(unit) + 1);
                line(PLAIN, &format!("{indent}└ {text}"))
            }
            RowContent::Counts(counted) => {
                counts_line(counted, self.level, snapshot.view.row.standing.course())
            }
            RowContent::More(more) => line(PLAIN, more),
        })
    }
}

/// Builds all rows, nothing folded.
pub(crate) fn unit_rows(snapshot: &RunSnapshot, driven_by: DrivenBy, width: usize) -> Vec<UnitRow> {
    let units = &snapshot.view.units;
    let scope = |unit: &UnitView| unit.unit.rsplit_once('/').map(|(scope, _)| scope.to_owned());
    let mut n_inside: BTreeMap<String, u32> = BTreeMap::new();
    for scope in units.iter().filter_map(scope) {
        *n_inside.entry(scope).or_default() += 1;
    }
    let mut all = Vec::new();
    // What does not apply to this run is not of interest.
    let applies = |(_, unit): &(usize, &UnitView)| unit.state != UnitState::Skipped;
    for (at, unit) in units.iter().enumerate().filter(applies) {
        // An item with a single stage needs no stage name.
        let is_alone = scope(unit).is_some_and(|scope| n_inside.get(&scope) == Some(&1));
        let label = format::unit_label(&unit.unit);
        let name = match label.split_once(' ') {
            Some((item, _)) if is_alone => item.to_owned(),
            Some(_) | None => label,
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
        if width < WIDE {
            for nth in 0..details(unit, snapshot, driven_by).len() {
                all.push(row(RowPriority::LatestLine, RowContent::Below(at, nth)));
            }
        }
    }
    all
}

/// Returns the details of a unit: beside it on a wide screen, below it on a narrow one. A unit that stands still has none.
fn details(unit: &UnitView, snapshot: &RunSnapshot, driven_by: DrivenBy) -> Vec<String> {
    if UnitActivity::new(unit, snapshot, driven_by) != UnitActivity::UnderWay {
        return Vec::new();
    }
    if unit.state == UnitState::Limited || !unit.why.is_empty() {
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

fn unit_line(
    unit: &UnitView,
    name: &str,
    snapshot: &RunSnapshot,
    driven_by: DrivenBy,
    columns: Columns,
) -> ScreenLine {
    let calls = snapshot.working.get(&unit.unit).map(Vec::as_slice).unwrap_or_default();
    let mark = asking_tasks_mark(unit, snapshot)
        .unwrap_or_else(|| unit_mark(unit, UnitActivity::new(unit, snapshot, driven_by)));
    let mut head = line(PLAIN, &"  ".repeat(depth(unit)));
    head.add(symbol_style(mark.hue), mark.symbol);
    let has_begun = !unit.state.is_quiet() || unit.state == UnitState::Accepted;
    head.add(if has_begun { BOLD } else { PLAIN }, &format!(" {name}"));
    if !unit.title.is_empty() {
        head.add(PLAIN, &format!(" {}", unit.title));
    }
    let took = snapshot.took.get(&unit.unit).copied().unwrap_or_default();
    // The clock of a run without a driver stands, and so do those of its stages.
    let is_unseen = driven_by == DrivenBy::Nothing && !calls_inside(unit, snapshot).is_empty();
    let since = if is_unseen { snapshot.view.row.changed_at } else { snapshot.now };
    let unseen = snapshot.now.saturating_sub(since);
    let took = match took.saturating_sub(unseen) {
        0 => String::new(),
        took => duration(took),
    };
    let usual = usual_text(unit, snapshot).unwrap_or_default();
    let used: u64 = calls.iter().map(|call| call.spent.tokens.total()).sum();
    let tokens = match unit.tokens + used {
        0 => String::new(),
        tokens => format::short_number(tokens),
    };
    let amount = calls.iter().fold(unit.amount(), |amount, call| add_spent(amount, &call.spent));
    let cost = if amount == Amount::default() { String::new() } else { amount.to_short_text() };
    let mut line = columns.row(head, (PLAIN, &mark.word), [&took, &usual, &tokens, &cost]);
    if columns.width >= WIDE {
        for text in details(unit, snapshot, driven_by) {
            line.add(PLAIN, &format!("  {text}"));
        }
        if unit.state == UnitState::Accepted {
            line.add(PLAIN, &format!("  {}", unit.summary));
        }
    }
    line
}

/// Returns the state of a stage whose tasks need the person.
fn asking_tasks_mark(unit: &UnitView, snapshot: &RunSnapshot) -> Option<StateMark> {
    let (_, all) = unit.items?;
    let inside = format!("{}.", unit.unit);
    let is_asking =
        |one: &&UnitView| one.state == UnitState::Asking && one.unit.starts_with(&inside);
    let n = snapshot.view.units.iter().filter(is_asking).count();
    let (symbol, hue) = unit_symbol(UnitState::Asking);
    let is_open = snapshot.view.row.standing.course() != Course::Over;
    (n > 0 && is_open).then(|| StateMark { symbol, hue, word: format!("needs you, {n} of {all}") })
}

/// Returns the calls of a unit, and of the units inside it.
fn calls_inside<'a>(unit: &UnitView, snapshot: &'a RunSnapshot) -> Vec<&'a Working> {
    let inside = format!("{}.", unit.unit);
    let is_inside = |name: &str| name == unit.unit || name.starts_with(&inside);
    let calls = snapshot.working.iter().filter(|(name, _)| is_inside(name));
    calls.flat_map(|(_, calls)| calls).collect()
}

/// Returns the time that a unit usually takes, if it is known and worth showing.
fn usual_text(unit: &UnitView, snapshot: &RunSnapshot) -> Option<String> {
    let ms = usual_time(unit, snapshot).filter(|ms| *ms >= 1_000)?;
    (unit.state != UnitState::Skipped).then(|| format!("~{}", duration(ms)))
}

/// Returns the latest line of a call, or what it does. What a command prints is said after what it is for.
fn latest_line(call: &Working) -> String {
    match (&call.line, &call.agent) {
        (Some(line), Some(_)) => line.clone(),
        (Some(line), None) => format!("{}: {line}", call.does),
        (None, _) => call.does.clone(),
    }
}

fn symbol_style(hue: Option<Hue>) -> Style {
    hue.map_or(PLAIN, coloured)
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
    let kept = if run[0].level == RowLevel::Stage || kept >= KEPT_MIN { kept } else { 0 };
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

/// Formats how many are done, skipped and to come; stages also by name.
fn counts_line(counted: &[(String, UnitState)], level: RowLevel, course: Course) -> ScreenLine {
    let mut line = ScreenLine::default();
    let indent = if level == RowLevel::Stage { "" } else { "  " };
    for (state, word) in [
        (UnitState::Accepted, "done"),
        (UnitState::Skipped, "skipped"),
        (UnitState::Waiting, waiting_word(course)),
    ] {
        let some =
            counted.iter().filter(|(_, counted)| *counted == state).map(|(name, _)| name.as_str());
        let some: Vec<&str> = some.collect();
        if some.is_empty() {
            continue;
        }
        let (symbol, hue) = unit_symbol(state);
        line.add(PLAIN, if line.spans.is_empty() { indent } else { "  " });
        line.add(symbol_style(hue), symbol);
        let names = match level {
            RowLevel::Stage => format!(" {} {word}: {}", some.len(), some.join(", ")),
            RowLevel::Item => format!(" {} {word}", some.len()),
        };
        line.add(PLAIN, &names);
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
    let left = || order.iter().skip(room).map(|at| rows[*at].state);
    let n_in = |states: &[UnitState]| left().filter(|state| states.contains(state)).count();
    let told = [
        (n_in(&[UnitState::Asking]), "waiting for you"),
        (n_in(&[UnitState::Failed, UnitState::Blocked]), "failed"),
        (n_in(&[UnitState::Working, UnitState::Judging, UnitState::Limited]), "running"),
    ];
    let told = told.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
    let told: Vec<String> = told.collect();
    let more = match told.as_slice() {
        [] => format!("   and {} more", rows.len() - kept.len()),
        told => format!("   and {} more: {}", rows.len() - kept.len(), told.join(", ")),
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
