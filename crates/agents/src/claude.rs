//! Claude Code: its command line, its environment, and what its lines mean.
//!
//! All that is known of it was observed of version 2.1.325; recorded streams of it are in
//! `tests/transcripts/claude`. `wire` knows the forms of its lines, `errors` which words of it mean
//! which class of error. Its words stay in these files.
//!
//! Not here: what is to be done about an end.
//!
//! Invariant: keys come in any order, and unknown keys, lines and values are never fatal.
//! Invariant: structured fields are believed before texts.
//! Invariant: money is what the last line says; without one, an estimate from each message.

mod errors;
mod wire;

use std::path::Path;

use serde_json::Value;

use forge_core::routing::Thinking;
use forge_keeper::{Stderr, Stdout};

use crate::agent::{
    Agent, CodeAccess, Earlier, Launch, PASSED_TO_ALL, Session, StreamReader, TurnRequest,
};
use crate::prices;
use crate::signal::{
    Ended, ErrorClass, Limit, Price, Signal, TEXT_CHARACTERS_MAX, TokenCounts, Use, Word,
    first_line, truncate,
};
use wire::{Assistant, ContentBlock, Head, ResultLine};

const COMMAND: &str = "claude";
const PROVIDER: &str = "anthropic";
/// The tools that it has. Not those that work behind our back: later, elsewhere or on the network.
const TOOLS: &str = "Bash,Edit,Glob,Grep,NotebookEdit,Read,Task,Write";
/// Those that need no answer of anybody. Writing is let in by the mode below the working directory
/// and the boxes; named here it would be let in everywhere.
const ALLOWED: &[&str] = &["Bash", "Glob", "Grep", "Read", "Task"];
/// It asks again this often by itself. After that Forge waits with a timer.
const RETRIES_MAX: &str = "3";
/// What it writes instead of a model's name into messages that no model wrote.
const NO_MODEL: &str = "<synthetic>";
/// How most lines of a model begin, and those with what tools gave it.
const ASSISTANT: &str = r#"{"type":"assistant","#;
const TOOLS_ANSWER: &str = r#"{"type":"user","#;
/// Messages whose usage was counted: their other lines repeat it.
const MESSAGES_REMEMBERED_MAX: usize = 32;
/// About so many bytes of text are one token.
const BYTES_PER_TOKEN: u64 = 4;

/// What it needs of the user's environment beside what every program needs: how to get in.
const PASSED: &[&str] = &[
    "ANTHROPIC_*",
    "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
    "CLAUDE_CODE_CLIENT_*",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_SKIP_*",
    "CLAUDE_CODE_USE_*",
    "CLAUDE_CONFIG_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// The keys of a cloud are for whoever gets in by that cloud.
const PASSED_WITH: &[(&str, &[&str])] = &[
    ("CLAUDE_CODE_USE_BEDROCK", &["AWS_*"]),
    ("CLAUDE_CODE_USE_VERTEX", &["CLOUD_ML_REGION", "GOOGLE_*", "VERTEX_*"]),
];

/// What keeps it from doing anything but the work.
const SET: &[(&str, &str)] = &[
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", RETRIES_MAX),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_TELEMETRY", "1"),
];

/// What keeps it from thinking before it answers: it has no option for that which it documents.
const NO_THINKING: [&str; 2] = ["MAX_THINKING_TOKENS", "0"];

/// Claude Code.
#[derive(Debug)]
pub(crate) struct ClaudeCode;

/// Variables that hold a login.
const LOGIN_VARIABLES: &[&str] =
    &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

