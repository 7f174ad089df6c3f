//! The latest line of one call: from its stream, from `progress` in its outbox, or from the command that
//! a gate runs at the moment.
//!
//! Invariant: what is read and kept is bounded, however much is printed.
//! Invariant: an agent can put anything in the place of a file; only regular files are read.

use std::{
    collections::VecDeque,
    fs,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::SystemTime,
};

use forge_core::{Run, Time, id::CallId, money::Spent};
use forge_driver::{context::boxes, layout::Home, plan::step::steps_of};
use forge_keeper::{AttemptFolder, AttemptStatus, EndingProof, open_regular};
use forge_project::settings::Frozen;

use crate::watch::{
    events::{Age, Form, StartedCall, TurnName, UnitEvent, WatchOutput, has_stream, player},
    transcript::{StreamSource, TranscriptReader},
};

/// So many pieces (of 64 KiB) of a stream are read with one look.
const PIECES_MAX: usize = 16;
/// The most things of a stream that are kept.
pub(super) const RECENT_MAX: usize = 400;
/// The most characters of one of them.
const TEXT_CHARACTERS_MAX: usize = 4_000;
/// So many bytes at the end of a file are looked at for its last line.
const TAIL_BYTES: u64 = 4 * 1024;
/// The most steps of a call that are looked at.
const STEPS_MAX: usize = 200;
/// The most characters of a latest line.
const LINE_CHARACTERS_MAX: usize = 400;

/// How long after the last fact a keeper may take until it has the step that the fact is about.
const CLAIM_WAIT_MS: u64 = 2_000;

/// Where an agent may say how far it is, in its outbox.
const PROGRESS: &str = "progress";

/// Listens to one call.
pub(super) struct LatestLineReader {
    since: Time,
    /// When a driver made its folder. Nothing before that.
    begun: Option<Time>,
    folder: PathBuf,
    /// Where an agent has its outbox.
    boxes: Option<AttemptFolder>,
    /// Where an agent works. Nothing until its call is prepared.
    checkout: Option<PathBuf>,
    stream: Option<TranscriptReader>,
    recent: VecDeque<UnitEvent>,
    line: Option<String>,
    /// When the file was changed that a line was taken of last.
    changed: Option<SystemTime>,
    /// The commands that set a checkout up, and the one that runs now.
    setup: Vec<String>,
    setting_up: Option<String>,
}

/// The folders of a run's calls.
pub(super) struct RunFolders<'a> {
    pub(super) home: &'a Home,
    pub(super) id: &'a str,
    pub(super) frozen: Option<&'a Frozen>,
}

impl LatestLineReader {
    pub(super) fn new(
        run: &Run,
        call: &CallId,
        ordinal: u32,
        since: Time,
        places: &RunFolders<'_>,
    ) -> Self {
        let RunFolders { home, id, frozen } = *places;
        let folder = home.attempt(id, ordinal);
        let player = frozen.and_then(|frozen| player(run, frozen, call));
        let source = player
            .as_ref()
            .map_or(StreamSource::Command, |player| StreamSource::Agent(player.agent.like));
        let first = UnitEvent::Call {
            at: since,
            call: call.to_string(),
            agent: player.as_ref().map(|player| player.agent.name.clone()),
            route: player.as_ref().and_then(|player| player.route),
            model: player.and_then(|player| player.agent.model),
            is_over: false,
        };
        let turn = match run.session(call) {
            Some(_) => TurnName::Resumed,
            None => TurnName::First,
        };
        let begun = StartedCall { at: since, call: call.clone(), ordinal, turn, age: Age::Old };
        let stream = has_stream(run, call)
            .then(|| TranscriptReader::new(&folder, source, &begun, Form::Signals));
        let boxes = frozen
            .and_then(|frozen| home.checkouts(id, frozen).ok())
            .map(|checkouts| boxes(&checkouts, ordinal));
        let recent = VecDeque::from([first]);
        Self {
            since,
            begun: None,
            folder,
            boxes,
            checkout: None,
            stream,
            recent,
            line: None,
            changed: None,
            setup: frozen.map(|frozen| frozen.setup.clone()).unwrap_or_default(),
            setting_up: None,
        }
    }

