//! The process that tells: `forge __notify FILE`, with who is told on its standard input.
//!
//! It belongs to nobody's terminal and outlives the driver. Each notifier has its time; what fails is noted in
//! `notify.log`, and all that is left of a notice then is that line.
//!
//! Invariant: a notice is told by whoever renames its file first, and by nobody else.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus, Stdio},
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use forge_keeper::Redactor;
use forge_project::{
    bounded_read::read_text,
    settings::{Switch, shown_url},
};
use rustix::process::{Pid, Signal, kill_process_group, setsid};

use crate::{
    clock::now,
    notify::notice::{Kind, Notice, Recipients},
};

/// Argument 1 of this program.
pub const NOTIFY: &str = "__notify";
/// Where notices lie, in the live folder.
pub(super) const FOLDER: &str = "notify";
/// The log of failures, in the live folder.
pub(super) const LOG: &str = "notify.log";

/// How long one notifier may take.
const TIME: Duration = Duration::from_secs(10);
/// The most bytes of a notice.
const NOTICE_BYTES_MAX: u64 = 1024 * 1024;
/// The most bytes of who is told.
const TOLD_BYTES_MAX: u64 = 1024 * 1024;
/// The most bytes of what a command wrote to its standard error that are noted.
const ERROR_BYTES_MAX: u64 = 400;
/// Nothing more is noted in a log of this many bytes.
const LOG_BYTES_MAX: u64 = 1024 * 1024;

/// Tells what lies in a file.
pub fn tell(args: &[OsString]) -> ExitCode {
    let Some(file) = args.first().map(PathBuf::from) else { return ExitCode::from(2) };
    let _is_leader_already = setsid();
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(TOLD_BYTES_MAX).read_to_end(&mut bytes);
    let recipients = read.ok().and_then(|_| serde_json::from_slice::<Recipients>(&bytes).ok());
    let (Some(recipients), Some(live)) = (recipients, file.parent().and_then(Path::parent)) else {
        return ExitCode::from(2);
    };
    let taken = file.with_extension("taken");
    // Somebody else was faster.
    if fs::rename(&file, &taken).is_err() {
        return ExitCode::SUCCESS;
    }
    let text = read_text(&taken, NOTICE_BYTES_MAX).ok().flatten();
    if let Some(notice) = text.and_then(|text| serde_json::from_str::<Notice>(&text).ok()) {
        tell_all(&recipients, &notice, live, &taken);
    }
    let _gone_already = fs::remove_file(&taken);
    ExitCode::SUCCESS
}

/// Tells everybody at once, so that none waits for another.
fn tell_all(recipients: &Recipients, notice: &Notice, live: &Path, taken: &Path) {
    let log = &live.join(LOG);
    thread::scope(|scope| {
        if let Some(command) = &recipients.command {
            scope.spawn(|| {
                let errors = taken.with_extension("stderr");
                if let Err(why) = tell_command(command, &recipients.dir, notice, &errors, TIME) {
                    let name = command.first().map_or("", String::as_str);
                    note(log, &format!("{}: {name} {why}", notice.kind.as_str()));
                }
                let _gone_already = fs::remove_file(errors);
            });
        }
        if let Some(url) = &recipients.webhook {
            scope.spawn(move || {
                if let Err(why) = tell_webhook(url, notice) {
                    let (kind, shown) = (notice.kind.as_str(), shown_url(url));
                    note(log, &format!("{kind}: {shown} {}", why.replace(url.as_str(), &shown)));
                }
            });
        }
        if recipients.desktop == Switch::On {
            scope.spawn(|| {
                if let Err(why) = tell_desktop(notice, &recipients.dir) {
                    note_once(log, &format!("the desktop notification failed: {why}"));
                }
            });
        }
    });
}

