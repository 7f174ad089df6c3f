//! A question on the screen: shows it in full, and takes the answer by keys.
//!
//! Pure: keys in, an answer out. The answer is not sent here.
//!
//! Invariant: no single key answers: the chosen answer is shown with its effect, and then confirmed.
//! Invariant: a text is sent as it was typed or pasted, and is kept until it is sent, whatever is chosen meanwhile.

use std::collections::BTreeMap;

use forge_api::follow::RunSnapshot;
use forge_core::{
    event::Answer,
    id::gate_label,
    verdict::Severity,
    view::{AnswerWords, ChangeKind, QuestionView, capitalized},
};

use super::{
    header::{ScreenContext, header},
    input_box::{INPUT_KEYS, InputBox, InputResult},
    keys::KeyPress,
    line::{
        BOLD, Cursor, PLAIN, SanitizedLine as _, ScreenLine, ScreenSize, key_hints, line, wrap,
    },
    status_message::StatusMessage,
};
use crate::text::{
    answer_text::{AnswerOption, OpenQuestions, answer_options},
    question_text::{ALL_KEY, PROOF_LINES, QuestionLayout, question_text},
};

/// The most lines about one possible answer, where there is little room and where there is enough.
const OPTION_LINES: usize = 2;
const OPTION_LINES_MAX: usize = 6;
/// How far a key scrolls, in lines.
const SCROLL_LINES: usize = 10;
/// The columns of a selection, a key and a label.
const KEY_COLUMNS: usize = 6;
const LABEL_COLUMNS: usize = 17;
/// Below this width, effects are shown only when an answer is confirmed.
const EFFECTS_WIDTH: usize = 60;

/// The dialog of one open question.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuestionDialog {
    /// How many lines are scrolled past.
    scroll: usize,
    /// The selected answer, by its position.
    selected: usize,
    step: AnswerStep,
    /// Texts that were typed, by the keys of their answers.
    drafts: BTreeMap<char, InputBox>,
    message: Option<StatusMessage>,
}

/// How far the person is with the answer.
#[derive(Clone, Debug, Default)]
enum AnswerStep {
    #[default]
    Choosing,
    Writing {
        option: AnswerOption,
    },
    Confirming {
        option: AnswerOption,
        words: String,
    },
}

