//! Changes the settings of a run at a stop: another model, another agent, any key that a run can take from here on.
//!
//! Not here: which keys those are (`run_settings`), and what a change means (`forge_core`).
//!
//! Invariant: nothing is written before everything that was asked for is known to be right.

mod run_settings;

use std::collections::BTreeMap;

use forge_core::{
    Command,
    event::{Blob, Call, SettingsChange},
};
use forge_driver::{
    Error, base_settings::sources_at, person::person, run_id::short_id, secrets::redacted_text,
    snapshot::frozen,
};
use forge_project::{
    personal_dirs::state_dir,
    settings::{ModelName, Settings},
    trust::Trust,
};
use forge_store::journal::{RunLock, StoreError};

use crate::{
    agents::list::{Program, Roster},
    forge::Forge,
};

use run_settings::RunSettings;

/// What a person wants to be other than it was when the run started.
#[derive(Clone, Debug, Default)]
pub struct WantedSettings {
    /// The agent that plays all roles.
    pub agent: Option<String>,
    /// The model that all agents are asked to use.
    pub model: Option<String>,
    /// Keys, with their values as `forge config set` takes them.
    pub set: Vec<(String, String)>,
}

impl WantedSettings {
    pub fn is_empty(&self) -> bool {
        self.agent.is_none() && self.model.is_none() && self.set.is_empty()
    }
}

impl Forge {
    /// Changes settings of a run in which nothing is under way.
    pub fn change_settings(&self, id: &str, wanted: &WantedSettings) -> Result<(), Error> {
        self.refuse_agents()?;
        let run = self.fold(id)?.0;
        let start = &run.definition().start;
        let mut sources = sources_at(&self.home.repository, start.base.as_deref())?;
        sources.flags.extend(wanted.set.iter().cloned());
        let settings = Settings::from_sources(&sources)?;
        let blobs = self.blobs()?;
        let mut changed =
            RunSettings::new(frozen(&run, &blobs)?, start.limits, start.routing.clone());
        let mut set: BTreeMap<String, String> = BTreeMap::new();
        if let Some(name) = &wanted.agent {
            settings.clone().play(name)?;
            changed.set_agent(&settings, name)?;
            set.insert("agent".to_owned(), name.clone());
        }
        for (key, value) in &wanted.set {
            changed.set(&settings, key)?;
            set.insert(key.clone(), redacted_text(value));
        }
        if let Some(model) = &wanted.model {
            ModelName::try_from(model.clone()).map_err(|why| {
                Error::usage(format!("--model {model}: {why}"), "forge resume RUN --model MODEL")
            })?;
            changed.set_model(model);
            set.insert("model".to_owned(), model.clone());
        }
        self.refuse_agents_that_cannot_play(&settings, &changed)?;
        let lock = self.lock_at_stop(id)?;
        // What an answer made due and nobody began was decided with the settings from before.
        let has_begun = |call: &Call| self.home.attempt(id, call.ordinal).exists();
        let is_due = !run.calls().is_empty() && !run.calls().values().any(has_begun);
        let lock = if is_due {
            self.settle(id, lock, Some(&Command::Stop { by: person() }))?;
            self.lock_at_stop(id)?
        } else {
            lock
        };
        let text = serde_json::to_vec(&changed.frozen).expect("settings can be written");
        let blob = blobs.add(&text);
        let blob = blob.map_err(|error| Error::file(&self.home.dir.join("blobs"), &error))?;
        let change = Box::new(SettingsChange {
            set,
            settings: Blob(blob.as_str().to_owned()),
            limits: changed.limits,
            routing: changed.routing.filter(|routing| Some(routing) != start.routing.as_ref()),
            evidence: changed.evidence,
            sessions: changed.sessions,
        });
        self.settle(id, lock, Some(&Command::ChangeSettings { change, by: person() }))
    }

    fn lock_at_stop(&self, id: &str) -> Result<RunLock, Error> {
        match RunLock::acquire_briefly(&self.home.dir, id) {
            Ok(lock) => Ok(lock),
            Err(StoreError::Held { run, .. }) => {
                let what = format!(
                    "{} is running; settings can be changed only while it is stopped",
                    short_id(&run)
                );
                Err(Error::usage(what, format!("forge stop {}", short_id(&run))))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses agents whose program is not there, is too old, or was set up by the repository and not allowed.
    fn refuse_agents_that_cannot_play(
        &self,
        settings: &Settings,
        changed: &RunSettings,
    ) -> Result<(), Error> {
        let repository = &self.home.repository;
        let trust = Some(Trust::open(&state_dir()?, &repository.common_dir));
        let roster = Roster { settings: settings.clone(), top: repository.top.clone(), trust };
        for name in changed.frozen.agents.keys() {
            let Some(table) = settings.agents.get(name) else { continue };
            if let Program::Nowhere { why, next } = roster.program(name, table) {
                return Err(Error::surroundings(format!("the agent `{name}`: {why}"), next));
            }
            if !roster.is_allowed(name) {
                return Err(Error::person(
                    format!(
                        "you have not allowed the agent `{name}`, which this repository configures"
                    ),
                    format!("forge agents check {name} --allow"),
                ));
            }
        }
        roster.refuse_too_old(changed.frozen.agents.keys().map(String::as_str))
    }
}
