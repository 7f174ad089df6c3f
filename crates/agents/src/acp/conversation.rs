//! The conversation with an agent, without any IO: what it says goes in, and what is to be done comes out.
//!
//! ```text
//! initialize ──► session/new or session/load ──► session/set_config_option ──► session/prompt ──► ended
//!                                                  (if a model is asked for)        │
//!                                                        stop: session/cancel ──────┴──► ended
//! ```
//! Of our own requests one is under way at a time. The agent may ask and tell at any time.
//!
//! Not here: whether something may be done (`policy`), and doing it (`files`, `terminals`).
//!
//! Invariant: nothing is paid before everything is known that can be known without a model.
//! Invariant: there is one last line, and nothing after it.

use std::time::Duration;

use serde_json::{Value, json};

use super::errors;
use super::known_tools::{KnownTools, PermissionRequest};
use super::lines::AcpLine;
use super::rpc::{self, METHOD_NOT_FOUND, PeerMessage, RpcError};
use super::wire::{
    AuthMethod, ConfigOption, CreateTerminal, Initialized, NamedTerminal, OpenedSession,
    PromptEnded, ReadTextFile, TurnUsage, Update, VERSION, WriteTextFile, read,
};
use crate::signal::{ErrorClass, TEXT_CHARACTERS_MAX, TokenCounts, first_line, truncate};

/// How long the agent may take to say what it is.
const INITIALIZE_TIME_MAX: Duration = Duration::from_secs(90);
/// How long it may take for a session, or for a setting of it.
const SESSION_TIME_MAX: Duration = Duration::from_secs(180);
/// How long it may take to end a turn that was cancelled. Less than its keeper waits.
const CANCEL_TIME_MAX: Duration = Duration::from_secs(4);
/// The most lines that are no messages.
const RUBBISH_LINES_MAX: u32 = 200;
/// The most lines that are kept because we do not understand them.
const KEPT_LINES_MAX: u32 = 200;
/// The most characters of such a line.
const KEPT_CHARACTERS_MAX: usize = 2_000;
/// The most bytes of what an agent adds in its own words.
const META_BYTES_MAX: usize = 16 * 1024;
/// The most models that are named to a person.
const MODELS_SHOWN_MAX: usize = 20;

/// A task for who holds the conversation.
#[derive(Debug, PartialEq)]
pub(super) enum AcpAct {
    /// Send this to the agent.
    Send(Value),
    Print(AcpLine),
    /// Do this for the agent, and answer under this id.
    Serve(Value, ClientRequest),
    /// It is over.
    End,
}

/// Something that the agent asks us to do.
#[derive(Debug, PartialEq)]
pub(super) enum ClientRequest {
    Permit(PermissionRequest),
    ReadTextFile(ReadTextFile),
    WriteTextFile(WriteTextFile),
    CreateTerminal(CreateTerminal),
    TerminalOutput(NamedTerminal),
    WaitForTerminal(NamedTerminal),
    KillTerminal(NamedTerminal),
    ReleaseTerminal(NamedTerminal),
}

/// One turn, as it is asked of the agent.
#[derive(Clone, Debug)]
pub(super) struct AcpTask {
    pub(super) prompt: String,
    pub(super) cwd: String,
    /// More folders that it works with.
    pub(super) folders: Vec<String>,
    pub(super) resume: Option<String>,
    pub(super) model: Option<String>,
}

/// The request of ours that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AcpStep {
    Initialize,
    Open,
    SetModel,
    Prompt,
    /// The prompt, after it was cancelled.
    Cancel,
    Over,
}

impl AcpStep {
    const fn method(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Open => "session/new or session/load",
            Self::SetModel => "session/set_config_option",
            Self::Prompt | Self::Cancel => "session/prompt",
            Self::Over => "nothing",
        }
    }
}

/// A conversation.
#[derive(Debug)]
pub(super) struct AcpConversation {
    task: AcpTask,
    step: AcpStep,
    /// The number of our last request.
    asked: u64,
    deadline: u64,
    agent: Initialized,
    session: String,
    options: Vec<ConfigOption>,
    /// What the session had cost before the prompt.
    paid_micros: Option<u64>,
    /// What it says, until something else comes.
    saying: String,
    tools: KnownTools,
    rubbish: u32,
    kept: u32,
}

