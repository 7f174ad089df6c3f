//! What all calls of one run share: places, blobs, settings, secrets.

use std::path::{Path, PathBuf};

use forge_agents::Earlier;
use forge_core::{Run, event::Blob, flow::CodeLimit, id::CallId, result::ResultKey};
use forge_keeper::{AttemptFolder, Redactor, StepLimits};
use forge_project::{
    catalog::{Code, Role},
    settings::{Frozen, Player, SecretsTable},
};
use forge_store::{
    blobs::{BlobId, Blobs},
    disk::Disk,
    journal::Journal,
};
use forge_workspace::CodeHistory;

use crate::{
    Error, casting, executor::Executor, layout::Home, seats::Seats, secrets,
    trusted_folders::TrustedFolders,
};

/// Everything that calls of one run have in common.
pub struct RunContext<'a> {
    /// The places.
    pub home: &'a Home,
    /// The run.
    pub id: &'a str,
    pub blobs: &'a Blobs,
    /// The settings that the run began with.
    pub frozen: &'a Frozen,
    /// Our own program.
    pub program: &'a Path,
    /// Where the checkouts of the run lie.
    pub checkouts: PathBuf,
    /// The journal, for what other runs say.
    pub journal: &'a dyn Journal,
    pub executor: &'a dyn Executor,
    /// Where the driver writes itself.
    pub disk: &'a dyn Disk,
    /// The commits of the repository.
    pub code: &'a dyn CodeHistory,
    /// Which folders of calls and steps are trusted.
    pub trusted: &'a TrustedFolders,
    /// The accounts of the person, and what is known of limits.
    pub seats: &'a Seats,
    /// Values that are known to be secret.
    pub secrets: &'a [Vec<u8>],
    /// Takes them out of what is kept; nothing went through it yet.
    pub redactor: &'a Redactor,
}

impl RunContext<'_> {
    /// The agent that works on a call, and what it is asked for.
    pub fn player(&self, run: &Run, call: &CallId) -> Player {
        let player = casting::player(self.frozen, run, call);
        player.expect("a flow with roles is let in only with agents")
    }

    /// What is known before a program prints anything, where its session begins anew.
    pub fn frozen_prices(&self) -> Earlier {
        Earlier { prices: self.frozen.prices.clone(), uses: Vec::new() }
    }

    /// The inbox and the outbox of an agent's call. They lie beside the checkouts: agents refuse to
    /// write below a folder `.git`, in which the call itself has its folder.
    pub fn boxes(&self, ordinal: u32) -> AttemptFolder {
        boxes(&self.checkouts, ordinal)
    }

    /// How much one call may take.
    pub fn limits(&self) -> StepLimits {
        StepLimits {
            wall_ms: self.frozen.wall_ms,
            silence_ms: self.frozen.silence_ms,
            output_bytes: self.frozen.output_bytes,
        }
    }

    /// How much one check may take.
    pub fn check_limits(&self) -> StepLimits {
        let verify = &self.frozen.verify;
        StepLimits { wall_ms: verify.timeout_ms, silence_ms: 0, output_bytes: verify.output_bytes }
    }

    /// The ref that keeps what a call made, whatever becomes of it.
    pub fn pin(&self, ordinal: u32) -> String {
        format!("refs/forge/{}/calls/{ordinal:04}", self.id)
    }

    pub fn own_program(&self) -> Result<String, Error> {
        read_file_text(self.program.to_owned())
    }

    /// What is set about secrets, for a program that is told where their files lie.
    pub fn secrets_table(&self, run: &Run) -> SecretsTable {
        secrets::table(self.home.repository.top.as_deref(), self.frozen, run)
    }

    /// Without the secrets that are known, and without what looks like one.
    pub fn redacted(&self, bytes: &[u8]) -> Vec<u8> {
        self.redactor.clone().clean(bytes)
    }

    /// The same for JSON, which stays JSON.
    pub fn redacted_json(&self, bytes: &[u8]) -> Vec<u8> {
        self.redactor.clone().clean_json(bytes)
    }

    /// A role, as it was frozen, with no more rights than its stage gives it.
    pub fn role(&self, run: &Run, call: &CallId, role: &str) -> Result<Role, Error> {
        let blob = run.definition().start.roles.get(role).expect("all roles of a flow are frozen");
        let mut role = Role::read_frozen(role, &String::from_utf8_lossy(&self.blob(blob)?))?;
        if let (CallId::Attempt(_), CodeLimit::Reads) = (call, run.stage(call.unit()).code) {
            role.code = Code::Reads;
            // Where nothing is changed, there is no commit to name.
            role.must.retain(|key| *key != ResultKey::Commit);
        }
        Ok(role)
    }

    /// The texts of a role's skills, as they were frozen, by name.
    pub fn skills(&self, run: &Run, role: &Role) -> Result<Vec<(String, String)>, Error> {
        let frozen = &run.definition().start.skills;
        let text = |(name, blob): (&String, &Blob)| {
            Ok((name.clone(), String::from_utf8_lossy(&self.blob(blob)?).into_owned()))
        };
        let named = role.skills.iter().filter_map(|name| frozen.get_key_value(name));
        named.map(text).collect()
    }

    pub fn blob(&self, blob: &Blob) -> Result<Vec<u8>, Error> {
        read_blob(self.blobs, blob)
    }
}

/// The inbox and the outbox of an agent's call, beside the checkouts of its run.
pub fn boxes(checkouts: &Path, ordinal: u32) -> AttemptFolder {
    AttemptFolder::at(checkouts.join("boxes").join(format!("{ordinal:04}")))
}

/// The content of a blob.
pub fn read_blob(blobs: &Blobs, blob: &Blob) -> Result<Vec<u8>, Error> {
    let id: BlobId = blob.0.parse().map_err(|_| damaged(&blob.0))?;
    blobs.get(&id).map_err(|error| Error::surroundings(error.to_string(), "forge doctor"))
}

pub fn damaged(blob: &str) -> Error {
    Error::surroundings(format!("`{blob}` is not the name of a blob"), "forge doctor")
}

pub fn read_file_text(path: PathBuf) -> Result<String, Error> {
    path.into_os_string().into_string().map_err(|path| {
        let what = format!("{} is not UTF-8", path.to_string_lossy());
        Error::surroundings(what, "move the repository to a path that is")
    })
}
