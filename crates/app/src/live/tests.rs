//! Frames of runs in every state, and painting through a terminal in memory.
//!
//! The frames come from real views: a flow, the facts of a run, and the fold of `core` over them.

use std::{collections::BTreeMap, num::NonZeroU16, path::Path};

use forge_api::follow::{RunSnapshot, Working};
use forge_core::{
    Time,
    money::{Cost, Money, Spent, Tokens},
    view::{ChangeKind, RunView, Standing, UnitState, UnitView},
};

use super::{
    frame::{FrameOptions, KEY_HELP, final_lines, frame},
    header::DrivenBy,
    keys::KeyPress,
    line::{ScreenSize, StyledLine},
    painter::{ENTER, LEAVE, Painter},
    question::{DialogResult, QuestionDialog},
    status_message::StatusMessage,
};
use crate::terminal_info::Colours;
use crate::text::question_text::{QuestionLayout, question_text};

const NOW: Time = 1_794_751_530_000;
pub(super) const SMALL: ScreenSize = ScreenSize { width: 80, height: 24 };
pub(super) const LARGE: ScreenSize = ScreenSize { width: 200, height: 50 };

/// Returns a run of a flow like `feature` with so many tasks, before anything happened.
fn snapshot(n_tasks: usize) -> RunSnapshot {
    let view: RunView = serde_json::from_value(serde_json::json!({
        "run": "20261115-add-rate-limits-to-the-public-api-k3f9",
        "flow": "feature",
        "title": "add rate limits to the public API, per key and per address",
        "standing": "going",
        "questions": 0,
        "working": 0,
        "spent": 1_240_000,
        "unknown_costs": 0,
        "started_at": NOW - 754_000,
        "changed_at": NOW - 4_000,
        "request": "add rate limits to the public API, per key and per address",
        "budget": 5_000_000,
        "unknown_at_most": 0,
        "tokens": 153_000,
        "asked": [],
        "units": [],
    }))
    .expect("it is a view");
    let usual = [
        ("analyse", 95_000),
        ("design", 240_000),
        ("build", 900_000),
        ("build/implement", 180_000),
    ];
    let mut snapshot = RunSnapshot {
        view,
        seq: 1,
        working: BTreeMap::new(),
        took: BTreeMap::new(),
        usual: usual.map(|(place, ms)| (place.to_owned(), ms)).into(),
        now: NOW,
    };
    for stage in ["analyse", "investigate", "design", "split", "build"] {
        snapshot.view.units.push(unit(stage, 0));
    }
    for task in 1..=n_tasks {
        let mut unit = unit(&format!("build.T{task}/implement"), 1);
        unit.title = format!("the part of it with the number {task} 限制");
        snapshot.view.units.push(unit);
    }
    for stage in ["review", "verify", "deliver", "summary", "record"] {
        snapshot.view.units.push(unit(stage, 0));
    }
    snapshot
}

fn unit(name: &str, depth: u32) -> UnitView {
    serde_json::from_value(serde_json::json!({
        "unit": name, "depth": depth, "state": "waiting", "attempt": 0, "round": 0,
        "since": NOW - 60_000, "spent": 0, "tokens": 0,
    }))
    .expect("it is a unit")
}

/// Says where a unit stands.
fn set(snapshot: &mut RunSnapshot, name: &str, state: UnitState) {
    let unit = snapshot.view.units.iter_mut().find(|unit| unit.unit == name).expect("it is there");
    unit.state = state;
    match state {
        UnitState::Accepted => {
            (unit.attempt, unit.spent, unit.tokens) = (1, Money(210_000), 12_300);
            unit.summary = "what it did, in one line".to_owned();
            snapshot.took.insert(name.to_owned(), 83_000);
        }
        UnitState::Working => {
            unit.attempt = 2;
            unit.round = 1;
            snapshot.took.insert(name.to_owned(), 41_000);
            let call = Working {
                call: format!("{name}#2"),
                does: "agent as implementer".to_owned(),
                agent: Some("claude".to_owned()),
                since: NOW - 41_000,
                line: Some(format!("Edit  src/limit/{name}.rs: the bucket is refilled 一 here")),
                spent: Spent {
                    cost: Cost::Unknown,
                    tokens: Tokens { input: 4_000, output: 500, ..Tokens::default() },
                    ..Spent::NOTHING
                },
            };
            snapshot.working.insert(name.to_owned(), vec![call]);
            snapshot.view.row.working += 1;
        }
        UnitState::Judging => unit.gate = Some("review".to_owned()),
        UnitState::Limited => {
            unit.until = Some(NOW + 3_600_000);
            unit.why = "usage limit of claude".to_owned();
        }
        UnitState::Waiting
        | UnitState::Asking
        | UnitState::Skipped
        | UnitState::Failed
        | UnitState::Blocked => {}
    }
}

