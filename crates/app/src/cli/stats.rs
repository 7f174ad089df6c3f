//! `forge stats`: shows what was spent, as tables with bars.

use std::{fmt::Write as _, process::ExitCode};

use clap::{Args, Subcommand, ValueEnum};
use forge_api::{
    Error,
    phases::FrictionSummary,
    spending::{SpendingFilter, SpendingView},
};
use forge_core::view::{
    Axis, FrictionRow, StatsRow, StatsView, capitalized, sanitize, stage_label,
};

use super::common::{open_forge, print_json};
use crate::{format, terminal_info, terminal_output, text_width};

/// Show what was spent, by day, model, stage or run
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct StatsArgs {
    #[command(subcommand)]
    subcommand: Option<StatsSubcommand>,
    /// Name the run; all runs by default
    run: Option<String>,
    /// Sum up by run, stage, role, model, agent or day
    #[arg(long, value_enum, hide_possible_values = true)]
    by: Option<GroupBy>,
    /// Count only the last N days, today included
    #[arg(long, value_name = "N", value_parser = parse_days)]
    days: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum StatsSubcommand {
    /// Show what hindered agents, by role and skill
    Friction {
        /// Name the run; all runs by default
        run: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum GroupBy {
    Run,
    Stage,
    Role,
    Model,
    Agent,
    Day,
}

impl GroupBy {
    const fn axis(self) -> Axis {
        match self {
            Self::Run => Axis::Run,
            Self::Stage => Axis::Stage,
            Self::Role => Axis::Role,
            Self::Model => Axis::Model,
            Self::Agent => Axis::Agent,
            Self::Day => Axis::Day,
        }
    }
}

/// The most lines of the overview: with the next prompt they fill a screen of 24.
const OVERVIEW_LINES: usize = 23;
/// Parses a number of days.
fn parse_days(text: &str) -> Result<u32, String> {
    let days = text.parse().ok().filter(|days| *days > 0);
    days.ok_or_else(|| "use a number of days, such as 7".to_owned())
}

/// The most days in the overview.
const DAYS_MAX: usize = 14;
/// The most models in the overview.
const MODELS_MAX: usize = 5;
/// The width of all columns between the name and the bar, with the space before each.
const COLUMNS: usize = 7 + 8 + 8 + 8 + 11;
const TOKEN_COLUMNS: usize = 8 + 8 + 8;
const BAR_WIDTH: usize = 16;
const BAR_WIDTH_MIN: usize = 4;
const KEY_WIDTH_MIN: usize = 10;
/// The most columns of what was reported last.
const FRICTION_ISSUE_WIDTH: usize = 60;

impl StatsArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        if let Some(StatsSubcommand::Friction { run, json }) = self.subcommand {
            print_friction(&forge.friction(run.as_deref())?, json);
            return Ok(ExitCode::SUCCESS);
        }
        let which = SpendingFilter { run: self.run, days: self.days };
        let axes = match self.by {
            Some(by) => vec![by.axis()],
            None => vec![Axis::Day, Axis::Model],
        };
        let view = forge.spending(&which, &axes)?;
        for run in &view.unreadable {
            let warning = format!("warning: {} is not counted: {}", run.run, run.why);
            terminal_output::print_stderr(&sanitize(&warning));
        }
        if self.json {
            print_json(&view);
        } else {
            let length = match self.by {
                Some(_) => TableLength::All,
                None => TableLength::OneScreen,
            };
            // Names are sanitized where they are formatted: the bars have colours.
            terminal_output::print_formatted(&overview(
                &view,
                length,
                terminal_info::terminal_width(),
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print_friction(summary: &FrictionSummary, json: bool) {
    for run in &summary.unreadable {
        let warning = format!("warning: {} is not counted: {}", run.run, run.why);
        terminal_output::print_stderr(&sanitize(&warning));
    }
    if json {
        print_json(summary);
    } else {
        terminal_output::print(&friction_table(&summary.friction.rows));
    }
}

fn friction_table(rows: &[FrictionRow]) -> String {
    if rows.is_empty() {
        return "No agent has reported friction.".to_owned();
    }
    let skill = |row: &FrictionRow| if row.skill.is_empty() { "-" } else { &row.skill }.to_owned();
    let width = |title: &str, cell: &dyn Fn(&FrictionRow) -> String| {
        let cells = rows.iter().map(|row| text_width::width(&cell(row)));
        cells.chain([title.len()]).max().unwrap_or_default()
    };
    let role_width = width("ROLE", &|row| row.role.clone());
    let skill_width = width("SKILL", &skill);
    let kind_width = width("KIND", &|row| row.kind.to_string());
    let mut text = format!(
        "{:<role_width$}  {:<skill_width$}  {:<kind_width$}  COUNT  LAST",
        "ROLE", "SKILL", "KIND"
    );
    for row in rows {
        let issue = format::one_line(&row.issue, FRICTION_ISSUE_WIDTH);
        let _ = write!(
            text,
            "\n{}  {}  {}  {:>5}  {issue}",
            text_width::pad(&row.role, role_width),
            text_width::pad(&skill(row), skill_width),
            text_width::pad(row.kind.as_str(), kind_width),
            row.count
        );
    }
    text
}

/// How many rows a table shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TableLength {
    OneScreen,
    All,
}

fn overview(view: &SpendingView, length: TableLength, width: usize) -> String {
    let total = &view.total;
    let since = view.since.as_ref().map(|since| format!(" since {since}")).unwrap_or_default();
    if total.calls == 0 {
        return format!("Nothing spent{since} yet. Start a run: forge \"what you want\"");
    }
    let tokens = &total.tokens;
    let short = format::short_number;
    let used = if tokens.total() == 0 {
        "unknown tokens".to_owned()
    } else {
        let parts = [
            (tokens.input, "in"),
            (tokens.output, "out"),
            (tokens.cache_read, "cache read"),
            (tokens.cache_write, "cache write"),
        ];
        let parts = parts.iter().filter(|(number, _)| *number > 0);
        parts
            .map(|(number, what)| format!("{} {what}", short(*number)))
            .collect::<Vec<_>>()
            .join(" · ")
    };
    let unknown = match total.amount().unknown_calls {
        0 => String::new(),
        n => format!(" ({n} of unknown cost)"),
    };
    let calls = format!("{}{unknown}", format::count(total.calls, "call"));
    let sum = if tokens.total() == 0 && total.amount().to_short_text() == "unknown" {
        format!("{}{since}; no agent reported cost or tokens", format::count(total.calls, "call"))
    } else {
        format!("{}{since} · {calls} · {used}", total.amount().to_figure())
    };
    let mut text = format::hanging_parts("", &sum, width);
    let estimate = (total.estimated.0 > 0).then(|| {
        let what =
            format!("~ is estimated from tokens, by the list prices of {}", view.prices_as_of);
        format!("\n\n{}", format::wrap(&what, 0, width))
    });
    let estimate = estimate.unwrap_or_default();
    let models = view.tables.iter().find(|table| table.by == Axis::Model);
    let models = models.map_or(0, |models| models.rows.len().min(MODELS_MAX + 1));
    // Two titles, each after an empty line, and one line for omitted rows.
    let others = text.lines().count() + estimate.matches('\n').count() + 5 + models;
    let days = OVERVIEW_LINES.saturating_sub(others).clamp(1, DAYS_MAX);
    // If no model is known, the total says the same.
    let says_something = |table: &&StatsView| {
        let is_known = |row: &StatsRow| row.key != "unknown";
        view.tables.len() == 1 || table.by != Axis::Model || table.rows.iter().any(is_known)
    };
    for table in view.tables.iter().filter(says_something) {
        let most = match (length, table.by) {
            (TableLength::All, _) => usize::MAX,
            (TableLength::OneScreen, Axis::Day) => days,
            (
                TableLength::OneScreen,
                Axis::Run | Axis::Stage | Axis::Role | Axis::Model | Axis::Agent,
            ) => MODELS_MAX,
        };
        let _ = write!(text, "\n\n{}", table_text(table, most, width));
    }
    text.push_str(&estimate);
    text
}

/// Formats a table with a bar per row: by money, or by tokens if no cost is known.
fn table_text(table: &StatsView, most: usize, width: usize) -> String {
    let money = |row: &StatsRow| row.known.0.saturating_add(row.estimated.0);
    let has_money = table.rows.iter().any(|row| money(row) > 0);
    let weight = |row: &StatsRow| if has_money { money(row) } else { row.tokens.total() };
    let heaviest = table.rows.iter().map(weight).max().unwrap_or(0);
    let left_out = table.rows.len().saturating_sub(most);
    // Days are in order and the last ones are kept; other tables keep their first rows.
    let rows = match table.by {
        Axis::Day => &table.rows[left_out..],
        Axis::Run | Axis::Stage | Axis::Role | Axis::Model | Axis::Agent => {
            &table.rows[..table.rows.len() - left_out]
        }
    };
    let name = |row: &StatsRow| match table.by {
        Axis::Run => run_name(&row.key),
        Axis::Stage => stage_label(&sanitize(&row.key)),
        Axis::Role | Axis::Model | Axis::Agent | Axis::Day => sanitize(&row.key),
    };
    let names: Vec<String> = rows.iter().map(name).collect();
    let longest = names.iter().map(|name| text_width::width(name)).max().unwrap_or(0);
    // Names are worth more than bars, and where there is little room, money more than tokens.
    let has_tokens = width >= KEY_WIDTH_MIN + COLUMNS;
    let columns = if has_tokens { COLUMNS } else { COLUMNS - TOKEN_COLUMNS };
    let room = width.saturating_sub(columns + 2 + BAR_WIDTH_MIN).max(KEY_WIDTH_MIN);
    let key = longest.clamp(KEY_WIDTH_MIN, room);
    let bar_width = width.saturating_sub(columns + 2 + key).min(BAR_WIDTH);
    let numbers = |calls: &str, tokens: [&str; 3], cost: &str| {
        let [input, output, cache] = tokens;
        let tokens = format!(" {input:>7} {output:>7} {cache:>7}");
        format!("{calls:>6}{} {cost:>10}", if has_tokens { &tokens } else { "" })
    };
    let title = axis_name(table.by).to_uppercase();
    let mut text = format!("{title:<key$} {}", numbers("CALLS", ["IN", "OUT", "CACHE"], "COST"));
    for (row, name) in rows.iter().zip(names) {
        // Where nobody told of tokens, they are unknown and not none.
        let short = |number| match row.tokens.total() {
            0 => "-".to_owned(),
            _ => format::short_number(number),
        };
        let cache = row.tokens.cache_read.saturating_add(row.tokens.cache_write);
        let name = match table.by {
            Axis::Run => format::one_line(&name, key),
            Axis::Stage | Axis::Role | Axis::Model | Axis::Agent | Axis::Day => {
                text_width::cut_middle(&name, key)
            }
        };
        let tokens = [row.tokens.input, row.tokens.output, cache].map(short);
        let line = format!(
            "{} {}  {}",
            text_width::pad(&name, key),
            numbers(
                &row.calls.to_string(),
                tokens.each_ref().map(String::as_str),
                &row.amount().to_short_text()
            ),
            format::bar(weight(row), heaviest, bar_width, terminal_info::stdout_colours()),
        );
        let _ = write!(text, "\n{}", line.trim_end());
    }
    if left_out > 0 {
        let what = axis_name(table.by);
        let left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
        let _ = write!(text, "\nand {} more (--by {what})", format::count(left_out, what));
    }
    text
}

/// Returns the short id of a run with the words of its request that are in its long one.
fn run_name(run: &str) -> String {
    let id = format::short_id(run);
    let words = run.strip_suffix(id).and_then(|rest| rest.split_once('-')).unwrap_or_default().1;
    format!("{id}  {}", capitalized(words.replace('-', " ").trim())).trim_end().to_owned()
}

const fn axis_name(axis: Axis) -> &'static str {
    match axis {
        Axis::Run => "run",
        Axis::Stage => "stage",
        Axis::Role => "role",
        Axis::Model => "model",
        Axis::Agent => "agent",
        Axis::Day => "day",
    }
}

#[cfg(test)]
mod tests {
    use forge_core::money::{Money, Tokens};

    use super::*;

    fn rows(n: u64, key: impl Fn(u64) -> String) -> Vec<StatsRow> {
        let row = |n: u64| StatsRow {
            key: key(n),
            calls: 12_345,
            tokens: Tokens { input: 1 << (2 * n), output: 7_000, cache_read: 1, cache_write: 2 },
            known: Money(n * 1_000_000),
            estimated: Money(n * 900_000_000),
            unknown_calls: 3,
            took_ms: 1,
        };
        (1..=n).map(row).collect()
    }

    fn view() -> SpendingView {
        let days = StatsView {
            by: Axis::Day,
            rows: rows(30, |n| format!("2026-10-{n:02}")),
            total: StatsRow::default(),
        };
        let name = |n| format!("a-model-with-a-very-long-name-of-its-own-{n}\u{1b}[2J");
        let models = StatsView { by: Axis::Model, rows: rows(9, name), total: StatsRow::default() };
        let total = rows(30, |_| "total".to_owned()).pop().expect("there are many");
        SpendingView {
            since: Some("2026-10-01".to_owned()),
            total,
            tables: vec![days, models],
            prices_as_of: "2026-01-01".to_owned(),
            unreadable: Vec::new(),
        }
    }

    #[test]
    fn the_overview_fits_on_a_small_screen_whatever_there_is_to_tell() {
        let text = overview(&view(), TableLength::OneScreen, 80);
        assert!(text.lines().count() <= OVERVIEW_LINES, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("2026-10-30") && !text.contains("2026-10-01  "), "{text}");
        assert!(text.contains("and 4 models more (--by model)"), "{text}");
        assert!(!text.contains('\u{1b}'), "names steer nothing: {text}");
        let text = overview(&view(), TableLength::All, 80);
        assert!(text.contains("2026-10-01 ") && !text.contains(" more "), "{text}");
    }
}
