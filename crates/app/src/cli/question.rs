//! A question of a run, for people: everything that helps to choose, what can be answered, and what each answer does.
//!
//! The only place where questions are put into words: `status`, the end of `run` and `resume`, and the live screen
//! show the same.

use std::{fmt::Write as _, path::Path};

use forge_core::{
    event::Answer,
    verdict::Proof,
    view::{OptionView, QuestionView},
};

use crate::screen;

/// The last lines of a command's output that a question shows.
const PROOF_LINES: usize = 6;

/// The first lines of a quotation that a question shows.
const QUOTE_LINES: usize = 12;

/// How it can be answered where it is shown.
#[derive(Clone, Copy)]
pub(crate) enum Ways<'a> {
    /// By the commands that are printed.
    Commands,
    /// By keys. The folder is that of the run.
    Keys { folder: &'a Path },
}

/// The most characters of one text that a question shows.
const TEXT_CHARACTERS_MAX: usize = 600;

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
        Some(Way { key, word, does: option.does.clone(), answer })
    };
    question.options.iter().filter_map(way).collect()
}

/// A question with all that helps to choose, and how to.
pub(crate) fn asked(run: &str, question: &QuestionView, ways: Ways<'_>, width: usize) -> String {
    let text = format!("{} about {}: {}", question.question, question.unit, question.text);
    let mut text = screen::wrap(&text, 3, width);
    // What was printed or quoted stays in its lines.
    let quoted = |line: &str| screen::cut(line, width.saturating_sub(13));
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            let beginning = format!("   {name:<9} ");
            let value = screen::cut(value, TEXT_CHARACTERS_MAX);
            let _ = write!(text, "\n{}", screen::block(&beginning, &value, width));
        }
    };
    add("summary", &question.summary);
    if let Some(shown) = &question.shown {
        add("approach", &shown.approach);
        for change in &shown.key_changes {
            add("change", change);
        }
        if let Some(risk) = shown.risk {
            add("risk", &format!("{risk:?}").to_lowercase());
        }
    }
    if let Some(listed) = &question.listed {
        add("items", &format!("{} {}", listed.count, listed.list));
        for item in &listed.items {
            add("", &format!("{}  {}", item.id, item.title));
        }
        let more =
            usize::try_from(listed.count).unwrap_or_default().saturating_sub(listed.items.len());
        if more > 0 {
            add("", &format!("and {more} more"));
        }
    }
    for verdict in &question.verdicts {
        let counts =
            [(verdict.critical, "critical"), (verdict.major, "major"), (verdict.minor, "minor")];
        let counts = counts.iter().filter(|(n, _)| *n > 0);
        let counts: Vec<String> = counts.map(|(n, word)| format!("{n} {word}")).collect();
        let counts = if counts.is_empty() { "nothing found".to_owned() } else { counts.join(", ") };
        add("verdict", &format!("{} ({}: {counts})", verdict.verdict.word(), verdict.gate));
    }
    for finding in &question.findings {
        let severity = finding.severity.word();
        add("finding", &format!("{} {severity}: {}", finding.id, finding.in_words()));
        add("", &finding.why);
        match &finding.proof {
            Some(Proof::Command { output, .. }) => {
                let lines: Vec<&str> = output.lines().collect();
                let last = &lines[lines.len().saturating_sub(PROOF_LINES)..];
                for line in last {
                    add("", &quoted(line));
                }
            }
            Some(Proof::Quote { quote }) => {
                quote.lines().take(QUOTE_LINES).for_each(|line| add("", &quoted(line)));
            }
            None => {}
        }
    }
    for name in &question.artifacts {
        add("wrote", &shown_at(&question.unit, name));
    }
    if !question.changed.is_empty() {
        let (n, few) = (question.changed.len(), question.changed.iter().take(4).cloned());
        let more = if n > 4 { format!(" and {} more", n - 4) } else { String::new() };
        add("changed", &format!("{}{more}", few.collect::<Vec<String>>().join(", ")));
        let unit = &question.unit;
        let _ = write!(text, "\n   forge show {run} --diff {unit}");
        let _ =
            write!(text, "\n   to mend it by hand: forge edit {run} --code {unit} (says where)");
    }
    match ways {
        Ways::Commands => add_commands(&mut text, run, question, width),
        // What each key does stands beside the keys.
        Ways::Keys { folder } => {
            let _ = write!(text, "\n   {:<9} {}", "folder", folder.display());
        }
    }
    text
}

/// Where an artifact of a unit lies, below the folder of its run.
fn shown_at(unit: &str, name: &str) -> String {
    match unit.rsplit_once('/') {
        Some((scope, _)) => format!("artifacts/{scope}/{name}"),
        None => format!("artifacts/{name}"),
    }
}

/// The exact commands, and what each does.
fn add_commands(text: &mut String, run: &str, question: &QuestionView, width: usize) {
    for option in &question.options {
        let words = match option.answer.split(' ').next() {
            Some("revise") => " \"WORDS\"",
            Some("waive") => " \"WHY\"",
            Some(_) | None => "",
        };
        let _ = write!(
            text,
            "\n   forge answer {run} {} {}{words}\n{}",
            question.question,
            option.answer,
            screen::block("      ", &option.does, width)
        );
    }
}