/// Four of so many tasks are done, three are worked on, one is reviewed.
fn building(n_tasks: usize) -> RunSnapshot {
    let mut snapshot = snapshot(n_tasks);
    for stage in ["analyse", "investigate", "design", "split"] {
        set(&mut snapshot, stage, UnitState::Accepted);
    }
    set(&mut snapshot, "build", UnitState::Working);
    snapshot.working.clear();
    snapshot.view.row.working = 0;
    for task in 1..=4 {
        set(&mut snapshot, &format!("build.T{task}/implement"), UnitState::Accepted);
    }
    for task in 5..=7 {
        set(&mut snapshot, &format!("build.T{task}/implement"), UnitState::Working);
    }
    set(&mut snapshot, "build.T8/implement", UnitState::Judging);
    let build = snapshot.view.units.iter_mut().find(|unit| unit.unit == "build").expect("it is");
    build.items = Some((4, u32::try_from(n_tasks).expect("few")));
    snapshot
}

fn asking() -> RunSnapshot {
    let mut snapshot = snapshot(0);
    set(&mut snapshot, "analyse", UnitState::Accepted);
    set(&mut snapshot, "investigate", UnitState::Accepted);
    set(&mut snapshot, "design", UnitState::Asking);
    (snapshot.view.row.standing, snapshot.view.row.questions) = (Standing::Waiting, 1);
    snapshot.view.asked = vec![
        serde_json::from_value(serde_json::json!({
            "question": "Q1",
            "unit": "design",
            "gate": "checkpoint-a",
            "text": "Build it like this?",
            "options": [
                { "answer": "approve", "does": "it passes, and `design` is done" },
                { "answer": "revise", "does": "`design` is done again, with your words in its brief" },
                { "answer": "waive checkpoint-a", "does": "`checkpoint-a` is waived in your name, and `design` is done" },
                { "answer": "give-up", "does": "`design` fails; what does not wait for it goes on" },
            ],
            "summary": "a token bucket for each key, kept in memory",
            "shown": { "approach": "token bucket", "key_changes": ["src/limit.rs", "src/main.rs"], "risk": "medium" },
            "artifacts": ["design.md"],
            "change": "new-texts",
        }))
        .expect("it is a question"),
    ];
    snapshot
}

fn options(size: ScreenSize) -> FrameOptions {
    FrameOptions { size, driven_by: DrivenBy::ThisProcess, chosen: None, message: None }
}

fn text(lines: &[StyledLine], colours: Colours) -> String {
    lines.iter().map(|line| line.render(colours)).collect::<Vec<String>>().join("\n")
}

/// Every frame keeps to its size, and is looked at as a snapshot.
fn check_frames(name: &str, snapshot: &RunSnapshot) {
    for (size, word) in [(SMALL, "80x24"), (LARGE, "200x50")] {
        let frame = frame(snapshot, &options(size));
        assert!(frame.lines.len() <= size.height, "{name}: {} lines", frame.lines.len());
        assert!(frame.lines.iter().all(|line| line.width() <= size.width), "{name}");
        insta::assert_snapshot!(format!("{name}-{word}"), text(&frame.lines, Colours::No));
    }
    let frame = frame(snapshot, &options(SMALL));
    insta::assert_snapshot!(format!("{name}-colours"), text(&frame.lines, Colours::Yes));
}

