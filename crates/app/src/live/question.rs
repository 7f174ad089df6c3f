//! A question on the screen: it is shown whole, and answered by keys.
//!
//! Pure: keys in, an answer out. Sending it is not done here.
//!
//! Invariant: no single key answers: what was chosen is shown with what it does, and then confirmed.
//! Invariant: words leave as they were typed or pasted.

use std::path::Path;

use forge_core::{
    event::Answer,
    view::{Change, QuestionView, Words},
};
use forge_runtime::follow::Picture;

use super::{
    frame::{Seat, head},
    input_box::{self, Typed, Unsent},
    keys::Key,
    line::{Ink, Line, Size, keys, width, wrap},
    painter::Cursor,
    status_message::Said,
};
use crate::text::question_text::{ALL_KEY, PROOF_LINES, Way, Ways, asked, ways};

/// The most lines about one way to answer.
const WAY_LINES: usize = 2;

/// A question that a person has before them.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// Which.
    pub(crate) question: String,
    /// Lines that were scrolled past.
    scroll: usize,
    step: Step,
    said: Option<Said>,
}

/// How far a person is with the answer.
#[derive(Clone, Debug)]
enum Step {
    Choosing,
    Sure { way: Way },
    Naming { way: Way, gate: String, name: String },
    Writing { way: Way, text: String },
}

/// What follows from a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing yet.
    Goes,
    /// This is the answer.
    Answered { answer: Answer, words: String },
    /// It is left open.
    Later,
    /// The person wants to see what it is about.
    See,
    /// The person wants to read all of the question.
    Read,
    /// The person wants to write in an editor; this is there so far.
    Edit { so_far: String },
}

impl Ask {
    pub(crate) fn of(question: &QuestionView) -> Self {
        let question = question.question.clone();
        Self { question, scroll: 0, step: Step::Choosing, said: None }
    }

    /// Says something above the keys.
    pub(crate) fn say(&mut self, said: Said) {
        self.said = Some(said);
    }

    /// What was written in an editor.
    pub(crate) fn written(&mut self, written: &str) {
        if let Step::Writing { text, .. } = &mut self.step {
            written.trim_end().clone_into(text);
        }
    }

    /// What the person was typing, now that the question is gone. Nothing, if they were not.
    pub(crate) fn unsent(&self) -> Option<Unsent> {
        let text = match &self.step {
            Step::Choosing | Step::Sure { .. } => return None,
            Step::Naming { name: text, .. } | Step::Writing { text, .. } => text.clone(),
        };
        Some(Unsent { question: self.question.clone(), text })
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: &Key, question: &QuestionView) -> Asked {
        self.said = None;
        match key {
            Key::Up if !matches!(self.step, Step::Writing { .. }) => {
                self.scroll = self.scroll.saturating_sub(1);
            }
            Key::Down if !matches!(self.step, Step::Writing { .. }) => self.scroll += 1,
            Key::PageUp => self.scroll = self.scroll.saturating_sub(10),
            Key::PageDown => self.scroll += 10,
            Key::Up
            | Key::Down
            | Key::Char(_)
            | Key::Enter
            | Key::Escape
            | Key::Backspace
            | Key::Ctrl(_)
            | Key::Pasted(_) => return self.step_key(key, question),
        }
        Asked::Goes
    }

