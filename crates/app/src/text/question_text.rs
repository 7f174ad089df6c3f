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
pub(crate) enum Ways<'a> {
    /// By the commands that are printed.
    Commands,
    /// By keys. The folder is that of the run. One text may have so many lines.
    Keys { folder: &'a Path, lines: usize },
    /// Not there: it is only read, so nothing is left out.
    Read { folder: &'a Path },
}

/// One way to answer, for a person at a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The key that chooses it.
    pub(crate) key: char,
    /// The word.
    pub(crate) word: &'static str,
    /// What it does.
    pub(crate) does: String,
    /// The answer itself.
    pub(crate) answer: Answer,
    /// Whether words go with it.
    pub(crate) words: Words,
}

/// The ways in which a question can be answered.
pub(crate) fn ways(question: &QuestionView) -> Vec<Way> {
    let gate = question.gate.clone().unwrap_or_default();
    let way = |option: &OptionView| {
        let (key, word, answer) = match option.answer.split(' ').next()? {
            "approve" => ('a', "approve", Answer::Approve),
            "revise" => ('r', "revise", Answer::Revise),
            "retry" => ('t', "retry", Answer::Retry),
            "waive" => ('w', "waive", Answer::Waive { gate: gate.clone() }),
            "give-up" => ('g', "give up", Answer::GiveUp),
            _ => return None,
        };
        Some(Way { key, word, does: option.does.clone(), answer, words: option.words })
    };
    question.options.iter().filter_map(way).collect()
}

/// A question with all that helps to choose, and how to.
pub(crate) fn asked(run: &str, question: &QuestionView, ways: Ways<'_>, width: usize) -> String {
    let mut sheet = Sheet { text: String::new(), run, ways, width };
    let text = format!("{} about {}: {}", question.question, question.unit, question.text);
    sheet.text = text_width::broken(&text, 0, 3, width, sheet.long_words());
    sheet.add("summary", &question.summary);
    if let Some(shown) = &question.shown {
        sheet.add("approach", &shown.approach);
        for change in &shown.key_changes {
            sheet.add("change", change);
        }
        if let Some(risk) = shown.risk {
            sheet.add("risk", &format!("{risk:?}").to_lowercase());
        }
    }
    if let Some(listed) = &question.listed {
        sheet.items(listed);
    }
    for verdict in &question.verdicts {
        let counts =
            [(verdict.critical, "critical"), (verdict.major, "major"), (verdict.minor, "minor")];
        let counts = counts.iter().filter(|(n, _)| *n > 0);
        let counts: Vec<String> = counts.map(|(n, word)| format!("{n} {word}")).collect();
        let counts = if counts.is_empty() { "nothing found".to_owned() } else { counts.join(", ") };
        sheet.add("verdict", &format!("{} ({}: {counts})", verdict.verdict.word(), verdict.gate));
    }
    for finding in &question.findings {
        let severity = finding.severity.word();
        sheet.add("finding", &format!("{} {severity}: {}", finding.id, finding.in_words()));
        sheet.add("", &finding.why);
        match &finding.proof {
            Some(Proof::Command { output, .. }) => sheet.output(output),
            Some(Proof::Quote { quote }) => sheet.quote(quote),
            None => {}
        }
    }
    for name in &question.artifacts {
        sheet.add("wrote", &format!("artifacts/{}", named(&question.unit, name)));
    }
    sheet.what_changed(question);
    match ways {
        Ways::Commands => sheet.answers(question),
        // What each key does stands beside the keys.
        Ways::Keys { folder, .. } | Ways::Read { folder } => {
            sheet.add("folder", &folder.display().to_string());
        }
    }
    sheet.text
}

/// An artifact of a unit, as `forge show` knows it.
fn named(unit: &str, name: &str) -> String {
    match unit.rsplit_once('/') {
        Some((scope, _)) => format!("{scope}/{name}"),
        None => name.to_owned(),
    }
}

/// A question while it is written.
struct Sheet<'a> {
    text: String,
    run: &'a str,
    ways: Ways<'a>,
    width: usize,
}

