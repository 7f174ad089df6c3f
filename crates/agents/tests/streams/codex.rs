//! What is true of Codex alone.

use std::path::Path;

use forge_agents::{
    AgentKind, CodeAccess, Earlier, Price, Session, Signal, TokenCounts, TurnRequest,
    read_transcript,
};
use forge_keeper::{ExitReason, Stderr};

use crate::{Row, recorded_of, signals, summary_of, turn, words};

/// Recorded of Codex 0.166.0. Signals went to the native program, as those of a keeper do.
pub(crate) const STREAMS: &[Row] = &[
    ("401", 1, "failed Auth: unexpected status 401 Unauthorized: Incorrect API key"),
    ("402", 1, "failed Auth: unexpected status 402"),
    ("403", 1, "failed Permission: unexpected status 403"),
    ("404", 1, "failed NoModel: The model `gpt-5.5` does not exist"),
    ("429", 1, "limited RateLimit: exceeded retry limit"),
    ("429-quota", 1, "failed Auth: Quota exceeded"),
    ("500", 1, "limited Server: We’re currently experiencing high demand"),
    ("503", 1, "limited Server: unexpected status 503"),
    ("503-capacity", 1, "limited Server: Selected model is at capacity"),
    ("529", 1, "limited Server: unexpected status 529"),
    ("bad-request", 1, "failed Unknown: nope"),
    ("connection-refused", 1, "limited Network: Connection failed"),
    ("cut", 1, "limited Network: stream disconnected"),
    ("max-tokens", 1, "overflowed: Incomplete response returned"),
    ("mid-work-429", 1, "limited RateLimit: exceeded retry limit"),
    ("midstream", 1, "limited Server: stream disconnected before completion: Overloaded"),
    ("model-unsupported", 1, "failed NoModel: The 'gpt-9' model is not supported"),
    ("no-key", 1, "failed Auth: Missing environment variable: `SCRIPTED_KEY`"),
    ("no-such-host", 1, "limited Network: Connection failed"),
    ("overflow", 1, "overflowed: Your input exceeds the context window"),
    ("refusal", 0, "refused: the model gave no answer"),
    ("session-new", 0, "done"),
    ("session-resumed", 0, "done"),
    ("sigint-mid-tool", 1, "failed Unknown: exit code 1"),
    ("sigint-resumed", 0, "done"),
    ("sigkill-mid-tool", -9, "failed Unknown: killed by signal 9"),
    ("sigkill-resumed", 0, "done"),
    ("sigterm-mid-tool", -15, "failed Unknown: killed by signal 15"),
    ("sigterm-resumed", 0, "done"),
    ("silent-stop", 0, "done"),
    ("stream-idle", 1, "limited Network: stream disconnected"),
    ("trivial", 0, "done"),
    ("unknown-model", 0, "done"),
    ("usage-limit", 1, "limited UsageWindow: You’ve hit your usage limit"),
    ("write-bash", 0, "done"),
];

fn codex() -> AgentKind {
    AgentKind::find("codex").expect("it is in the registry")
}

const ONE_ANSWER: TokenCounts =
    TokenCounts { input: 1000, output: 50, cache_read: 200, cache_write: 100 };

#[test]
fn it_tells_tokens_but_no_model_and_the_one_that_was_asked_for_gives_the_price() {
    let mut trivial = summary_of(codex(), "trivial");
    let [used] = &trivial.uses()[..] else { panic!("one model") };
    assert_eq!((used.provider.as_str(), used.model.as_str()), ("openai", "unknown"));
    assert_eq!((used.tokens, used.cost), (ONE_ANSWER, Price::Missing));
    assert_eq!(trivial.spent_micros(), 0);
    trivial.assume_model(Some("gpt-5.5"), &[]);
    let [used] = &trivial.uses()[..] else { panic!("one model") };
    // 1100 at $5, 200 at $0.50 and 50 at $30 for a million.
    assert_eq!((used.model.as_str(), used.cost), ("gpt-5.5", Price::Estimated(7_100)));
    assert_eq!(trivial.spent_micros(), 7_100);
    let mut house = summary_of(codex(), "trivial");
    house.assume_model(Some("house-model"), &[]);
    assert_eq!(house.uses()[0].cost, Price::Missing, "nobody knows its price");
}

