//! Codex: its command line, its environment, and what its lines mean.
//!
//! All that is known of it was observed of version 0.166.0; recorded streams of it are in
//! `tests/transcripts/codex`. Its words stay in this file.
//!
//! Not here: what is to be done about an end.
//!
//! Invariant: what it keeps of a session is in the person's own folder of Codex, with the login; the person's
//! settings there are read and never written.
//! Invariant: it tells neither its model nor a price: the caller knows which model was asked for.

use serde::Deserialize;
use serde_json::Value;

use forge_keeper::{Stderr, Stdout};

use crate::agent::{Agent, Earlier, Launch, PASSED_TO_ALL, Session, StreamReader, TurnRequest};
use crate::signal::{
    Ended, ErrorClass, Limit, NO_MODEL, Price, Signal, TEXT_CHARACTERS_MAX, TokenCounts, Use,
    WHAT_CHARACTERS_MAX, Word, first_line, truncate,
};

const COMMAND: &str = "codex";
const PROVIDER: &str = "openai";

/// What it needs of the user's environment beside what every program needs: how to get in.
const PASSED: &[&str] = &[
    "CODEX_ACCESS_TOKEN",
    "CODEX_API_KEY",
    "CODEX_CA_CERTIFICATE",
    "CODEX_HOME",
    "CODEX_SQLITE_HOME",
    "NODE_EXTRA_CA_CERTS",
    "OPENAI_*",
];

/// Variables that hold a login.
const LOGIN_VARIABLES: &[&str] = &["CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_ACCESS_TOKEN"];

/// What keeps it from doing anything but the work. Briefs have the instructions of the project in them. Its own
/// sandbox would keep package managers and tests from their caches; what a reader changes is discarded.
const SET: &[&str] = &[
    "analytics.enabled=false",
    "approval_policy=\"never\"",
    "check_for_update_on_startup=false",
    "features.plugins=false",
    "features.unbounded_connection_retries=false",
    "project_doc_max_bytes=0",
    "sandbox_mode=\"danger-full-access\"",
    "web_search=\"disabled\"",
];

/// Codex.
#[derive(Debug)]
pub(crate) struct Codex;

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn description(&self) -> &'static str {
        "Codex of OpenAI."
    }

    fn start(&self, turn: &TurnRequest<'_>) -> Launch {
        start(turn)
    }

    fn open_stream(&self, earlier: &Earlier) -> Box<dyn StreamReader> {
        Box::new(CodexStream::new(earlier))
    }

    fn title(&self) -> Option<&'static str> {
        Some("Codex")
    }

    fn default_command(&self) -> Option<&'static str> {
        Some(COMMAND)
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn reports_end(&self) -> bool {
        true
    }

    fn reports_begin(&self) -> bool {
        true
    }

    fn has_readable_output(&self) -> bool {
        false
    }

    fn provider(&self) -> &'static str {
        PROVIDER
    }

    fn passed_keys(&self) -> Option<&'static str> {
        Some("your keys for Codex")
    }

    fn login_traces(&self) -> Option<(&'static [&'static str], &'static str)> {
        Some((LOGIN_VARIABLES, ".codex/auth.json"))
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        Some(&["--version"])
    }

    /// Returns the version of which all this was observed.
    fn tested_version(&self) -> Option<&'static str> {
        Some("0.166.0")
    }

    fn oldest_version(&self) -> Option<&'static str> {
        Some("0.162.0")
    }

    fn how_to_install(&self) -> Option<&'static str> {
        Some("npm install -g @openai/codex@0.166.0")
    }

    fn how_to_log_in(&self) -> Option<&'static str> {
        Some("run `codex login`; or set a valid OPENAI_API_KEY")
    }

    fn class_of_errors(&self, errors: &str) -> Option<ErrorClass> {
        class_from_text(errors)
    }
}

fn start(turn: &TurnRequest<'_>) -> Launch {
    let mut argv = turn.command.to_vec();
    if argv.is_empty() {
        argv.push(COMMAND.to_owned());
    }
    let mut add = |arguments: &[&str]| argv.extend(arguments.iter().map(|&one| one.to_owned()));
    // Without a repository is where `forge agents check` works.
    add(&["exec", "--json", "--skip-git-repo-check"]);
    for setting in SET {
        add(&["-c", setting]);
    }
    add(&["-c", &untrusted(&turn.dir.to_string_lossy())]);
    if let Some(model) = turn.model {
        add(&["--model", model]);
    }
    if let Session::Resume(id) = turn.session {
        add(&["resume", id]);
    }
    // The prompt is the standard input.
    add(&["-"]);
    let tmp = turn.tmp.map(|tmp| ("TMPDIR".to_owned(), tmp.to_string_lossy().into_owned()));
    Launch {
        argv,
        env: tmp.into_iter().collect(),
        pass: PASSED_TO_ALL.iter().chain(PASSED).copied().collect(),
        pass_with: &[],
        where_unset: &[],
        stdout: Stdout::Pipe,
        stderr: Stderr::Apart,
    }
}

