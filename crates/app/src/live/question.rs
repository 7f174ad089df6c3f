//! A question on the screen: shows it in full, and takes the answer by keys.
//!
//! Pure: keys in, an answer out. The answer is not sent here.
//!
//! Invariant: no single key answers: the chosen answer is shown with its effect, and then confirmed.
//! Invariant: a text is sent as it was typed or pasted.

use std::path::Path;

use forge_api::follow::RunSnapshot;
use forge_core::{
    event::Answer,
    view::{AnswerWords, ChangeKind, QuestionView},
};

use super::{
    header::{DrivenBy, header},
    input_box::{self, InputResult},
    keys::KeyPress,
    line::{LineStyle, ScreenSize, StyledLine, key_hints, width, wrap},
    painter::Cursor,
    status_message::StatusMessage,
};
use crate::text::question_text::{
    ALL_KEY, AnswerOption, PROOF_LINES, QuestionLayout, answer_options, question_text,
};

/// The most lines about one possible answer.
const OPTION_LINES: usize = 2;

/// The dialog of one open question.
#[derive(Clone, Debug)]
pub(crate) struct QuestionDialog {
    /// The id of the question.
    pub(crate) question: String,
    /// How many lines are scrolled past.
    scroll: usize,
    step: AnswerStep,
    message: Option<StatusMessage>,
}

/// How far the person is with the answer.
#[derive(Clone, Debug)]
enum AnswerStep {
    Choosing,
    Confirming { option: AnswerOption },
    NamingGate { option: AnswerOption, gate: String, name: String },
    Writing { option: AnswerOption, text: String },
}

/// The effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DialogResult {
    Pending,
    Answered {
        answer: Answer,
        words: String,
    },
    /// The question stays open.
    Postponed,
    /// The change is to be shown.
    ShowChange,
    /// The full text of the question is to be shown.
    ShowFullText,
    /// An editor is to be opened with this text.
    Edit {
        so_far: String,
    },
}

impl QuestionDialog {
    pub(crate) fn new(question: &QuestionView) -> Self {
        let question = question.question.clone();
        Self { question, scroll: 0, step: AnswerStep::Choosing, message: None }
    }

    /// Shows a message above the keys.
    pub(crate) fn set_message(&mut self, message: StatusMessage) {
        self.message = Some(message);
    }

    /// Replaces the text by what was written in an editor.
    pub(crate) fn set_text(&mut self, written: &str) {
        if let AnswerStep::Writing { text, .. } = &mut self.step {
            written.trim_end().clone_into(text);
        }
    }

    /// Returns the text that is being typed, if any.
    pub(crate) fn unsent_text(&self) -> Option<&str> {
        match &self.step {
            AnswerStep::Choosing | AnswerStep::Confirming { .. } => None,
            AnswerStep::NamingGate { name: text, .. } | AnswerStep::Writing { text, .. } => {
                Some(text)
            }
        }
    }

    /// Applies a key.
    pub(crate) fn handle_key(&mut self, key: &KeyPress, question: &QuestionView) -> DialogResult {
        self.message = None;
        let is_writing = matches!(self.step, AnswerStep::Writing { .. });
        if *key == KeyPress::Up && !is_writing {
            self.scroll = self.scroll.saturating_sub(1);
        } else if *key == KeyPress::Down && !is_writing {
            self.scroll += 1;
        } else if *key == KeyPress::PageUp {
            self.scroll = self.scroll.saturating_sub(10);
        } else if *key == KeyPress::PageDown {
            self.scroll += 10;
        } else {
            return self.step_key(key, question);
        }
        DialogResult::Pending
    }

