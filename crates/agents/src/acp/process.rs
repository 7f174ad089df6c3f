//! `forge __acp --access reads|writes [--model MODEL] [--resume SESSION] -- PROGRAM…`: the process that holds the conversation.
//!
//! One thread decides. Others only read (the agent's output and errors), write (its input), and wait (for signals and commands),
//! so that nothing that the agent does or leaves undone can keep the one that decides.
//!
//! Invariant: the last line is printed before the exit code says the same.
//! Invariant: memory is bounded: lines, what is not yet taken from us, and what was printed to the standard error.

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use forge_keeper::{INBOX_VARIABLE, OUTBOX_VARIABLE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::conversation::{AcpAct, AcpConversation, AcpTask, ClientRequest};
use super::files;
use super::lines::AcpLine;
use super::policy::{AllowedFolders, PermissionAnswer};
use super::rpc::{self, INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, RpcError};
use super::terminals::Terminals;
use crate::agent::CodeAccess;
use crate::line_reader::{LINE_BYTES_MAX, Lines};
use crate::signal::ErrorClass;

/// The command line is wrong, or our own place is.
const USAGE_EXIT: u8 = 64;
/// It ended badly.
const FAILED_EXIT: u8 = 1;
/// Above this an exit code is the number of a signal.
const SIGNALS: i32 = 128;
/// The most bytes of a prompt.
const PROMPT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The most messages of the agent that wait to be heard.
const HEARD_MAX: usize = 8;
/// The most bytes that wait to be read by the agent.
const UNSENT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The most bytes that are remembered of what it wrote to its standard error.
const ERRORS_BYTES_MAX: usize = 2 * 1024;
/// How long an agent may take to end after its input was closed, and then after it was told to.
const END_TIME_MAX: Duration = Duration::from_secs(2);
/// How often it is looked whether it has ended.
const END_LOOK_EVERY: Duration = Duration::from_millis(10);
/// It is said that the agent lives at most this often.
const ALIVE_EVERY: Duration = Duration::from_secs(10);

/// Something that the deciding thread hears of.
enum AcpEvent {
    Line(Vec<u8>),
    TooLong,
    /// The output of the agent is at its end.
    Closed,
    Stop,
    CommandEnded(String),
}

/// The parsed command line.
struct AcpArguments {
    access: CodeAccess,
    model: Option<String>,
    resume: Option<String>,
    command: Vec<OsString>,
}

/// Runs `forge __acp`; `args` are those after `__acp`.
pub fn converse(args: Vec<OsString>) -> ExitCode {
    let Some(arguments) = AcpArguments::parse(args) else {
        return complain("usage: __acp --access reads|writes [--model M] [--resume S] -- PROGRAM");
    };
    match Talk::start(&arguments) {
        Ok(talk) => talk.until_the_end(),
        Err(error) => complain(&error.to_string()),
    }
}

fn complain(what: &str) -> ExitCode {
    // If nobody can hear it, the exit code still says it.
    let _ = writeln!(io::stderr(), "acp: {what}");
    ExitCode::from(USAGE_EXIT)
}

impl AcpArguments {
    fn parse(args: Vec<OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        let (mut access, mut model, mut resume) = (None, None, None);
        loop {
            let word = args.next()?;
            let mut text = || args.next()?.into_string().ok();
            match word.to_str()? {
                "--access" => match text()?.as_str() {
                    "reads" => access = Some(CodeAccess::Reads),
                    "writes" => access = Some(CodeAccess::Writes),
                    _ => return None,
                },
                "--model" => model = Some(text()?),
                "--resume" => resume = Some(text()?),
                "--" => break,
                _ => return None,
            }
        }
        let command: Vec<OsString> = args.collect();
        let has_program = !command.is_empty();
        Some(Self { access: access?, model, resume, command }).filter(|_| has_program)
    }
}

/// A conversation under way, with all its threads.
struct Talk {
    conversation: AcpConversation,
    folders: AllowedFolders,
    terminals: Terminals,
    agent: Option<Child>,
    to_agent: Option<Sender<String>>,
    unsent: Arc<AtomicUsize>,
    events: Receiver<AcpEvent>,
    errors: Arc<Mutex<Vec<u8>>>,
    /// Is closed when everything that it wrote there has been read.
    errors_read: Option<Receiver<Infallible>>,
    alive_at: Option<Instant>,
    /// The exit code, when it is over.
    code: Option<u8>,
}

impl Talk {
    fn start(arguments: &AcpArguments) -> io::Result<Self> {
        let mut prompt = String::new();
        io::stdin().lock().take(PROMPT_BYTES_MAX + 1).read_to_string(&mut prompt)?;
        if prompt.len() as u64 > PROMPT_BYTES_MAX {
            return Err(io::Error::other(format!(
                "the prompt has more than {PROMPT_BYTES_MAX} bytes"
            )));
        }
        let variable = |name: &str| {
            let missing = || io::Error::other(format!("the variable {name} is not set"));
            env::var_os(name).map(PathBuf::from).ok_or_else(missing)
        };
        let folders = AllowedFolders {
            checkout: env::current_dir()?,
            inbox: variable(INBOX_VARIABLE)?,
            outbox: variable(OUTBOX_VARIABLE)?,
            access: arguments.access,
        };
        let (tell, events) = sync_channel(HEARD_MAX);
        stop_by_signal(&tell)?;
        let told = tell.clone();
        let terminals = Terminals::new(move |name| {
            let _it_may_be_over = told.send(AcpEvent::CommandEnded(name));
        });
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let conversation = AcpConversation::new(AcpTask {
            prompt,
            cwd: text(&folders.checkout),
            folders: vec![text(&folders.inbox), text(&folders.outbox)],
            resume: arguments.resume.clone(),
            model: arguments.model.clone(),
        });
        let mut talk = Self {
            conversation,
            folders,
            terminals,
            agent: None,
            to_agent: None,
            unsent: Arc::default(),
            events,
            errors: Arc::default(),
            errors_read: None,
            alive_at: None,
            code: None,
        };
        talk.start_agent(&arguments.command, &tell);
        Ok(talk)
    }

    fn start_agent(&mut self, command: &[OsString], tell: &SyncSender<AcpEvent>) {
        let (program, args) = command.split_first().expect("the command line has a program");
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut agent = match command.spawn() {
            Ok(agent) => agent,
            Err(error) => {
                let what = format!("cannot run `{}`: {error}", program.display());
                let class = Some(ErrorClass::Unusable);
                self.act(vec![AcpAct::Print(AcpLine::Ended { class, what }), AcpAct::End]);
                return;
            }
        };
        let (stdin, stdout) = (agent.stdin.take(), agent.stdout.take());
        let (stdin, stdout) = stdin.zip(stdout).expect("both are pipes");
        let stderr = agent.stderr.take().expect("it is a pipe");
        self.agent = Some(agent);
        let (to_agent, sent) = channel();
        self.to_agent = Some(to_agent);
        let unsent = Arc::clone(&self.unsent);
        thread::spawn(move || write_to(stdin, &sent, &unsent));
        let told = tell.clone();
        thread::spawn(move || hear_from(stdout, &told));
        let errors = Arc::clone(&self.errors);
        let (reading, errors_read) = channel();
        self.errors_read = Some(errors_read);
        thread::spawn(move || {
            pass_errors(stderr, &errors);
            drop(reading);
        });
    }

    fn until_the_end(mut self) -> ExitCode {
        if self.code.is_none() {
            let acts = self.conversation.begin();
            self.act(acts);
        }
        let mut deadline = self.conversation.deadline();
        let mut since = Instant::now();
        while self.code.is_none() {
            if self.conversation.deadline() != deadline {
                (deadline, since) = (self.conversation.deadline(), Instant::now());
            }
            let event = match self.conversation.time_max() {
                Some(most) => self.events.recv_timeout(most.saturating_sub(since.elapsed())),
                None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let acts = match event {
                Ok(AcpEvent::Line(line)) => self.conversation.hear(&line),
                Ok(AcpEvent::TooLong) => self.conversation.too_long(LINE_BYTES_MAX),
                Ok(AcpEvent::Stop) => self.conversation.stop(),
                Ok(AcpEvent::CommandEnded(name)) => self.command_ended(&name),
                Ok(AcpEvent::Closed) | Err(RecvTimeoutError::Disconnected) => self.closed(),
                Err(RecvTimeoutError::Timeout) => self.conversation.overdue(),
            };
            self.act(acts);
        }
        self.terminals.kill_all();
        self.let_agent_end();
        ExitCode::from(self.code.unwrap_or(FAILED_EXIT))
    }

    fn act(&mut self, acts: Vec<AcpAct>) {
        for act in acts {
            match act {
                AcpAct::Send(message) => self.send(&message),
                AcpAct::Print(line) => self.print(&line),
                AcpAct::Serve(id, request) => self.serve(&id, request),
                AcpAct::End => {
                    let _it_is_over = self.code.get_or_insert(FAILED_EXIT);
                }
            }
        }
    }

    fn print(&mut self, line: &AcpLine) {
        if *line == AcpLine::Alive {
            if self.alive_at.is_some_and(|at| at.elapsed() < ALIVE_EVERY) {
                return;
            }
            self.alive_at = Some(Instant::now());
        }
        if let AcpLine::Ended { class: None, .. } = line {
            self.code = Some(0);
        }
        let mut line = serde_json::to_vec(line).expect("texts and numbers can be written");
        line.push(b'\n');
        // Without anybody who reads it there is nothing left to do.
        if io::stdout().lock().write_all(&line).is_err() {
            self.code = Some(FAILED_EXIT);
        }
    }

    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let bytes = line.len();
        let is_full = self.unsent.fetch_add(bytes, Ordering::Relaxed) + bytes > UNSENT_BYTES_MAX;
        let is_sent = !is_full && self.to_agent.as_ref().is_some_and(|to| to.send(line).is_ok());
        // Who has closed its input is about to end, which says more.
        if is_full && !is_sent {
            let acts = self.conversation.deaf();
            self.act(acts);
        }
    }

    fn serve(&mut self, id: &Value, request: ClientRequest) {
        let outside = |what: String| RpcError::new(INVALID_PARAMS, what);
        let no_terminal = |what: String| RpcError::new(NOT_FOUND, what);
        let answer = match request {
            ClientRequest::Permit(request) => {
                let outcome = match self.folders.answer(&request) {
                    PermissionAnswer::Allowed(option) => {
                        json!({"outcome": "selected", "optionId": option})
                    }
                    PermissionAnswer::Refused(option) => {
                        let what = format!("{}: {}", request.kind.as_str(), request.title);
                        self.print(&AcpLine::Denied { what });
                        match option {
                            Some(option) => json!({"outcome": "selected", "optionId": option}),
                            None => json!({"outcome": "cancelled"}),
                        }
                    }
                };
                Ok(json!({"outcome": outcome}))
            }
            ClientRequest::ReadTextFile(wanted) => files::read_text(&self.folders, &wanted)
                .map(|content| json!({"content": content}))
                .map_err(outside),
            ClientRequest::WriteTextFile(wanted) => {
                files::write_text(&self.folders, &wanted).map(|()| json!({})).map_err(outside)
            }
            ClientRequest::CreateTerminal(wanted) => self
                .terminals
                .create(&self.folders.checkout, &wanted)
                .map(|name| json!({"terminalId": name}))
                .map_err(outside),
            ClientRequest::TerminalOutput(of) => {
                self.terminals.output(&of.terminal_id).map_err(no_terminal)
            }
            ClientRequest::WaitForTerminal(of) => match self.terminals.wait(&of.terminal_id, id) {
                Ok(None) => return,
                Ok(Some(status)) => Ok(status),
                Err(what) => Err(no_terminal(what)),
            },
            ClientRequest::KillTerminal(of) => {
                self.terminals.kill(&of.terminal_id).map(|()| json!({})).map_err(no_terminal)
            }
            ClientRequest::ReleaseTerminal(of) => match self.terminals.release(&of.terminal_id) {
                Ok(waiting) => {
                    for waits in waiting {
                        let gone = RpcError::new(INTERNAL_ERROR, "the terminal was released");
                        self.send(&rpc::answer(&waits, Err(gone)));
                    }
                    Ok(json!({}))
                }
                Err(what) => Err(no_terminal(what)),
            },
        };
        self.send(&rpc::answer(id, answer));
    }

    fn command_ended(&self, name: &str) -> Vec<AcpAct> {
        let (waiting, status) = self.terminals.ended(name).unwrap_or_default();
        let answer = |id: Value| AcpAct::Send(rpc::answer(&id, Ok(status.clone())));
        waiting.into_iter().map(answer).collect()
    }

    /// The agent says nothing more: how did it end?
    fn closed(&mut self) -> Vec<AcpAct> {
        self.to_agent = None;
        let mut how = "it closed its output".to_owned();
        if let Some(status) = self.agent.as_mut().and_then(|agent| wait(agent, END_TIME_MAX)) {
            how = match (status.code(), status.signal()) {
                (_, Some(signal)) => {
                    // What was killed from outside is told apart by its keeper's reader.
                    self.code = u8::try_from(SIGNALS + signal).ok();
                    format!("killed by signal {signal}")
                }
                (code, None) => format!("exit code {}", code.unwrap_or_default()),
            };
        }
        // Its last words are read by another thread; a child that it left behind may keep them open.
        if let Some(read) = &self.errors_read {
            let _read_or_kept_open = read.recv_timeout(END_TIME_MAX);
        }
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let acts = self.conversation.closed(&how, &String::from_utf8_lossy(&errors));
        let _it_is_over = self.code.get_or_insert(FAILED_EXIT);
        acts
    }

    /// Closes the input of the agent, which ends it; or it is told to, and then killed.
    fn let_agent_end(&mut self) {
        self.to_agent = None;
        let Some(agent) = &mut self.agent else { return };
        for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
            if let (Some(signal), Some(pid)) = (signal, Pid::from_raw(agent.id().cast_signed())) {
                let _it_may_be_gone = kill_process(pid, signal);
            }
            if wait(agent, END_TIME_MAX).is_some() {
                return;
            }
        }
    }
}