    fn step_key(&mut self, key: &Key, question: &QuestionView) -> Asked {
        match &mut self.step {
            Step::Choosing => return self.choose(key, question),
            Step::Sure { way } => match key {
                Key::Enter | Key::Char('y') => {
                    return Asked::Answered { answer: way.answer.clone(), words: String::new() };
                }
                Key::Char(_)
                | Key::Escape
                | Key::Up
                | Key::Down
                | Key::PageUp
                | Key::PageDown
                | Key::Backspace
                | Key::Ctrl(_)
                | Key::Pasted(_) => self.step = Step::Choosing,
            },
            Step::Naming { way, gate, name } => match key {
                Key::Escape => self.step = Step::Choosing,
                Key::Char(c) => name.push(*c),
                Key::Pasted(text) => name.push_str(text.trim()),
                Key::Backspace => {
                    name.pop();
                }
                Key::Ctrl('u') => name.clear(),
                Key::Enter if name == gate => {
                    self.step = Step::Writing { way: way.clone(), text: String::new() };
                }
                Key::Enter => {
                    let text = format!("`{name}` is not the name of the gate: it is {gate}");
                    name.clear();
                    self.said = Some(Said::until_key(text));
                }
                Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::Ctrl(_) => {}
            },
            Step::Writing { text, .. } if *key == Key::Ctrl('e') => {
                return Asked::Edit { so_far: text.clone() };
            }
            Step::Writing { way, text } => match input_box::take(text, key) {
                Typed::Goes => {}
                Typed::Away => self.step = Step::Choosing,
                Typed::Ready if text.trim().is_empty() && way.words != Words::Possible => {
                    self.said = Some(Said::until_key("there are no words yet"));
                }
                Typed::Ready => {
                    let words = text.trim_end().to_owned();
                    return Asked::Answered { answer: way.answer.clone(), words };
                }
            },
        }
        Asked::Goes
    }

    fn choose(&mut self, key: &Key, question: &QuestionView) -> Asked {
        let letter = match key {
            Key::Escape => return Asked::Later,
            Key::Char('v') if !question.change.is_nothing() => return Asked::See,
            Key::Char(key) if *key == ALL_KEY => return Asked::Read,
            Key::Char(letter) => letter,
            Key::Enter
            | Key::Up
            | Key::Down
            | Key::PageUp
            | Key::PageDown
            | Key::Backspace
            | Key::Ctrl(_)
            | Key::Pasted(_) => return Asked::Goes,
        };
        let is_edit = *letter == 'e';
        let letter = if is_edit { 'r' } else { *letter };
        let Some(way) = ways(question).into_iter().find(|way| way.key == letter) else {
            return Asked::Goes;
        };
        self.step = match &way.answer {
            Answer::Retry if way.words == Words::Possible => {
                Step::Writing { way, text: String::new() }
            }
            Answer::Approve | Answer::Retry | Answer::GiveUp => Step::Sure { way },
            Answer::Revise => Step::Writing { way, text: String::new() },
            Answer::Waive { gate } => Step::Naming { gate: gate.clone(), way, name: String::new() },
        };
        if is_edit { Asked::Edit { so_far: String::new() } } else { Asked::Goes }
    }

    /// The whole screen, and where the cursor is.
    pub(crate) fn frame(
        &self,
        picture: &Picture,
        question: &QuestionView,
        seat: Seat,
        folder: &Path,
        size: Size,
    ) -> (Vec<Line>, Cursor) {
        let Size { width: columns, height } = size;
        let mut lines = vec![head(picture, seat, columns, 0).swap_remove(0)];
        let (bottom, cursor) = self.bottom(picture, question, columns);
        // One more line is between the text and what is below it.
        let room = height.saturating_sub(1 + 1 + bottom.len());
        let text = text(&picture.view.row.run, question, folder, columns, room);
        let first = self.scroll.min(text.len().saturating_sub(room));
        for (at, line) in text.iter().enumerate().skip(first).take(room) {
            let ink = if at == 0 { Ink::Bold } else { Ink::Plain };
            lines.push(Line::of(ink, line));
        }
        let below = text.len().saturating_sub(first + room);
        let scrolls = format!("↑↓ scroll, {ALL_KEY} shows all");
        let more = match (first, below) {
            (0, 0) => String::new(),
            (0, below) => format!(" ↓ {below} lines more: {scrolls}"),
            (above, 0) => format!(" ↑ {above} lines: {scrolls}"),
            (above, below) => format!(" ↑ {above} lines  ↓ {below} lines more: {scrolls}"),
        };
        lines.push(Line::of(Ink::Grey, &more));
        let top = lines.len();
        lines.extend(bottom);
        lines.truncate(height);
        let cursor = cursor.map(|(column, row)| (column.min(columns.saturating_sub(1)), top + row));
        (lines.into_iter().map(|line| line.cut(columns)).collect(), cursor)
    }

