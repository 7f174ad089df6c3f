//! A real journal that grows by 200 facts a second, followed and painted into a terminal in memory: after each frame
//! the terminal shows the frame, and every unit on it stands where `status` says at the same record.
//!
//! - `tests/screens/journal_feed.rs`: who appends the facts.
//! - `tests/screens/reading.rs`: how a screen is read.
//!
//! What is on the screen is read from the terminal's own cells, and what it should be from the JSON of `status`; nothing
//! of `unit_rows.rs` is asked.

#[path = "../../tests/screens/journal_feed.rs"]
mod feed;
#[path = "../../tests/screens/reading.rs"]
mod reading;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use forge_api::{
    follow::{Follower, RunSnapshot},
    forge::Forge,
};
use forge_core::view::RunView;

use self::{
    feed::{Feeder, Made, PACE, Spoken, repository},
    reading::{Shown, states},
};
use super::{
    frame::{FrameOptions, ScreenFrame, frame},
    header::{ScreenContext, WhenLeft},
    line::ScreenSize,
    painter::Painter,
    terminal_features::Motion,
    tests::{FEATURES, LARGE, SMALL, cells, contents, expected, terminal},
    window_state::WindowState,
};
use crate::{format::duration, text::state_words::DrivenBy};

const ITEMS: usize = 300;
/// The screen looks ten times a second, and then sees so many facts at once.
const FACTS_PER_LOOK: usize = 20;
/// Once in so many looks the journal is read from its beginning, as `status` does.
const LOOKS_PER_STATUS: usize = 24;
/// Of so many looks, the last two are at other sizes.
const LOOKS_PER_RESIZE: usize = 16;

/// A person who looks at a run, and who compares all that is seen.
struct Watcher<'a> {
    forge: &'a Forge,
    follower: Follower<'a>,
    painter: Painter,
    screen: vt100::Parser,
    size: ScreenSize,
    /// What the last frame showed, as long as the size stays.
    before: Option<Vec<String>>,
    /// The states in which each item was compared.
    seen: BTreeMap<String, BTreeSet<String>>,
    n_looks: usize,
    worst: Duration,
    n_bytes: usize,
}

impl<'a> Watcher<'a> {
    fn at(forge: &'a Forge, id: &str, size: ScreenSize) -> Self {
        Self {
            forge,
            follower: forge.follow(id).expect("the run is there"),
            painter: Painter::new(FEATURES),
            screen: terminal(size),
            size,
            before: None,
            seen: BTreeMap::new(),
            n_looks: 0,
            worst: Duration::ZERO,
            n_bytes: 0,
        }
    }

    fn resize(&mut self, size: ScreenSize) {
        (self.size, self.before) = (size, None);
        self.screen.screen_mut().set_size(cells(size.height), cells(size.width));
    }

    /// Returns one look, one frame. Gives the record that it shows.
    fn look(&mut self) -> RunSnapshot {
        self.n_looks += 1;
        let began = Instant::now();
        let snapshot = self.follower.look().expect("the journal can be read");
        let context = ScreenContext {
            driven_by: DrivenBy::AnotherProcess,
            motion: Motion::Off,
            when_left: WhenLeft::KeepsRunning,
        };
        let look =
            FrameOptions { size: self.size, context, chosen: None, message: None, stream: None };
        let ScreenFrame { lines, .. } = frame(&snapshot, &look);
        let bytes = self.painter.paint(&lines, None, self.size, &WindowState::default());
        self.worst = self.worst.max(began.elapsed());
        self.n_bytes += bytes.len();
        assert!(bytes.is_empty() || bytes.starts_with(b"\x1b[?2026h"), "in one piece");
        assert!(!String::from_utf8_lossy(&bytes).contains("\x1b[2J"), "nothing is cleared");
        self.screen.process(&bytes);
        let (now, should) = (contents(&self.screen, self.size), expected(&lines, self.size));
        assert_eq!(now, should, "torn at record {}", snapshot.seq);
        self.is_spare(&should, bytes.len());
        snapshot
    }

    /// Only what changed is written; nothing at all, if nothing did.
    fn is_spare(&mut self, now: &[String], n_bytes: usize) {
        if let Some(before) = self.before.replace(now.to_vec()) {
            let changed = before.iter().zip(now).filter(|(old, new)| old != new);
            // A cell has at most a letter of four bytes, a position and a style.
            let most = changed.clone().count() * self.size.width * 24 + 200;
            assert!(n_bytes <= most, "{n_bytes} bytes for {} rows", changed.count());
            // A symbol can change its colour alone.
            assert!(before != now || n_bytes < 2_000, "{n_bytes} bytes for nothing");
        }
    }

    /// Compares everything on the screen with what `status` says of the same record.
    fn compare(&mut self, seq: u64, view: &RunView) {
        if self.n_looks.is_multiple_of(LOOKS_PER_STATUS) {
            let status = self.forge.view(self.follower.id()).expect("status can be told");
            let mut view = view.clone();
            self.forge.add_location(&mut view);
            assert_eq!(status, view, "status at record {seq}");
        }
        self.compare_view(seq, view);
    }

    /// The same, where the journal has gone on already.
    fn compare_view(&mut self, seq: u64, view: &RunView) {
        let status = serde_json::to_value(view).expect("a view can be written");
        let shown = Shown {
            rows: contents(&self.screen, self.size),
            cells: states(self.screen.screen(), cells(self.size.width).get()),
        };
        for (item, state) in shown.compare(&status, seq) {
            self.seen.entry(item).or_default().insert(state);
        }
    }
}