#[test]
fn a_run_looks_calm_in_every_state() {
    let mut start = snapshot(0);
    set(&mut start, "analyse", UnitState::Working);
    check_frames("start", &start);
    check_frames("building", &building(12));
    check_frames("question", &asking());
    let mut limited = building(12);
    limited.view.row.standing = Standing::Limited;
    limited.view.row.until = Some(NOW + 3_600_000);
    limited.view.row.why = "usage limit of claude".to_owned();
    limited.working.clear();
    for task in 5..=8 {
        set(&mut limited, &format!("build.T{task}/implement"), UnitState::Limited);
    }
    check_frames("limited", &limited);
    let mut failed = building(12);
    failed.working.clear();
    failed.view.row.standing = Standing::Failed;
    failed.view.row.working = 0;
    failed.view.row.why = "failed: build.T5/implement".to_owned();
    for task in 6..=8 {
        set(&mut failed, &format!("build.T{task}/implement"), UnitState::Accepted);
    }
    set(&mut failed, "build.T5/implement", UnitState::Failed);
    check_frames("failed", &failed);
    check_frames("many", &building(300));
}

#[test]
fn no_frame_is_larger_than_its_screen_however_small_that_is() {
    for snapshot in [snapshot(0), building(300), asking()] {
        for width in [1, 2, 10, 20, 79, 120, 500] {
            for height in 0..30 {
                let size = ScreenSize { width, height };
                let frame = frame(&snapshot, &options(size));
                assert!(frame.lines.len() <= height, "{width}×{height}: {}", frame.lines.len());
                assert!(frame.lines.iter().all(|line| line.width() <= width), "{width}×{height}");
                if let Some(question) = snapshot.view.asked.first() {
                    let dialog = QuestionDialog::new(question);
                    let (lines, _) = dialog.frame(
                        &snapshot,
                        question,
                        DrivenBy::ThisProcess,
                        Path::new("/run"),
                        size,
                    );
                    assert!(lines.len() <= height, "{width}×{height}: {}", lines.len());
                    assert!(lines.iter().all(|line| line.width() <= width), "{width}×{height}");
                }
            }
        }
    }
}

#[test]
fn who_works_and_who_asks_is_seen_whatever_else_has_to_be_folded() {
    let mut snapshot = building(300);
    set(&mut snapshot, "build.T200/implement", UnitState::Asking);
    let frame = frame(&snapshot, &options(SMALL));
    let shown = text(&frame.lines, Colours::No);
    for name in ["T5 ", "T6 ", "T7 ", "T8 ", "T200 ", "asks you", "└ Edit", "to come", "4 good"] {
        assert!(shown.contains(name), "{name} is missing:\n{shown}");
    }
    for task in 9..=60 {
        set(&mut snapshot, &format!("build.T{task}/implement"), UnitState::Working);
    }
    let frame = super::frame::frame(&snapshot, &options(SMALL));
    let shown = text(&frame.lines, Colours::No);
    assert!(shown.contains("T200 ") && shown.contains("more under way"), "{shown}");
    assert!(frame.units.contains(&"build.T200/implement".to_owned()));
}

