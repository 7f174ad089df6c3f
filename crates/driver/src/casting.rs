//! Which agent works on a call, what it is asked for, and who could take over from it.
//!
//! The settings name an agent for each role and tier. A review may want one of another vendor than the author's; work that was passed
//! on has a successor; and limits may have given a call to somebody else. Which of several accounts it uses is up to `seats`.
//!
//! Invariant: who works on a call follows from the facts of the run and from what was frozen, and from nothing else.

use forge_core::{
    Run,
    id::CallId,
    routing::{AgentOrigin, Because, Successor, Tier, Wish, WishReason},
    verdict::BlockerClass,
};
use forge_project::settings::{Frozen, Player, Reviewer};

/// Returns the agent that works on a call, or worked on it, and what it is asked for. Nobody, if it is no agent's.
pub fn player(frozen: &Frozen, run: &Run, call: &CallId) -> Option<Player> {
    let own = player_of_settings(frozen, run, call)?;
    let named = assigned(run, call).or_else(|| usual(frozen, run, call, &own));
    Some(instead(frozen, own, named, run.wish(call)))
}

/// Returns the agent that works on a call under way as long as no limit is in the way.
pub fn usual_player(frozen: &Frozen, run: &Run, call: &CallId) -> Option<Player> {
    let own = player_of_settings(frozen, run, call)?;
    let named = usual(frozen, run, call, &own);
    Some(instead(frozen, own, named, run.wish(call)))
}

fn player_of_settings(frozen: &Frozen, run: &Run, call: &CallId) -> Option<Player> {
    let kind = run.find_call_kind(call)?;
    frozen.player(kind.role()?, run.model_in_flow(call), run.wish(call))
}

/// Returns the agent that is named, if it is another one. Only the agent of the settings has the models of flow and role.
fn instead(
    frozen: &Frozen,
    own: Player,
    named: Option<(String, AgentOrigin)>,
    wish: Option<Wish>,
) -> Player {
    let other = named.filter(|(name, _)| *name != own.agent.name);
    let other = other.and_then(|(name, why)| frozen.player_instead(&name, why, wish));
    other.unwrap_or(own)
}

/// Returns whom limits gave a call to, or who worked on one that has ended.
fn assigned(run: &Run, call: &CallId) -> Option<(String, AgentOrigin)> {
    if let Some(to) = run.assignment(call) {
        return Some((to.agent.clone(), to.why));
    }
    if run.calls().contains_key(call) {
        return None;
    }
    let ended = run.history().calls.iter().rev().find(|ended| ended.call == *call)?;
    let agent = ended.used.as_ref()?.agent.clone();
    Some((agent, ended.route.map(|route| route.agent_from).unwrap_or_default()))
}

/// Returns who works on a call while no limit is in the way, if that is not the agent of the settings.
fn usual(
    frozen: &Frozen,
    run: &Run,
    call: &CallId,
    of_settings: &Player,
) -> Option<(String, AgentOrigin)> {
    if let Some((class, Successor::Agent(name))) = run.passed_on(call) {
        let why = match class {
            BlockerClass::ModelRefusal => AgentOrigin::Refused,
            BlockerClass::ContextOverflow
            | BlockerClass::ScopeExceeded
            | BlockerClass::ToolingFailure
            | BlockerClass::ExternalDependency
            | BlockerClass::NoAccess
            | BlockerClass::Unknown => AgentOrigin::TooLong,
        };
        return Some((name.clone(), why));
    }
    let is_review = call.gate().is_some();
    if !is_review || frozen.review == Reviewer::AsSet {
        return None;
    }
    let author = run.author(call.unit())?;
    let author = frozen.agents.get(author)?.vendor();
    if of_settings.agent.vendor() != author {
        return None;
    }
    Some((other_vendor(frozen, author)?.to_owned(), AgentOrigin::OtherVendor))
}

/// Returns the first agent of another vendor.
fn other_vendor<'f>(frozen: &'f Frozen, than: &str) -> Option<&'f str> {
    let agents = frozen.reviewers.iter().filter_map(|name| frozen.agents.get(name));
    agents.into_iter().find(|agent| agent.vendor() != than).map(|agent| agent.name.as_str())
}

/// Returns true if another vendor is wanted for the reviews of what this agent makes, and there is none.
pub fn lacks_other_vendor(frozen: &Frozen, author: &str) -> bool {
    let author = frozen.agents.get(author);
    frozen.review == Reviewer::OtherVendor
        && author.is_some_and(|author| other_vendor(frozen, author.vendor()).is_none())
}

/// Returns who can take over from the agent of a call that cannot do the work: a stronger model first, and then another agent.
pub fn successor(
    frozen: &Frozen,
    run: &Run,
    call: &CallId,
    class: BlockerClass,
    now: &Player,
) -> Option<Successor> {
    if !class.is_of_model() {
        return None;
    }
    let kind = run.find_call_kind(call)?;
    let role = kind.role()?;
    let is_other = |tier: &Tier| {
        let Some(wish) = run.wish(call).filter(|wish| wish.tier.is < *tier) else { return false };
        let wish = Wish { tier: Because::new(*tier, WishReason::TooLong), ..wish };
        let then = frozen.player(role, run.model_in_flow(call), Some(wish));
        then.is_some_and(|then| {
            (&then.agent.name, &then.agent.model) != (&now.agent.name, &now.agent.model)
        })
    };
    let tier = Tier::ALL.iter().copied().find(is_other).map(Successor::Tier);
    let mut others = frozen.fallback.iter().filter(|name| **name != now.agent.name);
    tier.or_else(|| others.next().cloned().map(Successor::Agent))
}
