//! `forge attach` in real terminals over a run with many items that is really driven: no frame is torn, no item ever
//! goes back, and when the run stands still the screens say what `status` says.
//!
//! Read `reading.rs` (how a screen is read), then the test below.
//!
//! ```text
//! FORGE_SCREENS_ITEMS=300 cargo test -p forge --test commands screens::    the full size
//! ```

use crate::world;

mod reading;

use std::{collections::BTreeMap, num::NonZeroU16, time::Instant};

use self::{
    reading::{Shown, is_item, is_mark, states},
    world::{
        DONE, World, has,
        pty::{FRAME_END, Person},
        until_or,
    },
};

/// What a program writes that leaves its own screen.
const SCREEN_LEFT: &str = "\x1b[?1049l";

/// A plan, its items (two of them are sent back once), and an end that waits until it may come.
fn world(n_items: usize) -> World {
    let world = World::new();
    world.flow(
        "many",
        &format!(
            "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\n\
             [[stage]]\nname = \"build\"\neach = \"tasks\"\nat_once = 6\nitems_max = {n_items}\n\
             [[stage.stage]]\nname = \"implement\"\ncommand = \"echo at work\"\n\
             gates = [{{ name = \"check\", command = 'case $FORGE_CALL in *T5/*#1/*|*T15/*#1/*) exit 1;; esac' }}]\n\
             [[stage]]\nname = \"end\"\n\
             command = \"while [ ! -e $HOME/go ]; do sleep 0.02; done\"\n"
        ),
    );
    world.roles(&["planner"]);
    let item = |n: usize| {
        format!("{{ id = \"T{n}\", title = \"the part 部分 number {n}\", writes = [\"p{n}\"] }}")
    };
    let items: Vec<String> = (1..=n_items).map(item).collect();
    world.scenario(&format!(
        "[[play]]\nrole = \"planner\"\nresult = {{ summary = \"split\", lists = {{ tasks = [{}] }} }}\n",
        items.join(", ")
    ));
    world
}

fn n_items() -> usize {
    std::env::var("FORGE_SCREENS_ITEMS").map_or(36, |n| n.parse().unwrap())
}

fn cells(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

fn shown(screen: &vt100::Screen, width: u16) -> Shown {
    let rows = screen.rows(0, width).map(|row| row.trim_end().to_owned()).collect();
    Shown { rows, cells: states(screen, width) }
}

/// How far an item has come. Nothing that is no state of such an item has a place here.
fn rank(mark: &str, state: &str) -> usize {
    let all = [
        ("·", "pending"),
        ("●", "running"),
        ("●", "in check"),
        ("●", "running, attempt 2"),
        ("●", "in check, attempt 2"),
    ];
    let found = all.iter().position(|known| *known == (mark, state));
    let is_good = mark == "✓" && (state == "done" || state == "done, attempt 2");
    let torn = || panic!("`{mark}` with `{state}` is no state: a torn line");
    found.unwrap_or_else(|| if is_good { all.len() } else { torn() })
}

/// Replays all whole frames of a terminal of 80×24. Gives how many there were.
fn replay(bytes: &str) -> usize {
    let mut screen = vt100::Parser::new(cells(24), cells(80), 0);
    let mut ranks: BTreeMap<String, usize> = BTreeMap::new();
    let mut n_frames = 0;
    for piece in bytes.split_inclusive(FRAME_END) {
        screen.process(piece.as_bytes());
        if !piece.ends_with(FRAME_END) {
            continue;
        }
        n_frames += 1;
        for (mark, item, state) in items(&shown(screen.screen(), 80)) {
            let rank = rank(&mark, &state);
            let before = ranks.insert(item.clone(), rank).unwrap_or_default();
            assert!(before <= rank, "{item} went back to `{state}` in frame {n_frames}");
        }
    }
    n_frames
}

/// How many items are done.
fn n_closed(world: &World, run: &str) -> usize {
    let view = world.view(run);
    assert_eq!(view["standing"], "going", "{view}");
    let units = view["units"].as_array().unwrap();
    let build = units.iter().find(|unit| unit["unit"] == "build").unwrap();
    usize::try_from(build["items"][0].as_u64().unwrap_or_default()).unwrap()
}

#[test]
fn attached_screens_of_a_run_over_many_items_are_never_torn_and_end_as_status_does() {
    let (n_items, began) = (n_items(), Instant::now());
    let world = world(n_items);
    world.ok(&["run", "--flow", "many", "build many parts", "--detach"]);
    let run = world.latest();
    let mut small = Person::at(&world, &["attach", &run]);
    let mut large = Person::at(&world, &["attach", &run]);
    large.resize(200, 50);
    // Whoever resizes while lines come sees the same in the end.
    large.until("some items", |screen| screen.contains("✓ T") || screen.contains("done"));
    large.resize(60, 12);
    large.until("a small tree", |screen| screen.lines().count() <= 12 && screen.contains("build"));
    large.resize(200, 50);
    for n in (30..n_items).step_by(30) {
        until_or("more items", || (n_closed(&world, &run) >= n).then_some(()), || large.screen());
    }
    for (person, width) in [(&small, 80), (&large, 200)] {
        person.until("the end at work", |screen| {
            screen.lines().any(|line| line.trim_start().starts_with("● end"))
        });
        let seen = person.look(|screen| shown(screen, width));
        let compared = seen.compare(&world.view(&run), 0);
        assert!(n_items > 36 || width == 80 || compared.len() > 20, "{:#?}", seen.rows);
        has(&seen.rows.join("\n"), &[&format!("{n_items} of {n_items} tasks")]);
    }
    world.go();
    assert_eq!((small.end(), large.end()), (DONE, DONE), "{}", small.screen());
    let n_frames = replay(&small.bytes());
    let facts = world.facts(&run).len();
    let time = began.elapsed();
    eprintln!("{n_items} items, {facts} facts in {time:.1?}; {n_frames} frames at 80×24");
    // What stays in the scrollback is the run as it was left.
    let bytes = small.bytes();
    assert_eq!(
        bytes.matches("\x1b[2J").count(),
        1,
        "it is cleared when it is entered, and never again"
    );
    let (_, left) = bytes.rsplit_once(SCREEN_LEFT).unwrap();
    let mut scrollback = vt100::Parser::new(cells(120), cells(80), 0);
    scrollback.process(left.as_bytes());
    let left = shown(scrollback.screen(), 80);
    left.compare(&world.view(&run), 0);
    let all = format!("{n_items} of {n_items} tasks");
    has(&left.rows.join("\n"), &[all.as_str(), "✓ end", "✓ Done"]);
}

/// Every item that has a row of its own: mark, name and state.
fn items(shown: &Shown) -> Vec<(String, String, String)> {
    let mut items = Vec::new();
    for (row, cell) in shown.rows.iter().zip(&shown.cells) {
        let words: Vec<&str> = row.split_whitespace().collect();
        if let [mark, name, ..] = words[..]
            && is_mark(mark)
            && is_item(name)
        {
            items.push((mark.to_owned(), name.to_owned(), cell.clone()));
        }
    }
    items
}