impl AcpConversation {
    pub(super) fn new(task: AcpTask) -> Self {
        Self {
            task,
            step: AcpStep::Initialize,
            asked: 0,
            deadline: 0,
            agent: Initialized::default(),
            session: String::new(),
            options: Vec::new(),
            paid_micros: None,
            saying: String::new(),
            tools: KnownTools::default(),
            rubbish: 0,
            kept: 0,
        }
    }

    /// Begins it.
    pub(super) fn begin(&mut self) -> Vec<AcpAct> {
        let able = json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true});
        let us = json!({"name": "forge", "title": "Forge", "version": env!("CARGO_PKG_VERSION")});
        let params =
            json!({"protocolVersion": VERSION, "clientCapabilities": able, "clientInfo": us});
        vec![self.ask(AcpStep::Initialize, "initialize", &params)]
    }

    /// Returns how long the agent may take for its next answer.
    pub(super) const fn time_max(&self) -> Option<Duration> {
        match self.step {
            AcpStep::Initialize => Some(INITIALIZE_TIME_MAX),
            AcpStep::Open | AcpStep::SetModel => Some(SESSION_TIME_MAX),
            // Its keeper knows the limits of a turn.
            AcpStep::Prompt | AcpStep::Over => None,
            AcpStep::Cancel => Some(CANCEL_TIME_MAX),
        }
    }

    /// Returns a number that changes when the time for an answer begins anew.
    pub(super) const fn deadline(&self) -> u64 {
        self.deadline
    }

    /// Returns true if no model was asked anything.
    fn is_free(&self) -> bool {
        matches!(self.step, AcpStep::Initialize | AcpStep::Open | AcpStep::SetModel)
    }

    /// Hears one line of the agent.
    pub(super) fn hear(&mut self, line: &[u8]) -> Vec<AcpAct> {
        if self.step == AcpStep::Over || line.iter().all(u8::is_ascii_whitespace) {
            return Vec::new();
        }
        match PeerMessage::parse(line) {
            PeerMessage::Request { id, method, params } => self.request(id, &method, params),
            PeerMessage::Notification { method, params } if method == "session/update" => {
                self.update(params, line)
            }
            PeerMessage::Answer { id, answer } if id == json!(self.asked) => self.answer(answer),
            // One that we do not know, and what was answered twice, or never asked.
            PeerMessage::Notification { .. } | PeerMessage::Answer { .. } => self.keep(line),
            PeerMessage::Rubbish => self.rubbish(line),
        }
    }

    /// Hears that a line was too long.
    pub(super) fn too_long(&mut self, bytes_max: usize) -> Vec<AcpAct> {
        let what = format!("the agent sent a message of more than {bytes_max} bytes");
        self.fail(self.class_of_breaking(), &what)
    }

    /// Hears that the agent has ended, with the last that it wrote to its standard error.
    pub(super) fn closed(&mut self, how: &str, errors: &str) -> Vec<AcpAct> {
        let mut what = format!("the agent ended before it answered {}: {how}", self.step.method());
        if !errors.trim().is_empty() {
            what = format!("{what}\n{}", errors.trim());
        }
        let class = match self.step {
            AcpStep::Cancel => ErrorClass::Stopped,
            AcpStep::Prompt => errors::class_of_text(errors).unwrap_or(ErrorClass::Unknown),
            AcpStep::Initialize | AcpStep::Open | AcpStep::SetModel | AcpStep::Over => {
                errors::class_of_text(errors).unwrap_or(ErrorClass::Unusable)
            }
        };
        self.fail(class, &what)
    }

    /// Hears that the agent does not take what we send.
    pub(super) fn deaf(&mut self) -> Vec<AcpAct> {
        self.fail(self.class_of_breaking(), "the agent does not read what is sent to it")
    }

    /// Hears that the time for an answer is over.
    pub(super) fn overdue(&mut self) -> Vec<AcpAct> {
        let method = self.step.method();
        if self.step == AcpStep::Cancel {
            return self.fail(ErrorClass::Stopped, "the turn was cancelled");
        }
        let seconds = self.time_max().unwrap_or_default().as_secs();
        let what = format!("the agent did not answer {method} within {seconds} s");
        self.fail(self.class_of_breaking(), &what)
    }

    /// Ends the turn.
    pub(super) fn stop(&mut self) -> Vec<AcpAct> {
        match self.step {
            AcpStep::Prompt => {
                self.step = AcpStep::Cancel;
                self.deadline += 1;
                let params = json!({"sessionId": self.session});
                vec![AcpAct::Send(rpc::notification("session/cancel", &params))]
            }
            AcpStep::Initialize | AcpStep::Open | AcpStep::SetModel => {
                self.fail(ErrorClass::Stopped, "it was stopped before its turn began")
            }
            AcpStep::Cancel | AcpStep::Over => Vec::new(),
        }
    }

    /// Returns the class of an agent that does not keep to the protocol.
    fn class_of_breaking(&self) -> ErrorClass {
        if self.is_free() { ErrorClass::Unusable } else { ErrorClass::Tooling }
    }

    fn ask(&mut self, step: AcpStep, method: &str, params: &Value) -> AcpAct {
        self.step = step;
        (self.asked, self.deadline) = (self.asked + 1, self.deadline + 1);
        AcpAct::Send(rpc::request(self.asked, method, params))
    }

    fn answer(&mut self, answer: Result<Value, RpcError>) -> Vec<AcpAct> {
        match (self.step, answer) {
            (AcpStep::Initialize, Ok(agent)) => self.initialized(agent),
            (AcpStep::Open, Ok(session)) => self.opened(session),
            (AcpStep::SetModel, Ok(settings)) => {
                let set: OpenedSession = read(settings);
                if !set.config_options.is_empty() {
                    self.options = set.config_options;
                }
                self.prompt()
            }
            (AcpStep::Prompt | AcpStep::Cancel, Ok(ended)) => self.turn_ended(&read(ended)),
            (step, Err(error)) => self.refused(step, &error),
            (AcpStep::Over, Ok(_)) => Vec::new(),
        }
    }

    fn initialized(&mut self, agent: Value) -> Vec<AcpAct> {
        self.agent = read(agent);
        if self.agent.protocol_version != json!(VERSION) {
            let what = format!(
                "the agent speaks version {} of the Agent Client Protocol, and Forge version {VERSION}: \
                 install another version of it",
                self.agent.protocol_version
            );
            return self.fail(ErrorClass::Unusable, &truncate(&what, KEPT_CHARACTERS_MAX));
        }
        let mut params = json!({"cwd": self.task.cwd, "mcpServers": []});
        if !self.agent.agent_capabilities.session_capabilities.additional_directories.is_null() {
            params["additionalDirectories"] = json!(self.task.folders);
        }
        let method = match self.task.resume.clone() {
            None => "session/new",
            Some(session) if self.agent.agent_capabilities.load_session => {
                params["sessionId"] = json!(session);
                "session/load"
            }
            Some(_) => {
                return self.fail(ErrorClass::NoSession, "the agent cannot load a session");
            }
        };
        vec![self.ask(AcpStep::Open, method, &params)]
    }

    fn opened(&mut self, session: Value) -> Vec<AcpAct> {
        let opened: OpenedSession = read(session);
        let Some(session) = self.task.resume.clone().or(opened.session_id) else {
            return self.fail(ErrorClass::Unusable, "the agent opened a session without a name");
        };
        self.session = session;
        self.options = opened.config_options;
        let Some(model) = self.task.model.clone() else { return self.prompt() };
        let Some(option) = self.options.iter().find(|option| option.is_model()) else {
            let what = format!(
                "the agent offers no choice of models, and `{model}` is asked for: remove the setting, \
                 and choose the model in the agent's own settings"
            );
            return self.fail(ErrorClass::NoModel, &what);
        };
        if option.current_value.as_deref() == Some(&model) {
            return self.prompt();
        }
        let params = json!({"sessionId": self.session, "configId": option.id, "value": model});
        vec![self.ask(AcpStep::SetModel, "session/set_config_option", &params)]
    }

    fn prompt(&mut self) -> Vec<AcpAct> {
        let model = self.options.iter().find(|option| option.is_model());
        let model = model.and_then(|option| option.current_value.clone());
        let keeps = self.agent.agent_capabilities.load_session;
        let began = AcpLine::Began {
            session: keeps.then(|| self.session.clone()),
            model: model.or_else(|| self.task.model.clone()),
            version: self.agent.agent_info.version.clone(),
            paid_micros: self.paid_micros,
        };
        let prompt = json!([{"type": "text", "text": self.task.prompt}]);
        let params = json!({"sessionId": self.session, "prompt": prompt});
        vec![AcpAct::Print(began), self.ask(AcpStep::Prompt, "session/prompt", &params)]
    }

    fn turn_ended(&mut self, ended: &PromptEnded) -> Vec<AcpAct> {
        let mut acts = self.said();
        let tokens = ended.usage.map(TurnUsage::tokens).unwrap_or_default();
        if tokens != TokenCounts::default() {
            acts.push(AcpAct::Print(AcpLine::Tokens { tokens }));
        }
        if ended.meta.is_object() && ended.meta.to_string().len() <= META_BYTES_MAX {
            acts.push(AcpAct::Print(AcpLine::Added { meta: ended.meta.clone() }));
        }
        let (class, what) = match ended.stop_reason.as_str() {
            "end_turn" => (None, ""),
            "max_tokens" => {
                (Some(ErrorClass::Overflow), "its answer reached the most tokens of the model")
            }
            "max_turn_requests" => {
                (Some(ErrorClass::OutOfBudget), "it reached its own limit of requests for a turn")
            }
            "refusal" => (Some(ErrorClass::Refusal), "the model refuses to continue"),
            "cancelled" => (Some(ErrorClass::Stopped), "the turn was cancelled"),
            _ => (Some(ErrorClass::Unknown), "the turn ended for a reason that is not of ACP"),
        };
        acts.extend(self.end(class, what));
        acts
    }

    fn refused(&mut self, step: AcpStep, error: &RpcError) -> Vec<AcpAct> {
        let told = errors::text_of(error);
        let known = errors::class_of(error);
        let is_login = known == Some(ErrorClass::Auth);
        let (class, what) = match step {
            AcpStep::Cancel => (ErrorClass::Stopped, "the turn was cancelled".to_owned()),
            // Who is not let in with it is told so of a new one.
            AcpStep::Open if self.task.resume.is_some() => (ErrorClass::NoSession, told),
            AcpStep::Initialize | AcpStep::Open | AcpStep::SetModel | AcpStep::Prompt
                if is_login =>
            {
                (ErrorClass::Auth, self.how_to_log_in(&told))
            }
            AcpStep::Initialize => (ErrorClass::Unusable, format!("the agent refuses: {told}")),
            AcpStep::Open => (
                known.unwrap_or(ErrorClass::Unusable),
                format!("the agent opens no session: {told}"),
            ),
            AcpStep::SetModel => (ErrorClass::NoModel, self.which_models(&told)),
            AcpStep::Prompt | AcpStep::Over => (known.unwrap_or(ErrorClass::Unknown), told),
        };
        let mut acts = self.said();
        acts.extend(self.end(Some(class), &what));
        acts
    }

    fn how_to_log_in(&self, told: &str) -> String {
        let method = |method: &AuthMethod| match method.description.as_str() {
            "" => method.name.clone(),
            about => format!("{} ({about})", method.name),
        };
        let methods: Vec<String> = self.agent.auth_methods.iter().map(method).collect();
        let program =
            "log in with the agent's own program, or name the variable of its key in `pass`";
        if methods.is_empty() {
            format!("{told}: {program}")
        } else {
            format!("{told}: {program}; it knows: {}", truncate(&methods.join("; "), 500))
        }
    }

    fn which_models(&self, told: &str) -> String {
        let option = self.options.iter().find(|option| option.is_model());
        let values = option.map(ConfigOption::values).unwrap_or_default();
        let shown: Vec<&str> = values.iter().take(MODELS_SHOWN_MAX).copied().collect();
        format!("{told}; the agent has: {}", shown.join(", "))
    }

    /// Hears that something happened in the session.
    fn update(&mut self, mut params: Value, line: &[u8]) -> Vec<AcpAct> {
        let update: Update = read(params["update"].take());
        // What a session that is loaded tells was told before.
        let is_replayed = self.is_free();
        match update.kind.as_str() {
            "agent_message_chunk" if !is_replayed => self.chunk(&update.content),
            "tool_call" | "tool_call_update" if !is_replayed => {
                let mut acts = self.said();
                acts.push(AcpAct::Print(self.tools.hear(update.tool)));
                acts
            }
            "usage_update" => {
                let cost = update.cost.filter(|cost| cost.currency.eq_ignore_ascii_case("usd"));
                let Some(total_micros) = cost.map(|cost| micros(cost.amount)) else {
                    return vec![AcpAct::Print(AcpLine::Alive)];
                };
                if is_replayed {
                    self.paid_micros = Some(total_micros);
                    return Vec::new();
                }
                vec![AcpAct::Print(AcpLine::Paid { total_micros })]
            }
            "" => self.keep(line),
            _ if is_replayed => Vec::new(),
            _ => {
                let mut acts = self.said();
                acts.push(AcpAct::Print(AcpLine::Alive));
                acts
            }
        }
    }

    fn chunk(&mut self, content: &Value) -> Vec<AcpAct> {
        let text = content["text"].as_str().unwrap_or_default();
        self.saying.push_str(text);
        if self.saying.len() < TEXT_CHARACTERS_MAX {
            return vec![AcpAct::Print(AcpLine::Alive)];
        }
        self.said()
    }

    /// Prints what it said.
    fn said(&mut self) -> Vec<AcpAct> {
        let text = std::mem::take(&mut self.saying);
        if text.trim().is_empty() {
            return Vec::new();
        }
        // One message after another has no end of its own.
        let text = truncate(text.trim(), TEXT_CHARACTERS_MAX);
        vec![AcpAct::Print(AcpLine::Said { text })]
    }

    fn request(&mut self, id: Value, method: &str, params: Value) -> Vec<AcpAct> {
        let serve = |request: Result<ClientRequest, serde_json::Error>| match request {
            Ok(request) => vec![AcpAct::Serve(id.clone(), request)],
            Err(error) => {
                let error = RpcError::new(rpc::INVALID_PARAMS, error.to_string());
                vec![AcpAct::Send(rpc::answer(&id, Err(error)))]
            }
        };
        let from = serde_json::from_value::<NamedTerminal>;
        match method {
            "session/request_permission" => {
                let request = self.tools.permission(read(params));
                vec![AcpAct::Serve(id, ClientRequest::Permit(request))]
            }
            "fs/read_text_file" => {
                serve(serde_json::from_value(params).map(ClientRequest::ReadTextFile))
            }
            "fs/write_text_file" => {
                serve(serde_json::from_value(params).map(ClientRequest::WriteTextFile))
            }
            "terminal/create" => {
                serve(serde_json::from_value(params).map(ClientRequest::CreateTerminal))
            }
            "terminal/output" => serve(from(params).map(ClientRequest::TerminalOutput)),
            "terminal/wait_for_exit" => serve(from(params).map(ClientRequest::WaitForTerminal)),
            "terminal/kill" => serve(from(params).map(ClientRequest::KillTerminal)),
            "terminal/release" => serve(from(params).map(ClientRequest::ReleaseTerminal)),
            _ => {
                let error = RpcError::new(METHOD_NOT_FOUND, format!("unknown method `{method}`"));
                vec![AcpAct::Send(rpc::answer(&id, Err(error)))]
            }
        }
    }

    fn rubbish(&mut self, line: &[u8]) -> Vec<AcpAct> {
        self.rubbish += 1;
        if self.rubbish <= RUBBISH_LINES_MAX {
            return self.keep(line);
        }
        let line = first_line(&String::from_utf8_lossy(&line[..line.len().min(400)]));
        let what = format!(
            "the agent prints lines that are not of the Agent Client Protocol, such as: {line}"
        );
        self.fail(self.class_of_breaking(), &what)
    }

    fn keep(&mut self, line: &[u8]) -> Vec<AcpAct> {
        self.kept += 1;
        if self.kept > KEPT_LINES_MAX {
            return vec![AcpAct::Print(AcpLine::Alive)];
        }
        let line = &line[..line.len().min(4 * KEPT_CHARACTERS_MAX)];
        let text = truncate(&String::from_utf8_lossy(line), KEPT_CHARACTERS_MAX);
        vec![AcpAct::Print(AcpLine::Kept { text })]
    }

    fn fail(&mut self, class: ErrorClass, what: &str) -> Vec<AcpAct> {
        if self.step == AcpStep::Over {
            return Vec::new();
        }
        let mut acts = self.said();
        acts.extend(self.end(Some(class), what));
        acts
    }

    fn end(&mut self, class: Option<ErrorClass>, what: &str) -> [AcpAct; 2] {
        self.step = AcpStep::Over;
        [AcpAct::Print(AcpLine::Ended { class, what: what.to_owned() }), AcpAct::End]
    }
}

/// Rounds floating dollars to the nearest millionth, but never to zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest whole number, and the largest one where it is too large"
)]
fn micros(dollars: f64) -> u64 {
    let micros = (dollars * 1e6).round() as u64;
    if dollars > 0.0 { micros.max(1) } else { micros }
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
