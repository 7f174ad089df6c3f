//! Which settings of a run a person may change at a stop, and what that means for what was made before.
//!
//! Not here: whether a value is right (`forge_project::settings`), and that nothing is under way (`forge_core`).
//!
//! Invariant: a key that is not named here stays as it was frozen.

use forge_core::{
    event::{Before, Limits},
    routing::{Routing, Tier},
};

use forge_driver::Error;
use forge_project::settings::{
    AgentChoice, FlowModels, Frozen, FrozenAgent, RoleTable, Settings, TierAgent,
};

/// The tables whose change makes evidence void: what is checked, where, and what may be committed.
const EVIDENCE_TABLES: [&str; 3] = ["verify", "workspace", "secrets"];

/// The settings of a run, while they are being changed.
#[derive(Debug)]
pub(super) struct RunSettings {
    pub(super) frozen: Frozen,
    pub(super) limits: Limits,
    /// What decides on tiers. Runs of an older Forge have none.
    pub(super) routing: Option<Routing>,
    /// Whether evidence from before still counts.
    pub(super) evidence: Before,
    /// Whether earlier sessions are void, because an agent or a model changed.
    pub(super) sessions: Before,
}

impl RunSettings {
    pub(super) fn new(frozen: Frozen, limits: Limits, routing: Option<Routing>) -> Self {
        Self { frozen, limits, routing, evidence: Before::Kept, sessions: Before::Kept }
    }

    /// Takes the value of a key from settings in which it was set.
    pub(super) fn set(&mut self, settings: &Settings, key: &str) -> Result<(), Error> {
        let words: Vec<&str> = key.split('.').collect();
        if EVIDENCE_TABLES.contains(&words[0]) {
            self.evidence = Before::Void;
        }
        let fresh = settings.freeze(AgentChoice::Nobody);
        let frozen = &mut self.frozen;
        match words.as_slice() {
            ["limits", "at_once"] => self.limits.at_once = settings.limits.at_once.into(),
            ["limits", "call_budget"] => self.limits.call_budget = settings.limits.call_budget(),
            ["limits", "unpriced_calls"] if self.limits.unpriced_calls.is_some() => {
                self.limits.unpriced_calls = Some(settings.limits.unpriced_calls.into());
            }
            ["limits", "wall_minutes"] => frozen.wall_ms = fresh.wall_ms,
            ["limits", "silence_minutes"] => frozen.silence_ms = fresh.silence_ms,
            ["limits", "output_mib"] => frozen.output_bytes = fresh.output_bytes,
            ["pull_request", "open"] => frozen.opens = fresh.opens,
            ["pull_request", "comment"] => frozen.comments = fresh.comments,
            ["limits", "handoff_threshold"] => {
                frozen.handoff_threshold = fresh.handoff_threshold;
            }
            ["limits", "budget"] => {
                let what = "the budget of a run is set with --budget";
                return Err(Error::usage(what, "forge resume RUN --budget AMOUNT"));
            }
            ["workspace", "setup"] => frozen.setup = fresh.setup,
            ["workspace", "setup_inputs"] => frozen.setup_inputs = fresh.setup_inputs,
            ["workspace", "copy"] => frozen.copy = fresh.copy,
            ["workspace", "cache"] => frozen.cache = fresh.cache,
            ["workspace", "claims"] => frozen.claims = fresh.claims,
            ["verify", "commands"] => {
                (frozen.verify.commands, frozen.verify.from) =
                    (fresh.verify.commands, fresh.verify.from);
            }
            ["verify", "timeout_minutes"] => frozen.verify.timeout_ms = fresh.verify.timeout_ms,
            ["verify", "output_mib"] => frozen.verify.output_bytes = fresh.verify.output_bytes,
            ["verify", "pass"] => frozen.verify.pass = fresh.verify.pass,
            ["verify", "final"] => frozen.verify.r#final = fresh.verify.r#final,
            ["secrets", "files"] => frozen.secrets.files = fresh.secrets.files,
            ["land", "record"] => frozen.kept = fresh.kept,
            ["agents", name, "model"] if frozen.agents.contains_key(*name) => {
                let agent = frozen.agents.get_mut(*name).expect("it is there");
                agent.model.clone_from(&settings.agents[*name].model);
            }
            ["roles", role, "model"] => {
                let model = settings.roles.get(*role).and_then(|role| role.model.clone());
                frozen.roles.entry((*role).to_owned()).or_default().model = model.map(String::from);
            }
            ["roles", role, "tier" | "effort" | "thinking"] => {
                let Some(routing) = &mut self.routing else {
                    let what = "this run was started by a version of Forge that knew no tiers";
                    return Err(Error::usage(what, "start a new run with it"));
                };
                let hints = settings.roles.get(*role).map(RoleTable::hints).unwrap_or_default();
                routing.settings.insert((*role).to_owned(), hints);
                self.sessions = Before::Void;
            }
            ["tiers", tier, _] => {
                let tier = Tier::parse(tier).expect("the key was read");
                let table = TierAgent::from(settings.tiers.get(tier));
                if let Some(name) = &table.agent {
                    self.add_agent(settings, name)?;
                }
                self.frozen.tiers.insert(tier, table);
                self.sessions = Before::Void;
            }
            ["roles", role, "agent"] => {
                let agent = settings.roles.get(*role).and_then(|role| role.agent.clone());
                if let Some(name) = &agent {
                    self.add_agent(settings, name)?;
                }
                let frozen = &mut self.frozen;
                frozen.roles.entry((*role).to_owned()).or_default().agent = agent.map(String::from);
                self.sessions = Before::Void;
            }
            _ => {
                let what = format!("`{key}` cannot be changed in a run that has started");
                return Err(Error::usage(what, "start a new run with it"));
            }
        }
        Ok(())
    }