    /// Hears what is new.
    pub(super) fn listen(&mut self) {
        if self.begun.is_none() && self.folder.is_dir() {
            let made = fs::symlink_metadata(AttemptFolder::at(&self.folder).attempt());
            let made = made.and_then(|found| found.modified()).ok().map(in_milliseconds);
            // A gate has no file of its own, only those of its steps.
            self.begun = Some(made.unwrap_or(self.since).max(self.since));
        }
        self.setting_up = self.running_setup();
        let Some(stream) = &mut self.stream else { return self.listen_to_steps() };
        if self.checkout.is_none() {
            self.checkout = AttemptFolder::at(&self.folder).spec().ok().map(|spec| spec.dir);
        }
        let home = std::env::home_dir();
        let places = short_places(self.checkout.as_deref(), self.boxes.as_ref(), home.as_deref());
        let (recent, line) = (&mut self.recent, &mut self.line);
        stream.read_some(PIECES_MAX, &mut |shown| {
            let WatchOutput::Event(mut seen) = shown else { return };
            if let UnitEvent::UsedTool { about, .. } = &mut seen {
                *about = with_short_paths(about, &places);
            }
            if let Some(said) = in_one_line(&seen) {
                *line = Some(said);
            }
            recent.push_back(shortened(seen));
            if recent.len() > RECENT_MAX {
                recent.pop_front();
            }
        });
        // What an agent says of its progress counts from when it says it until it says something else.
        if let Some(boxes) = self.boxes.clone() {
            self.take_last_line(&boxes.outbox().join(PROGRESS));
        }
    }

    /// Returns the command of the set-up that runs now: its step has begun and has no ending.
    fn running_setup(&self) -> Option<String> {
        if self.setup.is_empty() {
            return None;
        }
        let steps = fs::read_dir(steps_of(&self.folder)).ok()?.flatten().take(STEPS_MAX);
        let number = |step: &fs::DirEntry| {
            let name = step.file_name();
            let (_, number) = name.to_str()?.rsplit_once("setup-")?;
            number.parse::<usize>().ok()
        };
        let running = steps.filter(|step| !AttemptFolder::at(step.path()).ending().exists());
        let command =
            self.setup.get(running.filter_map(|step| number(&step)).max()?.checked_sub(1)?)?;
        first_words(&format!("setting up: {command}"))
    }

    /// Reads the last line of a gate's steps, which run one after the other.
    fn listen_to_steps(&mut self) {
        let Ok(steps) = fs::read_dir(steps_of(&self.folder)) else { return };
        for step in steps.flatten().take(STEPS_MAX) {
            self.take_last_line(&AttemptFolder::at(step.path()).transcript());
        }
    }

    /// Takes the last line of a file, if it was changed after the line that is there.
    fn take_last_line(&mut self, path: &Path) {
        let Ok(found) = fs::symlink_metadata(path) else { return };
        let Ok(changed) = found.modified() else { return };
        if !found.is_file() || found.len() == 0 || self.changed.is_some_and(|at| at >= changed) {
            return;
        }
        if let Some(line) = last_line(path) {
            self.line = Some(line);
            self.changed = Some(changed);
        }
    }

    /// Returns true if a keeper that has it now had it at this moment already.
    pub(super) fn is_at_work_since(&self, moment: Time) -> bool {
        let steps = fs::read_dir(steps_of(&self.folder)).into_iter().flatten().flatten();
        let steps = steps.take(STEPS_MAX).map(|step| AttemptFolder::at(step.path()));
        steps.chain([AttemptFolder::at(&self.folder)]).any(|step| {
            let claimed = fs::symlink_metadata(step.claim()).and_then(|found| found.modified());
            claimed.is_ok_and(|at| in_milliseconds(at) <= moment.saturating_add(CLAIM_WAIT_MS))
                && matches!(
                    forge_keeper::look(&step, &EndingProof::NotNeeded),
                    Ok(AttemptStatus::Alive(_))
                )
        })
    }

    /// Returns the beginning of the work. Nothing, if a driver has still to begin it.
    pub(super) const fn begun(&self) -> Option<Time> {
        self.begun
    }

    pub(super) const fn is_setting_up(&self) -> bool {
        self.setting_up.is_some()
    }

    pub(super) const fn since(&self) -> Time {
        self.since
    }

    pub(super) fn line(&self) -> Option<&str> {
        self.setting_up.as_deref().or(self.line.as_deref())
    }

    pub(super) fn spent(&self) -> Spent {
        self.stream.as_ref().map_or(Spent::NOTHING, TranscriptReader::so_far)
    }

    pub(super) const fn recent(&self) -> &VecDeque<UnitEvent> {
        &self.recent
    }

    pub(super) fn into_recent(self) -> VecDeque<UnitEvent> {
        self.recent
    }
}

fn in_milliseconds(time: SystemTime) -> Time {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::try_from(since.as_millis()).unwrap_or_default()
}

