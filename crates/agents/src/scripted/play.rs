//! `forge __scripted SCENARIO_FILE LOG_FILE`: the process which plays.
//!
//! The order of a play is fixed: say, files, append, artifacts, progress, run, detach, huge output,
//! usage, spends, wait; then hang, or crash, or limit; then the result, and the end.
//!
//! Invariant: a start is logged before anything is done, and an end only if it gets that far.

use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};

use super::scenario::{
    Crash, Detach, LaterTurn, Play, PlayedCall, PlayedLimit, PlayedUsage, Scenario,
};
use crate::variables::TURN_VARIABLE;
use forge_core::result::{RESULT_FILE, RESULT_FORMAT};
use forge_keeper::{CALL_VARIABLE, OUTBOX_VARIABLE};

/// The scenario has no play for this call.
pub const NOBODY_PLAYS_EXIT: u8 = 64;
/// The scenario has a mistake, or cannot be read.
const SCENARIO_EXIT: u8 = 65;
/// A limit was run into, or something in a play could not be done.
const FAILED_EXIT: u8 = 1;
/// The role of this call.
const ROLE_VARIABLE: &str = "FORGE_ROLE";
/// How long a process that is left behind stays.
const LEFT_BEHIND_SECONDS: u32 = 600;
const BLOCK_BYTES: usize = 1024;

/// Runs `forge __scripted`; `args` are those after `__scripted`.
pub fn play(args: Vec<OsString>) -> ExitCode {
    let Ok([scenario, log]) = <[OsString; 2]>::try_from(args) else {
        return complain(SCENARIO_EXIT, "usage: __scripted SCENARIO_FILE LOG_FILE");
    };
    let stage = match PlayContext::from_environment(Path::new(&log)) {
        Ok(stage) => stage,
        Err(what) => return complain(SCENARIO_EXIT, &what),
    };
    let name = Path::new(&scenario).display();
    let text = match fs::read_to_string(&scenario) {
        Ok(text) => text,
        Err(error) => return complain(SCENARIO_EXIT, &format!("cannot read `{name}`: {error}")),
    };
    let parsed = match Scenario::parse(&text) {
        Ok(parsed) => parsed,
        Err(flaw) => return complain(SCENARIO_EXIT, &format!("{name}, {flaw}")),
    };
    let Some(play) = parsed.play_in(stage.turn, &stage.role, &stage.call) else {
        let (role, call) = (&stage.role, &stage.call);
        let message = format!("{name}: no play has the role `{role}` (call `{call}`)");
        return complain(NOBODY_PLAYS_EXIT, &message);
    };
    let session = parsed.sessions.then(|| stage.session());
    match stage.perform(play, session.as_deref()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            complain(FAILED_EXIT, &format!("cannot run the play `{}`: {error}", stage.call))
        }
    }
}

fn complain(code: u8, message: &str) -> ExitCode {
    // If nobody can hear it, the exit code still says it.
    let _ = writeln!(io::stderr(), "scripted agent: {message}");
    ExitCode::from(code)
}

/// The environment of a play.
struct PlayContext {
    role: String,
    turn: Option<LaterTurn>,
    call: PlayedCall,
    outbox: PathBuf,
    log: PathBuf,
}

impl PlayContext {
    fn from_environment(log: &Path) -> Result<Self, String> {
        let call = env::var(CALL_VARIABLE).map_err(|_| format!("{CALL_VARIABLE} is not set"))?;
        let parsed = PlayedCall::parse(&call);
        let outbox = env::var_os(OUTBOX_VARIABLE);
        Ok(Self {
            role: env::var(ROLE_VARIABLE).unwrap_or_default(),
            turn: LaterTurn::parse(&env::var(TURN_VARIABLE).unwrap_or_default()),
            call: parsed.ok_or_else(|| format!("{CALL_VARIABLE} `{call}` is not a call"))?,
            outbox: outbox.ok_or_else(|| format!("{OUTBOX_VARIABLE} is not set"))?.into(),
            log: log.to_owned(),
        })
    }

    /// Returns the name of its session: whoever goes on or mends does so under the same one.
    fn session(&self) -> String {
        match &self.call.gate {
            Some(gate) => format!("scripted:{}/{gate}", self.call.unit),
            None => format!("scripted:{}", self.call.unit),
        }
    }

    fn perform(&self, play: &Play, session: Option<&str>) -> io::Result<u8> {
        self.log("start")?;
        let code = self.act(play, session);
        self.log("end")?;
        code
    }

    fn act(&self, play: &Play, session: Option<&str>) -> io::Result<u8> {
        if play.ignore_term {
            let received = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(signal_hook::consts::SIGTERM, received)?;
        }
        let voice = if play.silence { Voice::Silent } else { Voice::Loud };
        if let Some(session) = session {
            voice.say(&json!({ "type": "began", "session": session }))?;
        }
        for text in &play.say {
            sleep(Duration::from_millis(play.delay_ms));
            voice.say(&json!({ "type": "said", "text": text }))?;
        }
        self.leave_files(play)?;
        if let Some(command) = &play.run {
            run(command, voice)?;
        }
        for way in &play.detach {
            leave_behind(*way)?;
        }
        voice.print_bytes(play.huge_output_bytes, Some(BLOCK_BYTES))?;
        voice.print_bytes(play.huge_line_bytes, None)?;
        if let Some(usage) = &play.usage {
            voice.say(&spent(usage))?;
        }
        for usage in &play.spends {
            sleep(Duration::from_millis(play.delay_ms));
            voice.say(&spent(usage))?;
        }
        sleep(Duration::from_millis(play.wait_ms));
        if play.hang {
            hang();
        }
        if let Some(crash) = play.crash {
            die(crash);
        }
        if let Some(limit) = &play.limit {
            voice.say(&limited(limit))?;
            return Ok(FAILED_EXIT);
        }
        self.leave_result(play)?;
        voice.say(&json!({ "type": "ended", "ok": play.exit == 0 }))?;
        Ok(play.exit)
    }

