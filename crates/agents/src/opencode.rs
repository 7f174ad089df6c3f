//! opencode: its command line, its environment, and what its lines mean.
//!
//! All that is known of it was observed of version 1.18.33; recorded streams of it are in
//! `tests/transcripts/opencode`. Its words stay in this file.
//!
//! Not here: what is to be done about an end.
//!
//! Invariant: it has no last line: the step that ends with `stop` is taken for one.
//! Invariant: a price of nothing is no price: it says so of models whose price it does not know.

use serde::Deserialize;
use serde_json::Value;

use forge_keeper::{Stderr, Stdout};

use crate::agent::{Agent, Earlier, Launch, PASSED_TO_ALL, Session, StreamReader, TurnRequest};
use crate::prices;
use crate::signal::{
    Ended, ErrorClass, Limit, NO_MODEL, Price, Signal, TEXT_CHARACTERS_MAX, TokenCounts, Use,
    WHAT_CHARACTERS_MAX, Word, first_line, truncate,
};

const COMMAND: &str = "opencode";

/// What it needs of the user's environment beside what every program needs: how to get in. The keys of the providers
/// are named in the settings.
const PASSED: &[&str] = &[
    "NODE_EXTRA_CA_CERTS",
    "OPENCODE_API_KEY",
    "OPENCODE_AUTH_CONTENT",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_CONTENT",
    "OPENCODE_CONFIG_DIR",
    "OPENCODE_CONSOLE_TOKEN",
    "OPENCODE_MODELS_PATH",
    "OPENCODE_MODELS_URL",
];

/// What keeps it from doing anything but the work, and from reading what agents write into the tree. Briefs have the
/// instructions of the project in them.
const SET: &[(&str, &str)] = &[
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_CLAUDE_CODE", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
    ("OPENCODE_DISABLE_SHARE", "1"),
    ("OPENCODE_PERMISSION", r#"{"codesearch":"deny","webfetch":"deny","websearch":"deny"}"#),
];

/// opencode.
#[derive(Debug)]
pub(crate) struct OpenCode;

impl Agent for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn description(&self) -> &'static str {
        "opencode."
    }

    fn start(&self, turn: &TurnRequest<'_>) -> Launch {
        start(turn)
    }

    fn open_stream(&self, _earlier: &Earlier) -> Box<dyn StreamReader> {
        Box::new(OpenCodeStream { begin: SessionName::Due, overflow: None })
    }

    fn title(&self) -> Option<&'static str> {
        Some("opencode")
    }

    fn default_command(&self) -> Option<&'static str> {
        Some(COMMAND)
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn reports_cost(&self) -> bool {
        true
    }

    fn reports_end(&self) -> bool {
        true
    }

    fn has_readable_output(&self) -> bool {
        false
    }

    fn passed_keys(&self) -> Option<&'static str> {
        Some("your login of opencode")
    }

    fn login_traces(&self) -> Option<(&'static [&'static str], &'static str)> {
        Some((&["OPENCODE_API_KEY"], ".local/share/opencode/auth.json"))
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        Some(&["--version"])
    }

    /// Returns the version of which all this was observed.
    fn tested_version(&self) -> Option<&'static str> {
        Some("1.18.33")
    }

    fn oldest_version(&self) -> Option<&'static str> {
        Some("1.18.22")
    }

    fn how_to_install(&self) -> Option<&'static str> {
        Some("npm install -g opencode-ai@1.18.33")
    }

    fn how_to_log_in(&self) -> Option<&'static str> {
        Some("run `opencode auth login`; or name the variable of your key in agents.opencode.pass")
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
    // What is denied by name above stays denied; else nobody could grant it. Some errors are told in its log alone.
    add(&["run", "--format", "json", "--auto", "--print-logs", "--log-level", "ERROR"]);
    if let Some(model) = turn.model {
        add(&["--model", model]);
    }
    match turn.session {
        // It would ask a model for a title.
        Session::New(_) => add(&["--title", "Forge"]),
        Session::Resume(id) => add(&["--session", id]),
    }
    let mut env: Vec<(String, String)> =
        SET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    if let Some(tmp) = turn.tmp {
        env.push(("TMPDIR".to_owned(), tmp.to_string_lossy().into_owned()));
    }
    Launch {
        argv,
        env,
        pass: PASSED_TO_ALL.iter().chain(PASSED).copied().collect(),
        pass_with: &[],
        where_unset: &[],
        stdout: Stdout::Pipe,
        stderr: Stderr::Apart,
    }
}

/// One line. What is not known of it is ignored.
#[derive(Deserialize)]
struct OpenCodeLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "sessionID")]
    session: Option<String>,
    #[serde(default)]
    part: Value,
    #[serde(default)]
    error: Value,
}

/// State of the reader between two lines.
#[derive(Debug)]
struct OpenCodeStream {
    begin: SessionName,
    /// After it ran into it, until it has summed up what was said: that step is no end of the work.
    overflow: Option<Limit>,
}

/// Whether its session was told: it is in every line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SessionName {
    Due,
    Told,
}

impl OpenCodeStream {
    fn understand_line(&mut self, line: &OpenCodeLine, signals: &mut Vec<Signal>) {
        if self.begin == SessionName::Due
            && let Some(session) = &line.session
        {
            self.begin = SessionName::Told;
            let session = Some(first_line(session));
            signals.push(Signal::Began { session, model: None, version: None });
        }
        let part = &line.part;
        match line.kind.as_str() {
            // What it tells the model itself is not what the agent says.
            "text" if part["synthetic"] != true => {
                if let Some(text) = part["text"].as_str() {
                    signals.push(Signal::Said { text: truncate(text, TEXT_CHARACTERS_MAX) });
                }
            }
            "tool_use" => signals.extend(used_tool(part)),
            "step_finish" => {
                signals.push(Signal::Spent(used(part)));
                let word = word(part["reason"].as_str());
                signals.extend(word.map(|word| match self.overflow.take() {
                    Some(overflow) => ended(Word::Badly(overflow)),
                    None => ended(word),
                }));
            }
            "error" => {
                let why = why(&line.error);
                self.overflow = why.clone().filter(|why| why.class == ErrorClass::Overflow);
                signals.extend(why.map(|why| ended(Word::Badly(why))));
            }
            _ => {}
        }
    }
}

