//! `cargo xtask pictures`: the pictures of the documentation, taken from the real program: `forge demo` on a pseudo terminal, with keys
//! pressed as a person would.
//!
//! Times, prices and the id of the run are those of that demo. Nothing is changed afterwards, so pictures that are taken again differ; they
//! are stale only when what they show has changed: screens, card, flow or demo, as the snapshots and files in `SHOWN` have them. `cargo
//! xtask tidy` compares these.
//!
//! Not here: the terminal (`demo_terminal.rs`), drawing (`svg.rs`), colours (`theme.rs`).
//!
//! Invariant: every wait is for something that is seen, and has a deadline.

mod demo_terminal;
mod svg;
mod theme;

use std::{fs, io, path::Path, process::ExitCode, thread};

use demo_terminal::{DemoTerminal, Size};
use svg::Window;
use theme::{THEMES, Theme};

use crate::{
    command::{cargo, say},
    proved::Subject,
    repository::{root, target},
};

/// The pictures of the documentation, each with what it shows.
const DOCUMENTED: [(&str, &str); 4] = [
    ("run", "A run of Forge: two tasks are built side by side, each by an agent of its own"),
    ("question", "Forge asks whether the design is to be built"),
    ("changes", "Changes of the design are requested in plain words"),
    (
        "card",
        "The end of a run: what every stage took, the branch, the checks, and what comes next",
    ),
];
const DOCUMENTED_SIZE: Size = Size { width: 100, height: 30 };
/// It can be read on light and on dark pages, because a window brings its background.
const DOCUMENTED_THEME: &Theme = &THEMES[5];
/// The sizes in which the app has a snapshot of every screen.
const SHEET_SIZES: [Size; 3] = [
    Size { width: 80, height: 24 },
    Size { width: 140, height: 45 },
    Size { width: 40, height: 15 },
];

/// What the pictures show, and the pictures.
const SHOWN: Subject = Subject {
    name: "pictures",
    files: &[
        "crates/app/src/live/snapshots/tree/building-*",
        "crates/app/src/live/snapshots/question/checkpoint-*",
        "crates/app/src/live/snapshots/editor",
        "crates/app/src/live/snapshots/done",
        "crates/app/src/text/end_card.rs",
        "demo",
        "flows/feature",
        "docs/pictures",
    ],
    more: "",
};

/// Keys that a person at the demo presses, what is seen then, and the name of that screen.
type Step = (&'static str, Seen, &'static str);

enum Seen {
    /// All of these words are there.
    Words(&'static [&'static str]),
    /// These words have gone.
    Without(&'static str),
    /// The program has ended.
    End,
}

use Seen::{End, Without, Words};

const UP: &str = "\x1b[A";
const ESCAPE: &str = "\x1b";

/// A person who looks around, and approves the design.
const APPROVES: &[Step] = &[
    ("", Words(&["analyse", "running"]), "start"),
    ("", Words(&["Demo: approves automatically"]), "countdown"),
    // The demo approves nothing by itself once a person is there.
    (UP, Without("Demo: approves automatically"), "question"),
    (ESCAPE, Words(&["Press a to answer"]), "later"),
    ("a", Without("Press a to answer"), "question again"),
    ("rKeep greet as it is; shout without words fails.", Words(&["fails."]), "changes"),
    (ESCAPE, Without("What should change?"), "back"),
    ("a", Words(&["Enter approve"]), "confirm"),
    ("\r", Words(&["tests/farewell.sh", "tests/shout.sh"]), "run"),
    ("?", Words(&["these keys"]), "keys"),
    ("\t\r", Words(&["Esc back"]), "stream"),
    (ESCAPE, Without("Esc back"), "run again"),
    (UP, Words(&["❯"]), "selected"),
    ("p", Words(&["p continue"]), "paused"),
    ("p", End, "card"),
];

/// A person who rejects it, so that the run fails.
const REJECTS: &[Step] = &[
    ("", Words(&["Demo: approves automatically"]), "countdown"),
    ("x", Words(&["Enter reject"]), "reject"),
    ("\r", End, "failed"),
];

