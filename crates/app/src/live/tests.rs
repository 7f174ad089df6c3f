//! Frames of runs in every state, and painting through a terminal in memory.
//!
//! The frames come from real views: a flow, the facts of a run, and the fold of `core` over them.

use std::{collections::BTreeMap, num::NonZeroU16};

use forge_api::{
    follow::{RunSnapshot, Working},
    watch::events::UnitEvent,
};
use forge_core::{
    Time,
    money::{Cost, Money, Spent, Tokens},
    view::{RunView, Standing, UnitState, UnitView},
};

use super::{
    agent_stream::{stream_frame, stream_lines},
    ansi::to_ansi,
    frame::{FrameOptions, UnitStream, final_lines, frame, key_help},
    header::{ScreenContext, WhenLeft, header},
    line::{SanitizedLine as _, ScreenLine, ScreenSize},
    painter::Painter,
    question::QuestionDialog,
    terminal::{ENTER, LEAVE},
    terminal_features::{Motion, ProgressBar, ScreenColours, TerminalFeatures},
    window_state::{ProgressState, WindowState, window_state},
};
use crate::{character_set::CharacterSet, text::state_words::DrivenBy};

const NOW: Time = 1_794_751_530_000;
pub(super) const SMALL: ScreenSize = ScreenSize { width: 80, height: 24 };
pub(super) const LARGE: ScreenSize = ScreenSize { width: 200, height: 50 };
/// The sizes in which every screen is kept as a snapshot.
const SIZES: [ScreenSize; 3] =
    [SMALL, ScreenSize { width: 140, height: 45 }, ScreenSize { width: 40, height: 15 }];

/// A terminal that can show everything.
pub(super) const FEATURES: TerminalFeatures = TerminalFeatures {
    colours: ScreenColours::Indexed,
    character_set: CharacterSet::Utf8,
    motion: Motion::Off,
    progress_bar: ProgressBar::Supported,
};
pub(super) const HERE: ScreenContext = ScreenContext {
    driven_by: DrivenBy::ThisProcess,
    motion: Motion::Off,
    when_left: WhenLeft::KeepsRunning,
};

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

pub(super) fn asking() -> RunSnapshot {
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
                { "answer": "approve", "does": "it is accepted, and `design` is done" },
                { "answer": "revise", "does": "design runs again, with your words in its brief" },
                { "answer": "waive checkpoint-a", "does": "`checkpoint-a` is overridden in your name, and `design` is done" },
                { "answer": "give-up", "does": "design fails, and the run with it" },
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

fn options(size: ScreenSize) -> FrameOptions<'static> {
    FrameOptions { size, context: HERE, chosen: None, message: None, stream: None }
}

pub(super) fn text(lines: &[ScreenLine]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n")
}

/// Keeps frames of all sizes as snapshots, in a folder for each screen.
pub(super) fn keep_all(screen: &str, name: &str, frame: impl Fn(ScreenSize) -> Vec<ScreenLine>) {
    for size in SIZES {
        let (ScreenSize { width, height }, lines) = (size, frame(size));
        assert!(lines.len() <= height, "{name}: {} lines", lines.len());
        assert!(lines.iter().all(|line| line.columns() <= width), "{name}");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(format!("snapshots/{screen}"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(&lines)));
    }
}

/// Returns what an agent does, as it is seen.
fn events() -> Vec<UnitEvent> {
    let at = Some(NOW - 30_000);
    let spent = Spent {
        cost: Cost::Known(Money(31_000)),
        tokens: Tokens { input: 9_000, output: 800, ..Tokens::default() },
        ..Spent::NOTHING
    };
    let said = |text: &str| UnitEvent::Said { at, text: text.to_owned() };
    let tool = |name: &str, about: &str| UnitEvent::UsedTool {
        at,
        name: name.to_owned(),
        about: about.to_owned(),
    };
    vec![
        UnitEvent::Call {
            at: NOW - 41_000,
            call: "build.T5/implement#2".to_owned(),
            agent: Some("claude".to_owned()),
            model: Some("opus".to_owned()),
            route: None,
            is_over: false,
        },
        said(
            "I look at the handlers first, because each of them has to ask the bucket before it \
              does anything else.",
        ),
        tool("Read", "src/limit.rs"),
        tool("Edit", "src/main.rs"),
        UnitEvent::Spent { at, spent },
        said("Now the tests."),
    ]
}

