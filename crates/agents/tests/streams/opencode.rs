//! What is true of opencode alone.

use forge_agents::{
    AgentEnd, AgentKind, CodeAccess, Earlier, Price, Session, Signal, TokenCounts, TurnRequest,
    read_transcript,
};
use forge_keeper::ExitReason;

use crate::{Row, recorded_of, signals, summary_of, turn, words};

/// Recorded of opencode 1.18.33. Signals went to the native program, as those of a keeper do; what did not end by itself got SIGTERM.
pub(crate) const STREAMS: &[Row] = &[
    ("400", 1, "failed Unknown: nope"),
    ("401", 1, "failed Auth: Incorrect API key provided"),
    ("403", 1, "failed Permission: Country not supported"),
    ("404", 1, "failed NoModel: The model does not exist"),
    ("429", 1, "limited RateLimit, delay 1000: slow down"),
    ("500", 1, "limited Server: boom"),
    ("connection-refused", 1, "limited Network: Cannot connect to API"),
    ("cut", -15, "failed Unknown: killed by signal 15"),
    ("max-tokens", 0, "overflowed: the answer was cut"),
    ("midstream", -15, "failed Unknown: killed by signal 15"),
    ("no-price", 0, "done"),
    ("overflow", -15, "overflowed: This model's maximum context length"),
    ("refusal", 1, "refused: The response was blocked"),
    ("session-new", 0, "done"),
    ("session-resumed", 0, "done"),
    ("sigkill-mid-tool", -9, "failed Unknown: killed by signal 9"),
    ("sigkill-resumed", 0, "done"),
    ("sigterm-mid-tool", -15, "failed Unknown: killed by signal 15"),
    ("sigterm-resumed", 0, "done"),
    ("unknown-model", 1, "failed Unknown: exit code 1"),
    ("unknown-provider", 1, "failed Unknown: exit code 1"),
    ("unknown-session", 1, "failed Unknown: exit code 1"),
    ("write-bash", 0, "done"),
];

fn opencode() -> AgentKind {
    AgentKind::find("opencode").expect("it is in the registry")
}

#[test]
fn every_step_has_its_price_and_one_of_nothing_is_estimated_or_unknown() {
    let written = summary_of(opencode(), "write-bash");
    let [used] = &written.uses()[..] else { panic!("one model") };
    let three = TokenCounts { input: 3300, output: 150, cache_read: 600, cache_write: 0 };
    assert_eq!((used.tokens, used.cost), (three, Price::Reported(3 * 4_110)));
    let mut free = summary_of(opencode(), "no-price");
    assert_eq!(free.uses()[0].cost, Price::Missing);
    free.assume_model(Some("house/model-1"), &[]);
    assert_eq!(
        (free.uses()[0].model.as_str(), free.uses()[0].cost),
        ("house/model-1", Price::Missing)
    );
    let mut known = summary_of(opencode(), "no-price");
    known.assume_model(Some("openai/gpt-5.5"), &[]);
    // 1100 at $5, 200 at $0.50 and 50 at $30 for a million.
    assert_eq!(known.uses()[0].cost, Price::Estimated(7_100), "the provider is before the name");
    // Each process tells its own use.
    let again = summary_of(opencode(), "session-resumed");
    assert_eq!(again.uses()[0].cost, Price::Reported(4_110));
    assert_eq!(again.session, summary_of(opencode(), "session-new").session);
}

#[test]
fn what_it_says_and_does_is_told_and_what_it_tells_itself_is_not() {
    let (all, summary) = signals(opencode(), &recorded_of(opencode(), "write-bash"), 4096);
    let Signal::Began { session, .. } = &all[0] else { panic!("{:?}", all[0]) };
    assert_eq!((session, session.is_some()), (&summary.session, true));
    let tools: Vec<(&str, &str)> = all
        .iter()
        .filter_map(|signal| match signal {
            Signal::UsedTool { name, about } => Some((name.as_str(), about.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(tools, [("write", "/h/other/hello.txt"), ("bash", "cat ../other/hello.txt")]);
    assert_eq!(summary.said_last.as_deref(), Some("Done."));
    let compacted = summary_of(opencode(), "overflow");
    assert_eq!(compacted.said_last.as_deref(), Some("A title"), "a text of its own is left out");
}

#[test]
fn what_only_its_log_tells_is_understood() {
    let end = |name: &str, errors: &str| {
        words(&summary_of(opencode(), name).end(Some(&ExitReason::Exited { code: 1 }), errors))
    };
    let log = "level=ERROR message=failed error=\"ProviderModelNotFoundError: Model not found: scripted/model-9.";
    assert!(end("unknown-model", log).starts_with("failed NoModel: exit code 1"));
    assert_eq!(end("unknown-session", "Error: Session not found\n"), "session gone");
    let nothing = read_transcript(opencode(), &b""[..], &Earlier::default());
    assert_ne!(nothing.end(Some(&ExitReason::Exited { code: 0 }), ""), AgentEnd::Done);
}

#[test]
fn it_is_started_with_nothing_of_the_tree() {
    let plain = opencode().start(&turn(&[], "id", CodeAccess::Writes));
    let line = plain.argv.join(" ");
    assert_eq!(
        line,
        "opencode run --format json --auto --print-logs --log-level ERROR --model claude-sonnet-4-5 --title Forge"
    );
    let set = |name: &str| plain.env.iter().any(|(set, _)| set == name);
    assert!(set("OPENCODE_DISABLE_PROJECT_CONFIG") && set("OPENCODE_PERMISSION"));
    assert!(plain.passes_on("OPENCODE_CONFIG", |_| false));
    assert!(!plain.passes_on("OPENAI_API_KEY", |_| false), "whose key it is, nobody knows");
    let resumed =
        TurnRequest { session: Session::Resume("ses_1"), ..turn(&[], "new", CodeAccess::Reads) };
    let resumed = opencode().start(&resumed).argv;
    assert!(resumed.ends_with(&["--session".to_owned(), "ses_1".to_owned()]), "{resumed:?}");
}
