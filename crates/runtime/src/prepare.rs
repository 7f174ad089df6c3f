//! What a call is given: its folder with brief and inbox, the program, the environment, limits.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use forge_agents::{
    Earlier, Kind, Listen, REPAIR_TURN, RESUME_TURN, SCRIPTED, Session, TURN_VARIABLE,
    result as contract, session_id, start,
};
use forge_core::{
    Run,
    event::Blob,
    id::CallId,
    inbox::{self, Reading, Source, artifact_name},
    run::{CallKind, Due},
};
use forge_keeper::{AttemptFolder, Limits, Redactor, Spec, Stderr, Stdout};
use forge_project::{
    catalog::Role,
    settings::{Frozen, FrozenAgent, SecretsTable},
};
use forge_store::{
    atomic_file::replace,
    blobs::{BlobId, Blobs},
    journal::Store,
};
use forge_workspace::Repository;

use crate::{
    Trouble,
    brief::{CHANGE, CodeBrief, Given, Hearing, Leaves, LeftBefore, Places, brief, repair},
    gates::{checks::checks_at, so_far, span},
    home::Home,
    intake::must,
    ours::Ours,
    place::Hand,
    secrets,
    steps::{Step, What, bench_argv, write_order},
    turns::Turn,
};

/// The most bytes of a diff that a reviewer is given.
const DIFF_BYTES_MAX: usize = 1024 * 1024;

/// The least room on the disk with which a step is started, in bytes. Its keeper takes some of it for
/// the ending before anything else; where there is none, it would wait for it and say nothing.
const ROOM_BYTES_MIN: u64 = 64 * 1024;

/// What an agent is told, in the folder of each of its turns.
pub(crate) const BRIEF: &str = "brief.md";

/// In whose memory a turn goes on.
enum Kept {
    New(String),
    Resume(String),
}

/// Everything that calls of one run have in common.
pub(crate) struct Shop<'a> {
    /// The places.
    pub home: &'a Home,
    /// The run.
    pub id: &'a str,
    /// What was written.
    pub blobs: &'a Blobs,
    /// What was frozen.
    pub frozen: &'a Frozen,
    /// Our own program.
    pub program: &'a Path,
    /// Where the checkouts of the run lie.
    pub checkouts: PathBuf,
    /// The journal, for what other runs say.
    pub store: &'a Store,
    /// Which folders of calls and steps are ours.
    pub ours: &'a Ours,
    /// Values that are known to be secret.
    pub secrets: &'a [Vec<u8>],
}

