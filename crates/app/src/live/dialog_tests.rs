//! Questions on the screen: what is shown of them, and what keys do.

use forge_api::follow::RunSnapshot;
use forge_core::{event::Answer, view::ChangeKind};

use super::{
    keys::KeyPress,
    line::{ScreenLine, ScreenSize},
    question::{DialogResult, QuestionDialog},
    status_message::StatusMessage,
    tests::{HERE, LARGE, SMALL, asking, keep_all, text},
};
use crate::text::{
    answer_text::OpenQuestions,
    question_text::{QuestionLayout, question_text},
};

fn frame(dialog: &QuestionDialog, snapshot: &RunSnapshot, size: ScreenSize) -> Vec<ScreenLine> {
    dialog.frame(snapshot, &snapshot.view.asked[0], HERE, size).0
}

fn shown(dialog: &QuestionDialog, snapshot: &RunSnapshot) -> String {
    text(&frame(dialog, snapshot, SMALL))
}

fn press(dialog: &mut QuestionDialog, snapshot: &RunSnapshot, keys: &[KeyPress]) -> DialogResult {
    let mut result = DialogResult::Pending;
    for key in keys {
        result = dialog.handle_key(key, &snapshot.view.asked[0], OpenQuestions::One);
    }
    result
}

fn typed(text: &str) -> Vec<KeyPress> {
    text.chars().map(|c| if c == '\n' { KeyPress::Enter } else { KeyPress::Char(c) }).collect()
}

fn keep(screen: &str, name: &str, dialog: &QuestionDialog, snapshot: &RunSnapshot) {
    keep_all(screen, name, |size| frame(dialog, snapshot, size));
}

#[test]
fn a_question_shows_everything_and_no_single_key_answers_it() {
    let snapshot = asking();
    let mut dialog = QuestionDialog::default();
    keep("question", "checkpoint", &dialog, &snapshot);
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Char('a')]), DialogResult::Pending);
    keep("question", "confirm", &dialog, &snapshot);
    press(&mut dialog, &snapshot, &[KeyPress::Char('a')]);
    assert!(shown(&dialog, &snapshot).contains("Enter to approve, Esc to go back."), "not undone");
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Escape]), DialogResult::Pending);
    assert_eq!(press(&mut dialog, &snapshot, &typed("ax")), DialogResult::Pending, "goes back");
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Escape]), DialogResult::Postponed);
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Char('v')]), DialogResult::ShowChange);
    assert_eq!(
        press(&mut dialog, &snapshot, &typed("a\n")),
        DialogResult::Answered { answer: Answer::Approve, words: String::new() }
    );
}

#[test]
fn of_a_critical_finding_changes_are_marked_first_and_else_the_approval() {
    let mut snapshot = asking();
    for (severity, marked) in [("major", "❯ a  approve"), ("critical", "❯ r  request changes")]
    {
        let finding = serde_json::json!({ "id": "F1", "severity": severity, "what": "a hole" });
        snapshot.view.asked[0].findings = vec![serde_json::from_value(finding).expect("it is one")];
        let dialog = QuestionDialog::new(&snapshot.view.asked[0]);
        let text = shown(&dialog, &snapshot);
        assert!(text.contains(marked), "{marked}: {text}");
    }
}

#[test]
fn arrows_and_enter_choose_and_an_unknown_key_says_which_keys_there_are() {
    let snapshot = asking();
    let mut dialog = QuestionDialog::default();
    let down = [KeyPress::Down, KeyPress::Down, KeyPress::Down, KeyPress::Down, KeyPress::Up];
    assert_eq!(press(&mut dialog, &snapshot, &down), DialogResult::Pending);
    assert!(shown(&dialog, &snapshot).contains("❯ o  override"), "{}", shown(&dialog, &snapshot));
    press(&mut dialog, &snapshot, &[KeyPress::Down, KeyPress::Enter]);
    assert!(shown(&dialog, &snapshot).contains("Reject?"), "{}", shown(&dialog, &snapshot));
    assert_eq!(
        press(&mut dialog, &snapshot, &[KeyPress::Enter]),
        DialogResult::Answered { answer: Answer::GiveUp, words: String::new() }
    );
    let mut dialog = QuestionDialog::default();
    assert_eq!(press(&mut dialog, &snapshot, &typed("z")), DialogResult::Pending);
    let keys = "Keys: a approve · r request changes · o override · x reject · v see it";
    assert!(shown(&dialog, &snapshot).contains(keys), "{}", shown(&dialog, &snapshot));
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Escape]), DialogResult::Pending);
    assert!(!shown(&dialog, &snapshot).contains("Keys:"), "Esc closes it first");
    assert_eq!(press(&mut dialog, &snapshot, &typed("q")), DialogResult::Leave);
    // The keys of earlier versions.
    press(&mut dialog, &snapshot, &typed("g"));
    assert!(shown(&dialog, &snapshot).contains("Reject?"));
}