    fn step_key(&mut self, key: &KeyPress, question: &QuestionView) -> DialogResult {
        match &mut self.step {
            AnswerStep::Choosing => return self.choose(key, question),
            AnswerStep::Confirming { option } => {
                if let KeyPress::Enter | KeyPress::Char('y') = key {
                    let (answer, words) = (option.answer.clone(), String::new());
                    return DialogResult::Answered { answer, words };
                }
                self.step = AnswerStep::Choosing;
            }
            AnswerStep::NamingGate { option, gate, name } => match key {
                KeyPress::Escape => self.step = AnswerStep::Choosing,
                KeyPress::Char(c) => name.push(*c),
                KeyPress::Pasted(text) => name.push_str(text.trim()),
                KeyPress::Backspace => {
                    name.pop();
                }
                KeyPress::Ctrl('u') => name.clear(),
                KeyPress::Enter if name == gate => {
                    self.step = AnswerStep::Writing { option: option.clone(), text: String::new() };
                }
                KeyPress::Enter => {
                    let text = format!("`{name}` is not the name of the gate: it is {gate}");
                    name.clear();
                    self.message = Some(StatusMessage::until_key(text));
                }
                KeyPress::Up
                | KeyPress::Down
                | KeyPress::PageUp
                | KeyPress::PageDown
                | KeyPress::Ctrl(_) => {}
            },
            AnswerStep::Writing { text, .. } if *key == KeyPress::Ctrl('e') => {
                return DialogResult::Edit { so_far: text.clone() };
            }
            AnswerStep::Writing { option, text } => match input_box::apply_key(text, key) {
                InputResult::Pending => {}
                InputResult::Cancelled => self.step = AnswerStep::Choosing,
                InputResult::Submitted
                    if text.trim().is_empty() && option.words != AnswerWords::Possible =>
                {
                    self.message = Some(StatusMessage::until_key("there are no words yet"));
                }
                InputResult::Submitted => {
                    let words = text.trim_end().to_owned();
                    return DialogResult::Answered { answer: option.answer.clone(), words };
                }
            },
        }
        DialogResult::Pending
    }

    fn choose(&mut self, key: &KeyPress, question: &QuestionView) -> DialogResult {
        if *key == KeyPress::Escape {
            return DialogResult::Postponed;
        }
        let KeyPress::Char(letter) = key else { return DialogResult::Pending };
        if *letter == 'v' && !question.change.is_nothing() {
            return DialogResult::ShowChange;
        }
        if *letter == ALL_KEY {
            return DialogResult::ShowFullText;
        }
        let is_edit = *letter == 'e';
        let letter = if is_edit { 'r' } else { *letter };
        let Some(option) = answer_options(question).into_iter().find(|option| option.key == letter)
        else {
            return DialogResult::Pending;
        };
        self.step = match &option.answer {
            Answer::Retry if option.words == AnswerWords::Possible => {
                AnswerStep::Writing { option, text: String::new() }
            }
            Answer::Approve | Answer::Retry | Answer::GiveUp => AnswerStep::Confirming { option },
            Answer::Revise => AnswerStep::Writing { option, text: String::new() },
            Answer::Waive { gate } => {
                AnswerStep::NamingGate { gate: gate.clone(), option, name: String::new() }
            }
        };
        if is_edit { DialogResult::Edit { so_far: String::new() } } else { DialogResult::Pending }
    }

    /// Builds the whole screen, with the position of the cursor.
    pub(crate) fn frame(
        &self,
        snapshot: &RunSnapshot,
        question: &QuestionView,
        driven_by: DrivenBy,
        folder: &Path,
        size: ScreenSize,
    ) -> (Vec<StyledLine>, Cursor) {
        let ScreenSize { width: columns, height } = size;
        let mut lines = vec![header(snapshot, driven_by, columns, 0).swap_remove(0)];
        let (bottom, cursor) = self.answer_lines(snapshot, question, columns);
        // One empty line separates the question from the answers.
        let room = height.saturating_sub(1 + 1 + bottom.len());
        let text = question_lines(&snapshot.view.row.run, question, folder, columns, room);
        let first = self.scroll.min(text.len().saturating_sub(room));
        for (at, line) in text.iter().enumerate().skip(first).take(room) {
            let style = if at == 0 { LineStyle::Bold } else { LineStyle::Plain };
            lines.push(StyledLine::new(style, line));
        }
        let below = text.len().saturating_sub(first + room);
        let scrolls = format!("↑↓ scroll, {ALL_KEY} shows all");
        let more = match (first, below) {
            (0, 0) => String::new(),
            (0, below) => format!(" ↓ {below} lines more: {scrolls}"),
            (above, 0) => format!(" ↑ {above} lines: {scrolls}"),
            (above, below) => format!(" ↑ {above} lines  ↓ {below} lines more: {scrolls}"),
        };
        lines.push(StyledLine::new(LineStyle::Grey, &more));
        let top = lines.len();
        lines.extend(bottom);
        lines.truncate(height);
        let cursor = cursor.map(|(column, row)| (column.min(columns.saturating_sub(1)), top + row));
        (lines.into_iter().map(|line| line.cut(columns)).collect(), cursor)
    }