impl Shop<'_> {
    /// The folder of a step, ready for a keeper, and the environment to start it with.
    pub(crate) fn prepare(
        &self,
        run: &Run,
        call: &CallId,
        step: &Step,
    ) -> Result<(AttemptFolder, Vec<(OsString, OsString)>), Trouble> {
        let path = &step.folder;
        let own = self.own_program()?;
        has_room(&self.home.dir).map_err(|error| Trouble::file(path, &error))?;
        let (spec, env) = match (&step.what, run.call_kind(call)) {
            (What::Turn { turn, dir, .. }, CallKind::Agent { role }) => {
                self.turn_spec(run, call, path, turn, dir, &role)?
            }
            (What::Turn { .. }, doing) => unreachable!("{doing:?} has no turns"),
            (What::Command { dir }, CallKind::Command { run }) => (
                spec(call.to_string(), shell(run), dir.clone(), self.limits()),
                command_environment(),
            ),
            (What::Command { .. }, doing) => unreachable!("{doing:?} is no command"),
            (What::Shell { line, dir, limits }, _) => (
                spec(call.to_string(), shell(line.clone()), dir.clone(), *limits),
                command_environment(),
            ),
            (What::Bench(_), _) => {
                let argv =
                    bench_argv(&own, &AttemptFolder::at(path.clone()), &self.secrets_table());
                let limits = Limits { silence_ms: 0, ..self.limits() };
                (spec(call.to_string(), argv, path.clone(), limits), command_environment())
            }
        };
        let folder =
            AttemptFolder::create(path, &spec).map_err(|error| Trouble::file(path, &error))?;
        match &step.what {
            What::Turn { turn, conflicts, .. } => {
                self.tell(run, call, &folder, turn, conflicts)?;
            }
            What::Command { .. } => {
                self.fill_inbox(run, call, &folder)?;
            }
            What::Bench(order) => {
                write_order(&folder, order).map_err(|error| Trouble::file(path, &error))?;
            }
            What::Shell { .. } => {}
        }
        Ok((folder, env))
    }

    /// Who plays a role.
    pub(crate) fn player(&self, role: &str) -> FrozenAgent {
        self.frozen.who_plays(role).expect("a flow with roles is let in only with agents")
    }

    /// How a turn of an agent is run, and with which environment.
    fn turn_spec(
        &self,
        run: &Run,
        call: &CallId,
        path: &Path,
        turn: &Turn,
        dir: &Path,
        role: &str,
    ) -> Result<(Spec, Vec<(OsString, OsString)>), Trouble> {
        let agent = self.player(role);
        let kind = agent.kind();
        let under_way = &run.calls()[call];
        let boxes = self.boxes(under_way.ordinal);
        let ordinal = under_way.ordinal.to_string();
        let new = |names: &[&str]| session_id(&[&[self.id, &ordinal], names].concat());
        let interrupted = run.session(call).filter(|_| agent.can_resume());
        let nothing = Earlier::default();
        let earlier = match turn {
            Turn::First | Turn::Anew => &nothing,
            Turn::Repair { earlier, .. } => earlier,
        };
        let (session, word, spent) = match turn {
            Turn::First => match interrupted {
                Some(session) => (Kept::Resume(session.to_owned()), Some(RESUME_TURN), 0),
                None => (Kept::New(new(&[])), None, 0),
            },
            Turn::Anew => (Kept::New(new(&["anew"])), None, 0),
            Turn::Repair { session, spent_micros, .. } => {
                (Kept::Resume(session.clone()), Some(REPAIR_TURN), *spent_micros)
            }
        };
        let cap_micros = under_way.reserved.map(|held| held.0.saturating_sub(spent));
        let schema = if kind.has_native_schema() {
            Some(contract::schema(&call.to_string(), &must(self, run, call, role)?))
        } else {
            None
        };
        let start = start(
            kind,
            &forge_agents::Turn {
                command: &agent.command,
                model: agent.model.as_deref(),
                session: match &session {
                    Kept::New(session) => Session::New(session),
                    Kept::Resume(session) => Session::Resume(session),
                },
                hand: match self.hand(run, call)? {
                    Hand::Writes => forge_agents::Hand::Writes,
                    Hand::Reads => forge_agents::Hand::Reads,
                },
                inbox: &boxes.inbox(),
                outbox: &boxes.outbox(),
                tmp: None,
                schema: schema.as_ref(),
                cap_micros,
            },
        );
        let mut env = self.agent_environment(&start, &agent)?;
        env.push(("FORGE_ROLE".into(), role.into()));
        env.extend(word.map(|word| (TURN_VARIABLE.into(), word.into())));
        let argv = match kind {
            Kind::Scripted => self.scripted(&agent)?,
            Kind::Claude | Kind::Program => start.argv,
        };
        let spec = Spec {
            stdin: Some(path.join(BRIEF)),
            stdout: start.stdout,
            stderr: start.stderr,
            secrets: agent.pass.clone(),
            monitor: cap_micros
                .map(|cap_micros| Listen { kind, cap_micros, earlier: earlier.clone() }.to_json()),
            boxes: Some(boxes.path),
            ..spec(call.to_string(), argv, dir.to_owned(), self.limits())
        };
        Ok((spec, env))
    }

    /// The inbox and the outbox of an agent's call. They lie beside the checkouts: agents refuse to
    /// write below a folder `.git`, in which the call itself has its folder.
    pub(crate) fn boxes(&self, ordinal: u32) -> AttemptFolder {
        boxes(&self.checkouts, ordinal)
    }

    /// How much one call may take.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            wall_ms: self.frozen.wall_ms,
            silence_ms: self.frozen.silence_ms,
            output_bytes: self.frozen.output_bytes,
        }
    }

    /// The ref that keeps what a call made, whatever becomes of it.
    pub(crate) fn pin(&self, ordinal: u32) -> String {
        format!("refs/forge/{}/calls/{ordinal:04}", self.id)
    }

    fn own_program(&self) -> Result<String, Trouble> {
        text(self.program.to_owned())
    }

    /// Only what an agent needs. What it sets in git for good stays in a file of its own.
    fn agent_environment(
        &self,
        start: &forge_agents::Start,
        agent: &FrozenAgent,
    ) -> Result<Vec<(OsString, OsString)>, Trouble> {
        let mut env = passed_on(start, &agent.pass);
        if self.checkouts.is_dir() {
            let path = self.checkouts.join("gitconfig");
            let text = agent_git_config(&self.home.repository);
            replace(&path, text.as_bytes()).map_err(|error| Trouble::file(&path, &error))?;
            env.push(("GIT_CONFIG_GLOBAL".into(), path.into()));
            env.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
        }
        Ok(env)
    }

    /// Puts into the inbox what a call may read, and says what that is.
    fn fill_inbox(
        &self,
        run: &Run,
        call: &CallId,
        folder: &AttemptFolder,
    ) -> Result<Vec<Reading>, Trouble> {
        let gate = match call {
            CallId::Attempt(_) => None,
            CallId::Judgement(judgement) => Some(judgement.gate.as_str()),
        };
        let readings = inbox::inbox(run, call.unit(), gate);
        for reading in &readings {
            let path = folder.inbox().join(&reading.name);
            let bytes = match &reading.source {
                Source::Request => run.law().start.request.clone().into_bytes(),
                Source::Blob(blob) => self.blob(blob)?,
            };
            replace(&path, &bytes).map_err(|error| Trouble::file(&path, &error))?;
        }
        Ok(readings)
    }

    /// Writes down what an agent is told in a turn, and gives it what it may read.
    fn tell(
        &self,
        run: &Run,
        call: &CallId,
        folder: &AttemptFolder,
        turn: &Turn,
        conflicts: &[String],
    ) -> Result<(), Trouble> {
        let CallKind::Agent { role } = run.call_kind(call) else {
            unreachable!("only agents have turns")
        };
        let agent = self.player(&role);
        let leaves = if agent.kind().has_native_schema() { Leaves::Answer } else { Leaves::File };
        let role = self.role(run, &role)?;
        let boxes = self.boxes(run.calls()[call].ordinal);
        let places = Places { inbox: text(boxes.inbox())?, outbox: text(boxes.outbox())?, leaves };
        if *turn == Turn::First {
            make_boxes(&boxes)?;
        }
        let text = match turn {
            Turn::Repair { flaw, .. } => repair(run, call, &role, flaw, &places),
            Turn::First | Turn::Anew => {
                let readings = self.fill_inbox(run, call, &boxes)?;
                let stage = run.stage(call.unit());
                let change = match call {
                    CallId::Attempt(_) if !stage.reads.iter().any(|name| name == CHANGE) => None,
                    CallId::Attempt(_) | CallId::Judgement(_) => self.change(run, call, &boxes)?,
                };
                let left_before = self.left_before(run, call, &readings)?;
                let instructions = match &run.law().start.instructions {
                    Some(blob) => Some(String::from_utf8_lossy(&self.blob(blob)?).into_owned()),
                    None => None,
                };
                let checks = match run.head() {
                    Some(head) => checks_at(self.frozen, run, &self.home.repository, head)?.known(),
                    None => Vec::new(),
                };
                let code = CodeBrief {
                    instructions: instructions.as_deref(),
                    hand: self.hand(run, call)?,
                    has_checkout: run.law().start.base.is_some(),
                    checks: &checks,
                    conflicts,
                    change,
                };
                let goes_on = *turn == Turn::First && agent.can_resume();
                let hearing = match run.session(call).filter(|_| goes_on) {
                    Some(_) => Hearing::Again,
                    None => Hearing::First,
                };
                let given = Given { inbox: &readings, left_before: &left_before, code };
                brief(run, call, &role, &given, hearing, &places)
            }
        };
        let path = folder.path.join(BRIEF);
        replace(&path, text.as_bytes()).map_err(|error| Trouble::file(&path, &error))
    }

    /// What the agent of a unit that was sent back wrote itself and does not find in its inbox.
    fn left_before(
        &self,
        run: &Run,
        call: &CallId,
        inbox: &[Reading],
    ) -> Result<Vec<LeftBefore>, Trouble> {
        let unit = run.unit(call.unit());
        let mut left = Vec::new();
        match (call, unit.due) {
            (CallId::Attempt(_), Due::Again) => {}
            (CallId::Attempt(_), Due::Fresh) | (CallId::Judgement(_), _) => return Ok(left),
        }
        for name in &run.stage(call.unit()).writes {
            let name = artifact_name(name, &call.unit().scope);
            let is_given = inbox.iter().any(|reading| reading.name == name);
            if let Some(blob) = unit.artifacts.get(&name).filter(|_| !is_given) {
                let text = String::from_utf8_lossy(&self.blob(blob)?).into_owned();
                left.push(LeftBefore { name, text });
            }
        }
        Ok(left)
    }

    /// The change under review, or that of the whole run, beside what the agent may read.
    fn change(
        &self,
        run: &Run,
        call: &CallId,
        folder: &AttemptFolder,
    ) -> Result<Option<Vec<String>>, Trouble> {
        if run.law().start.base.is_none() {
            return Ok(None);
        }
        let repository = &self.home.repository;
        let span = match call {
            CallId::Judgement(_) => span(repository, run, call.unit())?,
            CallId::Attempt(_) => so_far(run, call.unit()),
        };
        let changes = repository.changes(&span.from, &span.to)?;
        if changes.is_empty() {
            return Ok(None);
        }
        let diff = repository.diff(&span.from, &span.to, &[], DIFF_BYTES_MAX)?;
        let path = folder.inbox().join(CHANGE);
        replace(&path, &self.redacted(&diff)).map_err(|error| Trouble::file(&path, &error))?;
        Ok(Some(changes.into_iter().map(|change| change.path).collect()))
    }

    /// The command line of the scripted agent.
    fn scripted(&self, agent: &FrozenAgent) -> Result<Vec<String>, Trouble> {
        let scenario = agent.scenario.as_ref().expect("the scripted agent plays from a scenario");
        let id: BlobId = scenario.0.parse().map_err(|_| damaged(&scenario.0))?;
        let log = self.home.attempts(self.id).join("scripted.log");
        Ok(vec![self.own_program()?, SCRIPTED.to_owned(), text(self.blobs.path(&id))?, text(log)?])
    }

    /// What is set about secrets, for a program that is told where their files lie.
    fn secrets_table(&self) -> SecretsTable {
        secrets::table(self.home.repository.top.as_deref(), self.frozen)
    }

    /// Without the secrets that are known, and without what looks like one.
    pub(crate) fn redacted(&self, bytes: &[u8]) -> Vec<u8> {
        Redactor::new(self.secrets.iter().cloned()).clean(bytes)
    }

    /// The same for JSON, which stays JSON.
    pub(crate) fn redacted_json(&self, bytes: &[u8]) -> Vec<u8> {
        Redactor::new(self.secrets.iter().cloned()).clean_json(bytes)
    }

    /// A role, as it was frozen.
    pub(crate) fn role(&self, run: &Run, role: &str) -> Result<Role, Trouble> {
        let blob = run.law().start.roles.get(role).expect("all roles of a flow are frozen");
        Ok(Role::parse(role, &String::from_utf8_lossy(&self.blob(blob)?))?)
    }

    pub(crate) fn blob(&self, blob: &Blob) -> Result<Vec<u8>, Trouble> {
        read_blob(self.blobs, blob)
    }
}

