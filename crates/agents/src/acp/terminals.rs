//! Commands that an agent lets us run, and what they print.
//!
//! Each leads a process group of its own. A keeper kills whatever is left in the end, as for every call.
//!
//! Invariant: a command starts in the checkout or below it, and gets the environment of the agent.
//! Invariant: no group is signalled after its leader was reaped: its number may be another's.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::{Value, json};

use super::policy::real;
use super::wire::CreateTerminal;

/// The most terminals that are not released.
const TERMINALS_MAX: usize = 64;
/// The most bytes of output that are kept for one.
const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// The terminals of a conversation.
pub(super) struct Terminals {
    open: BTreeMap<String, Arc<Mutex<RunningCommand>>>,
    made: u64,
    /// Tells that one has ended.
    tell: Arc<dyn Fn(String) + Send + Sync>,
}

/// A command, running or ended.
struct RunningCommand {
    child: Child,
    ended: Option<ExitStatus>,
    /// The end of what it printed.
    output: Vec<u8>,
    output_max: usize,
    /// True once something of the beginning was dropped.
    is_truncated: bool,
    /// Requests that wait for its end.
    waiting: Vec<Value>,
}

impl Terminals {
    pub(super) fn new(tell: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self { open: BTreeMap::new(), made: 0, tell: Arc::new(tell) }
    }

    /// Starts a command, and returns the name of its terminal.
    pub(super) fn create(
        &mut self,
        checkout: &Path,
        wanted: &CreateTerminal,
    ) -> Result<String, String> {
        if self.open.len() == TERMINALS_MAX {
            return Err(format!("there are {TERMINALS_MAX} terminals; release one first"));
        }
        let place = wanted.cwd.as_deref().unwrap_or(checkout);
        let inside = real(checkout).zip(real(place)).filter(|(all, place)| place.starts_with(all));
        let Some((_, place)) = inside else {
            return Err(format!("{}: it is not below the checkout", place.display()));
        };
        let (reader, writer) = io::pipe().map_err(|error| error.to_string())?;
        let mut command = command(wanted);
        command.current_dir(place).process_group(0).stdin(Stdio::null());
        command.stdout(writer.try_clone().map_err(|error| error.to_string())?).stderr(writer);
        command.envs(wanted.env.iter().map(|one| (&one.name, &one.value)));
        let child = command.spawn().map_err(|error| format!("{}: {error}", wanted.command))?;
        // The ends of the pipe for the child must not stay open here.
        drop(command);
        self.made += 1;
        let name = format!("terminal-{}", self.made);
        let output_max = wanted.output_byte_limit.unwrap_or(OUTPUT_BYTES_MAX);
        let pid = child.id().cast_signed();
        let running = Arc::new(Mutex::new(RunningCommand {
            child,
            ended: None,
            output: Vec::new(),
            output_max: output_max.min(OUTPUT_BYTES_MAX),
            is_truncated: false,
            waiting: Vec::new(),
        }));
        let (listened, watched) = (Arc::clone(&running), Arc::clone(&running));
        let (tell, told) = (Arc::clone(&self.tell), name.clone());
        let listening = thread::spawn(move || listen(reader, &listened));
        thread::spawn(move || {
            watch(pid, &watched, &listening);
            tell(told);
        });
        self.open.insert(name.clone(), running);
        Ok(name)
    }

    /// Returns what a command printed, and how it ended if it has.
    pub(super) fn output(&self, name: &str) -> Result<Value, String> {
        let running = self.find(name)?;
        let mut output = json!({
            "output": String::from_utf8_lossy(&running.output),
            "truncated": running.is_truncated,
        });
        if let Some(status) = running.ended {
            output["exitStatus"] = exit_status(status);
        }
        Ok(output)
    }

    /// Returns how a command ended, or lets the request wait for it.
    pub(super) fn wait(&self, name: &str, request: &Value) -> Result<Option<Value>, String> {
        let mut running = self.find(name)?;
        if let Some(status) = running.ended {
            return Ok(Some(exit_status(status)));
        }
        running.waiting.push(request.clone());
        Ok(None)
    }

