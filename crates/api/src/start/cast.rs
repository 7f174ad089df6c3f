//! Which agent runs as which role: the one that is set, the only one that is installed, or the one that a person
//! chooses; and the scenario, if it is the scripted one.
//!
//! Not here: whether a program answers (`agents/check.rs`).
//!
//! Invariant: an agent that a person chose is kept in their own settings, and nothing else is written.

use std::path::Path;

use forge_agents::registry;
use forge_driver::{Error, casting::lacks_other_vendor};
use forge_project::{
    bounded_read::read_text,
    catalog::FoundFlow,
    executables::{in_path, is_executable},
    settings::{AgentName, AgentTable, Frozen, Reviewer, Sessions, Settings, edit::EditedFile},
    suggest::nearest,
};

use crate::{
    agents::list::{too_old, version_of},
    forge::Forge,
    start::{
        prompts::{AgentOffer, Asks, Reply, stopped},
        request::Request,
    },
};

/// Returns the help of errors that an agent would prevent.
pub(crate) fn help_to_install_agent() -> String {
    let install = registry::ALL.iter().find_map(|kind| kind.how_to_install());
    let ways = install.into_iter().chain(["forge agents", "forge demo"]);
    ways.collect::<Vec<&str>>().join("\n   or: ")
}

/// The most bytes of a scenario.
const SCENARIO_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The agents of a run, as far as they are not in its settings.
pub(super) struct Cast {
    pub(super) scenario: Option<(String, Sessions)>,
    pub(super) picked: Picked,
}

/// How the agent of a run was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picked {
    /// Settings or flags name it.
    AsSet,
    /// It is the only one that is installed.
    OnlyOne,
    /// A person chose it just now.
    Chosen,
}

impl Forge {
    /// Finds out which agent runs as each role of the flow, and reads the scenario if that is the scripted one.
    pub(super) fn cast(
        &self,
        request: &Request,
        settings: &mut Settings,
        found: &FoundFlow,
        asks: &mut dyn Asks,
    ) -> Result<Cast, Error> {
        let roles = found.flow.roles();
        if roles.is_empty() {
            return Ok(Cast { scenario: None, picked: Picked::AsSet });
        }
        // Who names a scenario wants it played.
        if request.scenario.is_some() {
            settings.play_scripted();
            settings.forget_casting();
        }
        if let Some(agent) = &request.agent {
            let instead = with_nearest_agent(request, settings, agent);
            settings.play(agent).map_err(|error| Error::from(error).with_better_help(instead))?;
        }
        if settings.agent.is_none() && settings.scenario().is_some() {
            settings.play_scripted();
        }
        if let Some(model) = &request.model {
            settings.use_model(model)?;
        }
        let is_open = roles.iter().any(|role| settings.agent_for(role).is_none());
        let picked = if is_open { self.pick(request, settings, asks)? } else { Picked::AsSet };
        let mut scripted = Vec::new();
        for name in settings.players(&roles) {
            let agent = &settings.agents[name];
            if !agent.like.plays_scenario() {
                is_installed(name, agent)?;
            }
        }
        if settings.review == Reviewer::OtherVendor {
            // Nobody approved what a repository made of an agent that it does not name.
            let own = |name: &String| settings.agent_of_repository(name).is_none();
            let here = installed(settings).into_iter().map(|offer| offer.name);
            settings.usable = here.filter(own).collect();
        }
        for role in roles {
            let name = settings.agent_for(role).expect("an agent was picked for all roles");
            if settings.agents[name].like.plays_scenario() {
                scripted.push(role);
            }
        }
        let coherence = found.flow.coherence.as_deref();
        let scenario = match scripted.as_slice() {
            [] => None,
            roles => Some(self.scenario(request, settings, roles, coherence)?),
        };
        Ok(Cast { scenario, picked })
    }

    /// Takes the only agent that is here. If there are several, a person chooses once, and that is kept in the user's
    /// settings.
    fn pick(
        &self,
        request: &Request,
        settings: &mut Settings,
        asks: &mut dyn Asks,
    ) -> Result<Picked, Error> {
        let offers = installed(settings);
        let (name, picked) = match offers.as_slice() {
            [] => {
                let what = "no usable agent is installed";
                return Err(Error::surroundings(what, help_to_install_agent()));
            }
            [only] => (only.name.clone(), Picked::OnlyOne),
            several => match asks.agent(several) {
                Reply::Said(name) => {
                    let top = self.home.repository.top.as_deref();
                    let file = EditedFile::for_agent(settings, top, &name)?;
                    file.set("agent", &name)?;
                    (name, Picked::Chosen)
                }
                Reply::Stop => return Err(stopped()),
                Reply::Nobody => {
                    let names: Vec<&str> = several.iter().map(|offer| &*offer.name).collect();
                    return Err(Error::usage(
                        format!(
                            "several agents are installed, and none is chosen: {}",
                            names.join(", ")
                        ),
                        format!(
                            "forge agents use {}\n   or: {}",
                            names[0],
                            request.said_again(&[("--agent", names[0])], &[])
                        ),
                    ));
                }
            },
        };
        settings.play(&name)?;
        Ok(picked)
    }