/// Keeps a tree in all sizes, with a stream where there is a pane.
fn keep_tree(screen: &str, name: &str, snapshot: &RunSnapshot) {
    let events = events();
    keep_all(screen, name, |size| {
        let working = snapshot.working.keys().next();
        let stream =
            working.map(|unit| UnitStream { unit, lines: stream_lines(events.iter(), size.width) });
        frame(snapshot, &FrameOptions { stream, ..options(size) }).lines
    });
}

/// Gives a run this standing, with nothing under way.
fn held(mut snapshot: RunSnapshot, standing: Standing, why: &str) -> RunSnapshot {
    snapshot.view.row.standing = standing;
    why.clone_into(&mut snapshot.view.row.why);
    snapshot.working.clear();
    snapshot.view.row.working = 0;
    snapshot
}

#[test]
fn a_run_looks_calm_in_every_state() {
    let mut start = snapshot(0);
    set(&mut start, "analyse", UnitState::Working);
    keep_tree("tree", "start", &start);
    keep_tree("tree", "building", &building(12));
    keep_tree("tree", "many", &building(300));
    let mut limited = held(building(12), Standing::Limited, "usage limit of claude");
    limited.view.row.until = Some(NOW + 3_600_000);
    for task in 5..=8 {
        set(&mut limited, &format!("build.T{task}/implement"), UnitState::Limited);
    }
    keep_tree("tree", "rate-limited", &limited);
    keep_tree("tree", "question-left-open", &asking());
    let paused = held(building(12), Standing::Paused, "ada paused the run");
    keep_tree("paused", "paused", &paused);
    let interrupted = held(building(12), Standing::Interrupted, "ada pressed Ctrl-C");
    keep_tree("paused", "interrupted", &interrupted);
    let why = "failed: build.T5/implement, no attempt is left: `make test` failed";
    let mut failed = held(building(12), Standing::Failed, why);
    for task in 6..=8 {
        set(&mut failed, &format!("build.T{task}/implement"), UnitState::Accepted);
    }
    set(&mut failed, "build.T5/implement", UnitState::Failed);
    keep_tree("failed", "failed", &failed);
    let mut done = held(building(8), Standing::Done, "");
    for unit in done.view.units.clone() {
        set(&mut done, &unit.unit, UnitState::Accepted);
    }
    let build = done.view.units.iter_mut().find(|unit| unit.unit == "build").expect("it is");
    build.items = Some((8, 8));
    keep_all("done", "scrollback", |size| final_lines(&done, HERE, size.width, size.height));
    let (building, events) = (building(12), events());
    keep_all("stream", "agent", |size| {
        let header = header(&building, HERE, size.width, 0);
        stream_frame(header, &building, "build.T5/implement", events.iter(), 0, size)
    });
}

#[test]
fn text_has_the_default_colours_and_only_symbols_are_coloured() {
    let mut snapshot = building(12);
    set(&mut snapshot, "build.T9/implement", UnitState::Asking);
    set(&mut snapshot, "build.T10/implement", UnitState::Failed);
    let lines = frame(&snapshot, &options(LARGE)).lines;
    let spans = lines.iter().flat_map(|line| &line.spans);
    let coloured = spans.filter(|span| span.style.fg.is_some());
    let coloured: Vec<&str> = coloured.map(|span| &*span.content).collect();
    let symbols = ["✓", "●", "?", "✗"];
    assert!(coloured.iter().all(|text| symbols.contains(text)), "{coloured:?}");
    assert!(symbols.iter().all(|symbol| coloured.contains(symbol)), "{coloured:?}");
    let bytes = Painter::new(FEATURES).paint(&lines, None, LARGE, &WindowState::default());
    let shown = String::from_utf8(bytes).expect("it is text");
    // Only bold, the fixed colours, and their ends.
    for code in shown.split("\x1b[").filter_map(|rest| rest.split_once('m')) {
        let is_text = code.0.contains(|c: char| !c.is_ascii_digit() && c != ';');
        let known = ["", "0", "1", "22", "39", "49", "59", "39;49"];
        let is_hue = code.0.starts_with("38;5;");
        assert!(is_text || is_hue || known.contains(&code.0), "{:?}", code.0);
    }
    let plain = TerminalFeatures { colours: ScreenColours::None, ..FEATURES };
    let line = |line: &ScreenLine| to_ansi(line, plain);
    assert!(!lines.iter().map(line).collect::<String>().contains('\x1b'));
}

