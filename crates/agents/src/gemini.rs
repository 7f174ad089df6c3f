//! Gemini CLI: its command line, its environment, and what is its own in what it says.
//!
//! It is spoken to by ACP, as any agent that speaks that (`acp`): why, is in `decisions/027`. All that is known of it was observed
//! of version 0.61.0; recorded streams of it are in `tests/transcripts/gemini`. Its words stay in this file.
//!
//! Not here: the conversation, and what is to be done about an end.
//!
//! Invariant: its folder is one that it does not trust, so that it loads nothing from there; what it may do, it asks us.
//! Invariant: of a refusal it tells nothing at all: who ends without a word or a deed was refused.

use serde::Deserialize;
use serde_json::Value;

use crate::acp::{self, AcpLine, AcpStream};
use crate::agent::{Agent, Earlier, Launch, Session, StreamReader, TurnRequest};
use crate::prices;
use crate::signal::{
    Ended, ErrorClass, Limit, Signal, TokenCounts, Use, WHAT_CHARACTERS_MAX, Word, first_line,
    truncate,
};
use crate::variables::ACP_COMMAND;

const COMMAND: &str = "gemini";
const PROVIDER: &str = "google";

/// What it needs of the user's environment beside what every program needs: how to get in.
const PASSED: &[&str] = &[
    "GEMINI_API_KEY",
    "GEMINI_API_KEY_AUTH_MECHANISM",
    "GEMINI_CLI_CUSTOM_HEADERS",
    "GEMINI_CLI_HOME",
    "GEMINI_MODEL",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_PROJECT_ID",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_GENAI_API_VERSION",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_VERTEX_BASE_URL",
    "NODE_EXTRA_CA_CERTS",
];

/// Variables that hold a login.
const LOGIN_VARIABLES: &[&str] = &["GEMINI_API_KEY", "GOOGLE_API_KEY"];

/// What keeps it from doing anything but the work. Its own sandbox would keep package managers and tests from their caches.
const SET: &[(&str, &str)] = &[
    ("GEMINI_CLI_NO_RELAUNCH", "true"),
    ("GEMINI_CLI_TRUST_WORKSPACE", "false"),
    ("GEMINI_SANDBOX", "false"),
    ("GEMINI_TELEMETRY_ENABLED", "false"),
];

/// These it reads from a file `.env` in the tree, which agents write, where they are not set. With a key alone, a session can
/// only go on where an address is named: this is the one that it has itself.
const WHERE_UNSET: &[(&str, &str)] = &[
    ("GEMINI_API_KEY", ""),
    ("GOOGLE_API_KEY", ""),
    ("GOOGLE_CLOUD_LOCATION", ""),
    ("GOOGLE_CLOUD_PROJECT", ""),
    ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
];

/// Gemini CLI.
#[derive(Debug)]
pub(crate) struct GeminiCli;

impl Agent for GeminiCli {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn description(&self) -> &'static str {
        "Gemini CLI of Google."
    }

    fn start(&self, turn: &TurnRequest<'_>) -> Launch {
        start(turn)
    }

    fn open_stream(&self, earlier: &Earlier) -> Box<dyn StreamReader> {
        Box::new(GeminiStream { talk: AcpStream::new(earlier), answering: AnswerProgress::Before })
    }

    fn title(&self) -> Option<&'static str> {
        Some("Gemini CLI")
    }

    fn spoken_to_by(&self) -> Option<&'static str> {
        Some(ACP_COMMAND)
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
        Some("your login of Gemini CLI")
    }

    fn login_traces(&self) -> Option<(&'static [&'static str], &'static str)> {
        Some((LOGIN_VARIABLES, ".gemini/oauth_creds.json"))
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        Some(&["--version"])
    }

    /// Returns the version of which all this was observed.
    fn tested_version(&self) -> Option<&'static str> {
        Some("0.61.0")
    }

    fn oldest_version(&self) -> Option<&'static str> {
        Some("0.60.0")
    }

    fn how_to_install(&self) -> Option<&'static str> {
        Some("npm install -g @google/gemini-cli@0.61.0")
    }

    fn how_to_log_in(&self) -> Option<&'static str> {
        Some("run `gemini` once and choose how to log in; or set a valid GEMINI_API_KEY")
    }

    fn class_of_errors(&self, errors: &str) -> Option<ErrorClass> {
        class_from_text(errors)
    }
}

