//! A question of a run, for people: everything that helps to choose, what can be answered, and what each answer does.
//!
//! The only place where questions are put into words: `status`, the end of `run` and `resume`, and the live screen
//! show the same.

use std::{fmt::Write as _, path::Path};

use forge_core::{
    event::Answer,
    verdict::Proof,
    view::{Change, ListView, OptionView, QuestionView, Words},
};

use crate::{
    format,
    text_width::{self, LongWords},
};

/// The lines of a command's output that a question shows where rows are few.
pub(crate) const PROOF_LINES: usize = 6;

/// One of so many of them is from its beginning: what failed first stands there, what came of it at the end.
const FROM_BEGINNING: usize = 3;

/// The first lines of a quotation that a question shows.
const QUOTE_LINES: usize = 12;

/// The most columns of one text that a question shows. Agents may write more.
const TEXT_COLUMNS_MAX: usize = 1_200;

/// The column in which values begin.
const VALUES: usize = 13;

/// The key that shows all of a question.
pub(crate) const ALL_KEY: char = 'f';

/// How it can be answered where it is shown.
#[derive(Clone, Copy)]
pub(crate) enum QuestionLayout<'a> {
    /// By the commands that are printed.
    Printed,
    /// By keys. The folder is that of the run. One text may have so many lines.
    Screen { folder: &'a Path, lines: usize },
    /// Not there: it is only read, so nothing is left out.
    FullText { folder: &'a Path },
}

/// One way to answer, for a person at a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerOption {
    /// The key that chooses it.
    pub(crate) key: char,
    /// The word.
    pub(crate) label: &'static str,
    /// What it does.
    pub(crate) does: String,
    /// The answer itself.
    pub(crate) answer: Answer,
    /// Whether words go with it.
    pub(crate) words: Words,
}

/// The ways in which a question can be answered.
pub(crate) fn answer_options(question: &QuestionView) -> Vec<AnswerOption> {
    let gate = question.gate.clone().unwrap_or_default();
    let to_option = |option: &OptionView| {
        let (key, label, answer) = match option.answer.split(' ').next()? {
            "approve" => ('a', "approve", Answer::Approve),
            "revise" => ('r', "revise", Answer::Revise),
            "retry" => ('t', "retry", Answer::Retry),
            "waive" => ('w', "waive", Answer::Waive { gate: gate.clone() }),
            "give-up" => ('g', "give up", Answer::GiveUp),
            _ => return None,
        };
        Some(AnswerOption { key, label, does: option.does.clone(), answer, words: option.words })
    };
    question.options.iter().filter_map(to_option).collect()
}

/// A question with all that helps to choose, and how to.
pub(crate) fn question_text(
    run: &str,
    question: &QuestionView,
    layout: QuestionLayout<'_>,
    width: usize,
) -> String {
    let mut writer = QuestionWriter { text: String::new(), run, layout, width };
    let text = format!("{} about {}: {}", question.question, question.unit, question.text);
    writer.text = text_width::broken(&text, 0, 3, width, writer.long_words());
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
        let counts = if counts.is_empty() { "nothing found".to_owned() } else { counts.join(", ") };
        writer.push_field(
            "verdict",
            &format!("{} ({}: {counts})", verdict.verdict.word(), verdict.gate),
        );
    }
    for finding in &question.findings {
        let severity = finding.severity.word();
        writer.push_field("finding", &format!("{} {severity}: {}", finding.id, finding.in_words()));
        writer.push_field("", &finding.why);
        match &finding.proof {
            Some(Proof::Command { output, .. }) => writer.push_output(output),
            Some(Proof::Quote { quote }) => writer.push_quote(quote),
            None => {}
        }
    }
    for name in &question.artifacts {
        writer.push_field("wrote", &format!("artifacts/{}", artifact_path(&question.unit, name)));
    }
    writer.push_changes(question);
    match layout {
        QuestionLayout::Printed => writer.push_answers(question),
        // What each key does stands beside the keys.
        QuestionLayout::Screen { folder, .. } | QuestionLayout::FullText { folder } => {
            writer.push_field("folder", &folder.display().to_string());
        }
    }
    writer.text
}

/// An artifact of a unit, as `forge show` knows it.
fn artifact_path(unit: &str, name: &str) -> String {
    match unit.rsplit_once('/') {
        Some((scope, _)) => format!("{scope}/{name}"),
        None => name.to_owned(),
    }
}

/// A question while it is written.
struct QuestionWriter<'a> {
    text: String,
    run: &'a str,
    layout: QuestionLayout<'a>,
    width: usize,
}