/// Returns a question with more to say than a small screen has room for, in words of every length.
fn asking_much() -> RunSnapshot {
    let mut snapshot = asking();
    let asked = &mut snapshot.view.asked[0];
    asked.unit = "build.T1-a-task-with-a-rather-long-name/implement".to_owned();
    asked.summary = "每个密钥一个令牌桶，保存在内存中，".repeat(12);
    let shown = asked.shown.as_mut().expect("it shows something");
    shown.approach = "It puts a bucket before each handler and lets it drip. ".repeat(14);
    shown.key_changes = vec![format!("src/{}/limit.rs is new", "deep".repeat(40))];
    let output: Vec<String> = (1..=40).map(unlike_line).collect();
    asked.findings = vec![
        serde_json::from_value(serde_json::json!({
            "id": "F1", "severity": "major", "path": "design.md", "line": 3,
            "what": "it does not say what happens after a restart: 重启后令牌桶是空的还是满的？",
            "why": "whoever restarts it could spend twice",
            "proof": { "command": "cargo test", "output": output.join("\n") },
        }))
        .expect("it is a finding"),
    ];
    asked.changed = vec!["src/limit.rs".to_owned()];
    asked.change = ChangeKind::Code;
    snapshot
}

/// A line that is not folded with the others.
fn unlike_line(n: u8) -> String {
    format!("line {}{}", char::from(b'a' + n / 26), char::from(b'a' + n % 26))
}

#[test]
fn what_is_decided_on_is_wrapped_over_the_rows_that_are_free_and_what_does_not_fit_is_counted() {
    let snapshot = asking_much();
    let question = &snapshot.view.asked[0];
    keep("question", "long", &QuestionDialog::default(), &snapshot);
    // Where there are rows for all of it, nothing is left out.
    let high = ScreenSize { height: 70, ..LARGE };
    let all = text(&frame(&QuestionDialog::default(), &snapshot, high));
    assert!((1..=40).all(|n| all.contains(&format!(" {}\n", unlike_line(n)))), "{all}");
    assert!(!all.contains("key f"), "{all}");
    // All of it can be reached on the small one.
    let mut dialog = QuestionDialog::default();
    let mut seen = String::new();
    for _ in 0..60 {
        seen.push_str(&shown(&dialog, &snapshot));
        press(&mut dialog, &snapshot, &[KeyPress::PageDown]);
    }
    for last in [&*unlike_line(40), "all 40 lines: key f", "spend twice"] {
        assert!(seen.contains(last), "{last}");
    }
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Char('f')]), DialogResult::ShowFullText);
    let all = question_text("r", question, QuestionLayout::FullText, 80);
    assert!(all.contains(&unlike_line(1)) && !all.contains('…'), "{all}");
}

#[test]
fn of_a_red_check_the_lines_that_tell_why_are_printed() {
    let mut snapshot = asking_much();
    let mut lines: Vec<String> = (1..=60).map(|n| format!("ok {n} - fine")).collect();
    lines[20] = "not ok 21 - adds".to_owned();
    let proof = forge_core::verdict::Proof::Command {
        command: "npm test".to_owned(),
        output: lines.join("\n"),
    };
    snapshot.view.asked[0].findings[0].proof = Some(proof);
    let shown = question_text(
        "r",
        &snapshot.view.asked[0],
        QuestionLayout::Printed { open: OpenQuestions::One, lines: 6 },
        80,
    );
    assert!(shown.contains("not ok 21 - adds"), "{shown}");
    assert!(shown.contains("all 60 lines: forge attach r, then f"), "{shown}");
}

#[test]
fn keys_are_offered_only_where_they_do_something() {
    let last = |snapshot: &RunSnapshot| {
        let shown = shown(&QuestionDialog::default(), snapshot);
        shown.lines().last().expect("there are keys").to_owned()
    };
    let mut snapshot = asking();
    for (change, words) in [
        (ChangeKind::Code, "v see changes"),
        (ChangeKind::NewTexts, "v see it  "),
        (ChangeKind::ChangedTexts, "v see changes"),
    ] {
        snapshot.view.asked[0].change = change;
        assert!(last(&snapshot).contains(words), "{}", last(&snapshot));
        assert!(!shown(&QuestionDialog::default(), &snapshot).contains("PgDn"), "all is seen");
    }
    assert!(shown(&QuestionDialog::default(), &asking_much()).contains("PgDn"));
    // An attempt without a result: there is nothing to see or to revise.
    let asked = &mut snapshot.view.asked[0];
    asked.change = ChangeKind::Nothing;
    asked.options[0].answer = "retry".to_owned();
    asked.options.remove(1);
    keep("question", "no-result", &QuestionDialog::default(), &snapshot);
    let keys = last(&snapshot);
    assert!(!keys.contains(" v ") && !keys.contains(" e "), "{keys}");
    let all = shown(&QuestionDialog::default(), &snapshot);
    assert!(!all.contains("forge watch"), "no command can be typed here: {all}");
    assert_eq!(
        press(&mut QuestionDialog::default(), &snapshot, &typed("ve")),
        DialogResult::Pending
    );
}