#[test]
fn items_that_are_good_between_others_are_one_count_before_anything_said_is_left_out() {
    let mut snapshot = building(12);
    for task in 1..=12 {
        let name = format!("build.T{task}/implement");
        snapshot.working.remove(&name);
        let is_odd = task % 2 == 1;
        set(&mut snapshot, &name, if is_odd { UnitState::Accepted } else { UnitState::Working });
    }
    let shown =
        text(&frame(&snapshot, &options(ScreenSize { width: 80, height: 30 })).lines, Colours::No);
    assert!(shown.contains("✓ 6 good"), "{shown}");
    assert_eq!(shown.matches("└ Edit").count(), 6, "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[28].is_empty() && lines[27].contains("record"), "all room is used:\n{shown}");
}

#[test]
fn a_large_screen_keeps_what_was_done_last_beside_the_count() {
    let mut snapshot = snapshot(100);
    for task in 1..=80 {
        set(&mut snapshot, &format!("build.T{task}/implement"), UnitState::Accepted);
    }
    set(&mut snapshot, "build.T81/implement", UnitState::Working);
    let shown = text(&frame(&snapshot, &options(LARGE)).lines, Colours::No);
    assert!(shown.contains("T80 ") && !shown.contains("T1 ") && shown.contains(" good"), "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[48].is_empty() && !lines[47].is_empty(), "all room is used:\n{shown}");
    snapshot.view.row.unknown_costs = 1;
    let shown = text(&frame(&snapshot, &options(SMALL)).lines, Colours::No);
    assert!(shown.contains("1 call under way"), "{shown}");
}

#[test]
fn a_run_that_ignored() {
    let mut snapshot = building(12);
    let alone = |snapshot: &RunSnapshot| {
        let options = FrameOptions { driven_by: DrivenBy::Nothing, ..options(SMALL) };
        text(&frame(snapshot, &options).lines, Colours::No)
    };
    for standing in [Standing::Going, Standing::Limited] {
        snapshot.view.row.standing = standing;
        snapshot.view.row.until = (standing == Standing::Limited).then_some(NOW + 3_600_000);
        let shown = alone(&snapshot);
        assert!(shown.lines().next().is_some_and(|line| line.ends_with("no driver")), "{shown}");
        let next = "nobody drives this run, so nothing goes on: forge resume k3f9";
        for text in [next, "r drive it on here", "q leave", " 12m30s  ·"] {
            assert!(shown.contains(text), "{text} is missing:\n{shown}");
        }
        assert!(!shown.contains("it goes on") && !shown.contains("pause"), "{shown}");
    }
    snapshot.view.row.standing = Standing::Paused;
    assert!(alone(&snapshot).contains("paused"), "who paused it knows that nothing goes on");
    snapshot.view.row.standing = Standing::Going;
    let printed = text(&final_lines(&snapshot, DrivenBy::Nothing, 80, 60), Colours::No);
    assert!(printed.contains("no driver") && !printed.contains("going"), "{printed}");
}

#[test]
fn tokens_that_nobody_told_of_are_not_shown_as_none() {
    let mut snapshot = snapshot(1);
    let header = |snapshot: &RunSnapshot| {
        let shown = text(&frame(snapshot, &options(LARGE)).lines, Colours::No);
        shown.lines().take(3).collect::<Vec<_>>().join("\n")
    };
    assert!(header(&snapshot).contains("  ·  153k tokens"), "{}", header(&snapshot));
    snapshot.view.tokens = 0;
    assert!(!header(&snapshot).contains("tokens"), "{}", header(&snapshot));
}

#[test]
fn what_stays_in_the_scrollback_is_the_whole_tree_without_keys() {
    let lines = final_lines(&building(12), DrivenBy::AnotherProcess, 80, 60);
    let shown = text(&lines, Colours::No);
    assert!(shown.contains("T12 ") && !shown.contains("choose"), "{shown}");
    assert!(final_lines(&building(300), DrivenBy::AnotherProcess, 80, 60).len() <= 60);
}

/// Returns the rows of a terminal in memory.
pub(super) fn contents(terminal: &vt100::Parser, size: ScreenSize) -> Vec<String> {
    let width = u16::try_from(size.width).expect("a screen is small");
    let rows = terminal.screen().rows(0, width);
    rows.map(|row| row.trim_end().to_owned()).collect()
}

pub(super) fn expected(lines: &[StyledLine], size: ScreenSize) -> Vec<String> {
    let mut rows: Vec<String> = lines.iter().map(|line| line.render(Colours::No)).collect();
    rows.resize(size.height, String::new());
    rows.iter().map(|row| row.trim_end().to_owned()).collect()
}

pub(super) fn cells(n: usize) -> NonZeroU16 {
    u16::try_from(n).ok().and_then(NonZeroU16::new).expect("a screen is small, and not nothing")
}

pub(super) fn terminal(size: ScreenSize) -> vt100::Parser {
    let mut parser = vt100::Parser::new(cells(size.height), cells(size.width), 0);
    parser.process(b"what a shell left here\r\n");
    parser.process(ENTER.as_bytes());
    parser
}

/// Five hundred frames of a run with 300 items, in which something changes with each one: what is on the screen is
/// the frame, whatever was there before. Real runs are in `replay_tests.rs`.
#[test]
fn five_hundred_frames_over_three_hundred_items_are_painted_whole_also_through_resizes() {
    let states = [
        UnitState::Working,
        UnitState::Judging,
        UnitState::Asking,
        UnitState::Accepted,
        UnitState::Limited,
        UnitState::Failed,
        UnitState::Waiting,
    ];
    let mut snapshot = building(300);
    let (mut size, mut painter) = (SMALL, Painter::new(Colours::Yes));
    let mut screen = terminal(size);
    let mut written = 0;
    for step in 0..500_usize {
        let task = step * 7 % 300 + 1;
        let name = format!("build.T{task}/implement");
        snapshot.working.remove(&name);
        set(&mut snapshot, &name, states[step / 3 % states.len()]);
        snapshot.now += 5;
        if step % 60 == 59 {
            size = if size == SMALL { LARGE } else { SMALL };
            screen.screen_mut().set_size(cells(size.height), cells(size.width));
        }
        let frame = frame(&snapshot, &options(size));
        let bytes = painter.paint(&frame.lines, None, size);
        assert!(bytes.is_empty() || bytes.starts_with("\x1b[?2026h"), "in one piece");
        assert!(!bytes.contains("\x1b[2J"), "nothing is cleared in steady state");
        written += bytes.len();
        screen.process(bytes.as_bytes());
        assert_eq!(contents(&screen, size), expected(&frame.lines, size), "frame {step}");
        for name in &frame.units {
            let unit = snapshot.view.units.iter().find(|unit| unit.unit == *name);
            assert!(unit.is_some(), "{name} is a unit of `status`");
        }
    }
    assert!(painter.paint(&frame(&snapshot, &options(size)).lines, None, size).is_empty());
    assert!(written < 500 * 4_000, "only what changed is written: {written} bytes");
    screen.process(LEAVE.as_bytes());
    assert!(contents(&screen, size)[0].contains("what a shell left here"), "it is as before");
}

#[test]
fn all_keys_are_named_on_request_also_on_a_small_screen() {
    let snapshot = building(12);
    let asks = FrameOptions { message: Some(KEY_HELP.to_owned()), ..options(SMALL) };
    let shown = text(&frame(&snapshot, &asks).lines, Colours::No);
    for key in ["j k choose", "Esc choose", "w what", "a answer", "p pause", "r drive", "q leave"] {
        assert!(shown.contains(key), "{key}:\n{shown}");
    }
    assert!(shown.contains("Ctrl-C stop\n") && shown.contains("? these keys"), "{shown}");
    let large = text(&frame(&snapshot, &options(LARGE)).lines, Colours::No);
    assert!(large.contains("? keys"), "{large}");
}

#[test]
fn states_on_the_screen_are_those_of_status() {
    let snapshot = building(12);
    let shown = text(&frame(&snapshot, &options(LARGE)).lines, Colours::No);
    for unit in &snapshot.view.units {
        let name = unit.unit.rsplit('.').next().expect("it has a name");
        let name = name.split('/').next().expect("it has an item");
        let line = shown.lines().find(|line| line.split_whitespace().nth(1) == Some(name));
        let line = line.unwrap_or_else(|| panic!("{name} is not there:\n{shown}"));
        let word = match unit.state {
            UnitState::Accepted => "good",
            UnitState::Working if unit.items.is_some() => "4 of 12 items",
            UnitState::Working => "working #2 r1",
            UnitState::Judging => "in review",
            UnitState::Waiting => "·",
            UnitState::Limited
            | UnitState::Asking
            | UnitState::Skipped
            | UnitState::Failed
            | UnitState::Blocked => panic!("{:?} is not in this picture", unit.state),
        };
        assert!(line.contains(word), "{line}");
    }
}

fn press(dialog: &mut QuestionDialog, snapshot: &RunSnapshot, keys: &[KeyPress]) -> DialogResult {
    let mut result = DialogResult::Pending;
    for key in keys {
        result = dialog.handle_key(key, &snapshot.view.asked[0]);
    }
    result
}

fn typed(text: &str) -> Vec<KeyPress> {
    text.chars().map(|c| if c == '\n' { KeyPress::Enter } else { KeyPress::Char(c) }).collect()
}

#[test]
fn a_question_shows_everything_and_no_single_key_answers_it() {
    use forge_core::event::Answer;
    let snapshot = asking();
    let mut dialog = QuestionDialog::new(&snapshot.view.asked[0]);
    let (lines, _) = dialog.frame(
        &snapshot,
        &snapshot.view.asked[0],
        DrivenBy::ThisProcess,
        Path::new("/the/run"),
        SMALL,
    );
    insta::assert_snapshot!("asked-80x24", text(&lines, Colours::No));
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Char('a')]), DialogResult::Pending);
    let (lines, _) = dialog.frame(
        &snapshot,
        &snapshot.view.asked[0],
        DrivenBy::ThisProcess,
        Path::new("/the/run"),
        SMALL,
    );
    insta::assert_snapshot!("asked-sure-80x24", text(&lines, Colours::No));
    assert_eq!(
        press(&mut dialog, &snapshot, &[KeyPress::Enter]),
        DialogResult::Answered { answer: Answer::Approve, words: String::new() }
    );
    let mut dialog = QuestionDialog::new(&snapshot.view.asked[0]);
    assert_eq!(
        press(&mut dialog, &snapshot, &typed("ax")),
        DialogResult::Pending,
        "another key goes back"
    );
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Escape]), DialogResult::Postponed);
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Char('v')]), DialogResult::ShowChange);
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
    for (size, word) in [(SMALL, "80x24"), (LARGE, "200x50")] {
        let (lines, _) = QuestionDialog::new(question).frame(
            &snapshot,
            question,
            DrivenBy::ThisProcess,
            Path::new("/run"),
            size,
        );
        assert!(lines.iter().all(|line| line.width() <= size.width), "{word}");
        let shown = text(&lines, Colours::No);
        insta::assert_snapshot!(format!("asked-much-{word}"), shown);
        // Only the heads of questions begin at the left.
        let at_the_left = |line: &&str| !line.starts_with(' ') && !line.is_empty();
        assert_eq!(shown.lines().filter(at_the_left).count(), 1, "{shown}");
    }
    // Where there are rows for all of it, nothing is left out.
    let high = ScreenSize { height: 70, ..LARGE };
    let (lines, _) = QuestionDialog::new(question).frame(
        &snapshot,
        question,
        DrivenBy::ThisProcess,
        Path::new("/run"),
        high,
    );
    let shown = text(&lines, Colours::No);
    assert!((1..=40).all(|n| shown.contains(&format!(" {}\n", unlike_line(n)))), "{shown}");
    assert!(!shown.contains("key f"), "{shown}");
    // All of it can be reached on the small one.
    let mut dialog = QuestionDialog::new(question);
    let mut seen = String::new();
    for _ in 0..60 {
        let (lines, _) =
            dialog.frame(&snapshot, question, DrivenBy::ThisProcess, Path::new("/the/run"), SMALL);
        seen.push_str(&text(&lines, Colours::No));
        press(&mut dialog, &snapshot, &[KeyPress::Down]);
    }
    for last in [&*unlike_line(40), "all 40 lines: key f", "spend twice", "/the/run", "(says"] {
        assert!(seen.contains(last), "{last}");
    }
    assert_eq!(press(&mut dialog, &snapshot, &[KeyPress::Char('f')]), DialogResult::ShowFullText);
    let layout = QuestionLayout::FullText { folder: Path::new("/the/run") };
    let all = question_text("r", question, layout, 80);
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
    let shown = question_text("r", &snapshot.view.asked[0], QuestionLayout::Printed, 80);
    assert!(shown.contains("not ok 21 - adds"), "{shown}");
    assert!(shown.contains("all 60 lines: forge status r --json"), "{shown}");
}

