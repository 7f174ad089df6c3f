//! Formats a question of a run: everything that helps to choose, the possible answers, and their effects.
//!
//! The only place that formats questions: `status`, the end of `run` and `resume`, and the live screen show the same.

use std::fmt::Write as _;

use forge_api::test_output::excerpt;
use forge_core::{
    verdict::{Proof, VerdictWord},
    view::{ChangeKind, ListView, QuestionView},
};

use super::answer_text::{OpenQuestions, answer_command, answer_options};

use crate::{
    format,
    text_width::{self, LongWords},
};

/// The most lines of a command's output where lines are few.
pub(crate) const PROOF_LINES: usize = 6;

/// The most bytes of a command's output.
const PROOF_BYTES: usize = 16 * 1024;

/// The most lines of a quotation.
const QUOTE_LINES: usize = 12;

/// The most columns of one text. Agents may write more.
const TEXT_COLUMNS_MAX: usize = 1_200;

/// The beginning of a quotation that is a change.
const DIFF_START: &str = "diff --git ";

/// The column in which values start.
const VALUES: usize = 13;

/// The key that shows the full text of a question.
pub(crate) const ALL_KEY: char = 'f';

/// Where a question is shown, which decides how it is answered.
#[derive(Clone, Copy)]
pub(crate) enum QuestionLayout {
    /// Printed, with the commands that answer it. The output of a command has at most `lines` lines.
    Printed { open: OpenQuestions, lines: usize },
    /// On the live screen, answered by keys. One text has at most `lines` lines.
    Screen { lines: usize },
    /// In a pager: not answered there, so nothing is cut.
    FullText,
}

/// Returns the words for what a review said; agents and files have other ones for documents and for code.
const fn verdict_words(verdict: VerdictWord) -> &'static str {
    match verdict {
        VerdictWord::Approve | VerdictWord::Pass => "passed",
        VerdictWord::ApproveWithNotes | VerdictWord::PassWithNotes => "passed with notes",
        VerdictWord::Revise | VerdictWord::Fail => "changes requested",
        VerdictWord::Block => "blocked",
    }
}

/// Returns what is asked, and about which stage or task.
pub(crate) fn asked_text(question: &QuestionView) -> String {
    format!("{}: {}", format::unit_label(&question.unit), question.text)
}

/// Returns the commands that show what a question is about.
pub(crate) fn read_commands(run: &str, question: &QuestionView) -> Vec<String> {
    let (run, unit) = (format::short_id(run), format::unit_argument(&question.unit));
    let texts = question.artifacts.iter().map(|name| {
        let path = artifact_path(&question.unit, name);
        format!("forge show {run} {}", format::artifact_argument(&path))
    });
    let diff = match question.change {
        ChangeKind::Code | ChangeKind::ChangedTexts => {
            Some(format!("forge show {run} --diff {unit}"))
        }
        ChangeKind::Nothing | ChangeKind::NewTexts | ChangeKind::UnchangedTexts => None,
    };
    // Only an attempt without a result can be retried.
    let can_retry = question.options.iter().any(|option| option.answer == "retry");
    let watch = can_retry.then(|| format!("forge watch {run} {unit}"));
    texts.chain(diff).chain(watch).collect()
}

/// Formats a question with all that helps to choose, and how to answer it.
pub(crate) fn question_text(
    run: &str,
    question: &QuestionView,
    layout: QuestionLayout,
    width: usize,
) -> String {
    let text = format!("{} · {}", question.question, asked_text(question));
    let run = format::short_id(run);
    let mut writer = QuestionWriter { text: String::new(), run, layout, width };
    writer.text = text_width::wrap(&text, 0, 3, width, writer.long_words());
    writer.push_field("summary", &question.summary);
    if let Some(shown) = &question.shown {
        writer.push_field("approach", &shown.approach);
        for change in &shown.key_changes {
            writer.push_field("change", change);
        }
        if let Some(risk) = shown.risk {
            writer.push_field("risk", &format!("{risk:?}").to_lowercase());
        }
    }
    if let Some(listed) = &question.listed {
        writer.push_items(listed);
    }
    for verdict in &question.verdicts {
        let counts =
            [(verdict.critical, "critical"), (verdict.major, "major"), (verdict.minor, "minor")];
        let counts = counts.iter().filter(|(n, _)| *n > 0);
        let counts: Vec<String> = counts.map(|(n, word)| format!("{n} {word}")).collect();
        let counts = if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") };
        writer.push_field(
            "verdict",
            &format!("{} ({}: {counts})", verdict_words(verdict.verdict), verdict.gate),
        );
    }
    for finding in &question.findings {
        let severity = finding.severity.as_str();
        // Only among several one has to be named.
        let id = match question.findings.as_slice() {
            [_] => String::new(),
            _ => format!("{} ", finding.id),
        };
        writer.push_field("finding", &format!("{id}{severity}: {}", finding.to_line()));
        writer.push_field("why", &finding.why);
        match &finding.proof {
            Some(Proof::Command { output, .. }) => writer.push_output(output),
            // A command or a key shows the change.
            Some(Proof::Quote { quote }) if quote.starts_with(DIFF_START) => {}
            Some(Proof::Quote { quote }) => writer.push_quote(quote),
            None => {}
        }
    }
    for accepted in &question.accepted {
        writer.push_field("accepted", &format!("{} with {}", accepted.count, accepted.question));
    }
    writer.push_changes(question);
    match layout {
        QuestionLayout::Printed { open, .. } => writer.push_answers(question, open),
        // The effects are shown beside the keys.
        QuestionLayout::Screen { .. } | QuestionLayout::FullText => {}
    }
    writer.text
}