/// Figures, for who asks for them with `--nocapture`.
fn tell(what: &str, watcher: &Watcher<'_>, spoken: &Spoken) {
    let facts = u128::try_from(spoken.n_facts).expect("a number of facts");
    let per_second = |time: Duration| facts * 1_000 / time.as_millis().max(1);
    eprintln!(
        "{what}: {facts} facts, {} a second by the journal, {} a second appended; {} frames, \
         the worst in {:.1?}, {} bytes each",
        per_second(spoken.journal),
        per_second(spoken.appending),
        watcher.n_looks,
        watcher.worst,
        watcher.n_bytes / watcher.n_looks.max(1),
    );
}

/// A whole run, twenty facts between two frames, compared after each frame.
fn watched(size: ScreenSize, others: [ScreenSize; 2]) {
    let (_folder, forge) = repository();
    let made =
        Made { id: "20261115-three-hundred-parts-aaaa", n_items: ITEMS, began: 60_000, pace: PACE };
    let (feeder, mut fed) = Feeder::start(&forge, made);
    let mut watcher = Watcher::at(&forge, made.id, size);
    loop {
        match watcher.n_looks % LOOKS_PER_RESIZE {
            14 => watcher.resize(others[0]),
            15 => watcher.resize(others[1]),
            0 => watcher.resize(size),
            _ => {}
        }
        let snapshot = watcher.look();
        assert_eq!(snapshot.seq, fed.seq, "the screen is where the journal is");
        watcher.compare(fed.seq, &fed.view);
        let next = feeder.feed(FACTS_PER_LOOK);
        if next.seq == fed.seq {
            break;
        }
        fed = next;
    }
    let spoken = feeder.end();
    tell(&format!("{}×{}", size.width, size.height), &watcher, &spoken);
    assert_eq!(watcher.seen.len(), ITEMS, "every item was on the screen");
    for (item, states) in &watcher.seen {
        assert!(states.len() >= 3, "{item} was seen only as {states:?}");
    }
}

/// Reader and writer are not synchronized: whatever record a look finds, the screen shows what `status` said then.
#[test]
fn a_screen_that_looks_while_facts_are_appended_shows_one_record_and_nothing_in_between() {
    let (_folder, forge) = repository();
    let made = Made { id: "20261115-a-few-parts-bbbb", n_items: 60, began: 60_000, pace: PACE };
    let (views, first, thread) = feed::freely(&forge, made);
    let mut views_by_seq = BTreeMap::from([(first.seq, first.view)]);
    let mut watcher = Watcher::at(&forge, made.id, SMALL);
    let mut seqs = BTreeSet::new();
    loop {
        let is_over = thread.is_finished();
        let seq = watcher.look().seq;
        while !views_by_seq.contains_key(&seq) {
            let fed = views.recv().expect("what was appended is told");
            views_by_seq.insert(fed.seq, fed.view);
        }
        watcher.compare_view(seq, &views_by_seq[&seq]);
        seqs.insert(seq);
        if is_over {
            break;
        }
    }
    let spoken = thread.join().expect("the feeder does not fail");
    assert_eq!(seqs.last(), Some(&spoken.seq), "the last look shows the last record");
    assert!(seqs.len() > 3, "it was looked while facts came");
    tell("freely", &watcher, &spoken);
}

/// Returns the usual time of each stage, as a person reads it.
fn usual_times(watcher: &Watcher<'_>) -> BTreeMap<String, String> {
    let rows = contents(&watcher.screen, watcher.size);
    let cells = watcher.screen.screen().rows(55, 7);
    let mut times = BTreeMap::new();
    for (row, cell) in rows.iter().zip(cells) {
        let words: Vec<&str> = row.split_whitespace().collect();
        if let [mark, name, ..] = words[..]
            && reading::is_mark(mark)
        {
            times.insert(name.to_owned(), cell.trim().to_owned());
        }
    }
    times
}

#[test]
fn the_tree_shows_how_long_each_stage_took_in_past_runs() {
    let (_folder, forge) = repository();
    // A fact takes 0.2 s, 1 s and 30 s: what is usual is the one in the middle.
    let past = [
        ("20261101-past-aaaa", 200),
        ("20261102-past-bbbb", 1_000),
        ("20261103-past-cccc", 30_000),
    ];
    let made = |id, pace| Made { id, n_items: 1, began: 90_000_000, pace };
    let mut samples: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (id, pace) in past {
        feed::whole(&forge, made(id, pace));
        let records = forge.records(id, 1).expect("it can be read");
        for (stage, unit) in [("plan", "plan"), ("T1", "build.T1/implement"), ("end", "end")] {
            samples.entry(stage).or_default().push(feed::worked_on(&records, unit));
        }
    }
    let mut now = feed::Journal::begin(&forge.home.dir, made("20261115-now-dddd", PACE));
    now.feed(6);
    let mut watcher = Watcher::at(&forge, "20261115-now-dddd", SMALL);
    // With each look one past run is read.
    for _ in past {
        watcher.look();
    }
    let shown = usual_times(&watcher);
    for (stage, mut took) in samples {
        took.sort_unstable();
        assert!(took[1] >= 1_000 && took[0] < took[1] && took[1] < took[2], "{stage}: {took:?}");
        assert_eq!(shown[stage], format!("~{}", duration(took[1])), "{stage}: {shown:?}");
    }
}

#[test]
fn a_small_screen_shows_what_status_says_while_three_hundred_items_change() {
    watched(SMALL, [LARGE, ScreenSize { width: 60, height: 12 }]);
}

#[test]
fn a_large_screen_shows_what_status_says_while_three_hundred_items_change() {
    watched(LARGE, [SMALL, ScreenSize { width: 119, height: 30 }]);
}
