//! The approvals that a person gives a repository, for user interfaces.

use forge_driver::{Error, person::person};
use forge_project::{
    catalog::FoundFlow,
    settings::{NotifierKind, Settings},
    trust::{Trust, commands},
};

use crate::forge::Forge;

impl Forge {
    /// Returns what this person allowed this repository.
    pub fn trust(&self) -> Result<Trust, Error> {
        self.home.trust()
    }

    /// Returns a person allows these commands from now on, and with them each agent that is among them: whoever
    /// may play in a run may be asked whether it answers.
    pub fn approve(&self, settings: &Settings, commands: &[String]) -> Result<(), Error> {
        self.refuse_agents()?;
        let trust = self.trust()?;
        for name in settings.agents.keys() {
            let agent = settings.agent_of_repository(name);
            if let Some(agent) = agent.filter(|agent| commands.contains(agent)) {
                trust.approve(&[agent], &person())?;
            }
        }
        // Notifiers are looked at separately, whenever there is a notification.
        for notifier in NotifierKind::ALL {
            let line = settings.notifier_of_repository(notifier);
            if let Some(line) = line.filter(|line| commands.contains(line)) {
                trust.approve(&[line], &person())?;
            }
        }
        trust.approve(commands, &person())?;
        Ok(())
    }

    /// Returns the commands that a person has to allow before a run with these settings and this flow
    /// starts. None if there are none, or if they are allowed already.
    pub fn unapproved(&self, settings: &Settings, found: &FoundFlow) -> Result<Vec<String>, Error> {
        let commands = commands(settings, found);
        // Whoever has no home needs none where nothing is to be allowed.
        if commands.is_empty() || self.trust()?.is_approved(&commands)? {
            return Ok(Vec::new());
        }
        Ok(commands)
    }
}