impl QuestionWriter<'_> {
    /// On a screen nothing may stick out; what is printed may be copied.
    const fn long_words(&self) -> LongWords {
        match self.layout {
            QuestionLayout::Printed => LongWords::Whole,
            QuestionLayout::Screen { .. } | QuestionLayout::FullText { .. } => LongWords::Broken,
        }
    }

    /// Where all of what is cut here is found.
    fn full_text_hint(&self) -> String {
        match self.layout {
            QuestionLayout::Printed => format!("forge status {} --json", self.run),
            QuestionLayout::Screen { .. } | QuestionLayout::FullText { .. } => {
                format!("key {ALL_KEY}")
            }
        }
    }

    fn push_field(&mut self, name: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let text = match self.layout {
            QuestionLayout::Printed => format::cut(value, TEXT_COLUMNS_MAX),
            QuestionLayout::Screen { lines, .. } => {
                let columns = self.width.saturating_sub(VALUES) * lines;
                format::cut(value, columns.max(TEXT_COLUMNS_MAX))
            }
            QuestionLayout::FullText { .. } => value.to_owned(),
        };
        let is_cut = text.ends_with('…') && !value.trim_end().ends_with('…');
        let more =
            if is_cut { format!(" (all of it: {})", self.full_text_hint()) } else { String::new() };
        let prefix = format!("   {name:<9} ");
        let from = text_width::width(&prefix);
        let long = self.long_words();
        let text = text_width::broken(&format!("{text}{more}"), from, VALUES, self.width, long);
        let _ = write!(self.text, "\n{prefix}{text}");
    }

    /// A line for itself, such as a command. Where it has to be broken, it goes on further in.
    fn push_line(&mut self, line: &str) {
        let line = match self.layout {
            QuestionLayout::Printed => line.to_owned(),
            QuestionLayout::Screen { .. } | QuestionLayout::FullText { .. } => {
                text_width::broken(line, 3, 6, self.width, LongWords::Broken)
            }
        };
        let _ = write!(self.text, "\n   {line}");
    }

    /// Lines that stay as they were printed or written; those that are too long are cut where there is little room.
    fn push_verbatim(&mut self, lines: &[&str]) {
        for line in lines {
            let line = match self.layout {
                QuestionLayout::Printed | QuestionLayout::Screen { .. } => {
                    format::cut_end(line, self.width.saturating_sub(VALUES))
                }
                QuestionLayout::FullText { .. } => (*line).to_owned(),
            };
            let _ = write!(self.text, "\n{:VALUES$}{line}", "");
        }
    }

    /// What a command printed: its beginning and its end.
    fn push_output(&mut self, output: &str) {
        let lines: Vec<&str> = output.lines().collect();
        let most = match self.layout {
            QuestionLayout::Printed => PROOF_LINES,
            QuestionLayout::Screen { lines, .. } => lines,
            QuestionLayout::FullText { .. } => lines.len(),
        };
        // To say that one line is left out takes as much room as the line.
        if lines.len() <= most + 1 {
            return self.push_verbatim(&lines);
        }
        let first = most / FROM_BEGINNING;
        let rest = lines.len() - (most - first);
        self.push_verbatim(&lines[..first]);
        self.push_omitted(rest - first, "between");
        self.push_verbatim(&lines[rest..]);
    }

    fn push_quote(&mut self, quote: &str) {
        let lines: Vec<&str> = quote.lines().collect();
        let shown = match self.layout {
            QuestionLayout::Printed => lines.len().min(QUOTE_LINES),
            QuestionLayout::Screen { lines: most, .. } => lines.len().min(most.max(QUOTE_LINES)),
            QuestionLayout::FullText { .. } => lines.len(),
        };
        self.push_verbatim(&lines[..shown]);
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
        self.push_field("items", &format!("{} {}", listed.count, listed.list));
        for item in &listed.items {
            self.push_field("", &format!("{}  {}", item.id, item.title));
        }
        let count = usize::try_from(listed.count).unwrap_or_default();
        let more = count.saturating_sub(listed.items.len());
        if more > 0 {
            self.push_field("", &format!("and {more} more"));
        }
    }

    /// What can be looked at, and how.
    fn push_changes(&mut self, question: &QuestionView) {
        let (run, unit) = (self.run, &question.unit);
        if !question.changed.is_empty() {
            let (n, few) = (question.changed.len(), question.changed.iter().take(4).cloned());
            let more = if n > 4 { format!(" and {} more", n - 4) } else { String::new() };
            self.push_field(
                "changed",
                &format!("{}{more}", few.collect::<Vec<String>>().join(", ")),
            );
        }
        match self.layout {
            QuestionLayout::Printed => {
                for name in &question.artifacts {
                    self.push_line(&format!("forge show {run} {}", artifact_path(unit, name)));
                }
                match question.change {
                    Change::Code => self.push_line(&format!("forge show {run} --diff {unit}")),
                    Change::ChangedTexts => {
                        let what = "(what changed since the version before)";
                        self.push_line(&format!("forge show {run} --diff {unit} {what}"));
                    }
                    Change::Nothing | Change::NewTexts => {}
                }
            }
            // A key shows it.
            QuestionLayout::Screen { .. } | QuestionLayout::FullText { .. } => {}
        }
        if !question.changed.is_empty() {
            self.push_line(&format!(
                "to mend it by hand: forge edit {run} --code {unit} (says where)"
            ));
        }
        // Only who worked to no end can be told to try again.
        if question.options.iter().any(|option| option.answer == "retry") {
            self.push_line(&format!("what was done: forge watch {run} {unit}"));
        }
    }

    /// The exact commands, and what each does.
    fn push_answers(&mut self, question: &QuestionView) {
        for option in &question.options {
            let command = answer_command(self.run, &question.question, option);
            let does = format::block("      ", &option.does, self.width);
            let _ = write!(self.text, "\n   {command}\n{does}");
        }
    }
}

/// The exact command that answers a question in this way.
pub(crate) fn answer_command(run: &str, question: &str, option: &OptionView) -> String {
    let words = match option.words {
        Words::Needed if option.answer.starts_with("waive") => " \"WHY\"",
        Words::Needed => " \"WORDS\"",
        Words::Possible => " [\"WORDS\"]",
        Words::None => "",
    };
    format!("forge answer {run} {question} {}{words}", option.answer)
}