/// The effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DialogResult {
    Pending,
    Answered {
        answer: Answer,
        words: String,
    },
    /// The question stays open, and the tree is shown.
    Postponed,
    /// The next open question is to be shown.
    NextQuestion,
    /// The person leaves the screen.
    Leave,
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
    /// Returns the dialog of a question. Of a critical finding, changes are what is asked for first.
    pub(crate) fn new(question: &QuestionView) -> Self {
        let is_critical = question.findings.iter().any(|one| one.severity == Severity::Critical);
        let revise =
            answer_options(question).iter().position(|option| option.answer == Answer::Revise);
        let selected = revise.filter(|_| is_critical).unwrap_or_default();
        Self { selected, ..Self::default() }
    }

    /// Shows a message above the keys.
    pub(crate) fn set_message(&mut self, message: StatusMessage) {
        self.message = Some(message);
    }

    /// Replaces the text by what was written in an editor.
    pub(crate) fn set_text(&mut self, written: &str) {
        if let AnswerStep::Writing { option } = &self.step {
            self.drafts.insert(option.key, InputBox::new(written.trim_end()));
        }
    }

    /// Returns the box that is open.
    pub(crate) fn open_box(&self) -> Option<&InputBox> {
        match &self.step {
            AnswerStep::Writing { option } => self.drafts.get(&option.key),
            AnswerStep::Choosing | AnswerStep::Confirming { .. } => None,
        }
    }

    /// Returns the texts that were typed and not sent.
    pub(crate) fn unsent_texts(&self) -> impl Iterator<Item = String> {
        self.drafts.values().filter(|text| !text.is_blank()).map(InputBox::text)
    }

    /// Applies a key.
    pub(crate) fn handle_key(
        &mut self,
        key: &KeyPress,
        question: &QuestionView,
        open: OpenQuestions,
    ) -> DialogResult {
        let closed = self.message.take().filter(StatusMessage::is_of_this_screen);
        match self.step.clone() {
            AnswerStep::Writing { option } => self.write(key, option),
            AnswerStep::Choosing if closed.is_some() && *key == KeyPress::Escape => {
                DialogResult::Pending
            }
            AnswerStep::Choosing => self.choose(key, question, open),
            AnswerStep::Confirming { option, words } => {
                if let KeyPress::Enter | KeyPress::Char('y') = key {
                    return DialogResult::Answered { answer: option.answer, words };
                }
                if *key == KeyPress::Char(option.key) {
                    let how = format!("Enter to {}, Esc to go back.", option.label);
                    self.message = Some(StatusMessage::until_key(&how));
                    return DialogResult::Pending;
                }
                self.step = match option.answer {
                    Answer::Waive { .. } => AnswerStep::Writing { option },
                    Answer::Approve | Answer::Revise | Answer::Retry | Answer::GiveUp => {
                        AnswerStep::Choosing
                    }
                };
                DialogResult::Pending
            }
        }
    }

    fn write(&mut self, key: &KeyPress, option: AnswerOption) -> DialogResult {
        let text = self.drafts.entry(option.key).or_insert_with(|| InputBox::new(""));
        match text.handle_key(key) {
            InputResult::Pending => {}
            InputResult::Cancelled => self.step = AnswerStep::Choosing,
            InputResult::Editor => return DialogResult::Edit { so_far: text.text() },
            InputResult::Submitted if text.is_blank() && option.words != AnswerWords::Possible => {
                self.message = Some(StatusMessage::until_key("Type a few words first."));
            }
            InputResult::Submitted => {
                let words = text.text();
                if let Answer::Waive { .. } = option.answer {
                    self.step = AnswerStep::Confirming { option, words };
                    return DialogResult::Pending;
                }
                return DialogResult::Answered { answer: option.answer, words };
            }
        }
        DialogResult::Pending
    }

    fn choose(
        &mut self,
        key: &KeyPress,
        question: &QuestionView,
        open: OpenQuestions,
    ) -> DialogResult {
        let options = answer_options(question);
        let last = options.len().saturating_sub(1);
        match key {
            KeyPress::Up => self.selected = self.selected.saturating_sub(1),
            KeyPress::Down => self.selected = (self.selected + 1).min(last),
            KeyPress::PageUp => self.scroll = self.scroll.saturating_sub(SCROLL_LINES),
            KeyPress::PageDown => self.scroll += SCROLL_LINES,
            KeyPress::Escape => return DialogResult::Postponed,
            KeyPress::Tab => return DialogResult::NextQuestion,
            KeyPress::Char('q') | KeyPress::Ctrl('d') => return DialogResult::Leave,
            KeyPress::Char('v') if !question.change.is_nothing() => {
                return DialogResult::ShowChange;
            }
            KeyPress::Char(ALL_KEY) => return DialogResult::ShowFullText,
            KeyPress::Enter => {
                if let Some(option) = options.into_iter().nth(self.selected) {
                    self.open(option);
                }
            }
            KeyPress::Char('e') if options.iter().any(|option| option.answer == Answer::Revise) => {
                let revise = options.into_iter().find(|option| option.answer == Answer::Revise);
                self.open(revise.expect("it is among them"));
                let so_far = self.open_box().map(InputBox::text).unwrap_or_default();
                return DialogResult::Edit { so_far };
            }
            KeyPress::Char(letter) if options.iter().any(|option| option.has_key(*letter)) => {
                let position = options.iter().position(|option| option.has_key(*letter));
                self.selected = position.expect("it is among them");
                self.open(options[self.selected].clone());
            }
            KeyPress::Char(_)
            | KeyPress::Left
            | KeyPress::Right
            | KeyPress::WordLeft
            | KeyPress::WordRight
            | KeyPress::Home
            | KeyPress::End
            | KeyPress::Backspace
            | KeyPress::Delete
            | KeyPress::DeleteWord
            | KeyPress::NewLine
            | KeyPress::Ctrl(_)
            | KeyPress::Pasted(_) => {
                self.message = Some(StatusMessage::of_keys(known_keys(question, open)));
            }
        }
        DialogResult::Pending
    }

    /// Goes on with an answer: asks for words, or for a confirmation.
    fn open(&mut self, option: AnswerOption) {
        let takes_words = match &option.answer {
            Answer::Retry => option.words == AnswerWords::Possible,
            Answer::Revise | Answer::Waive { .. } => true,
            Answer::Approve | Answer::GiveUp => false,
        };
        self.step = if takes_words {
            self.drafts.entry(option.key).or_insert_with(|| InputBox::new(""));
            AnswerStep::Writing { option }
        } else {
            AnswerStep::Confirming { option, words: String::new() }
        };
    }

    /// Builds the whole screen, with the position of the cursor.
    pub(crate) fn frame(
        &self,
        snapshot: &RunSnapshot,
        question: &QuestionView,
        context: ScreenContext,
        size: ScreenSize,
    ) -> (Vec<ScreenLine>, Cursor) {
        let ScreenSize { width: columns, height } = size;
        let mut lines = header(snapshot, context, columns, 0);
        lines.truncate(2);
        // One line separates the question from the header, and one from the answers.
        lines.push(ScreenLine::default());
        let with = |most: usize| {
            let (bottom, cursor) = self.answer_lines(snapshot, question, columns, most);
            let room = height.saturating_sub(lines.len() + 1 + bottom.len());
            (question_lines(snapshot, question, columns, room), bottom, cursor)
        };
        let (brief, full) = (with(OPTION_LINES), with(OPTION_LINES_MAX));
        // Answers in full take no line from the question.
        let fits = lines.len() + 1 + full.0.len() + full.1.len() <= height;
        let (text, bottom, cursor) = if fits && full.0 == brief.0 { full } else { brief };
        let room = height.saturating_sub(lines.len() + 1 + bottom.len());
        let first = self.scroll.min(text.len().saturating_sub(room));
        for (at, text) in text.iter().enumerate().skip(first).take(room) {
            lines.push(line(if at == 0 { BOLD } else { PLAIN }, text));
        }
        let below = text.len().saturating_sub(first + room);
        let scrolls = format!("PgUp PgDn, {ALL_KEY} shows all");
        let more = match (first, below) {
            (0, 0) => String::new(),
            (0, below) => format!(" ↓ {below} more: {scrolls}"),
            (above, 0) => format!(" ↑ {above} above: {scrolls}"),
            (above, below) => format!(" ↑ {above} ↓ {below} more: {scrolls}"),
        };
        lines.push(line(PLAIN, &more));
        // The answers are shown, however little room there is.
        lines.truncate(height.saturating_sub(bottom.len()));
        let top = lines.len();
        lines.extend(bottom);
        lines.truncate(height);
        let cursor = cursor.map(|(column, row)| {
            (column.min(columns.saturating_sub(1)), (top + row).min(height.saturating_sub(1)))
        });
        (lines.into_iter().map(|line| line.cut(columns)).collect(), cursor)
    }

    /// Builds the lines for the possible answers and for the input.
    fn answer_lines(
        &self,
        snapshot: &RunSnapshot,
        question: &QuestionView,
        columns: usize,
        most: usize,
    ) -> (Vec<ScreenLine>, Cursor) {
        let mut lines = Vec::new();
        if let Some(message) = self.message.as_ref().and_then(|message| message.text_at(snapshot)) {
            let message = wrap(message, columns.saturating_sub(1));
            lines.extend(message.iter().map(|message| line(BOLD, &format!(" {message}"))));
        }
        match &self.step {
            AnswerStep::Choosing => {
                for (at, option) in answer_options(question).iter().enumerate() {
                    let mark = if at == self.selected { "❯" } else { " " };
                    lines.extend(option_lines(option, mark, columns, most));
                }
                let open = OpenQuestions::new(&snapshot.view.asked);
                lines.push(key_hints(&key_list(question, open), columns));
                (lines, None)
            }
            AnswerStep::Confirming { option, words } => {
                lines.extend(confirmation_lines(option, words, columns));
                lines.push(key_hints(&[("Enter", option.label), ("Esc", "back")], columns));
                (lines, None)
            }
            AnswerStep::Writing { option } => {
                let prompt = wrap(writing_prompt(option), columns.saturating_sub(1));
                lines.extend(prompt.iter().map(|text| line(BOLD, &format!(" {text}"))));
                let text = self.drafts.get(&option.key);
                let (written, cursor) = text.map(|text| text.lines(columns)).unwrap_or_default();
                let top = lines.len();
                lines.extend(written);
                let send = match option.words {
                    AnswerWords::Possible => option.label,
                    AnswerWords::Needed | AnswerWords::None => "send",
                };
                let keys = [&[("Enter", send)], &INPUT_KEYS[..]].concat();
                lines.push(key_hints(&keys, columns));
                (lines, cursor.map(|(column, row)| (column, top + row)))
            }
        }
    }
}

