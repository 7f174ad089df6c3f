//! Programs that get the terminal for a while: a pager, an editor; and the shell, after Ctrl-Z.
//!
//! Invariant: while one has it, Ctrl-C goes to that program, and Ctrl-Z stops both.

use std::{
    env, fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use forge_api::Error;
use rustix::process::{Signal, getpid, kill_process};

use super::signals::{ScreenSignal, ScreenSignals};
use crate::editor::{editor_failed, text_editor};

/// How often a program is checked for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(30);
/// The default pager. It must not exit at once if the text is short: the screen returns after it.
const PAGER: &str = "if command -v less >/dev/null; then exec less -R '-Pq goes back to the run'; else exec more; fi";

/// Stops this process until the shell continues it.
pub(crate) fn suspend() {
    let _ignored = kill_process(getpid(), Signal::STOP);
}

/// Shows a sanitized text, which may have Forge's own colours, in the pager.
pub(crate) fn run_pager(text: String, signals: &mut ScreenSignals) -> Result<(), Error> {
    let named = ["FORGE_PAGER", "PAGER"].iter().find_map(|name| env::var(name).ok());
    let pager = named.filter(|pager| !["", "cat"].contains(&pager.trim()));
    let pager = pager.unwrap_or_else(|| PAGER.to_owned());
    let mut child = Command::new("/bin/sh")
        .args(["-c", &pager])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| Error::file(Path::new("/bin/sh"), &error))?;
    let stdin = child.stdin.take();
    // A long text is written while the pager already shows its beginning.
    let writer = thread::spawn(move || {
        // Fails if the person quits the pager early.
        let _ignored = stdin.map(|mut stdin| writeln!(stdin, "{text}"));
    });
    let status = wait(&mut child, signals);
    let _written = writer.join();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Error::surroundings("the pager failed", "set PAGER")),
        Err(error) => Err(Error::file(Path::new("/bin/sh"), &error)),
    }
}

/// Opens `so_far` in the person's editor and returns the edited text.
pub(crate) fn run_editor(so_far: &str, signals: &mut ScreenSignals) -> Result<String, Error> {
    let Some(editor) = text_editor() else {
        return Err(Error::surroundings("no editor was found; set EDITOR", "export EDITOR=vi"));
    };
    let path = env::temp_dir().join(format!("forge-answer-{}.md", std::process::id()));
    let error = |error: io::Error| Error::file(&path, &error);
    // A leftover of an earlier process with the same id.
    let _ignored = fs::remove_file(&path);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(error)?;
    file.write_all(so_far.as_bytes()).map_err(error)?;
    let line = format!("{editor} \"$1\"");
    let child = Command::new("/bin/sh").args(["-c", &line, "sh"]).arg(&path).spawn();
    let status = child.and_then(|mut child| wait(&mut child, signals));
    let text = fs::read_to_string(&path).map_err(error);
    // The file was only for the editor.
    let _ = fs::remove_file(&path);
    match status {
        Ok(status) if status.success() => text,
        Ok(status) => Err(editor_failed(status, "nothing was sent")),
        Err(error) => Err(Error::file(Path::new("/bin/sh"), &error)),
    }
}

fn wait(child: &mut Child, signals: &mut ScreenSignals) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        for signal in signals.received() {
            match signal {
                // The program has stopped already; the shell expects both to stop.
                ScreenSignal::Suspend => suspend(),
                ScreenSignal::HangUp => child.kill()?,
                ScreenSignal::Interrupt | ScreenSignal::Redraw => {}
            }
        }
        thread::sleep(POLL_INTERVAL);
    }
}