impl Agent for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn description(&self) -> &'static str {
        "Claude Code."
    }

    fn start(&self, turn: &TurnRequest<'_>) -> Launch {
        start(turn)
    }

    fn open_stream(&self, earlier: &Earlier) -> Box<dyn StreamReader> {
        Box::new(ClaudeStream::new(earlier))
    }

    fn title(&self) -> Option<&'static str> {
        Some("Claude Code")
    }

    fn default_command(&self) -> Option<&'static str> {
        Some(COMMAND)
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn has_native_schema(&self) -> bool {
        true
    }

    fn takes_effort(&self) -> bool {
        true
    }

    fn has_own_cap(&self) -> bool {
        true
    }

    fn reports_cost(&self) -> bool {
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
        Some("your keys for Claude")
    }

    fn login_traces(&self) -> Option<(&'static [&'static str], &'static str)> {
        Some((LOGIN_VARIABLES, ".claude/.credentials.json"))
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        Some(&["--version"])
    }

    /// Returns the version of which all this was observed.
    fn tested_version(&self) -> Option<&'static str> {
        Some("2.1.325")
    }

    /// Returns the oldest of the versions that were tried: see the table in `docs/reference/agents.md`.
    fn oldest_version(&self) -> Option<&'static str> {
        Some("2.1.310")
    }

    fn how_to_install(&self) -> Option<&'static str> {
        // By its version: without one, npm installs an older one where node is older than the newest wants.
        Some("npm install -g @anthropic-ai/claude-code@2.1.325")
    }

    fn how_to_log_in(&self) -> Option<&'static str> {
        Some("run `claude`, then /login; or set a valid ANTHROPIC_API_KEY")
    }

    fn class_of_errors(&self, errors: &str) -> Option<ErrorClass> {
        errors::class_of_errors(errors)
    }
}

fn start(turn: &TurnRequest<'_>) -> Launch {
    let mut argv = turn.command.to_vec();
    if argv.is_empty() {
        argv.push(COMMAND.to_owned());
    }
    let mut add = |arguments: &[&str]| argv.extend(arguments.iter().map(|&one| one.to_owned()));
    add(&["-p", "--output-format", "stream-json", "--verbose"]);
    match turn.session {
        Session::New(id) => add(&["--session-id", id]),
        Session::Resume(id) => add(&["--resume", id]),
    }
    if let Some(model) = turn.model {
        add(&["--model", model]);
    }
    if let Some(effort) = turn.effort {
        add(&["--effort", effort.as_str()]);
    }
    // The settings and the memory of the person, also for how to get in; nothing of the tree, which
    // agents write: neither its hooks nor its CLAUDE.md.
    add(&["--setting-sources", "user", "--strict-mcp-config", "--tools", TOOLS]);
    add(&["--permission-mode", mode(turn.access), "--allowedTools"]);
    add(ALLOWED);
    if turn.access == CodeAccess::Reads {
        add(&[&editing_below(turn.outbox)]);
    }
    for folder in [turn.inbox, turn.outbox] {
        add(&["--add-dir", &folder.to_string_lossy()]);
    }
    if let Some(schema) = turn.schema {
        add(&["--json-schema", &schema.to_string()]);
    }
    if let Some(micros) = turn.cap_micros {
        add(&["--max-budget-usd", &dollars(micros)]);
    }
    let mut env: Vec<(String, String)> =
        SET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    if turn.thinking == Some(Thinking::Disabled) {
        let [name, value] = NO_THINKING.map(str::to_owned);
        env.push((name, value));
    }
    if let Some(tmp) = turn.tmp {
        env.push(("TMPDIR".to_owned(), tmp.to_string_lossy().into_owned()));
    }
    let pass = PASSED_TO_ALL.iter().chain(PASSED).copied().collect();
    let pass_with = PASSED_WITH;
    let (stdout, stderr) = (Stdout::Pipe, Stderr::Apart);
    Launch { argv, env, pass, pass_with, where_unset: &[], stdout, stderr }
}

const fn mode(access: CodeAccess) -> &'static str {
    match access {
        CodeAccess::Writes => "acceptEdits",
        // What is not let in by name is denied, and nobody is asked.
        CodeAccess::Reads => "dontAsk",
    }
}

/// Returns the rule that lets files below a folder be written. Characters that mean something in a rule are
/// matched by any one character.
fn editing_below(folder: &Path) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | ' ');
    let path = folder.to_string_lossy();
    let pattern: String = path.chars().map(|c| if is_plain(c) { c } else { '?' }).collect();
    format!("Edit(/{pattern}/**)")
}