/// Returns the setting by which nothing is read from `.codex` of a folder, which agents write. A folder about which nothing
/// is set would be written into the person's settings as trusted.
fn untrusted(folder: &str) -> String {
    let folder = Value::from(folder);
    format!("projects={{{folder}={{trust_level=\"untrusted\"}}}}")
}

/// One line. What is not known of it is ignored.
#[derive(Deserialize)]
#[serde(tag = "type")]
enum CodexLine {
    #[serde(rename = "thread.started")]
    ThreadStarted { thread_id: Option<String> },
    #[serde(rename = "item.started")]
    ItemStarted { item: Value },
    #[serde(rename = "item.completed")]
    ItemCompleted { item: Value },
    #[serde(rename = "error")]
    Error { message: String },
    #[serde(rename = "turn.completed")]
    TurnCompleted { usage: Option<Usage> },
    #[serde(rename = "turn.failed")]
    TurnFailed { error: Value },
}

/// Totals of the session.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Usage {
    /// With those of the cache.
    #[serde(rename = "input_tokens")]
    input: u64,
    #[serde(rename = "cached_input_tokens")]
    cached: u64,
    #[serde(rename = "cache_write_input_tokens")]
    written: u64,
    #[serde(rename = "output_tokens")]
    output: u64,
}

/// State of the reader between two lines.
#[derive(Debug)]
struct CodexStream {
    /// From earlier processes: its totals have them in them.
    before: TokenCounts,
    /// Whether the model has given any part of an answer.
    answering: Answering,
    /// The last limit, until something is done again.
    limit: Option<Limit>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answering {
    NotYet,
    Begun,
}

impl CodexStream {
    fn new(earlier: &Earlier) -> Self {
        let before = earlier.uses.iter().map(|one| one.tokens);
        let before = before.fold(TokenCounts::default(), TokenCounts::plus);
        Self { before, answering: Answering::NotYet, limit: None }
    }

    fn signal(&mut self, line: CodexLine) -> Option<Signal> {
        match line {
            CodexLine::ThreadStarted { thread_id } => {
                self.answering = Answering::NotYet;
                let session = thread_id.map(|id| first_line(&id));
                Some(Signal::Began { session, model: None, version: None })
            }
            CodexLine::ItemStarted { item } => {
                self.answers();
                used_tool(&item)
            }
            CodexLine::ItemCompleted { item } => {
                // Such an item is a warning, and the model has no part in it.
                if item["type"] != "error" {
                    self.answers();
                }
                let text = item["text"].as_str().filter(|_| item["type"] == "agent_message")?;
                Some(Signal::Said { text: truncate(text, TEXT_CHARACTERS_MAX) })
            }
            CodexLine::Error { message } => {
                let limit = why(&message);
                self.limit = Some(limit.clone());
                limit.class.passes().then_some(Signal::Limit(limit))
            }
            CodexLine::TurnCompleted { usage } => {
                let word = match self.answering {
                    Answering::Begun => Word::Well,
                    // Of a refusal it prints nothing at all.
                    Answering::NotYet => Word::Badly(Limit {
                        class: ErrorClass::Refusal,
                        until_ms: None,
                        delay_ms: None,
                        what: "the model gave no answer, as it does when it declines".to_owned(),
                    }),
                };
                let uses = usage.map(|usage| vec![self.used(&usage)]);
                Some(ended(word, uses))
            }
            CodexLine::TurnFailed { error } => {
                let why = match error["message"].as_str() {
                    Some(message) => why(message),
                    None => self.limit.take().unwrap_or_else(|| why("it failed without a reason")),
                };
                let is_free = self.answering == Answering::NotYet && why.class.turns_away();
                Some(ended(Word::Badly(why), is_free.then(Vec::new)))
            }
        }
    }

    fn answers(&mut self) {
        (self.answering, self.limit) = (Answering::Begun, None);
    }