/// Returns the path of a unit's artifact below `artifacts`.
fn artifact_path(unit: &str, name: &str) -> String {
    match unit.rsplit_once('/') {
        Some((scope, _)) => format!("{scope}/{name}"),
        None => name.to_owned(),
    }
}

/// A question while it is formatted.
struct QuestionWriter<'a> {
    text: String,
    run: &'a str,
    layout: QuestionLayout,
    width: usize,
}

impl QuestionWriter<'_> {
    /// On a screen long words are broken; in printed text they stay whole, so that commands can be copied.
    const fn long_words(&self) -> LongWords {
        match self.layout {
            QuestionLayout::Printed { .. } => LongWords::Whole,
            QuestionLayout::Screen { .. } | QuestionLayout::FullText => LongWords::Broken,
        }
    }

    /// Says how to get the full text of what is cut.
    fn full_text_hint(&self) -> String {
        match self.layout {
            QuestionLayout::Printed { .. } => format!("forge attach {}, then {ALL_KEY}", self.run),
            QuestionLayout::Screen { .. } | QuestionLayout::FullText => {
                format!("key {ALL_KEY}")
            }
        }
    }

    fn push_field(&mut self, name: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let text = match self.layout {
            QuestionLayout::Printed { .. } => format::one_line(value, TEXT_COLUMNS_MAX),
            QuestionLayout::Screen { lines } => {
                let columns = self.width.saturating_sub(VALUES) * lines;
                format::one_line(value, columns.max(TEXT_COLUMNS_MAX))
            }
            QuestionLayout::FullText => value.to_owned(),
        };
        let is_cut = text.ends_with('…') && !value.trim_end().ends_with('…');
        let more =
            if is_cut { format!(" (all of it: {})", self.full_text_hint()) } else { String::new() };
        let prefix = format!("   {name:<9} ");
        let from = text_width::width(&prefix);
        let long = self.long_words();
        let text = text_width::wrap(&format!("{text}{more}"), from, VALUES, self.width, long);
        let _ = write!(self.text, "\n{prefix}{text}");
    }

    /// Appends commands, each on a line. Where one has to be broken, it is indented further.
    fn push_commands(&mut self, name: &str, commands: &[String]) {
        for (position, command) in commands.iter().enumerate() {
            let name = if position == 0 { name } else { "" };
            let command = match self.layout {
                QuestionLayout::Printed { .. } => command.to_owned(),
                QuestionLayout::Screen { .. } | QuestionLayout::FullText => {
                    text_width::wrap(command, VALUES, VALUES + 2, self.width, LongWords::Broken)
                }
            };
            let _ = write!(self.text, "\n   {name:<9} {command}");
        }
    }

    /// Appends lines verbatim; long ones are cut unless the full text is shown.
    fn push_verbatim(&mut self, lines: &[&str]) {
        for line in lines {
            let line = match self.layout {
                QuestionLayout::Printed { .. } | QuestionLayout::Screen { .. } => {
                    format::cut_end(line, self.width.saturating_sub(VALUES))
                }
                QuestionLayout::FullText => (*line).to_owned(),
            };
            let _ = write!(self.text, "\n{:VALUES$}{line}", "");
        }
    }

    /// Appends what is most telling of a command's output: what failed, and the last lines.
    fn push_output(&mut self, output: &str) {
        let lines: Vec<&str> = output.lines().collect();
        let most = match self.layout {
            QuestionLayout::Printed { lines, .. } | QuestionLayout::Screen { lines } => lines,
            QuestionLayout::FullText => lines.len(),
        };
        // A note about one omitted line would take as much room as the line.
        if lines.len() <= most.saturating_add(1) {
            return self.push_verbatim(&lines);
        }
        let shown = excerpt(output, most, PROOF_BYTES);
        self.push_verbatim(&shown.lines().collect::<Vec<_>>());
        self.push_field("", &format!("all {} lines: {}", lines.len(), self.full_text_hint()));
    }

    fn push_quote(&mut self, quote: &str) {
        let lines: Vec<&str> = quote.lines().collect();
        let shown = match self.layout {
            QuestionLayout::Printed { .. } => lines.len().min(QUOTE_LINES),
            QuestionLayout::Screen { lines: most } => lines.len().min(most.max(QUOTE_LINES)),
            QuestionLayout::FullText => lines.len(),
        };
        let before = self.text.len();
        self.push_verbatim(&lines[..shown]);
        // The first line has the label in the room before it.
        let label = format!("\n{:VALUES$}", "");
        if self.text[before..].starts_with(&label) {
            self.text.replace_range(before..before + label.len(), &format!("\n   {:<9} ", "quote"));
        }
        self.push_omitted(lines.len() - shown, "more");
    }

    fn push_omitted(&mut self, n: usize, which: &str) {
        if n > 0 {
            let n = format::count(u32::try_from(n).unwrap_or(u32::MAX), "line");
            let text = format!("… {n} {which}: {}", self.full_text_hint());
            self.push_field("", &text);
        }
    }

    fn push_items(&mut self, listed: &ListView) {
        self.push_field("list", &format!("{} {}", listed.count, listed.list));
        for item in &listed.items {
            self.push_field("", &format!("{}  {}", item.id, item.title));
        }
        let count = usize::try_from(listed.count).unwrap_or_default();
        let more = count.saturating_sub(listed.items.len());
        if more > 0 {
            self.push_field("", &format!("and {more} more"));
        }
    }

    /// Appends what changed, and the commands that show and change it.
    fn push_changes(&mut self, question: &QuestionView) {
        let (run, unit) = (self.run, format::unit_argument(&question.unit));
        if !question.changed.is_empty() {
            let (n, few) = (question.changed.len(), question.changed.iter().take(4).cloned());
            let more = if n > 4 { format!(" and {} more", n - 4) } else { String::new() };
            self.push_field(
                "changed",
                &format!("{}{more}", few.collect::<Vec<String>>().join(", ")),
            );
        }
        if question.change == ChangeKind::UnchangedTexts {
            self.push_field("changed", "nothing: what was written is the same as before");
        }
        let read = read_commands(run, question);
        match self.layout {
            QuestionLayout::Printed { .. } => self.push_commands("read", &read),
            // Here no command can be typed, and keys show all that there is.
            QuestionLayout::Screen { .. } => {}
            QuestionLayout::FullText => {
                let has_key = |command: &str| {
                    !command.starts_with("forge watch") && !question.change.is_nothing()
                };
                let without = read.into_iter().filter(|command| !has_key(command));
                self.push_commands("read", &without.collect::<Vec<String>>());
            }
        }
        if question
            .options
            .iter()
            .any(|option| option.answer == "retry" && !option.words.are_none())
        {
            let with = ["agent", "model"].map(|what| format!("forge resume {run} --{what} NAME"));
            self.push_commands("switch", &with);
        }
        if !question.changed.is_empty() && !matches!(self.layout, QuestionLayout::Screen { .. }) {
            let open = format!("forge open {run} {unit}");
            let edit = format!("forge edit {run} --code {unit} --why \"REASON\"");
            self.push_commands("by hand", &[open, edit]);
        }
    }

    /// Appends the exact commands with their effects.
    fn push_answers(&mut self, question: &QuestionView, open: OpenQuestions) {
        for (position, option) in answer_options(question).iter().enumerate() {
            let command = answer_command(self.run, &question.question, option, open);
            self.push_commands(if position == 0 { "answer" } else { "" }, &[command]);
            let indent = " ".repeat(VALUES + 2);
            let _ = write!(
                self.text,
                "\n{}",
                format::hanging_indent(&indent, &option.does, self.width)
            );
        }
    }
}