fn dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// State of the reader between two lines.
#[derive(Debug)]
struct ClaudeStream {
    earlier: Earlier,
    /// The last messages whose usage was counted.
    counted: Vec<String>,
    /// The last word about an error, until a model speaks again.
    error: Option<String>,
    /// The last limit, until a model speaks again.
    limit: Option<Limit>,
}

impl ClaudeStream {
    fn new(earlier: &Earlier) -> Self {
        Self { earlier: earlier.clone(), counted: Vec::new(), error: None, limit: None }
    }

    fn understand_kind(&mut self, kind: &str, line: &str, signals: &mut Vec<Signal>) {
        match kind {
            "assistant" => {
                if let Ok(assistant) = serde_json::from_str(line) {
                    self.assistant(&assistant, signals);
                }
            }
            "system" | "rate_limit_event" => {
                if let Ok(value) = serde_json::from_str(line) {
                    signals.extend(self.event(kind, &value));
                }
            }
            "result" => {
                if let Ok(result) = serde_json::from_str(line) {
                    signals.push(Signal::Ended(Box::new(self.ended(result))));
                }
            }
            _ => {}
        }
    }

    fn assistant(&mut self, line: &Assistant<'_>, signals: &mut Vec<Signal>) {
        let Some(message) = &line.message else { return };
        let model = message.model.as_ref().map_or("", wire::BorrowedText::as_str);
        if model == NO_MODEL {
            self.error = line.error.as_ref().and_then(Value::as_str).map(str::to_owned);
            return;
        }
        (self.error, self.limit) = (None, None);
        let speaker = match &line.parent_tool_use_id {
            None | Some(Value::Null) => Speaker::Agent,
            Some(_) => Speaker::Helper,
        };
        let mut bytes = 0;
        for block in &message.content.0 {
            bytes += block.bytes();
            signals.extend(said(block, speaker));
        }
        let mut tokens = match &message.usage {
            Some(usage) if self.is_new(message.id.as_ref()) => usage.tokens(),
            Some(_) | None => TokenCounts::default(),
        };
        tokens.output = tokens.output.max(bytes.div_ceil(BYTES_PER_TOKEN));
        if !model.is_empty() && tokens != TokenCounts::default() {
            let cost = prices::estimate(model, tokens);
            let (provider, model) = (PROVIDER.to_owned(), first_line(model));
            signals.push(Signal::Spent(Use { provider, model, tokens, cost }));
        }
    }

    /// Returns true if the usage of a message is not counted yet.
    fn is_new(&mut self, id: Option<&wire::BorrowedText<'_>>) -> bool {
        let Some(id) = id.map(wire::BorrowedText::as_str) else { return true };
        if self.counted.iter().any(|known| known == id) {
            return false;
        }
        if self.counted.len() == MESSAGES_REMEMBERED_MAX {
            self.counted.remove(0);
        }
        self.counted.push(first_line(id));
        true
    }

    fn event(&mut self, kind: &str, line: &Value) -> Option<Signal> {
        let text = |key: &str| line[key].as_str().map(first_line);
        match (kind, line["subtype"].as_str().unwrap_or_default()) {
            ("system", "init") => Some(Signal::Began {
                session: text("session_id"),
                model: text("model"),
                version: text("claude_code_version"),
            }),
            ("system", "permission_denied") => {
                let tool = text("tool_name").unwrap_or_default();
                let message = text("message").unwrap_or_default();
                Some(Signal::Asked { what: format!("{tool}: {message}") })
            }
            ("system", "api_retry") => {
                let limit = errors::retry(line);
                // What is known of when it is lifted is better than a guess.
                if self.limit.as_ref().is_none_or(|known| known.until_ms.is_none()) {
                    self.limit = Some(limit.clone());
                }
                Some(Signal::Limit(limit))
            }
            ("rate_limit_event", _) => {
                let info = &line["rate_limit_info"];
                let windows = errors::windows(info);
                if !windows.is_empty() && info["status"] != "rejected" {
                    return Some(Signal::Windows(windows));
                }
                let mut limit = errors::rejected(&line["rate_limit_info"])?;
                // How long to wait was said when it asked again.
                limit.delay_ms = self.limit.take().and_then(|known| known.delay_ms);
                self.limit = Some(limit.clone());
                Some(Signal::Limit(limit))
            }
            _ => None,
        }
    }

