//! A person at a terminal: a real pseudo terminal, what is seen on it, and keys.
//!
//! The program runs below `setsid --ctty`, so that the terminal is its own, and Ctrl-C and Ctrl-Z are signals there.
//!
//! Invariant: every wait is for something that is seen, and has a deadline.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    num::NonZeroU16,
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Termios, Winsize, tcgetattr, tcsetwinsize},
};

use super::{World, until_or};

/// A sequence that no program writes, and that changes nothing on a screen.
const LAST: &str = "\x1b]7777;last\x07";

/// What every frame of a screen ends with.
pub(crate) const FRAME_END: &str = "\x1b[?2026l";

/// A terminal with a program on it.
pub(crate) struct Person {
    keys: File,
    /// Held open, so that the terminal can be looked at after the program has gone.
    line: File,
    child: Child,
    seen: Arc<Mutex<Seen>>,
    /// How the terminal was set before the program had it.
    before: String,
}

/// What came to the terminal.
struct Seen {
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

impl Person {
    /// Sits down at a terminal of 80×24 and calls the program.
    pub(crate) fn at(world: &World, args: &[&str]) -> Self {
        // What a person does before a run is done by the world.
        let forge = world.command(args);
        let mut words = vec![forge.get_program().to_owned()];
        words.extend(forge.get_args().map(ToOwned::to_owned));
        Self::with(world, &words)
    }

    /// Sits down at a terminal and calls any program.
    pub(crate) fn with(world: &World, words: &[std::ffi::OsString]) -> Self {
        let keys: OwnedFd =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap();
        let line = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&line, size).unwrap();
        let before = format!("{:?}", tcgetattr(&line).unwrap());
        let mut command = Command::new("setsid");
        world.surround(&mut command);
        command.args(["--ctty", "--wait"]).args(words).current_dir(&world.repo);
        command.env("TERM", "xterm-256color").env("EDITOR", "").env("PAGER", "cat");
        let end = || Stdio::from(line.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keys = File::from(keys);
        let screen = vt100::Parser::new(cells(24), cells(80), 200);
        let seen = Arc::new(Mutex::new(Seen { screen, bytes: Vec::new() }));
        let (mut reader, taker) = (keys.try_clone().unwrap(), Arc::clone(&seen));
        thread::spawn(move || {
            let mut bytes = [0_u8; 4096];
            // It ends with the terminal.
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                let mut seen = taker.lock().unwrap();
                seen.screen.process(&bytes[..n]);
                seen.bytes.extend_from_slice(&bytes[..n]);
            }
        });
        Self { keys, line, child, seen, before }
    }

    /// How the terminal is set.
    pub(crate) fn settings(&self) -> Termios {
        tcgetattr(&self.line).unwrap()
    }

    /// The program has gone, and whoever sits there can go on: the settings are as they were, the screen is the
    /// one of the shell, and the cursor is seen.
    #[track_caller]
    pub(crate) fn is_left_sane(&self) {
        assert_eq!(self.before, format!("{:?}", self.settings()), "the terminal is set as it was");
        let seen = self.seen.lock().unwrap();
        let screen = seen.screen.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{}", screen.contents());
        assert!(!screen.bracketed_paste(), "pasted text is as before");
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Makes the terminal another size.
    pub(crate) fn resize(&self, width: u16, height: u16) {
        self.seen.lock().unwrap().screen.screen_mut().set_size(cells(height), cells(width));
        let size = Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.line, size).unwrap();
    }

    /// What is on the screen now.
    pub(crate) fn screen(&self) -> String {
        self.seen.lock().unwrap().screen.screen().contents()
    }

    /// Looks at the cells of the screen, when no frame is half way here.
    pub(crate) fn look<T>(&self, look: impl Fn(&vt100::Screen) -> T) -> T {
        let whole = || {
            let seen = self.seen.lock().unwrap();
            seen.bytes.ends_with(FRAME_END.as_bytes()).then(|| look(seen.screen.screen()))
        };
        until_or("a whole frame", whole, || self.screen())
    }

    /// Whether the program shows its own screen, and not the one of the shell.
    pub(crate) fn is_on_its_own_screen(&self) -> bool {
        self.seen.lock().unwrap().screen.screen().alternate_screen()
    }

    /// Everything that ever came to the terminal.
    pub(crate) fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap().bytes).into_owned()
    }

    /// The words of all that, without colours and whatever else steers a terminal.
    pub(crate) fn text(&self) -> String {
        let bytes = self.bytes();
        let mut text = String::new();
        let mut pieces = bytes.split("\x1b[");
        text.extend(pieces.next());
        for piece in pieces {
            let end = piece.find(|c: char| ('\x40'..='\x7e').contains(&c)).map_or(0, |at| at + 1);
            text.push_str(&piece[end..]);
        }
        text.replace("\r\n", "\n")
    }

    /// Waits until something is on the screen, and gives all of it.
    pub(crate) fn until_sees(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until something is no longer on the screen.
    pub(crate) fn until_gone(&self, text: &str) -> String {
        self.until(text, |screen| !screen.contains(text))
    }

    /// Waits until the screen is so.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let look = || Some(self.screen()).filter(|screen| is_so(screen));
        until_or(what, look, || self.screen())
    }

    /// Waits until the program has ended, and gives its exit code.
    pub(crate) fn end(&mut self) -> i32 {
        let status = until_or(
            "the program to end",
            || self.child.try_wait().unwrap(),
            || self.seen.lock().unwrap().screen.screen().contents(),
        );
        self.drain();
        status.code().unwrap_or(-1)
    }

    /// Waits until everything that was said is seen: what is written after it comes after it.
    fn drain(&mut self) {
        self.line.write_all(LAST.as_bytes()).unwrap();
        until_or("the last of it", || self.bytes().contains(LAST).then_some(()), || self.screen());
        let before = self.bytes().replace(LAST, "");
        self.seen.lock().unwrap().bytes = before.into_bytes();
    }
}

fn cells(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

impl Drop for Person {
    /// Whoever gets up closes the terminal.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