#[test]
fn columns_never_touch_and_give_way_by_importance() {
    let mut snapshot = building(12);
    for unit in &mut snapshot.view.units {
        (unit.unknown_costs, unit.spent, unit.tokens) = (1, Money(99_990_000), 123_456_789);
        snapshot.took.insert(unit.unit.clone(), 359_999_000);
    }
    for (width, headings) in [
        (140, "STAGE STATE TIME USUAL TOKENS COST"),
        (80, "STAGE STATE TIME USUAL TOKENS COST"),
        (70, "STAGE STATE TIME USUAL COST"),
        (60, "STAGE STATE TIME COST"),
        (40, "STAGE STATE COST"),
    ] {
        let lines = frame(&snapshot, &options(ScreenSize { width, height: 40 })).lines;
        let shown = text(&lines);
        let heading = shown.lines().find(|line| line.contains("STAGE")).expect("it has headings");
        let words: Vec<&str> = heading.split_whitespace().collect();
        assert_eq!(words.join(" "), headings, "{width}");
        let row = shown.lines().find(|line| line.contains("T8 ")).expect("it is there");
        assert!(row.contains("in review"), "{width}: {row}");
        assert_eq!(row.contains("  $99.99+?"), headings.contains("COST"), "{width}: {row}");
    }
}

#[test]
fn the_usual_time_has_a_column_only_if_a_row_has_one() {
    let mut first = building(12);
    first.usual.clear();
    for (snapshot, has_column) in [(&building(12), true), (&first, false)] {
        let shown = text(&frame(snapshot, &options(SMALL)).lines);
        assert_eq!(shown.contains("USUAL"), has_column, "{shown}");
        has_all(&shown, &["TIME", "TOKENS", "COST"]);
    }
}

#[test]
fn what_a_failed_run_will_not_start_is_not_called_pending() {
    let mut snapshot = building(300);
    for (standing, word, other) in [
        (Standing::Failed, "not started", "pending"),
        (Standing::Abandoned, "not started", "pending"),
        (Standing::Paused, "pending", "not started"),
        (Standing::Going, "pending", "not started"),
    ] {
        snapshot.view.row.standing = standing;
        let shown = text(&frame(&snapshot, &options(SMALL)).lines);
        let counted = format!("· 292 {word}");
        has_all(&shown, &[&counted, word]);
        assert!(!shown.contains(other), "{shown}");
    }
}

#[test]
fn the_second_line_moves_with_time_money_and_what_is_left() {
    let mut snapshot = building(12);
    let second = |snapshot: &RunSnapshot, motion: Motion| {
        let context = ScreenContext { motion, ..HERE };
        let lines = frame(snapshot, &FrameOptions { context, ..options(SMALL) }).lines;
        lines[1].to_string()
    };
    let before = second(&snapshot, Motion::On);
    assert!(before.starts_with(" ⠋ "), "{before}");
    assert!(!before.contains("left"), "not all usual times are known: {before}");
    has_all(&before, &["$1.24 of $5 ", "4/10 stages", "3 agents"]);
    assert!(!second(&snapshot, Motion::Off).contains('⠋'));
    snapshot.now += 100;
    assert!(second(&snapshot, Motion::On).starts_with(" ⠙ "));
    for stage in ["review", "verify", "deliver", "summary", "record"] {
        snapshot.usual.insert(stage.to_owned(), 10_000);
    }
    // 900 s for the tasks, of which 41 s are over, and five times 10 s.
    let left = format!("~{} left", crate::format::duration(909_000));
    has_all(&second(&snapshot, Motion::On), &[&left]);
    let call = &mut snapshot.working.get_mut("build.T5/implement").expect("it works")[0];
    call.spent.cost = Cost::Known(Money(100_000));
    has_all(&second(&snapshot, Motion::On), &["$1.34 of $5"]);
    let row = text(&frame(&snapshot, &options(SMALL)).lines);
    let row = row.lines().find(|line| line.contains("T5 ")).expect("it is there");
    has_all(row, &["$0.10", "running, attempt 2"]);
}