/// A screen of the program with its name.
type Shot = (&'static str, vt100::Screen);

/// Takes the pictures of the documentation.
pub(crate) fn document() -> ExitCode {
    report(built().and_then(|()| {
        let shots = play(APPROVES, DOCUMENTED_SIZE)?;
        let folder = root().join("docs/pictures");
        fs::create_dir_all(&folder)?;
        for (name, title) in DOCUMENTED {
            let found = shots.iter().find(|(shot, _)| *shot == name);
            let (_, screen) = found.expect("each picture is taken by a step");
            let window = Window::draw(screen, used_rows(screen), DOCUMENTED_THEME, "forge demo");
            write(&folder.join(format!("{name}.svg")), &window.to_file(title))?;
        }
        SHOWN.record(&root())
    }))
}

/// Draws every screen of the demo in every size and theme, one sheet for each of both, to be looked at.
pub(crate) fn sheets(folder: &Path) -> ExitCode {
    report(built().and_then(|()| {
        fs::create_dir_all(folder)?;
        thread::scope(|scope| {
            let sizes = SHEET_SIZES.map(|size| scope.spawn(move || size_sheets(folder, size)));
            sizes.into_iter().try_for_each(|size| size.join().expect("drawing does not panic"))
        })
    }))
}

fn size_sheets(folder: &Path, size: Size) -> io::Result<()> {
    let mut shots = play(APPROVES, size)?;
    shots.extend(play(REJECTS, size)?);
    for theme in &THEMES {
        let draw = |(name, screen): &Shot| Window::draw(screen, size.height, theme, name);
        let windows: Vec<Window> = shots.iter().map(draw).collect();
        let name = format!("{size}-{}.svg", theme.name.to_lowercase().replace(' ', "-"));
        write(&folder.join(name), &svg::sheet(&windows))?;
    }
    Ok(())
}

/// Says that the pictures have to be taken again, if so.
pub(crate) fn stale(root: &Path) -> Option<String> {
    let is_stale = !SHOWN.is_proved(root);
    is_stale.then(|| "docs/pictures: the program looks different now: cargo xtask pictures".into())
}

/// Plays the demo, and returns the screen after each step.
fn play(steps: &[Step], size: Size) -> io::Result<Vec<Shot>> {
    let mut demo = DemoTerminal::start(&target().join("debug/forge"), size)?;
    let mut shots = Vec::new();
    for (keys, seen, name) in steps {
        demo.press(keys)?;
        let waited = match seen {
            Words(words) => {
                demo.wait_until(|screen| words.iter().all(|word| screen.contains(word)))
            }
            Without(words) => demo.wait_until(|screen| !screen.contains(words)),
            End => demo.wait_for_end(),
        };
        waited.map_err(|error| io::Error::other(format!("{size}, {name}: {error}")))?;
        shots.push((*name, demo.screen().clone()));
    }
    Ok(shots)
}

/// Counts the rows up to the last one that has text.
fn used_rows(screen: &vt100::Screen) -> u16 {
    let has_text = |row: &u16| !screen.contents_between(*row, 0, *row, u16::MAX).trim().is_empty();
    (0..screen.size().0.get()).rev().find(has_text).map_or(0, |row| row + 1)
}

fn built() -> io::Result<()> {
    match cargo(&["build", "--workspace", "--bin", "forge"]) {
        ExitCode::SUCCESS => Ok(()),
        _ => Err(io::Error::other("forge does not compile")),
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    say(&path.display().to_string());
    Ok(())
}

fn report(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("the pictures cannot be taken: {error}"));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_documented_picture_is_taken_once() {
        for (name, _) in DOCUMENTED {
            let taken = APPROVES.iter().filter(|(_, _, taken)| *taken == name);
            assert_eq!(taken.count(), 1, "{name}");
        }
    }

    #[test]
    fn pictures_are_stale_until_they_are_taken_of_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        assert!(stale(folder.path()).is_some());
        for pattern in SHOWN.files {
            let path = root().join(pattern.trim_end_matches('*'));
            let parent = fs::read_dir(path.parent().unwrap()).unwrap();
            let beginning = path.to_str().unwrap();
            let is_there =
                parent.flatten().any(|entry| entry.path().to_str().unwrap().starts_with(beginning));
            assert!(is_there, "{pattern}: it would never be stale");
        }
    }
}
