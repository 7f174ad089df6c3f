//! What a line of 100 MB costs. Alone in its process, whose memory is measured.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use std::fs;

use forge_agents::{AgentEnd, AgentKind, Earlier, Listener};
use forge_keeper::ExitReason;

fn claude() -> AgentKind {
    AgentKind::find("claude").expect("it is in the registry")
}

const PIECE_BYTES: usize = 64 * 1024;
const PIECES: usize = 1_600;
const GROWN_KIB_MAX: u64 = 32 * 1024;

#[test]
fn a_line_of_100_megabytes_is_skipped_and_counted_and_costs_no_memory() {
    let good = b"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false}\n";
    let piece = vec![b'x'; PIECE_BYTES];
    for (live, max_kib) in [(false, GROWN_KIB_MAX), (true, GROWN_KIB_MAX / 8)] {
        let nothing = Earlier::default();
        let before = peak_kib();
        let mut listener = if live {
            Listener::live(claude(), &nothing)
        } else {
            Listener::new(claude(), &nothing)
        };
        listener.push(b"{\"type\":\"assistant\",\"message\":{\"content\":[{\"text\":\"", |_| {});
        for _ in 0..PIECES {
            listener.push(&piece, |_| {});
        }
        listener.push(b"\"}]}}\n", |_| {});
        listener.push(good, |_| {});
        let summary = listener.finish(|_| {});
        assert_eq!(summary.skipped, 1);
        assert_eq!(summary.end(Some(&ExitReason::Exited { code: 0 }), ""), AgentEnd::Done);
        let grown = peak_kib().saturating_sub(before);
        assert!(grown < max_kib, "{grown} KiB for a line of 100 MB");
    }
}

fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}