impl StreamReader for OpenCodeStream {
    fn understand(&mut self, line: &str, signals: &mut Vec<Signal>) {
        let before = signals.len();
        if let Ok(line) = serde_json::from_str::<OpenCodeLine>(line) {
            self.understand_line(&line, signals);
        }
        if signals.len() == before {
            signals.push(Signal::Unknown);
        }
    }
}

fn ended(word: Word) -> Signal {
    Signal::Ended(Box::new(Ended { word, uses: None, answer: None, session: None }))
}

/// Returns how it ends with such a step. Nothing, if it goes on.
fn word(reason: Option<&str>) -> Option<Word> {
    let badly = |class, what: &str| Some(Word::Badly(limit(class, what)));
    match reason? {
        "stop" => Some(Word::Well),
        "length" => badly(ErrorClass::Overflow, "the answer was cut at its greatest length"),
        "content-filter" => badly(ErrorClass::Refusal, "the provider blocked the answer"),
        _ => None,
    }
}

fn used_tool(part: &Value) -> Option<Signal> {
    let (state, name) = (&part["state"], first_line(part["tool"].as_str()?));
    let input = &state["input"];
    let about = ["command", "filePath", "pattern", "description"];
    let about = about.into_iter().find_map(|key| input[key].as_str());
    let about = about.or(state["title"].as_str()).map(first_line).unwrap_or_default();
    Some(Signal::UsedTool { name, about })
}

fn used(part: &Value) -> Use {
    let tokens = &part["tokens"];
    let count = |place: &Value| place.as_u64().unwrap_or(0);
    let tokens = TokenCounts {
        input: count(&tokens["input"]),
        output: count(&tokens["output"]) + count(&tokens["reasoning"]),
        cache_read: count(&tokens["cache"]["read"]),
        cache_write: count(&tokens["cache"]["write"]),
    };
    let cost = match part["cost"].as_f64() {
        Some(dollars) if dollars > 0.0 => Price::Reported(prices::micros(dollars)),
        Some(_) | None => Price::Missing,
    };
    Use { provider: COMMAND.to_owned(), model: NO_MODEL.to_owned(), tokens, cost }
}

fn limit(class: ErrorClass, what: &str) -> Limit {
    let what = truncate(what.trim(), WHAT_CHARACTERS_MAX);
    Limit { class, until_ms: None, delay_ms: None, what }
}

/// Returns why it ended. Nothing of an error that it explains in its log alone.
fn why(error: &Value) -> Option<Limit> {
    let (name, data) = (error["name"].as_str().unwrap_or_default(), &error["data"]);
    if name == "UnknownError" && data["ref"].is_string() {
        return None;
    }
    let message = data["message"].as_str().unwrap_or(name);
    let texts = [message, data["responseBody"].as_str().unwrap_or_default()];
    let class = class_from_name(name)
        .or_else(|| texts.into_iter().find_map(class_from_text))
        .or_else(|| data["statusCode"].as_u64().and_then(class_from_status));
    let seconds = data["responseHeaders"]["retry-after"].as_str();
    let delay_ms = seconds.and_then(|seconds| seconds.parse::<u64>().ok()?.checked_mul(1000));
    let what = if message.is_empty() { "it failed without a reason" } else { message };
    Some(Limit { delay_ms, ..limit(class.unwrap_or(ErrorClass::Unknown), what) })
}

fn class_from_name(name: &str) -> Option<ErrorClass> {
    match name {
        "ContextOverflowError" | "MessageOutputLengthError" => Some(ErrorClass::Overflow),
        "ContentFilterError" => Some(ErrorClass::Refusal),
        "MessageAbortedError" => Some(ErrorClass::Stopped),
        "ProviderAuthError" => Some(ErrorClass::Auth),
        _ => None,
    }
}

const fn class_from_status(status: u64) -> Option<ErrorClass> {
    match status {
        401 | 402 => Some(ErrorClass::Auth),
        403 => Some(ErrorClass::Permission),
        404 => Some(ErrorClass::NoModel),
        413 => Some(ErrorClass::Overflow),
        429 => Some(ErrorClass::RateLimit),
        500.. => Some(ErrorClass::Server),
        _ => None,
    }
}

/// Parts of what it says of an error, in small letters. The first that is there wins.
const TEXTS: &[(&str, ErrorClass)] = &[
    ("session not found", ErrorClass::NoSession),
    ("context_length_exceeded", ErrorClass::Overflow),
    ("insufficient_quota", ErrorClass::Auth),
    ("usage_limit_reached", ErrorClass::UsageWindow),
    ("modelnotfounderror", ErrorClass::NoModel),
    ("model_not_found", ErrorClass::NoModel),
    ("api key is missing", ErrorClass::Auth),
    ("cannot connect to api", ErrorClass::Network),
    ("unable to connect", ErrorClass::Network),
    ("configinvaliderror", ErrorClass::Tooling),
    ("configjsonerror", ErrorClass::Tooling),
];

fn class_from_text(text: &str) -> Option<ErrorClass> {
    let text = text.to_lowercase();
    TEXTS.iter().find(|(part, _)| text.contains(part)).map(|(_, class)| *class)
}