    fn scenario(
        &self,
        request: &Request,
        settings: &Settings,
        roles: &[&str],
        coherence: Option<&str>,
    ) -> Result<(String, Sessions), Error> {
        let set = settings.scenario();
        let set = set.and_then(|set| self.home.repository.top.as_ref().map(|top| top.join(set)));
        let Some(path) = request.scenario.clone().or(set) else {
            return Err(Error::usage(
                "the scripted agent has no scenario",
                request.said_again(&[("--scenario", "FILE")], &[]),
            ));
        };
        let text = read_text(&path, SCENARIO_BYTES_MAX)?.ok_or_else(|| {
            let what = format!("scenario file {} not found", path.display());
            Error::usage(what, request.said_again(&[("--scenario", "FILE")], &[]))
        })?;
        let scenario = forge_agents::scripted::Scenario::parse(&text).map_err(|flaw| {
            Error::usage(format!("{}, {flaw}", path.display()), "fix the scenario, then try again")
        })?;
        let plays = |role: &&&str| {
            scenario
                .play
                .iter()
                .any(|play| play.role.as_deref().is_none_or(|played| played == **role))
        };
        // Nobody has to look at a request before it begins.
        let is_needed = |role: &&&str| Some(**role) != coherence;
        if let Some(role) = roles.iter().filter(is_needed).find(|role| !plays(role)) {
            let what = format!(
                "{}: no play has the role `{role}`; add a [[play]] with role = \"{role}\"",
                path.display()
            );
            return Err(Error::usage(what, format!("$EDITOR {}", path.display())));
        }
        Ok((text, if scenario.sessions { Sessions::Kept } else { Sessions::Unknown }))
    }
}

/// Leaves out the agents that are to take over and are not here, and says so.
pub(super) fn leave_out_missing(settings: &mut Settings) -> Vec<String> {
    let missing = |name: &AgentName| {
        let table = settings.agents.get(&**name)?;
        is_installed(name, table).err().map(|error| (name.clone(), error.what))
    };
    let missing: Vec<_> = settings.fallback_agents.iter().filter_map(missing).collect();
    settings.absent = missing.iter().map(|(name, _)| name.to_string()).collect();
    missing.into_iter().map(|(_, what)| format!("fallback_agents: {what}")).collect()
}

/// Says so if a reviewer of another vendor is wanted, and none is here for what the agent of all roles makes.
pub(super) fn note_on_reviewers(settings: &Settings, frozen: &Frozen) -> Option<String> {
    let author = settings.agent.as_deref()?;
    lacks_other_vendor(frozen, author).then(|| {
        format!(
            "review = \"other-vendor\", but no agent of another vendor than `{author}` is usable here: it \
             also reviews"
        )
    })
}

/// Returns the same command with the agent that was meant, if one is near.
fn with_nearest_agent(request: &Request, settings: &Settings, wanted: &str) -> Option<String> {
    let near = nearest(wanted, settings.agents.keys().map(String::as_str))?;
    Some(request.said_again(&[("--agent", near)], &[]))
}

/// Returns the agents that are ready to be used, by name: their programs are here, and nothing has to be set up.
fn installed(settings: &Settings) -> Vec<AgentOffer> {
    let agents = settings.agents.iter().filter(|(name, agent)| {
        let has_command = agent.command.is_some() || agent.like.needs_no_command();
        !agent.like.plays_scenario() && has_command && is_installed(name, agent).is_ok()
    });
    let mut agents: Vec<(&String, &AgentTable)> = agents.collect();
    // They are asked for their versions only where there is something to choose.
    if agents.len() > 1 {
        let current: Vec<_> =
            agents.iter().copied().filter(|(_, agent)| !is_too_old(agent)).collect();
        // If all are too old, the run says what to do about the one that is taken.
        if !current.is_empty() {
            agents = current;
        }
    }
    let offer = |(name, agent): (&String, &AgentTable)| AgentOffer {
        name: name.clone(),
        title: agent.like.title().map(str::to_owned),
    };
    agents.into_iter().map(offer).collect()
}

/// Returns true if a program by its own name says a version that this Forge was not tried with. What a repository made
/// of an agent is not started.
fn is_too_old(agent: &AgentTable) -> bool {
    let program = agent.like.default_command().filter(|_| agent.command.is_none());
    let found = program.and_then(in_path).and_then(|path| version_of(agent, &path));
    found.and_then(Result::ok).is_some_and(|found| too_old(agent.like, &found).is_some())
}

/// Refuses an agent without a program. A program of the project itself is in the checkout only.
fn is_installed(name: &str, agent: &AgentTable) -> Result<(), Error> {
    let own = agent.command.as_ref().and_then(|command| command.first());
    let Some(program) = own.map(String::as_str).or(agent.like.default_command()) else {
        return Ok(());
    };
    let path = Path::new(program);
    let is_there = match (path.is_absolute(), program.contains('/')) {
        (true, _) => path.is_file(),
        (false, true) => true,
        (false, false) => in_path(program).is_some(),
    };
    if !is_there {
        return Err(Error::surroundings(
            format!("the agent `{name}` needs the program `{program}`, which is not installed"),
            format!("forge agents, or set agents.{name}.{}", agent.program_key()),
        ));
    }
    if path.is_absolute() && !is_executable(path) {
        return Err(Error::surroundings(
            format!("the agent `{name}` needs the program `{program}`, which is not executable"),
            format!("chmod +x {program}, or set agents.{name}.{}", agent.program_key()),
        ));
    }
    Ok(())
}
