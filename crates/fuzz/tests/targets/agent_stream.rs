//! The stream of each agent program: it means the same however it is cut, and is done only with a clear last line and exit code 0.

use forge_agents::{
    AgentEnd, AgentKind, Earlier, Listener, Price, Signal, StreamSummary, read_transcript, registry,
};
use forge_fuzz::{FuzzTarget, Random};
use forge_keeper::ExitReason;

#[test]
fn a_stream_means_the_same_in_any_pieces_and_never_ends_well_by_accident() {
    let tokens = &[
        "{\"type\":\"result\",\"is_error\":false,\"subtype\":\"success\"}\n",
        "{\"type\":\"system\",\"subtype\":\"init\"}\n",
        "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n",
        "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"t\"}}\n",
        "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1}}\n",
        "{\"type\":\"turn.failed\",\"error\":{\"message\":\"x\"}}\n",
        "{\"type\":\"step_finish\",\"sessionID\":\"s\",\"part\":{\"reason\":\"stop\",\"cost\":0.1}}\n",
        "{\"type\":\"added\",\"meta\":{\"quota\":{\"model_usage\":[]}}}\n",
        "{\"type\":\"ended\",\"class\":null,\"what\":\"retry in 5h3ms\"}\n",
        "is_error",
        "usage",
        "model_usage_since_last_result",
        "total_cost_usd",
        "costBasis",
        "assistant",
        "content",
        "tool_use",
        "api_retry",
        "retry_delay_ms",
        "rate_limit_event",
        "resetsAt",
        "structured_output",
        "permission_denials",
        "session_id",
        "stop_reason",
        "FORGE",
        "cost",
    ];
    FuzzTarget { name: "agent-stream", check, tokens, bytes_max: 32 * 1024 }.run();
}

/// How the streams of programs begin that have a first line.
const FIRST_LINES: &[&[u8]] = &[
    b"\n{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n",
    b"\n{\"type\":\"thread.started\",\"thread_id\":\"s\"}\n",
    b"\n{\"type\":\"began\"}\n",
];

fn check(input: &[u8]) {
    let mut random = Random::from_bytes(input);
    for kind in registry::ALL {
        let (signals, summary) = listened(kind, input, || usize::MAX);
        let (pieces, cut) = listened(kind, input, || 1 + random.below(40));
        assert_eq!(pieces, signals, "{kind:?}: other signals in pieces");
        assert_eq!(cut, summary, "{kind:?}: another fold in pieces");
        assert_eq!(read_transcript(kind, input, &Earlier::default()), summary);
        let end = summary.end(Some(&ExitReason::Exited { code: 0 }), "");
        if end == AgentEnd::Done && kind.reports_end() {
            let is_end = |signal: &Signal| matches!(signal, Signal::Ended(_));
            assert!(signals.iter().any(is_end), "{kind:?}: done without a last line");
        }
        for how in [
            ExitReason::Exited { code: 1 },
            ExitReason::Signalled { signal: 9 },
            ExitReason::Silent,
        ] {
            assert_ne!(summary.end(Some(&how), ""), AgentEnd::Done, "{kind:?}: done after {how:?}");
        }
        assert_eq!(summary.end(None, ""), AgentEnd::Lost);
        let known =
            summary.uses().iter().filter_map(|one| one.cost.micros()).fold(0, u64::saturating_add);
        if summary.uses().iter().all(|one| !matches!(one.cost, Price::Missing)) {
            assert_eq!(known, summary.spent_micros(), "{kind:?}: the parts are not the sum");
        }
        // Another program behind a finished one has to end well itself.
        for first in FIRST_LINES {
            let began = listened(kind, first, || usize::MAX).0;
            if !began.iter().any(|signal| matches!(signal, Signal::Began { .. })) {
                continue;
            }
            let again =
                read_transcript(kind, [input, first].concat().as_slice(), &Earlier::default());
            let is_done = again.end(Some(&ExitReason::Exited { code: 0 }), "") == AgentEnd::Done;
            assert!(
                !(is_done && kind.reports_end() && kind.reports_begin()),
                "{kind:?}: the end of another stream"
            );
        }
    }
}

fn listened(
    kind: AgentKind,
    input: &[u8],
    mut size: impl FnMut() -> usize,
) -> (Vec<Signal>, StreamSummary) {
    let mut listener = Listener::new(kind, &Earlier::default());
    let mut all = Vec::new();
    let mut rest = input;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(size().min(rest.len()));
        listener.push(piece, |signal| all.push(signal.clone()));
        rest = after;
    }
    let summary = listener.finish(|signal| all.push(signal.clone()));
    (all, summary)
}