    /// Builds the lines for the possible answers and for the input.
    fn answer_lines(
        &self,
        snapshot: &RunSnapshot,
        question: &QuestionView,
        columns: usize,
    ) -> (Vec<StyledLine>, Cursor) {
        let mut lines = Vec::new();
        let mut cursor = None;
        if let Some(message) = self.message.as_ref().and_then(|message| message.text_at(snapshot)) {
            lines.push(StyledLine::new(LineStyle::Yellow, &format!(" {message}")));
        }
        match &self.step {
            AnswerStep::Choosing => {
                for option in answer_options(question) {
                    lines.extend(option_lines(&option, columns));
                }
                lines.push(key_hints(&key_list(question)));
            }
            AnswerStep::Confirming { option } => {
                lines.extend(option_lines(option, columns));
                lines.push(key_hints(&[("Enter", option.label), ("Esc", "back")]));
            }
            AnswerStep::NamingGate { gate, name, .. } => {
                let text = format!(" to waive it in your name, type the name of the gate: {gate}");
                lines.push(StyledLine::new(LineStyle::Yellow, &text));
                lines.push(StyledLine::new(LineStyle::Plain, &format!(" > {name}")));
                cursor = Some((3 + width(name), lines.len() - 1));
                lines.push(key_hints(&[("Enter", "next"), ("Esc", "back")]));
            }
            AnswerStep::Writing { option, text } => {
                let what = match &option.answer {
                    Answer::Waive { .. } => " why is it waived? This is kept with your name.",
                    Answer::Retry => {
                        lines.extend(option_lines(option, columns));
                        " what should it know? Your words go into the brief; none are needed."
                    }
                    Answer::Revise | Answer::Approve | Answer::GiveUp => {
                        " what should be different? Your words go into the brief as they are."
                    }
                };
                lines.push(StyledLine::new(LineStyle::Yellow, what));
                let (written, column) = input_box::input_lines(text, columns);
                lines.extend(written);
                cursor = Some((column, lines.len() - 1));
                let send = match (option.words, text.is_empty()) {
                    (AnswerWords::Possible, true) => ("Enter", option.label),
                    (AnswerWords::Possible, false)
                    | (AnswerWords::Needed | AnswerWords::None, _) => {
                        ("Enter twice or Ctrl-D", "send")
                    }
                };
                lines.push(key_hints(&[send, ("Ctrl-E", "editor"), ("Esc", "back")]));
            }
        }
        (lines, cursor)
    }
}

/// Builds the lines of a question. Long texts in it get as many lines as fit, and a few in any case.
fn question_lines(
    run: &str,
    question: &QuestionView,
    folder: &Path,
    columns: usize,
    room: usize,
) -> Vec<String> {
    let with = |lines: usize| {
        let layout = QuestionLayout::Screen { folder, lines };
        wrap(&question_text(run, question, layout, columns.saturating_sub(1)), columns)
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

/// Returns the keys besides those of the answers: only those that have an effect.
fn key_list(question: &QuestionView) -> Vec<(&'static str, &'static str)> {
    let mut keys = Vec::new();
    match question.change {
        ChangeKind::Code => keys.push(("v", "see the change")),
        ChangeKind::NewTexts => keys.push(("v", "see it")),
        ChangeKind::ChangedTexts => keys.push(("v", "see it, and what changed")),
        ChangeKind::Nothing => {}
    }
    keys.push(("f", "full text"));
    if answer_options(question).iter().any(|option| option.answer == Answer::Revise) {
        keys.push(("e", "revise in editor"));
    }
    keys.push(("Esc", "later"));
    keys
}

/// Builds the lines of a possible answer with its effect.
fn option_lines(option: &AnswerOption, columns: usize) -> Vec<StyledLine> {
    let texts = wrap(&option.does, columns.saturating_sub(16));
    let more = texts.len() > OPTION_LINES;
    texts
        .into_iter()
        .take(OPTION_LINES)
        .enumerate()
        .map(|(at, text)| {
            let mut line = StyledLine::default();
            let (key, word) =
                if at == 0 { (option.key.to_string(), option.label) } else { (String::new(), "") };
            line.column(LineStyle::Bold, &format!("   {key}"), 6);
            line.column(LineStyle::Bold, word, 9);
            let end = if more && at + 1 == OPTION_LINES { " …" } else { "" };
            line.with(LineStyle::Plain, &format!("{text}{end}"))
        })
        .collect()
}
