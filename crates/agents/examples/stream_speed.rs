//! How fast an agent's stream is read and redacted, and what a line of one gigabyte costs.
//! `cargo xtask bench` runs it.

use std::{
    fs,
    io::{BufReader, Read},
    time::Instant,
};

use forge_agents::{Earlier, Kind, Redactor, hear};

const LINES: usize = 400_000;
const LONG_LINE_BYTES: u64 = 1 << 30;

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

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn main() {
    let one =
        "{\"type\":\"said\",\"text\":\"I will look at src/main.rs and then write the test.\"}\n";
    let text = one.repeat(LINES);
    let began = Instant::now();
    let heard = hear(Kind::Scripted, text.as_bytes(), &Earlier::default());
    let per_second = LINES as f64 / began.elapsed().as_secs_f64();
    assert!(heard.said_last.is_some(), "the last line was heard");
    line("agent stream, lines a second", &format!("{per_second:.0}"), "at least 200000");

    let before = peak_kib();
    let _ = hear(Kind::Scripted, BufReader::new(LongLine(LONG_LINE_BYTES)), &Earlier::default());
    let grown = peak_kib().saturating_sub(before);
    line("memory for a line of 1 GiB", &format!("{grown} KiB"), "bounded");

    let mut redactor = Redactor::new([b"a-secret-of-this-project".to_vec()]);
    let mut clean = Vec::with_capacity(text.len() + 1024);
    let began = Instant::now();
    text.as_bytes().chunks(64 * 1024).for_each(|chunk| redactor.push(chunk, &mut clean));
    redactor.finish(&mut clean);
    let speed = text.len() as f64 / began.elapsed().as_secs_f64() / 1e6;
    line("redaction", &format!("{speed:.0} MB/s"), "-");
}

fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or_default()
}