const fn writing_prompt(option: &AnswerOption) -> &'static str {
    match option.answer {
        Answer::Waive { .. } => "Why do you override it? The reason is recorded with your name.",
        Answer::Retry => "What should the agent know? Optional; it is added to its brief.",
        Answer::Revise | Answer::Approve | Answer::GiveUp => {
            "What should change? Your words go to the agent unchanged."
        }
    }
}

/// Builds the lines that say what is about to be answered.
fn confirmation_lines(option: &AnswerOption, words: &str, columns: usize) -> Vec<ScreenLine> {
    let mut lines = Vec::new();
    if let Answer::Waive { gate } = &option.answer {
        lines.push(line(BOLD, &format!(" Override {} in your name?", check_phrase(gate))));
        for text in wrap(words, columns.saturating_sub(4)).iter().take(OPTION_LINES) {
            lines.push(line(PLAIN, &format!("   {text}")));
        }
    } else {
        lines.push(line(BOLD, &format!(" {}?", capitalized(option.label))));
    }
    for text in wrap(&option.does, columns.saturating_sub(4)) {
        lines.push(line(PLAIN, &format!("   {text}")));
    }
    lines
}

/// Returns the name of a check inside of a sentence.
fn check_phrase(gate: &str) -> String {
    match gate_label(gate) {
        label if label == gate => format!("`{gate}`"),
        label => format!("the {label}"),
    }
}