/// The same as on the standard input, for programs that read no JSON.
fn variables(notice: &Notice) -> [(&'static str, String); 6] {
    // A variable cannot hold a zero.
    let text = |text: &str| text.replace('\0', "\u{fffd}");
    [
        ("FORGE_NOTIFY_RUN", text(&notice.run)),
        ("FORGE_NOTIFY_KIND", notice.kind.as_str().to_owned()),
        ("FORGE_NOTIFY_MESSAGE", text(&notice.message)),
        ("FORGE_NOTIFY_NEXT", text(&notice.next)),
        ("FORGE_NOTIFY_REPO", text(&notice.repo)),
        ("FORGE_NOTIFY_AT", notice.at.to_string()),
    ]
}

fn tell_command(
    words: &[String],
    dir: &Path,
    notice: &Notice,
    errors: &Path,
    time: Duration,
) -> Result<(), String> {
    let (program, args) = words.split_first().ok_or("is not a program")?;
    // A path begins where the person works, whichever folder the system would begin at.
    let program = if program.contains('/') { dir.join(program) } else { PathBuf::from(program) };
    let stderr = File::create(errors).map_or(Stdio::null(), Stdio::from);
    let mut command = Command::new(program);
    command.args(args).envs(variables(notice)).stderr(stderr);
    let body = serde_json::to_vec(notice).expect("a notice can be written");
    let status = run(command, dir, &body, time)?;
    if status.success() {
        return Ok(());
    }
    let mut said = String::new();
    if let Ok(file) = File::open(errors) {
        let mut bytes = Vec::new();
        let _ = file.take(ERROR_BYTES_MAX).read_to_end(&mut bytes);
        let clean = Redactor::new(std::iter::empty()).clean(&bytes);
        said = String::from_utf8_lossy(&clean).split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    };
    Err(if said.is_empty() { how } else { format!("{how}: {said}") })
}

/// Runs a program in its time, and kills it and what it started if that is over.
fn run(
    mut command: Command,
    dir: &Path,
    input: &[u8],
    time: Duration,
) -> Result<ExitStatus, String> {
    command.current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (ended, end) = channel();
    let stdin = child.stdin.take();
    let input = input.to_vec();
    thread::spawn(move || {
        // Who does not want to read it need not.
        let _not_read = stdin.map(|mut stdin| stdin.write_all(&input));
    });
    thread::spawn(move || ended.send(child.wait()));
    match end.recv_timeout(time) {
        Ok(status) => status.map_err(|error| format!("cannot be waited for: {error}")),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            let _gone_already = group.map(|group| kill_process_group(group, Signal::KILL));
            Err(format!("took longer than {} s and was killed", time.as_secs()))
        }
    }
}

fn tell_webhook(url: &str, notice: &Notice) -> Result<(), String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(TIME))
        .max_redirects(0)
        .http_status_as_error(false)
        .build()
        .into();
    let body = serde_json::to_vec(notice).expect("a notice can be written");
    let answer = agent.post(url).content_type("application/json").send(&body[..]);
    let answer = answer.map_err(|error| format!("was not reached: {error}"))?;
    let status = answer.status();
    if status.is_success() { Ok(()) } else { Err(format!("answered with {}", status.as_u16())) }
}

/// Shows it on the desktop, or says why not.
fn tell_desktop(notice: &Notice, dir: &Path) -> Result<(), String> {
    let title = match notice.kind {
        Kind::Question => "Forge has a question",
        Kind::HandOff => "Forge needs you",
        Kind::Stop => "Forge has stopped",
        Kind::Limit => "Forge waits for a provider",
        Kind::End => "Forge has ended a run",
    };
    let text = format!("{}\n{}", notice.message, notice.next);
    let (program, mut command);
    if cfg!(target_os = "macos") {
        program = "osascript";
        command = Command::new(program);
        let script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
        command.args(["-e", script, title, &text]);
    } else {
        program = "notify-send";
        command = Command::new(program);
        // It takes a few tags for its own.
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        command.args(["--app-name=Forge", "--", title, &text]);
    }
    command.stderr(Stdio::null());
    let status = run(command, dir, b"", TIME).map_err(|why| format!("{program} {why}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} ended with {status}")) }
}

/// Adds a line that is not there yet: what is missing is missing for every notice.
fn note_once(log: &Path, what: &str) {
    let known = read_text(log, 2 * LOG_BYTES_MAX).ok().flatten().unwrap_or_default();
    if !known.lines().any(|line| line.ends_with(what)) {
        note(log, what);
    }
}

/// Adds a line to the log. If even that cannot be done, nobody is told.
pub(super) fn note(log: &Path, what: &str) {
    let when = i64::try_from(now()).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    let when = when.map(|when| when.to_string()).unwrap_or_default();
    let what: String = what.replace(char::is_control, " ");
    let is_full = fs::metadata(log).is_ok_and(|log| log.len() > LOG_BYTES_MAX);
    if !is_full {
        let file = File::options().append(true).create(true).open(log);
        let _nobody =
            file.and_then(|mut file| file.write_all(format!("{when}  {what}\n").as_bytes()));
    }
}

#[cfg(test)]
mod tests;
