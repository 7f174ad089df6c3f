//! How fast an agent's stream is redacted and understood, and what a very long line costs.

use std::{
    fs,
    io::{BufReader, Read},
    path::Path,
};

use forge_agents::{AgentKind, Earlier, Listener, read_transcript, registry};
use forge_keeper::Redactor;
use rustix::time::{ClockId, clock_gettime};

use crate::measurement::{Bench, Bound, Measured, Unit, float};

fn claude_code() -> AgentKind {
    AgentKind::find("claude").expect("it is in the registry")
}

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

/// A recorded stream, made longer: its messages again and again, between its first and its last line.
fn recorded(lines: usize) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/tests/transcripts/claude");
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

pub(crate) fn measure(bench: &Bench) -> Measured {
    let lines = bench.sized(10_000, 400_000);
    let one =
        "{\"type\":\"said\",\"text\":\"I will look at src/main.rs and then write the test.\"}\n";
    let text = one.repeat(lines);
    let nothing = Earlier::default();
    let figure = |what: &str, speed, bound, compared: &str| {
        bench.figure(&format!("{what}, lines a second"), speed, Unit::PerSecond, bound, compared);
    };
    let speed = lines_a_second(lines, || {
        let summary = read_transcript(registry::SCRIPTED, text.as_bytes(), &nothing);
        assert!(summary.said_last.is_some(), "the last line was summary");
    });
    let compared = format!("lines of {} bytes", one.len());
    figure("the stream of a program", speed, Bound::AtLeast(300_000.0), &compared);
    let claude = recorded(lines);
    let counting = lines_a_second(lines, || {
        let ends = claude.bytes().filter(|byte| *byte == b'\n').count();
        assert_eq!(ends, lines, "every line has an end");
    });
    let speed = lines_a_second(lines, || {
        read_transcript(claude_code(), claude.as_bytes(), &nothing);
    });
    let compared =
        format!("lines of {} bytes; only counting them: {counting:.0}", claude.len() / lines);
    figure("Claude's stream, understood", speed, Bound::None, &compared);
    let mut redactor = Redactor::new([b"a-secret-of-this-project".to_vec()]);
    let mut clean = Vec::with_capacity(2 * CHUNK_BYTES);
    let only_redacted = lines_a_second(lines, || {
        for chunk in claude.as_bytes().chunks(CHUNK_BYTES) {
            redactor.push(chunk, &mut clean);
            clean.clear();
        }
        redactor.finish(&mut clean);
    });
    let speed = lines_a_second(lines, || {
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
    let compared = format!("only redacting them: {only_redacted:.0}");
    figure("Claude's stream, redacted and understood", speed, Bound::AtLeast(300_000.0), &compared);
    let long = bench.sized(1 << 24, 1 << 30);
    for kind in [registry::SCRIPTED, claude_code()] {
        let before = peak_kib();
        let summary = read_transcript(kind, BufReader::new(LongLine(long)), &nothing);
        if summary.skipped != 1 {
            return Err(format!("a line of {long} bytes was not too long"));
        }
        let grown = float(peak_kib().saturating_sub(before)) / 1024.0;
        let what = format!("memory for a line of {} MiB, {}", long >> 20, kind.name());
        let compared = format!("the line: {} MiB", long >> 20);
        bench.figure(&what, grown, Unit::Mib, Bound::AtMost(16.0), compared);
    }
    Ok(())
}

fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or_default()
}