fn has_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
}

#[test]
fn a_high_screen_shows_what_the_latest_agent_does_below_the_tree() {
    let (snapshot, events) = (building(12), events());
    let lines = stream_lines(events.iter(), 80);
    let stream = || Some(UnitStream { unit: "build.T5/implement", lines: lines.clone() });
    let high = ScreenSize { width: 80, height: 45 };
    let shown = text(&frame(&snapshot, &FrameOptions { stream: stream(), ..options(high) }).lines);
    has_all(&shown, &["─ T5 ──", "tool   Edit  src/main.rs", "says   Now the tests."]);
    let low = text(&frame(&snapshot, &FrameOptions { stream: stream(), ..options(SMALL) }).lines);
    assert!(!low.contains("Now the tests."), "{low}");
}

#[test]
fn the_window_has_a_title_and_the_terminal_a_progress_bar_and_both_go_with_the_screen() {
    let snapshot = building(12);
    let window = window_state(&snapshot, HERE.driven_by);
    assert_eq!(window.title, "forge k3f9: running, 4/10 stages");
    assert_eq!(window.progress, ProgressState::Running(40));
    let mut painter = Painter::new(FEATURES);
    let lines = frame(&snapshot, &options(SMALL)).lines;
    let bytes = painter.paint(&lines, None, SMALL, &window);
    let bytes = String::from_utf8(bytes).expect("it is text");
    has_all(&bytes, &["\x1b]2;forge k3f9: running, 4/10 stages\x1b\\", "\x1b]9;4;1;40\x1b\\"]);
    assert!(painter.paint(&lines, None, SMALL, &window).is_empty(), "said once");
    assert_eq!(window_state(&asking(), HERE.driven_by).progress, ProgressState::Waiting(20));
    let plain = TerminalFeatures { progress_bar: ProgressBar::Unsupported, ..FEATURES };
    let bytes = Painter::new(plain).paint(&lines, None, SMALL, &window);
    assert!(!String::from_utf8_lossy(&bytes).contains("]9;4"));
    assert!(LEAVE.contains("\x1b]2;\x1b\\\x1b[23;0t") && ENTER.contains("\x1b[22;0t"));
}

#[test]
fn a_terminal_without_utf8_gets_ascii_of_the_same_width() {
    let features = TerminalFeatures { character_set: CharacterSet::Ascii, ..FEATURES };
    let mut screen = terminal(SMALL);
    let lines = frame(&building(12), &options(SMALL)).lines;
    screen.process(&Painter::new(features).paint(&lines, None, SMALL, &WindowState::default()));
    let shown = contents(&screen, SMALL);
    assert!(shown.iter().all(|row| row.is_ascii()), "{shown:#?}");
    has_all(&shown.join("\n"), &["* running", "+ 4 done", "` Edit"]);
}

