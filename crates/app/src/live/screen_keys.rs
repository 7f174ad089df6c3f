//! What keys do on the live screen, and what follows from an answer.

use std::time::Instant;

use forge_api::{Error, follow::RunSnapshot, person::person};
use forge_core::{
    Command,
    event::Answer,
    id::QuestionId,
    view::{QuestionView, Standing, sanitize},
};

use super::{
    external_program,
    frame::key_help,
    input_box::InputResult,
    keys::{KeyPress, KeyReader},
    question::DialogResult,
    screen::{LiveScreen, ScreenExit, ScreenMode, find_question},
    signals::ScreenSignals,
    status_message::StatusMessage,
    terminal,
};
use crate::{
    document, terminal_info,
    text::{
        answer_text::OpenQuestions,
        question_text::{QuestionLayout, question_text},
        result_text::{parse_unit_id, review_documents},
    },
};

/// How far a key scrolls a stream, in lines.
const SCROLL_LINES: usize = 10;

/// A direction of the selection in the tree.
#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

impl LiveScreen<'_> {
    pub(super) fn key(&mut self, key: &KeyPress, snapshot: &RunSnapshot) -> Option<ScreenExit> {
        self.approval_due = None;
        match &mut self.mode {
            ScreenMode::Tree => return self.tree_key(key, snapshot),
            ScreenMode::Stream { unit, back } => match key {
                KeyPress::Up | KeyPress::Char('k') => *back += 1,
                KeyPress::Down | KeyPress::Char('j') => *back = back.saturating_sub(1),
                KeyPress::PageUp => *back += SCROLL_LINES,
                KeyPress::PageDown => *back = back.saturating_sub(SCROLL_LINES),
                KeyPress::End => *back = 0,
                KeyPress::Tab => {
                    if let Some(next) = next_working(snapshot, Some(unit)) {
                        (*unit, *back) = (next, 0);
                    }
                }
                KeyPress::Ctrl('d') => return self.leave(snapshot),
                KeyPress::Escape | KeyPress::Enter | KeyPress::Char('q' | 'w') => {
                    self.mode = ScreenMode::Tree;
                }
                KeyPress::Char(_)
                | KeyPress::Left
                | KeyPress::Right
                | KeyPress::WordLeft
                | KeyPress::WordRight
                | KeyPress::Home
                | KeyPress::Backspace
                | KeyPress::Delete
                | KeyPress::DeleteWord
                | KeyPress::NewLine
                | KeyPress::Ctrl(_)
                | KeyPress::Pasted(_) => {}
            },
            ScreenMode::Asking(id) => {
                let question = find_question(snapshot, id)?;
                let open = OpenQuestions::new(&snapshot.view.asked);
                let result = self.dialogs.get_mut(id)?.handle_key(key, question, open);
                return self.apply_dialog_result(result, question, snapshot);
            }
            ScreenMode::Unsent(unsent) => match unsent.handle_key(key) {
                InputResult::Pending | InputResult::Editor => {}
                InputResult::Submitted | InputResult::Cancelled => self.show_tree(),
            },
        }
        None
    }

    fn tree_key(&mut self, key: &KeyPress, snapshot: &RunSnapshot) -> Option<ScreenExit> {
        self.message = None;
        match key {
            KeyPress::Up | KeyPress::Char('k') => self.choose(Direction::Up),
            KeyPress::Down | KeyPress::Char('j') => self.choose(Direction::Down),
            KeyPress::Enter | KeyPress::Char('w') => self.open_chosen(snapshot),
            KeyPress::Tab => self.watched = next_working(snapshot, self.watched.as_deref()),
            KeyPress::Char('a') => {
                if let Some(question) = snapshot.view.asked.first() {
                    self.open_question(question);
                } else {
                    let text = "There is no open question.";
                    self.message = Some(StatusMessage::briefly(text, snapshot));
                }
            }
            KeyPress::Char('p') => self.pause_or_resume(snapshot),
            KeyPress::Char('r') => self.take_over(snapshot),
            KeyPress::Char('q') | KeyPress::Ctrl('d') => return self.leave(snapshot),
            KeyPress::Escape => self.chosen = None,
            KeyPress::Char('?') => {
                self.message = Some(StatusMessage::of_keys(key_help(self.context())));
            }
            KeyPress::Char(_)
            | KeyPress::Left
            | KeyPress::Right
            | KeyPress::WordLeft
            | KeyPress::WordRight
            | KeyPress::Home
            | KeyPress::End
            | KeyPress::PageUp
            | KeyPress::PageDown
            | KeyPress::Backspace
            | KeyPress::Delete
            | KeyPress::DeleteWord
            | KeyPress::NewLine
            | KeyPress::Ctrl(_)
            | KeyPress::Pasted(_) => {
                let text = format!("Unknown key. All keys:\n{}", key_help(self.context()));
                self.message = Some(StatusMessage::of_keys(text));
            }
        }
        None
    }

    /// Opens the question of the selected unit, or its stream; without a selection a question or the latest agent.
    fn open_chosen(&mut self, snapshot: &RunSnapshot) {
        let asked = &snapshot.view.asked;
        let question = match &self.chosen {
            Some(unit) => asked.iter().find(|asked| asked.unit == *unit),
            None => asked.first(),
        };
        if let Some(question) = question {
            return self.open_question(question);
        }
        if let Some(unit) = self.chosen.as_ref().or(snapshot.working.keys().next()) {
            self.mode = ScreenMode::Stream { unit: unit.clone(), back: 0 };
        } else {
            let text = "No agent is running. Select a stage with ↑↓ to see its output.";
            self.message = Some(StatusMessage::briefly(text, snapshot));
        }
    }

    fn choose(&mut self, direction: Direction) {
        let at =
            self.chosen.as_ref().and_then(|chosen| self.units.iter().position(|u| u == chosen));
        let last = self.units.len().saturating_sub(1);
        let next = match (at, direction) {
            (None, Direction::Up) => last,
            (None, Direction::Down) => 0,
            (Some(at), Direction::Up) => at.saturating_sub(1),
            (Some(at), Direction::Down) => (at + 1).min(last),
        };
        self.chosen = self.units.get(next).cloned();
    }

    /// Applies what a key at a question resulted in.
    fn apply_dialog_result(
        &mut self,
        result: DialogResult,
        question: &QuestionView,
        snapshot: &RunSnapshot,
    ) -> Option<ScreenExit> {
        let run = self.follower.id().to_owned();
        match result {
            DialogResult::Pending => {}
            DialogResult::Postponed => {
                self.postponed.insert(question.question.clone());
                self.mode = ScreenMode::Tree;
            }
            DialogResult::NextQuestion => {
                let asked = &snapshot.view.asked;
                let at = asked.iter().position(|one| one.question == question.question);
                if let Some(next) = at.and_then(|at| asked.get((at + 1) % asked.len())) {
                    self.open_question(next);
                }
            }
            DialogResult::Leave => return self.leave(snapshot),
            DialogResult::Answered { answer, words } => {
                self.answer(question, answer, words, snapshot);
            }
            DialogResult::ShowChange => {
                let change =
                    parse_unit_id(&question.unit).and_then(|unit| self.forge.change(&run, &unit));
                let text = change.map(|change| document::render(&review_documents(change)));
                self.page(question, text);
            }
            DialogResult::ShowFullText => {
                let width = terminal_info::terminal_width();
                let text = question_text(&run, question, QuestionLayout::FullText, width);
                self.page(question, Ok(sanitize(&text)));
            }
            DialogResult::Edit { so_far } => {
                let written = self.with_released_terminal(|signals| {
                    external_program::run_editor(&so_far, signals)
                });
                match (written, self.dialogs.get_mut(&question.question)) {
                    (Ok(text), Some(dialog)) => dialog.set_text(&text),
                    (Err(error), _) => self.tell_at_question(question, error),
                    (Ok(_), None) => {}
                }
            }
        }
        None
    }

    /// Shows a text in the pager. Errors are shown at the question.
    fn page(&mut self, question: &QuestionView, text: Result<String, Error>) {
        let done = text.and_then(|text| {
            self.with_released_terminal(|signals| external_program::run_pager(text, signals))
        });
        if let Err(error) = done {
            self.tell_at_question(question, error);
        }
    }

    fn tell_at_question(&mut self, question: &QuestionView, error: Error) {
        if let Some(dialog) = self.dialogs.get_mut(&question.question) {
            dialog.set_message(StatusMessage::until_key(error.what));
        }
    }

    fn answer(
        &mut self,
        question: &QuestionView,
        answer: Answer,
        words: String,
        snapshot: &RunSnapshot,
    ) {
        let Ok(id) = question.question.parse::<QuestionId>() else { return };
        let command = Command::Answer { question: id, answer, words, by: person() };
        match self.send(&command) {
            Ok(()) => {
                let is_paused = snapshot.view.row.standing == Standing::Paused;
                self.message = Some(if is_paused {
                    let text = format!("{id} answered. The run is paused: press p to continue.");
                    StatusMessage::until_key(text)
                } else {
                    StatusMessage::briefly(format!("{id} answered."), snapshot)
                });
                self.mode = ScreenMode::Tree;
                self.dialogs.remove(&question.question);
                // Not asked again before the next read shows the answer.
                self.postponed.insert(question.question.clone());
                self.wants_driver = true;
            }
            Err(error) => self.tell_at_question(question, error),
        }
    }

    /// Approves the question on the screen if its time is over, and says how long that takes.
    pub(super) fn approve_on_silence(&mut self, snapshot: &RunSnapshot) {
        let Some((id, due)) = self.approval_due.clone() else { return };
        let Some(question) = find_question(snapshot, &id) else {
            self.approval_due = None;
            return;
        };
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.approval_due = None;
            return self.answer(question, Answer::Approve, String::new(), snapshot);
        }
        if let Some(dialog) = self.dialogs.get_mut(&id) {
            let text = format!(
                "Demo: approves automatically in {}s. Press any key to answer yourself.",
                left.as_secs() + 1
            );
            dialog.set_message(StatusMessage::until_key(text));
        }
    }

    /// Gives the terminal to another program, which gets Ctrl-C meanwhile. What was typed before it ended was for that program.
    fn with_released_terminal<T>(
        &mut self,
        run: impl FnOnce(&mut ScreenSignals) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.terminal = None;
        let done = run(&mut self.signals);
        self.signals.received();
        self.keys = KeyReader::default();
        terminal::discard_input();
        done
    }
}

/// Returns the running unit after this one, from the top again after the last.
fn next_working(snapshot: &RunSnapshot, unit: Option<&str>) -> Option<String> {
    let mut all = snapshot.working.keys();
    let next = all.clone().find(|name| unit.is_some_and(|unit| name.as_str() > unit));
    next.or(all.next()).cloned()
}