/// Makes an empty inbox and an empty outbox, whatever lay there before the call began.
/// The inbox and the outbox of an agent's call, beside the checkouts of its run.
pub(crate) fn boxes(checkouts: &Path, ordinal: u32) -> AttemptFolder {
    AttemptFolder::at(checkouts.join("boxes").join(format!("{ordinal:04}")))
}

fn make_boxes(boxes: &AttemptFolder) -> Result<(), Trouble> {
    let make = || -> io::Result<()> {
        match std::fs::remove_dir_all(&boxes.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut folders = DirBuilder::new();
        folders.recursive(true).mode(0o700);
        folders.create(boxes.inbox())?;
        folders.create(boxes.outbox())
    };
    make().map_err(|error| Trouble::file(&boxes.path, &error))
}

/// Whether a disk has room for a step at all.
fn has_room(dir: &Path) -> io::Result<()> {
    let disk = rustix::fs::statvfs(dir)?;
    if disk.f_bavail.saturating_mul(disk.f_frsize) < ROOM_BYTES_MIN {
        return Err(rustix::io::Errno::NOSPC.into());
    }
    Ok(())
}

/// The content of a blob.
pub(crate) fn read_blob(blobs: &Blobs, blob: &Blob) -> Result<Vec<u8>, Trouble> {
    let id: BlobId = blob.0.parse().map_err(|_| damaged(&blob.0))?;
    blobs.get(&id).map_err(|error| Trouble::surroundings(error.to_string(), "forge doctor"))
}

fn damaged(blob: &str) -> Trouble {
    Trouble::surroundings(format!("`{blob}` is not the name of a blob"), "forge doctor")
}

/// What a keeper is to run. Whatever it prints goes through the redactor, and it has time to end.
pub(crate) fn spec(call: String, argv: Vec<String>, dir: PathBuf, limits: Limits) -> Spec {
    Spec {
        forge: forge_keeper::attempt::dir::FORMAT,
        call,
        argv,
        dir,
        stdin: None,
        stdout: Stdout::Pipe,
        limits,
        secrets: Vec::new(),
        grace_ms: forge_keeper::attempt::dir::GRACE_MS_DEFAULT,
        stderr: Stderr::Together,
        boxes: None,
        monitor: None,
    }
}

pub(crate) fn shell(line: String) -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned(), line]
}