    /// Lets one agent play all roles.
    pub(super) fn set_agent(&mut self, settings: &Settings, name: &str) -> Result<(), Error> {
        // Whoever plays no more need not be there, either.
        self.frozen.agents.clear();
        self.add_agent(settings, name)?;
        self.frozen.agent = AgentChoice::Named { name: name.to_owned() };
        self.frozen.roles.clear();
        self.frozen.tiers.values_mut().for_each(|tier| (tier.agent, tier.model) = (None, None));
        self.sessions = Before::Void;
        Ok(())
    }

    /// Lets all agents use one model.
    pub(super) fn set_model(&mut self, model: &str) {
        let agents = self.frozen.agents.values_mut();
        agents.for_each(|agent| agent.model = Some(model.to_owned()));
        self.frozen.roles.values_mut().for_each(|role| role.model = None);
        self.frozen.tiers.values_mut().for_each(|tier| tier.model = None);
        self.frozen.flow_models = FlowModels::Overridden;
    }

    fn add_agent(&mut self, settings: &Settings, name: &str) -> Result<(), Error> {
        let table = &settings.agents[name];
        if table.like.plays_scenario() {
            let what =
                format!("`{name}` needs a scenario, which can only be given when a run starts");
            return Err(Error::usage(what, "forge agents"));
        }
        self.frozen.agents.insert(name.to_owned(), FrozenAgent::new(name, table));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use forge_project::settings::Sources;

    use super::*;

    fn changed(flags: &[(&str, &str)]) -> Result<RunSettings, Error> {
        let flags: Vec<(String, String)> =
            flags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let settings =
            Settings::from_sources(&Sources { flags: flags.clone(), ..Sources::default() })?;
        let limits = Limits { budget: None, call_budget: None, at_once: 8, unpriced_calls: None };
        let frozen = Settings::default().freeze(AgentChoice::Nobody);
        let mut run = RunSettings::new(frozen, limits, Some(Routing::default()));
        for (key, _) in &flags {
            run.set(&settings, key)?;
        }
        Ok(run)
    }

    #[test]
    fn a_key_changes_what_it_names_and_nothing_else() {
        let run =
            changed(&[("limits.silence_minutes", "3"), ("limits.call_budget", "0.50")]).unwrap();
        assert_eq!(run.frozen.silence_ms, 180_000);
        assert_eq!(run.limits.call_budget.map(|money| money.0), Some(500_000));
        assert_eq!((run.evidence, run.sessions), (Before::Kept, Before::Kept));
        let expected =
            Frozen { silence_ms: 180_000, ..Settings::default().freeze(AgentChoice::Nobody) };
        assert_eq!(run.frozen, expected);
    }

    #[test]
    fn what_was_proved_by_other_checks_or_in_another_place_counts_no_more() {
        for (key, value) in
            [("verify.commands", "make"), ("workspace.setup", "[]"), ("secrets.files", ".env")]
        {
            assert_eq!(changed(&[(key, value)]).unwrap().evidence, Before::Void, "{key}");
        }
        assert_eq!(
            changed(&[("verify.commands", "make")]).unwrap().frozen.verify.commands,
            ["make"]
        );
    }

    #[test]
    fn another_agent_for_a_role_begins_anew_and_another_model_goes_on() {
        let run = changed(&[("roles.reviewer.agent", "claude")]).unwrap();
        assert_eq!(run.sessions, Before::Void);
        assert!(run.frozen.agents.contains_key("claude"));
        let mut run = changed(&[("roles.reviewer.model", "opus")]).unwrap();
        assert_eq!(run.sessions, Before::Kept);
        run.set_agent(&Settings::default(), "claude").unwrap();
        run.set_model("haiku");
        assert_eq!(run.frozen.who_plays("reviewer").unwrap().model.as_deref(), Some("haiku"));
        let player = run.frozen.player("reviewer", Some("opus"), None).unwrap().agent;
        assert_eq!(
            player.model.as_deref(),
            Some("haiku"),
            "it is for all, whatever the flow names"
        );
    }

    #[test]
    fn what_is_settled_at_the_start_and_what_is_not_a_setting_is_refused() {
        for (key, value) in [
            ("flow", "draft"),
            ("land.branch", "x"),
            ("limits.budget", "5"),
            ("limits.silent", "1"),
        ] {
            assert!(changed(&[(key, value)]).is_err(), "{key}");
        }
        assert!(changed(&[("limits.silence_minutes", "0")]).is_err());
    }
}