/// Returns the last line of a regular file that says something.
fn last_line(path: &Path) -> Option<String> {
    let mut file = open_regular(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rev().find_map(first_words)
}

/// A folder whose paths are shortened: how it is shown itself, and what comes before what is in it.
type ShortPlace = (PathBuf, &'static str, &'static str);

/// Returns the folders of a call: paths in the checkout and in the boxes are relative, those in the user's home folder have `~`.
fn short_places(
    checkout: Option<&Path>,
    boxes: Option<&AttemptFolder>,
    home: Option<&Path>,
) -> Vec<ShortPlace> {
    let boxes = boxes.map(|boxes| [(boxes.outbox(), "outbox", ""), (boxes.inbox(), "inbox", "")]);
    let boxes = boxes.into_iter().flatten();
    let checkout = checkout.map(|folder| (folder.to_owned(), ".", ""));
    let home = home.map(|folder| (folder.to_owned(), "~", "~/"));
    let all = boxes.chain(checkout).chain(home);
    all.filter(|(folder, ..)| folder.parent().is_some()).collect()
}

/// Shortens the paths in these folders.
fn with_short_paths(text: &str, places: &[ShortPlace]) -> String {
    let is_in_path = |c: char| c.is_alphanumeric() || "/._-~".contains(c);
    let mut text = text.to_owned();
    for &(ref folder, alone, inside) in places {
        let folder = folder.to_string_lossy();
        let mut shown = String::new();
        for (at, piece) in text.split(&*folder).enumerate() {
            let (short, rest) = match piece.strip_prefix('/') {
                _ if at == 0 => ("", piece),
                _ if shown.ends_with(is_in_path) => (&*folder, piece),
                Some(rest) => (inside, rest),
                None if piece.starts_with(is_in_path) => (&*folder, piece),
                None => (alone, piece),
            };
            shown.push_str(short);
            shown.push_str(rest);
        }
        text = shown;
    }
    text
}

/// Returns what somebody who watches many agents wants to see of it.
fn in_one_line(seen: &UnitEvent) -> Option<String> {
    match seen {
        UnitEvent::Said { text, .. } | UnitEvent::Printed { text, .. } => {
            text.lines().rev().find_map(first_words)
        }
        UnitEvent::UsedTool { name, about, .. } => first_words(&format!("{name}  {about}")),
        UnitEvent::Asked { text, .. } => first_words(&format!("permission denied: {text}")),
        UnitEvent::Limit { text, .. } => first_words(text),
        UnitEvent::Turn { turn: TurnName::Repair } => Some("fixes its result".to_owned()),
        UnitEvent::Turn { turn: TurnName::First | TurnName::Resumed | TurnName::Anew }
        | UnitEvent::Fact { .. }
        | UnitEvent::Call { .. }
        | UnitEvent::Began { .. }
        | UnitEvent::Spent { .. }
        | UnitEvent::TurnEnded { .. }
        | UnitEvent::Over { .. } => None,
    }
}

/// Trims and shortens a line, unless it has no word in it, such as a ruler.
fn first_words(line: &str) -> Option<String> {
    let line: String = line.trim().chars().take(LINE_CHARACTERS_MAX).collect();
    line.contains(char::is_alphanumeric).then_some(line)
}

fn shortened(mut seen: UnitEvent) -> UnitEvent {
    if let UnitEvent::Said { text, .. }
    | UnitEvent::Printed { text, .. }
    | UnitEvent::Asked { text, .. } = &mut seen
        && let Some((at, _)) = text.char_indices().nth(TEXT_CHARACTERS_MAX)
    {
        text.truncate(at);
        text.push('…');
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_tools_are_relative_to_the_checkout_or_to_the_home_folder() {
        let checkout = Path::new("/root/.local/state/forge/app/k3f9/_/tree");
        let boxes = AttemptFolder::at(PathBuf::from("/root/.local/state/forge/app/k3f9/boxes/2"));
        let places = short_places(Some(checkout), Some(&boxes), Some(Path::new("/root")));
        let short = |text: &str| with_short_paths(text, &places);
        let inside = format!("{}/src/a.py", checkout.display());
        assert_eq!(short(&inside), "src/a.py");
        assert_eq!(
            short(&format!("cd {} && diff '{inside}' /root/b.py", checkout.display())),
            "cd . && diff 'src/a.py' ~/b.py"
        );
        for other in ["/rooted/a", "/mnt/root/a", "a /root.txt", "src/a.py", "/etc/hosts", ""] {
            assert_eq!(short(other), other);
        }
        assert_eq!(short("ls /root"), "ls ~");
        assert_eq!(short(&boxes.outbox().join("design.md").display().to_string()), "design.md");
        assert_eq!(short(&format!("ls {}", boxes.inbox().display())), "ls inbox");
        for home in ["", "/"] {
            let places = short_places(None, None, Some(Path::new(home)));
            assert_eq!(with_short_paths(&inside, &places), inside);
        }
    }
}
