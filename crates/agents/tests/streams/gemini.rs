//! What is true of Gemini CLI alone.

use forge_agents::{
    AgentKind, CodeAccess, Earlier, Price, Session, Signal, TokenCounts, TurnRequest,
    read_transcript,
};
use forge_keeper::ExitReason;

use crate::{Row, own_words, recorded_of, signals, summary_of, turn, words};

/// Recorded of Gemini CLI 0.61.0, which `forge __acp` spoke with. Signals went to both, as those of a keeper do.
pub(crate) const STREAMS: &[Row] = &[
    ("400-key", 1, "failed Auth: API key not valid. Please pass a valid API key."),
    ("401", 1, "failed Auth: API key not valid: log in with"),
    ("403", 1, "failed Permission: Permission denied on resource"),
    ("404", 1, "failed NoModel: models/gemini-9 is not found"),
    ("429", 1, "limited RateLimit: slow down"),
    ("429-capacity", 1, "limited UsageWindow, delay 7384000: You have exhausted your capacity"),
    ("429-daily", 1, "limited UsageWindow: You have exhausted your daily quota"),
    ("500", 1, "limited Server: boom"),
    ("503", 1, "limited Server: The model is overloaded."),
    ("bad-flag", 1, "failed Unusable: the agent ended before it answered initialize"),
    ("connection-refused", 1, "limited Network: "),
    ("cut", 1, "limited Network: terminated"),
    // It tells nothing of it: that the result is not there is all there is to see.
    ("max-tokens", 0, "done"),
    ("midstream", 0, "limited Server: its answer broke off"),
    ("no-key", 1, "failed Auth: Gemini API key is missing"),
    ("overflow", 1, "overflowed: The input token count (3) exceeds"),
    ("refusal", 0, "refused: the model gave no answer"),
    ("session-new", 0, "done"),
    ("session-resumed", 0, "done"),
    ("sigkill-mid-tool", -9, "failed Unknown: killed by signal 9"),
    ("sigkill-resumed", 0, "done"),
    ("sigterm-mid-tool", 1, "interrupted"),
    ("sigterm-resumed", 0, "done"),
    ("unknown-session", 1, "session gone"),
    ("write-bash", 0, "done"),
];

fn gemini() -> AgentKind {
    AgentKind::find("gemini").expect("it is in the registry")
}

#[test]
fn tokens_of_each_process_are_told_at_its_end_with_their_model_and_estimated() {
    let written = summary_of(gemini(), "write-bash");
    let [used] = &written.uses()[..] else { panic!("one model") };
    assert_eq!((used.provider.as_str(), used.model.as_str()), ("google", "gemini-2.5-pro"));
    // What was read from the cache is not told apart.
    let three = TokenCounts { input: 3900, output: 150, ..TokenCounts::default() };
    // 3900 at $1.25 and 150 at $10 for a million.
    assert_eq!((used.tokens, used.cost), (three, Price::Estimated(6_375)));
    let first = summary_of(gemini(), "session-new");
    let earlier = Earlier { uses: first.uses(), ..Earlier::default() };
    let resumed = recorded_of(gemini(), "session-resumed");
    let again = read_transcript(gemini(), resumed.as_slice(), &earlier);
    assert_eq!(again.uses(), first.uses(), "each process tells its own use");
    assert_eq!(again.session, first.session, "it is the same session");
}

#[test]
fn who_was_turned_away_has_paid_nothing_and_who_was_cut_off_has_an_unknown_price() {
    for name in ["401", "403", "404", "429", "429-daily", "overflow", "no-key", "unknown-session"] {
        assert_eq!(summary_of(gemini(), name).uses(), [], "{name}");
    }
    for name in ["cut", "midstream", "500", "sigkill-mid-tool", "sigterm-mid-tool"] {
        assert_eq!(summary_of(gemini(), name).uses()[0].cost, Price::Missing, "{name}");
    }
    let nothing = read_transcript(gemini(), &b""[..], &Earlier::default());
    assert_eq!(nothing.uses(), [], "it never came so far as to ask a model");
}

#[test]
fn what_it_says_and_does_is_told() {
    let (all, summary) = signals(gemini(), &recorded_of(gemini(), "write-bash"), 4096);
    let Signal::Began { session, version, .. } = &all[0] else { panic!("{:?}", all[0]) };
    assert_eq!((session, session.is_some()), (&summary.session, true));
    assert_eq!(version.as_deref(), gemini().tested_version());
    let tools: Vec<(&str, &str)> = all
        .iter()
        .filter_map(|signal| match signal {
            Signal::UsedTool { name, about } => Some((name.as_str(), about.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(tools, [("edit", "Writing to hello.txt"), ("execute", "cat hello.txt")]);
    assert_eq!(summary.said_last.as_deref(), Some("Done."));
}

#[test]
fn when_a_limit_is_lifted_is_read_from_its_words() {
    let delay = |what: &str| {
        let line = format!("{{\"type\":\"ended\",\"class\":\"rate_limit\",\"what\":\"{what}\"}}\n");
        let summary = read_transcript(gemini(), line.as_bytes(), &Earlier::default());
        words(&summary.end(Some(&ExitReason::Exited { code: 1 }), ""))
    };
    assert!(delay("quota will reset after 20h32m56s.").contains(", delay 73976000: "));
    assert!(delay("Please retry in 53.7s.").contains(", delay 53000: "));
    assert!(delay("Please retry in 500ms.").contains(", delay 500: "));
    let greatest = format!(", delay {}: ", u64::MAX);
    assert!(delay(&format!("Please retry in {}h", u64::MAX)).contains(&greatest));
    for none in ["soon", "Please retry in a while", "Please retry in 5", "Please retry in 5d"] {
        assert!(delay(none).starts_with("limited RateLimit: "), "{none}");
    }
}

#[test]
fn it_is_started_with_nothing_of_the_tree_and_writes_no_setting() {
    let id = "94cc8c7c-2f1c-40c4-a9ec-6523f166ef63";
    let plain = gemini().start(&turn(&[], id, CodeAccess::Writes));
    assert_eq!(
        plain.argv.join(" "),
        "--access writes -- gemini --acp --model claude-sonnet-4-5",
        "it names its session itself, and takes no model later"
    );
    let set = |name: &str| plain.env.iter().find(|(set, _)| set == name);
    let trust = set("GEMINI_CLI_TRUST_WORKSPACE").map(|(_, value)| value.as_str());
    assert_eq!((trust, set("GEMINI_CLI_NO_RELAUNCH").is_some()), (Some("false"), true));
    for name in
        ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"]
    {
        assert!(
            plain.where_unset.contains(&(name, "")),
            "a file `.env` of the tree would set {name}"
        );
        assert!(plain.passes_on(name, |_| false), "{name}");
    }
    let command = ["/opt/gemini".to_owned()];
    let resumed = TurnRequest {
        session: Session::Resume(id),
        model: None,
        ..turn(&command, "new", CodeAccess::Reads)
    };
    let resumed = gemini().start(&resumed).argv;
    assert_eq!(own_words(gemini(), &resumed), ["/opt/gemini", "--acp"]);
    assert_eq!(resumed[2..4], ["--resume".to_owned(), format!(" {id}")], "under another name");
}