#[test]
fn totals_of_a_session_that_went_on_are_taken_apart() {
    let first = summary_of(codex(), "session-new");
    let earlier = Earlier { uses: first.uses(), ..Earlier::default() };
    let resumed = recorded_of(codex(), "session-resumed");
    let both = read_transcript(codex(), resumed.as_slice(), &Earlier::default());
    assert_eq!(both.uses()[0].tokens, ONE_ANSWER.plus(ONE_ANSWER));
    let second = read_transcript(codex(), resumed.as_slice(), &earlier);
    assert_eq!(second.uses()[0].tokens, ONE_ANSWER);
    assert_eq!(first.session, second.session, "it is the same session");
}

#[test]
fn who_was_turned_away_has_paid_nothing_and_who_was_cut_off_has_an_unknown_price() {
    for name in ["401", "403", "404", "429", "usage-limit", "overflow"] {
        assert_eq!(summary_of(codex(), name).uses(), [], "{name}");
    }
    for name in ["cut", "sigterm-mid-tool", "mid-work-429"] {
        assert_eq!(summary_of(codex(), name).uses()[0].cost, Price::Missing, "{name}");
    }
    let nothing = read_transcript(codex(), &b""[..], &Earlier::default());
    assert_eq!(nothing.uses(), [], "it never came so far as to ask a model");
}

#[test]
fn what_it_says_and_does_is_told() {
    let (all, summary) = signals(codex(), &recorded_of(codex(), "write-bash"), 4096);
    let Signal::Began { session, .. } = &all[0] else { panic!("{:?}", all[0]) };
    assert_eq!((session, session.is_some()), (&summary.session, true));
    let tools: Vec<(&str, &str)> = all
        .iter()
        .filter_map(|signal| match signal {
            Signal::UsedTool { name, about } => Some((name.as_str(), about.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(tools, [("edit", "/w/hello.txt"), ("shell", "cat hello.txt")]);
    assert_eq!(summary.said_last.as_deref(), Some("Done."));
}

#[test]
fn what_it_prints_to_the_error_stream_alone_is_understood() {
    let nothing = read_transcript(codex(), &b""[..], &Earlier::default());
    let end =
        |code: i32, errors: &str| words(&nothing.end(Some(&ExitReason::Exited { code }), errors));
    let gone =
        "Error: thread/resume: thread/resume failed: no rollout found for thread id 01a1f157";
    assert_eq!(end(1, gone), "session gone");
    assert!(end(2, "error: unexpected argument '--nope' found").starts_with("failed Tooling"));
    assert!(
        end(1, "Error loading config.toml:\n/h/config.toml:1:11").starts_with("failed Tooling")
    );
}

#[test]
fn it_is_started_with_nothing_of_the_tree_and_writes_no_setting() {
    let id = "01a1f157-7048-74e2-b7de-a4677ae04609";
    let plain = codex().start(&turn(&[], id, CodeAccess::Writes));
    let line = plain.argv.join(" ");
    for part in [
        "codex exec --json --skip-git-repo-check -c ",
        "-c project_doc_max_bytes=0 -c sandbox_mode=\"danger-full-access\"",
        "-c projects={\"/a/checkout\"={trust_level=\"untrusted\"}}",
        "--model claude-sonnet-4-5 -",
    ] {
        assert!(line.contains(part), "{part}\n{line}");
    }
    assert!(line.ends_with(" -") && !line.contains(id), "it names its session itself: {line}");
    assert_eq!(plain.stderr, Stderr::Apart);
    for name in ["CODEX_HOME", "CODEX_API_KEY", "OPENAI_BASE_URL"] {
        assert!(plain.passes_on(name, |_| false), "{name}");
    }
    let odd = TurnRequest {
        dir: Path::new("/a \"b\"\\c"),
        session: Session::Resume(id),
        ..turn(&[], "new", CodeAccess::Reads)
    };
    let odd = codex().start(&odd).argv;
    assert!(odd.ends_with(&["resume".to_owned(), id.to_owned(), "-".to_owned()]), "{odd:?}");
    let quoted = r#"projects={"/a \"b\"\\c"={trust_level="untrusted"}}"#;
    assert!(odd.contains(&quoted.to_owned()), "{odd:?}");
}