#[test]
fn what_was_answered_elsewhere_is_said_until_the_next_fact_and_for_a_few_seconds_at_most() {
    let snapshot = asking();
    let mut dialog = QuestionDialog::default();
    dialog.set_message(StatusMessage::briefly("Q0 was answered elsewhere", &snapshot));
    let says = |dialog: &QuestionDialog, snapshot: &RunSnapshot| {
        shown(dialog, snapshot).contains("Q0 was answered elsewhere")
    };
    let later = |ms, n_facts| {
        let mut snapshot = snapshot.clone();
        snapshot.now += ms;
        snapshot.seq += n_facts;
        snapshot
    };
    assert!(says(&dialog, &later(0, 0)) && says(&dialog, &later(4_900, 0)));
    assert!(says(&dialog, &later(1_400, 1)), "it can be read");
    assert!(!says(&dialog, &later(1_500, 1)), "there is something newer");
    assert!(!says(&dialog, &later(5_000, 0)), "everybody has read it");
    dialog.set_message(StatusMessage::until_key("Q0 was answered elsewhere"));
    assert!(says(&dialog, &later(60_000, 9)));
    press(&mut dialog, &snapshot, &[KeyPress::Down]);
    assert!(!says(&dialog, &snapshot));
}

#[test]
fn a_demo_counts_down_where_everybody_sees_it() {
    let snapshot = asking();
    let mut dialog = QuestionDialog::default();
    let text = "Demo: approves automatically in 7s. Press any key to answer yourself.";
    dialog.set_message(StatusMessage::until_key(text));
    keep("demo", "question", &dialog, &snapshot);
}

#[test]
fn words_are_taken_as_they_are_typed_and_pasted_and_enter_sends_them() {
    let snapshot = asking();
    let mut dialog = QuestionDialog::default();
    assert_eq!(press(&mut dialog, &snapshot, &typed("r\n")), DialogResult::Pending);
    assert!(shown(&dialog, &snapshot).contains("Type a few words first."));
    let mut keys = typed("No: 工作 first.");
    keys.push(KeyPress::NewLine);
    keys.extend(typed("Then"));
    assert_eq!(press(&mut dialog, &snapshot, &keys), DialogResult::Pending);
    keep("editor", "words", &dialog, &snapshot);
    let (lines, cursor) = dialog.frame(&snapshot, &snapshot.view.asked[0], HERE, SMALL);
    let row = lines.iter().position(|line| text(std::slice::from_ref(line)) == " > Then");
    assert_eq!(cursor, row.map(|row| (7, row)));
    let pasted = KeyPress::Pasted(" this\n\nand that\u{7}".to_owned());
    assert_eq!(press(&mut dialog, &snapshot, &[pasted]), DialogResult::Pending);
    assert_eq!(
        press(&mut dialog, &snapshot, &[KeyPress::Enter]),
        DialogResult::Answered {
            answer: Answer::Revise,
            words: "No: 工作 first.\nThen this\n\nand that".to_owned()
        }
    );
}

#[test]
fn typed_words_are_kept_whatever_is_chosen_meanwhile_until_they_are_sent() {
    let snapshot = asking();
    let mut dialog = QuestionDialog::default();
    press(&mut dialog, &snapshot, &typed("rnot like this"));
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Escape]), DialogResult::Pending);
    press(&mut dialog, &snapshot, &typed("oflaky"));
    press(&mut dialog, &snapshot, &[KeyPress::Escape]);
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Escape]), DialogResult::Postponed);
    let unsent: Vec<String> = dialog.unsent_texts().collect();
    assert_eq!(unsent, ["flaky", "not like this"]);
    press(&mut dialog, &snapshot, &typed("r"));
    assert!(shown(&dialog, &snapshot).contains(" > not like this"));
    // Also in the editor.
    press(&mut dialog, &snapshot, &[KeyPress::Escape]);
    let so_far = "not like this".to_owned();
    assert_eq!(press(&mut dialog, &snapshot, &typed("e")), DialogResult::Edit { so_far });
    dialog.set_text("from an editor\n");
    assert!(shown(&dialog, &snapshot).contains(" > from an editor"));
}

#[test]
fn an_override_asks_for_a_reason_and_names_the_gate_where_it_is_confirmed() {
    let snapshot = asking();
    let mut dialog = QuestionDialog::default();
    assert_eq!(press(&mut dialog, &snapshot, &typed("o\n")), DialogResult::Pending);
    assert!(shown(&dialog, &snapshot).contains("Why do you override it?"));
    assert_eq!(press(&mut dialog, &snapshot, &typed("because I say so\n")), DialogResult::Pending);
    keep("question", "override", &dialog, &snapshot);
    let confirm = shown(&dialog, &snapshot);
    assert!(confirm.contains("Override the question in your name?"), "{confirm}");
    // Whoever goes back finds the reason.
    press(&mut dialog, &snapshot, &[KeyPress::Escape]);
    assert!(shown(&dialog, &snapshot).contains(" > because I say so"));
    assert_eq!(
        press(&mut dialog, &snapshot, &typed("\n\n")),
        DialogResult::Answered {
            answer: Answer::Waive { gate: "checkpoint-a".to_owned() },
            words: "because I say so".to_owned()
        }
    );
}