/// Waits for the end of a child.
fn wait(child: &mut Child, longest: Duration) -> Option<std::process::ExitStatus> {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if began.elapsed() < longest => thread::sleep(END_LOOK_EVERY),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Lets SIGTERM, by which a keeper ends a turn, end it in the conversation.
fn stop_by_signal(tell: &SyncSender<AcpEvent>) -> io::Result<()> {
    let (mut ours, theirs) = UnixStream::pair()?;
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::low_level::pipe::register(signal, theirs.try_clone()?)?;
    }
    let tell = tell.clone();
    thread::spawn(move || {
        let mut byte = [0];
        while let Ok(1) = ours.read(&mut byte) {
            let _it_may_be_over = tell.send(AcpEvent::Stop);
        }
    });
    Ok(())
}

/// Writes to the agent until there is nothing more to write.
fn write_to(mut stdin: ChildStdin, lines: &Receiver<String>, unsent: &AtomicUsize) {
    for line in lines {
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
        unsent.fetch_sub(line.len(), Ordering::Relaxed);
    }
}

/// Cuts what the agent prints into lines.
fn hear_from(mut stdout: impl Read, tell: &SyncSender<AcpEvent>) {
    let mut lines = Lines::new(LINE_BYTES_MAX);
    let mut bytes = vec![0; 64 * 1024];
    loop {
        match stdout.read(&mut bytes) {
            Ok(0) => break,
            Ok(read) => lines.push(&bytes[..read], |line| {
                let _it_may_be_over = tell.send(AcpEvent::Line(line.to_vec()));
            }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        if lines.skipped() > 0 {
            let _it_may_be_over = tell.send(AcpEvent::TooLong);
            return;
        }
    }
    lines.finish(|line| {
        let _it_may_be_over = tell.send(AcpEvent::Line(line.to_vec()));
    });
    let _it_may_be_over = tell.send(AcpEvent::Closed);
}

/// Passes on what the agent writes to its standard error, and remembers the end of it.
fn pass_errors(mut stderr: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 8192];
    while let Ok(read @ 1..) = stderr.read(&mut bytes) {
        let _nobody_listens = io::stderr().lock().write_all(&bytes[..read]);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&bytes[..read]);
        let excess = kept.len().saturating_sub(ERRORS_BYTES_MAX);
        kept.drain(..excess);
    }
}