    /// Returns the requests that waited for a command that has ended, and how it ended.
    pub(super) fn ended(&self, name: &str) -> Option<(Vec<Value>, Value)> {
        let mut running = self.find(name).ok()?;
        let status = running.ended?;
        Some((std::mem::take(&mut running.waiting), exit_status(status)))
    }

    /// Kills a command with everybody in its group.
    pub(super) fn kill(&self, name: &str) -> Result<(), String> {
        self.find(name)?.kill();
        Ok(())
    }

    /// Kills a command and forgets it. Returns the requests that waited for it.
    pub(super) fn release(&mut self, name: &str) -> Result<Vec<Value>, String> {
        let mut running = self.find(name)?;
        running.kill();
        let waiting = std::mem::take(&mut running.waiting);
        drop(running);
        self.open.remove(name);
        Ok(waiting)
    }

    /// Kills all commands.
    pub(super) fn kill_all(&self) {
        self.open.values().for_each(|running| lock(running).kill());
    }

    fn find(&self, name: &str) -> Result<MutexGuard<'_, RunningCommand>, String> {
        self.open.get(name).map(|running| lock(running)).ok_or_else(|| {
            format!("there is no terminal `{}`", name.chars().take(50).collect::<String>())
        })
    }
}

impl RunningCommand {
    fn kill(&mut self) {
        if self.ended.is_none() {
            let group = Pid::from_raw(self.child.id().cast_signed()).expect("a child has a pid");
            // It may have ended a moment ago; it is not reaped, so the number is still its own.
            let _it_may_be_gone = kill_process_group(group, Signal::KILL);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
        if self.output.len() > self.output_max {
            let mut start = self.output.len() - self.output_max;
            // Not in the middle of a character.
            while self.output.get(start).is_some_and(|byte| byte & 0xc0 == 0x80) {
                start += 1;
            }
            self.output.drain(..start);
            self.is_truncated = true;
        }
    }
}

fn lock(running: &Mutex<RunningCommand>) -> MutexGuard<'_, RunningCommand> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program with its arguments, or a line for the shell: agents write both.
fn command(wanted: &CreateTerminal) -> Command {
    if wanted.args.is_empty() {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&wanted.command);
        return command;
    }
    let mut command = Command::new(&wanted.command);
    command.args(&wanted.args);
    command
}

