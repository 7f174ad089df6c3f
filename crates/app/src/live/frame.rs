//! A run as lines: Picture and size in, at most so many lines of at most so many columns out.
//!
//! Pure: no terminal, no clock, no files. Where there is less room than there are lines, what is closed or has not
//! begun is told in counts; what works, asks or failed is left as it is, for as long as there is room at all.
//!
//! Not here: the lines of the units (`rows.rs`), questions (`ask.rs`), streams (`stream.rs`), and how lines get to a
//! terminal (`paint.rs`).
//!
//! Invariant: never more lines than the height, and no line wider than the width.
//! Invariant: the states that are shown are those that `status` shows.

use forge_core::view::{Course, Standing};
use forge_runtime::follow::Picture;

use super::{
    line::{Ink, Line, Size, width},
    unit_rows::{Row, fold, headings, rows},
};
use crate::{format, text_width};

/// Below this height, what is only nice to have is left out.
const LOW: usize = 14;

/// All keys at the tree. Its last line names those that do something now.
pub(crate) const KEYS: &str = "\
↑↓ or j k choose   Esc choose nothing   Enter or w what it says   a answer
p pause, go on   r drive on what nobody drives   q leave   Ctrl-C stop
Ctrl-Z to the shell, fg comes back   ? these keys";

/// The key that shows them.
const HELP: (&str, &str) = ("?", "keys");

/// Where somebody sits who looks at a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    /// The run is driven by this process.
    Driving,
    /// Somebody else drives it.
    Attached,
    /// Nobody drives it.
    Alone,
}

/// How a run is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) size: Size,
    pub(crate) seat: Seat,
    /// The unit that the person chose.
    pub(crate) chosen: Option<String>,
    /// What there is to say about the last key.
    pub(crate) said: Option<String>,
}

/// A screen, and what can be chosen on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<Line>,
    /// The units that can be chosen, from the top.
    pub(crate) units: Vec<String>,
}

/// The run as a tree, with a head and the keys.
pub(crate) fn frame(picture: &Picture, look: &Look) -> Frame {
    let Size { width, height } = look.size;
    let mut lines = head(picture, look.seat, width, height);
    let foot = foot(picture, look);
    // The names of the columns, and an empty line above the keys.
    let gaps = if height < LOW { 0 } else { 2 };
    let room = height.saturating_sub(lines.len() + foot.len() + gaps);
    let rows = fold(rows(picture, width), room);
    if gaps > 0 {
        lines.push(headings(width));
    }
    let units = rows.iter().filter_map(Row::choice).map(str::to_owned).collect();
    lines.extend(rows.iter().map(|row| row.line(picture, width, look.chosen.as_deref())));
    lines.truncate(height.saturating_sub(foot.len()));
    while gaps > 0 && lines.len() + foot.len() < height {
        lines.push(Line::default());
    }
    lines.extend(foot);
    lines.truncate(height);
    Frame { lines: lines.into_iter().map(|line| line.cut(width)).collect(), units }
}

/// The run as it was left, for the scrollback: no keys, and as many lines as it takes, up to a limit.
pub(crate) fn last(picture: &Picture, seat: Seat, width: usize, most: usize) -> Vec<Line> {
    let mut lines = head(picture, seat, width, most);
    lines.push(headings(width));
    let rows = fold(rows(picture, width), most.saturating_sub(lines.len()));
    lines.extend(rows.iter().map(|row| row.line(picture, width, None)));
    lines.into_iter().map(|line| line.cut(width)).collect()
}

/// Whether a run would go on if somebody drove it.
pub(crate) fn is_left_alone(picture: &Picture, seat: Seat) -> bool {
    picture.view.row.standing.course() == Course::Driven && seat == Seat::Alone
}

/// What happens to a run that this process drives when the person leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// Another process drives it on.
    GoesOn,
    /// It stays as it is: nothing new was to start.
    Stays,
    /// Its calls are being stopped, and that is waited for.
    Waits,
}

/// What leaving does to a run that stands like this.
pub(crate) const fn leaving(standing: Standing) -> Leaving {
    match standing {
        Standing::Going | Standing::Limited => Leaving::GoesOn,
        Standing::Waiting | Standing::Paused | Standing::Parked | Standing::Escalated => {
            Leaving::Stays
        }
        Standing::Interrupted
        | Standing::Stopped
        | Standing::Done
        | Standing::Failed
        | Standing::Blocked
        | Standing::Abandoned => Leaving::Waits,
    }
}

