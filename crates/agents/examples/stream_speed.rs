//! How fast an agent's stream is redacted and understood, and what a line of one gigabyte costs.
//! `cargo xtask bench` runs it.

use std::{
    fs,
    io::{BufReader, Read},
    path::Path,
};

use forge_agents::{AgentKind, Earlier, Listener, read_transcript, registry};
use forge_keeper::Redactor;
use rustix::time::{ClockId, clock_gettime};

fn claude_code() -> AgentKind {
    AgentKind::find("claude").expect("it is in the registry")
}

const LINES: usize = 400_000;
const LONG_LINE_BYTES: u64 = 1 << 30;
/// As a keeper reads.
const CHUNK_BYTES: usize = 64 * 1024;

/// A line without an end, made as it is read.
struct LongLine(u64);

impl Read for LongLine {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = usize::try_from(self.0).unwrap_or(usize::MAX).min(buffer.len());
        buffer[..n].fill(b'x');
        self.0 -= n as u64;
        Ok(n)
    }
}

#[expect(clippy::print_stdout, reason = "it prints figures")]
fn line(what: &str, figure: &str, compared: &str) {
    println!("{what:<58} {figure:>14}   {compared}");
}

/// A recorded stream, made longer: its messages again and again, between its first and its last line.
fn recorded(lines: usize) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/claude");
    let one = fs::read_to_string(folder.join("write-bash.jsonl")).expect("it was recorded");
    let all: Vec<&str> = one.lines().collect();
    let [first, messages @ .., last] = &all[..] else { panic!("it has a first and a last line") };
    let messages = messages.iter().cycle().take(lines - 2);
    [first].into_iter().chain(messages).chain([last]).flat_map(|line| [line, "\n"]).collect()
}

/// Runs it, and says how many lines it took in one second of one core: others use the machine, too.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn lines_a_second(lines: usize, run: impl FnOnce()) -> f64 {
    let began = busy_seconds();
    run();
    lines as f64 / (busy_seconds() - began)
}

/// How long this thread has had a core so far.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn busy_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn main() {
    let one =
        "{\"type\":\"said\",\"text\":\"I will look at src/main.rs and then write the test.\"}\n";
    let text = one.repeat(LINES);
    let nothing = Earlier::default();
    let speed = lines_a_second(LINES, || {
        let summary = read_transcript(registry::SCRIPTED, text.as_bytes(), &nothing);
        assert!(summary.said_last.is_some(), "the last line was summary");
    });
    line("agent stream, lines a second", &format!("{speed:.0}"), "at least 200000");

    let claude = recorded(LINES);
    let mean = claude.len() / LINES;
    let speed = lines_a_second(LINES, || {
        let ends = claude.bytes().filter(|byte| *byte == b'\n').count();
        assert_eq!(ends, LINES, "every line has an end");
    });
    line("Claude stream, only counting lines a second", &format!("{speed:.0}"), "-");
    let speed = lines_a_second(LINES, || {
        read_transcript(claude_code(), claude.as_bytes(), &nothing);
    });
    let size = format!("-, lines of {mean} bytes");
    line("Claude stream, understood lines a second", &format!("{speed:.0}"), &size);
    let speed = lines_a_second(LINES, || {
        let mut redactor = Redactor::new([b"a-secret-of-this-project".to_vec()]);
        let mut listener = Listener::live(claude_code(), &nothing);
        let mut clean = Vec::with_capacity(2 * CHUNK_BYTES);
        for chunk in claude.as_bytes().chunks(CHUNK_BYTES) {
            redactor.push(chunk, &mut clean);
            listener.push(&clean, |_| {});
            clean.clear();
        }
        redactor.finish(&mut clean);
        listener.push(&clean, |_| {});
        assert!(listener.summary().spent_micros() > 0, "it was listened to");
    });
    let compared = "at least 200000";
    line("Claude stream, redacted and understood lines a second", &format!("{speed:.0}"), compared);

    for kind in [registry::SCRIPTED, claude_code()] {
        let before = peak_kib();
        let summary = read_transcript(kind, BufReader::new(LongLine(LONG_LINE_BYTES)), &nothing);
        assert_eq!(summary.skipped, 1, "it is too long");
        let grown = peak_kib().saturating_sub(before);
        let what = format!("memory for a line of 1 GiB, {}", kind.name());
        line(&what, &format!("{grown} KiB"), "bounded");
    }

    let mut redactor = Redactor::new([b"a-secret-of-this-project".to_vec()]);
    let mut clean = Vec::with_capacity(text.len() + 1024);
    let began = busy_seconds();
    text.as_bytes().chunks(CHUNK_BYTES).for_each(|chunk| redactor.push(chunk, &mut clean));
    redactor.finish(&mut clean);
    let speed = text.len() as f64 / (busy_seconds() - began) / 1e6;
    line("redaction", &format!("{speed:.0} MB/s"), "-");
}

fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or_default()
}