/// Takes in what a command prints.
fn listen(mut reader: impl Read, running: &Mutex<RunningCommand>) {
    let mut bytes = [0; 8192];
    loop {
        match reader.read(&mut bytes) {
            Ok(0) => return,
            Ok(read) => lock(running).keep(&bytes[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Waits until a command has ended, and takes down how.
fn watch(pid: i32, running: &Mutex<RunningCommand>, listening: &thread::JoinHandle<()>) {
    let pid = Pid::from_raw(pid).expect("a child has a pid");
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
    // What it printed is there before its end is told, unless somebody else still has its output open.
    for _ in 0..OUTPUT_LOOKS_MAX {
        if listening.is_finished() {
            break;
        }
        thread::sleep(OUTPUT_LOOK_EVERY);
    }
    let mut running = lock(running);
    // Reaped while it is locked: from here on nobody signals its number.
    running.ended = running.child.wait().ok().or(Some(ExitStatus::from_raw(0)));
}

/// How often it is looked whether the output of an ended command is complete.
const OUTPUT_LOOKS_MAX: u32 = 20;
const OUTPUT_LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(5);

fn exit_status(status: ExitStatus) -> Value {
    let signal = status.signal().map(|signal| signal.to_string());
    json!({"exitCode": status.code(), "signal": signal})
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use tempfile::TempDir;

    use super::*;

    fn world() -> (TempDir, Terminals, Receiver<String>) {
        let home = tempfile::tempdir().unwrap();
        let (tell, told) = channel();
        let tell = Mutex::new(tell);
        let terminals = Terminals::new(move |name| {
            let _nobody_listens = tell.lock().unwrap().send(name);
        });
        (home, terminals, told)
    }

    fn line(command: &str) -> CreateTerminal {
        CreateTerminal {
            command: command.to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            output_byte_limit: None,
        }
    }

    #[test]
    fn a_command_runs_in_the_checkout_and_who_waits_for_it_is_told() {
        let (home, mut terminals, told) = world();
        let name = terminals.create(home.path(), &line("pwd; echo oh >&2; exit 3")).unwrap();
        let first = terminals.wait(&name, &json!(7)).unwrap();
        assert_eq!(told.recv().unwrap(), name);
        let status = json!({"exitCode": 3, "signal": null});
        if first.is_none() {
            assert_eq!(terminals.ended(&name), Some((vec![json!(7)], status.clone())));
        }
        assert_eq!(terminals.wait(&name, &json!(8)), Ok(Some(status.clone())));
        let output = terminals.output(&name).unwrap();
        let here = home.path().canonicalize().unwrap();
        assert_eq!(output["output"], format!("{}\noh\n", here.display()));
        assert_eq!((&output["truncated"], &output["exitStatus"]), (&json!(false), &status));
        assert_eq!(terminals.release(&name), Ok(Vec::new()));
        assert!(terminals.output(&name).is_err());
    }

    #[test]
    fn the_end_of_much_output_is_kept_in_whole_characters() {
        let (home, mut terminals, told) = world();
        let mut wanted = line("printf 'aäöü'");
        wanted.output_byte_limit = Some(5);
        let name = terminals.create(home.path(), &wanted).unwrap();
        told.recv().unwrap();
        let output = terminals.output(&name).unwrap();
        assert_eq!((&output["output"], &output["truncated"]), (&json!("öü"), &json!(true)));
    }

    #[test]
    fn a_killed_command_ends_with_all_its_children() {
        let (home, mut terminals, told) = world();
        let name = terminals.create(home.path(), &line("sleep 1000 & sleep 1000")).unwrap();
        assert_eq!(terminals.wait(&name, &json!("w")), Ok(None));
        terminals.kill(&name).unwrap();
        assert_eq!(told.recv().unwrap(), name);
        let status = json!({"exitCode": null, "signal": "9"});
        assert_eq!(terminals.ended(&name), Some((vec![json!("w")], status)));
        terminals.kill(&name).unwrap();
        let name = terminals.create(home.path(), &line("sleep 1000")).unwrap();
        terminals.wait(&name, &json!("x")).unwrap();
        assert_eq!(terminals.release(&name), Ok(vec![json!("x")]));
        assert_eq!(told.recv().unwrap(), name);
    }

    #[test]
    fn a_command_gets_variables_and_arguments_and_no_place_outside() {
        let (home, mut terminals, told) = world();
        let mut wanted = line("sh");
        wanted.args = vec!["-c".to_owned(), "echo $ODD \"$0\"".to_owned(), "a b".to_owned()];
        wanted.env =
            vec![super::super::wire::EnvVariable { name: "ODD".to_owned(), value: "7".to_owned() }];
        let name = terminals.create(home.path(), &wanted).unwrap();
        told.recv().unwrap();
        assert_eq!(terminals.output(&name).unwrap()["output"], "7 a b\n");
        std::os::unix::fs::symlink("/", home.path().join("out")).unwrap();
        for outside in [home.path().join(".."), "/".into(), home.path().join("out")] {
            let refused = terminals
                .create(home.path(), &CreateTerminal { cwd: Some(outside), ..line("pwd") });
            assert!(refused.unwrap_err().ends_with("it is not below the checkout"));
        }
        for _ in 1..TERMINALS_MAX {
            terminals.create(home.path(), &line("true")).unwrap();
        }
        assert!(terminals.create(home.path(), &line("true")).is_err());
    }
}