fn start(turn: &TurnRequest<'_>) -> Launch {
    let mut command = turn.command.to_vec();
    if command.is_empty() {
        command.push(COMMAND.to_owned());
    }
    command.push("--acp".to_owned());
    // It offers no choice of models that we could make in the conversation.
    if let Some(model) = turn.model {
        command.extend(["--model".to_owned(), model.to_owned()]);
    }
    // A session that is opened in the minute in which it began is written over by it, but not under another name for it.
    let other_name = match turn.session {
        Session::New(_) => None,
        Session::Resume(id) => Some(format!(" {id}")),
    };
    let session = other_name.as_deref().map_or(turn.session, Session::Resume);
    let launch = acp::start(&TurnRequest { command: &command, model: None, session, ..*turn });
    let mut env = launch.env;
    env.extend(SET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let pass = launch.pass.into_iter().chain(PASSED.iter().copied()).collect();
    Launch { env, pass, where_unset: WHERE_UNSET, ..launch }
}

/// Fields of Gemini CLI at the end of a turn, outside of ACP.
#[derive(Deserialize)]
struct GeminiMeta {
    quota: GeminiQuota,
}

#[derive(Deserialize)]
struct GeminiQuota {
    model_usage: Vec<GeminiModelUse>,
}

#[derive(Deserialize)]
struct GeminiModelUse {
    model: String,
    token_count: GeminiTokens,
}

/// Tokens of a turn.
#[derive(Deserialize)]
struct GeminiTokens {
    /// With those of the cache, of which it does not tell.
    #[serde(rename = "input_tokens")]
    input: u64,
    #[serde(rename = "output_tokens")]
    output: u64,
}

/// State of the reader between two lines.
#[derive(Debug)]
struct GeminiStream {
    talk: AcpStream,
    answering: AnswerProgress,
}

/// Whether the model has given any part of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AnswerProgress {
    /// It was not asked.
    Before,
    NotYet,
    Begun,
    /// It gave one, and no answer of this turn came to its end.
    BrokenOff,
}

impl GeminiStream {
    fn understand_line(&mut self, line: AcpLine, signals: &mut Vec<Signal>) {
        match line {
            AcpLine::Added { meta } => {
                let meta: Option<GeminiMeta> = serde_json::from_value(meta).ok();
                let Some(uses) = meta.map(|meta| meta.quota.model_usage) else { return };
                if uses.is_empty() && self.answering == AnswerProgress::Begun {
                    self.answering = AnswerProgress::BrokenOff;
                }
                signals.extend(uses.into_iter().map(|one| Signal::Spent(used(&one))));
            }
            AcpLine::Ended { class: None, .. } if self.answering == AnswerProgress::BrokenOff => {
                signals.push(self.ended_badly(ErrorClass::Server, "its answer broke off"));
            }
            AcpLine::Ended { class: None, .. } if self.answering != AnswerProgress::Begun => {
                let what = "the model gave no answer, as it does when it declines";
                signals.push(self.ended_badly(ErrorClass::Refusal, what));
            }
            AcpLine::Ended { class: Some(class), what } => {
                signals.push(self.ended_badly(class_from_text(&what).unwrap_or(class), &what));
            }
            AcpLine::Began { session, model, version, paid_micros } => {
                self.answering = AnswerProgress::NotYet;
                let session = session.map(|name| name.trim().to_owned());
                let line = AcpLine::Began { session, model, version, paid_micros };
                signals.push(self.talk.signal(line));
            }
            AcpLine::Said { .. } | AcpLine::UsedTool { .. } => {
                self.answering = AnswerProgress::Begun;
                signals.push(self.talk.signal(line));
            }
            AcpLine::Denied { .. }
            | AcpLine::Paid { .. }
            | AcpLine::Tokens { .. }
            | AcpLine::Alive
            | AcpLine::Kept { .. }
            | AcpLine::Ended { class: None, .. } => signals.push(self.talk.signal(line)),
        }
    }
}

