//! What a call is given: its folder with brief and inbox, the program, the environment, limits.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use forge_agents::{AttemptFolder, Limits, SCRIPTED, Spec, Stdout};
use forge_core::{
    Run,
    flow::{Check, Work},
    id::CallId,
    reading::{self, Source},
};

use crate::{
    Trouble,
    blobs::{BlobId, Blobs},
    brief::brief,
    catalog::Role,
    home::Home,
    settings::{Agent, Frozen},
};

/// What an agent needs of the user's environment. Nothing else of it is passed on.
const AGENT_VARIABLES: &[&str] =
    &["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"];

/// How a call is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// An agent plays a role.
    Agent {
        /// Whom.
        role: String,
    },
    /// A line for the shell.
    Command {
        /// The line.
        run: String,
    },
    /// We look for an artifact ourselves.
    Artifact {
        /// Its name.
        name: String,
    },
}

/// How a call of a run is carried out. Flows with anything else are refused at the start.
pub(crate) fn doing(run: &Run, call: &CallId) -> Doing {
    let stage = run.stage(call.unit());
    match call {
        CallId::Attempt(_) => match &stage.work {
            Work::Agent { role } => Doing::Agent { role: role.clone() },
            Work::Command { run } => Doing::Command { run: run.clone() },
            Work::Deliver { .. } | Work::Each { .. } | Work::Flow { .. } | Work::Nothing => {
                unreachable!("only agents and commands are called in a flow that was let in")
            }
        },
        CallId::Judgement(judgement) => {
            let gate = stage.gate(&judgement.gate).expect("a judgement names a gate of its stage");
            match &stage.gates[gate].check {
                Check::Review { role } => Doing::Agent { role: role.clone() },
                Check::Command { run } => Doing::Command { run: run.clone() },
                Check::Artifact { name } => Doing::Artifact { name: name.clone() },
                Check::Human { .. } | Check::Verify | Check::Land | Check::BuiltIn { .. } => {
                    unreachable!("people are asked, and other gates were not let in")
                }
            }
        }
    }
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
}

impl Shop<'_> {
    /// The folder of a call, ready for a keeper, and the environment to start it with.
    pub(crate) fn prepare(
        &self,
        run: &Run,
        call: &CallId,
        ordinal: u32,
    ) -> Result<(AttemptFolder, Vec<(OsString, OsString)>), Trouble> {
        let path = self.home.attempt(self.id, ordinal);
        let work = self.home.work(self.id);
        fs::create_dir_all(&work).map_err(|error| Trouble::file(&work, &error))?;
        let (argv, stdin, env) = match doing(run, call) {
            Doing::Command { run } => {
                let shell = vec!["/bin/sh".to_owned(), "-c".to_owned(), run];
                (shell, None, std::env::vars_os().collect())
            }
            Doing::Agent { role } => {
                let mut env = agent_environment();
                env.push(("FORGE_ROLE".into(), role.into()));
                (self.agent_program()?, Some(path.join("brief.md")), env)
            }
            Doing::Artifact { .. } => unreachable!("we look for artifacts ourselves"),
        };
        let spec = Spec {
            forge: forge_agents::folder::FORMAT,
            call: call.to_string(),
            argv,
            dir: work,
            stdin: stdin.clone(),
            stdout: Stdout::Pipe,
            limits: Limits {
                wall_ms: self.frozen.wall_ms,
                silence_ms: self.frozen.silence_ms,
                output_bytes: self.frozen.output_bytes,
            },
            secrets: Vec::new(),
            grace_ms: forge_agents::folder::GRACE_MS_DEFAULT,
        };
        let folder =
            AttemptFolder::create(&path, &spec).map_err(|error| Trouble::file(&path, &error))?;
        self.fill_inbox(run, call, &folder, stdin.as_deref())?;
        Ok((folder, env))
    }

    fn fill_inbox(
        &self,
        run: &Run,
        call: &CallId,
        folder: &AttemptFolder,
        stdin: Option<&Path>,
    ) -> Result<(), Trouble> {
        let gate = match call {
            CallId::Attempt(_) => None,
            CallId::Judgement(judgement) => Some(judgement.gate.as_str()),
        };
        let readings = reading::inbox(run, call.unit(), gate);
        for reading in &readings {
            let path = folder.inbox().join(&reading.name);
            let bytes = match &reading.source {
                Source::Request => run.law().start.request.clone().into_bytes(),
                Source::Blob(blob) => self.blob(blob)?,
            };
            write(&path, &bytes).map_err(|error| Trouble::file(&path, &error))?;
        }
        if let (Some(path), Doing::Agent { role }) = (stdin, doing(run, call)) {
            let text = brief(run, call, &self.role(run, &role)?, &readings);
            write(path, text.as_bytes()).map_err(|error| Trouble::file(path, &error))?;
        }
        Ok(())
    }

    fn agent_program(&self) -> Result<Vec<String>, Trouble> {
        let text = |path: PathBuf| {
            path.into_os_string().into_string().map_err(|path| {
                let what = format!("{} is not UTF-8", path.to_string_lossy());
                Trouble::surroundings(what, "move the repository to a path that is")
            })
        };
        match &self.frozen.agent {
            Agent::Scripted { scenario } => {
                let id: BlobId = scenario.0.parse().map_err(|_| damaged(&scenario.0))?;
                let log = self.home.attempts(self.id).join("scripted.log");
                Ok(vec![
                    text(self.program.to_owned())?,
                    SCRIPTED.to_owned(),
                    text(self.blobs.path(&id))?,
                    text(log)?,
                ])
            }
            Agent::Nobody => unreachable!("a flow with agents is let in only with an agent"),
        }
    }

    /// A role, as it was frozen.
    pub(crate) fn role(&self, run: &Run, role: &str) -> Result<Role, Trouble> {
        let blob = run.law().start.roles.get(role).expect("all roles of a flow are frozen");
        Role::parse(role, &String::from_utf8_lossy(&self.blob(blob)?))
    }

    pub(crate) fn blob(&self, blob: &forge_core::event::Blob) -> Result<Vec<u8>, Trouble> {
        let id: BlobId = blob.0.parse().map_err(|_| damaged(&blob.0))?;
        self.blobs
            .get(&id)
            .map_err(|error| Trouble::surroundings(error.to_string(), "forge doctor"))
    }
}

fn damaged(blob: &str) -> Trouble {
    Trouble::surroundings(format!("`{blob}` is not the name of a blob"), "forge doctor")
}

/// Only what an agent needs.
fn agent_environment() -> Vec<(OsString, OsString)> {
    let known = |name: &OsString| AGENT_VARIABLES.iter().any(|known| name == known);
    let mut env: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| known(name)).collect();
    env.push(("TERM".into(), "dumb".into()));
    env
}

/// Writes a file, making its folder where it is missing. By rename, because a keeper of a driver
/// that was killed may come late, and its agent may be reading just now.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().expect("what a call is given lies in its folder");
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.new"));
    fs::write(&beside, bytes)?;
    fs::rename(&beside, path)
}