#[test]
fn keys_are_offered_only_where_they_do_something() {
    let shown_keys = |snapshot: &RunSnapshot| {
        let question = &snapshot.view.asked[0];
        let (lines, _) = QuestionDialog::new(question).frame(
            snapshot,
            question,
            DrivenBy::ThisProcess,
            Path::new("/run"),
            SMALL,
        );
        let last = lines.last().expect("there are keys").render(Colours::No);
        (last, text(&lines, Colours::No))
    };
    let mut snapshot = asking();
    for (change, words) in [
        (ChangeKind::Code, "v see the change"),
        (ChangeKind::NewTexts, "v see it  "),
        (ChangeKind::ChangedTexts, "v see it, and what changed"),
    ] {
        snapshot.view.asked[0].change = change;
        let (last, all) = shown_keys(&snapshot);
        assert!(last.contains(words) && last.contains("e revise"), "{last}");
        assert!(!all.contains("scroll"), "all is seen: {all}");
    }
    assert!(shown_keys(&asking_much()).1.contains("↑↓ scroll"));
    // An attempt without a result: there is nothing to see or to revise, but it can be watched.
    let asked = &mut snapshot.view.asked[0];
    asked.change = ChangeKind::Nothing;
    asked.options[0].answer = "retry".to_owned();
    asked.options.remove(1);
    let (last, all) = shown_keys(&snapshot);
    assert!(!last.contains(" v ") && !last.contains(" e "), "{last}");
    let all: Vec<&str> = all.split_whitespace().collect();
    let watch = "forge watch 20261115-add-rate-limits-to-the-public-api-k3f9 design";
    assert!(all.join(" ").contains(watch), "{all:?}");
    let mut dialog = QuestionDialog::new(&snapshot.view.asked[0]);
    assert_eq!(press(&mut dialog, &snapshot, &typed("ve")), DialogResult::Pending);
}