impl GeminiStream {
    /// Ends it. Before its turn began, nothing was used.
    fn ended_badly(&self, class: ErrorClass, what: &str) -> Signal {
        let why = Limit { class, until_ms: None, delay_ms: delay(what), what: told(what) };
        let is_free = match self.answering {
            AnswerProgress::Before => true,
            AnswerProgress::NotYet => class.turns_away(),
            AnswerProgress::Begun | AnswerProgress::BrokenOff => false,
        };
        let uses = is_free.then(Vec::new);
        let word = Word::Badly(why);
        Signal::Ended(Box::new(Ended { word, uses, answer: None, session: None }))
    }
}

impl StreamReader for GeminiStream {
    fn understand(&mut self, line: &str, signals: &mut Vec<Signal>) {
        let before = signals.len();
        if let Ok(line) = serde_json::from_str(line) {
            self.understand_line(line, signals);
        }
        if signals.len() == before {
            signals.push(Signal::Unknown);
        }
    }
}

fn used(one: &GeminiModelUse) -> Use {
    let GeminiTokens { input, output } = one.token_count;
    let tokens = TokenCounts { input, output, ..TokenCounts::default() };
    let model = first_line(&one.model);
    let cost = prices::estimate(&model, tokens);
    Use { provider: PROVIDER.to_owned(), model, tokens, cost }
}

/// Returns what an error says, for people: of a document, its message.
fn told(what: &str) -> String {
    let mut documents = serde_json::Deserializer::from_str(what).into_iter::<Value>();
    let document = documents.next().and_then(Result::ok);
    let message = document.as_ref().and_then(|document| document["error"]["message"].as_str());
    let told = match message {
        Some(message) => format!("{message}{}", &what[documents.byte_offset()..]),
        None => what.to_owned(),
    };
    truncate(told.trim(), WHAT_CHARACTERS_MAX)
}

/// Parts of what it says of an error, in small letters. The first that is there wins. Its codes alone say less: a model that is
/// not there has that of a broken server.
const TEXTS: &[(&str, ErrorClass)] = &[
    ("invalid session identifier", ErrorClass::NoSession),
    ("api key not valid", ErrorClass::Auth),
    ("api key expired", ErrorClass::Auth),
    ("api key is missing", ErrorClass::Auth),
    ("unregistered callers", ErrorClass::Auth),
    ("unauthenticated", ErrorClass::Auth),
    ("exhausted your daily quota", ErrorClass::UsageWindow),
    ("quota will reset after", ErrorClass::UsageWindow),
    ("exceeds the maximum number of tokens", ErrorClass::Overflow),
    ("is not found for api version", ErrorClass::NoModel),
    ("requested entity was not found", ErrorClass::NoModel),
    ("fetch failed", ErrorClass::Network),
    ("econnrefused", ErrorClass::Network),
    ("terminated", ErrorClass::Network),
];

fn class_from_text(text: &str) -> Option<ErrorClass> {
    let text = text.to_lowercase();
    TEXTS.iter().find(|(part, _)| text.contains(part)).map(|(_, class)| *class)
}

/// How it tells when a limit is lifted, before a time such as `2h3m4.5s`.
const DELAYS: &[&str] = &["quota will reset after ", "retry in "];

fn delay(what: &str) -> Option<u64> {
    let after = |words: &&str| what.split_once(*words).map(|(_, after)| after);
    let mut rest = DELAYS.iter().find_map(after)?;
    let mut millis = 0_u64;
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0) {
        let number: u64 = rest[..end].parse().ok()?;
        // Parts of a second do not count.
        let unit = rest[end..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
        let unit_ms = match unit.chars().next()? {
            'h' => 3_600_000,
            'm' if unit.starts_with("ms") => 1,
            'm' => 60_000,
            's' => 1000,
            _ => return None,
        };
        millis = millis.saturating_add(number.saturating_mul(unit_ms));
        rest = &unit[1..];
    }
    (millis > 0).then_some(millis)
}