    fn ended(&mut self, line: ResultLine) -> Ended {
        let word = if line.is_clear() {
            Word::Well
        } else {
            Word::Badly(errors::ending(&line, self.error.as_deref(), self.limit.as_ref()))
        };
        let since = line.model_usage_since_last_result.as_object();
        let uses = match (since, line.model_usage.as_object()) {
            (Some(since), _) => Some(uses(since)),
            (None, Some(total)) => {
                Some(uses(total).into_iter().map(|one| self.since(one)).collect())
            }
            (None, None) => None,
        };
        let session = line.session_id.as_str().map(first_line);
        Ended { word, uses, answer: line.structured_output, session }
    }

    /// Subtracts what the session used before this process.
    fn since(&self, total: Use) -> Use {
        match self.earlier.uses.iter().find(|before| before.model == total.model) {
            None => total,
            Some(before) => Use {
                tokens: total.tokens.minus(before.tokens),
                cost: total.cost.minus(before.cost),
                ..total
            },
        }
    }
}

impl StreamReader for ClaudeStream {
    fn understand(&mut self, line: &str, signals: &mut Vec<Signal>) {
        let before = signals.len();
        // Most lines are of these two kinds and say so first. What tools print is never looked into.
        if line.starts_with(ASSISTANT) {
            self.understand_kind("assistant", line, signals);
        } else if !line.starts_with(TOOLS_ANSWER)
            && let Ok(head) = serde_json::from_str::<Head<'_>>(line)
        {
            self.understand_kind(head.kind.as_str(), line, signals);
        }
        if signals.len() == before {
            signals.push(Signal::Unknown);
        }
    }
}

/// Origin of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Agent,
    /// An agent of the agent. What it says is for the agent, not for people.
    Helper,
}

fn said(block: &ContentBlock<'_>, speaker: Speaker) -> Option<Signal> {
    match block.kind.as_ref().map(wire::BorrowedText::as_str)? {
        "text" if speaker == Speaker::Agent => {
            let text = block.text.as_ref()?.as_str();
            Some(Signal::Said { text: truncate(text, TEXT_CHARACTERS_MAX) })
        }
        "tool_use" => {
            let name = first_line(block.name.as_ref()?.as_str());
            let about =
                block.input.as_ref().map(|input| first_line(&input.about)).unwrap_or_default();
            if name == "AskUserQuestion" {
                return Some(Signal::Asked { what: about });
            }
            Some(Signal::UsedTool { name, about })
        }
        _ => None,
    }
}

/// Reads the use of each model.
fn uses(models: &serde_json::Map<String, Value>) -> Vec<Use> {
    let each = models.iter().map(|(model, used)| {
        let count = |key: &str| used[key].as_u64().unwrap_or(0);
        let tokens = TokenCounts {
            input: count("inputTokens"),
            output: count("outputTokens"),
            cache_read: count("cacheReadInputTokens"),
            cache_write: count("cacheCreationInputTokens"),
        };
        let cost = match used["costUSD"].as_f64() {
            // Of a model that it does not know it tells the price of another one.
            Some(dollars) if used["costBasis"] != "unknown" => {
                Price::Reported(prices::micros(dollars))
            }
            Some(_) | None => prices::estimate(model, tokens),
        };
        let provider = match used["provider"].as_str() {
            None | Some("firstParty") => PROVIDER.to_owned(),
            Some(other) => first_line(other),
        };
        Use { provider, model: first_line(model), tokens, cost }
    });
    each.collect()
}