/// Which run, where it stands, what it spent.
pub(crate) fn head(picture: &Picture, seat: Seat, columns: usize, height: usize) -> Vec<Line> {
    let row = &picture.view.row;
    let is_alone = is_left_alone(picture, seat);
    let standing = match row.until {
        Some(_) | None if is_alone => "no driver".to_owned(),
        Some(until) => {
            format!("{} until {}", row.standing.word(), format::then(until, picture.now))
        }
        None => row.standing.word().to_owned(),
    };
    let ink = if is_alone { Ink::Yellow } else { ink_of(row.standing) };
    let run = text_width::cut_middle(&row.run, columns.saturating_sub(standing.len() + 9).max(8));
    let mut first = Line::of(Ink::Grey, " forge ").and(Ink::Bold, &run);
    let gap = columns.saturating_sub(first.width() + width(&standing) + 1).max(1);
    first.push(Ink::Plain, &" ".repeat(gap));
    first.push(ink, &standing);
    let mut lines = vec![first];
    if height >= LOW {
        // A title is short wherever it stands; a wide screen has room for more of the request.
        let first = picture.view.request.lines().find(|line| !line.trim().is_empty());
        lines.push(Line::of(Ink::Plain, &format!(" {}", first.unwrap_or(&row.title))));
    }
    let mut told = format!(" {}", sums(picture, seat, &row.amount().in_words()).join("  ·  "));
    if width(&told) > columns {
        told = format!(" {}", sums(picture, seat, &row.amount().in_short()).join("  ·  "));
    }
    lines.push(Line::of(Ink::Grey, &told));
    if !row.why.is_empty() {
        lines.push(Line::of(ink_of(row.standing), &format!(" {}", row.why)));
    }
    if height >= LOW {
        lines.push(Line::default());
    }
    lines
}

fn sums(picture: &Picture, seat: Seat, amount: &str) -> Vec<String> {
    let (view, row) = (&picture.view, &picture.view.row);
    let is_alone = is_left_alone(picture, seat);
    let is_moving = is_moving(row.standing) && !is_alone;
    let until = if is_moving { picture.now } else { row.changed_at };
    let budget = view.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let mut sums = vec![
        format::span(until.saturating_sub(row.started_at)),
        format!("{amount}{budget}"),
        format!("{} tokens", format::short_number(view.tokens)),
    ];
    // What nobody drives may have calls that nobody has begun.
    if row.working > 0 && !is_alone {
        sums.push(format!("{} under way", format::count(row.working, "call")));
    }
    if row.questions > 0 {
        sums.push(format::count(row.questions, "question"));
    }
    sums
}

const fn is_moving(standing: Standing) -> bool {
    match standing.course() {
        Course::Driven | Course::Asking => true,
        Course::Held | Course::Failed | Course::Over => false,
    }
}

const fn ink_of(standing: Standing) -> Ink {
    match standing {
        Standing::Going => Ink::Cyan,
        Standing::Done => Ink::Green,
        Standing::Waiting
        | Standing::Limited
        | Standing::Paused
        | Standing::Interrupted
        | Standing::Stopped
        | Standing::Parked => Ink::Yellow,
        Standing::Escalated | Standing::Failed | Standing::Blocked | Standing::Abandoned => {
            Ink::Red
        }
    }
}

/// What was said last, and the keys.
fn foot(picture: &Picture, look: &Look) -> Vec<Line> {
    let row = &picture.view.row;
    let mut foot = Vec::new();
    if let Some(said) = &look.said {
        foot.extend(said.lines().map(|said| Line::of(Ink::Yellow, &format!(" {said}"))));
    }
    let is_alone = is_left_alone(picture, look.seat);
    if is_alone {
        // The end of a run's name is enough, and a command that is cut cannot be copied.
        let end = row.run.rsplit('-').next().unwrap_or(&row.run);
        let text = format!(" nobody drives this run, so nothing goes on: forge resume {end}");
        foot.push(Line::of(Ink::Yellow, &text));
    }
    let mut keys = Line::of(Ink::Plain, " ");
    let mut key = |name: &str, does: &str| {
        keys.push(Ink::Bold, name);
        keys.push(Ink::Grey, &format!(" {does}  "));
    };
    key("↑↓", "choose");
    key("Enter", "stream");
    if !picture.view.asked.is_empty() {
        key("a", "answer");
    }
    if row.standing == Standing::Paused {
        key("p", "go on");
    } else if is_moving(row.standing) && !is_alone {
        key("p", "pause");
    }
    if is_alone {
        key("r", "drive it on here");
    }
    let leave = match leaving(row.standing) {
        Leaving::GoesOn if !is_alone => "leave, it goes on",
        Leaving::Stays if row.standing == Standing::Paused => "leave, it stays paused",
        Leaving::GoesOn | Leaving::Stays | Leaving::Waits => "leave",
    };
    key("q", leave);
    if look.seat == Seat::Driving {
        key("Ctrl-C", "stop");
    }
    // Where there is no room for it, the others are known already.
    if keys.width() + HELP.0.len() + HELP.1.len() < look.size.width {
        keys.push(Ink::Bold, HELP.0);
        keys.push(Ink::Grey, &format!(" {}", HELP.1));
    }
    foot.push(keys);
    foot
}