impl Sheet<'_> {
    /// On a screen nothing may stick out; what is printed may be copied.
    const fn long_words(&self) -> LongWords {
        match self.ways {
            Ways::Commands => LongWords::Whole,
            Ways::Keys { .. } | Ways::Read { .. } => LongWords::Broken,
        }
    }

    /// Where all of what is cut here is found.
    fn elsewhere(&self) -> String {
        match self.ways {
            Ways::Commands => format!("forge status {} --json", self.run),
            Ways::Keys { .. } | Ways::Read { .. } => format!("key {ALL_KEY}"),
        }
    }

    fn add(&mut self, name: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let text = match self.ways {
            Ways::Commands => format::cut(value, TEXT_COLUMNS_MAX),
            Ways::Keys { lines, .. } => {
                let columns = self.width.saturating_sub(VALUES) * lines;
                format::cut(value, columns.max(TEXT_COLUMNS_MAX))
            }
            Ways::Read { .. } => value.to_owned(),
        };
        let is_cut = text.ends_with('…') && !value.trim_end().ends_with('…');
        let more =
            if is_cut { format!(" (all of it: {})", self.elsewhere()) } else { String::new() };
        let beginning = format!("   {name:<9} ");
        let from = text_width::width(&beginning);
        let long = self.long_words();
        let text = text_width::broken(&format!("{text}{more}"), from, VALUES, self.width, long);
        let _ = write!(self.text, "\n{beginning}{text}");
    }

    /// A line for itself, such as a command. Where it has to be broken, it goes on further in.
    fn line(&mut self, line: &str) {
        let line = match self.ways {
            Ways::Commands => line.to_owned(),
            Ways::Keys { .. } | Ways::Read { .. } => {
                text_width::broken(line, 3, 6, self.width, LongWords::Broken)
            }
        };
        let _ = write!(self.text, "\n   {line}");
    }

    /// Lines that stay as they were printed or written; those that are too long are cut where there is little room.
    fn as_it_is(&mut self, lines: &[&str]) {
        for line in lines {
            let line = match self.ways {
                Ways::Commands | Ways::Keys { .. } => {
                    format::cut_end(line, self.width.saturating_sub(VALUES))
                }
                Ways::Read { .. } => (*line).to_owned(),
            };
            let _ = write!(self.text, "\n{:VALUES$}{line}", "");
        }
    }

    /// What a command printed: its beginning and its end.
    fn output(&mut self, output: &str) {
        let lines: Vec<&str> = output.lines().collect();
        let most = match self.ways {
            Ways::Commands => PROOF_LINES,
            Ways::Keys { lines, .. } => lines,
            Ways::Read { .. } => lines.len(),
        };
        // To say that one line is left out takes as much room as the line.
        if lines.len() <= most + 1 {
            return self.as_it_is(&lines);
        }
        let first = most / FROM_BEGINNING;
        let rest = lines.len() - (most - first);
        self.as_it_is(&lines[..first]);
        self.left_out(rest - first, "between");
        self.as_it_is(&lines[rest..]);
    }

    fn quote(&mut self, quote: &str) {
        let lines: Vec<&str> = quote.lines().collect();
        let shown = match self.ways {
            Ways::Commands => lines.len().min(QUOTE_LINES),
            Ways::Keys { lines: most, .. } => lines.len().min(most.max(QUOTE_LINES)),
            Ways::Read { .. } => lines.len(),
        };
        self.as_it_is(&lines[..shown]);
        self.left_out(lines.len() - shown, "more");
    }

    fn left_out(&mut self, n: usize, which: &str) {
        if n > 0 {
            let n = format::count(u32::try_from(n).unwrap_or(u32::MAX), "line");
            let text = format!("… {n} {which}: {}", self.elsewhere());
            self.add("", &text);
        }
    }

    fn items(&mut self, listed: &ListView) {
        self.add("items", &format!("{} {}", listed.count, listed.list));
        for item in &listed.items {
            self.add("", &format!("{}  {}", item.id, item.title));
        }
        let count = usize::try_from(listed.count).unwrap_or_default();
        let more = count.saturating_sub(listed.items.len());
        if more > 0 {
            self.add("", &format!("and {more} more"));
        }
    }

    /// What can be looked at, and how.
    fn what_changed(&mut self, question: &QuestionView) {
        let (run, unit) = (self.run, &question.unit);
        if !question.changed.is_empty() {
            let (n, few) = (question.changed.len(), question.changed.iter().take(4).cloned());
            let more = if n > 4 { format!(" and {} more", n - 4) } else { String::new() };
            self.add("changed", &format!("{}{more}", few.collect::<Vec<String>>().join(", ")));
        }
        match self.ways {
            Ways::Commands => {
                for name in &question.artifacts {
                    self.line(&format!("forge show {run} {}", named(unit, name)));
                }
                match question.change {
                    Change::Code => self.line(&format!("forge show {run} --diff {unit}")),
                    Change::ChangedTexts => {
                        let what = "(what changed since the version before)";
                        self.line(&format!("forge show {run} --diff {unit} {what}"));
                    }
                    Change::Nothing | Change::NewTexts => {}
                }
            }
            // A key shows it.
            Ways::Keys { .. } | Ways::Read { .. } => {}
        }
        if !question.changed.is_empty() {
            self.line(&format!("to mend it by hand: forge edit {run} --code {unit} (says where)"));
        }
        // Only who worked to no end can be told to try again.
        if question.options.iter().any(|option| option.answer == "retry") {
            self.line(&format!("what was done: forge watch {run} {unit}"));
        }
    }

    /// The exact commands, and what each does.
    fn answers(&mut self, question: &QuestionView) {
        for option in &question.options {
            let command = command(self.run, &question.question, option);
            let does = format::block("      ", &option.does, self.width);
            let _ = write!(self.text, "\n   {command}\n{does}");
        }
    }
}

/// The exact command that answers a question in this way.
pub(crate) fn command(run: &str, question: &str, option: &OptionView) -> String {
    let words = match option.words {
        Words::Needed if option.answer.starts_with("waive") => " \"WHY\"",
        Words::Needed => " \"WORDS\"",
        Words::Possible => " [\"WORDS\"]",
        Words::None => "",
    };
    format!("forge answer {run} {question} {}{words}", option.answer)
}