/// Builds the lines of a question. Long texts in it get as many lines as fit, and a few in any case.
fn question_lines(
    snapshot: &RunSnapshot,
    question: &QuestionView,
    columns: usize,
    room: usize,
) -> Vec<String> {
    let (run, asked) = (&snapshot.view.row.run, &snapshot.view.asked);
    let at = asked.iter().position(|one| one.question == question.question).unwrap_or_default();
    let place = match OpenQuestions::new(asked) {
        OpenQuestions::One => String::new(),
        OpenQuestions::Several => format!(" ({} of {})", at + 1, asked.len()),
    };
    // It is wrapped with its place among the open ones.
    let question =
        &QuestionView { question: format!("{}{place}", question.question), ..question.clone() };
    let with = |lines: usize| {
        let layout = QuestionLayout::Screen { lines };
        let text = question_text(run, question, layout, columns.saturating_sub(2));
        wrap(&text, columns.saturating_sub(1)).iter().map(|text| format!(" {text}")).collect()
    };
    let (mut fits, mut too_many) = (PROOF_LINES, room.max(PROOF_LINES) + 1);
    while too_many - fits > 1 {
        let lines = usize::midpoint(fits, too_many);
        let shown: Vec<String> = with(lines);
        if shown.len() <= room {
            fits = lines;
        } else {
            too_many = lines;
        }
    }
    with(fits)
}

/// Returns the keys besides those of the answers: only those that have an effect.
fn key_list(question: &QuestionView, open: OpenQuestions) -> Vec<(&'static str, &'static str)> {
    let mut keys = vec![("↑↓ Enter", "choose")];
    match question.change {
        ChangeKind::NewTexts | ChangeKind::UnchangedTexts => keys.push(("v", "see it")),
        ChangeKind::Code | ChangeKind::ChangedTexts => keys.push(("v", "see changes")),
        ChangeKind::Nothing => {}
    }
    match open {
        OpenQuestions::One => {}
        OpenQuestions::Several => keys.push(("Tab", "next question")),
    }
    keys.push(("Esc", "later"));
    keys.push(("f", "full text"));
    if answer_options(question).iter().any(|option| option.answer == Answer::Revise) {
        keys.push(("e", "editor"));
    }
    keys.push(("?", "keys"));
    keys
}

/// Says which keys there are.
fn known_keys(question: &QuestionView, open: OpenQuestions) -> String {
    let answers = answer_options(question);
    let answers = answers.iter().map(|option| format!("{} {}", option.key, option.label));
    let others =
        key_list(question, open).into_iter().skip(1).map(|(key, does)| format!("{key} {does}"));
    let keys: Vec<String> = answers.chain(others).chain(["q leave".to_owned()]).collect();
    format!("Keys: {}", keys.join(" · "))
}

/// Builds the lines of a possible answer with its effect.
fn option_lines(option: &AnswerOption, mark: &str, columns: usize, most: usize) -> Vec<ScreenLine> {
    let room = columns.saturating_sub(KEY_COLUMNS + LABEL_COLUMNS);
    let texts = if columns < EFFECTS_WIDTH { Vec::new() } else { wrap(&option.does, room) };
    let more = texts.len() > most;
    let mut lines = Vec::new();
    for at in 0..texts.len().clamp(1, most) {
        let mut row = ScreenLine::default();
        let head = if at == 0 { format!(" {mark} {}", option.key) } else { String::new() };
        row.column(BOLD, &head, KEY_COLUMNS);
        row.column(BOLD, if at == 0 { option.label } else { "" }, LABEL_COLUMNS);
        let end = if more && at + 1 == most { " …" } else { "" };
        let text = texts.get(at).map(String::as_str).unwrap_or_default();
        lines.push(row.with(PLAIN, &format!("{text}{end}")));
    }
    lines
}