fn text(path: PathBuf) -> Result<String, Trouble> {
    path.into_os_string().into_string().map_err(|path| {
        let what = format!("{} is not UTF-8", path.to_string_lossy());
        Trouble::surroundings(what, "move the repository to a path that is")
    })
}

/// Of the user's environment only what an agent needs, and what is set for it.
pub(crate) fn passed_on(start: &forge_agents::Start, pass: &[String]) -> Vec<(OsString, OsString)> {
    let passes = |name: &OsString| {
        let name = name.to_string_lossy();
        let is_set = |name: &str| std::env::var_os(name).is_some();
        start.passes(&name, is_set) || pass.iter().any(|passed| *passed == name)
    };
    let mut env: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| passes(name)).collect();
    env.push(("TERM".into(), "dumb".into()));
    env.extend(start.env.iter().map(|(name, value)| (name.into(), value.into())));
    env
}

/// What commands of the project get: all that the user has, but what says which repository is
/// meant. We may have been called from a hook.
pub(crate) fn command_environment() -> Vec<(OsString, OsString)> {
    let is_ours = |name: &OsString| name.to_string_lossy().starts_with("GIT_");
    std::env::vars_os().filter(|(name, _)| !is_ours(name)).collect()
}

/// The user's own git settings, without the right to use their passwords. `git config --global`
/// of an agent writes here, and not into the user's file. A push into the user's repository by its
/// path ends at a helper that does not exist, also from a clone or a repository that the agent made
/// itself. This stops accidents; a sandbox stops the rest.
fn agent_git_config(repository: &Repository) -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let user = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let user = user.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let set = std::env::var_os("GIT_CONFIG_GLOBAL").map(PathBuf::from);
    let files = match set {
        Some(set) => vec![set],
        None => {
            [user.map(|user| user.join("git/config")), home.map(|home| home.join(".gitconfig"))]
                .into_iter()
                .flatten()
                .collect()
        }
    };
    let quoted = |path: &Path| path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = String::new();
    for file in files {
        let _ = write!(text, "[include]\n\tpath = \"{}\"\n", quoted(&file));
    }
    text.push_str("[credential]\n\thelper =\n[url \"forge-lands-the-work::\"]\n");
    for path in [Some(&repository.common_dir), repository.top.as_ref()].into_iter().flatten() {
        for prefix in ["", "file://"] {
            let _ = writeln!(text, "\tpushInsteadOf = \"{prefix}{}\"", quoted(path));
        }
    }
    text
}