    /// What can be answered, and what was typed so far.
    fn bottom(
        &self,
        picture: &Picture,
        question: &QuestionView,
        columns: usize,
    ) -> (Vec<Line>, Cursor) {
        let mut lines = Vec::new();
        let mut cursor = None;
        if let Some(said) = self.said.as_ref().and_then(|said| said.in_picture(picture)) {
            lines.push(Line::of(Ink::Yellow, &format!(" {said}")));
        }
        match &self.step {
            Step::Choosing => {
                for way in ways(question) {
                    lines.extend(way_lines(&way, columns));
                }
                lines.push(keys(&choosing(question)));
            }
            Step::Sure { way } => {
                lines.extend(way_lines(way, columns));
                lines.push(keys(&[("Enter", way.word), ("Esc", "back")]));
            }
            Step::Naming { gate, name, .. } => {
                let text = format!(" to waive it in your name, type the name of the gate: {gate}");
                lines.push(Line::of(Ink::Yellow, &text));
                lines.push(Line::of(Ink::Plain, &format!(" > {name}")));
                cursor = Some((3 + width(name), lines.len() - 1));
                lines.push(keys(&[("Enter", "next"), ("Esc", "back")]));
            }
            Step::Writing { way, text } => {
                let what = match &way.answer {
                    Answer::Waive { .. } => " why is it waived? This is kept with your name.",
                    Answer::Retry => {
                        lines.extend(way_lines(way, columns));
                        " what should it know? Your words go into the brief; none are needed."
                    }
                    Answer::Revise | Answer::Approve | Answer::GiveUp => {
                        " what should be different? Your words go into the brief as they are."
                    }
                };
                lines.push(Line::of(Ink::Yellow, what));
                let (written, column) = input_box::lines(text, columns);
                lines.extend(written);
                cursor = Some((column, lines.len() - 1));
                let send = match (way.words, text.is_empty()) {
                    (Words::Possible, true) => ("Enter", way.word),
                    (Words::Possible, false) | (Words::Needed | Words::None, _) => {
                        ("Enter twice or Ctrl-D", "send")
                    }
                };
                lines.push(keys(&[send, ("Ctrl-E", "editor"), ("Esc", "back")]));
            }
        }
        (lines, cursor)
    }
}

/// The lines of a question. Each text in it has as many as there are rows for, and a few in any case.
fn text(
    run: &str,
    question: &QuestionView,
    folder: &Path,
    columns: usize,
    room: usize,
) -> Vec<String> {
    let with = |lines: usize| {
        let ways = Ways::Keys { folder, lines };
        wrap(&asked(run, question, ways, columns.saturating_sub(1)), columns)
    };
    let (mut fits, mut too_many) = (PROOF_LINES, room.max(PROOF_LINES) + 1);
    while too_many - fits > 1 {
        let lines = usize::midpoint(fits, too_many);
        if with(lines).len() <= room {
            fits = lines;
        } else {
            too_many = lines;
        }
    }
    with(fits)
}

/// The keys beside the answers: only those that do something here.
fn choosing(question: &QuestionView) -> Vec<(&'static str, &'static str)> {
    let mut keys = Vec::new();
    match question.change {
        Change::Code => keys.push(("v", "see the change")),
        Change::NewTexts => keys.push(("v", "see it")),
        Change::ChangedTexts => keys.push(("v", "see it, and what changed")),
        Change::Nothing => {}
    }
    keys.push(("f", "full text"));
    if ways(question).iter().any(|way| way.answer == Answer::Revise) {
        keys.push(("e", "revise in editor"));
    }
    keys.push(("Esc", "later"));
    keys
}

/// A way to answer with what it does.
fn way_lines(way: &Way, columns: usize) -> Vec<Line> {
    let texts = wrap(&way.does, columns.saturating_sub(16));
    let more = texts.len() > WAY_LINES;
    texts
        .into_iter()
        .take(WAY_LINES)
        .enumerate()
        .map(|(at, text)| {
            let mut line = Line::default();
            let (key, word) =
                if at == 0 { (way.key.to_string(), way.word) } else { (String::new(), "") };
            line.column(Ink::Bold, &format!("   {key}"), 6);
            line.column(Ink::Bold, word, 9);
            let end = if more && at + 1 == WAY_LINES { " …" } else { "" };
            line.and(Ink::Plain, &format!("{text}{end}"))
        })
        .collect()
}
