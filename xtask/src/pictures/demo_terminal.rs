//! `forge demo` on a pseudo terminal, and what is seen there.
//!
//! The program has an environment of its own: nothing of the person who takes pictures is in them, and no spinner, whose place would
//! be up to chance.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    num::NonZeroU16,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use tempfile::TempDir;

/// How long a step may take; the longest one is the rest of the demo after a question.
const STEP_MAX: Duration = Duration::from_mins(3);
/// What every frame of the live screen ends with.
const FRAME_END: &[u8] = b"\x1b[?2026l";

/// A size in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: u16,
    pub(super) height: u16,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// A terminal on which the demo runs.
pub(super) struct DemoTerminal {
    keys: File,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// Whether the last frame has arrived to its end.
    is_whole: bool,
    child: Child,
    /// Home and temporary files of the program.
    _folder: TempDir,
}

impl DemoTerminal {
    pub(super) fn start(program: &Path, size: Size) -> io::Result<Self> {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&keys)?;
        unlockpt(&keys)?;
        let name = ptsname(&keys, Vec::new())?;
        let name = name.to_str().map_err(io::Error::other)?;
        let line = OpenOptions::new().read(true).write(true).open(name)?;
        let Size { width: ws_col, height: ws_row } = size;
        tcsetwinsize(&line, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })?;
        let folder = tempfile::tempdir()?;
        // The terminal becomes its own, so that it is hung up with it.
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "--wait"])
            .arg(program)
            .args(["demo", "--dir", "demo"])
            .current_dir(&folder);
        command.env_clear().env("HOME", folder.path()).env("TMPDIR", folder.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("FORGE_MOTION", "off");
        command.stdin(line.try_clone()?).stdout(line.try_clone()?).stderr(Stdio::from(line));
        let child = command.spawn()?;
        let keys = File::from(keys);
        let output = read_in_background(keys.try_clone()?);
        let parser = vt100::Parser::new(cells(size.height), cells(size.width), 0);
        Ok(Self { keys, output, parser, is_whole: false, child, _folder: folder })
    }

    pub(super) fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    pub(super) fn press(&mut self, keys: &str) -> io::Result<()> {
        self.keys.write_all(keys.as_bytes())
    }

    /// Waits until the text of a whole frame is so.
    pub(super) fn wait_until(&mut self, is_so: impl Fn(&str) -> bool) -> io::Result<()> {
        let deadline = Instant::now() + STEP_MAX;
        while !(self.is_whole && is_so(&self.screen().contents())) {
            if !self.read(deadline)? {
                return Err(self.failed("the demo ended"));
            }
        }
        Ok(())
    }

    /// Waits until the program has ended, and everything that it wrote is here.
    pub(super) fn wait_for_end(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + STEP_MAX;
        while self.read(deadline)? {}
        Ok(())
    }

    /// Takes the next output. Returns false if there will be no more.
    fn read(&mut self, deadline: Instant) -> io::Result<bool> {
        match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(bytes) => {
                self.parser.process(&bytes);
                self.is_whole = bytes.ends_with(FRAME_END);
                Ok(true)
            }
            Err(RecvTimeoutError::Disconnected) => Ok(false),
            Err(RecvTimeoutError::Timeout) => Err(self.failed("the demo takes too long")),
        }
    }

    fn failed(&self, why: &str) -> io::Error {
        io::Error::other(format!("{why}; its screen:\n{}", self.screen().contents()))
    }
}

impl Drop for DemoTerminal {
    fn drop(&mut self) {
        let _gone = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Reads until every program has left the terminal.
fn read_in_background(mut terminal: File) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = terminal.read(&mut bytes) {
            if sender.send(bytes[..n].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

fn cells(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("a terminal has cells")
}