#[test]
fn what_was_answered_elsewhere_is_said_until_the_next_fact_and_for_a_few_seconds_at_most() {
    let snapshot = asking();
    let question = &snapshot.view.asked[0];
    let mut dialog = QuestionDialog::new(question);
    dialog.set_message(StatusMessage::briefly("Q0 was answered elsewhere", &snapshot));
    let says = |dialog: &QuestionDialog, snapshot: &RunSnapshot| {
        let (lines, _) =
            dialog.frame(snapshot, question, DrivenBy::ThisProcess, Path::new("/run"), SMALL);
        text(&lines, Colours::No).contains("Q0 was answered elsewhere")
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
fn words_are_taken_as_they_are_typed_and_pasted() {
    use forge_core::event::Answer;
    let snapshot = asking();
    let mut dialog = QuestionDialog::new(&snapshot.view.asked[0]);
    assert_eq!(
        press(&mut dialog, &snapshot, &typed("r\n")),
        DialogResult::Pending,
        "there are no words yet"
    );
    assert_eq!(
        press(&mut dialog, &snapshot, &typed("No: 工作 first.\nThen")),
        DialogResult::Pending
    );
    let (lines, cursor) = dialog.frame(
        &snapshot,
        &snapshot.view.asked[0],
        DrivenBy::ThisProcess,
        Path::new("/the/run"),
        SMALL,
    );
    insta::assert_snapshot!("asked-words-80x24", text(&lines, Colours::No));
    assert_eq!(cursor, Some((7, 12)));
    let pasted = KeyPress::Pasted(" this\n\nand that\u{7}".to_owned());
    assert_eq!(
        press(&mut dialog, &snapshot, &[pasted]),
        DialogResult::Pending,
        "an empty line ends nothing"
    );
    assert_eq!(
        press(&mut dialog, &snapshot, &typed("\n\n")),
        DialogResult::Answered {
            answer: Answer::Revise,
            words: "No: 工作 first.\nThen this\n\nand that".to_owned()
        }
    );
}

#[test]
fn what_is_waived_has_to_be_named() {
    use forge_core::event::Answer;
    let snapshot = asking();
    let mut dialog = QuestionDialog::new(&snapshot.view.asked[0]);
    assert_eq!(press(&mut dialog, &snapshot, &typed("wverify\n")), DialogResult::Pending);
    let (lines, _) = dialog.frame(
        &snapshot,
        &snapshot.view.asked[0],
        DrivenBy::ThisProcess,
        Path::new("/the/run"),
        SMALL,
    );
    let shown = text(&lines, Colours::No);
    assert!(shown.contains("`verify` is not the name of the gate: it is checkpoint-a"), "{shown}");
    let mut keys = typed("checkpoint-a\nbecause I say so");
    keys.push(KeyPress::Ctrl('d'));
    assert_eq!(
        press(&mut dialog, &snapshot, &keys),
        DialogResult::Answered {
            answer: Answer::Waive { gate: "checkpoint-a".to_owned() },
            words: "because I say so".to_owned()
        }
    );
}