    fn leave_files(&self, play: &Play) -> io::Result<()> {
        for (path, content) in &play.files {
            write(Path::new(path.as_str()), content)?;
        }
        for (path, content) in &play.append {
            append(Path::new(path.as_str()), content)?;
        }
        for (path, content) in &play.artifacts {
            write(&self.outbox.join(path.as_str()), content)?;
        }
        for line in &play.progress {
            append(&self.outbox.join("progress"), &format!("{line}\n"))?;
        }
        Ok(())
    }

    fn leave_result(&self, play: &Play) -> io::Result<()> {
        if play.no_result {
            return Ok(());
        }
        let text = match (&play.result_text, &play.result) {
            (Some(text), _) => text.clone(),
            (None, Some(result)) => self.completed(serde_json::to_value(result)?),
            (None, None) => self.completed(json!({})),
        };
        write(&self.outbox.join(RESULT_FILE), &text)
    }

    /// Fills in what the contract wants in every result.
    fn completed(&self, mut result: Value) -> String {
        let keys = result.as_object_mut().expect("a played result is an object");
        keys.entry("forge").or_insert(json!(RESULT_FORMAT));
        keys.entry("attempt").or_insert(json!(self.call.to_string()));
        keys.entry("status").or_insert(json!("done"));
        keys.entry("summary").or_insert(json!("played"));
        result.to_string()
    }

    /// Appends one line at once: many agents write to the same log.
    fn log(&self, what: &str) -> io::Result<()> {
        let pid = getpid().as_raw_nonzero().get();
        let mut line =
            json!({ "at_ms": now_ms(), "what": what, "call": self.call.to_string(), "pid": pid });
        if let Some(turn) = self.turn {
            line["turn"] = json!(turn.as_str());
        }
        append(&self.log, &format!("{line}\n"))
    }
}

/// Output of a play: printed, or kept back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    Loud,
    Silent,
}

impl Voice {
    fn say(self, line: &Value) -> io::Result<()> {
        self.print(format!("{line}\n").as_bytes())
    }

    fn print(self, bytes: &[u8]) -> io::Result<()> {
        if self == Self::Silent {
            return Ok(());
        }
        let mut out = io::stdout();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Prints exactly so many bytes: lines of a length, or one line.
    fn print_bytes(self, mut left: u64, line: Option<usize>) -> io::Result<()> {
        let mut block = vec![b'x'; BLOCK_BYTES];
        if let Some(line) = line {
            block[line - 1] = b'\n';
        }
        while left > 0 {
            let bytes = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
            left -= bytes as u64;
            if left == 0 {
                block[bytes - 1] = b'\n';
            }
            self.print(&block[..bytes])?;
        }
        Ok(())
    }
}

fn write(path: &Path, content: &str) -> io::Result<()> {
    make_room(path)?;
    fs::write(path, content)
}

fn append(path: &Path, content: &str) -> io::Result<()> {
    make_room(path)?;
    OpenOptions::new().append(true).create(true).open(path)?.write_all(content.as_bytes())
}

fn make_room(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs::create_dir_all(parent),
        Some(_) | None => Ok(()),
    }
}

fn run(command: &str, voice: Voice) -> io::Result<()> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null());
    if voice == Voice::Silent {
        shell.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let status = shell.status()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("`{command}` failed: {status}")))
}

/// Leaves a sleeping process behind. It keeps our output open, as careless programs do.
fn leave_behind(way: Detach) -> io::Result<()> {
    let nap = format!("sleep {LEFT_BEHIND_SECONDS}");
    let (program, arguments) = match way {
        Detach::Setsid => ("setsid", vec!["sh".to_owned(), "-c".to_owned(), format!("{nap}; :")]),
        Detach::Nohup => ("nohup", vec!["sleep".to_owned(), LEFT_BEHIND_SECONDS.to_string()]),
        Detach::DoubleFork => ("sh", vec!["-c".to_owned(), format!("({nap} &) &")]),
    };
    let mut child = Command::new(program).args(arguments).stdin(Stdio::null()).spawn()?;
    match way {
        // The shell goes at once; only what it left stays.
        Detach::DoubleFork => child.wait().map(drop),
        Detach::Setsid | Detach::Nohup => Ok(()),
    }
}

fn spent(usage: &PlayedUsage) -> Value {
    json!({
        "type": "spent",
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "cost_micros": usage.cost.map(|cost| cost.micros),
    })
}

fn limited(limit: &PlayedLimit) -> Value {
    let until_ms = now_ms().saturating_add(limit.reset_in_ms);
    json!({ "type": "limited", "kind": limit.kind, "until_ms": until_ms })
}

fn hang() -> ! {
    loop {
        sleep(Duration::from_secs(3600));
    }
}

fn die(crash: Crash) -> ! {
    let signal = match crash {
        Crash::Abort => std::process::abort(),
        Crash::Kill => Signal::KILL,
        Crash::Segv => Signal::SEGV,
    };
    // The runtime's own handler takes the first SIGSEGV, and steps aside for the second.
    loop {
        let _ = kill_process(getpid(), signal);
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
