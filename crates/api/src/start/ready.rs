//! A request whose flow, settings and agents are known, before anything was chosen.

use std::collections::BTreeMap;

use forge_core::{
    flow::{Check, Condition, Flow, Stage, When},
    routing::Routing,
};
use forge_project::{
    catalog::{Catalog, FoundFlow},
    settings::{Sessions, Settings},
};

use crate::start::{cast::Picked, issue::RequestIssue};

/// The parameter that says whether the result is offered as a pull request.
pub(super) const PULL_REQUEST: &str = "pr";

/// All that a run depends on, read and looked at.
pub(super) struct Ready {
    pub(super) base: Option<String>,
    pub(super) settings: Settings,
    pub(super) catalog: Catalog,
    pub(super) found: FoundFlow,
    /// How the flow was named.
    pub(super) name: String,
    pub(super) scenario: Option<(String, Sessions)>,
    pub(super) picked: Picked,
    pub(super) routing: Routing,
    /// The values that are known to be secret. No command has one in it; the request may.
    pub(super) secrets: Vec<Vec<u8>>,
    pub(super) instructions: Option<String>,
    pub(super) architecture: Option<String>,
    /// The request as it was given.
    pub(super) text: String,
    pub(super) issue: Option<RequestIssue>,
    /// The parameters that were given.
    pub(super) params: BTreeMap<String, String>,
    /// Which rule chose them.
    pub(super) why: BTreeMap<String, String>,
    /// Notes for the person.
    pub(super) notes: Vec<String>,
    /// What lies in the checkout and is not in the run, in words.
    pub(super) left_out: Option<String>,
    /// True if the flow changes code.
    pub(super) lands: bool,
    /// The branch that is checked out.
    pub(super) branch: Option<String>,
    /// The branch that everybody starts from, as far as the remote says.
    pub(super) default_branch: Option<String>,
}

/// Returns what a person should know about variables that checks are to get and that are not set.
pub(super) fn about_variables(settings: &Settings) -> Option<String> {
    let names = settings.verify.pass.iter().map(|name| &**name);
    let unset: Vec<&str> = names.filter(|name: &&str| std::env::var_os(name).is_none()).collect();
    let (are, them) = if unset.len() == 1 { ("is", "it") } else { ("are", "them") };
    (!unset.is_empty()).then(|| {
        format!(
            "`{}` {are} named in verify.pass but not set here: setup and checks run without \
             {them}",
            unset.join("`, `")
        )
    })
}

/// Returns the first stage that is like this, by itself or by one of its gates.
pub(super) fn find<'a>(
    stages: &'a [Stage],
    is_it: &dyn Fn(&Stage, Option<&Check>) -> bool,
) -> Option<(&'a Stage, Option<&'a Check>)> {
    for stage in stages {
        if is_it(stage, None) {
            return Some((stage, None));
        }
        for gate in &stage.gates {
            if is_it(stage, Some(&gate.check)) {
                return Some((stage, Some(&gate.check)));
            }
        }
        if let Some(inner) = find(stage.inner(), is_it) {
            return Some(inner);
        }
    }
    None
}

/// Returns true if a row can apply in a run with these parameters. Tags of items are not known yet.
pub(super) fn may_hold(flow: &Flow, params: &BTreeMap<String, String>, when: &When) -> bool {
    when.0.iter().all(|condition| match condition {
        Condition::Param { name, is } => {
            let default = flow.params.get(name).map(|param| &param.default);
            params.get(name).or(default).is_some_and(|value| is.contains(value))
        }
        Condition::Item { .. } => true,
    })
}