#[test]
fn no_frame_is_larger_than_its_screen_however_small_that_is() {
    for snapshot in [snapshot(0), building(300), asking()] {
        for width in [1, 2, 10, 20, 79, 120, 500] {
            for height in 0..30 {
                let size = ScreenSize { width, height };
                let frame = frame(&snapshot, &options(size));
                assert!(frame.lines.len() <= height, "{width}×{height}: {}", frame.lines.len());
                assert!(frame.lines.iter().all(|line| line.columns() <= width), "{width}×{height}");
                if let Some(question) = snapshot.view.asked.first() {
                    let dialog = QuestionDialog::default();
                    let (lines, _) = dialog.frame(&snapshot, question, HERE, size);
                    assert!(lines.len() <= height, "{width}×{height}: {}", lines.len());
                    assert!(lines.iter().all(|line| line.columns() <= width), "{width}×{height}");
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
    let shown = text(&frame.lines);
    for name in ["T5 ", "T6 ", "T7 ", "T8 ", "T200 ", "needs you", "└ Edit", "pending", "4 done"]
    {
        assert!(shown.contains(name), "{name} is missing:\n{shown}");
    }
    for task in 9..=60 {
        set(&mut snapshot, &format!("build.T{task}/implement"), UnitState::Working);
    }
    let frame = super::frame::frame(&snapshot, &options(SMALL));
    let shown = text(&frame.lines);
    assert!(shown.contains("T200 ") && shown.contains(" more: "), "{shown}");
    assert!(frame.units.contains(&"build.T200/implement".to_owned()));
}

#[test]
fn tasks_that_are_done_between_others_are_one_count_before_anything_said_is_left_out() {
    let mut snapshot = building(12);
    for task in 1..=12 {
        let name = format!("build.T{task}/implement");
        snapshot.working.remove(&name);
        let is_odd = task % 2 == 1;
        set(&mut snapshot, &name, if is_odd { UnitState::Accepted } else { UnitState::Working });
    }
    let shown = text(&frame(&snapshot, &options(ScreenSize { width: 80, height: 29 })).lines);
    assert!(shown.contains("✓ 6 done"), "{shown}");
    assert_eq!(shown.matches("└ Edit").count(), 6, "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[27].is_empty() && lines[26].contains("record"), "all room is used:\n{shown}");
}

#[test]
fn a_large_screen_keeps_what_was_done_last_beside_the_count() {
    let mut snapshot = snapshot(100);
    for task in 1..=80 {
        set(&mut snapshot, &format!("build.T{task}/implement"), UnitState::Accepted);
    }
    set(&mut snapshot, "build.T81/implement", UnitState::Working);
    let shown = text(&frame(&snapshot, &options(LARGE)).lines);
    assert!(shown.contains("T80 ") && !shown.contains("T1 ") && shown.contains(" done"), "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[48].is_empty() && !lines[47].is_empty(), "all room is used:\n{shown}");
}

#[test]
fn who_leaves_the_demo_ends_it_and_the_screen_says_so() {
    let context = ScreenContext { when_left: WhenLeft::Ends, ..HERE };
    let shown = text(&frame(&building(12), &FrameOptions { context, ..options(SMALL) }).lines);
    has_all(&shown, &["q end the demo"]);
    assert!(key_help(context).contains("q end the demo"));
    assert!(!shown.contains("keeps running"), "{shown}");
}

#[test]
fn a_run_without_a_driver_says_so_and_how_to_resume_it() {
    let mut snapshot = building(12);
    let context = ScreenContext { driven_by: DrivenBy::Nothing, ..HERE };
    let alone = |snapshot: &RunSnapshot| {
        text(&frame(snapshot, &FrameOptions { context, ..options(SMALL) }).lines)
    };
    for standing in [Standing::Going, Standing::Limited] {
        snapshot.view.row.standing = standing;
        snapshot.view.row.until = (standing == Standing::Limited).then_some(NOW + 3_600_000);
        let shown = alone(&snapshot);
        assert!(shown.lines().next().is_some_and(|line| line.ends_with("not running")), "{shown}");
        has_all(&shown, &["Not running. Press r to resume.", "r resume", "q leave"]);
        for text in ["keeps running", "pause", "● T5", "in review", " left"] {
            assert!(!shown.contains(text), "{text}: {shown}");
        }
        // Its time stands still: nobody works.
        let (row, later) = (&snapshot.view.row, snapshot.now + 3_600_000);
        let took = crate::format::duration(row.changed_at - row.started_at);
        let shown = alone(&RunSnapshot { now: later, ..snapshot.clone() });
        has_all(&shown, &[took.as_str()]);
    }
    snapshot.view.row.standing = Standing::Paused;
    has_all(&alone(&snapshot), &["■ paused", "p continue"]);
    snapshot.view.row.standing = Standing::Going;
    let printed = text(&final_lines(&snapshot, context, 80, 60));
    assert!(printed.contains("not running") && !printed.contains(" running,"), "{printed}");
}

#[test]
fn a_run_that_stands_still_shows_no_stage_as_running() {
    for (standing, word) in [
        (Standing::Interrupted, "interrupted"),
        (Standing::Stopped, "stopped"),
        (Standing::Parked, "out of budget"),
        (Standing::Paused, "paused"),
    ] {
        let shown = text(&final_lines(&held(building(12), standing, ""), HERE, 80, 60));
        assert!(!shown.contains('●') && !shown.contains("in review"), "{shown}");
        let row = shown.lines().find(|line| line.contains("T8 ")).expect("it is there");
        assert!(row.contains('■') && row.contains(word), "{row}");
    }
}

#[test]
fn what_nobody_will_do_any_more_is_shown_as_the_run_is() {
    for (standing, state, expected) in [
        (Standing::Abandoned, UnitState::Asking, "■ implement       abandoned"),
        (Standing::Paused, UnitState::Asking, "? implement       needs you"),
        // Its call was interrupted, and it has to begin again.
        (Standing::Interrupted, UnitState::Waiting, "■ implement       interrupted"),
        (Standing::Failed, UnitState::Waiting, "· implement       not finished"),
    ] {
        let mut snapshot = held(snapshot(0), standing, "");
        snapshot.view.units = vec![unit("implement", 0)];
        (snapshot.view.units[0].state, snapshot.view.units[0].attempt) = (state, 1);
        has_all(&text(&final_lines(&snapshot, HERE, 80, 60)), &[expected]);
    }
}

#[test]
fn a_run_whose_agents_still_work_after_a_pause_is_pausing_and_its_time_goes_on() {
    let mut snapshot = building(12);
    snapshot.view.row.standing = Standing::Paused;
    let first = |snapshot: &RunSnapshot, driven_by: DrivenBy| {
        let context = ScreenContext { driven_by, ..HERE };
        let lines = frame(snapshot, &FrameOptions { context, ..options(SMALL) }).lines;
        (lines[0].to_string(), lines[1].to_string())
    };
    let (state, time) = first(&snapshot, DrivenBy::ThisProcess);
    assert!(state.ends_with("■ pausing"), "{state}");
    snapshot.now += 60_000;
    assert_ne!(first(&snapshot, DrivenBy::ThisProcess).1, time);
    assert!(first(&snapshot, DrivenBy::Nothing).0.ends_with("■ paused"));
    set(&mut snapshot, "build.T6/implement", UnitState::Limited);
    let alone = ScreenContext { driven_by: DrivenBy::Nothing, ..HERE };
    let shown = text(&final_lines(&snapshot, alone, 80, 60));
    assert!(!["└", "●", "◌", "agent"].iter().any(|text| shown.contains(text)), "{shown}");
    let paused = held(snapshot, Standing::Paused, "");
    assert!(first(&paused, DrivenBy::ThisProcess).0.ends_with("■ paused"));
}

#[test]
fn a_run_whose_agents_still_work_after_a_stop_is_stopping_and_can_be_killed() {
    let mut snapshot = building(12);
    snapshot.view.row.standing = Standing::Interrupted;
    let shown = text(&frame(&snapshot, &options(SMALL)).lines);
    has_all(&shown, &["■ stopping", "Ctrl-C kill now"]);
    assert!(!shown.contains("■ interrupted") && !shown.contains("q leave"), "{shown}");
    let ended = text(&frame(&held(snapshot, Standing::Interrupted, ""), &options(SMALL)).lines);
    assert!(ended.contains("■ interrupted") && !ended.contains("kill now"), "{ended}");
}

#[test]
fn a_stage_whose_tasks_need_the_person_says_so_and_one_that_does_not_apply_is_left_out() {
    let mut snapshot = building(12);
    set(&mut snapshot, "build.T9/implement", UnitState::Asking);
    let last = snapshot.view.units.last_mut().expect("there are stages");
    last.state = UnitState::Skipped;
    let skipped = last.unit.clone();
    let shown = text(&final_lines(&snapshot, HERE, 80, 60));
    has_all(&shown, &["? build", "needs you, 1 of 12"]);
    assert!(!shown.contains(&skipped), "{shown}");
}

#[test]
fn the_times_of_stages_stand_still_without_a_driver_as_that_of_the_run_does() {
    let snapshot = building(12);
    let context = ScreenContext { driven_by: DrivenBy::Nothing, ..HERE };
    let later = RunSnapshot {
        now: snapshot.now + 60_000,
        took: snapshot.took.iter().map(|(unit, ms)| (unit.clone(), ms + 60_000)).collect(),
        ..snapshot.clone()
    };
    let at_work = |name: &str| snapshot.working.contains_key(name);
    let rows = |snapshot: &RunSnapshot| {
        let shown = text(&final_lines(snapshot, context, 80, 60));
        let rows = shown.lines().filter(|line| line.contains("T5 ")).map(str::to_owned);
        rows.collect::<Vec<String>>()
    };
    assert!(at_work("build.T5/implement"), "{:?}", snapshot.working.keys());
    assert_eq!(rows(&later), rows(&snapshot));
}

#[test]
fn the_time_of_a_run_that_waits_for_a_person_stands_still() {
    let mut snapshot = asking();
    snapshot.view.row.standing = Standing::Waiting;
    let second = |snapshot: &RunSnapshot| frame(snapshot, &options(SMALL)).lines[1].to_string();
    let before = second(&snapshot);
    snapshot.now += 3_600_000;
    assert_eq!(second(&snapshot), before);
}

#[test]
fn what_stays_in_the_scrollback_is_the_whole_tree_without_keys() {
    let lines = final_lines(&building(12), HERE, 80, 60);
    let shown = text(&lines);
    assert!(shown.contains("T12 ") && !shown.contains("q leave"), "{shown}");
    assert!(final_lines(&building(300), HERE, 80, 60).len() <= 60);
}

/// Returns the rows of a terminal in memory.
pub(super) fn contents(terminal: &vt100::Parser, size: ScreenSize) -> Vec<String> {
    let width = u16::try_from(size.width).expect("a screen is small");
    let rows = terminal.screen().rows(0, width);
    rows.map(|row| row.trim_end().to_owned()).collect()
}

pub(super) fn expected(lines: &[ScreenLine], size: ScreenSize) -> Vec<String> {
    let mut rows: Vec<String> = lines.iter().map(ToString::to_string).collect();
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
    let (mut size, mut painter) = (SMALL, Painter::new(FEATURES));
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
        let bytes = painter.paint(&frame.lines, None, size, &WindowState::default());
        assert!(bytes.is_empty() || bytes.starts_with(b"\x1b[?2026h"), "in one piece");
        assert!(!String::from_utf8_lossy(&bytes).contains("\x1b[2J"), "nothing is cleared");
        written += bytes.len();
        screen.process(&bytes);
        assert_eq!(contents(&screen, size), expected(&frame.lines, size), "frame {step}");
        for name in &frame.units {
            let unit = snapshot.view.units.iter().find(|unit| unit.unit == *name);
            assert!(unit.is_some(), "{name} is a unit of `status`");
        }
    }
    let again = frame(&snapshot, &options(size)).lines;
    assert!(painter.paint(&again, None, size, &WindowState::default()).is_empty());
    assert!(written < 500 * 4_000, "only what changed is written: {written} bytes");
    screen.process(LEAVE.as_bytes());
    assert!(contents(&screen, size)[0].contains("what a shell left here"), "it is as before");
}

#[test]
fn all_keys_are_named_on_request_also_on_a_small_screen() {
    let snapshot = building(12);
    for (driven_by, key) in [
        (DrivenBy::ThisProcess, "Ctrl-C stop the run"),
        (DrivenBy::AnotherProcess, "Ctrl-C leave"),
        (DrivenBy::Nothing, "Ctrl-C leave"),
    ] {
        let help = key_help(ScreenContext { driven_by, ..HERE });
        let asks = FrameOptions { message: Some(&help), ..options(SMALL) };
        let shown = text(&frame(&snapshot, &asks).lines);
        has_all(&shown, &help.lines().chain([key]).collect::<Vec<&str>>());
    }
    let large = text(&frame(&snapshot, &options(LARGE)).lines);
    assert!(large.contains("? keys"), "{large}");
}

#[test]
fn states_on_the_screen_are_those_of_status() {
    let snapshot = building(12);
    let shown = text(&frame(&snapshot, &options(LARGE)).lines);
    for unit in &snapshot.view.units {
        let name = unit.unit.rsplit('.').next().expect("it has a name");
        let name = name.split('/').next().expect("it has an item");
        let line = shown.lines().find(|line| line.split_whitespace().nth(1) == Some(name));
        let line = line.unwrap_or_else(|| panic!("{name} is not there:\n{shown}"));
        let word = match unit.state {
            UnitState::Accepted => "done",
            UnitState::Working if unit.items.is_some() => "4 of 12 tasks",
            UnitState::Working => "running, attempt 2",
            UnitState::Judging => "in review",
            UnitState::Waiting => "pending",
            UnitState::Limited
            | UnitState::Asking
            | UnitState::Skipped
            | UnitState::Failed
            | UnitState::Blocked => panic!("{:?} is not in this picture", unit.state),
        };
        assert!(line.contains(word), "{line}");
    }
}