    /// Subtracts what the session used before. The totals begin anew if it forgot a part that was killed.
    fn used(&self, usage: &Usage) -> Use {
        let of_cache = usage.cached.saturating_add(usage.written);
        let total = TokenCounts {
            input: usage.input.saturating_sub(of_cache),
            output: usage.output,
            cache_read: usage.cached,
            cache_write: usage.written,
        };
        let (provider, model) = (PROVIDER.to_owned(), NO_MODEL.to_owned());
        Use { provider, model, tokens: total.minus(self.before), cost: Price::Missing }
    }
}

impl StreamReader for CodexStream {
    fn understand(&mut self, line: &str, signals: &mut Vec<Signal>) {
        let line = serde_json::from_str(line).ok();
        signals.push(line.and_then(|line| self.signal(line)).unwrap_or(Signal::Unknown));
    }
}

fn ended(word: Word, uses: Option<Vec<Use>>) -> Signal {
    Signal::Ended(Box::new(Ended { word, uses, answer: None, session: None }))
}

fn used_tool(item: &Value) -> Option<Signal> {
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    let (name, about) = match text("type") {
        "command_execution" => {
            let command = text("command");
            // The shell that it is given to is the same each time.
            let own = command.split_once(" -lc ").map_or(command, |(_, own)| own);
            ("shell".to_owned(), own.trim_matches('\'').to_owned())
        }
        "file_change" => {
            let changes = item["changes"].as_array().into_iter().flatten();
            let paths: Vec<&str> = changes.filter_map(|one| one["path"].as_str()).collect();
            ("edit".to_owned(), paths.join(" "))
        }
        "mcp_tool_call" => {
            (format!("{}.{}", text("server"), text("tool")), item["arguments"].to_string())
        }
        "web_search" => ("search".to_owned(), text("query").to_owned()),
        _ => return None,
    };
    Some(Signal::UsedTool { name: first_line(&name), about: first_line(&about) })
}

/// Parts of what it says of an error, in small letters. The first that is there wins.
const TEXTS: &[(&str, ErrorClass)] = &[
    ("no rollout found for thread", ErrorClass::NoSession),
    ("hit your usage limit", ErrorClass::UsageWindow),
    ("usage_limit_reached", ErrorClass::UsageWindow),
    ("quota exceeded", ErrorClass::Auth),
    ("context_length_exceeded", ErrorClass::Overflow),
    ("context window", ErrorClass::Overflow),
    ("max_output_tokens", ErrorClass::Overflow),
    ("input exceeds the maximum length", ErrorClass::Overflow),
    ("401 unauthorized", ErrorClass::Auth),
    ("402 payment required", ErrorClass::Auth),
    ("missing environment variable", ErrorClass::Auth),
    ("not logged in", ErrorClass::Auth),
    ("access token could not be refreshed", ErrorClass::Auth),
    ("403 forbidden", ErrorClass::Permission),
    ("404 not found", ErrorClass::NoModel),
    ("does not exist or you do not have access", ErrorClass::NoModel),
    ("model_not_found", ErrorClass::NoModel),
    ("is not supported when using codex", ErrorClass::NoModel),
    ("429 too many requests", ErrorClass::RateLimit),
    ("rate limit", ErrorClass::RateLimit),
    ("rate_limit_exceeded", ErrorClass::RateLimit),
    ("currently experiencing high demand", ErrorClass::Server),
    ("model is at capacity", ErrorClass::Server),
    ("unexpected status 5", ErrorClass::Server),
    ("overloaded", ErrorClass::Server),
    ("server_error", ErrorClass::Server),
    ("connection failed", ErrorClass::Network),
    ("stream disconnected", ErrorClass::Network),
    ("error sending request", ErrorClass::Network),
    ("timeout waiting for", ErrorClass::Network),
    ("idle timeout", ErrorClass::Network),
    ("content_policy", ErrorClass::Refusal),
    ("invalid_prompt", ErrorClass::Refusal),
    ("unexpected argument", ErrorClass::Tooling),
    ("error loading config.toml", ErrorClass::Tooling),
    ("bwrap", ErrorClass::Tooling),
];

/// Texts are all there is: it tells no field of an error. Nor does it tell when a usage limit ends but as a time of
/// day, which without its day and zone is no time.
fn why(message: &str) -> Limit {
    let class = class_from_text(message).unwrap_or(ErrorClass::Unknown);
    let inner: Option<Value> = serde_json::from_str(message).ok();
    let inner = inner
        .as_ref()
        .and_then(|inner| inner["error"]["message"].as_str().or(inner["detail"].as_str()));
    let what = truncate(inner.unwrap_or(message).trim(), WHAT_CHARACTERS_MAX);
    Limit { class, until_ms: None, delay_ms: None, what }
}

fn class_from_text(text: &str) -> Option<ErrorClass> {
    let text = text.to_lowercase();
    TEXTS.iter().find(|(part, _)| text.contains(part)).map(|(_, class)| *class)
}
